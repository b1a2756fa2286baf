"""The tables of the pages about published methods, from records of several runs of the same instances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from functools import cache, partial
from statistics import geometric_mean, mean, stdev
from types import MappingProxyType
from typing import Any

from .. import problem
from ..records import InstanceRecord, Measurement
from ..report_files import read_reports
from ..reproduce import cihan, deveci, lupinska, optical_flow_pairs, wu_he_hong
from ..reproduce.activity import RECORDED
from ..scaling import by_group
from .table import Shown, Table, number, path_of, read, seconds

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


@cache
def joined(*names: str) -> list[InstanceRecord]:
    """Return the instances of records; the first that has a measurement counts."""
    return read_reports([path_of(name) for name in names]).records


def of_suite(table: problem.Table) -> Table:
    """Return a table of a report of the suites."""
    return Table(list(table.header), [list(row) for row in table.rows])


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


def cpu_async_and_gpus(name: str) -> Table:
    """Return cpu-async on 1 to 16 threads beside the methods on a GPU."""
    rows = []
    for record in joined(name):
        found = [seconds(record, f"preflow:multicore-lockfree-arg@{count}") for count in (1, 2, 4, 8, 16)]
        methods = ("cuda-hybrid", "cuda-coloring", "cuda-coloring[weighted=True]")
        on_gpu = [seconds(record, f"preflow:{method}") for method in methods]
        ratios = [
            here / there if here and there else None for here in on_gpu[:2] for there in (found[2], found[4])
        ]
        rows.append([record.name, *map(three_digits, (*found, *on_gpu, *ratios))])
    head = ["network", "cpu-async, 1 thread", "2", "4", "8", "16", "gpu-async with gaps", "gpu-color"]
    head += ["with weights", "gpu-async with gaps / 4 threads", "/ 16", "gpu-color / 4 threads", "/ 16"]
    return Table(head, rows)


def spread(found: Sequence[Mapping[str, Any]], published: cihan.Published) -> list[str]:
    """Return means ± standard deviations of counts beside those of the thesis."""
    cells = []
    for name, unit in COUNTED.items():
        values = [each[name] / unit for each in found]
        deviation = f" ± {stdev(values):,.0f}" if len(values) > 1 else ""
        cells.append(f"{mean(values):,.0f}{deviation} ({getattr(published, name) / unit:,.0f})")
    return cells


def shares(found: Sequence[Mapping[str, Any]], published: cihan.Published) -> str:
    """Return mean pushes and relabels over those of the thesis."""
    ratios = (mean(each[name] for each in found) / getattr(published, name) for name in COUNTS[:2])
    return ", ".join(three_digits(each) for each in ratios)


def members(name: str, group: str) -> list[InstanceRecord]:
    """Return the instances of a family, or the volume of a table of the thesis, in a record."""
    return [each for each in joined(name) if each.group.removesuffix("-like") == group]


def details(records: Sequence[InstanceRecord], group: str, methods: Sequence[str]) -> list[Mapping[str, Any]]:
    """Return the counts of methods on all instances of a family."""
    return [
        measured.detail
        for record in records
        for method in methods
        if record.group.removesuffix("-like") == group and (measured := record.of(f"preflow:{method}"))
    ]


def serial_codes(*names: str) -> Table:
    """Return the operations of the serial codes on the families, over several seeds."""
    records = joined(*names)
    rows = []
    for group in FAMILIES:
        for code, methods in CODES.items():
            found, published = details(records, group, methods), cihan.TABLES[group].rows[code]
            rows.append([group, code, *spread(found, published), shares(found, published)])
    head = ["instance", "code", *COUNTS, "pushes, relabels over the thesis's"]
    return Table(head, rows, words=2)


def headline(serial: str, parallel: str) -> Table:
    """Return seconds of the better serial code over those of Cihan's method on 8 threads.

    They are of the instances that both records have from machines of one kind: not those with seed 0.
    """
    rows = []
    for group in FAMILIES:
        ours = {each.name: each for each in joined(parallel)}
        same = [each for each in members(serial, group) if "seed 0" not in each.name]
        ratios: dict[str, list[float]] = {form: [] for form in FORMS}
        for each in same:
            codes = [each.of(f"preflow:{method}") for code in ("F_PRF", "H_PRF") for method in CODES[code]]
            best = min(time for code in codes if code and (time := code.median("solve")))
            for form, found in ratios.items():
                if each.name in ours:
                    found.append(best / (of(ours[each.name], f"{form}@8").median("solve") or 1.0))
        published = cihan.TABLES[group].rows
        pair, every = (
            min(published[code].seconds for code in codes) / published["Cihan"].seconds
            for codes in (("F_PRF", "H_PRF"), CODES)
        )
        cells = [", ".join(map(three_digits, sorted(found))) for found in ratios.values()]
        rows.append([group, *cells, three_digits(pair), three_digits(every)])
    head = ["instance", *FORMS.values(), "the thesis", "the thesis, all five codes"]
    return Table(head, rows)


def eight_threads(name: str) -> Table:
    """Return the operations of Cihan's method on 8 threads, over several seeds."""
    records = joined(name)
    rows = [
        [group, shown, *spread(details(records, group, [f"{form}@8"]), cihan.TABLES[group].rows["Cihan"])]
        for group in FAMILIES
        for form, shown in FORMS.items()
    ]
    return Table(["instance", "form", *COUNTS], rows, words=2)


def volumes(*names: str) -> Table:
    """Return the operations of all codes on the volumes, of Cihan's method on 8 threads."""
    records = joined(*names)
    rows = []
    for group, table in cihan.TABLES.items():
        if table.number.startswith("D"):
            codes = {f"Cihan, {shown}": (f"{form}@8",) for form, shown in FORMS.items()} | CODES
            for code, methods in codes.items():
                published = table.rows[code.partition(",")[0]]
                cells = spread(details(records, group, methods), published)
                rows.append([f"{table.number} {group}-like", code, *cells])
    return Table(["volume", "code", *COUNTS], rows, words=2)


