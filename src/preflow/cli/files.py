"""Files of the command line; the suffix of a name determines the format, and ``-`` is a standard stream."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InvalidInputError, ParseError

if TYPE_CHECKING:
    from ..arrays import Array
    from ..graph.cost_network import CostNetwork
    from ..graph.network import FlowNetwork, MaxFlowProblem
    from ..maxflow.result import MaxFlowResult, MinCutResult
    from ..mincost.result import MinCostFlowResult

STREAM = "-"
#: Suffixes of problems of either kind; an .npz archive may have one of either.
MAX_FLOW_NAMES, MIN_COST_NAMES = (".max", ".max.gz"), (".min", ".min.gz", ".asn", ".asn.gz")
ARCHIVE = ".npz"


def read_network(file: str) -> FlowNetwork | MaxFlowProblem | CostNetwork:
    """Read an .npz archive, or a DIMACS file under any other name; ``-`` reads standard input."""
    from ..graph.network import MaxFlowProblem
    from ..io.dimacs import read_dimacs
    from ..io.npz import load_npz

    if file == STREAM:
        problem = read_dimacs("/dev/stdin")
        return replace(problem, name=name_of(file)) if isinstance(problem, MaxFlowProblem) else problem
    return load_npz(file) if file.endswith(ARCHIVE) else read_dimacs(file)


def read_problem(file: str) -> MaxFlowProblem | CostNetwork:
    """Read a network with its source and sink, or one with costs."""
    from ..graph.cost_network import CostNetwork
    from ..graph.network import MaxFlowProblem

    problem = read_network(file)
    if isinstance(problem, CostNetwork):
        return problem
    if not isinstance(problem, MaxFlowProblem):
        raise ParseError(file, None, "a network without source and sink; save a MaxFlowProblem with them")
    return problem if problem.name else replace(problem, name=Path(file).stem)


def name_of(file: str) -> str:
    """Return the name of the problem in a file for reports."""
    name = Path(file).name.removesuffix(".gz")
    if file == STREAM:
        return "standard input"
    return name.removesuffix(".min").removesuffix(".asn").removesuffix(ARCHIVE)


def check_problem_name(file: str, names: tuple[str, ...]) -> None:
    """Raise InvalidInputError unless the name of a file to write determines its format."""
    if file != STREAM and not file.endswith(names):
        listed = f"{', '.join(names[:-1])} or {names[-1]}"
        raise InvalidInputError(f"{file}: the name of a problem ends in {listed}")


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


def write_problem(file: str, problem: MaxFlowProblem | CostNetwork, name: str) -> None:
    """Write a problem in the format of the name's suffix; ``-`` writes DIMACS to standard output."""
    from ..io.dimacs import write_dimacs
    from ..io.npz import save_npz

    with _path_of(file) as path:
        if file.endswith(ARCHIVE):
            save_npz(path, problem)
        else:
            write_dimacs(path, problem, comment=name)


def write_flow(file: str, name: str, result: MaxFlowResult) -> None:
    """Write a flow as a DIMACS solution."""
    from ..io.solution import write_solution

    network = result.network
    is_maximum = result.status == "optimal"
    comment = f"{'maximum flow' if is_maximum else 'a flow, not proved maximum,'} of {name}".strip()
    with _path_of(file) as path:
        write_solution(path, result.lower_bound, network.tail, network.head, result.flow, comment=comment)


def write_min_cost_flow(file: str, name: str, result: MinCostFlowResult) -> None:
    """Write a minimum-cost flow as a DIMACS solution."""
    from ..io.solution import write_min_cost_solution

    if result.upper_bound == float("inf"):
        raise InvalidInputError("no flow was found within the time limit, so none is written")
    is_best = result.status == "optimal"
    comment = f"{'minimum-cost flow' if is_best else 'a flow, not proved cheapest,'} of {name}".strip()
    with _path_of(file) as path:
        write_min_cost_solution(path, result.upper_bound, result.network, result.flow, comment=comment)


def write_cut(file: str, name: str, result: MinCutResult) -> None:
    """Write a cut: a line ``s CAPACITY`` and a line ``n VERTEX t`` for each vertex on the sink's side."""
    import numpy as np

    from ..io.files import replacing
    from ..io.record_writer import write_comment

    is_minimum = result.status == "optimal"
    title = f"{'minimum cut' if is_minimum else 'a cut, not proved minimum,'} of {name}".strip()
    vertices = (np.flatnonzero(result.sink_side) + 1).tolist()
    with _path_of(file) as path, replacing(path, compress=file.endswith(".gz")) as output:
        write_comment(output, f"{title}; vertices that are not listed are on the source's side")
        output.write(f"s {result.upper_bound}\n".encode())
        output.write("".join([f"n {vertex} t\n" for vertex in vertices]).encode())


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
