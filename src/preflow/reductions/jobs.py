"""An assignment in which a worker takes several jobs, as a minimum-cost flow.

A source supplies workers up to their limits, a pair of a worker and a job is an arc with its cost, and jobs
pass on as many workers as they need to a sink. The least number of jobs of a worker is the lower bound of the
arc from the source. Potentials become what a worker's time and a job are worth.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import AnyArray, Array, EndsNames, SideLabels
from ..certify.fields import check_array
from ..drawing.pairs import check_cells, draw_costs
from ..errors import InfeasibleError, InfeasibleFlowError, InvalidInputError, VerificationError
from ..graph.cost_edges import with_edges_read
from ..graph.cost_network import CostNetwork, lower_of
from ..graph.costs import DenseCosts
from ..graph.edge_tables import Tabular, in_order_of, labels_of
from ..mincost.result import MinCostFlowResult
from ..solving.call import Keywords
from ..solving.drawn import DrawnResult
from .base import CostReduction, alike, check_fits, one_matrix, read_limits
from .most_for_least import MaxFlowMinCostResult, max_flow_min_cost

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class JobAssignment(Tabular, DrawnResult):
    """The cheapest way (the best, with `maximize`) to give jobs to workers, and the prices that prove it.

    Attributes
    ----------
    worker, job : ndarray of int64, shape (k,)
        The pairs, by jobs. :meth:`pairs` and :meth:`to_pandas` have the caller's labels.
    cost : int or float
        The sum of the costs of the pairs.
    load : ndarray of int64, shape (num_workers,)
        How many jobs each worker does.
    rent : ndarray, shape (num_workers,)
        What one more job of a full worker's time is worth; 0 for a worker with time left. Below zero where a
        worker does no more jobs than the least: what one job fewer would be worth.
    price : ndarray, shape (num_jobs,)
        The price of doing a job: at most the cost plus the rent of each worker (with `maximize`, at least the
        worth less the rent). Equal for a pair that was chosen, if the job needs one worker. If all jobs are
        done, `cost` is the sum of the prices times what the jobs need, less the rents times the limits (times
        the least numbers, where rents are below zero), less what pairs of jobs that need several workers cost
        below the price of the job. With `maximize`, rents and what such pairs are worth above it are added.
    result : MinCostFlowResult
        The flow and the potentials.
    complete : bool
        Whether all jobs are done.
    cover_workers, cover_jobs : ndarray of bool, shapes (num_workers,) and (num_jobs,)
        The limits of these workers, the needs of these jobs, and one for each allowed pair without an end
        among them sum to the number of pairs: no assignment has more.
    labels : (tuple, tuple) or None
        The caller's labels of workers and of jobs, if the costs have some.
    least : ndarray of int64, shape (num_workers,)
        How many jobs each worker does at least.
    maximize : bool
    """

    worker: NDArray[np.int64]
    job: NDArray[np.int64]
    cost: int | float
    load: NDArray[np.int64]
    rent: Array
    price: Array
    limit: NDArray[np.int64]
    needs: NDArray[np.int64]
    result: MinCostFlowResult
    complete: bool
    cover_workers: NDArray[np.bool_]
    cover_jobs: NDArray[np.bool_]
    labels: SideLabels
    least: NDArray[np.int64]
    maximize: bool

    def pairs(self) -> list[tuple[Hashable, Hashable]]:
        """Return the pairs (worker, job), named by the caller's labels if the costs have some."""
        columns = self._named()
        return list(zip(columns["worker"].tolist(), columns["job"].tolist(), strict=True))

    def to_columns(self) -> dict[str, AnyArray]:
        """Return the columns of :meth:`to_pandas`: for each pair "worker", "job" and what it costs, "cost".

        Examples
        --------
        >>> import pandas, preflow
        >>> hours = pandas.DataFrame({"sew": [4, 2], "cook": [1, 3], "sweep": [2, 9]}, index=["ada", "bob"])
        >>> print(preflow.reductions.assign_jobs(hours, limit={"ada": 2, "bob": 1}).to_pandas())
          worker    job  cost
        0    bob    sew     2
        1    ada   cook     1
        2    ada  sweep     2
        """
        tail, head, cost = self._allowed()
        order = np.lexsort((head, tail))
        place = np.searchsorted((tail * len(self.needs) + head)[order], self._numbers())
        return {**self._named(), "cost": cost[order[place]]}

    def _named(self) -> dict[str, Array]:
        workers, jobs = self.labels or (None, None)
        return {"worker": labels_of(workers, self.worker), "job": labels_of(jobs, self.job)}

    def _numbers(self) -> NDArray[np.int64]:
        """Return the number of each pair: workers times the number of jobs, and jobs."""
        return self.worker * len(self.needs) + self.job

    def _allowed(self) -> tuple[NDArray[np.int64], NDArray[np.int64], Array]:
        """Return worker, job and cost of each pair that is allowed."""
        n, network = len(self.limit), self.result.network
        pairs = slice(n, network.num_arcs - len(self.needs))
        cost = network.cost[pairs]
        return (
            network.tail[pairs].astype(np.int64),
            network.head[pairs].astype(np.int64) - n,
            -cost if self.maximize else cost,
        )

    @property
    def gap(self) -> int | float:
        """A proved bound of the difference between `cost` and the optimum; 0 for integers."""
        return self.result.gap

    def verify(self) -> None:
        """Prove that no assignment does more jobs, and that none that does as many costs less.

        In linear time, apart from sorting the pairs.
        """
        self.result.verify()
        n, m = len(self.limit), len(self.needs)
        for ends, count in ((self.worker, n), (self.job, m)):
            if ends.dtype.kind not in "iu" or len(ends) != len(self.worker) or not _within(ends, count):
                raise VerificationError("a pair names a worker or a job that there is not")
        load, done = np.bincount(self.worker, minlength=n), np.bincount(self.job, minlength=m)
        check_array(np, self.load, "load", (n,), np.int64)
        if not np.array_equal(load, self.load) or (load > self.limit).any():
            raise VerificationError("a worker has more jobs than allowed")
        check_array(np, self.least, "least", (n,), np.int64)
        if (load < self.least).any():
            raise VerificationError("a worker has fewer jobs than it must have")
        if type(self.maximize) is not bool:
            raise VerificationError(f"maximize is {self.maximize!r}")
        if (done != self.needs).any() if self.complete else (done > self.needs).any():
            raise VerificationError("a job has the wrong number of workers")
        if type(self.complete) is not bool or self.complete != bool((done == self.needs).all()):
            raise VerificationError(f"complete is {self.complete!r}, and it says whether all jobs are done")
        worker, job, cost = self._allowed()
        sign, given = (-1 if self.maximize else 1), self.result.network
        network = _network(worker, job, sign * cost, (self.least, self.limit), self.needs)
        same = alike(network, given) and np.array_equal(network.cost, given.cost)
        if not (same and np.array_equal(lower_of(network), lower_of(given))):
            raise VerificationError("the flow is not one of the network of this assignment")
        if self.result.amount != len(self.worker):
            raise VerificationError("the flow is not one of all jobs")
        sent = self.result.flow[n : network.num_arcs - m] > 0
        if not np.array_equal(np.sort(self._numbers()), np.sort((worker * m + job)[sent])):
            raise VerificationError("the pairs are not those of the flow")
        if self.cost != sign * self.result.cost:
            raise VerificationError(f"the pairs cost {sign * self.result.cost}, not {self.cost}")
        left = int(np.count_nonzero(~self.cover_workers[worker] & ~self.cover_jobs[job]))
        most = left + int(self.limit[self.cover_workers].sum()) + int(self.needs[self.cover_jobs].sum())
        if most != len(self.worker):
            raise VerificationError(f"the cover proves that there are at most {most} pairs")
        found = _prices(self.result, self.least, sign)
        for name, prices in zip(("rent", "price"), found, strict=True):
            check_array(np, getattr(self, name), name, prices.shape, prices.dtype)
            if not np.array_equal(getattr(self, name), prices):
                raise VerificationError(f"{name} is not that of the potentials of the flow")

    def _summary(self) -> str:
        left = "" if self.complete else f", {int(self.needs.sum()) - len(self.job):,} left over"
        shape = f"{len(self.limit):,} workers and {len(self.needs):,} jobs"
        return f"cost {self.cost:,}, {len(self.job):,} pairs of {shape}{left}"

    def _draw(self, ax: Axes | None) -> Axes:
        shape = len(self.limit), len(self.needs)
        check_cells(shape)
        worker, job, cost = self._allowed()
        values = np.full(shape, np.nan)
        values[worker, job] = cost
        return draw_costs(ax, values, self.worker, self.job, self.labels)


