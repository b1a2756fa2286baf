"""Names for the types of arrays and numbers.

Numba compiles a kernel for each type of arguments that callers pass, so most kernels take arrays of several
types. These names say which.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: An array of any type of numbers.
Array: TypeAlias = NDArray[Any]
#: Positions of vertices, arcs, rows or columns: uint32 where they fit, otherwise uint64.
Indices: TypeAlias = NDArray[np.unsignedinteger[Any]]
#: Integers of any width.
Integers: TypeAlias = NDArray[np.integer[Any]]
#: Integers or floats: capacities, costs, prices.
Numbers: TypeAlias = NDArray[np.number[Any]]
#: A uint64. mypy takes the variable of a loop over a range for an int.
Index: TypeAlias = int | np.uint64
#: An int64 in kernels, where Python may give an int.
Int64: TypeAlias = int | np.int64
#: One number of the type that an array of `Numbers` or `Integers` has. It is uint64, int64 or float64.
Number: TypeAlias = Any
#: An array of NumPy, or of CuPy on a device. CuPy has no types.
AnyArray: TypeAlias = Any
#: A function that converts arrays of NumPy or CuPy to those of the caller's library; None if they are that.
Restorer: TypeAlias = Callable[[AnyArray], AnyArray] | None
#: The module ``numpy`` or ``cupy``.
ArrayModule: TypeAlias = ModuleType
#: A residual network: a tuple of its arrays (:class:`preflow.graph.residual.ResidualArrays`), or of a grid's
#: capacities, whose arcs follow from the numbers of the pixels.
ResidualNetwork: TypeAlias = Any
#: The type of the entries of an array.
DType: TypeAlias = np.dtype[Any]
#: The neighbours of a pixel: a number (4, 8, 6, 18 or 26), or the offsets of half of them, shape (k, ndim).
Connectivity: TypeAlias = ArrayLike | None
#: The length of a pixel along each axis, one number for each; None where all are alike.
Spacing: TypeAlias = ArrayLike | None
#: Whether an axis of a grid is a ring: one bool for all axes, or one for each.
Periodic: TypeAlias = bool | Sequence[bool]
#: A vertex by its number or name, or several vertices.
Vertices: TypeAlias = Hashable | ArrayLike
#: Arcs by their numbers, or a pair of vertices by number or name, or several pairs.
Arcs: TypeAlias = ArrayLike | tuple[Hashable, Hashable] | Sequence[tuple[Hashable, Hashable]]
#: A network as callers give it, which functions find out: see :func:`preflow.max_flow`.
NetworkInput: TypeAlias = object
#: Supplies as callers give them: one number for each vertex, or for some by name. None: see the function.
SupplyInput: TypeAlias = ArrayLike | Mapping[Hashable, Any] | None
#: An undirected graph as callers give it: see :func:`preflow.matching`.
GraphInput: TypeAlias = object
#: The labels of rows and of columns, where they are no numbers.
SideLabels: TypeAlias = tuple[tuple[Hashable, ...], tuple[Hashable, ...]] | None
#: The names that a caller gives to two columns, and to one; None: the usual ones.
EndsNames: TypeAlias = tuple[Hashable, Hashable] | None
ColumnName: TypeAlias = Hashable
#: A table with a row for each edge, as callers give it: see :mod:`preflow.graph.edge_tables`.
TableInput: TypeAlias = object
#: Edges as callers give them: tuples of the labels of both ends and perhaps a number or a mapping.
EdgesInput: TypeAlias = Iterable[tuple[Any, ...]]
#: Edges as callers give them: ``{tail: {head: number}}``.
DictInput: TypeAlias = Mapping[Any, Any]
#: Weights of edges as callers give them: the name of an attribute, one number for each edge, False or None.
WeightInput: TypeAlias = ArrayLike | str | None
#: An object of a library that has no types: a type of Numba, a builder of LLVM.
Untyped: TypeAlias = Any
