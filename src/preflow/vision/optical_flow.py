"""The motion of every pixel from one frame to the next, by alpha-expansion or by assignment of patches.

Both methods find displacements of whole pixels. These are then refined by parabolas through the costs around
them.

Expansion: Boykov, Veksler and Zabih, "Fast approximate energy minimization via graph cuts", PAMI 2001,
section 8.4. Labels are the displacements of a window, and neighbours pay for differing. A window for large
motions has hundreds of displacements, most of which no pixel makes. So the frames are first matched window by
window at a fraction of their size. A displacement, and those next to it, remain candidates at the next size
if enough pixels match best there.

Assignment: each pixel of a patch is assigned a different pixel of a window in the other frame. Łupińska's
motive for assignments on a GPU is optical flow in real time: complete bipartite graphs of small patches,
costs of at most 100 (her introduction and section 5 leave the rest open). Here a frame is divided into
patches. The rows of a patch's cost matrix are its pixels. The columns are the pixels of the window around the
place where the patch is expected in the other frame. A cost is the unlikeness of the two pixels plus a
penalty for a motion that differs from that of the patches around. The matrices of a frame are solved as
batches by :func:`preflow.linear_assignment`. Rounds of matching and of taking medians over neighbouring
patches alternate, from coarse frames to fine ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Array
from ..assignment.api import linear_assignment
from ..certify.fields import check_count, check_kind, check_seconds, checked_host_array
from ..checks import check_integer, check_number, check_positive, check_word
from ..drawing.axes import say
from ..drawing.images import draw_motion
from ..errors import InvalidInputError, VerificationError
from ..method_names import AssignmentMethodName, DeviceName, GridMethodName
from ..progress import Reporter, Steps, reporting
from ..solving.read_only import ReadOnlyArrays
from ..solving.run import check_time_limit
from ..solving.timing import solving_seconds, timed
from .colours import float_array, flow_picture
from .expansion import Labelling, alpha_expansion
from .label_energy import MOST_LABELS, LabelEnergy
from .matching_costs import (
    LARGEST_COST,
    Frame,
    check_same_shape,
    checked_frame,
    parabola_vertex,
    smoothness_weights,
)
from .pictures import png

if TYPE_CHECKING:
    from matplotlib.axes import Axes

METHODS = ("assignment", "expansion")
#: Largest displacement that is searched for in the coarsest frames, in their pixels.
COARSE_REACH = 4
#: Costs are averaged over windows of this size before parabolas are fitted, ...
REFINING_WINDOW = 7
#: ... and then the median over windows of this size is taken, which smooths but keeps edges.
MEDIAN_WINDOW = 5
#: Diameter in pixels of the colour wheel beside a plot.
WHEEL = 101
#: Diameter of the wheel in the picture that notebooks show, as a fraction of the shorter side.
SHARE_OF_WHEEL = 0.15
#: Costs are averaged over windows of this size to find candidates.
CANDIDATE_WINDOW = 9
#: A displacement is a candidate if this fraction of all pixels match best with it. On RubberWhale and Venus
#: that gives 34 and 87 candidates. Four times the fraction gives 18 and 31 and loses the small ball of
#: RubberWhale; half of it improves nothing.
LEAST_SHARE = 5e-4
#: The cost of neighbours grows with the distance of their displacements up to this, in steps along rows and
#: columns.
STEP = 4
#: Largest height and width of a patch.
LARGEST_PATCH = 30
#: Most costs of one batch: larger frames are matched in several batches.
COSTS_AT_ONCE = 4_000_000
#: Costs are averaged over windows of this size.
WINDOW = 3
#: Size of the windows over which a pixel compares its own motion with those of the patches around.
SETTLING_WINDOW = 5
#: Number of times that each level matches its patches; from the second time on with a penalty.
ROUNDS = 3
#: Cost of a pixel for each step away from the motion of the patches around, and the largest such cost.
PENALTY, MOST_PENALTY = 6, 40
#: The same while no motion is known yet, so that regions without texture stay in place.
LEAST_PENALTY = 1


@dataclass(frozen=True, eq=False, repr=False)
class OpticalFlow(ReadOnlyArrays):
    """The motion of every pixel of a frame.

    Attributes
    ----------
    flow : ndarray of float32, shape (2, h, w)
        As :func:`skimage.registration.optical_flow_tvl1` returns it: ``flow[0]`` is the motion down (v),
        ``flow[1]`` the motion to the right (u), and pixel (y, x) of the reference is at
        ``(y + flow[0], x + flow[1])`` in the moving image.
    displacement : ndarray of int64, shape (2, h, w)
        The flow before it was refined.
    method : {"assignment", "expansion"}
    labelling : Labelling or None
        The labelling that expansion found; label k means ``candidates[k]``.
    candidates : ndarray of int64, shape (labels, 2), or None
    assignments : int
        Number of assignments solved: one per patch, round and level.
    seconds : dict of str to float
        Time of each step, and "compile" if kernels were compiled.
    """

    flow: NDArray[np.float32]
    displacement: NDArray[np.int64]
    method: str
    labelling: Labelling | None
    candidates: NDArray[np.int64] | None
    assignments: int
    seconds: dict[str, float]
    _reference: Frame
    _moving: Frame

    def verify(self) -> None:
        """Prove the labelling, and compute the costs of its labels and the flow from the frames again.

        Displacements that were found by assignment have no proof: each patch was assigned its pixels, given
        those of the others. The flow that follows from them is checked.
        """
        if not isinstance(self.method, str) or self.method not in METHODS:
            raise VerificationError(f"method is {self.method!r}")
        check_count(self.assignments, "assignments")
        check_seconds(self.seconds)
        shape = (2, *self._reference.shape)
        displacement = checked_host_array(self.displacement, "displacement", shape, np.int64)
        flow = checked_host_array(self.flow, "flow", shape, np.float32)
        by_expansion = self.method == "expansion"
        if by_expansion != (self.labelling is not None) or by_expansion != (self.candidates is not None):
            raise VerificationError("a labelling and its candidates belong to expansion, and to nothing else")
        if by_expansion == bool(self.assignments):
            raise VerificationError(f"{self.method} solved {self.assignments} assignments")
        if self.labelling is not None:
            check_kind(self.labelling, "labelling", Labelling)
            self.labelling.verify()
            terms = self.labelling.energy_terms
            candidates = checked_host_array(self.candidates, "candidates", (terms.num_labels, 2), np.int64)
            for (dy, dx), costs in zip(candidates.tolist(), terms.data, strict=True):
                if abs(dy) + abs(dx) > sum(shape) or not np.array_equal(
                    costs, self._reference.costs(self._moving, dy, dx)
                ):
                    raise VerificationError(f"{(dy, dx)} is not the candidate of its label")
            if not np.array_equal(displacement, candidates[self.labelling.labels].transpose(2, 0, 1)):
                raise VerificationError("the displacements are not those of the labels")
        if np.abs(displacement.astype(np.float64)).max() >= min(self._reference.shape) or not np.array_equal(
            flow, refined(self._reference, self._moving, displacement)
        ):
            raise VerificationError("the flow does not follow from the displacements")

    @property
    def converged(self) -> bool:
        """Whether no expansion lowers the energy of the labelling, if there is one."""
        return self.labelling is None or self.labelling.converged

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the flow in colours, beside it the colour wheel with the speed of its full colours.

        The hue is the direction, the saturation the speed.
        """
        largest = float(np.hypot(*self.flow).max())
        wheel = flow_picture(np.zeros((2, WHEEL, WHEEL)), wheel=WHEEL)
        axes = draw_motion(ax, flow_picture(self.flow, largest=largest), wheel, largest)
        return say(axes, "" if self.converged else "not converged")

    def __repr__(self) -> str:
        _, height, width = self.flow.shape
        mean = float(np.hypot(*self.flow).mean())
        seconds = solving_seconds(self.seconds)
        return (
            f"<OpticalFlow: {height} x {width} pixels, {mean:.3g} on average, {self.method}"
            f"{'' if self.converged else ', not converged'}, {seconds:.3g} s>"
        )

    def _repr_png_(self) -> bytes | None:
        """Return the flow in colours and their wheel: the hue is the direction, the saturation the length."""
        wheel = round(min(self.flow.shape[1:]) * SHARE_OF_WHEEL)
        return png(flow_picture(self.flow, wheel=wheel, scale=True))


