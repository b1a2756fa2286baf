"""Launch one cooperative kernel until it is done.

The kernel runs the whole loop of a solver on the device, with a barrier between any two parallel loops. A
launch ends after a number of barriers, so that no launch blocks the device for long and the host can report
and stop. The kernel keeps its state in device memory between launches.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from ..errors import SolverError
from ..solving.run import Control
from ..stats import GLOBAL_RELABELS, RELABEL_NANOSECONDS
from .runtime import Device, Macros
from .structs import U32, U64, ConstI64

#: Barriers of one launch (about 0.1 s), and a number of launches that no graph reaches: hours.
ROUNDS_A_LAUNCH, MOST_LAUNCHES = 10_000, 100_000
#: More global relabels than any network or grid needs; reaching it is an error.
MOST_SEARCHES = 10_000_000


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


class Loop(NamedTuple):
    """The arguments of a kernel that its loop needs: see loop_state.cuh."""

    arrivals: U32  #: of blocks at barriers: see grid.cuh
    counters: U32  #: what threads add up between barriers
    state: U64
    counts: U64  #: what all threads have done
    stop: ConstI64


def make_loop(
    device: Device, state: LoopState, control: Control, *, counters: int, counts: int = 1, arrivals: int = 2
) -> Loop:
    """Return the arguments of a loop that begins with a state; the numbers are those of words."""
    xp = device.xp
    return Loop(
        arrivals=xp.zeros(arrivals, dtype=np.uint32),
        counters=xp.zeros(counters, dtype=np.uint32),
        state=xp.asarray(state, dtype=np.uint64),
        counts=xp.zeros(counts, dtype=np.uint64),
        stop=device.stop_word(control),
    )


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

    `arguments.loop` is the :class:`Loop`. SolverError: it is not done after MOST_LAUNCHES: a bug.
    """
    loop: Loop = arguments.loop
    place = kind(*range(len(loop.state)))
    for _ in range(MOST_LAUNCHES):
        loop.state[place.rounds_left] = ROUNDS_A_LAUNCH
        loop.arrivals[:] = 0
        device.launch(
            source,
            kernel,
            device.num_multiprocessors,
            device.block_threads,
            arguments,
            shared_bytes=loop.state.nbytes,
            constants=constants,
            cooperative=True,
        )
        state = kind(*device.to_host(loop.state).tolist())
        yield state
        if state.phase == done:
            return
    raise SolverError(f"{kernel} gave up after {MOST_LAUNCHES:,} launches: {state}")


@contextmanager
def relabel_time(control: Control) -> Iterator[None]:
    """Count the time of the context as that of a global relabel."""
    began = time.perf_counter_ns()
    yield
    control.counts[RELABEL_NANOSECONDS] += time.perf_counter_ns() - began


def count_search(control: Control, name: str) -> None:
    """Count a global relabel.

    SolverError: there were more global relabels than any network needs.
    """
    control.counts[GLOBAL_RELABELS] += 1
    if control.counts[GLOBAL_RELABELS] > MOST_SEARCHES:
        raise SolverError(f"{name} gave up after {MOST_SEARCHES:,} global relabels")
