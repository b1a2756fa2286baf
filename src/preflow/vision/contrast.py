"""Links that fall with contrast."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInputError
from ..generators.vision import _n_links, _typical_difference
from ..graph.neighbourhood import half_neighbourhood, pair_boxes


def contrast_capacity(
    channels: Any, *, strength: float, sigma: float | None, connectivity: Any, channel_axis: Any
) -> NDArray[Any]:
    if sigma is not None and not sigma > 0:
        raise InvalidInputError(f"sigma is positive, got {sigma}")
    shape = channels.shape[:-1]
    half = half_neighbourhood(len(shape), connectivity)
    if sigma is None:
        sigma = _typical_difference(channels, half)
    if math.isinf(sigma):
        return np.array([round(strength / math.hypot(*o)) for o in half], dtype=np.int64)
    out = np.zeros((len(half), *shape), dtype=np.int32 if strength < 2**31 else np.int64)
    for k, o in enumerate(half):
        here, there = pair_boxes(shape, o)
        out[k][here] = _n_links(channels[here], channels[there], strength / math.hypot(*o), sigma).reshape(
            channels[here].shape[:-1]
        )
    return out
