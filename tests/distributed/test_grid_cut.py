"""grid_cut by regions: all hosts against preflow.grid_cut, inputs of all kinds, faults and checkpoints."""

from __future__ import annotations

import copy
import dataclasses
import errno
import itertools
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import preflow
from preflow.arrays import AnyArray
from preflow.distributed import files, grid_source
from preflow.distributed.exchange import Narrow
from preflow.distributed.grid_source import mapped_again, read_part
from preflow.distributed.memory import MemoryExchange
from preflow.distributed.partition import border_of, divide
from preflow.errors import InvalidInputError, ParseError, StorageError, VerificationError
from preflow.progress import ProgressReport

SHAPE = (7, 8, 9)


def volume(seed: int = 0) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    rng = np.random.default_rng(seed)
    source = rng.integers(0, 30, SHAPE) * (rng.random(SHAPE) < 0.3)
    sink = rng.integers(0, 30, SHAPE) * (rng.random(SHAPE) < 0.3)
    return source, sink, rng.integers(0, 9, (3, *SHAPE))


@given(
    st.integers(0, 2**32),
    st.sampled_from(("int", "float64", "float32", "quarters", "negative", "mixed", "infinite")),
    st.sampled_from(("memory", "files")),
    st.integers(1, 27),
)
@settings(max_examples=25, deadline=None)
def test_the_answer_is_that_of_grid_cut(seed: int, kind: str, exchange: str, regions: int) -> None:
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 6, 3).tolist())
    source: Any = rng.integers(0, 20, shape) * (rng.random(shape) < 0.5)
    sink: Any = rng.integers(0, 20, shape) * (rng.random(shape) < 0.5)
    neighbor: Any = rng.integers(0, 9, (3, *shape))
    if kind.startswith("float"):
        source, sink, neighbor = (
            (part * rng.random(part.shape)).astype(kind) for part in (source, sink, neighbor)
        )
    elif kind == "quarters":
        source, neighbor = source / 4, neighbor / 8
    elif kind == "negative":
        source = source - 10
    elif kind == "mixed":
        neighbor = neighbor * 0.3
    elif kind == "infinite":
        source = np.where((source > 18) & (sink == 0), np.inf, source)
    expected = preflow.grid_cut(source, sink, neighbor, method="serial-incremental-bfs")
    result = preflow.distributed.grid_cut(source, sink, neighbor, exchange=exchange, regions=regions)
    result.verify()
    assert np.array_equal(result.labels, expected.labels)
    assert type(result.value) is type(expected.value)
    assert result.value == pytest.approx(expected.value, rel=1e-13)
    assert result.gap == pytest.approx(expected.gap, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("exchange", ["memory", "files"])
def test_a_path_through_all_regions_in_any_order(exchange: str) -> None:
    """A vessel that winds through all regions, with the source at one end and the sink at the other."""
    shape = (12, 12)
    inside = np.zeros(shape, dtype=bool)
    inside[::2] = True
    for row in range(1, 12, 2):
        inside[row, -1 if row % 4 == 1 else 0] = True
    capacity = np.zeros((2, *shape), dtype=int)
    capacity[0, :, :-1] = 9 * (inside[:, :-1] & inside[:, 1:])
    capacity[1, :-1] = 9 * (inside[:-1] & inside[1:])
    source, sink = np.zeros(shape, dtype=int), np.zeros(shape, dtype=int)
    source[0, 0], sink[10, 0 if inside[9, 11] else 11] = 7, 5
    expected = preflow.grid_cut(source, sink, capacity)
    assert expected.value == 5
    result = preflow.distributed.grid_cut(source, sink, capacity, exchange=exchange, regions=(3, 3))
    result.verify()
    assert result.value == 5
    assert np.array_equal(result.labels, expected.labels)
    assert result.sweeps < 60


class Lazy:
    """An array that only returns parts, and counts how many entries it returned at most."""

    def __init__(self, values: NDArray[Any]) -> None:
        self.values, self.most = values, 0

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape

    @property
    def dtype(self) -> Any:
        return self.values.dtype

    def __getitem__(self, key: Any) -> Any:
        part = self.values[key]
        self.most = max(self.most, part.size)
        return part.copy()

    def __array__(self, *args: object, **kwargs: object) -> Any:
        raise AssertionError("the whole array was read")


def test_arrays_are_read_in_parts(tmp_path: Path) -> None:
    arrays = volume()
    lazy = [Lazy(values) for values in arrays]
    out = np.lib.format.open_memmap(tmp_path / "mask.npy", "w+", np.uint8, SHAPE)
    result = preflow.distributed.grid_cut(*lazy, exchange="files", regions=(2, 2, 2), out=out)
    result.verify()
    assert result.labels is out
    expected = preflow.grid_cut(*arrays)
    assert np.array_equal(out.astype(bool), expected.labels)
    assert all(each.most < each.values.size / 2 for each in lazy)


def test_arrays_of_other_libraries(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    dask = pytest.importorskip("dask.array")
    xarray = pytest.importorskip("xarray")
    source, sink, neighbor = volume()
    expected = preflow.grid_cut(source, sink, neighbor)
    stored = zarr.create_array(tmp_path / "source.zarr", data=source, chunks=(4, 4, 4))
    mask = zarr.create_array(tmp_path / "mask.zarr", shape=SHAPE, chunks=(4, 4, 4), dtype=bool)
    lazy = xarray.DataArray(dask.from_array(neighbor, chunks=(1, 4, 4, 4)))
    result = preflow.distributed.grid_cut(
        stored, dask.from_array(sink, chunks=4), lazy, exchange="files", regions=4, out=mask
    )
    result.verify()
    assert result.value == expected.value
    assert np.array_equal(mask[:], expected.labels)


def test_labels_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk of a memory map is claimed before the solve: a write to it later would end the process."""

    class Full:
        shape = volume()[0].shape

        def __setitem__(self, box: object, values: object) -> None:
            full()

    def full(*arguments: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(StorageError, match="labels: No space left"):
        preflow.distributed.grid_cut(*volume(), out=Full())
    if not hasattr(os, "posix_fallocate"):
        return
    path = tmp_path / "mask.npy"
    mask = np.lib.format.open_memmap(path, "w+", np.bool_, Full.shape)
    preflow.distributed.grid_cut(*volume(), out=mask[:])
    assert path.stat().st_blocks * 512 >= path.stat().st_size
    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(StorageError, match=r"mask.npy: No space left"):
        preflow.distributed.grid_cut(*volume(), out=mask)


def test_a_changed_answer_is_found() -> None:
    out = np.zeros(SHAPE, dtype=bool)
    result = preflow.distributed.grid_cut(*volume(), regions=4, out=out)
    out[3, 3, 3] = ~out[3, 3, 3]
    with pytest.raises(VerificationError, match="labels"):
        result.verify()


def test_a_result_says_that_its_exchange_was_used_again() -> None:
    """A float grid is solved twice by one call; only a later call takes its regions away."""
    host = MemoryExchange(1)
    first = preflow.distributed.grid_cut(**twice_rounded(), exchange=host, regions=3)
    first.verify()
    second = preflow.distributed.grid_cut(*volume(), exchange=host, regions=3)
    second.verify()
    with pytest.raises(InvalidInputError, match="another problem since"):
        first.verify()
    problem = preflow.generators.rmf(3, 4, seed=1)
    third = preflow.distributed.min_cut(problem, partition=np.arange(36) // 9, exchange=host)
    third.verify()
    del third
    with pytest.raises(InvalidInputError, match="another problem since"):
        second.verify()


def fail_at(number: int, error: BaseException, patch: pytest.MonkeyPatch) -> None:
    """Let the n-th write of a state fail after it has written something."""
    calls = [0]
    write = files.write_array

    def wrong(file: Any, values: NDArray[Any], stored: Any, old: Any) -> files.Pieces:
        calls[0] += 1
        if calls[0] == number:
            file.write(b"partial")
            raise error
        return write(file, values, stored, old)

    patch.setattr(files, "write_array", wrong)


@pytest.mark.parametrize("number", [1, 12, 60, 75, 110])
def test_a_full_disk_loses_nothing(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arrays = volume()
    with monkeypatch.context() as patch:
        fail_at(number, OSError(errno.ENOSPC, "No space left on device"), patch)
        with pytest.raises(StorageError, match="No space left"):
            preflow.distributed.grid_cut(*arrays, exchange="files", regions=8, folder=tmp_path)
    result = preflow.distributed.grid_cut(*arrays, exchange="files", regions=8, folder=tmp_path)
    result.verify()
    assert np.array_equal(result.labels, preflow.grid_cut(*arrays).labels)


@pytest.mark.parametrize("number", [3, 25, 40, 55])
def test_a_killed_process_goes_on(number: int, tmp_path: Path) -> None:
    """The process ends at the n-th file operation, in or between sweeps; the next one has fewer to do."""
    np.savez(tmp_path / "volume.npz", *volume())
    code = f"""
import os, numpy as np, preflow
from preflow.arrays import AnyArray
from preflow.distributed import files, grid_source
count = [0]
def counted(method):
    def run(*args, **named):
        count[0] += 1
        if count[0] == {number}:
            os._exit(9)
        return method(*args, **named)
    return run
files.Store.write = counted(files.Store.write)
files.Store.clear = counted(files.Store.clear)
files.Store.read = counted(files.Store.read)
arrays = np.load({str(tmp_path / "volume.npz")!r}).values()
preflow.distributed.grid_cut(*arrays, exchange="files", regions=8, folder={str(tmp_path / "states")!r})
"""
    ended = subprocess.run([sys.executable, "-c", code], check=False)
    assert ended.returncode == 9
    result = preflow.distributed.grid_cut(*volume(), exchange="files", regions=8, folder=tmp_path / "states")
    result.verify()
    assert np.array_equal(result.labels, preflow.grid_cut(*volume()).labels)


def damage_manifest(folder: Path) -> None:
    (folder / files.MANIFEST).write_text("{")


def change_version(folder: Path) -> None:
    files.replace_manifest(folder / files.MANIFEST, 99, {})


def shorten_manifest(folder: Path) -> None:
    content = (folder / files.MANIFEST).read_bytes()
    (folder / files.MANIFEST).write_bytes(content[:-5])


def damage_state(folder: Path) -> None:
    for path in folder.glob(f"region-*{files.SUFFIX}"):
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)


def shorten_state(folder: Path) -> None:
    for path in folder.glob(f"borders-*{files.SUFFIX}"):
        path.write_bytes(path.read_bytes()[:-5])


def remove_states(folder: Path) -> None:
    for path in folder.glob(f"*{files.SUFFIX}"):
        path.unlink()


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (damage_manifest, "damaged checkpoint"),
        (shorten_manifest, "the checksum is wrong"),
        (change_version, "format 99, but this version of preflow reads"),
        (damage_state, "checksum"),
        (shorten_state, "damaged checkpoint"),
        (remove_states, "damaged checkpoint"),
    ],
)
def test_a_damaged_checkpoint_is_refused(spoil: Callable[[Path], None], message: str, tmp_path: Path) -> None:
    preflow.distributed.grid_cut(*volume(), exchange="files", regions=4, folder=tmp_path)
    spoil(tmp_path)
    with pytest.raises(ParseError, match=message):
        preflow.distributed.grid_cut(*volume(), exchange="files", regions=4, folder=tmp_path)


def test_no_byte_of_a_manifest_may_change(tmp_path: Path) -> None:
    path = tmp_path / files.MANIFEST
    assert files.read_manifest(path, 5) is None
    files.replace_manifest(path, 5, {"sweeps": 3, "files": ["a", "b"]})
    text = files.read_manifest(path, 5)
    assert text is not None
    assert json.loads(text) == {"sweeps": 3, "files": ["a", "b"]}
    content = path.read_bytes()
    for place in range(len(content)):
        for value in {0, 10, 34, 49, 255} - {content[place]}:
            path.write_bytes(content[:place] + bytes([value]) + content[place + 1 :])
            with pytest.raises(ParseError, match=r"damaged checkpoint|preflow reads 5"):
                files.read_manifest(path, 5)


def test_a_finished_solve_is_read_from_its_folder(tmp_path: Path) -> None:
    first = preflow.distributed.grid_cut(*volume(), exchange="files", regions=4, folder=tmp_path)
    again = preflow.distributed.grid_cut(*volume(), exchange="files", regions=4, folder=tmp_path)
    assert again.value == first.value
    assert np.array_equal(again.labels, first.labels)
    with pytest.raises(InvalidInputError, match="another problem"):
        preflow.distributed.grid_cut(*volume(1), exchange="files", regions=4, folder=tmp_path)
    with pytest.raises(InvalidInputError, match="another problem"):
        preflow.distributed.grid_cut(*volume(), exchange="files", regions=5, folder=tmp_path)
    source, sink, neighbor = volume()
    source[-1, 0, 0] += 1
    with pytest.raises(InvalidInputError, match="another problem"):
        preflow.distributed.grid_cut(source, sink, neighbor, exchange="files", regions=4, folder=tmp_path)


def test_files_of_a_sweep_that_was_not_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They go before the next process writes any, and files of others stay."""
    (tmp_path / "other.state").touch()

    def commit(self: files.Store, *arguments: Any) -> None:
        if self.folder.joinpath(files.MANIFEST).exists():
            raise OSError(errno.ENOSPC, "No space left on device")
        real(self, *arguments)

    real = files.Store.commit
    with monkeypatch.context() as patch:
        patch.setattr(files.Store, "commit", commit)
        with pytest.raises(OSError, match="No space"):
            preflow.distributed.grid_cut(*volume(), exchange="files", regions=4, folder=tmp_path)
    assert len(list(tmp_path.glob("region-*.state"))) > 4
    write, names = files.Store.write, []

    def first_write(self: files.Store, stem: str, arrays: Any) -> files.Entry:
        names.append(len(list(tmp_path.glob("region-*.state"))))
        return write(self, stem, arrays)

    monkeypatch.setattr(files.Store, "write", first_write)
    preflow.distributed.grid_cut(*volume(), exchange="files", regions=4, folder=tmp_path).verify()
    assert names[0] == 4
    assert {path.name for path in tmp_path.glob("*")} > {"other.state", files.MANIFEST}
    assert not list(tmp_path.glob("*.new"))


def twice_rounded() -> dict[str, Any]:
    """Return a grid of floats that is solved twice: the first unit is far above the capacity of the cut."""
    source, sink = np.zeros((2, 12, 12))
    source[0, 0], source[4, 4], sink[-1, -1] = 0.3, 0.1, 0.7
    neighbor = np.full((4, 12, 12), 1e-5)
    neighbor[:, 5:7, 5:7] = 1e12
    return {
        "source_capacity": source,
        "sink_capacity": sink,
        "neighbor_capacity": neighbor,
        "connectivity": 4,
    }


def test_floats_on_files_go_on_from_their_folders(tmp_path: Path) -> None:
    """Each rounding has a folder of its own."""
    expected = preflow.grid_cut(**twice_rounded())
    for _ in range(2):
        result = preflow.distributed.grid_cut(**twice_rounded(), exchange="files", regions=4, folder=tmp_path)
        result.verify()
        assert np.array_equal(result.labels, expected.labels)
    assert list(tmp_path.glob("rounded-1/*"))


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="is a file"):
        preflow.distributed.grid_cut(*volume(), exchange="files", folder=tmp_path / "file")


def test_ctrl_c_leaves_files_whole(tmp_path: Path) -> None:
    def interrupt(report: ProgressReport) -> None:
        raise KeyboardInterrupt

    rng = np.random.default_rng(0)
    shape = (40, 40, 40)
    arrays = rng.integers(0, 30, shape), rng.integers(0, 30, shape), 20
    with pytest.raises(KeyboardInterrupt):
        preflow.distributed.grid_cut(
            *arrays, exchange="files", regions=12, folder=tmp_path, progress=interrupt
        )
    result = preflow.distributed.grid_cut(*arrays, exchange="files", regions=12, folder=tmp_path)
    assert np.array_equal(result.labels, preflow.grid_cut(*arrays).labels)


@pytest.mark.parametrize("exchange", ["memory", "files"])
def test_a_time_limit_leaves_valid_bounds(exchange: str) -> None:
    rng = np.random.default_rng(0)
    shape = (50, 50, 50)
    arrays = rng.integers(0, 30, shape), rng.integers(0, 30, shape), 20
    expected = preflow.grid_cut(*arrays).value
    result = preflow.distributed.grid_cut(*arrays, exchange=exchange, regions=8, time_limit=1e-3)
    assert result.status == "time-limit"
    assert result.lower_bound <= expected <= result.upper_bound
    result.verify()


def test_progress_has_sweeps_and_bounds() -> None:
    reports: list[ProgressReport] = []
    rng = np.random.default_rng(0)
    shape = (50, 50, 50)
    preflow.distributed.grid_cut(
        rng.integers(0, 30, shape), rng.integers(0, 30, shape), 20, regions=8, progress=reports.append
    )
    assert all(0 <= report.settled <= 1 for report in reports)
    assert any(report.step for report in reports)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"exchange": "pigeons"}, "exchange must be 'memory', "),
        ({"memory": 10}, "belongs to exchange"),
        ({"memory": -1, "exchange": "files"}, "memory must be at least 1"),
        ({"regions": 0}, "regions must be at least 1"),
        ({"regions": (1, 2)}, "one for each of 3 axes"),
        ({"out": np.zeros((2, 2))}, "out has shape"),
        ({"connectivity": 5}, "connectivity is 6, 18 or 26"),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        preflow.distributed.grid_cut(*volume(), **arguments)


