"""Public calls that reach the kinds of arguments that the library has.

    python native/calls.py            # make all calls; say which fail, and which kernels the library lacks
    python native/calls.py --stars    # say which kinds that calls without a method reach have no star

Kinds depend on data: on dtypes, but also on the largest degree (ranks of arcs are uint8, uint16 or uint32),
on warm starts, on views and on the number of threads. Instances are as small as these allow.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from runpy import run_path
from typing import Any
from unittest.mock import patch

import numpy as np
import scipy.sparse as sp
from click.testing import CliRunner
from numpy.typing import NDArray

import preflow
from preflow import vision
from preflow.cli import app
from preflow.connectivity.removal import SimpleArcs, split_network
from preflow.graph import recognised_grid, residual
from preflow.graph.undirected import EDGES_FOR_THREADS
from preflow.gridcut import policy as grid_policy
from preflow.kernels import kernel
from preflow.kernels.kinds import accepts, declared
from preflow.maxflow import policy as flow_policy
from preflow.maxflow.features import is_energy, sample_arcs
from preflow.maxflow.levels import active_excess
from preflow.maxflow.pair_flows import flow_of_pair, values_of_pairs
from preflow.network import distances_to_sink
from preflow.papers.lupinska import cuda_hybrid as grid_hybrid
from preflow.papers.wu_he_hong import cuda_hybrid
from preflow.papers.wu_he_hong.cuda_coloring import edge_coloring
from preflow.registry import PROBLEMS
from preflow.steps import as_grid
from preflow.steps.contract import arcs_of, without_cycles
from preflow.transportation.cuda_transport.spanning_tree import spanning_tree
from preflow.transportation.forest import spanning_forest

#: The name of a call, and the call.
Call = tuple[str, Callable[[], Any]]

rng = np.random.default_rng(0)


def placements(problem: str) -> Iterator[tuple[str, int]]:
    """Yield "auto" and the methods of a problem on the CPU, each with the numbers of threads to try."""
    yield from (("auto", 1), ("auto", 2))
    for method in preflow.methods(problem):
        if method.device == "cpu":
            yield from ((method.name, threads) for threads in ((1, 2) if method.parallel else (1,)))


def paint(image: NDArray[np.generic], smoothness: float) -> None:
    """Preview strokes of all kinds, from the forests of the last cut."""
    painting = vision.Painting(image, smoothness=smoothness)
    painting.stroke([(9, 9), (14, 9)], 1, brush=3)
    painting.stroke([(1, 1), (20, 1)], 2, brush=3)
    painting.solve()
    painting.preview()
    for label in (1, 2, 0):
        painting.stroke([(9, 14), (18, 18)], label, brush=3)
        painting.preview()
        painting.prove()


def verified(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Return the result of a call, after its proof was checked."""
    result = function(*arguments, **named)
    result.verify()
    return result


# --- maximum flow ----------------------------------------------------------------------------------------

CAPACITIES: dict[str, Callable[[int], NDArray[Any]]] = {
    "int32": lambda m: rng.integers(1, 100, m),
    "int64": lambda m: rng.integers(1, 100, m) * 2**33,
    "float": lambda m: rng.random(m),
    "whole": lambda m: rng.integers(1, 100, m).astype(float),
    "large whole": lambda m: (rng.integers(1, 100, m) * 2**33).astype(float),
    "infinite": lambda m: np.where(rng.random(m) < 0.1, np.inf, rng.random(m)),
}


def random_network(n: int, m: int, capacities: str, both: bool = False) -> preflow.FlowNetwork:
    """Return a random network; the arcs of vertices 0 and 11 have finite capacities."""
    tail, head = rng.integers(0, n, m), rng.integers(0, n, m)
    capacity = CAPACITIES[capacities](m)
    capacity[np.isin(tail, (0, 11)) | np.isin(head, (0, 11))] = capacity.dtype.type(1.5)
    reverse = capacity.copy() if both else None
    return preflow.FlowNetwork.from_arrays(tail, head, capacity, reverse_capacity=reverse, num_vertices=n)


def star(degree: int, capacities: str) -> preflow.FlowNetwork:
    """Return a network with one vertex that has arcs to many others: their ranks need more bits."""
    middle = np.arange(3, degree + 3)
    tail = np.concatenate([[0], np.full(degree, 2), middle])
    head = np.concatenate([[2], middle, np.full(degree, 1)])
    capacity = CAPACITIES[capacities](len(tail))
    capacity[0] = 3
    return preflow.FlowNetwork.from_arrays(tail, head, capacity)


def flow_built_by(arcs_a_thread: int, network: preflow.FlowNetwork, sink: int, **named: Any) -> None:
    """Solve a network that is built on several threads from this number of arcs on."""
    usual, residual.ARCS_A_THREAD = residual.ARCS_A_THREAD, arcs_a_thread
    try:
        verified(preflow.max_flow, network, 0, sink, **named).source_side()
    finally:
        residual.ARCS_A_THREAD = usual


