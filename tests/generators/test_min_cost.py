"""The generators of minimum-cost flow against files of the original programs, and against their promises."""

import gzip
import math
from collections import Counter

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.csgraph
from hypothesis import given, settings
from hypothesis import strategies as st

from preflow import generators
from preflow.errors import CapacityOverflowError, InvalidInputError
from preflow.generators import MIN_COST_FAMILIES, min_cost_family
from preflow.graph.cost_network import CostNetwork
from tests.support.paths import SHARED

pytestmark = pytest.mark.fast


def small(name, **parameters) -> CostNetwork:
    family = MIN_COST_FAMILIES[name]
    return family.generate(next(iter(family.presets)), **parameters)


def is_feasible(network: CostNetwork) -> bool:
    """Return whether a maximum flow from a source of all supplies to a sink of all demands sends them."""
    n = network.num_vertices
    source, sink = np.flatnonzero(network.supply > 0), np.flatnonzero(network.supply < 0)
    tail = np.concatenate([network.tail, np.full(len(source), n), sink])
    head = np.concatenate([network.head, source, np.full(len(sink), n + 1)])
    capacity = np.concatenate([network.capacity, network.supply[source], -network.supply[sink]])
    matrix = scipy.sparse.csr_matrix((capacity.astype(np.int32), (tail, head)), shape=(n + 2, n + 2))
    flow = scipy.sparse.csgraph.maximum_flow(matrix, n, n + 1).flow_value
    return int(flow) == network.supply[source].sum()


def same(first: CostNetwork, second: CostNetwork) -> bool:
    return all(
        np.array_equal(getattr(first, name), getattr(second, name))
        for name in ("tail", "head", "capacity", "cost", "supply")
    )


@pytest.mark.parametrize("name", MIN_COST_FAMILIES)
class TestEveryFamily:
    def test_same_seed_same_instance(self, name):
        assert same(small(name, seed=7), small(name, seed=7))
        assert not same(small(name, seed=1), small(name, seed=2))

    def test_data(self, name):
        network = small(name, seed=3)
        assert network.supply is not None
        assert network.supply.sum() == 0 < np.abs(network.supply).sum()
        assert {array.dtype for array in (network.capacity, network.cost, network.supply)} == {
            np.dtype("int64")
        }
        assert network.capacity.min() >= 1
        assert network.cost.min() >= 0
        assert not (network.tail == network.head).any()
        assert (np.diff(network.tail.astype(np.int64)) >= 0).all()

    def test_a_flow_exists(self, name):
        for seed in range(5):
            assert is_feasible(small(name, seed=seed))

    def test_registry_matches_signature(self, name):
        family = MIN_COST_FAMILIES[name]
        parameters = {p.name: p for p in family.parameters}
        assert set(family.size_parameters) <= set(parameters)
        assert parameters["seed"].default == 0
        assert all(p.type in (int, float, bool) for p in family.parameters)
        required = [p.name for p in family.parameters if p.required]
        assert list(family.size_parameters[: len(required)]) == required

    def test_wrong_parameters_are_refused(self, name):
        family = MIN_COST_FAMILIES[name]
        with pytest.raises(InvalidInputError):
            family.generate("x".join("0" for p in family.parameters if p.required))
        preset = dict(next(iter(family.presets.values())))
        first = family.size_parameters[0]
        for value in (2.5, True, "8"):
            with pytest.raises(InvalidInputError, match=first):
                family.function(**(preset | {first: value}))


def test_netgen_8():
    network = generators.netgen(10_000)
    assert (network.num_vertices, network.num_arcs) == (10_000, 80_000)
    assert (network.supply > 0).sum() == (network.supply < 0).sum() == 100
    assert (network.supply[:100] > 0).all()
    assert (network.supply[-100:] < 0).all()
    assert network.supply[:100].sum() == 100_000
    assert (network.cost.min(), network.cost.max()) == (1, 10_000)
    assert np.median(network.capacity) == pytest.approx(500, rel=0.2)
    pairs = network.tail.astype(np.int64) * 10_000 + network.head
    assert len(np.unique(pairs)) == 80_000
    assert network.tail.max() < 9900
    assert network.head.min() >= 100


@pytest.mark.parametrize(
    ("file", "parameters"),
    [
        (
            "netgen-01",
            {"n": 200, "degree": 6, "sources": 100, "sinks": 100, "supply": 100_000, "capacitated": 0.0},
        ),
        (
            "netgen-16",
            {"n": 400, "degree": 3, "sources": 8, "sinks": 60, "supply": 400_000, "capacitated": 0.2}
            | {"min_capacity": 16_000, "max_capacity": 30_000, "costly": 0.3},
        ),
    ],
)
def test_netgen_is_like_the_original(file, parameters):
    """Vertices, supplies, and shares of free and of costly arcs are those of the original's files."""
    path = SHARED / "dimacs" / f"{file}.min.gz"
    if not path.exists():
        pytest.skip("no reference files here")
    tail, _, capacity, cost, supply = read(path)
    network = generators.netgen(**parameters, seed=5)
    for kind in (np.greater, np.less):
        ours = np.flatnonzero(kind(network.supply, 0))
        original = np.flatnonzero(kind(supply, 0))
        np.testing.assert_array_equal(ours, original)
        assert network.supply[ours].sum() == supply[original].sum()
    most = parameters["supply"]
    assert (network.capacity == most).mean() == pytest.approx((capacity == most).mean(), abs=0.06)
    assert (network.cost == 10_000).mean() == pytest.approx((cost == 10_000).mean(), abs=0.06)
    assert network.cost.mean() == pytest.approx(cost.mean(), rel=0.1)
    assert len(tail) == pytest.approx(network.num_arcs, rel=0.1)


