"""Results whose costs have a gradient, with the arrays of any library."""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

from ..errors import InvalidInputError

A = TypeVar("A")


class Assignment(NamedTuple, Generic[A]):
    """Assignments of the least cost.

    Attributes
    ----------
    cost : array, shape (...)
        The least cost of each matrix, with a gradient in the costs: 1 for each pair, else 0.
    column : array of int64 (of int32 in JAX), shape (..., n)
        The column of each row, -1 for none.
    """

    cost: A
    column: A


class Flow(NamedTuple, Generic[A]):
    """A flow of the least cost.

    Attributes
    ----------
    cost : array, shape ()
        The least cost, with a gradient in costs, capacities and supplies. No other attribute has one.
    flow : array, shape (num_arcs,)
    potentials : array, shape (num_vertices,)
        See :class:`preflow.MinCostFlowResult`.
    """

    cost: A
    flow: A
    potentials: A


def second_derivative(stop: str) -> InvalidInputError:
    """Return the error for a second derivative; `stop` says how the library stops one."""
    return InvalidInputError(
        "the cost of an optimum has no second derivatives, since it is piecewise linear: do not "
        f"differentiate its gradient, or {stop} first"
    )
