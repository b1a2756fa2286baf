"""Regions on files: two in memory at a time, and a checkpoint after every sweep.

A region is loaded, discharges, and is written to another file. The borders of all regions stay in memory. At
the end of a sweep the manifest ``regions.json`` is replaced in one step by one that names the new files; only
then the old files are written over. So the folder has a complete state at every moment, of the last sweep or
of this one, and a process that is killed goes on from there.

The next region to discharge is the one where most flow has arrived. Regions that are in memory together
discharge at the same time; the next ones already see their labels and flow. The border is searched after each
discharge. All of that takes fewer loads than to discharge regions in order. While a region has excess that
can move, regions without wait: only their labels could change.
"""

from __future__ import annotations

import ctypes
import json
import math
import os
import re
import shutil
import stat
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import xxhash
from numpy.typing import NDArray

from ..arrays import Array, DType
from ..errors import InvalidInputError, ParseError, StorageError, VerificationError
from ..solving.run import Control
from .exchange import (
    CHANGING,
    CHOSEN,
    INFINITE,
    REMADE,
    Answer,
    Message,
    Narrow,
    Order,
    Region,
    RegionTask,
    Report,
    State,
    Worker,
    check_flows,
    checksum,
)
from .sweeps import relabel

#: Version of the files. A folder of another version is refused.
FORMAT = 7
MANIFEST = "regions.json"
#: The names of the files of states end with this; the folder may have other files with this ending.
SUFFIX = ".state"
OWN_NAME = re.compile(rf"(region-\d+|borders)-\d+\{SUFFIX}")
#: Bytes that are written or read at once: they stay in a core's cache while their checksum is computed.
PIECE = 1 << 18
#: Sweeps from this one on send flow over any number of borders: labels are searched so often here that they
#: are good early. Balls, vessels and a brain took 5 to 15 % fewer discharges than with limits that double.
FIRST_COMPLETE = 2
#: Smaller arrays are not kept for the next region.
SMALLEST_SPARE = 1 << 20

#: Sweeps and files that a checkpoint may have.
MOST_SWEEPS = 1 << 62
#: Errors that content raises which is not what was written.
DAMAGE = (ValueError, TypeError, KeyError, OverflowError, RecursionError, MemoryError, ZeroDivisionError)

Item = TypeVar("Item")


class Kept(NamedTuple):
    """An array in a file."""

    shape: tuple[int, ...]
    #: its dtype in memory, and that in the file
    dtype: str
    stored: str
    begin: int  #: the first of its bytes in the file
    checksum: int


class Pieces(NamedTuple):
    """The pieces of an array in a file."""

    begin: int  #: the first byte in the file
    #: the checksum of each piece of `PIECE` bytes; the last one may be shorter
    sums: NDArray[np.uint64]


class Entry(NamedTuple):
    """A file with arrays: its name in the folder, and its arrays by name."""

    name: str
    arrays: dict[str, Kept]

    @classmethod
    def of(cls, name: object, arrays: object) -> Entry:
        """Return an entry that was read from JSON; raise ValueError or TypeError if it is none."""
        if not isinstance(name, str) or OWN_NAME.fullmatch(name) is None or not isinstance(arrays, dict):
            raise ValueError(f"{name!r} is no file with states of regions")
        return cls(name, {each: _kept(*values) for each, values in arrays.items()})

    def check_forms(self, expected: Mapping[str, Form]) -> None:
        """Raise ValueError unless the file has arrays with just these names and forms."""
        if set(self.arrays) != set(expected):
            raise ValueError(f"{self.name} has other arrays than it should have")
        longest = max((math.prod(form.shape) for form in expected.values()), default=0)
        for name, form in expected.items():
            kept = self.arrays[name]
            fits = kept.dtype == form.dtype and kept.shape == form.shape
            if name in CHOSEN:
                fits = kept.dtype == form.dtype and len(kept.shape) == 1 and kept.shape[0] <= longest
            if not (fits or name in REMADE) or form.content not in (None, (kept.stored, kept.checksum)):
                raise ValueError(f"array {name!r} of {self.name} is not that of this problem")

    def without(self, names: Iterable[str]) -> Entry:
        """Return an entry whose arrays of these names have no entries."""
        nothing = sum_of_pieces(np.zeros(0, dtype=np.uint64))
        known = [name for name in names if name in self.arrays]
        empty = {name: self.arrays[name]._replace(shape=(0,), checksum=nothing) for name in known}
        return self._replace(arrays=self.arrays | empty)


