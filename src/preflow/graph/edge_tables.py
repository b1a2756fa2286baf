"""Edges whose ends have labels: from tuples, from dictionaries, and from tables of any library.

A table is a DataFrame of pandas or polars, an Arrow table, a structured array of NumPy, a list of records, or
any object with ``__arrow_c_stream__``. Its columns are read by its own library: nothing is imported that the
caller has not imported, except pyarrow for other objects with ``__arrow_c_stream__``, such as relations of
DuckDB. A file is a table, too: :mod:`preflow.io.tables` makes its reader.

The same rules find the columns of all tables, see :func:`find_columns`. The columns of the ends are those
that the caller names, or those with a pair of the names in `ENDS`, or the two that are left in a table that
has just the columns needed. Any other table is refused: a column in front that numbers the rows would be
taken for an end, and the answer would be that of another problem.

All readers return :class:`EdgeColumns`. :func:`number_together` then numbers the vertices of a network, where
both ends of an edge are of one kind, and :func:`number_apart` rows and columns. Labels are numbered in the
order in which they appear first, edge by edge.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from itertools import chain
from numbers import Rational
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard
from unicodedata import normalize

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..arrays import AnyArray, Array, TableInput, Untyped
from ..checks import needed_for, shown, warn_caller
from ..errors import InvalidInputError, PreflowError

if TYPE_CHECKING:
    import pandas

#: What stands for the labels of one end of all edges: Python objects, or an array.
Ends = Sequence[Hashable] | AnyArray


#: Two numbers for one edge may differ by this many units in the last place: as products that were summed in
#: another order do.
ULPS = 16


#: Names of the columns of the two ends of an edge.
ENDS = (("source", "target"), ("from", "to"), ("tail", "head"), ("row", "column"), ("u", "v"))
FIRST, SECOND = (tuple(pair[side] for pair in ENDS) for side in range(2))
#: Names of columns of numbers, and of those of a table of amounts.
CAPACITY, COST, WEIGHT = ("capacity", "cap"), ("cost", "weight"), ("weight", "cost")
LOWER, FLOW = ("lower",), ("flow",)
AMOUNT, LABEL = ("supply", "mass"), ("vertex", "node", "name", "row", "column")
#: What an array with a row for each edge has columns for, at most.
MOST_COLUMNS = ("tail", "head", "capacity", "cost", "lower")
#: Names of columns that cannot be ends.
NUMBERS = frozenset((*CAPACITY, *COST, *LOWER, *FLOW, *AMOUNT))
#: A number whose thousands are marked.
GROUPED = re.compile(r"[+-]?\d{1,3}([.,])\d{3}(?:\1\d{3})*")
#: Types of cells that are numbers: all but text, dates and durations.
NUMERIC = (int, float, Rational, Decimal, np.number, np.bool_)
#: What errors about a missing number, or one that is none, add.
HINTS = {"capacity": "; an infinite capacity is inf"}
NOT_ALLOWED = {"cost": "; a pair that is not allowed costs inf"}


class EdgeColumns(NamedTuple):
    """Edges by columns, with labels that are not numbered yet."""

    #: list, tuple or array, length m: the labels of the two ends of each edge
    first: Ends
    second: Ends
    #: dict of str to (list or array), each of length m: the numbers of each edge, by what they are
    values: dict[str, AnyArray]
    #: labels that are numbered before those of the edges, in this order
    before: tuple[Hashable, ...] = ()


class Numbered(NamedTuple):
    """The labels of vertices in the order of their numbers, and the ends of edges as numbers."""

    labels: tuple[Hashable, ...]
    first: NDArray[np.int64]
    second: NDArray[np.int64]


class UnknownNameError(InvalidInputError):
    """There is no column or attribute with the name that was given, or with the usual one."""


class ColumnNames(NamedTuple):
    """Names that a caller gives to columns of a table, or to attributes of edges; None: the usual ones."""

    ends: tuple[Hashable, Hashable] | None = None
    capacity: Untyped = None
    cost: Untyped = None
    lower: Untyped = None
    weight: Untyped = None

    def check_unused(self, given: object) -> None:
        """Raise InvalidInputError if there are names, and what is given has none."""
        if self == USUAL_NAMES:
            return
        for argument, name in self._asdict().items():
            if name is not None:
                raise InvalidInputError(
                    f"{argument}={name!r} names columns of a table or an attribute of edges; this is a "
                    f"{type(given).__name__}, which has none"
                )


#: What functions pass whose callers name nothing.
USUAL_NAMES = ColumnNames()


@contextmanager
def other_names_by(constructor: str, called: Mapping[str, str] | None = None) -> Iterator[None]:
    """Let errors about the usual names say which constructor takes other names.

    Where the caller takes them, too, `called` says for its arguments what the constructor calls them.
    """
    try:
        yield
    except UnknownNameError as error:
        if called is None:
            raise InvalidInputError(f"{error.problem} ({constructor} takes other names)") from None
        message = error.problem
        for own, argument in called.items():
            message = message.replace(f"{argument}=", f"{own}=")
        raise InvalidInputError(message) from None


def read_by_form(
    made: Untyped,
    given: Untyped,
    names: ColumnNames | None,
    found: Callable[[], Mapping[str, Hashable | None]],
    **spelled: str,
) -> Untyped:
    """Return what a class of networks makes of a sparse matrix or of edges with labels; None for other forms.

    `names` are those of the caller; None if the caller cannot name any, so that errors name constructors that
    can. `found` returns the arguments of the constructor for tables. `spelled` says for a number what the
    other constructors call the argument with its name.
    """
    if hasattr(given, "tocsr"):
        (names or USUAL_NAMES).check_unused(given)
        return made.from_scipy(given)
    for name, is_form in _CONSTRUCTORS.items():
        if not is_form(given):
            continue
        with other_names_by(f"{made.__name__}.{name}", None if names is None else spelled):
            if name == "from_pandas":
                return made.from_pandas(given, **found())
            given_names = (names or USUAL_NAMES)._asdict()
            arguments = {spelled[what]: given_names.pop(what) for what in spelled}
            ColumnNames(**{**given_names, **dict.fromkeys(spelled)}).check_unused(given)
            return getattr(made, name)(
                given, **{argument: value for argument, value in arguments.items() if value is not None}
            )
    return None


def in_known_form(given: Untyped, number: str, *, or_matrix: bool = False) -> Untyped:
    """Return edges in containers that modellers have as a list of tuples or as a table; others unchanged.

    These are iterators such as zip, views and sets, tables and Series of pandas that are indexed by both
    ends, as those of groupby are, what delivers a table once, and dictionaries of columns. `number` is what a
    Series has. Where it could be a matrix, a DataFrame has such a column.
    """
    given = _in_memory(given)
    if isinstance(given, Mapping):
        return _of_columns(list(given), given.__getitem__) if _has_columns(given) else given
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(given, pandas.Series | pandas.DataFrame):
        if given.index.nlevels != 2:
            return given
        table = given.to_frame(number) if isinstance(given, pandas.Series) else given
        reader = _reader(table)
        is_matrix = or_matrix and len(reader.names) > 0 and reader.find([number]) is None
        if is_matrix or reader.named_ends() is not None:
            return given
        free = next(pair for pair in ENDS if not set(pair).intersection(reader.known()))
        return table.reset_index(names=list(free))
    others = (str, bytes, list, tuple)
    if not isinstance(given, Iterable) or isinstance(given, others) or hasattr(given, "dtype"):
        return given
    if hasattr(given, "__dlpack__") or hasattr(given, "tocsr") or _is_graph(given) or is_table(given):
        return given
    if hasattr(given, "__array__") and not isinstance(next(iter(given), None), tuple):
        return given  # rustworkx has lists of tuples that would be arrays, too
    rows = list(given)
    for row in rows:
        if not isinstance(row, Iterable) or isinstance(row, str | bytes):
            raise InvalidInputError(f"edges are tuples of both ends and their numbers, and one is {row!r}")
    return [row if isinstance(row, tuple | Mapping) else tuple(row) for row in rows]


def _in_memory(given: Untyped) -> Untyped:
    """Return a table whose rows are there, of one that computes or delivers them; others unchanged.

    These are frames of narwhals, LazyFrames, relations of DuckDB and other streams of Arrow, read once.
    """
    if type(given).__module__.startswith("narwhals."):
        given = given.to_native()
    polars = sys.modules.get("polars")
    if polars is not None and isinstance(given, polars.LazyFrame):
        return given.collect()
    if not hasattr(given, "__arrow_c_stream__") or hasattr(given, "__array__"):
        return given
    with needed_for(f"a {type(given).__name__}", "pyarrow", "tables"):
        import pyarrow
    return pyarrow.table(given)


def _has_columns(given: Mapping[Hashable, Untyped]) -> bool:
    """Return whether a dictionary has columns of a table, and not neighbours of vertices.

    It has names of both ends, other than u and v, and a usual name of numbers. Without that its columns have
    one length, and no name in them, as the neighbours of vertices with these names would.
    InvalidInputError: columns of a table have different lengths.
    """
    names = {name.strip().lower() for name in given if isinstance(name, str)}
    if not any(names.issuperset(pair) for pair in ENDS if pair != ("u", "v")):
        return False
    columns = list(given.values())
    if not all(
        isinstance(column, list | tuple) or len(getattr(column, "shape", ())) == 1 for column in columns
    ):
        return False
    lengths = {name: len(column) for name, column in given.items()}
    if NUMBERS.isdisjoint(names):
        cells = chain.from_iterable(columns)
        return len({*lengths.values()}) == 1 and not any(
            isinstance(cell, str) and cell in given for cell in cells
        )
    if len({*lengths.values()}) > 1:
        raise InvalidInputError(f"the columns of a table have different lengths: {lengths}")
    return True


def edges_of_lists(parts: Sequence[Untyped], numbers: Sequence[str]) -> EdgeColumns | None:
    """Return edges from lists of labels for both ends and of their numbers; None if the ends are numbers.

    Of the numbers those that come last may be left out. InvalidInputError: the lists have different lengths.
    """
    if not any(map(_has_labels, parts[:2])):
        return None
    first, second = (list(side) for side in parts[:2])
    values = {
        name: np.full(len(first), part) if np.ndim(part) == 0 else np.asarray(part)
        for name, part in zip(numbers, parts[2:], strict=False)
    }
    sides: dict[str, Untyped] = {"the second ends": second, **values}
    for name, side in sides.items():
        if len(side) != len(first):
            raise InvalidInputError(f"there are {len(first)} first ends of edges, and {len(side)} of {name}")
    return EdgeColumns(first, second, values)


def _has_labels(side: Untyped) -> bool:
    """Return whether one end of all edges, a list or an array, has labels and no numbers."""
    if isinstance(side, list | tuple) or hasattr(side, "to_numpy"):
        return len(side) > 0 and isinstance(next(iter(side)), str | bytes | tuple)
    return isinstance(side, np.ndarray) and side.ndim == 1 and side.dtype.kind in "US"


def is_edge_list(values: object) -> TypeGuard[list[tuple[Any, ...]]]:
    """Return whether a list has a tuple for each edge. A list of lists is a matrix."""
    return isinstance(values, list) and bool(values) and all(isinstance(edge, tuple) for edge in values)


def kind_of(given: Untyped) -> str:
    """Return the type of what is no edges, for a message, and how edges by rows become some that are."""
    kind = type(given).__name__
    if isinstance(given, list) and given and all(isinstance(edge, list | np.ndarray) for edge in given):
        return f"{kind}: of a list of lists, [tuple(edge) for edge in edges] makes tuples"
    if isinstance(given, np.ndarray) and given.ndim == 2 and 2 <= given.shape[1] <= len(MOST_COLUMNS):
        return f"{kind}: of an array with a row for each edge, tuple(edges.T) makes a tuple of its columns"
    return kind


def is_table(values: object) -> TypeGuard[Untyped]:
    """Return whether an object is a table with named columns."""
    return _reader_of(values) is not None


def says_ends(table: object, names: ColumnNames | None) -> bool:
    """Return whether an object is a table that could be a matrix, but for names of both ends of edges.

    The caller gives them, or the table has them; u and v may well be labels of a matrix.
    """
    reader = _reader_of(table)
    if reader is None or (names is not None and names.ends is not None):
        return reader is not None
    known = set(reader.known())
    return any(known.issuperset(pair) for pair in ENDS if pair != ("u", "v"))


def _is_graph(values: object) -> bool:
    from .graph_edges import is_graph  # here, since lists of tuples do without

    return is_graph(values)


#: The constructors for edges with labels, and what tells their forms.
_CONSTRUCTORS: dict[str, Callable[[object], bool]] = {
    "from_edges": is_edge_list,
    "from_networkx": _is_graph,
    "from_dict": lambda values: isinstance(values, Mapping),
    "from_pandas": is_table,
}


def is_frame(values: object) -> TypeGuard[Untyped]:
    """Return whether an object is a DataFrame of pandas: the only table whose rows have labels."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(values, pandas.DataFrame)


