"""All problems' methods under one function."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, overload

from .assignment.methods import METHODS as ASSIGNMENT_METHODS
from .bipartite.methods import METHODS as MATCHING_METHODS
from .errors import InvalidInputError
from .general_matching.methods import METHODS as GENERAL_MATCHING_METHODS
from .gridcut.methods import METHODS as GRIDCUT_METHODS
from .maxflow.methods import METHODS as MAXFLOW_METHODS
from .method_names import ProblemName
from .mincost.methods import METHODS as MINCOST_METHODS
from .solving.method import Method
from .solving.outside import NoOptions, OutsideMethod, load_entry_points, outside_methods, register
from .transportation.methods import METHODS as TRANSPORT_METHODS

METHODS = {
    "max_flow": MAXFLOW_METHODS,
    "min_cut": MAXFLOW_METHODS,
    "grid_cut": GRIDCUT_METHODS,
    "bipartite_matching": MATCHING_METHODS,
    "matching": GENERAL_MATCHING_METHODS,
    "linear_assignment": ASSIGNMENT_METHODS,
    "min_cost_flow": MINCOST_METHODS,
    "transport": TRANSPORT_METHODS,
}


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
        here. Without a problem, the tuples of all problems by name.

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
    every = {name: (*own, *outside_methods(own)) for name, own in METHODS.items()}
    if problem is None:
        return every
    if problem not in METHODS:
        raise InvalidInputError(f"unknown problem {problem!r}; there are: {', '.join(METHODS)}")
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
        Another one than those of the methods there are. To register a name again replaces the solver.
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
    own = METHODS.get(problem)
    if own is None:
        raise InvalidInputError(f"unknown problem {problem!r}; there are: {', '.join(METHODS)}")
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
    register(own, method)
    return method
