"""The tables of the README, of the performance pages, and of the pages about large and many problems."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from preflow.registry import METHODS

from ..records import TOTAL
from ..report import FORMAT
from ..scale import predict
from .table import (
    Shown,
    Table,
    instances,
    machine,
    number,
    parts_of,
    ratio,
    read,
    times_as_fast,
)

#: Packages and programs as pages name them.
PACKAGES = {
    "ortools": "OR-tools",
    "pymaxflow": "PyMaxflow",
    "scipy": "SciPy",
    "networkx": "NetworkX",
    "pot": "POT",
    "pot-lazy": "POT, lazy",
    "lemon": "LEMON",
    "lemon:network-simplex": "LEMON, simplex",
    "lemon:cost-scaling": "LEMON, cost scaling",
    "lapx-lapjvh": "lapx `lapjvh`",
    "lapx-lapjvr": "lapx `lapjvr`",
    "lapx-lapjvx": "lapx `lapjvx`",
}
#: The most packages that a table shows beside preflow; ratios are to the fastest of all.
MOST_PEERS = 6
#: The contestant that is compared with the others.
OURS = "preflow:auto"


class Measured(NamedTuple):
    """An instance: its name, the method of ``auto`` where it is recorded, seconds by contestant, sizes."""

    instance: str
    method: str
    seconds: dict[str, float]
    sizes: Mapping[str, Any]

    def fastest_peer(self) -> str:
        """Return the other package that took the least time, empty if none was measured."""
        peers = [name for name in self.seconds if not name.startswith("preflow")]
        return min(peers, key=self.seconds.__getitem__, default="")

    def share(self) -> float | None:
        """Return the time of ``auto`` over that of the fastest other package."""
        peer = self.fastest_peer()
        return self.seconds[OURS] / self.seconds[peer] if peer and OURS in self.seconds else None


def name_now(row: Mapping[str, Any]) -> str:
    """Return the name of a row's method, empty if it has none; the record has the one that it had then."""
    method: str = row.get("method", "")
    records = METHODS.get(row.get("problem", ""), ())
    return next((each.name for each in records if method in each.old_names), method)


def measured(name: str, problem: str = "", phase: str = TOTAL) -> list[Measured]:
    """Return the medians of a phase, of a problem if the record has several."""
    header, rows = read(name)
    if header.get("format") == FORMAT:
        found = []
        for record in instances(name, problem):
            medians = {each.contestant: time for each in record.measurements if (time := each.median(phase))}
            found.append(Measured(record.name, "", medians, record.sizes))
        return found
    found = []
    for row in rows:
        if row.get("problem", problem) == problem or not problem:
            if "seconds" in row:
                shown = {contestant: each[phase] for contestant, each in row["seconds"].items()}
            else:
                shown = {OURS if who == "preflow" else who: time for who, time in row[phase].items()}
            found.append(Measured(row["instance"], name_now(row), shown, row))
    return found


def strongest_first(rows: Sequence[Measured]) -> list[str]:
    """Return the other packages, those first that are the fastest on most instances."""
    won = Counter(row.fastest_peer() for row in rows)
    names = dict.fromkeys(name for row in rows for name in row.seconds if not name.startswith("preflow"))
    return sorted(names, key=lambda name: -won[name])


def package(name: str) -> str:
    """Return a package as pages name it."""
    return PACKAGES.get(name, name)


class Comparison(NamedTuple):
    """A row of the README: a problem, and the record that has it."""

    problem: str
    record: str


#: What the speed chart and the table of the README show.
COMPARISONS = (
    Comparison("max_flow", "flow"),
    Comparison("min_cut", "flow-peers"),
    Comparison("grid_cut", "grids"),
    Comparison("bipartite_matching", "matching"),
    Comparison("matching", "general-matching"),
    Comparison("linear_assignment", "assignment"),
    Comparison("min_cost_flow", "min-cost"),
    Comparison("transport", "min-cost"),
)


def shares(comparison: Comparison) -> list[float]:
    """Return the time of ``auto`` over that of the fastest other package, of each instance."""
    rows = measured(comparison.record, comparison.problem)
    return [share for row in rows if (share := row.share()) is not None]


