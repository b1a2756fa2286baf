"""Networks with a cost, a capacity and a lower bound on every arc, and a supply at every vertex."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import (
    Array,
    DictInput,
    EdgesInput,
    NetworkInput,
    Restorer,
    SupplyInput,
    TableInput,
)
from ..checks import check_finite, wrong_entry
from ..errors import CapacityOverflowError, InvalidInputError
from ..solving.read_only import ReadOnlyArrays
from .edge_tables import (
    CAPACITY,
    COST,
    LOWER,
    USUAL_NAMES,
    Attribute,
    ColumnNames,
    EdgeColumns,
    check_attribute,
    check_not_misnamed,
    check_unlimited,
    edges_of_lists,
    find_columns,
    has_columns,
    in_known_form,
    kind_of,
    name_of_cost,
    number_together,
    numbers_by_label,
    read_by_form,
    read_dict,
    read_table,
    read_tuples,
)
from .graph_edges import edges_of_graph, is_graph, node_attributes
from .network import (
    EXACT_FLOAT,
    as_array,
    check_ends,
    column_values,
    frozen,
    read_capacities,
    read_signed,
    vertex_ids,
)
from .placement import HostArrays, restorer_of
from .sparse_input import read_sparse
from .vertex_names import ArcNames, naming_entries, numbers_of_labels

if TYPE_CHECKING:
    import networkx
    import scipy.sparse


@dataclass(frozen=True, eq=False)
class CostNetwork(ArcNames, HostArrays, ReadOnlyArrays):
    """A directed network for minimum-cost flow. Immutable.

    Build one with :meth:`from_arrays` or :meth:`from_scipy`, whose vertices are numbers, or with
    :meth:`from_edges`, :meth:`from_dict`, :meth:`from_pandas` or :meth:`from_networkx`, whose vertices may be
    anything hashable.

    Arcs keep the order in which they were given. Parallel arcs, antiparallel arcs and self loops are allowed.

    Attributes
    ----------
    num_vertices : int
        Vertices are numbered ``0 .. num_vertices - 1``.
    tail, head : ndarray of uint32 (uint64 past 2**32 vertices), shape (num_arcs,)
        Arc ``i`` leads from ``tail[i]`` to ``head[i]``.
    capacity : ndarray of int64 or float64, shape (num_arcs,)
        Float capacities may be ``inf``.
    cost : ndarray of int64 or float64, shape (num_arcs,)
        Cost of one unit of flow; may be negative.
    lower : ndarray of int64 or float64, shape (num_arcs,), or None
        The least flow of each arc; None means zero everywhere.
    supply : ndarray of int64 or float64, shape (num_vertices,), or None
        What each vertex sends (positive) or receives (negative); None means zero everywhere.
    undirected : ndarray of bool, shape (num_arcs,), or None
        Arcs that carry flow in either direction, at the same cost a unit. The flow of such an arc is a net
        one, between ``-capacity[i]`` and ``capacity[i]``. Its cost is not negative, its lower bound is zero.
    labels : tuple or None
        The caller's vertex labels.
    restore : function or None
        Makes arrays of the caller's kind of the arrays of a result; None where the caller uses NumPy.
    """

    num_vertices: int
    tail: Array
    head: Array
    capacity: Array = field(kw_only=True)
    cost: Array = field(kw_only=True)
    lower: Array | None = field(default=None, kw_only=True)
    supply: Array | None = field(default=None, kw_only=True)
    undirected: NDArray[np.bool_] | None = field(default=None, kw_only=True)
    labels: tuple[Hashable, ...] | None = field(default=None, kw_only=True)
    restore: Restorer = field(default=None, kw_only=True, repr=False)
    _label_index: Mapping[Hashable, int] | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Check the arrays, and keep read-only copies."""
        tail, head = vertex_ids(self.tail, "tail"), vertex_ids(self.head, "head")
        num_vertices = check_ends(tail, head, self.num_vertices)
        count = len(tail)
        with naming_entries(self.labels, tail, head):
            capacity, _ = read_capacities(self.capacity, count, "capacity")
            lower = None if self.lower is None else read_signed(self.lower, count, "lower")
            cost = read_signed(self.cost, count, "cost")
            check_finite("cost", cost)
            if lower is not None:
                check_finite("lower", lower)
                _check_bounds(lower, capacity)
            undirected = self._read_undirected(cost, lower, count)
        supply = None if self.supply is None else read_supply(self.supply, num_vertices)
        index_dtype = np.uint32 if num_vertices < 2**32 else np.uint64
        for name, value in {
            "num_vertices": num_vertices,
            "tail": frozen(tail, index_dtype),
            "head": frozen(head, index_dtype),
            "capacity": frozen(capacity, capacity.dtype),
            "cost": frozen(cost, cost.dtype),
            "lower": None if lower is None or not lower.any() else frozen(lower, lower.dtype),
            "supply": None if supply is None else frozen(supply, supply.dtype),
            "undirected": undirected,
            "_label_index": numbers_of_labels(self.labels, num_vertices),
        }.items():
            object.__setattr__(self, name, value)

    def _read_undirected(self, cost: Array, lower: Array | None, count: int) -> NDArray[np.bool_] | None:
        if self.undirected is None:
            return None
        marks = as_array(self.undirected, "undirected")
        if marks.dtype != bool or marks.shape not in ((), (count,)):
            raise InvalidInputError(
                f"undirected must be a bool, or one for each of {count} arcs, got {marks.dtype} of shape "
                f"{marks.shape}"
            )
        marks = np.broadcast_to(marks, (count,))
        if not marks.any():
            return None
        bad = marks & (cost < 0) if lower is None else marks & ((cost < 0) | (lower != 0))
        if bad.any():
            arc = int(bad.argmax())
            raise wrong_entry(
                "undirected arcs have no negative cost, as flow forth and back would be a cycle of negative "
                "cost, and no lower bound: this is not so",
                arc,
            )
        marks = np.array(marks)
        marks.flags.writeable = False
        return marks

    @property
    def num_arcs(self) -> int:
        """Number of arcs of the input."""
        return len(self.tail)

    @property
    def two_way(self) -> Array | bool:
        """Which arcs may carry flow from their heads to their tails: one bool for each, or False for all."""
        return False if self.undirected is None else self.undirected

    def _goes_both_ways(self) -> Array | bool:
        return self.two_way

    def __repr__(self) -> str:
        return (
            f"CostNetwork({self.num_vertices:,} vertices, {self.num_arcs:,} arcs, costs of {self.cost.dtype})"
        )

    @classmethod
    def from_arrays(
        cls,
        tail: ArrayLike,
        head: ArrayLike,
        *,
        capacity: ArrayLike = np.inf,
        cost: ArrayLike = 0,
        lower: ArrayLike | None = None,
        supply: ArrayLike | None = None,
        undirected: ArrayLike | None = None,
        num_vertices: int | None = None,
    ) -> CostNetwork:
        """Build a network from one entry per arc.

        Parameters
        ----------
        tail, head : array_like of integers, shape (m,)
            End vertices, numbered from 0. Arrays may be those of any library with ``__dlpack__``, such as
            Torch or JAX: those of results are of the same kind.
        capacity : array_like, shape (m,) or scalar
            Non-negative; may be ``inf``, which is the default.
        cost : array_like, shape (m,) or scalar
            Cost of one unit; any sign, finite.
        lower : array_like, shape (m,) or scalar, optional
            Least flow of each arc, at most the capacity; may be negative.
        supply : array_like, shape (num_vertices,), optional
            Positive: the vertex sends that much; negative: it receives. The sum is zero.
        undirected : array_like of bool, shape (m,) or scalar, optional
            Arcs that carry flow in either direction. Negative costs are refused on them: flow that goes forth
            and back would be a cycle of negative cost, and the cheapest flow of a net amount is no longer a
            minimum-cost flow problem. Two opposite arcs model flow both ways at once.
        num_vertices : int, optional
            Default: the length of `supply`, or one more than the largest vertex mentioned.

        Raises
        ------
        InvalidInputError
            Wrong shapes or dtypes, NaN, vertices out of range, a lower bound above its capacity; an
            undirected arc of negative cost or with a lower bound.
        CapacityOverflowError
            A number does not fit 64 bits.

        Examples
        --------
        >>> CostNetwork.from_arrays([0, 0, 1], [1, 2, 2], capacity=4, cost=[1, 5, 2], supply=[3, 0, -3])
        CostNetwork(3 vertices, 3 arcs, costs of int64)
        """
        if num_vertices is None and supply is not None:
            num_vertices = int(as_array(supply, "supply").size)
        given: Any = (num_vertices, tail, head)  # the constructor converts them
        return cls(
            *given,
            capacity=cast(Any, capacity),
            cost=cast(Any, cost),
            lower=cast(Any, lower),
            supply=cast(Any, supply),
            undirected=cast(Any, undirected),
            restore=restorer_of(tail, head, capacity, cost, lower, supply, undirected),
        )

    @classmethod
    def from_scipy(
        cls,
        cost: scipy.sparse.sparray | scipy.sparse.spmatrix,
        *,
        capacity: scipy.sparse.sparray | scipy.sparse.spmatrix | ArrayLike = np.inf,
        lower: scipy.sparse.sparray | scipy.sparse.spmatrix | ArrayLike | None = None,
        supply: ArrayLike | None = None,
    ) -> CostNetwork:
        """Build a network from a square sparse matrix: each stored entry (u, v) is an arc with its cost.

        Parameters
        ----------
        cost : sparse matrix, shape (n, n)
            Stored zeros are arcs of cost zero.
        capacity : number, array_like, shape (m,), or sparse matrix, shape (n, n)
            A matrix has the capacity of each arc at the same entry; arcs without an entry have capacity zero.
            An array has one number for each stored entry of `cost`, in the order of ``cost.tocoo()``.
        lower : number, array_like, shape (m,), or sparse matrix, shape (n, n), optional
            Least flow of each arc, in the same form; 0 for arcs without an entry. May be negative.
        supply : array_like, shape (n,), optional

        Raises
        ------
        InvalidInputError
            A matrix is not square, or two have different shapes; `capacity` or `lower` has an entry, not
            zero, where `cost` stores none; a lower bound is above its capacity.

        Examples
        --------
        >>> import preflow
        >>> from scipy.sparse import csr_array
        >>> cost = csr_array([[0, 1, 5], [0, 0, 2], [0, 0, 0]])
        >>> lower = csr_array([[0, 0, 2], [0, 0, 0], [0, 0, 0]])
        >>> network = CostNetwork.from_scipy(cost, capacity=4, lower=lower, supply=[3, 0, -3])
        >>> preflow.min_cost_flow(network).flow.tolist()
        [1, 2, 1]
        """
        entries = read_sparse(cost)
        if entries.shape[0] != entries.shape[1]:
            raise InvalidInputError(f"a matrix of costs is square; this one has shape {entries.shape}")
        tail, head = entries.ends()
        bounds: dict[str, Any] = {
            name: _entries_at(name, given, tail, head, entries.shape) if hasattr(given, "tocsr") else given
            for name, given in (("capacity", capacity), ("lower", lower))
        }
        return cls.from_arrays(
            tail, head, **bounds, cost=entries.data, supply=supply, num_vertices=entries.shape[0]
        )

    @classmethod
    def from_networkx(
        cls,
        graph: networkx.Graph[Any],
        *,
        capacity: str = "capacity",
        weight: str | None = "weight",
        demand: str = "demand",
        lower: str = "lower",
    ) -> CostNetwork:
        """Build a network from a graph of a library by NetworkX's conventions, keeping its labels.

        Parameters
        ----------
        graph : Graph, DiGraph, MultiGraph or MultiDiGraph, or one of igraph or rustworkx
            Arcs come in the order of its edges. The edges of an undirected graph carry flow either way.
        capacity : str
            Edge attribute; an edge without it has infinite capacity.
        weight : str or None
            Edge attribute, the cost of one unit; 0 where it is missing. "cost" and "weight" stand for each
            other if no edge has the one that is asked for. None: all costs are zero.
        demand : str
            Node attribute, what the node receives: a negative demand is a supply. 0 where it is missing.
        lower : str
            Edge attribute, the least flow; 0 where it is missing. NetworkX has no such attribute.

        Raises
        ------
        InvalidInputError
            No edge has the attribute `weight`, and edges have another one that could be meant.

        Examples
        --------
        >>> import networkx
        >>> graph = networkx.DiGraph()
        >>> graph.add_node("a", demand=-5); graph.add_node("b", demand=5)
        >>> graph.add_edge("a", "b", weight=3, capacity=10)
        >>> CostNetwork.from_networkx(graph).supply.tolist()
        [5, -5]
        """
        edges = edges_of_graph(graph, weight)
        with naming_entries(edges.labels, edges.tail, edges.head):
            for name, usual in ((capacity, "capacity"), (lower, "lower")):
                if name != usual and isinstance(name, str):
                    check_attribute(edges.data, name, usual)
            limits, _ = column_values(edges.values(capacity, np.inf), capacity)
            if weight is None:
                costs, larger = np.zeros(len(edges.tail), dtype=np.int64), False
            else:
                weight = name_of_cost(edges.data, weight)
                check_not_misnamed(edges.data, weight, "weight", (capacity, lower))
                costs, larger = column_values(edges.values(weight, 0), weight, signed=True)
            least, huge = column_values(edges.values(lower, 0), lower, signed=True)
        with naming_entries(edges.labels, np.arange(len(edges.labels))):
            demands, many = column_values(
                [edges.nodes[v].get(demand, 0) for v in edges.labels], demand, signed=True
            )
        if larger or huge or many:
            raise CapacityOverflowError("an attribute of an edge or a node does not fit int64")
        return cls(
            len(edges.labels),
            edges.tail,
            edges.head,
            capacity=limits,
            cost=costs,
            lower=least,
            supply=-demands,
            undirected=None if edges.directed else np.ones(len(edges.data), dtype=bool),
            labels=edges.labels,
        )

    @classmethod
    def from_edges(
        cls,
        edges: EdgesInput,
        *,
        capacity: str = "capacity",
        weight: str = "weight",
        lower: str = "lower",
        supply: SupplyInput = None,
    ) -> CostNetwork:
        """Build a network from tuples (tail, head, capacity, cost) with any hashable labels of vertices.

        Parameters
        ----------
        edges : iterable of tuples
            Labels are numbered in the order in which they appear. All tuples may have a lower bound as a
            fifth entry. There may also be tuples (tail, head, attributes) with a mapping, as in
            ``graph.edges(data=True)`` of NetworkX.
        capacity, weight, lower : str
            The attributes with the capacity, the cost of one unit and the least flow. An edge without the
            first has infinite capacity, one without the second costs nothing.
        supply : mapping of label to number, Series, or table of labels and numbers, optional
            Labels that are left out have none; labels that no edge has are vertices, too.

        Raises
        ------
        InvalidInputError
            An edge is no such tuple, a label is not hashable, or something else is no number.

        Examples
        --------
        >>> import preflow
        >>> edges = [("a", "b", 4, 1), ("a", "c", 4, 5), ("b", "c", 4, 2)]
        >>> network = CostNetwork.from_edges(edges, supply={"a": 6, "c": -6})
        >>> preflow.min_cost_flow(network).flow_dict()["a"]
        {'b': 4, 'c': 2}
        """
        columns = read_tuples(edges, ("tail", "head"), _attributes(capacity, weight, lower))
        return cls._from_columns(columns, supply)

    @classmethod
    def from_dict(
        cls,
        adjacency: DictInput,
        *,
        capacity: str = "capacity",
        weight: str = "weight",
        lower: str = "lower",
        supply: SupplyInput = None,
    ) -> CostNetwork:
        """Build a network from ``{tail: {head: (capacity, cost)}}`` with any hashable labels of vertices.

        Parameters
        ----------
        adjacency : mapping
            The keys are vertices in this order, then come the heads that are no keys. All edges may have a
            lower bound as a third number. In place of the numbers there may be a mapping with the attributes
            of the edge, as in NetworkX's ``to_dict_of_dicts``.
        capacity, weight, lower, supply
            As in :meth:`from_edges`.

        Examples
        --------
        >>> CostNetwork.from_dict({"a": {"b": (4, 1)}}, supply={"a": 3, "b": -3}).supply.tolist()
        [3, -3]
        """
        return cls._from_columns(read_dict(adjacency, _attributes(capacity, weight, lower)), supply)

    @classmethod
    def from_pandas(
        cls,
        frame: TableInput,
        *,
        source: Hashable = "source",
        target: Hashable = "target",
        capacity: Hashable | None = "capacity",
        cost: Hashable = "cost",
        lower: Hashable | None = "lower",
        supply: SupplyInput = None,
    ) -> CostNetwork:
        """Build a network from a table with a row for each arc, keeping its labels.

        Parameters
        ----------
        frame : DataFrame of pandas or polars, Arrow table, structured array of NumPy, list of records
            Or any other object with ``__arrow_c_stream__``.
        source, target, capacity, cost, lower : str or None
            Names of columns, in any case. None for `capacity` means infinite, for `lower` zero. The table
            need not have a column "lower".
        supply : mapping of label to number, Series, or table of labels and numbers, optional
            Labels that are left out have none; labels that no edge has are vertices, too.

        Examples
        --------
        >>> import pandas
        >>> table = pandas.DataFrame({"source": ["a"], "target": ["b"], "capacity": [4], "cost": [2]})
        >>> CostNetwork.from_pandas(table, supply={"a": 3, "b": -3}).labels
        ('a', 'b')
        """
        if lower == "lower" and not has_columns(frame, [lower]):
            lower = None
        values = {"capacity": capacity, "cost": cost, "lower": lower}
        return cls._from_columns(read_table(frame, (source, target), values), supply)

    @classmethod
    def _from_columns(cls, edges: EdgeColumns, supply: SupplyInput) -> CostNetwork:
        if "cost" not in edges.values:
            raise InvalidInputError(
                "edges of a network with costs are (tail, head, capacity, cost): two numbers are missing"
            )
        wanted = {} if supply is None else numbers_by_label(supply, "supply")
        if wanted is None:
            raise InvalidInputError(
                "supply must be a mapping of labels to numbers, a Series, or a table of labels and numbers, "
                f"got {type(supply).__name__}"
            )
        labels, tail, head = number_together(edges, wanted)
        with naming_entries(labels, tail, head):
            values: dict[str, Any] = {
                name: column_values(column, name, signed=name != "capacity")
                for name, column in edges.values.items()
            }
        larger = [name for name, (_, too_large) in values.items() if too_large and name != "capacity"]
        if larger:
            raise CapacityOverflowError(f"{larger[0]} has an integer that does not fit int64")
        numbers = {"capacity": np.inf, **{name: column for name, (column, _) in values.items()}}
        supplies: Any = [wanted.get(label, 0) for label in labels] if wanted else None
        return cls(len(labels), tail, head, **numbers, supply=supplies, labels=labels)

    def supplies_of(self, supply: SupplyInput) -> Array:
        """Return a supply that a caller gives, an array or numbers by vertex, as an array.

        Numbers by vertex are a mapping, a table of vertices and numbers, or, where the network has labels, a
        Series of pandas.
        """
        return read_supply(self.by_vertex(supply, "supply", 0, finite=True), self.num_vertices)


