"""The program of a worker process: chunks come on standard input, outcomes go to standard output.

A message is its length in eight bytes, then as many bytes. The first message is the task, and the answer to
it is empty if the task could be read. What the function prints goes to standard error.
"""

from __future__ import annotations

import os
import pickle
import struct
import sys
from typing import IO

from .task import Done, Task, dumps

LENGTH = struct.Struct("<Q")


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


def answer(task: Task, message: bytes) -> bytes:
    """Return the answer to a chunk; an error where it cannot be read, or the outcomes cannot be sent."""
    try:
        outcome: Done | Exception = task(pickle.loads(message))
        return dumps(outcome)
    except Exception as error:
        return pickle.dumps(TypeError(f"cannot be sent: {type(error).__name__}: {error}"))


def main() -> None:
    """Serve until the input ends."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    try:
        task: Task = pickle.loads(receive(requests))
    except EOFError:
        return
    except Exception as error:
        send(answers, f"{type(error).__name__}: {error}".encode())
        return
    send(answers, b"")
    try:
        while True:
            send(answers, answer(task, receive(requests)))
    except (EOFError, BrokenPipeError):
        os._exit(0)  # nobody reads what is left in the buffers
