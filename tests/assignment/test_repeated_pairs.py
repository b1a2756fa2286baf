"""A pair given several times: edges are choices between costs, entries of a matrix are added."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import preflow

ROW, COLUMN, COST = [0, 0, 1], [0, 0, 1], [3, 2, 1]
TUPLES = [("a", "x", 3), ("a", "x", 2), ("b", "y", 1)]
TABLE = pd.DataFrame(TUPLES, columns=["row", "column", "cost"])


@pytest.mark.parametrize("edges", [(ROW, COLUMN, COST), TUPLES, TABLE], ids=["arrays", "tuples", "table"])
@pytest.mark.parametrize(("maximize", "best"), [(False, 3), (True, 4)])
def test_the_best_of_repeated_edges_counts(edges: Any, maximize: bool, best: int) -> None:
    result = preflow.linear_assignment(edges, maximize=maximize)
    result.verify()
    assert result.value == best


@pytest.mark.parametrize("form", ["coo", "csr", "csc"])
@pytest.mark.parametrize("maximize", [False, True])
def test_repeated_entries_of_a_matrix_are_added(form: str, maximize: bool) -> None:
    stored = scipy.sparse.coo_array((np.array(COST), (ROW, COLUMN)), shape=(2, 2))
    result = preflow.linear_assignment(stored.asformat(form), maximize=maximize)
    result.verify()
    assert result.value == 6
