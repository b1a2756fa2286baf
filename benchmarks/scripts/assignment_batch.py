"""Measure batches of assignments on a GPU and on one CPU thread.

Usage: python -m benchmarks.scripts.assignment_batch FILE. It writes FILE, needs CuPy, and compares with
torch-linear-assignment if that is installed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cupy
import numpy as np
from scipy.optimize import linear_sum_assignment

import preflow
from preflow.cuda.runtime import Device

from ..records import write_rows
from .gpu_time import median_seconds

#: The CPU solves a quarter of a batch with more costs, and the time that it takes is multiplied by four.
ALL_ON_CPU = 20_000_000
REPEATS, REPEATS_FROM_HOST = 15, 3


def batches() -> list[tuple[str, np.ndarray]]:
    """Return the batches with their names."""
    random = np.random.default_rng(0)

    def uniform(*shape: int) -> np.ndarray:
        return random.random(shape, dtype=np.float32)

    return [
        ("10,000 of 30 x 30, integers <= 100", random.integers(0, 101, (10_000, 30, 30)).astype(np.int32)),
        ("1,000 of 100 x 100, integers <= 1000", random.integers(0, 1001, (1000, 100, 100)).astype(np.int32)),
        ("256 of 256 x 256, uniform float32", uniform(256, 256, 256)),
        ("208 of 300 x 300, uniform float32", uniform(208, 300, 300)),
        ("16 of 1000 x 1000, uniform float32", uniform(16, 1000, 1000)),
        ("2,000 of 200 x 200, uniform float32", uniform(2000, 200, 200)),
    ]


def kernel_seconds(call: Callable[[], Any]) -> float | None:
    """Return the median time of the kernel of cuda-batch in a call, None if "auto" chooses another method."""
    events = [cupy.cuda.Event() for _ in range(2)]
    launch = Device.launch
    seconds = []

    def timed(self: Device, path: Path, kernel: str, *arguments: Any, **options: Any) -> None:
        counts = kernel == "solve_stack"
        if counts:
            events[0].record()
        launch(self, path, kernel, *arguments, **options)
        if counts:
            events[1].record()

    if call().stats.method != "cuda-batch":
        return None
    Device.launch = timed
    try:
        for _ in range(REPEATS):
            call()
            events[1].synchronize()
            seconds.append(cupy.cuda.get_elapsed_time(*events) * 1e-3)
    finally:
        Device.launch = launch
    return float(np.median(seconds[1:]))


def peer_seconds(on_device: Any, expected: np.ndarray) -> float | None:
    """Return the time of torch-linear-assignment for a batch on the GPU, None if it is not installed.

    Its answers are compared with the expected costs.
    """
    try:
        import torch
        from torch_linear_assignment import batch_linear_assignment
    except ImportError:
        return None
    costs = torch.from_dlpack(on_device)

    def solve() -> Any:
        columns = batch_linear_assignment(costs)
        torch.cuda.synchronize()
        return columns

    columns = solve()[: len(expected)]
    found = torch.gather(costs[: len(expected)], 2, columns[..., None]).sum(dim=(1, 2), dtype=torch.float64)
    assert np.allclose(found.cpu().numpy(), expected, rtol=1e-6)
    return median_seconds(solve, REPEATS)


def measured(name: str, costs: np.ndarray) -> dict[str, Any]:
    """Return the times for a batch, whose answers are compared with those of the CPU."""
    on_device = cupy.asarray(costs)
    result = preflow.linear_assignment(on_device)
    result.verify()
    some = costs if costs.size <= ALL_ON_CPU else costs[: max(1, len(costs) // 4)]
    preflow.linear_assignment(some[:1], device="cpu")
    start = time.perf_counter()
    host = preflow.linear_assignment(some, method="serial-shortest-path")
    middle = time.perf_counter()
    expected = [matrix[linear_sum_assignment(matrix)].sum(dtype=np.float64) for matrix in some]
    end = time.perf_counter()
    found = cupy.asnumpy(result.cost)[: len(some)]
    assert np.allclose(found, host.cost, rtol=1e-12)
    assert np.allclose(found, expected, rtol=1e-12)
    scale = len(costs) / len(some)
    return {
        "instance": name,
        "items_on_cpu": len(some),
        "seconds": {
            "cuda-batch, kernel": kernel_seconds(lambda: preflow.linear_assignment(on_device)),
            "auto, costs on the GPU": median_seconds(lambda: preflow.linear_assignment(on_device), REPEATS),
            "on the GPU, costs on the host": median_seconds(
                lambda: preflow.linear_assignment(costs, device="cuda"), REPEATS_FROM_HOST
            ),
            "verify on the GPU": median_seconds(result.verify, REPEATS_FROM_HOST),
            "serial-shortest-path": (middle - start) * scale,
            "scipy": (end - middle) * scale,
            "torch-linear-assignment": peer_seconds(on_device, np.array(expected)),
        },
        "searches": result.stats.augmentations,
        "costs_looked_at": result.stats.arc_scans,
    }


def main() -> None:
    """Measure all batches and write the file."""
    rows = []
    for name, costs in batches():
        rows.append(measured(name, costs))
        taken = rows[-1]["seconds"].items()
        seconds = {what: f"{1e3 * each:.3f}" for what, each in taken if each is not None}
        print(name, "ms:", seconds, flush=True)
    write_rows(sys.argv[1], rows, ("numpy", "scipy", "numba", "torch", "torch-linear-assignment"))


if __name__ == "__main__":
    main()
