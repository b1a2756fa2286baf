"""Directives that insert what the package says of itself, so that no page says it again.

``methods`` PROBLEM: a table of the methods of a problem, from the registry.
``rules`` FOLDER: the choices that ``policy.py`` of the folder may make, in its order, with their reasons.
``limits``: a line FOLDER NAME NAME ... for each problem: constants of its ``policy.py`` and what they say;
without names all of them.
``solvers`` PLACE: the docstrings of the solvers of a problem outside of ``papers``, or of a folder there.
``backend``: the functions of NetworkX that the backend answers, and from how many edges on they pay.
``sources`` PROBLEM or "results": the papers of the methods of a problem, or of results, from ``papers.bib``.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterable, Iterator
from importlib import import_module
from itertools import pairwise, product
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.parsers.rst import Parser as RestructuredText
from docutils.utils import new_document

import preflow
from preflow import citations, registry
from preflow.integrations.networkx.info import WORTH_IT

Cell = str | list[nodes.Node]
#: The texts that variables may have.
Texts = dict[str, list[str]]


def table(headings: list[str], widths: list[int], rows: Iterable[list[Cell]]) -> nodes.table:
    """Return a table; cells are texts or lists of nodes."""
    group = nodes.tgroup(cols=len(headings))
    group += [nodes.colspec(colwidth=width) for width in widths]
    head, body = nodes.thead(), nodes.tbody()
    group += [head, body]
    for part, cells in ((head, [list[Cell](headings)]), (body, rows)):
        for row in cells:
            part += nodes.row("", *(_entry(cell) for cell in row))
    return nodes.table("", group, classes=["table"])


def _entry(cell: Cell) -> nodes.entry:
    inside = [nodes.Text(cell)] if isinstance(cell, str) else cell
    return nodes.entry("", nodes.paragraph("", "", *inside))


def code(*texts: str) -> list[nodes.Node]:
    """Return texts as code, with commas between them."""
    found: list[nodes.Node] = []
    for text in texts:
        found += [nodes.Text(", ")] if found else []
        found.append(nodes.literal(text=text))
    return found


class FromSource(Directive):
    """A directive whose page is built again when the code that it shows has changed."""

    def note(self, *modules: str) -> None:
        """Say that the page depends on modules of the package, and on this file."""
        files = [inspect.getsourcefile(import_module(f"preflow.{name}")) for name in modules]
        for file in (*files, registry.__file__, __file__):
            self.state.document.settings.env.note_dependency(file)


def folder_of(problem: str) -> str:
    """Return the folder of a problem: that of its methods which do not lie in ``papers``."""
    modules = (method.module for method in preflow.methods(problem))
    return next(module.partition(".")[0] for module in modules if not module.startswith("papers."))


#: The function that names each problem, by its folder; the first one where there are several.
PROBLEMS = {folder_of(problem): problem for problem in reversed(preflow.methods())}


class Methods(FromSource):
    """Insert the table of the methods of a problem."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        self.note()
        rows = [
            [code(method.name), _other_names(method), method.summary, method.paper, _where(method)]
            for method in preflow.methods(self.arguments[0])
        ]
        headings = ["method", "in the papers", "what it is", "source", "runs on"]
        return [table(headings, [22, 14, 36, 28, 10], rows)]


def _where(method: Any) -> str:
    if method.device == "cuda":
        return "GPU"
    return "CPU threads" if method.parallel else "one CPU thread"


def _other_names(method: Any) -> str:
    """Return the names in papers; those of variants with their options."""
    variants = [
        f"{name} ({', '.join(f'{option}={value}' for option, value in options.items())})"
        for name, options in method.variants.items()
    ]
    return ", ".join([*method.aliases, *variants])


def policy_of(folder: str) -> tuple[Any, str]:
    """Return the module with the rules of a problem, and its source."""
    policy = import_module(f"preflow.{folder}.policy")
    return policy, inspect.getsource(policy)


