"""The experiments of Deveci et al.: suites, generated graphs, comparisons and pictures."""

from __future__ import annotations

from pathlib import Path
from statistics import geometric_mean
from typing import Any

import pytest

from benchmarks import machine, reproduce
from benchmarks.machine import TooLargeError
from benchmarks.problem import SolverSettings
from benchmarks.problems import PROBLEMS
from benchmarks.records import SEARCH, InstanceRecord, Measurement
from benchmarks.report_files import join_reports
from benchmarks.reproduce import deveci
from benchmarks.reproduce.deveci import TABLE
from benchmarks.run import BenchmarkFailedError, run_bench
from preflow import BipartiteGraph, bipartite_matching
from preflow.io.matrix_market import write_matrix_market

SETTINGS = SolverSettings(1, 10.0)
reproduce.register()


def timed(contestant: str, seconds: float | None) -> Measurement:
    measurement = Measurement(contestant)
    if seconds is not None:
        measurement.seconds.append({"solve": seconds + 1.0, SEARCH: seconds, "total": seconds + 1.0})
    return measurement


def test_table_is_the_published_one() -> None:
    assert len(TABLE) == 28
    totals = [sum(column) for column in zip(*TABLE.values(), strict=True)][:5]
    assert totals == [122_711_990, 122_756_169, 715_727_341, 101_494_366, 108_255_953]
    means = [geometric_mean(column) for column in list(zip(*TABLE.values(), strict=True))[6:]]
    assert [round(mean, 2) for mean in means] == [0.70, 0.92, 1.99, 2.15]
    assert sum(row.pr > row.g_pr for row in TABLE.values()) == 23
    assert all(row.initial <= row.maximum <= min(row.rows, row.columns) for row in TABLE.values())


def test_suite() -> None:
    assert [case.name for case in deveci.cases(())] == [f"{name}-like" for name in TABLE]
    assert all(case.published is None for case in [*deveci.cases(()), *deveci.small_cases(())])
    assert set(deveci.GENERATORS) == set(TABLE)
    problem = PROBLEMS["bipartite_matching"]
    devices = [problem.contestant(f"preflow:{name}", SETTINGS).device for name in deveci.METHODS]
    assert devices == ["cpu"] * 3 + ["cuda"] * 20 + ["cpu"]


@pytest.mark.parametrize("name", TABLE)
def test_generated_graphs_have_the_shape_of_their_matrices(name: str) -> None:
    divisor, matrix = 256, TABLE[name]
    graph = deveci.graph_like(name, divisor)
    for found, wanted in [(graph.num_rows, matrix.rows), (graph.num_columns, matrix.columns)]:
        assert found == pytest.approx(wanted / divisor, rel=0.05, abs=10)
    # Small graphs lose more repeated edges around their hubs.
    assert 0.65 < graph.num_edges * divisor / matrix.entries < 1.05
    # Greedy matching leaves about as many rows as in Table I. The shares were fitted at full size.
    result = bipartite_matching(graph, initial="cheap")
    left = (result.cardinality - result.stats.initial_cardinality) * divisor
    assert 0.6 < left / (matrix.maximum - matrix.initial) < 2.6


def test_a_graph_that_does_not_fit_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "memory_bytes", lambda: 2**30)
    with pytest.raises(TooLargeError, match="GiB of memory"):
        deveci.cases(())[-1].make()


