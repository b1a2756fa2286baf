"""All problems' methods under one function."""

from __future__ import annotations

from typing import overload

from .assignment.methods import METHODS as ASSIGNMENT_METHODS
from .bipartite.methods import METHODS as MATCHING_METHODS
from .errors import InvalidInputError
from .general_matching.methods import METHODS as GENERAL_MATCHING_METHODS
from .gridcut.methods import METHODS as GRIDCUT_METHODS
from .maxflow.methods import METHODS as MAXFLOW_METHODS
from .mincost.methods import METHODS as MINCOST_METHODS
from .solving.method import Method
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
def methods(problem: str) -> tuple[Method, ...]: ...
@overload
def methods(problem: None = None) -> dict[str, tuple[Method, ...]]: ...
def methods(problem: str | None = None) -> tuple[Method, ...] | dict[str, tuple[Method, ...]]:
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
    if problem is None:
        return dict(METHODS)
    if problem not in METHODS:
        raise InvalidInputError(f"unknown problem {problem!r}; there are: {', '.join(METHODS)}")
    return METHODS[problem]
