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

from ..errors import InvalidInputError, MissingDependencyError
from .kernel import PACKAGE, PLAIN, sources_of
from .kinds import recorded, types_of

logger = logging.getLogger("preflow")

#: The package of the solvers of each problem.
PACKAGES = {
    "max_flow": "maxflow",
    "min_cut": "maxflow",
    "grid_cut": "gridcut",
    "bipartite_matching": "bipartite",
    "matching": "general_matching",
    "linear_assignment": "assignment",
    "min_cost_flow": "mincost",
    "transport": "transportation",
}

#: The kinds to compile, by module.
Work = dict[str, list[str]]


def warm_up(*problems: str, progress: bool = True) -> int:
    """Compile the kernels of problems now, in parallel processes, so that no later call has to wait.

    A wheel of a release has all kernels, so this does nothing. Numba compiles those that an installation has
    not, and keeps them in the user's cache folder, as the first calls would do.

    Parameters
    ----------
    *problems : str
        "max_flow", "min_cut", "grid_cut", "bipartite_matching", "matching",
        "linear_assignment", "min_cost_flow", "transport"; without any, all.
    progress : bool
        Draw a bar on standard error.

    Returns
    -------
    int
        The number of kernels, each for one kind of arguments, that were compiled or found in the cache.

    Raises
    ------
    InvalidInputError
        There is no such problem.
    MissingDependencyError
        Kernels must be compiled, and Numba is not installed.

    Notes
    -----
    All problems together take about six CPU minutes. Kernels for arrays of unusual dtypes are still
    compiled at their first call.

    Examples
    --------
    >>> import preflow
    >>> preflow.warm_up("max_flow")  # doctest: +SKIP
    """
    for problem in problems:
        if problem not in PACKAGES:
            raise InvalidInputError(f"unknown problem {problem!r}; there are: {', '.join(PACKAGES)}")
    work = lacking(problems)
    total = sum(map(len, work.values()))
    if total:
        try:
            import numba  # noqa: F401
        except ImportError as error:
            raise MissingDependencyError("compiling kernels", "numba", "jit") from error
    done: Iterable[str] = compiled(work)
    if progress and total:
        from tqdm import tqdm

        done = tqdm(done, "compiling kernels", total)
    for failure in done:
        if failure:
            logger.warning("a kernel could not be compiled: %s", failure)
    return total


def lacking(problems: tuple[str, ...]) -> Work:
    """Return the kernels that the solvers of problems, or of all, call and that the library lacks."""
    packages = {PACKAGES[problem] for problem in problems or PACKAGES}
    files = sources_of(*(file for package in packages for file in _files_of(package)))
    work: Work = {}
    for name, kind, _ in recorded():
        module, _, attribute = name.partition(":")
        path = Path(PACKAGE.parent, *module.split("."))
        if not PLAIN and (path.with_suffix(".py") in files or path / "__init__.py" in files):
            kernel = getattr(import_module(module), attribute)
            if kind.encode() not in getattr(kernel, "functions", {}):
                work.setdefault(module, []).append(f"{name} {kind}")
    return work


def _files_of(package: str) -> Iterator[Path]:
    """Yield the files of a problem's package, and those of its methods that lie elsewhere."""
    yield from (PACKAGE / package).rglob("*.py")
    for method in import_module(f"preflow.{package}.methods").METHODS:
        path = PACKAGE.joinpath(*method.module.split("."))
        yield path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


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
