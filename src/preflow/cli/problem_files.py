"""Commands that work on a problem in a file: solve, info and verify; and methods, which lists the solvers."""

from __future__ import annotations

from typing import NoReturn

import click
from click.exceptions import Exit

from ..errors import InvalidInputError, VerificationError
from .arguments import (
    device_option,
    json_option,
    method_option,
    method_options,
    problem_file,
    threads_option,
    time_limit_option,
    verify_option,
)
from .files import STREAM, check_outputs, read_network, read_problem, write_cut, write_flow
from .session import TIME_LIMIT_REACHED, VERIFICATION_FAILED, Command, solver_progress, timed, working


@click.command(cls=Command)
@problem_file
@method_option
@device_option
@threads_option
@method_options
@time_limit_option
@click.option("--min-cut", is_flag=True, help="Find a minimum cut only, without a flow; faster.")
@click.option("--output", "-o", metavar="FILE", help="Write the flow to this file; - is standard output.")
@verify_option
@json_option
def solve(
    file: str,
    *,
    method: str,
    device: str,
    threads: int | None,
    option: tuple[str, ...],
    time_limit: float | None,
    min_cut: bool,
    output: str | None,
    verify: bool,
    as_json: bool,
) -> None:
    """Find a maximum flow, or a minimum cut, of a file.

    The flow is written as a DIMACS solution: a line "s VALUE", then
    "f TAIL HEAD FLOW" for each arc that carries flow. With --min-cut
    there is no flow, and the cut is written instead: "s CAPACITY", then
    "n VERTEX t" for each vertex on the sink's side. A name that ends in
    .gz is compressed.

    When the time limit is reached, the flow (or cut) is the best one
    found; the report gives a lower and an upper bound on the value.

    For example:

      preflow solve wide.max.gz
      preflow solve wide.max.gz --verify --output wide.sol
      preflow solve wide.max.gz --method serial-fifo --option gap=true
      preflow solve wide.max.gz --time-limit 10 --json
      preflow generate rmf-wide 64x16 -o - | preflow solve -
    """
    from ..cuts import min_cut as minimum_cut
    from ..maxflow.api import max_flow
    from ..maxflow.result import MaxFlowResult
    from ..registry import methods
    from ..solving.dispatch import find_method
    from ..solving.options import name_and_value
    from .reports import as_json as json_text
    from .reports import solve_facts, solve_lines

    if as_json and output == STREAM:
        raise InvalidInputError("--json and --output - would both write to standard output")
    options = dict(name_and_value(text) for text in option)
    check_outputs([output], [file])
    if method != "auto":
        find_method(methods("min_cut" if min_cut else "max_flow"), method).make_options(options)

    seconds: dict[str, float] = {}
    with timed(seconds, "read", f"reading {file}"):
        problem = read_problem(file)
    find = minimum_cut if min_cut else max_flow
    with solver_progress() as progress:
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
    if output is not None:
        with working(f"writing {output}"):
            if isinstance(result, MaxFlowResult):
                write_flow(output, problem.name, result)
            else:
                write_cut(output, problem.name, result)

    facts = solve_facts(problem, result, seconds, verify)
    lines = [json_text(facts)] if as_json else solve_lines(facts)
    if output not in (None, STREAM) and not as_json:
        lines.append(f"wrote the {'cut' if min_cut else 'flow'} to {output}")
    click.echo("\n".join(lines), err=output == STREAM)
    if result.status != "optimal":
        raise Exit(TIME_LIMIT_REACHED)


@click.command(cls=Command)
@problem_file
@json_option
def info(file: str, *, as_json: bool) -> None:
    """Describe a file: sizes, degrees, capacities, bounds.

    No flow exceeds what the arcs out of the source can carry, nor what
    those into the sink can. Of several arcs between the same vertices all
    but one count as parallel; a pair of vertices with arcs both ways is
    antiparallel. Vertices are numbered as the file numbers them, from 1;
    those of an .npz archive, and all in JSON, from 0.

    For example:

      preflow info wide.max.gz
      preflow info wide.npz --json
    """
    from ..graph.network import MaxFlowProblem
    from .reports import as_json as json_text
    from .reports import info_lines, network_facts, terminal_facts

    with working(f"reading {file}"):
        problem = read_network(file)
    with working("counting"):
        if isinstance(problem, MaxFlowProblem):
            facts = {
                "instance": problem.name or file,
                **network_facts(problem.network),
                **terminal_facts(problem),
            }
        else:
            facts = {"instance": file, **network_facts(problem)}
    if as_json:
        click.echo(json_text(facts))
    else:
        click.echo("\n".join(info_lines(facts, first_vertex=0 if file.endswith(".npz") else 1)))


@click.command(cls=Command)
@problem_file
@click.argument("solution", metavar="SOLUTION", help="A DIMACS solution, such as solve --output writes.")
def verify(file: str, solution: str) -> None:
    """Check that a solution is a maximum flow of a problem.

    Proved independently of every solver: no arc carries more than its
    capacity, every inner vertex passes on what it gets, the value is the
    one that the file states, and no residual path is left from source to
    sink. Exit code 1, with the first violation, if the proof fails.

    For example:

      preflow verify wide.max.gz wide.sol
    """
    from ..certify.cut import check_no_residual_path
    from ..certify.flow import check_flow
    from ..io.solution import flow_on_arcs, read_solution
    from .reports import aligned, counted

    with working("reading"):
        problem = read_problem(file)
        claimed = read_solution(solution)
    network = problem.network
    sources = network.vertices(problem.source, "source")
    sinks = network.vertices(problem.sink, "sink")
    with working("verifying"):
        try:
            flow = flow_on_arcs(network, claimed)
        except InvalidInputError as error:
            _verification_failed(str(error))
        try:
            check_flow(network, sources, sinks, flow, claimed.value)
            check_no_residual_path(network, sources, sinks, flow)
        except VerificationError as error:
            _verification_failed(f"{error} (vertices and arcs counted from 0)")
    proved = [
        ("capacity", f"respected by the flow on each of {counted(network.num_arcs, 'arcs')}"),
        ("conservation", "every vertex but source and sink passes on what it gets"),
        ("value", f"{claimed.value:,} arrives at the sink, as the file states"),
        ("maximum", "no residual path leads from the source to the sink"),
    ]
    click.echo("\n".join(["verified: a maximum flow", *aligned(proved, indent="  ")]))


def _verification_failed(violation: str) -> NoReturn:
    click.echo(f"not verified: {violation}")
    raise Exit(VERIFICATION_FAILED)


@click.command(cls=Command)
@click.argument("problem", required=False, metavar="PROBLEM", help="max_flow, min_cut ...; default: all.")
def methods(problem: str | None) -> None:
    """List the solvers with their papers and options.

    A name, or one of the other names that the papers use, goes to
    solve --method; an option goes to solve --option.

    For example:

      preflow methods
      preflow methods max_flow
    """
    from ..registry import METHODS
    from ..registry import methods as methods_of
    from .reports import method_lines

    listed = METHODS if problem is None else {problem: methods_of(problem)}
    click.echo("\n".join(method_lines(listed)).rstrip())
