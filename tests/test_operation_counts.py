"""Every CPU method on one thread does the same operations as recorded: a change of the code changes none.

    python -m tests.test_operation_counts serial-toy    # record a new method, or a changed algorithm
    python -m tests.test_operation_counts               # record all methods

The record also holds a hash of each answer.
"""

from __future__ import annotations

import hashlib
import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import preflow
from preflow.registry import METHODS
from preflow.solving.dispatch import find_method
from preflow.stats import COUNTERS
from tests.support.problems import SAMPLES

RECORD = Path(__file__).resolve().parent / "data" / "operation_counts.json"


def answers(problem: str, method: str) -> dict[str, Any]:
    """Solve the instances of a method; return the counts and a hash of each answer by its name."""
    instances = SAMPLES[problem].counted(find_method(METHODS[problem], method))
    solve = partial(getattr(preflow, problem), method=method, threads=1)
    return {name: digest(problem, solve(*arguments)) for name, arguments in instances.items()}


def digest(problem: str, result: Any) -> dict[str, Any]:
    """Return the counts of a result and a hash of its answer."""
    seen = hashlib.sha256()
    for name in SAMPLES[problem].answer:
        values = np.asarray(getattr(result, name))
        seen.update(values.astype(np.int64 if values.dtype.kind in "iu" else values.dtype).tobytes())
    names = (*COUNTERS, "phases", "augmentations", "pivots")
    counts = {name: int(getattr(result.stats, name, 0)) for name in names}
    return {**{name: count for name, count in counts.items() if count}, "answer": seen.hexdigest()[:16]}


def stacks() -> dict[str, tuple[Any, ...]]:
    """Return the arguments of a call for many items, by the name of the function."""
    rng = np.random.default_rng(7)
    arcs = rng.integers(0, 30, (2, 150))
    networks = preflow.FlowNetworkBatch.from_arrays(arcs[0], arcs[1], rng.integers(0, 40, (6, 150)))
    source, sink = np.maximum(excess := rng.integers(-9, 10, (6, 14, 11)), 0), np.maximum(-excess, 0)
    masses = rng.integers(1, 9, (3, 12))
    return {
        "max_flow_batch": (networks, 0, 29),
        "grid_cut_batch": (source, sink, 3),
        "linear_assignment": (rng.integers(0, 100, (5, 14, 14)),),
        "transport": (rng.integers(0, 100, (3, 12, 12)), masses, masses[:, ::-1]),
    }


CASES = [
    (problem, name)
    for problem, found in METHODS.items()
    if problem != "min_cut"
    for method in found
    if method.device == "cpu"
    for name in (method.name, *method.variants)
]


@pytest.mark.parametrize(("problem", "method"), CASES)
def test_operations_are_the_recorded_ones(problem: str, method: str) -> None:
    recorded = json.loads(RECORD.read_text(encoding="utf-8")).get(f"{problem} {method}")
    assert recorded, f"no counts are recorded: python -m tests.test_operation_counts {method}"
    assert answers(problem, method) == recorded


def stacked(function: str) -> dict[str, Any]:
    """Solve the items of a stack; return the counts and a hash of the answers."""
    found = getattr(preflow, function)(*stacks()[function], threads=1)
    results = found if isinstance(found, list) else [found]
    return {f"{k}": digest(function.removesuffix("_batch"), result) for k, result in enumerate(results)}


@pytest.mark.parametrize("function", stacks())
def test_operations_on_items_are_the_recorded_ones(function: str) -> None:
    recorded = json.loads(RECORD.read_text(encoding="utf-8"))
    assert stacked(function) == recorded[f"items of {function}"]


def main(names: list[str]) -> None:
    """Record the counts of the methods with these names, or of all methods."""
    unknown = set(names) - {method for _, method in CASES}
    if unknown:
        sys.exit(f"no method on the CPU has the name {', '.join(sorted(unknown))}")
    old = json.loads(RECORD.read_text(encoding="utf-8"))
    record = {}
    for problem, method in CASES:
        key = f"{problem} {method}"
        if not names or method in names:
            record[key] = answers(problem, method)
        elif key in old:
            record[key] = old[key]
    for name in stacks():
        key = f"items of {name}"
        record[key] = old[key] if names and key in old else stacked(name)
    RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
