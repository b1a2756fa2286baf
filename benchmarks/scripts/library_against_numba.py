"""Measure solves with kernels that were compiled ahead of time beside solves with Numba, in one process.

    python -m benchmarks.scripts.library_against_numba --out result.json [CASE ...]

Both solve the same instance on one thread, in turns. The ratio of the best times says how much slower or
faster the library of the wheel is than code that Numba compiles for this CPU. The first run compiles all
kernels, which takes minutes.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

import preflow
from preflow.generators import FAMILIES, noisy_grid
from preflow.generators.min_cost import transport_masses
from preflow.kernels.kernel import Kernel

from ..records import write_rows

Call = Callable[[], Any]
#: The timed turns of each after a warm-up, and the least seconds of a turn.
TURNS, TURN_SECONDS = 8, 0.05


def network(vertices: int, arcs: int, is_float: bool) -> Call:
    """Return the solve of a random network."""
    random = np.random.default_rng(0)
    tail, head = random.integers(0, vertices, (2, arcs))
    capacity: NDArray[Any] = random.random(arcs) if is_float else random.integers(1, 1000, arcs)
    kept = tail != head
    given = (tail[kept], head[kept], capacity[kept])
    return lambda: preflow.max_flow(given, 0, vertices - 1, threads=1).flow


def family(name: str, size: str) -> Call:
    """Return the solve of an instance of a classic family."""
    problem = FAMILIES[name].generate(size)
    return lambda: preflow.max_flow(problem, threads=1).flow


def grid(*shape: int, scale: float = 1) -> Call:
    """Return the cut of a grid of random capacities."""
    random = np.random.default_rng(1)
    source, sink = random.integers(0, 100, (2, *shape)) * (int(scale) if scale == 1 else scale)
    return lambda: preflow.grid_cut(source, sink, 20, threads=1)


def image(side: int) -> Call:
    """Return the cut of a noisy image."""
    given = noisy_grid((side, side))
    return lambda: preflow.grid_cut(given, threads=1)


def matching(vertices: int, edges: int) -> Call:
    """Return the matching of a random graph."""
    rows, columns = np.random.default_rng(1).integers(0, vertices, (2, edges))
    matrix = sp.csr_array((np.ones(edges), (rows, columns)), shape=(vertices, vertices))
    return lambda: preflow.bipartite_matching(matrix, threads=1)


def mesh(side: int) -> Call:
    """Return the matching of a square mesh."""
    size = side * side
    ones = [np.ones(size - 1), np.ones(size - 1), np.ones(size - side), np.ones(size - side)]
    matrix = sp.diags_array(ones, offsets=[1, -1, side, -side]).tocsr()
    return lambda: preflow.bipartite_matching(matrix, threads=1)


def dense(size: int, largest: int) -> Call:
    """Return the assignment of random costs: integers, or floats if `largest` is 0."""
    random = np.random.default_rng(5)
    cost: NDArray[Any] = random.integers(0, largest, (size, size)) if largest else random.random((size, size))
    return lambda: preflow.linear_assignment(cost, threads=1)


def distances(size: int, stored: bool) -> Call:
    """Return the assignment of random points of the plane, with stored or computed distances."""
    first, second = np.random.default_rng(1).random((2, size, 2))
    cost = np.linalg.norm(first[:, None] - second[None], axis=-1)
    given: Any = cost if stored else preflow.PointCosts(first, second)
    return lambda: preflow.linear_assignment(given, threads=1)


def sparse(size: int, scale: float) -> Call:
    """Return the assignment of sparse costs that have a perfect matching."""
    random = np.random.default_rng(1)
    rows = np.concatenate([np.arange(size), random.integers(0, size, 8 * size)])
    columns = np.concatenate([random.permutation(size), random.integers(0, size, 8 * size)])
    _, first = np.unique(rows * size + columns, return_index=True)
    weight = random.integers(1, 1000, len(first)) * (int(scale) if scale == 1 else scale)
    matrix = sp.csr_array((weight, (rows[first], columns[first])), shape=(size, size))
    return lambda: preflow.linear_assignment(matrix, threads=1)


def costs(vertices: int, arcs: int, scale: float = 1) -> Call:
    """Return the minimum-cost flow of a random network."""
    random = np.random.default_rng(2)
    tail, head = random.integers(0, vertices, (2, arcs))
    capacity = random.integers(1, 100, arcs)
    cost = random.integers(0, 1000, arcs) * (int(scale) if scale == 1 else scale)
    flow = random.integers(0, capacity + 1)
    supply = np.bincount(tail, flow, vertices) - np.bincount(head, flow, vertices)
    given = preflow.CostNetwork.from_arrays(tail, head, capacity=capacity, cost=cost, supply=supply)
    return lambda: preflow.min_cost_flow(given, threads=1)


def plan(size: int) -> Call:
    """Return the transport of random masses."""
    given = transport_masses(size)
    return lambda: preflow.transport(*given, threads=1)


def general(vertices: int, edges: int, weighted: bool) -> Call:
    """Return the matching of a random graph, heaviest or largest."""
    random = np.random.default_rng(3)
    ends = random.integers(0, vertices, (2, edges))
    weight: Any = random.integers(1, 1000, edges) if weighted else None
    given = preflow.UndirectedGraph.from_arrays(ends[0], ends[1], weight)
    return lambda: preflow.matching(given, threads=1)


CASES: dict[str, Callable[[], Call]] = {
    "flow, 1,200,000 arcs": lambda: network(120_000, 1_200_000, False),
    "flow, 1,200,000 arcs, floats": lambda: network(120_000, 1_200_000, True),
    "flow, 15,000 arcs": lambda: network(150, 15_000, False),
    "flow, 2,000 arcs": lambda: network(200, 2_000, False),
    "rlg-wide 4096x64": lambda: family("rlg-wide", "4096x64"),
    **{
        f"tiny: {name} {size}": lambda name=name, size=size: family(name, size)  # type: ignore[misc]
        for name, size in {
            "rmf-wide": "8x4",
            "rmf-long": "4x32",
            "rlg-wide": "128x8",
            "rlg-long": "8x128",
            "ac-dense": "80",
            "grid-2d": "32x32",
            "grid-3d": "8x8x8",
        }.items()
    },
    "grid 400x400": lambda: grid(400, 400),
    "grid 400x400, floats": lambda: grid(400, 400, scale=0.37),
    "grid 60x60x60": lambda: grid(60, 60, 60),
    "image 1000x1000": lambda: image(1000),
    "matching, 2,600,000 edges": lambda: matching(300_000, 2_600_000),
    "matching, mesh": lambda: mesh(200),
    "assignment 100": lambda: dense(100, 1000),
    "assignment 1000": lambda: dense(1000, 10_000),
    "assignment 1000, floats": lambda: dense(1000, 0),
    "assignment 2000": lambda: dense(2000, 10**6),
    "assignment 2000, floats": lambda: dense(2000, 0),
    "assignment, distances of 600": lambda: distances(600, True),
    "assignment, 300 points": lambda: distances(300, False),
    "min-cost flow, 3,000 arcs": lambda: costs(500, 3_000),
    "min-cost flow, 3,000 arcs, floats": lambda: costs(500, 3_000, 0.37),
    "min-cost flow, 60,000 arcs": lambda: costs(8_000, 60_000),
    "transport 400": lambda: plan(400),
    "general matching, 40,000 edges": lambda: general(10_000, 40_000, False),
    "general matching, weights": lambda: general(2_000, 8_000, True),
    "assignment, sparse": lambda: sparse(2000, 1),
    "assignment, sparse, floats": lambda: sparse(2000, 0.37),
}

#: The functions of the library of each kernel, while kernels run from Numba.
_put_aside: list[tuple[Kernel, dict[bytes, int]]] = []


def use_library(wanted: bool) -> None:
    """Let kernels run from the library or from Numba."""
    if wanted:
        while _put_aside:
            kernel, functions = _put_aside.pop()
            kernel.functions.update(functions)
    else:
        for kernel in [each for each in gc.get_objects() if isinstance(each, Kernel)]:
            _put_aside.append((kernel, dict(kernel.functions)))
            kernel.functions.clear()


def compare(call: Call) -> dict[str, float]:
    """Return the best and the median seconds of both."""
    call()
    start = time.perf_counter()
    call()
    repeats = max(1, int(TURN_SECONDS / (time.perf_counter() - start)))
    seconds: dict[bool, list[float]] = {True: [], False: []}
    for turn in range(TURNS + 1):
        for library in (True, False) if turn % 2 else (False, True):
            use_library(library)
            call()
            start = time.perf_counter()
            for _ in range(repeats):
                call()
            seconds[library].append((time.perf_counter() - start) / repeats)
            use_library(True)
    taken = {"library": seconds[True][1:], "numba": seconds[False][1:]}
    best = {name: min(values) for name, values in taken.items()}
    medians = {f"{name} median": statistics.median(values) for name, values in taken.items()}
    return {**best, **medians, "ratio": best["library"] / best["numba"]}


def main() -> None:
    """Print a table of all cases, and write it if --out is given."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of: {', '.join(CASES)}")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for name in options.cases or CASES:
        row = compare(CASES[name]())
        rows.append({"case": name, **row})
        print(f"{name:30s} {row['library'] * 1e3:9.3f} ms  {row['numba'] * 1e3:9.3f} ms  {row['ratio']:.3f}")
    ratios = sorted(row["ratio"] for row in rows)
    print(f"median {statistics.median(ratios):.3f}, largest {ratios[-1]:.3f}")
    if options.out:
        write_rows(str(options.out), rows, ["numpy", "scipy", "numba", "llvmlite"])


if __name__ == "__main__":
    main()
