"""The rules by which method="auto" chooses a method for a grid; docs/notebook has the measurements."""

from __future__ import annotations

from ..cuda.runtime import Device
from ..graph.grid import DeviceGridNetwork, GridNetwork
from ..graph.integer_grid import IntegerGrid
from ..solving.dispatch import Choice

#: GPU method for every grid that fits the memory, also with neighbours too far apart for the fastest method.
FOR_ALL_ON_GPU = "cuda-lockfree"
#: Fewest pixels for several threads, and pixels per thread. With fewer pixels per thread, threads wait longer
#: than they work: 122,000 pixels take 18 ms with one thread, 10 with 4 and 16 with 16.
PIXELS_FOR_THREADS, PIXELS_A_THREAD = 100_000, 1 << 15
#: Fewest pixels for which a GPU that is in use already is faster for a grid on the host, transfers included.
#: 300,000 pixels take 3 to 5 ms on an H200 if they are on the device, 30 to 50 ms on one thread of an EPYC.
PIXELS_FOR_GPU = 250_000
#: The first use of a GPU in a process takes about a second, and once 10 seconds to compile kernels. A solve
#: on the CPU takes about as long with this many pixels per thread.
PIXELS_A_THREAD_FOR_FIRST_USE = 4_000_000
#: Kernels on a GPU compute positions along up to three axes.
MOST_AXES_ON_GPU = 3
#: Bytes per pixel of a solve on a GPU, beside capacities, residual capacities and excess.
BYTES_A_PIXEL = 8
#: Bytes per pixel and per arc of a solve on a GPU in all, if numbers have 32 bits.
BYTES_ON_GPU = 24, 8


def worth_a_gpu(network: GridNetwork, threads: int, in_use: bool) -> bool:
    """Whether a grid on the host has enough pixels for a GPU that the process uses already, or not yet."""
    if len(network.shape) > MOST_AXES_ON_GPU:
        return False
    first = max(PIXELS_FOR_GPU, PIXELS_A_THREAD_FOR_FIRST_USE * threads)
    return network.size >= (PIXELS_FOR_GPU if in_use else first)


def bytes_on_gpu(grid: IntegerGrid) -> int:
    """Return about the GPU memory of a solve of a grid, its capacities included."""
    residual, excess = grid.residual_dtype.itemsize, grid.excess_dtype.itemsize
    arcs = (len(grid.offsets) + len(grid.neighbor)) * residual
    return grid.size * (arcs + 3 * excess + BYTES_A_PIXEL)


def _fits(network: GridNetwork, gpu: Device) -> bool:
    pixel, arc = BYTES_ON_GPU
    return network.size * (pixel + arc * len(network.offsets)) <= gpu.free_bytes


def threads_for(network: GridNetwork, threads: int) -> int:
    """Return how many of `threads` CPU threads to use for a grid."""
    return max(1, min(threads, network.size // PIXELS_A_THREAD))


def choose(network: GridNetwork, device: str = "auto", threads: int = 1, gpu: Device | None = None) -> Choice:
    """Return the method for a grid: see :class:`preflow.solving.protocol.Chooser`."""
    if device == "cuda":
        return Choice("cuda-tiled", "device='cuda': the fastest method on a GPU")
    fits_kernels = len(network.shape) <= MOST_AXES_ON_GPU
    if device == "auto" and isinstance(network, DeviceGridNetwork) and fits_kernels:
        return Choice("cuda-tiled", "the grid is on a GPU: the fastest method on a GPU")
    size = network.size
    if gpu is not None and _fits(network, gpu):
        return Choice("cuda-tiled", f"{size:,} pixels are enough work for the GPU, transfers included")
    if threads > 1 and size >= PIXELS_FOR_THREADS:
        used = threads_for(network, threads)
        return Choice(
            "multicore-merging", f"{size:,} pixels are enough work for {used} threads", threads=used
        )
    why = "one thread" if threads == 1 else f"{size:,} pixels are too few for {threads} threads"
    return Choice("serial-incremental-bfs", f"{why}: incremental breadth-first search is fastest")
