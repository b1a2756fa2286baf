"""Segmentation into many labels, from seeds of each: colour models and a multiway cut by alpha-expansion.

Boykov and Jolly's energy (ICCV 2001, see :mod:`.segmentation`) with more than two labels: seeds are hard
constraints and give each label a model of its colours, the data term is the negative log-likelihood of a
pixel's colour, and neighbours with different labels pay a weight that falls with their contrast. Potts'
distances make it a multiway cut, for which Boykov, Veksler and Zabih (PAMI 2001) prove that alpha-expansion
ends within a factor of 2 of the least energy. With two labels the first expansion is the whole minimum cut,
so the result is exact.

Departure: costs are rounded to integers, so energies are exact and do not depend on the solver.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import AnyArray, Array, Spacing
from ..certify.fields import check_kind, checked_host_array
from ..checks import check_integer, check_number, check_word, warn_caller
from ..drawing.axes import NUM_COLOURS, say
from ..drawing.images import draw_regions, plane_of
from ..errors import InvalidInputError, VerificationError
from ..graph.contrast import contrast_capacity
from ..graph.grid_input import looks_like_channels
from ..graph.neighbourhood import both_ways, half_neighbourhood, pair_boxes
from ..graph.placement import host_array
from ..method_names import DeviceName, FlowMethodName, GridMethodName
from ..progress import Reporter
from ..solving.read_only import ReadOnlyArrays
from ..solving.timing import solving_seconds
from .colour_models import Palette
from .expansion import MOST_SWEEPS, Labelling, alpha_expansion
from .label_energy import MOST_LABELS, LabelEnergy, potts
from .pictures import large_labels, png
from .planes import Volume
from .segmentation import (
    CAPACITY_PER_NAT,
    MODELS,
    NEIGHBOURS,
    SEEDS_WITH_CHANNELS,
    SMOOTHNESS,
    check_channels,
    checked_mask,
    labelled,
    like_seeds,
    more_than_n_links,
    usual_smoothness,
)
from .volumes import spacing_from

LabelModel = Literal["histogram", "mixture", "none"]
#: Warnings of markers that leave nothing to find.
ONE_LABEL = "markers name one label only: all pixels get label {}; mark some pixels of other labels"
NO_UNKNOWN = "no pixel has marker 0, so there is nothing to label: 0 is unknown, negative takes no part"
INTEGERS = tuple(map(np.dtype, np.typecodes["AllInteger"]))


if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class LabelSegmentation(ReadOnlyArrays):
    """The labels of all pixels, from seeds of each label.

    Attributes
    ----------
    labels : ndarray, shape and dtype of the markers
        The label of each pixel, one of those in the markers. Pixels outside of the mask are 0, and negative
        markers keep their value. Pixels that no path of neighbours that take part joins to a seed are 0, too,
        as in scikit-image's ``random_walker``. An array of xarray if the image or the markers are.
    markers : ndarray
        The seeds, 0 elsewhere.
    names : ndarray of int, shape (k,)
        The labels that the markers name, ascending.
    labelling : Labelling
        What alpha-expansion found; its label i is ``names[i]``.
    """

    labels: Array
    markers: Array
    names: Array
    labelling: Labelling
    _taken: NDArray[np.bool_]
    #: what was divided, for the picture
    _image: AnyArray = field(default=None, kw_only=True)

    @property
    def energy(self) -> float:
        """Energy in nats, relative to each pixel having its likeliest label and no boundaries."""
        return float(self.labelling.energy) / CAPACITY_PER_NAT

    @property
    def num_seeds(self) -> int:
        """Number of seed pixels."""
        return int(np.count_nonzero(self.markers > 0))

    def mask(self, label: int) -> NDArray[np.bool_]:
        """Return the mask of one label, for :func:`overlay` and :func:`cutout`."""
        found: NDArray[np.bool_] = self.labels == label
        return found

    def verify(self) -> None:
        """Prove the labels: that no expansion lowers their energy; with two labels it is least then.

        Also, that seeds have the labels of their markers, and other pixels those of the labelling. If a limit
        stopped the search, the energy is proved, but not that it is low.
        """
        check_kind(self.labelling, "labelling", Labelling)
        self.labelling.verify()
        terms = self.labelling.energy_terms
        markers = checked_host_array(self.markers, "markers", terms.shape, *INTEGERS)
        labels = checked_host_array(self.labels, "labels", terms.shape, markers.dtype)
        names = checked_host_array(self.names, "names", (terms.num_labels,), markers.dtype)
        if not np.array_equal(names, np.unique(markers[markers > 0])):
            raise VerificationError("names are not those of the markers, ascending")
        taken = checked_host_array(self._taken, "the pixels that take part", terms.shape, np.bool_)
        if (markers[~taken] > 0).any() or (markers[taken] < 0).any():
            raise VerificationError("a pixel that takes no part is a seed, or a seed takes none")
        # Other labels cost a seed the same amount, which is more than its neighbours do.
        at_seeds = terms.data[:, markers > 0]
        own = np.arange(len(names))[:, np.newaxis] == np.searchsorted(names, markers[markers > 0])
        if not np.array_equal(at_seeds, np.where(own, 0, at_seeds.max(initial=0))):
            raise VerificationError("a seed is none in the energy")
        expected = np.where(taken, names[self.labelling.labels], markers)
        if not np.array_equal(labels, expected):
            raise VerificationError("the labels are not those of the labelling")
        if self.labelling.converged and (labels != markers)[markers > 0].any():
            raise VerificationError("a seed has another label than its marker")

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the labels with a legend or, if there are many, a colour bar; of a volume the middle slice."""
        axes = draw_regions(ax, plane_of(np.asarray(self.labels)), most=NUM_COLOURS + 1)
        return say(axes, "" if self.labelling.converged else "not converged")

    def __repr__(self) -> str:
        shape = " x ".join(map(str, self.labels.shape))
        state = "" if self.labelling.converged else ", not converged"
        seconds = solving_seconds(self.labelling.seconds)
        return (
            f"<LabelSegmentation: {len(self.names)} labels on {shape} pixels, from {self.num_seeds:,} seeds, "
            f"energy {self.energy:,.6g}{state}, {seconds:.3g} s>"
        )

    def _repr_png_(self) -> bytes | None:
        """Return the labels in colours over the image; of a volume three slices."""
        return png(large_labels(np.asarray(self.labels), self._image))


