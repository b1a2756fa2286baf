"""Networks, graphs and costs as tables in files: comma-separated values, and Parquet.

The first line of a text file names the columns, which are separated by commas, semicolons or tabs. The ends
of edges are labels. Those of a text file stay as they are written, so that ``007`` is not ``7``. The columns
of the ends have one of the names in `FIRST` and one of those in `SECOND`; otherwise they are the first two.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ..arrays import Array, Untyped
from ..errors import InvalidInputError, MissingDependencyError, ParseError
from ..graph.bipartite import BipartiteGraph
from ..graph.cost_network import CostNetwork
from ..graph.edge_tables import EdgeColumns, Numbered, number_apart, objects
from ..graph.network import FlowNetwork
from ..graph.undirected import UndirectedGraph
from .files import checked_path, parsing, read_bytes, replacing
from .record_reader import INTEGER, shown

PARQUET = ".parquet"
#: Suffixes of tables.
TABLES = (".csv", ".csv.gz", ".tsv", ".tsv.gz", PARQUET)
#: Names of the column of one end of an edge, and of the other.
FIRST, SECOND = ("source", "from", "tail", "row", "u"), ("target", "to", "head", "column", "v")
#: Names of a column of supplies and of one of vertices.
SUPPLY, VERTEX = ("supply", "mass"), ("vertex", "node", "name", "row", "column")
#: Characters that may separate columns.
SEPARATORS = ",;\t"


class Table(NamedTuple):
    """The columns of a file.

    Attributes
    ----------
    path : str or Path
    names : list of str
    columns : list of lists
        Strings of a text file; what a Parquet file has, None for what it lacks.
    """

    path: str | Path
    names: list[str]
    columns: list[list[Untyped]]

    def find(self, names: Iterable[str]) -> int | None:
        """Return the number of the column with the first of these names, in any case; None without such."""
        known = [name.strip().lower() for name in self.names]
        found = next((name for name in names if name in known), None)
        if found is not None and known.count(found) > 1:
            raise ParseError(self.path, 1, f"there are several columns {found!r}")
        return None if found is None else known.index(found)

    def ends(self) -> tuple[int, int]:
        """Return the numbers of the columns of the two ends."""
        self.check_header(3)
        first, second = self.find(FIRST), self.find(SECOND)
        if first is None and second is None and len(self.names) >= 2:
            return 0, 1
        if first is None or second is None:
            listed = ", ".join(self.names)
            message = f"expected columns for both ends of edges, such as source and target, got: {listed}"
            raise ParseError(self.path, 1, message)
        return first, second

    def check_header(self, count: int) -> None:
        """Raise ParseError if one of the first `count` names is a number: the table has no header."""
        for name in self.names[:count]:
            if _is_number(name):
                message = f"the first line names the columns, and it has the number {name}"
                raise ParseError(self.path, 1, message)

    def labels(self, column: int) -> list[Hashable]:
        """Return a column as labels."""
        values = self.columns[column]
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
                message = f"{shown(text.encode())} in column {self.names[column]!r} is not a number{what}"
                raise self.error(row, message) from None
        return found

    def has_numbers(self, column: int) -> bool:
        """Return whether all values of a column are numbers."""
        try:
            self.numbers(column)
        except ParseError:
            return False
        return bool(self.columns[column])

    def error(self, row: int, message: str) -> ParseError:
        """Return an error in a row; a text file has the header in its first line."""
        if str(self.path).endswith(PARQUET):
            return ParseError(self.path, None, f"row {row + 1}: {message}")
        return ParseError(self.path, row + 2, message)


def _float(text: str) -> float:
    if "_" in text:  # Python's float reads 1_000.5
        raise ValueError
    return float(text)


def is_table(path: str | Path) -> bool:
    """Return whether the name of a file is that of a table."""
    return str(path).endswith(TABLES)


def read_columns(path: str | Path) -> Table:
    """Read a table.

    Raises
    ------
    ParseError
        The file cannot be read or is malformed.
    MissingDependencyError
        It is a Parquet file and pyarrow is not installed.
    """
    if str(path).endswith(PARQUET):
        return _read_parquet(path)
    with parsing(path, "table of text", csv.Error):
        text = read_bytes(path).decode("utf-8-sig")
        header, _, _ = text.partition("\n")
        separator = max(SEPARATORS, key=header.count)
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
        names = next(rows, None)
        if names is None:
            raise ParseError(path, None, "the file is empty")
        content = []
        for row in rows:
            if len(row) != len(names):
                if not row:
                    row = [""] * len(names)
                else:
                    message = f"expected {len(names)} fields, got {len(row)}"
                    raise ParseError(path, rows.line_num, message)
            content.append(row)
        while content and not any(content[-1]):
            content.pop()
    columns = [list(column) for column in zip(*content, strict=True)] if content else [[] for _ in names]
    return Table(path, names, columns)


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

    Raises
    ------
    InvalidInputError
        The file cannot be written, or Parquet has no type for a column.
    MissingDependencyError
        It is a Parquet file and pyarrow is not installed.
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


def read_network_table(path: str | Path, *, undirected: bool = False) -> FlowNetwork | CostNetwork:
    """Read a network: a CostNetwork if there is a column "cost" or "weight".

    Parameters
    ----------
    path : str or Path
        A table with the ends of each arc and its "capacity"; with costs it may have "lower", too.
    undirected : bool
        Whether arcs of a network without costs carry flow either way.

    Raises
    ------
    ParseError
        The file is malformed, or lacks a column.
    """
    table = read_columns(path)
    first, second = (table.labels(column) for column in table.ends())
    numbers = {
        what: table.numbers(column)
        for what, column in (
            ("capacity", table.find(["capacity", "cap"])),
            ("cost", table.find(["cost", "weight"])),
            ("lower", table.find(["lower"])),
        )
        if column is not None
    }
    for row, capacity in enumerate([] if "cost" in numbers else numbers.get("capacity", [])):
        if not capacity >= 0:
            raise table.error(row, f"the capacity is {f'negative, {capacity}' if capacity < 0 else 'NaN'}")
    with parsing(path, "network"):
        edges = EdgeColumns(first, second, numbers)
        if "cost" in numbers:
            if undirected:
                raise ValueError("edges with costs are arcs here")
            return CostNetwork._from_columns(edges, None)
        if "capacity" not in numbers:
            raise ParseError(path, 1, f"expected a column 'capacity', got: {', '.join(table.names)}")
        return FlowNetwork._from_columns(edges, undirected)


def read_amounts(path: str | Path) -> dict[Hashable, int | float]:
    """Read supplies of vertices, or masses of rows or columns: a table with names and numbers.

    Raises
    ------
    ParseError
        The file is malformed, or names a vertex twice.
    """
    table = read_columns(path)
    table.check_header(2)
    names, amounts = table.find(VERTEX), table.find(SUPPLY)
    if names is None or amounts is None:
        if len(table.names) != 2:
            message = f"expected two columns, names and amounts, got: {', '.join(table.names)}"
            raise ParseError(path, 1, message)
        names, amounts = 0, 1
    found: dict[Hashable, int | float] = {}
    for row, (label, amount) in enumerate(zip(table.labels(names), table.numbers(amounts), strict=True)):
        if label in found:
            raise table.error(row, f"{label!r} is there twice")
        found[label] = amount
    return found


def read_bipartite_table(path: str | Path) -> BipartiteGraph:
    """Read the edges of a bipartite graph, rows and columns with labels."""
    table = read_columns(path)
    first, second = (table.labels(column) for column in table.ends())
    return BipartiteGraph._from_columns(EdgeColumns(first, second, {}))


def read_undirected_table(path: str | Path, *, weights: bool = True) -> UndirectedGraph:
    """Read an undirected graph with labels, and with the column "weight" if there is one.

    Raises
    ------
    ParseError
        The file is malformed, or it has numbers, but no column "weight", and `weights` are asked for.
    """
    table = read_columns(path)
    ends = table.ends()
    first, second = (table.labels(column) for column in ends)
    column = table.find(["weight", "cost"]) if weights else None
    if weights and column is None:
        others = [name for at, name in enumerate(table.names) if at not in ends and table.has_numbers(at)]
        if others:
            message = (
                f"there is no column 'weight', and {', '.join(map(repr, others))} has numbers: call it so, "
            )
            raise ParseError(path, 1, f"{message}or leave weights out (--unweighted)")
    values = {} if column is None else {"weight": table.numbers(column)}
    with parsing(path, "graph"):
        return UndirectedGraph._from_columns(EdgeColumns(first, second, values))


class CostTable(NamedTuple):
    """Costs of a file: edges with their labels, or a matrix with its labels.

    Attributes
    ----------
    edges : Numbered or None
        None for a matrix. The labels are those of the rows.
    costs : list, or list of lists
        The cost of each edge, or the rows of a matrix.
    rows, columns : ndarray of objects
        The labels.
    """

    edges: Numbered | None
    costs: Sequence[Untyped]
    rows: Array
    columns: Array


def read_cost_table(path: str | Path) -> CostTable:
    """Read costs: edges if there are columns for both ends and "cost", else a matrix.

    The first column of a matrix has the names of its rows, the first line those of its columns.

    Raises
    ------
    ParseError
        The file is malformed, or a cost is missing.
    """
    table = read_columns(path)
    ends, cost = (table.find(FIRST), table.find(SECOND)), table.find(["cost", "weight"])
    not_allowed = "; a pair that is not allowed costs inf"
    if None not in ends and cost is not None:
        first, second = (table.labels(column) for column in table.ends())
        numbered, columns = number_apart(EdgeColumns(first, second, {}))
        labels = objects(numbered.labels, len(numbered.labels)), objects(columns, len(columns))
        return CostTable(numbered, table.numbers(cost, not_allowed), *labels)
    if len(table.names) < 2:
        raise ParseError(path, 1, "expected the names of rows in the first column, and columns of costs")
    table.check_header(1)
    names = table.labels(0)
    for row, cells in enumerate(zip(*table.columns[1:], strict=True)):
        for column, cell in enumerate(cells):
            if cell is None or cell == "":
                where = f"no cost of {names[row]!r} and {table.names[column + 1]!r}"
                raise table.error(row, where + not_allowed)
    columns_of_costs = [table.numbers(column, not_allowed) for column in range(1, len(table.names))]
    rows = list(map(list, zip(*columns_of_costs, strict=True)))
    labels = objects(names, len(names)), objects(table.names[1:], len(table.names) - 1)
    return CostTable(None, rows, *labels)
