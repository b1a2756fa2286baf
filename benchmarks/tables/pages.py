"""The tables by name, the pages that have them, and the block of the README."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from . import performance, reproducing
from .table import RESULTS, ROOT, Shown, Table, markdown, sources

README = ROOT / "README.md"
#: The tables by their names in the pages.
TABLES: Mapping[str, Shown] = MappingProxyType({**performance.TABLES, **reproducing.TABLES})
BLOCK = re.compile(r"<!-- table: ([\w-]+) -->\n.*?<!-- end -->", re.DOTALL)


def filled(page: str) -> str:
    """Return the text of the README with the tables of today's records."""
    return BLOCK.sub(
        lambda block: f"<!-- table: {block[1]} -->\n\n{TABLES[block[1]].markdown()}\n<!-- end -->", page
    )


def index() -> str:
    """Return a table of all records, with the tables that read each."""
    rows = []
    for path in sorted(RESULTS.glob("*.jsonl")):
        shown = ", ".join(name for name, each in TABLES.items() if path.stem in each.records)
        runs = sources(path.stem)[0].partition(": ")[2]
        rows.append([f"`{path.stem}`", shown, runs])
    return markdown(Table(["record", "tables", "runs"], rows, words=3))
