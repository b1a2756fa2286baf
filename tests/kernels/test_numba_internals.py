"""What preflow takes from inside Numba: from where, and for which versions it holds."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from tests.support.paths import ROOT

pytest.importorskip("numba")

from preflow.kernels.jit import OPTIONS
from preflow.kernels.numba_internals import dispatcher_with, loaded, machine_code, machine_of

#: The first and the last version for which ``preflow.kernels.numba_internals`` holds, and the one for which
#: ``native/translate.py`` does. The workflow ``numba`` tries the next ones.
FIRST, LAST, BUILD = "0.61", "0.68", "0.68.1"
#: The files that look inside Numba.
INSIDE = {Path("src/preflow/kernels/numba_internals.py"), Path("native/translate.py")}


def test_requirements_name_these_versions() -> None:
    project = tomllib.loads(ROOT.joinpath("pyproject.toml").read_text(encoding="utf-8"))
    extras = project["project"]["optional-dependencies"]
    compiler = project["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]["custom"]["compiler"]
    assert f"numba>={FIRST}" in extras["jit"]
    assert f"numba=={BUILD}" in extras["build"]
    assert f"numba=={BUILD}" in compiler
    for file, name in (
        ("native/build.py", f'NUMBA = "{BUILD}"'),
        ("hatch_build.py", f'NUMBA = "numba>={FIRST}"'),
    ):
        assert name in ROOT.joinpath(file).read_text(encoding="utf-8")
    assert BUILD.startswith(LAST)


def test_only_two_files_look_inside_numba() -> None:
    files = [
        *ROOT.joinpath("src").rglob("*.py"),
        *ROOT.joinpath("native").glob("*.py"),
        ROOT / "hatch_build.py",
    ]
    found = set()
    for path in files:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if any(re.match(r"numba\.(?!types$|extending$)", name) for name in names):
                found.add(path.relative_to(ROOT))
    assert found == INSIDE


class Kept:
    """A cache in memory."""

    cache_path = ""

    def __init__(self) -> None:
        self.content: dict[Any, bytes | None] = {}
        self.machine = ""

    def load_overload(self, signature: Any, context: Any) -> Any:
        self.machine = machine_of(context)
        content = self.content.get(signature)
        return loaded(memoryview(content), context) if content else None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        self.content[signature] = machine_code(compiled)


def test_machine_code_is_kept_and_loaded() -> None:
    def double(x: Any) -> Any:
        return 2 * x

    cache = Kept()
    for turn in range(2):
        dispatcher = dispatcher_with(cache, double, **OPTIONS)
        assert [dispatcher(4), dispatcher(1.5)] == [8, 3.0]
        assert sum(dispatcher.stats.cache_misses.values()) == (0 if turn else 2)
    assert len(cache.content) == 2
    assert cache.machine


@pytest.mark.skipif(
    version("numba").split(".") < BUILD.split("."), reason="Numba is older than the build needs"
)
def test_an_object_has_the_function_that_numba_compiles() -> None:
    """In a process of its own, since it keeps Numba from compiling any further."""
    code = """if 1:
        import ctypes, sys
        import llvmlite.binding as llvm
        import numpy as np
        from preflow.kernels.kernel import kernel
        import translate

        @kernel
        def total(values, factor):
            found = 0.0
            for value in values:
                found += value * factor
            return found

        bitcode, result = translate.bitcode_of(total, "1Cdd", "total_of")
        assert result == "d"
        code = translate.object_of(bitcode, "total_of", "renamed", "", "")
        machine = llvm.Target.from_default_triple().create_target_machine()
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
        engine.add_object_file(llvm.object_file.ObjectFileRef.from_data(code))
        engine.finalize_object()
        call = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)
        values = np.array([1.0, 2.0, 3.5])
        words = np.array([values.ctypes.data, 3, 8, np.float64(2).view(np.int64)], np.int64)
        found = np.zeros(1)
        function = call(engine.get_function_address("renamed"))
        assert function(words.ctypes.data, found.ctypes.data) == 0
        assert found[0] == 13.0, found
    """
    run_alone(code)


def run_alone(code: str, **variables: str) -> None:
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT / "native")])
    environment = {**os.environ, "PYTHONPATH": path, "PREFLOW_NATIVE": "0", **variables}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


@pytest.mark.parametrize(("machine", "number"), [("x86_64", 62), ("aarch64", 183)])
def test_an_object_is_for_the_machine_that_is_asked_for(machine: str, number: int) -> None:
    """`number` stands in the header of an ELF file. A pause is another instruction on each machine."""
    code = f"""if 1:
        from preflow.kernels.atomics import pause
        from preflow.kernels.kernel import kernel
        import build, translate

        @kernel
        def wait(count):
            for _ in range(count):
                pause()

        bitcode, result = translate.bitcode_of(wait, "q", "wait_for")
        (_, cpu, features), *_ = build.LEVELS[build.machine()]
        code = translate.object_of(bitcode, "wait_for", "renamed", cpu, features)
        assert code[:4] == b"\\x7fELF"
        assert int.from_bytes(code[18:20], "little") == {number}
    """
    run_alone(code, _PYTHON_HOST_PLATFORM=f"linux-{machine}")
