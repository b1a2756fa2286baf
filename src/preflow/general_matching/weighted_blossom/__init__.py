"""Maximum-weight matching in general graphs: Edmonds' blossom algorithm with one tree at a time.

Edmonds 1965 (matching and duals); Galil, Micali and Gabow 1986 (events in priority queues). Departures:

- One tree grows at a time, as in shortest augmenting paths for assignment, instead of a forest. So all that a
  search touches is near its root, and it costs nothing to let the other vertices alone.
- A search has a budget of edges. A search that exceeds it is stopped; its duals are kept, and it starts again
  in the next round with a larger budget. Without budgets the trees of the last free vertices cover the graph;
  with budgets these vertices approach each other, as the trees of a forest do.
- The duals of vertices and blossoms are only written when their label changes.
- Before the searches, free vertices lower their duals and are matched where an edge is tight
  (:mod:`.start`); the searches match the rest, a quarter of the vertices of a sparse random graph.
- Searches from different roots run on several threads at the same time (:mod:`.together`). Each claims the
  nodes that it reads by compare-and-swap. A search that meets a claim of another one stops as if its budget
  were used up, so no search waits. As trees are small, few meet.
- An expanded blossom leads to its largest child, whose vertices are not touched. So all expansions of nested
  blossoms take O(n log n).

Definitions. The *slack* of an edge is the sum of the duals of its ends and of the blossoms that contain both
ends, minus its weight; the edge is *tight* if it is zero. All of these are doubled in the code, so they are
whole. A *blossom* is an odd cycle of nodes, its *children*; a *node* is a vertex or a blossom. The tree joins
outermost nodes by tight edges. A node is *even* or *odd* by its distance from the root. While the *time*
passes, the duals of even vertices fall and those of odd vertices rise by as much.

Invariants, between two searches:

1. Duals of vertices and blossoms are not negative, and no slack is negative.
2. Matched edges, and the edges of the cycles of blossoms, are tight.
3. An outermost node has one vertex that is free or matched outside, its base. Only the match of outermost
   nodes is stored: the children are matched in pairs once the blossom is expanded, or at the end.

At the end all free vertices have dual 0. Then the sum of the duals of all vertices, and of (|B| - 1) / 2
times the dual of each blossom B, is the weight of the matching, and no matching has more by invariant 1.

Pseudo-code::

    dual of each vertex = half the largest weight of its edges
    for each free vertex: lower its dual as far as its edges allow;            match_free
        if an edge to another free vertex is tight: match both
    for budget = 64, 256, 1024, ... edges, until no root is left:
        for each free node whose base has a dual above 0:                      run_searches, search_share
            the tree is this node, at time 0                                   search
            until the tree ends, has scanned more edges than the budget, or meets a claim:
                scan the edges of new even vertices: when will they be tight?  scan
                let time pass until the first of these events:
                    an edge to a free node is tight: augment, the tree ends    augment
                    the dual of an even vertex is 0: it becomes the free one; the tree ends
                    an edge to another node outside is tight: this node becomes odd, its partner even
                    an edge between even nodes is tight: shrink the cycle      shrink
                    the dual of an odd blossom is 0: expand it                 expand
            write the duals; all labels and claims vanish                      settle
    match the children of all blossoms in pairs                                match_vertices

Time: O(m log n) for each search, and n / 2 searches at most reach their end; all searches that their budgets
stop take a constant times as long as those that do not, but for the last round. In practice the whole solve
scans each edge 1 to 5 times. Memory: 100 bytes a vertex and 8 + 16 bytes an edge beside the graph. Of lists
of its own a thread touches only what it uses.

Weights are below 2**60, so that no sum of two duals and a weight wraps.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Indices
from ...errors import CostOverflowError
from ...graph.undirected import Neighbours
from ...solving.run import Control
from ..solution import GeneralState, Partners, duals_of
from .search import match_vertices, run_searches
from .start import WeightedBlossomOptions, first_duals, free_vertices, wanted_pairs
from .state import SPARE, WeightedForest, new_forest, unset_forest

#: Weights are below this.
MOST_WEIGHT = 2**60


def solve(
    graph: Neighbours, start: Partners | None, options: WeightedBlossomOptions, control: Control
) -> GeneralState:
    """Solve: see :class:`preflow.solving.protocol.GeneralMatchingSolver`."""
    n = len(graph.first) - 1
    largest = int(graph.weight.max(initial=0))
    if largest >= MOST_WEIGHT:
        raise CostOverflowError(f"weights of up to {largest:,} are too large: they must be below 2**60")
    m, budget = len(graph.neighbour) // 2, options.budget
    if control.threads > 1:
        from .together import search_together

        wanted = wanted_pairs(graph, options.initial, start, control)
        forest, roots, budget = search_together(unset_forest(n, m), graph, wanted, options, control)
    else:
        forest = new_forest(n, m)
        forest.outer[:n] = first_duals(graph, options.initial, start, forest.dual, control)
        roots = free_vertices(forest, control)
    while len(roots) and not control.stopped:
        left = run_searches(forest, graph, roots, np.uint64(min(budget, 2**62)), control.monitor())
        roots = roots[:left]
        budget *= options.growth
    mate = np.empty(n, dtype=np.uint32)
    match_vertices(forest, mate)
    return _state(forest, mate, len(roots) == 0)


def _state(forest: WeightedForest, mate: Indices, finished: bool) -> GeneralState:
    """Return the state."""
    n = len(mate)
    spare = forest.spare[: int(forest.sizes[SPARE])]
    duals = duals_of(forest.dual, forest.parent, forest.blossom_dual, spare)
    found = mate.astype(np.int64)
    found[found == n] = -1
    return GeneralState(found, finished, duals=duals)
