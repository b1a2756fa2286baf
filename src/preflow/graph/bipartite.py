"""Bipartite graphs: rows and columns, and the edges between them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InvalidInputError

if TYPE_CHECKING:
    import networkx
    import scipy.sparse

#: More edges, rows or columns than this do not fit indices of 32 bits; the largest value means "none".
MOST_NARROW = 2**32 - 2


class Adjacency(NamedTuple):
    """The neighbours of the vertices of one side.

    Attributes
    ----------
    first : ndarray of uint32 or uint64, shape (number of vertices + 1,)
        The neighbours of vertex `v` stand at ``first[v] .. first[v + 1] - 1``.
    neighbour : ndarray of the same dtype, shape (number of edges,)
    """

    first: NDArray[Any]
    neighbour: NDArray[Any]


@dataclass(frozen=True, eq=False)
class BipartiteGraph:
    """Edges between rows and columns: the pattern of a sparse matrix. Immutable.

    Build one with :meth:`from_scipy`, :meth:`from_edges` or :meth:`from_networkx`. Repeated edges, and rows
    and columns without any, are allowed.

    Attributes
    ----------
    num_rows, num_columns : int
    row_labels, column_labels : tuple or None
        The caller's labels, where the graph came from NetworkX.
    """

    num_rows: int
    num_columns: int
    _rows: Adjacency | None = field(default=None, repr=False)
    _columns: Adjacency | None = field(default=None, repr=False)
    row_labels: tuple[Hashable, ...] | None = field(default=None, repr=False)
    column_labels: tuple[Hashable, ...] | None = field(default=None, repr=False)

    @property
    def num_edges(self) -> int:
        """Number of edges, repeated ones counted as often as they were given."""
        return len((self.columns if self.by_columns else self.rows).neighbour)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and of columns."""
        return self.num_rows, self.num_columns

    @property
    def by_columns(self) -> bool:
        """Whether the graph was given by columns, as by a CSC matrix: only these are there without work."""
        return self._rows is None

    @cached_property
    def rows(self) -> Adjacency:
        """The columns of every row; indices are uint32, uint64 where there are 2**32 - 1 edges or more.

        Of a graph that was given by columns they are found when first asked for. O(n + m).
        """
        return self._rows or _transposed(self.columns, self.num_rows)

    @cached_property
    def columns(self) -> Adjacency:
        """The rows of every column, found when first asked for. O(n + m).

        A symmetric pattern serves as its own transposed.
        """
        return self._columns or _transposed(self.rows, self.num_columns)

    @property
    def transposed(self) -> BipartiteGraph:
        """The graph with rows and columns exchanged; shares all arrays there are."""
        ready = (self.__dict__.get("columns", self._columns), self.__dict__.get("rows", self._rows))
        return BipartiteGraph(self.num_columns, self.num_rows, *ready, self.column_labels, self.row_labels)

    def __repr__(self) -> str:
        return (
            f"BipartiteGraph({self.num_rows:,} rows, {self.num_columns:,} columns, {self.num_edges:,} edges)"
        )

    @classmethod
    def from_edges(
        cls, row: ArrayLike, column: ArrayLike, shape: tuple[int, int] | None = None
    ) -> BipartiteGraph:
        """Build a graph from the two ends of every edge.

        Parameters
        ----------
        row, column : array_like of integers, shape (m,)
            Numbered from 0.
        shape : (int, int), optional
            Numbers of rows and columns; default: just enough.

        Raises
        ------
        InvalidInputError
            Different lengths, no integers, or numbers out of range.

        Examples
        --------
        >>> BipartiteGraph.from_edges([0, 0, 1], [0, 1, 1])
        BipartiteGraph(2 rows, 2 columns, 3 edges)
        """
        ends = [_numbers(values, name) for values, name in ((row, "row"), (column, "column"))]
        if len(ends[0]) != len(ends[1]):
            raise InvalidInputError(f"row has {len(ends[0])} entries, column has {len(ends[1])}")
        if shape is None:
            shape = (_least_size(ends[0]), _least_size(ends[1]))
        num_rows, num_columns = _checked_shape(shape)
        for values, name, size in zip(ends, ("row", "column"), shape, strict=True):
            _check_range(values, name, size)
        dtype = _index_dtype(num_rows, num_columns, len(ends[0]))
        rows, columns = (_as_index(end, dtype) for end in ends)
        if _ascends(columns) and not _ascends(rows):
            return cls(num_rows, num_columns, None, _grouped(columns, rows, num_columns))
        return cls(num_rows, num_columns, _grouped(rows, columns, num_rows))

    @classmethod
    def from_scipy(
        cls, matrix: scipy.sparse.sparray | scipy.sparse.spmatrix, *, explicit_zeros: bool = True
    ) -> BipartiteGraph:
        """Build the graph of a sparse matrix: an edge for every stored entry.

        Parameters
        ----------
        matrix : scipy sparse matrix or array, in any format
            Of a CSR or CSC matrix the index arrays are shared where their dtypes fit: leave them unchanged.
        explicit_zeros : bool
            Whether stored zeros are edges.

        Raises
        ------
        InvalidInputError
            No sparse matrix, not of two dimensions, its index arrays do not fit each other, or all of its
            entries are NaN.

        Examples
        --------
        >>> import scipy.sparse
        >>> BipartiteGraph.from_scipy(scipy.sparse.csr_array([[0, 3], [1, 0]]))
        BipartiteGraph(2 rows, 2 columns, 2 edges)
        """
        import scipy.sparse

        if not scipy.sparse.issparse(matrix):
            raise InvalidInputError(f"expected a scipy sparse matrix, got {type(matrix).__name__}")
        if matrix.ndim != 2:
            raise InvalidInputError(f"a matrix has two dimensions; this one has shape {matrix.shape}")
        if matrix.format == "coo":  # not by tocsr, which adds duplicates up, to zeros perhaps
            _check_values(matrix.data)
            kept = slice(None) if explicit_zeros else matrix.data != 0
            return cls.from_edges(matrix.row[kept], matrix.col[kept], matrix.shape)
        by_column = matrix.format == "csc"
        stored = matrix if by_column or matrix.format == "csr" else matrix.tocsr()
        _check_values(stored.data)
        lines, across = stored.shape[::-1] if by_column else stored.shape
        adjacency = _checked_adjacency(stored.indptr, stored.indices, int(lines), int(across))
        if not explicit_zeros and len(stored.data):
            adjacency = _without(adjacency, stored.data[: len(adjacency.neighbour)] == 0)
        graph = cls(int(lines), int(across), adjacency)
        return graph.transposed if by_column else graph

    @classmethod
    def from_networkx(
        cls, graph: networkx.Graph[Any], rows: Iterable[Hashable] | None = None
    ) -> BipartiteGraph:
        """Build a graph from a bipartite NetworkX graph, keeping its labels.

        Parameters
        ----------
        graph : Graph, DiGraph, MultiGraph or MultiDiGraph
            The direction of arcs does not matter.
        rows : iterable of vertices, optional
            Those of one side. Default: the vertices with the attribute ``bipartite=0`` where all have that
            attribute, else the side of the first vertex of each component.

        Raises
        ------
        InvalidInputError
            An edge joins two vertices of one side, or `rows` names an unknown vertex.

        Examples
        --------
        >>> import networkx
        >>> graph = networkx.path_graph(["a", "x", "b"])
        >>> BipartiteGraph.from_networkx(graph).row_labels
        ('a', 'b')
        """
        if not hasattr(graph, "nodes") or not hasattr(graph, "edges"):
            raise InvalidInputError(f"expected a NetworkX graph, got {type(graph).__name__}")
        is_row = _row_side(graph, rows)
        labels = tuple(v for v in graph if is_row[v]), tuple(v for v in graph if not is_row[v])
        number = {label: i for side in labels for i, label in enumerate(side)}
        ends = []
        for u, v in graph.edges():
            if is_row[u] == is_row[v]:
                side = "rows" if is_row[u] else "columns"
                raise InvalidInputError(f"the edge between {u!r} and {v!r} joins two {side}")
            ends.append((number[u], number[v]) if is_row[u] else (number[v], number[u]))
        row, column = np.array(ends, dtype=np.int64).reshape(-1, 2).T
        plain = cls.from_edges(row, column, (len(labels[0]), len(labels[1])))
        return cls(plain.num_rows, plain.num_columns, plain._rows, plain._columns, *labels)


