"""Files of the command line; the suffix of a name determines the format, and ``-`` is a standard stream."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self, cast

from ..errors import InvalidInputError, ParseError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..arrays import Array
    from ..graph.bipartite import BipartiteGraph
    from ..graph.cost_network import CostNetwork
    from ..graph.edge_tables import ColumnNames
    from ..graph.network import FlowNetwork, MaxFlowProblem
    from ..graph.vertex_names import VertexNames
    from ..io.solution import FlowSolution
    from ..io.tables import TextFormat

STREAM = "-"
ARCHIVE = ".npz"


class ForTables:
    """Base class of options that are for tables only; a dataclass derives from it."""

    @classmethod
    def of(cls, file: str, given: dict[str, Any], has_names: bool | None = None) -> Self:
        """Take these options out of those of a command.

        InvalidInputError: some are given, and the file is no table, or one of numbers without names.
        """
        from ..io.tables import TABLES

        names = [each.name for each in fields(cast(Any, cls))]
        found = cls(**{name: given.pop(name) for name in names if name in given})
        if found != cls() and not (names_vertices(file) if has_names is None else has_names):
            options = ", ".join(f"--{name}" for name in names)
            raise InvalidInputError(
                f"{file}: {options} are for tables ({', '.join(TABLES)}), lists of arcs (.txt, .tntp) and "
                "graphs (.graphml, .gml, .net)"
            )
        return found


@dataclass(frozen=True, kw_only=True)
class Terminals(ForTables):
    """Terminals of a table of arcs.

    Parameters
    ----------
    source : VERTEX
        Of a table: a source; may be repeated.
    sink : VERTEX
        Of a table: a sink; may be repeated.
    supply : FILE
        Of a table with costs: a table of vertices and what they send.
    undirected
        Of a table: each arc carries flow either way.
    """

    source: tuple[str, ...] = ()
    sink: tuple[str, ...] = ()
    supply: str | None = None
    undirected: bool = False


@dataclass(frozen=True, kw_only=True)
class TableOptions(ForTables):
    """How to read a table.

    Parameters
    ----------
    ends : FIRST,SECOND
        Of a table: the columns of both ends of its rows, where their names do not say so.
    capacity : NAME
        Of a table: the column of capacities; default: capacity. inf: no arc has a limit.
    cost : NAME
        Of a table: the column of costs; default: cost or weight.
    lower : NAME
        Of a table: the column of lower bounds; default: lower.
    weight : NAME
        Of a table: the column of weights; default: weight or cost.
    encoding : NAME
        Of a table: the encoding of its text, such as latin-1; default: UTF-8.
    decimal : MARK
        Of a table: what its numbers have for a decimal point, a comma or a point; the other one may mark
        thousands. Default: a point, and thousands have no mark.
    """

    ends: str | None = None
    capacity: str | None = None
    cost: str | None = None
    lower: str | None = None
    weight: str | None = None
    encoding: str | None = None
    decimal: str | None = None

    def __post_init__(self) -> None:
        """Check the names of the ends."""
        if self.ends is not None and (self.ends.count(",") != 1 or not all(map(str.strip, self._two()))):
            raise InvalidInputError(f"--ends is two names of columns, FIRST,SECOND, got {self.ends!r}")

    def _two(self) -> list[str]:
        return (self.ends or "").split(",")

    @property
    def names(self) -> ColumnNames:
        """The names of columns."""
        from ..graph.edge_tables import ColumnNames

        ends = None if self.ends is None else (self._two()[0], self._two()[1])
        capacity = inf if self.capacity == "inf" else self.capacity
        return ColumnNames(ends, capacity, self.cost, self.lower, self.weight)

    @property
    def text(self) -> TextFormat:
        """How text is written."""
        from ..io.tables import TextFormat

        return TextFormat(self.encoding, self.decimal)


def is_table(file: str) -> bool:
    """Return whether the name of a file is that of a table."""
    from ..io.tables import is_table

    return is_table(file)


def names_vertices(file: str) -> bool:
    """Return whether a file of a network has names of vertices: a table, a list of arcs, or a graph."""
    from ..io.graphs import has_arcs

    return is_table(file) or has_arcs(file)


def read_network(file: str) -> FlowNetwork | MaxFlowProblem | CostNetwork:
    """Read an .npz archive, or a DIMACS file under any other name; ``-`` reads standard input."""
    from ..graph.network import MaxFlowProblem
    from ..io.dimacs import read_dimacs
    from ..io.npz import load_npz

    if file == STREAM:
        problem = read_dimacs("/dev/stdin")
        return replace(problem, name=name_of(file)) if isinstance(problem, MaxFlowProblem) else problem
    return load_npz(file) if file.endswith(ARCHIVE) else read_dimacs(file)


class Problem(NamedTuple):
    """The problem in a file, and the columns of a table that were read, by what they are."""

    problem: MaxFlowProblem | CostNetwork
    columns: dict[str, str] | None = None
    #: of a table with costs: between which vertices the cheapest of all maximum flows is asked for
    ends: tuple[Any, Any] | None = None


def read_problem(file: str, terminals: Terminals, table: TableOptions, min_cost: bool = False) -> Problem:
    """Read a network with its source and sink, or one with costs; the command line names those of a table.

    `min_cost` asks for the costs of a table, too, where there are a source and a sink.
    """
    from ..graph.cost_network import CostNetwork
    from ..graph.network import MaxFlowProblem

    if names_vertices(file):
        return _read_table_problem(file, terminals, table, min_cost)
    problem = read_network(file)
    if isinstance(problem, CostNetwork):
        if problem.supply is None:
            message = "a network without supplies; preflow.reductions.shortest_path finds shortest paths"
            raise ParseError(file, None, message)
        return Problem(problem)
    if not isinstance(problem, MaxFlowProblem):
        raise ParseError(file, None, "a network without source and sink; save a MaxFlowProblem with them")
    return Problem(problem if problem.name else replace(problem, name=Path(file).stem))


def _read_table_problem(file: str, terminals: Terminals, table: TableOptions, min_cost: bool) -> Problem:
    """Read a table of arcs with the source and the sink, or the supplies, that the command line names."""
    from ..graph.cost_network import CostNetwork
    from ..graph.network import FlowNetwork, MaxFlowProblem
    from ..io.tables import read_amounts, read_network_table

    is_flow = bool(terminals.source or terminals.sink)
    network, columns = read_network_table(
        file,
        undirected=terminals.undirected,
        names=table.names,
        costs=min_cost or not is_flow,
        text=table.text,
    )
    if is_flow and not (terminals.source and terminals.sink):
        raise InvalidInputError(f"{file}: a flow needs a source and a sink, --source A --sink B")
    ends = tuple([label_of(network, name) for name in names] for names in (terminals.source, terminals.sink))
    if isinstance(network, CostNetwork):
        if is_flow and not min_cost:
            raise InvalidInputError(
                f"{file} has a column of costs, 'cost' or 'weight', and no 'capacity', which a maximum flow "
                "needs; for a cheapest flow give --supply FILE in place of the terminals"
            )
        if (
            terminals.supply is None
            and not is_flow
            and not (network.supply is not None and network.supply.any())
        ):
            raise InvalidInputError(
                f"{file} has costs: give the supplies of the vertices as a table, --supply FILE; or the "
                "ends of a flow, --source A --sink B, and --min-cost for the cheapest of all maximum flows"
            )
        if terminals.supply is not None:
            supply = read_amounts(terminals.supply, supplies=True, text=table.text)
            by_label = {label_of(network, label): amount for label, amount in supply.items()}
            network = replace(network, supply=network.supplies_of(by_label))
        return Problem(network, columns, (ends[0], ends[1]) if is_flow else None)
    assert isinstance(network, FlowNetwork)
    if min_cost or terminals.supply is not None:
        asked = "--min-cost" if min_cost else "--supply"
        if is_flow and not min_cost:
            message = "--source and --sink ask for a maximum flow, and --supply has others: leave one out"
            raise InvalidInputError(message)
        error = InvalidInputError(f"{asked} is for costs, and {file} has no column 'cost'")
        raise error.advising("cost", "NAME", "names another one")
    if not is_flow:
        raise InvalidInputError(f"{file} is a table of arcs: name the terminals, --source A --sink B")
    source, sink = (side[0] if len(side) == 1 else tuple(side) for side in ends)
    named: Any = source, sink
    return Problem(MaxFlowProblem(network, *named, name=name_of(file)), columns)


def read_flow_table(file: str, network: FlowNetwork | CostNetwork, table: TableOptions) -> FlowSolution:
    """Read a table of arcs with their flow, whose vertices are those of a network; it states no value.

    `table` says how to read the table of the network; its columns of the ends may be those here.
    """
    import numpy as np

    from ..graph.edge_tables import FLOW, has_columns, read_numbers
    from ..graph.placement import exact_array
    from ..io.files import parsing
    from ..io.solution import FlowSolution
    from ..io.tables import read_columns

    reader = read_columns(file, table.text)
    column = reader.find(FLOW)
    if column is None:
        raise ParseError(file, 1, f"expected a column 'flow', got: {reader.listed()}")
    labels = range(1, network.num_vertices + 1) if network.labels is None else network.labels
    numbers = {str(label): number for number, label in enumerate(labels)}

    def vertices(end: Hashable) -> NDArray[np.uint32]:
        names = reader.labels(end)
        for row, name in enumerate(names):
            if str(name) not in numbers:
                raise reader.error(row, f"the network has no vertex {name!r}")
        return np.array([numbers[str(name)] for name in names], dtype=np.uint32)

    given = table.names.ends
    tail, head = reader.ends(given if given is not None and has_columns(reader, given) else None, [column])
    numbers_of_flow = read_numbers(reader, column)
    with parsing(file, "table of flows"):
        flow = exact_array(numbers_of_flow, "flow")
        if flow.size and (flow.dtype.kind not in "if" or not np.isfinite(flow).all()):
            raise InvalidInputError("a flow is finite, and does not fit int64 here")
    return FlowSolution(0, vertices(tail), vertices(head), flow if flow.size else flow.astype(np.int64))


def label_of(network: VertexNames, name: Hashable) -> Hashable:
    """Return the label that is written like a name; a file may have numbers where the command has text."""
    from ..graph.vertex_names import unknown_vertex

    known = network.labels or ()
    if name in known:
        return name
    for label in known:
        if str(label) == str(name):
            return label
    raise unknown_vertex(network.labels, name, "file")


def write_table(file: str, columns: Mapping[str, Iterable[Any]]) -> None:
    """Write a table; ``-`` writes comma-separated values to standard output."""
    from ..io.tables import write_columns

    with _path_of(file) as path:
        write_columns(path, columns, name=".csv" if file == STREAM else file)


def check_table_name(file: str | None, is_table_read: bool) -> bool:
    """Return whether an output is a table; the names in a table that is read go to a table.

    Raises
    ------
    InvalidInputError
        The output has another format.
    """
    from ..io.tables import TABLES

    if file is None:
        return False
    written = is_table(file) or (is_table_read and file == STREAM)
    if is_table_read and not written:
        raise InvalidInputError(f"{file}: names go to a table, {', '.join(TABLES)}")
    return written


def name_of(file: str) -> str:
    """Return the name of the problem in a file for reports."""
    from ..io.tables import TABLES
    from ..registry import PROBLEMS

    name = "standard input" if file == STREAM else Path(file).name
    for ending in (*TABLES, *(ending for problem in PROBLEMS for ending in problem.files), ".gz"):
        name = name.removesuffix(ending)
    return name


def check_outputs(outputs: Iterable[str | None], inputs: Iterable[str | None] = ()) -> None:
    """Check before long work that files can be written; do not change them.

    Raises
    ------
    InvalidInputError
        A file cannot be written, is also read, or is named twice.
    """
    written: list[str] = []
    for output in outputs:
        if output is None:
            continue
        check_writable(output)
        for given in inputs:
            if given is not None and is_same_file(given, output):
                raise InvalidInputError(f"{output}: is read, and would be overwritten: name another file")
        for other in written:
            if os.path.realpath(other) == os.path.realpath(output) or is_same_file(other, output):
                raise InvalidInputError(f"{output}: would be written twice: name two files")
        written.append(output)


def check_ending(file: str | None, what: str, *endings: str) -> None:
    """Raise InvalidInputError if there is a file to write and its name has none of these endings."""
    if file is not None and not file.lower().endswith(endings):
        raise InvalidInputError(f"{file}: the name of {what} to write ends in {' or '.join(endings)}")


def is_same_file(first: str, second: str) -> bool:
    """Return whether two names are those of one regular file; ``-`` is standard input."""
    try:
        one, other = (os.stat("/dev/stdin" if name == STREAM else name) for name in (first, second))
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(one.st_mode) and os.path.samestat(one, other)


def check_writable(file: str) -> None:
    """Raise InvalidInputError if a file cannot be written; do not change it."""
    if file == STREAM:
        return
    try:
        target = Path(os.path.realpath(file))
        if target.is_dir():
            raise IsADirectoryError(None, "Is a directory")
        if target.exists() and not target.is_file():
            return
        # Only the folder matters: a file is written to a temporary name beside it and then renamed.
        with tempfile.TemporaryFile(dir=target.parent):
            pass
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        raise InvalidInputError(f"{file}: cannot be written: {reason}") from error


def make_folder(folder: str) -> Path:
    """Return the path of a folder; make it if it does not exist."""
    path = Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInputError(f"{folder}: cannot be made: {error.strerror}") from error
    return path


def write_problem(file: str, problem: MaxFlowProblem | CostNetwork | BipartiteGraph, name: str) -> None:
    """Write an instance in the format of the name's suffix; ``-`` writes text to standard output."""
    from ..graph.bipartite import BipartiteGraph
    from ..io.dimacs import write_dimacs
    from ..io.matrix_market import write_matrix_market
    from ..io.npz import save_npz

    with _path_of(file) as path:
        if isinstance(problem, BipartiteGraph):
            write_matrix_market(path, problem)
        elif file.endswith(ARCHIVE):
            save_npz(path, problem)
        else:
            write_dimacs(path, problem, comment=name)


