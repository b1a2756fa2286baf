"""The function behind the command ``python -m benchmarks``."""

from __future__ import annotations

import json
import logging
import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path
from typing import TypeVar

from preflow.errors import InvalidInputError, PreflowError
from preflow.solving.dispatch import usable_cpus

from .machine import command, describe_machine, package_versions
from .problem import Case, Contestant, Problem, SolverSettings
from .problems import PROBLEMS, takes_threads
from .profiles import require_matplotlib
from .records import InstanceRecord
from .report import BenchReport, Heading
from .report_files import RECORD, read_reports, write_report
from .runner import measure

logger = logging.getLogger("preflow")

#: How to measure the instances of publications.
PAPER_SUITES = "python -m benchmarks.reproduce measures the suites of the papers"

T = TypeVar("T")


class BenchmarkFailedError(PreflowError):
    """Contestants found different values, or a method of preflow failed. The message names them."""


def run_bench(
    suites: Sequence[str] = ("papers",),
    *,
    out: str | Path | None = None,
    problems: Sequence[str] | None = None,
    repeats: int = 5,
    methods: Sequence[str] | None = None,
    peers: Sequence[str] | None = None,
    instances: Sequence[str] = (),
    files: Sequence[str] = (),
    baseline: str = "ortools",
    threads: int | Sequence[int] | None = None,
    time_limit: float = 20.0,
    memory: bool = True,
    plots: bool = True,
    resume: bool = False,
    one_by_one: bool = False,
    budget: float = math.inf,
) -> BenchReport:
    """Measure preflow beside the installed peers, and compare all values that they find.

    Parameters
    ----------
    suites : sequence of str
        "papers", "irregular", "applications", "vision", "real", "tiny"; "grids", "grids-large",
        "grids-small"; "matching", "matching-tiny"; "assignment", "assignment-small"; "mincost",
        "mincost-large", "mincost-tiny"; "traps"; or suites that
        :func:`~benchmarks.problems.add_suite` added. An instance of several suites is measured once.
    out : str or Path, optional
        The folder for ``bench.jsonl``, ``bench.md`` and the pictures of each problem.
    problems : sequence of str, optional
        Names of public functions, such as "max_flow". Default: all problems that have one of the suites.
    repeats : int
        Timed runs of each contestant on each instance, after a warm-up. A contestant makes fewer runs if they
        take `time_limit` together.
    methods : sequence of str, optional
        Methods of preflow, each of which takes part as ``preflow:METHOD``. ``METHOD@THREADS`` sets the number
        of threads, ``METHOD[NAME=VALUE,NAME=VALUE]`` options; a pair of values is written ``A:B``. Default:
        those of the suites, which is "auto" for most.
    peers : sequence of str, optional
        Names of peers. Default: all. The report lists peers that are not installed as left out.
    instances : sequence of str
        Shell patterns. Only instances whose name matches one of them are measured. Default: all.
    files : sequence of str
        Files to measure instead of the instances of the suites. Maximum flow takes DIMACS files, folders of
        them or glob patterns; bipartite matching Matrix Market files; assignment and transport files of
        costs, in any format that ``preflow assign`` reads; minimum-cost flow DIMACS files.
    baseline : str
        The contestant that ratios and speed-ups are relative to. If it takes no part, preflow's first method.
    threads : int or sequence of int, optional
        CPU threads for those methods of preflow that can use several; the peers use one. With several
        numbers, such a method takes part once with each, as ``preflow:METHOD@THREADS``, and the report shows
        the speed-up over one thread. Default: those of the suites, which is all threads for most.
    time_limit : float
        Seconds for one run. If `memory` is set, each contestant first runs in a process of its own, which is
        stopped at the limit; a peer that takes longer without that is measured once. The limit may be
        ``math.inf``: no run is stopped.
    memory : bool
        Whether to measure the peak memory, which takes one more run of each contestant.
    plots : bool
        Whether to draw the pictures.
    resume : bool
        Keep what ``bench.jsonl`` in the folder `out` has, and measure the rest. An instance is measured again
        if a contestant has no record on it. The machine and the settings must be the same. The file is
        written after every instance, so that a run that was ended at any time can go on.
    one_by_one : bool
        Contestants do not take turns: one after the other makes all its runs, without a warm-up run, and the
        file is written after each. A resumed run measures only contestants that have no record. For runs of
        minutes, for which a warm-up run costs more than it tells.
    budget : float
        Seconds after which no further measurement begins. The report lists what was not measured for that
        reason as left out; a resumed run measures it.

    Returns
    -------
    BenchReport

    Raises
    ------
    InvalidInputError
        A name is unknown, no instance matches, or a number is out of range. To resume: there is no folder, or
        the record in it is of another machine or has other settings.
    BenchmarkFailedError
        Values differ or a method of preflow failed. The report has been written by then.
    MissingDependencyError
        Matplotlib is needed for the pictures and is not installed.
    """
    if out is not None and plots:
        require_matplotlib()
    _check_number("repeats", repeats)
    _check_number("time_limit", time_limit)
    _check_number("budget", budget)
    ends = time.monotonic() + budget
    chosen = _chosen_problems(suites, problems)
    asked = [problem.suites[suite] for problem, suite in _known(chosen, suites)]
    counts: Sequence[int] = ()
    if threads is None:
        counts = [count for count in _union(suite.threads for suite in asked) if count <= usable_cpus()]
    elif not isinstance(threads, int):
        counts, threads = threads, None
    settings = SolverSettings(threads, time_limit)
    entrants: dict[str, list[Contestant]] = {}
    for problem in chosen:
        names = _default_methods(problem, suites) if methods is None else methods
        entrants[problem.name] = _contestants(problem, names, counts, peers, settings)
    turns = list(_turns(chosen, suites, instances, files))
    if not turns:
        raise InvalidInputError(
            f"no instance of {', '.join(suites)} matches {', '.join([*instances, *files]) or 'anything'}"
        )
    competitors = {each.name: each for contestants in entrants.values() for each in contestants}
    absent = {name: why for name, each in competitors.items() if (why := each.missing()) is not None}
    present = [name for name in competitors if name not in absent]
    report = BenchReport(
        datetime.now(UTC).isoformat(timespec="seconds"),
        describe_machine(),
        package_versions(each.distribution for each in competitors.values() if each.is_peer),
        {
            "suites": " ".join(suites),
            "repeats": repeats,
            "threads": " ".join(map(str, counts)) or threads or "all",
            "time_limit": "none" if math.isinf(time_limit) else time_limit,
            **({"one_by_one": True} if one_by_one else {}),
        },
        baseline if baseline in present else next(iter(present), None),
        [_heading(problem, entrants[problem.name]) for problem in chosen],
        [{"what": name, "why": why} for name, why in absent.items()],
        command=command(),
    )
    kept = _recorded(report, out) if resume else {}
    report.records += kept.values()
    try:
        for problem, suite, case in turns:
            contestants = [each for each in entrants[problem.name] if each.name not in absent]
            if not contestants:
                logger.info("%s of %s: no contestant can run on this machine", problem.name, case.name)
                continue
            before = kept.get((problem.name, case.name))
            missing = [each for each in contestants if before is None or before.of(each.name) is None]
            if not missing:
                logger.info("%s of %s: recorded before", problem.name, case.name)
                continue
            if time.monotonic() >= ends:
                report.left_out += _not_begun(case.name, missing, budget)
                continue
            try:
                instance = case.make()
            except PreflowError as error:
                if (entry := {"what": case.name, "why": str(error)}) not in report.left_out:
                    report.left_out.append(entry)
                continue
            logger.info("%s of %s: %s", problem.name, case.name, _sizes(instance.sizes))
            if before is not None and not one_by_one:
                report.records.remove(before)
            for group in [[each] for each in missing] if one_by_one else [contestants]:
                if time.monotonic() >= ends:
                    report.left_out += _not_begun(case.name, group, budget)
                    continue
                record = measure(
                    problem,
                    suite,
                    case.name,
                    instance,
                    group,
                    settings,
                    repeats=repeats,
                    memory=memory,
                    warm_up=not one_by_one,
                    group=case.group,
                    published=case.published,
                )
                logger.info("  %s", _result_line(record, problem.score))
                if one_by_one and before is not None:
                    before.measurements += record.measurements
                else:
                    report.records.append(record)
                    before = record
                if out is not None:
                    write_report(report, Path(out), plots=False)
    finally:
        if out is not None:
            write_report(report, Path(out), plots=plots)
    if report.faults:
        raise BenchmarkFailedError("; ".join(report.faults))
    return report


