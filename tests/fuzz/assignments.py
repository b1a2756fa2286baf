"""linear_assignment of small costs: dense, sparse, stacks and points; total, partial, and with singles."""

from __future__ import annotations

from fractions import Fraction
from functools import partial as with_arguments
from random import Random
from typing import Any

import numpy as np
import scipy.sparse as sp

import preflow
from preflow.errors import CostOverflowError, InfeasibleError, InvalidInputError, NotOptimalError

from .flows import LEAST, SMALL_GAP, call, check_float_value, gap_of
from .harness import Case, Driver, Tally, WrongError, require
from .oracles import cheapest_assignment, scaled
from .values import FRACTION_STYLES, INTEGER_STYLES, fraction, integer

OPTIONS: dict[str, dict[str, list[Any]]] = {
    "serial-shortest-path": {
        "column_reduction": [True, False],
        "row_reduction": [0.0, 5.0],
        "lists": [True, False],
        "auction": [True, False],
    },
    "serial-cost-scaling": {
        "form": ["csa", "generic", "mixed"],
        "alpha": [2.0, 10.0],
        "skip": [True, False],
        "double_push": [True, False],
        "price_updates": [True, False],
        "arc_fixing": [True, False],
    },
    "multicore-shortest-path": {},
    "multicore-auction": {"alpha": [2.0, 10.0], "effort": [0.1, 20.0]},
    "multicore-lockfree": {
        "alpha": [2.0, 10.0],
        "arc_fixing": [True, False],
        "price_updates": [0, 1, 1000],
        "cycles": [3, 60],
    },
}
POINT_OPTIONS = {"serial-shortest-path": OPTIONS["serial-shortest-path"]}
METRICS = ["euclidean", "sqeuclidean", "cityblock", "chebyshev"]
#: Pairs are worse than the best ones by at most this power of two, beside what they cost beyond the least.
WORSE = 80
#: Rounding errors that a gap may have for every pair.
ROUNDINGS = 1024
#: The gap of an answer that is called optimal is at most this share of its terms, and of each row and column.
CLOSE, CLOSE_TERM = Fraction(1, 2**40), Fraction(1, 2**50)
#: Sums past this may be refused: prices are sums of costs, too.
LARGEST_SUM = Fraction(2) ** 1018
#: Prices may be refused past this: they are below the number of rows and columns times the largest cost.
LARGEST_PRICE = 2**59


def call_of_costs(random: Random, *, many: float = 0.15) -> Case:
    """Return a method with options: the form "bids" of cost scaling has no choice of some."""
    chosen = call(random, OPTIONS, many=many)
    has_choice = {"double_push", "price_updates", "arc_fixing"} & set(chosen["options"])
    if chosen["method"] == "serial-cost-scaling" and has_choice:
        chosen["options"]["form"] = random.choice(["csa", "generic", "mixed"])
    return chosen


def make(random: Random, quick: bool = False, *, kind: str) -> Case:
    """Return costs of a kind: "dense", "sparse", "stack" or "points"."""
    n = random.choice([1, 2, 3, 4, 4, 5, 6])
    m = n if random.random() < 0.6 else random.choice([1, 2, 3, 4, 5, 6])
    floats = random.random() < 0.5
    style = random.choice(FRACTION_STYLES if floats else INTEGER_STYLES)
    signed = random.random() < 0.3
    partial = random.random() < 0.3
    maximize = random.random() < 0.2
    allowed = random.choice([1.0, 1.0, 0.9, 0.6, 0.3]) if floats or kind == "sparse" else 1.0

    def number() -> Any:
        if random.random() >= allowed:
            return None
        value = fraction(random, style) if floats else integer(random, style)
        return -value if signed and random.random() < 0.5 else value

    items = random.choice([0, 1, 2, 3, 5]) if kind == "stack" else 1
    case: Case = {
        "kind": kind,
        "costs": [[[number() for _ in range(m)] for _ in range(n)] for _ in range(items)],
        "columns": m,
        "dtype": "float64" if floats else "int64",
        "maximize": maximize,
        "partial": partial,
        "sizes": None,
        "verify": random.random() < 0.3,
        "calls": [call_of_costs(random) for _ in range(random.choice([1, 2, 2]))],
    }
    if kind == "stack" and random.random() < 0.3:
        case["sizes"] = [[random.randrange(n + 1), random.randrange(m + 1)] for _ in range(items)]
    return case