def _network(
    worker: NDArray[np.int64],
    job: NDArray[np.int64],
    cost: Array,
    bounds: tuple[NDArray[np.int64], NDArray[np.int64]],
    needs: NDArray[np.int64],
    supply: NDArray[np.int64] | None = None,
) -> CostNetwork:
    """Return the network of allowed pairs; `bounds` are the fewest and the most jobs of each worker."""
    (least, limit), m = bounds, len(needs)
    n = len(limit)
    source, sink = n + m, n + m + 1
    return CostNetwork.from_arrays(
        np.concatenate([np.full(n, source), worker, n + np.arange(m)]),
        np.concatenate([np.arange(n), n + job, np.full(m, sink)]),
        # The arc of a job that needs one worker is never full: its reduced cost is then not negative.
        capacity=np.concatenate([limit, np.where(needs[job] == 1, 2, 1), needs]),
        cost=np.concatenate([np.zeros(n, cost.dtype), cost, np.zeros(m, cost.dtype)]),
        lower=np.append(least, np.zeros(len(cost) + m, dtype=np.int64)) if least.any() else None,
        supply=supply,
        num_vertices=n + m + 2,
    )


def _prices(result: MinCostFlowResult, least: NDArray[np.int64], sign: int) -> tuple[Array, Array]:
    """Return the rents of workers and the prices of jobs by the potentials of a flow; -1: of the most."""
    n = len(least)
    potentials = result.potentials - result.potentials[-2]
    rent, price = potentials[:n], potentials[n:-2]
    return np.where(least > 0, rent, np.maximum(rent, 0)), sign * price


