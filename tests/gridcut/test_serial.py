"""Serial searches on grids: against the oracle, warm, stopped, in parts, and what holds between levels."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import preflow
from benchmarks.instances.traps import opposite_sides
from preflow.certify.grid import labelling_energy, lower_bound
from preflow.errors import InvalidInputError
from preflow.forests import boykov_kolmogorov as trees
from preflow.forests import incremental_search as ibfs
from preflow.graph.integer_grid import integer_grid
from preflow.gridcut import pixel_major as states
from preflow.gridcut import serial_incremental_bfs as serial
from preflow.gridcut.pixel_major import grid_state, interior
from preflow.gridcut.solution import initial_state
from preflow.papers.baselines import serial_boykov_kolmogorov as bk
from preflow.solving.run import Control
from tests.invariants.incremental_search import check_invariants as check_incremental_search
from tests.support.oracles import edmonds_karp

METHODS = ("serial-incremental-bfs", "serial-boykov-kolmogorov")
ONE = np.uint64(1)


class SmallGrid(NamedTuple):
    """Arguments of grid_cut."""

    source: NDArray[Any]
    sink: NDArray[Any]
    neighbor: NDArray[Any]
    connectivity: Any

    @property
    def network(self) -> preflow.GridNetwork:
        return preflow.GridNetwork.from_arrays(
            self.source, self.sink, self.neighbor, connectivity=self.connectivity
        )


neighbourhoods = {
    2: (4, 8, [(0, 1), (1, 0), (1, 2)], [(0, 3), (2, -1)]),
    3: (6, 18, 26, [(0, 0, 2), (1, -1, 0)]),
}


@st.composite
def small_grids(draw: st.DrawFn, most: tuple[int, int] = (6, 3)) -> SmallGrid:
    """Images and volumes, with all neighbourhoods, one-directional capacities, and large ones."""
    ndim = draw(st.sampled_from((2, 3)))
    shape = tuple(draw(st.lists(st.integers(1, most[ndim - 2]), min_size=ndim, max_size=ndim)))
    connectivity = draw(st.sampled_from(neighbourhoods[ndim]))
    pairs = len(connectivity) if isinstance(connectivity, list) else connectivity // 2
    rows = draw(st.sampled_from((pairs, 2 * pairs)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    largest = draw(st.sampled_from((1, 4, 20, 2**33)))
    seeds = draw(st.sampled_from((0.2, 0.6, 1.0)))

    def terminal() -> NDArray[np.int64]:
        return rng.integers(0, 2 * largest, shape) * (rng.random(shape) < seeds)

    neighbor = rng.integers(0, largest + 1, (rows, *shape))
    neighbor *= rng.random(neighbor.shape) < draw(st.sampled_from((0.5, 1.0)))
    return SmallGrid(terminal(), terminal(), neighbor, connectivity)


def oracle(network: preflow.GridNetwork) -> tuple[float, NDArray[np.bool_]]:
    """Return the value of a minimum cut, and the labels of the one with the smallest sink side."""
    problem = network.to_flow_problem()
    arcs = problem.network
    forward = zip(arcs.tail.tolist(), arcs.head.tolist(), arcs.capacity.tolist(), strict=True)
    backward = zip(arcs.head.tolist(), arcs.tail.tolist(), arcs.reverse_capacity.tolist(), strict=True)
    value, sink_side, _ = edmonds_karp(
        arcs.num_vertices, [*forward, *backward], [problem.source], [problem.sink]
    )
    labels = np.array([p not in sink_side for p in range(network.size)])
    return value, labels.reshape(network.shape)


@given(grid=small_grids(), box=st.integers(1, 20), levels=st.integers(0, 4))
@settings(max_examples=60)
def test_cut_is_the_oracles(grid: SmallGrid, box: int, levels: int) -> None:
    value, labels = oracle(grid.network)
    for method, options in zip(METHODS, ({"box_levels": levels}, None), strict=True):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(serial, "BOX", box)
            result = preflow.grid_cut(grid.network, method=method, options=options)
        result.verify()
        assert result.value == value
        assert np.array_equal(result.labels, labels)


@given(grid=small_grids(most=(12, 4)), other=st.integers(0, 2**32), sweep=st.booleans())
@settings(max_examples=40)
def test_warm_start_changes_nothing(grid: SmallGrid, other: int, sweep: bool) -> None:
    """Seeds and capacities change, some of them below the flow of the earlier result."""
    rng = np.random.default_rng(other)
    source, sink, neighbor = (
        np.where(rng.random(values.shape) < 0.3, values[::-1], values) for values in grid[:3]
    )
    later = SmallGrid(source, sink, neighbor, grid.connectivity).network
    for method, options in zip(METHODS, ({"sweep": sweep}, None), strict=True):
        earlier = preflow.grid_cut(grid.network, method=method)
        warm = preflow.grid_cut(later, method=method, options=options, warm_start=earlier)
        warm.verify()
        cold = preflow.grid_cut(later, method=method)
        assert warm.value == cold.value
        assert np.array_equal(warm.labels, cold.labels)


def test_larger_grids_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forests deeper than there is room for at first, and rings that wrap around."""
    monkeypatch.setattr(ibfs, "LEVELS", 8)
    rng = np.random.default_rng(3)
    wall = np.zeros((60, 61), dtype=np.int64)
    wall[1::4, :-1] = wall[3::4, 1:] = 1
    corridor = 50 * (1 - wall)
    source, sink = np.zeros_like(corridor), np.zeros_like(corridor)
    source[0, 0] = sink[-2, -2] = 1000
    snake = np.stack([corridor, np.minimum(corridor, np.roll(corridor, -1, axis=0))])
    snake[0, :, :-1] = np.minimum(snake[0, :, :-1], corridor[:, 1:])
    noise = rng.integers(0, 40, (2, 60, 61))
    for terminals, neighbor in (
        ((source, sink), snake),
        ((source, sink), snake + rng.integers(0, 9, snake.shape)),
        (tuple(noise), rng.integers(0, 20, (4, 60, 61))),
    ):
        values = set()
        for method in METHODS:
            result = preflow.grid_cut(*terminals, neighbor, connectivity=4, method=method)
            result.verify()
            values.add((result.value, result.labels.tobytes()))
        assert len(values) == 1


