"""Phase unwrapping: the whole turns that a picture of angles lacks, by minimum-cost flow.

Costantini, "A novel phase unwrapping method based on network programming", IEEE Transactions on Geoscience
and Remote Sensing 36 (1998).

The difference of two neighbouring pixels, wrapped to half a turn, is right except where the true phase
changes by more than half a turn. The sum of the differences around a square of four pixels is a whole number
of turns, its *residue*, and is zero if all four are right. The turns to add to the differences are a flow
between the squares that cancels all residues; everything outside the picture is one more square. The flow of
least cost changes the fewest differences, or those of the least weight. All squares
at a hole of the picture are one vertex, and so are those at its border.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..certify.fields import check_kind, checked_host_array
from ..checks import check_finite
from ..drawing.images import draw_with_bar
from ..errors import InvalidInputError, VerificationError
from ..graph.cost_network import CostNetwork
from ..graph.placement import host_array
from ..method_names import DeviceName, FlowMethodName
from ..mincost.api import min_cost_flow
from ..mincost.result import MinCostFlowResult
from ..solving.drawn import DrawnResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TURN = 2 * np.pi
#: Beyond this angle, float64 cannot tell a thousandth of a radian.
LARGEST = 2.0**40


@dataclass(frozen=True, eq=False, repr=False)
class UnwrappedPhase(DrawnResult):
    """A picture of phases without jumps of whole turns, where that is possible.

    Attributes
    ----------
    phase : ndarray of float64, shape (h, w)
        The given phase plus whole turns; NaN in holes. Holes may separate pieces, whose pixels are linked by
        their sides. In each piece the first pixel, by rows, is unchanged.
    turns : ndarray of int64, shape (h, w)
        The number of turns that were added; 0 in holes.
    flow : MinCostFlowResult
        The flow between squares.
    """

    phase: NDArray[np.float64]
    turns: NDArray[np.int64]
    flow: MinCostFlowResult
    _given: NDArray[np.float64]

    def verify(self) -> None:
        """Prove that no other correction costs less, and compute the turns from the flow again."""
        check_kind(self.flow, "flow", MinCostFlowResult)
        self.flow.verify()
        angles, network = self._given, self.flow.network
        phase = checked_host_array(self.phase, "phase", angles.shape, np.float64)
        turns = checked_host_array(self.turns, "turns", angles.shape, np.int64)
        expected = _network(angles, np.ones(angles.shape, np.int64))
        for name in ("tail", "head", "supply", "undirected"):
            if not np.array_equal(getattr(network, name), getattr(expected, name)):
                raise VerificationError("the flow is not one between the squares of this picture")
        found = _unwrapped(angles, self.flow)
        if not np.array_equal(phase, found[0], equal_nan=True) or not np.array_equal(turns, found[1]):
            raise VerificationError("the turns do not follow from the flow")

    @property
    def corrections(self) -> int | float:
        """The sum of the weights of all differences that were changed, times the turns of the change."""
        return self.flow.cost

    def _draw(self, ax: Axes | None) -> Axes:
        return draw_with_bar(ax, self.phase, "phase in radians")

    def _summary(self) -> str:
        height, width = self.phase.shape
        spread = int(self.turns.max(initial=0)) - int(self.turns.min(initial=0))
        return f"{height} x {width}, {spread} turns, corrections {self.corrections:,}"


def unwrap_phase(
    phase: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    method: FlowMethodName | str = "auto",
    device: DeviceName = "auto",
    threads: int | None = None,
    time_limit: float | None = None,
) -> UnwrappedPhase:
    """Add whole turns to a picture of angles, so that few neighbours differ by more than half a turn.

    Parameters
    ----------
    phase : array_like, shape (h, w)
        Angles in radians; whole turns do not matter. NaN and the masked pixels of a masked array are holes.
    weights : array_like, shape (h, w), optional
        How reliable each pixel is, not negative; bools are 0 and 1. The weight of a difference is the smaller
        one of its two pixels. Default: all 1. The value of a pixel of weight 0 does not matter, but it has a
        phase.
    mask : array_like of bool, shape (h, w), optional
        True for pixels that take part; the others are holes.
    method, device, threads, time_limit
        As for :func:`preflow.min_cost_flow`.

    Returns
    -------
    UnwrappedPhase

    Raises
    ------
    InvalidInputError
        No picture of numbers, an infinite one, weights or a mask of another shape, or a negative weight.
    NotOptimalError
        The time limit came first.

    Notes
    -----
    The least total correction in the sense of the L1 norm, of each piece between holes. Pieces are not tied:
    between them whole turns may be missing. Time is that of a minimum-cost flow in a grid of
    ``(h - 1) * (w - 1)`` vertices. scikit-image's function of the same name sorts pixels by reliability
    instead, which is faster and minimises nothing.

    Examples
    --------
    >>> import numpy as np
    >>> truth = np.linspace(0, 20, 30) + np.zeros((10, 1))
    >>> result = unwrap_phase(np.angle(np.exp(1j * truth)))
    >>> bool(np.allclose(result.phase, truth))
    True
    >>> result = unwrap_phase([[3.0, -3.0, np.nan, 3.0, -3.0]])
    >>> result.turns
    array([[0, 1, 0, 0, 1]])
    """
    angles = _checked_phase(phase, mask)
    quality = _checked_weights(weights, np.isnan(angles))
    network = _network(angles, quality)
    result = min_cost_flow(network, method=method, device=device, threads=threads, time_limit=time_limit)
    _ = result.cost
    unwrapped, added = _unwrapped(angles, result)
    return UnwrappedPhase(unwrapped, added, result, angles)


def _missing(angles: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the turns that wrapping adds to differences along rows and along columns; NaN beside holes."""
    return -np.rint(np.diff(angles, axis=1) / TURN), -np.rint(np.diff(angles, axis=0) / TURN)


