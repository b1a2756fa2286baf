"""Deveci, Kaya, Uçar and Çatalyürek (ICPP 2013): their matrices, published times, comparisons and figures.

The title is "A push-relabel-based maximum cardinality bipartite matching algorithm on GPUs".

The suite "deveci28" has the 28 matrices of Table I. A matrix is read from a file if the user has it;
otherwise a generated graph of the same kind and size replaces it. A report compares the methods as section IV
does, and draws figures 1 to 4. Seconds are those after the initial matching, as in the paper, except that the
transposed matrix counts if a method makes one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import product, zip_longest
from pathlib import Path
from statistics import fmean, geometric_mean
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from preflow.bipartite.problem import METHODS as MATCHING_METHODS
from preflow.generators import (
    co_authorship,
    delaunay,
    erdos_renyi,
    hidden_diagonal,
    hugetrace_like,
    power_law,
    rmat,
    road_like,
)
from preflow.graph.bipartite import BipartiteGraph
from preflow.io.matrix_collection import DEVECI28
from preflow.solving.dispatch import find_method

from ..files import find_files, instance_name
from ..machine import check_memory
from ..problem import Case, Suite, Table, method_and_options, method_and_threads
from ..profiles import COLOURS, Times, draw_performance_profile, draw_speed_up_profile
from ..records import SEARCH, InstanceRecord, Measurement
from ..report import seconds_text
from ..suites.matching import graph_case, matrix_case
from .selection import Paper, Selection

# Published table


class Matrix(NamedTuple):
    """A row of Table I.

    Attributes
    ----------
    rows, columns : int
    edges : int
        The number of entries in the file, which has one triangle of a symmetric matrix.
    initial, maximum : int
        The cardinality of the initial matching (IM) and of a maximum matching (MM).
    symmetric : bool
        Whether the file has one triangle of a symmetric matrix. This column is not in the table.
    g_pr, g_hkdw, p_dbfs, pr : float
        Seconds on a Tesla C2050, and on two quad-core Xeons of 2.27 GHz with 8 threads.
    """

    rows: int
    columns: int
    edges: int
    initial: int
    maximum: int
    symmetric: bool
    g_pr: float
    g_hkdw: float
    p_dbfs: float
    pr: float

    @property
    def entries(self) -> int:
        """The approximate number of entries of the matrix, with both triangles."""
        return 2 * self.edges if self.symmetric else self.edges


#: IM, MM, whether the file has one triangle, and the seconds, in the order of the table (by number of rows).
_PUBLISHED: Mapping[str, tuple[int, int, bool, float, float, float, float]] = {
    "amazon0505": (332_972, 395_397, False, 0.09, 0.18, 22.7, 0.52),
    "coPapersDBLP": (510_992, 540_226, True, 0.62, 0.42, 6.27, 0.59),
    "amazon-2008": (587_877, 641_379, False, 0.12, 0.11, 0.18, 0.93),
    "flickr": (285_241, 367_147, False, 0.13, 0.22, 0.35, 0.99),
    "eu-2005": (642_027, 652_328, False, 0.4, 1.54, 0.94, 0.8),
    "delaunay_n20": (993_174, 1_048_576, True, 0.06, 0.04, 0.09, 0.32),
    "kron_g500-logn20": (431_854, 513_334, True, 0.38, 0.6, 8.19, 1.24),
    "roadNet-PA": (916_444, 1_059_398, True, 0.33, 0.14, 0.29, 0.59),
    "in-2004": (781_063, 804_245, False, 0.58, 1.44, 2.16, 0.56),
    "roadNet-TX": (1_158_420, 1_342_440, True, 0.45, 0.14, 0.33, 0.69),
    "Hamrle3": (1_211_049, 1_447_360, False, 0.94, 1.36, 2.7, 0.56),
    "as-Skitter": (891_280, 1_035_521, True, 0.34, 0.49, 1.89, 1.13),
    "GL7d19": (1_904_144, 1_911_130, False, 0.24, 0.58, 0.38, 1.38),
    "roadNet-CA": (1_668_268, 1_913_589, True, 0.68, 0.34, 0.53, 1.55),
    "delaunay_n21": (1_987_326, 2_097_152, True, 0.18, 0.13, 0.21, 1.06),
    "kron_g500-logn21": (812_883, 964_679, True, 0.68, 0.99, 1.5, 2.77),
    "wikipedia-20070206": (1_623_931, 1_992_408, False, 0.62, 1.09, 5.24, 3.11),
    "patents": (1_892_820, 2_011_083, False, 0.54, 0.88, 0.84, 3.65),
    "com-LiveJournal": (2_577_642, 3_608_272, True, 2.08, 4.58, 22.46, 9.67),
    "hugetrace-00000": (4_581_148, 4_588_484, True, 2.71, 1.96, 0.83, 0.84),
    "soc-LiveJournal1": (2_831_783, 3_835_002, False, 1.35, 3.32, 14.35, 12.66),
    "ljournal-2008": (3_941_073, 4_355_699, False, 1.54, 2.37, 10.3, 10.01),
    "italy_osm": (6_438_492, 6_644_390, True, 5.46, 5.86, 1.2, 6.84),
    "delaunay_n23": (7_950_070, 8_388_608, True, 0.81, 0.96, 1.26, 8.86),
    "wb-edu": (4_810_825, 5_000_334, False, 2.0, 33.82, 8.61, 3.94),
    "hugetrace-00020": (15_535_760, 16_002_413, True, 14.19, 7.9, 393.13, 28.69),
    "delaunay_n24": (15_892_194, 16_777_216, True, 1.83, 1.98, 2.41, 23.01),
    "hugebubbles-00000": (18_303_614, 18_318_143, True, 13.65, 13.16, 3.55, 13.51),
}
#: The table, by the names of the University of Florida collection.
TABLE: Mapping[str, Matrix] = MappingProxyType(
    {
        name: Matrix(matrix.rows, matrix.columns, matrix.entries, *_PUBLISHED[name])
        for name, matrix in DEVECI28.items()
    }
)
#: The geometric means over the table as the text of the paper states them.
CLAIMS: Mapping[str, str] = MappingProxyType(
    {
        "PR": "3.05x",
        "G-HKDW": "1.30x",
        "P-DBFS": "2.82x",
        "G-HK": "G-HKDW is the better one",
        "extremes": "12.6x on delaunay_n24, 0.31x on hugetrace-00000",
        "best": "61 % of the matrices",
        "active lists": "14 to 84 %",
        "shrinking": "2 to 8 %",
        "adaptive": "faster for almost all configurations",
    }
)

#: The percentages of the text: the share of the graphs on which a method is at least FAST times as fast as
#: PR; faster than PR; at most CLOSE times as slow as the fastest parallel method; the fastest of these.
FAST, CLOSE = 5.0, 1.5
SHARES: Mapping[str, tuple[str, str, str, str]] = MappingProxyType(
    {
        "G-PR": ("39 %", "82 %", "75 %", "61 %"),
        "G-HKDW": ("21 %", "", "46 %", ""),
        "P-DBFS": ("14 %", "", "14 %", ""),
    }
)
#: The paper leaves out the graphs on which none of these takes a second: PFP, HK and PR.
FILTER_METHODS = ("serial-pothen-fan", "serial-hopcroft-karp", "serial-push-relabel")
LEAST_SECONDS = 1.0

# Generated graphs

# Each graph has about the rows, columns and entries of its matrix, and greedy matching leaves about as many
# rows as in Table I: MM - IM is within 0.8 to 1.25 of the published number. It depends on the numbers of the
# vertices. Meshes and roads are numbered along a sweep, but a share of the vertices has random numbers. In
# social networks a share of the vertices is numbered by degree. Power laws have exponents, and shares of
# vertices without an edge out, with which MM is near the published number, too. All were fitted at full size.

#: Edges that are drawn for each vertex of the kron_g500 graphs (10th DIMACS challenge).
EDGE_FACTOR = 48
#: With this value the largest degrees of the power laws are about ten thousand, as in the matrices.
FLATTENING = 1e-5
#: Share of the points of a triangulation whose numbers are not in order.
SHUFFLED_POINTS = 0.15
#: A triangulation of more points consists of copies of a patch. 16 million points would take minutes.
PATCH_POINTS = 2**16
#: The memory in bytes that an entry takes while a graph is generated and solved.
BYTES_AN_ENTRY = 100
#: The suite "deveci28-small" divides the numbers of rows by this.
DIVISOR = 64

_power_law = partial(power_law, flattening=FLATTENING)


def _renumbered(graph: BipartiteGraph, share: float, by_degree: bool) -> BipartiteGraph:
    """Return a graph in which a share of the vertices has exchanged its numbers.

    Rows and columns of a symmetric matrix get the same new numbers: random ones, or those of the order of
    degrees, the largest first.
    """
    if not share:
        return graph
    first, neighbour = graph.rows.first.astype(np.int64), graph.rows.neighbour
    degrees = (np.diff(first), np.bincount(neighbour, minlength=graph.num_columns))
    numbers = []
    for degree in degrees:
        rng = np.random.default_rng(0)
        chosen = np.flatnonzero(rng.random(len(degree)) < share)
        order = np.argsort(-degree[chosen], kind="stable") if by_degree else rng.permutation(len(chosen))
        number = np.arange(len(degree))
        number[chosen[order]] = chosen
        numbers.append(number)
    keys = np.repeat(numbers[0], degrees[0]) * graph.num_columns + numbers[1][neighbour]
    keys.sort()
    rows, columns = np.divmod(keys, graph.num_columns)
    return BipartiteGraph.from_arrays(rows, columns, shape=(graph.num_rows, graph.num_columns))


def _social(rows: int, *, hubs_first: float, **keywords: Any) -> BipartiteGraph:
    """Return a power law in which a share of the vertices is numbered by degree, as those that came early."""
    return _renumbered(_power_law(rows, **keywords), hubs_first, by_degree=True)


def _papers(rows: int, *, degree: float, hubs_first: float) -> BipartiteGraph:
    return _renumbered(co_authorship(rows, degree=degree), hubs_first, by_degree=True)


def _roads(rows: int, *, shuffled: float, **keywords: Any) -> BipartiteGraph:
    return _renumbered(road_like(rows, along=True, **keywords), shuffled, by_degree=False)


def _delaunay(rows: int) -> BipartiteGraph:
    graph = delaunay(rows, patches=_patches(rows), ordered=True)
    return _renumbered(graph, SHUFFLED_POINTS, by_degree=False)


def _hugetrace(rows: int, *, shuffled: float) -> BipartiteGraph:
    graph = hugetrace_like(rows, patches=_patches(rows / 8), refined=True)
    return _renumbered(graph, shuffled, by_degree=False)


def _patches(points: float) -> int:
    return math.ceil(math.sqrt(points / PATCH_POINTS))


def _kronecker(rows: int) -> BipartiteGraph:
    return rmat(round(math.log2(rows)), EDGE_FACTOR)


def _random(rows: int, *, local: float) -> BipartiteGraph:
    """Return a random matrix with the ratio of columns to rows of GL7d19."""
    matrix = TABLE["GL7d19"]
    columns = round(rows * matrix.columns / matrix.rows)
    return erdos_renyi(rows, matrix.edges / matrix.rows, columns=columns, local=local)


#: The generator for each matrix; its argument is the number of rows.
GENERATORS: Mapping[str, Callable[[int], BipartiteGraph]] = MappingProxyType(
    {
        "amazon0505": partial(_power_law, degree=8.18, exponent=2.702, empty=0.025),
        "coPapersDBLP": partial(_papers, degree=56.4, hubs_first=0.5),
        "amazon-2008": partial(_power_law, degree=7.015, exponent=3.298, empty=0.1244),
        "flickr": partial(_social, hubs_first=0.982, degree=15.91, exponent=1.9594),
        "eu-2005": partial(_power_law, degree=22.41, exponent=2.434, empty=0.2441),
        "delaunay_n20": _delaunay,
        "kron_g500-logn20": _kronecker,
        "roadNet-PA": partial(_roads, shuffled=0.7, keep=0.707, pieces=1),
        "in-2004": partial(_power_law, degree=12.31, exponent=2.3505, empty=0.417),
        "roadNet-TX": partial(_roads, shuffled=0.7, keep=0.690, pieces=1),
        "Hamrle3": partial(hidden_diagonal, degree=3.81),
        "as-Skitter": partial(_social, hubs_first=0.187, degree=7.24, exponent=2.046, symmetric=True),
        "GL7d19": partial(_random, local=0.182),
        "roadNet-CA": partial(_roads, shuffled=0.5, keep=0.702, pieces=1),
        "delaunay_n21": _delaunay,
        "kron_g500-logn21": _kronecker,
        "wikipedia-20070206": partial(_social, hubs_first=0.61, degree=13.84, exponent=2.0283),
        "patents": partial(_power_law, degree=3.97, exponent=2.71, empty=0.457),
        "com-LiveJournal": partial(_social, hubs_first=0.96, degree=8.83, exponent=2.186, symmetric=True),
        "hugetrace-00000": partial(_hugetrace, shuffled=0.0017),
        "soc-LiveJournal1": partial(_social, hubs_first=0.95, degree=14.5, exponent=2.153),
        "ljournal-2008": partial(_power_law, degree=14.73, exponent=2.341, empty=0.1836),
        "italy_osm": partial(_roads, shuffled=0.045, pieces=11),
        "delaunay_n23": _delaunay,
        "wb-edu": partial(_power_law, degree=5.815, exponent=2.545, empty=0.489),
        "hugetrace-00020": partial(_hugetrace, shuffled=0.042),
        "delaunay_n24": _delaunay,
        "hugebubbles-00000": partial(_hugetrace, shuffled=0.0008),
    }
)


def graph_like(name: str, divisor: float = 1) -> BipartiteGraph:
    """Return a graph of the same kind as a matrix of the table, with 1 / `divisor` of its rows."""
    return GENERATORS[name](round(TABLE[name].rows / divisor))


# Suites

#: The three forms of G-PR that the paper compares, as options. The first is the default.
FORM_OPTIONS = ("", "shrink=False", "active_list=False")
#: The strategies of global relabels that it compares. The first is the default, (adaptive, 0.7).
STRATEGY_OPTIONS = (
    "",
    "global_relabel=adaptive:0.3",
    "global_relabel=adaptive:1",
    "global_relabel=adaptive:1.5",
    "global_relabel=fixed:10",
    "global_relabel=fixed:50",
)


def _with_options(method: str, *options: str) -> str:
    given = ",".join(option for option in options if option)
    return f"{method}[{given}]" if given else method


#: Algorithm 1 as printed.
AS_PRINTED = "serial-push-relabel[side=columns,double_push=False,gap=False]"
#: The methods that the paper compares: PR, P-DBFS, G-PR in all forms, G-HKDW and G-HK. And auto.
METHODS = (
    "serial-push-relabel",
    AS_PRINTED,
    "multicore-disjoint-bfs",
    *(_with_options("cuda-push-relabel", *each) for each in product(FORM_OPTIONS, STRATEGY_OPTIONS)),
    "cuda-hkdw",
    "cuda-hopcroft-karp",
    "auto",
)


def cases(files: Sequence[str]) -> list[Case]:
    """Return the matrices of Table I.

    A matrix is read if one of the `files` has its name; its maximum matching must then have the published
    cardinality. Otherwise a generated graph replaces it.
    """
    own = {instance_name(path, ".mtx"): path for path in find_files(files, ".mtx")}
    return [
        matrix_case(own[name], published=matrix.maximum) if name in own else _generated_case(name)
        for name, matrix in TABLE.items()
    ]


def small_cases(files: Sequence[str]) -> list[Case]:
    """Return smaller generated graphs."""
    return [_generated_case(name, DIVISOR) for name in TABLE]


def _generated_case(name: str, divisor: int = 1) -> Case:
    def generate() -> BipartiteGraph:
        check_memory(BYTES_AN_ENTRY * TABLE[name].entries / divisor)
        return graph_like(name, divisor)

    return graph_case(f"{name}-like{' small' if divisor > 1 else ''}", generate)


# Comparisons

BASIS = "Deveci et al. 2013, without the initial matching"
#: The paper's names of the methods. G-PR without options is G-PR-Shr with (adaptive, 0.7).
NAMES = {
    "serial-push-relabel": "PR",
    "cuda-push-relabel": "G-PR",
    "cuda-hkdw": "G-HKDW",
    "multicore-disjoint-bfs": "P-DBFS",
}
#: The methods by phases of searches on a GPU. Table I has the better one.
PHASES = {"cuda-hopcroft-karp": "G-HK", "cuda-hkdw": "G-HKDW"}
#: PR as Algorithm 1 is printed.
PRINTED = "PR as printed"
FIRST, LISTS, SHRINKING = FORMS = ("G-PR-First", "G-PR-NoShr", "G-PR-Shr")

Row = Sequence[float | None]
Strategy = tuple[str, float]


class SpeedUp(NamedTuple):
    """A contestant's speed-up over PR: a geometric mean, and the number of its instances."""

    contestant: str
    instances: int
    speed_up: float


