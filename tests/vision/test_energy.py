"""Energies of binary variables: every labelling tried, and terms that no network can have."""

import itertools
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from preflow.errors import CapacityOverflowError, InvalidInputError, NotOptimalError, VerificationError
from preflow.vision import BinaryEnergy, minimize_energy

pytestmark = pytest.mark.fast

COSTS = st.integers(-20, 20)


def energy_of(unary, terms, labels):
    """Return the energy from its definition; a term is its variables and its table."""
    total = sum(costs[x] for costs, x in zip(unary, labels, strict=True))
    return total + sum(table[tuple(labels[v] for v in variables)] for variables, table in terms)


def all_labellings(num_variables):
    return list(itertools.product((0, 1), repeat=num_variables))


def is_submodular(table):
    """Return whether E(x or y) + E(x and y) <= E(x) + E(y) for all x and y: the definition."""
    points = list(itertools.product((0, 1), repeat=table.ndim))
    return all(
        table[tuple(np.maximum(x, y))] + table[tuple(np.minimum(x, y))] <= table[x] + table[y]
        for x in points
        for y in points
    )


def tables(order):
    shape = (2,) * order
    return st.lists(COSTS, min_size=2**order, max_size=2**order).map(lambda costs: np.reshape(costs, shape))


@st.composite
def submodular_tables(draw, order):
    """Return any table of two or three variables that is submodular, and all such of small integers."""
    table = draw(tables(order))
    if order == 2:
        table[0, 1] += max(0, table[0, 0] + table[1, 1] - table[0, 1] - table[1, 0])
        return table
    # A sum of what is submodular on two, and a product of all or of all complements.
    total = np.zeros((2, 2, 2), dtype=int)
    for axis in range(3):
        total += np.expand_dims(draw(submodular_tables(2)), axis)
    total[draw(st.sampled_from([(1, 1, 1), (0, 0, 0)]))] -= draw(st.integers(0, 20))
    return total


@st.composite
def energies(draw):
    n = draw(st.integers(1, 6))
    unary = draw(st.lists(st.tuples(COSTS, COSTS), min_size=n, max_size=n))
    terms = {2: [], 3: []}
    for order in (2, 3):
        if n >= order:
            members = st.permutations(range(n)).map(lambda order_of, k=order: tuple(order_of[:k]))
            terms[order] = draw(st.lists(st.tuples(members, submodular_tables(order)), max_size=6))
    return unary, terms


def build(unary, terms, factor=1):
    parts = []
    for order in (2, 3):
        parts += [[members for members, _ in terms[order]], [table * factor for _, table in terms[order]]]
    return BinaryEnergy(np.multiply(unary, factor), *parts)


@settings(max_examples=60)
@given(energies(), st.sampled_from([1, 0.1]))
@example(([(0, 1), (0, 19)], {2: [((0, 1), np.array([[1, 0], [0, -20]]))], 3: []}), 0.1)
def test_minimum_is_that_of_all_labellings(energy, factor):
    unary, terms = energy
    n = len(unary)
    costs = {x: energy_of(unary, terms[2] + terms[3], x) for x in all_labellings(n)}
    built = build(unary, terms, factor)
    result = minimize_energy(built)
    assert all(built.evaluate(x) == pytest.approx(cost * factor) for x, cost in costs.items())
    assert result.value == pytest.approx(min(costs.values()) * factor, abs=1e-9)
    result.verify()
    if factor == 1:
        assert isinstance(result.value, int)
        least = [x for x, cost in costs.items() if cost == min(costs.values())]
        assert result.labels.sum() == max(map(sum, least))


@settings(max_examples=60)
@given(st.sampled_from([2, 3]).flatmap(tables))
def test_a_term_is_refused_exactly_where_it_is_not_submodular(table):
    members = [tuple(range(table.ndim))]
    terms = {"pairs": members, "pair_costs": [table]}
    if table.ndim == 3:
        terms = {"triples": members, "triple_costs": [table]}
    energy = BinaryEnergy(np.zeros((3, 2), dtype=int), **terms)
    if is_submodular(table):
        assert minimize_energy(energy).value == table.min()
    else:
        with pytest.raises(InvalidInputError, match="is not submodular"):
            energy.to_flow_problem()


