"""Files: round trips, every malformed line, the challenge's own files, and bytes flipped at random."""

import gzip
import json
import os
import re
import stat
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import preflow
from preflow.errors import CapacityOverflowError, InvalidInputError, ParseError
from preflow.graph.network import FlowNetwork, MaxFlowProblem
from preflow.io import record_reader
from preflow.io.dimacs import read_dimacs, write_dimacs
from preflow.io.edge_list import read_edge_list
from preflow.io.npz import load_npz, save_npz
from preflow.io.solution import FlowSolution, flow_on_arcs, read_solution, write_solution
from preflow.io.undirected import read_undirected_graph
from tests.support.paths import DATA

REFERENCE = DATA / "dimacs"
INT64_MAX = 2**63 - 1
SMALL = b"c small\np max 4 4\nn 1 s\nn 4 t\na 1 2 3\na 2 4 2\na 1 3 1\na 3 4 5\n"

relaxed = settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@st.composite
def problems(draw, kinds=("integers", "floats"), reverse=True):
    """Networks with everything that is allowed: parallel arcs, loops, zero and infinite capacities."""
    n = draw(st.integers(2, 12))
    m = draw(st.integers(0, 30))
    vertex = st.integers(0, n - 1)
    if draw(st.sampled_from(kinds)) == "integers":
        number = st.one_of(st.integers(0, 9), st.integers(0, INT64_MAX))
    else:
        number = st.one_of(st.floats(0, allow_nan=False, allow_infinity=True), st.integers(0, 9).map(float))

    def column(entry, dtype=None):
        return np.array(draw(st.lists(entry, min_size=m, max_size=m)), dtype=dtype)

    back = column(number) if reverse and draw(st.booleans()) else None
    network = FlowNetwork.from_arrays(
        column(vertex, np.int64),
        column(vertex, np.int64),
        column(number),
        reverse_capacity=back,
        num_vertices=n,
    )
    source = draw(vertex)
    sink = draw(vertex.filter(lambda v: v != source))
    return MaxFlowProblem(network, source, sink, name=draw(st.sampled_from(["", "grid 3x3", "größer"])))


def assert_same_network(got, expected):
    assert got.num_vertices == expected.num_vertices
    assert got.labels == expected.labels
    for field in ("tail", "head", "capacity", "reverse_capacity"):
        one, other = getattr(got, field), getattr(expected, field)
        assert (one is None) == (other is None)
        if one is not None:
            assert one.dtype == other.dtype
            assert not one.flags.writeable
            np.testing.assert_array_equal(one, other)


def written(tmp_path, content, name="bad.max"):
    path = tmp_path / name
    path.write_bytes(content)
    return path


# Round trips


@relaxed
@given(problem=problems(reverse=False), suffix=st.sampled_from([".max", ".max.gz"]))
def test_dimacs_round_trip(tmp_path, problem, suffix):
    path = tmp_path / f"problem{suffix}"
    write_dimacs(path, problem)
    got = read_dimacs(path)
    assert (got.source, got.sink, got.name) == (problem.source, problem.sink, "problem")
    network = problem.network
    assert_same_network(got.network, network)
    assert path.read_bytes().startswith(b"\x1f\x8b") == (suffix == ".max.gz")


@relaxed
@given(problem=problems())
def test_dimacs_writes_reverse_capacities_as_arcs_after_the_others(tmp_path, problem):
    write_dimacs(tmp_path / "x.max", problem)
    got, network = read_dimacs(tmp_path / "x.max").network, problem.network
    m = network.num_arcs
    np.testing.assert_array_equal(got.tail[:m], network.tail)
    np.testing.assert_array_equal(got.capacity[:m], network.capacity)
    reverse = network.reverse_capacity if network.reverse_capacity is not None else np.zeros(m)
    np.testing.assert_array_equal(got.capacity[m:], reverse[reverse > 0])
    np.testing.assert_array_equal(got.tail[m:], network.head[reverse > 0])
    np.testing.assert_array_equal(got.head[m:], network.tail[reverse > 0])


@relaxed
@given(problem=problems(), several=st.booleans())
def test_npz_round_trip(tmp_path, problem, several):
    if several:
        problem = MaxFlowProblem(problem.network, (problem.source,), (problem.sink, problem.sink), name="s")
    path = tmp_path / "problem.npz"
    save_npz(path, problem)
    got = load_npz(path)
    assert isinstance(got, MaxFlowProblem)
    assert (got.source, got.sink, got.name) == (problem.source, problem.sink, problem.name)
    assert_same_network(got.network, problem.network)
    save_npz(path, problem.network)
    assert_same_network(load_npz(path), problem.network)


