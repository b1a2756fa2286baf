"""The result of grid_cut."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..certify.fields import check_bounds, check_gap, checked_array, checked_number
from ..certify.grid import (
    arcs_and_precision,
    check_grid_flow,
    check_grid_labels,
    check_within_network,
    energy_size,
    labelling_energy,
    lower_bound,
)
from ..cuda.runtime import Device
from ..drawing.images import draw_regions, plane_of
from ..errors import VerificationError
from ..graph.grid import DeviceGridNetwork, GridNetwork
from ..graph.integer_grid import IntegerGrid
from ..graph.scaling import sum_slack
from ..solving.result import BoundedResult
from .solution import GridFlow, GridSolution

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class GridCutResult(BoundedResult):
    """A minimum cut of a grid, or the best one found within the time limit.

    Arrays are of the same library as the input: NumPy, CuPy, Torch ...

    Attributes
    ----------
    labels : array of bool, shape of the grid
        True for the pixels on the source's side. Of all minimum cuts this is the one with the smallest sink
        side, so for exact capacities it depends on the network only.
    status, lower_bound, upper_bound, value, stats
        See :class:`preflow.solving.result.BoundedResult`. The capacity of this cut is `upper_bound`.
    network : GridNetwork
    """

    labels: NDArray[np.bool_]
    network: GridNetwork
    _gap: int | float
    _grid: IntegerGrid
    _solution: GridSolution
    _device: Device | None

    @property
    def gap(self) -> int | float:
        """A proved bound on the distance of `value` from the optimum of the capacities as given.

        It is 0 for integers, and for floats that are all integers up to 2**53. Otherwise, where the status is
        "optimal", it is at most ``2**-40 + num_arcs * 2**-53`` of the value, where all floats are float32
        ``2**-20``; if some terminal capacities are negative, of the sum of the absolute values of its terms.
        See :mod:`preflow.graph.scaling`. With any other status it is the difference of the two bounds.
        """
        return self._gap

    @property
    def energy(self) -> int | float:
        """The capacity of the cut, summed from the labels; equal to `value` if the solve was finished."""
        with self.network.current():
            return labelling_energy(self.network, self.network.to_array_module(self.labels))

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the two sides of the cut; of a volume the middle slice."""
        return self._labelled(draw_regions(ax, plane_of(self.network.to_host(self.labels))))

    def verify(self) -> None:
        """Prove the cut minimum, independently of the solver, in linear time.

        The certificate is the residual capacities that the flow between neighbours leaves. With them the
        energy of every labelling is a constant plus the residual capacities that it cuts. None of these is
        negative, so a labelling that cuts none is optimal. A result that stopped early proves its two bounds
        instead.
        """
        on_device = self._device is not None and isinstance(self.network, DeviceGridNetwork)
        network = self.network if on_device else self.network.on_host()
        with self.network.current():
            grid, solution = (self._grid, self._solution) if on_device else self._on_host()
            given = checked_array(self.network, self.labels, "labels", network.shape, np.bool_)
            labels = given if on_device else self.network.to_host(given)
            check_within_network(grid, network)
            check_grid_flow(grid, solution.residual, solution.terminal)
            if self.status == "optimal":
                check_grid_labels(grid, solution.residual, solution.terminal, labels)
            energy = labelling_energy(network, labels)
            proved = grid.in_network_units(lower_bound(grid, solution.terminal))
        size = energy_size(network, labels, energy)
        upper, lower = (checked_number(getattr(self, f"{end}_bound"), end) for end in ("upper", "lower"))
        slack = sum_slack(size, upper) if energy < np.inf else 0
        arcs, single = arcs_and_precision(network)
        difference = upper - proved if upper < np.inf else np.inf
        stated = check_gap(
            self.status, self.gap, difference, size, arcs, lambda: grid.scale_exponent is None, single=single
        )
        check_bounds(self.status, lower, upper, slack)
        if energy != upper and not abs(energy - upper) <= slack:
            raise VerificationError(f"the cut has capacity {energy}, not {upper}")
        if not abs(proved - lower) <= (stated if self.status == "optimal" else 0) + slack:
            raise VerificationError(f"the flow proves {proved}, not {lower}")
        if not energy - proved <= stated + slack:
            raise VerificationError(f"the bounds are {energy - proved} apart, not {stated}")

    def flow(self, grid: IntegerGrid) -> GridFlow:
        """Return this flow as the start of a solve of `grid`, which has the same shape and neighbourhood."""
        shift = (grid.scale_exponent or 0) - (self._grid.scale_exponent or 0)
        if grid.xp is self._grid.xp:
            return GridFlow(self._grid, self._solution.residual, shift)
        if self._device is not None:
            return GridFlow(self._grid, self._solution.residual, shift, self._device.to_host)
        return GridFlow(self._grid, self._solution.residual, shift, grid.xp.asarray)

    def residual_by_pixel(self) -> Array:
        """Return the residual capacities that the solve left, in the order of pixels: shape (size, 2 K).

        Of a solve on the CPU; a view where the method keeps them in this order. Those of arcs that leave the
        grid are 0.
        """
        by_pixel = np.moveaxis(self._solution.residual, 0, -1)
        return np.ascontiguousarray(by_pixel).reshape(self.network.size, -1)

    def _on_host(self) -> tuple[IntegerGrid, GridSolution]:
        if self._device is None:
            return self._grid, self._solution
        to_host = self._device.to_host
        found = self._solution
        with self._device.current():
            solution = GridSolution(
                to_host(found.sink_side), found.finished, to_host(found.residual), to_host(found.terminal)
            )
            return self._grid.placed(np, to_host), solution

    def __repr__(self) -> str:
        size = int(np.count_nonzero(self.network.to_host(self.labels)))
        side = f"{size:,} of {self.network.size:,} pixels on the source side"
        return f"<GridCutResult: {self._headline()}, {side}, {self._how()}>"
