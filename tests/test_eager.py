"""``torch.compile`` runs public functions between two graphs; arrays that are only traced are refused."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from functools import cached_property
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import preflow
import preflow.distributed
import preflow.generators
import preflow.reductions
import preflow.vision
from preflow.eager import SPECIAL, eager
from preflow.errors import InvalidInputError
from preflow.integrations import lap, pot, scipy_compat
from preflow.solving.read_only import ReadOnlyArrays

pytestmark = pytest.mark.fast

PACKAGES = (preflow, preflow.distributed, preflow.generators, preflow.reductions, preflow.vision)


def is_eager(function: object) -> bool:
    return getattr(getattr(function, "__code__", None), "co_filename", "").endswith("eager.py")


def function_of(member: object) -> object:
    """Return the function of a method or a property; None of anything else."""
    if isinstance(member, classmethod | staticmethod):
        return member.__func__
    if isinstance(member, property):
        return member.fget
    if isinstance(member, cached_property):
        return member.func
    return member if isinstance(member, FunctionType) else None


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_public_functions_and_members_of_public_classes_are_eager(package: ModuleType) -> None:
    for name in package.__all__:
        thing = getattr(package, name)
        if isinstance(thing, FunctionType):
            assert is_eager(thing), name
            assert pickle.loads(pickle.dumps(thing)) is thing
            assert thing is getattr(package, name)
        elif isinstance(thing, type):
            for owner in thing.__mro__:
                if not owner.__module__.startswith("preflow"):
                    continue
                for each, member in vars(owner).items():
                    if each == "__init__" and issubclass(owner, ReadOnlyArrays):
                        continue  # solvers make results
                    function = function_of(member)
                    if function is not None and (each[0] != "_" or each in SPECIAL):
                        assert is_eager(function), f"{owner.__name__}.{each}"


def test_functions_in_the_place_of_others_are_eager() -> None:
    for module in (lap, pot, scipy_compat):
        own = [each for each in vars(module).values() if getattr(each, "__module__", "") == module.__name__]
        functions = [each for each in own if isinstance(each, FunctionType) and each.__name__[0] != "_"]
        assert len(functions) >= 4
        assert all(map(is_eager, functions))


def test_the_compiler_is_asked_once_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def disable(function: Callable[..., Any]) -> Callable[..., Any]:
        asked.append(function)
        return function

    def double(number: int, *, more: int = 0) -> int:
        """Say something."""
        return 2 * number + more

    found = eager(double)
    assert (found.__name__, found.__doc__) == ("double", "Say something.")
    monkeypatch.delitem(sys.modules, "torch._dynamo", raising=False)
    assert found(3, more=1) == 7
    assert asked == []
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(compiler=SimpleNamespace(disable=disable)))  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "torch._dynamo", SimpleNamespace())  # type: ignore[arg-type]
    assert [found(3, more=1), found(4)] == [7, 8]
    assert [each.__wrapped__ for each in asked] == [double]


#: What a compiled function may do with costs `x` that have a gradient and the same without one, `d`; the last
#: step of each is one of Torch.
COMPILED: dict[str, Callable[[Any, Any, Any], Any]] = {
    "pairs": lambda torch, x, d: (2 * x)[(found := preflow.linear_assignment(d)).row, found.column].sum(),
    "members of a result": lambda torch, x, d: (
        x.sum() * len((found := preflow.linear_assignment(d)).pairs()) + found.cost + found.gap
    ),
    "a proof": lambda torch, x, d: 2 * x if preflow.linear_assignment(d).verify() is None else x,
    "a batch": lambda torch, x, d: 2 * preflow.linear_assignment(d.expand(3, 4, 4)).column,
    "a plan": lambda torch, x, d: (preflow.transport(d, torch.ones(4), torch.ones(4)).matrix() * x).sum(),
    "a flow": lambda torch, x, d: 2 * preflow.max_flow(d, 0, 3).flow,
    "a flow by label": lambda torch, x, d: x.sum() * len(preflow.max_flow(d, 0, 3).flow_dict()),
    "flows": lambda torch, x, d: x.sum() * len(preflow.max_flow_batch([d], 0, 3)[0].flow),
    "a grid": lambda torch, x, d: 2 * preflow.grid_cut(d, 1 - d, 0.3).labels,
    "grids": lambda torch, x, d: 2 * preflow.grid_cut_batch(d[None], 1 - d[None], 0.3)[0].labels,
    "a network": lambda torch, x, d: x * preflow.FlowNetwork.from_arrays([0, 1], [1, 2], d[0, :2]).num_arcs,
    "points": lambda torch, x, d: 2 * preflow.linear_assignment(preflow.PointCosts(d, d)).column,
    "a matching": lambda torch, x, d: 2 * preflow.bipartite_matching(d > 0.5).row_match,
    "lap": lambda torch, x, d: x[0, int(lap.lapjv(d)[1][0])],
    "scipy": lambda torch, x, d: 2 * x[torch.as_tensor(scipy_compat.linear_sum_assignment(d)[1])],
    "pictures": lambda torch, x, d: (
        x * int(preflow.vision.alpha_expansion(d.numpy()[None], np.zeros((1, 1))).labels[0, 0])
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", COMPILED)
def test_compiled_functions_give_what_others_give(name: str) -> None:
    torch = pytest.importorskip("torch")
    torch._dynamo.reset()

    def work(x: Any) -> Any:
        return COMPILED[name](torch, 3 * x, 3 * x.detach()) + 1

    compiled = torch.compile(work, backend="eager")
    for seed in range(2):
        x = torch.rand((4, 4), generator=torch.Generator().manual_seed(seed), requires_grad=True)
        expected, found = work(x), compiled(x)
        assert found.tolist() == expected.tolist()
        if found.requires_grad:
            of_expected, of_found = (torch.autograd.grad(each.sum(), x)[0] for each in (expected, found))
            assert of_found.tolist() == of_expected.tolist()


@pytest.mark.slow
def test_one_graph_is_refused_by_the_name_of_the_function() -> None:
    torch = pytest.importorskip("torch")
    torch._dynamo.reset()
    compiled = torch.compile(lambda x: preflow.linear_assignment(x).column, backend="eager", fullgraph=True)
    with pytest.raises(torch._dynamo.exc.Unsupported, match="linear_assignment"):
        compiled(torch.rand(4, 4))


def column(cost: Any) -> Any:
    return preflow.linear_assignment(cost).column


@pytest.mark.slow
@pytest.mark.parametrize("transform", ["vmap", "grad", "export", "meta"])
def test_tensors_without_numbers_are_refused(transform: str) -> None:
    torch = pytest.importorskip("torch")
    module = type("Module", (torch.nn.Module,), {"forward": lambda self, x: column(x)})()
    calls = {
        "vmap": lambda: torch.vmap(column)(torch.rand(3, 4, 4)),
        "grad": lambda: torch.func.grad(lambda x: x[0, column(x)[0]])(torch.rand(4, 4)),
        "export": lambda: torch.export.export(module, (torch.rand(4, 4),)),
        "meta": lambda: column(torch.empty((4, 4), device="meta")),
    }
    words = "requires a gradient" if transform == "grad" else "in a loop, or once with a batch"
    with pytest.raises(InvalidInputError, match=words):
        calls[transform]()


@pytest.mark.slow
@pytest.mark.parametrize("transform", ["jit", "vmap", "grad"])
def test_tracers_are_refused_and_a_callback_solves(transform: str) -> None:
    jax = pytest.importorskip("jax")

    def total(cost: Any, columns: Callable[[Any], Any]) -> Any:
        return cost[jax.numpy.arange(cost.shape[0]), columns(cost)].sum()

    def called_back(cost: Any) -> Any:
        shape = jax.ShapeDtypeStruct(cost.shape[:1], np.int32)
        cost = jax.lax.stop_gradient(cost)
        return jax.pure_callback(
            lambda given: np.asarray(column(given), np.int32), shape, cost, vmap_method="sequential"
        )

    costs = jax.numpy.array(np.random.default_rng(0).random((3, 4, 4)))
    given = costs if transform == "vmap" else costs[0]
    with pytest.raises(
        InvalidInputError, match=r"preflow\.integrations\.jax, or this one through jax\.pure_callback"
    ):
        getattr(jax, transform)(lambda cost: total(cost, column))(given)
    found = getattr(jax, transform)(lambda cost: total(cost, called_back))(given)
    if transform == "grad":
        assert found.sum() == 4
    else:
        expected = [preflow.linear_assignment(cost).cost for cost in costs]
        assert np.allclose(found, expected if transform == "vmap" else expected[0])


def test_what_a_tracer_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where neither JAX nor Torch is installed."""

    class Traced:
        is_meta = False
        layout = "strided"

        def __dlpack__(self) -> None:
            raise AssertionError("it was read")

        def __torch_dispatch__(self) -> None: ...

        def data_ptr(self) -> int:
            raise RuntimeError("it has no storage")

    core = SimpleNamespace(Tracer=Traced)
    monkeypatch.setitem(sys.modules, "jax", SimpleNamespace(core=core))  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="pure_callback"):
        column(Traced())
    monkeypatch.delitem(sys.modules, "jax")
    torch = SimpleNamespace(Tensor=Traced, strided="strided")
    monkeypatch.setitem(sys.modules, "torch", torch)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match=r"torch\.vmap"):
        preflow.grid_cut(Traced(), Traced(), 1)


