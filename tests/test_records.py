"""What is made from the records of problems: types of names, the stub of the package, solvers for mypy.

    python -m tests.test_records    # write these files again, after an edit of a problem.py

Editors and mypy read types from files only, so these lists cannot be computed when the package is imported.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path

import pytest

from preflow.bipartite.problem import INITIAL, PROBLEM, Heuristic
from preflow.registry import FUNCTIONS, PROBLEMS
from preflow.solving.dispatch import DEVICES
from preflow.solving.method import Method, Problem
from tests.support.paths import ROOT

pytestmark = pytest.mark.fast

PACKAGE = ROOT / "src" / "preflow"
MADE = "Made from the records of problems by ``python -m tests.test_records``; a test compares them."


def literal(comment: str, name: str, values: Iterable[str]) -> str:
    """Return the definition of a type of names."""
    lines = "".join(f'    "{value}",\n' for value in values)
    return f"#: {comment}\n{name}: TypeAlias = Literal[\n{lines}]\n"


def method_names() -> str:
    """Return the text of method_names.py."""
    types = [
        literal("Where a solve runs.", "DeviceName", DEVICES),
        literal("The functions whose methods the registry has.", "ProblemName", FUNCTIONS),
    ]
    for problem in PROBLEMS:
        names = ["auto", *(method.name for method in problem.methods)]
        types.append(literal(f"The methods of :func:`preflow.{problem.name}`.", problem.method_type, names))
    return (
        '"""The names of methods, devices and problems as types, so that editors complete them.\n\n'
        f"{MADE}\n"
        "Functions also take any other str as a method: it may come from outside of the package, and papers\n"
        'have other names for some.\n"""\n\n'
        "from __future__ import annotations\n\nfrom typing import Literal, TypeAlias\n\n" + "".join(types)
    )


def stub() -> str:
    """Return the text of __init__.pyi: its lines, and those for what records name."""
    imports: set[tuple[str, str]] = set()
    for node in ast.parse((PACKAGE / "__init__.pyi").read_text("utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            imports |= {(node.module or "", alias.name) for alias in node.names}
    for problem in PROBLEMS:
        imports |= {(module, name) for name, module in problem.functions.items()}
        imports |= {(path.rpartition(".")[0], path.rpartition(".")[2]) for path in problem.results}
    lines = [f"from .{module} import {name} as {name}\n" for module, name in sorted(imports)]
    return "".join(lines) + "\n__version__: str\n"


def typed(problem: Problem, kind: str, methods: Iterable[Method | Heuristic], function: str = "solve") -> str:
    """Return a list of solvers with the type that the record of their problem declares for them."""
    solvers = dict.fromkeys(f"preflow.{method.module}.{function}" for method in methods)
    if not solvers:
        return ""
    lines = "".join(f"    {solver},\n" for solver in solvers)
    name = f"{problem.folder}_{kind}_{function}".upper()
    return f"{name}: list[{problem.folder}.{kind}] = [\n{lines}]\n"


def types_of(problem: Problem) -> set[str]:
    """Return the names that a problem.py assigns."""
    path = PACKAGE / problem.folder / "problem.py"
    nodes = ast.walk(ast.parse(path.read_text("utf-8")))
    return {
        target.id
        for node in nodes
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def solver_types() -> str:
    """Return the text of tests/solver_types.py."""
    modules = {method.module for problem in PROBLEMS for method in problem.methods}
    modules |= {each.module for each in INITIAL}
    text = (
        f'"""All solvers with the types of their protocols: mypy compares the signatures.\n\n{MADE}\n"""\n\n'
    )
    text += "from __future__ import annotations\n\n"
    text += "".join(f"import preflow.{module}\n" for module in sorted(modules))
    text += "".join(
        f"from preflow.{folder} import problem as {folder}\n"
        for folder in sorted(problem.folder for problem in PROBLEMS)
    )
    text += "\n"
    for problem in PROBLEMS:
        for memory in ("host", "device"):
            found = [method for method in problem.methods if method.memory == memory]
            kind, with_points = f"{memory.title()}Solver", f"{memory.title()}PointSolver"
            points = [each for each in found if each.points and with_points in types_of(problem)]
            text += typed(problem, kind, [each for each in found if each not in points])
            text += typed(problem, with_points, points)
            if memory == "host":
                streaming = [method for method in problem.methods if method.streams]
                text += typed(problem, kind, streaming, "solve_streamed")
    for device, memory in (("cpu", "Host"), ("cuda", "Device")):
        found = [each for each in INITIAL if each.device == device]
        text += typed(PROBLEM, f"{memory}Heuristic", found, "start")
    return text


GENERATED = {
    PACKAGE / "method_names.py": method_names,
    PACKAGE / "__init__.pyi": stub,
    ROOT / "tests" / "solver_types.py": solver_types,
}


@pytest.mark.parametrize("path", GENERATED, ids=lambda path: path.name)
def test_what_is_made_from_records_is_current(path: Path) -> None:
    assert path.read_text("utf-8") == GENERATED[path](), "run python -m tests.test_records"


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)
def test_the_docs_have_every_problem(problem: Problem) -> None:
    folder = ROOT / "docs" / "problems"
    assert (folder / f"{problem.page}.md").exists()
    assert f"\n{problem.page}\n" in (folder / "index.md").read_text("utf-8")
    listed = (ROOT / "docs" / "api" / "index.rst").read_text("utf-8").split()
    names = {
        *problem.functions,
        *(path.rpartition(".")[2] for path in (*problem.results, *problem.containers)),
    }
    assert names <= set(listed), "docs/api/index.rst lacks a name"


def test_every_problem_has_calls_that_reach_its_kernels() -> None:
    nodes = ast.parse((ROOT / "native" / "calls.py").read_text("utf-8")).body
    names = {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    assert {problem.folder for problem in PROBLEMS} <= names, "add a function to native/calls.py"


if __name__ == "__main__":
    for path, make in GENERATED.items():
        path.write_text(make(), "utf-8")
