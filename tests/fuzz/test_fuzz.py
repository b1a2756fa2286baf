"""Some cases of each driver from a fixed seed, and every case that once failed."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import preflow

from .drivers import DRIVERS, OF_PROBLEMS
from .harness import corpus_entries, corpus_text

#: What each driver does: the same cases on every machine that is not slow.
MOST_CASES, SECONDS = 300, 2.0
#: Drivers whose kernels no other test needs.
SKIPPED = {"grid-18", "grid-26"}


@pytest.mark.parametrize(("entry"), [pytest.param(entry, id=name) for name, entry in corpus_entries()])
def test_corpus(entry: dict[str, Any]) -> None:
    failure = DRIVERS[entry["driver"]].failure(entry["case"], Counter())
    if failure is not None and "known" in entry:
        pytest.xfail(entry["known"])
    assert failure is None


@pytest.mark.parametrize("problem", [name for name in OF_PROBLEMS if hasattr(OF_PROBLEMS[name], "OPTIONS")])
def test_every_method_on_the_cpu_is_fuzzed(problem: str) -> None:
    module = OF_PROBLEMS[problem]
    missing = {method.name for method in preflow.methods(problem) if method.device == "cpu"} - set(
        module.OPTIONS
    )
    assert not missing, f"add {missing}, with options to try, to OPTIONS of {module.__name__}"


@pytest.mark.parametrize("name", [name for name in DRIVERS if name not in SKIPPED])
def test_driver(name: str) -> None:
    report = DRIVERS[name].run(seed=30, seconds=SECONDS, most=MOST_CASES, quick=True)
    print(report)
    assert not report.failures, "\n".join(map(corpus_text, report.failures.values()))
