"""Flows in the text format of the DIMACS implementation challenges, plain or gzip.

A solution reads::

    c comment
    s VALUE
    f TAIL HEAD FLOW

with vertices numbered from 1. Several ``f`` lines of one arc add up. The value of a minimum-cost flow is its
cost.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Array, Numbers
from ..errors import InvalidInputError
from ..graph.cost_network import CostNetwork, lower_of, undirected_arcs
from ..graph.network import INT64_MAX, FlowNetwork
from ..kernels.constants import ONE
from ..kernels.kernel import kernel
from .files import check_text, checked_path, parsing, read_bytes, replacing
from .record_reader import Number, RecordReader, shown
from .record_writer import write_comment, write_records

#: Rounding error that a float flow may have, relative to the capacity between its vertices.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class FlowSolution:
    """A flow as in a solution file: by pairs of vertices, not by arcs of a network.

    Attributes
    ----------
    value : int or float
        The number of the ``s`` line.
    tail, head : ndarray of uint32, shape (k,)
        End vertices of the ``f`` lines, numbered from 0.
    flow : ndarray of int64 or float64, shape (k,)
        Flow from tail to head; negative flow goes from head to tail.
    """

    value: int | float
    tail: NDArray[np.uint32]
    head: NDArray[np.uint32]
    flow: Array

    def __repr__(self) -> str:
        return f"FlowSolution(value {self.value}, {len(self.flow):,} arcs with flow)"


def write_solution(
    path: str | Path,
    value: int | float,
    tail: ArrayLike,
    head: ArrayLike,
    flow: ArrayLike,
    *,
    signed: bool = False,
    comment: str | None = None,
) -> None:
    """Write a flow as a DIMACS solution file, in O(m).

    One ``f`` line for each arc that carries flow, in the order given; the vertices of `tail` and `head` are
    numbered from 0. A negative net flow is written as a flow from head to tail, which matches the files of
    :func:`~preflow.io.dimacs.write_dimacs`; if `signed` as such, for arcs with a negative lower bound. The
    file is compressed if its name ends in ``.gz``. It appears, or replaces an older one, only once it is
    complete. InvalidInputError for wrong shapes or dtypes, a flow that is not finite or past int64, or where
    the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "solution"
    >>> write_solution(path, 3, tail=[0, 0, 2], head=[1, 2, 1], flow=[3, 0, -1])
    >>> print(path.read_text(), end="")
    s 3
    f 1 2 3
    f 2 3 1
    """
    path = checked_path(path)
    arcs = FlowNetwork.from_arrays(tail, head, 0)
    flows = np.asarray(flow)
    if flows.shape != (arcs.num_arcs,) or (flows.dtype.kind not in "iuf" and flows.size):
        raise InvalidInputError(
            f"flow has shape {flows.shape} and dtype {flows.dtype}, expected ({arcs.num_arcs},) and numbers"
        )
    if not np.all(np.isfinite(flows)) or not np.isfinite(value):
        raise InvalidInputError("a flow and its value are finite")
    if flows.dtype.kind == "u" and int(flows.max(initial=0)) > INT64_MAX:
        raise InvalidInputError(f"flow {int(flows.max())} does not fit int64")
    used = np.flatnonzero(flows)
    amount = flows[used].astype(np.float64 if flows.dtype.kind == "f" else np.int64)
    first, second = arcs.tail[used], arcs.head[used]
    forward = (amount > 0) | signed
    with replacing(path, compress=path.suffix == ".gz") as file:
        write_comment(file, comment or "")
        file.write(f"s {np.asarray(value).item()!r}\n".encode())
        ends = np.where(forward, first, second), np.where(forward, second, first)
        write_records(file, "f", *ends, amount if signed else np.abs(amount))


def write_min_cost_solution(
    path: str | Path,
    cost: int | float,
    network: CostNetwork,
    flow: Array,
    *,
    comment: str | None = None,
) -> None:
    """Write a minimum-cost flow as a DIMACS solution file, in O(m), as :func:`write_solution`.

    `flow` has that of each arc; negative for flow over an undirected arc from its head to its tail.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "solution"
    >>> network = CostNetwork.from_arrays([0, 1], [1, 2], cost=[2, 3], undirected=[True, False])
    >>> write_min_cost_solution(path, 19, network, np.array([-2, 5]))
    >>> print(path.read_text(), end="")
    s 19
    f 2 1 2
    f 2 3 5
    """
    turned = np.zeros(len(flow), dtype=bool)
    if network.undirected is not None:
        turned = network.undirected & (flow < 0)
    tail, head = np.where(turned, network.head, network.tail), np.where(turned, network.tail, network.head)
    amount = np.where(turned, -flow, flow)
    write_solution(path, cost, tail, head, amount, signed=True, comment=comment)


def read_solution(path: str | Path) -> FlowSolution:
    """Read a DIMACS solution file, plain or gzip whatever its name, in time linear in its size.

    ParseError if it cannot be read or is malformed; it says on which line and what was expected.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "solution"
    >>> write_solution(path, 3, tail=[0, 0], head=[1, 2], flow=[3, 0])
    >>> read_solution(path)
    FlowSolution(value 3, 1 arcs with flow)
    """
    with parsing(path, "DIMACS solution"):
        return _read(path, read_bytes(path))


def flow_on_arcs(network: FlowNetwork, solution: FlowSolution) -> Array:
    """Return the net flow of every arc of a network that a solution file describes.

    A solution names pairs of vertices. The flow from u to v goes over the arcs u -> v up to their capacities,
    then over the arcs v -> u up to their reverse capacities, each in the order of the network. Conservation
    and value are not checked here. Float64 if the capacities or the solution's flows are.
    O(m log m + k log m) for m arcs and k lines. InvalidInputError if there is no arc between two vertices, or
    not enough capacity.

    Examples
    --------
    >>> network = FlowNetwork.from_arrays([0, 0, 1], [1, 1, 0], [2, 5, 1], reverse_capacity=[0, 0, 4])
    >>> solution = FlowSolution(9, np.array([0]), np.array([1]), np.array([9]))
    >>> flow_on_arcs(network, solution).tolist()
    [2, 5, -2]
    """
    if network.num_vertices > 2**32:
        raise InvalidInputError("solution files are for networks of at most 2**32 vertices")
    network = network.on_host()
    dtype = np.result_type(network.capacity, solution.flow)
    backward = np.flatnonzero(network.reverse_capacity if network.reverse_capacity is not None else ())
    tail = np.concatenate([network.tail, network.head[backward]])
    head = np.concatenate([network.head, network.tail[backward]])
    capacity = network.capacity
    if network.reverse_capacity is not None:
        capacity = np.concatenate([capacity, network.reverse_capacity[backward]])
    capacity = capacity.astype(dtype)

    first, second = np.asarray(solution.tail, dtype=np.uint64), np.asarray(solution.head, dtype=np.uint64)
    turned = solution.flow < 0
    first, second = np.where(turned, second, first), np.where(turned, first, second)
    named = max(int(first.max(initial=0)), int(second.max(initial=0)))
    if len(first) and named >= network.num_vertices:
        raise InvalidInputError(
            f"the solution names vertex {named + 1}, the network has {network.num_vertices} vertices"
        )
    pairs = tail.astype(np.uint64) * np.uint64(network.num_vertices) + head
    order = np.argsort(pairs, kind="stable").astype(np.uint64)
    sorted_pairs = pairs[order]
    wanted = first * np.uint64(network.num_vertices) + second
    begin = np.searchsorted(sorted_pairs, wanted, "left").astype(np.uint64)
    end = np.searchsorted(sorted_pairs, wanted, "right").astype(np.uint64)
    flow = np.abs(solution.flow).astype(dtype)
    used = np.zeros(len(capacity), dtype=dtype)
    rounding = ROUNDING if dtype.kind == "f" else 0.0
    full_before = np.arange(len(order), dtype=np.uint64)
    misfit = int(distribute(flow, begin, end, order, capacity, used, full_before, rounding))
    if misfit < len(flow):
        ends = f"from vertex {first[misfit] + ONE} to vertex {second[misfit] + ONE}"
        if begin[misfit] == end[misfit]:
            raise InvalidInputError(f"the solution has a flow {ends}, the network no such arc")
        total = sum(capacity[order[begin[misfit] : end[misfit]]].tolist())
        sent = sum(flow[wanted == wanted[misfit]].tolist())
        raise InvalidInputError(f"the solution sends {sent} {ends}, the capacity is {total}")
    net = used[: network.num_arcs]
    net[backward] -= used[network.num_arcs :]
    return net


def min_cost_flow_on_arcs(network: CostNetwork, solution: FlowSolution) -> Array:
    """Return the flow of every arc of a network with costs that a solution file describes.

    Of several arcs between the same vertices, each gets its lower bound, then the cheapest get the rest.
    Conservation and cost are not checked here. O(m log m + k log k) for m arcs and k lines. InvalidInputError
    if there is no arc between two vertices, not enough capacity, or less flow than the lower bounds.

    Examples
    --------
    >>> network = CostNetwork.from_arrays([0, 0], [1, 1], capacity=5, cost=[4, 2], lower=[1, 0])
    >>> min_cost_flow_on_arcs(network, FlowSolution(14, np.array([0]), np.array([1]), np.array([5]))).tolist()
    [1, 4]
    """
    m = network.num_arcs
    both = undirected_arcs(network)
    tail, head = np.append(network.tail, network.head[both]), np.append(network.head, network.tail[both])
    lower = lower_of(network)
    least, cost = np.append(lower, lower[both]), np.append(network.cost, network.cost[both])
    capacity = np.append(network.capacity, network.capacity[both])
    room, beyond = _room(capacity, least)
    order = np.argsort(cost, kind="stable")
    # What an arc has room for past int64 is the room of another arc behind it.
    order = np.append(order, len(order) + np.flatnonzero(beyond))
    tail, head = (np.append(end, end[: len(beyond)]) for end in (tail, head))
    room = np.append(room, beyond)
    needed = np.flatnonzero(least)
    ends = np.append(solution.tail, tail[needed]), np.append(solution.head, head[needed])
    pairs, number = np.unique(np.stack(ends, axis=1), axis=0, return_inverse=True)
    amounts = np.append(solution.flow, -least[needed])
    rest = _sums(amounts, number.reshape(-1), len(pairs))
    rounding = ROUNDING * float(np.abs(amounts).max(initial=0)) if rest.dtype.kind == "f" else 0
    if (rest < -rounding).any():
        u, v = (pairs[int((rest < -rounding).argmax())] + 1).tolist()
        raise InvalidInputError(f"the solution sends less from vertex {u} to vertex {v} than arcs must carry")
    which, amount = _lines(np.maximum(rest, 0))
    above = FlowSolution(solution.value, pairs[which, 0], pairs[which, 1], amount)
    arcs = FlowNetwork.from_arrays(tail[order], head[order], room[order], num_vertices=network.num_vertices)
    flow = np.zeros(len(room), dtype=np.result_type(room, amount))
    flow[order] = flow_on_arcs(arcs, above)
    used, more = flow[: len(least)] + least, flow[len(least) :]
    used += more  # the capacity is the most that it can be
    used[both] -= used[m:]
    net: Array = used[:m]
    return net


def _room(capacity: Array, least: Array) -> tuple[Array, Array]:
    """Return what arcs can carry beyond their lower bounds, and the part of it that does not fit int64."""
    if capacity.dtype.kind == "f" or least.dtype.kind == "f" or not (least < 0).any():
        room = capacity - least
        return room, np.zeros_like(room)
    exact = capacity.astype(object) - least
    room = np.minimum(exact, INT64_MAX)
    return room.astype(np.int64), (exact - room).astype(np.int64)


def _sums(amounts: Array, place: Array, count: int) -> Array:
    """Return the sum of the amounts at each of `count` places: Python integers where int64 might wrap."""
    wraps = amounts.dtype.kind != "f" and float(np.abs(amounts.astype(np.float64)).sum()) >= 2.0**62
    sums = np.zeros(count, dtype=object if wraps else amounts.dtype)
    np.add.at(sums, place, amounts.astype(sums.dtype))
    return sums


def _lines(amounts: Array) -> tuple[NDArray[np.intp], Array]:
    """Return lines that add up to some amounts: the place of each, and its amount as int64 or float64."""
    if amounts.dtype != object:
        return np.arange(len(amounts)), amounts
    lines = [(at, part) for at, amount in enumerate(amounts) for part in _parts(amount)]
    place, part = zip(*lines, strict=True) if lines else ((), ())
    return np.array(place, dtype=np.intp), np.array(part, dtype=np.int64)


def _parts(amount: int) -> list[int]:
    """Return integers that fit int64 and add up to an amount."""
    whole, rest = divmod(amount, INT64_MAX)
    return [INT64_MAX] * whole + [rest]


def _read(path: str | Path, data: bytes) -> FlowSolution:
    check_text(path, data)
    reader = RecordReader(path, data, b"f")
    reader.expect((Number("flow", -INT64_MAX),), 2**32 - 1, len(reader.data))
    value: int | float | None = None
    while (line := reader.next_line()) is not None:
        if line.fields[0] != b"s":
            letter = shown(line.fields[0])
            reader.fail(line.position, f"unknown line type {letter}: expected 'c', 's' or 'f'")
        if len(line.fields) != 2:
            reader.fail(line.position, f"expected 's VALUE', got {len(line.fields)} fields")
        if value is not None:
            reader.fail(line.position, "a second s line")
        value = reader.number(line.position, line.fields[1], Number("value", -INT64_MAX))
    if value is None:
        reader.fail(None, "the file has no line 's VALUE'" if reader.data else "the file is empty")
    return FlowSolution(value, reader.tail.copy(), reader.head.copy(), reader.numbers(0).copy())


@kernel
def distribute(
    flow: Numbers,
    begin: NDArray[np.uint64],
    end: NDArray[np.uint64],
    order: NDArray[np.uint64],
    capacity: Numbers,
    used: Numbers,
    full_before: NDArray[np.uint64],
    rounding: float,
) -> int:
    """Assign flow ``i`` to the arcs ``order[begin[i]:end[i]]``, filling one after the other.

    On entry ``full_before[k]`` is `k`. Adds to `used` and returns the first flow that finds no arc or too
    little capacity, otherwise the number of flows.
    """
    for i in range(len(flow)):
        if begin[i] == end[i]:
            return i
        rest = flow[i]
        k = full_before[begin[i]]
        while rest > 0 and k < end[i]:
            arc = order[k]
            amount = min(rest, capacity[arc] - used[arc])
            used[arc] = min(used[arc] + amount, capacity[arc])  # a float sum may round up
            rest -= amount
            if rest > 0:
                k += ONE
        full_before[begin[i]] = k
        if rest > 0:
            total = capacity.dtype.type(0)
            for k in range(begin[i], end[i]):
                total += capacity[order[k]]
            if rest > rounding * total:
                return i
    return len(flow)
