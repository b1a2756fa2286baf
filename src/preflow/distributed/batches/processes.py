"""Processes of this machine as workers, each with a thread of this process that talks to it.

The processes are started as programs of their own: nothing is forked, so a process with many threads may do
so, and a script needs no ``if __name__ == "__main__"``. No port is opened: messages travel in pipes and in
shared memory. When this process ends, however it ends, the input of its workers ends, and so do they after
their chunk.
"""

from __future__ import annotations

import io
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import IO, NamedTuple

from ...errors import InvalidInputError, WorkerDiedError, install
from .host import NeverReadyError
from .messages import SharedMemory, packed, receive, send
from .task import Done, Task, dumps

#: The program of a worker.
PROGRAM = "from preflow.distributed.batches.worker import main; main()"
#: Pieces of shared memory for each worker: for the chunk that it solves, and for one that waits.
PIECES = 2
#: A process that solved its last chunk in fewer seconds gets the next one ahead, that is, before it answers.
#: Where items take longer, the next chunk waits for the first process that is free.
QUICK = 0.5
#: Bytes that a pipe should hold, and that it holds on every system.
PIPE, SMALL_PIPE = 1 << 20, 1 << 12
#: Longer messages are never sent ahead.
SHORT = 1 << 15
#: How many processes in a row may end before they are ready.
STARTS = 3
#: Seconds that a process has to end by itself once it does not answer any more.
PATIENCE = 1.0
#: Where libraries with threads of their own read how many to use.
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class _Packed(NamedTuple):
    """A chunk that can be sent."""

    message: bytes
    piece: int | None  #: the piece of shared memory that has the chunk; None if the message has it
    num_items: int
    future: Future[Done]  #: of the outcomes


