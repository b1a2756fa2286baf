"""DIMACS files of minimum-cost flow and assignment, and solutions: round trips, every malformed line."""

import gzip
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from preflow.errors import InvalidInputError, ParseError
from preflow.generators import goto, uniform_transport
from preflow.graph.cost_network import CostNetwork
from preflow.graph.network import MaxFlowProblem
from preflow.io.costs import read_costs
from preflow.io.dimacs import read_dimacs, read_max_flow, read_min_cost_flow, write_dimacs
from preflow.io.npz import load_npz, save_npz
from preflow.io.solution import (
    FlowSolution,
    min_cost_flow_on_arcs,
    read_solution,
    write_min_cost_solution,
)
from tests.cli.test_matching import run
from tests.support.paths import SHARED

INT64_MAX = 2**63 - 1
SMALL = b"c small\np min 4 4\nn 1 3\nn 4 -3\na 1 2 0 3 -7\na 2 4 1 2 9\na 1 3 0 1 1\na 3 4 0 5 0\n"
PAIRS = b"p asn 4 3\nn 1\nn 3\na 1 2 5\na 1 4 -2\na 3 4 7\n"
FIELDS = ("tail", "head", "capacity", "cost", "supply")

relaxed = settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@st.composite
def networks(draw, directed=False):
    """Networks with everything that is allowed."""
    n = draw(st.integers(1, 9))
    m = draw(st.integers(0, 20))
    integers = draw(st.booleans())
    float_amount = st.one_of(st.floats(0, 1e300), st.just(np.inf))
    amount = st.integers(0, INT64_MAX) if integers else float_amount
    anything = st.integers(-INT64_MAX, INT64_MAX) if integers else st.floats(-1e300, 1e300)

    def column(entry, size=m):
        return np.array(draw(st.lists(entry, min_size=size, max_size=size)), dtype=int if integers else float)

    ends = st.lists(st.integers(0, n - 1), min_size=m, max_size=m)
    capacity, cost, lower = column(amount), column(anything), column(anything)
    lower = np.minimum(lower, capacity) if draw(st.booleans()) else np.zeros_like(lower)
    undirected = None
    if not directed and draw(st.booleans()):
        undirected = np.array(draw(st.lists(st.booleans(), min_size=m, max_size=m)), dtype=bool)
        cost, lower = np.where(undirected, np.abs(cost), cost), np.where(undirected, 0, lower)
    return CostNetwork.from_arrays(
        draw(ends),
        draw(ends),
        capacity=capacity,
        cost=cost,
        lower=lower,
        supply=column(anything, n),
        undirected=undirected,
        num_vertices=n,
    )


def written(tmp_path, content, name="bad.min"):
    path = tmp_path / name
    path.write_bytes(content)
    return path


def same_entries(got, expected):
    """Compare numbers and dtypes; an array without entries has no dtype to keep."""
    np.testing.assert_array_equal(got, expected)
    assert got.dtype == expected.dtype or not len(expected)


@relaxed
@given(network=networks(directed=True), suffix=st.sampled_from([".min", ".min.gz"]))
def test_round_trip(tmp_path, network, suffix):
    path = tmp_path / f"problem{suffix}"
    write_dimacs(path, network, comment="two\nlines")
    got = read_dimacs(path)
    assert isinstance(got, CostNetwork)
    assert got.num_vertices == network.num_vertices
    for name in ("tail", "head", "capacity", "cost"):
        same_entries(getattr(got, name), getattr(network, name))
    lower = np.zeros(network.num_arcs) if network.lower is None else network.lower
    np.testing.assert_array_equal(
        0 if got.lower is None else got.lower, lower if got.lower is not None else 0
    )
    assert (got.lower is None) == (not lower.any())
    np.testing.assert_array_equal(got.supply, network.supply)
    assert path.read_bytes().startswith(b"\x1f\x8b") == (suffix == ".min.gz")


@relaxed
@given(network=networks())
def test_undirected_arcs_become_two(tmp_path, network):
    write_dimacs(tmp_path / "x.min", network)
    got = read_min_cost_flow(tmp_path / "x.min")
    m = network.num_arcs
    both = np.flatnonzero([] if network.undirected is None else network.undirected)
    np.testing.assert_array_equal(got.tail, np.append(network.tail, network.head[both]))
    np.testing.assert_array_equal(got.head, np.append(network.head, network.tail[both]))
    np.testing.assert_array_equal(got.cost[m:], network.cost[both])
    np.testing.assert_array_equal(got.capacity[m:], network.capacity[both])