def on_threads(name: str) -> Table:
    """Return seconds of Cihan's method by threads, and the share of its global relabels."""
    runs = thesis_runs(name)
    rows = []
    for instance, by_method in runs.items():
        for form, shown in FORMS.items():
            times = [by_method[f"{form}@{count}"] for count in (1, 2, 4, 8, 16)]
            shares = [
                f"{100 * each.detail['global_relabel_seconds'] / (each.median('solve') or 1.0):.0f} %"
                for each in times[-2:]
            ]
            cells = [three_digits(each.median("solve")) for each in times]
            rows.append([numbered(instance), shown, *cells, *shares])
    head = ["1 thread, s", "2", "4", "8", "16", "in global relabels, 8", "16"]
    return Table(["instance", "form", *head], rows, words=2)


def more_operations(name: str) -> Table:
    """Return pushes and relabels of Cihan's method on several threads over those of one thread.

    The thesis has its method on eight threads only, beside F_PRF, which is its method on one thread.
    """
    rows = []
    for instance, by_method in thesis_runs(name).items():
        published = cihan.TABLES[instance.removesuffix("-like")].rows
        theirs = published["Cihan"].pushes / published["F_PRF"].pushes
        for form, shown in FORMS.items():
            runs = {count: by_method[f"{form}@{count}"] for count in (1, 2, 4, 8, 16)}
            pushes, relabels = (
                [runs[count].detail[kind] / runs[1].detail[kind] for count in (2, 4, 8, 16)]
                for kind in COUNTS[:2]
            )
            gain = (runs[1].median("solve") or 0.0) / (runs[8].median("solve") or 1.0)
            cells = map(three_digits, (*pushes, theirs, relabels[2], gain))
            rows.append([numbered(instance), shown, *cells])
    head = ["pushes on 2 threads", "4", "8", "16", "the thesis, 8", "relabels on 8", "times as fast on 8"]
    return Table(["instance", "form", *head], rows, words=2)


def median_of(record: InstanceRecord, methods: Sequence[str]) -> float | None:
    """Return the seconds of the first stage of the first of some methods that solved an instance."""
    found = (record.of(f"preflow:{method}") for method in methods)
    return next((time for each in found if each and (time := each.median("solve"))), None)


#: Cihan's method on eight threads, and the serial codes, with the methods in records.
ALL_CODES = {f"{form}@8": (f"{form}@8",) for form in FORMS} | CODES


def published_seconds(group: str) -> dict[str, float]:
    """Return the seconds of the thesis by the codes of ALL_CODES."""
    rows = cihan.TABLES[group.removesuffix("-like")].rows
    return {code: rows[code if code in CODES else "Cihan"].seconds for code in ALL_CODES}


def alone(name: str, group: str, threads: int) -> float:
    """Return the seconds of our form of Cihan's method on a volume."""
    (record,) = members(name, group.removesuffix("-like"))
    return of(record, f"multicore-fifo@{threads}").median("solve") or 0.0


def seconds_on_volumes(name: str, threads: str) -> Table:
    """Return seconds on the volumes beside tables D.1 to D.7, and those of one thread without other work."""
    rows = []
    for record in joined(name):
        if not record.name.endswith("-like"):
            continue
        theirs = published_seconds(record.group)
        times = {code: median_of(record, ALL_CODES[code]) for code in ALL_CODES}
        cells = [f"{three_digits(times[code])} ({theirs[code]:.0f})" for code in (*ALL_CODES,)[:4]]
        one = alone(threads, record.group, 1)
        f_prf = times["F_PRF"] or 0.0
        ratios = [f_prf / (times[f"{form}@8"] or 1.0) for form in FORMS]
        ratios += [one / alone(threads, record.group, 8), theirs["F_PRF"] / theirs["multicore-fifo@8"]]
        rows.append([numbered(record.name), *cells, three_digits(one), *map(three_digits, ratios)])
    head = ["ours, 8 threads", "as printed", "F_PRF", "H_PRF", "one thread of ours, alone"]
    ratios_of = ["F_PRF / ours", "/ as printed", "one thread / eight, alone", "the thesis, F_PRF / Cihan"]
    return Table(["volume", *head, *ratios_of], rows)


def codes_on_volumes(one: str, other: str, threads: str) -> Table:
    """Return seconds of the serial codes over those of F_PRF, and what follows for the best of them.

    Codes are compared where one machine ran all of them. Eight threads against the best code is the product
    of its ratio to F_PRF and of one thread over eight, both of ours, on a machine without other work.
    """
    rows = []
    for record in (*joined(one), *joined(other)):
        times = {code: time for code in CODES if (time := median_of(record, CODES[code]))}
        if len(times) < len(CODES):
            continue
        theirs = published_seconds(record.group)
        found = {code: time / times["F_PRF"] for code, time in times.items()}
        best, their_best = (min(CODES, key=each.__getitem__) for each in (found, theirs))
        cells = [f"{found[code]:.2f} ({theirs[code] / theirs['F_PRF']:.2f})" for code in (*CODES,)[1:]]
        gain = found[best] * alone(threads, record.group, 1) / alone(threads, record.group, 8)
        ratio = theirs[their_best] / theirs["multicore-fifo@8"]
        rows.append(
            [numbered(record.name), *cells, f"{best} ({their_best})", *map(three_digits, (gain, ratio))]
        )
    head = [f"{code} / F_PRF" for code in (*CODES,)[1:]]
    return Table(["volume", *head, "fastest", "fastest / eight threads", "the thesis"], sorted(rows))


