"""The assignment solvers by name: data only, so that importing it loads none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..solving.method import Method

if TYPE_CHECKING:
    # mypy checks the signature of each solver against the protocol for host or device memory.
    from ..cuda.runtime import Device
    from ..graph.costs import DenseCosts, SparseCosts
    from ..graph.device.costs import DeviceCosts
    from ..graph.device.points import DevicePoints
    from ..graph.point_costs import PointCosts
    from ..solving.protocol import AssignmentSolver, Chooser, GpuPolicy
    from . import (
        cuda_batch,
        cuda_lockfree,
        cuda_shortest_path,
        multicore_auction,
        multicore_shortest_path,
        policy,
        serial_cost_scaling,
        serial_shortest_path,
    )
    from .device_solution import DeviceSolution
    from .solution import Solution

    HostSolver = AssignmentSolver[DenseCosts | SparseCosts, Solution]
    HostPointSolver = AssignmentSolver[DenseCosts | SparseCosts | PointCosts, Solution]
    DeviceSolver = AssignmentSolver[DeviceCosts, DeviceSolution]
    DevicePointSolver = AssignmentSolver[DeviceCosts | DevicePoints, DeviceSolution]
    HOST_SOLVERS: tuple[HostSolver, ...] = (
        cuda_lockfree.solve,
        multicore_auction.solve,
        multicore_shortest_path.solve,
        serial_cost_scaling.solve,
    )
    HOST_POINT_SOLVERS: tuple[HostPointSolver, ...] = (serial_shortest_path.solve,)
    DEVICE_SOLVERS: tuple[DeviceSolver, ...] = (cuda_batch.solve,)
    DEVICE_POINT_SOLVERS: tuple[DevicePointSolver, ...] = (cuda_shortest_path.solve,)

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
        "Goldberg and Kennedy 1995; Łupińska, algorithms 5.0 to 5.3",
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
    Method(
        "cuda-lockfree",
        "assignment.cuda_lockfree",
        "CudaLockFreeOptions",
        "cost scaling by lock-free pushes and relabels, one thread per vertex",
        "Łupińska 2011, section 5.5",
        device="cuda",
        copies=True,
    ),
    Method(
        "cuda-batch",
        "assignment.cuda_batch",
        "BatchOptions",
        "batches of dense problems: one warp or block solves each by shortest augmenting paths",
        "Jonker and Volgenant 1987",
        device="cuda",
    ),
    Method(
        "cuda-shortest-path",
        "assignment.cuda_shortest_path",
        "CudaShortestPathOptions",
        "few large dense problems: shortest paths from all free columns at once, over lists",
        "Balas, Miller, Pekny and Toth 1991",
        device="cuda",
        points=True,
    ),
)