def has_text(frame: Untyped) -> bool:
    """Return whether a DataFrame of pandas has a column without numbers, so that it is no matrix."""
    return any(dtype.kind not in "biuf" for dtype in frame.dtypes)


def is_unnamed(values: object) -> bool:
    """Return whether an object is a table whose rows have no labels of their own."""
    if is_frame(values):
        return isinstance(values.index, sys.modules["pandas"].RangeIndex)
    return not isinstance(values, list) and is_table(values)


def table_columns(table: TableInput) -> list[Hashable]:
    """Return the names of the columns of a table."""
    return _reader(table).names


def has_columns(table: TableInput, names: Iterable[Hashable]) -> bool:
    """Return whether an object is a table that has all of these columns, in any case."""
    reader = _reader_of(table)
    return reader is not None and all(reader.find([name]) is not None for name in names)


def find_columns(
    table: TableInput,
    numbers: Mapping[str, Sequence[str]],
    names: ColumnNames | None = None,
    *,
    needed: Sequence[str] = (),
    ends: tuple[str, str] = ("source", "target"),
    advise: bool | None = None,
) -> dict[str, Hashable]:
    """Return the names of the columns that have the ends of edges and their numbers, by what they are.

    `numbers` has the usual names of each number, in the order of preference, and `names` those of the caller;
    None if it cannot name any. The two ends are called `ends`. Numbers that no column has are left out.
    `advise` says whether errors may tell the caller to name columns; by default where it has `names`.
    InvalidInputError: a number that is `needed` is missing, or it is not clear which columns are the ends.
    """
    reader, given = _reader(table), names or USUAL_NAMES
    advise = names is not None if advise is None else advise
    found = {}
    for what, usual in numbers.items():
        name = getattr(given, what)
        column = reader.find(usual) if name is None else reader.named(name, what)
        if column is not None:
            found[what] = column
    pair = reader.ends(given.ends, tuple(found.values()), advise=advise)
    for what in needed:
        if what not in found:
            raise reader.lacking(what, numbers[what][0], (*pair, *found.values()), advise)
    return {ends[0]: pair[0], ends[1]: pair[1], **found}


