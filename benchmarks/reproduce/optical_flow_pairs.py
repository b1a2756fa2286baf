"""How many corners move rightly by assignments of 30 to 30, in pictures with a known motion.

In the root of the repository:

    python -m benchmarks.reproduce lupinska optical-flow-pairs --file FOLDER [--file FOLDER] [--small]

A folder has ``frame10.png``, ``frame11.png`` and ``flow10.flo``, as the pairs of Middlebury have: Baker et
al., "A database and evaluation methodology for optical flow" (IJCV 2011).

The paper does not say what the 30 vertices of its assignments are. Here they are corners, found in either
frame without the other. Both frames are cut into square windows, and the at most 30 strongest corners of a
window are assigned to those of the same window of the other frame. A cost is the unlikeness of the pixels
around two corners, plus their distance.

A corner is right if it moves to within a pixel of the truth. It can be right only if the second frame has a
corner there. "nearest" moves each corner by itself to the cheapest corner, so that two may have one.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import preflow
from preflow.errors import InvalidInputError

from ..problem import Table
from .optical_flow import FOR_A_PIXEL, LARGEST, POINTS, REACH, Frame, Points, costs_of_points
from .programs import Record, Row, read_settings

#: Sides of the windows, and what counts as right, in pixels.
SIDES, RIGHT = (48, 64, 96, 128), 1.0
#: The first number of a .flo file, and the size from which its numbers mean that the motion is not known.
FLO_TAG, UNKNOWN = 202021.25, 1e9


class Pair(NamedTuple):
    """Two frames, and the motion of each pixel of the first one, down and to the right, NaN if unknown."""

    before: Frame
    after: Frame
    truth: NDArray[np.float64]  #: shape (height, width, 2)


def read_pair(folder: Path) -> Pair:
    """Read the frames and the motion in a folder.

    Raises
    ------
    InvalidInputError
        A file is missing, or they do not belong together.
    """
    from skimage.io import imread

    names = [folder / name for name in ("frame10.png", "frame11.png", "flow10.flo")]
    if missing := [each.name for each in names if not each.is_file()]:
        raise InvalidInputError(f"{folder} has no {', '.join(missing)}")
    before, after = (imread(each, as_gray=False).astype(np.float64) for each in names[:2])
    words = np.fromfile(names[2], dtype="<f4")
    width, height = words[1:3].view("<i4")
    if words[0] != FLO_TAG or len(words) != 3 + 2 * width * height or before.shape[:2] != (height, width):
        raise InvalidInputError(f"{names[2]} is no motion of frames of {before.shape[1]} x {before.shape[0]}")
    truth = words[3:].reshape(height, width, 2)[:, :, ::-1].astype(np.float64)
    truth[np.abs(truth).max(axis=2) > UNKNOWN] = np.nan
    before, after = (each.mean(axis=2) if each.ndim == 3 else each for each in (before, after))
    return Pair(before, after, truth)


def corners(frame: Frame) -> Points:
    """Return all corners of a frame, the strongest first, by Shi and Tomasi."""
    from skimage.feature import corner_shi_tomasi, peak_local_max

    strength = corner_shi_tomasi(frame, sigma=1.5)
    found: Points = peak_local_max(strength, min_distance=2, threshold_rel=0.001, exclude_border=REACH + 1)
    return found


def strongest(points: Points, low: NDArray[np.int64], high: NDArray[np.int64]) -> Points:
    """Return the POINTS strongest corners in a window."""
    return points[((points >= low) & (points < high)).all(axis=1)][:POINTS]


def measure(pair: Pair, side: int) -> dict[str, float]:
    """Return the counts of one size of windows, and the seconds of finding and assigning corners."""
    began = time.perf_counter()
    old, new = corners(pair.before), corners(pair.after)
    counts = dict.fromkeys(("corners", *OUTCOMES), 0)
    problems, solving = 0, 0.0
    for top in range(0, pair.before.shape[0], side):
        for left in range(0, pair.before.shape[1], side):
            low = np.array([top, left])
            first = strongest(old, low, low + side)
            second = strongest(new, low, low + side)
            first = first[: len(second)]
            if not len(first):
                continue
            costs = costs_of_points(pair.before, pair.after, first, second)
            started = time.perf_counter()
            column = np.asarray(preflow.linear_assignment(costs).column)
            solving += time.perf_counter() - started
            problems += 1
            place = first + pair.truth[first[:, 0], first[:, 1]]
            known = ~np.isnan(place).any(axis=1)
            far = np.linalg.norm(second - place[:, np.newaxis], axis=2)[known]
            each = np.arange(len(far))
            counts["corners"] += len(far)
            counts["possible"] += int((far.min(axis=1) <= RIGHT).sum()) if len(far) else 0
            counts["right"] += int((far[each, column[known]] <= RIGHT).sum())
            counts["nearest"] += int((far[each, costs.argmin(axis=1)[known]] <= RIGHT).sum())
    return {
        **counts,
        "assignments": problems,
        "milliseconds_an_assignment": 1e3 * solving / max(1, problems),
        "seconds": time.perf_counter() - began,
    }


def show(arguments: Sequence[str]) -> None:
    """Measure all pairs and sizes of windows, and show what is right: a part of the paper."""
    settings = read_settings("optical-flow-pairs", arguments, seeds=1, repeats=1)
    if not settings.files:
        raise InvalidInputError("--file FOLDER is missing: one with frame10.png, frame11.png and flow10.flo")
    record = Record(settings, ("pair", "side"))
    for folder in settings.files:
        pair = read_pair(folder)
        for side in SIDES[:1] if settings.small else SIDES:
            if record.lacks(folder.name, side):
                measure(pair, side)  # warms up
                record.add({"pair": folder.name, "side": side, **measure(pair, side)})
    title = (
        f"Corners that move to within a pixel of the truth by assignments of at most {POINTS} to {POINTS}, "
        f"costs up to {LARGEST} with {FOR_A_PIXEL} for a pixel"
    )
    record.show(Table(title, HEADER, shares(record.rows)))


OUTCOMES = ("possible", "right", "nearest")
HEADER = ["pair", "side of a window", "assignments", "corners", "% possible", "% right", "% nearest"]


def shares(measured: Sequence[Row]) -> list[list[str]]:
    """Return the cells of HEADER."""
    return [
        [
            *(str(row[name]) for name in ("pair", "side", "assignments", "corners")),
            *(
                f"{100 * float(row[name]) / float(row['corners']):.0f}"
                for name in ("possible", "right", "nearest")
            ),
        ]
        for row in measured
    ]
