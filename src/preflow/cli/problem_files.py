"""Commands that work on a problem in a file: solve, info and verify; and methods, which lists the solvers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, NoReturn, cast

import click
from click.exceptions import Exit

from ..errors import InfeasibleFlowError, InvalidInputError, UnboundedCostError, VerificationError
from .file_problem import FileProblem
from .files import (
    TableOptions,
    Terminals,
    is_table,
    name_of,
    names_vertices,
    read_flow_table,
    read_network,
    read_problem,
    write_answer,
)
from .session import VERIFICATION_FAILED, Command, working

if TYPE_CHECKING:
    from ..arrays import Array
    from ..graph.cost_network import CostNetwork
    from ..graph.network import FlowNetwork, MaxFlowProblem
    from ..io.solution import FlowSolution
    from ..maxflow.result import MinCutResult
    from ..mincost.result import MinCostFlowResult


def problem_file(file: str) -> None:
    """Return nothing: the argument of commands that read a network.

    Parameters
    ----------
    file : FILE
        DIMACS .max, .min or .asn, perhaps .gz, .npz, or with names of vertices a table .csv, .tsv, .xlsx or
        .parquet, a list .txt or .tntp, or a graph .graphml, .gml, .gexf or .net; - reads DIMACS from stdin.
    """


@click.command(
    cls=Command,
    like=[problem_file, Terminals, TableOptions, FileProblem, "preflow.max_flow"],
    without=["weight"],
    demos={
        "roads": "roads.csv --source depot --sink shop --verify --output -",
        "prices": "prices.csv --supply supplies.csv --verify --output -",
    },
)
def solve(
    file: str,
    *,
    min_cut: bool = False,
    min_cost: bool = False,
    partial: bool = False,
    output: str | None = None,
    flow_limit: float | None,
    **options: Any,
) -> None:
    """Find a maximum flow, a minimum cut or a minimum-cost flow of a file.

    The file says which problem it is: .max is maximum flow, .min
    minimum-cost flow, and an .asn is solved as one, too.

    A table (.csv, .tsv, .xlsx, .parquet; text also .gz) has a row for each
    arc and columns named source, target and capacity; with a column cost
    and --supply it is a minimum-cost flow, with --min-cost the cheapest of
    all maximum flows. --ends A,B and --capacity NAME name other columns.
    The vertices have the names that the table gives them. The answer is a
    table with the same names: the arcs with their flow, or with --min-cut
    the vertices with their side. The flow or cut of any file goes to a
    table if the name of the output says so.

    A list of arcs (.txt) has lines "TAIL HEAD CAPACITY", or "TAIL HEAD"
    where each capacity is 1. Of a graph (.graphml, .gml, .gexf, .net) the
    attributes of edges have the names of columns.

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
      preflow solve prices.csv --source mill --sink port --min-cost

    Parameters
    ----------
    min_cut
        Find a minimum cut only, without a flow; faster.
    min_cost
        Of a table with costs, a source and a sink: find the cheapest of all maximum flows.
    partial
        Of a minimum-cost flow: send as much as possible of the supplies, also where they do not sum to zero.
    output : FILE
        Write the flow to this file; - is standard output.
    """
    from ..cuts import min_cut as minimum_cut
    from ..graph.cost_network import CostNetwork
    from ..graph.network import MaxFlowProblem
    from ..maxflow.api import max_flow
    from ..maxflow.problem import PROBLEM as MAXFLOW
    from ..mincost.api import min_cost_flow
    from ..mincost.problem import PROBLEM as MINCOST
    from ..reductions.most_for_least import max_flow_min_cost

    terminals = Terminals.of(file, options)
    task = FileProblem(file, output, others=[terminals.supply], **options)
    if min_cost and (min_cut or not (terminals.source and terminals.sink)):
        raise InvalidInputError("--min-cost goes with --source and --sink, and not with --min-cut")
    named = [problem for problem in (MAXFLOW, MINCOST) if file.endswith(problem.files)]
    if min_cut and named == [MINCOST]:
        _no_cut(file)
    if len(named) == 1:  # the name tells the problem
        task.check_method(named[0].name)
    problem, task.columns, ends = task.read(read_problem, file, terminals, task.table, min_cost)
    has_costs = isinstance(problem, CostNetwork)
    if min_cut and has_costs:
        _no_cut(file)
    if flow_limit is not None:
        if min_cut or has_costs:
            raise InvalidInputError("--flow-limit is for maximum flows")
        task.solving["flow_limit"] = flow_limit
    if partial:
        if not has_costs or ends is not None:
            raise InvalidInputError("--partial is for minimum-cost flows of supplies")
        task.solving["partial"] = True
    find: Any = min_cost_flow if has_costs else minimum_cut if min_cut else max_flow
    if ends is not None:
        find = max_flow_min_cost
    naming = nullcontext() if task.is_table else _numbered_from_one()
    result = task.solve(find, problem, *ends or (), naming=naming)
    name = problem.name if isinstance(problem, MaxFlowProblem) else name_of(file)
    task.write(write_answer, name, result, task.to_table)
    (_report_cheapest if has_costs else _report_largest)(task, name, result)


def _report_largest(task: FileProblem, name: str, result: MinCutResult) -> None:
    """Report a maximum flow or a minimum cut."""
    import numpy as np

    from ..maxflow.result import MaxFlowResult
    from .reports import amount, counted

    optimal = result.status == "optimal"
    is_flow = isinstance(result, MaxFlowResult)
    goal = "maximum flow" if is_flow else "minimum cut"
    arcs, side = len(result.cut_arcs), int(np.count_nonzero(result.sink_side))
    task.report(
        result,
        "max_flow" if is_flow else "min_cut",
        name,
        {"vertices": result.network.num_vertices, "arcs": result.network.num_arcs},
        {"value": result.value if optimal else None, "gap": result.gap},
        [
            ("instance", _instance(name, result.network)),
            ("value" if optimal else "bounds", amount(result, "value", goal, goal)),
            ("cut", f"{counted(arcs, 'arcs')}, {counted(side, 'vertices')} on the sink's side"),
        ],
        more={"cut_arcs": arcs, "sink_side_vertices": side},
        value="value",
        wrote="the flow to " if is_flow else "the cut to ",
    )


def _report_cheapest(task: FileProblem, name: str, result: MinCostFlowResult) -> None:
    """Report a minimum-cost flow."""
    import numpy as np

    from .reports import amount, counted, total

    optimal = result.status == "optimal"
    supply, used = total(result.supply[result.supply > 0]), int(np.count_nonzero(result.flow))
    task.report(
        result,
        "min_cost_flow",
        name,
        {"vertices": result.network.num_vertices, "arcs": result.network.num_arcs},
        {"cost": result.cost if optimal else None, "gap": result.gap},
        [
            ("instance", _instance(name, result.network)),
            ("cost" if optimal else "bounds", amount(result, "cost", "minimum", "minimum cost")),
            ("flow", f"{supply:,} sent, over {counted(used, 'arcs')}"),
        ],
        more={"supply": supply, "arcs_with_flow": used},
        wrote="the flow to ",
    )


def _instance(name: str, network: FlowNetwork | CostNetwork) -> str:
    from .reports import size_text

    return f"{name}: {size_text(network)}" if name else size_text(network)


def _no_cut(file: str) -> NoReturn:
    raise InvalidInputError(f"{file}: --min-cut is for maximum flow problems, this is a minimum-cost flow")


@contextmanager
def _numbered_from_one() -> Iterator[None]:
    """Renumber vertices and arcs in an error as DIMACS files number them."""
    try:
        yield
    except InfeasibleFlowError as error:
        vertices = tuple(v + 1 for v in error.vertices)
        renamed = InfeasibleFlowError(vertices, error.excess, brought=error.brought)
        renamed.advice = error.advice
        raise renamed from None
    except UnboundedCostError as error:
        ends = cast(tuple[tuple[int, int], ...], error.ends)  # vertices of a DIMACS file have no labels
        shifted = tuple((u + 1, v + 1) for u, v in ends)
        raise UnboundedCostError(tuple(arc + 1 for arc in error.arcs), error.cost, shifted) from None


@click.command(
    cls=Command, like=[problem_file, TableOptions, FileProblem], without=["option", "verify", "weight"]
)
def info(file: str, *, json: bool, **options: Any) -> None:
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
    from ..io.tables import read_network_table
    from .reports import as_json, info_facts, info_lines

    table = TableOptions.of(file, options)
    names: dict[str, str] | None = None
    with working(f"reading {file}"):
        if names_vertices(file):
            problem, names = read_network_table(file, names=table.names, text=table.text)
        else:
            problem = read_network(file)
    with working("counting"):
        name = name_of(file) if isinstance(problem, CostNetwork) else file
        if isinstance(problem, MaxFlowProblem):
            name = problem.name or file
        facts = {"instance": name, **info_facts(problem)}
    if names is not None:
        facts["table_columns"] = names
    lines = info_lines(facts, first_vertex=0 if file.endswith(".npz") else 1)
    click.echo(as_json(facts) if json else "\n".join(lines))


@click.command(
    cls=Command,
    like=[problem_file, Terminals, TableOptions, FileProblem],
    without=["option", "verify", "json", "weight"],
)
def verify(
    file: str,
    solution: str,
    **options: Any,
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

    Both files may be tables (.csv, .tsv, .xlsx, .parquet). That of the solution
    has the columns source, target and flow, and states no value. A flow of
    solve --partial sends less than the supplies: solve --partial --verify
    proves it.

    For example:

      preflow verify wide.max.gz wide.sol
      preflow verify supplies.min supplies.sol
      preflow verify roads.csv flow.csv --source depot --sink shop
      preflow solve prices.csv --supply supplies.csv -o plan.csv
      preflow verify prices.csv plan.csv --supply supplies.csv

    Parameters
    ----------
    solution : SOLUTION
        A DIMACS solution or a table, such as solve --output writes.
    """
    from ..graph.cost_network import CostNetwork
    from ..io.solution import read_solution
    from .reports import aligned, columns_text

    terminals, table = Terminals.of(file, options), TableOptions.of(file, options)
    with working("reading"):
        problem, columns, _ = read_problem(file, terminals, table)
        network = problem if isinstance(problem, CostNetwork) else problem.network
        from_table = is_table(solution)
        claimed = read_flow_table(solution, network, table) if from_table else read_solution(solution)
    with working("verifying"):
        try:
            if isinstance(problem, CostNetwork):
                title, proved = "a minimum-cost flow", _proved_cheapest(problem, claimed, from_table)
            else:
                title, proved = "a maximum flow", _proved_maximum(problem, claimed, from_table)
        except VerificationError as error:
            some = ""
            if isinstance(problem, CostNetwork) and "not conserved" in str(error):
                some = "; flows of solve --partial are proved by its own --verify"
            _verification_failed(f"{error} (vertices and arcs counted from 0){some}")
    if columns is not None:
        proved.insert(0, ("columns", columns_text(columns)))
    click.echo("\n".join([f"verified: {title}", *aligned(proved, indent="  ")]))


