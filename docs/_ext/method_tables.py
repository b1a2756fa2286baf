"""The directive ``methods``: a table of the methods of a problem, made from the registry."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive

import preflow

HEADINGS = ["method", "in the papers", "what it is", "source", "runs on"]
WIDTHS = [22, 14, 36, 28, 10]


def _where(method: Any) -> str:
    if method.device == "cuda":
        return "GPU"
    return "CPU threads" if method.parallel else "one CPU thread"


class MethodsDirective(Directive):
    """Insert the table of the methods of the problem that is named."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        table = nodes.table(classes=["table"])
        group = nodes.tgroup(cols=len(HEADINGS))
        table += group
        for width in WIDTHS:
            group += nodes.colspec(colwidth=width)
        head, body = nodes.thead(), nodes.tbody()
        group += head
        head += self._row([nodes.paragraph(text=text) for text in HEADINGS])
        group += body
        for method in preflow.methods(self.arguments[0]):
            name = nodes.paragraph()
            name += nodes.literal(text=method.name)
            texts = [_other_names(method), method.summary, method.paper, _where(method)]
            body += self._row([name, *(nodes.paragraph(text=text) for text in texts)])
        return [table]

    @staticmethod
    def _row(cells: list[nodes.paragraph]) -> nodes.row:
        row = nodes.row()
        for cell in cells:
            entry = nodes.entry()
            entry += cell
            row += entry
        return row


def _other_names(method: Any) -> str:
    """Return the names in papers; those of variants with their options."""
    variants = [
        f"{name} ({', '.join(f'{option}={value}' for option, value in options.items())})"
        for name, options in method.variants.items()
    ]
    return ", ".join([*method.aliases, *variants])


def setup(app: Any) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("methods", MethodsDirective)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
