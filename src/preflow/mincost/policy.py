"""The rules of method="auto": the first of these rows that holds counts."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ..arrays import Array
from ..cuda.runtime import Device
from ..graph.cost_network import CostNetwork, is_integral
from ..graph.standard_form import most_cost
from ..solving.plan import Attempt, Plan, Rule, decide

#: From this number of vertices on, cost scaling is faster than network simplex, unless several vertices send
#: more than an arc carries. With one source a Xeon took 1.5 and 2.0 s on a 256 x 256 grid, 0.48 and 0.86 s on
#: GOTO with 24,000 vertices, 0.019 and 0.20 s on phases of 300 x 300 pixels, which have many sources and wide
#: arcs; but 0.039 and 0.027 s on GOTO with 3,000 vertices, 0.13 and 0.08 s on NETGEN-8 with 10,000.
MANY_VERTICES = 20_000
#: Up to this number of arcs, network simplex is faster where several vertices together send more than an arc
#: carries on the mean. Cost scaling and simplex took 3.7 and 1.7 s on a 256 x 256 grid with 256 sources, 3.1
#: and 1.3 s with 4; 0.86 and 0.77 s on NETGEN-8 with 400,000 arcs, 1.6 and 1.9 s with 640,000.
MOST_ARCS_FOR_SIMPLEX = 500_000
#: From this number of arcs and of threads on, several threads pay. On 16, 8, 4 and 1 cores of a Xeon GOTO
#: with 0.8 million arcs took 0.76, 1.3, 2.4 and 5.2 s, serial-cost-scaling 5.1 s; NETGEN-8 with a million
#: 1.2, 1.6, 2.3 and 5.9 s, serial 3.0 s; a 512 x 512 grid 4.9, 8.4 and 15.8 s on 16, 8 and 4 cores, serial
#: 21.5 s.
MANY_ARCS, MANY_THREADS = 500_000, 4
#: On MOST_THREADS threads they pay from a smaller number on, and from twice that number where several sources
#: send more than an arc carries. On 16 threads GOTO with 80,000 arcs took 66 ms, by network simplex 138;
#: NETGEN-8 with 200,000 arcs 124 and 196; a 180 x 180 grid 302, by serial cost scaling 448; with 180 sources
#: 676, by network simplex 537; GRIDGEN with 40,000 arcs 45 and 13.
FEW_ARCS, MOST_THREADS = 75_000, 8
#: From this number of arcs on, a GPU is faster for a network on the host. On an H100 NETGEN-8 and GOTO with
#: 0.1 million arcs took 0.16 and 0.10 s, LEMON 0.24 and 0.44 s on that machine.
ARCS_FOR_GPU = 200_000
#: The same where the process has not used the GPU yet, which takes about a second.
ARCS_FOR_FIRST_USE = 1_000_000
#: An earlier flow is repaired by shortest paths if at most this share of the vertices, or this number of
#: them, is out of balance.
REPAIRED_SHARE, REPAIRED = 0.01, 20


def worth_a_gpu(network: CostNetwork, threads: int, in_use: bool) -> bool:
    """Whether a network on the host has enough arcs for a GPU that the process uses already, or not yet."""
    return network.num_arcs >= (ARCS_FOR_GPU if in_use else ARCS_FOR_FIRST_USE)


def choose_for_start(network: CostNetwork, broken: int) -> Plan | None:
    """Return the method that repairs an earlier flow, None to solve from nothing.

    `broken` is the number of vertices at which the flow is not conserved, once no residual arc has negative
    reduced cost.
    """
    if broken > max(REPAIRED_SHARE * network.num_vertices, REPAIRED):
        return None
    return Plan.of("serial-shortest-path", f"shortest paths repair the earlier flow at {broken:,} vertices")


class Features:
    """The features of a network with supplies that rules ask for."""

    def __init__(
        self, network: CostNetwork, device: str, threads: int, gpu: Device | None, supply: Array | None
    ) -> None:
        self.network, self.device, self.threads, self.gpu = network, device, threads, gpu
        self.supply = network.supply if supply is None else supply
        self.vertices, self.arcs = network.num_vertices, network.num_arcs

    @property
    def fits_gpu(self) -> bool:
        """Whether there is a GPU that may solve it, and has room for the costs."""
        return self.gpu is not None and _fits_a_gpu(self.network)

    @cached_property
    def crowded(self) -> bool:
        """Whether several vertices send more together than an arc carries on the mean."""
        return self.supply is not None and _crowded(self.network, self.supply)

    @property
    def work_for_threads(self) -> bool:
        """Whether there are enough arcs for several threads."""
        if self.threads < MOST_THREADS:
            return self.threads >= MANY_THREADS and self.arcs >= MANY_ARCS
        return self.arcs >= (2 * FEW_ARCS if self.crowded else FEW_ARCS)


ON_GPU, SIMPLEX = (Attempt("cuda-cost-scaling"),), (Attempt("serial-network-simplex"),)

RULES: tuple[Rule[Features], ...] = (
    Rule(lambda it: it.device == "cuda", ON_GPU, "device='cuda': the method on a GPU", "min-cost-gpu"),
    Rule(lambda it: it.fits_gpu, ON_GPU, "{it.arcs:,} arcs are enough work for the GPU", "min-cost-gpu"),
    Rule(
        lambda it: it.work_for_threads,
        (Attempt("multicore-cost-scaling"),),
        "{it.arcs:,} arcs are enough work for {it.threads} threads",
        "min-cost-threads",
    ),
    Rule(
        lambda it: it.vertices >= MANY_VERTICES and it.arcs <= MOST_ARCS_FOR_SIMPLEX and it.crowded,
        SIMPLEX,
        "network simplex is fastest where several sources send more than an arc carries",
        "min-cost",
    ),
    Rule(
        lambda it: it.vertices >= MANY_VERTICES,
        (Attempt("serial-cost-scaling"),),
        "cost scaling is fastest with as many as {it.vertices:,} vertices",
        "min-cost",
    ),
    Rule(lambda it: True, SIMPLEX, "network simplex is fastest with few vertices", "min-cost"),
)


def choose(
    network: CostNetwork,
    device: str = "auto",
    threads: int = 1,
    gpu: Device | None = None,
    *,
    supply: Array | None = None,
) -> Plan:
    """Return the plan for a network: see :class:`preflow.solving.protocol.Chooser`.

    `supply` are the supplies to solve for, if they are not those of the network.
    """
    return decide(RULES, Features(network, device, threads, gpu, supply))


def _fits_a_gpu(network: CostNetwork) -> bool:
    """Whether the method on a GPU has room for integer costs; floats are scaled to what it has room for."""
    if not is_integral(network.cost):
        return True
    largest = max(int(network.cost.max(initial=0)), -int(network.cost.min(initial=0)))
    return largest <= most_cost(network.num_vertices, on_gpu=True)


@np.errstate(over="ignore")
def _crowded(network: CostNetwork, supply: Array) -> bool:
    """Whether several vertices send more together than an arc carries on the mean."""
    sent = np.maximum(supply, 0)
    several = np.count_nonzero(sent) > 1 and network.num_arcs > 0
    return bool(several and network.capacity.mean(dtype=np.float64) < sent.sum(dtype=np.float64))
