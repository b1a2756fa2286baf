"""Layers of an image or a volume: surfaces with a height in every column, by one minimum cut.

Li, Wu, Chen and Sonka, "Optimal surface segmentation in volumetric images: a graph-theoretic approach", IEEE
Transactions on Pattern Analysis and Machine Intelligence 28 (2006).

The pixels of a grid are the places of all surfaces. A place weighs its cost less that of the place below it,
so the places up to a surface weigh as much as the surface costs, but for a constant. They are the source side
of a cut that contains none of these arcs:

- from each place to the one below it,
- from place z of a column to place ``z - max_step`` of the neighbouring columns,
- from place z of a surface to place ``z + min_gap`` of the next one,
- from place z of a surface to place ``z - max_gap`` of the one before,
- from each forbidden place to the one above it; it weighs nothing.

These arcs have one more than the sum of all weights. Departures: no arc is stored, since a few offsets lead
to all neighbours; the lowest place of each column is tied to the source, so that no weight has to bring it
in. Floats are rounded to integers, and `gap` bounds what that may change.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Array
from ..certify.exact import exact_total, near_and_gap, whole_and_rest
from ..certify.fields import check_array, check_kind, checked_host_array, checked_number
from ..checks import check_finite
from ..drawing.images import draw_with_bar
from ..errors import (
    CapacityOverflowError,
    InvalidInputError,
    NotOptimalError,
    PreflowError,
    VerificationError,
)
from ..graph.grid import GridNetwork
from ..graph.placement import host_array
from ..gridcut.api import grid_cut
from ..gridcut.result import GridCutResult
from ..method_names import DeviceName, GridMethodName
from ..progress import Reporter
from ..solving.drawn import DrawnResult
from .denoising import is_same_grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Weights sum to less than two to this power, so that all capacities at a pixel fit int64.
BITS = 57


class Limits(NamedTuple):
    """How far surfaces may be apart."""

    step: NDArray[np.int64]  #: shape (k, axes): between neighbouring columns along each axis
    least: NDArray[np.int64]  #: shape (k - 1,): from each surface up to the next one
    most: NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class LayeredSurfaces(DrawnResult):
    """Surfaces of least cost; of several such the highest ones in every column.

    Attributes
    ----------
    surfaces : ndarray of int64, shape (k, ...)
        The height of each surface in each column, from 0 to depth - 1.
    cost : int or float
        The sum of the costs of all places of the surfaces: exact for integers, rounded once for floats.
    gap : int or float
        By how much the cost may be above the least one: 0 for integers.
    cut : GridCutResult
        The minimum cut that proves it.
    """

    surfaces: NDArray[np.int64]
    cost: int | float
    gap: int | float
    cut: GridCutResult
    _given: Array
    _limits: Limits

    def verify(self) -> None:
        """Prove that the surfaces keep all limits and that no others cost less, in linear time."""
        check_kind(self.cut, "cut", GridCutResult)
        check_kind(self._limits, "limits", Limits)
        check_array(np, self._given, "the costs", np.shape(self._given), np.int64, np.float64)
        surfaces = checked_host_array(self.surfaces, "surfaces", self._given.shape[:-1], np.int64)
        try:
            columns = _columns(_checked_cost(self._given))
            limits = _checked_limits(self._given.shape, *self._limits)
            network = _network(columns, limits)
        except PreflowError as error:
            raise VerificationError(str(error)) from None
        if self.cut.status != "optimal" or not is_same_grid(self.cut.network, network):
            raise VerificationError("the cut is not a minimum cut of these columns")
        self.cut.verify()
        if not np.array_equal(surfaces, _heights(self.cut, self._given.shape)):
            raise VerificationError("the surfaces are not those of the cut")
        steps = (bound < np.abs(np.diff(surfaces, axis=i + 1)).T for i, bound in enumerate(limits.step.T))
        apart = np.diff(surfaces, axis=0).T
        if any(wide.any() for wide in steps) or ((apart < limits.least) | (apart > limits.most)).any():
            raise VerificationError("the surfaces break a limit")
        cost, gap = _cost_and_gap(self._given, columns, surfaces)
        for name, expected in (("cost", cost), ("gap", gap)):
            if checked_number(getattr(self, name), name) != expected:
                raise VerificationError(f"the {name} is {expected}, not {getattr(self, name)}")

    def _summary(self) -> str:
        count, *spatial = self.surfaces.shape
        columns = " x ".join(map(str, spatial))
        return f"{count} surfaces, {columns} columns, cost {self.cost:,}"

    def _draw(self, ax: Axes | None) -> Axes:
        """Draw the surfaces over the least cost of each place; of volumes all heights, one below another."""
        if self.surfaces.ndim > 2:
            heights = self.surfaces.reshape(-1, self.surfaces.shape[-1])
            return draw_with_bar(ax, heights.astype(np.float64), "height")
        axes = draw_with_bar(ax, self._given.min(axis=0).T.astype(np.float64), "cost")
        for surface in self.surfaces:
            axes.plot(surface, color="red")
        return axes


def layered_surfaces(
    cost: ArrayLike,
    *,
    max_step: ArrayLike = 1,
    min_gap: ArrayLike = 1,
    max_gap: ArrayLike | None = None,
    method: GridMethodName | str = "auto",
    device: DeviceName = "auto",
    threads: int | None = None,
    time_limit: float | None = None,
    progress: bool | Reporter = False,
) -> LayeredSurfaces:
    """Find surfaces through an image or a volume, one above another, whose places cost least together.

    Each surface has one height in every column, such as the layers of a retina or of the ground.

    Parameters
    ----------
    cost : array_like of numbers, shape (k, ..., depth)
        What it costs surface i to be at height z of a column, for each of k surfaces: k images of shape
        (width, depth), or k volumes of shape (height, width, depth). ``inf`` forbids a place.
    max_step : int, or array_like of int, shape (axes,) or (k, axes)
        The most that the heights of neighbouring columns differ by: everywhere, along each spatial axis, or
        for each surface and axis. `depth` and more is no limit.
    min_gap, max_gap : int, or array_like of int, shape (k - 1,)
        The least and the most by which each surface is above the one before it; not negative. With 0 they may
        touch. Default of `max_gap`: no limit.
    method, device, threads, progress
        As for :func:`preflow.grid_cut`.
    time_limit : float, optional
        Seconds for the minimum cut.

    Returns
    -------
    LayeredSurfaces

    Raises
    ------
    InvalidInputError
        Wrong shapes, NaN or ``-inf``, or no surfaces keep all limits.
    CapacityOverflowError
        Differences of integer costs along columns sum to 2**57 or more, or floats past float64.
    NotOptimalError
        The time limit came first.

    Notes
    -----
    One minimum cut in a grid with a pixel for each cost. Floats are rounded to integers whose differences
    along columns sum to less than 2**57.

    Examples
    --------
    Two surfaces in an image of four columns; the second one is at least two places above the first one:

    >>> import numpy as np
    >>> image = np.array([[9, 1, 9, 9, 2], [9, 9, 1, 9, 2], [9, 1, 9, 9, 2], [9, 1, 9, 2, 9]])
    >>> result = layered_surfaces([image, image], max_step=1, min_gap=2)
    >>> result.surfaces.tolist(), result.cost
    ([[1, 2, 1, 1], [4, 4, 4, 3]], 12)
    >>> result.verify()
    """
    given = _checked_cost(cost)
    limits = _checked_limits(given.shape, max_step, min_gap, max_gap)
    columns = _columns(given)
    network = _network(columns, limits)
    cut = grid_cut(
        network, method=method, device=device, threads=threads, time_limit=time_limit, progress=progress
    )
    if cut.status != "optimal":  # its bounds are in other units than the costs
        raise NotOptimalError("the time limit ended the search for the surfaces")
    if cut.value >= columns.unbounded:
        raise _infeasible()
    surfaces = _heights(cut, given.shape)
    return LayeredSurfaces(surfaces, *_cost_and_gap(given, columns, surfaces), cut, given, limits)


class Columns(NamedTuple):
    """Costs as integers; a forbidden place has that of the next allowed one below, or of the lowest one."""

    whole: NDArray[np.int64]  #: in units of two to the power -`exponent`
    rest: NDArray[np.float64]  #: what rounding left of floats
    exponent: int
    allowed: NDArray[np.bool_]
    unbounded: int  #: more than all weights


def _columns(cost: Array) -> Columns:
    allowed = cost < np.inf
    first = allowed.argmax(axis=-1)[..., None]
    if not allowed.all():
        place = np.where(allowed, np.arange(cost.shape[-1]), first)
        cost = np.take_along_axis(cost, np.maximum.accumulate(place, axis=-1), axis=-1)
    exponent = 0
    if cost.dtype.kind == "f":
        size = int(np.frexp(np.abs(cost).max())[1])
        weight = float(np.abs(np.diff(np.ldexp(cost, -size))).sum())
        exponent = min(BITS - 1 - int(np.frexp(weight)[1]), BITS) - size
    elif np.abs(np.diff(cost.astype(np.float64))).sum() >= 2.0**BITS:
        raise CapacityOverflowError(f"differences along columns sum to 2**{BITS} or more: give larger units")
    whole, rest = (cost, np.zeros(0)) if cost.dtype.kind == "i" else whole_and_rest(cost, exponent)
    if exponent:  # few digits of floats leave zeros at the end
        digits = int(np.bitwise_or.reduce(whole, axis=None))
        zeros = max((digits & -digits).bit_length() - 1, 0)
        whole, exponent = whole >> zeros, exponent - zeros
    return Columns(whole, rest, exponent, allowed, int(np.abs(np.diff(whole)).sum()) + 1)


def _network(columns: Columns, limits: Limits) -> GridNetwork:
    """Return the grid of all places; with one surface it has no axis of surfaces."""
    allowed, most = columns.allowed, columns.unbounded
    k, *spatial, depth = allowed.shape
    place = np.arange(depth)
    below = place <= allowed.argmax(axis=-1)[..., None]
    above = place >= depth - allowed[..., ::-1].argmax(axis=-1)[..., None]
    for surface, gap in zip(above, limits.least, strict=False):
        surface[..., depth - int(gap) :] = True
    if (below & above).any():
        raise _infeasible()
    profit = -np.diff(columns.whole, axis=-1, prepend=0)
    profit[below], profit[above] = most, -most
    kind = np.int32 if most < 2**31 else np.int64
    profit = profit.astype(kind, copy=False)
    # By offset: the capacities of its forward arcs and of their opposites, where each of them begins.
    arcs: dict[tuple[int, ...], list[Array]] = {}
    each = (k,) + (1,) * (len(spatial) + 1)
    nothing = np.zeros(each, dtype=kind)

    def bind(axis: int, rise: int, backward: bool, where: NDArray[np.bool_]) -> None:
        if rise < depth and allowed.shape[axis] > 1:
            offset = [0] * allowed.ndim
            offset[axis], offset[-1] = 1, rise
            arcs.setdefault(tuple(offset), [nothing, nothing])[backward] = where.reshape(each) * kind(most)

    skipped = ~(allowed | below | above)
    upwards = skipped * kind(most) if skipped.any() else nothing
    arcs[(0,) * (allowed.ndim - 1) + (1,)] = [upwards, nothing + kind(most)]
    for axis, steps in enumerate(limits.step.T, start=1):
        for step in np.unique(steps).tolist():
            bind(axis, -step, False, steps == step)
            bind(axis, step, True, steps == step)
    for gap in np.unique(limits.least).tolist():
        bind(0, gap, False, np.append(limits.least == gap, False))
    for gap in np.unique(limits.most).tolist():
        bind(0, gap, True, np.append(False, limits.most == gap))
    capacity = np.stack(np.broadcast_arrays(*(each for pair in arcs.values() for each in pair)))
    offsets = list(arcs)
    if k == 1:
        profit, capacity, offsets = profit[0], capacity[:, 0], [offset[1:] for offset in offsets]
    return GridNetwork.from_arrays(
        np.maximum(profit, 0), np.maximum(-profit, 0), capacity, connectivity=offsets
    )


def _heights(cut: GridCutResult, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Return the height of the highest place on the source side, by column."""
    heights: NDArray[np.int64] = np.asarray(cut.labels).reshape(shape).sum(axis=-1, dtype=np.int64) - 1
    return heights


