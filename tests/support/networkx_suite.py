"""A plugin for NetworkX's own tests: its functions forget which algorithm they are to use.

Without it preflow leaves the calls that give a `flow_func` to NetworkX. These are most of the tests. The last
line of the report says how many calls of each function preflow answered.
"""

from __future__ import annotations

import functools
import inspect
import json
from collections import Counter
from typing import Any

import networkx as nx

from preflow.integrations.networkx import answers, backend
from preflow.integrations.networkx.info import WORTH_IT
from tests.support.oracles import edmonds_karp

#: Arguments that belong to an algorithm of NetworkX.
OF_ALGORITHMS = ("auxiliary", "cutoff", "kwargs", "residual")
#: Calls that preflow answered, by the name of the function.
ANSWERED: Counter[str] = Counter()
answer_of_networkx = answers._answer_of_networkx


def _without_flow_func(name: str, function: Any) -> Any:
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        given = signature.bind(*args, **keywords)
        is_plain = all(given.arguments.get(each) in (None, {}) for each in OF_ALGORITHMS)
        if is_plain and callable(given.arguments.get("flow_func")):
            del given.arguments["flow_func"]
        ANSWERED[name] += 1
        return function(*given.args, **given.kwargs)

    return call


def _left_to_networkx(function: Any, *arguments: Any) -> Any:
    ANSWERED[function.name] -= 1
    return answer_of_networkx(function, *arguments)


def _checked_tree(function: Any) -> Any:
    """Check a cut tree here: NetworkX compares it with its own one, and there are several."""

    @functools.wraps(function)
    def call(graph: Any, capacity: str = "capacity", flow_func: Any = None) -> Any:
        tree = function(graph, capacity, flow_func)
        assert nx.is_tree(tree)
        graph = answers.original(graph)
        number = {v: i for i, v in enumerate(graph)}
        assert set(tree) == set(number)
        edges = [(number[u], number[v], amount) for u, v, amount in graph.edges(data=capacity)]
        arcs = [*edges, *((v, u, amount) for u, v, amount in edges)]
        for u, v, weight in list(tree.edges(data="weight")):
            assert edmonds_karp(len(number), arcs, [number[u]], [number[v]])[0] == weight
            tree.remove_edge(u, v)
            side = {number[w] for w in nx.node_connected_component(tree, u)}
            tree.add_edge(u, v)
            assert sum(amount for a, b, amount in edges if (a in side) != (b in side)) == weight
        raise NotImplementedError("NetworkX's own tree is the answer")

    return call


def pytest_configure() -> None:
    """Change the backend. To import this module changes nothing."""
    for name in WORTH_IT:
        setattr(backend, name, _without_flow_func(name, getattr(backend, name)))
    backend.gomory_hu_tree = _checked_tree(backend.gomory_hu_tree)
    answers._answer_of_networkx = _left_to_networkx


def pytest_unconfigure() -> None:
    """Print how many calls preflow answered."""
    print(json.dumps(ANSWERED))