def make_points(random: Random, quick: bool = False) -> Case:
    n, m, dimension = random.randrange(1, 7), random.randrange(1, 7), random.choice([1, 2, 2, 3])
    style = random.choice(["tiny", "small", "few", "uniform", "sentinels"])

    def point() -> list[Any]:
        if style in ("tiny", "small"):
            return [integer(random, style) for _ in range(dimension)]
        return [fraction(random, style) for _ in range(dimension)]

    points = [point() for _ in range(n + m)]
    if random.random() < 0.3:
        points = [random.choice(points) for _ in points]  # several equal ones
    return {
        "kind": "points",
        "rows": points[:n],
        "others": points[n:],
        "metric": random.choice(METRICS),
        "maximize": random.random() < 0.2,
        "partial": False,
        "sizes": None,
        "verify": random.random() < 0.3,
        "calls": [{**call(random, POINT_OPTIONS), "threads": 1}],
    }


def costs_of(case: Case) -> Any:
    """Return the costs of a case as linear_assignment takes them."""
    if case["kind"] == "points":
        return preflow.PointCosts(np.array(case["rows"]), np.array(case["others"]), metric=case["metric"])
    if case["kind"] == "sparse":
        entries = [(r, c, value) for r, row in enumerate(case["costs"][0]) for c, value in enumerate(row)]
        stored = [entry for entry in entries if entry[2] is not None]
        row, column, value = ([entry[i] for entry in stored] for i in range(3))
        ends = (np.array(row, np.int64), np.array(column, np.int64))
        shape = (len(case["costs"][0]), case["columns"])
        return sp.coo_array((np.array(value, case["dtype"]), ends), shape=shape).tocsr()
    never = -np.inf if case["maximize"] else np.inf
    filled = [[[never if v is None else v for v in row] for row in item] for item in case["costs"]]
    rows = len(case["costs"][0]) if case["costs"] else 2
    stack = np.array(filled, case["dtype"]).reshape(len(filled), rows, case["columns"])
    return stack if case["kind"] == "stack" else stack[0]


def exact_items(case: Case, costs: Any) -> tuple[int, list[list[list[int | None]]]]:
    """Return the exponent of all costs and each item's costs as exact integers to minimise; None: never."""
    if case["kind"] == "points":
        whole = costs.block(0, len(case["rows"])).tolist()
        items: list[Any] = [whole]
    else:
        items = case["costs"]
        if case["sizes"] is not None:
            items = [[row[:m] for row in item[:n]] for item, (n, m) in zip(items, case["sizes"], strict=True)]
    flat = [value for item in items for row in item for value in row if value is not None]
    shift, (numbers,) = scaled(flat)
    following = iter(numbers)
    sign = -1 if case["maximize"] else 1
    return shift, [
        [[None if value is None else sign * next(following) for value in row] for row in item]
        for item in items
    ]


def largest_integer(case: Case) -> int:
    """Return the size of the largest cost, 0 of floats."""
    if case["kind"] == "points" or case["dtype"] != "int64":
        return 0
    return max((abs(v) for item in case["costs"] for row in item for v in row if v is not None), default=0)


