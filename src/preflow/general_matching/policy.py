"""The rules of method="auto": the first of these rows that holds counts."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

from ..cuda.runtime import Device
from ..graph.undirected import UndirectedGraph
from ..solving.plan import Attempt, Plan, Rule, decide

#: From these numbers on, many threads were faster than one on every graph measured. With 2 threads most were
#: slower; with 4 and 150,000 edges one was. docs/performance/general_matching.md has the table.
FEWEST_THREADS, FEWEST_EDGES = 4, 250_000

#: What begins where a GPU is asked for: no search for an exact matching runs there.
ON_GPU = Attempt("cuda-locally-dominant", budget=inf)


class Features(NamedTuple):
    """The features of a graph that rules ask for."""

    graph: UndirectedGraph
    threads: int

    @property
    def edges(self) -> int:
        """The number of edges."""
        return self.graph.num_edges


RULES: tuple[Rule[Features], ...] = (
    Rule(
        lambda it: it.graph.weight is not None and it.threads >= FEWEST_THREADS and it.edges >= FEWEST_EDGES,
        (Attempt("multicore-weighted-blossom"),),
        f"the graph has weights, {FEWEST_EDGES:,} edges or more, and {{it.threads}} threads",
    ),
    Rule(
        lambda it: it.graph.weight is not None,
        (Attempt("serial-weighted-blossom"),),
        "the graph has weights",
        "general-matching",
    ),
    Rule(
        lambda it: it.threads >= FEWEST_THREADS and it.edges >= FEWEST_EDGES,
        (Attempt("multicore-blossom", budget=inf), Attempt("serial-blossom")),
        f"the graph has no weights, {FEWEST_EDGES:,} edges or more, and {{it.threads}} threads",
        "general-threads",
    ),
    Rule(lambda it: True, (Attempt("serial-blossom"),), "the graph has no weights", "general-matching"),
)


def choose(graph: UndirectedGraph, device: str = "auto", threads: int = 1, gpu: Device | None = None) -> Plan:
    """Return the method for a graph: see :class:`preflow.solving.protocol.Chooser`."""
    plan = decide(RULES, Features(graph, threads))
    if device != "cuda":
        return plan
    because = f"the GPU finds a matching of at least half of the best weight to start from; {plan.because}"
    return plan._replace(attempts=(ON_GPU, *plan.attempts), because=because)
