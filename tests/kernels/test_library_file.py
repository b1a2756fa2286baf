"""A library that was cut off or changed is not loaded: Numba compiles the kernels, and a message says why."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from preflow.kernels.kernel import PACKAGE
from preflow.kernels.library_file import damage, seal

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the headers are those of Linux")
#: Any library will do.
SAMPLE = Path(np.linalg._umath_linalg.__file__)  # type: ignore[attr-defined]


@pytest.fixture
def library(tmp_path: Path) -> Path:
    return Path(shutil.copy(SAMPLE, tmp_path / "x.abi3.so"))


@pytest.mark.parametrize("sealed", [False, True])
def test_libraries_that_were_cut_off(library: Path, sealed: bool) -> None:
    if sealed:
        seal(library)
    assert damage(library) is None
    data = library.read_bytes()
    mapped = len(data) * 4 // 5  # section headers may follow, which no loader reads
    rng = random.Random(1)
    for length in (6, 63, 64, 65, mapped // 2, *(rng.randrange(6, mapped) for _ in range(50))):
        library.write_bytes(data[:length])
        assert damage(library) == "it was cut off", length


def test_libraries_that_were_changed(library: Path) -> None:
    seal(library)
    data = library.read_bytes()
    rng = random.Random(2)
    for _ in range(50):
        begin = rng.randrange(len(data) - 16384)
        library.write_bytes(data[:begin] + rng.randbytes(16384) + data[begin + 16384 :])
        assert damage(library) is not None, begin
    library.write_bytes(data + b"more")
    assert damage(library) is None  # a loader ignores what is behind a library
    library.write_bytes(data[:-1000] + data[-500:])
    assert damage(library) is not None


def test_the_check_takes_little_time(library: Path) -> None:
    seal(library)
    library.write_bytes(library.read_bytes())
    taken = []
    for _ in range(20):
        start = time.perf_counter()
        damage(library)
        taken.append(time.perf_counter() - start)
    assert min(taken) < 1e-3


@pytest.mark.parametrize("part", [0.0, 0.3, 0.8])
def test_numba_takes_the_place_of_a_library_that_was_cut_off(part: float, tmp_path: Path) -> None:
    copied = tmp_path / "preflow"
    shutil.copytree(PACKAGE, copied, ignore=shutil.ignore_patterns("__pycache__", "_kernels.*", "*.cu*"))
    data = SAMPLE.read_bytes()
    copied.joinpath("_kernels.abi3.so").write_bytes(data[: int(len(data) * part)])
    code = "from preflow.kernels.kernel import native; print(native)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(tmp_path)},
    )
    assert done.stdout == "None\n"
    assert "the compiled kernels cannot be loaded" in done.stderr
