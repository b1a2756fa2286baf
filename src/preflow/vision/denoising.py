"""Denoising: total variation minimised exactly, by one minimum cut for every bit of a grey value.

The energy is that of Rudin, Osher and Fatemi (Physica D 60, 1992), or with absolute differences from the
data, over the pairs of neighbours of a grid. Thresholded at one grey value it is the energy of a binary
image. The minima for all thresholds are nested, so bisection finds them: Darbon and Sigelle, "Image
restoration with discrete constrained total variation, part I", JMIV 26, 2006; Hochbaum, JACM 48(4), 2001.

Each pixel keeps an interval of grey values, and each cut halves all intervals at once. If the intervals of
two neighbours differ, it is known which one is brighter, so their link is a constant force on either; if they
are equal, the link is an arc. So one network halves all intervals. A binary image has two values and needs
one cut: the Ising model of Greig, Porteous and Seheult, JRSS B 51, 1989.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Array, DType
from ..certify.fields import check_kind, checked_number
from ..checks import check_integer, check_number, check_word, warn_caller
from ..drawing.axes import say
from ..drawing.images import draw_picture, plane_of
from ..errors import InvalidInputError, VerificationError
from ..graph.contrast import finite_array
from ..graph.data_arrays import Argument, like_data_array
from ..graph.grid import GridNetwork
from ..graph.grid_input import looks_like_channels
from ..graph.neighbourhood import half_neighbourhood, pair_boxes
from ..graph.network import EXACT_FLOAT
from ..graph.placement import host_array
from ..gridcut.api import grid_cut
from ..gridcut.result import GridCutResult
from ..method_names import DeviceName, GridMethodName
from ..progress import Reporter, part_of, reporting
from ..solving.read_only import ReadOnlyArrays
from ..solving.result import HEADLINES, Status
from ..solving.run import Deadline
from ..stats import SolveStats
from .pictures import enlarged, magnification, png, stretched
from .segmentation import NEIGHBOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes


#: Forces are scaled so that the largest is about this integer. The error of a cost is then at most one part
#: in a million, and residual capacities fit 32 bits.
LARGEST_FORCE = 2**20

#: Most grey values of an image of integers unless `levels` is given: those of 16 bits.
MOST_LEVELS = 2**16
#: Least range of an image: the squares of the steps of a smaller one underflow.
LEAST_RANGE = 1e-140
#: Most grey values: with more, steps between them are finer than the rounding of forces.
MOST_ASKED = LARGEST_FORCE
#: Neighbours of a pixel, by the number of dimensions.
ALL_AROUND = {**NEIGHBOURS, 3: 26}

Data = Literal["squared", "absolute"]


@dataclass(frozen=True, eq=False, repr=False)
class Denoised(ReadOnlyArrays):
    """An image of least energy.

    Attributes
    ----------
    image : ndarray
        Shape and dtype are those of the input. An array of xarray if that is.
    energy : float
        ``data + weight * total variation``, see :func:`denoise`.
    cuts : tuple of GridCutResult
        One for every bit of the grey values, channel by channel; together they prove the minimum.
    """

    image: Array
    energy: float
    cuts: tuple[GridCutResult, ...] = field(repr=False)
    _channels: tuple[_Denoising, ...]
    _channel_axis: int | None

    @property
    def status(self) -> Status:
        """Whether all cuts are "optimal", or one was stopped by its "time-limit"."""
        return next((cut.status for cut in self.cuts if cut.status != "optimal"), "optimal")

    @property
    def stats(self) -> tuple[SolveStats, ...]:
        """The statistics of each cut."""
        return tuple(cut.stats for cut in self.cuts)

    def verify(self) -> None:
        """Prove that every cut is minimum, which proves the image, and the energy; with no solver.

        The networks are built again from the given image, so the cuts are those of this problem. If a cut was
        stopped by the time limit, the image and its energy are proved, but not that it is least.
        """
        check_kind(self.cuts, "cuts", tuple)
        cuts, planes, total = iter(self.cuts), [], []
        for channel in self._channels:
            planes.append(channel.prove(cuts))
            total.append(channel.energy(planes[-1]))
        if next(cuts, None) is not None:
            raise VerificationError("there are more cuts than grey values have bits")
        axis = self._channel_axis
        expected = planes[0] if axis is None else np.stack(planes, axis=axis)
        given = np.asarray(self.image) if hasattr(self.image, "__array__") else None
        if given is None or given.shape != expected.shape or given.dtype != self._channels[0].dtype:
            raise VerificationError("the image has not the shape and dtype of the given one")
        if not np.array_equal(given, expected.astype(given.dtype)):
            raise VerificationError("the image is not that of the cuts")
        energy = checked_number(self.energy, "energy")
        if not (energy == sum(total) or abs(energy - sum(total)) <= 2.0**-40 * sum(total)):
            raise VerificationError(f"the energy is {sum(total)}, not {self.energy}")

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the image; of a volume the middle slice."""
        return say(draw_picture(ax, self._pixels()), HEADLINES.get(self.status, ""))

    def _pixels(self) -> NDArray[np.uint8]:
        image = np.asarray(self.image)
        pixels = image if image.ndim == 3 and image.shape[-1] == 3 else plane_of(image)
        return pixels if pixels.dtype == np.uint8 else stretched(pixels.astype(np.float64))

    def __repr__(self) -> str:
        shape = " x ".join(map(str, self.image.shape))
        stopped = "" if self.status == "optimal" else f", {HEADLINES[self.status]}"
        energy = f"energy {self.energy:,.6g}, {len(self.cuts)} cuts"
        return f"<Denoised: {shape} {self.image.dtype}, {energy}{stopped}>"

    def _repr_png_(self) -> bytes | None:
        """Return the image; of a volume the middle slice."""
        pixels = self._pixels()
        return png(enlarged(pixels, magnification(pixels.shape[:2])))