def _network(angles: NDArray[np.float64], quality: NDArray[Any]) -> CostNetwork:
    """Return the squares as a network: an arc over each difference, first those along rows.

    A difference along a row lies between the square below it, the tail, and that above; one along a column
    between the square on its left, the tail, and that on its right. The last vertices are the outside and
    the holes.
    """
    from scipy.ndimage import label

    across, down = _missing(angles)
    in_row, in_column = ~np.isnan(across), ~np.isnan(down)
    holes, count = label(np.pad(np.isnan(angles), 1, constant_values=True), np.ones((3, 3)))
    above = np.maximum(holes[:-1], holes[1:])
    square = np.maximum(above[:, :-1], above[:, 1:]).astype(np.int64)
    whole = square == 0
    size = np.count_nonzero(whole)
    square += size - 1
    square[whole] = np.arange(size)
    tail = np.concatenate([square[1:, 1:-1][in_row], square[1:-1, :-1][in_column]])
    head = np.concatenate([square[:-1, 1:-1][in_row], square[1:-1, 1:][in_column]])
    missing = np.concatenate([across[in_row], down[in_column]])
    supply = np.bincount(head, missing, size + count) - np.bincount(tail, missing, size + count)
    cost = np.concatenate(
        [
            np.minimum(quality[:, :-1], quality[:, 1:])[in_row],
            np.minimum(quality[:-1], quality[1:])[in_column],
        ]
    )
    return CostNetwork.from_arrays(
        tail, head, cost=cost, supply=supply.astype(np.int64), undirected=True, num_vertices=size + count
    )


