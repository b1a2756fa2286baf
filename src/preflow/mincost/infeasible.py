"""The cut that proves that an instance has no feasible flow."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..errors import InfeasibleFlowError, SolverError
from ..graph.cost_network import CostNetwork
from ..graph.standard_form import StandardForm, Standardised
from .solution import FlowState


def excesses(form: StandardForm, flow: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return what each vertex supplies and receives more than it sends."""
    left = form.supply.copy()
    np.subtract.at(left, form.tail, flow)
    np.add.at(left, form.head, flow)
    return left


def reached_from_excess(form: StandardForm, flow: NDArray[np.int64]) -> tuple[NDArray[np.bool_], int]:
    """Return the vertices that excess reaches by residual arcs, and the excess in this set.

    All arcs out of the set are full and all arcs into it are empty, so the excess in it cannot leave.

    Raises
    ------
    SolverError
        The set is no proof, since it lacks flow somewhere: a bug of the solver.
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


def infeasible_error(network: CostNetwork, standard: Standardised, state: FlowState) -> InfeasibleFlowError:
    """Return the error that names the vertices which excess reaches by residual arcs."""
    reached, excess = reached_from_excess(standard.form, state.flow)
    amount = (
        excess if standard.amount_exponent is None else float(np.ldexp(excess, -standard.amount_exponent))
    )
    names = network.labels
    vertices = np.flatnonzero(reached).tolist()
    return InfeasibleFlowError(tuple(vertices if names is None else (names[v] for v in vertices)), amount)
