"""Measure whole calls on small instances beside the peers: seconds, and instructions by Valgrind.

Usage: python -m benchmarks.scripts.small_calls FILE [PATTERN ...]. It writes a row for each instance: the
least seconds of a call over TURNS turns, in which both take turns, and the instructions of a call, which do
not depend on what else runs on the machine. Those need Valgrind and a C compiler; without them a row has
seconds only. A call begins with the caller's arrays and ends with the value and the flow, the side of the cut
or the pairs. That of rustworkx begins with a graph, and, in a row of its own, with the lists of edges.
"""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import preflow

from ..records import kept_rows, write_rows

TURNS, SECONDS_A_TURN = 15, 0.02
#: Calls whose instructions are counted, after as many for warm-up.
CALLS = 20
ARCS = (30, 100, 300, 1_000, 3_000, 10_000, 30_000)
EDGES = (20, 100, 500, 2_000, 10_000)
ROWS = (5, 10, 20, 50)
#: What Valgrind counts between `begin` and `end`.
MARKS = """
#include <valgrind/callgrind.h>
void begin(void) { CALLGRIND_ZERO_STATS; CALLGRIND_START_INSTRUMENTATION; }
void end(const char *name) { CALLGRIND_DUMP_STATS_AT(name); CALLGRIND_STOP_INSTRUMENTATION; }
"""
Call = Callable[[], object]


def flow_of(arcs: Any, sink: int) -> object:
    """Find a maximum flow."""
    found = preflow.max_flow(arcs, 0, sink)
    return found.value, found.flow


def cut_of(arcs: Any, sink: int) -> object:
    """Find a minimum cut."""
    found = preflow.min_cut(arcs, 0, sink)
    return found.value, found.sink_side


