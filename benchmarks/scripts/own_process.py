"""Run a contestant in a process of its own, which is ended after a limit."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection

from ..records import Outcome

Run = Callable[[], Outcome]


def _send(run: Run, answer: Connection) -> None:
    answer.send(run())


def outcome_of(run: Run, limit: float) -> Outcome | None:
    """Return the outcome of a run, or None if it failed or took more than `limit` seconds."""
    context = multiprocessing.get_context("fork")
    receive, send = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(run, send))
    process.start()
    send.close()
    outcome: Outcome | None = None
    if receive.poll(limit):
        try:
            outcome = receive.recv()
        except EOFError:
            outcome = None
    process.terminate()
    process.join()
    return outcome