@relaxed
@given(network=networks(), labelled=st.booleans())
def test_archives(tmp_path, network, labelled):
    if labelled:
        network = replace(network, labels=tuple(f"v{i}" for i in range(network.num_vertices)))
    save_npz(tmp_path / "x.npz", network)
    got = load_npz(tmp_path / "x.npz")
    assert isinstance(got, CostNetwork)
    assert (got.num_vertices, got.labels) == (network.num_vertices, network.labels)
    for name in (*FIELDS, "lower", "undirected"):
        one, other = getattr(got, name), getattr(network, name)
        assert (one is None) == (other is None)
        if one is not None:
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)


def test_a_network_without_supplies(tmp_path):
    write_dimacs(tmp_path / "x.min", CostNetwork.from_arrays([0], [1], capacity=np.inf, cost=2))
    assert (tmp_path / "x.min").read_text() == "p min 2 1\na 1 2 0 inf 2\n"
    got = read_min_cost_flow(tmp_path / "x.min")
    assert got.capacity.tolist() == [np.inf]
    assert got.cost.dtype == np.int64
    assert got.supply.tolist() == [0, 0]


def test_assignment(tmp_path):
    network = read_min_cost_flow(written(tmp_path, PAIRS))
    assert network.supply.tolist() == [1, -1, 1, -1]
    assert network.cost.tolist() == [5, -2, 7]
    assert (network.capacity == 1).all()
    write_dimacs(tmp_path / "x.asn.gz", network)
    assert gzip.decompress((tmp_path / "x.asn.gz").read_bytes()) == PAIRS
    costs = read_costs(tmp_path / "x.asn.gz")
    assert costs.rows.tolist() == [1, 3]
    assert costs.costs.toarray().tolist() == [[5, -2], [0, 7]]


def test_what_is_no_assignment(tmp_path):
    network = read_min_cost_flow(written(tmp_path, PAIRS))
    others = [
        read_min_cost_flow(written(tmp_path, SMALL)),
        CostNetwork.from_arrays([0], [1], capacity=1, supply=[-1, 1]),
        CostNetwork.from_arrays([0], [1], capacity=1, lower=1, supply=[1, -1]),
        CostNetwork.from_arrays([0], [1], capacity=0, supply=[1, -1]),
        CostNetwork.from_arrays([0], [1], capacity=1),
    ]
    for other in others:
        with pytest.raises(InvalidInputError, match="an assignment has a supply of 1 or -1"):
            write_dimacs(tmp_path / "x.asn", other)
    assert not (tmp_path / "x.asn").exists()
    with pytest.raises(ParseError, match="1 rows and 3 columns"):
        read_dimacs(written(tmp_path, b"p asn 4 1\nn 1\na 1 2 5\n"))
    assert network.num_arcs == 3


@pytest.mark.skipif(not SHARED.is_dir(), reason="no reference files here")
@pytest.mark.parametrize("path", sorted(SHARED.glob("dimacs/*.[ma][is]n.gz")), ids=lambda path: path.name)
def test_reference_files(path, tmp_path):
    expected = json.loads((path.parent / "optima.json").read_text())[path.name]
    network = read_dimacs(path)
    assert isinstance(network, CostNetwork)
    assert (network.num_vertices, network.num_arcs) == (expected["nodes"], expected["arcs"])
    assert network.supply.sum() == 0
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    arcs = np.array([line.split()[1:] for line in lines if line.startswith("a")], dtype=np.int64).T
    np.testing.assert_array_equal(network.tail, arcs[0] - 1)
    np.testing.assert_array_equal(network.cost, arcs[-1])
    write_dimacs(tmp_path / path.name, network)
    again = read_dimacs(tmp_path / path.name)
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(again, name), getattr(network, name))


def test_many_arcs_in_several_pieces(tmp_path):
    network = uniform_transport(300, seed=1)
    write_dimacs(tmp_path / "x.min.gz", network)
    again = read_dimacs(tmp_path / "x.min.gz")
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(again, name), getattr(network, name))


