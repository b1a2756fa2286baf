"""The record of linear assignment: plain data, so that reading it loads no solver."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..cuda import CudaMethod
from ..solving.method import Method, Problem

if TYPE_CHECKING:
    # Of which types the solvers are, by the memory that their arrays lie in.
    from ..cuda.runtime import Device
    from ..graph.costs import DenseCosts, SparseCosts
    from ..graph.device.costs import DeviceCosts
    from ..graph.device.points import DevicePoints
    from ..graph.point_costs import PointCosts
    from ..solving.protocol import AssignmentSolver, Chooser, GpuPolicy
    from . import policy
    from .device_solution import DeviceSolution
    from .solution import Solution

    HostSolver = AssignmentSolver[DenseCosts | SparseCosts, Solution]
    HostPointSolver = AssignmentSolver[DenseCosts | SparseCosts | PointCosts, Solution]
    DeviceSolver = AssignmentSolver[DeviceCosts, DeviceSolution]
    DevicePointSolver = AssignmentSolver[DeviceCosts | DevicePoints, DeviceSolution]

    CHOOSE: Chooser[policy.Costs, Device] = policy.choose
    WORTH_A_GPU: GpuPolicy[policy.Costs] = policy.worth_a_gpu

METHODS = (
    Method(
        "serial-shortest-path",
        "assignment.serial_shortest_path",
        "ShortestPathOptions",
        "reductions of columns and rows, then shortest augmenting paths over lists of the cheapest columns",
        "Jonker and Volgenant 1987",
        aliases=("JV",),
        points=True,
    ),
    Method(
        "serial-cost-scaling",
        "assignment.serial_cost_scaling",
        "CostScalingOptions",
        "cost scaling in which rows bid for listed columns; also in three published forms",
        "Goldberg and Kennedy 1995; Łupińska, algorithms 5.0 to 5.3; Kennedy 1995; Dial 1969",
        aliases=("CSA",),
    ),
    Method(
        "multicore-shortest-path",
        "assignment.multicore_shortest_path",
        "ShortestPathOptions",
        "batches: each thread solves whole matrices by shortest augmenting paths",
        "Jonker and Volgenant 1987",
        parallel=True,
        aliases=("JV",),
        checks=True,
    ),
    Method(
        "multicore-auction",
        "assignment.multicore_auction",
        "AuctionOptions",
        "one matrix on all threads: a lock-free auction, then shortest augmenting paths",
        "Bertsekas 1988",
        parallel=True,
    ),
    Method(
        "multicore-lockfree",
        "papers.lupinska.multicore_lockfree",
        "LockFreeOptions",
        "cost scaling by lock-free pushes and relabels",
        "Łupińska 2011, Algorithm 5.4",
        parallel=True,
    ),
    CudaMethod(
        "cuda-lockfree",
        "assignment.cuda_lockfree",
        "CudaLockFreeOptions",
        "cost scaling by lock-free pushes and relabels, one thread per vertex",
        "Łupińska 2011, section 5.5",
        copies=True,
        aliases=("Lupinska",),
    ),
    CudaMethod(
        "cuda-batch",
        "assignment.cuda_batch",
        "BatchOptions",
        "batches of dense problems: one warp or block solves each by shortest augmenting paths",
        "Jonker and Volgenant 1987",
    ),
    CudaMethod(
        "cuda-shortest-path",
        "assignment.cuda_shortest_path",
        "CudaShortestPathOptions",
        "few large dense problems: shortest paths from all free columns at once, over lists",
        "Balas, Miller, Pekny and Toth 1991",
        points=True,
    ),
)

PROBLEM = Problem(
    folder="assignment",
    functions={"linear_assignment": "assignment.api"},
    results=("assignment.result.AssignmentResult", "assignment.singles_result.AssignmentWithSinglesResult"),
    containers=("graph.point_costs.PointCosts",),
    methods=METHODS,
    method_type="AssignmentMethodName",
    page="assignment",
    compile_seconds=15,
)
