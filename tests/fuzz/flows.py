"""max_flow, min_cut, MaxFlow and max_flow_batch of small networks, by every method."""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from functools import partial
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np

import preflow
from preflow.errors import CapacityOverflowError, InvalidInputError, UnboundedFlowError

from .harness import Case, Driver, Tally, WrongError, require
from .oracles import INFINITE, Cut, cut_capacity, distance, minimum_cut, scaled
from .values import FRACTION_STYLES, INT64_MAX, INTEGER_STYLES, fraction, integer, pick

PERIOD = [0.01, 0.5, 1.0, 8.0]
RELABELS = {"relabel_period": PERIOD}
HIGHEST = {"relabel_period": PERIOD, "path_length": [1, 2, 4], "drain": [True, False], "gap": [True, False]}
OPTIONS: dict[str, dict[str, list[Any]]] = {
    "serial-generic": {},
    "serial-fifo": {
        **RELABELS,
        "gap": [True, False],
        "relabel_rule": ["relabels", "work"],
        "drain": [True],
        "hold": [True],
    },
    "serial-fifo-gap": RELABELS,
    "multicore-fifo": {
        **RELABELS,
        "gap": [True, False],
        "search": ["owners", "jump-queues"],
        "donation": ["half", "oldest"],
        "record_active": [True],
    },
    "multicore-anderson-setubal": {**RELABELS, "batch": [1, 2, 64]},
    "serial-highest-label": HIGHEST,
    "serial-highest-label-gap": HIGHEST,
    "multicore-highest-label-gap": {
        **RELABELS,
        "gap": [True, False],
        "order": ["given", "search"],
        "record_active": [True],
    },
    "serial-hi-pr": {
        **HIGHEST,
        "start": ["saturated", "source", "wave"],
        "relabel_rule": ["work", "hi-pr", "relabels"],
    },
    "serial-hi-pro": HIGHEST,
    "serial-hi-prw": HIGHEST,
    "serial-pseudoflow": {
        "order": ["highest", "lowest"],
        "bucket": ["fifo", "lifo"],
        "relabel_period": [0.25, 1.0, None],
    },
    "serial-dinic": {"both_ends": [True, False], "budget": [None, 0.1]},
    "serial-incremental-bfs": {},
    "serial-boykov-kolmogorov": {"budget": [None, 0.5]},
    "serial-ford-fulkerson": {"budget": [0.1, 10.0]},
    "serial-karzanov": {},
    "serial-edmonds-karp": {"scaling": [True, False]},
    "serial-capacity-scaling": {},
    "multicore-synchronous": {
        "relabel_period": [*PERIOD, None],
        "few_active": [1, 128],
        "pulses": [False, True],
    },
    "multicore-lockfree": {
        "relabel_period": [*PERIOD, None],
        "concurrent_relabel": [True, False],
        "initial_labels": ["exact", "zero"],
    },
    "multicore-lockfree-arg": {"relabel_period": PERIOD},
    "multicore-merging": {"blocks": [1, 2, 20], "repartition": [True, False], "budget": [None, 0.5]},
    "multicore-paths": {
        **RELABELS,
        "budget": [None, math.inf],
        "path_length": [1, 4],
    },
}
#: A result's value may be this far off, relatively, where it has no `gap` of its own.
RELATIVE = 1e-12
#: A gap is at most this beside the value, where the numbers are not among the smallest floats.
SMALL_GAP, LEAST = 1e-6, 1e-290
#: The same of an optimal cut of a small network.
CLOSE = 2.0**-39


def call(random: Random, options: dict[str, dict[str, list[Any]]], *, many: float = 0.15) -> Case:
    """Return how to solve: method, threads, options; on several threads with probability `many`."""
    method = random.choice(["auto", *options])
    several = method == "auto" or method.startswith("multicore")
    threads = random.choice([2, 3]) if several and random.random() < many else random.choice([1, 1, 1, None])
    if threads is None and several:
        threads = 1  # not as many as there are: other drivers run beside this one
    given = pick(random, options[method]) if method != "auto" and random.random() < 0.3 else {}
    return {"method": method, "threads": threads, "options": given}


