"""compare: solve one instance by several methods, and put values, times and counts side by side."""

from __future__ import annotations

import statistics
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .arrays import AnyArray
from .checks import check_integer
from .cuts import min_cut
from .errors import InvalidInputError, PreflowError, SolverError, VerificationError
from .graph.edge_tables import Tabular
from .graph.grid import GridNetwork
from .notebook import html_table, text_table
from .registry import FUNCTIONS, PROBLEMS, problem_of
from .registry import methods as methods_of
from .solving.dispatch import find_method
from .solving.method import load
from .solving.result import BoundedResult
from .solving.timing import solving_seconds

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The most counts in the text of a table.
SHOWN_COUNTS = 3


class Measured(NamedTuple):
    """The outcome of one method."""

    method: str
    #: that of the result; "wrong" if the result does not prove itself, "refused" if the method or this
    #: machine cannot solve the instance
    status: str
    value: int | float | None = None  #: the optimum; None if there is none
    lower_bound: int | float | None = None
    upper_bound: int | float | None = None
    gap: int | float | None = None
    seconds: float | None = None  #: median of the repetitions, without compiling
    counts: Mapping[str, int] = {}  #: the operation counts of the last repetition that are not zero
    note: str = ""  #: why the method was refused or is wrong


@dataclass(frozen=True, repr=False)
class Comparison(Tabular):
    """The methods of a problem on one instance; a table in notebooks.

    Attributes
    ----------
    problem : str
    rows : tuple of Measured
        In the order in which the methods were given.
    """

    problem: str
    rows: tuple[Measured, ...] = field(default=())

    def __iter__(self) -> Iterator[Measured]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def agree(self) -> bool:
        """Whether no result is wrong, and all optima are equal, for floats within their gaps."""
        optima = [row for row in self.rows if row.value is not None and row.gap is not None]
        least, most = (end(optima, key=_value, default=None) for end in (min, max))
        if least is None or most is None:
            return not any(row.status == "wrong" for row in self.rows)
        apart = _value(most) - _value(least)
        within = (least.gap or 0) + (most.gap or 0)
        return apart <= within and not any(row.status == "wrong" for row in self.rows)

    @property
    def fastest(self) -> str:
        """The method with the least time of those that found an optimum.

        Raises
        ------
        InvalidInputError
            None did.
        """
        timed = [row for row in self.rows if row.status == "optimal" and row.seconds is not None]
        if not timed:
            raise InvalidInputError("no method found an optimum")
        return min(timed, key=lambda row: row.seconds or 0.0).method

    def to_columns(self) -> dict[str, AnyArray]:
        """Return the columns of :meth:`to_pandas`: for each method its numbers and counts; NaN is none."""
        names = dict.fromkeys(name for row in self.rows for name in row.counts)
        columns: dict[str, list[Any]] = {
            name: [getattr(row, name) for row in self.rows]
            for name in ("method", "status", "value", "lower_bound", "upper_bound", "gap", "seconds")
        }
        for name in names:
            columns[name] = [row.counts.get(name, 0) for row in self.rows]
        columns["note"] = [row.note for row in self.rows]
        return {name: _array(values) for name, values in columns.items()}

    def _table(self) -> list[list[str]]:
        """Return the cells, with a line of titles."""
        every = dict.fromkeys(name for row in self.rows for name in row.counts)
        shown = sorted(every, key=lambda name: -max(row.counts.get(name, 0) for row in self.rows))
        counts = [name for name in every if name in shown[:SHOWN_COUNTS]]
        has_notes = any(row.note for row in self.rows)
        titles = ["method", "status", "value", "seconds", *(name.replace("_", " ") for name in counts)]
        lines = [titles + ["note"] * has_notes]
        for row in self.rows:
            numbers = [f"{row.counts[name]:,}" if name in row.counts else "" for name in counts]
            seconds = "" if row.seconds is None else f"{row.seconds:.3g}"
            lines.append([row.method, row.status, _shown(row), seconds, *numbers, *[row.note] * has_notes])
        return lines

    def __repr__(self) -> str:
        lines = self._table()
        left = {0, 1, len(lines[0]) - 1 if lines[0][-1] == "note" else 0}
        text = text_table(lines, set(range(len(lines[0]))) - left)
        warning = "" if self.agree else "\nthe methods do not agree"
        return f"{self.problem}, {len(self.rows)} methods\n{text}{warning}"

    def _repr_html_(self) -> str:
        titles, *lines = self._table()
        return html_table("", lines, titles=titles) + (
            "" if self.agree else "<p>The methods do not agree.</p>"
        )

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the seconds of each method as a bar; one that gave no optimum has a red name instead."""
        from .drawing.axes import draw_seconds

        rows = [
            (row.method, row.seconds if row.status == "optimal" else None, row.status) for row in self.rows
        ]
        return draw_seconds(ax, rows)


def compare(
    problem: Any,
    *data: Any,
    methods: Sequence[str] | None = None,
    repeat: int = 1,
    verify: bool = True,
    threads: int | None = None,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    **arguments: Any,
) -> Comparison:
    """Solve one instance by several methods and return a table of values, times and counts.

    Parameters
    ----------
    problem : str, network, graph or PointCosts
        The name of a function, as in :func:`preflow.methods`; its arguments follow. Or a container of
        preflow, which says which problem it is, with the other arguments behind it.
    *data
        The data of that function, such as a network, a source and a sink.
    methods : sequence of str, optional
        Names of methods; "auto" may be one. Default: all that are available here, promise an optimum, and
        take the instance.
    repeat : int
        Solves by each method. They take turns, and the median of the times counts.
    verify : bool
        Whether to prove each result; the time of that does not count.
    threads : int, optional
        For the methods that can use more than one thread.
    options : mapping of str to mapping, optional
        The options of each method by its name.
    **arguments
        Further arguments of the function, such as `time_limit`. Without one, slow methods take their time:
        the textbook method is among them.

    Returns
    -------
    Comparison

    Raises
    ------
    InvalidInputError
        There is no such problem or method.
    PreflowError
        No method solves the instance: the error of the first one.

    Examples
    --------
    >>> import preflow
    >>> network = preflow.FlowNetwork.from_arrays([0, 0, 1, 2], [1, 2, 3, 3], [3, 2, 2, 4])
    >>> table = preflow.compare(network, 0, 3, methods=["serial-fifo", "serial-hi-pr"])
    >>> [(row.method, row.value) for row in table], table.agree
    ([('serial-fifo', 4), ('serial-hi-pr', 4)], True)
    """
    check_integer("repeat", repeat)
    name, instance = _problem_of(problem, data)
    # A grid has the methods of grid_cut, and arguments as those of min_cut.
    is_grid = isinstance(instance[0] if instance else None, GridNetwork)
    function = min_cut if is_grid else load(f"{FUNCTIONS[name].functions[name]}.{name}")
    known = methods_of(name)
    chosen = (
        [method.name for method in known if method.available and not method.approximate]
        if methods is None
        else list(methods)
    )
    if not chosen:
        raise InvalidInputError("methods is empty: name one")
    given = {method: dict(arguments) for method in chosen}
    for method in chosen:
        record = None if method == "auto" else find_method(known, method)
        if threads is not None and (record is None or record.parallel):
            given[method]["threads"] = threads
        if options and method in options:
            given[method]["options"] = options[method]
    for method in options or {}:
        if method not in given:
            raise InvalidInputError(f"there are options for {method!r}, which is not compared")
    rows: dict[str, Measured] = {}
    seconds: dict[str, list[float]] = {method: [] for method in chosen}
    failures: list[PreflowError] = []
    for _ in range(repeat):
        for method in chosen:
            if method in rows and rows[method].status in ("refused", "wrong"):
                continue
            try:
                result = function(*instance, method=method, **given[method])
                seconds[method].append(_checked(result, verify))
                rows[method] = _measured(method, result, seconds[method])
            except (SolverError, VerificationError) as error:
                rows[method] = Measured(method, "wrong", note=str(error))
            except PreflowError as error:
                failures.append(error)
                rows[method] = Measured(method, "refused", note=str(error))
    if all(row.status == "refused" for row in rows.values()):
        raise failures[0]
    kept = [row for row in rows.values() if methods is not None or row.status != "refused"]
    return Comparison(name, tuple(kept))


def _problem_of(problem: Any, data: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    """Return the name of the problem, and the data of its function."""
    if isinstance(problem, str):
        problem_of(problem)
        if not data:
            raise InvalidInputError(
                f"compare({problem!r}) needs the data behind the name: the arguments of preflow.{problem}"
            )
        return problem, data
    for record in PROBLEMS:
        if isinstance(problem, tuple(map(load, record.containers))):
            return record.name, (problem, *data)
    raise InvalidInputError(
        f"name the problem, as in compare('max_flow', network, source, sink): a {type(problem).__name__} "
        "could be the data of several"
    )


def _checked(result: Any, verify: bool) -> float:
    """Verify a result, and return the seconds of its solve."""
    if isinstance(result, list) or np.ndim(result.lower_bound) > 0:
        raise InvalidInputError("compare takes one instance, not a batch")
    if verify:
        result.verify()
    return solving_seconds(result.stats.seconds)


def _measured(method: str, result: BoundedResult, seconds: Sequence[float]) -> Measured:
    facts = result.stats.to_dict()
    counts = {
        name: number
        for name, number in facts.items()
        if isinstance(number, int) and not isinstance(number, bool) and number and name != "threads"
    }
    return Measured(
        method,
        result.status,
        result.value if result.status == "optimal" else None,
        result.lower_bound,
        result.upper_bound,
        result.gap,
        statistics.median(seconds),
        counts,
    )


def _value(row: Measured) -> int | float:
    assert row.value is not None
    return row.value


def _shown(row: Measured) -> str:
    """Return the value as text, or the bounds."""
    if row.value is not None:
        return f"{row.value:,}"
    if row.lower_bound is None or row.upper_bound is None:
        return ""
    return f"{row.lower_bound:,} to {row.upper_bound:,}"


def _array(values: Sequence[Hashable]) -> AnyArray:
    if None in values and all(value is None or isinstance(value, int | float) for value in values):
        return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    return np.array(values)
