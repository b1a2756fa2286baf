"""The ultimate pit of an open mine: a maximum-weight closure whose requirements follow from a pattern.

The network is that of :mod:`.projects`, without stored arcs (:mod:`preflow.network.pattern`). The pseudoflow
algorithm of :mod:`preflow.maxflow` finds the flow that proves the pit (:mod:`preflow.certify.pit`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Array
from ..certify.exact import exact_total, near_and_gap, rounded_up, whole_and_rest
from ..certify.fields import check_array, check_kind, check_status, checked_number
from ..certify.pit import PitFlow, check_closed, check_flow, closed_set, extreme_pit, left_of
from ..checks import check_finite, check_word
from ..drawing.images import draw_with_bar
from ..errors import CapacityOverflowError, InvalidInputError, VerificationError
from ..graph.block_model import BlockLayout, precedence_pattern
from ..graph.network import as_array, read_signed
from ..graph.scaling import is_close, size_of
from ..maxflow.problem import METHODS
from ..maxflow.serial_pseudoflow import PARENT, UP, PseudoflowOptions, make_records, merge_trees
from ..network.pattern import PatternNetwork
from ..progress import Reporter
from ..solving.dispatch import find_method
from ..solving.result import BoundedResult
from ..solving.run import Control, check_time_limit, run_interruptibly
from ..solving.timing import timed
from ..stats import SolveStats
from .projects import CLOSURES, Closure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Values sum to less than two to this power, and floats are scaled to integers that do.
BITS = 61
METHOD = "serial-pseudoflow"
#: The smallest label first took 0.8 to 1.0 of the time of the largest. There are no global relabels, which
#: cut trees: an arc outside of them has no flow.
OPTIONS = PseudoflowOptions(order="lowest", relabel_period=None)


@dataclass(frozen=True, eq=False, repr=False)
class UltimatePit(BoundedResult):
    """A pit of the largest value, or the best one found within the time limit.

    Attributes
    ----------
    mask : ndarray of bool, shape (nx, ny, nz)
        The blocks that are taken. The sum of their values is `lower_bound`.
    values : ndarray of int64 or float64, shape (nx, ny, nz)
        As they were given, with 0 for air.
    air : ndarray of bool, shape (nx, ny, nz)
    pattern : ndarray of int64, shape (k, 3)
        Chains of these offsets, in blocks along each axis, lead from a block to all that must be taken
        before it.
    closure : {"smallest", "largest"}
        Which of several pits of the largest value this is; for floats up to rounding. Of a solve that stopped
        early, which one was asked for.
    status, lower_bound, upper_bound, value, stats
        See :class:`preflow.solving.result.BoundedResult`. No pit is worth more than `upper_bound`. The value
        is exact for integers, rounded once for floats.
    """

    mask: NDArray[np.bool_]
    values: Array
    air: NDArray[np.bool_]
    pattern: NDArray[np.int64]
    closure: Closure
    _gap: int | float
    _flow: tuple[NDArray[np.int64], ...]  #: tails, arcs of the pattern, and amounts

    @property
    def gap(self) -> int | float:
        """By how much the largest value may differ from that of this pit: 0 for an optimum of integers."""
        return self._gap

    def verify(self) -> None:
        """Prove the pit closed and its value the largest, in linear time and without a solver.

        A result that stopped early proves its two bounds instead.
        """
        shape = np.shape(self.values)
        check_array(np, self.values, "values", (-1, -1, -1), np.int64, np.float64)
        check_array(np, self.mask, "mask", shape, np.bool_)
        check_array(np, self.air, "air", shape, np.bool_)
        check_array(np, self.pattern, "pattern", (-1, 3), np.int64)
        check_status(self.status)
        check_kind(self.closure, "closure", str)
        check_kind(self._flow, "the flow", tuple)
        for part in self._flow:
            check_array(np, part, "a part of the flow", self._flow[0].shape, np.int64)
        if self.closure not in CLOSURES or len(self._flow) != 3 or self.values[self.air].any():
            raise VerificationError("closure or flow is none, or there is air of some value")
        width = np.array(shape)
        heights = self.pattern[:, 2]
        if (abs(self.pattern) >= width).any() or (heights < 1).any() or (np.diff(heights) < 0).any():
            raise VerificationError("the pattern has offsets that lead out of the model or not up")
        layout = BlockLayout(self.values.shape, self.pattern)
        flow = check_flow(layout, *self._flow)
        try:
            whole, rest, exponent = _as_whole(self.values)
        except CapacityOverflowError as error:
            raise VerificationError(str(error)) from None
        left = left_of(layout.spread(whole), flow)
        stopped = self.status == "time-limit"
        taken = closed_set(layout, self.mask) if stopped else extreme_pit(layout, left, flow, self.closure)
        check_closed(layout, taken)
        if not np.array_equal(self.mask, taken & ~self.air):
            fault = "not closed" if stopped else f"not the {self.closure} one of the flow"
            raise VerificationError(f"the pit is {fault}")
        proved = _proved(self.values[taken], layout.inside(left), rest, exponent)
        if checked_number(self.lower_bound, "lower_bound") != proved.lower:
            raise VerificationError(f"the pit has the value {proved.lower}, not {self.lower_bound}")
        optimal = self.status == "optimal"
        upper = proved.lower if optimal else proved.upper
        if checked_number(self.upper_bound, "upper_bound") != upper:
            raise VerificationError(f"the flow proves an upper bound of {upper}, not {self.upper_bound}")
        if checked_number(self._gap, "gap") != proved.gap:
            raise VerificationError(f"the value is proved within {proved.gap}, not {self._gap}")
        if optimal and not proved.close:
            raise VerificationError(f"the flow does not prove that no pit is worth more than {proved.lower}")

    def __repr__(self) -> str:
        blocks = f"{int(self.mask.sum()):,} of {int((~self.air).sum()):,} blocks"
        return f"<UltimatePit: {self._headline()}, {blocks}, {self._how()}>"

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw from above, north up, how many blocks are taken of each column."""
        taken = self.mask.sum(axis=2, dtype=np.float64).T[::-1]
        return self._labelled(draw_with_bar(ax, taken, "blocks taken"))


