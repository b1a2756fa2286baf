"""Bipartite graphs whose arrays are in the memory of a GPU.

Edges are grouped by their rows, and graphs transposed, by counting: atomic operations count the edges of each
line and hand out their places. So the order of the neighbours of a vertex differs from run to run. They are
not sorted: no solver needs them in order, and it would take longer than all the rest. Nor does anything look
whether a pattern is symmetric: that takes several scattered loads an edge, transposing two atomic operations
and a store. Edges that come in the order of their rows, or of their columns, are left as they are.

Whatever builds arrays waits until they are there, since another thread, with a stream of its own, may be the
first that reads them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..cuda import runtime
from ..cuda.runtime import Device
from ..errors import UnsuitableMethodError
from .bipartite import Adjacency, BipartiteGraph
from .bipartite_input import as_index, ascends, checked_ends, kept_entries, read_lines
from .placement import DeviceArrays, require_memory, restorer, taken
from .sparse_input import check_integers, read_entries

SOURCE = Path(__file__).with_suffix(".cu")
#: Labels go up to the number of vertices; the two largest numbers of 32 bits mean something else. Kernels go
#: through edges and vertices in steps of as many as a GPU has threads, and must not pass 2**32 by that.
MOST_VERTICES = MOST_EDGES = 2**32 - 2**25
#: Bytes of an edge and of a line in one side's arrays, and of a line of the other side while it is built.
EDGE, LINE, LINE_WHILE_BUILT = 4, 4, 12


class _Count(NamedTuple):
    key: Any
    num_edges: int
    count: Any


class _Group(NamedTuple):
    key: Any
    value: Any
    num_edges: int
    next: Any
    grouped: Any


class _Transpose(NamedTuple):
    first: Any
    neighbour: Any
    num_lines: int
    num_edges: int
    next: Any
    grouped: Any


@dataclass(frozen=True, eq=False, repr=False)
class DeviceBipartiteGraph(DeviceArrays, BipartiteGraph):
    """A bipartite graph on a GPU; the functions that build a graph make one of arrays that are there.

    Methods that run on that GPU solve it in place, and results are arrays of the caller's kind. Whatever
    runs on the host first copies it there, such as ``device="cpu"``, which gives the same kind of results.

    Attributes
    ----------
    rows, columns : Adjacency of CuPy arrays of uint32
    num_rows, num_columns, row_labels, column_labels
        See :class:`preflow.BipartiteGraph`.
    device : Device
    restore : function or None
        Makes arrays of the caller's kind of CuPy arrays; None where these are CuPy arrays too.
    """

    def _check(self) -> None:
        """Check nothing: the functions that make a graph on a GPU have checked its arrays."""

    def on_host(self) -> BipartiteGraph:
        """Return the graph with its arrays in the host's memory; copied there once."""
        return self._host_copy

    @cached_property
    def _host_copy(self) -> BipartiteGraph:
        with self.current():
            rows, columns = (
                None if side is None else Adjacency(*map(self.device.to_host, side))
                for side in (self._rows, self._columns)
            )
        return BipartiteGraph(
            self.num_rows,
            self.num_columns,
            rows,
            columns,
            row_labels=self.row_labels,
            column_labels=self.column_labels,
            _checked=True,
        )

    def on_device(self) -> DeviceBipartiteGraph:
        """Return the graph itself."""
        return self

    @property
    def bytes_to_transpose(self) -> int:
        """Memory on the GPU that finding the other side takes; 0 where it is there."""
        other = "rows" if self.by_columns else "columns"
        if other in self.__dict__ or (self._rows and self._columns):
            return 0
        across = self.num_rows if self.by_columns else self.num_columns
        return EDGE * self.num_edges + LINE_WHILE_BUILT * (across + 1)

    def _transpose(self, adjacency: Adjacency, size: int) -> Adjacency:
        with self.current():
            first = _starts(self.device, adjacency.neighbour, size)
            grouped = self.xp.empty_like(adjacency.neighbour)
            num_edges, num_lines = len(grouped), len(adjacency.first) - 1
            arguments = _Transpose(*adjacency, num_lines, num_edges, first.copy(), grouped)
            self.device.share(SOURCE, "group_transposed", num_edges, arguments)
            self.device.synchronize()
            return Adjacency(first, grouped)


