"""The pages with tables, and the text that they should have."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from . import performance, reproducing
from .table import ROOT, Table, markdown

DOCS = ROOT / "docs"
#: The pages with such tables.
PAGES = (
    ROOT / "README.md",
    *sorted((DOCS / "performance").glob("*.md")),
    *sorted((DOCS / "reproducing").glob("*.md")),
)
#: The tables by their names in the pages.
TABLES: Mapping[str, Callable[[], Table]] = MappingProxyType({**performance.TABLES, **reproducing.TABLES})
BLOCK = re.compile(r"<!-- table: ([\w-]+) -->\n.*?<!-- end -->", re.DOTALL)


def filled(page: str) -> str:
    """Return the text of a page with the tables of today's records."""
    return BLOCK.sub(
        lambda block: f"<!-- table: {block[1]} -->\n\n{markdown(TABLES[block[1]]())}\n<!-- end -->", page
    )