def _unwrapped(
    angles: NDArray[np.float64], flow: MinCostFlowResult
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the phases, and the turns that were added, given the flow between squares.

    Turns are added up along runs of pixels in rows, then from run to run.
    """
    across, down = _missing(angles)
    in_row, in_column, inside = ~np.isnan(across), ~np.isnan(down), ~np.isnan(angles)
    turns, count = np.rint(np.asarray(flow.flow)), np.count_nonzero(in_row)
    across[in_row] += turns[:count]
    down[in_column] += turns[count:]
    begins, first = inside.copy(), in_column.copy()
    begins[:, 1:] &= ~in_row
    first[:, 1:] &= ~(in_column[:, :-1] & in_row[:-1] & in_row[1:])  # one link of two runs is enough
    run = np.cumsum(begins).reshape(angles.shape)
    along = np.zeros(angles.shape)
    np.cumsum(np.where(in_row, across, 0.0), axis=1, out=along[:, 1:])
    along -= np.append(0.0, along[begins])[run]
    step = (along[:-1] + down - along[1:])[first]
    offset = _added_up(run[:-1][first], run[1:][first], step, int(begins.sum()) + 1)
    added = np.where(inside, along + offset[run], 0.0).astype(np.int64)
    return angles + TURN * added, added


def _added_up(
    upper: NDArray[np.int64], lower: NDArray[np.int64], step: NDArray[np.float64], size: int
) -> NDArray[np.float64]:
    """Return the sum of steps on the way to each vertex from the first vertex of its piece.

    Steps lead from `upper` to `lower`, and back with the opposite sign. No step has an end at vertex 0.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order, connected_components

    def graph(tail: NDArray[np.int64], head: NDArray[np.int64]) -> csr_array:
        return csr_array((np.ones(len(tail)), (tail, head)), shape=(size, size))

    tail, head = np.append(upper, lower), np.append(lower, upper)
    _, first = np.unique(connected_components(graph(tail, head))[1], return_index=True)
    links = graph(np.append(tail, np.zeros_like(first)), np.append(head, first))
    _, parent = breadth_first_order(links, 0)
    parent[0] = 0
    total, chosen = np.zeros(size), parent[head] == tail
    total[head[chosen]] = np.append(step, -step)[chosen]
    while parent.any():
        total += total[parent]
        parent = parent[parent]
    return total


def _checked_phase(phase: ArrayLike, mask: ArrayLike | None) -> NDArray[np.float64]:
    """Return the angles as floats, with NaN in holes."""
    masked = np.ma.getmask(phase)
    angles = host_array(np.ma.getdata(phase) if np.ma.isMaskedArray(phase) else phase, "phase")
    if angles.ndim != 2 or angles.dtype.kind not in "iuf":
        raise InvalidInputError(
            f"phase must be a picture of numbers, got {angles.dtype} of shape {angles.shape}"
        )
    if not angles.size:
        raise InvalidInputError(f"phase has no pixels: its shape is {angles.shape}")
    angles = np.where(masked, np.nan, angles.astype(np.float64))
    if mask is not None:
        inside = host_array(mask, "mask")
        if inside.shape != angles.shape or inside.dtype != np.bool_:
            raise InvalidInputError(
                f"mask must be bools of shape {angles.shape}, got {inside.dtype} of shape {inside.shape}"
            )
        angles[~inside] = np.nan
    check_finite("phase", np.where(np.isnan(angles), 0.0, angles))
    if (np.abs(angles) > LARGEST).any():
        raise InvalidInputError("phase has a value of more than 2**40 radians")
    return angles


def _checked_weights(weights: ArrayLike | None, holes: NDArray[np.bool_]) -> NDArray[Any]:
    """Return the weights of pixels, 0 in holes."""
    if weights is None:
        return (~holes).astype(np.int64)
    quality = host_array(weights, "weights")
    if quality.shape != holes.shape or quality.dtype.kind not in "biuf":
        raise InvalidInputError(
            f"weights must be numbers of shape {holes.shape}, got {quality.dtype} of {quality.shape}"
        )
    quality = np.where(holes, quality.dtype.type(0), quality)
    check_finite("weights", quality)
    if (quality < 0).any():
        place = tuple(map(int, np.unravel_index(quality.argmin(), quality.shape)))
        raise InvalidInputError(f"a weight is negative: {quality[place]} at {place}")
    return quality.astype(np.int64) if quality.dtype == np.bool_ else quality