def _not_begun(case: str, contestants: Sequence[Contestant], budget: float) -> list[dict[str, str]]:
    """Return the entries for measurements that did not begin before the budget was spent."""
    why = f"not begun: the budget of {budget:g} s was spent; --resume measures it"
    return [{"what": f"{each.name} on {case}", "why": why} for each in contestants]


def _recorded(report: BenchReport, out: str | Path | None) -> dict[tuple[str, str], InstanceRecord]:
    """Return the instances that an earlier run of the same kind has recorded, by problem and name."""
    if out is None:
        raise InvalidInputError("resume needs out, the folder of the earlier run")
    path = Path(out) / RECORD
    if not path.exists():
        return {}
    earlier = read_reports([path])
    for what, now, then in [
        *(
            (name, report.machine.get(name), earlier.machine.get(name))
            for name in ("cpu", "usable_cores", "gpus")
        ),
        *(
            (name, value, earlier.settings.get(name))
            for name, value in report.settings.items()
            if name != "suites"
        ),
    ]:
        # Values of the earlier run have been through JSON.
        if json.loads(json.dumps(now)) != then:
            raise InvalidInputError(f"{path} cannot be resumed: its {what} is {then}, not {now}")
    report.date = earlier.date
    return {(record.problem, record.name): record for record in earlier.records}


