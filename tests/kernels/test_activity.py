"""Samples of the number of active vertices."""

from __future__ import annotations

import numpy as np
import pytest

import preflow
from preflow.errors import InvalidInputError
from preflow.generators import FAMILIES
from preflow.kernels.activity import ROOM, make_activity, note, records, taken

pytestmark = pytest.mark.fast


def test_samples_are_maxima_of_equal_rows() -> None:
    random = np.random.default_rng(3)
    for length in (0, 1, ROOM - 1, ROOM, ROOM + 1, 3 * ROOM + 5):
        numbers = random.integers(0, 99, length)
        activity = make_activity(True)
        for number in numbers:
            note(activity, number)
        row = int(activity.row[1])
        assert taken(activity) == [max(numbers[k : k + row]) for k in range(0, length, row)]
        assert length <= ROOM * row
        assert row == 1 or length > ROOM // 2 * row - row


def test_nothing_is_recorded_unless_asked_for() -> None:
    assert records(make_activity(True))
    assert not records(make_activity(False))
    problem = FAMILIES["rmf-long"].generate("3x6", seed=1)
    assert preflow.min_cut(problem, method="serial-fifo").stats.active == ()


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("serial-fifo", {}),
        ("serial-fifo-gap", {}),
        ("multicore-fifo", {"gap": True}),
        ("multicore-fifo", {"search": "jump-queues", "donation": "oldest"}),
        ("multicore-highest-label-gap", {"order": "search"}),
    ],
)
def test_methods_record(method: str, options: dict[str, object]) -> None:
    problem = FAMILIES["rmf-long"].generate("3x6", seed=1)
    plain = preflow.max_flow(problem, method=method, threads=1, options=options)
    recording = {**options, "record_active": True}
    result = preflow.max_flow(problem, method=method, threads=1, options=recording)
    result.verify()
    assert (result.value, result.stats.pushes) == (plain.value, plain.stats.pushes)
    assert 0 < max(result.stats.active) < problem.network.num_vertices
    assert min(result.stats.active) >= 0
    assert result.stats.to_dict()["active"] == list(result.stats.active)


def test_bad_option() -> None:
    for method in ("serial-fifo", "multicore-fifo", "multicore-highest-label-gap"):
        with pytest.raises(InvalidInputError):
            preflow.max_flow(([0, 1], [1, 2], [1, 1]), 0, 2, method=method, options={"record_active": 1})
