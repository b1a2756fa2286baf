"""What Deveci et al. (2013), section IV, compare: their figures 1 to 4 and the numbers of their text.

Seconds are those after the initial matching, as theirs; but a transposed matrix that a method makes counts. A
geometric mean of times over times takes the instances on which both were measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from statistics import geometric_mean
from typing import Any, NamedTuple

from ..matching.methods import METHODS
from ..solving.dispatch import find_method
from .deveci import CLAIMS, TABLE
from .problem import SEARCH, method_and_options, method_and_threads
from .profiles import COLOURS, Times, draw_performance_profile, draw_speed_up_profile
from .runner import InstanceRecord

SUITES = ("deveci28", "deveci28-small")
BASIS = "Deveci et al. 2013, without the initial matching"
#: What they call the methods that they compare; G-PR without options is G-PR-Shr with (adaptive, 0.7).
NAMES = {
    "serial-push-relabel": "PR",
    "cuda-push-relabel": "G-PR",
    "cuda-hkdw": "G-HKDW",
    "multicore-disjoint-bfs": "P-DBFS",
}
FIRST, LISTS, SHRINKING = FORMS = ("G-PR-First", "G-PR-NoShr", "G-PR-Shr")

Row = Sequence[float | None]
Strategy = tuple[str, float]


class SpeedUp(NamedTuple):
    """A contestant's speed-up over PR, a geometric mean over so many instances."""

    contestant: str
    instances: int
    speed_up: float


class Comparison(NamedTuple):
    """One statement of the text: what was found here, and what was published."""

    what: str
    here: str
    instances: int
    published: str


class Variant(NamedTuple):
    """A form of G-PR with a strategy of global relabels."""

    form: str
    strategy: Strategy


def search_seconds(records: Sequence[InstanceRecord]) -> Times:
    """Return the median times of preflow's methods on the instances of the suite."""
    records = _of_suite(records)
    names = dict.fromkeys(each.contestant for record in records for each in record.measurements)
    times = {
        name: [each.median(SEARCH) if (each := record.of(name)) else None for record in records]
        for name in names
    }
    return {name: row for name, row in times.items() if any(row)}


def speed_ups_over_pr(records: Sequence[InstanceRecord]) -> list[SpeedUp]:
    """Return everybody's speed-ups, where PR took part."""
    times = search_seconds(records)
    base = _compared(times).get("PR", ())
    found = [(name, _ratios(base, row)) for name, row in times.items() if row is not base]
    return [SpeedUp(name, len(ups), geometric_mean(ups)) for name, ups in found if ups]


def comparisons(records: Sequence[InstanceRecord]) -> list[Comparison]:
    """Return those statements of the text whose contestants took part."""
    times = search_seconds(records)
    compared, variants = _compared(times), _variants(times)
    rows = []
    for name, row in compared.items():
        ups = _ratios(row, compared.get("G-PR", ()))
        if ups and name != "G-PR":
            here = f"{geometric_mean(ups):.3g}x"
            rows.append(Comparison(f"G-PR over {name}", here, len(ups), CLAIMS[name.partition("@")[0]]))
    for claim, before, after in (("active lists", FIRST, LISTS), ("shrinking", LISTS, SHRINKING)):
        strategies = [each.strategy for each in variants if each.form == before]
        pairs = [(Variant(before, strategy), Variant(after, strategy)) for strategy in strategies]
        rows += _gains(f"{claim}: {after} over {before}, strategy by strategy", claim, pairs, variants)
    strategies = list(dict.fromkeys(each.strategy for each in variants))
    adaptive, fixed = ([each for each in strategies if each[0] == kind] for kind in ("adaptive", "fixed"))
    pairs = [
        (Variant(form, before), Variant(form, after))
        for form, before, after in product(FORMS, fixed, adaptive)
    ]
    rows += _gains("adaptive over fixed relabels, pair by pair", "adaptive", pairs, variants)
    return rows


def draw(records: Sequence[InstanceRecord], folder: Path) -> list[Path]:
    """Write figures 1 to 4 as PNG, as far as contestants took part; return the paths of those written."""
    times = search_seconds(records)
    compared = _compared(times)
    drawn: list[Path] = []

    def new(name: str) -> Path:
        drawn.append(folder / f"deveci-{name}.png")
        return drawn[-1]

    variants = _variants(times)
    if len(variants) > 1 and (means := _means(variants)):
        _draw_variants(means, new("1-global-relabels"))
    parallel = {name: row for name, row in compared.items() if name != "PR"}
    if "PR" in compared and parallel:
        draw_speed_up_profile(compared, "PR", BASIS, new("2-speed-up-profile"))
    if len(parallel) > 1:
        draw_performance_profile(parallel, BASIS, new("3-performance-profile"))
    if "PR" in compared and "G-PR" in compared:
        names = [record.name for record in _of_suite(records)]
        pairs = zip(names, compared["PR"], compared["G-PR"], strict=True)
        ups = {name: before / after for name, before, after in pairs if before and after}
        if ups:
            _draw_individual(ups, new("4-individual-speed-ups"))
    return drawn


