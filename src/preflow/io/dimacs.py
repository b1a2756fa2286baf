"""Problems in the text format of the DIMACS implementation challenges, plain or gzip.

A maximum flow problem reads::

    c comment
    p max VERTICES ARCS
    n VERTEX s
    n VERTEX t
    a TAIL HEAD CAPACITY

with vertices numbered from 1. Beyond the format's definition, capacities may be floats or ``inf``, and a
line ``s SEED`` is ignored, which the challenge's own generator of acyclic dense networks writes.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..errors import InvalidInputError
from ..graph.network import INT64_MAX, FlowNetwork, MaxFlowProblem
from .files import check_vertices, checked_path, parsing, read_bytes, replacing
from .record_reader import Line, Number, RecordReader, announced_bytes, shown
from .record_writer import write_comment, write_records


class ProblemKind(NamedTuple):
    """How to read the other lines for the problem that a ``p`` line names.

    Attributes
    ----------
    arc_fields : tuple of Number
        The numbers after tail and head on an ``a`` line.
    build : function
        Makes the problem from the arcs that were read, the ``n`` lines and the problem's name.
    """

    arc_fields: tuple[Number, ...]
    build: Callable[[RecordReader, int, list[Line], str], MaxFlowProblem]


def read_dimacs(path: str | Path) -> MaxFlowProblem:
    r"""Read a problem in DIMACS format, in time linear in the size of the file.

    Parameters
    ----------
    path : str or Path
        Plain or gzip, whatever its name.

    Returns
    -------
    MaxFlowProblem
        Arcs in the order of the file. Capacities are int64; float64 if one of them is not an integer. The
        name is the file's, without ``.gz`` and ``.max``.

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
    """
    with parsing(path, "DIMACS problem"):
        return _read(path, read_bytes(path, announced_bytes))


def write_dimacs(path: str | Path, problem: MaxFlowProblem, *, comment: str | None = None) -> None:
    """Write a maximum flow problem in DIMACS format, in O(m).

    Arcs keep their order. A reverse capacity is written as a second arc; these arcs follow all others. Float
    capacities are written so that they read back as the same floats. Vertex labels are not written.

    Parameters
    ----------
    path : str or Path
        Compressed if the name ends in ``.gz``. The file appears, or replaces an older one, only once it is
        complete.
    problem : MaxFlowProblem
        With one source and one sink.
    comment : str, optional
        Written as ``c`` lines; by default the problem's name.

    Raises
    ------
    InvalidInputError
        The problem has several sources or sinks, or the file cannot be written.

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
    network = problem.network.on_host()
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


def _read(path: str | Path, data: bytes) -> MaxFlowProblem:
    reader = RecordReader(path, data, b"a")
    problem: Line | None = None
    kind = PROBLEM_KINDS["max"]
    num_vertices = num_arcs = 0
    nodes: list[Line] = []
    while (line := reader.next_line()) is not None:
        if line.fields[0] == b"p":
            if problem is not None:
                reader.fail(line.position, "a second p line")
            problem = line
            kind, num_vertices, num_arcs = _problem_line(reader, line)
            reader.expect(kind.arc_fields, num_vertices, num_arcs)
        elif line.fields[0] in (b"a", b"n") and problem is None:
            reader.fail(line.position, f"{shown(line.fields[0])} line before the p line")
        elif line.fields[0] == b"n":
            nodes.append(line)
        elif line.fields[0] == b"s":
            _check_seed(reader, line)
        else:
            letter = shown(line.fields[0])
            reader.fail(line.position, f"unknown line type {letter}: expected 'c', 'p', 'n' or 'a'")
    if problem is None:
        reader.fail(
            None, "the file has no line 'p max VERTICES ARCS'" if reader.data else "the file is empty"
        )
    if reader.num_records < num_arcs:
        reader.fail(problem.position, f"{num_arcs} arcs were announced, the file has {reader.num_records}")
    check_vertices(path, reader.line_number(problem.position), num_vertices, num_arcs)
    name = Path(path).name.removesuffix(".gz").removesuffix(".max")
    return kind.build(reader, num_vertices, nodes, name)


def _problem_line(reader: RecordReader, line: Line) -> tuple[ProblemKind, int, int]:
    problem = line.fields[1].decode("ascii", "replace") if len(line.fields) > 1 else "max"
    if problem not in PROBLEM_KINDS:
        known = ", ".join(map(repr, PROBLEM_KINDS))
        reader.fail(
            line.position, f"this version of preflow reads problem {known}, not {shown(line.fields[1])}"
        )
    if len(line.fields) != 4:
        reader.fail(line.position, f"expected 'p {problem} VERTICES ARCS', got {len(line.fields)} fields")
    num_vertices = reader.integer(line.position, line.fields[2], Number("number of vertices", 0))
    num_arcs = reader.integer(line.position, line.fields[3], Number("number of arcs", 0))
    return PROBLEM_KINDS[problem], num_vertices, num_arcs


def _check_seed(reader: RecordReader, line: Line) -> None:
    if len(line.fields) != 2:
        reader.fail(line.position, f"expected 's SEED', got {len(line.fields)} fields")
    reader.integer(line.position, line.fields[1], Number("seed", -INT64_MAX))


def _build_max_flow(reader: RecordReader, num_vertices: int, nodes: list[Line], name: str) -> MaxFlowProblem:
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
    return MaxFlowProblem(network, terminals["source"], terminals["sink"], name=name)


#: The problems that `read_dimacs` reads, by the name on the ``p`` line.
PROBLEM_KINDS = {"max": ProblemKind((Number("capacity", 0, finite=False),), _build_max_flow)}


def _terminal(network: FlowNetwork, given: int | tuple[int, ...], role: str) -> int:
    vertices = np.atleast_1d(given).tolist()
    if len(vertices) != 1:
        raise InvalidInputError(
            f"DIMACS files have one {role}, this problem has {len(vertices)}: join them to a new vertex by "
            "arcs of infinite capacity"
        )
    if not 0 <= vertices[0] < network.num_vertices:
        raise InvalidInputError(
            f"{role} {vertices[0]} is out of range: there are {network.num_vertices} vertices"
        )
    return int(vertices[0])
