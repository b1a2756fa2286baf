"""How likely a colour is on an object and on its background: smoothed histograms, and Gaussian mixtures.

Histograms as in Boykov and Jolly, ICCV 2001, but smoothed, because seeds are few. Mixtures as in Rother,
Kolmogorov and Blake, "GrabCut", SIGGRAPH 2004: each pixel belongs to one component, the one under which it is
likeliest, and the components are fitted to their pixels in turn with that choice; it starts from the clusters
that k-means finds (SciPy's, begun along the principal axis of the colours as Orchard and Bouman split them,
so that nothing is random). A component that covers all colours evenly keeps every colour possible.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

#: Histogram bins along each channel, and the standard deviation in bins of the Gaussian that smooths them.
#: A seed colour thus speaks for colours within about 1/20 of the range.
BINS = 32
BLUR = 1.5
#: Share of a model that is spread evenly over all colours, so that none is impossible.
UNSEEN = 1e-3
#: Pixels, evenly taken, of which about so many are clustered and a mixture is fitted to them in at most so
#: many rounds, before the last round sees all.
SAMPLES = 20_000
ROUNDS = 20
#: Colours that are assigned at once: arrays that fit a cache.
BLOCK = 2**15
#: Standard deviation that each component has at least, as a share of the range of the image: that of values
#: rounded to 8 bits.
NARROWEST = 1 / (256 * 12**0.5)


@dataclass(frozen=True)
class ColourSpace:
    r"""The colours of one image.

    Attributes
    ----------
    channels : ndarray of float64, shape (channels, \*image)
        Each channel contiguous: sums over few columns of one array were seen to take 20 times as long.
    low, span : float
        Least value, and how far the largest is from it (1 where all are equal).
    """

    channels: NDArray[np.float64]
    low: float
    span: float

    @classmethod
    def of(cls, channels: NDArray[np.float64]) -> ColourSpace:
        """Return the colours of an image whose last axis is that of channels."""
        low, high = float(channels.min()), float(channels.max())
        return cls(np.ascontiguousarray(np.moveaxis(channels, -1, 0)), low, high - low if high > low else 1.0)

    def bins(self) -> NDArray[np.intp]:
        """Return for every pixel its bin in a flat histogram of all channels."""
        scaled = (self.channels - self.low) * (BINS / self.span)
        colour = np.minimum(scaled, BINS - 1).astype(np.intp)
        bins: NDArray[np.intp] = np.ravel_multi_index(tuple(colour), (BINS,) * len(colour))
        return bins

    def histogram_ratio(
        self, foreground: NDArray[np.bool_], background: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Return by how much likelier, in nats, every pixel's colour is in one mask than in the other."""
        colour = self.bins()
        ratio = self._log_histogram(colour[foreground]) - self._log_histogram(colour[background])
        return ratio[colour]

    def _log_histogram(self, colours: NDArray[np.intp]) -> NDArray[np.float64]:
        from scipy.ndimage import gaussian_filter

        num_channels = len(self.channels)
        counts = np.bincount(colours, minlength=BINS**num_channels).astype(np.float64)
        histogram = gaussian_filter(counts.reshape((BINS,) * num_channels), BLUR, mode="nearest").ravel()
        log_histogram: NDArray[np.float64] = np.log(
            (1 - UNSEEN) * histogram / histogram.sum() + UNSEEN / histogram.size
        )
        return log_histogram

    def mixture(self, where: NDArray[np.bool_], components: int) -> GaussianMixture:
        """Fit a mixture to the pixels of a mask, of which there are some."""
        colours = self.channels[:, where]
        some = np.ascontiguousarray(colours[:, :: max(1, colours.shape[1] // SAMPLES)])
        assigned, components = _clusters(some, components)
        mixture = self._moments(some, assigned, components)
        for _ in range(ROUNDS):
            before, assigned = assigned, mixture.assign(some)[0]
            if (assigned == before).all():
                break
            mixture = self._moments(some, assigned, len(mixture.mean))
        return self.refit(mixture, where)

    def refit(self, mixture: GaussianMixture, where: NDArray[np.bool_]) -> GaussianMixture:
        """Return the mixture after one round of assigning the pixels of a mask and fitting components."""
        samples = self.channels[:, where]
        return self._moments(samples, mixture.assign(samples)[0], len(mixture.mean))

    def _moments(
        self, samples: NDArray[np.float64], component: NDArray[np.intp], components: int
    ) -> GaussianMixture:
        """Return the Gaussians of the components below a number; one without samples is left out."""
        num_channels = len(samples)
        means, whitenings, levels = [], [], []
        in_some = np.count_nonzero(component < components)
        for number in range(components):
            own = samples[:, component == number]
            size = own.shape[1]
            if not size:
                continue
            mean = own.mean(axis=1)
            covariance = np.cov(own, bias=True).reshape(num_channels, num_channels)
            covariance += (NARROWEST * self.span) ** 2 * np.eye(num_channels)
            whitening = np.linalg.inv(np.linalg.cholesky(covariance))
            log_weight = np.log((1 - UNSEEN) * size / in_some)
            log_density = np.log(np.diag(whitening)).sum() - num_channels / 2 * np.log(2 * np.pi)
            means.append(mean)
            whitenings.append(whitening)
            levels.append(log_weight + log_density)
        even = np.log(UNSEEN) - num_channels * np.log(self.span)
        return GaussianMixture(
            np.reshape(means, (-1, num_channels)),
            np.reshape(whitenings, (-1, num_channels, num_channels)),
            np.array(levels),
            float(even),
        )


class GaussianMixture(NamedTuple):
    """Gaussians, each with a weight, and one component that covers all colours evenly.

    Attributes
    ----------
    mean : ndarray, shape (k, channels)
    whitening : ndarray, shape (k, channels, channels)
        Lower triangular: turns what differs from the mean into a vector of unit covariance.
    level : ndarray, shape (k,)
        Logarithm of weight times density at the mean.
    even : float
        The same of the last component, everywhere.
    """

    mean: NDArray[np.float64]
    whitening: NDArray[np.float64]
    level: NDArray[np.float64]
    even: float

    def assign(self, colours: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Return every colour's likeliest component, k for the even one, and its log-likelihood there.

        The first axis of `colours` is that of channels.
        """
        flat = colours.reshape(len(colours), -1)
        likelihood = np.full(flat.shape[1], self.even)
        component = np.full(flat.shape[1], len(self.mean), dtype=np.intp)
        for begin in range(0, flat.shape[1], BLOCK):
            block = slice(begin, begin + BLOCK)
            for number in range(len(self.mean)):
                own = self._log_density(number, flat[:, block])
                component[block][own > likelihood[block]] = number
                np.maximum(likelihood[block], own, out=likelihood[block])
        return component.reshape(colours.shape[1:]), likelihood.reshape(colours.shape[1:])

    def _log_density(self, number: int, colours: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the logarithm of one component's weight times its density, for every column."""
        whitening = self.whitening[number]
        shift = whitening @ self.mean[number]
        log_density = np.full(colours.shape[1], self.level[number])
        for row, weights in enumerate(whitening):
            deviation = weights[0] * colours[0]
            for column in range(1, row + 1):
                deviation += weights[column] * colours[column]
            deviation -= shift[row]
            deviation *= deviation
            deviation *= 0.5
            log_density -= deviation
        return log_density


def _clusters(samples: NDArray[np.float64], components: int) -> tuple[NDArray[np.intp], int]:
    """Return for every sample the cluster that k-means puts it in, and the number of clusters."""
    from scipy.cluster.vq import kmeans, vq

    points = samples.T
    components = min(components, len(points))
    if components == 1:
        return np.zeros(len(points), dtype=np.intp), 1
    axis = np.linalg.svd(np.atleast_2d(np.cov(samples, bias=True)))[2][0]
    along = points[np.argsort(points @ axis, kind="stable")]
    start = np.array([group.mean(axis=0) for group in np.array_split(along, components)])
    centres: Any = kmeans(points, start)[0]
    return vq(points, centres)[0].astype(np.intp), len(centres)
