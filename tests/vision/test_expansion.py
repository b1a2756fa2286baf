"""Expansion and swap: every move against all labellings, energies that never rise, and what is refused."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from preflow.errors import CapacityOverflowError, InvalidInputError, VerificationError
from preflow.vision import LabelEnergy, alpha_beta_swap, alpha_expansion, potts, truncated_linear
from preflow.vision.expansion import Cuts, Labelling, State

SQUARED = (np.arange(3) - np.arange(3)[:, np.newaxis]) ** 2


@st.composite
def energies(draw, metric=True):
    """A small energy and a labelling of it."""
    shape = draw(st.sampled_from([(1, 1), (1, 4), (2, 2), (2, 3), (1, 2, 2)]))
    labels = draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    distances = [potts(labels), truncated_linear(labels, 2)]
    if not metric and labels == 3:
        distances.append(SQUARED)
    directions = draw(st.sampled_from([2, 4] if len(shape) == 2 else [3, 13]))
    energy = LabelEnergy.from_arrays(
        rng.integers(-5, 20, (labels, *shape)),
        draw(st.sampled_from(distances)),
        rng.integers(0, 6, (directions, *shape)),
        label_costs=rng.integers(0, 12, labels) if draw(st.booleans()) else None,
    )
    return energy, rng.integers(0, labels, shape)


def all_labellings(energy):
    pixels = int(np.prod(energy.shape))
    for labels in itertools.product(range(energy.num_labels), repeat=pixels):
        yield np.array(labels).reshape(energy.shape)


def noisy_stripes(labels=4, shape=(24, 30), seed=0):
    """Return costs of labels for an image of stripes seen through noise, and the stripes."""
    truth = np.broadcast_to(np.arange(shape[1]) * labels // shape[1], shape)
    image = truth + np.random.default_rng(seed).normal(scale=0.4, size=shape)
    costs = np.abs(image - np.arange(labels)[:, np.newaxis, np.newaxis])
    return np.rint(20 * costs).astype(np.int16), truth


@settings(max_examples=40)
@given(energies())
def test_expansion_makes_the_best_move(case):
    energy, start = case
    for alpha in range(energy.num_labels):
        result = energy_after_move(energy, start, (alpha,))
        reachable = [
            energy.energy(found)
            for found in all_labellings(energy)
            if ((found == start) | (found == alpha)).all()
        ]
        assert result == min(reachable)


@settings(max_examples=40)
@given(energies(metric=False))
def test_swap_makes_the_best_move(case):
    energy, start = case
    for alpha, beta in itertools.combinations(range(energy.num_labels), 2):
        either = (start == alpha) | (start == beta)
        reachable = [
            energy.energy(found)
            for found in all_labellings(energy)
            if (np.where(either, (found == alpha) | (found == beta), found == start)).all()
        ]
        assert energy_after_move(energy, start, (alpha, beta)) == min(reachable)


def energy_after_move(energy, start, move):
    """Return the energy after one move, checked against that of the labels."""
    state, cuts = State(energy, start), Cuts(prove=True)
    choice = state.expansion(*move) if len(move) == 1 else state.swap(*move)
    now = choice.energy(choice.current)
    changes = [(choice.energy(candidate) - now, candidate) for candidate in cuts.candidates(choice, move)]
    change, switched = min(changes, key=lambda pair: pair[0], default=(0, None))
    if change >= 0:
        return energy.energy(start)
    state.change(choice, switched, move)
    assert energy.energy(state.labels) == energy.energy(start) + change // 2
    return energy.energy(state.labels)


@settings(max_examples=25)
@given(energies())
def test_energy_falls_to_a_labelling_that_is_proved(case):
    energy, start = case
    least = min(map(energy.energy, all_labellings(energy)))
    for solve in (alpha_expansion, alpha_beta_swap):
        result = solve(energy, initial=start)
        result.verify()
        assert result.history[0] == energy.energy(start)
        assert all(after < before for before, after in itertools.pairwise(result.history))
        assert result.history[-1] == result.energy == energy.energy(result.labels) >= least
    if energy.num_labels == 2:
        assert result.energy == least


@settings(max_examples=25)
@given(energies(metric=False), st.sampled_from(["data", "distance", "weights", "label_costs", "all"]))
def test_float_terms(case, name):
    """Sevenths, which float64 cannot hold: no move improves a labelling by more than rounding."""
    energy, start = case
    terms = {key: getattr(energy, key) for key in ("data", "distance", "weights", "label_costs")}
    terms |= {key: values / 7 for key, values in terms.items() if name in (key, "all")}
    connectivity = [list(offset) for offset in energy.offsets]
    floats = LabelEnergy.from_arrays(**terms, connectivity=connectivity)
    found = {tuple(labels.ravel()): floats.energy(labels) for labels in all_labellings(floats)}
    for solve in [alpha_beta_swap] + [alpha_expansion] * floats.is_metric():
        result = solve(floats, initial=start)
        result.verify()
        assert result.converged
        assert result.energy == found[tuple(result.labels.ravel())]
        assert all(after < before for before, after in itertools.pairwise(result.history))
        if floats.num_labels == 2:
            assert result.energy <= min(found.values()) + 2.0**-38 * energy.bound()


def test_float_image():
    data = noisy_stripes()[0] + np.random.default_rng(2).random((4, 24, 30))
    plain = alpha_expansion(data, truncated_linear(4, 2), 6.3)
    plain.verify()
    for scale in (2.0**-700, 2.0**900):
        result = alpha_expansion(data * scale, truncated_linear(4, 2), 6.3 * scale)
        assert (result.labels == plain.labels).all()
        assert result.energy == plain.energy * scale
    assert type(alpha_expansion(np.rint(data), potts(4), 6.0).energy) is int


def test_distances_of_floats_are_a_metric_but_for_rounding():
    """0.1 + 0.7 is less than 0.8 in float64."""
    distance = np.array([[0, 0.1, 0.8], [0.1, 0, 0.7], [0.8, 0.7, 0]])
    assert 0.1 + 0.7 < 0.8
    data = np.random.default_rng(1).random((3, 5, 6))
    alpha_expansion(data, distance).verify()
    distance[0, 2] = distance[2, 0] = 0.81
    with pytest.raises(InvalidInputError, match=r"more than the 0.1 \+ 0.7"):
        alpha_expansion(data, distance)


def test_expansion_stays_within_its_bound():
    for seed in range(5):
        rng = np.random.default_rng(seed)
        energy = LabelEnergy.from_arrays(rng.integers(0, 9, (3, 2, 4)), truncated_linear(3, 2), 3)
        least = min(map(energy.energy, all_labellings(energy)))
        assert alpha_expansion(energy, initial=np.zeros((2, 4), int)).energy <= 4 * least


@pytest.mark.parametrize("solve", [alpha_expansion, alpha_beta_swap])
@pytest.mark.parametrize("directions", [2, 4])
def test_stripes(solve, directions):
    data, truth = noisy_stripes()
    result = solve(data, truncated_linear(4, 2), np.full((directions, *truth.shape), 6))
    result.verify()
    assert (data.argmin(axis=0) != truth).mean() > 0.1
    assert (result.labels != truth).mean() < 0.03
    assert result.converged
    assert not result.stopped


def test_volume():
    data, truth = noisy_stripes(shape=(12, 12))
    result = alpha_expansion(np.stack([data] * 3, axis=1), potts(4), 8)
    result.verify()
    assert result.labels.shape == (3, 12, 12)
    assert (result.labels != truth).mean() < 0.05


def test_label_costs_leave_fewer_labels():
    data, _ = noisy_stripes(labels=6)
    used = [
        len(np.unique(alpha_expansion(data, potts(6), 2, label_costs=np.full(6, cost)).labels))
        for cost in (0, 2000, 10**6)
    ]
    assert used[0] == 6 > used[1] > used[2] == 1


def test_weights_move_the_boundary():
    data = np.zeros((2, 1, 8), int)
    data[1, 0, 0] = data[0, 0, -1] = 50
    weights = np.full((2, 1, 8), 5)
    weights[0, 0, 4] = 1
    result = alpha_expansion(data, potts(2), weights)
    assert result.labels.tolist() == [[0] * 5 + [1] * 3]
    assert result.energy == 1


def test_moves_that_can_change_nothing_are_skipped():
    data, _ = noisy_stripes()
    result = alpha_expansion(data, potts(4), 3)
    assert result.moves < 4 * result.sweeps
    again = alpha_expansion(data, potts(4), 3, initial=result.labels)
    assert again.history == (result.energy,)
    assert again.sweeps == 1


def test_limits():
    data, _ = noisy_stripes()
    untouched = alpha_expansion(data, potts(4), 3, max_sweeps=0)
    assert (untouched.labels == data.argmin(axis=0)).all()
    assert not untouched.converged
    stopped = alpha_expansion(data, potts(4), 3, time_limit=1e-9)
    assert stopped.stopped
    assert stopped.energy == stopped.energy_terms.energy(stopped.labels)
    stopped.verify()


def test_a_wrong_result_is_not_verified():
    data, _ = noisy_stripes()
    result = alpha_expansion(data, potts(4), 3)
    terms = result.energy_terms
    worse = data.argmin(axis=0)
    for labels, energy in ((result.labels, result.energy - 1), (worse, terms.energy(worse))):
        wrong = Labelling(labels, energy, (), 0, 1, True, False, "expansion", {}, terms)
        with pytest.raises(VerificationError):
            wrong.verify()


def test_expansion_refuses_what_is_no_metric_and_names_it():
    data = np.zeros((3, 4, 4), int)
    with pytest.raises(
        InvalidInputError, match=r"labels 0 and 2 is 4, more than the 1 \+ 1 by way of label 1"
    ):
        alpha_expansion(data, SQUARED)
    assert not LabelEnergy.from_arrays(data, SQUARED).is_metric()
    alpha_beta_swap(data, SQUARED).verify()


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ({"data": np.zeros((0, 4, 4), int)}, "there are no labels"),
        ({"data": np.zeros((1025, 1, 1), int)}, "1,025 labels, at most 1,024"),
        ({"data": np.zeros(2, int)}, "data must have shape"),
        ({"data": np.zeros((2, 0, 4), int)}, "data must have shape"),
        ({"data": np.full((2, 4, 4), np.nan)}, r"data has values that are not finite: nan at \(0, 0, 0\)"),
        ({"data": np.full((2, 4, 4), "a")}, "data must hold integers or floats, got dtype"),
        ({"weights": -0.5}, "weights must not be negative, got -0.5"),
        ({"distance": [[0, 0.5], [0.25, 0]]}, r"symmetric, but \[0, 1\] is 0.5 and \[1, 0\] is 0.25"),
        ({"distance": potts(3)}, r"distance must have shape \(2, 2\)"),
        ({"distance": [[0, 1], [2, 0]]}, r"symmetric, but \[0, 1\] is 1 and \[1, 0\] is 2"),
        ({"distance": [[0, -1], [-1, 0]]}, "distances must not be negative"),
        ({"distance": -7 * np.eye(2, dtype=int)}, r"got -7: where equal labels gain k, k \* potts\(labels\)"),
        ({"data": np.zeros((4, 4, 2), int)}, r"first axis, and numpy\.moveaxis\(data, -1, 0\)"),
        ({"distance": [[1, 1], [1, 0]]}, "to itself is zero"),
        ({"distance": None}, "distance is missing"),
        ({"weights": -1}, "weights must not be negative, got -1"),
        ({"weights": np.ones((2, 4, 5), int)}, "weights must be a number or have shape"),
        ({"connectivity": 5}, "connectivity is 4 or 8"),
        ({"label_costs": [1]}, r"label_costs must have shape \(2,\)"),
        ({"label_costs": [1, -1]}, "label_costs must not be negative"),
        ({"initial": np.zeros((4, 5), int)}, "labels must be integers of shape"),
        ({"initial": np.full((4, 4), 2)}, "labels go from 0 to 1"),
        ({"max_sweeps": -1}, "max_sweeps must be at least 0"),
        ({"time_limit": 0}, "time_limit must be a positive number"),
        ({"method": "none"}, "none"),
    ],
)
def test_bad_terms_are_named(terms, message):
    given_terms = {"data": np.eye(4, dtype=int)[np.newaxis] * [[[1]], [[0]]], "distance": potts(2)} | terms
    for solve in (alpha_expansion, alpha_beta_swap):
        with pytest.raises(InvalidInputError, match=message):
            solve(**given_terms)


def test_large_terms():
    data = np.array([[[0, 2**58]], [[2**58, 0]]])
    result = alpha_expansion(data, potts(2), 2**57)
    result.verify()
    assert result.energy == 2**57
    with pytest.raises(CapacityOverflowError, match="2\\*\\*61"):
        alpha_expansion(data, potts(2), 2**61)
    huge = alpha_expansion(data * 100.0, potts(2), 2.0**63)
    huge.verify()
    assert huge.energy == 2.0**63
    largest = alpha_expansion(data * 2.0**965, potts(2), 2.0**1023)
    largest.verify()
    assert largest.energy == 2.0**1023
    with pytest.raises(CapacityOverflowError, match="lowest energy found is past float64"):
        alpha_expansion(np.full((2, 1, 2), 1e308), potts(2))
    with pytest.raises(CapacityOverflowError, match="weight times the largest distance is past float64"):
        alpha_expansion(data, 1e200 * potts(2), 1e200)


def test_masked_data_and_too_many_labels():
    with pytest.raises(InvalidInputError, match="data is a masked array"):
        alpha_expansion(np.ma.masked_equal([[[0, 1]], [[2, 3]]], 1), potts(2))
    with pytest.raises(InvalidInputError, match="at most 1,024"):
        potts(10**6)


def test_an_energy_has_all_of_its_terms():
    energy = LabelEnergy.from_arrays(np.zeros((2, 3, 3), int), potts(2))
    assert repr(energy) == "<LabelEnergy: 2 labels, 3 x 3 pixels, 4 neighbours>"
    with pytest.raises(InvalidInputError, match="has all terms"):
        alpha_expansion(energy, potts(2))
