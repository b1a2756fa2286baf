"""Undirected graphs, with or without weights, and the form in which solvers of general matching get them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ..arrays import (
    AnyArray,
    Array,
    DictInput,
    EdgesInput,
    GraphInput,
    Index,
    Indices,
    Number,
    Restorer,
    TableInput,
    Untyped,
    WeightInput,
)
from ..checks import check_finite
from ..errors import CapacityOverflowError, InvalidInputError
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from ..solving.read_only import ReadOnlyArrays
from .edge_tables import (
    USUAL_NAMES,
    Attribute,
    ColumnNames,
    EdgeColumns,
    agree_but_for_rounding,
    check_attribute,
    check_everywhere,
    edges_of_lists,
    find_columns,
    has_attributes_by_pair,
    in_known_form,
    is_edge_list,
    is_frame,
    is_table,
    is_unnamed,
    kind_of,
    listed_once,
    number_together,
    other_names_by,
    read_dict,
    read_table,
    read_tuples,
    usual_attribute,
    usual_column,
)
from .graph_edges import GraphEdges, edges_of_graph, is_graph
from .network import (
    RENUMBER,
    PlainArcs,
    check_ends,
    column_values,
    frozen,
    plain_arcs,
    read_signed,
    vertex_ids,
)
from .placement import HostArrays, restorer_of
from .sparse_input import read_sparse
from .vertex_names import VertexNames, naming_entries, numbers_of_labels

if TYPE_CHECKING:
    import networkx
    import scipy.sparse

#: Solvers number vertices and blossoms by 32 bits.
MOST_VERTICES = 2**30
#: Number of edges from which rows are built by several threads.
EDGES_FOR_THREADS = 2**15


class Neighbours(NamedTuple):
    """A simple graph in compressed sparse rows; each edge is there from both of its ends."""

    #: shape (n + 1,): where the neighbours of each vertex begin; the last entry is their number
    first: Indices
    neighbour: Indices  #: uint32, shape (2m,)
    weight: NDArray[np.int64]  #: shape (2m,), or (0,) without weights


@dataclass(frozen=True, eq=False)
class UndirectedGraph(VertexNames, HostArrays, ReadOnlyArrays):
    """An undirected graph, with weights or without. Immutable.

    Build one with :meth:`from_arrays` or :meth:`from_scipy`, whose vertices are numbers, or with
    :meth:`from_edges`, :meth:`from_dict`, :meth:`from_pandas` or :meth:`from_networkx`, whose vertices may be
    anything hashable. Edges keep the order in which they were given. Of parallel edges a matching takes the
    best one; no matching has a self loop.

    Attributes
    ----------
    num_vertices : int
        Vertices are numbered ``0 .. num_vertices - 1``.
    tail, head : ndarray of uint32, shape (num_edges,)
        The two ends of each edge, in any order.
    weight : ndarray of int64 or float64, shape (num_edges,), or None
        Finite, of any sign.
    labels : tuple or None
        The caller's vertex labels.
    restore : function or None
        Makes arrays of the caller's kind of the arrays of a result; None where the caller uses NumPy.
    """

    num_vertices: int
    tail: Array
    head: Array
    weight: Array | None = None
    labels: tuple[Hashable, ...] | None = field(default=None, kw_only=True)
    restore: Restorer = field(default=None, kw_only=True, repr=False)
    _label_index: Mapping[Hashable, int] | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Check the arrays, and keep read-only copies."""
        tail, head = vertex_ids(self.tail, "tail"), vertex_ids(self.head, "head")
        num_vertices = check_ends(tail, head, self.num_vertices)
        if num_vertices > MOST_VERTICES:
            raise InvalidInputError(f"{num_vertices:,} vertices are too many: at most 2**30; {RENUMBER}")
        with naming_entries(self.labels, tail, head):
            weight = None if self.weight is None else read_weights(self.weight, len(tail))
        for name, value in {
            "num_vertices": num_vertices,
            "tail": frozen(tail, np.uint32),
            "head": frozen(head, np.uint32),
            "weight": None if weight is None else frozen(weight, weight.dtype),
            "_label_index": numbers_of_labels(self.labels, num_vertices),
        }.items():
            object.__setattr__(self, name, value)

    @property
    def num_edges(self) -> int:
        """Number of edges of the input, with parallel edges and loops."""
        return len(self.tail)

    def __repr__(self) -> str:
        weights = "no weights" if self.weight is None else f"weights of {self.weight.dtype}"
        return f"UndirectedGraph({self.num_vertices:,} vertices, {self.num_edges:,} edges, {weights})"

    @classmethod
    def _of_plain(cls, arcs: PlainArcs, *, weighted: bool) -> UndirectedGraph:
        graph = object.__new__(cls)
        graph.__dict__.update(
            num_vertices=arcs.num_vertices,
            tail=arcs.tail,
            head=arcs.head,
            weight=arcs.numbers if weighted else None,
            labels=None,
            restore=None,
            _label_index=None,
        )
        return graph

    @classmethod
    def from_arrays(
        cls,
        tail: ArrayLike,
        head: ArrayLike,
        weight: ArrayLike | None = None,
        *,
        num_vertices: int | None = None,
    ) -> UndirectedGraph:
        """Build a graph from the ends of its edges.

        Parameters
        ----------
        tail, head : array_like of integers, shape (m,)
            End vertices, numbered from 0. Arrays may be those of any library with ``__dlpack__``, such as
            Torch or JAX: those of results are of the same kind.
        weight : array_like, shape (m,) or scalar, optional
        num_vertices : int, optional
            Default: one more than the largest vertex mentioned.

        Raises
        ------
        InvalidInputError
            Wrong shapes or dtypes, weights that are not finite, vertices out of range.

        Examples
        --------
        >>> UndirectedGraph.from_arrays([0, 1, 2], [1, 2, 0], [5, 6, 7])
        UndirectedGraph(3 vertices, 3 edges, weights of int64)
        """
        given: Any = (num_vertices, tail, head, weight)  # the constructor converts them
        return cls(*given, restore=restorer_of(tail, head, weight))

    @classmethod
    def from_edges(cls, edges: EdgesInput, *, weight: str | None = "weight") -> UndirectedGraph:
        """Build a graph from tuples (u, v) or (u, v, weight) with any hashable labels of vertices.

        Parameters
        ----------
        edges : iterable of tuples
            Labels are numbered in the order in which they appear. The third entry may also be a mapping with
            the attributes of the edge, as in ``graph.edges(data=True)`` of NetworkX.
        weight : str or None, default "weight"
            The attribute with the weight; edges without it have weight 1. None: leave weights out.

        Raises
        ------
        InvalidInputError
            An edge has another length than the first one, or a label is not hashable.

        Examples
        --------
        >>> UndirectedGraph.from_edges([("ada", "bob", 3), ("bob", "cyd", 4)]).labels
        ('ada', 'bob', 'cyd')
        """
        return cls._from_columns(read_tuples(edges, ("u", "v"), _attributes(weight)))

    @classmethod
    def from_dict(cls, adjacency: DictInput, *, weight: str | None = "weight") -> UndirectedGraph:
        """Build a graph from ``{u: {v: weight}}`` or ``{u: [v, ...]}`` with any hashable labels of vertices.

        Parameters
        ----------
        adjacency : mapping
            The keys are vertices in this order, then come neighbours that are no keys. An edge may be listed
            from one of its ends, or from both with the same weight, but for rounding as in
            :meth:`from_scipy`. For the weight there may be a mapping with the attributes of the edge, as in
            NetworkX's ``to_dict_of_dicts``.
        weight : str or None, default "weight"
            The attribute with the weight; edges without it have weight 1. None: leave weights out.

        Examples
        --------
        >>> UndirectedGraph.from_dict({"ada": ["bob", "cyd"], "bob": ["ada"]})
        UndirectedGraph(3 vertices, 2 edges, no weights)
        """
        return cls._from_columns(read_dict(adjacency, _attributes(weight)), merge=True)

    @classmethod
    def _from_columns(cls, edges: EdgeColumns, *, merge: bool = False) -> UndirectedGraph:
        numbered = number_together(edges)
        labels, tail, head = numbered
        given = edges.values.get("weight")
        with naming_entries(*numbered):
            weight = None if given is None else _weights(given, "weight")
        if merge:
            kept = listed_once(numbered, edges.values)
            tail, head, weight = tail[kept], head[kept], None if weight is None else weight[kept]
        return cls(len(labels), tail, head, weight, labels=labels)

    @classmethod
    def from_scipy(
        cls, matrix: scipy.sparse.sparray | scipy.sparse.spmatrix, *, weights: bool = True
    ) -> UndirectedGraph:
        """Build a graph from a symmetric sparse matrix, or from one of its triangles.

        Parameters
        ----------
        matrix : sparse matrix, shape (n, n)
            Each stored entry (u, v) is an edge between u and v, also a zero. Of a symmetric matrix only the
            upper triangle is taken. The two entries of an edge may differ by rounding: by 16 units in the
            last place of the larger one.
        weights : bool
            Whether the values of the entries are weights.

        Raises
        ------
        InvalidInputError
            The matrix is not square, or it is neither symmetric nor a triangle.
        """
        entries = read_sparse(matrix)
        if entries.shape[0] != entries.shape[1]:
            raise InvalidInputError(
                f"the matrix of a graph is square; this one has shape {entries.shape}: rows against columns "
                "are for preflow.bipartite_matching and preflow.linear_assignment"
            )
        tail, head = entries.ends()
        kept = _edges_of_matrix(tail, head, entries.data, weights)
        return cls(entries.shape[0], tail[kept], head[kept], entries.data[kept] if weights else None)

    @classmethod
    def from_networkx(cls, graph: networkx.Graph[Any], *, weight: str | None = None) -> UndirectedGraph:
        """Build a graph from one of NetworkX, igraph or rustworkx, keeping its labels.

        Parameters
        ----------
        graph : Graph or MultiGraph, or one of igraph or rustworkx
        weight : str, optional
            Edge attribute; edges without it have weight 1, as in NetworkX. Default: no weights.

        Raises
        ------
        InvalidInputError
            The graph is directed, or no edge has the attribute.
        """
        edges = edges_of_graph(graph, weight)
        _refuse_directed(edges, "UndirectedGraph.from_networkx")
        return cls._of_networkx(edges, weight)

    @classmethod
    def _of_networkx(cls, edges: GraphEdges, weight: str | None, default: int | None = 1) -> UndirectedGraph:
        values = None
        if weight is not None:
            check_attribute(edges.data, weight, "weight")
            numbers = edges.values(weight, default)
            if default is None:
                check_everywhere(numbers, weight, edges.ends)
            with naming_entries(edges.labels, edges.tail, edges.head):
                values = _weights(numbers, weight)
        return cls(len(edges.labels), edges.tail, edges.head, values, labels=edges.labels)

    @classmethod
    def from_pandas(
        cls,
        frame: TableInput,
        *,
        source: Hashable = "source",
        target: Hashable = "target",
        weight: Hashable | None = None,
    ) -> UndirectedGraph:
        """Build a graph from a table with a row for each edge, keeping its labels.

        Parameters
        ----------
        frame : DataFrame of pandas or polars, Arrow table, structured array of NumPy
            Or any other object with ``__arrow_c_stream__``.
        source, target : str
            Columns of the ends of edges.
        weight : str, optional
            Column of the weights. Default: no weights.
        """
        return cls._from_columns(read_table(frame, (source, target), {"weight": weight}))

    def without_weights(self) -> UndirectedGraph:
        """Return the same graph without weights."""
        return self if self.weight is None else self.with_weights(None)

    def with_weights(self, weight: ArrayLike | None) -> UndirectedGraph:
        """Return the same graph with these weights, one for each edge."""
        given: Any = (self.num_vertices, self.tail, self.head, weight)  # the constructor converts them
        restore = self.restore or restorer_of(weight)
        return UndirectedGraph(*given, labels=self.labels, restore=restore)