def _within(numbers: Array, count: int) -> bool:
    """Return whether all numbers are from 0 to `count` - 1; np.bincount writes outside of its array else."""
    return not len(numbers) or (int(numbers.min()) >= 0 and int(numbers.max()) < count)


@dataclass(frozen=True, eq=False, kw_only=True)
class JobsAsMinCostFlow(CostReduction[JobAssignment]):
    """An assignment in which a worker takes several jobs, as a minimum-cost flow.

    Attributes
    ----------
    network : CostNetwork
        Vertices are the workers, the jobs, the source and the sink. Arcs are those of the workers, the pairs
        by workers, and those of the jobs.
    source, sink : int
    limit : ndarray of int64, shape (num_workers,)
    needs : ndarray of int64, shape (num_jobs,)
    partial : bool
        Whether jobs may be left over if not all can be done.
    labels : (tuple, tuple) or None
        The caller's labels of workers and of jobs, if the costs have some.
    least : ndarray of int64, shape (num_workers,)
    maximize : bool
        Whether the costs of the network are those given with the opposite sign.

    Examples
    --------
    >>> import preflow
    >>> reduction = preflow.reductions.JobsAsMinCostFlow.of([[1, 2, 6], [3, 5, 4]], limit=2)
    >>> reduction.network.num_arcs
    11
    >>> found = reduction.solve()
    >>> found.worker.tolist(), found.job.tolist(), found.cost
    ([0, 0, 1], [0, 1, 2], 7)
    >>> found.verify()
    """

    source: int
    sink: int
    limit: NDArray[np.int64]
    needs: NDArray[np.int64]
    partial: bool
    labels: SideLabels
    least: NDArray[np.int64]
    maximize: bool

    @classmethod
    def of(
        cls,
        cost: AnyArray,
        *,
        limit: ArrayLike = 1,
        needs: ArrayLike = 1,
        least: ArrayLike = 0,
        maximize: bool = False,
        partial: bool = False,
        ends: EndsNames = None,
        weight: str | None = None,
    ) -> Self:
        """Build the network; arguments are those of :func:`assign_jobs`."""
        if not isinstance(partial, bool):
            raise InvalidInputError(f"partial must be True or False, got {partial!r}")
        given = one_matrix(with_edges_read(cost, ends=ends, weight=weight), maximize)
        _, n, m = given.shape
        workers, jobs = given.labels or (None, None)
        pairs = given.to_sparse() if isinstance(given, DenseCosts) else given
        lowest, limits = (
            read_limits(in_order_of(workers, part, name), n, name)
            for part, name in ((least, "least"), (limit, "limit"))
        )
        needed = read_limits(in_order_of(jobs, needs, "needs"), m, "needs")
        if (lowest > limits).any():
            wrong = int((lowest > limits).argmax())
            name = wrong if workers is None else workers[wrong]
            raise InvalidInputError(
                f"worker {name!r} does at least {lowest[wrong]:,} and at most {limits[wrong]:,} jobs: "
                "least is above limit"
            )
        worker, job = pairs.row, pairs.column.astype(np.int64)
        source, sink = n + m, n + m + 1
        supply = None
        if not partial:
            supply = np.zeros(n + m + 2, dtype=np.int64)
            supply[[source, sink]] = needed.sum(), -needed.sum()
        values = -pairs.values if maximize else pairs.values
        network = _network(worker, job, values, (lowest, limits), needed, supply)
        return cls(
            network=network,
            source=source,
            sink=sink,
            limit=limits,
            needs=needed,
            partial=partial,
            labels=given.labels,
            least=lowest,
            maximize=bool(maximize),
        )

    def solve(self, **arguments: Unpack[Keywords]) -> JobAssignment:
        """Find a flow with these arguments of :func:`preflow.min_cost_flow`, and return the answer.

        Raises
        ------
        InfeasibleError
            Some jobs together need more than the workers do that are allowed, or some workers must do more
            than the jobs need that they are allowed: the error names them.
        """
        try:
            if self.partial:
                return self.solution(max_flow_min_cost(self.network, self.source, self.sink, **arguments))
            return super().solve(**arguments)
        except InfeasibleFlowError as error:
            raise self._infeasible(error) from None

    def _infeasible(self, error: InfeasibleFlowError) -> InfeasibleError:
        """Return the error that names the jobs of a cut, or its workers who must do too much."""
        n, m = len(self.limit), len(self.needs)
        inside = np.zeros(n + m + 3, dtype=bool)
        inside[list(error.vertices)] = True
        pairs = slice(n, self.network.num_arcs - m)
        worker, job = self.network.tail[pairs], self.network.head[pairs].astype(np.int64) - n
        sides = (worker, self.least, self.limit, "rows"), (job, self.needs, self.needs, "columns")
        chosen = inside[:n] & (self.least > 0)
        if inside[self.source]:
            sides, chosen = sides[::-1], ~inside[n : n + m] & (self.needs > 0)
        (ends, asked, _, side), (others, _, most, _) = sides
        partners = np.bincount(others[chosen[ends]], minlength=len(most))
        names = [self.labels[each[3] == "columns"] if self.labels else None for each in sides]
        violating, allowed = np.flatnonzero(chosen), np.flatnonzero(partners)
        found = InfeasibleError(
            side,
            tuple(labels_of(names[0], violating).tolist()),
            tuple(labels_of(names[1], allowed).tolist()),
            numbers=(int(asked[chosen].sum()), int(np.minimum(partners, most).sum())),
        )
        if side == "rows":
            found.advice = ()  # whatever is left over, these workers lack jobs
        return found

    def solution(self, result: MinCostFlowResult) -> JobAssignment:
        """Return the pairs and the prices."""
        check_fits(result, self.network)
        n, m, sign = len(self.limit), len(self.needs), -1 if self.maximize else 1
        pairs = slice(n, self.network.num_arcs - m)
        used = np.flatnonzero(result.flow[pairs] > 0)
        worker = self.network.tail[pairs][used].astype(np.int64)
        job = self.network.head[pairs][used].astype(np.int64) - n
        order = np.lexsort((worker, job))
        cover_workers, cover_jobs = np.zeros(n, dtype=bool), np.ones(m, dtype=bool)
        if isinstance(result, MaxFlowMinCostResult) and result.sink_side is not None:
            cover_workers, cover_jobs = result.sink_side[:n].copy(), ~result.sink_side[n : n + m]
        return JobAssignment(
            worker[order],
            job[order],
            sign * result.cost,
            result.flow[:n].astype(np.int64),
            *_prices(result, self.least, sign),
            self.limit,
            self.needs,
            result,
            bool(len(used) == self.needs.sum()),
            cover_workers,
            cover_jobs,
            self.labels,
            self.least,
            self.maximize,
        )


