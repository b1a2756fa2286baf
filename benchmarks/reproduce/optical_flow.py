"""Łupińska's real time: optical flow by assignments of 30 to 30, in frames a second.

In the root of the repository:

    python -m benchmarks.reproduce lupinska optical-flow [--small] [--seeds N] [--repeats N] [--method NAME]

A seed is another texture.

The paper reduces optical flow to assignments in complete bipartite graphs of at most 30 to 30 vertices with
costs up to 100. One takes 1/20 s, which it calls real time; it does not say what the vertices are. There are
two readings:

"points" follows 30 points: one assignment a frame, of the points of a frame to those of the next one. A
cost is the unlikeness of the pixels around two points, plus their distance.

"patches" moves every pixel: a frame of 120 x 160 pixels has 648 patches of 5 x 6 pixels, and each pixel of a
patch is assigned another pixel of the place where the patch is expected in the next frame. A frame takes 648
assignments: one call solves them one after the other with Łupińska's method, or at once with the methods that
take batches.

Frames are drawn: a smooth random texture that moves by whole pixels, with noise. Costs are computed by NumPy,
and their time counts.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import preflow
from preflow.errors import PreflowError

from ..problem import Table
from .means import Mean
from .programs import Record, read_settings

#: Size of a frame, of a patch, and the number of points: 30 vertices on either side of an assignment.
SHAPE, PATCH, POINTS = (120, 160), (5, 6), 30
#: Largest cost of a pair, and of a pixel of distance.
LARGEST, FOR_A_PIXEL = 100, 2
#: Half of the side of the windows that are compared.
REACH = 3
#: Motion from each frame to the next, down and to the right, at most: it alternates.
MOTION = ((1, -2), (-2, 1), (0, 3))
#: Seconds of each measurement.
SECONDS, SMALL_SECONDS = 2.0, 0.5
READINGS = ("points", "patches")
#: Frames a second that follow from the paper's 1/20 s for an assignment.
PUBLISHED: Mapping[str, str] = MappingProxyType({"points": "about 20", "patches": "about 0.03"})
METHODS = ("cuda-lockfree", "multicore-lockfree", "serial-cost-scaling", "cuda-batch", "auto")

Frame = NDArray[np.float64]
Points = NDArray[np.int64]


class Measured(NamedTuple):
    """Frames a second of a method in one of the readings, and the share of points or pixels moved rightly."""

    reading: str
    method: str
    frames: int
    frames_a_second: float
    milliseconds_an_assignment: float
    right: float


def frames(seed: int = 0) -> Iterator[tuple[Frame, tuple[int, int]]]:
    """Yield frames without end, and the motion that led to each."""
    from scipy.ndimage import gaussian_filter

    rng = np.random.default_rng(seed)
    texture = gaussian_filter(rng.random(SHAPE), 1.5, mode="wrap")
    texture = 255 * (texture - texture.min()) / np.ptp(texture)
    step = (0, 0)
    for number in range(2**31):
        yield texture + rng.normal(0, 2, SHAPE), step
        step = MOTION[number % len(MOTION)]
        texture = np.roll(texture, step, (0, 1))


def corners(frame: Frame) -> Points:
    """Return the 30 places with the strongest contrast, one in each of 5 x 6 parts of the frame."""
    from scipy.ndimage import gaussian_gradient_magnitude

    strength = gaussian_gradient_magnitude(frame, 1.0)
    margin = 3 * REACH
    inner = strength[margin:-margin, margin:-margin]
    rows, columns = (size // parts for size, parts in zip(inner.shape, PATCH, strict=True))
    inner = inner[: rows * PATCH[0], : columns * PATCH[1]]
    parts = inner.reshape(PATCH[0], rows, PATCH[1], columns).swapaxes(1, 2).reshape(POINTS, -1)
    row, column = np.divmod(parts.argmax(axis=1), columns)
    part_row, part_column = np.divmod(np.arange(POINTS), PATCH[1])
    return np.stack([part_row * rows + row, part_column * columns + column], axis=1) + margin


def windows(frame: Frame, points: Points) -> NDArray[np.float64]:
    """Return the pixels around each point."""
    near = np.arange(-REACH, REACH + 1)
    row, column = (points[:, k, np.newaxis, np.newaxis] for k in (0, 1))
    found: NDArray[np.float64] = frame[row + near[:, np.newaxis], column + near].reshape(len(points), -1)
    return found


def costs_of_points(before: Frame, after: Frame, old: Points, new: Points) -> NDArray[np.int64]:
    """Return the costs of all pairs of points, up to LARGEST."""
    unlike = np.abs(windows(before, old)[:, np.newaxis] - windows(after, new)).mean(axis=2)
    distance = np.abs(old[:, np.newaxis] - new).sum(axis=2)
    costs: NDArray[np.int64] = np.minimum(unlike + FOR_A_PIXEL * distance, LARGEST).astype(np.int64)
    return costs


def by_patch(frame: Frame) -> NDArray[np.float64]:
    """Return the pixels of each patch, shape (patches, 30)."""
    rows, columns = SHAPE[0] // PATCH[0], -(-SHAPE[1] // PATCH[1])
    padded = np.pad(frame, ((0, 0), (0, columns * PATCH[1] - SHAPE[1])), mode="edge")
    return padded.reshape(rows, PATCH[0], columns, PATCH[1]).swapaxes(1, 2).reshape(rows * columns, POINTS)


def costs_of_patches(before: Frame, after: Frame, motion: tuple[int, int]) -> NDArray[np.int64]:
    """Return the costs of each patch, shape (patches, 30, 30); `motion` is where patches are expected."""
    old, new = by_patch(before), by_patch(np.roll(after, (-motion[0], -motion[1]), (0, 1)))
    row, column = np.divmod(np.arange(POINTS), PATCH[1])
    distance = np.abs(row[:, np.newaxis] - row) + np.abs(column[:, np.newaxis] - column)
    unlike = np.abs(old[:, :, np.newaxis] - new[:, np.newaxis])
    costs: NDArray[np.int64] = np.minimum(unlike + FOR_A_PIXEL * distance, LARGEST).astype(np.int64)
    return costs


def of_points(before: Frame, after: Frame, step: tuple[int, int], old: Points) -> NDArray[np.int64]:
    """Return the costs of one frame in the reading "points"; point i has become point 29 - i."""
    return costs_of_points(before, after, old, (old + step)[::-1])


def measure(reading: str, method: str, seconds: float, seed: int = 0) -> Measured:
    """Measure a method in a reading; the first frame, which may compile kernels, does not count."""
    at_once = method in ("auto", "cuda-batch")

    def solve(costs: NDArray[np.int64]) -> NDArray[np.int64]:
        if costs.ndim == 2 or at_once:
            return np.asarray(preflow.linear_assignment(costs, method=method).column)
        return np.stack([np.asarray(preflow.linear_assignment(each, method=method).column) for each in costs])

    expected = np.arange(POINTS)[::-1] if reading == "points" else np.arange(POINTS)
    shares: list[float] = []
    spent, solving, assignments = 0.0, 0.0, 0
    for (before, _), (after, step) in pairwise(frames(seed)):
        old = corners(before)
        began = time.perf_counter()
        points = reading == "points"
        costs = of_points(before, after, step, old) if points else costs_of_patches(before, after, step)
        middle = time.perf_counter()
        column = solve(costs)
        ended = time.perf_counter()
        if shares:
            spent, solving = spent + ended - began, solving + ended - middle
            assignments += costs.size // POINTS**2
        shares.append(float((column == expected).mean()))
        if spent > seconds:
            break
    timed = len(shares) - 1
    return Measured(
        reading, method, timed, timed / spent, 1e3 * solving / assignments, float(np.mean(shares))
    )


def show(arguments: Sequence[str]) -> None:
    """Measure all methods in both readings, and show frames a second: a part of the paper."""
    settings = read_settings("optical-flow", arguments, seeds=1, repeats=1)
    seconds = SMALL_SECONDS if settings.small else SECONDS
    methods = settings.methods or METHODS
    record = Record(settings, ("reading", "method", "seed", "repeat"))
    missing = []
    steps = [
        (reading, method, seed, repeat)
        for reading in READINGS
        for method in methods
        for seed in range(settings.seeds)
        for repeat in range(settings.repeats)
    ]
    for reading, method, seed, repeat in steps:
        if record.lacks(reading, method, seed, repeat):
            try:
                row = measure(reading, method, seconds, seed)
            except PreflowError as error:
                if (line := f"{method} is left out: {error}") not in missing:
                    missing.append(line)
                continue
            record.add({**row._asdict(), "seed": seed, "repeat": repeat})
    rows = []
    for reading, method in dict.fromkeys((reading, method) for reading, method, _, _ in steps):
        of_both = [row for row in record.rows if (row["reading"], row["method"]) == (reading, method)]
        if of_both:
            names = ("frames_a_second", "milliseconds_an_assignment", "right")
            means = [Mean.of([float(row[name]) for row in of_both]).text(".3g") for name in names]
            rows.append([reading, method, str(len(of_both)), *means, PUBLISHED[reading]])
    header = ["reading", "method", "runs", "frames a second", "ms an assignment", "right", "the paper's"]
    title = (
        "Optical flow by assignments of 30 to 30, means ± standard deviations over seeds and repeats. The "
        "paper's frames a second follow from its 1/20 s for an assignment"
    )
    record.show(Table(title, header, rows), missing)
