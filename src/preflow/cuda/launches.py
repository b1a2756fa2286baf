"""Launch one cooperative kernel until it is done.

The kernel runs the whole loop of a solver on the device, with a barrier between any two parallel loops. A
launch ends after a number of barriers, so that no launch blocks the device for long and the host can report
and stop. The kernel keeps its state in device memory between launches.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..arrays import Array
from ..errors import SolverError
from .runtime import Device, Macros

#: The first words of every kernel's state: its phase, and the number of barriers left in this launch.
PHASE, ROUNDS_LEFT = 0, 1
#: Words that count the blocks that have arrived at a barrier: see grid.cuh.
ARRIVAL_WORDS = 2
#: Barriers of one launch (about 0.1 s), and a number of launches that no graph reaches: hours.
ROUNDS_A_LAUNCH, MOST_LAUNCHES = 10_000, 100_000


def launches(
    device: Device,
    source: Path,
    kernel: str,
    arguments: Any,
    done: int,
    constants: Macros = (),
) -> Iterator[Array]:
    """Launch a kernel until its phase is `done`; yield its state after each launch.

    SolverError: it is not done after MOST_LAUNCHES: a bug.
    """
    for _ in range(MOST_LAUNCHES):
        arguments.state[ROUNDS_LEFT] = ROUNDS_A_LAUNCH
        arguments.arrivals[:] = 0
        device.launch(
            source,
            kernel,
            device.num_multiprocessors,
            device.block_threads,
            arguments,
            shared_bytes=8 * len(arguments.state) + 8,
            constants=constants,
            cooperative=True,
        )
        state = device.to_host(arguments.state)
        yield state
        if state[PHASE] == done:
            return
    raise SolverError(f"{kernel} gave up after {MOST_LAUNCHES:,} launches: state {state.tolist()}")
