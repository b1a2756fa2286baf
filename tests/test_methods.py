"""The contract between a problem and its methods, checked for every registered method."""

from __future__ import annotations

import pytest

import preflow
from preflow.solving.dispatch import find_method


def test_an_old_name_still_works_and_warns_the_caller() -> None:
    with pytest.warns(DeprecationWarning, match="is now called 'cuda-push-relabel'") as caught:
        method = find_method(preflow.methods("max_flow"), "cuda-pushrelabel")
    assert method.name == "cuda-push-relabel"
    assert [warning.filename for warning in caught] == [__file__]
