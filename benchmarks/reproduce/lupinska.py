"""Łupińska, "Parallel implementation of flow and matching algorithms" (2011): its systems, side by side.

"assignment" has complete bipartite graphs and the algorithms of section 5: the generic one (5.0), that of
Goldberg and Kennedy (5.1), the mixed one (5.2), each without and with price updates (5.3) and arc fixing, and
the lock-free one (5.4) on threads and on a GPU. "flow" has grids and the systems of section 4: Hong's
algorithm, which never relabels globally, the same with global relabels, and the hybrid of CPU and GPU.
"alpha" has other divisors of epsilon than the paper's 10, and the lock-free method without arc fixing.

The paper's numbers are few: it calls 1/20 of a second real time, and reaches it for assignments of 30 to 30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType

from preflow.bench.assignment_instance import AssignmentInstance
from preflow.bench.flow_suites import flow_case
from preflow.bench.problem import Case, Suite, Table
from preflow.bench.runner import InstanceRecord
from preflow.bench.scaling import by_group, own_contestants
from preflow.generators import grid_2d
from preflow.generators.costs import uniform_integer_costs

from .means import Mean, mean_seconds
from .selection import Paper, Selection

#: Sizes of the assignments; the paper has 30.
SIZES, SMALL_SIZES = (30, 100, 300, 1000), (10, 30, 60)
#: The largest cost.
LARGEST = 100
#: Sides of the grids. Hong's algorithm, which never relabels globally, is measured on the small ones only.
SIDES, SMALL_SIDES = (60, 250, 1000), (15, 30, 60)
SEEDS = 3
#: What the paper says of the seconds of an instance.
PUBLISHED: Mapping[str, str] = MappingProxyType({"complete 30": "1/20 s"})

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
FLOW_METHODS = ("multicore-lockfree", "multicore-lockfree-arg", "cuda-hybrid", "cuda-lockfree", "auto")
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


def suites(selection: Selection) -> dict[str, Suite]:
    """Return the suites of assignments and of grids."""
    seeds = SEEDS if selection.seeds is None else selection.seeds
    sizes, sides = (SMALL_SIZES, SMALL_SIDES) if selection.small else (SIZES, SIDES)
    found = {}
    if selection.wants("flow"):
        methods = (*FLOW_METHODS, "Hong") if selection.small else FLOW_METHODS
        found["max_flow"] = Suite(partial(grids, sides=sides, seeds=seeds), methods, tables=tables)
    wanted = {"assignment": ASSIGNMENT_METHODS, "alpha": ALPHA_METHODS}
    solvers = [method for part, methods in wanted.items() if selection.wants(part) for method in methods]
    if solvers:
        make = partial(assignments, sizes=sizes, seeds=seeds)
        found["linear_assignment"] = Suite(make, tuple(solvers), tables=tables)
    return found


PAPER = Paper(
    "Łupińska, Parallel Implementation of Flow and Matching Algorithms (2011)",
    MappingProxyType(
        {
            "flow": "section 4: Hong's algorithm (--small only), global relabels, the hybrid on grids",
            "alpha": "section 5: divisors of epsilon, and no arc fixing on threads",
            "assignment": "section 5: the three forms, heuristics, lock-free, 1/20 s at 30 to 30",
        }
    ),
    suites,
    seeded=True,
    full="minutes with a GPU; without one its methods are left out and named",
    small="a minute",
)