@pytest.mark.parametrize("labels", [("a", "b\0", "ä"), (7, 10**30, -1)])
def test_npz_keeps_labels(tmp_path, labels):
    networkx = pytest.importorskip("networkx")
    graph = networkx.DiGraph()
    graph.add_nodes_from(labels)
    graph.add_edge(labels[0], labels[2], capacity=3)
    network = FlowNetwork.from_networkx(graph)
    save_npz(tmp_path / "x.npz", network)
    got = load_npz(tmp_path / "x.npz")
    assert_same_network(got, network)
    assert got.vertex(labels[2]) == 2


@pytest.mark.parametrize("labels", [("a", 1), ((0, 1), (0, 2)), (True, False), (1.5, 2.5)])
def test_npz_refuses_other_labels(tmp_path, labels):
    networkx = pytest.importorskip("networkx")
    graph = networkx.DiGraph()
    graph.add_edge(*labels, capacity=3)
    with pytest.raises(InvalidInputError, match="all are int or all are str"):
        save_npz(tmp_path / "x.npz", FlowNetwork.from_networkx(graph))
    assert not list(tmp_path.iterdir())


@relaxed
@given(problem=problems(), data=st.data())
def test_solution_round_trip(tmp_path, problem, data):
    """A flow within the capacities comes back with the same net flow between any two vertices."""
    network = problem.network
    flow = network.capacity.astype(object)
    for i, capacity in enumerate(network.capacity.tolist()):
        low = 0 if network.reverse_capacity is None else -network.reverse_capacity.tolist()[i]
        if isinstance(capacity, int):
            flow[i] = data.draw(st.integers(low // 4, capacity // 4))
        else:
            flow[i] = data.draw(st.floats(max(low, -1e300), min(capacity, 1e300)))
    flow = flow.astype(network.capacity.dtype)
    write_solution(tmp_path / "x.sol.gz", 5, network.tail, network.head, flow, comment="by hand\nof course")
    solution = read_solution(tmp_path / "x.sol.gz")
    assert solution.value == 5
    assert len(solution.flow) == np.count_nonzero(flow)
    got = flow_on_arcs(network, solution)
    assert got.dtype == flow.dtype
    assert np.all(got <= network.capacity)
    assert np.all(got >= (0 if network.reverse_capacity is None else -network.reverse_capacity))
    for v in range(network.num_vertices):
        given_out = sum(flow[network.tail == v].tolist()) - sum(flow[network.head == v].tolist())
        got_out = sum(got[network.tail == v].tolist()) - sum(got[network.head == v].tolist())
        assert got_out == pytest.approx(given_out, rel=1e-9, abs=1e-9 * np.abs(flow).sum(dtype=float))


# Reading DIMACS


@pytest.mark.skipif(not REFERENCE.is_dir(), reason="tests/data/dimacs is missing")
@pytest.mark.parametrize("path", sorted(REFERENCE.glob("*.max.gz")), ids=lambda path: path.name)
def test_reference_files(path):
    expected = json.loads((REFERENCE / "optima.json").read_text())[path.name]
    problem = read_dimacs(path)
    assert problem.network.num_vertices == expected["nodes"]
    assert problem.network.num_arcs == expected["arcs"]
    assert (problem.source, problem.sink) == (0, expected["nodes"] - 1)
    assert problem.network.capacity.dtype == np.int64
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    arcs = np.array([line.split()[1:] for line in lines if line.startswith("a")], dtype=np.int64).T
    np.testing.assert_array_equal(problem.network.tail, arcs[0] - 1)
    np.testing.assert_array_equal(problem.network.head, arcs[1] - 1)
    np.testing.assert_array_equal(problem.network.capacity, arcs[2])


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text,
        lambda text: text.replace(b"\n", b"\r\n"),
        lambda text: text.replace(b" ", b"\t \t"),
        lambda text: text.replace(b"\n", b" \n  \n\n\t"),
        lambda text: text.rstrip(b"\n"),
        lambda text: text + b"c",
        lambda text: text.replace(b"a 2", b"c in between\ncomment without blank\na 2"),
        lambda text: text.replace(b"a 2 4 2", b"a 002 4 0000000000000000000000000000000002"),
        lambda text: text.replace(b"n 1 s\n", b"s 13\n") + b"n 1 s\n",
        lambda text: gzip.compress(text),
        lambda text: gzip.compress(text[:30]) + gzip.compress(text[30:]),
    ],
)
def test_layouts_that_are_fine(tmp_path, change):
    problem = read_dimacs(written(tmp_path, change(SMALL)))
    assert (problem.source, problem.sink, problem.name) == (0, 3, "bad")
    assert problem.network.tail.tolist() == [0, 1, 0, 2]
    assert problem.network.head.tolist() == [1, 3, 2, 3]
    assert problem.network.capacity.tolist() == [3, 2, 1, 5]
    assert problem.network.capacity.dtype == np.int64


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"1.5", 1.5),
        (b"2.", 2.0),
        (b".25", 0.25),
        (b"1e3", 1000.0),
        (b"25E-1", 2.5),
        (b"inf", np.inf),
        (b"Infinity", np.inf),
        (b"0.1000000000000000055511151231257827", 0.1),
        (b"1.7976931348623157e308", 1.7976931348623157e308),
        (b"1e22", 1e22),
    ],
)
def test_float_capacities(tmp_path, text, value):
    problem = read_dimacs(written(tmp_path, SMALL.replace(b"2 4 2", b"2 4 " + text)))
    assert problem.network.capacity.tolist() == [3.0, value, 1.0, 5.0]
    assert problem.network.capacity.dtype == np.float64