class Comparison(NamedTuple):
    """A statement of the paper, with the result here and the published one."""

    what: str
    here: str
    instances: int
    published: str


class Variant(NamedTuple):
    """A form of G-PR with a strategy of global relabels."""

    form: str
    strategy: Strategy


def search_seconds(records: Sequence[InstanceRecord]) -> Times:
    """Return the median times of the methods of preflow."""
    names = dict.fromkeys(each.contestant for record in records for each in record.measurements)
    times = {
        name: [each.median(SEARCH) if (each := record.of(name)) else None for record in records]
        for name in names
    }
    return {name: row for name, row in times.items() if any(row)}


def speed_ups_over_pr(records: Sequence[InstanceRecord]) -> list[SpeedUp]:
    """Return the speed-ups of all contestants, if PR took part."""
    times = search_seconds(records)
    base = _compared(times).get("PR", ())
    found = [(name, _ratios(base, row)) for name, row in times.items() if row is not base]
    return [SpeedUp(name, len(ups), geometric_mean(ups)) for name, ups in found if ups]


def comparisons(records: Sequence[InstanceRecord]) -> list[Comparison]:
    """Return the statements of the paper whose contestants took part."""
    times = search_seconds(records)
    compared, variants = _compared(times), _variants(times)
    rows = []
    for name, row in compared.items():
        ups = _ratios(row, compared.get("G-PR", ()))
        if ups and name != "G-PR":
            here = f"{geometric_mean(ups):.3g}x"
            rows.append(Comparison(f"G-PR over {name}", here, len(ups), CLAIMS[_code(name)]))
            if _code(name) == "PR":
                rows.append(_extremes(name, records, row, compared["G-PR"]))
    phases = _compared(times, PHASES)
    if ups := _ratios(phases.get("G-HK", ()), phases.get("G-HKDW", ())):
        here = f"{geometric_mean(ups):.3g}x, faster on {sum(up > 1.0 for up in ups)}"
        rows.append(Comparison("G-HKDW over G-HK", here, len(ups), CLAIMS["G-HK"]))
    parallel = {name: row for name, row in compared.items() if _code(name) != "PR"}
    if "G-PR" in parallel and len(parallel) > 1:
        complete = [column for column in zip(*parallel.values(), strict=True) if all(column)]
        at = list(parallel).index("G-PR")
        best = sum(column[at] == min(filter(None, column)) for column in complete)
        what = f"G-PR is the fastest of {', '.join(parallel)}"
        rows.append(Comparison(what, f"{best}", len(complete), CLAIMS["best"]))
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
    """Write those of figures 1 to 4 as PNG whose contestants took part, and return their paths."""
    times = search_seconds(records)
    compared = _compared(times)
    drawn: list[Path] = []

    def new(name: str) -> Path:
        drawn.append(folder / f"{records[0].suite}-{name}.png")
        return drawn[-1]

    variants = _variants(times)
    if len(variants) > 1 and (means := _means(variants)):
        _draw_variants(means, new("1-global-relabels"))
    parallel = {name: row for name, row in compared.items() if _code(name) != "PR"}
    if "PR" in compared and parallel:
        draw_speed_up_profile(compared, "PR", BASIS, new("2-speed-up-profile"))
    if len(parallel) > 1:
        draw_performance_profile(parallel, BASIS, new("3-performance-profile"))
    if "PR" in compared and "G-PR" in compared:
        names = [record.name for record in records]
        pairs = zip(names, compared["PR"], compared["G-PR"], strict=True)
        ups = {name: before / after for name, before, after in pairs if before and after}
        if ups:
            _draw_individual(ups, new("4-individual-speed-ups"))
    return drawn


