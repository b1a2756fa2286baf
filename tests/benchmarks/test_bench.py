"""The benchmark: fair, complete, and loud where values differ."""

import math
import platform
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from benchmarks import profiles, run
from benchmarks.files import find_files
from benchmarks.instances.flow import FlowInstance
from benchmarks.machine import describe_machine
from benchmarks.probe import probe, save_instance
from benchmarks.problem import Case, Contestant, SolverSettings, Suite, Table
from benchmarks.problems import PROBLEMS, add_suite
from benchmarks.profiles import performance_profile, speed_up_profile
from benchmarks.records import (
    InstanceRecord,
    Measurement,
    Outcome,
    read_record,
    same_value,
    write_rows,
)
from benchmarks.report import _reasons
from benchmarks.report_files import RECORD, join_reports, read_reports
from benchmarks.run import BenchmarkFailedError, run_bench
from benchmarks.runner import measure
from benchmarks.scaling import speed_ups
from benchmarks.suites.flow import family_case, flow_case, papers, photograph_cut, real, tiny
from preflow import FlowNetwork, MaxFlowProblem, max_flow, read_dimacs
from preflow.errors import InvalidInputError, MissingDependencyError, UnsuitableMethodError
from preflow.generators import family
from preflow.solving import timing
from tests.support.paths import DATA, ROOT

DIMACS = DATA / "dimacs"
SETTINGS = SolverSettings(threads=None, time_limit=60.0)
PEERS = [peer.name for peer in PROBLEMS["max_flow"].peers]


def instance_of(tail, head, capacity, reverse=None):
    network = FlowNetwork.from_arrays(tail, head, capacity, reverse_capacity=reverse)
    return FlowInstance.from_problem(MaxFlowProblem(network, 0, network.num_vertices - 1))


def awkward_instance(unit=1):
    """All kinds of arcs there are; the minimum cut is at the sink, of capacity 4 + 1 + 3 + 2 + 1 = 11."""
    tail = [0, 0, 0, 1, 2, 1, 1, 1, 1, 2, 3, 0, 2]
    head = [1, 1, 2, 2, 1, 3, 3, 1, 0, 0, 2, 3, 3]
    capacity = np.array([3, 4, 5, 2, 1, 4, 1, 9, 8, 7, 6, 2, 1]) * unit
    reverse = np.array([1, 0, 0, 3, 0, 0, 2, 4, 1, 2, 3, 4, 5]) * unit
    return instance_of(tail, head, capacity, reverse)


def fake(name, value, distribution="fake", seconds=0.02, log=None):
    def solve(instance):
        if log is not None:
            log.append(name)
        if isinstance(value, Exception):
            raise value
        return Outcome(value, {"build": seconds / 4, "solve": 3 * seconds / 4})

    return Contestant(name, "json", distribution, solve, lambda instance: instance)


def race(contestants, settings=SETTINGS, repeats=3):
    instance = instance_of([0], [1], [1])
    problem = PROBLEMS["max_flow"]
    return measure(problem, "tiny", "one arc", instance, contestants, settings, repeats=repeats, memory=False)


def with_peers(monkeypatch, *peers):
    """Let the benchmark know max_flow with these peers only."""
    monkeypatch.setattr(run, "PROBLEMS", {"max_flow": replace(PROBLEMS["max_flow"], peers=peers)})


@pytest.fixture(scope="module")
def tiny_report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bench")
    report = run_bench(
        ["tiny"],
        out=folder,
        repeats=1,
        methods=["auto", "serial-fifo"],
        instances=["rmf-wide*", "grid 8^3"],
        baseline="scipy",
        memory=False,
    )
    return report, folder


TIMES = {"a": [1.0, 4.0, 3.0, None], "b": [2.0, 2.0, 3.0, 5.0], "c": [8.0, None, None, None]}