def check(case: Case, tally: Tally) -> None:
    costs = costs_of(case)
    shift, items = exact_items(case, costs)
    sizes = case["sizes"]
    columns = [m for _, m in sizes] if sizes else [_columns(case)] * len(items)
    best = [cheapest_assignment(item, m) for item, m in zip(items, columns, strict=True)]
    complete = all(size == min(len(item), m) for item, m, (size, _) in zip(items, columns, best, strict=True))
    for each in case["calls"]:
        tally["solves"] += 1
        tally[f"method {each['method']}"] += 1
        try:
            result = preflow.linear_assignment(
                costs,
                maximize=case["maximize"],
                sizes=None if sizes is None else np.array(sizes, np.int64).reshape(-1, 2),
                method=each["method"],
                threads=each["threads"],
                partial=case["partial"],
                options=each["options"] or None,
            )
        except InfeasibleError as error:
            require(not complete and not case["partial"], "called infeasible, and is not", str(error))
            check_hall(items, columns, error)
            tally["infeasible"] += 1
            continue
        except CostOverflowError as error:
            require(_past_float64(items, shift), "costs that can be added up are refused", str(error))
            tally["past float64"] += 1
            continue
        except InvalidInputError as error:
            if largest_integer(case) * 2 * (_columns(case) + 7) > LARGEST_PRICE or _far_points(case):
                tally["too large"] += 1
                continue
            raise WrongError("valid costs are refused", str(error)) from error
        require(complete or case["partial"], "infeasible, but solved")
        for index, (item, (size, least)) in enumerate(zip(items, best, strict=True)):
            check_item(case, result, index, item, size, least, shift)
        if case["verify"]:
            result.verify()
            tally["verified"] += 1


def _columns(case: Case) -> int:
    return len(case["others"]) if case["kind"] == "points" else int(case["columns"])


def _far_points(case: Case) -> bool:
    """Whether distances between points may be past float64."""
    return case["kind"] == "points" and any(
        abs(v) > 1e140 for point in (*case["rows"], *case["others"]) for v in point
    )


def _past_float64(items: Any, shift: int) -> bool:
    """Whether sums of some of the costs are past float64."""
    sums = (sum(abs(v) for row in item for v in row if v is not None) for item in items)
    return any(Fraction(total, 1 << shift) > LARGEST_SUM for total in sums)


def check_item(case: Case, result: Any, index: int, item: Any, size: int, least: int, shift: int) -> None:
    """Check the pairs and the cost of one matrix."""
    require(result.status == "optimal", "not optimal without a time limit", result.status)
    stack = case["kind"] == "stack"
    row, column, value = (
        (part[index] if stack else part) for part in (result.row, result.column, result.value)
    )
    row, column = row.tolist(), column.tolist()
    while stack and row and row[-1] == -1:
        row, column = row[:-1], column[:-1]
    require(len(row) == size, "wrong number of pairs", f"{len(row)}, not {size}")
    require(row == sorted(set(row)) and len(set(column)) == size, "pairs share a row or a column")
    require(all(c >= 0 for c in column), "a column that is none")
    chosen = [item[r][c] for r, c in zip(row, column, strict=True)]
    require(None not in chosen, "a pair that is not allowed")
    sign = -1 if case["maximize"] else 1
    if case["kind"] != "points" and case["dtype"] == "int64":
        require(sign * int(value) == least, "wrong cost", f"{value}, not {sign * least}")
        require(
            sum(chosen) == least, "the pairs have another cost", f"{sign * sum(chosen)}, not {sign * least}"
        )
        return
    value, gap = float(value), gap_of(result)
    if gap is not None and not isinstance(gap, int | float):
        gap = float(np.asarray(gap)[index])
    for exact, what in ((least, "wrong cost of floats"), (sum(chosen), "the pairs have another cost")):
        check_float_value(value, sign * exact, shift, gap, what, small_gap=False)
    used = sum(map(abs, chosen))
    beyond = used + sum(chosen) - least_of_rows(item, size)
    worse, rounding = Fraction(sum(chosen) - least, 1 << shift), Fraction(ROUNDINGS * size, 1 << (shift + 52))
    stated = (CLOSE + CLOSE_TERM * (len(item) + _columns(case))) * Fraction(used, 1 << shift)
    require(gap is None or Fraction(gap) <= stated + LEAST, "a gap past the statement", str(gap))
    allowed = rounding * used + Fraction(beyond, 1 << (shift + WORSE))
    require(worse <= max(allowed, LEAST), "pairs that are not the best", f"{value}, by {float(worse):.3g}")
    small = max(Fraction(SMALL_GAP) * Fraction(used, 1 << shift), rounding * beyond, LEAST)
    require(gap <= small, "a gap that is not small", f"{value} within {gap}")


