"""Costs of rows and columns without a partner, and of masses that stay where they are, as given."""

from __future__ import annotations

import numpy as np

from ..arrays import AnyArray, Array
from ..checks import check_finite
from ..cuda import runtime
from ..cuda.runtime import is_on_gpu
from ..errors import InvalidInputError
from .costs import LARGEST_INTEGER, DenseCosts, SparseCosts
from .device.costs import DeviceCosts
from .edge_tables import in_order_of
from .placement import as_device_array, host_array
from .point_costs import PointCosts


def read_unmatched_cost(
    costs: DenseCosts | SparseCosts | PointCosts | DeviceCosts, given: AnyArray
) -> tuple[Array, Array]:
    """Return the costs of rows and columns of each item, with one dtype; shapes (items, n), (items, m)."""
    items, n, m = costs.shape
    both = given if isinstance(given, tuple) else (given, given)
    if len(both) != 2:
        raise InvalidInputError(
            f"unmatched_cost is a number, or a tuple (rows, columns), got a tuple of {len(both)}"
        )
    found = []
    labels = (None, None) if isinstance(costs, PointCosts) else costs.labels or (None, None)
    for values, size, side in ((both[0], n, "rows"), (both[1], m, "columns")):
        values = in_order_of(labels[side == "columns"], values, f"unmatched_cost of {side}")
        numbers = _on_host(values) if is_on_gpu(values) else host_array(values, f"unmatched_cost of {side}")
        if numbers.dtype.kind not in "biuf":
            raise InvalidInputError(f"unmatched_cost of {side} must be numbers, got {values!r}")
        if numbers.dtype.kind == "f":
            numbers = numbers.astype(np.float64)
        check_finite(f"unmatched_cost of {side}", numbers)
        if numbers.dtype.kind != "f":
            if numbers.size and max(int(numbers.max()), -int(numbers.min())) > LARGEST_INTEGER:
                raise InvalidInputError(f"unmatched_cost of {side} is past 2**59")
            numbers = numbers.astype(np.int64)
        try:
            found.append(np.broadcast_to(numbers, (*costs.leading, size)).reshape(items, size))
        except ValueError:
            raise InvalidInputError(
                f"unmatched_cost of {side} has shape {numbers.shape}, expected one number or ({size},)"
            ) from None
    dtype = np.result_type(*found, np.float64 if costs.dtype.kind == "f" else np.int64)
    rows, columns = (np.ascontiguousarray(part, dtype=dtype) for part in found)
    return rows, columns


def _on_host(values: AnyArray) -> Array:
    device = runtime.find_device()
    return device.to_host(as_device_array(device, values, "unmatched_cost", "problem"))