def assign_jobs(
    cost: AnyArray,
    *,
    limit: ArrayLike = 1,
    needs: ArrayLike = 1,
    least: ArrayLike = 0,
    maximize: bool = False,
    partial: bool = False,
    ends: EndsNames = None,
    weight: str | None = None,
    **arguments: Unpack[Keywords],
) -> JobAssignment:
    """Give jobs to workers at the least total cost, where a worker takes `least` to `limit` jobs.

    Other names for it: the semi-assignment problem, the roster; with `needs` above one, minimum-cost
    b-matching; with clusters as workers and points as jobs, clusters of bounded size. For one job each,
    :func:`preflow.linear_assignment` is faster.

    Parameters
    ----------
    cost : array_like, shape (num_workers, num_jobs), sparse matrix, DataFrame or edges
        Infinite: not allowed. A sparse matrix allows only its stored entries. A DataFrame has workers as
        index and jobs as columns. A table with the columns "row", "column" and "cost", a list of tuples
        and a dictionary of dictionaries have the allowed pairs, as for
        :func:`preflow.linear_assignment`.
    limit : array_like of integers, shape (num_workers,), mapping, Series or scalar
        The most jobs that each worker takes. A mapping or a Series has it by label.
    needs : array_like of integers, shape (num_jobs,), mapping, Series or scalar
        How many different workers each job needs.
    least : array_like of integers, shape (num_workers,), mapping, Series or scalar
        The fewest jobs that each worker takes.
    maximize : bool
        Find the largest total instead: `cost` is what pairs are worth, and -inf is not allowed.
    partial : bool
        If not all can be done, do as much as possible, at the least cost, instead of raising InfeasibleError.
        Workers still do `least` jobs.
    ends, weight : str, optional
        The columns of workers and jobs, and of costs, in a table of pairs that calls them otherwise.
    **arguments
        ``method``, ``threads`` and the other arguments of :func:`preflow.min_cost_flow`.

    Returns
    -------
    JobAssignment

    Raises
    ------
    InvalidInputError
        An argument is malformed.
    InfeasibleError
        Some jobs together need more than the workers do that are allowed, or some workers must do more than
        the jobs need that they are allowed: the error names them, with these numbers.

    Examples
    --------
    >>> import preflow
    >>> found = preflow.reductions.assign_jobs([[1, 2, 6, 4], [3, 5, 4, 5]], limit=[3, 1])
    >>> found.worker.tolist(), found.cost, found.rent.tolist()
    ([0, 0, 1, 0], 11, [0, 0])
    >>> found.verify()

    Two clusters of two or three points each, by squared distances:

    >>> points, centres = [0, 1, 2, 3, 9], [2, 9]
    >>> distances = [[(centre - point) ** 2 for point in points] for centre in centres]
    >>> preflow.reductions.assign_jobs(distances, least=2, limit=3).worker.tolist()
    [0, 0, 0, 1, 1]
    """
    reduction = JobsAsMinCostFlow.of(
        cost,
        limit=limit,
        needs=needs,
        least=least,
        maximize=maximize,
        partial=partial,
        ends=ends,
        weight=weight,
    )
    return reduction.solve(**arguments)
