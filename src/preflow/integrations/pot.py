"""Drop-in replacements of the exact solvers of POT (Python Optimal Transport): its arguments and results.

Of several optimal plans they may return another one. :doc:`/problems/coming_from` lists what else differs on
purpose.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..arrays import AnyArray, Untyped
from ..eager import eager
from ..errors import InvalidInputError
from ..graph.placement import is_tensor
from ..graph.point_costs import PointCosts
from ..transportation.api import transport


class MassError(InvalidInputError, AssertionError):
    """The masses do not fit the costs or each other: POT raises an AssertionError."""


class Solved(NamedTuple):
    """A plan with its cost and prices. The prices have the signs of POT."""

    cost: Untyped
    warning: str | None
    u: AnyArray
    v: AnyArray
    dense: Callable[[], AnyArray]
    sparse: Callable[[], AnyArray]


@eager
def emd(
    a: AnyArray,
    b: AnyArray,
    M: AnyArray,
    numItermax: int = 100000,
    log: bool = False,
    center_dual: bool = True,
    numThreads: int | str = 1,
    check_marginals: bool = True,
    potentials_init: tuple[AnyArray, AnyArray] | None = None,
) -> Untyped:
    """Find the cheapest transport plan, as ``ot.emd`` does.

    Parameters
    ----------
    a, b : array_like, shapes (n,) and (m,)
        Masses of rows and columns; empty: all the same, with the sum 1.
    M : array_like or sparse matrix, shape (n, m)
        Costs, of NumPy, Torch, JAX or CuPy. A sparse matrix of SciPy or Torch allows its stored pairs; that
        of Torch is solved as a dense one.
    log : bool
        Return a dictionary, too, with "cost", "u", "v", "warning" and "result_code" (1).
        The warning is None unless float64 does not prove the optimum.
    center_dual : bool
        Move the prices by a constant such that the masses weigh those of rows and of columns equally.
    check_marginals : bool
        Refuse masses whose sums differ by more than 1e-6. Otherwise the masses of columns are scaled.
    numThreads : int
        Deprecated in POT, and without effect.
    numItermax, potentials_init
        Accepted for compatibility: the result is always optimal.

    Returns
    -------
    plan : array, or sparse matrix for sparse costs, shape (n, m)
        Of the library of `M` and the dtype of `a` (of `b`, of `M`, if `a` has none).
    log : dict
        If `log` is true.

    Raises
    ------
    MassError
        An AssertionError: there are not as many masses as rows and columns, or their sums differ.
    InvalidInputError, InfeasibleError
        A ValueError: as in :func:`preflow.transport`.

    Notes
    -----
    The solve is :func:`preflow.transport`.

    Examples
    --------
    >>> emd([0.5, 0.5], [0.5, 0.5], [[0.0, 1.0], [1.0, 0.0]]).tolist()
    [[0.5, 0.0], [0.0, 0.5]]
    """
    _warn(numThreads)
    a, b, M, dtype = _read(a, b, M, check_marginals)
    found = _solve(a, b, M)
    plan = _cast(found.sparse() if _is_sparse(M) else found.dense(), dtype)
    return (plan, _log(found, a, b, dtype, center_dual)) if log else plan


@eager
def emd2(
    a: AnyArray,
    b: AnyArray,
    M: AnyArray,
    processes: int = 1,
    numItermax: int = 100000,
    log: bool = False,
    return_matrix: bool = False,
    center_dual: bool = True,
    numThreads: int | str = 1,
    check_marginals: bool = True,
    potentials_init: tuple[AnyArray, AnyArray] | None = None,
) -> Untyped:
    """Find the cost of the cheapest transport plan, as ``ot.emd2`` does.

    Parameters
    ----------
    a, b, M, log, center_dual, check_marginals
        As in :func:`emd`. `b` may have shape (m, k): a column for each of k problems.
    return_matrix : bool
        The dictionary has the plan as "G".
    numThreads : int
        Deprecated in POT, and without effect.
    processes, numItermax, potentials_init
        Accepted for compatibility: the result is always optimal.

    Returns
    -------
    cost : number
        Of Torch a tensor, whose gradient is that of :func:`preflow.integrations.torch.transport`. A list if
        `b` has two dimensions.
    log : dict
        If `log` or `return_matrix` is true.

    Raises
    ------
    MassError, InvalidInputError, InfeasibleError
        As in :func:`emd`.

    Examples
    --------
    >>> emd2([0.5, 0.5], [0.25, 0.75], [[0.0, 1.0], [1.0, 0.0]])
    0.25
    """
    _warn(numThreads)
    if getattr(b, "ndim", 1) == 2:
        several = (b[:, item] for item in range(b.shape[1]))
        options: dict[str, Untyped] = {"log": log, "return_matrix": return_matrix, "center_dual": center_dual}
        return [emd2(a, each, M, check_marginals=check_marginals, **options) for each in several]
    a, b, M, dtype = _read(a, b, M, check_marginals)
    found = _solve(a, b, M)
    cost = _cast(found.cost, dtype)
    if not log and not return_matrix:
        return cost
    says = _log(found, a, b, dtype, center_dual)
    if return_matrix:
        says["G"] = _cast(found.sparse() if _is_sparse(M) else found.dense(), dtype)
    return cost, says


@eager
def emd2_lazy(
    X_a: AnyArray,
    X_b: AnyArray,
    a: AnyArray = None,
    b: AnyArray = None,
    metric: str = "sqeuclidean",
    numItermax: int = 100000,
    log: bool = False,
    return_matrix: bool = True,
    center_dual: bool = True,
    check_marginals: bool = True,
    potentials_init: tuple[AnyArray, AnyArray] | None = None,
) -> Untyped:
    """Find the cost of the cheapest plan between points without storing distances, as ``ot.lp.emd2_lazy``.

    Parameters
    ----------
    X_a, X_b : array_like, shapes (n, d) and (m, d)
        Points.
    a, b : array_like, shapes (n,) and (m,), optional
        Masses. Default: all the same, with the sum 1.
    metric : str
        Untyped of :class:`preflow.PointCosts`.
    log, center_dual, check_marginals
        As in :func:`emd`.
    return_matrix : bool
        The dictionary has the plan as "G", a sparse matrix.
    numItermax, potentials_init
        Accepted for compatibility: the result is always optimal.

    Returns
    -------
    cost : number
    log : dict
        If `log` or `return_matrix` is true; the second one is by default, as in POT.

    Raises
    ------
    MassError, InvalidInputError
        As in :func:`emd`.

    Examples
    --------
    >>> emd2_lazy([[0.0], [1.0]], [[1.0], [3.0]], return_matrix=False)
    2.5
    """
    points = PointCosts(X_a, X_b, metric=metric)
    a, b, _, dtype = _read(() if a is None else a, () if b is None else b, points, check_marginals)
    found = _solve(a, b, points)
    cost = _cast(found.cost, dtype)
    if not log and not return_matrix:
        return cost
    says = _log(found, a, b, dtype, center_dual)
    return cost, says | ({"G": _cast(found.sparse(), dtype)} if return_matrix else {})


@eager
def partial_wasserstein(
    a: AnyArray,
    b: AnyArray,
    M: AnyArray,
    m: float | None = None,
    nb_dummies: int = 1,
    log: bool = False,
    **kwargs: Untyped,
) -> Untyped:
    """Find the cheapest plan that moves a part of the masses, as ``ot.partial.partial_wasserstein`` does.

    Parameters
    ----------
    a, b, M
        As in :func:`emd`; the sums may differ.
    m : float, optional
        The mass to be moved. Default: as much as possible.
    log : bool
        Return a dictionary, too, as of :func:`emd`, in which "partial_w_dist" is the cost.
    nb_dummies, **kwargs
        Accepted for compatibility: no dummy points are needed.

    Returns
    -------
    plan : array, shape (n, m)
    log : dict
        If `log` is true.

    Raises
    ------
    InvalidInputError
        A ValueError: `m` is negative, or more than there is.
    MassError
        As in :func:`emd`.

    Examples
    --------
    >>> partial_wasserstein([0.1, 0.2], [0.1, 0.1], [[0.0, 1.0], [2.0, 3.0]], m=0.1).tolist()
    [[0.1, 0.0], [0.0, 0.0]]
    """
    a, b, M, dtype = _read(a, b, M, None)
    a, b, M = map(_without_gradient, (a, b, M))
    most = min(float(a.sum()), float(b.sum()))
    amount = most if m is None else float(m)
    if amount > most:
        if amount > most * (1 + 1e-12):
            raise InvalidInputError(f"m is {amount}, and there is no more than {most} to move")
        amount = most
    found = _solve(a, b, M, amount=amount)
    plan = _cast(found.dense(), dtype)
    if not log:
        return plan
    says = _log(found, a, b, dtype, False)
    return plan, says | {"partial_w_dist": says["cost"]}


def _read(
    a: AnyArray, b: AnyArray, M: AnyArray, check: bool | None
) -> tuple[AnyArray, AnyArray, AnyArray, Untyped]:
    """Return masses, with equal sums unless `check` is None, the costs, and the dtype of results."""
    if isinstance(M, list | tuple):
        M = np.asarray(M)
    sides = [np.asarray(each) if isinstance(each, list | tuple) else each for each in (a, b)]
    dtype = next((each.dtype for each in sides if len(each)), getattr(M, "dtype", np.dtype(np.float64)))
    shape = tuple(M.shape[-2:])
    a, b = (each if len(each) else np.full(size, 1 / size) for each, size in zip(sides, shape, strict=True))
    if shape != (len(a), len(b)):
        raise MassError(f"the costs have shape {shape}, and there are {len(a)} and {len(b)} masses")
    if check is None:
        return a, b, M, dtype
    sums = [float(_without_gradient(each).sum()) for each in (a, b)]
    if check and not abs(sums[0] - sums[1]) <= 1e-6 + 1e-7 * abs(sums[1]):
        raise MassError(
            f"the masses have different sums: {sums[0]:,} and {sums[1]:,}; check_marginals=False scales the "
            "second ones, and partial_wasserstein leaves the rest where it is"
        )
    if sums[1] and abs(sums[0] - sums[1]) > 1e-9 * sums[1]:  # transport sees to what is smaller
        b = b * (sums[0] / sums[1])
    return a, b, M, dtype


def _solve(a: AnyArray, b: AnyArray, M: AnyArray, **options: Untyped) -> Solved:
    """Solve, with a gradient if the costs are a tensor of Torch."""
    if not options and hasattr(M, "requires_grad"):
        import torch

        from . import torch as differentiable

        costs = M if M.dtype.is_floating_point else M.double()
        if costs.is_sparse:
            costs = costs.coalesce()
            values = costs.values()
            costs = values.new_full(costs.shape, torch.inf).index_put(tuple(costs.indices()), values)
        masses = (torch.as_tensor(each).to(costs) for each in (a, b))
        plan = differentiable.transport(costs, *masses)
        return Solved(plan.cost, None, -plan.u, plan.v, plan.matrix, lambda: plan.matrix().to_sparse())
    result = transport(M, a, b, **options)
    cost, gap = result.upper_bound, result.upper_bound - result.lower_bound
    warning = f"the cost is proved to be within {gap:.2g} of the optimum" if gap else None
    return Solved(cost, warning, -result.u, result.v, result.matrix, lambda: result.sparse().tocoo())


def _warn(threads: int | str) -> None:
    """Warn as POT does."""
    if threads != 1:
        warnings.warn("numThreads is deprecated and has no effect", DeprecationWarning, stacklevel=4)


def _without_gradient(array: AnyArray) -> AnyArray:
    return array.detach() if hasattr(array, "requires_grad") else array


def _is_sparse(M: AnyArray) -> bool:
    return hasattr(M, "tocoo") or getattr(M, "is_sparse", False)


def _cast(values: Untyped, dtype: Untyped) -> Untyped:
    """Return an array or a number with a dtype of its library, as near as that library has it."""
    if hasattr(values, "requires_grad"):
        import torch

        return values.to(dtype if isinstance(dtype, torch.dtype) else getattr(torch, np.dtype(dtype).name))
    if isinstance(values, int | float):
        return np.dtype(dtype).type(values).item() if not _is_foreign(dtype) else values
    return values if _is_foreign(dtype) else values.astype(dtype)


def _is_foreign(dtype: Untyped) -> bool:
    """Return whether a dtype is one of Torch."""
    return type(dtype).__module__ == "torch"


def _log(found: Solved, a: AnyArray, b: AnyArray, dtype: Untyped, center: bool) -> dict[str, Untyped]:
    """Return the dictionary of a result, with prices that are centred if this is wanted."""
    u, v = found.u, found.v
    if center:
        a, b = map(_without_gradient, (a, b))
        a, b = (each if is_tensor(u) or not is_tensor(each) else np.asarray(each) for each in (a, b))
        off = (float((v * b).sum()) - float((u * a).sum())) / (float(a.sum()) + float(b.sum()))
        u, v = u + off, v - off
    return {
        "cost": _cast(found.cost, dtype),
        "u": _cast(u, dtype),
        "v": _cast(v, dtype),
        "warning": found.warning,
        "result_code": 1,
    }
