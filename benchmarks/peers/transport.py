"""The other packages that solve transport problems exactly. A package is imported when it runs."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from preflow.arrays import Array
from preflow.generators.min_cost import PARTS

from ..instances.transport import TransportInstance
from ..problem import Contestant, Stopwatch
from ..records import Outcome
from .min_cost import Arcs, run_ortools, run_pylmcf

#: The most pairs for peers that store an arc for each.
STORED_PAIRS = 30_000_000
#: POT's default, 100,000 pivots, ends large solves before the optimum.
MOST_PIVOTS = 10**9
#: The metrics of POT's solver that computes costs when needed.
LAZY_METRICS = ("sqeuclidean", "euclidean", "cityblock")

ROUNDED = f"floats are multiplied by 2**{PARTS.bit_length() - 1}"


class Floats(NamedTuple):
    """A transport problem in float64."""

    instance: TransportInstance
    cost: Any
    a: Any
    b: Any


def _prepare(index: type[np.generic], instance: TransportInstance) -> Arcs:
    cost, a, b = instance.integers
    rows, columns = cost.shape
    return Arcs(
        partial(_cost_of_flow, instance),
        np.repeat(np.arange(rows, dtype=index), columns),
        np.tile(np.arange(rows, rows + columns, dtype=index), rows),
        np.minimum.outer(a, b).ravel(),
        np.ascontiguousarray(cost).ravel(),
        np.concatenate([a, -b]),
    )


def _prepare_pot(instance: TransportInstance) -> Floats:
    cost = None if instance.is_points else np.ascontiguousarray(instance.cost, dtype=np.float64)
    return Floats(instance, cost, instance.a.astype(np.float64), instance.b.astype(np.float64))


def _cost_of_flow(instance: TransportInstance, flow: Any) -> int | float:
    used = np.flatnonzero(flow)
    row, column = np.divmod(used, len(instance.b))
    mass: Array = np.asarray(flow)[used]
    return instance.total(row, column, mass if instance.a.dtype.kind == "i" else mass / PARTS)


def _run_emd(prepared: Floats) -> Outcome:
    import ot

    clock = Stopwatch()
    cost = prepared.cost
    if cost is None:
        cost = prepared.instance.matrix()
        clock.lap("build")
    plan, log = ot.emd(prepared.a, prepared.b, cost, numItermax=MOST_PIVOTS, log=True)
    clock.lap("solve")
    if log["warning"]:
        raise ArithmeticError(str(log["warning"]))
    row, column = np.nonzero(plan)
    return Outcome(prepared.instance.total(row, column, plan[row, column]), clock.seconds)


def _run_emd_lazy(prepared: Floats) -> Outcome:
    import ot

    points = prepared.instance.cost
    clock = Stopwatch()
    _, log = ot.emd2_lazy(
        points.rows,
        points.columns,
        prepared.a,
        prepared.b,
        metric=points.metric,
        numItermax=MOST_PIVOTS,
        log=True,
        return_matrix=True,
    )
    clock.lap("solve")
    if log["warning"]:
        raise ArithmeticError(str(log["warning"]))
    plan = log["G"].tocoo()
    return Outcome(prepared.instance.total(plan.row, plan.col, plan.data), clock.seconds)


def _unfit_arcs(instance: TransportInstance) -> str | None:
    if instance.sizes["pairs"] > STORED_PAIRS:
        return f"would store more than {STORED_PAIRS:,} arcs"
    if instance.is_points and instance.cost.metric != "sqeuclidean":
        return "distances of points cannot be rounded to the same problem"
    return None


def _unfit_emd(instance: TransportInstance) -> str | None:
    return None


def _unfit_lazy(instance: TransportInstance) -> str | None:
    if not instance.is_points:
        return "takes points only"
    return None if instance.cost.metric in LAZY_METRICS else f"has no metric {instance.cost.metric}"


#: The peers of transport.
TRANSPORT_PEERS: tuple[Contestant, ...] = (
    Contestant(
        "ortools",
        "ortools.graph.python.min_cost_flow",
        "ortools",
        run_ortools,
        partial(_prepare, np.int32),
        _unfit_arcs,
        f"cost scaling; an arc for each pair, which is not timed; {ROUNDED}",
    ),
    Contestant(
        "pylmcf",
        "pylmcf",
        "pylmcf",
        run_pylmcf,
        partial(_prepare, np.int64),
        _unfit_arcs,
        f"the network simplex of LEMON; an arc for each pair, which is not timed; {ROUNDED}",
    ),
    Contestant("pot", "ot", "POT", _run_emd, _prepare_pot, _unfit_emd, "ot.emd: network simplex in float64"),
    Contestant(
        "pot-lazy",
        "ot",
        "POT",
        _run_emd_lazy,
        _prepare_pot,
        _unfit_lazy,
        "ot.emd2_lazy: costs of points are computed when needed",
    ),
)
