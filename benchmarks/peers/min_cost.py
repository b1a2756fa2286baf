"""The other packages that solve minimum-cost flow. A package is imported when it runs.

LEMON, a C++ library, is measured by ``benchmarks/lemon`` of the repository. It has no package for Python;
pylmcf contains its network simplex.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from preflow.graph.cost_network import is_integral

from ..instances.min_cost import MinCostInstance
from ..problem import LIKE_NETWORKX, Contestant, Stopwatch
from ..records import Outcome

#: NetworkX's network simplex is Python: it is left out above this number of arcs.
NETWORKX_ARCS = 10_000

NOT_INTEGRAL = "takes integers only"


class Arcs(NamedTuple):
    """A network in the dtypes that a peer needs, and a function that returns the cost of a flow."""

    cost_of: Callable[[Any], int | float]
    tail: Any
    head: Any
    capacity: Any
    cost: Any
    supply: Any


def _prepare(index: type[np.generic], instance: MinCostInstance) -> Arcs:
    plain = instance.plain()
    form = plain.form.widened()
    ends = form.tail.astype(index), form.head.astype(index)
    return Arcs(plain.cost_of, *ends, form.capacity, form.cost, form.supply)


def _prepare_networkx(module: str, instance: MinCostInstance) -> Any:
    nx = import_module(module)
    plain = instance.plain()
    form = plain.form
    graph = nx.MultiDiGraph()
    graph.add_nodes_from((v, {"demand": -amount}) for v, amount in enumerate(form.supply.tolist()))
    arcs = zip(*(values.tolist() for values in (form.tail, form.head, form.capacity, form.cost)), strict=True)
    graph.add_edges_from((u, v, i, {"capacity": c, "weight": w}) for i, (u, v, c, w) in enumerate(arcs))
    return plain, graph


def run_ortools(prepared: Arcs) -> Outcome:
    """Solve by OR-tools."""
    from ortools.graph.python.min_cost_flow import SimpleMinCostFlow

    clock = Stopwatch()
    solver = SimpleMinCostFlow()
    arcs = solver.add_arcs_with_capacity_and_unit_cost(
        prepared.tail, prepared.head, prepared.capacity, prepared.cost
    )
    solver.set_nodes_supplies(np.arange(len(prepared.supply), dtype=np.int32), prepared.supply)
    clock.lap("build")
    if solver.solve() != solver.OPTIMAL:
        raise ArithmeticError("OR-tools found no optimum")
    clock.lap("solve")
    flow = solver.flows(arcs)
    clock.lap("recover")
    return Outcome(prepared.cost_of(flow), clock.seconds)


def run_pylmcf(prepared: Arcs) -> Outcome:
    """Solve by the network simplex of LEMON."""
    from pylmcf import pylmcf_cpp

    clock = Stopwatch()
    flow = pylmcf_cpp.lmcf(prepared.supply, prepared.tail, prepared.head, prepared.capacity, prepared.cost)
    clock.lap("solve")
    return Outcome(prepared.cost_of(flow), clock.seconds)


def _run_networkx(module: str, prepared: Any) -> Outcome:
    nx = import_module(module)
    plain, graph = prepared
    clock = Stopwatch()
    _, flows = nx.network_simplex(graph)
    clock.lap("solve")
    flow = np.zeros(len(plain.form.tail), dtype=np.int64)
    for heads in flows.values():
        for arcs in heads.values():
            for arc, amount in arcs.items():
                flow[arc] = amount
    return Outcome(plain.cost_of(flow), clock.seconds)


def _unfit(instance: MinCostInstance) -> str | None:
    arrays = [instance.capacity, instance.cost, instance.supply]
    if instance.lower is not None:
        arrays.append(instance.lower)
    return None if all(map(is_integral, arrays)) else NOT_INTEGRAL


def _unfit_pylmcf(instance: MinCostInstance) -> str | None:
    return "takes no negative costs" if (instance.cost < 0).any() else _unfit(instance)


def _unfit_networkx(instance: MinCostInstance) -> str | None:
    if len(instance.tail) > NETWORKX_ARCS:
        return f"more than {NETWORKX_ARCS:,} arcs would take too long"
    return _unfit(instance)


#: The peers of minimum-cost flow.
MIN_COST_PEERS: tuple[Contestant, ...] = (
    Contestant(
        "ortools",
        "ortools.graph.python.min_cost_flow",
        "ortools",
        run_ortools,
        partial(_prepare, np.int32),
        _unfit,
        "cost scaling",
    ),
    Contestant(
        "pylmcf",
        "pylmcf",
        "pylmcf",
        run_pylmcf,
        partial(_prepare, np.int64),
        _unfit_pylmcf,
        "the network simplex of LEMON",
    ),
    *(
        Contestant(
            package,
            module,
            package,
            partial(_run_networkx, module),
            partial(_prepare_networkx, module),
            _unfit_networkx,
            "network simplex; its graph is built beforehand",
        )
        for package, module in LIKE_NETWORKX
    ),
)
