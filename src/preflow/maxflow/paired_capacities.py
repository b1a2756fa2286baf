"""Residual capacities of both directions beside each other, on a GPU, where they are small enough.

A search that comes to a vertex wants to know which arcs into it have capacity left. With these at hand it
need not look at as many arcs anywhere else in memory: residual.cuh says how they are kept.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ..cuda.runtime import Device
from ..graph.device_residual import DeviceNetwork

SOURCE = Path(__file__).with_suffix(".cu")
#: Where all capacities are below this, those of a pair of arcs fit 31 bits together.
BELOW = 2**30


class CapacitiesArguments(NamedTuple):
    """``CapacitiesArguments`` in the ``.cu`` file."""

    net: DeviceNetwork
    num_arcs: int


def pair_capacities(device: Device, net: DeviceNetwork) -> None:
    """Pair the residual capacities, all of which are below `BELOW`; O(m)."""
    device.share(SOURCE, "pair_capacities", len(net.arcs), CapacitiesArguments(net, len(net.arcs)))


def part_capacities(device: Device, net: DeviceNetwork) -> None:
    """Undo :func:`pair_capacities`, with the capacities as they are now; O(m)."""
    device.share(SOURCE, "part_capacities", len(net.arcs), CapacitiesArguments(net, len(net.arcs)))