def test_a_term_that_is_not_submodular_is_named():
    potts = [[0, 1], [1, 0]]
    energy = BinaryEnergy(np.zeros((6, 2)), [(0, 1), (4, 2)], [potts, [[0, 1], [1, 5]]])
    with pytest.raises(InvalidInputError, match=r"pair 1, of variables \(4, 2\), .*5 is more than .* = 2"):
        minimize_energy(energy)
    table = np.zeros((2, 2, 2))
    table[1, 1, 1] = 1
    energy = BinaryEnergy(np.zeros((6, 2)), triples=[(5, 3, 1)], triple_costs=table)
    with pytest.raises(
        InvalidInputError, match=r"triple 0, of variables \(5, 3, 1\), .*variable 5 fixed at 1"
    ):
        minimize_energy(energy)


def test_one_table_serves_all_terms_and_rounding_breaks_no_equality():
    chain = np.stack([np.arange(9), np.arange(1, 10)], axis=1)
    unary = np.zeros((10, 2))
    unary[0, 0], unary[9, 1] = 1, 0.5
    result = minimize_energy(BinaryEnergy(unary, chain, [[0, 0.2], [0.2, 0]]))
    assert result.value == pytest.approx(0.2)
    # 0.1 + 0.2 and 0.3 differ in the last place; the term is linear.
    assert (
        minimize_energy(BinaryEnergy(np.zeros((2, 2)), [(0, 1)], [[0.0, 0.1], [0.2, 0.1 + 0.2]])).value == 0
    )


def test_no_terms_and_no_variables():
    assert minimize_energy(BinaryEnergy([[3, 1], [2, 5]])).value == 3
    assert minimize_energy(BinaryEnergy(np.zeros((0, 2)))).value == 0


def test_verify_notices_wrong_labels():
    energy = BinaryEnergy([[4, 0], [0, 1]], [[0, 1]], [[0, 5], [5, 0]])
    result = minimize_energy(energy)
    labels = ~result.labels
    with pytest.raises(VerificationError):
        type(result)(
            result.status, result.lower_bound, result.upper_bound, result.stats, labels, energy, result.cut, 0
        ).verify()


def test_time_limit_gives_bounds():
    rng = np.random.default_rng(0)
    pairs = np.sort(rng.integers(0, 20_000, size=(100_000, 2)), axis=1)
    pairs = pairs[pairs[:, 0] < pairs[:, 1]]
    energy = BinaryEnergy(rng.integers(-50, 50, size=(20_000, 2)), pairs, [[0, 9], [9, 0]])
    result = minimize_energy(energy, method="serial-generic", time_limit=1e-6)
    assert result.status == "time-limit"
    assert result.lower_bound <= result.upper_bound == energy.evaluate(result.labels)
    with pytest.raises(NotOptimalError):
        _ = result.value


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 2],), r"unary must have shape"),
        (([[1, np.nan]],), "unary has values that are not finite"),
        (([["a", "b"]],), "unary must be an array of numbers"),
        (([[0, 1]] * 2, [[0, 2]], [[0, 1], [1, 0]]), r"pairs\[0\] names variable 2; there are 2"),
        (([[0, 1]] * 2, [[1, 1]], [[0, 1], [1, 0]]), r"pairs\[0\] names a variable twice"),
        (([[0, 1]] * 3, (), (), [[0, 1, 0]], np.zeros((2, 2, 2))), r"triples\[0\] names a variable twice"),
        (([[0, 1], [2]],), "unary is not an array"),
        ((np.ma.masked_equal([[0, 1]], 1),), "unary is a masked array"),
        (([[0, 1]] * 2, [[0], [1, 0]], [[0, 1], [1, 0]]), "pairs is not an array"),
        (([[0, 1]] * 2, [[0, 1]], [0, 1]), r"pair_costs must have shape \(1, 2, 2\) or \(2, 2\)"),
        (([[0, 1]] * 2, [[0.0, 1.0]], [[0, 1], [1, 0]]), "pairs must have 2 integers a row"),
        (([[0, 1]] * 2, [[0, 1]], [[0, np.inf], [1, 0]]), "pair_costs has values that are not finite"),
    ],
)
def test_wrong_arguments_are_named(arguments, message):
    with pytest.raises(InvalidInputError, match=message):
        BinaryEnergy(*arguments)


