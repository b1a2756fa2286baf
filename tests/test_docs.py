"""Every Python block of the README and of the pages for users runs alone; rules on pages can be read."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from preflow import registry

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    ROOT / "README.md",
    ROOT / "docs" / "index.md",
    ROOT / "docs" / "getting_started.md",
    *sorted((ROOT / "docs" / "problems").glob("*.md")),
]
BLOCKS = [
    pytest.param(block, id=f"{page.stem}-{number}")
    for page in PAGES
    for number, block in enumerate(re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.S | re.M))
]


#: Packages that the group ``dev`` lacks, or that some platform lacks.
OPTIONAL = ("dask", "jax", "ray", "torch")


@pytest.mark.parametrize("block", BLOCKS)
def test_block_runs_alone(block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in OPTIONAL:
        if re.search(rf"^import {package}\b", block, re.M) and find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "<block>", "exec"), {"__name__": "block"})


@pytest.mark.parametrize("problem", registry.PROBLEMS, ids=lambda problem: problem.name)
def test_rules_are_read_from_the_policy(problem: registry.Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    """The directives ``rules`` and ``limits`` of docs/_ext find methods and constants in policy.py."""
    monkeypatch.setattr(sys, "path", [str(ROOT / "docs" / "_ext"), *sys.path])
    policy = import_module("policy_rules").Policy(problem.folder)
    chosen = {name for rule in policy.rules() for name in rule.methods}
    assert chosen
    assert chosen <= {"auto", *(method.name for method in problem.methods)}
    lines = [line for page in PAGES for line in page.read_text("utf-8").splitlines()]
    shown = [line.split()[1:] for line in lines if line.split()[:1] == [problem.folder]]
    groups = [names for names, _ in policy.constants()]
    assert {name for names in shown for name in names} <= {name for group in groups for name in group}
    with_value = {
        name for group in groups for name in group if any(not names or {*names} & {*group} for names in shown)
    }
    compared = {name for rule in policy.rules() for name in re.findall(r"\b[A-Z][A-Z_]+\b", rule.condition)}
    assert compared <= with_value, "no page has the values"


#: What people look for, and the page that the search of the site must find for it.
SOUGHT = {
    "Hungarian": "assignment",
    "Kuhn-Munkres": "assignment",
    "Jonker-Volgenant": "assignment",
    "LAPJV": "assignment",
    "Kantorovich": "transport",
    "earth mover's distance": "transport",
    "Wasserstein": "transport",
    "graph cut": "grid_cut",
    "blossom": "general_matching",
    "Hopcroft": "matching",
    "transshipment": "min_cost_flow",
    "network simplex": "min_cost_flow",
    "max-flow min-cut": "max_flow",
    "Gomory-Hu": "connectivity",
    "NIfTI": "vision",
    "TIFF": "vision",
    "Excel": "files",
    "GraphML": "files",
    "aexpansion_grid": "coming_from",
    "cut_grid_graph": "coming_from",
    "SimpleMinCostFlow": "coming_from",
    "lapjv": "coming_from",
    "ot.emd2": "coming_from",
    "stoer_wagner": "coming_from",
    "linear_sum_assignment": "coming_from",
    "igraph": "coming_from",
    "DuckDB": "labels",
    "rustworkx": "labels",
    "torch.compile": "inside",
    "record linkage": "inside",
    "persistence diagrams": "inside",
    "connectome": "inside",
}


@pytest.mark.parametrize(("name", "page"), SOUGHT.items())
def test_pages_have_the_names_that_people_look_for(name: str, page: str) -> None:
    assert name in (ROOT / "docs" / "problems" / f"{page}.md").read_text("utf-8")
