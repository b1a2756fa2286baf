"""The base of results without bounds of their own: a line, a small table in notebooks, and a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .read_only import ReadOnlyArrays

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class DrawnResult(ReadOnlyArrays):
    """A result that says in a line what was found, and draws it."""

    def _summary(self) -> str:
        """Return what was found, for the repr."""
        raise NotImplementedError

    def _draw(self, ax: Axes | None) -> Axes:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self._summary()}>"

    def _repr_html_(self) -> str:
        """Return the result as a small table, which notebooks show."""
        from ..notebook import html_table

        parts = (part.partition(" ") for part in self._summary().split(", "))
        return html_table(type(self).__name__, ((name, text) for name, _, text in parts))

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw a small result: what was chosen is red, and the two sides of a cut are blue and orange.

        InvalidInputError: there are more than 200 vertices, 2,000 edges or four million cells of a matrix.
        """
        return self._draw(ax)
