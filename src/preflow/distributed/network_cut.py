"""min_cut by regions: build the residual network, divide it by the caller's partition, sweep."""

from __future__ import annotations

import os
import zlib

import numpy as np

from ..arrays import AnyArray, NetworkInput, Vertices
from ..errors import InvalidInputError
from ..graph.convert import as_flow_problem
from ..graph.residual import build_residual
from ..progress import Reporter
from ..solving.dispatch import most_threads
from ..solving.result import Status
from ..solving.run import check_time_limit, run_interruptibly
from ..solving.timing import timed
from ..stats import SolveStats
from .api import METHOD, NETWORK_EXCHANGES, TOGETHER, SweepControl, check_host
from .exchange import Exchange
from .files import FileExchange
from .memory import MemoryExchange
from .network_region import network_tasks
from .on_ray import RayExchange
from .result import RegionMinCutResult, Unit, capacity_of_cut, sink_side_of
from .sweeps import run_sweeps


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
        As in :func:`preflow.min_cut`. Capacities are integers, or floats that are whole numbers.
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
        The network or an argument is malformed, or a capacity is not a whole number.
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
    check_time_limit(time_limit)
    check_host(exchange, None, folder, NETWORK_EXCHANGES)
    seconds: dict[str, float] = {}
    with timed(seconds, "build"):
        flow_network, source, sink = as_flow_problem(network, source, sink)
        flow_network = flow_network.on_host()
        sources, sinks = flow_network.vertices(source, "source"), flow_network.vertices(sink, "sink")
        both = set(sources.tolist()).intersection(sinks.tolist())
        if both:
            raise InvalidInputError(f"vertex {flow_network.name(min(both))} is both source and sink")
        given = np.asarray(partition)
        if given.shape != (flow_network.num_vertices,) or given.dtype.kind not in "iu":
            raise InvalidInputError(
                f"partition must have an integer for each of {flow_network.num_vertices:,} vertices, got "
                f"shape {given.shape} and dtype {given.dtype}"
            )
        workers = most_threads(threads)
        residual = build_residual(flow_network, sources, sinks, threads=workers)
        if residual.solved.scale_exponent is not None:
            raise InvalidInputError(
                "capacities must be whole numbers whose sums fit int64 here: scale them, or use min_cut"
            )
        inner = residual.inner.astype(np.int64)
        inside = inner < residual.num_vertices
        region = np.zeros(residual.num_vertices, dtype=np.int64)
        names, numbers = np.unique(given[inside], return_inverse=True)
        region[inner[inside]] = numbers
        tasks = network_tasks(residual.arrays, region, len(names))
    host: Exchange
    if not isinstance(exchange, str):
        host = exchange
    elif exchange == "ray":
        host = RayExchange(workers=threads, checkpoint=folder)
    elif exchange == "files":
        crc = 0
        for values in (*residual.arrays, region):
            crc = zlib.crc32(np.ascontiguousarray(values).tobytes(), crc)
        host = FileExchange(folder, ["network", residual.num_vertices, crc], min(workers, TOGETHER))
    else:
        host = MemoryExchange(workers)
    control = SweepControl()

    def run() -> RegionMinCutResult:
        unit = Unit(constant=residual.constant_flow)
        try:
            with timed(seconds, "solve"):
                done = run_sweeps(host, tasks, control, control.latest.append)
            control.check_wanted()
            with timed(seconds, "recover"):
                lower = unit.given(done.lower)
                finished = not done.ready
                upper = lower if finished else capacity_of_cut(host) + unit.constant
                side = np.zeros(residual.num_vertices, dtype=bool)
                for task, part in zip(tasks, host.collect(sink_side_of), strict=True):
                    side[region == task.number] = part
        finally:
            host.close()
        sink_side = np.append(side, [False, True])[inner]
        sink_side.flags.writeable = False
        status: Status = "optimal" if finished else "time-limit"
        stats = SolveStats(
            METHOD,
            f"{len(names)} regions, {done.sweeps} sweeps",
            threads=workers,
            global_relabels=done.sweeps,
            seconds=dict(seconds),
        )
        vertices = [np.flatnonzero(region == number) for number in range(len(names))]
        position = np.zeros(residual.num_vertices, dtype=np.int64)
        position[inner[inside]] = np.flatnonzero(inside)
        return RegionMinCutResult(
            status,
            lower,
            upper,
            stats,
            sink_side,
            len(names),
            done.sweeps,
            [position[part] for part in vertices],
            host,
            unit,
        )

    return run_interruptibly(run, control, time_limit, progress)