def _ratios(before: Row, after: Row) -> list[float]:
    """Return the speed-ups of the second over the first, on the instances on which both have a time."""
    return [b / a for b, a in zip(before, after, strict=False) if b and a]


def _extremes(name: str, records: Sequence[InstanceRecord], before: Row, after: Row) -> Comparison:
    """Return on which instances G-PR has the greatest and the least speed-up over a form of PR."""
    pairs = zip(records, before, after, strict=True)
    ups = sorted((b / a, _matrix(record.name)) for record, b, a in pairs if a and b)
    here = ", ".join(f"{up:.3g}x on {matrix}" for up, matrix in (ups[-1], ups[0]))
    return Comparison(f"most and least of G-PR over {name}", here, len(ups), CLAIMS["extremes"])


def _registered(contestant: str) -> tuple[str, dict[str, Any], int | None]:
    """Return the method of a contestant by its name in the registry, its options and its threads."""
    text, threads = method_and_threads(contestant)
    name, options = method_and_options(text)
    if name == "auto":
        return name, options, threads
    method = find_method(MATCHING_METHODS, name)
    return method.name, {**method.variants.get(name, {}), **options}, threads


def _compared(times: Times, names: Mapping[str, str] = NAMES) -> dict[str, Row]:
    """Return the times of methods, those of Table I for example, by the paper's names, in its order."""
    found: dict[str, Row] = {}
    for method, name in names.items():
        for contestant, row in times.items():
            registered, options, threads = _registered(contestant)
            if registered == method and not options:
                several = threads is not None and find_method(MATCHING_METHODS, method).parallel
                found[f"{name}@{threads}" if several else name] = row
            elif registered == method and options == method_and_options(AS_PRINTED)[1]:
                found[PRINTED] = row
    return found