class TestProfiles:
    def test_performance(self):
        curves = performance_profile(TIMES)
        assert curves["a"] == ([1.0, 1.0, 2.0], [0.25, 0.5, 0.75])
        assert curves["b"] == ([1.0, 1.0, 1.0, 2.0], [0.25, 0.5, 0.75, 1.0])
        assert curves["c"] == ([8.0], [0.25])

    def test_speed_up(self):
        curves = speed_up_profile(TIMES, "b")
        assert list(curves) == ["a", "c"]
        assert curves["a"] == ([0.5, 1.0, 2.0], [0.75, 0.5, 0.25])
        assert curves["c"] == ([0.25], [0.25])

    def test_instances_without_the_baseline_do_not_count(self):
        curves = speed_up_profile({"a": [1.0, 1.0], "b": [None, 3.0]}, "b")
        assert curves["a"] == ([3.0], [1.0])


class TestReport:
    def test_json(self, tiny_report):
        _, folder = tiny_report
        data, instances = read_record(folder / RECORD)
        assert data["format"] == 2
        assert data["baseline"] == "scipy"
        assert {"preflow", "numpy", "numba"} <= set(data["versions"])
        assert {"cpu", "cores", "memory_bytes", "python", "gpus"} <= set(data["machine"])
        names = [(each["problem"], each["name"]) for each in instances]
        assert names == [(p, i) for p in ("max_flow", "min_cut") for i in ("rmf-wide 8x4", "grid 8^3")]
        first = instances[0]
        assert first["sizes"] == {"vertices": 256, "arcs": 1088}
        auto = first["contestants"][0]
        assert auto["name"] == "preflow:auto"
        assert set(auto["seconds"]) == {"build", "solve", "recover", "other"}
        assert auto["detail"]["reason"]
        assert "method" in auto["detail"]
        assert len({each["value"] for each in first["contestants"] if "value" in each}) == 1
        again = [InstanceRecord.from_dict(each) for each in instances]
        assert [each.to_dict() for each in again] == instances
        total = sum(seconds[0] for seconds in auto["seconds"].values())
        assert again[0].measurements[0].median("total") == pytest.approx(total)

    def test_says_nothing_that_names_the_machine(self, tiny_report):
        _, folder = tiny_report
        for file in (RECORD, "bench.md"):
            text = (folder / file).read_text()
            assert str(Path.home()) not in text
            assert str(folder) not in text
            assert len(platform.node()) < 4 or platform.node() not in text

    def test_markdown(self, tiny_report):
        report, folder = tiny_report
        text = (folder / "bench.md").read_text()
        assert "| preflow:serial-fifo | total | 2 |" in text
        assert "What auto chose" in text
        median = report.summary("max_flow")["preflow:auto"]["total"]["median"]
        ratios = report.ratios("max_flow", "preflow:auto", "total")
        assert median == pytest.approx(sum(ratios) / 2)
        rows = [line for line in text.splitlines() if line.startswith("|")]
        assert not any(line.count("|") < 3 for line in rows)

    def test_pictures(self, tiny_report):
        _, folder = tiny_report
        text = (folder / "bench.md").read_text()
        for problem in ("max_flow", "min_cut"):
            for kind in ("performance", "speed-up"):
                picture = folder / f"{kind}-profile-{problem}.png"
                assert picture.read_bytes().startswith(b"\x89PNG")
                assert picture.name in text

    def test_missing_matplotlib_is_said_before_anything_runs(self, monkeypatch, tmp_path):
        monkeypatch.setattr(profiles, "find_spec", lambda name: None)
        with pytest.raises(MissingDependencyError, match="plots needs matplotlib"):
            run_bench(["tiny"], out=tmp_path)
        assert not list(tmp_path.iterdir())

    def test_machine(self):
        machine = describe_machine()
        assert 1 <= machine["usable_cores"] <= machine["cores"]


def seeds(files):
    """Return a group of three seeds, and an instance without a group."""
    generate = family("rmf-wide").generate
    name = "rmf-wide 32x8"
    group = [
        replace(flow_case(f"{name} seed {seed}", partial(generate, "32x8", seed=seed)), group=name)
        for seed in range(3)
    ]
    return [*group, family_case("rlg-wide", "128x8")]


def draw_nothing(records, folder):
    (folder / "own.png").write_text("")
    return [folder / "own.png"]


