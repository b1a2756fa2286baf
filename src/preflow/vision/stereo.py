"""Depth from two views: the disparity of every pixel of a rectified pair, by alpha-expansion.

Boykov, Veksler and Zabih, "Fast approximate energy minimization via graph cuts", PAMI 2001, section 8.3:
labels are disparities, neighbours pay for differing by a truncated linear distance, less across edges of the
image. Departures: the costs of pixels are those of :mod:`preflow.vision.matching_costs`. To find pixels that
only one view shows, the other view is labelled as well and the disparities are compared; such pixels take the
disparity of the background beside them (Hirschmüller, PAMI 2008, section 2.5). Integer disparities are
refined by parabolas.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Array
from ..certify.fields import check_kind, check_seconds, checked_host_array
from ..checks import as_float, check_integer, check_number, check_positive, warn_caller
from ..drawing.axes import say
from ..drawing.images import draw_with_bar
from ..errors import InvalidInputError, VerificationError
from ..method_names import DeviceName, FlowMethodName, GridMethodName
from ..progress import Reporter, Steps, reporting
from ..solving.read_only import ReadOnlyArrays
from ..solving.run import Deadline
from ..solving.timing import solving_seconds, timed
from .colours import disparity_picture, float_array
from .expansion import Cuts, Labelling, search_moves
from .label_energy import MOST_LABELS, LabelEnergy, truncated_linear
from .matching_costs import (
    OUTSIDE_COST,
    Frame,
    check_same_shape,
    checked_frame,
    parabola_vertex,
    smoothness_weights,
)
from .pictures import png

if TYPE_CHECKING:
    from matplotlib.axes import Axes


#: Neighbours whose disparities differ by more than this pay no more: a step of depth, not a slope.
STEP = 5
#: Both views show a pixel if their disparities differ by at most this.
TOLERANCE = 1
#: Costs are averaged over windows of this size before a parabola is fitted.
REFINING_WINDOW = 7
#: Default number of sweeps over all labels: later sweeps hardly lower the energy.
SWEEPS = 3
#: More occluded pixels than this share cause a warning: exchanged views of the motorcycle have 40 %.
SUSPICIOUS = 0.35


@dataclass(frozen=True, eq=False, repr=False)
class Stereo(ReadOnlyArrays):
    """The disparities of a pair of views.

    Attributes
    ----------
    disparity : ndarray of float32, shape (h, w)
        Pixel (y, x) of the left view is pixel (y, x - disparity) of the right one. Refined below a pixel, and
        filled where `occluded`.
    occluded : ndarray of bool, shape (h, w)
        Pixels that the right view does not show; all False if `occlusions` was False.
    left : Labelling
        The labelling of the left view; label 0 is `min_disparity`.
    right : Labelling or None
        The labelling of the right view, mirrored.
    seconds : dict of str to float
        "costs", "left", "right" and "refine"; and "compile", if kernels were compiled.
    """

    disparity: NDArray[np.float32]
    occluded: NDArray[np.bool_]
    left: Labelling
    right: Labelling | None
    seconds: dict[str, float]
    _min_disparity: int

    def verify(self) -> None:
        """Prove the labellings of both views, and compute disparities and occlusions from them again."""
        check_seconds(self.seconds)
        check_kind(self.left, "left", Labelling)
        check_kind(self.right, "right", Labelling, type(None))
        views = [self.left] if self.right is None else [self.left, self.right]
        for view in views:
            view.verify()
        costs, low = self.left.energy_terms.data, self._min_disparity
        if self.right is not None:
            disparities = range(low, low + len(costs))
            theirs = self.right.energy_terms.data
            if not np.array_equal(theirs, _seen_from_right(costs, disparities)):
                raise VerificationError("the right labelling is not one of the other view")
        disparity, occluded = _disparities(self.left, self.right, low)
        for name, expected in (("disparity", disparity), ("occluded", occluded)):
            found = checked_host_array(getattr(self, name), name, expected.shape, expected.dtype)
            if not np.array_equal(found, expected):
                raise VerificationError(f"{name} does not follow from the labellings")

    @property
    def converged(self) -> bool:
        """Whether no expansion lowers the energy of the labelling of either view."""
        return self.left.converged and (self.right is None or self.right.converged)

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the disparities, with a colour bar in pixels."""
        axes = draw_with_bar(ax, self.disparity.astype(np.float64), "disparity in pixels")
        return say(axes, "" if self.converged else "not converged")

    def __repr__(self) -> str:
        height, width = self.disparity.shape
        low, high = self.disparity.min(), self.disparity.max()
        seconds = solving_seconds(self.seconds)
        state = "" if self.converged else ", not converged"
        return (
            f"<Stereo: {height} x {width} pixels, disparities {low:.3g} to {high:.3g}, "
            f"{self.occluded.mean():.1%} occluded{state}, {seconds:.3g} s>"
        )

    def _repr_png_(self) -> bytes | None:
        """Return the picture of the disparities with its colour bar."""
        return png(disparity_picture(self.disparity, bar=True))


