"""Tasks of a Ray cluster as workers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress

from ...errors import MissingDependencyError, WorkerDiedError
from .task import Done, Task, solve_chunk

try:
    import ray
except ImportError:  # check_ray says so
    ray = None


def check_ray() -> None:
    """Raise MissingDependencyError unless Ray is installed."""
    if ray is None:
        raise MissingDependencyError("host='ray'", "Ray", "ray")


class RayHost:
    """Tasks of the cluster that this process is connected to, or of a local one that ends with the batch.

    Without `slots` there are as many as the CPUs of the cluster allow. `address` is that of a cluster, if
    this process is not connected to one; a local one has `local_slots` CPUs.
    """

    items_die_alone = True

    def __init__(self, task: Task, slots: int | None, address: str | None, local_slots: int) -> None:
        self._started = not ray.is_initialized()
        if self._started:
            start_ray(address, task.threads * (slots or local_slots))
        try:
            cpus = int(ray.cluster_resources().get("CPU", 1))
            self.slots = slots or max(1, cpus // task.threads)
            # The host asks again itself, item by item.
            self._solve = ray.remote(num_cpus=task.threads, max_retries=0)(solve_chunk)
            self._task = ray.put(task)
        except BaseException:
            if self._started:
                ray.shutdown()
            raise
        self._asked: dict[Future[Done], ray.ObjectRef[Done]] = {}

    def submit(self, items: Sequence[object]) -> Future[Done]:
        """Start a task for a chunk."""
        future: Future[Done] = Future()
        try:
            reference = self._solve.remote(self._task, items)
        except Exception as error:
            future.set_exception(TypeError(f"cannot be sent: {type(error).__name__}: {error}"))
            return future

        def pass_on(found: Future[Done]) -> None:
            self._asked.pop(future, None)
            error = found.exception()
            if error is None:
                future.set_result(found.result())
            elif isinstance(error, ray.exceptions.RayTaskError):
                future.set_exception(error)
            else:
                future.set_exception(WorkerDiedError(f"{type(error).__name__}: {error}"))

        self._asked[future] = reference
        reference.future().add_done_callback(pass_on)
        return future

    def close(self) -> None:
        """Cancel what is not done; end the cluster if this host started it."""
        for reference in list(self._asked.values()):
            with suppress(Exception):
                ray.cancel(reference, force=True)
        if self._started:
            ray.shutdown()


def start_ray(address: str | None, cpus: int) -> None:
    """Connect to a cluster, or start one on this machine without a dashboard.

    The ports of a local cluster are Ray's; whoever connects to them needs Ray's token.
    """
    if address is not None:
        ray.init(address=address, log_to_driver=False)
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_IGNORE_UNHANDLED_ERRORS", "1")  # of chunks and sweeps that are tried again
    ray.init(
        address="local",
        num_cpus=cpus,
        include_dashboard=False,
        log_to_driver=False,
    )
