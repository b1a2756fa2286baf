"""Flow networks whose arrays are in the memory of a GPU."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..cuda import runtime
from ..cuda.runtime import Device, is_on_gpu
from ..errors import CapacityOverflowError, InvalidInputError
from .network import (
    FlowNetwork,
    check_capacities,
    check_ends,
    check_vertex_ids,
    common_dtype,
    read_capacities,
)
from .placement import DeviceArrays, restorer, taken

#: From here on the numbers of vertices, or of the two terminals beside them, do not fit 32 bits.
TOO_MANY_VERTICES = 2**32 - 4


@dataclass(frozen=True, eq=False, repr=False)
class DeviceFlowNetwork(DeviceArrays, FlowNetwork):
    """A flow network on a GPU; :meth:`preflow.FlowNetwork.from_arrays` makes one of arrays that are there.

    Methods that run on that GPU solve it in place, and results are arrays of the caller's kind. Whatever
    runs on the host first copies it there, such as ``device="cpu"``, which gives the same kind of results.

    Attributes
    ----------
    tail, head : CuPy array of uint32, shape (num_arcs,)
    capacity, reverse_capacity : CuPy array of int64 or float64, shape (num_arcs,)
    device : Device
    restore : function or None
        Makes arrays of the caller's kind of CuPy arrays; None where these are CuPy arrays too.
    """

    def __post_init__(self) -> None:
        """Keep the arrays, which :func:`network_on_device` has checked."""
        object.__setattr__(self, "_label_index", None)

    def on_host(self) -> FlowNetwork:
        """Return the network with its arrays in the host's memory; copied there once."""
        return self._host_copy

    @cached_property
    def _host_copy(self) -> FlowNetwork:
        reverse = self.reverse_capacity
        with self.current():
            return FlowNetwork.from_arrays(
                self.device.to_host(self.tail),
                self.device.to_host(self.head),
                self.device.to_host(self.capacity),
                reverse_capacity=None if reverse is None else self.device.to_host(reverse),
                num_vertices=self.num_vertices,
            )


def network_on_device(
    tail: Any, head: Any, capacity: Any, reverse_capacity: Any, num_vertices: int | None
) -> DeviceFlowNetwork:
    """Build a network from arrays on a GPU: see :meth:`preflow.FlowNetwork.from_arrays`.

    A capacity may also be a number on the host.
    """
    device = runtime.find_device()
    tails, heads = (_vertex_ids(device, *ends) for ends in ((tail, "tail"), (head, "head")))
    number = check_ends(tails, heads, num_vertices)
    if number >= TOO_MANY_VERTICES:
        raise InvalidInputError(f"{number:,} vertices are too many for a GPU: at most 2**32 - 5")
    capacities = _capacities(device, capacity, len(tails), "capacity")
    reverse = None
    if reverse_capacity is not None:
        reverse = _capacities(device, reverse_capacity, len(tails), "reverse_capacity")
        capacities, reverse = common_dtype(capacities, reverse)
    return DeviceFlowNetwork(
        number,
        _as_uint32(device, tails),
        _as_uint32(device, heads),
        capacities,
        reverse_capacity=reverse,
        device=device,
        restore=restorer(device, tail),
    )


def _vertex_ids(device: Device, values: Any, name: str) -> Any:
    return check_vertex_ids(taken(device, values, name, "network"), name)


def _as_uint32(device: Device, ids: Any) -> Any:
    contiguous = device.xp.ascontiguousarray(ids)
    return contiguous.view(np.uint32) if ids.dtype == np.int32 else contiguous.astype(np.uint32, copy=False)


def _capacities(device: Device, values: Any, num_arcs: int, name: str) -> Any:
    xp = device.xp
    if not is_on_gpu(values) and np.ndim(values) == 0:
        number, larger = read_capacities(values, 1, name)
        if larger:
            raise CapacityOverflowError(f"{name} {values} does not fit int64")
        return xp.full(num_arcs, number[0], dtype=number.dtype)
    array = taken(device, values, name, "network")
    if array.ndim == 0:
        array = xp.broadcast_to(array, (num_arcs,))
    if array.shape != (num_arcs,):
        raise InvalidInputError(f"{name} has shape {array.shape}, expected ({num_arcs},)")
    if num_arcs == 0:
        return xp.zeros(0, dtype=np.int64)
    return xp.ascontiguousarray(check_capacities(array, name))