def _as_whole(values: Array) -> tuple[NDArray[np.int64], Array, int]:
    """Return values as integers in units of two to minus a power, what that leaves of each, and the power."""
    if values.dtype.kind == "f":
        size = size_of(values)
        if size == np.finfo(np.float64).max:
            raise CapacityOverflowError("values sum past float64: divide all of them by the same number")
        exponent = BITS - 1 - math.frexp(size)[1]
        return *whole_and_rest(values, exponent, np.trunc), exponent
    if exact_total(values[values > 0]) - exact_total(values[values < 0]) >= 2**BITS:
        raise CapacityOverflowError(f"values sum past 2**{BITS}: give floats, or larger units")
    return values, np.zeros(values.shape), 0


class Proved(NamedTuple):
    """The proof of a closed set of blocks by a flow."""

    lower: int | float  #: its value
    upper: int | float  #: no closed set has a larger one
    gap: int | float  #: how far the two are apart, before they were rounded
    close: bool  #: whether the gap is that of an optimal pit


def _proved(taken: Array, left: NDArray[np.int64], rest: Array, exponent: int) -> Proved:
    """Return what follows from the values that are taken, and from what the flow leaves of each block."""
    total, bound = exact_total(taken), exact_total(left[left > 0]) / Fraction(2) ** exponent
    if taken.dtype.kind == "i":
        return Proved(int(total), int(bound), int(bound - total), bound == total)
    # A rest is less than a unit, and has the sign of its value.
    bound += exact_total(rest[left > 0]) + exact_total(rest[(left == 0) & (rest > 0)])
    value, gap = near_and_gap(total, bound)
    return Proved(value, rounded_up(bound), gap, is_close(gap, size_of(taken), left.size))