def test_largest_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr("preflow.io.files.SPARE_VERTICES", 2**33)
    monkeypatch.setattr("preflow.graph.network.MANY_VERTICES", 2**33)  # whatever memory there is
    path = written(tmp_path, b"p max 5000000000 1\nn 1 s\nn 2 t\na 5000000000 1 9223372036854775807\n")
    problem = read_dimacs(path)
    assert problem.network.num_vertices == 5 * 10**9
    assert problem.network.tail.tolist() == [5 * 10**9 - 1]
    assert problem.network.capacity.tolist() == [INT64_MAX]


MALFORMED = {
    "unknown line type": (SMALL + b"x 1 2\n", 9, "unknown line type 'x'"),
    "glued letter": (SMALL.replace(b"a 1 3 1", b"a1 3 1"), 7, "unknown line type 'a1'"),
    "missing capacity": (SMALL.replace(b"1 3 1", b"1 3"), 7, "expected 'a TAIL HEAD CAPACITY', got 3 fields"),
    "only a letter": (SMALL.replace(b"a 1 3 1", b"a"), 7, "got 1 fields"),
    "extra field": (SMALL.replace(b"1 3 1", b"1 3 1 7"), 7, "got 5 fields"),
    "two lines in one": (SMALL.replace(b"1 3 1\n", b"1 3 1\r"), 7, "got 8 fields"),
    "tail no integer": (SMALL.replace(b"a 1 3", b"a 1.0 3"), 7, "tail '1.0' is not an integer"),
    "head no integer": (SMALL.replace(b"a 1 3", b"a 1 x"), 7, "head 'x' is not an integer"),
    "vertex 0": (SMALL.replace(b"a 1 3", b"a 0 3"), 7, "tail 0 is out of range: vertices are 1 to 4"),
    "vertex past n": (SMALL.replace(b"a 1 3", b"a 1 5"), 7, "head 5 is out of range"),
    "negative vertex": (SMALL.replace(b"a 1 3", b"a -1 3"), 7, "tail -1 is out of range"),
    "vertex past int64": (SMALL.replace(b"a 1 3", b"a 1 9223372036854775808"), 7, "does not fit"),
    "capacity no number": (SMALL.replace(b"1 3 1", b"1 3 1x"), 7, "capacity '1x' is not a number"),
    "capacity hexadecimal": (SMALL.replace(b"1 3 1", b"1 3 0x1"), 7, "capacity '0x1' is not a number"),
    "capacity nan": (SMALL.replace(b"1 3 1", b"1 3 nan"), 7, "capacity 'nan' is not a number"),
    "capacity with underscore": (SMALL.replace(b"1 3 1", b"1 3 1_0.5"), 7, "is not a number"),
    "capacity with plus": (SMALL.replace(b"1 3 1", b"1 3 +1"), 7, "capacity '+1' is not a number"),
    "vertex with plus": (SMALL.replace(b"a 1 3", b"a +1 3"), 7, "tail '+1' is not an integer"),
    "negative capacity": (SMALL.replace(b"1 3 1", b"1 3 -1"), 7, "capacity '-1' is less than 0"),
    "negative float": (SMALL.replace(b"1 3 1", b"1 3 -1.5"), 7, "capacity '-1.5' is less than 0"),
    "minus infinity": (SMALL.replace(b"1 3 1", b"1 3 -inf"), 7, "is less than 0"),
    "capacity past int64": (SMALL.replace(b"1 3 1", b"1 3 9223372036854775808"), 7, "64-bit integer"),
    "capacity of many digits": (SMALL.replace(b"1 3 1", b"1 3 " + b"9" * 5000), 7, "64-bit integer"),
    "capacity past float64": (SMALL.replace(b"1 3 1", b"1 3 1e999"), 7, "64-bit float"),
    "bad float behind a float": (
        SMALL.replace(b"1 2 3", b"1 2 3.5").replace(b"1 3 1", b"1 3 .e1"),
        7,
        "capacity '.e1' is not a number",
    ),
    "large integer before a float": (
        SMALL.replace(b"1 2 3", b"1 2 9007199254740993").replace(b"1 3 1", b"1 3 0.5"),
        7,
        "mixes floats with integers past 2**53",
    ),
    "large integer behind a float": (
        SMALL.replace(b"1 2 3", b"1 2 0.5").replace(b"1 3 1", b"1 3 9007199254740993"),
        7,
        "mixes floats with integers past 2**53",
    ),
    "arc before the p line": (b"c\na 1 2 3\n" + SMALL, 2, "'a' line before the p line"),
    "terminal before the p line": (b"n 1 s\n" + SMALL, 1, "'n' line before the p line"),
    "second p line": (SMALL + b"p max 4 4\n", 9, "a second p line"),
    "no p line": (b"c nothing here\n", None, "no line 'p max VERTICES ARCS'"),
    "empty": (b"", None, "the file is empty"),
    "empty gzip": (gzip.compress(b""), None, "the file is empty"),
    "p line too short": (SMALL.replace(b"max 4 4", b"max 4"), 2, "expected 'p max VERTICES ARCS'"),
    "bare p line": (SMALL.replace(b"p max 4 4", b"p"), 2, "expected 'p max VERTICES ARCS', got 1 fields"),
    "p line no integer": (SMALL.replace(b"max 4 4", b"max 4 x"), 2, "number of arcs 'x' is not an integer"),
    "p line negative": (SMALL.replace(b"max 4 4", b"max -4 4"), 2, "number of vertices '-4' is less than 0"),
    "minimum-cost problem": (SMALL.replace(b"p max", b"p min"), 5, "expected 'a TAIL HEAD LOWER CAPACITY"),
    "assignment problem": (SMALL.replace(b"p max", b"p asn"), 3, "expected 'n VERTEX', got 3 fields"),
    "problem in no ASCII": (SMALL.replace(b"p max", b"p \xff"), 2, r"not problem '\\xff'"),
    "no source": (SMALL.replace(b"n 1 s\n", b""), None, "no source: expected a line 'n VERTEX s'"),
    "no sink": (SMALL.replace(b"n 4 t\n", b""), None, "no sink: expected a line 'n VERTEX t'"),
    "two sources": (SMALL + b"n 2 s\n", 9, "a second source"),
    "two sinks": (SMALL + b"n 2 t\n", 9, "a second sink"),
    "source is sink": (SMALL.replace(b"n 4 t", b"n 1 t"), 4, "vertex 1 is both source and sink"),
    "terminal out of range": (SMALL.replace(b"n 4 t", b"n 5 t"), 4, "sink 5 is out of range"),
    "terminal no integer": (SMALL.replace(b"n 4 t", b"n t t"), 4, "sink 't' is not an integer"),
    "terminal of no kind": (SMALL.replace(b"n 4 t", b"n 4 x"), 4, "expected 's' or 't'"),
    "terminal too short": (SMALL.replace(b"n 4 t", b"n 4"), 4, "expected 'n VERTEX s' or 'n VERTEX t'"),
    "seed too long": (SMALL + b"s 1 2\n", 9, "expected 's SEED', got 3 fields"),
    "too many arcs": (SMALL.replace(b"max 4 4", b"max 4 3"), 8, "more than the 3 lines"),
    "too few arcs": (SMALL.replace(b"max 4 4", b"max 4 5"), 2, "5 arcs were announced, the file has 4"),
    "absurdly many arcs": (SMALL.replace(b"max 4 4", b"max 4 " + str(INT64_MAX).encode()), 2, "announced"),
    "truncated gzip": (gzip.compress(SMALL)[:-12], None, "truncated or damaged gzip file"),
    "damaged gzip": (gzip.compress(SMALL)[:20] + bytes(20), None, "truncated or damaged gzip file"),
    "gzip magic only": (b"\x1f\x8b", None, "truncated or damaged gzip file"),
    "binary": (bytes(range(256)), None, "text is expected, and this is a binary file"),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_dimacs(tmp_path, case):
    content, line, message = MALFORMED[case]
    path = written(tmp_path, content)
    with pytest.raises(ParseError) as caught:
        read_dimacs(path)
    assert caught.value.line == line
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"{path}:")
    assert len(str(caught.value)) < len(str(path)) + 200


