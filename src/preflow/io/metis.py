"""Undirected graphs as METIS, KaHIP and Chaco store them: a line of neighbours for each vertex.

The first line is "VERTICES EDGES", perhaps with three digits after it, which say whether vertices have sizes,
vertices have weights, and edges have weights, and with the number of weights of a vertex. Then line i has the
neighbours of vertex i, numbered from 1, so that each edge is there from both of its ends. Lines that begin
with % are comments.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..errors import ParseError
from ..graph.undirected import UndirectedGraph
from .files import check_text, check_vertices, of_text, parsing

#: How the names of such files end.
METIS = (".graph", ".metis")


def parse_metis(data: bytes, path: str | Path, *, weights: bool = True) -> UndirectedGraph:
    """Return the graph in the content of a file, without its sizes and weights of vertices.

    ParseError: the content is malformed.
    """
    check_text(path, data)
    data = of_text(data)
    rows: list[tuple[int, list[int]]] = []
    for number, text in enumerate(data.splitlines(), 1):
        if not text.startswith(b"%"):
            try:
                rows.append((number, [int(field) for field in text.split()]))
            except ValueError:
                raise ParseError(path, number, "expected integers: a METIS file lists neighbours") from None
    while rows and not rows[0][1]:
        del rows[0]
    if not rows or not 2 <= len(rows[0][1]) <= 4:
        raise ParseError(path, rows[0][0] if rows else None, "expected 'VERTICES EDGES', perhaps 'FORMAT'")
    (line, (size, edges, *layout)), lists = rows[0], rows[1:]
    sizes, vertex_weights, edge_weights = (digit == "1" for digit in f"{(layout or [0])[0]:03d}"[-3:])
    first = sizes + vertex_weights * (layout[1] if len(layout) > 1 else 1)
    check_vertices(path, line, size, len(lists) + edges)
    if len(lists) < size or any(fields for _, fields in lists[size:]):
        raise ParseError(path, line, f"{size} lines of neighbours were announced, there are {len(lists)}")
    width = 1 + edge_weights
    entries: list[tuple[int, ...]] = []
    for vertex, (number, fields) in enumerate(lists[:size], 1):
        rest = fields[first:]
        if len(fields) < first or len(rest) % width or any(not 1 <= v <= size for v in rest[::width]):
            form = f"{first} numbers of the vertex, then " * bool(first) + "neighbours from 1 to "
            raise ParseError(path, number, f"expected {form}{size}{', each with a weight' * edge_weights}")
        entries += [(vertex, *rest[at : at + width]) for at in range(0, len(rest), width)]
    with parsing(path, "METIS graph"):
        table = np.array(entries, dtype=np.int64).reshape(-1, 1 + width)
        kept = table[table[:, 0] < table[:, 1]]
        if not len(table) == 2 * edges == 2 * len(kept):
            message = f"{edges} edges were announced, and {len(table)} neighbours are listed, {len(kept)} of "
            raise ParseError(path, line, message + "them larger: each edge is listed by both of its ends")
        weight = kept[:, 2] if weights and edge_weights else None
        return UndirectedGraph.from_arrays(kept[:, 0] - 1, kept[:, 1] - 1, weight, num_vertices=size)
