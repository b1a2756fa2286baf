"""Corrupted results: verify() refuses every one that is wrong, by an exact look at what the result claims."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

import numpy as np

import preflow
from preflow.errors import PreflowError, VerificationError

from . import assignments, costflows, flows, grids, matchings, transports
from .flows import gap_of
from .harness import Case, Driver, Tally, WrongError, require
from .oracles import INFINITE, cheapest_assignment, cheapest_flow, cut_capacity, largest_matching, minimum_cut

#: Amounts at which sums in 64 bits wrap, or nearly.
AMOUNTS = [1, -1, 2, -3, 2**31, 2**32, 2**61, 2**62, -(2**62), 2**63, 2**63 - 1, 10**9]
#: Fields of each result, `certificate.` those of what proves it.
FIELDS = {
    "flow": ["flow", "flow", "flow", "sink_side", "bounds"],
    "cut": ["sink_side", "sink_side", "bounds", "certificate.preflow"],
    "grid": ["labels", "labels", "bounds", "certificate.residual", "certificate.terminal"],
    "matching": ["row_match", "column_match", "both", "bounds"],
    "assignment": ["row", "column", "u", "v", "u", "v", "bounds"],
    "cost-flow": ["flow", "flow", "potentials", "potentials", "bounds"],
    "most": ["flow", "potentials", "bounds", "sink_side", "sink_side", "_amount", "supply"],
    "transport": ["row", "column", "mass", "mass", "u", "v", "v", "bounds"],
}
MOST_CORRUPTIONS = 12


def make(random: Random, quick: bool = False, *, problem: str) -> Case:
    while True:
        base = _base(random, problem)
        if problem != "flow" or base["arcs"]:
            break
    if "calls" in base:
        base["calls"] = base["calls"][:1]
        base["calls"][0] |= {"method": "auto", "threads": 1, "options": {}}
    corruptions = [
        [_mutation(random, FIELDS[problem]) for _ in range(random.choice([1, 1, 2, 2, 3, 4]))]
        for _ in range(MOST_CORRUPTIONS)
    ]
    for mutations in corruptions:
        if random.random() < 0.3:  # the same, or the opposite, at several places: sums that wrap, or cancel
            first = mutations[0]
            amount = -first["amount"] if random.random() < 0.5 else first["amount"]
            mutations.append({**first, "at": random.randrange(64), "amount": amount})
    return {"problem": problem, "base": base, "corruptions": corruptions}


def _base(random: Random, problem: str) -> Case:
    if problem in ("flow", "cut"):
        return flows.make(random, floats=random.random() < 0.1)
    if problem == "grid":
        return {**grids.make(random, connectivities=[4]), "next": None}
    if problem == "matching":
        return {**matchings.make(random), "form": "graph"}
    if problem in ("cost-flow", "most"):
        while True:
            base = costflows.make(random, kind=random.choice(["integers", "integers", "integers", "costs"]))
            if base["arcs"] and base["hostile"] is None and (base["ends"] is not None) == (problem == "most"):
                return {**base, "edits": []}
    if problem == "transport":
        return transports.make(random, kind=random.choice(["dense", "sparse", "points"]))
    kind = random.choice(["dense", "sparse", "stack"])
    return assignments.make(random, kind=kind)


def _mutation(random: Random, fields: list[str]) -> Case:
    how = random.choice(["add", "add", "add", "set", "swap", "bit", "copy", "negate", "scale"])
    if random.random() < 0.02:
        how = random.choice(["drop", "cast"])
    return {
        "field": random.choice(fields),
        "how": how,
        "at": random.randrange(64),
        "other": random.randrange(64),
        "amount": random.choice(AMOUNTS),
    }


def mutated(values: np.ndarray[Any, Any], mutation: Case) -> np.ndarray[Any, Any]:
    """Return a copy of an array with one mutation; positions count modulo the size, integers wrap."""
    how, amount = mutation["how"], mutation["amount"]
    if how == "drop":
        return values[:-1].copy() if values.ndim else values
    if how == "cast":
        with np.errstate(invalid="ignore"):
            return values.astype(np.int64 if values.dtype.kind == "f" else np.float32)
    changed = values.copy()
    flat = changed.reshape(-1)
    if not flat.size:
        return changed
    i, j = mutation["at"] % flat.size, mutation["other"] % flat.size
    if how == "swap":
        flat[[i, j]] = flat[[j, i]]
    elif how == "copy":
        flat[i] = flat[j]
    elif flat.dtype == bool:
        flat[i] = not flat[i]
    elif flat.dtype.kind == "f":
        if how == "bit":
            flat.view(f"u{flat.itemsize}")[i] ^= 1 << (mutation["other"] % (8 * flat.itemsize))
        else:
            factor = {"negate": -1.0, "scale": 1.001, "set": 0.0}.get(how, 1.0)
            with np.errstate(over="ignore"):
                flat[i] = flat[i] * factor + (amount if how in ("add", "set") else 0)
    elif flat.dtype == object:
        flat[i] = flat[i] + amount
    else:
        bits = 8 * flat.itemsize
        old = int(flat[i])
        new = {
            "add": old + amount,
            "set": amount,
            "bit": old ^ (1 << (mutation["other"] % bits)),
            "negate": -old,
        }.get(how, 2 * old)
        new %= 1 << bits
        flat.view(f"u{flat.itemsize}")[i] = new
    return changed


def _largest_gap(result: Any) -> float:
    gap = gap_of(result)
    return 0.0 if gap is None else float(np.max(gap, initial=0.0))


class _Preflow:
    """What min_cut's certificate comes from, with a given preflow."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def preflow(self) -> Any:
        return self.values


