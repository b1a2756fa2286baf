"""Run every method for GPUs under NVIDIA's compute-sanitizer: python -m tests.sanitize_on_gpu [TOOL ...].

Tools are memcheck and racecheck unless they are given. Each method solves small instances in a process of
its own, at most one per core at a time; what a tool reports is printed as soon as it is known,
each kind of finding once. The exit code is 1 if there was any error; a warning is one that a tool is not sure
of. Kernels of CuPy's are told by their names. A method has ``SANITIZE_SECONDS`` (300), and few blocks.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

import numpy as np

import preflow
from preflow.cuda import runtime
from preflow.generators import FAMILIES, bipartite_family
from preflow.generators.min_cost import netgen
from preflow.registry import PROBLEMS
from tests.support.paths import ROOT

TOOLS = ("memcheck", "racecheck")
#: Blocks of a kernel whose blocks wait for each other: under a tool all their threads are slow.
MOST_BLOCKS = 8
#: Seconds for a method.
TIME_LIMIT = int(os.environ.get("SANITIZE_SECONDS", "300"))
#: Findings, and what of them differs from run to run.
FINDING = re.compile(r"^=+ +((?:Error|Warning|Invalid|Program hit|Race|Leaked).*)$", re.MULTILINE)
CHANGING = re.compile(r"0x[0-9a-f]+|\d+ hazards?|\bthread \([\d,]+\)|\bblock \([\d,]+\)", re.IGNORECASE)


def solve(problem: str, method: str) -> None:
    """Solve small instances with a method, and prove the results."""
    device = runtime.find_device()
    device.num_multiprocessors = min(device.num_multiprocessors, MOST_BLOCKS)
    if problem == "max_flow_batch":
        networks, sources, sinks = zip(*flows(problem, method), strict=True)
        preflow.max_flow_batch(networks, sources, sinks, device="cuda").verify()
        return
    if problem == "matching_batch":
        weights = np.triu(np.random.default_rng(0).integers(1, 9, (40, 34, 34)), 1)
        weights += weights.transpose(0, 2, 1)
        for factor, no_edge in ((1, 1), (2**40, None), (0.37, None)):
            preflow.matching_batch(weights * factor, no_edge=no_edge, device="cuda").verify()
        return
    calls = {
        "max_flow": flows,
        "grid_cut": grids,
        "transport": transports,
        "matching": matchings,
        "min_cost_flow": cost_flows,
    }
    for call in calls.get(problem, pairs)(problem, method):
        found = getattr(preflow, problem)(*call, method=method)
        for result in found if isinstance(found, list) else [found]:
            result.verify()


def flows(_: str, method: str) -> Iterator[tuple[Any, ...]]:
    # With a kernel for each colour, of which a dense network has many, racecheck takes many minutes.
    few_colours = method == "cuda-coloring"
    sizes = ("3x3", "4x4", "8") if few_colours else ("6x4", "8x16", "30")
    for family, size in zip(("rmf-wide", "rlg-long", "ac-dense"), sizes, strict=True):
        problem = FAMILIES[family].generate(size)
        yield problem.network, problem.source, problem.sink


def matchings(_: str, __: str) -> Iterator[tuple[Any, ...]]:
    random = np.random.default_rng(0)
    for n, m, largest in ((200, 800, 1000), (400, 600, 2)):
        yield ((*random.integers(0, n, (2, m)), random.integers(1, largest, m)),)


def cost_flows(_: str, __: str) -> Iterator[tuple[Any, ...]]:
    for n, degree in ((60, 4), (200, 5)):
        yield (netgen(n, degree),)


def transports(_: str, __: str) -> Iterator[tuple[Any, ...]]:
    random = np.random.default_rng(0)
    for shape in ((40, 30), (3, 200, 150)):
        mass = random.multinomial(500, np.full(shape[-1], 1 / shape[-1]), shape[:-2])
        rows = random.multinomial(500, np.full(shape[-2], 1 / shape[-2]), shape[:-2])
        yield random.integers(0, 1000, shape), rows, mass


def grids(_: str, __: str) -> Iterator[tuple[Any, ...]]:
    random = np.random.default_rng(0)
    for shape in ((50, 70), (6, 9, 40)):
        source, sink = random.integers(0, 40, (2, *shape), dtype=np.int16)
        yield source, sink, 9


def pairs(problem: str, _: str) -> Iterator[tuple[Any, ...]]:
    if problem == "linear_assignment":
        for rows in (20, 60):
            yield (np.random.default_rng(0).integers(0, 100, (rows, rows)),)
        return
    for family, size in (("erdos-renyi", "400x3"), ("rmat", "8x8"), ("hugetrace-like", "500")):
        yield (bipartite_family(family).generate(size, seed=0),)


def run(tool: str, problem: str, method: str) -> tuple[str, bool]:
    """Return what a tool says of a method, and whether that is no more than warnings."""
    # An interpreter may be a script or a launcher that starts another process.
    followed = ["compute-sanitizer", "--target-processes", "all", "--tool", tool]
    command = [*followed, sys.executable, "-m", "tests.sanitize_on_gpu", "--solve", problem, method]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIME_LIMIT, cwd=ROOT)
    except subprocess.TimeoutExpired:
        return f"{tool} {problem} {method}: not done after {TIME_LIMIT} s", False
    output = done.stdout + done.stderr
    summary = re.findall(r"^=+ ((?:ERROR|RACECHECK) SUMMARY.*)$", output, re.MULTILINE)
    found = Counter(CHANGING.sub("...", line)[:300] for line in FINDING.findall(output))
    head = f"{tool} {problem} {method}: {'; '.join(summary) or 'no summary'}"
    is_right = done.returncode == 0 and bool(summary) and not re.search(r"\b[1-9]\d* errors?\b", summary[-1])
    if not summary or (not is_right and not found):
        found[output[-2000:]] = 1
    return "\n".join([head, *(f"    {count} x {line}" for line, count in found.items())]), is_right


def main() -> None:
    tools = sys.argv[1:] or TOOLS
    methods = [(p.name, m.name) for p in PROBLEMS for m in p.methods if m.device == "cuda"]
    methods += [("max_flow_batch", "cuda-dinic"), ("matching_batch", "cuda-edmonds")]
    jobs = [(tool, *each) for tool in tools for each in methods]
    right = True
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for done in as_completed(pool.submit(run, *job) for job in jobs):
            text, is_right = done.result()
            print(text, flush=True)
            right &= is_right
    sys.exit(not right)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--solve"]:
        solve(*sys.argv[2:])
    else:
        main()