def _variants(times: Times) -> dict[Variant, Row]:
    """Return the times of each form of G-PR with each strategy."""
    record = find_method(MATCHING_METHODS, "cuda-push-relabel")
    found: dict[Variant, Row] = {}
    for contestant, row in times.items():
        method, given, _ = _registered(contestant)
        if method == record.name and given.keys() <= {"active_list", "shrink", "global_relabel"}:
            options = record.make_options(given)
            form = FIRST if not options.active_list else SHRINKING if options.shrink else LISTS
            found.setdefault(Variant(form, tuple(options.global_relabel)), row)
    return found


def _means(variants: Mapping[Variant, Row]) -> dict[Variant, float]:
    """Return the geometric means over the instances on which all variants have times."""
    complete = [i for i, column in enumerate(zip(*variants.values(), strict=True)) if all(column)]
    if not complete:
        return {}
    return {each: geometric_mean([row[i] or 0.0 for i in complete]) for each, row in variants.items()}


def means_of_forms(records: Sequence[InstanceRecord]) -> dict[Variant, float]:
    """Return the geometric means of the forms of G-PR with each strategy, the fastest strategies first."""
    means = _means(_variants(search_seconds(records)))
    return dict(sorted(means.items(), key=lambda item: item[1]))


def _gains(
    what: str, claim: str, pairs: Sequence[tuple[Variant, Variant]], variants: Mapping[Variant, Row]
) -> Iterator[Comparison]:
    """Yield the range of gains of the second variant of each pair over the first, if any pair has times."""
    both = [_ratios(variants.get(before, ()), variants.get(after, ())) for before, after in pairs]
    if gains := [100.0 * (geometric_mean(ups) - 1.0) for ups in both if ups]:
        faster = sum(gain > 0.0 for gain in gains)
        here = f"{min(gains):.0f} to {max(gains):.0f} %, faster in {faster} of {len(gains)}"
        yield Comparison(what, here, min(len(ups) for ups in both if ups), CLAIMS[claim])


