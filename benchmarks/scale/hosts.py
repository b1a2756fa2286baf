"""Measure the hosts of regions on one machine: GPUs beside one GPU, Ray beside threads, files beside memory.

    python -m benchmarks.scale.hosts gpus FILE.json 512          one and two GPUs, and a limit on memory
    python -m benchmarks.scale.hosts ray FILE.json 400 2 4       2 and 4 actors beside "multicore-merging"
    python -m benchmarks.scale.hosts ray FILE.json 400 1 2 cuda  also on their GPUs, beside "cuda-tiled"
    python -m benchmarks.scale.hosts threads FILE.json 400 2 4 8
        two regions with as many threads in all, in memory and on two actors, beside "multicore-merging"
    python -m benchmarks.scale.hosts files FILE.json 256 T1.nii.gz
        a brain, vessels and balls on files beside grid_cut; a scan is tiled up to that side

Times are those of whole calls, from arrays of NumPy to labels. "read" is the part until all regions are read
and on their GPUs, and "sweeps" what follows until the cut is proved. On files each solve has a process of its
own, which maps the files of capacities. Its memory is the peak beyond that of the interpreter and the
package, pages of mapped files included (Linux).
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import preflow
from preflow.arrays import Array
from preflow.distributed import GpuExchange, RayExchange
from preflow.distributed.exchange import Order, RegionTask, Report
from preflow.distributed.files import FileExchange
from preflow.distributed.volume_energy import VolumeEnergy
from preflow.generators import spiral, vessel_tree
from preflow.graph.integer_grid import IntegerGrid
from preflow.solving.run import Control
from preflow.vision import read_volume

from ..records import write_rows

REPEATS = 3
#: Share of the bytes of all capacities that is the limit on a GPU's memory.
LIMIT = 0.55
#: Seconds after which no further solve begins.
MOST_SECONDS = 200.0
#: Width of the picture with a spiral.
SPIRAL = 1000
#: Shape of the batch of costs, and how many batches each GPU solves.
COSTS, BATCHES = (10_000, 30, 30), 20
#: Noise of the tiled scan, and what a voxel's face costs there, in nats.
NOISE, SMOOTHNESS = 20.0, 0.7


class Instance(NamedTuple):
    """A volume or a picture: its name, its terminal capacities, and that between all neighbours or pairs."""

    name: str
    source: NDArray[np.int16]
    sink: NDArray[np.int16]
    neighbor: int | Array


def noisy_ball(side: int, noise: float, contrast: float, neighbor: int, name: str) -> Instance:
    """Return a ball seen through noise."""
    rng = np.random.default_rng(side)
    squares = (np.arange(side, dtype=np.float32) - side / 2) ** 2
    inside = squares[:, None, None] + squares[:, None] + squares < (side / 3) ** 2
    difference = rng.standard_normal((side,) * 3, dtype=np.float32)
    difference *= noise
    difference += np.where(inside, np.float32(contrast), np.float32(-contrast))
    whole = np.rint(difference, out=difference).astype(np.int16)
    return Instance(name, np.maximum(whole, 0), np.maximum(-whole, 0), neighbor)


def instances(side: int) -> Iterator[Instance]:
    """Yield a volume in which noise decides most pixels, and two in which flow has farther to go."""
    yield noisy_ball(side, 40, 15, 20, "noisy ball")
    yield noisy_ball(side, 40, 5, 28, "noisy ball, little contrast")
    yield noisy_ball(side, 40, 3, 32, "noisy ball, least contrast")


def long_path() -> Instance:
    """Return a spiral, in which all flow crosses the border of two regions at each turn."""
    grid = spiral(SPIRAL)
    return Instance("spiral", grid.source_capacity, grid.sink_capacity, grid.neighbor_capacity)


class TimedExchange(GpuExchange):
    """GPUs, with the time at which regions are read."""

    read_at = 0.0

    def _build(self, grids: list[IntegerGrid]) -> None:
        super()._build(grids)
        self.read_at = time.perf_counter()

    def sweep(self, order: Order) -> list[Report]:
        """Run one sweep."""
        reports = super().sweep(order)
        self.swept_at = time.perf_counter()
        return reports

    def scatter(self, tasks: Sequence[RegionTask], control: Control) -> list[Report]:
        """Read the regions."""
        reports = super().scatter(tasks, control)
        self.swept_at = time.perf_counter()
        return reports


def solved_on_gpus(instance: Instance, devices: list[int], memory: int | None) -> dict[str, object]:
    """Return the times of one solve."""
    host = TimedExchange(devices=devices, memory=memory)
    begin = time.perf_counter()
    result = preflow.distributed.grid_cut(
        instance.source, instance.sink, instance.neighbor, exchange=host, time_limit=60
    )
    end = time.perf_counter()
    return {
        "status": result.status,
        "value": int(result.value),
        "labels": int(result.labels.sum()),
        "sweeps": result.sweeps,
        "windows": len(host._parts[0].windows),
        "whole call": end - begin,
        "read": host.read_at - begin,
        "sweeps seconds": host.swept_at - host.read_at,
    }


def measure_gpus(path: Path, side: int) -> None:
    """Measure one and two GPUs."""
    import cupy

    began = time.perf_counter()
    rows: list[dict[str, object]] = []
    small = noisy_ball(64, 40, 15, 20, "small")
    for devices in ([0], [0, 1]):
        solved_on_gpus(small, devices, None)
    print("compiled", time.perf_counter() - began, flush=True)
    for instance in (*instances(side), long_path()):
        given = [cupy.asarray(values) for values in instance[1:]]
        for _ in range(2):
            alone = preflow.grid_cut(*given, method="cuda-tiled")
        seconds = dict(alone.stats.seconds)
        rows.append({"instance": instance.name, "how": "cuda-tiled", "value": int(alone.value), **seconds})
        print(rows[-1], flush=True)
        del given, alone
        cupy.get_default_memory_pool().free_all_blocks()
        limit = int(LIMIT * 16 * side**3)
        ways: list[tuple[str, list[int], int | None]] = [("one GPU", [0], None), ("two GPUs", [0, 1], None)]
        if instance.source.ndim == 3:
            ways += [("one GPU with a limit", [0], limit), ("two GPUs with a limit", [0, 1], limit // 2)]
        for how, devices, memory in ways:
            for _ in range(REPEATS if memory is None else 1):
                if time.perf_counter() - began > MOST_SECONDS:
                    break
                row = solved_on_gpus(instance, devices, memory)
                rows.append({"instance": instance.name, "how": how, "memory": memory, **row})
                print(rows[-1], flush=True)
                write_rows(path, rows, side=side)
    measure_batches(path, side, rows)


def measure_batches(path: Path, side: int, rows: list[dict[str, object]]) -> None:
    """Measure batches of assignments on one GPU, and on two at the same time, a thread for each."""
    import cupy

    costs = np.random.default_rng(side).integers(0, 1000, COSTS)

    def solve(device: int, times: int) -> int:
        with cupy.cuda.Device(device):
            given = cupy.asarray(costs)
            for _ in range(times):
                found = preflow.linear_assignment(given)
            cupy.cuda.Device(device).synchronize()
            return int(np.sum(found.value))

    with ThreadPoolExecutor(2) as pool:
        for devices in ([0], [0, 1]) * (1 + REPEATS):  # the first two warm up
            begin = time.perf_counter()
            values = set(pool.map(solve, devices, [BATCHES] * len(devices)))
            seconds = time.perf_counter() - begin
            assert len(values) == 1
            rows.append(
                {
                    "instance": f"{COSTS[0]:,} assignments of {COSTS[1]}",
                    "how": f"batches on {len(devices)} GPUs",
                    "batches": BATCHES * len(devices),
                    "value": values.pop(),
                    "seconds": seconds,
                }
            )
            print(rows[-1], flush=True)
            write_rows(path, rows, side=side)


class TimedRay(RayExchange):
    """Actors, with the time at which regions are read, and that at which the last sweep has ended."""

    read_at = swept_at = 0.0

    def sweep(self, order: Order) -> list[Report]:
        """Run one sweep."""
        reports = super().sweep(order)
        self.swept_at = time.perf_counter()
        return reports

    def scatter(self, tasks: Sequence[RegionTask], control: Control) -> list[Report]:
        """Start the actors, and read the regions."""
        reports = super().scatter(tasks, control)
        self.read_at = self.swept_at = time.perf_counter()
        return reports


def solved_on_host(instance: Instance, how: str, count: int, host: TimedRay | None) -> dict[str, object]:
    """Solve by threads, or by the actors of a host; return the answer's numbers and the seconds."""
    found: preflow.GridCutResult | preflow.distributed.RegionCutResult
    row: dict[str, object] = {}
    begin = time.perf_counter()
    if host is not None:
        found = preflow.distributed.grid_cut(*instance[1:], exchange=host, regions=count, threads=count)
        row = {
            "sweeps": found.sweeps,
            "regions": found.regions,
            "read": host.read_at - begin,
            "sweeps seconds": host.swept_at - host.read_at,
        }
    elif how in ("multicore-merging", "cuda-tiled"):
        threads = count if how == "multicore-merging" else None
        found = preflow.grid_cut(*instance[1:], method=how, threads=threads)
    else:
        found = preflow.distributed.grid_cut(*instance[1:], exchange=how, regions=count, threads=count)
        row = {"sweeps": found.sweeps, "regions": found.regions}
    row |= {"value": int(found.value), "labels": int(found.labels.sum())}
    return row | {f"of which {name}": value for name, value in found.stats.seconds.items()}


