"""The experiments of publications, as suites of the benchmarks. One file for each paper.

Run ``python -m benchmarks.reproduce`` in the root of the repository to see the papers and their options.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ..problems import add_suite
from . import cihan, deveci, lupinska, wu_he_hong
from .selection import Paper

#: The papers by the names of the command line.
PAPERS: Mapping[str, Paper] = MappingProxyType(
    {
        "cihan": cihan.PAPER,
        "wu-he-hong": wu_he_hong.PAPER,
        "deveci28": deveci.PAPER,
        "lupinska": lupinska.PAPER,
    }
)


def register() -> None:
    """Add the suites to their problems."""
    for name, suite in {**cihan.SUITES, **wu_he_hong.SUITES}.items():
        add_suite(name, suite, "max_flow")
        add_suite(name, suite, "min_cut")
    for name, suite in deveci.SUITES.items():
        add_suite(name, suite, "bipartite_matching")
