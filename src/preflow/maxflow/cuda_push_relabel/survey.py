"""Summary statistics of a residual network, computed on the GPU in one pass."""

from __future__ import annotations

from enum import IntEnum
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...arrays import AnyArray
from ...cuda.runtime import Device
from ...cuda.structs import U32, U64, ConstI64, ConstU64
from ...graph.device.residual import DeviceNetwork

SOURCE = Path(__file__).with_suffix(".cu")


#: Positions in `SurveyArguments.found`, which is zero before the launch.
Found = IntEnum("Found", "NEAR_SINK EXCESS DEGREE CAPACITY", start=0)


class SurveyArguments(NamedTuple):
    """Arguments of "survey"."""

    net: DeviceNetwork
    num_arcs: int
    near_sink: U32
    ranges: U64
    found: U64


class AliveArguments(NamedTuple):
    """Arguments of "excess_alive"."""

    excess: ConstI64
    label: ConstU64
    num_vertices: int
    found: U64


class Survey(NamedTuple):
    """The results of :func:`survey`."""

    #: uint32: the vertices with residual capacity to the sink, in any order, followed by unused entries
    near_sink: AnyArray
    #: uint64, shape (n,): the range of arcs of every vertex, packed: see residual.cuh
    ranges: AnyArray
    num_near_sink: int
    excess: int  #: sum over all vertices
    #: greatest number of residual arcs of a vertex, and greatest capacity of a residual arc between vertices;
    #: 0 if there is none
    greatest_degree: int
    greatest_capacity: int


def survey(device: Device, net: DeviceNetwork) -> Survey:
    """Look at every vertex and arc once; O(n + m)."""
    xp, n = device.xp, net.num_vertices
    near_sink, ranges = xp.empty(n, dtype=np.uint32), xp.empty(n, dtype=np.uint64)
    found = xp.zeros(len(Found), dtype=np.uint64)
    arguments = SurveyArguments(
        net=net, num_arcs=len(net.arcs), near_sink=near_sink, ranges=ranges, found=found
    )
    device.share(SOURCE, "survey", max(net.num_vertices, len(net.arcs)), arguments)
    numbers = device.to_host(found).tolist()
    return Survey(
        near_sink=near_sink,
        ranges=ranges,
        num_near_sink=numbers[Found.NEAR_SINK],
        excess=numbers[Found.EXCESS],
        greatest_degree=numbers[Found.DEGREE],
        greatest_capacity=numbers[Found.CAPACITY],
    )


def excess_alive(device: Device, net: DeviceNetwork, label: Any) -> int:
    """Return the excess of all vertices that are not dead: whose label has no n + 1 in its lower half."""
    found = device.xp.zeros(1, dtype=np.uint64)
    arguments = AliveArguments(excess=net.excess, label=label, num_vertices=net.num_vertices, found=found)
    device.share(SOURCE, "excess_alive", net.num_vertices, arguments)
    return int(device.to_host(found)[0])
