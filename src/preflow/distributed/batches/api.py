"""map: chunks, order, a bounded number of items in flight, failures and the time limit of a batch."""

from __future__ import annotations

import itertools
import sys
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence, Sized
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal, TypedDict, TypeVar, Unpack, overload

from ...checks import check_integer, check_word
from ...errors import InvalidInputError, ItemError, TimeLimitError, WorkerDiedError
from ...method_names import ProblemName
from ...progress import ProgressReport, Reporter, reporting
from ...registry import problem_of
from ...solving.dispatch import usable_cpus
from ...solving.run import POLL_INTERVAL, check_time_limit
from .host import Host, NeverReadyError, ThreadHost
from .task import Done, Failure, Task

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")

HostName = Literal["auto", "processes", "threads", "ray", "dask"]
HOSTS = ("auto", "processes", "threads", "ray", "dask")
#: Seconds of work in a chunk, unless the caller chooses its items. A message to a process and back costs
#: 0.1 to 0.2 ms, to a task of Ray or Dask 4 to 8 ms on a busy machine: docs/problems/batches.md.
CHUNK_SECONDS = 0.1
#: Most items in such a chunk.
MOST_ITEMS = 4096
#: Chunks for each worker: one being solved and one that waits; and those done that an earlier one holds up.
AHEAD, HELD = 2, 6
#: The last items of a batch are divided into at least this many chunks for each worker.
LAST_CHUNKS = 2
#: How often an item is tried whose worker dies.
ATTEMPTS = 3


class _Arguments(TypedDict, total=False):
    """The arguments of :func:`map` that do not decide what it returns."""

    host: HostName
    workers: int | None
    threads: int
    address: str | None
    keywords: Mapping[str, object] | None
    chunk: int | None
    in_flight: int | None
    time_limit: float | None
    progress: bool | Reporter


