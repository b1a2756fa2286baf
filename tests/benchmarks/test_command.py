"""The command ``python -m benchmarks``."""

from __future__ import annotations

import doctest
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner, Result

from benchmarks import __main__ as command
from benchmarks import problem, profiles
from benchmarks.report_files import RECORD, read_reports
from benchmarks.run import BenchmarkFailedError
from tests.support.paths import ROOT

BRIEFLY = ["--no-peers", "--no-memory", "--no-plots", "--repeats", "1", "--instance", "rmf-w*"]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command.bench, arguments, catch_exceptions=False)


def succeed(*arguments: str) -> str:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def fail(*arguments: str, code: int = 2) -> str:
    """Return the one line on standard error with which the command ends."""
    result = run(*arguments)
    assert result.exit_code == code, result.output
    (line,) = (text for text in result.stderr.splitlines() if not text.startswith("preflow: compiling"))
    return line


def test_reports(tmp_path: Path) -> None:
    result = run("tiny", "--problem", "min_cut", *BRIEFLY)
    assert result.exit_code == 0
    assert result.stdout.startswith("# Benchmark of preflow")
    assert "min_cut of rmf-wide 8x4" in result.stderr
    succeed("tiny", "--problem", "min_cut", *BRIEFLY, "--out", str(tmp_path / "new" / "folder"))
    assert (tmp_path / "new" / "folder" / "bench.md").exists()
    assert "preflow:auto" in succeed("matching-tiny", *BRIEFLY, "--instance", "ladder*")
    several = ["--method", "multicore-fifo", "--threads", "1,2"]
    assert "preflow:multicore-fifo@2" in succeed("tiny", "--problem", "min_cut", *BRIEFLY, *several)


def test_bad_arguments(tmp_path: Path) -> None:
    assert "unknown suite 'huge'" in fail("huge")
    assert "threads must be written" in fail("tiny", "--threads", "two")
    (tmp_path / "file").write_text("")
    assert "cannot be made" in fail("tiny", "--out", str(tmp_path / "file"))


def test_values_that_disagree_end_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    def disagreeing(*arguments: object, **keywords: object) -> None:
        raise BenchmarkFailedError("3 is not 4")

    monkeypatch.setattr(command, "run_bench", disagreeing)
    assert fail("tiny", code=1) == "preflow: error: 3 is not 4"


@pytest.mark.parametrize("module", [problem, profiles])
def test_examples_of_docstrings(module: ModuleType) -> None:
    tried = doctest.testmod(module)
    assert tried.attempted
    assert not tried.failed


def test_runs_from_the_root_of_the_repository() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--help"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("Usage: python -m benchmarks ")
    assert "python -m benchmarks tiny" in done.stdout


def test_records_have_the_command_and_the_commit(tmp_path: Path) -> None:
    arguments = ["tiny", "--problem", "min_cut", *BRIEFLY, "--out"]
    subprocess.run(
        [sys.executable, "-m", "benchmarks", *arguments, tmp_path / "new"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    report = read_reports([tmp_path / "new" / RECORD])
    assert report.command == f"python -m benchmarks {shlex.join(arguments)} new"
    if (ROOT / ".git").exists():
        assert re.fullmatch(r"[0-9a-f]{8,}\+?", report.versions["commit"])