def as_bipartite_graph(graph: Any) -> BipartiteGraph:
    """Return what a public function accepts as a graph as a BipartiteGraph."""
    if isinstance(graph, BipartiteGraph):
        return graph
    if isinstance(graph, tuple):
        if len(graph) != 2:
            raise InvalidInputError(f"a tuple of edges is (row, column), got {len(graph)} entries")
        return BipartiteGraph.from_edges(*graph)
    if hasattr(graph, "tocsr"):
        return BipartiteGraph.from_scipy(graph)
    if hasattr(graph, "is_directed") and hasattr(graph, "edges"):
        return BipartiteGraph.from_networkx(graph)
    raise InvalidInputError(
        "a bipartite graph is a BipartiteGraph, a scipy sparse matrix, a NetworkX graph or a tuple "
        f"(row, column), not {type(graph).__name__}"
    )


def _grouped(keys: NDArray[Any], values: NDArray[Any], size: int) -> Adjacency:
    """Return the values of each of the keys 0 to ``size - 1``, in their order."""
    from ..kernels.transpose import count_edges, group_edges

    grouped = Adjacency(np.zeros(size + 1, dtype=keys.dtype), np.empty_like(values))
    count_edges(keys, grouped.first)
    group_edges(keys, values, *grouped)
    return grouped


def _index_dtype(num_rows: int, num_columns: int, num_edges: int) -> Any:
    return np.uint32 if max(num_rows, num_columns, num_edges) <= MOST_NARROW else np.uint64


