"""Tests of the oldest methods of maximum flow: Ford and Fulkerson's labelling, Karzanov's blocking flows.

``tests/maxflow/test_maxflow.py`` compares them with an oracle, like all methods.
"""

from __future__ import annotations

import preflow
from preflow.generators import FAMILIES

#: Two paths of wide arcs from 0 to 3, and an arc of capacity 1 from one to the other.
WIDE = 10**15
ZIGZAG = ([0, 0, 1, 1, 2], [1, 2, 3, 2, 3], [WIDE, WIDE, WIDE, 1, WIDE])


def test_labelling_hands_on_where_paths_are_many() -> None:
    problem = FAMILIES["rlg-wide"].generate("32x12", seed=1)
    result = preflow.max_flow(problem, method="serial-ford-fulkerson", options={"budget": 5.0})
    result.verify()
    assert [attempt.method for attempt in result.stats.attempts] == ["serial-ford-fulkerson", "serial-hi-pr"]
    alone = preflow.max_flow(problem, method="serial-ford-fulkerson", options={"budget": None})
    assert [attempt.method for attempt in alone.stats.attempts] == ["serial-ford-fulkerson"]
    assert alone.value == result.value
    # Every path is one search. The shortest paths are fewer.
    shortest = preflow.max_flow(problem, method="serial-edmonds-karp").stats
    assert alone.stats.global_relabels > shortest.global_relabels


def test_wide_arcs_beside_a_narrow_one() -> None:
    for method in ("serial-ford-fulkerson", "serial-karzanov"):
        result = preflow.max_flow(ZIGZAG, 0, 3, method=method)
        result.verify()
        assert result.value == 2 * WIDE


def test_excess_that_is_stuck_goes_back_and_takes_another_way() -> None:
    # Vertex 2 gets 9 units and can push 2 to vertex 4, of which 4 can pass on 1: 1 comes back to 2, and 7 to
    # vertex 5, the other neighbour of 2 on the way. All in one phase, since both ways have the same length.
    tail, head = [0, 2, 3, 3, 4, 5], [2, 3, 4, 5, 1, 1]
    capacity = [9, 9, 2, 6, 1, 9]
    result = preflow.max_flow((tail, head, capacity), 0, 1, method="serial-karzanov")
    result.verify()
    assert (result.value, result.stats.global_relabels) == (7, 1)