def deviations(first: str, serial: str, parallel: str) -> Table:
    """Return means and standard deviations of seconds over the seeds, and of volumes over three runs or more.

    Where the first record has no seeds of a family, they are those of one busy machine: without seed 0.
    """
    rows = []
    for group in FAMILIES:
        for code in ("F_PRF", "H_PRF", *(f"{form}@8" for form in FORMS)):
            for source in (first, serial if code in CODES else parallel):
                times = [
                    time
                    for each in members(source, group)
                    if source == first or "seed 0" not in each.name
                    if (time := median_of(each, ALL_CODES[code]))
                ]
                if len(times) > 1:
                    form, at, threads = code.partition("@")
                    shown = f"{FORMS[form]}, {threads} threads" if at else code
                    theirs = f"{published_seconds(group)[code]:g}"
                    rows.append([numbered(group), shown, f"{len(times)} seeds", *spread_of(times), theirs])
                    break
    for record in (*joined(first), *joined(parallel)):
        for method in ("F_PRF", *(f"{form}@16" for form in FORMS)):
            measured = record.of(f"preflow:{method}") if record.name.endswith("-like") else None
            if measured and len(times := measured.all_seconds("solve")) > 2:
                form, at, threads = method.partition("@")
                shown = f"{FORMS[form]}, {threads} threads" if at else method
                theirs = "" if at else f"{published_seconds(record.group)[method]:g}"
                rows.append([numbered(record.name), shown, f"{len(times)} runs", *spread_of(times), theirs])
    head = ["mean, s", "standard deviation, s", "% of the mean", "the thesis's mean, s"]
    return Table(["instance", "code", "of", *head], sorted(rows, key=lambda row: row[0]), words=3)


def spread_of(times: Sequence[float]) -> list[str]:
    """Return the mean of times, their standard deviation, and this in per cent of the mean."""
    middle, deviation = mean(times), stdev(times)
    return [three_digits(middle), f"{deviation:.2g}", f"{100 * deviation / middle:.0f}"]


def operation_times(*names: str) -> Table:
    """Return nanoseconds for each push or relabel, here and in the thesis.

    They are means over a family without seed 0, of the first record that has a code.
    """
    rows = []
    for group, table in cihan.TABLES.items():
        cells = []
        for code, methods in ALL_CODES.items():
            by_record = (
                [
                    run_time(time, measured.detail)
                    for each in members(name, group)
                    if "seed 0" not in each.name
                    for method in methods
                    if (measured := each.of(f"preflow:{method}")) and (time := measured.median("solve"))
                ]
                for name in names
            )
            times = next(filter(None, by_record), [])
            row = table.rows[code if code in CODES else "Cihan"]
            theirs = number(run_time(row.seconds, row._asdict()))
            cells.append(f"{number(mean(times)) if times else ''} ({theirs})")
        rows.append([f"{table.number} {group}", *cells])
    return Table(["instance", "ours, 8 threads", "as printed", *CODES], rows)


def run_time(time: float, counts: Mapping[str, Any]) -> float:
    """Return the nanoseconds of a run for each of its pushes and relabels."""
    return 1e9 * time / float(counts["pushes"] + counts["relabels"])


def gaps(*names: str) -> Table:
    """Return what gaps change: counts of F_PRF over Q_PRF and of M_PRF over H_PRF, and vertices lifted."""
    rows = []
    for record in joined(*names):
        cells = []
        for without, with_gaps in (("F_PRF", "Q_PRF"), ("M_PRF", "H_PRF")):
            pair = [record.of(f"preflow:{code}") for code in (without, with_gaps)]
            found = [each.detail for each in pair if each and each.seconds]
            for count in ("pushes", "arc_scans"):
                cells.append(f"{found[0][count] / found[1][count]:.2f}" if len(found) > 1 else "")
        lifted = of(record, "H_PRF").detail["gap_vertices"] / record.sizes["vertices"]
        name = short(record.name)
        shown = numbered(name) if name in cihan.TABLES else f"{name}, smaller"
        rows.append([shown, *cells, f"{100 * lifted:.0f} %"])
    head = ["F_PRF / Q_PRF, pushes", "arcs looked at", "M_PRF / H_PRF, pushes", "arcs looked at"]
    return Table(["instance", *head, "lifted by gaps in H_PRF / vertices"], rows)


def reading(name: str) -> Table:
    """Return the shares of reading and solving line-moderate beside those of the thesis."""
    theirs = ["the thesis's method, 2010", "about 40", "", "3 to 4", "90", ""]
    rows = cihan.reading_shares(read(name).rows)
    for row in rows:
        form, at, threads = row[0].partition("@")
        row[0] = f"Cihan, {FORMS[form]}, {threads} threads" if at else row[0]
    return Table(cihan.READING_HEADER, [theirs, *rows])


def variants(name: str, *published_names: str) -> Table:
    """Return our variants of HI_PR beside the codes of the thesis."""
    published: dict[str, InstanceRecord] = {}
    for each in joined(*published_names):
        if each.of("preflow:HI_PR"):
            published.setdefault(each.name, each)
    codes = ("HI_PR", "HI_PRO", "HI_PRW")
    rows = []
    for record in joined(name):
        cells = []
        for code in codes:
            ours = of(record, f"serial-{code.lower().replace('_', '-')}")
            theirs = of(published[record.name], code)
            ratios = [ours.detail[name] / theirs.detail[name] for name in ("pushes", "relabels")]
            cells += [f"{each:.2f}" for each in ratios]
        rows.append([short(record.name), *cells])
    columns = [column for code in codes for column in (f"{code}: pushes", "relabels")]
    return Table(["instance", *columns], rows)


def thesis_runs(*names: str) -> dict[str, dict[str, Measurement]]:
    """Return the runs of seed 0 of all instances of the thesis by method."""
    codes = {method: code for code, methods in CODES.items() for method in methods}
    found: dict[str, dict[str, Measurement]] = {}
    for record in joined(*names):
        for each in record.measurements:
            method = each.contestant.removeprefix("preflow:")
            found.setdefault(short(record.name), {}).setdefault(codes.get(method, method), each)
    known = {name: runs for name, runs in found.items() if name.removesuffix("-like") in cihan.TABLES}
    return {name: known[name] for name in sorted(known, key=numbered)}


def numbered(name: str) -> str:
    """Return the name of an instance with the table of the thesis."""
    return f"{cihan.TABLES[name.removesuffix('-like')].number} {name}"


def relabel_shares(*names: str) -> Table:
    """Return the share of global relabels in the serial codes, and how many times as fast threads are."""
    rows = []
    for name, runs in thesis_runs(*names).items():
        spent = {method: each.detail["global_relabel_seconds"] for method, each in runs.items()}
        shares = [100 * spent[code] / (runs[code].median("solve") or 1.0) for code in CODES]
        faster = [spent[f"{form}@1"] / spent[f"{form}@{count}"] for form in FORMS for count in (8, 16)]
        rows.append(
            [numbered(name), *(f"{share:.0f}" for share in shares), *(f"{each:.1f}" for each in faster)]
        )
    return Table(["instance", *CODES, "ours, 8 threads", "16", "as printed, 8", "16"], rows)


