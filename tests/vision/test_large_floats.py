"""One float far larger than the others, as people write "never": what the others decide stays right."""

from __future__ import annotations

import itertools
import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from preflow.errors import CapacityOverflowError
from preflow.vision import (
    BinaryEnergy,
    GraphLabelEnergy,
    LabelEnergy,
    alpha_beta_swap,
    alpha_expansion,
    label_graph,
    minimize_energy,
    potts,
)
from tests.fuzz.energies import DRIVERS

pytestmark = [pytest.mark.fast, pytest.mark.filterwarnings("error")]

#: From where rounding relative to the largest number is felt, to the end of float64.
LARGE = [1e7, 1e9, 1e11, 1e12, 1e15, 2.0**53 + 2, 1e18, 1e32, 1e100, 1e200, 1e300, 1e308, sys.float_info.max]
MOVES = [alpha_expansion, alpha_beta_swap]


@pytest.mark.parametrize("solve", MOVES)
@pytest.mark.parametrize("never", LARGE)
def test_seeds_do_not_stop_moves(solve: Any, never: float) -> None:
    data = np.array([[[0.2, never, 0.1]], [[0.3, 0.1, never]], [[never, 0.4, 0.5]]])
    result = solve(data, 0.25 * potts(3))
    result.verify()
    assert result.converged
    assert (result.energy, result.labels.tolist()) == (0.75, [[1, 1, 0]])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.longdouble])
def test_the_largest_number_of_a_dtype_is_a_seed(dtype: Any) -> None:
    never = np.finfo(dtype if dtype != np.longdouble else np.float64).max
    data = np.array([[[0.25, never, 0.125]], [[0.375, 0.125, never]], [[never, 0.5, 0.625]]], dtype)
    result = alpha_expansion(data, 0.25 * potts(3))
    result.verify()
    assert result.energy == 0.875


@pytest.mark.parametrize("solve", MOVES)
def test_an_image_with_seeds_is_cut_as_with_modest_ones(solve: Any) -> None:
    rng = np.random.default_rng(5)
    data = rng.random((3, 24, 24))
    where = rng.random((24, 24)) < 0.1
    labels = rng.integers(0, 3, (24, 24))
    found = []
    for never in (1e3, 1e9, 1e15, 1e300, sys.float_info.max):
        seeds = np.where(where & (np.arange(3).reshape(3, 1, 1) != labels), never, data)
        result = solve(seeds, 0.4 * potts(3))
        assert result.converged
        found.append(result)
    assert all(result.energy == pytest.approx(found[0].energy, rel=1e-12) for result in found)
    assert all((result.labels == found[0].labels).all() for result in found)
    found[-1].verify()


@pytest.mark.parametrize("solve", MOVES)
@pytest.mark.parametrize("never", LARGE)
def test_pairs_and_labels_that_are_forbidden(solve: Any, never: float) -> None:
    rng = np.random.default_rng(int(np.log2(never)))
    data = rng.random((3, 2, 3))
    weights = np.full((2, 2, 3), 0.3)
    weights[0, 0, 0] = weights[1, 0, 2] = min(never, 1e307)
    result = solve(data, potts(3), weights, label_costs=[0.1, 0.2, never])
    result.verify()
    energy = LabelEnergy.from_arrays(data, potts(3), weights, label_costs=[0.1, 0.2, never])
    best = min(energy.energy(np.reshape(x, (2, 3))) for x in itertools.product((0, 1), repeat=6))
    assert result.energy <= best + 0.2 + 1e-12  # label costs of a move are compared after its cut
    if solve is alpha_expansion:
        plain = solve(data[:2], potts(2), weights)
        best = min(
            LabelEnergy.from_arrays(data[:2], potts(2), weights).energy(np.reshape(x, (2, 3)))
            for x in itertools.product((0, 1), repeat=6)
        )
        assert plain.energy == pytest.approx(best, rel=1e-12)


@pytest.mark.parametrize("never", LARGE)
def test_a_graph_with_seeds(never: float) -> None:
    data = np.array([[0.2, never, 0.1], [0.3, 0.1, never], [never, 0.4, 0.5]])
    result = label_graph(GraphLabelEnergy(data, [0, 1], [1, 2], 0.25 * potts(3)))
    result.verify()
    assert (result.energy, result.labels.tolist()) == (0.75, [1, 1, 0])


@pytest.mark.parametrize("never", LARGE)
def test_binary_energies_with_forbidden_choices(never: float) -> None:
    """Seeds, pairs that may not differ, implications, triples that may not differ: what is left decides."""
    never = min(never, sys.float_info.max)
    rng = np.random.default_rng(7)
    unary = rng.random((6, 2))
    unary[0, 1] = unary[5, 0] = never
    tables = np.array([[[0, never], [never, 0]], [[0, 0.25], [never, 0]], [[0, 0.5], [0.25, 0.125]]])
    cube = np.full((2, 2, 2), never)
    cube[0, 0, 0] = cube[1, 1, 1] = 0
    energy = BinaryEnergy(unary, [(1, 2), (2, 3), (0, 4)], tables, [(2, 3, 4)], cube)
    result = minimize_energy(energy)
    result.verify()

    def exact(labels: Any) -> Fraction:
        total = sum((Fraction(row[x]) for row, x in zip(unary.tolist(), labels, strict=True)), Fraction(0))
        for (i, j), table in zip([(1, 2), (2, 3), (0, 4)], tables.tolist(), strict=True):
            total += Fraction(table[labels[i]][labels[j]])
        return total + Fraction(float(cube[labels[2], labels[3], labels[4]]))

    best = min(itertools.product((0, 1), repeat=6), key=exact)
    assert result.labels.tolist() == [bool(x) for x in best]
    assert result.value == pytest.approx(float(exact(best)), rel=1e-15)
    assert 0 <= result.gap <= 1e-11


def test_terms_that_do_not_fit() -> None:
    with pytest.raises(CapacityOverflowError, match="weight times the largest distance"):
        alpha_expansion(np.zeros((2, 1, 2)) + 0.5, 1e200 * potts(2), 1e200)
    with pytest.raises(CapacityOverflowError, match="weight times a distance"):
        GraphLabelEnergy([[0.5, 1], [1, 0.5]], [0], [1], 1e200 * potts(2), 1e200)
    with pytest.raises(CapacityOverflowError, match="lowest energy found"):
        label_graph(GraphLabelEnergy(np.full((2, 2), 1e308), [0], [1], potts(2)))


@pytest.mark.parametrize("solve", MOVES)
def test_distances_that_no_weight_uses(solve: Any) -> None:
    result = solve([[[0.5, 0.25]], [[0.25, 0.5]]], 1e308 * potts(2), 0)
    result.verify()
    assert result.energy == 0.5


def test_products_of_whole_numbers_do_not_wrap_beside_a_float() -> None:
    """Weights and distances that are integers multiply as floats once any term is one."""
    result = alpha_expansion([[[0.5, 7.0]], [[9.0, 0.5]]], 2**40 * potts(2), 2**40)
    result.verify()
    assert result.energy == 7.5


def test_random_energies_against_exact_ones() -> None:
    driver = DRIVERS[0]
    report = driver.run(61, 60.0, most=120)
    assert not report.failures, str(report)
