"""Cut trees, smallest cuts, connectivity and parametric cuts of small graphs, against all cuts there are."""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from functools import partial
from itertools import combinations, pairwise
from random import Random
from typing import Any

import numpy as np

import preflow
from preflow.certify.exact import as_integers
from preflow.errors import CapacityOverflowError

from .harness import Case, Driver, Tally, WrongError, require
from .oracles import minimum_cut
from .values import FRACTION_STYLES, INTEGER_STYLES, fraction, integer

#: From this sum on weights are refused.
MOST = 2**61


def make(random: Random, quick: bool = False, *, kind: str = "weights") -> Case:
    n = random.choice([2, 3, 4, 5, 6, 7])
    style = random.choice(INTEGER_STYLES)
    edges = [
        [int(random.random() * n), int(random.random() * n), integer(random, style)]
        for _ in range(int(random.random() * 3 * n))
    ]
    case = {"n": n, "edges": edges, "kind": kind, "directed": random.random() < 0.5}
    case["verify"] = random.random() < 0.2
    if kind == "parametric":
        case["slopes"] = [integer(random, style) if random.random() < 0.5 else 0 for _ in edges]
        case["style"] = random.choice(["up", "up and down"])
    return case


def make_floats(random: Random, quick: bool = False) -> Case:
    n, style = random.choice([2, 3, 4, 5, 6, 7, 8]), random.choice(FRACTION_STYLES)
    edges = [
        [int(random.random() * n), int(random.random() * n), fraction(random, style)]
        for _ in range(int(random.random() * 3 * n))
    ]
    return {"n": n, "edges": edges, "verify": random.random() < 0.05}


def is_right(
    value: float, exact: Fraction, gap: float, least: Fraction, num_edges: int, optimal: bool
) -> None:
    """Check the weight of a cut, and that it is the least one within the gap, or within rounding."""
    room = Fraction(math.ulp(value))
    require(
        abs(Fraction(value) - exact) <= room, "the weight is not that of the cut", f"{value}, not {exact}"
    )
    require(exact - least <= Fraction(gap) + room, "the gap does not hold", f"{value} within {gap}")
    if optimal:
        allowed = least * (Fraction(2) ** -40 + num_edges * Fraction(2) ** -53) + 2 * room
        require(exact - least <= allowed, "not within the statement", f"{value}, not {float(least)}")


def check_floats(case: Case, tally: Tally) -> None:
    """Check cut trees and smallest cuts of floats of very different sizes."""
    n, edges = case["n"], case["edges"]
    tail, head = (np.array([edge[i] for edge in edges], dtype=np.int64) for i in range(2))
    weight = np.array([edge[2] for edge in edges], dtype=np.float64)
    graph = preflow.UndirectedGraph.from_arrays(tail, head, weight, num_vertices=n)
    (whole,), exponent = as_integers(weight)
    unit = Fraction(2) ** -exponent
    numbers = [[u, v, int(w)] for (u, v, _), w in zip(edges, whole.tolist(), strict=True)]
    weights = [(weight_of(numbers, side), side) for side in sides(n)]
    least = min(each for each, _ in weights) * unit
    try:
        cut = preflow.global_min_cut(graph)
    except CapacityOverflowError:
        require(least > sys.float_info.max, "a finite cut is refused")
        tally["overflow"] += 1
    else:
        tally["solves"] += 1
        tally[cut.status] += 1
        exact = weight_of(numbers, set(np.flatnonzero(cut.side).tolist())) * unit
        is_right(cut.value, exact, cut.gap, least, len(edges), cut.status == "optimal")
        if case["verify"]:
            cut.verify()
            tally["verified"] += 1
    between = {
        (u, v): min(each for each, side in weights if (u in side) != (v in side)) * unit
        for u, v in combinations(range(n), 2)
    }
    try:
        tree = preflow.gomory_hu_tree(graph)
    except CapacityOverflowError:
        require(max(between.values()) > sys.float_info.max, "a finite tree is refused")
        tally["overflow"] += 1
        return
    tally["solves"] += 1
    optimal = tree.status == "optimal"
    tally[tree.status] += 1
    for (u, v), least in between.items():
        part = set(np.flatnonzero(tree.side(u, v)).tolist())
        require(v in part and u not in part, "a partition that does not separate")
        exact = weight_of(numbers, part) * unit
        value = tree.min_cut_value(u, v)
        is_right(value, exact, tree.gap, least, len(edges), optimal)
    if case["verify"]:
        tree.verify()
        tally["verified"] += 1


def sides(n: int) -> list[set[int]]:
    """Return one side of every cut: that without vertex 0."""
    return [set(side) for size in range(1, n) for side in combinations(range(1, n), size)]


