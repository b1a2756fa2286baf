"""Networks, graphs and costs as tables in files: comma-separated values, Excel and Parquet.

The first line names the columns, which a text file separates by commas, semicolons or tabs. The ends of edges
are labels. Those of a text file stay as they are written, so that ``007`` is not ``7``, but for blanks around
them. Empty lines are left out.

:mod:`preflow.graph.edge_tables` finds the columns, by the rules that hold for all tables.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from zipfile import BadZipFile

from ..arrays import Array, Untyped
from ..checks import needed_for
from ..errors import InvalidInputError, ParseError
from ..graph.bipartite import BipartiteGraph
from ..graph.convert import flow_columns
from ..graph.cost_edges import CostEdges
from ..graph.cost_network import CostNetwork, cost_columns
from ..graph.edge_tables import (
    CAPACITY,
    COST,
    GROUPED,
    NOT_ALLOWED,
    USUAL_NAMES,
    WEIGHT,
    ColumnNames,
    TableReader,
    find_columns,
    labels_twice,
    number_apart,
    numbers_by_label,
    objects,
    read_numbers,
    read_table,
    refuse_pairs,
    says_ends,
)
from ..graph.network import EXACT_FLOAT, FlowNetwork
from ..graph.placement import exact_array
from ..graph.undirected import UndirectedGraph, as_undirected_graph, undirected_columns
from .files import check_expansion, checked_path, decoded, parsing, read_bytes, replacing
from .graphs import is_graph, is_list, read_graph, read_list, without_directions
from .record_reader import INTEGER

if TYPE_CHECKING:
    import scipy.sparse

PARQUET, EXCEL = ".parquet", ".xlsx"
#: What pandas calls an index without a name in a Parquet file.
INDEX = "__index_level_0__"
#: A number that is a thousand times another one where points mark thousands.
MAY_BE_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(?:\.\d{3})+")
#: The first line by which Excel learns the separator of a file.
SAYS_SEPARATOR = re.compile(r"sep=(.)", re.IGNORECASE)
#: A number in the form that numpy.savetxt has for floats.
SAVED = re.compile(r"-?\d\.\d{18}e[+-]\d\d")
#: Suffixes of tables.
TABLES = (".csv", ".csv.gz", ".tsv", ".tsv.gz", PARQUET, EXCEL)
#: Characters that may separate columns.
SEPARATORS = ",;\t"
#: What to do with arcs or edges in a table whose first line has none of the names.
NO_NAMES = "; a list without names of columns is read if the name of the file ends in .txt"
#: How a column is called that has the names of rows, even where these are numbers.
NAMES_OF_ROWS = ("", "row", "rows", "name", "id", "index")


class TextFormat(NamedTuple):
    """How a file of text is written, beyond what it says itself."""

    encoding: str | None = None  #: None: UTF-8, or UTF-16 if the file begins with its mark
    #: the decimal point, "." or ","; the other one may then mark thousands. None: a point, and no marks
    decimal: str | None = None


PLAIN = TextFormat()


def is_table(path: str | Path) -> bool:
    """Return whether the name of a file is that of a table."""
    return str(path).lower().endswith(TABLES)


def read_columns(path: str | Path, text: TextFormat = PLAIN) -> TableReader:
    """Return a reader of the columns of a file.

    ParseError: the file cannot be read or is malformed. MissingDependencyError: it is a file of Parquet or
    Excel, and a package that reads it is not installed.
    """
    if text.decimal not in (None, ".", ","):
        raise InvalidInputError(f"decimal must be '.' or ',', got {text.decimal!r}")
    name = str(path).lower()
    if name.endswith(PARQUET):
        return _read_parquet(path)
    rows: Iterable[tuple[int, list[Untyped]]]
    separator = ""
    if is_list(path):
        rows = read_list(path, text.encoding)
    elif name.endswith(EXCEL):
        rows = _read_excel(path)
    else:
        separator, rows = _read_text(path, text.encoding)
    header: list[Untyped] = []
    content, lines = [], []
    for line, row in rows:
        cells = [cell.strip() if isinstance(cell, str) else cell for cell in row]
        if all(cell in ("", None) for cell in cells):
            continue
        if not header:
            header = ["" if cell is None else str(cell) for cell in cells]
            header[0] = re.sub(r"^#\s*(?=\S)", "", header[0])  # as numpy.savetxt writes a header
        else:
            extra = [cell for cell in cells[len(header) :] if cell not in ("", None)]
            if len(cells) < len(header) or extra:
                raise ParseError(path, line, f"expected {len(header)} fields, got {len(cells)}")
            content.append(cells[: len(header)])
            lines.append(line)
    if not header:
        raise ParseError(path, None, "the file is empty")
    columns = list(map(list, zip(*content, strict=True))) if content else [[] for _ in header]
    used = [
        at for at, name in enumerate(header) if name or any(cell not in ("", None) for cell in columns[at])
    ]
    names, columns = [header[at] for at in used], [columns[at] for at in used]

    def error(row: int | None, problem: str) -> ParseError:
        return ParseError(path, 1 if row is None else lines[row], problem)

    is_sheet = name.endswith(EXCEL)
    return _reader(names, columns, error, text, not is_sheet, is_sheet or separator == ";")


def _reader(
    names: list[Untyped],
    columns: list[list[Untyped]],
    error: Untyped,
    text: TextFormat | None = None,
    has_commas: bool = False,
    marks_thousands: bool = False,
) -> TableReader:
    """Return the reader of columns with different names, in which None or nothing is a missing value.

    Of a `text`, which a sheet of Excel is, too, labels are as they are written: 7 is '7' in all columns. Who
    `marks_thousands`, as they do who write semicolons between columns, may mean a thousand by 1.000.
    """

    def cells(name: Hashable) -> list[Untyped]:
        return columns[names.index(name)]

    def labels(name: Hashable) -> list[Untyped]:
        return (
            cells(name) if text is None else [cell if cell is None else _label(cell) for cell in cells(name)]
        )

    def missing(name: Hashable) -> int | None:
        return next((row for row, cell in enumerate(cells(name)) if cell is None or cell == ""), None)

    def numbers(name: Hashable) -> list[Untyped]:
        decimal = None if text is None else text.decimal
        pointed = [cell for cell in cells(name) if isinstance(cell, str) and "." in cell]
        unclear = marks_thousands and decimal is None and pointed
        if unclear and all(map(MAY_BE_THOUSANDS.fullmatch, pointed)):
            problem = f"{pointed[0]!r} in column {name!r} has a decimal point, or marks thousands"
            found = error(cells(name).index(pointed[0]), problem)
            found.advising("decimal", ".", "reads a decimal point")
            raise found.advising("decimal", ",", "reads thousands")
        return [_number(cell, decimal) if isinstance(cell, str) else cell for cell in cells(name)]

    return TableReader(names, missing, labels, numbers, error, has_commas)


def _label(cell: Untyped) -> str:
    """Return a label as it is written, but 1.000000000000000000e+00, as numpy.savetxt writes a 1, as 1."""
    text = str(cell)
    return str(int(float(text))) if SAVED.fullmatch(text) and float(text).is_integer() else text


def _number(text: str, decimal: str | None = None) -> int | float | str:
    """Return the number that a text is; the text itself if it is none."""
    number = text
    if decimal is not None:
        whole, point, part = text.partition(decimal)
        mark = GROUPED.fullmatch(whole)
        if mark is not None and mark[1] != decimal:
            whole = whole.replace(mark[1], "")
        elif ".,"[decimal == "."] in whole:
            return text
        number = f"{whole}{point and '.'}{part}"
    if INTEGER.fullmatch(number.encode()):
        return int(number)
    try:
        return text if "_" in number else float(number)  # Python's float reads 1_000.5
    except ValueError:
        return text


def _check_header(table: TableReader, count: int, advice: str = "") -> None:
    """Raise ParseError if one of the first `count` names is a number: the table has no header."""
    for name in table.names[:count]:
        if any(not isinstance(_number(str(name), decimal), str) for decimal in (None, ".", ",")):
            message = f"the first line names the columns, and it has the number {name}"
            raise table.error(None, message + advice)


def _read_text(path: str | Path, encoding: str | None) -> tuple[str, list[tuple[int, list[str]]]]:
    """Return what separates the columns, and the rows with the numbers of their lines."""
    with parsing(path, "table of text", csv.Error):
        text = decoded(path, read_bytes(path), encoding)
        header = next((line for line in text.splitlines() if line.strip()), "")
        said = SAYS_SEPARATOR.fullmatch(header.strip())
        separator = max(SEPARATORS, key=header.count) if said is None else said[1]
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
        rows = [(reader.line_num, row) for row in reader if row]
        return separator, rows if said is None else rows[1:]


def _read_excel(path: str | Path) -> Iterable[tuple[int, list[Untyped]]]:
    """Return the rows of the first sheet, with their numbers."""
    pandas = _pandas_with_openpyxl(path)
    with parsing(path, "Excel file", BadZipFile, KeyError, TypeError, AttributeError, SyntaxError):
        content = read_bytes(path)
        check_expansion(path, content)
        sheet = pandas.read_excel(io.BytesIO(content), header=None, dtype=object, na_filter=False)
        return list(enumerate(sheet.to_numpy(dtype=object).tolist(), 1))


def _pandas_with_openpyxl(path: str | Path) -> Untyped:
    with needed_for(f"{path}: an Excel file", "pandas and openpyxl", "tables"):
        import openpyxl  # noqa: F401
        import pandas
    return pandas


def _read_parquet(path: str | Path) -> TableReader:
    parquet = _parquet(f"{path}: a Parquet file")
    checked_path(path)
    import pyarrow

    def error(row: int | None, problem: str) -> ParseError:
        return ParseError(path, None, problem if row is None else f"row {row + 1}: {problem}")

    with parsing(path, "Parquet file", pyarrow.ArrowException):
        table = parquet.read_table(str(path))
        names, columns = list(table.column_names), [column.to_pylist() for column in table.columns]
        if INDEX in names:  # pandas writes it last; the CSV that it writes has it first and without a name
            columns.insert(0, columns.pop(names.index(INDEX)))
            names = ["", *(name for name in names if name != INDEX)]
        return _reader(names, columns, error)


def _parquet(feature: str) -> Untyped:
    with needed_for(feature, "pyarrow", "tables"):
        from pyarrow import parquet
    return parquet


def write_columns(path: str | Path, columns: Mapping[str, Iterable[Untyped]], *, name: str = "") -> None:
    """Write a table with these columns; the suffix of `name`, or else of `path`, says in which format.

    InvalidInputError: the file cannot be written, or its format has no room or no type for a column.
    MissingDependencyError: a package that writes Parquet or Excel files is not installed.
    """
    name = (name or str(path)).lower()
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
    if name.endswith(EXCEL):
        frame, sheet = _pandas_with_openpyxl(name).DataFrame(lists), io.BytesIO()
        if any(
            isinstance(cell, int) and abs(cell) > EXACT_FLOAT for cells in lists.values() for cell in cells
        ):
            raise InvalidInputError(f"{name}: Excel has no integers past 2**53: write .csv or .parquet")
        try:
            frame.to_excel(sheet, index=False, engine="openpyxl")
        except ValueError as error:  # more rows than a sheet has
            raise InvalidInputError(f"{name}: cannot be written: {error}") from None
        with replacing(path) as file:
            file.write(sheet.getvalue())
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


def _said(found: Mapping[str, Untyped]) -> dict[str, str]:
    """Return the names of the columns that were read."""
    return {what: str(name) for what, name in found.items() if name is not None}


def read_network_table(
    path: str | Path,
    *,
    undirected: bool = False,
    names: ColumnNames = USUAL_NAMES,
    costs: bool = True,
    text: TextFormat = PLAIN,
) -> TableContent:
    """Read a network: a CostNetwork if there is a column "cost" or "weight", else a FlowNetwork.

    The table has the ends of each arc and its "capacity"; with costs it may have "lower", too. Unless
    `costs`, they do not count in a table that has capacities. Arcs of a network without costs carry flow
    either way if `undirected`. `names` are those of columns that have others. ParseError if the file is
    malformed, lacks a column, or does not say which columns are the ends.

    A graph that NetworkX reads says itself whether it is directed, and its vertices may have a "demand".
    """
    if is_graph(path):
        return _read_network_graph(path, undirected, names, costs)
    table = read_columns(path, text)
    _check_header(table, 3, NO_NAMES)
    has_costs = names.cost is not None or table.find(COST) is not None
    if has_costs and (costs or (names.capacity is None and table.find(CAPACITY) is None)):
        if undirected:
            raise ParseError(path, 1, "edges with costs are arcs here")
        with_costs = cost_columns(table, names)
        with parsing(path, "network"):
            return TableContent(CostNetwork.from_pandas(table, **with_costs), _said(with_costs))
    found = flow_columns(table, names)
    edges = read_table(table, (found["source"], found["target"]), {"capacity": found["capacity"]})
    for row, capacity in enumerate(edges.values["capacity"]):
        if not capacity >= 0:
            raise table.error(row, f"the capacity is {f'negative, {capacity}' if capacity < 0 else 'NaN'}")
    with parsing(path, "network"):
        return TableContent(FlowNetwork._from_columns(edges, undirected), _said(found))


def _read_network_graph(path: str | Path, undirected: bool, names: ColumnNames, costs: bool) -> TableContent:
    graph = read_graph(path)
    attributes = {name for *_, data in graph.edges(data=True) for name in data}
    cost = names.cost or next((name for name in COST if name in attributes), None)
    found = {"capacity": names.capacity or CAPACITY[0]}
    with _errors_in(path):
        if costs and cost is not None:
            found |= {"weight": cost, "lower": names.lower or "lower"}
            return TableContent(CostNetwork.from_networkx(graph, **found), {"cost": cost})
        network = FlowNetwork.from_networkx(graph, **found)
    return TableContent(replace(network, reverse_capacity=network.capacity) if undirected else network, found)


@contextmanager
def _errors_in(path: str | Path) -> Iterator[None]:
    """Let errors about a graph name its file, and options of commands in place of arguments."""
    try:
        yield
    except InvalidInputError as error:
        problem = re.sub(r"name one as (\w+)=", r"name one, --\1 NAME", error.problem)
        problem = re.sub(r"(\w+)='([^']*)'\?", r"--\1 \2?", problem)
        found = ParseError(path, None, problem.replace("preflow.matching", "`preflow match --general`"))
        found.advice = error.advice
        raise found from error


def read_amounts(
    path: str | Path, *, supplies: bool = False, text: TextFormat = PLAIN
) -> dict[Hashable, int | float]:
    """Read supplies of vertices, or masses of rows or columns: a table with names and numbers.

    Of `supplies` a column "demand" is refused: it has the opposite sign. ParseError if the file is malformed,
    names a vertex twice, or does not say which of its columns has the names.
    """
    table = read_columns(path, text)
    _check_header(table, 2)
    found = numbers_by_label(table, "supply" if supplies else "mass")
    assert found is not None
    return found


def read_bipartite_table(
    path: str | Path, *, names: ColumnNames = USUAL_NAMES, text: TextFormat = PLAIN
) -> TableContent:
    """Read the edges of a bipartite graph, rows and columns with labels; `names` are as for networks."""
    if is_graph(path):
        with _errors_in(path):
            return TableContent(BipartiteGraph.from_networkx(read_graph(path)), {})
    table = read_columns(path, text)
    _check_header(table, 3, NO_NAMES)
    found = find_columns(table, {}, names, ends=("row", "column"))
    return TableContent(BipartiteGraph.from_pandas(table, **found), _said(found))


def read_undirected_table(
    path: str | Path, *, weights: bool = True, names: ColumnNames = USUAL_NAMES, text: TextFormat = PLAIN
) -> TableContent:
    """Read an undirected graph with labels, and with the column "weight" if there is one.

    `names` are as for networks. ParseError: the file is malformed, or it has numbers, but no column "weight",
    and `weights` are asked for.
    """
    if is_graph(path):
        weight = names.weight if weights else False
        with _errors_in(path):
            graph = as_undirected_graph(without_directions(read_graph(path)), weight, WEIGHT, called="match")
        return TableContent(graph, {})
    table = read_columns(path, text)
    _check_header(table, 3, NO_NAMES)
    usual = WEIGHT if weights and names.weight is None else ()
    try:
        found = undirected_columns(table, names.weight if weights else None, usual, names)
    except ParseError as error:
        if any(advice.argument == "weight" for advice in error.advice):
            error.advising("unweighted", True, "counts each edge as 1")
        raise
    with parsing(path, "graph"):
        return TableContent(UndirectedGraph.from_pandas(table, **found), _said(found))


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


def _refuse_costs_as_names(table: TableReader, labels: Iterable[Hashable]) -> None:
    """Raise ParseError where the first column of a matrix may have costs, in place of names of its rows.

    Numbers that ascend are names, unless the matrix is square with them: then 0, 1, ... and 1, 2, ... are. So
    are all where the name of the column is one for names, or the only one that is no number.
    """
    name, *others = map(str, table.names)
    numbers = [_number(str(label)) for label in labels]
    is_text = [isinstance(_number(other), str) for other in others]
    if name.strip().lower() in NAMES_OF_ROWS or not any(is_text):
        return
    if any(isinstance(each, str) for each in numbers):
        return
    integers = [each for each in numbers if isinstance(each, int)]
    ascending = len(integers) == len(numbers) and all(a < b for a, b in pairwise(integers))
    count = ascending and integers[:1] in ([0], [1]) and integers[-1] - integers[0] == len(integers) - 1
    if not count and (not ascending or len(numbers) == len(table.names)):
        message = f"column {name!r} has numbers: the names of the rows, or costs? If they are names, call it"
        raise table.error(None, f"{message} 'row'; else write numbers alone, without the names of columns")


def read_cost_table(
    path: str | Path, *, names: ColumnNames = USUAL_NAMES, text: TextFormat = PLAIN
) -> CostFile:
    """Read costs: edges if there is a column "cost" or columns for both ends, else a matrix.

    The first column of a matrix has the names of its rows, the first line those of its columns. `names` are
    as for networks. ParseError: the file is malformed, a cost is missing, or it is not clear which columns
    are the ends.
    """
    table = read_columns(path, text)
    if names.cost is not None or table.find(COST) is not None or says_ends(table, names):
        _check_header(table, 3, NO_NAMES)
        found = find_columns(table, {"cost": COST}, names, needed=["cost"], ends=("row", "column"))
        read = read_table(
            table, (found["row"], found["column"]), {"cost": found["cost"]}, NOT_ALLOWED, apart=True
        )
        edges, columns = number_apart(read)
        labels = objects(edges.labels, len(edges.labels)), objects(columns, len(columns))
        with parsing(path, "table of costs"):
            shape = len(labels[0]), len(labels[1])
            costs = CostEdges(edges.first, edges.second, exact_array(read.values["cost"], "cost"), shape)
        return CostFile(costs, *labels, _said(found))
    if len(table.names) < 2:
        raise ParseError(path, 1, "expected the names of rows in the first column, and columns of costs")
    _check_header(
        table, 1, "; costs without names are read from an array in a file, numpy.save('cost.npy', cost)"
    )
    first, *others = table.names
    rows = table.labels(first)
    _refuse_costs_as_names(table, rows)
    for labels_of_side, side in ((table.names, "columns"), (rows, "rows")):
        if len(set(labels_of_side)) < len(labels_of_side):
            raise ParseError(path, None, labels_twice(labels_of_side, f"{side} of the matrix"))
    for column in others:
        row = table.missing(column)
        if row is not None:
            raise table.error(row, f"no cost of {rows[row]!r} and {column!r}{NOT_ALLOWED['cost']}")
    columns_of_costs = [read_numbers(table, column, NOT_ALLOWED["cost"]) for column in others]
    with parsing(path, "table of costs"):
        matrix = exact_array(list(map(list, zip(*columns_of_costs, strict=True))), "cost")
    if all(not isinstance(_number(str(name)), str) for name in rows):
        with _errors_in(path):
            refuse_pairs(others, matrix)
    names_of_rows, names_of_columns = objects(rows, len(rows)), objects(others, len(others))
    return CostFile(
        matrix.reshape(len(rows), len(others)), names_of_rows, names_of_columns, _said({"row": first})
    )
