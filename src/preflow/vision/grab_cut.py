"""GrabCut: cut an object out of its background, given a box around it, by cuts and new colour models in turn.

Rother, Kolmogorov and Blake, "GrabCut: interactive foreground extraction using iterated graph cuts", SIGGRAPH
2004. Pixels outside of the box are background; those inside are object at first. Then, in turn, each pixel is
assigned to the likeliest Gaussian of its label's mixture, the Gaussians are fitted to their pixels, and a
minimum cut labels the pixels. No step raises the energy.

Departures: there is no border matting; each cut starts from the flow of the last one; volumes are supported.
"""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Connectivity, Spacing
from ..certify.fields import check_flag, check_kind, checked_number
from ..checks import check_integer
from ..errors import InvalidInputError, VerificationError
from ..graph.contrast import finite_array
from ..graph.placement import host_array
from ..gridcut.api import grid_cut
from ..gridcut.result import GridCutResult
from ..method_names import DeviceName, GridMethodName
from ..progress import Reporter
from ..solving.run import Deadline
from .colour_models import Palette
from .segmentation import (
    ALL_AROUND,
    CAPACITY_PER_NAT,
    Links,
    Segmentation,
    check_channels,
    checked_mask,
    labelled,
    like_seeds,
    own,
)

logger = logging.getLogger("preflow")
#: Warning of an empty object: it has the colours of its background, or the box is not where it was meant.
EMPTY = (
    "the object is empty: the box has the colours of what is around it, or is not at the object "
    "(check the order of its four numbers: they are two corners, not a corner and a size)"
)


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
    smoothness: float = 50.0,
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
    links = Links(channels, smoothness, sigma, connectivity, spacing)
    object_now, cut = ~hard_rest, None
    if warm_start is not None:
        object_now, cut = _start(warm_start, hard_object, hard_rest)
    all_pixels, of_object, of_rest = map(palette.counts, (np.ones_like(inside), hard_object, hard_rest))
    counts = _counts_on_both_sides(palette, all_pixels, object_now)
    mixtures = [palette.mixture(side, components) for side in counts]
    energies: list[float] = []
    converged = False
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
            progress=progress,
            warm_start=cut,
        )
        # The capacity of the cut is relative to every pixel having its likelier label, or that of its seed.
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
    return GrabCut(mask, cut, own(hard_object), own(hard_rest), tuple(energies), converged)


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
        if given.dtype.kind not in "iu" or given.shape not in {(2 * ndim,) for ndim in ALL_AROUND}:
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
