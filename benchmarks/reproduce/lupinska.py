"""Łupińska, "Parallel implementation of flow and matching algorithms" (2011): its systems, side by side.

"assignment" has complete bipartite graphs and the algorithms of section 5: the generic one (5.0), that of
Goldberg and Kennedy (5.1), the mixed one (5.2), each without and with price updates (5.3) and arc fixing, and
the lock-free one (5.4) on threads and on a GPU. "flow" has grids and the systems of section 4: Hong's
algorithm, which never relabels globally, the same with global relabels, and the hybrid of CPU and GPU, on
networks with stored arcs. "grids" has the same systems on grids without stored arcs: the hybrid as printed,
with and without gap relabeling, and with the two faults in print mended.
"alpha" has other divisors of epsilon than the paper's 10, and the lock-free method without arc fixing.
"updates" has the lock-free method with price updates once and often in a refine: as printed, after CYCLE =
500,000 steps, they never run. "growth" compares operations with the bound O(n**2 m) as instances grow.
"blocks" has other numbers of threads per block than the paper's 32 x 16. "hong" is Hong's algorithm at full
size, which takes hours on the largest grids unless --time-limit stops it. "cuda-cuts" is CudaCuts, which
section 4.3 describes: other blocks than 32 x 8, m pushes before each relabel, the version without atomic
operations, the printed rule of its end, and the search in lockstep of Hussein, Varshney and Davis.

The paper's numbers are few: it calls 1/20 of a second real time, and reaches it for assignments of 30 to 30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from statistics import fmean
from types import MappingProxyType

from preflow.generators import grid_2d, noisy_grid
from preflow.generators.costs import uniform_integer_costs

from ..instances.assignment import AssignmentInstance
from ..instances.grid import GridInstance
from ..problem import Case, Suite, Table
from ..records import InstanceRecord
from ..scaling import by_group, own_contestants
from ..suites.flow import flow_case
from . import arc_fixing, optical_flow, optical_flow_pairs
from .means import Mean, mean_seconds
from .selection import Paper, Program, Selection

#: Sizes of the assignments; the paper has 30.
SIZES, SMALL_SIZES = (30, 100, 300, 1000), (10, 30, 60)
#: The largest cost.
LARGEST = 100
#: Sides of the grids.
SIDES, SMALL_SIDES = (60, 250, 1000), (15, 30, 60)
SEEDS = 3
#: What the paper says of the seconds of an instance.
PUBLISHED: Mapping[str, str] = MappingProxyType({"complete 30": "1/20 s"})
#: Sizes of the assignments and sides of the grids whose operations are compared with their bound.
GROWING, SMALL_GROWING = (25, 50, 100, 200, 400, 800), (10, 20, 40)
GROWING_SIDES, SMALL_GROWING_SIDES = (15, 30, 60, 120, 240), (8, 15, 30)

#: The algorithms of section 5 as they are printed: epsilon is divided by alpha each time.
AS_PRINTED = "skip=False,double_push=False"
FORMS = ("generic", "csa", "mixed")
HEURISTICS = "price_updates=True,arc_fixing=True"
ASSIGNMENT_METHODS = (
    *(f"serial-cost-scaling[form={form},{AS_PRINTED}]" for form in FORMS),
    *(f"serial-cost-scaling[form={form},{AS_PRINTED},{HEURISTICS}]" for form in FORMS),
    "multicore-lockfree",
    "cuda-lockfree",
    "auto",
)
#: Divisors of epsilon; the paper has 10.
ALPHAS = (2, 5, 10, 20, 50)
ALPHA_METHODS = (
    *(f"serial-cost-scaling[form=csa,{AS_PRINTED},alpha={alpha}]" for alpha in ALPHAS),
    *(f"multicore-lockfree[alpha={alpha}]" for alpha in ALPHAS),
    "multicore-lockfree[arc_fixing=False]",
)
#: Discharges of a thread between two updates: as printed, and two and ten for each row of the paper's size.
CYCLES = (500_000, 60, 300)
#: More updates than a refine has meetings.
OFTEN = 1_000_000
UPDATE_METHODS = (
    "multicore-lockfree",
    *(f"multicore-lockfree[price_updates=1,cycles={cycles}]" for cycles in CYCLES),
    *(f"multicore-lockfree[price_updates={OFTEN},cycles={cycles}]" for cycles in CYCLES[1:]),
    "cuda-lockfree",
    f"cuda-lockfree[price_updates={OFTEN},cycles=100]",
)
#: Threads per block on a GPU; the paper has 512.
BLOCK_METHODS = tuple(f"cuda-lockfree[block_threads={threads}]" for threads in (64, 128, 256, 512, 1024))
GROWTH_METHODS = (f"serial-cost-scaling[form=csa,{AS_PRINTED}]", "multicore-lockfree")
GROWTH_FLOW_METHODS = ("multicore-lockfree", "serial-generic")
FLOW_METHODS = ("multicore-lockfree", "multicore-lockfree-arg", "cuda-hybrid", "cuda-lockfree", "auto")
GRID_METHODS = (
    "multicore-lockfree",
    "CPU-GPU-Hybrid",
    "Lupinska",
    "cuda-hybrid",
    "cuda-lockfree",
    "cuda-blocking",
    "auto",
)
#: Hong's algorithm, and the same with global relabels.
HONG_METHODS = ("Hong", "multicore-lockfree")
#: CudaCuts with 32 x 8 threads and one push before each relabel; with other blocks; with m pushes; without
#: atomic operations; with the rule of its end as printed; and with searches in lockstep in place of relabels.
SHAPES = ((8, 8), (32, 4), (64, 4), (256, 1), (16, 16), (8, 32), (32, 16), (32, 32))
PUSHES = (2, 4, 8, 16)
WITHOUT_ATOMICS = ("cuda-blocking[atomic=False]", "cuda-blocking[atomic=False,pushes=4]")
PUBLISHED_STOPPING = "cuda-blocking[stopping=published]"
LOCKSTEP = "cuda-blocking[relabel=lockstep]"
CUDA_CUTS_METHODS = (
    "cuda-blocking",
    *(f"cuda-blocking[block_width={width},block_height={height}]" for width, height in SHAPES),
    *(f"cuda-blocking[pushes={pushes}]" for pushes in PUSHES),
    *WITHOUT_ATOMICS,
    PUBLISHED_STOPPING,
    LOCKSTEP,
)
#: The part whose instances and tables are its own.
GROWTH = "growth"
COUNTS = ("pushes", "relabels", "global_relabels")


def assignments(files: Sequence[str], sizes: Sequence[int] = SIZES, seeds: int = SEEDS) -> list[Case]:
    """Return complete bipartite graphs with random integer costs."""

    def make(n: int, seed: int) -> AssignmentInstance:
        return AssignmentInstance(uniform_integer_costs(n, largest=LARGEST, seed=seed))

    return [
        Case(f"complete {n} seed {seed}", partial(make, n, seed), f"complete {n}")
        for n in sizes
        for seed in range(seeds)
    ]


def grids(files: Sequence[str], sides: Sequence[int] = SIDES, seeds: int = SEEDS) -> list[Case]:
    """Return grids as networks, as the hybrid of CPU and GPU takes them."""
    return [
        replace(
            flow_case(f"grid {side}x{side} seed {seed}", partial(grid_2d, side, side, seed=seed)),
            group=f"grid {side}x{side}",
        )
        for side in sides
        for seed in range(seeds)
    ]


def images(files: Sequence[str], sides: Sequence[int] = SIDES, seeds: int = SEEDS) -> list[Case]:
    """Return the same grids as `grids`, without stored arcs."""

    def make(side: int, seed: int) -> GridInstance:
        return GridInstance.from_network(noisy_grid((side, side), seed=seed))

    return [
        Case(f"grid {side}x{side} seed {seed}", partial(make, side, seed), f"grid {side}x{side}")
        for side in sides
        for seed in range(seeds)
    ]


def tables(records: Sequence[InstanceRecord]) -> list[Table]:
    """Return seconds and operations, means and deviations over the seeds."""
    rows = []
    for group, members in by_group(records).items():
        for contestant in own_contestants(members):
            took_part = [(record.name, each) for record in members if (each := record.of(contestant))]
            solved = [each for _, each in took_part if each.seconds]
            stopped = [f"{name}: {each.status}" for name, each in took_part if not each.seconds]
            seconds = mean_seconds(solved)
            counts = [Mean.of([each.detail[name] for each in solved]) for name in COUNTS if solved]
            rows.append(
                [
                    group,
                    contestant,
                    "; ".join([str(len(solved)), *stopped]),
                    seconds.text(".3g") if seconds else "",
                    *([count.text(",.0f") for count in counts] if counts else [""] * len(COUNTS)),
                    PUBLISHED.get(group, ""),
                ]
            )
    names = [name.replace("_", " ") for name in COUNTS]
    title = (
        "Seconds and operations, means ± standard deviations over the seeds, beside the paper's. Instances "
        "that a method did not solve are named and in no mean"
    )
    return [Table(title, ["instances", "contestant", "solved", "seconds", *names, "published"], rows)]


def growth_table(records: Sequence[InstanceRecord]) -> list[Table]:
    """Return pushes and relabels over n**2 m, which the paper's bound is, and over m, as instances grow."""
    rows = []
    for group, members in by_group(records).items():
        vertices, arcs = _vertices_and_arcs(members[0])
        for contestant in own_contestants(members):
            solved = [each for record in members if (each := record.of(contestant)) and each.seconds]
            if not solved:
                continue
            operations = fmean(each.detail["pushes"] + each.detail["relabels"] for each in solved)
            share, each_arc = operations / (vertices**2 * arcs), operations / arcs
            rows.append(
                [
                    contestant,
                    group,
                    *(f"{number:,.0f}" for number in (vertices, arcs, operations)),
                    *(f"{ratio:.3g}" for ratio in (share, each_arc)),
                ]
            )
    rows.sort(key=lambda row: row[0])
    title = "Pushes and relabels as instances grow, beside the bound O(n**2 m)"
    header = ["contestant", "instances", "n", "m", "operations", "over n**2 m", "for each arc"]
    return [Table(title, header, rows)]


