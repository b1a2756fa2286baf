"""Turn the capacities of a grid, as the caller gives them, into arrays of one shape."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import AnyArray, Array, ArrayModule, Connectivity, Periodic
from ..checks import warn_caller
from ..errors import CapacityOverflowError, InvalidInputError
from .neighbourhood import both_ways, half_neighbourhood, named_neighbourhoods
from .network import INT64_MAX
from .periodic import checked_periodic, unroll
from .placement import host_array

#: Arrays of shape (h, w, 3) and (h, w, 4) are thought to be images if both h and w are at least this.
LEAST_SIDE = 16


def looks_like_channels(shape: tuple[int, ...]) -> bool:
    """Return whether an array of three axes is rather an image with colours than a volume."""
    return len(shape) == 3 and shape[2] in (3, 4) and min(shape[:2]) >= LEAST_SIDE


#: Dtypes in which capacities are stored; smaller dtypes are converted to the next of these.
KEPT = {"i": (np.int16, np.int32, np.int64), "f": (np.float32, np.float64)}


def grid_arrays(
    source: AnyArray,
    sink: AnyArray,
    neighbor: AnyArray,
    connectivity: Connectivity,
    xp: ArrayModule,
    periodic: Periodic = False,
) -> tuple[Any, ...]:
    """Return the attributes of a network with these arrays of the module `xp`; checks shapes."""
    shape = grid_shape(source, sink)
    neighbor, half = _with_neighbourhood(neighbor, shape, connectivity, xp)
    neighbor = _of_kept_dtype(neighbor, "neighbor_capacity")
    rings = checked_periodic(periodic, len(shape))
    if any(rings):
        whole = xp.broadcast_to(neighbor, (len(neighbor), *shape))
        neighbor, half = unroll(shape, whole, half, rings, xp)
    arrays = (
        _spread(_of_kept_dtype(source, "source_capacity"), shape, xp),
        _spread(_of_kept_dtype(sink, "sink_capacity"), shape, xp),
        _spread(neighbor, (len(neighbor), *shape), xp),
    )
    return shape, both_ways(half), *arrays


def compact(values: AnyArray) -> AnyArray:
    """Return an array with length 1 along axes of stride 0."""
    if 0 not in values.strides:
        return values
    return values[tuple(slice(0, 1) if stride == 0 else slice(None) for stride in values.strides)]


def _spread(values: AnyArray, shape: tuple[int, ...], xp: ArrayModule) -> AnyArray:
    view = values.view() if values.shape == shape else xp.broadcast_to(values, shape).view()
    if isinstance(view, np.ndarray):
        view.flags.writeable = False
    return view


def as_capacities(values: AnyArray, name: str) -> Array:
    """Return an array-like as an array of numbers of at most 64 bits."""
    array = host_array(values, name)
    check_numbers(array, name)
    return array


def check_numbers(array: AnyArray, name: str) -> None:
    """Raise InvalidInputError unless an array has bools, or integers or floats of at most 64 bits."""
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise InvalidInputError(
            f"{name} must hold integers or floats of at most 64 bits, got dtype {array.dtype}"
        )


def stacked_by_axis(values: AnyArray, shape: tuple[int, ...], name: str) -> AnyArray:
    """Return the array of directions that arrays of one axis each are, as those of gco; others as they are.

    The shape of such an array says its axis: it is one shorter there than the grid, as (h - 1, w) is for the
    pairs of pixels one below the other. InvalidInputError: shapes differ in any other way.
    """
    if not isinstance(values, list | tuple):
        return values
    try:
        shapes = [np.shape(each) for each in values]
    except ValueError:  # one of them is no array
        return values
    if {len(each) for each in shapes} != {len(shape)}:
        return values
    half = named_neighbourhoods(len(shape))[2 * len(shape)]
    short = [tuple(side - step for side, step in zip(shape, offset, strict=True)) for offset in half]
    if len(set(shapes)) == 1 and shapes[0] not in short:
        return values
    if sorted(shapes) != sorted(short):
        raise InvalidInputError(
            f"{name} has arrays of the shapes {', '.join(map(str, shapes))}: expected shape (K, "
            f"{', '.join(map(str, shape))}), or an array of each of the shapes {', '.join(map(str, short))}"
        )
    by_shape = dict(zip(shapes, values, strict=True))
    return np.stack(
        [np.pad(by_shape[each], [(0, step) for step in way]) for each, way in zip(short, half, strict=True)]
    )


def warn_of_order(values: AnyArray, half: list[tuple[int, ...]], name: str) -> None:
    """Warn if arrays of the axes seem to have the order of the axes, first that of the first axis.

    An array of one axis that was made as large as the image has zeros at the end of this axis, where no pixel
    has a neighbour. Here each has them where another one should, and not where it should.
    """
    ndim = len(half)
    if not isinstance(values, np.ndarray) or values.ndim != ndim + 1 or len(values) != ndim or ndim < 2:
        return
    if half != named_neighbourhoods(ndim)[2 * ndim] or 1 in values.shape[1:]:
        return
    ends = [[bool(row.take(-1, axis).any()) for axis in range(ndim)] for row in values]
    if all(not ends[axis][axis] and (ends[axis][-1 - axis] or 2 * axis + 1 == ndim) for axis in range(ndim)):
        warn_caller(
            f"{name}[0] is 0 at the end of the first axis, as if it were for neighbours along that axis; the "
            f"order of directions is {', '.join(map(str, half))}"
        )


def grid_shape(source: AnyArray, sink: AnyArray) -> tuple[int, ...]:
    """Return the shape of the grid that has these terminal capacities."""
    shapes = {values.shape for values in (source, sink) if values.ndim}
    if not shapes:
        raise InvalidInputError(
            "source_capacity and sink_capacity are scalars: one has the shape of the grid"
        )
    if len(shapes) > 1:
        raise InvalidInputError(
            f"source_capacity has shape {source.shape}, sink_capacity has shape {sink.shape}"
        )
    shape: tuple[int, ...] = shapes.pop()
    return shape


def _with_neighbourhood(
    neighbor: AnyArray, shape: tuple[int, ...], connectivity: Connectivity, xp: ArrayModule
) -> tuple[AnyArray, list[tuple[int, ...]]]:
    """Return neighbour capacities with an axis for directions and the axes of the grid, and the offsets."""
    ndim = len(shape)
    if neighbor.ndim == 1:
        neighbor = neighbor.reshape(-1, *(1,) * ndim)
    if neighbor.ndim not in (0, ndim + 1):
        raise InvalidInputError(
            f"neighbor_capacity has shape {neighbor.shape}: expected a scalar, a number for every direction, "
            f"or (directions, {', '.join(map(str, shape))})"
        )
    rows = len(neighbor) if neighbor.ndim else None
    half = half_neighbourhood(ndim, neighbours_of(ndim, rows) if connectivity is None else connectivity)
    if rows is None:
        return xp.broadcast_to(neighbor, (len(half), *(1,) * ndim)), half
    if rows not in (len(half), 2 * len(half)):
        raise InvalidInputError(
            f"neighbor_capacity has a first axis of length {rows}: expected {len(half)}, one for every two "
            f"opposite directions, or {2 * len(half)}"
        )
    if any(length not in (1, full) for length, full in zip(neighbor.shape[1:], shape, strict=True)):
        raise InvalidInputError(f"neighbor_capacity has shape {neighbor.shape}, the grid has shape {shape}")
    warn_of_order(neighbor, half, "neighbor_capacity")
    return neighbor, half


def neighbours_of(ndim: int, rows: int | None) -> int:
    """Return the number of neighbours that fits `rows` capacities a pixel."""
    sizes = list(named_neighbourhoods(ndim))
    if rows is None:
        return sizes[0]
    fitting = [size for size in sizes if rows in (size // 2, size)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise InvalidInputError(
            f"{rows} capacities a pixel are for {fitting[0]} neighbours, one each way, or for {fitting[1]}, "
            "both ways alike: say connectivity"
        )
    raise InvalidInputError(
        f"neighbor_capacity has a first axis of length {rows}, which fits no named neighbourhood in {ndim} "
        "dimensions: give connectivity as a list of offsets"
    )


def _of_kept_dtype(values: AnyArray, name: str) -> AnyArray:
    """Return an array in the smallest dtype of KEPT that can represent all values of its dtype."""
    kind, itemsize = values.dtype.kind, values.dtype.itemsize
    if kind == "u" and itemsize == 8:
        if values.size and int(values.max()) > INT64_MAX:
            raise CapacityOverflowError(f"{name} {int(values.max())} does not fit int64")
        return values.astype(np.int64)
    kept = KEPT["f" if kind == "f" else "i"]
    if values.dtype in kept:
        return values
    for dtype in kept:
        if np.can_cast(values.dtype, dtype):
            return values.astype(dtype)
    raise AssertionError(f"{values.dtype} is not a dtype of capacities")
