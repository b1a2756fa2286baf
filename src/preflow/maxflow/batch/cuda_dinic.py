"""Dinic's algorithm for many small networks on a GPU: each warp solves whole networks.

Dinic, "Algorithm for Solution of a Problem of Maximum Flow in Networks with Power Estimation", Soviet
Mathematics Doklady 11 (1970). Definitions are those of :mod:`.multicore_augmenting_paths`; labels are
distances, and the next search comes where all paths of one length are blocked. On a GPU a search is cheap,
since the lanes of a warp share each step, and relabels would come one after the other.

Each step waits for memory: the next level of a search, the next arc of a path. So a warp has its network in
shared memory if four or more fit that of a multiprocessor. Residual capacities have 32 bits if they fit.

Invariants
----------
- A warp takes an item by an atomic addition, and only that warp writes its part of the solution.
- Memory that lanes of a warp share is ordered by __syncwarp between its writes and its reads; the search also
  claims vertices by compare-and-exchange.

Pseudo-code
-----------
::

    each warp, while there are items and the solve continues:              solve_items (kernel)
        sort the arcs by their ends, a lane an arc                         build
        repeat:
            label vertices backwards, a lane a vertex of the level         search
            the source gets no label: stop
            augment along arcs that lead down by one label                 block
                the next arc: all lanes look at arcs of the vertex
                the amount, and the new residual capacities: a lane an arc send_along
        write the flow and the two cuts                                    write

The survey of the capacities, which decides how floats are scaled, runs on the CPU.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import AnyArray
from ...cuda.runtime import Device
from ...cuda.structs import I64, U8, U64, ConstF64, ConstI64, ConstU32, Signed
from ...errors import DeviceMemoryError
from ...solving.options import NoOptions  # noqa: F401  (methods.py names it)
from ...solving.run import Control
from ...stats import ARC_SCANS, GLOBAL_RELABELS, PUSHES
from . import multicore_augmenting_paths
from .arrays import LARGEST, NUM_SCALES, Found, Items

SOURCE = Path(__file__).with_suffix(".cu")
WARP = 32
#: Warps of a block, and blocks for each multiprocessor, if they have networks in global memory.
TEAMS, BLOCKS = 4, 16
#: Networks are in shared memory if as many warps have room there on a multiprocessor.
LEAST_TOGETHER = 4
#: Shared memory that the system takes of each block, and most blocks of a multiprocessor.
RESERVED_BYTES, MOST_BLOCKS = 1024, 32
#: Residual capacities of an arc whose capacities add up to less have 32 bits.
MOST_NARROW = 2**31
#: Bytes to which the arrays of a warp are rounded up.
ALIGNED = 16


class Arguments(NamedTuple):
    """Arguments of "solve_items"."""

    # The networks: see `Items`.
    first_arc: ConstI64
    first_vertex: ConstI64
    tail: ConstU32
    head: ConstU32
    capacity: Annotated[AnyArray, "const Number*"]
    reverse: Annotated[AnyArray, "const Number*"]  #: no address where no arc has a reverse capacity
    source: ConstI64
    sink: ConstI64
    # The items to solve, and the scales of all.
    chosen: ConstI64
    num_chosen: Signed
    scale: ConstF64
    # The solution: see `Found`.
    flow: Annotated[AnyArray, "Number*"]
    sink_side: U8
    source_side: U8
    value: I64
    upper: Annotated[AnyArray, "double*"]
    ending: I64
    # Memory of the warps unless it is shared, its bytes for each warp, and the sizes of the largest item.
    memory: Annotated[AnyArray, "char*"]
    bytes: Signed
    most_vertices: Signed
    most_arcs: Signed
    turns: U64  #: items taken
    counts: U64  #: slots seen, pushes, searches
    stop: ConstI64


class Kind(NamedTuple):
    """How a launch solves networks."""

    #: the macros of the ``.cu`` file
    shared: bool
    narrow: bool

    def bytes_of_warp(self, n: NDArray[np.int64], m: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the memory of a warp for networks of these numbers of vertices and arcs."""
        slot, amount = 2 if self.shared else 4, 4 if self.narrow else 8
        words, slots = (np.ones_like(n), n + 1, n, n, n), (n, 2 * m, 2 * m, m)
        sizes = np.array([*(4 * each for each in words), *(slot * each for each in slots), 2 * m * amount])
        total: NDArray[np.int64] = (-(-sizes // ALIGNED) * ALIGNED).sum(axis=0)
        return total


class Solver:
    """The method on one batch: see :class:`.multicore_augmenting_paths.Solver`, which surveys the capacities.

    `items` are on the host. `found` gets what is known of each item after a solve; flow and cuts come at
    :meth:`finish`. DeviceMemoryError if the batch, or its largest item, does not fit the memory of the GPU.
    """

    def __init__(self, items: Items, found: Found, control: Control, device: Device) -> None:
        self.device, self.control, self.found = device, control, found
        self.on_host = multicore_augmenting_paths.Solver(items, found, control)
        self.sizes = np.diff(items.first_vertex), np.diff(items.first_arc)
        self.narrow = np.zeros(len(items.source), dtype=bool)
        given = sum(values.nbytes for values in (*items, *found))
        if given > device.free_bytes:
            raise DeviceMemoryError(f"{device.name}: a batch of {given:,} bytes does not fit")
        xp = device.xp
        self.counts = xp.zeros(3, dtype=np.uint64)
        self.arguments = Arguments(
            **{name: xp.asarray(part) for name, part in items._asdict().items()},
            chosen=xp.zeros(0, dtype=np.int64),
            num_chosen=0,
            scale=xp.zeros((0, NUM_SCALES)),
            **{name: xp.zeros(len(part), dtype=part.dtype) for name, part in found._asdict().items()},
            memory=xp.zeros(0, dtype=np.int8),
            bytes=0,
            most_vertices=0,
            most_arcs=0,
            turns=xp.zeros(1, dtype=np.uint64),
            counts=self.counts,
            stop=device.stop_word(control),
        )

    @property
    def scale(self) -> NDArray[np.float64]:
        """The scale of each item, to be set before :meth:`clip` and :meth:`solve`."""
        return self.on_host.scale

    def survey(self) -> NDArray[np.float64]:
        """Return the survey of all items."""
        found = self.on_host.survey()
        if self.found.flow.dtype.kind != "f":  # floats are scaled to use many bits
            self.narrow = found[:, LARGEST] < MOST_NARROW
        return found

    def clip(self, chosen: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return, for all items, sums of capacities; those of the chosen ones are cut off at the limit."""
        return self.on_host.clip(chosen)

    def solve(self, chosen: NDArray[np.int64]) -> None:
        """Solve the chosen items with their scales; write how they ended.

        DeviceMemoryError: the largest item does not fit the memory of the GPU.
        """
        if not len(chosen):
            return
        xp, found = self.device.xp, self.found
        self.arguments.ending[:] = xp.asarray(found.ending)
        self.arguments = self.arguments._replace(scale=xp.asarray(self.scale))
        left = chosen
        for kind in (Kind(shared, narrow) for shared, narrow in product((True, False), (True, False))):
            fits = self._fits(kind, left)
            self._launch(kind, left[fits])
            left = left[~fits]
        for name in ("value", "upper", "ending"):
            getattr(found, name)[:] = self.device.to_host(getattr(self.arguments, name))
        counts = self.device.to_host(self.counts)
        self.control.counts[[ARC_SCANS, PUSHES, GLOBAL_RELABELS]] = counts

    def _fits(self, kind: Kind, chosen: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which items a kind can solve."""
        fits = self.narrow[chosen] if kind.narrow else np.ones(len(chosen), dtype=bool)
        if kind.shared:
            room = self.device.shared_bytes // LEAST_TOGETHER - RESERVED_BYTES
            fits &= kind.bytes_of_warp(*(each[chosen] for each in self.sizes)) <= room
        return fits

    def _launch(self, kind: Kind, chosen: NDArray[np.int64]) -> None:
        """Solve items by one launch."""
        if not len(chosen):
            return
        device, xp = self.device, self.device.xp
        most_vertices, most_arcs = (each[chosen].max() for each in self.sizes)
        size = int(kind.bytes_of_warp(most_vertices, most_arcs))
        teams = 1 if kind.shared else max(1, min(TEAMS, device.block_threads // WARP))
        if kind.shared:
            together = min(MOST_BLOCKS, (device.shared_bytes + RESERVED_BYTES) // (size + RESERVED_BYTES))
            most = together * device.num_multiprocessors
        else:
            most = min(BLOCKS * device.num_multiprocessors, device.free_bytes // 2 // (teams * size))
        if most < 1:
            raise DeviceMemoryError(f"{device.name}: a network of {most_arcs:,} arcs does not fit")
        blocks = min(-(-len(chosen) // teams), most, device.most_threads // (WARP * teams))
        self.arguments.turns[:] = 0
        device.launch(
            SOURCE,
            "solve_items",
            blocks,
            WARP * teams,
            self.arguments._replace(
                chosen=xp.asarray(chosen),
                num_chosen=len(chosen),
                memory=xp.empty(0 if kind.shared else blocks * teams * size, dtype=np.int8),
                bytes=size,
                most_vertices=int(most_vertices),
                most_arcs=int(most_arcs),
            ),
            shared_bytes=size if kind.shared else 0,
            constants=(
                ("IS_FLOAT", int(self.found.flow.dtype.kind == "f")),
                ("SHARED", int(kind.shared)),
                ("NARROW", int(kind.narrow)),
                ("TEAMS", teams),
            ),
        )

    def finish(self) -> Found:
        """Return the solution on the host."""
        on_device = {name: getattr(self.arguments, name) for name in ("flow", "sink_side", "source_side")}
        return self.found._replace(**{name: self.device.to_host(part) for name, part in on_device.items()})