def write_answer(file: str, name: str, result: Any, to_table: bool) -> None:
    """Write a flow or a cut as a table, or as a DIMACS solution of the problem with this name.

    A table has arcs, or of a cut vertices; without labels they are numbered from 1. The solution of a cut has
    a line ``s CAPACITY`` and a line ``n VERTEX t`` for each vertex on the sink's side.
    """
    import numpy as np

    from ..graph.edge_tables import labels_of
    from ..io.files import replacing
    from ..io.record_writer import write_comment
    from ..io.solution import write_min_cost_solution, write_solution
    from ..maxflow.result import MaxFlowResult
    from ..mincost.result import MinCostFlowResult

    network, first = result.network, 1 if result.network.labels is None else 0
    is_cheapest, is_flow = isinstance(result, MinCostFlowResult), isinstance(result, MaxFlowResult)
    if to_table and (is_cheapest or is_flow):
        write_pair_table(file, result.to_columns(), first)
        return
    if to_table:
        vertices = np.arange(network.num_vertices)
        names = vertices + first if first else labels_of(network.labels, vertices)
        sides = np.where(result.sink_side, "sink", "source").tolist()
        write_table(file, {"vertex": names.tolist(), "side": sides})
        return
    if is_cheapest and result.upper_bound == float("inf"):
        raise InvalidInputError("no flow was found within the time limit, so none is written")
    best, other = "minimum cut", "a cut, not proved minimum,"
    if is_cheapest:
        best, other = "minimum-cost flow", "a flow, not proved cheapest,"
    elif is_flow:
        best, other = "maximum flow", "a flow, not proved maximum,"
    comment = f"{best if result.status == 'optimal' else other} of {name}".strip()
    with _path_of(file) as path:
        if is_cheapest:
            write_min_cost_solution(path, result.upper_bound, network, result.flow, comment=comment)
        elif is_flow:
            ends = network.tail, network.head
            write_solution(path, result.lower_bound, *ends, result.flow, comment=comment)
        else:
            sink_side = (np.flatnonzero(result.sink_side) + 1).tolist()
            with replacing(path, compress=file.endswith(".gz")) as output:
                write_comment(output, f"{comment}; vertices that are not listed are on the source's side")
                output.write(f"s {result.upper_bound}\n".encode())
                output.write("".join([f"n {vertex} t\n" for vertex in sink_side]).encode())