def check_unlimited(table: TableInput, taken: Sequence[Hashable]) -> None:
    """Raise InvalidInputError if a table without capacities has numbers that nobody reads: they may be these.

    `taken` columns are read.
    """
    reader = _reader(table)
    known = zip(reader.names, reader.known(), strict=True)
    if any(own not in taken and name not in NUMBERS and reader.has_numbers(own) for own, name in known):
        error = reader.lacking("capacity", CAPACITY[0], taken, advise=True)
        raise error.advising("capacity", np.inf, "says that no arc has a limit")


def refuse_lower_bounds(table: TableInput) -> None:
    """Raise InvalidInputError if a table has lower bounds, which a maximum flow would not respect."""
    reader = _reader(table)
    column = reader.find(["lower"])
    if column is None:
        return
    for row, value in enumerate(reader.numbers(column)):
        if value != 0 and value == value:
            raise reader.error(
                row,
                f"column {column!r} has a lower bound, which a maximum flow does not respect: leave the "
                "column out; or give costs, perhaps zeros, for max_flow_min_cost (preflow solve --min-cost)",
            )


def read_table(
    table: TableInput,
    ends: tuple[Hashable, Hashable],
    values: Mapping[str, Hashable | None],
    hints: Mapping[str, str] = HINTS,
    *,
    apart: bool = False,
) -> EdgeColumns:
    """Read edges from a table with a row for each edge.

    `ends` names the columns with the labels of the two ends; `values` those with the numbers, by what they
    are, and those that are None are left out. The ends are labels of different things if they are `apart`.
    InvalidInputError if the table lacks a column, or an end or a number of an edge is missing or no number,
    or if one column has a number that the other one has as text.
    """
    reader = _reader(table)
    first, second = (reader.named(name) for name in ends)
    wanted = {what: reader.named(name) for what, name in values.items() if name is not None}
    for what, name in (("", first), ("", second), *wanted.items()):
        missing = reader.missing(name)
        if missing is not None:
            raise reader.error(missing, f"no value in column {name!r}{hints.get(what, '')}")
    numbers = {what: read_numbers(reader, name, hints.get(what, "")) for what, name in wanted.items()}
    edges = EdgeColumns(reader.labels(first), reader.labels(second), numbers)
    for name, side in ((first, edges.first), (second, edges.second)):
        if "" in side:  # as fillna("") leaves it: all these would be one vertex
            raise reader.error(list(side).index(""), f"no value in column {name!r}")
    if not apart:
        _check_alike(edges, first, second)
    return edges


def _check_alike(edges: EdgeColumns, first: Hashable, second: Hashable) -> None:
    """Raise InvalidInputError if one end of edges has a number, and the other one the same as text."""
    sides = {first: edges.first, second: edges.second}
    if len({isinstance(side[0], str) for side in sides.values() if len(side)}) < 2:
        return
    text, number = sorted(sides, key=lambda name: not isinstance(sides[name][0], str))
    both = set(map(str, sides[number])).intersection(sides[text])
    if both:
        raise InvalidInputError(
            f"column {number!r} has the number {min(both)}, and column {text!r} has it as text, so they "
            "would be two vertices: make both columns text, astype(str), or both numbers"
        )


def read_numbers(reader: TableReader, name: Hashable, hint: str = "") -> AnyArray:
    """Return a column of numbers; `hint` follows in the error about a cell that has text."""
    values = reader.numbers(name)
    if isinstance(values, list) or np.asarray(values).dtype.kind in "OSU":
        for row, value in enumerate(values):
            if not isinstance(value, NUMERIC):
                error = reader.error(row, f"{shown(value)} in column {name!r} is not a number{hint}")
                if reader.is_text and isinstance(value, str) and "," in value:
                    marks = (
                        (".", "a mark of thousands") if GROUPED.fullmatch(value) else (",", "a decimal point")
                    )
                    error.advising("decimal", marks[0], f"takes a comma for {marks[1]}")
                raise error
    return values


class Attribute(NamedTuple):
    """A number that edges have."""

    what: str  #: what it is: its key in `EdgeColumns.values`
    #: the attribute that has it where edges have mappings of attributes, as those of NetworkX
    name: str
    #: the number of an edge without the attribute; None: every edge needs it
    default: float | None = None
    needed: bool = True  #: whether some edge must have it
    #: the caller's argument for the name. Where no edge has the attribute, but edges have numbers under names
    #: that nobody asked for, the error says so. None: they are ignored.
    argument: str | None = None
    left_out: bool = False  #: whether tuples may leave it out: it is the last one then


def read_tuples(edges: Iterable[Untyped], ends: tuple[str, str], numbers: Sequence[Attribute]) -> EdgeColumns:
    """Read edges from tuples: the labels of the two ends, and perhaps numbers.

    In place of the numbers there may be a mapping with the attributes of the edge. All edges have `numbers`
    or none has: then `values` is empty. `ends` are the names of the ends, for messages.
    """
    shapes = f"({', '.join(ends)})"
    choices = _choices(numbers)
    for some in choices if numbers else []:
        shapes += f" or ({', '.join([*ends, *(number.what for number in some)])})"
    lengths = {2, 3, *(2 + len(some) for some in choices)}
    try:
        rows = list(edges)
        found = set(map(len, rows))
    except TypeError as error:
        raise InvalidInputError(f"edges are tuples {shapes}: {error}") from None
    if len(found) > 1 or not found <= lengths:
        few = next(i for i, row in enumerate(rows) if len(row) not in lengths or len(row) != len(rows[0]))
        raise InvalidInputError(
            f"edges are tuples {shapes}, all of the same length; edge {few} is {rows[few]!r}"
        )
    if not rows:
        return EdgeColumns((), (), {number.what: [] for number in numbers})
    first, second, *rest = zip(*rows, strict=True)
    if not numbers or not rest:
        return EdgeColumns(first, second, {})
    if len(rest) == 1 and all(isinstance(data, Mapping) for data in rest[0]):
        return EdgeColumns(first, second, _attributes(rest[0], numbers))
    if len(rest) not in map(len, choices):
        raise InvalidInputError(f"edges are tuples {shapes}; edge 0 is {rows[0]!r}")
    return EdgeColumns(
        first, second, {each.what: column for each, column in zip(numbers, rest, strict=False)}
    )


