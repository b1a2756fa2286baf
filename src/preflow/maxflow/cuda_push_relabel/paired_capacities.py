"""Small residual capacities, stored with those of the reverse arcs, on a GPU.

A search that comes to a vertex needs the capacities of the arcs into it. If they are stored with the arcs
out of it, the search need not load each reverse arc, which may be anywhere in memory. residual.cuh
describes the format.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from ...cuda.runtime import Device
from ...graph.device.residual import DeviceNetwork

SOURCE = Path(__file__).with_suffix(".cu")
#: If all capacities are below this, the two of a pair of arcs fit 31 bits together.
BELOW = 2**30


class CapacitiesArguments(NamedTuple):
    """Arguments of "pair_capacities" and "part_capacities"."""

    net: DeviceNetwork
    num_arcs: int


@contextmanager
def paired_capacities(device: Device, net: DeviceNetwork, greatest: int) -> Iterator[bool]:
    """Store the residual capacities in pairs within the context if the greatest is small enough.

    Yields whether they are stored in pairs. At the end, however the context is left, every arc has its own
    capacity as it is then; O(m).
    """
    is_paired = greatest < BELOW
    arguments = CapacitiesArguments(net=net, num_arcs=len(net.arcs))
    if is_paired:
        device.share(SOURCE, "pair_capacities", len(net.arcs), arguments)
    try:
        yield is_paired
    finally:
        if is_paired:
            device.share(SOURCE, "part_capacities", len(net.arcs), arguments)
