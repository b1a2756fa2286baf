"""The shared kernels, each against something simpler."""

from __future__ import annotations

import logging
import os
import pickle
import stat
import subprocess
import sys
import time
import tracemalloc
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from preflow import FlowNetwork
from preflow.generators import FAMILIES
from preflow.graph.residual import ResidualNetwork, build_residual
from preflow.kernels import overloads
from preflow.kernels.atomics import relaxed_load
from preflow.kernels.cache_folder import cache_directory
from preflow.kernels.clock import now
from preflow.kernels.jit import _Messages
from preflow.kernels.kernel import PACKAGE, kernel
from preflow.network import distances_to_sink
from tests.support.strategies import SmallProblem, small_problems

ZERO, ONE = np.uint64(0), np.uint64(1)


def residual_of(problem: SmallProblem) -> ResidualNetwork:
    return build_residual(problem.network, np.array(problem.sources), np.array(problem.sinks))


@given(problem=small_problems())
def test_residual_network_is_consistent(problem: SmallProblem) -> None:
    residual = residual_of(problem)
    net = residual.arrays
    n, arcs = residual.num_vertices, np.arange(residual.num_arcs)
    tail = np.repeat(np.arange(n), np.diff(net.first_out))
    assert np.array_equal(net.reverse[net.reverse], arcs)
    assert np.array_equal(net.head[net.reverse], tail)
    assert len({(int(u), int(v)) for u, v in zip(tail, net.head, strict=True)}) == residual.num_arcs
    assert not (tail == net.head).any()
    assert not np.minimum(net.excess, net.sink_residual).any()
    assert np.array_equal(residual.initial_residual(problem.network), net.residual)
    expected: dict[tuple[int, int], int] = {}
    for u, v, capacity in problem.directed_arcs:
        if {u, v}.isdisjoint(problem.sources + problem.sinks):
            ends = (int(residual.inner[u]), int(residual.inner[v]))
            expected[ends] = expected.get(ends, 0) + capacity
    built = {(int(u), int(v)): int(c) for u, v, c in zip(tail, net.head, net.residual, strict=True) if c}
    assert built == {ends: capacity for ends, capacity in expected.items() if capacity}


@given(problem=small_problems(max_vertices=12), seed=st.integers(0, 2**32 - 1), drain=st.booleans())
def test_resumed_search_equals_a_fresh_one(problem: SmallProblem, seed: int, drain: bool) -> None:
    """After pushes that lead downwards, heights below the least one that lost an arc are still exact."""
    net = residual_of(problem).arrays
    n = len(net.excess)
    height, order = np.full(n, n + 1, dtype=np.uint32), np.empty(n, dtype=np.uint32)
    reached, _ = distances_to_sink(net, height, order, ZERO, ZERO, ZERO, drain)
    rng = np.random.default_rng(seed)
    for _ in range(4):
        exact_below = n + 1
        for v in rng.permutation(n):
            for a in range(int(net.first_out[v]), int(net.first_out[v + 1])):
                w = net.head[a]
                if net.residual[a] > 0 and height[v] == height[w] + 1 and rng.random() < 0.5:
                    amount = min(int(net.residual[a]), int(rng.integers(1, 4)))
                    net.residual[a] -= amount
                    net.residual[net.reverse[a]] += amount
                    if net.residual[a] == 0:
                        exact_below = min(exact_below, int(height[v]))
        found = height[order[:reached]]
        begin, end = np.searchsorted(found, [exact_below - 1, exact_below]) if exact_below > 1 else (0, 0)
        reached, _ = distances_to_sink(
            net, height, order, np.uint64(reached), np.uint64(begin), np.uint64(end), drain
        )
        fresh = np.full(n, n + 1, dtype=np.uint32)
        fresh_order = np.empty(n, dtype=np.uint32)
        fresh_reached, _ = distances_to_sink(net, fresh, fresh_order, ZERO, ZERO, ZERO, False)
        assert np.array_equal(height, fresh)
        assert reached == fresh_reached
        assert sorted(order[:reached]) == sorted(fresh_order[:reached])
        assert (np.diff(height[order[:reached]].astype(int)) >= 0).all()


