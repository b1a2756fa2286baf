"""The record of operation counts and times that every result carries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache
from typing import Any, Self

#: Positions of the counters in the uint64 array that kernels count in.
PUSHES, RELABELS, GLOBAL_RELABELS, GAP_VERTICES, ARC_SCANS, STEALS, WAITS = range(7)
COUNTERS = ("pushes", "relabels", "global_relabels", "gap_vertices", "arc_scans", "steals", "waits")
#: Position, in the first thread's row, of the time that global relabels took.
RELABEL_NANOSECONDS = len(COUNTERS)
#: Positions of what only matchings count.
PHASES, AUGMENTATIONS = RELABEL_NANOSECONDS + 1, RELABEL_NANOSECONDS + 2
#: Position of what only network simplex counts.
PIVOTS = AUGMENTATIONS + 1
#: Position of the barriers of a kernel on a GPU.
BARRIERS = PIVOTS + 1
#: Position of the number of operations after which a method gives up; 0 for no limit.
WORK_LIMIT = BARRIERS + 1
#: Position of the number of operations that a global relabel counts for there.
RELABEL_OPERATIONS = WORK_LIMIT + 1
#: The position of each counter, by the name of its field in the records below.
POSITIONS = {
    **{name: position for position, name in enumerate(COUNTERS)},
    "phases": PHASES,
    "augmentations": AUGMENTATIONS,
    "pivots": PIVOTS,
    "barriers": BARRIERS,
}

#: Gives a context for a part of a solve, named as in :attr:`SolveStats.seconds`, that takes its time.
Phase = Callable[[str], AbstractContextManager[None]]


def untimed(phase: str) -> AbstractContextManager[None]:
    """Return a context for a part of a solve whose time nobody wants to know."""
    return nullcontext()


def added_up(*parts: Mapping[str, float]) -> dict[str, float]:
    """Return the time of each phase in all parts."""
    total: dict[str, float] = {}
    for seconds in parts:
        for phase, taken in seconds.items():
            total[phase] = total.get(phase, 0.0) + taken
    return total


@dataclass(frozen=True)
class AttemptStats:
    """The part of one method in a solve.

    Attributes
    ----------
    method : str
    operations : int
        Pushes, relabels and arc scans.
    seconds : float
        Wall-clock time, a part of the phase "solve".
    gave_up : str
        Why it left the rest to the next method; empty for the last one.
    """

    method: str
    operations: int
    seconds: float
    gave_up: str = ""


@dataclass(frozen=True)
class SolveStats:
    """Operation counts and times of one solve.

    Attributes
    ----------
    method : str
        Name of the method that ran; where several did, the last one.
    reason : str
        Why it was chosen, and why others went on.
    attempts : tuple of AttemptStats
        What each method did, in their order. A method may leave an instance that does not suit it to another
        one, which goes on from what it found.
    device : str
        "cpu" or "cuda".
    threads : int
        CPU threads that worked.
    pushes, relabels, global_relabels : int
    gap_vertices : int
        Vertices that the gap heuristic took out.
    arc_scans : int
        Residual arcs, or edges of a bipartite graph, looked at (but by global relabels).
    steals : int
        Times a thread took work from another one's queue.
    waits : int
        Times a thread found nothing to do and waited for the others.
    global_relabel_seconds : float
        Wall-clock time of the global relabels beside which nothing else runs, a part of "solve"; 0 where the
        method does not take it.
    active : tuple of int
        The numbers of active vertices in the course of the solve, where the option `record_active` asks for
        them: the largest number that the first thread saw after its discharges, in each of up to 256 parts
        of its discharges, which are equally long but for the last.
    per_thread : tuple of mappings of str to int
        The counts of each thread; empty for serial methods.
    seconds : mapping of str to float
        Wall-clock time of each phase: "build", "solve", "recover"; and "compile", taken out of these,
        where kernels were compiled. On a GPU also "upload" and "download". To read what the caller gave, such
        as a NetworkX graph, is a part of "build".
    """

    method: str
    reason: str
    device: str = "cpu"
    threads: int = 1
    pushes: int = 0
    relabels: int = 0
    global_relabels: int = 0
    gap_vertices: int = 0
    arc_scans: int = 0
    steals: int = 0
    waits: int = 0
    global_relabel_seconds: float = 0.0
    active: tuple[int, ...] = ()
    per_thread: tuple[Mapping[str, int], ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    attempts: tuple[AttemptStats, ...] = ()

    @classmethod
    @cache
    def counted(cls) -> dict[str, int]:
        """Return the positions of the counters of this kind of record in a thread's row."""
        return {each.name: POSITIONS[each.name] for each in fields(cls) if each.name in POSITIONS}

    def including(self, seconds: Mapping[str, float]) -> Self:
        """Return the record with more time of some phases."""
        return replace(self, seconds=added_up(seconds, self.seconds))

    def _repr_html_(self) -> str:
        """Return what is not zero as a small table, which notebooks show."""
        from .notebook import html_table

        facts: dict[str, Any] = {each.name: getattr(self, each.name) for each in fields(self)}
        facts["seconds"] = ", ".join(f"{phase} {taken:.3g}" for phase, taken in self.seconds.items())
        facts["attempts"] = "; ".join(
            f"{each.method}: {each.operations:,} operations, {each.seconds:.3g} s"
            + (each.gave_up and f", left the rest: {each.gave_up}")
            for each in self.attempts
        )
        facts["per_thread"] = "; ".join(
            ", ".join(f"{name} {count:,}" for name, count in counts.items() if count)
            for counts in self.per_thread
        )
        facts["active"] = ", ".join(f"{count:,}" for count in self.active)
        texts = {
            name: f"{fact:,}" if isinstance(fact, int) else f"{fact:.3g}" if isinstance(fact, float) else fact
            for name, fact in facts.items()
            if fact
        }
        rows = ((name.replace("_", " "), str(text)) for name, text in texts.items())
        return html_table(type(self).__name__, rows)

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain Python values, for JSON, in which tuples are lists."""
        values = asdict(self) | {
            "per_thread": [dict(counts) for counts in self.per_thread],
            "seconds": dict(self.seconds),
        }
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


@dataclass(frozen=True)
class MatchingStats(SolveStats):
    """Operation counts and times of one matching.

    Attributes
    ----------
    initial : str
        The heuristic that the solve started from, "none" or "given".
    initial_cardinality : int
        Size of the matching that it started from.
    phases : int
        Rounds of searches, or of pushes between two global relabels.
    augmentations : int
        By how much the solver itself enlarged the matching.
    barriers : int
        On a GPU, barriers of all threads: a level of a search or a round of pushes ends with one. Published
        codes launch a kernel for each.
    """

    initial: str = "none"
    initial_cardinality: int = 0
    phases: int = 0
    augmentations: int = 0
    barriers: int = 0


@dataclass(frozen=True)
class AssignmentStats(SolveStats):
    """Operation counts and times of one assignment.

    `arc_scans` counts costs looked at, `pushes` also the bids of auctions, `global_relabels` price updates.

    Attributes
    ----------
    augmentations : int
        Rows that needed a search for a path.
    """

    augmentations: int = 0


@dataclass(frozen=True)
class GeneralMatchingStats(SolveStats):
    """Operation counts and times of one matching in a general graph.

    Attributes
    ----------
    phases : int
        Searches.
    augmentations : int
        Augmenting paths.
    """

    phases: int = 0
    augmentations: int = 0


@dataclass(frozen=True)
class MinCostStats(SolveStats):
    """Operation counts and times of one minimum-cost flow.

    `global_relabels` counts price updates.

    Attributes
    ----------
    phases : int
        Refines of a cost scaling, phases of a capacity scaling, or rounds of new arcs.
    augmentations : int
        Paths along which flow was sent.
    pivots : int
        Exchanges of an arc of the tree in network simplex.
    """

    phases: int = 0
    augmentations: int = 0
    pivots: int = 0