@pytest.mark.parametrize(
    ("call", "meant"),
    [
        (lambda: preflow.linear_assignment([[1]], cost_limit=2), r"unmatched_cost=\(cost_limit, 0\)\?"),  # type: ignore[call-arg]
        (lambda: preflow.linear_assignment([[1]], maximise=True), r"maximize\?"),  # type: ignore[call-arg]
        (lambda: preflow.max_flow(([0], [1], [2]), 0, 1, n_jobs=2), r"threads\?"),  # type: ignore[call-overload]
        (lambda: preflow.FlowNetwork.from_arrays([0], [1], capacities=[2]), r"capacity\?"),  # type: ignore[call-arg]
        (lambda: preflow.PointCosts([[1.0]], [[2.0]], metrics="l1"), r"metric\?"),  # type: ignore[call-arg]
        (lambda: preflow.transport([[1]], [1], [1], m=1), r"amount\?"),  # type: ignore[call-arg]
        (lambda: preflow.transport([[1]], [1], [1], numItermax=9), r"time_limit\?"),  # type: ignore[call-arg]
        (lambda: preflow.max_flow(([0], [1], [2]), 0, 1, xyz=2), "unexpected keyword argument 'xyz'$"),  # type: ignore[call-overload]
    ],
)
def test_unknown_keywords_are_explained(call: Callable[[], Any], meant: str) -> None:
    with pytest.raises(TypeError, match=meant):
        call()
