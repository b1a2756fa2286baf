"""Grids whose arrays are in the memory of a GPU."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..cuda import runtime
from ..cuda.runtime import Device, is_on_gpu
from ..errors import InvalidInputError
from .grid import GridNetwork
from .grid_input import as_capacities, check_numbers, grid_arrays
from .placement import DeviceArrays, restorer, taken


@dataclass(frozen=True, eq=False, repr=False)
class DeviceGridNetwork(DeviceArrays, GridNetwork):
    """A grid on a GPU; :meth:`preflow.GridNetwork.from_arrays` makes one of arrays that are there.

    Methods that run on that GPU solve it in place, and results are arrays of the caller's kind. Whatever
    runs on the host first copies it there, such as ``device="cpu"``, which gives the same kind of results.

    Attributes
    ----------
    device : Device
    restore : function or None
        Makes arrays of the caller's kind of CuPy arrays; None where these are CuPy arrays too.
    """

    def _check_arrays(self) -> None:
        """Check nothing: the function that makes a grid on a GPU has checked its arrays."""

    def on_host(self) -> GridNetwork:
        """Return the network with its arrays in the host's memory; copied there once."""
        return self._host_copy

    @cached_property
    def _host_copy(self) -> GridNetwork:
        arrays = self.source_capacity, self.sink_capacity, self.neighbor_capacity
        with self.current():
            return GridNetwork(self.shape, self.offsets, *map(self.device.to_host, arrays), _checked=True)


def grid_on_device(source: Any, sink: Any, neighbor: Any, connectivity: Any) -> DeviceGridNetwork:
    """Build a grid from arrays on a GPU: see :meth:`preflow.GridNetwork.from_arrays`.

    Scalars, and a number for every direction, may also be on the host.
    """
    device = runtime.find_device()
    named = ((source, "source_capacity"), (sink, "sink_capacity"), (neighbor, "neighbor_capacity"))
    source, sink, neighbor = (_on_device(device, values, name) for values, name in named)
    kind = next(values for values, _ in named if is_on_gpu(values))
    arrays = grid_arrays(source, sink, neighbor, connectivity, device.xp)
    network = DeviceGridNetwork(*arrays, device=device, restore=restorer(device, kind), _checked=True)
    network.check()
    return network


def _on_device(device: Device, values: Any, name: str) -> Any:
    if not is_on_gpu(values):
        on_host = as_capacities(values, name)
        if on_host.ndim > 1 or (on_host.ndim and name != "neighbor_capacity"):
            raise InvalidInputError(f"{name} is not on the GPU, where other arrays of the grid are")
        return device.xp.asarray(on_host)
    array = taken(device, values, name, "grid")
    check_numbers(array, name)
    return array