def choices(folder: str) -> Iterator[tuple[list[str], str]]:
    """Yield methods and reason of each ``Choice`` that the rules of a problem make, in their order."""
    policy, source = policy_of(folder)
    functions = {node.name: node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)}
    given: dict[str, Texts] = {name: {} for name in functions}
    for name in functions:
        for call, known in calls(name, functions, policy, {}):
            called = ast.unparse(call.func)
            for argument, parameter in zip(call.args, _parameters(functions.get(called)), strict=False):
                if "…" not in (texts := _texts(argument, policy, known)):
                    place = given[called].setdefault(parameter, [])
                    place += [text for text in texts if text not in place]

    def of_function(name: str) -> Iterator[tuple[list[str], str]]:
        for call, known in calls(name, functions, policy, given[name]):
            called = ast.unparse(call.func)
            if called == "Choice":
                methods, reasons = (_texts(each, policy, known) for each in call.args[:2])
                yield from ((methods, reason) for reason in reasons)
            elif called in functions:
                yield from of_function(called)

    for name in functions:
        if name.startswith("choose"):
            yield from of_function(name)


def _parameters(function: ast.FunctionDef | None) -> list[str]:
    return [each.arg for each in function.args.args] if function else []


def calls(
    name: str, functions: dict[str, ast.FunctionDef], policy: Any, given: Texts
) -> list[tuple[ast.Call, Texts]]:
    """Return each call in a function of the rules, with the texts that variables may have there."""
    known, found = dict(given), []
    for node in sorted(ast.walk(functions[name]), key=lambda node: getattr(node, "lineno", 0)):
        if isinstance(node, ast.Call):
            found.append((node, dict(known)))
        if not isinstance(node, ast.Assign):
            continue
        target, value = node.targets[0], node.value
        if isinstance(target, ast.Name):
            known[target.id] = _texts(value, policy, known)
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Call):
            called = functions.get(ast.unparse(value.func))
            ends = [each.value for each in ast.walk(called) if isinstance(each, ast.Return)] if called else []
            tuples = [end.elts for end in ends if isinstance(end, ast.Tuple)]
            for each, *parts in zip(target.elts, *tuples, strict=False):
                known[ast.unparse(each)] = [text for part in parts for text in _texts(part, policy, known)]
    return found


def _texts(node: ast.expr, policy: Any, known: Texts) -> list[str]:
    """Return the texts that an expression may have; what only a call knows is three dots."""
    if isinstance(node, ast.IfExp):
        return [*_texts(node.body, policy, known), *_texts(node.orelse, policy, known)]
    if isinstance(node, ast.JoinedStr):
        return ["".join(parts) for parts in product(*(_texts(part, policy, known) for part in node.values))]
    if isinstance(node, ast.FormattedValue):
        return _texts(node.value, policy, known)
    if isinstance(node, ast.Constant):
        return [_number(node.value)]
    if isinstance(node, ast.Name) and node.id in known:
        return known[node.id]
    if isinstance(node, ast.Name) and hasattr(policy, node.id):
        return [_number(getattr(policy, node.id))]
    return ["…"]


class Rules(FromSource):
    """Insert the table of the rules by which method="auto" chooses."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the table, in which a rule that says the same of a method counts once."""
        self.note(f"{self.arguments[0]}.policy")
        found = dict.fromkeys((tuple(names), reason) for names, reason in choices(self.arguments[0]))
        known = {method.name for method in preflow.methods(PROBLEMS[self.arguments[0]])}
        if unknown := {name for names, _ in found for name in names} - known:
            raise self.error(f"no method is called {', '.join(unknown)}")
        rows = [[code(*names), reason] for names, reason in found]
        return [table(["method", "stats.reason"], [30, 70], rows)]


def constants(folder: str) -> Iterator[tuple[str, str]]:
    """Yield the names of documented constants of the rules, and the first clause of what is said of them."""
    _, source = policy_of(folder)
    lines = source.splitlines()
    for node in ast.parse(source).body:
        if not isinstance(node, ast.Assign):
            continue
        comment: list[str] = []
        for line in reversed(lines[: node.lineno - 1]):
            if not line.startswith("#: "):
                break
            comment.insert(0, line[3:])
        if comment:
            names = ", ".join(re.findall(r"\w+", ast.unparse(node.targets[0])))
            yield names, re.split(r"[.:;] | \(", " ".join([*comment, ""]).lstrip(". "))[0]


