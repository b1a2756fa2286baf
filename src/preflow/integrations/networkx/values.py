"""Numbers of NetworkX's attributes: which of them preflow takes, and flows of the same kind."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from ...arrays import Array, Untyped
from ...errors import InvalidInputError
from ...graph.graph_edges import EdgeFunction, GraphEdges
from ...graph.network import EXACT_FLOAT, column_values

Capacity: TypeAlias = str | EdgeFunction

#: Types whose sums NetworkX and preflow compute alike. NetworkX is exact with Fractions and Decimals.
KINDS = (int, float, np.integer, np.floating, np.bool_)


def read_values(values: list[Untyped], name: str, *, signed: bool = False) -> tuple[Array, bool]:
    """Return an attribute as an array, and whether NetworkX's results with it are floats.

    They are if any finite value is one. InvalidInputError: numbers that preflow cannot take as NetworkX does.
    """
    kinds = set(map(type, values))
    for kind in kinds:
        if not issubclass(kind, KINDS):
            raise InvalidInputError(f"{name} has values of the type {kind.__name__}")
    array, larger = column_values(values, name, signed=signed)
    if larger:
        raise InvalidInputError(f"{name} has a value that does not fit int64")
    floating = tuple(kind for kind in kinds if issubclass(kind, float | np.floating))
    rounded = bool(floating) and any(type(value) in floating and abs(value) < np.inf for value in values)
    if (
        not rounded
        and array.dtype.kind == "f"
        and np.abs(array[np.isfinite(array)]).max(initial=0) > EXACT_FLOAT
    ):
        raise InvalidInputError(f"{name} mixes integers past 2**53 with infinity")
    return array, rounded


def read_capacities_of(edges: GraphEdges, capacity: Capacity) -> tuple[Array, bool]:
    """Return the capacities of edges, and whether NetworkX's results with them are floats.

    An edge without the attribute has infinite capacity. A function is called once for each edge but loops, as
    NetworkX does; None is no capacity.
    """
    name = "capacity" if callable(capacity) else str(capacity)
    return read_values(edges.values(capacity, float("inf")), name)


def flow_values(flow: Array, rounded: bool) -> list[Untyped]:
    """Return flows as Python numbers, floats if NetworkX would return floats."""
    numbers: list[Untyped] = (flow.astype(np.float64) if rounded else flow).tolist()
    if not rounded and flow.dtype.kind == "f":
        return [int(number) for number in numbers]
    return numbers
