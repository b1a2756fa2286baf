"""Arrays of another library than NumPy, for tests."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np


class Tensor:
    """An array on the host that can be read through DLPack, as a tensor of some library would be."""

    def __init__(self, values: Any) -> None:
        self.values = np.asarray(values)
        self.requires_grad = False

    def detach(self) -> Tensor:
        return Tensor(self.values)

    def __dlpack__(self, **arguments: Any) -> Any:
        if self.requires_grad:
            raise BufferError("a gradient is wanted")
        return self.values.__dlpack__(**arguments)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.values.__dlpack_device__()

    def __array_namespace__(self) -> Any:
        return SimpleNamespace(from_dlpack=lambda values: Tensor(np.from_dlpack(values)))
