"""Transport on a GPU: cost scaling over the arcs of small reduced cost, proved on all costs.

Cost scaling is that of :mod:`preflow.mincost.cuda_cost_scaling`. The choice of arcs is pricing, as in column
generation (Ford and Fulkerson 1958), done before each refine; the shielding neighbourhoods of Schmitzer,
Journal of Mathematical Imaging and Vision 56 (2016), serve the same purpose.

Definitions
-----------
- The *reduced cost* of a pair of a row and a column is its cost plus the price of the row minus the price of
  the column.
- The *network* of a refine has the pairs with mass, for each row pairs of small reduced cost, for each column
  the same, and the pairs of the north-west corner rule. With the latter it has a feasible flow.

Invariants
----------
- Costs are integers. Those of floats are multiplied by a power of two and rounded.
- Before each refine no pair has negative reduced cost, in the network or outside.
- In refines costs are multiplied by 2 min(n, m) + 1, so a flow that is 1-optimal on all pairs is optimal.

Pseudo-code
-----------
::

    prices of columns are their least costs
    for each epsilon, divided by alpha each time, down to 1:
        repeat                                                                     scale
            list pairs of small reduced cost for each row                          list_rows (kernel)
            if the flow is epsilon-optimal on all pairs: next phase
            set the price of each row such that its least reduced cost is 0
            list pairs for each column                                             list_columns (kernel)
            make the network, and refine the flow                                  Engine
        at most three times, but in the last phase as often as needed
    divide the prices; repeat until no pair has negative reduced cost:             prove
        find exact prices in the network, list pairs, and add them
    cancel the cycles of pairs with mass, on the CPU                               spanning_forest

The items of a batch are one network, whose parts are not connected.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import AnyArray
from ...cuda.runtime import Device
from ...errors import CostOverflowError, SolverError
from ...graph.device.costs import DeviceCosts
from ...graph.device.points import DevicePoints
from ...mincost.cuda_cost_scaling.engine import INFEASIBLE, STOPPED, Engine, Tuning, check_options
from ...solving.options import check_positive_integer
from ...solving.run import Control
from ..forest import spanning_forest
from ..solution import TransportFound

SOURCE = Path(__file__).with_name("dense.cu")
#: Types of costs, in the order of COST_KIND in dense_costs.cuh.
KINDS = ("i4", "i8", "f4", "f8")
#: Threads of a block that lists the pairs of a row.
LIST_THREADS = 256
#: Most rounds of the last phase, and of the search for exact prices.
MOST_ROUNDS = 1000
#: Most rounds of the other phases. On an H100 two normal clouds of 5,000 points, of which one is shifted and
#: wider, took 0.9 s with 3 rounds, 1.7 s with 2, over 10 s with 1, and 2.1 s with 10.
MOST_COARSE_ROUNDS = 3
#: Prices stay below this number.
MOST_PRICE = 2**62
#: The largest float cost is rounded to an integer of at most this many bits.
COST_BITS = 40


@dataclass(frozen=True)
class CudaTransportOptions:
    """Options of transport on a GPU.

    Attributes
    ----------
    alpha : float
        The divisor of epsilon before each refine.
    pushing, searching, percent : int
        As for cuda-cost-scaling.
    room : int
        The number of pairs that a row lists before each refine.
    groups : int
        The number of pairs that a column lists.
    """

    alpha: float = 16.0
    pushing: int = 50_000
    searching: int = 40_000
    percent: int = 50
    room: int = 16
    groups: int = 8

    def __post_init__(self) -> None:
        check_options(self.alpha, self.pushing, self.searching, self.percent)
        check_positive_integer("room", self.room)
        check_positive_integer("groups", self.groups)


class Costs(NamedTuple):
    """The struct ``Costs`` of dense_costs.cuh."""

    rows: AnyArray
    columns: AnyArray
    num_columns: int
    factor: int
    multiplier: int


class Arguments(NamedTuple):
    """The struct ``Arguments`` of dense.cu."""

    costs: Costs
    num_rows: int
    rows_an_item: int
    price: AnyArray
    room: int
    groups: int
    listed: AnyArray
    cost: AnyArray
    least: AnyArray
    other: AnyArray
    other_cost: AnyArray


class Pairs(NamedTuple):
    """The struct ``Pairs`` of dense.cu."""

    costs: Costs
    num_pairs: int
    row: AnyArray
    column: AnyArray
    cost: AnyArray


class Problem:
    """All items as one problem, and the kernels that read its costs.

    Rows and columns of all items are numbered one after the other. The name of a pair is its row times m plus
    its column in the item. The vertices of the network are the rows, then the columns.
    """

    def __init__(
        self, costs: DeviceCosts | DevicePoints, options: CudaTransportOptions, control: Control
    ) -> None:
        device = costs.device
        xp, (items, n, m) = device.xp, costs.shape
        self.device: Device = device
        self.xp, self.items, self.n, self.m = xp, items, n, m
        self.options, self.control = options, control
        self.num_rows, self.num_columns = items * n, items * m
        self.multiplier = 2 * min(n, m) + 1
        self.exponent: int | None = None
        if isinstance(costs, DevicePoints):
            rows, columns, kind = costs.rows, costs.columns, len(KINDS) + costs.kind
            self.constants: tuple[tuple[str, int], ...] = (
                ("COST_KIND", kind),
                ("DIMENSION", rows.shape[1]),
            )
            largest = _largest_distance(xp, costs)
            self.exponent = self._exponent(largest)
            factor = np.ldexp(costs.factor, self.exponent)
        else:
            rows = columns = costs.values
            name = rows.dtype.str[1:]
            self.constants = (("COST_KIND", KINDS.index(name)),)
            largest = max(abs(float(costs.extent.least)), abs(float(costs.extent.most)))
            if name[0] == "f":
                self.exponent = self._exponent(largest)
            factor = np.ldexp(1.0, self.exponent or 0)
        self.costs = Costs(rows, columns, m, int(np.float64(factor).view(np.uint64)), self.multiplier)
        self.largest = int(np.ldexp(largest, self.exponent or 0)) + 1
        if 6 * self.multiplier**2 * self.largest >= MOST_PRICE:
            raise CostOverflowError(
                f"transport on a GPU multiplies costs of up to {self.largest:,} by {self.multiplier:,}, and "
                "prices may pass 2**62"
            )
        room = min(options.room, min(LIST_THREADS, device.block_threads))
        groups = min(options.groups, n)
        self.price = xp.zeros(self.num_rows + self.num_columns, dtype=np.int64)
        self.arguments = Arguments(
            self.costs, self.num_rows, n, self.price, room, groups,
            xp.empty((self.num_rows, room), dtype=np.uint32),
            xp.empty((self.num_rows, room), dtype=np.int64),
            xp.empty(self.num_rows, dtype=np.int64),
            xp.empty((groups, self.num_columns), dtype=np.uint32),
            xp.empty((groups, self.num_columns), dtype=np.int64),
        )  # fmt: skip

    def _exponent(self, largest: float) -> int:
        """Return the power of two by which float costs are multiplied."""
        bits = min(COST_BITS, 58 - 2 * self.multiplier.bit_length())
        return bits - int(np.frexp(largest)[1])

    def list_rows(self) -> AnyArray:
        """List pairs for each row; return the least cost minus price of the column."""
        device = self.device
        threads = min(LIST_THREADS, device.block_threads)
        blocks = max(1, min(self.num_rows, 16 * device.num_multiprocessors, device.most_threads // threads))
        device.launch(
            SOURCE, "list_rows", blocks, threads, self.arguments,
            shared_bytes=8 * threads, constants=self.constants,
        )  # fmt: skip
        return self.arguments.least

    def list_columns(self) -> None:
        """List pairs for each column."""
        self.device.share(
            SOURCE,
            "list_columns",
            self.num_columns * self.arguments.groups,
            self.arguments,
            constants=self.constants,
        )

    def costs_of(self, row: AnyArray, column: AnyArray) -> AnyArray:
        """Return the multiplied costs of pairs."""
        cost = self.xp.empty(len(row), dtype=np.int64)
        pairs = Pairs(self.costs, len(row), row, column, cost)
        self.device.share(SOURCE, "costs_of_pairs", len(row), pairs, constants=self.constants)
        return cost

    def listed(self) -> tuple[AnyArray, AnyArray]:
        """Return the names and the costs of the pairs listed last."""
        xp, arguments, m = self.xp, self.arguments, self.m
        names = xp.arange(self.num_rows, dtype=np.int64)[:, None] * m + arguments.listed
        columns = xp.arange(self.num_columns, dtype=np.int64) % m
        others = arguments.other.astype(np.int64) * m + columns
        names = xp.concatenate([names.ravel(), others.ravel()])
        cost = xp.concatenate([arguments.cost.ravel(), arguments.other_cost.ravel()])
        there = cost != 2**63 - 1
        return (names, cost) if m >= arguments.room else (names[there], cost[there])

    def corner(self, a: NDArray[np.int64], b: NDArray[np.int64]) -> tuple[AnyArray, AnyArray]:
        """Return the names and the costs of the pairs of the north-west corner rule."""
        ends_of_rows, ends_of_columns = np.cumsum(a), np.cumsum(b)
        ends = np.union1d(ends_of_rows, ends_of_columns)
        row = np.searchsorted(ends_of_rows, ends)
        column = np.searchsorted(ends_of_columns, ends) % self.m
        xp = self.xp
        names = xp.asarray(row * self.m + column)
        return names, self.costs_of(xp.asarray(row), xp.asarray(column))


class Network(NamedTuple):
    """Pairs with mass and other pairs, sorted by name."""

    name: AnyArray
    cost: AnyArray
    mass: AnyArray


def merged(xp: AnyArray, network: Network, name: AnyArray, cost: AnyArray) -> Network:
    """Return a network with more pairs, each pair once."""
    names = xp.concatenate([network.name, name])
    costs = xp.concatenate([network.cost, cost])
    # A pair of the network comes first among equal names.
    kept, first = xp.unique(names, return_index=True)
    mass = xp.zeros(len(kept), dtype=np.int64)
    mass[xp.searchsorted(kept, network.name)] = network.mass
    return Network(kept, costs[first], mass)


class Scaling:
    """The flow over all phases."""

    def __init__(self, problem: Problem, a: NDArray[np.int64], b: NDArray[np.int64]) -> None:
        xp = problem.xp
        self.problem = problem
        self.a, self.b = xp.asarray(a), xp.asarray(b)
        self.supply = xp.concatenate([self.a, -self.b])
        none = xp.zeros(0, dtype=np.int64)
        self.corner = Network(*problem.corner(a, b), xp.zeros(0, dtype=np.int64))
        self.network = Network(none, none, none)
        self.engine: Engine | None = None

    def make_engine(self, keep: bool) -> Engine:
        """Add the pairs listed last to those with mass, and to all others if `keep`; return the engine."""
        problem, xp = self.problem, self.problem.xp
        old = self.network
        if not keep:
            used = old.mass > 0
            old = Network(old.name[used], old.cost[used], old.mass[used])
        name, cost = problem.listed()
        self.network = new = merged(
            xp, old, xp.concatenate([name, self.corner.name]), xp.concatenate([cost, self.corner.cost])
        )
        row, item_column = xp.divmod(new.name, problem.m)
        column = row // problem.n * problem.m + item_column
        capacity = xp.minimum(self.a[row], self.b[column]) + 1
        options = problem.options
        self.engine = Engine(
            problem.device,
            row.astype(np.uint32),
            (problem.num_rows + column).astype(np.uint32),
            new.cost,
            capacity,
            new.mass,
            self.supply,
            problem.price,
            Tuning(options.pushing, options.searching, options.percent),
            problem.control,
        )
        return self.engine

    def take_flow(self) -> None:
        """Take the flow of the engine."""
        assert self.engine is not None
        self.network = self.network._replace(mass=self.engine.flow())

    def scale(self) -> bool:
        """Make the flow 1-optimal on all pairs; False if stopped."""
        problem = self.problem
        rows = problem.price[: problem.num_rows]
        columns = problem.price[problem.num_rows :]
        problem.list_columns()
        columns[:] = problem.arguments.other_cost.min(axis=0)
        phases = epsilons(problem.largest * problem.multiplier, problem.options.alpha)
        problem.control.excess[:] = len(phases)
        for phase, epsilon in enumerate(phases):
            most = MOST_ROUNDS if phase == len(phases) - 1 else MOST_COARSE_ROUNDS
            for round_ in range(MOST_ROUNDS):
                least = problem.list_rows()
                if round_ > 0 and (round_ >= most or not bool((least + rows < -epsilon).any())):
                    break
                rows[:] = -least
                problem.list_columns()
                ending = self.make_engine(keep=round_ > 0).refine(epsilon)
                self.take_flow()
                if ending == STOPPED:
                    return False
                if ending == INFEASIBLE:
                    raise SolverError("transport on a GPU found no way for some mass")
            else:
                raise SolverError(f"transport on a GPU gave up after {MOST_ROUNDS:,} rounds")
            problem.control.excess[0] -= 1
        return True

    def prove(self) -> bool:
        """Divide the prices and make them exact on all pairs; False if stopped."""
        problem = self.problem
        problem.price //= problem.multiplier
        rows = problem.price[: problem.num_rows]
        problem.arguments = problem.arguments._replace(costs=problem.costs._replace(multiplier=1))
        for _ in range(MOST_ROUNDS):
            assert self.engine is not None
            cost = self.network.cost // problem.multiplier
            if self.engine.exact_prices(problem.price, cost) == STOPPED:
                return False
            least = problem.list_rows()
            if not bool((least + rows < 0).any()):
                return True
            problem.list_columns()
            for found in (problem.arguments.cost, problem.arguments.other_cost):
                found[found != 2**63 - 1] *= problem.multiplier
            self.make_engine(keep=True)
        raise SolverError(f"transport on a GPU gave up after {MOST_ROUNDS:,} rounds of exact prices")


def epsilons(largest: int, alpha: float) -> list[int]:
    """Return the epsilon of each refine."""
    found = [max(1, int(largest / alpha))]
    while found[-1] > 1:
        found.append(max(1, int(found[-1] / alpha)))
    return found


def _largest_distance(xp: AnyArray, costs: DevicePoints) -> float:
    """Return an upper bound on the distances."""
    both = xp.concatenate([costs.rows, costs.columns])
    sides = both.max(axis=0) - both.min(axis=0)
    bounds = (xp.sqrt((sides**2).sum()), (sides**2).sum(), sides.sum(), sides.max())
    return abs(costs.factor) * float(bounds[costs.kind])


def solve(
    costs: DeviceCosts | DevicePoints,
    a: NDArray[np.int64],
    b: NDArray[np.int64],
    options: CudaTransportOptions,
    control: Control,
) -> list[TransportFound]:
    """Find a plan of least cost for every item.

    Parameters
    ----------
    costs : DeviceCosts or DevicePoints
        All finite, to minimise; items of one size.
    a : ndarray of int64, shape (items, n)
        Masses of rows, not negative.
    b : ndarray of int64, shape (items, m)
        Masses of columns, with the same sum for each item.
    options : CudaTransportOptions
    control : Control

    Raises
    ------
    CostOverflowError
        6 (2 min(n, m) + 1)**2 times the largest integer cost is 2**62 or more.
    """
    problem = Problem(costs, options, control)
    device = problem.device
    with device.current():
        scaling = Scaling(problem, a.ravel(), b.ravel())
        found = scaling.scale() and scaling.prove()
        used = scaling.network.mass > 0
        names, mass, _cost, price = (
            device.to_host(part)
            for part in (
                scaling.network.name[used],
                scaling.network.mass[used],
                scaling.network.cost[used],
                problem.price,
            )
        )
    exponent = problem.exponent
    row, column = np.divmod(names, problem.m)
    prices = price if exponent is None else np.ldexp(price.astype(np.float64), -exponent)
    rounding = 0.0 if exponent is None else float(np.ldexp(1.0, -exponent))
    u = prices[: problem.num_rows].reshape(problem.items, problem.n)
    v = prices[problem.num_rows :].reshape(problem.items, problem.m)
    ends = row // problem.n * problem.m + column
    mass = spanning_forest(row, ends, mass, problem.num_rows, problem.num_columns).mass
    kept = mass > 0
    row, column, mass = row[kept], column[kept], mass[kept]
    bounds = np.searchsorted(row, np.arange(problem.items + 1) * problem.n)
    return [
        TransportFound(
            row[begin:end] - item * problem.n,
            column[begin:end],
            mass[begin:end],
            u[item],
            v[item],
            "optimal" if found else "stopped",
            rounding,
        )
        for item, (begin, end) in enumerate(itertools.pairwise(bounds))
    ]