def test_wrong_capacities() -> None:
    source, sink, neighbor = volume()
    with pytest.raises(InvalidInputError, match="sink_capacity is missing"):
        preflow.distributed.grid_cut(source)
    with pytest.raises(InvalidInputError, match="one of them has the shape"):
        preflow.distributed.grid_cut(source, sink[:-1], neighbor)
    with pytest.raises(InvalidInputError, match="negative"):
        preflow.distributed.grid_cut(source, sink, neighbor - 5, regions=4)
    large = np.full((2, *SHAPE), 2**61)
    with pytest.raises(preflow.errors.CapacityOverflowError, match="between a pixel and its neighbours"):
        preflow.distributed.grid_cut(*large, 2**61, regions=4)
    with pytest.raises(preflow.errors.UnboundedFlowError):
        preflow.distributed.grid_cut(np.full(SHAPE, np.inf), np.full(SHAPE, np.inf), 1, regions=4)


@pytest.mark.parametrize("shape", [(0, 3), (2, 0, 4)])
@pytest.mark.parametrize("exchange", ["memory", "files"])
@pytest.mark.parametrize("periodic", [False, True])
def test_no_pixels(shape: tuple[int, ...], exchange: str, periodic: bool) -> None:
    result = preflow.distributed.grid_cut(
        np.zeros(shape), np.zeros(shape), 1, exchange=exchange, periodic=periodic
    )
    result.verify()
    assert (result.value, result.labels.shape) == (0, shape)


