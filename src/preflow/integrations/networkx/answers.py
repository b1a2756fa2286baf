"""Parts that all functions of the backend share: converted graphs, and calls of NetworkX's own functions."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Hashable, Iterator

import networkx as nx
import numpy as np

from ...arrays import Untyped
from ...errors import (
    CapacityOverflowError,
    CostOverflowError,
    InfeasibleError,
    InvalidInputError,
    UnboundedCostError,
    UnboundedFlowError,
)

Graph = Untyped
Node = Hashable
Nodes = set[Node]
Pairs = set[tuple[Node, Node]]
#: A function of NetworkX or of this module: its first argument is a graph.
Function = Callable[..., Untyped]


class BackendGraph:
    """A graph that NetworkX hands to this backend: the caller's own, which is read at each call."""

    __networkx_backend__ = "preflow"

    def __init__(self, original: Graph) -> None:
        self.original = original

    def is_directed(self) -> bool:
        """Return whether the graph is directed."""
        return bool(self.original.is_directed())

    def is_multigraph(self) -> bool:
        """Return whether the graph may have parallel edges."""
        return bool(self.original.is_multigraph())

    def __len__(self) -> int:
        return len(self.original)

    def __contains__(self, node: object) -> bool:
        return node in self.original

    def __iter__(self) -> Untyped:
        return iter(self.original)


def original(graph: Untyped) -> Graph:
    """Return the graph of the caller, and forget the converted one.

    NetworkX would keep it, and warn at the next call that edits might be missed. They never are.
    """
    if not isinstance(graph, BackendGraph):
        return graph
    kept: Untyped = getattr(graph.original, "__networkx_cache__", None) or {}
    kept.get("backends", {}).pop("preflow", None)
    return graph.original


class NotTakenError(Exception):
    """NetworkX's own function is to answer."""


def optimal(result: Untyped) -> Untyped:
    """Return a result if it is optimal: NetworkX has no way to say that one is not."""
    if result.status != "optimal":
        raise NotTakenError
    return result


#: What makes NetworkX's own function answer. The caller sees other errors, such as a missing package.
REFUSALS = NotTakenError, InvalidInputError, InfeasibleError, UnboundedFlowError, UnboundedCostError


#: Arguments of NetworkX's functions that name an attribute with numbers.
NUMBERS = {"capacity", "weight", "demand"}


#: Whether functions are taken as capacities: before NetworkX 3.7 one is an attribute that no edge has.
TAKES_FUNCTIONS = tuple(map(int, re.findall(r"\d+", nx.__version__)[:2])) >= (3, 7)


def _answer_of_networkx(function: Untyped, given: inspect.BoundArguments, refusal: Exception) -> Untyped:
    """Call NetworkX's own function, unless it would misread an argument that preflow takes.

    Sums that are past float64 are infinite there: its answers are wrong, or it never ends.
    """
    if isinstance(refusal, CapacityOverflowError | CostOverflowError) and _has_floats(function, given):
        raise type(refusal)(f"{refusal}: divide them, or give integers, which NetworkX adds up exactly")
    if callable(given.arguments.get("capacity")) and not TAKES_FUNCTIONS:
        reason = f": {refusal}" if str(refusal) else ", and preflow does not answer this call"
        raise InvalidInputError(
            f"NetworkX {nx.__version__} takes no function as capacity{reason}"
        ) from refusal
    return function(*given.args, **given.kwargs, backend="networkx")


def _has_floats(function: Untyped, given: inspect.BoundArguments) -> bool:
    """Whether the numbers of a graph that a call of NetworkX uses have finite floats among them."""
    parameters, graph = inspect.signature(function.orig_func).parameters, next(iter(given.arguments.values()))
    names = {each: given.arguments.get(each, parameters[each].default) for each in NUMBERS & {*parameters}}
    data = [
        *(values for *_, values in graph.edges(data=True)),
        *(values for _, values in graph.nodes(data=True)),
    ]
    used = (values.get(name) for name in names.values() if isinstance(name, str) for values in data)
    return any(isinstance(value, float | np.floating) and np.isfinite(value) for value in used)


#: Arguments that ask for an algorithm of NetworkX, or give its network: with one of them NetworkX answers.
ALGORITHM = {"flow_func", "auxiliary", "residual"}


def _without_algorithm(given: inspect.BoundArguments) -> inspect.BoundArguments:
    """Return the arguments of a function of this backend; refuse a call that asks for an algorithm."""
    if any(given.arguments.get(name) is not None for name in ALGORITHM):
        raise NotTakenError
    kept = {name: value for name, value in given.arguments.items() if name not in ALGORITHM}
    return inspect.BoundArguments(given.signature, kept)


def answers(function: Untyped) -> Callable[[Function], Function]:
    """Make a function of this backend call that of NetworkX where preflow does not answer."""
    signature = inspect.signature(function.orig_func)

    def arguments(*args: Untyped, **keywords: Untyped) -> inspect.BoundArguments:
        """Bind arguments by NetworkX's names; what can be iterated over only once becomes a list."""
        given = signature.bind(*args, **keywords)
        for name, value in given.arguments.items():
            given.arguments[name] = list(value) if isinstance(value, Iterator) else original(value)
        return given

    def wrap(ours: Function) -> Function:
        @functools.wraps(ours)
        def call(*args: Untyped, **keywords: Untyped) -> Untyped:
            given = arguments(*args, **keywords)
            try:
                own = _without_algorithm(given)
                return ours(*own.args, **own.kwargs)
            except REFUSALS as refusal:
                return _answer_of_networkx(function, given, refusal)

        wrapped: Untyped = call
        wrapped.__doc__ = f"Answer :func:`networkx.{function.name}`."
        wrapped.__signature__ = signature
        answered: Function = wrapped
        return answered

    return wrap