def _choices(numbers: Sequence[Attribute]) -> list[Sequence[Attribute]]:
    """Return the numbers that tuples may have: those that they need, and all if there are others."""
    needed = [number for number in numbers if not number.left_out]
    return [needed] if len(needed) == len(numbers) else [needed, numbers]


def read_dict(adjacency: Mapping[Hashable, Untyped], numbers: Sequence[Attribute]) -> EdgeColumns:
    """Read edges from ``{tail: {head: number}}`` or ``{tail: {head: {attribute: number}}}``.

    Without numbers also from ``{tail: [head, ...]}``. The keys are vertices in this order, then come heads
    that are no keys. Several numbers are a tuple. ``{(tail, head): number}`` is edges by pairs; where edges
    have several numbers, one alone is the cost.
    """
    if not isinstance(adjacency, Mapping):
        raise InvalidInputError(
            f"from_dict takes {{tail: {{head: number}}}}, not {type(adjacency).__name__}; from_edges takes "
            f"tuples, from_pandas tables, from_networkx graphs, from_scipy matrices, and from_arrays arrays"
        )
    by_pairs = _read_pairs(adjacency, numbers)
    if by_pairs is not None:
        return by_pairs
    for tail, heads in adjacency.items():
        if (
            isinstance(heads, str | bytes)
            or not isinstance(heads, Iterable)
            or getattr(heads, "shape", 1) == ()
        ):
            raise InvalidInputError(
                f"a dictionary of edges is {{tail: {{head: number}}}}; the value of {tail!r} is {heads!r}"
            )
    neighbours = [
        heads if isinstance(heads, Mapping) else dict.fromkeys(_hashable(heads, tail))
        for tail, heads in adjacency.items()
    ]
    tails: list[Hashable] = []
    for tail, heads in zip(adjacency, neighbours, strict=True):
        tails += [tail] * len(heads)
    columns = EdgeColumns(tails, list(chain.from_iterable(neighbours)), {}, tuple(adjacency))
    if not numbers or not all(isinstance(heads, Mapping) for heads in adjacency.values()):
        return columns
    data = list(chain.from_iterable(heads.values() for heads in neighbours))
    if data and all(isinstance(each, Mapping) for each in data):
        return columns._replace(values=_attributes(data, numbers))
    if len(numbers) > 1:
        choices = _choices(numbers)
        sizes = [len(each) if isinstance(each, tuple) else 0 for each in data]
        wrong = [
            each
            for each, size in zip(data, sizes, strict=True)
            if size != sizes[0] or size not in map(len, choices)
        ]
        if wrong:
            names = " or ".join(f"({', '.join(number.what for number in some)})" for some in choices)
            raise InvalidInputError(
                f"an edge of the dictionary has {names} or attributes, all edges the same, not {wrong[0]!r}"
            )
        parts = list(zip(*data, strict=True)) or [()] * len(choices[0])
        return columns._replace(values={each.what: part for each, part in zip(numbers, parts, strict=False)})
    return columns._replace(values={numbers[0].what: data})


def _read_pairs(adjacency: Mapping[Hashable, Untyped], numbers: Sequence[Attribute]) -> EdgeColumns | None:
    """Return the edges of ``{(tail, head): number}``; None where the keys are vertices."""
    pairs = [pair for pair in adjacency if isinstance(pair, tuple) and len(pair) == 2]
    if not pairs or len(pairs) < len(adjacency):
        return None
    data = list(adjacency.values())
    if has_attributes_by_pair(adjacency, [number.name for number in numbers]):
        rows = [(*pair, each) for pair, each in zip(pairs, data, strict=True)]
        return read_tuples(rows, ("tail", "head"), numbers)
    if len(numbers) > 1 and all(isinstance(each, tuple) for each in data):
        rows = [(*pair, *each) for pair, each in zip(pairs, data, strict=True)]
        return read_tuples(rows, ("tail", "head"), numbers)
    if any(isinstance(each, Iterable) and not isinstance(each, str) for each in data):
        return None
    alone = [number for number in numbers if len(numbers) == 1 or number.what == "cost"]
    rows = [(*pair, each)[: 2 + len(alone)] for pair, each in zip(pairs, data, strict=True)]
    return read_tuples(rows, ("tail", "head"), alone)


def has_attributes_by_pair(given: Mapping[Hashable, Untyped], names: Sequence[str] = ()) -> bool:
    """Return whether a dictionary is ``{(tail, head): {attribute: number}}``; usual names or `names` tell."""
    known = NUMBERS.union(names)
    return all(isinstance(pair, tuple) and len(pair) == 2 for pair in given) and all(
        isinstance(each, Mapping) and not known.isdisjoint(each) for each in given.values()
    )


def _hashable(heads: Iterable[Untyped], tail: Hashable) -> list[Hashable]:
    heads = list(heads)
    for head in heads:
        try:
            hash(head)
        except TypeError:
            raise InvalidInputError(
                f"labels must be hashable: a neighbour of {tail!r} is a {type(head).__name__}, {head!r}"
            ) from None
    return heads


def _attributes(
    data: Sequence[Mapping[str, Untyped]], numbers: Sequence[Attribute]
) -> dict[str, list[Untyped]]:
    """Return the numbers of all edges from their attributes."""
    values = {}
    names = {number.name for number in numbers}
    for number in numbers:
        name = name_of_cost(data, number.name) if number.what == "cost" else number.name
        if number.needed:
            check_attribute(data, name, number.argument or number.what)
        elif number.argument is not None:
            check_not_misnamed(data, name, number.argument, names)
        values[number.what] = [each.get(name, number.default) for each in data]
        if number.default is None:
            check_everywhere(values[number.what], name, str)
    return values


def name_of_cost(data: Sequence[Mapping[str, Untyped]], name: str) -> str:
    """Return the other usual name of costs if edges have only that one."""
    had = [usual for usual in COST if any(usual in each for each in data)] if name in COST else []
    return name if name in had or not had else had[0]


def check_name(name: object) -> None:
    """Raise InvalidInputError if an object cannot be the name of a column or an attribute."""
    try:
        hash(name)
    except TypeError:
        raise InvalidInputError(
            f"expected the name of a column or an attribute, got {type(name).__name__}: numbers of edges are "
            "beside their ends, in a tuple, a table or a graph"
        ) from None