@pytest.fixture(scope="module")
def small_report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bench")
    tables = lambda records: [Table("Own table", ["instances"], [[str(len(records))]])]  # noqa: E731
    add_suite("seeds", Suite(seeds, tables=tables, draw=draw_nothing), "max_flow")
    report = run_bench(
        ["seeds"],
        out=folder,
        problems=["max_flow"],
        repeats=1,
        methods=["Cihan", "serial-fifo", "auto@2"],
        peers=(),
        instances=["rmf-wide* seed [01]", "rlg-wide*"],
        threads=[1, 2],
        memory=False,
    )
    yield report, folder
    del PROBLEMS["max_flow"].suites["seeds"]


def timed(contestant, seconds, **detail):
    return Measurement(contestant, seconds=[{"solve": seconds, "total": seconds}], detail=detail)


class TestScaling:
    def test_parallel_methods_take_part_with_each_number_of_threads(self, small_report):
        report, _ = small_report
        for record in report.records:
            threads = {each.contestant: each.detail["threads"] for each in record.measurements}
            assert threads == {
                "preflow:Cihan@1": 1,
                "preflow:Cihan@2": 2,
                "preflow:serial-fifo": 1,
                "preflow:auto@2": threads["preflow:auto@2"],
            }

    def test_speed_ups_are_of_mean_times_over_the_seeds(self, small_report):
        report, _ = small_report
        for part in ("total", "solve", "relabel"):
            table = speed_ups(report.records, part)
            assert "rmf-wide 32x8" in table
            assert all(list(curves) == ["Cihan"] for curves in table.values())
            assert all(
                curve[1] == 1.0 and curve[2] > 0.0 for each in table.values() for curve in each.values()
            )
        times = [[each.median("total") for each in record.measurements[:2]] for record in report.records[:2]]
        alone, together = np.sum(times, axis=0)
        curve = speed_ups(report.records, "total")["rmf-wide 32x8"]["Cihan"]
        assert curve[2] == pytest.approx(alone / together)

    def test_instances_without_a_time_on_one_thread_do_not_count(self):
        measured = {
            "a seed 0": [timed("preflow:x@1", 6.0), timed("preflow:x@4", 2.0)],
            "a seed 1": [Measurement("preflow:x@1"), timed("preflow:x@4", 9.0)],
            "b": [timed("preflow:x@4", 2.0), timed("peer", 1.0)],
        }
        records = [InstanceRecord("max_flow", "", name, {}, each, name[0]) for name, each in measured.items()]
        assert speed_ups(records, "solve") == {"a": {"x": {1: 1.0, 4: 3.0}}}
        assert speed_ups(records, "relabel") == {}

    def test_report(self, small_report):
        report, folder = small_report
        text = (folder / "bench.md").read_text()
        for part in ("total", "solve", "relabel"):
            picture = folder / f"speed-up-by-threads-{part}-max_flow.png"
            assert picture.read_bytes().startswith(b"\x89PNG")
            assert picture.name in text
        assert "Speed-up over one thread, global relabels only" in text
        assert "| rmf-wide 32x8 | Cihan | 1.00 |" in text
        assert "Own table:\n\n| instances |\n| --- |\n| 3 |" in text
        assert "![own](own.png)" in text
        data, (first, *_) = read_record(folder / RECORD)
        assert data["settings"]["threads"] == "1 2"
        assert first["group"] == "rmf-wide 32x8"
        assert {"pushes", "relabels", "global_relabels", "global_relabel_seconds"} <= set(
            first["contestants"][0]["detail"]
        )
        assert "preflow:Cihan@2" in report.summary("max_flow")

    def test_reports_are_joined(self, small_report, tmp_path):
        report, folder = small_report
        more = run_bench(
            ["seeds"],
            out=tmp_path / "more",
            problems=["max_flow"],
            repeats=1,
            methods=["multicore-fifo@2", "serial-fifo"],
            peers=(),
            instances=["rmf-wide* seed [12]"],
            memory=False,
            plots=False,
        )
        files = [folder / RECORD, tmp_path / "more" / RECORD]
        joined = join_reports(files, tmp_path / "joined")
        assert [record.name for record in joined.records] == [
            *(record.name for record in report.records),
            "rmf-wide 32x8 seed 2",
        ]
        again = joined.records[1]
        assert [each.contestant for each in again.measurements] == [
            *(each.contestant for each in report.records[1].measurements),
            "preflow:multicore-fifo@2",
        ]
        assert again.of("preflow:serial-fifo").seconds == report.records[1].of("preflow:serial-fifo").seconds
        assert joined.records[-1].measurements[0].detail == more.records[1].measurements[0].detail
        assert (tmp_path / "joined" / "speed-up-by-threads-relabel-max_flow.png").exists()
        join_reports(files[:1], tmp_path / "alone")
        assert (tmp_path / "alone" / RECORD).read_text() == files[0].read_text()

    def test_other_files_are_no_records_of_runs(self, tmp_path):
        for text in ("", "[1]", "{", '{"a": 1}\n2\n'):
            (tmp_path / RECORD).write_text(text)
            with pytest.raises(InvalidInputError, match="is no record"):
                read_record(tmp_path / RECORD)
        write_rows(tmp_path / RECORD, [{"a": 1}], side=3)
        header, rows = read_record(tmp_path / RECORD)
        assert (header["side"], rows) == (3, [{"a": 1}])
        with pytest.raises(InvalidInputError, match="another format"):
            join_reports([tmp_path / RECORD], tmp_path / "out")

    def test_suites_bring_their_methods_and_threads(self, monkeypatch):
        case = Case("one arc", lambda: instance_of([0], [1], [1]), "arcs")
        suite = Suite(lambda files: [case], ("serial-fifo", "multicore-fifo"), (1, 2, 1000))
        problem = replace(PROBLEMS["max_flow"], peers=(), suites={"one": suite})
        monkeypatch.setattr(run, "PROBLEMS", {"max_flow": problem})
        monkeypatch.setattr(run, "usable_cpus", lambda: 2)
        report = run_bench(["one"], repeats=1, memory=False)
        names = ["preflow:serial-fifo", "preflow:multicore-fifo@1", "preflow:multicore-fifo@2"]
        assert report.contestants("max_flow") == names
        report = run_bench(["one"], repeats=1, memory=False, threads=3, methods=["multicore-fifo"])
        assert report.contestants("max_flow") == ["preflow:multicore-fifo"]