def match_stereo(
    left: ArrayLike,
    right: ArrayLike,
    max_disparity: int,
    *,
    min_disparity: int = 0,
    smoothness: float = 25.0,
    sigma: float = 8.0,
    connectivity: int = 4,
    occlusions: bool = True,
    max_sweeps: int = SWEEPS,
    method: FlowMethodName | GridMethodName | str = "auto",
    device: DeviceName = "auto",
    threads: int | None = None,
    time_limit: float | None = None,
    progress: bool | Reporter = False,
) -> Stereo:
    """Find the disparity of every pixel of the left view of a rectified pair.

    Parameters
    ----------
    left, right : array_like, shape (h, w) or (h, w, channels)
        The views: integers on the scale of their type, floats from 0 to 1. Rows correspond.
    max_disparity : int
        The largest disparity.
    min_disparity : int
        The least disparity.
    smoothness : float
        Cost of neighbours of equal colour for each step of disparity between them, up to 5 steps. The cost of
        matching two pixels ranges from 0 to 100.
    sigma : float
        Difference of colours, on a scale of 255, at which `smoothness` has fallen by a factor of e; it never
        falls below a tenth.
    connectivity : int
        4 or 8 neighbours.
    occlusions : bool
        Label the right view as well, to find pixels that it does not show; this doubles the work.
    max_sweeps, method, device, threads
        As for :func:`alpha_expansion`.
    time_limit : float, optional
        Seconds for all minimum cuts; other steps are not stopped.
    progress : bool or function
        True draws a line on standard error; a function gets a :class:`preflow.progress.ProgressReport` after
        each label of a view.

    Returns
    -------
    Stereo

    Raises
    ------
    InvalidInputError
        Views of different shapes, values that are not finite, an empty range of disparities, one that has too
        many or is wider than the views, or a parameter out of its range.

    Notes
    -----
    Memory: 2 bytes per pixel and disparity for each view, and that of the minimum cuts. Regions without
    texture, and the strip at the left border that the right view does not show, take the disparity of their
    neighbours.

    Examples
    --------
    A random texture seen twice, the second time 2 pixels further left:

    >>> import numpy as np
    >>> texture = np.random.default_rng(0).random((12, 24))
    >>> result = match_stereo(texture[:, :20], texture[:, 2:22], 4)
    >>> np.unique(np.rint(result.disparity[:, 4:])).tolist()
    [2.0]
    """
    frames = checked_frame("left", left), checked_frame("right", right)
    check_same_shape(*frames, ("left", "right"))
    disparities = _checked_range(min_disparity, max_disparity, frames[0].shape[1])
    smoothness = check_number("smoothness", smoothness)
    sigma = check_positive("sigma", sigma)
    deadline = Deadline(time_limit)
    seconds: dict[str, float] = {}
    with timed(seconds, "costs"):
        first, second = (Frame.of(pixels, axes=(1,)) for pixels in frames)
        costs = np.stack([first.costs(second, 0, -disparity) for disparity in disparities])

    def labelled(frame: Frame, data: Array, name: str, report: Reporter | None) -> Labelling:
        with timed(seconds, name):
            energy = LabelEnergy.from_arrays(
                data,
                truncated_linear(len(data), STEP),
                smoothness_weights(frame, smoothness, sigma, connectivity),
            )
            cuts = Cuts(method, device, threads)
            steps = Steps(report)
            steps.part = f"{name} view: "
            if occlusions:
                steps.span = (0.0, 0.5) if name == "left" else (0.5, 1.0)
            return search_moves(energy, "expansion", None, max_sweeps, cuts, deadline.left(), steps)

    with reporting(progress) as report:
        of_left, of_right = labelled(first, costs, "left", report), None
        if occlusions:
            of_right = labelled(second, _seen_from_right(costs, disparities), "right", report)
    with timed(seconds, "refine"):
        disparity, occluded = _disparities(of_left, of_right, int(min_disparity))
    if min_disparity >= 0 and occluded.mean() > SUSPICIOUS:
        warn_caller(
            f"{occluded.mean():.0%} of the left view is occluded: the views may be exchanged, or "
            "max_disparity is too small"
        )
    return Stereo(disparity, occluded, of_left, of_right, seconds, int(min_disparity))


