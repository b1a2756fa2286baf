"""The program of a worker process: chunks come on standard input, outcomes go to standard output.

:mod:`.messages` has the form of messages. The first message is the task. The answer to it is empty, or says
why the worker cannot read the task. Each later message brings a chunk. The answer to a chunk is two pickles:
the pieces of shared memory that can be used again, then a Done or an error. A piece is reported once the
function keeps no item that lies in it. What the function prints goes to standard error.
"""

from __future__ import annotations

import os
import pickle
import sys

from .messages import Inbox, receive, send, unpacked
from .task import Done, Task, dumps


def answer(task: Task, chunk: memoryview) -> bytes:
    """Return the answer to a chunk; an error where it cannot be read, or the outcomes cannot be sent."""
    try:
        outcome: Done | Exception = task(unpacked(chunk))
        return dumps(outcome)
    except Exception as error:
        return pickle.dumps(TypeError(f"cannot be sent: {type(error).__name__}: {error}"))


def main() -> None:
    """Serve until the input ends. The argument of the program is the descriptor of shared memory, if any."""
    file = int(sys.argv.pop()) if len(sys.argv) > 1 else None
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # programs that the function starts may read from it
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    if hasattr(os, "register_at_fork"):  # the other side waits until nobody can answer any more
        os.register_at_fork(after_in_child=requests.raw.close)
        os.register_at_fork(after_in_child=answers.raw.close)
    inbox = Inbox(requests, file)
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
            found = answer(task, inbox.chunk())
            send(answers, pickle.dumps(inbox.released()), found)
    except (EOFError, BrokenPipeError):
        os._exit(0)  # nobody reads what is left in the buffers
