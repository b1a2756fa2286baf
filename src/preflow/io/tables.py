"""Networks, graphs and costs as tables in files: comma-separated values, and Parquet.

The first line of a text file names the columns, which are separated by commas, semicolons or tabs. The ends
of edges are labels. Those of a text file stay as they are written, so that ``007`` is not ``7``, but for
blanks around them. Empty lines are left out.

The columns of the ends are those that the caller names, or those with a pair of the names in `ENDS`, or the
two that are left in a table that has just the columns needed. Any other table is refused: a column in front
that numbers the rows would be taken for an end, and the answer would be that of another problem.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..arrays import Array, Untyped
from ..errors import InvalidInputError, MissingDependencyError, ParseError
from ..graph.bipartite import BipartiteGraph
from ..graph.cost_edges import CostEdges
from ..graph.cost_network import CostNetwork
from ..graph.edge_tables import EdgeColumns, number_apart, objects
from ..graph.network import FlowNetwork
from ..graph.placement import exact_array
from ..graph.undirected import UndirectedGraph
from .files import check_text, checked_path, parsing, read_bytes, replacing
from .record_reader import INTEGER, shown

if TYPE_CHECKING:
    import scipy.sparse

PARQUET = ".parquet"
#: Suffixes of tables.
TABLES = (".csv", ".csv.gz", ".tsv", ".tsv.gz", PARQUET)
#: Names of the columns of the two ends of an edge.
ENDS = (("source", "target"), ("from", "to"), ("tail", "head"), ("row", "column"), ("u", "v"))
FIRST = tuple(first for first, _ in ENDS)
SECOND = tuple(second for _, second in ENDS)
#: Names of columns of numbers.
CAPACITY, COST, WEIGHT = ("capacity", "cap"), ("cost", "weight"), ("weight", "cost")
LOWER, FLOW = ("lower",), ("flow",)
#: Names of a column of supplies and of one of vertices.
SUPPLY, VERTEX = ("supply", "mass"), ("vertex", "node", "name", "row", "column")
#: Names of columns that cannot be ends.
NUMBERS = frozenset((*CAPACITY, *COST, *LOWER, *FLOW, *SUPPLY))
#: Characters that may separate columns.
SEPARATORS = ",;\t"


class Table(NamedTuple):
    """The columns of a file."""

    path: str | Path
    names: list[str]
    #: strings of a text file; what a Parquet file has, None for what it lacks
    columns: list[list[Untyped]]
    lines: Sequence[int] = ()  #: the line of a text file in which each row ends

    def find(self, names: Iterable[str]) -> int | None:
        """Return the number of the column with the first of these names, in any case; None without such."""
        known = self._known()
        found = next((name for name in names if name in known), None)
        if found is not None and known.count(found) > 1:
            raise ParseError(self.path, 1, f"there are several columns {found!r}")
        return None if found is None else known.index(found)

    def _known(self) -> list[str]:
        return [name.strip().lower() for name in self.names]

    def ends(self, given: tuple[str, str] | None = None) -> tuple[int, int]:
        """Return the numbers of the columns of the two ends, which may have `given` names.

        ParseError: the table does not say which columns they are.
        """
        self.check_header(3)
        found = self._named(given) if given is not None else self.usual_ends()
        if found is None:
            raise ParseError(
                self.path,
                1,
                "expected columns for both ends of edges, such as source and target, and it is not clear "
                f"which they are: there are {', '.join(map(repr, self.names))}; name them, "
                "--ends FIRST,SECOND",
            )
        return found

    def usual_ends(self) -> tuple[int, int] | None:
        """Return the columns whose names say that they are ends, or the only two that can be."""
        known = self._known()
        pairs = [pair for pair in ENDS if set(pair) <= set(known)]
        others = [at for at, name in enumerate(known) if name not in NUMBERS]
        if len(pairs) == 1:
            first, second = (self.find([name]) for name in pairs[0])
        elif len(others) == 2 and not pairs:
            first, second = self.find(FIRST), self.find(SECOND)
            if first is None and second is None:
                first, second = others
        else:
            return None
        return None if first is None or second is None else (first, second)

    def _named(self, given: tuple[str, str]) -> tuple[int, int]:
        """Return the columns with the names that the caller gives, in any case unless it matters."""
        found = []
        for name in given:
            known = self.names if name in self.names else self._known()
            wanted = name if name in self.names else name.strip().lower()
            if known.count(wanted) != 1:
                listed = ", ".join(map(repr, self.names))
                problem = "are several columns" if wanted in known else "is no column"
                raise ParseError(self.path, 1, f"there {problem} {name!r}; there are: {listed}")
            found.append(known.index(wanted))
        if found[0] == found[1]:
            raise ParseError(self.path, 1, f"both ends of edges are in column {given[0]!r}: name two columns")
        return found[0], found[1]

    def has_names(self, names: Iterable[str]) -> bool:
        """Return whether there are columns with all of these names."""
        known = self._known()
        return all(name in self.names or name.strip().lower() in known for name in names)

    def said(self, **columns: int | None) -> dict[str, str]:
        """Return the names of columns by what was read from them."""
        return {what: self.names[at] for what, at in columns.items() if at is not None}

    def check_header(self, count: int, advice: str = "") -> None:
        """Raise ParseError if one of the first `count` names is a number: the table has no header."""
        for name in self.names[:count]:
            if _is_number(name):
                message = f"the first line names the columns, and it has the number {name}"
                raise ParseError(self.path, 1, message + advice)

    def labels(self, column: int) -> list[Hashable]:
        """Return a column as labels."""
        values = self.columns[column]
        if self.lines:
            values = [value.strip() for value in values]
        for row, value in enumerate(values):
            if value is None or value == "":
                raise self.error(row, f"no value in column {self.names[column]!r}")
        return values

    def numbers(self, column: int, what: str = "") -> list[Untyped]:
        """Return a column as integers and floats."""
        values = self.labels(column)
        if not any(isinstance(value, str) for value in values):
            return values
        found = []
        for row, value in enumerate(values):
            text = str(value).strip()
            try:
                found.append(int(text) if INTEGER.fullmatch(text.encode()) else _float(text))
            except ValueError:
                point = "; a number has a point and no comma" if _is_number(text.replace(",", "")) else ""
                message = f"{shown(text.encode())} in column {self.names[column]!r} is not a number"
                raise self.error(row, message + (point or what)) from None
        return found

    def has_numbers(self, column: int) -> bool:
        """Return whether all values of a column are numbers."""
        try:
            self.numbers(column)
        except ParseError:
            return False
        return bool(self.columns[column])

    def error(self, row: int, message: str) -> ParseError:
        """Return an error in a row."""
        if not self.lines:
            return ParseError(self.path, None, f"row {row + 1}: {message}")
        return ParseError(self.path, self.lines[row], message)


def _float(text: str) -> float:
    if "_" in text:  # Python's float reads 1_000.5
        raise ValueError
    return float(text)


def is_table(path: str | Path) -> bool:
    """Return whether the name of a file is that of a table."""
    return str(path).endswith(TABLES)


def read_columns(path: str | Path) -> Table:
    """Read a table.

    ParseError: the file cannot be read or is malformed. MissingDependencyError: it is a Parquet file and
    pyarrow is not installed.
    """
    if str(path).endswith(PARQUET):
        return _read_parquet(path)
    with parsing(path, "table of text", csv.Error):
        text = _decoded(path, read_bytes(path))
        header, _, _ = text.partition("\n")
        separator = max(SEPARATORS, key=header.count)
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
        names = next(rows, None)
        if names is None:
            raise ParseError(path, None, "the file is empty")
        content, lines = [], []
        for row in rows:
            if not any(row):
                continue
            if len(row) != len(names):
                message = f"expected {len(names)} fields, got {len(row)}"
                raise ParseError(path, rows.line_num, message)
            content.append(row)
            lines.append(rows.line_num)
    columns = [list(column) for column in zip(*content, strict=True)] if content else [[] for _ in names]
    return Table(path, [name.strip() for name in names], columns, lines)


def _decoded(path: str | Path, content: bytes) -> str:
    check_text(path, content)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ParseError(path, line, "the text is not in UTF-8: save the file in this encoding") from None


def _is_number(text: str) -> bool:
    try:
        _float(text)
    except ValueError:
        return False
    return True


def _read_parquet(path: str | Path) -> Table:
    parquet = _parquet(f"{path}: a Parquet file")
    checked_path(path)
    import pyarrow

    with parsing(path, "Parquet file", pyarrow.ArrowException):
        table = parquet.read_table(str(path))
        return Table(path, table.column_names, [column.to_pylist() for column in table.columns])


def _parquet(feature: str) -> Untyped:
    try:
        from pyarrow import parquet
    except ImportError:
        raise MissingDependencyError(feature, "pyarrow", "tables") from None
    return parquet


def write_columns(path: str | Path, columns: Mapping[str, Iterable[Untyped]], *, name: str = "") -> None:
    """Write a table with these columns; the suffix of `name`, or else of `path`, says in which format.

    InvalidInputError: the file cannot be written, or Parquet has no type for a column.
    MissingDependencyError: it is a Parquet file and pyarrow is not installed.
    """
    name = name or str(path)
    lists = {key: list(column) for key, column in columns.items()}
    if name.endswith(PARQUET):
        parquet = _parquet(f"{name}: a Parquet file")
        import pyarrow

        try:
            table = pyarrow.table(lists)
        except pyarrow.ArrowException as error:
            raise InvalidInputError(f"{name}: cannot be written: {error}") from None
        with replacing(path) as file:
            parquet.write_table(table, file)
        return
    text = io.StringIO(newline="")
    separator = "\t" if name.removesuffix(".gz").endswith(".tsv") else ","
    writer = csv.writer(text, delimiter=separator, lineterminator="\n")
    writer.writerow(lists)
    writer.writerows(zip(*lists.values(), strict=True))
    with replacing(path, compress=name.endswith(".gz")) as file:
        file.write(text.getvalue().encode())


class TableContent(NamedTuple):
    """The numbers of a table, and the columns that they come from."""

    content: Untyped  #: FlowNetwork, CostNetwork, BipartiteGraph or UndirectedGraph
    columns: dict[str, str]  #: the names of the columns that were read, by what they are


def read_network_table(
    path: str | Path,
    *,
    undirected: bool = False,
    ends: tuple[str, str] | None = None,
    costs: bool = True,
) -> TableContent:
    """Read a network: a CostNetwork if there is a column "cost" or "weight", else a FlowNetwork.

    The table has the ends of each arc and its "capacity"; with costs it may have "lower", too. Unless
    `costs`, they do not count in a table that has capacities. Arcs of a network without costs carry flow
    either way if `undirected`. `ends` are the names of the columns of tails and heads; None: names in `ENDS`,
    or the only two that can be. ParseError if the file is malformed, lacks a column, or does not say which
    columns are the ends.
    """
    table = read_columns(path)
    first, second = table.ends(ends)
    found = {"capacity": table.find(CAPACITY), "cost": table.find(COST), "lower": table.find(LOWER)}
    if not costs and found["capacity"] is not None:
        found["cost"] = None
    numbers = {what: table.numbers(column) for what, column in found.items() if column is not None}
    for row, capacity in enumerate([] if "cost" in numbers else numbers.get("capacity", [])):
        if not capacity >= 0:
            raise table.error(row, f"the capacity is {f'negative, {capacity}' if capacity < 0 else 'NaN'}")
    read = table.said(source=first, target=second, **found)
    with parsing(path, "network"):
        edges = EdgeColumns(table.labels(first), table.labels(second), numbers)
        if "cost" in numbers:
            if undirected:
                raise ValueError("edges with costs are arcs here")
            return TableContent(CostNetwork._from_columns(edges, None), read)
        if "capacity" not in numbers:
            raise ParseError(path, 1, f"expected a column 'capacity', got: {', '.join(table.names)}")
        read.pop("lower", None)
        return TableContent(FlowNetwork._from_columns(edges, undirected), read)


def read_amounts(path: str | Path, *, supplies: bool = False) -> dict[Hashable, int | float]:
    """Read supplies of vertices, or masses of rows or columns: a table with names and numbers.

    Of `supplies` a column "demand" is refused: it has the opposite sign. ParseError if the file is malformed,
    names a vertex twice, or does not say which of its columns has the names.
    """
    table = read_columns(path)
    table.check_header(2)
    names, amounts = table.find(VERTEX), table.find(SUPPLY)
    if len(table.names) == 2:
        if names is None:
            names = 0 if amounts is None else 1 - amounts
        amounts = 1 - names
    several = [name for name in table.names if name.strip().lower() in VERTEX]
    if names is None or amounts is None or len(several) > 1:
        message = (
            f"expected two columns, names and amounts, got: {', '.join(table.names)}; of more columns one is "
            "called vertex and one supply (or name and mass)"
        )
        raise ParseError(path, 1, message)
    if supplies and table.names[amounts].strip().lower().startswith("demand"):
        message = f"a supply is what a vertex sends, and column {table.names[amounts]!r} has the opposite"
        raise ParseError(path, 1, f"{message}: call it supply, negative where a vertex receives")
    found: dict[Hashable, int | float] = {}
    for row, (label, amount) in enumerate(zip(table.labels(names), table.numbers(amounts), strict=True)):
        if label in found:
            raise table.error(row, f"{label!r} is there twice")
        found[label] = amount
    return found


def read_bipartite_table(path: str | Path, *, ends: tuple[str, str] | None = None) -> TableContent:
    """Read the edges of a bipartite graph, rows and columns with labels; `ends` are as for networks."""
    table = read_columns(path)
    first, second = table.ends(ends)
    edges = EdgeColumns(table.labels(first), table.labels(second), {})
    return TableContent(BipartiteGraph._from_columns(edges), table.said(row=first, column=second))


def read_undirected_table(
    path: str | Path, *, weights: bool = True, ends: tuple[str, str] | None = None
) -> TableContent:
    """Read an undirected graph with labels, and with the column "weight" if there is one.

    `ends` are as for networks. ParseError: the file is malformed, or it has numbers, but no column "weight",
    and `weights` are asked for.
    """
    table = read_columns(path)
    first, second = table.ends(ends)
    column = table.find(WEIGHT) if weights else None
    if weights and column is None:
        others = [
            name for at, name in enumerate(table.names) if at not in (first, second) and table.has_numbers(at)
        ]
        if others:
            message = (
                f"there is no column 'weight', and {', '.join(map(repr, others))} has numbers: call it so, "
            )
            raise ParseError(path, 1, f"{message}or leave weights out (--unweighted)")
    values = {} if column is None else {"weight": table.numbers(column)}
    with parsing(path, "graph"):
        edges = EdgeColumns(table.labels(first), table.labels(second), values)
        read = table.said(source=first, target=second, weight=column)
        return TableContent(UndirectedGraph._from_columns(edges), read)


class CostFile(NamedTuple):
    """The costs in a file."""

    #: ndarray, scipy sparse matrix, or CostEdges without labels
    costs: Array | scipy.sparse.csr_array | CostEdges
    #: int64 or objects: their names: labels of a table, vertices of a DIMACS file, otherwise their numbers
    #: from 1
    rows: Array
    columns: Array
    #: the names of the columns of a table that were read: of edges "row", "column" and "cost"; of a matrix
    #: "row", the names of its rows
    read: dict[str, str] | None = None


def read_cost_table(path: str | Path, *, ends: tuple[str, str] | None = None) -> CostFile:
    """Read costs: edges if there is a column "cost" or columns for both ends, else a matrix.

    The first column of a matrix has the names of its rows, the first line those of its columns. `ends` are as
    for networks. ParseError: the file is malformed, a cost is missing, or it is not clear which columns are
    the ends.
    """
    table = read_columns(path)
    cost = table.find(COST)
    not_allowed = "; a pair that is not allowed costs inf"
    names_say = any(table.has_names(pair) for pair in ENDS)
    if ends is not None or cost is not None or names_say:
        first, second = table.ends(ends)
        if cost is None:
            message = f"expected a column 'cost', got: {', '.join(table.names)}"
            raise ParseError(path, 1, message)
        edges, columns = number_apart(EdgeColumns(table.labels(first), table.labels(second), {}))
        labels = objects(edges.labels, len(edges.labels)), objects(columns, len(columns))
        numbers = table.numbers(cost, not_allowed)
        with parsing(path, "table of costs"):
            shape = len(labels[0]), len(labels[1])
            costs = CostEdges(edges.first, edges.second, exact_array(numbers, "cost"), shape)
        return CostFile(costs, *labels, table.said(row=first, column=second, cost=cost))
    if len(table.names) < 2:
        raise ParseError(path, 1, "expected the names of rows in the first column, and columns of costs")
    table.check_header(
        1, "; costs without names are read from an array in a file, numpy.save('cost.npy', cost)"
    )
    names = table.labels(0)
    for row, cells in enumerate(zip(*table.columns[1:], strict=True)):
        for column, cell in enumerate(cells):
            if cell is None or cell == "":
                where = f"no cost of {names[row]!r} and {table.names[column + 1]!r}"
                raise table.error(row, where + not_allowed)
    columns_of_costs = [table.numbers(column, not_allowed) for column in range(1, len(table.names))]
    with parsing(path, "table of costs"):
        matrix = exact_array(list(map(list, zip(*columns_of_costs, strict=True))), "cost")
    labels = objects(names, len(names)), objects(table.names[1:], len(table.names) - 1)
    return CostFile(matrix.reshape(len(labels[0]), len(labels[1])), *labels, table.said(row=0))