def read_supply(values: Any, num_vertices: int) -> Array:
    """Check supplies and return them as int64 or float64; that they sum to zero is checked by a solve."""
    if as_array(values, "supply").ndim == 0:
        raise InvalidInputError(
            f"supply must have one entry for each of {num_vertices} vertices, got {values!r}"
        )
    supply = read_signed(values, num_vertices, "supply")
    check_finite("supply", supply)
    return supply


#: Attributes of nodes that could be meant for the demand.
SUPPLY_NAMES = ("supply", "supplies", "demands", "balance")


def check_demands_named(network: NetworkInput) -> None:
    """Raise InvalidInputError if no node of a graph has a demand, but nodes have what may be one."""
    if not is_graph(network):
        return
    names = {name for data in node_attributes(network) for name in data}
    meant = [name for name in SUPPLY_NAMES if name in names]
    if meant and "demand" not in names:
        raise InvalidInputError(
            f"no node has the attribute 'demand', and nodes have {meant[0]!r}: give demand={meant[0]!r} to "
            "CostNetwork.from_networkx, positive where a vertex receives, or a supply"
        )


def as_cost_network(network: NetworkInput, names: ColumnNames | None = None) -> CostNetwork:
    """Return what a caller gives as a network with costs.

    That is a CostNetwork, a tuple (tail, head, capacity, cost), perhaps with lower bounds as a fifth entry, a
    sparse matrix of costs, a graph of a library, or edges: a list of tuples (tail, head, capacity, cost), a
    dictionary ``{tail: {head: (capacity, cost)}}``, or a table with the columns "source", "target", "cost"
    and, unless it is infinite, "capacity". `names` are those that the caller gives to columns or attributes;
    None if it cannot name any.
    """
    if isinstance(network, CostNetwork | tuple):
        (names or USUAL_NAMES).check_unused(network)
    if isinstance(network, CostNetwork):
        return network
    if isinstance(network, tuple):
        if len(network) not in (4, 5):
            raise InvalidInputError(
                "a tuple must be (tail, head, capacity, cost) or (tail, head, capacity, cost, lower), got "
                f"{len(network)} entries; CostNetwork.from_arrays has more"
            )
        edges = edges_of_lists(network, ["capacity", "cost", "lower"])
        if edges is not None:
            return CostNetwork._from_columns(edges, None)
        tail, head, capacity, cost, *lower = network
        return CostNetwork.from_arrays(
            tail, head, capacity=capacity, cost=cost, lower=lower[0] if lower else None
        )
    network = in_known_form(network, "cost")
    read: CostNetwork | None = read_by_form(
        CostNetwork,
        network,
        names,
        lambda: cost_columns(network, names),
        capacity="capacity",
        cost="weight",
        lower="lower",
    )
    if read is not None:
        return read
    raise InvalidInputError(
        "a network with costs is a CostNetwork, what read_dimacs returns for a .min file, a tuple "
        "(tail, head, capacity, cost) of arrays, a list of such tuples, a table, a dictionary, a sparse "
        f"matrix of costs, or a graph of NetworkX, igraph or rustworkx, not {kind_of(network)}"
    )