def _cost_and_gap(
    given: Array, columns: Columns, surfaces: NDArray[np.int64]
) -> tuple[int | float, int | float]:
    """Return what surfaces cost that are best for the rounded costs, and how far that is from the least."""

    def paid(costs: Array) -> Fraction:
        return exact_total(np.take_along_axis(costs, surfaces[..., None], axis=-1).ravel())

    total = paid(given)
    if given.dtype.kind == "i":
        return int(total), 0
    bound = paid(columns.whole) / Fraction(2) ** columns.exponent
    cost, gap = near_and_gap(total, bound + exact_total(columns.rest.min(axis=-1).ravel()))
    if not np.isfinite(cost):
        raise CapacityOverflowError("the costs of the surfaces sum past float64")
    return cost, gap


def _infeasible() -> InvalidInputError:
    return InvalidInputError(
        "no surfaces keep all limits: raise max_step or max_gap, lower min_gap, or allow more places"
    )


def _checked_cost(cost: ArrayLike) -> Array:
    given = host_array(cost, "cost")
    if given.ndim < 3 or not given.size or given.dtype.kind not in "biuf":
        raise InvalidInputError(
            f"cost must be numbers of shape (surfaces, columns, depth) or with more axes of columns, got "
            f"{given.dtype} of shape {given.shape}; of one surface give cost[None]"
        )
    if given.dtype.kind == "f":
        given = given.astype(np.float64)
        check_finite("cost", np.where(given == np.inf, 0.0, given))
        closed = np.argwhere((given == np.inf).all(axis=-1))
        if len(closed):
            surface, *column = closed[0].tolist()
            raise InvalidInputError(f"surface {surface} has no place in column {tuple(column)}: all are inf")
        return given
    if max(int(given.max()), -int(given.min())) >= 2**BITS:
        raise CapacityOverflowError(f"cost has values of 2**{BITS} or more: give larger units")
    return given.astype(np.int64)


