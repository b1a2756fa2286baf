"""Attempts that follow others, in the records of methods and in the rules of "auto"."""

from __future__ import annotations

from math import inf

from ..solving.plan import Attempt

#: Trees for the rows that are left where pushes stall.
TREES = Attempt("multicore-multi-source-bfs")
#: Pushes with low labels: rows push no further than they must, and most solves need no global relabel.
LOW_PUSHES = Attempt(
    "serial-push-relabel", {"initial_labels": "one", "relabel_period": 2.0, "stalled": "trees"}, inf
)
#: Phases of Hopcroft and Karp before these pushes.
CHEAP_PHASES = Attempt("serial-hybrid", budget=0.55)