def flows() -> Iterator[tuple[str, Call, str, Call]]:
    """Yield calls of max_flow and min_cut on random networks, beside OR-tools."""
    from ortools.graph.python.max_flow import SimpleMaxFlow

    def peer(arcs: Any, sink: int) -> object:
        solver = SimpleMaxFlow()
        numbers = solver.add_arcs_with_capacity(*arcs)
        solver.solve(0, sink)
        return solver.optimal_flow(), solver.flows(numbers)

    for count in ARCS:
        rng = np.random.default_rng(count)
        size = max(10, count // 5)
        tail, head = rng.integers(0, size, (2, count))
        given = (tail, head, rng.integers(1, 1000, count)), size - 1
        yield f"max_flow {count} arcs", partial(flow_of, *given), "ortools", partial(peer, *given)
        yield f"min_cut {count} arcs", partial(cut_of, *given), "ortools", partial(peer, *given)


def matchings() -> Iterator[tuple[str, Call, str, Call]]:
    """Yield calls of bipartite_matching beside SciPy, of matching beside rustworkx."""
    import rustworkx
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_bipartite_matching

    for count in EDGES:
        rng = np.random.default_rng(count)
        size = max(8, count // 4)
        ends = np.unique(rng.integers(0, size, (2, count)), axis=1)
        matrix = csr_array((np.ones(ends.shape[1]), ends), shape=(size, size))
        bipartite, other = (
            partial(preflow.bipartite_matching, matrix),
            partial(maximum_bipartite_matching, matrix),
        )
        yield f"bipartite_matching {count} edges", bipartite, "scipy", other

    def build(size: int, edges: Any) -> Any:
        graph = rustworkx.PyGraph()
        graph.add_nodes_from(range(size))
        graph.add_edges_from(edges)
        return graph

    def peer(graph: Any) -> object:
        return rustworkx.max_weight_matching(graph, weight_fn=int)

    def peer_of_edges(size: int, edges: Any) -> object:
        return peer(build(size, edges))

    for count in EDGES[:3]:
        rng = np.random.default_rng(count)
        size = max(12, count // 5)
        tail, head = np.unique(np.sort(rng.integers(0, size, (2, count)), axis=0), axis=1)
        kept = tail != head
        tail, head = tail[kept], head[kept]
        weight = rng.integers(1, 100, len(tail))
        for text, arrays in ((" with weights", (tail, head, weight)), ("", (tail, head))):
            weights = weight.tolist() if text else [1] * len(tail)
            edges = list(zip(tail.tolist(), head.tolist(), weights, strict=True))
            name, ours = f"matching {count} edges{text}", partial(preflow.matching, arrays)
            yield name, ours, "rustworkx", partial(peer, build(size, edges))
            yield f"{name}, built", ours, "rustworkx", partial(peer_of_edges, size, edges)


def assignments() -> Iterator[tuple[str, Call, str, Call]]:
    """Yield calls of linear_assignment beside SciPy."""
    from scipy.optimize import linear_sum_assignment

    for size in ROWS:
        cost = np.random.default_rng(size).random((size, size))
        ours, other = partial(preflow.linear_assignment, cost), partial(linear_sum_assignment, cost)
        yield f"linear_assignment {size} rows", ours, "scipy", other


def instances(patterns: list[str]) -> list[tuple[str, Call, str, Call]]:
    """Return the instances that any pattern selects."""
    every = [*flows(), *matchings(), *assignments()]
    return [each for each in every if any(fnmatchcase(each[0], pattern) for pattern in patterns)]


def seconds_of(calls: list[Call]) -> list[float]:
    """Return the least seconds of each call, in turns."""
    least = [np.inf] * len(calls)
    for call in calls:
        call()
    for _ in range(TURNS):
        for i, call in enumerate(calls):
            begin, count = time.perf_counter(), 0
            while time.perf_counter() - begin < SECONDS_A_TURN:
                call()
                count += 1
            least[i] = min(least[i], (time.perf_counter() - begin) / count)
    return least


def count(library: str, patterns: list[str]) -> None:
    """Run calls between the marks, in a process that Valgrind watches."""
    marks = ctypes.CDLL(library)
    for name, ours, _, peer in instances(patterns):
        for which, call in (("ours", ours), ("peer", peer)):
            for _ in range(CALLS):
                call()
            marks.begin()
            for _ in range(CALLS):
                call()
            marks.end(f"{name}|{which}".encode())


def instructions(patterns: list[str]) -> dict[str, int]:
    """Return the instructions of a call by name and whose it is; nothing without Valgrind or a compiler."""
    if shutil.which("valgrind") is None or shutil.which("cc") is None:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "marks.c"), str(Path(folder, "marks.so"))
        source.write_text(MARKS)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
        tool = ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={folder}/out"]
        child = [sys.executable, "-m", __spec__.name, "--count", library, *patterns]
        subprocess.run([*tool, *child], check=True, capture_output=True)
        found = {}
        for path in Path(folder).glob("out.*"):
            text = path.read_text()
            name = re.search(r"^desc: Trigger: Client Request: (.*)$", text, re.MULTILINE)
            total = re.search(r"^(?:summary|totals): (\d+)", text, re.MULTILINE)
            if name and total:
                found[name[1]] = int(total[1]) // CALLS
    return found


def of_both(peer: str, title: str, pair: list[float]) -> dict[str, Any]:
    """Return what a row says of a measurement of both."""
    return {
        title: dict(zip(("preflow", peer), pair, strict=True)),
        f"ratio of {title}": round(pair[0] / pair[1], 2),
    }


def main() -> None:
    """Measure all instances and write the file."""
    path, *patterns = sys.argv[1:]
    patterns = patterns or ["*"]
    counted = instructions(patterns)
    rows = [
        row for row in kept_rows(path) if not any(fnmatchcase(row["instance"], each) for each in patterns)
    ]
    for name, ours, peer, other in instances(patterns):
        seconds = seconds_of([ours, other])
        row: dict[str, Any] = {"instance": name, "peer": peer}
        row |= of_both(peer, "seconds", [float(f"{each:.3g}") for each in seconds])
        if f"{name}|ours" in counted:
            row |= of_both(peer, "instructions", [counted[f"{name}|{which}"] for which in ("ours", "peer")])
        rows.append(row)
        print(
            name, peer, *(row.get(f"ratio of {title}") for title in ("seconds", "instructions")), flush=True
        )
        write_rows(path, rows)


if __name__ == "__main__":
    if sys.argv[1] == "--count":
        count(sys.argv[2], sys.argv[3:])
    else:
        main()