@contextmanager
def _bars(title: str, labels: Sequence[str], y: str, path: Path) -> Iterator[Any]:
    """Yield axes for labelled bars, then write the PNG."""
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
            measured = [k for k, strategy in enumerate(strategies) if Variant(form, strategy) in means]
            axes.bar(
                [k + (i - (len(forms) - 1) / 2) * width for k in measured],
                [means[Variant(form, strategies[k])] for k in measured],
                width,
                color=COLOURS[i],
                label=form,
            )


def _draw_individual(ups: Mapping[str, float], path: Path) -> None:
    """Draw the speed-ups in the order of the table, beside the published ones."""
    from matplotlib.ticker import NullFormatter

    matrices = {name: _matrix(name) for name in ups}
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


#: The heading of what the initial matching lacks, as a share of what it lacks in the paper.
DEFICIENCY = "MM - IM over the published"


def table_one(records: Sequence[InstanceRecord]) -> list[Table]:
    """Return Table I: sizes, initial and maximum matching, seconds, each beside what is published."""
    compared = _compared(search_seconds(records))
    if not compared:
        return []
    header = ["matrix", "rows", "columns", "edges", "IM", "MM", DEFICIENCY]
    header += [heading for name in compared for heading in (name, f"{name}, published")]
    rows = []
    for i, record in enumerate(records):
        matrix = TABLE[_matrix(record.name)]
        starts = [each.detail.get("initial_cardinality") for each in record.measurements if each.detail]
        values = [each.value for each in record.measurements if each.value is not None]
        initial, maximum = _common(starts), _common(values)
        edges = record.sizes["edges"] // (2 if matrix.symmetric else 1)
        pairs = zip(
            (record.sizes["rows"], record.sizes["columns"], edges, initial, maximum),
            (matrix.rows, matrix.columns, matrix.edges, matrix.initial, matrix.maximum),
            strict=True,
        )
        row = [record.name, *(f"{here:,} ({published:,})" for here, published in pairs)]
        row.append(f"{(maximum - initial) / (matrix.maximum - matrix.initial):.2f}")
        for name, seconds in compared.items():
            row += [seconds_text(seconds[i]), f"{_published_seconds(matrix, name):g}"]
        rows.append(row)
    title = (
        f"Table I of {BASIS}: published sizes in parentheses, published seconds beside ours. A symmetric "
        "matrix has the edges of one triangle. IM is the least, where methods start from different matchings"
    )
    return [Table(title, header, rows)]