@pytest.mark.parametrize("read", [read_dimacs, read_solution, load_npz])
def test_unreadable_files(tmp_path, read):
    with pytest.raises(ParseError, match="cannot be read: No such file"):
        read(tmp_path / "missing")
    with pytest.raises(ParseError, match="cannot be read: Is a directory"):
        read(tmp_path)


@pytest.mark.parametrize(
    "line", [b"a 1 " + b"9" * 200_000, b"a 1 2 " + b"9" * 200_000 + b".x", b"c" * 200_000]
)
def test_long_lines_are_read_in_linear_time(tmp_path, line):
    with pytest.raises(ParseError):
        read_dimacs(written(tmp_path, b"p max 2 1\nn 1 s\nn 2 t\n" + line))


# Bytes flipped at random

DICTIONARY = [
    b"",
    b"\n",
    b" ",
    b"a",
    b"n",
    b"p max",
    b"c",
    b"-",
    b".",
    b"e",
    b"inf",
    b"9" * 25,
    b"\0",
    b"\xff",
]


@st.composite
def mutations(draw, content):
    data = bytearray(content)
    for _ in range(draw(st.integers(1, 4))):
        begin = draw(st.integers(0, len(data)))
        end = begin + draw(st.integers(0, 3))
        data[begin:end] = draw(st.one_of(st.sampled_from(DICTIONARY), st.binary(max_size=3)))
    return bytes(data)