def _disparities(
    left: Labelling, right: Labelling | None, low: int
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Return refined disparities, filled where the other view does not show a pixel, and where that is."""
    occluded = np.zeros(left.labels.shape, np.bool_)
    if right is not None:
        occluded = _occluded(left.labels, right.labels, low)
    disparity = _refined(left.energy_terms.data, left.labels) + np.float32(low)
    return _filled(disparity, occluded), occluded


def bad_pixels(disparity: ArrayLike, truth: ArrayLike, *, threshold: float = 2.0) -> float:
    """Return the share of pixels whose disparity is wrong by more than `threshold`.

    Parameters
    ----------
    disparity, truth : array_like, shape (h, w)
        Pixels where the truth is not finite are left out.
    threshold : float
        In pixels of these maps. Middlebury's thresholds are in pixels of the full size; halve them for maps
        of half the size.

    Examples
    --------
    >>> bad_pixels([[1, 2, 9, 4]], [[1, 2, 3, float("inf")]])
    0.3333333333333333
    """
    threshold = as_float("threshold", threshold)
    found, right = float_array("disparity", disparity), float_array("truth", truth)
    if found.shape != right.shape:
        raise InvalidInputError(f"disparity has shape {found.shape}, truth has shape {right.shape}")
    known = np.isfinite(right)
    if not known.any():
        raise InvalidInputError("truth is not known anywhere")
    return float((np.abs(found[known] - right[known]) > threshold).mean())


def _checked_range(low: int, high: int, width: int) -> range:
    check_integer("min_disparity", low, minimum=1 - width)
    check_integer("max_disparity", high, minimum=1 - width)
    if high < low:
        raise InvalidInputError(f"no disparities: max_disparity {high} is less than min_disparity {low}")
    if high >= width:
        raise InvalidInputError(f"max_disparity {high} is not less than the width of the views, {width}")
    if high - low >= MOST_LABELS:
        raise InvalidInputError(f"{high - low + 1:,} disparities, at most {MOST_LABELS:,} are supported")
    return range(low, high + 1)


def _seen_from_right(costs: Array, disparities: range) -> Array:
    """Return the same costs for the pixels of the right view."""
    width = costs.shape[2]
    seen: Array = np.full_like(costs, OUTSIDE_COST)
    for label, disparity in enumerate(disparities):
        x0, x1 = max(0, disparity), min(width, width + disparity)
        seen[label, :, x0 - disparity : x1 - disparity] = costs[label, :, x0:x1]
    return seen


def _occluded(left: NDArray[np.int64], right: NDArray[np.int64], low: int) -> NDArray[np.bool_]:
    """Return the pixels of the left view whose partner has another disparity or is outside."""
    height, width = left.shape
    partner = np.arange(width) - (left + low)
    inside = (partner >= 0) & (partner < width)
    row = np.arange(height)[:, np.newaxis]
    theirs = right[row, np.clip(partner, 0, width - 1)]
    unseen: NDArray[np.bool_] = ~inside | (np.abs(theirs - left) > TOLERANCE)
    return unseen


def _refined(costs: Array, labels: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return labels moved to the minimum of the parabola through the costs around them."""
    from scipy.ndimage import uniform_filter

    def cost(of: NDArray[np.int64]) -> NDArray[np.float32]:
        chosen: NDArray[np.float32] = np.take_along_axis(smooth, of[np.newaxis], axis=0)[0]
        return chosen

    # Costs are averaged label by label, so every pixel of a window is taken at the same disparity.
    smooth = uniform_filter(costs, (0, REFINING_WINDOW, REFINING_WINDOW), np.float32, mode="nearest")
    last = len(costs) - 1
    below, above = np.maximum(labels - 1, 0), np.minimum(labels + 1, last)
    offset = parabola_vertex(cost(below), cost(labels), cost(above))
    offset[(labels == 0) | (labels == last)] = 0
    return labels.astype(np.float32) + offset


def _filled(disparity: NDArray[np.float32], occluded: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Return disparities with those of occluded pixels replaced by the background's in their row.

    The background is the smaller of the nearest disparities left and right of pixels that both views show. A
    row without such pixels is unchanged.
    """
    column = np.arange(disparity.shape[1])
    before = np.maximum.accumulate(np.where(occluded, -1, column), axis=1)
    after = np.minimum.accumulate(np.where(occluded, len(column), column)[:, ::-1], axis=1)[:, ::-1]
    row = np.arange(len(disparity))[:, np.newaxis]
    from_left = np.where(before >= 0, disparity[row, before], np.inf)
    from_right = np.where(after < len(column), disparity[row, np.minimum(after, len(column) - 1)], np.inf)
    background = np.minimum(from_left, from_right)
    return np.where(occluded & np.isfinite(background), background, disparity).astype(np.float32)
