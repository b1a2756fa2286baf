"""Arrays for tests that say they are on a GPU."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np


class OnGpu:
    """An array that says it is on a GPU, as a tensor of some library would."""

    def __init__(self, values: Any, number: int = 0) -> None:
        self.values = np.asarray(values)
        self.number = number

    def __dlpack__(self, **arguments: Any) -> Any:
        return self.values.__dlpack__(**arguments)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, self.number)

    def __array_namespace__(self) -> Any:
        return SimpleNamespace(from_dlpack=OnGpu)