def edges_on_device(row: Any, column: Any, shape: tuple[int, int] | None) -> DeviceBipartiteGraph:
    """Build a graph from arrays on a GPU: see :meth:`preflow.BipartiteGraph.from_edges`."""
    device = runtime.find_device()
    rows, columns = (
        check_integers(taken(device, values, name, "graph"), name)
        for values, name in ((row, "row"), (column, "column"))
    )
    return _from_ends(device, rows, columns, shape, restorer(device, row))


def _from_ends(device: Device, row: Any, column: Any, shape: Any, restore: Any) -> DeviceBipartiteGraph:
    num_rows, num_columns = checked_ends(row, column, shape)
    _check_size(num_rows, num_columns, len(row))
    row, column = as_index(row, np.uint32), as_index(column, np.uint32)
    rows, columns = None, None
    if ascends(row):
        rows = Adjacency(_starts(device, row, num_rows), column)
    elif ascends(column):
        columns = Adjacency(_starts(device, column, num_columns), row)
    else:
        rows = _grouped(device, row, column, num_rows)
    device.synchronize()
    return DeviceBipartiteGraph(num_rows, num_columns, rows, columns, device=device, restore=restore)


def matrix_on_device(matrix: Any, explicit_zeros: bool) -> DeviceBipartiteGraph:
    """Build the graph of a sparse matrix on a GPU: see :meth:`preflow.BipartiteGraph.from_scipy`."""
    device = runtime.find_device()
    entries = read_entries(device.xp, matrix, lambda values, name: taken(device, values, name, "matrix"))
    restore = restorer(device, matrix.data)
    if entries.form == "coo":
        kept = kept_entries(entries.data, explicit_zeros)
        return _from_ends(device, entries.major[kept], entries.minor[kept], entries.shape, restore)
    _check_size(*entries.shape, len(entries.minor))
    lines = Adjacency(*read_lines(device.xp, entries, explicit_zeros))
    device.synchronize()
    sides = (None, lines) if entries.form == "csc" else (lines, None)
    return DeviceBipartiteGraph(*entries.shape, *sides, device=device, restore=restore)


def graph_on_device(graph: BipartiteGraph, device: Device) -> DeviceBipartiteGraph:
    """Copy a graph from the host to a GPU: see :meth:`preflow.BipartiteGraph.on_device`."""
    _check_size(*graph.shape, graph.num_edges)
    given = graph.columns if graph.by_columns else graph.rows
    needed = EDGE * len(given.neighbour) + LINE * len(given.first)
    require_memory(device, needed, size_in_words(graph))
    with device.current():
        lines = Adjacency(*(device.xp.asarray(values.astype(np.uint32, copy=False)) for values in given))
        device.synchronize()
    return DeviceBipartiteGraph(
        graph.num_rows,
        graph.num_columns,
        None if graph.by_columns else lines,
        lines if graph.by_columns else None,
        row_labels=graph.row_labels,
        column_labels=graph.column_labels,
        device=device,
        restore=None,
    )


def size_in_words(graph: BipartiteGraph) -> str:
    """Return the size of a graph, for messages."""
    return f"{graph.num_edges:,} edges, {graph.num_rows:,} rows and {graph.num_columns:,} columns"


def fits_numbers(num_rows: int, num_columns: int, num_edges: int) -> bool:
    """Whether 32 bits number the edges and vertices of a graph."""
    return num_edges <= MOST_EDGES and num_rows + num_columns <= MOST_VERTICES


def _check_size(num_rows: int, num_columns: int, num_edges: int) -> None:
    if not fits_numbers(num_rows, num_columns, num_edges):
        raise UnsuitableMethodError(
            f"{num_edges:,} edges of {num_rows + num_columns:,} vertices are too many for a GPU: "
            "at most 2**32 - 2**25 of each"
        )


def _starts(device: Device, keys: Any, size: int) -> Any:
    """Return how many keys are below each of 0 to `size`."""
    count = device.xp.zeros(size + 1, dtype=np.uint32)
    device.share(SOURCE, "count_keys", len(keys), _Count(keys, len(keys), count))
    return device.xp.cumsum(count, dtype=np.uint32)


def _grouped(device: Device, keys: Any, values: Any, size: int) -> Adjacency:
    """Return the values of each of the keys 0 to ``size - 1``."""
    first = _starts(device, keys, size)
    grouped = device.xp.empty_like(values)
    arguments = _Group(keys, values, len(keys), first.copy(), grouped)
    device.share(SOURCE, "group_edges", len(keys), arguments)
    return Adjacency(first, grouped)