class Limits(FromSource):
    """Insert the table of the numbers that the rules compare with."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        rows: list[list[Cell]] = []
        for line in self.content:
            folder, *wanted = line.split()
            self.note(f"{folder}.policy")
            policy, _ = policy_of(folder)
            if missing := [name for name in wanted if not hasattr(policy, name)]:
                raise self.error(f"{folder}/policy.py has no {', '.join(missing)}")
            for names, meaning in constants(folder):
                split = names.split(", ")
                if wanted and not set(wanted) & set(split):
                    continue
                values = ", ".join(_number(getattr(policy, name)) for name in split)
                rows.append([code(folder), code(names), values, meaning])
        if len(self.content) == 1:
            rows = [row[1:] for row in rows]
            return [table(["name", "value", "what it says"], [30, 15, 55], rows)]
        return [table(["problem", "name", "value", "what it says"], [15, 25, 15, 45], rows)]


def _number(value: object) -> str:
    return f"{value:,}" if isinstance(value, int | float) else str(value)


class Backend(FromSource):
    """Insert the table of the functions of NetworkX that preflow answers."""

    def run(self) -> list[nodes.Node]:
        """Return the table, with the functions that pay from the same number of edges on in one row."""
        self.note("integrations.networkx.info")
        names: dict[int, list[str]] = {}
        for name, least in WORTH_IT.items():
            names.setdefault(least, []).append(name)
        rows = [[f"{least:,}", code(*names[least])] for least in sorted(names)]
        return [table(["edges", "functions"], [10, 90], rows)]


class Solvers(FromSource):
    """Insert the docstrings of solvers, each as a section."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the sections; a folder of ``papers`` is one, with its methods as sections in it."""
        place = self.arguments[0]
        of_papers = place.startswith("papers.")
        found: dict[str, list[str]] = {}
        for problem in reversed(PROBLEMS.values()) if of_papers else [place]:
            for method in preflow.methods(problem):
                if method.module.startswith(f"{place}." if of_papers else f"{folder_of(problem)}."):
                    found.setdefault(method.module, []).append(method.name)
        sections = [self._section(module, code(*dict.fromkeys(names))) for module, names in found.items()]
        if not of_papers:
            return sections
        folder = self._section(place, code(place.removeprefix("papers.")))
        folder += sections
        return [folder]

    def _section(self, module: str, title: list[nodes.Node]) -> nodes.section:
        self.note(module)
        text = inspect.cleandoc(import_module(f"preflow.{module}").__doc__ or "")
        where = f"Code: ``src/preflow/{module.replace('.', '/')}``."
        inside = _parse(f"{text}\n\n{where}", self.state.document)
        return nodes.section("", nodes.title("", "", *title), *inside, ids=[nodes.make_id(module)])


def _parse(text: str, around: nodes.document) -> list[nodes.Node]:
    """Return the nodes of a docstring; its headings become lines in bold type."""
    # A bar is a size, as in |B|, not the begin of a name that is replaced.
    lines = [line if line.startswith("    ") else line.replace("|", r"\|") for line in text.splitlines()]
    for k, (line, below) in enumerate(pairwise(list(lines))):
        if line and re.fullmatch(r"-{3,}", below):
            lines[k : k + 2] = [f".. rubric:: {line}", ""]
    document = new_document(around["source"], around.settings)
    RestructuredText().parse("\n".join(lines), document)
    return document.children


class Sources(FromSource):
    """Insert a list of papers."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the list, in the order of the methods."""
        self.note("citations")
        used: dict[str, list[str]] = {}
        for name, words in _uses(self.arguments[0]):
            for each in words.split("; "):
                paper = citations.paper_of(each)
                if paper is not None:
                    used.setdefault(paper.text(), []).append(name)
        items = nodes.bullet_list()
        for text, names in used.items():
            inside = nodes.Text(f"{text} "), *code(*dict.fromkeys(names))
            items += nodes.list_item("", nodes.paragraph("", "", *inside))
        return [items]


def _uses(what: str) -> Iterable[tuple[str, str]]:
    """Return what has a source: the methods of a problem, or results, each with the words for its papers."""
    if what == "results":
        return citations.OF_RESULTS.items()
    of_batches = citations.BATCH_METHODS if what == "max_flow" else ()
    return [(method.name, method.paper) for method in (*preflow.methods(what), *of_batches)]


def setup(app: Any) -> dict[str, Any]:
    """Register the directives."""
    for directive in (Methods, Rules, Limits, Backend, Solvers, Sources):
        app.add_directive(directive.__name__.lower(), directive)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
