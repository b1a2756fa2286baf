"""Problems in the text format of the DIMACS implementation challenges, plain or gzip.

A maximum flow problem, a minimum-cost flow problem and an assignment read::

    c comment                  c comment                           c comment
    p max VERTICES ARCS        p min VERTICES ARCS                 p asn VERTICES ARCS
    n VERTEX s                 n VERTEX SUPPLY                     n ROW
    n VERTEX t
    a TAIL HEAD CAPACITY       a TAIL HEAD LOWER CAPACITY COST     a ROW COLUMN COST

with vertices numbered from 1. A negative supply is a demand; vertices without an ``n`` line have none. The
vertices of an assignment without an ``n`` line are columns. A graph for shortest paths and one to colour
read::

    p sp VERTICES ARCS         p edge VERTICES EDGES
    a TAIL HEAD LENGTH         e VERTEX VERTEX

Beyond the format's definition, numbers may be
floats and capacities ``inf``, and a line ``s SEED`` is ignored in a maximum flow problem, which the
challenge's own generator of acyclic dense networks writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..errors import InvalidInputError
from ..graph.cost_network import CostNetwork, lower_of, rows_of_assignment, undirected_arcs
from ..graph.network import EXACT_FLOAT, INT64_MAX, FlowNetwork, MaxFlowProblem
from ..graph.undirected import UndirectedGraph
from .files import check_text, check_vertices, checked_path, of_text, parsing, read_bytes, replacing
from .record_reader import Line, Number, RecordReader, announced_bytes, shown
from .record_writer import write_comment, write_records

#: The problems, by the name on the ``p`` line, and the numbers after tail and head on their ``a`` lines.
PROBLEM_KINDS = {
    "max": (Number("capacity", 0, finite=False),),
    "min": (Number("lower", -INT64_MAX), Number("capacity", 0, finite=False), Number("cost", -INT64_MAX)),
    "asn": (Number("cost", -INT64_MAX),),
    "sp": (Number("length", -INT64_MAX),),
}
#: The kinds of graphs to colour, which are undirected; their ``e`` lines have no numbers.
COLOURING_KINDS = dict.fromkeys(("edge", "col"), ())


class ProblemFile(NamedTuple):
    """The lines of a file."""

    kind: str  #: the name on the ``p`` line
    num_vertices: int
    reader: RecordReader  #: it has the arcs
    nodes: list[Line]  #: the ``n`` lines


def read_dimacs(path: str | Path) -> MaxFlowProblem | CostNetwork:
    r"""Read a problem in DIMACS format, in time linear in the size of the file.

    Parameters
    ----------
    path : str or Path
        Plain or gzip, whatever its name.

    Returns
    -------
    MaxFlowProblem or CostNetwork
        A network with its supplies for a minimum-cost flow problem, and for an assignment, of which each row
        sends 1 to a column. A network without supplies and with infinite capacities for shortest paths, whose
        lengths are costs. Arcs in the order of the file. Numbers are int64; those of a field are float64
        if one of them is not an integer. The name of a maximum flow problem is the file's, without ``.gz``
        and ``.max``.

    Raises
    ------
    ParseError
        The file cannot be read or is malformed; says on which line and what was expected. It may announce
        2**22 vertices, and 256 more for each arc.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "two-paths.max"
    >>> lines = ["p max 4 4", "n 1 s", "n 4 t", "a 1 2 3", "a 2 4 2", "a 1 3 1", "a 3 4 5"]
    >>> _ = path.write_text("\n".join(lines))
    >>> read_dimacs(path)
    MaxFlowProblem('two-paths': 4 vertices, 4 arcs, source 0, sink 3)
    >>> path = Path(tempfile.mkdtemp()) / "two-arcs.min"
    >>> _ = path.write_text("\n".join(["p min 2 2", "n 1 3", "n 2 -3", "a 1 2 0 2 7", "a 1 2 0 2 9"]))
    >>> read_dimacs(path).supply.tolist()
    [3, -3]
    """
    with parsing(path, "DIMACS problem"):
        return _problem(path, parse_problem(path, read_bytes(path, announced_bytes), tuple(PROBLEM_KINDS)))


def read_max_flow(path: str | Path) -> MaxFlowProblem:
    """Read a maximum flow problem as :func:`read_dimacs` does; any other is a ParseError."""
    with parsing(path, "DIMACS problem"):
        file = parse_problem(path, read_bytes(path, announced_bytes), ("max",))
        return _max_flow(file.reader, file.num_vertices, file.nodes, path)


def read_min_cost_flow(path: str | Path) -> CostNetwork:
    """Read a minimum-cost flow problem or an assignment as :func:`read_dimacs` does.

    Any other is a ParseError.
    """
    with parsing(path, "DIMACS problem"):
        file = parse_problem(path, read_bytes(path, announced_bytes), ("min", "asn"))
        return _assignment(file) if file.kind == "asn" else _min_cost_flow(file)


def write_dimacs(
    path: str | Path, problem: MaxFlowProblem | CostNetwork, *, comment: str | None = None
) -> None:
    """Write a problem in DIMACS format, in O(m).

    Arcs keep their order. A reverse capacity is written as a second arc, and so is the other direction of an
    undirected arc; these arcs follow all others. Floats are written so that they read back as the same
    floats. Vertex labels are not written.

    Parameters
    ----------
    path : str or Path
        Compressed if the name ends in ``.gz``. The file appears, or replaces an older one, only once it is
        complete. A network with costs is written as an assignment if the name ends in ``.asn`` or
        ``.asn.gz``, otherwise as a minimum-cost flow problem.
    problem : MaxFlowProblem or CostNetwork
        A maximum flow problem with one source and one sink.
    comment : str, optional
        Written as ``c`` lines; by default the problem's name.

    Raises
    ------
    InvalidInputError
        The problem has several sources or sinks, it is no assignment and the name ends in ``.asn``, or the
        file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "edge.max"
    >>> network = FlowNetwork.from_arrays([0], [1], [3], reverse_capacity=[2])
    >>> write_dimacs(path, MaxFlowProblem(network, 0, 1), comment="one edge")
    >>> print(path.read_text(), end="")
    c one edge
    p max 2 2
    n 1 s
    n 2 t
    a 1 2 3
    a 2 1 2
    """
    path = checked_path(path)
    if isinstance(problem, CostNetwork):
        if path.name.endswith((".asn", ".asn.gz")):
            _write_assignment(path, problem, comment or "")
        else:
            _write_min_cost_flow(path, problem, comment or "")
        return
    if not isinstance(problem, MaxFlowProblem):
        raise InvalidInputError(
            f"a MaxFlowProblem, which has a source and a sink, or a CostNetwork is written, not a "
            f"{type(problem).__name__}"
        )
    network = problem.network.on_host()
    if network.saturated:
        raise InvalidInputError("a capacity is larger than 2**63 - 1, and was not kept")
    source = _terminal(network, problem.source, "source")
    sink = _terminal(network, problem.sink, "sink")
    if source == sink:
        raise InvalidInputError(f"vertex {source} is both source and sink")
    reverse = network.reverse_capacity
    backward = np.flatnonzero(reverse) if reverse is not None else np.zeros(0, dtype=np.int64)
    with replacing(path, compress=path.suffix == ".gz") as file:
        write_comment(file, problem.name if comment is None else comment)
        header = f"p max {network.num_vertices} {network.num_arcs + len(backward)}\n"
        file.write(f"{header}n {source + 1} s\nn {sink + 1} t\n".encode())
        write_records(file, "a", network.tail, network.head, network.capacity)
        if reverse is not None:
            write_records(file, "a", network.head[backward], network.tail[backward], reverse[backward])


def parse_problem(path: str | Path, data: bytes, kinds: Sequence[str]) -> ProblemFile:
    """Read the lines of a problem of one of the `kinds`."""
    check_text(path, data)
    data = of_text(data)
    reader = RecordReader(path, data, b"a" if "max" in kinds or "asn" in kinds else b"e")
    problem: Line | None = None
    kind = kinds[0]
    num_vertices = num_arcs = 0
    nodes: list[Line] = []
    while (line := reader.next_line()) is not None:
        if line.fields[0] == b"p":
            if problem is not None:
                reader.fail(line.position, "a second p line")
            problem = line
            kind, num_vertices, num_arcs = _problem_line(reader, line, kinds)
            reader.expect({**PROBLEM_KINDS, **COLOURING_KINDS}[kind], num_vertices, num_arcs)
        elif line.fields[0] in (b"a", b"n") and problem is None:
            reader.fail(line.position, f"{shown(line.fields[0])} line before the p line")
        elif line.fields[0] == b"n":
            nodes.append(line)
        elif line.fields[0] == b"s" and (kind == "max" or problem is None):
            _check_seed(reader, line)
        else:
            letter = shown(line.fields[0])
            is_matrix = line.fields[0].lower().startswith(b"%%matrixmarket")
            hint = "" if len(line.fields[0]) == 1 and line.fields[0].isalpha() else "; lists of arcs are .txt"
            hint = "; this is a Matrix Market file, which `preflow match` reads" if is_matrix else hint
            reader.fail(line.position, f"unknown line type {letter}: expected 'c', 'p', 'n' or 'a'{hint}")
    if problem is None:
        wanted = " or ".join(f"'p {kind} VERTICES ARCS'" for kind in kinds)
        reader.fail(None, f"the file has no line {wanted}" if reader.data else "the file is empty")
    if reader.num_records < num_arcs:
        reader.fail(problem.position, f"{num_arcs} arcs were announced, the file has {reader.num_records}")
    entries = num_arcs + (len(nodes) if kind in ("min", "asn") else 0)
    check_vertices(path, reader.line_number(problem.position), num_vertices, entries)
    return ProblemFile(kind, num_vertices, reader, nodes)


def rows_of_file(file: ProblemFile) -> NDArray[np.bool_]:
    """Return which vertices of an assignment are rows; check that arcs lead from rows to columns."""
    reader = file.reader
    is_row = np.zeros(file.num_vertices, dtype=bool)
    for line in file.nodes:
        if len(line.fields) != 2:
            reader.fail(line.position, f"expected 'n VERTEX', got {len(line.fields)} fields")
        vertex = reader.vertex(line.position, line.fields[1], "vertex")
        if is_row[vertex]:
            reader.fail(line.position, f"vertex {vertex + 1} has two n lines")
        is_row[vertex] = True
    tail, head = reader.tail, reader.head
    wrong = ~is_row[tail] | is_row[head]
    if wrong.any():
        arc = int(wrong.argmax())
        message = f"the arc from {tail[arc] + 1} to {head[arc] + 1} does not lead from a row to a column"
        reader.fail_record(arc, message)
    return is_row


def _problem(path: str | Path, file: ProblemFile) -> MaxFlowProblem | CostNetwork:
    if file.kind == "max":
        return _max_flow(file.reader, file.num_vertices, file.nodes, path)
    if file.kind == "sp":
        reader, size = file.reader, file.num_vertices
        ends = reader.tail, reader.head
        return CostNetwork.from_arrays(*ends, capacity=np.inf, cost=reader.numbers(0), num_vertices=size)
    return _assignment(file) if file.kind == "asn" else _min_cost_flow(file)


def parse_colouring(data: bytes, path: str | Path) -> UndirectedGraph:
    """Return the graph in the content of a file with ``p edge``; ParseError if it is malformed."""
    file = parse_problem(path, data, tuple(COLOURING_KINDS))
    return UndirectedGraph.from_arrays(file.reader.tail, file.reader.head, num_vertices=file.num_vertices)


def _problem_line(reader: RecordReader, line: Line, kinds: Sequence[str]) -> tuple[str, int, int]:
    kind = line.fields[1].decode("ascii", "replace") if len(line.fields) > 1 else kinds[0]
    if kind not in kinds:
        known = " or ".join(f"'p {name} VERTICES ARCS'" for name in kinds)
        readers = {
            "sp": "shortest paths, which preflow.read_dimacs reads",
            **dict.fromkeys(COLOURING_KINDS, "a graph to colour, which `preflow match --general` reads"),
        }
        what = f", {readers[kind]}" if kind in readers else ""
        reader.fail(line.position, f"expected {known}, not problem {shown(line.fields[1])}{what}")
    if len(line.fields) != 4:
        reader.fail(line.position, f"expected 'p {kind} VERTICES ARCS', got {len(line.fields)} fields")
    num_vertices = reader.integer(line.position, line.fields[2], Number("number of vertices", 0))
    num_arcs = reader.integer(line.position, line.fields[3], Number("number of arcs", 0))
    return kind, num_vertices, num_arcs


def _check_seed(reader: RecordReader, line: Line) -> None:
    if len(line.fields) != 2:
        reader.fail(line.position, f"expected 's SEED', got {len(line.fields)} fields")
    reader.integer(line.position, line.fields[1], Number("seed", -INT64_MAX))


def _max_flow(reader: RecordReader, num_vertices: int, nodes: list[Line], path: str | Path) -> MaxFlowProblem:
    roles = {b"s": "source", b"t": "sink"}
    terminals: dict[str, int] = {}
    for line in nodes:
        if len(line.fields) != 3:
            reader.fail(
                line.position, f"expected 'n VERTEX s' or 'n VERTEX t', got {len(line.fields)} fields"
            )
        role = roles.get(line.fields[2])
        if role is None:
            reader.fail(line.position, f"expected 's' or 't' behind the vertex, got {shown(line.fields[2])}")
        if role in terminals:
            reader.fail(line.position, f"a second {role}")
        vertex = reader.vertex(line.position, line.fields[1], role)
        if vertex in terminals.values():
            reader.fail(line.position, f"vertex {vertex + 1} is both source and sink")
        terminals[role] = vertex
    for letter, role in roles.items():
        if role not in terminals:
            reader.fail(None, f"no {role}: expected a line 'n VERTEX {letter.decode()}'")
    network = FlowNetwork.from_arrays(reader.tail, reader.head, reader.numbers(0), num_vertices=num_vertices)
    name = Path(path).name.removesuffix(".gz").removesuffix(".max")
    return MaxFlowProblem(network, terminals["source"], terminals["sink"], name=name)


def _min_cost_flow(file: ProblemFile) -> CostNetwork:
    reader = file.reader
    supply = _small_supplies(file)
    if supply is None:
        supply = _supplies(file)
    lower, capacity = reader.numbers(0), reader.numbers(1)
    above = lower > capacity
    if above.any():
        arc = int(above.argmax())
        reader.fail_record(arc, f"the lower bound {lower[arc]} is above the capacity {capacity[arc]}")
    return CostNetwork.from_arrays(
        reader.tail,
        reader.head,
        capacity=capacity,
        cost=reader.numbers(2),
        lower=lower,
        supply=supply,
        num_vertices=file.num_vertices,
    )


def _small_supplies(file: ProblemFile) -> Array | None:
    """Return the supplies if all are well-formed, distinct and of at most 18 digits; most files are so."""
    fields = [line.fields for line in file.nodes]
    if any(len(each) != 3 or len(each[1]) > 18 or len(each[2]) > 18 for each in fields):
        return None
    texts, amounts = [each[1] for each in fields], [each[2] for each in fields]
    if fields and not (b"".join(texts) + b"".join(amounts).replace(b"-", b"")).isdigit():
        return None
    try:
        vertex = np.array(list(map(int, texts)), dtype=np.int64) - 1
        amount = np.array(list(map(int, amounts)), dtype=np.int64)
    except ValueError:
        return None
    supply = np.zeros(file.num_vertices, dtype=np.int64)
    if len(vertex) and (int(vertex.min()) < 0 or int(vertex.max()) >= file.num_vertices):
        return None
    seen = np.zeros(file.num_vertices, dtype=bool)
    seen[vertex] = True
    if np.count_nonzero(seen) < len(vertex):
        return None
    supply[vertex] = amount
    return supply


def _supplies(file: ProblemFile) -> Array:
    """Return the supplies, line by line; says what is wrong with one."""
    reader = file.reader
    field = Number("supply", -INT64_MAX)
    supplies: list[int | float] = [0] * file.num_vertices
    seen = np.zeros(file.num_vertices, dtype=bool)
    for line in file.nodes:
        if len(line.fields) != 3:
            reader.fail(line.position, f"expected 'n VERTEX SUPPLY', got {len(line.fields)} fields")
        vertex = reader.vertex(line.position, line.fields[1], "vertex")
        if seen[vertex]:
            reader.fail(line.position, f"vertex {vertex + 1} has two n lines")
        seen[vertex] = True
        supplies[vertex] = reader.number(line.position, line.fields[2], field)
    supply = np.array(supplies, dtype=np.int64 if all(type(x) is int for x in supplies) else np.float64)
    if supply.dtype.kind == "f" and any(type(x) is int and abs(x) > EXACT_FLOAT for x in supplies):
        reader.fail(None, "the supplies mix floats with integers past 2**53, which float64 cannot hold")
    return supply


def _assignment(file: ProblemFile) -> CostNetwork:
    is_row = rows_of_file(file)
    rows, columns = np.count_nonzero(is_row), np.count_nonzero(~is_row)
    if rows != columns:
        file.reader.fail(
            None,
            f"{rows} rows and {columns} columns: a flow needs as many columns as rows; "
            "`preflow assign` reads such files, and preflow.io.costs.read_costs(path).costs",
        )
    return CostNetwork.from_arrays(
        file.reader.tail,
        file.reader.head,
        capacity=1,
        cost=file.reader.numbers(0),
        supply=np.where(is_row, 1, -1),
        num_vertices=file.num_vertices,
    )


def _write_min_cost_flow(path: Path, network: CostNetwork, comment: str) -> None:
    lower = lower_of(network)
    back = undirected_arcs(network)
    with replacing(path, compress=path.suffix == ".gz") as file:
        write_comment(file, comment)
        file.write(f"p min {network.num_vertices} {network.num_arcs + len(back)}\n".encode())
        if network.supply is not None:
            where = np.flatnonzero(network.supply)
            amounts = zip((where + 1).tolist(), network.supply[where].tolist(), strict=True)
            file.write("".join([f"n {vertex} {amount!r}\n" for vertex, amount in amounts]).encode())
        write_records(file, "a", network.tail, network.head, lower, network.capacity, network.cost)
        numbers = (lower[back], network.capacity[back], network.cost[back])
        write_records(file, "a", network.head[back], network.tail[back], *numbers)


def _write_assignment(path: Path, network: CostNetwork, comment: str) -> None:
    is_row = rows_of_assignment(network)
    if is_row is None:
        raise InvalidInputError(
            f"{path}: an assignment has a supply of 1 or -1 at every vertex, and arcs of capacity 1 from the "
            "former to the latter; other networks are written to files whose names end in .min"
        )
    with replacing(path, compress=path.suffix == ".gz") as file:
        write_comment(file, comment)
        file.write(f"p asn {network.num_vertices} {network.num_arcs}\n".encode())
        file.write("".join([f"n {row}\n" for row in (np.flatnonzero(is_row) + 1).tolist()]).encode())
        write_records(file, "a", network.tail, network.head, network.cost)


def _terminal(network: FlowNetwork, given: int | tuple[int, ...], role: str) -> int:
    vertices = network.vertices(given, role)
    if len(vertices) != 1:
        raise InvalidInputError(
            f"DIMACS files have one {role}, this problem has {len(vertices)}: join them to a new vertex by "
            "arcs of infinite capacity"
        )
    return int(vertices[0])
