"""Dinic's algorithm for many small networks on a GPU: each warp solves whole networks.

Dinic, "Algorithm for Solution of a Problem of Maximum Flow in Networks with Power Estimation", Soviet
Mathematics Doklady 11 (1970). Definitions are those of :mod:`.multicore_augmenting_paths`; labels are
distances, and the next search comes where all paths of one length are blocked. On a GPU a search is cheap,
since the lanes of a warp share each step, and relabels would come one after the other.

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

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import AnyArray
from ...cuda.runtime import Device
from ...errors import DeviceMemoryError
from ...solving.run import Control
from ...stats import ARC_SCANS, GLOBAL_RELABELS, PUSHES
from . import multicore_augmenting_paths
from .arrays import Found, Items

SOURCE = Path(__file__).with_suffix(".cu")
WARP = 32
#: Warps of a block, and blocks for each multiprocessor.
TEAMS, BLOCKS = 4, 16


@dataclass(frozen=True)
class CudaDinicOptions:
    """The method has no options."""


class Arguments(NamedTuple):
    """The struct ``Arguments`` of the ``.cu`` file."""

    items: Items
    chosen: AnyArray
    num_chosen: int
    scale: AnyArray
    flow: AnyArray
    sink_side: AnyArray
    source_side: AnyArray
    value: AnyArray
    upper: AnyArray
    ending: AnyArray
    words: AnyArray
    amounts: AnyArray
    most_vertices: int
    most_arcs: int
    turns: AnyArray
    counts: AnyArray
    stop: AnyArray


class Solver:
    """The method on one batch: see :class:`.multicore_augmenting_paths.Solver`, which surveys the capacities.

    Parameters
    ----------
    items : Items
        On the host.
    found : Found
        Gets what is known of each item after a solve; flow and cuts come at :meth:`finish`.
    control : Control
    device : Device
        The GPU of the calling thread.

    Raises
    ------
    DeviceMemoryError
        The batch, or its largest item, does not fit the memory of the GPU.
    """

    def __init__(self, items: Items, found: Found, control: Control, device: Device) -> None:
        self.device, self.control, self.found = device, control, found
        self.on_host = multicore_augmenting_paths.Solver(items, found, control)
        xp, count = device.xp, len(items.source)
        self.teams = max(1, min(TEAMS, device.block_threads // WARP))
        most_vertices, most_arcs = (
            int(np.diff(first).max(initial=0)) for first in (items.first_vertex, items.first_arc)
        )
        warps = min(count, self.teams * BLOCKS * device.num_multiprocessors)
        self.blocks = max(1, min(-(-warps // self.teams), device.most_threads // (WARP * self.teams)))
        words, amounts = 5 * (most_vertices + most_arcs) + 2, 4 * most_arcs
        a_block = self.teams * (4 * words + 8 * amounts)
        given = sum(values.nbytes for values in (*items, *found))
        room = device.free_bytes - given
        if a_block > room:
            raise DeviceMemoryError(
                f"{device.name}: a batch of {given:,} bytes with networks of up to {most_arcs:,} arcs does "
                "not fit"
            )
        self.blocks = max(1, min(self.blocks, room // 2 // a_block))
        warps = self.blocks * self.teams
        self.counts = xp.zeros(3, dtype=np.uint64)
        self.arguments = Arguments(
            items=Items(*map(xp.asarray, items)),
            chosen=xp.zeros(0, dtype=np.int64),
            num_chosen=0,
            scale=xp.zeros((0, 5)),
            **{name: xp.zeros(len(part), dtype=part.dtype) for name, part in found._asdict().items()},
            words=xp.zeros(warps * words, dtype=np.uint32),
            amounts=xp.zeros(warps * amounts, dtype=np.int64),
            most_vertices=most_vertices,
            most_arcs=most_arcs,
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
        return self.on_host.survey()

    def clip(self, chosen: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return, for all items, sums of capacities; those of the chosen ones are cut off at the limit."""
        return self.on_host.clip(chosen)

    def solve(self, chosen: NDArray[np.int64]) -> None:
        """Solve the chosen items with their scales; write how they ended."""
        if not len(chosen):
            return
        xp, found, arguments = self.device.xp, self.found, self.arguments
        arguments.turns[:] = 0
        arguments.ending[:] = xp.asarray(found.ending)
        arguments = arguments._replace(
            chosen=xp.asarray(chosen), num_chosen=len(chosen), scale=xp.asarray(self.scale)
        )
        is_float = int(found.flow.dtype.kind == "f")
        self.device.launch(
            SOURCE,
            "solve_items",
            self.blocks,
            WARP * self.teams,
            arguments,
            constants=(("IS_FLOAT", is_float), ("TEAMS", self.teams)),
        )
        for name in ("value", "upper", "ending"):
            getattr(found, name)[:] = self.device.to_host(getattr(arguments, name))
        counts = self.device.to_host(self.counts)
        self.control.counts[[ARC_SCANS, PUSHES, GLOBAL_RELABELS]] = counts

    def finish(self) -> Found:
        """Return the solution on the host."""
        on_device = {name: getattr(self.arguments, name) for name in ("flow", "sink_side", "source_side")}
        return self.found._replace(**{name: self.device.to_host(part) for name, part in on_device.items()})