def cost_columns(table: TableInput, names: ColumnNames | None) -> dict[str, Any]:
    """Return the columns of a table that a minimum-cost flow reads; None for those that it lacks."""
    usual = {"capacity": CAPACITY, "cost": COST, "lower": LOWER}
    unlimited = names is not None and names.capacity == np.inf
    if unlimited:
        del usual["capacity"]
    found = find_columns(table, usual, names, needed=["cost"])
    if names is not None and not unlimited and "capacity" not in found:
        check_unlimited(table, list(found.values()))
    return {"capacity": None, "lower": None, **found}


def _attributes(capacity: str, weight: str, lower: str) -> list[Attribute]:
    return [
        Attribute("capacity", capacity, np.inf, needed=capacity != "capacity"),
        Attribute("cost", weight, 0, needed=False, argument="weight"),
        Attribute("lower", lower, 0, needed=lower != "lower", left_out=True),
    ]


def lower_of(network: CostNetwork) -> Array:
    """Return the lower bounds of the arcs, zeros if there are none."""
    return np.zeros(network.num_arcs, dtype=np.int64) if network.lower is None else network.lower


def supplies_or_own(network: CostNetwork, supply: SupplyInput) -> Array:
    """Return the supplies that a caller gives, else those of the network, else zeros."""
    if supply is not None:
        return network.supplies_of(supply)
    if network.supply is not None:
        return network.supply
    return np.zeros(network.num_vertices, dtype=np.int64)


