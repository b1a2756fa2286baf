"""The kinds of arguments of kernels: ``kinds.txt`` declares all for which the library is compiled.

A line has one of three forms::

    {residual} = i q
    <preflow.graph.residual.ResidualArrays> = 1CI 1CI 1CI 1C{residual} 1Cq 1Cq
    * preflow.network:reachable_from_source <preflow.graph.residual.ResidualArrays> 1C?

The first names a choice; ``{cost}/{sum} = d/d f/d q/q`` makes two at once. The second says of which kinds the
members of a class of tuples are. The third is a kernel with its arguments: it has a function for every
combination of the choices in them, or, if "with residual=q" follows, for some. A read-only array, "1cI",
stands for one that may be written as well. The module ``kernel`` describes the text of a kind.

Every installation compiles the kinds with a star before them, which calls without a method reach; ``make
demo`` those with two; only the wheels of a release have compiled kernels for all. These are the kinds for
fewer than 2**31 vertices, arcs and edges: larger instances need Numba.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

from ..arrays import Untyped

KINDS = Path(__file__).with_name("kinds.txt")
CLASS_NAME = re.compile(r"(?:<([\w.]+)>)?\(")
WITHOUT_MEMBERS = re.compile(r"<[\w.]+>(?!\()")
CHOICE = re.compile(r"{(\w+)}")

#: The names of choices that are made together, and what each of them is in each of the cases.
Choice = tuple[list[str], list[list[str]]]


def declared(path: Path | None = None) -> Iterator[tuple[str, str, int]]:
    """Yield the name of a kernel, a kind, and its number of stars, for all that a file declares."""
    choices: list[Choice] = []
    members: dict[str, str] = {}

    def with_members(text: str) -> str:
        return WITHOUT_MEMBERS.sub(lambda match: f"{match[0]}({with_members(members[match[0]])})", text)

    for line in (path or KINDS).read_text(encoding="utf-8").splitlines():
        left, is_definition, right = line.partition(" = ")
        if line.startswith("{"):
            choices.append((CHOICE.findall(left), [case.split("/") for case in right.split()]))
        elif is_definition:
            members[left] = right
        else:
            name, _, rest = line.lstrip("* ").partition(" ")
            arguments, _, some = rest.partition(" with ")
            only = dict(each.split("=") for each in some.split())
            kinds = _cases(arguments, choices, only, with_members)
            for kind in dict.fromkeys(kind.replace(" ", "") for kind in kinds):
                yield name, kind, line.count("*", 0, 2)


def _cases(
    text: str, choices: list[Choice], only: dict[str, str], with_members: Callable[[str], str]
) -> Iterator[str]:
    """Yield a text with its members for every combination of the choices in it, those named first first."""
    text = with_members(text)
    used = set(CHOICE.findall(text))
    for names, cases in choices:
        if used.intersection(names):
            for case in cases:
                made = dict(zip(names, case, strict=True))
                if all(made[name] in only.get(name, made[name]).split(",") for name in names):
                    chosen = text
                    for name in names:
                        chosen = chosen.replace(f"{{{name}}}", made[name])
                    yield from _cases(chosen, choices, only, with_members)
            return
    yield text


def accepts(kind: str, given: str) -> bool:
    """Return whether a function for a kind takes arguments of a kind that may differ in writable arrays."""
    return len(kind) == len(given) and all(
        ours == theirs or (ours, theirs) == ("c", "C") for ours, theirs in zip(kind, given, strict=True)
    )


def types_of(kind: str) -> list[Untyped]:
    """Return Numba's types of the arguments of a kind.

    AttributeError, ImportError, ValueError: a class of tuples no longer exists or has another number of
    members.
    """
    from numba import types

    scalars = {
        "?": types.boolean,
        "b": types.int8,
        "B": types.uint8,
        "h": types.int16,
        "H": types.uint16,
        "i": types.int32,
        "I": types.uint32,
        "q": types.int64,
        "Q": types.uint64,
        "f": types.float32,
        "d": types.float64,
        "n": types.none,
    }
    stack: list[tuple[Untyped, list[Untyped]]] = [(None, [])]
    at = 0
    while at < len(kind):
        match = CLASS_NAME.match(kind, at)
        if match:
            tuple_class = None
            if match[1]:
                module, _, name = match[1].rpartition(".")
                tuple_class = getattr(import_module(module), name)
            stack.append((tuple_class, []))
            at = match.end()
        elif kind[at] == ")":
            tuple_class, members = stack.pop()
            if tuple_class is not None and len(members) != len(tuple_class._fields):
                raise ValueError(f"{tuple_class.__name__} has {len(tuple_class._fields)} members")
            stack[-1][1].append(types.BaseTuple.from_types(members, tuple_class))
            at += 1
        elif kind[at].isdigit():
            layout = kind[at + 1]
            array = types.Array(
                scalars[kind[at + 2]], int(kind[at]), layout.upper(), readonly=layout.islower()
            )
            stack[-1][1].append(array)
            at += 3
        else:
            stack[-1][1].append(scalars[kind[at]])
            at += 1
    return stack[0][1]
