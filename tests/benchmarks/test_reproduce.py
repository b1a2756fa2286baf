"""The command that repeats the experiments of a paper, table by table."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks import reproduce
from benchmarks.problem import Case, SolverSettings
from benchmarks.problems import PROBLEMS, add_suite
from benchmarks.records import InstanceRecord, Measurement, read_record
from benchmarks.report import BenchReport
from benchmarks.report_files import RECORD
from benchmarks.reproduce import __main__ as command
from benchmarks.reproduce import cihan, deveci, lupinska, wu_he_hong
from benchmarks.reproduce.means import Mean
from benchmarks.reproduce.selection import Selection, select
from benchmarks.run import run_bench
from preflow.errors import InvalidInputError

SETTINGS = SolverSettings(1, 10.0)


@pytest.fixture(autouse=True)
def _own_suites() -> Iterator[None]:
    before = {name: dict(problem.suites) for name, problem in PROBLEMS.items()}
    yield
    for name, problem in PROBLEMS.items():
        problem.suites.clear()
        problem.suites.update(before[name])


def names(cases: Iterable[Case]) -> list[str]:
    return [case.name for case in cases]


def test_help_lists_the_tables_and_figures_of_each_paper() -> None:
    text = command.usage()
    for name, paper in reproduce.PAPERS.items():
        assert f"{name}: {paper.title}" in text
        assert all(f"{part} " in text for part in paper.all_parts)


def made(arguments: list[str]) -> list[list[str]]:
    """Return the arguments of bench of all runs."""
    request = command.read(arguments)
    return [command.arguments_of_bench(request, run) for run in request.runs]


def test_arguments_become_those_of_bench() -> None:
    assert made(["cihan", "c.1", "--seeds", "2", "--repeats", "3"]) == [
        [
            *("cihan", "--repeats", "3", "--problem", "max_flow"),
            *("--time-limit", "inf", "--one-by-one", "--no-peers", "--no-memory"),
        ]
    ]
    for problem in ("max_flow", "min_cut"):
        assert names(PROBLEMS[problem].suites["cihan"].cases(())) == [
            "rmf-wide 400x16 seed 0",
            "rmf-wide 400x16 seed 1",
        ]
    assert made(["cihan", "D.1", "--small", "--peer", "ortools", "--problem=min_cut"]) == [
        [*("cihan", "--peer", "ortools", "--problem=min_cut", "--no-memory")]
    ]
    assert made(["lupinska", "assignment", "--time-limit=3", "--no-peers", "--small"]) == [
        [
            *("lupinska", "--time-limit=3", "--no-peers"),
            *("--problem", "linear_assignment", "--no-memory"),
        ]
    ]


def test_a_paper_needs_no_option() -> None:
    assert made(["cihan", "C.4", "--small"]) == [
        [*("cihan", "--problem", "max_flow", "--no-peers", "--no-memory")]
    ]
    request = command.read(["lupinska", "arc-fixing", "--small"])
    assert command.arguments_of_program(request, "arc-fixing") == ["--small"]


def test_all_runs_of_a_command_share_its_budget(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter([0.0, 1.0, 40.0, 101.0, 102.0])
    monkeypatch.setattr(command, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    runs: list[list[str]] = []
    monkeypatch.setattr(command.bench, "start", lambda name, arguments: runs.append(arguments))
    monkeypatch.setattr(sys, "argv", ["reproduce", "cihan", "--small", "--budget", "100"])
    with pytest.raises(SystemExit):
        command.main()
    assert [run[run.index("--budget") + 1] for run in runs] == ["100", "60"]
    assert "related: not begun, the budget was spent" in capsys.readouterr().out
    assert command.with_budget(["--budget=9", "--resume"], 2.5) == ["--budget=2.5", "--resume"]
    with pytest.raises(InvalidInputError, match="--budget needs a number, got 'x'"):
        command.budget_of(["--budget", "x"])


def test_parts_with_instances_of_their_own_are_measured_apart() -> None:
    request = command.read(["lupinska", "growth", "flow", "alpha", "--small", "--out", "a/b"])
    assert {run: selection.parts for run, selection in request.runs.items()} == {
        "": ("flow", "alpha"),
        "growth": ("growth",),
    }
    main, growth = made(["lupinska", "growth", "flow", "alpha", "--small", "--out", "a/b"])
    assert main[1:3] == ["--out", "a/b"]
    assert growth[1:3] == ["--out", "a/b/growth"]
    assert names(PROBLEMS["max_flow"].suites["lupinska"].cases(()))[0] == "grid 8x8 seed 0"
    whole = command.read(["lupinska", "--out=a", "--seeds", "2", "--small"])
    assert list(whole.runs) == ["", "growth", "arc-fixing", "optical-flow", "optical-flow-pairs"]
    assert command.arguments_of_program(whole, "optical-flow") == [
        "--out=a/optical-flow",
        "--small",
        *("--seeds", "2"),
    ]
    assert list(command.read(["wu-he-hong", "ALGORITHM-4"]).runs) == ["algorithm-4"]
    thesis = command.read(["cihan", "--small"]).runs
    assert list(thesis) == ["", "active", "related", "reading"]
    tables = cihan.suites(thesis[""])["max_flow"]
    assert (tables.methods, tables.threads) == (cihan.METHODS, cihan.THREADS)
    active = cihan.suites(thesis["active"])["max_flow"]
    assert (active.methods, active.threads) == (cihan.ACTIVITY_METHODS, cihan.TABLE_THREADS)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["smith"], "unknown paper 'smith'; there are: cihan"),
        (["cihan", "C.7"], "unknown part 'C.7'; there are: C.1"),
        (["cihan", "--seeds"], "--seeds needs a number"),
        (["cihan", "--seeds", "0"], "seeds must be positive"),
        (["deveci28", "--seeds", "3"], "have no seeds"),
    ],
)
def test_bad_arguments(arguments: list[str], words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        command.read(arguments)


def test_parts_select_instances_and_methods() -> None:
    tables = cihan.suites(Selection(("C.4", "D.2"), small=True, seeds=1))["max_flow"]
    assert names(tables.cases(())) == ["rmf-long 8x128 seed 0", "BL06-gargoyle-med-like small"]
    assert tables.threads == (1, 8)
    speed = cihan.suites(Selection(("speed-up",), small=True, seeds=1))["max_flow"]
    assert speed.methods == ("multicore-fifo", cihan.AS_PRINTED)
    assert len(names(speed.cases(()))) == 13
    families = wu_he_hong.suites(Selection(("rmf-wide",), small=True))["max_flow"]
    assert names(families.cases(())) == ["rmf-wide 12x12", "rmf-wide 16x16", "rmf-wide 21x21"]
    two = wu_he_hong.suites(Selection(("rmf-wide",), small=True, seeds=2))["max_flow"].cases(())
    assert [(case.name, case.group) for case in two][:2] == [
        ("rmf-wide 12x12", "rmf-wide 12x12"),
        ("rmf-wide 12x12 seed 1", "rmf-wide 12x12"),
    ]
    assert deveci.suites(Selection(("figure-4",)))["bipartite_matching"].methods == (
        "serial-push-relabel",
        "cuda-push-relabel",
    )
    assert list(lupinska.suites(Selection(("assignment",)))) == ["linear_assignment"]
    assert lupinska.suites(Selection(("alpha",)))["linear_assignment"].methods == lupinska.ALPHA_METHODS
    everything = lupinska.suites(Selection(small=True))
    assert "Hong" in everything["max_flow"].methods
    assert lupinska.suites(Selection(("hong",)))["max_flow"].methods == lupinska.HONG_METHODS
    assert "cuda-blocking[pushes=4]" in lupinska.suites(Selection(("cuda-cuts",)))["grid_cut"].methods


@pytest.mark.parametrize("small", [True, False])
@pytest.mark.parametrize("name", reproduce.PAPERS)
def test_all_methods_of_the_papers_are_known(name: str, small: bool) -> None:
    paper = reproduce.PAPERS[name]
    for problem, suite in paper.suites(select(paper, (), small, None)).items():
        for method in suite.methods:
            assert PROBLEMS[problem].contestant(f"preflow:{method}", SETTINGS)
        assert suite.cases(())


def test_means_and_stopped_seeds() -> None:
    counts = {"pushes": 4, "relabels": 2, "global_relabels": 1, "global_relabel_seconds": 0.3}
    more = {"pushes": 8, "relabels": 2, "global_relabels": 1, "global_relabel_seconds": 0.5}

    def timed(seconds: float, detail: dict[str, float]) -> Measurement:
        runs = [{"solve": seconds, "total": seconds}]
        return Measurement("preflow:serial-fifo", seconds=runs, detail=detail)

    stopped = Measurement("preflow:serial-fifo", status="over the time limit")
    records = [
        InstanceRecord("max_flow", "", f"seed {seed}", {}, [each], "rmf-long 8x128")
        for seed, each in enumerate([timed(1.0, counts), timed(1.0, more), stopped])
    ]
    (row,) = cihan.operations(records)
    assert (row.instances, row.stopped) == (2, ("seed 2: over the time limit",))
    assert row.seconds == Mean(1.0, 0.0)
    assert row.counts[0] == Mean(6.0, pytest.approx(8**0.5))
    assert row.relabels_share == pytest.approx(0.4)
    assert (row.table, row.published) == ("C.4", cihan.TABLES["rmf-long 32x1024"].rows["F_PRF"])
    (table,) = cihan.operation_tables(records)
    assert table.rows[0][2:6] == ["2; seed 2: over the time limit", "1", "40%", "6 ± 3"]
    (alone,) = cihan.operations(records[2:])
    assert (alone.instances, alone.seconds, alone.counts) == (0, None, ())
    assert cihan.operation_tables(records[2:])[0].rows[0][2] == "0; seed 2: over the time limit"


def test_assignments_of_lupinska() -> None:
    cases = lupinska.assignments((), sizes=(5,), seeds=2)
    assert names(cases) == ["complete 5 seed 0", "complete 5 seed 1"]
    suites = lupinska.suites(Selection(("assignment",), small=True, seeds=2))
    suite = suites["linear_assignment"]
    methods = [method for method in suite.methods if not method.startswith(("cuda", "multicore"))]
    add_suite("lupinska", suite, "linear_assignment")
    report = run_bench(
        ["lupinska"],
        problems=["linear_assignment"],
        methods=methods,
        instances=["complete 10 *"],
        repeats=1,
        peers=(),
        memory=False,
    )
    (table,) = lupinska.tables(report.records)
    assert [row[1] for row in table.rows] == [f"preflow:{method}" for method in methods]
    # On square costs algorithms 5.1 and 5.2 are the same.
    counts = {row[1]: row[4:7] for row in table.rows}
    for text in ("", f",{lupinska.HEURISTICS}"):
        csa, mixed = (
            counts[f"preflow:serial-cost-scaling[form={form},{lupinska.AS_PRINTED}{text}]"]
            for form in ("csa", "mixed")
        )
        assert csa == mixed


def test_table_one_of_deveci() -> None:
    def timed(contestant: str, seconds: float) -> Measurement:
        runs = [{"solve": seconds, "search": seconds, "total": seconds}]
        return Measurement(contestant, values=[7], seconds=runs, detail={"initial_cardinality": 5})

    record = InstanceRecord(
        "bipartite_matching",
        "",
        "flickr-like small",
        {"rows": 9, "columns": 8, "edges": 20},
        [
            timed("preflow:serial-push-relabel", 2.0),
            timed("preflow:PR", 3.0),
            timed("preflow:P-DBFS@8", 0.5),
            timed("preflow:auto", 1.0),
        ],
    )
    table = deveci.table_one([record])[0]
    printed = ["PR as printed", "PR as printed, published"]
    assert table.header[7:] == ["PR", "PR, published", *printed, "P-DBFS@8", "P-DBFS@8, published"]
    assert table.rows == [
        [
            "flickr-like small",
            "9 (820,878)",
            "8 (820,878)",
            "20 (9,837,214)",
            "5 (285,241)",
            "7 (367,147)",
            "0.00",
            *("2", "0.99", "3", "0.99", "0.5", "0.35"),
        ]
    ]


def test_a_run_is_resumed(tmp_path: Path) -> None:
    add_suite("lupinska", lupinska.suites(Selection(("flow",), small=True))["max_flow"], "max_flow")

    def run(pattern: str, **changes: object) -> list[InstanceRecord]:
        settings: dict[str, object] = {
            "problems": ["max_flow"],
            "methods": ["serial-fifo"],
            "instances": [pattern],
            "repeats": 1,
            "peers": (),
            "memory": False,
            "plots": False,
            "out": tmp_path,
            **changes,
        }
        return run_bench(["lupinska"], **settings).records  # type: ignore[arg-type]

    first = run("grid 15x15 seed 0", time_limit=float("inf"))
    path = tmp_path / RECORD
    assert read_record(path).header["settings"]["time_limit"] == "none"
    both = run("grid 15x15 seed [01]", time_limit=float("inf"), resume=True)
    assert [record.name for record in both] == ["grid 15x15 seed 0", "grid 15x15 seed 1"]
    assert both[0].measurements[0].seconds == first[0].measurements[0].seconds
    more = run(
        "grid 15x15 seed 1", time_limit=float("inf"), resume=True, methods=["serial-fifo", "serial-hi-pr"]
    )
    # A method is new, so all are measured again; the other instance is kept.
    assert [(record.name, len(record.measurements)) for record in more] == [
        ("grid 15x15 seed 0", 1),
        ("grid 15x15 seed 1", 2),
    ]
    with pytest.raises(InvalidInputError, match="cannot be resumed: its repeats is 1, not 2"):
        run("grid*", time_limit=float("inf"), resume=True, repeats=2)
    with pytest.raises(InvalidInputError, match="resume needs out"):
        run("grid*", resume=True, out=None)
    assert run("grid 15x15 seed 0", resume=True, out=tmp_path / "new")


def test_runs_one_by_one_keep_each_contestant(tmp_path: Path) -> None:
    add_suite("lupinska", lupinska.suites(Selection(("flow",), small=True))["max_flow"], "max_flow")

    def run(*methods: str, budget: float = float("inf")) -> BenchReport:
        return run_bench(
            ["lupinska"],
            problems=["max_flow"],
            methods=methods,
            instances=["grid 15x15 seed 0"],
            repeats=2,
            peers=(),
            memory=False,
            plots=False,
            out=tmp_path,
            resume=True,
            one_by_one=True,
            budget=budget,
        )

    (first,) = run("serial-fifo").records
    assert len(first.measurements[0].values) == len(first.measurements[0].seconds) == 2
    spent = run("serial-fifo", "serial-hi-pr", budget=1e-9)
    assert [len(record.measurements) for record in spent.records] == [1]
    assert spent.left_out == [
        {
            "what": "preflow:serial-hi-pr on grid 15x15 seed 0",
            "why": "not begun: the budget of 1e-09 s was spent; --resume measures it",
        }
    ]
    whole = run("serial-fifo", "serial-hi-pr")
    assert whole.left_out == []
    (both,) = whole.records
    assert [each.contestant for each in both.measurements] == ["preflow:serial-fifo", "preflow:serial-hi-pr"]
    assert both.measurements[0].seconds == first.measurements[0].seconds
    assert read_record(tmp_path / RECORD).header["settings"]["one_by_one"] is True
