"""min_cut by regions: build the residual network, divide it by the caller's partition, sweep."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyArray, NetworkInput, Vertices
from ..certify.cut import cut_capacity
from ..certify.flow import COARSE
from ..checks import check_integer
from ..errors import CapacityOverflowError, InvalidInputError
from ..graph.convert import as_flow_problem
from ..graph.network import FlowNetwork
from ..graph.residual import ResidualNetwork, build_residual
from ..graph.scaling import Rule, accepted_gap, proved_gap, solve_within_gap
from ..progress import Reporter
from ..solving.dispatch import most_threads
from ..solving.run import check_time_limit, run_interruptibly
from ..solving.timing import timed
from .api import NETWORK_EXCHANGES, SolveByRegions, check_host, exchange_for, status_of
from .checksum import checksum_of
from .exchange import Exchange, Worker
from .network_region import network_tasks
from .on_ray import RayExchange
from .result import RegionMinCutResult, Turn, Unit, capacity_of_cut


def min_cut(
    network: NetworkInput,
    source: Vertices = None,
    sink: Vertices = None,
    *,
    partition: AnyArray,
    exchange: str | Exchange = "memory",
    folder: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    time_limit: float | None = None,
    progress: bool | Reporter = False,
) -> RegionMinCutResult:
    """Find a minimum cut of a network by regions: the same one as :func:`preflow.min_cut`.

    Parameters
    ----------
    network, source, sink
        As in :func:`preflow.min_cut`.
    partition : array_like of int, shape (num_vertices,)
        The region of each vertex: any integers. Those of sources and sinks do not matter. Few arcs between
        regions make few sweeps.
    exchange, folder, threads, time_limit, progress
        As in :func:`preflow.distributed.grid_cut`.

    Returns
    -------
    RegionMinCutResult

    Raises
    ------
    InvalidInputError
        The network or an argument is malformed.
    CapacityOverflowError, UnboundedFlowError
        As in :func:`preflow.min_cut`.
    ParseError, StorageError
        As in :func:`preflow.distributed.grid_cut`.

    Notes
    -----
    The network itself is in memory. With ``exchange="files"`` the search trees are not: there are those of
    two regions at a time. At most ``2 B**2 + 1`` sweeps for B vertices at ends of arcs between regions.

    Examples
    --------
    >>> import preflow
    >>> network = [0, 0, 1, 2], [1, 2, 3, 3], [3, 2, 2, 4]
    >>> result = preflow.distributed.min_cut(network, 0, 3, partition=[0, 0, 1, 1])
    >>> result.value, result.sink_side.tolist()
    (4, [False, False, True, True])
    >>> result.verify()
    """
    time_limit = check_time_limit(time_limit)
    if threads is not None:
        threads = check_integer("threads", threads)
    check_host(exchange, None, folder, NETWORK_EXCHANGES)
    if exchange == "ray":
        exchange = RayExchange(workers=threads, checkpoint=folder)
    seconds: dict[str, float] = {}
    with timed(seconds, "build"):
        flow_network, source, sink = as_flow_problem(network, source, sink)
        flow_network = flow_network.on_host()
        sources, sinks = flow_network.terminals(source, sink)
        given = np.asarray(partition)
        if given.shape != (flow_network.num_vertices,) or given.dtype.kind not in "iu":
            raise InvalidInputError(
                f"partition must have an integer for each of {flow_network.num_vertices:,} vertices, got "
                f"shape {given.shape} and dtype {given.dtype}"
            )

    def make_exchange(checksum: int, attempt: int) -> Exchange:
        problem = ["network", flow_network.num_vertices, checksum]
        return exchange_for(exchange, folder, attempt, lambda: problem, workers, 1)

    workers = most_threads(threads)
    solve = _Solve(workers, flow_network, (sources, sinks), given, make_exchange, seconds=seconds)
    return run_interruptibly(solve.run, solve.control, time_limit, progress)


@dataclass
class _Found:
    """The outcome of one solve: an :class:`preflow.graph.scaling.Outcome`."""

    network: FlowNetwork
    residual: ResidualNetwork
    exchange: Exchange
    turn: Turn
    unit: Unit
    finished: bool
    lower: int | float
    sink_side: NDArray[np.bool_]
    vertices: list[NDArray[np.int64]]

    @property
    def scale_exponent(self) -> int | None:
        return self.residual.solved.scale_exponent

    @property
    def limit(self) -> float:
        return self.residual.solved.limit

    @cached_property
    def upper(self) -> int | float:
        if self.scale_exponent is not None:
            return cut_capacity(self.network, self.sink_side)
        return self.lower if self.finished else capacity_of_cut(self.exchange).capacity + self.unit.constant

    @property
    def size(self) -> int | float:
        return self.upper


@dataclass
class _Solve(SolveByRegions):
    """One call of min_cut."""

    network: FlowNetwork
    terminals: tuple[NDArray[np.int64], NDArray[np.int64]]
    partition: NDArray[np.int64]
    make_exchange: Callable[[int, int], Exchange]

    def run(self) -> RegionMinCutResult:
        """Solve until the gap is small enough and wrap the result."""
        accepted = accepted_gap(self.network.num_arcs)
        solved = solve_within_gap(
            self.solve, is_float=self.is_float, accepted=accepted, coarse=COARSE, has_finer=True
        )
        upper = solved.upper
        gap: int | float = upper - solved.lower
        if solved.scale_exponent is not None:
            gap = proved_gap(upper, solved.lower, upper)
        status = status_of(solved.finished, solved.scale_exponent is None or gap <= accepted * upper)
        return RegionMinCutResult(
            status,
            solved.lower,
            solved.lower if status == "optimal" else upper,
            self.stats(len(solved.vertices)),
            len(solved.vertices),
            self.sweeps,
            gap,
            solved.turn,
            solved.unit,
            solved.sink_side,
            solved.vertices,
            self.network,
            self.terminals,
        )

    @property
    def is_float(self) -> bool:
        """Whether capacities are floats."""
        return self.network.capacity.dtype.kind == "f"

    def solve(self, rule: Rule) -> _Found:
        """Solve with capacities rounded by a rule."""
        if rule.rounded and not self.is_float:
            raise CapacityOverflowError("capacities sum past int64: scale them, or use min_cut")
        with timed(self.seconds, "build"):
            residual = build_residual(self.network, *self.terminals, threads=self.threads, rule=rule)
            inner = residual.inner.astype(np.int64)
            inside = inner < residual.num_vertices
            region = np.zeros(residual.num_vertices, dtype=np.int64)
            names, numbers = np.unique(self.partition[inside], return_inverse=True)
            region[inner[inside]] = numbers
            tasks = network_tasks(residual.arrays, region, len(names))
            checksum = checksum_of((*residual.arrays, region))
        host = self.make_exchange(checksum, self.attempts)
        turn = Turn(host, tasks)
        unit = Unit(residual.solved.scale_exponent, residual.in_input_units(residual.constant_flow))
        side = np.zeros(residual.num_vertices, dtype=bool)
        with self.swept(host, tasks) as done:
            for task, part in zip(tasks, host.collect(Worker.sink_side), strict=True):
                side[region == task.number] = part
            position = np.zeros(residual.num_vertices, dtype=np.int64)
            position[inner[inside]] = np.flatnonzero(inside)
            found = _Found(
                self.network,
                residual,
                host,
                turn,
                unit,
                not done.ready,
                unit.in_caller_unit(done.lower),
                np.append(side, [False, True])[inner],
                [position[region == task.number] for task in tasks],
            )
            _ = found.upper  # the exchange may not be asked after it is closed
        return found
