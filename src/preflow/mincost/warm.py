"""Solve a network again after some of its costs, capacities or supplies have changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Arcs, Array, ColumnName, EndsNames, NetworkInput, Number, SupplyInput, Vertices
from ..graph.changing import Changing, read_arc_changes, read_changes, read_ends
from ..graph.cost_network import CostNetwork, as_cost_network, check_demands_named, lower_of, supplies_or_own
from ..graph.edge_tables import ColumnNames
from ..graph.network import common_dtype, read_signed
from ..method_names import CostFlowMethodName
from ..progress import Reporter
from ..solving.timing import timed
from .api import min_cost_flow
from .left_over import of_larger
from .result import MinCostFlowResult


class MinCostFlow(Changing[MinCostFlowResult]):
    """A network whose numbers change between solves, each of which starts from the last flow.

    Few changes leave most of the last flow and its potentials right, so a solve takes a fraction of the first
    one. Its answer proves itself like any other. Several threads may share a solver: a method waits until no
    other thread is in one.

    Parameters
    ----------
    network : CostNetwork, or what :func:`preflow.min_cost_flow` takes
    supply : array of numbers, shape (num_vertices,), or mapping, optional
        Default: the supplies of the network.
    method, threads, options, ends, capacity, cost, lower
        As in :func:`preflow.min_cost_flow`.

    Attributes
    ----------
    network : CostNetwork
        With all changes so far.
    result : MinCostFlowResult or None
        Of the last solve; a solve that fails leaves it as it is.

    Examples
    --------
    >>> import preflow
    >>> solver = preflow.MinCostFlow(([0, 0, 1], [1, 2, 2], [4, 4, 4], [1, 5, 2]), [6, 0, -6])
    >>> solver.solve().cost
    22
    >>> solver.set_cost(1, 2)
    >>> solver.solve().cost
    14
    """

    def __init__(
        self,
        network: NetworkInput,
        supply: SupplyInput = None,
        *,
        method: CostFlowMethodName | str = "auto",
        threads: int | None = None,
        options: Mapping[str, Any] | None = None,
        ends: EndsNames = None,
        capacity: ColumnName = None,
        cost: ColumnName = None,
        lower: ColumnName = None,
    ) -> None:
        super().__init__()
        with timed(self._reading, "build"):
            if supply is None:
                check_demands_named(network)
            read = as_cost_network(network, ColumnNames(ends, capacity, cost, lower))
        if supply is not None or read.supply is None:
            read = replace(read, supply=supplies_or_own(read, supply))
        self.network: CostNetwork = read
        self._arguments: dict[str, Any] = {"method": method, "threads": threads, "options": options}

    def set_cost(self, arcs: Arcs, values: ArrayLike) -> None:
        """Change the cost of one arc or several, which are called as in :meth:`preflow.MaxFlow.set_capacity`.

        All arcs between the vertices of a pair get the cost. This copies all costs, as the other changes do:
        change many arcs in one call.
        """
        self._set("cost", arcs, values, amounts=False)

    def set_capacity(self, arcs: Arcs, values: ArrayLike) -> None:
        """Change the capacity of one arc or several, called as in :meth:`preflow.MaxFlow.set_capacity`."""
        self._set("capacity", arcs, values)

    def set_lower(self, arcs: Arcs, values: ArrayLike) -> None:
        """Change the least flow of one arc or several, called as in :meth:`preflow.MaxFlow.set_capacity`."""
        self._set("lower", arcs, values)

    def _set(self, name: str, arcs: Arcs, values: ArrayLike, *, amounts: bool = True) -> None:
        numbers, flat, _ = read_arc_changes(self.network, arcs, values, amounts=amounts)
        old = lower_of(self.network) if name == "lower" else getattr(self.network, name)
        changed: dict[str, Any] = {name: _changed(old, numbers, flat)}
        self.network = replace(self.network, **changed)

    def add_arcs(
        self,
        tail: Vertices,
        head: Vertices,
        *,
        capacity: ArrayLike = np.inf,
        cost: ArrayLike = 0,
        lower: ArrayLike | None = None,
    ) -> NDArray[np.int64]:
        """Add arcs between vertices of the network, and return their numbers.

        Parameters
        ----------
        tail, head : vertex, or array of vertices
            Of the network: labels where it has labels, else numbers.
        capacity, cost, lower : array of numbers, or number
            As in :meth:`preflow.CostNetwork.from_arrays`.
        """
        network = self.network
        ends = (read_ends(network, names, role) for names, role in ((tail, "tail"), (head, "head")))
        added = CostNetwork.from_arrays(
            *ends, capacity=capacity, cost=cost, lower=lower, num_vertices=network.num_vertices
        )
        both: dict[str, Any] = {
            name: np.concatenate(common_dtype(getattr(network, name), getattr(added, name)))
            for name in ("tail", "head", "capacity", "cost")
        }
        if network.undirected is not None:
            both["undirected"] = np.append(network.undirected, np.zeros(added.num_arcs, dtype=bool))
        lower = np.concatenate(common_dtype(lower_of(network), lower_of(added)))
        self.network = replace(network, **both, lower=lower)
        return np.arange(network.num_arcs, self.network.num_arcs)

    def set_supply(self, vertices: Vertices, values: ArrayLike) -> None:
        """Change the supply of one vertex or several, given as in ``network.vertices``.

        The supplies need not sum to zero until the next solve.
        """
        network = self.network
        assert network.supply is not None
        numbers, flat = read_changes(
            read_ends(network, vertices, "vertex"), values, network.num_vertices, "vertex"
        )
        self.network = replace(network, supply=_changed(network.supply, numbers, flat))

    def solve(
        self,
        *,
        partial: bool = False,
        time_limit: float | None = None,
        progress: bool | Reporter = False,
    ) -> MinCostFlowResult:
        """Solve the network as it is now, from the flow and the potentials of the last solve.

        `partial` sends as much as possible, as in :func:`preflow.min_cost_flow`.

        Raises
        ------
        InvalidInputError, InfeasibleError, UnboundedCostError, CapacityOverflowError, CostOverflowError
            As in :func:`preflow.min_cost_flow`.
        """
        start = self.result
        if start is not None and start.network.num_arcs < self.network.num_arcs:
            start = of_larger(self.network, start)
        result = min_cost_flow(
            self.network,
            partial=partial,
            warm_start=start,
            time_limit=time_limit,
            progress=progress,
            **self._arguments,
        )
        return self._keep(result)


def _changed(values: Array, numbers: NDArray[np.int64], new: Number) -> Array:
    """Return a copy with new values at some places; floats among integers make all of them floats."""
    copy: Array
    copy, given = common_dtype(values.copy(), read_signed(new, len(numbers), "values"))
    copy[numbers] = given
    return copy