def _vertices_and_arcs(record: InstanceRecord) -> tuple[int, int]:
    """Return the sizes of the flow network of an instance, without terminals for an assignment."""
    if "vertices" in record.sizes:
        return record.sizes["vertices"], record.sizes["arcs"]
    return record.sizes["rows"] + record.sizes["columns"], record.sizes["pairs"]


def suites(selection: Selection) -> dict[str, Suite]:
    """Return the suites of assignments and of grids."""
    seeds = SEEDS if selection.seeds is None else selection.seeds
    small = selection.small
    sizes, sides = (SMALL_SIZES, SMALL_SIDES) if small else (SIZES, SIDES)
    found = {}
    if selection.parts == (GROWTH,):
        growing, growing_sides = (SMALL_GROWING, SMALL_GROWING_SIDES) if small else (GROWING, GROWING_SIDES)
        make_grids = partial(grids, sides=growing_sides, seeds=seeds)
        make = partial(assignments, sizes=growing, seeds=seeds)
        found["max_flow"] = Suite(make_grids, GROWTH_FLOW_METHODS, (1,), growth_table)
        found["linear_assignment"] = Suite(make, GROWTH_METHODS, (1,), growth_table)
        return found
    of_networks = {"flow": FLOW_METHODS, "hong": HONG_METHODS}
    of_grids = {"grids": GRID_METHODS, "hong": HONG_METHODS, "cuda-cuts": CUDA_CUTS_METHODS}
    for problem, parts, cases in (("max_flow", of_networks, grids), ("grid_cut", of_grids, images)):
        if methods := _methods(selection, parts):
            found[problem] = Suite(partial(cases, sides=sides, seeds=seeds), methods, tables=tables)
    wanted = {
        "assignment": ASSIGNMENT_METHODS,
        "alpha": ALPHA_METHODS,
        "updates": UPDATE_METHODS,
        "blocks": BLOCK_METHODS,
    }
    if methods := _methods(selection, wanted):
        found["linear_assignment"] = Suite(
            partial(assignments, sizes=sizes, seeds=seeds), methods, tables=tables
        )
    return found


