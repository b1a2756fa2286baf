"""Directives that insert what the package says of itself, so that no page says it again.

``methods`` PROBLEM: a table of the methods of a problem, from the registry.
``rules`` FOLDER: the rules of ``policy.py`` of the folder, in their order.
``limits``: a line FOLDER NAME NAME ... for each problem: constants of its ``policy.py`` and what they say;
without names all of them.
``solvers`` PLACE: the docstrings of the solvers of a problem outside of ``papers``, or of a folder there, and
of the modules that the lines of the directive name.
``backend``: the functions of NetworkX that the backend answers, and from how many edges on they pay.
``families``: the families of generated instances, with their sizes.
``sources`` PROBLEM or "results": the papers of the methods of a problem, or of results, from ``papers.bib``.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from importlib import import_module
from itertools import pairwise
from math import inf
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.parsers.rst import Parser as RestructuredText
from docutils.utils import new_document
from policy_rules import Policy, Rule, number

import preflow
from preflow import citations, generators, registry
from preflow.integrations.networkx.info import WORTH_IT

Cell = str | list[nodes.Node]


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


#: What the variables mean that the rules of several problems share.
WHERE = (
    "``device`` is the argument, ``threads`` the number that may be used. ``gpu`` is None unless there is "
    "one, ``device`` and ``threads`` were left open, and the problem is large enough for it."
)


class Rules(FromSource):
    """Insert the table of the rules by which method="auto" chooses."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        folder = self.arguments[0]
        self.note(f"{folder}.policy")
        policy = Policy(folder)
        rules = policy.rules()
        rows: list[list[Cell]] = [
            [
                code(rule.condition) if rule.condition else "otherwise",
                _attempts(rule),
                rule.reason,
                rule.measured + (f"; families {rule.families} only" if rule.families else ""),
            ]
            for rule in rules
        ]
        features = [f"``{name}``: {text[0].lower()}{text[1:]}" for name, text in policy.features()]
        where = _parse(WHERE, self.state.document) if any("gpu" in each.condition for each in rules) else []
        headings = ["if", "attempts", "stats.reason", "measured in"]
        meant = "In the conditions, " + "; ".join(features) + "." if features else ""
        return [*_parse(meant, self.state.document), *where, table(headings, [34, 26, 26, 14], rows)]


def _attempts(rule: Rule) -> list[nodes.Node]:
    """Return the methods of a rule, with the budgets of those that give up where these are spent."""
    found: list[nodes.Node] = []
    for name, budget in zip(rule.methods, rule.budgets, strict=True):
        found += [nodes.Text(", then ")] if found else []
        found.append(nodes.literal(text=name))
        found += [nodes.Text(f" (budget {budget:g})")] if budget is not None and budget < inf else []
    return found


class Limits(FromSource):
    """Insert the table of the numbers that the rules compare with."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        rows: list[list[Cell]] = []
        for line in self.content:
            folder, *wanted = line.split()
            self.note(f"{folder}.policy")
            policy = Policy(folder)
            for names, meaning in policy.constants():
                if not wanted or set(wanted) & set(names):
                    values = ", ".join(number(getattr(policy.module, name)) for name in names)
                    rows.append([code(folder), code(*names), values, meaning])
        if len(self.content) == 1:
            return [table(["name", "value", "meaning"], [30, 15, 55], [row[1:] for row in rows])]
        return [table(["problem", "name", "value", "meaning"], [15, 25, 15, 45], rows)]


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


class Families(FromSource):
    """Insert the table of the families of generated instances."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        self.note("generators.registry")
        rows = [
            [
                code(family.name),
                family.summary,
                what,
                code("x".join(family.size_parameters)),
                ", ".join(family.presets),
            ]
            for what, families in (
                ("flow network", generators.FAMILIES),
                ("network with costs", generators.MIN_COST_FAMILIES),
                ("bipartite graph", generators.BIPARTITE_FAMILIES),
            )
            for family in families.values()
        ]
        return [
            table(["family", "what it is", "makes a", "size", "sizes by name"], [14, 40, 12, 16, 18], rows)
        ]


class Solvers(FromSource):
    """Insert the docstrings of solvers, then those of the modules that are listed, each as a section."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the sections; a folder of ``papers`` is one, with its methods as sections in it."""
        place = self.arguments[0]
        of_papers = place.startswith("papers.")
        found: dict[str, list[str]] = {}
        for problem in reversed(PROBLEMS.values()) if of_papers else [place]:
            for method in preflow.methods(problem):
                if method.module.startswith(f"{place}." if of_papers else f"{folder_of(problem)}."):
                    found.setdefault(method.module, []).append(method.name)
        found |= {module: [module] for module in self.content}
        sections = [self._section(module, code(*dict.fromkeys(names))) for module, names in found.items()]
        if not of_papers:
            return sections
        folder = self._section(place, code(place.removeprefix("papers.")))
        folder += sections
        return [folder]

    def _section(self, module: str, title: list[nodes.Node]) -> nodes.section:
        self.note(module)
        loaded = import_module(f"preflow.{module}")
        end = "/" if hasattr(loaded, "__path__") else ".py"
        where = f"Code: ``src/preflow/{module.replace('.', '/')}{end}``."
        text = inspect.cleandoc(loaded.__doc__ or "")
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
    for directive in (Methods, Rules, Limits, Backend, Families, Solvers, Sources):
        app.add_directive(directive.__name__.lower(), directive)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
