"""Dense costs of assignments on a GPU: read, checked, and copied from the host."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import AnyArray, DType, Number
from ...cuda import runtime
from ...cuda.runtime import Device, Macros
from ...cuda.structs import U64, ConstU32
from ...errors import InvalidInputError
from ..costs import LARGEST_INTEGER, DenseCosts, batch_shape, check_extent, checked_sizes
from ..placement import DeviceArrays, as_device_array, require_memory, restorer

SOURCE = Path(__file__).with_suffix(".cu")
#: Dtypes of costs on a GPU by the suffix of their kernels, in the order of COST_KIND in ``cost_types.cuh``.
#: Others are converted to the next.
KERNELS = {"i4": "int32", "i8": "int64", "f4": "float32", "f8": "float64"}
WIDER = {"b1": "i4", "i1": "i4", "u1": "i4", "i2": "i4", "u2": "i4", "u4": "i8", "u8": "i8", "f2": "f4"}
#: Words of the result of a kernel: the largest, the smallest with its bits inverted, and flags.
Place = IntEnum("Place", "MOST LEAST_TURNED HAS_FINITE HAS_NAN HAS_MINUS HAS_PLUS", start=0)


class Extent(NamedTuple):
    """Properties of the costs within the sizes."""

    #: least, most: int or float: the smallest and the largest finite cost; 0 if there are none
    least: AnyArray
    most: AnyArray
    has_nan: bool
    infinite: tuple[bool, bool]  #: whether there is a cost of minus and of plus infinity


class Arguments(NamedTuple):
    """Arguments of the kernels."""

    values: Annotated[AnyArray, "const void*"]
    num_values: int
    sizes: ConstU32  #: of each item, its rows and columns
    num_rows: int
    num_columns: int
    found: U64


@dataclass(frozen=True, eq=False, repr=False)
class DeviceCosts(DeviceArrays):
    """Dense cost matrices of one shape on a GPU."""

    #: CuPy array of int32, int64, float32 or float64, shape (items, n, m): contiguous; an infinite cost means
    #: that the pair is not allowed
    values: AnyArray
    #: the leading dimensions of the caller's array; empty for one matrix
    leading: tuple[int, ...] = ()
    maximize: bool = False
    #: shape (items, 2): the numbers of rows and columns that each item uses; the others do not count. In the
    #: host's memory.
    sizes: NDArray[np.int64] | None = None
    #: The arrays of libraries for GPUs have no labels.
    labels: ClassVar[None] = None

    @property
    def shape(self) -> tuple[int, int, int]:
        """Number of matrices, rows, columns."""
        items, n, m = self.values.shape
        return items, n, m

    @property
    def dtype(self) -> DType:
        """The dtype of costs."""
        dtype: DType = self.values.dtype
        return dtype

    @property
    def macros(self) -> Macros:
        """The macros of :func:`type_macros` for these costs."""
        return type_macros(self.dtype)

    @cached_property
    def extent(self) -> Extent:
        """Properties of the costs, computed at first use, in one pass over them."""
        return _extent(self)

    @property
    def huge(self) -> bool:
        """Whether some float is past :func:`preflow.graph.costs.largest_cost`."""
        least, most, _, infinite = self.extent
        return check_extent(least, most, self.maximize, min(self.shape[1:]), infinite=infinite)

    def on_host(self) -> DenseCosts:
        """Return the costs in the host's memory; copied once."""
        return self._host_copy

    @cached_property
    def _host_copy(self) -> DenseCosts:
        with self.current():
            values = self.device.to_host(self.values)
        wide = values.astype(np.int64, copy=False) if values.dtype.kind == "i" else values
        return DenseCosts(wide, self.leading, self.maximize, self.sizes, huge=self.huge)

    def one_on_host(self, item: int) -> DenseCosts:
        """Return one of the items, with the rows and columns that it uses, in the host's memory."""
        size = None if self.sizes is None else self.sizes[item : item + 1]
        return replace(self, values=self.values[item : item + 1], leading=(), sizes=size).on_host().one(0)

    def items(self, numbers: NDArray[np.int64]) -> DeviceCosts:
        """Return the items with these numbers, as a batch of their shape; one item for a single number."""
        chosen = numbers.reshape(-1)
        sizes = None if self.sizes is None else self.sizes[chosen]
        with self.current():
            values = self.values[self.xp.asarray(chosen)]
            if not numbers.ndim and sizes is not None:
                n, m = sizes[0].tolist()
                values, sizes = self.xp.ascontiguousarray(values[:, :n, :m]), None
        return replace(self, values=values, leading=numbers.shape, sizes=sizes)

    def to_minimize(self) -> DeviceCosts:
        """Return costs to minimise, with no more rows than columns, that have the same best assignments.

        They are copied on the GPU where they are to be maximised or have more rows than columns.
        """
        values, sizes = self.values, self.sizes
        with self.current():
            if self.shape[1] > self.shape[2]:
                values = values.swapaxes(1, 2)
                sizes = sizes if sizes is None else sizes[:, ::-1]
            if self.maximize:
                if values.dtype == np.int32 and self.extent.least == np.iinfo(np.int32).min:
                    values = values.astype(np.int64)  # int32 cannot represent the negative of its minimum
                values = -values
            values = self.xp.ascontiguousarray(values)
        return replace(self, values=values, maximize=False, sizes=sizes)

    def at(self, item: Any, rows: AnyArray, columns: AnyArray) -> AnyArray:
        """Return the costs of pairs; infinite where they are not allowed."""
        return self.values[item, rows, columns]


