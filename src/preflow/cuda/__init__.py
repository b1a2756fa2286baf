"""NVIDIA GPUs: find one, compile kernels, launch them; headers that kernels of several problems share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..solving.method import Method


@dataclass(frozen=True)
class CudaMethod(Method):
    """The record of a solver that runs on a GPU."""

    device: Literal["cpu", "cuda"] = "cuda"

    @property
    def available(self) -> bool:
        """Whether there is a GPU, and the software to use it."""
        from .runtime import device_if_any

        return device_if_any() is not None
