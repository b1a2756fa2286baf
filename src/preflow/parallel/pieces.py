"""Work on a range in pieces, on one or more threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

#: Number of pieces for each thread.
PIECES = 8

Result = TypeVar("Result")


def run_pieces(
    work: Callable[[int, int], Result], size: int, num_threads: int, each: int = PIECES
) -> list[Result]:
    """Run ``work(begin, end)`` on pieces of ``0 .. size - 1`` and return what it returns, in order.

    Each thread takes one piece after the other, `each` of them on average, since some pieces may be more
    work than others. One thread works on the whole range as one piece. After a piece has failed, or after
    Ctrl-C, no further piece begins.
    """
    if num_threads == 1:
        return [work(0, size)]

    from .thread_pool import run_on_threads  # 10 ms to import

    pieces = each * num_threads
    bounds = [size * piece // pieces for piece in range(pieces + 1)]
    turns = iter(range(pieces))
    results: dict[int, Result] = {}

    def take_turns(_: int) -> None:
        for piece in turns:
            results[piece] = work(bounds[piece], bounds[piece + 1])

    def give_up() -> None:
        for _ in turns:
            pass

    run_on_threads(take_turns, num_threads, give_up)
    return [results[piece] for piece in range(pieces)]