def _check_number(name: str, value: float) -> None:
    if not value > 0:
        raise InvalidInputError(f"{name} must be positive, got {value}")


def _chosen_problems(suites: Sequence[str], names: Sequence[str] | None) -> list[Problem]:
    for name in names or ():
        if name not in PROBLEMS:
            raise InvalidInputError(f"unknown problem {name!r}: there are {', '.join(PROBLEMS)}")
    known = dict.fromkeys(suite for problem in PROBLEMS.values() for suite in problem.suites)
    for suite in suites:
        if suite not in known:
            raise InvalidInputError(f"unknown suite {suite!r}: there are {', '.join(known)}. {PAPER_SUITES}")
    return [
        problem
        for problem in PROBLEMS.values()
        if (names is None or problem.name in names) and set(suites) & set(problem.suites)
    ]


def _known(problems: Sequence[Problem], suites: Sequence[str]) -> Iterator[tuple[Problem, str]]:
    """Yield each problem with each of the suites that it has."""
    for problem in problems:
        for suite in suites:
            if suite in problem.suites:
                yield problem, suite


def _default_methods(problem: Problem, suites: Sequence[str]) -> list[str]:
    """Return the default methods of the suites that a problem has."""
    return _union(problem.suites[suite].methods for suite in suites if suite in problem.suites)


def _union(parts: Iterable[Sequence[T]]) -> list[T]:
    return list(dict.fromkeys(chain.from_iterable(parts)))


def _contestants(
    problem: Problem,
    methods: Sequence[str],
    counts: Sequence[int],
    peers: Sequence[str] | None,
    settings: SolverSettings,
) -> list[Contestant]:
    names = [f"preflow:{name}" for method in methods for name in _on_threads(problem, method, counts)]
    names += [peer.name for peer in problem.peers] if peers is None else peers
    return [problem.contestant(name, settings) for name in dict.fromkeys(names)]


def _on_threads(problem: Problem, method: str, counts: Sequence[int]) -> list[str]:
    """Return METHOD@THREADS for each number of threads; METHOD without numbers or if it uses one thread."""
    if not counts or "@" in method or not takes_threads(problem.name, method):
        return [method]
    return [f"{method}@{count}" for count in counts]


def _turns(
    problems: Sequence[Problem], suites: Sequence[str], patterns: Sequence[str], files: Sequence[str]
) -> Iterator[tuple[Problem, str, Case]]:
    """Yield the cases to measure, each with its problem and suite."""
    seen: set[tuple[str, str]] = set()
    for problem, suite in _known(problems, suites):
        for case in problem.suites[suite].cases(files):
            matches = not patterns or any(fnmatchcase(case.name, pattern) for pattern in patterns)
            if matches and (problem.name, case.name) not in seen:
                seen.add((problem.name, case.name))
                yield problem, suite, case


def _heading(problem: Problem, contestants: Sequence[Contestant]) -> Heading:
    remarks = {each.name: each.remark for each in contestants}
    return Heading(problem.name, problem.score, problem.score_text, remarks)


def _sizes(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in sizes.items())


def _result_line(record: InstanceRecord, phase: str) -> str:
    parts = []
    for each in record.measurements:
        time = each.median(phase)
        parts.append(f"{each.contestant} {each.status if time is None else f'{time:.3g} s'}")
    return ", ".join(parts)
