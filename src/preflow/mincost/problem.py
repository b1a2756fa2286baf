"""The record of minimum-cost flow: plain data, so that reading it loads no solver."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..cuda import CudaMethod
from ..solving.method import Method, Problem

if TYPE_CHECKING:
    # Of which types the solvers are, by the memory that their arrays lie in.
    from ..cuda.runtime import Device
    from ..graph.cost_network import CostNetwork
    from ..graph.standard_form import StandardForm
    from ..solving.protocol import Chooser, GpuPolicy, MinCostSolver
    from . import policy
    from .solution import FlowState

    HostSolver = MinCostSolver[StandardForm, FlowState]
    CHOOSE: Chooser[CostNetwork, Device] = policy.choose
    WORTH_A_GPU: GpuPolicy[CostNetwork] = policy.worth_a_gpu

METHODS = (
    Method(
        "serial-shortest-path",
        "mincost.serial_shortest_path",
        "NoOptions",
        "successive shortest paths with potentials, from all supplies at once",
        "Edmonds and Karp 1972; Tomizawa 1971",
        aliases=("ssp",),
    ),
    Method(
        "serial-network-simplex",
        "mincost.serial_network_simplex",
        "SimplexOptions",
        "primal network simplex with strongly feasible trees and block pricing",
        "Dantzig 1951; Cunningham 1976; Grigoriadis 1986",
        aliases=("network-simplex",),
    ),
    Method(
        "serial-capacity-scaling",
        "mincost.serial_capacity_scaling",
        "NoOptions",
        "shortest paths that carry large amounts first, then half as much",
        "Edmonds and Karp 1972",
    ),
    Method(
        "serial-cost-scaling",
        "mincost.serial_cost_scaling",
        "CostScalingOptions",
        "cost scaling by partial augment-relabel, with price updates and arc fixing",
        "Goldberg 1997; Goldberg 2008",
        aliases=("cost-scaling",),
    ),
    Method(
        "multicore-cost-scaling",
        "mincost.multicore_cost_scaling",
        "CostScalingOptions",
        "cost scaling by lock-free pushes and relabels, with price updates by all threads",
        "Łupińska 2011, Algorithm 5.4; Goldberg 1997",
        parallel=True,
    ),
    CudaMethod(
        "cuda-cost-scaling",
        "mincost.cuda_cost_scaling",
        "CudaCostScalingOptions",
        "cost scaling by lock-free pushes and relabels, with parallel price updates",
        "Goldberg and Tarjan 1990; Łupińska 2011, Algorithm 5.4",
        copies=True,
    ),
)

PROBLEM = Problem(
    folder="mincost",
    functions={"min_cost_flow": "mincost.api"},
    results=("mincost.result.MinCostFlowResult", "mincost.left_over.PartialCostFlowResult"),
    containers=("graph.cost_network.CostNetwork",),
    methods=METHODS,
    method_type="CostFlowMethodName",
    page="min_cost_flow",
    compile_seconds=20,
    families="generators.registry.MIN_COST_FAMILIES",
    files=(".min.gz", ".min", ".asn.gz", ".asn", ".npz"),
)
