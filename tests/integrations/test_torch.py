"""Costs of Torch tensors: values as without a gradient, derivatives as by finite differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

import preflow
from preflow.errors import InvalidInputError

torch = pytest.importorskip("torch")

from preflow.integrations import torch as differentiable  # noqa: E402

TAIL, HEAD = torch.tensor([0, 0, 1, 1, 2, 3, 0]), torch.tensor([1, 2, 2, 3, 3, 4, 4])
CAPACITY = torch.tensor([5.0, 3, 2, 4, 5, 9, torch.inf], dtype=torch.float64)


def randoms(*shape: int, seed: int = 0, dtype: Any = None) -> Any:
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(shape, generator=generator, dtype=dtype or torch.float64).requires_grad_()


def flow_cost(cost: Any, capacity: Any = None, amount: float = 6.5) -> Any:
    supply = torch.tensor([amount, 0, 0, 1.25, -amount - 1.25], dtype=torch.float64)
    return differentiable.min_cost_flow(TAIL, HEAD, CAPACITY if capacity is None else capacity, cost, supply)


@pytest.mark.parametrize("shape", [(4, 4), (3, 5), (5, 3), (2, 3, 4), (2, 2, 3, 2)])
@pytest.mark.parametrize("maximize", [False, True])
def test_assignment(shape: tuple[int, ...], maximize: bool) -> None:
    cost = randoms(*shape)
    total, column = differentiable.linear_assignment(cost, maximize=maximize)
    expected = preflow.linear_assignment(cost.detach(), maximize=maximize)
    assert torch.equal(total, torch.as_tensor(expected.cost, dtype=torch.float64))
    total.sum().backward()
    assert cost.grad.sum() == min(shape[-2:]) * total.numel()
    assert torch.allclose((cost * cost.grad).sum((-2, -1)), total)
    assert torch.equal(cost.grad.argmax(-1)[column >= 0], column[column >= 0])
    assert ((column >= 0) == cost.grad.any(-1)).all()
    assert torch.autograd.gradcheck(
        lambda given: differentiable.linear_assignment(given, maximize=maximize).cost, randoms(*shape, seed=1)
    )


def test_assignment_of_sizes_and_of_pairs_that_are_not_allowed() -> None:
    cost = randoms(3, 4, 5)
    sizes = [[4, 5], [2, 3], [3, 1]]
    total, column = differentiable.linear_assignment(cost, sizes=sizes)
    total.sum().backward()
    for item, (n, m) in enumerate(sizes):
        alone = cost[item, :n, :m].detach()
        row, best = linear_sum_assignment(alone.numpy())
        plan = np.zeros((4, 5))
        plan[row, best] = 1
        assert total[item].item() == pytest.approx(alone.numpy()[row, best].sum())
        assert cost.grad[item].tolist() == plan.tolist()
        assert int((column[item] >= 0).sum()) == len(row)
    barred = torch.tensor([[torch.inf, 1.0], [2.0, torch.inf]], requires_grad=True)
    total = differentiable.linear_assignment(barred).cost
    total.backward()
    assert total.item() == 3
    assert barred.grad.tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize("leading", [(), (3,), (2, 2)])
def test_transport(leading: tuple[int, ...]) -> None:
    cost, scores, others = randoms(*leading, 4, 5), randoms(*leading, 4, seed=1), randoms(5, seed=2)

    def value(cost: Any, scores: Any, others: Any) -> Any:
        return differentiable.transport(cost, scores.softmax(-1), others.softmax(-1)).cost

    assert torch.autograd.gradcheck(value, (cost, scores, others))
    plan = differentiable.transport(cost, scores.softmax(-1), others.softmax(-1))
    assert torch.allclose((plan.matrix() * cost).sum((-2, -1)), plan.cost)
    assert torch.allclose(plan.matrix().sum(-1), scores.softmax(-1))
    assert torch.allclose(plan.matrix().sum(-2), others.softmax(-1).expand(*leading, 5))
    assert (cost + plan.u[..., None] - plan.v[..., None, :] > -1e-12).all()
    assert not any(part.requires_grad for part in plan[1:])


def test_gradients_in_masses_keep_the_sums() -> None:
    cost = randoms(3, 4).detach()
    a, b = (
        torch.tensor([1.0, 2, 3]).double().requires_grad_(),
        torch.full((4,), 1.5).double().requires_grad_(),
    )
    differentiable.transport(cost, a, b).cost.backward()
    assert a.grad.sum().item() == pytest.approx(0)
    assert b.grad.sum().item() == pytest.approx(0)


def test_flow() -> None:
    cost = randoms(7)
    found = flow_cost(cost)
    expected = preflow.min_cost_flow(
        (TAIL, HEAD, CAPACITY, cost.detach()), torch.tensor([6.5, 0, 0, 1.25, -7.75], dtype=torch.float64)
    )
    assert found.cost.item() == pytest.approx(expected.cost)
    assert torch.equal(found.flow, expected.flow)
    assert not found.flow.requires_grad
    assert torch.autograd.gradcheck(lambda cost: flow_cost(cost).cost, cost)
    capacity = (CAPACITY.clamp(max=20) + 0.1).requires_grad_()
    assert torch.autograd.gradcheck(lambda given: flow_cost(cost.detach(), given).cost, capacity)

    def of_supply(some: Any) -> Any:
        supply = torch.cat([some, -some.sum()[None]])
        return differentiable.min_cost_flow(TAIL, HEAD, CAPACITY, cost.detach(), supply).cost

    assert torch.autograd.gradcheck(
        of_supply, torch.tensor([3.3, 0.2, 0.1, 1.0], dtype=torch.float64, requires_grad=True)
    )


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_dtypes(dtype: Any) -> None:
    cost = randoms(3, 3, dtype=torch.float32).detach().to(dtype).requires_grad_()
    masses = torch.full((3,), 1.0, dtype=dtype)
    for total in (
        differentiable.linear_assignment(cost).cost,
        differentiable.transport(cost, masses, masses).cost,
    ):
        cost.grad = None
        total.backward()
        assert (total.dtype, cost.grad.dtype) == (dtype, dtype)
        assert (cost * cost.grad).sum().item() == pytest.approx(total.item(), rel=0.02)
    for wrong in (torch.ones((2, 2), dtype=torch.int64), np.ones((2, 2))):
        with pytest.raises(InvalidInputError, match="convert it, or call the function"):
            differentiable.linear_assignment(wrong)


CALLS = {
    "linear_assignment": lambda cost: differentiable.linear_assignment(cost).cost,
    "transport": lambda cost: differentiable.transport(cost, cost.new_ones(7), cost.new_ones(7)).cost,
    "min_cost_flow": lambda cost: flow_cost(cost.diagonal()).cost,
}


@pytest.mark.parametrize("name", CALLS)
def test_second_derivatives_are_refused(name: str) -> None:
    cost = randoms(7, 7)
    (gradient,) = torch.autograd.grad(CALLS[name](cost), cost, create_graph=True)
    with pytest.raises(InvalidInputError, match="no second derivatives"):
        gradient.square().sum().backward()


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_the_compiler_keeps_one_graph(name: str) -> None:
    torch._dynamo.reset()

    def loss(cost: Any) -> Any:
        return (2 * CALLS[name](3 * cost) + cost.sum()) ** 2

    compiled = torch.compile(loss, backend="aot_eager", fullgraph=True)
    for seed in range(2):
        cost = randoms(7, 7, seed=seed)
        expected, found = loss(cost), compiled(cost)
        assert found.item() == pytest.approx(expected.item())
        gradients = [torch.autograd.grad(each, cost)[0] for each in (expected, found)]
        assert torch.allclose(*gradients)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_vmap_is_a_loop(name: str) -> None:
    costs = randoms(3, 7, 7)
    found = torch.vmap(CALLS[name])(costs)
    expected = torch.stack([CALLS[name](cost) for cost in costs])
    assert torch.allclose(found, expected)
    gradients = [torch.autograd.grad(each.sum(), costs)[0] for each in (found, expected)]
    assert torch.equal(*gradients)


@pytest.mark.slow
def test_operators_keep_the_rules_of_torch() -> None:
    supply = torch.tensor([2.0, 0, 0, 0, -2]).double()
    cost, masses = randoms(2, 3, 4), [randoms(2, k, seed=k).softmax(-1).detach() for k in (3, 4)]
    checks = ("test_schema", "test_faketensor", "test_autograd_registration", "test_aot_dispatch_dynamic")
    operators = torch.ops.preflow
    for operator, arguments in (
        (operators.linear_assignment, (cost, False, None)),
        (operators.transport, (cost, *masses)),
        (operators.min_cost_flow, (TAIL, HEAD, CAPACITY, randoms(7), supply)),
    ):
        torch.library.opcheck(operator.default, arguments, test_utils=checks)


@pytest.mark.parametrize("seed", range(20))
def test_targets_of_images(seed: int) -> None:
    random = np.random.default_rng(seed)
    images, queries = random.integers(1, 5), random.integers(1, 7)
    sizes = random.integers(0, 8, images).tolist()
    cost = torch.from_numpy(random.random((images, queries, sum(sizes)))).requires_grad_()
    found = differentiable.match_targets(cost, sizes)
    parts = torch.split(cost.detach(), sizes, dim=2)
    assert len(found) == images
    for image, (query, target) in enumerate(found):
        row, column = linear_sum_assignment(parts[image][image].numpy())
        assert (query.tolist(), target.tolist()) == (row.tolist(), column.tolist())
        assert query.dtype == target.dtype == torch.int64


def test_sizes_that_do_not_fit() -> None:
    for shape, sizes in (((2, 3, 4), [1, 2]), ((2, 3, 4), [4]), ((3, 4), [1, 2, 1]), ((1, 3, 0), [-1])):
        with pytest.raises(InvalidInputError, match="one size for each image"):
            differentiable.match_targets(torch.zeros(shape), sizes)


@pytest.mark.gpu
def test_on_a_gpu(gpu: object) -> None:
    """Everything stays there, on another stream than the first one too."""
    cost = randoms(4, 6, 5)
    masses = cost.new_full((6,), 1 / 6), cost.new_full((5,), 1 / 5)
    with torch.cuda.stream(torch.cuda.Stream()):
        there = cost.detach().cuda().requires_grad_()
        for solve in (
            lambda given: differentiable.linear_assignment(given).cost,
            lambda given: differentiable.transport(given, *(mass.to(given.device) for mass in masses)).cost,
        ):
            on_host, on_gpu = solve(cost), solve(there)
            assert on_gpu.is_cuda
            assert torch.allclose(on_gpu.cpu(), on_host)
            pairs = (on_host, cost), (on_gpu, there)
            first, second = (torch.autograd.grad(total.sum(), given)[0] for total, given in pairs)
            assert torch.allclose(first, second.cpu())
        found, expected = (differentiable.match_targets(given, [2, 0, 1, 2]) for given in (there, cost))
    for pair, other in zip(found, expected, strict=True):
        assert [side.tolist() for side in pair] == [side.tolist() for side in other]
