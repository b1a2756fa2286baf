"""The passes over residual arcs by several threads give the networks of those by one thread."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from preflow.graph.standard_form import StandardForm
from preflow.mincost.cost_scaling import CostScaling, CostScalingOptions
from preflow.mincost.cost_scaling.arc_passes import count_together, fix_together, new_moves
from preflow.mincost.residual import (
    COST,
    FIELDS,
    LEFT,
    MATE,
    Residual,
    build_residual,
    flow_from,
    flow_in_place,
)
from preflow.solving.run import Control

SHIFT = np.int64(1)


@st.composite
def forms(draw: st.DrawFn) -> tuple[StandardForm, Any]:
    """Draw a network with parallel arcs and self loops, and a flow within its capacities."""
    n, m = draw(st.integers(1, 9)), draw(st.integers(0, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    ends = rng.integers(0, n, (2, m)).astype(np.uint32)
    capacity = rng.integers(0, 9, m)
    form = StandardForm(ends[0], ends[1], capacity, rng.integers(-9, 10, m), np.zeros(n, dtype=np.int64))
    return form, rng.integers(0, capacity, endpoint=True)


def described(net: Residual) -> tuple[Any, ...]:
    """Return the arcs of each vertex in any order, with whether each is fixed and what its mate is."""
    found = []
    for u in range(len(net.live)):
        first, end = int(net.first[u]), int(net.first[u + 1])
        places = range(first, end, int(FIELDS))
        arcs = []
        for place in places:
            mate = int(net.arcs[place + int(MATE)])
            assert net.arcs[mate + int(MATE)] == place
            assert net.arcs[mate] == u
            numbers = [int(net.arcs[place + int(field)]) for field in (0, COST, LEFT)]
            fixed = place >= net.live[u]
            arcs.append((*numbers, fixed, int(net.origin[place // 4]), int(net.origin[mate // 4])))
        found.append(tuple(sorted(arcs)))
    return tuple(found)


@given(given_form=forms(), threads=st.sampled_from([1, 2, 5]), most=st.integers(0, 20))
@settings(max_examples=60, deadline=None)
def test_the_same_networks(given_form: Any, threads: int, most: int) -> None:
    form, flow = given_form
    rng = np.random.default_rng(most)
    potential = rng.integers(-9, 1, len(form.supply))
    alone = CostScaling(form, None, CostScalingOptions(), Control())
    alone.net, alone.shift = build_residual(form, flow), SHIFT
    alone.work.potential[:] = potential
    net = build_residual(form, flow, threads)
    moves = new_moves(net)
    assert described(net) == described(alone.net)
    for limit in (most + 20, most):
        alone.fix_arcs(np.int64(limit))
        fix_together(net, potential, SHIFT, np.int64(limit), moves, threads)
        assert described(net) == described(alone.net)
    loops = form.tail == form.head
    short = count_together(net, potential, SHIFT, threads)
    assert (short > 0) == alone.release_arcs()
    found = flow_from(flow_in_place(net, threads), form, threads)
    np.testing.assert_array_equal(found[~loops], flow[~loops])


@pytest.mark.parametrize("length", [1, 256, 257, 70_000])
def test_long_lists(length: int) -> None:
    """Moves within a list are numbers of one, two or four bytes."""
    tail, head = np.zeros(length, dtype=np.uint32), np.ones(length, dtype=np.uint32)
    cost = np.random.default_rng(length).integers(-9, 10, length)
    form = StandardForm(tail, head, np.arange(length), cost, np.zeros(2, dtype=np.int64))
    net = build_residual(form, None, 2)
    moves = new_moves(net)
    assert moves.itemsize == {1: 1, 256: 1, 257: 2, 70_000: 4}[length]
    fix_together(net, np.zeros(2, dtype=np.int64), SHIFT, np.int64(4 << int(SHIFT)), moves, 2)
    described(net)  # which checks mates
    assert (net.live - net.first[:-1] == 4 * np.count_nonzero(abs(cost) <= 4)).all()
