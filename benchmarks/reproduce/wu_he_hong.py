"""Wu, He and Hong, maximum flow on CUDA (2011): their five families at their sizes, section 5.4.

They compare an asynchronous method on the CPU (cpu-async) and two methods on the GPU (gpu-async, gpu-color).
cpu-async relabels globally while others push; multicore-lockfree, the same at a barrier, takes part as well.
The suite adds gpu-async with its searches on the GPU, preflow's own GPU method, and a serial method. A report
has the times of each of the paper's GPU methods over those of cpu-async, as its figures 5.3 and 5.4 have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import fmean, geometric_mean
from types import MappingProxyType
from typing import NamedTuple

from ..problem import Case, Suite, Table, method_and_threads
from ..problems import PROBLEMS
from ..profiles import panels
from ..records import InstanceRecord
from ..scaling import by_group, own_contestants, part_seconds
from ..suites.flow import family_case
from . import colours, printed_hybrid
from .activity import RECORDED, activity_table
from .selection import Paper, Program, Selection

#: gpu-color with iterations in proportion to the sizes of colours, which section 5.5 suggests.
WEIGHTED = "cuda-coloring[weighted=True]"
#: gpu-async, algorithms 1, 2 and 4: no gaps, and steep arcs are cancelled. Labels start exact, not with 0.
GPU_ASYNC = "cuda-hybrid[gap=False,cancel_steep_arcs=True]"
METHODS = (
    "multicore-lockfree-arg",
    "multicore-lockfree",
    GPU_ASYNC,
    "cuda-coloring",
    WEIGHTED,
    "cuda-lockfree",
    "cuda-push-relabel",
    "serial-hi-pr",
)
#: The part about active vertices: section 5.3 counts them on a network of 262,144 vertices and 1,276,928
#: arcs, which is that of the family rmf-long of this size.
ACTIVE, COUNTED, SMALL_COUNTED = "active", ("rmf-long", "32x256"), ("rmf-long", "8x32")
ACTIVITY_METHODS = (f"serial-fifo[{RECORDED}]", f"multicore-fifo[{RECORDED}]")
#: What the paper says there.
PUBLISHED_ACTIVITY: Mapping[str, str] = MappingProxyType(
    {" ".join(COUNTED): "at most 1,400 at a time, at first and most of the time hundreds"}
)
#: The sizes of each family.
SIZES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "ac-dense": ("2000", "4000", "6000"),
        "rlg-long": ("512x1024", "768x1280", "1024x1536"),
        "rlg-wide": ("512x512", "768x768", "1024x1024"),
        "rmf-long": ("24x192", "32x256", "44x352", "56x448", "68x544"),
        "rmf-wide": ("48x48", "64x64", "84x84", "108x108", "136x136"),
    }
)
#: Smaller sizes of the same kinds.
SMALL_SIZES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "ac-dense": ("200", "300", "400"),
        "rlg-long": ("32x64", "48x80", "64x96"),
        "rlg-wide": ("64x64", "96x96", "128x128"),
        "rmf-long": ("6x24", "8x32", "11x44"),
        "rmf-wide": ("12x12", "16x16", "21x21"),
    }
)
#: The paper has a machine with four cores.
THREADS = (1, 2, 4, 8, 16)
#: A family is drawn if a contestant has times for this number of sizes.
LEAST_SIZES = 3

#: Seconds by number of arcs, of each contestant, of each family.
SecondsBySize = dict[str, dict[str, dict[int, float]]]


def cases(files: Sequence[str]) -> list[Case]:
    """Return the five families at the sizes of the paper."""
    return [family_case(name, size) for name, sizes in SIZES.items() for size in sizes]


def seeds_of(name: str, size: str, seeds: int) -> list[Case]:
    """Return the instances of a size; the first has the name of the size."""
    group = f"{name} {size}"
    return [
        replace(family_case(name, size, f"{group} seed {seed}" if seed else group, seed), group=group)
        for seed in range(seeds)
    ]


def by_size(records: Sequence[InstanceRecord], part: str) -> SecondsBySize:
    """Return the seconds of a part of each contestant by the number of arcs, for each family.

    Seconds are means over the seeds of a size; a contestant must have solved all of them.
    """
    table: SecondsBySize = {}
    for group, members in by_group(records).items():
        family, _, _ = group.rpartition(" ")
        curves = table.setdefault(family, {})
        for contestant in dict.fromkeys(
            each.contestant for record in members for each in record.measurements
        ):
            times = [part_seconds(record.of(contestant), part) for record in members]
            known = [seconds for seconds in times if seconds is not None]
            if len(known) == len(times):
                curves.setdefault(contestant, {})[members[0].sizes["arcs"]] = fmean(known)
    return {
        family: curves
        for family, curves in table.items()
        if max(map(len, curves.values()), default=0) >= LEAST_SIZES
    }


def draw(records: Sequence[InstanceRecord], folder: Path) -> list[Path]:
    """Draw seconds by number of arcs, with a panel for each family and a curve for each contestant."""
    from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter

    problem = PROBLEMS[records[0].problem]
    table = by_size(records, problem.score)
    if not table:
        return []
    path = folder / f"seconds-by-size-{problem.name}.png"
    with panels(table, f"{problem.name}, {problem.score_text}", path, "arcs", "seconds") as drawn:
        for axes, _ in drawn:
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            axes.xaxis.set_major_formatter(EngFormatter(sep=""))
            axes.xaxis.set_minor_formatter(NullFormatter())
    return [path]


# Comparison

#: The paper's names of the methods.
NAMES: Mapping[str, str] = MappingProxyType(
    {
        "multicore-lockfree-arg": "cpu-async",
        GPU_ASYNC: "gpu-async",
        "cuda-hybrid": "gpu-async with gaps",
        "cuda-coloring": "gpu-color",
        WEIGHTED: "gpu-color, weighted",
    }
)
#: What figures 5.2 to 5.4 and their text say of systems on a GPU: how many times as fast as cpu-async on four
#: threads they are, by figure, family and method.
FIGURES: Mapping[tuple[str, str, str], str] = MappingProxyType(
    {
        ("5.2", "ac-dense", GPU_ASYNC): "about 3",
        ("5.2", "ac-dense", "cuda-hybrid"): "",
        ("5.3", "rlg-long", GPU_ASYNC): "4",
        ("5.3", "rlg-long", "cuda-hybrid"): "",
        ("5.3", "rlg-long", "cuda-coloring"): "not applied",
        ("5.3", "rlg-wide", GPU_ASYNC): "4",
        ("5.3", "rlg-wide", "cuda-hybrid"): "",
        ("5.3", "rlg-wide", "cuda-coloring"): "not applied",
        ("5.4", "rmf-long", GPU_ASYNC): "at least 3",
        ("5.4", "rmf-long", "cuda-hybrid"): "",
        ("5.4", "rmf-long", "cuda-coloring"): "at least 3",
        ("5.4", "rmf-wide", GPU_ASYNC): "at least 3",
        ("5.4", "rmf-wide", "cuda-hybrid"): "",
        ("5.4", "rmf-wide", "cuda-coloring"): "at least 3, up to more than 8",
    }
)
#: The pairs of systems that are compared, the first over the second, and what the paper says of them.
PAIRS: Mapping[tuple[str, str], str] = MappingProxyType(
    {
        ("gpu-async", "cpu-async"): "3 to 8 times as fast",
        ("gpu-color", "cpu-async"): "3 to 8 times as fast",
        ("gpu-color", "gpu-async"): "faster on rmf networks",
        ("gpu-color, weighted", "gpu-color"): "",
        ("cuda-lockfree", "cpu-async"): "",
        ("gpu-async", "multicore-lockfree"): "",
        ("gpu-color", "multicore-lockfree"): "",
        ("cuda-lockfree", "multicore-lockfree"): "",
        ("cpu-async", "multicore-lockfree"): "",
        ("gpu-async", "serial-hi-pr"): "",
        ("gpu-color", "serial-hi-pr"): "",
        ("cuda-lockfree", "serial-hi-pr"): "",
        ("cuda-push-relabel", "serial-hi-pr"): "",
    }
)


class Ratios(NamedTuple):
    """The times of a contestant over those of another, on each instance that both solved.

    Attributes
    ----------
    first, second : str
        The contestants by the paper's names, with their threads.
    ratios : dict
        By instance; below 1 the first is faster.
    published : str
        What the paper says of the two.
    """

    first: str
    second: str
    ratios: dict[str, float]
    published: str


def system(contestant: str) -> str:
    """Return the paper's name of a contestant's method, or the method's own, without the threads."""
    method, _ = method_and_threads(contestant)
    method = method.replace("cuda-pushrelabel", "cuda-push-relabel")
    return NAMES.get(method, method)


