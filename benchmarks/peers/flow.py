"""The other packages that solve maximum flow or minimum cut. A package is imported when it runs.

Each peer gets its input in the form that suits it best. A peer is left out, and the report says why, if the
capacities exceed its number type or if an instance would take it hours.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from preflow.arrays import Array
from preflow.graph.network import EXACT_FLOAT

from ..instances.flow import FlowInstance
from ..problem import LIKE_NETWORKX, Contestant, Stopwatch
from ..records import Outcome

INT32_LIMIT = 2**31
#: SciPy and NetworkX are meant for small networks. They are left out above these numbers of arcs.
SCIPY_ARCS = 200_000
NETWORKX_ARCS = 20_000

NOT_INTEGRAL = "takes integer capacities only"


class OneWay(NamedTuple):
    """Arcs in the dtypes that a peer needs."""

    num_vertices: int
    tail: Any
    head: Any
    capacity: Any
    source: int
    sink: int


def _one_way(index: type[np.generic], capacity: type[np.generic]) -> Callable[[FlowInstance], OneWay]:
    def prepare(instance: FlowInstance) -> OneWay:
        arcs = instance.one_way()
        return OneWay(
            instance.num_vertices,
            arcs.tail.astype(index),
            arcs.head.astype(index),
            arcs.capacity.astype(capacity),
            instance.source,
            instance.sink,
        )

    return prepare


def _only_integers(instance: FlowInstance) -> str | None:
    return None if instance.integral else NOT_INTEGRAL


def _run_ortools(network: OneWay, recover_flow: bool) -> Outcome:
    from ortools.graph.python.max_flow import SimpleMaxFlow

    clock = Stopwatch()
    solver = SimpleMaxFlow()
    arcs = solver.add_arcs_with_capacity(network.tail, network.head, network.capacity)
    clock.lap("build")
    status = solver.solve(network.source, network.sink)
    clock.lap("solve")
    if recover_flow:
        solver.flows(arcs)
    else:
        solver.get_sink_side_min_cut()
    clock.lap("recover")
    if status != solver.OPTIMAL:
        raise ArithmeticError(f"OR-tools ended with {status}")
    return Outcome(solver.optimal_flow(), clock.seconds)


class Terminals(NamedTuple):
    """A network for PyMaxflow, in which terminal arcs are two capacities of each vertex."""

    num_vertices: int
    tail: Array
    head: Array
    capacity: Array
    reverse_capacity: Array
    from_source: Array
    to_sink: Array
    constant: int | float


def _prepare_pymaxflow(instance: FlowInstance) -> Terminals:
    tail, head, source, sink = instance.tail, instance.head, instance.source, instance.sink
    reverse = instance.reverse_capacity
    reverse = np.zeros_like(instance.capacity) if reverse is None else reverse
    arcs = instance.one_way()
    direct = (arcs.tail == source) & (arcs.head == sink)
    from_source = np.zeros(instance.num_vertices, dtype=instance.capacity.dtype)
    to_sink = from_source.copy()
    leaving = (arcs.tail == source) & ~direct & (arcs.head != source)
    arriving = (arcs.head == sink) & ~direct & (arcs.tail != sink)
    np.add.at(from_source, arcs.head[leaving], arcs.capacity[leaving])
    np.add.at(to_sink, arcs.tail[arriving], arcs.capacity[arriving])
    terminal = np.isin(tail, (source, sink)) | np.isin(head, (source, sink))
    inner = ~terminal & (tail != head)
    return Terminals(
        instance.num_vertices,
        tail[inner],
        head[inner],
        instance.capacity[inner],
        reverse[inner],
        from_source,
        to_sink,
        arcs.capacity[direct].sum().item(),
    )


def _run_pymaxflow(network: Terminals) -> Outcome:
    import maxflow

    clock = Stopwatch()
    graph_type = maxflow.GraphInt if network.capacity.dtype.kind == "i" else maxflow.GraphFloat
    graph = graph_type(network.num_vertices, len(network.tail))
    vertices = graph.add_grid_nodes(network.num_vertices)
    graph.add_edges(network.tail, network.head, network.capacity, network.reverse_capacity)
    graph.add_grid_tedges(vertices, network.from_source, network.to_sink)
    clock.lap("build")
    value = graph.maxflow()
    clock.lap("solve")
    graph.get_grid_segments(vertices)
    clock.lap("recover")
    return Outcome(value + network.constant, clock.seconds)


def _unfit_thinhpf(instance: FlowInstance) -> str | None:
    if not instance.integral:
        return "capacities would become float32"
    # Its excesses and its value are int32 and overflow silently.
    largest = max(*instance.terminal_capacity(), int(instance.one_way().capacity.max(initial=0)))
    return "capacities at the source or the sink add up past its int32" if largest >= INT32_LIMIT else None


def _run_thinhpf(network: OneWay, recover_flow: bool) -> Outcome:
    from thinhpf.hpf import hpf

    clock = Stopwatch()
    solver = hpf(network.num_vertices, len(network.tail), capacity_type="int32")
    solver.add_node(network.num_vertices)
    solver.set_source(network.source)
    solver.set_sink(network.sink)
    solver.add_edges(network.tail, network.head, network.capacity)
    clock.lap("build")
    solver.mincut()
    clock.lap("solve")
    value = solver.compute_maxflow()
    if recover_flow:
        solver.recover_flow()
    clock.lap("recover")
    return Outcome(int(value), clock.seconds)


def _unfit_igraph(instance: FlowInstance) -> str | None:
    if instance.integral and max(instance.terminal_capacity()) > EXACT_FLOAT:
        return "capacities add up past 2**53, where its float64 skips integers"
    return None


class EdgeList(NamedTuple):
    """A network for igraph."""

    num_vertices: int
    edges: NDArray[np.int64]
    capacity: list[int] | list[float]
    source: int
    sink: int


def _prepare_igraph(instance: FlowInstance) -> EdgeList:
    arcs = instance.one_way()
    edges = np.stack([arcs.tail, arcs.head], axis=1)
    return EdgeList(instance.num_vertices, edges, arcs.capacity.tolist(), instance.source, instance.sink)


def _run_igraph(network: EdgeList, recover_flow: bool) -> Outcome:
    import igraph

    clock = Stopwatch()
    graph = igraph.Graph(network.num_vertices, network.edges, directed=True)
    clock.lap("build")
    solve = graph.maxflow if recover_flow else graph.mincut
    value = solve(network.source, network.sink, capacity=network.capacity).value
    clock.lap("solve")
    integral = not network.capacity or isinstance(network.capacity[0], int)
    return Outcome(int(value) if integral else value, clock.seconds)


def _unfit_scipy(instance: FlowInstance) -> str | None:
    if not instance.integral:
        return NOT_INTEGRAL
    if instance.num_arcs > SCIPY_ARCS:
        return f"more than {SCIPY_ARCS:,} arcs"
    largest = max(instance.terminal_capacity()[0], instance.largest_pair_capacity())
    return "capacities past its int32" if largest >= INT32_LIMIT else None


def _run_scipy(network: OneWay) -> Outcome:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    clock = Stopwatch()
    shape = (network.num_vertices, network.num_vertices)
    matrix = csr_array((network.capacity, (network.tail, network.head)), shape=shape)
    clock.lap("build")
    value = maximum_flow(matrix, network.source, network.sink).flow_value
    clock.lap("solve")
    return Outcome(int(value), clock.seconds)


def _unfit_networkx(instance: FlowInstance) -> str | None:
    return f"more than {NETWORKX_ARCS:,} arcs" if instance.num_arcs > NETWORKX_ARCS else None


class Links(NamedTuple):
    """A network for NetworkX, in which parallel arcs are summed."""

    num_vertices: int
    edges: list[tuple[int, int, int | float]]
    source: int
    sink: int


def _prepare_networkx(instance: FlowInstance) -> Links:
    capacity: defaultdict[tuple[int, int], int | float] = defaultdict(int)
    for u, v, amount in zip(*(values.tolist() for values in instance.one_way()), strict=True):
        capacity[u, v] += amount
    edges = [(u, v, amount) for (u, v), amount in capacity.items()]
    return Links(instance.num_vertices, edges, instance.source, instance.sink)


def _run_networkx(module: str, recover_flow: bool, network: Links) -> Outcome:
    networkx = import_module(module)
    clock = Stopwatch()
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(network.num_vertices))
    graph.add_weighted_edges_from(network.edges, weight="capacity")
    clock.lap("build")
    solve = networkx.maximum_flow if recover_flow else networkx.minimum_cut
    value, _ = solve(graph, network.source, network.sink)
    clock.lap("solve")
    return Outcome(value, clock.seconds)


def flow_peers(recover_flow: bool) -> tuple[Contestant, ...]:
    """Return the peers, which find the flow of each arc if `recover_flow`, and otherwise a minimum cut."""
    no_arc_flow = "finds the value and a cut, but not the flow of each arc" if recover_flow else ""
    return (
        Contestant(
            "ortools",
            "ortools.graph.python.max_flow",
            "ortools",
            lambda network: _run_ortools(network, recover_flow),
            _one_way(np.int32, np.int64),
            _only_integers,
            "its solve phase includes sorting the arcs",
        ),
        Contestant(
            "pymaxflow", "maxflow", "PyMaxflow", _run_pymaxflow, _prepare_pymaxflow, remark=no_arc_flow
        ),
        Contestant(
            "thinhpf",
            "thinhpf.hpf",
            "thinhpf",
            lambda network: _run_thinhpf(network, recover_flow),
            _one_way(np.uint32, np.int32),
            _unfit_thinhpf,
            "recovers the flow but offers no way to read it" if recover_flow else "",
        ),
        Contestant(
            "igraph",
            "igraph",
            "igraph",
            lambda network: _run_igraph(network, recover_flow),
            _prepare_igraph,
            _unfit_igraph,
            "its solve phase includes recovering the flow or the cut",
        ),
        Contestant(
            "scipy",
            "scipy.sparse.csgraph",
            "scipy",
            _run_scipy,
            _one_way(np.int32, np.int32),
            _unfit_scipy,
            "its solve phase includes recovering the flow" if recover_flow else "finds a flow, but no cut",
        ),
        *(
            Contestant(
                package,
                module,
                package,
                partial(_run_networkx, module, recover_flow),
                _prepare_networkx,
                _unfit_networkx,
                "its solve phase includes recovering the flow or the cut",
            )
            for package, module in LIKE_NETWORKX
        ),
    )
