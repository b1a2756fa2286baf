"""All minimum cuts between a source and a sink (Picard and Queyranne 1980).

Take any maximum flow. A set of vertices with the source and without the sink is the source side of a minimum
cut just if no residual arc leaves it: it is *closed*. So every minimum cut contains either all or none of the
vertices of a strongly connected component of the residual graph, and the components with the residual arcs
between them describe all minimum cuts. The vertices that the source reaches are on the source side of every
minimum cut, those that reach the sink on the sink side of every one. The rest are *free*.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Hashable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Unpack

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, NetworkInput, Vertices
from ..certify.cut import crossing_arcs
from ..certify.fields import check_array
from ..certify.flow import tolerance
from ..drawing.networks import component_colours
from ..errors import InvalidInputError, VerificationError
from ..graph.edge_tables import labelled_pairs, labelled_sides
from ..graph.network import FlowNetwork
from ..solving.call import Keywords
from ..solving.drawn import DrawnResult
from .api import max_flow
from .result import MinCutResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def minimum_cuts(
    network: NetworkInput | MinCutResult,
    source: Vertices = None,
    sink: Vertices = None,
    **arguments: Unpack[Keywords],
) -> MinimumCuts:
    """Find all minimum cuts between a source and a sink.

    Parameters
    ----------
    network : network, MinCutResult or MaxFlowResult
        A network as :func:`preflow.max_flow` takes it; or an optimal result, whose flow is used.
    source, sink : vertex, or collection of vertices
        Of a network; a result has its own.
    **arguments
        `method`, `device`, `threads`, `time_limit`, `progress` and `options` of :func:`preflow.max_flow`.

    Returns
    -------
    MinimumCuts
        A description of linear size. It counts and lists the cuts.

    Raises
    ------
    NotOptimalError
        The solve stopped early.
    InvalidInputError, CapacityOverflowError, UnboundedFlowError
        See :func:`preflow.max_flow`.

    Notes
    -----
    A maximum flow, and O(n + m) time and memory on the host. Picard and Queyranne 1980.

    Examples
    --------
    >>> import preflow
    >>> cuts = preflow.minimum_cuts([("a", "b", 2), ("b", "c", 2), ("c", "d", 3)], "a", "d")
    >>> cuts.value, cuts.is_unique, cuts.count()
    (2, False, 2)
    >>> [cuts.cut_edges(side) for side in cuts]
    [[('a', 'b')], [('b', 'c')]]
    """
    if isinstance(network, MinCutResult):
        if source is not None or sink is not None or arguments:
            raise InvalidInputError(
                "a result has its own terminals and is not solved again: give nothing else"
            )
        return _cuts_of(network)
    return _cuts_of(max_flow(network, source, sink, **arguments))


@dataclass(frozen=True, eq=False, repr=False)
class MinimumCuts(DrawnResult):
    """All minimum cuts between a source and a sink, as a graph without cycles.

    A cut is a partition of the vertices. Vertices that no capacity connects with the rest may be on either
    side, and each doubles the number of cuts. Iteration yields the `sink_side` of one minimum cut after the
    other, arrays of bool of shape (num_vertices,). The first has the smallest source side. Each takes O(n)
    time and what the graph between the components has arcs.

    For floats that are not integers, arcs count as saturated up to rounding, and the cuts are minimum up to
    the `gap` of the result. Whether there is more than one can then depend on rounding.

    Attributes
    ----------
    component : ndarray of int64, shape (num_vertices,)
        0 for vertices on the source side of every minimum cut, ``num_free + 1`` for those on the sink side
        of every one. Free vertices have a number from 1 to `num_free`; those with the same number are
        always on the same side.
    num_free : int
        The number of components of free vertices.
    needs : ndarray of int64, shape (k, 2)
        The graph: if component ``needs[i, 0]`` is on the source side, component ``needs[i, 1]`` is, too. All
        numbers are from 1 to `num_free`, and the first is the larger one. Each set of components that keeps
        these rules is one minimum cut.
    result : MinCutResult
        Of which these are the minimum cuts.
    """

    component: NDArray[np.int64]
    num_free: int
    needs: NDArray[np.int64]
    result: MinCutResult

    @property
    def value(self) -> int | float:
        """The capacity of each of the cuts."""
        return self.result.value

    @property
    def is_unique(self) -> bool:
        """Whether there is only one minimum cut."""
        return self.num_free == 0

    def __iter__(self) -> Iterator[NDArray[np.bool_]]:
        """Yield the sink side of each minimum cut."""
        needed = self._needed()
        taken = np.zeros(self.num_free + 2, dtype=bool)
        taken[0] = True
        while True:
            side = ~taken[self.component]
            side.flags.writeable = False
            yield side
            # The next in the order of binary numbers: what a component needs has smaller numbers.
            last = self.num_free
            while last and (taken[last] or not all(taken[other] for other in needed[last])):
                last -= 1
            if not last:
                return
            taken[last] = True
            taken[last + 1 :] = False

    def count(self, *, at_most: int | None = None) -> int:
        """Return the number of minimum cuts.

        Parameters
        ----------
        at_most : int, optional
            Stop at this number and return it if there are as many. To count without it may take exponential
            time, as counting the closed sets of a graph is #P-complete.

        Notes
        -----
        Parts of the graph that no arc connects are counted one by one and multiplied, and a component with
        one arc is counted with its neighbour: a chain or a forest takes linear time, a graph that is nearly
        a chain O(n log n). Elsewhere O(at_most) steps, each linear in the graph.
        """
        if at_most is not None and (isinstance(at_most, bool) or int(at_most) != at_most or at_most < 1):
            raise InvalidInputError(f"at_most must be a positive integer, got {at_most!r}")
        needed = self._needed()
        needing: list[list[int]] = [[] for _ in needed]
        for one, other in self.needs.tolist():
            needing[other].append(one)
        return _closed_sets(self.num_free, needed, needing, at_most)

    def arcs_in_some_cut(self) -> NDArray[np.int64]:
        """Return the arcs of the network, ascending, that are in at least one minimum cut.

        :meth:`preflow.MinCutResult.bottleneck_arcs` are those that are in every one.
        """
        network, flow = _on_host(self.result)
        apart = self.component[network.tail] != self.component[network.head]
        forward, backward = _residual_arcs(self.result, network, flow)
        crossing = ~forward & (network.capacity > 0)
        if network.reverse_capacity is not None:
            crossing |= ~backward & (network.reverse_capacity > 0)
        arcs: NDArray[np.int64] = np.flatnonzero(apart & crossing)
        return arcs

    def partition(self, sink_side: NDArray[np.bool_]) -> tuple[set[Hashable], set[Hashable]]:
        """Return the vertices on the source side of a cut and those on its sink side, with their labels."""
        return labelled_sides(self.result.network.labels, sink_side)

    def cut_edges(self, sink_side: NDArray[np.bool_]) -> list[tuple[Hashable, Hashable]]:
        """Return the arcs over a cut as pairs of vertices, with the caller's labels.

        Each leads from the source side to the sink side and has capacity.
        """
        network = self.result.network.on_host()
        forward, backward = crossing_arcs(network, sink_side)
        forward = forward[network.capacity[forward] > 0]
        reverse = network.reverse_capacity
        backward = backward[:0] if reverse is None else backward[reverse[backward] > 0]
        arcs = np.append(forward, backward)
        order = np.argsort(arcs, kind="stable")
        tail = np.append(network.tail[forward], network.head[backward])[order]
        head = np.append(network.head[forward], network.tail[backward])[order]
        return labelled_pairs(network.labels, tail, head)

    def verify(self) -> None:
        """Prove that these are all minimum cuts, in linear time.

        The result is proved optimal. Residual arcs lead within components, from a higher number to a lower
        one of which `needs` has the pair, into component 0, or out of the last one; each pair of `needs` has
        a residual arc. In each component every vertex reaches every other; in the first the sources reach
        every vertex, in the last every vertex reaches a sink.
        """
        self.result.verify()
        network, flow = _on_host(self.result)
        component = self.component
        if type(self.num_free) is not int or not 0 <= self.num_free <= network.num_vertices:
            raise VerificationError(f"num_free is no number of components: {self.num_free!r}")
        last = self.num_free + 1
        check_array(np, component, "component", (network.num_vertices,), np.int64)
        check_array(np, self.needs, "needs", (-1, 2), np.int64)
        if component.min() < 0 or component.max() > last:
            raise VerificationError("component is not a number from 0 to num_free + 1 for each vertex")
        if (component[self.result.sources] != 0).any() or (component[self.result.sinks] != last).any():
            raise VerificationError("a source or a sink is in another component than it must be")
        tail, head = _residual_ends(self.result, network, flow)
        first, second = component[tail], component[head]
        inside = first == second
        between = ~inside & (second != 0) & (first != last)
        if (first[between] < second[between]).any() or (first[between] == 0).any():
            raise VerificationError("a residual arc leads to a component with a higher number")
        if not np.array_equal(_pairs(first[between], second[between], last), self.needs):
            raise VerificationError("needs has other pairs than the residual arcs")
        one_of = np.full(last + 1, -1)
        one_of[component] = np.arange(network.num_vertices)
        if (one_of < 0).any():
            raise VerificationError("a component has no vertex")
        size = network.num_vertices
        ends = tail[inside], head[inside]
        reached = _reach(size, *ends, np.append(one_of[1:last], self.result.sources))
        reaching = _reach(size, *ends[::-1], np.append(one_of[1:last], self.result.sinks))
        if not (reached | (component == last)).all() or not (reaching | (component == 0)).all():
            raise VerificationError("a component is not connected")

    def _needed(self) -> list[list[int]]:
        """Return, for each component, those that it needs."""
        needed: list[list[int]] = [[] for _ in range(self.num_free + 2)]
        for one, other in self.needs.tolist():
            needed[one].append(other)
        return needed

    def _summary(self) -> str:
        if self.is_unique:
            return f"one of value {self.value:,}"
        parts = "1 component" if self.num_free == 1 else f"{self.num_free:,} components"
        return f"at least {self.num_free + 1:,} of value {self.value:,}, {parts}"

    def _draw(self, ax: Axes | None) -> Axes:
        """Draw the network: arcs of some minimum cut are dashed, vertices that may change sides white."""
        colours = component_colours(self.component, self.num_free + 1)
        return self.result._draw(ax, self.arcs_in_some_cut(), colours)


def _cuts_of(result: MinCutResult) -> MinimumCuts:
    """Return the minimum cuts that the residual graph of a flow describes."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    _ = result.value
    network, flow = _on_host(result)
    tail, head = _residual_ends(result, network, flow)
    n = network.num_vertices
    on_source_side = _reach(n, tail, head, result.sources)
    on_sink_side = _reach(n, head, tail, result.sinks)
    free = np.flatnonzero(~(on_source_side | on_sink_side))
    place = np.full(n, -1, dtype=np.int64)
    place[free] = np.arange(len(free))
    among = (place[tail] >= 0) & (place[head] >= 0)
    ends = place[tail[among]], place[head[among]]
    graph = csr_array((np.ones(len(ends[0])), ends), shape=(len(free), len(free)))
    count, found = connected_components(graph, connection="strong") if len(free) else (0, ends[0])
    number = _in_order(int(count), found[ends[0]], found[ends[1]])
    component = np.where(on_source_side, 0, count + 1).astype(np.int64)
    component[free] = number[found]
    first, second = number[found[ends[0]]], number[found[ends[1]]]
    needs = _pairs(first[first != second], second[first != second], int(count) + 1)
    return MinimumCuts(component, int(count), needs, result)


