"""Flow networks with their arcs in input order and exact capacities, on the host or on a GPU.

FlowNetwork and DeviceFlowNetwork are in one module because each of them creates the other:
:meth:`FlowNetwork.from_arrays` returns a DeviceFlowNetwork if the arrays are on a GPU, and
:meth:`DeviceFlowNetwork.on_host` returns a FlowNetwork.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Rational
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ..arrays import (
    AnyArray,
    Array,
    DictInput,
    EdgesInput,
    Int64,
    Numbers,
    Restorer,
    TableInput,
    Untyped,
)
from ..checks import wrong_entry
from ..cuda import runtime
from ..cuda.runtime import Device, is_on_gpu
from ..errors import CapacityOverflowError, InvalidInputError
from ..kernels.kernel import kernel
from ..solving.read_only import ReadOnlyArrays
from .edge_tables import (
    Attribute,
    EdgeColumns,
    check_attribute,
    listed_once,
    number_together,
    read_dict,
    read_table,
    read_tuples,
)
from .placement import (
    DeviceArrays,
    HostArrays,
    as_device_array,
    check_not_masked,
    host_array,
    is_tensor,
    restorer,
    restorer_of,
    without_decimals,
)
from .sparse_input import read_sparse
from .vertex_names import ArcNames, naming_entries, numbers_of_labels

if TYPE_CHECKING:
    import networkx
    import scipy.sparse

    from .graph_edges import EdgeFunction

INT64_MAX = np.iinfo(np.int64).max
_INTEGER, _FLOAT = np.dtype(np.int64), np.dtype(np.float64)
#: A solve has an array with this many bytes for each vertex, and others. Whether they fit the memory is asked
#: from this number of vertices on.
VERTEX_BYTES, MANY_VERTICES = 8, 2**24
#: What errors advise where there are too many vertices.
RENUMBER = (
    "a list of tuples, list(zip(tail, head, ...)), has labels, and np.unique(numbers, return_inverse=True) "
    "numbers those that occur from 0"
)
#: A larger number of rows or columns is a mistake, even where the caller gives it: that would take petabytes.
MOST_VERTICES = 2**46
#: Kernels on a GPU number the vertices and the two terminals with 32-bit integers, so a network on a GPU must
#: have fewer vertices than this.
TOO_MANY_VERTICES = 2**32 - 4
#: Networks with as many vertices or more have indices of 64 bits.
MOST_INDICES = np.int64(2**32 - 1)
#: All integers up to this one are exact in float64.
EXACT_FLOAT = float(2**53)
#: Python's integers add up this many numbers sooner than NumPy finds the largest one.
FEW = 128


@dataclass(frozen=True, eq=False)
class FlowNetwork(ArcNames, HostArrays, ReadOnlyArrays):
    """A directed network with a capacity on every arc. Immutable.

    Build one with :meth:`from_arrays` or :meth:`from_scipy`, whose vertices are numbers, or with
    :meth:`from_edges`, :meth:`from_dict`, :meth:`from_pandas` or :meth:`from_networkx`, whose vertices may be
    anything hashable. The constructor makes the same checks, and keeps copies of the arrays.

    Arcs keep the order in which they were given: ``flow`` and ``cut_arcs`` of a result refer to it. Parallel
    arcs, antiparallel arcs, self loops (they carry nothing) and arcs of zero capacity are all allowed.

    Attributes
    ----------
    num_vertices : int
        Vertices are numbered ``0 .. num_vertices - 1``.
    tail, head : ndarray of uint32 (uint64 past 2**32 vertices), shape (num_arcs,)
        Arc ``i`` leads from ``tail[i]`` to ``head[i]``.
    capacity : ndarray of int64 or float64, shape (num_arcs,)
        Float capacities may be ``inf``.
    reverse_capacity : ndarray of the same dtype and shape, or None
        Capacity from ``head[i]`` to ``tail[i]``; None means zero everywhere. The flow of such an arc
        is a net one, between ``-reverse_capacity[i]`` and ``capacity[i]``.
    labels : tuple or None
        The caller's vertex labels, where vertices are no numbers.
    saturated : bool
        Whether an input capacity was an integer above 2**63 - 1, which is then stored as 2**63 - 1. The
        capacity of a minimum cut with such an arc exceeds int64.
    restore : function or None
        Makes arrays of the caller's kind of the arrays of a result; None where the caller uses NumPy.
    """

    num_vertices: int
    tail: Array
    head: Array
    capacity: Array
    reverse_capacity: Array | None = field(default=None, kw_only=True)
    labels: tuple[Hashable, ...] | None = field(default=None, kw_only=True)
    saturated: bool = field(default=False, kw_only=True)
    restore: Restorer = field(default=None, kw_only=True, repr=False)
    _label_index: Mapping[Hashable, int] | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Check the arrays, and keep read-only copies with the dtypes that kernels take."""
        tail, head = vertex_ids(self.tail, "tail"), vertex_ids(self.head, "head")
        num_vertices = check_ends(tail, head, self.num_vertices)
        (capacity, saturated), reverse = read_capacities(self.capacity, len(tail), "capacity"), None
        if self.reverse_capacity is not None:
            reverse, larger = read_capacities(self.reverse_capacity, len(tail), "reverse_capacity")
            saturated = saturated or larger
            capacity, reverse = common_dtype(capacity, reverse)
        index_dtype = np.uint32 if num_vertices < 2**32 else np.uint64
        for name, value in {
            "num_vertices": num_vertices,
            "tail": frozen(tail, index_dtype),
            "head": frozen(head, index_dtype),
            "capacity": frozen(capacity, capacity.dtype),
            "reverse_capacity": None if reverse is None else frozen(reverse, reverse.dtype),
            "saturated": self.saturated or saturated,
            "_label_index": numbers_of_labels(self.labels, num_vertices),
        }.items():
            object.__setattr__(self, name, value)

    @property
    def num_arcs(self) -> int:
        """Number of arcs of the input."""
        return len(self.tail)

    @property
    def two_way(self) -> bool:
        """Whether arcs may carry flow from their heads to their tails."""
        return self.reverse_capacity is not None

    def _goes_both_ways(self) -> Array | bool:
        back = self.reverse_capacity
        return False if back is None else (back > 0) | (back == self.capacity)

    def on_host(self) -> FlowNetwork:
        """Return the network with NumPy arrays, as those of results: itself, or a copy."""
        return self.plain()

    def __repr__(self) -> str:
        return f"FlowNetwork({self.num_vertices:,} vertices, {self.num_arcs:,} arcs, {self.capacity.dtype})"

    @classmethod
    def from_arrays(
        cls,
        tail: ArrayLike,
        head: ArrayLike,
        capacity: ArrayLike,
        *,
        reverse_capacity: ArrayLike | None = None,
        num_vertices: int | None = None,
    ) -> FlowNetwork:
        """Build a network from one entry per arc.

        Parameters
        ----------
        tail, head : array_like of integers, shape (m,)
            End vertices, numbered from 0.
        capacity : array_like, shape (m,) or scalar
            Non-negative; integers of any size, bools (0 and 1), fractions, or floats that may be ``inf``.
            If all finite entries of floats are integers up to 2**53, they are solved as integers. Unless all
            fractions are integers, they are rounded to float64; the `gap` of results allows for it.
        reverse_capacity : array_like, shape (m,) or scalar, optional
            Capacity of the opposite direction.
        num_vertices : int, optional
            Default: one more than the largest vertex mentioned.

        Returns
        -------
        FlowNetwork
            Arrays may be those of any library with ``__dlpack__``, such as Torch or JAX: those of results
            are of the same kind. A :class:`preflow.graph.network.DeviceFlowNetwork` if the arrays are on a
            GPU: CuPy arrays, or Torch tensors there. These are not copied to the host, and are copied on the
            GPU only to convert their dtypes: leave them unchanged.

        Raises
        ------
        InvalidInputError
            Wrong shapes or dtypes, negative or NaN capacities, vertices out of range.
        CapacityOverflowError
            Not all capacities are integers, and float64 cannot represent one of the integers, or would round
            one of the fractions to an integer. On a GPU also: an integer above 2**63 - 1.

        Examples
        --------
        >>> FlowNetwork.from_arrays([0, 0, 1], [1, 2, 2], [3, 1, 2])
        FlowNetwork(3 vertices, 3 arcs, int64)
        """
        if cls is FlowNetwork and reverse_capacity is num_vertices is None:
            plain = plain_arcs(tail, head, capacity)
            if plain is not None:
                return cls._of_plain(plain)
        if any(is_on_gpu(values) for values in (tail, head, capacity, reverse_capacity)):
            return network_on_device(tail, head, capacity, reverse_capacity, num_vertices)
        arrays: Any = (num_vertices, tail, head, capacity)  # the constructor converts them
        restore = restorer_of(tail, head, capacity, reverse_capacity)
        return cls(*arrays, reverse_capacity=cast(Any, reverse_capacity), restore=restore)

    @classmethod
    def _of_plain(cls, arcs: PlainArcs) -> FlowNetwork:
        network = object.__new__(cls)
        network.__dict__.update(
            num_vertices=arcs.num_vertices,
            tail=arcs.tail,
            head=arcs.head,
            capacity=arcs.numbers,
            reverse_capacity=None,
            labels=None,
            saturated=False,
            restore=None,
            _label_index=None,
        )
        return network

    @classmethod
    def from_scipy(cls, matrix: scipy.sparse.sparray | scipy.sparse.spmatrix) -> FlowNetwork:
        """Build a network from a square sparse matrix: entry (u, v) is the capacity of an arc u -> v.

        Arcs have the order in which a COO or CSR matrix stores its entries; other formats are sorted by
        rows. Entries that are stored twice become parallel arcs.

        Raises
        ------
        InvalidInputError
            The input is not a square sparse matrix of two dimensions, or its arrays do not fit each other.

        Examples
        --------
        >>> import scipy.sparse
        >>> FlowNetwork.from_scipy(scipy.sparse.csr_array([[0, 3], [0, 0]]))
        FlowNetwork(2 vertices, 1 arcs, int64)
        """
        entries = read_sparse(matrix)
        if entries.shape[0] != entries.shape[1]:
            raise InvalidInputError(f"a capacity matrix is square; this one has shape {entries.shape}")
        tail, head = entries.ends()
        capacity = entries.data
        if entries.form == "csc":
            order = np.argsort(tail, kind="stable")
            tail, head, capacity = tail[order], head[order], capacity[order]
        return cls._of_matrix(tail, head, capacity, range(entries.shape[0]))

    @classmethod
    def _of_matrix(cls, tail: Array, head: Array, capacity: Array, names: Sequence[Hashable]) -> FlowNetwork:
        """Build a network from entries of a matrix; errors call its rows and columns by these names."""
        with naming_entries(names, tail, head):
            return cls.from_arrays(tail, head, capacity, num_vertices=len(names))

    @classmethod
    def from_edges(
        cls, edges: EdgesInput, *, capacity: str = "capacity", undirected: bool = False
    ) -> FlowNetwork:
        """Build a network from tuples (tail, head, capacity) with any hashable labels of vertices.

        Parameters
        ----------
        edges : iterable of tuples
            Labels are numbered in the order in which they appear. The third entry may also be a mapping with
            the attributes of the edge, as in ``graph.edges(data=True)`` of NetworkX.
        capacity : str, default "capacity"
            The attribute with the capacity; an edge without it has infinite capacity.
        undirected : bool
            Whether each edge may carry flow either way, up to its capacity.

        Raises
        ------
        InvalidInputError
            An edge is no such tuple, a label is not hashable, or a capacity is no number or negative.

        Notes
        -----
        O(n + m).

        Examples
        --------
        >>> import preflow
        >>> network = FlowNetwork.from_edges([("a", "b", 3), ("b", "c", 2)])
        >>> network.labels, preflow.max_flow(network, "a", "c").value
        (('a', 'b', 'c'), 2)
        """
        columns = read_tuples(edges, ("tail", "head"), [Attribute("capacity", capacity, np.inf)])
        return cls._from_columns(columns, undirected)

    @classmethod
    def from_dict(
        cls, adjacency: DictInput, *, capacity: str = "capacity", undirected: bool = False
    ) -> FlowNetwork:
        """Build a network from ``{tail: {head: capacity}}`` with any hashable labels of vertices.

        Parameters
        ----------
        adjacency : mapping
            The keys are vertices in this order, then come the heads that are no keys. For the capacity there
            may be a mapping with the attributes of the edge, as in NetworkX's ``to_dict_of_dicts``. Also
            ``{(tail, head): capacity}``, and ``{tail: [head, ...]}``, where each capacity is 1.
        capacity : str, default "capacity"
            The attribute with the capacity; an edge without it has infinite capacity.
        undirected : bool
            Whether each edge may carry flow either way, up to its capacity. An edge may be listed from one
            of its ends, or from both with the same capacity.

        Raises
        ------
        InvalidInputError
            The dictionary has another form, or a capacity is no number or negative.

        Examples
        --------
        >>> FlowNetwork.from_dict({"a": {"b": 3, "c": 1}, "b": {"c": 2}}).labels
        ('a', 'b', 'c')
        """
        columns = read_dict(adjacency, [Attribute("capacity", capacity, np.inf)])
        if not columns.values:
            columns = columns._replace(values={"capacity": [1] * len(columns.first)})
        return cls._from_columns(columns, undirected, merge=undirected)

    @classmethod
    def from_pandas(
        cls,
        frame: TableInput,
        *,
        source: Hashable = "source",
        target: Hashable = "target",
        capacity: Hashable = "capacity",
        undirected: bool = False,
    ) -> FlowNetwork:
        """Build a network from a table with a row for each arc, keeping its labels.

        Parameters
        ----------
        frame : DataFrame of pandas or polars, Arrow table, structured array of NumPy, list of records
            Or any other object with ``__arrow_c_stream__``.
        source, target, capacity : str
            Names of columns, in any case. Vertices may be anything hashable; they are numbered in the order
            in which they appear, row by row.
        undirected : bool
            Whether each arc may carry flow either way, up to its capacity.

        Raises
        ------
        InvalidInputError
            There is no such column, a value is missing, or a capacity is no number or negative.

        Examples
        --------
        >>> import pandas
        >>> table = pandas.DataFrame({"from": ["a", "b"], "to": ["b", "c"], "capacity": [3, 2]})
        >>> FlowNetwork.from_pandas(table, source="from", target="to").labels
        ('a', 'b', 'c')
        """
        return cls._from_columns(read_table(frame, (source, target), {"capacity": capacity}), undirected)

    @classmethod
    def _from_columns(cls, edges: EdgeColumns, undirected: bool, *, merge: bool = False) -> FlowNetwork:
        if "capacity" not in edges.values:
            raise InvalidInputError(
                "edges of a flow network are (tail, head, capacity): the capacity is missing"
            )
        numbered = number_together(edges)
        labels, tail, head = numbered
        with naming_entries(*numbered):
            values, saturated = column_values(edges.values["capacity"], "capacity")
        if merge:
            kept = listed_once(numbered, {"capacity": edges.values["capacity"]})
            tail, head, values = tail[kept], head[kept], values[kept]
        return cls(
            len(labels),
            tail,
            head,
            values,
            reverse_capacity=values if undirected else None,
            labels=labels,
            saturated=saturated,
        )

    @classmethod
    def from_networkx(
        cls, graph: networkx.Graph[Any], *, capacity: str | EdgeFunction | None = "capacity"
    ) -> FlowNetwork:
        """Build a network from a graph of NetworkX, igraph or rustworkx, keeping its labels.

        Parameters
        ----------
        graph : Graph, DiGraph, MultiGraph or MultiDiGraph, or one of igraph or rustworkx
            Arcs come in the order of its edges. Vertices of igraph are called by their attribute "name" if
            they have it, else by their numbers; those of rustworkx by their indices. An edge of rustworkx has
            a mapping of attributes, or just the number. An undirected edge may carry flow either way, up
            to its capacity.
        capacity : str, function or None, default "capacity"
            Edge attribute; an edge without it has infinite capacity, as in NetworkX. Integers of any size
            and bools are exact. Fractions become floats, unless all are integers. A function gets the two
            ends and the attributes of an edge, as in NetworkX 3.7, and returns its capacity, or None for
            none. None: all capacities are infinite.

        Raises
        ------
        InvalidInputError
            No edge has the attribute, or a capacity is no number or negative.

        Examples
        --------
        >>> import networkx
        >>> graph = networkx.DiGraph()
        >>> graph.add_edge("a", "b", capacity=4)
        >>> FlowNetwork.from_networkx(graph).labels
        ('a', 'b')
        """
        from .graph_edges import edges_of_graph

        edges = edges_of_graph(graph, capacity)
        if capacity is None:
            values, saturated = np.full(len(edges.tail), np.inf), False
        else:
            if not callable(capacity):
                check_attribute(edges.data, capacity, "capacity")
            name = "capacity" if callable(capacity) else capacity
            with naming_entries(edges.labels, edges.tail, edges.head):
                values, saturated = column_values(edges.values(capacity, np.inf), name)
        reverse = None if edges.directed else values
        return cls(
            len(edges.labels),
            edges.tail,
            edges.head,
            values,
            reverse_capacity=reverse,
            labels=edges.labels,
            saturated=saturated,
        )