def _transposed(adjacency: Adjacency, size: int) -> Adjacency:
    """Return the neighbours of the `size` vertices of the other side, sorted."""
    from ..kernels.transpose import count_edges, group_transposed, is_symmetric

    first, neighbour = adjacency
    square = len(first) == size + 1
    if square and is_symmetric(first, neighbour, np.zeros(size, dtype=first.dtype)):
        return adjacency
    other = Adjacency(np.zeros(size + 1, dtype=first.dtype), np.empty_like(neighbour))
    count_edges(neighbour, other.first)
    group_transposed(first, neighbour, *other)
    return other


def _ascends(values: NDArray[Any]) -> bool:
    beginning = values[:1000]
    return bool((beginning[1:] >= beginning[:-1]).all()) and bool((values[1:] >= values[:-1]).all())


def _checked_adjacency(indptr: Any, indices: Any, lines: int, across: int) -> Adjacency:
    """Return the index arrays of a compressed matrix as an adjacency structure."""
    if indptr.shape != (lines + 1,) or indices.ndim != 1:
        raise InvalidInputError(f"indptr has shape {indptr.shape}, expected ({lines + 1},)")
    num_edges = int(indptr[-1])
    if int(indptr[0]) != 0 or (indptr[1:] < indptr[:-1]).any():
        raise InvalidInputError("indptr does not start at 0 and ascend")
    if num_edges > len(indices):
        raise InvalidInputError(f"indptr ends at {num_edges}, there are {len(indices)} indices")
    indices = indices[:num_edges]
    dtype = _index_dtype(lines, across, num_edges)
    _check_range(indices, "index", across)
    return Adjacency(_as_index(indptr, dtype), _as_index(indices, dtype))


def _as_index(values: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """Return numbers that are not negative in another dtype, in place where the width is the same."""
    if values.dtype.kind in "iu" and values.dtype.itemsize == np.dtype(dtype).itemsize:
        return np.ascontiguousarray(values).view(dtype)
    return np.ascontiguousarray(values, dtype=dtype)


def _without(adjacency: Adjacency, dropped: NDArray[np.bool_]) -> Adjacency:
    before = np.zeros(len(dropped) + 1, dtype=adjacency.first.dtype)
    np.cumsum(~dropped, out=before[1:])
    return Adjacency(before[adjacency.first], adjacency.neighbour[~dropped])


def _check_values(data: NDArray[Any]) -> None:
    if len(data) and data.dtype.kind in "fc" and np.isnan(data[0]) and np.isnan(data).all():
        raise InvalidInputError("every entry of the matrix is NaN: its pattern can hardly be meant")


def _check_range(values: NDArray[Any], name: str, size: int) -> None:
    if len(values) == 0:
        return
    signed = values.dtype.kind == "i"
    # As unsigned numbers negative ones are large: one pass finds both faults.
    if int((values.view(f"u{values.dtype.itemsize}") if signed else values).max()) < size:
        return
    if signed and int(values.min()) < 0:
        raise InvalidInputError(f"{name} is negative: {int(values.min())}")
    raise InvalidInputError(f"{name} {int(values.max())} is out of range: there are {size}, numbered from 0")


def _checked_shape(shape: Any) -> tuple[int, int]:
    if not isinstance(shape, tuple | list) or len(shape) != 2:
        raise InvalidInputError(f"a shape is (rows, columns), got {shape!r}")
    for size in shape:
        if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 0:
            raise InvalidInputError(f"a shape is two integers that are not negative, got {shape!r}")
    return int(shape[0]), int(shape[1])


def _least_size(values: NDArray[Any]) -> int:
    return int(values.max()) + 1 if len(values) else 0


def _numbers(values: ArrayLike, name: str) -> NDArray[Any]:
    try:
        numbers = np.asarray(values)
    except ValueError as error:
        raise InvalidInputError(f"{name} is not an array: {error}") from None
    if numbers.ndim != 1:
        raise InvalidInputError(f"{name} has one dimension, got shape {numbers.shape}")
    if numbers.size == 0:
        return numbers.astype(np.int64)
    if numbers.dtype.kind not in "iu":
        raise InvalidInputError(f"{name} holds integers, got dtype {numbers.dtype}")
    return numbers


def _row_side(graph: Any, rows: Iterable[Hashable] | None) -> dict[Hashable, bool]:
    """Return which vertices of a NetworkX graph are rows."""
    if rows is not None:
        chosen = set(rows)
        for label in chosen:
            if label not in graph:
                raise InvalidInputError(f"row {label!r} is not in the graph")
        return {v: v in chosen for v in graph}
    sides = dict(graph.nodes(data="bipartite"))
    if all(side in (0, 1) for side in sides.values()):
        return {v: side == 0 for v, side in sides.items()}
    undirected = graph.to_undirected(as_view=True) if graph.is_directed() else graph
    is_row: dict[Hashable, bool] = {}
    for root in undirected:
        if root in is_row:
            continue
        is_row[root] = True
        waiting = [root]
        while waiting:
            v = waiting.pop()
            for w in undirected.neighbors(v):
                if w not in is_row:
                    is_row[w] = not is_row[v]
                    waiting.append(w)
    return is_row