def type_macros(dtype: DType) -> Macros:
    """Return the macros that tell kernels the type of a matrix of costs: see ``cost_types.cuh``."""
    return (("COST_KIND", list(KERNELS).index(dtype.str[1:])),)


def costs_on_device(cost: AnyArray, maximize: bool, sizes: AnyArray) -> DeviceCosts:
    """Return costs on a GPU, checked on the GPU: see :func:`.as_costs`."""
    device = runtime.find_device()
    values = as_device_array(device, cost, "cost", "problem")
    leading, items, n, m = batch_shape(values)
    with device.current():
        stack = device.xp.ascontiguousarray(_as_numbers(values)).reshape(items, n, m)
    checked = checked_sizes(sizes, leading, n, m)
    costs = DeviceCosts(stack, leading, maximize, checked, device=device, restore=restorer(device, cost))
    check_on_device(costs)
    return costs


def check_on_device(costs: DeviceCosts) -> None:
    """Raise InvalidInputError if a cost is NaN or infinitely good, or integers are too large to be added."""
    if costs.extent.has_nan:
        costs.on_host().fitted(1)  # raises, and names the place
    _ = costs.huge


def copied_to_device(costs: DenseCosts, device: Device) -> DeviceCosts:
    """Copy costs from the host to a GPU."""
    require_memory(device, costs.values.nbytes, f"costs of shape {costs.values.shape}")
    with device.current():
        values = device.xp.asarray(costs.values)
        device.synchronize()
    return DeviceCosts(values, costs.leading, costs.maximize, costs.sizes, device=device, restore=None)


def _as_numbers(values: AnyArray) -> AnyArray:
    """Return numbers as int32, int64, float32 or float64."""
    name = values.dtype.str[1:]
    if name in KERNELS:
        return values
    if name not in WIDER:
        raise InvalidInputError(
            f"costs must be integers or floats of up to 64 bits, got dtype {values.dtype}"
        )
    if name == "u8" and values.size and int(values.max()) > LARGEST_INTEGER:
        raise InvalidInputError(f"integer costs must be at most 2**59, got {int(values.max())}")
    return values.astype(WIDER[name])


def _extent(costs: DeviceCosts) -> Extent:
    device, values = costs.device, costs.values
    integer = values.dtype.kind == "i"
    zero: Any = np.int64(0) if integer else np.float64(0)
    if values.size == 0:
        return Extent(zero, zero, False, (False, False))
    with device.current():
        found = device.xp.zeros(len(Place), dtype=np.uint64)
        whole = costs.sizes is None
        sizes = found if costs.sizes is None else device.xp.asarray(costs.sizes.astype(np.uint32))
        _, n, m = costs.shape
        arguments = Arguments(
            values=values, num_values=values.size, sizes=sizes, num_rows=n, num_columns=m, found=found
        )
        kernel = f"examine_{KERNELS[values.dtype.str[1:]]}{'' if whole else '_within'}"
        threads = device.block_threads
        blocks = min(device.num_multiprocessors, -(-values.size // threads))
        device.launch(SOURCE, kernel, blocks, threads, arguments, shared_bytes=max(8, threads // 4))
        words = device.to_host(found).tolist()
    has_nan, minus, plus = (words[k] != 0 for k in (Place.HAS_NAN, Place.HAS_MINUS, Place.HAS_PLUS))
    if not words[Place.HAS_FINITE]:
        return Extent(zero, zero, has_nan, (minus, plus))
    ends = (_number(2**64 - 1 - words[Place.LEAST_TURNED], integer), _number(words[Place.MOST], integer))
    return Extent(*ends, has_nan, (minus, plus))


def _number(key: int, integer: bool) -> Number:
    """Return the number that kernels compare as this key: see ``key_of`` in the ``.cu`` file."""
    if integer:
        return np.int64(key - 2**63)
    bits = key - 2**63 if key >= 2**63 else 2**64 - 1 - key
    return np.array([bits], dtype=np.uint64).view(np.float64)[0]
