"""The built wheel, installed without Numba into a fresh environment with an empty home folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import venv
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZipFile

import pytest

from preflow.kernels import kernel
from tests.support.paths import ROOT

BUILT_WITH = ("hatchling", "numba")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        kernel.native is None or not all(map(find_spec, BUILT_WITH)),
        reason="needs the library of kernels and the extra build: make native",
    ),
]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, for the level of this CPU only: what the library in the source tree is made of.

    The objects of the other level would take two CPU minutes; ``make wheel`` stops if one cannot be made, and
    ``kernels/test_native.py`` has a library for all levels.
    """
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-w", folder, ROOT]
    subprocess.run(build, check=True, env={**os.environ, "PREFLOW_KINDS": "all"})
    (path,) = folder.glob("*.whl")
    return path


def test_wheel_has_compiled_kernels_and_does_not_need_numba(wheel: Path) -> None:
    assert "-cp311-abi3-" in wheel.name
    assert wheel.stat().st_size < 4 * 10**6
    with ZipFile(wheel) as content:
        assert sum(name.startswith("preflow/_kernels.") for name in content.namelist()) == 1
    assert "numpy" in needed_by(wheel)
    assert "numba" not in needed_by(wheel)


def needed_by(wheel: Path) -> set[str]:
    """Return the packages that a wheel needs without extras."""
    with ZipFile(wheel) as content:
        (name,) = (name for name in content.namelist() if name.endswith("/METADATA"))
        lines = content.read(name).decode().splitlines()
    needed = [line for line in lines if line.startswith("Requires-Dist") and "extra ==" not in line]
    return {re.split("[<>=]", line.removeprefix("Requires-Dist: "))[0] for line in needed}


def test_a_pure_wheel_from_the_source_archive_needs_numba(tmp_path: Path) -> None:
    """Also if the archive was made where the kernels can be compiled."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", tmp_path], check=True, cwd=ROOT
    )
    (archive,) = tmp_path.glob("*.tar.gz")
    build = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        tmp_path,
        archive,
    ]
    subprocess.run(build, check=True, env={**os.environ, "PREFLOW_PURE": "1"})
    (path,) = tmp_path.glob("*-py3-none-any.whl")
    assert needed_by(path) >= {"numpy", "numba"}


@pytest.mark.timeout(900)
def test_first_calls_compile_nothing(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", wheel], check=True)
    home = tmp_path / "home"
    home.mkdir()
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "SYSTEMROOT", "TMPDIR")}
    done = subprocess.run(
        [python, "-I", ROOT / "tests" / "first_calls.py"],
        env={**kept, "HOME": str(home), "USERPROFILE": str(home)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "without Numba"
    assert not list(home.iterdir())
