"""Hashes of the answers to a fixed set of the fuzzers' cases: python -m tests.fuzz.answers [DRIVER ...]

A change that is to change no answer leaves them as they are. With ``--record`` they are written to
``tests/data/answers.json``. What solves of one thread answer is hashed as a whole; of several threads, only
what is the same in all optimal answers.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial, wraps
from inspect import isfunction
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import preflow

from .drivers import DRIVERS
from .harness import WrongError

RECORD = Path(__file__).resolve().parents[1] / "data" / "answers.json"
#: Drivers whose cases have answers, and the first cases of each.
NAMES = [name for name in DRIVERS if not name.startswith(("corruption", "interruption", "readers", "large"))]
CASES = 2500
SEED = 63
#: The number of cases that one hash covers.
STEP = 250
#: What all optimal answers share.
VALUES = ("status", "value", "lower_bound", "upper_bound")
FIELDS = (
    "flow", "sink_side", "labels", "row_match", "column_match", "row", "column", "mate", "mass", "u", "v",
    "potentials", "row_prices", "column_prices", "vertices", "edges", "arcs", "parent",
)  # fmt: skip


def digest(result: Any) -> bytes:
    """Return what a hash covers of a result."""
    stats = getattr(result, "stats", None)
    names = VALUES + (FIELDS if getattr(stats, "threads", 1) == 1 else ())
    found = []
    for name in names:
        try:
            value = getattr(result, name, None)
        except preflow.errors.PreflowError as error:
            value = type(error).__name__
        if value is None or callable(value):
            continue
        values = np.asarray(value)
        text = repr(values.tolist()) if values.dtype == object else f"{values.shape} {values.tolist()}"
        found.append(f"{name} {text}")
    return "\n".join(found).encode()


def hashes_of(name: str, cases: int) -> list[str]:
    """Return a hash for each `STEP` of the first cases of a driver."""
    running = hashlib.sha256()

    def heard(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def call(*arguments: Any, **named: Any) -> Any:
            try:
                result = function(*arguments, **named)
            except preflow.errors.PreflowError as error:
                running.update(type(error).__name__.encode())
                raise
            running.update(digest(result))
            return result

        return call

    functions = {each: getattr(preflow, each) for each in preflow.__all__}
    public = {each: heard(value) for each, value in functions.items() if isfunction(value)}
    found = []
    driver = DRIVERS[name]
    with patch.multiple(preflow, **public), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for index in range(cases):
            try:
                driver.check(driver.case(SEED, index), Counter())
            except (WrongError, preflow.errors.PreflowError) as error:  # the hash covers that it fails
                running.update(type(error).__name__.encode())
            if (index + 1) % STEP == 0:
                found.append(running.hexdigest()[:16])
    return found


def main() -> None:
    """Compare with the record, or write it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("drivers", nargs="*", choices=[*NAMES, []], metavar="DRIVER")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--cases", type=int, default=CASES)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    recorded = json.loads(RECORD.read_text("utf-8")) if RECORD.exists() else {}
    wrong = 0
    names = options.drivers or NAMES
    with ProcessPoolExecutor(options.jobs) as pool:
        for name, found in zip(names, pool.map(partial(hashes_of, cases=options.cases), names), strict=True):
            old = recorded.get(name, [])[: len(found)]
            first = next((i for i, (a, b) in enumerate(zip(found, old, strict=False)) if a != b), len(old))
            same = first == len(found)
            wrong += not same
            print(f"{name}: {'as recorded' if same else f'another answer from case {first * STEP} on'}")
            recorded[name] = found
    if options.record:
        lines = [f'"{name}": {json.dumps(found)}' for name, found in sorted(recorded.items())]
        RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
    else:
        sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
