"""Every error that preflow raises on purpose, under one base class."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import Any, NamedTuple, Self


class Advice(NamedTuple):
    """An argument with which a caller may call the function again, after an error."""

    argument: str  #: the name of the argument
    value: bool | float | str | tuple[str, ...]
    effect: str  #: what the argument does, as in "leaves some of them over"

    def __str__(self) -> str:
        return f"{self.argument}={self.value!r} {self.effect}"


class PreflowError(Exception):
    """Base class of all errors raised by preflow. They can be pickled and copied, with their attributes.

    Attributes
    ----------
    problem : str
        The message without the advice.
    advice : tuple of Advice
        Arguments that help. Commands say the same with their own options.

    Examples
    --------
    >>> import preflow
    >>> try:
    ...     preflow.linear_assignment([[1, float("inf")], [2, float("inf")]])
    ... except preflow.errors.PreflowError as error:
    ...     print(error.problem, error.advice[0].argument, error.advice[0].value, sep="; ")
    no assignment: rows 0, 1 are allowed 1 column together: 0; partial; True
    """

    advice: tuple[Advice, ...] = ()

    def advising(self, argument: str, value: bool | float | str | tuple[str, ...], effect: str) -> Self:
        """Add a piece of advice, and return the error."""
        self.advice = (*self.advice, Advice(argument, value, effect))
        return self

    @property
    def problem(self) -> str:
        """The message without the advice."""
        return super().__str__()

    def __str__(self) -> str:
        problem = self.problem
        link = " " if problem.endswith("?") else "; "
        return link.join([problem, "; ".join(map(str, self.advice))]) if self.advice else problem

    def __reduce__(self) -> tuple[Any, ...]:
        return _made_again, (type(self), self.args), self.__dict__


class InvalidInputError(PreflowError, ValueError):
    """An argument is malformed: wrong shape, dtype, range or combination.

    Attributes
    ----------
    entry : int, tuple of int or None
        Where the first wrong entry of an array is, if it is an entry.
    """

    entry: int | tuple[int, ...] | None = None


class InvalidTypeError(InvalidInputError, TypeError):
    """An argument has a type or dtype that cannot become numbers, where SciPy raises TypeError."""


class CapacityOverflowError(InvalidInputError, OverflowError):
    """A sum of capacities does not fit 64-bit integers."""


class UnsuitableMethodError(InvalidInputError):
    """The problem is beyond what the method that was asked for can do; others can solve it."""


class UnequalSumsError(InvalidInputError):
    """Supplies and demands, or the masses of rows and those of columns, have different sums."""


class UnboundedFlowError(PreflowError, ValueError):
    """A source reaches a sink through arcs of infinite capacity."""


class InfeasibleError(PreflowError, ValueError):
    """Not all rows (columns, where there are fewer) can be assigned: some have too few partners together.

    Attributes
    ----------
    side : {"rows", "columns"}
    violating : tuple
        Rows (columns) that have, together, only the `allowed` partners: numbers, or the caller's labels.
    allowed : tuple
        Columns (rows), fewer than the `violating` ones.
    item : tuple of int or None
        Which matrix of a stack it is.
    numbers : (int, int) or None
        How many partners the violating ones need in all, and how many the allowed ones take at most, where a
        row or a column may have several.
    """

    def __init__(
        self,
        side: str,
        violating: tuple[int, ...],
        allowed: tuple[int, ...],
        item: tuple[int, ...] | None = None,
        numbers: tuple[int, int] | None = None,
    ) -> None:
        self.side, self.violating, self.allowed, self.item = side, violating, allowed, item
        self.numbers = numbers
        other = "column" if side == "rows" else "row"
        where = "" if item is None else f"matrix {item}: "
        several = len(violating) > 1
        who = f"{side if several else side[:-1]} {_some(violating)} {'are' if several else 'is'}"
        what = (
            f"{len(allowed) or 'no'} {other}{'s' if len(allowed) > 1 else ''}{' together' if several else ''}"
        )
        bounds = ""
        if numbers is not None and allowed:
            take = "take" if len(allowed) > 1 else "takes"
            bounds = f", which {take} at most {numbers[1]:,} of the {numbers[0]:,} needed"
        super().__init__(
            f"{where}no assignment: {who} allowed {what}{bounds}{': ' + _some(allowed) if allowed else ''}"
        )
        self.advising("partial", True, "leaves some of them over")


class InfeasibleFlowError(InfeasibleError):
    """No flow within the capacities moves all supplies to the demands: a cut proves it.

    Attributes
    ----------
    vertices : tuple
        One side of the cut: vertices, or the caller's labels, that supply more in all than the arcs out of
        the set can carry beyond what the lower bounds of the arcs into it bring.
    excess : int or float
        The amount by which they do.
    brought : int or float
        What these lower bounds bring in all.
    stays : int or float
        Of a transport plan: what may stay in the rows; the excess is beyond it.
    item : tuple of int or None
        Of a batch of transport plans: which one it is.
    """

    stays: float = 0
    item: tuple[int, ...] | None = None

    def __init__(
        self, vertices: tuple[Any, ...], excess: float, message: str | None = None, *, brought: float = 0
    ) -> None:
        self.vertices, self.excess, self.brought = vertices, excess, brought
        several = (
            f"{len(vertices):,} vertices together supply {excess:,} more than the arcs out of the set can"
        )
        single = f"vertex {_some(vertices)} supplies {excess:,} more than the arcs out of it can carry"
        text = single if len(vertices) == 1 else f"{several} carry: {_some(vertices)}"
        bounds = f"; this counts the {brought:,} that lower bounds bring in" if brought > 0 else ""
        PreflowError.__init__(self, message or f"no feasible flow: {text}{bounds}")

    @classmethod
    def of_plan(
        cls,
        vertices: tuple[tuple[str, Hashable], ...],
        excess: float,
        stays: float = 0,
        *,
        item: tuple[int, ...] | None = None,
    ) -> InfeasibleFlowError:
        """Return the error of a transport plan, whose vertices are ("row", label) and ("column", label).

        `stays` is what may stay in the rows; `excess` is beyond it. `item` is the index of a plan of a batch.
        """
        rows, columns = (tuple(name for side, name in vertices if side == of) for of in ("row", "column"))
        several = len(rows) > 1
        who = f"{'rows' if several else 'row'} {_some(rows)} {'have' if several else 'has'}"
        them = "them" if several else "it"
        if columns:
            where = f"{'columns' if len(columns) > 1 else 'column'} {_some(columns)}"
            what = f"{excess:,} more than {where} can take, and no other column may take from {them}"
        else:
            what = f"{excess:,}, and no column may take from {them}"
        beyond = f", beyond the {stays:,} that may stay" if stays else ""
        where = "" if item is None else f"matrix {item}: "
        found = cls(vertices, excess, f"{where}no transport plan: {who} {what}{beyond}")
        found.stays, found.item = stays, item
        return found


class InfeasibleMatchingError(InfeasibleError):
    """A graph has no perfect matching: a set of vertices proves it (Tutte 1947).

    Attributes
    ----------
    barrier : tuple
        Vertices, or the caller's labels.
    components : tuple of tuples
        The odd components of the graph without these vertices. There are more of them than vertices in
        `barrier`, and each needs one of these as a partner.
    item : tuple of int or None
        Of a batch of graphs: which one it is.
    """

    def __init__(
        self,
        barrier: tuple[Any, ...],
        components: tuple[tuple[Any, ...], ...],
        item: tuple[int, ...] | None = None,
    ) -> None:
        self.barrier, self.components, self.item = barrier, components, item
        where = "" if item is None else f"item {item[0]}: "
        number = "1 vertex" if len(barrier) == 1 else f"{len(barrier):,} vertices"
        without = f"without {number} ({_some(barrier)}) " if barrier else ""
        odd = "1 component" if len(components) == 1 else f"{len(components):,} components"
        PreflowError.__init__(
            self,
            f"{where}no perfect matching: {without}the graph has {odd} with an odd number of vertices",
        )
        self.advising("maximum_cardinality", True, "leaves some vertices over")


class CostOverflowError(InvalidInputError, OverflowError):
    """Costs are so large that sums of costs along paths do not fit the 64-bit integers of the solver."""


class UnboundedCostError(PreflowError, ValueError):
    """Flow around a cycle of infinite capacity lowers the cost without limit.

    Attributes
    ----------
    arcs : tuple of int
        The arcs of the cycle, in order.
    cost : int or float
        The sum of their costs, negative.
    ends : tuple of (tail, head)
        The ends of these arcs: vertices, or the caller's labels.
    """

    def __init__(
        self, arcs: tuple[int, ...], cost: float, ends: tuple[tuple[Hashable, Hashable], ...]
    ) -> None:
        self.arcs, self.cost, self.ends = arcs, cost, ends
        cycle = tuple(f"{arc} ({tail} to {head})" for arc, (tail, head) in zip(arcs, ends, strict=True))
        which = "an arc of infinite capacity is" if len(arcs) == 1 else "arcs of infinite capacity form"
        super().__init__(f"the cost is unbounded: {which} a cycle of cost {cost:,}: {_some(cycle)}")


class NotOptimalError(PreflowError):
    """The value of a solve that stopped before optimality was asked for."""


class VerificationError(PreflowError, AssertionError):
    """A result does not prove its own optimality."""


def install(extra: str) -> str:
    """Return how packages are installed beside preflow: pip takes the extra of the package that is there."""
    return f"install it with  pip install 'preflow[{extra}]'"


class MissingDependencyError(PreflowError, ImportError):
    """A feature needs an optional package that is not installed."""

    def __init__(self, feature: str, package: str, extra: str) -> None:
        super().__init__(f"{feature} needs {package}: {install(extra)}")


class DeviceUnavailableError(PreflowError, RuntimeError):
    """The requested device is not there."""


class SolverError(PreflowError, RuntimeError):
    """A solver did more than it can ever need: a bug; the message has its state."""


# MemoryError comes first because it has a __new__ of its own, which Python else calls for no subclass.
class DeviceMemoryError(MemoryError, PreflowError):
    """A problem does not fit the memory of the device."""


class StorageError(PreflowError, OSError):
    """A file cannot be read or written: the disk is full, say, or the folder is read-only."""


class WorkerDiedError(PreflowError, RuntimeError):
    """A worker of :mod:`preflow.distributed` ended before it answered: it was killed, or crashed."""


class TimeLimitError(PreflowError, TimeoutError):
    """An item of a batch was not done when the time limit of the batch was over."""


class ItemError(PreflowError, RuntimeError):
    """An item of :func:`preflow.distributed.map` has no result.

    Attributes
    ----------
    item : int
        The number of the item, from 0.
    error : Exception
        The error that the function raised; WorkerDiedError if no worker survived the item, TimeLimitError
        if the time limit was over.
    """

    def __init__(self, item: int, error: Exception) -> None:
        self.item, self.error = item, error
        super().__init__(f"item {item}: {type(error).__name__}: {error}")
        self.__cause__ = error


class ParseError(PreflowError, ValueError):
    """A file is malformed; says where and what was expected.

    Parameters
    ----------
    path : path of the file.
    line : int or None
        Line number, from 1; None where the file as a whole is at fault.
    message : str
        What was found and what was expected.
    """

    def __init__(self, path: str | Path, line: int | None, message: str) -> None:
        self.path = Path(path)
        self.line = line
        where = f"{path}:{line}" if line is not None else f"{path}"
        super().__init__(f"{where}: {message}")


def _made_again(kind: type[PreflowError], args: tuple[Any, ...]) -> PreflowError:
    """Return an error with these ``args``; its ``__init__``, which may take others, is not called."""
    return kind.__new__(kind, *args)


def _some(numbers: tuple[object, ...]) -> str:
    """Return the first ten numbers as text."""
    more = f", ... ({len(numbers):,})" if len(numbers) > 10 else ""
    return ", ".join(map(str, numbers[:10])) + more