def cut_as_grid(problem: preflow.MaxFlowProblem, **named: Any) -> None:
    """Find a maximum flow of a grid with stored arcs as that of a grid, also if excess needs a search."""
    usual = flow_policy.worth_a_search_for_a_grid, recognised_grid.ARCS_A_THREAD

    def look(network: Any, source: int, sink: int, *, clear: bool) -> bool:
        is_energy(network, source, sink, clear=clear)
        return True

    flow_policy.worth_a_search_for_a_grid = look
    recognised_grid.ARCS_A_THREAD = 1
    try:
        verified(preflow.max_flow, problem, **named).source_side()
        with patch.object(as_grid, "subtract_residual", lambda *given: False):
            verified(preflow.max_flow, problem, **named)
    finally:
        flow_policy.worth_a_search_for_a_grid, recognised_grid.ARCS_A_THREAD = usual


def solve_again(network: preflow.FlowNetwork, sink: int) -> None:
    """Solve a network again after changes, by a search, by a method and by repairs."""
    solver = preflow.MaxFlow(network, 0, sink)
    for turn, method in enumerate(("auto", "auto", "serial-hi-pr", "auto", "auto")):
        if turn == 3:
            solver._record.search.fail(0)  # the next ones are repairs
        verified(solver.solve, threads=1, method=method)
        arcs = np.arange(1, network.num_arcs, 3)  # not the arc of the source
        solver.set_capacity(arcs, rng.permutation(solver.network.capacity[arcs]))
    solver.add_arcs([0], [sink], [1])
    verified(solver.solve, threads=1)
    endless = np.flatnonzero(np.isinf(solver.network.capacity))
    solver.set_capacity(endless, np.ones(len(endless)))  # they may join the terminals that follow
    for ends in ((1, 2), (2, 3), (3, 1)):
        solver.set_terminals(*ends)
        verified(solver.solve)


def contracted(capacities: str, both: bool) -> None:
    """Contract a network of two cycles, with arcs in one direction and in both, and with flow to cancel."""
    with patch.multiple(flow_policy, FEW_ARCS=0, ARCS_OF_PATHS=0, seldom_saturated=lambda capacity: True):
        tail, head = [0, 1, 2, 0, 3, 4, 5], [1, 2, 0, 3, 4, 5, 3]
        capacity = CAPACITIES[capacities](7)
        capacity[:] = 100.5 if capacities == "float" else 100
        capacity[3] = 1
        reverse = 1 if both else None
        network = preflow.FlowNetwork.from_arrays(tail, head, capacity, reverse_capacity=reverse)
        twice = preflow.FlowNetwork.from_arrays(
            tail + head, head + tail, np.tile(capacity, 2), reverse_capacity=reverse
        )
        for each in (network, twice):
            verified(preflow.max_flow, each, 0, 5, threads=1).source_side()
        flow = np.ones(7, dtype=network.capacity.dtype)
        without_cycles(arcs_of(network), flow, network.num_vertices)


