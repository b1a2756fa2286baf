"""The proof of :mod:`.transport` for the plans of a batch in the memory of a GPU, all items at once.

A plan moves masses that are integers, after multiplication by a power of two. They may differ from the given
masses by rounding. A plan for the given masses follows from it in two steps. What a row or a column has too
much is *taken* away from its pairs. What then is missing is *sent* over any pairs: by the rows that lack mass
and those whose column had too much, to the columns that lack mass and those whose row had too much.
"""

from __future__ import annotations

from enum import IntEnum
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyArray, Array
from ..cuda.structs import I64, U64, ConstI64, ConstU64
from ..errors import VerificationError
from ..graph.device.costs import DeviceCosts
from ..graph.network import INT64_MAX
from ..graph.scaling import accepted_gap
from .exact import times_powers
from .transport import MARGIN, TINY, UNIT

SOURCE = Path(__file__).with_suffix(".cu")
#: Threads of a block.
THREADS = 512
#: What the kernel finds of an item, and words between those of two items.
Found = IntEnum("Found", "WRONG COUNT COST ABOVE LARGEST_PRICE LARGEST_LEAST SIZE", start=0)
WORDS = 8
#: Levels of the sums of a block: of the threads of a warp, and of warps.
LEVELS = 24


class PlanArrays(NamedTuple):
    """Plans and prices of a batch in the memory of a GPU, each item with one row."""

    #: int64, shape (items, n + m): of item k the first ``count[k]`` numbers are those of its pairs; the
    #: others mean nothing
    row: AnyArray
    column: AnyArray
    mass: AnyArray
    count: AnyArray  #: uint64, shape (items,)
    price: AnyArray  #: int64 or float64, shape (items, n + m): of rows, then of columns
    given: AnyArray  #: int64, shape (items, n + m): the masses of rows, then of columns
    #: uint32, shape (items, n + m): the parent of each vertex in a tree whose pairs have reduced cost 0; n +
    #: m or more for roots
    parent: AnyArray


class PlanProofs(NamedTuple):
    """Proved costs of the plans of a batch."""

    sizes: list[int]  #: numbers of pairs
    cost: list[int] | list[float]
    #: by how much a cost may differ from the least cost of the given masses; 0 for integers
    gap: list[int] | list[float]
    close: list[bool]  #: whether a gap is that of an optimal answer. Other gaps may be infinite.


class Arguments(NamedTuple):
    """Arguments of "least_of_rows" and "check_plans"."""

    values: Annotated[AnyArray, "const Stored*"]
    num_items: int
    num_rows: int
    num_columns: int
    weighed: bool  #: whether costs and bounds are sums of float64; otherwise costs are sums of int64
    row: ConstI64  #: of the pairs; each item has room for one pair a vertex
    column: ConstI64
    mass: ConstI64
    count: ConstU64  #: pairs of each item
    price: Annotated[AnyArray, "const Number*"]  #: of rows, then of columns
    given: ConstI64  #: masses of rows, then of columns
    scale: ConstI64  #: of each item: the exponent of the unit of its masses
    left: I64  #: for each vertex
    least: Annotated[AnyArray, "Number*"]  #: for each row
    words: U64  #: of each item


