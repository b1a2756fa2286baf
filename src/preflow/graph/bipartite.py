"""Bipartite graphs: rows and columns, and the edges between them; on the host or on a GPU.

BipartiteGraph and DeviceBipartiteGraph are in one module because each of them creates the other: the
constructors and :meth:`BipartiteGraph.on_device` make the form on a GPU, :meth:`DeviceBipartiteGraph.on_host`
copies back.

Every function that builds arrays on a GPU waits until they are complete, since the next reader may be another
thread with its own stream.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterable
from dataclasses import InitVar, dataclass, field, replace
from functools import cached_property
from itertools import compress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import (
    AnyArray,
    Array,
    DictInput,
    DType,
    EdgesInput,
    Indices,
    Int64,
    Integers,
    Restorer,
    TableInput,
)
from ..cuda import runtime
from ..cuda.runtime import Device, is_on_gpu
from ..errors import InvalidInputError, UnsuitableMethodError
from ..kernels.kernel import kernel
from .bipartite_input import (
    as_index,
    ascends,
    check_shape,
    checked_ends,
    checked_lines,
    index_dtype,
    kept_entries,
    numbers_of,
    read_lines,
)
from .device.adjacency import EDGE, LINE, LINE_WHILE_BUILT, grouped_edges, line_starts, transposed_lines
from .edge_tables import EdgeColumns, number_apart, read_dict, read_table, read_tuples
from .graph_edges import GraphEdges, edges_of_graph
from .placement import DeviceArrays, HostArrays, as_device_array, require_memory, restorer, restorer_of
from .sparse_input import check_integers, read_entries, read_sparse

if TYPE_CHECKING:
    import networkx
    import scipy.sparse
#: Labels go up to the number of vertices, and the two largest numbers of 32 bits have another meaning.
#: Kernels step through edges and vertices by the number of threads of a GPU, and must not pass 2**32.
MOST_VERTICES = MOST_EDGES = 2**32 - 2**25
_INTEGERS = np.dtype(np.int32), np.dtype(np.int64)


class Adjacency(NamedTuple):
    """The neighbours of the vertices of one side."""

    #: shape (number of vertices + 1,): the neighbours of vertex `v` are
    #: ``neighbour[first[v] : first[v + 1]]``
    first: Indices
    neighbour: Indices  #: the same dtype, shape (number of edges,)


@kernel
def are_lines(first: Integers, neighbour: Integers, across: Int64) -> bool:
    """Whether the lines of a compressed matrix ascend to its end, and all entries are below `across`."""
    before = first[0]
    if before != 0 or first[len(first) - 1] != len(neighbour):
        return False
    wrong = 0
    for begin in first:
        wrong += begin < before
        before = begin
    for other in neighbour:
        wrong += other < 0 or other >= across
    return wrong == 0


@dataclass(frozen=True, eq=False)
class BipartiteGraph(HostArrays):
    """Edges between rows and columns: the pattern of a sparse matrix. Immutable.

    Build one with :meth:`from_arrays` or :meth:`from_scipy`, whose rows and columns are numbers, or with
    :meth:`from_edges`, :meth:`from_dict`, :meth:`from_pandas` or :meth:`from_networkx`, where they may be
    anything hashable. Repeated edges, and rows and columns without any, are allowed.

    Attributes
    ----------
    num_rows, num_columns : int
    row_labels, column_labels : tuple or None
        The caller's labels, where rows and columns are no numbers.
    restore : function or None
        Makes arrays of the caller's kind of the arrays of a result; None where the caller uses NumPy.
    """

    num_rows: int
    num_columns: int
    _rows: Adjacency | None = field(default=None, repr=False)
    _columns: Adjacency | None = field(default=None, repr=False)
    row_labels: tuple[Hashable, ...] | None = field(default=None, repr=False, kw_only=True)
    column_labels: tuple[Hashable, ...] | None = field(default=None, repr=False, kw_only=True)
    restore: Restorer = field(default=None, repr=False, kw_only=True)
    #: Whether the arrays are known to fit each other.
    _checked: InitVar[bool] = field(default=False, kw_only=True)

    def __post_init__(self, _checked: bool) -> None:
        if not _checked:
            self._check()

    def _check(self) -> None:
        """Raise InvalidInputError unless the arrays fit each other; convert them to what kernels accept."""
        check_shape(self.shape)
        sides = [lines for lines in (self._rows, self._columns) if lines is not None]
        if not sides or not all(isinstance(lines, tuple) and len(lines) == 2 for lines in sides):
            raise InvalidInputError(
                "a BipartiteGraph has the pair (first, neighbour) of its rows or of its columns: "
                "BipartiteGraph.from_arrays takes the ends of edges"
            )
        for name, lines, shape in (
            ("_rows", self._rows, self.shape),
            ("_columns", self._columns, self.shape[::-1]),
        ):
            if lines is not None:
                object.__setattr__(self, name, Adjacency(*checked_lines(*lines, *shape)))
        if self._rows and self._columns and len(self._rows.neighbour) != len(self._columns.neighbour):
            raise InvalidInputError(
                "the rows and the columns of a BipartiteGraph have different numbers of edges"
            )
        for labels, size in ((self.row_labels, self.num_rows), (self.column_labels, self.num_columns)):
            if labels is not None and len(labels) != size:
                raise InvalidInputError(
                    f"there are {size} rows or columns, and {len(labels)} labels for them"
                )

    @property
    def num_edges(self) -> int:
        """Number of edges; an edge that was given several times counts several times."""
        return len((self.columns if self.by_columns else self.rows).neighbour)

    @property
    def dtype(self) -> DType:
        """The dtype of index arrays: uint32, or uint64 where 32 bits cannot number all edges and vertices."""
        return (self.columns if self.by_columns else self.rows).first.dtype

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and of columns."""
        return self.num_rows, self.num_columns

    @property
    def by_columns(self) -> bool:
        """Whether the graph was given by columns, as by a CSC matrix; its rows take work to find."""
        return self._rows is None

    @cached_property
    def rows(self) -> Adjacency:
        """The columns of every row; indices are uint32, or uint64 from 2**32 - 1 edges on.

        For a graph that was given by columns they are computed at first use. O(n + m).
        """
        return self._rows or self._transpose(self.columns, self.num_rows)

    @cached_property
    def columns(self) -> Adjacency:
        """The rows of every column, computed at first use. O(n + m).

        A symmetric pattern serves as its own transpose.
        """
        return self._columns or self._transpose(self.rows, self.num_columns)

    @property
    def known_columns(self) -> Adjacency | None:
        """The rows of every column if they are known already, else None."""
        return self.__dict__.get("columns", self._columns)

    def remember_columns(self, columns: Adjacency) -> None:
        """Store columns that were computed elsewhere as :attr:`columns`."""
        self.__dict__["columns"] = columns

    def _transpose(self, adjacency: Adjacency, size: int) -> Adjacency:
        return _transposed(adjacency, size)

    @property
    def transposed(self) -> BipartiteGraph:
        """The graph with rows and columns exchanged; shares all arrays that exist."""
        return replace(
            self,
            num_rows=self.num_columns,
            num_columns=self.num_rows,
            _rows=self.known_columns,
            _columns=self.__dict__.get("rows", self._rows),
            row_labels=self.column_labels,
            column_labels=self.row_labels,
            _checked=True,
        )

    def on_host(self) -> BipartiteGraph:
        """Return the graph with NumPy arrays, as those of results: itself, or a copy."""
        return self.plain()

    def on_device(self) -> DeviceBipartiteGraph:
        """Return the graph with its arrays on the current GPU: a copy, or itself if it is on a GPU.

        Only the side by which it was given is copied.

        Raises
        ------
        UnsuitableMethodError
            The graph has more edges or vertices than 32 bits can number.
        DeviceUnavailableError
            There is no GPU, or something to use it is missing.
        DeviceMemoryError
            The graph does not fit the free memory; nothing has been allocated yet.
        """
        return graph_on_device(self, runtime.find_device())

    def __repr__(self) -> str:
        return (
            f"BipartiteGraph({self.num_rows:,} rows, {self.num_columns:,} columns, {self.num_edges:,} edges)"
        )

    @classmethod
    def from_arrays(
        cls, row: ArrayLike, column: ArrayLike, *, shape: tuple[int, int] | None = None
    ) -> BipartiteGraph:
        """Build a graph from the two ends of every edge.

        Parameters
        ----------
        row, column : array_like of integers, shape (m,)
            Numbered from 0. Arrays may be those of any library with ``__dlpack__``, such as Torch or JAX, or
            CuPy arrays; both may be on a GPU. Those of results are of the same kind.
        shape : (int, int), optional
            Numbers of rows and columns; default: just enough.

        Returns
        -------
        BipartiteGraph
            A :class:`preflow.graph.bipartite.DeviceBipartiteGraph` where the arrays are on a GPU. They
            do not pass through the host, and one of them is shared where they are grouped by row or column
            and its dtype fits: leave them unchanged.

        Raises
        ------
        InvalidInputError
            Different lengths, no integers, or numbers out of range.

        Examples
        --------
        >>> BipartiteGraph.from_arrays([0, 0, 1], [0, 1, 1])
        BipartiteGraph(2 rows, 2 columns, 3 edges)
        """
        if is_on_gpu(row) or is_on_gpu(column):
            return edges_on_device(row, column, shape)
        ends = (numbers_of(row, "row"), numbers_of(column, "column"))
        num_rows, num_columns = checked_ends(*ends, shape)
        dtype = index_dtype(num_rows, num_columns, len(ends[0]))
        rows, columns = (as_index(end, dtype) for end in ends)
        restore = restorer_of(row, column)
        if ascends(columns) and not ascends(rows):
            lines = _grouped(columns, rows, num_columns)
            return cls(num_rows, num_columns, None, lines, restore=restore, _checked=True)
        lines = _grouped(rows, columns, num_rows)
        return cls(num_rows, num_columns, lines, restore=restore, _checked=True)

    @classmethod
    def from_scipy(
        cls, matrix: scipy.sparse.sparray | scipy.sparse.spmatrix, *, explicit_zeros: bool = True
    ) -> BipartiteGraph:
        """Build the graph of a sparse matrix: an edge for every stored entry.

        Parameters
        ----------
        matrix : scipy sparse matrix or array, in any format
            Of a CSR or CSC matrix the index arrays are shared where their dtypes fit: leave them unchanged.
            One of CuPy's gives a graph on its GPU, as arrays there do in :meth:`from_arrays`.
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
        if is_on_gpu(getattr(matrix, "data", None)):
            return matrix_on_device(matrix, explicit_zeros)
        entries = read_sparse(matrix)
        if entries.form == "coo":
            kept = kept_entries(entries.data, explicit_zeros)
            return cls.from_arrays(entries.major[kept], entries.minor[kept], shape=entries.shape)
        lines = Adjacency(*read_lines(np, entries, explicit_zeros))
        sides = (None, lines) if entries.form == "csc" else (lines, None)
        return cls(*entries.shape, *sides, _checked=True)

    @classmethod
    def from_edges(cls, edges: EdgesInput) -> BipartiteGraph:
        """Build a graph from tuples (row, column) with any hashable labels.

        Parameters
        ----------
        edges : iterable of tuples
            The labels of rows are numbered in the order in which they appear, those of columns, too. A row
            and a column may have the same label. What follows the two ends is ignored.

        Raises
        ------
        InvalidInputError
            An edge is no such tuple, or a label is not hashable.

        Examples
        --------
        >>> import preflow
        >>> preflow.bipartite_matching([("ada", "sew"), ("bob", "sew"), ("ada", "cook")]).pairs()
        [('ada', 'cook'), ('bob', 'sew')]
        """
        return cls._from_columns(read_tuples(edges, ("row", "column"), []))

    @classmethod
    def from_dict(cls, neighbours: DictInput) -> BipartiteGraph:
        """Build a graph from ``{row: [column, ...]}`` with any hashable labels.

        Parameters
        ----------
        neighbours : mapping
            The columns of each row, as a list, a set or a mapping. The keys are the rows, also those without
            columns.

        Examples
        --------
        >>> BipartiteGraph.from_dict({"ada": ["sew", "cook"], "bob": ["sew"], "cyd": []})
        BipartiteGraph(3 rows, 2 columns, 3 edges)
        """
        return cls._from_columns(read_dict(neighbours, []))

    @classmethod
    def from_pandas(
        cls, frame: TableInput, *, row: Hashable = "row", column: Hashable = "column"
    ) -> BipartiteGraph:
        """Build a graph from a table with a row for each edge, keeping its labels.

        Parameters
        ----------
        frame : DataFrame of pandas or polars, Arrow table, structured array of NumPy
            Or any other object with ``__arrow_c_stream__``.
        row, column : str
            The names of the columns with the two ends of each edge.

        Examples
        --------
        >>> import pandas
        >>> table = pandas.DataFrame({"worker": ["ada", "bob"], "job": ["sew", "sew"]})
        >>> BipartiteGraph.from_pandas(table, row="worker", column="job").row_labels
        ('ada', 'bob')
        """
        return cls._from_columns(read_table(frame, (row, column), {}, apart=True))

    @classmethod
    def _from_columns(cls, edges: EdgeColumns) -> BipartiteGraph:
        (row_labels, row, column), column_labels = number_apart(edges)
        plain = cls.from_arrays(row, column, shape=(len(row_labels), len(column_labels)))
        return replace(plain, row_labels=row_labels, column_labels=column_labels, _checked=True)

    @classmethod
    def from_networkx(
        cls, graph: networkx.Graph[Any], *, rows: Iterable[Hashable] | None = None
    ) -> BipartiteGraph:
        """Build a graph from a bipartite graph of NetworkX, igraph or rustworkx, keeping its labels.

        Parameters
        ----------
        graph : Graph, DiGraph, MultiGraph or MultiDiGraph, or one of igraph or rustworkx
            The direction of arcs does not matter.
        rows : iterable of vertices, optional
            Those of one side. Default: the vertices with the attribute ``bipartite=0`` where all have that
            attribute (in igraph ``type=False``), else the side of the first vertex of each component.

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
        edges, _ = labelled_edges(graph, rows)
        labels = edges.row_labels, edges.column_labels
        plain = cls.from_arrays(edges.row, edges.column, shape=(len(labels[0]), len(labels[1])))
        return replace(plain, row_labels=labels[0], column_labels=labels[1], _checked=True)


