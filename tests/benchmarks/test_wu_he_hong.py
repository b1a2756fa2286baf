"""The experiments of Wu, He and Hong: their families, and pictures by size."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.records import InstanceRecord, Measurement
from benchmarks.reproduce import colours, wu_he_hong


def timed(contestant: str, seconds: float) -> Measurement:
    return Measurement(contestant, seconds=[{"solve": seconds, "total": seconds}])


def test_seconds_by_size_of_families_of_several_sizes(tmp_path: Path) -> None:
    records = [
        InstanceRecord("max_flow", "", f"{family} {size}", {"arcs": arcs}, [timed("preflow:x", arcs)])
        for family, size, arcs in (("a b", "1", 3), ("a b", "2", 5), ("a b", "4", 9), ("c", "1", 3))
    ]
    table = wu_he_hong.by_size(records, "total")
    assert table == {"a b": {"preflow:x": {3: 3.0, 5: 5.0, 9: 9.0}}}
    (path,) = wu_he_hong.draw(records, tmp_path)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert wu_he_hong.draw(records[:2], tmp_path) == []


def test_wu_he_hong_has_the_papers_families_and_sizes() -> None:
    names = [case.name for case in wu_he_hong.cases(())]
    assert len(names) == 3 + 3 + 3 + 5 + 5
    assert names[0] == "ac-dense 2000"
    assert names[-1] == "rmf-wide 136x136"
    instance = next(case for case in wu_he_hong.cases(()) if case.name == "rlg-wide 512x512").make()
    assert (instance.num_vertices, instance.num_arcs) == (262_146, 785_920)


def test_ratios_of_the_papers_systems() -> None:
    records = [
        InstanceRecord(
            "max_flow",
            "",
            name,
            {"arcs": 1},
            [timed("preflow:cpu-async@4", 1.0), timed("preflow:gpu-async", slow), timed("preflow:auto", 1.0)],
        )
        for name, slow in (("a 1", 2.0), ("a 2", 0.5))
    ]
    records[1].measurements.append(Measurement("preflow:gpu-color", status="over the time limit"))
    (row,) = wu_he_hong.ratios(records)
    assert row == ("gpu-async", "cpu-async@4", {"a 1": 2.0, "a 2": 0.5}, "3 to 8 times as fast")
    single, together = wu_he_hong.tables(records)
    assert single.rows == [["a 1", "2"], ["a 2", "0.5"]]
    assert together.rows == [["gpu-async / cpu-async@4", "2", "0.5 to 2", "1", "1", "3 to 8 times as fast"]]
    assert wu_he_hong.tables(records[:1])[0].rows == [["a 1", "2"]]


def test_weighted_colours_have_a_name_of_their_own() -> None:
    times = [
        timed(f"preflow:{method}", seconds)
        for method, seconds in ((wu_he_hong.WEIGHTED, 3.0), ("gpu-color", 2.0))
    ]
    record = InstanceRecord("max_flow", "", "a 1", {"arcs": 1}, times)
    (row,) = wu_he_hong.ratios([record])
    assert row == ("gpu-color, weighted", "gpu-color", {"a 1": 1.5}, "")


def test_colours_of_the_networks(capsys: pytest.CaptureFixture[str]) -> None:
    sizes = {"rmf-wide": ("6x6",), "ac-dense": ("1030",)}
    colours.show({}, sizes, ["--small", "--seeds", "2", "--repeats", "2"])
    lines = capsys.readouterr().out.splitlines()
    (first, second), dense = lines[4:6], lines[-2:]
    assert first.split(" | ")[:2] == ["| rmf-wide 6x6", "214"]
    assert second.startswith("| rmf-wide 6x6 seed 1 |")
    assert all("ac-dense 1030 is left out: a vertex has 1,027 neighbours" in line for line in dense)
    row = colours.color_instance("rmf-wide", "6x6", 0, 1)
    # Every vertex has another colour on each of its arcs, and no colour more pairs than half the vertices.
    assert 5 <= int(row["colours"]) <= 9
    assert int(row["smallest"]) <= int(row["largest"]) <= int(row["vertices"]) // 2
