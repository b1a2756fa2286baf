"""The library of compiled kernels: exact about its arguments, complete for public calls, never stale."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import preflow
from preflow.errors import InvalidInputError
from preflow.kernels import kernel as kernels
from preflow.kernels import warm_up
from preflow.kernels.fingerprint import fingerprint
from preflow.registry import PROBLEMS, files_of, problem_of
from tests.support import native_samples
from tests.support.native_samples import Inner, Outer
from tests.support.paths import ROOT
from tests.support.processes import hasty_switches

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
DTYPES = ("bool", *INTEGERS, "float32", "float64")

needs_compiler = pytest.mark.skipif(
    subprocess.run([sys.executable, ROOT / "native" / "build.py", "--check"], check=False).returncode != 0,
    reason="the kernels cannot be compiled here",
)

needs_library = pytest.mark.skipif(kernels.native is None, reason="no compiled kernels: make native")


def calls() -> list[tuple[Any, tuple[Any, ...]]]:
    """Return the sample kernels with arguments of every kind."""
    found: list[tuple[Any, tuple[Any, ...]]] = []
    for dtype in DTYPES:
        values = np.array([1, 0, 1]) if dtype == "bool" else np.array([100, 2, 3])
        values = values.astype(dtype)
        found += [(native_samples.first, (values,)), (native_samples.scalar, (values[0],))]
        read_only = values.copy()
        read_only.flags.writeable = False
        found.append((native_samples.first, (read_only,)))
        matrix = np.arange(12).reshape(3, 4).astype(dtype)
        views = matrix, np.asfortranarray(matrix), matrix[::2, ::-1]
        found += [(native_samples.corner, (view,)) for view in views]
    for number in (True, False, 0, -1, 2**63 - 1, -(2**63), 0.0, -0.0, 1e300, np.nan, None):
        found.append((native_samples.scalar, (number,)))
    extremes = [np.iinfo(dtype).min for dtype in INTEGERS] + [np.iinfo(dtype).max for dtype in INTEGERS]
    for dtype, number in zip(2 * INTEGERS, extremes, strict=True):
        found.append((native_samples.scalar, (np.dtype(dtype).type(number),)))
    outer = Outer(Inner(np.array([1.5, 2.5]), 3), True, None)
    found.append((native_samples.members, (outer, (np.uint64(7), (np.float32(0.5),)))))
    found.append((native_samples.fill, (np.zeros(4, dtype=np.int32), 5)))
    found += [(native_samples.widen, (np.zeros(n, dtype=np.uint8) + 3,)) for n in (0, 1, 5)]
    return found


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A library of the sample kernels."""
    folder = tmp_path_factory.mktemp("native")
    kinds, path = folder / "kinds.txt", folder / "_kernels.abi3.so"
    record = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    kinds.touch()
    build = [sys.executable, ROOT / "native" / "build.py", "--kinds", kinds, "--objects", folder / "objects"]
    build += ["--library", path, "--jobs", "2", "--wheel"]
    subprocess.run(build, check=True, env=record)
    empty = loaded(path)
    lines = {f"{kernel.name} {empty.kind(arguments)}" for kernel, arguments in calls()}
    kinds.write_text("\n".join(sorted(lines)), encoding="utf-8")
    path = path.with_name("with_kernels.abi3.so")
    build[build.index("--library") + 1] = path
    subprocess.run(build, check=True, env=record)
    return loaded(path)