def ratios(records: Sequence[InstanceRecord], part: str = "total") -> list[Ratios]:
    """Return the times of each pair of PAIRS over each other, for each number of threads."""
    names = own_contestants(records)
    found = []
    for (first, second), published in PAIRS.items():
        for before in (name for name in names if system(name) == first):
            for after in (name for name in names if system(name) == second):
                times = {
                    record.name: (part_seconds(record.of(before), part), part_seconds(record.of(after), part))
                    for record in records
                }
                both = {name: a / b for name, (a, b) in times.items() if a and b}
                if both:
                    found.append(Ratios(_shown(before), _shown(after), both, published))
    return found


def _shown(contestant: str) -> str:
    _, threads = method_and_threads(contestant)
    return system(contestant) if threads is None else f"{system(contestant)}@{threads}"


def tables(records: Sequence[InstanceRecord]) -> list[Table]:
    """Return the table of the ratios, that of their ranges with the paper's, and that of active vertices."""
    counted = activity_table(records, PUBLISHED_ACTIVITY)
    rows = ratios(records, PROBLEMS[records[0].problem].score)
    if not rows:
        return counted
    heads = [f"{row.first} / {row.second}" for row in rows]
    single = [
        [
            record.name,
            *(f"{row.ratios[record.name]:.3g}" if record.name in row.ratios else "" for row in rows),
        ]
        for record in records
    ]
    ranges = [
        [
            head,
            str(len(row.ratios)),
            f"{min(row.ratios.values()):.2g} to {max(row.ratios.values()):.2g}",
            f"{geometric_mean(row.ratios.values()):.2g}",
            str(sum(ratio < 1 for ratio in row.ratios.values())),
            row.published,
        ]
        for head, row in zip(heads, rows, strict=True)
    ]
    columns = ["times of", "instances", "range", "geometric mean", "first is faster on", "the paper"]
    return [
        Table("Time of one method over that of another, instance by instance", ["instance", *heads], single),
        Table("The same, all instances that both solved", columns, ranges),
        *counted,
    ]


