"""A picture of a sparse matrix before and after it is permuted to block triangular form."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from ..errors import MissingDependencyError

if TYPE_CHECKING:
    from ..graph.bipartite import BipartiteGraph
    from ..matching.decomposition import DulmageMendelsohn

#: Pixels of a matrix along its longer side; larger ones are drawn by how many entries a pixel has.
PIXELS = 600
#: The outlines of more blocks than these would hide the entries.
MOST_OUTLINES = 200


def require_matplotlib() -> None:
    """Raise MissingDependencyError unless Matplotlib is installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise MissingDependencyError("a picture of a matrix", "Matplotlib", "plot") from None


def draw_spy(graph: BipartiteGraph, blocks: DulmageMendelsohn, file: str) -> None:
    """Draw the entries of a matrix as it is, and in block triangular form with its blocks outlined."""
    import numpy as np
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    from ..io.files import replacing

    row = np.repeat(np.arange(graph.num_rows), np.diff(graph.rows.first).astype(np.int64))
    column = graph.rows.neighbour.astype(np.int64)
    places = []
    for order in (blocks.row_order, blocks.column_order):
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        places.append(place)
    figure = Figure(figsize=(11, 5.5), layout="constrained")
    before, after = figure.subplots(1, 2)
    _draw_entries(before, graph.shape, row, column)
    before.set_title(f"{graph.num_rows:,} x {graph.num_columns:,}, {graph.num_edges:,} entries")
    _draw_entries(after, graph.shape, places[0][row], places[1][column])
    after.set_title(f"structural rank {blocks.matching.cardinality:,}, {blocks.num_blocks:,} diagonal blocks")
    limits = (blocks.row_blocks, blocks.column_blocks)
    if blocks.num_blocks > MOST_OUTLINES:
        limits = (blocks.coarse_rows, blocks.coarse_columns)
    rows, columns = (each.tolist() for each in limits)
    for i in range(len(rows) - 1):
        corner = (columns[i] - 0.5, rows[i] - 0.5)
        size = (columns[i + 1] - columns[i], rows[i + 1] - rows[i])
        after.add_patch(Rectangle(corner, *size, fill=False, edgecolor="tab:red", linewidth=0.8))
    picture = io.BytesIO()
    figure.savefig(picture, dpi=130, format="png")
    with replacing(file) as output:
        output.write(picture.getvalue())


def _draw_entries(axes: Any, shape: tuple[int, int], row: Any, column: Any) -> None:
    import numpy as np

    scale = max(*shape, 1) / PIXELS
    bins = [max(1, round(size / max(scale, 1.0))) for size in shape]
    extent = ((0, max(shape[0], 1)), (0, max(shape[1], 1)))
    counts, _, _ = np.histogram2d(row + 0.5, column + 0.5, bins=bins, range=extent)
    axes.imshow(
        np.where(counts > 0, np.log1p(counts), np.nan),
        cmap="Blues",
        # Even a single entry is to be seen.
        vmin=-np.log1p(counts.max(initial=0)),
        interpolation="nearest",
        extent=(-0.5, extent[1][1] - 0.5, extent[0][1] - 0.5, -0.5),
    )
    axes.set_xlabel("column")
    axes.set_ylabel("row")
