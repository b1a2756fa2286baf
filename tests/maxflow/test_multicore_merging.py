"""Merging of blocks of networks: the blocks and what is between them, and the one answer of all of them."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import preflow
from preflow.errors import InvalidInputError
from preflow.generators import FAMILIES
from preflow.graph.residual import ResidualArrays, build_residual
from preflow.maxflow.multicore_merging import ATOM, MergingOptions, atom_size, partition, solve
from preflow.parallel.delays import make_delays
from preflow.solving.run import Control
from tests.invariants.push_relabel import check_exact, check_preflow
from tests.support.oracles import check_against_oracle
from tests.support.strategies import SmallProblem, small_problems

METHOD = "multicore-merging"
FAMILY_SIZES = [
    ("ishikawa", "12x12x8"),
    ("expansion-move", "25x25x6"),
    ("column-surface", "8x8x9"),
    ("superpixels", "700"),
    ("tetrahedra", "300"),
    ("grid-3d", "9x9x9"),
    ("rmf-long", "4x20"),
    ("rmat-flow", "9"),
]


def network_of(family: str, size: str, *, shuffled: bool = False) -> ResidualArrays:
    """Return the residual network of a generated problem, also with its vertices in random order."""
    problem = FAMILIES[family].generate(size, seed=1)
    network = problem.network
    order = np.arange(network.num_vertices)
    if shuffled:
        order = np.random.default_rng(0).permutation(order)
    arcs = order[network.tail], order[network.head], network.capacity
    network = preflow.FlowNetwork.from_arrays(*arcs, reverse_capacity=network.reverse_capacity)
    ends = (np.array([order[vertex]]) for vertex in (problem.source, problem.sink))
    return build_residual(network, *ends).arrays


def copy_of(net: ResidualArrays) -> ResidualArrays:
    return ResidualArrays(*(array.copy() for array in net))


@pytest.mark.parametrize("options", [{"blocks": 0}, {"blocks": 1.5}, {"repartition": 1}, {"gap": True}])
def test_bad_options(options: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError):
        preflow.max_flow(([0, 1], [1, 2], [1, 1]), 0, 2, method=METHOD, options=options)


@given(
    problem=small_problems(max_vertices=14),
    threads=st.integers(1, 8),
    blocks=st.sampled_from([None, 1, 2, 5, 1000]),
    repartition=st.booleans(),
    budget=st.sampled_from([None, 0.02, 2.0]),
)
@settings(max_examples=150, deadline=None)
def test_agrees_with_oracle(
    problem: SmallProblem, threads: int, blocks: int | None, repartition: bool, budget: float | None
) -> None:
    options = {"blocks": blocks, "repartition": repartition, "budget": budget}
    check_against_oracle(problem, method=METHOD, threads=threads, options=options)


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("size", [1, 5, ATOM])
@pytest.mark.parametrize("blocks", [1, 2, 7, 40])
def test_faces_are_all_arcs_between_blocks(blocks: int, size: int, shuffled: bool) -> None:
    net = network_of("ishikawa", "9x11x7", shuffled=shuffled)
    n = len(net.excess)
    parts, faces = partition(net, size, blocks, 2)
    block_of = np.full(n, -1)
    weight = np.zeros(len(parts.first) - 1)
    for block in range(len(weight)):
        for run in range(int(parts.first[block]), int(parts.first[block + 1])):
            part = slice(int(parts.begin[run]), int(parts.end[run]))
            assert (block_of[part] == -1).all()
            block_of[part] = block
            weight[block] += part.stop - part.start + net.first_out[part.stop] - net.first_out[part.start]
    assert (block_of >= 0).all()
    # Blocks differ in weight by at most that of an atom, about.
    assert np.ptp(weight) <= 2 * (size + size * np.diff(net.first_out.astype(np.int64)).max())
    tail = np.repeat(np.arange(n), np.diff(net.first_out.astype(np.int64)))
    crossing = np.flatnonzero(block_of[tail] < block_of[net.head])
    assert np.array_equal(np.sort(faces.name), crossing)
    assert np.array_equal(tail[faces.name], faces.tail)
    face = np.repeat(np.arange(len(faces.ends)), np.diff(faces.first.astype(np.int64)))
    assert np.array_equal(block_of[faces.tail], faces.ends[face, 0])
    assert np.array_equal(block_of[net.head[faces.name]], faces.ends[face, 1])
    assert len(np.unique(faces.ends, axis=0)) == len(faces.ends)


def test_atoms_are_runs_where_numbers_are_local() -> None:
    for family, size in FAMILY_SIZES[:3]:
        assert atom_size(network_of(family, size)) == ATOM
    assert atom_size(network_of("ishikawa", "30x30x8", shuffled=True)) == 1


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize(("family", "size"), FAMILY_SIZES)
def test_families(family: str, size: str, shuffled: bool) -> None:
    net = network_of(family, size, shuffled=shuffled)
    expected = None
    for threads, blocks in ((1, None), (1, 9), (2, 3), (3, 40), (16, 40)):
        for repartition in (True, False):
            solved = copy_of(net)
            height = solve(solved, MergingOptions(blocks, repartition), Control(threads=threads))
            check_preflow(net, solved)
            check_exact(solved, height)
            reaching = height <= len(height)
            assert not solved.excess[reaching].any()
            found = int(solved.sink_residual.sum()), reaching.tobytes()
            assert expected in (None, found)
            expected = found


@pytest.mark.jit
@pytest.mark.parametrize("seed", range(6))
def test_threads_that_are_held_up(seed: int) -> None:
    net = network_of("expansion-move", "20x30x6", shuffled=bool(seed % 2))
    expected = copy_of(net)
    height = solve(expected, MergingOptions(), Control())
    threads = 2 + 3 * (seed % 3)
    for repartition in (True, False):
        solved = copy_of(net)
        control = Control(threads=threads, delays=make_delays(threads, seed))
        found = solve(solved, MergingOptions(30, repartition), control)
        assert np.array_equal(found > len(found), height > len(height))
        check_preflow(net, solved)
        assert solved.sink_residual.sum() == expected.sink_residual.sum()


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_push_relabel_goes_on_where_the_budget_ends(threads: int) -> None:
    for seed in range(4):
        problem = FAMILIES["rmf-wide"].generate("10x8", seed=seed)
        expected = preflow.min_cut(problem, method="serial-hi-pr")
        options = {"blocks": 12, "budget": 0.05}
        result = preflow.min_cut(problem, method=METHOD, threads=threads, options=options)
        result.verify()
        assert "serial-hi-pr went on" in result.stats.reason
        assert result.value == expected.value
        assert np.array_equal(result.sink_side, expected.sink_side)


@pytest.mark.parametrize("threads", [1, 2, 8])
@pytest.mark.parametrize(("family", "size"), [("expansion-move", "40x40x8"), ("rmf-long", "4x60")])
def test_threads_spend_one_budget_together(family: str, size: str, threads: int) -> None:
    """A solve that ends is never given to another method, and one that gives up has spent the budget."""
    problem = FAMILIES[family].generate(size, seed=2)
    expected = preflow.min_cut(problem, method="serial-hi-pr")
    net = network_of(family, size)
    arcs_and_vertices = len(net.excess) + len(net.head)
    outcomes = set()
    for budget in (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 128.0, 1e9):
        options = {"blocks": 30, "budget": budget}
        result = preflow.min_cut(problem, method=METHOD, threads=threads, options=options)
        result.verify()
        assert result.value == expected.value
        first, *others = result.stats.attempts
        outcomes.add(len(others))
        # A path and its orphans are not cut short; orphans are limited, too.
        assert first.operations <= 1.1 * budget * arcs_and_vertices + threads * len(net.head)
        assert all(other.operations > 0 for other in others)
    assert outcomes == {0, 1}


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("milliseconds", [0, 1, 3, 10])
def test_a_stopped_solve_leaves_a_preflow(milliseconds: int, threads: int) -> None:
    net = network_of("ishikawa", "40x40x16")
    solved, control = copy_of(net), Control(threads=threads)
    timer = threading.Timer(milliseconds / 1000, control.stop.fill, [1])
    if milliseconds:
        timer.start()
    else:
        control.stop[0] = 1
    height = solve(solved, MergingOptions(20), control)
    timer.cancel()
    check_preflow(net, solved)
    check_exact(solved, height)