def make(random: Random, quick: bool = False, *, floats: bool = False) -> Case:
    n = random.choice([2, 3, 4, 4, 5, 5, 6, 7, 8])
    m = int(random.random() * 3 * n)
    style = random.choice(FRACTION_STYLES if floats else INTEGER_STYLES)
    infinite = random.choice([0.0, 0.0, 0.1, 0.4])

    def number() -> Any:
        return fraction(random, style, infinite) if floats else integer(random, style)

    arcs = [[int(random.random() * n), int(random.random() * n), number()] for _ in range(m)]
    reverse = [number() for _ in arcs] if random.random() < 0.3 else None
    terminals = random.sample(range(n), n)
    sources = 2 if n > 3 and random.random() < 0.15 else 1
    sinks = 2 if n > 4 and random.random() < 0.15 else 1
    calls = [
        {"problem": "max_flow" if random.random() < 0.7 else "min_cut", **call(random, OPTIONS)}
        for _ in range(random.choice([1, 2, 2, 3]))
    ]
    return {
        "n": n,
        "arcs": arcs,
        "reverse": reverse,
        "sources": terminals[:sources],
        "sinks": terminals[sources : sources + sinks],
        "dtype": "float64" if floats else "int64",
        "verify": random.random() < 0.1,
        "limit": None if floats or random.random() < 0.7 else integer(random, style),
        "calls": calls,
    }


def network_of(case: Case) -> preflow.FlowNetwork:
    """Return the network of a case."""
    tail, head, capacity = ([arc[i] for arc in case["arcs"]] for i in range(3))
    return preflow.FlowNetwork.from_arrays(
        np.array(tail, np.int64),
        np.array(head, np.int64),
        np.array(capacity, case["dtype"]),
        reverse_capacity=None if case["reverse"] is None else np.array(case["reverse"], case["dtype"]),
        num_vertices=case["n"],
    )


def exact_arcs(case: Case) -> tuple[int, list[tuple[int, int, int]]]:
    """Return the exponent of all capacities and the arcs with capacities as exact integers."""
    arcs = case["arcs"]
    shift, (forward, backward) = scaled([arc[2] for arc in arcs], case["reverse"] or [])
    exact = [(arc[0], arc[1], capacity) for arc, capacity in zip(arcs, forward, strict=True)]
    if case["reverse"] is not None:
        exact += [(arc[1], arc[0], capacity) for arc, capacity in zip(arcs, backward, strict=True)]
    return shift, exact


def check(case: Case, tally: Tally) -> None:
    network = network_of(case)
    for each in case["calls"]:
        tally[f"method {each['method']}"] += 1
        solve = preflow.max_flow if each["problem"] == "max_flow" else preflow.min_cut
        given = {name: each[name] or None for name in ("threads", "options")}
        ready = partial(solve, network, case["sources"], case["sinks"], method=each["method"], **given)
        check_solve(case, ready, tally, flow=each["problem"] == "max_flow")
        if each["problem"] == "max_flow" and case.get("limit") is not None:
            tally["flow limits"] += 1
            check_limited(case, ready(flow_limit=case["limit"]))


def check_limited(case: Case, result: Any) -> None:
    """Check a flow of integers with a limit: it has the smaller of the limit and the maximum."""
    _, arcs = exact_arcs(case)
    value = min(minimum_cut(case["n"], arcs, case["sources"], case["sinks"]).value, case["limit"])
    require(result.lower_bound == value, "wrong value at a limit", f"{result.lower_bound}, not {value}")
    check_flow(case, result.flow.tolist(), value)
    result.verify()


