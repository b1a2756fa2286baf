"""The choice that method="auto" makes, as a few rules."""

from __future__ import annotations

from ..cuda.runtime import Device
from ..graph.network import TOO_MANY_VERTICES, DeviceFlowNetwork, FlowNetwork
from ..solving.plan import Plan
from .features import (
    ARCS,
    ARCS_FOR_PLANES,
    has_hubs,
    is_energy,
    is_energy_on_a_plane,
    may_be_on_a_plane,
    may_have_cycles,
    sample_arcs,
    seldom_saturated,
)

#: From this share of all n**2 arcs on, a network counts as dense. On 34 acyclic dense networks of 150 to
#: 2,000 vertices (share one half) serial-dinic was always the fastest; serial-fifo took 2.5 and serial-hi-pr
#: 2.0 times as long in the median. On line 16384x4 (share 1/514) it is the slowest. Nothing in between was
#: measured.
DENSE = 1 / 8
#: Below this number of vertices the share says nothing.
SMALL = 100
#: Below this number of arcs all methods are fast: a look at features takes longer than it may save.
FEW_ARCS = 20_000
#: Below this number of arcs a vertex, a network is little more than a few paths. There serial-pseudoflow took
#: 1.5 (a long path) to 3.3 times (cheriyan) as long as serial-hi-pr, and multicore-paths up to 1.8 times.
ARCS_OF_PATHS = 1.5

#: Dinic's algorithm may do this much work for each arc and vertex before another method goes on. Between
#: two vertices of an RMAT graph of 1.9 million arcs it took 2.2 ms, serial-hi-pr 21. On a grid with
#: eight hubs it took 77 ms, serial-hi-pr 13.
DINIC_SHARE = 0.5
#: The same for dense networks. Of those above none took a quarter of it.
DINIC_SHARE_IF_DENSE = 10.0
#: The same for networks that are little more than a few paths: push-relabel fills them up to the sink and
#: takes the excess back. With the flow read, trees of 100,000 vertices took 0.5 to 0.7 of the time of
#: serial-hi-pr, paths of 1,000 arcs side by side 0.06, one long path 0.6. Roads lost 2 to 14 %, goldberg-bad
#: and cheriyan up to 13 %, with 1.0 up to 70 and 30 %.
DINIC_SHARE_IF_THIN = 0.25

#: From this many arcs on, serial-boykov-kolmogorov is faster on energies on a plane than incremental
#: breadth-first search. It took 0.70 to 0.77 of the time on grids of 1000x1000 pixels and on photographs of
#: that size, 0.95 on a surface of 800,000 triangles; below, 0.7 to 1.2. It has no bound on the number of
#: paths: on a spiral of 700x700 pixels it did not end in four times the time. There it did 150 units of work
#: for each arc and vertex, elsewhere at most 4.
ARCS_OF_LARGE_ENERGY = 1_000_000
KOLMOGOROV_SHARE = 8.0
#: From this many arcs on, multicore-paths is faster on few threads, too. With two threads of a Xeon it took
#: 0.4 to 0.7 of the time of the best push-relabel on grids of 1 to 4 million arcs, 0.6 on rmf-wide 96x24 and
#: 1.2 on rlg-wide 16384x64. On energies on a plane it is not: 1.14 of the time of serial-incremental-bfs on a
#: 1000x1000 grid with two threads, 0.68 with four.
MANY_ARCS = 1_000_000
#: From this many arcs and threads on, it is faster: with four threads of a Xeon it took 0.5 to 0.9 of the
#: time on networks with 150,000 arcs and more, with sixteen 0.2 to 0.7.
ARCS_FOR_MANY_THREADS, MANY_THREADS = 100_000, 4
#: The same with hubs. What Dinic's algorithm leaves of smaller networks takes one thread less time than 16
#: need to begin: 3.2 and 5.6 to 8.0 ms on an RMAT graph of 0.23 million arcs. With 0.48 million, 16 threads
#: take as long to solve and build faster: 24 and 36 ms in all.
ARCS_WITH_HUBS_FOR_MANY_THREADS = 400_000
#: From this many arcs on, a GPU is faster for a network on the host, transfers included. On an H200
#: max_flow took 33 ms on rmf-wide 64x16 (0.3 million arcs), where serial-hi-pr took 85 ms on that machine.
#: It took 0.25, 0.13 and 0.43 s on rmf-wide 136x68, rlg-wide 32768x64 and a 4000x4000 grid, whose first
#: stage alone takes 0.4 to 1.1 s on 16 threads.
ARCS_FOR_GPU = 300_000
#: The same for each CPU thread, where the process has not used the GPU yet. The first use takes 0.8 s, and
#: once 15 s to compile kernels; a solve of this many arcs a thread on the CPU takes about a second.
ARCS_A_THREAD_FOR_FIRST_USE = 4_000_000
#: From this many arcs on, an energy on a grid is solved as a grid, without stored arcs. Building and solving
#: took 0.5 to 0.9 of the time from 360,000 arcs on, 1.0 with 130,000, and 1.3 with 50,000, where finding out
#: takes a millisecond of three.
ARCS_OF_GRIDS = 150_000
#: Arcs a vertex of a grid, at most: those to 26 neighbours and two terminals. Denser networks need no look.
MOST_ARCS_A_PIXEL = 28


