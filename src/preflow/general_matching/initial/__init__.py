"""Approximate matchings, and those that solvers without weights start from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Indices
from ...graph.undirected import Neighbours
from ...solving.options import CheckedOptions
from ...solving.run import Control
from ..links import NONE
from ..solution import Partners
from . import greedy, locally_dominant, multicore_karp_sipser, two_thirds

#: The matchings that any solver may start from; without weights there is that of Karp and Sipser, too.
STARTS = {
    "greedy": greedy.match,
    "locally-dominant": locally_dominant.match,
    "two-thirds": two_thirds.match,
}


@dataclass(frozen=True)
class InitialOptions(CheckedOptions):
    """Options of a method that starts from a matching.

    Attributes
    ----------
    initial : {"karp-sipser", "greedy", "locally-dominant", "two-thirds", "none"}
        The matching that it starts from, if the caller gives none.
    """

    initial: Literal["karp-sipser", "greedy", "locally-dominant", "two-thirds", "none"] = "karp-sipser"


class FirstMatching(NamedTuple):
    """The matching that a search starts from."""

    mate: Indices  #: uint32, shape (n,): NONE for no partner
    #: shape (n,): EVEN and ODD for vertices that :mod:`.karp_sipser` has decided, which need no search;
    #: OUTSIDE for others
    label: NDArray[np.uint8]


def first_matching(
    graph: Neighbours, start: Partners | None, options: InitialOptions, control: Control
) -> FirstMatching:
    """Return the matching to start from, and set the progress to what is free.

    `start` is the caller's.
    """
    n = len(graph.first) - 1
    label = np.zeros(n, dtype=np.uint8)
    if start is not None:
        mate = start.astype(np.uint32)  # -1 becomes NONE
    elif options.initial == "karp-sipser":
        mate = np.empty(n, dtype=np.uint32)
        multicore_karp_sipser.start(graph, mate, label, control)
    else:
        mate = np.full(n, NONE, dtype=np.uint32)
        if options.initial != "none":
            STARTS[options.initial](graph, mate, control)
    control.progress[:] = max(int(np.count_nonzero(mate == NONE)), 1)
    return FirstMatching(mate, label)
