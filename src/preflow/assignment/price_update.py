"""The price update of Algorithm 5.3 for a flow of lock-free pushes and relabels that were interrupted.

The update is that of :mod:`.refine`. It needs an epsilon-optimal flow. Where pushes and relabels are
interrupted, some arcs on which units came to columns just relabelled are not; these units are sent back
first.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..graph.costs import SparseCosts
from .flow_scaling import COLUMN, NOWHERE, Arcs, Flow
from .refine import Network, Step, make_network, update_prices


class PriceUpdate:
    """Arcs as they were before any was fixed: more of them do no harm to an update."""

    def __init__(self, arcs: Arcs) -> None:
        size = len(arcs.size)
        costs = SparseCosts(arcs.first, arcs.column.copy(), arcs.cost.copy(), size)
        self.keys = costs.row * size + costs.column
        self.cost = costs.values
        self.network: Network = make_network(costs, 0, 1, np.int64, np.zeros(1, np.int64))

    def used(self, flow: Flow) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Return the rows whose units are at columns, these columns, and the places of the arcs."""
        rows = np.flatnonzero(flow.at != NOWHERE)
        columns = (flow.at[rows] & COLUMN).astype(np.int64)
        return rows, columns, np.searchsorted(self.keys, rows * len(flow.at) + columns)

    def saturate(self, flow: Flow, epsilon: int) -> int:
        """Send units back whose arcs spoil epsilon-optimality; return how many."""
        rows, columns, places = self.used(flow)
        back = flow.column_price[columns] - flow.row_price[rows] - self.cost[places]
        spoiling = back < -epsilon
        flow.at[rows[spoiling]] = NOWHERE
        np.subtract.at(flow.excess, columns[spoiling], 1)
        return int(spoiling.sum())

    def update(self, flow: Flow, epsilon: int) -> None:
        """Lower the prices of an epsilon-optimal flow by distances to columns without a unit."""
        network, size = self.network, len(flow.at)
        _, _, places = self.used(flow)
        network.residual[:] = network.forward
        network.residual[places] = 0  # arcs of rows come first, in their order
        network.residual[network.reverse[places]] = 1
        network.excess[:size] = flow.at == NOWHERE
        network.excess[size:] = flow.excess
        network.price[:size], network.price[size:] = flow.row_price, flow.column_price
        update_prices(
            network,
            Step(
                delta=np.int64(epsilon),
                offset=np.int64(0),
                floor=np.int64(-(2**62)),
                rows=np.uint64(size),
                columns=np.uint64(size),
                keep_flow=True,
                newest_first=False,
                updates=True,
            ),
        )
        flow.row_price[:], flow.column_price[:] = network.price[:size], network.price[size:]
