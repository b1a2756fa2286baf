"""Prove minimum cuts on grids, independently of every solver, a few rows at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from ..arrays import AnyArray
from ..errors import VerificationError
from ..graph.grid import PARALLEL_SIZE, GridNetwork
from ..graph.integer_grid import EXCESS_DTYPES, RESIDUAL_DTYPES, IntegerGrid
from ..graph.neighbourhood import Box
from ..graph.network import exact_sum
from ..graph.scaling import float_sum, sum_slack, total_of
from ..parallel.pieces import run_pieces
from .fields import check_array

#: Pixels on the host that are processed together: they fit a cache. Several threads, which wait for Python's
#: lock at each block, take larger blocks; more than a few threads are slower (16 million pixels: 7 ms by 8,
#: 22 by 16).
BLOCK, SHARED_BLOCK, MOST_THREADS = 1 << 16, 1 << 18, 8


def labelling_energy(network: GridNetwork, labels: AnyArray) -> int | float:
    """Return the capacity of the cut with the pixels where `labels` is True on the source side.

    Examples
    --------
    >>> network = GridNetwork.from_arrays([[3, 0, 0]], [[0, 0, 3]], 2)
    >>> labelling_energy(network, np.array([[True, False, False]]))
    2
    """
    total = _Total()
    everything = _everything(network)
    for here, _ in _blocks(network, everything, everything):
        total.add(network.source_capacity[here][~labels[here]])
        total.add(network.sink_capacity[here][labels[here]])
    for pair in network.pairs():
        for here, there in _blocks(network, pair.here, pair.there):
            inside = _inside(here, pair.here)
            total.add(pair.forward[inside][labels[here] & ~labels[there]])
            total.add(pair.backward[inside][~labels[here] & labels[there]])
    return total.amount


def one_sided_energy(network: GridNetwork, side: bool) -> int | float:
    """Return the capacity of the cut with all pixels on one side; True is the source side."""
    capacity = network.sink_capacity if side else network.source_capacity
    total = _Total()
    everything = _everything(network)
    for here, _ in _blocks(network, everything, everything):
        total.add(capacity[here])
    return total.amount


def energy_size(network: GridNetwork, labels: AnyArray, energy: int | float) -> int | float:
    """Return the sum of the absolute values of all terms of the energy of a labelling.

    It is the energy itself where no capacity is negative. Otherwise it is at least the same sum of the
    smaller terminal capacity of each pixel, which solvers remove from both.
    """
    if min(least for least, _ in network.limits[:2]) >= 0 or not energy < math.inf:
        return energy
    return size_of_terms(energy, *terminal_sizes(network, labels, _everything(network)))


def terminal_sizes(network: GridNetwork, labels: AnyArray, box: Box) -> tuple[int | float, int | float]:
    """Return two sums over the pixels of a box, both as positive numbers.

    The first is that of the negative terminal capacities that a labelling of the whole grid cuts, the second
    that of the absolute values of the smaller terminal capacity of each pixel.
    """
    negative, lesser = _Total(), _Total()
    for here, _ in _blocks(network, box, box):
        source, sink = _wide_terminals(network, here)
        negative.add(abs(np.minimum(network.xp.where(labels[here], sink, source), 0)))
        lesser.add(abs(np.minimum(source, sink)))
    return negative.amount, lesser.amount


def size_of_terms(energy: int | float, negative: int | float, lesser: int | float) -> int | float:
    """Return what :func:`energy_size` does, from the energy and the sums of :func:`terminal_sizes`."""
    return max(without_signs(energy, negative), lesser)


def without_signs(total: int | float, negative: int | float) -> int | float:
    """Return the sum of absolute values of numbers by their sum and the sum of negative ones, as positive."""
    if isinstance(total, int) and isinstance(negative, int):
        return total + 2 * negative
    return 2 * (total / 2 + negative)


def arcs_and_precision(network: GridNetwork, items: int = 1) -> tuple[int, bool]:
    """Return the number of arcs of one of some items, and whether none of the capacities is a float64.

    These decide which gap is small enough: see :func:`preflow.graph.scaling.is_close`.
    """
    arrays = network.source_capacity, network.sink_capacity, network.neighbor_capacity
    single = all(values.dtype != np.float64 for values in arrays)
    return len(network.offsets) * (network.size // max(items, 1)), single


def lower_bound(grid: IntegerGrid, terminal: AnyArray, threads: int = 1) -> int:
    """Return a bound below the cost of every labelling, proved by a flow that left the capacities `terminal`.

    The flow turns the energy of every labelling into a constant plus terms that are not negative; the bound
    is this constant.
    """

    def of_rows(begin: int, end: int) -> int:
        rows = (slice(begin, end), *(slice(0, length) for length in grid.shape[1:]))
        return sum(
            _exact(grid.sink[here], np.minimum(terminal[here], 0))
            for here, _ in _blocks(grid, rows, rows, BLOCK if threads == 1 else SHARED_BLOCK)
        )

    if grid.xp is not np or grid.size < PARALLEL_SIZE:
        threads = 1
    return sum(run_pieces(of_rows, grid.shape[0], min(threads, MOST_THREADS)))


def check_grid_flow(grid: IntegerGrid, residual: AnyArray, terminal: AnyArray) -> None:
    """Check that these are the capacities that a flow within the capacities leaves.

    No sum can pass int64: a flow that leaves no negative residual capacity is within the capacities, and
    their sums at a pixel fit :attr:`.IntegerGrid.excess_dtype`. VerificationError: names the first pixel at
    fault.
    """
    check_array(grid.xp, residual, "residual", (len(grid.offsets), *grid.shape), *RESIDUAL_DTYPES)
    check_array(grid.xp, terminal, "terminal", grid.shape, *EXCESS_DTYPES)
    expected = grid.source.astype(np.int64)
    expected -= grid.sink
    for number, pair in enumerate(grid.pairs()):
        ahead, back = residual[2 * number], residual[2 * number + 1]
        for here, there in _blocks(grid, pair.here, pair.there):
            inside = _inside(here, pair.here)
            _check(ahead[here] < 0, here, f"the arc in direction {2 * number} carries more than its capacity")
            _check(
                back[there] < 0,
                there,
                f"the arc in direction {2 * number + 1} carries more than its capacity",
            )
            flow = pair.forward[inside].astype(np.int64) - ahead[here]
            _check(
                flow != back[there] - pair.backward[inside].astype(np.int64),
                here,
                f"the flow in direction {2 * number} does not arrive",
            )
            expected[here] -= flow
            expected[there] += flow
    _check(expected != terminal, _everything(grid), "flow is not conserved")


def check_grid_labels(grid: IntegerGrid, residual: AnyArray, terminal: AnyArray, labels: AnyArray) -> None:
    """Check that a flow and a labelling prove each other optimal: no arc with residual capacity is cut.

    VerificationError: names the first pixel at fault.
    """
    everything = _everything(grid)
    for here, _ in _blocks(grid, everything, everything):
        _check(labels[here] & (terminal[here] < 0), here, "the source's side has a way to the sink")
        _check(~labels[here] & (terminal[here] > 0), here, "the sink's side has excess")
    for number, pair in enumerate(grid.pairs()):
        ahead, back = residual[2 * number], residual[2 * number + 1]
        for here, there in _blocks(grid, pair.here, pair.there):
            _check(
                labels[here] & ~labels[there] & (ahead[here] > 0),
                here,
                f"the cut arc in direction {2 * number} is not saturated",
            )
            _check(
                ~labels[here] & labels[there] & (back[there] > 0),
                there,
                f"the cut arc in direction {2 * number + 1} is not saturated",
            )


def check_within_network(grid: IntegerGrid, network: GridNetwork) -> None:
    """Check that no capacity of the integer grid exceeds that of the network, so that its bound holds there.

    VerificationError: names the first pixel at fault.
    """
    exponent = grid.scale_exponent or 0
    everything = _everything(grid)
    constant, size = _Total(), _Total()
    for here, _ in _blocks(grid, everything, everything):
        source, sink = _wide_terminals(network, here)
        lesser = np.minimum(source, sink) if grid.reduced else np.zeros_like(source)
        constant.add(lesser)
        size.add(abs(lesser))
        with np.errstate(over="ignore"):  # differences of the largest floats
            left = source - lesser, sink - lesser
        for given, solved in zip(left, (grid.source[here], grid.sink[here]), strict=True):
            _check(solved > _scaled(given, exponent), here, "the solved terminal capacity is more than given")
    taken = constant.amount
    if not abs(grid.constant_flow - taken) <= sum_slack(size.amount):
        raise VerificationError(f"{grid.constant_flow} was taken out of the terminal capacities, not {taken}")
    if grid.neighbor is network.neighbor_capacity:
        return
    for given_pair, pair in zip(network.pairs(), grid.pairs(), strict=True):
        for here, there in _blocks(grid, pair.here, pair.there):
            inside = _inside(here, pair.here)
            for given, solved, box in (
                (given_pair.forward[inside], pair.forward[inside], here),
                (given_pair.backward[inside], pair.backward[inside], there),
            ):
                _check(solved > _scaled(given, exponent), box, "the solved capacity is more than given")


class _Total:
    """A sum of many parts: exact for integers, rounded once for floats."""

    def __init__(self) -> None:
        self._integers = 0
        self._floats: list[float] = []

    def add(self, values: AnyArray) -> None:
        if values.dtype.kind == "f":
            self._floats.append(float_sum(values))
        else:
            self._integers += _exact(values)

    @property
    def amount(self) -> int | float:
        if not self._floats:
            return self._integers
        return total_of([*self._floats, self._integers])


def _exact(*arrays: Any) -> int:
    """Return the sum of all entries; of several arrays on a GPU at once, which takes one wait for it."""
    if all(values.dtype.itemsize < 8 for values in arrays) and arrays[0].size < 2**30:
        first, *others = (values.sum(dtype=np.int64) for values in arrays)
        return int(sum(others, start=first))
    return sum(int(exact_sum(values.astype(np.int64))) for values in arrays)


def _wide_terminals(network: GridNetwork, here: Box) -> tuple[AnyArray, AnyArray]:
    """Return the capacities from the source and to the sink in a box, as int64 or float64."""
    source, sink = network.source_capacity[here], network.sink_capacity[here]
    return source.astype(_wide_dtype(source)), sink.astype(_wide_dtype(sink))


def _wide_dtype(values: AnyArray) -> DTypeLike:
    return np.float64 if values.dtype.kind == "f" else np.int64


def _everything(grid: IntegerGrid | GridNetwork) -> Box:
    """Return the box of all pixels."""
    return tuple(slice(0, length) for length in grid.shape)


def _scaled(values: AnyArray, exponent: int) -> AnyArray:
    if not exponent:
        return values
    with np.errstate(over="ignore"):
        return np.ldexp(values.astype(np.float64), exponent)


def _blocks(
    grid: IntegerGrid | GridNetwork, here: Box, there: Box, pixels: int = BLOCK
) -> Iterator[tuple[Box, Box]]:
    """Yield two boxes of one size in parts of a few rows; whole on a GPU."""
    begin, end = here[0].start, here[0].stop
    row = math.prod(side.stop - side.start for side in here[1:])
    rows = max(1, pixels // max(1, row)) if grid.xp is np else max(1, end - begin)
    ahead = there[0].start - begin
    for first in range(begin, end, rows):
        last = min(first + rows, end)
        yield (slice(first, last), *here[1:]), (slice(first + ahead, last + ahead), *there[1:])


def _inside(block: Box, box: Box) -> Box:
    """Return the position of a block of a box's rows in an array of that box."""
    begin = box[0].start
    return (slice(block[0].start - begin, block[0].stop - begin),)


def _check(broken: Any, box: Box, fault: str) -> None:
    if broken.any():
        index = np.unravel_index(int(broken.argmax()), broken.shape)
        pixel = tuple(int(i) + side.start for i, side in zip(index, box, strict=True))
        raise VerificationError(f"pixel {pixel}: {fault}")