def maxflow() -> Iterator[Call]:
    """Yield calls of max_flow and min_cut."""
    for capacities, both, arcs in product(CAPACITIES, (False, True), (1, 150_000)):
        network = random_network(12, 40, capacities, both)
        for method, threads in placements("max_flow"):
            given = {"method": method, "threads": threads}
            yield (
                f"max_flow {capacities} both={both} {given}",
                partial(flow_built_by, arcs, network, 11, **given),
            )
    for capacities, both, (n, m) in product(CAPACITIES, (False, True), ((12, 40), (60, 900), (200, 1000))):
        network = random_network(n, m, capacities, both)
        for function, threads in product((preflow.max_flow, preflow.min_cut), (1, 2)):
            what = f"{function.__name__} {capacities} n={n} threads={threads}"
            yield what, partial(verified, function, network, 0, 11, threads=threads)
    for capacities, threads, degree, arcs in product(CAPACITIES, (1, 2), (300, 70_000), (1, 150_000)):
        what = f"max_flow {capacities} degree={degree} threads={threads}"
        yield what, partial(flow_built_by, arcs, star(degree, capacities), 1, threads=threads)
    for capacities, (method, threads) in product(("int32", "int64"), placements("max_flow")):
        network = random_network(200, 1200, capacities)
        given = {"method": method, "threads": threads}
        yield (
            f"max_flow {capacities} larger {given}",
            partial(verified, preflow.max_flow, network, 0, 11, **given),
        )
    for capacities, threads in product(CAPACITIES, (1, 2)):
        network = random_network(40, 200, capacities)
        wide: dict[str, Any] = {"method": "multicore-paths", "options": {"budget": None}, "threads": threads}
        yield f"max_flow {capacities} {wide}", partial(verified, preflow.max_flow, network, 0, 11, **wide)
    for capacities, both, n in product(CAPACITIES, (False, True), (12, 300, 70_000)):
        network = random_network(12, 60, capacities, both) if n == 12 else star(n, capacities)
        yield f"MaxFlow {capacities} both={both} n={n}", partial(solve_again, network, 1 if n > 12 else 11)
    for capacities, both in product(("int32", "int64", "float"), (False, True)):
        network = random_network(12, 60, capacities, both)
        slope = np.where((network.tail == 0) & (network.head != 0), 1, 0)
        parametric = partial(verified, preflow.parametric_max_flow, network, slope, 0, 11, threads=1)
        yield f"parametric_max_flow {capacities} both={both}", parametric
    for capacities, both, connectivity, threads in product(CAPACITIES, (False, True), (6, 26), (1, 2)):
        grid = preflow.generators.grid_3d(8, 6, 7, connectivity=connectivity).network
        capacity = CAPACITIES[capacities](grid.num_arcs)
        capacity[np.isinf(capacity) & (grid.head == 337)] = 1.0
        network = preflow.FlowNetwork.from_arrays(
            grid.tail, grid.head, capacity, reverse_capacity=capacity if both else None, num_vertices=338
        )
        what = f"max_flow of a grid {capacities} both={both} {connectivity} threads={threads}"
        problem = preflow.MaxFlowProblem(network, 336, 337)
        yield what, partial(cut_as_grid, problem, threads=threads)
    for capacities, both in product(CAPACITIES, (False, True)):
        yield f"contracted {capacities} both={both}", partial(contracted, capacities, both)
        network = random_network(12, 40, capacities, both)
        yield f"sample of arcs {capacities} both={both}", partial(sample_arcs, network)
    network = random_network(20, 80, "int32")
    yield "max_flow, several terminals", partial(verified, preflow.max_flow, network, [0, 1], [2, 3])
    yield "ultimate_pit", partial(verified, preflow.reductions.ultimate_pit, rng.integers(-9, 9, (6, 6, 4)))


def batches() -> Iterator[Call]:
    """Yield calls of max_flow_batch and grid_cut_batch."""
    for capacities, both in product(CAPACITIES, (False, True)):
        networks = [random_network(12, 40, capacities, both) for _ in range(5)]
        for threads in (1, 2):
            what = f"max_flow_batch {capacities} both={both} threads={threads}"
            yield what, partial(verified, preflow.max_flow_batch, networks, 0, 11, threads=threads)
    for factor, neighbor in product((1, 2**33, 0.37), (2, rng.integers(0, 30, (3, 2, 8, 9)))):
        terminals = rng.integers(0, 100, (2, 3, 8, 9)) * factor
        what = f"grid_cut_batch {terminals.dtype} {factor}"
        yield what, partial(verified, preflow.grid_cut_batch, *terminals, neighbor, threads=1)


# --- connectivity ----------------------------------------------------------------------------------------


def connectivity() -> Iterator[Call]:
    """Yield calls of gomory_hu_tree, global_min_cut, edge_connectivity and vertex_connectivity."""
    tail, head = rng.integers(0, 12, (2, 40))
    place = np.arange(36).reshape(6, 6)
    torus = np.tile(place.ravel(), 2), np.concatenate([np.roll(place, 1, axis).ravel() for axis in (0, 1)])
    directed = preflow.FlowNetwork.from_arrays(tail, head, 1)
    for function in (preflow.gomory_hu_tree, preflow.global_min_cut):
        for weight in (rng.integers(1, 9, 40), rng.random(40)):
            yield f"{function.__name__} {weight.dtype}", partial(verified, function, (tail, head, weight))
        yield f"{function.__name__} torus", partial(verified, function, torus)
    for graph, what in (((tail, head), "undirected"), (directed, "directed"), (torus, "torus")):
        for connected in (preflow.edge_connectivity, preflow.vertex_connectivity):
            yield f"{connected.__name__} {what}", partial(verified, connected, graph)
    network = split_network(SimpleArcs.of(12, tail, head, directed=True), 1)
    pairs, limits = np.array([[12, 13], [3, 4]]), np.array([5, 5])
    yield "values_of_pairs", partial(values_of_pairs, network, pairs, limits)
    yield "flow_of_pair", partial(flow_of_pair, network, 12, 3, 5)


# --- grids -----------------------------------------------------------------------------------------------


def cut_and_cut_again(source: NDArray[Any], sink: Any, neighbor: Any, **named: Any) -> None:
    """Solve a grid and, starting from its flow, one with a changed pixel."""
    first = verified(preflow.grid_cut, source, sink, neighbor, **named)
    changed = source.copy()
    changed.flat[0] += 1
    verified(preflow.grid_cut, changed, sink, neighbor, **named, warm_start=first)


