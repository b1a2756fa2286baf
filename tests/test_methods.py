"""The contract of :mod:`preflow.solving.protocol`, checked for every registered method.

mypy compares the signatures with the protocols, in ``solver_types.py``, which lists every registered solver.
Here: that the parameters have the protocol's names, and what a solver on the CPU leaves behind, after a whole
solve and after one that was stopped before it began. What solvers on a GPU leave is tested where the kernels
run on CPU threads, in the tests of each problem's ``cuda_*`` methods.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import preflow
from preflow import registry
from preflow.bipartite.problem import INITIAL, Heuristic
from preflow.errors import InvalidInputError
from preflow.kernels.kernel import PLAIN
from preflow.solving import protocol
from preflow.solving.dispatch import find_method
from preflow.solving.method import Method, Problem
from preflow.solving.run import Control
from tests.support.problems import SAMPLES

pytestmark = pytest.mark.fast


def name_of_protocol(problem: Problem) -> str:
    """Return of which protocol the solvers of a problem are, from its problem.py."""
    path = Path(preflow.__file__).parent / problem.folder / "problem.py"
    found = re.search(r"^    HostSolver = (\w+)\[", path.read_text("utf-8"), re.MULTILINE)
    assert found
    return found[1]


#: The problems, by their names, and the protocols that their records fill in.
PACKAGES = {problem.name: getattr(protocol, name_of_protocol(problem)) for problem in registry.PROBLEMS}
METHODS = [
    pytest.param(problem, method, id=f"{problem}-{method.name}")
    for problem in PACKAGES
    for method in preflow.methods(problem)
]
#: The arcs of a grid are computed by overloads that only Numba knows: the kernels do not run as plain Python.
NEEDS_NUMBA = {("grid_cut", "multicore-lockfree")}
ON_CPU = [
    pytest.param(
        problem,
        method,
        id=f"{problem}-{method.name}",
        marks=pytest.mark.skipif(PLAIN and (problem, method.name) in NEEDS_NUMBA, reason="needs Numba"),
    )
    for problem in PACKAGES
    for method in preflow.methods(problem)
    if method.device == "cpu"
]


def test_an_old_name_still_works_and_warns_the_caller() -> None:
    with pytest.warns(DeprecationWarning, match="is now called 'cuda-push-relabel'") as caught:
        method = find_method(preflow.methods("max_flow"), "cuda-pushrelabel")
    assert method.name == "cuda-push-relabel"
    assert [warning.filename for warning in caught] == [__file__]


VARIANTS = [
    pytest.param(problem, method, name, id=f"{problem}-{name}")
    for problem in PACKAGES
    for method in preflow.methods(problem)
    for name in method.variants
]


@pytest.mark.parametrize(("problem", "method", "name"), VARIANTS)
def test_a_variant_is_the_method_with_other_options(problem: str, method: Method, name: str) -> None:
    found = find_method(preflow.methods(problem), name)
    assert found.name == method.name
    assert found.options == {**method.options, **method.variants[name]} != method.options
    given = {option: method.options[option] for option in method.variants[name]}
    assert found.make_options(given) == method.make_options(None)


def check_signature(function: Any, expected: Any) -> None:
    """Check that a function has the parameters of a protocol, by name and default, and types for them."""
    _, *wanted = inspect.signature(expected.__call__).parameters.values()
    given = inspect.signature(function).parameters.values()
    assert [(each.name, each.default) for each in given] == [(each.name, each.default) for each in wanted]
    for parameter in given:
        assert parameter.annotation not in (inspect.Parameter.empty, "Any"), parameter


@pytest.mark.parametrize(("problem", "method"), METHODS)
def test_solvers_have_the_signature_of_the_protocol(problem: str, method: Method) -> None:
    check_signature(method.solve, PACKAGES[problem])
    if method.streams:
        assert method.device == "cuda"
        check_signature(method.solve_streamed, PACKAGES[problem])


@pytest.mark.parametrize("heuristic", INITIAL, ids=lambda heuristic: heuristic.name)
def test_initial_matchings_have_the_signature_of_the_protocol(heuristic: Heuristic) -> None:
    check_signature(heuristic.start, protocol.InitialMatching)


@pytest.mark.parametrize(("problem", "method"), ON_CPU)
def test_a_whole_solve_is_finished_and_counted(problem: str, method: Method) -> None:
    control = Control(2 if method.parallel else 1)
    control.progress[:] = np.nan
    assert SAMPLES[problem].solve(method, control)
    assert control.thread_counts.any(), "count operations, in control.counts or Monitor.counts"
    left, at_first = np.isfinite(control.progress)
    assert left == at_first, "a solver that reports progress begins with control.progress[:] = all there is"
    assert not control.stopped
    assert not control.unproved


@pytest.mark.parametrize(("problem", "method"), ON_CPU)
def test_a_stopped_solve_leaves_a_valid_state(problem: str, method: Method) -> None:
    control = Control(2 if method.parallel else 1)
    control.stop[0] = 1
    SAMPLES[problem].solve(method, control)
    assert control.stopped


@pytest.mark.parametrize(("problem", "method"), METHODS)
def test_options_come_from_the_dataclass_of_the_record(problem: str, method: Method) -> None:
    assert type(method.make_options(None)).__name__ == method.options_class
    with pytest.raises(InvalidInputError, match="has no option 'no_such_option'"):
        method.make_options({"no_such_option": 1})