def test_wrong_labels_and_sums_beyond_int64_are_refused():
    energy = BinaryEnergy([[0, 1], [1, 0]])
    for labels, got in ([0], "shape"), ([0, 2], "2"), ([[0, 1]], "shape"), ([-1, 0], "-1"):
        with pytest.raises(InvalidInputError, match=f"must be 0 or 1 for each of 2 variables, got {got}"):
            energy.evaluate(labels)
    with pytest.raises(CapacityOverflowError, match="overflow"):
        BinaryEnergy([[0, 2**60], [0, 2**60]])
    with pytest.raises(CapacityOverflowError, match="float64"):
        minimize_energy(BinaryEnergy([[1e308, 1.5e308]] * 2))
    with pytest.raises(CapacityOverflowError, match="mix floats"):
        BinaryEnergy([[0, 2**53 + 1], [0, 0]], [[0, 1]], [[0, 0.5], [0.5, 0]])
    with pytest.raises(InvalidInputError, match="energy must be a BinaryEnergy, got list"):
        minimize_energy([[0, 1]])  # type: ignore[arg-type]


def test_terms_that_cancel_are_proved_optimal():
    """The cut is a few times as large as the energy: its sums are looked at closely then."""
    random = Random(61)
    numbers = [0.0, 0.05, 0.1, 0.2, 0.25, 0.3, 0.75]
    for _ in range(200):
        n = random.randint(2, 4)
        unary = [[random.choice(numbers) * random.choice([1, -1]), random.choice(numbers)] for _ in range(n)]
        pairs = [pair for pair in itertools.combinations(range(n), 2) if random.random() < 0.7]
        costs = [[[0.0, random.choice(numbers)], [random.choice(numbers), 0.0]] for _ in pairs]
        energy = BinaryEnergy(unary, pairs, costs) if pairs else BinaryEnergy(unary)

        def exact(labels, terms=(unary, pairs, costs)):
            own = sum(Fraction(cost[label]) for cost, label in zip(terms[0], labels, strict=True))
            return own + sum(
                Fraction(cost[labels[i]][labels[j]]) for (i, j), cost in zip(*terms[1:], strict=True)
            )

        found = minimize_energy(energy)
        found.verify()
        least = min(map(exact, itertools.product((0, 1), repeat=n)))
        assert found.status == "optimal"
        assert abs(Fraction(found.value) - least) <= found.gap <= 1e-12


@st.composite
def any_energies(draw):
    """Return terms on any pairs, many of them frustrated, and triples that are submodular."""
    n = draw(st.integers(1, 6))
    sides = draw(st.sampled_from([COSTS, st.integers(-1, 1), st.just(0)]))
    unary = draw(st.lists(st.tuples(sides, sides), min_size=n, max_size=n))
    terms = {2: [], 3: []}
    for order, table, most in ((2, tables(2), 12), (3, submodular_tables(3), 2)):
        if n >= order:
            members = st.permutations(range(n)).map(lambda order_of, k=order: tuple(order_of[:k]))
            terms[order] = draw(st.lists(st.tuples(members, table), max_size=most))
    return unary, terms


@settings(max_examples=80)
@given(any_energies(), st.sampled_from([1, 0.1]))
def test_partial_labels_against_all_labellings(energy, factor):
    """Labels that are proved raise no energy; those of all minima are; integers are exact."""
    unary, terms = energy
    whole = {x: energy_of(unary, terms[2] + terms[3], x) for x in all_labellings(len(unary))}
    least = min(whole.values())
    built = build(unary, terms, factor)
    result = minimize_energy(built, partial=True)
    result.verify()
    labels = result.labels
    for x, cost in whole.items():
        assert whole[tuple(np.where(labels < 0, x, labels).tolist())] <= cost
        if cost == least and factor == 1:
            assert (labels == x)[result.in_every_minimum].all()
    assert result.lower_bound <= least * factor + 1e-9
    assert result.upper_bound >= least * factor - 1e-9
    if (labels >= 0).all():
        assert result.value == pytest.approx(least * factor, abs=1e-9)
    if factor == 1:
        assert isinstance(result.lower_bound, int)
        assert result.room == 0
    if all(is_submodular(table) for _, table in terms[2]):
        assert (labels >= 0).all()
        assert result.status == "optimal"


def test_partial_labels_of_an_odd_cycle():
    """Half of each label is the best of the relaxation, so nothing is proved; a chain is proved whole."""
    differ = [[1, 0], [0, 1]]
    ring = np.stack([np.arange(5), (np.arange(5) + 1) % 5], axis=1)
    result = minimize_energy(BinaryEnergy(np.zeros((5, 2), int), ring, differ), partial=True)
    assert (result.labels.tolist(), result.lower_bound, result.status) == ([-1] * 5, 0, "approximate")
    with pytest.raises(NotOptimalError):
        _ = result.value
    chain = minimize_energy(BinaryEnergy(np.zeros((5, 2), int), ring[:4], differ), partial=True)
    assert (chain.value, chain.in_every_minimum.any()) == (0, False)
    assert (np.diff(chain.labels) != 0).all()
    held = minimize_energy(BinaryEnergy([[0, 1]] + [[0, 0]] * 4, ring[:4], differ), partial=True)
    assert held.labels.tolist() == [0, 1, 0, 1, 0]
    assert held.in_every_minimum.all()