def _proved_maximum(
    problem: MaxFlowProblem, claimed: FlowSolution, from_table: bool
) -> list[tuple[str, str]]:
    """Prove a maximum flow and return what was proved."""
    import numpy as np

    from ..certify.cut import check_no_residual_path
    from ..certify.flow import check_flow
    from ..graph.network import exact_sum
    from .reports import counted

    network = problem.network
    sources = network.vertices(problem.source, "source")
    sinks = network.vertices(problem.sink, "sink")
    value = claimed.value
    if from_table:
        out, back = (claimed.flow[np.isin(ends, sources)] for ends in (claimed.tail, claimed.head))
        value = exact_sum(out) - exact_sum(back)
    flow = _flow_on_arcs(network, claimed, from_table)
    check_flow(network, sources, sinks, flow, value)
    check_no_residual_path(network, sources, sinks, flow)
    return [
        ("capacity", f"respected by the flow on each of {counted(network.num_arcs, 'arcs')}"),
        ("conservation", "every vertex but source and sink passes on what it gets"),
        ("value", f"{value:,} arrives at the sink" + ", as the file states" * (not from_table)),
        ("maximum", "no residual path leads from the source to the sink"),
    ]


def _proved_cheapest(network: CostNetwork, claimed: FlowSolution, from_table: bool) -> list[tuple[str, str]]:
    """Prove a minimum-cost flow and return what was proved."""
    import numpy as np

    from ..certify.min_cost_flow import check_cheapest_flow, check_flow_of_network, flow_cost
    from .reports import counted

    supply = np.zeros(network.num_vertices, dtype=np.int64) if network.supply is None else network.supply
    flow = check_flow_of_network(network, supply, _flow_on_arcs(network, claimed, from_table))
    cost = flow_cost(network, flow)
    if not from_table and claimed.value != cost:
        _verification_failed(f"the flow costs {cost:,}, the file states {claimed.value:,}")
    check_cheapest_flow(network, flow)
    return [
        ("bounds", f"respected by the flow on each of {counted(network.num_arcs, 'arcs')}"),
        ("conservation", "every vertex sends its supply or receives its demand"),
        ("cost", f"{cost:,}" + ", as the file states" * (not from_table)),
        ("minimum", "no residual cycle has negative cost"),
    ]