def segment_labels(
    image: ArrayLike,
    markers: ArrayLike,
    *,
    mask: ArrayLike | None = None,
    smoothness: float | None = None,
    sigma: float | None = None,
    connectivity: int | None = None,
    spacing: Spacing = None,
    model: LabelModel = "histogram",
    components: int = 5,
    max_sweeps: int = MOST_SWEEPS,
    method: FlowMethodName | GridMethodName | str = "auto",
    device: DeviceName = "auto",
    threads: int | None = None,
    time_limit: float | None = None,
    progress: bool | Reporter = False,
) -> LabelSegmentation:
    """Divide an image or a volume among several labels, given some pixels of each.

    Markers are those of ``random_walker`` and ``watershed`` of scikit-image.

    Parameters
    ----------
    image : array_like, shape (h, w), (h, w, channels), (d, h, w) or (d, h, w, channels)
        Grey values or up to 3 channels of any numeric dtype; a fourth one, alpha, is left out.
    markers : array_like of int, shape (h, w) or (d, h, w); (n,) and (t, d, h, w) are taken, too
        A positive number marks a pixel of this label, 0 a pixel without a label yet. Pixels with negative
        numbers take no part and keep these numbers. Floats must be whole numbers. A warning says so if all
        seeds have one label, or no pixel is left to label.
    mask : array_like of bool, shape of the markers, optional
        Pixels to label; the others take no part and get 0.
    smoothness, sigma
        As for :func:`segment`: the weight of boundaries, and the contrast at which they become cheap. If one
        label swallows thin parts of others, take a smaller smoothness; if there are islands, a larger one.
    connectivity : int, optional
        As for :func:`segment`.
    spacing : sequence of float, optional
        As for :func:`segment`: the length of a pixel along each axis.
    model : {"histogram", "mixture", "none"}
        Model of the colours of each label, from its seeds. With "none" only contrast and the length of
        boundaries count: for objects of one colour that touch each other, such as cells, with seeds that
        cover most of them.
    components : int
        Gaussians in each mixture.
    max_sweeps : int
        The largest number of sweeps over all labels.
    method, device, threads
        As for :func:`preflow.grid_cut`.
    progress
        As for :func:`alpha_expansion`.
    time_limit : float, optional
        Seconds for all cuts; on expiry ``labelling.converged`` is False.

    Returns
    -------
    LabelSegmentation
        With two labels the labelling of least energy; with more, one that no expansion improves, with at most
        twice the least energy.

    Raises
    ------
    InvalidInputError
        Shapes that do not fit; markers that are not integers, or that name no label or more than 1024; values
        that are not finite; a parameter out of its range.
    CapacityOverflowError
        `smoothness` is so large that energies exceed 64 bits.

    Notes
    -----
    One minimum cut for each label and sweep. Memory: 4 bytes for each pixel and label, and that of the cuts.

    Examples
    --------
    >>> import numpy as np
    >>> image = np.array([[1, 1, 5, 5, 9, 9]] * 3)
    >>> markers = np.zeros((3, 6), int)
    >>> markers[1, 0], markers[1, 2], markers[1, 5] = 1, 2, 7
    >>> result = segment_labels(image, markers)
    >>> result.labels[0].tolist()
    [1, 1, 2, 2, 7, 7]
    >>> result.verify()
    """
    seeds, taken = _checked_markers(markers, mask)
    if looks_like_channels(seeds.shape):
        warn_caller(SEEDS_WITH_CHANNELS.format("markers", seeds.shape))
    channels = check_channels(image, seeds.shape)
    components = check_integer("components", components)
    check_word("model", model, (*MODELS, "none"))
    names = np.unique(seeds[taken & (seeds > 0)])
    if not len(names):
        raise InvalidInputError("markers name no label: mark some pixels of each with a number above 0")
    if len(names) == 1 or not (taken & (seeds == 0)).any():
        warn_caller(ONE_LABEL.format(names[0]) if len(names) == 1 else NO_UNKNOWN)
    if len(names) > MOST_LABELS:
        raise InvalidInputError(f"markers name {len(names):,} labels, at most {MOST_LABELS:,} are supported")
    placed = [taken & (seeds == name) for name in names]
    half = half_neighbourhood(seeds.ndim, NEIGHBOURS[seeds.ndim] if connectivity is None else connectivity)
    taken &= _reached(taken, placed, half)
    spacing = spacing_from(image, spacing)
    energy = _energy(channels, placed, taken, smoothness, sigma, half, spacing, model, components)
    # If only its seeds have the second label, its expansion is the minimum cut of a problem with two labels.
    initial = placed[1].astype(np.int64) if len(names) == 2 else None
    labelling = alpha_expansion(
        energy,
        initial=initial,
        max_sweeps=max_sweeps,
        method=method,
        device=device,
        threads=threads,
        time_limit=time_limit,
        progress=progress,
    )
    found = names[labelling.labels]
    found[~taken] = np.minimum(seeds[~taken], 0)
    kept = np.where(taken, seeds, np.minimum(seeds, 0))
    found.flags.writeable = False
    restore = like_seeds(seeds.ndim, image, markers=markers, mask=mask)
    shown = image if isinstance(image, Volume) else host_array(image, "image")
    return LabelSegmentation(labelled(found, restore), kept, names, labelling, taken, _image=shown)