def least_of_rows(item: Any, size: int) -> int:
    """Return what so many rows, or columns if there are fewer, cost at least."""
    columns = len(item[0]) if item else 0
    sides = item if len(item) <= columns else [[row[j] for row in item] for j in range(columns)]
    least = sorted(min((c for c in side if c is not None), default=0) for side in sides)
    return sum(least[:size])


def check_hall(items: Any, columns: list[int], error: InfeasibleError) -> None:
    """Check that rows (columns) that are named are together allowed only those, fewer, that are named."""
    index = 0 if error.item is None else error.item[0]
    item, m = items[index], columns[index]
    if error.side == "columns":
        item = [[row[column] for row in item] for column in range(m)]
    violating, allowed = set(error.violating), set(error.allowed)
    reached = {c for r in violating for c, value in enumerate(item[r]) if value is not None}
    require(len(allowed) < len(violating) and reached <= allowed, "a wrong Hall set", str(error))


def make_singles(random: Random, quick: bool = False) -> Case:
    """Return costs with those of rows and columns without a partner."""
    kind = random.choice(["dense", "dense", "sparse", "points"])
    base = make_points(random) if kind == "points" else make(random, kind=kind)
    n = len(base["rows"] if kind == "points" else base["costs"][0])
    whole = kind != "points" and base["dtype"] == "int64"
    style = random.choice(INTEGER_STYLES if whole else FRACTION_STYLES)

    def number() -> Any:
        value = integer(random, style) if whole else fraction(random, style)
        return -value if random.random() < 0.2 else value

    singles = [[number() for _ in range(size)] for size in (n, _columns(base))]
    if random.random() < 0.3:
        singles = [[side[0]] * len(side) for side in singles]
    calls = [call_of_costs(random) for _ in range(random.choice([1, 2]))]
    return {**base, "partial": False, "singles": singles, "calls": calls}


