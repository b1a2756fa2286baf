"""The experiments of Cihan's thesis: suites, and operation counts beside the published ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import machine, reproduce
from benchmarks.records import InstanceRecord, Measurement, read_record
from benchmarks.reproduce import cihan
from benchmarks.run import run_bench
from benchmarks.tables.reproducing import details
from preflow.errors import InvalidInputError

reproduce.register()


def timed(contestant: str, seconds: float, **detail: Any) -> Measurement:
    return Measurement(contestant, seconds=[{"solve": seconds, "total": seconds}], detail=detail)


def test_counts_are_compared_with_the_published_ones() -> None:
    counts = {"pushes": 10, "relabels": 4, "global_relabels": 2}
    more = {"pushes": 20, "relabels": 8, "global_relabels": 4}
    group = "rmf-wide 400x16"
    records = [
        InstanceRecord("max_flow", "", "seed 0", {}, [timed("preflow:F_PRF", 1.0, **counts)], group),
        InstanceRecord("max_flow", "", "seed 1", {}, [timed("preflow:F_PRF", 2.0, **more)], group),
        InstanceRecord(
            "max_flow",
            "",
            "volume",
            {},
            [
                timed("preflow:multicore-fifo@8", 1.0, **counts),
                timed("preflow:auto", 1.0, **counts),
                timed("preflow:HI_PR", 1.0, **counts),
                timed("preflow:serial-hi-pr", 1.0, **counts),
                timed("peer", 1.0),
            ],
            "BL06-camel-med-like",
        ),
    ]
    rows = {row.contestant: row for row in cihan.operations(records)}
    ours = ["preflow:auto", "preflow:HI_PR", "preflow:serial-hi-pr"]
    assert list(rows) == ["preflow:F_PRF", "preflow:multicore-fifo@8", *ours]
    both = rows["preflow:F_PRF"]
    assert (both.group, both.instances, both.table) == (group, 2, "C.1")
    assert both.seconds == (1.5, pytest.approx(0.5**0.5))
    assert [count.mean for count in both.counts] == [15.0, 6.0, 3.0]
    assert both.published == (472.2, 604_329_223, 265_709_785, 104)
    assert rows["preflow:multicore-fifo@8"].table == "D.7"
    assert rows["preflow:multicore-fifo@8"].published.pushes == 240_321_840
    assert rows["preflow:auto"].published is None
    assert (
        rows["preflow:HI_PR"].published
        == rows["preflow:serial-hi-pr"].published
        == cihan.TABLES["BL06-camel-med"].rows["HI_PR"]
    )


def test_cihan_has_the_families_and_the_vision_instances_of_the_thesis() -> None:
    groups = list(dict.fromkeys(case.group.removesuffix("-like") for case in cihan.cases(())))
    assert groups == list(cihan.TABLES)
    assert len(cihan.cases(())) == len(cihan.small_cases(())) == 6 * 3 + 7
    # Table B.1, without the terminals.
    voxels = {name: int(np.prod(shape)) for name, (shape, _) in cihan.VOLUMES.items()}
    assert voxels == {
        "BL06-gargoyle-lrg": 17_203_200,
        "BL06-gargoyle-med": 8_847_360,
        "LB07-bunny-med": 6_311_086,
        "babyface.n6c100": 5_062_500,
        "babyface.n6c10": 5_062_500,
        "BL06-camel-lrg": 18_900_000,
        "BL06-camel-med": 9_676_800,
    }


def test_the_form_as_printed_is_beside_the_code_of_the_thesis() -> None:
    counts = {"pushes": 10, "relabels": 4, "global_relabels": 2}
    measured = timed(f"preflow:{cihan.AS_PRINTED}@8", 1.0, **counts)
    (row,) = cihan.operations([InstanceRecord("max_flow", "", "seed 0", {}, [measured], "rmf-wide 400x16")])
    assert row.published == cihan.TABLES["rmf-wide 400x16"].rows["Cihan"]


def test_cihan_takes_the_users_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "babyface.n6c10.max").write_text("p max 2 1\nn 1 s\nn 2 t\na 1 2 5\n")
    (tmp_path / "other.max").write_text("")
    cases = {case.name: case for case in cihan.cases([str(tmp_path)])}
    with pytest.raises(InvalidInputError, match="has 0 voxels, not 5,062,500 as in table"):
        cases["babyface.n6c10"].make()
    monkeypatch.setattr(cihan, "VOLUMES", {"babyface.n6c10": ((1, 1, 0), 10), "babyface.n6c100": ((2,), 1)})
    again = {case.name: case for case in cihan.cases([str(tmp_path)])}
    with pytest.raises(InvalidInputError, match="has 1 arcs, not 30,386,370 as in table"):
        again["babyface.n6c10"].make()
    monkeypatch.setattr(cihan, "VOLUME_ARCS", {"babyface.n6c10": 1})
    again = {case.name: case for case in cihan.cases([str(tmp_path)])}
    assert again["babyface.n6c10"].make().num_vertices == 2
    assert "babyface.n6c10-like" not in cases
    assert "babyface.n6c100-like" in cases
    assert "other" not in cases


def test_volume_that_does_not_fit_is_left_out_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "memory_bytes", lambda: 2**30)
    pattern = ["BL06-camel-lrg*"]
    report = run_bench(["cihan"], problems=["max_flow"], instances=pattern, memory=False, repeats=1, peers=())
    assert report.left_out == [{"what": "BL06-camel-lrg-like", "why": "takes about 11 GiB of memory"}]


def test_report(tmp_path: Path) -> None:
    run_bench(
        ["cihan-small"],
        out=tmp_path,
        problems=["max_flow"],
        repeats=1,
        methods=["serial-fifo"],
        peers=(),
        instances=["rmf-wide* seed [01]"],
        memory=False,
        plots=False,
    )
    text = (tmp_path / "bench.md").read_text()
    assert "Operations, means ± standard deviations over the seeds" in text
    assert "| published pushes |" in text
    assert "| rmf-wide 32x8 | preflow:serial-fifo |" in text


def test_a_volume_is_no_other_whose_name_begins_alike() -> None:
    both = [
        InstanceRecord("min_cut", "", f"{group}-like", {}, [timed("preflow:F_PRF", 1.0)], f"{group}-like")
        for group in ("babyface.n6c100", "babyface.n6c10")
    ]
    assert len(details(both, "babyface.n6c10", ["F_PRF"])) == 1


def test_reading_is_measured_beside_solving(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cihan, "READ_SMALL", "64x4x8")
    options = ["--small", "--repeats", "2", "--method", "H_PRF", "--out", str(tmp_path)]
    cihan.show_reading(options)
    rows = read_record(tmp_path / "rows.jsonl").rows
    assert [(row["run"], row["method"]) for row in rows] == [(0, "H_PRF"), (1, "H_PRF")]
    assert all(row[part] > 0 for row in rows for part in cihan.READ_PARTS)
    assert "| H_PRF |" in capsys.readouterr().out
    cihan.show_reading([*options, "--resume"])
    assert read_record(tmp_path / "rows.jsonl").rows == rows
    measured = [{"method": "x", "read": 6.0, "build": 3.0, "solve": solve} for solve in (1.0, 0.5, 4.0)]
    assert cihan.reading_shares(measured) == [["x", "6.00", "3.00", "1.00", "60", "90"]]