def read(path):
    """Return tail, head, capacity and cost of arcs, and supplies of vertices, numbered from 0."""
    arcs, supplies = [], {}
    with gzip.open(path, "rt") as file:
        for line in file:
            match line.split():
                case ["p", "min", vertices, _]:
                    n = int(vertices)
                case ["n", vertex, supply]:
                    supplies[int(vertex) - 1] = int(supply)
                case ["a", *numbers]:
                    arcs.append([int(number) for number in numbers])
    tail, head, _, capacity, cost = np.array(arcs).T
    supply = np.zeros(n, dtype=np.int64)
    supply[list(supplies)] = list(supplies.values())
    return tail - 1, head - 1, capacity, cost, supply


def test_goto_is_like_the_original():
    path = SHARED / "dimacs" / "goto-500x3000.min.gz"
    if not path.exists():
        pytest.skip("no reference files here")
    tail, head, capacity, cost, supply = read(path)
    network = generators.goto(500, 3000)
    assert network.num_arcs == len(tail)
    np.testing.assert_array_equal(np.sign(network.supply), np.sign(supply))
    assert network.supply.max() == pytest.approx(supply.max(), rel=0.01)
    ours, original = (
        Counter(((h - t) % 500).tolist())
        for t, h in ((network.tail.astype(np.int64), network.head.astype(np.int64)), (tail, head))
    )
    for offset in (1, 50, 51, 100, 150):
        assert ours[offset] == pytest.approx(original[offset], abs=15)
    for share in (0, 7, 1000, 9000):
        assert (network.cost <= share).mean() == pytest.approx((cost <= share).mean(), abs=0.02)
    assert np.median(network.capacity) == pytest.approx(np.median(capacity), rel=0.05)


@pytest.mark.parametrize("n", [8, 11, 500, 1009, 3000])
def test_goto_of_any_size(n):
    network = generators.goto(n)
    assert (network.num_vertices, network.num_arcs) == (n, 6 * n)
    assert is_feasible(network)
    assert (network.capacity == network.supply.max()).sum() == n - 1


def test_transports_have_equal_sums():
    for floats in (False, True):
        uniform = generators.transport_masses(30, 20, floats=floats, seed=4)
        points = generators.transport_points(30, 20, floats=floats, seed=4)
        for problem in (uniform, points):
            assert (len(problem.a), len(problem.b)) == (30, 20)
            assert problem.a.sum() == (
                pytest.approx(problem.b.sum(), rel=1e-15) if floats else problem.b.sum()
            )
            assert problem.a.dtype == problem.b.dtype == (np.float64 if floats else np.int64)
        squares = generators.squared_distances(points)
        assert squares.cost[3, 5] == pytest.approx(((points.points[3] - points.others[5]) ** 2).sum())
    network = generators.transport_network(generators.transport_masses(3, 2, seed=1))
    assert network.tail.tolist() == [0, 0, 1, 1, 2, 2]
    assert network.head.tolist() == [3, 4] * 3


@given(st.integers(2, 9), st.integers(2, 9), st.booleans(), st.integers(0, 99))
@settings(deadline=None)
def test_phase_grid(height, width, weighted, seed):
    network = generators.phase_grid(height, width, noise=2.0, weighted=weighted, seed=seed)
    assert network.num_vertices == (height - 1) * (width - 1) + 1
    assert network.num_arcs == 2 * (height * (width - 1) + (height - 1) * width)
    assert np.abs(network.supply[:-1]).max() <= 1
    assert network.supply.sum() == 0
    both = Counter(zip(network.tail.tolist(), network.head.tolist(), strict=True))
    assert all(both[head, tail] == count for (tail, head), count in both.items())


def test_a_smooth_phase_has_no_residues():
    assert not generators.phase_grid(50, 50, noise=0.0).supply.any()


def test_terminals_of_a_grid():
    corners = generators.cost_grid(5, 7)
    assert np.flatnonzero(corners.supply).tolist() == [0, 34]
    many = generators.cost_grid(5, 7, terminals=4)
    assert (many.num_vertices, many.num_arcs) == (36, corners.num_arcs + 8)
    assert (many.supply > 0).sum() == 4
    assert is_feasible(many)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: min_cost_family("nonsense"), "unknown family"),
        (lambda: generators.netgen(10, sources=6, sinks=5), "n 10 is less than 6 sources and 5 sinks"),
        (lambda: generators.netgen(10, 30), "300 arcs"),
        (lambda: generators.netgen(20, 1, sources=2, sinks=16), "20 arcs: 26 in chains"),
        (lambda: generators.netgen(100, min_cost=5, max_cost=4), "min_cost 5 is above max_cost 4"),
        (lambda: generators.netgen(100, costly=1.5), "costly must be at most 1"),
        (lambda: generators.netgen(100, supply=3), "supply 3 is less than 1 for each of 10 sources"),
        (lambda: generators.goto(100, 300), "m must be at least 5"),
        (lambda: generators.goto(7), "n must be at least 8"),
        (lambda: generators.gridgen(16, 20), "16 vertices have 240 arcs at most"),
        (lambda: generators.cost_grid(1, 5), "at least 2x2"),
        (lambda: generators.cost_grid(2, 2, terminals=3), "3 sources and 3 sinks need more"),
        (lambda: generators.phase_grid(5, 5, noise=math.nan), "noise must be finite"),
        (lambda: generators.transport_masses(0), "rows must be at least 1"),
    ],
)
def test_impossible_parameters(make, message):
    with pytest.raises(InvalidInputError, match=message):
        make()


def test_capacities_that_do_not_fit():
    with pytest.raises(CapacityOverflowError):
        generators.netgen(100, supply=2**62)
    with pytest.raises(CapacityOverflowError):
        generators.goto(100, max_capacity=2**60)