def find_optical_flow(
    reference_image: ArrayLike,
    moving_image: ArrayLike,
    *,
    method: Literal["expansion", "assignment"] | str = "expansion",
    max_displacement: int = 16,
    smoothness: float = 50.0,
    sigma: float = 8.0,
    max_labels: int = 150,
    max_sweeps: int = 2,
    patch: int = 8,
    radius: int = 3,
    solver: AssignmentMethodName | GridMethodName | str = "auto",
    device: DeviceName = "auto",
    threads: int | None = None,
    time_limit: float | None = None,
    progress: bool | Reporter = False,
) -> OpticalFlow:
    """Find the motion of every pixel from one image to another.

    Parameters
    ----------
    reference_image, moving_image : array_like, shape (h, w) or (h, w, channels)
        Two frames: integers on the scale of their type, floats from 0 to 1.
    method : {"expansion", "assignment"}
        Choose displacements by one labelling of the frame, or patch by patch by an assignment of its pixels.
    max_displacement : int
        The largest motion along rows or columns; it must be less than the width and height of the images.
    smoothness : float
        For expansion: cost of neighbours for each step between their displacements.
    sigma : float
        For expansion: how that cost falls with their contrast, as for :func:`match_stereo`.
    max_sweeps : int
        For expansion: most sweeps over all labels.
    max_labels : int
        For expansion: most candidate displacements.
    patch : int
        For assignment: height and width of a patch, from 2 to 30 pixels.
    radius : int
        For assignment: the margin of a patch's window on each side.
    solver : str
        A name from ``preflow.methods("grid_cut")`` (expansion) or ``preflow.methods("linear_assignment")``
        (assignment), or "auto".
    device, threads
        As for :func:`preflow.grid_cut`.
    time_limit : float, optional
        Seconds for all minimum cuts of expansion.
    progress : bool or function
        True draws a line on standard error; a function gets a :class:`preflow.progress.ProgressReport` after
        each candidate, or after some patches.

    Returns
    -------
    OpticalFlow

    Raises
    ------
    InvalidInputError
        Images of different shapes, values that are not finite, or a parameter out of its range.

    Notes
    -----
    Costs are integers up to 100. An assignment of n pixels and m partners takes O(n**2 m) in the worst case.
    Memory of expansion: 2 bytes per pixel and candidate.

    Examples
    --------
    >>> import numpy as np
    >>> texture = np.random.default_rng(0).random((40, 48))
    >>> result = find_optical_flow(texture[4:36, 4:44], texture[3:35, 6:46], max_displacement=4)
    >>> np.median(result.displacement, axis=(1, 2)).tolist()
    [1.0, -2.0]
    """
    check_word("method", method, METHODS)
    pixels = checked_frame("reference_image", reference_image), checked_frame("moving_image", moving_image)
    check_same_shape(*pixels, ("reference_image", "moving_image"))
    shape = pixels[0].shape[0], pixels[0].shape[1]
    max_displacement = check_integer("max_displacement", max_displacement)
    if max_displacement >= min(shape):
        raise InvalidInputError(
            f"max_displacement {max_displacement} is not less than the images' shorter side, {min(shape)}"
        )
    smoothness = check_number("smoothness", smoothness)
    sigma = check_positive("sigma", sigma)
    max_labels = check_integer("max_labels", max_labels)
    if max_labels > MOST_LABELS:
        raise InvalidInputError(f"max_labels must be at most {MOST_LABELS:,}, got {max_labels:,}")
    check_integer("max_sweeps", max_sweeps)
    patch = check_integer("patch", patch, minimum=2)
    if patch > LARGEST_PATCH:
        raise InvalidInputError(f"patch must be at most {LARGEST_PATCH}, got {patch}")
    radius = check_integer("radius", radius)
    time_limit = check_time_limit(time_limit)
    seconds: dict[str, float] = {}
    placement: dict[str, Any] = {"method": solver, "device": device, "threads": threads}
    reference, moving = (Frame.of(frame) for frame in pixels)
    labelling, candidates, assignments = None, None, 0
    if method == "assignment":
        levels = _levels(max_displacement / radius + 1, reference.shape, 2 * patch)
        with reporting(progress) as report:
            matcher = PatchMatcher(patch, radius, **placement, seconds=seconds, steps=Steps(report))
            displacement = matcher.displacements(reference, moving, levels, max_displacement)
        assignments = matcher.solved
    else:
        levels = _levels(2 * max_displacement / COARSE_REACH, reference.shape, 2 * COARSE_REACH)
        with timed(seconds, "candidates"):
            candidates = candidate_displacements(reference, moving, max_displacement, levels, max_labels)
        limits = {"max_sweeps": max_sweeps, "time_limit": time_limit, "progress": progress}
        with timed(seconds, "expansion"):
            labelling = label_displacements(
                reference, moving, candidates, smoothness, sigma, **limits, **placement
            )
        displacement = candidates[labelling.labels].transpose(2, 0, 1)
    with timed(seconds, "refine"):
        flow = refined(reference, moving, displacement)
    displacement = np.ascontiguousarray(displacement)
    return OpticalFlow(
        flow, displacement, method, labelling, candidates, assignments, seconds, reference, moving
    )


