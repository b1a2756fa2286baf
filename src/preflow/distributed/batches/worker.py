"""The program of a worker process: chunks come on standard input, outcomes go to standard output.

A message is its length in eight bytes, then as many bytes. The first message is the task, and the answer to
it is empty if the task could be read. What the function prints goes to standard error.
"""

from __future__ import annotations

import os
import pickle
import struct
import sys
from io import BufferedReader
from typing import IO

from .task import Done, Task, dumps

LENGTH = struct.Struct("<Q")
#: Bytes that a worker keeps for the next message, at most.
KEPT = 1 << 26


def send(stream: IO[bytes], message: bytes) -> None:
    """Write a message."""
    stream.write(LENGTH.pack(len(message)))
    stream.write(message)
    stream.flush()


def receive(stream: IO[bytes]) -> bytes:
    """Read a message.

    Raises
    ------
    EOFError
        The other side has ended.
    """
    (length,) = LENGTH.unpack(_exactly(stream, LENGTH.size))
    return _exactly(stream, length)


def _exactly(stream: IO[bytes], count: int) -> bytes:
    found = stream.read(count)
    if len(found) < count:
        raise EOFError
    return found


class Inbox:
    """Messages from a stream, in memory that is used again: fresh pages cost as much as two copies."""

    def __init__(self, stream: BufferedReader) -> None:
        self._stream, self._memory = stream, bytearray()

    def receive(self) -> memoryview:
        """Read a message, which is valid until the next one is read.

        Raises
        ------
        EOFError
            The other side has ended.
        """
        (length,) = LENGTH.unpack(_exactly(self._stream, LENGTH.size))
        memory = self._memory
        if length > len(memory):
            memory = bytearray(length)
            if length <= KEPT:
                self._memory = memory
        message = memoryview(memory)[:length]
        done = 0
        while done < length:
            count = self._stream.readinto(message[done:])
            if count == 0:
                raise EOFError
            done += count
        return message


def answer(task: Task, message: memoryview) -> bytes:
    """Return the answer to a chunk; an error where it cannot be read, or the outcomes cannot be sent."""
    try:
        outcome: Done | Exception = task(pickle.loads(message))
        return dumps(outcome)
    except Exception as error:
        return pickle.dumps(TypeError(f"cannot be sent: {type(error).__name__}: {error}"))


def main() -> None:
    """Serve until the input ends."""
    inbox, answers = Inbox(os.fdopen(os.dup(0), "rb")), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    try:
        task: Task = pickle.loads(inbox.receive())
    except EOFError:
        return
    except Exception as error:
        send(answers, f"{type(error).__name__}: {error}".encode())
        return
    send(answers, b"")
    try:
        while True:
            send(answers, answer(task, inbox.receive()))
    except (EOFError, BrokenPipeError):
        os._exit(0)  # nobody reads what is left in the buffers