def rows_of_assignment(network: CostNetwork) -> NDArray[np.bool_] | None:
    """Return which vertices of an assignment are rows; None if the network is none."""
    if network.supply is None or network.lower is not None or network.undirected is not None:
        return None
    is_row: NDArray[np.bool_] = network.supply == 1
    across = is_row[network.tail] & ~is_row[network.head]
    fits = (is_row | (network.supply == -1)).all() and (network.capacity >= 1).all() and across.all()
    return is_row if fits else None


def undirected_arcs(network: CostNetwork) -> NDArray[np.int64]:
    """Return the undirected arcs."""
    return np.zeros(0, np.int64) if network.undirected is None else np.flatnonzero(network.undirected)


def net_of_one_way(network: CostNetwork, flow: Array) -> Array:
    """Return the flow of all arcs, given that of the arcs and, behind it, of opposites of undirected ones."""
    net: Array = flow[: network.num_arcs].copy()
    net[undirected_arcs(network)] -= flow[network.num_arcs :]
    return net


def amounts_are_whole(network: CostNetwork, supply: Array) -> bool:
    """Return whether all capacities, lower bounds and supplies are integers, or floats that are integers."""
    return all(is_integral(each) for each in (network.capacity, supply, network.lower) if each is not None)


def is_integral(values: Array) -> bool:
    """Return whether all finite entries are integers that int64 and float64 both represent."""
    if values.dtype.kind == "i":
        return True
    finite = values[np.isfinite(values)]
    return bool((np.abs(finite) <= EXACT_FLOAT).all() and (finite == np.rint(finite)).all())


