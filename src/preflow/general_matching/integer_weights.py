"""The weights that are solved: integers, to be maximised, so that one edge more pays where it must.

The weight ``w`` of an edge becomes ``sign * w * 2**exponent``, rounded for floats, plus a *bonus*. The sign
is -1 to minimise. Where a matching of maximum cardinality is wanted, the bonus is so large that one edge more
outweighs all other differences. Elsewhere it is 0, and edges whose weight is not positive are left out.

Floats of very different sizes lose too much by one rounding. Then the solve is repeated for *finer* weights.
Definitions: the *slack* of an edge is what its duals (those of its ends, and of the blossoms that contain it)
exceed its weight by. What a matching falls short of the bound of the duals is the sum of the slacks of its
edges, of the duals of its free vertices, and of the duals of blossoms, each as often as the blossom could
have an edge more. The *gap* is what the best matching found falls short of the bound.

So a term above the gap is no part of the sum of any best matching. A limit K above the gap is taken, and what
a dual exceeds K by is its *excess*. The finer weights are the given ones less the excess of the duals of each
edge; those that are not positive are of no use. A best matching of the finer weights is one of the given
weights, since both bounds fall by the same excess. They are at most 2 K, and K for each blossom around an
edge: so they are rounded to much finer units. Edges with more slack than that drop out, whatever they weigh.

All this is exact: a finer weight is an integer times the old unit, plus what rounding had left of the given
weight. The proof is a sum of duals: the excesses of all steps, each with blossoms of its own, and the duals
of the last one. Any limits would make a proof that is valid; the right one makes it tight.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ..certify.blossoms import Family, check_weights, family_of
from ..certify.exact import most_bits, power_above, whole_and_rest
from ..errors import CostOverflowError, VerificationError
from ..graph.cost_network import is_integral
from ..graph.undirected import UndirectedGraph
from .solution import BlossomDuals

#: Solved weights are below two to this power.
BITS = 60
#: The smallest float that is not zero is two to this power.
SMALLEST_POWER = -1074


@dataclass(frozen=True)
class IntegerWeights:
    """The weights of a graph as they are solved."""

    #: shape (num_edges,): with the bonus. Edges of no use are not positive.
    values: NDArray[np.int64]
    bonus: int
    exponent: int  #: 0 where the input has integers
    #: shape (num_edges,): what rounding left of each weight, half a unit at most; None if nothing was rounded
    rest: NDArray[np.float64] | None = None

    def in_units(self, doubled: int) -> Fraction:
        """Return half of a number of units as a weight."""
        return Fraction(doubled) / Fraction(2) ** (self.exponent + 1)

    def largest_rest(self) -> float:
        """Return the largest size of what rounding left of a weight."""
        return 0.0 if self.rest is None else float(np.abs(self.rest).max(initial=0.0))


def integer_weights(graph: UndirectedGraph, *, maximize: bool, most_edges: bool) -> IntegerWeights:
    """Return the weights that are solved.

    CostOverflowError: integers are too large: they must stay below 2**60 in size, with `most_edges` below
    2**60 / n.
    """
    weight = graph.weight
    assert weight is not None
    loop = graph.tail == graph.head
    if loop.any():
        # No matching has a loop: its size does not matter.
        weight = np.where(loop, weight[loop.argmin()] if not loop.all() else 0, weight)
    if not most_edges:
        # Nor do those of edges whose weight is not positive.
        weight = np.maximum(weight, 0) if maximize else np.minimum(weight, 0)
    pairs = graph.num_vertices // 2 if most_edges else 0
    if is_integral(weight):
        values = weight.astype(np.int64)
        least, most = (int(values.min()), int(values.max())) if len(values) else (0, 0)
        if not maximize:
            least, most = -most, -least
        bonus = pairs * (most - least) + 1 - least if most_edges else 0
        if max(most + bonus, -least) < 2**BITS:
            return IntegerWeights((values if maximize else -values) + bonus, bonus, 0)
        if weight.dtype.kind == "i":
            size = max(abs(most), abs(least))
            limit = f"2**{BITS} divided by the number of vertices" if most_edges else f"2**{BITS}"
            raise CostOverflowError(f"weights of up to {size:,} are too large: they must stay below {limit}")
    # The bits of a weight: a sum of `pairs` weights then counts less than the bonus, and the bonus fits.
    bits = BITS - 2 - pairs.bit_length()
    exponent = bits - math.frexp(float(np.abs(weight).max()))[1]
    values, rest = whole_and_rest(weight if maximize else -weight, exponent)
    # By rounding, weights may differ by one unit more than their integers.
    least, most = int(values.min()), int(values.max())
    bonus = pairs * (most - least + 2) + 1 - least if most_edges else 0
    return IntegerWeights(values + bonus, bonus, exponent, rest if rest.any() else None)


def weight_of_floats(chosen: list[float], most_pairs: int, rest: float, up: float) -> tuple[float, float]:
    """Return the weight of a best matching of rounded weights, and the gap that rounding may have left.

    `chosen` has the weights of its pairs. Each weight was multiplied by `up` and rounded, by at most `rest`.
    """
    weight = math.fsum(chosen)
    gap = abs(math.fsum([*chosen, -weight]))
    if up < 1.0:  # the product may have lost bits by underflow
        rest += 2.0**SMALLEST_POWER
    gap += 2 * most_pairs * rest / up
    return weight, math.nextafter(gap * (1.0 + 2.0**-50), math.inf) if gap > 0.0 else 0.0


@dataclass(frozen=True)
class WeightProof:
    """Weights as they were solved, with duals that were checked."""

    weights: IntegerWeights
    duals: BlossomDuals
    family: Family  #: the blossoms
    sums: NDArray[np.int64]  #: shape (num_edges,): twice the sum of the duals at each edge
    doubled: int  #: twice the bound

    @classmethod
    def of(cls, graph: UndirectedGraph, weights: IntegerWeights, duals: BlossomDuals) -> WeightProof:
        """Check duals.

        VerificationError: they are no proof of the weights, see :mod:`preflow.certify.blossoms`.
        """
        family = family_of(graph, duals.parent)
        sums, doubled = family.sums(graph, duals.vertex, duals.blossom)
        check_weights(graph, weights.values, sums)
        return cls(weights, duals, family, sums, doubled)

    def bound(self, graph: UndirectedGraph) -> tuple[Fraction, Fraction]:
        """Return a bound of the weight of all matchings, before weights were rounded.

        And by how much an edge may weigh more than its duals allow.
        """
        bound, rest = self.weights.in_units(self.doubled), self.weights.rest
        if rest is None:
            return bound, Fraction(0)
        # Only an edge without slack can weigh more than its duals: half a unit is slack enough.
        rest = rest[(self.sums == 2 * self.weights.values) & (graph.tail != graph.head)]
        rest = rest[rest > 0]
        excess = Fraction(float(rest.max(initial=0.0)))
        return bound + min(graph.num_vertices // 2, len(rest)) * excess, excess


def limit_for(proof: WeightProof, gap: Fraction, excess: Fraction) -> int:
    """Return the limit for :func:`finer_weights` as a power of two, in half units of the weights.

    `excess` is what an edge may weigh more than its duals allow. The limit leaves room for what the next
    solve rounds.
    """
    power = power_above(2 * max(gap, excess / 2**25) / proof.weights.in_units(1))
    # Below one half unit, all duals above zero are at the limit; their sum at an edge must stay below half of
    # that unit. Otherwise the limit is one half unit.
    return power if power >= 0 or -power > (2 + len(proof.duals.blossom)).bit_length() else 0


def finer_weights(graph: UndirectedGraph, proof: WeightProof, power: int) -> tuple[IntegerWeights, Fraction]:
    """Return the finer weights for a limit, a power of two, and the bound of what was taken off.

    VerificationError: with this limit the finer weights are not exact.
    """
    if type(power) is not int or abs(power) > 4096:
        raise VerificationError(f"the limit of a step must be a power of two, got 2**{power!r}")
    weights, duals, sums = proof.weights, proof.duals, proof.sums
    shift, most = max(-power, 0), 1 << min(max(power, 0), BITS)
    kept_duals = np.minimum(duals.vertex, most), np.minimum(duals.blossom, most)
    kept, kept_bound = proof.family.sums(graph, *kept_duals)
    # The sums of `kept` have units of two to the power -unit, half a unit of the weights or less.
    unit = weights.exponent + 1 + shift
    slack = sums - 2 * weights.values
    rest = np.zeros(len(slack)) if weights.rest is None else weights.rest
    if not shift:
        values = kept - slack
        useful = values >= 0
    else:
        if int(kept.max(initial=0)) >= 1 << min(shift - 1, BITS) or unit > -SMALLEST_POWER:
            raise VerificationError(f"a limit of 2**{power} half units is too low for these duals")
        values, half = kept, math.ldexp(1.0, -weights.exponent - 1)
        # The difference is exact where it matters: elsewhere there is more slack than the duals allow.
        useful = (slack == 0) | ((slack == 1) & (rest >= half / 2))
        rest = np.where(slack == 1, rest - half, rest)
        useful &= rest > -np.ldexp(kept.astype(np.float64), -unit)
    useful &= graph.tail != graph.head
    values, rest = np.where(useful, values, 0), np.where(useful, rest, 0.0)
    exponent = BITS - 3 - most_bits(values, unit, rest)
    if exponent < unit or int(values.max(initial=0)) >= 2**BITS:
        raise VerificationError("the duals are too large for finer weights")
    whole, rest = whole_and_rest(rest, exponent)
    values = (values << (exponent - unit)) + whole
    useful &= values >= 0
    finer = IntegerWeights(np.where(useful, values, -1), weights.bonus, exponent, np.where(useful, rest, 0.0))
    return finer, weights.in_units(proof.doubled) - Fraction(kept_bound) / Fraction(2) ** unit