def of_plain_rows(matrix: AnyArray) -> BipartiteGraph | None:
    """Read a CSR matrix of SciPy with the usual arrays in one pass; None if anything might be wrong."""
    sparse = sys.modules.get("scipy.sparse")
    if sparse is None or type(matrix) not in (sparse.csr_array, sparse.csr_matrix):
        return None
    first, neighbour, data, shape = matrix.indptr, matrix.indices, matrix.data, matrix.shape
    for part in (first, neighbour):
        if type(part) is not np.ndarray or part.dtype not in _INTEGERS or part.ndim != 1:
            return None
        flags = part.flags
        if not (flags.c_contiguous and flags.aligned and flags.writeable):
            return None
    if type(data) is not np.ndarray or data.shape != neighbour.shape or len(shape) != 2:
        return None
    if data.dtype.kind in "fc" and len(data) and data[0] != data[0]:
        return None
    num_rows, num_columns = shape
    if not (type(num_rows) is type(num_columns) is int):
        return None
    if max(num_rows, num_columns, len(data)) >= MOST_EDGES or len(first) != num_rows + 1:
        return None
    if not (first.dtype == neighbour.dtype and are_lines(first, neighbour, num_columns)):
        return None
    graph = object.__new__(BipartiteGraph)
    graph.__dict__.update(
        num_rows=num_rows,
        num_columns=num_columns,
        _rows=Adjacency(as_index(first, np.uint32), as_index(neighbour, np.uint32)),
        _columns=None,
        row_labels=None,
        column_labels=None,
        restore=None,
    )
    return graph


