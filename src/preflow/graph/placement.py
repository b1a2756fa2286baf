"""Where arrays are stored, on the host or on a GPU, and which library the caller's arrays belong to."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from copy import copy
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Self

import numpy as np

from ..arrays import AnyArray, Array, ArrayModule, Restorer
from ..cuda import runtime
from ..cuda.runtime import Device, importer_of, is_on_gpu
from ..errors import DeviceMemoryError, InvalidInputError
from ..solving.dispatch import most_threads
from ..solving.method import Method
from .data_arrays import is_data_array

#: Names of networks, graphs and costs that code inside of the package uses: completion does not offer them.
INTERNAL = {
    "xp",
    "current",
    "to_array_module",
    "to_caller",
    "to_host",
    "known_columns",
    "remember_columns",
    "plain",
    "restore",
    "views",
}


class HostArrays:
    """Base class of networks, graphs and costs whose arrays are NumPy arrays.

    Attributes
    ----------
    restore : function or None
        Converts NumPy arrays to the caller's kind of array; None where the caller uses NumPy.
    """

    restore: Restorer = None

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name not in INTERNAL]

    @property
    def xp(self) -> ArrayModule:
        """The array module: NumPy, or CuPy where the arrays are on a GPU."""
        return np

    def current(self) -> AbstractContextManager[None]:
        """Make the GPU that stores the arrays, if one does, the calling thread's current device."""
        return nullcontext()

    def to_array_module(self, values: AnyArray) -> AnyArray:
        """Return `values`, an array from :meth:`to_caller` or NumPy, as an array of :attr:`xp`."""
        if is_data_array(values):
            return values.to_numpy()
        return np.from_dlpack(values) if is_tensor(values) else values

    def to_caller(self, values: AnyArray) -> AnyArray:
        """Return `values`, an array of :attr:`xp`, as the kind of array that the input was.

        NumPy arrays become read-only.
        """
        if self.restore is not None:
            # DLPack exports no read-only arrays before NumPy 2.1, and no library but NumPy has them.
            return self.restore(values if values.flags.writeable else values.copy())
        values.flags.writeable = False
        return values

    def to_host(self, values: AnyArray) -> Array:
        """Return `values`, an array of :attr:`xp` or from :meth:`to_caller`, as a NumPy array."""
        host: Array = self.to_array_module(values)
        return host

    def plain(self) -> Self:
        """Return the same, with results that are arrays of :attr:`xp`: itself, or a copy."""
        if self.restore is None:
            return self
        found = copy(self)
        object.__setattr__(found, "restore", None)
        return found


@dataclass(frozen=True, eq=False, repr=False)
class DeviceArrays(HostArrays):
    """Base class of networks, graphs and costs whose arrays are on a GPU.

    Attributes
    ----------
    device : Device
    restore : function or None
        Converts CuPy arrays to the caller's kind of array; None where the caller uses CuPy.
    """

    device: Device = field(kw_only=True)
    restore: Restorer = field(kw_only=True)

    @property
    def xp(self) -> ArrayModule:
        """CuPy."""
        return self.device.xp

    def current(self) -> AbstractContextManager[None]:
        """Make the GPU that stores the arrays the calling thread's current device."""
        return self.device.current()

    def to_array_module(self, values: AnyArray) -> AnyArray:
        """Return `values`, an array from :meth:`to_caller` or NumPy, as a CuPy array."""
        return self.device.from_dlpack(values) if is_on_gpu(values) else self.xp.asarray(values)

    def to_caller(self, values: AnyArray) -> AnyArray:
        """Return `values`, a CuPy array, as the kind of array that the input was."""
        return values if self.restore is None else self.restore(values)

    def to_host(self, values: AnyArray) -> Array:
        """Return `values`, a CuPy array or from :meth:`to_caller`, as a NumPy array."""
        with self.current():
            return self.device.to_host(self.to_array_module(values))


def gpu_worth_using(
    instance: HostArrays, worth_a_gpu: Callable[[Any, int, bool], bool], may_look: bool
) -> Device | None:
    """Return the GPU that method "auto" may use for an instance in host memory.

    None if the caller excludes it (`may_look`), if the arrays are on a GPU anyway, if the instance is too
    small by the problem's policy, or if there is no GPU.
    """
    if not may_look or isinstance(instance, DeviceArrays):
        return None
    if not worth_a_gpu(instance, most_threads(None), runtime.is_in_use()):
        return None
    return runtime.device_if_any()


def gpu_of_method(instance: HostArrays, method: Method) -> Device | None:
    """Return the GPU that a method runs on: the one that stores the instance, else the current one.

    DeviceUnavailableError: the method needs a GPU and there is none.
    """
    if method.device != "cuda":
        return None
    return instance.device if isinstance(instance, DeviceArrays) else runtime.find_device()


def without_gradient(values: AnyArray) -> AnyArray:
    """Return an array; a tensor that requires a gradient detached where its library records none.

    InvalidInputError: the library records gradients, and the results would cut its graph.
    """
    if not getattr(values, "requires_grad", False):
        return values
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(values, torch.Tensor) or torch.is_grad_enabled():
        raise InvalidInputError(
            "a tensor requires a gradient, which results do not carry: linear_assignment, transport and "
            "min_cost_flow of preflow.integrations.torch return costs with one; elsewhere, and for the pairs "
            "alone, give tensor.detach()"
        )
    return values.detach()


