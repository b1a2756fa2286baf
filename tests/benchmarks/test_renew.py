"""Records that are measured again take the place of those that they renew."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import renew
from benchmarks.records import read_record, write_record
from benchmarks.renew import RENEWALS, Renewal
from benchmarks.tables.table import RESULTS, ROOT
from preflow.errors import InvalidInputError

TINY = Renewal(
    "tiny",
    "cpu",
    1,
    "benchmarks tiny --problem min_cut --no-peers --no-memory --no-plots --repeats 1 --instance 'rmf-w*'",
)


def test_each_renews_one_record() -> None:
    names = [path.stem for path in RESULTS.glob("*.jsonl")]
    for each in RENEWALS:
        assert each.record in names
    assert len({each.record for each in RENEWALS}) == len(RENEWALS)


@pytest.mark.parametrize("each", RENEWALS, ids=lambda each: each.record)
def test_commands_are_there(each: Renewal) -> None:
    module = each.command.split()[0]
    file = ROOT.joinpath(*module.split("."))
    assert file.with_suffix(".py").exists() or (file / "__main__.py").exists()
    assert ("FILE" in each.command) == ("." in module)


def test_a_run_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = Renewal("bad", "cpu", 1, "benchmarks huge")
    assert renew.renew([TINY, bad], tmp_path) == ["bad"]
    assert (tmp_path / "tiny.jsonl").exists()
    assert renew.renew([TINY, bad], tmp_path) == ["bad"]
    assert "1 of 2 records, about 1 minutes" in capsys.readouterr().out


def test_a_run_ends_in_time(tmp_path: Path) -> None:
    long = Renewal("long", "cpu", 5, "benchmarks.scripts.traps FILE")
    assert renew.renew([TINY, long], tmp_path, 1e-3) == ["tiny", "long"]
    assert renew.renew([TINY], tmp_path, 100) == []


def test_records_take_the_place_of_old_ones(tmp_path: Path) -> None:
    results, new = tmp_path / "results", tmp_path / "new"
    results.mkdir()
    new.mkdir()
    for name in ("grids", "regions-grids"):
        write_record(results / f"{name}.jsonl", {}, [{"a": 1}])
    write_record(new / "grids.jsonl", {}, [{"a": 2}])
    assert renew.take(new, results) == ["grids"]
    assert [read_record(results / f"{name}.jsonl").rows for name in ("grids", "regions-grids")] == [
        [{"a": 2}],
        [{"a": 1}],
    ]
    (new / "grids.jsonl").rename(new / "other.jsonl")
    with pytest.raises(InvalidInputError, match="replaces no record"):
        renew.take(new, results)


def test_usage_is_said() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.renew"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "python -m benchmarks.renew cpu FOLDER" in done.stderr
