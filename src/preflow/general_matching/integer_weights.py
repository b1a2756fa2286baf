"""The weights that are solved: integers, to be maximised, so that one edge more pays where it must.

The weight ``w`` of an edge becomes ``sign * w * 2**exponent``, rounded for floats, plus a *bonus*. The sign
is -1 to minimise. Where a matching of maximum cardinality is wanted, the bonus is so large that one edge more
outweighs all other differences. Elsewhere it is 0, and edges whose weight is not positive are left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..errors import CostOverflowError
from ..graph.cost_network import is_integral
from ..graph.undirected import UndirectedGraph

#: Solved weights are below two to this power.
BITS = 60


@dataclass(frozen=True)
class IntegerWeights:
    """The weights of a graph as they are solved.

    Attributes
    ----------
    values : ndarray of int64, shape (num_edges,)
        With the bonus.
    bonus : int
    exponent : int
        0 where the input has integers.
    exact : bool
        Whether no weight was rounded.
    """

    values: NDArray[np.int64]
    bonus: int
    exponent: int
    exact: bool


def integer_weights(graph: UndirectedGraph, *, maximize: bool, most_edges: bool) -> IntegerWeights:
    """Return the weights that are solved.

    Raises
    ------
    CostOverflowError
        Integers are too large: they must stay below 2**60 in size, with `most_edges` below 2**60 / n.
    """
    weight = graph.weight
    assert weight is not None
    if not most_edges:
        # Edges whose weight is not positive are of no use: their sizes do not matter.
        weight = np.maximum(weight, 0) if maximize else np.minimum(weight, 0)
    pairs = graph.num_vertices // 2
    # The bits of a weight: a sum of `pairs` weights then counts less than the bonus, and the bonus fits.
    bits = BITS - 2 - (pairs.bit_length() if most_edges else 0)
    if is_integral(weight):
        values, exponent, exact = weight.astype(np.int64), 0, True
    else:
        values, exponent, exact = _rounded(weight, bits)
    if not len(values):
        return IntegerWeights(values, 0, exponent, exact)
    least, most = int(values.min()), int(values.max())
    if not maximize:
        least, most = -most, -least
    bonus = pairs * (most - least) + 1 - least if most_edges else 0
    if max(most + bonus, -least) >= 2**BITS:
        size = max(abs(most), abs(least))
        limit = f"2**{BITS} divided by the number of vertices" if most_edges else f"2**{BITS}"
        raise CostOverflowError(f"weights of up to {size:,} are too large: they must stay below {limit}")
    return IntegerWeights((values if maximize else -values) + bonus, bonus, exponent, exact)


def _rounded(weight: Array, bits: int) -> tuple[NDArray[np.int64], int, bool]:
    """Return weights times a power of two as integers with at most `bits` bits, and whether that is exact."""
    exponent = bits - math.frexp(float(np.abs(weight).max()))[1]
    values = np.rint(np.ldexp(weight, exponent))
    return values.astype(np.int64), exponent, bool((np.ldexp(values, -exponent) == weight).all())


def rounding_gap(num_vertices: int, weights: IntegerWeights) -> float:
    """Return by how much rounding may change the weight of the best matching: 0 for integers."""
    # Each of n / 2 edges of two matchings is rounded by half a unit at most.
    return 0.0 if weights.exact else math.ldexp(num_vertices // 2, -weights.exponent)
