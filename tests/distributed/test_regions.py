"""Minimum cuts of grids by regions: against grid_cut bit for bit, with the invariants between sweeps."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import preflow
from preflow.distributed import grid_region
from preflow.distributed.exchange import (
    INFINITE,
    Message,
    Order,
    Raised,
    Report,
    Worker,
    search_by_label,
    stored,
)
from preflow.distributed.grid_source import GridSource, grid_tasks
from preflow.distributed.memory import MemoryExchange
from preflow.distributed.partition import border_of, divide
from preflow.distributed.sweeps import Progress, relabel, run_sweeps
from preflow.errors import VerificationError
from preflow.forests import merging
from preflow.gridcut import multicore_merging
from preflow.solving.run import Control
from tests.invariants.incremental_search import check_invariants

NEIGHBOURHOODS: dict[int, tuple[Any, ...]] = {
    1: (2, [(1,), (3,)]),
    2: (4, 8, [(0, 1), (1, 0), (1, 2)], [(0, 3), (2, -1)]),
    3: (6, 18, 26, [(0, 0, 2), (1, -1, 0)]),
}


@st.composite
def grids(draw: st.DrawFn) -> preflow.GridNetwork:
    """Grids of one to three axes, with all neighbourhoods, and sparse or large capacities."""
    ndim = draw(st.integers(1, 3))
    shape = tuple(draw(st.lists(st.integers(1, (20, 7, 5)[ndim - 1]), min_size=ndim, max_size=ndim)))
    connectivity = draw(st.sampled_from(NEIGHBOURHOODS[ndim]))
    pairs = len(connectivity) if isinstance(connectivity, list) else connectivity // 2
    rows = draw(st.sampled_from((pairs, 2 * pairs)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    most = draw(st.sampled_from((1, 3, 20, 2**30, 2**40)))
    density = draw(st.sampled_from((0.1, 0.5, 1.0)))

    def capacities(*lengths: int) -> NDArray[np.int64]:
        values: NDArray[np.int64] = rng.integers(0, most, lengths, endpoint=True)
        return np.where(rng.random(lengths) < density, values, 0)

    return preflow.GridNetwork.from_arrays(
        capacities(*shape), capacities(*shape), capacities(rows, *shape), connectivity=connectivity
    )


def solved(source: GridSource, regions: int, exchange: MemoryExchange) -> tuple[Any, Progress]:
    """Return labels and bounds; check the invariants between sweeps."""
    boxes = divide(source.shape, regions, source.periodic)

    def check(progress: Progress) -> None:
        for worker in exchange.workers:
            worker.check_labels()
            kept = worker.report()
            worker._links.clear()
            for mine, found in zip(kept, worker.report(), strict=True):
                assert np.array_equal(mine, found)
        for worker in exchange.workers:
            for other in worker.border.neighbours:
                theirs = dict(exchange.workers[other]._parts())[worker.number]
                mine = dict(worker._parts())[other]
                assert np.array_equal(worker._ghost_label[mine], exchange.workers[other]._label[theirs])

    progress = run_sweeps(exchange, grid_tasks(source, boxes), Control(), check)
    labels = np.zeros(source.shape, dtype=bool)
    for box, side in zip(boxes.boxes(), exchange.collect(sink_side), strict=True):
        labels[box] = ~side
    return labels, progress


def sink_side(worker: Worker) -> Any:
    return worker.region.sink_side()


def proved(exchange: MemoryExchange) -> int:
    """Return the value of the flow, proved region by region."""
    proofs = [worker.proofs() for worker in exchange.workers]
    return sum(worker.verify(proofs, True) for worker in exchange.workers)


def check_answer(network: preflow.GridNetwork, regions: int, exchange: MemoryExchange) -> None:
    """Solve by regions, and compare with grid_cut."""
    labels, progress = solved(GridSource.of(network, None, None, None), regions, exchange)
    expected = preflow.grid_cut(network, method="serial-incremental-bfs")
    assert progress.lower == progress.upper == expected.value
    assert np.array_equal(labels, expected.labels)
    assert proved(exchange) == expected.value
    exchange.close()


@given(grids(), st.integers(1, 27))
@settings(max_examples=60, deadline=None)
def test_the_answer_is_that_of_grid_cut(network: preflow.GridNetwork, regions: int) -> None:
    check_answer(network, regions, MemoryExchange(2))


@given(grids(), st.integers(1, 4), st.integers(2, 9))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_threads_within_regions(
    monkeypatch: pytest.MonkeyPatch, network: preflow.GridNetwork, regions: int, threads: int
) -> None:
    """Blocks of two pixels are searched and merged."""
    monkeypatch.setattr(grid_region.GridRegion, "_threads_for", lambda region, control: control.threads)
    monkeypatch.setattr(merging, "LEAST_BLOCK", 2)
    check_answer(network, regions, MemoryExchange(threads))


def test_spare_threads_search_within_regions(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    source, sink = rng.integers(0, 90, (2, 40, 40, 60))
    seen = []
    search = multicore_merging.search_in_blocks

    def watch(*arguments: Any) -> Any:
        forests = search(*arguments)
        state, control = arguments[0], arguments[-1]
        seen.append(control.threads)
        first = (len(state.terminal) - math.prod(arguments[1])) // 2
        check_invariants(state, forests, first, len(state.terminal) - first)
        return forests

    monkeypatch.setattr(grid_region, "search_in_blocks", watch)
    expected = preflow.grid_cut(source, sink, 20, method="serial-incremental-bfs")
    for threads, found in ((4, [2, 2]), (2, [])):
        seen.clear()
        exchange = MemoryExchange(threads)
        labels, _ = solved(GridSource.of(source, sink, 20, None), 2, exchange)
        assert seen == found
        assert np.array_equal(labels, expected.labels)
        exchange.close()


def test_new_regions_on_files_have_several_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    source, sink = rng.integers(0, 90, (2, 40, 40, 60))
    seen = []
    search = multicore_merging.search_in_blocks

    def watch(*arguments: Any) -> Any:
        seen.append(arguments[-1].threads)
        return search(*arguments)

    monkeypatch.setattr(grid_region, "search_in_blocks", watch)
    monkeypatch.setattr(grid_region.GridRegion, "_threads_for", lambda region, control: control.threads)
    expected = preflow.grid_cut(source, sink, 20, method="serial-incremental-bfs")
    for threads, found in ((1, []), (3, []), (7, [3] * 4), (99, [8] * 4)):
        seen.clear()
        result = preflow.distributed.grid_cut(source, sink, 20, exchange="files", regions=4, threads=threads)
        assert seen == found
        assert np.array_equal(result.labels, expected.labels)
        result.verify()


def test_a_wrong_flow_or_side_is_found() -> None:
    rng = np.random.default_rng(3)
    shape = (6, 6, 6)
    network = preflow.GridNetwork.from_arrays(
        rng.integers(0, 9, shape), rng.integers(0, 9, shape), 3, connectivity=6
    )
    exchange = MemoryExchange(1)
    solved(GridSource.of(network, None, None, None), 8, exchange)
    proved(exchange)
    region: Any = exchange.workers[3].region
    region._state.residual[region._arcs[0]] += 1
    with pytest.raises(VerificationError, match="disagree on the flow"):
        proved(exchange)
    region._state.residual[region._arcs[0]] -= 1
    region._own_terminals[1, 1, 1] += 1
    with pytest.raises(VerificationError, match="not conserved"):
        proved(exchange)
    exchange.close()


@pytest.mark.parametrize("regions", [1, 2, 5, 12, 27])
def test_neighbours_list_their_arcs_in_the_same_order(regions: int) -> None:
    network = preflow.GridNetwork.from_arrays(np.zeros((5, 6, 4), int), 1, 1, connectivity=26)
    boxes = divide(network.shape, regions)
    borders = [border_of(boxes, number, network.offsets) for number in range(len(boxes.boxes()))]
    for number, border in enumerate(borders):
        for i, other in enumerate(border.neighbours):
            mine = slice(*border.first[i : i + 2])
            j = borders[other].neighbours.index(number)
            theirs = slice(*borders[other].first[j : j + 2])
            assert np.array_equal(border.direction[mine] ^ 1, borders[other].direction[theirs])
            for tail, head in zip(border.tail, borders[other].head, strict=True):
                assert np.array_equal(tail[mine], head[theirs])


def report(region: int, labels: list[int], links: list[tuple[int, int, int]]) -> Report:
    return Report(
        region,
        np.array(labels, dtype=np.int32),
        np.array(links, dtype=np.int32).reshape(-1, 3),
        0,
        0,
        False,
    )


def test_the_search_of_the_border_raises_labels_and_finds_gaps() -> None:
    reports = [
        report(0, [0, 4], []),
        report(1, [1, 3], [(0, 1, 0)]),
        report(2, [1, 2, 5], [(1, 1, 3), (1, 2, 3), (0, 5, 4)]),
    ]
    raised = relabel(reports)
    infinite = preflow.distributed.exchange.INFINITE
    assert raised[0].new.tolist() == [infinite]
    assert raised[1].old.tolist() == [3]
    assert raised[1].new.tolist() == [infinite]
    assert raised[2].new.tolist() == [infinite] * 3


def test_only_ghosts_next_to_unreached_vertices_take_flow() -> None:
    """Vertex 0 reaches the sink, all flow of vertex 1 goes to ghost 1, and vertex 2 is next to ghost 2."""
    ghost_label = np.array([0, 0, 2, 1], dtype=np.int32)
    ends = np.array([0, 1, 2]), np.array([0, 1, 2])
    calls: list[tuple[list[bool], list[int]]] = []

    def search(ghosts: NDArray[np.bool_], left: NDArray[np.intp]) -> NDArray[np.bool_]:
        calls.append((ghosts.tolist(), left.tolist()))
        return (left == 2) & ghosts[2]

    found = np.array([0, INFINITE, INFINITE], dtype=np.int32)
    assert search_by_label(ghost_label, 9, found, ends, search, Control())
    assert calls == [([False, True, False, False], [1, 2]), ([False, False, True, False], [1, 2])]
    assert found.tolist() == [0, INFINITE, 3]
    found = np.array([0, INFINITE, INFINITE], dtype=np.int32)
    assert not search_by_label(ghost_label, 2, found, ends, search, Control())
    assert found.tolist() == [0, 3, 3]
    found = np.array([0, 1, 2], dtype=np.int32)
    calls.clear()
    assert search_by_label(ghost_label, 1, found, ends, search, Control())
    assert not calls


@pytest.mark.parametrize("factor", [1, 2**33])
def test_a_region_goes_on_from_its_stored_arrays(factor: int) -> None:
    """Whatever dtypes they are stored in: here the narrowest ones."""
    source, sink = factor * np.random.default_rng(1).integers(0, 30, (2, 9, 8, 7)) + 1
    task = grid_tasks(GridSource.of(source, sink, 9 * factor, 6), divide(source.shape, 2))[0]
    region, again = task.build(), task.empty()
    labels = np.zeros(len(region.border.capacity), dtype=np.int32)
    gain = np.zeros_like(region.border.capacity)
    region.discharge(gain, labels, 0, Control())
    again.restore({name: values.copy() for name, values in stored(region.state()).items()})
    assert np.array_equal(again.sink_side(), region.sink_side())
    mine, theirs = (each.discharge(gain, labels, 1, Control()) for each in (region, again))
    # The flow may go over other arcs.
    assert theirs.push.sum() == mine.push.sum() > 0
    assert np.array_equal(theirs.label, mine.label)
    assert theirs[2:] == mine[2:]
    assert np.array_equal(again.sink_side(), region.sink_side())
    assert again._state.residual.dtype == region._state.residual.dtype


def test_a_stopped_discharge_is_repeated() -> None:
    """Also if its ghosts cannot reach the sink: no label of theirs will change and make it ready."""
    source, sink, _ = np.zeros((3, 4, 5), dtype=np.int64)
    source[0] = sink[-1] = 1
    task = grid_tasks(GridSource.of(source, sink, 2, 4), divide(source.shape, 2))[0]
    worker, infinite = Worker(0, task.build()), preflow.distributed.exchange.INFINITE
    worker._ghost_label[:] = infinite
    stopped = Control()
    stopped.stop[0] = 1
    worker.augment(infinite, stopped)
    assert worker.ready
    assert worker.is_ready(infinite)
    worker.augment(infinite, Control())
    assert not worker.ready


def test_messages_can_be_pickled() -> None:
    message = Message(np.arange(3), np.arange(3, dtype=np.int32))
    order = Order(2, {1: Raised(np.array([1], dtype=np.int32), np.array([4], dtype=np.int32))})
    for value in (message, order, report(0, [1], [(1, 1, 0)])):
        assert pickle.loads(pickle.dumps(value))._fields == value._fields
    task = grid_tasks(GridSource.of(np.ones((2, 3)), 0, 1, None), divide((2, 3), 2))[1]
    assert pickle.loads(pickle.dumps(task)).build().border.neighbours == (0,)
