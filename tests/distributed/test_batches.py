"""Batches on every host: order, bounds, failures, dying workers, the time limit, and nothing left running."""

from __future__ import annotations

import itertools
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import preflow
from preflow.distributed.batches import api, messages, processes
from preflow.errors import (
    InvalidInputError,
    ItemError,
    MissingDependencyError,
    TimeLimitError,
    WorkerDiedError,
)
from preflow.progress import ProgressReport
from preflow.solving.dispatch import most_threads, usable_cpus

#: Seconds for whatever takes a moment.
PATIENCE = 60


@pytest.fixture(scope="module")
def ray_cluster() -> Iterator[None]:
    """A cluster on this machine that all tests share."""
    ray = pytest.importorskip("ray", reason="Ray is not installed")
    from preflow.distributed.batches.ray_tasks import start_ray

    start_ray(None, 2)
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def dask_cluster() -> Iterator[None]:
    """The same of Dask."""
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
        ) as cluster,
        distributed.Client(cluster),
    ):
        yield


@pytest.fixture(params=["threads", "processes", "dask", "ray"])
def host(request: pytest.FixtureRequest) -> Any:
    if request.param in ("ray", "dask"):
        request.getfixturevalue(f"{request.param}_cluster")
    return request.param


def square(number: int) -> int:
    if number == 7:
        raise ZeroDivisionError("seven is bad")
    return number * number