def active_vertices(name: str) -> Table:
    """Return how many vertices are active in F_PRF and in Cihan's method on 8 threads."""
    rows = []
    for record in joined(name):
        vertices, cells = record.sizes["vertices"], []
        for method in (f"serial-fifo[{RECORDED}]", f"multicore-fifo[{RECORDED}]@8"):
            measured = record.of(f"preflow:{method}")
            samples = [] if measured is None else measured.detail["active"]
            if samples:
                shares = (max(samples) / vertices, mean(samples) / vertices)
                cells += [f"{max(samples):,}", *(f"{100 * share:.1f} %" for share in shares)]
            else:
                cells += [""] * 3
        rows.append([short(record.name), f"{vertices:,}", *cells])
    head = ["instance", "vertices", "F_PRF: most", "share", "mean", "Cihan, 8 threads: most", "share", "mean"]
    return Table(head, rows)


def related_systems(name: str) -> Table:
    """Return the parallel systems of chapter 3 on 16 threads."""
    rows = []
    for record in joined(name):
        times = [seconds(record, f"preflow:{each}@16", "solve") for each in cihan.RELATED_METHODS]
        rows.append([short(record.name), *(number(time) or "stopped" for time in times)])
    head = ["instance", "Cihan", "pulses", "rounds", "Anderson and Setubal", "Bader and Sachdeva"]
    return Table([*head, "without gaps", "order of a search"], rows)


def deveci_graphs(name: str) -> Table:
    """Return the sizes and matchings of Table I, here and as published."""
    (table,) = deveci.table_one(joined(name))
    shown = [table.header.index(each) for each in ("matrix", "rows", "edges", "IM", "MM", deveci.DEFICIENCY)]
    head, *rows = [[line[place] for place in shown] for line in (table.header, *table.rows)]
    return Table(head, rows)


def deveci_seconds(name: str) -> Table:
    """Return the seconds of Table I, here and as published, and geometric means of those that there are."""
    (table,) = deveci.table_one(joined(name))
    begin = table.header.index(deveci.DEFICIENCY) + 1
    # The times of PR in the paper are shown once, beside the first of its two forms.
    shown = [
        0,
        *(i for i in range(begin, len(table.header)) if table.header[i] != "PR as printed, published"),
    ]
    head, *rows = [[line[place] for place in shown] for line in (table.header, *table.rows)]
    means = (geometric_mean(map(float, filter(None, column))) for column in list(zip(*rows, strict=True))[1:])
    return Table(head, [*rows, ["**geometric mean**", *map(number, means)]])


def deveci_claims(name: str) -> Table:
    """Return the statements of the paper beside what was measured."""
    rows = [list(map(str, row)) for row in deveci.comparisons(joined(name))]
    return Table(["what", "here", "graphs", "the paper"], rows)


def deveci_forms(name: str) -> Table:
    """Return geometric means of the forms of G-PR by strategies of global relabels, as figure 1 has them."""
    means = deveci.means_of_forms(joined(name))
    strategies = list(dict.fromkeys(each.strategy for each in means))
    rows = [
        [
            form,
            *(
                number(1e3 * means[deveci.Variant(form, each)]) if deveci.Variant(form, each) in means else ""
                for each in strategies
            ),
        ]
        for form in deveci.FORMS
    ]
    return Table(["form, ms", *(f"({kind}, {k:g})" for kind, k in strategies)], rows)


def deveci_shares(name: str) -> Table:
    """Return on which share of the graphs each method is fast."""
    (table,) = deveci.shares_table(joined(name))
    return of_suite(table)


def deveci_filter(name: str) -> Table:
    """Return the graphs that the paper's filter of one second keeps."""
    (table,) = deveci.filter_table(joined(name))
    return of_suite(table)


def deveci_first_relabel(name: str) -> Table:
    """Return G-PR without its first global relabel beside G-PR with it: the search, and the whole solve."""
    methods = [deveci.FIXED, deveci.FIXED.replace("]", ",initial_relabel=False]")]
    ratios: dict[str, list[float]] = {"search": [], "solve": []}
    rows = []
    for record in joined(name):
        times = [seconds(record, f"preflow:{method}", "search") for method in methods]
        shares = []
        for phase, found in ratios.items():
            before, after = (seconds(record, f"preflow:{method}", phase) for method in methods)
            found += [after / before] if before and after else []
            shares.append(f"{after / before:.2f}" if before and after else "")
        both = (record.of(f"preflow:{method}") for method in methods)
        relabels = [str(each.detail["global_relabels"]) if each and each.seconds else "" for each in both]
        rows.append([record.name, *(number(time) or "stopped" for time in times), *shares, *relabels])
    means = [f"{geometric_mean(found):.2f}" for found in ratios.values()]
    rows.append(["**geometric mean**", "", "", *means, "", ""])
    head = ["search with it, s", "without, s", "without / with", "of the whole solve"]
    return Table(["graph", *head, "global relabels with it", "without"], rows)


def deveci_counts(name: str) -> Table:
    """Return operations and seconds of G-PR over those of G-HKDW."""
    rows: dict[str, list[float]] = {"barriers": [], "edges read": [], "seconds": []}
    for record in joined(name):
        ours, phases = (of(record, method) for method in list(deveci.COUNTED)[:2])
        for what, count in (("barriers", "barriers"), ("edges read", "arc_scans")):
            rows[what].append(ours.detail[count] / phases.detail[count])
        rows["seconds"].append((ours.median("search") or 0.0) / (phases.median("search") or 1.0))
    return Table(
        ["G-PR over G-HKDW, 28 graphs", "least", "geometric mean", "most"],
        [
            [what, *(f"{each:.2f}" for each in (min(ratios), geometric_mean(ratios), max(ratios)))]
            for what, ratios in rows.items()
        ],
    )


