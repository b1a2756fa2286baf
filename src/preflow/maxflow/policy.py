"""The rules by which method="auto" plans for a network: the first row that holds counts."""

from __future__ import annotations

from functools import cached_property
from math import inf

from ..cuda.runtime import Device
from ..graph.network import TOO_MANY_VERTICES, DeviceFlowNetwork, FlowNetwork
from ..solving.plan import Attempt, Plan, Rule, decide
from .features import (
    ARCS,
    ARCS_FOR_PLANES,
    ArcSample,
    arcs_to_expect_terminals,
    are_mostly_unbounded,
    has_equal_capacities,
    has_hubs,
    has_terminals_everywhere,
    have_one_value,
    is_energy,
    is_energy_on_a_plane,
    may_be_on_a_plane,
    may_have_cycles,
    sample_arcs,
    seldom_saturated,
)

#: From this share of all n**2 arcs on, a network counts as dense. On 34 acyclic networks with half of them
#: serial-hi-pr took 2.0 times as long as serial-dinic, on line 16384x4 (1/514) less. Nothing in between was
#: measured.
DENSE = 1 / 8
#: Below this number of vertices the share says nothing.
SMALL = 100
#: Below this number of arcs all methods are fast: a look at features takes longer than it may save.
FEW_ARCS = 20_000
#: Below this number of arcs a vertex, a network is little more than a few paths. There serial-pseudoflow took
#: 1.5 (a long path) to 3.3 times (cheriyan) as long as serial-hi-pr, and multicore-paths up to 1.8 times.
ARCS_OF_PATHS = 1.5

#: The budget of Dinic's algorithm where distances are short: in dense networks, in graphs with hubs or of
#: unit capacities, and in energies with many neighbours. Between two vertices of graphs of power laws it took
#: 0.01 to 1.0, on unit bipartite graphs 1.7, on deconvolution of 11 x 11 pixels 3.9.
DINIC_SHARE = 6.0
#: The same for networks that are little more than a few paths: push-relabel fills them up to the sink and
#: takes the excess back. Trees and paths took 0.06 to 0.7 of the time of serial-hi-pr. Roads lost 2 to 14 %,
#: goldberg-bad and cheriyan up to 13 %, with 1.0 up to 70 and 30 %.
DINIC_SHARE_IF_THIN = 0.25
#: Then push-relabel: between two ends of roads it took 1.0 operations an arc and vertex, on goldberg-bad 1.3.
#: Between many ends it took 15 to 40, and a search 2 to 5 for 1,000 ends or more of 100,000 places. What a
#: search of 5 had left of fewer ends took first-in-first-out push-relabel 2 to 16, which is slow on other
#: networks: 1,700 times as slow as serial-hi-pr on goldberg-bad. All together took 0.4 to 1.1 of the time of
#: serial-hi-pr on roads with 20 to 5,000 ends, 0.3 to 0.8 on trees with more arcs; 1.2 on a grid of long
#: roads with 30 ends, up to 1.4 on cheriyan.
PUSHES_SHARE_IF_THIN, SEARCH_SHARE_IF_THIN, FIFO_SHARE_IF_THIN = 1.5, 5.0, 20.0

#: From this many arcs a vertex on, distances in energies are short. On three deconvolutions with 76 to 311
#: neighbours Dinic's algorithm, and serial-pseudoflow for what it left, took 0.15, 0.4 and 0.7 of the time of
#: serial-pseudoflow alone. On pits with 30 and 76 precedences a block both took 3 to 4 times as long as a
#: search, which closures get.
ARCS_OF_NEIGHBOURS = 30
#: Budgets above what networks took that suit the method: at most 8 and 18.
INCREMENTAL_SHARE, PSEUDOFLOW_SHARE = 10.0, 32.0

#: From this many arcs on, serial-boykov-kolmogorov is faster on energies on a plane than incremental
#: breadth-first search: 0.70 to 0.95 of the time; below, 0.7 to 1.2. It has no bound on the number of paths:
#: on a spiral of 700x700 pixels it did 150 units of work for each arc and vertex, elsewhere at most 4.
ARCS_OF_LARGE_ENERGY = 1_000_000
KOLMOGOROV_SHARE = 8.0
#: From this many arcs on, multicore-paths is faster on few threads, too: 0.4 to 0.7 of the time of the best
#: push-relabel with two threads of a Xeon, 1.2 on rlg-wide 16384x64. On energies on a plane it is not: 1.14
#: of the time of serial-incremental-bfs with two threads, 0.68 with four.
MANY_ARCS = 1_000_000
#: From this many arcs and threads on, it is faster: with four threads of a Xeon it took 0.5 to 0.9 of the
#: time on networks with 150,000 arcs and more, with sixteen 0.2 to 0.7.
ARCS_FOR_MANY_THREADS, MANY_THREADS = 100_000, 4
#: The same with hubs. What Dinic's algorithm leaves of smaller networks takes one thread less time than 16
#: need to begin: 3.2 and 5.6 to 8.0 ms on an RMAT graph of 0.23 million arcs. With 0.48 million, 16 threads
#: take as long to solve and build faster: 24 and 36 ms in all.
ARCS_WITH_HUBS_FOR_MANY_THREADS = 400_000
#: From this many arcs on, a GPU is faster for a network on the host, transfers included: on an H200 33 ms on
#: rmf-wide 64x16 (0.3 million arcs), where serial-hi-pr took 85; 0.13 to 0.43 s on three networks whose first
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


