"""Residual capacities of both directions beside each other, on a GPU, where they are small enough.

A search that comes to a vertex wants to know which arcs into it have capacity left. With these at hand it
need not look at as many arcs anywhere else in memory: residual.cuh says how they are kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from ...cuda.runtime import Device
from ...graph.device.residual import DeviceNetwork

SOURCE = Path(__file__).with_suffix(".cu")
#: Where all capacities are below this, those of a pair of arcs fit 31 bits together.
BELOW = 2**30


class CapacitiesArguments(NamedTuple):
    """``CapacitiesArguments`` in the ``.cu`` file."""

    net: DeviceNetwork
    num_arcs: int


@contextmanager
def paired_capacities(device: Device, net: DeviceNetwork, greatest: int) -> Iterator[bool]:
    """Pair the residual capacities within, if the greatest of them is small enough; give whether they are.

    They are parted again, as they are then, however that ends; O(m).
    """
    is_paired = greatest < BELOW
    arguments = CapacitiesArguments(net, len(net.arcs))
    if is_paired:
        device.share(SOURCE, "pair_capacities", len(net.arcs), arguments)
    try:
        yield is_paired
    finally:
        if is_paired:
            device.share(SOURCE, "part_capacities", len(net.arcs), arguments)
