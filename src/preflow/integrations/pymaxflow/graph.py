"""The graphs of PyMaxflow.

Edges that :meth:`GraphInt.add_grid_edges` adds between all nodes of a graph are kept as arrays of the grid's
shape, and the graph is then solved as a grid, with no edges stored.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...arrays import Array
from ...checks import needed_for
from ...cuts import min_cut
from ...errors import CapacityOverflowError, InvalidInputError, InvalidTypeError
from ...graph.neighbourhood import Box
from ...graph.network import FlowNetwork, exact_sum
from ...graph.periodic import ring_boxes
from ...graph.placement import check_not_masked
from ...graph.scaling import float_sum
from ...gridcut.api import grid_cut
from ...gridcut.result import GridCutResult

if TYPE_CHECKING:
    import networkx

#: Tails, heads, and capacities forwards and backwards.
_Edges = tuple[Array, Array, Array, Array]
#: A node or a capacity.
_Number = int | float
#: The types of integers that most callers have, and the largest capacity of these that needs no closer look.
INTEGERS, MOST = frozenset({int, np.int64}), 2**62
#: A graph is solved as a grid if the capacities of its edges sum to less, where they are integers: then
#: those at a node fit int64.
MOST_ON_GRID = {np.int64: 2.0**58, np.float64: math.inf}


class _GridEdges(NamedTuple):
    """Edges between nodes and their neighbours at one place, in a grid of all nodes in order."""

    shape: tuple[int, ...]  #: of the grid
    step: tuple[int, ...]  #: from a node forward to its neighbour
    #: the nodes that have such a neighbour, and the neighbours
    here: Box
    there: Box
    #: of the shape of `here`; 0 where there is no edge. One array where both are the same
    forward: Array
    backward: Array
    number: int  #: how many edges there are

    def listed(self) -> _Edges:
        """Return the edges one by one, also those that there are not."""
        nodes = np.arange(math.prod(self.shape)).reshape(self.shape)
        ends = nodes[self.here].ravel(), nodes[self.there].ravel()
        return *ends, self.forward.ravel(), self.backward.ravel()


class GraphInt:
    """A graph with a source and a sink, whose capacities are integers: ``maxflow.Graph[int]``.

    Parameters
    ----------
    est_node_num, est_edge_num : int
        Accepted for compatibility: memory grows as needed.

    Notes
    -----
    :meth:`maxflow` takes what :func:`preflow.min_cut` takes; the rest is linear in what is added.

    Examples
    --------
    >>> from preflow.integrations import pymaxflow as maxflow
    >>> g = maxflow.Graph[int](2, 2)
    >>> nodes = g.add_nodes(2)
    >>> g.add_edge(nodes[0], nodes[1], 1, 2)
    >>> g.add_tedge(nodes[0], 2, 5)
    >>> g.add_tedge(nodes[1], 9, 4)
    >>> g.maxflow()
    8
    >>> g.get_grid_segments(nodes)
    array([ True, False])
    """

    _dtype: type[np.int64 | np.float64] = np.int64
    #: The types of capacities that may need no closer look.
    _kinds: frozenset[type] = INTEGERS

    def __init__(self, est_node_num: int = 0, est_edge_num: int = 0) -> None:
        self.reset()

    def reset(self) -> None:
        """Remove all nodes and edges."""
        self._segments: NDArray[np.bool_] | None = None
        self._edges: list[_Edges] = []
        self._grid_edges: list[_GridEdges] = []
        # The last cut of the graph as a grid, whose flow the next solve starts from.
        self._last: GridCutResult | None = None
        self._terminal: list[tuple[Array, Array, Array]] = []
        # Those that were added one by one, as numbers of Python.
        self._single_edges: list[tuple[_Number, ...]] = []
        self._single_terminal: list[tuple[_Number, ...]] = []
        self._num_nodes = 0

    def __getstate__(self) -> dict[str, object]:
        """Return the state with lists of its own, which copies add to."""
        state = {name: each.copy() if type(each) is list else each for name, each in self.__dict__.items()}
        return state | {"_last": None}

    def copy(self) -> Self:
        """Return a copy, with the capacities as they were added."""
        return deepcopy(self)

    def add_nodes(self, num_nodes: int) -> NDArray[np.int64]:
        """Add nodes and return their numbers.

        Parameters
        ----------
        num_nodes : int

        Returns
        -------
        ndarray of int64, shape (num_nodes,)

        Raises
        ------
        InvalidInputError
            The number is not an integer of at least 1.
        """
        if isinstance(num_nodes, bool) or not isinstance(num_nodes, int | np.integer) or num_nodes < 1:
            raise InvalidInputError(f"num_nodes must be an integer of at least 1, got {num_nodes!r}")
        first = self._num_nodes
        self._segments = None
        self._num_nodes += int(num_nodes)
        return np.arange(first, self._num_nodes)

    def add_grid_nodes(self, shape: int | Sequence[int]) -> NDArray[np.int64]:
        """Add a grid of nodes and return their numbers in an array of its shape.

        Parameters
        ----------
        shape : int or sequence of int

        Returns
        -------
        ndarray of int64

        Raises
        ------
        InvalidInputError
            The shape is not one of a grid with nodes.
        """
        sides = (shape,) if isinstance(shape, int | np.integer) else tuple(shape)
        if any(isinstance(side, bool) or not isinstance(side, int | np.integer) for side in sides):
            raise InvalidInputError(f"shape must have integers, got {shape!r}")
        return self.add_nodes(int(np.prod(sides, dtype=np.int64))).reshape(sides)

    def add_edge(self, i: int, j: int, capacity: float, rcapacity: float) -> None:
        """Add an edge from node i to node j, and its reverse.

        Parameters
        ----------
        i, j : int
        capacity, rcapacity : number
            The capacities from i to j and from j to i.

        Raises
        ------
        InvalidInputError
            There is no such node, or a capacity is negative, NaN, or not of the graph's type.
        """
        # Without calls of functions: this line decides how long it takes to build a graph edge by edge.
        kinds, nodes = self._kinds, self._num_nodes
        if (
            type(i) in INTEGERS
            and type(j) in INTEGERS
            and type(capacity) in kinds
            and type(rcapacity) in kinds
            and 0 <= i < nodes
            and 0 <= j < nodes
            and (0 <= capacity <= MOST or (type(capacity) is float and capacity > 0))
            and (0 <= rcapacity <= MOST or (type(rcapacity) is float and rcapacity > 0))
        ):
            self._segments = None
            self._single_edges.append((i, j, capacity, rcapacity))
        else:
            self.add_edges(np.array([i]), np.array([j]), np.array([capacity]), np.array([rcapacity]))

    def add_edges(self, i: ArrayLike, j: ArrayLike, capacity: ArrayLike, rev_capacity: ArrayLike) -> None:
        """Add an edge for each entry of the arrays.

        Parameters
        ----------
        i, j : array_like of integers, shape (k,)
        capacity, rev_capacity : array_like, shape (k,), or numbers

        Raises
        ------
        InvalidInputError
            As in :meth:`add_edge`, or the arrays have different lengths.
        """
        self._add([self._checked(i, j, capacity, rev_capacity)])

    def _all_edges(self) -> list[_Edges]:
        listed = [edges.listed() for edges in self._grid_edges]
        return [*listed, *self._edges, *self._arrays_of(self._single_edges, 2)]

    def _all_terminal(self) -> list[tuple[Array, Array, Array]]:
        return [*self._terminal, *self._arrays_of(self._single_terminal, 1)]

    def _arrays_of(self, rows: list[tuple[_Number, ...]], num_nodes: int) -> list[Any]:
        """Return rows of nodes and capacities as one tuple of arrays; an empty list if there are none."""
        dtypes = [np.int64] * num_nodes + [self._dtype] * 2
        columns = zip(*rows, strict=True)
        arrays = [np.array(column, dtype=dtype) for column, dtype in zip(columns, dtypes, strict=False)]
        return [tuple(arrays)] if rows else []

    def _add(self, edges: Sequence[_Edges], grid_edges: Sequence[_GridEdges] = ()) -> None:
        """Add all edges, or after Ctrl-C none of them; the last cut does not hold any more."""
        self._segments = None
        self._edges.extend(edges)
        self._grid_edges.extend(grid_edges)

    def _checked(self, i: ArrayLike, j: ArrayLike, capacity: ArrayLike, reverse: ArrayLike) -> _Edges:
        tail, head = self._nodes(i).ravel(), self._nodes(j).ravel()
        forward, backward = self._of_edges(capacity), self._of_edges(reverse)
        try:
            parts = np.broadcast_arrays(tail, head, forward, backward)
        except ValueError:
            raise InvalidInputError("nodes and capacities must have one length") from None
        return parts[0].copy(), parts[1].copy(), parts[2].copy(), parts[3].copy()

    def add_grid_edges(
        self,
        nodeids: ArrayLike,
        weights: ArrayLike = 1,
        structure: ArrayLike | None = None,
        symmetric: bool = False,
        periodic: bool | Sequence[bool] = False,
    ) -> None:
        """Add edges between the neighbours of a grid.

        Parameters
        ----------
        nodeids : array_like of integers
            The nodes of the grid; -1 where there is none.
        weights : array_like, default 1
            Broadcast to the shape of `nodeids`. An edge has the weight of the node where it begins, times
            the entry of `structure`.
        structure : array_like, optional
            As many axes as `nodeids`, each of odd length. The entry in the middle is the node; each other
            one that is not zero gives an edge to the node at that place. Default:
            ``vonNeumann_structure(ndim, symmetric)``.
        symmetric : bool, default False
            Each edge has the same capacity backwards.
        periodic : bool, or a bool for each axis, default False
            Nodes at opposite borders are neighbours.

        Raises
        ------
        InvalidInputError
            The arrays do not fit each other, there is no such node, or a capacity is negative, NaN, or not
            of the graph's type.
        """
        nodes = self._nodes(nodeids, least=-1)
        if structure is None:
            structure = vonNeumann_structure(nodes.ndim, bool(symmetric))
        shape = np.asarray(structure)
        if shape.ndim != nodes.ndim or any(side % 2 == 0 for side in shape.shape):
            raise InvalidInputError(
                f"structure must have {nodes.ndim} axes of odd length, got shape {shape.shape}"
            )
        if shape.dtype.kind not in "biuf":
            raise InvalidInputError(f"structure must have numbers, got dtype {shape.dtype}")
        rings = (periodic,) * nodes.ndim if isinstance(periodic, bool | np.bool_) else tuple(periodic)
        if len(rings) != nodes.ndim:
            raise InvalidInputError(f"periodic must be a bool or have {nodes.ndim} of them")
        shape = self._factors(shape, "structure")
        try:
            weight = np.broadcast_to(self._factors(weights, "weights"), nodes.shape)
        except ValueError:
            raise InvalidInputError(f"weights cannot be broadcast to shape {nodes.shape}") from None
        middle = np.array(shape.shape) // 2
        present = nodes >= 0
        in_order = np.array_equal(nodes[present], np.flatnonzero(present)) and nodes.size == self._num_nodes
        edges, grid_edges = [], []
        for place in np.argwhere(shape):
            factor = shape[tuple(place)]
            if (
                np.result_type(weight, factor).kind == "i"
                and float(np.abs(weight).max(initial=0)) * abs(float(factor)) >= 2.0**63
            ):
                raise CapacityOverflowError("a weight times an entry of structure is past int64")
            for here, there, step in ring_boxes(nodes.shape, (place - middle).tolist(), rings):
                joined = present[here] & present[there]
                if not in_order:
                    tail, head, capacity = (
                        nodes[here][joined],
                        nodes[there][joined],
                        weight[here][joined] * factor,
                    )
                    edges.append(self._checked(tail, head, capacity, capacity if symmetric else 0))
                    continue
                forward = self._of_edges(np.where(joined, weight[here] * factor, 0))
                backward = forward if symmetric else np.zeros_like(forward)
                if step < (0,) * nodes.ndim:
                    step, here, there = tuple(-length for length in step), there, here
                    forward, backward = backward, forward
                number = int(joined.sum())
                grid_edges.append(_GridEdges(nodes.shape, step, here, there, forward, backward, number))
        self._add(edges, grid_edges)

    def add_tedge(self, i: int, cap_source: float, cap_sink: float) -> None:
        """Add an edge from the source to node i and one from it to the sink; capacities add up.

        Parameters
        ----------
        i : int
        cap_source, cap_sink : number
            Negative ones count, too: a node on the sink's side costs the first, another the second.

        Raises
        ------
        InvalidInputError
            There is no such node, or a capacity is NaN, minus infinity or not of the graph's type.
        """
        kinds = self._kinds
        if (
            type(i) in INTEGERS
            and type(cap_source) in kinds
            and type(cap_sink) in kinds
            and 0 <= i < self._num_nodes
            and (-MOST <= cap_source <= MOST or (type(cap_source) is float and cap_source > 0))
            and (-MOST <= cap_sink <= MOST or (type(cap_sink) is float and cap_sink > 0))
        ):
            self._segments = None
            self._single_terminal.append((i, cap_source, cap_sink))
        else:
            self.add_grid_tedges(np.array([i]), np.array([cap_source]), np.array([cap_sink]))

    def add_grid_tedges(self, nodeids: ArrayLike, sourcecaps: ArrayLike, sinkcaps: ArrayLike) -> None:
        """Add edges between terminals and many nodes.

        Parameters
        ----------
        nodeids : array_like of integers
            -1 where there is no node.
        sourcecaps, sinkcaps : array_like
            Broadcast to the shape of `nodeids`.

        Raises
        ------
        InvalidInputError
            As in :meth:`add_tedge`, or the shapes do not fit.
        """
        nodes = self._nodes(nodeids, least=-1)
        source, sink = self._capacities(sourcecaps, "sourcecaps"), self._capacities(sinkcaps, "sinkcaps")
        try:
            source, sink = np.broadcast_to(source, nodes.shape), np.broadcast_to(sink, nodes.shape)
        except ValueError:
            raise InvalidInputError(f"capacities cannot be broadcast to shape {nodes.shape}") from None
        present = nodes >= 0
        self._segments = None
        self._terminal.append((nodes[present], source[present], sink[present]))

    def maxflow(self, reuse_trees: bool = False) -> int | float:
        """Solve, and return the value of the maximum flow.

        Parameters
        ----------
        reuse_trees : bool
            Accepted for compatibility. A graph that is a grid is always solved from its last flow, any other
            one as a whole.

        Returns
        -------
        int or float
            The largest flow, which is the least capacity of a cut.

        Raises
        ------
        CapacityOverflowError
            A sum of integer capacities is past int64, or the flow is past float64.
        """
        source, sink, constant = self._terminals()
        neighbor, steps = self._neighbours()
        if neighbor is None:
            self._last = None
            cut = min_cut(self._network(source, sink), self._num_nodes, self._num_nodes + 1)
            self._segments, least = np.asarray(cut.sink_side)[: self._num_nodes], cut.value
        else:
            source, sink = source.reshape(neighbor.shape[1:]), sink.reshape(neighbor.shape[1:])
            last = self._last
            if last is not None and not np.array_equal(last.network.offsets[::2], steps):
                last = None  # there are edges in other directions now
            self._last = grid_cut(source, sink, neighbor, connectivity=steps, warm_start=last)
            self._segments, least = ~self._last.labels.ravel(), self._last.value
        value = least + constant
        if not math.isfinite(value):
            raise CapacityOverflowError("the value of the flow is past float64")
        return int(value) if self._dtype is np.int64 else float(value)

    def mark_node(self, i: int) -> None:
        """Accept what PyMaxflow needs for `reuse_trees`; it changes nothing."""
        self._nodes(np.array([i]))

    def mark_grid_nodes(self, nodeids: ArrayLike) -> None:
        """Accept what PyMaxflow needs for `reuse_trees`; it changes nothing."""
        self._nodes(nodeids)

    def get_segment(self, i: int) -> int:
        """Return 1 if node i is on the sink's side of the minimum cut, else 0.

        Parameters
        ----------
        i : int

        Returns
        -------
        int

        Raises
        ------
        InvalidInputError
            There is no such node, or :meth:`maxflow` was not called since the last change.
        """
        return int(self.get_grid_segments(np.array([i]))[0])

    def get_grid_segments(self, nodeids: ArrayLike) -> NDArray[np.bool_]:
        """Return which nodes are on the sink's side of the minimum cut.

        Parameters
        ----------
        nodeids : array_like of integers
            All of them nodes: those of a grid with holes are ``nodeids[nodeids >= 0]``.

        Returns
        -------
        ndarray of bool
            In the shape of `nodeids`. Of all minimum cuts it is the one with the smallest sink side.

        Raises
        ------
        InvalidInputError
            There is no such node, or :meth:`maxflow` was not called since the last change.
        """
        nodes = self._nodes(nodeids)
        if self._segments is None:
            raise InvalidInputError("call maxflow() first: there is no cut of the graph as it is")
        segments: NDArray[np.bool_] = self._segments[nodes]
        return segments

    def get_node_count(self) -> int:
        """Return the number of nodes, without the terminals."""
        return self._num_nodes

    def get_edge_count(self) -> int:
        """Return the number of edges between nodes, with their reverses."""
        on_grid = sum(edges.number for edges in self._grid_edges)
        return 2 * (on_grid + sum(len(tail) for tail, *_ in self._edges) + len(self._single_edges))

    get_node_num = get_node_count
    get_edge_num = get_edge_count

    def get_nx_graph(self) -> networkx.DiGraph[int]:
        """Return the capacities as a DiGraph of NetworkX; the terminals are "s" and "t".

        Returns
        -------
        networkx.DiGraph
            Its edges have the attribute `weight`. Unlike PyMaxflow's, it is the same before and after
            :meth:`maxflow`.

        Raises
        ------
        MissingDependencyError
            NetworkX is not installed.
        """
        with needed_for("get_nx_graph()", "networkx", "networkx"):
            import networkx
        graph: networkx.DiGraph[int] = networkx.DiGraph()
        network = self._network(*self._terminals()[:2])
        names = [*range(self._num_nodes), "s", "t"]
        graph.add_nodes_from(names)
        ends = network.tail.tolist(), network.head.tolist()
        backward = np.zeros(0) if network.reverse_capacity is None else network.reverse_capacity
        for tails, heads, weights in ((*ends, network.capacity), (*ends[::-1], backward)):
            for u, v, weight in zip(tails, heads, weights.tolist(), strict=False):
                if weight:
                    present = graph.get_edge_data(names[u], names[v], {"weight": 0})["weight"]
                    graph.add_edge(names[u], names[v], weight=present + weight)
        return graph

    def _neighbours(self) -> tuple[Array | None, list[tuple[int, ...]]]:
        """Return the capacities and the steps between neighbours in a grid of all nodes; None: it is none.

        Edges across the ends of axes take arrays that are mostly 0: a graph with few others is no grid.
        """
        edges = self._grid_edges
        shapes = {each.shape for each in edges}
        if self._edges or self._single_edges or [math.prod(shape) for shape in shapes] != [self._num_nodes]:
            return None, []
        shape, steps = edges[0].shape, sorted({each.step for each in edges})
        dense = 2 * sum(each.forward.size for each in edges) >= len(steps) * self._num_nodes
        largest = sum(float(each.forward.max()) + float(each.backward.max()) for each in edges)
        if not dense or largest >= MOST_ON_GRID[self._dtype]:
            return None, []
        alike = all(each.forward is each.backward for each in edges)
        neighbor = np.zeros(((1 if alike else 2) * len(steps), *shape), dtype=self._dtype)
        for each in edges:
            row = steps.index(each.step)
            if alike:
                neighbor[row][each.here] += each.forward
            else:
                neighbor[2 * row][each.here] += each.forward
                neighbor[2 * row + 1][each.there] += each.backward
        return neighbor, steps

    def _terminals(self) -> tuple[Array, Array, int | float]:
        """Return the capacities from the source and to the sink, and what every cut costs besides."""
        dtype = self._dtype
        totals = np.zeros((2, self._num_nodes), dtype=dtype)
        for nodes, *sides in self._all_terminal():
            for total, side in zip(totals, sides, strict=True):
                np.add.at(total, nodes, side)
        if dtype is np.int64:
            self._check_sums()
        least = totals.min(axis=0)
        if not np.isfinite(least).all():
            raise InvalidInputError("a node has infinite capacities from the source and to the sink")
        with np.errstate(over="ignore"):
            source, sink = totals - least
        return source, sink, float_sum(least) if dtype is np.float64 else exact_sum(least)

    def _network(self, source: Array, sink: Array) -> FlowNetwork:
        """Return the network with these capacities at the terminals."""
        n, dtype = self._num_nodes, self._dtype
        empty = np.zeros(0, dtype=np.int64)
        parts = [*self._all_edges(), (empty, empty, empty.astype(dtype), empty.astype(dtype))]
        tail, head, forward, backward = (np.concatenate(part) for part in zip(*parts, strict=True))
        from_source, to_sink = np.flatnonzero(source), np.flatnonzero(sink)
        return FlowNetwork.from_arrays(
            np.concatenate([tail, np.full(len(from_source), n), to_sink]),
            np.concatenate([head, from_source, np.full(len(to_sink), n + 1)]),
            np.concatenate([forward, source[from_source], sink[to_sink]]),
            reverse_capacity=np.concatenate(
                [backward, np.zeros(len(from_source) + len(to_sink), dtype=dtype)]
            ),
            num_vertices=n + 2,
        )

    def _check_sums(self) -> None:
        """Raise CapacityOverflowError if capacities between a node and the terminals may sum past int64."""
        sides = [
            (nodes, np.abs(side.astype(np.float64))) for nodes, *both in self._all_terminal() for side in both
        ]
        if sum(float(side.sum()) for _, side in sides) < 2.0**62:
            return
        sizes = np.zeros(self._num_nodes)
        for nodes, side in sides:
            np.add.at(sizes, nodes, side)
        if sizes.max() >= 2.0**62:
            raise CapacityOverflowError("capacities between a node and the terminals sum to 2**62 or more")

    def _of_edges(self, values: ArrayLike) -> Array:
        """Return capacities of edges, which are not negative."""
        given = self._capacities(values, "capacity")
        if given.min(initial=0) < 0:
            raise InvalidInputError("capacities of edges must not be negative")
        return given

    def _factors(self, values: ArrayLike, name: str) -> Array:
        """Return numbers whose products are of the graph's type as int64 or float64."""
        numbers = np.asarray(values)
        return numbers.astype(np.float64) if numbers.dtype.kind == "f" else self._capacities(values, name)

    def _nodes(self, values: ArrayLike, least: int = 0) -> NDArray[np.int64]:
        check_not_masked(values, "nodes")
        nodes = np.asarray(values)
        if nodes.dtype.kind not in "iu" and nodes.size:
            raise InvalidTypeError(f"nodes must be integers, got dtype {nodes.dtype}")
        if nodes.size and (nodes.min() < least or nodes.max() >= self._num_nodes):
            raise InvalidInputError(
                f"a node is not in the graph: they have numbers from 0 to {self._num_nodes - 1}"
            )
        return nodes.astype(np.int64)

    def _capacities(self, values: ArrayLike, name: str) -> Array:
        check_not_masked(values, name)
        numbers = np.asarray(values)
        if numbers.dtype.kind not in "biuf":
            raise InvalidTypeError(f"{name} must be numbers, got dtype {numbers.dtype}")
        if numbers.dtype.kind == "f":
            finite = np.isfinite(numbers) if self._dtype is np.int64 else numbers > -np.inf
            if not finite.all():
                raise InvalidInputError(f"{name} must be finite; Graph[float] takes infinity")
        given = numbers.astype(self._dtype)
        if self._dtype is np.int64 and (given != numbers).any():
            raise InvalidInputError(f"{name} must be integers in Graph[int]; Graph[float] takes others")
        return given


