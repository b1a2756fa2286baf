"""min_cut: one name for minimum cuts of networks of arcs and of grids."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Unpack, overload

from .arrays import ColumnName, EndsNames, NetworkInput, Vertices
from .errors import InvalidInputError
from .graph.convert import is_grid
from .graph.edge_tables import ColumnNames
from .maxflow.api import read_flow_problem, smallest_cut
from .maxflow.problem import METHODS as FLOW_METHODS
from .maxflow.result import MinCutResult
from .method_names import DeviceName, FlowMethodName, GridMethodName
from .progress import Reporter
from .solving.call import Keywords, Request

if TYPE_CHECKING:
    from .graph.grid import GridNetwork
    from .gridcut.result import GridCutResult


@overload
def min_cut(  # type: ignore[overload-overlap] # a grid is an object, too, and the first overload is its own
    network: GridNetwork,
    source: None = None,
    sink: None = None,
    *,
    warm_start: GridCutResult | None = None,
    **arguments: Unpack[Keywords],
) -> GridCutResult: ...
@overload
def min_cut(
    network: NetworkInput,
    source: Vertices = None,
    sink: Vertices = None,
    *,
    ends: EndsNames = None,
    capacity: ColumnName = None,
    **arguments: Unpack[Keywords],
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
    ends: EndsNames = None,
    capacity: ColumnName = None,
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
    names = ColumnNames(ends, capacity)
    if not is_grid(network):
        request = Request(FLOW_METHODS, method, device, threads, time_limit, progress, options)
        if warm_start is not None:
            raise InvalidInputError("warm_start is for a GridNetwork, other networks are solved from nothing")
        return smallest_cut(MinCutResult, read_flow_problem(network, source, sink, names), request)
    from .gridcut.api import cut_of_grid
    from .gridcut.problem import METHODS as GRID_METHODS

    names.check_unused(network)
    request = Request(GRID_METHODS, method, device, threads, time_limit, progress, options)
    if source is not None or sink is not None:
        raise InvalidInputError("a grid has its source and its sink in its capacities: give none")
    return cut_of_grid(network, request, warm_start)
