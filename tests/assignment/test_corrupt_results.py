"""verify() refuses every wrong value of every field, by VerificationError and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import preflow
from preflow import reductions
from preflow.errors import VerificationError

INF = np.inf
RANDOM = np.random.default_rng(0)
FLOATS, WHOLE = RANDOM.random((3, 4)), RANDOM.integers(0, 9, (3, 4))
#: Rows whose reward another row takes: float64 cannot hold prices that prove it.
CONTESTED = np.array([[INF, INF, -1e15, 0, -0.69], [INF, INF, 0, INF, INF]])
#: What no field may be.
NONSENSE = [
    None, "x", object(), 10**400, 2**63 - 1, -(2**63), float("nan"), INF, -INF, [], (), {}, b"", Exception,
    1.5, np.zeros(0), np.zeros((1, 1, 1)), np.array(["a"]), np.array([None]), np.float64("nan"),
    preflow.linear_assignment(RANDOM.random((5, 6))),
]  # fmt: skip


def solved(cost: Any, **arguments: Any) -> Any:
    return preflow.linear_assignment(cost, **arguments)


RESULTS = {
    "integers": lambda: solved(WHOLE),
    "floats": lambda: solved(FLOATS),
    "large integers": lambda: solved(WHOLE.astype(object) + 2**70),
    "maximize": lambda: solved(FLOATS, maximize=True),
    "sparse": lambda: solved(scipy.sparse.csr_array(WHOLE + 1)),
    "batch": lambda: solved(np.stack([WHOLE, WHOLE + 1])),
    "batch of floats": lambda: solved(np.stack([FLOATS, FLOATS + 1])),
    "sizes": lambda: solved(np.stack([FLOATS, FLOATS + 1]), sizes=[[2, 3], [3, 4]]),
    "partial": lambda: solved([[1.0, 2, 3], [4, INF, INF], [5, INF, INF]], partial=True),
    "exact prices": lambda: solved(CONTESTED, method="serial-cost-scaling"),
    "huge": lambda: solved(np.where(np.eye(3, 4, 1) > 0, 1e308, FLOATS)),
    "points": lambda: solved(preflow.PointCosts(FLOATS, FLOATS[:2])),
    "singles": lambda: solved(WHOLE, unmatched_cost=3),
    "singles, floats": lambda: solved(FLOATS, unmatched_cost=0.3),
    "singles, huge": lambda: solved(FLOATS[:, :3], unmatched_cost=(1e308, 1e16)),
    "singles, batch": lambda: solved(np.stack([FLOATS, FLOATS]), unmatched_cost=0.3),
    "singles, sparse": lambda: solved(scipy.sparse.csr_array(FLOATS), unmatched_cost=0.4),
    "priced": lambda: reductions.AssignmentAsTransport.of(WHOLE).solve(),
    "priced, floats": lambda: reductions.AssignmentAsTransport.of(FLOATS).solve(),
    "priced, square": lambda: reductions.AssignmentAsTransport.of(FLOATS[:, :3]).solve(),
}


def corruptions(value: Any) -> Iterator[Any]:
    """Yield other values of a field."""
    yield from NONSENSE
    if isinstance(value, np.ndarray) and value.size:
        for number in (2**63 - 1, -(2**63), 2**62, INF, -INF, np.nan, 1e308, -1e308):
            for place in range(value.size):
                changed = value.copy()
                if value.dtype.kind == "f" or isinstance(number, int):
                    changed.reshape(-1)[place] = number
                    yield changed
        yield value[:-1]
        yield value[None]
        yield value.astype(np.float32 if value.dtype.kind != "f" else np.int64)
        yield value.tolist()
        yield np.broadcast_to(value, (2, *value.shape))
    elif isinstance(value, int | float):
        yield from (value + 1, value - 1, value * 1.001 + 1e-3, str(value), [value])
    elif isinstance(value, tuple):
        for place, part in enumerate(value):
            for changed in corruptions(part):
                yield (*value[:place], changed, *value[place + 1 :])


@pytest.mark.parametrize("name", RESULTS)
@pytest.mark.filterwarnings("error")
def test_every_field(name: str) -> None:
    result = RESULTS[name]()
    result.verify()
    checked = {field.name for field in fields(result)} - {"stats", "partial"}
    for field in checked:
        given = getattr(result, field)
        with np.errstate(all="ignore"):
            wrong = [value for value in corruptions(given) if value is not given]
        for value in wrong:
            if field == "_exact" and value is None and not (isinstance(given, dict) and given):
                continue
            changed = replace(result, **{field: value})
            if field == "unmatched_cost" and _is_another_problem(changed):
                continue
            with pytest.raises(VerificationError):
                changed.verify()


def _is_another_problem(result: Any) -> bool:
    """Whether other costs of singles make a problem with the same answer."""
    given = result.unmatched_cost
    if not isinstance(given, tuple) or not all(isinstance(part, np.ndarray) for part in given):
        return False
    shapes = [part.shape for part in given] == [result.u.shape, result.v.shape]
    return shapes and all(part.dtype == result.u.dtype and np.isfinite(part).all() for part in given)


def test_one_infinite_price_proves_nothing() -> None:
    result = solved([[0.25, 3.0], [3.0, 3.0]], unmatched_cost=1.5)
    for u, v in (([-INF, 1.5], [1.5, 1.5]), ([np.nan, 1.5], [1.5, 1.5]), ([INF, 1.5], [-INF, 1.5])):
        wrong = replace(
            result,
            row=np.array([0, 1]),
            column=np.array([1, 0]),
            lower_bound=6.0,
            upper_bound=6.0,
            u=np.array(u),
            v=np.array(v),
        )
        with pytest.raises(VerificationError):
            wrong.verify()


def test_status_and_bounds() -> None:
    result = solved(FLOATS)
    for changes in (
        {"status": "approximate"},
        {"status": "time-limit"},
        {"status": "garbage"},
        {"status": "time-limit", "upper_bound": result.cost + 1},
        {"status": "approximate", "lower_bound": result.cost + 1e-3},
        {"status": "approximate", "upper_bound": result.cost + 1e-3},
    ):
        with pytest.raises(VerificationError):
            replace(result, **changes).verify()
    replace(result, status="approximate", lower_bound=result.cost - 1e-3).verify()  # true, and of no use
