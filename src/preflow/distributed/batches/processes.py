"""Processes of this machine as workers, each with a thread of this process that talks to it.

The processes are started as programs of their own: nothing is forked, so a process with many threads may do
so, and a script needs no ``if __name__ == "__main__"``. No port is opened: messages travel in pipes and in
shared memory. When this process ends, however it ends, the input of its workers ends, and so do they after
their chunk.
"""

from __future__ import annotations

import os
import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress

from ...errors import InvalidInputError, WorkerDiedError
from .channel import Channel, shared_memory
from .host import NeverReadyError
from .task import Done, Task, dumps

#: The program of a worker.
PROGRAM = "from preflow.distributed.batches.worker import main; main()"
#: How many processes in a row may end before they are ready.
STARTS = 3
#: Seconds that a process has to end by itself once it does not answer any more.
PATIENCE = 1.0
#: Where libraries with threads of their own read how many to use.
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class Worker:
    """A process and the channel to it.

    Parameters
    ----------
    environment : dict of str to str
        Its environment variables.
    """

    def __init__(self, environment: dict[str, str]) -> None:
        self._memory = shared_memory()
        shared = () if self._memory is None else (self._memory,)
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-c", PROGRAM, *map(str, shared)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=environment,
                pass_fds=shared,
                start_new_session=True,  # Ctrl-C reaches this process only, which ends the others
            )
        except OSError:
            self._close_memory()
            raise
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._pipes = self.process.stdin, self.process.stdout
        self.channel = Channel(self.process.stdout, self.process.stdin, self._memory)

    def end(self) -> int:
        """Wait a while for the process to end, or end it; return its exit status."""
        try:
            status = self.process.wait(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        for pipe in self._pipes:
            with suppress(OSError):
                pipe.close()
        self._close_memory()
        return status

    def _close_memory(self) -> None:
        if self._memory is not None:
            os.close(self._memory)
            self._memory = None


class ProcessHost:
    """Processes of this machine; one that dies is replaced."""

    items_die_alone = True

    def __init__(self, task: Task, slots: int) -> None:
        self.slots = slots
        self._task = _as_bytes(task)
        threads = {name: os.environ.get(name, str(task.threads)) for name in THREAD_VARIABLES}
        path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
        self._environment = {**os.environ, **threads, "PYTHONPATH": path}
        self._chunks: queue.SimpleQueue[tuple[bytes, Future[Done]] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._closed = False
        self._running: set[Worker] = set()
        self._threads = [
            threading.Thread(target=self._serve, name=f"preflow-map-{slot}", daemon=True)
            for slot in range(slots)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, items: Sequence[object]) -> Future[Done]:
        """Queue a chunk."""
        future: Future[Done] = Future()
        try:
            message = dumps(items)
        except Exception as error:
            future.set_exception(TypeError(f"cannot be sent: {type(error).__name__}: {error}"))
            return future
        self._chunks.put((message, future))
        return future

    def _serve(self) -> None:
        """Send chunks to one process after the other, of which each lives as long as it answers."""
        worker: Worker | None = None
        while (chunk := self._chunks.get()) is not None:
            message, future = chunk
            try:
                worker = worker or self._start()
                worker.channel.send(message)
                found: Done | Exception = pickle.loads(worker.channel.receive())
            except (EOFError, OSError):
                found = WorkerDiedError(f"a worker process ended{_why(self._end(worker))}")
                worker = None
            except Exception as error:
                found = error
            with suppress(InvalidStateError):
                if isinstance(found, Exception):
                    future.set_exception(found)
                else:
                    future.set_result(found)

    def _start(self) -> Worker:
        """Return a worker that knows the task.

        Raises
        ------
        InvalidInputError
            It cannot read the task.
        NeverReadyError
            Processes end before they are ready.
        """
        for _ in range(STARTS):
            worker = self._new_worker()
            try:
                worker.channel.send(self._task)
                problem = bytes(worker.channel.receive()).decode()
            except (EOFError, OSError):
                status = self._end(worker)
                continue
            if not problem:
                return worker
            self._end(worker)
            raise InvalidInputError(f"a worker process cannot read the function: {problem}{HOW_TO_SEND}")
        raise NeverReadyError(f"worker processes end before they are ready{_why(status)}")

    def _new_worker(self) -> Worker:
        with self._lock:
            if self._closed:
                raise EOFError
            worker = Worker(self._environment)
            self._running.add(worker)
        return worker

    def _end(self, worker: Worker | None) -> int | None:
        """End a process and return its exit status."""
        if worker is None:
            return None
        with self._lock:
            self._running.discard(worker)
        return worker.end()

    def close(self) -> None:
        """End all processes."""
        with self._lock:
            self._closed = True
            running = list(self._running)
        for worker in running:
            worker.process.kill()
        for _ in self._threads:
            self._chunks.put(None)
        for thread in self._threads:
            thread.join()
        for worker in running:
            self._end(worker)


#: What to do about functions that cannot be sent.
HOW_TO_SEND = (
    "; define it in a module, install cloudpickle as in pip install 'preflow[distributed]', "
    "or use host='threads'"
)


def _as_bytes(task: Task) -> bytes:
    try:
        return dumps(task)
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
        raise InvalidInputError(
            f"the function cannot be sent to a process: {problem}{HOW_TO_SEND}"
        ) from error


def _why(status: int | None) -> str:
    if status is None:
        return ""
    return f" by signal {-status}" if status < 0 else f" with exit status {status}"
