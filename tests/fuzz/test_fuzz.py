"""Each driver for a second from a fixed seed, and every case that once failed."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from .drivers import DRIVERS
from .harness import corpus_entries, corpus_text

#: Seconds that each driver runs.
SECONDS = 1.0
#: Drivers whose kernels no other test needs.
SKIPPED = {"grid-18", "grid-26"}
#: Drivers that find what is not mended yet.
KNOWN: dict[str, str] = {
    "flow": "capacities near 2**63 are refused",
    "flow-floats": "a cut over an infinite arc",
    "grid-floats": "one scale for all capacities",
    "grid-floats-3d": "one scale for all capacities",
    "assignment-dense": "sentinels",
    "assignment-sparse": "sentinels",
    "assignment-stack": "sentinels",
    "assignment-points": "sentinels",
    "corruption-assignment": "prices wrap",
    "interruption": "threads left behind",
    "energies": "not looked at",
    "corruption-cut": "not looked at",
    "corruption-grid": "not looked at",
    "corruption-matching": "not looked at",
    "corruption-flow": "not looked at",
    "large-sparse": "not looked at",
    "large-dense": "not looked at",
    "large-grid": "not looked at",
    "grid-4": "capacities near 2**63 are refused",
    "grid-8": "capacities near 2**63 are refused",
    "grid-6": "capacities near 2**63 are refused",
    "grid-listed": "capacities near 2**63 are refused",
}
#: Drivers that end the process.
CRASHES = {"containers": "damaged sparse matrices reach kernels"}


@pytest.mark.parametrize(("entry"), [pytest.param(entry, id=name) for name, entry in corpus_entries()])
def test_corpus(entry: dict[str, Any]) -> None:
    if "crash" in entry:
        pytest.skip(entry["crash"])
    failure = DRIVERS[entry["driver"]].failure(entry["case"], Counter())
    if failure is not None and "known" in entry:
        pytest.xfail(entry["known"])
    assert failure is None


@pytest.mark.parametrize("name", [name for name in DRIVERS if name not in SKIPPED])
def test_driver(name: str) -> None:
    if name in CRASHES:
        pytest.skip(CRASHES[name])
    report = DRIVERS[name].run(seed=30, seconds=SECONDS, quick=True)
    print(report)
    if report.failures and name in KNOWN:
        pytest.xfail(KNOWN[name])
    assert not report.failures, "\n".join(map(corpus_text, report.failures.values()))
