"""Wu, He and Hong, maximum flow on CUDA (2011): their five families at their sizes, section 5.4.

They compare an asynchronous method on the CPU (cpu-async) and two methods on the GPU (gpu-async, gpu-color).
The suite adds the second of them with its searches on the GPU, preflow's own GPU method, and a serial method.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from preflow.bench.flow_suites import family_case
from preflow.bench.problem import Case, Suite
from preflow.bench.problems import PROBLEMS
from preflow.bench.profiles import panels
from preflow.bench.runner import InstanceRecord
from preflow.bench.scaling import part_seconds

METHODS = (
    "multicore-lockfree",
    "cuda-hybrid",
    "cuda-coloring",
    "cuda-lockfree",
    "cuda-push-relabel",
    "serial-hi-pr",
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
#: A family is drawn if a contestant has times for this number of sizes.
LEAST_SIZES = 3

#: Seconds by number of arcs, of each contestant, of each family.
SecondsBySize = dict[str, dict[str, dict[int, float]]]


def cases(files: Sequence[str]) -> list[Case]:
    """Return the five families at the sizes of the paper."""
    return [family_case(name, size) for name, sizes in SIZES.items() for size in sizes]


def by_size(records: Sequence[InstanceRecord], part: str) -> SecondsBySize:
    """Return the seconds of a part of each contestant by the number of arcs, for each family."""
    table: SecondsBySize = {}
    for record in records:
        family, _, _ = record.name.rpartition(" ")
        curves = table.setdefault(family, {})
        for measurement in record.measurements:
            seconds = part_seconds(measurement, part)
            if seconds is not None:
                curves.setdefault(measurement.contestant, {})[record.sizes["arcs"]] = seconds
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


#: The suite by its name.
SUITES: Mapping[str, Suite] = MappingProxyType({"wu-he-hong": Suite(cases, METHODS, draw=draw)})