def loaded(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location("preflow._kernels", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def entry(library: Any, kernel: Any) -> Any:
    """Return a kernel of the library; calls of kinds that it lacks return None."""

    class Entry(library.Entry):  # type: ignore[misc]
        def compiled(self, *arguments: Any, **named: Any) -> None:
            return None

    return Entry(library.functions(kernel.name))


def same(found: Any, expected: Any) -> bool:
    if isinstance(expected, tuple):
        return isinstance(found, tuple) and all(map(same, found, expected)) and len(found) == len(expected)
    return type(found) is type(expected) and (found == expected or (found != found and expected != expected))


@needs_compiler
def test_every_kind_of_argument_arrives_as_with_numba(library: Any) -> None:
    for kernel, arguments in calls():
        expected = kernel.dispatcher(*arguments)
        found = entry(library, kernel)(*arguments)
        assert same(found, expected), (kernel.name, library.kind(arguments), found, expected)
    array = np.zeros(3, dtype=np.int32)
    assert entry(library, native_samples.fill)(array, 5) is None
    assert array.tolist() == [5, 5, 5]


@needs_compiler
def test_threads_that_call_at_the_same_time_first_get_what_one_gets(library: Any) -> None:
    """Every round has new classes of tuples, whose names all threads look for, and new entries."""
    threads, values = 8, np.arange(3.0)
    begin = threading.Barrier(threads)
    with hasty_switches(), ThreadPoolExecutor(threads) as pool:
        for number in range(100):
            fresh = type(f"Fresh{number}", (Outer,), {"__module__": "tests.support"})
            argument, first = (fresh(None, True, None),), entry(library, native_samples.first)

            def call(_: int, argument: Any = argument, first: Any = first) -> tuple[Any, Any]:
                begin.wait()
                return library.kind(argument), first(values + 1)

            found = set(pool.map(call, range(threads)))
            assert found == {(f"<tests.support.Fresh{number}>(n?n)", (1.0, 3, 8))}


@needs_library
def test_threads_may_make_their_first_calls_at_the_same_time() -> None:
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, ROOT / "tests" / "first_calls.py", "--threads", "6"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr


@needs_compiler
def test_other_kinds_are_left_to_numba(library: Any) -> None:
    fill = entry(library, native_samples.fill)
    first = entry(library, native_samples.first)
    members = entry(library, native_samples.members)
    array = np.zeros(3, dtype=np.int32)
    array.flags.writeable = False
    fill(array, 5)
    assert array.tolist() == [0, 0, 0]
    for other in (np.zeros(3, dtype=np.int32), np.zeros(6, dtype=np.int32)[::2]):
        assert fill(other, 5.0) is None or other.strides != (4,)
        assert not other.any()
    values = np.arange(3, dtype=np.int64)
    unaligned = np.frombuffer(b"0" + values.tobytes(), dtype=np.int64, offset=1)
    strange = (values[::-1], values.astype(">i8"), unaligned, values.astype(complex), values.astype("M8[s]"))
    for other in (*strange, [1, 2], "text", values.reshape(1, 3), object()):
        assert first(other) is None
    inner = (np.array([1.5, 2.5]), 3)
    assert members(Outer(Inner(*inner), True, None), (7, (0.5,))) is None
    assert members((inner, True, None), (np.uint64(7), (np.float32(0.5),))) is None
    assert first() is None
    assert first(values, values) is None
    assert first(values=values) is None


@needs_library
def test_public_calls_need_no_numba() -> None:
    code = "import sys; sys.modules['numba'] = sys.modules['llvmlite'] = None; import calls; calls.main()"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "native"), str(ROOT / "src")])}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@needs_library