def write_pair_table(file: str, columns: Mapping[str, Array], first: int) -> None:
    """Write pairs or arcs as a table; their ends count from `first` where they are no labels."""
    lists = {}
    for name, column in columns.items():
        is_end = name in ("row", "column", "source", "target") and column.dtype.kind in "iu"
        lists[name] = (column + first if is_end else column).tolist()
    write_table(file, lists)


def write_lines(file: str, lines: Iterable[str]) -> None:
    """Write lines of text, compressed if the name ends in .gz."""
    from ..io.files import replacing

    with _path_of(file) as path, replacing(path, compress=file.endswith(".gz")) as output:
        output.write("".join(f"{line}\n" for line in lines).encode())


def write_arrays(file: str, **arrays: Array) -> None:
    """Write arrays to a NumPy archive."""
    import numpy as np

    from ..io.files import replacing

    contents: Any = arrays  # NumPy's types list its own keyword arguments
    with _path_of(file) as path, replacing(path) as output:
        np.savez(output, **contents)


def write_array(file: str, array: Array) -> None:
    """Write an array as NumPy saves it."""
    import numpy as np

    from ..io.files import replacing

    with replacing(file) as output:
        np.save(output, array)


@contextmanager
def _path_of(file: str) -> Iterator[Path]:
    """Yield the path to write to; for ``-`` a temporary file, which is then copied to standard output."""
    if file != STREAM:
        yield Path(file)
        return
    with tempfile.TemporaryDirectory(prefix="preflow-") as folder:
        path = Path(folder) / "output"
        yield path
        sys.stdout.flush()
        with path.open("rb") as content:
            shutil.copyfileobj(content, sys.stdout.buffer)
