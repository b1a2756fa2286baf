"""Some cases of each driver from a fixed seed, and every case that once failed."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from .drivers import DRIVERS
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


@pytest.mark.parametrize("name", [name for name in DRIVERS if name not in SKIPPED])
def test_driver(name: str) -> None:
    report = DRIVERS[name].run(seed=30, seconds=SECONDS, most=MOST_CASES, quick=True)
    print(report)
    assert not report.failures, "\n".join(map(corpus_text, report.failures.values()))
