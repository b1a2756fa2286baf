"""The benchmark of matching in general graphs: suites, contestants, peers."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from benchmarks.instances.general import GeneralInstance
from benchmarks.instances.undirected import (
    complete_points,
    line_graph,
    nested_blossoms,
    odd_cycle_chain,
    random_graph,
    triangulated_points,
)
from benchmarks.peers.general import GENERAL_PEERS
from benchmarks.problem import SolverSettings
from benchmarks.problems import PROBLEMS
from benchmarks.records import PHASES
from benchmarks.suites.general import general, general_pairs, general_tiny
from preflow.errors import InvalidInputError
from preflow.graph.undirected import UndirectedGraph

SETTINGS = SolverSettings(1, 10.0)
PROBLEM = PROBLEMS["matching"]
#: A loop and parallel edges, of which the first one counts.
AWKWARD = UndirectedGraph.from_arrays([0, 1, 1, 2, 2, 3], [1, 0, 2, 2, 3, 0], [4, 9, 5, 9, 4, 3])


@pytest.mark.parametrize("name", ["preflow:auto", *(peer.name for peer in GENERAL_PEERS)])
def test_contestants_agree_on_small_instances(name: str) -> None:
    contestant = PROBLEM.contestant(name, SETTINGS)
    if contestant.missing():
        pytest.skip(str(contestant.missing()))
    for graph, perfect, value in (
        (AWKWARD, False, 8),
        (AWKWARD, True, 8),
        (AWKWARD.without_weights(), False, 2),
    ):
        instance = GeneralInstance.from_graph(graph, perfect=perfect)
        assert contestant.unfit(instance) is None
        contestant.load(instance)
        outcome = contestant.run(contestant.prepare(instance))
        assert outcome.value == value
        assert set(outcome.seconds) <= {*PHASES, "download"}


def test_instances_are_simple_graphs() -> None:
    instance = pickle.loads(pickle.dumps(GeneralInstance.from_graph(AWKWARD)))
    assert instance.sizes == {"vertices": 4, "edges": 4}
    assert instance.value(np.array([1, 3]), np.array([0, 2])) == 8


def test_suites() -> None:
    names = [case.name for suite in (general, general_pairs, general_tiny) for case in suite(())]
    assert len(names) == len(set(names))
    for case in general_tiny(()):
        assert case.make().sizes["edges"] < 1000
    with pytest.raises(InvalidInputError, match="compare exact methods"):
        PROBLEM.contestant("preflow:serial-greedy", SETTINGS)
    assert general(["a.mtx"]) == []


def test_generated_graphs() -> None:
    assert random_graph(100, 4).num_edges <= 200
    assert complete_points(10).num_edges == 45
    assert triangulated_points(50).num_vertices == 50
    assert odd_cycle_chain(9).num_edges == 11
    assert odd_cycle_chain(10, length=5).num_edges == 11
    assert nested_blossoms(5).num_edges == 7
    lines = line_graph(60, degree=4)
    assert lines.num_vertices > 30
    assert (lines.tail != lines.head).all()
