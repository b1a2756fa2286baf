"""Likelihoods of colours on an object and on its background: smoothed histograms, and Gaussian mixtures.

Histograms are as in Boykov and Jolly, ICCV 2001, but smoothed, because seeds are few. Mixtures are as in
Rother, Kolmogorov and Blake, "GrabCut", SIGGRAPH 2004: each pixel is assigned to the component under which it
is likeliest, and the components are fitted to their pixels, in turn. The first assignment is by k-means,
started by splitting the colours along their principal axis as Orchard and Bouman do, so that nothing is
random. One more component covers all colours evenly, so that no colour is impossible.

Departure: colours in one small cell are replaced by their mean. A photograph has a fifth to an eighth as many
such colours as pixels, and all steps but counting and looking up colours are faster by that factor.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array

#: Cells along each channel, by the number of channels: multiples of BINS. With half as many for three
#: channels GrabCut ended at energies higher by 0.02 nats per pixel, more on photographs with dark
#: backgrounds. With these its energies are as low as with all colours.
CELLS = {1: 4096, 2: 512, 3: 128}
#: Histogram bins along each channel, and the standard deviation in bins of the Gaussian that smooths them.
#: So a seed colour affects colours within about 1/20 of the range.
BINS = 32
BLUR = 1.5
#: Fraction of a model that is spread evenly over all colours, so that none is impossible.
UNSEEN = 1e-3
#: Most rounds of k-means, and of fitting a mixture.
ROUNDS = 20
#: Least standard deviation of a component, as a fraction of the range of the image: that of the error of
#: values rounded to 8 bits.
NARROWEST = 1 / (256 * 12**0.5)


@dataclass(frozen=True, eq=False)
class Palette:
    """The colours of an image, and the colour of each pixel."""

    #: shape (channels, n): scaled: from 0 for the least value of the image to 1 for the largest
    colours: NDArray[np.float64]
    cells: NDArray[np.intp]  #: shape (channels, n): cell of each colour along each channel
    index: NDArray[np.int32]  #: shape of the image: number of the colour of each pixel

    @classmethod
    def of(cls, channels: NDArray[np.float64]) -> Palette:
        """Return the colours of an image whose last axis is that of channels."""
        *shape, num_channels = channels.shape
        cells = CELLS[num_channels]
        low, high = float(channels.min()), float(channels.max())
        scaled = [(values.ravel() - low) / (high - low or 1) for values in np.moveaxis(channels, -1, 0)]
        code = np.zeros(math.prod(shape), dtype=np.int32)
        for values in scaled:
            code *= cells
            code += np.minimum(values * cells, cells - 1).astype(np.int32)
        counts = np.bincount(code, minlength=cells**num_channels)
        present = np.flatnonzero(counts)
        number = np.zeros(len(counts), dtype=np.int32)
        number[present] = np.arange(len(present))
        index = number[code]
        means = np.array([np.bincount(index, values) for values in scaled]) / counts[present]
        where = np.array(np.unravel_index(present, (cells,) * num_channels))
        return cls(means, where, index.reshape(shape))

    def counts(self, mask: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return the number of pixels of a mask with each colour."""
        return np.bincount(self.index[mask], minlength=self.colours.shape[1])

    def histogram_ratio(
        self, foreground: NDArray[np.bool_], background: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Return the log-likelihood ratio of every colour, in nats, between two masks."""
        ratio: NDArray[np.float64] = self.log_histogram(foreground) - self.log_histogram(background)
        return ratio

    def log_histogram(self, mask: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the log-likelihood of every colour, in nats, under the smoothed histogram of a mask."""
        num_channels = len(self.cells)
        histogram = np.bincount(self.bins, self.counts(mask), minlength=BINS**num_channels)
        likelihood: NDArray[np.float64] = _log_histogram(histogram, num_channels)[self.bins]
        return likelihood

    @cached_property
    def bins(self) -> NDArray[np.intp]:
        """The bin of each colour, in the flat histogram."""
        num_channels = len(self.cells)
        along = self.cells // (CELLS[num_channels] // BINS)
        bins: NDArray[np.intp] = np.ravel_multi_index(tuple(along), (BINS,) * num_channels)
        return bins

    @cached_property
    def monomials(self) -> NDArray[np.float64]:
        """The products of at most two channels of each colour, shape (products, n).

        Their sums over the colours of a component are its moments, and the logarithm of a Gaussian is a
        linear combination of them. So both are matrix products.
        """
        first, second = np.triu_indices(len(self.colours))
        ones = np.ones((1, self.colours.shape[1]))
        return np.concatenate([ones, self.colours, self.colours[first] * self.colours[second]])

    def mixture(self, counts: NDArray[np.int64], components: int) -> GaussianMixture:
        """Fit a mixture to colours with these numbers of pixels, which are not all 0."""
        occur = np.flatnonzero(counts)
        colours, monomials, counts = self.colours[:, occur], self.monomials[:, occur], counts[occur]
        assigned = _clusters(colours, counts, components)
        for _ in range(ROUNDS):
            mixture = GaussianMixture.fitted(monomials, counts, assigned)
            before, assigned = assigned, mixture.assign(monomials)
            if (assigned == before).all():
                break
        return mixture

    def refit(self, mixture: GaussianMixture, counts: NDArray[np.int64]) -> GaussianMixture:
        """Return the mixture after one round of assigning colours and fitting components to them."""
        return GaussianMixture.fitted(self.monomials, counts, mixture.assign(self.monomials))


class GaussianMixture(NamedTuple):
    """Gaussians, each with a weight, and one component that covers all colours evenly."""

    mean: NDArray[np.float64]  #: shape (k, channels)
    covariance: NDArray[np.float64]  #: shape (k, channels, channels)
    #: shape (k, products): coefficients of the monomials; the sum is the logarithm of the component's weight
    #: times its density
    coefficients: NDArray[np.float64]

    @classmethod
    def fitted(
        cls, monomials: NDArray[np.float64], counts: NDArray[np.int64], component: NDArray[np.intp]
    ) -> GaussianMixture:
        """Fit a Gaussian to the colours of each component (-1 for none) that has any."""
        number = np.arange(component.max(initial=-1) + 1)
        sums = np.where(component == number[:, np.newaxis], counts, 0.0) @ monomials.T
        sums = sums[sums[:, 0] > 0]
        size, moments = sums[:, 0], sums[:, 1:] / sums[:, :1]
        channels = {3: 1, 6: 2, 10: 3}[len(monomials)]
        mean, (first, second) = moments[:, :channels], np.triu_indices(channels)
        covariance = np.empty((len(sums), channels, channels))
        covariance[:, first, second] = moments[:, channels:] - mean[:, first] * mean[:, second]
        covariance[:, second, first] = covariance[:, first, second]
        covariance += NARROWEST**2 * np.eye(channels)
        precision = np.linalg.inv(covariance)
        linear = np.einsum("kij,kj->ki", precision, mean)
        log_norm = np.linalg.slogdet(covariance)[1] + channels * math.log(2 * math.pi)
        constant = np.log((1 - UNSEEN) * size / size.sum())
        constant -= (log_norm + np.einsum("ki,ki->k", linear, mean)) / 2
        # Each entry off the diagonal occurs twice.
        square = precision[:, first, second] * np.where(first == second, -0.5, -1.0)
        return cls(mean, covariance, np.column_stack([constant, linear, square]))

    def assign(self, monomials: NDArray[np.float64]) -> NDArray[np.intp]:
        """Return the likeliest component of each colour, -1 for the even component."""
        component: NDArray[np.intp] = self._by_component(monomials).argmax(axis=0) - 1
        return component

    def likelihood(self, monomials: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the logarithm of weight times density of each colour, under its likeliest component."""
        likelihood: NDArray[np.float64] = self._by_component(monomials).max(axis=0)
        return likelihood

    def _by_component(self, monomials: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the logarithm of weight times density under each component, the even one first."""
        found = np.empty((1 + len(self.mean), monomials.shape[1]))
        found[0] = math.log(UNSEEN)
        np.matmul(self.coefficients, monomials, out=found[1:])
        return found


def _blur_matrix() -> NDArray[np.float64]:
    """Return the matrix of a Gaussian filter along one axis of bins; the outer bins are extended."""
    steps = np.arange(-round(4 * BLUR), round(4 * BLUR) + 1)
    weight = np.exp(-0.5 * (steps / BLUR) ** 2)
    matrix = np.zeros((BINS, BINS))
    bins = np.arange(BINS)[:, np.newaxis]
    np.add.at(matrix, (bins, np.clip(bins + steps, 0, BINS - 1)), weight / weight.sum())
    return matrix


#: Computed without SciPy, whose import would take 0.3 s at the first segmentation.
BLUR_MATRIX = _blur_matrix()


def _log_histogram(counts: Array, num_channels: int) -> NDArray[np.float64]:
    """Return the logarithms of the frequencies of all bins, flat."""
    histogram = counts.reshape((BINS,) * num_channels)
    for axis in range(num_channels):
        histogram = np.moveaxis(np.tensordot(BLUR_MATRIX, histogram, (1, axis)), 0, axis)
    histogram = histogram.ravel()
    log_histogram: NDArray[np.float64] = np.log(
        (1 - UNSEEN) * histogram / histogram.sum() + UNSEEN / histogram.size
    )
    return log_histogram


def _clusters(colours: NDArray[np.float64], counts: NDArray[np.int64], components: int) -> NDArray[np.intp]:
    """Return the cluster of each colour by k-means."""
    weight = counts / counts.sum()
    centred = colours - (colours @ weight)[:, np.newaxis]
    axis = np.linalg.svd((centred * weight) @ centred.T)[0][:, 0]
    order = np.argsort(axis @ centred, kind="stable")
    cluster = np.empty(len(counts), dtype=np.intp)
    cluster[order] = (np.cumsum(weight[order]) - weight[order] / 2) * components
    for _ in range(ROUNDS):
        sizes = np.bincount(cluster, weight)
        sums = np.array([np.bincount(cluster, channel * weight) for channel in colours])
        before, cluster = cluster, _nearest(colours, sums[:, sizes > 0] / sizes[sizes > 0])
        if (cluster == before).all():
            break
    return cluster


def _nearest(points: NDArray[np.float64], centres: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the nearest centre of each point; points and centres are columns."""
    # Squared distances, without the term that all centres share.
    nearest: NDArray[np.intp] = ((centres**2).sum(axis=0) - 2 * points.T @ centres).argmin(axis=1)
    return nearest
