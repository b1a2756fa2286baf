"""Tables as text, and as the HTML that notebooks show."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from html import escape


def html_table(caption: str, rows: Iterable[Sequence[str]], *, titles: Sequence[str] = ()) -> str:
    """Return a table in HTML, with a title above each column or, without `titles`, before each row."""
    head = "".join(f"<th>{escape(title)}</th>" for title in titles)
    head = f"<thead><tr>{head}</tr></thead>" if head else ""
    name = f"<caption>{escape(caption)}</caption>" if caption else ""
    body = "".join(f"<tr>{_cells(row, not titles)}</tr>" for row in rows)
    return f"<table>{name}{head}<tbody>{body}</tbody></table>"


def _cells(row: Sequence[str], titled: bool) -> str:
    kinds = ["th" if titled and not place else "td" for place in range(len(row))]
    return "".join(f"<{kind}>{escape(cell)}</{kind}>" for kind, cell in zip(kinds, row, strict=True))


def text_table(lines: Sequence[Sequence[str]], right: Collection[int] = ()) -> str:
    """Return a table as text, its columns two blanks apart; those whose places are in `right` end aligned."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if place in right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
