"""Tasks of a Dask cluster as workers."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from typing import TYPE_CHECKING

from ...checks import needed_for
from ...errors import WorkerDiedError
from .task import Done, Task, solve_chunk

with needed_for("host='dask'", "dask.distributed", "dask"):
    import distributed

if TYPE_CHECKING:
    from distributed import Client


class DaskHost:
    """Tasks of the cluster that this process is connected to, or of a local one that ends with the batch.

    A worker that dies takes other tasks with it: those that it runs or has queued. Without `slots` there is
    one for each thread of the workers. `address` is that of a scheduler, if this process is not connected to
    one; a local cluster has `local_slots` processes.
    """

    items_die_alone = False

    def __init__(self, task: Task, slots: int | None, address: str | None, local_slots: int) -> None:
        connected = current_client() if address is None else None
        self._started = connected is None
        self._client: Client = connected or _new_client(address, slots or local_slots)
        try:
            threads = sum(self._client.nthreads().values())
            self.slots = slots or max(1, threads // task.threads)
            self._task = self._scatter(task)
        except BaseException:
            if self._started:
                self._client.close()
            raise
        self._given = task
        self._is_lost = self._is_closed = False
        self._asked: dict[Future[Done], distributed.Future] = {}

    def _scatter(self, task: Task) -> distributed.Future:
        return self._client.scatter(task, broadcast=True, hash=False)

    def submit(self, items: Sequence[object]) -> Future[Done]:
        """Start a task for a chunk."""
        future: Future[Done] = Future()
        try:
            if self._is_lost:
                self._is_lost, self._task = False, self._scatter(self._given)
            asked = self._client.submit(solve_chunk, self._task, items, pure=False, key=None)
        except Exception as error:
            future.set_exception(TypeError(f"cannot be sent: {type(error).__name__}: {error}"))
            return future
        self._asked[future] = asked
        asked.add_done_callback(lambda found: self._pass_on(found, future))
        return future

    def _pass_on(self, found: distributed.Future, future: Future[Done]) -> None:
        self._asked.pop(future, None)
        try:
            future.set_result(found.result())
        except CancelledError as error:
            if self._is_closed:
                future.cancel()
                return
            # All workers died that had the function.
            self._is_lost = True
            future.set_exception(WorkerDiedError(f"{type(error).__name__}: {error}"))
        except distributed.KilledWorker as error:
            future.set_exception(WorkerDiedError(f"{type(error).__name__}: {error}"))
        except Exception as error:
            future.set_exception(error)

    def close(self) -> None:
        """Cancel what is not done; end the cluster if this host started it."""
        self._is_closed = True
        with suppress(Exception):
            self._client.cancel(list(self._asked.values()), force=True)
        if self._started:
            cluster = self._client.cluster
            self._client.close()
            if cluster is not None:
                cluster.close()


def current_client() -> Client | None:
    """Return the client that this process uses, if it uses one."""
    try:
        return distributed.default_client()
    except ValueError:
        return None


def _new_client(address: str | None, slots: int) -> Client:
    if address is not None:
        return distributed.Client(address, set_as_default=False)
    cluster = distributed.LocalCluster(
        n_workers=slots, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
    )
    return distributed.Client(cluster, set_as_default=False)
