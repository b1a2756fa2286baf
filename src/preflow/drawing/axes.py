"""The axes of a picture, its colours, and the limits of its size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..checks import needed_for
from ..errors import InvalidInputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Colours of Okabe and Ito, which colour-blind people tell apart.
BLUE, ORANGE, GREEN, RED, YELLOW = "#0072b2", "#e69f00", "#009e73", "#d55e00", "#f0e442"
PALE_BLUE, PALE_ORANGE, GREY, PALE_GREY = "#b3d9f2", "#f9dfa6", "#8a8a8a", "#d5d5d5"

#: Colours of labels 1, 2 and so on in every picture; 0 is no label.
LABELS = (
    (230, 159, 0),
    (86, 180, 233),
    (0, 158, 115),
    (240, 228, 66),
    (0, 114, 178),
    (213, 94, 0),
    (204, 121, 167),
)
#: Share of white in the paler colours, which follow when these are used up.
PALER = (0.0, 0.45, 0.7)
#: Number of colours after which they repeat.
NUM_COLOURS = len(LABELS) * len(PALER)
#: Labels have these colours if there are at most this many, unless a picture says otherwise. More of them,
#: such as disparities, mostly have an order.
MOST_NAMED = 9

#: Most vertices of a network in a picture: with more of them none can be told from its neighbours.
MOST_VERTICES = 200
#: Most arcs of a network in a picture.
MOST_ARCS = 2000
#: Most cells of a matrix in a picture.
MOST_CELLS = 4_000_000
#: Names of vertices, rows and columns are written if there are at most this many.
MOST_NAMES = 40
#: From this size on, whole numbers are rounded, too.
LONGEST_WHOLE = 1e12
#: Where one time is more than this many times another one, bars have a logarithmic axis.
MOST_TIMES = 20
#: A longer name is cut.
LONGEST_NAME = 14


def axes_for(ax: Axes | None, *, size: tuple[float, float] = (6.4, 4.8)) -> Axes:
    """Return `ax`, or the axes of a new figure of pyplot, which notebooks show.

    MissingDependencyError: matplotlib is not installed.
    """
    if ax is not None:
        return ax
    with needed_for("plot()", "Matplotlib", "plot"):
        from matplotlib import pyplot
    axes: Axes
    _, axes = pyplot.subplots(figsize=size, layout="constrained")
    return axes


def label_colours(labels: Array) -> NDArray[np.uint8]:
    """Return red, green and blue of integers: black for 0 and below."""
    white = np.array(PALER)[:, np.newaxis, np.newaxis]
    table = np.concatenate((1 - white) * np.array(LABELS, np.float64) + 255 * white)
    table = np.rint(np.concatenate([np.zeros((1, 3)), table])).astype(np.uint8)
    found: NDArray[np.uint8] = table[np.where(labels > 0, (labels - 1) % NUM_COLOURS + 1, 0)]
    return found


def say(axes: Axes, text: str) -> Axes:
    """Write above a picture why what it shows is not optimal, if there is a reason, and return the axes."""
    if not text:
        return axes
    axes.set_title(text, fontsize=9, color=RED, parse_math=False)
    return axes


def check_size(what: str, count: int, most: int, parts: str) -> None:
    """Raise InvalidInputError if something is too large for a picture."""
    if count > most:
        raise InvalidInputError(f"{what} has {count:,} {parts}, and plot() draws at most {most:,}")


def short(name: object) -> str:
    """Return the name of a vertex, cut if it is long; Matplotlib must not parse it as a formula."""
    text = str(name)
    return text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 1]}…"


def number(value: float) -> str:
    """Return a number in few characters."""
    return f"{value:,.0f}" if 1e4 <= abs(value) < LONGEST_WHOLE and value == int(value) else f"{value:.4g}"


def draw_pieces(ax: Axes | None, x: Array, y: Array, x_name: str, y_name: str) -> Axes:
    """Draw a piecewise linear function by its values at the ends, with dots where the slope changes."""
    axes = axes_for(ax)
    axes.plot(x, y, color=BLUE)
    axes.plot(x[1:-1], y[1:-1], "o", color=RED)
    axes.set_xlabel(x_name)
    axes.set_ylabel(y_name)
    return axes


def draw_seconds(ax: Axes | None, rows: Sequence[tuple[str, float | None, str]]) -> Axes:
    """Draw times as bars with their names, the first one above; without a time, the text behind it in red."""
    axes = axes_for(ax, size=(6.4, max(1.6, 0.32 * len(rows) + 0.8)))
    times = [seconds for _, seconds, _ in rows if seconds]
    low, high = min(times, default=1.0), max(times, default=1.0)
    if high > MOST_TIMES * low:
        axes.set_xscale("log")
        axes.set_xlim(0.5 * low, 2.5 * high)
    else:
        axes.set_xlim(0, 1.2 * high)
    for place, (_, seconds, text) in enumerate(rows):
        if seconds:
            axes.barh(place, seconds, color=PALE_BLUE if seconds > low else BLUE)
        says = text
        if seconds:
            says = f"{seconds:.3g} s" if seconds >= 1 else f"{1000 * seconds:.3g} ms"
        at = (seconds or axes.get_xlim()[0], place)
        axes.annotate(
            says,
            at,
            (3, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
            color="0.2" if seconds else RED,
        )
    axes.set_yticks(range(len(rows)), [name for name, _, _ in rows], fontsize=8, parse_math=False)
    axes.invert_yaxis()
    axes.set_xlabel("seconds")
    axes.spines[["top", "right"]].set_visible(False)
    return axes