def weight_of(edges: list[Any], side: set[int]) -> int:
    return sum(weight for u, v, weight in edges if (u in side) != (v in side))


def check_weights(case: Case, tally: Tally) -> None:
    """Check cut trees and smallest cuts."""
    n, edges = case["n"], case["edges"]
    tail, head, weight = (np.array([edge[i] for edge in edges], dtype=np.int64) for i in range(3))
    graph = preflow.UndirectedGraph.from_arrays(tail, head, weight, num_vertices=n)
    try:
        tree, cut = preflow.gomory_hu_tree(graph), preflow.global_min_cut(graph)
    except CapacityOverflowError as error:
        if sum(edge[2] for edge in edges) < MOST // 2:
            raise WrongError("weights that fit are refused", str(error)) from error
        tally["overflow"] += 1
        return
    tally["solves"] += 2
    weights = [(weight_of(edges, side), side) for side in sides(n)]
    least = min(each for each, _ in weights)
    require(cut.value == least, "not the smallest cut", f"{cut.value}, not {least}")
    chosen = set(np.flatnonzero(cut.side).tolist())
    require(weight_of(edges, chosen) == least, "the side is that of another cut")
    for u, v in combinations(range(n), 2):
        exact = min(each for each, side in weights if (u in side) != (v in side))
        require(tree.min_cut_value(u, v) == exact, "a wrong cut between two vertices", f"{u}, {v}")
        part = set(np.flatnonzero(tree.side(u, v)).tolist())
        require(v in part and u not in part, "a partition that does not separate")
        require(weight_of(edges, part) == exact, "a partition of another weight")
    if case["verify"]:
        tree.verify()
        cut.verify()
        tally["verified"] += 1


def reaches_all(n: int, arcs: list[tuple[int, int]], left: set[int]) -> bool:
    """Return whether each vertex of a set reaches each other one within the set."""
    for start in left:
        seen, stack = {start}, [start]
        while stack:
            u = stack.pop()
            new = {v for a, v in arcs if a == u and v in left and v not in seen}
            seen |= new
            stack += new
        if seen != left:
            return False
    return True


def fewest_vertices(n: int, arcs: list[tuple[int, int]]) -> int:
    """Return the smallest number of vertices to remove, by trying all sets."""
    sizes = (
        size
        for size in range(n - 1)
        for removed in combinations(range(n), size)
        if not reaches_all(n, arcs, set(range(n)) - set(removed))
    )
    return next(sizes, n - 1)


def check_connectivity(case: Case, tally: Tally) -> None:
    """Check edge and vertex connectivity."""
    n = case["n"]
    pairs = [(u, v) for u, v, _ in case["edges"]]
    tail, head = (np.array([pair[i] for pair in pairs], dtype=np.int64) for i in range(2))
    graph: Any = preflow.UndirectedGraph.from_arrays(tail, head, num_vertices=n)
    arcs = pairs + [(v, u) for u, v in pairs]
    if case["directed"]:
        graph, arcs = preflow.FlowNetwork.from_arrays(tail, head, 1, num_vertices=n), pairs
    edges, vertices = preflow.edge_connectivity(graph), preflow.vertex_connectivity(graph)
    tally["solves"] += 2
    parts = [*sides(n), *(set(range(n)) - side for side in sides(n))]
    exact = min(sum(u not in side and v in side for u, v in arcs) for side in parts)
    require(edges.value == exact, "a wrong edge connectivity", f"{edges.value}, not {exact}")
    exact = fewest_vertices(n, arcs)
    require(vertices.value == exact, "a wrong vertex connectivity", f"{vertices.value}, not {exact}")
    edges.verify()
    vertices.verify()
    tally["verified"] += 1


def make_for_networkx(random: Random, quick: bool = False) -> Case:
    n = random.choice([1, 2, 3, 4, 5, 6])
    most = random.choice([n, 2 * n, n * n])
    edges = [[int(random.random() * n), int(random.random() * n)] for _ in range(int(random.random() * most))]
    if random.random() < 0.1:
        edges += [[u, v] for u in range(n) for v in range(n) if u != v]
    kind = random.choice(["Graph", "DiGraph", "MultiGraph", "MultiDiGraph"])
    return {"n": n, "edges": edges, "kind": kind, "loops": random.random() < 0.5}


def fewest(n: int, arcs: list[tuple[int, int]], s: int, t: int) -> int:
    """Return how many nodes at least are on all paths between two nodes; an edge between them is one path."""
    direct = (s, t) in arcs
    arcs = [arc for arc in arcs if arc != (s, t)]
    others = [v for v in range(n) if v not in (s, t)]
    for size in range(n - 1):
        for removed in combinations(others, size):
            seen, stack = {s}, [s]
            while stack:
                u = stack.pop()
                new = {v for a, v in arcs if a == u and v not in seen and v not in removed}
                seen |= new
                stack += new
            if t not in seen:
                return size + direct
    raise AssertionError("no path is left where all other nodes are removed")


