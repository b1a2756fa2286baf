"""grid_cut: validate, choose a solver, run it, wrap the result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import AnyArray, Periodic
from ..certify.grid import arcs_and_precision, energy_size, labelling_energy, lower_bound, one_sided_energy
from ..checks import warn_caller
from ..cuda.runtime import Device
from ..errors import InvalidInputError, UnsuitableMethodError
from ..graph.grid import PARALLEL_SIZE, DeviceGridNetwork, GridNetwork
from ..graph.grid_input import looks_like_channels
from ..graph.integer_grid import IntegerGrid, integer_grid
from ..graph.placement import gpu_of_method, gpu_worth_using
from ..graph.scaling import Rule, accepted_gap, is_close, proved_gap, solve_within_gap
from ..method_names import DeviceName, GridMethodName
from ..parallel.pieces import run_pieces
from ..progress import Reporter
from ..solving.call import Call, Request
from ..solving.dispatch import find_method, thread_count, usable_cpus
from ..solving.plan import Plan
from ..stats import SolveStats
from .policy import FOR_ALL_ON_GPU, MOST_AXES_ON_GPU, bytes_on_gpu, choose, worth_a_gpu
from .problem import METHODS
from .result import GridCutResult
from .solution import GridFlow, GridSolution, initial_state

if TYPE_CHECKING:
    from .problem import HostSolver

#: Up to this many pixels a serial method of "auto" runs in the thread of the caller: it takes milliseconds.
QUICK_PIXELS = 10_000


def grid_cut(
    source_capacity: AnyArray,
    sink_capacity: AnyArray = None,
    neighbor_capacity: AnyArray = None,
    *,
    connectivity: Any = None,
    periodic: Periodic = False,
    method: GridMethodName | str = "auto",
    device: DeviceName = "auto",
    threads: int | None = None,
    time_limit: float | None = None,
    progress: bool | Reporter = False,
    options: Mapping[str, Any] | None = None,
    warm_start: GridCutResult | None = None,
) -> GridCutResult:
    """Find a minimum cut of a network whose vertices are the pixels of an image or the voxels of a volume.

    Parameters
    ----------
    source_capacity, sink_capacity : array_like of the grid's shape, or scalar
        Capacity from the source to each pixel, which is the cost of putting the pixel on the sink's side, and
        from each pixel to the sink, the cost of putting it on the source's side. Integers, bools or floats;
        ``inf`` makes a hard seed. They may be negative; the value is the least total cost. Instead of these
        arrays, the first argument may be a :class:`preflow.GridNetwork`. Arrays may be CuPy's or others with
        ``__dlpack__``, such as Torch tensors; `labels` is then of the same kind. For arrays on a GPU "auto"
        chooses a method that runs on it.
    neighbor_capacity : array_like, shape (K, *shape) or (2 K, *shape), or scalar
        Capacity between neighbours, one array per pair of opposite directions or one per direction. Entry
        [k, p] of K arrays is the capacity both ways between p and its neighbour at the k-th offset. For 4
        neighbours the offsets are (0, 1), (1, 0), so first right, then down; for 8 neighbours (0, 1),
        (1, -1), (1, 0), (1, 1); for 6 neighbours (0, 0, 1), (0, 1, 0), (1, 0, 0). All neighbourhoods ascend
        like this; :doc:`/problems/grid_cut` has the table, and the order of 2 K arrays: each direction, then
        its opposite. A list of an array for each axis, one shorter there, such as (h, w - 1) and (h - 1, w),
        is taken, too. :func:`preflow.contrast_capacity` computes the array from an image.
    connectivity : int or list of offsets, optional
        4 or 8 neighbours in an image, 6, 18 or 26 in a volume, or any neighbourhood as a list of forward
        offsets. Default: the neighbourhood of `neighbor_capacity`; 4 or 6 if it is a scalar. Grids of
        one axis have 2, of four axes 8, 32, 64 or 80; methods on a GPU take up to three axes.
    periodic : bool or sequence of bool
        Which axes are rings, as angles are: the last pixel along such an axis is a neighbour of the first
        one. Entries of `neighbor_capacity` for arcs across the ends count;
        ``contrast_capacity(..., periodic=...)`` computes them. All methods on the CPU and "cuda-lockfree"
        take such grids; others on a GPU refuse those whose rings are longer than what they may reach.
    method : str
        A name from ``preflow.methods("grid_cut")``, or "auto".
    device : {"auto", "cpu", "cuda"}
        "auto" uses a GPU for a large grid if there is one and `threads` is not given. The result's
        `stats.reason` says why.
    threads : int, optional
        Most CPU threads, up to 255. Default: all that the process may use and the method can use. A method
        that runs on one thread accepts 1 only.
    time_limit : float, optional
        Seconds for the solve; a last search and the bounds add time linear in the grid. On expiry the
        result's `status` is "time-limit", and its bounds are valid.
    progress : bool or function
        True draws a line on standard error; a function is called with a ProgressReport at intervals.
    options : mapping, optional
        Options of the named method; "auto" takes none.
    warm_start : GridCutResult, optional
        An earlier result for the same shape and neighbourhood. The solve starts from its flow, which saves
        most of the work if few capacities have changed.

    Returns
    -------
    GridCutResult
        Its value is exact for integers. For floats it is within `gap` of the minimum, whatever the range of
        the capacities: see :attr:`preflow.GridCutResult.gap`. A grid without pixels has the value 0.

    Raises
    ------
    InvalidInputError
        The network or an argument is malformed.
    CapacityOverflowError
        The value of integers exceeds int64. Or their sum at a pixel exceeds int64 and the flow between pixels
        exceeds 2**61 divided by the number of neighbours (2**59 for 4 neighbours). Or some terminal
        capacities are negative and others exceed 2**62. Or the sum of floats exceeds float64.
    UnboundedFlowError
        A pixel has infinite capacity from the source and to the sink.
    DeviceUnavailableError
        There is no such device.
    DeviceMemoryError
        The grid does not fit the GPU's memory.

    Notes
    -----
    No arcs are stored, only residual capacities in the smallest dtype that holds them. For 4 neighbours and
    capacities of 16 bits that takes about 20 bytes per pixel beside the input.

    Examples
    --------
    >>> import numpy as np, preflow
    >>> result = preflow.grid_cut(np.array([[9, 4, 0], [9, 1, 0]]), np.array([[0, 3, 9], [0, 6, 9]]), 2)
    >>> result.value, result.labels.tolist()
    (9, [[True, False, False], [True, False, False]])
    >>> result.verify()
    """
    request = Request(METHODS, method, device, threads, time_limit, progress, options)
    several = method == "auto" or find_method(METHODS, method).parallel
    looking = min(request.most_threads, usable_cpus()) if several else 1
    network = as_grid_network(
        source_capacity, sink_capacity, neighbor_capacity, connectivity, looking, periodic
    )
    # Other capacities than one number mostly come from contrast_capacity, which has a remark of its own.
    if isinstance(neighbor_capacity, int | float | np.number) and looks_like_channels(network.shape):
        warn_caller(
            f"source_capacity has shape {network.shape}, so the grid is a volume; an image has one capacity "
            "for each pixel, not for each colour"
        )
    return cut_of_grid(network, request, warm_start)


def cut_of_grid(network: GridNetwork, request: Request, warm_start: GridCutResult | None) -> GridCutResult:
    """Find a minimum cut of a grid."""
    call = GridCall.prepare(network, request, warm_start)
    return call.run(call.grid_cut, request)


def as_grid_network(
    source: Any,
    sink: Any,
    neighbor: AnyArray,
    connectivity: Any,
    threads: int,
    periodic: Periodic = False,
) -> GridNetwork:
    """Return the network of the first arguments of grid_cut; `threads` threads check its capacities."""
    if isinstance(source, GridNetwork):
        if not (sink is None and neighbor is None and connectivity is None and periodic is False):
            raise InvalidInputError(
                "a GridNetwork has its capacities and its connectivity: give nothing else"
            )
        return source
    for values, name in ((sink, "sink_capacity"), (neighbor, "neighbor_capacity")):
        if values is None:
            raise InvalidInputError(f"{name} is missing")
    return GridNetwork.from_arrays(
        source, sink, neighbor, connectivity=connectivity, periodic=periodic, threads=threads
    )


def _check_warm_start(warm_start: Any, network: GridNetwork) -> None:
    """Raise InvalidInputError unless the flow of an earlier result is one between the same neighbours."""
    if warm_start is None:
        return
    if not isinstance(warm_start, GridCutResult):
        raise InvalidInputError(
            f"warm_start must be an earlier GridCutResult, got {type(warm_start).__name__}"
        )
    earlier = warm_start.network
    if earlier.shape != network.shape:
        raise InvalidInputError(f"warm_start has shape {earlier.shape}, the grid has shape {network.shape}")
    if not np.array_equal(earlier.offsets, network.offsets):
        raise InvalidInputError("warm_start has another neighbourhood than the grid")


def complement(sides: Any, threads: int) -> AnyArray:
    """Return where an array of bool is False."""
    if not isinstance(sides, np.ndarray) or sides.size < PARALLEL_SIZE:
        return ~sides
    others = np.empty_like(sides)

    def fill(begin: int, end: int) -> None:
        np.logical_not(sides[begin:end], out=others[begin:end])

    run_pieces(fill, len(sides), threads, each=1)
    return others


@dataclass(frozen=True)
class _Solved:
    """The outcome of one solve: an :class:`preflow.graph.scaling.Outcome`."""

    network: GridNetwork
    grid: IntegerGrid
    solution: GridSolution
    device: Device | None
    lower: int | float
    labels: AnyArray

    @property
    def finished(self) -> bool:
        return self.solution.finished

    @property
    def scale_exponent(self) -> int | None:
        return self.grid.scale_exponent

    @property
    def limit(self) -> float:
        return self.grid.limit

    @cached_property
    def upper(self) -> int | float:
        return labelling_energy(self.network, self.labels)

    @cached_property
    def size(self) -> int | float:
        return energy_size(self.network, self.labels, self.upper)


@dataclass(kw_only=True)
class GridCall(Call[GridNetwork]):
    """One call of grid_cut."""

    METHODS = METHODS

    device: Device | None
    warm_start: GridCutResult | None
    automatic: bool  #: whether the method was chosen by "auto"
    most_threads: int  #: CPU threads that the caller allows

    @classmethod
    def prepare(
        cls, network: GridNetwork, request: Request, warm_start: GridCutResult | None = None
    ) -> GridCall:
        """Check the result to start from and choose the method."""
        _check_warm_start(warm_start, network)

        def plan() -> Plan:
            gpu = gpu_worth_using(network, worth_a_gpu, request.may_look_for_gpu)
            return choose(network, request.device, request.most_threads, gpu)

        method, chosen = request.choose(plan)
        if method.device == "cuda" and len(network.shape) > MOST_AXES_ON_GPU:
            raise UnsuitableMethodError(
                f"{method.name} takes grids of up to {MOST_AXES_ON_GPU} axes, this one has "
                f"{len(network.shape)}: the methods on the CPU take it"
            )
        return cls(
            instance=network,
            device=gpu_of_method(network, method),
            method=method,
            plan=chosen,
            threads=thread_count(method, chosen.threads, network.size),
            warm_start=warm_start,
            automatic=request.method == "auto",
            most_threads=request.most_threads,
        )

    def is_quick(self, request: Request) -> bool:
        """Whether one thread solves a small grid."""
        return self.automatic and self.threads == 1 and not self.device and self.instance.size <= QUICK_PIXELS

    def grid_cut(self) -> GridCutResult:
        """Solve until the gap is small enough and wrap the result."""
        with self.current_device():
            network = self.instance
            arrays = network.source_capacity, network.sink_capacity, network.neighbor_capacity
            arcs, single = arcs_and_precision(network)
            solved = solve_within_gap(
                self.solve,
                is_float=any(values.dtype.kind == "f" for values in arrays),
                accepted=accepted_gap(arcs, single=single),
            )
            if solved.finished and solved.scale_exponent is not None and isinstance(solved.upper, int):
                solved = self.solve(Rule(solved.upper)) if solved.upper != solved.lower else solved
            with self.timed("recover"):
                parts = self.parts(solved)
            return GridCutResult(
                **parts,
                stats=self.stats(SolveStats),
                network=self.instance,
                _grid=solved.grid,
                _solution=solved.solution,
                _device=solved.device,
            )

    def solve(self, rule: Rule) -> _Solved:
        """Build the grid of integers and solve it."""
        grid, solution, device = self.build_and_solve(rule)
        with self.timed("recover"):
            lower = grid.in_network_units(lower_bound(grid, solution.terminal, self.threads))
            labels = complement(solution.sink_side, self.threads)
            if device is not None and not isinstance(self.instance, DeviceGridNetwork):
                with self.timed("download"):
                    labels = device.to_host(labels)
        return _Solved(self.instance, grid, solution, device, lower, self.instance.to_array_module(labels))

    def build_and_solve(self, rule: Rule) -> tuple[IntegerGrid, GridSolution, Device | None]:
        """Return the grid as it was solved, the solution, and the GPU where these are if on one."""
        device, streamed = self.device, False
        with self.timed("build"):
            grid = integer_grid(self.instance.on_host() if device is None else self.instance, rule)
        if device is not None and not isinstance(self.instance, DeviceGridNetwork):
            streamed = self.method.streams and bytes_on_gpu(grid) > device.free_bytes
            if not streamed:
                with self.timed("upload"):
                    grid = grid.placed(device.xp, device.xp.asarray)

        def solve(left: Any) -> GridSolution:
            nonlocal grid, streamed
            if device is not None and isinstance(left, GridFlow):  # a method on the GPU gave up
                with self.timed("download"):
                    grid, streamed = left.grid.placed(np, device.to_host), False
                    left = GridFlow(grid, device.to_host(left.residual))
            return self.solve_grid(grid, left, streamed)

        solution = self.by_plan(solve)
        return grid, solution, None if streamed else self.device

    @property
    def num_vertices(self) -> int:
        """No method gets more threads than this."""
        return self.instance.size

    def plan_on_cpu(self) -> Plan:
        """Return what "auto" does with the grid on the CPU."""
        return choose(self.instance.on_host(), "cpu", self.most_threads)

    def solve_grid(self, grid: IntegerGrid, start: Any, streamed: bool) -> GridSolution:
        """Run a solver from the state of another one, or from the flow of the earlier result.

        A grid without pixels needs none. Where "auto" chose a method on a GPU that does not take the grid,
        one that takes all solves it.
        """
        if grid.size == 0:
            return GridSolution(grid.xp.zeros(grid.shape, dtype=bool), True, *initial_state(grid, None))
        if start is None and self.warm_start is not None:
            start = self.warm_start.flow(grid)
        solve: HostSolver = self.method.solve_streamed if streamed else self.method.solve
        try:
            return solve(grid, start, self.options, self.control)
        except UnsuitableMethodError as error:
            if not self.automatic or streamed:
                raise
            self.method = find_method(METHODS, FOR_ALL_ON_GPU)
            self.options = self.method.make_options(None)
            self.control.remarks.append(f"but {FOR_ALL_ON_GPU}, since {error}")
        return self.solve_grid(grid, start, streamed)

    def parts(self, solved: _Solved) -> dict[str, Any]:
        """Return what the result says of the cut."""
        lower, labels, close = solved.lower, solved.labels, True
        if not solved.finished:
            labels, upper = self.best_labels(labels)
            gap = proved_gap(upper, lower, energy_size(self.instance, labels, upper))
        elif solved.scale_exponent is None:
            upper, gap = lower, 0
        else:
            upper, gap = solved.upper, proved_gap(solved.upper, lower, solved.size)
            arcs, single = arcs_and_precision(self.instance)
            close = is_close(gap, solved.size, arcs, single=single)
            lower = upper if close else lower
        return {
            "status": self.control.status(self.method, solved.finished, close=close),
            "lower_bound": lower,
            "upper_bound": upper,
            "labels": self.instance.to_caller(labels),
            "_gap": gap,
        }

    def best_labels(self, labels: AnyArray) -> tuple[AnyArray, int | float]:
        """Return the cheapest of three labellings after an unfinished solve, and its energy."""
        energy = labelling_energy(self.instance, labels)
        for side in (True, False):
            whole = one_sided_energy(self.instance, side)
            if whole < energy:
                labels, energy = self.instance.xp.full(self.instance.shape, side), whole
        return labels, energy
