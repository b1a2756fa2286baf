"""Push-relabel with locks of vertices on a GPU, one thread a vertex: what section 5.1 leaves to a study.

Wu, He and Hong reject locks for CUDA: "It is possible to implement locks and critical sections in CUDA by
explicitly using atomic memory operations. However, a study is needed to investigate the performance of such
an approach." This is the approach, beside ``cuda_lockfree.py``, from which only the kernel differs. A push
has the locks of both ends of its arc, and a relabel that of its vertex, as in the systems for CPUs that they
name (Anderson and Setubal 1992; Bader and Sachdeva 2005).

Definitions
-----------
- In a *step* a vertex with excess pushes to the sink, and then over the first arc to a lower neighbour, or it
  rises to just above its lowest neighbour. A *cycle* is a step of every vertex.
- A lock is a word: 1 while a thread has it, taken by compare-and-swap.

Invariants
----------
- Excess, height, capacity to the sink and the residual capacities of the arcs of a vertex change only under
  its lock; those of an arc and of its reverse arc under both. Neighbours that are not locked only rise while
  flow moves, so a relabel keeps labels valid, and no arc becomes steep.
- A thread takes the lock of the lower number first, so threads never wait in a circle; and it gives up after
  `tries`, so a thread never waits for ever.

Pseudo-code
-----------
::

    repeat:
        search at rest                                               cuda_lockfree.py
        if no active vertex can reach the sink: stop
        `cycles` cycles on the GPU:                                  cuda_locks.cu
            choose a lower neighbour, without a lock
            take the locks; on failure wait for the next cycle
            push, or look again and relabel; give the locks back
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np

from ...arrays import AnyArray, Array
from ...cuda import runtime
from ...cuda.runtime import WATCH_WORDS
from ...cuda.structs import U32, U64, ConstI64
from ...graph.device.residual import DeviceNetwork, from_device, to_device
from ...graph.residual import ResidualArrays
from ...solving.options import CheckedOptions, PositiveInteger
from ...solving.run import Control
from .cuda_lockfree import launch_steps, make_search, read_counts, search_at_rest

SOURCE = Path(__file__).with_suffix(".cu")
#: What the threads of a launch did, and on how many vertices in the last cycle.
Count = IntEnum("Count", "PUSHES RELABELS ARC_SCANS WAITS ACTIVE", start=0)
COUNTS = len(Count)


@dataclass(frozen=True)
class CudaLocksOptions(CheckedOptions):
    """Options of push-relabel with locks on a GPU.

    Attributes
    ----------
    cycles : int
        Steps of each vertex between two global relabels.
    tries : int
        Tries to take a lock before the vertex waits for the next cycle. With many a thread spins, as a
        critical section does on a CPU.
    """

    cycles: PositiveInteger = 7000
    tries: PositiveInteger = 1


class LockArguments(NamedTuple):
    """Arguments of "take_locked_steps"."""

    net: DeviceNetwork
    height: U32
    locks: U32  #: zero before the launch and after it
    counts: U64
    cycles: int  #: steps of each vertex
    tries: int
    stop: ConstI64
    watch: Annotated[AnyArray, "CycleWatch*"]


def solve(net: ResidualArrays, options: CudaLocksOptions, control: Control) -> Array:
    """Run the first stage on the GPU and bring its outcome back, in place; return exact heights.

    O(n^2 m) operations; on the device 16 bytes an arc and 36 a vertex.
    """
    device = runtime.find_device()
    on_device = to_device(device, net)
    xp, n = device.xp, on_device.num_vertices
    control.progress[:] = net.excess.sum(dtype=np.float64)
    search = make_search(device, on_device)
    steps = LockArguments(
        net=on_device,
        height=search.height,
        locks=xp.zeros(n, dtype=np.uint32),
        counts=xp.zeros(COUNTS, dtype=np.uint64),
        cycles=options.cycles,
        tries=options.tries,
        stop=device.stop_word(control),
        watch=xp.zeros(WATCH_WORDS, dtype=np.uint64),
    )
    waits = 0
    while search_at_rest(device, search, control, "cuda-locks") > 0 and not control.stopped:
        launch_steps(device, steps, device.num_multiprocessors, SOURCE, "take_locked_steps")
        waits += int(read_counts(device, steps, control)[Count.WAITS])
    control.remarks.append(f"{waits:,} tries to take a lock that another thread had")
    from_device(device, on_device, net)
    return device.to_host(search.height)
