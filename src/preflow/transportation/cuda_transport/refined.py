"""The first tree of a large item: cost scaling on pairs of small reduced cost, from smoothed prices.

Pseudo-code::

    list pairs of small reduced cost for each row and column                           list_rows, list_columns
    the network has these pairs, and those of the north-west corner rule, which make it feasible
    refine a flow on it for an epsilon of a fifth of the last temperature              Engine
    make it a tree, on the CPU: cancel cycles, and join trees by pairs without flow    spanning_tree

A tree of this kind needs fewer pivots than one of regrets, but takes longer.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import AnyArray
from ...cuda.runtime import Device, Macros
from ...cuda.structs import I64, U32, ConstI64
from ...mincost.cost_scaling.on_gpu import Ending, Engine, Tuning
from ...solving.run import Control
from .spanning_tree import spanning_tree

SOURCE = Path(__file__).with_name("lists.cu")
#: Threads of a block that lists the pairs of a row.
LIST_THREADS = 256
#: Pairs that a row lists, and a column.
ROOM, GROUPS = 16, 8
#: Of the refine: see :class:`..cuda_cost_scaling.CudaCostScalingOptions`.
TUNING = Tuning(pushing=50_000, searching=40_000, percent=50)
#: The cost of no pair.
NO_PAIR = 2**63 - 1


class Costs(NamedTuple):
    """Matrices of all items, or the points of rows and of columns: see dense_costs.cuh."""

    rows: Annotated[AnyArray, "const void*"]
    columns: Annotated[AnyArray, "const void*"]  #: of points; or a copy of the costs
    num_columns: int
    factor: int


class Arguments(NamedTuple):
    """Arguments of "list_rows" and "list_columns"."""

    costs: Costs
    num_rows: int  #: of all items
    rows_an_item: int
    price: I64  #: of all rows, then of all columns; those of rows are written
    room: int  #: pairs listed for each row
    groups: int  #: groups of rows, for each of which a column lists one pair
    listed: U32  #: columns of the item
    cost: I64
    other: U32  #: rows of all items
    other_cost: I64


class Pairs(NamedTuple):
    """Arguments of "costs_of_pairs"."""

    costs: Costs
    num_pairs: int
    row: ConstI64  #: of all items
    column: ConstI64  #: of its item
    cost: I64


def _listed(
    device: Device,
    costs: Costs,
    constants: Macros,
    price: AnyArray,
    masses: tuple[NDArray[np.int64], NDArray[np.int64]],
) -> tuple[AnyArray, AnyArray]:
    """Return the names and the costs of the pairs of the network; set the prices of rows."""
    xp, (n, m) = device.xp, (len(masses[0]), len(masses[1]))
    threads = min(LIST_THREADS, device.block_threads)
    room, groups = min(ROOM, threads), min(GROUPS, n)
    arguments = Arguments(
        costs=costs, num_rows=n, rows_an_item=n, price=price, room=room, groups=groups,
        listed=xp.empty((n, room), dtype=np.uint32),
        cost=xp.empty((n, room), dtype=np.int64),
        other=xp.empty((groups, m), dtype=np.uint32),
        other_cost=xp.empty((groups, m), dtype=np.int64),
    )  # fmt: skip
    blocks = max(1, min(n, 16 * device.num_multiprocessors, device.most_threads // threads))
    device.launch(
        SOURCE, "list_rows", blocks, threads, arguments, shared_bytes=8 * threads, constants=constants
    )
    device.share(SOURCE, "list_columns", m * groups, arguments, constants=constants)
    ends = np.cumsum(masses[0]), np.cumsum(masses[1])
    corners = np.union1d(*ends)
    row, column = (xp.asarray(np.searchsorted(side, corners)) for side in ends)
    corner_cost = xp.empty(len(corners), dtype=np.int64)
    pairs = Pairs(costs=costs, num_pairs=len(corners), row=row, column=column, cost=corner_cost)
    device.share(SOURCE, "costs_of_pairs", len(corners), pairs, constants=constants)
    names = xp.concatenate(
        [
            (xp.arange(n, dtype=np.int64)[:, None] * m + arguments.listed).ravel(),
            (arguments.other.astype(np.int64) * m + xp.arange(m, dtype=np.int64)).ravel(),
            row * m + column,
        ]
    )
    cost = xp.concatenate([arguments.cost.ravel(), arguments.other_cost.ravel(), corner_cost])
    if m < room:
        names, cost = names[cost != NO_PAIR], cost[cost != NO_PAIR]
    names, first = xp.unique(names, return_index=True)
    return names, cost[first]


def refined_tree(
    device: Device,
    costs: Costs,
    constants: Macros,
    smooth: AnyArray,
    masses: tuple[NDArray[np.int64], NDArray[np.int64]],
    root: int,
    epsilon: int,
    control: Control,
) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Return the parent of each vertex, -1 where there is none, and the flow between them; None if stopped.

    `costs` and `constants` are those of one item, as the kernels read them; `smooth`, shape (n + m,), has
    smoothed prices on the device; `masses` those of rows and columns. The row `root` has mass.
    """
    xp, (a, b) = device.xp, masses
    n, m = len(a), len(b)
    price = xp.rint(smooth.astype(np.float64)).astype(np.int64)
    names, cost = _listed(device, costs, constants, price, masses)
    row, column = xp.divmod(names, m)
    supply = xp.concatenate([xp.asarray(a), -xp.asarray(b)])
    capacity = xp.minimum(supply[row], -supply[n + column]) + 1
    engine = Engine(
        device,
        row.astype(np.uint32),
        (n + column).astype(np.uint32),
        cost,
        capacity,
        xp.zeros(len(names), dtype=np.int64),
        supply,
        price,
        TUNING,
        control,
    )
    if engine.refine(epsilon) != Ending.OPTIMAL:
        return None
    reduced = cost + price[row] - price[n + column]
    order = device.argsort(reduced)
    rows, columns, mass = (device.to_host(part[order]) for part in (row, column, engine.flow()))
    used, may_link = mass > 0, b[columns] > 0
    return spanning_tree(
        (rows[used], columns[used], mass[used]), (rows[may_link], columns[may_link]), root, n, m
    )