def _of_suite(records: Iterable[InstanceRecord]) -> list[InstanceRecord]:
    return [record for record in records if record.suite in SUITES]


def _ratios(before: Row, after: Row) -> list[float]:
    """Return by how much the second is faster, on the instances on which both have a time."""
    return [b / a for b, a in zip(before, after, strict=False) if b and a]


def _registered(contestant: str) -> tuple[str, dict[str, Any], int | None]:
    """Return a contestant's method by its name in the registry, its options and its threads."""
    text, threads = method_and_threads(contestant)
    name, options = method_and_options(text)
    return name if name == "auto" else find_method(METHODS, name).name, options, threads


def _compared(times: Times) -> dict[str, Row]:
    """Return the times of the four that the paper compares, under its names, in its order."""
    found: dict[str, Row] = {}
    for method, name in NAMES.items():
        for contestant, row in times.items():
            registered, options, threads = _registered(contestant)
            if registered == method and not options:
                several = threads is not None and find_method(METHODS, method).parallel
                found[f"{name}@{threads}" if several else name] = row
    return found


def _variants(times: Times) -> dict[Variant, Row]:
    """Return the times of all forms of G-PR with all strategies."""
    record = find_method(METHODS, "cuda-push-relabel")
    found: dict[Variant, Row] = {}
    for contestant, row in times.items():
        method, given, _ = _registered(contestant)
        if method == record.name and given.keys() <= {"active_list", "shrink", "global_relabel"}:
            options = record.make_options(given)
            form = FIRST if not options.active_list else SHRINKING if options.shrink else LISTS
            found.setdefault(Variant(form, tuple(options.global_relabel)), row)
    return found


def _means(variants: Mapping[Variant, Row]) -> dict[Variant, float]:
    """Return the geometric means over those instances on which all variants have times."""
    complete = [i for i, column in enumerate(zip(*variants.values(), strict=True)) if all(column)]
    if not complete:
        return {}
    return {each: geometric_mean([row[i] or 0.0 for i in complete]) for each, row in variants.items()}


def _gains(
    what: str, claim: str, pairs: Sequence[tuple[Variant, Variant]], variants: Mapping[Variant, Row]
) -> Iterator[Comparison]:
    """Yield, if there is any, by how much the second variants of some pairs are faster than the first."""
    both = [_ratios(variants.get(before, ()), variants.get(after, ())) for before, after in pairs]
    if gains := [100.0 * (geometric_mean(ups) - 1.0) for ups in both if ups]:
        faster = sum(gain > 0.0 for gain in gains)
        here = f"{min(gains):.0f} to {max(gains):.0f} %, faster in {faster} of {len(gains)}"
        yield Comparison(what, here, min(len(ups) for ups in both if ups), CLAIMS[claim])


@contextmanager
def _bars(title: str, labels: Sequence[str], y: str, path: Path) -> Iterator[Any]:
    """Yield axes for bars with a label each, and write them as PNG."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 4.8), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    yield axes
    axes.set_title(title, loc="left")
    axes.set_xticks(range(len(labels)), labels)
    if len(labels) > 8:
        axes.tick_params("x", rotation=60)
        for label in axes.get_xticklabels():
            label.set(ha="right", rotation_mode="anchor")
    axes.set_ylabel(y)
    axes.grid(axis="y", color="0.9")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper right", ncols=3, frameon=False)
    figure.savefig(path)


def _draw_variants(means: Mapping[Variant, float], path: Path) -> None:
    strategies = sorted({each.strategy for each in means})
    forms = [form for form in FORMS if any(each.form == form for each in means)]
    width = 0.8 / len(forms)
    labels = [f"({kind}, {k:g})" for kind, k in strategies]
    with _bars(
        "Forms of G-PR and strategies of global relabels", labels, "seconds, geometric mean", path
    ) as axes:
        for i, form in enumerate(forms):
            there = [k for k, strategy in enumerate(strategies) if Variant(form, strategy) in means]
            axes.bar(
                [k + (i - (len(forms) - 1) / 2) * width for k in there],
                [means[Variant(form, strategies[k])] for k in there],
                width,
                color=COLOURS[i],
                label=form,
            )


def _draw_individual(ups: Mapping[str, float], path: Path) -> None:
    """Draw the speed-ups in the order of the table, those that the paper reports beside them."""
    from matplotlib.ticker import NullFormatter

    matrices = {name: name.partition(" ")[0].removesuffix("-like") for name in ups}
    names = sorted(ups, key=lambda name: list(TABLE).index(matrices[name]))
    with _bars("G-PR over PR, graph by graph", names, "speed-up", path) as axes:
        heights = [ups[name] - 1.0 for name in names]
        axes.bar(range(len(names)), heights, bottom=1.0, color=COLOURS[0], label="here")
        published = [TABLE[matrices[name]] for name in names]
        axes.plot(
            range(len(names)),
            [row.pr / row.g_pr for row in published],
            linestyle="none",
            marker="o",
            color=COLOURS[1],
            label="Deveci et al., on the matrix itself",
        )
        axes.axhline(1.0, color="0.6", linewidth=1.0)
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter(NullFormatter())