def check_solve(case: Case, solve: Any, tally: Tally, *, flow: bool = True) -> None:
    """Solve and compare the ending with that of the oracle."""
    shift, arcs = exact_arcs(case)
    cut = minimum_cut(case["n"], arcs, case["sources"], case["sinks"])
    tally["solves"] += 1
    try:
        result = solve()
    except UnboundedFlowError:
        require(cut.value >= INFINITE, "called unbounded, and is not", f"the value is {cut.value >> shift}")
        tally["unbounded"] += 1
        return
    except CapacityOverflowError as error:
        if case["dtype"] == "int64" and cut.value <= INT64_MAX:
            raise WrongError("an answer within int64 is an overflow", str(error)) from error
        tally["overflow"] += 1
        return
    require(cut.value < INFINITE, "unbounded, but solved")
    check_result(case, result, cut, shift, arcs, flow=flow)
    if case["verify"]:
        result.verify()
        tally["verified"] += 1


def make_edits(random: Random, quick: bool = False, *, floats: bool = False) -> Case:
    case = make(random, quick, floats=floats)
    style = random.choice(FRACTION_STYLES if floats else INTEGER_STYLES)
    infinite = random.choice([0.0, 0.1])
    edits: list[list[Any]] = []
    for _ in range(random.choice([2, 5, 10])):
        kind = random.choice(["set", "set", "set", "set", "add", "terminals"])
        number = fraction(random, style, infinite) if floats else integer(random, style)
        ends = [int(random.random() * case["n"]) for _ in range(2)]
        edits.append([kind, int(random.random() * 24), ends, number, random.random() < 0.3])
        edits[-1].append(call(random, OPTIONS) if random.random() < 0.3 else {"method": "auto", "threads": 1})
    return {**case, "edits": edits}


def check_edits(case: Case, tally: Tally) -> None:
    """Check a series of solves with changes between them."""
    solver = preflow.MaxFlow(network_of(case), case["sources"], case["sinks"])
    case = {**case, "arcs": [list(arc) for arc in case["arcs"]]}
    case["reverse"] = None if case["reverse"] is None else list(case["reverse"])
    check_solve(case, solver.solve, tally)
    for kind, arc, ends, number, reverse, how in case["edits"]:
        tally[f"edit {kind}"] += 1
        if kind == "set" and case["arcs"]:
            arc %= len(case["arcs"])
            backward = reverse and case["reverse"] is not None
            solver.set_capacity(arc, number, reverse=backward)
            if backward:
                case["reverse"][arc] = number
            else:
                case["arcs"][arc][2] = number
        elif kind == "add":
            solver.add_arcs([ends[0]], [ends[1]], [number])
            case["arcs"].append([*ends, number])
            if case["reverse"] is not None:
                case["reverse"].append(0)
        elif kind == "terminals" and ends[0] != ends[1]:
            case["sources"], case["sinks"] = [ends[0]], [ends[1]]
            solver.set_terminals(*ends)
        given = {name: how.get(name) or None for name in ("threads", "options")}
        check_solve(case, partial(solver.solve, method=how["method"], **given), tally)


def make_batch(random: Random, quick: bool = False, *, floats: bool = False) -> Case:
    items = [make(random, quick, floats=floats) for _ in range(random.choice([1, 2, 3, 5]))]
    for item in items:
        item["sources"], item["sinks"] = item["sources"][:1], item["sinks"][:1]
    return {"items": items, "threads": random.choice([1, 1, 2])}


def check_batch(case: Case, tally: Tally) -> None:
    """Check networks one by one, and then those that have a flow together."""
    ready: list[tuple[Case, Any, Any]] = []

    def solve(item: Case) -> Any:
        result = preflow.max_flow_batch([network_of(item)], item["sources"][0], item["sinks"][0], threads=1)
        ready.append((item, result.networks[0], result))
        return result[0]

    for item in case["items"]:
        check_solve(item, partial(solve, item), tally)
    sources, sinks = ([item[name][0] for item, _, _ in ready] for name in ("sources", "sinks"))
    together = preflow.max_flow_batch(
        [network for _, network, _ in ready], sources, sinks, threads=case["threads"]
    )
    for (item, _, alone), one in zip(ready, together, strict=True):
        for name in ("flow", "sink_side"):
            same = np.array_equal(getattr(one, name), getattr(alone, name))
            require(same, "an item of a batch has another answer than alone", name)
        shift, arcs = exact_arcs(item)
        rest = (~one.source_side()).tolist()
        require(rest[item["sinks"][0]] and not rest[item["sources"][0]], "the source side is no cut")
        capacity = cut_capacity(arcs, rest)
        check_float_value(one.value, capacity, shift, gap_of(one), "the source side has another value")
    together.verify()


