"""Grids whose axes are rings: against networks whose arcs are made one by one."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import preflow
from preflow.errors import CapacityOverflowError, InvalidInputError
from preflow.graph.neighbourhood import half_neighbourhood, named_neighbourhoods
from preflow.graph.periodic import ring_boxes
from tests.support.cuda_on_cpu.arrays import OnGpu
from tests.support.tensors import Tensor


def arcs_one_by_one(shape: Any, half: Any, neighbor: Any, periodic: Any) -> dict[tuple[int, int], float]:
    """Return the capacity of every arc between pixels, parallel ones together."""
    number = np.arange(math.prod(shape)).reshape(shape)
    both = len(neighbor) == 2 * len(half)
    arcs: dict[tuple[int, int], float] = {}
    for k, offset in enumerate(half):
        for p in np.ndindex(*shape):
            q = [i + step for i, step in zip(p, offset, strict=True)]
            for axis, ring in enumerate(periodic):
                if ring:
                    q[axis] %= shape[axis]
            if any(not 0 <= i < n for i, n in zip(q, shape, strict=True)) or tuple(q) == p:
                continue
            u, v = int(number[p]), int(number[tuple(q)])
            onward = neighbor[2 * k][p] if both else neighbor[k][p]
            backward = neighbor[2 * k + 1][tuple(q)] if both else neighbor[k][p]
            arcs[u, v] = arcs.get((u, v), 0) + onward
            arcs[v, u] = arcs.get((v, u), 0) + backward
    return arcs


def least_value(source: Any, sink: Any, arcs: dict[tuple[int, int], float]) -> float:
    """Return the least capacity of a cut, by trying all."""
    s, t = source.ravel().tolist(), sink.ravel().tolist()
    best = math.inf
    for side in itertools.product((True, False), repeat=len(s)):
        cost = sum(t[p] if inside else s[p] for p, inside in enumerate(side))
        cost += sum(c for (u, v), c in arcs.items() if side[u] and not side[v])
        best = min(best, cost)
    return best


@st.composite
def periodic_grids(draw: st.DrawFn) -> tuple[Any, ...]:
    ndim = draw(st.integers(1, 3))
    shape = draw(
        st.sampled_from({1: [(1,), (2,), (5,)], 2: [(1, 3), (2, 2), (3, 3), (2, 4)], 3: [(2, 2, 2)]}[ndim])
    )
    half = half_neighbourhood(ndim, draw(st.sampled_from(list(named_neighbourhoods(ndim)))))
    if ndim == 2 and draw(st.booleans()):
        half = draw(st.sampled_from([[(0, 2)], [(1, -2), (0, 1)], [(3, 1), (1, 1)]]))
    periodic = tuple(draw(st.lists(st.booleans(), min_size=ndim, max_size=ndim)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    rows = len(half) * draw(st.sampled_from([1, 2]))
    neighbor = rng.integers(0, 5, (rows, *shape))
    source, sink = rng.integers(0, 9, (2, *shape))
    return shape, half, neighbor, periodic, source, sink


@settings(max_examples=60)
@given(periodic_grids())
def test_value_is_the_least_of_all_cuts(grid: Any) -> None:
    shape, half, neighbor, periodic, source, sink = grid
    result = preflow.grid_cut(source, sink, neighbor, connectivity=half, periodic=periodic)
    result.verify()
    assert result.labels.shape == shape
    assert result.value == least_value(source, sink, arcs_one_by_one(shape, half, neighbor, periodic))


@settings(max_examples=60)
@given(periodic_grids())
def test_arcs_of_the_network(grid: Any) -> None:
    shape, half, neighbor, periodic, source, sink = grid
    network = preflow.GridNetwork.from_arrays(source, sink, neighbor, connectivity=half, periodic=periodic)
    number = np.arange(math.prod(shape)).reshape(shape)
    found: dict[tuple[int, int], float] = {}
    for pair in network.pairs():
        ends = zip(number[pair.here].ravel(), number[pair.there].ravel(), strict=True)
        capacities = zip(pair.forward.ravel().tolist(), pair.backward.ravel().tolist(), strict=True)
        for (u, v), (onward, backward) in zip(ends, capacities, strict=True):
            found[int(u), int(v)] = found.get((int(u), int(v)), 0) + onward
            found[int(v), int(u)] = found.get((int(v), int(u)), 0) + backward
    expected = arcs_one_by_one(shape, half, neighbor, periodic)
    assert {arc: c for arc, c in found.items() if c} == {arc: c for arc, c in expected.items() if c}


CPU = [method.name for method in preflow.methods("grid_cut") if method.device == "cpu"]


@pytest.mark.parametrize("method", CPU)
@pytest.mark.parametrize("connectivity", [4, 8])
def test_all_methods(method: str, connectivity: int) -> None:
    rng = np.random.default_rng(1)
    source, sink = rng.integers(0, 50, (2, 20, 30))
    neighbor = rng.integers(0, 30, (connectivity, 20, 30))
    grid = preflow.GridNetwork.from_arrays(
        source, sink, neighbor, connectivity=connectivity, periodic=(True, True)
    )
    result = preflow.grid_cut(grid, method=method)
    result.verify()
    problem = grid.to_flow_problem()
    assert result.value == preflow.min_cut(problem.network, problem.source, problem.sink).value
    again = preflow.grid_cut(
        source + 1, sink, neighbor, connectivity=connectivity, periodic=True, warm_start=result, method=method
    )
    again.verify()


def test_floats_and_scalars() -> None:
    source = np.zeros((4, 6))
    source[0, 0], sink = np.inf, np.zeros((4, 6))
    sink[3, 5] = np.inf
    assert preflow.grid_cut(source, sink, 0.5).value == 1
    closed = preflow.grid_cut(source, sink, 0.5, periodic=True)
    closed.verify()
    assert closed.value == 2
    assert preflow.grid_cut(source, sink, 0.5, periodic=(False, True)).value == 1.5
    tensor = preflow.grid_cut(Tensor(source), Tensor(sink), 0.5, periodic=True)
    assert isinstance(tensor.labels, Tensor)


def test_a_shift_shifts_the_cut() -> None:
    """Nothing tells where a ring begins."""
    rng = np.random.default_rng(2)
    image = rng.normal(size=(6, 7))
    data = rng.integers(-9, 9, (6, 7))

    def cut(shift: int) -> Any:
        moved = np.roll(image, shift, axis=1)
        links = preflow.contrast_capacity(moved, strength=20, connectivity=8, periodic=(False, True))
        force = np.roll(data, shift, axis=1)
        arguments = np.maximum(force, 0), np.maximum(-force, 0), links
        return preflow.grid_cut(*arguments, connectivity=8, periodic=(False, True))

    first = cut(0)
    for shift in (1, 3, 6):
        result = cut(shift)
        assert result.value == first.value
        assert (np.roll(result.labels, -shift, axis=1) == first.labels).all()


def test_boxes_of_rings() -> None:
    assert [step for *_, step in ring_boxes((4, 5), (1, 1), (True, True))] == [
        (1, 1),
        (1, -4),
        (-3, 1),
        (-3, -4),
    ]
    assert ring_boxes((1,), (1,), (True,)) == []
    assert ring_boxes((0,), (1,), (True,)) == []


@pytest.mark.parametrize("periodic", [(True,), (True, 1), 1, "ab", (True, False, True), None])
def test_bad_periodic(periodic: Any) -> None:
    with pytest.raises(InvalidInputError, match="periodic is a bool"):
        preflow.grid_cut(np.ones((2, 3)), np.ones((2, 3)), 1, periodic=periodic)


def test_errors() -> None:
    grid = preflow.GridNetwork.from_arrays(np.ones((2, 3)), 1, 1)
    with pytest.raises(InvalidInputError, match="give nothing else"):
        preflow.grid_cut(grid, periodic=True)
    ones = np.ones((2, 2), dtype=np.int64)
    with pytest.raises(CapacityOverflowError, match="parallel arcs"):
        preflow.grid_cut(ones, ones, np.full((2, 2, 2), 2**60), periodic=True)
    preflow.grid_cut(ones, ones, np.full((2, 2, 2), 2**50), periodic=True).verify()
    wrong = np.ones((2, 3, 3))
    for value in (np.inf, np.nan, -1.0):
        wrong[1, 2, 1] = value
        with pytest.raises(InvalidInputError, match=rf"neighbor_capacity\[1\] is {value} at \(2, 1\)"):
            preflow.grid_cut(np.ones((3, 3)), 1, wrong, periodic=(True, False))
    # Where rows are no rings, that arc leaves the grid.
    preflow.grid_cut(np.ones((3, 3)), 1, wrong, periodic=(False, True)).verify()


@pytest.mark.usefixtures("cpu_device")
def test_methods_on_a_gpu() -> None:
    """Those that divide the grid into tiles refuse offsets that reach across it, with one clear error."""
    source, sink = np.random.default_rng(0).integers(0, 9, (2, 5, 6))
    result = preflow.grid_cut(source, sink, 3, periodic=True, method="cuda-lockfree")
    result.verify()
    assert result.value == preflow.grid_cut(source, sink, 3, periodic=True, device="cpu").value
    there = preflow.GridNetwork.from_arrays(OnGpu(source), OnGpu(sink), 3, periodic=True)
    assert preflow.grid_cut(there, method="cuda-lockfree").value == result.value
    wide = preflow.GridNetwork.from_arrays(np.ones((200, 300)), 0, 1, periodic=True)
    for method in ("cuda-tiled", "cuda-blocking"):
        with pytest.raises(InvalidInputError, match=r"apart|as far as"):
            preflow.grid_cut(wide, method=method)