def worth_a_gpu(network: FlowNetwork, threads: int, in_use: bool) -> bool:
    """Whether a network on the host has enough arcs for a GPU that the process uses already, or not yet."""
    least = ARCS_FOR_GPU if in_use else max(ARCS_FOR_GPU, ARCS_A_THREAD_FOR_FIRST_USE * threads)
    return network.num_arcs >= least


def worth_a_contraction(network: FlowNetwork) -> bool:
    """Whether a network on the host may have cycles of arcs with more capacity than any minimum cut."""
    return (
        network.num_arcs >= FEW_ARCS
        and network.num_arcs >= ARCS_OF_PATHS * network.num_vertices
        and seldom_saturated(network.capacity)
        and may_have_cycles(network)
    )


def worth_a_search_for_a_grid(network: FlowNetwork, source: int, sink: int, *, clear: bool) -> bool:
    """Whether a network on the host would be solved fastest as a grid, if it is one.

    With `clear` only where the terminals decide so much that this is never slower.
    """
    size, arcs = network.num_vertices, network.num_arcs
    return (
        arcs >= ARCS_OF_GRIDS
        and ARCS_OF_PATHS * size <= arcs <= MOST_ARCS_A_PIXEL * size
        and is_energy(network, source, sink, clear=clear)
    )


def choose(network: FlowNetwork, device: str = "auto", threads: int = 1, gpu: Device | None = None) -> Plan:
    """Return the method for a network: see :class:`preflow.solving.protocol.Chooser`."""
    if device == "cuda":
        return Plan.of("cuda-push-relabel", "device='cuda': the fastest method on a GPU")
    if device == "auto" and isinstance(network, DeviceFlowNetwork):
        return Plan.of("cuda-push-relabel", "the network is on a GPU, and this is the fastest method on it")
    size, arcs = network.num_vertices, network.num_arcs
    if gpu is not None and _fits(network, gpu):
        return Plan.of(
            "cuda-push-relabel",
            f"{arcs:,} arcs are enough work for the GPU, transfers included",
        )
    if size >= SMALL and arcs >= DENSE * size**2:
        reason = "dense network: distances are short"
        return Plan.of("serial-dinic", reason, options={"hi_pr_after": DINIC_SHARE_IF_DENSE})
    if arcs < FEW_ARCS:
        return Plan.of("serial-hi-pr", "few arcs: this method is fast on all kinds of small networks")
    if arcs < ARCS_OF_PATHS * size:
        reason = "thin network: a few paths may be all of it"
        return Plan.of("serial-dinic", reason, options={"hi_pr_after": DINIC_SHARE_IF_THIN})
    network = network.on_host()
    hubs, on_a_plane = arcs >= ARCS_FOR_MANY_THREADS, may_be_on_a_plane(network)
    if hubs or on_a_plane:
        sample = sample_arcs(network, ARCS if hubs else ARCS_FOR_PLANES)
        hubs = hubs and has_hubs(sample)
        on_a_plane = on_a_plane and is_energy_on_a_plane(sample)
    few_threads = threads < MANY_THREADS
    if few_threads and not hubs and on_a_plane:
        return _on_a_plane(arcs)
    enough = ARCS_WITH_HUBS_FOR_MANY_THREADS if hubs else ARCS_FOR_MANY_THREADS
    if threads > 1 and arcs >= (MANY_ARCS if few_threads else enough):
        reason = f"{arcs:,} arcs are enough work for {threads} threads"
        return Plan.of("multicore-paths", reason, options={"dinic_share": DINIC_SHARE} if hubs else None)
    if hubs:
        reason = "some vertices have very many arcs, so distances are short"
        return Plan.of("serial-dinic", reason, options={"hi_pr_after": DINIC_SHARE})
    if on_a_plane:
        return _on_a_plane(arcs)
    if not seldom_saturated(network.capacity):
        return Plan.of("serial-pseudoflow", "the fastest on one thread where pushes saturate most arcs")
    if arcs >= MANY_ARCS:
        return Plan.of("multicore-paths", f"the fastest on one thread, too, with as many as {arcs:,} arcs")
    reason = "the fastest on one thread where most arcs are never saturated"
    return Plan.of("serial-hi-pr", reason)


def _on_a_plane(arcs: int) -> Plan:
    """Return the method on one thread for an energy on a plane with this many arcs."""
    reason = "an energy on a plane: short paths lead to a cut"
    if arcs < ARCS_OF_LARGE_ENERGY:
        return Plan.of("serial-incremental-bfs", reason)
    return Plan.of("serial-boykov-kolmogorov", reason, options={"incremental_after": KOLMOGOROV_SHARE})


def _fits(network: FlowNetwork, gpu: Device) -> bool:
    from ..graph.device.build import MOST_PAIRS, bytes_needed

    return (
        network.num_vertices < TOO_MANY_VERTICES
        and network.num_arcs <= MOST_PAIRS
        and bytes_needed(network) <= gpu.free_bytes
    )
