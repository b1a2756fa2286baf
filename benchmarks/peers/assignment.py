"""The other packages that solve linear assignment. A package is imported when it runs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..instances.assignment import AssignmentInstance
from ..problem import Contestant, Stopwatch
from ..records import Outcome

#: OR-tools takes integers only. Float costs are scaled so that the largest is this, and rounded.
PARTS = 10**9
#: The most pairs of points for peers that store the costs of all pairs.
STORED_PAIRS = 50_000_000
#: The most pairs for peers that take Python lists of tuples.
LISTED_PAIRS = 2_000_000
#: The sparse solver of lap takes costs below this.
LAPMOD_LARGEST = 1_000_000

DENSE_ONLY = "takes no sparse matrices"
#: A remark about lap and lapx.
ONE_MODULE = "lap and lapx install the same module, lap: the package that was installed last runs"


class Prepared(NamedTuple):
    """An instance, and its costs in the form that a peer needs, None for points."""

    instance: AssignmentInstance
    costs: Any


def _as_they_are(instance: AssignmentInstance) -> Prepared:
    return Prepared(instance, None if instance.kind == "points" else instance.costs)


def _as_floats(instance: AssignmentInstance) -> Prepared:
    if instance.kind == "points":
        return Prepared(instance, None)
    return Prepared(instance, np.ascontiguousarray(instance.costs, dtype=np.float64))


def _stored(prepared: Prepared, clock: Stopwatch) -> Any:
    """Return the costs. Those of points are computed here, as part of the measured time."""
    if prepared.costs is not None:
        return prepared.costs
    points = prepared.instance.costs
    costs = points.block(0, len(points.rows))
    clock.lap("build")
    return costs


def _unfit_dense_only(instance: AssignmentInstance) -> str | None:
    return DENSE_ONLY if instance.kind == "sparse" else _unfit_points(instance)


def _unfit_points(instance: AssignmentInstance) -> str | None:
    if instance.kind == "points" and instance.sizes["pairs"] > STORED_PAIRS:
        return f"would store more than {STORED_PAIRS:,} costs of points"
    return None


def _unfit_lap(instance: AssignmentInstance) -> str | None:
    if instance.kind == "sparse" and instance.costs.data.max(initial=0) >= LAPMOD_LARGEST:
        return f"takes sparse costs below {LAPMOD_LARGEST:,}"
    return _unfit_points(instance)


def _solved(
    prepared: Prepared,
    one: Callable[[Any], Any],
    *,
    sparse: Callable[[Any], Any] | None = None,
    batch: Callable[[Any], Any] | None = None,
) -> Outcome:
    """Return the outcome of a solver whose functions return the columns of a dense matrix, or of others."""
    clock = Stopwatch()
    costs = _stored(prepared, clock)
    if prepared.instance.kind == "batch":
        columns = batch(costs) if batch is not None else [one(each) for each in costs]
    elif sparse is not None and prepared.instance.kind == "sparse":
        columns = sparse(costs)
    else:
        columns = one(costs)
    clock.lap("solve")
    return Outcome(prepared.instance.total(columns), clock.seconds)


def _run_scipy(prepared: Prepared) -> Outcome:
    from scipy.optimize import linear_sum_assignment
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    return _solved(
        prepared,
        lambda costs: linear_sum_assignment(costs)[1],
        sparse=lambda costs: min_weight_full_bipartite_matching(costs)[1],
    )


def _run_lap(prepared: Prepared) -> Outcome:
    import lap

    return _solved(
        prepared,
        lambda costs: lap.lapjv(costs)[1],
        sparse=lambda costs: lap.lapmod(costs.shape[0], costs.data, costs.indptr, costs.indices)[1],
    )


def _prepare_lap(instance: AssignmentInstance) -> Prepared:
    """Return costs as floats; sparse ones have sorted indices."""
    if instance.kind != "sparse":
        return _as_floats(instance)
    matrix = instance.costs.astype(np.float64)
    matrix.sort_indices()
    return Prepared(instance, matrix)


def _run_lapx(name: str, prepared: Prepared) -> Outcome:
    import lap

    many = getattr(lap, f"{name}_batch", None)
    return _solved(
        prepared,
        lambda costs: getattr(lap, name)(costs)[2],
        batch=many and (lambda costs: many(costs, n_threads=1)[2]),
    )


def _run_lapjv(prepared: Prepared) -> Outcome:
    import lapjv

    return _solved(prepared, lambda costs: lapjv.lapjv(costs, force_doubles=True)[0])


def _run_lap_native(module: str, prepared: Prepared) -> Outcome:
    solver = import_module(module)
    return _solved(
        prepared,
        lambda costs: solver.lapjv(costs, return_cost=False)[1],
        batch=lambda costs: solver.lapjv_batch(costs, return_cost=False, n_threads=1)[1],
    )


def _run_fastlap(prepared: Prepared) -> Outcome:
    fastlap = import_module("fastlap")
    return _solved(
        prepared,
        lambda costs: fastlap.solve_lap(costs, "lapjv")[1],
        sparse=lambda costs: fastlap.solve_lap(costs, "lapmod")[1],
        batch=lambda costs: [found[1] for found in fastlap.solve_lap_batch(costs, n_threads=1)],
    )


def _unfit_kwok(instance: AssignmentInstance) -> str | None:
    if instance.sizes["pairs"] > LISTED_PAIRS:
        return f"would store more than {LISTED_PAIRS:,} pairs as tuples of Python"
    n, m = instance.sizes["rows"], instance.sizes["columns"]
    return f"takes no more rows than columns, got {n:,} x {m:,}" if n > m else None


def _prepare_kwok(instance: AssignmentInstance) -> Prepared:
    """Return the pairs of each row with weights, of which the heaviest matching is a cheapest assignment.

    Weights are so large that a matching with one more pair is heavier.
    """
    if instance.kind == "points":
        points = instance.costs
        parts = [AssignmentInstance(points.block(0, len(points.rows)))]
    elif instance.kind == "batch":
        parts = [AssignmentInstance(costs) for costs in instance.costs]
    else:
        parts = [instance]
    rows = []
    for part in parts:
        row, column, cost = part.arcs()
        least, most = cost.min(), cost.max()
        weight = (most - least) * part.sizes["rows"] + most + 1 - cost
        if part.sizes["rows"] * weight.max() >= 2**31:
            weight = weight + 0.5  # its whole numbers have 32 bits, also the sum, and it finds nothing beyond
        pairs = list(zip(column.tolist(), weight.tolist(), strict=True))
        ends = np.searchsorted(row, np.arange(part.sizes["rows"] + 1)).tolist()
        rows.append([pairs[begin:end] for begin, end in pairwise(ends)])
    return Prepared(instance, rows)


def _run_kwok(prepared: Prepared) -> Outcome:
    from kwok import kwok

    clock = Stopwatch()
    columns = [kwok(rows).left_pairs for rows in prepared.costs]
    clock.lap("solve")
    is_batch = prepared.instance.kind == "batch"
    return Outcome(prepared.instance.total(columns if is_batch else columns[0]), clock.seconds)


def _as_integers(costs: Any) -> Any:
    if costs.dtype.kind == "i":
        return costs.astype(np.int64)
    return np.rint(costs * (PARTS / max(float(np.abs(costs).max(initial=0)), 1e-300))).astype(np.int64)


def _prepare_ortools(instance: AssignmentInstance) -> Prepared:
    if instance.kind == "points":
        return Prepared(instance, None)
    parts = [instance] if instance.kind != "batch" else map(AssignmentInstance, instance.costs)
    return Prepared(instance, [_ortools_arcs(part) for part in parts])


def _ortools_arcs(instance: AssignmentInstance) -> tuple[Any, Any, Any]:
    row, column, cost = instance.arcs()
    return row.astype(np.int32), column.astype(np.int32), _as_integers(cost)


def _run_ortools(prepared: Prepared) -> Outcome:
    from ortools.graph.python.linear_sum_assignment import SimpleLinearSumAssignment

    clock = Stopwatch()
    parts = prepared.costs
    if parts is None:
        points = prepared.instance.costs
        parts = [_ortools_arcs(AssignmentInstance(points.block(0, len(points.rows))))]
        clock.lap("build")
    columns = []
    for row, column, cost in parts:
        solver = SimpleLinearSumAssignment()
        solver.add_arcs_with_cost(row, column, cost)
        if solver.solve() != solver.OPTIMAL:
            raise ArithmeticError("OR-tools found no optimum")
        columns.append([solver.right_mate(i) for i in range(solver.num_nodes())])
    clock.lap("solve")
    is_batch = prepared.instance.kind == "batch"
    return Outcome(prepared.instance.total(columns if is_batch else columns[0]), clock.seconds)


class LapContestant(Contestant):
    """A solver of the module that lap and lapx both install."""

    def missing(self) -> str | None:
        """Return the reason why it cannot be loaded, or None. The module of the other package may lack it."""
        absent = super().missing()
        function = self.name.partition("-")[2] or "lapjv"
        if absent is None and not hasattr(import_module(self.module), function):
            return f"the module {self.module} that is installed has no {function}"
        return absent


def _lapx(name: str, prepare: Callable[[AssignmentInstance], Prepared]) -> Contestant:
    return LapContestant(
        f"lapx-{name}", "lap", "lapx", partial(_run_lapx, name), prepare, _unfit_dense_only, ONE_MODULE
    )


#: The peers of linear assignment.
ASSIGNMENT_PEERS: tuple[Contestant, ...] = (
    Contestant(
        "ortools",
        "ortools.graph.python.linear_sum_assignment",
        "ortools",
        _run_ortools,
        _prepare_ortools,
        _unfit_points,
        f"float costs are scaled and rounded: the largest becomes {PARTS:g}",
    ),
    Contestant("scipy", "scipy.optimize", "scipy", _run_scipy, _as_they_are, _unfit_points),
    LapContestant("lap", "lap", "lap", _run_lap, _prepare_lap, _unfit_lap, ONE_MODULE),
    _lapx("lapjvx", _as_floats),
    _lapx("lapjvc", _as_they_are),
    _lapx("lapjvs", _as_floats),
    _lapx("lapjvh", _as_they_are),
    _lapx("lapjvr", _as_they_are),
    Contestant("lapjv", "lapjv", "lapjv", _run_lapjv, _as_floats, _unfit_dense_only),
    *(
        Contestant(name, name, name, partial(_run_lap_native, name), _as_they_are, _unfit_dense_only)
        for name in ("laprust", "lapcpp")
    ),
    Contestant("fastlap", "fastlap", "fastlap", _run_fastlap, _prepare_lap, _unfit_points),
    Contestant(
        "kwok",
        "kwok",
        "kwok",
        _run_kwok,
        _prepare_kwok,
        _unfit_kwok,
        "solves matching of the largest weight; its lists, also of points, are built before the clock starts",
    ),
)