def denoise(
    image: ArrayLike,
    weight: float,
    *,
    data: Data = "squared",
    levels: int | None = None,
    connectivity: int | None = None,
    channel_axis: int | None = None,
    method: GridMethodName | str = "auto",
    device: DeviceName = "auto",
    threads: int | None = None,
    time_limit: float | None = None,
    progress: bool | Reporter = False,
) -> Denoised:
    """Remove noise from an image or a volume: find the image of least energy, exactly.

    The energy of an image u for the given image f is ::

        sum over pixels   (u - f)**2 / 2   or   abs(u - f)
        + weight * sum over pairs of neighbours   abs(u - u of the neighbour) / distance

    Parameters
    ----------
    image : array_like, shape (h, w) or (d, h, w), with `channel_axis` one more axis
        Signals of shape (n,) and series of volumes of shape (t, d, h, w) are taken, too.
        Bool (black and white), integers or floats.
    weight : float
        A larger weight gives flatter images. For squared differences it is in units of `image`, as in
        scikit-image's ``denoise_tv_chambolle`` for images between 0 and 1. For absolute differences it is a
        plain number: above 1 divided by the number of neighbours, a single deviating pixel takes their value.
    data : {"squared", "absolute"}
        Squared for Gaussian noise, absolute for outliers ("salt and pepper"); absolute keeps the grey values
        of regions that are broad enough. In a binary image squared costs are half of the absolute ones.
    levels : int, optional
        Grey values that pixels of the result may have, evenly spaced over the range of `image`, at most
        2**20. Default: all integers in that range, 256 values for floats.
    connectivity : int, optional
        4 or 8 neighbours in an image, 6, 18 or 26 in a volume; default: 8 and 26. 2 in a signal; 8, 32,
        64 or 80 in a series of volumes, by default 8.
    channel_axis : int, optional
        The axis of channels, which are denoised independently; None if the image has one channel.
    method, device, threads, progress
        As for :func:`preflow.grid_cut`.
    time_limit : float, optional
        Seconds for all cuts. On expiry the `status` says so, and the image is not of least energy.

    Returns
    -------
    Denoised

    Raises
    ------
    InvalidInputError
        Not an image, values that are not finite, a parameter out of its range, or a range of values that is
        less than 1e-140 but not 0.

    Notes
    -----
    ceil(log2(levels)) cuts per channel. The result is exact among images of these grey values, with costs
    rounded to one part in a million of the largest; of several images of least energy it is the brightest.

    Examples
    --------
    >>> import numpy as np
    >>> image = np.array([[0, 0, 1, 0], [0, 0, 0, 0], [1, 1, 1, 1], [1, 0, 1, 1]], dtype=bool)
    >>> result = denoise(image, 0.4, connectivity=4)
    >>> result.image.astype(int)
    array([[0, 0, 0, 0],
           [0, 0, 0, 0],
           [1, 1, 1, 1],
           [1, 1, 1, 1]])
    >>> result.verify()
    """
    values = finite_array("image", image)
    given = host_array(image, "image")
    if given.dtype.kind in "iu" and given.size and np.abs(values).max() > EXACT_FLOAT:
        raise InvalidInputError("image has integers past 2**53, which float64 cannot hold exactly")
    weight = check_number("weight", weight)
    check_word("data", data, ("squared", "absolute"))
    if levels is not None:
        levels = check_integer("levels", levels, minimum=2)
        if levels > MOST_ASKED:
            raise InvalidInputError(f"levels must be at most {MOST_ASKED:,}, got {levels:,}")
    deadline = Deadline(time_limit)
    if channel_axis is None and values.ndim == 3 and looks_like_channels(values.shape):
        warn_caller(
            f"image has shape {values.shape} and is denoised as a volume; channel_axis=-1 takes its last "
            "axis as colours"
        )
    planes = _planes(values, channel_axis)
    ndim = planes[0].ndim
    half = half_neighbourhood(ndim, ALL_AROUND[ndim] if connectivity is None else connectivity)
    solver = {
        "method": method,
        "device": device,
        "threads": threads,
    }
    cuts: list[GridCutResult] = []
    channels: list[_Denoising] = []
    results, energy = [], 0.0
    with reporting(progress) as report:
        for plane in planes:
            grey = _grey_values(plane, given.dtype, levels)
            channels.append(_Denoising(plane, grey, weight, data, half, given.dtype))
            results.append(channels[-1].solve(cuts, deadline, solver, report))
            energy += channels[-1].energy(results[-1])
    out = results[0] if channel_axis is None else np.stack(results, axis=channel_axis)
    out = out.astype(given.dtype)
    out.flags.writeable = False
    restore = like_data_array(out.ndim, [Argument("image", image)])
    image = out if restore is None else restore(out)
    return Denoised(image, energy, tuple(cuts), tuple(channels), channel_axis)


