"""The tables of the README and of the performance pages."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from ..records import TOTAL
from .table import Table, instances, number, ratio, read, seconds, times_as_fast


def shares(name: str, problem: str, phase: str = TOTAL) -> list[float]:
    """Return the time of ``auto`` over that of the fastest other package, of each instance."""
    found = []
    for record in instances(name, problem):
        times = {each.contestant: each.median(phase) for each in record.measurements}
        others = [time for peer, time in times.items() if time and not peer.startswith("preflow")]
        if (ours := times.get("preflow:auto")) and others:
            found.append(ours / min(others))
    return found


def plain(name: str) -> str:
    """Return the name of an instance without the colon of earlier records."""
    return name.replace(":", " ").replace("ac-dense", "acyclic dense").replace("-2d", "").replace("-3d", "")


class Comparison(NamedTuple):
    """A row of the README: a run, and the packages that took part in it, in words."""

    problem: str
    record: str
    peers: str
    command: str


#: What the speed chart and the table of the README show.
COMPARISONS = (
    Comparison(
        "max_flow",
        "2026-11-27-papers-epyc.jsonl",
        "the faster of OR-tools and thinhpf",
        "papers --threads 1",
    ),
    Comparison("grid_cut", "2026-11-22-grids-epyc.jsonl", "PyMaxflow", "grids --threads 1"),
    Comparison(
        "bipartite_matching",
        "2026-11-22-matching-epyc.jsonl",
        "the faster of SciPy and igraph",
        "matching --baseline scipy",
    ),
    Comparison(
        "linear_assignment",
        "2026-11-22-assignment-epyc.jsonl",
        "the fastest of OR-tools, SciPy and lapx",
        "assignment --threads 1",
    ),
)


def speed() -> Table:
    """Return the median and the worst ratio of each problem, and of many threads and a GPU."""
    rows = []

    def add(problem: str, peers: str, ratios: Sequence[float], machine: str, command: str) -> None:
        middle, worst = f"{statistics.median(ratios):.2f}", f"{max(ratios):.2f}"
        rows.append([problem, peers, machine, command, str(len(ratios)), middle, worst])

    for each in COMPARISONS:
        found = shares(each.record, each.problem)
        command = f"`python -m benchmarks {each.command}`"
        add(f"`{each.problem}`", each.peers, found, "EPYC, 1 thread", command)
    threads = [
        1 / row["multicore-paths, 16 threads"]["ratio of medians"]
        for row in read("2026-11-24-paths-16-cores-xeon.jsonl").rows
    ]
    page = "(docs/performance/max_flow.md)"
    network = "`max_flow`, wide or dense networks"
    add(network, "one thread", threads, "Xeon, 16 threads", f"[multicore results]{page}")
    gpu = [
        row["median"] / 1000 / statistics.median(row["serial-hi-pr, s"])
        for row in read("2026-11-24-cuda-pushrelabel-h200.jsonl").rows
    ]
    add("`min_cut`", "one CPU thread", gpu, "H200", f"[GPU results]{page}")
    head = ["problem", "compared with", "machine", "command", "instances", "median", "worst"]
    return Table(head, rows, words=4)


def peers_table(
    name: str, problem: str, contestants: Mapping[str, str], phase: str = TOTAL, what: str = "instance"
) -> Table:
    """Return seconds of each contestant on each instance, and preflow's share of the fastest other one's."""
    rows, ratios = [], []
    for record in instances(name, problem):
        times = [seconds(record, contestant, phase) for contestant in contestants]
        others = [t for c, t in zip(contestants, times, strict=True) if t and not c.startswith("preflow")]
        ours = seconds(record, "preflow:auto", phase)
        share = ours / min(others) if ours and others else None
        if share:
            ratios.append(share)
        rows.append([record.name, *map(number, times), ratio(share)])
    rows.append(["**median**", *[""] * len(contestants), ratio(statistics.median(ratios))])
    return Table([what, *contestants.values(), "preflow / fastest other"], rows)


def cuts_beside_peers() -> Table:
    """Return minimum cuts beside the best other package, those of contracted networks from their own run."""
    found = {row["instance"]: row for row in read("2026-11-28-flow-peers-sorted-epyc.jsonl").rows}
    contracted = {row["instance"]: row for row in read("2026-11-28-flow-peers-contracted-epyc.jsonl").rows}
    packages = {"thinhpf": "thinhpf", "pymaxflow": "PyMaxflow"}
    rows = []
    for name, row in (found | contracted).items():
        ours, ratios = row["seconds"]["preflow:auto"], row["ratios"]
        how = "contracted" if name in contracted else f"`{row['method']}`"
        cells = [
            f"{ratio(ratios[part]['ratio'])} {packages[ratios[part]['best']]}" for part in ("solve", "total")
        ]
        milliseconds = [f"{1000 * ours[part]:,.0f}" for part in ("solve", "total")]
        rows.append([name, how, *cells, *milliseconds])
    head = ["instance", "method", "ratio of solves", "ratio of all", "solve, ms", "all, ms"]
    return Table(head, rows, words=4)


def max_flow_gpu() -> Table:
    """Return ``cuda-push-relabel`` on an H200 beside one CPU thread of its host."""
    rows = []
    for row in read("2026-11-24-cuda-pushrelabel-h200.jsonl").rows:
        serial = statistics.median(row["serial-hi-pr, s"])
        from_host = [statistics.median(row[f"{key} from host, ms"]) for key in ("min_cut", "max_flow")]
        times = [row["median"], *from_host, serial]
        rows.append(
            [plain(row["instance"]), *map(number, times), times_as_fast(1000 * serial / row["median"])]
        )
    head = ["network", "on the device, ms", "`min_cut` from the host, ms", "`max_flow` from the host, ms"]
    return Table([*head, "`serial-hi-pr`, s", "times as fast"], rows)


def paths_on_threads(name: str, threads: Sequence[int]) -> Table:
    """Return ``multicore-paths`` beside ``serial-hi-pr``."""
    rows = []
    for row in read(name).rows:
        cells = [f"{plain(row['instance'])}, seed {row['seed']}", number(row["serial-hi-pr"]["median, s"])]
        for count in threads:
            found = row.get(f"multicore-paths, {count} threads", {})
            cells += [number(found.get("median, s")), times_as_fast(found.get("ratio of medians"))]
        rows.append(cells)
    columns = [
        cell
        for count in threads
        for cell in (f"{count} thread{'s' if count > 1 else ''}, s", "times as fast")
    ]
    return Table(["network", "`serial-hi-pr`, s", *columns], rows)


def calls_on_threads() -> Table:
    """Return whole calls of ``min_cut`` on 1, 4 and 16 threads."""
    rows = []
    for row in read("2026-11-28-flow-threads-xeon.jsonl").rows:
        times = [1000 * row["call"][count] for count in ("1", "4", "16")]
        cells = [row["instance"], f"{row['arcs'] / 1e6:.2f}", *map(number, times)]
        rows.append([*cells, f"{times[0] / times[-1]:.2f}"])
    return Table(["network", "arcs, millions", "1 thread, ms", "4", "16", "1 over 16"], rows)


def memory() -> Table:
    """Return peaks of the memory, now and before grids were solved without stored arcs."""
    now, before = (
        {(row["call"], row["arrays"]): row["peak_mb"]["all"] for row in read(name).rows}
        for name in ("2026-11-28-flow-memory-grids-epyc.jsonl", "2026-11-28-flow-memory-epyc.jsonl")
    )
    rows = []
    for call, shown in (
        ("min_cut", "`min_cut`"),
        ("max_flow without the flow", "`max_flow`, flow not read"),
        ("max_flow", "`max_flow`, flow read"),
        ("max_flow of arcs", "the same by `serial-boykov-kolmogorov`"),
    ):
        # The record from before has no method by name: auto was this method.
        then = call.removesuffix(" of arcs")
        peaks = [
            found[name, state] for found, name in ((now, call), (before, then)) for state in ("freed", "kept")
        ]
        rows.append([shown, *(f"{peak:,}" for peak in peaks)])
    head = ["call", "arrays freed", "arrays kept", "freed, before", "kept, before"]
    return Table(head, rows)


def building() -> Table:
    """Return the seconds of building a network, and how many times as fast several threads are."""
    rows = []
    for row in read("2026-11-21-build-and-paths-xeon.jsonl").rows:
        one, *more = row["seconds"].values()
        cells = [plain(row["instance"]), f"{row['arcs'] / 1e6:.1f} million", f"{one:.3f}"]
        rows.append([*cells, *(f"{one / time:.1f}" for time in more)])
    return Table(["instance", "input arcs", "1 thread, s", "2", "4", "8", "16"], rows)


def grids_on_threads() -> Table:
    """Return ``multicore-merging`` on 1 to 16 threads beside the serial method."""
    rows = []
    for row in read("2026-11-22-grid-threads-xeon.jsonl").rows:
        serial, *times = map(statistics.median, row["seconds"].values())
        cells = [f"{row['instance']} neighbours", *map(number, (serial, *times))]
        rows.append([*cells, times_as_fast(serial / times[-1])])
    head = ["grid", "`serial-incremental-bfs`, s", "1 thread, s", "2", "4", "8", "16", "times as fast"]
    return Table(head, rows)


def grid_gpu() -> Table:
    """Return ``cuda-tiled`` on an H200 beside one CPU thread of its host."""
    rows = []
    for row in read("2026-11-23-grid-gpu-h200.jsonl").rows:
        gpu, cpu = row["gpu milliseconds"], row["one thread seconds"]
        times = (gpu["whole call"], gpu["solve"], 1000 * min(cpu.values()))
        size = number(row.get("bytes a pixel on the GPU"))
        rows.append([row["instance"], *map(number, times), times_as_fast(row.get("ratio")), size])
    head = ["grid", "whole call, ms", "solve, ms", "one CPU thread, ms", "times as fast", "bytes a pixel"]
    return Table(head, rows)


def matching_methods() -> Table:
    """Return the seconds of the serial methods of bipartite matching."""
    methods = {
        "auto": "`auto`",
        "serial-push-relabel": "push-relabel",
        "serial-hopcroft-karp": "Hopcroft-Karp",
        "serial-hkdw": "HKDW",
        "serial-pothen-fan": "Pothen-Fan",
    }
    rows = []
    for record in instances("2026-11-22-matching-epyc.jsonl", "bipartite_matching"):
        times = [seconds(record, f"preflow:{method}") for method in methods]
        rows.append([record.name, *(number(time) or "stopped" for time in times)])
    return Table(["graph", *methods.values()], rows)


def matching_threads() -> Table:
    """Return ``auto`` of bipartite matching on one thread and on 16."""
    names = {
        "er3": "Erdos-Renyi 2^20, degree 3",
        "er5": "Erdos-Renyi 2^20, degree 5",
        "rmat": "RMAT 20 symmetric",
        "del": "Delaunay 2^20",
    }
    found: dict[str, dict[int, list[float]]] = {}
    for row in read("2026-11-23-matching-16-cores-later-h200.jsonl").rows:
        found.setdefault(row["graph"], {}).setdefault(row["threads"], []).extend(row["seconds"])
    rows = []
    for graph, by_threads in found.items():
        one, many = (1000 * statistics.median(by_threads[count]) for count in (1, 16))
        rows.append([names[graph], number(one), number(many), times_as_fast(one / many)])
    return Table(["graph", "`auto`, one thread, ms", "16 threads, ms", "times as fast"], rows)


def general_peers() -> Table:
    """Return matching in general graphs beside LEMON."""
    rows = []
    for row in read("2026-11-26-general-matching-xeon.jsonl").rows:
        solve, total = row["solve"], row["total"]
        times = [number(solve["preflow"]), number(solve["lemon"])]
        ratios = [ratio(part["preflow"] / part["lemon"]) for part in (solve, total)]
        rows.append([row["instance"], f"{row['vertices']:,}", f"{row['edges']:,}", *times, *ratios])
    head = ["graph", "vertices", "edges", "preflow, solve", "LEMON, solve", "ratio", "ratio of totals"]
    return Table(head, rows)


def locally_dominant() -> Table:
    """Return the matching of locally dominant edges on a GPU and on CPU threads."""
    columns = {
        "1 threads": "one thread",
        "16 threads": "16 threads",
        "GPU, 32 lanes, without copies of the graph": "GPU, 32 lanes",
        "GPU, 32 lanes": "GPU with copies of the graph",
    }
    rows = [
        [row["problem"], f"{row['edges']:,}", *(number(1000 * row["seconds"][key]) for key in columns)]
        for row in read("2026-11-26-locally-dominant-h100.jsonl").rows
    ]
    return Table(["graph", "edges", *columns.values()], rows)


def general_threads() -> Table:
    """Return ``multicore-blossom`` beside ``serial-blossom``."""
    counts = (1, 2, 4, 8, 16)
    found: dict[str, dict[tuple[str, int], dict[str, Any]]] = {}
    for row in read("2026-11-27-general-matching-16-cores-xeon.jsonl").rows:
        found.setdefault(row["graph"], {})[row["method"], row["threads"]] = row
    rows = []
    for graph, by_method in found.items():
        serial = by_method["serial-blossom", 1]
        times = [by_method["multicore-blossom", count]["median"] for count in counts]
        gain = min(serial["median"], times[0]) / times[-1]
        cells = [f"{time:.4f}" for time in (serial["median"], *times)]
        rows.append([graph, f"{serial['edges']:,}", *cells, f"{gain:.1f}"])
    return Table(["graph", "edges", "`serial-blossom`", "1 thread", "2", "4", "8", "16", "gain"], rows)


def assignment_batch_gpu() -> Table:
    """Return ``cuda-batch`` on an H200 beside the CPU of its host."""
    keys = ("cuda-batch, costs on the GPU", "serial-shortest-path", "scipy")
    rows = []
    for row in read("2026-11-22-assignment-batch-h200.jsonl").rows:
        times = row["seconds"]
        rows.append([row["instance"], *(number(1000 * times[key]) if key in times else "" for key in keys)])
    return Table(["batch", "`cuda-batch`, ms", "`serial-shortest-path`, ms", "SciPy, ms"], rows)


def assignment_large_gpu() -> Table:
    """Return ``cuda-shortest-path`` on an H200 beside the CPU of its host."""
    keys = ("cuda-shortest-path", "serial-shortest-path", "scipy", "lapx lapjv")
    rows = []
    for row in read("2026-11-22-assignment-large-h200.jsonl").rows:
        times = row["seconds"]
        rows.append([row["instance"], *(number(1000 * times[key]) if times.get(key) else "" for key in keys)])
    head = ["costs", "`cuda-shortest-path`, ms", "`serial-shortest-path`, ms", "SciPy, ms", "lapx, ms"]
    return Table(head, rows)


def assignment_threads() -> Table:
    """Return whole calls on 1 to 16 threads."""
    threads = ["1", "4", "8", "16"]
    rows = []
    for row in read("2026-11-22-assignment-threads-h200.jsonl").rows:
        medians = row["medians"]
        method = next(key.split(",")[0] for key in medians if key.startswith("multicore"))
        times = [medians["auto, 1 thread"], *(medians[f"{method}, {n}"] for n in threads[1:])]
        cells = [row["instance"], f"`{method}`", *(number(1000 * time) for time in times)]
        rows.append([*cells, times_as_fast(times[0] / times[-1])])
    head = ["costs", "method", *(f"{n} threads, ms" for n in threads), "times as fast"]
    return Table(head, rows, words=2)


def costs_beside_peers() -> Table:
    """Return minimum-cost flow and transport beside the best other package."""
    rows = []
    for row in read("2026-11-28-min-cost-peers-epyc.jsonl").rows:
        ours, ratios = row["seconds"]["preflow:auto"], row["ratios"]
        best = ratios["solve"]["best"]
        peer = f"{best}, {number(row['seconds'][best]['solve'])}"
        times = [number(ours["solve"]), number(ours["total"])]
        shares_of = [ratio(ratios[part]["ratio"]) for part in ("solve", "total")]
        rows.append([row["instance"], f"`{row['method']}`", peer, *times, *shares_of])
    head = ["instance", "method", "best peer, solve", "solve", "total", "solve, ratio", "total, ratio"]
    return Table(head, rows, words=3)


def costs_beside_lemon() -> Table:
    """Return minimum-cost flow beside LEMON."""
    rows = []
    for row in read("2026-11-26-min-cost-lemon-xeon.jsonl").rows:
        ours, *others = (
            row["seconds"][name] for name in ("preflow:auto", "lemon:network-simplex", "lemon:cost-scaling")
        )
        sizes = f"{row['vertices']:,}", f"{row['arcs']:,}"
        rows.append([row["instance"], *sizes, *map(number, (ours, *others)), ratio(ours / min(others))])
    head = ["instance", "vertices", "arcs", "preflow", "LEMON, simplex", "LEMON, cost scaling"]
    return Table([*head, "ratio to the best"], rows)


def costs_on_threads() -> Table:
    """Return transport and minimum-cost flow on several threads beside the serial method."""
    found: dict[str, dict[int, Mapping[str, list[float]]]] = {}
    for row in read("2026-11-27-transport-threads-xeon.jsonl").rows:
        found.setdefault(row["instance"], {})[row["threads"]] = row["seconds"]
    rows = []
    for name, by_threads in found.items():
        serial = statistics.median(by_threads[16]["serial"])
        times = [
            statistics.median(by_threads[count]["multicore"]) if count in by_threads else None
            for count in (1, 4, 16)
        ]
        rows.append([name, *map(number, (serial, *times)), times_as_fast(serial / (times[-1] or serial))])
    return Table(["instance", "serial", "1 thread", "4 threads", "16 threads", "serial / 16"], rows)


def transports_on_gpu(name: str, *, batches: bool = False) -> Table:
    """Return transports on a GPU: batches alone, or all."""
    rows = []
    for row in read(name).rows:
        if "items" in row and (row["items"] > 1 or not batches):
            size = f"{row['rows']:,} x {row['rows']:,}"
            times = (row["seconds"][key] for key in ("cuda-transport", "whole call"))
            shape = size if row["items"] == 1 else f"{row['items']} of {size}"
            rows.append([row["problem"], shape, *map(number, times)])
    return Table(["transport", "size", "solve, s", "whole call, s"], rows, words=2)


def networks_on_gpu(name: str) -> Table:
    """Return minimum-cost flow on a GPU, beside one CPU thread where that was measured."""
    rows = []
    for row in read(name).rows:
        if "arcs" in row:
            gpu, serial = map(row["seconds"].get, ("cuda-cost-scaling", "serial-cost-scaling, one run"))
            cells = [] if serial is None else [number(serial), times_as_fast(serial / gpu)]
            rows.append([row["problem"], f"{row['arcs']:,}", number(gpu), *cells])
    head = ["network", "arcs", "whole call, s"]
    beside = ["one thread, cost scaling, s", "times as fast"] if len(rows[0]) > len(head) else []
    return Table([*head, *beside], rows)


AUTO = {"preflow:auto": "preflow, s"}
PAPERS = "2026-11-27-papers-epyc.jsonl"
FLOW_PEERS = AUTO | {"ortools": "OR-tools, s", "thinhpf": "thinhpf, s"}

#: The tables by their names in the pages.
TABLES: Mapping[str, Callable[[], Table]] = MappingProxyType(
    {
        "speed": speed,
        "max-flow-peers": lambda: peers_table(PAPERS, "max_flow", FLOW_PEERS),
        "min-cut-peers": lambda: peers_table(PAPERS, "min_cut", FLOW_PEERS),
        "irregular": lambda: peers_table(
            "2026-11-27-irregular-xeon.jsonl", "max_flow", FLOW_PEERS | {"pymaxflow": "PyMaxflow, s"}
        ),
        "irregular-solve": lambda: peers_table(
            "2026-11-27-irregular-xeon.jsonl", "max_flow", FLOW_PEERS | {"pymaxflow": "PyMaxflow, s"}, "solve"
        ),
        "cuts-beside-peers": cuts_beside_peers,
        "max-flow-whole": lambda: peers_table(
            "2026-11-21-whole-epyc.jsonl",
            "max_flow",
            FLOW_PEERS | {"pymaxflow": "PyMaxflow, s", "igraph": "igraph, s"},
        ),
        "memory": memory,
        "paths-on-16-cores": lambda: paths_on_threads("2026-11-24-paths-16-cores-xeon.jsonl", (8, 16)),
        "paths-on-two-threads": lambda: paths_on_threads("2026-11-24-paths-two-threads-epyc.jsonl", (1, 2)),
        "calls-on-threads": calls_on_threads,
        "max-flow-gpu": max_flow_gpu,
        "building": building,
        "grid-cut-peers": lambda: peers_table(
            "2026-11-22-grids-epyc.jsonl",
            "grid_cut",
            {
                "preflow:auto": "preflow, s",
                "preflow:serial-boykov-kolmogorov": "`serial-boykov-kolmogorov`, s",
                "pymaxflow": "PyMaxflow, s",
            },
        ),
        "grids-on-threads": grids_on_threads,
        "grid-gpu": grid_gpu,
        "matching-peers": lambda: peers_table(
            "2026-11-22-matching-epyc.jsonl",
            "bipartite_matching",
            AUTO | {"scipy": "SciPy, s", "igraph": "igraph, s"},
        ),
        "matching-methods": matching_methods,
        "matching-threads": matching_threads,
        "general-peers": general_peers,
        "locally-dominant": locally_dominant,
        "general-threads": general_threads,
        "assignment-peers": lambda: peers_table(
            "2026-11-22-assignment-epyc.jsonl",
            "linear_assignment",
            AUTO
            | {
                "ortools": "OR-tools, s",
                "scipy": "SciPy, s",
                "lapx-lapjvh": "lapx `lapjvh`, s",
                "lapx-lapjvr": "lapx `lapjvr`, s",
                "lapx-lapjvx": "lapx `lapjvx`, s",
            },
        ),
        "assignment-threads": assignment_threads,
        "assignment-batch-gpu": assignment_batch_gpu,
        "assignment-large-gpu": assignment_large_gpu,
        "costs-beside-peers": costs_beside_peers,
        "costs-beside-lemon": costs_beside_lemon,
        "costs-beside-ortools": lambda: peers_table(
            "2026-11-26-min-cost-ortools-xeon.jsonl", "min_cost_flow", AUTO | {"ortools": "OR-tools, s"}
        ),
        "costs-on-threads": costs_on_threads,
        "transports-gpu": lambda: transports_on_gpu(
            "2026-11-26-min-cost-gpu-later-h100.jsonl", batches=False
        ),
        "networks-gpu": lambda: networks_on_gpu("2026-11-26-min-cost-gpu-later-h100.jsonl"),
        "transport-batches-gpu": lambda: transports_on_gpu(
            "2026-11-28-transport-gpu-h200.jsonl", batches=True
        ),
        "large-networks-gpu": lambda: networks_on_gpu("2026-11-28-min-cost-gpu-h200.jsonl"),
    }
)
