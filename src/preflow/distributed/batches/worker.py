"""The program of a worker process: chunks come on standard input, outcomes go to standard output.

The first message is the task, and the answer to it is empty if the task could be read. What the function
prints goes to standard error. An argument is the descriptor of shared memory for long messages.
"""

from __future__ import annotations

import mmap
import os
import pickle
import sys

from .channel import Channel
from .task import Done, Task, dumps


def answer(task: Task, message: bytes | mmap.mmap) -> bytes:
    """Return the answer to a chunk; an error where it cannot be read, or the outcomes cannot be sent."""
    try:
        outcome: Done | Exception = task(pickle.loads(message))
        return dumps(outcome)
    except Exception as error:
        return pickle.dumps(TypeError(f"cannot be sent: {type(error).__name__}: {error}"))


def main() -> None:
    """Serve until the input ends."""
    memory = int(sys.argv[1]) if len(sys.argv) > 1 else None
    channel = Channel(os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb"), memory)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    try:
        task: Task = pickle.loads(channel.receive())
    except EOFError:
        return
    except Exception as error:
        channel.send(f"{type(error).__name__}: {error}".encode())
        return
    channel.send(b"")
    try:
        while True:
            channel.send(answer(task, channel.receive()))
    except (EOFError, BrokenPipeError):
        os._exit(0)  # nobody reads what is left in the buffers