def check_result(case: Case, result: Any, cut: Cut, shift: int, arcs: Any, *, flow: bool = True) -> None:
    require(result.status == "optimal", "not optimal without a time limit", result.status)
    sink_side = result.sink_side.tolist()
    if case["dtype"] == "int64":
        require(result.value == cut.value, "wrong value", f"{result.value}, not {cut.value}")
        found = {v for v, inside in enumerate(sink_side) if inside}
        require(found == cut.sink_side, "not the smallest sink side", f"{found}, not {cut.sink_side}")
        if flow:
            check_flow(case, result.flow.tolist(), cut.value)
        if case["verify"]:
            side = set(np.flatnonzero(result.source_side()).tolist())
            require(side == cut.source_side, "not the smallest source side", f"{side}, not {cut.source_side}")
        return
    check_float_value(result.value, cut.value, shift, gap_of(result))
    capacity = cut_capacity(arcs, sink_side)
    require(not any(sink_side[v] for v in case["sources"]), "a source on the sink side")
    require(all(sink_side[v] for v in case["sinks"]), "a sink on the source side")
    check_float_value(result.value, capacity, shift, gap_of(result), "the cut has another value")


def gap_of(result: Any) -> float | None:
    """Return by how much a result says its value may be off; None where it does not say."""
    return getattr(result, "gap", None)


def check_float_value(
    value: float,
    exact: int,
    shift: int,
    gap: float | None,
    kind: str = "wrong value of floats",
    *,
    small_gap: bool = True,
    close: float = CLOSE,
) -> None:
    """Check that a value is within its gap of an exact one, and that the gap is small."""
    require(value == value and abs(value) < float("inf"), "a value that is no number", repr(value))
    off = distance(value, exact, shift)
    allowed = RELATIVE * abs(value) if gap is None else gap
    if off > allowed and off > LEAST:
        raise WrongError(kind, f"{value} is off by {_shown(off)}, gap {gap}")
    if gap is not None and gap > LEAST and gap > close * abs(value) and small_gap:
        raise WrongError("a gap that is not small beside the value", f"{value} within {gap}")


def _shown(number: Any) -> str:
    return f"{float(number):.3g}" if number < 2**1000 else "more than 2**1000"


def check_flow(case: Case, flow: list[int], value: int) -> None:
    """Check an integer flow exactly."""
    balance = [0] * case["n"]
    reverse = case["reverse"] or [0] * len(flow)
    for (tail, head, capacity), back, amount in zip(case["arcs"], reverse, flow, strict=True):
        require(-back <= amount <= capacity, "a flow beyond the capacity", f"{amount} of {capacity}")
        balance[tail] -= amount
        balance[head] += amount
    arriving = sum(balance[v] for v in case["sinks"])
    require(arriving == value, "the flow has another value", f"{arriving}, not {value}")
    ends = {*case["sources"], *case["sinks"]}
    require(all(b == 0 for v, b in enumerate(balance) if v not in ends), "a flow that is not conserved")


