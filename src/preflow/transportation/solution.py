"""Plans with prices, which solvers of transport return."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyArray, Array
from ..certify.device_transport import PlanArrays
from ..cuda.runtime import Device


class TransportFound(NamedTuple):
    """A plan with prices, of one item."""

    #: at most n + m - 1 pairs
    row: NDArray[np.int64]
    column: NDArray[np.int64]
    mass: NDArray[np.int64]
    #: int64 or float64: ``cost[i, j] + u[i] - v[j]`` is at least 0, and 0 where there is mass; of float costs
    #: after rounding
    u: AnyArray
    v: AnyArray
    #: "infeasible": the plan sends less than the masses, and `reached` proves that no plan sends all
    ending: Literal["optimal", "infeasible", "stopped"]
    rounding: float = 0.0  #: how much a rounded cost may differ from the cost: 0 for integers
    #: shape (n + m,): rows, then columns, whose masses together cannot leave them
    reached: NDArray[np.bool_] | None = None
    #: shape (n + m,): the parent of each row, then of each column, in a forest of pairs whose reduced costs
    #: are 0, with all pairs that have mass; -1 for roots. None for a solve that was stopped.
    parent: NDArray[np.int64] | None = None

    def transposed(self) -> TransportFound:
        """Return the same with rows and columns exchanged.

        Columns that lack mass cannot get it from the other side of the cut whose rows cannot send theirs.
        """
        n, m = len(self.u), len(self.v)
        reached, parent = self.reached, self.parent
        if reached is not None:
            reached = ~np.concatenate([reached[n:], reached[:n]])
        if parent is not None:
            parent = np.concatenate([parent[n:], parent[:n]])
            parent = np.where(parent < 0, -1, (parent + m) % (n + m))
        found = self._replace(row=self.column, column=self.row, u=-self.v, v=-self.u)
        return found._replace(reached=reached, parent=parent)


@dataclass(frozen=True, eq=False)
class DevicePlans:
    """The plans of all items of a batch, in the memory of a GPU; an item of it is a plan on the host."""

    device: Device
    arrays: PlanArrays
    num_rows: int
    #: shape (items,): whether the solve of an item ended; otherwise it has prices only
    is_optimal: NDArray[np.bool_]
    rounding: float  #: as in :class:`TransportFound`

    @cached_property
    def _on_host(self) -> tuple[Array, ...]:
        """Pairs, masses, their numbers, prices and trees in the host's memory, copied at first use."""
        parts = self.arrays
        with self.device.current():
            wanted = parts.row, parts.column, parts.mass, parts.count, parts.price, parts.parent
            return tuple(self.device.to_host(part) for part in wanted)

    def __len__(self) -> int:
        return len(self.is_optimal)

    def __getitem__(self, item: int) -> TransportFound:
        row, column, mass, count, price, parents = self._on_host
        size, n = int(count[item]), self.num_rows
        ending: Literal["optimal", "stopped"] = "optimal" if self.is_optimal[item] else "stopped"
        row, column, mass = (part[item, :size] for part in (row, column, mass))
        parent = parents[item].astype(np.int64)
        parent[parent >= len(parent)] = -1
        prices = price[item, :n], price[item, n:]
        return TransportFound(row, column, mass, *prices, ending, self.rounding, None, parent)

    def __iter__(self) -> Iterator[TransportFound]:
        return (self[item] for item in range(len(self)))