def proofs_on_device(
    costs: DeviceCosts,
    plans: PlanArrays,
    given: tuple[Array, Array],
    masses: tuple[NDArray[np.int64], NDArray[np.int64]],
    exponents: list[int] | None,
) -> PlanProofs | None:
    """Prove the costs and the gaps of all plans of a batch; set the prices of rows if some data are floats.

    All costs are finite. The plans move `masses`; the caller gave `given`, shapes (items, n) and (items, m),
    and the masses of an item are these times two to the power in `exponents`, rounded, which is None for
    integers. Return None if the sum of an item might not fit int64. VerificationError if a plan does not move
    its masses.
    """
    device, xp, (items, n, m) = costs.device, costs.xp, costs.shape
    weighed = costs.dtype.kind == "f" or exponents is not None
    largest = max(abs(costs.extent.least.item()), abs(costs.extent.most.item()))
    if not weighed and largest * int(masses[0].sum(axis=1).max()) > INT64_MAX:
        return None
    scale = np.zeros(items, dtype=np.int64)
    scale[:] = 0 if exponents is None else exponents
    kind = np.int64 if costs.dtype.kind == "i" else np.float64
    arguments = Arguments(
        values=costs.values, num_items=items, num_rows=n, num_columns=m, weighed=weighed,
        row=plans.row, column=plans.column, mass=plans.mass, count=plans.count, price=plans.price,
        given=plans.given,
        scale=xp.asarray(scale),
        left=xp.empty((items, n + m), dtype=np.int64),
        least=xp.empty((items, n), dtype=kind),
        words=xp.empty((items, WORDS), dtype=np.uint64),
    )  # fmt: skip
    if weighed:
        device.share(SOURCE, "least_of_rows", 32 * items * n, arguments, constants=costs.macros)
    threads = min(THREADS, device.block_threads)
    blocks = min(items, device.most_threads // threads)
    device.launch(
        SOURCE, "check_plans", blocks, threads, arguments, shared_bytes=threads // 4, constants=costs.macros
    )
    words = device.to_host(arguments.words)
    if words[:, Found.WRONG].any():
        raise VerificationError(
            f"the plan of item {int(words[:, Found.WRONG].argmax())} does not move its masses"
        )
    sizes = words[:, Found.COUNT].tolist()
    if not weighed:
        return PlanProofs(sizes, words[:, Found.COST].view(np.int64).tolist(), [0] * items, [True] * items)
    plans.price[:, :n] = -arguments.least
    found = words.view(np.float64)
    extremes = float(costs.extent.least), float(costs.extent.most)
    gaps = _gaps(found, words[:, Found.COUNT], extremes, given, masses, exponents)
    share = accepted_gap(n + m)
    with np.errstate(invalid="ignore"):
        close = np.isfinite(gaps) & (gaps <= share * found[:, Found.SIZE]) & (found[:, Found.SIZE] > TINY)
    return PlanProofs(sizes, found[:, Found.COST].tolist(), gaps.tolist(), close.tolist())


def _gaps(
    found: NDArray[np.float64],
    counts: NDArray[np.uint64],
    extremes: tuple[float, float],
    given: tuple[Array, Array],
    masses: tuple[NDArray[np.int64], NDArray[np.int64]],
    exponents: list[int] | None,
) -> NDArray[np.float64]:
    """Return the gap of each item from the words of the kernel."""
    with np.errstate(over="ignore", invalid="ignore"):
        price = found[:, Found.LARGEST_PRICE] + found[:, Found.LARGEST_LEAST]
        # The cost is a sum of rounded terms.
        rounding = (counts / THREADS + LEVELS) * UNIT * found[:, Found.SIZE]
        gap: NDArray[np.float64] = found[:, Found.ABOVE] * MARGIN + rounding
        if exponents is not None:
            sent, taken, unpriced = _moved_by_rounding(given, masses, np.array(exponents))
            below, above = max(-extremes[0], 0.0), max(extremes[1], 0.0)
            change = np.maximum(sent * above + taken * below, taken * above + sent * below)
            # For vertices without mass there are prices that prove as much and are by at most twice the
            # largest cost from those of the others.
            change += 2 * sent * price + 2 * unpriced * max(below, above)
            gap += np.where(sent > 0, np.ldexp(change * MARGIN, -np.array(exponents)), 0)
    return np.where(np.isfinite(gap), gap, np.inf)


def _moved_by_rounding(
    given: tuple[Array, Array],
    masses: tuple[NDArray[np.int64], NDArray[np.int64]],
    exponents: NDArray[np.int64],
) -> tuple[Array, Array, Array]:
    """Return how much mass of each item is sent, how much is taken, and the rests where nothing was moved.

    In the unit of the integers. The largest mass of a side takes what the sums of the given masses differ by.
    """
    missing = np.zeros((2, len(exponents)))
    taken, unpriced = np.zeros(len(exponents)), np.zeros(len(exponents))
    for end, (side, whole) in enumerate(zip(given, masses, strict=True)):
        scaled = times_powers(side, exponents)
        nearest = np.rint(scaled)
        rest = (nearest.astype(np.int64) - whole) + (scaled - nearest)
        surplus, size = rest.sum(axis=1), np.abs(rest, out=rest)
        over = (size.sum(axis=1) - surplus) / 2
        missing[end] += over + surplus
        missing[1 - end] += over
        taken += over
        if not whole.all():
            unpriced += size.sum(axis=1, where=whole == 0)
    return missing.max(axis=0), taken, unpriced