def _matrix(instance: str) -> str:
    """Return the matrix that an instance is, or is like."""
    return instance.partition(" ")[0].removesuffix("-like")


def _common(values: Sequence[float | None]) -> int:
    return int(min((value for value in values if value), default=0))


def _code(name: str) -> str:
    """Return the name of NAMES of a compared method, without threads and without what it says of the form."""
    return "PR" if name == PRINTED else name.partition("@")[0]


def _published_seconds(matrix: Matrix, name: str) -> float:
    """Return the published seconds of a method of NAMES, with or without a number of threads."""
    codes = {"PR": matrix.pr, "G-PR": matrix.g_pr, "G-HKDW": matrix.g_hkdw, "P-DBFS": matrix.p_dbfs}
    return codes[_code(name)]


def shares_table(records: Sequence[InstanceRecord]) -> list[Table]:
    """Return the percentages of the text, if PR and a parallel method took part.

    A graph that a method did not solve counts as one on which it is not fast.
    """
    compared = _compared(search_seconds(records))
    pr = compared.get("PR")
    parallel = {name: row for name, row in compared.items() if _code(name) != "PR"}
    if pr is None or not parallel:
        return []
    best = [min(filter(None, column), default=None) for column in zip(*parallel.values(), strict=True)]
    rows = []
    for name, seconds in parallel.items():
        both = list(zip(seconds, pr, best, strict=True))
        held = (
            [bool(here and base and base / here >= FAST) for here, base, _ in both],
            [bool(here and base and here < base) for here, base, _ in both],
            [bool(here and least and here <= CLOSE * least) for here, _, least in both],
            [bool(here and here == least) for here, _, least in both],
        )
        # One method alone is neither close to the best nor the best.
        here = [f"{fmean(found):.0%}" for found in held[: len(held) if len(parallel) > 1 else 2]]
        cells = zip_longest(here, SHARES[_code(name)], fillvalue="")
        rows.append([name, *(cell for pair in cells for cell in pair)])
    heads = (
        f"at least {FAST:g} times as fast as PR",
        "faster than PR",
        f"at most {CLOSE:g} times as slow as the best",
        "the best",
    )
    header = ["method", *(text for head in heads for text in (head, "published"))]
    title = f"Shares of the {len(records)} graphs, as the text of {BASIS} has them"
    return [Table(title, header, rows)]