def check_for_networkx(case: Case, tally: Tally) -> None:
    """Check the connectivity functions of the backend of NetworkX on graphs of its four classes."""
    import networkx as nx

    from preflow.integrations.networkx import backend

    n = case["n"]
    pairs = [(u, v) for u, v in case["edges"] if u != v or case["loops"]]
    graph = getattr(nx, case["kind"])()
    graph.add_nodes_from(range(n))
    graph.add_edges_from(pairs)
    arcs = [(u, v) for u, v in pairs if u != v]
    if not graph.is_directed():
        arcs += [(v, u) for u, v in arcs]
    arcs = sorted(set(arcs))
    tally["solves"] += 5
    exact = fewest_vertices(n, arcs)
    found = backend.node_connectivity(graph)
    require(found == exact, "a wrong node connectivity", f"{found}, not {exact}")
    joined = {*arcs, *((v, u) for u, v in arcs)}
    if reaches_all(n, sorted(joined), set(range(n))):
        cut = backend.minimum_node_cut(graph)
        require(len(cut) == exact and cut <= set(range(n)), "a wrong node cut", f"{cut}, not {exact}")
        apart = len(cut) == n - 1 or not reaches_all(n, arcs, set(range(n)) - cut)
        require(apart, "a node cut that does not cut", f"{cut}")
    between = {(u, v): fewest(n, arcs, u, v) for u in range(n) for v in range(n) if u != v}
    every = backend.all_pairs_node_connectivity(graph)
    require(all(every[u][v] == least for (u, v), least in between.items()), "a wrong local connectivity")
    average = sum(between.values()) / max(len(between), 1)
    require(abs(backend.average_node_connectivity(graph) - average) < 1e-12, "a wrong average")
    for (s, t), least in between.items():
        cut = backend.minimum_st_node_cut(graph, s, t)
        exact = 0 if (s, t) in arcs else least
        require(len(cut) == exact and not cut & {s, t}, "a wrong cut of two nodes", f"{cut}, not {exact}")
        tally["solves"] += 1
    if n > 1 and len(set(map(frozenset, pairs))) == len(pairs) and not any(u == v for u, v in pairs):
        parts = [*sides(n), *(set(range(n)) - side for side in sides(n))]
        exact = min(sum(u not in side and v in side for u, v in arcs) for side in parts)
        found = backend.edge_connectivity(graph)
        require(found == exact, "a wrong edge connectivity", f"{found}, not {exact}")


def check_parametric(case: Case, tally: Tally) -> None:
    """Check the cuts at all breakpoints, at the ends of the range and between."""
    n, edges = case["n"], case["edges"]
    source, sink = 0, n - 1
    slopes = []
    for (u, v, _), slope in zip(edges, case["slopes"], strict=True):
        up, down = u == source and v not in (source, sink), v == sink and u not in (source, sink)
        slopes.append(slope if up else -slope if down and case["style"] == "up and down" else 0)
    tail, head, capacity = (np.array([edge[i] for edge in edges], dtype=np.int64) for i in range(3))
    network = preflow.FlowNetwork.from_arrays(tail, head, capacity, num_vertices=n)
    try:
        found = preflow.parametric_max_flow(
            network, np.array(slopes, dtype=np.int64), source, sink, threads=1
        )
    except CapacityOverflowError:
        tally["overflow"] += 1
        return
    found.verify()
    tally["verified"] += 1
    exact = [found.low, *(found.breakpoint(i) for i in range(len(found.breakpoints))), found.high]
    for value in sorted({*exact, *((a + b) / 2 for a, b in pairwise(exact))}):
        p, q = value.numerator, value.denominator
        arcs = [(u, v, c * q + s * p) for (u, v, c), s in zip(edges, slopes, strict=True)]
        cut = minimum_cut(n, arcs, [source], [sink])
        tally["solves"] += 1
        require(found.value(value) == Fraction(cut.value, q), "a wrong value", f"at {value}")
        side = set(np.flatnonzero(found.sink_side(value)).tolist())
        if float(value) < 2.0**50:  # beyond, breakpoints may round to the same float
            require(side == cut.sink_side, "not the smallest sink side", f"at {value}")


DRIVERS = [
    Driver("cuts", partial(make, kind="weights"), check_weights),
    Driver("float-cuts", make_floats, check_floats),
    Driver("connectivity", partial(make, kind="connectivity"), check_connectivity),
    Driver("networkx", make_for_networkx, check_for_networkx),
    Driver("parametric", partial(make, kind="parametric"), check_parametric),
]
