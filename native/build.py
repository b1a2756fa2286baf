"""Compile the kernels ahead of time into one extension module, in a wheel for all versions of Python.

    python native/build.py [--jobs N] [--stars 0|1|2] [--wheel] [--machine aarch64]

1. Numba turns each kernel, for each kind of arguments in kinds.txt, into LLVM bitcode, with a function around
   it that takes its arguments as 64-bit words.
2. LLVM optimises the bitcode for each level of CPUs and writes an object file: in a source tree only for
   the level of this CPU, for a wheel for all levels.
3. A C compiler links the objects with dispatch.c into ``src/preflow/_kernels.abi3.so``. A free-threaded
   Python has no stable ABI: there the library is named after the version of Python, and serves it alone.

Bitcode and objects are kept in the user's cache folder under a hash of the code that they come from. So only
edited kernels are compiled again, in whatever clone. The library of a source tree holds for one version of
Python, by whose instructions it knows the code: see ``preflow.kernels.fingerprint``. ``--stars`` leaves to
Numba the kinds that have fewer stars in kinds.txt; a library that has more already stays.

``--machine`` compiles for another machine with the same operating system, whose C compiler CC names:

    CC=aarch64-linux-gnu-gcc python native/build.py --wheel --machine aarch64 --library FILE

The build of a wheel does so if _PYTHON_HOST_PLATFORM is that platform, such as linux-aarch64.

Processes end soon after the one that started them, and Ctrl-C leaves nothing half written: the next build
goes on from what is kept.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple, TypeVar

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
KINDS = ROOT / "src" / "preflow" / "kernels" / "kinds.txt"
FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
STABLE_SUFFIX = ".pyd" if sys.platform == "win32" else ".abi3.so"
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX") if FREE_THREADED else STABLE_SUFFIX
LIBRARY = ROOT / "src" / "preflow" / f"_kernels{SUFFIX}"

#: The version of Numba, some of whose classes translate.py replaces. PREFLOW_NUMBA=any tries another.
NUMBA = "0.68.1"
#: A build removes bitcode and objects that no build has used for this number of days.
DAYS = 60

#: Seconds between two lines that say how far a build is.
SILENCE = 10.0
Result = TypeVar("Result")

#: What a build has, by its number of stars, and how long it takes if nothing is kept.
STARS = (
    "all kernels: about four CPU minutes",
    "the usual kernels: two to three CPU minutes",
    "the kernels of the demo: about ten seconds",
)
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


class Function(NamedTuple):
    """A kernel compiled for one kind.

    Attributes
    ----------
    kernel : str
        ``module:function``.
    kind : str
        The kind of its arguments.
    symbol : str
        Its name in the library.
    result : str
        The kind of what it returns.
    """

    kernel: str
    kind: str
    symbol: str
    result: str


def read_kinds(path: Path, least: int = 0) -> dict[str, list[str]]:
    """Return, for each kernel, the kinds with at least `least` stars."""
    from preflow.kernels.kinds import declared

    found: dict[str, list[str]] = {}
    for name, kind, stars in declared(path):
        if stars >= least:
            found.setdefault(name, []).append(kind)
    return found


def machine() -> str:
    """Return the machine that is compiled for, as in LEVELS: this one, or that of the variable of Python."""
    return os.environ.get("_PYTHON_HOST_PLATFORM", "").rpartition("-")[2] or platform.machine()


# --- from Python to bitcode ------------------------------------------------------------------------------


def versions() -> str:
    """Return what the bitcode depends on beside the sources of the kernels."""
    import llvmlite
    import numba

    own = hashlib.sha256((HERE / "translate.py").read_bytes()).hexdigest()
    return f"{numba.__version__} {llvmlite.__version__} {machine()} {own}"


class Translated(NamedTuple):
    """The bitcode of a kernel.

    Attributes
    ----------
    fingerprint : str
    functions : list of Function
        One for each kind.
    refused : dict
        Kinds that cannot be compiled, with the reason.
    """

    fingerprint: str
    functions: list[Function]
    refused: dict[str, str]


def translate(work: tuple[str, list[str], Path]) -> Translated:
    """Write the bitcode of a kernel for all its kinds."""
    name, kinds, objects = work
    from preflow.kernels.fingerprint import fingerprint

    module, _, attribute = name.partition(":")
    functions: list[Function] = []
    refused: dict[str, str] = {}
    try:
        kernel = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        return Translated("", functions, dict.fromkeys(kinds, str(error)))
    for kind in kinds:
        depends = f"{name} {kind} {fingerprint(kernel, [kind])} {versions()}"
        digest = hashlib.sha256(depends.encode()).hexdigest()
        symbol = f"preflow_{digest[:20]}"
        bitcode, result = objects / f"{symbol}.bc", objects / f"{symbol}.result"
        if result.exists():
            for file in (bitcode, result):
                file.touch()  # see remove_old
        else:
            try:
                code, text = import_module("translate").bitcode_of(kernel, kind, symbol)
            except Exception as error:
                refused[kind] = f"{type(error).__name__}: {error}"
                continue
            write_at_once(bitcode, code)
            write_at_once(result, text.encode())
        functions.append(Function(name, kind, symbol, result.read_text()))
    return Translated(fingerprint(kernel, kinds), functions, refused)


def translate_all(
    work: list[tuple[str, list[str], Path]],
) -> list[tuple[str, Translated]]:
    """Translate kernels one after the other: those that several of them call are compiled once."""
    found = [(item[0], translate(item)) for item in work]
    gc.collect()  # translate.py switches it off
    gc.freeze()  # what is left stays, and the next collection need not look at it
    return found


def batches(kinds: dict[str, list[str]], jobs: int) -> list[list[str]]:
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
        path.touch()
        return path
    bitcode = (objects / f"{symbol}.bc").read_bytes()
    write_at_once(
        path, import_module("translate").object_of(bitcode, symbol, f"{symbol}_{suffix}", cpu, features)
    )
    return path


# --- from objects to the library -------------------------------------------------------------------------


def table(functions: Iterable[Function], fingerprints: dict[str, str], suffixes: list[str]) -> str:
    """Return the C source of the library's tables."""
    functions = sorted(functions)
    lines = [
        f"int32_t {symbol}_{suffix}(const int64_t *, int64_t *);"
        for symbol in sorted({function.symbol for function in functions})
        for suffix in suffixes
    ]
    lines.append("static const entry entries[] = {")
    for function in functions:
        pointers = ", ".join(f"{function.symbol}_{suffix}" for suffix in suffixes)
        kind, result = (text.replace("?", "\\?") for text in (function.kind, function.result))  # no trigraphs
        lines.append(f'    {{"{function.kernel}", "{kind}", "{result}", {{{pointers}}}}},')
    lines += ["};", f"static const size_t num_entries = {len(functions)};"]
    hashes = {**fingerprints, "python": sys.implementation.cache_tag}
    lines.append("static const source sources[] = {")
    lines += [f'    {{"{name}", "{digest}"}},' for name, digest in sorted(hashes.items())]
    lines += ["};", f"static const size_t num_sources = {len(hashes)};", ""]
    return "\n".join(lines)


