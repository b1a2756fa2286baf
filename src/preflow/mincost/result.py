"""The result of a minimum-cost flow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..certify.min_cost_flow import ExactPotentials, check_min_cost_flow, reduced_costs
from ..drawing.axes import number
from ..drawing.networks import Arcs, draw_flow, supply_colours
from ..graph.cost_network import CostNetwork
from ..graph.edge_tables import FlowByLabel, Tabular, labels_of
from ..graph.network import exact_sum
from ..solving.result import BoundedResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class MinCostFlowResult(FlowByLabel, Tabular, BoundedResult):
    """A flow of minimum cost, or the best one found within the time limit.

    Arrays are of the kind that the network was built from: those of NumPy, of Torch, of JAX.

    Attributes
    ----------
    flow : array of int64 or float64, shape (num_arcs,)
        Flow of every input arc, in input order, within its bounds; negative where an undirected arc carries
        flow from its head to its tail. After a time limit the flow need not send all supplies: it does if
        `upper_bound` is finite.
    potentials : array of int64 or float64, shape (num_vertices,)
        Potentials (dual values, node prices) that prove the bound: see `reduced_costs`.
    supply : array of int64 or float64, shape (num_vertices,)
    network : CostNetwork
    status, lower_bound, upper_bound, value, stats
        See :class:`preflow.solving.result.BoundedResult`. The bounds are costs.
    """

    flow: Array
    potentials: Array
    supply: Array
    network: CostNetwork
    _gap: int | float
    _basis: Array | None = None
    _exact: ExactPotentials | None = None

    @property
    def cost(self) -> int | float:
        """The minimum cost, as a Python integer where the data are integers: it cannot wrap.

        Raises
        ------
        NotOptimalError
            The solve stopped early.
        """
        return self.value

    @property
    def amount(self) -> int | float:
        """The amount that all vertices send together: the sum of the positive supplies."""
        supply = self.network.to_host(self.supply)
        return exact_sum(np.maximum(supply, 0)) if len(supply) else 0

    @property
    def gap(self) -> int | float:
        """A proved bound of the difference between `cost` and the optimum of the input.

        0 for integers, and for floats that are integers after multiplication by a power of two, unless
        float64 has to round the cost. Other costs are rounded to up to 48 bits, other amounts to 52 bits.
        """
        return self._gap

    @property
    def reduced_costs(self) -> Array:
        """Per arc, its cost plus the potential of its tail minus that of its head.

        Of an optimal flow: arcs with positive reduced cost carry their lower bound, arcs with negative
        reduced cost their capacity. (Of float data: up to rounding.)
        """
        network = self.network
        found: Array = network.to_caller(reduced_costs(network, network.to_host(self.potentials)))
        return found

    def to_columns(self) -> dict[str, Array]:
        """Return the columns of :meth:`to_pandas`, with a row for each arc, in input order.

        Returns
        -------
        dict of arrays
            The columns "source" and "target" have the caller's labels. "lower", if the network has lower
            bounds, "capacity" and "cost" are as given, and "flow" is the flow.

        Examples
        --------
        >>> import preflow
        >>> print(preflow.min_cost_flow([("a", "b", 4, 7)], {"a": 3, "b": -3}).to_pandas())
          source target  capacity  cost  flow
        0      a      b         4     7     3
        """
        network = self.network
        return {
            "source": labels_of(network.labels, network.tail),
            "target": labels_of(network.labels, network.head),
            **({} if network.lower is None else {"lower": network.lower}),
            "capacity": network.capacity,
            "cost": network.cost,
            "flow": network.to_host(self.flow),
        }

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the network: arcs as wide as their flow, with amount and cost beside them.

        Vertices that send are blue, those that receive orange. Beside an arc with flow is "amount at cost",
        beside an arc without flow its cost.

        InvalidInputError: the network has more than 200 vertices or 2,000 arcs.
        """
        network = self.network
        flow, supply = network.to_host(self.flow), network.to_host(self.supply)
        texts = [
            f"{number(abs(amount))} at {number(cost)}" if amount else number(cost)
            for amount, cost in zip(flow.tolist(), network.cost.tolist(), strict=True)
        ]
        arcs = Arcs(network.tail, network.head, flow, texts, np.zeros(network.num_arcs, dtype=bool))
        ends = np.flatnonzero(supply > 0), np.flatnonzero(supply < 0)
        return self._labelled(draw_flow(ax, arcs, network.labels, supply_colours(supply), *ends))

    def verify(self) -> None:
        """Prove the flow optimal, independently of the solver, in linear time.

        The flow stays within the bounds of each arc and sends all supplies. Its cost equals the bound that
        the potentials prove, exactly for integers, within `gap` for floats. A result that stopped early
        proves its two bounds instead.
        """
        check_min_cost_flow(
            self.network,
            self.network.to_host(self.supply),
            self.flow,
            self.potentials,
            self.status,
            self.lower_bound,
            self.upper_bound,
            self.gap,
            self._rounding(),
            self._exact,
        )

    def _rounding(self) -> NDArray[np.float64] | None:
        """Return what vertices may lack by rounding of larger amounts; nothing here."""
        return None

    def __repr__(self) -> str:
        used = int(np.count_nonzero(self.network.to_host(self.flow)))
        arcs = f"flow on {used:,} of {self.network.num_arcs:,} arcs"
        return f"<MinCostFlowResult: {self._headline()}, {arcs}, {self._how()}>"
