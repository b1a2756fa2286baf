"""The numbers on the pages about published methods are those of the recorded results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import geometric_mean, mean, median
from typing import Any

from benchmarks.records import InstanceRecord, read_record
from benchmarks.report_files import read_reports
from benchmarks.reproduce import cihan, deveci, wu_he_hong
from benchmarks.reproduce.activity import RECORDED
from benchmarks.scaling import speed_ups
from benchmarks.tables.reproducing import CODES, FAMILIES
from tests.support.paths import ROOT

RESULTS = ROOT / "benchmarks" / "results"
PAGE = "\n".join(path.read_text("utf-8") for path in sorted((ROOT / "docs" / "reproducing").glob("*.md")))
NOTEBOOK = (ROOT / "docs" / "notebook" / "2026-11-24-cuda-push-relabel.md").read_text("utf-8")


#: cpu-async with its global relabels at a barrier, which the record has.
AT_A_BARRIER = "multicore-lockfree"


def recorded() -> list[InstanceRecord]:
    return read_reports([RESULTS / "2026-11-22-wu-he-hong-h200.jsonl"]).records


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
    runs = read_record(RESULTS / "2026-11-22-cuda-h200.jsonl").rows
    seconds: dict[str, list[float]] = {}
    for run in runs:
        if run["run"] == "published":
            seconds.setdefault(run["method"], []).append(run["seconds"])
    concurrent = seconds["cuda-lockfree/relabel='concurrent'&cycles=500"]
    assert "takes {:.2f} and {:.2f} s".format(*concurrent) in PAGE
    assert "the hybrid takes {:.1f} and {:.2f} s".format(*seconds["cuda-hybrid"]) in PAGE


def seconds_of(record: InstanceRecord, method: str, part: str = "total") -> float | None:
    measured = record.of(f"preflow:{method}")
    return measured.median(part) if measured is not None else None


def test_speed_of_the_gpu_beside_four_threads() -> None:
    gpus = read_reports([RESULTS / "2026-11-28-wu-he-hong-gpus-h200.jsonl"]).records
    threads = {
        each.name: each for each in read_reports([RESULTS / "2026-11-28-cpu-async-full-xeon.jsonl"]).records
    }
    faster, longer = [], []
    weighted: dict[str, list[float]] = {"rlg": [], "rmf": []}
    for record in gpus:
        on_gpu, colored = seconds_of(record, "cuda-hybrid"), seconds_of(record, "cuda-coloring")
        if not on_gpu or not colored:
            continue
        on_four = seconds_of(threads[record.name], "multicore-lockfree-arg@4")
        with_weights = seconds_of(record, "cuda-coloring[weighted=True]")
        assert on_four
        assert with_weights
        faster.append(on_four / on_gpu)
        longer.append(colored / on_gpu)
        weighted[record.name[:3]].append(with_weights / colored)
    at_least = sum(ratio >= 3 for ratio in faster)
    assert f"{min(faster):.1f} to {max(faster):.1f} times as fast on all rmf and rlg networks" in PAGE
    assert f"at least 3 times on {at_least} of the {len(faster)}" in PAGE
    assert f"{min(longer):.1f} to {max(longer):.1f} times as long as `gpu-async` on every network" in PAGE
    assert "{:.2f} to {:.2f} of the time on rlg".format(min(weighted["rlg"]), max(weighted["rlg"])) in PAGE
    assert "{:.2f} to {:.2g} on rmf".format(min(weighted["rmf"]), max(weighted["rmf"])) in PAGE


def test_first_relabel_and_filter_of_deveci() -> None:
    files = ("deveci-first-relabel-later-h200", "deveci-first-relabel-h200")
    first, without = deveci.FIXED, deveci.FIXED.replace("]", ",initial_relabel=False]")
    ratios, whole, relabels = {}, [], {}
    for name in files:
        for record in read_reports([RESULTS / f"2026-11-28-{name}.jsonl"]).records:
            here, there = seconds_of(record, without, "search"), seconds_of(record, first, "search")
            # The run with a first relabel compiled the kernel.
            if not here or not there or record.name in ratios or record.name == "amazon0505-like":
                continue
            ratios[record.name] = here / there
            relabels[record.name] = [
                record.of(f"preflow:{method}").detail["global_relabels"] for method in (without, first)
            ]
            whole.append(
                (seconds_of(record, without, "solve") or 0) / (seconds_of(record, first, "solve") or 1)
            )
    less = sum(ratio < 1 for ratio in ratios.values())
    assert f"On the {len(ratios)} graphs that were compared without compiling" in PAGE
    assert f"takes {geometric_mean(ratios.values()):.2f} times as long without it" in PAGE
    assert f"less on {less}. " in PAGE
    assert f"included the mean is {geometric_mean(whole):.2f}" in PAGE
    delaunay = [ratio for name, ratio in ratios.items() if name.startswith("delaunay")]
    assert f"{min(delaunay):.1f} to {max(delaunay):.1f} times as long on the four Delaunay graphs" in PAGE
    meshes = ("hugetrace-00000-like", "hugebubbles-00000-like", "hugetrace-00020-like")
    assert "{:.0f}, {:.0f} and {:.0f} times on hugetrace-00000".format(*map(ratios.get, meshes)) in PAGE
    more, fewer = zip(*(relabels[name] for name in meshes), strict=True)
    assert "{}, {} and {} global relabels instead of".format(*more) in PAGE
    assert "instead of {}, {} and {}.".format(*fewer) in PAGE
    (hard,) = [record for record in of_day(files[0]) if record.name == "Hamrle3-like"]
    measured = hard.of(f"preflow:{without}")
    assert measured is not None
    assert seconds_of(hard, first, "search") is None
    counted = measured.detail["global_relabels"]
    assert f"it took {measured.median('search'):.0f} s and {counted} global relabels" in PAGE
    kept, most, slow = 0, [0.0] * 3, [0] * 3
    for record in read_reports([RESULTS / "2026-11-28-deveci-filter-xeon.jsonl"]).records:
        found = [seconds_of(record, method, "search") or 0.0 for method in deveci.FILTER_METHODS]
        kept += max(found) >= deveci.LEAST_SECONDS
        most = [max(pair) for pair in zip(most, found, strict=True)]
        slow = [count + (each >= deveci.LEAST_SECONDS) for count, each in zip(slow, found, strict=True)]
    assert f"{kept} are kept" in PAGE
    assert "up to {:.0f}, {:.0f} and {:.0f} s, and at least".format(*most) in PAGE
    assert "a second on {}, {} and {} graphs".format(*slow) in PAGE


def test_methods_of_deveci() -> None:
    graphs = {row["name"]: row for row in read_record(RESULTS / "2026-11-23-deveci28-full-h200.jsonl").rows}
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
    graphs = {row["name"]: row for row in read_record(RESULTS / "2026-11-23-deveci28-full-h200.jsonl").rows}
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


def of_day(*names: str) -> list[InstanceRecord]:
    """Return the instances of records of 2026-11-28; the first that has a measurement counts."""
    return read_reports([RESULTS / f"2026-11-28-{name}.jsonl" for name in names]).records


def test_cihan_on_two_threads() -> None:
    (volume,) = [each for each in of_day("cihan-8-threads-xeon64") if each.name == "babyface.n6c10-like"]
    on_two = seconds_of(volume, f"{cihan.AS_PRINTED}@2", "solve")
    assert f"as printed on two threads take {on_two:.1f} s" in PAGE


def test_active_vertices_of_cihan() -> None:
    (record,) = [each for each in of_day("cihan-active-xeon64") if each.name.startswith("rlg-long")]
    at_once = []
    for name in (f"serial-fifo[{RECORDED}]", f"multicore-fifo[{RECORDED}]@8"):
        measured = record.of(f"preflow:{name}")
        assert measured is not None
        at_once.append(record.sizes["vertices"] / mean(measured.detail["active"]))
    assert "one of {:.0f} in the mean in F_PRF, and one of {:,.0f} on 8 threads".format(*at_once) in PAGE


def test_related_systems_of_cihan() -> None:
    records = of_day("cihan-related-xeon64")
    assert len(records) == len(cihan.TABLES)
    cihan_alone: dict[str, dict[str, float]] = {}
    gaps: dict[str, float | None] = {}
    for record in records:
        ours = seconds_of(record, "multicore-fifo@16", "solve")
        assert ours is not None
        for name in ("pulses", "multicore-anderson-setubal", "multicore-highest-label-gap"):
            if seconds := seconds_of(record, f"{name}@16", "solve"):
                cihan_alone.setdefault(name, {})[record.name] = seconds / ours
        with_gaps = seconds_of(record, "multicore-highest-label-gap@16", "solve")
        without = seconds_of(record, "multicore-highest-label-gap[gap=False]@16", "solve")
        gaps[record.name] = with_gaps and without and without / with_gaps
    slower = cihan_alone["pulses"].values(), cihan_alone["multicore-anderson-setubal"].values()
    assert f"pulses take {min(slower[0]):.1f} to {max(slower[0]):.1f} times as long" in PAGE
    assert f"Setubal's {min(slower[1]):.1f} to {max(slower[1]):.1f} times" in PAGE
    ahead = sorted(1 / ratio for ratio in cihan_alone["multicore-highest-label-gap"].values() if ratio < 1)
    assert (
        "({3:.1f} times as fast), rmf-wide ({2:.1f}), the dense network ({1:.1f}) and".format(*ahead) in PAGE
    )
    assert f"line-moderate ({ahead[0]:.1f})" in PAGE
    assert sum(ratio is None for ratio in gaps.values()) == 7
    assert f"on rlg-wide it takes {gaps['rlg-wide 32768x64 seed 0']:.0f} times as long" in PAGE


def test_fastest_methods_of_deveci() -> None:
    fastest = []
    for record in of_day("deveci-counts-full-h200"):
        found = [record.of(f"preflow:{name}") for name in deveci.COUNTED]
        times = {each.contestant: each.median("search") or 0.0 for each in found if each}
        fastest.append(min(times, key=times.__getitem__).removeprefix("preflow:"))
    assert [fastest.count(name) for name in deveci.COUNTED] == [1, 26, 1]
    assert "G-HKDW is the fastest on 26 graphs" in PAGE


def test_steep_arcs_on_a_gpu() -> None:
    seconds, pushes = [], []
    for record in of_day("wu-he-hong-steep-arcs-h200"):
        before, after = (
            record.of(f"preflow:cuda-hybrid{options}") for options in ("", "[cancel_steep_arcs=True]")
        )
        assert before is not None
        assert after is not None
        assert before.value == after.value
        seconds.append((after.median("total") or 0) / (before.median("total") or 1))
        pushes.append(after.detail["pushes"] / before.detail["pushes"])
    assert len(seconds) == 19
    assert f"{min(seconds):.2f} to {max(seconds):.2f} of the time of the kernel that leaves" in PAGE
    assert f"{geometric_mean(seconds):.2f} in the geometric mean" in PAGE
    assert f"and {min(pushes):.2f} to {max(pushes):.2f} of the pushes" in PAGE


def test_systems_of_lupinska_on_networks() -> None:
    pushes = []
    for record in of_day("lupinska-networks-h200"):
        hybrid, ours = (record.of(f"preflow:{name}") for name in ("cuda-hybrid", "cuda-lockfree"))
        assert hybrid is not None
        assert ours is not None
        pushes.append(hybrid.detail["pushes"] / ours.detail["pushes"])
    assert f"The hybrid makes {min(pushes):.0f} to {max(pushes):.0f} times the pushes" in PAGE


def hours(
    names: tuple[str, ...], counts: Callable[[str, str], bool] = lambda _instance, _name: True
) -> float:
    """Return the hours of one run of each method of records that counts."""
    found: dict[tuple[str, str], float] = {}
    for record in of_day(*names):
        for each in record.measurements:
            method = each.contestant.removeprefix("preflow:")
            method = next((codes[-1] for code, codes in CODES.items() if code == method), method)
            if each.seconds and counts(record.name, method):
                found.setdefault((record.name, method), each.median("total") or 0.0)
    return sum(found.values()) / 3600


def test_stated_hours() -> None:
    forms = ("multicore-fifo", cihan.AS_PRINTED)
    several = "seed 1", "seed 2"
    threads = (
        *("cihan-hi-xeon64", "cihan-rest-xeon", "cihan-serial-rmf-wide-xeon", "cihan-families-threads-xeon"),
        *("cihan-volumes-xeon", "cihan-8-threads-xeon64", "cihan-serial-epyc", "cihan-volumes-epyc"),
    )
    on_eight = {f"{form}@{count}" for form in forms for count in (1, 8)}
    tables = hours(
        threads,
        lambda name, method: not name.endswith(several) and (method in on_eight or "@" not in method),
    )
    speed_up = hours(threads, lambda name, method: not name.endswith(several) and "@" in method)
    active = hours(("cihan-active-xeon64",)) + hours(
        ("cihan-rest-xeon",),
        lambda name, method: "rmf-wide" in name and method in ("serial-fifo", "multicore-fifo@1"),
    )
    for part, sum_of_part in (
        ("`cihan`, tables C.1 to D.7, without `auto`", tables),
        ("`cihan speed-up`, five numbers of threads", speed_up),
        ("`cihan active`", active),
        ("`cihan related --threads 16 --time-limit 20`", hours(("cihan-related-xeon64",))),
    ):
        assert f"| {part} | {sum_of_part:.1f} |" in PAGE
    shown = (f"{each:.1f}" for each in (tables, speed_up, active, hours(("cihan-related-xeon64",))))
    stated = "{} hours for the tables, {} for speed-up, {} for active, {} for related".format(*shown)
    assert stated in cihan.PAPER.full
    parts = ("first-relabel-h200", "first-relabel-later-h200", "filter-xeon", "periods-full-xeon64")
    deveci_hours = hours(tuple(f"deveci-{part}" for part in (*parts, "counts-full-h200")))
    assert f"| `deveci28 filter k-sweep first-relabel counts` | {deveci_hours:.1f} |" in PAGE


def test_speed_ups_of_cihan() -> None:
    curves = speed_ups(
        of_day("cihan-rest-xeon", "cihan-families-threads-xeon", "cihan-volumes-xeon"), "solve"
    )
    assert len(curves) == len(cihan.TABLES)
    spans = []
    for form in ("multicore-fifo", cihan.AS_PRINTED):
        for of_families in (True, False):
            found = [curve[form][8] for group, curve in curves.items() if (group in FAMILIES) == of_families]
            spans += [f"{min(found):.1f}", f"{max(found):.1f}"]
    stated = "{} to {} times as fast as one on the families and {} to {} times on volumes".format(*spans[:4])
    assert stated in PAGE
    assert "in the printed form {} to {} and {} to {} times".format(*spans[4:]) in PAGE


REGIONS = (ROOT / "docs" / "problems" / "regions.md").read_text("utf-8")


def test_regions_on_files_of_large_volumes() -> None:
    rows = read_record(RESULTS / "2026-11-28-regions-files-1024-xeon64.jsonl").rows
    found = {(row["instance"], row["side"], row["how"]): row for row in rows}
    volumes = ("brain", 512), ("brain", 1024), ("ball", 1024)
    alone = [found[*volume, "grid_cut"] for volume in volumes]
    for unit, name, shown, ratio in (
        (1e9, "memory", "{:.2f} GB", ".2f"),
        (1.0, "cpu_seconds", "{:.0f}", ".2f"),
        (1.0, "seconds", "{:.0f}", ".1f"),
    ):
        assert f" | {' | '.join(shown.format(row[name] / unit) for row in alone)} |" in REGIONS
        for how, text in (("2", "two threads"), ("1", "one thread")):
            cells = [
                f"{shown.format(row[name] / unit)} ({row[name] / base[name]:{ratio}})"
                for volume, base in zip(volumes, alone, strict=True)
                for row in (found[*volume, how],)
            ]
            assert f"| on files, {text} | {' | '.join(cells)} |" in REGIONS
    for how in "21":
        counts = [found[*volume, how] for volume in volumes]
        cells = [f"{row['regions']}, {row['sweeps']}, {row['loads']}" for row in counts]
        assert f" | {' | '.join(cells)} |" in REGIONS
    for volume in volumes:
        answers = {
            (found[*volume, how]["value"], found[*volume, how]["labels"]) for how in ("grid_cut", "1", "2")
        }
        assert len(answers) == 1


def test_two_gpus_in_three_later_runs() -> None:
    rows = read_record(RESULTS / "2026-11-28-regions-gpus-later-h200.jsonl").rows
    volumes = {"noisy ball": 15, "noisy ball, little contrast": 5, "noisy ball, least contrast": 3}
    for name, contrast in volumes.items():
        one, two = (
            median(row["sweeps seconds"] for row in rows if (row["instance"], row["how"]) == (name, how))
            for how in ("one GPU", "two GPUs")
        )
        times = f" ({one / two:.2f}" + (" times as fast)" if contrast == 15 else ")")
        assert f"{one:.3f} and {two:.3f} s at contrast {contrast}{times}" in REGIONS
    spirals = [
        [
            median(
                row["seconds of sweeps"]
                for row in rows
                if (row["instance"], row.get("gpus")) == (f"spiral {side}", gpus)
            )
            for side in (500, 1040, 2080)
        ]
        for gpus in (1, 2)
    ]
    assert "{:.2f}, {:.2f} and {:.2f} s on one (the same record)".format(*spirals[0]) in REGIONS
    assert "{:.2f} and {:.2f} s on two GPUs, ".format(*spirals[1][1:]) in REGIONS


def test_nanoseconds_of_regions_on_files() -> None:
    notebook = (ROOT / "docs" / "notebook" / "2026-11-28-regions.md").read_text("utf-8")
    quiet = read_record(RESULTS / "2026-11-28-regions-files-quiet-epyc.jsonl").rows
    large = read_record(RESULTS / "2026-11-28-regions-files-1024-xeon64.jsonl").rows

    def of_a_voxel(row: Mapping[str, Any], side: int) -> float:
        loads = row["loads"] / row["regions"] if "loads" in row else 1
        return 1e9 * row["cpu_seconds"] / loads / side**3

    on_xeon = {(row["instance"], row["how"]): of_a_voxel(row, 1024) for row in large if row["side"] == 1024}
    on_epyc = {
        how: sorted(of_a_voxel(row, 256) for row in quiet if (row["volume"], row["how"]) == ("brain", how))
        for how in ("grid_cut", "1")
    }
    loads = f"{on_xeon['brain', '1']:.0f} ns a voxel"
    assert loads in REGIONS
    assert "({:.0f} and {:.0f}), but `grid_cut` ".format(*on_epyc["1"]) in REGIONS
    assert f"`grid_cut` {on_xeon['brain', 'grid_cut']:.0f} ns where the EPYC takes" in REGIONS
    assert "the EPYC takes {:.0f} and {:.0f}.".format(*on_epyc["grid_cut"]) in REGIONS
    assert f"A load on one thread takes {loads} of the brain" in notebook
    ball = on_xeon["ball", "grid_cut"], on_xeon["ball", "1"]
    assert "takes {:.0f} ns a voxel of the ball, where loads take {:.0f}.".format(*ball) in notebook


MAX_FLOW = (ROOT / "docs" / "performance" / "max_flow.md").read_text("utf-8")


def test_peak_memory_of_a_grid_as_a_network() -> None:
    rows = read_record(RESULTS / "2026-11-28-flow-memory-grids-epyc.jsonl").rows
    (one,) = [row["peak_mb"] for row in rows if (row["call"], row["arrays"]) == ("min_cut", "freed")]
    assert one["all"] == one["network"]
    caller = one["arrays"] - one["start"]
    assert f"the libraries ({one['start']}), the arrays of the caller ({caller})" in MAX_FLOW


def test_maximum_flows_of_grids() -> None:
    rows = read_record(RESULTS / "2026-11-28-max-flow-as-grids-epyc.jsonl").rows
    ratios = sorted(row["as_grid_ms"] / row["of_arcs_ms"] for row in rows if row["clear"])
    span = f"{ratios[0]:.2f} to {ratios[-1]:.2f} of the CPU time"
    said = f"{span} with the flow read ({len(ratios)} networks, median"
    assert f"{said} {median(ratios):.2f}" in MAX_FLOW


def test_share_of_the_choice_of_auto() -> None:
    path = RESULTS / "2026-11-29-flow-features-xeon.jsonl"
    rows = read_record(path).rows
    decisions = ("choose", "worth_a_contraction", "worth_a_search_for_a_grid")
    spent = [sum(row["seconds"][name] for name in decisions) for row in rows]
    shares = [row["share"] for row in rows]
    calls = [each / row["seconds"]["call"] for each, row in zip(spent, rows, strict=True)]
    assert max(calls) < 0.02
    assert (
        f"On {len(rows)} networks it takes {1e3 * median(spent):.2f} ms in the median, "
        f"{1e3 * max(spent):.2f} at most; that is {100 * median(calls):.1f}% of the call in the median, "
        f"and {100 * max(calls):.1f}% at most"
    ) in MAX_FLOW
    assert f"Of the solve alone it is {100 * median(shares):.1f}% in the median" in MAX_FLOW
    long = [row["share"] for row in rows if row["seconds"]["solve"] >= 0.003]
    met = (
        f"All {len(long)} networks whose solve takes 3 ms or more are below 2% of it, "
        f"with {100 * max(long):.1f}% at most"
    )
    late = [row["share"] for row in rows if row["share"] > 0.02]
    assert max(long) < 0.02
    assert f"{met}, and {len(late)} of the other {len(rows) - len(long)} are not" in MAX_FLOW
    graphs = [
        100 * row["share"]
        for row in rows
        if row["instance"].endswith(", 1 terminals") and "RMAT" in row["instance"]
    ]
    assert f"({graphs[0]:.1f} and {graphs[1]:.1f}%)" in MAX_FLOW


def test_auto_on_traps() -> None:
    rows = read_record(RESULTS / "2026-11-28-traps-rules-quiet-epyc.jsonl").rows
    one, two = ([row["ratio"] for row in rows if row["threads"] == threads] for threads in (1, 2))
    assert len(one) == len(two) == 35
    said = f"{median(one):.2f} in the median on one thread, by CPU time, and {max(one):.2f} at most"
    assert said in MAX_FLOW
    assert f"by wall-clock time, it is {median(two):.2f} in the median" in MAX_FLOW
    above = [row for row in rows if row["ratio"] > 2]
    assert all("board" in row["instance"] and row["threads"] == 2 for row in above)
    assert (
        "{:.2f} without 5 % of the squares, {:.2f} without 30 %".format(*(row["ratio"] for row in above))
        in MAX_FLOW
    )
