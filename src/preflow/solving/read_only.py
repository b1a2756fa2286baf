"""Arrays that stay read-only in a copy of what holds them."""

from __future__ import annotations

import numpy as np


class ReadOnlyArrays:
    """An object whose public NumPy arrays are read-only, also once it was pickled or copied."""

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        for name, value in state.items():
            if isinstance(value, np.ndarray) and not name.startswith("_"):
                value.flags.writeable = False
