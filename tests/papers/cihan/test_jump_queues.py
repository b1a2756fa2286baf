"""The shared queue of Cihan's search: the example of the thesis, and any sequence of levels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from preflow.papers.cihan.jump_queues import (
    COUNT,
    DIRECTION,
    HEAD,
    NOTHING,
    TAIL,
    make_jump_queues,
    pop,
    push,
    reset,
    revert,
)

pytestmark = pytest.mark.fast

ZERO, ONE = np.uint64(0), np.uint64(1)


def test_example_of_the_thesis() -> None:
    """Section 4.6.3: four vertices, two threads; the array and all pointers are as printed."""
    queues = make_jump_queues(2, 3)
    reset(queues, ZERO)
    reset(queues, ONE)
    push(queues, ZERO, np.uint64(10))
    push(queues, ZERO, np.uint64(20))
    assert queues.items.tolist() == [0, 0, 20, 10, 0, 0, 0, 0]
    assert queues.outq[:, [HEAD, DIRECTION, COUNT]].tolist() == [[1, -1, 2], [7, -1, 0]]
    assert queues.inq[:, [HEAD, TAIL, DIRECTION]].tolist() == [[0, 0, 1], [4, 4, 1]]
    revert(queues)
    assert queues.items.tolist() == [0, 0, 20, 10, 0, 0, 0, -4]
    assert queues.outq[:, [HEAD, DIRECTION, COUNT]].tolist() == [[0, 1, 0], [4, 1, 0]]
    assert queues.inq[:, [HEAD, TAIL, DIRECTION]].tolist() == [[2, 1, -1], [7, 2, -1]]
    assert queues.total[0] == 2
    assert [int(pop(queues, ONE)), int(pop(queues, ONE))] == [10, NOTHING]
    assert [int(pop(queues, ZERO)), int(pop(queues, ZERO))] == [20, NOTHING]


@given(data=st.data(), num_threads=st.integers(1, 5), num_items=st.integers(0, 12))
def test_levels_are_shared_out(data: st.DataObject, num_threads: int, num_items: int) -> None:
    """Each item that is pushed is popped once, in the next level, and the shares differ by one at most."""
    queues = make_jump_queues(num_threads, num_items)
    for _ in range(2):
        left = data.draw(st.permutations(range(num_items)))
        threads = [np.uint64(thread) for thread in range(num_threads)]
        for thread in threads:
            reset(queues, thread)
        level: list[int] = []
        taken: list[int] = []
        while left or level:
            size = data.draw(st.integers(min(1, len(left)), len(left)))
            pushed, left = left[:size], left[size:]
            popped = [0] * num_threads
            # Pushes and pops of a level take turns, as those of threads do.
            steps = [*pushed, *([None] * (len(level) + num_threads))]
            for item in data.draw(st.permutations(steps)):
                thread = data.draw(st.sampled_from(threads))
                if item is not None:
                    push(queues, thread, np.uint64(item))
                elif (got := int(pop(queues, thread))) != NOTHING:
                    taken.append(got)
                    popped[int(thread)] += 1
            for thread in threads:
                while (got := int(pop(queues, thread))) != NOTHING:
                    taken.append(got)
                    popped[int(thread)] += 1
            assert sorted(taken) == sorted(level)
            assert max(popped) - min(popped) <= 1
            revert(queues)
            assert queues.total[0] == len(pushed)
            level, taken = list(pushed), []
