"""The records, and the tables and charts that are made from them."""

from __future__ import annotations

import re
import statistics
from pathlib import Path

import pytest

from benchmarks.records import InstanceRecord, read_record
from benchmarks.report import FORMAT
from benchmarks.tables import pages as tables
from benchmarks.tables.performance import COMPARISONS, shares
from benchmarks.tables.table import RESULTS, parts_of
from tests.support.paths import ROOT

pytestmark = pytest.mark.fast

RECORDS = sorted(RESULTS.glob("*.jsonl"))
#: The pages whose figures come from records.
MEASURED = (
    *("docs/performance", "docs/reproducing", "docs/scale"),
    *("docs/problems/regions", "docs/problems/batches"),
)


def pages() -> dict[str, str]:
    """The pages of the site by their paths."""
    found = (page for page in (ROOT / "docs").rglob("*.md") if "_build" not in page.parts)
    return {str(page.relative_to(ROOT)): page.read_text("utf-8") for page in found}


def test_each_table_is_on_one_page() -> None:
    shown = [
        name for text in pages().values() for name in re.findall(r"```\{record-table\} ([\w-]+)\n```", text)
    ]
    readme = [block[1] for block in tables.BLOCK.finditer(tables.README.read_text("utf-8"))]
    assert sorted([*shown, *readme]) == sorted(tables.TABLES)


def test_each_record_has_a_table() -> None:
    read = {name for table in tables.TABLES.values() for name in table.records}
    assert read == {path.stem for path in RECORDS}


def test_pages_about_measurements_have_no_typed_tables() -> None:
    """Tables of numbers come from records; those of names, commands and machines are typed."""
    number = re.compile(r"\*{0,2}[<>]?[\d.,]+( ?(%|ms|s|MB|GB|x))?\*{0,2}")
    typed = [
        f"{page}: {line}"
        for page, text in pages().items()
        if page.startswith(MEASURED)
        for line in text.splitlines()
        if line.startswith("|") and sum(bool(number.fullmatch(cell.strip())) for cell in line.split("|")) > 1
    ]
    assert not typed


def test_tables_are_made() -> None:
    for name, table in tables.TABLES.items():
        head, rules, *rows = table.markdown().splitlines()
        assert rows, name
        assert {line.count(" | ") for line in (head, rules, *rows)} == {head.count(" | ")}, name
    assert all(f"`{path.stem}`" in tables.index() for path in RECORDS)


def test_readme_has_the_table_of_the_records() -> None:
    text = tables.README.read_text("utf-8")
    assert tables.filled(text) == text, "run python -m benchmarks.tables"


def test_readme_has_the_chart_of_the_records() -> None:
    chart = (ROOT / "docs" / "pictures" / "speed.svg").read_text("utf-8")
    for each in COMPARISONS:
        median = statistics.median(1 / share for share in shares(each))
        assert f">{median:.1f}</text>" in chart, "run python docs/_tools/draw_pictures.py speed"


def test_records_are_small() -> None:
    """A record has a line for each instance: differences are short, and searches find other things."""
    contents = [path.read_bytes() for path in RECORDS]
    assert sum(content.count(b"\n") for content in contents) < 2_000
    assert sum(map(len, contents)) < 1_500_000


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_records_say_when_and_where(path: Path) -> None:
    header, rows = read_record(path)
    assert rows
    for part in parts_of(header):
        assert re.match(r"\d{4}-\d\d-\d\d", part["date"])
        assert {"cpu", "cores", "gpus"} <= part["machine"].keys()
        assert isinstance(part["command"], str)
        assert part.get("versions", {}).get("commit") or part.get("commit") or part["added"]
    if header.get("format") == FORMAT:
        assert [record.to_dict() for record in map(InstanceRecord.from_dict, rows)] == rows
