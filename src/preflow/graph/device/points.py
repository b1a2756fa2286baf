"""Costs of assignments that are distances between points on a GPU, computed when needed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...arrays import AnyArray, DType
from ...cuda.runtime import Device, Macros
from ..placement import DeviceArrays, require_memory
from ..point_costs import PointCosts
from .costs import KERNELS


@dataclass(frozen=True, eq=False, repr=False)
class DevicePoints(DeviceArrays):
    """Distances between two sets of points on a GPU as the costs of an assignment."""

    #: CuPy array of float64, shapes (n, d) and (m, d)
    rows: AnyArray
    columns: AnyArray
    #: the distance: EUCLIDEAN, SQEUCLIDEAN, CITYBLOCK or CHEBYSHEV, see :mod:`.point_costs`
    kind: int
    factor: float  #: factor of the distances
    maximize: bool = False

    @property
    def shape(self) -> tuple[int, int, int]:
        """1, number of rows, number of columns."""
        return 1, len(self.rows), len(self.columns)

    @property
    def dtype(self) -> DType:
        """The dtype of costs, float64."""
        return np.dtype(np.float64)

    @property
    def macros(self) -> Macros:
        """Macros for the distance and the number of coordinates: see ``cost_types.cuh``."""
        return ("COST_KIND", len(KERNELS) + self.kind), ("DIMENSION", self.rows.shape[1])

    def to_minimize(self) -> DevicePoints:
        """Return costs to minimise, with no more rows than columns, that have the same best assignments."""
        rows, columns = self.rows, self.columns
        if len(rows) > len(columns):
            rows, columns = columns, rows
        factor = -self.factor if self.maximize else self.factor
        return replace(self, rows=rows, columns=columns, factor=factor, maximize=False)


def points_on_device(costs: PointCosts, device: Device) -> DevicePoints:
    """Copy points to a GPU."""
    rows, columns = costs.embedded
    require_memory(device, rows.nbytes + columns.nbytes, f"{len(rows):,} and {len(columns):,} points")
    with device.current():
        points, others = device.xp.asarray(rows), device.xp.asarray(columns)
        device.synchronize()
    return DevicePoints(points, others, costs.kind, costs.factor, costs.maximize, device=device, restore=None)
