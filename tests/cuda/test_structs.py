"""The text that ``.cu`` files take from Python: no order of fields can make the two sides differ."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse

import preflow
from preflow.cuda import runtime, structs
from preflow.generators import FAMILIES
from tests.support.cuda_on_cpu import device, toolbox
from tests.support.cuda_on_cpu.device import CpuDevice
from tests.support.paths import ROOT

PACKAGE = Path(preflow.__file__).parent
SOURCES = sorted(PACKAGE.rglob("*.cu"))
TOOLBOX = ROOT / "tests" / "support" / "cuda_on_cpu" / "toolbox_for_tests.cu"
PARTS = sorted([*SOURCES, *PACKAGE.rglob("*.cuh")])
#: What a NamedTuple has besides what its class adds.
INHERITED = set(dir(NamedTuple("Empty", []))) | {"__annotations__", "__orig_bases__"}


def included() -> Iterator[tuple[ModuleType, str]]:
    """Yield the NamedTuples that become structs, by their modules and names; some more than once."""
    for path in PARTS:
        for name, declared in structs.INCLUDE.findall(path.read_text("utf-8")):
            for each in declared.split(", ") if declared else ():
                module = structs._module(path, name)
                found = each.partition(".")[0]
                if hasattr(getattr(module, found), "_fields"):
                    yield module, found


def test_declarations() -> None:
    text = structs.source_with_headers(TOOLBOX)
    assert "struct Pushes {\n    Arc* arcs;\n    u32* errors;\n    u64 pushes;\n};\n" in text
    assert re.search(r"constexpr u32 OWNED_TOGETHER = 8u;\n", text)
    source = PACKAGE / "gridcut" / "cuda_tiled" / "tiling.cu"
    text = structs.source_with_headers(source)
    assert "enum Stage : u32 { NO_STAGE = 0, ALL_STAGES = 1, ALONE_ONLY = 2, ALL_BUT_ALONE = 3 };" in text
    assert "    u64* words[MOST_DEVICES];\n" in text
    assert "    i64 source_steps[3];\n" in text


def test_a_type_that_no_kernel_takes_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class Adding(NamedTuple):
        words: str

    monkeypatch.setattr(toolbox, "Adding", Adding)
    with pytest.raises(TypeError, match=r"words: .*str.* is no type of a kernel"):
        structs.source_with_headers(TOOLBOX)


def test_a_kernel_takes_its_own_arguments_only() -> None:
    with pytest.raises(TypeError, match=r"take_places .* takes Places, not .*\.Pushes"):
        structs.check_arguments(TOOLBOX, "take_places", toolbox.Pushes)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_arguments_of_all_kernels_come_from_python(path: Path) -> None:
    text = structs.source_with_headers(path)
    assert "#include" not in text
    names = {name for _, name in included()}
    kernels = structs.KERNEL.findall(text)
    assert kernels
    assert {taken for _, taken in kernels} <= names


def test_fields_are_named_where_arguments_are_made() -> None:
    """A class with other fields, or in another order, is then no silent change of what a kernel gets."""
    classes = {getattr(module, name) for module, name in included()}
    names = {cls.__name__ for cls in classes}
    found = []
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
                made = getattr(structs._module(path, path.name), node.func.id, None)
                # One call asks for the positions of the fields.
                if node.args and made in classes and "range(" not in ast.unparse(node):
                    found.append(f"{path.relative_to(PACKAGE)}:{node.lineno} {node.func.id}")
    assert found == []


def turned_around(cls: Any) -> Any:
    """Return a NamedTuple like another one with its fields in the opposite order."""
    fields = [(field, cls.__annotations__[field]) for field in reversed(cls._fields)]
    turned: Any = NamedTuple(cls.__name__, fields)  # type: ignore[misc]
    turned.__module__ = cls.__module__
    if cls._field_defaults:  # of all fields
        turned.__new__.__defaults__ = tuple(cls._field_defaults[field] for field, _ in fields)
    for name in set(vars(cls)) - INHERITED - set(cls._fields):
        setattr(turned, name, vars(cls)[name])
    return turned


@pytest.fixture
def turn_around(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """Give a function that turns the fields of all arguments of kernels around."""

    def clear() -> None:
        device._source.cache_clear()
        structs.check_arguments.cache_clear()

    def turn() -> None:
        classes = {getattr(module, name) for module, name in included()}
        for cls in (each for each in classes if len(each._field_defaults) in (0, len(each._fields))):
            turned = turned_around(cls)
            for module in [part for name, part in sys.modules.items() if name.startswith("preflow")]:
                for name, value in list(vars(module).items()):
                    if value is cls:
                        monkeypatch.setattr(module, name, turned)
                    elif type(value) is cls and value == tuple(range(len(value))):  # the places of fields
                        monkeypatch.setattr(module, name, turned(*value))
                    elif type(value) is cls:
                        monkeypatch.setattr(module, name, turned(**value._asdict()))
        clear()

    found = CpuDevice(time_limit=30)
    monkeypatch.setattr(runtime, "find_device", lambda: found)
    yield turn
    clear()


def max_flow(**options: Any) -> Any:
    problem = FAMILIES["rmf-long"].generate("3x4", seed=1)
    result = preflow.max_flow(problem.network, problem.source, problem.sink, **options)
    _ = result.flow
    return result


def grid_cut(**options: Any) -> Any:
    random = np.random.default_rng(0)
    return preflow.grid_cut(*random.integers(0, 20, (2, 9, 11)), 7, **options)


def matching(**options: Any) -> Any:
    random = np.random.default_rng(0)
    matrix = scipy.sparse.csr_array(random.random((30, 25)) < 0.08)
    return preflow.bipartite_matching(matrix, **options)


def assignment(**options: Any) -> Any:
    return preflow.linear_assignment(np.random.default_rng(0).integers(0, 99, (12, 12)), **options)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("solve", "method"),
    [
        (max_flow, "cuda-push-relabel"),
        (max_flow, "cuda-lockfree"),
        (max_flow, "cuda-locks"),
        (max_flow, "cuda-coloring"),
        (grid_cut, "cuda-tiled"),
        (grid_cut, "cuda-lockfree"),
        (grid_cut, "cuda-blocking"),
        (matching, "cuda-multi-source-bfs"),
        (matching, "cuda-hopcroft-karp"),
        (matching, "cuda-push-relabel"),
        (assignment, "cuda-lockfree"),
        (assignment, "cuda-shortest-path"),
        (assignment, "cuda-batch"),
    ],
)
def test_the_order_of_fields_is_free(
    solve: Callable[..., Any], method: str, turn_around: Callable[[], None]
) -> None:
    expected = solve(device="cpu")
    solve(method=method).verify()  # all modules are loaded
    turn_around()
    options = {"initial": "proposals"} if solve is matching else {}
    result = solve(method=method, **options)
    result.verify()
    for name in ("value", "cardinality", "cost"):
        assert getattr(result, name, None) == getattr(expected, name, None)
