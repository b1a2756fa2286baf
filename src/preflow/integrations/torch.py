"""Costs of Torch tensors that have a gradient: of assignment, of transport and of minimum-cost flow.

Each solve is an operator, which autograd differentiates and ``torch.compile`` leaves in its graph. The
optimum of a linear program is piecewise linear in the data. Its derivative in the costs is the optimal plan,
and its derivative in the masses, the supplies or the capacities is the dual solution (Bertsimas and
Tsitsiklis, Introduction to Linear Optimization, chapter 5). Where the optimum is not unique, these are
subgradients.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..arrays import AnyArray, Untyped
from ..assignment.api import linear_assignment as _assign
from ..assignment.result import AssignmentResult
from ..assignment.shortest_paths import FEW_COLUMNS
from ..checks import needed_for
from ..errors import InvalidInputError
from ..graph.cost_network import CostNetwork
from ..mincost.api import min_cost_flow as _flow
from ..transportation.api import transport as _transport
from .differentiable import Assignment, Flow, second_derivative

with needed_for("preflow.integrations.torch", "torch", "torch"):
    import torch


class Plan(NamedTuple):
    """Transport plans of the least cost.

    Attributes
    ----------
    cost : Tensor, shape (...)
        The least cost of each item, with a gradient in the costs and the masses. No other attribute has one.
    row, column : Tensor of int64, shape (..., n + m - 1)
    mass : Tensor, shape (..., n + m - 1)
        The pairs that carry mass. A plan of fewer pairs ends in pairs (0, 0) without mass.
    u, v : Tensor, shapes (..., n) and (..., m)
        Prices: ``cost[i, j] + u[i] - v[j]`` is at least zero, and zero for the pairs that carry mass.
    """

    cost: torch.Tensor
    row: torch.Tensor
    column: torch.Tensor
    mass: torch.Tensor
    u: torch.Tensor
    v: torch.Tensor

    def matrix(self) -> torch.Tensor:
        """Return the plans as dense matrices, shape (..., n, m)."""
        n, m = self.u.shape[-1], self.v.shape[-1]
        return _scattered(self.row * m + self.column, self.mass, (*self.cost.shape, n, m))


def linear_assignment(
    cost: torch.Tensor, *, maximize: bool = False, sizes: torch.Tensor | Sequence[Sequence[int]] | None = None
) -> Assignment[torch.Tensor]:
    """Pair rows with columns at the least total cost, which has a gradient.

    Parameters
    ----------
    cost : Tensor of floats, shape (..., n, m)
        On the CPU or a GPU, where it is then solved. Infinite: not allowed.
    maximize : bool
        Find the largest total instead.
    sizes : Tensor of integers, shape (..., 2), or lists, optional
        The number of rows and of columns of each matrix of a batch; entries beyond these are ignored.

    Returns
    -------
    Assignment
        The cost has the dtype and the device of `cost`; it is found in float64. Where float64 does not prove
        the optimum (status "approximate"), it is the cost of what was found.

    Raises
    ------
    InvalidInputError, InfeasibleError
        As in :func:`preflow.linear_assignment`; or `cost` has no floats. A second derivative is refused.

    Notes
    -----
    The solve is :func:`preflow.linear_assignment`, whose complexity it has. The gradient takes O(n m).

    Examples
    --------
    >>> cost = torch.tensor([[4.0, 1, 3], [2, 0, 5], [3, 2, 2]], requires_grad=True)
    >>> total, column = linear_assignment(cost)
    >>> total.backward()
    >>> total.item(), column.tolist(), cost.grad.tolist()
    (5.0, [1, 0, 2], [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    """
    _check_floats(cost=cost)
    given = sizes if sizes is None or isinstance(sizes, torch.Tensor) else torch.tensor(sizes)
    return Assignment(*torch.ops.preflow.linear_assignment(cost, maximize, given))


def match_targets(cost: torch.Tensor, sizes: Sequence[int]) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Pair the queries of each image with its targets, as the matcher of a DETR does.

    Parameters
    ----------
    cost : Tensor of floats, shape (B, Q, sum(sizes))
        The cost of each query of each image with each target of all images. Those of other images are not
        read.
    sizes : sequence of B integers
        The number of targets of each image. The columns of `cost` are in the order of the images.

    Returns
    -------
    list of (queries, targets)
        For each image, int64 tensors of ``min(Q, sizes[i])`` pairs, by ascending queries, on the device of
        `cost`. Targets are numbered from 0 in each image. Where one pairing is cheapest it is that of
        ``scipy.optimize.linear_sum_assignment``.

    Raises
    ------
    InvalidInputError, InfeasibleError
        As in :func:`preflow.linear_assignment`; or the sizes do not sum to the columns.

    Notes
    -----
    Indices have no gradient: compute the loss of the pairs from the predictions. Images of up to 128 queries
    and targets on the host are solved one after the other, in microseconds each. Others are one batch of
    :func:`preflow.linear_assignment`, filled up to the largest number of targets.

    Examples
    --------
    >>> cost = torch.tensor([[[1.0, 9, 9], [9, 1, 9]], [[9.0, 9, 5], [9, 9, 2]]])
    >>> [(query.tolist(), target.tolist()) for query, target in match_targets(cost, [2, 1])]
    [([0, 1], [0, 1]), ([1], [0])]
    """
    _check_floats(cost=cost)
    sizes = [int(size) for size in sizes]
    if cost.ndim != 3 or len(sizes) != len(cost) or min(sizes, default=0) < 0 or sum(sizes) != cost.shape[2]:
        raise InvalidInputError(
            f"cost has shape {tuple(cost.shape)} and there are sizes {sizes}: give one size for each image, "
            "and a column for each target of all images"
        )
    images, queries, _ = cost.shape
    most = max(sizes, default=0)
    if not queries or not most:
        none = torch.zeros(0, dtype=torch.int64, device=cost.device)
        return [(none, none) for _ in sizes]
    parts = [part[image] for image, part in enumerate(torch.split(cost.detach(), sizes, dim=2))]
    if all(map(_is_small, parts)):
        return [(_tensor(result.row), _tensor(result.column)) for result in map(_pairs, parts)]
    stack = cost.new_zeros((images, queries, most), requires_grad=False)
    for item, (part, size) in enumerate(zip(parts, sizes, strict=True)):
        stack[item, :, :size] = part
    result = _pairs(stack, sizes=[[queries, size] for size in sizes])
    pairs = [min(queries, size) for size in sizes]
    return [(result.row[image, :k], result.column[image, :k]) for image, k in enumerate(pairs)]


def transport(cost: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> Plan:
    """Find the cheapest plan that moves masses from rows to columns; its cost has a gradient.

    Parameters
    ----------
    cost : Tensor of floats, shape (..., n, m)
        Cost of moving one unit from row i to column j. Infinite: not allowed.
    a : Tensor of floats, shape (..., n)
        Mass of each row, not negative. One tensor of shape (n,) holds for all items of a batch.
    b : Tensor of floats, shape (..., m)
        Mass of each column, with the same sum as `a`, up to rounding.

    Returns
    -------
    Plan
        The cost has the dtype and the device of `cost`; it is found in float64. Where float64 does not prove
        the optimum (status "approximate"), it is the cost of what was found.

    Raises
    ------
    InvalidInputError, InfeasibleError, CapacityOverflowError, CostOverflowError
        As in :func:`preflow.transport`; or a tensor has no floats. A second derivative is refused.

    Notes
    -----
    The gradient in the costs is the plan. In the masses it is ``-u`` and ``v``, each less its mean: it is the
    gradient for changes that keep the sums of the masses, such as those of a softmax. The solve is
    :func:`preflow.transport`; the gradient takes O(n m).

    Examples
    --------
    >>> cost = torch.tensor([[4.0, 1], [2, 3]], requires_grad=True)
    >>> a = torch.tensor([3.0, 5], requires_grad=True)
    >>> plan = transport(cost, a, torch.tensor([4.0, 4]))
    >>> plan.cost.backward()
    >>> plan.cost.item(), cost.grad.tolist(), a.grad.tolist()
    (14.0, [[0.0, 3.0], [4.0, 1.0]], [-1.0, 1.0])
    """
    _check_floats(cost=cost, a=a, b=b)
    masses = [each.expand(*cost.shape[:-2], *each.shape[-1:]) for each in (a, b)]
    return Plan(*torch.ops.preflow.transport(cost, *masses))


def min_cost_flow(
    tail: torch.Tensor,
    head: torch.Tensor,
    capacity: torch.Tensor,
    cost: torch.Tensor,
    supply: torch.Tensor,
) -> Flow[torch.Tensor]:
    """Find a flow of minimum cost that sends all supplies to the demands; its cost has a gradient.

    Parameters
    ----------
    tail, head : Tensor of integers, shape (num_arcs,)
        End vertices, numbered from 0. Tensors are on the host.
    capacity : Tensor of floats, shape (num_arcs,)
        Not negative; may be infinite.
    cost : Tensor of floats, shape (num_arcs,)
        Cost of one unit.
    supply : Tensor of floats, shape (num_vertices,)
        Positive: the vertex sends that much; negative: it receives. They sum to zero.

    Returns
    -------
    Flow
        The cost has the dtype of `cost`; otherwise as of :func:`transport`.

    Raises
    ------
    InvalidInputError, InfeasibleError, UnboundedCostError, CapacityOverflowError, CostOverflowError
        As in :func:`preflow.min_cost_flow`; or a tensor has no floats. A second derivative is refused.

    Notes
    -----
    The gradient in the costs is the flow, in the capacities the negative part of the reduced costs, and in
    the supplies the potentials with the opposite sign, less their mean. The solve is
    :func:`preflow.min_cost_flow`.

    Examples
    --------
    >>> tail, head = torch.tensor([0, 0, 1]), torch.tensor([1, 2, 2])
    >>> capacity = torch.tensor([4.0, 4, 4], requires_grad=True)
    >>> cost = torch.tensor([1.0, 5, 2], requires_grad=True)
    >>> found = min_cost_flow(tail, head, capacity, cost, torch.tensor([6.0, 0, -6]))
    >>> found.cost.backward()
    >>> found.cost.item(), cost.grad.tolist(), capacity.grad.tolist()
    (22.0, [4.0, 2.0, 4.0], [0.0, 0.0, -2.0])
    """
    _check_floats(capacity=capacity, cost=cost, supply=supply)
    return Flow(*torch.ops.preflow.min_cost_flow(tail, head, capacity, cost, supply))


def _check_floats(**tensors: torch.Tensor) -> None:
    """Raise InvalidInputError unless all are tensors of floats."""
    for name, tensor in tensors.items():
        if not isinstance(tensor, torch.Tensor) or not tensor.dtype.is_floating_point:
            kind = tensor.dtype if isinstance(tensor, torch.Tensor) else type(tensor).__name__
            raise InvalidInputError(
                f"{name} is {kind}, and only a tensor of floats has a gradient: convert it, or call the "
                "function of preflow itself, which takes integers and other arrays"
            )


def _wide(tensor: torch.Tensor) -> torch.Tensor:
    """Return floats of 32 or 64 bits."""
    return tensor.float() if tensor.itemsize < 4 else tensor


def _is_small(cost: torch.Tensor) -> bool:
    """Return whether a kernel for small matrices on the host, of float64, solves these costs."""
    on_host: bool = cost.device.type == "cpu"
    return on_host and cost.ndim == 2 and max(cost.shape) <= FEW_COLUMNS


def _pairs(cost: torch.Tensor, maximize: bool = False, sizes: AnyArray = None) -> AssignmentResult:
    cost = _wide(cost.detach())
    if _is_small(cost):
        return _assign(cost.double().numpy(), maximize=maximize)
    return _assign(cost, maximize=maximize, sizes=sizes)


def _tensor(values: AnyArray) -> torch.Tensor:
    """Return an array of a result as a tensor."""
    return values if isinstance(values, torch.Tensor) else torch.tensor(values)


def _scattered(index: torch.Tensor, amount: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    """Return matrices with amounts at indices of their entries, counted row by row, and zeros elsewhere."""
    flat = amount.new_zeros((*shape[:-2], shape[-2] * shape[-1]))
    return flat.scatter_add_(-1, index, amount).reshape(shape)


# The operators. Each has the numbers, the shapes of what it returns, and the derivative.


def _solve_assignment(
    cost: torch.Tensor, maximize: bool, sizes: torch.Tensor | None
) -> tuple[torch.Tensor, torch.Tensor]:
    result = _pairs(cost, maximize, sizes)
    total = result.lower_bound if maximize else result.upper_bound
    n = cost.shape[-2]
    column = cost.new_full((*cost.shape[:-2], n + 1), -1, dtype=torch.int64)
    # Pairs that a smaller matrix lacks go to row n, which is cut off.
    row = _tensor(result.row)
    column.scatter_(-1, torch.where(row < 0, n, row), _tensor(result.column))
    return torch.as_tensor(total, dtype=torch.float64).to(cost), column[..., :n].contiguous()


def _shapes_of_assignment(
    cost: torch.Tensor, maximize: bool, sizes: torch.Tensor | None
) -> tuple[torch.Tensor, torch.Tensor]:
    return cost.new_empty(cost.shape[:-2]), cost.new_empty(cost.shape[:-1], dtype=torch.int64)


def _save_assignment(ctx: Untyped, inputs: tuple[Untyped, ...], output: tuple[Untyped, ...]) -> None:
    ctx.save_for_backward(inputs[0], output[1])


def _derive_assignment(
    ctx: Untyped, of_cost: torch.Tensor, *others: object
) -> tuple[torch.Tensor, None, None]:
    cost, column = ctx.saved_tensors
    n, m = cost.shape[-2:]
    index = torch.arange(n, device=column.device) * m + column.clamp(min=0)
    return _derivative(of_cost, cost, (column >= 0).to(cost), index), None, None


def _solve_transport(cost: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, ...]:
    leading, (n, m) = cost.shape[:-2], cost.shape[-2:]
    results = _transport(*(_wide(each.detach()) for each in (cost, a, b)))
    results = results if leading else [results]
    count = n + m - 1
    pairs = cost.new_zeros((2, len(results), count), dtype=torch.int64)
    amounts = cost.new_zeros((len(results), count), dtype=torch.float64)
    for item, result in enumerate(results):
        k = len(result.mass)
        pairs[0, item, :k], pairs[1, item, :k], amounts[item, :k] = result.row, result.column, result.mass
    total = torch.tensor([result.upper_bound for result in results], dtype=torch.float64)
    prices = (torch.stack([getattr(result, name) for result in results]) for name in ("u", "v"))
    found = (total.to(cost), pairs[0].clone(), pairs[1].clone(), amounts.to(cost), *prices)
    shapes = ((), (count,), (count,), (count,), (n,), (m,))
    return tuple(
        (part if part.dtype == torch.int64 else part.to(cost)).reshape((*leading, *shape))
        for part, shape in zip(found, shapes, strict=True)
    )


def _shapes_of_transport(cost: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, ...]:
    leading, (n, m) = cost.shape[:-2], cost.shape[-2:]
    pairs = [cost.new_empty((*leading, n + m - 1), dtype=torch.int64) for _ in range(2)]
    return (
        cost.new_empty(leading),
        *pairs,
        *(cost.new_empty((*leading, k)) for k in (n + m - 1, n, m)),
    )


def _save_all(ctx: Untyped, inputs: tuple[Untyped, ...], output: tuple[Untyped, ...]) -> None:
    """Keep the arguments, and what the solve found besides the cost."""
    ctx.mark_non_differentiable(*output[1:])
    ctx.save_for_backward(*inputs, *output[1:])


def _derive_transport(
    ctx: Untyped, of_cost: torch.Tensor, *others: object
) -> tuple[torch.Tensor | None, ...]:
    cost, a, b, row, column, mass, u, v = ctx.saved_tensors
    for_cost, for_a, for_b = ctx.needs_input_grad
    rows, columns = (prices - prices.mean(-1, keepdim=True) for prices in (-u, v))
    return (
        _derivative(of_cost, cost, mass, row * cost.shape[-1] + column) if for_cost else None,
        _derivative(of_cost, a, rows) if for_a else None,
        _derivative(of_cost, b, columns) if for_b else None,
    )


def _solve_flow(
    tail: torch.Tensor, head: torch.Tensor, capacity: torch.Tensor, cost: torch.Tensor, supply: torch.Tensor
) -> tuple[torch.Tensor, ...]:
    capacity, costs, supply = (_wide(each.detach()) for each in (capacity, cost, supply))
    result = _flow(CostNetwork.from_arrays(tail, head, capacity=capacity, cost=costs, supply=supply))
    total = torch.tensor(result.upper_bound, dtype=torch.float64)
    found = (total, *map(torch.as_tensor, (result.flow, result.potentials)))
    return tuple(part.to(cost) for part in found)


def _shapes_of_flow(
    tail: torch.Tensor, head: torch.Tensor, capacity: torch.Tensor, cost: torch.Tensor, supply: torch.Tensor
) -> tuple[torch.Tensor, ...]:
    return cost.new_empty(()), torch.empty_like(cost), cost.new_empty(supply.shape)


def _derive_flow(ctx: Untyped, of_cost: torch.Tensor, *others: object) -> tuple[torch.Tensor | None, ...]:
    tail, head, capacity, cost, supply, flow, potentials = ctx.saved_tensors
    reduced = cost.detach() + potentials[tail] - potentials[head]
    centred = potentials.mean() - potentials
    return (
        None,
        None,
        _derivative(of_cost, capacity, reduced.clamp(max=0)) if ctx.needs_input_grad[2] else None,
        _derivative(of_cost, cost, flow) if ctx.needs_input_grad[3] else None,
        _derivative(of_cost, supply, centred) if ctx.needs_input_grad[4] else None,
    )


def _derivative(
    of_cost: torch.Tensor, variable: torch.Tensor, amount: torch.Tensor, index: torch.Tensor | None = None
) -> torch.Tensor:
    """Return the derivative of a loss in `variable`, from that in the cost and that of the cost."""
    return torch.ops.preflow.derivative(of_cost, variable, amount, index)


def _times(
    of_cost: torch.Tensor, variable: torch.Tensor, amount: torch.Tensor, index: torch.Tensor | None
) -> torch.Tensor:
    found = of_cost[..., None] * amount
    return (found if index is None else _scattered(index, found, variable.shape)).to(variable.dtype)


def _shape_of_derivative(
    of_cost: torch.Tensor, variable: torch.Tensor, amount: torch.Tensor, index: torch.Tensor | None
) -> torch.Tensor:
    return variable.new_empty(variable.shape)


def _save_nothing(ctx: Untyped, inputs: tuple[Untyped, ...], output: torch.Tensor) -> None:
    """Keep nothing: the second derivative is refused."""


def _refuse_second(ctx: Untyped, *gradients: torch.Tensor) -> None:
    raise second_derivative(".detach() the gradient")


def _register(
    name: str,
    arguments: str,
    solve: Callable[..., Untyped],
    shapes: Callable[..., Untyped],
    save: Callable[..., Untyped],
    derive: Callable[..., Untyped],
) -> None:
    """Make an operator ``torch.ops.preflow.NAME``."""
    operator = torch.library.custom_op(f"preflow::{name}", solve, mutates_args=(), schema=arguments)
    operator.register_fake(shapes)
    operator.register_autograd(derive, setup_context=save)


_register(
    "linear_assignment",
    "(Tensor cost, bool maximize, Tensor? sizes) -> (Tensor, Tensor)",
    _solve_assignment,
    _shapes_of_assignment,
    _save_assignment,
    _derive_assignment,
)
_register(
    "transport",
    "(Tensor cost, Tensor a, Tensor b) -> (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)",
    _solve_transport,
    _shapes_of_transport,
    _save_all,
    _derive_transport,
)
_register(
    "min_cost_flow",
    "(Tensor tail, Tensor head, Tensor capacity, Tensor cost, Tensor supply) -> (Tensor, Tensor, Tensor)",
    _solve_flow,
    _shapes_of_flow,
    _save_all,
    _derive_flow,
)
_register(
    "derivative",
    "(Tensor of_cost, Tensor variable, Tensor amount, Tensor? index) -> Tensor",
    _times,
    _shape_of_derivative,
    _save_nothing,
    _refuse_second,
)
