"""The result of grid_cut_batch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...arrays import AnyArray, Array, Number
from ...certify.fields import (
    check_array,
    check_bounds_of_items,
    check_gap,
    checked_array,
    checked_numbers,
)
from ...certify.grid import arcs_and_precision
from ...certify.grid_batch import bounds_of_items, constants_of_items
from ...drawing.images import draw_sheet, plane_of
from ...errors import VerificationError
from ...graph.grid import DeviceGridNetwork, GridNetwork
from ...graph.placement import HostArrays
from ...graph.scaling import sum_slack
from ...solving.items import BatchResult
from ..result import GridCutResult
from ..solution import GridSolution

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def part_of(network: GridNetwork, items: slice | NDArray[np.int64]) -> GridNetwork:
    """Return some items of a batch, as NumPy or CuPy arrays."""
    source, sink = network.source_capacity[items], network.sink_capacity[items]
    neighbor = network.neighbor_capacity[:, items]
    if isinstance(network, DeviceGridNetwork):
        return replace(
            network,
            shape=source.shape,
            source_capacity=source,
            sink_capacity=sink,
            neighbor_capacity=neighbor,
            restore=None,
            _checked=True,
        )
    return GridNetwork(source.shape, network.offsets, source, sink, neighbor, _checked=True)


@dataclass(frozen=True, eq=False, repr=False)
class GridCutBatchResult(BatchResult[GridCutResult]):
    """Minimum cuts of many grids.

    ``result[i]`` is the :class:`preflow.GridCutResult` of grid ``i``. A slice, or an array of numbers or
    bools, gives the result of some grids.

    Attributes
    ----------
    status : {"optimal", "time-limit", "approximate"}
        "optimal" if all items are; "approximate" if all are solved, and the gap of some is too wide.
    lower_bound, upper_bound, value : ndarray of int64 or float64, shape (items,)
        int64 if all values are integers, those of floats that are all integers, too. Arrays of Python
        numbers where 64 bits do not suffice. Bounds of items that are not optimal differ; `value` then raises
        NotOptimalError.
    labels : array of bool, shape (items, ...)
        True for the pixels on the source's side; of the same library as the input. Of all minimum cuts of an
        item this is the one with the smallest sink side.
    optimal : ndarray of bool, shape (items,)
        Which items are optimal.
    gap : ndarray, shape (items,)
        A proved bound of the difference between each value and the optimum, see :attr:`GridCutResult.gap`.
    network : GridNetwork
        One grid with all items: its first axis is the item, and no arcs lead from item to item.
    stats : SolveStats
        Of the whole batch.
    """

    labels: AnyArray
    network: GridNetwork
    _parts: tuple[GridCutResult, ...]
    _place: NDArray[np.int64]

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the two sides of each cut as a sheet of small pictures; of volumes the middle slices.

        InvalidInputError: there are more than 64 grids; draw some of them by ``result[i].plot()``.
        """
        return self._labelled(
            draw_sheet(ax, [plane_of(labels) for labels in self.network.to_host(self.labels)])
        )

    def _item(self, number: int) -> GridCutResult:
        place, k = self._place[number].tolist()
        part = self._parts[place]
        batch, grid, solution = part.network, part._grid, part._solution
        whole, one = self.network, part_of(batch, slice(k, k + 1))
        offsets, labels = whole.offsets[:, 1:], self.labels[number]
        arrays = (one.source_capacity[0], one.sink_capacity[0], one.neighbor_capacity[:, 0])
        if isinstance(batch, DeviceGridNetwork):
            network: GridNetwork = DeviceGridNetwork(
                whole.shape[1:], offsets, *arrays, device=batch.device, restore=whole.restore, _checked=True
            )
        else:
            restore = None if isinstance(whole, DeviceGridNetwork) else whole.restore
            network = GridNetwork(whole.shape[1:], offsets, *arrays, restore=restore, _checked=True)
            if isinstance(whole, DeviceGridNetwork):
                labels = whole.to_host(labels)
        constant = constants_of_items(one, replace(grid, shape=one.shape))[0]
        return GridCutResult(
            status="optimal" if self.optimal[number] else self.status,
            lower_bound=_number(self.lower_bound, number),
            upper_bound=_number(self.upper_bound, number),
            stats=self.stats,
            labels=labels,
            network=network,
            _gap=_number(self._gap, number),
            _grid=replace(
                grid,
                shape=whole.shape[1:],
                offsets=offsets,
                source=grid.source[k],
                sink=grid.sink[k],
                neighbor=grid.neighbor[:, k],
                constant_flow=constant,
            ),
            _solution=GridSolution(
                solution.sink_side[k], solution.finished, solution.residual[:, k], solution.terminal[k]
            ),
            _device=part._device,
        )

    def _some(self, items: NDArray[np.int64]) -> GridCutBatchResult:
        whole = self.network
        with whole.current():
            chosen = whole.xp.asarray(items)
            network = replace(part_of(whole, chosen), restore=whole.restore, _checked=True)
            labels = whole.to_caller(whole.to_array_module(self.labels)[chosen])
        kept, part = np.unique(self._place[items, 0], return_inverse=True)
        names = ("lower_bound", "upper_bound", "optimal", "_gap")
        return replace(
            self,
            status="optimal" if self.optimal[items].all() else self.status,
            labels=labels,
            network=network,
            _parts=tuple(self._parts[number] for number in kept.tolist()),
            _place=np.stack([part, self._place[items, 1]], axis=1),
            **{name: getattr(self, name)[items] for name in names},
        )

    def verify(self) -> None:
        """Prove all cuts minimum, independently of the solver, in linear time.

        The proof is that of :meth:`GridCutResult.verify`, for some items at once, and in addition for the
        bounds of each item.
        """
        self._check_fields()
        labels = self.network.to_host(self.labels)
        for number, part in enumerate(self._parts):
            part.verify()
            items = np.flatnonzero(self._place[:, 0] == number)
            kept = items[self.optimal[items]]
            places = self._place[kept, 1]
            self._check_part(items, part.network)
            if (labels[kept] != part.network.to_host(part.labels)[places]).any():
                raise VerificationError(f"labels of items {kept[0]} to {kept[-1]} are not those of the proof")
            with part.network.current():
                proved = part.network.to_array_module(part.labels)
                found = bounds_of_items(part.network, proved, part._grid, part._solution.terminal)
            for item, k in zip(kept.tolist(), places.tolist(), strict=True):
                bounds = found.lower[k], found.upper[k], found.size[k]
                self._check_item(item, *bounds, part._grid.scale_exponent is None)
        for item in np.flatnonzero(~self.optimal).tolist():
            self[item].verify()

    def _check_part(self, items: NDArray[np.int64], part: GridNetwork) -> None:
        """Check that the network of a part has the capacities of its items."""
        whole, places = self.network, self._place[items, 1]
        if not np.array_equal(part.offsets, whole.offsets):
            raise VerificationError("a part of the proof has other neighbours")
        for name, axis in (("source_capacity", 0), ("sink_capacity", 0), ("neighbor_capacity", 1)):
            given, solved = whole.to_host(getattr(whole, name)), part.to_host(getattr(part, name))
            if not np.array_equal(given.take(items, axis), solved.take(places, axis)):
                raise VerificationError(f"a part of the proof has another {name}")

    def _check_item(self, item: int, proved: Number, energy: Number, size: Number, is_exact: bool) -> None:
        """Check that flow and cut of an optimal item prove its value within the gap."""
        value, slack = _number(self.lower_bound, item), sum_slack(size, _number(self.lower_bound, item))
        arcs, single = arcs_and_precision(self.network, len(self))
        gap, difference = _number(self._gap, item), energy - proved if energy != proved else 0
        stated = check_gap("optimal", gap, difference, size, arcs, lambda: is_exact, single=single)
        if _number(self.upper_bound, item) != value:
            raise VerificationError(f"item {item}: it is optimal, and its bounds differ")
        if not abs(energy - value) <= slack:
            raise VerificationError(f"item {item}: the cut has capacity {energy}, not {value}")
        if not abs(proved - value) <= stated + slack:
            raise VerificationError(f"item {item}: the flow proves {proved}, not {value}")

    def _check_fields(self) -> None:
        """Check the shapes and dtypes of all fields, and the order of the bounds."""
        items = self.network.shape[0]
        whole = getattr(self.lower_bound, "dtype", None) == np.int64
        number: type[np.int64 | np.float64] = np.int64 if whole else np.float64
        checked_array(self.network, self.labels, "labels", self.network.shape, np.bool_)
        check_array(np, self.optimal, "optimal", (items,), np.bool_)
        check_array(np, self._place, "the place of items in the proof", (items, 2), np.int64)
        counts = np.array([one.network.shape[0] for one in self._parts])
        part, place = self._place.T
        if items and not (np.array_equal(np.unique(part), np.arange(len(counts))) and place.min() >= 0):
            raise VerificationError("an item has no part of the proof, or a part no item")
        if (place >= counts[part]).any():
            raise VerificationError("an item has no part of the proof")
        checked_numbers(HostArrays(), self._gap, "gap", (items,), np.int64, np.float64)
        check_bounds_of_items(HostArrays(), self.status, self.lower_bound, self.upper_bound, (items,), number)
        self._check_status()

    def __repr__(self) -> str:
        shape = " x ".join(f"{length:,}" for length in self.network.shape[1:])
        return self._text(f"grids of {shape}")


def _number(values: Array, item: int) -> Number:
    """Return an entry as a Python number."""
    return values[item : item + 1].tolist()[0]
