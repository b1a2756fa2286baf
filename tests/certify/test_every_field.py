"""Every field of results of flows and cuts, corrupt in every way: VerificationError, no other error."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import preflow
from preflow.errors import VerificationError

#: Fields that no proof speaks of: the statistics.
UNPROVED = {"stats"}
NUMBERS = [None, "5", math.nan, math.inf, -math.inf, -1, [5], 10**400, -(10**400), 2**63, np.nan, 1j]
ARRAYS = [None, 7, "labels", [1, 2], np.array(3), np.zeros(0), np.array([None] * 4), np.zeros((2, 2, 2, 2))]
OTHERS = [None, 7, "network", (), np.zeros(3)]
ARCS = ([0, 0, 1, 2, 1], [1, 2, 3, 3, 2], [9, 8, 2, 3, 1])
OTHER_ARCS = ([0, 0, 1, 2, 3], [1, 2, 3, 3, 4], [7, 9, 7, 9, 16])


def results(factor: float) -> dict[str, tuple[Any, Any]]:
    """Return a result of each kind, of capacities times a factor, and one of another problem."""

    def arcs(given: Any) -> Any:
        return (*given[:2], [factor * capacity for capacity in given[2]])

    def grid(shift: int) -> tuple[Any, ...]:
        source = factor * np.array([[9, 4, 0], [9 + shift, 1, 0], [0, 0, shift]])
        return source, factor * np.array([[0, 3, 9], [0, 6, 9], [8, 0, 0]]), factor * (2 + shift)

    def batch(shift: int) -> Any:
        parts = [grid(shift), grid(shift + 2)]
        return preflow.grid_cut_batch(*(np.stack([part[k] for part in parts]) for k in range(2)), factor * 2)

    flows = [arcs(ARCS), arcs(OTHER_ARCS)]
    return {
        "max_flow": (preflow.max_flow(flows[0], 0, 3), preflow.max_flow(flows[1], 0, 4)),
        "min_cut": (preflow.min_cut(flows[0], 0, 3), preflow.min_cut(flows[1], 0, 4)),
        "max_flow_batch": (
            preflow.max_flow_batch([flows[0]] * 2, 0, 3),
            preflow.max_flow_batch([flows[1]] * 3, 0, 4),
        ),
        "grid_cut": (preflow.grid_cut(*grid(0)), preflow.grid_cut(*grid(3))),
        "grid_cut_batch": (batch(0), batch(3)),
        "parametric": (
            preflow.parametric_max_flow(arcs((*ARCS[:2], [0, 0, 4, 3, 1])), [1, 2, 0, 0, 0], 0, 3),
            preflow.parametric_max_flow(flows[1], [1, 3, 0, 0, 0], 0, 4),
        ),
    }


def corruptions(value: Any, other: Any) -> Iterator[Any]:
    """Yield wrong values of a field whose right value is given, with that of another problem's result."""
    if isinstance(value, np.ndarray):
        yield from ARRAYS
        yield value.astype(object)
        yield value.reshape(1, -1)
        yield np.append(value, value[:1])
        yield value[:-1]
        for place in np.ndindex(value.shape):
            changed = value.copy()
            changed[place] = not changed[place] if value.dtype == bool else changed[place] + 1
            yield changed
            if value.dtype.kind == "f":
                for number in (np.nan, np.inf, -np.inf, -1e300):
                    changed = value.copy()
                    changed[place] = number
                    yield changed
            elif value.dtype.kind == "i":
                for number in (-(2**63), 2**63 - 1):
                    changed = value.copy()
                    changed[place] = number
                    yield changed
    elif isinstance(value, str):
        yield from ("garbage", None, 7, np.array(["optimal"]), "flow-limit\n")
    elif isinstance(value, Fraction):
        yield from (None, "1", value + 1, value - 1, math.nan, 10**400)
    elif isinstance(value, int | float):
        yield from NUMBERS
        yield value + 1
        yield value - 1
        yield value + 1e-3
        yield 10**30
    else:
        yield from OTHERS
    if isinstance(value, np.ndarray) or not isinstance(value, int | str | float):
        yield other


def is_same(value: Any, wrong: Any) -> bool:
    """Return whether a corruption has changed nothing."""
    if isinstance(value, np.ndarray):
        alike = isinstance(wrong, np.ndarray) and wrong.dtype in (value.dtype, object)
        return alike and np.array_equal(value, wrong)
    return value is wrong or (isinstance(value, Fraction) and value == wrong)


@pytest.mark.parametrize("factor", [1, 0.3])
@pytest.mark.parametrize(
    "kind", ["max_flow", "min_cut", "max_flow_batch", "grid_cut", "grid_cut_batch", "parametric"]
)
def test_every_field(kind: str, factor: float) -> None:
    result, other = results(factor)[kind]
    result.verify()
    other.verify()
    count = 0
    for field in fields(result):
        if field.name in UNPROVED or (kind == "max_flow" and field.name in ("flow_limit", "_second_stage")):
            continue
        value = getattr(result, field.name)
        for wrong in corruptions(value, getattr(other, field.name)):
            if is_same(value, wrong) or (field.name == "flow" and wrong is None):
                continue  # a flow that is not known is computed
            if field.name == "_gap" and factor != 1 and wrong is other._gap:
                continue  # a larger bound that is as small as that of an optimum
            try:
                damaged = replace(result, **{field.name: wrong})
            except AttributeError:  # its arrays cannot be made read-only
                continue
            try:
                damaged.verify()
            except VerificationError:
                count += 1
            else:
                raise AssertionError(f"{field.name} = {wrong!r} for {value!r} is accepted")
    assert count > 60


@pytest.mark.parametrize("wrong", [None, "3", math.nan, -1, 2, -math.inf])
def test_a_flow_limit(wrong: Any) -> None:
    result = preflow.max_flow(([0, 1], [1, 2], [5, 4]), 0, 2, flow_limit=3)
    result.verify()
    with pytest.raises(VerificationError):
        replace(result, flow_limit=wrong).verify()


def test_arrays_cannot_be_written() -> None:
    for kind, (result, _) in results(0.3).items():
        names = [name for name in dir(type(result)) if not name.startswith("_")] + list(vars(result))
        for name in names:
            value = getattr(result, name) if name != "value" or "parametric" not in kind else None
            if isinstance(value, np.ndarray):
                assert not value.flags.writeable, f"{kind}: {name}"
