"""Rows and columns: a matching, costs with the pairs chosen, a transport plan, a block triangular form."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, SideLabels
from .axes import (
    BLUE,
    MOST_ARCS,
    MOST_CELLS,
    MOST_NAMES,
    MOST_VERTICES,
    PALE_BLUE,
    PALE_GREY,
    PALE_ORANGE,
    RED,
    axes_for,
    check_size,
    number,
    short,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Colours do not tell larger numbers apart: Matplotlib adds numbers up.
LARGEST_SHOWN = 1e300
#: Numbers are written into the cells of a matrix with at most this many rows and columns.
MOST_NUMBERS = 12
#: Blocks beyond this number are not outlined: the picture would be all outline.
MOST_OUTLINES = 500
#: A picture of the entries of a matrix has at most this many rows and columns of dots.
DOTS = 400


def draw_two_columns(
    ax: Axes | None,
    shape: tuple[int, int],
    edges: tuple[Array, Array],
    chosen: NDArray[np.bool_],
    cover: tuple[NDArray[np.bool_], NDArray[np.bool_]] | None,
    labels: tuple[Sequence[Hashable] | None, Sequence[Hashable] | None],
) -> Axes:
    """Draw a bipartite graph as two columns of vertices; the matching is thick, a cover has squares."""
    from_row, to_column = (end.astype(np.int64) for end in edges)
    check_size("the graph", sum(shape), MOST_VERTICES, "vertices")
    check_size("the graph", len(from_row), MOST_ARCS, "edges")
    tallest = max(*shape, 2)
    axes = axes_for(ax, size=(5.0, min(12.0, max(3.0, 0.45 * tallest))))
    from matplotlib.collections import LineCollection

    heights = [-(np.arange(size) + 0.5) * tallest / max(size, 1) for size in shape]
    left, right = (np.column_stack([np.full(len(y), float(x)), y]) for x, y in enumerate(heights))
    lines = np.stack([left[from_row], right[to_column]], axis=1)
    for among, colour, width in ((~chosen, PALE_GREY, 1.0), (chosen, RED, 2.5)):
        axes.add_collection(LineCollection(list(lines[among]), colors=colour, linewidths=width, zorder=1))
    matched, column_matched = (np.zeros(size, dtype=bool) for size in shape)
    matched[from_row[chosen]] = column_matched[to_column[chosen]] = True
    size = 90 if tallest <= MOST_NAMES else 25
    covered = cover or tuple(np.zeros(each, dtype=bool) for each in shape)
    for points, paired, in_cover in zip((left, right), (matched, column_matched), covered, strict=True):
        for among, marker, inside in ((~in_cover, "o", PALE_BLUE), (in_cover, "s", PALE_ORANGE)):
            fill = np.where(paired[among], inside, "white").tolist()
            x, y = points[among].T
            axes.scatter(x, y, s=size, c=fill, marker=marker, edgecolors="0.35", zorder=3)
    if tallest <= MOST_NAMES:
        for points, names, align, shift in zip(
            (left, right), labels, ("right", "left"), (-9, 9), strict=True
        ):
            for place, point in enumerate(points.tolist()):
                text = short(place if names is None else names[place])
                at = (point[0], point[1])
                axes.annotate(
                    text,
                    at,
                    (shift, 0),
                    textcoords="offset points",
                    ha=align,
                    va="center",
                    fontsize=9,
                    parse_math=False,
                )
    axes.set_xlim(-0.45, 1.45)
    axes.set_ylim(-tallest - 0.2, 0.2)
    axes.set_axis_off()
    return axes


def draw_costs(
    ax: Axes | None, costs: NDArray[np.float64], row: Array, column: Array, labels: SideLabels
) -> Axes:
    """Draw costs as a heat map, with the pairs marked; pairs that are not allowed (NaN) are hatched."""
    small = max(costs.shape) <= MOST_NAMES
    # Grey cells, where pairs are small dots.
    axes = _heat_map(ax, costs, "cost", "viridis" if small else "Greys", labels)
    if small:
        from matplotlib.patches import Rectangle

        for i, j in zip(row.tolist(), column.tolist(), strict=True):
            corner = (j - 0.45, i - 0.45)
            axes.add_patch(Rectangle(corner, 0.9, 0.9, fill=False, edgecolor=RED, linewidth=2.5, zorder=3))
    else:
        dot = float(np.clip(6e5 / max(costs.shape) ** 2, 5, 60))
        axes.scatter(column, row, s=dot, c=RED, edgecolors="white", linewidths=0.6, zorder=3)
    _write_numbers(axes, costs)
    return axes


def draw_plan(ax: Axes | None, plan: NDArray[np.float64], labels: SideLabels) -> Axes:
    """Draw a transport plan as a heat map of the masses."""
    axes = _heat_map(ax, np.where(plan == 0, np.nan, plan), "mass", "Blues", labels, hatch=False)
    _write_numbers(axes, np.where(plan == 0, np.nan, plan))
    return axes


def draw_rounding(ax: Axes | None, values: Array, given: NDArray[np.float64]) -> Axes:
    """Draw integers as a heat map of how far they lie above what they were rounded from."""
    axes = _heat_map(ax, values - given, "rounded up by", "RdBu_r", None)
    for image in axes.images:
        image.set_clim(-1, 1)
    if max(values.shape, default=0) <= MOST_NUMBERS:
        for (i, j), value in np.ndenumerate(values):
            axes.text(j, i, number(value), ha="center", va="center", fontsize=8)
    return axes


def draw_blocks(
    ax: Axes | None,
    entries: tuple[Array, Array],
    orders: tuple[Array, Array],
    blocks: tuple[Array, Array],
    coarse: tuple[Array, Array],
) -> Axes:
    """Draw the entries of a matrix in block triangular form: blocks outlined, coarse parts shaded."""
    axes = axes_for(ax, size=(5.5, 5.5))
    from matplotlib.patches import Rectangle
    from matplotlib.ticker import MaxNLocator

    shape = len(orders[0]), len(orders[1])
    places = []
    for order, end in zip(orders, entries, strict=True):
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        places.append(place[end.astype(np.int64)])
    for limits, colour, width, fill in (
        (coarse, PALE_GREY, 0.0, True),
        (coarse if len(blocks[0]) - 1 > MOST_OUTLINES else blocks, RED, 1.2, False),
    ):
        rows, columns = (each.tolist() for each in limits)
        for i in range(len(rows) - 1):
            corner = (columns[i] - 0.5, rows[i] - 0.5)
            axes.add_patch(
                Rectangle(
                    corner,
                    columns[i + 1] - columns[i],
                    rows[i + 1] - rows[i],
                    facecolor=colour if fill else "none",
                    edgecolor="none" if fill else colour,
                    linewidth=width,
                    alpha=0.5 if fill else 1,
                    zorder=1 + width,
                )
            )
    if max(*shape, 1) <= DOTS:
        dot = float(np.clip(2e4 / max(*shape, 1) ** 2, 0.6, 120))
        axes.scatter(places[1], places[0], s=dot, color=BLUE, marker="s", linewidths=0, zorder=2)
    else:
        counts, _, _ = np.histogram2d(
            places[0] + 0.5, places[1] + 0.5, bins=DOTS, range=((0, shape[0]), (0, shape[1]))
        )
        extent = (-0.5, shape[1] - 0.5, shape[0] - 0.5, -0.5)
        shade = np.where(counts > 0, np.log1p(counts), np.nan)
        low = -np.log1p(counts.max())  # So that even a single entry is visible.
        axes.imshow(
            shade, cmap="Blues", vmin=low, extent=extent, aspect="auto", interpolation="nearest", zorder=2
        )
    axes.set_xlim(-0.5, shape[1] - 0.5)
    axes.set_ylim(shape[0] - 0.5, -0.5)
    axes.set_aspect("equal" if 0.2 < shape[0] / max(shape[1], 1) < 5 else "auto")
    for one in (axes.xaxis, axes.yaxis):
        one.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("columns")
    axes.set_ylabel("rows")
    return axes


def _heat_map(
    ax: Axes | None,
    values: NDArray[np.float64],
    name: str,
    colours: str,
    labels: SideLabels,
    *,
    hatch: bool = True,
) -> Axes:
    n, m = values.shape
    height = min(9.0, max(2.6, 0.42 * n)) if n <= MOST_NAMES else 5.0
    axes = axes_for(ax, size=(min(12.0, max(4.0, 0.5 * m + 1.5)) if m <= MOST_NAMES else 6.4, height))
    if hatch and np.isnan(values).any():
        axes.set_facecolor("0.9")
        axes.patch.set(hatch="////", edgecolor="0.75")
    known = np.isfinite(values)
    values = np.clip(values, -LARGEST_SHOWN, LARGEST_SHOWN)
    if known.any():
        low, high = float(values[known].min()), float(values[known].max())
        low = min(low, 0.0) if name == "mass" else low
        same_cells = 0.2 < n / m < 5
        image = axes.imshow(
            np.where(known, values, np.nan),
            cmap=colours,
            vmin=low,
            vmax=high if high > low else low + 1,
            interpolation="nearest",
            aspect="equal" if same_cells else "auto",
        )
        axes.figure.colorbar(image, ax=axes, label=name, shrink=0.8)
    for side, count, set_ticks in ((0, n, axes.set_yticks), (1, m, axes.set_xticks)):
        if count <= MOST_NAMES:
            names = range(count) if labels is None else labels[side]
            texts = [short(each) for each in names]
            turn = 45 if side and max((len(text) for text in texts), default=0) > 4 else 0
            set_ticks(range(count), texts, fontsize=8, rotation=turn, parse_math=False)
    axes.set_xlabel("column")
    axes.set_ylabel("row")
    return axes


def _write_numbers(axes: Axes, values: NDArray[np.float64]) -> None:
    if max(values.shape) > MOST_NUMBERS:
        return
    image = axes.images[0] if axes.images else None
    for (i, j), value in np.ndenumerate(values):
        if np.isfinite(value) and image is not None:
            red, green, blue, _ = image.to_rgba(np.array([value]))[0]
            dark = 0.3 * red + 0.6 * green + 0.1 * blue < 0.5
            axes.text(j, i, number(value), ha="center", va="center", fontsize=8, color="w" if dark else "k")


def check_cells(shape: tuple[int, ...]) -> None:
    """Raise InvalidInputError if a matrix is too large for a picture."""
    check_size("the matrix", shape[0] * shape[1], MOST_CELLS, "cells")
