"""The record of transport: plain data, so that reading it loads no solver."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..cuda import CudaMethod
from ..solving.method import Method, Problem

if TYPE_CHECKING:
    # Of which types the solvers are, by the memory that their arrays lie in.
    from ..certify.transport import TransportCosts
    from ..cuda.runtime import Device
    from ..graph.costs import DenseCosts, SparseCosts
    from ..graph.device.costs import DeviceCosts
    from ..graph.device.points import DevicePoints
    from ..graph.point_costs import PointCosts
    from ..solving.protocol import Chooser, GpuPolicy, TransportSolver
    from . import policy
    from .solution import DevicePlans, TransportFound

    HostSolver = TransportSolver[DenseCosts | SparseCosts | PointCosts, list[TransportFound]]
    DeviceSolver = TransportSolver[DeviceCosts | DevicePoints, DevicePlans]
    CHOOSE: Chooser[TransportCosts, Device] = policy.choose
    WORTH_A_GPU: GpuPolicy[TransportCosts] = policy.worth_a_gpu

METHODS = (
    Method(
        "serial-network-simplex",
        "transportation.serial_network_simplex",
        "TransportSimplexOptions",
        "network simplex on the pairs of small reduced cost; others are added while they would help",
        "Dantzig 1951; Ford and Fulkerson 1958",
        aliases=("network-simplex", "emd"),
        points=True,
    ),
    Method(
        "multicore-network-simplex",
        "transportation.multicore_network_simplex",
        "MulticoreSimplexOptions",
        "network simplex from a start by all threads, also one: smoothed prices, then cost scaling",
        "Goldberg 1997; Łupińska 2011, Algorithm 5.4; Ford and Fulkerson 1958",
        parallel=True,
        points=True,
        old_names=("multicore-cost-scaling",),
    ),
    CudaMethod(
        "cuda-transport",
        "transportation.cuda_transport",
        "CudaTransportOptions",
        "network simplex by all threads of a block, from smoothed prices; batches at once",
        "Dantzig 1951; Cunningham 1976; Cuturi 2013",
        points=True,
    ),
)

PROBLEM = Problem(
    folder="transportation",
    functions={"transport": "transportation.api"},
    results=("transportation.result.TransportResult", "transportation.left_over.PartialTransportResult"),
    containers=(),
    methods=METHODS,
    method_type="TransportMethodName",
    page="transport",
    compile_seconds=20,
    uses=("mincost",),
)