def _edges_of_matrix(tail: Array, head: Array, data: Array, weights: bool) -> NDArray[np.int64]:
    """Return which entries of a square matrix are edges: all of a triangle, one triangle of a symmetric one.

    InvalidInputError: the matrix is neither; the message says where.
    """
    upper, lower, loops = (np.flatnonzero(kind) for kind in (tail < head, tail > head, tail == head))
    if not len(upper) or not len(lower):
        return np.arange(len(tail))
    numbers = read_weights(data, len(data)) if weights else data
    size = int(max(head[upper].max(), tail[lower].max())) + 1
    keys = np.minimum(tail, head).astype(np.int64) * size + np.maximum(tail, head)
    if weights and not numbers.all():
        # Zeros that are stored on one side only are no edges.
        for side, other in ((upper, lower), (lower, upper)):
            if not numbers[other].any():
                return np.sort(np.concatenate([side, loops]))
        both = np.intersect1d(keys[upper], keys[lower])
        upper, lower = (side[(numbers[side] != 0) | np.isin(keys[side], both)] for side in (upper, lower))
    upper, lower = (
        side[np.lexsort((numbers[side], keys[side]) if weights else (keys[side],))] for side in (upper, lower)
    )
    neither = (
        "the matrix is neither symmetric, as (matrix + matrix.T) / 2 is, nor a triangle, as triu(matrix) is"
    )
    if not np.array_equal(keys[upper], keys[lower]):
        count = min(len(upper), len(lower))
        other = np.flatnonzero(keys[upper[:count]] != keys[lower[:count]])
        place = int(other[0]) if len(other) else count
        alone = min((side[place] for side in (upper, lower) if place < len(side)), key=keys.__getitem__)
        u, v = int(tail[alone]), int(head[alone])
        raise InvalidInputError(f"{neither}: it stores {data[alone]} at ({u}, {v}) and nothing at ({v}, {u})")
    if weights:
        first, second = numbers[upper], numbers[lower]
        agree = agree_but_for_rounding(first, second, data.dtype)
        if not agree.all():
            which = int(agree.argmin())
            u, v = int(tail[upper[which]]), int(head[upper[which]])
            a, b = first[which].item(), second[which].item()
            raise InvalidInputError(
                f"{neither}: entry ({u}, {v}) is {a}, and ({v}, {u}) is {b}, which differs by {abs(a - b)}"
            )
    return np.sort(np.concatenate([upper, loops]))


