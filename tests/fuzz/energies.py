"""Energies of binary variables, and labellings of images by moves, against all labellings."""

from __future__ import annotations

import itertools
from random import Random
from typing import Any

import numpy as np

from preflow.vision import BinaryEnergy, alpha_beta_swap, alpha_expansion, minimize_energy

from .harness import Case, Driver, Tally, require
from .values import integer


def make(random: Random, quick: bool = False) -> Case:
    if random.random() < 0.6:
        return _make_binary(random)
    height, width, labels = random.randrange(1, 3), random.randrange(1, 4), random.choice([1, 2, 2, 3])
    gaps = [[min(abs(a - b), 2) for b in range(labels)] for a in range(labels)]
    return {
        "kind": random.choice(["expansion", "swap"]),
        "data": [[[random.randrange(9) for _ in range(width)] for _ in range(height)] for _ in range(labels)],
        "distance": gaps,
        "weights": random.randrange(5),
    }


def _make_binary(random: Random) -> Case:
    n = random.randrange(1, 6)
    style = random.choice(["tiny", "small", "middle"])
    floats = random.random() < 0.3

    def number() -> Any:
        value = integer(random, style) * random.choice([1, -1])
        return value / 7 if floats else value

    pairs, tables = [], []
    for pair in itertools.combinations(range(n), 2):
        if random.random() < 0.5:
            a, d, b = number(), number(), number()
            table = [[a, b], [a + d - b + abs(number()), d]]
            pairs.append(random.sample(pair, 2))
            tables.append(table)
    return {
        "kind": "binary",
        "unary": [[number(), number()] for _ in range(n)],
        "pairs": pairs,
        "tables": tables,
    }


def check(case: Case, tally: Tally) -> None:
    tally["solves"] += 1
    if case["kind"] == "binary":
        energy = BinaryEnergy(case["unary"], case["pairs"], case["tables"])
        n = len(case["unary"])
        best = min(_binary_energy(case, labels) for labels in itertools.product((0, 1), repeat=n))
        result = minimize_energy(energy, threads=1)
        scale = sum(abs(v) for row in case["unary"] for v in row)
        scale += sum(abs(v) for table in case["tables"] for row in table for v in row)
        room = 1e-12 * scale if isinstance(best, float) else 0
        require(abs(result.value - best) <= room, "wrong energy", f"{result.value}, not {best}")
        found = _binary_energy(case, result.labels.astype(int).tolist())
        require(abs(found - best) <= room, "labels of another energy", f"{found}, not {best}")
        result.verify()
        return
    data = np.array(case["data"])
    move = alpha_expansion if case["kind"] == "expansion" else alpha_beta_swap
    result = move(data, case["distance"], case["weights"], connectivity=4, threads=1)
    labels = result.labels
    require(_energy(case, labels.tolist()) == result.energy, "labels of another energy")
    if len(data) <= 2:  # one move away from every labelling
        every = itertools.product(range(len(data)), repeat=labels.size)
        best = min(_energy(case, np.reshape(all_, labels.shape).tolist()) for all_ in every)
        require(result.energy == best, "a move missed the optimum", f"{result.energy}, not {best}")


def _binary_energy(case: Case, labels: Any) -> Any:
    total = sum(row[x] for row, x in zip(case["unary"], labels, strict=True))
    return total + sum(
        table[labels[i]][labels[j]] for (i, j), table in zip(case["pairs"], case["tables"], strict=True)
    )


def _energy(case: Case, labels: list[list[int]]) -> int:
    total = 0
    for r, row in enumerate(labels):
        for c, label in enumerate(row):
            total += case["data"][label][r][c]
            for other in [labels[r + 1][c]] if r + 1 < len(labels) else []:
                total += case["weights"] * case["distance"][label][other]
            for other in row[c + 1 : c + 2]:
                total += case["weights"] * case["distance"][label][other]
    return total


DRIVERS = [Driver("energies", make, check, share=1.0)]