@pytest.mark.parametrize(
    ("family", "size"), [("grid-2d", "300x300"), ("rmf-wide", "32x8"), ("ac-dense", "300")]
)
@pytest.mark.parametrize(("scale", "most_bytes"), [(1, 48), (1.0, 48), (2**33, 56)])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_memory_of_a_build(
    family: str, size: str, scale: float, most_bytes: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("preflow.graph.residual.ARCS_A_THREAD", 1)
    problem = FAMILIES[family].generate(size, seed=0)
    given = problem.network
    reverse_capacity = None if given.reverse_capacity is None else given.reverse_capacity * scale
    network = FlowNetwork.from_arrays(
        given.tail, given.head, given.capacity * scale, reverse_capacity=reverse_capacity
    )
    sources, sinks = np.atleast_1d(problem.source), np.atleast_1d(problem.sink)
    build_residual(network, sources, sinks, threads=threads)
    tracemalloc.start()
    residual = build_residual(network, sources, sinks, threads=threads)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert residual.arrays.residual.dtype == (np.int64 if most_bytes == 56 else np.int32)
    assert peak / (residual.num_arcs // 2) < most_bytes


@given(problem=small_problems(max_vertices=12))
def test_drain_keeps_a_preflow(problem: SmallProblem) -> None:
    residual = residual_of(problem)
    net = residual.arrays
    n = len(net.excess)
    before = int(net.excess.sum()) - int(net.sink_residual.sum())
    height, order = np.full(n, n + 1, dtype=np.uint32), np.empty(n, dtype=np.uint32)
    distances_to_sink(net, height, order, ZERO, ZERO, ZERO, True)
    assert (net.excess >= 0).all()
    assert (net.residual >= 0).all()
    assert int(net.excess.sum()) - int(net.sink_residual.sum()) == before
    initial = residual.initial_residual(problem.network).astype(np.int64)
    assert np.array_equal(
        initial + initial[net.reverse], net.residual.astype(np.int64) + net.residual[net.reverse]
    )


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32, np.float64])
def test_relaxed_load(dtype: type) -> None:
    @kernel
    def read(array: object, index: object) -> object:
        return relaxed_load(array, index)

    array = np.array([3, 7], dtype=dtype)
    assert read(array, 1) == 7
    assert read(array, np.uint64(0)) == 3
    assert relaxed_load(array, 1) == 7


KERNEL_SOURCE = """
from preflow.kernels.kernel import kernel
from .callee import STEP, advance

@kernel
def run(x):
    return advance(x) + STEP
"""
CALLEE_SOURCE = """
from preflow.kernels.kernel import kernel
STEP = 10

@kernel
def advance(x):
    return x + 1
"""


def run_package(folder: Path, cache: Path) -> str:
    environment = {
        **os.environ,
        "PREFLOW_CACHE_DIR": str(cache),
        "PYTHONPATH": os.pathsep.join([str(folder), str(PACKAGE.parent)]),
        # Two edits within a second that leave the size alone look the same to Python's cache.
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    logs = "import logging; logging.basicConfig(); logging.getLogger('preflow').setLevel(logging.DEBUG)"
    code = f"{logs}; from sample.caller import run; print(run(1))"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip() + (" compiled" if "compiling run" in done.stderr else "")


@kernel
def read_clock() -> np.uint64:
    return now()


@pytest.mark.parametrize("clock", [read_clock, read_clock.py_func])
def test_clock(clock: Any) -> None:
    clock()
    before = clock()
    time.sleep(0.05)
    assert 0.05 <= (clock() - before) * 1e-9 < 5.0


def test_cache_notices_an_edited_callee_and_constant(tmp_path: Path) -> None:
    package = tmp_path / "sample"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "caller.py").write_text(KERNEL_SOURCE)
    callee = CALLEE_SOURCE
    (package / "callee.py").write_text(callee)
    cache = tmp_path / "cache"
    assert run_package(tmp_path, cache) == "12 compiled"
    assert run_package(tmp_path, cache) == "12"
    (package / "callee.py").write_text(callee.replace("x + 1", "x + 2"))
    assert run_package(tmp_path, cache) == "13 compiled"
    (package / "callee.py").write_text(callee.replace("STEP = 10", "STEP = 20"))
    assert run_package(tmp_path, cache) == "22 compiled"