def read_weights(values: Any, count: int) -> Array:
    """Return weights as int64 or float64; check them."""
    weight = read_signed(values, count, "weight")
    check_finite("weight", weight)
    return weight


def _refuse_directed(edges: GraphEdges, called: str) -> None:
    if edges.directed:
        raise InvalidInputError(f"the graph is directed: {called} takes undirected graphs (to_undirected)")


def _attributes(weight: str | None, default: int | None = 1) -> list[Attribute]:
    return [] if weight is None else [Attribute("weight", weight, default)]


def _weights(values: AnyArray, name: str) -> Array:
    weight, larger = column_values(values, name, signed=True)
    if larger:
        raise CapacityOverflowError(f"{name} has an integer that does not fit int64")
    return weight


def plain_graph(graph: GraphInput) -> UndirectedGraph | None:
    """Read a tuple of arrays in one pass, weights being integers; None if anything might be wrong."""
    if type(graph) is not tuple or len(graph) not in (2, 3):
        return None
    arcs = plain_arcs(graph[0], graph[1], graph[-1])
    if arcs is None or arcs.num_vertices > MOST_VERTICES or arcs.numbers.dtype.kind != "i":
        return None
    return UndirectedGraph._of_plain(arcs, weighted=len(graph) == 3)


def as_undirected_graph(
    graph: GraphInput,
    weight: WeightInput,
    usual: Sequence[str] = ("weight",),
    *,
    everywhere: bool = False,
    called: str,
    names: ColumnNames | None = None,
) -> UndirectedGraph:
    """Return what a caller gives as a graph; its weights say whether the matching is weighted.

    Besides an UndirectedGraph that is a tuple of arrays (tail, head) or (tail, head, weight), a sparse
    matrix, a graph of NetworkX, igraph or rustworkx, or edges: a list of tuples (u, v) or (u, v, weight), a
    dictionary ``{u: {v: weight}}`` or ``{u: [v, ...]}``, or a table with the columns "source", "target" and
    perhaps "weight".

    `weight` is the name of an attribute of the edges, or of a column of a table; or one weight for each edge.
    False: leave the weights out. None: the first of the `usual` attributes or columns that the graph has, if
    any. `everywhere` says that each edge needs the attribute, unless it is called "weight"; otherwise edges
    without it have weight 1, as in NetworkX. `called` is the function that was called, for messages, `names`
    has the columns of the ends of edges; None if the caller cannot name any.
    InvalidInputError if `weight` is None, and edges have numbers, but none with a usual name.
    """
    name = weight if isinstance(weight, str) else None
    graph = in_known_form(graph, "weight")
    if not is_table(graph):
        (names or USUAL_NAMES).check_unused(graph)
    if isinstance(graph, UndirectedGraph):
        read = graph
    elif isinstance(graph, tuple):
        if len(graph) not in (2, 3):
            raise InvalidInputError(
                f"a tuple must be (tail, head) or (tail, head, weight), got {len(graph)} entries"
            )
        edges = edges_of_lists(graph, ["weight"])
        read = UndirectedGraph.from_arrays(*graph) if edges is None else UndirectedGraph._from_columns(edges)
    elif hasattr(graph, "tocsr"):
        read = UndirectedGraph.from_scipy(graph, weights=weight is None)
    else:
        labelled = _labelled_graph(graph, name, usual if weight is None else (), everywhere, called, names)
        if labelled is not None:
            given = name is not None or weight is None or weight is False
            return labelled if given else labelled.with_weights(weight)
        raise InvalidInputError(
            "a graph is an UndirectedGraph, a tuple (tail, head) or (tail, head, weight) of arrays, a list "
            "of such tuples, a table, a dictionary, a symmetric sparse matrix, or a graph of "
            f"NetworkX, igraph or rustworkx, not {kind_of(graph)}"
        )
    if name is not None:
        raise InvalidInputError(
            f"weight={name!r} names an attribute of edges or a column of a table; this is a "
            f"{type(graph).__name__}"
        )
    if weight is None:
        return read
    return read.without_weights() if weight is False else read.with_weights(weight)