def gridcut() -> Iterator[Call]:
    """Yield calls of grid_cut."""
    neighbours = {(30,): (2,), (6, 7): (4, 8), (4, 3, 5): (6, 26), (2, 3, 2, 3): (8,)}
    factors = {"int32": 1, "int64": 2**33, "float": 0.37}
    for shape, (kind, factor) in product(neighbours, factors.items()):
        source, sink = (rng.integers(0, 100, shape) * factor for _ in range(2))
        source.flat[0] += kind == "int64"  # else 32 bits do: the factor is in all
        for number, form in product(neighbours[shape], ("one", "symmetric", "both ways")):
            rows = (number // 2 if form == "symmetric" else number, *shape)
            neighbor = 20 * factor if form == "one" else rng.integers(0, 30, rows) * factor
            for method, threads in placements("grid_cut"):
                given: dict[str, Any] = {"connectivity": number, "method": method, "threads": threads}
                what = f"grid_cut {shape} {kind} {form} {given}"
                yield what, partial(cut_and_cut_again, source, sink, neighbor, **given)
    many = np.array([(0, 1 + k) if k < 12 else (1 + k // 25, k % 25 - 12) for k in range(150)])
    for factor, threads in product((1, 2**33), (1, 2)):  # names of parents need 16 bits
        to_source, to_sink = (factor * rng.integers(0, 100, (40, 40)) for _ in range(2))
        given = {"connectivity": many, "threads": threads}
        for method in ("auto", "multicore-merging" if threads > 1 else "serial-incremental-bfs"):
            what = f"grid_cut of {len(many)} neighbours factor={factor} {method}"
            yield what, partial(cut_and_cut_again, to_source, to_sink, factor, **given, method=method)
    for factor, threads in product((1, 2**33), (1, 2)):  # blocks are joined before they merge
        ends = [factor * rng.integers(0, 100, (40, 50)) + 1 for _ in range(2)]
        given = {"method": "multicore-merging", "threads": threads, "options": {"blocks": 200}}
        what = f"grid_cut of many blocks factor={factor} threads={threads}"
        yield what, partial(verified, preflow.grid_cut, *ends, 20 * factor, **given)
    wide = rng.integers(0, 100, (40, 60))
    for view, threads in product((wide[::2, ::3], wide.T, wide[::-1]), (1, 2)):
        what = f"grid_cut, a view with strides {view.strides} threads={threads}"
        yield what, partial(verified, preflow.grid_cut, view, view[::-1], 20, threads=threads)
    for dtype in (np.bool_, np.uint8, np.int8, np.int16, np.uint16, np.uint32, np.float16, np.float32):
        array = rng.integers(0, 2, (9, 9)).astype(dtype)
        yield (
            f"grid_cut {np.dtype(dtype)}",
            partial(verified, preflow.grid_cut, array, array.T, array[0, 0]),
        )


# --- matching --------------------------------------------------------------------------------------------


def random_graph(n: int, m: int, edges: int) -> Any:
    """Return a random bipartite graph as a sparse matrix."""
    ends = rng.integers(0, n, edges), rng.integers(0, m, edges)
    return sp.csr_array((np.ones(edges), ends), shape=(n, m))


def bipartite() -> Iterator[Call]:
    """Yield calls of bipartite_matching and of its relatives."""
    diagonals = [np.ones(24), np.ones(24), np.ones(20), np.ones(20)]
    hub = np.concatenate([np.zeros(400, dtype=int), rng.integers(0, 300, 400)]), rng.integers(0, 500, 800)
    graphs = {
        "random": random_graph(25, 25, 60),
        "wide": random_graph(25, 50, 60),
        "tall": random_graph(50, 25, 60),
        "mesh": sp.diags_array(diagonals, offsets=[1, -1, 5, -5]).tocsr(),
        "hub": sp.csr_array((np.ones(800), hub), shape=(300, 500)),
    }
    initials = ("cheap", "min-degree", "karp-sipser", "sinkhorn-knopp", "none")
    low = {"initial_labels": "one", "relabel_period": 2.0}
    for name, graph in graphs.items():
        forms = graph, graph.tocsc(), (graph.tocoo().row, graph.tocoo().col)
        for form, threads in product(forms, (1, 2)):
            what = f"bipartite_matching {name} {type(form).__name__} threads={threads}"
            yield what, partial(verified, preflow.bipartite_matching, form, threads=threads)
        for (method, threads), initial in product(placements("bipartite_matching"), initials):
            given: dict[str, Any] = {"method": method, "initial": initial, "threads": threads}
            yield (
                f"bipartite_matching {name} {given}",
                partial(verified, preflow.bipartite_matching, graph, **given),
            )
        for options in ({**low, "stalled": "trees"}, {**low, "stalled": "relabel"}):
            given = {"method": "serial-push-relabel", "options": options}
            yield f"bipartite_matching {name} {given}", partial(preflow.bipartite_matching, graph, **given)
        given = {"method": "multicore-push-relabel", "threads": 2, "options": low}
        yield f"bipartite_matching {name} {given}", partial(preflow.bipartite_matching, graph, **given)
        for function in (preflow.dulmage_mendelsohn, preflow.structural_rank):
            yield f"{function.__name__} {name}", partial(function, graph)
    graph = random_graph(4_000, 4_000, 12_000)  # no small one for the policy
    yield "bipartite_matching of 12,000 edges", partial(preflow.bipartite_matching, graph)
    for symmetric in (False, True):
        dense = np.add.outer(np.arange(6.0), np.arange(6.0)) + 1
        call = partial(verified, preflow.scale_to_diagonal, dense, symmetric=symmetric)
        yield f"scale_to_diagonal symmetric={symmetric}", call
    yield "zero_free_diagonal", partial(preflow.zero_free_diagonal, sp.eye_array(5).tocsr())


def general_matching() -> Iterator[Call]:
    """Yield calls of matching with every method and kind of input."""
    ends = rng.integers(0, 40, (2, 120))
    weights = {"none": None, "int": rng.integers(-5, 50, 120), "float": rng.normal(size=120)}
    for (name, weight), (method, threads) in product(weights.items(), placements("matching")):
        given: dict[str, Any] = {"method": method, "threads": threads}
        for wanted in ({}, {"maximum_cardinality": True}, {"maximize": False, "perfect": True}):
            yield f"matching {name} {given} {wanted}", partial(matched, (*ends, weight), {**given, **wanted})
    for factor in (1, 0.37):
        stack = np.triu(rng.integers(1, 50, (3, 8, 8)), 1) * factor
        yield (
            f"matching_batch {factor}",
            partial(verified, preflow.matching_batch, stack + stack.transpose(0, 2, 1)),
        )
    yield "matching warm_start", partial(preflow.matching, tuple(ends), warm_start=np.full(40, -1))
    start: dict[str, Any] = {"method": "serial-weighted-blossom", "options": {"initial": "two-thirds"}}
    yield f"matching {start}", partial(preflow.matching, (*ends, weights["int"]), **start)
    for n in (1000, 2**22):  # rows built by several threads
        ends = rng.integers(0, n, (2, EDGES_FOR_THREADS))
        graph = preflow.UndirectedGraph.from_arrays(*ends, num_vertices=n)
        given = {"method": "multicore-blossom", "threads": 2}
        yield f"matching of {n} vertices", partial(preflow.matching, graph, **given)


def matched(graph: Any, given: dict[str, Any]) -> None:
    """Solve a matching, unless the method is for the other kind of graphs, and verify it."""
    methods = {each.name: each for each in preflow.methods("matching")}
    method = methods.get(given["method"])
    if method is None:  # "auto" takes both kinds
        for each in (graph, graph[:2]):
            verified(preflow.matching, each, **given)
        return
    if method.approximate:
        if len(given) == 2:
            preflow.matching(graph if graph[2] is not None else graph[:2], **given).verify()
    elif method.weighted == (graph[2] is not None):
        preflow.matching(graph if graph[2] is not None else graph[:2], **given).verify()


# --- assignment ------------------------------------------------------------------------------------------


def sparse_costs(n: int, factor: float) -> Any:
    """Return sparse costs that have an assignment."""
    row = np.concatenate([np.arange(n), rng.integers(0, n, 4 * n)])
    column = np.concatenate([rng.permutation(n), rng.integers(0, n, 4 * n)])
    _, first = np.unique(row * n + column, return_index=True)
    cost = rng.integers(1, 100, 5 * n) * factor
    return sp.csr_array((cost[first], (row[first], column[first])), shape=(n, n))


def assignment() -> Iterator[Call]:
    """Yield calls of linear_assignment."""
    costs: dict[str, Any] = {}
    for n, m in ((4, 12), (12, 12), (12, 15), (15, 12), (70, 70)):
        integers, floats = rng.integers(0, 50, (3, n, m)), rng.random((3, n, m))
        for values in (integers, integers.astype(np.int32), floats, floats.astype(np.float32)):
            costs[f"{n} x {m} {values.dtype}"] = values[0]
            costs[f"3 of {n} x {m} {values.dtype}"] = values
        costs[f"{n} x {m} infinite"] = np.where(rng.random((n, m)) < 0.2, np.inf, floats[0])
    for n, factor in product((12, 30), (1, 0.37)):
        costs[f"sparse n={n} factor={factor}"] = sparse_costs(n, factor)
    extras: tuple[dict[str, Any], ...] = ({}, {"maximize": True}, {"partial": True})
    for (name, cost), extra in product(costs.items(), extras):
        if "infinite" in name and "maximize" in extra:
            continue
        for method, threads in placements("linear_assignment"):
            given = {"method": method, "threads": threads, **extra}
            yield (
                f"linear_assignment {name} {given}",
                partial(verified, preflow.linear_assignment, cost, **given),
            )
    for dtype, threads in product((np.int64, np.float64, np.float32), (1, 2, 4)):  # wide enough for lists
        cost = (1000 * rng.random((140, 140))).astype(dtype)
        for method, least in placements("linear_assignment"):
            named: dict[str, Any] = {"method": method, "threads": max(least, threads)}
            if least > 1 or threads == 1:
                what = f"linear_assignment 140 x 140 {np.dtype(dtype)} {named}"
                yield what, partial(verified, preflow.linear_assignment, cost, **named)
    for factor, threads in product((1, 0.37), (1, 2)):  # auto looks at the costs
        cost = sparse_costs(2000, factor)
        what = f"linear_assignment sparse n=2000 factor={factor} threads={threads}"
        yield what, partial(verified, preflow.linear_assignment, cost, threads=threads)
    metrics, sizes = ("euclidean", "sqeuclidean", "cityblock", "cosine"), ((30, 32), (30, 30), (32, 30))
    for dimension, metric, (rows, columns) in product((1, 2, 3, 5), metrics, sizes):
        ends = rng.random((rows, dimension)), rng.random((columns, dimension))
        for places, shape in (("many", ends), ("few", [1 + np.round(2 * end) for end in ends])):
            points = preflow.PointCosts(*shape, metric=metric)
            what = (
                f"linear_assignment points {rows} x {columns} dimension={dimension} {metric} {places} places"
            )
            for extra in extras[:1] if places == "few" else extras:
                yield f"{what} {extra}", partial(verified, preflow.linear_assignment, points, **extra)


# --- minimum-cost flow -----------------------------------------------------------------------------------


def mincost() -> Iterator[Call]:
    """Yield calls of min_cost_flow."""
    for n, m in ((6, 20), (200, 1500)):
        tail, head = rng.integers(0, n, (2, m))
        capacity, cost = rng.integers(0, 50, m), rng.integers(-100, 1000, m)
        supply = np.bincount(tail, capacity // 2, n) - np.bincount(head, capacity // 2, n)
        limited = preflow.CostNetwork.from_arrays(tail, head, capacity=capacity, cost=cost, supply=supply)
        endless = preflow.CostNetwork.from_arrays(tail, head, cost=np.maximum(cost, 0))
        dear = preflow.CostNetwork.from_arrays(tail, head, cost=np.maximum(cost, 0) * 0.1)
        rounded = preflow.CostNetwork.from_arrays(tail, head, capacity=capacity * 0.1, cost=cost * 0.1)
        networks = {"integers": limited, "endless": endless, "float costs": dear, "floats": rounded}
        for method, threads in placements("min_cost_flow"):
            given = {"method": method, "threads": threads}
            for kind, network in networks.items():
                yield (
                    f"min_cost_flow {kind} {given}",
                    partial(verified, preflow.min_cost_flow, network, **given),
                )
        for kind, network in (("integers", limited), ("floats", rounded)):
            start = preflow.min_cost_flow(network, method="serial-cost-scaling")
            for method in ("serial-network-simplex", "serial-cost-scaling", "multicore-cost-scaling"):
                given = {"method": method, "threads": 2 if "multicore" in method else 1, "warm_start": start}
                yield (
                    f"min_cost_flow {kind} {n} warm {method}",
                    partial(verified, preflow.min_cost_flow, network, **given),
                )
    for longest, factor in product((300, 70_000), (1, 0.1)):
        ends = np.zeros(longest, np.int64), np.ones(longest, np.int64)
        amounts, cost = rng.integers(1, 50, longest) * factor, rng.integers(-100, 100, longest)
        sent = np.array([9, -9]) * factor
        parallel = preflow.CostNetwork.from_arrays(*ends, capacity=amounts, cost=cost, supply=sent)
        given = {"method": "multicore-cost-scaling", "threads": 2}
        yield (
            f"min_cost_flow {longest} parallel arcs times {factor}",
            partial(verified, preflow.min_cost_flow, parallel, **given),
        )
    cheap = preflow.CostNetwork.from_arrays([0, 1, 2], [1, 2, 0], cost=[1, -1, 2])
    yield "min_cost_flow, a search for an unbounded cycle", partial(verified, preflow.min_cost_flow, cheap)


# --- transport ---------------------------------------------------------------------------------------


def transportation() -> Iterator[Call]:
    """Yield calls of transport."""
    for n, m in ((5, 4), (90, 80)):
        a = rng.integers(1, 50, n)
        masses = a, rng.multinomial(a.sum(), np.ones(m) / m)
        cost = rng.integers(0, 100, (n, m))
        costs = {
            "int64": cost,
            "float64": cost * 0.1,
            "float32": (cost * 0.1).astype(np.float32),
            "sparse": sp.csr_array(cost + 1),
            "points": preflow.PointCosts(rng.random((n, 2)), rng.random((m, 2))),
        }
        # Prices are smoothed with four threads or more.
        tried = (*placements("transport"), ("multicore-network-simplex", 4))
        for (kind, given), (method, threads) in product(costs.items(), tried):
            named = {"method": method, "threads": threads}
            yield (
                f"transport {n} x {m} {kind} {named}",
                partial(verified, preflow.transport, given, *masses, **named),
            )
    view = rng.random((40, 60)).T
    yield "transport, a view", partial(verified, preflow.transport, view, np.full(60, 2), np.full(40, 3))


# --- vision ----------------------------------------------------------------------------------------------


def pictures() -> Iterator[Call]:
    """Yield calls of the functions for images."""
    image = rng.random((24, 30, 3))
    seeds = np.zeros((2, 24, 30), dtype=bool)
    seeds[0, 8:12, 8:12] = seeds[1, 0] = True
    for threads in (1, 2):
        yield f"segment threads={threads}", partial(vision.segment, image, *seeds, threads=threads)
    yield "grabcut", partial(vision.grabcut, image, (4, 4, 20, 24))
    for smoothness in (50.0, 1e6):  # int32, int64
        yield f"Painting smoothness={smoothness:g}", partial(paint, image, smoothness)
    yield "denoise", partial(vision.denoise, (image[..., 0] * 8).astype(np.uint8), 2.0)
    data = rng.integers(0, 20, (4, 12, 13))
    for name in ("alpha_expansion", "alpha_beta_swap"):
        yield name, partial(getattr(vision, name), data, vision.potts(4))


# --- what methods on a GPU leave to the CPU --------------------------------------------------------------


def between_launches(net: Any) -> None:
    """Call the kernels that run between two launches, as ``cuda_hybrid`` and ``cuda_coloring`` do."""
    height, order = np.full(len(net.excess), len(net.excess) + 1, dtype=np.uint32), np.empty_like(net.reverse)
    zero = np.uint64(0)
    for reached in (zero, 0, zero):
        reached, _ = distances_to_sink(net, height, order, reached, zero, zero, False)
        active_excess(order, reached, net.excess)
        active_excess(order, np.uint64(reached), net.excess)
    cuda_hybrid.cancel_steep_arcs(net, height)
    edge_coloring.color_edges(net)


def between_rounds(number: type[np.signedinteger[Any]]) -> None:
    """Call the kernels that run between two launches on a grid, as the method ``cuda-hybrid`` does."""
    residual = np.array([[1, 1, 0], [0, 0, 0]], dtype=number)
    step = np.array([1, -1]).astype(np.uint64)
    level, order, height = np.zeros((3, 3), dtype=np.uint32)
    grid = grid_hybrid.HostGrid(residual, np.array([1, 0, 0]), np.array([0, 0, 1]), height, step)
    grid_hybrid.cancel_steep_arcs(grid, True)
    grid_hybrid.exact_heights(grid, level, order)


def by_regions() -> Iterator[Call]:
    """Yield calls of region hosts: kernels that no solve of a whole network calls."""
    for factor in (1, 2**33):
        source, sink = factor * rng.integers(0, 100, (2, 9, 9, 9)) + 1
        given = {"exchange": "files", "regions": 4}
        what = f"regions on files factor={factor}"
        yield what, partial(verified, preflow.distributed.grid_cut, source, sink, 20 * factor, **given)


def beside_gpus() -> Iterator[Call]:
    """Yield calls of kernels that only solvers on a GPU need."""
    for capacities, degree in product(("int32", "int64", "float"), (2, 300)):
        built = residual.build_residual(star(degree, capacities), np.array([0]), np.array([1]))
        yield f"between launches {capacities} degree={degree}", partial(between_launches, built.arrays)
    for number in (np.int32, np.int64):
        yield f"between rounds on a grid {number.__name__}", partial(between_rounds, number)
    pairs = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.array([3, 1, 1, 3])
    yield "cycles of a plan", partial(spanning_forest, *pairs, 2, 2)
    yield "the tree of a plan", partial(spanning_tree, pairs, pairs[:2], 0, 2, 2)


#: Commands, run in a folder that has the files of ``preflow samples``.
COMMANDS = """
    generate rmf-wide 8x4 -o wide.max.gz
    solve wide.max.gz --verify -o wide.sol
    solve wide.max.gz -o wide.csv
    verify wide.max.gz wide.sol
    generate netgen 60 -o supplies.min.gz
    solve supplies.min.gz --verify -o supplies.sol
    verify supplies.min.gz supplies.sol
    generate delaunay 200 -o mesh.mtx.gz
    match mesh.mtx.gz --verify
    match matrix.mtx.gz --verify
    assign cost.npy --partial
    assign partial.csv --partial
    info wide.max.gz
    solve roads.csv --source depot --sink shop -o flow.csv
"""


def run_command(words: list[str]) -> None:
    """Run a command in this process."""
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    if done.exit_code:
        raise ValueError(done.output[-300:])


def commands() -> Iterator[Call]:
    """Yield commands; they need the files of those before them."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("partial.csv").write_text("row,column,cost\na,x,1\nb,x,2\n", encoding="utf-8")
        for line in ["samples", *filter(None, map(str.strip, COMMANDS.splitlines()))]:
            yield line, partial(run_command, line.split())


#: The calls of a problem are the function with the name of its folder.
PARTS: dict[str, Callable[[], Iterator[Call]]] = {
    **{problem.name: globals()[problem.folder] for problem in PROBLEMS},
    "batches": batches,
    "connectivity": connectivity,
    "vision": pictures,
    "regions": by_regions,
    "commands": commands,
    "gpu": beside_gpus,
}


#: What calls without a method take for large instances: options let small ones take it as well.
LARGE = ("multicore-merging", "multicore-paths")


def names_method(call: Callable[[], Any]) -> bool:
    """Return whether a call asks for a method by its name, and stands for no call that does not."""
    assert isinstance(call, partial)
    given = [call.keywords, *(each for each in call.args if isinstance(each, dict))]
    return any(each.get("method", "auto") not in ("auto", *LARGE) for each in given)


def run(parts: list[str], usual: bool = False) -> int:
    """Make the calls of some parts, on request only those without a method; return how many failed."""
    from preflow.errors import InfeasibleError, UnsuitableMethodError

    failed = count = 0
    warnings.simplefilter("ignore")
    grid_policy.ARCS_FOR_THREADS = grid_policy.ARCS_A_THREAD = 1
    for part in parts:
        for name, call in PARTS[part]():
            if usual and names_method(call):
                continue
            count += 1
            try:
                call()
            except (InfeasibleError, UnsuitableMethodError):
                pass
            except Exception as error:
                failed += 1
                print(f"{name}: {type(error).__name__}: {str(error)[:300]}", file=sys.stderr)
    print(f"{count} calls, {failed} failed")
    return failed


def reached(make_calls: Callable[[], Any]) -> set[str]:
    """Return the kinds that calls reach."""
    lines: set[str] = set()

    def call(self: Any, *arguments: Any, **named: Any) -> Any:
        lines.add(f"{self.name} {kernel.native.kind(arguments)}")
        return kernel.native.Entry.__call__(self, *arguments, **named)

    with patch.object(kernel.Kernel, "__call__", call):
        make_calls()
    return lines


def lacking(kinds: set[str], stars: int) -> list[str]:
    """Return the kinds that are not among those with this number of stars."""
    compiled: dict[str, list[str]] = {}
    for name, kind, count in declared():
        if count >= stars:
            compiled.setdefault(name, []).append(kind)
    found = (line.split(" ", 1) for line in sorted(kinds))
    return [
        f"{name} {kind}"
        for name, kind in found
        if not any(accepts(each, kind) for each in compiled.get(name, []))
    ]


def demo() -> None:
    """Do what ``make demo`` does on machines with few and many cores."""
    example = Path(__file__).resolve().parents[1] / "examples" / "segment_photograph.py"
    for cores in (2, 64):
        with (
            tempfile.TemporaryDirectory() as folder,
            patch.object(sys, "argv", [str(example), "--out", folder]),
            patch.object(os, "sched_getaffinity", lambda process, cores=cores: set(range(cores))),
        ):
            run_path(str(example), run_name="__main__")


def main() -> None:
    """Make the calls; say which kinds the library lacks, or which lack a star."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="default: all")
    parser.add_argument("--stars", action="store_true")
    options = parser.parse_args()
    parts = options.parts or list(PARTS)
    if options.stars:
        of_demo = reached(demo)  # before `run` lets small grids take several threads
        with patch.object(preflow, "methods", lambda problem: ()):
            usual = reached(partial(run, parts, usual=True))
        few = [(kind, 1) for kind in lacking(usual, 1)] + [(kind, 2) for kind in lacking(of_demo, 2)]
        for kind, stars in few:
            print("*" * stars, kind)
        sys.exit(bool(few))
    with tempfile.NamedTemporaryFile(mode="r", suffix=".txt") as misses:
        os.environ["PREFLOW_MISSES"] = misses.name
        failed = run(parts)
        missed = set(misses.read().splitlines())
    print(f"{len(missed)} kinds are not in the library", *sorted(missed), sep="\n")
    sys.exit(failed > 0 or bool(missed))


if __name__ == "__main__":
    import calls  # misses are recorded for calls from this module, by its name

    calls.main()
