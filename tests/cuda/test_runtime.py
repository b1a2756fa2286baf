"""Finding a GPU, and what is said where there is none; sources with their headers."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

import preflow
from preflow.cuda import runtime, structs
from preflow.errors import DeviceUnavailableError
from preflow.solving.run import Control
from preflow.solving.timing import what_is_compiled

DIAMOND = ([0, 0, 1, 2], [1, 2, 3, 3], [3, 2, 2, 4])


class CUDARuntimeError(Exception):
    """Stands for CuPy's error of that name."""


def fake_cupy(count: Any = 1, capability: str = "90", version: str = "14.2.0") -> Any:
    """Return as much of CuPy as finding a device needs."""

    def device_count() -> int:
        if isinstance(count, Exception):
            raise count
        return int(count)

    calls = SimpleNamespace(
        getDeviceCount=device_count,
        CUDARuntimeError=CUDARuntimeError,
        getDeviceProperties=lambda _: {
            "name": b"NVIDIA Fake",
            "multiProcessorCount": 7,
            "sharedMemPerBlockOptin": 99,
        },
        memGetInfo=lambda: (100, 1000),
    )
    device = SimpleNamespace(id=0, compute_capability=capability)
    cuda = SimpleNamespace(runtime=calls, Device=lambda: device, Stream=lambda **_: None)
    pool = SimpleNamespace(free_bytes=lambda: 23)
    return SimpleNamespace(cuda=cuda, __version__=version, get_default_memory_pool=lambda: pool)


@pytest.mark.parametrize(
    ("cupy", "message"),
    [
        (None, r"through CuPy: install it with  pip install 'preflow\[cuda\]'"),
        (fake_cupy(version="13.6.0"), r"CuPy 13\.6\.0 is too old, 14 is needed: install"),
        (fake_cupy(CUDARuntimeError("no CUDA-capable device")), "no NVIDIA GPU can be used: no CUDA-capable"),
        (fake_cupy(0), "no NVIDIA GPU of compute capability 7.5"),
        (fake_cupy(capability="70"), "no NVIDIA GPU of compute capability 7.5"),
    ],
)
def test_no_device_is_a_clear_error(cupy: Any, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setattr(runtime, "_DEVICES", {})
    for arguments in ({"device": "cuda"}, {"method": "cuda-push-relabel"}):
        with pytest.raises(DeviceUnavailableError, match=message):
            preflow.max_flow(DIAMOND, 0, 3, **arguments)
    assert preflow.max_flow(DIAMOND, 0, 3).value == 4


def test_a_device_is_described(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy())
    monkeypatch.setattr(runtime, "_DEVICES", {})
    device = runtime.find_device()
    assert runtime.find_device() is device
    assert (device.name, device.num_multiprocessors, device.free_bytes) == ("NVIDIA Fake", 7, 123)
    assert device.has_room(123)
    assert not device.has_room(124)


def test_kernels_read_the_stop_word_of_the_solve_that_they_belong_to(monkeypatch: pytest.MonkeyPatch) -> None:
    cupy = fake_cupy()
    cupy.cuda.alloc_pinned_memory, cupy.zeros = bytearray, np.zeros
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setattr(runtime, "_DEVICES", {})
    device = runtime.find_device()
    control, other = (Control(stop=device.make_stop_word()) for _ in range(2))
    assert device.stop_word(control) is control.stop
    control.stop[0] = 1
    assert control.stopped
    assert not other.stopped
    assert runtime._word(control.stop) == control.stop.ctypes.data
    unseen = Control()  # in memory that no GPU reads
    unseen.stop[0] = 1
    assert device.stop_word(unseen) is device.never
    assert device.never[0] == 0


def test_headers_are_pasted_once() -> None:
    source = Path(runtime.__file__).parents[1] / "maxflow" / "cuda_push_relabel" / "push_relabel.cu"
    text = structs.source_with_headers(source)
    assert "#include" not in text
    assert text.count("struct SharedArena {") == 1
    assert text.index("alignas(16) Arc {") < text.index("u32 discharge(")


def test_arguments_are_flat() -> None:
    class Inner(NamedTuple):
        array: Any
        number: int

    class Outer(NamedTuple):
        inner: Inner
        last: int

    array = np.zeros(3)
    assert list(runtime.flat_arguments(Outer(Inner(array, 2), -1))) == [array, 2, -1]


def test_slow_compilations_are_said(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The notice, and what a progress bar shows meanwhile; nothing where CuPy has the file in its cache."""
    shown: list[str] = []

    def get_function(kernel: str) -> str:
        end = time.monotonic() + (20 if kernel == "slow" else 0)
        while "compiling" not in caplog.text and time.monotonic() < end:
            time.sleep(0.001)
        shown.append(what_is_compiled())
        return kernel

    cupy = fake_cupy()
    cupy.RawModule = lambda **_: SimpleNamespace(get_function=get_function)
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    path = Path(preflow.__file__).parent / "gridcut" / "cuda_lockfree.cu"
    for kernel, patience in (("quick", 20.0), ("slow", 0.001)):
        monkeypatch.setattr(runtime, "LONGEST_CACHE_HIT", patience)
        runtime._function.__wrapped__(path, kernel, (), False, 0)
        assert caplog.text.count("compiling cuda_lockfree.cu for the GPU") == (kernel == "slow")
    assert shown == ["cuda_lockfree.cu for the GPU"] * 2


@pytest.mark.parametrize(("there", "words"), [(True, "a driver is installed"), (False, "no NVIDIA driver")])
def test_error_says_whether_there_is_a_driver(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, there: bool, words: str
) -> None:
    driver = tmp_path / "version"
    if there:
        driver.touch()
    monkeypatch.setattr(runtime, "DRIVER", driver)
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(DeviceUnavailableError, match=words):
        runtime._import_cupy()
