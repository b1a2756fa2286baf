"""Processes of this machine as workers, each with a thread of this process that talks to it.

The processes are started as programs of their own: nothing is forked, so a process with many threads may do
so, and a script needs no ``if __name__ == "__main__"``. No port is opened: messages travel in pipes and in
shared memory. When this process ends, however it ends, the input of its workers ends, and so do they after
their chunk.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import IO, NamedTuple

from ...errors import InvalidInputError, WorkerDiedError
from .host import NeverReadyError
from .messages import SharedMemory, packed, receive, send
from .task import Done, Task, dumps
from .worker import FREE

#: The program of a worker.
PROGRAM = "from preflow.distributed.batches.worker import main; main()"
#: Pieces of shared memory for each worker: for the chunk that it solves, and for one that waits.
PIECES = 2
#: A process that solved its last chunk in fewer seconds gets the next one early. Where items take long, each
#: waits for the first process that is free.
QUICK = 0.5
#: Longer messages are not sent ahead: they might not fit the pipe while a process writes a long answer.
SHORT = 1 << 15
#: How many processes in a row may end before they are ready.
STARTS = 3
#: Seconds that a process has to end by itself once it does not answer any more.
PATIENCE = 1.0
#: Where libraries with threads of their own read how many to use.
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class _Sent(NamedTuple):
    """A chunk on its way.

    Attributes
    ----------
    message : bytes
    piece : int or None
        The piece of shared memory that has the chunk, if the message has not.
    num_items : int
    future : Future
        Of the outcomes.
    """

    message: bytes
    piece: int | None
    num_items: int
    future: Future[Done]


class ProcessHost:
    """Processes of this machine; one that dies is replaced."""

    items_die_alone = True

    def __init__(self, task: Task, slots: int) -> None:
        self.slots = slots
        self._task = _as_bytes(task)
        threads = {name: os.environ.get(name, str(task.threads)) for name in THREAD_VARIABLES}
        path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
        self._environment = {**os.environ, **threads, "PYTHONPATH": path}
        self._memory = SharedMemory(PIECES * slots)
        self._chunks: deque[_Sent] = deque()
        self._changed = threading.Condition()
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
            message, piece = self._memory.put(packed(items))
        except Exception as error:
            future.set_exception(TypeError(f"cannot be sent: {type(error).__name__}: {error}"))
            return future
        with self._changed:
            self._chunks.append(_Sent(message, piece, len(items), future))
            self._changed.notify()
        return future

    def _serve(self) -> None:
        """Send chunks to one process after the other, of which each lives as long as it answers.

        A process that answers quickly gets its next chunk before it has solved the last one, so that it need
        not wait until this thread has its turn. Only items that travel together may wait for others.
        """
        process: subprocess.Popen[bytes] | None = None
        ahead: _Sent | None = None
        is_sent = is_quick = False
        while (chunk := ahead or self._next()) is not None:
            ahead, was_sent, is_sent, is_free = None, is_sent, False, True
            try:
                process = process or self._start()
                requests, answers = _pipes(process)
                if not was_sent:
                    send(requests, chunk.message)
                if is_quick and (ahead := self._next_ahead()) is not None:
                    is_sent = _sent_ahead(requests, ahead.message)
                answer = memoryview(receive(answers))
                is_free = answer[:1] == FREE
                found: Done | Exception = pickle.loads(answer[1:])
                is_quick = isinstance(found, Done) and found.seconds < QUICK
            except (EOFError, OSError):
                found = WorkerDiedError(f"a worker process ended{_why(self._end(process))}")
                process, is_sent = None, False
            except Exception as error:
                found = error
            if is_free:
                self._memory.free(chunk.piece)
            with suppress(InvalidStateError):
                if isinstance(found, Exception):
                    chunk.future.set_exception(found)
                else:
                    chunk.future.set_result(found)

    def _next(self) -> _Sent | None:
        """Wait for the next chunk; None after the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._chunks or self._closed)
            return None if self._closed else self._chunks.popleft()

    def _next_ahead(self) -> _Sent | None:
        """Return the next chunk if one waits that has several items."""
        with self._changed:
            return self._chunks.popleft() if self._chunks and self._chunks[0].num_items > 1 else None

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
        with self._changed:
            if self._closed:
                raise EOFError
            process = subprocess.Popen(
                [sys.executable, "-P", "-c", PROGRAM, *map(str, self._memory.files)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=self._environment,
                pass_fds=self._memory.files,
                pipesize=1 << 20,
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
        with self._changed:
            self._running.discard(process)
        return status

    def close(self) -> None:
        """End all processes."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            running = list(self._running)
        for process in running:
            process.kill()
        for thread in self._threads:
            thread.join()
        for process in running:
            self._end(process)
        self._memory.close()


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


def _sent_ahead(requests: IO[bytes], message: bytes) -> bool:
    """Send a message to a process that is at work, and return whether that was possible."""
    if len(message) > SHORT:
        return False
    try:
        send(requests, message)
    except OSError:
        return False  # it has ended, perhaps after an answer
    return True


def _pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    assert process.stdin is not None
    assert process.stdout is not None
    return process.stdin, process.stdout


def _why(status: int | None) -> str:
    if status is None:
        return ""
    return f" by signal {-status}" if status < 0 else f" with exit status {status}"