def test_without_numba_a_kernel_that_is_not_compiled_is_a_clear_error() -> None:
    code = (
        "import sys; sys.modules['numba'] = None; import numpy as np; from preflow.kernels.clock import now\n"
        "from preflow.kernels.kernel import kernel\n"
        "@kernel\n"
        "def double(x): return 2 * x\n"
        "try: double(2)\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("MissingDependencyError a kernel that is not compiled for these arguments")
    assert "preflow[jit]" in done.stdout


SOLVER = "maxflow/serial_highest_label.py"
DOCSTRING = r'(def first_stage[^\0]*?""")([^\0]*?)"""\n'
#: Edits of a file: a pattern, its replacement, and whether ``first_stage`` compiles to something else.
EDITS = {
    "nothing": ("network/__init__.py", "^", "", False),
    "a comment": ("network/__init__.py", "^", "# edited\n", False),
    "a docstring": (SOLVER, DOCSTRING, r'\1Edited. \2"""\n', False),
    "code elsewhere": (SOLVER, r"\Z", "\n\ndef more() -> int:\n    return 1\n", False),
    "its code": (SOLVER, DOCSTRING, r'\1\2"""\n    _ = 0\n', True),
    "a callee": ("network/__init__.py", r'("""\n)(?=    [^\0])', r"\1    _ = 0\n", True),
    "an overload": ("kernels/atomics_numba.py", r"\Z", "_more = 1\n", True),
    "fields": ("graph/residual.py", r"\n    head: ", r"\n    more: int\n    head: ", True),
}


@needs_library
@pytest.mark.parametrize("edit", EDITS)
def test_what_an_edit_changes_is_not_taken_from_the_library(edit: str, tmp_path: Path) -> None:
    name, pattern, replacement, is_other = EDITS[edit]
    package = tmp_path / "preflow"
    shutil.copytree(ROOT / "src" / "preflow", package, ignore=shutil.ignore_patterns("__pycache__"))
    text = (package / name).read_text(encoding="utf-8")
    edited = re.sub(pattern, replacement, text)
    assert (edited == text) == (edit == "nothing")
    (package / name).write_text(edited, encoding="utf-8")
    code = (
        "from preflow.maxflow.serial_highest_label import first_stage as solver\n"
        "from preflow.bipartite.match_arrays import match_rows as other\n"
        "print(bool(solver.current_functions()), bool(other.current_functions()))"
    )
    environment = {**os.environ, "PYTHONPATH": str(package.parent)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [str(not is_other), "True"]


@needs_library
def test_a_tuple_class_may_be_missing_in_an_edited_package() -> None:
    from preflow.network import distances_to_sink

    missing = fingerprint(distances_to_sink, ["<preflow.graph.residual.Gone>(q)", "<preflow.gone.Gone>(q)"])
    assert missing != fingerprint(distances_to_sink)


def test_prose_and_types_are_not_in_a_fingerprint() -> None:
    code = "{}\ndef f(x{}){}:\n    {}\n    y = [i for i in (1, 2)]\n    return g(x), y, {}, 'text'\n"
    code += "def g(x): return x"
    plain = code.format("", "", "", "", 1)
    prose = code.format("# A comment.\n", ": int", " -> int", '"""A function."""', 1)
    edits = (
        code.format("", "", "", "", 1.0),
        plain.replace("(1, 2)", "(1, 3)"),
        plain.replace("g(x): return x", "g(x): return 2"),
    )
    hashes = []
    for text in (plain, prose, *edits):
        names: dict[str, Any] = {"__name__": "names"}
        exec(text, names)
        hashes.append(fingerprint(names["f"]))
    assert hashes[0] == hashes[1]
    assert len(set(hashes)) == 3  # g is no kernel: only its name counts


@needs_library
def test_an_edited_module_still_calls_the_library(tmp_path: Path) -> None:
    package = tmp_path / "preflow"
    shutil.copytree(ROOT / "src" / "preflow", package, ignore=shutil.ignore_patterns("__pycache__"))
    with (package / "kernels" / "bfs.py").open("a", encoding="utf-8") as callee:
        callee.write("# edited\n")
    code = (
        "import sys, preflow; print(preflow.max_flow(([0, 1], [1, 2], [3, 2]), 0, 2).value)\n"
        "print('numba' in sys.modules)"
    )
    environment = {**os.environ, "PYTHONPATH": str(package.parent), "PREFLOW_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["2", "False"]


def test_warm_up_compiles_what_the_library_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = tmp_path / "kinds.txt"
    kinds.write_text("preflow.forests.incremental_search:clear_request 1Ci\n", encoding="utf-8")
    monkeypatch.setattr("preflow.kernels.kinds.KINDS", kinds)
    monkeypatch.setenv("PREFLOW_CACHE_DIR", str(tmp_path / "cache"))
    assert preflow.warm_up("bipartite_matching", progress=False) == 0
    assert preflow.warm_up("grid_cut", progress=False) == 1
    assert list((tmp_path / "cache").rglob("*.nbc"))
    with pytest.raises(InvalidInputError, match="unknown problem 'sorting'"):
        preflow.warm_up("sorting")


@needs_library
def test_warm_up_takes_the_methods_of_papers_with_their_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = "preflow.papers.baselines.serial_pothen_fan"
    kinds = tmp_path / "kinds.txt"
    kinds.write_text(f"{module}:run_phases 1Ci\n", encoding="utf-8")
    monkeypatch.setattr("preflow.kernels.kinds.KINDS", kinds)
    assert list(warm_up.lacking(files_of(problem_of("bipartite_matching")))) == [module]
    assert not warm_up.lacking(files_of(problem_of("max_flow"), problem_of("grid_cut")))


@needs_library
def test_the_library_has_every_kind_of_the_list() -> None:
    assert not warm_up.lacking(files_of(*PROBLEMS))