@dataclass(frozen=True, eq=False, repr=False)
class DeviceBipartiteGraph(DeviceArrays, BipartiteGraph):
    """A bipartite graph on a GPU; the functions that build a graph make one from arrays on a GPU.

    Methods that run on that GPU solve it in place, and results are arrays of the caller's kind. Everything
    that runs on the host, such as ``device="cpu"``, first copies it to the host, and returns results of the
    same kind.

    Attributes
    ----------
    rows, columns : Adjacency of CuPy arrays of uint32
    num_rows, num_columns, row_labels, column_labels
        See :class:`preflow.BipartiteGraph`.
    device : Device
    restore : function or None
        Converts CuPy arrays to the caller's kind of array; None where the caller uses CuPy.
    """

    def _check(self) -> None:
        """Check nothing: the functions that make a graph on a GPU have checked its arrays."""

    def on_host(self) -> BipartiteGraph:
        """Return the graph with its arrays in the host's memory; copied once."""
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
        """Memory on the GPU that computing the other side takes; 0 if it is known."""
        other = "rows" if self.by_columns else "columns"
        if other in self.__dict__ or (self._rows and self._columns):
            return 0
        across = self.num_rows if self.by_columns else self.num_columns
        return EDGE * self.num_edges + LINE_WHILE_BUILT * (across + 1)

    def _transpose(self, adjacency: Adjacency, size: int) -> Adjacency:
        with self.current():
            return Adjacency(*transposed_lines(self.device, *adjacency, size))


