"""Compile the kernels ahead of time into one extension module for all versions of Python.

    python native/build.py [--jobs N] [--wheel]

1. Numba turns each kernel, for each kind of arguments in kinds.txt, into LLVM bitcode, with a function around
   it that takes its arguments as 64-bit words.
2. LLVM optimises the bitcode for each level of CPUs and writes an object file.
3. A C compiler links the objects with dispatch.c into ``src/preflow/_kernels.abi3.so``.

Bitcode and objects are kept in ``build/native`` under a hash of the sources that they come from, so that only
edited kernels are compiled again.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
KINDS = HERE / "kinds.txt"
LIBRARY = ROOT / "src" / "preflow" / "_kernels.abi3.so"
OBJECTS = ROOT / "build" / "native"

#: Levels of CPUs by machine, the lowest first: a name, LLVM's CPU, its further features. A higher level than
#: x86-64-v3 was measured to gain at most 3 %.
LEVELS = {
    "x86_64": (("v2", "x86-64-v2", ""), ("v3", "x86-64-v3", "")),
    "AMD64": (("v2", "x86-64-v2", ""), ("v3", "x86-64-v3", "")),
    "aarch64": (("v8", "generic", ""),),
    "arm64": (("m1", "apple-m1", ""),),
}
READ_ONLY = re.compile(r"(\d)([acf])(?=[?bBhHiIqQfd])")


class Function(NamedTuple):
    """A kernel compiled for one kind.

    Attributes
    ----------
    kernel : str
        ``module:function``.
    kinds : tuple of str
        The kinds of arguments that it takes: they differ in which arrays are read-only.
    symbol : str
        Its name in the library.
    result : str
        The kind of what it returns.
    """

    kernel: str
    kinds: tuple[str, ...]
    symbol: str
    result: str


def read_kinds(path: Path) -> dict[str, dict[str, list[str]]]:
    """Return, for each kernel, the kinds to compile with the kinds of calls that each of them serves.

    A function for arrays that can be written also takes read-only ones where a call with such arrays has been
    seen: Numba has checked then that the kernel does not write them.
    """
    found: dict[str, dict[str, list[str]]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        name, _, kind = line.partition(" ")
        writable = READ_ONLY.sub(lambda match: match[1] + match[2].upper(), kind)
        calls = found.setdefault(name, {}).setdefault(writable, [writable])
        if kind not in calls:
            calls.append(kind)
    return found


# --- from Python to bitcode ------------------------------------------------------------------------------


def versions() -> str:
    """Return what the bitcode depends on beside the sources of the kernels."""
    import llvmlite
    import numba

    own = hashlib.sha256((HERE / "translate.py").read_bytes()).hexdigest()
    return f"{numba.__version__} {llvmlite.__version__} {platform.machine()} {own}"


def translate(work: tuple[str, dict[str, list[str]], Path]) -> tuple[str, str, list[Function]]:
    """Write the bitcode of a kernel for all its kinds; return its module, their hash and the functions."""
    name, kinds, objects = work
    from preflow.kernels.kernel import source_hash

    sys.path.insert(0, str(HERE))
    from translate import bitcode_of, keep_numba_from_emitting

    module, _, attribute = name.partition(":")
    kernel = getattr(import_module(module), attribute)
    sources = source_hash(Path(str(sys.modules[module].__file__)))
    functions = []
    for kind, calls in kinds.items():
        digest = hashlib.sha256(f"{name} {kind} {sources} {versions()}".encode()).hexdigest()
        symbol = f"preflow_{digest[:20]}"
        bitcode, result = objects / f"{symbol}.bc", objects / f"{symbol}.result"
        if not result.exists():
            if not hasattr(translate, "ready"):
                keep_numba_from_emitting()
                translate.ready = True  # type: ignore[attr-defined]
            code, text = bitcode_of(kernel, kind, symbol)
            bitcode.write_bytes(code)
            result.write_text(text)
        functions.append(Function(name, tuple(calls), symbol, result.read_text()))
    return module, sources, functions


# --- from bitcode to objects -----------------------------------------------------------------------------


def emit(work: tuple[str, tuple[str, str, str], Path]) -> Path:
    """Optimise the bitcode of a function for a level of CPUs; return the path of the object file."""
    symbol, (suffix, cpu, features), objects = work
    path = objects / f"{symbol}_{suffix}.o"
    if path.exists():
        return path
    import llvmlite.binding as llvm
    from numba.core import config
    from numba.core.llvm_bindings import create_pass_builder

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    machine = target.create_target_machine(
        cpu=cpu, features=features, opt=3, reloc="pic", codemodel="default"
    )
    module = llvm.parse_bitcode((objects / f"{symbol}.bc").read_bytes())
    module.get_function(symbol).name = f"{symbol}_{suffix}"
    # The passes that Numba runs, in its order.
    cheap = create_pass_builder(machine, opt=0, loop_vectorize=False, slp_vectorize=False)
    manager = cheap.getModulePassManager()
    manager.add_loop_rotate_pass()
    manager.add_instruction_combine_pass()
    manager.add_jump_threading_pass()
    manager.run(module, cheap)
    full = create_pass_builder(
        machine, opt=3, loop_vectorize=config.LOOP_VECTORIZE, slp_vectorize=config.SLP_VECTORIZE
    )
    full.getModulePassManager().run(module, full)
    partial = path.with_suffix(f".{os.getpid()}")
    partial.write_bytes(machine.emit_object(module))
    partial.replace(path)
    return path


# --- from objects to the library -------------------------------------------------------------------------


def table(functions: Iterable[Function], sources: dict[str, str], suffixes: list[str]) -> str:
    """Return the C source of the library's tables."""
    functions = sorted(functions)
    lines = [
        f"int32_t {symbol}_{suffix}(const int64_t *, int64_t *);"
        for symbol in sorted({function.symbol for function in functions})
        for suffix in suffixes
    ]
    lines.append("static const entry entries[] = {")
    rows = sorted((each.kernel, kind, each) for each in functions for kind in each.kinds)
    for name, kind, function in rows:
        pointers = ", ".join(f"{function.symbol}_{suffix}" for suffix in suffixes)
        kind, result = (text.replace("?", "\\?") for text in (kind, function.result))  # no trigraphs
        lines.append(f'    {{"{name}", "{kind}", "{result}", {{{pointers}}}}},')
    lines += ["};", f"static const size_t num_entries = {len(rows)};", "static const source sources[] = {"]
    lines += [f'    {{"{module}", "{digest}"}},' for module, digest in sorted(sources.items())]
    lines += ["};", f"static const size_t num_sources = {len(sources)};", ""]
    return "\n".join(lines)


