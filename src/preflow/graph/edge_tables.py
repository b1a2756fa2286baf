"""Edges whose ends have labels: from tuples, from dictionaries, and from tables of any library.

A table is a DataFrame of pandas or polars, an Arrow table, a structured array of NumPy, or any object with
``__arrow_c_stream__``. Its columns are read by its own library: nothing is imported that the caller has not
imported, except pyarrow for other objects with ``__arrow_c_stream__``.

All readers return :class:`EdgeColumns`. :func:`number_together` then numbers the vertices of a network, where
both ends of an edge are of one kind, and :func:`number_apart` rows and columns. Labels are numbered in the
order in which they appear first, edge by edge.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..arrays import AnyArray, Array, TableInput, Untyped
from ..errors import InvalidInputError, MissingDependencyError

if TYPE_CHECKING:
    import pandas

#: What stands for the labels of one end of all edges: Python objects, or an array.
Ends = Sequence[Hashable] | AnyArray


#: Two numbers for one edge may differ by this many units in the last place: as products that were summed in
#: another order do.
ULPS = 16


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


@contextmanager
def other_names_by(constructor: str) -> Iterator[None]:
    """Let errors about the usual names say which constructor takes other names."""
    try:
        yield
    except UnknownNameError as error:
        raise InvalidInputError(f"{error} ({constructor} takes other names)") from None


def read_by_form(made: Untyped, given: Untyped, **of_table: Hashable | None) -> Untyped:
    """Return what a class of networks makes of a sparse matrix or of edges with labels; None for other forms.

    `of_table` are arguments of its constructor for tables.
    """
    if hasattr(given, "tocsr"):
        return made.from_scipy(given)
    for name, is_form in _CONSTRUCTORS.items():
        if is_form(given):
            with other_names_by(f"{made.__name__}.{name}"):
                return getattr(made, name)(given, **(of_table if name == "from_pandas" else {}))
    return None


def is_edge_list(values: object) -> TypeGuard[list[tuple[Any, ...]]]:
    """Return whether a list has a tuple for each edge. A list of lists is a matrix."""
    return isinstance(values, list) and bool(values) and all(isinstance(edge, tuple) for edge in values)


def is_table(values: object) -> TypeGuard[Untyped]:
    """Return whether an object is a table with named columns."""
    return _reader_of(values) is not None


def _is_graph(values: object) -> bool:
    from .networkx_edges import is_networkx  # here, since lists of tuples do without

    return is_networkx(values)


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


def table_columns(table: TableInput) -> list[Hashable]:
    """Return the names of the columns of a table."""
    reader = _reader_of(table)
    if reader is None:
        raise InvalidInputError(
            "a table is a DataFrame of pandas or polars, an Arrow table or a structured array, not "
            f"{type(table).__name__}"
        )
    return reader.names


def has_columns(table: TableInput, names: Iterable[Hashable]) -> bool:
    """Return whether an object is a table that has all of these columns, in any case."""
    reader = _reader_of(table)
    return reader is not None and all(_own_name(name, reader.names) in reader.names for name in names)


def _own_name(name: Hashable, names: Sequence[Hashable]) -> Hashable:
    """Return the name of a column as a table has it, in any case if it does not have it as it is given."""
    if name in names or not isinstance(name, str):
        return name
    alike = [own for own in names if isinstance(own, str) and own.strip().lower() == name.strip().lower()]
    return alike[0] if len(alike) == 1 else name


def read_table(
    table: TableInput, ends: tuple[Hashable, Hashable], values: Mapping[str, Hashable | None]
) -> EdgeColumns:
    """Read edges from a table with a row for each edge.

    `ends` names the columns with the labels of the two ends; `values` those with the numbers, by what they
    are, and those that are None are left out. InvalidInputError if the table lacks a column, or an end or a
    number of an edge is missing.
    """
    names = table_columns(table)
    reader = _reader_of(table)
    assert reader is not None
    ends = _own_name(ends[0], names), _own_name(ends[1], names)
    wanted = {what: _own_name(name, names) for what, name in values.items() if name is not None}
    for name in (*ends, *wanted.values()):
        if name not in names:
            listed = ", ".join(map(repr, names)) or "none"
            raise UnknownNameError(f"the table has no column {name!r}; it has: {listed}{_hint(name, names)}")
        if names.count(name) > 1:
            raise InvalidInputError(f"the table has several columns {name!r}")
        missing = reader.missing(name)
        if missing is not None:
            no_limit = "; an infinite capacity is inf" if name == wanted.get("capacity") else ""
            raise InvalidInputError(f"column {name!r} has no value in row {missing}, from 0{no_limit}")
    first, second = (reader.labels(name) for name in ends)
    return EdgeColumns(first, second, {what: reader.numbers(name) for what, name in wanted.items()})


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
    that are no keys. Several numbers are a tuple.
    """
    for tail, heads in adjacency.items():
        if isinstance(heads, str | bytes) or not isinstance(heads, Iterable):
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
        if number.needed:
            check_attribute(data, number.name, number.what)
        elif number.argument is not None:
            check_not_misnamed(data, number.name, number.argument, names)
        values[number.what] = [each.get(number.name, number.default) for each in data]
        if number.default is None:
            check_everywhere(values[number.what], number.name, str)
    return values


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
    raise _without_weights(f"no edge has the attribute {usual[0]!r}{hint}")