def deveci_periods(name: str) -> Table:
    """Return the work of PR with other periods of global relabels."""
    (table,) = deveci.sweep_table(joined(name))
    names = ("edges read, over k = 0.5", "pushes, over k = 0.5", "seconds, over k = 0.5")
    rows = [[text, *(row[place] for row in table.rows)] for place, text in enumerate(names, 1)]
    rows.append(["graphs on which k reads the fewest edges", *(row[4] for row in table.rows)])
    return Table(["k", *(row[0] for row in table.rows)], rows)


#: What the ratios of the systems of Wu, He and Hong leave out, and what their picture leaves out, too.
UNCOMPARED = {f"preflow:multicore-lockfree-arg@{count}" for count in (1, 2, 8)}
UNDRAWN = UNCOMPARED | {
    f"preflow:{method}"
    for method in ("multicore-lockfree-arg@16", "multicore-lockfree@4", "cuda-hybrid", wu_he_hong.WEIGHTED)
}


def compared(*names: str, without: Set[str] = UNCOMPARED) -> list[InstanceRecord]:
    """Return the systems of Wu, He and Hong, each on a network by the first record that has it."""
    return [
        replace(record, measurements=[each for each in record.measurements if each.contestant not in without])
        for record in joined(*names)
    ]


def wu_he_hong_ratios(*names: str) -> Table:
    """Return times of the systems over each other."""
    return of_suite(wu_he_hong.tables(compared(*names))[1])


def wu_he_hong_figures(*names: str) -> Table:
    """Return how many times as fast as cpu-async on four threads the systems of figures 5.2 to 5.4 are."""
    rows = []
    for (figure, family, system), published in wu_he_hong.FIGURES.items():
        ratios = []
        for record in joined(*names):
            if record.name.startswith(f"{family} "):
                before, after = (
                    seconds(record, f"preflow:{method}") for method in ("multicore-lockfree-arg@4", system)
                )
                ratios += [before / after] if before and after else []
        if ratios:
            cells = map(three_digits, (min(ratios), geometric_mean(ratios), max(ratios)))
            shown = wu_he_hong.system(f"preflow:{system}")
            rows.append([figure, family, shown, published, *cells, str(len(ratios))])
    head = ["figure", "family", "system", "the paper", "here, least", "geometric mean", "most", "networks"]
    return Table(head, rows, words=4)


