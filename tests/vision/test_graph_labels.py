"""Energies of many labels on graphs, against all labellings of tiny ones."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from preflow.errors import CapacityOverflowError, InvalidInputError, VerificationError
from preflow.vision import (
    GraphLabelEnergy,
    LabelEnergy,
    alpha_expansion,
    label_graph,
    potts,
    truncated_linear,
)
from tests.support.tensors import Tensor


def energy_of(energy: Any, data: Any, tail: Any, head: Any, tables: Any, weights: Any) -> Any:
    """Return the energy of a labelling, term by term."""
    total = sum(data[label][v] for v, label in enumerate(energy))
    for e, (u, v) in enumerate(zip(tail, head, strict=True)):
        total += weights[e] * tables[e][energy[u]][energy[v]]
    return total


def metric(rng: np.random.Generator, labels: int) -> Any:
    """Return distances of random points in a plane, by city blocks."""
    points = rng.integers(0, 6, (labels, 2))
    return np.abs(points[:, None] - points).sum(axis=2)


@st.composite
def problems(draw: st.DrawFn) -> tuple[Any, ...]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    labels, n = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    m = draw(st.integers(0, 7)) if n > 1 else 0
    tail = rng.integers(0, n, m)
    head = (tail + rng.integers(1, max(n, 2), m)) % n
    tables = np.array([metric(rng, labels) for _ in range(m)]).reshape(m, labels, labels)
    if draw(st.booleans()) and labels > 1:  # not symmetric: some labels cost more to leave
        height = rng.integers(0, 3, labels)
        tables = tables + np.maximum(height[:, None] - height, 0)
    data, weights = rng.integers(0, 15, (labels, n)), rng.integers(0, 4, m)
    if draw(st.booleans()):
        data, tables, weights = data * 0.1, tables * 0.3, weights * 0.7
    return data, tail, head, tables, weights


@settings(max_examples=80, deadline=None)
@given(problems())
def test_no_expansion_is_better_and_the_factor_holds(problem: tuple[Any, ...]) -> None:
    data, tail, head, tables, weights = problem
    energy = GraphLabelEnergy(data, tail, head, tables, weights)
    result = label_graph(energy)
    result.verify()
    assert result.converged
    labels, n = data.shape
    everything = {f: energy_of(f, *problem) for f in itertools.product(range(labels), repeat=n)}
    chosen = tuple(result.labels.tolist())
    slack = 0 if data.dtype.kind == "i" else 1e-9
    assert abs(result.energy - everything[chosen]) <= slack
    for alpha in range(labels):  # all expansions, one by one
        for switch in itertools.product((False, True), repeat=n):
            moved = tuple(alpha if s else label for s, label in zip(switch, chosen, strict=True))
            assert everything[moved] >= everything[chosen] - slack
    least = min(everything.values())
    symmetric = (tables == tables.swapaxes(1, 2)).all()
    off = [t[~np.eye(labels, dtype=bool)] for t in tables]
    if symmetric and all((t > 0).all() for t in off):
        factor = 2 * max((t.max() / t.min() for t in off if t.size), default=1)
        assert result.energy <= factor * least + slack
    assert list(result.history) == sorted(result.history, reverse=True)


def test_two_labels_from_all_of_one_are_exact() -> None:
    """The first expansion is then the minimum cut of the whole problem."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        data = rng.integers(0, 9, (2, 6))
        tail, head = rng.integers(0, 3, 9), rng.integers(3, 6, 9)
        energy = GraphLabelEnergy(data, tail, head, potts(2), rng.integers(0, 5, 9))
        result = label_graph(energy, initial=np.zeros(6, dtype=int))
        least = min(energy.energy(np.array(f)) for f in itertools.product((0, 1), repeat=6))
        assert result.energy == least


