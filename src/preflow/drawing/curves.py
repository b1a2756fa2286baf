"""Functions of one variable."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..arrays import Array
from .axes import BLUE, RED, axes_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_pieces(ax: Axes | None, x: Array, y: Array, x_name: str, y_name: str) -> Axes:
    """Draw a piecewise linear function by its values at the ends, with dots where the slope changes."""
    axes = axes_for(ax)
    axes.plot(x, y, color=BLUE)
    axes.plot(x[1:-1], y[1:-1], "o", color=RED)
    axes.set_xlabel(x_name)
    axes.set_ylabel(y_name)
    return axes
