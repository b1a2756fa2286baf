"""The command that generates instances."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import click

from ..errors import InvalidInputError
from .files import (
    ARCHIVE,
    MAX_FLOW_NAMES,
    MIN_COST_NAMES,
    STREAM,
    check_problem_name,
    check_writable,
    write_problem,
)
from .session import Command, working

if TYPE_CHECKING:
    from ..generators.registry import Family, Parameter, Value
    from ..graph.bipartite import BipartiteGraph
    from ..graph.cost_network import CostNetwork

#: Suffixes of the files of `generate`, which are no part of the name of an instance.
DEFAULT_NAME, DEFAULT_COST_NAME = "{}.max.gz", "{}.min.gz"


# Unknown options are parameters of the family.
@click.command(cls=Command, context_settings={"ignore_unknown_options": True})
@click.argument(
    "arguments",
    nargs=-1,
    metavar="FAMILY [SIZE] [--PARAMETER VALUE]",
    help="A family, a size such as 64x16, and parameters of the family by name.",
)
@click.option("--seed", type=int, help="Seed of the random numbers, for families that draw some.")
@click.option(
    "--output",
    "-o",
    metavar="FILE",
    help="A .max, .max.gz or .npz file, .min or .min.gz for costs; - writes DIMACS to stdout. Default: a "
    ".max.gz or .min.gz file, named after the instance, in this folder.",
)
@click.option(
    "--list",
    "list_families",
    is_flag=True,
    help="List the families, or the parameters of the named one.",
)
def generate(
    arguments: tuple[str, ...],
    *,
    seed: int | None,
    output: str | None,
    list_families: bool,
) -> None:
    """Generate an instance of a classic family.

    Flow networks, and networks with costs, are written as DIMACS files or
    .npz archives, bipartite graphs, for `preflow match`, as Matrix Market
    files.

    The same family, size, parameters and seed give the same file.

    For example:

      preflow generate --list
      preflow generate rmf-wide --list
      preflow generate rmf-wide 64x16 -o wide.max.gz
      preflow generate rmf-wide --side 64 --frames 16 --seed 3 -o wide.npz
      preflow generate grid-2d 500x500 --contrast --smoothing 4
      preflow generate netgen 10000 -o supplies.min.gz
      preflow generate delaunay 100000 -o mesh.mtx.gz
    """
    from ..generators.registry import BIPARTITE_FAMILIES, FAMILIES, MIN_COST_FAMILIES
    from ..generators.registry import family as family_named
    from .reports import counted, family_lines, family_table

    if not arguments:
        if not list_families:
            raise InvalidInputError("name a family; `preflow generate --list` shows them")
        families: list[Family[Any]] = [
            *FAMILIES.values(),
            *MIN_COST_FAMILIES.values(),
            *BIPARTITE_FAMILIES.values(),
        ]
        click.echo("\n".join(family_table(families)))
        return
    known = [*FAMILIES, *MIN_COST_FAMILIES, *BIPARTITE_FAMILIES]
    if arguments[0] not in known:
        close = get_close_matches(arguments[0], known, 1)
        hint = f"did you mean {close[0]!r}? There" if close else "there"
        raise InvalidInputError(f"unknown family {arguments[0]!r}: {hint} are {', '.join(known)}")
    bipartite, costs = BIPARTITE_FAMILIES.get(arguments[0]), MIN_COST_FAMILIES.get(arguments[0])
    if list_families:
        click.echo("\n".join(family_lines(bipartite or costs or family_named(arguments[0]))))
        return
    if bipartite is not None:
        _generate_graph(bipartite, arguments[1:], seed, output)
        return
    if costs is not None:
        _generate_costs(costs, arguments[1:], seed, output)
        return
    family = family_named(arguments[0])
    size, parameters = _size_and_parameters(family, arguments[1:])
    if seed is not None:
        parameters["seed"] = seed
    if output is not None:
        check_problem_name(output, (*MAX_FLOW_NAMES, ARCHIVE))
    check_writable(output or DEFAULT_NAME.format(family.name))
    with working(f"generating {family.name}"):
        problem = family.generate(size, **parameters)
    file = output or DEFAULT_NAME.format(problem.name.replace(" ", "-"))
    with working(f"writing {file}"):
        write_problem(file, problem, problem.name)
    network = problem.network
    if file != STREAM:
        size_text = f"{counted(network.num_vertices, 'vertices')}, {counted(network.num_arcs, 'arcs')}"
        click.echo(f"wrote {file}: {size_text}")


def _generate_costs(
    family: Family[CostNetwork], arguments: Sequence[str], seed: int | None, output: str | None
) -> None:
    """Generate a network with costs and write it as a DIMACS file."""
    from .reports import counted

    size, parameters = _size_and_parameters(family, arguments)
    if seed is not None:
        parameters["seed"] = seed
    name = " ".join(
        [family.name, *([] if size is None else [size])]
        + [f"{key.replace('_', '-')} {value}" for key, value in parameters.items()]
    )
    file = output or DEFAULT_COST_NAME.format(name.replace(" ", "-"))
    check_problem_name(file, (*MIN_COST_NAMES[:2], ARCHIVE))
    check_writable(file)
    with working(f"generating {family.name}"):
        network = family.generate(size, **parameters)
    with working(f"writing {file}"):
        write_problem(file, network, name)
    if file != STREAM:
        size_text = f"{counted(network.num_vertices, 'vertices')}, {counted(network.num_arcs, 'arcs')}"
        click.echo(f"wrote {file}: {size_text}")


def _generate_graph(
    family: Family[BipartiteGraph], arguments: Sequence[str], seed: int | None, output: str | None
) -> None:
    """Generate a bipartite graph and write it as a Matrix Market file."""
    from ..io.matrix_market import write_matrix_market
    from .reports import counted

    size, parameters = _size_and_parameters(family, arguments)
    if seed is not None:
        parameters["seed"] = seed
    file = output or f"{'-'.join([family.name, *([] if size is None else [size])])}.mtx.gz"
    if not file.endswith((".mtx", ".mtx.gz")):
        raise InvalidInputError(f"{file}: the name of a bipartite graph ends in .mtx or .mtx.gz")
    check_writable(file)
    with working(f"generating {family.name}"):
        graph = family.generate(size, **parameters)
    with working(f"writing {file}"):
        write_matrix_market(file, graph)
    size_text = f"{graph.num_rows:,} rows, {graph.num_columns:,} columns"
    click.echo(f"wrote {file}: {size_text}, {counted(graph.num_edges, 'edges')}")


def _size_and_parameters(
    family: Family[Any], arguments: Sequence[str]
) -> tuple[str | None, dict[str, Value]]:
    """Split ``64x16 --c1 3 --contrast`` into a size and parameters."""
    size: str | None = None
    given: dict[str, Value] = {}
    known = {parameter.name: parameter for parameter in family.parameters}
    rest = iter(arguments)
    waiting = next(rest, None)
    while waiting is not None:
        argument, waiting = waiting, next(rest, None)
        if not argument.startswith("--"):
            if size is not None:
                raise InvalidInputError(f"a second size {argument!r}, after {size!r}")
            size = argument
            continue
        name, has_value, text = argument[2:].partition("=")
        name = name.replace("-", "_")
        if name not in known:
            raise InvalidInputError(f"{family.name} has no parameter {name!r}: it has {', '.join(known)}")
        if not has_value and known[name].type is bool and waiting not in ("true", "false"):
            given[name] = True
            continue
        if not has_value:
            if waiting is None:
                raise InvalidInputError(f"{argument} lacks its value")
            text, waiting = waiting, next(rest, None)
        given[name] = _value(known[name], text)
    return size, given


def _value(parameter: Parameter, text: str) -> Value:
    try:
        return {"true": True, "false": False}[text] if parameter.type is bool else parameter.type(text)
    except (KeyError, ValueError):
        kind = {int: "an integer", float: "a number", bool: "true or false"}[parameter.type]
        option = f"--{parameter.name.replace('_', '-')}"
        raise InvalidInputError(f"{option} must be {kind}, got {text!r}") from None
