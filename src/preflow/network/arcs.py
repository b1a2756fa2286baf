"""The arcs of a residual network: how a kernel reads and changes it, however it is stored.

A kernel that calls these functions is written once and runs on every kind of network. Numba chooses the
implementation by the class of the network when it compiles the kernel, so a call costs what the code in its
place would. In plain Python, as the explorers of the tests run kernels, the functions choose at each call.

=================  ==========================================================================
:mod:`.listed`     the arrays of :class:`preflow.graph.residual.ResidualArrays`
:mod:`.grid`       :class:`preflow.gridcut.pixel_major.GridState`, which stores no arcs
=================  ==========================================================================

The *name* of an arc tells it from the others of its tail. It is the number of the arc where arcs are listed,
and the direction on a grid. So an access names the tail, too, and a grid needs no division. ``no_arc(net)``
and the number after it are names of no arc.

The *terminal amount* of a vertex is its excess (`source`), or its residual capacity to the sink.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import ModuleType
from typing import Any, TypeVar, cast

import numpy as np

from ..arrays import DType, Int64, ResidualNetwork
from ..kernels.overloads import numba_overloads
from . import grid, listed

numba_overloads(__name__)

Function = TypeVar("Function", bound=Callable[..., Any])
#: The functions below by their names.
ACCESSES: dict[str, Callable[..., Any]] = {}


def implementation(kind: Any) -> ModuleType:
    """Return the module with the functions for a class of networks."""
    return grid if "step" in kind._fields else listed


def by_class(function: Function) -> Function:
    """Make a function call the one of its name that is for the class of its network."""

    @wraps(function)
    def chosen(net: ResidualNetwork, *others: Any) -> Any:
        return getattr(implementation(type(net)), function.__name__)(net, *others)

    ACCESSES[function.__name__] = chosen
    return cast(Function, chosen)


@by_class
def num_vertices(net: ResidualNetwork) -> np.uint64:
    """Return the number of vertices, on a grid with the unused ones."""
    raise NotImplementedError


@by_class
def first(net: ResidualNetwork, v: np.uint64) -> np.uint64:
    """Return the name of the first arc of a vertex."""
    raise NotImplementedError


@by_class
def end(net: ResidualNetwork, v: np.uint64) -> np.uint64:
    """Return the number after the name of the last arc of a vertex."""
    raise NotImplementedError


@by_class
def no_arc(net: ResidualNetwork) -> np.uint64:
    """Return a number above the names of all arcs."""
    raise NotImplementedError


@by_class
def head(net: ResidualNetwork, v: np.uint64, a: np.uint64) -> np.uint64:
    """Return the head of arc `a` of vertex `v`."""
    raise NotImplementedError


@by_class
def opposite(net: ResidualNetwork, a: np.uint64) -> np.uint64:
    """Return the name, at its tail, of the opposite of an arc."""
    raise NotImplementedError


@by_class
def place(net: ResidualNetwork, v: np.uint64, a: np.uint64) -> np.uint64:
    """Return where ``net.residual`` has the residual capacity of arc `a` of vertex `v`."""
    raise NotImplementedError


@by_class
def capacity(net: ResidualNetwork, v: np.uint64, w: np.uint64, a: np.uint64, back: bool) -> Int64:
    """Return the residual capacity of arc `a` from `v` to `w`, or of its opposite (`back`)."""
    raise NotImplementedError


@by_class
def terminal(net: ResidualNetwork, v: np.uint64, source: bool) -> Int64:
    """Return the terminal amount of a vertex; on a grid minus the other one where it has that."""
    raise NotImplementedError


@by_class
def take(net: ResidualNetwork, v: np.uint64, source: bool, amount: Int64) -> Int64:
    """Lower the terminal amount of a vertex; return what is left."""
    raise NotImplementedError


@by_class
def fetch_first(net: ResidualNetwork, v: np.uint64) -> None:
    """Ask for the cache line that says which arcs a vertex has."""
    raise NotImplementedError


@by_class
def fetch_arcs(net: ResidualNetwork, v: np.uint64) -> None:
    """Ask for the cache lines of the first arcs of a vertex."""
    raise NotImplementedError


@by_class
def is_scattered(net: ResidualNetwork) -> bool:
    """Return whether neighbours may have any numbers, so that labels of theirs should be fetched ahead."""
    raise NotImplementedError


@by_class
def forest_dtypes(net: ResidualNetwork) -> tuple[DType, DType, DType]:
    """Return the dtypes of levels, of names of arcs and of vertices that a search stores."""
    raise NotImplementedError