def _in_order(count: int, first: Array, second: Array) -> NDArray[np.int64]:
    """Return numbers from 1 for components, so that arcs between two lead to the smaller number."""
    needing: list[list[int]] = [[] for _ in range(count)]
    missing = [0] * count
    apart = first != second
    for one, other in zip(first[apart].tolist(), second[apart].tolist(), strict=True):
        needing[other].append(one)
        missing[one] += 1
    order = [each for each in range(count) if not missing[each]]
    for each in order:
        for one in needing[each]:
            missing[one] -= 1
            if not missing[one]:
                order.append(one)
    number = np.zeros(count, dtype=np.int64)
    number[order] = np.arange(1, count + 1)
    return number


def _on_host(result: MinCutResult) -> tuple[FlowNetwork, Array]:
    """Return the network of a result and its maximum flow, in host memory."""
    with result.network.current():
        return result.network.on_host(), result.network.to_host(result.whole_flow())


def _residual_arcs(
    result: MinCutResult, network: FlowNetwork, flow: Array
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return whether each arc has residual capacity, and whether its opposite has."""
    slack: float = 0
    if not isinstance(result.value, int):
        slack = tolerance(network, result.sources, result.sinks, result.value)
    reverse = 0 if network.reverse_capacity is None else network.reverse_capacity
    return flow < network.capacity - slack, flow > slack - reverse


def _residual_ends(result: MinCutResult, network: FlowNetwork, flow: Array) -> tuple[Array, Array]:
    """Return the tails and the heads of the residual arcs."""
    forward, backward = _residual_arcs(result, network, flow)
    tail = np.append(network.tail[forward], network.head[backward]).astype(np.int64)
    head = np.append(network.head[forward], network.tail[backward]).astype(np.int64)
    return tail, head


def reached_by_residual_arcs(result: MinCutResult) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which vertices the sources of a maximum flow reach, and which reach the sinks."""
    network, flow = _on_host(result)
    tail, head = _residual_ends(result, network, flow)
    n = network.num_vertices
    return _reach(n, tail, head, result.sources), _reach(n, head, tail, result.sinks)


def _reach(size: int, tail: Array, head: Array, starts: Array) -> NDArray[np.bool_]:
    """Return which vertices some of them reach."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    ends = np.append(tail, np.full(len(starts), size)), np.append(head, starts)
    graph = csr_array((np.ones(len(ends[0])), ends), shape=(size + 1, size + 1))
    reached = np.zeros(size + 1, dtype=bool)
    reached[breadth_first_order(graph, size, return_predecessors=False)] = True
    return reached[:size]


def _pairs(first: Array, second: Array, last: int) -> NDArray[np.int64]:
    """Return the distinct pairs of components, sorted."""
    codes = np.unique(first * np.int64(last + 1) + second)
    return np.stack(np.divmod(codes, np.int64(last + 1)), axis=1).astype(np.int64)


#: Components with the number of ways, of what was counted with each, if it is in a closed set and if not.
Weighted = dict[int, tuple[int, int]]


@dataclass
class _Sum:
    """A sum of products that is being computed: a part of the graph, and the choices for one component."""

    choices: list[tuple[int, Weighted]]  #: a factor, and the components that are left with it
    factor: int = 0  #: the product for the choice at hand, without the parts that are left
    #: the parts of the choice at hand that are left
    parts: list[Weighted] = field(default_factory=list)
    total: int = 0  #: for the choices that are done


def _closed_sets(size: int, needed: list[list[int]], needing: list[list[int]], at_most: int | None) -> int:
    """Return the number of closed sets of the components from 1 to `size`; at most `at_most`.

    A set has the component with the most arcs and all that this one needs, or neither this one nor any that
    needs it.
    """

    def limited(number: int) -> int:
        return number if at_most is None else min(number, at_most)

    sums = [_Sum([(1, dict.fromkeys(range(1, size + 1), (1, 1)))])]
    while True:
        top = sums[-1]
        if top.parts:
            part = top.parts.pop()
            middle = _pivot(part, needed, needing)
            choices = []
            for arcs, inside in ((needed, 0), (needing, 1)):
                taken = _closure(middle, arcs, part)
                factor = math.prod(part[each][inside] for each in taken)
                choices.append((limited(factor), {each: part[each] for each in part.keys() - taken}))
            sums.append(_Sum(choices))
            continue
        top.total += top.factor
        if top.choices and limited(top.total) != at_most:
            factor, left = top.choices.pop()
            factor *= _peel(left, needed, needing, limited)
            top.factor = limited(factor)
            top.parts = [] if top.factor == at_most else list(_parts(left, needed, needing))
            continue
        sums.pop()
        if not sums:
            return limited(top.total)
        above = sums[-1]
        above.factor = limited(above.factor * limited(top.total))
        if above.factor == at_most:
            above.parts = []


def _peel(
    left: Weighted, needed: list[list[int]], needing: list[list[int]], limited: Callable[[int], int]
) -> int:
    """Count components with one neighbour with it, as long as there are some; return the factor of others."""
    around = {each: {other for other in (*needed[each], *needing[each]) if other in left} for each in left}
    single = [each for each, others in around.items() if len(others) <= 1]
    factor = 1
    for each in single:
        if each not in left:
            continue
        inside, outside = left.pop(each)
        either = inside + outside
        others = around[each]
        if not others:
            factor = limited(factor * either)
            continue
        other = others.pop()
        its_inside, its_outside = left[other]
        if other in needed[each]:
            left[other] = limited(its_inside * either), limited(its_outside * outside)
        else:
            left[other] = limited(its_inside * inside), limited(its_outside * either)
        around[other].remove(each)
        if len(around[other]) == 1:
            single.append(other)
    return factor


def _parts(left: Weighted, needed: list[list[int]], needing: list[list[int]]) -> Iterator[Weighted]:
    """Yield the parts of some components that no arc connects."""
    unseen = set(left)
    while unseen:
        stack = [unseen.pop()]
        part = set(stack)
        while stack:
            each = stack.pop()
            for other in (*needed[each], *needing[each]):
                if other in unseen:
                    unseen.remove(other)
                    part.add(other)
                    stack.append(other)
        yield {each: left[each] for each in part}


def _pivot(part: Weighted, needed: list[list[int]], needing: list[list[int]]) -> int:
    """Return the component with the most arcs, of those the one in the middle of the order."""
    order = sorted(part)

    def rank(place: int) -> tuple[int, int]:
        each = order[place]
        arcs = sum(other in part for other in (*needed[each], *needing[each]))
        return arcs, -abs(2 * place - len(order))

    return order[max(range(len(order)), key=rank)]


def _closure(start: int, arcs: list[list[int]], within: Container[int]) -> set[int]:
    """Return what a component reaches over these arcs."""
    stack, found = [start], {start}
    while stack:
        for other in arcs[stack.pop()]:
            if other in within and other not in found:
                found.add(other)
                stack.append(other)
    return found