def worth_moving_terminals(network: FlowNetwork) -> bool:
    """Whether a network has enough arcs for its terminals to matter."""
    return network.num_arcs >= FEW_ARCS


def worth_a_contraction(network: FlowNetwork) -> bool:
    """Whether a network on the host may have cycles of arcs with more capacity than any minimum cut.

    Closures have many such arcs, but hardly a cycle.
    """
    return (
        network.num_arcs >= FEW_ARCS
        and network.num_arcs >= ARCS_OF_PATHS * network.num_vertices
        and seldom_saturated(network.capacity)
        and may_have_cycles(network)
        and not Features(network, "cpu", 1, None).one_way
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


class Features:
    """The features of a network that the rules ask for. Costly ones are found on demand, and once."""

    def __init__(self, network: FlowNetwork, device: str, threads: int, gpu: Device | None) -> None:
        self.network, self.device, self.threads, self.gpu = network, device, threads, gpu
        self.size, self.arcs = network.num_vertices, network.num_arcs

    @property
    def fits_gpu(self) -> bool:
        """Whether there is a GPU that may solve it, and has the memory."""
        return self.gpu is not None and _fits(self.network, self.gpu)

    @cached_property
    def on_host(self) -> FlowNetwork:
        """The network in host memory."""
        return self.network.on_host()

    @cached_property
    def sample(self) -> ArcSample:
        """Some arcs."""
        least = ARCS if self.arcs >= ARCS_FOR_MANY_THREADS else ARCS_FOR_PLANES
        return sample_arcs(self.on_host, max(least, arcs_to_expect_terminals(self.on_host)))

    @cached_property
    def hubs(self) -> bool:
        """Whether some vertices have very many arcs."""
        return self.arcs >= ARCS_FOR_MANY_THREADS and has_hubs(self.sample)

    @cached_property
    def on_a_plane(self) -> bool:
        """Whether it is an energy of an image or a mesh."""
        return may_be_on_a_plane(self.on_host) and is_energy_on_a_plane(self.sample)

    @cached_property
    def one_way(self) -> bool:
        """Whether most vertices have an arc at a terminal, and other arcs lead one way: closures, moves."""
        return has_terminals_everywhere(self.sample) and not has_equal_capacities(self.sample)

    @cached_property
    def many_neighbours(self) -> bool:
        """Whether most vertices have an arc at a terminal, and very many others that a cut may contain."""
        return (
            self.arcs >= ARCS_OF_NEIGHBOURS * self.size
            and has_terminals_everywhere(self.sample)
            and not are_mostly_unbounded(self.on_host.capacity)
        )

    @cached_property
    def unit(self) -> bool:
        """Whether all capacities are the same."""
        return have_one_value(self.on_host.capacity)

    @cached_property
    def seldom_saturated(self) -> bool:
        """Whether most arcs with a finite capacity have so much that no flow saturates them."""
        return seldom_saturated(self.on_host.capacity, infinite=False)

    @property
    def few_threads(self) -> bool:
        """Whether only very large networks are worth more than one."""
        return self.threads < MANY_THREADS

    @property
    def work_for_threads(self) -> bool:
        """Whether there are enough arcs for several threads."""
        enough = ARCS_WITH_HUBS_FOR_MANY_THREADS if self.hubs else ARCS_FOR_MANY_THREADS
        return self.threads > 1 and self.arcs >= (MANY_ARCS if self.few_threads else enough)

    @property
    def one_thread(self) -> bool:
        """Whether one thread is faster on an energy than all are on any network."""
        return not self.hubs and (self.few_threads or not self.work_for_threads)


PUSH_RELABEL = Attempt("serial-hi-pr")
ON_GPU = (Attempt("cuda-push-relabel"),)
INCREMENTAL = Attempt("serial-incremental-bfs")
PSEUDOFLOW = Attempt("serial-pseudoflow", budget=PSEUDOFLOW_SHARE)
DINIC_IF_THIN = Attempt("serial-dinic", budget=DINIC_SHARE_IF_THIN)
#: On one thread. Each method leaves its flow to the next one.
IF_THIN = (
    DINIC_IF_THIN,
    PUSH_RELABEL._replace(budget=PUSHES_SHARE_IF_THIN),
    INCREMENTAL._replace(budget=SEARCH_SHARE_IF_THIN),
    Attempt("serial-fifo-gap", budget=FIFO_SHARE_IF_THIN),
    PUSH_RELABEL,
)
DINIC = Attempt("serial-dinic", budget=DINIC_SHARE)
#: The first one gives up where few vertices are active at a time, the second one where trees would be deep.
PATHS = Attempt("multicore-paths", budget=inf), Attempt("serial-pseudoflow", budget=inf)
#: On 16 threads of a Xeon a surface of columns took 157 ms, multicore-paths 267, an expansion move 34 and 55.
#: Energies need 3 to 21 operations an arc and vertex, long networks 82 to 242.
MERGING = Attempt("multicore-merging", budget=40.0)
FOR_THREADS = "{it.arcs:,} arcs are enough work for {it.threads} threads"

RULES: tuple[Rule[Features], ...] = (
    Rule(lambda it: it.device == "cuda", ON_GPU, "device='cuda': the fastest method on a GPU", "flow-gpu"),
    Rule(
        lambda it: it.device == "auto" and isinstance(it.network, DeviceFlowNetwork),
        ON_GPU,
        "the network is on a GPU, and this is the fastest method on it",
        "flow-gpu",
    ),
    Rule(
        lambda it: it.fits_gpu,
        ON_GPU,
        "{it.arcs:,} arcs are enough work for the GPU, transfers included",
        "flow-gpu",
    ),
    Rule(
        lambda it: it.size >= SMALL and it.arcs >= DENSE * it.size**2,
        (DINIC, PUSH_RELABEL),
        "dense network: distances are short",
        families="ac-dense",
    ),
    Rule(
        lambda it: it.arcs < FEW_ARCS,
        (PUSH_RELABEL,),
        "few arcs: this method is fast on all kinds of small networks",
    ),
    Rule(
        lambda it: it.arcs < ARCS_OF_PATHS * it.size and it.work_for_threads,
        (DINIC_IF_THIN, PATHS[0], PUSH_RELABEL),
        FOR_THREADS,
    ),
    Rule(
        lambda it: it.arcs < ARCS_OF_PATHS * it.size,
        IF_THIN,
        "thin network: a few paths may be all of it, or short ones between many ends",
        families="roads",
    ),
    Rule(
        lambda it: it.one_thread and it.on_a_plane and it.arcs < ARCS_OF_LARGE_ENERGY,
        (INCREMENTAL,),
        "an energy on a plane: short paths lead to a cut",
        "flow",
    ),
    Rule(
        lambda it: it.one_thread and it.on_a_plane,
        (Attempt("serial-boykov-kolmogorov", budget=KOLMOGOROV_SHARE), INCREMENTAL),
        "an energy on a plane: short paths lead to a cut",
        "flow",
    ),
    Rule(
        lambda it: it.one_thread and (it.unit or it.many_neighbours),
        (DINIC, PSEUDOFLOW, PUSH_RELABEL),
        "unit capacities, or an energy with many neighbours: distances are short",
    ),
    Rule(
        lambda it: it.one_thread and it.one_way,
        (INCREMENTAL._replace(budget=INCREMENTAL_SHARE), PSEUDOFLOW, PUSH_RELABEL),
        "an energy with arcs one way: few paths saturate an arc between vertices",
    ),
    Rule(
        lambda it: (
            it.work_for_threads
            and not (it.hubs or it.unit or it.many_neighbours)  # with which distances are short
            and it.one_way
        ),
        (MERGING, *PATHS, PUSH_RELABEL),
        "an energy with arcs one way, {it.threads} threads: searches of blocks, then of merged ones",
        families="column-surface, expansion-move",
    ),
    Rule(lambda it: it.work_for_threads and it.hubs, (DINIC, *PATHS, PUSH_RELABEL), FOR_THREADS),
    Rule(lambda it: it.work_for_threads, (*PATHS, PUSH_RELABEL), FOR_THREADS, "flow-threads"),
    Rule(
        lambda it: it.hubs,
        (DINIC, PSEUDOFLOW, PUSH_RELABEL),
        "some vertices have very many arcs, so distances are short",
        families="rmat-flow",
    ),
    Rule(
        lambda it: not it.seldom_saturated,
        (PSEUDOFLOW, PUSH_RELABEL),
        "the fastest on one thread where pushes saturate most arcs",
        "flow",
    ),
    Rule(
        lambda it: it.arcs >= MANY_ARCS,
        (*PATHS, PUSH_RELABEL),
        "the fastest on one thread, too, with as many as {it.arcs:,} arcs",
        "flow-threads",
        families="rmf-wide, rmf-long",
    ),
    Rule(
        lambda it: True,
        (PUSH_RELABEL,),
        "the fastest on one thread where most arcs are never saturated",
        "flow",
        families="rmf-wide, rmf-long",
    ),
)


def choose(network: FlowNetwork, device: str = "auto", threads: int = 1, gpu: Device | None = None) -> Plan:
    """Return the plan for a network: see :class:`preflow.solving.protocol.Chooser`."""
    return decide(RULES, Features(network, device, threads, gpu))


def _fits(network: FlowNetwork, gpu: Device) -> bool:
    from ..graph.device.build import MOST_PAIRS, bytes_needed

    return (
        network.num_vertices < TOO_MANY_VERTICES
        and network.num_arcs <= MOST_PAIRS
        and bytes_needed(network) <= gpu.free_bytes
    )
