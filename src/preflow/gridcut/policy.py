"""The rules by which method="auto" chooses a method for a grid; docs/notebook has the measurements."""

from __future__ import annotations

from ..cuda.runtime import Device
from ..graph.grid import DeviceGridNetwork, GridNetwork
from ..graph.integer_grid import IntegerGrid
from ..solving.dispatch import Choice

#: GPU method for every grid that fits the memory, also with neighbours too far apart for the fastest method,
#: and the fastest one where there are many.
FOR_ALL_ON_GPU = "cuda-lockfree"
#: Fewest arcs for several threads, and arcs per thread. With fewer arcs per thread, threads wait longer than
#: they work. On 1, 2 and 16 threads of a Xeon, 150 x 150 pixels with 4 neighbours (90,000 arcs) took 6.1, 5.0
#: and 5.0 ms, with 8 neighbours (180,000) 15, 12 and 11 ms; 300 x 300 pixels with 8 neighbours (720,000) 60,
#: 41 and 25 ms; 40 x 40 x 40 voxels (384,000) 49, 34 and 26 ms.
ARCS_FOR_THREADS, ARCS_A_THREAD = 80_000, 40_000
#: Where the caller leaves open where the solve runs, a small grid leaves the GPU once global relabels have
#: taken this many nanoseconds a pixel. On an H200 they took 477 of 1,480 ns on a spiral of 520 x 520 pixels,
#: for which 16 threads need 650 to 1,100, and 1 to 12 of 10 to 40 on noise of 270,000 to 4 million pixels. On
#: a spiral of 1040 x 1040 the GPU is the faster one.
LEAVE_AFTER, MOST_PIXELS_TO_LEAVE = 60, 500_000
#: With more neighbours than this, push-relabel is faster than searches on a GPU, and on MANY_THREADS or more.
#: 90 x 90 x 90 voxels with 18 neighbours took 70 ms by "cuda-blocking" and 44 by "cuda-lockfree" on an H200,
#: 60 x 60 x 60 voxels 34 and 30, by "cuda-tiled" 119 with another seed. Two volumes of 50 x 50 x 50 voxels
#: with 26 neighbours took 177 and 302 by "cuda-tiled", 16 and 28 by "cuda-blocking"; on 16 threads 124 and
#: 1204 by "multicore-merging", 140 and 370 by "multicore-lockfree".
FEW_NEIGHBOURS, MANY_THREADS = 8, 8
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


def threads_for(arcs: int, threads: int) -> int:
    """Return how many of `threads` CPU threads to use for a grid."""
    return max(1, min(threads, arcs // ARCS_A_THREAD))


def choose(network: GridNetwork, device: str = "auto", threads: int = 1, gpu: Device | None = None) -> Choice:
    """Return the method for a grid: see :class:`preflow.solving.protocol.Chooser`."""
    far = len(network.offsets) > FEW_NEIGHBOURS
    on_gpu = FOR_ALL_ON_GPU if far else "cuda-tiled"
    may_leave = not far and network.size <= MOST_PIXELS_TO_LEAVE
    left_open = {"leave_after": LEAVE_AFTER} if may_leave else None
    fastest = f"the fastest method on a GPU with {len(network.offsets)} neighbours"
    if device == "cuda":
        return Choice(on_gpu, f"device='cuda': {fastest}")
    fits_kernels = len(network.shape) <= MOST_AXES_ON_GPU
    if device == "auto" and isinstance(network, DeviceGridNetwork) and fits_kernels:
        return Choice(on_gpu, f"the grid is on a GPU: {fastest}", left_open)
    if gpu is not None and _fits(network, gpu):
        reason = f"{network.size:,} pixels are enough work for the GPU, transfers included"
        return Choice(on_gpu, reason, left_open)
    arcs = network.size * len(network.offsets)
    used = threads_for(arcs, threads)
    if used > 1 and arcs >= ARCS_FOR_THREADS:
        method = "multicore-lockfree" if far and used >= MANY_THREADS else "multicore-merging"
        return Choice(method, f"{arcs:,} arcs are enough work for {used} threads", threads=used)
    why = "one thread" if threads == 1 else f"{arcs:,} arcs are too few for {threads} threads"
    return Choice("serial-incremental-bfs", f"{why}: incremental breadth-first search is fastest")