def filter_table(records: Sequence[InstanceRecord]) -> list[Table]:
    """Return which graphs the paper's filter keeps: a sequential method takes a second, or is stopped."""
    rows = []
    for record in records:
        found = {name: record.of(f"preflow:{name}") for name in FILTER_METHODS}
        if None in found.values():
            return []
        seconds = [each.median(SEARCH) for each in found.values() if each]
        is_kept = any(time is None or time >= LEAST_SECONDS for time in seconds)
        rows.append([record.name, *map(seconds_text, seconds), "yes" if is_kept else "no"])
    title = f"The filter of {BASIS}: graphs on which a sequential method takes {LEAST_SECONDS:g} s"
    return [Table(title, ["matrix", *FILTER_METHODS, "kept"], rows)] if rows else []


#: Global relabels of PR after k * (rows + columns) pushes; k = 0.5 "was slightly better" in the paper.
PERIODS, BEST_PERIOD = (0.25, 0.5, 1, 2, 4), 0.5
SWEEP_METHODS = tuple(f"serial-push-relabel[relabel_period={k}]" for k in PERIODS)


def sweep_table(records: Sequence[InstanceRecord]) -> list[Table]:
    """Return edges read, pushes and seconds of PR for each k over those of the paper's k.

    Geometric means over the graphs that all of them solved, and on how many each reads the fewest edges.
    """
    runs = [[record.of(f"preflow:{name}") for name in SWEEP_METHODS] for record in records]
    solved = [[each for each in row if each and each.median(SEARCH)] for row in runs]
    complete = [row for row in solved if len(row) == len(PERIODS)]
    if not complete:
        return []

    def means(of: Callable[[Measurement], float]) -> list[str]:
        # A graph whose cheap matching is maximum has no pushes.
        counts = [[of(each) for each in row] for row in complete]
        logs = [np.log(row) - np.log(row[PERIODS.index(BEST_PERIOD)]) for row in counts if all(row)]
        return [f"{mean:.2f}" for mean in np.exp(np.mean(logs, axis=0))] if logs else [""] * len(PERIODS)

    scans = [[each.detail["arc_scans"] for each in row] for row in complete]
    fewest = [f"{sum(row[i] == min(row) for row in scans)}" for i in range(len(PERIODS))]
    columns = [
        [f"{k:g}" for k in PERIODS],
        means(lambda each: float(each.detail["arc_scans"])),
        means(lambda each: float(each.detail["pushes"])),
        means(lambda each: each.median(SEARCH) or 0.0),
        fewest,
    ]
    title = (
        f"PR with global relabels after k * (rows + columns) pushes, over k = {BEST_PERIOD:g}, which is the "
        f"paper's: geometric means over the {len(complete)} of {len(records)} graphs that all solved"
    )
    header = ["k", "edges read", "pushes", "seconds", "fewest edges read on"]
    return [Table(title, header, [list(row) for row in zip(*columns, strict=True)])]


#: The methods whose operations are counted, by the paper's names.
COUNTED = {"cuda-push-relabel": "G-PR", "cuda-hkdw": "G-HKDW", "multicore-disjoint-bfs": "P-DBFS"}


