"""The names of methods, devices and problems as types, so that editors complete them.

Made from the records of problems by ``python -m tests.test_records``; a test compares them.
Functions also take any other str as a method: it may come from outside of the package, and papers
have other names for some.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

#: Where a solve runs.
DeviceName: TypeAlias = Literal[
    "auto",
    "cpu",
    "cuda",
]
#: The functions whose methods the registry has.
ProblemName: TypeAlias = Literal[
    "max_flow",
    "min_cut",
    "grid_cut",
    "bipartite_matching",
    "matching",
    "linear_assignment",
    "min_cost_flow",
    "transport",
]
#: The methods of :func:`preflow.max_flow`.
FlowMethodName: TypeAlias = Literal[
    "auto",
    "serial-generic",
    "serial-fifo",
    "serial-fifo-gap",
    "multicore-fifo",
    "multicore-anderson-setubal",
    "serial-highest-label",
    "serial-highest-label-gap",
    "multicore-highest-label-gap",
    "serial-hi-pr",
    "serial-hi-pro",
    "serial-hi-prw",
    "serial-pseudoflow",
    "serial-dinic",
    "serial-incremental-bfs",
    "serial-boykov-kolmogorov",
    "serial-ford-fulkerson",
    "serial-karzanov",
    "serial-edmonds-karp",
    "serial-capacity-scaling",
    "multicore-synchronous",
    "multicore-lockfree",
    "multicore-lockfree-arg",
    "multicore-paths",
    "multicore-merging",
    "cuda-push-relabel",
    "cuda-coloring",
    "cuda-lockfree",
    "cuda-locks",
    "cuda-hybrid",
]
#: The methods of :func:`preflow.grid_cut`.
GridMethodName: TypeAlias = Literal[
    "auto",
    "serial-incremental-bfs",
    "serial-boykov-kolmogorov",
    "multicore-merging",
    "multicore-lockfree",
    "cuda-lockfree",
    "cuda-hybrid",
    "cuda-blocking",
    "cuda-tiled",
]
#: The methods of :func:`preflow.bipartite_matching`.
BipartiteMethodName: TypeAlias = Literal[
    "auto",
    "serial-push-relabel",
    "serial-hopcroft-karp",
    "serial-hkdw",
    "serial-hybrid",
    "serial-pothen-fan",
    "multicore-pothen-fan",
    "multicore-disjoint-bfs",
    "multicore-push-relabel",
    "multicore-multi-source-bfs",
    "cuda-push-relabel",
    "cuda-hopcroft-karp",
    "cuda-hkdw",
    "cuda-multi-source-bfs",
]
#: The methods of :func:`preflow.matching`.
MatchingMethodName: TypeAlias = Literal[
    "auto",
    "serial-blossom",
    "serial-gabow",
    "multicore-blossom",
    "serial-weighted-blossom",
    "multicore-weighted-blossom",
    "serial-greedy",
    "multicore-locally-dominant",
    "cuda-locally-dominant",
    "serial-two-thirds",
]
#: The methods of :func:`preflow.linear_assignment`.
AssignmentMethodName: TypeAlias = Literal[
    "auto",
    "serial-shortest-path",
    "serial-cost-scaling",
    "multicore-shortest-path",
    "multicore-auction",
    "multicore-lockfree",
    "cuda-lockfree",
    "cuda-batch",
    "cuda-shortest-path",
]
#: The methods of :func:`preflow.min_cost_flow`.
CostFlowMethodName: TypeAlias = Literal[
    "auto",
    "serial-shortest-path",
    "serial-network-simplex",
    "serial-capacity-scaling",
    "serial-cost-scaling",
    "multicore-cost-scaling",
    "cuda-cost-scaling",
]
#: The methods of :func:`preflow.transport`.
TransportMethodName: TypeAlias = Literal[
    "auto",
    "serial-network-simplex",
    "multicore-network-simplex",
    "cuda-transport",
]
