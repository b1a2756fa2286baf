"""The build of the package: quick metadata, and processes that end with the one that started them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.support.paths import ROOT

needs_proc = pytest.mark.skipif(
    not Path("/proc/self/cmdline").exists(), reason="looks for processes in /proc"
)


@pytest.mark.skipif(find_spec("skimage") is None, reason="needs the extra vision")
def test_the_demo_reaches_only_kinds_that_are_compiled_for_it() -> None:
    code = """if 1:
        import calls
        reached = calls.reached(calls.demo)
        assert reached and not calls.lacking(reached, 2), calls.lacking(reached, 2)
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT / "native")])}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)


@pytest.mark.skipif(find_spec("hatchling") is None, reason="needs the extra build")
@pytest.mark.parametrize("kinds", ["usual", "all"])
def test_the_metadata_compiles_nothing(tmp_path: Path, kinds: str) -> None:
    """pip asks for them first; they name Numba where the wheel leaves kernels to it."""
    code = f"import backend; print(backend.prepare_metadata_for_build_wheel({str(tmp_path)!r}))"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "native"), "PREFLOW_KINDS": kinds, "CC": "cc"}
    environment["PREFLOW_CACHE_DIR"] = str(tmp_path / "cache")
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, check=True, capture_output=True, text=True
    )
    text = Path(tmp_path, done.stdout.strip(), "METADATA").read_text(encoding="utf-8")
    assert "Requires-Python: >=3.11" in text
    compiles = subprocess.run([sys.executable, ROOT / "native" / "build.py", "--check"], check=False)
    if compiles.returncode == 0:
        assert ("Requires-Dist: numba" in text.split("Provides-Extra")[0]) == (kinds == "usual")
    assert not Path(tmp_path, "cache").exists()


def test_older_versions_of_python_get_metadata_without_a_compiler(tmp_path: Path) -> None:
    """pip then says in one line that it needs another Python."""
    code = "import sys, backend; sys.version_info = (3, 10, 0); print(backend.get_requires_for_build_wheel())"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "native")}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() == "[]"


def processes_with(text: str) -> list[str]:
    """Return the process numbers whose command lines have a text."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if text.encode() in path.read_bytes():
                found.append(path.parent.name)
        except OSError:  # it has ended
            continue
    return found


@needs_proc
@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_build_that_is_ended_leaves_no_worker_and_a_usable_folder(tmp_path: Path, number: int) -> None:
    objects = tmp_path / "objects"
    command = [sys.executable, ROOT / "native" / "build.py", "--jobs", "2", "--stars", "2"]
    command += ["--library", tmp_path / "_kernels.abi3.so", "--objects", objects]
    build = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not any(objects.glob("*.bc")):
        assert build.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    build.send_signal(number)
    build.wait()
    while processes_with(str(objects)):
        assert time.monotonic() < deadline, "a worker goes on"
        time.sleep(0.2)
    assert not (tmp_path / "_kernels.abi3.so").exists()
    subprocess.run(command, check=True)
    assert (tmp_path / "_kernels.abi3.so").exists()


@needs_proc
def test_a_process_ends_soon_after_its_parent(tmp_path: Path) -> None:
    on = str(tmp_path / "on")
    child = f"import build, time; build.end_with_parent(); open({on!r}, 'w'); time.sleep(60)"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}, {str(tmp_path)!r}])"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "native")}
    started = subprocess.Popen([sys.executable, "-c", parent], env=environment)
    deadline = time.monotonic() + 50
    while not Path(on).exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    started.kill()
    started.wait()
    while processes_with(str(tmp_path)):
        assert time.monotonic() < deadline, "the child goes on"
        time.sleep(0.1)
