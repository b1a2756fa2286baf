"""Residual capacities of both directions beside each other, on a GPU, where they are small enough.

A search that comes to a vertex wants to know which arcs into it have capacity left. With these at hand it
need not look at as many arcs anywhere else in memory: residual.cuh says how they are kept.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..cuda.runtime import Device
from ..graph.device_residual import DeviceNetwork

SOURCE = Path(__file__).with_suffix(".cu")
#: Where all capacities are below this, those of a pair of arcs fit 31 bits together.
BELOW = 2**30


class CapacitiesArguments(NamedTuple):
    """``CapacitiesArguments`` in the ``.cu`` file."""

    net: DeviceNetwork
    num_arcs: int
    greatest: Any


def pair_capacities(device: Device, net: DeviceNetwork) -> bool:
    """Pair the residual capacities if they are small enough; return whether they were. O(m)."""
    arguments = _arguments(device, net)
    device.share(SOURCE, "find_greatest", arguments.num_arcs, arguments)
    if int(arguments.greatest[0]) >= BELOW:
        return False
    device.share(SOURCE, "pair_capacities", arguments.num_arcs, arguments)
    return True


def part_capacities(device: Device, net: DeviceNetwork) -> None:
    """Undo :func:`pair_capacities`, with the capacities as they are now."""
    arguments = _arguments(device, net)
    device.share(SOURCE, "part_capacities", arguments.num_arcs, arguments)


def _arguments(device: Device, net: DeviceNetwork) -> CapacitiesArguments:
    return CapacitiesArguments(net, len(net.arcs), device.xp.zeros(1, dtype=np.uint64))
