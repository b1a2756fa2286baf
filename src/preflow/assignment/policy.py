"""The choice that method="auto" makes, in rules that anyone can read, all of them measured."""

from __future__ import annotations

import numpy as np

from ..graph.costs import DenseCosts, SparseCosts

#: From so many rows on cost scaling is faster for sparse costs, ...
SPARSE_ROWS = 1000
#: ... and for dense ones of few patterns.
DENSE_ROWS = 400
#: Where there are more columns to a row than this, rows hardly get into each other's way.
MOST_COLUMNS = 1.1
#: Rows and columns that are looked at for patterns, ...
SAMPLE = 32
#: ... and how many patterns are few: for independent costs these make half of the variance of such a sample.
FEW = 5
#: The share of the variance that few patterns make where costs are structured.
STRUCTURED = 0.9


def choose(costs: DenseCosts | SparseCosts) -> tuple[str, str]:
    """Return the name of the method for costs, and why."""
    items, n, m = costs.shape
    wide = m > MOST_COLUMNS * n
    if isinstance(costs, SparseCosts):
        if n >= SPARSE_ROWS and not wide:
            return "serial-cost-scaling", f"sparse costs, {SPARSE_ROWS} rows or more: cost scaling"
        return (
            "serial-shortest-path",
            "sparse costs, few rows or many columns more: shortest augmenting paths",
        )
    if items == 1 and n >= DENSE_ROWS and not wide:
        share = share_of_few_patterns(costs)
        if share >= STRUCTURED:
            return (
                "serial-cost-scaling",
                f"dense, {share:.0%} of their variance in {FEW} patterns, as in distances: cost scaling",
            )
        return (
            "serial-shortest-path",
            f"dense, {share:.0%} of their variance in {FEW} patterns, as if independent: shortest paths",
        )
    return "serial-shortest-path", "dense costs, few rows, many columns more or many matrices: shortest paths"


def share_of_few_patterns(costs: DenseCosts) -> float:
    """Return the share of the variance of a sample of costs that is of low rank.

    Means of rows and columns are taken out: they do not matter to an assignment. Where prices of neighbouring
    rows pull each other along, as with distances of points or products, few patterns make all of the rest.
    """
    rows, columns = (np.linspace(0, size - 1, SAMPLE).astype(np.int64) for size in costs.shape[1:])
    sample = costs.values[0][np.ix_(rows, columns)].astype(np.float64)
    finite = np.isfinite(sample)
    if not finite.any():
        return 0.0
    sample = np.where(finite, sample, sample[finite].max())
    sample /= max(float(np.abs(sample).max()), np.finfo(np.float64).tiny)
    sample -= sample.mean(axis=0)
    sample -= sample.mean(axis=1)[:, None]
    squares = np.linalg.svd(sample, compute_uv=False) ** 2
    total = float(squares.sum())
    return float(squares[:FEW].sum()) / total if total > np.finfo(np.float64).eps else 0.0
