"""Invariants of :mod:`preflow.general_matching.weighted_blossom`."""

from __future__ import annotations

from preflow.general_matching.links import NONE
from preflow.general_matching.weighted_blossom.state import WeightedForest
from preflow.graph.undirected import Neighbours


def check_invariants(forest: WeightedForest, graph: Neighbours) -> None:
    """Raise AssertionError unless the invariants hold between two searches."""
    n = len(forest.dual)
    family: list[list[int]] = []
    for v in range(n):
        above, node = [], int(forest.parent[v])
        while node != NONE:
            above.append(node)
            node = int(forest.parent[node])
        family.append(above)
    tops = [above[-1] if above else v for v, above in enumerate(family)]
    assert (forest.label[[*range(n), *(node for above in family for node in above)]] == 0).all()
    dual = [int(forest.dual[v]) + int(forest.added[top]) for v, top in enumerate(tops)]
    assert min(dual, default=0) >= 0

    def slack(u: int, v: int) -> int:
        common = set(family[u]) & set(family[v])
        weights = graph.weight[graph.first[u] : graph.first[u + 1]]
        weight = weights[graph.neighbour[graph.first[u] : graph.first[u + 1]] == v].max()
        return dual[u] + dual[v] + sum(int(forest.blossom_dual[b]) for b in common) - 2 * int(weight)

    for u in range(n):
        for v in graph.neighbour[graph.first[u] : graph.first[u + 1]].tolist():
            assert slack(u, v) >= 0
    for blossom in {b for above in family for b in above}:
        assert forest.blossom_dual[blossom] >= 0
        children = [int(forest.child[blossom])]
        while int(forest.sibling[children[-1]]) != children[0]:
            children.append(int(forest.sibling[children[-1]]))
        assert len(children) % 2 == 1
        assert len(children) >= 3
        for child in children:
            assert forest.parent[child] == blossom
            assert slack(int(forest.link_from[child]), int(forest.link_to[child])) == 0
    for top in set(tops):
        base, outer = int(forest.inner[top]), int(forest.outer[top])
        assert tops[base] == top
        if outer != NONE:
            assert slack(base, outer) == 0
            assert forest.outer[tops[outer]] == base