def _checked_limits(
    shape: tuple[int, ...], max_step: ArrayLike, min_gap: ArrayLike, max_gap: ArrayLike | None
) -> Limits:
    """Return the limits of surfaces; none is larger than the depth."""
    k, *spatial, depth = shape

    def read(name: str, values: ArrayLike, *shapes: tuple[int, ...]) -> NDArray[np.int64]:
        numbers = host_array(values, name)
        if numbers.shape not in ((), *shapes) or (numbers.dtype.kind not in "iu" and numbers.size):
            allowed = " or ".join(map(str, shapes))
            raise InvalidInputError(
                f"{name} must be an integer, or integers of shape {allowed}, got {numbers.dtype} of shape "
                f"{numbers.shape}"
            )
        if (numbers < 0).any():
            raise InvalidInputError(f"{name} must not be negative, got {numbers.min()}")
        limits: NDArray[np.int64] = np.minimum(np.broadcast_to(numbers, shapes[-1]), depth).astype(np.int64)
        return limits

    axes = len(spatial)
    step = read("max_step", max_step, (axes,), (k, axes))
    least = read("min_gap", min_gap, (k - 1,))
    most = read("max_gap", depth if max_gap is None else max_gap, (k - 1,))
    if least.sum() >= depth:
        raise InvalidInputError(
            f"min_gap leaves no room: {k} surfaces need {least.sum() + 1} places, a column has {depth}"
        )
    if (least > most).any():
        surface = int((least > most).argmax())
        raise InvalidInputError(
            f"min_gap is {least[surface]} and max_gap {most[surface]} above surface {surface}: lower min_gap"
        )
    return Limits(step, least, most)
