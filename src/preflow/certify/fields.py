"""Check the fields of a result before a proof computes with them: any of them may be corrupt."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import DTypeLike

from ..arrays import AnyArray, Array, ArrayModule
from ..errors import VerificationError
from ..graph.placement import HostArrays
from ..graph.scaling import is_close, sum_slack
from ..solving.result import Status

if TYPE_CHECKING:
    from ..graph.cost_network import CostNetwork
    from ..graph.network import FlowNetwork


def checked_array(
    place: HostArrays, values: AnyArray, name: str, shape: tuple[int, ...], *dtypes: Any
) -> AnyArray:
    """Return a field as a contiguous array of the array module of a network or graph.

    In `shape` -1 means any length. VerificationError unless it is an array of that shape and one of the
    dtypes.
    """
    try:
        array = place.to_array_module(values)
    except (AttributeError, TypeError, ValueError, BufferError):
        array = None
    check_array(place.xp, array, name, shape, *dtypes)
    return place.xp.ascontiguousarray(array)


def check_array(xp: ArrayModule, array: AnyArray, name: str, shape: tuple[int, ...], *dtypes: Any) -> None:
    """Raise VerificationError unless this is an array of `xp` with that shape and one of these dtypes."""
    if not isinstance(array, xp.ndarray):
        raise VerificationError(f"{name} is not an array of {xp.__name__}")
    lengths = zip(array.shape, shape, strict=False)
    if array.ndim != len(shape) or any(expected not in (-1, length) for length, expected in lengths):
        raise VerificationError(f"{name} has shape {array.shape}, expected {shape}")
    if not any(array.dtype == dtype for dtype in dtypes):
        names = " or ".join(str(np.dtype(dtype)) for dtype in dtypes)
        raise VerificationError(f"{name} has dtype {array.dtype}, expected {names}")


def checked_host_array(values: object, name: str, shape: tuple[int, ...], *dtypes: Any) -> Array:
    """Return a field as an array of NumPy, where it is one or, such as one of xarray, gives one.

    Parameters and errors are those of :func:`checked_array`.
    """
    try:
        array = np.asarray(values) if hasattr(values, "__array__") else None
    except Exception as error:
        raise VerificationError(f"{name} is no array: {error}") from error
    check_array(np, array, name, shape, *dtypes)
    assert array is not None
    return array


def check_kind(value: object, name: str, *kinds: type) -> None:
    """Raise VerificationError unless a field is an object of one of these classes."""
    if not isinstance(value, kinds):
        raise VerificationError(f"{name} is no {kinds[0].__name__}, got {type(value).__name__}")


def check_count(value: object, name: str) -> None:
    """Raise VerificationError unless a field is an integer that is not negative."""
    if checked_number(value, name) < 0 or not isinstance(value, int | np.integer):
        raise VerificationError(f"{name} is no number of things, got {value!r}")


def check_flag(value: object, name: str) -> None:
    """Raise VerificationError unless a field is True or False."""
    check_kind(value, name, bool)


def check_seconds(value: object) -> None:
    """Raise VerificationError unless a field has times by name, or is one."""
    times = value if isinstance(value, dict) else {"": value}
    for phase, taken in times.items():
        check_kind(phase, "a name of seconds", str)
        if not 0 <= checked_number(taken, "seconds") < math.inf:
            raise VerificationError(f"seconds has {taken!r}")


def check_history(values: object) -> tuple[int | float, ...]:
    """Return a history of at least one number, none of which exceeds the one before it.

    VerificationError: it is not.
    """
    check_kind(values, "history", tuple)
    numbers = tuple(checked_number(value, "an entry of history") for value in values)  # type: ignore[attr-defined]
    if not numbers or any(after > before for before, after in pairwise(numbers)):
        raise VerificationError(f"history does not fall: {values!r}")
    return numbers


def checked_number(value: object, name: str) -> int | float:
    """Return a field that is a number, not NaN, as a Python number: its integers do not wrap.

    VerificationError: it is no such number.
    """
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, np.floating):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        raise VerificationError(f"{name} is not a number, got {value!r}")
    return value


def check_bounds(status: object, lower_bound: object, upper_bound: object, slack: float = 0) -> None:
    """Raise VerificationError unless the bounds of a result are in order, and meet if its status is optimal.

    Rounding may separate two equal numbers by `slack`.
    """
    check_status(status)
    lower = checked_number(lower_bound, "lower_bound")
    upper = checked_number(upper_bound, "upper_bound")
    if lower == upper:
        return
    # Integers and floats are compared exactly; their difference is rounded.
    if status == "optimal" and not (slack and abs(upper - lower) <= slack):
        raise VerificationError(f"the bounds {lower} and {upper} do not meet, and the status is optimal")
    if not lower - upper <= slack:
        raise VerificationError(f"lower_bound is {lower}, more than upper_bound, {upper}")


def check_gap(
    status: object,
    gap: object,
    difference: int | float,
    size: int | float,
    terms: int,
    is_exact: Callable[[], bool],
    *,
    single: bool = False,
) -> int | float:
    """Check that a gap is that of an optimal answer or, for others, the difference of the bounds; return it.

    The gap of an optimal answer is at least the `difference` of the bounds that flow and cut prove, and what
    sums of floats lose: `size`, `terms` and `single` are as in :func:`preflow.graph.scaling.is_close`.
    `is_exact` says whether sums lose nothing; it is asked only where the gap is too small otherwise.
    VerificationError if the check fails.
    """
    stated = checked_number(gap, "the gap")
    if not stated >= 0:
        raise VerificationError(f"the gap is negative: {stated}")
    if status == "optimal":
        if not is_close(stated, size, terms, single=single):
            raise VerificationError(f"the gap is {stated}, and the status is optimal")
        # Half of the room that a gap has for sums is for those of this proof.
        if not stated >= difference + sum_slack(size) / 2 and not is_exact():
            raise VerificationError(f"sums of floats do not prove a gap of {stated}")
    elif not stated <= max(difference, 0) + 2 * sum_slack(size):
        raise VerificationError(f"the bounds are {difference} apart, not {stated}")
    return stated


def check_bounds_of_items(
    place: HostArrays,
    status: object,
    lower_bounds: Any,
    upper_bounds: Any,
    shape: tuple[int, ...],
    dtype: DTypeLike,
) -> None:
    """Check the bounds of many problems like :func:`check_bounds` checks those of one.

    They are arrays of this shape and dtype, or of Python numbers; otherwise VerificationError.
    """
    check_status(status)
    dtypes = (dtype,) if status == "optimal" else (dtype, np.float64)  # infinite bounds are floats
    lower = place.to_host(checked_numbers(place, lower_bounds, "lower_bound", shape, *dtypes))
    upper = place.to_host(checked_numbers(place, upper_bounds, "upper_bound", shape, *dtypes))
    right = lower == upper if status == "optimal" else lower <= upper
    if not right.all():
        item = tuple(int(i) for i in np.argwhere(~right.astype(bool))[0])
        raise VerificationError(
            f"the bounds of item {item} are {lower[item]} and {upper[item]}, and the status is {status}"
        )


def checked_numbers(
    place: HostArrays, values: AnyArray, name: str, shape: tuple[int, ...], *dtypes: Any
) -> AnyArray:
    """Return a field like :func:`checked_array`, but also accept a NumPy array of Python numbers."""
    if not isinstance(values, np.ndarray) or values.dtype != object:
        return checked_array(place, values, name, shape, *dtypes)
    check_array(np, values, name, shape, object)
    for value in values.flat:
        checked_number(value, f"an entry of {name}")
    return values


def check_status(status: object) -> None:
    """Raise VerificationError unless this is a status."""
    if not isinstance(status, str) or status not in get_args(Status):
        raise VerificationError(f"status must be one of {', '.join(get_args(Status))}, got {status!r}")


def check_arcs(network: FlowNetwork | CostNetwork, broken: Any, flow: AnyArray, fault: str) -> None:
    """Raise VerificationError that names the first broken arc, if there is one, and its fault."""
    if broken.any():
        arc = int(broken.argmax())
        ends = f"{network.name(network.tail[arc])} -> {network.name(network.head[arc])}"
        raise VerificationError(f"arc {arc} ({ends}) carries {flow[arc]}, {fault}")