def make_parametric(random: Random, quick: bool = False) -> Case:
    n = random.choice([3, 3, 4, 4, 5])
    style = random.choice(FRACTION_STYLES)
    infinite = random.choice([0.0, 0.0, 0.1])
    tilted = random.choice(["up", "up and down"])
    arcs, slopes = [], []
    for _ in range(int(random.random() * 4 * n)):
        u, v = int(random.random() * n), int(random.random() * n)
        arcs.append([u, v, fraction(random, style, infinite)])
        up, down = u == 0 and v not in (0, n - 1), v == n - 1 and u not in (0, n - 1)
        slope = fraction(random, style) if random.random() < 0.7 else 0.0
        slopes.append(slope if up else -slope if down and tilted == "up and down" else 0.0)
    reverse = [fraction(random, style, infinite) for _ in arcs] if random.random() < 0.2 else None
    high = random.choice([None, None, fraction(random, style)])
    at = [random.random() for _ in range(3)]
    case = {"n": n, "arcs": arcs, "reverse": reverse, "slopes": slopes, "high": high, "at": at}
    if random.random() < 0.4:
        # Constants below zero, which the slopes mostly make up for at the lowest value.
        low, most = fraction(random, style), 0.97 if random.random() < 0.9 else 1.03
        constants = [-most * random.random() ** 0.2 * low * max(slope, 0.0) for slope in slopes]
        if all(map(math.isfinite, constants)):
            case |= {"low": low, "constants": constants, "high": None if high is None else low + high}
    return case


def check_parametric(case: Case, tally: Tally) -> None:
    """Check all cuts of floats against the lines of all cuts that there are, in fractions."""
    n, source, sink = case["n"], 0, case["n"] - 1
    case = {**case, "dtype": "float64"}
    try:
        found = preflow.parametric_max_flow(
            network_of(case),
            case["slopes"],
            source,
            sink,
            constant=case.get("constants"),
            low=case.get("low", 0),
            high=case["high"],
            threads=1,
        )
    except UnboundedFlowError:
        found = None
    except InvalidInputError as error:
        refused = ("is negative at", "must be at most", "must be finite")
        require(any(each in str(error) for each in refused), "a case is refused", str(error))
        tally["negative capacities"] += 1
        return
    shift, arcs = exact_arcs(case)
    risen, (slopes,) = scaled(case["slopes"])
    slopes += [0] * (len(arcs) - len(slopes))
    moved, (constants,) = scaled(case.get("constants", []))
    constants += [0] * (len(arcs) - len(constants))
    lines = []
    for bits in range(2 ** (n - 2)):
        side = [False, *(bool(bits >> v & 1) for v in range(n - 2)), True]
        across = [i for i, (u, v, _) in enumerate(arcs) if side[v] and not side[u]]
        intercept = sum(arcs[i][2] for i in across)
        if intercept < INFINITE:
            rise = Fraction(sum(slopes[i] for i in across), 2**risen)
            exact = Fraction(intercept, 2**shift) + Fraction(sum(constants[i] for i in across), 2**moved)
            lines.append((exact, rise, {v for v, inside in enumerate(side) if inside}))
    if found is None:
        require(not lines, "called unbounded, and is not")
        tally["unbounded"] += 1
        return
    require(lines, "unbounded, but solved")
    found.verify()
    tally["verified"] += 1
    exact = [found.low, *(found.breakpoint(i) for i in range(len(found.breakpoints))), found.high]
    between = [found.low + Fraction(x) * (found.high - found.low) for x in case["at"]]
    for at in sorted({*exact, *between, *((a + b) / 2 for a, b in pairwise(exact))}):
        least = min(intercept + at * rise for intercept, rise, _ in lines)
        sides = [side for intercept, rise, side in lines if intercept + at * rise == least]
        smallest = set.intersection(*sides)
        tally["solves"] += 1
        try:
            value = found.value(at)
        except CapacityOverflowError:
            require(least > sys.float_info.max, "a value within float64 is an overflow", f"at {at}")
            continue
        require(value == float(least), "a wrong value", f"{value} at {at}, not {float(least)}")
        side = set(np.flatnonzero(found.sink_side(at)).tolist())
        require(side == smallest, "not the smallest sink side", f"at {at}")


DRIVERS = [
    Driver("flow", make, check, share=8.0),
    Driver("flow-floats", partial(make, floats=True), check, share=4.0),
    Driver("flow-edits", make_edits, check_edits, share=2.0),
    Driver("flow-edits-floats", partial(make_edits, floats=True), check_edits),
    Driver("flow-batch", make_batch, check_batch),
    Driver("flow-batch-floats", partial(make_batch, floats=True), check_batch),
    Driver("parametric-floats", make_parametric, check_parametric),
]