def counts_table(records: Sequence[InstanceRecord]) -> list[Table]:
    """Return the operations of the parallel methods, and what a barrier of those on a GPU takes."""
    rows = []
    for record in records:
        for measured in record.measurements:
            method, options, _ = _registered(measured.contestant)
            detail, seconds = measured.detail, measured.median(SEARCH)
            if method not in COUNTED or options or not seconds:
                continue
            barriers = detail.get("barriers", 0)
            numbers = [detail.get(name, 0) for name in ("phases", "barriers", "pushes", "arc_scans")]
            rows.append(
                [
                    record.name,
                    COUNTED[method],
                    seconds_text(seconds),
                    *(f"{number:,}" if number else "" for number in numbers),
                    f"{1e6 * seconds / barriers:.1f}" if barriers else "",
                    f"{numbers[-1] / record.sizes['edges']:.2f}",
                ]
            )
    title = (
        "Operations. Phases are global relabels of G-PR; a published code launches a kernel for each barrier"
    )
    header = ["graph", "method", "seconds", "phases", "barriers", "pushes", "edges read"]
    return [Table(title, [*header, "µs a barrier", "edges read over edges"], rows)] if rows else []


def tables(records: Sequence[InstanceRecord]) -> list[Table]:
    """Return the tables of the report."""
    found = table_one(records) + shares_table(records) + filter_table(records)
    found += sweep_table(records) + counts_table(records)
    if speed_ups := speed_ups_over_pr(records):
        rows = [[row.contestant, str(row.instances), f"{row.speed_up:.3g}"] for row in speed_ups]
        found.append(
            Table(f"{BASIS}, geometric means", ["contestant", "instances", "speed-up over PR"], rows)
        )
    if compared := comparisons(records):
        rows = [[each.what, each.here, str(each.instances), each.published] for each in compared]
        header = ["comparison", "here", "on instances", "Deveci et al. 2013"]
        found.append(Table("The same as Deveci et al. compare it", header, rows))
    return found


#: The suites by name.
SUITES: Mapping[str, Suite] = MappingProxyType(
    {
        "deveci28": Suite(cases, METHODS, tables=tables, draw=draw),
        "deveci28-small": Suite(small_cases, METHODS, tables=tables, draw=draw),
    }
)

# Selection

#: The methods that each part needs. Algorithm 1 as printed takes part beside ours, which pushes twice.
PARALLEL_METHODS = ("multicore-disjoint-bfs", "cuda-push-relabel", "cuda-hkdw")
FIXED = "cuda-push-relabel[global_relabel=fixed:10]"
TABLE_METHODS = ("serial-push-relabel", AS_PRINTED, *PARALLEL_METHODS)
PARTS: Mapping[str, tuple[str, tuple[str, ...]]] = MappingProxyType(
    {
        "table-1": ("sizes, matchings and seconds of the four methods", TABLE_METHODS),
        "figure-1": ("forms of G-PR and strategies of global relabels", METHODS[3:21]),
        "figure-2": ("speed-up profile over PR", TABLE_METHODS),
        "counts": ("operations, barriers and edges read of the parallel methods", PARALLEL_METHODS),
        "figure-3": ("performance profile of the parallel methods", PARALLEL_METHODS),
        "figure-4": (
            "speed-up of G-PR over PR, graph by graph",
            ("serial-push-relabel", "cuda-push-relabel"),
        ),
        "first-relabel": (
            "G-PR with and without the first global relabel",
            (FIXED, f"{FIXED[:-1]},initial_relabel=False]"),
        ),
        "g-hk": ("G-HKDW beside G-HK", tuple(reversed(PHASES))),
        "filter": ("the sequential methods, of which one must take a second", FILTER_METHODS),
        "k-sweep": (
            "PR with other periods k of global relabels",
            SWEEP_METHODS,
        ),
    }
)


#: The parts whose methods are not all in METHODS.
EXTRA_PARTS = ("first-relabel", "filter", "k-sweep")


def suites(selection: Selection) -> dict[str, Suite]:
    """Return the suite with the methods of the selected parts."""
    if not selection.parts:
        methods = (*METHODS, *(each for part in EXTRA_PARTS for each in PARTS[part][1]))
    else:
        methods = tuple(method for name in selection.parts for method in PARTS[name][1])
    make = small_cases if selection.small else cases
    return {"bipartite_matching": Suite(make, tuple(dict.fromkeys(methods)), tables=tables, draw=draw)}


PAPER = Paper(
    "Deveci, Kaya, Uçar and Çatalyürek, A Push-Relabel-Based Maximum Cardinality Bipartite Matching "
    "Algorithm on GPUs (2013)",
    MappingProxyType({name: text for name, (text, _) in PARTS.items()}),
    suites,
    seeded=False,
    full="for each run about an hour with a GPU; without one its methods are left out and named",
    small="minutes",
)
