"""Commands that work on a problem in a file: solve, info and verify; and methods, which lists the solvers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, NoReturn, cast

import click
from click.exceptions import Exit

from ..errors import InfeasibleFlowError, InvalidInputError, UnboundedCostError, VerificationError
from .arguments import (
    device_option,
    ends_option,
    json_option,
    method_option,
    method_options,
    problem_file,
    threads_option,
    time_limit_option,
    verify_option,
)
from .files import (
    MAX_FLOW_NAMES,
    MIN_COST_NAMES,
    STREAM,
    FlowTable,
    Terminals,
    check_outputs,
    check_table_name,
    name_of,
    read_flow_table,
    read_network,
    read_problem,
    read_table_problem,
    write_cut,
    write_flow,
    write_min_cost_flow,
    write_result_table,
)
from .session import VERIFICATION_FAILED, Command, exit_by_status, solver_progress, timed, working

if TYPE_CHECKING:
    from ..graph.cost_network import CostNetwork
    from ..graph.network import MaxFlowProblem
    from ..io.solution import FlowSolution
    from ..method_names import DeviceName


@click.command(
    cls=Command,
    demos={
        "roads": "roads.csv --source depot --sink shop --verify --output -",
        "prices": "prices.csv --supply supplies.csv --verify --output -",
    },
)
@problem_file
@method_option
@device_option
@threads_option
@method_options
@time_limit_option
@click.option("--min-cut", is_flag=True, help="Find a minimum cut only, without a flow; faster.")
@click.option("--flow-limit", metavar="VALUE", help="Of a maximum flow: stop when the flow has this value.")
@click.option("--source", multiple=True, metavar="VERTEX", help="Of a table: a source; may be repeated.")
@click.option("--sink", multiple=True, metavar="VERTEX", help="Of a table: a sink; may be repeated.")
@click.option(
    "--supply", metavar="FILE", help="Of a table with costs: a table of vertices and what they send."
)
@click.option("--undirected", is_flag=True, help="Of a table: each arc carries flow either way.")
@ends_option
@click.option("--output", "-o", metavar="FILE", help="Write the flow to this file; - is standard output.")
@verify_option
@json_option
def solve(
    file: str,
    *,
    method: str,
    device: DeviceName,
    threads: int | None,
    option: tuple[str, ...],
    time_limit: float | None,
    min_cut: bool,
    flow_limit: str | None,
    source: tuple[str, ...],
    sink: tuple[str, ...],
    supply: str | None,
    undirected: bool,
    ends: tuple[str, str] | None,
    output: str | None,
    verify: bool,
    as_json: bool,
) -> None:
    """Find a maximum flow, a minimum cut or a minimum-cost flow of a file.

    The file says which problem it is: .max is maximum flow, .min
    minimum-cost flow, and an .asn is solved as one, too.

    A table (.csv, .tsv, .parquet; text also .gz) has a row for each arc
    and columns named source, target and capacity; with a column cost it is
    a minimum-cost flow. Where other columns have the ends of arcs,
    --ends A,B names them. The vertices have the names that the table gives
    them. The answer is a table with the same names: the arcs with their
    flow, or with --min-cut the vertices with their side. The flow or cut of
    any file goes to a table if the name of the output says so.

    The flow is written as a DIMACS solution: a line "s VALUE", or
    "s COST", then "f TAIL HEAD FLOW" for each arc that carries flow. With
    --min-cut there is no flow, and the cut is written instead:
    "s CAPACITY", then "n VERTEX t" for each vertex on the sink's side. A
    name that ends in .gz is compressed.

    When the time limit is reached, the flow (or cut) is the best one
    found; the report gives a lower and an upper bound on the value, and the
    exit code is 3. Numbers that float64 cannot prove optimal have bounds,
    too, and the exit code 5. With --flow-limit the flow has at most that
    value.

    For example:

      preflow solve wide.max.gz
      preflow solve wide.max.gz --verify --output wide.sol
      preflow solve supplies.min --verify
      preflow solve wide.max.gz --method serial-fifo --option gap=true
      preflow solve wide.max.gz --time-limit 10 --json
      preflow generate rmf-wide 64x16 -o - | preflow solve -
      preflow solve roads.csv --source depot --sink shop -o flow.csv
      preflow solve prices.csv --supply supplies.csv -o flow.parquet
    """
    from ..cuts import min_cut as minimum_cut
    from ..graph.cost_network import CostNetwork
    from ..io.tables import is_table
    from ..maxflow.api import max_flow
    from ..maxflow.result import MaxFlowResult
    from ..mincost.api import min_cost_flow
    from ..mincost.result import MinCostFlowResult
    from ..registry import methods
    from ..solving.dispatch import find_method
    from ..solving.options import name_and_value
    from .reports import as_json as json_text
    from .reports import min_cost_facts, min_cost_lines, solve_facts, solve_lines

    if as_json and output == STREAM:
        raise InvalidInputError("--json and --output - would both write to standard output")
    options = dict(name_and_value(text) for text in option)
    check_outputs([output], [file, supply])
    terminals = Terminals(source, sink, supply, undirected, ends)
    terminals.check_file(file)
    to_table = check_table_name(output, is_table(file))
    if min_cut and file.endswith(MIN_COST_NAMES):
        _no_cut(file)
    if method != "auto" and file.endswith((*MAX_FLOW_NAMES, *MIN_COST_NAMES)):
        # The name tells the problem before the file is read.
        kind = "min_cut" if min_cut else "max_flow"
        named = methods("min_cost_flow" if file.endswith(MIN_COST_NAMES) else kind)
        find_method(named, method).make_options(options)

    seconds: dict[str, float] = {}
    with timed(seconds, "read", f"reading {file}"):
        problem, columns = (
            read_table_problem(file, terminals) if is_table(file) else (read_problem(file), None)
        )
    if min_cut and isinstance(problem, CostNetwork):
        _no_cut(file)
    limit = _flow_limit(flow_limit, no_flow=min_cut or isinstance(problem, CostNetwork))
    find = min_cost_flow if isinstance(problem, CostNetwork) else minimum_cut if min_cut else max_flow
    if limit is not None:
        find = partial(max_flow, flow_limit=limit)
    with solver_progress() as progress, nullcontext() if is_table(file) else _numbered_from_one():
        result = find(
            problem,
            method=method,
            device=device,
            threads=threads,
            time_limit=time_limit,
            progress=progress,
            options=options,
        )
    if verify:
        with timed(seconds, "verify", "verifying"):
            result.verify()
    name = name_of(file) if isinstance(problem, CostNetwork) else problem.name
    if output is not None:
        with working(f"writing {output}"):
            if to_table:
                write_result_table(output, result)
            elif isinstance(result, MinCostFlowResult):
                write_min_cost_flow(output, name, result)
            elif isinstance(result, MaxFlowResult):
                write_flow(output, name, result)
            else:
                write_cut(output, name, result)

    if isinstance(problem, CostNetwork):
        assert isinstance(result, MinCostFlowResult)
        facts = min_cost_facts(name, result, seconds, verify, columns)
        lines = min_cost_lines(facts)
    else:
        assert not isinstance(result, MinCostFlowResult)
        facts = solve_facts(problem, result, seconds, verify, columns)
        lines = solve_lines(facts)
    if as_json:
        lines = [json_text(facts)]
    if output not in (None, STREAM) and not as_json:
        lines.append(f"wrote the {'cut' if min_cut else 'flow'} to {output}")
    click.echo("\n".join(lines), err=output == STREAM)
    exit_by_status(result.status)


def _flow_limit(text: str | None, *, no_flow: bool) -> int | float | None:
    """Return the number that --flow-limit gives."""
    if text is None:
        return None
    if no_flow:
        raise InvalidInputError("--flow-limit is for maximum flows")
    try:
        return int(text) if text.strip().lstrip("+-").isdecimal() else float(text)
    except ValueError:
        raise InvalidInputError(f"--flow-limit: {text!r} is not a number") from None


def _no_cut(file: str) -> NoReturn:
    raise InvalidInputError(f"{file}: --min-cut is for maximum flow problems, this is a minimum-cost flow")


@contextmanager
def _numbered_from_one() -> Iterator[None]:
    """Renumber vertices and arcs in an error as DIMACS files number them."""
    try:
        yield
    except InfeasibleFlowError as error:
        raise InfeasibleFlowError(tuple(v + 1 for v in error.vertices), error.excess) from None
    except UnboundedCostError as error:
        ends = cast(tuple[tuple[int, int], ...], error.ends)  # vertices of a DIMACS file have no labels
        shifted = tuple((u + 1, v + 1) for u, v in ends)
        raise UnboundedCostError(tuple(arc + 1 for arc in error.arcs), error.cost, shifted) from None


@click.command(cls=Command)
@problem_file
@ends_option
@json_option
def info(file: str, *, ends: tuple[str, str] | None, as_json: bool) -> None:
    """Describe a file: sizes, degrees, capacities, costs, bounds.

    No flow exceeds what the arcs out of the source can carry, nor what
    those into the sink can. Of several arcs between the same vertices all
    but one count as parallel; a pair of vertices with arcs both ways is
    antiparallel. Vertices are numbered as the file numbers them, from 1;
    those of an .npz archive, and all in JSON, from 0.

    For example:

      preflow info wide.max.gz
      preflow info wide.npz --json
    """
    from ..graph.cost_network import CostNetwork
    from ..graph.network import MaxFlowProblem
    from ..io.tables import is_table, read_network_table
    from .reports import as_json as json_text
    from .reports import cost_facts, info_lines, network_facts, terminal_facts

    Terminals((), (), None, False, ends).check_file(file)
    with working(f"reading {file}"):
        problem, columns = (
            read_network_table(file, ends=ends) if is_table(file) else (read_network(file), None)
        )
    with working("counting"):
        if isinstance(problem, MaxFlowProblem):
            facts = {
                "instance": problem.name or file,
                **network_facts(problem.network),
                **terminal_facts(problem),
            }
        elif isinstance(problem, CostNetwork):
            facts = {"instance": name_of(file), **network_facts(problem), **cost_facts(problem)}
        else:
            facts = {"instance": file, **network_facts(problem)}
    if columns is not None:
        facts["table_columns"] = columns
    if as_json:
        click.echo(json_text(facts))
    else:
        click.echo("\n".join(info_lines(facts, first_vertex=0 if file.endswith(".npz") else 1)))


@click.command(cls=Command)
@problem_file
@click.argument(
    "solution", metavar="SOLUTION", help="A DIMACS solution or a table, such as solve --output writes."
)
@click.option("--source", multiple=True, metavar="VERTEX", help="Of a table: a source; may be repeated.")
@click.option("--sink", multiple=True, metavar="VERTEX", help="Of a table: a sink; may be repeated.")
@click.option(
    "--supply", metavar="FILE", help="Of a table with costs: a table of vertices and what they send."
)
@click.option("--undirected", is_flag=True, help="Of a table: each arc carries flow either way.")
@ends_option
def verify(
    file: str,
    solution: str,
    *,
    source: tuple[str, ...],
    sink: tuple[str, ...],
    supply: str | None,
    undirected: bool,
    ends: tuple[str, str] | None,
) -> None:
    """Check that a solution is a maximum or a minimum-cost flow.

    Proved independently of every solver. Of a maximum flow: no arc
    carries more than its capacity, every inner vertex passes on what it
    gets, the value is the one that the file states, and no residual path
    is left from source to sink. Of a minimum-cost flow: every arc keeps
    its bounds, every vertex sends its supply, the cost is the one that
    the file states, and no residual cycle has negative cost; costs must
    be integers. Exit code 1, with the first violation, if the proof
    fails.

    Both files may be tables (.csv, .tsv, .parquet). That of the solution
    has the columns source, target and flow, and states no value.

    For example:

      preflow verify wide.max.gz wide.sol
      preflow verify supplies.min supplies.sol
      preflow verify roads.csv flow.csv --source depot --sink shop
      preflow solve prices.csv --supply supplies.csv -o plan.csv
      preflow verify prices.csv plan.csv --supply supplies.csv
    """
    from ..graph.cost_network import CostNetwork
    from ..io.solution import read_solution
    from ..io.tables import is_table
    from .reports import aligned, columns_text

    terminals = Terminals(source, sink, supply, undirected, ends)
    terminals.check_file(file)
    with working("reading"):
        problem, columns = (
            read_table_problem(file, terminals) if is_table(file) else (read_problem(file), None)
        )
        network = problem if isinstance(problem, CostNetwork) else problem.network
        claimed = read_flow_table(solution, network, ends) if is_table(solution) else read_solution(solution)
    with working("verifying"):
        try:
            if isinstance(problem, CostNetwork):
                title, proved = "a minimum-cost flow", _proved_cheapest(problem, claimed)
            else:
                title, proved = "a maximum flow", _proved_maximum(problem, claimed)
        except VerificationError as error:
            _verification_failed(f"{error} (vertices and arcs counted from 0)")
    if columns is not None:
        proved.insert(0, ("columns", columns_text(columns)))
    click.echo("\n".join([f"verified: {title}", *aligned(proved, indent="  ")]))


def _proved_maximum(problem: MaxFlowProblem, claimed: FlowSolution | FlowTable) -> list[tuple[str, str]]:
    """Prove a maximum flow and return what was proved."""
    from ..certify.cut import check_no_residual_path
    from ..certify.flow import check_flow
    from ..io.solution import FlowSolution, flow_on_arcs
    from .reports import counted

    network = problem.network
    sources = network.vertices(problem.source, "source")
    sinks = network.vertices(problem.sink, "sink")
    stated = isinstance(claimed, FlowSolution)
    value = claimed.value if isinstance(claimed, FlowSolution) else claimed.leaving(sources)
    try:
        flow = (
            claimed.on_arcs(network, value)
            if isinstance(claimed, FlowTable)
            else flow_on_arcs(network, claimed)
        )
    except InvalidInputError as error:
        _verification_failed(str(error))
    check_flow(network, sources, sinks, flow, value)
    check_no_residual_path(network, sources, sinks, flow)
    return [
        ("capacity", f"respected by the flow on each of {counted(network.num_arcs, 'arcs')}"),
        ("conservation", "every vertex but source and sink passes on what it gets"),
        ("value", f"{value:,} arrives at the sink" + ", as the file states" * stated),
        ("maximum", "no residual path leads from the source to the sink"),
    ]


def _proved_cheapest(network: CostNetwork, claimed: FlowSolution | FlowTable) -> list[tuple[str, str]]:
    """Prove a minimum-cost flow and return what was proved."""
    import numpy as np

    from ..certify.min_cost_flow import check_cheapest_flow, check_flow_of_network, flow_cost
    from ..io.solution import min_cost_flow_on_arcs
    from .reports import counted

    supply = np.zeros(network.num_vertices, dtype=np.int64) if network.supply is None else network.supply
    try:
        flow = (
            claimed.on_arcs(network, 0)
            if isinstance(claimed, FlowTable)
            else min_cost_flow_on_arcs(network, claimed)
        )
    except InvalidInputError as error:
        _verification_failed(str(error))
    flow = check_flow_of_network(network, supply, flow)
    cost = flow_cost(network, flow)
    stated = not isinstance(claimed, FlowTable)
    if not isinstance(claimed, FlowTable) and cost != claimed.value:
        _verification_failed(f"the flow costs {cost:,}, the file states {claimed.value:,}")
    check_cheapest_flow(network, flow)
    return [
        ("bounds", f"respected by the flow on each of {counted(network.num_arcs, 'arcs')}"),
        ("conservation", "every vertex sends its supply or receives its demand"),
        ("cost", f"{cost:,}" + ", as the file states" * stated),
        ("minimum", "no residual cycle has negative cost"),
    ]


def _verification_failed(violation: str) -> NoReturn:
    click.echo(f"not verified: {violation}")
    raise Exit(VERIFICATION_FAILED)


@click.command(cls=Command)
@click.argument(
    "name", required=False, metavar="NAME", help="A problem, such as max_flow, or a method; default: all."
)
def methods(name: str | None) -> None:
    """List the solvers with their papers and options, or explain one.

    A name, or one of the other names that the papers use, goes to
    solve --method; an option goes to solve --option.

    For example:

      preflow methods
      preflow methods max_flow
      preflow methods serial-hi-pr
    """
    from ..registry import methods as methods_of
    from .reports import method_lines

    problems = methods_of()
    explained = [
        (problem, method)
        for problem, listed in problems.items()
        for method in listed
        if name in (method.name, *method.other_names)
    ]
    if not explained:
        listed = problems if name is None else {name: methods_of(name)}
        click.echo("\n".join(method_lines(listed)).rstrip())
        return
    explanations: dict[str, list[str]] = {}
    for problem, method in explained:
        explanations.setdefault(f"({method.name})\n\n{method.explanation}", []).append(problem)
    click.echo("\n\n".join(f"{', '.join(names)} {text}" for text, names in explanations.items()))
