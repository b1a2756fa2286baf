"""The contract between a problem and the methods that solve it.

Each problem has one protocol: the signature of the function ``solve`` that every method's module has. The
protocols are generic in the containers, which later layers define. A problem's ``problem.py`` fills them in,
once for solvers of arrays in host memory and once for solvers of arrays in the memory of a GPU. mypy checks
every solver in ``tests/solver_types.py``, ``tests/test_methods.py`` the rest of the contract.

A solver gets

- the instance, built and validated. Solvers never parse input;
- where the problem has one, the state to start from;
- ``options``, an instance of the dataclass that the record in ``problem.py`` names;
- ``control``, a :class:`~preflow.solving.run.Control`: the number of threads, the stop flag, the counters.

Instance and state lie where ``Method.memory`` says. A method for a GPU is called while its GPU
is the current one of the calling thread, so :func:`preflow.cuda.runtime.find_device` returns that GPU.

Kernels get no ``control``. They get its arrays as a :class:`~preflow.solving.monitor.Monitor`, which
``control.monitor()`` returns: one for each thread.

A solver stops soon after ``control.stop[0]`` becomes 1. Kernels read the flag by
``relaxed_load(monitor.stop, 0)`` in every loop whose length the instance decides; Python code reads
``control.stopped`` between kernels. A solver that stopped leaves a valid state, from which the caller
computes bounds. It does not raise.

A solver may raise :class:`~preflow.solving.run.GaveUp` where ``control.budget`` is not None: its work has
passed the budget, or the instance does not suit it. The next attempt of the plan goes on from the state that
the exception carries, or that is in the instance. Where the budget is None it must solve the instance.

A solver counts operations in ``control.thread_counts``, one row for each thread, at the positions that
:mod:`preflow.stats` defines. A kernel knows the row of its thread as ``monitor.counts``.

A solver may report progress: ``control.progress``, the same array as ``monitor.progress`` of kernels, has the
amount of work that is left and the amount at the start. The solver sets both before the first kernel,
``control.progress[:] = amount``; kernels lower the first now and then. A solver that sets neither reports
none.

A solver appends to ``control.remarks`` what belongs into the reason of the result, and to
``control.unproved`` why it ended without a proof, if a rule of the published method ended it.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from .plan import Plan
from .run import Control

Net = TypeVar("Net", contravariant=True)
Heights = TypeVar("Heights", covariant=True)
Grid = TypeVar("Grid", contravariant=True)
GridStart = TypeVar("GridStart", contravariant=True)
GridFound = TypeVar("GridFound", covariant=True)
Graph = TypeVar("Graph", contravariant=True)
Pairs = TypeVar("Pairs", contravariant=True)
Mates = TypeVar("Mates", contravariant=True)
Costs = TypeVar("Costs", contravariant=True)
Found = TypeVar("Found", covariant=True)
Instance = TypeVar("Instance", contravariant=True)
Gpu = TypeVar("Gpu", contravariant=True)
Form = TypeVar("Form", contravariant=True)
State = TypeVar("State")
Plans = TypeVar("Plans", covariant=True)


class FlowSolver(Protocol[Net, Heights]):
    """The first stage of push-relabel: turn a residual network without flow into a maximum preflow.

    Any method that moves excess to the sink fits, also one of augmenting paths: a path then starts at a
    vertex with excess, and no other vertex gains excess.
    """

    def __call__(self, net: Net, options: Any, control: Control) -> Heights:
        """Solve in place and return heights.

        On entry the source's arcs are saturated: ``net.excess`` holds what they carry. On return
        ``net.residual``, ``net.excess`` and ``net.sink_residual`` describe a preflow, and the heights are
        exact distances to the sink in the residual network, above n where the sink cannot be reached. The
        solve is finished if no vertex with a height of at most n has excess.
        :func:`preflow.network.distances_to_sink` computes such heights.

        A solver that is stopped before it starts only computes the heights. The second stage, which returns
        excess to the source, and the search for the source's side of the cut call the solver in this way.
        """
        ...


class GridSolver(Protocol[Grid, GridStart, GridFound]):
    """A solver of minimum cuts of grids."""

    def __call__(self, grid: Grid, start: GridStart | None, options: Any, control: Control) -> GridFound:
        """Return residual capacities, excess and the sink's side.

        `grid` stays unchanged and has at least one pixel. `start` is the flow of an earlier solve, cut off at
        the capacities of this grid, or None.
        """
        ...


class MatchingSolver(Protocol[Graph, Pairs]):
    """A solver of maximum matchings of bipartite graphs."""

    def __call__(self, graph: Graph, matching: Pairs, options: Any, control: Control) -> bool:
        """Enlarge a valid matching in place; return whether it is maximum.

        The solver returns False only if it was stopped. The matching is valid in any case.
        """
        ...


class InitialMatching(Protocol[Graph, Pairs]):
    """A heuristic for the matching that a solver starts from."""

    def __call__(self, graph: Graph, matching: Pairs, control: Control) -> None:
        """Add edges to an empty matching in place; stop early if `control` says so."""
        ...


class GeneralMatchingSolver(Protocol[Graph, Mates, Found]):
    """A solver of matching in general graphs, with weights or without."""

    def __call__(self, graph: Graph, start: Mates | None, options: Any, control: Control) -> Found:
        """Return a matching and its proof.

        With weights, which are positive, the matching has maximum weight, without them maximum cardinality.
        `start` is a valid matching, with -1 for no partner, or None. A solver may ignore it.
        """
        ...


class AssignmentSolver(Protocol[Costs, Found]):
    """A solver of linear assignments, one for each item of a batch of cost matrices."""

    def __call__(self, costs: Costs, options: Any, control: Control, go_on: bool = False) -> Found:
        """Return pairs, prices and how each item ended.

        Costs in host memory are to be minimised and have no more rows than columns. Costs on a GPU come as
        the caller gave them. Prices prove the assignment: no allowed pair costs less than the sum of its two
        prices, and each pair of the assignment costs just that sum (floats: up to rounding). The solver may
        stop at the first item that has no assignment of all rows, unless `go_on` is set.
        """
        ...


class MinCostSolver(Protocol[Form, State]):
    """A solver of minimum-cost flow."""

    def __call__(self, instance: Form, start: State | None, options: Any, control: Control) -> State:
        """Return a flow, potentials, and how the solve ended.

        `start` is the state of an earlier solve of a similar instance, its flow cut to the capacities: it
        need not conserve flow, and its potentials prove nothing. A solver may ignore it. The fields of the
        state say what each ending promises.
        """
        ...


class TransportSolver(Protocol[Costs, Plans]):
    """A solver of transport problems, one for each item of a batch."""

    def __call__(
        self, costs: Costs, a: NDArray[np.int64], b: NDArray[np.int64], options: Any, control: Control
    ) -> Plans:
        """Return the plan and the prices of each item.

        `a` and `b` have the masses of the rows and of the columns of each item, shapes (items, n) and
        (items, m), not negative, with equal sums. Costs on a GPU are finite.
        """
        ...


class Chooser(Protocol[Instance, Gpu]):
    """The function ``choose`` of a problem's ``policy.py``: what "auto" does with an instance."""

    def __call__(
        self, instance: Instance, /, device: str = "auto", threads: int = 1, gpu: Gpu | None = None
    ) -> Plan:
        """Return the plan for an instance on `device` with up to `threads` CPU threads.

        `gpu` is a GPU that a method may use although the instance is in host memory. The plan must also
        suit an instance in the memory of a GPU, where `device` allows it.
        """
        ...


class GpuPolicy(Protocol[Instance]):
    """The function ``worth_a_gpu`` of a problem's ``policy.py``."""

    def __call__(self, instance: Instance, /, threads: int, in_use: bool) -> bool:
        """Return whether an instance in host memory is large enough to look for a GPU.

        `threads` is the number of CPU threads that could solve it instead. `in_use` says whether the process
        has used a GPU already: the first use takes about a second.
        """
        ...
