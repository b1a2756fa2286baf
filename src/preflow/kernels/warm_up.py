"""Compile the kernels that the library lacks ahead of the first call, in several processes."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from queue import Empty, SimpleQueue

from ..checks import needed_for
from .fingerprint import sources_of
from .kernel import PACKAGE, PLAIN
from .kinds import declared, types_of

logger = logging.getLogger("preflow")

#: The kinds to compile, by module.
Work = dict[str, list[str]]


def compile_lacking(files: Iterable[Path], progress: bool) -> int:
    """Compile the kernels that solvers in `files` call and that the library lacks; return how many.

    MissingDependencyError: Numba is not installed.
    """
    work = lacking(files)
    total = sum(map(len, work.values()))
    if total:
        with needed_for("compiling kernels", "numba", "jit"):
            import numba  # noqa: F401
    done: Iterable[str] = compiled(work)
    if progress and total:
        from tqdm import tqdm

        done = tqdm(done, "compiling kernels", total)
    for failure in done:
        if failure:
            logger.warning("a kernel could not be compiled: %s", failure)
    return total


def lacking(files: Iterable[Path]) -> Work:
    """Return the kernels that solvers in `files` call and that the library lacks."""
    called = sources_of(*files)
    work: Work = {}
    for name, kind, _ in declared():
        module, _, attribute = name.partition(":")
        path = Path(PACKAGE.parent, *module.split("."))
        if not PLAIN and (path.with_suffix(".py") in called or path / "__init__.py" in called):
            kernel = getattr(import_module(module), attribute)
            if kind.encode() not in kernel.current_functions():
                work.setdefault(module, []).append(f"{name} {kind}")
    return work


def compiled(work: Work) -> Iterator[str]:
    """Compile in one process for each CPU; yield after each kind, with the error message if it failed."""
    modules: SimpleQueue[str] = SimpleQueue()
    for module in sorted(work, key=lambda module: -len(work[module])):
        modules.put(module)
    outcomes: SimpleQueue[str] = SimpleQueue()
    count = min(len(work), os.cpu_count() or 1)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(PACKAGE.parent), *sys.path])}
    workers = [
        subprocess.Popen(
            [sys.executable, "-m", "preflow.kernels.warm_up"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            text=True,
            encoding="utf-8",
        )
        for _ in range(count)
    ]

    def serve(worker: subprocess.Popen[str]) -> None:
        assert worker.stdin is not None
        assert worker.stdout is not None
        with suppress(Empty):
            while True:
                for line in work[modules.get_nowait()]:
                    with suppress(OSError):
                        print(line, file=worker.stdin, flush=True)
                    answer = worker.stdout.readline()
                    outcomes.put(answer.strip() if answer else f"{line}: the process ended")

    try:
        for worker in workers:
            threading.Thread(target=serve, args=(worker,), daemon=True).start()
        for _ in range(sum(map(len, work.values()))):
            yield outcomes.get()
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()


def main() -> None:
    """Compile the kinds that standard input names, one a line, and answer each with a line."""
    for line in sys.stdin:
        name, _, kind = line.strip().partition(" ")
        module, _, attribute = name.partition(":")
        try:
            getattr(import_module(module), attribute).dispatcher.compile(tuple(types_of(kind)))
            print(flush=True)
        except Exception as error:
            print(f"{name}: {type(error).__name__}", flush=True)


if __name__ == "__main__":
    main()
