"""Phase unwrapping: the whole turns that a picture of angles lacks, by minimum-cost flow.

Costantini, "A novel phase unwrapping method based on network programming", IEEE Transactions on Geoscience
and Remote Sensing 36 (1998).

The difference of two neighbouring pixels, wrapped to half a turn, is right except where the true phase
changes by more than half a turn. The sum of the differences around a square of four pixels is a whole number
of turns, its *residue*, and is zero if all four are right. The turns to add to the differences are a flow
between the squares that cancels all residues; everything outside the picture is one more square. The flow of
least cost changes the fewest differences, or those of the least weight.
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
        The given phase plus whole turns; the first pixel is unchanged.
    turns : ndarray of int64, shape (h, w)
        The number of turns that were added.
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
        expected = _network(*_gaps(angles), np.ones(angles.shape, np.int64))
        for name in ("tail", "head", "supply", "undirected"):
            if not np.array_equal(getattr(network, name), getattr(expected, name)):
                raise VerificationError("the flow is not one between the squares of this picture")
        found = _unwrapped(angles, self.flow)
        if not np.array_equal(phase, found[0]) or not np.array_equal(turns, found[1]):
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
    method: FlowMethodName | str = "auto",
    device: DeviceName = "auto",
    threads: int | None = None,
    time_limit: float | None = None,
) -> UnwrappedPhase:
    """Add whole turns to a picture of angles, so that few neighbours differ by more than half a turn.

    Parameters
    ----------
    phase : array_like, shape (h, w)
        Angles in radians; whole turns do not matter.
    weights : array_like, shape (h, w), optional
        How reliable each pixel is, not negative; bools are 0 and 1. The weight of a difference is the smaller
        one of its two pixels. Default: all 1. Pixels of weight 0 are holes: their values do not matter.
    method, device, threads, time_limit
        As for :func:`preflow.min_cost_flow`.

    Returns
    -------
    UnwrappedPhase

    Raises
    ------
    InvalidInputError
        No picture of finite numbers, or weights of another shape or negative.
    NotOptimalError
        The time limit came first.

    Notes
    -----
    The least total correction in the sense of the L1 norm. Time is that of a minimum-cost flow in a grid of
    ``(h - 1) * (w - 1)`` vertices. scikit-image's function of the same name sorts pixels by reliability
    instead, which is faster and minimises nothing.

    Examples
    --------
    >>> import numpy as np
    >>> truth = np.linspace(0, 20, 30) + np.zeros((10, 1))
    >>> result = unwrap_phase(np.angle(np.exp(1j * truth)))
    >>> bool(np.allclose(result.phase, truth))
    True
    """
    angles = _checked_phase(phase)
    quality = (
        np.ones(angles.shape, dtype=np.int64) if weights is None else _checked_weights(weights, angles.shape)
    )
    network = _network(*_gaps(angles), quality)
    result = min_cost_flow(network, method=method, device=device, threads=threads, time_limit=time_limit)
    _ = result.cost
    unwrapped, added = _unwrapped(angles, result)
    return UnwrappedPhase(unwrapped, added, result, angles)


def _gaps(angles: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the wrapped differences of neighbours in a row, and of those in a column."""
    return _wrapped(np.diff(angles, axis=1)), _wrapped(np.diff(angles, axis=0))


def _unwrapped(
    angles: NDArray[np.float64], flow: MinCostFlowResult
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the phases, and the turns that were added, given the flow between squares."""
    across, down = _gaps(angles)
    turns = np.rint(np.asarray(flow.flow)).astype(np.int64)
    across += TURN * turns[: across.size].reshape(across.shape)
    down += TURN * turns[across.size :].reshape(down.shape)
    first = angles[0, 0] + np.concatenate([[0.0], np.cumsum(down[:, 0])])
    smooth = np.concatenate([first[:, None], first[:, None] + np.cumsum(across, axis=1)], axis=1)
    added = np.rint((smooth - angles) / TURN).astype(np.int64)
    return angles + TURN * added, added


def _network(across: NDArray[np.float64], down: NDArray[np.float64], quality: NDArray[Any]) -> CostNetwork:
    """Return the squares as a network: an arc over each difference, first those along rows.

    A difference along a row lies between the square below it, the tail, and that above; one along a column
    between the square on its left, the tail, and that on its right. The last vertex is the outside.
    """
    height, width = quality.shape
    rows, columns = height - 1, width - 1
    outside = rows * columns
    square = np.full((rows + 2, columns + 2), outside, dtype=np.int64)
    square[1:-1, 1:-1] = np.arange(outside).reshape(rows, columns)
    tail = np.concatenate([square[1:, 1:-1].ravel(), square[1:-1, :-1].ravel()])
    head = np.concatenate([square[:-1, 1:-1].ravel(), square[1:-1, 1:].ravel()])
    around = across[:-1] + down[:, 1:] - across[1:] - down[:, :-1]
    residue = np.rint(around / TURN).astype(np.int64)
    supply = np.append(-residue.ravel(), residue.sum())
    cost = np.concatenate(
        [
            np.minimum(quality[:, :-1], quality[:, 1:]).ravel(),
            np.minimum(quality[:-1], quality[1:]).ravel(),
        ]
    )
    return CostNetwork.from_arrays(tail, head, cost=cost, supply=supply, undirected=True)


def _wrapped(gaps: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return angles between minus and plus half a turn."""
    wrapped: NDArray[np.float64] = gaps - TURN * np.rint(gaps / TURN)
    return wrapped


def _checked_phase(phase: ArrayLike) -> NDArray[np.float64]:
    if np.ma.isMaskedArray(phase):
        raise InvalidInputError(
            "phase is a masked array: give phase.filled(0) and weights=~np.ma.getmaskarray(phase), so that "
            "changes beside masked pixels cost nothing"
        )
    angles = host_array(phase, "phase")
    if angles.ndim != 2 or angles.dtype.kind not in "iuf":
        raise InvalidInputError(
            f"phase must be a picture of numbers, got {angles.dtype} of shape {angles.shape}"
        )
    if not angles.size:
        raise InvalidInputError(f"phase has no pixels: its shape is {angles.shape}")
    angles = angles.astype(np.float64)
    check_finite("phase", angles)
    if not (np.abs(angles) <= LARGEST).all():
        raise InvalidInputError("phase has a value of more than 2**40 radians")
    return angles


def _checked_weights(weights: ArrayLike, shape: tuple[int, ...]) -> NDArray[Any]:
    quality = host_array(weights, "weights")
    if quality.shape != shape or quality.dtype.kind not in "biuf":
        raise InvalidInputError(
            f"weights must be numbers of shape {shape}, got {quality.dtype} of {quality.shape}"
        )
    check_finite("weights", quality)
    if (quality < 0).any():
        place = tuple(map(int, np.unravel_index(quality.argmin(), shape)))
        raise InvalidInputError(f"a weight is negative: {quality[place]} at {place}")
    return quality.astype(np.int64) if quality.dtype == np.bool_ else quality