@overload
def map(
    function: ProblemName,
    items: Iterable[object],
    *,
    errors: Literal["raise", "return"] = "raise",
    **arguments: Unpack[_Arguments],
) -> Iterator[Any]: ...
@overload
def map(
    function: Callable[[Item], Outcome],
    items: Iterable[Item],
    *,
    errors: Literal["raise"] = "raise",
    **arguments: Unpack[_Arguments],
) -> Iterator[Outcome]: ...
@overload
def map(
    function: Callable[[Item], Outcome],
    items: Iterable[Item],
    *,
    errors: Literal["return"],
    **arguments: Unpack[_Arguments],
) -> Iterator[Outcome | ItemError]: ...
def map(
    function: Callable[..., object] | ProblemName,
    items: Iterable[object],
    *,
    host: HostName = "auto",
    workers: int | None = None,
    threads: int = 1,
    address: str | None = None,
    keywords: Mapping[str, object] | None = None,
    errors: Literal["raise", "return"] = "raise",
    chunk: int | None = None,
    in_flight: int | None = None,
    time_limit: float | None = None,
    progress: bool | Reporter = False,
) -> Iterator[object]:
    """Solve many independent problems on many workers; results come in the order of the items.

    Parameters
    ----------
    function : function or str
        Called with each item. The name of a problem, such as "linear_assignment", calls the function of that
        name: an item that is a tuple is its positional arguments, a dictionary its keyword arguments,
        anything else its only argument.
    items : iterable
        It may be a generator of any length, also an endless one: no more than `in_flight` items are taken
        from it before their results are handed over.
    host : {"auto", "processes", "threads", "ray", "dask"}
        Where the workers are. "processes" are processes of this machine. "threads" are threads of this
        process: nothing is copied, but Python's lock is shared. "ray" and "dask" are tasks of a cluster.
        "auto" is the cluster of Ray or Dask that this process is already connected to, otherwise "processes".
    workers : int, optional
        How many items are solved at a time. Default: as many as the CPUs of this machine, or of the cluster,
        allow with `threads` each.
    threads : int
        CPU threads that an item may use, where the call in `function` does not say how many.
    address : str, optional
        Of a cluster, for "ray" and "dask". Default: the one that this process is connected to; if there is
        none, a local cluster is started, and ended with the batch.
    keywords : mapping, optional
        Keyword arguments of every call.
    errors : {"raise", "return"}
        What happens where an item fails. "raise" ends the batch: the results of the items before it are
        handed over, then ItemError is raised, which has the number of the item and the error. "return" puts
        the ItemError in the place of the result and goes on.
    chunk : int, optional
        Items that a worker gets in one message. Default: chosen while the batch runs, so that a chunk takes
        about a tenth of a second.
    in_flight : int, optional
        Most items that are taken from `items` and whose results are not yet handed over. Default: eight
        chunks for each worker.
    time_limit : float, optional
        Seconds for the whole batch, since the first result was asked for. Items that are not done then are
        ended, and fail with TimeLimitError. With ``errors="return"`` the iterator then ends; items that were
        not yet taken from `items` are reported, too, if `items` has a length.
    progress : bool or function
        As in :func:`preflow.max_flow`, with the number of items done as `step`.

    Returns
    -------
    iterator
        Of the results. The batch starts when the first one is asked for. When the iterator is exhausted,
        closed or interrupted by Ctrl-C, all workers are ended.

    Raises
    ------
    InvalidInputError
        An argument is malformed, or the function cannot be sent to a process.
    MissingDependencyError
        Ray or Dask is not installed.
    ItemError
        While iterating: an item failed.
    WorkerDiedError
        While iterating: workers die before they get an item.

    Notes
    -----
    A worker that dies, because the system ends it or because of a bug, is replaced, and its items are tried
    again one by one. An item is given up when three workers in a row died of it.

    Processes get copies of items, and results are copied back. A function that returns only what is needed is
    faster than one that returns a whole result. Items that share an array may share its copy, so a function
    should not change its item in place. Do not change an item before its result is handed over: it may be
    copied late, or again.

    Threads cannot be ended. With ``host="threads"``, items that are being solved on Ctrl-C or at the time
    limit are waited for; on a cluster of Dask that was there before, they run to their end.

    Examples
    --------
    >>> import preflow
    >>> costs = ([[4, 1, 3], [2, 0, 5], [3, 2, k]] for k in range(4))
    >>> results = preflow.distributed.map("linear_assignment", costs, host="threads", workers=2)
    >>> [result.value for result in results]
    [3, 4, 5, 6]
    """
    _check(function, host, errors, keywords, address)
    check_integer("threads", threads)
    for name, number in (("workers", workers), ("chunk", chunk), ("in_flight", in_flight)):
        if number is not None:
            check_integer(name, number)
    if not isinstance(items, Iterable):
        raise InvalidInputError(f"items must be iterable, got {items!r}")
    time_limit = check_time_limit(time_limit)
    if not callable(progress) and not isinstance(progress, bool):
        raise InvalidInputError(f"progress must be a bool or a function, got {progress!r}")
    task = Task(function, dict(keywords or {}), threads)
    local = max(1, usable_cpus() // threads)
    batch = _Batch(
        items=iter(items),
        length=len(items) if isinstance(items, Sized) else None,
        open_host=_opener(_found_host(host), task, workers, address, local),
        keep_errors=errors == "return",
        chunk=chunk,
        in_flight=in_flight,
        time_limit=time_limit,
        progress=progress,
    )
    return batch.outcomes()


@dataclass
class _Chunk:
    """Items that travel together: those from number `first` on.

    One that `is_alone` is submitted when nothing else is in flight, and `is_held` until then.
    """

    first: int
    items: Sequence[object]
    future: Future[Done]
    attempt: int = 1
    is_alone: bool = False
    is_held: bool = False


@dataclass
class _Batch:
    """A batch that runs."""

    items: Iterator[object]
    length: int | None
    open_host: Callable[[], Host]
    keep_errors: bool
    chunk: int | None
    in_flight: int | None
    time_limit: float | None
    progress: bool | Reporter
    taken: int = 0
    handed: int = 0
    exhausted: bool = False
    #: Seconds an item takes; None before one is done.
    seconds: float | None = None
    size: int = 1

    def outcomes(self) -> Generator[object, None, None]:
        """Yield results, or errors, in the order of the items."""
        start = time.monotonic()
        window: deque[_Chunk] = deque()
        with reporting(self.progress) as report:
            host = self.open_host()
            try:
                while True:
                    if window and window[0].is_alone and not window[0].future.done():
                        self._release(host, window)
                    else:
                        self._fill(host, window)
                    self._measure(window)
                    if report is not None:
                        report(self._report(time.monotonic() - start, window))
                    if not window:
                        return
                    left = None if self.time_limit is None else start + self.time_limit - time.monotonic()
                    if left is not None and left <= 0:
                        break
                    if window[0].future.done():
                        yield from self._hand_over(host, window)
                    else:
                        pause = POLL_INTERVAL if left is None else min(POLL_INTERVAL, left)
                        wait(
                            [each.future for each in window if not each.future.done()], pause, FIRST_COMPLETED
                        )
            finally:
                host.close()
        yield from self._late(window)

    def _fill(self, host: Host, window: deque[_Chunk]) -> None:
        """Take items and submit them, as long as workers have room and there are not too many in flight."""
        waiting = sum(not each.future.done() for each in window)
        while not self.exhausted and waiting < AHEAD * host.slots:
            if self.in_flight is None and len(window) >= (AHEAD + HELD) * host.slots:
                return
            size = self._next_size(host.slots)
            if self.in_flight is not None:
                room = self.in_flight - (self.taken - self.handed)
                size = min(size, room, max(1, self.in_flight // (AHEAD * host.slots)))
            if size < 1:
                return
            items = list(itertools.islice(self.items, size))
            self.exhausted = len(items) < size
            if items:
                window.append(_Chunk(self.taken, items, host.submit(items)))
                self.taken += len(items)
                waiting += 1

    def _next_size(self, slots: int) -> int:
        """Return how many items the next chunk has."""
        if self.chunk is not None:
            return self.chunk
        if self.seconds is not None:
            fitting = int(CHUNK_SECONDS / max(self.seconds, CHUNK_SECONDS / MOST_ITEMS))
            self.size = max(1, min(fitting, 2 * self.size))
            self.seconds = None
        if self.length is None:
            return self.size
        return max(1, min(self.size, (self.length - self.taken) // (LAST_CHUNKS * slots)))

    def _measure(self, window: deque[_Chunk]) -> None:
        """Note how long an item of the last chunk took that is done."""
        for each in reversed(window):
            if each.future.done() and not each.future.cancelled() and each.future.exception() is None:
                done = each.future.result()
                self.seconds = done.seconds / max(1, len(done.outcomes))
                return

    def _hand_over(self, host: Host, window: deque[_Chunk]) -> Iterator[object]:
        """Yield the outcomes of the first chunk; or submit its items again, one by one, if it has none."""
        each = window.popleft()
        try:
            outcomes = each.future.result().outcomes
        except (InvalidInputError, NeverReadyError):
            raise
        except Exception as error:
            if len(each.items) == 1 and (not isinstance(error, WorkerDiedError) or each.attempt == ATTEMPTS):
                self.handed += 1
                yield self._failed(each.first, error)
                return
            attempt = each.attempt + 1 if len(each.items) == 1 else 1
            if attempt == ATTEMPTS and not host.items_die_alone:
                window.appendleft(
                    _Chunk(each.first, each.items, Future(), attempt, is_alone=True, is_held=True)
                )
                return
            again = [
                _Chunk(each.first + number, [item], host.submit([item]), attempt)
                for number, item in enumerate(each.items)
            ]
            window.extendleft(reversed(again))
            return
        for number, outcome in enumerate(outcomes, each.first):
            self.handed += 1
            yield self._failed(number, outcome.error) if isinstance(outcome, Failure) else outcome

    def _release(self, host: Host, window: deque[_Chunk]) -> None:
        """Submit a held item once nothing else is in flight: no other item can end its worker then."""
        first = window[0]
        if first.is_held and all(each.future.done() for each in window if each is not first):
            first.future, first.is_held = host.submit(first.items), False

    def _failed(self, number: int, error: Exception) -> ItemError:
        """Return the error of an item, or raise it."""
        failed = ItemError(number, error)
        if self.keep_errors:
            return failed
        raise failed from error

    def _late(self, window: deque[_Chunk]) -> Iterator[object]:
        """Yield what is done after the time limit, and errors for the rest."""
        for each in window:
            ended = each.future.done() and not each.future.cancelled() and each.future.exception() is None
            outcomes = each.future.result().outcomes if ended else []
            for number, outcome in enumerate(outcomes, each.first):
                yield self._failed(number, outcome.error) if isinstance(outcome, Failure) else outcome
            for number in range(each.first + len(outcomes), each.first + len(each.items)):
                yield self._failed(number, self._limit_error())
        for number in range(self.taken, self.taken if self.exhausted else self.length or self.taken):
            yield self._failed(number, self._limit_error())
        if not self.exhausted and not self.keep_errors:
            self._failed(self.taken, self._limit_error())

    def _limit_error(self) -> TimeLimitError:
        return TimeLimitError(f"not done within the time limit of {self.time_limit:g} seconds")

    def _report(self, elapsed: float, window: deque[_Chunk]) -> ProgressReport:
        """Return how many items are done."""
        done = self.handed + sum(len(each.items) for each in window if each.future.done())
        share = 0.0 if not self.length else min(1.0, done / self.length)
        total = "" if self.length is None else f" of {self.length:,}"
        return ProgressReport(elapsed, share, 0, 0, step=f"{done:,}{total} items")


def _found_host(host: HostName) -> str:
    """Return which host "auto" means."""
    if host != "auto":
        return host
    ray = sys.modules.get("ray")
    if ray is not None and ray.is_initialized():
        return "ray"
    if sys.modules.get("distributed") is not None:
        client = import_module(f"{__package__}.dask_tasks").current_client()
        return "processes" if client is None else "dask"
    return "processes"


def _opener(
    host: str, task: Task, workers: int | None, address: str | None, local: int
) -> Callable[[], Host]:
    """Return the function that starts the workers; a missing package raises here."""
    if host == "threads":
        return lambda: ThreadHost(task, workers or local)
    if host == "processes":
        from .processes import ProcessHost

        return lambda: ProcessHost(task, workers or local)
    if host == "ray":
        from .ray_tasks import RayHost, check_ray

        check_ray()
        return lambda: RayHost(task, workers, address, local)
    from .dask_tasks import DaskHost

    return lambda: DaskHost(task, workers, address, local)


def _check(function: object, host: str, errors: str, keywords: object, address: object) -> None:
    """Check the arguments that are no numbers."""
    if isinstance(function, str):
        problem_of(function)
    elif not callable(function):
        raise InvalidInputError(f"function must be a function or the name of a problem, got {function!r}")
    check_word("host", host, HOSTS)
    check_word("errors", errors, ("raise", "return"))
    if keywords is not None and not isinstance(keywords, Mapping):
        raise InvalidInputError(f"keywords must be a mapping, got {keywords!r}")
    if address is not None and host not in ("ray", "dask"):
        raise InvalidInputError("address belongs to host='ray' and host='dask'")
