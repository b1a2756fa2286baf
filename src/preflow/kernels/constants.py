"""Small numbers as uint64, the type of index variables in kernels.

An int64 in an expression with a uint64 would make Numba compute in float64.
"""

from __future__ import annotations

import numpy as np

ZERO = np.uint64(0)
ONE = np.uint64(1)
TWO = np.uint64(2)
THREE = np.uint64(3)
