"""All solvers with the types of their protocols: mypy compares the signatures.

Made from the records of problems by ``python -m tests.test_records``; a test compares them.
"""

from __future__ import annotations

import preflow.assignment.cuda_batch
import preflow.assignment.cuda_lockfree
import preflow.assignment.cuda_shortest_path
import preflow.assignment.multicore_auction
import preflow.assignment.multicore_shortest_path
import preflow.assignment.serial_cost_scaling
import preflow.assignment.serial_shortest_path
import preflow.bipartite.cuda_multi_source_bfs
import preflow.bipartite.initial.cheap
import preflow.bipartite.initial.karp_sipser
import preflow.bipartite.initial.min_degree
import preflow.bipartite.initial.proposals
import preflow.bipartite.initial.sinkhorn_knopp
import preflow.bipartite.multicore_multi_source_bfs
import preflow.bipartite.multicore_push_relabel
import preflow.bipartite.serial_hopcroft_karp
import preflow.bipartite.serial_push_relabel
import preflow.general_matching.cuda_locally_dominant
import preflow.general_matching.initial.greedy
import preflow.general_matching.initial.locally_dominant
import preflow.general_matching.initial.two_thirds
import preflow.general_matching.multicore_blossom
import preflow.general_matching.serial_blossom
import preflow.general_matching.serial_gabow
import preflow.general_matching.weighted_blossom
import preflow.gridcut.cuda_lockfree
import preflow.gridcut.cuda_tiled
import preflow.gridcut.multicore_lockfree
import preflow.gridcut.multicore_merging
import preflow.gridcut.serial_incremental_bfs
import preflow.maxflow.cuda_push_relabel
import preflow.maxflow.multicore_merging
import preflow.maxflow.multicore_paths
import preflow.maxflow.serial_boykov_kolmogorov
import preflow.maxflow.serial_dinic
import preflow.maxflow.serial_fifo
import preflow.maxflow.serial_highest_label
import preflow.maxflow.serial_incremental_bfs
import preflow.maxflow.serial_pseudoflow
import preflow.mincost.cuda_cost_scaling
import preflow.mincost.multicore_cost_scaling
import preflow.mincost.serial_capacity_scaling
import preflow.mincost.serial_cost_scaling
import preflow.mincost.serial_network_simplex
import preflow.mincost.serial_shortest_path
import preflow.papers.baselines.cuda_blocking
import preflow.papers.baselines.multicore_anderson_setubal
import preflow.papers.baselines.multicore_disjoint_bfs
import preflow.papers.baselines.multicore_pothen_fan
import preflow.papers.baselines.multicore_synchronous
import preflow.papers.baselines.serial_augmenting_paths
import preflow.papers.baselines.serial_boykov_kolmogorov
import preflow.papers.baselines.serial_ford_fulkerson
import preflow.papers.baselines.serial_generic
import preflow.papers.baselines.serial_hkdw
import preflow.papers.baselines.serial_karzanov
import preflow.papers.baselines.serial_pothen_fan
import preflow.papers.cihan.multicore_fifo
import preflow.papers.cihan.multicore_highest_label_gap
import preflow.papers.deveci.cuda_hopcroft_karp
import preflow.papers.deveci.cuda_push_relabel
import preflow.papers.lupinska.cuda_hybrid
import preflow.papers.lupinska.multicore_lockfree
import preflow.papers.wu_he_hong.cuda_coloring
import preflow.papers.wu_he_hong.cuda_hybrid
import preflow.papers.wu_he_hong.cuda_lockfree
import preflow.papers.wu_he_hong.cuda_locks
import preflow.papers.wu_he_hong.multicore_lockfree
import preflow.transportation.cuda_transport
import preflow.transportation.multicore_network_simplex
import preflow.transportation.serial_network_simplex
from preflow.assignment import problem as assignment
from preflow.bipartite import problem as bipartite
from preflow.general_matching import problem as general_matching
from preflow.gridcut import problem as gridcut
from preflow.maxflow import problem as maxflow
from preflow.mincost import problem as mincost
from preflow.transportation import problem as transportation