def _check_bounds(lower: Array, capacity: Array) -> None:
    bad = lower > capacity
    if bad.any():
        arc = int(bad.argmax())
        raise wrong_entry(f"the lower bound {lower[arc]} is above the capacity {capacity[arc]}", arc)


def _entries_at(name: str, matrix: Any, tail: Array, head: Array, shape: tuple[int, int]) -> Array:
    """Return the entries of a sparse matrix at the places of the arcs, 0 where there is none."""
    entries = read_sparse(matrix)
    if entries.shape != shape:
        raise InvalidInputError(f"{name} has shape {entries.shape}, and cost {shape}")
    row, column = entries.ends()
    if np.array_equal(row, tail) and np.array_equal(column, head):
        given: Array = entries.data  # parallel arcs have numbers of their own
        return given
    arcs, places = (r.astype(np.int64) * shape[1] + c for r, c in ((tail, head), (row, column)))
    stray = (entries.data != 0) & ~np.isin(places, arcs)
    if stray.any():
        where = int(stray.argmax())
        raise InvalidInputError(
            f"{name} has an entry at ({row[where]}, {column[where]}), where cost stores none; an arc of cost "
            "zero is a stored zero"
        )
    return np.asarray(matrix.tocsr()[tail.astype(np.int64), head.astype(np.int64)]).reshape(-1)
