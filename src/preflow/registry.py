"""All problems, and their methods."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, overload

from .assignment.problem import PROBLEM as ASSIGNMENT
from .bipartite.problem import PROBLEM as BIPARTITE
from .checks import unknown_name
from .errors import InvalidInputError
from .general_matching.problem import PROBLEM as GENERAL_MATCHING
from .gridcut.problem import PROBLEM as GRIDCUT
from .maxflow.problem import PROBLEM as MAXFLOW
from .method_names import ProblemName
from .mincost.problem import PROBLEM as MINCOST
from .solving.method import Method, MethodTable, Problem
from .solving.options import NoOptions
from .solving.outside import OutsideMethod, load_entry_points, outside_methods, register
from .transportation.problem import PROBLEM as TRANSPORTATION

#: The list of problems, and the only one: all others are made from it.
PROBLEMS = (MAXFLOW, GRIDCUT, BIPARTITE, GENERAL_MATCHING, ASSIGNMENT, MINCOST, TRANSPORTATION)
#: The problem of each function, and its methods.
FUNCTIONS = {name: problem for problem in PROBLEMS for name in problem.functions}
METHODS = {name: problem.methods for name, problem in FUNCTIONS.items()}


def problem_of(function: str) -> Problem:
    """Return the record of the problem that a function solves.

    InvalidInputError: no function has this name.
    """
    if function not in FUNCTIONS:
        raise unknown_name("problem", function, FUNCTIONS)
    return FUNCTIONS[function]


@overload
def methods(problem: ProblemName | str) -> tuple[Method, ...]: ...
@overload
def methods(problem: None = None) -> dict[str, tuple[Method, ...]]: ...
def methods(
    problem: ProblemName | str | None = None,
) -> tuple[Method, ...] | dict[str, tuple[Method, ...]]:
    """Return the solvers of a problem, by the name of its function.

    Parameters
    ----------
    problem : str, optional
        "max_flow", "min_cut", "grid_cut", "bipartite_matching", "matching",
        "linear_assignment", "min_cost_flow" or "transport". Default: all of them.

    Returns
    -------
    tuple of Method, or dict of str to tuple of Method
        Each with its name, device, paper, options and a one-line summary; `available` says whether it can run
        here. A tuple is shown as a table. Without a problem, the tuples of all problems by name.

    Raises
    ------
    InvalidInputError
        There is no such problem.

    Examples
    --------
    >>> import preflow
    >>> [method.name for method in preflow.methods("max_flow")][:2]
    ['serial-generic', 'serial-fifo']
    >>> sorted(preflow.methods())[:2]
    ['bipartite_matching', 'grid_cut']
    """
    load_entry_points()
    every: dict[str, tuple[Method, ...]] = {
        name: MethodTable((*own, *outside_methods(own))) for name, own in METHODS.items()
    }
    if problem is None:
        return every
    problem_of(problem)
    return every[problem]


def register_method(
    problem: ProblemName | str,
    name: str,
    solve: Callable[..., Any],
    *,
    options: type = NoOptions,
    summary: str = "a method from outside of preflow",
    paper: str = "",
    parallel: bool = False,
    aliases: Sequence[str] = (),
    points: bool = False,
    weighted: bool = False,
    approximate: bool = False,
    replace: bool = False,
) -> Method:
    """Add a solver of your own to the methods of a problem.

    Every public function then takes its name as `method`, and `methods` lists it; "auto" never takes it. Each
    of its results is verified before you get it. It runs on the CPU. A package registers its solvers by an
    entry point of the group ``preflow.methods``: a function without arguments that calls this one.

    Parameters
    ----------
    problem : str
        As in :func:`preflow.methods`; "max_flow" and "min_cut" have the same methods.
    name : str
        Another one than those of the methods there are.
    solve : function
        With the signature of the problem's protocol in :mod:`preflow.solving.protocol`. A method of maximum
        flow is ``solve(net, options, control)``, which turns ``net`` into a maximum preflow and returns
        heights.
    options : type
        A frozen dataclass, whose fields are the options of the method.
    summary, paper : str
        What the method does, in one line, and where it is described.
    parallel : bool
        Whether it uses more than one CPU thread: ``control.threads``.
    aliases : sequence of str
        Other names.
    points, weighted, approximate : bool
        See :class:`preflow.solving.method.Method`.
    replace : bool
        Whether to take the place of a method that was registered with this name before.

    Returns
    -------
    Method

    Raises
    ------
    InvalidInputError
        There is no such problem, another method has the name, or an argument has a wrong type.

    Examples
    --------
    >>> import preflow
    >>> from preflow.maxflow.serial_dinic import DinicOptions, solve
    >>> more = {"options": DinicOptions, "paper": "Dinic 1970"}
    >>> method = preflow.register_method("max_flow", "my-method", solve, **more)
    >>> preflow.max_flow(([0], [1], [3]), 0, 1, method="my-method").value
    3
    """
    record = problem_of(problem)
    if not isinstance(name, str) or not name:
        raise InvalidInputError(f"the name of a method is a str, got {name!r}")
    if not callable(solve):
        raise InvalidInputError(f"solve must be a function, got {solve!r}")
    if not isinstance(options, type) or not dataclasses.is_dataclass(options):
        raise InvalidInputError(f"options must be a dataclass, got {options!r}")
    method = OutsideMethod(
        name,
        solve.__module__,
        options.__name__,
        summary,
        paper,
        parallel=parallel,
        aliases=tuple(aliases),
        points=points,
        weighted=weighted,
        approximate=approximate,
        function=solve,
        options_type=options,
    )
    register(record, method, replace=replace)
    return method


def warm_up(*problems: str, progress: bool = True) -> int:
    """Compile the kernels of problems now, in parallel processes, so that no later call has to wait.

    A wheel of a release has all kernels, so this does nothing. Numba compiles those that an installation has
    not, and keeps them in the user's cache folder, as the first calls would do.

    Parameters
    ----------
    *problems : str
        As in :func:`preflow.methods`; without any, all.
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
    wanted = [problem_of(problem) for problem in problems] or PROBLEMS
    from .kernels.warm_up import compile_lacking

    return compile_lacking(files_of(*wanted), progress)


def files_of(*problems: Problem) -> Iterator[Path]:
    """Yield the files of the folders of problems, and those of their methods that lie elsewhere."""
    package = Path(__file__).parent
    for problem in problems:
        yield from (package / problem.folder).rglob("*.py")
        for method in problem.methods:
            path = package.joinpath(*method.module.split("."))
            yield path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
