"""bipartite_matching of small graphs: every method, initial matching and form of input."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import scipy.sparse as sp

import preflow

from .flows import call
from .harness import Case, Driver, Tally, WrongError, require
from .oracles import largest_matching

OPTIONS: dict[str, dict[str, list[Any]]] = {
    "serial-push-relabel": {
        "relabel_period": [0.01, 0.5, 2.0],
        "gap": [True, False],
        "initial_labels": ["exact", "one"],
        "stalled": ["push", "relabel", "trees"],
        "side": ["rows", "columns"],
        "double_push": [True, False],
    },
    "serial-hopcroft-karp": {},
    "serial-hkdw": {},
    "serial-hybrid": {"budget": [0.01, 0.55]},
    "serial-pothen-fan": {"fairness": [True, False]},
    "multicore-pothen-fan": {"fairness": [True, False]},
    "multicore-disjoint-bfs": {},
    "multicore-push-relabel": {
        "relabel_period": [0.01, 2.0],
        "initial_labels": ["exact", "one"],
        "stalled": ["push", "relabel", "trees"],
        "search_share": [1 / 1024, 1.0],
    },
    "multicore-multi-source-bfs": {},
}
INITIAL = ["none", "cheap", "min-degree", "karp-sipser", "sinkhorn-knopp", "auto", "given"]


def make(random: Random, quick: bool = False) -> Case:
    rows, columns = random.randrange(1, 9), random.randrange(1, 9)
    share = random.random() ** 2
    edges = [[r, c] for r in range(rows) for c in range(columns) if random.random() < share]
    random.shuffle(edges)
    edges += [edge for edge in edges if random.random() < 0.1]  # repeated
    calls = [
        {**call(random, OPTIONS), "initial": random.choice(INITIAL)}
        for _ in range(random.choice([1, 2, 3, 4]))
    ]
    form = random.choice(["graph", "tuple", "csr", "csc", "coo"])
    return {
        "shape": [rows, columns],
        "edges": edges,
        "form": form,
        "verify": random.random() < 0.1,
        "calls": calls,
    }


def graph_of(case: Case) -> Any:
    """Return the graph of a case in the form that it says."""
    row, column = (np.array([edge[i] for edge in case["edges"]], np.int64) for i in (0, 1))
    shape = tuple(case["shape"])
    if case["form"] == "tuple" and len(row):
        return row, column
    if case["form"] in ("graph", "tuple"):
        return preflow.BipartiteGraph.from_arrays(row, column, shape=shape)
    matrix = sp.coo_array((np.ones(len(row), np.int8), (row, column)), shape=shape)
    return matrix if case["form"] == "coo" else matrix.asformat(case["form"])


def check(case: Case, tally: Tally) -> None:
    rows = case["shape"][0]
    graph = graph_of(case)
    best = largest_matching(rows, case["edges"])
    edges = {tuple(edge) for edge in case["edges"]}
    greedy = _greedy(rows, case["edges"])
    for each in case["calls"]:
        tally["solves"] += 1
        tally[f"method {each['method']}"] += 1
        start: dict[str, Any] = {"initial": each["initial"]}
        if each["initial"] == "given":
            size = max((r for r, _ in edges), default=-1) + 1 if isinstance(graph, tuple) else rows
            start = {"warm_start": np.array(greedy[:size])}
        result = preflow.bipartite_matching(
            graph,
            method=each["method"],
            threads=each["threads"],
            **start,
            options=each["options"] or None,
        )
        require(result.status == "optimal", "not optimal without a time limit", result.status)
        if result.cardinality != best:
            raise WrongError("wrong cardinality", f"{result.cardinality}, not {best}")
        pairs = [(r, c) for r, c in enumerate(result.row_match.tolist()) if c >= 0]
        require(len(pairs) == best and edges.issuperset(pairs), "pairs that are no edges", f"{pairs}")
        back = [(r, c) for c, r in enumerate(result.column_match.tolist()) if r >= 0]
        require(sorted(back) == pairs, "rows and columns disagree", f"{pairs} and {back}")
        if case["verify"]:
            result.verify()
            tally["verified"] += 1


def _greedy(rows: int, edges: list[list[int]]) -> list[int]:
    match, taken = [-1] * rows, set()
    for row, column in edges[::2]:
        if match[row] < 0 and column not in taken:
            match[row] = column
            taken.add(column)
    return match


DRIVERS = [Driver("matching", make, check, share=6.0)]