def colours(name: str) -> Table:
    """Return the colours of the arcs of the networks, means over the rows of a network."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for row in read(name).rows:
        if "why" not in row:
            found.setdefault(f"{row['family']} {row['size']}", []).append(row)
    rows = []
    for network, members in found.items():
        first = members[0]
        times = mean(
            [
                mean(each["seconds"]) if isinstance(each["seconds"], list) else each["seconds"]
                for each in members
            ]
        )
        sizes = first["sizes"] if "sizes" in first else [first["largest"], first["smallest"]]
        cells = [f"{first['vertices']:,}", str(first["colours"]), f"{max(sizes):,}", f"{min(sizes):,}"]
        rows.append([network, *cells, f"{times:.2f}"])
    head = ["network", "vertices", "colours", "pairs of arcs of the largest", "of the smallest", "seconds"]
    return Table(head, rows)


def algorithm_4(name: str) -> Table:
    """Return simulated runs of algorithms 1, 2 and 4 by outcome."""
    heights = {False: "keep their heights (Wu, He and Hong)", True: "get the height n (Łupińska)"}
    sent = {False: "heights, as printed", True: "heights, excess, residual capacities"}
    found: dict[tuple[bool, bool], dict[str, int]] = {}
    columns = ("networks", "right", "no end", "steep", "too much")
    for row in read(name).rows:
        sums = found.setdefault((row["gap"], row["upload"]), dict.fromkeys(columns, 0))
        for column in columns:
            sums[column] += row[column]
    rows = [
        [heights[gap], sent[upload], *(f"{sums[column]:,}" for column in columns)]
        for (gap, upload), sums in found.items()
    ]
    head = ["runs", "right", "never end", "vertices with steep arcs", "of these with more room than excess"]
    return Table(["unreached vertices", "sent back to the GPU", *head], rows, words=2)


def second_stage(name: str) -> Table:
    """Return the time of the second stage over that of the first, by families: least and greatest."""
    found: dict[str, dict[str, list[float]]] = {}
    for record in joined(name):
        family = "acyclic dense" if record.name.startswith("ac-dense") else record.name.partition(" ")[0]
        for each in record.measurements:
            method, _, threads = each.contestant.removeprefix("preflow:").partition("@")
            first, second = each.median("solve"), each.median("recover")
            if first and second and "[" not in method:
                shown = f"`{method}`" + (", threads" if threads else "")
                found.setdefault(shown, {}).setdefault(family, []).append(second / first)
    families = list(dict.fromkeys(name for by_family in found.values() for name in by_family))
    rows = [
        [
            method,
            *(
                f"{three_digits(min(each))} to {three_digits(max(each))}" if each else ""
                for each in (by_family.get(family, []) for family in families)
            ),
        ]
        for method, by_family in found.items()
    ]
    return Table(["system", *families], rows)


def wu_he_hong_active(name: str) -> Table:
    """Return how many vertices are active on the network of section 5.3."""
    (record,) = joined(name)
    vertices = record.sizes["vertices"]
    rows = []
    for each in record.measurements:
        samples = each.detail["active"]
        quarters = [samples[len(samples) * i // 4 : len(samples) * (i + 1) // 4] for i in range(4)]
        method, _, threads = (
            each.contestant.removeprefix("preflow:").replace(f"[{RECORDED}]", "").partition("@")
        )
        shown = f"`{method}`" + (f", {threads} thread{'s' * (threads != '1')}" if threads else "")
        most = f"{max(samples):,} ({100 * max(samples) / vertices:.1f} %)"
        later = ", ".join(f"{max(quarter):,}" for quarter in quarters)
        rows.append([shown, most, f"{mean(samples):,.0f}", f"{samples[0]:,}", later])
    return Table(["method", "most active", "mean", "at first", "most in each quarter of the solve"], rows)


def steep_arcs(name: str) -> Table:
    """Return the hybrid with algorithm 4 as printed over the hybrid without it."""
    found: dict[str, list[float]] = {"seconds": [], "pushes": []}
    for record in joined(name):
        before, after = (of(record, f"cuda-hybrid{text}") for text in ("", "[cancel_steep_arcs=True]"))
        found["seconds"].append((after.median("total") or 0.0) / (before.median("total") or 1.0))
        found["pushes"].append(after.detail["pushes"] / before.detail["pushes"])
    rows = [
        [what, str(len(each)), *(f"{value:.2f}" for value in (min(each), geometric_mean(each), max(each)))]
        for what, each in found.items()
    ]
    return Table(["with steep arcs cancelled / without", "networks", "least", "mean", "most"], rows)


def dense_networks(name: str) -> Table:
    """Return milliseconds of whole calls and of first stages of the systems on acyclic dense networks."""
    records = [record for record in joined(name) if len(record.measurements) > 1]
    rows = []
    for method, shown in SYSTEMS.items():
        phases = ((record, phase) for record in records for phase in ("total", "solve"))
        times = (seconds(record, f"preflow:{method}", phase) for record, phase in phases)
        rows.append([shown, *(number(None if time is None else 1e3 * time) for time in times)])
    head = [text for record in records for text in (f"{record.name}, ms", "first stage")]
    return Table(["system", *head], rows)


def beside(*names: str, methods: Mapping[str, str], part: str = "total") -> Table:
    """Return seconds of methods and their ratios to the first; "kernels" are without global relabels."""
    rows = []
    for record in joined(*names):
        found: list[float | None] = []
        for method in methods:
            each = record.of(f"preflow:{method}")
            time = None if each is None else each.median("solve" if part == "kernels" else part)
            if each is not None and time is not None and part == "kernels":
                time -= each.detail["global_relabel_seconds"]
            found.append(time)
        if found[0] and any(found[1:]):
            ratios = [time / found[0] if time and found[0] else None for time in found[1:]]
            rows.append([record.name, *map(three_digits, (*found, *ratios))])
    heads = list(methods.values())
    return Table(["network", *heads, *(f"{head} / {heads[0]}" for head in heads[1:])], rows)


#: What locks of vertices, barriers, and steps between global relabels are compared with each other.
LOCKS = {
    "cuda-lockfree": "lock-free",
    "cuda-locks": "locks, one try",
    "cuda-locks[tries=1000]": "locks, 1,000 tries",
}
BARRIERS = {
    "cuda-coloring": "counter",
    "cuda-coloring[barrier=lock-free]": "words of blocks",
    "cuda-coloring[barrier=launch]": "launches",
    "cuda-coloring[fence=False]": "counter, no fence",
    "cuda-coloring[barrier=lock-free,fence=False]": "words, no fence",
}
CYCLES = {
    "cuda-hybrid": "CYCLE = 7,000",
    "cuda-hybrid[gap=False]": "without gap",
    "cuda-hybrid[cycles=500]": "500",
    "cuda-hybrid[cycles=2000]": "2,000",
    "cuda-hybrid[cycles=20000]": "20,000",
}

#: The systems beside each other on the acyclic dense networks.
SYSTEMS = {
    "multicore-lockfree-arg@4": "cpu-async, 4 threads",
    "multicore-lockfree-arg@16": "cpu-async, 16 threads",
    wu_he_hong.GPU_ASYNC: "gpu-async",
    "cuda-lockfree": "`cuda-lockfree`",
    "multicore-lockfree@4": "`multicore-lockfree`, 4 threads",
    "multicore-lockfree@16": "`multicore-lockfree`, 16 threads",
    "serial-hi-pr": "`serial-hi-pr`",
    "cuda-push-relabel": "`cuda-push-relabel`",
}

DIVISORS = {
    "cuda-lockfree": "alpha = 10, CYCLE = 500,000",
    **{f"cuda-lockfree[alpha={alpha}]": str(alpha) for alpha in (2, 5, 20, 50)},
    "cuda-lockfree[cycles=5000]": "CYCLE = 5,000",
    "cuda-lockfree[cycles=50000]": "50,000",
}


def divisors_on_gpu(name: str) -> Table:
    """Return milliseconds of assignments on a GPU with other divisors of epsilon, and other CYCLE."""
    rows = []
    for each in joined(name):
        times = [1e3 * (seconds(each, f"preflow:{method}") or 0.0) for method in DIVISORS]
        rows.append([short(each.name).removeprefix("complete "), *(number(time or None) for time in times)])
    return Table(["rows", *DIVISORS.values()], rows)


def small_assignments(name: str) -> Table:
    """Return milliseconds of an assignment of 30 rows beside the paper's."""
    (record,) = joined(name)
    rows = [["Łupińska's, on a GPU of 2011", "about 50", "20", "", ""]]
    for each in record.measurements:
        time = each.median("total")
        if time:
            counts = [
                f"{each.detail[key]:,}" if each.detail.get(key) else "" for key in ("pushes", "relabels")
            ]
            method = each.contestant.removeprefix("preflow:").replace(f"{lupinska.AS_PRINTED},", "")
            method = method.replace(f",{lupinska.AS_PRINTED}", "")
            rows.append([f"`{method}`", number(1e3 * time), number(1 / time), *counts])
    return Table(["method", "milliseconds", "a second", "pushes", "relabels"], rows)


def mean_milliseconds(runs: Sequence[Measurement]) -> str:
    """Return the mean time of whole calls."""
    time = 1e3 * mean([each.median("total") or 0.0 for each in runs])
    return f"{time:.3g}" if time < 999.5 else f"{time:,.0f}"


def rows_of(records: Sequence[InstanceRecord], methods: Sequence[str]) -> dict[str, list[str]]:
    """Return mean pushes, and in brackets milliseconds, of methods on the sizes of complete graphs."""
    groups = {name: members for name, members in by_group(records).items() if name.startswith("complete")}
    found = {}
    for method in methods:
        cells = []
        for members in groups.values():
            runs = [each for record in members if (each := record.of(f"preflow:{method}"))]
            pushes = mean([each.detail["pushes"] for each in runs])
            cells.append(f"{pushes:,.0f} ({mean_milliseconds(runs)})")
        found[method] = cells
    return {"": [name.split()[1] for name in groups], **found}


