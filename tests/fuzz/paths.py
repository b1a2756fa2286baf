"""shortest_path and disjoint_paths in small networks, against a minimum-cost flow of exact integers."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from random import Random
from typing import Any

import numpy as np

import preflow
from preflow import reductions
from preflow.errors import CostOverflowError, InfeasibleFlowError, InvalidInputError, UnboundedCostError

from .costflows import LARGEST, LEAST, SMALL_GAP, check_cost
from .harness import Case, Driver, Tally, require
from .oracles import INFINITE, cheapest_flow, scaled
from .values import FRACTION_STYLES, MODEST_STYLES, fraction, integer


def make(random: Random, quick: bool = False, *, disjoint: str | None) -> Case:
    n = random.choice([2, 3, 3, 4, 5, 6, 7])
    floats = random.random() < 0.7
    style = random.choice([*FRACTION_STYLES, "outliers"] if floats else MODEST_STYLES)
    negative, two_way = random.choice([0.0, 0.0, 0.1, 0.3]), random.choice([0.0, 0.0, 0.3])
    arcs = []
    for _ in range(random.randrange(1, 4 * n)):
        cost = fraction(random, style) if floats else integer(random, style)
        both = random.random() < two_way
        if not both and random.random() < negative:
            cost = -cost
        u, v = (random.randrange(n) for _ in range(2))
        arcs.append([u, v, int(random.random() < 0.95), cost, both])
    source, sink = random.sample(range(n), 2)
    count = random.choice([None, 1, 2, 2, 3]) if disjoint else 1
    return {"n": n, "arcs": arcs, "ends": [source, sink], "count": count, "disjoint": disjoint}


def check(case: Case, tally: Tally) -> None:
    """Check paths, their cost, and the bounds of distances of a single one."""
    n, (source, sink), disjoint, count = case["n"], case["ends"], case["disjoint"], case["count"]
    if source == sink or not case["arcs"] or count == 0:
        return  # a case that was made smaller
    tail, head, room, cost, both = ([arc[i] for arc in case["arcs"]] for i in range(5))
    network = preflow.CostNetwork.from_arrays(
        tail, head, capacity=room, cost=np.array(cost), undirected=np.array(both, bool), num_vertices=n
    )
    shift, (prices,) = scaled(cost)
    unit = Fraction(1, 1 << shift)
    arcs = [(u, v, 0, r, c) for u, v, r, c in zip(tail, head, room, prices, strict=True)]
    arcs += [(v, u, 0, r, c) for (u, v, _, r, c), two_way in zip(arcs, both, strict=True) if two_way]
    start, size = source, n
    if disjoint is None:
        arcs = [(u, v, 0, INFINITE, c) for u, v, _, r, c in arcs if r]
    elif disjoint == "vertices":
        arcs = [(u + n, v, 0, r, c) for u, v, _, r, c in arcs]
        arcs += [(v, v + n, 0, int(v not in (source, sink)), 0) for v in range(n)]
        start, size = source + n, 2 * n
    reward = 1 + sum(map(abs, prices))
    supply = [0] * size
    if count is None:
        exact = cheapest_flow(size, [*arcs, (sink, start, 0, len(arcs), -reward)], supply)
        wanted = exact.flow[-1]
    else:
        supply[start], supply[sink] = count, -count
        exact, wanted = cheapest_flow(size, arcs, supply), count
    right = sum(arc[4] * f for arc, f in zip(arcs, exact.flow, strict=False)) * unit
    terms = sum(abs(arc[4]) * f for arc, f in zip(arcs, exact.flow, strict=False)) * unit
    tally["solves"] += 1
    try:
        if disjoint is None:
            found = reductions.shortest_path(network, source, sink)
        else:
            found = reductions.disjoint_paths(network, source, sink, count=count, disjoint=disjoint)
    except InfeasibleFlowError:
        require(exact.ending == "infeasible", "called infeasible, and is not")
        tally["infeasible"] += 1
        return
    except UnboundedCostError:
        require(exact.ending == "unbounded", "called unbounded, and is not")
        tally["unbounded"] += 1
        return
    except CostOverflowError as error:
        require(terms >= LARGEST, "costs that fit are refused", str(error))
        tally["overflow"] += 1
        return
    except InvalidInputError as error:
        require("negative cost" in str(error) and min(cost) < 0, "paths are refused", str(error))
        tally["refused"] += 1
        return
    require(exact.ending == "optimal", f"{exact.ending}, but solved")
    found.verify()
    tally["verified"] += 1
    require(len(found) == wanted, "wrong number of paths", f"{len(found)}, not {wanted}")
    check_cost(found, right, terms, "wrong cost of paths", size + len(arcs))
    if disjoint is None:
        check_bounds(found, arcs, unit, source, terms)


def check_bounds(found: Any, arcs: Any, unit: Fraction, source: int, terms: Fraction) -> None:
    """Check the bounds of distances from the source."""
    n = found.network.num_vertices
    # Potentials of floats are as precise as the largest cost below zero allows, whether it is used or not.
    below = max(-arc[4] for arc in arcs) * unit / 2**50
    least: list[int | None] = [None] * n
    least[source] = 0
    for _ in range(n):
        for u, v, _, _, c in arcs:
            before, after = least[u], least[v]
            if before is not None and (after is None or before + c < after):
                least[v] = before + c
    for v, bound in enumerate(found.distance_bounds.tolist()):
        exact = least[v]
        if exact is None:
            continue
        near = SMALL_GAP * (4 * terms + abs(exact * unit)) + 4 * n * LEAST + max(below, 0)
        near = near if isinstance(bound, float) else Fraction(0)
        require(Fraction(bound) <= exact * unit + near, "a bound above the distance", f"{v}: {bound}")
        if v in found.vertices[0]:
            require(Fraction(bound) >= exact * unit - near, "a bound below the distance", f"{v}: {bound}")


DRIVERS = [
    Driver("shortest-paths", partial(make, disjoint=None), check),
    Driver("arc-disjoint-paths", partial(make, disjoint="arcs"), check),
    Driver("vertex-disjoint-paths", partial(make, disjoint="vertices"), check),
]
