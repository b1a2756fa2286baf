"""Motion by alpha-expansion: labels are the displacements that matching of coarse frames has not ruled out.

Boykov, Veksler and Zabih, "Fast approximate energy minimization via graph cuts", PAMI 2001, section 8.4:
labels are the displacements of a window, and neighbours pay for differing. A window for large motions has
hundreds of displacements, most of which no pixel makes. So the frames are first matched window by window at a
fraction of their size. A displacement, and those next to it, remain candidates at the next size if enough
pixels match best there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..expansion import Labelling, alpha_expansion
from ..label_energy import LabelEnergy
from ..matching_costs import Frame, smoothness_weights

#: Costs are averaged over windows of this size to find candidates.
WINDOW = 9
#: A displacement is a candidate if this fraction of all pixels match best with it. On RubberWhale and Venus
#: that gives 34 and 87 candidates. Four times the fraction gives 18 and 31 and loses the small ball of
#: RubberWhale; half of it improves nothing.
LEAST_SHARE = 5e-4
#: The cost of neighbours grows with the distance of their displacements up to this, in steps along rows and
#: columns.
STEP = 4


def candidate_displacements(
    reference: Frame, moving: Frame, largest: int, levels: int, most: int
) -> NDArray[np.int64]:
    """Return at most `most` displacements (dy, dx) that pixels make, in ascending order.

    `largest` is the largest displacement along rows or columns that is searched for; each of the `levels`
    halves the frames.
    """
    if levels > 1:
        coarse = candidate_displacements(reference.half(), moving.half(), -(-largest // 2), levels - 1, most)
        around = np.stack(np.divmod(np.arange(9), 3), axis=-1) - 1
        tried = np.unique((2 * coarse[:, np.newaxis] + around).reshape(-1, 2), axis=0)
        tried = tried[np.abs(tried).max(axis=1) <= largest]
    else:
        size = 2 * largest + 1
        tried = np.stack(np.divmod(np.arange(size * size), size), axis=-1) - largest
    wins = np.bincount(_best(reference, moving, tried).ravel(), minlength=len(tried))
    order = np.argsort(-wins, kind="stable")[:most]
    kept = order[wins[order] >= LEAST_SHARE * wins.sum()]
    found: NDArray[np.int64] = tried[np.sort(kept if len(kept) else order[:1])]
    return found


def label_displacements(
    reference: Frame,
    moving: Frame,
    displacements: NDArray[np.int64],
    smoothness: float,
    sigma: float,
    **limits: object,
) -> Labelling:
    """Return the labelling of pixels by displacements; `limits` are those of :func:`alpha_expansion`."""
    data = np.stack([reference.costs(moving, dy, dx) for dy, dx in displacements.tolist()])
    apart = np.abs(displacements[:, np.newaxis] - displacements).sum(axis=-1)
    energy = LabelEnergy.from_arrays(
        data, np.minimum(apart, STEP), smoothness_weights(reference, smoothness, sigma, 4)
    )
    return alpha_expansion(energy, **limits)  # type: ignore[arg-type]


def _best(reference: Frame, moving: Frame, displacements: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for every pixel the displacement that matches the window around it best."""
    from scipy.ndimage import uniform_filter

    least = np.full(reference.shape, np.inf, np.float32)
    best = np.zeros(reference.shape, np.int64)
    for number, (dy, dx) in enumerate(displacements.tolist()):
        cost = uniform_filter(reference.costs(moving, dy, dx).astype(np.float32), WINDOW, mode="nearest")
        better = cost < least
        least[better], best[better] = cost[better], number
    return best
