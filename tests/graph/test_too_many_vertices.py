"""A vertex number that would take more memory than there is: one error for all problems."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import preflow
from preflow.errors import InvalidInputError

LARGE = 2**40
TAIL, HEAD = np.array([0, 1]), np.array([1, LARGE])
EDGES = (TAIL, HEAD, np.array([2, 3]))
CALLS: list[tuple[Callable[[Any], Any], Any]] = [
    (lambda edges: preflow.max_flow(edges, 0, 1).value, EDGES),
    (lambda edges: preflow.min_cut(edges, 0, 1).value, (*EDGES[:2], EDGES[2] * 0.5)),
    (lambda edges: preflow.matching(edges).weight, EDGES),
    (lambda edges: len(preflow.bipartite_matching(edges).pairs()), EDGES[:2]),
    (lambda edges: len(preflow.bipartite_matching(edges).pairs()), EDGES[1::-1]),
    (lambda edges: preflow.linear_assignment(edges).cost, EDGES),
    (lambda edges: preflow.min_cost_flow(edges).cost, (*EDGES, EDGES[2])),
    (lambda edges: preflow.global_min_cut(edges).value, EDGES),
    (lambda edges: preflow.pair_flows(edges, [(0, 1)]).value.tolist(), EDGES),
]


@pytest.mark.parametrize(("call", "edges"), CALLS)
def test_the_error_names_the_number_the_memory_and_the_way_out(call: Any, edges: Any) -> None:
    with pytest.raises(
        InvalidInputError, match=r"1,099,511,627,77.*8,79\d GB|at most 2\*\*30|4294967294"
    ) as error:
        call(edges)
    assert "list(zip(" in str(error.value)
    names, ends = np.unique(edges[:2], return_inverse=True)
    assert call((*ends.reshape(2, -1), *edges[2:])) is not None
    assert names.tolist() == [0, 1, LARGE]


def test_batches_name_the_item() -> None:
    with pytest.raises(InvalidInputError, match="1,099,511,627,77"):
        preflow.max_flow_batch([EDGES], 0, 1)


def test_memory_that_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sysconf", lambda name: 4096 if name == "SC_PAGE_SIZE" else 2**16)
    preflow.FlowNetwork.from_arrays([0], [1], [1], num_vertices=2**25)
    with pytest.raises(
        InvalidInputError, match=r"vertex 33,554,432 makes 33,554,433 of them: .* at least 1 GB"
    ):
        preflow.FlowNetwork.from_arrays([0], [1], [1], num_vertices=2**25 + 1)