def _flow_on_arcs(network: FlowNetwork | CostNetwork, claimed: FlowSolution, from_table: bool) -> Array:
    """Return the flow of each arc that a file claims: by row of a table of the same arcs, else by ends."""
    import numpy as np

    from ..graph.cost_network import CostNetwork
    from ..io.solution import flow_on_arcs, min_cost_flow_on_arcs

    ends = zip((claimed.tail, claimed.head), (network.tail, network.head), strict=True)
    if from_table and all(np.array_equal(*pair) for pair in ends):
        return claimed.flow
    try:
        if isinstance(network, CostNetwork):
            return min_cost_flow_on_arcs(network, claimed)
        return flow_on_arcs(network, claimed)
    except InvalidInputError as error:
        _verification_failed(str(error))


def _verification_failed(violation: str) -> NoReturn:
    click.echo(f"not verified: {violation}")
    raise Exit(VERIFICATION_FAILED)


@click.command(cls=Command)
def methods(name: str | None = None) -> None:
    """List the solvers with their papers and options, or explain one.

    A name, or one of the other names that the papers use, goes to
    solve --method; an option goes to solve --option.

    For example:

      preflow methods
      preflow methods max_flow
      preflow methods serial-hi-pr

    Parameters
    ----------
    name : NAME
        A problem, such as max_flow, or a method; default: all.
    """
    from ..checks import unknown_name
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
        if name is not None and name not in problems:
            known = {
                other: None
                for listed in problems.values()
                for each in listed
                for other in (each.name, *each.other_names)
            }
            raise unknown_name("problem or method", name, [*problems, *known], ", ".join(problems))
        listed = problems if name is None else {name: problems[name]}
        click.echo("\n".join(method_lines(listed)).rstrip())
        return
    explanations: dict[str, list[str]] = {}
    for problem, method in explained:
        explanations.setdefault(f"({method.name})\n\n{method.explanation}", []).append(problem)
    click.echo("\n\n".join(f"{', '.join(names)} {text}" for text, names in explanations.items()))