def slow(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


def print_and_return(number: int) -> int:
    print("this must not reach the answers")
    return number


def threads_of_calls(_: int) -> int:
    return most_threads(None)


def end_at_three(number: int) -> int:
    if number == 3:
        os._exit(5)
    return number


def end_once(path: str) -> str:
    """End the worker that comes first."""
    if not path.startswith("no") and not Path(path).exists():
        Path(path).touch()
        os._exit(9)
    return path


def unsendable(number: int) -> Any:
    return threading.Lock() if number == 1 else number


class UnreadableError(Exception):
    def __init__(self, first: int, second: int) -> None:
        super().__init__("two arguments")


def raise_unreadable(_: int) -> None:
    raise UnreadableError(1, 2)


def test_results_are_in_order_and_errors_name_their_item(host: Any) -> None:
    found = list(preflow.distributed.map(square, range(20), host=host, workers=2, errors="return"))
    failed = found.pop(7)
    assert found == [n * n for n in range(20) if n != 7]
    assert isinstance(failed, ItemError)
    assert failed.item == 7
    assert isinstance(failed.error, ZeroDivisionError)
    assert "in square" in failed.error.__notes__[0]
    assert pickle.loads(pickle.dumps(failed)).item == 7


def test_an_error_ends_the_batch_after_the_results_before_it(host: Any) -> None:
    results = preflow.distributed.map(square, itertools.count(), host=host, workers=2)
    assert list(itertools.islice(results, 7)) == [n * n for n in range(7)]
    with pytest.raises(ItemError, match=r"^item 7: ZeroDivisionError: seven is bad$") as caught:
        next(results)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert list(results) == []


def test_problems_by_name(host: Any) -> None:
    costs = [np.random.default_rng(seed).integers(0, 99, (5, 6)) for seed in range(30)]
    results = list(
        preflow.distributed.map("linear_assignment", costs, host=host, keywords={"maximize": True})
    )
    assert [r.value for r in results] == [preflow.linear_assignment(c, maximize=True).value for c in costs]
    results[3].verify()
    networks = [(([0, 1], [1, 2], [4, capacity]), 0, 2) for capacity in range(8)]
    values = [r.value for r in preflow.distributed.map("max_flow", networks, host=host)]
    assert values == [0, 1, 2, 3, 4, 4, 4, 4]
    named = [{"network": network[0], "source": 0, "sink": 2} for network in networks]
    assert [r.value for r in preflow.distributed.map("max_flow", named, host=host)] == values


@pytest.mark.parametrize("in_flight", [1, 3, 40])
def test_no_more_than_that_is_in_flight(host: Any, in_flight: int) -> None:
    taken = 0

    def endless() -> Iterator[int]:
        nonlocal taken
        for number in itertools.count(10):
            taken += 1
            yield number

    results = preflow.distributed.map(square, endless(), host=host, workers=2, in_flight=in_flight)
    assert taken == 0
    for number in range(10, 60):
        assert next(results) == number * number
        assert taken <= number - 9 + in_flight
    results.close()  # type: ignore[attr-defined]


@settings(max_examples=25)
@given(st.integers(0, 300), st.none() | st.integers(1, 50), st.none() | st.integers(1, 50), st.booleans())
def test_any_chunks_give_all_results(
    length: int, chunk: int | None, in_flight: int | None, known: bool
) -> None:
    numbers = range(10, 10 + length)
    items = numbers if known else iter(numbers)
    results = preflow.distributed.map(
        square, items, host="threads", workers=3, chunk=chunk, in_flight=in_flight
    )
    assert list(results) == [number * number for number in numbers]


def test_small_items_travel_together() -> None:
    reports: list[ProgressReport] = []
    results = preflow.distributed.map(
        abs, range(20_000), host="processes", workers=2, progress=reports.append
    )
    assert sum(results) == sum(range(20_000))
    assert len(reports) < 500
    assert reports[-1].step == "20,000 of 20,000 items"
    assert reports[-1].settled == 1.0
    shares = [report.settled for report in reports]
    assert shares == sorted(shares)


def test_a_dead_worker_is_replaced_and_loses_nothing(tmp_path: Path) -> None:
    paths = [str(tmp_path / "first"), *["no"] * 5, str(tmp_path / "second"), *["no"] * 5]
    for chunk in (1, 4):
        for path in tmp_path.iterdir():
            path.unlink()
        assert (
            list(preflow.distributed.map(end_once, paths, workers=2, host="processes", chunk=chunk)) == paths
        )
        assert {path.name for path in tmp_path.iterdir()} == {"first", "second"}


@pytest.mark.parametrize("chunk", [1, 3])
def test_an_item_that_ends_every_worker_is_given_up(chunk: int) -> None:
    found = list(
        preflow.distributed.map(
            end_at_three, range(8), workers=2, host="processes", errors="return", chunk=chunk
        )
    )
    failed = found.pop(3)
    assert found == [0, 1, 2, 4, 5, 6, 7]
    assert isinstance(failed, ItemError)
    assert isinstance(failed.error, WorkerDiedError)
    assert "exit status 5" in str(failed)


def test_a_task_of_ray_that_dies_is_tried_again(ray_cluster: None, tmp_path: Path) -> None:
    paths = [str(tmp_path / "first"), "no", "no"]
    assert list(preflow.distributed.map(end_once, paths, host="ray", workers=1)) == paths
    (found,) = preflow.distributed.map(end_at_three, [3], host="ray", errors="return")
    assert isinstance(found, ItemError)
    assert isinstance(found.error, WorkerDiedError)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_an_item_that_ends_workers_of_dask_takes_no_other_with_it(workers: int) -> None:
    """All workers may be dead at the same time; then the function is lost that they had got."""
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    with (
        distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
        ) as cluster,
        distributed.Client(cluster),
    ):
        found = list(preflow.distributed.map(end_at_three, range(12), host="dask", errors="return", chunk=1))
    failed = found.pop(3)
    assert found == [0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11]
    assert isinstance(failed, ItemError)
    assert isinstance(failed.error, WorkerDiedError)


KEPT_ITEMS: list[NDArray[np.int64]] = []


def keep(item: NDArray[np.int64]) -> list[int]:
    """Keep an item; return the entries of all that were kept, which are alike within one."""
    KEPT_ITEMS.append(item)
    assert all((kept == kept[0]).all() for kept in KEPT_ITEMS if len(kept))
    return [int(kept[0]) if len(kept) else -1 for kept in KEPT_ITEMS]


