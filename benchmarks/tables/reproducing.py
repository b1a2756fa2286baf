"""The tables of the pages about published methods, from records of several runs of the same instances."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import geometric_mean, mean, stdev
from types import MappingProxyType
from typing import Any

from ..records import InstanceRecord, Measurement
from ..report_files import read_reports
from ..reproduce import cihan, deveci, lupinska
from ..reproduce.activity import RECORDED
from .table import RESULTS, Table, number, seconds

#: The codes of the thesis: the names of tables C and D, and the methods in records.
CODES = {
    "F_PRF": ("F_PRF", "serial-fifo"),
    "H_PRF": ("H_PRF", "serial-highest-label-gap"),
    "HI_PR": ("HI_PR",),
    "HI_PRO": ("HI_PRO",),
    "HI_PRW": ("HI_PRW",),
}
#: The forms of Cihan's method, with their names in tables.
FORMS = {"multicore-fifo": "ours", cihan.AS_PRINTED: "as printed"}
FAMILIES = [group for group, table in cihan.TABLES.items() if table.number.startswith("C")]
COUNTED = {"pushes": 1000, "relabels": 1000, "global_relabels": 1}
COUNTS = ["pushes", "relabels", "global relabels"]


def joined(*names: str) -> list[InstanceRecord]:
    """Return the instances of records of 2026-11-28; the first that has a measurement counts."""
    return read_reports([RESULTS / f"2026-11-28-{name}.jsonl" for name in names]).records


def of(record: InstanceRecord, method: str) -> Measurement:
    """Return the measurement of a method that took part."""
    found = record.of(f"preflow:{method}")
    assert found is not None
    return found


def short(name: str) -> str:
    """Return the name of an instance without its seed 0."""
    return name.removesuffix(" seed 0")


def three_digits(value: float | None) -> str:
    """Return a number with three digits, of which two are behind the point at most."""
    if value is None:
        return ""
    return f"{value:.2f}" if value < 9.995 else f"{value:.1f}" if value < 99.95 else f"{value:.0f}"


def milliseconds(record: InstanceRecord, method: str) -> str:
    """Return the time of a whole call."""
    time = 1e3 * (seconds(record, f"preflow:{method}") or 0.0)
    return f"{time:.3g}" if time < 999.5 else f"{time:,.0f}"


def cpu_async_and_gpus() -> Table:
    """Return cpu-async on 1 to 16 threads beside the methods on a GPU."""
    gpus = {record.name: record for record in joined("wu-he-hong-gpus-h200")}
    rows = []
    for record in joined("cpu-async-full-xeon"):
        found = [seconds(record, f"preflow:multicore-lockfree-arg@{count}") for count in (1, 2, 4, 8, 16)]
        methods = ("cuda-hybrid", "cuda-coloring", "cuda-coloring[weighted=True]")
        on_gpu = [seconds(gpus[record.name], f"preflow:{method}") for method in methods]
        ratios = [
            here / there if here and there else None for here in on_gpu[:2] for there in (found[2], found[4])
        ]
        rows.append([record.name, *map(three_digits, (*found, *on_gpu, *ratios))])
    head = ["network", "cpu-async, 1 thread", "2", "4", "8", "16", "gpu-async", "gpu-color", "with weights"]
    return Table([*head, "gpu-async / 4 threads", "/ 16", "gpu-color / 4 threads", "/ 16"], rows)


def spread(found: Sequence[Mapping[str, Any]], published: cihan.Published) -> list[str]:
    """Return means ± standard deviations of counts beside those of the thesis."""
    return [
        f"{mean([each[name] for each in found]) / unit:,.0f} ± "
        f"{stdev([each[name] for each in found]) / unit:,.0f} ({getattr(published, name) / unit:,.0f})"
        for name, unit in COUNTED.items()
    ]


def details(records: Sequence[InstanceRecord], group: str, methods: Sequence[str]) -> list[Mapping[str, Any]]:
    """Return the counts of methods on all instances of a family."""
    return [
        measured.detail
        for record in records
        for method in methods
        if record.name.startswith(group) and (measured := record.of(f"preflow:{method}"))
    ]


def serial_codes() -> Table:
    """Return the operations of the serial codes on the families, over several seeds."""
    records = [
        *joined("cihan-seeds-xeon64"),
        *joined("cihan-serial-rmf-wide-xeon", "cihan-rest-xeon", "cihan-serial-epyc"),
    ]
    rows = [
        [group, code, *spread(details(records, group, methods), cihan.TABLES[group].rows[code])]
        for group in FAMILIES
        for code, methods in CODES.items()
    ]
    return Table(["instance", "code", *COUNTS], rows, words=2)


def eight_threads() -> Table:
    """Return the operations of Cihan's method on 8 threads, over several seeds."""
    records = joined("cihan-8-threads-xeon64", "cihan-families-threads-xeon", "cihan-rest-xeon")
    rows = [
        [group, shown, *spread(details(records, group, [f"{form}@8"]), cihan.TABLES[group].rows["Cihan"])]
        for group in FAMILIES
        for form, shown in FORMS.items()
    ]
    return Table(["instance", "form", *COUNTS], rows, words=2)


