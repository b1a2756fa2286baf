"""Read the rules by which method="auto" chooses from the source of a problem's ``policy.py``."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from itertools import product
from typing import NamedTuple

#: The texts that variables may have.
Texts = dict[str, list[str]]
#: The most characters of an expression that takes the place of its variable.
SHORT = 80


class Rule(NamedTuple):
    """A ``Plan`` that the rules may make."""

    condition: str  #: code; empty if nothing has to hold
    methods: tuple[str, ...]
    reason: str
    budgets: tuple[float | None, ...] = ()  #: of the attempts, where the rules are rows
    measured: str = ""
    families: str = ""


class Step(NamedTuple):
    """A call in a function of the rules."""

    call: ast.Call
    conditions: tuple[ast.expr, ...]  #: what holds there
    known: Texts


class Policy:
    """The rules of a problem."""

    def __init__(self, folder: str) -> None:
        self.module = import_module(f"preflow.{folder}.policy")
        self.source = inspect.getsource(self.module)
        self.body = ast.parse(self.source).body
        self.functions = {node.name: node for node in self.body if isinstance(node, ast.FunctionDef)}

    def rules(self) -> list[Rule]:
        """Return the rules in their order, each once."""
        if hasattr(self.module, "RULES"):
            return list(self._rows())
        reasons: dict[tuple[str, tuple[str, ...]], list[str]] = {}
        for name in self.functions:
            for rule in self._rules_of(name, (), {}) if name.startswith("choose") else ():
                place = reasons.setdefault((rule.condition, rule.methods), [])
                place += [rule.reason] if rule.reason not in place else []
        return [Rule(*key, " or ".join(place)) for key, place in reasons.items()]

    def features(self) -> Iterator[tuple[str, str]]:
        """Yield the names of features that rows ask for, and what is said of them."""
        asked = {name for rule in self.rules() for name in re.findall(r"[a-z]\w*", rule.condition)}
        for name, value in vars(getattr(self.module, "Features", object)).items():
            if name in asked and (said := inspect.getdoc(value)):
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

    def _rows(self) -> Iterator[Rule]:
        """Yield the rows of RULES, with the code of their conditions."""
        conditions = (
            node.args[0]
            for node in ast.walk(ast.Module(self.body, []))
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "Rule"
        )
        for row, when in zip(self.module.RULES, conditions, strict=True):
            held = ast.unparse(when.body if isinstance(when, ast.Lambda) else when)
            condition = "" if held == "True" else re.sub(r"\bit\.", "", held)
            yield Rule(
                condition,
                tuple(attempt.method for attempt in row.attempts),
                re.sub(r"\{[^}]*\}", "…", row.because),
                tuple(attempt.budget for attempt in row.attempts),
                row.measured,
                row.families,
            )

    def _rules_of(self, name: str, around: tuple[ast.expr, ...], given: Texts) -> Iterator[Rule]:
        for call, conditions, known in self._steps(name, given):
            called = ast.unparse(call.func)
            if called == "Plan.of":
                methods, reasons = (self._texts(each, known) for each in call.args[:2])
                condition = _all_of((*around, *conditions))
                yield from (Rule(condition, tuple(methods), reason) for reason in reasons)
            elif called in self.functions:
                inside = self._arguments(call, self.functions[called], known)
                yield from self._rules_of(called, (*around, *conditions), inside)

    def _steps(self, name: str, given: Texts) -> Iterator[Step]:
        """Yield the calls in a function, in their order; `given` are the texts of its parameters."""
        function, known = self.functions[name], dict(given)
        short = ShortVariables(function)
        for node, conditions in _statements(function.body, ()):
            held = tuple(short.visit(ast.parse(ast.unparse(each), mode="eval").body) for each in conditions)
            calls = [each for each in ast.walk(node) if isinstance(each, ast.Call)]
            yield from (Step(call, held, dict(known)) for call in calls)
            if isinstance(node, ast.Assign):
                self._note_assignment(node.targets[0], node.value, known)

    def _note_assignment(self, target: ast.expr, value: ast.expr, known: Texts) -> None:
        if isinstance(target, ast.Name):
            known[target.id] = self._texts(value, known)
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Call):
            called = self.functions.get(ast.unparse(value.func))
            ends = [each.value for each in ast.walk(called) if isinstance(each, ast.Return)] if called else []
            tuples = [end.elts for end in ends if isinstance(end, ast.Tuple)]
            for each, *parts in zip(target.elts, *tuples, strict=False):
                known[ast.unparse(each)] = [text for part in parts for text in self._texts(part, known)]

    def _arguments(self, call: ast.Call, called: ast.FunctionDef, known: Texts) -> Texts:
        """Return the texts that a call gives to the parameters of a function."""
        given = zip(called.args.args, call.args, strict=False)
        found = {parameter.arg: self._texts(argument, known) for parameter, argument in given}
        return {name: texts for name, texts in found.items() if "…" not in texts}

    def _texts(self, node: ast.expr, known: Texts) -> list[str]:
        """Return the texts that an expression may have; what only a call knows is three dots."""
        if isinstance(node, ast.IfExp):
            return [*self._texts(node.body, known), *self._texts(node.orelse, known)]
        if isinstance(node, ast.JoinedStr):
            return ["".join(parts) for parts in product(*(self._texts(part, known) for part in node.values))]
        if isinstance(node, ast.FormattedValue):
            return self._texts(node.value, known)
        if isinstance(node, ast.Constant):
            return [number(node.value)]
        if isinstance(node, ast.Name) and node.id in known:
            return known[node.id]
        if isinstance(node, ast.Name) and hasattr(self.module, node.id):
            return [number(getattr(self.module, node.id))]
        return ["…"]


def number(value: object) -> str:
    """Return a number with commas, and other objects as they print."""
    return f"{value:,}" if isinstance(value, int | float) else str(value)


def _statements(
    body: list[ast.stmt], conditions: tuple[ast.expr, ...]
) -> Iterator[tuple[ast.AST, tuple[ast.expr, ...]]]:
    """Yield the statements of a function, and the tests in it, each with what holds there."""
    for node in body:
        if not isinstance(node, ast.If):
            yield node, conditions
            continue
        yield node.test, conditions
        yield from _statements(node.body, (*conditions, node.test))
        otherwise = *conditions, ast.UnaryOp(ast.Not(), node.test)
        yield from _statements(node.orelse, otherwise)
        if ast.unparse(node.body[-1]) == "return None":
            conditions = otherwise


def _all_of(conditions: tuple[ast.expr, ...]) -> str:
    """Return the code of a test of several conditions."""
    parts: list[ast.expr] = []
    for each in conditions:
        parts += each.values if isinstance(each, ast.BoolOp) and isinstance(each.op, ast.And) else [each]
    whole = parts[0] if len(parts) == 1 else ast.BoolOp(ast.And(), parts)
    return ast.unparse(whole) if parts else ""


def _is_plain(value: ast.expr) -> bool:
    """Whether an expression calls nothing but `len`."""
    calls = [each for each in ast.walk(value) if isinstance(each, ast.Call)]
    return all(ast.unparse(each.func) == "len" for each in calls)


class ShortVariables(ast.NodeTransformer):
    """Puts short expressions into the places of the variables of a function that are assigned once."""

    def __init__(self, function: ast.FunctionDef) -> None:
        assigned: dict[str, list[ast.expr]] = {}
        for node in ast.walk(function):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    for name in ast.walk(target):
                        if isinstance(name, ast.Name):
                            value = node.value if name is target else ast.Tuple([])
                            assigned.setdefault(name.id, []).append(value)
        self.values = {
            name: values[0]
            for name, values in assigned.items()
            if len(values) == 1 and not isinstance(values[0], ast.Tuple) and _is_plain(values[0])
        }

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Return the expression of a variable, if it is short."""
        value = self.values.get(node.id)
        if value is None or len(ast.unparse(value)) > SHORT:
            return node
        inlined: ast.expr = self.visit(ast.parse(ast.unparse(value), mode="eval").body)
        return inlined
