"""Random numbers of the kinds that break solvers."""

from __future__ import annotations

import sys
from random import Random
from typing import Any

INT64_MAX = 2**63 - 1
#: Integers at which something changes.
EDGES = [
    0,
    1,
    2,
    3,
    127,
    255,
    2**15 - 1,
    2**15,
    2**31 - 1,
    2**31,
    2**32,
    2**53,
    2**53 + 1,
    2**59,
    2**61,
    2**62,
]
#: Floats that people write for "never", and those at the ends of the range.
SENTINELS = [1e9, 1e10, 1e12, 1e15, 1e16, 1e18, 1e30, 1e100, float(2**59), float(2**62), float(INT64_MAX)]
EXTREMES = [0.0, -0.0, 5e-324, 1e-310, 2.2250738585072014e-308, 1e-300, 1e-25, 1e-20, 1e-16, 1e300]
FEW = [0.0, 0.1, 0.25, 1 / 3, 0.7, 1.0, 1.5]
#: One number in ten among small ones: what one of them spoils shows in the others.
OUTLIERS = [1e7, 1e8, 1e10, 1e13, 1e15, float(2**53), 1e17, 1e18, 1e32, 1e100, 1e300, 1e308]
OUTLIERS += [sys.float_info.max, 5e-324, 1e-310, 1e-300]


def integer(random: Random, style: str) -> int:
    """Return an integer that is not negative."""
    if style == "tiny":
        return int(random.random() * 4)
    if style == "small":
        return int(random.random() * 21)
    if style == "middle":
        return int(random.random() * 2**33)
    if style == "edges":
        return random.choice(EDGES)
    if style == "sentinels":  # most are small, some mean "infinite"
        return int(random.random() * 9) if random.random() < 0.7 else random.choice([INT64_MAX, 2**62, 2**59])
    return int(random.random() * 2 ** random.randrange(1, 63))  # of any size


INTEGER_STYLES = ["tiny", "tiny", "small", "small", "middle", "edges", "sentinels", "any"]
#: Those whose sums stay far below 2**63.
MODEST_STYLES = ["tiny", "tiny", "small", "small", "middle"]


def fraction(random: Random, style: str, infinite: float = 0.0) -> float:
    """Return a float that is not negative, infinite with some probability."""
    if infinite and random.random() < infinite:
        return float("inf")
    if style == "few":
        return random.choice(FEW)
    if style == "uniform":
        return random.random()
    if style == "sentinels":
        return random.random() if random.random() < 0.7 else random.choice(SENTINELS)
    if style == "extremes":
        return random.choice(EXTREMES) if random.random() < 0.5 else random.choice(FEW)
    if style == "outliers":
        return random.choice(OUTLIERS) if random.random() < 0.1 else random.choice(FEW) + random.random()
    if style == "whole":
        return float(int(random.random() * 9))
    return 10.0 ** random.uniform(-300, 300)  # of any size


FRACTION_STYLES = ["few", "uniform", "sentinels", "extremes", "whole", "any", "outliers", "outliers"]


def pick(random: Random, options: dict[str, list[Any]]) -> dict[str, Any]:
    """Return some options, each with one of its values."""
    return {name: random.choice(values) for name, values in options.items() if random.random() < 0.4}
