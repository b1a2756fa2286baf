"""Predict the seconds of a solve over regions on other machines from the recorded sweeps of a solve.

A record has, for each sweep and each region, the CPU seconds of its discharge and of fusing the border, and
the bytes of its messages to each neighbour (``record.py`` writes it). A :class:`Cluster` says how many
workers there are, how many cores they share, and what a byte and a message cost. Nothing else is assumed
about the algorithm: the number of sweeps and their work are those of the record.

    python -m benchmarks.scale.simulate RECORD.json --workers 1 2 4 8 --cores 2

A sweep in the model
--------------------
1. Each worker discharges its regions one after the other. Workers that share a core share its time: the
   first half ends when the busiest core is done, and no worker ends before its own work is.
2. Each worker sends its messages to other workers over its link, one after the other, and copies the
   residual capacities of its borders. Both halves of a sweep cost a call of each worker, one after the other
   at the driver, and each call costs the worker some work.
3. Each worker fuses its borders.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

#: CPU seconds of an actor of Ray for a call and its messages, fitted to solves with two actors.
WORK_OF_CALL = 3.8e-3


@dataclass(frozen=True)
class RegionSweep:
    """The work of one region in one sweep.

    Attributes
    ----------
    discharge, fuse : float
        CPU seconds.
    sent : dict of int to int
        Bytes to each neighbour.
    stored : int
        Bytes that are copied after this sweep, so that a lost worker can be replaced.
    """

    discharge: float
    fuse: float
    sent: dict[int, int]
    stored: int = 0


#: For each sweep the work of each region.
Trace = Sequence[Sequence[RegionSweep]]


@dataclass(frozen=True)
class Cluster:
    """The machines of a prediction.

    Attributes
    ----------
    workers : int
    cores : int
        CPU cores that all workers share; each worker uses one.
    bytes_a_second : float
        Speed of a worker's link; between processes of one machine, of the memory.
    seconds_a_message : float
        Latency of a message.
    seconds_a_call : float
        Time of the driver for a call of a worker.
    store_bytes_a_second : float
        Speed of these copies.
    work_of_call : float
        CPU seconds of a worker for a call and its messages.
    speed : float
        How fast a core is, as a multiple of that of the record.
    """

    workers: int
    cores: int
    bytes_a_second: float = 2e9
    seconds_a_message: float = 1e-3
    seconds_a_call: float = 1e-3
    store_bytes_a_second: float = 4e9
    work_of_call: float = WORK_OF_CALL
    speed: float = 1.0


@dataclass
class Prediction:
    """Seconds of a solve, by what they were spent for."""

    discharge: float = 0.0
    messages: float = 0.0
    store: float = 0.0
    calls: float = 0.0
    bytes_sent: int = 0
    sweeps: int = 0
    seconds_of_sweeps: list[float] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """The whole solve."""
        return self.discharge + self.messages + self.store + self.calls


def owners(regions: int, workers: int) -> list[int]:
    """Return the worker of each region: runs of consecutive regions, as RayExchange has them."""
    workers = min(regions, workers)
    size, more = divmod(regions, workers)
    return [worker for worker in range(workers) for _ in range(size + (worker < more))]


def shared(work: Sequence[float], cores: int) -> float:
    """Return when tasks of one core each end that share `cores`: limited by the longest, and by the sum."""
    return max(max(work, default=0.0), sum(work) / cores)


def simulate(trace: Trace, cluster: Cluster) -> Prediction:
    """Return the predicted seconds of a solve."""
    home = owners(len(trace[0]) if trace else 1, cluster.workers)
    count = max(home) + 1
    found = Prediction(sweeps=len(trace))
    for sweep in trace:
        discharge, fuse, link, store = ([0.0] * count for _ in range(4))
        pairs: set[tuple[int, int]] = set()
        for region, did in enumerate(sweep):
            here = home[region]
            discharge[here] += did.discharge / cluster.speed
            fuse[here] += did.fuse / cluster.speed
            store[here] += did.stored / cluster.store_bytes_a_second
            for other, amount in did.sent.items():
                if home[other] != here:
                    link[here] += amount / cluster.bytes_a_second
                    found.bytes_sent += amount
                    pairs.add((here, home[other]))
        most = max(Counter(here for here, _ in pairs).values(), default=0)
        computing = shared(discharge, cluster.cores) + shared(fuse, cluster.cores)
        messages = shared(link, cluster.cores) + most * cluster.seconds_a_message
        storing = shared(store, cluster.cores)
        calls = 2 * (count * cluster.seconds_a_call + shared([cluster.work_of_call] * count, cluster.cores))
        found.discharge += computing
        found.messages += messages
        found.store += storing
        found.calls += calls
        found.seconds_of_sweeps.append(computing + messages + storing + calls)
    return found


def read_trace(path: Path) -> Trace:
    """Read what ``record.py`` wrote."""
    return [
        [
            RegionSweep(
                each["discharge"],
                each["fuse"],
                {int(other): amount for other, amount in each["sent"].items()},
                each["stored"],
            )
            for each in sweep
        ]
        for sweep in json.loads(path.read_text(encoding="utf-8"))["sweeps"]
    ]


def main() -> None:
    """Print a line for each number of workers."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("record", type=Path)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--cores", type=int, help="by default one for each worker")
    parser.add_argument("--gigabytes", type=float, default=1.0, help="that a link carries in a second")
    chosen = parser.parse_args()
    trace = read_trace(chosen.record)
    for workers in chosen.workers:
        cluster = Cluster(workers, chosen.cores or workers, bytes_a_second=chosen.gigabytes * 1e9)
        found = simulate(trace, cluster)
        print(
            f"{workers:4} workers: {found.seconds:8.3f} s in {found.sweeps} sweeps; discharges "
            f"{found.discharge:.3f}, messages {found.messages:.3f} for {found.bytes_sent:,} bytes, "
            f"copies {found.store:.3f}, calls {found.calls:.3f}"
        )


if __name__ == "__main__":
    main()