def _kept(shape: list[int], dtype: str, stored: str, begin: int, checksum: int) -> Kept:
    """Return the description of an array that was read from JSON; raise ValueError if it is none."""
    for each in (*shape, begin, checksum):
        if type(each) is not int or each < 0:
            raise ValueError(f"{each!r} is no size")
    if any(np.dtype(each).kind not in "iub" or not isinstance(each, str) for each in (dtype, stored)):
        raise ValueError(f"{dtype!r} or {stored!r} is no type of integers")
    return Kept(tuple(shape), dtype, stored, begin, checksum)


class Form(NamedTuple):
    """The form that an array of a region has."""

    shape: tuple[int, ...]
    dtype: str
    #: its dtype in the file and its checksum, of an array that the problem determines
    content: tuple[str, int] | None = None


def forms_of(region: Region) -> dict[str, Form]:
    """Return the forms of the arrays of a region that was built."""
    forms = {}
    for name, values in region.state().items():
        wide, dtype = values if isinstance(values, Narrow) else (values, values.dtype)
        is_known = name not in CHANGING + REMADE + CHOSEN
        content = (dtype.str, sum_of_pieces(_sums_of(wide, dtype))) if is_known else None
        forms[name] = Form(wide.shape, wide.dtype.str, content)
    return forms


def _sums_of(values: Array, stored: DType) -> NDArray[np.uint64]:
    """Return the checksums of the pieces of an array as they are stored."""
    flat = np.ascontiguousarray(values).reshape(-1).astype(stored, copy=False)
    step = PIECE // stored.itemsize
    pieces = (flat[begin : begin + step] for begin in range(0, len(flat), step))
    return np.array([xxhash.xxh3_64_intdigest(each.view(np.uint8).data) for each in pieces], dtype=np.uint64)


class Manifest(NamedTuple):
    """The content of the manifest: it describes all files, which have nothing but the bytes of arrays."""

    sweeps: int
    regions: list[Entry]  #: the file of each region
    borders: Entry  #: the file of all borders
    sums: list[int]  #: the checksum of each region's part of the problem


@contextmanager
def storing(place: Path | str) -> Iterator[None]:
    """Raise StorageError where the system raises OSError."""
    try:
        yield
    except OSError as error:
        raise StorageError(f"{place}: {error.strerror or error}") from error


def create(path: Path) -> FileIO:
    """Open a new file for writing; whatever has its name goes, and a link is not followed."""
    path.unlink(missing_ok=True)
    return FileIO(path, "xb")


def open_regular(path: Path) -> FileIO:
    """Open a regular file for reading; raise ValueError where it is a link, a pipe or a device."""
    flags = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    file = FileIO(path, opener=lambda name, mode: os.open(name, mode | flags))
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise ValueError("it is no regular file")
    return file


def replace_manifest(path: Path, version: int, content: Mapping[str, object]) -> None:
    """Replace a manifest in one step: a line with its version and the checksum of the rest, then the rest."""
    rest = json.dumps(content).encode()
    first = json.dumps({"format": version, "checksum": xxhash.xxh3_64_intdigest(rest)}).encode()
    fresh = path.with_suffix(".new")
    try:
        with create(fresh) as file:
            file.write(first + b"\n" + rest)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    except BaseException:
        with suppress(OSError):
            fresh.unlink()
        raise