def price_updates(name: str) -> Table:
    """Return pushes and milliseconds with price updates never, once and often."""
    records = joined(name)
    contestants = {
        each.contestant.removeprefix("preflow:") for record in records for each in record.measurements
    }
    found = rows_of(records, [method for method in lupinska.UPDATE_METHODS if method in contestants])
    often = f"price_updates={lupinska.OFTEN}"
    rows, before = [], ""
    for method, cells in found.items():
        if method:
            short_name, _, options = method.rstrip("]").partition("[")
            cycles = options.partition("cycles=")[2]
            when = "none" if not options else "at each meeting" if often in options else "once a refine"
            if cycles == str(lupinska.CYCLES[0]):
                when += ", as printed"
            shown = "" if short_name == before else f"`{short_name}`"
            rows.append([shown, when, f"{int(cycles):,}" if cycles else "", *cells])
            before = short_name
    return Table(["method", "updates", "meetings after", *(f"{n} rows" for n in found[""])], rows, words=2)


def divisors(name: str) -> Table:
    """Return pushes and milliseconds with other divisors of epsilon."""
    methods = [method for method in lupinska.ALPHA_METHODS if "alpha=" in method]
    found = rows_of(joined(name), methods)
    rows = []
    for method in methods:
        form = "algorithm 5.1" if "serial" in method else "`multicore-lockfree`"
        rows.append([form, method.rstrip("]").partition("alpha=")[2], *found[method]])
    return Table(["method", "divisor", *(f"{n} rows" for n in found[""])], rows)


def threads_per_block(name: str) -> Table:
    """Return milliseconds with other numbers of threads per block."""
    rows = [
        [
            f"{each.group.split()[1]} rows, ms",
            *(milliseconds(each, method) for method in lupinska.BLOCK_METHODS),
        ]
        for each in joined(name)
        if each.name.startswith("complete")
    ]
    counts = (int(method.rstrip("]").partition("=")[2]) for method in lupinska.BLOCK_METHODS)
    return Table(["threads per block", *(f"{count:,}" for count in counts)], rows)


def arc_fixing(name: str) -> Table:
    """Return the outcomes of cost scaling that fixes arcs in the middle of a refine."""
    found: dict[tuple[int, int], list[int]] = {}
    for row in read(name).rows:
        sums = found.setdefault((row["rows"], row["discharges"]), [0, 0, 0, 0])
        for place, key in enumerate(("matrices", "right", "dearer", "no assignment")):
            sums[place] += row[key]
    rows = [[f"{n} to {n}", str(after), *map(str, sums)] for (n, after), sums in found.items()]
    head = ["size", "arcs fixed after discharges", "matrices", "right", "optimum lost", "no assignment left"]
    return Table(head, rows)


def growth(name: str) -> Table:
    """Return operations over the paper's bound as instances grow."""
    (table,) = lupinska.growth_table(joined(name))
    methods = {method: method.removeprefix("preflow:") for method in (row[0] for row in table.rows)}
    rows = [[f"`{methods[row[0]].partition('[')[0]}`", *row[1:]] for row in table.rows]
    return Table(list(table.header), rows, words=2)


def images(name: str, methods: Sequence[str]) -> Table:
    """Return milliseconds of methods on images, by the side of the image."""
    rows = [
        [each.name.partition("x")[2].split()[0], *(milliseconds(each, method) for method in methods)]
        for each in joined(name)
        if each.name.startswith("grid")
    ]
    return Table(["side of the image", *(f"`{method}`" for method in methods)], rows)


#: The versions of CudaCuts by their options.
VERSIONS = {
    "atomic=False": "push, pull, relabel",
    "stopping=published": "push, relabel, the printed rule of the end",
    "relabel=lockstep": "push, search in lockstep",
}


def cuda_cuts(name: str) -> Table:
    """Return milliseconds of CudaCuts on images, by blocks, pushes before a relabel, and version."""
    records, limit = joined(name), read(name).header["settings"]["time_limit"]
    rows = []
    for method in lupinska.CUDA_CUTS_METHODS:
        options = dict(each.split("=") for each in method.rstrip("]").partition("[")[2].split(",") if each)
        shape = f"{options.pop('block_width', 32)} x {options.pop('block_height', 8)}"
        pushes = options.pop("pushes", "1")
        version = ", ".join(VERSIONS[f"{option}={value}"] for option, value in options.items())
        times = [seconds(each, f"preflow:{method}") for each in records]
        cells = [
            f"stopped after {1000 * limit:,.0f}" if time and time >= limit else number(time and 1e3 * time)
            for time in times
        ]
        rows.append([shape, pushes, version or "push, relabel", *cells])
    sides = [f"{each.name.partition('x')[2].split()[0]}, ms" for each in records]
    return Table(["block", "m", "phases", *sides], rows, words=3)


def hong(name: str) -> Table:
    """Return Hong's algorithm without and with global relabels, where a limit of time stopped it, by name."""
    limit = read(name).header["settings"]["time_limit"]
    rows = []
    for record in joined(name):
        what = "network" if record.problem == "max_flow" else "image"
        cells: list[str] = []
        for method in lupinska.HONG_METHODS:
            each = of(record, method)
            time = each.median("total")
            stopped = time is None or time >= limit
            counts = each.detail.get("pushes", 0) + each.detail.get("relabels", 0)
            cells += [
                f"stopped after {limit:g}" if stopped else number(time),
                f"{counts:,}" if counts else "",
            ]
        rows.append([f"{what}, side {record.name.partition('x')[2].split()[0]}", *cells])
    return Table(["grid", "Hong, s", "operations", "with global relabels, s", "operations"], rows)


