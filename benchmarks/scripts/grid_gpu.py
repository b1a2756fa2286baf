"""Measure cuda-tiled beside the best solver on one CPU thread.

Usage: python -m benchmarks.scripts.grid_gpu FILE [BRAIN]. It writes FILE and needs CuPy.

Both solvers run in the same process, and the data of cuda-tiled are on the GPU. BRAIN is a scan of a head
with 1 mm resolution in NIfTI's or NumPy's format. Its white matter is segmented twice: with arcs that are
weaker where the contrast is higher, and as in examples/segment_brain.py.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cupy
import numpy as np
from numpy.typing import NDArray

import preflow
from preflow.cuda import runtime
from preflow.generators import noisy_grid, spiral, vessel_tree
from preflow.graph.contrast import contrast_capacity
from preflow.graph.grid import GridNetwork
from preflow.graph.integer_grid import integer_grid
from preflow.gridcut.cuda_tiled.tiling import tiling_of

from ..records import write_rows

REPEATS = 7
SERIAL = ("serial-incremental-bfs", "serial-boykov-kolmogorov")
#: The most pixels for which both serial methods run.
SMALL = 10_000_000


def instances(brain: str | None) -> Iterator[tuple[str, GridNetwork]]:
    """Yield names and grids on the host."""
    yield "image 1000x1000, contrast", noisy_grid((1000, 1000), contrast=True)
    yield "image 1000x1000, constant", noisy_grid((1000, 1000))
    yield "image 1000x1000, 8 neighbours", noisy_grid((1000, 1000), connectivity=8)
    yield "image 4000x4000, constant", noisy_grid((4000, 4000))
    yield "image 64x100000, constant", noisy_grid((64, 100_000))
    yield "spiral 500x500", spiral(500)
    yield "vessel tree 200^3", vessel_tree(200)
    if brain is not None:
        scan = read_scan(brain)
        yield "brain 1 mm, contrast", white_matter(scan)
        yield "brain 1 mm, as the example", white_matter_of_example(scan)
    yield "volume 300^3, constant", noisy_grid((300,) * 3, smoothing=4.0)


def read_scan(path: str) -> NDArray[Any]:
    """Return a scan with intensities up to about 255."""
    if path.endswith(".npy"):
        return np.asarray(np.load(path))
    from preflow.vision import read_volume

    return read_volume(path).values


def white_matter(scan: np.ndarray) -> GridNetwork:
    """Return the grid that separates voxels brighter than 195, with arcs that contrast weakens."""
    data = np.clip((scan.astype(np.float32) - 195) * 2, -200, 200).round().astype(np.int16)
    links = contrast_capacity(scan.astype(np.float32), strength=100, connectivity=6, sigma=15.0)
    return GridNetwork.from_arrays(np.maximum(data, 0), np.maximum(-data, 0), links, connectivity=6)


def white_matter_of_example(scan: np.ndarray) -> GridNetwork:
    """Return the grid of examples/segment_brain.py."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
    from segment_brain import segment_white_matter

    return segment_white_matter(scan, threads=1).cut.network


def on_gpu(network: GridNetwork) -> GridNetwork:
    """Return the grid with its arrays on the GPU."""
    arrays = network.source_capacity, network.sink_capacity, network.neighbor_capacity
    return GridNetwork.from_arrays(*map(cupy.asarray, arrays), connectivity=network.offsets[::2])


def time_gpu(network: GridNetwork) -> tuple[Any, list[float], list[float]]:
    """Return the result, the milliseconds of whole calls, and those of the phase "solve"."""
    on_device = on_gpu(network)
    whole, solve = [], []
    for _ in range(REPEATS + 1):
        start = time.perf_counter()
        result = preflow.grid_cut(on_device, method="cuda-tiled")
        cupy.cuda.Device().synchronize()
        whole.append(1e3 * (time.perf_counter() - start))
        solve.append(1e3 * result.stats.seconds["solve"])
    result.verify()
    return result, whole[1:], solve[1:]


def main() -> None:
    """Measure all instances and write the file."""
    rows = []
    for name, network in instances(sys.argv[2] if len(sys.argv) > 2 else None):
        result, whole, solve = time_gpu(network)
        serial = {}
        for method in SERIAL[: 2 if network.size <= SMALL else 1]:
            if "spiral" in name and method != SERIAL[0]:
                continue
            found = preflow.grid_cut(network, method=method, threads=1)
            assert found.value == result.value or np.isclose(found.value, result.value, rtol=1e-9)
            seconds = found.stats.seconds
            serial[method] = seconds["build"] + seconds["solve"] + seconds["recover"]
        tiling = tiling_of(runtime.find_device(), integer_grid(network))
        row = {
            "instance": name,
            "residual": str(tiling.residual),
            "gpu milliseconds": {
                "whole call": np.median(whole),
                "fastest": min(whole),
                "solve": np.median(solve),
            },
            "one thread seconds": serial,
            "ratio": 1e3 * min(serial.values()) / np.median(whole),
            "bytes a pixel on the GPU": tiling.bytes_on_device / network.size,
        }
        rows.append(row)
        print(row, flush=True)
        write_rows(sys.argv[1], rows, ())


if __name__ == "__main__":
    main()