def _checked_markers(markers: ArrayLike, mask: ArrayLike | None) -> tuple[Array, NDArray[np.bool_]]:
    """Return markers as integers, and the pixels that take part."""
    seeds = host_array(markers, "markers")
    if seeds.dtype.kind == "f" and np.isfinite(seeds).all() and (seeds == np.rint(seeds)).all():
        seeds = seeds.astype(np.int64)
    if seeds.dtype.kind not in "iu":
        raise InvalidInputError(f"markers are integers, one number for each label; got dtype {seeds.dtype}")
    if seeds.ndim not in NEIGHBOURS:
        raise InvalidInputError(
            f"markers have the shape of an image or a volume without its channels, 1 to 4 axes; got shape "
            f"{seeds.shape}"
        )
    taken: NDArray[np.bool_] = seeds >= 0
    if mask is not None:
        wanted = checked_mask("mask", mask)
        if wanted.shape != seeds.shape:
            raise InvalidInputError(f"mask has shape {wanted.shape}, markers have shape {seeds.shape}")
        taken &= wanted
    return seeds, taken


def _reached(
    taken: NDArray[np.bool_], placed: list[NDArray[np.bool_]], half: list[tuple[int, ...]]
) -> NDArray[np.bool_]:
    """Return the pixels that a path of neighbours that take part joins to a seed."""
    if taken.all():
        return taken
    from scipy.ndimage import label

    near = np.zeros((3,) * taken.ndim, np.bool_)
    near[tuple(1 + both_ways(half).T)] = True
    part, number = label(taken, near)
    has_seed = np.zeros(number + 1, np.bool_)
    for where in placed:
        has_seed[part[where]] = True
    reached: NDArray[np.bool_] = has_seed[part]
    return reached