def check_singles(case: Case, tally: Tally) -> None:
    """Check the total against that of an assignment in which each row may take a column of its own."""
    costs, (rows, columns) = costs_of(case), case["singles"]
    shift, (item,) = exact_items(case, costs)
    more, (of_rows, of_columns) = scaled(rows, columns)
    together, sign = max(shift, more), -1 if case["maximize"] else 1
    item = [[None if c is None else c << (together - shift) for c in row] for row in item]
    of_rows, of_columns = ([sign * c << (together - more) for c in side] for side in (of_rows, of_columns))
    n, m = len(item), _columns(case)
    wide = [
        [
            *(None if c is None else c - k for c, k in zip(row, of_columns, strict=True)),
            *(of_rows[i] if i == alone else None for alone in range(n)),
        ]
        for i, row in enumerate(item)
    ]
    least = cheapest_assignment(wide, m + n)[1] + sum(of_columns)
    exact = case["kind"] != "points" and case["dtype"] == "int64"
    flat = [c for row in item for c in row if c is not None] + of_rows + of_columns
    largest = max(map(abs, flat), default=0)
    for each in case["calls"]:
        tally["solves"] += 1
        try:
            result = preflow.linear_assignment(
                costs,
                maximize=case["maximize"],
                unmatched_cost=(np.array(rows), np.array(columns)),
                method=each["method"],
                threads=each["threads"],
                options=each["options"] or None,
            )
        except CostOverflowError as error:
            sums = Fraction(sum(map(abs, flat)), 1 << together)
            require(sums > LARGEST_SUM, "costs that can be added up are refused", str(error))
            tally["past float64"] += 1
            continue
        except InvalidInputError as error:
            if _far_points(case) or (exact and largest * 3 * (n + m) >= 2**59):
                tally["too large"] += 1
                continue
            raise WrongError("valid costs are refused", str(error)) from error
        require(result.status == "optimal", "not optimal without a time limit", result.status)
        pairs = list(zip(result.row.tolist(), result.column.tolist(), strict=True))
        require(len({r for r, _ in pairs}) == len(pairs) == len({c for _, c in pairs}), "a partner is shared")
        chosen = [item[r][c] for r, c in pairs]
        require(None not in chosen, "a pair that is not allowed")
        alone = [of_rows[i] for i in range(n) if i not in {r for r, _ in pairs}]
        alone += [of_columns[j] for j in range(m) if j not in {c for _, c in pairs}]
        total = sum(chosen) + sum(alone)
        marked = ~np.isin(np.arange(n), result.row)
        require(np.array_equal(result.unmatched_rows, marked), "wrong single rows")
        if exact:
            require(total == least == sign * int(result.value), "wrong cost", f"{result.value}, not {least}")
        else:
            close = CLOSE + CLOSE_TERM * (n + m)
            allowed = close * Fraction(sum(map(abs, chosen + alone)), 1 << together) + LEAST
            among = sum(map(abs, chosen)) or sum(map(abs, alone))
            worse = Fraction(total - least, 1 << together)
            require(worse <= close * Fraction(among, 1 << together) + LEAST, "pairs that are not the best")
            stated = abs(Fraction(float(result.value)) - Fraction(sign * total, 1 << together))
            require(stated <= allowed, "the pairs have another cost", f"{result.value}")
            off = abs(Fraction(float(result.value)) - Fraction(sign * least, 1 << together))
            require(off <= Fraction(float(result.gap)) + LEAST, "a gap that is too small", str(result.gap))
            require(Fraction(float(result.gap)) <= allowed, "a gap past the statement", str(result.gap))
        if case["verify"]:
            result.verify()
            tally["verified"] += 1


def make_priced(random: Random, quick: bool = False) -> Case:
    """Return one matrix for the assignment as a transport problem."""
    case = make(random, kind=random.choice(["dense", "sparse"]))
    return {**case, "maximize": False, "partial": False, "calls": []}


def check_priced(case: Case, tally: Tally) -> None:
    """Check an assignment that is solved as a transport problem, and its prices."""
    costs = costs_of(case)
    shift, (item,) = exact_items(case, costs)
    size, least = cheapest_assignment(item, _columns(case))
    tally["solves"] += 1
    try:
        result = preflow.reductions.AssignmentAsTransport.of(costs).solve()
    except InfeasibleError as error:
        require(size < min(len(item), _columns(case)), "called infeasible, and is not", str(error))
        return
    except (InvalidInputError, NotOptimalError):
        tally["refused"] += 1  # transport has limits of its own
        return
    result.verify()
    tally["verified"] += 1
    off = abs(Fraction(result.cost) - Fraction(least, 1 << shift))
    require(off <= Fraction(result.gap) + Fraction(LEAST), "a gap that is too small", f"{result.cost}")


DRIVERS = [
    Driver("assignment-priced", make_priced, check_priced, 1.0),
    Driver("assignment-singles", make_singles, check_singles, 2.0),
    Driver("assignment-dense", with_arguments(make, kind="dense"), check, 5.0),
    Driver("assignment-sparse", with_arguments(make, kind="sparse"), check, 4.0),
    Driver("assignment-stack", with_arguments(make, kind="stack"), check, 2.0),
    Driver("assignment-points", make_points, check, 1.5),
]