def is_tensor(values: AnyArray) -> bool:
    """Return whether an array belongs to another library than NumPy and supports DLPack."""
    return hasattr(values, "__dlpack__") and not isinstance(values, (np.ndarray, np.generic))


def restorer_of(*values: AnyArray) -> Restorer:
    """Return a function that converts NumPy arrays to the kind of the first tensor among `values`, if any."""
    tensor = next(filter(is_tensor, values), None)
    return None if tensor is None else importer_of(tensor)


def check_not_masked(values: AnyArray, name: str) -> None:
    """Raise InvalidInputError if entries of an array are masked out."""
    if hasattr(values, "mask") and np.ma.is_masked(values):  # numpy.ma is slow to import
        raise InvalidInputError(f"{name} is a masked array: fill it, or leave the masked entries out")


def host_array(values: AnyArray, name: str) -> Array:
    """Return an array-like, or a tensor on the host, as a NumPy array.

    InvalidInputError: it is neither, it is a list that mixes floats with integers that float64 cannot
    represent, or entries of it are masked out.
    """
    if type(values) is np.ndarray and values.dtype.kind != "O":
        return values
    if is_on_gpu(values):
        raise InvalidInputError(f"{name} is on a GPU: copy it to the host")
    check_not_masked(values, name)
    try:
        if is_tensor(values):
            return _of_tensor(without_gradient(values), name)
        array = np.asarray(values)
        if array.dtype.kind == "f" and isinstance(values, list | tuple):
            _check_integers(array, values)
        return without_decimals(array) if array.dtype.kind == "O" else array
    except InvalidInputError:
        raise
    except (BufferError, OverflowError, RuntimeError, TypeError, ValueError) as error:
        uneven = "inhomogeneous" in str(error)  # NumPy's word
        words = "parts of it have different lengths" if uneven else error
        raise InvalidInputError(f"{name} is not an array: {words}") from None


def host_values(values: AnyArray, name: str) -> Array:
    """Return numbers of a caller in the memory of the host."""
    if not is_on_gpu(values):
        return host_array(values, name)
    found: Array = values.get() if hasattr(values, "get") else np.asarray(without_gradient(values).cpu())
    return found


def without_decimals(array: Array) -> Array:
    """Return an array of objects with integers or floats in place of decimals, which databases have."""
    entries = array.ravel().tolist()
    if not any(isinstance(entry, Decimal) for entry in entries):
        return array
    if not all(isinstance(entry, Decimal | int | float) for entry in entries):
        return array
    whole = all(math.isfinite(entry) and entry % 1 == 0 for entry in entries)
    numbers = [int(entry) if whole else float(entry) for entry in entries]
    return np.array(numbers, dtype=object if whole else np.float64).reshape(array.shape)


def _of_tensor(values: AnyArray, name: str) -> Array:
    """Return a tensor on the host as a NumPy array over the same memory."""
    try:
        return np.from_dlpack(values)
    except RuntimeError:  # what NumPy raises for dtypes that it lacks
        dtype = getattr(values, "dtype", "that NumPy lacks")
        raise InvalidInputError(
            f"{name} has dtype {dtype}: convert it to integers or floats of 16, 32 or 64 bits"
        ) from None


def exact_array(values: AnyArray, name: str) -> Array:
    """Return an array like :func:`host_array`; lists of integers past int64 become Python integers."""
    if isinstance(values, list | tuple):
        with suppress(OverflowError, RuntimeError, TypeError, ValueError):
            rough = np.asarray(values)
            if rough.dtype.kind == "f" and (np.abs(rough) >= np.float64(2.0**63)).any():
                exact = np.array(values, dtype=object)
                if all(isinstance(entry, int | np.integer) for entry in exact.flat):
                    return exact
    return host_array(values, name)


def _check_integers(array: Array, values: AnyArray) -> None:
    """Raise OverflowError if a list that became floats has integers that float64 or int64 cannot store."""
    if not (np.abs(array) >= np.float64(2.0**53)).any():  # float16 does not hold it
        return
    for entry in np.array(values, dtype=object).ravel():
        if isinstance(entry, int | np.integer):
            if not -(2**63) <= entry < 2**63:
                raise OverflowError("it has integers past int64")
            if float(entry) != entry:
                raise OverflowError(f"it mixes floats with {entry}, which float64 cannot represent")


def as_device_array(device: Device, values: AnyArray, name: str, whole: str) -> AnyArray:
    """Return one of the caller's arrays as a CuPy array.

    `name` and `whole`, the input that it is part of, are for messages. InvalidInputError: it is not on the
    current GPU.
    """
    if not is_on_gpu(values):
        raise InvalidInputError(f"{name} is not on the GPU, where other arrays of the {whole} are")
    number = values.__dlpack_device__()[1]
    if number != device.number:
        raise InvalidInputError(f"{name} is on GPU {number}, and GPU {device.number} is the current one")
    return device.from_dlpack(without_gradient(values))


def restorer(device: Device, values: AnyArray) -> Restorer:
    """Return a function that converts CuPy arrays to the kind of `values`; None if they are CuPy arrays."""
    return None if isinstance(values, device.xp.ndarray) else importer_of(values)


def require_memory(device: Device, needed: int, what: str) -> None:
    """Raise DeviceMemoryError unless a GPU has `needed` bytes free for `what`."""
    if not device.has_room(needed):
        raise DeviceMemoryError(
            f"{what} take {needed:,} bytes on the GPU ({device.name}), which has {device.free_bytes:,} free"
        )
