"""The rules by which method="auto" chooses a method for a grid; docs/notebook has the measurements."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..cuda.runtime import Device
from ..graph.grid import DeviceGridNetwork, GridNetwork
from ..graph.integer_grid import IntegerGrid
from ..solving.plan import Attempt, Plan, Rule, decide
from .problem import ORPHANS_PER_ARC, PUSH_RELABEL

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
#: With more neighbours than this, push-relabel is faster than searches on a GPU.
#: 90 x 90 x 90 voxels with 18 neighbours took 70 ms by "cuda-blocking" and 44 by "cuda-lockfree" on an H200,
#: 60 x 60 x 60 voxels 34 and 30, by "cuda-tiled" 119 with another seed. Two volumes of 50 x 50 x 50 voxels
#: with 26 neighbours took 177 and 302 by "cuda-tiled", 16 and 28 by "cuda-blocking".
FEW_NEIGHBOURS = 8
#: A *flood*: a few pixels supply most others, or collect from them. Then each pixel needs a path of its own,
#: and push-relabel is faster than searches from paths of FLOOD_PATH pixels on, averaged over all pixels of
#: the grid. With one to 11 sources in 60^3 voxels and 30 in 450 x 450 pixels, whose paths have 20 to 46, it
#: took 0.4 to 0.6 of the time; with 126 sources in that image (20 pixels) 0.6, with 400 (11 pixels) 1.05.
#: The average path to the nearest of k pixels, spread evenly over n, has axes / 4 * (n / k)**(1 / axes).
FLOOD_PATH = 20
#: In a flood the capacity out of the few pixels is at least this share of what the others can take.
#: Otherwise short paths saturate the arcs around these pixels: with 1 % of it a search took 0.4 of the time.
FLOOD_SHARE = 0.5
#: Fewest pixels for a look for a flood, which takes 0.03 ms for most grids; pixels looked at first; and how
#: many of these may belong to the few.
PIXELS_FOR_FLOOD, SAMPLED_PIXELS, MOST_FEW = 16_000, 256, 8
#: Fewest pixels for which a GPU that is in use already is faster for a grid on the host, transfers included.
#: 300,000 pixels take 3 to 5 ms on an H200 if they are on the device, 30 to 50 ms on one thread of an EPYC.
PIXELS_FOR_GPU = 250_000
#: The same for each CPU thread, where the process has not used the GPU yet. The first use takes about a
#: second, and once 10 seconds to compile kernels; a solve of this many pixels a thread takes about as long.
PIXELS_A_THREAD_FOR_FIRST_USE = 4_000_000
#: In an energy at least this share of the pixels has a terminal capacity, and the median capacity between
#: neighbours is at most this multiple of that of the terminals: 1 to 5 on noise, 20 on spirals and vessels.
AT_TERMINALS, STRONGER = 0.5, 10
#: How many pixels are looked at, and the fewest pixels of a grid for which that pays off.
SAMPLE, FEWEST_TO_SAMPLE = 512, 30_000
#: The fractional part of the golden ratio spreads the sample evenly, in no step that rows could share.
GOLDEN = 0.6180339887498949
#: Orphans per arc that a search of an energy may process, in place of the usual 2: noise of 60^3 voxels,
#: smoothed with a sigma of 1, takes 2.0 to 2.2 and a sigma of 0.5 2.9. A search to the end takes 0.5 and 0.8
#: of the time that it takes if push-relabel continues at 2.
BUDGET_OF_ENERGIES = 4.0
#: The same for more than FEW_NEIGHBOURS: an orphan then reads more arcs, so pushes are cheaper sooner.
#: With 26 of them, 40^3 voxels and a brain of 69^3, a search took 43 and 118 ms on an EPYC where it had 0.01
#: and 0.09 orphans an arc (multicore-lockfree 213 and 398), 73 with 0.18 (82), and 75, 309, 147 and 155 with
#: 0.34 to 0.65 (26, 160, 22 and 51).
BUDGET_WITH_MANY_NEIGHBOURS = 0.2
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


@np.errstate(over="ignore")
def is_flood(network: GridNetwork) -> bool:
    """Whether a few pixels at one terminal supply most others over long paths: see FLOOD_PATH."""
    if network.size < PIXELS_FOR_FLOOD or isinstance(network, DeviceGridNetwork):
        return False
    # A sample tells which are the many pixels, and what they can take.
    step = network.size // SAMPLED_PIXELS | 1  # odd: most images have sides of an even length
    source, sink = network.source_capacity.flat[::step], network.sink_capacity.flat[::step]
    supply, demand = np.count_nonzero(source > sink), np.count_nonzero(source < sink)
    if min(supply, demand) > MOST_FEW:
        return False
    inward = bool(demand < supply)
    many, others = (source, sink) if inward else (sink, source)
    more = many > others
    taken = np.subtract(many[more], others[more], dtype=np.float64).sum() * step
    share, axes = max(supply, demand) / len(source), len(network.shape)
    most_few = network.size * (axes * share / (4 * FLOOD_PATH)) ** axes
    if taken == 0 or most_few * _most_around(network) < FLOOD_SHARE * taken:
        return False
    compare = np.less if inward else np.greater
    few = np.flatnonzero(compare(network.source_capacity, network.sink_capacity))
    if not 0 < len(few) <= most_few:
        return False
    return bool(_capacity_of(network, few, inward).sum() >= FLOOD_SHARE * taken)


def _most_around(network: GridNetwork) -> float:
    """Return a bound on the capacity of all arcs out of a pixel, or into it."""
    return float(sum(largest for _, largest in network.limits[2:])) * (2 if network.symmetric else 1)


def _capacity_of(network: GridNetwork, pixels: NDArray[np.int64], inward: bool) -> Array:
    """Return how much each of some pixels can send to others, or take from them."""
    here = np.stack(np.unravel_index(pixels, network.shape))
    around = np.zeros(len(pixels))
    for direction, offset in enumerate(network.offsets):
        there = here + offset[:, None]
        inside = ((there >= 0) & (there < np.array(network.shape)[:, None])).all(axis=0)
        row, begins = direction ^ 1 if inward else direction, there if inward else here
        if network.symmetric:
            row, begins = direction // 2, there if direction % 2 else here
        around[inside] += network.neighbor_capacity[row][tuple(begins[:, inside])]
    source, sink = (each[tuple(here)] for each in (network.source_capacity, network.sink_capacity))
    excess: Array = np.subtract(*((sink, source) if inward else (source, sink)), dtype=np.float64)
    return np.minimum(excess, around, out=around)


def is_energy(network: GridNetwork) -> bool:
    """Whether most pixels have a terminal capacity, and others are not far larger, judged from a sample."""
    if isinstance(network, DeviceGridNetwork) or network.size < FEWEST_TO_SAMPLE:
        return False
    places = (np.arange(SAMPLE) * GOLDEN % 1.0 * network.size).astype(np.int64)
    pixels = np.unravel_index(places, network.shape)
    source, sink = (
        values[pixels].astype(np.float64) for values in (network.source_capacity, network.sink_capacity)
    )
    with np.errstate(invalid="ignore"):
        terminals = abs(source - sink)
    others = network.neighbor_capacity[(slice(None), *pixels)]
    terminals, others = np.sort(terminals[terminals > 0]), np.sort(others[others > 0])
    if len(terminals) < AT_TERMINALS * SAMPLE or not len(others):
        return False
    return float(others[len(others) // 2]) <= STRONGER * float(terminals[len(terminals) // 2])


class Features:
    """The features of a grid that the rules ask for. Those that take time are found on demand, and once."""

    def __init__(self, network: GridNetwork, device: str, threads: int, gpu: Device | None) -> None:
        self.network, self.device, self.threads, self.gpu = network, device, threads, gpu
        self.pixels, self.neighbours = network.size, len(network.offsets)
        self.arcs = self.pixels * self.neighbours
        self.used = threads_for(self.arcs, threads)

    @cached_property
    def gpu_because(self) -> str:
        """Why the grid is solved on a GPU; empty where it is not."""
        if self.device == "cuda":
            return "device='cuda'"
        fits_kernels = len(self.network.shape) <= MOST_AXES_ON_GPU
        if self.device == "auto" and isinstance(self.network, DeviceGridNetwork) and fits_kernels:
            return "the grid is on a GPU"
        if self.gpu is not None and _fits(self.network, self.gpu):
            return f"{self.pixels:,} pixels are enough work for the GPU, transfers included"
        return ""

    @property
    def several(self) -> bool:
        """Whether the arcs are enough for two threads or more, of which ``used`` work."""
        return self.used > 1 and self.arcs >= ARCS_FOR_THREADS

    @property
    def few(self) -> str:
        """Why one thread works."""
        if self.threads == 1:
            return "one thread"
        return f"{self.arcs:,} arcs are too few for {self.threads} threads"

    @cached_property
    def flood(self) -> bool:
        """Whether a few pixels supply most others over long paths."""
        return is_flood(self.network)

    @cached_property
    def many_neighbours(self) -> bool:
        """Whether a search is soon the slower one: see BUDGET_WITH_MANY_NEIGHBOURS.

        It is not where arcs lead one way. On nine grids of columns (``vision.layered_surfaces``) with 10 to
        12 neighbours and 0.05 to 1.1 relabels an arc, a search took 0.2 to 0.5 of the time of push-relabel.
        """
        if self.neighbours <= FEW_NEIGHBOURS:
            return False
        used = sum(largest > 0 for _, largest in self.network.limits[2:])
        return self.network.symmetric or used > self.neighbours // 2 + 1

    @cached_property
    def energy(self) -> bool:
        """Whether most pixels have a terminal capacity, and others are not far larger."""
        return is_energy(self.network)


FASTEST_ON_GPU = "{it.gpu_because}: the fastest method on a GPU with {it.neighbours} neighbours"
FOR_THREADS = "{it.arcs:,} arcs are enough work for {it.used} threads"
ONE_THREAD = "{it.few}: incremental breadth-first search is fastest"

RULES: tuple[Rule[Features], ...] = (
    Rule(
        lambda it: it.gpu_because and it.neighbours > FEW_NEIGHBOURS,
        (Attempt(FOR_ALL_ON_GPU),),
        FASTEST_ON_GPU,
        "grids-gpu",
    ),
    Rule(
        lambda it: it.gpu_because and it.device != "cuda" and it.pixels <= MOST_PIXELS_TO_LEAVE,
        (Attempt("cuda-tiled", budget=LEAVE_AFTER), Attempt("auto")),
        FASTEST_ON_GPU,
        "grids-gpu",
    ),
    Rule(lambda it: it.gpu_because, (Attempt("cuda-tiled"),), FASTEST_ON_GPU, "grids-gpu"),
    Rule(
        lambda it: it.flood,
        PUSH_RELABEL,
        "few pixels supply most others over long paths: pushes send many pixels' flow at once",
        threads=lambda it: it.used if it.several else 1,
    ),
    Rule(
        lambda it: it.several and it.many_neighbours,
        (Attempt("multicore-merging", budget=BUDGET_WITH_MANY_NEIGHBOURS), *PUSH_RELABEL),
        f"{FOR_THREADS}; with {{it.neighbours}} neighbours a search is soon the slower one",
        threads=lambda it: it.used,
    ),
    Rule(
        lambda it: it.several and it.energy,
        (Attempt("multicore-merging", budget=BUDGET_OF_ENERGIES), *PUSH_RELABEL),
        FOR_THREADS,
        "grids-threads",
        threads=lambda it: it.used,
    ),
    Rule(
        lambda it: it.several,
        (Attempt("multicore-merging", budget=ORPHANS_PER_ARC), *PUSH_RELABEL),
        FOR_THREADS,
        "grids-threads",
        threads=lambda it: it.used,
    ),
    Rule(
        lambda it: it.many_neighbours,
        (Attempt("serial-incremental-bfs", budget=BUDGET_WITH_MANY_NEIGHBOURS), *PUSH_RELABEL),
        f"{ONE_THREAD} while it has little to repair",
        threads=lambda it: 1,
    ),
    Rule(
        lambda it: it.energy,
        (Attempt("serial-incremental-bfs", budget=BUDGET_OF_ENERGIES), *PUSH_RELABEL),
        ONE_THREAD,
        "grids",
        threads=lambda it: 1,
    ),
    Rule(
        lambda it: True,
        (Attempt("serial-incremental-bfs", budget=ORPHANS_PER_ARC), *PUSH_RELABEL),
        ONE_THREAD,
        "grids",
        threads=lambda it: 1,
    ),
)


def choose(network: GridNetwork, device: str = "auto", threads: int = 1, gpu: Device | None = None) -> Plan:
    """Return the plan for a grid: see :class:`preflow.solving.protocol.Chooser`."""
    return decide(RULES, Features(network, device, threads, gpu))
