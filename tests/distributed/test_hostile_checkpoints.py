"""Checkpoints from strangers: each array of each file is changed in many ways, with sums that are right.

A solve that goes on from such a folder ends in an error, or in the right cut with its proof. It never
crashes, eats memory, or calls a wrong cut optimal. The solves run in a process of their own:

    python -m tests.distributed.test_hostile_checkpoints KIND SEED COUNT FOLDER
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import preflow
from preflow.distributed import files
from preflow.errors import InvalidInputError, ParseError, StorageError
from tests.support.paths import ROOT

MORE_MEMORY = 2 << 30


def grid_problem() -> dict[str, Any]:
    rng = np.random.default_rng(3)
    terminal = rng.integers(-9, 10, (14, 12))
    neighbor = rng.integers(0, 7, (4, 14, 12))
    return {
        "source_capacity": np.maximum(terminal, 0),
        "sink_capacity": np.maximum(-terminal, 0),
        "neighbor_capacity": neighbor,
        "connectivity": [(0, 1), (0, -1), (1, 0), (-1, 0)],
    }


def network_problem() -> tuple[Any, ...]:
    rng = np.random.default_rng(4)
    tail, head = rng.integers(0, 40, (2, 300))
    return (tail, head, rng.integers(0, 9, 300)), 0, 39


def solve(kind: str, folder: Path) -> Any:
    if kind == "grid":
        return preflow.distributed.grid_cut(**grid_problem(), exchange="files", regions=3, folder=folder)
    network, source, sink = network_problem()
    return preflow.distributed.min_cut(
        network, source, sink, partition=np.arange(40) // 14, exchange="files", folder=folder
    )


def side_of(result: Any) -> np.ndarray:
    return np.asarray(result.labels if hasattr(result, "labels") else result.sink_side)


class StopError(Exception):
    """The solve has made all sweeps that it may."""


def checkpoint(kind: str, folder: Path, sweeps: int) -> None:
    """Leave a checkpoint after so many sweeps, that of the whole solve if there are fewer."""
    sweep = files.FileExchange.sweep

    def stopped(self: files.FileExchange, order: Any) -> Any:
        if self.sweeps >= sweeps:
            raise StopError
        return sweep(self, order)

    files.FileExchange.sweep = stopped  # type: ignore[method-assign]
    try:
        with suppress(StopError):
            solve(kind, folder)
    finally:
        files.FileExchange.sweep = sweep  # type: ignore[method-assign]


class Folder:
    """A checkpoint that can be changed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        text = files.read_manifest(path / files.MANIFEST, files.FORMAT)
        assert text is not None
        self.content: dict[str, Any] = json.loads(text)
        self.entries = [*self.content["regions"], self.content["borders"]]

    def arrays(self, entry: list[Any]) -> dict[str, np.ndarray]:
        return dict(files.Store(self.path).read(files.Entry.of(*entry)).items())

    def replace(self, entry: list[Any], arrays: dict[str, np.ndarray]) -> None:
        store = files.Store(self.path)
        store._serial = 10**6
        name, kept = store.write(entry[0].rsplit("-", 1)[0], arrays.items())
        entry[:] = [name, {each: list(values) for each, values in kept.items()}]

    def save(self) -> None:
        files.replace_manifest(self.path / files.MANIFEST, files.FORMAT, self.content)