def corrupted(problem: str, result: Any, mutations: list[Case]) -> Any:
    """Return a result with mutations."""
    for mutation in mutations:
        field = mutation["field"]
        if field == "bounds":
            lower, upper = result.lower_bound, result.upper_bound
            if isinstance(lower, np.ndarray):
                lower, upper = mutated(lower, mutation), mutated(upper, mutation)
            elif mutation["how"] == "swap":
                upper += mutation["amount"]
            else:
                lower, upper = lower + mutation["amount"], upper + mutation["amount"]
            result = replace(result, lower_bound=lower, upper_bound=upper)
        elif field == "_amount":
            result = replace(result, _amount=result._amount + mutation["amount"])
        elif field == "both":
            if mutation["how"] == "cast" or result.row_match.dtype.kind == "f":
                continue
            row_match, column_match = mutated(result.row_match, mutation), result.column_match.copy()
            column_match[:] = -1
            for row, column in enumerate(row_match.tolist()):
                if 0 <= column < len(column_match):
                    column_match[column] = row
            result = replace(result, row_match=row_match, column_match=column_match)
        elif field == "certificate.preflow":
            values = mutated(result._second_stage.preflow(), mutation)
            result = replace(result, _second_stage=_Preflow(values))
        elif field.startswith("certificate."):
            name = field.removeprefix("certificate.")
            solution = result._solution
            changed = solution._replace(**{name: mutated(getattr(solution, name), mutation)})
            result = replace(result, _solution=changed)
        elif getattr(result, field) is not None:
            result = replace(result, **{field: mutated(getattr(result, field), mutation)})
    return result


def check(case: Case, tally: Tally) -> None:
    problem, base = case["problem"], case["base"]
    try:
        result = _solve(problem, base)
    except (PreflowError, OverflowError):
        tally["not solved"] += 1
        return
    for mutations in case["corruptions"]:
        changed = corrupted(problem, result, mutations)
        tally["corrupted"] += 1
        try:
            with np.errstate(all="ignore"):
                changed.verify()
        except VerificationError:
            tally["refused"] += 1
            continue
        try:
            CLAIMS[problem](base, changed, _largest_gap(result))
        except WrongError as error:
            raise WrongError(f"verify accepts a wrong {problem}: {error.kind}", str(mutations)) from error
        tally["accepted, and right"] += 1