def check_everywhere(values: Sequence[Untyped], name: str, edge: Callable[[int], str]) -> None:
    """Raise InvalidInputError if an attribute has the value None; `edge` names an edge by its number."""
    if None in values:
        raise InvalidInputError(
            f"edge {edge(values.index(None))} has no attribute {name!r}, but others have it"
        )


def check_attribute(data: Sequence[Mapping[str, Untyped]], attribute: str, argument: str) -> None:
    """Raise InvalidInputError if there are edges and none has an attribute, with a hint at what they have.

    `argument` is that of the caller's function that names the attribute.
    """
    check_name(attribute)
    if not data or any(attribute in each for each in data):
        return
    hint = _perhaps_meant(argument, attributes_with_numbers(data))
    raise UnknownNameError(f"no edge has the attribute {attribute!r}{hint}")


def check_not_misnamed(
    data: Sequence[Mapping[str, Untyped]], attribute: str, argument: str, known: Container[str]
) -> None:
    """Raise InvalidInputError if no edge has an attribute, and edges have numbers that are not `known`."""
    if any(attribute in each for each in data):
        return
    if any(name not in known for name in attributes_with_numbers(data)):
        check_attribute(data, attribute, argument)


def _perhaps_meant(argument: str, others: Sequence[Hashable]) -> str:
    """Return a hint at the names that a caller could give an argument."""
    if len(others) > 1:
        return f"; they have {', '.join(map(repr, others))}: name one as {argument}="
    return f"; {argument}={others[0]!r}?" if others else ""


def usual_attribute(data: Sequence[Mapping[str, Untyped]], usual: Sequence[str]) -> str | None:
    """Return the first of the usual names of weights that is an attribute of some edge.

    None: edges have no numbers, so each of them counts 1. InvalidInputError: edges have numbers, but none
    with a usual name.
    """
    for name in usual:
        if any(name in each for each in data):
            return name
    others = attributes_with_numbers(data)
    if not others:
        return None
    hint = _perhaps_meant("weight", others)
    raise _without_weights(InvalidInputError(f"no edge has the attribute {usual[0]!r}{hint}"))


def usual_column(table: TableInput, usual: Sequence[str], ends: Sequence[Hashable]) -> Hashable | None:
    """Return the first of the usual names of weights that is a column of a table: see `usual_attribute`."""
    reader = _reader(table)
    found = reader.find(usual)
    others = [name for name in reader.names if name not in ends and reader.has_numbers(name)]
    if found is None and others:
        raise _without_weights(reader.lacking("weight", usual[0], ends, advise=True))
    return found


def _without_weights(error: PreflowError) -> PreflowError:
    """Return the error about edges with numbers that may be no weights, with advice."""
    return error.advising("weight", False, "counts each edge as 1")


def attributes_with_numbers(data: Sequence[Mapping[str, Untyped]]) -> list[str]:
    """Return the attributes whose values are numbers, in the order in which edges have them first."""
    found: dict[str, bool] = {}
    for each in data:
        for name, number in each.items():
            if name not in found:
                found[name] = isinstance(number, int | float | np.number) and not isinstance(number, bool)
    return [name for name, is_number in found.items() if is_number]


def number_together(edges: EdgeColumns, more: Iterable[Hashable] = ()) -> Numbered:
    """Give numbers to the vertices of a network: the ends of its edges, then `more`."""
    labels, (first, second) = _numbered([edges.first, edges.second], edges.before)
    known = set(labels)
    labels += tuple(label for label in dict.fromkeys(more) if label not in known)
    return Numbered(labels, first, second)


def agree_but_for_rounding(first: AnyArray, second: AnyArray, dtype: DTypeLike) -> AnyArray:
    """Return where two arrays have the same number, but for `ULPS` units in the last place of the dtype."""
    kind = np.dtype(dtype)
    if kind.kind != "f":
        return first == second
    unit = ULPS * float(np.finfo(kind).eps)
    with np.errstate(over="ignore", invalid="ignore"):
        near = np.abs(first - second) <= unit * np.maximum(np.abs(first), np.abs(second))
    return near | (first == second)


def listed_once(numbered: Numbered, values: Mapping[str, AnyArray]) -> NDArray[np.int64]:
    """Return the numbers of the edges of a dictionary, of those listed from both of their ends one.

    InvalidInputError: the two have different values, and rounding does not explain it.
    """
    labels, first, second = numbered
    key = np.minimum(first, second) * len(labels) + np.maximum(first, second)
    _, kept, which = np.unique(key, return_index=True, return_inverse=True)
    for what, column in values.items():
        twin = kept[which.reshape(-1)]
        for i in np.flatnonzero(twin != np.arange(len(twin))).tolist():
            two = np.array([column[i], column[twin[i]]])
            if column[i] == column[twin[i]] or agree_but_for_rounding(two[0], two[1], two.dtype):
                continue
            ends = f"{labels[first[i]]!r} and {labels[second[i]]!r}"
            raise InvalidInputError(
                f"the edge between {ends} has {what} {column[twin[i]]!r} from one end and {column[i]!r} "
                "from the other"
            )
    kept.sort()
    return kept


def number_apart(edges: EdgeColumns) -> tuple[Numbered, tuple[Hashable, ...]]:
    """Give numbers to rows, the first ends of edges, and to columns; return the columns' labels, too.

    `before` of the edges are rows.
    """
    rows, (first,) = _numbered([edges.first], edges.before)
    columns, (second,) = _numbered([edges.second], ())
    return Numbered(rows, first, second), columns


def _numbered(
    sides: list[Ends], before: tuple[Hashable, ...]
) -> tuple[tuple[Hashable, ...], list[NDArray[np.int64]]]:
    """Return the labels of all sides in the order in which they appear, and each side as numbers."""
    count, width = len(sides[0]), len(sides)
    arrays = [side for side in sides if isinstance(side, np.ndarray)]
    if count and len(arrays) == width and not before and len({side.dtype for side in arrays}) == 1:
        values = np.empty(count * width, dtype=arrays[0].dtype.newbyteorder("="))
        for i, side in enumerate(arrays):
            values[i::width] = side
        found = _factorized(values)
        if found is not None:
            labels, numbers = found
            _check_labels(labels)
            return labels, [np.ascontiguousarray(numbers[i::width]) for i in range(width)]
    lists = [side.tolist() if isinstance(side, np.ndarray) else side for side in sides]
    try:
        labels = tuple(dict.fromkeys(chain(before, chain.from_iterable(zip(*lists, strict=True)))))
    except TypeError as error:
        _refuse_unhashable(lists)
        raise InvalidInputError(f"labels cannot be compared with each other: {error}") from None
    _check_labels(labels)
    number = dict(zip(labels, range(len(labels)), strict=True))
    return labels, [np.fromiter(map(number.__getitem__, side), np.int64, count) for side in lists]


