"""Graphs in the formats of other tools: by NetworkX, as lists of arcs, and TNTP.

A list has a line for each arc, "TAIL HEAD CAPACITY" or "TAIL HEAD", whose capacity is then 1. The first line
may name the columns instead, or have the numbers of vertices and arcs, where it has not as many fields as the
others. TNTP is the format of traffic networks, a list after lines of metadata; ``.wmd`` that of PrefLib, a
list of arcs with weights.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

from ..arrays import Untyped
from ..checks import needed_for
from ..errors import ParseError
from ..graph.edge_tables import CAPACITY, ENDS
from .files import decoded, parsing, read_bytes
from .number_rows import Row, is_number, names_above, refuse_neighbours, refuse_sizes, rows_of, sizes_in
from .record_reader import announced_bytes

#: The functions of NetworkX that read files, by the ends of their names.
READERS = {
    ".graphml": "read_graphml",
    ".gml": "read_gml",
    ".gexf": "read_gexf",
    ".net": "read_pajek",
    ".paj": "read_pajek",
}
#: The ends of names of lists; a .txt may also be a file of DIMACS.
TRAFFIC, PREFLIB = ".tntp", ".wmd"
LISTS = (".txt", ".edges", ".edgelist", ".ncol", ".arcs", TRAFFIC, PREFLIB)
#: The columns of a TNTP file whose header does not name as many as there are.
OF_TNTP = ["capacity", "length", "free_flow_time", "b", "power", "speed", "toll", "link_type"]
METADATA = re.compile(rb"<END OF METADATA>[^\n]*\n", re.IGNORECASE)
THROUGH = re.compile(rb"<FIRST THRU NODE>\s*(\d{1,9})", re.IGNORECASE)

#: What igraph writes into the first lines of a file.
IGRAPH, FIRST_LINES = re.compile(rb"created by igraph|creator \"igraph", re.IGNORECASE), 1024

LOGGER = logging.getLogger(__name__)


def _suffix(path: str | Path) -> str:
    name = str(path).lower()
    for compressed in (".gz", ".bz2", ".xz"):
        name = name.removesuffix(compressed)
    return Path(name).suffix


def is_graph(path: str | Path) -> bool:
    """Return whether the name of a file says that NetworkX reads it."""
    return _suffix(path) in READERS


def has_arcs(path: str | Path) -> bool:
    """Return whether a file is a graph that NetworkX reads, or a list of arcs."""
    return is_graph(path) or (is_list(path) and announced_bytes(read_bytes(path)) is None)


def is_list(path: str | Path) -> bool:
    """Return whether the name of a file says that it can be a list of arcs."""
    return _suffix(path) in LISTS


def read_graph(path: str | Path) -> Untyped:
    """Read a graph by NetworkX.

    ParseError: the file cannot be read or is malformed. MissingDependencyError: NetworkX is not installed.
    """
    with needed_for(f"{path}: this format", "NetworkX", "networkx"):
        import networkx
    name = READERS[_suffix(path)]
    raised = SyntaxError, TypeError, LookupError, AttributeError, NameError, StopIteration
    with parsing(path, f"file that networkx.{name} reads", networkx.NetworkXException, *raised):
        content = read_bytes(path)
        has_labels = re.search(rb"node\s*\[[^\[\]]*\blabel\b", content) is not None
        keywords = {"label": "label" if has_labels else "id"} if name == "read_gml" else {}
        graph = getattr(networkx, name)(BytesIO(content), **keywords)
        if IGRAPH.search(
            content, 0, FIRST_LINES
        ):  # its numbers of vertices are its own, their names the user's
            called = [data.get("name") for _, data in graph.nodes(data=True)]
            if len(set(called) - {None}) == len(graph):
                graph = networkx.relabel_nodes(graph, dict(zip(graph, called, strict=True)))
        if not len(graph):
            raise ParseError(path, None, f"networkx.{name} finds no vertices")
        return graph


def without_directions(graph: Untyped) -> Untyped:
    """Return an undirected graph with an edge for each arc of a directed one; others unchanged."""
    import networkx

    if not graph.is_directed():
        return graph
    found = networkx.MultiGraph()
    found.add_nodes_from(graph)
    found.add_edges_from(graph.edges(data=True))
    return found


def read_list(path: str | Path, encoding: str | None = None) -> list[tuple[int, list[str]]]:
    """Return the rows of a list of arcs, with the numbers of their lines; the first one names the columns."""
    with parsing(path, "list of arcs"):
        data = decoded(path, read_bytes(path), encoding).encode()
        refuse_neighbours(path, data)
        names = ["source", "target", "weight"] if _suffix(path) == PREFLIB else []
        if _suffix(path) == TRAFFIC:
            names, data = _traffic(path, data)
        rows = list(rows_of(data))
        if not rows:
            raise ParseError(path, None, "the file is empty")
        above = names_above(data, len(rows[0].fields))
        names = names if set(above).isdisjoint(CAPACITY) else above
        if not names and _has_names(rows):
            names = [field.decode() for field in rows.pop(0).fields]
        elif not names:
            _check_first(path, rows)
            names = ["source", "target", "capacity"][: max(2, len(rows[0].fields))]
            if any(field.startswith(b"{") or b" {" in field for field in rows[0].fields):
                raise ParseError(path, rows[0].line, _ADVICE)
        width = len(names)
        for line, fields in rows:
            if len(fields) != width:
                same = line != rows[0].line
                message = f"expected {width} fields, as above, got {len(fields)}" if same else _ADVICE
                raise ParseError(path, line, message)
        ones = ["1"] * (width == 2)
        arcs = [(line, [*(field.decode() for field in fields), *ones]) for line, fields in rows]
        return [(1, [*names, *["capacity"] * (width == 2)]), *arcs]


def _check_first(path: str | Path, rows: list[Row]) -> None:
    """Drop a first row that has sizes; ParseError if it could also be an arc."""
    if len(rows) > 1 and len(rows[0].fields) != len(rows[1].fields):
        if sizes_in(rows[0], len(rows) - 1):
            del rows[0]
        return
    ends = [[row.fields[at] for row in rows[1:] if row.fields[at:]] for at in range(2)]
    if all(field.isdigit() for side in ends for field in side):
        first, second = (max(map(int, side), default=0) for side in ends)
        refuse_sizes(path, rows[0], len(rows) - 1, (first, second))


_ADVICE = (
    "expected 'TAIL HEAD CAPACITY' or 'TAIL HEAD'; of more columns the first line has the names, 'source "
    "target capacity cost'; in place of networkx.write_edgelist take networkx.write_graphml"
)


def _has_names(rows: Sequence[Row]) -> bool:
    """Return whether the first row names the columns: those of ends, or one that has numbers below."""
    first, below = rows[0].fields, rows[min(1, len(rows) - 1)].fields
    if tuple(field.decode().lower() for field in first[:2]) in ENDS:
        return True
    numbers = zip(first[2:], below[2:], strict=False)
    return any(not is_number(name) and is_number(value) for name, value in numbers)


def _traffic(path: str | Path, data: bytes) -> tuple[list[str], bytes]:
    """Return the names of the columns of a TNTP file, and its lines of arcs as a list has them."""
    metadata = METADATA.search(data)
    if metadata is None:
        raise ParseError(path, None, "no network in the format TNTP: it has no line <END OF METADATA>")
    first = THROUGH.search(data)
    if first is not None and int(first[1]) > 1:
        LOGGER.warning("%s: traffic does not pass nodes before %s; here flow may", path, first[1].decode())
    arcs = data[metadata.end() :].replace(b";", b" ")
    header = re.search(rb"~[ \t]*([^\n]*)", arcs)
    names = [] if header is None else re.split(r"\t+|\s{2,}", header[1].decode().strip())
    blank = b"\n" * data.count(b"\n", 0, metadata.end())
    arcs = blank + re.sub(rb"~[^\n]*", b"", arcs)
    row = next(rows_of(arcs), None)
    names = [name.replace(" ", "_") for name in names[2:]]
    standard = row is not None and len(row.fields) == 2 + len(OF_TNTP) != 2 + len(names)
    return ["source", "target", *(OF_TNTP if standard else names)], arcs