class GraphFloat(GraphInt):
    """A graph with a source and a sink, whose capacities are floats: ``maxflow.Graph[float]``.

    It has the methods of :class:`GraphInt`.

    Examples
    --------
    >>> g = GraphFloat()
    >>> nodes = g.add_grid_nodes((1, 3))
    >>> g.add_grid_edges(nodes, 0.5, symmetric=True)
    >>> g.add_grid_tedges(nodes, [[2.0, 0, 0]], [[0, 0, 1.5]])
    >>> g.maxflow()
    0.5
    >>> g.get_grid_segments(nodes).tolist()
    [[False, False, True]]
    """

    _dtype = np.float64
    _kinds = INTEGERS | {float, np.float64}


#: The classes by the type of their capacities.
Graph: dict[type, type[GraphInt]] = {int: GraphInt, float: GraphFloat}


def vonNeumann_structure(ndim: int = 2, directed: bool = False) -> NDArray[np.int64]:  # noqa: N802
    """Return the structure of the neighbours along the axes, for :meth:`GraphInt.add_grid_edges`.

    Parameters
    ----------
    ndim : int, default 2
    directed : bool, default False
        Have only the neighbours behind a node.

    Returns
    -------
    ndarray of int64, shape (3,) * ndim

    Examples
    --------
    >>> vonNeumann_structure(2, True).tolist()
    [[0, 0, 0], [0, 0, 1], [0, 1, 0]]
    """
    near = np.abs(np.indices((3,) * ndim) - 1).sum(axis=0) == 1
    return _behind(near, directed)


def moore_structure(ndim: int = 2, directed: bool = False) -> NDArray[np.int64]:
    """Return the structure of all 3**ndim - 1 neighbours, for :meth:`GraphInt.add_grid_edges`.

    Parameters
    ----------
    ndim : int, default 2
    directed : bool, default False
        Have only the neighbours behind a node.

    Returns
    -------
    ndarray of int64, shape (3,) * ndim

    Examples
    --------
    >>> moore_structure(2, True).tolist()
    [[0, 0, 0], [0, 0, 1], [1, 1, 1]]
    """
    near = np.ones((3,) * ndim, dtype=bool)
    near.flat[near.size // 2] = False
    return _behind(near, directed)


def _behind(near: NDArray[np.bool_], directed: bool) -> NDArray[np.int64]:
    structure = near.astype(np.int64)
    if directed:
        structure.flat[: near.size // 2] = 0
    return structure
