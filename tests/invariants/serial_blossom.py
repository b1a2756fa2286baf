"""Invariants of :mod:`preflow.general_matching.serial_blossom`."""

from __future__ import annotations

from preflow.general_matching.links import EVEN, NONE, ODD, OUTSIDE
from preflow.general_matching.serial_blossom import LABEL, Trees
from preflow.graph.undirected import Neighbours


def check_invariants(trees: Trees, graph: Neighbours) -> None:
    """Raise AssertionError unless the invariants hold between two edges, and decided vertices are proved."""
    links = trees.links
    for v in range(len(trees.label)):
        label, partner = int(trees.label[v] & LABEL), int(links.mate[v])
        if label != OUTSIDE and trees.root[v] == NONE:
            row = graph.neighbour[graph.first[v] : graph.first[v + 1]]
            assert label == ODD or (trees.label[row] & LABEL == ODD).all()
            continue
        if partner == NONE:
            assert label == EVEN
            assert trees.root[v] == v
            continue
        assert links.mate[partner] == v
        if label == OUTSIDE:
            assert trees.label[partner] & LABEL == OUTSIDE
            continue
        assert trees.root[partner] == trees.root[v]
        assert EVEN in (label, trees.label[partner] & LABEL)
        if label == EVEN:
            near = int(links.near[v])
            end = partner if links.far[v] == NONE else int(links.far[v])
            assert near in graph.neighbour[graph.first[end] : graph.first[end + 1]]
            assert trees.label[near] & LABEL == EVEN
            assert trees.root[near] == trees.root[v]
