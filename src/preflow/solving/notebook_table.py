"""The small table as which notebooks show a result."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape


def notebook_table(caption: str, rows: Iterable[tuple[str, str]]) -> str:
    """Return a table in HTML: a row for each title and its text."""
    body = "".join(f"<tr><th>{escape(title)}</th><td>{escape(text)}</td></tr>" for title, text in rows)
    return f"<table><caption>{escape(caption)}</caption><tbody>{body}</tbody></table>"
