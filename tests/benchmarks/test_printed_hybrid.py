"""Algorithms 1, 2 and 4 of Wu, He and Hong as printed: they need the gap and the upload to end always."""

from __future__ import annotations

import random

from benchmarks.reproduce.printed_hybrid import Hybrid, Network, Rules, table


def test_only_with_gap_and_upload_every_run_ends() -> None:
    rows = {(gap, upload): counts for gap, upload, *counts in table(700)}
    for right, wrong, endless, *_ in rows.values():
        assert wrong == 0
        assert right + endless == 700
    endless = {rules: counts[2] for rules, counts in rows.items()}
    assert endless[True, True] == 0
    assert endless[True, False] > 0
    assert endless[False, True] > 0
    assert endless[False, False] > 0


def test_stale_heights_make_excess_negative() -> None:
    """With heights of the number of vertices, steep arcs never have more room than their tail has excess."""
    for rules, *counts in ((row[:2], *row[2:]) for row in table(700)):
        _, _, _, steep, too_much, negative = counts
        assert steep > 0
        assert (too_much > 0, negative > 0) == ((True, True) if not rules[0] else (False, False))


def test_steep_arc_that_the_gpu_never_hears_of() -> None:
    """Algorithm 4 moves the excess of 1 over a steep arc on the CPU, and the GPU keeps it out of reach."""
    network = Network(4, {(0, 2): 1, (2, 1): 1, (2, 3): 1})
    for upload, outcome, arrived in ((False, "no end", 0), (True, "right", 1)):
        hybrid = Hybrid(network, Rules(gap=True, upload=upload), 3, random.Random(0))
        # Vertex 2 has pushed a unit to 1, which a relabel had raised meanwhile; its way to the sink is free.
        hybrid.residual = {(0, 2): 0, (2, 0): 1, (2, 1): 0, (1, 2): 1, (2, 3): 1, (3, 2): 0}
        hybrid.excess, hybrid.height, hybrid.total = [0, 1, 0, 0], [4, 3, 1, 0], 1
        hybrid.relabel()
        assert hybrid.run() == outcome
        assert hybrid.excess[-1] == arrived