def test_partial_labels_of_hostile_energies():
    assert minimize_energy(BinaryEnergy(np.zeros((0, 2))), partial=True).value == 0
    assert minimize_energy(BinaryEnergy([[3, 1], [2, 5]]), partial=True).labels.tolist() == [1, 0]
    table = np.zeros((2, 2, 2))
    table[1, 1, 1] = 1
    with pytest.raises(InvalidInputError, match=r"triple 0, of variables \(5, 3, 1\), is not submodular"):
        minimize_energy(BinaryEnergy(np.zeros((6, 2)), triples=[(5, 3, 1)], triple_costs=table), partial=True)
    with pytest.raises(CapacityOverflowError, match="overflow"):
        minimize_energy(BinaryEnergy([[0, 2**59]]), partial=True)
    largest = minimize_energy(BinaryEnergy([[2**57 - 1, -(2**57)]]), partial=True)
    assert (largest.value, largest.labels.tolist()) == (-(2**57), [1])
    with pytest.raises(InvalidInputError, match="partial must be True or False"):
        minimize_energy(BinaryEnergy([[0, 1]]), partial="no")
    with pytest.raises(CapacityOverflowError, match="twice the least energy"):
        minimize_energy(BinaryEnergy([[1e308, 1.5e308]]), partial=True)
    # "Never both": what is forbidden does not swallow the small costs.
    never = minimize_energy(
        BinaryEnergy([[0.25, 0.0], [0.5, 0.0]], [[0, 1]], [[0.0, 0.0], [0.0, 1e300]]), partial=True
    )
    assert (never.labels.tolist(), never.value) == ([0, 1], 0.25)
    never.verify()


def test_partial_labels_of_floats_of_all_sizes():
    """Whatever cancels, the labels raise the energy by no more than the result says."""
    random = Random(9)
    for _ in range(150):
        n = random.randint(2, 5)

        def number():
            return random.randint(-3, 3) * 0.3 * 10.0 ** random.choice([0, 0, 0, 15, 100, 300, -100, -320])

        unary = [[number(), number()] for _ in range(n)]
        pairs = [pair for pair in itertools.combinations(range(n), 2) if random.random() < 0.8]
        costs = [[[number(), number()], [number(), number()]] for _ in pairs]
        result = minimize_energy(BinaryEnergy(unary, pairs, np.reshape(costs, (-1, 2, 2))), partial=True)
        result.verify()
        exact = [
            np.vectorize(Fraction, otypes=[object])(part) for part in (unary, np.reshape(costs, (-1, 2, 2)))
        ]
        whole = {
            x: energy_of(exact[0].tolist(), list(zip(pairs, exact[1], strict=True)), x)
            for x in all_labellings(n)
        }
        for x, cost in whole.items():
            put = whole[tuple(np.where(result.labels < 0, x, result.labels).tolist())]
            assert put <= cost + Fraction(result.room)
        assert result.lower_bound <= min(whole.values()) + Fraction(result.room)
        if result.status == "optimal":
            assert abs(Fraction(result.value) - min(whole.values())) <= Fraction(result.gap)


def test_partial_labels_within_a_time_limit():
    rng = np.random.default_rng(0)
    pairs = np.sort(rng.integers(0, 20_000, size=(60_000, 2)), axis=1)
    pairs = pairs[pairs[:, 0] < pairs[:, 1]]
    energy = BinaryEnergy(
        rng.integers(-50, 50, size=(20_000, 2)), pairs, rng.integers(-9, 9, size=(len(pairs), 2, 2))
    )
    result = minimize_energy(energy, partial=True, method="serial-generic", time_limit=1e-6)
    assert result.status == "time-limit"
    assert (result.labels == -1).all()
    assert result.lower_bound <= result.upper_bound
    result.verify()
    whole = minimize_energy(energy, partial=True)
    whole.verify()
    assert result.lower_bound <= whole.lower_bound <= whole.upper_bound
    assert np.mean(whole.labels >= 0) > 0.1