class ProcessHost:
    """Processes of this machine; one that dies is replaced."""

    items_die_alone = True

    def __init__(self, task: Task, slots: int) -> None:
        self.slots = slots
        self._task = _as_bytes(task)
        threads = {name: os.environ.get(name, str(task.threads)) for name in THREAD_VARIABLES}
        path = os.pathsep.join(_search_path())
        self._low = _low_descriptors()
        self._environment = {**os.environ, **threads, "PYTHONPATH": path}
        self._memory = SharedMemory(PIECES * slots)
        self._chunks: deque[_Packed] = deque()
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
            self._chunks.append(_Packed(message, piece, len(items), future))
            self._changed.notify()
        return future

    def _serve(self) -> None:
        """Send chunks to one process after the other, of which each lives as long as it answers.

        A process that answers quickly gets its next chunk ahead, so that it need not wait until this thread
        runs again. A chunk of one item is never sent ahead: it would wait for the item before it, although
        another process may be free.
        """
        process: subprocess.Popen[bytes] | None = None
        ahead: _Packed | None = None
        is_sent = is_quick = False
        room = 0
        held: set[int] = set()  # pieces of memory that the process may read
        while (chunk := ahead or self._next()) is not None:
            ahead, was_sent, is_sent = None, is_sent, False
            if chunk.piece is not None:
                held.add(chunk.piece)
            answer = b""
            try:
                if process is None:
                    process = self._start()
                    room = _room(process)
                requests, answers = _pipes(process)
                if not was_sent:
                    send(requests, chunk.message)
                if is_quick and (ahead := self._next_ahead(room)) is not None:
                    is_sent = _sent_ahead(requests, ahead.message)
                answer = receive(answers)
            except (EOFError, OSError):
                found: Done | Exception = WorkerDiedError(f"a worker process ended{_why(self._end(process))}")
                process, is_sent = None, False
                self._memory.free(held)
                held = set()
            except Exception as error:
                found = error
            if answer:
                free, found = _read(answer)
                self._memory.free(free)
                held.difference_update(free)
                is_quick = isinstance(found, Done) and found.seconds < QUICK
            with suppress(InvalidStateError):
                if isinstance(found, Exception):
                    chunk.future.set_exception(found)
                else:
                    chunk.future.set_result(found)

    def _next(self) -> _Packed | None:
        """Wait for the next chunk; None after the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._chunks or self._closed)
            return None if self._closed else self._chunks.popleft()

    def _next_ahead(self, room: int) -> _Packed | None:
        """Return the next chunk if it has several items, and its message at most `room` bytes."""
        with self._changed:
            if self._chunks and self._chunks[0].num_items > 1 and len(self._chunks[0].message) <= room:
                return self._chunks.popleft()
            return None

    def _start(self) -> subprocess.Popen[bytes]:
        """Return a process that knows the task.

        InvalidInputError: it cannot read the task. NeverReadyError: processes cannot be started, or end
        before they are ready.
        """
        for _ in range(STARTS):
            try:
                process = self._program()
            except OSError as error:
                raise NeverReadyError(f"worker processes cannot be started: {error}") from error
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
            shared = [] if self._memory.file is None else [self._memory.file]
            process = subprocess.Popen(
                [sys.executable, "-P", "-c", PROGRAM, *map(str, shared)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL if 2 in self._low else None,
                env=self._environment,
                pass_fds=shared,
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
            _kill(process)
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
            _kill(process)
        for thread in self._threads:
            if thread is not threading.current_thread():  # where that collects an iterator as garbage
                thread.join()
        for process in running:
            self._end(process)
        self._memory.close()
        for descriptor in self._low:
            os.close(descriptor)
        self._low.clear()


#: What to do about functions that cannot be sent.
HOW_TO_SEND = "; define it in a module, use host='threads', or install cloudpickle: " + install("distributed")


def _search_path() -> list[str]:
    """Return where this process looks for modules; not in a working directory that was removed."""
    try:
        here = [os.getcwd()]
    except OSError:
        here = []
    return [place for entry in sys.path for place in ([entry] if entry else here)]


def _low_descriptors() -> list[int]:
    """Open those of the descriptors 0 to 2 that are closed, as a daemon's are, and return them.

    Pipes and shared memory must not get their numbers: a new process has its standard streams there.
    """
    taken: list[int] = []
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        taken.append(descriptor)
    os.close(descriptor)
    return taken


def _as_bytes(task: Task) -> bytes:
    try:
        return dumps(task)
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
        raise InvalidInputError(
            f"the function cannot be sent to a process: {problem}{HOW_TO_SEND}"
        ) from error


def _room(process: subprocess.Popen[bytes]) -> int:
    """Make the pipes of a process larger, and return how long messages may be that are sent ahead.

    These have to fit an empty pipe. Otherwise this side could wait for a process to read a message, and the
    process for this side to read a long answer. A message takes a page more than its bytes at most.
    """
    try:
        from fcntl import F_GETPIPE_SZ, F_SETPIPE_SZ, fcntl
    except ImportError:
        return SMALL_PIPE // 2
    requests, answers = _pipes(process)
    for pipe in requests, answers:
        with suppress(OSError):  # users may have only so much memory in pipes
            fcntl(pipe, F_SETPIPE_SZ, PIPE)
    return min(SHORT, fcntl(requests, F_GETPIPE_SZ) // 2)


def _read(answer: bytes) -> tuple[list[int], Done | Exception]:
    """Return the pieces of memory that an answer sets free, and the outcomes, or why they cannot be read."""
    stream = io.BytesIO(answer)
    free = pickle.load(stream)
    try:
        found: Done | Exception = pickle.load(stream)
    except Exception as error:
        found = error
    return free, found


def _sent_ahead(requests: IO[bytes], message: bytes) -> bool:
    """Send a message to a process that is at work, and return whether that was possible."""
    try:
        send(requests, message)
    except OSError:
        return False  # it has ended, perhaps after an answer
    return True


def _pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    assert process.stdin is not None
    assert process.stdout is not None
    return process.stdin, process.stdout


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and those that its function started: Ctrl-C does not reach them."""
    if hasattr(os, "killpg") and process.poll() is None:
        with suppress(OSError):  # macOS refuses where the process has just ended
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()


def _why(status: int | None) -> str:
    if status is None:
        return ""
    return f" by signal {-status}" if status < 0 else f" with exit status {status}"