def test_largest_numbers(tmp_path):
    most = str(INT64_MAX).encode()
    lines = [b"p min 2 1", b"n 1 " + most, b"n 2 -" + most, b"a 1 2 -" + most + b" " + most + b" -" + most]
    network = read_min_cost_flow(written(tmp_path, b"\n".join(lines)))
    assert network.lower.tolist() == network.cost.tolist() == [-INT64_MAX]
    assert network.capacity.tolist() == [INT64_MAX]
    assert network.supply.tolist() == [INT64_MAX, -INT64_MAX]


def test_each_field_has_its_own_dtype(tmp_path):
    network = read_min_cost_flow(written(tmp_path, SMALL.replace(b"0 3 -7", b"0 inf -7")))
    assert (network.capacity.dtype, network.cost.dtype) == (np.float64, np.int64)
    network = read_min_cost_flow(written(tmp_path, SMALL.replace(b"0 3 -7", b"0 3 -7.5")))
    assert (network.capacity.dtype, network.cost.dtype) == (np.int64, np.float64)
    network = read_min_cost_flow(written(tmp_path, SMALL.replace(b"n 1 3", b"n 1 2.5")))
    assert network.supply.tolist() == [2.5, 0, 0, -3]


MALFORMED = {
    "missing cost": (
        SMALL.replace(b"1 3 0 1 1", b"1 3 0 1"),
        7,
        "expected 'a TAIL HEAD LOWER CAPACITY COST'",
    ),
    "extra field": (SMALL.replace(b"1 3 0 1 1", b"1 3 0 1 1 1"), 7, "got 7 fields"),
    "cost no number": (SMALL.replace(b"1 3 0 1 1", b"1 3 0 1 x"), 7, "cost 'x' is not a number"),
    "cost not finite": (SMALL.replace(b"1 3 0 1 1", b"1 3 0 1 inf"), 7, "cost 'inf' is not finite"),
    "lower not finite": (SMALL.replace(b"1 3 0 1 1", b"1 3 -inf 1 1"), 7, "lower '-inf' is not finite"),
    "capacity negative": (SMALL.replace(b"1 3 0 1 1", b"1 3 0 -1 1"), 7, "capacity '-1' is less than 0"),
    "cost past int64": (SMALL.replace(b"0 1 1", b"0 1 9223372036854775808"), 7, "64-bit integer"),
    "lower above": (
        SMALL.replace(b"1 3 0 1 1", b"1 3 2 1 1"),
        7,
        "the lower bound 2 is above the capacity 1",
    ),
    "supply missing": (SMALL.replace(b"n 1 3", b"n 1"), 3, "expected 'n VERTEX SUPPLY', got 2 fields"),
    "supply no number": (SMALL.replace(b"n 1 3", b"n 1 s"), 3, "supply 's' is not a number"),
    "supply not finite": (SMALL.replace(b"n 1 3", b"n 1 inf"), 3, "supply 'inf' is not finite"),
    "supply twice": (SMALL.replace(b"n 4 -3", b"n 1 -3"), 4, "vertex 1 has two n lines"),
    "supply of no vertex": (SMALL.replace(b"n 1 3", b"n 9 3"), 3, "vertex 9 is out of range"),
    "supplies mixed": (
        SMALL.replace(b"n 1 3", b"n 1 9007199254740993").replace(b"n 4 -3", b"n 4 0.5"),
        None,
        "mix floats with integers past 2**53",
    ),
    "seed": (SMALL + b"s 3\n", 9, "unknown line type 's'"),
    "other kind": (SMALL.replace(b"p min", b"p cnf"), 2, "expected 'p max VERTICES ARCS' or 'p min VERTICES"),
    "short p line": (SMALL.replace(b"min 4 4", b"min 4"), 2, "expected 'p min VERTICES ARCS', got 3 fields"),
    "too few arcs": (SMALL.replace(b"min 4 4", b"min 4 5"), 2, "5 arcs were announced, the file has 4"),
    "asn row twice": (PAIRS.replace(b"n 3", b"n 1"), 3, "vertex 1 has two n lines"),
    "asn row with number": (PAIRS.replace(b"n 3", b"n 3 1"), 3, "expected 'n VERTEX', got 3 fields"),
    "asn arc from a column": (
        PAIRS.replace(b"a 1 4 -2", b"c a b\n a 4 2 -2"),
        6,
        "the arc from 4 to 2 does not lead from a row to a column",
    ),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed(tmp_path, case):
    content, line, message = MALFORMED[case]
    with pytest.raises(ParseError) as caught:
        read_dimacs(written(tmp_path, content))
    assert caught.value.line == line
    assert message in str(caught.value)


def test_readers_of_one_kind(tmp_path):
    path = written(tmp_path, SMALL)
    with pytest.raises(ParseError, match="2: expected 'p max VERTICES ARCS', not problem 'min'"):
        read_max_flow(path)
    other = written(tmp_path, b"p max 2 1\nn 1 s\nn 2 t\na 1 2 3\n", "x.max")
    with pytest.raises(ParseError, match="1: expected 'p min VERTICES ARCS' or 'p asn VERTICES ARCS', not"):
        read_min_cost_flow(other)
    assert isinstance(read_dimacs(other), MaxFlowProblem)
    with pytest.raises(ParseError, match="no line 'p min VERTICES ARCS' or 'p asn VERTICES ARCS'"):
        read_min_cost_flow(written(tmp_path, b"c\n"))


@settings(relaxed, max_examples=300)
@given(
    content=st.sampled_from([SMALL, PAIRS]),
    places=st.lists(st.tuples(st.integers(0, 90), st.sampled_from(list(b"\n anpc-.e0159\xff"))), max_size=4),
)
def test_mutated_files_are_read_or_refused(tmp_path, content, places):
    data = bytearray(content)
    for place, byte in places:
        data[place % len(data)] = byte
    try:
        network = read_dimacs(written(tmp_path, bytes(data)))
    except ParseError:
        return
    write_dimacs(tmp_path / "again.min", network)
    again = read_dimacs(tmp_path / "again.min")
    assert type(again) is type(network)


# Solutions


@relaxed
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 6), m=st.integers(0, 20))
def test_solution_round_trip(tmp_path, seed, n, m):
    """The flow that comes back is within the bounds, balances alike and costs no more."""
    rng = np.random.default_rng(seed)
    undirected = rng.random(m) < 0.3
    lower = np.where(undirected, 0, rng.integers(-5, 5, m))
    capacity = np.maximum(lower, 0) + rng.integers(0, 9, m)
    network = CostNetwork.from_arrays(
        rng.integers(0, n, m),
        rng.integers(0, n, m),
        capacity=capacity,
        cost=rng.integers(0, 9, m),
        lower=lower,
        undirected=undirected,
        num_vertices=n,
    )
    flow = rng.integers(np.where(undirected, -capacity, lower), capacity, endpoint=True) if m else lower
    write_min_cost_solution(tmp_path / "x.sol.gz", 12, network, flow, comment="by hand")
    solution = read_solution(tmp_path / "x.sol.gz")
    assert solution.value == 12
    got = min_cost_flow_on_arcs(network, solution)
    assert (got <= capacity).all()
    assert (got >= np.where(undirected, -capacity, lower)).all()
    balance = np.zeros((2, n), dtype=np.int64)
    for row, amounts in zip(balance, (got, flow), strict=True):
        np.add.at(row, network.tail, amounts)
        np.subtract.at(row, network.head, amounts)
    np.testing.assert_array_equal(*balance)
    costs = [(network.cost * np.where(undirected, np.abs(x), x)).sum() for x in (got, flow)]
    assert costs[0] <= costs[1]