def test_unwritable_cache_is_a_warning_not_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    blocked = tmp_path / "file"
    blocked.touch()
    monkeypatch.setenv("PREFLOW_CACHE_DIR", str(blocked / "below"))
    assert cache_directory() == blocked / "below"

    @kernel
    def double(x: int) -> int:
        return 2 * x

    monkeypatch.setattr(_Messages, "uncached", False)
    with caplog.at_level(logging.INFO, logger="preflow"):
        assert double(4) == 8
    assert "cannot be cached" in caplog.text


def test_what_is_compiled_is_said_once_for_each_problem_and_dtype(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    import preflow.assignment.problem  # noqa: F401

    monkeypatch.setenv("PREFLOW_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(_Messages, "compiling", set())
    monkeypatch.setattr(_Messages, "uncached", False)
    solver: dict[str, Any] = {"__name__": "preflow.assignment.solver"}
    exec("def solve(kernel, *arguments): return kernel(*arguments)", solver)

    @kernel
    def pick(index: Any, values: Any) -> Any:
        return values[0][index[0]]

    index = np.zeros(1, dtype=np.uint32)
    for dtype in ("float64", "int32", "uint32"):
        solver["solve"](pick, index, (np.zeros(1, dtype),))
        solver["solve"](pick, index, (index, np.zeros(1, dtype)))
    pick(index, (np.zeros(1, "int16"),))
    assert [record.getMessage() for record in caplog.records] == [
        f"compiling {what}, about {seconds} s, once; kept in {tmp_path}"
        for what, seconds in (
            ("linear_assignment for float64", 15),
            ("linear_assignment for int32", 15),
            ("linear_assignment", 15),
            ("kernels for int16", 5),
        )
    ]


# Who is trusted: the cache is pickles


def cached_double(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], int]:
    """Return a kernel, as a new process would load it, with its cache in a folder."""
    monkeypatch.setenv("PREFLOW_CACHE_DIR", str(folder))
    monkeypatch.setattr(_Messages, "uncached", False)

    @kernel
    def double(x: int) -> int:
        return 2 * x

    return double


def was_compiled(function: Callable[[int], int]) -> bool:
    """Whether calling a kernel compiles it; checks its result, too."""
    assert function(4) == 8
    return sum(function.dispatcher.stats.cache_misses.values()) > 0  # type: ignore[attr-defined]


def cache_file(folder: Path) -> Path:
    """Return the file of machine code of the only kernel in a cache."""
    (found,) = folder.rglob("*.nbc")
    return found


class Evil:
    """What makes a folder when it is unpickled."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.folder),)


def plant(path: Path, value: Any) -> None:
    """Write a file as the cache would."""
    content = pickle.dumps(value)
    path.write_bytes(zlib.crc32(content).to_bytes(4, "little") + content)


@pytest.fixture
def new_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with a kernel in it, made below a folder that is not there yet."""
    cache = tmp_path / "new" / "cache"
    assert was_compiled(cached_double(cache, monkeypatch))
    assert not was_compiled(cached_double(cache, monkeypatch))
    return cache


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")
def test_the_cache_is_private(new_cache: Path) -> None:
    for path in (new_cache.parent, new_cache, *new_cache.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")
@pytest.mark.parametrize("which", ["cache", "folder", "file"])
@pytest.mark.parametrize("how", ["group", "others", "owner"])
def test_what_others_can_write_is_not_unpickled(
    which: str,
    how: str,
    new_cache: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    file = cache_file(new_cache)
    plant(file, Evil(tmp_path / "hacked"))
    target = {"cache": new_cache, "folder": file.parent, "file": file}[which]
    if how != "owner":
        target.chmod(target.stat().st_mode | (0o020 if how == "group" else 0o002))
    elif os.geteuid() == 0:
        os.chown(target, 12345, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with caplog.at_level(logging.WARNING, logger="preflow"):
        assert was_compiled(cached_double(new_cache, monkeypatch))
    assert not (tmp_path / "hacked").exists()
    reason = "belongs to user" if how == "owner" else "others can write to it"
    told = [record for record in caplog.records if reason in record.getMessage()]
    assert len(told) == 1
    assert os.geteuid() != 0 or str(target) in told[0].getMessage()


def test_relative_folders_and_no_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing is loaded from the current folder, and nothing ends in an error."""
    monkeypatch.chdir(tmp_path)
    with caplog.at_level(logging.WARNING, logger="preflow"):
        assert was_compiled(cached_double(Path("relative"), monkeypatch))
    assert caplog.text.count("PREFLOW_CACHE_DIR must be an absolute path, got 'relative'") == 1
    double = cached_double(tmp_path, monkeypatch)
    monkeypatch.delenv("PREFLOW_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    # Later versions of platformdirs leave a relative folder out, older ones would use it.
    with suppress(OSError):
        assert cache_directory() == Path.home() / ".cache" / "preflow"
    monkeypatch.setattr("os.path.expanduser", lambda path: path)  # as for a user who has no home folder
    monkeypatch.delenv("XDG_CACHE_HOME")
    with caplog.at_level(logging.WARNING, logger="preflow"):
        assert was_compiled(double)
    assert caplog.text.count("no home folder") == 1
    monkeypatch.setattr("platformdirs.user_cache_path", lambda *names, **options: Path("relative"))
    with pytest.raises(OSError, match="cache folder must be an absolute path"):
        cache_directory()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("damage", ["empty", "short", "flipped", "foreign", "other", "junk"])
def test_damaged_cache_files_are_compiled_again(
    damage: str,
    new_cache: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    file = cache_file(new_cache)
    content = file.read_bytes()
    if damage == "foreign":
        plant(file, Unloadable())
    elif damage == "other":
        plant(file, ("something", "else"))
    else:
        changed = {"empty": b"", "short": content[:-9], "junk": b"no pickle"}
        file.write_bytes(changed.get(damage, content[:50] + bytes([content[50] ^ 1]) + content[51:]))
    with caplog.at_level(logging.WARNING, logger="preflow"):
        assert was_compiled(cached_double(new_cache, monkeypatch))
    assert caplog.text.count("is not loaded") == 1
    assert not was_compiled(cached_double(new_cache, monkeypatch))


class Unloadable:
    """What cannot be unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return int, ("no number",)


def test_overloads_are_loaded_after_an_interruption(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without them Numba cannot compile the kernels that need them, for as long as the process lives."""
    loading = Mock(side_effect=[None, KeyboardInterrupt, None, None])
    monkeypatch.setattr(overloads, "import_module", loading)
    monkeypatch.setattr(overloads, "_waiting", ["a_numba", "b_numba", "c_numba"])
    with pytest.raises(KeyboardInterrupt):
        overloads.load_overloads()
    overloads.load_overloads()
    assert [call.args[0][0] for call in loading.call_args_list] == ["c", "b", "b", "a"]


def test_sources_are_utf8_in_every_locale() -> None:
    code = "import preflow.kernels.fingerprint as f; f.sources_of(*f.DECORATOR.parents[1].rglob('*.py'))"
    plain = {**os.environ, "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    subprocess.run([sys.executable, "-c", code], env=plain, check=True)