def _labelled_graph(
    graph: GraphInput,
    name: str | None,
    usual: Sequence[str],
    everywhere: bool,
    called: str,
    names: ColumnNames | None,
) -> UndirectedGraph | None:
    """Return the graph of an object whose vertices have labels; None for other objects.

    Its weights have this name, or the first of the `usual` ones that it has; if there are none, no weights.
    """
    if is_graph(graph):
        edges = edges_of_graph(graph, name or next(iter(usual), None))
        _refuse_directed(edges, called)
        name = usual_attribute(edges.data, usual) if usual else name
        return UndirectedGraph._of_networkx(edges, name, _default(name, everywhere))
    if is_edge_list(graph):
        if usual:
            name = _name_of_weight((edge[2] for edge in graph if len(edge) == 3), usual)
        columns = read_tuples(graph, ("u", "v"), _attributes(name, _default(name, everywhere)))
        return UndirectedGraph._from_columns(columns)
    if isinstance(graph, Mapping):
        if usual:
            rows = [row for row in graph.values() if isinstance(row, Mapping)]
            by_pair = has_attributes_by_pair(graph)
            numbers = rows if by_pair else chain.from_iterable(row.values() for row in rows)
            name = _name_of_weight(numbers, usual)
        columns = read_dict(graph, _attributes(name, _default(name, everywhere)))
        return UndirectedGraph._from_columns(columns, merge=True)
    if is_table(graph):
        with other_names_by("UndirectedGraph.from_pandas"):
            return UndirectedGraph.from_pandas(graph, **undirected_columns(graph, name, usual, names))
    return None