def _factorized(values: Array) -> tuple[tuple[Hashable, ...], NDArray[np.int64]] | None:
    """Return distinct values in the order in which they appear, and the number of each value.

    None: neither integers nor objects that pandas can number.
    """
    pandas = sys.modules.get("pandas")
    if pandas is not None and values.dtype.kind in "iuO":
        try:
            numbers, distinct = pandas.factorize(values)
        except TypeError:
            return None
        # pandas numbers missing values -1.
        return None if (numbers < 0).any() else (tuple(distinct.tolist()), numbers.astype(np.int64))
    if values.dtype.kind not in "iu":
        return None
    distinct, first, numbers = np.unique(values, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return tuple(distinct[order].tolist()), place[numbers.reshape(-1)]


def _check_labels(labels: tuple[Hashable, ...]) -> None:
    """Refuse labels that are missing, and warn of two that look alike."""
    odd: list[Hashable] = []
    for label in labels:
        if label is None or (isinstance(label, float) and label != label):
            raise InvalidInputError(f"{label!r} is not a label: the end of an edge is missing")
        if isinstance(label, str) and _plain(label) != label:
            odd.append(label)
    seen = {_plain(label): label for label in labels if _plain(label) == label} if odd else {}
    for label in odd:
        twin = seen.setdefault(_plain(label), label)
        if twin is not label:
            warn_caller(
                f"{label!a} and {twin!a} are two labels, which look alike: if they are one, str.strip and "
                "unicodedata.normalize make them one"
            )
            return


def _plain(label: Hashable) -> Hashable:
    """Return a text without blanks around it, with each letter as one character; other labels unchanged."""
    if not isinstance(label, str):
        return label
    stripped = label.strip()
    return stripped if stripped.isascii() else normalize("NFC", stripped)


def _refuse_unhashable(sides: list[Ends]) -> None:
    for i, ends in enumerate(zip(*sides, strict=True)):
        for label in ends:
            try:
                hash(label)
            except TypeError:
                raise InvalidInputError(
                    f"labels must be hashable: an end of edge {i} is a {type(label).__name__}, {label!r}"
                ) from None


def numbers_by_label(values: Untyped, name: str, *, labelled: bool = True) -> dict[Hashable, Untyped] | None:
    """Return numbers by label: of a mapping, of a table, or, if there are labels, of a Series of pandas.

    A table has two columns, or of more a column "vertex" (or "node", "name") and one "supply" (or "mass"); a
    DataFrame with one column has the labels in its index. `name` says what the numbers are. None: the values
    are of another kind. InvalidInputError: a label is there twice, or a table does not say what is what.
    """
    if is_frame(values) and len(values.columns) == 1:
        values = values.iloc[:, 0]
    reader = _reader_of(values)
    if reader is not None:
        labels, amounts = _amount_columns(reader, name)
        columns = read_table(reader, (labels, labels), {name: amounts})
        names, numbers = (
            side.tolist() if isinstance(side, np.ndarray) else side
            for side in (columns.first, columns.values[name])
        )
        items = list(zip(names, numbers, strict=True))
    elif isinstance(values, Mapping) or (labelled and hasattr(values, "items")):
        items = list(values.items())
    else:
        return None
    given = dict(items)
    if len(given) < len(items):
        twice = _twice([label for label, _ in items])
        problem = f"{name} has two entries for {twice!r}"
        last = max(row for row, (label, _) in enumerate(items) if label == twice)
        raise InvalidInputError(problem) if reader is None else reader.error(last, problem)
    return given


def _amount_columns(reader: TableReader, name: str) -> tuple[Hashable, Hashable]:
    """Return the columns of a table that have labels and amounts."""
    names, amounts = reader.find(LABEL), reader.find(AMOUNT)
    if len(reader.names) == 2:
        if names is None:
            names = reader.names[0 if amounts is None else 1 - reader.names.index(amounts)]
        amounts = reader.names[1 - reader.names.index(names)]
    several = [each for each in reader.known() if each in LABEL]
    if names is None or amounts is None or len(several) > 1:
        raise reader.error(
            None,
            f"expected two columns, names and amounts, there are: {reader.listed()}; of more columns one is "
            "called vertex and one supply (or name and mass)",
        )
    if name == "supply" and str(amounts).strip().lower().startswith("demand"):
        raise reader.error(
            None,
            f"a supply is what a vertex sends, and column {amounts!r} has the opposite: call it supply, "
            "negative where a vertex receives",
        )
    return names, amounts


def _twice(labels: Iterable[Hashable]) -> Hashable:
    """Return the first label that is there twice."""
    return next(label for label, count in Counter(labels).items() if count > 1)


def matrix_labels(frame: Untyped) -> tuple[tuple[Hashable, ...], tuple[Hashable, ...]]:
    """Return the labels of the rows and of the columns of a DataFrame that is a matrix.

    InvalidInputError: two rows, or two columns, have one label, as those of a concatenation may.
    """
    found = tuple(frame.index.tolist()), tuple(frame.columns.tolist())
    for labels, side in zip(found, ("rows", "columns"), strict=True):
        if len(set(labels)) < len(labels):
            twice = labels_twice(labels, f"{side} of the matrix")
            raise InvalidInputError(f"{twice}; without labels, give the matrix as to_numpy() returns it")
    return found


def refuse_pairs(names: Sequence[Hashable], matrix: Array) -> None:
    """Raise InvalidInputError if a table of numbers, taken for a matrix of costs, is likely to be none.

    Its first column numbers the rows, or its first two columns are all pairs of some rows and columns.
    """
    whole = matrix.ndim == 2 and matrix.shape[1] > 1 and len(matrix) > 2
    if not whole or not all(isinstance(name, str) for name in names):
        return
    first, second = matrix[:, 0], matrix[:, 1]
    otherwise = "if these are costs, give an array, as to_numpy() returns it"
    if any(np.array_equal(first, np.arange(begin, begin + len(first))) for begin in (0, 1)):
        raise InvalidInputError(
            f"column {names[0]!r} of the costs numbers the rows: leave it out; {otherwise}"
        )
    sizes = [len(np.unique(side)) for side in (first, second)]
    pairs = np.unique(matrix[:, :2], axis=0)
    if matrix.shape[1] == 3 and min(sizes) > 1 and len(pairs) == len(matrix) == sizes[0] * sizes[1]:
        error = InvalidInputError(
            f"columns {names[0]!r} and {names[1]!r} of the costs have all pairs, as a table of pairs has; "
            f"{otherwise}"
        )
        error.advising("ends", (str(names[0]), str(names[1])), "reads pairs")
        raise error.advising("weight", str(names[2]), "is their cost")


def labels_twice(labels: Sequence[Hashable], side: str) -> str:
    """Return what an error says of `side`, such as rows, of which two have one label."""
    return f"two {side} have the label {_twice(labels)!r}: labels must differ"


def in_order_of(
    labels: Sequence[Hashable] | None, values: Untyped, name: str, *, rest: float | None = None
) -> Untyped:
    """Return numbers by label, a mapping or a Series of pandas, in the order of labels; others unchanged.

    `labels` are those of the rows, or of the columns, of a problem; None: it has none. `rest` is the number
    of labels that are left out; None: none may be. `name` says in messages what the numbers are.
    InvalidInputError if a label is missing, unknown, or one of several that are alike.
    """
    given = numbers_by_label(values, name, labelled=labels is not None)
    if given is None:
        return values
    if labels is None:
        raise InvalidInputError(f"{name} is a mapping of labels, and the problem has no labels")
    known = set(labels)
    if len(known) < len(labels):
        raise InvalidInputError(f"{name} has numbers by label, and two labels of the problem are the same")
    for label in given:
        if label not in known:
            hint = did_you_mean(label, labels)
            raise InvalidInputError(
                f"{name} has an entry for {label!r}, which the problem does not have{hint}"
            )
    for label in labels:
        if rest is None and label not in given:
            raise InvalidInputError(f"{name} has no entry for {label!r}")
    return [given.get(label, rest) for label in labels]


def objects(labels: Iterable[Hashable], count: int) -> Array:
    """Return labels as an array of objects; tuples are labels, too."""
    return np.fromiter(labels, dtype=object, count=count)


def labels_of(labels: Sequence[Hashable] | None, numbers: AnyArray) -> Array:
    """Return the labels of vertices given by their numbers; the numbers themselves if there are no labels."""
    if labels is None:
        return np.asarray(numbers, dtype=np.int64)
    found: Array = objects(labels, len(labels))[np.asarray(numbers, dtype=np.int64)]
    return found


def labelled_sides(
    labels: Sequence[Hashable] | None, side: NDArray[np.bool_]
) -> tuple[set[Hashable], set[Hashable]]:
    """Return the labels of the vertices with False, and of those with True; numbers if there are none."""
    false, true = (set(labels_of(labels, np.flatnonzero(chosen)).tolist()) for chosen in (~side, side))
    return false, true


def labelled_pairs(
    labels: Sequence[Hashable] | None, tail: AnyArray, head: AnyArray
) -> list[tuple[Hashable, Hashable]]:
    """Return pairs of vertices by their labels; by their numbers if there are none."""
    return list(zip(*(labels_of(labels, ends).tolist() for ends in (tail, head)), strict=True))


class FlowByLabel:
    """A result with a flow on the arcs of a network."""

    network: Any
    flow: Any

    def flow_dict(self) -> dict[Hashable, dict[Hashable, int | float]]:
        """Return the flow as ``{tail: {head: flow}}`` with the caller's labels, as NetworkX does.

        Every vertex and every arc has an entry, even without flow; parallel arcs are summed.
        """
        network = self.network
        tail, head, flow = (network.to_host(part) for part in (network.tail, network.head, self.flow))
        # An arc that may carry flow from its head to its tail has two entries.
        both_ways = np.broadcast_to(network.two_way, flow.shape)
        names = range(network.num_vertices) if network.labels is None else network.labels
        flows: dict[Hashable, dict[Hashable, int | float]] = {name: {} for name in names}
        columns = tail.tolist(), head.tolist(), flow.tolist(), both_ways.tolist()
        for u, v, amount, both in zip(*columns, strict=True):
            out, back = flows[names[u]], flows[names[v]]
            out[names[v]] = out.get(names[v], 0) + (max(amount, 0) if both else amount)
            if both:
                back[names[u]] = back.get(names[u], 0) + max(-amount, 0)
        return flows


class Tabular:
    """A result that is a table, too."""

    def to_columns(self) -> dict[str, AnyArray]:
        """Return the columns of :meth:`to_pandas`."""
        raise NotImplementedError

    def to_pandas(self) -> pandas.DataFrame:
        """Return the columns of :meth:`to_columns` as a table; ``polars.DataFrame`` takes these, too.

        Raises
        ------
        MissingDependencyError
            pandas is not installed.
        """
        return data_frame(self.to_columns())


def data_frame(columns: Mapping[str, AnyArray]) -> Untyped:
    """Return a DataFrame of pandas.

    MissingDependencyError: pandas is not installed.
    """
    with needed_for("a DataFrame of results", "pandas", "tables"):
        import pandas
    return pandas.DataFrame({name: np.array(column) for name, column in columns.items()}).infer_objects()


def _error_in_row(row: int | None, problem: str) -> PreflowError:
    return InvalidInputError(problem if row is None else f"row {row}, from 0: {problem}")


@dataclass(frozen=True)
class TableReader:
    """The columns of a table of some library, or of a file."""

    names: list[Hashable]
    #: returns the first row in which a column has no value, None if there is none
    missing: Callable[[Hashable], int | None]
    #: return a column as labels, or as numbers
    labels: Callable[[Hashable], Ends]
    numbers: Callable[[Hashable], AnyArray]
    #: returns the error about a row; None: about the names of the columns
    error: Callable[[int | None, str], PreflowError] = _error_in_row
    is_text: bool = False  #: whether it is a file of text, whose numbers may have commas

    def known(self) -> list[Hashable]:
        """Return the names of the columns as they are compared, in any case."""
        return [name.strip().lower() if isinstance(name, str) else name for name in self.names]

    def listed(self) -> str:
        """Return the names of the columns for a message."""
        return ", ".join(map(repr, self.names)) or "none"

    def find(self, usual: Sequence[Hashable]) -> Hashable | None:
        """Return the column with the first of the usual names that there is, in any case."""
        known = self.known()
        found = next((name for name in usual if name in known), None)
        if found is not None and known.count(found) > 1:
            raise self.error(None, f"there are several columns {found!r}")
        return None if found is None else self.names[known.index(found)]

    def named(self, name: Hashable, argument: str = "") -> Hashable:
        """Return the column with a name that a caller gives, in any case unless it matters."""
        check_name(name)
        exact = name in self.names or not isinstance(name, str)
        known, wanted = (self.names, name) if exact else (self.known(), str(name).strip().lower())
        if known.count(wanted) > 1:
            raise self.error(None, f"there are several columns {name!r}")
        if wanted not in known:
            hint = did_you_mean(name, self.names)
            message = f"there is no column {name!r}; there are: {self.listed()}{hint}"
            raise self.error(None, message) if argument else self._unknown(message)
        return self.names[known.index(wanted)]

    def lacking(self, argument: str, usual: str, taken: Sequence[Hashable], advise: bool) -> PreflowError:
        """Return the error about a number that no column has, by its argument and its usual name.

        `taken` columns have others.
        """
        others = [
            own
            for own, name in zip(self.names, self.known(), strict=True)
            if own not in taken and name not in NUMBERS and self.has_numbers(own)
        ]
        hint = did_you_mean(usual, others)
        message = f"there is no column {usual!r}; there are: {self.listed()}"
        if not advise:
            return self._unknown(message + hint)
        name = next((str(name) for name in others if len(others) == 1 or repr(name) in hint), "NAME")
        return self.error(None, message).advising(argument, name, "names another one")

    def _unknown(self, message: str) -> PreflowError:
        """Return an error to which the way to give other names is added."""
        error = self.error(None, message)
        return UnknownNameError(message) if isinstance(error, InvalidInputError) else error

    def has_numbers(self, name: Hashable) -> bool:
        """Return whether a column has numbers in all rows."""
        if self.names.count(name) > 1:
            return False
        try:
            return np.asarray(self.numbers(name)).dtype.kind in "iuf"
        except PreflowError:
            return False

    def named_ends(self) -> tuple[Hashable, Hashable] | None:
        """Return the columns with a pair of the usual names of ends; None if there is not just one pair."""
        known = set(self.known())
        pairs = [pair for pair in ENDS if known.issuperset(pair)]
        return (self.find(pairs[0][:1]), self.find(pairs[0][1:])) if len(pairs) == 1 else None

    def usual_ends(self, numbers: Sequence[Hashable]) -> tuple[Hashable, Hashable] | None:
        """Return the columns whose names say that they are ends, or the only two that can be.

        Columns that cannot be have `numbers`, or usual names of numbers.
        """
        known = self.known()
        named = self.named_ends()
        if named is not None or any(set(pair) <= set(known) for pair in ENDS):
            return named
        others = [
            own
            for own, name in zip(self.names, known, strict=True)
            if own not in numbers and name not in NUMBERS
        ]
        if len(others) != 2 or len(set(others)) != 2:
            return None
        first, second = self.find(FIRST), self.find(SECOND)
        if first is None and second is None:
            first, second = others
        return None if first is None or second is None else (first, second)

    def ends(
        self,
        given: tuple[Hashable, Hashable] | None = None,
        numbers: Sequence[Hashable] = (),
        *,
        advise: bool = True,
    ) -> tuple[Hashable, Hashable]:
        """Return the columns of the two ends, which may have `given` names.

        InvalidInputError: the table does not say which columns they are. The error has the advice to name
        them if the caller can.
        """
        if given is not None:
            if not isinstance(given, tuple | list) or len(given) != 2:
                raise InvalidInputError(f"ends are two names of columns, got {shown(given)}")
            first, second = (self.named(name, "ends") for name in given)
            if first == second:
                raise self.error(None, f"both ends of edges are in column {first!r}: name two columns")
            return first, second
        found = self.usual_ends(numbers)
        if found is None:
            message = (
                "expected columns for both ends of edges, such as source and target, and it is not clear "
                f"which they are: there are {self.listed()}"
            )
            if not advise:
                raise self._unknown(message)
            raise self.error(None, message).advising("ends", ("FIRST", "SECOND"), "names them")
        return found


def _reader(table: TableInput) -> TableReader:
    reader = _reader_of(table)
    if reader is None:
        raise InvalidInputError(
            "a table is a DataFrame of pandas or polars, an Arrow table, a structured array or a list of "
            f"records, not {type(table).__name__}"
        )
    return reader


def _reader_of(table: TableInput) -> TableReader | None:
    """Return how to read the columns of a table; None if the object is none."""
    if isinstance(table, TableReader):
        return table
    if isinstance(table, np.ndarray):
        fields = table.dtype.names
        return None if fields is None or table.ndim != 1 else _of_columns(list(fields), table.__getitem__)
    if isinstance(table, list):
        rows: list[Untyped] = table
        if not rows or not all(isinstance(row, Mapping) for row in rows):
            return None
        names = list(dict.fromkeys(chain.from_iterable(rows)))
        return _of_columns(names, lambda name: [row.get(name) for row in rows])
    if is_frame(table):
        return _of_pandas(table)
    table = _in_memory(table)
    polars, arrow = sys.modules.get("polars"), sys.modules.get("pyarrow")
    if polars is not None and isinstance(table, polars.DataFrame):
        return _of_polars(table)
    if arrow is not None and isinstance(table, arrow.Table | arrow.RecordBatch):
        return _of_arrow(table)
    return None


def _of_columns(names: list[Hashable], column: Callable[[Untyped], Untyped]) -> TableReader:
    """Return how to read columns that are lists, tuples or arrays."""

    def plain(name: Hashable) -> AnyArray:
        values = column(name)
        return values if isinstance(values, np.ndarray) else list(values)

    def missing(name: Hashable) -> int | None:
        values = plain(name)
        return values.index(None) if isinstance(values, list) and None in values else None

    return TableReader(names, missing, plain, plain)


def _of_pandas(frame: Untyped) -> TableReader:
    def missing(name: Hashable) -> int | None:
        gaps = frame[name].isna().to_numpy()
        return int(gaps.argmax()) if gaps.any() else None

    def labels(name: Hashable) -> Ends:
        column = frame[name]
        values = column.to_numpy() if column.dtype.kind in "iu" else column.to_numpy(dtype=object)
        return values if values.dtype.kind in "iuO" else values.tolist()

    return TableReader(list(frame.columns), missing, labels, lambda name: frame[name].to_numpy())


def _of_polars(frame: Untyped) -> TableReader:
    def missing(name: Hashable) -> int | None:
        column = frame[name]
        return column.is_null().arg_max() if column.null_count() else None

    def has_dtype_of_numpy(column: Untyped) -> bool:
        return column.dtype.is_numeric() and str(column.dtype) not in ("Int128", "UInt128")

    def labels(name: Hashable) -> Ends:
        column = frame[name]
        is_array = column.dtype.is_integer() and has_dtype_of_numpy(column)
        return column.to_numpy() if is_array else column.to_list()

    def numbers(name: Hashable) -> AnyArray:
        column = frame[name]
        return column.to_numpy() if has_dtype_of_numpy(column) else column.to_list()

    return TableReader(list(frame.columns), missing, labels, numbers)


def _of_arrow(table: Untyped) -> TableReader:
    def missing(name: Hashable) -> int | None:
        column = table.column(name)
        return column.is_null().to_pylist().index(True) if column.null_count else None

    def labels(name: Hashable) -> Ends:
        column = table.column(name)
        values = _arrow_numbers(column)
        return values if values.dtype.kind in "iu" else column.to_pylist()

    def numbers(name: Hashable) -> AnyArray:
        return _arrow_numbers(table.column(name))

    return TableReader(list(table.schema.names), missing, labels, numbers)


def _arrow_numbers(column: Untyped) -> AnyArray:
    try:
        return column.to_numpy(zero_copy_only=False)
    except TypeError:  # a ChunkedArray of older versions has no such argument
        return column.to_numpy()


def did_you_mean(name: Hashable, known: Iterable[Hashable]) -> str:
    """Return a hint at one of the known names that is like an unknown one, for a message; or nothing."""
    text = str(name).strip().lower()
    # Of many names only those with an end in common are compared, letter by letter.
    near = {
        str(other).strip().lower(): other
        for other in known
        if str(other).strip().lower()[:1] == text[:1] or str(other).strip().lower()[-1:] == text[-1:]
    }
    close = get_close_matches(text, near, 1, 0.65)
    return f"; did you mean {near[close[0]]!r}?" if close else ""
