"""Work on a range in pieces, by as many threads as wanted."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TypeVar

#: Pieces for each thread.
PIECES = 8

Result = TypeVar("Result")


def run_pieces(
    work: Callable[[int, int], Result], size: int, num_threads: int, each: int = PIECES
) -> list[Result]:
    """Run ``work(begin, end)`` on pieces of ``0 .. size - 1`` and return what it returns, in order.

    Threads take one of `each` pieces a thread after the other, since some may be more work than others; one
    thread takes all.
    """
    if num_threads == 1:
        return [work(0, size)]

    from .team import run_team  # 10 ms to import

    pieces = each * num_threads
    bounds = [size * piece // pieces for piece in range(pieces + 1)]
    turns = itertools.count()
    results: dict[int, Result] = {}

    def take_turns(_: int) -> None:
        while (piece := next(turns)) < pieces:
            results[piece] = work(bounds[piece], bounds[piece + 1])

    run_team(take_turns, num_threads, lambda: None)
    return [results[piece] for piece in range(pieces)]