class LabelledEdges(NamedTuple):
    """The edges of a bipartite graph of a library; labels are in the order of the graph."""

    row: NDArray[np.int64]
    column: NDArray[np.int64]
    row_labels: tuple[Hashable, ...]
    column_labels: tuple[Hashable, ...]


def labelled_edges(
    graph: Any, rows: Iterable[Hashable] | None, number: str | None = None
) -> tuple[LabelledEdges, GraphEdges]:
    """Return the edges of a bipartite graph in the order of its library; and all that was read.

    InvalidInputError: it is no graph, an edge joins two vertices of one side, or `rows` names an unknown
    vertex.
    """
    edges = edges_of_graph(graph, number)
    is_row = _row_side(edges, rows)
    wrong = is_row[edges.tail] == is_row[edges.head]
    if wrong.any():
        u, v = (int(ends[wrong.argmax()]) for ends in (edges.tail, edges.head))
        side = "rows" if is_row[u] else "columns"
        raise InvalidInputError(
            f"the edge between {edges.labels[u]!r} and {edges.labels[v]!r} joins two {side}"
        )
    forward = is_row[edges.tail]
    row, column = (np.where(forward == side, edges.tail, edges.head) for side in (True, False))
    place = np.where(is_row, np.cumsum(is_row), np.cumsum(~is_row)) - 1
    labels = (tuple(compress(edges.labels, side.tolist())) for side in (is_row, ~is_row))
    return LabelledEdges(place[row], place[column], *labels), edges


