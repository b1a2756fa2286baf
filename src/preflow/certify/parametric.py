"""The proof that a chain of cuts is minimum for all values of a parameter.

The vertices between the terminals are divided into pieces in an order. Piece `i` has a value `l(i)` of the
parameter, and these values do not decrease. The first piece belongs to the smallest value of the range, and
the last one to the largest. In the *network of a piece*, earlier pieces are part of the source, and later
ones part of the sink. Each piece has a flow in its network at its value. In the first piece it saturates all
arcs to the sink, in the last one all arcs from the source, in the others both.

Claim: at the value of piece `i`, the cut whose source side is all pieces before `i` is minimum, and so is the
one that has piece `i` as well. Proof: saturate the arcs from earlier to later pieces. A flow of an earlier
piece `j` saturates the arcs to the sink at `l(j)`. At `l(i)` those have no more capacity, and the arcs from
the source no less, so the flow can be lowered until it saturates them at `l(i)`. In the same way the flow of
a later piece can be lowered to the arcs from the source. Together these are a flow that saturates both cuts.

Between two neighbouring values the minimum is a concave function that has the value of one and the same cut
at both ends, so it is the value of this cut.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..errors import VerificationError
from .fields import check_array

#: No sum of a proof in int64 may pass this.
MOST = 2.0**62


@dataclass(frozen=True)
class LinearNetwork:
    """A network between a source and a sink whose terminal capacities depend on a parameter."""

    #: shape (m,): the arcs between vertices, none of them twice, sorted by tail and head
    tail: NDArray[np.int64]
    head: NDArray[np.int64]
    capacity: Array  #: int64 or Python integers, shape (m,)
    #: int64 or Python integers, shape (n,): the capacity from the source to each vertex is
    #: ``source + parameter * source_slope``
    source: Array
    source_slope: Array
    #: int64 or Python integers, shape (n,): the capacity from each vertex to the sink is
    #: ``sink - parameter * sink_slope``
    sink: Array
    sink_slope: Array

    def of_any_size(self) -> LinearNetwork:
        """Return the same network with Python integers."""
        numbers = (self.capacity, self.source, self.source_slope, self.sink, self.sink_slope)
        return LinearNetwork(self.tail, self.head, *(values.astype(object) for values in numbers))


class PieceFlows(NamedTuple):
    """The flows in the networks of all pieces."""

    piece: NDArray[np.int64]  #: shape (n,): the number of the piece of each vertex
    #: numerator, denominator: int64 or Python integers, shape (number of pieces,): the value of the parameter
    #: of each piece; the denominators are positive
    numerator: Array
    denominator: Array
    tail: NDArray[np.int64]
    head: NDArray[np.int64]
    #: int64 or Python integers: where positive amounts flow within pieces, in units of one divided by the
    #: denominator
    amount: Array

    def of_any_size(self) -> PieceFlows:
        """Return the same flows with Python integers."""
        numbers = {name: getattr(self, name).astype(object) for name in NUMBERS}
        return self._replace(**numbers)


#: The fields of :class:`PieceFlows` that may be integers of any size.
NUMBERS = ("numerator", "denominator", "amount")


def check_piece_fields(flows: object) -> None:
    """Check the types and shapes of the fields, and that no arc has an end beyond the vertices.

    VerificationError: they are others.
    """
    if not isinstance(flows, PieceFlows):
        raise VerificationError("the proof is not one of parametric cuts")
    for names in (("piece",), ("numerator", "denominator"), ("tail", "head", "amount")):
        for name in names:
            values, length = getattr(flows, name), np.shape(getattr(flows, names[0]))
            dtypes = (np.int64, object) if name in NUMBERS else (np.int64,)
            check_array(np, values, name, length if len(length) == 1 else (-1,), *dtypes)
            if values.dtype == object and not all(type(value) is int for value in values):
                raise VerificationError(f"{name} has an entry that is no integer")
    for ends in (flows.tail, flows.head):
        if len(ends) and not 0 <= ends.min() <= ends.max() < len(flows.piece):
            raise VerificationError("the flow has an arc that the network does not have")
    if len(flows.numerator) < 2 or not (flows.denominator > 0).all():
        raise VerificationError("a denominator is not positive")


def check_piece_flows(network: LinearNetwork, flows: PieceFlows) -> None:
    """Check the proof: see the module's docstring; linear time but for sorting.

    The fields of the flows have been checked by :func:`check_piece_fields`. VerificationError: it proves
    nothing; the message says where it fails.
    """
    n = len(network.source)
    piece, numerator, denominator = flows.piece, flows.numerator, flows.denominator
    last = len(numerator) - 1
    if piece.shape != (n,) or denominator.shape != numerator.shape or last < 1:
        raise VerificationError("the pieces do not fit the network")
    if n and (piece.min() < 0 or piece.max() > last):
        raise VerificationError("a vertex is in no piece")
    if (denominator <= 0).any():
        raise VerificationError("a denominator is not positive")
    values = list(zip(numerator.tolist(), denominator.tolist(), strict=True))
    if any(p * s > r * q for (p, q), (r, s) in pairwise(values)):
        raise VerificationError("the values of the pieces decrease")
    if not _fits_int64(network, flows):
        network, flows = network.of_any_size(), flows.of_any_size()
    q, p = flows.denominator[piece], flows.numerator[piece]
    # Capacities from earlier and to later pieces.
    upward = piece[network.tail] < piece[network.head]
    source, sink = network.source.copy(), network.sink.copy()
    np.add.at(source, network.head[upward], network.capacity[upward])
    np.add.at(sink, network.tail[upward], network.capacity[upward])
    source = q * source + p * network.source_slope
    sink = q * sink - p * network.sink_slope
    for what, capacity in (("source", source), ("sink", sink)):
        if (capacity < 0).any():
            raise VerificationError(
                f"the capacity of vertex {int(capacity.argmin())} at the {what} is negative"
            )
    # The flow obeys the capacities of arcs.
    if (piece[flows.tail] != piece[flows.head]).any() or (flows.amount <= 0).any():
        raise VerificationError("the flow leaves a piece, or an amount is not positive")
    keys = network.tail * n + network.head
    wanted = flows.tail * n + flows.head
    if len(np.unique(wanted)) < len(wanted):
        raise VerificationError("the flow has an arc twice")
    place = np.searchsorted(keys, wanted)
    if len(wanted) and (len(keys) == 0 or (place == len(keys)).any() or (keys[place] != wanted).any()):
        raise VerificationError("the flow has an arc that the network does not have")
    if (flows.amount > q[flows.tail] * network.capacity[place]).any():
        raise VerificationError("the flow is larger than the capacity of an arc")
    # What is left of each vertex's supply reaches the sink.
    left = source.copy()
    np.subtract.at(left, flows.tail, flows.amount)
    np.add.at(left, flows.head, flows.amount)
    wrong = left != sink
    wrong[piece == 0] = (left < sink)[piece == 0]
    wrong[piece == last] = ((left < 0) | (left > sink))[piece == last]
    if wrong.any():
        raise VerificationError(f"the flow at vertex {int(wrong.argmax())} saturates no cut")


def _fits_int64(network: LinearNetwork, flows: PieceFlows) -> bool:
    """Return whether all numbers are int64, and no sum of the proof can wrap."""
    if any(values.dtype != np.int64 for values in (*vars(network).values(), *flows)):
        return False
    total = sum(
        float(np.abs(part).sum(dtype=np.float64)) for part in (network.capacity, network.source, network.sink)
    )
    slopes = float((network.source_slope + network.sink_slope).sum(dtype=np.float64))
    largest = total * float(flows.denominator.max()) + slopes * float(np.abs(flows.numerator).max())
    # Each piece was scaled on its own, so look closer if the rough bound is too large.
    if largest < MOST:
        return bool((flows.amount < MOST).all())
    q, p = flows.denominator.astype(float), np.abs(flows.numerator.astype(float))
    count = len(q)
    size = np.bincount(flows.piece, (abs(network.source) + abs(network.sink)).astype(float), count)
    tail, head, capacity = (
        flows.piece[network.tail],
        flows.piece[network.head],
        network.capacity.astype(float),
    )
    size += np.bincount(tail, np.where(tail <= head, capacity, 0.0), count)
    size += np.bincount(head, np.where(tail < head, capacity, 0.0), count)
    slope = np.bincount(flows.piece, (network.source_slope + network.sink_slope).astype(float), count)
    return bool((q * size + p * slope < MOST).all() and (flows.amount < MOST).all())
