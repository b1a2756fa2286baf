"""Arrays of xarray: read like other arrays, and returned with their dimensions and coordinates.

xarray is never imported: an object can only be one of its arrays if the caller has imported it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ..arrays import AnyArray, Array, Restorer, Untyped
from ..errors import InvalidInputError


class Argument(NamedTuple):
    """An argument with one entry for each pixel of a grid, and perhaps more axes before or after."""

    name: str  #: for messages
    values: AnyArray  #: what the caller gave
    last: bool = True  #: whether the axes of the grid are the last ones, where there are more


@dataclass(frozen=True)
class LikeDataArray:
    """Gives NumPy arrays of one shape the dimensions and coordinates of an array of xarray."""

    shape: tuple[int, ...]
    dims: tuple[Untyped, ...]
    coords: Mapping[Untyped, Untyped]  #: mapping of names to arrays of xarray

    def __call__(self, values: Array) -> AnyArray:
        """Return an array of that shape as an array of xarray; another one unchanged. Both are read-only."""
        values.flags.writeable = False
        if values.shape != self.shape:
            return values
        from xarray import DataArray

        return DataArray(values, dims=self.dims, coords=self.coords)


def is_data_array(values: AnyArray) -> bool:
    """Return whether an object is an array of xarray."""
    module = sys.modules.get("xarray")
    return module is not None and isinstance(values, module.DataArray)


def like_data_array(ndim: int, arguments: Iterable[Argument]) -> Restorer:
    """Return a function that gives arrays of a grid's shape the dimensions and coordinates of the arguments.

    None if no argument is an array of xarray with the axes of the grid. InvalidInputError: two arguments have
    different dimensions, another order of them, or different coordinates.
    """
    found: LikeDataArray | None = None
    first = ""
    for name, values, last in arguments:
        if not is_data_array(values) or values.ndim < ndim or not ndim:
            continue
        dims = values.dims[-ndim:] if last else values.dims[:ndim]
        coords = {key: each for key, each in values.coords.items() if set(each.dims) <= set(dims)}
        like = LikeDataArray(tuple(values.sizes[dim] for dim in dims), tuple(dims), coords)
        if found is None:
            found, first = like, name
            continue
        if found.dims != like.dims:
            raise InvalidInputError(f"{first} has the dimensions {found.dims}, {name} has {like.dims}")
        for dim in dims:
            mine, other = found.coords.get(dim), like.coords.get(dim)
            if mine is not None and other is not None and not mine.equals(other):
                raise InvalidInputError(
                    f"{first} and {name} have different coordinates along {dim!r}: align them first"
                )
    return found