#: The suite by its name.
SUITES: Mapping[str, Suite] = MappingProxyType(
    {"wu-he-hong": Suite(cases, METHODS, THREADS, tables=tables, draw=draw)}
)

# Selection


def suites(selection: Selection) -> dict[str, Suite]:
    """Return the suite of the selected families, and of the network whose active vertices are counted."""
    families = [name for name in SIZES if selection.wants(name)]
    sizes = SMALL_SIZES if selection.small else SIZES
    counted = SMALL_COUNTED if selection.small else COUNTED

    seeds = 1 if selection.seeds is None else selection.seeds

    def chosen(files: Sequence[str]) -> list[Case]:
        found = [case for name in families for size in sizes[name] for case in seeds_of(name, size, seeds)]
        if selection.wants(ACTIVE) and " ".join(counted) not in [case.name for case in found]:
            found.append(family_case(*counted))
        return found

    methods = [*(METHODS if families else ()), *(ACTIVITY_METHODS if selection.wants(ACTIVE) else ())]
    return {"max_flow": Suite(chosen, tuple(methods), THREADS, tables, draw)}


PAPER = Paper(
    "Wu, He and Hong, Efficient CUDA Algorithms for the Maximum Network Flow Problem (2011)",
    MappingProxyType(
        {
            **{name: f"seconds by size and ratios of the systems on {name}" for name in SIZES},
            ACTIVE: "how many vertices are active at a time (section 5.3)",
        }
    ),
    suites,
    seeded=True,
    full="for each seed and run about an hour with a GPU and 16 cores; without a GPU its methods are "
    "left out and named",
    small="minutes",
    programs=MappingProxyType(
        {
            "algorithm-4": Program(
                "algorithms 1, 2 and 4 as printed, simulated: which readings always end", printed_hybrid.show
            ),
            "colours": Program(
                "section 5.3: the colouring before gpu-color starts, its colours and seconds",
                partial(colours.show, SIZES, SMALL_SIZES),
            ),
        }
    ),
)
