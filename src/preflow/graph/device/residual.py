"""The residual network on a GPU."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from ...arrays import AnyArray
from ...cuda.runtime import Device
from ...cuda.structs import I64, ConstU32
from ...errors import UnsuitableMethodError
from ..placement import require_memory
from ..residual import ResidualArrays

#: Residual arcs that 32 bits can number, with room for what a kernel adds to a number before it tests it.
MOST_ARCS = 2**32 - 1024
#: Residual arcs in one entry of a search's list.
ARCS_A_PIECE = 256
#: Bytes on the device: per residual arc, half of which is uploaded at a time, and per vertex with the state
#: of any solver.
ARC_BYTES, VERTEX_BYTES = 16 + 8, 72


class DeviceNetwork(NamedTuple):
    """The arrays of a residual network that kernels use: ``Network`` in residual.cuh."""

    first_out: ConstU32  #: uint32, shape (n + 1,)
    #: int64, shape (m, 2): first word: head in the lower half, reverse arc in the upper half. Second word:
    #: residual capacity.
    arcs: Annotated[AnyArray, "Arc*"]
    #: excess, sink_residual: int64, shape (n,)
    excess: I64
    sink_residual: I64
    num_vertices: int


def search_room(net: DeviceNetwork) -> int:
    """Return the most entries that a search can list: pieces of the vertices' arcs, see search.cuh."""
    return net.num_vertices + len(net.arcs) // ARCS_A_PIECE


def to_device(device: Device, net: ResidualArrays) -> DeviceNetwork:
    """Return a copy of a residual network on a GPU.

    UnsuitableMethodError: it has more arcs than 32 bits can number. DeviceMemoryError: it does not fit the
    free memory together with the state of a solver; nothing has been allocated yet.
    """
    if net.head.dtype != np.uint32 or len(net.head) > MOST_ARCS:
        raise UnsuitableMethodError(
            f"{len(net.head):,} residual arcs are too many for a GPU: at most 2**32 - 1024"
        )
    num_arcs, num_vertices = len(net.head), len(net.excess)
    needed = ARC_BYTES * num_arcs + VERTEX_BYTES * num_vertices
    require_memory(device, needed, f"{num_arcs:,} residual arcs and {num_vertices:,} vertices")
    xp = device.xp
    arcs = xp.empty((len(net.head), 2), dtype=np.int64)
    ends = arcs.view(np.uint32)
    ends[:, 0] = xp.asarray(net.head)
    ends[:, 1] = xp.asarray(net.reverse)
    arcs[:, 1] = xp.asarray(net.residual)
    return DeviceNetwork(
        first_out=xp.array(net.first_out),
        arcs=arcs,
        excess=xp.array(net.excess),
        sink_residual=xp.array(net.sink_residual),
        num_vertices=len(net.excess),
    )


def from_device(device: Device, on_device: DeviceNetwork, net: ResidualArrays) -> None:
    """Copy what a solve has changed back into the host's arrays."""
    net.residual[:] = device.to_host(device.xp.ascontiguousarray(on_device.arcs[:, 1]))
    net.excess[:] = device.to_host(on_device.excess)
    net.sink_residual[:] = device.to_host(on_device.sink_residual)


def flow_to_device(device: Device, net: ResidualArrays, on_device: DeviceNetwork) -> None:
    """Copy what pushes on the host have changed to the GPU, for arcs between vertices."""
    on_device.arcs[:, 1] = device.xp.asarray(net.residual)
    on_device.excess[:] = device.xp.asarray(net.excess)