def levels_to_compile(check_sources: bool) -> tuple[tuple[str, str, str], ...]:
    """Return the highest level that this CPU has, for a wheel with ``PREFLOW_LEVELS=all`` all levels."""
    levels = LEVELS[machine()]
    if len(levels) == 1 or (not check_sources and os.environ.get("PREFLOW_LEVELS") == "all"):
        return levels
    return levels[-1:] if set(FEATURES_OF_V3) <= features_of_cpu() else levels[:1]


def features_of_cpu() -> set[str]:
    """Return the features of this CPU by LLVM's names."""
    cpu = Path("/proc/cpuinfo")
    if cpu.exists():  # where nothing is to be compiled, LLVM need not be there
        flags = re.search(r"^flags\s*:(.*)$", cpu.read_text(encoding="utf-8"), re.MULTILINE)
        return {flag.replace("bmi1", "bmi") for flag in flags[1].split()} if flags else set()
    from llvmlite import binding

    return {name for name, has in binding.get_host_cpu_features().items() if has}


def inputs_hash(kinds_file: Path, check_sources: bool, least: int) -> str:
    """Return a hash of all that the library is made from."""
    levels = " ".join(level[0] for level in levels_to_compile(check_sources))
    files = [*(ROOT / "src" / "preflow").rglob("*.py"), *HERE.glob("*.*"), kinds_file]
    python = sys.implementation.cache_tag if check_sources or FREE_THREADED else "stable"
    digest = hashlib.sha256(f"{check_sources} {least} {levels} {NUMBA} {_compiler()} {python}".encode())
    for file in sorted(file for file in files if file.is_file()):
        digest.update(f"{file.name} ".encode() + hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def is_current(
    library: Path, check_sources: bool, least: int, kinds_file: Path = KINDS, folder: Path | None = None
) -> bool:
    """Return whether a library has the kinds with at least `least` stars; it may have more."""
    stamp = stamp_of(library, folder)
    if not (library.exists() and stamp.exists()):
        return False
    inputs = {f"{inputs_hash(kinds_file, check_sources, stars)} {library}" for stars in range(least + 1)}
    return stamp.read_text(encoding="utf-8") in inputs


def stamp_of(library: Path, folder: Path | None = None) -> Path:
    """Return the file that says what a library was made from; `folder` is that of its objects, if given."""
    return (folder or ROOT / "build") / f"{library.parent.name}-{library.name}.inputs"


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
    command.append("-DPy_GIL_DISABLED=1" if FREE_THREADED else "-DPy_LIMITED_API=0x030B0000")
    command += [f"-I{folder}", f"-I{numpy.get_include()}", f"-I{sysconfig.get_path('include')}"]
    command += [str(HERE / "dispatch.c"), f"@{folder / 'objects.txt'}", "-o", str(partial)]
    if sys.platform == "darwin":
        command += ["-undefined", "dynamic_lookup"]
    elif sys.platform == "win32":  # MinGW, whose libraries have usleep and clock_gettime
        python = f"python3{sys.version_info.minor}t" if FREE_THREADED else "python3"
        command += [f"-L{Path(sys.base_prefix, 'libs')}", f"-l{python}", "-static", "-lpthread", "-Wl,-s"]
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
    if machine() not in LEVELS:
        return f"no level of CPUs is known for {machine()}"
    if shutil.which(_compiler()[0]) is None:
        return f"there is no C compiler ({_compiler()[0]})"
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        return "Python's headers are not installed"
    if not numba_comes_later and find_spec("numba") is None:
        return "Numba is not installed"
    if not numba_comes_later and version("numba") != NUMBA and os.environ.get("PREFLOW_NUMBA") != "any":
        return f"Numba is {version('numba')}, and the build needs {NUMBA}"
    return None


def build(
    jobs: int,
    check_sources: bool,
    library: Path,
    kinds_file: Path = KINDS,
    folder: Path | None = None,
    least: int = 0,
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
        Declares the kinds of arguments of each kernel.
    folder : path, optional
        Keeps bitcode and objects. Default: one among the user's caches.
    least : int
        Kinds with fewer stars are left to Numba.
    """
    os.environ["PREFLOW_NATIVE"] = "0"  # kernels of Numba, not those of an earlier library
    sys.path[:0] = [str(ROOT / "src"), str(HERE)]
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    stamp = stamp_of(library, folder)
    stamp.parent.mkdir(parents=True, exist_ok=True)
    with alone(stamp.with_suffix(".lock")):
        if is_current(library, check_sources, least, kinds_file, folder):
            return
        folder = folder or kept_objects()
        folder.mkdir(parents=True, exist_ok=True)
        kinds = dict(sorted(read_kinds(kinds_file, least).items()))
        print(f"compiling what has changed in {STARS[least]}", flush=True)
        start = time.perf_counter()
        compiled = compile_all(kinds, jobs, levels_to_compile(check_sources), folder, start)
        report_refused(compiled.refused)
        stamp.unlink(missing_ok=True)
        suffixes = [level[0] for level in levels_to_compile(check_sources)]
        tables = table(compiled.functions, compiled.fingerprints, suffixes)
        link(tables, compiled.objects, stamp.parent, check_sources, library)
        inputs = f"{inputs_hash(kinds_file, check_sources, least)} {library}"
        write_at_once(stamp, inputs.encode())
        remove_old(folder)
    print(
        f"{len(kinds)} kernels, {len(compiled.objects)} functions, {'; '.join(suffixes)}: "
        f"{time.perf_counter() - start:.0f} s, {library.stat().st_size / 2**20:.1f} MiB",
        flush=True,
    )


class Compiled(NamedTuple):
    """The compiled kinds of all processes, and `refused`: why a kind was not compiled, by kernel and kind."""

    functions: list[Function]
    fingerprints: dict[str, str]
    objects: list[Path]
    refused: dict[str, str]


def compile_all(
    kinds: dict[str, list[str]],
    jobs: int,
    levels: tuple[tuple[str, str, str], ...],
    folder: Path,
    start: float,
) -> Compiled:
    """Translate kernels and emit objects in several processes."""
    found = Compiled([], {}, [], {})
    with ProcessPoolExecutor(jobs, initializer=end_with_parent) as pool:
        waiting = {
            pool.submit(translate_all, [(name, kinds[name], folder) for name in names]): len(names)
            for names in batches(kinds, jobs)
        }
        # Behind the translations: no process has nothing to do until all are done.
        emitting: dict[str, list[Future[Path]]] = {}
        for each in finished("translating kernels", waiting, start):
            for kernel, translated in each.result():
                found.functions.extend(translated.functions)
                found.fingerprints[kernel] = translated.fingerprint
                for kind, reason in translated.refused.items():
                    found.refused[f"{kernel} {kind}"] = reason
                for function in translated.functions:
                    work = [(function.symbol, level, folder) for level in levels]
                    emitting[function.symbol] = [pool.submit(emit, item) for item in work]
        objects = {each: 1 for futures in emitting.values() for each in futures}
        for emitted in finished("compiling functions", objects, start):
            emitted.result()
        for symbol in sorted(emitting):
            found.objects.extend(emitted.result() for emitted in emitting[symbol])
    return found


def report_refused(refused: dict[str, str]) -> None:
    """Say which kinds cannot be compiled, and end the build."""
    for kind, reason in refused.items():
        print(f"cannot be compiled: {kind}\n    {reason[:500]}", file=sys.stderr)
    if refused:
        sys.exit(f"{KINDS.relative_to(ROOT)} does not say what these kernels take")


# --- files and processes ---------------------------------------------------------------------------------


def kept_objects() -> Path:
    """Return the folder of bitcode and objects: among the user's caches, in the tree if that is not safe."""
    from preflow.kernels.cache_folder import cache_directory, check_folder, make_private

    try:
        folder = cache_directory() / "objects"
        make_private(folder)
        check_folder(folder)
        if not os.access(folder, os.W_OK):
            raise OSError(f"{folder} cannot be written")
    except OSError as error:
        print(f"objects are kept in this tree only: {error}", flush=True)
        folder = ROOT / "build" / "objects"
    return folder


def remove_old(folder: Path) -> None:
    """Remove bitcode and objects that no build has used for a long time."""
    oldest = time.time() - DAYS * 24 * 3600
    for file in folder.iterdir():
        if file.stat().st_mtime < oldest:
            file.unlink(missing_ok=True)


def write_at_once(path: Path, content: bytes) -> None:
    """Write a file that other processes see whole or not at all."""
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    partial.write_bytes(content)
    partial.replace(path)


def end_with_parent() -> None:
    """Let this process end soon after its parent has, whatever ended that: nobody waits for its work."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Wait until no other process builds the same library."""
    from filelock import FileLock, Timeout

    lock = FileLock(path)
    try:
        lock.acquire(timeout=0.1)
    except Timeout:
        print("another build of this tree is running: waiting for it", flush=True)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def finished(what: str, futures: dict[Future[Result], int], start: float) -> Iterator[Future[Result]]:
    """Yield futures as they finish, and say every ten seconds how many of their parts are done."""
    left, count, said = set(futures), 0, max(start, time.perf_counter() - SILENCE / 2)
    while left:
        done, left = wait(left, SILENCE / 10, FIRST_COMPLETED)
        for each in done:
            count += futures[each]
            yield each
        now = time.perf_counter()
        if now - said > SILENCE:
            said = now
            print(f"{what}: {count} of {sum(futures.values())} after {now - start:.0f} s", flush=True)


def main() -> None:
    """Compile the kernels, or say why they stay with Numba."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--wheel", action="store_true", help="do not compare sources at run time")
    parser.add_argument("--library", type=Path, default=LIBRARY)
    parser.add_argument(
        "--kinds", type=Path, default=KINDS, help="declares the kinds of arguments of each kernel"
    )
    parser.add_argument(
        "--stars", type=int, default=0, choices=range(len(STARS)), help="leave kinds with fewer to Numba"
    )
    parser.add_argument("--objects", type=Path, help="a folder of bitcode and objects")
    parser.add_argument("--check", action="store_true", help="only say whether the kernels can be compiled")
    parser.add_argument("--machine", choices=sorted(LEVELS), help="compile for this machine, with --library")
    options = parser.parse_args()
    if options.machine not in (None, machine()):
        if options.library == LIBRARY:
            parser.error("the library of another machine does not belong into this tree: give --library")
        os.environ["_PYTHON_HOST_PLATFORM"] = f"{sys.platform}-{options.machine}"
    reason = obstacle()
    if reason is not None:
        print(f"the kernels are not compiled ahead of time: {reason}; Numba compiles them on first use")
        sys.exit(int(options.check))
    if options.check:
        return
    end_with_parent()
    try:
        build(
            options.jobs,
            not options.wheel,
            options.library,
            options.kinds,
            options.objects,
            options.stars,
        )
    except KeyboardInterrupt:
        print("stopped: the next build goes on from what is compiled", flush=True)
        os._exit(130)  # waits for no other process; they end by themselves


if __name__ == "__main__":
    main()
