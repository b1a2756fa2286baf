"""Methods from outside of the package: registered by a program, or by an entry point of another package."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import preflow
from preflow.assignment import serial_shortest_path
from preflow.bipartite import serial_hopcroft_karp
from preflow.cli import app
from preflow.errors import InvalidInputError, SolverError
from preflow.maxflow.batch.methods import METHODS as BATCH_METHODS
from preflow.papers.baselines import serial_generic
from preflow.solving import outside
from preflow.solving.run import Control

pytestmark = pytest.mark.fast

NETWORK = ([0, 0, 1, 2], [1, 2, 3, 3], [3, 2, 2, 4])


@pytest.fixture(autouse=True)
def nothing_registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    kept = {folder: list(methods) for folder, methods in outside.REGISTERED.items()}
    yield
    outside.REGISTERED.clear()
    outside.REGISTERED.update(kept)


@dataclass(frozen=True)
class Options:
    """One option."""

    pause: int = 0

    def __post_init__(self) -> None:
        if self.pause < 0:
            raise InvalidInputError(f"pause must not be negative, got {self.pause}")


def good(net: Any, options: Options, control: Any) -> Any:
    control.remarks.append(f"pause {options.pause}")
    return serial_generic.solve(net, serial_generic.NoOptions(), control)


def test_a_registered_method_is_like_any_other() -> None:
    method = preflow.register_method("max_flow", "toy", good, options=Options, aliases=["TOY"])
    assert method in preflow.methods("max_flow")
    assert method in preflow.methods("min_cut")
    assert method not in preflow.methods("grid_cut")
    assert method.available
    assert method.options == {"pause": 0}
    result = preflow.max_flow(NETWORK, 0, 3, method="TOY", options={"pause": 3})
    assert result.value == 4
    assert result.stats.method == "toy"
    assert "pause 3" in result.stats.reason
    assert preflow.min_cut(NETWORK, 0, 3, method="toy").value == 4
    assert outside.outside_methods(preflow.methods("min_cut")) == (method,)
    assert not outside.outside_methods(BATCH_METHODS)  # it solves one network
    for factor in (1, 0.3):  # integers, and floats, which are solved otherwise
        scaled = (*NETWORK[:2], [factor * capacity for capacity in NETWORK[2]])
        cuts = preflow.parametric_max_flow(scaled, [1, 2, 0, 0], 0, 3, method="toy")
        assert cuts.value(0) == pytest.approx(4 * factor)
        cuts.verify()
    assert preflow.max_flow(NETWORK, 0, 3).stats.method != "toy"
    with pytest.raises(InvalidInputError, match="no option 'speed'"):
        preflow.max_flow(NETWORK, 0, 3, method="toy", options={"speed": 1})
    with pytest.raises(InvalidInputError, match="pause must not be negative"):
        preflow.max_flow(NETWORK, 0, 3, method="toy", options={"pause": -1})
    with pytest.raises(InvalidInputError, match="one thread"):
        preflow.max_flow(NETWORK, 0, 3, method="toy", threads=2)
    text = CliRunner().invoke(app, ["methods", "max_flow"], catch_exceptions=False).stdout
    assert "toy (cpu, one thread, also TOY)" in text


@given(
    arcs=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 9)), min_size=1, max_size=12)
)
@settings(max_examples=50, deadline=None)
def test_the_toy_of_the_documentation(arcs: list[tuple[int, int, int]]) -> None:
    if "documented" not in [method.name for method in preflow.methods("max_flow")]:
        page = Path(__file__).parents[1] / "docs" / "development" / "outside.md"
        code = page.read_text().split("```python\n")[1].split("\npreflow.register_method")[0]
        names: dict[str, Any] = {}
        exec(code, names)
        preflow.register_method("max_flow", "documented", names["solve"], options=names["ToyOptions"])
    network = preflow.FlowNetwork.from_arrays(*zip(*arcs, strict=True), num_vertices=5)
    assert preflow.max_flow(network, 0, 4, method="documented").value == preflow.max_flow(network, 0, 4).value


def test_other_problems() -> None:
    def match(graph: Any, matching: Any, options: Any, control: Any) -> bool:
        own = serial_hopcroft_karp.NoOptions()
        return serial_hopcroft_karp.solve(graph, matching, own, control)

    preflow.register_method("bipartite_matching", "my-matching", match)
    assert preflow.bipartite_matching(([0, 1], [1, 0]), method="my-matching").cardinality == 2

    def assign(costs: Any, options: Any, control: Any, go_on: bool = False) -> Any:
        found = serial_shortest_path.solve(costs, serial_shortest_path.ShortestPathOptions(), control, go_on)
        found.u[:] += 1
        return found

    preflow.register_method("linear_assignment", "wrong-prices", assign)
    with pytest.raises(SolverError, match="'wrong-prices' left a solution that proves nothing"):
        preflow.linear_assignment([[4, 1], [2, 0]], method="wrong-prices")


def nothing(net: Any, options: Any, control: Any) -> None:
    pass


def zeros(net: Any, options: Any, control: Any) -> Any:
    return np.zeros(len(net.excess), dtype=net.head.dtype)


def too_high(net: Any, options: Any, control: Any) -> Any:
    return np.full(len(net.excess), len(net.excess) + 1, dtype=net.head.dtype)


def too_short(net: Any, options: Any, control: Any) -> Any:
    return np.zeros(len(net.excess) + 1, dtype=net.head.dtype)


def floats(net: Any, options: Any, control: Any) -> Any:
    return np.zeros(len(net.excess))


def invented(net: Any, options: Any, control: Any) -> Any:
    net.excess[:] = 0
    return too_high(net, options, control)


@pytest.mark.parametrize(
    ("solve", "message"),
    [
        (nothing, "solver 'bad' returned None; preflow.solving.protocol"),
        (zeros, "solver 'bad' left heights that prove nothing, and nothing stopped it$"),
        (too_high, "solver 'bad' left heights that prove nothing: "),
        (too_short, r"solver 'bad' returned ndarray of shape \(3,\) and uint32, not heights: an array of 2"),
        (floats, "not heights"),
        (invented, "solver 'bad' left heights that prove nothing: "),
    ],
)
@pytest.mark.parametrize("call", [preflow.max_flow, preflow.min_cut])
def test_wrong_answers_are_named(solve: Any, message: str, call: Any) -> None:
    preflow.register_method("max_flow", "bad", solve)
    with pytest.raises(SolverError, match=message):
        call(NETWORK, 0, 3, method="bad")


def test_methods_may_report_progress_by_its_former_name() -> None:
    control = Control()
    with pytest.warns(DeprecationWarning, match="control.progress"):
        control.excess[:] = 7
    assert control.progress.tolist() == [7, 7]


def test_names_are_taken_once() -> None:
    for name in ("serial-fifo", "F_PRF", "cuda-pushrelabel"):
        with pytest.raises(InvalidInputError, match="another method"):
            preflow.register_method("max_flow", name, good)
    with pytest.raises(InvalidInputError, match="'auto' lets preflow choose"):
        preflow.register_method("max_flow", "auto", good)
    preflow.register_method("max_flow", "toy", nothing, aliases=["one"])
    preflow.register_method("max_flow", "toy", nothing, aliases=["one"])  # the same once more
    more: dict[str, Any] = {"options": Options, "aliases": ["two"]}
    with pytest.raises(InvalidInputError, match="'toy' is registered already; replace=True takes its place"):
        preflow.register_method("max_flow", "toy", good, **more)
    preflow.register_method("max_flow", "toy", good, **more, replace=True)
    assert preflow.max_flow(NETWORK, 0, 3, method="two").value == 4
    with pytest.raises(InvalidInputError, match=r"unknown method 'one'; .*, toy"):
        preflow.max_flow(NETWORK, 0, 3, method="one")
    with pytest.raises(InvalidInputError, match="another method: toy"):
        preflow.register_method("max_flow", "two", good)
    preflow.register_method("grid_cut", "toy", good)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("sorting", "x", good), "unknown problem"),
        (("max_flow", "", good), "name of a method"),
        (("max_flow", "x", 3), "must be a function"),
    ],
)
def test_bad_arguments(arguments: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        preflow.register_method(*arguments)
    with pytest.raises(InvalidInputError, match="must be a dataclass"):
        preflow.register_method("max_flow", "x", good, options=dict)


def test_entry_points(tmp_path: Path) -> None:
    (tmp_path / "toy_solver.py").write_text(
        "import preflow\n"
        "from preflow.papers.baselines.serial_generic import NoOptions, solve\n"
        "def register():\n"
        "    preflow.register_method('max_flow', 'from-a-package', solve, options=NoOptions)\n"
    )
    metadata = tmp_path / "toy_solver-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-solver\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        "[preflow.methods]\nbroken = no_such_module:register\ntoy = toy_solver:register\n"
    )
    code = (
        "import preflow, warnings\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('always')\n"
        "    value = preflow.max_flow(([0], [1], [3]), 0, 1, method='from-a-package').value\n"
        "    names = [method.name for method in preflow.methods('max_flow')]\n"
        "print(value, names[-1], [str(warning.message) for warning in caught])\n"
    )
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": path}
    command = [sys.executable, "-c", code]
    output = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
    assert output.startswith("3 from-a-package [")
    assert "the methods of no_such_module:register could not be registered: ModuleNotFoundError" in output