@settings(relaxed, max_examples=400)
@given(content=st.one_of(mutations(SMALL), mutations(SMALL.replace(b"1 3 1", b"1 3 1.5")), st.binary()))
def test_mutated_dimacs_parses_or_raises_parse_error(tmp_path, content):
    path = written(tmp_path, content)
    try:
        problem = read_dimacs(path)
    except ParseError:
        return
    write_dimacs(path, problem)
    assert_same_network(read_dimacs(path).network, problem.network)


@settings(relaxed, max_examples=150)
@given(content=mutations(SMALL.replace(b"1 3 1", b"1 3 1.5")))
def test_kernel_stays_within_its_arrays(tmp_path, content):
    """The same as plain Python, where an index out of range is an error, and with the same result."""
    path = written(tmp_path, content)

    def outcome():
        try:
            problem = read_dimacs(path)
        except ParseError as error:
            return str(error)
        network = problem.network
        return network.tail.tolist(), network.head.tolist(), network.capacity.tolist()

    compiled = outcome()
    with pytest.MonkeyPatch.context() as patch, np.errstate(over="ignore"):
        for name in ("skip_blanks", "skip_token", "read_digits", "read_records"):
            patch.setattr(record_reader, name, getattr(record_reader, name).py_func)
        assert outcome() == compiled


@settings(relaxed, max_examples=150)
@given(data=st.data())
def test_mutated_gzip_parses_or_raises_parse_error(tmp_path, data):
    path = written(tmp_path, data.draw(mutations(gzip.compress(SMALL, mtime=0))))
    try:
        read_dimacs(path)
    except ParseError:
        return


@settings(relaxed, max_examples=150)
@given(data=st.data())
def test_mutated_npz_loads_or_raises_parse_error(tmp_path, data):
    path = tmp_path / "x.npz"
    network = FlowNetwork.from_arrays([0, 1], [1, 2], [1, 2], reverse_capacity=[0, 1])
    save_npz(path, MaxFlowProblem(network, 0, (1, 2)))
    path.write_bytes(data.draw(mutations(path.read_bytes())))
    try:
        load_npz(path)
    except ParseError:
        return


@settings(relaxed, max_examples=200)
@given(content=mutations(b"c text\ns 12\nf 1 2 5\nf 2 3 -5\nf 1 3 7\n"))
def test_mutated_solution_parses_or_raises_parse_error(tmp_path, content):
    path = written(tmp_path, content)
    try:
        read_solution(path)
    except ParseError:
        return


# Writing


def test_comment_lines(tmp_path):
    problem = MaxFlowProblem(FlowNetwork.from_arrays([0], [1], [3]), 0, 1, name="named")
    path = tmp_path / "x.max"
    write_dimacs(path, problem)
    assert path.read_text().startswith("c named\np max 2 1\n")
    write_dimacs(path, problem, comment="two\n\r\nlines\rp max \udcff")
    assert path.read_bytes().startswith(b"c two\nc\nc lines\nc p max \xff\np max 2 1\n")
    assert read_dimacs(path).network.num_arcs == 1


def test_compressed_output_is_reproducible(tmp_path):
    problem = MaxFlowProblem(FlowNetwork.from_arrays([0], [1], [3]), 0, 1)
    write_dimacs(tmp_path / "a.max.gz", problem)
    write_dimacs(tmp_path / "b.max.gz", problem)
    assert (tmp_path / "a.max.gz").read_bytes() == (tmp_path / "b.max.gz").read_bytes()


def test_chunks_join(tmp_path):
    rng = np.random.default_rng(5)
    m = 200_001
    network = FlowNetwork.from_arrays(*rng.integers(0, 1000, (2, m)), rng.integers(0, INT64_MAX, m))
    problem = MaxFlowProblem(network, 0, 1)
    write_dimacs(tmp_path / "x.max", problem)
    assert_same_network(read_dimacs(tmp_path / "x.max").network, network)


@pytest.mark.parametrize(
    ("source", "sink", "message"),
    [
        ((0, 1), 2, "have one source, this problem has 2"),
        (0, (1, 2), "have one sink, this problem has 2"),
        (0, 3, "vertex 3 is out of range"),
        (1, (1,), "both source and sink"),
    ],
)
def test_terminals_that_dimacs_cannot_say(tmp_path, source, sink, message):
    network = FlowNetwork.from_arrays([0, 1], [1, 2], [3, 4])
    with pytest.raises(InvalidInputError, match=message):
        write_dimacs(tmp_path / "x.max", MaxFlowProblem(network, source, sink))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["x.max", "x.max.gz", "x.npz"])
