"""The benchmark of bipartite matching: suites, contestants, peers."""

from __future__ import annotations

from pathlib import Path
from statistics import geometric_mean
from typing import Any

import pytest
import scipy.sparse

from preflow import BipartiteGraph
from preflow.bench import BenchmarkFailedError, join_reports, machine, matching_suites, run_bench
from preflow.bench.deveci import TABLE
from preflow.bench.deveci_figures import comparisons, draw, speed_ups_over_pr
from preflow.bench.deveci_stand_ins import STAND_INS, stand_in
from preflow.bench.machine import TooLargeError
from preflow.bench.matching_instance import MatchingInstance
from preflow.bench.matching_peers import MATCHING_PEERS
from preflow.bench.matching_suites import DEVECI_METHODS, deveci28, deveci28_small, matching, matching_tiny
from preflow.bench.problem import PHASES, SEARCH, SolverSettings
from preflow.bench.problems import PROBLEMS
from preflow.bench.runner import InstanceRecord, Measurement
from preflow.cuda import runtime
from preflow.errors import DeviceUnavailableError, InvalidInputError
from preflow.generators import bipartite_family
from preflow.io.matrix_market import write_matrix_market

SETTINGS = SolverSettings(1, 10.0)
PROBLEM = PROBLEMS["bipartite_matching"]


def instance_of(dense: list[list[int]]) -> MatchingInstance:
    return MatchingInstance.from_graph(BipartiteGraph.from_scipy(scipy.sparse.csr_array(dense)))


@pytest.mark.parametrize("name", ["preflow:auto", "preflow:serial-graft", *(p.name for p in MATCHING_PEERS)])
def test_contestants_agree_on_awkward_instances(name: str) -> None:
    contestant = PROBLEM.contestant(name, SETTINGS)
    if contestant.missing():
        pytest.skip(str(contestant.missing()))
    for dense, size in [([[1, 1, 1]], 1), ([[1], [1]], 1), ([[0, 1], [1, 1]], 2), ([[0, 0], [0, 1]], 1)]:
        instance = instance_of(dense)
        contestant.load(instance)
        outcome = contestant.run(contestant.prepare(instance))
        assert outcome.value == size
        assert set(outcome.seconds) <= {"build", "solve", "other", "search"}
        assert outcome.total == sum(outcome.seconds.get(phase, 0.0) for phase in PHASES)


def test_report(tmp_path: Path) -> None:
    write_matrix_market(tmp_path / "mine.mtx.gz", bipartite_family("delaunay").generate(n=100))
    report = run_bench(
        ["matching-tiny"],
        out=tmp_path / "out",
        methods=["auto", "serial-hopcroft-karp"],
        peers=["scipy"],
        instances=["ladder*", "mine"],
        files=[str(tmp_path)],
        baseline="scipy",
        repeats=1,
        memory=False,
        plots=False,
    )
    assert [record.name for record in report.records] == ["ladder 12", "mine"]
    assert report.records[0].sizes == {"rows": 38, "columns": 37, "edges": 95}
    assert not report.faults
    assert "matrix in, matching out" in (tmp_path / "out" / "bench.md").read_text()


def test_suites_and_limits(tmp_path: Path) -> None:
    names = [case.name for case in matching(())]
    assert len(names) == len(set(names)) == 11
    large = MatchingInstance((1, 1), *(2 * [scipy.sparse.csr_array((1, 1)).indptr]))
    assert all(peer.unfit(large) is None for peer in MATCHING_PEERS)
    graph = MatchingInstance.from_graph(bipartite_family("erdos-renyi").generate("30000x1"))
    assert [bool(peer.unfit(graph)) for peer in MATCHING_PEERS] == [False, False, True]
    with pytest.raises(InvalidInputError, match="no pattern of files"):
        matching_tiny([str(tmp_path / "*.mtx")])