@pytest.mark.parametrize("exchange", ["memory", "files"])
def test_sums_that_do_not_fit_int64(exchange: str) -> None:
    """Floats are scaled to integers whose sums over a region pass int64."""
    rng = np.random.default_rng(0)
    difference = rng.normal(0, 8, (12, 12, 12)) / 3
    source, sink = np.maximum(difference, 0), np.maximum(-difference, 0)
    result = preflow.distributed.grid_cut(source, sink, 0.1, exchange=exchange, regions=3)
    expected = preflow.grid_cut(source, sink, 0.1)
    assert np.array_equal(result.labels, expected.labels)
    assert result.upper_bound - result.lower_bound < 1e-9
    result.verify()


@given(
    lengths=st.lists(st.integers(1, 7), min_size=1, max_size=3),
    seed=st.integers(0, 2**32),
    count=st.integers(1, 6),
)
def test_border_arcs_are_those_that_leave_a_box(lengths: list[int], seed: int, count: int) -> None:
    """Both boxes list the arcs between them in one order, and each arc once."""
    rng = np.random.default_rng(seed)
    shape = tuple(lengths)
    half = {tuple(row) for row in rng.integers(-3, 4, (3, len(shape))).tolist() if any(row)}
    half = {max(row, tuple(-step for step in row)) for row in half} | {(0,) * (len(shape) - 1) + (1,)}
    offsets = np.array([(row, [-step for step in row]) for row in sorted(half)], dtype=np.int64)
    offsets = offsets.reshape(-1, len(shape))
    boxes = divide(shape, count)
    owner = np.zeros(shape, dtype=int)
    for number, box in enumerate(boxes.boxes()):
        owner[box] = number
    for number in range(len(boxes.boxes())):
        found = border_of(boxes, number, offsets)
        arcs = {
            (d, *tail)
            for d, offset in enumerate(offsets.tolist())
            for tail in np.argwhere(owner == number).tolist()
            if all(0 <= t + o < n for t, o, n in zip(tail, offset, shape, strict=True))
            and owner[tuple(np.add(tail, offset))] != number
        }
        rows = [found.direction.tolist(), *(part.tolist() for part in found.tail)]
        assert sorted(zip(*rows, strict=True)) == sorted(arcs)
        for i, other in enumerate(found.neighbours):
            theirs = border_of(boxes, other, offsets)
            j = theirs.neighbours.index(number)
            mine, back = slice(*found.first[i : i + 2]), slice(*theirs.first[j : j + 2])
            assert np.array_equal(np.stack(found.head)[:, mine], np.stack(theirs.tail)[:, back])
            assert np.array_equal(found.direction[mine] ^ 1, theirs.direction[back])