def actors(how: str, count: int) -> TimedRay | None:
    """Return a host whose first solve starts the actors; the next ones find them.

    The first host of a process finds processes that Ray has ready; for a later one Ray has to start some.
    """
    if not how.startswith("ray"):
        return None
    return TimedRay(workers=count, device="cuda" if how == "ray cuda" else "cpu")


def measure_ray(path: Path, side: int, counts: list[int], device: str) -> None:
    """Measure threads, then as many actors of Ray, on their GPUs, too, if the device is "cuda"."""
    from preflow.distributed.batches.ray_tasks import start_ray

    start_ray(None, max(counts))
    rows: list[dict[str, object]] = []
    ways = ["multicore-merging", "memory", "ray", "ray, new actors"]
    volumes = list(instances(side))[: 2 if device == "cuda" else 1]
    if device == "cuda":
        ways += ["cuda-tiled", "ray cuda"]
        small = noisy_ball(64, 40, 15, 20, "small")  # compiles the kernels
        for how in ways[-2:]:
            solved_on_host(small, how, 1, actors(how, 1))
    began = time.perf_counter()
    for instance, count in product(volumes, counts):
        for how in ways:
            gc.collect()  # actors of the last host have the CPUs
            host = actors(how, count)
            for _ in range(REPEATS):
                if time.perf_counter() - began > MOST_SECONDS * len(volumes):
                    break
                if how == "ray, new actors":
                    host = None  # the actors of the last solve end with their host
                    gc.collect()
                    host = actors(how, count)
                begin = time.perf_counter()
                row = solved_on_host(instance, how, count, host)
                row |= {"how": how, "workers": count, "seconds": time.perf_counter() - begin}
                rows.append({"instance": instance.name, **row})
                print(rows[-1], flush=True)
                write_rows(path, rows, side=side)


