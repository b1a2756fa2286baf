"""Launch one cooperative kernel until it is done.

The kernel runs the whole loop of a solver on the device, with a barrier between any two parallel loops. A
launch ends after a number of barriers, so that no launch blocks the device for long and the host can report
and stop. The kernel keeps its state in device memory between launches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from ..errors import SolverError
from .runtime import Device, Macros
from .structs import U64

#: Words that count the blocks that have arrived at a barrier: see grid.cuh.
ARRIVAL_WORDS = 2
#: Barriers of one launch (about 0.1 s), and a number of launches that no graph reaches: hours.
ROUNDS_A_LAUNCH, MOST_LAUNCHES = 10_000, 100_000


class SharedMemory(NamedTuple):
    """Arguments of "shared_memory", the kernel that tells the size of a block's shared memory."""

    sizes: U64  #: bytes of a block, and bytes more for each of its threads


class LoopState(Protocol):
    """The words that the state of each kernel has, a NamedTuple: see loop_state.cuh."""

    @property
    def phase(self) -> int:
        """The next step of the loop."""

    @property
    def rounds_left(self) -> int:
        """Number of barriers left of this launch."""

    @property
    def round(self) -> int:
        """Number of barriers so far."""


State = TypeVar("State", bound=LoopState)


@cache
def shared_bytes(device: Device, source: Path, threads: int, constants: Macros = ()) -> int:
    """Return how much shared memory a block of `threads` takes, as "shared_memory" of the file says."""
    sizes = device.xp.zeros(2, dtype=np.uint64)
    device.launch(
        source, "shared_memory", 1, 1, SharedMemory(sizes=sizes), constants=constants, cooperative=True
    )
    block, thread = device.to_host(sizes).tolist()
    return int(block + threads * thread)


def launches(
    device: Device,
    source: Path,
    kernel: str,
    arguments: Any,
    kind: Callable[..., State],
    done: int,
    constants: Macros = (),
) -> Iterator[State]:
    """Launch a kernel until its phase is `done`; yield its state, a NamedTuple `kind`, after each launch.

    SolverError: it is not done after MOST_LAUNCHES: a bug.
    """
    place = kind(*range(len(arguments.state)))
    for _ in range(MOST_LAUNCHES):
        arguments.state[place.rounds_left] = ROUNDS_A_LAUNCH
        arguments.arrivals[:] = 0
        device.launch(
            source,
            kernel,
            device.num_multiprocessors,
            device.block_threads,
            arguments,
            shared_bytes=arguments.state.nbytes,
            constants=constants,
            cooperative=True,
        )
        state = kind(*device.to_host(arguments.state).tolist())
        yield state
        if state.phase == done:
            return
    raise SolverError(f"{kernel} gave up after {MOST_LAUNCHES:,} launches: {state}")
