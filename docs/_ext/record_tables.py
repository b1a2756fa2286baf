"""The directives ``record-table`` and ``records``: tables made from ``benchmarks/results/``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList

sys.path.append(str(Path(__file__).resolve().parents[2]))

from benchmarks.tables.pages import TABLES, index
from benchmarks.tables.table import path_of


class MarkdownDirective(Directive):
    """Insert text in Markdown."""

    def run(self) -> list[nodes.Node]:
        """Return what the text becomes."""
        found = nodes.container()
        self.state.nested_parse(StringList(self.text().splitlines()), 0, found)
        return [found]

    def text(self) -> str:
        """Return the text."""
        raise NotImplementedError


class RecordTableDirective(MarkdownDirective):
    """Insert the table that is named, and below it where its numbers come from."""

    required_arguments = 1

    def text(self) -> str:
        """Return the table and its caption."""
        shown = TABLES[self.arguments[0]]
        for name in shown.records:
            self.state.document.settings.env.note_dependency(str(path_of(name)))
        return f"{shown.markdown()}\n{shown.caption()}\n"


class RecordsDirective(MarkdownDirective):
    """Insert the table of all records."""

    def text(self) -> str:
        """Return the table."""
        return index()


def setup(app: Any) -> dict[str, Any]:
    """Register the directives."""
    app.add_directive("record-table", RecordTableDirective)
    app.add_directive("records", RecordsDirective)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
