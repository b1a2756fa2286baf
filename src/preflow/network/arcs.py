"""The arcs of a residual network: how a kernel reads and changes it, however it is stored.

A kernel that calls these functions is written once and runs on every kind of network. Here they are written
for arcs that are listed in arrays, those of a vertex side by side (:class:`ResidualArrays
<preflow.graph.residual.ResidualArrays>`). :mod:`.grid` has the functions of the same names for grids, which
store no arcs, and :mod:`.pattern` those for infinite arcs by a pattern. What a module leaves out is as for
listed arcs. Numba chooses by the class of the network when it compiles a kernel, so a call costs what the
code in its place would. In plain Python, as the explorers of the tests run kernels, the functions choose at
each call.

The *name* of an arc tells it from the others of its tail. It is the number of the arc where arcs are listed,
and the direction on a grid. So an access names the tail, too, and a grid needs no division. ``no_arc(net)``
and the number after it are names of no arc.

The *terminal amount* of a vertex is its excess (`source`), or its residual capacity to the sink.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from importlib import import_module
from typing import Any, TypeVar, cast

import numpy as np

from ..arrays import DType, Int64, ResidualNetwork
from ..kernels.atomics import prefetch
from ..kernels.constants import ONE
from ..kernels.kernel import kernel
from ..kernels.overloads import numba_overloads

numba_overloads(__name__)

Function = TypeVar("Function", bound=Callable[..., Any])
#: The functions below, for listed arcs, by their names.
LISTED: dict[str, Callable[..., Any]] = {}
#: Where the functions of each class of networks are: here, or in a module beside this one.
STORED = {
    "preflow.graph.residual.ResidualArrays": "listed",
    "preflow.gridcut.pixel_major.GridState": "grid",
    "preflow.gridcut.multicore_lockfree.LockFreeGrid": "grid",
    "preflow.network.pattern.PatternNetwork": "pattern",
}


@cache
def implementation(name: str, kind: type[tuple[Any, ...]]) -> Callable[..., Any]:
    """Return the function of a name for a class of networks."""
    stored = STORED.get(f"{kind.__module__}.{kind.__qualname__}")
    if stored is None:
        raise TypeError(f"STORED in preflow.network.arcs does not say how {kind.__name__} stores its arcs")
    if stored == "listed":
        return LISTED[name]
    return cast(Callable[..., Any], getattr(import_module(f".{stored}", __package__), name, LISTED[name]))


def by_class(function: Function) -> Function:
    """Make a function call the one of its name that is for the class of its network."""
    name = function.__name__
    LISTED[name] = function

    @wraps(function)
    def chosen(net: ResidualNetwork, *others: Any) -> Any:
        kind: Any = type(net)
        return implementation(name, kind)(net, *others)

    return cast(Function, chosen)


@by_class
def num_vertices(net: ResidualNetwork) -> np.uint64:
    """Return the number of vertices, on a grid with the unused ones."""
    return np.uint64(len(net.excess))


@by_class
def first(net: ResidualNetwork, v: np.uint64) -> np.uint64:
    """Return the name of the first arc of a vertex."""
    return np.uint64(net.first_out[v])


@by_class
def end(net: ResidualNetwork, v: np.uint64) -> np.uint64:
    """Return the number after the name of the last arc of a vertex."""
    return np.uint64(net.first_out[v + ONE])


@by_class
def no_arc(net: ResidualNetwork) -> np.uint64:
    """Return a number above the names of all arcs."""
    return np.uint64(len(net.head))


@by_class
def head(net: ResidualNetwork, v: np.uint64, a: np.uint64) -> np.uint64:
    """Return the head of arc `a` of vertex `v`."""
    return np.uint64(net.head[a])


@by_class
def opposite(net: ResidualNetwork, a: np.uint64) -> np.uint64:
    """Return the name, at its tail, of the opposite of an arc."""
    return np.uint64(net.reverse[a])


@by_class
def place(net: ResidualNetwork, v: np.uint64, a: np.uint64) -> np.uint64:
    """Return where ``net.residual`` has the residual capacity of arc `a` of vertex `v`."""
    return a


@by_class
def capacity(net: ResidualNetwork, v: np.uint64, w: np.uint64, a: np.uint64, back: bool) -> Int64:
    """Return the residual capacity of arc `a` from `v` to `w`, or of its opposite (`back`)."""
    return np.int64(net.residual[np.uint64(net.reverse[a]) if back else a])


@by_class
def terminal(net: ResidualNetwork, v: np.uint64, source: bool) -> Int64:
    """Return the terminal amount of a vertex; on a grid minus the other one where it has that."""
    return np.int64(net.excess[v] if source else net.sink_residual[v])


@by_class
def take(net: ResidualNetwork, v: np.uint64, source: bool, amount: Int64) -> Int64:
    """Lower the terminal amount of a vertex; return what is left."""
    if source:
        net.excess[v] -= amount
        return np.int64(net.excess[v])
    net.sink_residual[v] -= amount
    return np.int64(net.sink_residual[v])


@by_class
def fetch_first(net: ResidualNetwork, v: np.uint64) -> None:
    """Ask for the cache line that says which arcs a vertex has."""
    prefetch(net.first_out, v)


@by_class
def fetch_ends(net: ResidualNetwork, v: np.uint64) -> None:
    """Ask for the cache lines that say where the first arcs of a vertex lead."""
    a = np.uint64(net.first_out[v])
    prefetch(net.head, a)
    prefetch(net.reverse, a)


@by_class
def fetch_arcs(net: ResidualNetwork, v: np.uint64) -> None:
    """Ask for the cache lines of the first arcs of a vertex."""
    a = np.uint64(net.first_out[v])
    prefetch(net.head, a)
    prefetch(net.reverse, a)
    prefetch(net.residual, a)


@by_class
def fetch_arc(net: ResidualNetwork, a: np.uint64) -> None:
    """Ask for the cache lines of an arc."""
    prefetch(net.head, a)
    prefetch(net.residual, a)


@by_class
def exchange_flow(net: ResidualNetwork, v: np.uint64, amount: Int64) -> Int64:
    """Replace the flow of the tree arc of `v`, where vertices store it, and return what it was."""
    return np.int64(0)


@by_class
def is_scattered(net: ResidualNetwork) -> bool:
    """Return whether neighbours may have any numbers, so that labels of theirs should be fetched ahead."""
    return True


@by_class
def forest_dtypes(net: ResidualNetwork) -> tuple[DType, DType, DType]:
    """Return the dtypes of levels, of names of arcs and of vertices that a search stores."""
    index = net.head.dtype
    return np.dtype(np.int32 if index.itemsize == 4 else np.int64), index, index


@kernel
def arcs_of(net: ResidualNetwork, v: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return the name of the first arc of a vertex, and the number after that of the last."""
    return first(net, v), end(net, v)


@by_class
def push_along(net: ResidualNetwork, v: np.uint64, w: np.uint64, a: np.uint64, amount: Int64) -> None:
    """Push along arc `a` from `v` to `w`: change its residual capacity and that of its opposite."""
    net.residual[place(net, v, a)] -= amount
    net.residual[place(net, w, opposite(net, a))] += amount
