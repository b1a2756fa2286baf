"""The GPU: find it, compile ``.cu`` files for it, launch their kernels. The only module that imports CuPy.

A ``.cu`` file includes headers by ``#include "name.cuh"``, and declarations made from Python: see
:mod:`.structs`. They are pasted in before compiling, so that the compiled code, which CuPy keeps on disk
under a hash of the source, is never older than a header.

A kernel has one parameter, a struct whose members all have 8 bytes: pointers and 64-bit integers. Its fields
are those of the (nested) NamedTuple that is passed to :meth:`Device.launch`. So the same files run on CPU
threads in the tests.
"""

from __future__ import annotations

import ctypes
import logging
import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, lru_cache
from importlib import import_module
from itertools import permutations
from pathlib import Path
from threading import Timer
from typing import Any, ParamSpec, TypeAlias
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyArray, Array, ArrayModule, DType
from ..errors import DeviceMemoryError, DeviceUnavailableError, InvalidInputError, install
from ..solving.run import Control
from ..solving.timing import counted_as_compiling

logger = logging.getLogger("preflow")
P = ParamSpec("P")

#: Names and values of macros with which a file is compiled.
Macros: TypeAlias = tuple[tuple[str, int], ...]
#: What a driver of NVIDIA on Linux writes.
DRIVER = Path("/proc/driver/nvidia/version")
#: Threads of a block in kernels that are launched cooperatively.
BLOCK_THREADS = 1024
#: Threads of a block, and greatest number of blocks for each multiprocessor, in kernels whose threads share
#: items.
SHARING_THREADS, SHARING_BLOCKS = 256, 32
#: Words of ``CycleWatch`` in stop.cuh.
WATCH_WORDS = 2
#: Values of ``__dlpack_device__`` for an array that an NVIDIA GPU can read: device memory and managed memory.
DLPACK_GPU = (2, 13)
#: The driver's library, and of its numbers that of the attribute of a pair of GPUs which says that atomic
#: operations on the memory of the other one are native, and that of an error.
DRIVER_LIBRARY, P2P_NATIVE_ATOMICS, PEER_ACCESS_ALREADY_ENABLED = "libcuda.so.1", 3, 704
#: The least compute capability that NVRTC 13 compiles for: Turing.
LEAST_CAPABILITY = 75
#: The first major version of CuPy that finds the NVRTC of a wheel.
LEAST_CUPY = 14

#: Seconds within which CuPy loads a compiled file from its cache.
LONGEST_CACHE_HIT = 0.3

#: The GPUs found so far, by number: a query of a GPU's properties takes more than a millisecond.
_DEVICES: dict[int, Device] = {}
#: The words of :meth:`Device.make_stop_word` that are in use, by address.
_STOP_WORDS: WeakValueDictionary[int, NDArray[np.int64]] = WeakValueDictionary()


def flat_arguments(arguments: Any) -> Iterator[Any]:
    """Yield the arrays and integers of a nested NamedTuple in order."""
    for argument in arguments:
        if isinstance(argument, tuple):
            yield from flat_arguments(argument)
        else:
            yield argument


def _called(bind: Callable[P, Callable[[], None]]) -> Callable[P, None]:
    """Return a method that calls at once what another method binds."""

    def launch(*arguments: P.args, **named: P.kwargs) -> None:
        bind(*arguments, **named)()

    return launch


