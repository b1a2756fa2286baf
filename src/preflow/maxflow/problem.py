"""The record of maximum flow and minimum cut: plain data, so that reading it loads no solver."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

from ..arrays import Array
from ..cuda import CudaMethod
from ..solving.method import Method, Problem
from ..solving.plan import Attempt

if TYPE_CHECKING:
    # Of which types the solvers are, by the memory that their arrays lie in.
    from ..cuda.runtime import Device
    from ..graph.device.residual import DeviceNetwork
    from ..graph.network import FlowNetwork
    from ..graph.residual import ResidualArrays
    from ..solving.protocol import Chooser, FlowSolver, GpuPolicy
    from . import policy

    HostSolver = FlowSolver[ResidualArrays, Array]
    DeviceSolver = FlowSolver[DeviceNetwork, Any]

    CHOOSE: Chooser[FlowNetwork, Device] = policy.choose
    WORTH_A_GPU: GpuPolicy[FlowNetwork] = policy.worth_a_gpu

CHERKASSKY_GOLDBERG = "Cherkassky and Goldberg 1997; Cihan 2010, table 2.1"
HI_PR = "Goldberg's HI_PR codes; Cihan 2010, section 5.2.2"
#: The HI_PR codes push over single arcs, their global relabels move no excess and are due later than ours.
AS_IN_TABLES = {"path_length": 1, "drain": False, "relabel_rule": "hi-pr"}
#: Options that these codes had here, with a start that the thesis's tables refute.
STARTS = {"initial_labels": "'start' takes its place", "initial_wave": "'start' takes its place"}
#: The hybrids of GPU and CPU start with labels 0, and cancel steep arcs before a search.
HYBRID_AS_PRINTED = {"cancel_steep_arcs": True, "initial_labels": "zero"}
WU_HE_HONG = "Wu, He and Hong 2011, chapter 5"

#: The budget of "multicore-merging". Energies took 3 to 21 operations an arc and vertex, networks of
#: DIMACS, on which push-relabel is faster, 82 to 242.
OPERATIONS_OF_MERGING = 40.0

#: The budget of "serial-ford-fulkerson", whose paths may be as many as the flow has units.
OPERATIONS_OF_LABELLING = 1000.0

METHODS = (
    Method(
        "serial-generic",
        "papers.baselines.serial_generic",
        "NoOptions",
        "the textbook method: any active vertex, no heuristics",
        "Goldberg and Tarjan 1988; Cihan 2010, figure 2.3",
        aliases=("generic",),
    ),
    Method(
        "serial-fifo",
        "maxflow.serial_fifo",
        "FifoOptions",
        "first in first out, global relabel every n relabels",
        CHERKASSKY_GOLDBERG,
        aliases=("F_PRF",),
    ),
    Method(
        "serial-fifo-gap",
        "maxflow.serial_fifo",
        "FifoOptions",
        "serial-fifo with gap relabeling",
        CHERKASSKY_GOLDBERG,
        preset={"gap": True},
        aliases=("Q_PRF",),
    ),
    Method(
        "multicore-fifo",
        "papers.cihan.multicore_fifo",
        "MulticoreFifoOptions",
        "serial-fifo with a queue for each thread, donated work, a parallel global relabel",
        "Cihan 2010, chapter 4",
        parallel=True,
        variants={"Cihan": {"search": "jump-queues", "donation": "oldest"}},
    ),
    Method(
        "multicore-anderson-setubal",
        "papers.baselines.multicore_anderson_setubal",
        "AndersonSetubalOptions",
        "a shared queue, vertex locks, a global relabel by all threads while they push",
        "Anderson and Setubal 1992; Cihan 2010, chapter 3",
        parallel=True,
    ),
    Method(
        "serial-highest-label",
        "maxflow.serial_highest_label",
        "HighestLabelOptions",
        "highest label first, global relabel every n relabels",
        CHERKASSKY_GOLDBERG,
        preset={"gap": False, "relabel_rule": "relabels", "drain": False, "path_length": 1},
        aliases=("M_PRF",),
    ),
    Method(
        "serial-highest-label-gap",
        "maxflow.serial_highest_label",
        "HighestLabelOptions",
        "serial-highest-label with gap relabeling",
        CHERKASSKY_GOLDBERG,
        preset={"relabel_rule": "relabels", "drain": False, "path_length": 1},
        aliases=("H_PRF",),
    ),
    Method(
        "multicore-highest-label-gap",
        "papers.cihan.multicore_highest_label_gap",
        "MulticoreHighestLabelOptions",
        "every thread takes the highest of its vertices, gaps by atomic counts, a parallel global relabel",
        "Bader and Sachdeva 2005; Cihan 2010, chapter 6",
        parallel=True,
    ),
    Method(
        "serial-hi-pr",
        "maxflow.serial_highest_label",
        "HighestLabelOptions",
        "highest label, gap, global relabel every 6n+m work, pushes along paths",
        HI_PR,
        variants={"HI_PR": AS_IN_TABLES},
        gone=STARTS,
    ),
    Method(
        "serial-hi-pro",
        "maxflow.serial_highest_label",
        "HighestLabelOptions",
        "serial-hi-pr that starts with a discharge of the source",
        HI_PR,
        preset={"start": "source"},
        variants={"HI_PRO": AS_IN_TABLES},
        gone=STARTS,
    ),
    Method(
        "serial-hi-prw",
        "maxflow.serial_highest_label",
        "HighestLabelOptions",
        "serial-hi-pr that starts with one sweep of discharges, from the highest level down",
        HI_PR,
        preset={"start": "wave"},
        variants={"HI_PRW": AS_IN_TABLES},
        gone=STARTS,
    ),
    Method(
        "serial-pseudoflow",
        "maxflow.serial_pseudoflow",
        "PseudoflowOptions",
        "trees with excess are hung onto others and send it to their roots; labels, gaps",
        "Hochbaum 2008; Chandran and Hochbaum 2009",
        aliases=("HPF",),
    ),
    Method(
        "serial-dinic",
        "maxflow.serial_dinic",
        "DinicOptions",
        "blocking flows in layered networks, which a search from both ends finds",
        "Dinic 1970",
        then=(Attempt("serial-hi-pr"),),
        gone={"hi_pr_after": "'budget' takes its place"},
    ),
    Method(
        "serial-incremental-bfs",
        "maxflow.serial_incremental_bfs",
        "NoOptions",
        "augmenting paths between two search forests that are repaired, with labels",
        "Goldberg, Hed, Kaplan, Tarjan and Werneck 2011",
        aliases=("IBFS",),
    ),
    Method(
        "serial-boykov-kolmogorov",
        "maxflow.serial_boykov_kolmogorov",
        "NoOptions",
        "augmenting paths between two search trees that are repaired, of any length",
        "Boykov and Kolmogorov 2004",
        aliases=("BK",),
        then=(Attempt("serial-incremental-bfs"),),
        gone={"incremental_after": "'budget' takes its place"},
    ),
    Method(
        "serial-ford-fulkerson",
        "papers.baselines.serial_ford_fulkerson",
        "NoOptions",
        "augmenting paths of any length by labelling",
        "Ford and Fulkerson 1962",
        then=(Attempt("serial-hi-pr"),),
        budget=OPERATIONS_OF_LABELLING,
    ),
    Method(
        "serial-karzanov",
        "papers.baselines.serial_karzanov",
        "NoOptions",
        "blocking flows by preflows that go back where they are stuck",
        "Karzanov 1974; Tarjan 1984",
    ),
    Method(
        "serial-edmonds-karp",
        "papers.baselines.serial_augmenting_paths",
        "AugmentingPathsOptions",
        "shortest augmenting paths, one breadth-first search each",
        "Edmonds and Karp 1972",
    ),
    Method(
        "serial-capacity-scaling",
        "papers.baselines.serial_augmenting_paths",
        "AugmentingPathsOptions",
        "serial-edmonds-karp on arcs of large capacity first",
        "Edmonds and Karp 1972",
        preset={"scaling": True},
    ),
    Method(
        "multicore-synchronous",
        "papers.baselines.multicore_synchronous",
        "SynchronousOptions",
        "rounds against frozen labels; one thread alone while few vertices are active",
        "Goldberg and Tarjan 1988; Baumstark, Blelloch and Shun 2015",
        parallel=True,
        variants={"pulses": {"pulses": True}},
    ),
    Method(
        "multicore-lockfree",
        "papers.wu_he_hong.multicore_lockfree",
        "LockFreeOptions",
        "push to the lowest neighbour without locks; periodic global relabels",
        "Hong 2008; Łupińska, section 4.4",
        parallel=True,
        variants={"Hong": {"relabel_period": None, "initial_labels": "zero"}},
    ),
    Method(
        "multicore-lockfree-arg",
        "papers.wu_he_hong.multicore_lockfree",
        "LockFreeOptions",
        "multicore-lockfree with global relabels while others push",
        "Hong and He 2011; Łupińska, section 4.5; Wu, He and Hong 2011, section 5.4",
        parallel=True,
        preset={"concurrent_relabel": True},
        aliases=("ARG", "cpu-async"),
    ),
    Method(
        "multicore-paths",
        "maxflow.multicore_paths",
        "PathsOptions",
        "highest label along paths, each thread on its own vertices, also one on all; serial-hi-pr if narrow",
        "preflow; Goldberg 2008; Cihan 2010, section 4.7",
        parallel=True,
        then=(Attempt("serial-pseudoflow", budget=inf), Attempt("serial-hi-pr")),
        budget=inf,
        gone={
            "narrow": "budget=None lets it solve networks with narrow levels, too",
            "dinic_share": "method='auto' begins with Dinic's algorithm where distances are short",
        },
    ),
    Method(
        "multicore-merging",
        "maxflow.multicore_merging",
        "MergingOptions",
        "incremental searches of blocks, then of larger blocks across these; then blocks are merged",
        "Liu and Sun 2010; preflow",
        parallel=True,
        then=(Attempt("serial-hi-pr"),),
        budget=OPERATIONS_OF_MERGING,
    ),
    CudaMethod(
        "cuda-push-relabel",
        "maxflow.cuda_push_relabel",
        "PushRelabelOptions",
        "one persistent kernel: warps discharge without barriers, searches go level by level",
        f"preflow; {WU_HE_HONG}",
        old_names=("cuda-pushrelabel",),
    ),
    CudaMethod(
        "cuda-coloring",
        "papers.wu_he_hong.cuda_coloring",
        "ColoringOptions",
        "arcs of one colour push at once without atomics, a global relabel on the CPU; low degrees only",
        f"{WU_HE_HONG}, algorithm 3; Xiao and Feng 2010",
        copies=True,
        variants={"gpu-color": {"barrier": "launch", "initial_labels": "zero"}},
    ),
    CudaMethod(
        "cuda-lockfree",
        "papers.wu_he_hong.cuda_lockfree",
        "CudaLockFreeOptions",
        "one thread a vertex pushes to the lowest neighbour; global relabels on the GPU, also concurrent",
        "Hong and He 2011; Łupińska, section 4.5",
        copies=True,
    ),
    CudaMethod(
        "cuda-locks",
        "papers.wu_he_hong.cuda_locks",
        "CudaLocksOptions",
        "one thread a vertex pushes with the locks of both ends; global relabels on the GPU",
        "Wu, He and Hong 2011, section 5.1; Anderson and Setubal 1992",
        copies=True,
    ),
    CudaMethod(
        "cuda-hybrid",
        "papers.wu_he_hong.cuda_hybrid",
        "HybridOptions",
        "one thread a vertex pushes to the lowest neighbour on the GPU; the CPU relabels globally",
        "Wu, He and Hong 2011, algorithms 1, 2 and 4; Łupińska, algorithm 4.8",
        copies=True,
        variants={
            "gpu-async": {**HYBRID_AS_PRINTED, "gap": False},
            "CPU-GPU-Hybrid": {**HYBRID_AS_PRINTED, "gap": False},
            "Lupinska": HYBRID_AS_PRINTED,
        },
    ),
)

PROBLEM = Problem(
    folder="maxflow",
    functions={"max_flow": "maxflow.api", "min_cut": "cuts"},
    results=("maxflow.result.MaxFlowResult", "maxflow.result.MinCutResult"),
    containers=("graph.network.FlowNetwork", "graph.network.MaxFlowProblem"),
    methods=METHODS,
    method_type="FlowMethodName",
    page="max_flow",
    compile_seconds=20,
    families="generators.registry.FAMILIES",
    files=(".max.gz", ".max", ".npz"),
    uses=("gridcut",),
)
