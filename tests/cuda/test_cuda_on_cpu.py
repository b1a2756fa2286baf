"""The platform that runs the GPU's kernels on CPU threads, and that NVIDIA's compiler takes every kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

import preflow
from tests.support.cuda_on_cpu.compilers import find_compiler
from tests.support.cuda_on_cpu.device import CpuDevice, Sanitizer, run_sanitized
from tests.support.paths import ROOT

KERNELS = ROOT / "tests" / "support" / "cuda_on_cpu" / "kernels_for_tests.cu"
SOURCES = sorted(Path(preflow.__file__).parent.rglob("*.cu"))
ARCHITECTURES = ("sm_75", "sm_80", "sm_90", "sm_100")
PLAIN_AND_SANITIZED = [None, "address", "thread"]

Array = NDArray[Any]


class Rounds(NamedTuple):
    errors: Array
    rounds: int


class Counter(NamedTuple):
    total: Array
    elements: int


def zeros(count: int, dtype: Any = np.uint32) -> Array:
    return np.zeros(count, dtype=dtype)


def run(kernel: str, blocks: int, threads: int, arguments: Any, **options: Any) -> None:
    device = CpuDevice(sanitizer=options.pop("sanitizer", None), time_limit=options.pop("time_limit", 60))
    device.launch(KERNELS, kernel, blocks, threads, arguments, **options)


@pytest.mark.parametrize(("blocks", "threads"), [(1, 1), (2, 32), (3, 5), (1, 64)])
def test_indices(blocks: int, threads: int) -> None:
    thread, lane, in_block, block, in_grid, count = arrays = [zeros(blocks * threads) for _ in range(6)]
    run("indices", blocks, threads, tuple(arrays))
    expected = np.arange(blocks * threads)
    np.testing.assert_array_equal(thread, expected)
    np.testing.assert_array_equal(in_block, expected % threads)
    np.testing.assert_array_equal(lane, expected % threads % 32)
    np.testing.assert_array_equal(block, expected // threads)
    assert set(in_grid) == {blocks}
    assert set(count) == {blocks * threads}


@pytest.mark.parametrize("sanitizer", PLAIN_AND_SANITIZED)
@pytest.mark.parametrize(("blocks", "threads"), [(2, 32), (1, 64), (4, 3)])
def test_syncthreads_separates_phases(blocks: int, threads: int, sanitizer: Sanitizer | None) -> None:
    errors = zeros(1)
    run("phases", blocks, threads, Rounds(errors, 100), shared_bytes=4 * threads, sanitizer=sanitizer)
    assert errors == 0


def test_threads_that_returned_are_not_waited_for() -> None:
    errors = zeros(1)
    run("half_returns", 2, 20, Rounds(errors, 50))
    assert errors == 0


@pytest.mark.parametrize("sanitizer", PLAIN_AND_SANITIZED)
@pytest.mark.parametrize(("blocks", "threads"), [(1, 2), (2, 1)])
def test_two_threads_wait_for_each_other(blocks: int, threads: int, sanitizer: Sanitizer | None) -> None:
    turn, payload = zeros(1), zeros(1, np.int64)
    run("ping_pong", blocks, threads, (turn, payload, 100), sanitizer=sanitizer)
    assert turn == 200
    assert payload == sum(range(200))


@pytest.mark.parametrize("sanitizer", [None, "thread"])
@pytest.mark.parametrize("group", [4, 8, 16, 32])
def test_shuffles(group: int, sanitizer: Sanitizer | None) -> None:
    one, up, down, across = (zeros(64) for _ in range(4))
    wide = zeros(64, np.uint64)
    run("shuffles", 2, 32, (one, up, down, across, wide, group), sanitizer=sanitizer)
    lane = np.arange(64)
    first = lane // group * group
    np.testing.assert_array_equal(one, first + 1)
    np.testing.assert_array_equal(up, np.where(lane - 2 >= first, lane - 2, lane))
    np.testing.assert_array_equal(down, np.where(lane + 3 < first + group, lane + 3, lane))
    np.testing.assert_array_equal(across, lane ^ 1)
    np.testing.assert_array_equal(wide, (first + 2) << 40)


@pytest.mark.parametrize("group", [4, 8, 16, 32])
@pytest.mark.parametrize("threads_for", [0, 0x80, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 0x12345678])
def test_votes(group: int, threads_for: int) -> None:
    ballot, any_vote, all_votes = (zeros(32) for _ in range(3))
    run("votes", 1, 32, (ballot, any_vote, all_votes, group, threads_for))
    for lane in range(32):
        mask = ((1 << group) - 1) << lane // group * group
        assert ballot[lane] == threads_for & mask
        assert any_vote[lane] == (threads_for & mask != 0)
        assert all_votes[lane] == (threads_for & mask == mask)


def test_fewer_threads_than_a_warp_has() -> None:
    ballot, any_vote, all_votes = (zeros(10) for _ in range(3))
    run("votes", 2, 5, (ballot, any_vote, all_votes, 32, 0b00100_11111))
    assert ballot.tolist() == [0b11111] * 5 + [0b00100] * 5
    assert all_votes.tolist() == [1] * 5 + [0] * 5
    one, up, down, across = (zeros(5) for _ in range(4))
    run("shuffles", 1, 5, (one, up, down, across, zeros(5, np.uint64), 32))
    assert one.tolist() == [1] * 5
    assert up.tolist() == [0, 1, 0, 1, 2]
    # Lanes that are not there have no values, and nobody may count on finding his own.
    assert down.tolist() == [3, 4, 0xA5A5A5A5, 0xA5A5A5A5, 0xA5A5A5A5]
    assert across.tolist() == [1, 0, 3, 2, 0xA5A5A5A5]


@pytest.mark.parametrize("sanitizer", [None, "thread"])
def test_overlapping_masks(sanitizer: Sanitizer | None) -> None:
    sums = zeros(64)
    run("overlapping_masks", 2, 32, (sums,), sanitizer=sanitizer)
    np.testing.assert_array_equal(sums, np.where(np.arange(64) % 32 < 4, sum(range(200)), 0))


def test_shared_memory_is_per_block_and_starts_as_garbage() -> None:
    first, kept, arrived = zeros(32), zeros(32), zeros(1)
    run("shared_is_per_block", 4, 8, (first, kept, arrived), shared_bytes=16)
    assert set(first) == {0xA5A5A5A5}
    np.testing.assert_array_equal(kept, np.arange(32) // 8)


@pytest.mark.parametrize("sanitizer", [None, "thread"])
def test_atomics_lose_nothing(sanitizer: Sanitizer | None) -> None:
    total = 500 * 64
    relaxed_u32, u32_both, exchanged, least, greatest = (zeros(1) for _ in range(5))
    relaxed_i64, i64_both = zeros(1, np.int64), zeros(1, np.int64)
    relaxed_u64, seen = zeros(1, np.uint64), zeros(1, np.uint64)
    least[0] = 2**32 - 1
    u32_counters = (relaxed_u32, u32_both, exchanged, least, greatest)
    greatest_relaxed, greatest_released = zeros(1, np.uint64), zeros(1, np.uint64)
    u64_counters = (relaxed_u64, seen, greatest_relaxed, greatest_released)
    counters = (*u32_counters, relaxed_i64, i64_both, *u64_counters)
    run("contention", 2, 32, (*counters, total // 64), sanitizer=sanitizer)
    for counter in (relaxed_u32, u32_both, exchanged, relaxed_u64):
        assert counter == total
    assert relaxed_i64 == i64_both == -total
    assert least == 1_000_000 - (total - 1)
    assert greatest == total - 1
    assert greatest_relaxed == greatest_released == (7 << 32) + total - 1
    # Four counters went up and two down: what they returned adds up to twice 0 + 1 + ... + (total - 1).
    assert seen == 2 * sum(range(total))


def test_loads_and_stores() -> None:
    u32_in, i64_in, u64_in = (
        np.array([value], dtype)
        for value, dtype in ((2**32 - 2, np.uint32), (-3, np.int64), (2**64 - 4, np.uint64))
    )
    u32_out, i64_out, u64_out = zeros(2), zeros(2, np.int64), zeros(1, np.uint64)
    run("loads_and_stores", 1, 1, (u32_in, i64_in, u64_in, u32_out, i64_out, u64_out))
    assert u32_out.tolist() == [2**32 - 2] * 2
    assert i64_out.tolist() == [-3] * 2
    assert u64_out.tolist() == [2**64 - 4]


def test_bits() -> None:
    values = [0, 1, 12, 2**31, 2**32, 2**63, 2**64 - 1]
    results = zeros(7 * len(values), np.int64)
    run("bits", 1, len(values), (np.array(values, np.uint64), results))
    for value, result in zip(values, results.reshape(-1, 7), strict=True):
        popc, popcll, ffs, clz, clzll, extremes, high = result
        low = value % 2**32
        assert (popc, popcll) == (low.bit_count(), value.bit_count())
        assert ffs == (low & -low).bit_length()
        assert (clz, clzll) == (32 - low.bit_length(), 64 - value.bit_length())
        signed = value - 2**64 if value >= 2**63 else value
        assert extremes == min(value, 7) + max(signed, -7)
        assert high == low * (value // 2 % 2**32) >> 32


class Inner(NamedTuple):
    array: Array
    integer: int


class Outer(NamedTuple):
    before: int
    inner: Inner
    array: Array
    after: Any


@pytest.mark.parametrize("sanitizer", PLAIN_AND_SANITIZED)
def test_arguments_are_flattened(sanitizer: Sanitizer | None) -> None:
    first, second = zeros(2, np.int64), np.array([10], np.int64)
    run("flat_arguments", 1, 1, Outer(-1, Inner(first, -(2**63)), second, np.int32(-4)), sanitizer=sanitizer)
    assert first.tolist() == [-1, -(2**63)]
    assert second.tolist() == [6]


@pytest.mark.parametrize("sanitizer", PLAIN_AND_SANITIZED)
def test_arrays_that_overlap_stay_one_memory(sanitizer: Sanitizer | None) -> None:
    buffer = np.zeros(5, np.int64)
    run("flat_arguments", 1, 1, Outer(20, Inner(buffer[1:4], 30), buffer[2:], 4), sanitizer=sanitizer)
    assert buffer[0] == buffer[3] == buffer[4] == 0
    assert (buffer[1], buffer[2]) == (20, 34)


def test_array_must_be_contiguous() -> None:
    with pytest.raises(AssertionError, match="contiguous"):
        run("relaxed_count", 1, 1, Counter(np.zeros((4, 4), np.int64)[:, 1], 0))


def test_launch_is_sized_by_the_device() -> None:
    with pytest.raises(AssertionError, match="size it by the device"):
        run("relaxed_count", 3, 32, Counter(zeros(1, np.int64), 0))


def test_constants_are_macros() -> None:
    with pytest.raises(AssertionError, match="refuses kernels_for_tests"):
        run("relaxed_count", 1, 1, Counter(zeros(1, np.int64), 0), constants=(("relaxed_load", 1),))


def test_hanging_kernel_is_an_error() -> None:
    count = zeros(1, np.int64)
    with pytest.raises(AssertionError, match="did not end"):
        run("hang", 1, 1, Counter(count, 0), time_limit=0.5)
    count[0] = 1


@pytest.mark.parametrize("sanitizer", PLAIN_AND_SANITIZED)
def test_second_stream_runs_beside_the_next_launch(sanitizer: Sanitizer | None) -> None:
    device = CpuDevice(sanitizer=sanitizer, time_limit=20)
    count = zeros(1, np.int64)
    with device.second_stream():
        device.launch(KERNELS, "hang", 2, 4, Counter(count, 0))
    device.launch(KERNELS, "relaxed_count", 1, 1, Counter(count, 0))
    assert count == 1


def test_second_stream_alone_runs_until_synchronized() -> None:
    device, count = CpuDevice(), zeros(1, np.int64)
    with device.second_stream():
        device.launch(KERNELS, "relaxed_count", 1, 3, Counter(count, 0))
    assert count == 0
    for _ in range(2):
        device.synchronize()
        assert count == 3


@pytest.mark.parametrize("kernel", ["write_behind_the_end", "behind_shared_memory"])
def test_address_sanitizer_sees_an_overrun(kernel: str) -> None:
    counter = Counter(np.zeros(10, np.int64)[:4], 4)
    with pytest.raises(AssertionError, match="heap-buffer-overflow"):
        run(kernel, 1, 1, counter, shared_bytes=32, sanitizer="address")


def test_address_sanitizer_sees_misaligned_vectors() -> None:
    with pytest.raises(AssertionError, match="misaligned address"):
        run("misaligned", 1, 1, Counter(zeros(4, np.int64), 1), sanitizer="address")


@pytest.mark.parametrize("first", [0, 1])
def test_views_keep_their_alignment(first: int) -> None:
    buffer = np.zeros(8, np.int64)
    assert buffer.ctypes.data % 16 == 0
    run("misaligned", 1, 1, Counter(buffer[first:], 2 - first), sanitizer="address")
    assert buffer[2:4].view(np.int32).tolist() == [1, 2, 3, 4]


def test_sanitizer_that_cannot_bear_random_addresses(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text(
        "#!/bin/sh\ngrep -q 00040000 /proc/self/personality && echo started && exit\n"
        "echo FATAL: ThreadSanitizer: unexpected memory mapping >&2; exit 66\n"
    )
    program.chmod(0o755)
    done = run_sanitized([str(program)], 10)
    assert (done.returncode, done.stdout) == (0, "started\n")


def test_thread_sanitizer_sees_a_plain_race_only() -> None:
    count = zeros(1, np.int64)
    with pytest.raises(AssertionError, match=r"data race(.|\n)*plain_count"):
        run("plain_count", 2, 4, Counter(count, 0), sanitizer="thread")
    run("relaxed_count", 2, 4, Counter(count, 0), sanitizer="thread")
    assert count == 8


def test_syncwarp_orders_memory_of_its_group_only() -> None:
    def hand_on(**constants: int) -> None:
        counter = Counter(zeros(1, np.int64), 0)
        options = {"shared_bytes": 64 * 8, "constants": tuple(constants.items())}
        run("hand_on_in_a_group", 1, 64, counter, sanitizer="thread", **options)
        assert counter.total == sum(range(64))

    hand_on()
    with pytest.raises(AssertionError, match="data race"):
        hand_on(ORDERED=0)
    with pytest.raises(AssertionError, match="data race"):
        hand_on(ACROSS=1)


@pytest.mark.parametrize("path", [*SOURCES, KERNELS], ids=lambda path: path.stem)
def test_compiles_for_gpus(path: Path, tmp_path: Path) -> None:
    compiler = find_compiler()
    if compiler is None:
        pytest.skip("neither nvcc nor the NVRTC wheel is here")
    compiler(path, ARCHITECTURES, tmp_path)
