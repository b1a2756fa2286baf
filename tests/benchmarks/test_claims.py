"""The numbers on the pages about published methods are those of the recorded results."""

from __future__ import annotations

import json
from statistics import geometric_mean

from benchmarks.reproduce import deveci, wu_he_hong
from preflow.bench.report_files import read_reports
from preflow.bench.runner import InstanceRecord
from tests.support.paths import ROOT

RESULTS = ROOT / "benchmarks" / "results"
PAGE = "\n".join(path.read_text("utf-8") for path in sorted((ROOT / "docs" / "reproducing").glob("*.md")))
NOTEBOOK = (ROOT / "docs" / "notebook" / "2026-11-24-cuda-push-relabel.md").read_text("utf-8")


#: cpu-async with its global relabels at a barrier, which the record has.
AT_A_BARRIER = "multicore-lockfree"


def recorded() -> list[InstanceRecord]:
    return read_reports([RESULTS / "2026-11-22-wu-he-hong-h200.json"]).records


def pairs() -> dict[tuple[str, str], dict[str, float]]:
    return {(row.first, row.second): row.ratios for row in wu_he_hong.ratios(recorded())}


def span(ratios: dict[str, float]) -> str:
    return f"{min(ratios.values()):.2g} to {max(ratios.values()):.2g}"


def test_gpu_methods_of_wu_he_and_hong_beside_the_cpu() -> None:
    found = pairs()
    on_gpu, colored = found["gpu-async", AT_A_BARRIER], found["gpu-color", AT_A_BARRIER]
    assert f"`gpu-async` takes {span(on_gpu)} times as long ({len(on_gpu)} instances)" in PAGE
    assert f"`gpu-color` {span(colored)} times ({len(colored)})" in PAGE
    assert min(on_gpu.values()) > 1 < min(colored.values())
    for method in ("gpu-async", "gpu-color"):
        assert min(found[method, "serial-hi-pr"].values()) > 1
    ours = found["cuda-lockfree", AT_A_BARRIER]
    won = [name for name, ratio in ours.items() if ratio < 1]
    assert won == ["rmf-long 68x544", "rmf-wide 108x108", "rmf-wide 136x136"]
    assert f"on {len(won)} of {len(ours)} instances" in PAGE
    assert f"on every instance that both solved ({len(on_gpu) + len(colored)} pairs)" in NOTEBOOK
    assert f"3 of {len(ours)} instances" in NOTEBOOK


def test_coloring_beside_the_asynchronous_method() -> None:
    both = {name: ratio for name, ratio in pairs()["gpu-color", "gpu-async"].items() if "rmf" in name}
    assert len(both) == 7
    assert f"Here it takes {span(both)} times as long on all seven" in PAGE
    assert f"`cuda-coloring` takes {span(both)} times as long as `cuda-hybrid` on the seven" in NOTEBOOK
    pushes = {}
    for record in recorded():
        if record.name in both:
            first, second = record.of("preflow:cuda-coloring"), record.of("preflow:cuda-hybrid")
            assert first is not None
            assert second is not None
            pushes[record.name] = first.detail["pushes"] / second.detail["pushes"]
    assert f"it makes {span(pushes)} times as many pushes" in PAGE


def test_share_of_the_relabels_of_the_hybrid() -> None:
    shares = []
    for record in recorded():
        measured = record.of("preflow:cuda-hybrid")
        if measured is not None and (seconds := measured.median("solve")):
            shares.append(100 * measured.detail["global_relabel_seconds"] / seconds)
    assert f"{min(shares):.0f} to {max(shares):.0f} % of the solve of `gpu-async`" in PAGE


def test_what_is_missing() -> None:
    over = [
        wu_he_hong.system(each.contestant)
        for record in recorded()
        for each in record.measurements
        if each.status == "over the time limit"
    ]
    assert (over.count("gpu-async"), over.count("gpu-color"), len(over)) == (7, 3, 10)
    assert "seven runs of `gpu-async` and three of `gpu-color`" in PAGE


def test_concurrent_relabel_beside_the_hybrid() -> None:
    runs = json.loads((RESULTS / "2026-11-22-cuda-h200.json").read_text())["runs"]
    seconds: dict[str, list[float]] = {}
    for run in runs:
        if run["run"] == "published":
            seconds.setdefault(run["method"], []).append(run["seconds"])
    concurrent = seconds["cuda-lockfree/relabel='concurrent'&cycles=500"]
    assert "takes {:.2f} and {:.2f} s".format(*concurrent) in PAGE
    assert "the hybrid takes {:.1f} and {:.2f} s".format(*seconds["cuda-hybrid"]) in PAGE


def test_methods_of_deveci() -> None:
    graphs = json.loads((RESULTS / "2026-11-23-deveci28-full-h200.json").read_text())["graphs"]
    ours, first, fastest = "cuda-push-relabel", "serial-push-relabel", []
    ratios: dict[str, list[float]] = {}
    for name in deveci.TABLE:
        found = {method: times and times[1] for method, times in graphs[name]["seconds"].items()}
        fastest.append(min((ours, "cuda-hkdw", "multicore-disjoint-bfs"), key=found.__getitem__))
        for method in (first, "cuda-hkdw"):
            if found[method]:
                ratios.setdefault(method, []).append(found[method] / found[ours])
    assert (fastest.count(ours), fastest.count("cuda-hkdw")) == (0, 27)
    assert "the fastest of the three on none of the 28 graphs" in PAGE
    assert "G-HKDW is on 27, P-DBFS on one" in PAGE
    assert f"G-PR is {geometric_mean(ratios[first]):.1f} times as fast as serial push-relabel" in PAGE
    assert f"the {len(ratios[first])} graphs that the latter finished" in PAGE
    assert f"takes {1 / geometric_mean(ratios['cuda-hkdw']):.1f} times as long as G-HKDW" in PAGE
    published = [min(row.g_pr, row.g_hkdw, row.p_dbfs) == row.g_pr for row in deveci.TABLE.values()]
    assert f"{sum(published)} of 28 by its own table" in PAGE


def test_shares_of_deveci() -> None:
    graphs = json.loads((RESULTS / "2026-11-23-deveci28-full-h200.json").read_text())["graphs"]
    methods = ("cuda-push-relabel", "cuda-hkdw", "multicore-disjoint-bfs")
    fast, close = dict.fromkeys(methods, 0), dict.fromkeys(methods, 0)
    for name in deveci.TABLE:
        found = {method: times and times[1] for method, times in graphs[name]["seconds"].items()}
        least = min(found[method] for method in methods if found[method])
        for method in methods:
            if found[method]:
                serial = found["serial-push-relabel"] or 6.0
                fast[method] += serial >= deveci.FAST * found[method]
                close[method] += found[method] <= deveci.CLOSE * least
    first, second, third = fast.values()
    assert f"on {first} of the 28 graphs here (39 % in the paper), G-HKDW on {second} (21 %)" in PAGE
    assert f"P-DBFS on {third} (14 %)" in PAGE
    assert "are {}, {} and {} (75, 46 and 14 %)".format(*close.values()) in PAGE


def test_gpu_method_of_preflow_beside_one_thread() -> None:
    ours = pairs()["cuda-push-relabel", "serial-hi-pr"].values()
    assert f"{min(ours):.2f} to {max(ours):.2f} times (geometric mean {geometric_mean(ours):.2f})" in NOTEBOOK