def edges_on_device(row: AnyArray, column: AnyArray, shape: tuple[int, int] | None) -> DeviceBipartiteGraph:
    """Build a graph from arrays on a GPU: see :meth:`preflow.BipartiteGraph.from_arrays`."""
    device = runtime.find_device()
    rows, columns = (
        check_integers(as_device_array(device, values, name, "graph"), name)
        for values, name in ((row, "row"), (column, "column"))
    )
    return _ends_on_device(device, rows, columns, shape, restorer(device, row))


def _ends_on_device(
    device: Device, row: AnyArray, column: AnyArray, shape: Any, restore: Any
) -> DeviceBipartiteGraph:
    num_rows, num_columns = checked_ends(row, column, shape)
    _check_device_size(num_rows, num_columns, len(row))
    row, column = as_index(row, np.uint32), as_index(column, np.uint32)
    rows, columns = None, None
    if ascends(row):
        rows = Adjacency(line_starts(device, row, num_rows), column)
    elif ascends(column):
        columns = Adjacency(line_starts(device, column, num_columns), row)
    else:
        rows = Adjacency(*grouped_edges(device, row, column, num_rows))
    device.synchronize()
    return DeviceBipartiteGraph(num_rows, num_columns, rows, columns, device=device, restore=restore)


def matrix_on_device(matrix: AnyArray, explicit_zeros: bool) -> DeviceBipartiteGraph:
    """Build the graph of a sparse matrix on a GPU: see :meth:`preflow.BipartiteGraph.from_scipy`."""
    device = runtime.find_device()
    entries = read_entries(
        device.xp, matrix, lambda values, name: as_device_array(device, values, name, "matrix")
    )
    restore = restorer(device, matrix.data)
    if entries.form == "coo":
        kept = kept_entries(entries.data, explicit_zeros)
        return _ends_on_device(device, entries.major[kept], entries.minor[kept], entries.shape, restore)
    _check_device_size(*entries.shape, len(entries.minor))
    lines = Adjacency(*read_lines(device.xp, entries, explicit_zeros))
    device.synchronize()
    sides = (None, lines) if entries.form == "csc" else (lines, None)
    return DeviceBipartiteGraph(*entries.shape, *sides, device=device, restore=restore)