def optical_flow(name: str) -> Table:
    """Return optical flow by assignments, in frames a second."""
    found: dict[str, dict[str, Mapping[str, float]]] = {}
    for row in read(name).rows:
        found.setdefault(row["method"], {})[row["reading"]] = row
    rows = [["Łupińska's, 2011", "about 20", "about 50", "about 0.03", ""]]
    for method, by_reading in found.items():
        cells = []
        for reading in ("points", "patches"):
            one = by_reading.get(reading, {})
            cells += [number(one.get(key)) for key in ("frames_a_second", "milliseconds_an_assignment")]
        rows.append([f"`{method}`", *cells])
    head = ["points, frames a second", "ms an assignment", "patches, frames a second", "ms an assignment"]
    return Table(["method", *head], rows)


#: The records of the systems of Wu, He and Hong. Of a system on a network the first that has it counts.
MEASURED = ("wu-he-hong", "wu-he-hong-largest", "wu-he-hong-dense", "wu-he-hong-full")
#: The tables by their names in the pages.
TABLES: Mapping[str, Shown] = MappingProxyType(
    {
        "cihan-serial-codes": Shown(serial_codes, ("cihan-serial", "cihan-threads")),
        "cihan-headline": Shown(headline, ("cihan-serial", "cihan-threads")),
        "cihan-on-eight-threads": Shown(eight_threads, ("cihan-threads",)),
        "cihan-volumes": Shown(volumes, ("cihan-serial", "cihan-threads")),
        "cihan-threads": Shown(on_threads, ("cihan-threads",)),
        "cihan-seconds": Shown(seconds_on_volumes, ("cihan-seconds", "cihan-threads")),
        "cihan-volume-codes": Shown(
            codes_on_volumes, ("cihan-seconds", "cihan-volume-codes", "cihan-threads")
        ),
        "cihan-deviations": Shown(deviations, ("cihan-seconds", "cihan-serial", "cihan-threads")),
        "cihan-operation-times": Shown(
            operation_times, ("cihan-seconds", "cihan-volume-codes", "cihan-serial", "cihan-threads")
        ),
        "cihan-gaps": Shown(gaps, ("cihan-gaps", "cihan-gaps-small")),
        "cihan-reading": Shown(reading, ("cihan-reading",)),
        "cihan-more-operations": Shown(more_operations, ("cihan-threads",)),
        "cihan-variants": Shown(variants, ("cihan-variants", "cihan-serial")),
        "cihan-relabel-shares": Shown(relabel_shares, ("cihan-serial", "cihan-threads")),
        "cihan-active-vertices": Shown(active_vertices, ("cihan-active",)),
        "cihan-related-systems": Shown(related_systems, ("cihan-related",)),
        "cpu-async-and-gpus": Shown(cpu_async_and_gpus, ("wu-he-hong-full",)),
        "wu-he-hong-ratios": Shown(wu_he_hong_ratios, MEASURED),
        "wu-he-hong-figures": Shown(wu_he_hong_figures, MEASURED),
        "wu-he-hong-dense": Shown(dense_networks, ("wu-he-hong-dense",)),
        "wu-he-hong-colours": Shown(colours, ("wu-he-hong-colours",)),
        "wu-he-hong-second-stage": Shown(second_stage, ("wu-he-hong-full",)),
        "wu-he-hong-active": Shown(wu_he_hong_active, ("wu-he-hong-active",)),
        "wu-he-hong-algorithm-4": Shown(algorithm_4, ("wu-he-hong-algorithm-4",)),
        "wu-he-hong-locks": Shown(partial(beside, methods=LOCKS), ("wu-he-hong-locks",)),
        "wu-he-hong-barriers": Shown(
            partial(beside, methods=BARRIERS, part="kernels"),
            ("wu-he-hong-barriers", "wu-he-hong-launches", "wu-he-hong-largest", "wu-he-hong-full"),
        ),
        "wu-he-hong-cycles": Shown(partial(beside, methods=CYCLES), ("wu-he-hong-cycles",)),
        "wu-he-hong-steep-arcs": Shown(steep_arcs, ("wu-he-hong-steep-arcs",)),
        "deveci-graphs": Shown(deveci_graphs, ("deveci",)),
        "deveci-seconds": Shown(deveci_seconds, ("deveci",)),
        "deveci-claims": Shown(deveci_claims, ("deveci",)),
        "deveci-forms": Shown(deveci_forms, ("deveci",)),
        "deveci-shares": Shown(deveci_shares, ("deveci",)),
        "deveci-counts": Shown(deveci_counts, ("deveci-counts",)),
        "deveci-periods": Shown(deveci_periods, ("deveci-periods",)),
        "deveci-filter": Shown(deveci_filter, ("deveci-filter",)),
        "deveci-first-relabel": Shown(deveci_first_relabel, ("deveci-first-relabel",)),
        "lupinska-assignment": Shown(small_assignments, ("lupinska-assignment",)),
        "lupinska-updates-one-thread": Shown(price_updates, ("lupinska-sizes",)),
        "lupinska-updates": Shown(price_updates, ("lupinska-gpu",)),
        "lupinska-alpha-gpu": Shown(divisors_on_gpu, ("lupinska-alpha-gpu",)),
        "lupinska-divisors": Shown(divisors, ("lupinska-sizes",)),
        "lupinska-arc-fixing": Shown(arc_fixing, ("lupinska-arc-fixing",)),
        "lupinska-threads-per-block": Shown(threads_per_block, ("lupinska-gpu",)),
        "lupinska-growth": Shown(growth, ("lupinska-growth",)),
        "lupinska-grids": Shown(lambda name: images(name, lupinska.GRID_METHODS), ("lupinska-grids",)),
        "lupinska-cuda-cuts": Shown(cuda_cuts, ("lupinska-cuda-cuts",)),
        "lupinska-hong": Shown(hong, ("lupinska-hong",)),
        "lupinska-networks": Shown(lambda name: images(name, lupinska.FLOW_METHODS), ("lupinska-gpu",)),
        "lupinska-optical-flow-pairs": Shown(
            lambda name: Table(optical_flow_pairs.HEADER, optical_flow_pairs.shares(read(name).rows)),
            ("lupinska-optical-flow-pairs",),
        ),
        "lupinska-optical-flow": Shown(optical_flow, ("lupinska-optical-flow",)),
    }
)