def changed_array(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return an array that is changed in one of many ways."""
    flat = values.astype(np.int64, copy=True).reshape(-1)
    limits = np.iinfo(values.dtype) if values.dtype.kind in "iu" else np.iinfo(np.uint8)
    amounts = (-1, 1, 2, 100, 255, 30000, -30000, 2 * 10**9, limits.max, limits.min)
    amount = int(rng.choice([*amounts, int(rng.integers(-50, 50))]))
    way = rng.integers(8)
    if way == 0:
        return values[: int(rng.integers(0, len(values) + 1))]
    if way == 1:
        return np.concatenate([values, values])
    if way == 2:
        return values.astype([np.float64, np.int8, np.uint64, np.float32][rng.integers(4)])
    if not len(flat):
        return np.full(int(rng.integers(1, 200)), amount % 127).astype(values.dtype)
    places = rng.integers(0, len(flat), 1 if way < 5 else 5) if way < 7 else np.arange(len(flat))
    if way == 6:
        rng.shuffle(flat)
    elif way % 2:
        flat[places] = amount
    else:
        with np.errstate(over="ignore"):
            flat[places] += amount
    with np.errstate(invalid="ignore", over="ignore"):
        return flat.astype(values.dtype).reshape(values.shape)


NUMBERS = (-1, 0, 1, 2**31, 2**63, 10**30, 0.5, float("nan"), True)
ANYTHING = (*NUMBERS, None, "x", "", [], {}, [1], [[-5]], [10**13])
DTYPES = ("<f8", "|O", "|V0", "|S0", "|S1000000", "M8[s]", "<i8", "|i1", ">i4", "nonsense", "i4,i4", "<c16")


def changed(folder: Folder, rng: np.random.Generator) -> str:
    """Change a checkpoint in one way; return what was changed."""
    entry = folder.entries[rng.integers(len(folder.entries))]
    name = str(rng.choice(sorted(entry[1])))
    way = int(rng.integers(10))
    if way < 6:
        arrays = folder.arrays(entry)
        before = arrays[name]
        arrays[name] = changed_array(before, rng)
        folder.replace(entry, arrays)
        return f"array {name} of {entry[0]}"
    if way == 6:
        del entry[1][name]
        return f"no array {name}"
    if way == 7:
        field = int(rng.integers(5))
        values = DTYPES if field in (1, 2) and rng.random() < 0.7 else ANYTHING
        entry[1][name][field] = values[rng.integers(len(values))]
        return f"field {field} of {name}"
    if way == 8:
        key = str(rng.choice(sorted(set(folder.content) - {"problem"})))
        if rng.random() < 0.2:
            del folder.content[key]
        else:
            folder.content[key] = ANYTHING[rng.integers(len(ANYTHING))]
        return f"manifest {key}"
    names = ["/etc/passwd", "../x", "region-0-1.state", "", 5, None, "a\0b", folder.entries[0][0]]
    entry[0] = names[rng.integers(len(names))]
    return f"name {entry[0]!r}"


def main(kind: str, seed: int, count: int, work: Path) -> None:
    expected = side_of(solve(kind, work / "right"))
    limit = resource.getrlimit(resource.RLIMIT_AS)[1]
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MORE_MEMORY, limit))
    for sweeps in (1, 2, 99):
        checkpoint(kind, work / f"after-{sweeps}", sweeps)
    refused = 0
    for i in range(count):
        rng = np.random.default_rng([seed, i])
        shutil.rmtree(work / "changed", ignore_errors=True)
        shutil.copytree(work / f"after-{(1, 2, 99)[i % 3]}", work / "changed")
        folder = Folder(work / "changed")
        what = changed(folder, rng)
        folder.save()
        print(i, what, flush=True)
        try:
            result = solve(kind, work / "changed")
        except (ParseError, InvalidInputError, StorageError):
            refused += 1
            continue
        assert result.status == "optimal"
        assert np.array_equal(side_of(result), expected), what
        result.verify()
    print("refused", refused, "of", count)


def run(kind: str, seed: int, count: int, work: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-m", __name__, kind, str(seed), str(count), str(work)],
        capture_output=True,
        text=True,
        timeout=600,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-300:]}\n{done.stderr[-3000:]}"
    assert int(done.stdout.split("refused")[1].split()[0]) > count // 3


@pytest.mark.parametrize("kind", ["grid", "network"])
def test_changed_checkpoints_are_refused_or_solved(kind: str, tmp_path: Path) -> None:
    run(kind, 0, 60, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "count"), [("grid", 400), ("network", 1500)])
def test_many_changed_checkpoints(kind: str, count: int, tmp_path: Path) -> None:
    run(kind, 1, count, tmp_path)


def links(folder: Path, target: Path) -> Iterator[Callable[[], object]]:
    """Yield functions that put a link to a file where the solve writes or reads."""
    states = [f"region-{i}-{j}.state" for i in range(3) for j in range(1, 9)]
    for name in ("probe.state", "regions.new", *states):
        yield lambda name=name: (folder / name).symlink_to(target)  # type: ignore[misc]
    yield lambda: os.link(target, folder / "region-0-1.state")


def test_files_behind_links_stay_as_they_are(tmp_path: Path) -> None:
    """A folder may have links: no file outside of it is written to."""
    target, folder = tmp_path / "target", tmp_path / "states"
    target.write_bytes(b"precious" * 1000)
    expected = side_of(solve("grid", tmp_path / "right"))
    for i, put in enumerate(links(folder, target)):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        put()
        if i % 2:
            checkpoint("grid", folder, 1)
        np.testing.assert_array_equal(side_of(solve("grid", folder)), expected)
        assert target.read_bytes() == b"precious" * 1000


def test_pipes_are_no_states(tmp_path: Path) -> None:
    solve("grid", tmp_path / "states")
    for name in [files.MANIFEST, Folder(tmp_path / "states").entries[0][0]]:
        folder = tmp_path / f"with-{name}"
        shutil.copytree(tmp_path / "states", folder)
        (folder / name).unlink()
        os.mkfifo(folder / name)
        with pytest.raises(ParseError, match="no regular file"):
            solve("grid", folder)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
