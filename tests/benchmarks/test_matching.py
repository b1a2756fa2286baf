"""The benchmark of bipartite matching: suites, contestants, peers."""

from __future__ import annotations

from pathlib import Path

import pytest
import scipy.sparse

from benchmarks.instances.matching import MatchingInstance
from benchmarks.peers.matching import MATCHING_PEERS
from benchmarks.problem import SolverSettings
from benchmarks.problems import PROBLEMS
from benchmarks.records import PHASES
from benchmarks.run import run_bench
from benchmarks.suites.matching import matching, matching_tiny
from preflow import BipartiteGraph
from preflow.cuda import runtime
from preflow.errors import DeviceUnavailableError, InvalidInputError
from preflow.generators import bipartite_family
from preflow.io.matrix_market import write_matrix_market

SETTINGS = SolverSettings(1, 10.0)
PROBLEM = PROBLEMS["bipartite_matching"]


def instance_of(dense: list[list[int]]) -> MatchingInstance:
    return MatchingInstance.from_graph(BipartiteGraph.from_scipy(scipy.sparse.csr_array(dense)))


@pytest.mark.parametrize("name", ["preflow:auto", "preflow:serial-hkdw", *(p.name for p in MATCHING_PEERS)])
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
        files=[str(tmp_path)],
        baseline="scipy",
        repeats=1,
        memory=False,
        plots=False,
    )
    assert [record.name for record in report.records] == ["mine"]
    assert report.records[0].sizes["rows"] == 100
    assert not report.faults
    assert "matrix in, matching out" in (tmp_path / "out" / "bench.md").read_text()


def test_suites_and_limits(tmp_path: Path) -> None:
    names = [case.name for case in matching(())]
    assert len(names) == len(set(names)) == 11
    large = MatchingInstance((1, 1), *(2 * [scipy.sparse.csr_array((1, 1)).indptr]))
    assert all(peer.unfit(large) is None for peer in MATCHING_PEERS)
    graph = MatchingInstance.from_graph(bipartite_family("erdos-renyi").generate("30000x1"))
    assert [bool(peer.unfit(graph)) for peer in MATCHING_PEERS] == [False, False, True, True]
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
            ("PR[relabel_period=2", "must be written METHOD"),
            ("PR[relabel_period]", "must be written NAME=VALUE"),
            ("PR[gap=1,speed=2]", "has no option 'speed'"),
            ("cuda-push-relabel[global_relabel=often:2]", "option global_relabel must be"),
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
            ["matching-tiny"],
            methods=["PR", "G-PR[shrink=False]", "cuda-hkdw"],
            peers=(),
            instances=["ladder*"],
            repeats=1,
            memory=False,
        )
        assert report.contestants("bipartite_matching") == ["preflow:PR"]
        absent = [each["what"] for each in report.left_out]
        assert absent == ["preflow:G-PR[shrink=False]", "preflow:cuda-hkdw"]
        assert "- preflow:G-PR[shrink=False], preflow:cuda-hkdw: no GPU here" in report.to_markdown({})
