"""Interactive segmentation: cut an object out of its background, given seeds or a box, by minimum cuts.

Boykov and Jolly, "Interactive graph cuts for optimal boundary and region segmentation of objects in N-D
images", ICCV 2001: seeds are hard constraints and give each label a model of its colours, the data term is
the negative log-likelihood of a pixel's colour, and n-links fall with contrast. Three choices follow Rother,
Kolmogorov and Blake, "GrabCut", SIGGRAPH 2004: the variance of the contrast is measured on the image, all
neighbours that share a corner are linked, and the weight of the boundary is about 50. Departure from both:
costs are rounded to integers, so that the cut is exact and does not depend on the solver.

GrabCut itself needs a box around the object only. Pixels outside of the box are background; those inside are
object at first. Then, in turn, each pixel is assigned to the likeliest Gaussian of its label's mixture, the
Gaussians are fitted to their pixels, and a minimum cut labels the pixels. No step raises the energy.
Departures: there is no border matting; each cut starts from the flow of the last one; volumes are supported.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import AnyArray, Array, Connectivity, Restorer, Spacing
from ..certify.fields import check_flag, check_kind, checked_host_array, checked_number
from ..checks import check_integer, check_number, check_word, warn_caller
from ..drawing.axes import say
from ..drawing.images import draw_picture, plane_of
from ..errors import CapacityOverflowError, InvalidInputError, VerificationError
from ..graph.contrast import contrast_capacity, finite_array
from ..graph.data_arrays import Argument, like_data_array
from ..graph.grid import GridNetwork
from ..graph.grid_input import looks_like_channels
from ..graph.neighbourhood import half_neighbourhood
from ..graph.network import EXACT_FLOAT
from ..graph.placement import host_array
from ..gridcut.api import grid_cut
from ..gridcut.result import GridCutResult
from ..method_names import DeviceName, GridMethodName
from ..progress import Reporter, part_of, reporting
from ..solving.read_only import ReadOnlyArrays
from ..solving.result import HEADLINES
from ..solving.run import Deadline
from ..stats import SolveStats
from .colour_models import Palette
from .pictures import enlarged, magnification, overlay, png
from .planes import Volume
from .volumes import large_overlay, spacing_from

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Units of capacity per nat of log-likelihood: rounding changes no cost by more than 0.05 % of a nat.
CAPACITY_PER_NAT = 1000
#: Neighbours of a pixel, by the number of dimensions: in an image all that share a corner, in volumes those
#: that share a face. All 26 take four times as long, and do not raise the Dice of a brain.
NEIGHBOURS = {1: 2, 2: 8, 3: 6, 4: 8}
#: Smoothness of images and signals, and the largest that is chosen for a volume.
SMOOTHNESS = 50.0
#: Nats that a voxel of a volume must have against all its neighbours: odds of 100 to 1. Noise in 1 % of the
#: voxels is so removed, whatever its deviation, since it is in the likelihoods; thin parts stay.
LONE_VOXEL = math.log(100)

Model = Literal["histogram", "mixture"]
MODELS = ("histogram", "mixture")

#: Of seeds that were drawn on a copy of a photograph.
SEEDS_WITH_CHANNELS = (
    "{0} has shape {1}, so the image is cut as a volume; if the last axis is colours, give one value for "
    "each pixel, such as {0}.max(axis=-1)"
)
logger = logging.getLogger("preflow")
#: Warning of an empty object: it has the colours of its background, or the box is not where it was meant.
EMPTY = (
    "the object is empty: the box has the colours of what is around it, or is not at the object "
    "(check the order of its four numbers: they are two corners, not a corner and a size)"
)


@dataclass(frozen=True, eq=False, repr=False)
class Segmentation(ReadOnlyArrays):
    """A labelling of pixels as object or background, from a minimum cut.

    Attributes
    ----------
    mask : ndarray of bool, shape of the seeds
        True on the object. Of all labellings of least energy the one with the largest object. An array of
        xarray if the image or the seeds are, with their dimensions and coordinates.
    cut : GridCutResult
        The cut behind it.
    foreground, background : ndarray of bool, shape of the seeds
        The seeds.
    """

    mask: NDArray[np.bool_]
    cut: GridCutResult
    foreground: NDArray[np.bool_]
    background: NDArray[np.bool_]
    #: what was segmented, for the picture
    _image: Any = field(default=None, kw_only=True)

    @property
    def stats(self) -> SolveStats:
        """The statistics of the cut."""
        return self.cut.stats

    def verify(self) -> None:
        """Prove that the cut is minimum, and that the mask is the cut's and agrees with the seeds."""
        check_kind(self.cut, "cut", GridCutResult)
        self.cut.verify()
        shape = self.cut.network.shape
        mask, foreground, background = (
            checked_host_array(getattr(self, name), name, shape, np.bool_)
            for name in ("mask", "foreground", "background")
        )
        if (mask != np.asarray(self.cut.labels)).any():
            raise VerificationError("the mask is not the source side of the cut")
        if self.cut.status == "optimal" and ((foreground & ~mask).any() or (background & mask).any()):
            raise VerificationError("the mask does not agree with the seeds")
        network = self.cut.network
        certain = np.append(network.source_capacity[foreground], network.sink_capacity[background])
        if not certain.size or not 0 < certain.min() == certain.max():
            raise VerificationError("a seed is none in the network of the cut")

    @property
    def energy(self) -> float:
        """Energy in nats, relative to every pixel having its likelier label without n-links."""
        return float(self.cut.upper_bound) / CAPACITY_PER_NAT

    @property
    def num_seeds(self) -> int:
        """Number of seed pixels of either kind."""
        return int(np.count_nonzero(self.foreground)) + int(np.count_nonzero(self.background))

    def __repr__(self) -> str:
        shape = " x ".join(map(str, self.mask.shape))
        size = f"{np.count_nonzero(np.asarray(self.mask)):,} of {shape} pixels"
        cut = self.cut
        outcome = f"energy {self.energy:,.6g}" if cut.status == "optimal" else cut._headline()
        return f"<{type(self).__name__}: {size}, from {self.num_seeds:,} seeds, {outcome}, {cut._how()}>"

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the image with the outline of the object and the seeds; of a volume three slices.

        As :func:`preflow.vision.overlay` and :func:`preflow.vision.volume_overlay` do.
        """
        return say(draw_picture(ax, self._picture()), HEADLINES.get(self.cut.status, ""))

    def _picture(self) -> NDArray[np.uint8]:
        mask, seeds, image = np.asarray(self.mask), (self.foreground, self.background), self._image
        if mask.ndim not in (2, 3) or np.shape(image) not in (mask.shape, (*mask.shape, 3)):
            image = 255 * mask.astype(np.uint8)
        times = magnification(mask.shape)
        if mask.ndim == 3:
            return large_overlay(image, mask, seeds, times)
        planes = (mask, *seeds, image) if mask.ndim == 2 else map(plane_of, (mask, *seeds, image))
        mask, foreground, background, image = (enlarged(np.asarray(each), times) for each in planes)
        return overlay(image, mask, seeds=(foreground, background))

    def _repr_png_(self) -> bytes | None:
        """Return the picture that :meth:`plot` draws."""
        return png(self._picture())


def segment(
    image: ArrayLike,
    foreground: ArrayLike,
    background: ArrayLike,
    *,
    smoothness: float | None = None,
    sigma: float | None = None,
    connectivity: Connectivity = None,
    spacing: Spacing = None,
    model: Model | None = None,
    components: int = 5,
    prior: float = 0.5,
    warm_start: Segmentation | None = None,
    method: GridMethodName | str = "auto",
    device: DeviceName = "auto",
    threads: int | None = None,
    time_limit: float | None = None,
    progress: bool | Reporter = False,
) -> Segmentation:
    """Cut an object out of an image or a volume, given pixels that certainly belong to it and to the rest.

    Parameters
    ----------
    image : array_like, shape (h, w), (h, w, channels), (d, h, w) or (d, h, w, channels)
        Grey values or up to 3 channels of any numeric dtype; a fourth one, alpha, is left out. Arrays of
        xarray have channels last, too. Or a :class:`Volume`.
        Signals of shape (n,) and series of volumes of shape (t, d, h, w) are taken like images.
    foreground, background : array_like of bool, shape (h, w) or (d, h, w)
        Seeds: both kinds are needed, and no pixel is both. :func:`seeds_from_labels` makes them from a label
        image.
    smoothness : float, optional
        Weight of the boundary relative to the colours: cost in nats of one pixel length of boundary where
        there is no contrast. A larger weight gives smoother outlines and fewer islands; too large a weight
        shrinks a small or thin object to its seeds. Default: 50 in an image. In a volume, the one for which
        a voxel that differs from all its neighbours pays 4.6 nats (odds of 100 to 1) on average, given
        noise, contrast and spacing: about 1 for 6 neighbours.
    sigma : float, optional
        Contrast, in units of `image`, at which a boundary becomes cheap; ``inf`` makes all boundaries of one
        length equal. The n-link between neighbours that differ by d has the weight
        ``smoothness * exp(-d**2 / (2 * sigma**2)) / distance``. Default: the root mean square of d over all
        neighbours.
    connectivity : int or list of offsets, optional
        As for :func:`preflow.grid_cut`; default: 8 neighbours in an image, 6 in a volume, 2 in a signal,
        8 in a series of volumes.
    spacing : sequence of float, optional
        Length of a pixel along each axis of the grid, in any unit, as of voxels in a scan with thick slices.
        Distances are measured in units of the shortest one. Default: all alike.
        ``smoothness`` is the cost of a boundary across the shortest side. That of a :class:`Volume` is the
        default.
    model : {"histogram", "mixture"}, optional
        Model of the seeds' colours: smoothed histograms, or mixtures of `components` Gaussians each, which
        need fewer seeds if there are several channels. Default: histograms in an image; in a volume
        mixtures, which also tell apart the values between two thresholds.
    components : int
        Gaussians for each of the two mixtures.
    prior : float
        Probability that a pixel belongs to the object before its colour is known, between 0 and 1. For
        histograms of many seeds from all over the image, use the fraction of foreground seeds.
    warm_start : Segmentation, optional
        The result of an earlier call for an image of the same shape and neighbourhood, for instance before
        some seeds were added. The solver starts from its flow; the result is the same as without.
    method, device, threads, time_limit, progress
        As for :func:`preflow.grid_cut`.

    Returns
    -------
    Segmentation

    Raises
    ------
    InvalidInputError
        Shapes that do not fit; seeds that are not bool arrays, are empty or overlap; values that are not
        finite; a parameter out of its range.
    CapacityOverflowError
        `smoothness` is so large that capacities exceed the exact integers of float64.

    Notes
    -----
    Time and memory of the network O(pixels * connectivity); see :func:`preflow.grid_cut` for the cut.

    Earlier versions took ``smoothness=50, connectivity=26, model="histogram"`` for volumes, too.

    Examples
    --------
    A bright square in a dark image, one seed each:

    >>> import numpy as np
    >>> image = np.zeros((6, 6))
    >>> image[2:5, 1:4] = 1
    >>> foreground, background = np.zeros((2, 6, 6), dtype=bool)
    >>> foreground[3, 2] = background[0, 0] = True
    >>> result = segment(image, foreground, background)
    >>> bool((result.mask == (image == 1)).all())
    True
    >>> result.cut.verify()

    One more seed, starting from the flow of the last cut:

    >>> foreground[2, 1] = True
    >>> result = segment(image, foreground, background, warm_start=result)
    >>> bool((result.mask == (image == 1)).all())
    True
    """
    seeds = checked_seeds(foreground, background)
    if looks_like_channels(seeds[0].shape):
        warn_caller(SEEDS_WITH_CHANNELS.format("foreground", seeds[0].shape))
    network = segmentation_network(
        image,
        *seeds,
        smoothness=smoothness,
        sigma=sigma,
        connectivity=connectivity,
        spacing=spacing,
        model=model,
        components=components,
        prior=prior,
    )
    if warm_start is not None and not isinstance(warm_start, Segmentation):
        raise InvalidInputError(f"warm_start must be a Segmentation, got {type(warm_start).__name__}")
    cut = grid_cut(
        network,
        method=method,
        device=device,
        threads=threads,
        time_limit=time_limit,
        progress=progress,
        warm_start=None if warm_start is None else warm_start.cut,
    )
    restore = like_seeds(seeds[0].ndim, image, foreground=foreground, background=background)
    shown = image if isinstance(image, Volume) else host_array(image, "image")
    return Segmentation(labelled(own(cut.labels), restore), cut, *map(own, seeds), _image=shown)


def like_seeds(ndim: int, image: ArrayLike, **others: ArrayLike | None) -> Restorer:
    """Return a function that gives masks the coordinates of the image or the seeds, if these are xarray's."""
    arguments = [Argument("image", image, last=False)]
    return like_data_array(ndim, arguments + [Argument(name, values) for name, values in others.items()])


