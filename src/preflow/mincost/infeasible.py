"""The cut that proves that an instance has no feasible flow."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..certify.exact import as_floats
from ..certify.min_cost_flow import brought_back, cut_bound
from ..errors import InfeasibleFlowError, SolverError
from ..graph.cost_network import CostNetwork, amounts_are_whole
from ..graph.edge_tables import labels_of
from ..graph.standard_form import StandardForm


def excesses(form: StandardForm, flow: Array) -> Array:
    """Return what each vertex supplies and receives more than it sends; also of Python integers."""
    left = form.supply.copy()
    np.subtract.at(left, form.tail, flow)
    np.add.at(left, form.head, flow)
    return left


def reached_from_excess(form: StandardForm, flow: Array) -> tuple[NDArray[np.bool_], int]:
    """Return the vertices that excess reaches by residual arcs, and the excess in this set.

    All arcs out of the set are full and all arcs into it are empty, so the excess in it cannot leave.
    SolverError: the set is no proof, since it lacks flow somewhere: a bug of the solver.
    """
    left = excesses(form, flow)
    reached = left > 0
    forward, backward = flow < form.capacity, flow > 0
    ends = np.concatenate([form.tail[forward], form.head[backward]])
    others = np.concatenate([form.head[forward], form.tail[backward]])
    while True:
        found = others[reached[ends] & ~reached[others]]
        if not len(found):
            break
        reached[found] = True
    excess = int(left[reached].sum())
    if excess <= 0 or (left[reached] < 0).any():
        raise SolverError("a solver calls the instance infeasible, and its flow does not prove it")
    return reached, excess


def infeasible_error(
    network: CostNetwork, supply: Array, form: StandardForm, flow: Array, exponent: int | None
) -> InfeasibleFlowError:
    """Return the error that names the vertices which excess reaches by residual arcs.

    Amounts of the form are those of the network times two to `exponent`; None: the same.
    """
    reached, excess = reached_from_excess(form, flow)
    amount: int | float = excess
    if exponent is not None:
        if amounts_are_whole(network, supply):
            amount = -cut_bound(network, supply, ~reached)  # also where int64 would wrap
        else:
            amount = as_floats(np.array([excess], dtype=object), exponent).item()
    vertices = labels_of(network.labels, np.flatnonzero(reached)).tolist()
    return InfeasibleFlowError(tuple(vertices), amount, brought=brought_back(network, ~reached))