@pytest.mark.parametrize("size", [2, 3])
def test_files_must_have_the_published_maximum(
    size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = TABLE["flickr"]._replace(maximum=3)
    monkeypatch.setattr(deveci, "TABLE", {"flickr": row, "patents": TABLE["patents"]})
    ones = BipartiteGraph.from_arrays(range(size), range(size))
    write_matrix_market(tmp_path / "flickr.mtx.gz", ones)
    write_matrix_market(tmp_path / "other.mtx", ones)
    arguments: dict[str, Any] = {
        "out": tmp_path / "out",
        "methods": ["PR"],
        "peers": (),
        "instances": ["flickr*", "other"],
        "files": [str(tmp_path)],
        "repeats": 1,
        "memory": False,
        "plots": False,
    }
    if size == 3:
        assert [record.name for record in run_bench(["deveci28"], **arguments).records] == ["flickr"]
    else:
        with pytest.raises(BenchmarkFailedError, match="flickr: 3 by the publication; 2 by preflow:PR"):
            run_bench(["deveci28"], **arguments)
    joined = join_reports([tmp_path / "out" / "bench.jsonl"], tmp_path / "joined", plots=False)
    assert bool(joined.faults) == (size == 2)


def test_comparisons(tmp_path: Path) -> None:
    seconds = {
        "preflow:serial-push-relabel": (8.0, 2.0),
        "preflow:P-DBFS@8": (2.0, 2.0),
        "preflow:cuda-push-relabel": (1.0, 1.0),
        "preflow:cuda-push-relabel[shrink=False]": (1.1, 1.1),
        "preflow:cuda-push-relabel[active_list=False]": (2.2, 2.2),
        "preflow:cuda-push-relabel[global_relabel=fixed:10]": (4.0, None),
        "preflow:cuda-hkdw": (4.0, 1.0),
        "preflow:cuda-hopcroft-karp": (8.0, 8.0),
        "preflow:auto": (1.0, 1.0),
        "scipy": (None, None),
    }
    records = [
        InstanceRecord("bipartite_matching", "deveci28", name, {}, [timed(*each) for each in row])
        for name, row in [
            ("flickr-like", [(who, times[0]) for who, times in seconds.items()]),
            ("patents", [(who, times[1]) for who, times in seconds.items()]),
        ]
    ]
    found = {row.contestant: row for row in deveci.speed_ups_over_pr(records)}
    assert found["preflow:P-DBFS@8"].speed_up == pytest.approx(2.0)
    assert found["preflow:cuda-push-relabel"].speed_up == pytest.approx(4.0)
    assert found["preflow:cuda-push-relabel[global_relabel=fixed:10]"].instances == 1
    told = [(row.here, row.instances, row.published) for row in deveci.comparisons(records)]
    assert told == [
        ("4x", 2, "3.05x"),
        ("8x on flickr, 2x on patents", 2, "12.6x on delaunay_n24, 0.31x on hugetrace-00000"),
        ("2x", 2, "1.30x"),
        ("2x", 2, "2.82x"),
        ("4x, faster on 2", 2, "G-HKDW is the better one"),
        ("2", 2, "61 % of the matrices"),
        ("100 to 100 %, faster in 1 of 1", 2, "14 to 84 %"),
        ("10 to 10 %, faster in 1 of 1", 2, "2 to 8 %"),
        ("300 to 300 %, faster in 1 of 1", 1, "faster for almost all configurations"),
    ]
    (shares,) = deveci.shares_table(records)
    assert shares.rows == [
        ["G-PR", "50%", "39 %", "100%", "82 %", "100%", "75 %", "100%", "61 %"],
        ["G-HKDW", "0%", "21 %", "100%", "", "50%", "46 %", "50%", ""],
        ["P-DBFS@8", "0%", "14 %", "50%", "", "0%", "14 %", "0%", ""],
    ]
    assert deveci.filter_table(records) == []
    assert deveci.sweep_table(records) == []
    alone = [
        InstanceRecord("bipartite_matching", "deveci28", record.name, {}, record.measurements[:2])
        for record in records
    ]
    # A method alone is the best of one, which says nothing.
    assert deveci.shares_table(alone)[0].rows == [["P-DBFS@8", "0%", "14 %", "50%", "", "", "14 %", "", ""]]
    drawn = deveci.draw(records, tmp_path)
    assert [path.name[:10] for path in drawn] == [f"deveci28-{k}" for k in (1, 2, 3, 4)]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in drawn)


def test_filter_of_one_second() -> None:
    """A graph is kept if one of the sequential methods takes a second, or was stopped."""

    def record(name: str, *seconds: float | None) -> InstanceRecord:
        methods = [f"preflow:{method}" for method in deveci.FILTER_METHODS]
        pairs = zip(methods, seconds, strict=True)
        return InstanceRecord("bipartite_matching", "", name, {}, [timed(*each) for each in pairs])

    records = [record("a", 0.1, 0.2, 0.99), record("b", 0.1, 1.0, 0.2), record("c", 0.1, 0.2, None)]
    (table,) = deveci.filter_table(records)
    assert [row[-1] for row in table.rows] == ["no", "yes", "yes"]


def test_sweep_of_the_periods_of_global_relabels() -> None:
    def record(name: str, *edges: int | None) -> InstanceRecord:
        runs = [
            Measurement(f"preflow:{method}", status="over the time limit")
            if scans is None
            else Measurement(
                f"preflow:{method}",
                seconds=[{"solve": 1.0, "search": 1.0, "total": 1.0}],
                detail={"arc_scans": scans, "pushes": 2 * scans},
            )
            for method, scans in zip(deveci.SWEEP_METHODS, edges, strict=True)
        ]
        return InstanceRecord("bipartite_matching", "", name, {}, runs)

    records = [record("a", 8, 4, 4, 4, 16), record("b", 2, 4, 4, 1, 1), record("c", 1, 1, 1, 1, None)]
    (table,) = deveci.sweep_table(records)
    assert "the 2 of 3 graphs that all solved" in table.title
    assert table.rows == [
        ["0.25", "1.00", "1.00", "1.00", "0"],
        ["0.5", "1.00", "1.00", "1.00", "1"],
        ["1", "1.00", "1.00", "1.00", "1"],
        ["2", "0.50", "0.50", "1.00", "2"],
        ["4", "1.00", "1.00", "1.00", "1"],
    ]
    assert deveci.sweep_table(records[2:]) == []


@pytest.mark.usefixtures("cpu_device")
def test_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deveci, "DIVISOR", 4096)
    run_bench(
        ["deveci28-small"],
        out=tmp_path,
        methods=["serial-push-relabel", "P-DBFS@1", "G-PR", "G-HKDW"],
        peers=(),
        instances=["amazon0505*"],
        repeats=1,
        memory=False,
    )
    text = (tmp_path / "bench.md").read_text()
    pictures = sorted(path.name for path in tmp_path.glob("deveci28-*.png"))
    assert [name[:16] for name in pictures] == [f"deveci28-small-{k}" for k in (2, 3, 4)]
    assert all(f"({name})" in text for name in pictures)
    assert "| G-PR over G-HKDW |" in text
    assert "| active lists: G-PR-NoShr over G-PR-First" not in text