def _methods(selection: Selection, parts: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the methods of the selected parts."""
    wanted = (methods for part, methods in parts.items() if selection.wants(part))
    return tuple(dict.fromkeys(chain.from_iterable(wanted)))


PAPER = Paper(
    "Łupińska, Parallel Implementation of Flow and Matching Algorithms (2011)",
    MappingProxyType(
        {
            "flow": "section 4: global relabels and the hybrid on grids",
            "hong": "section 4.4: Hong's algorithm, which never relabels globally, beside the same with them",
            "grids": "section 4: the same on grids without stored arcs, the hybrid as printed and mended",
            "cuda-cuts": "section 4.3: CudaCuts with other blocks than 32 x 8, m pushes, and without atomics",
            "alpha": "section 5: divisors of epsilon, and no arc fixing on threads",
            "assignment": "section 5: the three forms, heuristics, lock-free, 1/20 s at 30 to 30",
            "updates": "section 5.5: price updates never, once and often in a refine",
            GROWTH: "operations over the bound O(n^2 m) as instances grow",
            "blocks": "section 5.5: threads per block on a GPU",
        }
    ),
    suites,
    seeded=True,
    full="about ten minutes with a GPU, without which its methods are left out and named; with Hong's "
    "algorithm (hong) hours, unless --time-limit stops it",
    small="minutes",
    apart=(GROWTH,),
    programs=MappingProxyType(
        {
            "arc-fixing": Program(
                "section 5.2: arcs fixed in the middle of a refine, as printed, lose the optimum",
                arc_fixing.show,
            ),
            "optical-flow": Program(
                "section 6: optical flow by assignments of 30 to 30, in frames a second", optical_flow.show
            ),
            "optical-flow-pairs": Program(
                "the same on pictures with a known motion: the share of corners that move rightly",
                optical_flow_pairs.show,
            ),
        }
    ),
)