def link(tables: str, objects: list[Path], folder: Path, check_sources: bool, library: Path) -> None:
    """Link the objects, the tables and dispatch.c, unless that has been done already."""
    import numpy

    parts = [
        tables,
        (HERE / "dispatch.c").read_text(encoding="utf-8"),
        str(check_sources),
        *map(str, objects),
    ]
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    levels = len(LEVELS[platform.machine()])
    stamp = folder / "linked"
    if library.exists() and stamp.exists() and stamp.read_text() == f"{digest} {library}":
        return
    (folder / "entries.h").write_text(tables, encoding="utf-8")
    (folder / "objects.txt").write_text("\n".join(f'"{path}"' for path in objects))
    partial = library.with_suffix(f".{os.getpid()}")
    command = [*_compiler(), "-O2", "-shared", "-fPIC", "-fvisibility=hidden"]
    command += [f"-DPREFLOW_LEVELS={levels}", f"-DPREFLOW_CHECK_SOURCES={int(check_sources)}"]
    command += [f"-I{folder}", f"-I{numpy.get_include()}", f"-I{sysconfig.get_path('include')}"]
    command += [str(HERE / "dispatch.c"), f"@{folder / 'objects.txt'}", "-o", str(partial)]
    if sys.platform == "darwin":
        command += ["-undefined", "dynamic_lookup"]
    else:
        command += ["-lm", f"-Wl,--version-script,{HERE / 'exports.map'}", "-Wl,-s", "-Wl,--gc-sections"]
    subprocess.run(command, check=True)
    partial.replace(library)
    stamp.write_text(f"{digest} {library}")


