"""Multicore grid cuts: blocks and what is between them, and the one answer for every number of threads."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import preflow
from benchmarks.instances.traps import opposite_sides
from preflow.certify.grid import check_grid_flow, check_grid_labels, lower_bound
from preflow.errors import InvalidInputError
from preflow.forests.merging import BLOCK_NANOSECONDS, MERGE_NANOSECONDS, blocks_wanted
from preflow.graph.grid import GridNetwork
from preflow.graph.integer_grid import integer_grid
from preflow.graph.neighbourhood import both_ways
from preflow.gridcut import multicore_merging
from preflow.gridcut.multicore_merging import MergingOptions
from preflow.gridcut.multicore_merging.blocks import coarser_boxes, make_parts, plan_boxes
from preflow.gridcut.pixel_major import GridState
from preflow.parallel.delays import make_delays
from preflow.solving.run import Control

METHODS = ["multicore-merging", "multicore-lockfree"]
#: One kernel serves all neighbourhoods; these are those with a name.
PAIRS = {4: 2, 8: 4, 6: 3, 18: 9, 26: 13}


def random_grid(shape: tuple[int, ...], connectivity: int, directed: bool, seed: int) -> GridNetwork:
    """Return a grid with terminal capacities of about what its arcs carry."""
    rng = np.random.default_rng(seed)
    rows = PAIRS[connectivity] * (2 if directed else 1)
    most = int(rng.choice([3, 12, 60]))
    net = rng.integers(-most, most + 1, shape) * (rng.random(shape) < rng.choice([0.1, 0.6, 1.0]))
    neighbor = rng.integers(0, 13, (rows, *shape))
    return GridNetwork.from_arrays(
        np.maximum(net, 0), np.maximum(-net, 0), neighbor, connectivity=connectivity
    )


def smooth_grid(shape: tuple[int, ...], seed: int) -> GridNetwork:
    """Return a noisy image of large patches."""
    rng = np.random.default_rng(seed)
    coarse = rng.standard_normal([-(-length // 10) for length in shape])
    for axis, length in enumerate(shape):
        coarse = np.repeat(coarse, 10, axis=axis).take(range(length), axis=axis)
    net = np.rint(100 * (coarse + rng.standard_normal(shape))).astype(np.int64)
    return GridNetwork.from_arrays(np.maximum(net, 0), np.maximum(-net, 0), 100)


def check(network: GridNetwork, **arguments: Any) -> preflow.GridCutResult:
    """Compare with the general solver on the same network spelled out."""
    expected = preflow.min_cut(network.to_flow_problem(), method="serial-fifo")
    result = preflow.grid_cut(network, **arguments)
    result.verify()
    assert result.value == expected.value
    assert np.array_equal(result.labels, ~expected.sink_side[: network.size].reshape(network.shape))
    return result


@st.composite
def grids(draw: st.DrawFn) -> GridNetwork:
    volume = draw(st.booleans())
    sides = st.integers(1, 5 if volume else 14)
    shape = draw(st.tuples(sides, sides, sides) if volume else st.tuples(sides, sides))
    connectivity = draw(st.sampled_from([6, 18, 26] if volume else [4, 8]))
    return random_grid(shape, connectivity, draw(st.booleans()), draw(st.integers(0, 2**32)))


@given(
    grid=grids(),
    threads=st.sampled_from([1, 2, 3, 9]),
    blocks=st.sampled_from([None, 2, 7, 1000]),
    repartition=st.booleans(),
)
@settings(max_examples=100, deadline=None)
def test_merging_agrees_with_the_general_solver(
    grid: GridNetwork, threads: int, blocks: int | None, repartition: bool
) -> None:
    options = {"blocks": blocks, "repartition": repartition}
    check(grid, method="multicore-merging", threads=threads, options=options)


@given(grid=grids(), threads=st.sampled_from([1, 2, 3, 9]), period=st.sampled_from([0.01, 1.0, None]))
@settings(max_examples=40, deadline=None)
def test_lockfree_agrees_with_the_general_solver(
    grid: GridNetwork, threads: int, period: float | None
) -> None:
    check(grid, method="multicore-lockfree", threads=threads, options={"relabel_period": period})


@pytest.mark.parametrize("method", METHODS)
def test_a_neighbourhood_of_ones_own(method: str) -> None:
    """Its arcs reach past whole blocks."""
    rng = np.random.default_rng(0)
    source, sink = rng.integers(0, 20, (2, 11, 13))
    neighbor = rng.integers(0, 9, (3, 11, 13))
    network = GridNetwork.from_arrays(source, sink, neighbor, connectivity=[(0, 5), (4, -3), (7, 1)])
    for threads in (1, 3):
        options = {"blocks": 40} if method == "multicore-merging" else {}
        check(network, method=method, threads=threads, options=options)


def test_capacities_of_64_bits() -> None:
    rng = np.random.default_rng(0)
    source, sink, right, down = rng.integers(0, 2**40, (4, 9, 8))
    network = GridNetwork.from_arrays(source, sink, np.stack([right, down]))
    check(network, method="multicore-merging", threads=2, options={"blocks": 4})


# Blocks


@pytest.mark.parametrize("seed", range(60))
def test_faces_are_all_arcs_between_blocks(seed: int) -> None:
    rng = np.random.default_rng(seed)
    axes = int(rng.integers(1, 4))
    shape = tuple(int(n) for n in rng.integers(1, (50, 13, 7)[axes - 1], axes))
    half = {tuple(int(step) for step in rng.integers(-3, 4, axes)) for _ in range(8)}
    offsets = both_ways(sorted(offset for offset in half if offset > (0,) * axes) or [(1,) * axes])
    pad = 7
    boxes = plan_boxes(shape, pad, int(rng.integers(1, 40)))
    if seed % 2:
        boxes = coarser_boxes(boxes)
    size = int(np.prod(shape)) + 2 * pad
    state = GridState(
        np.zeros(size * len(offsets), np.int32), np.zeros(size, np.int32), np.zeros(len(offsets), np.uint64)
    )
    blocks, faces = make_parts(boxes, np.array(offsets), state, 1 + seed % 3)
    number = pad + np.arange(np.prod(shape)).reshape(shape)
    block_of = np.full(size, -1)
    for block in range(int(np.prod(boxes.counts))):
        for run in range(int(blocks.first[block]), int(blocks.first[block + 1])):
            part = block_of[blocks.begin[run] : blocks.end[run]]
            assert (part == -1).all()
            part[...] = block
    block_of = block_of[pad : size - pad].reshape(shape)
    assert (block_of >= 0).all()
    expected = set()
    for direction, offset in list(enumerate(offsets))[::2]:
        for tail in np.ndindex(shape):
            head = tuple(int(i) for i in np.add(tail, offset))
            inside = all(0 <= i < n for i, n in zip(head, shape, strict=True))
            if inside and block_of[tail] != block_of[head]:
                expected.add((int(number[tail]), direction, int(block_of[tail]), int(block_of[head])))
    found = []
    for face, ends in enumerate(faces.ends.tolist()):
        part = slice(int(faces.first[face]), int(faces.first[face + 1]))
        found += [
            (p, a, *ends) for p, a in zip(faces.tail[part].tolist(), faces.name[part].tolist(), strict=True)
        ]
    assert len(found) == int(faces.first[-1]) == len(expected)
    assert set(found) == expected


def test_blocks_are_near_to_cubes() -> None:
    for shape, wanted, counts in (
        ((4000, 4000), 256, [16, 16]),
        ((300, 300, 300), 512, [8, 8, 8]),
        ((5, 100_000), 64, [1, 64]),
        ((30, 2000, 2000), 64, [1, 8, 8]),
        ((1, 1), 64, [1, 1]),
    ):
        blocks = plan_boxes(shape, 0, wanted)
        assert blocks.counts.tolist() == counts
        others = coarser_boxes(blocks)
        assert others.counts.tolist() == [(count + 1) // 2 for count in counts]
        for length, first, second in zip(shape, blocks.cuts.tolist(), others.cuts.tolist(), strict=True):
            assert not (set(first) & set(second)) - {0, length}
    assert blocks_wanted(100, 16, None) == 1
    assert blocks_wanted(16_000_000, 16, None) >= 128


# Many threads


@pytest.mark.parametrize("method", METHODS)
def test_many_solves_on_more_threads_than_cores(method: str) -> None:
    for seed in range(4):
        network = smooth_grid((60, 70), seed)
        expected = preflow.grid_cut(network, method="serial-incremental-bfs")
        for threads in (2, 5, 16):
            for blocks in (6, 60):
                options = {"blocks": blocks} if method == "multicore-merging" else {}
                result = preflow.grid_cut(network, method=method, threads=threads, options=options)
                result.verify()
                assert result.value == expected.value
                assert np.array_equal(result.labels, expected.labels)


@pytest.mark.jit
@pytest.mark.parametrize("seed", range(6))
def test_threads_that_are_held_up(seed: int) -> None:
    grid = integer_grid(smooth_grid((8, 20, 20) if seed % 2 else (40, 50), seed))
    threads = 2 + 3 * (seed % 3)
    for repartition in (True, False):
        options = MergingOptions(blocks=30, repartition=repartition)
        control = Control(threads=threads, delays=make_delays(threads, seed))
        solution = multicore_merging.solve(grid, None, options, control)
        assert solution.finished
        check_grid_flow(grid, solution.residual, solution.terminal)
        check_grid_labels(grid, solution.residual, solution.terminal, ~solution.sink_side)


def test_several_threads_solve_blocks_and_merge() -> None:
    """Whether they do in a given solve is up to the machine."""
    grid = integer_grid(smooth_grid((300, 300), 0))
    for _ in range(20):
        control = Control(threads=2)
        multicore_merging.solve(grid, None, MergingOptions(blocks=50, repartition=False), control)
        spent = control.thread_counts[:, [BLOCK_NANOSECONDS, MERGE_NANOSECONDS]]
        if (spent > 0).all():
            break
    else:
        pytest.fail("one thread did all of one kind")


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("patience", [0.02, 0.3, 1.5])
def test_push_relabel_goes_on_where_the_patience_of_a_thread_ends(threads: int, patience: float) -> None:
    for seed in range(4):
        grid = opposite_sides((40, 60), seed=seed)
        expected = preflow.grid_cut(grid, method="serial-incremental-bfs", options={"budget": None})
        options = {"blocks": 12 + 40 * seed, "budget": patience}
        result = check(grid, method="multicore-merging", threads=threads, options=options)
        assert "multicore-lockfree went on" in result.stats.reason
        assert result.value == expected.value
        again = check(grid, method="multicore-merging", threads=threads, options=options, warm_start=result)
        assert again.value == expected.value


@pytest.mark.parametrize("method", METHODS)
def test_a_path_longer_than_there_is_room_for_levels_at_first(method: str) -> None:
    source, sink = np.zeros((2, 1, 5000), dtype=np.int64)
    source[0, 0] = sink[0, -1] = 5
    network = GridNetwork.from_arrays(source, sink, 3)
    for blocks in (1, 3):
        options = {"blocks": blocks} if method == "multicore-merging" else {}
        assert check(network, method=method, threads=2, options=options).value == 3


# Starts and ends


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("threads", [1, 4])
def test_warm_starts(method: str, threads: int) -> None:
    rng = np.random.default_rng(threads)
    network = smooth_grid((9, 20, 30), 0)
    result = preflow.grid_cut(network, method=method, threads=threads)
    source, sink = network.source_capacity.copy(), network.sink_capacity.copy()
    for strength in (100, 30, 170):
        source[:, 3:9, 5:9] += rng.integers(0, 200, (9, 6, 4))
        sink[2:5] += rng.integers(0, 50, (3, 20, 30))
        network = GridNetwork.from_arrays(source, sink, strength)
        cold = preflow.grid_cut(network, method="serial-incremental-bfs")
        options = {"blocks": 20} if method == "multicore-merging" else {}
        result = preflow.grid_cut(network, method=method, threads=threads, warm_start=result, options=options)
        result.verify()
        assert result.value == cold.value
        assert np.array_equal(result.labels, cold.labels)


def is_cut_from(state: Any, grid: Any) -> NDArray[np.bool_]:
    """Return which pixels cannot reach a deficit, by sweeps until nothing changes."""
    reaching = state.terminal < 0
    while True:
        before = reaching.copy()
        for number in range(grid.num_pairs):
            here, there = grid.boxes(number)
            reaching[here] |= reaching[there] & (state.residual[2 * number][here] > 0)
            reaching[there] |= reaching[here] & (state.residual[2 * number + 1][there] > 0)
        if np.array_equal(before, reaching):
            return ~reaching


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("milliseconds", [0, 1, 3, 10])
def test_a_stopped_solve_leaves_a_flow(milliseconds: int, threads: int) -> None:
    grid = integer_grid(smooth_grid((200, 150), 1))
    optimum = lower_bound(grid, multicore_merging.solve(grid, None, MergingOptions(), Control()).terminal)
    control = Control(threads=threads)
    timer = threading.Timer(milliseconds / 1000, control.stop.fill, [1])
    if milliseconds:
        timer.start()
    else:
        control.stop[0] = 1
    solution = multicore_merging.solve(grid, None, MergingOptions(blocks=20), control)
    timer.cancel()
    check_grid_flow(grid, solution.residual, solution.terminal)
    assert lower_bound(grid, solution.terminal) <= optimum
    assert np.array_equal(solution.sink_side, ~is_cut_from(solution, grid))
    assert solution.finished == (lower_bound(grid, solution.terminal) == optimum)


@pytest.mark.parametrize("method", METHODS)
def test_a_time_limit_leaves_bounds(method: str) -> None:
    network = smooth_grid((400, 500), 2)
    optimum = preflow.grid_cut(network, method="serial-incremental-bfs").value
    for limit in (1e-9, 0.06):
        result = preflow.grid_cut(network, method=method, threads=2, time_limit=limit)
        assert result.lower_bound <= optimum <= result.upper_bound
        if result.status == "optimal":
            result.verify()


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("multicore-merging", {"blocks": 0}),
        ("multicore-merging", {"blocks": 1.5}),
        ("multicore-merging", {"repartition": 1}),
        ("multicore-lockfree", {"relabel_period": 0}),
        ("multicore-lockfree", {"concurrent_relabel": True}),
    ],
)
def test_bad_options(method: str, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        preflow.grid_cut([[1]], [[2]], 1, method=method, options=options)
