"""Arcs with lower bounds as arcs without: send the lower bounds first.

The flow beyond the lower bounds has the capacity that these leave, and supplies that make up for what they
carry. Potentials stay as they are, because the reduced costs of the arcs do not change.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from ..arrays import Array, NetworkInput, SupplyInput
from ..graph.cost_network import CostNetwork, as_cost_network, lower_of, supplies_or_own
from ..mincost.result import MinCostFlowResult
from .base import CostReduction, check_fits, difference, of_given, totals, vertex_numbers


@dataclass(frozen=True, eq=False, kw_only=True)
class LowerBoundsRemoved(CostReduction[MinCostFlowResult]):
    """A minimum-cost flow with lower bounds as one without.

    :func:`preflow.min_cost_flow` takes lower bounds as they are; this is for solvers that do not.

    Attributes
    ----------
    network : CostNetwork
        Without lower bounds; it has its supplies.
    given : CostNetwork
        The network as it was given.
    supply : ndarray, shape (num_vertices,)
        What vertices of `given` send.

    Examples
    --------
    >>> import preflow
    >>> network = preflow.CostNetwork.from_arrays(
    ...     [0, 0, 1], [1, 2, 2], capacity=4, cost=[1, 5, 2], lower=[0, 3, 0], supply=[6, 0, -6]
    ... )
    >>> reduction = preflow.reductions.LowerBoundsRemoved.of(network)
    >>> reduction.network.capacity.tolist(), reduction.network.supply.tolist()
    ([4, 1, 4], [3, 0, -3])
    >>> result = reduction.solve()
    >>> result.flow.tolist(), result.cost
    ([3, 3, 3], 24)
    >>> result.verify()
    """

    given: CostNetwork
    supply: Array

    @classmethod
    def of(cls, network: NetworkInput, supply: SupplyInput = None) -> Self:
        """Build the network without lower bounds; arguments as in :func:`preflow.min_cost_flow`."""
        given = as_cost_network(network).plain()
        supplies = supplies_or_own(given, supply)
        lower = lower_of(given)
        n = given.num_vertices
        places = np.concatenate([vertex_numbers(given.head), vertex_numbers(given.tail), np.arange(n)])
        moved = totals(places, np.concatenate([lower, -lower, supplies]), n)
        if moved.dtype.kind == "f" and len(moved):
            # Only rounding keeps these floats from having the sum of the supplies.
            moved[np.abs(moved).argmax()] -= moved.sum() - supplies.sum()
        built = replace(
            given,
            capacity=difference(given.capacity, lower),
            lower=None,
            supply=moved,
        )
        return cls(network=built, given=given, supply=supplies.copy())

    def solution(self, result: MinCostFlowResult) -> MinCostFlowResult:
        """Return the flow of minimum cost with lower bounds; its potentials are those of `result`."""
        check_fits(result, self.network)
        flow = result.flow.copy() if self.given.lower is None else result.flow + self.given.lower
        return of_given(result, self.given, self.supply, flow)