def test_failed_write_leaves_the_old_file(tmp_path, monkeypatch, name):
    problem = MaxFlowProblem(FlowNetwork.from_arrays([0], [1], [3]), 0, 1)
    path = written(tmp_path, b"precious", name)
    write = save_npz if name == "x.npz" else write_dimacs

    def fails(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fails)
    with pytest.raises(InvalidInputError, match=f"{name}: cannot be written: No space left"):
        write(path, problem)
    assert path.read_bytes() == b"precious"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("write", [save_npz, write_dimacs])
def test_unwritable_places(tmp_path, write):
    problem = MaxFlowProblem(FlowNetwork.from_arrays([0], [1], [3]), 0, 1)
    for path in (tmp_path / "no" / "x", tmp_path, written(tmp_path, b"") / "x"):
        with pytest.raises(InvalidInputError, match="cannot be written"):
            write(path, problem)
    assert [path.name for path in tmp_path.iterdir()] == ["bad.max"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is missing")
def test_devices_are_written_directly():
    problem = MaxFlowProblem(FlowNetwork.from_arrays([0], [1], [3]), 0, 1)
    write_dimacs("/dev/null", problem)
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    with pytest.raises(InvalidInputError, match="No space left on device"):
        write_dimacs("/dev/full", problem)


def test_permissions_and_links(tmp_path):
    problem = MaxFlowProblem(FlowNetwork.from_arrays([0], [1], [3]), 0, 1)
    path, link = tmp_path / "x.max", tmp_path / "link.max"
    write_dimacs(path, problem)
    reference = written(tmp_path, b"", "reference")
    assert path.stat().st_mode == reference.stat().st_mode
    path.chmod(0o600)
    link.symlink_to(path)
    write_dimacs(link, problem, comment="over the link")
    assert link.is_symlink()
    assert path.read_text().startswith("c over the link")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


# Solutions


def solution_of(lines, dtype=np.int64):
    tail, head, flow = zip(*lines, strict=True)
    return FlowSolution(0, np.array(tail), np.array(head), np.array(flow, dtype=dtype))


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([(0, 1, 2)], [2, 0, 0]),
        ([(0, 1, 6)], [3, 3, 0]),
        ([(0, 1, 2), (0, 1, 4)], [3, 3, 0]),
        ([(0, 1, 10)], [3, 5, -2]),
        ([(0, 1, 10), (1, 0, 1)], [3, 5, -1]),
        ([(1, 0, -10)], [3, 5, -2]),
        ([(1, 0, 5)], [-1, 0, 4]),
        ([(1, 0, 0)], [0, 0, 0]),
    ],
)
@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_flow_is_spread_over_parallel_and_reverse_arcs(lines, expected, dtype):
    """Two arcs 0 -> 1 of 3 and 5, the first with 1 backwards; one arc 1 -> 0 of 4 with 2 backwards."""
    network = FlowNetwork.from_arrays([0, 0, 1], [1, 1, 0], [3, 5, 4], reverse_capacity=[1, 0, 2])
    got = flow_on_arcs(network, solution_of(lines, dtype))
    assert got.dtype == dtype
    # The arc 1 -> 0 comes before the reverse capacity of the first: 4 and then 1.
    assert got.tolist() == expected


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([(0, 1, 2), (2, 1, 1)], "a flow from vertex 3 to vertex 2, the network no such arc"),
        ([(1, 0, 0)], "no such arc"),
        ([(0, 1, 2), (0, 1, 2)], "sends 4 from vertex 1 to vertex 2, the capacity is 3"),
        ([(1, 2, INT64_MAX), (1, 2, INT64_MAX)], "the capacity is 4"),
        ([(0, 7, 1)], "names vertex 8, the network has 3 vertices"),
    ],
)
def test_flow_that_does_not_fit(lines, message):
    network = FlowNetwork.from_arrays([0, 1], [1, 2], [3, 4])
    with pytest.raises(InvalidInputError, match=message):
        flow_on_arcs(network, solution_of(lines))


def test_flow_over_float_capacities_that_sum_with_rounding():
    capacity = np.full(10, 0.1)
    network = FlowNetwork.from_arrays(np.zeros(10, int), np.ones(10, int), capacity)
    flow = flow_on_arcs(network, solution_of([(0, 1, 1.0)], float))
    assert np.all(flow <= capacity)
    with pytest.raises(InvalidInputError, match="the capacity is"):
        flow_on_arcs(network, solution_of([(0, 1, 1.001)], float))


def test_flow_over_infinite_capacity():
    network = FlowNetwork.from_arrays([0, 0], [1, 1], [np.inf, 1.0])
    assert flow_on_arcs(network, solution_of([(0, 1, 7.0), (0, 1, 1.0)], float)).tolist() == [8.0, 0.0]


