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
#: Standard deviation that each component has at least, as a share of the range of the image: that of values
#: rounded to 8 bits.
NARROWEST = 1 / (256 * 12**0.5)


@dataclass(frozen=True)
class ColourSpace:
    r"""The colours of one image.

    Attributes
    ----------
    channels : ndarray of float64, shape (\*image, channels)
    low, span : float
        Least value, and how far the largest is from it (1 where all are equal).
    """

    channels: NDArray[np.float64]
    low: float
    span: float

    @classmethod
    def of(cls, channels: NDArray[np.float64]) -> ColourSpace:
        """Return the colours of an image."""
        low, high = float(channels.min()), float(channels.max())
        return cls(channels, low, high - low if high > low else 1.0)

    def bins(self) -> NDArray[np.intp]:
        """Return for every pixel its bin in a flat histogram of all channels."""
        scaled = (self.channels - self.low) * (BINS / self.span)
        colour = np.minimum(scaled, BINS - 1).astype(np.intp)
        bins: NDArray[np.intp] = np.ravel_multi_index(
            tuple(np.moveaxis(colour, -1, 0)), (BINS,) * colour.shape[-1]
        )
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

        num_channels = self.channels.shape[-1]
        counts = np.bincount(colours, minlength=BINS**num_channels).astype(np.float64)
        histogram = gaussian_filter(counts.reshape((BINS,) * num_channels), BLUR, mode="nearest").ravel()
        log_histogram: NDArray[np.float64] = np.log(
            (1 - UNSEEN) * histogram / histogram.sum() + UNSEEN / histogram.size
        )
        return log_histogram

    def mixture(self, where: NDArray[np.bool_], components: int) -> GaussianMixture:
        """Fit a mixture to the pixels of a mask, of which there are some."""
        colours = self.channels[where]
        some = colours[:: max(1, len(colours) // SAMPLES)]
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
        samples = self.channels[where]
        return self._moments(samples, mixture.assign(samples)[0], len(mixture.mean))

    def _moments(
        self, samples: NDArray[np.float64], component: NDArray[np.intp], components: int
    ) -> GaussianMixture:
        """Return the Gaussians of the components below a number; one without samples is left out."""
        num_channels = samples.shape[1]
        means, whitenings, levels = [], [], []
        in_some = np.count_nonzero(component < components)
        for number in range(components):
            own = samples[component == number]
            if not len(own):
                continue
            mean = own.mean(axis=0)
            covariance = np.atleast_2d((own - mean).T @ (own - mean)) / len(own)
            covariance += (NARROWEST * self.span) ** 2 * np.eye(num_channels)
            whitening = np.linalg.inv(np.linalg.cholesky(covariance))
            log_weight = np.log((1 - UNSEEN) * len(own) / in_some)
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
        Turns what differs from the mean into a vector of unit covariance.
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
        """Return every colour's likeliest component, k for the even one, and its log-likelihood there."""
        likelihood = np.full(colours.shape[:-1], self.even)
        component = np.full(colours.shape[:-1], len(self.mean), dtype=np.intp)
        for number, (mean, whitening, level) in enumerate(
            zip(self.mean, self.whitening, self.level, strict=True)
        ):
            # Not a matrix product: BLAS was seen to take ten times as long for so few columns.
            deviation = np.einsum("...i,ji->...j", colours - mean, whitening)
            own = level - 0.5 * np.einsum("...i,...i->...", deviation, deviation)
            component[own > likelihood] = number
            np.maximum(likelihood, own, out=likelihood)
        return component, likelihood


def _clusters(samples: NDArray[np.float64], components: int) -> tuple[NDArray[np.intp], int]:
    """Return for every sample the cluster that k-means puts it in, and the number of clusters."""
    from scipy.cluster.vq import kmeans, vq

    if min(components, len(samples)) == 1:
        return np.zeros(len(samples), dtype=np.intp), 1
    axis = np.linalg.svd(np.atleast_2d(np.cov(samples.T, bias=True)))[2][0]
    along = samples[np.argsort(samples @ axis, kind="stable")]
    groups = np.array_split(along, min(components, len(samples)))
    centres: Any = kmeans(samples, np.array([group.mean(axis=0) for group in groups]))[0]
    return vq(samples, centres)[0].astype(np.intp), len(centres)
