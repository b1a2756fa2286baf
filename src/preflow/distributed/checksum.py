"""The checksum by which problems and stored arrays are recognized: XXH3 with 64 bits."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import xxhash

from ..arrays import Array


def checksum_of(arrays: Iterable[Array]) -> int:
    """Return the checksum of the bytes of arrays, one after the other."""
    found = xxhash.xxh3_64()
    for values in arrays:
        found.update(np.ascontiguousarray(values).data)
    return found.intdigest()
