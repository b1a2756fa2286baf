"""Which tests are slow, by the CPU seconds that each took when they were last recorded.

``make test`` leaves out the slow tests and those marked ``alone``; ``make test-all`` runs them all. A test
without an entry is not slow, unless its file marks it so. ``make record`` runs all tests and updates the
record.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping

import pytest

from tests.support.paths import DATA

RECORD = DATA / "seconds.json"
#: A test that takes longer is slow.
MOST_SECONDS = 1.0
#: Files whose tests build ``.cu`` files with g++, a program for each set of macros.
BUILDS = ("test_cuda*.py", "test_device_*.py", "cuda/test_stop.py", "cuda/test_toolbox.py")
#: Files that run the examples and commands of the docs, however long they take.
EXAMPLES = ("test_docs.py", "test_gallery.py", "cli/test_samples.py")
#: A test that takes less is not in the record.
LEAST_SECONDS = 0.5
#: The name under which a test report carries the seconds from a worker to the process that writes the record.
PROPERTY = "cpu_seconds"

#: Seconds of programs that stay alive, such as the explorers: they count only when they end.
_elsewhere = 0.0


def count_elsewhere(seconds: float) -> None:
    """Add the CPU seconds that another process took for the current test."""
    global _elsewhere
    _elsewhere += seconds


def _seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system + _elsewhere


def read_record() -> dict[str, float]:
    """Return the recorded seconds by the id of the test."""
    found: dict[str, float] = json.loads(RECORD.read_text("utf-8"))
    return found


def write_record(seconds: Mapping[str, float]) -> None:
    """Write the record."""
    kept = {name: round(took, 1) for name, took in sorted(seconds.items()) if took >= LEAST_SECONDS}
    RECORD.write_text(json.dumps(kept, indent=0) + "\n", "utf-8")


def is_slow(item: pytest.Item, record: Mapping[str, float]) -> bool:
    """Return whether a test belongs to ``make test-all`` only.

    These are tests that take long, explorations, and tests that build ``.cu`` files: a build takes g++
    seconds, whichever test comes first and pays for it. Explorations in ``make check`` are short, and tests
    in files of builds that are marked fast build nothing.
    """
    is_fast = item.get_closest_marker("fast") is not None
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    if any(item.path.match(name) for name in EXAMPLES):
        return False
    return (
        record.get(item.nodeid, 0.0) > MOST_SECONDS
        or parameters.get("sanitizer") is not None
        or ("runner" in getattr(item, "fixturenames", ()) and not is_fast)
        or (any(item.path.match(name) for name in BUILDS) and not is_fast)
    )


def longest_file_first(items: list[pytest.Item], record: Mapping[str, float]) -> None:
    """Sort tests by the recorded seconds of their file; within a file their order stays."""
    by_file: dict[str, float] = {}
    for item in items:
        file = item.nodeid.partition("::")[0]
        by_file[file] = by_file.get(file, 0.0) + record.get(item.nodeid, 0.0)
    items.sort(key=lambda item: -by_file[item.nodeid.partition("::")[0]])


class Recorder:
    """Writes the record: measures in the process that runs a test, collects in the one that prints."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Note the seconds before a test: its fixtures count, too."""
        self.before = _seconds()
        yield

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
        """Let the report of a test's end carry its seconds."""
        if call.when == "teardown":
            item.user_properties.append((PROPERTY, _seconds() - self.before))
        yield

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect the seconds of a test."""
        if report.when == "teardown":
            self.seconds[report.nodeid] = dict(report.user_properties).get(PROPERTY, 0.0)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the record; tests that this run left out keep their entries."""
        if not hasattr(session.config, "workerinput"):
            kept = {name: took for name, took in read_record().items() if name not in self.seconds}
            write_record(kept | self.seconds)
