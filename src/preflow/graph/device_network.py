"""Flow networks whose arrays are in the memory of a GPU."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..cuda import runtime
from ..cuda.runtime import Device, importer_of, is_on_gpu
from ..errors import InvalidInputError
from .network import (
    FlowNetwork,
    check_capacities,
    check_ends,
    check_vertex_ids,
    common_dtype,
    read_capacities,
)

#: From here on the numbers of vertices, or of the two terminals beside them, do not fit 32 bits.
TOO_MANY_VERTICES = 2**32 - 4


@dataclass(frozen=True, eq=False, repr=False)
class DeviceFlowNetwork(FlowNetwork):
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

    device: Device = field(kw_only=True)
    restore: Callable[[Any], Any] | None = field(kw_only=True)

    @property
    def xp(self) -> Any:
        """CuPy."""
        return self.device.xp

    def current(self) -> AbstractContextManager[None]:
        """Make the GPU that holds the arrays the calling thread's."""
        return self.device.current()

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
                None if reverse is None else self.device.to_host(reverse),
                num_vertices=self.num_vertices,
            )

    def own(self, values: Any) -> Any:
        """Return `values`, what :meth:`give` returned or a NumPy array, as a CuPy array."""
        return self.device.from_dlpack(values) if is_on_gpu(values) else self.xp.asarray(values)

    def give(self, values: Any) -> Any:
        """Return `values`, a CuPy array, as the kind of array that the network was built from."""
        return values if self.restore is None else self.restore(values)

    def to_host(self, values: Any) -> NDArray[Any]:
        """Return `values`, what :meth:`give` returned, as a NumPy array."""
        with self.current():
            return self.device.to_host(self.own(values))


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
        reverse,
        device=device,
        restore=None if isinstance(tail, device.xp.ndarray) else importer_of(tail),
    )


def _taken(device: Device, values: Any, name: str) -> Any:
    """Return an array of the caller's as one of CuPy's."""
    if not is_on_gpu(values):
        raise InvalidInputError(f"{name} is not on the GPU, where other arrays of the network are")
    number = values.__dlpack_device__()[1]
    if number != device.number:
        raise InvalidInputError(f"{name} is on GPU {number}, and GPU {device.number} is the current one")
    return device.from_dlpack(values)


def _vertex_ids(device: Device, values: Any, name: str) -> Any:
    return check_vertex_ids(_taken(device, values, name), name)


def _as_uint32(device: Device, ids: Any) -> Any:
    contiguous = device.xp.ascontiguousarray(ids)
    return contiguous.view(np.uint32) if ids.dtype == np.int32 else contiguous.astype(np.uint32, copy=False)


def _capacities(device: Device, values: Any, num_arcs: int, name: str) -> Any:
    xp = device.xp
    if not is_on_gpu(values) and np.ndim(values) == 0:
        number = read_capacities(values, 1, name)
        return xp.full(num_arcs, number[0], dtype=number.dtype)
    array = _taken(device, values, name)
    if array.ndim == 0:
        array = xp.broadcast_to(array, (num_arcs,))
    if array.shape != (num_arcs,):
        raise InvalidInputError(f"{name} has shape {array.shape}, expected ({num_arcs},)")
    if num_arcs == 0:
        return xp.zeros(0, dtype=np.int64)
    return xp.ascontiguousarray(check_capacities(array, name))