def _solve(problem: str, base: Case) -> Any:
    if problem in ("flow", "cut"):
        solve = preflow.max_flow if problem == "flow" else preflow.min_cut
        return solve(flows.network_of(base), base["sources"], base["sinks"], threads=1)
    if problem == "grid":
        return preflow.grid_cut(grids.network_of(base, base), threads=1)
    if problem == "matching":
        return preflow.bipartite_matching(matchings.graph_of(base), threads=1)
    if problem == "cost-flow":
        return preflow.min_cost_flow(costflows.network_of(base), threads=1)
    if problem == "most":
        return preflow.max_flow_min_cost(costflows.network_of(base), *base["ends"], threads=1)
    if problem == "transport":
        a, b = (np.array(side, base["mass_dtype"]) for side in base["masses"][0])
        return preflow.transport(transports.costs_of(base), a, b, threads=1)
    sizes = base["sizes"]
    return preflow.linear_assignment(
        assignments.costs_of(base),
        maximize=base["maximize"],
        partial=base["partial"],
        sizes=None if sizes is None else np.array(sizes, np.int64).reshape(-1, 2),
        threads=1,
    )


def _close(value: Any, exact: int, shift: int, gap: float, what: str) -> None:
    """Check a claimed number: exactly where numbers are integers, else to a millionth or the result's gap."""
    require(value == value, what, "NaN")
    if not shift and not isinstance(value, float):
        require(int(value) == exact, what, f"{value}, not {exact}")
        return
    true = exact / (1 << shift) if exact.bit_length() - shift < 1000 else float("inf")
    room = max(1e-6 * abs(true), 2 * gap) + 1e-300
    require(abs(float(value) - true) <= room, what, f"{value}, not {true} within {gap}")


def _claims_of_cut(base: Case, result: Any, gap: float) -> None:
    shift, arcs = flows.exact_arcs(base)
    cut = minimum_cut(base["n"], arcs, base["sources"], base["sinks"])
    side = result.sink_side
    require(side.shape == (base["n"],) and side.dtype == bool, "sink_side is no array of bool")
    require(side[base["sinks"]].all() and not side[base["sources"]].any(), "a terminal on the wrong side")
    for bound in (result.lower_bound, result.upper_bound):
        _close(bound, cut.value, shift, gap, "bounds")
    _close(result.value, cut_capacity(arcs, side.tolist()), shift, gap, "the cut")


def _claims_of_flow(base: Case, result: Any, gap: float) -> None:
    _claims_of_cut(base, result, gap)
    require(len(result.flow) == len(base["arcs"]), "flow of another length")
    if base["dtype"] == "int64":
        require(result.flow.dtype == np.int64, "flow of another dtype")
        flows.check_flow(base, result.flow.tolist(), int(result.value))
        return
    capacity = np.array([arc[2] for arc in base["arcs"]])
    room = 1e-6 * abs(result.value) + 2 * gap
    require((result.flow <= capacity + room).all(), "a flow beyond the capacity")


def _claims_of_grid(base: Case, result: Any, gap: float) -> None:
    offsets = result.network.offsets.tolist()
    shift, arcs = grids.exact_arcs(base, base, offsets)
    size = len(base["source"])
    cut = minimum_cut(size + 2, arcs, [size], [size + 1])
    require(
        result.labels.shape == tuple(base["shape"]) and result.labels.dtype == bool, "labels are no bools"
    )
    for bound in (result.lower_bound, result.upper_bound):
        _close(bound, cut.value, shift, gap, "bounds")
    sink_side = (~result.labels).ravel().tolist()
    _close(result.value, cut_capacity(arcs, [*sink_side, False, True]), shift, gap, "the labels")


