"""Hopcroft and Karp's phases while they are cheap, then push-relabel for the rows that are left.

preflow's own combination. From a cheap matching of a mesh, such as a Delaunay graph, almost all augmenting
paths are short. Each phase reads fewer edges than the one before, and Hopcroft and Karp's algorithm is
several times as fast as push-relabel. On grids with two colours and on random graphs every phase reads most
edges, and there are dozens of phases. The first phases show which case it is.

Both parts belong to this method, with options of their own: they are no attempts of a plan.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..graph.bipartite import BipartiteGraph
from ..solving.options import check_positive_number, limit
from ..solving.run import Control
from .layered_phases import match_in_phases
from .match_arrays import Matching
from .packed_columns import is_narrow
from .push_relabel import PushRelabelOptions, push_rows


@dataclass(frozen=True)
class HybridOptions:
    """Options of the hybrid.

    Attributes
    ----------
    scan_share : float
        The phases end with the first one, after phase 1, that reads more than this share of the edges, or
        when all phases together have read more than eight times that share.
    relabel_period : float
        Option of push-relabel, which starts with low labels and leaves the last rows to trees where it
        stalls.
    """

    scan_share: float = 0.55
    relabel_period: float = 2.0

    def __post_init__(self) -> None:
        check_positive_number("scan_share", self.scan_share)
        check_positive_number("relabel_period", self.relabel_period)


def solve(graph: BipartiteGraph, matching: Matching, options: HybridOptions, control: Control) -> bool:
    """Make a matching maximum, in place; return False where the solve was asked to stop.

    O(n m) time, memory as push-relabel.
    """
    left = match_in_phases(graph, matching, limit(options.scan_share * graph.num_edges), control)
    if left == 0 or control.stopped:
        return left == 0
    control.remarks.append(f"phases became costly with {left:,} rows left, which push-relabel matched")
    pushes = PushRelabelOptions(
        relabel_period=options.relabel_period,
        initial_labels="one",
        stalled="trees" if is_narrow(graph) else "relabel",
    )
    return push_rows(graph, matching, pushes, control)