def ultimate_pit(
    values: ArrayLike,
    *,
    slope: float | Mapping[float, float] = 45.0,
    block_size: ArrayLike = (1.0, 1.0, 1.0),
    closure: Closure = "smallest",
    time_limit: float | None = None,
    progress: bool | Reporter = False,
) -> UltimatePit:
    """Find the pit of the largest value in a block model: the ultimate pit limit of an open mine.

    A block can be taken if all blocks above it are taken whose centres lie within the slope. Other names:
    maximum closure, the problem of Lerchs and Grossmann. No requirement is stored, so this takes less time
    and memory than :func:`select_projects`.

    Parameters
    ----------
    values : array_like of numbers, shape (nx, ny, nz)
        What each block brings; negative where it costs. The axes lead east, north and up:
        ``values[:, :, 0]`` is the lowest bench. Of models with other axes give a view, as
        ``values.transpose(2, 1, 0)`` or ``values[:, :, ::-1]``. NaN and masked entries of a masked array are
        air: free, and no part of the pit. What lies above air in the cone of a block must be taken, too.
    slope : float, or mapping of bearings to such
        The steepest wall, in degrees from the horizontal; or for some bearings, in degrees clockwise from
        north, that of the wall which is seen there from the floor. Between bearings angles are interpolated.
    block_size : (dx, dy, dz)
        The size of a block along each axis.
    closure : {"smallest", "largest"}
        Which of several pits of the largest value is returned: the one that is part of all others, or the one
        that all others are part of.
    time_limit : float, optional
        Seconds for building and solving. The search for the pit that the flow proves takes additional time,
        linear in the model, and so does compiling, once. On expiry the result's `status` says so: its pit is
        closed and has the value `lower_bound`, and by its flow no pit is worth more than `upper_bound`.
    progress : bool or function
        True draws a line on standard error; a function is called with a ProgressReport now and then.

    Returns
    -------
    UltimatePit
        Its value is exact for integers. For floats it is within `gap` of the largest one; the status is
        "approximate" where float64 does not allow a closer proof.

    Raises
    ------
    InvalidInputError
        The model has no three axes, or an argument is out of its range.
    CapacityOverflowError
        Integers sum past 2**61, or floats past float64.

    Notes
    -----
    Blocks outside of the model count as taken, so it must be wide enough. Where slopes differ by bearing, a
    wall can be flatter than asked: the slopes that chains of blocks keep are those of a convex cone.
    Pseudoflow algorithm (Hochbaum 2008).

    Examples
    --------
    >>> import preflow
    >>> section = [[-1, -1], [-1, -1], [7, -1], [-1, -1]]  # from west to east; the lower bench first
    >>> pit = preflow.reductions.ultimate_pit([[column] for column in section])
    >>> pit.value, pit.mask[:, 0].tolist()
    (4, [[False, False], [False, True], [True, True], [False, True]])
    >>> pit.verify()
    >>> preflow.reductions.ultimate_pit([[column] for column in section], slope={90: 45, 270: 80}).value
    5
    """
    check_word("closure", closure, CLOSURES)
    given: Array = values if isinstance(values, np.ma.MaskedArray) else as_array(values, "values")
    if given.ndim != 3 or not given.size:
        raise InvalidInputError(f"values must have the shape (nx, ny, nz), with no 0, got {given.shape}")
    numbers: Array = np.ma.getdata(given)
    air = np.ma.getmaskarray(given)
    if numbers.dtype.kind == "f":
        air = air | np.isnan(numbers)
    numbers = np.where(air, numbers.dtype.type(0), numbers)
    numbers = read_signed(numbers.ravel(), numbers.size, "values").reshape(given.shape)
    check_finite("values", numbers)
    shape = given.shape[0], given.shape[1], given.shape[2]
    control, limit = Control(), check_time_limit(time_limit)

    def work() -> UltimatePit:
        pattern = precedence_pattern(slope, block_size, shape)
        return _solve(BlockLayout(shape, pattern), numbers, air.copy(), closure, control)

    return run_interruptibly(work, control, limit, progress)


def _solve(
    layout: BlockLayout, values: Array, air: NDArray[np.bool_], closure: Closure, control: Control
) -> UltimatePit:
    """Find a flow from ore to waste, and the pit that it proves."""
    n, seconds = layout.size, dict[str, float]()
    with timed(seconds, "build"):
        whole, rest, exponent = _as_whole(values)
        index = np.dtype(np.uint32 if n < 2**31 else np.uint64)
        value = layout.spread(whole)
        net = PatternNetwork(
            layout.step.astype(np.uint64),
            layout.arcs_at_level,
            np.uint64(n // layout.shape[2]),
            np.zeros_like(value),
            np.maximum(value, 0),
            np.maximum(-value, 0),
        )
        # Nothing leads to the numbers outside: they are dead.
        label, vertex = (
            layout.spread(np.ones(layout.shape, dtype=index), outside=n + 1),
            make_records(n, index),
        )
    control.check_wanted()
    with timed(seconds, "solve"):
        control.progress[:] = net.excess.sum(dtype=np.float64)
        merge_trees(net, label, vertex, OPTIONS, False, control)
    control.check_wanted()
    with timed(seconds, "recover"):
        count = max(len(layout.pattern), 1)
        block = np.flatnonzero(net.flow)
        up = vertex[block, UP].astype(np.int64)
        tail = np.where(up < count, block, vertex[block, PARENT].astype(np.int64))
        arc, amount = up % count, net.flow[block]
        flow = PitFlow(tail, tail + layout.step[arc], amount)
        del net, label, vertex
        left = left_of(value, flow)
        taken = extreme_pit(layout, left, flow, closure)
        finished = exact_total(whole[taken]) == exact_total(left[left > 0])
        if not finished:
            pits = [
                taken,
                *(extreme_pit(layout, left, flow, other) for other in CLOSURES if other != closure),
            ]
            taken = max(pits, key=lambda pit: exact_total(values[pit]))
        proved = _proved(values[taken], layout.inside(left), rest, exponent)
    status = control.status(find_method(METHODS, METHOD), finished, "no optimal pit", close=proved.close)
    counts: Any = {name: int(control.counts[place]) for name, place in SolveStats.counted().items()}
    return UltimatePit(
        status,
        proved.lower,
        proved.lower if status == "optimal" else proved.upper,
        SolveStats(METHOD, "arcs follow from a pattern", seconds=seconds, **counts),
        taken & ~air,
        values,
        air,
        layout.pattern,
        closure,
        proved.gap,
        (tail, arc, amount),
    )
