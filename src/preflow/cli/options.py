"""Options of a command, derived from signatures and their numpydoc.

A command has the parameters that the docstring of its function describes, and those of the functions that it
takes options from. The signature says the name, the type and the default, the docstring the help text.

- A positional parameter is an argument, a keyword an option: ``time_limit`` is ``--time-limit``. A trailing
  underscore is left out: ``list_`` is ``--list``.
- A bool is a flag, with ``--no-...`` beside it if True is the default; a tuple may be repeated.
- In the docstring of a command, the placeholder of a value stands after the colon, as in ``out : PNG``.
- Of a public function those parameters are options whose values can be written on a command line. The first
  sentence on each is the help text. "As for :func:`grid_cut`" refers to the text of that function.

The source of public functions is read, not imported: a help page needs neither NumPy nor the solvers.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import click

from ..errors import InvalidInputError

PACKAGE = Path(__file__).parents[1]
#: Parts of annotations whose values can be written on a command line, names of methods and devices too.
SIMPLE = re.compile(r"(int|float|str|bool|None|\w+Name|Literal\[.*\])$")
#: A parameter that another function explains, and what is no part of the text outside of Python.
REFERENCE = re.compile(r"As (?:for|in) :\w+:`~?([\w.]+)`")
METHODS = re.compile(r"preflow\.methods\(\"(\w+)\"\)")
SENTENCES = re.compile(r"(?<=\.) (?=[A-Z\"`])")
MARKUP = re.compile(r":\w+:`~?|``?")
#: Parameters that every command sets itself.
OWN = ("progress", "options", "warm_start")
#: The short spelling of options that name the file to write.
SHORT = {"out": ["-o"], "output": ["-o"]}


class Parameter(NamedTuple):
    """A parameter of a function: its declaration and what the docstring says of it."""

    name: str
    annotation: str
    default: Any
    is_argument: bool
    kind: str
    text: str


class Number(click.ParamType[int | float]):
    """An integer of any size, or a float."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | float:
        """Return the number that a text is."""
        return number(value, param.opts[0] if param else "value") if isinstance(value, str) else value


def number(text: str, option: str) -> int | float:
    """Return the number that the text of an option is."""
    try:
        return int(text) if text.strip().lstrip("+-").isdecimal() else float(text)
    except ValueError:
        raise InvalidInputError(f"{option}: {text!r} is not a number") from None


def parameters_of_command(
    function: Callable[..., Any], like: Sequence[str | Callable[..., Any]], without: Sequence[str]
) -> list[click.Parameter]:
    """Return the parameters of a command: those of its function, and those of the functions `like`."""
    found = {each.name: _parameter(each) for each in own_parameters(function)}
    for source in like:
        if isinstance(source, str):
            taken = public_parameters(source, (*OWN, *without, *found))
            made = {each.name: _option_like(each) for each in taken}
            found |= {name: option for name, option in made.items() if option is not None}
        else:
            own = (each for each in own_parameters(source) if each.name not in without)
            found |= {each.name: _parameter(each) for each in own}
    order = list(inspect.signature(function).parameters)
    arguments = [each for each in found.values() if isinstance(each, click.Argument)]
    options = [each for each in found.values() if not isinstance(each, click.Argument)]
    return [*sorted(arguments, key=lambda each: order.index(each.name or "")), *options]


def _parameter(parameter: Parameter) -> click.Parameter:
    """Return the option or the argument that a parameter of a command is."""
    if not parameter.is_argument:
        return _option(parameter, click.FLOAT, parameter.kind or None)
    repeated = parameter.annotation.startswith("tuple")
    metavar = parameter.kind or parameter.name.upper()
    optional = repeated or parameter.default is not inspect.Parameter.empty
    return click.Argument(
        [parameter.name],
        required=not optional,
        nargs=-1 if repeated else 1,
        metavar=f"[{metavar}]{'...' * repeated}" if optional and " " not in metavar else metavar,
        help=parameter.text,
    )


def _option_like(parameter: Parameter) -> click.Option | None:
    """Return the option that a parameter of a public function is, if its values can be written."""
    parts = [part.strip() for part in parameter.annotation.split("|")]
    choices = re.match(r"\{(.*?)\}", parameter.kind)
    if not (all(map(SIMPLE.match, parts)) or choices or parameter.kind.startswith(("str", "int "))):
        return None
    is_number = parameter.kind.startswith(("int or float", "number"))
    metavar = "|".join(re.findall(r'"([\w-]+)"', choices[1])) if choices else None
    return _option(parameter, Number() if is_number else click.FLOAT, metavar)


