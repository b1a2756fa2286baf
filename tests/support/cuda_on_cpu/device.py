"""A device for tests: a :class:`preflow.cuda.runtime.Device` that runs kernels on CPU threads.

NumPy arrays stand for device arrays. Without a sanitizer a ``.cu`` file becomes a library that is loaded
here; with one it becomes a program, because a sanitizer's library cannot be loaded into Python.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache, partial
from pathlib import Path
from threading import Thread
from typing import Any, Literal, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from preflow.cuda import runtime
from preflow.cuda.runtime import flat_arguments
from preflow.cuda.structs import check_arguments, source_with_headers
from preflow.solving.run import Control
from tests.support.paths import ROOT

HERE = Path(__file__).parent
#: Compiled kernel files, for this test run and later ones; ``make clean`` removes them.
BUILDS = ROOT / "build" / "cuda_on_cpu"
#: All threads of a launch are alive at once and share a few cores: more of them only wait for each other.
MOST_THREADS = 64
NO_RANGE = 2**64 - 1
NO_BLOCK = 2**32 - 1
COMPILE = ("g++", "-std=c++17", "-pthread", "-Og", "-g1", "-fno-omit-frame-pointer", "-DPREFLOW_ON_CPU")
#: With addresses go alignment, overflow of signed integers and shifts: undefined on the GPU too.
SANITIZE = {
    "address": ("-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
    "thread": ("-fsanitize=thread",),
}
SANITIZER_OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=0",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=1",
}
#: What ThreadSanitizer says where the kernel spreads addresses more widely than it can bear.
TOO_RANDOM = "unexpected memory mapping"

Sanitizer = Literal["address", "thread"]


class Launch(NamedTuple):
    """A kernel of a built file, its blocks, threads and bytes of shared memory, and its arguments."""

    built: Path
    kernel: str
    shape: tuple[int, int, int]
    flat: list[Any]


def _device_in_use() -> Any:
    """Return the device of the test that is running."""
    return runtime.find_device()


class CpuDevice:
    """Runs the kernels of ``.cu`` files on CPU threads; where there is no g++, its test is skipped.

    Parameters
    ----------
    num_multiprocessors : int
        A cooperative kernel gets as many blocks.
    block_threads : int
    free_bytes : int
        Memory that a solver is told could be allocated.
    sanitizer : {"address", "thread"}, optional
        What else to look for; a finding is an AssertionError with the sanitizer's report.
    time_limit : float
        Seconds after which a kernel counts as hanging.
    late_block : int, optional
        Where this block waits in a loop, it sleeps on for half a millisecond while the others go on.
    shares_memory : bool
        Whether other devices can access its memory.
    """

    def __init__(
        self,
        num_multiprocessors: int = 2,
        block_threads: int = 32,
        *,
        free_bytes: int = 2**30,
        sanitizer: Sanitizer | None = None,
        time_limit: float = 120.0,
        late_block: int | None = None,
        shares_memory: bool = True,
    ) -> None:
        if shutil.which("g++") is None:
            pytest.skip("g++, which runs GPU kernels on CPU threads, is not here")
        self.xp: Any = np
        self.number = 0
        self.name = "CPU threads"
        self.num_multiprocessors = num_multiprocessors
        self.block_threads = block_threads
        self.most_threads = MOST_THREADS
        self.shared_bytes = 227 * 1024
        self.free_bytes = free_bytes
        self.sanitizer = sanitizer
        self.time_limit = time_limit
        assert late_block is None or sanitizer is None, "a sanitizer's program has no late block"
        self.late_block = late_block
        self.shares_memory = shares_memory
        self._puts_off = False
        self._second: list[Launch] = []

    def __reduce__(self) -> tuple[Any, ...]:
        return _device_in_use, ()

    def has_room(self, size: int) -> bool:
        """Return whether a solver is told that it could allocate `size` bytes."""
        return size <= self.free_bytes

    def to_host(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return a copy, as from a GPU."""
        return array.copy()

    def send(self, out: NDArray[Any], source: NDArray[Any]) -> None:
        """Copy an array, as to another GPU."""
        assert out.flags.c_contiguous
        assert source.flags.c_contiguous
        assert out.dtype == source.dtype
        out[...] = source

    def mark(self) -> None:
        """Do nothing: all that was launched is done."""

    def wait_for(self, mark: None) -> None:
        """Do nothing."""

    def empty_on_host(self, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
        """Return an array without content."""
        return np.empty(shape, dtype)

    def upload(self, out: NDArray[Any], host: NDArray[Any]) -> None:
        """Copy an array, as to a GPU."""
        self.send(out, host)

    def download(self, out: NDArray[Any], array: NDArray[Any]) -> None:
        """Copy an array, as from a GPU."""
        self.send(out, array)

    def from_dlpack(self, array: Any) -> NDArray[Any]:
        """Return an array that claims to be on a GPU as what it is."""
        return array if isinstance(array, np.ndarray) else np.from_dlpack(array)

    def address(self, array: NDArray[Any]) -> int:
        """Return where an array begins."""
        return int(array.ctypes.data)

    def make_stop_word(self) -> NDArray[np.int64]:
        """Return a zero: all memory is the host's. A sanitizer's program sees it as it was at first."""
        return np.zeros(1, dtype=np.int64)

    def stop_word(self, control: Control) -> NDArray[np.int64]:
        """Return the word by which a solve is asked to stop."""
        return control.stop

    @property
    def never(self) -> NDArray[np.int64]:
        """A word that stays zero."""
        return np.zeros(1, dtype=np.int64)

    def argsort(self, keys: NDArray[Any]) -> NDArray[Any]:
        """Return the indices that sort `keys`; equal ones keep their order."""
        return np.argsort(keys, kind="stable")

    def current(self) -> AbstractContextManager[None]:
        """Do nothing: there is one."""
        return nullcontext()

    def share(
        self,
        path: Path,
        kernel: str,
        num_items: int,
        arguments: Any,
        constants: tuple[tuple[str, int], ...] = (),
    ) -> None:
        """Share items among threads: see :meth:`preflow.cuda.runtime.Device.share`."""
        if num_items:
            blocks = min(2, -(-num_items // 32))
            self.launch(path, kernel, blocks, 32, arguments, constants=constants)

    def bind_sharing(self, *arguments: Any) -> Callable[[], None]:
        """Return a function that calls :meth:`share`."""
        return partial(self.share, *arguments)

    def bind(self, *arguments: Any, **named: Any) -> Callable[[], None]:
        """Return a function that calls :meth:`launch`."""
        return partial(self.launch, *arguments, **named)

    def recorded(self, launches: Sequence[Callable[[], None]]) -> Callable[[], None]:
        """Return a function that makes the launches."""

        def start() -> None:
            for launch in launches:
                launch()

        return start

    def steps(self) -> AbstractContextManager[None]:
        """Do nothing: a launch returns when the kernel is done."""
        return nullcontext()

    def synchronize(self) -> None:
        """Run what no launch has run beside it; any other launch returned when the kernel was done."""
        if self._second:
            self._run_together([])

    @contextmanager
    def second_stream(self) -> Iterator[None]:
        """Put off what is launched within: it runs at the same time as the next launch, in its own thread."""
        assert not self._puts_off, "there are two streams only"
        self._puts_off = True
        try:
            yield
        finally:
            self._puts_off = False

    def start_together(self, launches: Sequence[tuple[CpuDevice, Callable[[], None]]]) -> None:
        """Run a kernel of each of some devices at the same time."""
        together = []
        for device, launch in launches:
            with device.second_stream():
                launch()
            together += device._second
            device._second.clear()
        self._run_together(together)

    def can_use_memory_of(self, other: CpuDevice) -> bool:
        """Return whether kernels can access the memory of another device: tests may say no."""
        return self.shares_memory and other.shares_memory

    def launch(
        self,
        path: Path,
        kernel: str,
        blocks: int,
        threads: int,
        arguments: Any,
        *,
        shared_bytes: int = 0,
        constants: tuple[tuple[str, int], ...] = (),
        cooperative: bool = False,
    ) -> None:
        """Run a kernel of a ``.cu`` file: see :meth:`preflow.cuda.runtime.Device.launch`."""
        assert 0 < blocks * threads <= MOST_THREADS, (
            f"{blocks} blocks of {threads} threads: size it by the device"
        )
        check_arguments(path, kernel, type(arguments))
        flat = list(flat_arguments(arguments))
        for argument in flat:
            if not isinstance(argument, int | np.integer):
                assert isinstance(argument, np.ndarray), f"{type(argument)} is no kernel argument"
                assert argument.flags.c_contiguous, "a kernel takes C-contiguous arrays only"
        built = _build(_source(path), path.stem, constants, self.sanitizer)
        launch = Launch(built, kernel, (blocks, threads, shared_bytes), flat)
        if self._puts_off:
            assert not self._second, "kernels of one stream would run at the same time"
            self._second.append(launch)
        else:
            self._run_together([launch])

    def _run_together(self, launches: list[Launch]) -> None:
        together = [*self._second, *launches]
        self._second.clear()
        if self.sanitizer is None:
            self._call(together)
        else:
            self._run(together)

    def _call(self, launches: list[Launch]) -> None:
        runners = []
        for launch in launches:
            loaded = ctypes.CDLL(str(launch.built))
            start = loaded.cuda_on_cpu_launch
            start.argtypes = (*[ctypes.c_void_p] * 2, *[ctypes.c_uint] * 2, ctypes.c_ulonglong)
            start.restype = None
            late_block = NO_BLOCK if self.late_block is None else self.late_block
            ctypes.c_uint.in_dll(loaded, "cuda_on_cpu_late_block").value = late_block
            words = np.array([_word(argument) for argument in launch.flat], dtype=np.uint64)
            address = ctypes.cast(getattr(loaded, launch.kernel), ctypes.c_void_p)
            # A thread of its own, because nothing else can come back from a kernel that hangs.
            runner = Thread(target=start, args=(address, words.ctypes.data, *launch.shape), daemon=True)
            runners.append((runner, words, launch))
        for runner, _, _ in runners:
            runner.start()
        for runner, _, launch in runners:
            runner.join(self.time_limit)
            if runner.is_alive():
                _STUCK.append(runners)
                raise AssertionError(f"{launch.kernel} did not end within {self.time_limit} s")

    def _run(self, launches: list[Launch]) -> None:
        program = launches[0].built
        assert all(launch.built == program for launch in launches), "kernels of one file only run together"
        arrays = (argument for launch in launches for argument in launch.flat)
        ranges = _memory_ranges(argument for argument in arrays if isinstance(argument, np.ndarray))
        names = " and ".join(launch.kernel for launch in launches)
        with tempfile.TemporaryDirectory(prefix="preflow-cuda-on-cpu-") as folder:
            source, result = Path(folder, "input"), Path(folder, "output")
            with source.open("wb") as file:
                file.write(_words(len(ranges)))
                for start, end in ranges:
                    file.write(_words(start % 16, end - start) + ctypes.string_at(start, end - start))
                for launch in launches:
                    file.write(_words(len(launch.flat)))
                    for argument in launch.flat:
                        file.write(_words(*_range_and_offset(argument, ranges)))
            command = [str(program), str(source), str(result)]
            for launch in launches:
                command += [launch.kernel, *map(str, launch.shape)]
            try:
                done = run_sanitized(command, self.time_limit)
            except subprocess.TimeoutExpired:
                raise AssertionError(f"{names} did not end within {self.time_limit} s") from None
            assert done.returncode == 0, f"{names} under {self.sanitizer}:\n{done.stderr}"
            with result.open("rb") as file:
                for start, end in ranges:
                    ctypes.memmove(start, file.read(end - start), end - start)


def run_sanitized(command: Sequence[str], time_limit: float) -> subprocess.CompletedProcess[str]:
    """Run a program that a sanitizer watches, without randomised addresses if it cannot start with them."""
    environment = os.environ | SANITIZER_OPTIONS

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(words, env=environment, capture_output=True, text=True, timeout=time_limit)

    done = run(*command)
    if TOO_RANDOM in done.stderr:
        done = run("setarch", "-R", *command)
        if TOO_RANDOM in done.stderr or "setarch:" in done.stderr:
            pytest.skip(f"ThreadSanitizer cannot start here: {done.stderr}")
    return done


#: Memory that kernels which hang still use.
_STUCK: list[Any] = []


def _word(argument: Any) -> int:
    """Return what a kernel gets: empty arrays have no address, as on a GPU."""
    if isinstance(argument, np.ndarray):
        return argument.ctypes.data if argument.size else 0
    return int(argument) & (2**64 - 1)


def _words(*values: int) -> bytes:
    return np.array(values, dtype=np.uint64).tobytes()


def _memory_ranges(arrays: Iterable[NDArray[Any]]) -> list[tuple[int, int]]:
    """Return the start and end of each piece of memory; arrays that overlap share one."""
    ranges: list[tuple[int, int]] = []
    for start, end in sorted({(array.ctypes.data, array.ctypes.data + array.nbytes) for array in arrays}):
        if ranges and start < ranges[-1][1]:
            ranges[-1] = (ranges[-1][0], max(ranges[-1][1], end))
        else:
            ranges.append((start, end))
    return ranges


def _range_and_offset(argument: Any, ranges: list[tuple[int, int]]) -> tuple[int, int]:
    if not isinstance(argument, np.ndarray) or not argument.size:
        return NO_RANGE, _word(argument)
    first = argument.ctypes.data
    index = max(
        index
        for index, (start, end) in enumerate(ranges)
        if start <= first and first + argument.nbytes <= end
    )
    return index, first - ranges[index][0]


@cache
def _common_key() -> str:
    """Return what all builds depend on: the compiler, its options and the two files of the emulation."""
    version = subprocess.run(["g++", "--version"], capture_output=True, text=True, check=True).stdout
    files = [(HERE / name).read_text() for name in ("cuda_on_cpu.h", "main.cpp")]
    return repr((version, COMPILE, SANITIZE, files))


_source = cache(source_with_headers)


def _once(built: Path, make: Callable[[Path], None]) -> None:
    """Let one process make a file that is not there, under another name first.

    All processes of a test run share what is made: the first one that needs it locks its name and makes it,
    and the others wait for the lock. It gets its name when it is complete: an interrupted one is not taken
    for it.
    """
    import fcntl  # Windows lacks it, and has no g++ either

    if built.exists():
        return
    BUILDS.mkdir(parents=True, exist_ok=True)
    with Path(f"{built}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not built.exists():
            incomplete = Path(f"{built}.incomplete")
            make(incomplete)
            incomplete.rename(built)


def _run_compiler(what: str, *words: str) -> None:
    done = subprocess.run([*COMPILE, *words], capture_output=True, text=True)
    assert done.returncode == 0, f"g++ refuses {what}:\n{done.stderr}"


def _key(*parts: Any) -> str:
    return hashlib.sha256(repr((_common_key(), *parts)).encode()).hexdigest()[:16]


def _flags(sanitizer: Sanitizer | None) -> tuple[str, ...]:
    return ("-fPIC",) if sanitizer is None else SANITIZE[sanitizer]


@cache
def _emulation(flags: tuple[str, ...]) -> Path:
    """Return the header of the emulation, with what g++ makes of it beside it: a third of most builds."""
    header = BUILDS / f"cuda_on_cpu-{_key(flags)}.h"
    _once(header, lambda incomplete: incomplete.write_text((HERE / "cuda_on_cpu.h").read_text()))

    def precompile(incomplete: Path) -> None:
        _run_compiler("cuda_on_cpu.h", *flags, "-x", "c++-header", str(header), "-o", str(incomplete))

    _once(Path(f"{header}.gch"), precompile)
    return header


@cache
def _build(
    source: str,
    name: str,
    constants: tuple[tuple[str, int], ...],
    sanitizer: Sanitizer | None,
) -> Path:
    """Compile a kernel file; return the library or, with a sanitizer, the program.

    The name of a build holds a hash of all that it is made of.
    """
    flags = _flags(sanitizer)
    built = BUILDS / f"{name}-{_key(source, constants, flags)}"

    def compile_kernels(incomplete: Path) -> None:
        text = built.with_suffix(".cu")
        text.write_text(source)
        macros = [f"-D{macro}={value}" for macro, value in constants]
        headers = ["-include", str(_emulation(flags)), "-include", str(text)]
        if sanitizer is None:
            kind = ["-shared", "-x", "c++", os.devnull]
        else:
            kind = ["-rdynamic", str(HERE / "main.cpp"), "-ldl"]
        _run_compiler(f"{name}.cu", *flags, *macros, *headers, *kind, "-o", str(incomplete))

    _once(built, compile_kernels)
    return built
