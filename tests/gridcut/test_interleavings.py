"""Explore which thread owns each region of a network, in all states of two or three threads on tiny cases."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from preflow.forests.incremental_search import Forests, make_forests
from preflow.forests.merging import borders, regions
from preflow.forests.merging.parts import Blocks, Faces, close_face
from preflow.forests.merging.regions import CLOSED, Regions, make_regions
from preflow.graph.residual import ResidualArrays
from preflow.gridcut.multicore_merging.blocks import Boxes, coarser_boxes, make_parts, plan_boxes
from preflow.gridcut.pixel_major import GridState
from preflow.kernels import atomics
from preflow.maxflow.multicore_merging import make_faces
from preflow.solving.monitor import Monitor
from tests.support.exploration import (
    Cases,
    Mutants,
    exchange_for,
    exploration_tests,
    hold_constant,
    impatient_barrier,
    look_then_set,
    mutate,
    serve,
    uncounted_monitor,
)
from tests.support.scheduler import Outcome, Thread, explore, hidden_values
from tests.support.tiny_networks import residual_of

ZERO, ONE = np.uint64(0), np.uint64(1)

#: Faces as pairs of blocks: rows of blocks, a square, and two pairs that nothing joins.
PAIR = [(0, 1)]
ROW = [(0, 1), (1, 2)]
LONG_ROW = [(0, 1), (1, 2), (2, 3)]
SQUARE = [(0, 1), (2, 3), (0, 2), (1, 3)]
APART = [(0, 1), (2, 3)]


class Work(NamedTuple):
    """What the threads share.

    Attributes
    ----------
    joined : the blocks of the region of each block, as bits
    owner : one more than the thread that has a block, 0 if none has
    fresh : how often a block was handed out as one that nobody has searched
    """

    regions: Regions
    joined: NDArray[np.int64]
    owner: NDArray[np.int64]
    fresh: NDArray[np.int64]
    monitor: Monitor


def hand_over(shared: Work, blocks: int, before: int, after: int) -> None:
    for number in range(len(shared.owner)):
        if blocks >> number & 1:
            block = np.uint64(number)
            assert shared.owner[block] == before, "another thread has it"
            shared.owner[block] = after
            shared.joined[block] = blocks


def joined_by(shared: Work, begin: np.uint64, end: np.uint64) -> int:
    """Return the blocks of the two regions between which faces are opened."""
    blocks = 0
    while begin < end:
        face = shared.regions.closed[begin]
        tails = int(shared.joined[shared.regions.ends[face, ZERO]])
        heads = int(shared.joined[shared.regions.ends[face, ONE]])
        assert tails & heads == 0, "a face within a region"
        assert blocks in (0, tails | heads), "faces of more than two regions"
        blocks = tails | heads
        begin += ONE
    return blocks


def work(num_blocks: int, faces: list[tuple[int, int]], num_threads: int, parts: int = 1) -> Outcome:
    """Nobody has a block that another thread has; in the end all faces are open."""

    def member(thread: int) -> Thread:
        def run(shared: Work) -> None:
            none = np.uint64(num_blocks)
            region, blocks = none, 0
            while True:
                hand_over(shared, blocks, thread + 1, 0)
                region, begin, end, fresh = regions.next_region(shared.regions, region, 0, shared.monitor)
                if region == none:
                    return
                blocks = 1 << int(region) if fresh else joined_by(shared, begin, end)
                hand_over(shared, blocks, 0, thread + 1)
                if fresh:
                    shared.fresh[region] += 1

        return run

    def make_case() -> tuple[Work, list[Thread]]:
        made = make_regions(num_blocks, np.array(faces, dtype=np.uint32))
        made.weight[:] = 1
        hold_constant((made.ends, made.weight))
        nothing = np.zeros((2, num_blocks), np.int64)
        shared = Work(
            made, 1 << np.arange(num_blocks), nothing[0].copy(), nothing[1].copy(), uncounted_monitor()
        )
        return shared, [member(thread) for thread in range(num_threads)]

    def check_end(shared: Work, results: list[None]) -> None:
        assert shared.regions.shared[CLOSED] == 0, "a face is closed"
        assert (shared.fresh == 1).all(), "a block was not searched once"
        assert len(set(shared.regions.region_of.tolist())) == parts

    return explore(make_case, check_end=check_end)


# Another partition


class Part(NamedTuple):
    """What change_partition is given of a partition."""

    net: GridState | ResidualArrays
    blocks: Blocks
    faces: Faces
    regions: Regions
    barrier: NDArray[np.int64]


class Parts(NamedTuple):
    """What the threads share."""

    first: Part
    second: Part
    forests: Forests


def two_partitions(num_threads: int) -> Parts:
    """Return a row of six pixels with arcs to the next one and the next but one, its first faces closed."""
    offsets = np.array([(0, 1), (0, -1), (0, 2), (0, -2)])
    pad, size, degree = 2, 10, 4
    residual = np.zeros((size, degree), np.int32)
    for d, (_, offset) in enumerate(offsets):
        residual[[p for p in range(2, 8) if 2 <= p + offset < 8], d] = 3
    residual[4, 0] = residual[5, 3] = 0
    state = GridState(residual.ravel(), np.zeros(size, np.int32), offsets[:, 1].astype(np.uint64))
    forests = make_forests(state, 0)
    forests.label[2:8] = [1, 2, -2, -1, 2, 1]
    forests.parent[2:8] = [4, 1, 0, 4, 0, 4]
    barrier = impatient_barrier(num_threads)

    def part(boxes: Boxes) -> Part:
        blocks, faces = make_parts(boxes, offsets, state, 1)
        hold_constant((*blocks, *faces[:4]))
        return Part(state, blocks, faces, make_regions(len(blocks.first) - 1, faces.ends), barrier)

    boxes = plan_boxes((1, 6), pad, 3)
    parts = Parts(part(boxes), part(coarser_boxes(boxes)), forests)
    parts.first.regions.depth[:] = [(1, 2), (3, 1), (1, 1)]
    for face in range(len(parts.first.faces.ends)):
        close_face(state, parts.first.faces, np.uint64(face))
    hold_constant((state.step, forests.label))
    return parts


def two_partitions_of_a_network(num_threads: int) -> Parts:
    """Return the same row as a network that stores its arcs."""
    arcs = [(v, v + step, 3) for v in range(6) for step in (1, 2) if v + step < 6]
    net = residual_of([*arcs, *((head, tail, 3) for tail, head, _ in arcs), (6, 0, 1), (3, 7, 1)])

    def name(tail: int, head: int) -> int:
        first = net.first_out.tolist()
        return first[tail] + net.head[first[tail] : first[tail + 1]].tolist().index(head)

    net.residual[[name(2, 3), name(3, 1)]] = 0
    root = len(net.head)
    forests = make_forests(net, 0)
    forests.label[:] = [1, 2, -2, -1, 2, 1]
    forests.parent[:] = [root, name(1, 0), name(2, 3), root, name(4, 5), root]
    barrier = impatient_barrier(num_threads)

    def part(size: int) -> Part:
        begin = np.arange(0, 6, size, dtype=net.head.dtype)
        block_of = (np.arange(6) // size).astype(np.uint32)
        blocks = Blocks(np.arange(len(begin) + 1, dtype=np.uint64), begin, begin + begin.dtype.type(size))
        faces = make_faces(net, 1, blocks, block_of, 1)
        hold_constant((*blocks, *faces[:4]))
        return Part(net, blocks, faces, make_regions(len(begin), faces.ends), barrier)

    parts = Parts(part(2), part(3), forests)
    parts.first.regions.depth[:] = [(1, 2), (3, 1), (1, 1)]
    for face in range(len(parts.first.faces.ends)):
        close_face(net, parts.first.faces, np.uint64(face))
    hold_constant((forests.label,))
    return parts


def change(num_threads: int, two_partitions: Callable[[int], Parts] = two_partitions) -> Outcome:
    """What several threads make of it is what one does."""
    one = two_partitions(1)
    borders.change_partition(*one, ZERO, ONE)
    assert (one.forests.queued & borders.CUT_OFF).any()
    assert (one.forests.queued & borders.CAN_GROW).any()
    inside = one.forests.label != 0  # other pixels have no parent

    def member(thread: int) -> Thread:
        return lambda shared: borders.change_partition(*shared, np.uint64(thread), np.uint64(num_threads))

    def check_end(shared: Parts, results: list[bool]) -> None:
        assert all(results)
        for name, found, wanted in (
            ("residual", shared.first.net.residual, one.first.net.residual),
            ("kept", shared.second.faces.kept, one.second.faces.kept),
            ("parent", shared.forests.parent[inside], one.forests.parent[inside]),
            ("queued", shared.forests.queued, one.forests.queued),
            ("depth", shared.second.regions.depth, one.second.regions.depth),
            ("weight", shared.second.regions.weight, one.second.regions.weight),
        ):
            assert np.array_equal(found, wanted), name

    return explore(
        lambda: (two_partitions(num_threads), [member(thread) for thread in range(num_threads)]),
        check_end=check_end,
    )


CASES: Cases = {
    "partition": lambda: change(2),
    "partition-network": lambda: change(2, two_partitions_of_a_network),
    "row": lambda: work(3, ROW, 2),
    "pair-3": lambda: work(2, PAIR, 3),
    "long-row": lambda: work(4, LONG_ROW, 2),
    "square": lambda: work(4, SQUARE, 2),
    "apart": lambda: work(4, APART, 2, parts=2),
}

MUTANTS: Mutants = {
    "takes the lock in two steps": (
        "row",
        exchange_for(atomics.compare_exchange, look_then_set),
        "data race",
    ),
    "leaves while another thread is at work": (
        "row",
        mutate(regions.next_region, "leaves-while-another-thread-is-at-work", "if at_work == ONE:"),
        "deadlock",
    ),
    "merges with a region that somebody has": (
        "row",
        mutate(regions.best_face, "merges-with-a-region-that-somebody-has", "if regions.state[a] == IDLE:"),
        "data race",
    ),
    "partition: closes faces while others open some": (
        "partition",
        mutate(borders.change_partition, "closes-faces-while-others-open-some", ""),
        "residual",
    ),
    "partition: marks plainly what others mark": (
        "partition",
        mutate(borders.mark_border, "marks-plainly-what-others-mark", "forests.queued[v] = CAN_GROW"),
        "data race",
    ),
    "partition: looks plainly at a parent that another thread takes away": (
        "partition",
        mutate(
            borders.cut_off,
            "looks-plainly-at-a-parent-that-another-thread-takes-away",
            "if forests.label[v] != 0 and np.uint64(forests.parent[v]) == a:",
        ),
        "data race",
    ),
    "network: closes faces while others open some": (
        "partition-network",
        mutate(borders.change_partition, "closes-faces-while-others-open-some", ""),
        "residual",
    ),
    "network: marks plainly what others mark": (
        "partition-network",
        mutate(borders.mark_border, "marks-plainly-what-others-mark", "forests.queued[v] = CAN_GROW"),
        "data race",
    ),
    "keeps a region": (
        "square",
        mutate(regions.next_region, "keeps-a-region", "pass"),
        "a face is closed",
    ),
}


test_every_state, test_mutant_is_found = exploration_tests(CASES, MUTANTS)


def test_expressions_hide_no_value() -> None:
    assert hidden_values((regions,)) == []
    assert hidden_values((borders,), steps={"wait"}) == []


if __name__ == "__main__":
    serve(CASES, MUTANTS)