def solved_in_two(instance: Instance, how: str, threads: int) -> dict[str, object]:
    """Solve two regions on some threads; return the answer's numbers and the seconds of its phases."""
    if how == "multicore-merging":
        return solved_on_host(instance, how, threads, None)
    begin = time.perf_counter()
    host = TimedRay(workers=2, threads=max(1, threads // 2)) if how == "ray" else "memory"
    found = preflow.distributed.grid_cut(*instance[1:], exchange=host, regions=2, threads=threads)
    row: dict[str, object] = {"sweeps": found.sweeps, "value": int(found.value)}
    if isinstance(host, TimedRay):
        row |= {"read": host.read_at - begin, "sweeps seconds": host.swept_at - host.read_at}
    return row | {f"of which {name}": value for name, value in found.stats.seconds.items()}


def measure_threads(path: Path, side: int, counts: list[int]) -> None:
    """Measure regions that have several threads each."""
    from preflow.distributed.batches.ray_tasks import start_ray

    start_ray(None, max(2, *counts))
    began = time.perf_counter()
    rows: list[dict[str, object]] = []
    volumes = list(instances(side))[:2]
    for instance, threads in product(volumes, counts):
        for how in ("multicore-merging", "memory", "ray"):
            for _ in range(REPEATS):
                if time.perf_counter() - began > MOST_SECONDS * len(volumes):
                    break
                gc.collect()  # actors of the last result have the CPUs
                begin = time.perf_counter()
                row = solved_in_two(instance, how, threads)
                row |= {"how": how, "threads": threads, "seconds": time.perf_counter() - begin}
                rows.append({"instance": instance.name, **row})
                print(rows[-1], flush=True)
                write_rows(path, rows, side=side)


def brain(path: str, side: int) -> dict[str, Array]:
    """Return the capacities of a scan that is tiled up to a side, with noise."""
    scan = read_volume(path).values
    tiled = np.pad(scan, [(0, max(0, side - length)) for length in scan.shape], mode="wrap")
    noise = np.random.default_rng(side).normal(0, NOISE, (side,) * 3)
    energy = VolumeEnergy(
        tiled[:side, :side, :side] + noise, [">195"], ["<100"], smoothness=SMOOTHNESS, connectivity=6
    )
    box = (slice(0, side),) * 3
    return {
        "source": energy.source[box],
        "sink": energy.sink[box],
        "neighbor": energy.neighbor[(box[0], *box)],
    }


def write_volumes(folder: Path, side: int, scan: str) -> None:
    """Write the capacities of volumes to files."""
    tree, ball = vessel_tree(side), noisy_ball(side, 40, 15, 20, "ball")
    volumes: dict[str, dict[str, Array]] = {
        "brain": brain(scan, side),
        "vessels": {
            "source": tree.source_capacity,
            "sink": tree.sink_capacity,
            "neighbor": tree.neighbor_capacity,
        },
        "ball": {"source": ball.source, "sink": ball.sink, "neighbor": np.full(3, ball.neighbor)},
        # The ball lies across all ends.
        "periodic ball": {
            "source": np.roll(ball.source, side // 2, axis=(0, 1, 2)),
            "sink": np.roll(ball.sink, side // 2, axis=(0, 1, 2)),
            "neighbor": np.full(3, ball.neighbor),
        },
    }
    for name, arrays in volumes.items():
        (folder / name).mkdir()
        for part, values in arrays.items():
            np.save(folder / name / f"{part}.npy", values)


def peak() -> int:
    """Return the bytes of memory that this process had at most, pages of mapped files included."""
    status = Path("/proc/self/status").read_text("utf-8")
    return 1024 * int(status.split("VmHWM:")[1].split()[0])


def solve_files(folder: Path, how: str) -> dict[str, object]:
    """Solve one of the written volumes by `grid_cut`, or on files; return its numbers."""
    source, sink, neighbor = (
        np.load(folder / f"{part}.npy", mmap_mode="r") for part in ("source", "sink", "neighbor")
    )
    small = source[:8, :8, :8], sink[:8, :8, :8], 20
    preflow.distributed.grid_cut(*small, exchange="files", regions=2)
    preflow.grid_cut(*small, method="serial-incremental-bfs")
    before, began = peak(), time.process_time()
    periodic = folder.name.startswith("periodic")
    found: preflow.GridCutResult | preflow.distributed.RegionCutResult
    row: dict[str, object] = {}
    if how == "grid_cut":
        found = preflow.grid_cut(source, sink, neighbor, periodic=periodic, method="serial-incremental-bfs")
    else:
        solved = preflow.distributed.grid_cut(
            source, sink, neighbor, periodic=periodic, exchange="files", threads=int(how)
        )
        host = solved._exchange
        assert isinstance(host, FileExchange)
        row = {"regions": solved.regions, "sweeps": solved.sweeps, "loads": host.loads}
        found = solved
    seconds, memory = time.process_time() - began, peak() - before
    labels = zlib.crc32(np.packbits(found.labels).tobytes())
    return row | {"cpu_seconds": seconds, "memory": memory, "value": int(found.value), "labels": labels}


def measure_files(path: Path, side: int, scan: str) -> None:
    """Measure `grid_cut` and regions on files in turn, each solve in a process of its own."""
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as given:
        folder = Path(given)
        write_volumes(folder, side, scan)
        for _ in range(REPEATS):
            for volume in sorted(folder.iterdir()):
                for how in ("grid_cut", "1", "2"):
                    command = [sys.executable, "-m", "benchmarks.scale.hosts", "solve", str(volume), how]
                    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
                    rows.append({"instance": volume.name, "how": how, **json.loads(out)})
                    print(rows[-1], flush=True)
                    write_rows(path, rows, side=side)


def main() -> None:
    """Measure."""
    if sys.argv[1] == "solve":
        print(json.dumps(solve_files(Path(sys.argv[2]), sys.argv[3])))
        return
    path, side = Path(sys.argv[2]), int(sys.argv[3])
    if sys.argv[1] == "gpus":
        measure_gpus(path, side)
    elif sys.argv[1] == "threads":
        measure_threads(path, side, [int(count) for count in sys.argv[4:]])
    elif sys.argv[1] == "files":
        measure_files(path, side, sys.argv[4])
    else:
        counts = [int(count) for count in sys.argv[4:] if count != "cuda"]
        measure_ray(path, side, counts, "cuda" if "cuda" in sys.argv[4:] else "cpu")


if __name__ == "__main__":
    main()