@pytest.mark.parametrize("chunk", [1, 50, 10**6])
@pytest.mark.parametrize("shape", [(1, 1), (7, 9), (40, 3), (4, 5, 6), (3, 1, 8)])
def test_state_is_the_direct_one(shape: tuple[int, ...], chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(states, "CHUNK_ALONE", chunk)
    rng = np.random.default_rng(chunk)
    pairs = 4 if len(shape) == 2 else 13
    for rows in (pairs, 2 * pairs):
        capacities = rng.integers(0, 9, (rows, *shape))
        grid, other = (
            integer_grid(preflow.GridNetwork.from_arrays(*terminals, capacities, connectivity=2 * pairs))
            for terminals in rng.integers(0, 9, (2, 2, *shape))
        )
        flow = preflow.grid_cut(
            other.source, other.sink, capacities, connectivity=2 * pairs, method=METHODS[0]
        ).flow(grid)
        for start in (None, flow):
            built = states.grid_solution(grid, grid_state(grid, start), np.zeros(shape, dtype=bool), False)
            residual, terminal = initial_state(grid, start)
            assert np.array_equal(built.residual, residual)
            assert np.array_equal(built.terminal, terminal)


@pytest.mark.parametrize("module", [serial, bk])
def test_stop_leaves_bounds(module: Any) -> None:
    rng = np.random.default_rng(5)
    terminals, neighbor = rng.integers(0, 30, (2, 20, 20)), rng.integers(0, 9, (2, 20, 20))
    network = preflow.GridNetwork.from_arrays(*terminals, neighbor)
    grid = integer_grid(network)
    options = serial.IncrementalBfsOptions() if module is serial else bk.NoOptions()
    value = preflow.grid_cut(network, method=METHODS[0]).value
    control = Control()
    control.stop[0] = 1
    solution = module.solve(grid, None, options, control)
    assert not solution.finished
    assert lower_bound(grid, solution.terminal) <= value <= labelling_energy(network, ~solution.sink_side)


@given(grid=small_grids(most=(9, 4)))
@settings(max_examples=40)
def test_forests_hold_between_levels(grid: SmallGrid) -> None:
    whole = integer_grid(grid.network)
    state = grid_state(whole)
    first, last = interior(whole)
    forests = ibfs.make_forests(state, int(last - first))
    ibfs.plant(state, forests, first, last)
    monitor = Control().monitor()
    source = True
    while forests.cursor[ibfs.LENGTH + ibfs.SINK] > 0:
        check_incremental_search(state, forests, int(first), int(last))
        ibfs.grow(state, forests, source, monitor)
        source = not source and bool(forests.cursor[ibfs.LENGTH + ibfs.SOURCE] > 0)
    check_incremental_search(state, forests, int(first), int(last))
    assert (forests.first_orphan == len(forests.label)).all()
    assert np.array_equal(forests.label[first:last] >= 0, oracle(grid.network)[1].ravel())


@given(grid=small_grids(most=(9, 4)), cut=st.floats(0, 1))
@settings(max_examples=40)
def test_parts_are_put_together(grid: SmallGrid, cut: float) -> None:
    """Two parts are searched alone, with no capacity between them, then together from where they were."""
    whole = integer_grid(grid.network)
    state = grid_state(whole)
    first, last = interior(whole)
    border = first + np.uint64(cut * int(last - first))
    monitor = Control().monitor()

    degree = len(state.step)
    part_of = (np.arange(len(state.terminal)) >= int(border)).astype(int)
    heads = np.arange(len(state.terminal))[:, None] + state.step.view(np.int64)
    crossing = part_of[heads.clip(0, len(part_of) - 1)] != part_of[:, None]
    residual = state.residual.reshape(-1, degree)
    kept = np.where(crossing, residual, 0)
    residual -= kept

    forests = ibfs.make_forests(state, 0)
    parts = []
    for begin, end in ((first, border), (border, last)):
        part = ibfs.forests_of_part(forests, int(end - begin))
        ibfs.plant(state, part, begin, end)
        parts.append(ibfs.search_all(state, part, monitor))
        check_incremental_search(state, part, int(begin), int(end))
    residual += kept
    together = ibfs.forests_of_part(forests, int(last - first))
    for part in parts:
        ibfs.append_queues(together, part)
    for p in np.flatnonzero(crossing.any(axis=1) & (forests.label != 0)):
        ibfs.enqueue(together, np.uint64(p), ibfs.SOURCE if forests.label[p] > 0 else ibfs.SINK)
    check_incremental_search(state, together, int(first), int(last))
    together = ibfs.search_all(state, together, monitor)
    check_incremental_search(state, together, int(first), int(last))
    assert np.array_equal(forests.label[first:last] >= 0, oracle(grid.network)[1].ravel())


@pytest.mark.parametrize("module", [serial, bk])
def test_adoption_ends_when_the_search_is_to_stop(module: Any) -> None:
    """A row whose first pixel has excess; its tree loses the root, which makes all other pixels orphans."""
    source = np.zeros((1, 50), dtype=np.int64)
    source[0, 0] = 9
    grid = integer_grid(preflow.GridNetwork.from_arrays(source, np.zeros_like(source), 9))
    for flag, adopted in ((0, 50), (1, 0)):
        state = grid_state(grid)
        first, last = interior(grid)
        none, control = np.uint64(len(state.terminal)), Control()
        monitor = control.monitor()
        if module is bk:
            tree: Any = trees.make_trees(state)
            trees.plant(state, tree, monitor)
            trees.grow(state, tree, monitor)
            parent = tree.vertex[:, trees.PARENT]
        else:
            tree = ibfs.make_forests(state, int(last - first))
            ibfs.plant(state, tree, first, last)
            for _ in range(50):
                ibfs.grow(state, tree, True, monitor)
            parent = tree.parent
        parent[first] = len(state.step) + 1
        tree.next_orphan[first] = none
        control.stop[0] = flag
        if module is bk:
            tree.cursor[trees.NOW] += 1
            found = trees.adopt(state, tree, True, first, monitor)
        else:
            found = ibfs.adopt(state, tree, True, np.int64(60), first, monitor)
        assert found == adopted, "orphans looked at"


@given(grid=small_grids(), patience=st.sampled_from([0.01, 0.1, 0.3, 1.0]))
@settings(max_examples=30)
def test_push_relabel_goes_on_where_patience_ends(grid: SmallGrid, patience: float) -> None:
    result = preflow.grid_cut(
        grid.network, method="serial-incremental-bfs", options={"budget": patience, "box_levels": 2}
    )
    result.verify()
    assert np.array_equal(result.labels, oracle(grid.network)[1])


def test_statistics_tell_of_the_hand_over() -> None:
    sides = opposite_sides((40, 60))
    patient = preflow.grid_cut(sides, method="serial-incremental-bfs", options={"budget": None})
    assert "went on" not in patient.stats.reason
    result = preflow.grid_cut(sides, method="serial-incremental-bfs", options={"budget": 1})
    assert re.search(
        "the search gave up after [0-9,]+ paths and [0-9,]+ orphans, so multicore-lockfree went on",
        result.stats.reason,
    )
    assert result.value == patient.value
    assert result.stats.global_relabels > 0
    result.verify()


def test_options_are_checked() -> None:
    with pytest.raises(InvalidInputError, match="sweep"):
        preflow.grid_cut([[1]], [[0]], 1, method=METHODS[0], options={"sweep": 2})


@pytest.mark.parametrize("threads", [1, 2])
def test_pixels_of_many_neighbours(threads: int) -> None:
    """The name of an arc does not fit in eight bits; the library of kernels has these kinds, too."""
    offsets = np.array([(0, 1 + k) if k < 12 else (1 + k // 25, k % 25 - 12) for k in range(140)])
    ends = np.random.default_rng(4).integers(0, 9, (2, 12, 30))
    network = preflow.GridNetwork.from_arrays(*ends, 1, connectivity=offsets)
    method = "serial-incremental-bfs" if threads == 1 else "multicore-merging"
    result = preflow.grid_cut(network, method=method, threads=threads)
    result.verify()
    assert result.value == oracle(network)[0]
