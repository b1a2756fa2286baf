"""The program of a worker process: chunks come on standard input, outcomes go to standard output.

:mod:`.messages` has the form of messages. The first one is the task, and the answer to it is empty if the
task could be read. The answer to a chunk begins with a mark: whether the shared memory that had the chunk can
be used again. What the function prints goes to standard error.
"""

from __future__ import annotations

import os
import pickle
import sys

from .messages import Inbox, receive, send, unpacked
from .task import Done, Task, dumps

#: Marks of answers.
FREE, RETAINED = b"f", b"r"


def answer(task: Task, chunk: memoryview) -> bytes:
    """Return the answer to a chunk; an error where it cannot be read, or the outcomes cannot be sent."""
    try:
        outcome: Done | Exception = task(unpacked(chunk))
        return dumps(outcome)
    except Exception as error:
        return pickle.dumps(TypeError(f"cannot be sent: {type(error).__name__}: {error}"))


def main() -> None:
    """Serve until the input ends. The arguments of the program are descriptors of shared memory."""
    files = [int(number) for number in sys.argv[1:]]
    del sys.argv[1:]
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
    inbox = Inbox(requests, files)
    try:
        while True:
            found = answer(task, inbox.chunk())
            send(answers, RETAINED if inbox.is_referred_to() else FREE, found)
    except (EOFError, BrokenPipeError):
        os._exit(0)  # nobody reads what is left in the buffers