def peers_of(comparison: Comparison) -> str:
    """Return the other packages, each with the number of instances on which it is the fastest."""
    rows = measured(comparison.record, comparison.problem)
    won = Counter(package(row.fastest_peer()).split()[0].rstrip(",") for row in rows if row.fastest_peer())
    return ", ".join(f"{name} {count}" for name, count in won.most_common())


def smallest(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return the size of the smallest instance in words, empty where the record has no sizes."""
    sizes = [(row[unit], unit) for row in rows for unit in ("pairs", "arcs", "edges") if unit in row]
    return "" if not sizes else "{:,} {}".format(*min(sizes))


def machines(record: str) -> str:
    """Return the machines of a record in words."""
    found = [machine(part).split(" beside ")[0] for part in parts_of(read(record).header)]
    return " and ".join(dict.fromkeys(found))


def speed(*_: str) -> Table:
    """Return the median and the worst ratio of each problem, and of many threads and a GPU."""
    rows = []

    def add(problem: str, beside: str, ratios: Sequence[float], where: str, least: str = "") -> None:
        middle, worst = f"{statistics.median(ratios):.2f}", f"{max(ratios):.2f}"
        rows.append([f"`{problem}`", beside, where, str(len(ratios)), least, middle, worst])

    for each in COMPARISONS:
        sizes = [row.sizes for row in measured(each.record, each.problem)]
        add(each.problem, peers_of(each), shares(each), machines(each.record), smallest(sizes))
    threads = [row["call"]["16"] / row["call"]["1"] for row in read("flow-threads").rows]
    where = f"{machines('flow-threads')}, 16 threads"
    add("min_cut", "preflow, 1 thread", threads, where, smallest(read("flow-threads").rows))
    found = measured("flow-gpu", "min_cut")
    gpu = [row.seconds["preflow:cuda-push-relabel"] / row.seconds["preflow:serial-hi-pr"] for row in found]
    where = machine(read("flow-gpu").header).split(" beside ")[1]
    add("min_cut", "`serial-hi-pr`, 1 thread", gpu, f"NVIDIA {where}")
    head = ["problem", "fastest other, on how many instances", "machine", "instances", "smallest"]
    head += ["median", "worst"]
    return Table(head, rows, words=3)


def beside_peers(name: str, problem: str, phase: str = TOTAL, what: str = "instance") -> Table:
    """Return seconds of each contestant on each instance, and preflow's share of the fastest other one's."""
    found = measured(name, problem, phase)
    peers = strongest_first(found)[:MOST_PEERS]
    methods = any(row.method for row in found)
    rows = []
    for row in found:
        times = [number(row.seconds.get(each)) for each in (OURS, *peers)]
        rows.append([row.instance, *([f"`{row.method}`"] if methods else []), *times, ratio(row.share())])
    columns = len(rows[0])
    known = [share for row in found if (share := row.share()) is not None]
    for label, value in (("**median**", statistics.median(known)), ("**worst**", max(known))):
        rows.append([label, *[""] * (columns - 2), ratio(value)])
    head = [what, *(["method"] if methods else []), "preflow, s", *(f"{package(each)}, s" for each in peers)]
    return Table([*head, "preflow / fastest other"], rows, words=2 if methods else 1)


class Threads(NamedTuple):
    """Seconds of an instance on several numbers of threads, and of a serial method if there is one."""

    instance: str
    serial: float | None
    seconds: Mapping[int, float]


def runs_on_threads(name: str, problem: str, method: str, serial: str = "") -> list[Threads]:
    """Return what a run of the suites has of a method."""
    rows = []
    for row in measured(name, problem):
        times = {
            int(count): time
            for contestant, time in row.seconds.items()
            if (count := contestant.removeprefix(f"preflow:{method}@")) != contestant
        }
        rows.append(Threads(row.instance, row.seconds.get(f"preflow:{serial}"), times))
    return rows


def calls_on_threads(name: str) -> list[Threads]:
    """Return whole calls of ``min_cut``."""
    return [
        Threads(row["instance"], None, {int(count): time for count, time in row["call"].items()})
        for row in read(name).rows
    ]


def blossoms_on_threads(name: str, method: str = "blossom") -> list[Threads]:
    """Return ``multicore-blossom`` beside ``serial-blossom``, or two methods of another kind."""
    found: dict[str, dict[tuple[str, int], float]] = {}
    for row in read(name).rows:
        found.setdefault(row["graph"], {})[row["method"], row["threads"]] = row["median"]
    return [
        Threads(
            graph,
            times[f"serial-{method}", 1],
            {count: time for (each, count), time in times.items() if each == f"multicore-{method}"},
        )
        for graph, times in found.items()
    ]


def costs_on_threads(name: str) -> list[Threads]:
    """Return transport and minimum-cost flow beside the serial methods."""
    found: dict[str, dict[int, Mapping[str, list[float]]]] = {}
    for row in read(name).rows:
        found.setdefault(row["instance"], {})[row["threads"]] = row["seconds"]
    return [
        Threads(
            instance,
            statistics.median(by_count[max(by_count)]["serial"]),
            {count: statistics.median(each["multicore"]) for count, each in by_count.items()},
        )
        for instance, by_count in found.items()
    ]


def assignments_on_threads(name: str) -> list[Threads]:
    """Return whole calls of batches and of large matrices."""
    rows = []
    for row in read(name).rows:
        times = {}
        for key, time in row["medians"].items():
            method, _, count = key.rpartition(", ")
            if method.startswith("multicore"):
                times[int(count)] = time
        rows.append(Threads(row["instance"], row["medians"]["auto, 1 thread"], times))
    return rows


def on_threads(rows: Sequence[Threads], what: str, serial: str = "", counts: Sequence[int] = ()) -> Table:
    """Return milliseconds, and how many times as fast the most threads are as the fastest single one."""
    counts = counts or sorted({count for row in rows for count in row.seconds})
    shown = []
    for row in rows:
        times = [row.seconds.get(count) for count in counts]
        single = [time for time in (row.serial, row.seconds.get(1)) if time]
        cells = [number(1000 * time) if time else "" for time in ([row.serial, *times] if serial else times)]
        gain = min(single) / times[-1] if single and times[-1] else None
        shown.append([row.instance, *cells, times_as_fast(gain)])
    first, *others = (f"{count} thread{'s' if count > 1 else ''}, ms" for count in counts)
    return Table([what, *([f"{serial}, ms"] if serial else []), first, *others, "times as fast"], shown)


def flow_gpu(name: str) -> Table:
    """Return ``cuda-push-relabel`` beside one CPU thread of its host."""
    rows = []
    for row in measured(name, "min_cut"):
        gpu, serial = (row.seconds[f"preflow:{each}"] for each in ("cuda-push-relabel", "serial-hi-pr"))
        rows.append([row.instance, number(1000 * gpu), number(1000 * serial), times_as_fast(serial / gpu)])
    return Table(["network", "`cuda-push-relabel`, ms", "`serial-hi-pr`, ms", "times as fast"], rows)


def flow_memory(name: str) -> Table:
    """Return peaks of the memory of a process."""
    found = {(row["call"], row["arrays"]): row["peak_mb"]["all"] for row in read(name).rows}
    rows = []
    for call, shown in (
        ("min_cut", "`min_cut`"),
        ("max_flow without the flow", "`max_flow`, flow not read"),
        ("max_flow", "`max_flow`, flow read"),
        ("max_flow of arcs", "the same by `serial-boykov-kolmogorov`"),
    ):
        rows.append([shown, *(f"{found[call, state]:,}" for state in ("freed", "kept"))])
    return Table(["call", "MB, the caller frees its arrays", "MB, it keeps them"], rows)


def small_calls(name: str) -> Table:
    """Return calls on small instances, and the seconds and instructions of preflow over those of a peer."""
    rows = []
    for row in read(name).rows:
        ratios = [row.get(f"ratio of {title}") for title in ("seconds", "instructions")]
        shown = ["" if ratio is None else f"{ratio:.2f}" for ratio in ratios]
        rows.append([f"`{row['instance']}`", row["peer"], f"{1e6 * row['seconds']['preflow']:,.0f}", *shown])
    return Table(["call", "beside", "preflow, µs", "time", "instructions"], rows)


#: The ways to solve a batch, by their names in a record, and the heads of their columns.
WAYS = {
    "1 threads": "1 thread",
    "4 threads": "4 threads",
    "16 threads": "16 threads",
    "GPU, from and to the host": "GPU",
}


def beside_loop(name: str, ways: Mapping[str, str] = WAYS) -> Table:
    """Return batches beside loops of single calls: how many times as fast they are."""
    rows = []
    for row in read(name).rows:
        times = row["seconds"]
        loop = times["loop of single calls"]
        cells = [times_as_fast(loop / time) if (time := times.get(way)) else "" for way in ways]
        rows.append([row["instance"], f"{row['items']:,}", *cells])
    return Table(["batch", "items", *ways.values()], rows)


def beside_best(name: str, *keys: str) -> Table:
    """Return the time of ``auto`` over that of the best method, for rows that agree in some columns."""
    found: dict[tuple[Any, ...], list[tuple[float, str]]] = {}
    for row in read(name).rows:
        found.setdefault(tuple(row[key] for key in keys), []).append((row["ratio"], row["instance"]))
    rows = []
    for group, ratios in found.items():
        worst, where = max(ratios)
        middle = statistics.median(value for value, _ in ratios)
        cells = (
            f"`{cell}`" if key == "problem" else str(cell) for key, cell in zip(keys, group, strict=True)
        )
        rows.append([*cells, str(len(ratios)), f"{middle:.2f}", f"{worst:.2f}", where])
    return Table([*keys, "instances", "median", "worst", "on"], rows)


def grids_gpu(name: str) -> Table:
    """Return ``cuda-tiled`` beside one CPU thread of its host."""
    rows = []
    for row in read(name).rows:
        gpu, cpu = row["gpu milliseconds"], row["one thread seconds"]
        times = (gpu["whole call"], gpu["solve"], 1000 * min(cpu.values()))
        size = number(row.get("bytes a pixel on the GPU"))
        rows.append([row["instance"], *map(number, times), times_as_fast(row.get("ratio")), size])
    head = ["grid", "whole call, ms", "solve, ms", "one CPU thread, ms", "times as fast", "bytes a pixel"]
    return Table(head, rows)


def methods(name: str, problem: str, names: Sequence[str], unit: str = "s") -> Table:
    """Return the times of some methods of preflow."""
    scale = 1000 if unit == "ms" else 1
    rows = []
    for row in measured(name, problem):
        times = [row.seconds.get(f"preflow:{each}") for each in names]
        rows.append([row.instance, *(number(scale * time) if time else "stopped" for time in times)])
    return Table(["instance", *(f"`{each}`, {unit}" for each in names)], rows)


def locally_dominant(name: str) -> Table:
    """Return the matching of locally dominant edges on a GPU and on CPU threads."""
    columns = {
        "1 threads": "one thread, ms",
        "16 threads": "16 threads, ms",
        "GPU, 32 lanes, without copies of the graph": "GPU, ms",
        "GPU, 32 lanes": "GPU with copies of the graph, ms",
    }
    rows = [
        [row["problem"], f"{row['edges']:,}", *(number(1000 * row["seconds"][key]) for key in columns)]
        for row in read(name).rows
    ]
    return Table(["graph", "edges", *columns.values()], rows)


def assignment_gpu(name: str, columns: Mapping[str, str]) -> Table:
    """Return batches or large matrices on a GPU beside the CPU of its host."""
    rows = []
    for row in read(name).rows:
        times = (row["seconds"].get(key) for key in columns)
        rows.append([row["instance"], *(number(1000 * time) if time else "" for time in times)])
    return Table(["costs", *(f"{label}, ms" for label in columns.values())], rows)


def transports_gpu(name: str) -> Table:
    """Return transports on a GPU."""
    rows = []
    for row in read(name).rows:
        if "items" in row:
            size = f"{row['rows']:,} x {row['rows']:,}"
            times = (row["seconds"][key] for key in ("cuda-transport", "whole call"))
            shape = size if row["items"] == 1 else f"{row['items']} of {size}"
            rows.append([row["problem"], shape, *(number(1000 * time) for time in times)])
    return Table(["transport", "size", "solve, ms", "whole call, ms"], rows, words=2)


def networks_gpu(name: str) -> Table:
    """Return minimum-cost flow on a GPU, beside one CPU thread."""
    rows = []
    for row in read(name).rows:
        if "arcs" in row:
            gpu, serial = map(row["seconds"].get, ("cuda-cost-scaling", "serial-cost-scaling, one run"))
            cells = [f"{row['arcs']:,}", *(number(1000 * time) for time in (gpu, serial))]
            rows.append([row["problem"], *cells, times_as_fast(serial / gpu)])
    head = ["network", "arcs", "whole call, ms", "`serial-cost-scaling`, ms", "times as fast"]
    return Table(head, rows)


# Problems larger than memory, and many problems


def regions_files(name: str) -> Table:
    """Return volumes in regions on files beside ``grid_cut``: memory, CPU seconds, seconds on the clock."""
    found: dict[str, dict[str, Mapping[str, Any]]] = {}
    for row in read(name).rows:
        found.setdefault(f"{row['instance']} {row['side']}^3", {})[row["how"]] = row
    rows = []
    for volume, by_how in found.items():
        whole = by_how["grid_cut"]
        for how, label in (("grid_cut", "`grid_cut`"), ("2", "files, 2 threads"), ("1", "files, 1 thread")):
            one = by_how[how]
            cells = [f"{one['memory'] / 1e9:.2f}", *(f"{one[key]:.0f}" for key in ("cpu_seconds", "seconds"))]
            ratios = [f"{one[key] / whole[key]:.2f}" for key in ("memory", "cpu_seconds", "seconds")]
            together = [f"{cell} ({share})" for cell, share in zip(cells, ratios, strict=True)]
            counts = [str(one.get(key, "")) for key in ("regions", "sweeps", "loads")]
            rows.append([volume, label, *(cells if how == "grid_cut" else together), *counts])
    head = ["volume", "solver", "memory, GB", "CPU seconds", "seconds", "regions", "sweeps", "loads"]
    return Table(head, rows, words=2)


def regions_gpus(name: str) -> Table:
    """Return volumes on one and two GPUs: medians of the seconds of sweeps and of whole calls."""
    found: dict[str, dict[str, list[Mapping[str, float]]]] = {}
    for row in read(name).rows:
        if row["how"] in ("one GPU", "two GPUs"):
            found.setdefault(row["instance"], {}).setdefault(row["how"], []).append(row)
    rows = []
    for volume, by_how in found.items():
        one, two = (
            statistics.median(row["sweeps seconds"] for row in by_how[how]) for how in ("one GPU", "two GPUs")
        )
        calls = [
            statistics.median(row["whole call"] for row in by_how[how]) for how in ("one GPU", "two GPUs")
        ]
        rows.append(
            [volume, f"{one:.3f}", f"{two:.3f}", times_as_fast(one / two), *(f"{call:.2f}" for call in calls)]
        )
    head = [
        "volume",
        "sweeps on one GPU, s",
        "on two, s",
        "times as fast",
        "whole call, one GPU, s",
        "two, s",
    ]
    return Table(head, rows)


def regions_ray(name: str) -> Table:
    """Return a volume in regions in memory and on Ray actors, beside ``multicore-merging``: medians."""
    found: dict[str, dict[int, list[float]]] = {}
    for row in read(name).rows:
        found.setdefault(row["how"], {}).setdefault(row["workers"], []).append(row["seconds"])
    labels = {
        "multicore-merging": "`grid_cut` by `multicore-merging`",
        "memory": "regions in memory",
        "ray": "Ray actors that stay",
        "ray, new actors": "Ray actors started for the solve",
    }
    rows = [
        [label, *(f"{statistics.median(found[how][count]):.1f}" for count in (2, 4))]
        for how, label in labels.items()
    ]
    return Table(["solver", "2 threads or actors, s", "4, s"], rows)


def sweeps(name: str) -> Table:
    """Return the sweeps and the work of volumes in regions."""
    labels = {"ball": "noise around a ball", "vessels": "tree of vessels through all regions"}
    rows = []
    for row in read(name).rows:
        if row["side_of_region"] >= 48 or row["regions"] > 1:
            cells = [str(row[key]) for key in ("side_of_region", "regions", "sweeps")]
            figures = [f"{row[key]:.2g}" for key in ("microseconds_a_pixel", "busiest_over_mean")]
            rows.append([labels.get(row["kind"], row["kind"]), *cells, *figures])
    head = ["volume", "side of a region", "regions", "sweeps", "microseconds a voxel", "busiest over mean"]
    return Table(head, rows)


def scale_check(name: str) -> Table:
    """Return simulated solves beside Ray actors."""
    rows = []
    for row in read(name).rows:
        guessed = row["predicted_discharge"] + row["predicted_calls"]
        sent = f"{row['bytes_sent'] / 1e6:.1f} MB"
        rows.append([str(row["workers"]), f"{guessed:.3f}", f"{row['measured_busiest']:.3f}", sent])
    return Table(["actors", "predicted, s", "measured, s", "bytes between actors"], rows, words=0)


def predicted_volumes() -> Table:
    """Return the predictions for a volume of 10^12 voxels."""
    head = ["volume", "machines", "memory for each", "sweeps", "sent in all", "seconds"]
    return Table(head, [list(row) for row in predict.volumes(1e12)])


def predicted_networks() -> Table:
    """Return the predictions for a network of 10^10 arcs."""
    head = ["arcs cut", "machines", "memory on each", "sent in a sweep by each", "seconds of it"]
    return Table(head, [list(row) for cut in (0.01, 0.5) for row in predict.networks(1e10, cut)], words=0)


def predicted_assignments() -> Table:
    """Return the predictions for an assignment of 10^6 points of 16 dimensions on GPUs."""
    head = ["GPUs", "memory on each", "seconds of costs", "seconds of rounds", "efficiency"]
    return Table(head, [list(row) for row in predict.assignments(1e6, 1e11, 2_000)], words=0)


def batches(name: str) -> Table:
    """Return items a second of a loop, of processes that get and send nothing, and of ``map``."""
    labels = {
        "assignments 100x100": "assignments of 100 x 100 floats, 80 kB each",
        "cuts 96x96": "cuts of 96 x 96 pixels, 147 kB each",
    }
    rows = []
    for row in (row for row in read(name).rows if "workers" in row):
        each = row["items_a_second"]
        cells = [f"{each[key]:,.0f}" for key in ("loop", "alone", "processes")]
        label = labels.get(row["kind"], row["kind"])
        rows.append([label, str(row["workers"]), *cells, f"{row['of_alone']['processes']:.2f}"])
    head = ["items, all different", "processes", "a loop", "alone", '`"processes"`', "of alone"]
    return Table(head, rows)


MATCHING_METHODS = (
    "auto",
    "serial-push-relabel",
    "serial-hopcroft-karp",
    "serial-hkdw",
    "serial-pothen-fan",
)
MATCHING_ON_GPU = (
    "cuda-multi-source-bfs",
    "cuda-hkdw",
    "cuda-hopcroft-karp",
    "cuda-push-relabel",
    "auto",
)
BATCH_GPU = {
    "cuda-batch, costs on the GPU": "`cuda-batch`",
    "serial-shortest-path": "`serial-shortest-path`",
    "scipy": "SciPy",
}
LARGE_GPU = {
    "cuda-shortest-path": "`cuda-shortest-path`",
    "serial-shortest-path": "`serial-shortest-path`",
    "lapx lapjv": "lapx",
    "scipy": "SciPy",
}


def _peers(record: str, problem: str, what: str = "instance") -> Shown:
    return Shown(lambda name: beside_peers(name, problem, what=what), (record,))


def _threads(
    record: str, rows: Callable[[str], list[Threads]], what: str, serial: str = "", counts: Sequence[int] = ()
) -> Shown:
    return Shown(lambda name: on_threads(rows(name), what, serial, counts), (record,))


#: The tables by their names in the pages.
TABLES: Mapping[str, Shown] = MappingProxyType(
    {
        "speed": Shown(
            speed, tuple(dict.fromkeys([*(each.record for each in COMPARISONS), "flow-threads", "flow-gpu"]))
        ),
        "max-flow-peers": _peers("flow", "max_flow"),
        "min-cut-peers": _peers("flow-peers", ""),
        "flow-memory": Shown(flow_memory, ("flow-memory",)),
        "flow-threads": _threads("flow-threads", calls_on_threads, "network"),
        "flow-gpu": Shown(flow_gpu, ("flow-gpu",)),
        "flow-batch": Shown(beside_loop, ("flow-batch",)),
        "small-calls": Shown(small_calls, ("small-calls",)),
        "traps": Shown(lambda name: beside_best(name, "problem", "threads"), ("traps",)),
        "choice": Shown(lambda name: beside_best(name, "families", "form", "threads"), ("choice",)),
        "grid-cut-peers": _peers("grids", "grid_cut", "grid"),
        "grids-threads": _threads(
            "grids-threads",
            lambda name: runs_on_threads(name, "grid_cut", "multicore-merging", "serial-incremental-bfs"),
            "grid",
            "`serial-incremental-bfs`",
        ),
        "grids-gpu": Shown(grids_gpu, ("grids-gpu",)),
        "matching-peers": _peers("matching", "bipartite_matching", "graph"),
        "matching-methods": Shown(
            lambda name: methods(name, "bipartite_matching", MATCHING_METHODS), ("matching",)
        ),
        "matching-threads": _threads(
            "matching-threads", lambda name: runs_on_threads(name, "bipartite_matching", "auto"), "graph"
        ),
        "matching-gpu": Shown(
            lambda name: methods(name, "bipartite_matching", MATCHING_ON_GPU, "ms"), ("matching-gpu",)
        ),
        "general-peers": _peers("general-matching", "", "graph"),
        "general-threads": _threads("general-threads", blossoms_on_threads, "graph", "`serial-blossom`"),
        "weighted-threads": _threads(
            "weighted-threads",
            lambda name: blossoms_on_threads(name, "weighted-blossom"),
            "graph",
            "`serial-weighted-blossom`",
        ),
        "matching-batch": Shown(
            lambda name: beside_loop(name, {**WAYS, "GPU, arrays there": "GPU, matrices there"}),
            ("matching-batch",),
        ),
        "locally-dominant": Shown(locally_dominant, ("locally-dominant",)),
        "assignment-peers": _peers("assignment", "linear_assignment", "costs"),
        "assignment-threads": _threads(
            "assignment-threads", assignments_on_threads, "costs", "`auto`", (4, 8, 16)
        ),
        "assignment-batch-gpu": Shown(
            lambda name: assignment_gpu(name, BATCH_GPU),
            ("assignment-batch",),
        ),
        "assignment-large-gpu": Shown(
            lambda name: assignment_gpu(name, LARGE_GPU),
            ("assignment-large",),
        ),
        "costs-peers": _peers("min-cost", "min_cost_flow", "network"),
        "transport-peers": _peers("min-cost", "transport", "transport"),
        "costs-threads": _threads("min-cost-threads", costs_on_threads, "instance", "serial"),
        "transports-gpu": Shown(transports_gpu, ("min-cost-gpu",)),
        "networks-gpu": Shown(networks_gpu, ("min-cost-gpu",)),
        "regions-files": Shown(regions_files, ("regions-files",)),
        "regions-gpus": Shown(regions_gpus, ("regions-gpus",)),
        "regions-ray": Shown(regions_ray, ("regions-ray",)),
        "sweeps": Shown(sweeps, ("sweeps",)),
        "scale-check": Shown(scale_check, ("scale-check",)),
        "predicted-volumes": Shown(predicted_volumes, ()),
        "predicted-networks": Shown(predicted_networks, ()),
        "predicted-assignments": Shown(predicted_assignments, ()),
        "batches": Shown(batches, ("batches",)),
    }
)
