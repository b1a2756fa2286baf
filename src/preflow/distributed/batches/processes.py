"""Processes of this machine as workers, each with a thread of this process that talks to it.

The processes are started as programs of their own: nothing is forked, so a process with many threads may do
so, and a script needs no ``if __name__ == "__main__"``. No port is opened: messages travel in pipes. When
this process ends, however it ends, the input of its workers ends, and so do they after their chunk.
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
from typing import IO

from ...errors import InvalidInputError, WorkerDiedError
from .host import NeverReadyError
from .task import Done, Task, dumps
from .worker import receive, send

#: The program of a worker.
PROGRAM = "from preflow.distributed.batches.worker import main; main()"
#: How many processes in a row may end before they are ready.
STARTS = 3
#: Seconds that a process has to end by itself once it does not answer any more.
PATIENCE = 1.0
#: Where libraries with threads of their own read how many to use.
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


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
        self._running: set[subprocess.Popen[bytes]] = set()
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
        process: subprocess.Popen[bytes] | None = None
        while (chunk := self._chunks.get()) is not None:
            message, future = chunk
            try:
                process = process or self._start()
                requests, answers = _pipes(process)
                send(requests, message)
                found: Done | Exception = pickle.loads(receive(answers))
            except (EOFError, OSError):
                found = WorkerDiedError(f"a worker process ended{_why(self._end(process))}")
                process = None
            except Exception as error:
                found = error
            with suppress(InvalidStateError):
                if isinstance(found, Exception):
                    future.set_exception(found)
                else:
                    future.set_result(found)

    def _start(self) -> subprocess.Popen[bytes]:
        """Return a process that knows the task.

        Raises
        ------
        InvalidInputError
            It cannot read the task.
        NeverReadyError
            Processes end before they are ready.
        """
        for _ in range(STARTS):
            process = self._program()
            requests, answers = _pipes(process)
            try:
                send(requests, self._task)
                problem = receive(answers).decode()
            except (EOFError, OSError):
                status = self._end(process)
                continue
            if not problem:
                return process
            self._end(process)
            raise InvalidInputError(f"a worker process cannot read the function: {problem}{HOW_TO_SEND}")
        raise NeverReadyError(f"worker processes end before they are ready{_why(status)}")

    def _program(self) -> subprocess.Popen[bytes]:
        """Return a new process."""
        with self._lock:
            if self._closed:
                raise EOFError
            process = subprocess.Popen(
                [sys.executable, "-P", "-c", PROGRAM],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=self._environment,
                start_new_session=True,  # Ctrl-C reaches this process only, which ends the others
            )
            self._running.add(process)
        return process

    def _end(self, process: subprocess.Popen[bytes] | None) -> int | None:
        """End a process and return its exit status."""
        if process is None:
            return None
        try:
            status = process.wait(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            status = process.wait()
        for pipe in _pipes(process):
            with suppress(OSError):
                pipe.close()
        with self._lock:
            self._running.discard(process)
        return status

    def close(self) -> None:
        """End all processes."""
        with self._lock:
            self._closed = True
            running = list(self._running)
        for process in running:
            process.kill()
        for _ in self._threads:
            self._chunks.put(None)
        for thread in self._threads:
            thread.join()
        for process in running:
            self._end(process)


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


def _pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    assert process.stdin is not None
    assert process.stdout is not None
    return process.stdin, process.stdout


def _why(status: int | None) -> str:
    if status is None:
        return ""
    return f" by signal {-status}" if status < 0 else f" with exit status {status}"