class TestDisagreement:
    def test_fails_after_the_report_is_written(self, monkeypatch, tmp_path):
        with_peers(monkeypatch, fake("liar", 7))
        with pytest.raises(BenchmarkFailedError, match=r"by preflow:auto; 7 by liar"):
            run_bench(["tiny"], out=tmp_path, repeats=1, instances=["grid 8^3"], memory=False, plots=False)
        assert "7 by liar" in read_reports([tmp_path / RECORD]).faults[0]
        assert "The run failed" in (tmp_path / "bench.md").read_text()

    def test_between_runs_of_one_contestant(self):
        values = iter([9, 3, 3, 4, 3])
        fickle = replace(fake("fickle", 3), run=lambda _: Outcome(next(values), {"solve": 0.02}))
        assert race([fickle]).disagreement() == "max_flow of one arc: 3 by fickle; 4 by fickle"

    def test_integers_are_compared_exactly(self):
        assert not same_value(2**60, 2**60 + 1)
        assert same_value(0.1 + 0.2, 0.3)
        assert not same_value(0.3, 0.3001)


class TestRunner:
    def test_rounds_start_with_another_contestant_each(self):
        log = []
        race([fake(name, 1, log=log) for name in "abc"], repeats=3)
        assert "".join(log) == "aabbcc" + "abc" + "bca" + "cab"

    def test_warm_up_is_not_timed(self):
        measurement = race([fake("a", 1)], repeats=2).of("a")
        assert len(measurement.values) == 3
        assert measurement.all_seconds("total") == pytest.approx([0.02, 0.02])
        assert measurement.phases == ["build", "solve", "total"]

    def test_short_runs_are_repeated_and_their_median_counts(self):
        totals = iter([9.0, 9.0, 0.003, 0.001, 0.002, 0.004, 0.1])  # the first two warm up
        short = replace(fake("short", 1), run=lambda _: Outcome(1, {"solve": next(totals)}))
        assert race([short], repeats=2).of("short").all_seconds("total") == pytest.approx([0.003, 0.1])

    def test_timed_runs_have_no_time_limit(self):
        limits = []

        def contestant(method, settings):
            def solve(_):
                limits.append(settings.time_limit)
                return Outcome(1, {"solve": 1.0})

            return replace(fake(f"preflow:{method}", 1), run=solve)

        problem = replace(PROBLEMS["max_flow"], preflow=contestant)
        instance, settings = instance_of([0], [1], [1]), SolverSettings(1, 18.0)
        racing = [problem.contestant("preflow:auto", settings)]
        measure(problem, "tiny", "one arc", instance, racing, settings, repeats=2, memory=False)
        assert limits == [18.0, 18.0, math.inf, math.inf]  # the first loads the kernels

    def test_timed_runs_end_with_the_time_limit(self):
        record = race([fake("a", 1), fake("slower", 1, seconds=9.0)], SolverSettings(1, 18.0), repeats=5)
        assert [len(each.seconds) for each in record.measurements] == [5, 2]

    def test_slow_contestant_is_measured_once(self):
        log = []
        record = race([fake("a", 1, log=log), fake("slow", 1, seconds=99.0, log=log)], repeats=2)
        slow = record.of("slow")
        assert slow.status == "measured once"
        assert slow.median("total") == pytest.approx(99.0)
        assert log.count("slow") == 2
        assert log.count("a") == 4

    def test_compiling_makes_nobody_slow(self, monkeypatch):
        counted = iter([0.0, 99.0])
        monkeypatch.setattr(timing, "compile_seconds", lambda: next(counted, 99.0))
        contestant = PROBLEMS["max_flow"].contestant("preflow:serial-fifo", SETTINGS)
        outcome = contestant.run(contestant.prepare(instance_of([0], [1], [1])))
        assert "compile" not in outcome.seconds
        assert sum(outcome.seconds.values()) < 0.0

    def test_who_cannot_solve_an_instance_is_left_out(self):
        left_out = race([fake("narrow", UnsuitableMethodError("too wide"))]).of("narrow")
        assert (left_out.status, left_out.note) == ("left out", "too wide")

    def test_preflow_stops_at_the_time_limit(self):
        settings = SolverSettings(None, 0.2)
        problem = PROBLEMS["max_flow"]
        contestant = problem.contestant("preflow:serial-generic", settings)
        instance = next(case for case in papers(()) if case.name == "rmf-wide 64x16").make()
        begin = time.perf_counter()
        record = measure(problem, "papers", "", instance, [contestant], settings, repeats=1, memory=False)
        assert record.measurements[0].status == "over the time limit"
        assert "<= optimum <=" in record.measurements[0].note
        assert time.perf_counter() - begin < 30.0

    def test_failing_peer_is_noted_failing_method_is_a_fault(self, monkeypatch):
        with_peers(monkeypatch, fake("broken", RuntimeError("out of luck")))
        report = run_bench(["tiny"], repeats=1, instances=["grid 8^3"], memory=False)
        assert report.records[0].of("broken").note == "RuntimeError: out of luck"
        report.records[0].measurements[0].stop("failed", "IndexError: 3")
        assert report.faults == ["max_flow of grid 8^3: preflow:auto failed: IndexError: 3"]

    def test_missing_peer_is_left_out_and_said(self, monkeypatch, tmp_path):
        missing = replace(fake("absent", 1), module="no_such_module_anywhere", distribution="absent-package")
        with_peers(monkeypatch, missing)
        report = run_bench(
            ["tiny"], out=tmp_path, repeats=1, instances=["grid 8^3"], memory=False, baseline="absent"
        )
        assert report.left_out[0]["what"] == "absent"
        assert "absent-package is not installed" in (tmp_path / "bench.md").read_text()
        assert report.baseline == "preflow:auto"
        assert [each.contestant for each in report.records[0].measurements] == ["preflow:auto"]

    def test_without_contestants_nothing_is_called_recorded(self, monkeypatch, caplog):
        missing = replace(fake("absent", 1), module="no_such_module_anywhere", distribution="absent-package")
        with_peers(monkeypatch, missing)
        caplog.set_level("INFO", logger="preflow")
        report = run_bench(["tiny"], repeats=1, methods=(), instances=["grid 8^3"], memory=False)
        assert not report.records
        assert "grid 8^3: no contestant can run on this machine" in caplog.text
        assert "recorded before" not in caplog.text

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"suites": ["no-such"]}, "unknown suite 'no-such'.*python -m benchmarks.reproduce"),
            ({"problems": ["max_cut"]}, "unknown problem 'max_cut'"),
            ({"peers": ["no-such"]}, "unknown contestant 'no-such'"),
            ({"methods": ["no-such"]}, "unknown method 'no-such'"),
            ({"methods": ["multicore-fifo@two"]}, "METHOD@THREADS"),
            ({"methods": ["serial-fifo@2"]}, "uses one thread"),
            ({"methods": ["multicore-fifo"], "threads": [1, 0]}, "threads must be a positive integer"),
            ({"instances": ["no-such"]}, "no instance of tiny matches no-such"),
            ({"repeats": 0}, "repeats must be positive"),
            ({"time_limit": 0.0}, "time_limit must be positive"),
            ({"suites": ["real"], "files": ["no/such/folder"]}, "no/such/folder is no folder"),
        ],
    )
    def test_bad_arguments(self, arguments, message):
        with pytest.raises(InvalidInputError, match=message):
            run_bench(**{"suites": ["tiny"], **arguments})