@pytest.mark.parametrize(
    ("tail", "head", "flow", "message"),
    [
        ([0], [2], [1], "no such arc"),
        ([0], [1], [9], "the capacity is 4"),
        ([0], [7], [1], "names vertex 8"),
        ([1], [2], [1], "less from vertex 2 to vertex 3 than arcs must carry"),
    ],
)
def test_solutions_that_do_not_fit(tail, head, flow, message):
    network = CostNetwork.from_arrays([0, 1], [1, 2], capacity=4, lower=[0, 2])
    fill = ([1], [2], [2]) if head != [2] or tail == [0] else ([], [], [])
    solution = FlowSolution(
        0, *(np.array([*one, *other], dtype=int) for one, other in zip((tail, head, flow), fill, strict=True))
    )
    with pytest.raises(InvalidInputError, match=message):
        min_cost_flow_on_arcs(network, solution)


def test_generated_instances_are_the_same_bytes(tmp_path):
    for name in ("a.min.gz", "b.min.gz"):
        write_dimacs(tmp_path / name, goto(100, seed=3))
    assert (tmp_path / "a.min.gz").read_bytes() == (tmp_path / "b.min.gz").read_bytes()


@pytest.mark.parametrize("seed", range(40))
def test_sums_of_lines_never_wrap(tmp_path, seed):
    """Lines of one pair are added up exactly, also where int64 would wrap to the flow that is right."""
    rng = np.random.default_rng(seed)
    large = 2 ** int(rng.integers(40, 63)) - 1
    lower = -int(rng.integers(0, 2) * rng.integers(0, large))
    network = CostNetwork.from_arrays(
        [0, 0, 0, 1],
        [1, 1, 1, 0],
        capacity=[large, large, large, 5],
        cost=[1, 2, 3, 4],
        lower=[lower, 0, 0, 0],
    )
    flow = np.array([int(rng.integers(lower, large + 1)) for _ in range(2)] + [0, int(rng.integers(0, 6))])
    flow[1] = abs(flow[1])
    net = int(flow[0]) + int(flow[1])
    # As many lines as fit int64, with parts of any sign that add up to the flow.
    cuts = [int(rng.integers(-INT64_MAX, INT64_MAX)) for _ in range(3)]
    parts = [*cuts, net - sum(cuts)]
    while not all(-INT64_MAX <= part <= INT64_MAX for part in parts):
        big = max(parts, key=abs)
        parts.remove(big)
        parts += [big // 2, big - big // 2]
    lines = [(0, 1, part) for part in parts] + [(1, 0, int(flow[3]))] * bool(flow[3])
    columns = [np.array(column) for column in zip(*lines, strict=True)]
    found = [int(each) for each in min_cost_flow_on_arcs(network, FlowSolution(0, *columns))]
    assert found[0] + found[1] + found[2] == net
    assert found[3] == flow[3]
    limits = zip([lower, 0, 0, 0], found, [large, large, large, 5], strict=True)
    assert all(least <= each <= most for least, each, most in limits)
    # Two lines of 2**63 - 1 and one of 2 are 2**64 too much, and 0 modulo 2**64.
    more = [(0, 1, INT64_MAX), (0, 1, INT64_MAX), (0, 1, 2)]
    columns = [np.array(column) for column in zip(*lines, *more, strict=True)]
    with pytest.raises(InvalidInputError, match="the capacity is"):
        min_cost_flow_on_arcs(network, FlowSolution(0, *columns))


@pytest.mark.parametrize("table", [False, True])
@pytest.mark.parametrize(("kind", "value"), [("min", 5), ("max", 5), ("min", 2), ("max", 2)])
def test_a_flow_that_wraps_to_the_right_one_is_not_verified(tmp_path, kind, value, table):
    lines = [value + 2, INT64_MAX, INT64_MAX] if value < 10 else []
    if kind == "min":
        text = f"p min 2 2\nn 1 {value}\nn 2 {-value}\na 1 2 0 10 1\na 1 2 0 10 2\n"
    else:
        text = f"p max 2 2\nn 1 s\nn 2 t\na 1 2 {value}\na 2 1 3\n"
    problem = tmp_path / f"x.{kind}"
    problem.write_text(text)
    solution = tmp_path / ("x.csv" if table else "x.sol")
    for flows, proved in (([value], True), (lines, False), ([-value, *lines], False)):
        if table:
            rows = "".join(f"1,2,{flow}\n" for flow in flows)
            solution.write_text(f"source,target,flow\n{rows}")
        else:
            rows = "".join(f"f 1 2 {flow}\n" for flow in flows)
            solution.write_text(f"s {value}\n{rows}")
        done = run("verify", str(problem), str(solution))
        said = "verified" if proved else "not verified"
        assert (done.exit_code, done.stdout.split(":")[0]) == (0 if proved else 1, said), done.output


def test_costs_in_a_sparse_archive_never_wrap(tmp_path):
    from scipy import sparse

    import preflow

    for dtype, large in ((np.int8, 100), (np.uint8, 200), (np.int64, 2**58)):
        entries = np.array([large, large, 1], dtype=dtype), ([0, 0, 0], [0, 0, 1])
        sparse.save_npz(tmp_path / "x.npz", sparse.coo_array(entries, shape=(1, 2)))
        costs = read_costs(tmp_path / "x.npz").costs
        assert preflow.linear_assignment(costs, maximize=True).cost == 2 * large
