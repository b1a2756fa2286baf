"""Regions of grids whose axes are rings: against grid_cut bit for bit, and against arcs found one by one."""

from __future__ import annotations

import errno
import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import preflow
from preflow.distributed import api
from preflow.distributed.grid_source import GridSource, grid_tasks
from preflow.distributed.memory import MemoryExchange
from preflow.distributed.partition import border_of, divide, read_around
from preflow.errors import CapacityOverflowError, InvalidInputError, StorageError, UnsuitableMethodError
from preflow.graph.neighbourhood import half_neighbourhood, named_neighbourhoods
from tests.distributed.test_grid_cut import Lazy, fail_at
from tests.distributed.test_regions import proved, solved


class Grid(NamedTuple):
    """The arguments of grid_cut."""

    source: NDArray[Any]
    sink: NDArray[Any]
    neighbor: NDArray[Any]
    connectivity: list[tuple[int, ...]]
    periodic: tuple[bool, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.source.shape

    def cut(self) -> preflow.GridCutResult:
        return preflow.grid_cut(
            *self[:3],
            connectivity=self.connectivity,
            periodic=self.periodic,
            method="serial-incremental-bfs",
        )

    def by_regions(self, **options: Any) -> preflow.distributed.RegionCutResult:
        return preflow.distributed.grid_cut(
            *self[:3], connectivity=self.connectivity, periodic=self.periodic, **options
        )


def random_grid(
    shape: tuple[int, ...],
    half: list[tuple[int, ...]],
    periodic: tuple[bool, ...],
    seed: int = 0,
    *,
    both: bool = True,
    most: int = 9,
) -> Grid:
    """Return a grid with capacities of which some are zero."""
    rng = np.random.default_rng(seed)
    rows = len(half) * (2 if both else 1)
    source, sink = rng.integers(0, 2 * most, (2, *shape)) * (rng.random((2, *shape)) < 0.5)
    neighbor = rng.integers(0, most, (rows, *shape)) * (rng.random((rows, *shape)) < 0.8)
    return Grid(source, sink, neighbor, half, periodic)


@st.composite
def grids(draw: st.DrawFn) -> Grid:
    """Grids of one to three axes; rings are as short as one pixel, and offsets reach around them."""
    ndim = draw(st.integers(1, 3))
    shape = tuple(draw(st.lists(st.integers(1, (14, 7, 5)[ndim - 1]), min_size=ndim, max_size=ndim)))
    if draw(st.booleans()):
        half = half_neighbourhood(ndim, draw(st.sampled_from(list(named_neighbourhoods(ndim)))))
    else:
        steps = st.tuples(*[st.integers(-4, 4)] * ndim).filter(any)
        listed = draw(st.lists(steps, min_size=1, max_size=3))
        half = sorted({max(step, tuple(-length for length in step)) for step in listed})
    periodic = tuple(draw(st.lists(st.booleans(), min_size=ndim, max_size=ndim)))
    most = draw(st.sampled_from((2, 9, 2**20, 2**40)))
    return random_grid(
        shape, half, periodic, draw(st.integers(0, 2**32)), both=draw(st.booleans()), most=most
    )


#: Both halos of a box are in one neighbour, whose boxes are narrower than the offset reaches.
NARROW = random_grid((4, 3), [(2, 1), (1, 0)], (True, True))
#: Halos overlap, and one axis is closed within each region while the other one is not.
MIXED = random_grid((9, 4), [(0, 1), (1, -1), (1, 0), (1, 1)], (True, True))
TINY = random_grid((2, 1, 2), half_neighbourhood(3, 26), (True, True, True))


@given(
    grids(),
    st.integers(1, 27),
    st.sampled_from(("memory", "files")),
    st.sampled_from(("int", "float64", "float32", "quarters", "infinite")),
)
@example(NARROW, 2, "memory", "int")
@example(NARROW, 12, "files", "float32")
@example(MIXED, 3, "memory", "int")
@example(TINY, 4, "files", "float32")
@settings(max_examples=40, deadline=None)
def test_the_answer_is_that_of_grid_cut(grid: Grid, regions: int, exchange: str, kind: str) -> None:
    source, sink, neighbor = grid[:3]
    if kind.startswith("float"):
        rng = np.random.default_rng(regions)
        source, sink, neighbor = (
            (part * rng.random(part.shape)).astype(kind) for part in (source, sink, neighbor)
        )
    elif kind == "quarters":
        source, neighbor = source / 4, neighbor / 8
    elif kind == "infinite":
        source = np.where((source > 16) & (sink == 0), np.inf, source)
    grid = grid._replace(source=source, sink=sink, neighbor=neighbor)
    expected = grid.cut()
    result = grid.by_regions(exchange=exchange, regions=regions, threads=2)
    result.verify()
    assert np.array_equal(result.labels, expected.labels)
    assert type(result.value) is type(expected.value)
    assert result.value == pytest.approx(expected.value, rel=1e-13)
    assert result.gap == pytest.approx(expected.gap, rel=1e-6, abs=1e-12 * max(1, abs(expected.value)))


@given(grids(), st.integers(1, 27))
@example(NARROW, 4)
@example(MIXED, 2)
@settings(max_examples=30, deadline=None)
def test_labels_are_lower_bounds_between_sweeps(grid: Grid, regions: int) -> None:
    exchange = MemoryExchange(2)
    labels, progress = solved(GridSource.of(*grid), regions, exchange)
    expected = grid.cut()
    assert progress.lower == progress.upper == expected.value
    assert np.array_equal(labels, expected.labels)
    assert proved(exchange) == expected.value
    exchange.close()


def arcs_one_by_one(grid: Grid) -> set[tuple[int, int]]:
    """Return both ends of all arcs between pixels."""
    number = np.arange(math.prod(grid.shape)).reshape(grid.shape)
    arcs = set()
    for offset in grid.connectivity:
        for p in np.ndindex(*grid.shape):
            q = [
                (i + step) % length if ring else i + step
                for i, step, length, ring in zip(p, offset, grid.shape, grid.periodic, strict=True)
            ]
            if all(0 <= i < length for i, length in zip(q, grid.shape, strict=True)) and tuple(q) != p:
                arcs |= {(int(number[p]), int(number[tuple(q)])), (int(number[tuple(q)]), int(number[p]))}
    return arcs


@given(grids(), st.integers(1, 12))
@example(NARROW, 4)
@example(MIXED, 3)
@settings(max_examples=30, deadline=None)
def test_border_arcs_are_those_between_boxes(grid: Grid, regions: int) -> None:
    """Both boxes list the arcs between them in one order; a region finds both ends in its own grid."""
    source = GridSource.of(*grid)
    boxes = divide(source.shape, regions, source.periodic)
    number = np.arange(source.size).reshape(source.shape)
    owner = np.zeros(source.size, dtype=int)
    for i, box in enumerate(boxes.boxes()):
        owner[number[box]] = i
    borders = [border_of(boxes, i, source.all_offsets) for i in range(len(boxes.boxes()))]
    found = []
    for task, border in zip(grid_tasks(source, boxes), borders, strict=True):
        ends = number[border.tail], number[border.head]
        assert (owner[ends[0]] == task.number).all()
        found += list(zip(*(end.tolist() for end in ends), strict=True))
        for i, other in enumerate(border.neighbours):
            j = borders[other].neighbours.index(task.number)
            mine, theirs = slice(*border.first[i : i + 2]), slice(*borders[other].first[j : j + 2])
            assert np.array_equal(ends[0][mine], number[borders[other].head][theirs])
            assert np.array_equal(ends[1][mine], number[borders[other].tail][theirs])
        inside = read_around(lambda part: number[part], task.halo, source.shape)
        assert np.array_equal(inside[task.own], number[boxes.boxes()[task.number]])
        assert len(np.unique(inside)) == inside.size
        seen = border.seen_from(task.halo, source.shape)
        assert np.array_equal(inside[seen.tail], ends[0])
        assert np.array_equal(inside[seen.head], ends[1])
        directions = source.directions_within(task.halo)[border.direction]
        steps = source.offsets_within(task.halo)[directions]
        assert np.array_equal(np.stack(seen.head) - np.stack(seen.tail), steps.T)
    assert sorted(found) == sorted((p, q) for p, q in arcs_one_by_one(grid) if owner[p] != owner[q])


def test_parts_are_read_around_the_ends() -> None:
    grid = random_grid((12, 10, 11), half_neighbourhood(3, 26), (True, True, True), both=False)
    lazy = [Lazy(values) for values in grid[:3]]
    out = np.zeros(grid.shape, dtype=np.uint8)
    result = preflow.distributed.grid_cut(
        *lazy, connectivity=26, periodic=True, exchange="files", regions=(3, 2, 3), out=out
    )
    result.verify()
    assert np.array_equal(out.astype(bool), grid.cut().labels)
    assert all(each.most < each.values.size / 4 for each in lazy)


def test_capacities_of_few_numbers() -> None:
    """One for all arcs, one for each direction, and one for each row of the grid."""
    grid = random_grid((8, 6), half_neighbourhood(2, 4), (True, True))
    for neighbor in (3, np.array([2, 5]), np.arange(16).reshape(2, 8, 1), np.arange(12).reshape(2, 1, 6)):
        given_ = grid._replace(neighbor=neighbor)
        result = given_.by_regions(regions=(2, 3))
        result.verify()
        assert np.array_equal(result.labels, given_.cut().labels)


def test_contrast_across_the_ends() -> None:
    """Nothing tells where a ring begins, nor where regions do."""
    rng = np.random.default_rng(2)
    angles = np.arange(24) * (2 * np.pi / 24)
    image = np.cos(angles)[:, None] + rng.normal(0, 0.4, (24, 15))
    data = np.rint(20 * image).astype(int)
    expected = None
    for shift in (0, 5, 12):
        moved = np.roll(image, shift, axis=0)
        links = preflow.contrast_capacity(moved, strength=20, connectivity=8, periodic=(True, False))
        force = np.roll(data, shift, axis=0)
        result = preflow.distributed.grid_cut(
            np.maximum(force, 0),
            np.maximum(-force, 0),
            links,
            connectivity=8,
            periodic=(True, False),
            regions=(3, 2),
        )
        result.verify()
        labels = np.roll(result.labels, -shift, axis=0)
        expected = labels if expected is None else expected
        assert np.array_equal(labels, expected)


@pytest.mark.parametrize("number", [12, 60, 90])
def test_a_full_disk_loses_nothing(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grid = random_grid((7, 8, 9), half_neighbourhood(3, 6), (True, False, True), both=False)
    options: dict[str, Any] = {"exchange": "files", "regions": 8, "folder": tmp_path}
    with monkeypatch.context() as patch:
        fail_at(number, OSError(errno.ENOSPC, "No space left on device"), patch)
        with pytest.raises(StorageError, match="No space left"):
            grid.by_regions(**options)
    result = grid.by_regions(**options)
    result.verify()
    assert np.array_equal(result.labels, grid.cut().labels)
    for periodic in ((False, False, False), (True, True, True)):
        with pytest.raises(InvalidInputError, match="another problem"):
            grid._replace(periodic=periodic).by_regions(**options)


def test_regions_lie_along_rings_first() -> None:
    assert divide((90, 90), 2, (False, True)).counts == (1, 2)
    assert divide((90, 90), 2, (True, True)).counts == (2, 1)
    assert divide((90, 90), 4, (True, True)).counts == (2, 2)
    assert divide((90, 90), 2, (False, False)).counts == divide((90, 90), 2).counts


def test_regions_are_smaller_where_rings_have_more_directions(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a limit on memory, rings that are not cut count."""
    shape = (4, 40, 4)
    zeros, half = np.zeros(shape, dtype=np.int16), half_neighbourhood(3, 26)
    grid = Grid(zeros, zeros, np.array(1), half, (True, False, True))
    plain = grid._replace(periodic=(False, False, False))
    options = {"exchange": "files", "memory": 200_000, "threads": 1}
    monkeypatch.setattr(api, "BYTES_OF_HOST", 0)
    assert grid.by_regions(**options).regions > plain.by_regions(**options).regions


def test_errors() -> None:
    ones = np.ones((4, 6))
    for periodic in ((True,), 1, "ab", None):
        with pytest.raises(InvalidInputError, match="periodic is a bool, or 2 of them"):
            preflow.distributed.grid_cut(ones, 1, 1, periodic=periodic)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="give nothing else"):
        preflow.distributed.grid_cut(preflow.GridNetwork.from_arrays(ones, 1, 1), periodic=True)
    for host in ("gpus", preflow.distributed.GpuExchange()):
        with pytest.raises(UnsuitableMethodError, match=r'periodic axes; exchange="memory", "files" and'):
            preflow.distributed.grid_cut(ones, 1, 1, periodic=(False, True), exchange=host)
    narrow = np.ones((4, 2), dtype=np.int64)
    with pytest.raises(CapacityOverflowError, match="parallel arcs"):
        preflow.distributed.grid_cut(narrow, 1, np.full((2, 4, 2), 2**60), periodic=True, regions=4)
    wrong = np.ones((2, 4, 6))
    wrong[1, 3, 1] = -1  # the arc from the last row to the first one
    preflow.distributed.grid_cut(ones, 1, wrong, periodic=(False, True), regions=4).verify()
    for regions in (1, 4):
        with pytest.raises(InvalidInputError, match=r"neighbor_capacity\[1\] is -1"):
            preflow.distributed.grid_cut(ones, 1, wrong, periodic=(True, False), regions=regions)
