"""A team of threads that run one function together, such as a kernel that releases the GIL.

The calling thread is number 0. The others come from a pool of threads (:mod:`preflow.solving.threads`); each
runs one member's share at a time, so all members of a team run at the same time and may wait for each other.
Where shares take a few milliseconds, see :mod:`.native_team`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from operator import length_hint
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..kernels.kernel import kernel
from ..solving.run import POLL_INTERVAL, Control
from ..solving.threads import begin_tasks
from .barrier import break_barrier

Share = Callable[[int], None]
Result = TypeVar("Result")
ONE = np.uint64(1)


def run_team(share: Share, num_threads: int, on_failure: Callable[[], None]) -> None:
    """Run ``share(0) .. share(num_threads - 1)`` at the same time and return when all are done.

    Parameters
    ----------
    share : function of the thread's number
    num_threads : int
        At least 1; ``share(0)`` runs in the calling thread.
    on_failure : function
        Called, once or more, when a share raises: it makes the others return, as by a stop flag and
        :func:`preflow.parallel.barrier.break_barrier`.

    Raises
    ------
    BaseException
        What the first share that failed raised, or Ctrl-C, after all have ended.
    """
    failures: list[BaseException] = []
    ended: list[int] = []
    news: SimpleQueue[None] = SimpleQueue()

    def fail(error: BaseException) -> None:
        failures.append(error)
        on_failure()

    def run(number: int) -> None:
        try:
            if not failures:
                share(number)
        except BaseException as error:
            fail(error)

    def finish(number: int) -> None:
        ended.append(number)
        news.put(None)

    others = range(1, num_threads)
    tasks = iter([(partial(run, number), partial(finish, number)) for number in others])

    def wait_after(error: BaseException) -> None:
        """Make the other shares return and wait for them, if they have begun."""
        fail(error)
        while length_hint(tasks) == 0 and len(ended) < len(others):
            with suppress(Empty):
                news.get(timeout=POLL_INTERVAL)

    try:
        begin_tasks(tasks)
        share(0)
        for _ in others:
            news.get()
    except BaseException as error:
        interrupted = True
        while interrupted:
            with suppress(KeyboardInterrupt):  # a second Ctrl-C: the first is under way
                wait_after(error)
                interrupted = False
    if failures:
        raise failures[0]


def run_together(
    share: Callable[[int], Result], num_threads: int, on_failure: Callable[[], None]
) -> list[Result]:
    """Run shares as :func:`run_team` does and return what they return."""
    results: dict[int, Result] = {}

    def keep(thread: int) -> None:
        results[thread] = share(thread)

    run_team(keep, num_threads, on_failure)
    return [results[thread] for thread in range(num_threads)]


def run_solver(share: Share, control: Control, barrier: NDArray[np.int64]) -> None:
    """Run a solver's shares on ``control.threads`` threads that meet at `barrier`.

    Where one fails, the stop flag is raised and the barrier broken, so that the others return.
    """

    def give_up() -> None:
        control.stop[0] = 1
        break_barrier(barrier)

    run_team(share, control.threads, give_up)


@kernel
def share_of(size: Any, thread: Any, num_threads: Any) -> tuple[Any, Any]:
    """Return the begin and end of a thread's contiguous share of ``0 .. size - 1``."""
    return size * thread // num_threads, size * (thread + ONE) // num_threads