class TestProbe:
    def probe(self, tmp_path, contestant, time_limit=60.0):
        instance = next(case for case in tiny(()) if case.name == "rlg-wide 128x8").make()
        save_instance(tmp_path / "instance", instance)
        return probe(tmp_path / "instance", "max_flow", contestant, SolverSettings(None, time_limit))

    def test_measures_memory(self, tmp_path):
        networkx = self.probe(tmp_path, "networkx")
        assert networkx.status == "measured"
        if Path("/proc/self/status").exists():
            assert 2**20 < networkx.peak_bytes < 2**26

    def test_stops_who_takes_too_long(self, tmp_path):
        assert self.probe(tmp_path, "networkx", time_limit=0.005).status == "over the time limit"

    def test_failure_in_the_other_process(self, tmp_path):
        failed = self.probe(tmp_path, "preflow:no-such")
        assert failed.status == "failed"
        assert "unknown method 'no-such'" in failed.note


class TestPeers:
    @pytest.mark.parametrize("problem", ["max_flow", "min_cut"])
    @pytest.mark.parametrize("name", ["preflow:auto", *PEERS])
    def test_awkward_instance(self, name, problem):
        contestant = PROBLEMS[problem].contestant(name, SETTINGS)
        if reason := contestant.missing():
            pytest.skip(reason)
        instance = awkward_instance()
        outcome = contestant.run(contestant.prepare(instance))
        arcs = instance.one_way()
        assert outcome.value == max_flow(tuple(arcs), 0, 3).value == 11
        assert type(outcome.value) is int
        assert {"build", "solve"} <= set(outcome.seconds)

    @pytest.mark.parametrize("name", ["preflow:auto", *PEERS])
    def test_float_capacities(self, name):
        contestant = PROBLEMS["max_flow"].contestant(name, SETTINGS)
        if reason := contestant.missing():
            pytest.skip(reason)
        instance = awkward_instance(unit=0.1)
        if name in ("ortools", "thinhpf", "scipy"):
            assert contestant.unfit(instance)
        else:
            assert contestant.run(contestant.prepare(instance)).value == pytest.approx(1.1)

    @pytest.mark.parametrize(("name", "unit"), [("scipy", 2**29), ("thinhpf", 2**29), ("igraph", 2**51)])
    def test_limits(self, name, unit):
        contestant = PROBLEMS["max_flow"].contestant(name, SETTINGS)
        assert contestant.unfit(awkward_instance()) is None
        assert contestant.unfit(awkward_instance(unit=unit))

    def test_slow_ones_only_take_part_on_small_instances(self):
        instance = instance_of(np.arange(250_000), np.arange(1, 250_001), 1)
        for name in ("networkx", "scipy"):
            assert "arcs" in PROBLEMS["max_flow"].contestant(name, SETTINGS).unfit(instance)

    def test_importing_the_benchmark_imports_no_peer(self):
        modules = {"ortools", "maxflow", "thinhpf", "igraph", "networkx", "matplotlib", "skimage"}
        program = f"import sys, benchmarks.run; print(sorted({modules} & set(sys.modules)))"
        answer = subprocess.run(
            [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
        )
        assert answer.stdout.strip() == "[]"


class TestSuites:
    def test_papers_are_the_target(self):
        assert [case.name for case in papers(())] == [
            "rmf-wide 64x16",
            "rmf-long 16x1024",
            "rlg-wide 4096x64",
            "rlg-long 64x16384",
            "line-moderate 16384x4 degree 128",
            "acyclic dense 2000",
            "grid 1000x1000",
            "grid 100^3",
        ]

    @pytest.mark.parametrize("case", tiny(()), ids=lambda case: case.name)
    def test_tiny_instances_are_tiny_and_have_a_flow(self, case):
        instance = case.make()
        assert instance.num_arcs < 10_000
        assert PROBLEMS["min_cut"].contestant("preflow:auto", SETTINGS).run(instance).value > 0

    def test_files(self, tmp_path):
        assert find_files([str(DIMACS)], ".max") == sorted(DIMACS.glob("*.max.gz"))
        pattern = str(DIMACS / "rlg-*.max.gz")
        assert [path.name for path in find_files([pattern], ".max")] == [
            "rlg-long-16x256.max.gz",
            "rlg-wide-256x16.max.gz",
        ]
        assert len(find_files([pattern, str(DIMACS)], ".max")) == len(find_files([str(DIMACS)], ".max"))

    def test_real_takes_the_users_files(self):
        path = DIMACS / "mesh-64x64.max.gz"
        (case,) = real([str(path)])
        assert case.name == "mesh-64x64"
        value = PROBLEMS["max_flow"].contestant("preflow:auto", SETTINGS).run(case.make()).value
        assert value == max_flow(read_dimacs(path)).value

    def test_an_instance_of_two_suites_is_measured_once(self, monkeypatch):
        with_peers(monkeypatch)
        turns = list(run._turns([PROBLEMS["max_flow"]], ["vision", "real"], [], []))
        names = [case.name for _, _, case in turns]
        assert len(names) == len(set(names)) > 6

    def test_photograph_is_cut_in_two_parts_worth_having(self):
        pytest.importorskip("skimage")
        problem = photograph_cut("coffee", 8)
        sink_side = max_flow(problem).sink_side[:-2]
        assert 0.1 < sink_side.mean() < 0.9

    def test_instances_without_the_same_contestants_share_their_names(self):
        spent = [{"what": f"{name} on {case}", "why": "spent"} for case in ("x 1", "x 2") for name in "ab"]
        other = [{"what": "b on y", "why": "spent"}, {"what": "peer", "why": "absent"}]
        assert _reasons(spent + other) == ["a, b on x 1, x 2; b on y: spent", "peer: absent"]

    def test_malformed_file_is_left_out_and_said(self, monkeypatch, tmp_path):
        (tmp_path / "broken.max").write_text("p max 2 1\n")
        with_peers(monkeypatch)
        report = run_bench(["real"], files=[str(tmp_path)], instances=["broken"], memory=False, repeats=1)
        assert report.left_out[0]["what"] == "broken"

    def test_several_sources_are_an_error(self):
        network = FlowNetwork.from_arrays([0, 1], [2, 2], [1, 1])
        with pytest.raises(InvalidInputError, match="one source"):
            FlowInstance.from_problem(MaxFlowProblem(network, (0, 1), 2, name="two sources"))


def test_no_two_curves_of_a_picture_look_alike() -> None:
    styles = [(style["color"], style["linestyle"]) for style in map(profiles._style, range(32))]
    assert len(set(styles)) == 32