MAXFLOW_HOSTSOLVER_SOLVE: list[maxflow.HostSolver] = [
    preflow.papers.baselines.serial_generic.solve,
    preflow.maxflow.serial_fifo.solve,
    preflow.papers.cihan.multicore_fifo.solve,
    preflow.papers.baselines.multicore_anderson_setubal.solve,
    preflow.maxflow.serial_highest_label.solve,
    preflow.papers.cihan.multicore_highest_label_gap.solve,
    preflow.maxflow.serial_pseudoflow.solve,
    preflow.maxflow.serial_dinic.solve,
    preflow.maxflow.serial_incremental_bfs.solve,
    preflow.maxflow.serial_boykov_kolmogorov.solve,
    preflow.papers.baselines.serial_ford_fulkerson.solve,
    preflow.papers.baselines.serial_karzanov.solve,
    preflow.papers.baselines.serial_augmenting_paths.solve,
    preflow.papers.baselines.multicore_synchronous.solve,
    preflow.papers.wu_he_hong.multicore_lockfree.solve,
    preflow.maxflow.multicore_paths.solve,
    preflow.maxflow.multicore_merging.solve,
    preflow.papers.wu_he_hong.cuda_coloring.solve,
    preflow.papers.wu_he_hong.cuda_lockfree.solve,
    preflow.papers.wu_he_hong.cuda_locks.solve,
    preflow.papers.wu_he_hong.cuda_hybrid.solve,
]
MAXFLOW_DEVICESOLVER_SOLVE: list[maxflow.DeviceSolver] = [
    preflow.maxflow.cuda_push_relabel.solve,
]
GRIDCUT_HOSTSOLVER_SOLVE: list[gridcut.HostSolver] = [
    preflow.gridcut.serial_incremental_bfs.solve,
    preflow.papers.baselines.serial_boykov_kolmogorov.solve,
    preflow.gridcut.multicore_merging.solve,
    preflow.gridcut.multicore_lockfree.solve,
]
GRIDCUT_HOSTSOLVER_SOLVE_STREAMED: list[gridcut.HostSolver] = [
    preflow.gridcut.cuda_tiled.solve_streamed,
]
GRIDCUT_DEVICESOLVER_SOLVE: list[gridcut.DeviceSolver] = [
    preflow.gridcut.cuda_lockfree.solve,
    preflow.papers.lupinska.cuda_hybrid.solve,
    preflow.papers.baselines.cuda_blocking.solve,
    preflow.gridcut.cuda_tiled.solve,
]
BIPARTITE_HOSTSOLVER_SOLVE: list[bipartite.HostSolver] = [
    preflow.bipartite.serial_push_relabel.solve,
    preflow.bipartite.serial_hopcroft_karp.solve,
    preflow.papers.baselines.serial_hkdw.solve,
    preflow.papers.baselines.serial_pothen_fan.solve,
    preflow.papers.baselines.multicore_pothen_fan.solve,
    preflow.papers.baselines.multicore_disjoint_bfs.solve,
    preflow.bipartite.multicore_push_relabel.solve,
    preflow.bipartite.multicore_multi_source_bfs.solve,
]
BIPARTITE_DEVICESOLVER_SOLVE: list[bipartite.DeviceSolver] = [
    preflow.papers.deveci.cuda_push_relabel.solve,
    preflow.papers.deveci.cuda_hopcroft_karp.solve,
    preflow.bipartite.cuda_multi_source_bfs.solve,
]
GENERAL_MATCHING_HOSTSOLVER_SOLVE: list[general_matching.HostSolver] = [
    preflow.general_matching.serial_blossom.solve,
    preflow.general_matching.serial_gabow.solve,
    preflow.general_matching.multicore_blossom.solve,
    preflow.general_matching.weighted_blossom.solve,
    preflow.general_matching.initial.greedy.solve,
    preflow.general_matching.initial.locally_dominant.solve,
    preflow.general_matching.cuda_locally_dominant.solve,
    preflow.general_matching.initial.two_thirds.solve,
]
ASSIGNMENT_HOSTSOLVER_SOLVE: list[assignment.HostSolver] = [
    preflow.assignment.serial_cost_scaling.solve,
    preflow.assignment.multicore_shortest_path.solve,
    preflow.assignment.multicore_auction.solve,
    preflow.papers.lupinska.multicore_lockfree.solve,
    preflow.assignment.cuda_lockfree.solve,
]
ASSIGNMENT_HOSTPOINTSOLVER_SOLVE: list[assignment.HostPointSolver] = [
    preflow.assignment.serial_shortest_path.solve,
]
ASSIGNMENT_DEVICESOLVER_SOLVE: list[assignment.DeviceSolver] = [
    preflow.assignment.cuda_batch.solve,
]
ASSIGNMENT_DEVICEPOINTSOLVER_SOLVE: list[assignment.DevicePointSolver] = [
    preflow.assignment.cuda_shortest_path.solve,
]
MINCOST_HOSTSOLVER_SOLVE: list[mincost.HostSolver] = [
    preflow.mincost.serial_shortest_path.solve,
    preflow.mincost.serial_network_simplex.solve,
    preflow.mincost.serial_capacity_scaling.solve,
    preflow.mincost.serial_cost_scaling.solve,
    preflow.mincost.multicore_cost_scaling.solve,
    preflow.mincost.cuda_cost_scaling.solve,
]
TRANSPORTATION_HOSTSOLVER_SOLVE: list[transportation.HostSolver] = [
    preflow.transportation.serial_network_simplex.solve,
    preflow.transportation.multicore_network_simplex.solve,
]
TRANSPORTATION_DEVICESOLVER_SOLVE: list[transportation.DeviceSolver] = [
    preflow.transportation.cuda_transport.solve,
]
BIPARTITE_HOSTHEURISTIC_START: list[bipartite.HostHeuristic] = [
    preflow.bipartite.initial.cheap.start,
    preflow.bipartite.initial.min_degree.start,
    preflow.bipartite.initial.karp_sipser.start,
    preflow.bipartite.initial.sinkhorn_knopp.start,
]
BIPARTITE_DEVICEHEURISTIC_START: list[bipartite.DeviceHeuristic] = [
    preflow.bipartite.initial.proposals.start,
]
