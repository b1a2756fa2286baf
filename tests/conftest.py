"""Shared fixtures: reference instances, and a visible word where something is missing."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from cuda_on_cpu.device import CpuDevice
from exploration import Runner
from preflow.cuda import runtime
from preflow.errors import DeviceUnavailableError

DATA = Path(__file__).parent / "data"
SHARED = Path(__file__).parents[2] / "shared" / "instances"

#: Files of tests that keep all cores busy by themselves.
ALONE = ("cuda_grid_tiled", "cuda_maxflow", "gridcut_multicore", "multicore*", "parallel", "stress")

settings.register_profile(
    "preflow", deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
settings.load_profile("preflow")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that run alone; not those under a sanitizer, whose time goes into g++."""
    for item in items:
        builds = "sanitizer" in getattr(item, "fixturenames", ())
        if not builds and any(item.path.match(f"test_{name}.py") for name in ALONE):
            item.add_marker("alone")


def heed_ctrl_c() -> None:
    """Let a child process heed SIGINT, also where the tests run in the background and ignore it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def reference_instances() -> list[tuple[Path, int]]:
    """Return the reference files with their optima: the project's own, and those in shared, if there."""
    found = []
    for folder in (DATA / "dimacs", SHARED / "dimacs"):
        optima = folder / "optima.json"
        if optima.exists():
            entries = json.loads(optima.read_text()).items()
            found += [(folder / name, entry["optimum"]) for name, entry in entries if ".max" in name]
    return found


@pytest.fixture(scope="session")
def shared_instances() -> Path:
    """The folder of large reference instances; the test is skipped where it is not there."""
    if not SHARED.is_dir():
        pytest.skip("the shared reference instances are not here")
    return SHARED


@pytest.fixture(scope="module")
def runner(request: pytest.FixtureRequest) -> Iterator[Runner]:
    """The test file as a program that explores its cases."""
    started = Runner(request.module.__file__)
    with started.process:
        yield started


REAL_DEVICE = runtime.find_device


@pytest.fixture(scope="module")
def cpu_device() -> Iterator[CpuDevice]:
    """Let CPU threads stand for a GPU, but in tests that want a real one."""
    device = CpuDevice()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runtime, "find_device", lambda: device)
        yield device


@pytest.fixture
def gpu(cpu_device: CpuDevice, monkeypatch: pytest.MonkeyPatch) -> runtime.Device:
    """The GPU; a test is skipped where there is none."""
    try:
        device = REAL_DEVICE()
    except DeviceUnavailableError as error:
        pytest.skip(str(error))
    monkeypatch.setattr(runtime, "find_device", REAL_DEVICE)
    return device