def _option(parameter: Parameter, real: click.ParamType[Any], metavar: str | None) -> click.Option:
    """Return the option of a parameter; `real` is the type of floats."""
    name, default = parameter.name, parameter.default
    spelled = "--" + name.rstrip("_").replace("_", "-")
    if isinstance(default, bool):
        negated = f"/--no-{spelled[2:]}" if default else ""
        return click.Option(
            [spelled + negated, name],
            is_flag=True,
            default=default,
            show_default=default,
            help=parameter.text,
        )
    parts = parameter.annotation.replace(" ", "").split("|")
    is_integer = "int" in parts or parameter.kind.startswith("int ")
    has_default = default not in (inspect.Parameter.empty, (), None)
    return click.Option(
        [spelled, *SHORT.get(name, []), name],
        type=real if "float" in parts else click.INT if is_integer else click.STRING,
        multiple=default == (),
        required=default is inspect.Parameter.empty,
        **({"default": default, "show_default": True} if has_default else {}),
        metavar=metavar,
        help=parameter.text,
    )


def own_parameters(function: Callable[..., Any]) -> Iterator[Parameter]:
    """Yield the parameters of a function of the command line that its docstring describes."""
    said = described(function.__doc__ or "")
    for each in inspect.signature(function).parameters.values():
        if each.name in said:
            is_argument = each.kind is not each.KEYWORD_ONLY
            yield Parameter(each.name, str(each.annotation), each.default, is_argument, *said[each.name])


def public_parameters(function: str, without: Sequence[str] = ()) -> Iterator[Parameter]:
    """Yield the parameters of a public function such as ``preflow.max_flow``."""
    package, _, name = function.rpartition(".")
    found = _definition(package, name)
    functions = found.body if isinstance(found, ast.ClassDef) else [found]
    (arguments,) = (
        each.args
        for each in functions
        if isinstance(each, ast.FunctionDef) and each.name in (name, "__init__")
    )
    required = len(arguments.args) - len(arguments.defaults)
    defaults = [*[None] * required, *arguments.defaults, *arguments.kw_defaults]
    for each, default in zip((*arguments.args, *arguments.kwonlyargs), defaults, strict=True):
        if each.arg not in without and each.annotation is not None:
            value = inspect.Parameter.empty if default is None else ast.literal_eval(default)
            kind, text = _said(package, name, each.arg)
            yield Parameter(
                each.arg, ast.unparse(each.annotation), value, False, kind, _plain(text, arguments)
            )


def _said(package: str, function: str, parameter: str) -> tuple[str, str]:
    """Return what the docstring of a public function, or of that which it refers to, says of a parameter."""
    kind, text = described(ast.get_docstring(_definition(package, function)) or "").get(parameter, ("", ""))
    named = REFERENCE.match(text)
    if named is None:
        return kind, text
    other_package, _, other = named[1].rpartition(".")
    other_kind, other_text = _said(other_package or package, other, parameter)
    _, differs, default = text.partition("; default: ")
    return (
        kind or other_kind,
        f"{SENTENCES.split(other_text)[0]} Default: {default}" if differs else other_text,
    )


def _plain(text: str, arguments: ast.arguments) -> str:
    """Return the first sentence of a text, and that on the default, as a command line says it."""
    first, *others = SENTENCES.split(text)
    kept = " ".join([first, *(each for each in others if each.startswith("Default:"))])
    for keyword in arguments.kwonlyargs:
        kept = re.sub(f"(?<!`)`{keyword.arg}`(?!`)", f"--{keyword.arg.replace('_', '-')}", kept)
    return METHODS.sub(r"`preflow methods \1`", MARKUP.sub("", kept))


@cache
def _definition(package: str, name: str) -> ast.FunctionDef | ast.ClassDef:
    """Return the definition of a function or class that the stub of a public package imports."""
    folder = PACKAGE.joinpath(*package.split(".")[1:])
    for line in ast.parse((folder / "__init__.pyi").read_text("utf-8")).body:
        if isinstance(line, ast.ImportFrom) and name in [each.name for each in line.names]:
            path = folder.joinpath(*(line.module or "").split("."))
            path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
            for node in reversed(ast.parse(path.read_text("utf-8")).body):
                if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
                    return node
    raise LookupError(f"{package} has no function {name}")


def described(docstring: str) -> dict[str, tuple[str, str]]:
    """Return what the section Parameters of a docstring says of each name: its type, and the text."""
    _, _, section = inspect.cleandoc(docstring).partition("Parameters\n----------\n")
    found: dict[str, tuple[str, str]] = {}
    for entry in re.split(r"\n(?=\S)", re.split(r"\n+\w+\n-{3,}\n", section)[0]):
        head, _, text = entry.partition("\n")
        names, _, kind = head.partition(" : ")
        found |= dict.fromkeys(names.split(", "), (kind, " ".join(text.split())))
    return found


def without_parameters(docstring: str) -> str:
    """Return a docstring without its section Parameters, which is the last one."""
    return inspect.cleandoc(docstring).partition("\n\nParameters\n----------\n")[0]
