"""The index of the recorded results."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.records import InstanceRecord, read_record
from benchmarks.report import FORMAT
from benchmarks.tables import pages as tables
from tests.support.paths import ROOT

pytestmark = pytest.mark.fast

RESULTS = ROOT / "benchmarks" / "results"


def test_index_names_each_file_once() -> None:
    named = re.findall(r"^\| `(\d{4}[^`]*)` \|", (RESULTS / "README.md").read_text("utf-8"), re.MULTILINE)
    assert sorted(named) == sorted(path.stem for path in RESULTS.glob("*.jsonl"))


def pages() -> list[Path]:
    """The pages whose tables and figures have records, all but those of the notebook, and what makes them."""
    found = [page for page in (ROOT / "docs").rglob("*.md") if "notebook" not in page.parts]
    return [*found, ROOT / "docs" / "_tools" / "charts.py", *(ROOT / "benchmarks" / "tables").glob("*.py")]


def test_pages_name_each_record_and_no_other() -> None:
    found = {
        name
        for page in pages()
        for name in re.findall(r"\d{4}-\d\d-\d\d-[\w-]+\.jsonl?\b", page.read_text("utf-8"))
    }
    assert found == {path.name for path in RESULTS.iterdir() if path.suffix == ".jsonl"}


def test_records_are_small() -> None:
    """A record has a line for each instance: differences are short, and searches find other things."""
    contents = [path.read_bytes() for path in RESULTS.glob("*.jsonl")]
    assert sum(content.count(b"\n") for content in contents) < 20_000
    assert sum(map(len, contents)) < 1_500_000


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.jsonl")), ids=lambda path: path.stem)
def test_records_are_written_as_the_runner_writes_them(path: Path) -> None:
    header, rows = read_record(path)
    assert rows
    if header.get("format") == FORMAT:
        assert [record.to_dict() for record in map(InstanceRecord.from_dict, rows)] == rows


@pytest.mark.parametrize("page", tables.PAGES, ids=lambda page: page.stem)
def test_tables_are_those_of_the_records(page: Path) -> None:
    text = page.read_text("utf-8")
    assert tables.filled(text) == text, "run python -m benchmarks.tables"
    assert text.count("<!-- end -->") == len(tables.BLOCK.findall(text))


def test_each_table_is_on_a_page() -> None:
    found = [name for page in tables.PAGES for name in tables.BLOCK.findall(page.read_text("utf-8"))]
    assert sorted(found) == sorted(tables.TABLES)
