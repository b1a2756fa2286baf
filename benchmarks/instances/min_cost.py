"""Networks with costs as plain arrays, which are the input of every contestant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from preflow.arrays import Array
from preflow.certify.min_cost_flow import flow_cost
from preflow.graph.cost_network import CostNetwork
from preflow.graph.standard_form import StandardForm, Standardised, standardise


class PlainNetwork(NamedTuple):
    """An instance in the form that peers take: without lower bounds and undirected arcs, in integers.

    Attributes
    ----------
    instance : MinCostInstance
    standard : Standardised
        It leads back from a flow of the form to that of the instance.
    """

    instance: MinCostInstance
    standard: Standardised

    @property
    def form(self) -> StandardForm:
        """Arcs, capacities, costs and supplies."""
        return self.standard.form

    def cost_of(self, flow: Array) -> int | float:
        """Return the cost of a flow of the form."""
        network = self.instance.network()
        return flow_cost(network, self.standard.flow(np.asarray(flow, dtype=np.int64)))


@dataclass(frozen=True)
class MinCostInstance:
    """A network with costs and supplies on which a flow exists.

    Attributes
    ----------
    num_vertices : int
    tail, head : ndarray of unsigned integers, shape (m,)
    capacity, cost : ndarray of int64 or float64, shape (m,)
    lower : ndarray of int64 or float64, shape (m,), or None
    supply : ndarray of int64 or float64, shape (n,)
    """

    num_vertices: int
    tail: Array
    head: Array
    capacity: Array
    cost: Array
    lower: Array | None
    supply: Array

    @classmethod
    def from_network(cls, network: CostNetwork) -> MinCostInstance:
        """Return the arrays of a network without undirected arcs."""
        supply: NDArray[np.int64] = np.zeros(network.num_vertices, dtype=np.int64)
        return cls(
            network.num_vertices,
            network.tail,
            network.head,
            network.capacity,
            network.cost,
            network.lower,
            supply if network.supply is None else network.supply,
        )

    @property
    def sizes(self) -> Mapping[str, int]:
        """Vertices and arcs."""
        return {"vertices": self.num_vertices, "arcs": len(self.tail)}

    def network(self) -> CostNetwork:
        """Return the container that preflow takes."""
        return CostNetwork.from_arrays(
            self.tail,
            self.head,
            capacity=self.capacity,
            cost=self.cost,
            lower=self.lower,
            supply=self.supply,
            num_vertices=self.num_vertices,
        )

    def plain(self) -> PlainNetwork:
        """Return the instance in the form that peers take."""
        network = self.network()
        return PlainNetwork(self, standardise(network, self.supply))

    def miniature(self) -> MinCostInstance:
        """Return two arcs of the same dtypes."""
        ends = np.array([0, 1], dtype=self.tail.dtype), np.array([1, 2], dtype=self.head.dtype)
        capacity, cost = (np.ones(2, dtype=values.dtype) for values in (self.capacity, self.cost))
        lower = None if self.lower is None else np.zeros(2, dtype=self.lower.dtype)
        supply = np.array([1, 0, -1], dtype=self.supply.dtype)
        return MinCostInstance(3, *ends, capacity, cost, lower, supply)