def endpoint_error(flow: ArrayLike, truth: ArrayLike) -> float:
    """Return the mean distance between the end points of two flows, in pixels.

    Parameters
    ----------
    flow, truth : array_like, shape (2, h, w)
        Pixels where the truth is not finite are left out.

    Examples
    --------
    >>> endpoint_error([[[0, 3]], [[0, 4]]], [[[0, 0]], [[0, 0]]])
    2.5
    """
    found, right = float_array("flow", flow), float_array("truth", truth)
    if found.shape != right.shape or found.ndim != 3 or len(found) != 2:
        raise InvalidInputError(f"both have shape (2, height, width), got {found.shape} and {right.shape}")
    known = np.isfinite(right).all(axis=0)
    if not known.any():
        raise InvalidInputError("truth is not known anywhere")
    return float(np.hypot(*(found - right)[:, known]).mean())


def refined(reference: Frame, moving: Frame, displacement: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return displacements moved to the minima of parabolas along rows and columns, then smoothed."""
    from scipy.ndimage import find_objects, median_filter, uniform_filter

    height, width = reference.shape
    distinct, label = np.unique(displacement.reshape(2, -1), axis=1, return_inverse=True)
    label = label.reshape(height, width)
    flow = displacement.astype(np.float32)
    # Unknown costs outside of the frame would distort the parabolas of all pixels whose windows reach there.
    margin = int(np.abs(displacement).max()) + 1
    beyond = moving.framed(margin)
    reach = REFINING_WINDOW // 2
    for number, inner in enumerate(find_objects(label + 1)):
        box = tuple(
            slice(max(0, side.start - reach), min(size, side.stop + reach))
            for side, size in zip(inner, reference.shape, strict=True)
        )
        pixels = label[box] == number
        dy, dx = distinct[:, number].tolist()

        def cost(y: int, x: int, box: Any = box) -> NDArray[np.float32]:
            near: NDArray[np.float32] = uniform_filter(
                reference.costs(beyond, y + margin, x + margin, box).astype(np.float32),
                REFINING_WINDOW,
                mode="nearest",
            )
            return near

        at = cost(dy, dx)
        down = parabola_vertex(cost(dy - 1, dx), at, cost(dy + 1, dx))
        right = parabola_vertex(cost(dy, dx - 1), at, cost(dy, dx + 1))
        flow[0][box][pixels] += down[pixels]
        flow[1][box][pixels] += right[pixels]
    return np.stack([median_filter(component, MEDIAN_WINDOW, mode="nearest") for component in flow])


def _levels(ratio: float, shape: tuple[int, int], smallest: int) -> int:
    """Return the number of sizes of the frames: about log2 of `ratio`, but none smaller than `smallest`."""
    needed = max(1, math.ceil(math.log2(max(ratio, 1))))
    possible = 1 + max(0, math.floor(math.log2(max(1, min(shape) / smallest))))
    return min(needed, possible)


def candidate_displacements(
    reference: Frame, moving: Frame, largest: int, levels: int, most: int
) -> NDArray[np.int64]:
    """Return at most `most` displacements (dy, dx) that pixels make, in ascending order.

    `largest` is the largest displacement along rows or columns that is searched for; each of the `levels`
    halves the frames.
    """
    if levels > 1:
        coarse = candidate_displacements(reference.half(), moving.half(), -(-largest // 2), levels - 1, most)
        around = np.stack(np.divmod(np.arange(9), 3), axis=-1) - 1
        tried = np.unique((2 * coarse[:, np.newaxis] + around).reshape(-1, 2), axis=0)
        tried = tried[np.abs(tried).max(axis=1) <= largest]
    else:
        size = 2 * largest + 1
        tried = np.stack(np.divmod(np.arange(size * size), size), axis=-1) - largest
    wins = np.bincount(_best(reference, moving, tried).ravel(), minlength=len(tried))
    order = np.argsort(-wins, kind="stable")[:most]
    kept = order[wins[order] >= LEAST_SHARE * wins.sum()]
    found: NDArray[np.int64] = tried[np.sort(kept if len(kept) else order[:1])]
    return found


def label_displacements(
    reference: Frame,
    moving: Frame,
    displacements: NDArray[np.int64],
    smoothness: float,
    sigma: float,
    **limits: object,
) -> Labelling:
    """Return the labelling of pixels by displacements; `limits` are those of :func:`alpha_expansion`."""
    data = np.stack([reference.costs(moving, dy, dx) for dy, dx in displacements.tolist()])
    apart = np.abs(displacements[:, np.newaxis] - displacements).sum(axis=-1)
    energy = LabelEnergy.from_arrays(
        data, np.minimum(apart, STEP), smoothness_weights(reference, smoothness, sigma, 4)
    )
    return alpha_expansion(energy, **limits)  # type: ignore[arg-type]


def _best(reference: Frame, moving: Frame, displacements: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for every pixel the displacement that matches the window around it best."""
    from scipy.ndimage import uniform_filter

    least = np.full(reference.shape, np.inf, np.float32)
    best = np.zeros(reference.shape, np.int64)
    for number, (dy, dx) in enumerate(displacements.tolist()):
        cost = uniform_filter(
            reference.costs(moving, dy, dx).astype(np.float32), CANDIDATE_WINDOW, mode="nearest"
        )
        better = cost < least
        least[better], best[better] = cost[better], number
    return best


@dataclass
class PatchMatcher:
    """Matches the patches of one frame with another frame."""

    patch: int  #: height and width of a patch in pixels
    radius: int  #: margin of a window around its patch, in pixels on every side
    #: as for :func:`preflow.linear_assignment`
    method: str = "auto"
    device: DeviceName = "auto"
    threads: int | None = None
    solved: int = 0  #: number of assignments solved so far
    #: time spent on "costs", on "assignments" and, if kernels were compiled, on "compile"
    seconds: dict[str, float] = field(default_factory=dict)
    #: reports how many patches are matched
    steps: Steps = field(default_factory=lambda: Steps(None))

    def displacements(self, reference: Frame, moving: Frame, levels: int, largest: int) -> NDArray[np.int64]:
        """Return the motion of every pixel, shape (2, h, w): down, then to the right.

        Neither exceeds `largest`.
        """
        height, width = reference.shape
        grid = -(-height // self.patch), -(-width // self.patch)
        base = np.zeros((2, *grid), np.int64)
        low, high = self.steps.span
        if levels > 1:
            self.steps.span = low, low + (high - low) / 4  # of a quarter of the pixels
            low = self.steps.span[1]
            coarse = self.displacements(reference.half(), moving.half(), levels - 1, -(-largest // 2))
            finer = 2 * coarse.repeat(2, axis=1).repeat(2, axis=2)[:, :height, :width]
            finer = finer.clip(-largest, largest)
            base = self._best_around(reference, moving, self._medians(finer))
        with timed(self.seconds, "costs"):
            costs = self._unlikeness(reference, moving, base)
        motion = prior = base
        with timed(self.seconds, "assignments"):
            for turn in range(ROUNDS):
                self.steps.part = f"{width} x {height} pixels, round {turn + 1} of {ROUNDS}: "
                each = (high - low) / ROUNDS
                self.steps.span = low + turn * each, low + (turn + 1) * each
                penalty = PENALTY if turn or levels > 1 else LEAST_PENALTY
                motion = self._matched(costs, base, prior, penalty, largest)
                prior = _median_around(self._medians(motion))
        with timed(self.seconds, "costs"):
            return self._settled(reference, moving, motion[:, :height, :width])

    def _best_around(self, reference: Frame, moving: Frame, motion: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return for every patch the best matching motion among its own and its 8 neighbours' motions."""
        height, width = reference.shape
        best, least = motion, np.full(motion.shape[1:], np.inf)
        for tried in _around(motion):
            costs = reference.costs_along(moving, *self._spread(tried)[:, :height, :width])
            total = self._by_patch(costs).sum(axis=1, dtype=np.int64).reshape(least.shape)
            better = total < least
            best, least = np.where(better, tried, best), np.where(better, total, least)
        return best

    def _settled(self, reference: Frame, moving: Frame, motion: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return for every pixel its own motion, or that of a patch around if it matches better with it.

        At the edge of a moving object, the partner of a pixel may be outside of the window of its patch.
        """
        from scipy.ndimage import median_filter, uniform_filter

        height, width = reference.shape
        smooth = np.stack([median_filter(component, SETTLING_WINDOW, mode="nearest") for component in motion])
        best, least = smooth, np.full(reference.shape, np.inf)
        for tried in (smooth, *map(self._spread, _around(self._medians(motion)))):
            here = tried[:, :height, :width]
            costs = reference.costs_along(moving, *here).astype(np.float32)
            cost = uniform_filter(costs, SETTLING_WINDOW, mode="nearest")
            better = cost < least
            best, least = np.where(better, here, best), np.where(better, cost, least)
        return best

    def _unlikeness(self, reference: Frame, moving: Frame, base: NDArray[np.int64]) -> NDArray[np.int16]:
        """Return the costs of each pixel's partners around its patch's `base`: (steps, patches, pixels)."""
        from scipy.ndimage import uniform_filter

        height, width = reference.shape
        dy, dx = self._spread(base)[:, :height, :width]
        costs = []
        for y, x in self._steps().tolist():
            # Single pixels are too similar, so costs are averaged over windows.
            near = uniform_filter(reference.costs_along(moving, dy + y, dx + x), WINDOW, mode="nearest")
            costs.append(self._by_patch(near))
        return np.stack(costs)

    def _matched(
        self,
        costs: NDArray[np.int16],
        base: NDArray[np.int64],
        prior: NDArray[np.int64],
        penalty: int,
        largest: int,
    ) -> NDArray[np.int64]:
        """Return the motion of every pixel by one assignment per patch; motion `prior` has no penalty."""
        side, reach = self.patch, self.patch + 2 * self.radius
        steps = self._steps()
        moved = base[:, np.newaxis] + steps.T[:, :, np.newaxis, np.newaxis]
        extra = np.minimum(penalty * np.abs(moved - prior[:, np.newaxis]).sum(axis=0), MOST_PENALTY)
        extra[(np.abs(moved) > largest).any(axis=0)] = LARGEST_COST
        extra = extra.reshape(len(steps), -1)
        pixel = np.stack(np.divmod(np.arange(side * side), side), axis=-1)
        partner = (pixel[:, np.newaxis] + steps + self.radius) @ np.array([reach, 1])
        motion = []
        at_once = max(1, COSTS_AT_ONCE // (side * side * reach * reach))
        for first in range(0, costs.shape[1], at_once):
            part = slice(first, first + at_once)
            total = np.minimum(costs[:, part] + extra[:, part, np.newaxis], LARGEST_COST)
            # Partners beyond the radius or the largest motion have the largest cost.
            matrices = np.full((total.shape[1], side * side, reach * reach), LARGEST_COST, np.int64)
            matrices[:, np.arange(side * side)[:, np.newaxis], partner] = total.transpose(1, 2, 0)
            result = linear_assignment(matrices, method=self.method, device=self.device, threads=self.threads)
            self.solved += len(matrices)
            self.steps.done("patch", first + len(matrices), costs.shape[1])
            motion.append(np.stack(np.divmod(result.column, reach), axis=-1) - self.radius - pixel)
        chosen = np.concatenate(motion)
        chosen = np.where(np.abs(chosen) <= self.radius, chosen, 0)
        around = self._spread(base)
        found = around + self._by_pixel(chosen, base.shape[1:])
        return np.where(np.abs(found) <= largest, found, around)

    def _steps(self) -> NDArray[np.int64]:
        """Return all displacements (dy, dx) within the radius."""
        size = 2 * self.radius + 1
        return np.stack(np.divmod(np.arange(size * size), size), axis=-1) - self.radius

    def _by_patch(self, values: Array) -> Array:
        """Return values of pixels, shape (h, w), as (patches, pixels of a patch), the last ones repeated."""
        side = self.patch
        whole = np.pad(values, [(0, -size % side) for size in values.shape], mode="edge")
        height, width = whole.shape
        blocks = whole.reshape(height // side, side, width // side, side).swapaxes(1, 2)
        return blocks.reshape(-1, side * side)

    def _by_pixel(self, values: NDArray[np.int64], grid: tuple[int, ...]) -> NDArray[np.int64]:
        """Return motions of (patches, pixels, 2) as an image (2, rows, columns)."""
        side = self.patch
        blocks = values.reshape(*grid, side, side, 2).transpose(4, 0, 2, 1, 3)
        return blocks.reshape(2, grid[0] * side, grid[1] * side)

    def _spread(self, motion: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return motions of patches as motions of their pixels."""
        return motion.repeat(self.patch, axis=1).repeat(self.patch, axis=2)

    def _medians(self, motion: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return each patch's median motion."""
        medians = []
        for component in motion:
            grid = tuple(-(-size // self.patch) for size in component.shape)
            # The lower of two middle values: their mean may be a motion that no pixel makes.
            middle = (self.patch * self.patch - 1) // 2
            medians.append(np.partition(self._by_patch(component), middle, axis=1)[:, middle].reshape(grid))
        return np.stack(medians)


def _around(motion: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Yield the motion of every patch, then those of its 8 neighbours; border patches are repeated."""
    framed = np.pad(motion, [(0, 0), (1, 1), (1, 1)], mode="edge")
    _, rows, columns = motion.shape
    for y, x in sorted(np.ndindex(3, 3), key=lambda step: step != (1, 1)):
        yield framed[:, y : y + rows, x : x + columns]


def _median_around(motion: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for every patch the median of its own motion and its 8 neighbours'."""
    from scipy.ndimage import median_filter

    return np.stack([median_filter(component, 3, mode="nearest") for component in motion])