def _claims_of_matching(base: Case, result: Any, gap: float) -> None:
    best = largest_matching(base["shape"][0], base["edges"])
    require(result.lower_bound == result.upper_bound == best, "bounds")
    pairs = [(r, int(c)) for r, c in enumerate(result.row_match.tolist()) if c >= 0]
    back = [(int(r), c) for c, r in enumerate(result.column_match.tolist()) if r >= 0]
    require(len(pairs) == best and sorted(back) == pairs, "the matching")
    require({tuple(edge) for edge in base["edges"]}.issuperset(pairs), "pairs that are no edges")


def _claims_of_assignment(base: Case, result: Any, gap: float) -> None:
    costs = result.costs
    shift, items = assignments.exact_items(base, costs)
    sizes = base["sizes"]
    sign = -1 if base["maximize"] else 1
    whole = base["dtype"] == "int64"
    if base["kind"] == "stack":
        shapes = {len(part) for part in (result.row, result.column, result.u, result.v)}
        require(shapes == {len(items)}, "another number of items")
    for index, item in enumerate(items):
        m = sizes[index][1] if sizes else base["columns"]
        size, least = cheapest_assignment(item, m)
        assignments.check_item(base, result, index, item, size, least, shift) if whole else None
        row, column, u, v, lower, upper = (
            (part[index] if base["kind"] == "stack" else part)
            for part in (
                result.row,
                result.column,
                result.u,
                result.v,
                result.lower_bound,
                result.upper_bound,
            )
        )
        for bound in (lower, upper):
            if isinstance(bound, np.generic):
                bound = bound.item()
            _close(bound, sign * least, shift, gap, "bounds") if whole or _tame(base) else None
        if not whole:
            continue
        require(u.dtype == v.dtype == np.int64, "prices of another dtype")
        if size < min(len(item), m):
            continue  # prices then hold on each side of a cover
        u, v = [sign * price for price in u.tolist()], [sign * price for price in v.tolist()]
        pairs = set(zip(row.tolist(), column.tolist(), strict=True))
        for r, costs_of_row in enumerate(item):
            for c, cost in enumerate(costs_of_row):
                if cost is None:
                    continue
                require(u[r] + v[c] <= cost, "prices exceed a cost")
                require((r, c) not in pairs or u[r] + v[c] == cost, "prices are not the cost of a pair")


def _claims_of_cost_flow(base: Case, result: Any, gap: float) -> None:
    network = result.network
    if costflows.is_rounded(network):
        return
    amounts, shift, arcs, supply = costflows.exact_problem(network)
    best = cheapest_flow(network.num_vertices, arcs, supply)
    for bound in (result.lower_bound, result.upper_bound):
        _close(bound, best.cost, amounts + shift, gap, "bounds")
    _check_arcs(network, result.flow.tolist(), supply if result.supply is network.supply else result.supply)
    _check_prices(network, result.flow.tolist(), result.potentials.tolist())


def _check_arcs(network: Any, flow: list[Any], supply: Any) -> None:
    """Check the bounds of arcs and the balance of vertices, of integers."""
    lower = [0] * len(flow) if network.lower is None else network.lower.tolist()
    both = [False] * len(flow) if network.undirected is None else network.undirected.tolist()
    left = [int(amount) for amount in supply]
    columns = (network.tail.tolist(), network.head.tolist(), lower, network.capacity.tolist(), both, flow)
    for tail, head, least, most, two_way, amount in zip(*columns, strict=True):
        require((-most if two_way else least) <= amount <= most, "a flow beyond its bounds", str(amount))
        left[tail] -= int(amount)
        left[head] += int(amount)
    require(not any(left), "a flow that is not conserved")