@pytest.mark.parametrize(("fewest", "most"), [(0, 0), (messages.FEWEST, 1 << 26), (1 << 40, 2000)])
def test_memory_of_messages_is_used_again(fewest: int, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Items that a function keeps stay as they are, in shared memory or in that of messages."""
    start = f"from preflow.distributed.batches import messages, worker; messages.KEPT = {most}; worker.main()"
    monkeypatch.setattr("preflow.distributed.batches.processes.PROGRAM", start)
    monkeypatch.setattr(messages, "FEWEST", fewest)
    sizes = [3, 100, 5, 40_000, 7, 300, 40_000, 0, 60_000, 500]
    items = [np.full(size, number) for number, size in enumerate(sizes)]
    found = list(preflow.distributed.map(keep, items, host="processes", workers=1, chunk=1))
    numbers = [number if size else -1 for number, size in enumerate(sizes)]
    assert found == [numbers[: k + 1] for k in range(len(sizes))]


def has_shared_memory() -> bool:
    memory = messages.SharedMemory(1)
    found = memory.file is not None
    memory.close()
    return found


@pytest.mark.parametrize("exists", [True, False])
def test_arrays_arrive_as_they_are(exists: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the system has no memory that processes share."""
    if not exists:
        monkeypatch.delattr(os, "memfd_create", raising=False)
    assert not exists or sys.platform != "linux" or has_shared_memory()
    rng = np.random.default_rng(0)
    fixed = rng.random(3000)
    fixed.flags.writeable = False
    items = [rng.integers(0, 9, (300, size)) for size in range(1, 40)]
    items += [fixed, np.asfortranarray(items[7]), items[8][::2, ::3], items[3], np.zeros((0, 5000))]
    found = list(preflow.distributed.map(described, items, host="processes", workers=2, chunk=5))
    assert found == [described(item) for item in items]


def described(item: NDArray[Any]) -> tuple[Any, ...]:
    """Return what makes an array."""
    flags = item.flags
    return item.dtype, item.shape, item.tolist(), flags.writeable, flags.f_contiguous, flags.aligned


@given(
    sizes=st.lists(st.tuples(st.sampled_from([0, 1, 511, 512, 513, 4096]), st.booleans()), max_size=8),
    twice=st.booleans(),
)
def test_chunks_are_unpacked_as_they_were_packed(sizes: list[tuple[int, bool]], twice: bool) -> None:
    items: list[Any] = []
    for number, (size, is_fixed) in enumerate(sizes):
        items.append(np.arange(number, number + size, dtype=np.float64))
        items[-1].flags.writeable = not is_fixed
        items.append({"number": number, "text": "x" * size})
    items += items if twice else []
    chunk = memoryview(bytearray(b"".join(messages.packed(items))))
    found = messages.unpacked(chunk)
    assert len(found) == len(items)
    for given_item, item in zip(items, found, strict=True):
        if isinstance(given_item, dict):
            assert item == given_item
            continue
        assert np.array_equal(item, given_item)
        assert item.flags.writeable == given_item.flags.writeable or item.size == 0
        assert item.flags.aligned
    if twice:
        assert all(first is second for first, second in itertools.pairwise(found[:: len(items) // 2 or 1]))


def test_a_producer_may_use_its_array_again() -> None:
    """Items are copied when they are taken from the iterator."""
    array = np.empty(20_000)

    def numbers() -> Iterator[NDArray[np.float64]]:
        for number in range(30):
            array[:] = number
            yield array

    found = preflow.distributed.map(np.mean, numbers(), host="processes", workers=2, chunk=1)
    assert list(found) == list(range(30))


@pytest.mark.parametrize("fewest", [0, 1 << 40])
def test_workers_that_die_with_a_chunk_ahead_lose_nothing(
    fewest: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(messages, "FEWEST", fewest)
    paths = [str(tmp_path / f"{k}") if k % 7 == 3 else f"no {k}" for k in range(60)]
    assert list(preflow.distributed.map(end_once, paths, workers=2, host="processes", chunk=3)) == paths
    assert len(list(tmp_path.iterdir())) == 9


@pytest.mark.skipif(not has_shared_memory(), reason="there is no shared memory")
def test_pieces_of_memory_are_released_when_no_item_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also after later chunks have come, where a function keeps the last item or makes reference cycles."""
    monkeypatch.setattr(messages, "FEWEST", 0)
    memory = messages.SharedMemory(2)
    assert memory.file is not None
    to_worker, from_driver = (os.fdopen(end, mode) for end, mode in zip(os.pipe(), ("rb", "wb"), strict=True))
    inbox = messages.Inbox(to_worker, os.dup(memory.file))

    def sent(number: int) -> tuple[int | None, Any]:
        message, piece = memory.put(messages.packed([np.full(1000, number)]))
        messages.send(from_driver, message)
        return piece, messages.unpacked(inbox.chunk())[0]

    first, item = sent(1)
    second, other = sent(2)
    assert {first, second} == {0, 1}
    third, one_more = sent(3)
    assert third is None
    assert inbox.released() == []
    assert (item[0], other[0], one_more[0]) == (1, 2, 3)
    del item
    assert inbox.released() == [first]
    assert inbox.released() == []
    memory.free([0] if first == 0 else [1])
    fourth, item = sent(4)
    assert fourth == first
    assert (other == 2).all()
    assert (item == 4).all()
    for pipe in to_worker, from_driver:
        pipe.close()
    memory.close()


LIMITED = """
import resource
import numpy as np
import preflow

resource.setrlimit(resource.RLIMIT_NOFILE, (48, 48))
items = [np.full(20_000, k) for k in range(36)]
print(*preflow.distributed.map(np.max, items, host="processes", workers=8, chunk=1))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="there is no shared memory")
def test_shared_memory_takes_few_descriptors() -> None:
    """The same number for any number of workers."""
    program = [sys.executable, "-c", LIMITED]
    found = subprocess.run(program, check=False, capture_output=True, text=True, timeout=PATIENCE)
    assert found.stdout.split() == [str(k) for k in range(36)], found.stderr


@pytest.mark.skipif(not has_shared_memory(), reason="there is no shared memory")
def test_shared_memory_takes_no_address_space_where_that_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda kind: (1 << 33, -1))
    assert not has_shared_memory()


def test_workers_that_cannot_be_started_end_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/program")
    with pytest.raises(WorkerDiedError, match=r"cannot be started: .*No such file"):
        list(preflow.distributed.map(abs, [1, 2], host="processes", workers=1, errors="return"))


def prolonged(text: str) -> tuple[str, bytes]:
    return text, bytes(1 << 20)


@pytest.mark.parametrize("size", [1 << 12, 1 << 40])
def test_pipes_may_be_small(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As those of a user who has many; a chunk that is sent ahead never waits for a long answer."""
    monkeypatch.setattr(processes, "PIPE", size)
    items = ["x" * length for length in (10, 500, 1500, 3000, 6000, 12_000) for _ in range(6)]
    found = list(preflow.distributed.map(prolonged, items, host="processes", workers=1, chunk=2))
    assert [text for text, _ in found] == items


def read_all(_: int) -> bytes:
    """Return what a program reads from the standard input of a worker."""
    return subprocess.run([sys.executable, "-c", "input()"], check=False, capture_output=True).stderr[-8:-1]


def test_programs_that_a_function_starts_read_no_messages() -> None:
    found = list(preflow.distributed.map(read_all, range(12), host="processes", workers=1, chunk=2))
    assert len(set(found)) == 1


def fork_and_end(path: str) -> str:
    """Leave a process behind; then end the worker if it is the first one."""
    if os.fork() == 0:
        time.sleep(PATIENCE)
        os._exit(0)
    return end_once(path)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_processes_that_a_function_starts_end_with_the_batch(tmp_path: Path) -> None:
    """And their worker is replaced if it ends before they do."""
    start = time.monotonic()
    path = str(tmp_path / "first")
    assert list(preflow.distributed.map(fork_and_end, [path, "no"], host="processes", workers=1)) == [
        path,
        "no",
    ]
    results = preflow.distributed.map(
        wait_for_child, [str(tmp_path / "child")], host="processes", time_limit=3
    )
    with pytest.raises(ItemError, match="TimeLimitError"):
        list(results)
    child = int((tmp_path / "child").read_text())
    while running(child) and time.monotonic() < start + PATIENCE / 2:
        time.sleep(0.05)
    assert not running(child)
    assert time.monotonic() < start + PATIENCE / 2


def wait_for_child(path: str) -> None:
    child = subprocess.Popen([sys.executable, "-c", f"import time; time.sleep({PATIENCE})"])
    Path(path).write_text(str(child.pid))
    child.wait()


def running(process: int) -> bool:
    """Whether a process has not ended, nor waits to be noticed by its parent."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="descriptors are read from /proc")
def test_no_descriptor_is_left() -> None:
    list(preflow.distributed.map(np.sum, [np.ones(50_000)] * 4, host="processes", workers=1, chunk=1))
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        list(preflow.distributed.map(np.sum, [np.ones(50_000)] * 4, host="processes", workers=1, chunk=1))
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_what_cannot_be_sent_is_reported_for_its_item() -> None:
    found = list(
        preflow.distributed.map(unsendable, [0, 1, 2], host="processes", workers=1, errors="return", chunk=3)
    )
    assert found[::2] == [0, 2]
    assert isinstance(found[1], ItemError)
    assert "cannot be sent" in str(found[1])
    items = [0, threading.Lock(), 2]
    found = list(preflow.distributed.map(abs, items, host="processes", workers=1, errors="return", chunk=3))
    assert found[::2] == [0, 2]
    assert isinstance(found[1], ItemError)
    assert "cannot be sent" in str(found[1])


def test_an_error_that_cannot_be_pickled_keeps_its_text() -> None:
    (found,) = preflow.distributed.map(raise_unreadable, [0], host="processes", workers=1, errors="return")
    assert str(found) == "item 0: RuntimeError: UnreadableError: two arguments"


def test_errors_of_scripts_keep_their_type() -> None:
    pytest.importorskip("cloudpickle", reason="cloudpickle is not installed")

    class OwnError(Exception):
        pass

    def fail(_: int) -> None:
        raise OwnError("of a script")

    (found,) = preflow.distributed.map(fail, [0], host="processes", workers=1, errors="return")
    assert isinstance(found, ItemError)
    assert isinstance(found.error, OwnError)
    assert "in fail" in found.error.__notes__[0]


def test_functions_of_scripts_need_cloudpickle(monkeypatch: pytest.MonkeyPatch) -> None:
    if find_spec("cloudpickle") is not None:
        assert list(preflow.distributed.map(lambda x: x + 1, [1, 2], host="processes", workers=1)) == [2, 3]
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(InvalidInputError, match=r"cannot be sent to a process: .* install cloudpickle"):
        list(preflow.distributed.map(lambda x: x + 1, [1, 2], host="processes", workers=1))
    monkeypatch.setattr(square, "__module__", "no_such_module")
    monkeypatch.setitem(sys.modules, "no_such_module", sys.modules[__name__])
    with pytest.raises(InvalidInputError, match="a worker process cannot read the function: ModuleNotFound"):
        list(preflow.distributed.map(square, [1, 2], host="processes", workers=1))


def test_workers_that_never_start_end_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("preflow.distributed.batches.processes.PROGRAM", "raise SystemExit(9)")
    with pytest.raises(WorkerDiedError, match="end before they are ready with exit status 9"):
        list(preflow.distributed.map(abs, [1, 2], host="processes", workers=1, errors="return"))


def test_what_a_function_prints_is_no_answer() -> None:
    assert list(preflow.distributed.map(print_and_return, range(5), host="processes", workers=1)) == list(
        range(5)
    )


def test_calls_of_workers_use_their_share_of_threads(host: Any) -> None:
    assert list(preflow.distributed.map(threads_of_calls, range(3), host=host, workers=1)) == [1, 1, 1]
    assert most_threads(None) == min(usable_cpus(), 255)


@pytest.mark.parametrize("name", ["processes", "dask", "ray"])
def test_the_time_limit_ends_items(name: Any, request: pytest.FixtureRequest) -> None:
    if name != "processes":
        request.getfixturevalue(f"{name}_cluster")
    start = time.monotonic()
    items = [0.0, 0.0, 14.0, 0.0, 14.0]
    found = list(
        preflow.distributed.map(
            time.sleep, items, host=name, workers=2, errors="return", time_limit=6, chunk=1, in_flight=4
        )
    )
    assert found[:2] == [None, None]
    assert found[3] is None
    assert len(found) == 5
    for failed in (found[2], found[4]):
        assert isinstance(failed, ItemError)
        assert isinstance(failed.error, TimeLimitError)
    assert time.monotonic() - start < 13


def test_the_time_limit_of_an_endless_batch() -> None:
    results = preflow.distributed.map(slow, itertools.repeat(0.01), host="threads", workers=2, time_limit=0.3)
    with pytest.raises(ItemError, match=r"TimeLimitError: not done within the time limit of 0\.3 seconds"):
        list(results)
    kept = preflow.distributed.map(
        slow, itertools.repeat(0.01), host="threads", workers=2, time_limit=0.3, errors="return"
    )
    assert any(each == 0.01 for each in kept)


def children(process: int | str = "self") -> set[int]:
    found = set()
    for task in Path(f"/proc/{process}/task").iterdir():
        with suppress(FileNotFoundError):  # a thread that has ended
            found |= {int(child) for child in (task / "children").read_text().split()}
    return found


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children are read from /proc")
def test_no_process_is_left() -> None:
    before = children()
    results = preflow.distributed.map(slow, itertools.repeat(0.001), host="processes", workers=2)
    next(results)
    assert len(children() - before) == 2
    results.close()  # type: ignore[attr-defined]
    assert children() == before
    failing = preflow.distributed.map(square, itertools.count(5), host="processes", workers=2)
    with pytest.raises(ItemError):
        list(failing)
    assert children() == before


INTERRUPTED = """
import itertools, time
import preflow

def note(report):
    if report.elapsed > 0.5:
        print("running", flush=True)

try:
    list(preflow.distributed.map(time.sleep, itertools.repeat(1), host="processes", workers=2, progress=note))
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="children are read from /proc")
@pytest.mark.parametrize("name", ["SIGINT", "SIGKILL"])
def test_ctrl_c_leaves_nothing_running(name: str) -> None:
    """Workers of a process that was killed end with the item that they are solving."""
    program = subprocess.Popen([sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True)
    assert program.stdout is not None
    assert program.stdout.readline() == "running\n"
    workers = children(program.pid)
    assert len(workers) == 2
    program.send_signal(getattr(signal, name))
    rest = program.communicate(timeout=PATIENCE)[0]
    assert ("interrupted" in rest) == (name == "SIGINT")
    until = time.monotonic() + (0 if name == "SIGINT" else PATIENCE)
    while (
        left := any(Path(f"/proc/{worker}/exe").exists() for worker in workers)
    ) and time.monotonic() < until:
        time.sleep(0.05)
    assert not left


def test_auto_takes_the_cluster_in_use(dask_cluster: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "ray", raising=False)
    assert api._found_host("auto") == "dask"
    monkeypatch.delitem(sys.modules, "distributed")
    monkeypatch.setitem(sys.modules, "ray", type("Ray", (), {"is_initialized": lambda: True}))
    assert api._found_host("auto") == "ray"
    monkeypatch.delitem(sys.modules, "ray")
    assert api._found_host("auto") == "processes"


@pytest.mark.parametrize(
    ("host", "package", "extra"), [("ray", "ray", "ray"), ("dask", "distributed", "dask")]
)
def test_missing_packages_are_named(
    host: Any, package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, f"preflow.distributed.batches.{host}_tasks", raising=False)
    with pytest.raises(MissingDependencyError, match=rf"host='{host}' needs .* 'preflow\[{extra}\]'"):
        preflow.distributed.map(abs, [1], host=host)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"function": "sorting"}, r"unknown problem 'sorting'; there are: max_flow"),
        ({"function": 3}, "function must be a function or the name of a problem, got 3"),
        ({"host": "mpi"}, "host must be 'auto', 'processes', 'threads', 'ray' or 'dask', got 'mpi'"),
        ({"workers": 0}, "workers must be at least 1, got 0"),
        ({"threads": True}, "threads must be an integer, got True"),
        ({"threads": None}, "threads must be an integer, got None"),
        ({"chunk": 2.5}, "chunk must be an integer, got 2.5"),
        ({"in_flight": -1}, "in_flight must be at least 1, got -1"),
        ({"errors": "ignore"}, "errors must be 'raise' or 'return'"),
        ({"keywords": [1]}, "keywords must be a mapping"),
        ({"address": "auto", "host": "threads"}, "address belongs to host='ray' and host='dask'"),
        ({"time_limit": 0}, "time_limit must be a positive number"),
        ({"progress": 1}, "progress must be a bool or a function"),
        ({"items": 5}, "items must be iterable, got 5"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], message: str) -> None:
    given_arguments: dict[str, Any] = {"function": abs, "items": [1], **arguments}
    function, items = given_arguments.pop("function"), given_arguments.pop("items")
    with pytest.raises(InvalidInputError, match=message):
        preflow.distributed.map(function, items, **given_arguments)


@pytest.mark.parametrize("closed", [(), (0,), (2,), (0, 1, 2)])
def test_processes_of_a_daemon(closed: tuple[int, ...], tmp_path: Path) -> None:
    """Closed standard streams and a working directory that was removed do not matter."""
    code = f"""
import os, sys
os.makedirs({str(tmp_path / "gone")!r})
os.chdir({str(tmp_path / "gone")!r})
os.rmdir(os.getcwd())
sys.path.insert(0, "")
for descriptor in {closed}:
    os.close(descriptor)
import preflow
network = [0, 0, 1], [1, 2, 2], [3, 2, 2]
items = [(network, 0, 2)] * 5
found = list(preflow.distributed.map("max_flow", items, workers=2, host="processes"))
with open({str(tmp_path / "found")!r}, "w") as file:
    file.write(str([result.value for result in found]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "found").read_text() == str([4] * 5)