def test_many_lines_of_one_pair_take_linear_time():
    k = 200_000
    network = FlowNetwork.from_arrays(np.zeros(k, int), np.ones(k, int), 1)
    lines = FlowSolution(0, np.zeros(k, int), np.ones(k, int), np.ones(k, int))
    assert np.all(flow_on_arcs(network, lines) == 1)


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        (b"", None, "the file is empty"),
        (b"c\nf 1 2 3\n", None, "no line 's VALUE'"),
        (b"s 1\ns 1\n", 2, "a second s line"),
        (b"s\n", 1, "expected 's VALUE', got 1 fields"),
        (b"s one\n", 1, "value 'one' is not a number"),
        (b"s inf\n", 1, "value 'inf' is not finite"),
        (b"s 1\nf 1 2\n", 2, "expected 'f TAIL HEAD FLOW', got 3 fields"),
        (b"s 1\nf 0 2 1\n", 2, "tail 0 is out of range"),
        (b"s 1\nf 1 2 inf\n", 2, "flow 'inf' is not finite"),
        (b"s 1\nf 1 2 0.5\nf 1 2 x\n", 3, "flow 'x' is not a number"),
        (b"s 1\nf 1 2 -9007199254740993\nf 1 2 0.5\n", 3, "mixes floats"),
        (b"s 1\na 1 2 3\n", 2, "unknown line type 'a'"),
    ],
)
def test_malformed_solution(tmp_path, content, line, message):
    with pytest.raises(ParseError) as caught:
        read_solution(written(tmp_path, content, "bad.sol"))
    assert caught.value.line == line
    assert message in str(caught.value)


def test_solution_numbers(tmp_path):
    path = tmp_path / "x.sol"
    write_solution(path, np.float64(0.1), [0, 1], [1, 0], [np.float64(0.1), -2.0])
    assert path.read_text() == "s 0.1\nf 1 2 0.1\nf 1 2 2.0\n"
    write_solution(path, np.int64(INT64_MAX), [0], [1], [INT64_MAX])
    solution = read_solution(path)
    assert (solution.value, solution.flow.tolist()) == (INT64_MAX, [INT64_MAX])
    write_solution(path, 0, [], [], [])
    assert repr(read_solution(path)) == "FlowSolution(value 0, 0 arcs with flow)"


@pytest.mark.parametrize(
    ("tail", "head", "flow"),
    [
        ([0], [1], [1, 2]),
        ([0], [1], ["x"]),
        ([0], [-1], [1]),
        ([0], [1], [np.nan]),
        ([0], [1], [2**63]),
        ([0], [1, 2], [1]),
    ],
)
def test_solutions_that_are_not_written(tmp_path, tail, head, flow):
    with pytest.raises(InvalidInputError):
        write_solution(tmp_path / "x.sol", 1, tail, head, flow)
    assert not list(tmp_path.iterdir())


# Archives


def archive(tmp_path, header, **arrays):
    path = tmp_path / "x.npz"
    np.savez(path, header=np.frombuffer(json.dumps(header).encode(), np.uint8), **arrays)
    return path


@pytest.mark.parametrize(
    ("header", "arrays", "message"),
    [
        ({"num_vertices": 1}, {}, "vertex 1 is out of range"),
        ({}, {"capacity": np.array([-1])}, "capacity is negative"),
        ({}, {"capacity": np.array([object()])}, "capacity: expected numbers, got dtype object"),
        ({"version": 2}, {}, "version 1, got 2"),
        ({"num_vertices": "2"}, {}, "num_vertices must be an integer"),
        ({"labels": ["a", "a"]}, {}, "two vertices have the label 'a'"),
        ({"source": 2, "sink": 1, "name": ""}, {}, "source 2 is no vertex of the network"),
        ({"source": 0}, {}, "sink None is no vertex of the network"),
        ({"source": 0, "sink": True}, {}, "sink True is no vertex of the network"),
        ({"labels": {"a": 1, "b": 2}}, {}, "labels are a list"),
        ({"labels": [[0], 1]}, {}, "labels are a list"),
    ],
)
def test_malformed_archives(tmp_path, header, arrays, message):
    whole = {"format": "preflow network", "version": 1, "num_vertices": 2} | header
    entries = {"tail": np.array([0]), "head": np.array([1]), "capacity": np.array([1])} | arrays
    with pytest.raises(ParseError, match=message):
        load_npz(archive(tmp_path, whole, **entries))


def test_files_that_are_no_archives(tmp_path):
    with pytest.raises(ParseError, match="no NumPy archive"):
        load_npz(written(tmp_path, SMALL))
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as other:
        other.writestr("readme", "nothing")
    with pytest.raises(ParseError, match="no network archive of preflow"):
        load_npz(tmp_path / "x.zip")


