"""Other forms of any flow problem, with the same flow value: a solver should be as fast on them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..cuts import min_cut
from ..errors import CapacityOverflowError
from ..graph.network import EXACT_FLOAT, FlowNetwork, MaxFlowProblem
from .parameters import INT64_MAX, seeded


def shuffled(problem: MaxFlowProblem, *, seed: int = 0) -> MaxFlowProblem:
    """Return a problem with its vertices in random order, and its arcs ordered by tail and head.

    Examples
    --------
    >>> from preflow.generators import ac_dense
    >>> shuffled(ac_dense(100), seed=1)
    MaxFlowProblem('ac-dense 100 seed 0 shuffled': 100 vertices, 4,950 arcs, source 48, sink 59)
    """
    network = problem.network
    number = seeded(seed).permutation(network.num_vertices)
    tail, head = number[network.tail], number[network.head]
    order = np.lexsort((head, tail))
    back = network.reverse_capacity
    renumbered = FlowNetwork.from_arrays(
        tail[order],
        head[order],
        network.capacity[order],
        reverse_capacity=None if back is None else back[order],
        num_vertices=network.num_vertices,
    )
    ends = [
        tuple(number[list(end)].tolist()) if isinstance(end, tuple) else int(number[end])
        for end in (problem.source, problem.sink)
    ]
    return MaxFlowProblem(renumbered, ends[0], ends[1], name=f"{problem.name} shuffled")


def with_terminals_apart(problem: MaxFlowProblem, *, two_way: bool = False) -> MaxFlowProblem:
    """Return a problem with a source and a sink of their own, joined to the terminals by arcs in no cut.

    Programs write their networks like this that keep terminals apart from other vertices.

    Parameters
    ----------
    problem : MaxFlowProblem
        With one terminal of either kind, or several.
    two_way : bool
        Whether the new arcs have the same capacity the other way.

    Raises
    ------
    CapacityOverflowError
        The capacities of the arcs at the terminals do not sum to an int64.

    Examples
    --------
    >>> from preflow.generators import ac_dense
    >>> with_terminals_apart(ac_dense(100))
    MaxFlowProblem('ac-dense 100 seed 0 terminals apart': 102 vertices, 4,952 arcs, source 100, sink 101)
    """
    network, source = problem.network, problem.network.num_vertices
    old = [np.atleast_1d(end).astype(np.int64) for end in (problem.source, problem.sink)]
    new = [np.full(len(old[0]), source), np.full(len(old[1]), source + 1)]
    amount = np.full(len(old[0]) + len(old[1]), _more_than_any_cut(problem), network.capacity.dtype)
    reverse = network.reverse_capacity
    if two_way or reverse is not None:
        kept = np.zeros_like(network.capacity) if reverse is None else reverse
        reverse = np.concatenate([amount if two_way else np.zeros_like(amount), kept])
    apart = FlowNetwork.from_arrays(
        np.concatenate([new[0], old[1], network.tail]),
        np.concatenate([old[0], new[1], network.head]),
        np.concatenate([amount, network.capacity]),
        reverse_capacity=reverse,
        num_vertices=source + 2,
    )
    both = " both ways" if two_way else ""
    return MaxFlowProblem(apart, source, source + 1, name=f"{problem.name} terminals apart{both}")


def with_infinite_capacities(problem: MaxFlowProblem) -> MaxFlowProblem:
    """Return a problem whose arcs with more capacity than its maximum flow have infinite capacity.

    A minimum cut is computed for that.

    Raises
    ------
    CapacityOverflowError
        A capacity of another arc is above 2**53, where float64 skips integers.

    Examples
    --------
    >>> from preflow.generators import with_terminals_apart, ac_dense
    >>> with_infinite_capacities(with_terminals_apart(ac_dense(100))).network.capacity.max()
    np.float64(inf)
    """
    network, value = problem.network, min_cut(problem).value
    both_ways = network.capacity, network.reverse_capacity
    capacity, *back = (np.where(values > value, np.inf, values) for values in both_ways if values is not None)
    if any((np.isfinite(values) & (values > EXACT_FLOAT)).any() for values in (capacity, *back)):
        raise CapacityOverflowError("a finite capacity is above 2**53, where float64 skips integers")
    infinite = FlowNetwork.from_arrays(
        network.tail,
        network.head,
        capacity,
        reverse_capacity=back[0] if back else None,
        num_vertices=network.num_vertices,
    )
    return MaxFlowProblem(infinite, problem.source, problem.sink, name=f"{problem.name} infinite")


def _more_than_any_cut(problem: MaxFlowProblem) -> int | float:
    """Return the least integer above the capacity of a minimum cut, as far as arcs at the terminals tell."""
    network = problem.network

    def leaving(from_end: NDArray[np.bool_], to_end: NDArray[np.bool_]) -> int | float:
        back = network.reverse_capacity
        parts: list[Array] = [network.capacity[from_end & ~to_end]]
        parts += [] if back is None else [back[to_end & ~from_end]]
        return sum(sum(part.tolist()) for part in parts)

    (from_source, to_source), (from_sink, to_sink) = (
        [np.isin(ends, terminal) for ends in (network.tail, network.head)]
        for terminal in (problem.source, problem.sink)
    )
    most = 1 + min(leaving(from_source, to_source), leaving(to_sink, from_sink))
    if most > INT64_MAX:
        raise CapacityOverflowError("the capacities of the arcs at the terminals do not sum to an int64")
    return most