def graph_on_device(graph: BipartiteGraph, device: Device) -> DeviceBipartiteGraph:
    """Copy a graph from the host to a GPU: see :meth:`preflow.BipartiteGraph.on_device`."""
    _check_device_size(*graph.shape, graph.num_edges)
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
    """Return the size of a graph in words, for messages."""
    return f"{graph.num_edges:,} edges, {graph.num_rows:,} rows and {graph.num_columns:,} columns"


def fits_numbers(num_rows: int, num_columns: int, num_edges: int) -> bool:
    """Whether 32 bits can number the edges and vertices of a graph."""
    return num_edges <= MOST_EDGES and num_rows + num_columns <= MOST_VERTICES


def _check_device_size(num_rows: int, num_columns: int, num_edges: int) -> None:
    if not fits_numbers(num_rows, num_columns, num_edges):
        raise UnsuitableMethodError(
            f"{num_edges:,} edges of {num_rows + num_columns:,} vertices are too many for a GPU: "
            "at most 2**32 - 2**25 of each"
        )


def _grouped(keys: Array, values: Array, size: int) -> Adjacency:
    """Return the values of each of the keys 0 to ``size - 1``, in input order."""
    from ..kernels.transpose import count_edges, group_edges

    grouped = Adjacency(np.zeros(size + 1, dtype=keys.dtype), np.empty_like(values))
    count_edges(keys, grouped.first)
    group_edges(keys, values, *grouped)
    return grouped


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


def _row_side(edges: GraphEdges, rows: Iterable[Hashable] | None) -> NDArray[np.bool_]:
    """Return which vertices of a graph are rows."""
    n = len(edges.labels)
    is_row = np.zeros(n, dtype=bool)
    if rows is not None:
        for label in rows:
            if label not in edges.number:
                raise InvalidInputError(f"row {label!r} is not in the graph")
            is_row[edges.number[label]] = True
        return is_row
    sides = [edges.nodes[v].get("bipartite") for v in edges.labels]
    if all(side in (0, 1) for side in sides):
        return np.array([side == 0 for side in sides], dtype=bool)
    # Every vertex twice: each edge joins two copies of different kinds. An odd cycle joins both copies of its
    # vertices; without one, a component of the graph has two components here, one the mirror of the other.
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ends = np.append(edges.tail, edges.tail + n), np.append(edges.head + n, edges.head)
    twice = coo_array((np.ones(len(ends[0]), dtype=bool), ends), shape=(2 * n, 2 * n))
    component = connected_components(twice, directed=False)[1]
    if (component[:n] == component[n:]).any():
        raise _not_bipartite(edges)
    # The first vertex of each component is a row: its component comes first, its mirror's later.
    is_row[:] = component[:n] < component[n:]
    return is_row


def _not_bipartite(edges: GraphEdges) -> InvalidInputError:
    """Return the error that names an odd cycle of a graph."""
    neighbours: dict[Hashable, dict[Hashable, None]] = {label: {} for label in edges.labels}
    for ends in zip(edges.tail.tolist(), edges.head.tolist(), strict=True):
        u, v = (edges.labels[end] for end in ends)
        neighbours[u][v] = neighbours[v][u] = None
    is_row: dict[Hashable, bool] = {}
    before: dict[Hashable, Hashable] = {}
    for root in neighbours:
        if root in is_row:
            continue
        is_row[root] = True
        waiting = [root]
        while waiting:
            v = waiting.pop()
            for w in neighbours[v]:
                if w not in is_row:
                    is_row[w] = not is_row[v]
                    before[w] = v
                    waiting.append(w)
                elif is_row[w] == is_row[v]:
                    cycle = _odd_cycle(before, v, w)
                    shown = ", ".join(map(repr, cycle[:10])) + (", ..." if len(cycle) > 10 else "")
                    return InvalidInputError(
                        f"the graph is not bipartite: it has a cycle of {len(cycle)} vertices: {shown}; "
                        "preflow.matching takes such graphs"
                    )
    raise AssertionError("an odd cycle is lost")


def _odd_cycle(before: dict[Hashable, Hashable], v: Hashable, w: Hashable) -> list[Hashable]:
    """Return the cycle that the edge between v and w closes in a search tree."""
    paths = [[v], [w]]
    for path in paths:
        while path[-1] in before:
            path.append(before[path[-1]])
    first, second = paths
    while len(first) > 1 and len(second) > 1 and first[-2] == second[-2]:
        first.pop()
        second.pop()
    return first + second[-2::-1]
