"""Predictions for docs/scale.md: volumes by the simulator, networks and assignments by formulas.

``python -m benchmarks.tables predicted-volumes`` prints the first table. Numbers that were measured are in
capitals below, each with its source. All others are those of the machines
that the prediction assumes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from .simulate import Cluster, Prediction, RegionSweep, simulate

#: Workers of the predictions.
WORKERS = (8, 64, 512)


class Case(NamedTuple):
    """Measured behaviour of a kind of volume, fitted to the record "sweeps".

    Attributes
    ----------
    microseconds, by_side : float
        CPU time of all discharges for a voxel is `microseconds` + `by_side` / side of a region: sweeps after
        the first one work near borders.
    base, by_root : float
        Sweeps in R regions are `base` + `by_root` * R ** (1/3).
    first : float
        Share of the work that the first sweep does.
    factor, power : float
        The sum over sweeps of the busiest region's work is `factor` * R ** `power` times the mean of all.
    """

    microseconds: float
    by_side: float
    base: float
    by_root: float
    first: float
    factor: float
    power: float


#: Noise around a ball; a tree of vessels that crosses all regions.
NOISE = Case(0.15, 5.0, 7.0, 0.8, 0.55, 0.75, 1 / 4)
VESSELS = Case(2.4, 0.0, 0.0, 16.0, 0.40, 1.35, 1 / 3)
#: Bytes of state that a discharge writes for a voxel, with 6 neighbours and capacities of 14 bits; and bytes
#: of memory that a voxel needs, with its search trees and a copy of the state.
STATE_BYTES, MEMORY_BYTES = 20.0, 67.0
#: Bytes of a message for a border arc, and of its residual capacity, which is copied after each sweep.
ARC_BYTES, RESIDUAL_BYTES = 12, 2
#: Scans of the n x n costs by serial-shortest-path between random points of 16 dimensions, n = 500 to 2,000.
SCANS = 6.8

#: What a machine has: a link of 100 Gbit/s, memory for 512 GB, disks that read and write 4 GB/s.
LINK, MEMORY, DISK = 12.5e9, 512e9, 4e9
#: Bytes a second that a machine copies into the memory of Ray.
STORE = 20e9
#: Cores of a machine that work on its part: a region each.
CORES = 16


def sweeps_of(regions: int, case: Case = NOISE) -> int:
    """Return the number of sweeps."""
    return math.ceil(case.base + case.by_root * math.cbrt(regions))


def volume_trace(voxels: float, regions: int, case: Case = NOISE) -> Iterator[list[RegionSweep]]:
    """Yield the sweeps of a cube of voxels, each region a cube with a neighbour at each of six faces."""
    side = math.cbrt(voxels / regions)
    work = voxels / regions * (case.microseconds + case.by_side / side) * 1e-6
    count = sweeps_of(regions, case)
    later = (1 - case.first) * work / (count - 1)
    busiest = (max(1.0, case.factor * regions**case.power) - case.first) / (1 - case.first)
    face = round(side**2 * ARC_BYTES)
    borders = round(6 * side**2 * RESIDUAL_BYTES)
    for sweep in range(count):
        row = []
        for region in range(regions):
            seconds = case.first * work if sweep == 0 else later
            if sweep and region == sweep % regions:
                seconds *= busiest
            sent = {(region + step) % regions: face for step in (-3, -2, -1, 1, 2, 3)} if regions > 6 else {}
            row.append(RegionSweep(seconds, 0.0, sent, borders))
        yield row


def volume(voxels: float, machines: int, case: Case) -> tuple[Prediction, bool]:
    """Return the prediction for a volume, and whether the regions are on files.

    All sweeps but the first take the same time: only the region that is the busiest changes.
    """
    regions = machines * CORES
    cluster = Cluster(regions, regions, LINK / CORES, 1e-4, 5e-4 / CORES, STORE / CORES)
    found, later = (simulate([sweep], cluster) for sweep in islice(volume_trace(voxels, regions, case), 2))
    count = sweeps_of(regions, case)
    for name in ("discharge", "messages", "store", "calls", "bytes_sent"):
        setattr(found, name, getattr(found, name) + (count - 1) * getattr(later, name))
    found.sweeps = count
    on_files = voxels / machines * MEMORY_BYTES > MEMORY
    if on_files:  # each sweep reads and writes all states
        found.store = found.sweeps * 2 * voxels / machines * STATE_BYTES / DISK
    return found, on_files


def volumes(voxels: float) -> Iterator[tuple[str, ...]]:
    """Yield the rows of a table for a volume: kind, machines, memory, sweeps, bytes, seconds."""
    for name, case in (("noise", NOISE), ("vessels", VESSELS)):
        for machines in WORKERS:
            found, on_files = volume(voxels, machines, case)
            memory = f"{voxels / machines * MEMORY_BYTES / 1e9:,.0f} GB{', on files' if on_files else ''}"
            sent, seconds = f"{found.bytes_sent / 1e9:,.0f} GB", f"{found.seconds:,.0f}"
            yield name, str(machines), memory, str(found.sweeps), sent, seconds


def networks(arcs: float, cut: float) -> Iterator[tuple[str, ...]]:
    """Yield the rows of a table for a network of which a share of the arcs is cut by the partition."""
    for workers in WORKERS:
        memory = arcs / workers * 2 * 12  # both directions, residual capacity and head
        sent = arcs * cut * 2 * ARC_BYTES / workers
        sizes = f"{memory / 1e9:,.1f} GB", f"{sent / 1e9:,.2f} GB"
        yield f"{cut:.0%}", str(workers), *sizes, f"{sent / LINK:,.3f}"


def assignments(points: float, rate: float, rounds: int) -> Iterator[tuple[str, ...]]:
    """Yield the rows of a table for an assignment between points; a GPU computes `rate` costs a second."""
    for workers in WORKERS:
        costs = SCANS * points**2 / rate / workers
        sent = 16 * points  # best bid and bidder of each column, reduced over all workers
        messages = rounds * (2 * sent / LINK + 2e-5 * workers.bit_length())
        memory = f"{(points / workers * 16 + points * 24) * 8 / 8e9:,.2f} GB"
        shown = f"{costs:,.1f}", f"{messages:,.1f}", f"{costs / (costs + messages):.0%}"
        yield str(workers), memory, *shown
