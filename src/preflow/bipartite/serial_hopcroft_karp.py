"""Hopcroft and Karp's algorithm: phases of shortest augmenting paths, O(m sqrt(n)).

Hopcroft and Karp, "An n^(5/2) algorithm for maximum matchings in bipartite graphs" (1973).

Definitions. The *layer* of a column is the number of columns on a shortest alternating path from a free row
up to it. A *phase* computes layers up to the first free columns, then augments along a maximal set of
disjoint shortest paths. Layers are stored for columns and not for the rows matched with them: an edge then
leads to its layer directly, and the value can be prefetched.

Invariants of a phase:

- Matched columns of layer d are reached through a row whose column has layer d - 1, or through a free row if
  d = 1.
- A search takes each column at most once, whether the column led nowhere or is on a path that augmented.
- After a phase the shortest augmenting path is longer than before.

Pseudo-code::

    queue = free rows
    while there are free rows:
        find_layers: breadth-first from the queue, up to the first free column
        if no free column was reached: the matching is maximum
        augment_all: for each free row r:
            depth-first, without recursion, from layer to layer to a free column
            if found: augment along the path; else keep r for the next phase
"""

from __future__ import annotations

from ..graph.bipartite import BipartiteGraph
from ..solving.options import UNLIMITED, NoOptions
from ..solving.run import Control
from .layered_phases import match_in_phases
from .match_arrays import Matching


def solve(graph: BipartiteGraph, matching: Matching, options: NoOptions, control: Control) -> bool:
    """Make a matching maximum, in place; return False where the solve was asked to stop.

    O(m sqrt(n)) time, memory of three indices a row and one a column.
    """
    return match_in_phases(graph, matching, UNLIMITED, control) == 0