def _energy(
    channels: NDArray[np.float64],
    placed: list[NDArray[np.bool_]],
    taken: NDArray[np.bool_],
    smoothness: float | None,
    sigma: float | None,
    half: list[tuple[int, ...]],
    spacing: Spacing,
    model: LabelModel,
    components: int,
) -> LabelEnergy:
    """Return the energy of all labellings, in thousandths of a nat."""

    def links(smoothness: float) -> Array:
        weights: Array = contrast_capacity(
            channels,
            strength=CAPACITY_PER_NAT * smoothness,
            sigma=sigma,
            connectivity=half,
            channel_axis=-1,
            spacing=spacing,
        )
        for weight, offset in zip(weights, half, strict=True):
            here, there = pair_boxes(taken.shape, offset)
            weight[here] *= taken[here] & taken[there]
        return weights

    if smoothness is None:
        pixels = int(np.count_nonzero(taken))
        smoothness = SMOOTHNESS if taken.ndim < 3 else usual_smoothness(links(1.0), pixels)
    smoothness = check_number("smoothness", smoothness)
    certain, weights = more_than_n_links(smoothness, len(half)), links(smoothness)
    table = _costs_of_colours(channels, placed, model, components)
    data = np.zeros((len(placed), *taken.shape), np.int32 if certain <= np.iinfo(np.int32).max else np.int64)
    if table is not None:
        costs, index = table
        for row, cost in zip(data, costs, strict=True):
            row[...] = cost[index]
        data[:, ~taken] = 0
    for row, where in zip(data, placed, strict=True):
        data[:, where] = certain
        row[where] = 0
    return LabelEnergy.from_arrays(data, potts(len(placed)), weights, connectivity=2 * len(half))


def _costs_of_colours(
    channels: NDArray[np.float64], placed: list[NDArray[np.bool_]], model: LabelModel, components: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]] | None:
    """Return the cost of each label and colour, and the colour of each pixel; None without a model."""
    if model == "none":
        return None
    palette = Palette.of(channels)
    if model == "histogram":
        likelihood = np.array([palette.log_histogram(mask) for mask in placed])
    else:
        mixtures = [palette.mixture(palette.counts(mask), components) for mask in placed]
        likelihood = np.array([mixture.likelihood(palette.monomials) for mixture in mixtures])
    costs = np.rint(CAPACITY_PER_NAT * (likelihood.max(axis=0) - likelihood))
    return costs.astype(np.int32), palette.index
