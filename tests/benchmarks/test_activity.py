"""Tables of active vertices, of growing operations and of barriers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.records import SEARCH, InstanceRecord, Measurement
from benchmarks.reproduce import cihan, deveci, lupinska, wu_he_hong
from benchmarks.reproduce.activity import activity_table, largest_of_parts
from benchmarks.reproduce.selection import Selection


def test_largest_of_parts() -> None:
    assert largest_of_parts([3, 1, 4, 1, 5, 9, 2, 6]) == [3, 4, 9, 6]
    assert largest_of_parts([3, 1]) == [3, 1]
    assert largest_of_parts([1, 2, 3, 4, 5]) == [1, 2, 3, 5]


def test_active_vertices_beside_what_is_published() -> None:
    (name,) = wu_he_hong.PUBLISHED_ACTIVITY
    recorded = Measurement("preflow:serial-fifo[record_active=True]", detail={"active": [2, 10, 6, 2]})
    other = Measurement("preflow:serial-fifo", detail={"active": []})
    record = InstanceRecord("max_flow", "", name, {"vertices": 1000, "arcs": 4}, [recorded, other])
    (table,) = activity_table([record], wu_he_hong.PUBLISHED_ACTIVITY)
    (row,) = table.rows
    assert row[:3] == [name, "preflow:serial-fifo[record_active=True]", "1,000"]
    assert row[3:8] == ["10", "1.00%", "5", "2", "2 10 6 2"]
    assert row[8].startswith("at most 1,400")
    assert activity_table([replace(record, measurements=[other])], {}) == []


def test_parts_about_active_vertices_and_related_systems() -> None:
    suite = cihan.suites(Selection(("active",), small=True, seeds=1))["max_flow"]
    assert (suite.methods, suite.threads) == (cihan.ACTIVITY_METHODS, (1, 8))
    assert len(suite.cases(())) == 13
    related = cihan.suites(Selection(("related", "C.1"), small=True, seeds=1))["max_flow"]
    assert set(related.methods) == {*cihan.METHODS, *cihan.RELATED_METHODS}
    (case,) = wu_he_hong.suites(Selection(("active",)))["max_flow"].cases(())
    assert case.name in wu_he_hong.PUBLISHED_ACTIVITY
    names = [case.name for case in wu_he_hong.suites(Selection())["max_flow"].cases(())]
    assert len(names) == len(set(names))


def test_operations_over_their_bound() -> None:
    detail = {"pushes": 30, "relabels": 10}
    measured = Measurement("preflow:multicore-lockfree", seconds=[{"total": 1.0}], detail=detail)
    sizes = {"rows": 2, "columns": 2, "pairs": 4}
    record = InstanceRecord("linear_assignment", "", "complete 2 seed 0", sizes, [measured], "complete 2")
    (table,) = lupinska.growth_table([record])
    assert table.rows == [["preflow:multicore-lockfree", "complete 2", "4", "4", "40", "0.625", "10"]]
    suites = lupinska.suites(Selection(("growth",), small=True, seeds=1))
    assert [suite.threads for suite in suites.values()] == [(1,), (1,)]


@pytest.mark.parametrize("options", ["", "[shrink=False]"])
def test_barriers_and_edges(options: str) -> None:
    detail = {"phases": 3, "barriers": 50, "pushes": 7, "arc_scans": 300}
    measured = Measurement(f"preflow:cuda-push-relabel{options}", seconds=[{SEARCH: 1e-4}], detail=detail)
    sizes = {"rows": 5, "columns": 5, "edges": 200}
    record = InstanceRecord("bipartite_matching", "", "amazon0505-like", sizes, [measured])
    found = deveci.counts_table([record])
    if options:
        assert found == []
        return
    assert found[0].rows[0][3:] == ["3", "50", "7", "300", "2.0", "1.50"]