def read_manifest(path: Path, version: int) -> bytes | None:
    """Return the content of a manifest as JSON, None where there is none.

    ParseError: it is damaged or of another version. StorageError: it cannot be read.
    """
    try:
        with open_regular(path) as file:
            first, _, rest = file.readall().partition(b"\n")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror}") from error
    except (ValueError, MemoryError) as error:
        raise ParseError(path, None, f"damaged checkpoint: {error}") from error
    try:
        head = json.loads(first)
        found = head["format"]
        if found == version and head["checksum"] != xxhash.xxh3_64_intdigest(rest):
            raise ValueError("the checksum is wrong")
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ParseError(path, None, f"damaged checkpoint: {error}") from error
    if found != version:
        raise ParseError(path, None, f"format {found}, but this version of preflow reads {version}")
    return rest


class Spares:
    """Arrays of regions that have been unloaded: the next regions take them, which spares the system's pages.

    New pages took a sixth of the time of a solve. Threads may share one.
    """

    def __init__(self) -> None:
        self._free: list[Array] = []
        self._lock = threading.Lock()

    def take(self, length: int, dtype: DType) -> Array:
        """Return an array with any content."""
        small = length * dtype.itemsize < SMALLEST_SPARE
        with self._lock:
            known = [] if small else [i for i, array in enumerate(self._free) if array.dtype == dtype]
            nearest = min(known, key=lambda i: abs(len(self._free[i]) - length), default=None)
            if nearest is None or not length <= 2 * len(self._free[nearest]) <= 4 * length:
                return np.empty(length, dtype)
            # One that is too small goes: no more arrays than before are in memory.
            taken = self._free.pop(nearest)
        return taken[:length] if length <= len(taken) else np.empty(length, dtype)

    def give(self, state: State) -> None:
        """Keep the arrays of a region; nothing else may refer to them."""
        arrays = [values.values if isinstance(values, Narrow) else values for values in state.values()]
        with self._lock:
            for array in arrays:
                owner = array if array.base is None else array.base
                if isinstance(owner, np.ndarray) and owner.ndim == 1 and owner.nbytes >= SMALLEST_SPARE:
                    self._free.append(owner)