class _Denoising:
    """Bisection of the grey values of all pixels of one channel."""

    def __init__(
        self,
        plane: NDArray[np.float64],
        grey: NDArray[np.float64],
        weight: float,
        data: Data,
        half: list[tuple[int, ...]],
        dtype: DType,
    ) -> None:
        self.plane, self.grey, self.data, self.half = plane.copy(), grey, data, half
        self.weight, self.dtype = weight, dtype
        span = 1.0 if data == "absolute" else float(grey[-1] - grey[0])
        # A power of two, so that integers stay integers.
        self.scale = 2.0 ** math.floor(math.log2(LARGEST_FORCE / span)) if span else 1.0
        # A link that outweighs all forces together is never cut, so no link needs to be stronger.
        outweighs = 1 + plane.size * math.ceil(self.scale * span)
        self.links = [round(min(self.scale * weight / math.hypot(*offset), outweighs)) for offset in half]

    def solve(
        self,
        cuts: list[GridCutResult],
        deadline: Deadline,
        solver: dict[str, Any],
        report: Reporter | None,
    ) -> NDArray[np.float64]:
        """Return the channel of least energy; append the cuts that find it."""

        def solved(network: GridNetwork) -> GridCutResult:
            previous = cuts[-1] if len(cuts) > first else None
            # How many cuts there will be is not known: each fills half of what is left of the bar.
            share = part_of(report, 1 - 0.5 ** len(cuts), 1 - 0.5 ** (len(cuts) + 1))
            limit = deadline.left()
            cuts.append(grid_cut(network, warm_start=previous, time_limit=limit, progress=share, **solver))
            return cuts[-1]

        first = len(cuts)
        return self._bisected(solved)

    def prove(self, cuts: Iterator[object]) -> NDArray[np.float64]:
        """Return the channel that the next cuts find; verify that these are cuts of it, and minimum."""

        def proved(network: GridNetwork) -> GridCutResult:
            cut = next(cuts, None)
            if not isinstance(cut, GridCutResult) or not is_same_grid(cut.network, network):
                raise VerificationError("a cut is missing, or is that of another image")
            cut.verify()
            return cut

        return self._bisected(proved)

    def _bisected(self, solve: Callable[[GridNetwork], GridCutResult]) -> NDArray[np.float64]:
        """Return the channel that the minimum cuts of all networks find."""
        shape, half = self.plane.shape, self.half
        # A pixel's value is one of grey[low : low + count], a power of two: intervals are equal or disjoint.
        low, count = np.zeros(shape, dtype=np.int64), 1 << (len(self.grey) - 1).bit_length()
        while count > 1:
            count //= 2
            upper = low + count
            force = self._force(np.minimum(upper, len(self.grey) - 1))
            # The last interval may reach beyond the grey values: a force that no link outweighs forbids them.
            force[upper >= len(self.grey)] = 1 + 4 * sum(self.links)
            neighbor = np.zeros((len(half), *shape), dtype=_dtype(self.links))
            for row, link, offset in zip(neighbor, self.links, half, strict=True):
                here, there = pair_boxes(shape, offset)
                order = np.sign(low[here] - low[there])
                row[here] = np.where(order == 0, link, 0)
                force[here] += link * order
                force[there] -= link * order
            force = force.astype(_dtype([force.min(), force.max()]))
            network = GridNetwork.from_arrays(
                np.maximum(-force, 0), np.maximum(force, 0), neighbor, connectivity=half
            )
            low = np.where(solve(network).labels, upper, low)
        return self.grey[low]

    def energy(self, u: NDArray[np.float64]) -> float:
        """Return the energy of a channel."""
        difference = u - self.plane
        absolute = self.data == "absolute"
        total = float(np.abs(difference).sum() if absolute else (difference**2).sum() / 2)
        for offset in self.half:
            here, there = pair_boxes(u.shape, offset)
            total += self.weight * float(np.abs(u[here] - u[there]).sum()) / math.hypot(*offset)
        return total

    def _force(self, upper: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the scaled cost of grey value `upper` minus that of the one below, per unit of grey."""
        above, below = self.grey[upper], self.grey[upper - 1]
        if self.data == "squared":
            slope = (above + below) / 2 - self.plane
        else:
            slope = (np.abs(above - self.plane) - np.abs(below - self.plane)) / (above - below)
        return np.rint(self.scale * slope).astype(np.int64)


def is_same_grid(one: GridNetwork, other: GridNetwork) -> bool:
    """Whether two networks have the same arrays."""
    names = ("offsets", "source_capacity", "sink_capacity", "neighbor_capacity")
    return one.shape == other.shape and all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in names
    )


def _dtype(capacities: Sequence[int]) -> type[np.int32 | np.int64]:
    """Return a dtype of capacities of these sizes."""
    return np.int32 if max(map(abs, capacities)) <= np.iinfo(np.int32).max else np.int64


def _planes(values: NDArray[np.float64], channel_axis: int | None) -> list[NDArray[np.float64]]:
    """Return the channels; check that each has 1 to 4 axes and is not empty."""
    planes = values[np.newaxis]
    if channel_axis is not None:
        channel_axis = check_integer("channel_axis", channel_axis, minimum=-values.ndim)
        if channel_axis >= values.ndim:
            raise InvalidInputError(f"channel_axis is {channel_axis}, image has {values.ndim} axes")
        planes = np.moveaxis(values, channel_axis, 0)
    if planes.ndim - 1 not in ALL_AROUND or planes.size == 0:
        without = "" if channel_axis is None else " beside its channels"
        raise InvalidInputError(
            f"image must have 1 to 4 axes{without} and must not be empty, got shape {values.shape}"
        )
    return list(planes)


def _grey_values(plane: NDArray[np.float64], dtype: DType, levels: int | None) -> NDArray[np.float64]:
    """Return the values that pixels may have, ascending."""
    least, most = float(plane.min()), float(plane.max())
    if 0 < most - least < LEAST_RANGE:
        raise InvalidInputError(
            f"image has a range of {most - least:g}, the least is {LEAST_RANGE:g}: scale the image"
        )
    if dtype.kind in "biu" and levels is None:
        levels = round(most - least) + 1
        if levels > MOST_LEVELS:
            raise InvalidInputError(f"the range of the image is {levels:,} integers: say how many levels")
    if least == most:
        return np.array([least])
    grey = np.linspace(least, most, 256 if levels is None else levels)
    return np.unique(np.rint(grey)) if dtype.kind in "biu" else grey