def usual_column(table: TableInput, usual: Sequence[str], ends: Sequence[str]) -> str | None:
    """Return the first of the usual names of weights that is a column of a table: see `usual_attribute`."""
    reader = _reader_of(table)
    assert reader is not None
    for name in usual:
        if has_columns(table, [name]):
            return name
    if not has_columns(table, ends):
        return None  # the error about the ends comes first
    ends = [str(_own_name(name, reader.names)) for name in ends]
    others = [
        name
        for name in dict.fromkeys(reader.names)
        if name not in ends
        and reader.names.count(name) == 1
        and np.asarray(reader.numbers(name)).dtype.kind in "iuf"
    ]
    if not others:
        return None
    hint = _perhaps_meant("weight", others)
    raise _without_weights(f"the table has no column {usual[0]!r}{hint}")


def _without_weights(problem: str) -> InvalidInputError:
    """Return the error about edges with numbers that may be no weights."""
    return InvalidInputError(problem).advising("weight", False, "counts each edge as 1")


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
    for label in labels:
        if label is None or (isinstance(label, float) and label != label):
            raise InvalidInputError(f"{label!r} is not a label: the end of an edge is missing")


def _refuse_unhashable(sides: list[Ends]) -> None:
    for i, ends in enumerate(zip(*sides, strict=True)):
        for label in ends:
            try:
                hash(label)
            except TypeError:
                raise InvalidInputError(
                    f"labels must be hashable: an end of edge {i} is a {type(label).__name__}, {label!r}"
                ) from None


def numbers_by_label(values: Untyped, name: str) -> dict[Hashable, Untyped]:
    """Return the numbers of a mapping or a Series of pandas by label; `name` says what they are.

    InvalidInputError: a Series has a label twice.
    """
    items = list(values.items())
    given = dict(items)
    if len(given) < len(items):
        counts = Counter(label for label, _ in items)
        twice = next(label for label, count in counts.items() if count > 1)
        raise InvalidInputError(f"{name} has two entries for {twice!r}")
    return given


def matrix_labels(frame: Untyped) -> tuple[tuple[Hashable, ...], tuple[Hashable, ...]]:
    """Return the labels of the rows and of the columns of a DataFrame that is a matrix.

    InvalidInputError: two rows, or two columns, have one label, as those of a concatenation may.
    """
    found = tuple(frame.index.tolist()), tuple(frame.columns.tolist())
    for labels, side in zip(found, ("rows", "columns"), strict=True):
        if len(set(labels)) < len(labels):
            twice = next(label for label, count in Counter(labels).items() if count > 1)
            raise InvalidInputError(
                f"two {side} of the matrix have the label {twice!r}: labels must differ; without labels, "
                "give the matrix as to_numpy() returns it"
            )
    return found


