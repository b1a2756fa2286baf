"""Summary statistics of a residual network, computed on the GPU in one pass."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...arrays import AnyArray
from ...cuda.runtime import Device
from ...graph.device.residual import DeviceNetwork

SOURCE = Path(__file__).with_suffix(".cu")


class SurveyArguments(NamedTuple):
    """``SurveyArguments`` in the ``.cu`` file."""

    net: DeviceNetwork
    num_arcs: int
    near_sink: AnyArray
    ranges: AnyArray
    found: AnyArray


class AliveArguments(NamedTuple):
    """``AliveArguments`` in the ``.cu`` file."""

    excess: AnyArray
    label: AnyArray
    num_vertices: int
    found: AnyArray


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
    found = xp.zeros(4, dtype=np.uint64)
    arguments = SurveyArguments(net, len(net.arcs), near_sink, ranges, found)
    device.share(SOURCE, "survey", max(net.num_vertices, len(net.arcs)), arguments)
    return Survey(near_sink, ranges, *device.to_host(found).tolist())


def excess_alive(device: Device, net: DeviceNetwork, label: Any) -> int:
    """Return the excess of all vertices that are not dead: whose label has no n + 1 in its lower half."""
    found = device.xp.zeros(1, dtype=np.uint64)
    arguments = AliveArguments(net.excess, label, net.num_vertices, found)
    device.share(SOURCE, "excess_alive", net.num_vertices, arguments)
    return int(device.to_host(found)[0])