def test_narrow_arrays_on_files(tmp_path: Path) -> None:
    """They are stored in pieces, and read as they were in memory."""
    store = files.Store(tmp_path)
    wide = np.arange(-30_000, 30_000, dtype=np.int32).repeat(5)
    state = {"wide": wide, "narrow": Narrow(wide, np.dtype(np.int16)), "none": np.zeros((0, 3))}
    entry = store.write("region", state.items())
    again = store.read(entry)
    assert (tmp_path / entry.name).stat().st_size < wide.nbytes * 3 // 2 + 200
    for name, expected in (("wide", wide), ("narrow", wide), ("none", state["none"])):
        assert np.array_equal(again[name], expected)
        assert again[name].dtype == expected.dtype
        assert again[name].flags.writeable


class CountingFile(FileIO):
    """A file that counts the bytes that are written to it."""

    written = 0

    def write(self, data: Any) -> int:
        """Write some bytes, and count them."""
        self.written += len(data)
        return super().write(data)


def test_pieces_that_a_file_has_are_not_written_again(tmp_path: Path) -> None:
    """A piece is left as it is if the file has its bytes at this place already."""
    values = np.random.default_rng(0).integers(0, 99, files.PIECE + 7, dtype=np.int16)
    changed = values.copy()
    changed[5] += 1
    with CountingFile(tmp_path / "a", "w+b") as file:
        pieces = None
        for place, array, bytes_written in (
            (0, values, values.nbytes),
            (0, values, 14),
            (0, changed, files.PIECE + 14),
            (0, changed[: files.PIECE], 0),
            (0, changed[: files.PIECE // 2 + 3], 6),
            (4, changed, changed.nbytes),
        ):
            file.seek(place)
            file.written = 0
            pieces = files.write_array(file, array, array.dtype, pieces)
            assert file.written == bytes_written
            assert file.tell() == place + array.nbytes
            file.seek(place)
            found = np.empty_like(array)
            assert files.read_array(file, found, array.dtype) == files.sum_of_pieces(pieces.sums)
            assert np.array_equal(found, array)


def test_files_are_written_over(tmp_path: Path) -> None:
    """Files of two states take turns; arrays may come, go and change."""
    store, rng = files.Store(tmp_path), np.random.default_rng(0)
    before: files.Entry | None = None
    state: dict[str, NDArray[Any]] = {"a": np.zeros(files.PIECE, np.int32), "b": np.arange(9)}
    for step in range(12):
        state["a"][rng.integers(0, len(state["a"]), 2)] += 1
        if step == 6:
            state = {"first": np.arange(3), **state}
        if step == 9:
            del state["first"]
        entry = store.write("region-0", state.items())
        again = store.read(entry)
        for name, expected in state.items():
            assert np.array_equal(again[name], expected)
        if before is not None:
            store._old["region-0"] = tmp_path / before.name
        before = entry
    assert len(list(tmp_path.iterdir())) == 2


def test_arrays_of_regions_are_taken_again() -> None:
    """Those of about the right size; one that is a little too small goes."""
    large = np.zeros(files.SMALLEST_SPARE, dtype=np.int32)
    spares = files.Spares()
    spares.give(
        {"large": large[:-1], "small": np.zeros(9), "narrow": Narrow(large.copy(), np.dtype(np.int8))}
    )
    assert spares.take(len(large), np.dtype(np.int64)).dtype == np.int64
    assert len(spares.take(5, large.dtype)) == 5
    taken = [spares.take(len(large) - 9, large.dtype) for _ in range(3)]
    assert [array.base is None for array in taken] == [False, False, True]
    spares.give({"large": large})
    assert spares.take(len(large) + 1, large.dtype).base is None
    assert spares.take(len(large), large.dtype).base is None


def test_mapped_files_are_mapped_for_each_box(tmp_path: Path) -> None:
    """A slice of a mapped file is read as it is, a whole file by a map of its own."""
    values = np.arange(60, dtype=np.int16).reshape(3, 4, 5)
    np.save(tmp_path / "a.npy", np.asfortranarray(values))
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r")
    again = mapped_again(mapped)
    assert again is not mapped
    assert np.array_equal(again[1:, :2], values[1:, :2])
    assert mapped_again(mapped[1:]) is not None
    part = mapped[1:]
    assert mapped_again(part) is part
    copied = np.load(tmp_path / "a.npy", mmap_mode="c")
    copied[0, 0, 0] = 7
    assert mapped_again(copied)[:1, :1, :1] == 7


@pytest.mark.parametrize("piece", [1, 50, 200, 10**6])
@pytest.mark.parametrize("order", ["C", "F"])
def test_parts_of_mapped_files(
    piece: int, order: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grid_source, "PIECE", piece)
    values = np.arange(3 * 4 * 5 * 6, dtype=np.int16).reshape(3, 4, 5, 6, order=order)
    for name, array in (("all", values), ("line", values.ravel())):
        np.save(tmp_path / f"{name}.npy", array)
    mapped = np.load(tmp_path / "all.npy", mmap_mode="r")
    for box in ((0, 3, 0, 4, 0, 5, 0, 6), (1, 2, 1, 3, 2, 5, 0, 1), (0, 3, 2, 4, 1, 1, 0, 6)):
        part = tuple(slice(*ends) for ends in zip(box[::2], box[1::2], strict=True))
        assert np.array_equal(read_part(mapped, part), values[part])
    line = np.load(tmp_path / "line.npy", mmap_mode="r")
    assert np.array_equal(read_part(line, (slice(7, 300),)), values.ravel()[7:300])


def test_masked_capacities_are_refused() -> None:
    whole = np.arange(12).reshape(3, 4)
    with pytest.raises(InvalidInputError, match="masked array"):
        preflow.distributed.grid_cut(np.ma.masked_equal(whole, 5), whole, 1, regions=2)


def region_results(tmp_path: Path) -> Iterator[Any]:
    """Yield results of regions on each host that is here, of integers and of floats."""
    rng = np.random.default_rng(8)
    terminal, neighbor = rng.integers(-9, 10, (9, 8)), rng.integers(0, 5, (4, 9, 8))
    for scale in (1, 0.1):
        grid = np.maximum(terminal, 0) * scale, np.maximum(-terminal, 0) * scale, neighbor * scale
        arcs = (*rng.integers(0, 20, (2, 90)), rng.integers(0, 9, 90) * scale)
        for i, options in enumerate(
            ({}, {"exchange": "files"}, {"exchange": "files", "folder": tmp_path / f"{scale}"})
        ):
            yield preflow.distributed.grid_cut(*grid, connectivity=8, regions=3, **options)
            if i == 2:
                options["folder"] = tmp_path / f"network-{scale}"
            yield preflow.distributed.min_cut(arcs, 0, 19, partition=np.arange(20) // 7, **options)


def test_results_are_copied_with_their_proofs(tmp_path: Path) -> None:
    for result in region_results(tmp_path):
        for copied in (pickle.loads(pickle.dumps(result)), copy.deepcopy(result), copy.copy(result)):
            copied.verify()
            result.verify()
            assert (copied.value, repr(copied)) == (result.value, repr(result))
            assert pickle.loads(pickle.dumps(copied)).verify() is None
            for name, wrong in (
                ("status", "garbage"),
                ("lower_bound", result.lower_bound - 1),
                ("lower_bound", -(2**62)),
                ("upper_bound", float("nan")),
                ("upper_bound", result.upper_bound + 1),
                ("_gap", -1),
                ("_gap", float("nan")),
                ("regions", 7),
                ("sweeps", -1),
                ("_turn", None),
                ("_unit", None),
                ("shape" if hasattr(result, "shape") else "sink_side", (3,)),
                ("labels" if hasattr(result, "labels") else "sink_side", ~side_of(result)),
            ):
                with pytest.raises(VerificationError):
                    dataclasses.replace(copied, **{name: wrong}).verify()


def side_of(result: Any) -> Any:
    return result.labels if hasattr(result, "labels") else result.sink_side


def test_a_copy_of_a_result_whose_regions_are_gone_says_so() -> None:
    exchange = MemoryExchange(1)
    first = preflow.distributed.grid_cut(*volume(), exchange=exchange, regions=2)
    preflow.distributed.grid_cut(*volume(1), exchange=exchange, regions=2)
    for result in (first, pickle.loads(pickle.dumps(first))):
        with pytest.raises(InvalidInputError, match="has solved another problem since"):
            result.verify()


def test_no_warning_under_w_error() -> None:
    """Temporary folders are removed where they are no longer needed, and no cast warns."""
    code = """
import gc, numpy as np, preflow
for scale in (1, 0.5):
    grid = np.eye(6) * scale, np.eye(6)[::-1] * scale, scale
    result = preflow.distributed.grid_cut(*grid, exchange="files", regions=3)
    result.verify()
    del result
    gc.collect()
for huge in (1e9, 1e300):
    result = preflow.distributed.grid_cut(
        [1e-9, 1e-9], [huge, 1e-9], np.array([[1e-9, 1e-300], [1e-9, 1e-9], [0, huge], [1e-9, 0]]),
        connectivity=[(1,), (2,)], regions=3,
    )
    result.verify()
    np.testing.assert_array_equal(result.labels, preflow.grid_cut(
        [1e-9, 1e-9], [huge, 1e-9], np.array([[1e-9, 1e-300], [1e-9, 1e-9], [0, huge], [1e-9, 0]]),
        connectivity=[(1,), (2,)]).labels)
"""
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def energies(source: AnyArray, sink: AnyArray, neighbor: AnyArray) -> Iterator[tuple[Fraction, Fraction]]:
    """Yield for each labelling the exact sum of its terms, and that of their absolute values."""
    pixels = list(np.ndindex(source.shape))
    for sides in itertools.product([False, True], repeat=len(pixels)):
        label = dict(zip(pixels, sides, strict=True))
        terms = [float((sink if label[pixel] else source)[pixel]) for pixel in pixels]
        for (i, j), (direction, step) in itertools.product(pixels, enumerate([(0, 1), (1, 0)])):
            there = (i + step[0], j + step[1])
            if there in label and label[i, j] != label[there]:
                terms.append(float(neighbor[direction, i, j]))
        yield sum(map(Fraction, terms), Fraction(0)), sum(map(abs, map(Fraction, terms)), Fraction(0))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("huge", [1e7, 1e17, -1e30, "largest", "subnormal"])
def test_one_huge_capacity_beside_negative_ones(huge: Any, dtype: type[np.floating[Any]]) -> None:
    """Regions of floats are as right as the whole grid, whatever one capacity is."""
    limits = np.finfo(dtype)
    huge = {"largest": float(limits.max), "subnormal": float(limits.smallest_subnormal)}.get(huge, huge)
    rng = np.random.default_rng(6)
    for k in range(12):
        source, sink = rng.normal(size=(2, 2, 3)).astype(dtype)
        neighbor = rng.random((2, 2, 3)).astype(dtype)
        source[0, 0], sink[1, 2] = abs(huge), huge
        if k % 2 and abs(huge) > 1:
            neighbor[:, 1] = neighbor[0, :, 1] = abs(huge)  # those at a pixel may sum past the dtype
        result = preflow.distributed.grid_cut(source, sink, neighbor, regions=(1 + k % 2, 3))
        assert result.status == "optimal"
        result.verify()
        best, size = min(energies(source, sink, neighbor))
        lesser = np.minimum(source, sink).ravel().tolist()
        most = Fraction(2.0**-18 if dtype == np.float32 else 2.0**-38) * max(
            size, sum(map(abs, map(Fraction, lesser)), Fraction(0))
        )
        assert abs(Fraction(result.value) - best) <= Fraction(result.gap) <= most + Fraction(1e-300)
        whole = preflow.grid_cut(source, sink, neighbor)
        assert whole.status == "optimal"
        assert abs(Fraction(whole.value) - best) <= most