def _check_prices(network: Any, flow: list[Any], potentials: list[Any]) -> None:
    """Check complementary slackness, of integers."""
    lower = [0] * len(flow) if network.lower is None else network.lower.tolist()
    both = [False] * len(flow) if network.undirected is None else network.undirected.tolist()
    columns = (network.tail.tolist(), network.head.tolist(), network.cost.tolist(), lower)
    rest = (network.capacity.tolist(), both, flow)
    for tail, head, cost, least, most, two_way, amount in zip(*columns, *rest, strict=True):
        for sign in (1, -1) if two_way else (1,):
            reduced = int(cost) + sign * (int(potentials[tail]) - int(potentials[head]))
            carried = sign * amount
            floor = max(0, carried) if two_way and carried <= 0 else least
            require(reduced <= 0 or carried <= floor, "flow on an arc of positive reduced cost")
            require(reduced >= 0 or carried >= most, "room on an arc of negative reduced cost")


def _claims_of_most(base: Case, result: Any, gap: float) -> None:
    network, (sources, sinks) = result.network, base["ends"]
    if costflows.is_rounded(network):
        return
    amounts, shift, arcs, supply = costflows.exact_problem(network)
    n = network.num_vertices
    reward = 1 + sum(abs(arc[4]) for arc in arcs)
    back = [(n, source, 0, INFINITE, 0) for source in sources]
    back += [(sink, n, 0, INFINITE, -reward) for sink in sinks]
    best = cheapest_flow(n + 1, [*arcs, *back], [*supply, 0])
    sent = sum(best.flow[len(arcs) + len(sources) :])
    require(result.amount << amounts == sent, "another amount", f"{result.amount}, not {sent}")
    for bound in (result.lower_bound, result.upper_bound):
        _close(bound, (best.cost + reward * sent) >> (amounts + shift), 0, gap, "bounds")
    _check_arcs(network, result.flow.tolist(), result.supply.tolist())
    _check_prices(network, result.flow.tolist(), result.potentials.tolist())
    side = result.sink_side
    require(side[sinks].all() and not side[sources].any(), "a terminal on the wrong side")


def _claims_of_transport(base: Case, result: Any, gap: float) -> None:
    n, m = base["shape"]
    costs = result.costs.block(0, n).tolist() if base["kind"] == "points" else base["costs"][0]
    if base["mass_dtype"] != "int64" or base["cost_dtype"] != "int64" or base["kind"] == "points":
        return
    ending, cost, *_ = transports.exact_plan(costs, result.a.tolist(), result.b.tolist())
    require(ending == "optimal" and result.lower_bound == result.upper_bound == cost, "bounds")
    left, right, total = result.a.tolist(), result.b.tolist(), 0
    u, v = result.u.tolist(), result.v.tolist()
    for row, column, mass in zip(
        *(part.tolist() for part in (result.row, result.column, result.mass)), strict=True
    ):
        require(mass > 0 and costs[row][column] is not None, "a pair that is not allowed")
        require(costs[row][column] + u[row] == v[column], "prices are not the cost of a pair")
        left[row] -= mass
        right[column] -= mass
        total += mass * costs[row][column]
    require(not any(left) and not any(right) and total == cost, "the plan")
    for row in range(n):
        for column in range(m):
            price = costs[row][column]
            require(price is None or price + u[row] >= v[column], "prices exceed a cost")


def _tame(base: Case) -> bool:
    """Whether float costs are of one size, so that a total is right to a millionth."""
    values = [abs(v) for item in base["costs"] for row in item for v in row if v]
    return not values or (
        max(values) < 1e3 * min(values) and min(v for v in values) > 0 and not _signed(base)
    )


def _signed(base: Case) -> bool:
    return any(v < 0 for item in base["costs"] for row in item for v in row if v is not None)


CLAIMS = {
    "flow": _claims_of_flow,
    "cut": _claims_of_cut,
    "grid": _claims_of_grid,
    "matching": _claims_of_matching,
    "assignment": _claims_of_assignment,
    "cost-flow": _claims_of_cost_flow,
    "most": _claims_of_most,
    "transport": _claims_of_transport,
}
DRIVERS = [Driver(f"corruption-{problem}", partial(make, problem=problem), check, 0.5) for problem in FIELDS]
