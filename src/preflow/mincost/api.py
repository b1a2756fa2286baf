"""min_cost_flow: validate, choose a solver, run it, wrap the result."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Array, NetworkInput, SupplyInput
from ..certify.exact import distance, exact_dot, scaled_exactly
from ..certify.min_cost_flow import cost_slack, dual_bound, flow_cost
from ..errors import CapacityOverflowError, CostOverflowError, InvalidInputError, UnboundedCostError
from ..graph.cost_network import CostNetwork, as_cost_network
from ..graph.edge_tables import labels_of
from ..graph.negative_cycle import negative_cycle
from ..graph.network import EXACT_FLOAT
from ..graph.placement import gpu_of_method, gpu_worth_using
from ..graph.standard_form import Standardised, standardise
from ..method_names import CostFlowMethodName, DeviceName
from ..progress import Reporter
from ..solving.call import Call, Request
from ..solving.dispatch import Choice, find_method, thread_count
from ..solving.timing import timed
from ..stats import MinCostStats
from .arc_lists import tight_flow
from .infeasible import excesses, infeasible_error
from .methods import METHODS
from .policy import choose, choose_for_start, worth_a_gpu
from .result import MinCostFlowResult
from .solution import FlowState

if TYPE_CHECKING:
    from .methods import HostSolver

#: Up to this many arcs a serial method of "auto" runs in the thread of the caller. On a Xeon, 1.4 of the 5.7
#: ms for a thousand vertices were outside of the solve, where handing it to another thread belongs.
QUICK_ARCS = 10_000
#: Relative rounding errors of a bound that differs from the cost of the flow.
ROUNDING = 2.0**-30


def min_cost_flow(
    network: NetworkInput,
    supply: SupplyInput = None,
    *,
    source: Any = None,
    sink: Any = None,
    amount: float | None = None,
    warm_start: MinCostFlowResult | None = None,
    method: CostFlowMethodName | str = "auto",
    device: DeviceName = "auto",
    threads: int | None = None,
    time_limit: float | None = None,
    progress: bool | Reporter = False,
    options: Mapping[str, Any] | None = None,
) -> MinCostFlowResult:
    """Find a flow of minimum cost that sends all supplies to the demands.

    Parameters
    ----------
    network : CostNetwork, (tail, head, capacity, cost), edges, sparse matrix of costs, or NetworkX graph
        A tuple has one array for each part, and perhaps a fifth one of lower bounds. Vertices may have labels
        instead of numbers: in a list of tuples (tail, head, capacity, cost), in a dictionary ``{tail: {head:
        (capacity, cost)}}``, in a table with the columns "source", "target", "capacity" (infinite if there is
        none) and "cost", and in a NetworkX graph with the attributes `capacity` and `weight` of edges and
        `demand` of nodes. What :func:`preflow.read_dimacs` returns for a ``.min`` file has its supplies.
    supply : array of numbers, shape (num_vertices,), or mapping of vertices to numbers, optional
        Positive: the vertex sends that much; negative: it receives. They sum to zero. Default: the supplies
        of the network; if it has none, zero, and the flow is a circulation.
    source, sink : vertex, optional
        Send `amount` from one vertex to another, in addition to `supply`.
    amount : number, optional
        Needed with `source` and `sink`; :func:`preflow.max_flow_min_cost` sends as much as possible.
    method : str
        A name from ``preflow.methods("min_cost_flow")``, or "auto".
    device, threads, time_limit, progress, options
        As in :func:`preflow.max_flow`.
    warm_start : MinCostFlowResult, optional
        A result for a network with the same arcs, whose costs, capacities and supplies may differ. The solve
        starts from its flow and its potentials. :class:`preflow.MinCostFlow` keeps the last result.

    Returns
    -------
    MinCostFlowResult
        Exact for integers; for floats within its `gap`.

    Raises
    ------
    InvalidInputError
        The network or an argument is malformed, or the supplies do not sum to zero.
    InfeasibleError
        The capacities do not allow it; the error has a cut that proves this.
    UnboundedCostError
        A cycle of infinite capacity has negative cost; the error has the cycle.
    CapacityOverflowError, CostOverflowError
        Amounts at a vertex sum to 2**62 or more, or costs along a path to 2**61 or more.

    Notes
    -----
    Network simplex takes O(n m) pivots in practice far fewer; cost scaling O(n m log(n C)) for largest cost
    C. Memory beside the network, without lower bounds: at most 48 bytes an arc and 64 a vertex, for cost
    scaling with integer costs and capacities below 2**31; from an earlier flow network simplex takes 93 a
    vertex. Goldberg 1997; Ahuja, Magnanti and Orlin 1993.

    Examples
    --------
    >>> import preflow
    >>> network = preflow.CostNetwork.from_arrays([0, 0, 1], [1, 2, 2], capacity=4, cost=[1, 5, 2])
    >>> result = preflow.min_cost_flow(network, [6, 0, -6])
    >>> result.cost, result.flow.tolist()
    (22, [4, 2, 4])
    >>> result.verify()
    """
    request = Request(METHODS, method, device, threads, time_limit, progress, options)
    seconds: dict[str, float] = {}
    with timed(seconds, "build"):
        read = as_cost_network(network)
    call = MinCostCall.prepare(read, supply, (source, sink, amount), request, warm_start)
    call.count(seconds)
    return call.run(call.min_cost_flow, request)


@dataclass(kw_only=True)
class MinCostCall(Call[CostNetwork]):
    """One call of min_cost_flow.

    Attributes
    ----------
    supply : ndarray, shape (num_vertices,)
    start : MinCostFlowResult or None
        Of an earlier solve.
    leaves_choice : bool
        Whether the caller leaves the method open.
    standard : Standardised or None
        The instance in standard form, once it is built.
    state : FlowState or None
        How the solver ended, once it has.
    """

    supply: Array
    start: MinCostFlowResult | None = None
    leaves_choice: bool = False
    standard: Standardised | None = None
    state: FlowState | None = None

    @classmethod
    def prepare(
        cls,
        network: CostNetwork,
        supply: SupplyInput,
        between: tuple[Any, Any, Any],
        request: Request,
        start: MinCostFlowResult | None = None,
    ) -> MinCostCall:
        """Read the supplies and choose the method."""
        supplies = _read_supplies(network, supply, *between)
        if start is not None:
            _check_start(network, start)

        def choice() -> Choice:
            gpu = gpu_worth_using(network, worth_a_gpu, request.may_look_for_gpu)
            return choose(network, request.device, request.most_threads, gpu, supply=supplies)

        method, chosen = request.choose(choice)
        return cls(
            instance=network,
            supply=supplies,
            start=start,
            leaves_choice=request.method == "auto" and method.device == "cpu",
            method=method,
            reason=chosen.reason,
            options=method.make_options(chosen.options),
            threads=thread_count(method, chosen.threads, network.num_vertices),
            device=gpu_of_method(network, method),
        )

    def is_quick(self, request: Request) -> bool:
        """Whether one thread solves a small network."""
        return self.leaves_choice and self.threads == 1 and self.instance.num_arcs <= QUICK_ARCS

    def min_cost_flow(self) -> MinCostFlowResult:
        """Solve and wrap the result."""
        network, solve = self.instance, self._solver()
        with self.current_device():
            with self.timed("build"):
                standard = self.standard = standardise(network, self.supply)
                cycle = _endless_cycle(network, standard)
            if cycle and (slope := _sum_of_costs(network.cost[cycle])) < 0:
                # An instance that has no feasible flow is infeasible, whatever its costs.
                free = standard.form._replace(cost=np.zeros_like(standard.form.cost))
                state = solve(free, None, self.options, self.control)
                if state.ending == "infeasible":
                    raise infeasible_error(network, standard, state)
                tails, heads = (
                    labels_of(network.labels, side[cycle]) for side in (network.tail, network.head)
                )
                ends = tuple(zip(tails.tolist(), heads.tolist(), strict=True))
                raise UnboundedCostError(tuple(cycle), slope, ends)
            with self.timed("build"):
                start = self._fitting_start(standard)
                if start is not None and self.leaves_choice:
                    solve = self._solver_for_start(standard, start)
            with self.timed("solve"):
                state = self.state = solve(standard.form, start, self.options, self.control)
            if state.ending == "infeasible" and standard.amount_exponent is not None:
                left = excesses(standard.form, state.flow)
                # Rounding alone may make supplies infeasible, by a unit for each amount.
                if np.abs(left).sum() <= 2 * (network.num_vertices + network.num_arcs):
                    lowered = standard.form._replace(supply=standard.form.supply - left)
                    with self.timed("solve"):
                        state = self.state = solve(lowered, None, self.options, self.control)
                    standard = self.standard = replace(standard, form=lowered)
            if state.ending == "infeasible":
                raise infeasible_error(network, standard, state)
            with self.timed("recover"):
                return self._result(standard, state)

    def _solver(self) -> HostSolver:
        solver: HostSolver = self.method.solve
        return solver

    def _solver_for_start(self, standard: Standardised, start: FlowState) -> HostSolver:
        """Choose again, by how much of the start is to be repaired; return the solver."""
        flow = tight_flow(standard.form, start, start.potential)
        broken = int(np.count_nonzero(excesses(standard.form, flow)))
        chosen = choose_for_start(self.instance, broken)
        if chosen is not None:
            self.method, self.reason = find_method(METHODS, chosen.method), chosen.reason
            self.options = self.method.make_options(chosen.options)
        return self._solver()

    def _fitting_start(self, standard: Standardised) -> FlowState | None:
        """Return the start in standard form, its flow cut to the capacities."""
        if self.start is None:
            return None
        start, to_host = self.start, self.start.network.to_host
        flow, potentials = (to_host(part) for part in (start.flow, start.potentials))
        basis = start._basis
        return FlowState(standard.form_flow(flow), standard.form_potentials(potentials), "stopped", basis)

    def _result(self, standard: Standardised, state: FlowState) -> MinCostFlowResult:
        network, supply = self.instance, self.supply
        flow, potentials = standard.flow(state.flow), standard.potentials(state.potential)
        exact = standard.amount_exponent is None and standard.cost_exponent is None
        finished = state.ending == "optimal"
        status = self.control.status(self.method, finished)
        # Integers need no bound to be exact.
        bound = -math.inf if finished and exact else dual_bound(network, supply, potentials)
        gap: int | float
        if finished:
            lower: int | float = flow_cost(network, flow)
            upper = lower
            gap = 0
            rounds = not exact and math.isfinite(lower)
            scaled = _exact_cost(network, supply, standard, flow) if rounds else None
            if scaled is not None:
                gap = distance(lower, *scaled)
            elif not exact:
                slack = cost_slack(network, supply, flow, potentials)
                gap = max(0.0, lower - bound) * (1 + ROUNDING) + slack
                if not math.isfinite(gap):
                    raise CostOverflowError("costs times amounts are more than float64 can represent")
        else:
            sent = not excesses(standard.form, state.flow).any()
            upper = flow_cost(network, flow) if sent else math.inf
            lower = min(bound, upper)
            gap = upper - lower
        return MinCostFlowResult(
            status=status,
            lower_bound=lower,
            upper_bound=upper,
            stats=self.stats(MinCostStats),
            flow=network.to_caller(flow),
            potentials=network.to_caller(potentials),
            supply=network.to_caller(supply),
            network=network,
            _gap=gap,
            _basis=state.basis,
        )


def _exact_cost(
    network: CostNetwork, supply: Array, standard: Standardised, flow: Array
) -> tuple[int, int] | None:
    """Return the cost of a flow as an integer over a power of two, None where the standard form is rounded.

    An optimal flow of a standard form that is not rounded is optimal.
    """
    amount, cost = standard.amount_exponent, standard.cost_exponent
    finite = network.capacity[np.isfinite(network.capacity)]
    limits = [finite, *([] if network.lower is None else [network.lower])]
    if any(scaled_exactly(values, amount) is None for values in limits):
        return None
    costs, carried = scaled_exactly(network.cost, cost), scaled_exactly(flow, amount)
    left = scaled_exactly(supply, amount)
    if costs is None or carried is None or left is None:
        return None
    left = left.copy()
    np.subtract.at(left, network.tail, carried)
    np.add.at(left, network.head, carried)
    if left.any():  # supplies that rounding alone was taken to make infeasible
        return None
    if network.undirected is not None:
        carried = np.where(network.undirected, np.abs(carried), carried)
    return int(exact_dot(costs, carried)), (cost or 0) + (amount or 0)


def _check_start(network: CostNetwork, start: MinCostFlowResult) -> None:
    if not isinstance(start, MinCostFlowResult):
        raise InvalidInputError(f"warm_start is a MinCostFlowResult, not {type(start).__name__}")
    other = start.network
    same = other.num_vertices == network.num_vertices and np.array_equal(other.tail, network.tail)
    if not (same and np.array_equal(other.head, network.head)):
        raise InvalidInputError("warm_start belongs to a network with other arcs")


def _read_supplies(network: CostNetwork, supply: SupplyInput, source: Any, sink: Any, amount: Any) -> Array:
    """Return the supplies of all vertices from what a caller gives."""
    if supply is not None:
        supplies = network.supplies_of(supply)
    elif network.supply is not None:
        supplies = network.supply
    else:
        supplies = np.zeros(network.num_vertices, dtype=np.int64)
    given = [
        name for name, value in (("source", source), ("sink", sink), ("amount", amount)) if value is not None
    ]
    if supplies is not network.supply or given:
        supplies = supplies.copy()
    if not given:
        return supplies
    if len(given) < 3:
        raise InvalidInputError(f"{' and '.join(given)} given: source, sink and amount go together")
    if isinstance(amount, bool) or not isinstance(amount, int | float | np.integer | np.floating):
        raise InvalidInputError(f"amount must be a number, got {amount!r}")
    if not 0 <= amount < math.inf:
        raise InvalidInputError(f"amount must be at least 0 and finite, got {amount}")
    if isinstance(amount, float | np.floating) and (amount != int(amount) or amount > EXACT_FLOAT):
        supplies = supplies.astype(np.float64)
    ends = network.vertex(source), network.vertex(sink)
    for end, sign in zip(ends, (1, -1), strict=True):
        whole = supplies.dtype.kind == "i"
        total = supplies[end].item() + sign * (int(amount) if whole else float(amount))
        if whole and abs(total) >= 2**62:
            raise CapacityOverflowError(
                f"the supply of vertex {network.name(end)} is {total}, which does not fit"
            )
        supplies[end] = total
    return supplies


def _sum_of_costs(cost: Array) -> int | float:
    """Return the sum of the costs of a cycle, with the right sign: rounding may have made them cheaper."""
    return math.fsum(cost.tolist()) if cost.dtype.kind == "f" else sum(cost.tolist())


def _endless_cycle(network: CostNetwork, standard: Standardised) -> list[int]:
    """Return a cycle of negative cost whose arcs all have infinite capacity, or none."""
    if network.capacity.dtype.kind == "i":
        return []
    endless = np.isinf(network.capacity)
    if not (endless & (network.cost < 0)).any():
        return []
    if network.undirected is not None:
        endless &= ~network.undirected
    arcs = np.flatnonzero(endless)
    form = standard.form
    tail, head, cost = form.tail[arcs], form.head[arcs], form.cost[arcs]
    if network.undirected is not None:
        both = np.flatnonzero(network.undirected & np.isinf(network.capacity))
        arcs = np.concatenate([arcs, both, both])
        tail, head = (
            np.concatenate([tail, form.tail[both], form.head[both]]),
            np.concatenate([head, form.head[both], form.tail[both]]),
        )
        cost = np.concatenate([cost, form.cost[both], form.cost[both]])
    found = negative_cycle(tail, head, cost, network.num_vertices)
    return arcs[found].tolist()  # type: ignore[no-any-return]
