"""The index of the recorded results."""

from __future__ import annotations

import re

import pytest

from tests.support.paths import ROOT

pytestmark = pytest.mark.fast

RESULTS = ROOT / "benchmarks" / "results"


def test_index_names_each_file_once() -> None:
    named = re.findall(r"^\| `(\d{4}[^`]*)` \|", (RESULTS / "README.md").read_text("utf-8"), re.MULTILINE)
    assert sorted(named) == sorted(path.stem for path in RESULTS.glob("*.json"))