def variants() -> Table:
    """Return our variants of HI_PR beside the published forms."""
    names = ("cihan-rest-xeon", "cihan-serial-rmf-wide-xeon", "cihan-serial-epyc", "cihan-volumes-epyc")
    published = {record.name: record for record in joined(*names)}
    codes = ("HI_PR", "HI_PRO", "HI_PRW")
    rows = []
    for record in joined("cihan-hi-xeon64"):
        cells = []
        for code in codes:
            ours = of(record, f"serial-{code.lower().replace('_', '-')}")
            theirs = of(published[record.name], code)
            ratios = [ours.detail[name] / theirs.detail[name] for name in ("pushes", "relabels")]
            cells += [f"{ours.median('solve'):.1f}", *(f"{each:.2f}" for each in ratios)]
        rows.append([short(record.name), *cells])
    columns = [column for code in codes for column in (f"{code}: seconds", "pushes", "relabels")]
    return Table(["instance", *columns], rows)


def thesis_runs() -> dict[str, dict[str, Measurement]]:
    """Return the runs of all instances of the thesis by method; later records had less other work."""
    records = (
        "serial-epyc",
        "volumes-epyc",
        "serial-rmf-wide-xeon",
        "families-threads-xeon",
        "volumes-xeon",
        "rest-xeon",
    )
    codes = {method: code for code, methods in CODES.items() for method in methods}
    found: dict[str, dict[str, Measurement]] = {}
    for name in records:
        for record in joined(f"cihan-{name}"):
            for each in record.measurements:
                method = each.contestant.removeprefix("preflow:")
                found.setdefault(short(record.name), {})[codes.get(method, method)] = each
    return {name: found[name] for name in sorted(found, key=numbered)}


def numbered(name: str) -> str:
    """Return the name of an instance with the table of the thesis."""
    return f"{cihan.TABLES[name.removesuffix('-like')].number} {name}"


def relabel_shares() -> Table:
    """Return the share of global relabels in the serial codes, and how many times as fast threads are."""
    rows = []
    for name, runs in thesis_runs().items():
        spent = {method: each.detail["global_relabel_seconds"] for method, each in runs.items()}
        shares = [100 * spent[code] / (runs[code].median("solve") or 1.0) for code in CODES]
        faster = [spent[f"{form}@1"] / spent[f"{form}@{count}"] for form in FORMS for count in (8, 16)]
        rows.append(
            [numbered(name), *(f"{share:.0f}" for share in shares), *(f"{each:.1f}" for each in faster)]
        )
    return Table(["instance", *CODES, "ours, 8 threads", "16", "as printed, 8", "16"], rows)


def active_vertices() -> Table:
    """Return how many vertices are active in F_PRF and in Cihan's method on 8 threads."""
    rows = []
    for record in joined("cihan-active-xeon64"):
        vertices, cells = record.sizes["vertices"], []
        for name in (f"serial-fifo[{RECORDED}]", f"multicore-fifo[{RECORDED}]@8"):
            measured = record.of(f"preflow:{name}")
            samples = [] if measured is None else measured.detail["active"]
            if samples:
                shares = (max(samples) / vertices, mean(samples) / vertices)
                cells += [f"{max(samples):,}", *(f"{100 * share:.1f} %" for share in shares)]
            else:
                cells += [""] * 3
        rows.append([short(record.name), f"{vertices:,}", *cells])
    head = ["instance", "vertices", "F_PRF: most", "share", "mean", "Cihan, 8 threads: most", "share", "mean"]
    return Table(head, rows)


def related_systems() -> Table:
    """Return the parallel systems of chapter 3 on 16 threads."""
    rows = []
    for record in joined("cihan-related-xeon64"):
        times = [seconds(record, f"preflow:{name}@16", "solve") for name in cihan.RELATED_METHODS]
        rows.append([short(record.name), *(number(time) or "stopped" for time in times)])
    head = ["instance", "Cihan", "pulses", "rounds", "Anderson and Setubal", "Bader and Sachdeva"]
    return Table([*head, "without gaps", "order of a search"], rows)


