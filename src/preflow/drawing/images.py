"""Images: pictures, regions of a cut, disparities with a colour bar, motions with their wheel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..errors import InvalidInputError
from .axes import MOST_NAMED, axes_for, label_colours, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Most items of a batch in a picture.
MOST_MASKS = 64


def draw_picture(ax: Axes | None, pixels: Array) -> Axes:
    """Draw an image of shape (h, w), from its least value to its largest, or (h, w, 3)."""
    height, width = pixels.shape[:2]
    axes = axes_for(ax, size=_size(height, width))
    axes.imshow(pixels, cmap="gray", interpolation="nearest")
    axes.set_axis_off()
    return axes


def draw_with_bar(ax: Axes | None, values: NDArray[np.float64], name: str) -> Axes:
    """Draw numbers as colours, with a colour bar; unknown ones are black."""
    axes = axes_for(ax, size=_size(values.shape[0], values.shape[1], bar=1.0))
    axes.set_facecolor("black")
    image = axes.imshow(
        np.where(np.isfinite(values), values, np.nan), cmap="viridis", interpolation="nearest"
    )
    axes.figure.colorbar(image, ax=axes, label=name, shrink=0.8)
    axes.set_xticks([])
    axes.set_yticks([])
    return axes


def draw_regions(ax: Axes | None, labels: Array, most: int = MOST_NAMED) -> Axes:
    """Draw the labels of a grid, shape (h, w), with a legend where there are at most `most`."""
    found = np.unique(labels)
    if len(found) > most:
        return draw_with_bar(ax, labels.astype(np.float64), "label")
    axes = axes_for(ax, size=_size(labels.shape[0], labels.shape[1], bar=1.0))
    from matplotlib.patches import Patch

    axes.imshow(label_colours(labels.astype(np.int64)), interpolation="nearest")
    colours = label_colours(found.astype(np.int64)) / 255
    handles = [Patch(color=colour, label=str(name)) for colour, name in zip(colours, found, strict=True)]
    axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False, title="label")
    axes.set_xticks([])
    axes.set_yticks([])
    return axes


def draw_sheet(ax: Axes | None, masks: Sequence[Array]) -> Axes:
    """Draw masks of one shape side by side, with their numbers."""
    if len(masks) > MOST_MASKS:
        raise InvalidInputError(
            f"the batch has {len(masks):,} items, and plot() draws at most {MOST_MASKS}: draw one, as "
            "result[0].plot() does"
        )
    height, width = masks[0].shape if len(masks) else (1, 1)
    columns = max(1, math.ceil(math.sqrt(len(masks) * height / width)))
    rows = max(1, math.ceil(len(masks) / columns))
    gap = 0.08 * max(height, width)
    step_x, step_y = width + gap, height + 2.5 * gap
    axes = axes_for(ax, size=_size(round(rows * step_y), round(columns * step_x)))
    for item, mask in enumerate(masks):
        x, y = item % columns * step_x, item // columns * step_y
        axes.imshow(
            label_colours(mask.astype(np.int64)),
            interpolation="nearest",
            extent=(x, x + width, y + height, y),
        )
        axes.text(x, y - 0.3 * gap, str(item), fontsize=8, va="bottom")
    axes.set_xlim(-gap, columns * step_x)
    axes.set_ylim(rows * step_y, -2.5 * gap)
    axes.set_aspect("equal")
    axes.set_axis_off()
    return axes


def draw_motion(ax: Axes | None, picture: Array, wheel: Array, largest: float) -> Axes:
    """Draw a flow in colours, beside it the colour wheel with the length of its full colours."""
    axes = draw_picture(ax, picture)
    inset = axes.inset_axes((1.02, 0.3, 0.22, 0.4))
    inset.imshow(wheel, interpolation="bilinear", extent=(-1, 1, 1, -1))
    inset.set_axis_off()
    inset.set_title(f"{number(largest)} pixels", fontsize=8)
    return axes


def plane_of(values: Array) -> Array:
    """Return a grid of one dimension as a row, of two as it is, of more its middle slices."""
    while values.ndim > 2:
        values = values[len(values) // 2]
    return values[np.newaxis] if values.ndim == 1 else values


def _size(height: int, width: int, bar: float = 0.0) -> tuple[float, float]:
    """Return the inches of a figure for an image."""
    scale = 5.0 / max(height, width, 1)
    return max(2.5, width * scale) + bar, max(1.5, height * scale)