class TestOptionsInNames:
    def test_they_reach_the_solver(self) -> None:
        contestant = PROBLEM.contestant("preflow:PR[relabel_period=2,initial_labels=one]@1", SETTINGS)
        outcome = contestant.run(contestant.prepare(instance_of([[0, 1], [1, 1]])))
        assert outcome.value == 2
        assert outcome.detail["method"] == "serial-push-relabel"

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("PR[relabel_period=2", "is written METHOD"),
            ("PR[relabel_period]", "is written NAME=VALUE"),
            ("PR[gap=1,speed=2]", "has no option 'speed'"),
            ("cuda-push-relabel[global_relabel=often:2]", "option global_relabel is"),
            ("auto[gap=False]", "auto takes none"),
        ],
    )
    def test_wrong_ones_are_refused_at_once(self, name: str, message: str) -> None:
        with pytest.raises(InvalidInputError, match=message):
            PROBLEM.contestant(f"preflow:{name}", SETTINGS)

    def test_of_max_flow(self) -> None:
        problem = PROBLEMS["max_flow"]
        instance = next(iter(problem.suites["tiny"].cases(()))).make()
        contestant = problem.contestant("preflow:serial-fifo[gap=True]", SETTINGS)
        assert contestant.run(contestant.prepare(instance)).detail["gap_vertices"] > 0

    def test_a_method_for_a_gpu_is_missing_without_one(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def no_device() -> None:
            raise DeviceUnavailableError("no GPU here")

        monkeypatch.setattr(runtime, "find_device", no_device)
        report = run_bench(
            ["deveci28-small"],
            methods=["PR", "G-PR[shrink=False]", "cuda-hkdw"],
            peers=(),
            instances=["roadNet-PA*"],
            repeats=1,
            memory=False,
        )
        assert report.contestants("bipartite_matching") == ["preflow:PR"]
        absent = [each["what"] for each in report.left_out]
        assert absent == ["preflow:G-PR[shrink=False]", "preflow:cuda-hkdw"]
        assert "- preflow:G-PR[shrink=False], preflow:cuda-hkdw: no GPU here" in report.to_markdown({})


class TestDeveci:
    def test_table_is_the_published_one(self) -> None:
        assert len(TABLE) == 28
        totals = [sum(column) for column in zip(*TABLE.values(), strict=True)][:5]
        assert totals == [122_711_990, 122_756_169, 715_727_341, 101_494_366, 108_255_953]
        means = [geometric_mean(column) for column in list(zip(*TABLE.values(), strict=True))[6:]]
        assert [round(mean, 2) for mean in means] == [0.70, 0.92, 1.99, 2.15]
        assert sum(row.pr > row.g_pr for row in TABLE.values()) == 23
        assert all(row.initial <= row.maximum <= min(row.rows, row.columns) for row in TABLE.values())

    def test_suite(self) -> None:
        assert [case.name for case in deveci28(())] == [f"{name}-like" for name in TABLE]
        assert all(case.published is None for case in [*deveci28(()), *deveci28_small(())])
        assert set(STAND_INS) == set(TABLE)
        devices = [PROBLEM.contestant(f"preflow:{name}", SETTINGS).device for name in DEVECI_METHODS]
        assert devices == ["cpu"] * 2 + ["cuda"] * 20 + ["cpu"]

    @pytest.mark.parametrize("name", TABLE)
    def test_stand_ins_have_the_shape_of_their_matrices(self, name: str) -> None:
        smaller, matrix = 256, TABLE[name]
        graph = stand_in(name, smaller)
        for found, wanted in [(graph.num_rows, matrix.rows), (graph.num_columns, matrix.columns)]:
            assert found == pytest.approx(wanted / smaller, rel=0.05, abs=10)
        # Small graphs lose more repeated edges around their hubs.
        assert 0.65 < graph.num_edges * smaller / matrix.entries < 1.05

    def test_a_stand_in_that_does_not_fit_is_left_out(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(machine, "memory_bytes", lambda: 2**30)
        with pytest.raises(TooLargeError, match="GiB of memory"):
            deveci28(())[-1].make()

    @pytest.mark.parametrize("size", [2, 3])
    def test_files_must_have_the_published_maximum(
        self, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        row = TABLE["flickr"]._replace(maximum=3)
        monkeypatch.setattr(matching_suites, "TABLE", {"flickr": row, "patents": TABLE["patents"]})
        ones = BipartiteGraph.from_edges(range(size), range(size))
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
            with pytest.raises(BenchmarkFailedError, match="flickr: 3 by what is published; 2 by preflow:PR"):
                run_bench(["deveci28"], **arguments)
        joined = join_reports([tmp_path / "out" / "bench.json"], tmp_path / "joined", plots=False)
        assert bool(joined.faults) == (size == 2)

    def test_comparisons(self, tmp_path: Path) -> None:
        seconds = {
            "preflow:serial-push-relabel": (8.0, 2.0),
            "preflow:P-DBFS@8": (2.0, 2.0),
            "preflow:cuda-push-relabel": (1.0, 1.0),
            "preflow:cuda-push-relabel[shrink=False]": (1.1, 1.1),
            "preflow:cuda-push-relabel[active_list=False]": (2.2, 2.2),
            "preflow:cuda-push-relabel[global_relabel=fixed:10]": (4.0, None),
            "preflow:cuda-hkdw": (4.0, 1.0),
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
        elsewhere = InstanceRecord("bipartite_matching", "matching", "x", {}, [timed("preflow:PR", 9.0)])
        found = {row.contestant: row for row in speed_ups_over_pr([*records, elsewhere])}
        assert found["preflow:P-DBFS@8"].speed_up == pytest.approx(2.0)
        assert found["preflow:cuda-push-relabel"].speed_up == pytest.approx(4.0)
        assert found["preflow:cuda-push-relabel[global_relabel=fixed:10]"].instances == 1
        told = [(row.here, row.instances, row.published) for row in comparisons(records)]
        assert told == [
            ("4x", 2, "3.05x"),
            ("2x", 2, "1.30x"),
            ("2x", 2, "2.82x"),
            ("100 to 100 %, faster in 1 of 1", 2, "14 to 84 %"),
            ("10 to 10 %, faster in 1 of 1", 2, "2 to 8 %"),
            ("300 to 300 %, faster in 1 of 1", 1, "faster for almost all configurations"),
        ]
        drawn = draw(records, tmp_path)
        assert [path.name[:8] for path in drawn] == [f"deveci-{k}" for k in (1, 2, 3, 4)]
        assert all(path.read_bytes().startswith(b"\x89PNG") for path in drawn)
        assert draw([elsewhere], tmp_path) == []

    @pytest.mark.usefixtures("cpu_device")
    def test_report(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(matching_suites, "SMALLER", 4096)
        run_bench(
            ["deveci28-small"],
            out=tmp_path,
            methods=["PR", "P-DBFS@1", "G-PR", "G-HKDW"],
            peers=(),
            instances=["amazon0505*"],
            repeats=1,
            memory=False,
        )
        text = (tmp_path / "bench.md").read_text()
        pictures = sorted(path.name for path in tmp_path.glob("deveci-*.png"))
        assert [name[:8] for name in pictures] == [f"deveci-{k}" for k in (2, 3, 4)]
        assert all(f"({name})" in text for name in pictures)
        assert "| G-PR over G-HKDW |" in text
        assert "| active lists: G-PR-NoShr over G-PR-First" not in text


def timed(contestant: str, seconds: float | None) -> Measurement:
    measurement = Measurement(contestant)
    if seconds is not None:
        measurement.seconds.append({"solve": seconds + 1.0, SEARCH: seconds, "total": seconds + 1.0})
    return measurement