def test_what_is_saved_stays(tmp_path: Path) -> None:
    """Labels of terminals, and that a capacity was larger than it could be stored."""
    labelled = FlowNetwork.from_edges([("a", "b", 3), ("b", "c", 2)])
    save_npz(tmp_path / "x.npz", MaxFlowProblem(labelled, ("a", "b"), "c"))
    problem = load_npz(tmp_path / "x.npz")
    assert isinstance(problem, MaxFlowProblem)
    assert (problem.source, problem.sink) == (("a", "b"), "c")
    assert preflow.max_flow(problem).value == 2
    save_npz(tmp_path / "x.npz", FlowNetwork.from_arrays([0], [1], [2**70]))
    network = load_npz(tmp_path / "x.npz")
    with pytest.raises(CapacityOverflowError):
        preflow.max_flow(network, 0, 1)
    with pytest.raises(InvalidInputError, match="larger than"):
        preflow.write_dimacs(tmp_path / "x.max", MaxFlowProblem(network, 0, 1))


def test_other_objects_are_refused(tmp_path: Path) -> None:
    for other in (preflow.UndirectedGraph.from_arrays([0], [1], [2]), 3):
        with pytest.raises(InvalidInputError, match="is saved, not"):
            save_npz(tmp_path / "x.npz", other)
    with pytest.raises(InvalidInputError, match="is written, not"):
        preflow.write_dimacs(tmp_path / "x.max", FlowNetwork.from_arrays([0], [1], [2]))
    labelled = FlowNetwork.from_edges([("a", "b", 3), ("b", "c", 2)])
    preflow.write_dimacs(tmp_path / "x.max", MaxFlowProblem(labelled, "b", "c"))
    assert "n 2 s\nn 3 t\n" in (tmp_path / "x.max").read_text()


class TestFirstLineOfSizes:
    """A first line with the numbers of vertices and edges is not an edge."""

    @pytest.mark.parametrize(
        "text",
        [
            "4 3\n1 2\n1 3\n1 4\n",
            "4 3\n0 1\n0 2\n0 3\n",
            "# a star\n7 4\n1 2\n3 4\n4 5\n6 7\n",
            "6 3\n1 2\n1 3\n1 4\n",
            "3 2\n0 1\n1 0\n1 2\n2 1\n",
            "3 3 2\n1 2 9\n2 3 4\n",
        ],
    )
    def test_is_an_error(self, tmp_path: Path, text: str) -> None:
        path = tmp_path / "graph.txt"
        path.write_text(text)
        for read in (read_edge_list, read_undirected_graph):
            with pytest.raises(ParseError, match=r"the number of vertices and that of the lines below"):
                read(path)
        lines = [line for line in text.splitlines() if not line.startswith("#")]
        path.write_text("\n".join(["# " + lines[0], *lines[1:]]))
        assert read_edge_list(path).num_edges == len(lines) - 1
        path.write_text("\n".join([*lines[1:], lines[0]]))
        assert read_edge_list(path).num_edges == len(lines)

    @pytest.mark.parametrize("text", ["", "2 1\n", "4 3\n1 2\n1 4\n", "3 3\n0 2\n0 3\n1 4\n"])
    def test_other_lists_are_read(self, tmp_path: Path, text: str) -> None:
        path = tmp_path / "graph.txt"
        path.write_text(text)
        assert read_edge_list(path).num_edges == text.count("\n")

    @pytest.mark.parametrize(
        "text", ["5 2\n1 2 9\n2 4 4\n", "5 5 2\n1 2\n2 4\n", "5,4\n1,2,9\n2,1,9\n2,4,4\n4,2,4\n"]
    )
    def test_what_cannot_be_an_edge_is_read_as_sizes(self, tmp_path: Path, text: str) -> None:
        path = tmp_path / "graph.txt"
        path.write_text(text)
        graph, first = read_undirected_graph(path)
        assert (graph.num_vertices, first, graph.num_edges) == (5, 1, text.count("\n") - 1)
        assert graph.tail[0] == 0
        assert (graph.weight is None) == (text[1] == " " == text[3])
        assert read_edge_list(path).shape == (6, 6)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("4 3\n1 2 9\n", "1: 2 fields, and not the sizes, 'VERTICES 1', while the next line has 3"),
            ("3 1\n1 4 9\n", "1: 3 vertices were announced, an edge has 4"),
            ("0 1\n0 2\n1 2 3\n", "3: expected 2 fields, as in line 1, got 3"),
            ("0 1 {}\n", "1: '{}' in field 3 is not a number"),
        ],
    )
    def test_neither_edges_nor_sizes(self, tmp_path: Path, text: str, message: str) -> None:
        path = tmp_path / "graph.txt"
        path.write_text(text)
        with pytest.raises(ParseError, match=re.escape(f"graph.txt:{message}")):
            read_undirected_graph(path)
