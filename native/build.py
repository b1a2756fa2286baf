"""Compile the kernels ahead of time into one extension module for all versions of Python.

    python native/build.py [--jobs N] [--wheel]

1. Numba turns each kernel, for each kind of arguments in kinds.txt, into LLVM bitcode, with a function around
   it that takes its arguments as 64-bit words.
2. LLVM optimises the bitcode for each level of CPUs and writes an object file: in a source tree only for
   the level of this CPU, for a wheel for all levels.
3. A C compiler links the objects with dispatch.c into ``src/preflow/_kernels.abi3.so``.

Bitcode and objects are kept in ``build/native`` under a hash of the code that they come from, so that only
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
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
KINDS = ROOT / "src" / "preflow" / "kernels" / "kinds.txt"
LIBRARY = ROOT / "src" / "preflow" / ("_kernels.pyd" if sys.platform == "win32" else "_kernels.abi3.so")
OBJECTS = ROOT / "build" / "native"

#: Levels of CPUs by machine, the lowest first: a name, LLVM's CPU, its further features. A higher level than
#: x86-64-v3 was measured to gain at most 3 %.
LEVELS = {
    "x86_64": (("v2", "x86-64-v2", ""), ("v3", "x86-64-v3", "")),
    "AMD64": (("v2", "x86-64-v2", ""), ("v3", "x86-64-v3", "")),
    "aarch64": (("v8", "generic", ""),),
    "arm64": (("m1", "apple-m1", ""),),
}
#: Features of a CPU of level v3 that one of level v2 lacks.
FEATURES_OF_V3 = ("avx2", "bmi", "bmi2", "fma")
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

    Calls that differ in which arrays are read-only share a function. It is compiled for arrays that are
    read-only where they are so in any of the calls: Numba refuses it if the kernel writes them.
    """
    groups: dict[tuple[str, str], list[str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        name, _, kind = line.partition(" ")
        writable = READ_ONLY.sub(lambda match: match[1] + match[2].upper(), kind)
        calls = groups.setdefault((name, writable), [writable])
        if kind not in calls:
            calls.append(kind)
    found: dict[str, dict[str, list[str]]] = {}
    for (name, _), calls in groups.items():
        read_only = "".join(map(max, zip(*calls, strict=True)))  # lower-case letters come later
        found.setdefault(name, {})[read_only] = calls
    return found


# --- from Python to bitcode ------------------------------------------------------------------------------


def versions() -> str:
    """Return what the bitcode depends on beside the sources of the kernels."""
    import llvmlite
    import numba

    own = hashlib.sha256((HERE / "translate.py").read_bytes()).hexdigest()
    return f"{numba.__version__} {llvmlite.__version__} {platform.machine()} {own}"


class Translated(NamedTuple):
    """The bitcode of a kernel.

    Attributes
    ----------
    hashes : dict
        Of the sources of the kernel's module, by the module's name, and of the kernel itself, by its own.
    functions : list of Function
        One for each kind.
    refused : dict
        Kinds that cannot be compiled, with the reason: the kernel has changed since they were recorded.
    """

    hashes: dict[str, str]
    functions: list[Function]
    refused: dict[str, str]


def translate(work: tuple[str, dict[str, list[str]], Path]) -> Translated:
    """Write the bitcode of a kernel for all its kinds."""
    name, kinds, objects = work
    from preflow.kernels.fingerprint import fingerprint
    from preflow.kernels.kernel import source_hash

    sys.path.insert(0, str(HERE))
    from translate import bitcode_of, keep_numba_from_emitting

    module, _, attribute = name.partition(":")
    functions: list[Function] = []
    refused: dict[str, str] = {}
    try:
        kernel = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        return Translated({}, functions, dict.fromkeys(kinds, str(error)))
    for kind, calls in kinds.items():
        depends = f"{name} {kind} {fingerprint(kernel, [kind])} {versions()}"
        digest = hashlib.sha256(depends.encode()).hexdigest()
        symbol = f"preflow_{digest[:20]}"
        bitcode, result = objects / f"{symbol}.bc", objects / f"{symbol}.result"
        if not result.exists():
            if not hasattr(translate, "ready"):
                keep_numba_from_emitting()
                translate.ready = True  # type: ignore[attr-defined]
            try:
                code, text = bitcode_of(kernel, kind, symbol)
            except Exception as error:
                refused[kind] = f"{type(error).__name__}: {error}"
                continue
            bitcode.write_bytes(code)
            result.write_text(text)
        functions.append(Function(name, tuple(calls), symbol, result.read_text()))
    compiled = [kind for function in functions for kind in function.kinds]
    sources = source_hash(Path(str(sys.modules[module].__file__)))
    return Translated({module: sources, name: fingerprint(kernel, compiled)}, functions, refused)


def translate_all(
    work: list[tuple[str, dict[str, list[str]], Path]],
) -> list[tuple[str, Translated]]:
    """Translate kernels one after the other: those that several of them call are compiled once."""
    return [(item[0], translate(item)) for item in work]


def batches(kinds: dict[str, dict[str, list[str]]], jobs: int) -> list[list[str]]:
    """Share out kernels, those of one folder together, since they call the same ones; large batches first.

    Small batches at the end let all processes end at the same time.
    """
    folders: dict[str, list[str]] = {}
    for name in kinds:
        folders.setdefault(name.partition(":")[0].rpartition(".")[0], []).append(name)
    most = max(1, len(kinds) // (6 * jobs))
    pieces = [
        names[begin : begin + most] for names in folders.values() for begin in range(0, len(names), most)
    ]
    return sorted(pieces, key=len, reverse=True)


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


def table(functions: Iterable[Function], hashes: dict[str, str], suffixes: list[str]) -> str:
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
    lines += [f'    {{"{name}", "{digest}"}},' for name, digest in sorted(hashes.items())]
    lines += ["};", f"static const size_t num_sources = {len(hashes)};", ""]
    return "\n".join(lines)


def levels_to_compile(check_sources: bool) -> tuple[tuple[str, str, str], ...]:
    """Return all levels of CPUs for a wheel, in a source tree the highest one that this CPU has.

    With ``PREFLOW_ONE_LEVEL=1`` a wheel is for this CPU as well: its test then takes half the time.
    """
    levels = LEVELS[platform.machine()]
    one_is_enough = check_sources or os.environ.get("PREFLOW_ONE_LEVEL") == "1"
    if not one_is_enough or len(levels) == 1:
        return levels
    from llvmlite import binding

    features = binding.get_host_cpu_features()
    return levels[-1:] if all(features.get(name) for name in FEATURES_OF_V3) else levels[:1]


def inputs_hash(kinds_file: Path, check_sources: bool) -> str:
    """Return a hash of all that the library is made from."""
    levels = " ".join(level[0] for level in levels_to_compile(check_sources))
    files = [*(ROOT / "src" / "preflow").rglob("*.py"), *HERE.iterdir(), kinds_file]
    digest = hashlib.sha256(
        f"{check_sources} {levels} {version('numba')} {version('llvmlite')} {_compiler()}".encode()
    )
    for file in sorted(file for file in files if file.is_file()):
        digest.update(f"{file.name} ".encode() + hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def link(tables: str, objects: list[Path], folder: Path, check_sources: bool, library: Path) -> None:
    """Link the objects, the tables and dispatch.c."""
    import numpy

    levels = levels_to_compile(check_sources)
    (folder / "entries.h").write_text(tables, encoding="utf-8")
    (folder / "objects.txt").write_text("\n".join(f'"{path.as_posix()}"' for path in objects))
    partial = library.with_suffix(f".{os.getpid()}")
    command = [*_compiler(), "-O2", "-shared", "-fPIC", "-fvisibility=hidden"]
    command += [f"-DPREFLOW_LEVELS={len(levels)}", f"-DPREFLOW_NEEDS_V3={int(levels[0][0] == 'v3')}"]
    command += [f"-DPREFLOW_CHECK_SOURCES={int(check_sources)}"]
    command += [f"-I{folder}", f"-I{numpy.get_include()}", f"-I{sysconfig.get_path('include')}"]
    command += [str(HERE / "dispatch.c"), f"@{folder / 'objects.txt'}", "-o", str(partial)]
    if sys.platform == "darwin":
        command += ["-undefined", "dynamic_lookup"]
    elif sys.platform == "win32":  # MinGW, whose libraries have usleep and clock_gettime
        command += [f"-L{Path(sys.base_prefix, 'libs')}", "-lpython3", "-static", "-lpthread", "-Wl,-s"]
        command += ["-Wl,--defsym,__chkstk=___chkstk_ms"]
    else:
        command += ["-lm", f"-Wl,--version-script,{HERE / 'exports.map'}", "-Wl,-s", "-Wl,--gc-sections"]
    subprocess.run(command, check=True)
    if sys.platform != "darwin":
        from preflow.kernels.library_file import seal

        seal(partial)
    partial.replace(library)


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
    jobs: int,
    check_sources: bool,
    library: Path,
    kinds_file: Path = KINDS,
    folder: Path = OBJECTS,
    forget: bool = False,
) -> None:
    """Compile what has changed and link the library, unless it is up to date.

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
    forget : bool
        Whether kinds that cannot be compiled any more are taken out of the file. Otherwise they end the build
        of a wheel, and stay with Numba in a source tree.
    """
    os.environ["PREFLOW_NATIVE"] = "0"  # kernels of Numba, not those of an earlier library
    sys.path.insert(0, str(ROOT / "src"))
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    folder.mkdir(parents=True, exist_ok=True)
    stamp = folder / f"{library.parent.name}-{library.name}.inputs"
    inputs = f"{inputs_hash(kinds_file, check_sources)} {library}"
    if library.exists() and stamp.exists() and stamp.read_text(encoding="utf-8") == inputs:
        return
    levels = levels_to_compile(check_sources)
    kinds = dict(sorted(read_kinds(kinds_file).items()))
    print("compiling what has changed in the kernels: at most eight CPU minutes", flush=True)
    start = time.perf_counter()
    functions: list[Function] = []
    hashes: dict[str, str] = {}
    with ProcessPoolExecutor(jobs) as pool:
        waiting = [
            pool.submit(translate_all, [(name, kinds[name], folder) for name in names])
            for names in batches(kinds, jobs)
        ]
        # Behind the translations: no process has nothing to do until all are done.
        emitting: dict[str, list[Future[Path]]] = {}
        refused: dict[str, str] = {}
        done = 0
        for each in as_completed(waiting):
            for kernel, found in each.result():
                functions += found.functions
                if found.functions:
                    hashes |= found.hashes
                for kind, reason in found.refused.items():
                    refused.update((f"{kernel} {call}", reason) for call in kinds[kernel][kind])
                for function in found.functions:
                    work = [(function.symbol, level, folder) for level in levels]
                    emitting[function.symbol] = [pool.submit(emit, item) for item in work]
                done += 1
            _progress("translating kernels", done, len(kinds), start)
        for line, reason in refused.items():
            print(f"cannot be compiled: {line}\n    {reason[:500]}", file=sys.stderr)
        if forget:
            lines = kinds_file.read_text(encoding="utf-8").splitlines()
            kept = [line for line in lines if line not in refused]
            kinds_file.write_text("\n".join(kept) + "\n", encoding="utf-8")
        elif refused:
            message = "these kernels have changed since their kinds were recorded: run make kinds"
            if not check_sources:
                sys.exit(message)
            print(message, file=sys.stderr)
        symbols = sorted(emitting)
        objects = []
        for symbol in symbols:
            objects += [emitted.result() for emitted in emitting[symbol]]
            _progress("compiling functions", len(objects), len(symbols) * len(levels), start)
    stamp.unlink(missing_ok=True)
    link(table(functions, hashes, [level[0] for level in levels]), objects, folder, check_sources, library)
    if not refused:
        stamp.write_text(inputs, encoding="utf-8")
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
    parser.add_argument(
        "--forget", action="store_true", help="take kinds that cannot be compiled any more out of the list"
    )
    parser.add_argument("--check", action="store_true", help="only say whether the kernels can be compiled")
    options = parser.parse_args()
    reason = obstacle()
    if reason is not None:
        print(f"the kernels are not compiled ahead of time: {reason}; Numba compiles them on first use")
        sys.exit(int(options.check))
    if not options.check:
        build(
            options.jobs, not options.wheel, options.library, options.kinds, options.objects, options.forget
        )


if __name__ == "__main__":
    main()