class Store:
    """A folder with the states of regions; it is made if it is not there.

    StorageError if it is a file, or cannot be made or written to.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.spares = Spares()
        self._serial = 0
        #: Files that no manifest names, by stem: the next states are written over them.
        self._old: dict[str, Path] = {}
        #: The checksums of the pieces of each array, by the names of files that this object has written.
        self._pieces: dict[str, list[Pieces]] = {}
        if folder.exists() and not folder.is_dir():
            raise StorageError(f"{folder} is a file, and the states of regions need a folder")
        with storing(folder):
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()

    def read_manifest(self, problem: object) -> Manifest | None:
        """Return the manifest, None where there is none.

        ParseError: the manifest is damaged or of another version. InvalidInputError: it belongs to another
        problem. StorageError: it cannot be read.
        """
        text = read_manifest(self.folder / MANIFEST, FORMAT)
        if text is None:
            return None
        with self.damage():
            content = json.loads(text)
            if content["problem"] != json.loads(json.dumps(problem)):
                raise self.of_another_problem()
            serial, sweeps, sums = (content[name] for name in ("serial", "sweeps", "sums"))
            if not all(type(each) is int and 0 <= each < MOST_SWEEPS for each in (serial, sweeps)):
                raise ValueError(f"{sweeps!r} or {serial!r} is no number of sweeps or files")
            regions = [Entry.of(*each) for each in content["regions"]]
            found = Manifest(sweeps, regions, Entry.of(*content["borders"]), list(sums))
        self._serial = serial
        return found

    @contextmanager
    def damage(self) -> Iterator[None]:
        """Raise ParseError where what was read is not what was written."""
        try:
            yield
        except (InvalidInputError, StorageError):
            raise
        except DAMAGE as error:
            raise ParseError(self.folder / MANIFEST, None, f"damaged checkpoint: {error}") from error

    def of_another_problem(self) -> InvalidInputError:
        """Return the error that says so."""
        return InvalidInputError(
            f"{self.folder} has the checkpoint of another problem or of other regions: use another folder"
        )

    def write(self, stem: str, arrays: Iterable[tuple[str, Array | Narrow]]) -> Entry:
        """Write the bytes of arrays to a file of a new name.

        It takes the place of an old file with the same stem: new pages of the system's cache cost as much as
        to write to them. What the old file has already is not written again: late sweeps change little.
        """
        self._serial += 1
        path, kept = self.folder / f"{stem}-{self._serial}{SUFFIX}", {}
        old = self._old.pop(stem, None)
        if old is not None and not _is_own(old):
            with storing(old):
                old.unlink(missing_ok=True)
            old = None
        before = iter([] if old is None else self._pieces.pop(old.name, []))
        pieces = self._pieces[path.name] = []
        with storing(path):
            try:
                if old is not None:
                    old.replace(path)
                with create(path) if old is None else path.open("r+b", buffering=0) as file:
                    for name, values in arrays:
                        wide, dtype = values if isinstance(values, Narrow) else (values, values.dtype)
                        begin = file.tell()
                        pieces.append(write_array(file, wide, dtype, next(before, None)))
                        found = sum_of_pieces(pieces[-1].sums)
                        kept[name] = Kept(wide.shape, wide.dtype.str, dtype.str, begin, found)
                    file.truncate()
            except BaseException:
                del self._pieces[path.name]
                with suppress(OSError):
                    path.unlink()
                raise
        return Entry(path.name, kept)

    def write_borders(self, borders: Iterable[tuple[int, Mapping[str, Array]]]) -> Entry:
        """Write the arrays of the borders of regions, given with their numbers, to a file."""
        each = ((number, state.items()) for number, state in borders)
        return self.write("borders", ((f"{i}.{name}", values) for i, items in each for name, values in items))

    def read(self, entry: Entry) -> StoredState:
        """Return the arrays of a file; each is read when it is asked for."""
        return StoredState(self.folder / entry.name, entry.arrays, self.spares)

    def commit(self, problem: object, manifest: Manifest) -> None:
        """Replace the manifest; files that it does not name may be written over or deleted then."""
        content = {"problem": problem, "serial": self._serial, **manifest._asdict()}
        path = self.folder / MANIFEST
        with storing(path):
            replace_manifest(path, FORMAT, content)
        for stem, path in self._others([*manifest.regions, manifest.borders]):
            if self._old.setdefault(stem, path) != path:
                with storing(path):
                    path.unlink()
                self._pieces.pop(path.name, None)

    def clear(self, kept: Sequence[Entry]) -> None:
        """Delete the files of states that are not in `kept`."""
        for _, path in self._others(kept):
            with storing(path):
                path.unlink()

    def _others(self, kept: Sequence[Entry]) -> Iterator[tuple[str, Path]]:
        """Yield the stems and the files of states that are not in `kept`."""
        names = {entry.name for entry in kept}
        with storing(self.folder):
            paths = list(self.folder.glob(f"*{SUFFIX}"))
        for path in paths:
            found = OWN_NAME.fullmatch(path.name)
            if found is not None and path.name not in names:
                yield found[1], path

    def release(self) -> None:
        """Delete old files, and forget the arrays that were kept for the next region."""
        self.spares = Spares()
        for path in self._old.values():
            with suppress(OSError):
                path.unlink()
        self._old, self._pieces = {}, {}


class StoredState(Mapping[str, Array]):
    """The arrays of a file, which are read and compared with their checksums when they are asked for.

    Raises
    ------
    ParseError
        The file is damaged or missing.
    """

    def __init__(self, path: Path, arrays: Mapping[str, Kept], spares: Spares) -> None:
        self._path, self._arrays, self._spares = path, arrays, spares

    def __getitem__(self, name: str) -> Array:
        """Read an array."""
        kept = self._arrays[name]
        try:
            length, stored = math.prod(kept.shape), np.dtype(kept.stored)
            with open_regular(self._path) as file:
                if kept.begin + length * stored.itemsize > os.fstat(file.fileno()).st_size:
                    raise ValueError("the file is too short")
                values = self._spares.take(length, np.dtype(kept.dtype))
                file.seek(kept.begin)
                found = read_array(file, values, stored)
        except (OSError, *DAMAGE) as error:
            raise ParseError(self._path, None, f"damaged checkpoint: {error}") from error
        if found != kept.checksum:
            raise ParseError(self._path, None, "damaged checkpoint: the checksum is wrong")
        return values.reshape(kept.shape)

    def __iter__(self) -> Iterator[str]:
        """Yield the names."""
        return iter(self._arrays)

    def __len__(self) -> int:
        """Return the number of arrays."""
        return len(self._arrays)


class _Built(NamedTuple):
    """A region of the problem as it is before it is solved."""

    checksum: int
    #: those of its arrays, and of the arrays of its border
    forms: dict[str, Form]
    border: dict[str, Form]


#: Most threads that search a new region. The queues of each are pages of up to 2 MB. At 160^3 with a limit of
#: 120 MB the peak is 49 MB on 2 threads for two regions, 55 MB on 4 and 79 MB on 16.
MOST_INSIDE = 8


class FileExchange:
    """Regions on files, `together` of them in memory at a time, each with a thread.

    `folder` is where the states are stored. If it has a checkpoint of the same problem, the solve goes on
    from there, and `resumed_from` is its manifest. None: a new temporary folder, which is deleted with the
    exchange. `problem`, anything that JSON can write, says which problem this is. The manifest also has a
    checksum of each region's capacities, so they are read again before a solve goes on. If there are more
    `threads` than regions together, several search a new region, up to MOST_INSIDE. `sweeps` are done, and
    `loads` says how often a region was loaded in this process.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str] | None,
        problem: object,
        together: int = 2,
        threads: int = 1,
    ) -> None:
        self.sweeps = self.loads = 0
        self.resumed_from: Path | None = None
        if folder is None:
            with storing(Path(tempfile.gettempdir())):
                folder = tempfile.mkdtemp(prefix="preflow-regions-")
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self._store = Store(Path(folder))
        self._problem, self._together, self._threads = problem, together, threads
        self._workers: list[Worker] = []
        self._entries: list[Entry] = []
        self._sums: list[int] = []
        self._control = Control()

    def scatter(self, tasks: Sequence[RegionTask], control: Control) -> list[Report]:
        """Go on from the checkpoint of the folder; or read the regions, which augment to the sink at once."""
        self._control = control
        found = self._store.read_manifest(self._problem)
        if found is not None:
            self.resumed_from = self._store.folder / MANIFEST
            self.sweeps, self._entries, borders, self._sums = found
            self._check_files(tasks, borders)
            # A sweep that was not completed has left files, and the disk may be full of them.
            self._store.clear([*self._entries, borders])
            states = self._store.read(borders)
            for task in tasks:
                region = task.empty()
                region.unload()
                self._workers.append(Worker(task.number, region))
                self._workers[-1].restore(border_in(states, task.number))
            try:
                check_flows(self, control)
            except VerificationError as error:
                message = f"damaged checkpoint: {error}"
                raise ParseError(self.resumed_from, None, message) from error
            return [worker.report() for worker in self._workers]
        self._store.clear([])
        self._entries, self._sums = [Entry("", {})] * len(tasks), [0] * len(tasks)
        self._workers = self._in_turn(self._begin, tasks)
        # The first discharges were to the sink alone.
        for worker in self._workers:
            near = worker.border.neighbours
            worker.fuse({other: self._workers[other].idle_message(worker.number) for other in near})
        return self._end_of_sweep()

    def _check_files(self, tasks: Sequence[RegionTask], borders: Entry) -> None:
        """Compare the files of a checkpoint with the problem, before any of their arrays is used.

        InvalidInputError: they belong to another problem. ParseError: the manifest describes arrays that no
        solve of this problem writes.
        """
        built = self._in_turn(self._built, tasks)
        if [each.checksum for each in built] != self._sums:
            raise self._store.of_another_problem()
        with self._store.damage():
            if len(self._entries) != len(tasks):
                raise ValueError(f"it has {len(self._entries)} regions, the problem has {len(tasks)}")
            for entry, each in zip(self._entries, built, strict=True):
                entry.check_forms(each.forms)
            borders.check_forms(
                {f"{i}.{name}": form for i, each in enumerate(built) for name, form in each.border.items()}
            )
        self._entries = [entry.without(REMADE) for entry in self._entries]

    def sweep(self, order: Order) -> list[Report]:
        """Discharge regions, a few at a time, and search the border again after each of them."""
        limit = order.limit if self.sweeps < FIRST_COMPLETE else INFINITE
        for worker in self._workers:
            worker.raise_labels(order.raised)
        waiting = list(self._workers if self.sweeps % 2 else self._workers[::-1])
        urgent = any(worker.is_active or worker.is_waiting for worker in waiting)
        while True:
            ready = [
                worker
                for worker in waiting
                if (worker.is_active or worker.is_waiting or not urgent) and worker.is_ready(limit)
            ]
            if not ready:
                return self._end_of_sweep()
            batch = self._batch(ready)
            waiting = [worker for worker in waiting if worker not in batch]
            self._discharge(batch, limit)
            raised = relabel([worker.report() for worker in self._workers])
            for worker in self._workers:
                worker.raise_labels(raised)

    def _batch(self, ready: Sequence[Worker]) -> list[Worker]:
        """Return the regions to discharge next: those where most flow has arrived.

        Neighbours are not discharged together if there are others.
        """
        batch: list[Worker] = []
        left = sorted(ready, key=lambda worker: -worker.arrived)
        while left and len(batch) < self._together:
            near = {neighbour for worker in batch for neighbour in worker.border.neighbours}
            batch.append(next((worker for worker in left if worker.number not in near), left[0]))
            left.remove(batch[-1])
        return batch

    def collect(self, ask: Callable[[Worker], Answer]) -> Iterator[Answer]:
        """Yield an answer of each worker; one is loaded at a time."""
        for worker in self._workers:
            self._load(worker)
            try:
                answer = ask(worker)
            finally:
                worker.region.unload()
            yield answer

    def state_of(self, number: int) -> Mapping[str, Array]:
        """Return the arrays of a region."""
        return self._store.read(self._entries[number])

    def close(self) -> None:
        """Delete old files; a result needs the others for its proof."""
        self._store.release()

    def _discharge(self, batch: Sequence[Worker], limit: int) -> None:
        """Discharge some regions at the same time, and tell their neighbours."""

        def run(worker: Worker) -> dict[int, Message]:
            self._load(worker)
            messages = worker.augment(limit, self._control)
            self._store.spares.give(self._save(worker))
            return messages

        sent = dict(zip([worker.number for worker in batch], self._in_turn(run, batch), strict=True))
        for worker in batch:
            for other in worker.border.neighbours:
                if other not in sent:
                    reply = self._workers[other].idle_message(worker.number)
                    self._workers[other].fuse({worker.number: sent[worker.number][other]})
                    worker.fuse({other: reply})
                else:
                    worker.fuse({other: sent[other][worker.number]})

    def _begin(self, task: RegionTask) -> Worker:
        worker = Worker(task.number, task.build())
        self._sums[task.number] = checksum(worker.region)
        self.loads += 1
        threads = min(MOST_INSIDE, max(1, self._threads // self._together))
        worker.augment(0, Control(threads, self._control.stop))
        self._save(worker)
        return worker

    def _built(self, task: RegionTask) -> _Built:
        """Read a region's part of the problem, and describe it."""
        self._control.check_wanted()
        region = task.build()
        worker = Worker(task.number, region)
        border = {name: Form(values.shape, values.dtype.str) for name, values in worker.state().items()}
        found = _Built(checksum(region), forms_of(region), border)
        return_freed_memory()
        return found

    def _in_turn(self, function: Callable[[Item], Answer], items: Sequence[Item]) -> list[Answer]:
        """Call a function for each item, `together` at a time."""
        if self._together == 1 or len(items) <= 1:
            return [function(item) for item in items]
        with ThreadPoolExecutor(self._together, thread_name_prefix="preflow-region") as pool:
            return list(pool.map(function, items))

    def _load(self, worker: Worker) -> None:
        worker.region.restore(self._store.read(self._entries[worker.number]))
        self.loads += 1

    def _save(self, worker: Worker) -> State:
        """Write a region to a new file and unload it; return the arrays, which nothing refers to any more.

        A solve that nobody waits for any more ends here.
        """
        self._control.check_wanted()
        state = worker.region.state()
        self._entries[worker.number] = self._store.write(f"region-{worker.number}", state.items())
        worker.region.unload()
        return_freed_memory()
        return state

    def _end_of_sweep(self) -> list[Report]:
        self._control.check_wanted()
        self.sweeps += 1
        borders = self._store.write_borders((each.number, each.state()) for each in self._workers)
        self._store.commit(self._problem, Manifest(self.sweeps, self._entries, borders, self._sums))
        return [worker.report() for worker in self._workers]


def _is_own(path: Path) -> bool:
    """Return whether a file can be written over: it is regular, and has no other name."""
    try:
        found = path.lstat()
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_nlink == 1


def folder_of(folder: str | os.PathLike[str] | None, attempt: int) -> Path | None:
    """Return where the `attempt`-th solve of a call stores its states, from 0.

    Floats may be solved twice, rounded in two ways. The second solve has other states.
    """
    if folder is None:
        return None
    return Path(folder, f"rounded-{attempt}") if attempt else Path(folder)


def return_freed_memory() -> None:
    """Return memory that was freed to the system, where the C library keeps it and can be told: in glibc.

    Without this, what a thread has freed stays with it, and two threads kept twice what their regions need.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None
    if trim is not None:
        trim(0)


def sum_of_pieces(sums: NDArray[np.uint64]) -> int:
    """Return the checksum of an array from those of its pieces."""
    return xxhash.xxh3_64_intdigest(sums.data)


def write_array(file: FileIO, values: Array, stored: DType, old: Pieces | None) -> Pieces:
    """Write the bytes of an array in a dtype, but for pieces that the file has there from an `old` one."""
    flat, begun, sums = np.ascontiguousarray(values).reshape(-1), file.tell(), []
    known = old.sums if old is not None and old.begin == begun else np.zeros(0, dtype=np.uint64)
    step = PIECE // stored.itemsize
    room = np.empty(0 if values.dtype == stored else min(step, len(flat)), stored)
    for begin in range(0, len(flat), step):
        piece = part = flat[begin : begin + step]
        if part.dtype != stored:
            piece = room[: len(part)]
            np.copyto(piece, part, casting="unsafe")
        left = piece.view(np.uint8).data
        sums.append(xxhash.xxh3_64_intdigest(left))
        if len(sums) <= len(known) and known[len(sums) - 1] == sums[-1] and len(left) == PIECE:
            file.seek(PIECE, os.SEEK_CUR)
            continue
        while left:
            left = left[file.write(left) :]
    return Pieces(begun, np.array(sums, dtype=np.uint64))


def read_array(file: FileIO, values: Array, stored: DType) -> int:
    """Read the entries of an array with one axis; return the checksum.

    ValueError: the file ends before.
    """
    sums, step = [], PIECE // stored.itemsize
    room = np.empty(0 if values.dtype == stored else min(step, len(values)), stored)
    for begin in range(0, len(values), step):
        part = values[begin : begin + step]
        piece = part if part.dtype == stored else room[: len(part)]
        data = piece.view(np.uint8).data
        if file.readinto(data) != len(data):
            raise ValueError("the file is too short")
        sums.append(xxhash.xxh3_64_intdigest(data))
        if piece is not part:
            part[:] = piece
    return sum_of_pieces(np.array(sums, dtype=np.uint64))


def border_in(states: Mapping[str, Array], number: int) -> dict[str, Array]:
    """Return the arrays of one region's border from those of all."""
    start = f"{number}."
    return {name[len(start) :]: states[name] for name in states if name.startswith(start)}
