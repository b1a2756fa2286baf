"""Where the arrays of a network or graph are: in the host's memory, or in that of a GPU."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..cuda.runtime import Device, importer_of, is_on_gpu
from ..errors import DeviceMemoryError, InvalidInputError


class HostArrays:
    """What a network or graph has arrays of: NumPy's here."""

    @property
    def xp(self) -> Any:
        """The module that the arrays belong to: NumPy, or CuPy where they are on a GPU."""
        return np

    def current(self) -> AbstractContextManager[None]:
        """Make the GPU that holds the arrays, if one does, the calling thread's."""
        return nullcontext()

    def own(self, values: Any) -> Any:
        """Return `values`, what :meth:`give` returned or a NumPy array, as an array of :attr:`xp`."""
        return values

    def give(self, values: Any) -> Any:
        """Return `values`, an array of :attr:`xp`, as the kind of array that the input came in."""
        return values

    def to_host(self, values: Any) -> NDArray[Any]:
        """Return `values`, an array of :attr:`xp` or what :meth:`give` returned, as a NumPy array."""
        host: NDArray[Any] = values
        return host


@dataclass(frozen=True, eq=False, repr=False)
class DeviceArrays(HostArrays):
    """What a network or graph on a GPU has arrays of.

    Attributes
    ----------
    device : Device
    restore : function or None
        Makes arrays of the caller's kind of CuPy arrays; None where these are CuPy arrays too.
    """

    device: Device = field(kw_only=True)
    restore: Callable[[Any], Any] | None = field(kw_only=True)

    @property
    def xp(self) -> Any:
        """CuPy."""
        return self.device.xp

    def current(self) -> AbstractContextManager[None]:
        """Make the GPU that holds the arrays the calling thread's."""
        return self.device.current()

    def own(self, values: Any) -> Any:
        """Return `values`, what :meth:`give` returned or a NumPy array, as a CuPy array."""
        return self.device.from_dlpack(values) if is_on_gpu(values) else self.xp.asarray(values)

    def give(self, values: Any) -> Any:
        """Return `values`, a CuPy array, as the kind of array that the input came in."""
        return values if self.restore is None else self.restore(values)

    def to_host(self, values: Any) -> NDArray[Any]:
        """Return `values`, a CuPy array or what :meth:`give` returned, as a NumPy array."""
        with self.current():
            return self.device.to_host(self.own(values))


def without_gradient(values: Any) -> Any:
    """Return a tensor over the same memory that no gradient is asked of; other arrays as they are."""
    return values.detach() if getattr(values, "requires_grad", False) else values


def is_tensor(values: Any) -> bool:
    """Return whether an array is of another library than NumPy, which reads it by DLPack."""
    return hasattr(values, "__dlpack__") and not isinstance(values, np.ndarray | np.generic)


def host_array(values: Any, name: str) -> NDArray[Any]:
    """Return what is array-like, or a tensor on the host, as an array of NumPy's.

    Raises
    ------
    InvalidInputError
        It is neither.
    """
    if is_on_gpu(values):
        raise InvalidInputError(f"{name} is on a GPU: copy it to the host")
    try:
        if is_tensor(values):
            return np.from_dlpack(without_gradient(values))
        array = np.asarray(values)
        if array.dtype.kind == "f" and isinstance(values, list | tuple):
            _check_integers(array, values)
        return array
    except (BufferError, OverflowError, TypeError, ValueError) as error:
        raise InvalidInputError(f"{name} is not an array: {error}") from None


def exact_array(values: Any, name: str) -> NDArray[Any]:
    """Return an array as :func:`host_array`; of lists of integers past int64, one of Python integers."""
    if isinstance(values, list | tuple):
        with suppress(OverflowError, TypeError, ValueError):
            rough = np.asarray(values)
            if rough.dtype.kind == "f" and (np.abs(rough) >= 2.0**63).any():
                exact = np.array(values, dtype=object)
                if all(isinstance(entry, int | np.integer) for entry in exact.flat):
                    return exact
    return host_array(values, name)


def _check_integers(array: NDArray[Any], values: Any) -> None:
    """Raise OverflowError if what became floats has integers that no int64 holds."""
    if (np.abs(array) >= 2.0**63).any():
        entries = np.array(values, dtype=object).ravel()
        if any(isinstance(entry, int | np.integer) and not -(2**63) <= entry < 2**63 for entry in entries):
            raise OverflowError("it has integers past int64")


def taken(device: Device, values: Any, name: str, whole: str) -> Any:
    """Return an array of the caller's, that of `whole` which has this name, as one of CuPy's.

    Raises
    ------
    InvalidInputError
        It is not on the current GPU.
    """
    if not is_on_gpu(values):
        raise InvalidInputError(f"{name} is not on the GPU, where other arrays of the {whole} are")
    number = values.__dlpack_device__()[1]
    if number != device.number:
        raise InvalidInputError(f"{name} is on GPU {number}, and GPU {device.number} is the current one")
    return device.from_dlpack(without_gradient(values))


def restorer(device: Device, values: Any) -> Callable[[Any], Any] | None:
    """Return what makes arrays of the kind of `values`, the caller's, of CuPy's; None if they are CuPy's."""
    return None if isinstance(values, device.xp.ndarray) else importer_of(values)


def require_memory(device: Device, needed: int, what: str) -> None:
    """Raise DeviceMemoryError unless a GPU has `needed` bytes free for `what`."""
    if not device.has_room(needed):
        raise DeviceMemoryError(
            f"{what} take {needed:,} bytes on the GPU ({device.name}), which has {device.free_bytes:,} free"
        )
