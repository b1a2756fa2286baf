"""Adaptive bottom-up merging on networks: blocks are searched alone, then merged, on many cores.

:mod:`preflow.forests.merging` has the method, its paper (Liu and Sun 2010), definitions and departures. Here
a block is a ball of the network.

Definitions
-----------
- An *atom* is a run of ATOM consecutive vertices, where such vertices have common neighbours: in images,
  volumes and labels of pixels. Elsewhere each vertex is an atom.
- The *weight* of an atom is the number of its arcs and vertices.

Pseudo-code
-----------
::

    for each partition, each with a quarter of the blocks of the last one:               partition
        grow a ball of atoms by breadth-first search until it has its share of weight;   grow_balls
            the next one starts beside it, or at the first atom in no ball
        list the arcs between each two balls                                             list_crossing
    search blocks and merge them                                            forests.merging.search_in_parts
    compute the distances to the sink, all threads together                              search_together

The borders of a partition have no regard for those of the last one. So most of each old border is within a
new block. A search looks at every STRIDE-th vertex of an atom: a ball need not be perfect.

The budget is a number of operations for each arc and vertex, which the threads spend together: a thread
gets a share of what is left, and asks for another one when it has made these operations. Orphans are limited
as on grids.

Time: O(n**2 m value) in the worst case. Memory beside the network: 6 indices and a byte a vertex, up to 2
indices a vertex for each thread, and 4 numbers for each arc between blocks.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, Indices
from ..forests.incremental_search import check_work_limit
from ..forests.merging import FEW_BLOCKS, blocks_wanted, search_in_parts
from ..forests.merging.parts import Blocks, Faces, runs_of
from ..graph.residual import ResidualArrays
from ..kernels.clock import now
from ..kernels.constants import ONE, ZERO
from ..kernels.kernel import kernel
from ..network.arcs import arcs_of, end, first, head, num_vertices
from ..parallel.pieces import run_pieces
from ..parallel.search import make_search, search_together
from ..parallel.thread_pool import run_solver
from ..solving.options import CheckedOptions, PositiveInteger
from ..solving.run import Control
from ..stats import RELABEL_NANOSECONDS, WORK_LIMIT

#: Vertices of an atom, and of how many one is looked at.
ATOM, STRIDE = 64, 8
#: Consecutive vertices have common neighbours if the heads of the arcs of an atom are in at most this share
#: of as many atoms, on average over a sample of SAMPLE. It is near 1 for vertices in random order.
COMMON, SAMPLE = 0.25, 32
#: A partition has this part of the blocks of the last one.
COARSER = 4
#: The least share that a thread gets of the budget, as one of this many for each thread.
SHARES = 64


@dataclass(frozen=True)
class MergingOptions(CheckedOptions):
    """Options of adaptive bottom-up merging.

    Attributes
    ----------
    blocks : int or None
        Number of blocks of the first partition; None chooses it from the network and the threads, and 1 for
        one thread.
    repartition : bool
        Search coarser partitions until there are few blocks; then merge. False merges the blocks of the first
        partition.
    """

    blocks: PositiveInteger | None = None
    repartition: bool = True


@kernel
def end_of_atom(net: ResidualArrays, atom: np.uint64, size: np.uint64) -> np.uint64:
    """Return one past the last vertex of an atom."""
    return min((atom + ONE) * size, num_vertices(net))


@kernel
def grow_balls(
    net: ResidualArrays, size: np.uint64, num_blocks: np.uint64, block_of: Indices, order: Indices
) -> None:
    """Divide the atoms, of `size` vertices each, into blocks of the same weight.

    Write the block of each atom, and the atoms block by block into the first row of `order`. In the second
    row an atom has one more than the last block that has seen it, 0 at first.
    """
    atoms = np.uint64(len(block_of))
    whole = np.uint64(len(net.head) + len(net.excess))
    stride = max(size // np.uint64(STRIDE), ONE)
    done, found, unseen = ZERO, ZERO, ZERO
    block, weight = ZERO, ZERO
    while done < atoms:
        if done == found:
            # The ball cannot grow: take the first atom in no ball.
            while order[1, unseen] == atoms + ONE:
                unseen += ONE
            order[0, found] = unseen
            order[1, unseen] = block + ONE
            found += ONE
        atom = np.uint64(order[0, done])
        done += ONE
        block_of[atom] = block
        order[1, atom] = atoms + ONE
        v, last = atom * size, end_of_atom(net, atom, size)
        weight += last - v + end(net, last - ONE) - first(net, v)
        if weight * num_blocks >= whole * (block + ONE) and block + ONE < num_blocks:
            # The ball is full. The next one starts with the atom that was the next to join it.
            block += ONE
            if done < found:
                order[1, order[0, done]] = block + ONE
                found = done + ONE
            continue
        while v < last:
            a, stop = arcs_of(net, v)
            while a < stop:
                other = head(net, v, a) // size
                if np.uint64(order[1, other]) <= block:
                    order[1, other] = block + ONE
                    order[0, found] = other
                    found += ONE
                a += ONE
            v += stride


@kernel
def list_crossing(
    net: ResidualArrays,
    size: np.uint64,
    blocks: Blocks,
    block_of: Indices,
    block: np.uint64,
    place: NDArray[np.uint64],
    tail: Indices,
    name: Indices,
) -> None:
    """Count the arcs from a block to each later one in ``place[block]``; write them where there is room."""
    run, last = runs_of(blocks, block)
    while run < last:
        v = np.uint64(blocks.begin[run])
        while v < np.uint64(blocks.end[run]):
            a, stop = arcs_of(net, v)
            while a < stop:
                other = np.uint64(block_of[head(net, v, a) // size])
                if other > block:
                    k = place[block, other]
                    if len(tail) > 0:
                        tail[k], name[k] = v, a
                    place[block, other] = k + ONE
                a += ONE
            v += ONE
        run += ONE


def partition(net: ResidualArrays, size: int, num_blocks: int, threads: int) -> tuple[Blocks, Faces]:
    """Divide a network into blocks of atoms of `size` vertices; return them, and the open faces."""
    n, dtype = len(net.excess), net.head.dtype
    atoms = -(-n // size)
    num_blocks = min(num_blocks, atoms)
    block_of = np.empty(atoms, dtype=np.uint32)
    order = np.zeros((2, atoms), dtype=dtype)
    grow_balls(net, np.uint64(size), np.uint64(num_blocks), block_of, order)
    begin = order[0] * dtype.type(size)
    blocks = Blocks(
        np.append(0, np.cumsum(np.bincount(block_of, minlength=num_blocks))).astype(np.uint64),
        begin,
        np.minimum(begin + dtype.type(size), n).astype(dtype),
    )
    return blocks, make_faces(net, size, blocks, block_of, threads)


def make_faces(
    net: ResidualArrays, size: int, blocks: Blocks, block_of: NDArray[np.uint32], threads: int
) -> Faces:
    """Return the open faces between blocks, given the block of each atom."""
    num_blocks = len(blocks.first) - 1
    place = np.zeros((num_blocks, num_blocks), dtype=np.uint64)
    tail, name = np.empty((2, 0), dtype=net.head.dtype)

    def visit(begin: int, end: int) -> None:
        for block in range(begin, end):
            list_crossing(net, np.uint64(size), blocks, block_of, np.uint64(block), place, tail, name)

    run_pieces(visit, num_blocks, threads)
    ends = np.ascontiguousarray(np.argwhere(place), dtype=np.uint32)
    first_arc = np.append(0, np.cumsum(place[place > 0])).astype(np.uint64)
    place[place > 0] = first_arc[:-1]
    tail, name = np.empty((2, int(first_arc[-1])), dtype=net.head.dtype)
    run_pieces(visit, num_blocks if len(tail) else 0, threads)
    return Faces(ends, first_arc, tail, name, np.empty((len(tail), 2), dtype=net.residual.dtype))


def atom_size(net: ResidualArrays) -> int:
    """Return ATOM if consecutive vertices have common neighbours, judged from a sample, else 1."""
    n = len(net.excess)
    arcs = atoms = 0
    for v in np.linspace(0, max(0, n - ATOM), SAMPLE, dtype=np.int64).tolist():
        heads = net.head[net.first_out[v] : net.first_out[min(v + ATOM, n)]]
        arcs += len(heads)
        atoms += len(np.unique(heads // ATOM))
    return ATOM if atoms <= COMMON * arcs else 1


def shared_budget(control: Control) -> Callable[[int], bool]:
    """Return a function that gives a thread a share of the operations that are left; False if none is."""
    begun, last, lock = control.operations, int(control.counts[WORK_LIMIT]), threading.Lock()

    def allow(thread: int) -> bool:
        if last == 0:
            return True
        with lock:
            left = last - control.operations
            least = 1 + (last - begun) // (SHARES * control.threads)
            control.limit_work_of(thread, max(left // control.threads, least))
            return left > 0

    return allow


def solve(net: ResidualArrays, options: MergingOptions, control: Control) -> Array:
    """Run the first stage in place, on all threads; return exact heights."""
    n, m, threads = len(net.excess), len(net.head), control.threads
    if n > 0 and not control.stopped:
        wanted = blocks_wanted(n, threads, options.blocks) if threads > 1 else options.blocks or 1
        size = atom_size(net) if wanted > 1 else max(1, n)
        parts = [partition(net, size, wanted, threads)]
        while options.repartition and wanted > FEW_BLOCKS:
            wanted //= COARSER
            parts.append(partition(net, size, wanted, threads))
        search_in_parts(net, parts, n, max(1, m // max(1, n)), control, shared_budget(control))
        check_work_limit(control, None)
        control.limit_work(0)  # it has ended, whatever that took
    height = np.empty(n, dtype=net.head.dtype)
    search = make_search(threads, n, m, net.head.dtype)

    def share(thread: int) -> None:
        search_together(search, np.uint64(thread), net, height, False)

    started = now()
    run_solver(share, control, search.barrier)
    control.counts[RELABEL_NANOSECONDS] += now() - started
    return height
