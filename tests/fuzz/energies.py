"""Energies of binary variables, and labellings of images and graphs by moves, against all labellings."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Iterator, Sequence
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np

from preflow.errors import CapacityOverflowError
from preflow.vision import (
    BinaryEnergy,
    GraphLabelEnergy,
    alpha_beta_swap,
    alpha_expansion,
    denoise,
    label_graph,
    minimize_energy,
)

from .harness import Case, Driver, Tally, require
from .values import fraction, integer

#: What the status "optimal" promises, and more than float64 needs for the few terms of a case.
CLOSE = 39
#: Floats are integers in this unit, and sums of integers are fast.
UNIT = 1074
MOVES = {"expansion": alpha_expansion, "swap": alpha_beta_swap}


def exact(value: int | float) -> int:
    """Return a number times two to `UNIT`."""
    numerator, denominator = value.as_integer_ratio()
    return numerator << (UNIT + 1 - denominator.bit_length())


MOST = exact(sys.float_info.max)


def make(random: Random, quick: bool = False) -> Case:
    kinds = ["binary", "binary", "partial", "expansion", "expansion", "swap", "graph", "graph", "denoise"]
    kind = random.choice(kinds)
    if kind in ("binary", "partial"):
        return _make_binary(random, kind)
    if kind == "denoise":
        return _make_denoise(random)
    floats = random.random() < 0.7
    height, width, labels = random.randrange(1, 3), random.randrange(1, 4), random.choice([1, 2, 2, 3])
    case: Case = {"kind": kind, "shape": [height, width]}

    def number(signed: bool = False) -> Any:
        return _number(random, floats, signed)

    negative = random.random() < 0.2
    case["data"] = [[[number(negative) for _ in range(width)] for _ in range(height)] for _ in range(labels)]
    case["distance"] = _distance(random, labels, floats, metric=kind != "swap")
    if kind == "graph":
        case["shape"] = [1, height * width]
        case["data"] = [[list(itertools.chain(*rows))] for rows in case["data"]]
        pairs = list(itertools.combinations(range(height * width), 2))
        case["edges"] = [random.sample(pair, 2) for pair in pairs if random.random() < 0.6]
        case["weights"] = [number() for _ in case["edges"]]
    else:
        same = number()
        case["weights"] = [
            [[same if random.random() < 0.5 else number() for _ in range(width)] for _ in range(height)]
            for _ in range(2)
        ]
        case["costs"] = [number() for _ in range(labels)] if random.random() < 0.3 else None
    return case


def _number(random: Random, floats: bool, signed: bool = False) -> Any:
    """Return an integer, or a float of which one in ten is far from all others."""
    value = fraction(random, "outliers") if floats else random.randrange(9)
    return -value if signed and random.random() < 0.4 else value


def _distance(random: Random, labels: int, floats: bool, metric: bool) -> Any:
    if not metric:
        half = [[_number(random, floats) for _ in range(labels)] for _ in range(labels)]
        return [[0 if a == b else half[min(a, b)][max(a, b)] for b in range(labels)] for a in range(labels)]
    unit = min(_number(random, floats), 1e307)
    return [[unit * min(abs(a - b), 2) for b in range(labels)] for a in range(labels)]


def _make_binary(random: Random, kind: str) -> Case:
    n = random.randrange(1, 6)
    style = random.choice(["tiny", "small", "middle"])
    floats = random.random() < 0.6
    signed = random.random() < 0.6

    def number() -> Any:
        value = fraction(random, "outliers") if floats else integer(random, style)
        return -value if signed and random.random() < 0.4 else value

    pairs, tables = [], []
    for pair in itertools.combinations(range(n), 2):
        if random.random() < 0.5:
            a, d, b, c = number(), number(), number(), number()
            least = c if kind == "partial" else _above(exact(a) + exact(d) - exact(b), floats)
            if least is None:
                continue
            pairs.append(random.sample(pair, 2))
            tables.append([[a, b], [max(c, least) if random.random() < 0.5 else least, d]])
    triples, cubes = [], []
    if n >= 3 and random.random() < 0.4:
        most = number() if not signed else abs(number())
        triples = [random.sample(range(n), 3)]
        cubes = [[[[0, most], [most, most]], [[most, most], [most, 0]]]]
    unary = [[number(), number()] for _ in range(n)]
    return {
        "kind": kind,
        "unary": unary,
        "pairs": pairs,
        "tables": tables,
        "triples": triples,
        "cubes": cubes,
    }


def _above(least: int, floats: bool) -> Any:
    """Return the least number of a kind that is not below an exact one; None if it is past float64."""
    if not floats:
        return least >> UNIT
    if abs(least) > MOST:
        return None
    value = float(Fraction(least, 1 << UNIT))
    value = value if exact(value) >= least else math.nextafter(value, math.inf)
    return value if value < math.inf else None


def _make_denoise(random: Random) -> Case:
    height, width = random.randrange(1, 3), random.randrange(1, 4)
    levels = random.choice([2, 2, 3, 4])
    return {
        "kind": "denoise",
        "image": [[random.randrange(levels) for _ in range(width)] for _ in range(height)],
        "weight": random.choice([0, 0.25, 0.5, 1.5, 2.0, 1e7, 1e15, 1e100, 1e308, 5e-324]),
        "data": random.choice(["squared", "absolute"]),
    }


def check(case: Case, tally: Tally) -> None:
    tally["solves"] += 1
    tally[case["kind"]] += 1
    CHECKS[case["kind"]](case, tally)


def _check_binary(case: Case, tally: Tally) -> None:
    energy = BinaryEnergy(case["unary"], case["pairs"], case["tables"], case["triples"], case["cubes"])
    n = len(case["unary"])
    whole = energy.unary.dtype.kind != "f"
    choices = [list(_binary_terms(case, labels)) for labels in itertools.product((0, 1), repeat=n)]
    best = min(choices, key=sum)
    try:
        result = minimize_energy(energy, threads=1)
    except CapacityOverflowError:
        require(abs(sum(best)) > MOST, "refused, although it fits float64")
        tally["refused"] += 1
        return
    terms = list(_binary_terms(case, result.labels.astype(int).tolist()))
    _check_value(result.upper_bound, sum(terms), terms, whole, "labels of another energy")
    lower = result.upper_bound - result.gap if result.status == "optimal" else result.lower_bound
    slack = 0 if whole else max(_size(best), _size(terms)) >> CLOSE
    require(lower == -math.inf or exact(lower) <= sum(best) + slack, "a lower bound that is none")
    tally[result.status] += 1
    if result.status == "optimal":
        room = 0 if whole else max(_size(best), _size(terms)) >> CLOSE
        off = sum(terms) - sum(best)
        require(off <= room, "wrong energy", f"{result.upper_bound}, off by {_show(off)}")
    require(result.status in ("optimal", "approximate"), "a status", result.status)
    result.verify()


def _check_partial(case: Case, tally: Tally) -> None:
    """Check that the labels that are proved raise no energy, and that both bounds hold."""
    energy = BinaryEnergy(case["unary"], case["pairs"], case["tables"], case["triples"], case["cubes"])
    n = len(case["unary"])
    energies = {x: sum(_binary_terms(case, x)) for x in itertools.product((0, 1), repeat=n)}
    least = min(energies.values())
    try:
        result = minimize_energy(energy, partial=True, threads=1)
    except CapacityOverflowError:
        require(2 * abs(least) > MOST, "refused, although it fits float64")
        tally["refused"] += 1
        return
    result.verify()
    labels, room = result.labels.tolist(), exact(result.room)
    for x, cost in energies.items():
        put = energies[tuple(b if a < 0 else a for a, b in zip(labels, x, strict=True))]
        require(put <= cost + room, "labels raise an energy", f"by {_show(put - cost)}")
        if isinstance(result.lower_bound, int) and cost == least:
            every = zip(labels, x, result.in_every_minimum.tolist(), strict=True)
            require(all(a == b for a, b, sure in every if sure), "a minimum with another label")
    lower, upper = result.lower_bound, result.upper_bound
    require(lower == -math.inf or exact(lower) <= least + room, "a lower bound that is none")
    rounding = room + (abs(least) >> 50)
    require(upper == math.inf or exact(upper) >= least - rounding, "an upper bound that is none")
    if result.status == "optimal":
        require(abs(exact(upper) - least) <= exact(result.gap), "wrong energy")
    tally[result.status] += 1
    tally["proved labels"] += sum(label >= 0 for label in labels)


def _binary_terms(case: Case, labels: Sequence[int]) -> Iterator[int]:
    for row, x in zip(case["unary"], labels, strict=True):
        yield exact(row[x])
    for (i, j), table in zip(case["pairs"], case["tables"], strict=True):
        yield exact(table[labels[i]][labels[j]])
    for (i, j, k), cube in zip(case["triples"], case["cubes"], strict=True):
        yield exact(cube[labels[i]][labels[j]][labels[k]])


def _show(amount: int) -> str:
    return f"{float(Fraction(amount, 1 << UNIT)):g}" if abs(amount) < MOST else "more than float64"


def _size(terms: Sequence[int]) -> int:
    return sum(map(abs, terms))


def _check_value(value: Any, right: int, terms: Sequence[int], whole: bool, kind: str) -> None:
    """Check a stated energy: exactly that of integers, within rounding of its terms for floats."""
    if abs(value) == math.inf:
        require(abs(right) > MOST, kind, f"{value}, not finite")
        return
    room = 0 if whole else (_size(terms) >> 50) + 16
    require(abs(exact(value) - right) <= room, kind, f"{value}, not {_show(right)}")


def _check_labels(case: Case, tally: Tally) -> None:
    """Check a labelling by moves: its energy, and that no move improves it, by trying all choices."""
    try:
        solved = _solve_labels(case)
    except CapacityOverflowError:
        weights, gaps = np.array(case["weights"]).max(initial=0), np.array(case["distance"]).max()
        terms = [float(weights) * float(gaps), *np.ravel(case["data"]).tolist(), *(case.get("costs") or [])]
        largest = max(map(abs, terms))
        require(largest > sys.float_info.max / 100, "refused, although it fits float64")
        tally["refused"] += 1
        return
    terms = list(_label_terms(case, solved.labels.ravel().tolist()))
    whole = isinstance(solved.energy, int)
    _check_value(solved.energy, sum(terms), terms, whole, "labels of another energy")
    solved.verify()
    if not solved.converged:
        tally["not converged"] += 1
        return
    labels = solved.labels.ravel().tolist()
    size = len(case["data"])
    moves = itertools.combinations(range(size), 2) if case["kind"] == "swap" else ((a,) for a in range(size))
    for move in moves:
        if len(move) == 2:
            options = [move if label in move else (label,) for label in labels]
        else:
            options = [(label, *move) for label in labels]
        least = min((list(_label_terms(case, new)) for new in itertools.product(*options)), key=sum)
        room = 0 if whole else (_size(terms) + _size(least)) >> (CLOSE - 1)
        gain = sum(terms) - sum(least)
        require(gain <= room, "a move improves", f"{move} by {_show(gain)} of {solved.energy}")
    if size <= 2:  # a labelling that no move improves is a best one
        every = (list(_label_terms(case, new)) for new in itertools.product(range(size), repeat=len(labels)))
        best = min(every, key=sum)
        room = 0 if whole else (_size(terms) + _size(best)) >> (CLOSE - 2)
        gain = sum(terms) - sum(best)
        if not case.get("costs"):
            require(gain <= room, "moves missed the optimum", f"by {_show(gain)} of {solved.energy}")


def _solve_labels(case: Case) -> Any:
    data = np.array(case["data"])
    if case["kind"] == "graph":
        ends = np.array(case["edges"], np.int64).reshape(-1, 2)
        flat = data.reshape(len(data), -1)
        energy = GraphLabelEnergy(flat, ends[:, 0], ends[:, 1], case["distance"], case["weights"])
        return label_graph(energy, threads=1)
    move = MOVES[case["kind"]]
    rest = {"connectivity": 4, "label_costs": case["costs"], "threads": 1}
    return move(data, case["distance"], np.array(case["weights"]), **rest)


def _label_terms(case: Case, labels: Sequence[int]) -> Iterator[int]:
    """Yield the terms of a labelling; a weight times a distance is one float."""
    height, width = case["shape"]
    for pixel, label in enumerate(labels):
        yield exact(case["data"][label][pixel // width][pixel % width])
    if case["kind"] == "graph":
        for (u, v), weight in zip(case["edges"], case["weights"], strict=True):
            yield exact(weight * case["distance"][labels[u]][labels[v]])
        return
    for direction, (down, right) in enumerate([(0, 1), (1, 0)]):
        for row in range(height - down):
            for column in range(width - right):
                here, there = row * width + column, (row + down) * width + column + right
                weight = case["weights"][direction][row][column]
                yield exact(weight * case["distance"][labels[here]][labels[there]])
    if case["costs"] is not None:
        yield from (exact(case["costs"][label]) for label in set(labels))


def _check_denoise(case: Case, tally: Tally) -> None:
    image = np.array(case["image"])
    result = denoise(image, case["weight"], data=case["data"], connectivity=4, threads=1)
    result.verify()
    values = sorted(range(image.min(), image.max() + 1))
    found = _denoise_energy(case, result.image.ravel().tolist())
    best = min(_denoise_energy(case, new) for new in itertools.product(values, repeat=image.size))
    # Costs are rounded to a millionth of the largest.
    room = Fraction(image.size * 9, 10**6) * (image.max() - image.min() + 1) ** 2
    require(found - best <= room, "an image of higher energy", f"{float(found)}, not {float(best)}")
    require(abs(Fraction(result.energy) - found) <= found / 2**CLOSE, "an image of another energy")


def _denoise_energy(case: Case, new: Sequence[int]) -> Fraction:
    old = list(itertools.chain.from_iterable(case["image"]))
    width = len(case["image"][0])
    pairs = [(p, p + 1) for p in range(len(old)) if (p + 1) % width]
    pairs += [(p, p + width) for p in range(len(old) - width)]
    total = sum(abs(new[p] - new[q]) for p, q in pairs) * Fraction(case["weight"])
    for a, b in zip(new, old, strict=True):
        total += abs(a - b) if case["data"] == "absolute" else Fraction((a - b) ** 2, 2)
    return total


CHECKS = {
    "binary": _check_binary,
    "partial": _check_partial,
    "expansion": _check_labels,
    "swap": _check_labels,
    "graph": _check_labels,
    "denoise": _check_denoise,
}
DRIVERS = [Driver("energies", make, check, share=1.0)]
