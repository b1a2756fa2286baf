"""Motion by assignment: each pixel of a patch is assigned a different pixel of a window in the other frame.

Łupińska's motive for assignments on a GPU is optical flow in real time: complete bipartite graphs of small
patches, costs of at most 100 (her introduction and section 5 leave the rest open). Here a frame is divided
into patches. The rows of a patch's cost matrix are its pixels. The columns are the pixels of the window
around the place where the patch is expected in the other frame. A cost is the unlikeness of the two pixels
plus a penalty for a motion that differs from that of the patches around. The matrices of a frame are solved
as batches by :func:`preflow.linear_assignment`. Rounds of matching and of taking medians over neighbouring
patches alternate, from coarse frames to fine ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array
from ...assignment.api import linear_assignment
from ...method_names import DeviceName
from ...progress import Steps
from ...solving.timing import timed
from ..matching_costs import LARGEST_COST, Frame

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
        if levels > 1:
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
