"""The choice that method="auto" makes, as a few rules."""

from __future__ import annotations

from ..cuda.runtime import Device
from ..graph.device.build import MOST_PAIRS, bytes_needed
from ..graph.network import TOO_MANY_VERTICES, DeviceFlowNetwork, FlowNetwork
from ..solving.dispatch import Choice

#: From this share of all n**2 arcs on, a network counts as dense. On acyclic dense 2000 (share one half)
#: FIFO took 0.010 s and highest label 0.015 s; on line 16384x4 (share 1/514) 0.071 and 0.063 s. Nothing in
#: between was measured.
DENSE = 1 / 8
#: Below this number of vertices no method is slow, and the share says nothing.
SMALL = 100

#: From this many arcs on, multicore-paths is faster than serial-hi-pr. With two threads of an EPYC it took
#: 0.51 of the time on a 1000x1000 grid (5 million arcs), 0.49 on an 80^3 grid (2 million), 0.43 on rmf-wide
#: 64x48 (1 million) and 0.61 on rlg-wide 4096x64 (0.8 million); with one thread 0.83, 0.89, 0.64 and 0.80,
#: and at most 1.03 elsewhere.
MANY_ARCS = 1_000_000
#: From this many threads on it is faster for dense networks too, where a solve takes little longer than a
#: search.
THREADS_FOR_DENSE = 4
#: From this many arcs on, a GPU is faster for a network on the host, transfers included. On an H200
#: max_flow took 33 ms on rmf-wide 64x16 (0.3 million arcs), where serial-hi-pr took 85 ms on that machine.
#: It took 0.25, 0.13 and 0.43 s on rmf-wide 136x68, rlg-wide 32768x64 and a 4000x4000 grid, whose first
#: stage alone takes 0.4 to 1.1 s on 16 threads.
ARCS_FOR_GPU = 300_000
#: The first use of a GPU in a process takes 0.8 s, and once 15 s to compile kernels. From this many arcs
#: for each CPU thread on, a solve on the CPU takes about a second.
ARCS_A_THREAD_FOR_FIRST_USE = 4_000_000


def worth_a_gpu(network: FlowNetwork, threads: int, in_use: bool) -> bool:
    """Whether a network on the host has enough arcs for a GPU that the process uses already, or not yet."""
    least = ARCS_FOR_GPU if in_use else max(ARCS_FOR_GPU, ARCS_A_THREAD_FOR_FIRST_USE * threads)
    return network.num_arcs >= least


def choose(network: FlowNetwork, device: str = "auto", threads: int = 1, gpu: Device | None = None) -> Choice:
    """Return the method for a network: see :class:`preflow.solving.protocol.Chooser`."""
    if device == "cuda":
        return Choice("cuda-push-relabel", "device='cuda': the fastest method on a GPU")
    if device == "auto" and isinstance(network, DeviceFlowNetwork):
        return Choice("cuda-push-relabel", "the network is on a GPU, and this is the fastest method on it")
    size, arcs = network.num_vertices, network.num_arcs
    if gpu is not None and _fits(network, gpu):
        return Choice(
            "cuda-push-relabel",
            f"{arcs:,} arcs are enough work for the GPU, transfers included",
        )
    dense = size >= SMALL and arcs >= DENSE * size**2
    if arcs >= MANY_ARCS and threads >= (THREADS_FOR_DENSE if dense else 1):
        if threads == 1:
            return Choice("multicore-paths", f"the fastest on one thread, too, with as many as {arcs:,} arcs")
        return Choice("multicore-paths", f"{arcs:,} arcs are enough work for {threads} threads")
    if dense:
        return Choice(
            "serial-fifo", "dense network: distances are short and the order of discharges hardly matters"
        )
    return Choice(
        "serial-hi-pr", "highest label with gaps and work-driven global relabels is fastest overall"
    )


def _fits(network: FlowNetwork, gpu: Device) -> bool:
    return (
        network.num_vertices < TOO_MANY_VERTICES
        and network.num_arcs <= MOST_PAIRS
        and bytes_needed(network) <= gpu.free_bytes
    )
