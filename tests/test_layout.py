"""The package's structure: who may import whom, and what an import costs."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import get_type_hints

import pytest

import preflow
from preflow import registry
from preflow.cuda import runtime
from preflow.solving.method import Problem, load

pytestmark = pytest.mark.fast

PACKAGE = Path(preflow.__file__).parent
BENCHMARKS = PACKAGE.parents[1] / "benchmarks"

#: Later entries may import earlier ones only; entries of one row never import each other.
LAYERS = [
    ["eager"],
    ["errors", "lazy"],
    ["arrays", "method_names"],
    ["checks"],
    ["drawing", "notebook"],
    ["stats"],
    ["progress"],
    ["solving"],
    ["kernels"],
    ["network"],
    ["parallel"],
    ["cuda"],
    ["forests"],
    ["graph"],
    ["certify"],
    ["steps"],
    [problem.folder for problem in registry.PROBLEMS if not problem.uses],
    [problem.folder for problem in registry.PROBLEMS if problem.uses],
    ["papers"],
    ["registry", "cuts"],
    ["comparison", "citations"],
    ["reductions", "connectivity"],
    ["io"],
    ["generators"],
    ["vision"],
    ["integrations"],
    ["distributed"],
    ["cli"],
    ["__main__"],
]
RANK = {name: rank for rank, row in enumerate(LAYERS) for name in row}
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def top_level(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


#: Modules that import what others name: the text of the name is in a record, in a table, or a caller's.
COMPUTED = {
    "solving/method.py": "the modules of records: see test_records_name_modules_of_their_problem",
    "kernels/fingerprint.py": "modules of kernels",
    "network/arcs.py": "modules beside it, which STORED names",
    "kernels/kernel.py": "modules of kernels",
    "kernels/overloads.py": "modules beside those of kernels, for Numba",
    "kernels/kinds.py": "modules of kernels",
    "cuda/structs.py": "modules that .cu files name, to which their arguments belong",
    "kernels/warm_up.py": "modules of kernels",
    "cuda/runtime.py": "the package of an array of the caller",
    "graph/integer_grid.py": "the package of an array",
}


def named_import(node: ast.Call) -> str | None:
    """Return the name of the module that a call of import_module imports; None if it is computed."""
    (name,) = node.args[:1]
    if isinstance(name, ast.JoinedStr) and len(name.values) == 2:  # f"{__package__}.module"
        package, module = name.values
        if isinstance(package, ast.FormattedValue) and ast.unparse(package.value) == "__package__":
            assert isinstance(module, ast.Constant)
            return str(module.value)
    return name.value if isinstance(name, ast.Constant) else None


def is_import_call(node: ast.AST) -> bool:
    """Return whether a node is a call that imports a module by its name."""
    if not isinstance(node, ast.Call):
        return False
    return ast.unparse(node.func).split(".")[-1] in ("import_module", "__import__", "run_module")


def imported_parts(path: Path) -> set[str]:
    """Return the top-level parts of preflow that a module imports, lazily, by its name, or at once."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.ImportFrom) and node.level:
            base = path.parents[node.level - 1]
            assert base.is_relative_to(PACKAGE), f"{path} imports from outside the package"
            inner = list(base.relative_to(PACKAGE).parts) + (node.module or "").split(".")
            parts = [part for part in inner if part]
            names = [parts[0]] if parts else [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "preflow":
            parts = (node.module or "").split(".")[1:]
            names = [parts[0]] if parts else [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [a.name.split(".")[1] for a in node.names if a.name.startswith("preflow.")]
        elif is_import_call(node):
            name = named_import(node)
            assert name is not None or str(path.relative_to(PACKAGE)) in COMPUTED, f"{path} hides an import"
            names = [name.split(".")[1]] if name and name.startswith("preflow.") else []
        found |= {name for name in names if (PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").exists()}
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_upward(path: Path) -> None:
    own = top_level(path)
    assert own in RANK, f"{own} has no place in the layers"
    for other in imported_parts(path) - {own}:
        assert RANK[other] < RANK[own], f"{own} must not import {other}"


def test_the_list_of_computed_imports_has_no_dead_entries() -> None:
    for name in COMPUTED:
        nodes = ast.walk(ast.parse((PACKAGE / name).read_text("utf-8")))
        assert any(is_import_call(node) and named_import(node) is None for node in nodes), name


@pytest.mark.parametrize("problem", registry.PROBLEMS, ids=lambda problem: problem.name)
def test_records_name_modules_of_their_problem(problem: Problem) -> None:
    """Methods are in the folder or in papers; functions may be higher, instances are lower."""
    for method in problem.methods:
        assert method.module.split(".")[0] in (problem.folder, "papers")
    for name in problem.results:
        assert name.split(".")[0] == problem.folder
    for name in problem.containers:
        assert RANK[name.split(".")[0]] < RANK[problem.folder]
    for name in (*problem.results, *problem.containers):
        assert isinstance(load(name), type)
    for name, module in problem.functions.items():
        assert getattr(preflow, name).__wrapped__ is getattr(import_module(f"preflow.{module}"), name)
    assert bool(problem.families) == bool(problem.files)
    containers = tuple(map(load, problem.containers))
    for family in load(problem.families).values() if problem.families else ():
        assert issubclass(get_type_hints(family.function)["return"], containers)


def names_in(node: ast.AST) -> set[str]:
    """Return the names that a dictionary, a list of any kind, a Literal or a match statement lists."""
    parts: list[ast.AST | None] = []
    if isinstance(node, ast.Dict):
        parts = [*node.keys, *node.values]
    elif isinstance(node, ast.List | ast.Tuple | ast.Set):
        parts = [*node.elts]
    elif isinstance(node, ast.Match):
        parts = [each.pattern for each in node.cases]
    inner = [each for part in parts if part is not None for each in ast.walk(part)]
    strings = {each.value for each in inner if isinstance(each, ast.Constant) and isinstance(each.value, str)}
    return strings | {each.id for each in inner if isinstance(each, ast.Name)}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_second_list_of_problems(path: Path) -> None:
    """Three problems in one list are a list of problems: it belongs to registry.PROBLEMS."""
    if path.name in ("method_names.py", "registry.py") and path.parent == PACKAGE:
        return  # the list, and what tests/test_records.py makes from it
    functions, folders = set(registry.FUNCTIONS), {problem.folder for problem in registry.PROBLEMS}
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        names = names_in(node)
        where = f"{path.relative_to(PACKAGE)}:{getattr(node, 'lineno', 0)}"
        listed = max(names & functions, names & folders, key=len)
        assert len(listed) < 3, f"{where} lists problems: let their records have a field for it"


def imported_modules(path: Path) -> set[Path]:
    """Return the modules of preflow that a module imports, lazily or not."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = path.parents[node.level - 1].joinpath(*(node.module or "").split("."))
            for name in (alias.name for alias in node.names):
                candidates = (base / f"{name}.py", base / name / "__init__.py", base.with_suffix(".py"))
                found |= {next((file for file in candidates if file.exists()), base / "__init__.py")}
    return found


#: In gridcut only types form circles: those of a partition, and of the solvers that its methods name.
FOLDERS = sorted({path.parent for path in PACKAGE.glob("*/__init__.py")} - {PACKAGE / "gridcut"})


@pytest.mark.parametrize("folder", [*FOLDERS, BENCHMARKS], ids=lambda folder: folder.name)
def test_a_folder_has_no_import_circles(folder: Path) -> None:
    imports = {path: imported_modules(path) for path in folder.rglob("*.py")}
    while imports:
        leaves = {path for path, others in imports.items() if not others & imports.keys()}
        circle = sorted(str(path.relative_to(folder)) for path in imports)
        assert leaves, f"these modules, or modules that they import, form a circle: {circle}"
        for path in leaves:
            del imports[path]


def test_only_papers_import_papers() -> None:
    others = [path for path in MODULES if top_level(path) != "papers"]
    assert not [path for path in others if "papers" in imported_parts(path)]


@pytest.mark.parametrize("problem", registry.METHODS)
def test_auto_takes_no_method_of_papers(problem: str) -> None:
    """No module in the folder of the problem has the name of such a method, but for the lists of names."""
    methods = registry.METHODS[problem]
    names = {method.name for method in methods if method.module.startswith("papers.")}
    folder = PACKAGE / registry.problem_of(problem).folder
    assert (folder / "policy.py").exists()
    for path in set(folder.rglob("*.py")) - {folder / "problem.py"}:
        constants = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant))
        found = names & {node.value for node in constants if isinstance(node.value, str)}
        assert not found, f"{path.relative_to(PACKAGE)} may choose {found}"


#: The solvers of each problem, by the name of their module. A module may have several methods.
SOLVERS = {
    method.module: PACKAGE.joinpath(*method.module.split("."))
    for problem in registry.PROBLEMS
    for method in problem.methods
}
#: Solvers that import another one, and why. Else a plan says what goes on after a method, and what two share
#: belongs into a module of its own.
IMPORTED_BY_SOLVERS = {
    ("general_matching.initial.two_thirds", "general_matching.initial.locally_dominant"): (
        "it begins with that matching: the folder is the home of matchings to start from"
    ),
    ("papers.lupinska.cuda_hybrid", "gridcut.cuda_lockfree"): "the kernel of her system without its searches",
    ("papers.wu_he_hong.cuda_hybrid", "papers.wu_he_hong.cuda_lockfree"): (
        "the kernel of their system without its searches"
    ),
    ("papers.wu_he_hong.cuda_locks", "papers.wu_he_hong.cuda_lockfree"): "the same but for its kernel",
}


def solver_of(path: Path) -> str | None:
    """Return the solver that a file belongs to; None if it belongs to none."""
    places = {path, path.with_suffix(""), *path.parents}
    return next((name for name, place in SOLVERS.items() if place in places), None)


def test_no_solver_imports_another() -> None:
    """A plan says which method goes on after another one: see solving/plan.py."""
    found = {
        (own, other)
        for path in MODULES
        if (own := solver_of(path)) is not None
        for imported in imported_modules(path)
        if (other := solver_of(imported)) not in (None, own)
    }
    assert found == set(IMPORTED_BY_SOLVERS)


@pytest.mark.parametrize("problem", registry.METHODS)
def test_methods_know_no_steps(problem: str) -> None:
    """Nor do steps know methods: they are in a layer below, and name none."""
    for method in registry.METHODS[problem]:
        module = PACKAGE.joinpath(*method.module.split("."))
        files = module.rglob("*.py") if module.is_dir() else [module.with_suffix(".py")]
        assert not [path for path in files if "steps" in imported_parts(path)]
        for path in (PACKAGE / "steps").rglob("*.py"):
            nodes = ast.walk(ast.parse(path.read_text("utf-8")))
            assert method.name not in [node.value for node in nodes if isinstance(node, ast.Constant)], path


def test_the_package_knows_nothing_of_the_benchmarks() -> None:
    pattern = re.compile(r"^ *(from|import) benchmarks\b", re.MULTILINE)
    assert not [path for path in MODULES if pattern.search(path.read_text("utf-8"))]


def test_only_one_module_imports_cupy() -> None:
    importers = [path for path in MODULES if "import cupy" in path.read_text()]
    assert all(path == PACKAGE / "cuda" / "runtime.py" for path in importers)


def test_import_is_light() -> None:
    heavy = ["numba", "scipy", "numpy", "networkx", "skimage", "matplotlib", "click", "tqdm", "cupy"]
    code = f"import sys, preflow; print([name for name in {heavy} if name in sys.modules])"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert output.stdout.strip() == "[]"


def test_public_names_exist_and_unknown_ones_do_not() -> None:
    for name in preflow.__all__:
        assert getattr(preflow, name) is not None
    assert set(preflow.__all__) == set(dir(preflow))
    with pytest.raises(AttributeError, match=r"attribute maximum_flow; did you mean max_flow\?"):
        _ = preflow.maximum_flow  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"attribute xyzzy$"):
        _ = preflow.xyzzy  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"attribute segmnt; did you mean segment\?"):
        _ = preflow.vision.segmnt  # type: ignore[attr-defined]
    assert not hasattr(preflow, "__wrapped__")


def test_no_public_function_shares_its_name_with_a_subpackage() -> None:
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir()}
    functions = {name for name in preflow.__all__ if not isinstance(getattr(preflow, name), ModuleType)}
    assert not folders & functions


def test_modules_are_there_after_the_import() -> None:
    code = "import preflow; preflow.vision.segment; preflow.errors.ParseError; preflow.reductions.assign_jobs"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("problem", registry.METHODS)
def test_signatures_have_the_types_of_names(problem: str) -> None:
    annotations = getattr(preflow, problem).__annotations__
    assert annotations["device"] == "DeviceName"
    record = registry.FUNCTIONS[problem]
    # A grid is an instance of min_cut, too.
    used = [other.method_type for other in registry.PROBLEMS if other.folder in record.uses]
    found = re.findall(r"\w+MethodName", annotations["method"])
    assert found in ([record.method_type], [record.method_type, *used])


def test_methods_of_all_problems() -> None:
    everything = preflow.methods()
    assert everything == {problem: preflow.methods(problem) for problem in registry.METHODS}
    for method in everything["max_flow"]:
        assert method.available is (method.device == "cpu" or runtime.device_if_any() is not None)


@pytest.mark.parametrize("problem", registry.METHODS)
def test_methods_are_described(problem: str) -> None:
    names = [name for each in preflow.methods(problem) for name in (each.name, *each.old_names)]
    aliases = [(alias, each.parallel) for each in preflow.methods(problem) for alias in each.other_names]
    # A serial method and the same method on several threads may share an alias.
    assert len(aliases) == len(set(aliases))
    names += {alias for alias, _ in aliases}
    assert len(names) == len(set(names))
    for method in preflow.methods(problem):
        assert method.summary
        assert method.paper
        assert isinstance(method.options, dict)
    with pytest.raises(preflow.errors.InvalidInputError, match="max_flow"):
        preflow.methods("sorting")


def kernels(path: Path) -> list[ast.FunctionDef]:
    """Return the kernels of a module."""
    return [
        node
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef)
        and any(isinstance(mark, ast.Name) and mark.id == "kernel" for mark in node.decorator_list)
    ]


def test_kernels_take_at_most_eight_arguments() -> None:
    longer = [
        f"{path.relative_to(PACKAGE)}: {kernel.name}"
        for path in MODULES
        for kernel in kernels(path)
        if len(kernel.args.args) > 8
    ]
    assert longer == [], "put arguments that belong together into a NamedTuple"


#: The annotations of residual networks in kernels, and the fields that say where their arcs lead.
NETWORKS, ARC_FIELDS = (
    {"ResidualArrays", "ResidualNetwork", "GridState"},
    {"head", "reverse", "first_out", "step"},
)
#: Files with kernels that read these fields themselves, and why. The list may only become shorter.
READ_ARCS = {
    "maxflow/parametric.py": "it counts arcs of pieces of a network by signed numbers",
    "maxflow/serial_dinic.py": "a path has arcs only, and the search goes on from the tail of one of them",
    "maxflow/warm/__init__.py": "changes are of arcs, whose tails are not known",
    "maxflow/warm/both_sides.py": "it splits the arrays of a network",
    "maxflow/warm/search_trees.py": "changes are of arcs, whose tails are not known",
}


def reads_arcs(kernel: ast.FunctionDef) -> bool:
    """Return whether a kernel of residual networks indexes the fields of their arcs."""
    types = {ast.unparse(each.annotation) for each in kernel.args.args if each.annotation}
    indexed = [node.value for node in ast.walk(kernel) if isinstance(node, ast.Subscript)]
    names = {each.attr if isinstance(each, ast.Attribute) else getattr(each, "id", "") for each in indexed}
    return bool(types & NETWORKS and names & ARC_FIELDS)


def test_kernels_read_arcs_by_the_functions_of_network() -> None:
    others = [path for path in MODULES if top_level(path) != "network"]
    found = {str(path.relative_to(PACKAGE)) for path in others if any(map(reads_arcs, kernels(path)))}
    assert found == READ_ARCS.keys(), "use preflow.network.arcs; remove from the list what has left"


def test_any_is_rare() -> None:
    names = [
        node
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Name)
    ]
    assert sum(name.id == "Any" for name in names) < 500, "arrays.py has names for types"