@dataclass(frozen=True, eq=False, repr=False)
class DeviceFlowNetwork(DeviceArrays, FlowNetwork):
    """A flow network on a GPU; :meth:`preflow.FlowNetwork.from_arrays` makes one from arrays on a GPU.

    Methods that run on that GPU read the arrays where they are. Methods that run on the host, such as those
    of ``device="cpu"``, copy the network to the host first. In both cases results are arrays of the caller's
    kind: of the library whose arrays the caller passed, on the same GPU.

    Attributes
    ----------
    tail, head : CuPy array of uint32, shape (num_arcs,)
    capacity, reverse_capacity : CuPy array of int64 or float64, shape (num_arcs,)
    device : Device
    restore : function or None
        Converts CuPy arrays to the caller's kind of array; None where the caller uses CuPy.
    """

    def __post_init__(self) -> None:
        """Keep the arrays, which :func:`network_on_device` has checked."""
        object.__setattr__(self, "_label_index", None)

    def on_host(self) -> FlowNetwork:
        """Return the network with its arrays in the host's memory; copied once."""
        return self._host_copy

    def arcs_of_pairs(
        self, pairs: Sequence[tuple[Hashable, Hashable]]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
        """Return the arcs between the vertices of each pair; they are looked for on the host."""
        return self.on_host().arcs_of_pairs(pairs)

    @cached_property
    def _host_copy(self) -> FlowNetwork:
        reverse = self.reverse_capacity
        with self.current():
            return FlowNetwork.from_arrays(
                self.device.to_host(self.tail),
                self.device.to_host(self.head),
                self.device.to_host(self.capacity),
                reverse_capacity=None if reverse is None else self.device.to_host(reverse),
                num_vertices=self.num_vertices,
            )


@dataclass(frozen=True, eq=False)
class MaxFlowProblem:
    """A network with its source and sink, as files and generators return it.

    Attributes
    ----------
    network : FlowNetwork
    source, sink : int or tuple of int
        Vertices of ``network``, numbered from 0; labels if it has labels.
    name : str
        Its origin; shown in reports.
    """

    network: FlowNetwork
    source: int | tuple[int, ...]
    sink: int | tuple[int, ...]
    name: str = field(default="", kw_only=True)

    def __repr__(self) -> str:
        title = f"{self.name!r}: " if self.name else ""
        return (
            f"MaxFlowProblem({title}{self.network.num_vertices:,} vertices, {self.network.num_arcs:,} arcs, "
            f"source {self.source}, sink {self.sink})"
        )


def with_capacities(network: FlowNetwork, capacity: Array, reverse: Array) -> FlowNetwork:
    """Return a network with other capacities, which are not checked; `reverse` may be empty."""
    changed = copy(network)
    object.__setattr__(changed, "capacity", capacity)
    object.__setattr__(changed, "reverse_capacity", reverse if len(reverse) else None)
    return changed


def flow_bound(network: FlowNetwork, sources: NDArray[np.int64], sinks: NDArray[np.int64]) -> float:
    """Return a positive upper bound on the value of every finite flow.

    Float capacities are rounded, and proofs are checked, relative to this bound. It is the smaller of the
    capacity out of the sources and the capacity into the sinks. If both are infinite, or if one is zero so
    that no flow is possible, it is the sum of all finite capacities, or 1 if that is zero. If no flow is
    possible, the bound is finite. Self loops do not count.
    """
    given = [(network.tail, network.head, network.capacity)]
    if network.reverse_capacity is not None:
        given.append((network.head, network.tail, network.reverse_capacity))
    is_source, is_sink = (vertex_mask(network, terminals) for terminals in (sources, sinks))
    leaving, entering, finite = 0.0, 0.0, 0.0
    with np.errstate(over="ignore"):
        for tail, head, capacity in given:
            leaving += float(capacity[is_source[tail] & ~is_source[head]].sum(dtype=np.float64))
            entering += float(capacity[is_sink[head] & ~is_sink[tail]].sum(dtype=np.float64))
            finite += float(capacity[network.xp.isfinite(capacity) & (tail != head)].sum(dtype=np.float64))
    return min(leaving, entering, finite) or min(finite, sys.float_info.max) or 1.0


def vertex_mask(network: FlowNetwork, vertices: NDArray[np.int64]) -> AnyArray:
    """Return one bool per vertex, True for `vertices`, as an array of the network's array module."""
    mask = network.xp.zeros(network.num_vertices, dtype=bool)
    mask[network.xp.asarray(vertices)] = True
    return mask


def exact_sum(values: AnyArray) -> int | float:
    """Return the sum; exact for up to 2**32 entries of int64, even where int64 would overflow."""
    if values.dtype.kind == "f":
        return float(values.sum())
    if isinstance(values, np.ndarray) and values.size:
        if values.size <= FEW:
            return int(sum(values.ravel().tolist()))
        largest = max(int(values.max()), -int(values.min()))
        if largest * values.size <= INT64_MAX:
            return int(values.sum(dtype=np.int64))
    return (int((values >> 32).sum()) << 32) + int((values & (2**32 - 1)).sum(dtype=np.uint64))


def largest_size(values: AnyArray) -> int:
    """Return the largest absolute value of integers, 0 if there are none."""
    return max(abs(int(values.max())), abs(int(values.min()))) if values.size else 0


def frozen(values: Array, dtype: DTypeLike) -> Array:
    """Return a read-only copy in C order."""
    copy = np.array(values, dtype=dtype, order="C")
    copy.flags.writeable = False
    return copy


@kernel
def copy_arcs(
    tail: NDArray[np.int64],
    head: NDArray[np.int64],
    capacity: Numbers,
    ends: NDArray[np.uint32],
    copied: Numbers,
) -> Int64:
    """Copy arcs and return the number of vertices, -1 unless all numbers are what a network may have."""
    largest = np.int64(-1)
    for i in range(len(tail)):
        largest = max(largest, tail[i], head[i])
        if not (tail[i] >= 0 and head[i] >= 0 and largest < MOST_INDICES and capacity[i] >= 0):
            return np.int64(-1)
        ends[0, i] = tail[i]
        ends[1, i] = head[i]
        copied[i] = capacity[i]
    return largest + 1


class PlainArcs(NamedTuple):
    """Arcs in read-only arrays that nobody else has, checked."""

    num_vertices: int
    tail: NDArray[np.uint32]
    head: NDArray[np.uint32]
    numbers: Array  #: int64 or float64: not negative


def plain_arcs(*arrays: Untyped) -> PlainArcs | None:
    """Read both ends and a number of each arc in one pass; None if anything might be wrong.

    The arrays are those of NumPy of the usual dtypes, or lists of integers.
    """
    try:
        made = [np.array(part) if type(part) is list else part for part in arrays]
    except (OverflowError, ValueError):
        return None
    for k, part in enumerate(made):
        if type(part) is not np.ndarray or part.ndim != 1:
            return None
        if not part.flags.c_contiguous or not part.flags.aligned:
            made[k] = np.require(part, requirements=["C", "A"])
    tail, head, numbers = made
    size, kind = len(tail), numbers.dtype
    if not tail.dtype is head.dtype is _INTEGER or not size == len(head) == len(numbers):
        return None
    if kind is not _INTEGER and (kind is not _FLOAT or type(arrays[2]) is list):
        return None
    ends, copied = np.empty((2, size), np.uint32), np.empty(size, kind)
    count = copy_arcs(tail, head, numbers, ends, copied)
    if count < 0:
        return None
    check_memory(int(count), "vertex", "vertices")
    ends.flags.writeable = copied.flags.writeable = False
    return PlainArcs(int(count), ends[0], ends[1], copied)


def _count(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise InvalidInputError(f"{name} must be an integer, got {value!r}")
    if value < 0:
        raise InvalidInputError(f"{name} must not be negative, got {value}")
    return int(value)


def check_ends(tail: AnyArray, head: AnyArray, num_vertices: Any) -> int:
    """Check that the ends of arcs fit each other and the number of vertices; return this number."""
    if len(tail) != len(head):
        raise InvalidInputError(f"tail has {len(tail)} entries, head has {len(head)}")
    largest = max(int(tail.max()), int(head.max())) if len(tail) else -1
    number = _count(largest + 1 if num_vertices is None else num_vertices, "num_vertices")
    check_memory(number, "vertex", "vertices")
    if largest >= number:
        raise InvalidInputError(f"vertex {largest} is out of range: there are {number} vertices")
    return number


def check_memory(number: int, vertex: str, vertices: str) -> None:
    """Raise InvalidInputError if one array with an entry for each vertex does not fit the memory."""
    if number < MANY_VERTICES:
        return
    needed, there = VERTEX_BYTES * number, sys.maxsize
    with suppress(AttributeError, ValueError):  # Windows does not say how much there is
        there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(MemoryError):
        if needed <= there:
            np.empty(needed, dtype=np.uint8)  # which is not written to
            return
    raise InvalidInputError(
        f"{vertices} are numbered from 0, so {vertex} {number - 1:,} makes {number:,} of them: they take at "
        f"least {math.ceil(needed / 1e9):,} GB, more than there is; {RENUMBER}"
    )


def as_array(values: ArrayLike, name: str) -> Array:
    """Return an array-like, or a tensor on the host, as an array; lists may hold integers of any size."""
    if type(values) is np.ndarray:
        return values
    if is_tensor(values):
        return host_array(values, name)
    check_not_masked(values, name)
    if isinstance(values, Iterable) and not hasattr(values, "__len__"):
        raise InvalidInputError(f"{name} is a {type(values).__name__}: list({name}) makes a list of it")
    if isinstance(values, Mapping | Set):
        raise InvalidInputError(
            f"{name} is a {type(values).__name__}: give a list of numbers, in the order of what they are for"
        )
    try:
        array = np.asarray(values)
        if array.dtype.kind == "f" and isinstance(values, list | tuple):
            # As a float64, since float16 does not hold it.
            large = np.isfinite(array) & (np.abs(array) >= np.float64(EXACT_FLOAT))
            return np.array(values, dtype=object) if large.any() else array  # integers may have been rounded
        return array
    except (BufferError, OverflowError, RuntimeError, TypeError, ValueError) as error:
        raise InvalidInputError(f"{name} is not an array: {error}") from None


def vertex_ids(values: ArrayLike, name: str) -> Array:
    """Return the numbers of vertices, one end of each arc, as an array; check it."""
    return check_vertex_ids(as_array(values, name), name)  # type: ignore[no-any-return]


def check_vertex_ids(ids: AnyArray, name: str) -> AnyArray:
    """Check the shape, the dtype and the signs of an array of vertex numbers, and return the array."""
    if ids.ndim != 1:
        raise InvalidInputError(f"{name} must have one dimension, got shape {ids.shape}")
    if ids.size == 0:
        return ids.astype(np.int64)
    if ids.dtype.kind not in "iu":
        labels = "; from_edges takes labels" if ids.dtype.kind in "OSU" else ""
        whole = f"; {name}.astype(int) cuts off fractions" if ids.dtype.kind == "f" else ""
        raise InvalidInputError(f"{name} must hold integers, got dtype {ids.dtype}{labels or whole}")
    if ids.dtype.kind == "i" and int(ids.min()) < 0:
        raise InvalidInputError(f"{name} has a negative vertex: {int(ids.min())}")
    return ids


def read_capacities(
    values: ArrayLike, num_arcs: int, name: str, *, signed: bool = False
) -> tuple[Array, bool]:
    """Check capacities; return them as int64 or float64, and whether an integer was larger than int64.

    Such integers become 2**63 - 1. With `signed` the values may be negative, as costs and supplies are.
    """
    array = as_array(values, name)
    if array.ndim == 0:
        array = np.broadcast_to(array, (num_arcs,))
    if array.shape != (num_arcs,):
        raise InvalidInputError(f"{name} has shape {array.shape}, expected ({num_arcs},)")
    if num_arcs == 0:
        return np.zeros(0, dtype=np.int64), False
    larger = False
    if array.dtype.kind == "O":
        array, larger = _from_objects(array, name, signed)
    elif array.dtype == np.uint64 and int(array.max()) > INT64_MAX:
        array, larger = np.minimum(array, np.uint64(INT64_MAX)), True
    return check_capacities(array, name, signed=signed), larger


def join(*parts: Array) -> Array:
    """Return arrays of amounts as one, of int64 if all are.

    CapacityOverflowError: floats join integers that float64 cannot represent.
    """
    if any(part.dtype.kind == "f" for part in parts):
        for part in parts:
            if part.dtype.kind == "i" and len(part) and int(np.abs(part).max()) > EXACT_FLOAT:
                raise CapacityOverflowError("amounts mix floats with integers past 2**53")
    return np.concatenate(parts)


def read_signed(values: ArrayLike, count: int, name: str) -> Array:
    """Return numbers of any sign as int64 or float64, of which int64 also has the opposites; check them."""
    array, larger = read_capacities(values, count, name, signed=True)
    if larger:
        raise CapacityOverflowError(f"{name} has an integer that does not fit int64")
    if array.dtype.kind == "i" and len(array) and int(array.min()) == -(2**63):
        raise CapacityOverflowError(f"{name} {-(2**63)} does not fit int64 with its sign changed")
    return array


def check_capacities(array: AnyArray, name: str, *, signed: bool = False) -> AnyArray:
    """Check an array of at least one capacity and return it as int64 or float64; see `read_capacities`."""
    if array.dtype.kind in "biu":
        if not signed and int(array.min()) < 0:
            raise wrong_entry(f"{name} is negative: {int(array.min())}", int(array.argmin()))
        if array.dtype.kind == "u" and int(array.max()) > INT64_MAX:
            raise CapacityOverflowError(f"{name} {int(array.max())} does not fit int64")
        return array.astype(np.int64, copy=False)
    if array.dtype.kind != "f":
        raise InvalidInputError(f"{name} must hold integers or floats, got dtype {array.dtype}")
    if array.dtype.itemsize > 8:
        raise InvalidInputError(f"{name} has dtype {array.dtype}; at most float64 is supported")
    floats = array.astype(np.float64, copy=False)
    least = float(floats.min())
    if np.isnan(least):
        raise wrong_entry(f"{name} is NaN", int(np.isnan(floats).argmax()))
    if least < 0 and not signed:
        raise wrong_entry(f"{name} is negative: {least}", int(floats.argmin()))
    return floats


def _from_objects(array: Array, name: str, signed: bool = False) -> tuple[Array, bool]:
    """Return Python numbers as int64 or float64, and whether an integer was larger than int64.

    Such integers become 2**63 - 1. Unless all numbers are integers, they become the nearest floats. A number
    that float64 would change into a whole number raises an error, because a network of whole floats is solved
    as if these were exact.
    """
    numbers = without_decimals(array).tolist()
    kinds = set(map(type, numbers))
    for kind in kinds:
        if not issubclass(kind, Rational | float | np.floating | np.bool_):
            i = next(i for i, value in enumerate(numbers) if type(value) is kind)
            raise wrong_entry(f"{name} is not a number: {numbers[i]!r}", i)
    if all(issubclass(kind, int | np.integer | np.bool_) for kind in kinds) or all(map(_is_integer, numbers)):
        integers = [int(value) for value in numbers]
        if min(integers) < 0 and not signed:
            raise wrong_entry(f"{name} is negative: {min(integers)}", integers.index(min(integers)))
        if min(integers) < -INT64_MAX:
            raise CapacityOverflowError(f"{name} {min(integers)} does not fit int64")
        if max(integers) <= INT64_MAX:
            return np.array(integers, dtype=np.int64), False
        return np.array([min(value, INT64_MAX) for value in integers], dtype=np.int64), True
    floats = []
    for value in numbers:
        try:
            rounded = float(value)
        except OverflowError:
            rounded = math.inf
        if rounded != value and isinstance(value, Rational) and (math.isinf(rounded) or rounded % 1 == 0):
            raise CapacityOverflowError(
                f"{name} mixes floats with the number {value}, which float64 cannot represent exactly"
            )
        floats.append(rounded)
    return np.array(floats, dtype=np.float64), False


def _is_integer(value: Any) -> bool:
    return isinstance(value, np.bool_) or (isinstance(value, Rational) and value.denominator == 1)


def column_values(values: AnyArray, name: str, *, signed: bool = False) -> tuple[Array, bool]:
    """Return a column of numbers, a list or an array, as int64 or float64: see `read_capacities`."""
    if not isinstance(values, list | tuple):
        return read_capacities(values, len(values), name, signed=signed)
    if not values:
        return np.zeros(0, dtype=np.int64), False
    plain = _from_plain_numbers(values)
    if plain is not None:
        return check_capacities(plain, name, signed=signed), False
    objects = np.empty(len(values), dtype=object)
    objects[:] = values
    return _from_objects(objects, name, signed)


def _from_plain_numbers(values: Sequence[Any]) -> Array | None:
    """Return Python's own numbers as int64 or float64 if these represent all of them, else None."""
    kinds = set(map(type, values))
    if kinds == {int}:
        try:
            integers = np.array(values, dtype=np.int64)
        except OverflowError:
            return None
        return integers if int(integers.min()) >= -INT64_MAX else None
    if not kinds <= {int, float}:
        return None
    if int in kinds and max(abs(value) for value in values if type(value) is int) > EXACT_FLOAT:
        return None
    return np.array(values, dtype=np.float64)


def common_dtype(first: AnyArray, second: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Return two arrays of numbers in one dtype."""
    if first.dtype == second.dtype:
        return first, second
    for array in (first, second):
        if array.dtype.kind == "i" and array.size and max(int(array.max()), -int(array.min())) > EXACT_FLOAT:
            raise CapacityOverflowError(
                "numbers mix floats with integers past 2**53, which float64 cannot hold"
            )
    return first.astype(np.float64), second.astype(np.float64)


def network_on_device(
    tail: AnyArray, head: AnyArray, capacity: AnyArray, reverse_capacity: AnyArray, num_vertices: int | None
) -> DeviceFlowNetwork:
    """Build a network from arrays on a GPU: see :meth:`preflow.FlowNetwork.from_arrays`.

    A capacity may also be a number on the host.
    """
    device = runtime.find_device()
    tails, heads = (
        check_vertex_ids(as_device_array(device, values, name, "network"), name)
        for values, name in ((tail, "tail"), (head, "head"))
    )
    number = check_ends(tails, heads, num_vertices)
    if number >= TOO_MANY_VERTICES:
        raise InvalidInputError(f"{number:,} vertices are too many for a GPU: at most 2**32 - 5")
    capacities = _capacities_on_device(device, capacity, len(tails), "capacity")
    reverse = None
    if reverse_capacity is not None:
        reverse = _capacities_on_device(device, reverse_capacity, len(tails), "reverse_capacity")
        capacities, reverse = common_dtype(capacities, reverse)
    return DeviceFlowNetwork(
        number,
        _as_uint32(device, tails),
        _as_uint32(device, heads),
        capacities,
        reverse_capacity=reverse,
        device=device,
        restore=restorer(device, tail),
    )


def _as_uint32(device: Device, ids: AnyArray) -> AnyArray:
    contiguous = device.xp.ascontiguousarray(ids)
    return contiguous.view(np.uint32) if ids.dtype == np.int32 else contiguous.astype(np.uint32, copy=False)


def _capacities_on_device(device: Device, values: AnyArray, num_arcs: int, name: str) -> AnyArray:
    xp = device.xp
    if not is_on_gpu(values) and np.ndim(values) == 0:
        number, larger = read_capacities(values, 1, name)
        if larger:
            raise CapacityOverflowError(f"{name} {values} does not fit int64")
        return xp.full(num_arcs, number[0], dtype=number.dtype)
    array = as_device_array(device, values, name, "network")
    if array.ndim == 0:
        array = xp.broadcast_to(array, (num_arcs,))
    if array.shape != (num_arcs,):
        raise InvalidInputError(f"{name} has shape {array.shape}, expected ({num_arcs},)")
    if num_arcs == 0:
        return xp.zeros(0, dtype=np.int64)
    return xp.ascontiguousarray(check_capacities(array, name))
