"""Approximate matchings, and those that solvers without weights start from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...arrays import Indices
from ...graph.undirected import Neighbours
from ...solving.options import check_choice
from ...solving.run import Control
from ..links import NONE
from . import greedy, locally_dominant, multicore_karp_sipser, two_thirds

#: The matchings that a solver may start from.
STARTS = {
    "karp-sipser": multicore_karp_sipser.start,
    "greedy": greedy.match,
    "locally-dominant": locally_dominant.match,
    "two-thirds": two_thirds.match,
}


@dataclass(frozen=True)
class InitialOptions:
    """Options of a method that starts from a matching.

    Attributes
    ----------
    initial : {"karp-sipser", "greedy", "locally-dominant", "two-thirds", "none"}
        The matching that it starts from, if the caller gives none.
    """

    initial: Literal["karp-sipser", "greedy", "locally-dominant", "two-thirds", "none"] = "karp-sipser"

    def __post_init__(self) -> None:
        check_choice("initial", self.initial, (*STARTS, "none"))


def first_matching(
    graph: Neighbours, start: Indices | None, options: InitialOptions, control: Control
) -> Indices:
    """Return the matching to start from, with NONE for no partner, and set the progress to what is free.

    `start` is the caller's, with n for no partner.
    """
    n = len(graph.first) - 1
    mate = np.full(n, NONE, dtype=np.uint32)
    if start is not None:
        matched = np.flatnonzero(start < n)
        mate[matched] = start[matched].astype(np.uint32)
    elif options.initial != "none":
        STARTS[options.initial](graph, mate, control)
    control.excess[:] = max(int(np.count_nonzero(mate == NONE)), 1)
    return mate