def test_as_on_a_grid() -> None:
    rng = np.random.default_rng(1)
    data, weights = rng.integers(0, 30, (5, 6, 7)), rng.integers(0, 9, (2, 6, 7))
    grid = LabelEnergy.from_arrays(data, truncated_linear(5, 2), weights)
    number = np.arange(42).reshape(6, 7)
    parts = [
        (number[here].ravel(), number[there].ravel(), weight.ravel())
        for weight, here, there in grid.directions()
    ]
    tail, head, factor = (np.concatenate(part) for part in zip(*parts, strict=True))
    energy = GraphLabelEnergy(data.reshape(5, -1), tail, head, truncated_linear(5, 2), factor)
    some = rng.integers(0, 5, 42)
    assert energy.energy(some) == grid.energy(some.reshape(6, 7))
    result, other = label_graph(energy), alpha_expansion(grid)
    result.verify()
    assert abs(result.energy - other.energy) <= 0.05 * other.energy
    assert "5 labels, 42 vertices, 71 edges" in repr(energy)
    assert "42 vertices, energy" in repr(result)


def test_limits_and_starts() -> None:
    rng = np.random.default_rng(2)
    energy = GraphLabelEnergy(rng.integers(0, 9, (3, 8)), np.arange(7), np.arange(1, 8), potts(3), 2)
    none = label_graph(energy, max_sweeps=0)
    none.verify()
    assert not none.converged
    assert none.moves == 0
    assert not label_graph(energy, time_limit=1e-9).converged
    best = label_graph(energy)
    again = label_graph(energy, initial=best.labels)
    assert again.energy == best.energy
    assert again.sweeps == 1
    empty = label_graph(GraphLabelEnergy(np.zeros((2, 3)), [], [], potts(2)))
    empty.verify()
    tensors = GraphLabelEnergy(
        Tensor([[0, 5], [4, 0]]), Tensor([0]), Tensor([1]), Tensor(potts(2)), Tensor([3])
    )
    assert label_graph(tensors).energy == 3
    with pytest.raises(VerificationError, match="has not the energy"):
        replace(best, energy=best.energy + 1).verify()
    worse = np.zeros(8, dtype=np.int64)
    found = energy.energy(worse)
    with pytest.raises(VerificationError, match="lowers the energy"):
        replace(best, labels=worse, energy=found, history=(found,)).verify()


DATA = np.zeros((2, 3), dtype=int)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.zeros(3), [0], [1], potts(2)), "data must have shape"),
        ((np.full((2, 3), np.nan), [0], [1], potts(2)), "not finite"),
        ((DATA, [0], [3], potts(2)), "vertex 3 is out of range"),
        ((DATA, [0, 1], [1, 1], potts(2)), "edge 1 leads from vertex 1 to itself"),
        ((DATA, [0], [1], potts(3)), r"distance must have shape \(2, 2\) or \(1, 2, 2\)"),
        ((DATA, [0], [1], -potts(2)), "distances must not be negative"),
        ((DATA, [0], [1], potts(2), [1, 2]), "weights must be a number"),
        ((DATA, [0], [1], potts(2), -1), "weights must not be negative"),
        ((DATA.astype(str), [0], [1], potts(2)), "an array of numbers"),
        ((np.zeros((1025, 1)), [], [], potts(2)), "at most 1,024"),
    ],
)
def test_bad_terms(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        GraphLabelEnergy(*arguments)


def test_other_errors() -> None:
    with pytest.raises(CapacityOverflowError, match=r"2\*\*58"):
        GraphLabelEnergy(DATA, [0], [1], potts(2), 2**57)
    with pytest.raises(CapacityOverflowError, match="past float64"):
        GraphLabelEnergy(DATA, [0], [1], 1e308 * potts(2), 1e308)
    energy = GraphLabelEnergy(DATA, [0], [1], potts(2))
    for labels in ([0, 1], [0, 1, 2], [0.5, 0, 0]):
        with pytest.raises(InvalidInputError, match="labels"):
            energy.energy(labels)
    with pytest.raises(InvalidInputError, match="must be a GraphLabelEnergy"):
        label_graph(DATA)  # type: ignore[arg-type]
    squares = np.array([potts(3), [[0, 1, 4], [1, 0, 1], [4, 1, 0]]])
    with pytest.raises(InvalidInputError, match="of edge 1 allow no expansion to label 1: 4 for labels 0"):
        label_graph(GraphLabelEnergy(np.zeros((3, 3), dtype=int), [0, 1], [1, 2], squares))