def _compiler() -> list[str]:
    return os.environ.get("CC", "cc").split()


def obstacle(numba_comes_later: bool = False) -> str | None:
    """Return why the kernels cannot be compiled here, None where they can."""
    if platform.machine() not in LEVELS:
        return f"no level of CPUs is known for {platform.machine()}"
    if shutil.which(_compiler()[0]) is None:
        return f"there is no C compiler ({_compiler()[0]})"
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        return "Python's headers are not installed"
    if not numba_comes_later and find_spec("numba") is None:
        return "Numba is not installed"
    return None


def build(
    jobs: int, check_sources: bool, library: Path, kinds_file: Path = KINDS, folder: Path = OBJECTS
) -> None:
    """Compile what has changed and link the library.

    Parameters
    ----------
    jobs : int
        Processes that compile.
    check_sources : bool
        Whether the library is compared with the package's sources at run time.
    library : path
        The library to write.
    kinds_file : path
        Has a line for each kernel and kind of arguments.
    folder : path
        Keeps bitcode and objects.
    """
    os.environ["PREFLOW_NATIVE"] = "0"  # kernels of Numba, not those of an earlier library
    sys.path.insert(0, str(ROOT / "src"))
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    folder.mkdir(parents=True, exist_ok=True)
    levels = LEVELS[platform.machine()]
    kinds = read_kinds(kinds_file)
    start = time.perf_counter()
    functions: list[Function] = []
    sources: dict[str, str] = {}
    with ProcessPoolExecutor(jobs) as pool:
        kernels = [(name, calls, folder) for name, calls in sorted(kinds.items())]
        for done, (module, digest, found) in enumerate(pool.map(translate, kernels), 1):
            sources[module] = digest
            functions += found
            _progress("translating kernels", done, len(kernels), start)
        symbols = sorted({function.symbol for function in functions})
        work = [(symbol, level, folder) for symbol in symbols for level in levels]
        objects = []
        for path in pool.map(emit, work):
            objects.append(path)
            _progress("compiling functions", len(objects), len(work), start)
    link(table(functions, sources, [level[0] for level in levels]), objects, folder, check_sources, library)
    print(
        f"{len(kinds)} kernels for {len(symbols)} kinds of arguments and {len(levels)} levels of CPUs in "
        f"{time.perf_counter() - start:.0f} s: {library.stat().st_size / 2**20:.1f} MiB"
    )


_said = [0.0]


def _progress(what: str, done: int, total: int, start: float) -> None:
    now = time.perf_counter()
    if now - _said[0] > 10 and now - start > 2:
        _said[0] = now
        print(f"{what}: {done} of {total} after {now - start:.0f} s", flush=True)


def main() -> None:
    """Compile the kernels, or say why they stay with Numba."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--wheel", action="store_true", help="do not compare sources at run time")
    parser.add_argument("--library", type=Path, default=LIBRARY)
    parser.add_argument(
        "--kinds", type=Path, default=KINDS, help="a line for each kernel and kind of arguments"
    )
    parser.add_argument("--objects", type=Path, default=OBJECTS, help="a folder of bitcode and objects")
    parser.add_argument("--check", action="store_true", help="only say whether the kernels can be compiled")
    options = parser.parse_args()
    reason = obstacle()
    if reason is not None:
        print(f"the kernels are not compiled ahead of time: {reason}; Numba compiles them on first use")
        sys.exit(int(options.check))
    if not options.check:
        build(options.jobs, not options.wheel, options.library, options.kinds, options.objects)


if __name__ == "__main__":
    main()
