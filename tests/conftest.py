"""Shared fixtures: reference instances, and a visible word where something is missing."""

from __future__ import annotations

import os
import re
import signal
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, settings

from preflow.cuda import runtime
from preflow.errors import DeviceUnavailableError
from preflow.kernels import kernel
from preflow.kernels.kinds import KINDS, accepts, declared
from tests.support import tiers
from tests.support.cuda_on_cpu.device import CpuDevice
from tests.support.exploration import Runner
from tests.support.paths import SHARED

#: Files of tests that keep all cores busy by themselves.
ALONE = (
    "gridcut/test_cuda_tiled.py",
    "*/test_multicore*.py",
    "parallel/test_toolbox.py",
    "maxflow/test_stress.py",
)

settings.register_profile(
    "preflow", deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
settings.load_profile("preflow")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that records how long each test takes."""
    parser.addoption("--record-seconds", action="store_true", help="write tests/data/seconds.json")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that run alone and the slow ones, and start with the longest file.

    Tests under a sanitizer do not run alone: most of their time is g++. The examples of a function run where
    it is defined, not again in a package that has loaded its name, which has no line of it.
    """
    items[:] = [item for item in items if getattr(getattr(item, "dtest", None), "lineno", 0) is not None]
    record = tiers.read_record()
    for item in items:
        builds = "sanitizer" in getattr(item, "fixturenames", ())
        if not builds and any(item.path.match(name) for name in ALONE):
            item.add_marker("alone")
        if tiers.is_slow(item, record):
            item.add_marker("slow")
    tiers.longest_file_first(items, record)


#: Where the kinds of arguments are written that public calls reach and the library of kernels lacks.
MISSES = pytest.StashKey[Path]()


def pytest_configure(config: pytest.Config) -> None:
    """Let this process, and those that it starts, obey Ctrl-C and write down which kernels the library lacks.

    A shell lets processes in the background ignore SIGINT. Tests that interrupt a solve would wait for ever.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.getoption("--record-seconds"):
        config.pluginmanager.register(tiers.Recorder())
    if "PREFLOW_MISSES" not in os.environ and kernel.native is not None:
        descriptor, name = tempfile.mkstemp(prefix="preflow-misses-", suffix=".txt")
        os.close(descriptor)
        os.environ["PREFLOW_MISSES"] = name
        config.stash[MISSES] = Path(name)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Name the kernels that the library lacks, by the first line for each."""
    for line in missed(config):
        terminalreporter.write_line(f"not in the library of kernels: {line}", red=True)
    known = set() if not missed(config) else {(name, kind) for name, kind, _ in declared()}
    old = [line for line in missed(config) if is_among(known, line)]
    if old:
        terminalreporter.write_line(
            f"This run counts as failed: the library is older than the sources: it lacks {len(old)} kinds "
            "that kernels/kinds.txt declares. Run `make native`.",
            red=True,
        )
    if new := [line for line in missed(config) if line not in old]:
        terminalreporter.write_line(
            "This run counts as failed: kernels/kinds.txt does not declare what was called. Lines for it (a "
            "choice such as {residual} joins those that differ in a dtype only, see preflow.kernels.kinds):",
            red=True,
        )
        for line in to_declare(new):
            terminalreporter.write_line(line)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Do not expect a kernel in the library that only Numba compiles."""
    with patch.dict(os.environ):
        if item.get_closest_marker("jit"):
            os.environ.pop("PREFLOW_MISSES", None)
        return (yield)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail if the library of kernels lacks one: whoever has the wheel without Numba gets an error there."""
    if missed(session.config) and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the list."""
    if MISSES in config.stash:
        config.stash[MISSES].unlink()
        del os.environ["PREFLOW_MISSES"]


def missed(config: pytest.Config) -> list[str]:
    """Return the kinds, a line each, that the library lacks; none in a process that another one started."""
    return sorted(set(config.stash[MISSES].read_text().splitlines())) if MISSES in config.stash else []


@pytest.fixture(scope="session")
def shared_instances() -> Path:
    """The folder of large reference instances; the test is skipped where it is not there."""
    if not SHARED.is_dir():
        pytest.skip("the shared reference instances are not here")
    return SHARED


@pytest.fixture(scope="module")
def runner(request: pytest.FixtureRequest) -> Iterator[Runner]:
    """The test file as a program that explores its cases."""
    with Runner(request.module.__name__) as started:
        yield started


REAL_DEVICE = runtime.find_device


@pytest.fixture
def device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The GPU for tests that are marked so, else two blocks of one warp on CPU threads."""
    found: Any
    if request.node.get_closest_marker("gpu") is None:
        found = CpuDevice(2, 32)
        monkeypatch.setattr(runtime, "find_device", lambda: found)
        return found
    try:
        found = REAL_DEVICE()
    except DeviceUnavailableError as error:
        pytest.skip(str(error))
    return found


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


def is_among(known: set[tuple[str, str]], line: str) -> bool:
    """Return whether kinds.txt declares a kernel with its kind."""
    name, _, given = line.partition(" ")
    return any(kernel_name == name and accepts(kind, given) for kernel_name, kind in known)


def to_declare(missing: list[str]) -> list[str]:
    """Return kernels, and classes of tuples that are new, as kinds.txt writes them."""
    known = KINDS.read_text(encoding="utf-8").splitlines()
    classes = {line.split(" = ")[0] for line in known if line.startswith("<")}
    lines: dict[str, None] = {}
    for kernel_name, _, kind in (line.partition(" ") for line in missing):
        while match := re.search(r"(<[\w.]+>)\(([^()]*)\)", kind):
            if match[1] not in classes:
                lines[f"{match[1]} = {_spaced(match[2])}"] = None
            kind = kind.replace(match[0], match[1])
        lines[f"{kernel_name} {_spaced(kind)}"] = None
    return list(lines)


def _spaced(kind: str) -> str:
    return " ".join(re.findall(r"<[\w.]+>|\d..|\S", kind))
