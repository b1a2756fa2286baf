"""Maximum flows of a limited value: one arc in front of the sources, whose capacity is the limit.

The network with this arc is a flow problem as any other, so that every method solves it. A method pushes no
more than the limit into the network. If the minimum cut of this network leaves all sources on the source
side, it is one of the network as given, and the flow is maximum. Otherwise the new arc is the cut, and the
flow has the value of the limit.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyArray
from ..errors import InvalidInputError
from ..graph.network import INT64_MAX, FlowNetwork, vertex_mask


def read_flow_limit(flow_limit: object, network: FlowNetwork) -> int | float | None:
    """Return the limit in the type of the capacities; None where no flow of int64 or float64 exceeds it.

    InvalidInputError: it is no number or negative, or it is a fraction and the capacities are integers.
    """
    if flow_limit is None:
        return None
    if isinstance(flow_limit, np.integer | np.floating):
        flow_limit = flow_limit.item()
    if isinstance(flow_limit, bool) or not isinstance(flow_limit, int | float) or not flow_limit >= 0:
        raise InvalidInputError(f"flow_limit must be a number that is not negative, got {flow_limit!r}")
    if flow_limit == math.inf:
        return None
    if network.capacity.dtype.kind == "i":
        if flow_limit != int(flow_limit):
            raise InvalidInputError(
                f"flow_limit is {flow_limit}, and the capacities are integers: so is every flow"
            )
        return None if flow_limit > INT64_MAX else int(flow_limit)
    try:
        nearest = float(flow_limit)
    except OverflowError:
        return None
    return nearest if nearest <= flow_limit else math.nextafter(nearest, 0)


def behind_one_arc(
    network: FlowNetwork, sources: NDArray[np.int64], limit: int | float
) -> tuple[FlowNetwork, int]:
    """Return a network with one arc of capacity `limit` in front of the sources, and its new source.

    The given arcs come first, and those into sources have no capacity, as they can carry no useful flow.
    """
    xp, n = network.xp, network.num_vertices
    tails, heads, source = [n], [int(sources[0])], n
    if len(sources) > 1:
        tails, heads, source = [n + 1] + [n] * len(sources), [n, *sources.tolist()], n + 1
    is_source = vertex_mask(network, sources)
    reverse: AnyArray = network.reverse_capacity
    capacity = xp.where(is_source[network.head], 0, network.capacity)
    if reverse is not None:
        reverse = _with(network, xp.where(is_source[network.tail], 0, reverse), [0] * len(tails))
    limited = replace(
        network,
        num_vertices=source + 1,
        tail=_with(network, network.tail, tails),
        head=_with(network, network.head, heads),
        capacity=_with(network, capacity, [limit] * len(tails)),
        reverse_capacity=reverse,
        labels=None,
    )
    return limited, source


def _with(network: FlowNetwork, values: AnyArray, more: list[int] | list[int | float]) -> AnyArray:
    """Return an array of the network with some more values of its dtype."""
    return network.xp.concatenate([values, network.xp.asarray(more, dtype=values.dtype)])
