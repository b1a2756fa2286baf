"""Read the rules by which method="auto" plans from a problem's ``policy.py``."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from typing import NamedTuple


class Rule(NamedTuple):
    """A row of the rules."""

    condition: str  #: code; empty if nothing has to hold
    methods: tuple[str, ...]  #: of the attempts
    budgets: tuple[float | None, ...]
    reason: str
    measured: str
    families: str


class Policy:
    """The rules of a problem."""

    def __init__(self, folder: str) -> None:
        self.module = import_module(f"preflow.{folder}.policy")
        self.source = inspect.getsource(self.module)
        self.body = ast.parse(self.source).body

    def rules(self) -> list[Rule]:
        """Return the rows, with the code of their conditions."""
        return [
            Rule(
                condition,
                tuple(attempt.method for attempt in row.attempts),
                tuple(attempt.budget for attempt in row.attempts),
                re.sub(r"\{[^}]*\}", "…", row.because),
                row.measured,
                row.families,
            )
            for row, condition in zip(self.module.RULES, self._conditions(), strict=True)
        ]

    def _conditions(self) -> Iterator[str]:
        for node in ast.walk(ast.Module(self.body, [])):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "Rule":
                when = node.args[0]
                held = ast.unparse(when.body if isinstance(when, ast.Lambda) else when)
                yield "" if held == "True" else re.sub(r"\bit\.", "", held)

    def features(self) -> Iterator[tuple[str, str]]:
        """Yield the names of features that rows ask for, and what is said of them."""
        asked = {name for rule in self.rules() for name in re.findall(r"[a-z]\w*", rule.condition)}
        for name, value in vars(self.module.Features).items():
            said = inspect.getdoc(value) or ""
            if name in asked and said and not said.startswith("Alias for field"):
                yield name, said.partition("\n")[0].rstrip(".")

    def constants(self) -> Iterator[tuple[list[str], str]]:
        """Yield the names of documented constants, and the first clause of what is said of them."""
        lines = self.source.splitlines()
        for node in self.body:
            if not isinstance(node, ast.Assign):
                continue
            comment: list[str] = []
            for line in reversed(lines[: node.lineno - 1]):
                if not line.startswith("#: "):
                    break
                comment.insert(0, line[3:])
            if comment:
                names = re.findall(r"\w+", ast.unparse(node.targets[0]))
                yield names, re.split(r"[.:;] | \(", " ".join([*comment, ""]).lstrip(". "))[0]


def number(value: object) -> str:
    """Return a number with commas, and other objects as they print."""
    return f"{value:,}" if isinstance(value, int | float) else str(value)
