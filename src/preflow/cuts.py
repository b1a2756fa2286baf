"""min_cut: one name for minimum cuts of networks of arcs and of grids."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Unpack, overload

from .arrays import NetworkInput, Vertices
from .errors import InvalidInputError
from .graph.grid import GridNetwork
from .graph.network import DeviceFlowNetwork
from .graph.placement import gpu_worth_using
from .graph.recognised_grid import recognise_grid
from .graph.scaling import proved_gap
from .gridcut.api import cut_of_grid
from .gridcut.methods import METHODS as GRID_METHODS
from .gridcut.result import GridCutResult
from .maxflow import policy as flow_policy
from .maxflow.api import FlowInput, best_cut, cut_of_arcs, read_flow_input
from .maxflow.methods import METHODS as FLOW_METHODS
from .maxflow.recover_flow import SecondStage
from .maxflow.recover_flow.of_grid import residual_of_grid
from .maxflow.result import MinCutResult
from .method_names import DeviceName, FlowMethodName, GridMethodName
from .progress import Reporter
from .solving.call import Arguments, Request
from .solving.deadline import Deadline
from .solving.dispatch import usable_cpus
from .solving.timing import timed
from .stats import added_up


@overload
def min_cut(
    network: GridNetwork,
    source: None = None,
    sink: None = None,
    *,
    warm_start: GridCutResult | None = None,
    **arguments: Unpack[Arguments],
) -> GridCutResult: ...
@overload
def min_cut(
    network: NetworkInput, source: Vertices = None, sink: Vertices = None, **arguments: Unpack[Arguments]
) -> MinCutResult: ...
def min_cut(
    network: NetworkInput,
    source: Vertices = None,
    sink: Vertices = None,
    *,
    method: FlowMethodName | GridMethodName | str = "auto",
    device: DeviceName = "auto",
    threads: int | None = None,
    time_limit: float | None = None,
    progress: bool | Reporter = False,
    options: Mapping[str, Any] | None = None,
    warm_start: GridCutResult | None = None,
) -> MinCutResult | GridCutResult:
    """Find a minimum cut; cheaper than :func:`max_flow`, whose parameters and errors it shares.

    Only the first stage runs: it yields a maximum preflow, which proves the cut minimum. The network may
    also be a :class:`preflow.GridNetwork`, whose terminals are its own: it goes to :func:`grid_cut`, the only
    one to take a `warm_start`. On the CPU, "auto" finds out whether a large network of arcs is a grid, and
    then solves it as :func:`grid_cut` does, with no arcs stored: `stats.reason` says so, and `stats.method`
    is a method of that function.

    Returns
    -------
    MinCutResult
        A :class:`preflow.GridCutResult` for a grid.

    Examples
    --------
    >>> import preflow
    >>> result = preflow.min_cut(([0, 0, 1, 2], [1, 2, 3, 3], [3, 2, 2, 4]), 0, 3)
    >>> result.value, result.sink_side.tolist(), result.cut_arcs.tolist()
    (4, [False, False, True, True], [1, 2])
    """
    is_grid = isinstance(network, GridNetwork)
    methods = GRID_METHODS if is_grid else FLOW_METHODS
    request = Request(methods, method, device, threads, time_limit, progress, options)
    if not is_grid:
        if warm_start is not None:
            raise InvalidInputError("warm_start is for a GridNetwork, other networks are solved from nothing")
        given = read_flow_input(network, source, sink)
        if request.method == "auto":
            deadline = Deadline(request.time_limit)
            found = cut_of_recognised_grid(given, request, deadline)
            if found is not None:
                return found
            request = replace(request, time_limit=deadline.left())
        return cut_of_arcs(given, request)
    if source is not None or sink is not None:
        raise InvalidInputError("a grid has its source and its sink in its capacities: give none")
    return cut_of_grid(network, request, warm_start)


def cut_of_recognised_grid(given: FlowInput, request: Request, deadline: Deadline) -> MinCutResult | None:
    """Find a minimum cut of a network of arcs as that of a grid; None if it is no grid, or better not.

    The flow of the grid is that of the network: the second stage carries it back to the arcs.
    """
    network, sources, sinks, seconds = given
    if (
        isinstance(network, DeviceFlowNetwork)
        or request.device == "cuda"
        or network.saturated
        or not len(sources) == len(sinks) == 1
        or not flow_policy.worth_a_search_for_a_grid(network, int(sources[0]), int(sinks[0]))
        or gpu_worth_using(network, flow_policy.worth_a_gpu, request.may_look_for_gpu) is not None
    ):
        return None
    source, sink = int(sources[0]), int(sinks[0])
    with timed(seconds, "build"):
        found = recognise_grid(network, source, sink, min(request.most_threads, usable_cpus()))
    if found is None:
        return None
    rest = replace(request, methods=GRID_METHODS, device="cpu", time_limit=deadline.left())
    cut = cut_of_grid(found.grid, rest, None)
    sink_side = found.sink_side(~cut.labels, source, sink)
    lower = upper = cut.lower_bound + found.direct
    if cut.status != "optimal":
        sink_side, upper = best_cut(network, sources, sinks, sink_side, whole=True)
    shape = " x ".join(map(str, found.grid.shape))
    return MinCutResult(
        status=cut.status,
        lower_bound=lower,
        upper_bound=upper,
        stats=replace(
            cut.stats,
            reason=f"the network is a grid of {shape} vertices, so no arcs are stored; {cut.stats.reason}",
            seconds=added_up(seconds, cut.stats.seconds),
        ),
        sink_side=network.to_caller(sink_side),
        network=network,
        sources=sources,
        sinks=sinks,
        _gap=0 if cut.status == "optimal" else proved_gap(upper, lower, upper),
        _second_stage=SecondStage(
            network,
            partial(residual_of_grid, network, sources, sinks, found.steps, cut.residual_by_pixel()),
        ),
    )
