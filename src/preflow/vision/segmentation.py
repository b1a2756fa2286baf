"""An object cut out of its background: interactive segmentation as one minimum cut.

Boykov and Jolly, "Interactive graph cuts for optimal boundary and region segmentation of objects in N-D
images", ICCV 2001: seeds are hard constraints and give each label a colour histogram, the data term is the
negative log-likelihood of a pixel's colour, and n-links fall with contrast. Three choices follow Rother,
Kolmogorov and Blake, "GrabCut", SIGGRAPH 2004: the variance of the contrast is measured on the image, all
neighbours that share a corner are linked, and the weight of the boundary is about 50. What differs from
both: histograms are smoothed, because seeds are few, and costs are rounded to integers, so that the cut is
exact and does not depend on the solver.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InvalidInputError
from ..generators.parameters import check_number
from ..generators.vision import CONNECTIVITIES, grid_from_image
from ..graph.network import MaxFlowProblem
from ..maxflow.api import min_cut
from ..maxflow.result import MinCutResult
from ..progress import Reporter

#: Units of capacity that one nat of log-likelihood is worth: rounding then moves no cost by more than 0.05 %
#: of a nat.
CAPACITY_PER_NAT = 1000
#: Histogram bins along each channel, and the standard deviation in bins of the Gaussian that smooths them.
#: A seed colour thus speaks for colours within about 1/20 of the range.
BINS = 32
BLUR = 1.5
#: Share of a histogram that is spread evenly over all colours, so that none is impossible.
UNSEEN = 1e-3


@dataclass(frozen=True, eq=False, repr=False)
class Segmentation:
    """A minimum cut read as a labelling of pixels.

    Attributes
    ----------
    mask : ndarray of bool, shape of the seeds
        True on the object. Of all labellings of least energy the one with the largest object.
    cut : MinCutResult
        The cut behind it: vertices are the pixels in C order, then the source (object) and the sink
        (background). ``cut.verify()`` proves it minimum.
    foreground, background : ndarray of bool, shape of the seeds
        The seeds.
    """

    mask: NDArray[np.bool_]
    cut: MinCutResult
    foreground: NDArray[np.bool_]
    background: NDArray[np.bool_]

    @property
    def energy(self) -> float:
        """Energy of the labelling in nats, above that of every pixel having its likelier label for free."""
        return float(self.cut.upper_bound) / CAPACITY_PER_NAT

    @property
    def num_seeds(self) -> int:
        """Number of seed pixels of either kind."""
        return int(np.count_nonzero(self.foreground)) + int(np.count_nonzero(self.background))

    def __repr__(self) -> str:
        shape = " x ".join(map(str, self.mask.shape))
        size = np.count_nonzero(self.mask)
        return f"<Segmentation: {size:,} of {shape} pixels, from {self.num_seeds:,} seeds, {self.cut!r}>"


def segment(
    image: ArrayLike,
    foreground: ArrayLike,
    background: ArrayLike,
    *,
    smoothness: float = 50.0,
    sigma: float | None = None,
    connectivity: int | None = None,
    method: str = "auto",
    device: str = "auto",
    threads: int | None = None,
    time_limit: float | None = None,
    progress: bool | Reporter = False,
) -> Segmentation:
    """Cut an object out of an image or a volume, given pixels that certainly belong to it and to the rest.

    Parameters
    ----------
    image : array_like, shape (h, w), (h, w, channels), (d, h, w) or (d, h, w, channels)
        Grey values or up to 3 channels of any numeric dtype.
    foreground, background : array_like of bool, shape (h, w) or (d, h, w)
        Seeds: both kinds are needed, and no pixel is both.
    smoothness : float
        Weight of the boundary against the colours: what a boundary of one pixel's length costs, in nats,
        where there is no contrast. More gives smoother outlines and fewer islands; too much shrinks a
        small or thin object to its seeds.
    sigma : float, optional
        Contrast, in units of `image`, at which a boundary becomes cheap: the n-link between neighbours
        that differ by d has the weight ``smoothness * exp(-d**2 / (2 * sigma**2)) / distance``. Default:
        the root mean square of d over all neighbours.
    connectivity : int, optional
        4 or 8 neighbours in an image, 6 or 26 in a volume; default: 8 and 26.
    method, device, threads, time_limit, progress
        As for :func:`preflow.min_cut`.

    Returns
    -------
    Segmentation

    Raises
    ------
    InvalidInputError
        Shapes that do not fit, seeds that are no bool arrays, of which there are none or which overlap,
        values that are not finite, a parameter out of its range.
    CapacityOverflowError
        A `smoothness` so large that capacities leave the exact integers.

    Notes
    -----
    Time and memory of the network O(pixels * connectivity); see :func:`preflow.min_cut` for the cut.

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
    """
    problem = segmentation_problem(
        image, foreground, background, smoothness=smoothness, sigma=sigma, connectivity=connectivity
    )
    cut = min_cut(
        problem,
        method=method,
        device=device,
        threads=threads,
        time_limit=time_limit,
        progress=progress,
    )
    object_seeds, other_seeds = np.array(foreground), np.array(background)
    mask = ~cut.sink_side[: object_seeds.size].reshape(object_seeds.shape)
    for array in (mask, object_seeds, other_seeds):
        array.flags.writeable = False
    return Segmentation(mask, cut, object_seeds, other_seeds)


def segmentation_problem(
    image: ArrayLike,
    foreground: ArrayLike,
    background: ArrayLike,
    *,
    smoothness: float = 50.0,
    sigma: float | None = None,
    connectivity: int | None = None,
) -> MaxFlowProblem:
    """Return the minimum-cut problem that :func:`segment` solves, whose parameters and errors it shares.

    Returns
    -------
    MaxFlowProblem
        Vertices are the pixels in C order, then the source (object) and the sink (background). Its
        capacities are thousandths of a nat.

    Examples
    --------
    >>> import numpy as np
    >>> seeds = np.eye(2, dtype=bool)
    >>> segmentation_problem(seeds.astype(float), seeds, ~seeds, connectivity=4)
    MaxFlowProblem('segmentation': 6 vertices, 8 arcs, source 4, sink 5)
    """
    object_seeds, other_seeds = _checked_seeds(foreground, background)
    channels = _checked_channels(image, object_seeds.shape)
    check_number("smoothness", smoothness)
    if connectivity is None:
        connectivity = max(CONNECTIVITIES[object_seeds.ndim])
    colour = _colour_bins(channels)
    likelihood_ratio = _log_likelihood(colour, object_seeds) - _log_likelihood(colour, other_seeds)
    strength = CAPACITY_PER_NAT * smoothness
    data_term = CAPACITY_PER_NAT * likelihood_ratio
    # Boykov and Jolly's K: more than all n-links of a pixel, so that no minimum cut parts with a seed.
    more_than_n_links = 1 + connectivity * np.ceil(strength)
    data_term[object_seeds] = more_than_n_links
    data_term[other_seeds] = -more_than_n_links
    return grid_from_image(
        channels,
        data_term,
        connectivity=connectivity,
        strength=strength,
        sigma=sigma,
        name="segmentation",
    )


def _checked_seeds(
    foreground: ArrayLike, background: ArrayLike
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    seeds = {"foreground": np.asarray(foreground), "background": np.asarray(background)}
    for name, mask in seeds.items():
        if mask.dtype != np.bool_:
            raise InvalidInputError(f"{name} is an array of bool, got {mask.dtype}")
        if mask.ndim not in CONNECTIVITIES:
            raise InvalidInputError(
                f"{name} has the shape of an image or a volume without its channels, got shape {mask.shape}"
            )
    object_seeds, other_seeds = seeds.values()
    if object_seeds.shape != other_seeds.shape:
        raise InvalidInputError(
            f"foreground has shape {object_seeds.shape}, background has shape {other_seeds.shape}"
        )
    for name, mask in seeds.items():
        if not mask.any():
            raise InvalidInputError(f"there are no {name} seeds: both kinds are needed")
    both = np.argwhere(object_seeds & other_seeds)
    if len(both):
        raise InvalidInputError(
            f"{len(both)} pixels are foreground and background seeds at once, the first at index "
            f"{tuple(both[0].tolist())}"
        )
    return object_seeds, other_seeds


def _checked_channels(image: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return the image as floats with an axis of channels, whether it came with one or not."""
    try:
        values = np.asarray(image, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"image is not an array of numbers: {error}") from None
    if values.shape == shape:
        values = values[..., np.newaxis]
    if values.shape[:-1] != shape or values.shape[-1] not in (1, 2, 3):
        raise InvalidInputError(
            f"image has shape {np.shape(image)}, the seeds have shape {shape}: an image has the shape of its "
            "seeds, or that and up to 3 channels"
        )
    if not np.isfinite(values).all():
        raise InvalidInputError("image has values that are not finite")
    return values


def _colour_bins(channels: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return for every pixel, and every channel in the last axis, its bin over the range of the image."""
    low, high = channels.min(), channels.max()
    scale = BINS / (high - low) if high > low else 0.0
    colour: NDArray[np.int64] = np.minimum((channels - low) * scale, BINS - 1).astype(np.int64)
    return colour


def _log_likelihood(colour: NDArray[np.int64], seeds: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the logarithm, for every pixel, of its colour's probability in a histogram of the seeds."""
    from scipy.ndimage import gaussian_filter

    num_channels = colour.shape[-1]
    histogram: NDArray[Any] = np.zeros((BINS,) * num_channels)
    np.add.at(histogram, tuple(colour[seeds].T), 1.0)
    histogram = gaussian_filter(histogram, BLUR, mode="nearest")
    probability = (1 - UNSEEN) * histogram / histogram.sum() + UNSEEN / histogram.size
    log_likelihood: NDArray[np.float64] = np.log(probability)[tuple(np.moveaxis(colour, -1, 0))]
    return log_likelihood
