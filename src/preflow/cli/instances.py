"""The command that generates instances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from ..errors import InvalidInputError
from .files import STREAM, check_writable, write_problem
from .session import Command, working

if TYPE_CHECKING:
    from ..generators.registry import Family, Parameter, Value


# Unknown options are parameters of the family.
@click.command(cls=Command, context_settings={"ignore_unknown_options": True})
def generate(
    arguments: tuple[str, ...], *, seed: int | None = None, output: str | None = None, list_: bool = False
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

    Parameters
    ----------
    arguments : FAMILY [SIZE] [--PARAMETER VALUE]
        A family, a size such as 64x16, and parameters of the family by name.
    seed
        Seed of the random numbers, for families that draw some.
    output : FILE
        A .max, .max.gz or .npz file, .min or .min.gz for costs, .mtx or .mtx.gz for graphs; - writes text to
        stdout. Default: a compressed file, named after the instance, in this folder.
    list_
        List the families, or the parameters of the named one.
    """
    from ..checks import unknown_name
    from ..graph.network import MaxFlowProblem
    from ..registry import PROBLEMS
    from ..solving.method import load
    from .reports import family_lines, family_table, size_text

    families: dict[str, Family[Any]] = {}
    files: dict[str, tuple[str, ...]] = {}
    for problem in PROBLEMS:
        if problem.families:
            families |= load(problem.families)
            files |= dict.fromkeys(load(problem.families), problem.files)
    if not arguments:
        if not list_:
            raise InvalidInputError("name a family; `preflow generate --list` shows them")
        click.echo("\n".join(family_table(families.values())))
        return
    name, *words = arguments
    if name not in families:
        raise unknown_name("family", name, families)
    family, endings = families[name], files[name]
    if list_:
        click.echo("\n".join(family_lines(family)))
        return
    size, parameters = _size_and_parameters(family, words)
    if seed is not None:
        parameters["seed"] = seed
    given = (f"{key.replace('_', '-')} {value}" for key, value in parameters.items())
    name = " ".join([name, *filter(None, [size]), *given])
    file = output or name.replace(" ", "-") + endings[0]
    if file != STREAM and not file.endswith(endings):
        *others, last = endings
        raise InvalidInputError(f"{file}: for {family.name} the name ends in {', '.join(others)} or {last}")
    check_writable(file)
    with working(f"generating {family.name}"):
        made = family.generate(size, **parameters)
    if isinstance(made, MaxFlowProblem):
        name, file = made.name, output or made.name.replace(" ", "-") + endings[0]
    with working(f"writing {file}"):
        write_problem(file, made, name)
    if file != STREAM:
        click.echo(f"wrote {file}: {size_text(made.network if isinstance(made, MaxFlowProblem) else made)}")


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