def undirected_columns(
    table: TableInput, name: Hashable | None, usual: Sequence[str], names: ColumnNames | None
) -> dict[str, Hashable]:
    """Return the columns of a table with the ends of edges and, if there is one, with the weight.

    That has the `name`, or the first of the `usual` ones.
    """
    if is_frame(table) and not is_unnamed(table) and table.index.equals(table.columns):
        raise InvalidInputError(
            "a DataFrame whose rows and columns have the same labels is a matrix, not a table of edges; "
            "networkx.from_pandas_adjacency makes a graph of it"
        )
    given = (names or USUAL_NAMES)._replace(weight=name)
    found = find_columns(table, {"weight": ()}, given, advise=names is not None)
    column = usual_column(table, usual, tuple(found.values())) if usual else None
    return found if column is None else {**found, "weight": column}


def _default(name: str | None, everywhere: bool) -> int | None:
    """Return the weight of an edge without the attribute; None: each edge needs it."""
    return None if everywhere and name != "weight" else 1


def _name_of_weight(numbers: Iterable[Untyped], usual: Sequence[str]) -> str | None:
    """Return the attribute with the weights, if edges have mappings of attributes instead of weights."""
    given = list(numbers)
    if given and all(isinstance(each, Mapping) for each in given):
        return usual_attribute(given, usual)
    return usual[0]


