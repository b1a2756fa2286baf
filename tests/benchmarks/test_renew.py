"""Records that are measured again take the place of those that they renew."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import renew
from benchmarks.records import write_record
from benchmarks.renew import RENEWALS, Renewal
from benchmarks.tables.table import RESULTS, ROOT
from preflow.errors import InvalidInputError

TINY = Renewal(
    "tiny-epyc",
    "cpu",
    1,
    "benchmarks tiny --problem min_cut --no-peers --no-memory --no-plots --repeats 1 --instance 'rmf-w*'",
)


def test_each_renews_one_record() -> None:
    subjects = [path.stem[11:] for path in RESULTS.glob("*.jsonl")]
    for each in RENEWALS:
        assert subjects.count(each.subject) == 1, each.subject


@pytest.mark.parametrize("each", RENEWALS, ids=lambda each: each.subject)
def test_commands_are_there(each: Renewal) -> None:
    module = each.command.split()[0]
    file = ROOT.joinpath(*module.split("."))
    assert file.with_suffix(".py").exists() or (file / "__main__.py").exists()
    assert ("FILE" in each.command) == ("." in module)


def test_a_run_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = Renewal("bad", "cpu", 1, "benchmarks huge")
    assert renew.renew([TINY, bad], tmp_path) == ["bad"]
    assert (tmp_path / "tiny-epyc.jsonl").exists()
    assert renew.renew([TINY, bad], tmp_path) == ["bad"]
    assert "1 of 2 records, about 1 minutes" in capsys.readouterr().out


def test_records_take_the_place_of_old_ones(tmp_path: Path) -> None:
    results, page = tmp_path / "results", tmp_path / "page.md"
    results.mkdir()
    for name in ("2026-11-22-grids-epyc", "2026-11-28-regions-grids-epyc"):
        write_record(results / f"{name}.jsonl", {"date": name[:10]}, [{"a": 1}])
    page.write_text("`2026-11-22-grids-epyc.jsonl`, `2026-11-28-regions-grids-epyc.jsonl`")
    new = tmp_path / "new"
    new.mkdir()
    write_record(new / "grids-epyc.jsonl", {"date": "2026-12-01T10:00:00+00:00"}, [{"a": 2}])
    assert renew.take(new, results, [page]) == ["2026-12-01-grids-epyc"]
    assert page.read_text() == "`2026-12-01-grids-epyc.jsonl`, `2026-11-28-regions-grids-epyc.jsonl`"
    assert sorted(path.stem for path in results.iterdir()) == [
        "2026-11-28-regions-grids-epyc",
        "2026-12-01-grids-epyc",
    ]
    assert '{"a":2}' in (results / "2026-12-01-grids-epyc.jsonl").read_text()
    (new / "grids-epyc.jsonl").rename(new / "other.jsonl")
    with pytest.raises(InvalidInputError, match="replaces no record"):
        renew.take(new, results, [page])


def test_usage_is_said() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.renew"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "python -m benchmarks.renew cpu FOLDER" in done.stderr