def labelled(values: Array, restore: Restorer) -> AnyArray:
    """Return an array with the coordinates that the caller gave, if any."""
    return values if restore is None else restore(values)


def own(values: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return a copy of a mask that cannot be written to."""
    mask = np.array(values)
    mask.flags.writeable = False
    return mask


def segmentation_network(
    image: ArrayLike,
    foreground: ArrayLike,
    background: ArrayLike,
    *,
    smoothness: float | None = None,
    sigma: float | None = None,
    connectivity: Connectivity = None,
    spacing: Spacing = None,
    model: Model | None = None,
    components: int = 5,
    prior: float = 0.5,
) -> GridNetwork:
    """Return the network whose minimum cut :func:`segment` finds; parameters and errors are the same.

    Returns
    -------
    GridNetwork
        Source: object; sink: background; capacities in thousandths of a nat.

    Examples
    --------
    >>> import numpy as np
    >>> seeds = np.eye(2, dtype=bool)
    >>> segmentation_network(seeds.astype(float), seeds, ~seeds, connectivity=4)
    GridNetwork(2 x 2, 4 neighbours, int32)
    """
    seeds = checked_seeds(foreground, background)
    channels = check_channels(image, seeds[0].shape)
    palette = Palette.of(channels)
    ratio = log_ratio(palette, *seeds, model=model, components=components, prior=prior)
    links = Links(channels, smoothness, sigma, connectivity, spacing_from(image, spacing))
    return links.network(palette, ratio, *seeds)


def log_ratio(
    palette: Palette,
    foreground: NDArray[np.bool_],
    background: NDArray[np.bool_],
    *,
    model: Model | None,
    components: int,
    prior: float,
) -> NDArray[np.float64]:
    """Return for each colour the logarithm of how much likelier it is on the object, in nats."""
    prior = check_prior(prior)
    if model is None:
        model = "histogram" if foreground.ndim < 3 else "mixture"
    if check_word("model", model, MODELS) == "histogram":
        ratio = palette.histogram_ratio(foreground, background)
    else:
        components = check_integer("components", components)
        mixtures = [palette.mixture(palette.counts(mask), components) for mask in (foreground, background)]
        likely_object, likely_rest = (mixture.likelihood(palette.monomials) for mixture in mixtures)
        ratio = likely_object - likely_rest
    return ratio + math.log(prior / (1 - prior))


def more_than_n_links(smoothness: float, num_directions: int) -> int:
    """Return Boykov and Jolly's K: no minimum cut changes a seed's label for all n-links of its pixel.

    CapacityOverflowError: it is above 2**53.
    """
    most = (EXACT_FLOAT - 1) / (2 * num_directions * CAPACITY_PER_NAT)
    if smoothness > most:
        raise CapacityOverflowError(
            f"smoothness must be at most {math.floor(most):,}, so that capacities are below 2**53, "
            f"got {smoothness:g}"
        )
    return 1 + 2 * num_directions * math.ceil(CAPACITY_PER_NAT * smoothness)


def usual_smoothness(unit_links: Iterable[Array], num_pixels: int) -> float:
    """Return the default of a volume, given its links for a smoothness of 1 and the number of its voxels."""
    total = sum(float(links.sum(dtype=np.int64)) for links in unit_links) / CAPACITY_PER_NAT
    return min(SMOOTHNESS, float(f"{LONE_VOXEL * num_pixels / max(2 * total, 1.0):.3g}"))


class Links:
    """The n-links of an image, for networks that differ in their data terms only."""

    def __init__(
        self,
        channels: NDArray[np.float64],
        smoothness: float | None,
        sigma: float | None,
        connectivity: Connectivity,
        spacing: Spacing = None,
    ) -> None:
        ndim = channels.ndim - 1
        half = half_neighbourhood(ndim, NEIGHBOURS[ndim] if connectivity is None else connectivity)
        self.connectivity = half

        def links(smoothness: float) -> Array:
            strength = CAPACITY_PER_NAT * smoothness
            found: Array = contrast_capacity(
                channels, strength=strength, sigma=sigma, connectivity=half, channel_axis=-1, spacing=spacing
            )
            return found

        if smoothness is None:
            pixels = channels[..., 0].size
            smoothness = SMOOTHNESS if ndim < 3 else usual_smoothness(links(1.0), pixels)
        self.smoothness = check_number("smoothness", smoothness)
        self.more_than_n_links = more_than_n_links(self.smoothness, len(half))
        self.neighbor_capacity = links(self.smoothness)

    def gains(self, palette: Palette, ratio: NDArray[np.float64]) -> Array:
        """Return the log-ratio of each pixel's colour as an integer capacity."""
        gains = np.rint(CAPACITY_PER_NAT * ratio)
        largest = max(self.more_than_n_links, float(np.abs(gains).max()))
        data: Array = gains.astype(np.int32 if largest <= np.iinfo(np.int32).max else np.int64)[palette.index]
        return data

    def network(
        self,
        palette: Palette,
        ratio: NDArray[np.float64],
        foreground: NDArray[np.bool_],
        background: NDArray[np.bool_],
    ) -> GridNetwork:
        """Return the network in which a pixel on the source side gains the log-ratio of its colour."""
        data = self.gains(palette, ratio)
        data[foreground] = self.more_than_n_links
        data[background] = -self.more_than_n_links
        return GridNetwork.from_arrays(
            np.maximum(data, 0),
            np.maximum(np.negative(data), 0),
            self.neighbor_capacity,
            connectivity=self.connectivity,
        )


def check_prior(prior: float) -> float:
    """Return `prior` as a float; raise InvalidInputError unless it is a probability other than 0 and 1."""
    prior = check_number("prior", prior)
    if not 0 < prior < 1:
        raise InvalidInputError(f"prior must be between 0 and 1, got {prior}")
    return prior


def checked_seeds(
    foreground: ArrayLike, background: ArrayLike
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return two masks of one shape, neither of them empty, that do not overlap."""
    object_seeds = checked_mask("foreground", foreground)
    other_seeds = checked_mask("background", background)
    if object_seeds.shape != other_seeds.shape:
        raise InvalidInputError(
            f"foreground has shape {object_seeds.shape}, background has shape {other_seeds.shape}"
        )
    for name, mask in (("foreground", object_seeds), ("background", other_seeds)):
        if not mask.any():
            raise InvalidInputError(f"there are no {name} seeds: both kinds are needed")
    both = np.argwhere(object_seeds & other_seeds)
    if len(both):
        raise InvalidInputError(
            f"pixel {tuple(both[0].tolist())} is a foreground and a background seed at once ({len(both)} are)"
        )
    return object_seeds, other_seeds


def checked_mask(name: str, given: ArrayLike) -> NDArray[np.bool_]:
    """Return an array as a mask of a signal, an image, a volume or a series of volumes."""
    mask = host_array(given, name)
    if mask.dtype != np.bool_:
        raise InvalidInputError(f"{name} must be an array of bool, got {mask.dtype}: write {name} > 0")
    if mask.ndim not in NEIGHBOURS:
        raise InvalidInputError(
            f"{name} must have the shape of an image or a volume without its channels, 1 to 4 axes; got "
            f"shape {mask.shape}"
        )
    return mask


def check_channels(image: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return the image as floats with a channel axis, which is added if missing; alpha is left out."""
    values: NDArray[np.float64] = finite_array("image", image)
    if values.shape == (*shape, 4):
        values = values[..., :3]
    if values.shape == shape:
        values = values[..., np.newaxis]
    if values.shape[:-1] != shape or values.shape[-1] not in (1, 2, 3):
        raise InvalidInputError(
            f"image has shape {np.shape(image)}, the seeds have shape {shape}: an image has the shape of its "
            "seeds, or that and up to 3 channels and alpha"
        )
    return values


@dataclass(frozen=True, eq=False, repr=False)
class GrabCut(Segmentation):
    """The last cut of a GrabCut, read as a labelling of pixels.

    Attributes
    ----------
    mask, cut, foreground, background
        See :class:`Segmentation`. Pixels outside of the box are background seeds, too.
    energies : tuple of float
        Energy in nats after each cut, with the mixtures that the cut used.
    converged : bool
        Whether the last cut changed no label.
    """

    energies: tuple[float, ...]
    converged: bool

    def verify(self) -> None:
        """Prove that the last cut is minimum, and that the mask is the cut's and agrees with the seeds."""
        super().verify()
        check_kind(self.energies, "energies", tuple)
        if not self.energies or not all(math.isfinite(checked_number(v, "energies")) for v in self.energies):
            raise VerificationError(f"energies are finite numbers, got {self.energies!r}")
        check_flag(self.converged, "converged")


def grabcut(
    image: ArrayLike,
    box: ArrayLike,
    *,
    foreground: ArrayLike | None = None,
    background: ArrayLike | None = None,
    components: int = 5,
    smoothness: float | None = None,
    sigma: float | None = None,
    connectivity: Connectivity = None,
    spacing: Spacing = None,
    iterations: int = 10,
    warm_start: Segmentation | None = None,
    method: GridMethodName | str = "auto",
    device: DeviceName = "auto",
    threads: int | None = None,
    time_limit: float | None = None,
    progress: bool | Reporter = False,
) -> GrabCut:
    """Cut an object out of an image or a volume, given a box that it lies in.

    Parameters
    ----------
    image : array_like, shape (h, w), (h, w, channels), (d, h, w) or (d, h, w, channels)
        Grey values or up to 3 channels of any numeric dtype; a fourth one, alpha, is left out.
    box : 4 integers, 6 for a volume, 2 for a signal, 8 for a series of volumes, or array_like of bool
        First row and column, then last row and column plus one, as ``bbox`` of scikit-image's regionprops:
        the pixels ``image[box[0]:box[2], box[1]:box[3]]``. Or a mask of any shape that the object lies in.
    foreground, background : array_like of bool, optional
        Pixels that certainly belong to the object, or to the background, to correct a result.
    components : int
        Gaussians in the mixture of each label.
    smoothness, sigma, connectivity, spacing
        As for :func:`segment`.
    iterations : int
        Most cuts; they end when a cut changes no label.
    warm_start : Segmentation, optional
        The result of an earlier call for this image, before seeds were added. This call starts from its mask
        and its flow.
    method, device, threads, progress
        As for :func:`preflow.grid_cut`.
    time_limit : float, optional
        Seconds for all cuts. On expiry the iterations end, and the cut's `status` says so.

    Returns
    -------
    GrabCut

    Raises
    ------
    InvalidInputError
        Shapes that do not fit; a box that is empty, leaves the image or covers it; foreground seeds that are
        outside of the box or background seeds; values that are not finite; a parameter out of its range.

    Notes
    -----
    If a label has no pixels left, its mixture cannot be fitted, and the iterations end: the object has the
    colours of its background, or `smoothness` is too large. An empty object is warned of in the log.

    Examples
    --------
    >>> import numpy as np
    >>> image = np.zeros((12, 12))
    >>> image[3:9, 4:8] = 1
    >>> result = grabcut(image, (1, 2, 11, 10))
    >>> bool((result.mask == (image == 1)).all()), result.converged
    (True, True)
    """
    inside, channels = _checked_box(image, box)
    hard_object, hard_rest = _seeds(inside, foreground, background)
    components = check_integer("components", components)
    iterations = check_integer("iterations", iterations)
    deadline = Deadline(time_limit)
    palette = Palette.of(channels)
    links = Links(channels, smoothness, sigma, connectivity, spacing_from(image, spacing))
    object_now, cut = ~hard_rest, None
    if warm_start is not None:
        object_now, cut = _start(warm_start, hard_object, hard_rest)
    all_pixels, of_object, of_rest = map(palette.counts, (np.ones_like(inside), hard_object, hard_rest))
    counts = _counts_on_both_sides(palette, all_pixels, object_now)
    mixtures = [palette.mixture(side, components) for side in counts]
    energies: list[float] = []
    converged = False
    with reporting(progress) as report:
        while len(energies) < iterations and not converged and object_now.any() and not object_now.all():
            mixtures = [palette.refit(mixture, side) for mixture, side in zip(mixtures, counts, strict=True)]
            likely_object, likely_rest = (mixture.likelihood(palette.monomials) for mixture in mixtures)
            network = links.network(palette, likely_object - likely_rest, hard_object, hard_rest)
            cut = grid_cut(
                network,
                method=method,
                device=device,
                threads=threads,
                time_limit=deadline.left(),
                progress=part_of(report, 1 - 0.5 ** len(energies), 1 - 0.5 ** (len(energies) + 1)),
                warm_start=cut,
            )
            # The capacity of a cut is relative to every pixel having its likelier label, or its seed's.
            free = float((all_pixels - of_object - of_rest) @ np.maximum(likely_object, likely_rest))
            free += float(of_object @ likely_object + of_rest @ likely_rest)
            energies.append(float(cut.upper_bound) / CAPACITY_PER_NAT - free)
            converged = bool((cut.labels == object_now).all())
            object_now = np.asarray(cut.labels)
            counts = _counts_on_both_sides(palette, all_pixels, object_now)
            if cut.status != "optimal":
                break
    assert cut is not None
    if not object_now.any():
        logger.warning(EMPTY)
    restore = like_seeds(inside.ndim, image, foreground=foreground, background=background, box=box)
    mask = labelled(own(object_now), restore)
    shown = image if isinstance(image, Volume) else host_array(image, "image")
    seeds = own(hard_object), own(hard_rest)
    return GrabCut(mask, cut, *seeds, tuple(energies), converged, _image=shown)


def _counts_on_both_sides(
    palette: Palette, all_pixels: NDArray[np.int64], object_now: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the number of pixels of the object, and of other pixels, with each colour."""
    of_object = palette.counts(object_now)
    return of_object, all_pixels - of_object


def _checked_box(image: ArrayLike, box: ArrayLike) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return the mask of a box, and the image with a channel axis."""
    values = finite_array("image", image)
    given = host_array(box, "box")
    if given.dtype == np.bool_:
        inside = checked_mask("box", given)
        channels = check_channels(values, given.shape)
    else:
        if given.dtype.kind not in "iu" or given.shape not in {(2 * ndim,) for ndim in NEIGHBOURS}:
            raise InvalidInputError(
                "box is (first row, first column, last row + 1, last column + 1), 6 integers for a volume, "
                f"or an array of bool; got {box!r}"
            )
        ndim = len(given) // 2
        shape = values.shape[:ndim]
        first, last = given[:ndim], given[ndim:]
        if (first >= last).any():
            raise InvalidInputError(
                f"box {tuple(given.tolist())} is empty: its last corner is not after its first"
            )
        if len(shape) < ndim or (first < 0).any() or (last > shape).any():
            raise InvalidInputError(f"box {tuple(given.tolist())} leaves the image, which has shape {shape}")
        if values.ndim - ndim not in (0, 1) or (values.ndim > ndim and values.shape[-1] > 4):
            raise InvalidInputError(
                f"box {tuple(given.tolist())} has {ndim} dimensions, image has shape {values.shape}"
            )
        channels = check_channels(values, shape)
        inside = np.zeros(shape, dtype=np.bool_)
        inside[tuple(map(slice, first.tolist(), last.tolist()))] = True
    if not inside.any():
        raise InvalidInputError("box is empty")
    if inside.all():
        raise InvalidInputError(
            "box covers the whole image: what is outside of it tells the background's colours"
        )
    return inside, channels


def _seeds(
    inside: NDArray[np.bool_], foreground: ArrayLike | None, background: ArrayLike | None
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the pixels with a certain label: of the object, and of the background."""
    masks = []
    for name, given in (("foreground", foreground), ("background", background)):
        mask = np.zeros_like(inside) if given is None else checked_mask(name, given)
        if mask.shape != inside.shape:
            raise InvalidInputError(f"{name} has shape {mask.shape}, the image has shape {inside.shape}")
        masks.append(mask)
    hard_object, hard_rest = masks[0], masks[1] | ~inside
    both = np.argwhere(hard_object & hard_rest)
    if len(both):
        raise InvalidInputError(
            f"pixel {tuple(both[0].tolist())} is a foreground seed, but outside of the box or a background "
            f"seed ({len(both)} are)"
        )
    if hard_rest.all():
        raise InvalidInputError("no pixel in the box is left to the object")
    return hard_object, hard_rest


def _start(
    earlier: Any, hard_object: NDArray[np.bool_], hard_rest: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], GridCutResult]:
    """Return the labels of an earlier result, with seeds enforced, and its cut."""
    if not isinstance(earlier, Segmentation):
        raise InvalidInputError(f"warm_start must be a Segmentation, got {type(earlier).__name__}")
    if earlier.mask.shape != hard_rest.shape:
        raise InvalidInputError(
            f"warm_start has shape {earlier.mask.shape}, the image has shape {hard_rest.shape}"
        )
    labels = (np.asarray(earlier.mask) | hard_object) & ~hard_rest
    return labels if labels.any() else ~hard_rest, earlier.cut
