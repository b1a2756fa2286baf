"""How large the package is.

Numbers may fall freely: lower them here. One that rises needs a comment that says why.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from preflow.kernels import kernel
from preflow.kernels.kinds import declared
from preflow.registry import PROBLEMS
from tests.support.paths import ROOT
from tests.support.problems import SAMPLES
from tests.support.sample import Sample

PACKAGE = ROOT / "src" / "preflow"
#: The most lines of each folder of the package, and of the files beside them.
LINES = {
    ".": 2181,  # aliases of arrays have types; errors name items, of batches too; locks of first calls
    "assignment": 12083,  # equal rows and columns; small matrices; other assignments; sparse costs on threads
    "bipartite": 5238,  # columns of tables are named; small calls
    "certify": 5063,  # what a cut allows, with lower bounds; pits and rankings; pairs without a sort
    "cli": 4248,  # segment-labels of volumes; labels of images as pictures
    "connectivity": 1996,  # flows of many pairs, each in a unit of its own size; cuts of directed networks
    "cuda": 2297,  # loops of kernels and sums over warps and blocks; launches as a graph; uploads by threads
    "distributed": 7485,  # arguments by name
    "drawing": 886,  # bars of comparisons; the palette of labels; circles as wide as names
    "forests": 1957,  # merging of blocks of any network, most of which left gridcut
    "general_matching": 8269,  # weighted searches of several threads; batches on threads and GPUs
    "generators": 4145,  # networks of energies, scale-free graphs; meshes as refinement numbers them
    "graph": 12714,  # one reader of tables of all libraries, one of graphs; labelled matrices are no edges
    "gridcut": 6811,  # what auto does is rows of rules with budgets; a search stays where arcs lead one way
    "integrations": 4055,  # grids, labels and steps for PyMaxflow; gradients for Torch and JAX; SciPy; POT
    "io": 3765,  # Matrix Market costs; matrices that could be read in two ways are refused
    "kernels": 3072,  # the heap of three problems; kinds of blocks; breadth-first numbers of vertices
    "maxflow": 12781,  # small instances by one kernel each; flows with constants below zero by ranges
    "mincost": 5585,  # supplies may stay where they are; large ones spoil no small ones
    "network": 529,  # which functions each class of networks has; arcs by a pattern
    "papers": 7708,  # pieces of several solvers are beside them; locks, barriers; names as printed
    "parallel": 3295,  # arcs of grids and of networks are read by the functions of network
    "reductions": 6511,  # jobs in tables; diagonals, also of singular matrices; dearest pairs; assignments
    "solving": 2338,  # small instances by one kernel each; locks of what threads share
    "steps": 2505,  # terminals are joined with what strong arcs reach from them, and moved past one arc
    "transportation": 5511,  # masses may stay; large ones spoil no small ones; small items list all pairs
    "vision": 10904,  # many labels in paint; holes in phases; partial labels of roof duality; layers
}
#: The most kinds of arguments of kernels.
KINDS = 541


def lines() -> dict[str, int]:
    """Return the lines of each folder, written by hand or generated, but for pictures."""
    found: dict[str, int] = {}
    for path in sorted(PACKAGE.rglob("*")):
        if path.suffix in {".py", ".pyi", ".cu", ".cuh", ".js", ".css", ".html", ".txt"}:
            parts = path.relative_to(PACKAGE).parts
            name = parts[0] if len(parts) > 1 else "."
            found[name] = found.get(name, 0) + len(path.read_text("utf-8").splitlines())
    return found


def test_no_folder_has_grown() -> None:
    grown = {name: count for name, count in lines().items() if count > LINES.get(name, 0)}
    assert not grown, "what may leave? Else raise the number in LINES, with a comment that says why"


def test_there_are_no_more_kinds_of_arguments() -> None:
    assert len(list(declared())) <= KINDS


@pytest.mark.skipif(kernel.native is None, reason="no compiled kernels: make native")
@pytest.mark.parametrize(
    ("function", "sample"),
    [(name, SAMPLES[problem.name]) for problem in PROBLEMS for name in problem.functions],
)
def test_a_first_call_imports_no_more_modules(function: str, sample: Sample) -> None:
    code = f"import sys, preflow; preflow.{function}(*{sample.arguments!r}); "
    code += "print(sum(name.split('.')[0] == 'preflow' for name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    fingerprint = 1  # a module that no wheel loads
    assert int(done.stdout) - fingerprint <= sample.modules[function]