def in_order_of(
    labels: Sequence[Hashable] | None, values: Untyped, name: str, *, rest: float | None = None
) -> Untyped:
    """Return numbers by label, a mapping or a Series of pandas, in the order of labels; others unchanged.

    `labels` are those of the rows, or of the columns, of a problem; None: it has none. `rest` is the number
    of labels that are left out; None: none may be. `name` says in messages what the numbers are.
    InvalidInputError if a label is missing, unknown, or one of several that are alike.
    """
    if not isinstance(values, Mapping) and (labels is None or not hasattr(values, "items")):
        return values
    if labels is None:
        raise InvalidInputError(f"{name} is a mapping of labels, and the problem has no labels")
    given, known = numbers_by_label(values, name), set(labels)
    if len(known) < len(labels):
        raise InvalidInputError(f"{name} has numbers by label, and two labels of the problem are the same")
    for label in given:
        if label not in known:
            raise InvalidInputError(f"{name} has an entry for {label!r}, which the problem does not have")
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
    try:
        import pandas
    except ImportError:
        raise MissingDependencyError("a DataFrame of results", "pandas", "tables") from None
    return pandas.DataFrame({name: np.array(column) for name, column in columns.items()}).infer_objects()


class _Reader(NamedTuple):
    """The columns of a table of some library."""

    names: list[Hashable]
    #: returns the first row in which a column has no value, None if there is none
    missing: Callable[[Hashable], int | None]
    #: return a column as labels, or as numbers
    labels: Callable[[Hashable], Ends]
    numbers: Callable[[Hashable], AnyArray]


def _reader_of(table: TableInput) -> _Reader | None:
    """Return how to read the columns of a table; None if the object is none."""
    if isinstance(table, np.ndarray):
        return None if table.dtype.names is None or table.ndim != 1 else _of_structured(table)
    if is_frame(table):
        return _of_pandas(table)
    polars, arrow = sys.modules.get("polars"), sys.modules.get("pyarrow")
    if polars is not None and isinstance(table, polars.LazyFrame):
        raise InvalidInputError("a LazyFrame has no rows yet: give its collect()")
    if polars is not None and isinstance(table, polars.DataFrame):
        return _of_polars(table)
    if arrow is not None and isinstance(table, arrow.Table | arrow.RecordBatch):
        return _of_arrow(table)
    if hasattr(table, "__arrow_c_stream__") and not hasattr(table, "__array__"):
        try:
            import pyarrow
        except ImportError:
            raise MissingDependencyError(f"a {type(table).__name__}", "pyarrow", "tables") from None
        return _of_arrow(pyarrow.table(table))
    return None


def _of_structured(table: Array) -> _Reader:
    def column(name: Hashable) -> Array:
        values: Array = table[str(name)]
        return values

    return _Reader(list(table.dtype.names or ()), lambda name: None, column, column)


def _of_pandas(frame: Untyped) -> _Reader:
    def missing(name: Hashable) -> int | None:
        gaps = frame[name].isna().to_numpy()
        return int(gaps.argmax()) if gaps.any() else None

    def labels(name: Hashable) -> Ends:
        column = frame[name]
        values = column.to_numpy() if column.dtype.kind in "iu" else column.to_numpy(dtype=object)
        return values if values.dtype.kind in "iuO" else values.tolist()

    return _Reader(list(frame.columns), missing, labels, lambda name: frame[name].to_numpy())


def _of_polars(frame: Untyped) -> _Reader:
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

    return _Reader(list(frame.columns), missing, labels, numbers)


def _of_arrow(table: Untyped) -> _Reader:
    def missing(name: Hashable) -> int | None:
        column = table.column(name)
        return column.is_null().to_pylist().index(True) if column.null_count else None

    def labels(name: Hashable) -> Ends:
        column = table.column(name)
        values = _arrow_numbers(column)
        return values if values.dtype.kind in "iu" else column.to_pylist()

    return _Reader(list(table.schema.names), missing, labels, lambda name: _arrow_numbers(table.column(name)))


def _arrow_numbers(column: Untyped) -> AnyArray:
    try:
        return column.to_numpy(zero_copy_only=False)
    except TypeError:  # a ChunkedArray of older versions has no such argument
        return column.to_numpy()


def _hint(name: Hashable, names: Sequence[Hashable]) -> str:
    close = get_close_matches(str(name), [str(other) for other in names], 1, 0.7)
    return f"; did you mean {close[0]!r}?" if close else ""