@kernel
def count_ends(tail: Indices, head: Indices, first: Indices) -> None:
    """Count the edges at each vertex but for loops, and let `first` say where they end."""
    for i in range(len(tail)):
        u, v = np.uint64(tail[i]), np.uint64(head[i])
        if u != v:
            first[u] += ONE
            first[v] += ONE
    total: Number = first[0]
    for vertex in range(1, len(first)):
        total += first[vertex]
        first[vertex] = total


@kernel
def fill_neighbours(
    tail: Indices,
    head: Indices,
    weight: NDArray[np.int64],
    first: Indices,
    neighbour: Indices,
    of_neighbour: NDArray[np.int64],
) -> None:
    """Write each edge at both of its ends, from the back; then `first` says where these begin."""
    for i in range(len(tail)):
        ends = np.uint64(tail[i]), np.uint64(head[i])
        if ends[0] == ends[1]:
            continue
        for side in range(2):
            u = ends[side]
            first[u] -= ONE
            place = first[u]
            neighbour[place] = ends[1 - side]
            if len(weight) > 0:
                of_neighbour[place] = weight[i]


@kernel
def merge_parallel(
    first: Indices, neighbour: Indices, weight: NDArray[np.int64], place: NDArray[np.uint64]
) -> np.uint64:
    """Keep the heaviest of parallel edges; return how many neighbours are left.

    `place` has a zero for each vertex.
    """
    kept = ZERO
    begin: Index = np.uint64(first[0])
    for v in range(len(first) - 1):
        row = kept
        end = np.uint64(first[v + 1])
        for i in range(begin, end):
            u = np.uint64(neighbour[i])
            # One more than where the neighbour is already, if that is in this row.
            known = place[u]
            if known > row:
                if len(weight) > 0:
                    weight[known - ONE] = max(weight[known - ONE], weight[i])
                continue
            neighbour[kept] = u
            if len(weight) > 0:
                weight[kept] = weight[i]
            kept += ONE
            place[u] = kept
        first[v] = row
        begin = end
    first[len(first) - 1] = kept
    return kept


def neighbours_of(
    num_vertices: int, tail: Indices, head: Indices, weight: NDArray[np.int64] | None, threads: int = 1
) -> Neighbours:
    """Return the compressed sparse rows of a graph without loops, and with the best of parallel edges.

    Rows of many edges are built by up to `threads` threads; these sort them.
    """
    weights = np.zeros(0, dtype=np.int64) if weight is None else weight
    if len(tail) >= EDGES_FOR_THREADS and threads > 1:
        from .parallel_neighbours import build_neighbours, weights_of_neighbours  # 10 ms to import

        rows = build_neighbours(num_vertices, tail, head, threads)
        if weight is not None:
            weights = weights_of_neighbours(*rows, tail, head, weight, threads)
        return Neighbours(*rows, weights)
    dtype: DTypeLike = np.uint32 if 2 * len(tail) < 2**32 else np.uint64
    first: Indices = np.zeros(num_vertices + 1, dtype=dtype)
    count_ends(tail, head, first)
    neighbour = np.empty(int(first[-1]), dtype=np.uint32)
    of_neighbour = np.empty(0 if weight is None else len(neighbour), dtype=np.int64)
    fill_neighbours(tail, head, weights, first, neighbour, of_neighbour)
    kept = int(merge_parallel(first, neighbour, of_neighbour, np.zeros(num_vertices, dtype=np.uint64)))
    return Neighbours(first, neighbour[:kept], of_neighbour[:kept])
