"""The arrays of the results of a batch on a GPU, which exist once for all items until somebody reads them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..arrays import AnyArray, Array
from ..certify.device_transport import PlanArrays
from ..graph.device.costs import DeviceCosts


@dataclass(frozen=True, eq=False)
class PlanBatch:
    """Plans and prices of a batch, from which each result takes its views."""

    costs: DeviceCosts  #: of all items
    plans: PlanArrays
    sizes: list[int]  #: numbers of pairs of the items
    given: tuple[Array, Array]  #: masses of rows and of columns as the caller gave them
    #: the masses of an item in `plans` are multiplied by two to this power; None for integers
    exponents: list[int] | None

    @cached_property
    def _amounts(self) -> tuple[AnyArray, AnyArray]:
        """The masses of the pairs, and those that the caller gave, in the caller's units."""
        plans, xp = self.plans, self.costs.xp
        if self.exponents is None:
            return plans.mass, plans.given
        powers = xp.asarray(-np.array(self.exponents))[:, None]
        amounts = xp.ldexp(plans.mass.astype(np.float64), powers)
        return amounts, xp.asarray(np.concatenate(self.given, axis=1))

    def fields(self, item: int) -> dict[str, AnyArray | DeviceCosts]:
        """Return the fields of the result of an item."""
        costs, plans, size, n = self.costs, self.plans, self.sizes[item], self.costs.shape[1]
        with costs.current():
            mass, given = (part[item] for part in self._amounts)
            arrays = {
                "row": plans.row[item, :size],
                "column": plans.column[item, :size],
                "mass": mass[:size],
                "u": plans.price[item, :n],
                "v": plans.price[item, n:],
                "a": given[:n],
                "b": given[n:],
            }
            found = {name: costs.to_caller(part) for name, part in arrays.items()}
        return found | {"costs": replace(costs, values=costs.values[item : item + 1], leading=())}