def deveci_counts() -> Table:
    """Return operations and seconds of G-PR over those of G-HKDW."""
    rows: dict[str, list[float]] = {"barriers": [], "edges read": [], "seconds": []}
    for record in joined("deveci-counts-full-h200"):
        ours, phases = (of(record, name) for name in list(deveci.COUNTED)[:2])
        for name, count in (("barriers", "barriers"), ("edges read", "arc_scans")):
            rows[name].append(ours.detail[count] / phases.detail[count])
        rows["seconds"].append((ours.median("search") or 0.0) / (phases.median("search") or 1.0))
    return Table(
        ["G-PR over G-HKDW, 28 graphs", "least", "geometric mean", "most"],
        [
            [name, *(f"{each:.2f}" for each in (min(ratios), geometric_mean(ratios), max(ratios)))]
            for name, ratios in rows.items()
        ],
    )


def deveci_periods() -> Table:
    """Return the work of PR with other periods of global relabels."""
    (table,) = deveci.sweep_table(joined("deveci-periods-full-xeon64"))
    names = ("edges read, over k = 0.5", "pushes, over k = 0.5", "seconds, over k = 0.5")
    rows = [[name, *(row[place] for row in table.rows)] for place, name in enumerate(names, 1)]
    rows.append(["graphs on which k reads the fewest edges", *(row[4] for row in table.rows)])
    return Table(["k", *(row[0] for row in table.rows)], rows)


def lockfree_assignment() -> Table:
    """Return ``cuda-lockfree`` on complete graphs, means of three instances."""
    sizes: dict[str, list[Measurement]] = {}
    for record in joined("lupinska-lockfree-h200"):
        sizes.setdefault(record.group, []).extend(record.measurements)
    rows = [["milliseconds"], ["pushes"], ["relabels"]]
    for runs in sizes.values():
        means = [1e3 * mean([each.median("total") or 0.0 for each in runs])]
        means += [mean([each.detail[name] for each in runs]) for name in ("pushes", "relabels")]
        for row, value in zip(rows, means, strict=True):
            row.append(f"{value:,.0f}")
    return Table(["rows", *(group.split()[1] for group in sizes)], rows)


def price_updates() -> Table:
    """Return pushes and milliseconds with price updates never, once and often."""
    records = joined("lupinska-updates-full-h200")
    often = f"price_updates={lupinska.OFTEN}"
    rows, before = [], ""
    for method in lupinska.UPDATE_METHODS:
        name, _, options = method.rstrip("]").partition("[")
        cycles = options.partition("cycles=")[2]
        when = "none" if not options else "at each meeting" if often in options else "once a refine"
        if cycles == str(lupinska.CYCLES[0]):
            when += ", as printed"
        cells = [f"{of(each, method).detail['pushes']:,} ({milliseconds(each, method)})" for each in records]
        rows.append(
            ["" if name == before else f"`{name}`", when, f"{int(cycles):,}" if cycles else "", *cells]
        )
        before = name
    head = ["method", "updates", "meetings after", *(record.group.split()[1] for record in records)]
    return Table(head, rows, words=2)


def threads_per_block() -> Table:
    """Return milliseconds with other numbers of threads per block."""
    rows = [
        [
            f"{each.group.split()[1]} rows, ms",
            *(milliseconds(each, method) for method in lupinska.BLOCK_METHODS),
        ]
        for each in joined("lupinska-updates-full-h200")[1:]
    ]
    counts = (int(method.rstrip("]").partition("=")[2]) for method in lupinska.BLOCK_METHODS)
    return Table(["threads per block", *(f"{count:,}" for count in counts)], rows)


def systems_on_networks() -> Table:
    """Return the systems of section 4 on grids with stored arcs."""
    rows = [
        [
            each.name.partition("x")[2].split()[0],
            *(milliseconds(each, method) for method in lupinska.FLOW_METHODS),
        ]
        for each in joined("lupinska-networks-h200")
    ]
    return Table(["side of the image", *(f"`{method}`" for method in lupinska.FLOW_METHODS)], rows)


#: The tables by their names in the pages.
TABLES: Mapping[str, Callable[[], Table]] = MappingProxyType(
    {
        "cpu-async-and-gpus": cpu_async_and_gpus,
        "cihan-serial-codes": serial_codes,
        "cihan-on-eight-threads": eight_threads,
        "cihan-variants": variants,
        "cihan-relabel-shares": relabel_shares,
        "cihan-active-vertices": active_vertices,
        "cihan-related-systems": related_systems,
        "deveci-counts": deveci_counts,
        "deveci-periods": deveci_periods,
        "lupinska-lockfree": lockfree_assignment,
        "lupinska-price-updates": price_updates,
        "lupinska-threads-per-block": threads_per_block,
        "lupinska-systems-on-networks": systems_on_networks,
    }
)