class Device:
    """The NVIDIA GPU `number` of the machine; `xp` is CuPy: what NumPy is for arrays on the host.

    `block_threads` are the threads of a block of a cooperative kernel, `most_threads` those that a launch may
    have, and `shared_bytes` the shared memory that a block may have.
    """

    def __init__(self, cupy: Any) -> None:
        self.number: int = cupy.cuda.Device().id
        properties = cupy.cuda.runtime.getDeviceProperties(self.number)
        self.xp: ArrayModule = cupy
        self.name: str = properties["name"].decode()
        self.num_multiprocessors: int = properties["multiProcessorCount"]
        self.block_threads = BLOCK_THREADS
        self.most_threads = BLOCK_THREADS * (2**31 - 1)
        self.shared_bytes: int = properties["sharedMemPerBlockOptin"]
        self._second_stream = cupy.cuda.Stream(non_blocking=True)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as a GPU's number, by which the process that reads the pickle finds its own GPU."""
        return _device_of_number, (self.number,)

    @property
    def free_bytes(self) -> int:
        """Memory that could be allocated now."""
        free, _ = self.xp.cuda.runtime.memGetInfo()
        return int(free + self.xp.get_default_memory_pool().free_bytes())

    def has_room(self, size: int) -> bool:
        """Return whether `size` bytes could be allocated now; the slow driver is asked only if needed."""
        return size <= self.xp.get_default_memory_pool().free_bytes() or size <= self.free_bytes

    @contextmanager
    def current(self) -> Iterator[None]:
        """Make this the GPU of the calling thread within the context.

        DeviceMemoryError: the code in the context needed more memory than there is.
        """
        with self.xp.cuda.Device(self.number):
            try:
                yield
            except self.xp.cuda.memory.OutOfMemoryError as error:
                raise DeviceMemoryError(f"{self.name}: {error}") from error

    def to_host(self, array: AnyArray) -> Array:
        """Return a copy on the host."""
        host: Array = self.xp.asnumpy(array)
        return host

    @cached_property
    def _step_stream(self) -> Any:
        return self.xp.cuda.Stream(non_blocking=True)

    @contextmanager
    def steps(self) -> Iterator[None]:
        """Launch kernels and copies within the context on a stream that waits for no other GPU.

        A copy to another GPU on the default stream waits for all work of both GPUs, and they for it. The
        caller waits for what was launched before the context, and at its end where that matters.
        """
        with self._step_stream:
            yield

    def send(self, out: AnyArray, source: AnyArray) -> None:
        """Copy an array on this GPU to one that may be on another GPU; both are contiguous.

        The copy comes after the kernels launched so far on this GPU, and the host does not wait. GPUs with
        peer access copy directly; otherwise the driver copies through pinned memory of the host.
        """
        out.data.copy_from_device_async(source.data, source.nbytes)

    def mark(self) -> object:
        """Return a mark that :meth:`wait_for` knows: all that was launched so far on this GPU is done."""
        event = self.xp.cuda.Event(block=False, disable_timing=True)
        event.record()
        return event

    def wait_for(self, mark: object) -> None:
        """Let what is launched from now on wait for a mark of any GPU; the host does not wait."""
        self.xp.cuda.get_current_stream().wait_event(mark)

    def can_use_memory_of(self, other: Device) -> bool:
        """Return whether kernels on this GPU can access the memory of another one, also atomically.

        If so they can from now on.
        """
        with self.xp.cuda.Device(self.number):
            if not self.xp.cuda.runtime.deviceCanAccessPeer(self.number, other.number):
                return False
            driver = ctypes.CDLL(DRIVER_LIBRARY)
            is_atomic = ctypes.c_int(0)
            wanted = (P2P_NATIVE_ATOMICS, self.number, other.number)
            if driver.cuDeviceGetP2PAttribute(ctypes.byref(is_atomic), *wanted) or not is_atomic.value:
                return False
            try:
                self.xp.cuda.runtime.deviceEnablePeerAccess(other.number)
            except self.xp.cuda.runtime.CUDARuntimeError as error:
                if error.status != PEER_ACCESS_ALREADY_ENABLED:
                    return False
        return True

    @staticmethod
    def start_together(launches: Sequence[tuple[Device, Callable[[], None]]]) -> None:
        """Launch a kernel on each of some GPUs; they run at the same time, and may wait for each other."""
        for device, launch in launches:
            with device.current(), device.steps():
                launch()

    def empty_on_host(self, shape: tuple[int, ...], dtype: DType) -> Array:
        """Return an array in pinned memory of the host: the GPU copies it much faster than other memory."""
        size = math.prod(shape)
        memory = self.xp.cuda.alloc_pinned_memory(max(1, size * dtype.itemsize))
        array: Array = np.frombuffer(memory, dtype, size).reshape(shape)
        return array

    def upload(self, out: AnyArray, host: Array) -> None:
        """Copy an array of the host to one on the GPU; both are contiguous."""
        out.set(host)

    def download(self, out: Array, array: AnyArray) -> None:
        """Copy an array on the GPU to one of the host; both are contiguous."""
        array.get(out=out)

    def from_dlpack(self, array: AnyArray) -> AnyArray:
        """Return a CuPy array over the memory of an array that is on this GPU."""
        return array if isinstance(array, self.xp.ndarray) else self.xp.from_dlpack(array)

    def address(self, array: AnyArray) -> int:
        """Return the address of an array in the device's memory."""
        return int(array.data.ptr)

    def make_stop_word(self) -> NDArray[np.int64]:
        """Return a zero for :attr:`Control.stop` in pinned memory of the host, which kernels can read."""
        memory = self.xp.cuda.alloc_pinned_memory(np.dtype(np.int64).itemsize)
        word = np.frombuffer(memory, dtype=np.int64, count=1)
        word[0] = 0
        _STOP_WORDS[word.ctypes.data] = word
        return word

    def stop_word(self, control: Control) -> AnyArray:
        """Return the kernel argument that says whether a solve is to stop.

        It is ``control.stop`` if :meth:`make_stop_word` made that, otherwise a word that stays zero. Such a
        solve stops between launches only.
        """
        known = _STOP_WORDS.get(control.stop.ctypes.data)
        return known if known is control.stop else self.never

    @cached_property
    def never(self) -> AnyArray:
        """The kernel argument of a launch that must not stop: a zero."""
        return self.xp.zeros(1, dtype=np.int64)

    def argsort(self, keys: AnyArray) -> AnyArray:
        """Return the indices that sort `keys`; equal ones keep their order."""
        return self.xp.argsort(keys)

    def synchronize(self) -> None:
        """Wait for all kernels launched so far, on both streams."""
        self.xp.cuda.get_current_stream().synchronize()
        self._second_stream.synchronize()

    @contextmanager
    def second_stream(self) -> Iterator[None]:
        """Launch kernels within the context on a second stream, beside those launched after it.

        They run after the kernels launched before. Neither kernel may wait for the other: the device may
        run them one after the other. :meth:`synchronize` waits for both.
        """
        self._second_stream.wait_event(self.xp.cuda.get_current_stream().record())
        with self._second_stream:
            yield

    def bind_sharing(
        self,
        path: Path,
        kernel: str,
        num_items: int,
        arguments: tuple[object, ...],
        constants: Macros = (),
    ) -> Callable[[], None]:
        """Return a function that launches a kernel whose threads share `num_items` items.

        Thread k of n takes every n-th from k on. See :meth:`bind`.
        """
        blocks = min(-(-num_items // SHARING_THREADS), SHARING_BLOCKS * self.num_multiprocessors)
        if not blocks:
            return _nothing
        return self.bind(path, kernel, blocks, SHARING_THREADS, arguments, constants=constants)

    def bind(
        self,
        path: Path,
        kernel: str,
        blocks: int,
        threads: int,
        arguments: tuple[object, ...],
        *,
        shared_bytes: int = 0,
        constants: Macros = (),
        cooperative: bool = False,
    ) -> Callable[[], None]:
        """Return a function that starts a kernel of a ``.cu`` file; it runs after those started before it.

        There are `threads` in each of `blocks`, which have `shared_bytes` of shared memory each. `arguments`
        is a NamedTuple of arrays, which are kept, integers and such NamedTuples; `constants` are macros with
        which the file is compiled. All blocks of a `cooperative` launch run at the same time, so that they
        can wait for each other; there are at most as many as the GPU has room for.
        """
        from .structs import check_arguments

        check_arguments(path, kernel, type(arguments))
        function = _function(path, kernel, constants, cooperative, self.number)
        if shared_bytes > 48 * 1024:
            function.max_dynamic_shared_size_bytes = shared_bytes
        if cooperative:
            blocks = min(blocks, self._blocks_together(function, threads, shared_bytes))
        flat = list(flat_arguments(arguments))
        words = np.array([_word(argument) for argument in flat], dtype=np.uint64).view(_struct(len(flat)))

        def launch(kept: Sequence[object] = flat) -> None:
            function((blocks,), (threads,), (words,), shared_mem=shared_bytes)

        return launch

    #: Start a kernel once; to start it again with the same arguments, a bound function has less work.
    launch, share = _called(bind), _called(bind_sharing)

    def recorded(self, launches: Sequence[Callable[[], None]]) -> Callable[[], None]:
        """Return a function that starts kernels in this order, as a graph, which costs the host one call."""
        stream = self.xp.cuda.Stream(non_blocking=True)
        with stream:
            stream.begin_capture()
            for launch in launches:
                launch()
            graph = stream.end_capture()
        return lambda: graph.launch()

    def _blocks_together(self, function: Any, threads: int, shared_bytes: int) -> int:
        """Return how many blocks of a kernel the GPU can run at the same time."""
        driver = _import_cupy().cuda.driver
        each = driver.occupancyMaxActiveBlocksPerMultiprocessor(function.kernel.ptr, threads, shared_bytes)
        return max(1, int(each)) * self.num_multiprocessors


def _nothing() -> None:
    """Launch no kernel: there are no items."""


def is_on_gpu(array: AnyArray) -> bool:
    """Return whether `array` is in the memory of a GPU, according to the DLPack protocol.

    InvalidInputError: it has no numbers, see :func:`_refuse_traced`.
    """
    if isinstance(array, np.ndarray) or not hasattr(array, "__dlpack__"):
        return False
    _refuse_traced(array)
    where = getattr(array, "__dlpack_device__", None)
    return where is not None and where()[0] in DLPACK_GPU


def _refuse_traced(array: AnyArray) -> None:
    """Raise InvalidInputError if an array of JAX or Torch has no numbers, since it stands for others."""
    jax, torch = sys.modules.get("jax"), sys.modules.get("torch")
    if jax is not None and isinstance(array, jax.core.Tracer):
        raise InvalidInputError(
            "an array is traced by JAX (jit, vmap, grad) and has no numbers yet: call the function of "
            "preflow.integrations.jax, or this one through jax.pure_callback"
        )
    if torch is None or not isinstance(array, torch.Tensor):
        return
    try:
        if type(array).__torch_dispatch__ is torch.Tensor.__torch_dispatch__ and not array.is_meta:
            array.data_ptr()
            return
    except RuntimeError:  # it is wrapped by a transform of torch.func
        if array.layout != torch.strided:
            return  # DLPack says so
    raise InvalidInputError(
        "a tensor has no numbers of its own inside of torch.vmap, torch.func and torch.export, and on the "
        "device 'meta': call the function before them; for vmap, in a loop, or once with a batch"
    )


def importer_of(array: AnyArray) -> Callable[[Any], Any]:
    """Return the function that converts other arrays, by DLPack, to arrays of the library of `array`.

    If that library has no such function it is NumPy's or CuPy's.
    """
    namespace = getattr(array, "__array_namespace__", None)
    module = import_module(type(array).__module__.partition(".")[0]) if namespace is None else namespace()
    if getattr(module, "__name__", None) == "jax.numpy":
        return _to_jax
    if not hasattr(module, "from_dlpack"):
        module = _import_cupy() if is_on_gpu(array) else np
    return module.from_dlpack  # type: ignore[no-any-return]


def _to_jax(array: AnyArray) -> Any:
    """Return an array of JAX with the same numbers, of 64 bits also where JAX makes 32 of them by default."""
    jax = import_module("jax")
    with jax.enable_x64(True):
        return jax.numpy.from_dlpack(array)


@lru_cache
def _struct(words: int) -> Any:
    """Return the dtype of a struct of `words` words."""
    return np.dtype([("words", np.uint64, words)])


def _word(argument: Any) -> int:
    if isinstance(argument, (int, np.integer)):
        return int(argument) & (2**64 - 1)
    if isinstance(argument, np.ndarray):  # pinned: the GPU uses the host's address
        return int(argument.ctypes.data)
    return int(argument.data.ptr)


@lru_cache
def _function(path: Path, kernel: str, constants: Macros, cooperative: bool, number: int) -> Any:
    """Return a kernel for the current GPU, whose number is `number`."""
    from .structs import source_with_headers

    cupy = _import_cupy()
    options = ("--std=c++17", *(f"-D{name}={value}" for name, value in constants))
    module = cupy.RawModule(
        code=source_with_headers(path), options=options, enable_cooperative_groups=cooperative
    )
    with counted_as_compiling(f"{path.name} for the GPU"), _announced(path.name):
        return module.get_function(kernel)


@contextmanager
def _announced(name: str) -> Iterator[None]:
    """Log that a file is being compiled if it takes longer than loading it from CuPy's cache."""
    folder = os.environ.get("CUPY_CACHE_DIR", "~/.cupy/kernel_cache")
    message = "compiling %s for the GPU, a few seconds, once; kept in %s"
    notice = Timer(LONGEST_CACHE_HIT, logger.warning, (message, name, folder))
    notice.daemon = True
    notice.start()
    try:
        yield
    finally:
        notice.cancel()


def _import_cupy() -> Any:
    try:
        import cupy
    except ImportError as error:
        driver = "a driver is installed" if DRIVER.exists() else "no NVIDIA driver is installed, either"
        raise DeviceUnavailableError(
            f"an NVIDIA GPU is used through CuPy: {install('cuda')} ({error}; {driver})"
        ) from None
    version = str(cupy.__version__)
    if int(version.split(".")[0]) < LEAST_CUPY:
        raise DeviceUnavailableError(f"CuPy {version} is too old, {LEAST_CUPY} is needed: {install('cuda')}")
    return cupy


def is_in_use() -> bool:
    """Return whether this process has loaded CuPy."""
    return "cupy" in sys.modules


def _device_of_number(number: int) -> Device:
    with _import_cupy().cuda.Device(number):
        return find_device()


def device_if_any() -> Device | None:
    """Return the current GPU; None if there is none or software to use it is missing."""
    try:
        return find_device()
    except DeviceUnavailableError:
        return None


def find_devices(numbers: Sequence[int] | None = None) -> list[Device]:
    """Return the GPUs with some numbers, or all.

    DeviceUnavailableError: there is none, none with such a number, or software to use it is missing.
    """
    find_device()
    count = int(_import_cupy().cuda.runtime.getDeviceCount())
    for number in numbers or ():
        if not 0 <= number < count:
            raise DeviceUnavailableError(f"there is no GPU {number}: their numbers are 0 to {count - 1}")
    return [_device_of_number(number) for number in (range(count) if numbers is None else numbers)]


def can_work_together(devices: Sequence[Device]) -> bool:
    """Return whether there are several GPUs, and kernels on each can access the memory of all others.

    If so they can from now on.
    """
    pairs = permutations(devices, 2)
    return len(devices) > 1 and all(one is not other and one.can_use_memory_of(other) for one, other in pairs)


def find_device() -> Device:
    """Return the current GPU.

    DeviceUnavailableError: there is none, or software to use it is missing; the message says what to install.
    """
    cupy = _import_cupy()
    try:
        count = cupy.cuda.runtime.getDeviceCount()
        current = cupy.cuda.Device() if count else None
        known = _DEVICES.get(current.id) if current else None
        if known is not None and known.xp is cupy:
            return known
        capability = int(current.compute_capability) if current else 0
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise DeviceUnavailableError(f"no NVIDIA GPU can be used: {error}") from None
    if capability < LEAST_CAPABILITY:
        least = f"{LEAST_CAPABILITY // 10}.{LEAST_CAPABILITY % 10}"
        raise DeviceUnavailableError(f"no NVIDIA GPU of compute capability {least} or later is there")
    found = Device(cupy)
    _DEVICES[found.number] = found
    return found
