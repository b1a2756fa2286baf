"""Weighted matchings of many small graphs on a GPU: each warp matches whole graphs.

The search is that of :mod:`preflow.general_matching.weighted_blossom`, which has definitions and
invariants, for matrices: arrays by vertices that all lanes scan take the place of heaps, and of lists of the
vertices of a node. So a step of a search takes O(n / 32) for each lane, and a search O(n**2 / 32) but for
steps that look again.

Each vertex v has a best edge from an even vertex u of another node, `near`. Once u and v are in one blossom,
the edge is of no use, and a lower bound for the others. So it is only replaced, by a look at the row of v,
when its time comes.

The state of a graph is in shared memory, and so is the matrix if four or more fit that of a multiprocessor.
Numbers have 32 bits if weights are below 2**28.

Invariants
----------
- A warp takes an item by an atomic addition, and only that warp writes its part of the solution.
- Memory that lanes of a warp share is ordered by __syncwarp between its writes and its reads.
- All loops are bounded. A search has at most n events of its tree, and looks again at most n times after each
  of n / 2 blossoms.

Pseudo-code
-----------
::

    each warp, while there are items and the solve continues:              solve_items (kernel)
        write the matrix of the weights that are solved                    load
        lower duals, match tight edges                                     start
        for each free vertex whose dual is above 0:
            the tree is its node, at time 0                                search
            until the tree ends:
                scan the rows of new even vertices                         scan
                find what happens first, all lanes together                next_event
                as in weighted_blossom: augment, grow (reach),
                    shrink or expand; or look again at a row
            write the duals as of now                                      settle
        match the children of all blossoms in pairs                        match_vertices
        write the matching, the duals and the blossoms                     write

Time of an item: O(n**3). Memory: 8 n**2 + 70 n bytes for each warp, half of the first with 32 bits.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import AnyArray
from ...cuda.runtime import Device
from ...cuda.structs import I64, U64, ConstF64, ConstI64, ConstU32, Signed
from ...cuda.uploads import upload_by_threads
from ...errors import DeviceMemoryError
from ...graph.placement import require_memory
from ...solving.options import NoOptions  # noqa: F401  (methods.py names it)
from ...solving.run import Control
from ...stats import ARC_SCANS, AUGMENTATIONS, PHASES
from ..result import Wanted
from .arrays import Found, Scales, Survey
from .graphs import GraphBatch
from .result import DualsOfBatch

SOURCE = Path(__file__).with_suffix(".cu")
WARP = 32
#: Types of weights, as numbered in the ``.cu`` file.
SOURCES = {"i4": 0, "i8": 1, "f4": 2, "f8": 3}
#: Matrices are in shared memory if as many warps have room there on a multiprocessor.
LEAST_TOGETHER = 4
#: Shared memory that the system takes of each block, and most blocks of a multiprocessor.
RESERVED_BYTES, MOST_BLOCKS = 1024, 32
#: Weights below this are solved in 32 bits.
MOST_NARROW = 2**28
#: Bytes to which the arrays of a warp are rounded up.
ALIGNED = 16


class Arguments(NamedTuple):
    """Arguments of "survey_items" and "solve_items"."""

    # The graphs: see `Items`.
    weight: Annotated[AnyArray, "const Source*"]
    ends: ConstU32
    first_edge: ConstI64
    first_vertex: ConstI64
    first_blossom: ConstI64
    no_edge: Annotated[AnyArray, "const Source*"]
    has_no_edge: int
    is_stack: int
    num_items: int
    sign: Signed
    most_edges: int
    # The survey: see `Survey`.
    least: Annotated[AnyArray, "Gain*"]
    most: Annotated[AnyArray, "Gain*"]
    flaws: I64
    # The items to solve, and the scales of all.
    chosen: ConstI64
    num_chosen: Signed
    up: ConstF64
    bonus: ConstI64
    # The solution: see `Found`.
    mate: Annotated[AnyArray, "short*"]
    vertex: I64
    parent: I64
    blossom: I64
    num_blossoms: I64
    total: I64
    rest: Annotated[AnyArray, "double*"]
    ending: I64
    memory: Annotated[AnyArray, "char*"]  #: the matrices of the warps unless they are shared
    most_vertices: Signed
    turns: U64  #: items taken
    counts: U64  #: entries scanned, searches, augmentations
    stop: ConstI64


class Kind(NamedTuple):
    """How a launch solves graphs: the macros of the ``.cu`` file."""

    shared: bool
    narrow: bool

    def state_bytes(self, n: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the shared memory of a warp for n vertices, besides the matrix."""
        nodes, number = n + n // 2, 4 if self.narrow else 8
        sizes = [4 * np.ones_like(n), *[number * n] * 2, *[2 * n] * 3, *[number * nodes] * 2]
        sizes += [*[2 * nodes] * 10, 4 * nodes, nodes]
        total: NDArray[np.int64] = (-(-np.array(sizes) // ALIGNED) * ALIGNED).sum(axis=0)
        return total

    def matrix_bytes(self, n: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the bytes of the matrix of a graph."""
        return -(-(4 if self.narrow else 8) * n * n // ALIGNED) * ALIGNED


class Solver:
    """The method on one batch: see :class:`.multicore_edmonds.Solver`.

    DeviceMemoryError if the batch does not fit the memory of the GPU.
    """

    def __init__(self, graphs: GraphBatch, wanted: Wanted, control: Control, device: Device) -> None:
        self.device, self.control, self.sizes = device, control, graphs.sizes
        xp, items = device.xp, len(graphs)
        first_blossom = np.append(0, np.cumsum(graphs.sizes // 2))
        n, blossoms = int(graphs.first_vertex[-1]), int(first_blossom[-1])
        given = graphs.weight
        if given.dtype.str[1:] not in SOURCES:
            given = given.astype(np.float64 if graphs.is_float else np.int64)
        needed = 24 * n + 16 * blossoms + 80 * items + (given.nbytes if graphs.device is None else 0)
        require_memory(device, needed + graphs.ends.nbytes, f"{items:,} graphs")
        if graphs.device is None:
            weight = upload_by_threads(device, given, control.threads)
        else:
            weight = xp.ascontiguousarray(given).reshape(-1)
        marker = np.array([] if graphs.no_edge is None else [graphs.no_edge], dtype=given.dtype)
        marker = marker[marker.astype(weight.dtype) == marker]  # a number that does not fit is no entry
        gain = np.float64 if graphs.is_float else np.int64

        def empty(count: int, value: int = 0) -> AnyArray:
            return xp.full(count, value, dtype=np.int64)

        self.source = SOURCES[weight.dtype.str[1:]]
        self.arguments = Arguments(
            weight=weight,
            ends=upload_by_threads(device, graphs.ends, control.threads),
            first_edge=xp.asarray(graphs.first_edge),
            first_vertex=xp.asarray(graphs.first_vertex),
            first_blossom=xp.asarray(first_blossom),
            no_edge=xp.asarray(marker.astype(weight.dtype)),
            has_no_edge=len(marker),
            is_stack=int(graphs.is_stack),
            num_items=items,
            sign=1 if wanted.maximize else -1,
            most_edges=int(wanted.most_edges),
            least=xp.zeros(items, dtype=gain),
            most=xp.zeros(items, dtype=gain),
            flaws=empty(items),
            chosen=empty(0),
            num_chosen=0,
            up=xp.zeros(0),
            bonus=empty(0),
            mate=xp.full(n, -1, dtype=np.int16),
            vertex=empty(n),
            parent=empty(n + blossoms, -1),
            blossom=empty(blossoms),
            num_blossoms=empty(items),
            total=empty(items),
            rest=xp.zeros(items),
            ending=empty(items),
            memory=xp.zeros(0, dtype=np.int8),
            most_vertices=0,
            turns=xp.zeros(1, dtype=np.uint64),
            counts=xp.zeros(3, dtype=np.uint64),
            stop=device.stop_word(control),
        )
        sizes = np.arange(1, 2**13)
        fits = Kind(shared=False, narrow=False).state_bytes(sizes) <= device.shared_bytes
        self.most_vertices = int(sizes[fits].max())  #: of an item

    def _start(
        self, kernel: str, blocks: int, kind: Kind, arguments: Arguments, shared_bytes: int = 0
    ) -> None:
        constants = (("SOURCE", self.source), ("SHARED", int(kind.shared)), ("NARROW", int(kind.narrow)))
        blocks = min(blocks, self.device.most_threads // WARP)
        self.device.launch(
            SOURCE, kernel, blocks, WARP, arguments, shared_bytes=shared_bytes, constants=constants
        )

    def survey(self) -> Survey:
        """Return the survey of all items."""
        arguments = self.arguments
        if len(self.sizes):
            blocks = MOST_BLOCKS * self.device.num_multiprocessors
            self._start("survey_items", min(len(self.sizes), blocks), Kind(True, True), arguments)
        self.surveyed = Survey(*map(self.device.to_host, (arguments.least, arguments.most, arguments.flaws)))
        return self.surveyed

    def solve(self, chosen: NDArray[np.int64], scales: Scales) -> Found:
        """Solve the chosen items; return the solution of the batch.

        DeviceMemoryError: the matrix of the largest item does not fit the memory of the GPU.
        """
        xp, device = self.device.xp, self.device
        self.arguments = self.arguments._replace(up=xp.asarray(scales.up), bonus=xp.asarray(scales.bonus))
        narrow = self.surveyed.most * scales.up + scales.bonus < MOST_NARROW
        left, n = chosen, self.sizes
        for kind in (Kind(shared, narrow) for shared, narrow in product((True, False), (True, False))):
            fits = narrow[left] if kind.narrow else np.ones(len(left), dtype=bool)
            if kind.shared:
                room = device.shared_bytes // LEAST_TOGETHER - RESERVED_BYTES
                fits &= (kind.state_bytes(n) + kind.matrix_bytes(n))[left] <= room
            self._launch(kind, left[fits])
            left = left[~fits]
        counts = device.to_host(self.arguments.counts)
        self.control.counts[[ARC_SCANS, PHASES, AUGMENTATIONS]] = counts
        # The duals stay on the GPU until they are asked for.
        empty = dict.fromkeys(Found._fields, np.zeros(0, dtype=np.int64))
        names = ("mate", "total", "rest", "ending")
        found = Found(**{**empty, **{name: device.to_host(getattr(self.arguments, name)) for name in names}})
        return found._replace(mate=found.mate.astype(np.int64))

    def duals(self) -> DualsOfBatch:
        """Return the duals of the solution."""
        with self.device.current():
            parts = [getattr(self.arguments, name) for name in DualsOfBatch._fields]
            return DualsOfBatch(*map(self.device.to_host, parts))

    def _launch(self, kind: Kind, chosen: NDArray[np.int64]) -> None:
        """Solve items by one launch."""
        if not len(chosen):
            return
        device, xp = self.device, self.device.xp
        n = self.sizes[chosen].max()
        size, matrix = int(kind.state_bytes(n)), int(kind.matrix_bytes(n))
        shared = size + matrix if kind.shared else size
        together = min(MOST_BLOCKS, (device.shared_bytes + RESERVED_BYTES) // (shared + RESERVED_BYTES))
        blocks = min(len(chosen), together * device.num_multiprocessors, device.most_threads // WARP)
        if not kind.shared:
            blocks = min(blocks, device.free_bytes // 2 // matrix)
            if blocks < 1:
                raise DeviceMemoryError(f"{device.name}: a graph of {n:,} vertices does not fit")
        self.arguments.turns[:] = 0
        arguments = self.arguments._replace(
            chosen=xp.asarray(chosen),
            num_chosen=len(chosen),
            memory=xp.empty(0 if kind.shared else blocks * matrix, dtype=np.int8),
            most_vertices=int(n),
        )
        self._start("solve_items", blocks, kind, arguments, shared)
