"""min_cost_flow: validate, choose a solver, run it, wrap the result."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, ColumnName, EndsNames, NetworkInput, Number, SupplyInput
from ..certify.exact import as_floats, as_integers
from ..certify.min_cost_flow import (
    CostAndGap,
    ExactPotentials,
    OneWay,
    amount_slack,
    cost_and_gap,
    cost_of_lack,
    dual_bound,
    fixed_arcs,
    flow_cost,
    is_near,
    is_whole,
    lacking_at,
    lower_reduced_costs,
    one_way,
    sends_all,
)
from ..errors import (
    CapacityOverflowError,
    CostOverflowError,
    InfeasibleFlowError,
    InvalidInputError,
    UnboundedCostError,
    UnequalSumsError,
)
from ..graph.cost_network import (
    CostNetwork,
    as_cost_network,
    check_demands_named,
    is_integral,
    net_of_one_way,
    supplies_or_own,
)
from ..graph.edge_tables import ColumnNames, labels_of
from ..graph.negative_cycle import negative_cycle
from ..graph.network import EXACT_FLOAT, INT64_MAX, exact_sum
from ..graph.placement import gpu_of_method, gpu_worth_using
from ..graph.scaling import float_sum, is_close, solve_costs
from ..graph.standard_form import (
    COST_BITS,
    CostRule,
    StandardForm,
    Standardised,
    difference,
    lower_costs,
    most_cost,
    standardise,
)
from ..method_names import CostFlowMethodName, DeviceName
from ..progress import Reporter
from ..solving.call import Call, Request
from ..solving.dispatch import find_method, thread_count
from ..solving.plan import Plan
from ..solving.run import Control, Deadline
from ..solving.timing import timed
from ..stats import MinCostStats
from .arc_lists import tight_flow
from .exact_paths import ExactPaths, ExactState, exact_negative_cycle
from .infeasible import excesses, infeasible_error
from .left_over import LeftOver
from .policy import choose, choose_for_start, worth_a_gpu
from .problem import METHODS
from .result import MinCostFlowResult
from .solution import FlowState

if TYPE_CHECKING:
    from .problem import HostSolver

#: Up to this many arcs a serial method of "auto" runs in the thread of the caller. On a Xeon, 1.4 of the 5.7
#: ms for a thousand vertices were outside of the solve, where handing it to another thread belongs.
QUICK_ARCS = 10_000


def min_cost_flow(
    network: NetworkInput,
    supply: SupplyInput = None,
    *,
    source: Any = None,
    sink: Any = None,
    amount: float | None = None,
    partial: bool = False,
    warm_start: MinCostFlowResult | None = None,
    method: CostFlowMethodName | str = "auto",
    device: DeviceName = "auto",
    threads: int | None = None,
    time_limit: float | None = None,
    progress: bool | Reporter = False,
    options: Mapping[str, Any] | None = None,
    ends: EndsNames = None,
    capacity: ColumnName = None,
    cost: ColumnName = None,
    lower: ColumnName = None,
) -> MinCostFlowResult:
    """Find a flow of minimum cost that sends all supplies to the demands.

    Parameters
    ----------
    network : CostNetwork, (tail, head, capacity, cost), edges, matrix of costs, or graph of a library
        A tuple has one array for each part, and perhaps a fifth one of lower bounds. Vertices may have labels
        instead of numbers: in a list of tuples (tail, head, capacity, cost), in a dictionary ``{tail: {head:
        (capacity, cost)}}``, in a table with the columns "source", "target", "capacity" (infinite if there is
        none) and "cost", and in a graph of NetworkX, igraph or rustworkx with the attributes `capacity` and
        `weight` (or `cost`) of edges and `demand` of nodes. What :func:`preflow.read_dimacs` returns for a
        ``.min`` file has its supplies.
    supply : array of numbers, shape (num_vertices,), or mapping of vertices to numbers, optional
        Positive: the vertex sends that much; negative: it receives. They sum to zero. Default: the supplies
        of the network; if it has none, zero, and the flow is a circulation.
    source, sink : vertex, optional
        Send `amount` from one vertex to another, in addition to `supply`.
    amount : number, optional
        Needed with `source` and `sink`; :func:`preflow.max_flow_min_cost` sends as much as possible.
    partial : bool
        Send as much as possible of the supplies, at the least cost, instead of raising an error where they do
        not sum to zero, or where the capacities do not allow all.
    method : str
        A name from ``preflow.methods("min_cost_flow")``, or "auto".
    device, threads, time_limit, progress, options
        As in :func:`preflow.max_flow`.
    warm_start : MinCostFlowResult, optional
        A result for a network with the same arcs, whose costs, capacities and supplies may differ. The solve
        starts from its flow and its potentials. :class:`preflow.MinCostFlow` keeps the last result.
    ends, capacity, cost, lower : str, optional
        The columns of a table, or attributes of edges, that have other names; `ends` are two.

    Returns
    -------
    MinCostFlowResult
        Exact for integers; for floats within its `gap`. A :class:`preflow.PartialCostFlowResult` with
        `partial`.

    Raises
    ------
    InvalidInputError
        The network or an argument is malformed, or the supplies do not sum to zero.
    InfeasibleError
        The capacities do not allow it; the error has a cut that proves this.
    UnboundedCostError
        A cycle of infinite capacity has negative cost; the error has the cycle.
    CapacityOverflowError, CostOverflowError
        The flow of an arc is 2**63 or more, or integer costs along a path may sum to 2**61 or more.

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

    Stock is left over:

    >>> result = preflow.min_cost_flow(network, [9, 0, -6], partial=True)
    >>> result.cost, result.left_over.tolist()
    (22, [3, 0, 0])
    """
    request = Request(METHODS, method, device, threads, time_limit, progress, options)
    if not isinstance(partial, bool):
        raise InvalidInputError(f"partial must be True or False, got {partial!r}")
    seconds: dict[str, float] = {}
    with timed(seconds, "build"):
        if supply is None and amount is None:
            check_demands_named(network)
        read = as_cost_network(network, ColumnNames(ends, capacity, cost, lower))
    supplies = _read_supplies(read, supply, source, sink, amount)
    if warm_start is not None:
        _check_start(read, warm_start)
    if partial:
        return _as_much_as_possible(read, supplies, request, warm_start)
    call = MinCostCall.prepare(read, supplies, request, warm_start)
    call.count(seconds)
    try:
        return call.run(call.min_cost_flow, request)
    except (UnequalSumsError, InfeasibleFlowError) as error:
        if supplies.any():
            error.advising("partial", True, "sends as much as possible")
        raise


def _as_much_as_possible(
    network: CostNetwork, supply: Array, request: Request, start: MinCostFlowResult | None
) -> MinCostFlowResult:
    """Send all of the smaller side of the supplies; where that cannot be, find first how much can be sent."""
    deadline, plain = Deadline(request.time_limit), network.plain()

    def solved(problem: LeftOver, start: MinCostFlowResult | None) -> MinCostFlowResult:
        asked = replace(request, time_limit=deadline.left())
        begin = None if start is None else problem.start(start)
        larger = problem.network
        call = MinCostCall.prepare(larger, supplies_or_own(larger, None), asked, begin)
        try:
            return call.run(call.min_cost_flow, asked)
        except UnboundedCostError as error:
            raise UnboundedCostError(error.arcs, error.cost, _ends(network, list(error.arcs))) from None

    problem, most = LeftOver.of(plain, supply), None
    try:
        whole = solved(problem, start)
    except InfeasibleFlowError:
        free = LeftOver.of(plain, supply, free=True)
        try:
            most = solved(free, None)
        except InfeasibleFlowError as error:  # lower bounds allow no flow at all
            inside = [vertex for vertex in error.vertices if vertex < plain.num_vertices]
            names = labels_of(network.labels, np.array(inside)).tolist()
            raise InfeasibleFlowError(tuple(names), error.excess) from None
        if most.status != "optimal":
            return replace(free, given=network).part(most, most)
        problem = LeftOver.of(plain, supply, most.value)
        whole = solved(problem, start)
    return replace(problem, given=network).part(whole, most)


@dataclass(kw_only=True)
class MinCostCall(Call[CostNetwork]):
    """One call of min_cost_flow."""

    supply: Array  #: shape (num_vertices,)
    start: MinCostFlowResult | None = None  #: of an earlier solve
    leaves_choice: bool = False  #: whether the caller leaves the method open
    state: FlowState | None = None  #: how the solver ended, once it has

    @classmethod
    def prepare(
        cls,
        network: CostNetwork,
        supply: Array,
        request: Request,
        start: MinCostFlowResult | None = None,
    ) -> MinCostCall:
        """Choose the method."""

        def plan() -> Plan:
            gpu = gpu_worth_using(network, worth_a_gpu, request.may_look_for_gpu)
            return choose(network, request.device, request.most_threads, gpu, supply=supply)

        method, chosen = request.choose(plan)
        return cls(
            instance=network,
            supply=supply,
            start=start,
            leaves_choice=request.method == "auto" and method.device == "cpu",
            method=method,
            plan=chosen,
            threads=thread_count(method, chosen.threads, network.num_vertices),
            device=gpu_of_method(network, method),
        )

    def is_quick(self, request: Request) -> bool:
        """Whether one thread solves a small network."""
        return self.leaves_choice and self.threads == 1 and self.instance.num_arcs <= QUICK_ARCS

    def min_cost_flow(self) -> MinCostFlowResult:
        """Solve and wrap the result."""
        with self.current_device():
            return self._result(self._solved())

    @np.errstate(over="ignore", invalid="ignore")
    def _solved(self) -> _Attempt:
        """Return the best answer."""
        with self.timed("build"):
            cycle = _endless_cycle(self.instance, self.control)
        if cycle:
            raise self._unbounded(cycle)
        largest = float(np.abs(self.instance.cost.astype(np.float64)).max(initial=0))
        found = solve_costs(self._attempt, largest)
        gap, off = found.gap, found.off
        while found.finished and not found.proved:
            nearer = self._refined(found, gap)
            # Costs come closer first where arcs of wide capacity had to be changed, amounts thereafter.
            if nearer is None or not (nearer.proved or nearer.gap < gap / 2 or nearer.off < off / 2):
                break
            found, gap, off = nearer, min(nearer.gap, gap), min(nearer.off, off)
        if found.finished and found.proved:
            found = self._priced(found)
        if found.finished and not found.proved:
            found = self._exact(found)
        return found

    def _attempt(self, limit: float) -> _Attempt:
        """Solve with float costs cut off at a limit in size."""
        network = self.instance
        with self.timed("build"):
            rule = CostRule(limit, self._cost_bits())
            standard = standardise(network, self.supply, rule)
            start = self._fitting_start(standard)
            if start is not None and self.leaves_choice:
                self._choose_for_start(standard, start)
        state = self._feasible(standard, start)
        with self.timed("recover"):
            lack = standard.lack(network, self.supply, state.flow)
            left = state.ending != "optimal" and excesses(standard.form, state.flow).any()
            flow, potentials = standard.flow(state.flow), self._potentials(standard, state)
            exact = standard.amount_exponent is None and standard.cost_exponent is None
            if not exact:
                flow = _within_bounds(network, flow)
                if state.ending == "optimal":
                    found = self._judged(flow, potentials, state, lack, limit)
                    # Another limit changes no integer cost.
                    return replace(found, close=True) if standard.cost_exponent is None else found
            sent = not left and (exact or self._sends(flow))
            return _Attempt(flow, potentials, state, cost=flow_cost(network, flow), sent=sent)

    def _feasible(self, standard: Standardised, start: FlowState | None) -> FlowState:
        """Solve a standard form.

        InfeasibleFlowError: it has no feasible flow, and not by rounding alone.
        """
        network, form, exponent = self.instance, standard.form, standard.amount_exponent
        solve = self._solver()
        with self.timed("solve"):
            state = solve(form, start, self.options, self.control)
            if state.ending == "infeasible" and exponent is not None:
                left = excesses(form, state.flow)
                # Rounding alone may make supplies infeasible, by a unit for each amount.
                if np.abs(left).sum() <= 2 * (network.num_vertices + network.num_arcs):
                    state = solve(form._replace(supply=form.supply - left), None, self.options, self.control)
        if state.ending == "infeasible":
            raise infeasible_error(network, self.supply, form, state.flow, exponent)
        self.state = state
        return state

    def _judged(
        self, flow: Array, potentials: Array, state: FlowState, lack: float, limit: float = math.inf
    ) -> _Attempt:
        """Return an attempt with what it proves of floats.

        `lack` is what rounding has taken from the supplies and added to the bounds of arcs.
        """
        network, supply = self.instance, self.supply
        (cost, gap, slack), sent = self._cost_and_gap(flow, potentials), self._sends(flow)
        # What is lacking might have to be sent at the price of the dearest arc.
        most = float(np.abs(network.cost.astype(np.float64)).max(initial=0)) + float(np.ptp(potentials))
        off = gap + (lack * most if lack else 0.0)
        close = self._close(gap, cost)
        if close and not self._close(off, cost):
            off = min(off, gap + cost_of_lack(network, supply, flow, potentials, most))
        # What integers lack shows in whether all is sent.
        proved = sent and (close if isinstance(gap, int) else self._close(off, cost))
        found = _Attempt(flow, potentials, state, cost, gap, slack, sent, close, off, proved)
        if close:
            return found
        self.start = None
        arcs = one_way(network, supply, flow)
        # Whatever an arc costs that is full and gains, or empty and does not, it might cost less or more.
        moves = np.where(arcs.cost > 0, arcs.flow > arcs.lower, arcs.flow < arcs.upper)
        moves &= ~fixed_arcs(arcs, network.num_vertices)
        sizes = np.abs(arcs.cost[moves].astype(np.float64))
        largest = float(sizes.max(initial=0))
        return replace(found, largest=largest, used_cut_off=largest > limit)

    def _cost_and_gap(self, flow: Array, potentials: Array) -> CostAndGap:
        """Return the cost of a flow, and by how much it may differ from the optimum."""
        network, supply = self.instance, self.supply
        if is_whole(network, supply, potentials):
            cost = flow_cost(network, flow)
            gap = abs(cost - dual_bound(network, supply, potentials))
            return CostAndGap(cost, gap, gap)
        return cost_and_gap(network, supply, flow, potentials)

    def _close(self, gap: int | float, cost: int | float) -> bool:
        """Whether a gap is that of an optimal answer.

        Not relative to the terms of the cost: they are large where flow goes around a cycle that costs next
        to nothing.
        """
        return is_close(gap, abs(cost), self.instance.num_vertices + self.instance.num_arcs)

    def _sends(self, flow: Array) -> bool:
        return sends_all(self.instance, self.supply, flow)

    def _potentials(self, standard: Standardised, state: FlowState) -> Array:
        """Return the potentials: of floats, those of the vertices that matter most are small and precise."""
        zero = int(np.abs(self.supply).argmax()) if len(self.supply) else 0
        return standard.potentials(state.potential, zero)

    def _refined(self, found: _Attempt, gap: int | float) -> _Attempt | None:
        """Solve for the change of flow and potentials that an answer of floats lacks.

        `gap` is what its potentials are to bring nearer; where it is small, only amounts are.

        The costs are its reduced costs, the amounts what its arcs still can carry either way, so rounding is
        relative to what is wrong with it. (Gleixner, Steffy and Wolter, "Iterative refinement for linear
        programming", INFORMS Journal on Computing 28, 2016.) No optimal flow differs from one whose residual
        arcs have reduced costs of at least minus epsilon on arcs whose reduced cost is twice n times epsilon
        (Tardos 1985): costs are cut off there. They are rounded down, so that the reduced costs of open arcs
        stay above zero. This is no attempt of a plan: it solves another instance.
        """
        network, supply = self.instance, self.supply
        arcs, prices = one_way(network, supply, found.flow), found.potentials
        reduced = lower_reduced_costs(arcs, prices)
        ahead = np.maximum(difference(arcs.upper, arcs.flow), 0)
        back = np.minimum(-difference(arcs.flow, arcs.lower), 0)
        if not all(np.isfinite(values).all() for values in (reduced, ahead, back)):
            return None
        gains, saves = (reduced < 0) & (ahead > 0), (reduced > 0) & (back < 0)
        if self._close(gap, found.cost):
            # Only amounts are left to refine, relative to those that are not sent, not to those of arcs whose
            # reduced costs are negative by rounding.
            reduced = np.where(gains | saves, reduced.dtype.type(0), reduced)
            gains = saves = np.zeros(len(reduced), dtype=bool)
        wrong = np.abs(reduced[gains | saves].astype(np.float64))
        left = lacking_at(network, supply, found.flow)
        # Each cycle of an optimal change uses an arc that gains or saves.
        parts = ahead[gains], -back[saves], np.maximum(left, 0)
        whole = all(part.dtype.kind == "i" for part in parts)
        most = sum(map(exact_sum if whole else float_sum, parts))
        limit = 2.0 * (network.num_vertices + 1) * float(wrong.max(initial=0))
        rest = CostNetwork(
            network.num_vertices, arcs.tail, arcs.head, capacity=ahead, lower=back, cost=reduced
        )
        # An arc that is full at a cut-off capacity would have to be full in truth.
        room = 2 * most + 1 if whole else 2 * most
        if room <= INT64_MAX or not whole:
            rest = replace(rest, capacity=np.minimum(ahead, room), lower=np.maximum(back, -room))
        try:
            standard = standardise(rest, left, CostRule(limit or math.inf, down=True))
        except (CapacityOverflowError, CostOverflowError, InvalidInputError):
            return None
        start = FlowState(
            standard.form_flow(np.zeros(rest.num_arcs)), np.zeros(network.num_vertices, dtype=np.int64)
        )
        method = self.method
        if method.device != "cpu":
            method = find_method(METHODS, "serial-cost-scaling")
            self.control.remarks.append(f"{method.name} refined what {self._cost_bits()} bits of costs left")
        options = self.options if method is self.method else method.make_options({})
        with self.timed("solve"):
            state = method.solve(standard.form, start, options, self.control)
        if state.ending != "optimal":
            return None
        with self.timed("recover"):
            lack = standard.lack(rest, left, state.flow)
            change = standard.flow(state.flow)
            if self._slack(found.flow) is None:
                change = change.astype(np.int64)  # integers, also where the room of an arc is a float
            flow = found.flow + net_of_one_way(network, change)
            better = prices + self._potentials(standard, state)
            if not np.isfinite(better).all():
                return None
            return self._judged(_within_bounds(network, flow), better, state, lack)

    def _priced(self, found: _Attempt) -> _Attempt:
        """Return the answer with potentials that are prices of all arcs, where float64 allows."""
        nearer: _Attempt | None = found
        while nearer is not None and not self._close(nearer.slack, nearer.cost):
            slack = nearer.slack
            nearer = self._refined(nearer, slack)
            if nearer is not None and nearer.proved and nearer.slack < found.slack:
                found = nearer
            if nearer is None or not nearer.slack < slack / 2:
                break
        return found

    def _exact(self, found: _Attempt) -> _Attempt:
        """Return the answer in exact numbers, whatever method gave one that float64 does not prove."""
        network, supply = self.instance, self.supply
        arcs = one_way(network, supply, found.flow)
        if not np.isfinite(arcs.upper).all():
            raise CapacityOverflowError("the amounts sum to more than float64 can represent")
        self.control.remarks.append("finished in exact numbers, since float64 did not prove the flow optimal")
        prices = np.nan_to_num(found.potentials.astype(np.float64))
        with self.timed("solve"):
            state = ExactPaths(arcs, supply, prices, self.control).solve()
        with self.timed("recover"):
            if state.ending == "stopped":
                return found
            sent = net_of_one_way(network, state.flow)
            whole = self._slack(found.flow) is None
            flow: Array = _as_int64(sent >> state.exponent) if whole else as_floats(sent, state.exponent)
            left = as_floats(state.excess, state.exponent)
            slack = self._slack(flow)
            if left.any() if slack is None else (np.abs(left) > slack).any():
                raise self._infeasible(arcs, state)
            flow, exact = _within_bounds(network, flow), state.potentials
            ended = found.state._replace(basis=None)
            if whole and is_integral(network.cost):
                integers = _as_int64(exact.potentials >> exact.exponent)
                bounds = self._cost_and_gap(flow, integers)
                return _Attempt(flow, integers, ended, *bounds, proved=bounds.gap == 0)
            potentials = exact.rounded()
            bounds = cost_and_gap(network, supply, flow, potentials, exact)
            proved = is_near(network, supply, flow, potentials, bounds.gap)
            return _Attempt(flow, potentials, ended, *bounds, proved=proved, exact=exact)

    def _infeasible(self, arcs: OneWay, state: ExactState) -> InfeasibleFlowError:
        (lower, upper), exponent = as_integers(arcs.lower, arcs.upper)
        shift = state.exponent - exponent
        lower, upper = (values << shift for values in (lower, upper))
        supply = state.excess.copy()
        np.add.at(supply, arcs.tail, state.flow - lower)
        np.subtract.at(supply, arcs.head, state.flow - lower)
        exact: Any = upper - lower, arcs.cost, supply
        form = StandardForm(arcs.tail, arcs.head, *exact)
        return infeasible_error(self.instance, self.supply, form, state.flow - lower, state.exponent)

    def _unbounded(self, cycle: list[int]) -> UnboundedCostError:
        network, cost = self.instance, self.instance.cost[cycle]
        # An instance that has no feasible flow is infeasible, whatever its costs.
        free = copy(self)
        free.instance = replace(network, cost=np.zeros(network.num_arcs, dtype=np.int64))
        free._solved()
        slope = _cost_of_cycle(cost)
        return UnboundedCostError(tuple(cycle), slope, _ends(network, cycle))

    def _slack(self, flow: Array) -> NDArray[np.float64] | None:
        return amount_slack(self.instance, self.supply, flow)

    def _cost_bits(self) -> int:
        """Return the most bits of a cost that the method takes."""
        if self.method.device == "cpu":
            return COST_BITS
        return max(1, most_cost(self.instance.num_vertices, on_gpu=True).bit_length() - 1)

    def _solver(self) -> HostSolver:
        solver: HostSolver = self.method.solve
        return solver

    def _choose_for_start(self, standard: Standardised, start: FlowState) -> None:
        """Choose again, by how much of the start is to be repaired."""
        flow = tight_flow(standard.form, start, start.potential)
        broken = int(np.count_nonzero(excesses(standard.form, flow)))
        chosen = choose_for_start(self.instance, broken)
        if chosen is not None:
            self.plan, self.method = chosen, find_method(METHODS, chosen.method)
            self.options = self.method.make_options(chosen.options)

    def _fitting_start(self, standard: Standardised) -> FlowState | None:
        """Return the start in standard form, its flow cut to the capacities."""
        if self.start is None:
            return None
        start, to_host = self.start, self.start.network.to_host
        flow, potentials = (to_host(part) for part in (start.flow, start.potentials))
        basis = start._basis
        return FlowState(standard.form_flow(flow), standard.form_potentials(potentials), "stopped", basis)

    def _result(self, found: _Attempt) -> MinCostFlowResult:
        network, supply = self.instance, self.supply
        flow, potentials, cost = found.flow, found.potentials, found.cost
        status = self.control.status(self.method, found.finished, close=found.proved)
        if found.finished and not math.isfinite(cost):
            raise CostOverflowError("costs times amounts are more than float64 can represent")
        lower: int | float = cost
        upper, gap = cost, found.gap
        if status != "optimal":
            upper = cost if found.sent else math.inf
            lower = min(dual_bound(network, supply, potentials), upper)
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
            _basis=found.state.basis,
            _exact=found.exact,
        )


@dataclass(frozen=True)
class _Attempt:
    """An answer, and what is proved of it for the numbers as given; see :class:`..graph.scaling.Attempt`."""

    flow: Array
    potentials: Array
    state: FlowState
    #: see :class:`..certify.min_cost_flow.CostAndGap`
    cost: int | float = 0
    gap: float = 0
    slack: float = 0
    sent: bool = True  #: whether the flow sends all supplies, up to rounding
    close: bool = True  #: whether the gap is that of an optimal answer
    off: float = 0  #: the gap, and what might have to be paid for amounts that rounding has changed
    proved: bool = True  #: whether all of this is that of an optimal answer
    largest: float = 0
    used_cut_off: bool = False
    #: those that the potentials round, where float64 is too coarse
    exact: ExactPotentials | None = None

    @property
    def finished(self) -> bool:
        """Whether the solver has not been stopped."""
        return self.state.ending == "optimal"


def _within_bounds(network: CostNetwork, flow: Array) -> Array:
    """Return a flow whose rounded amounts are within the bounds of each arc."""
    lower: Any = 0 if network.lower is None else network.lower
    upper = network.capacity
    if flow.dtype.kind == "i" and upper.dtype.kind == "f":
        finite = np.isfinite(upper)
        upper = np.full(len(flow), INT64_MAX)
        upper[finite] = network.capacity[finite]
    if network.undirected is not None:
        lower = np.where(network.undirected, -upper, lower)
    bounded: Array = np.clip(flow, lower, upper)
    return bounded.astype(flow.dtype, copy=False)


def _as_int64(values: Array) -> NDArray[np.int64]:
    """Return Python integers as int64."""
    if len(values) and max(map(abs, values.tolist())) > INT64_MAX:
        raise CapacityOverflowError("the flow or the potentials of an answer are past int64")
    return values.astype(np.int64)


def _check_start(network: CostNetwork, start: MinCostFlowResult) -> None:
    if not isinstance(start, MinCostFlowResult):
        raise InvalidInputError(f"warm_start is a MinCostFlowResult, not {type(start).__name__}")
    other = start.network
    same = other.num_vertices == network.num_vertices and np.array_equal(other.tail, network.tail)
    if not (same and np.array_equal(other.head, network.head)):
        raise InvalidInputError("warm_start belongs to a network with other arcs")


def _read_supplies(
    network: CostNetwork, supply: SupplyInput, source: Any, sink: Any, amount: Number
) -> Array:
    """Return the supplies of all vertices from what a caller gives."""
    supplies = supplies_or_own(network, supply)
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
        if whole and abs(total) > INT64_MAX:
            raise CapacityOverflowError(
                f"the supply of vertex {network.name(end)} is {total}, which does not fit"
            )
        supplies[end] = total
    return supplies


def _ends(network: CostNetwork, arcs: list[int]) -> tuple[tuple[Hashable, Hashable], ...]:
    """Return the tail and the head of arcs, by the caller's labels."""
    ends = (labels_of(network.labels, side[arcs]).tolist() for side in (network.tail, network.head))
    return tuple(zip(*ends, strict=True))


def _cost_of_cycle(cost: Array) -> int | float:
    """Return the sum of the costs of some arcs, rounded once; infinite past float64."""
    if cost.dtype.kind != "f":
        return int(sum(cost.tolist()))
    try:
        return math.fsum(cost.tolist())
    except OverflowError:  # the sum of the first terms is past float64; that of all need not be
        scaled = math.fsum(np.ldexp(cost, -64).tolist())
        return scaled * 2.0**64


def _endless_cycle(network: CostNetwork, control: Control) -> list[int]:
    """Return a cycle of negative cost whose arcs all have infinite capacity, or none."""
    if network.capacity.dtype.kind == "i":
        return []
    endless = np.isinf(network.capacity)
    if not (endless & (network.cost < 0)).any():
        return []
    both = np.zeros(0, np.int64)
    if network.undirected is not None:
        both = np.flatnonzero(network.undirected & endless)
        endless &= ~network.undirected
    once = np.flatnonzero(endless)
    arcs = np.concatenate([once, both, both])
    ends = [network.tail.astype(np.int64), network.head.astype(np.int64)]
    tail, head = (
        np.concatenate([one[once], one[both], other[both]]) for one, other in (ends, reversed(ends))
    )
    cost = network.cost[arcs]
    # Rounded down, so that no cycle of negative cost is missed.
    found = negative_cycle(tail, head, lower_costs(cost, network.num_vertices), network.num_vertices)
    if found and not _cost_of_cycle(cost[found]) < 0:
        found = exact_negative_cycle(tail.tolist(), head.tolist(), cost, network.num_vertices, control)
    return arcs[found].tolist()  # type: ignore[no-any-return]
