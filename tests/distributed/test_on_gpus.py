"""Regions on GPUs: the kernels on CPU threads everywhere, and on real GPUs where there are any."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import preflow
from preflow.cuda import runtime
from preflow.distributed.grid_source import GridSource, grid_tasks
from preflow.distributed.on_gpus import GpuExchange, divide_in_layers, margin_of
from preflow.errors import (
    DeviceMemoryError,
    DeviceUnavailableError,
    InvalidInputError,
    UnsuitableMethodError,
    VerificationError,
)
from preflow.gridcut.cuda_tiled import launches
from preflow.gridcut.cuda_tiled.parts import Part
from tests.support.cuda_on_cpu import device
from tests.support.cuda_on_cpu.device import CpuDevice, Sanitizer
from tests.support.long_paths import serpentine

REAL_DEVICES = runtime.find_devices
Arrays = tuple[NDArray[Any], NDArray[Any], Any]


@pytest.fixture(autouse=True)
def devices(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Three devices of two warps on CPU threads; for marked tests, all GPUs."""
    if request.node.get_closest_marker("gpu") is None:
        return use_devices(monkeypatch, 3)
    try:
        return list(REAL_DEVICES())
    except DeviceUnavailableError as error:
        pytest.skip(str(error))


def use_devices(patch: pytest.MonkeyPatch, count: int, **options: Any) -> list[Any]:
    """Let the CPU be some devices."""
    found: list[Any] = [CpuDevice(**options) for _ in range(count)]
    patch.setattr(runtime, "find_devices", lambda numbers=None: [found[i] for i in numbers or range(count)])
    return found


def random_grid(shape: tuple[int, ...], seed: int, most: int = 20, pairs: int = 0) -> Arrays:
    """Return source, sink and neighbour capacities, some of them zero."""
    rng = np.random.default_rng(seed)
    source, sink = (rng.integers(0, 2 * most, shape) * (rng.random(shape) < 0.4) for _ in range(2))
    rows = (pairs or len(shape), *shape)
    return source, sink, rng.integers(0, most, rows) * (rng.random(rows) < 0.8)


def check(arrays: Arrays, **arguments: Any) -> preflow.distributed.RegionCutResult:
    """Solve on GPUs, prove the cut, and compare it with that of grid_cut."""
    arguments = {"exchange": "gpus"} | arguments
    result = preflow.distributed.grid_cut(*arrays, **arguments)
    connectivity = arguments.get("connectivity")
    expected = preflow.grid_cut(*arrays, connectivity=connectivity, method="serial-incremental-bfs")
    assert np.array_equal(result.labels, expected.labels)
    assert result.value == expected.value
    assert result.gap == expected.gap
    result.verify()
    assert result.stats.device == "cuda"
    return result


def parts_of(result: preflow.distributed.RegionCutResult) -> list[Part]:
    host = result._exchange
    assert isinstance(host, GpuExchange)
    return host._parts


@given(
    seed=st.integers(0, 2**32),
    shape=st.sampled_from([(1, 1), (70, 3), (200, 5), (130, 40), (17, 2, 3), (40, 9, 5), (33, 3, 34), (9,)]),
    most=st.sampled_from((3, 20, 2**20, 2**40)),
    regions=st.integers(1, 27),
    is_float=st.booleans(),
    shares_memory=st.booleans(),
)
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_answer_is_that_of_grid_cut(
    seed: int, shape: tuple[int, ...], most: int, regions: int, is_float: bool, shares_memory: bool
) -> None:
    source, sink, neighbor = random_grid(shape, seed, most)
    if is_float:
        source, neighbor = source / 4, neighbor / 8
    with pytest.MonkeyPatch.context() as patch:
        use_devices(patch, 3, shares_memory=shares_memory)
        check((source, sink, neighbor), regions=regions)


@pytest.mark.parametrize("shares_memory", [False, True])
@pytest.mark.parametrize(
    ("shape", "connectivity", "regions"),
    [((140, 20), 8, 2), ((40, 4, 5), 18, 2), ((33, 3, 3), 26, 2), ((1800, 3), 4, 27)],
)
def test_neighbourhoods_and_many_regions(
    shape: tuple[int, ...],
    connectivity: int,
    regions: int,
    shares_memory: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    use_devices(monkeypatch, 3, shares_memory=shares_memory)
    arrays = random_grid(shape, 1, pairs=connectivity // 2)
    assert check(arrays, regions=regions, connectivity=connectivity).regions == regions


def test_neighbours_several_rows_apart() -> None:
    """Labels of several rows lie at each border."""
    offsets = [(3, 0), (1, 1), (0, 2)]
    result = check(random_grid((200, 9), 3, pairs=3), regions=3, connectivity=offsets)
    assert parts_of(result)[0]._reach == 3


def test_no_arcs_over_the_borders() -> None:
    arrays = random_grid((130, 4), 2, pairs=1)
    assert check(arrays, regions=2, connectivity=[(0, 1)]).regions == 2


@pytest.mark.parametrize("shares_memory", [False, True])
def test_a_path_that_crosses_all_borders_many_times(
    shares_memory: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_devices(monkeypatch, 2, shares_memory=shares_memory)
    result = check(serpentine(140, 5), regions=2)
    assert result.value == 5
    assert result.regions == 2


def test_gpus_work_together_where_they_can(monkeypatch: pytest.MonkeyPatch) -> None:
    def works_together(**arguments: Any) -> bool:
        result = check(random_grid((300, 3), 7), **arguments)
        assert isinstance(result._exchange, GpuExchange)
        return result._exchange._works_together

    assert works_together()
    assert not works_together(exchange=GpuExchange(devices=[1, 1]))
    assert not works_together(exchange=GpuExchange(devices=[0]))
    assert not works_together(regions=4)
    use_devices(monkeypatch, 2, shares_memory=False)
    assert not works_together()


def test_launches_that_end_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each goes on where the last one has ended, in a search or in a discharge."""
    monkeypatch.setattr(launches, "NANOSECONDS_TOGETHER", 200_000)
    was_searching = []
    solve = GpuExchange._solve_together

    def watch(host: GpuExchange) -> None:
        solve(host)
        was_searching.append(host._parts[0].is_searching)

    monkeypatch.setattr(GpuExchange, "_solve_together", watch)
    for seed in range(9):
        check(random_grid((200, 20), seed), regions=3)
        if set(was_searching[:-1]) == {False, True}:
            return
    pytest.fail(f"all launches ended alike: {was_searching}")


@pytest.mark.parametrize("nanoseconds", [1_000, 10_000_000])
def test_searches_that_end_early_in_steps(nanoseconds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The step that goes on with a search may change labels that a neighbour has taken."""
    monkeypatch.setattr(launches, "NANOSECONDS_OF_LAUNCH", nanoseconds)
    use_devices(monkeypatch, 2, shares_memory=False)
    for arrays in (serpentine(140, 5), serpentine(200, 9), random_grid((200, 20), 1)):
        check(arrays, regions=2)


@pytest.mark.parametrize(("was_searching", "further"), [(0, False), (0, True), (1, False), (1, True)])
def test_a_step_that_goes_on_with_a_search_is_not_the_last(was_searching: int, further: bool) -> None:
    part = parts_of(check(random_grid((200, 5), 3), exchange=GpuExchange(devices=[1, 1])))[0]
    part._arrays.state[launches.Word.IS_SEARCHING] = was_searching
    part._launcher.prepare_search(further=further)
    part.read_state()
    assert part.had_news == (was_searching and further)


@pytest.mark.parametrize(("shape", "percent"), [((300, 6), (75, 40)), ((48, 4, 4), (80, 60))])
def test_capacities_that_do_not_fit(shape: tuple[int, ...], percent: tuple[int, int]) -> None:
    """Below the memory for all capacities they are on the host, down to three layers of tiles on the GPU."""
    arrays = random_grid(shape, 3)
    parts = parts_of(check(arrays, regions=1))
    assert all(part._window is None for part in parts)
    needed = parts[0].tiling.bytes_on_device
    for regions in (1, 2):
        memory = needed * percent[regions - 1] // 100
        host = GpuExchange(devices=[0] if regions == 1 else [0, 1], memory=memory)
        result = check(arrays, exchange=host, regions=regions)
        assert all(part._window is not None for part in parts_of(result))
    with pytest.raises(DeviceMemoryError, match="but the limit is 10,000"):
        preflow.distributed.grid_cut(*arrays, exchange="gpus", memory=10_000)


def test_several_regions_on_one_gpu() -> None:
    result = check(random_grid((260, 3), 5), exchange=GpuExchange(devices=[1]), regions=4)
    assert result.regions == 4
    assert len({id(part.device) for part in parts_of(result)}) == 1


def test_each_gpu_has_a_region() -> None:
    result = check(random_grid((200, 3), 6))
    assert result.regions == 3
    assert len({id(part.device) for part in parts_of(result)}) == 3


@pytest.mark.parametrize("sanitizer", ["address", "thread"])
@pytest.mark.parametrize("shares_memory", [False, True])
def test_sanitizers_have_nothing_to_report(
    sanitizer: Sanitizer, shares_memory: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each thread of both devices is a thread of the CPU.
    blocks = 1 if shares_memory else 2
    use_devices(monkeypatch, 2, num_multiprocessors=blocks, sanitizer=sanitizer, shares_memory=shares_memory)
    check(random_grid((130, 2), 2, most=6))


def watch_labels(patch: pytest.MonkeyPatch) -> dict[int, list[NDArray[Any]]]:
    """Assert that distances at the borders after a search are no smaller than after the one before."""
    seen: dict[int, list[NDArray[Any]]] = {}
    search = GpuExchange._search

    def watch(host: GpuExchange) -> None:
        search(host)
        for part in host._parts:
            labels = np.concatenate([part._labels(side) for side, has in enumerate(part.place.has) if has])
            before = seen.setdefault(id(part), [])
            if before:
                assert (labels >= before[-1]).all(), "a distance has fallen"
            before.append(labels)

    patch.setattr(GpuExchange, "_search", watch)
    return seen


def test_labels_never_fall(monkeypatch: pytest.MonkeyPatch) -> None:
    use_devices(monkeypatch, 3, shares_memory=False)
    seen = watch_labels(monkeypatch)
    result = check(random_grid((200, 6), 8), regions=3)
    assert len(seen) == 3
    assert all(len(labels) == result.sweeps + 1 for labels in seen.values())


def test_tiles_on_both_sides_of_a_border_have_different_colors() -> None:
    """Otherwise both could have their turn at the same time; no cut of the grids here tells that."""
    for shape, regions in (((300, 5), 3), ((1800, 3), 9), ((50, 4, 4), 3)):
        parts = parts_of(check(random_grid(shape, 4), regions=regions))
        for one, other in pairwise(part.place for part in parts):
            assert (one.parity + one.end - 1) % 2 != (other.parity + other.first) % 2


def notify_nobody(patch: pytest.MonkeyPatch) -> None:
    take = Part._take_labels
    patch.setattr(Part, "_take_labels", lambda part, side, labels, further: take(part, side, labels, False))


def lose_flow(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Part, "_receive", lambda part, side, flow: None)


def edit(before: str, after: str) -> Callable[[pytest.MonkeyPatch], None]:
    """Return a mutant of the kernel that GPUs run together."""

    def patch_source(patch: pytest.MonkeyPatch) -> None:
        original, text = device._source, device._source(launches.SOURCE)
        assert text.count(before) == 1
        edited = text.replace(before, after)
        patch.setattr(device, "_source", lambda path: edited if path == launches.SOURCE else original(path))

    return patch_source


TOGETHER = {
    "no labels beyond": edit("relaxed_store(&beyond.copies[place], label)", "(void)label"),
    "no notices beyond": edit("bool is_there = is_near &&", "bool is_there = false &&"),
    "no excess beyond": edit("&part.terminal[pixel]", "&args.terminal[0]"),
    "no capacity beyond": edit(
        "&part.residual[back * part.direction_stride + pixel]", "&args.residual[back * args.direction_stride]"
    ),
}


MUTANTS = {"notify nobody": notify_nobody, "lose flow": lose_flow, **TOGETHER}


@pytest.mark.parametrize("mutant", MUTANTS.values(), ids=MUTANTS)
def test_mutants_are_found(mutant: Callable[[pytest.MonkeyPatch], None]) -> None:
    """Wrong cuts and proofs, or labels that fall, on one of a few grids."""
    for arrays in (serpentine(200, 5), *(random_grid((200, 40), seed, most=6) for seed in range(4))):
        with pytest.MonkeyPatch.context() as patch:
            use_devices(patch, 3, shares_memory=mutant in TOGETHER.values())
            watch_labels(patch)
            check(arrays, regions=3)
        with pytest.MonkeyPatch.context() as patch:
            use_devices(patch, 3, shares_memory=mutant in TOGETHER.values())
            watch_labels(patch)
            mutant(patch)
            try:
                check(arrays, regions=3)
            except (AssertionError, VerificationError) as error:
                found = str(error)
                break
    else:
        pytest.fail("no grid told the mutant from the right one")
    assert "g++ refuses" not in found


def test_a_time_limit_leaves_valid_bounds() -> None:
    arrays = serpentine(260, 17)
    result = preflow.distributed.grid_cut(*arrays, exchange="gpus", time_limit=1e-3)
    assert result.status == "time-limit"
    assert result.lower_bound <= 5 <= result.upper_bound
    result.verify()


def test_layers() -> None:
    assert [cut.tolist() for cut in divide_in_layers((50, 4, 4), 2).cuts] == [[0, 24, 50], [0, 4], [0, 4]]
    assert divide_in_layers((50, 4, 4), (1, 1, 1)).counts == (1, 1, 1)
    assert divide_in_layers((15, 4, 4), 9).counts == (1, 1, 1)
    assert divide_in_layers((1000,), 9).counts == (1,)
    boxes = divide_in_layers((1000, 4), 5)
    assert all(cut % margin_of((1000, 4)) == 0 for cut in boxes.cuts[0][:-1])
    task = grid_tasks(GridSource.of(np.zeros((1000, 4)), 1, 1, None), boxes)[1]
    assert task.halo == (slice(191, 385), slice(0, 4))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"regions": (2, 2, 1)}, InvalidInputError, "along the first axis"),
        ({"regions": 0}, InvalidInputError, "regions must be at least 1"),
        ({"folder": "states"}, InvalidInputError, "folder belongs to"),
        ({"connectivity": [(9, 0, 0)]}, UnsuitableMethodError, "up to 7 apart"),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    source, sink, _ = random_grid((20, 4, 4), 0)
    with pytest.raises(error, match=message):
        preflow.distributed.grid_cut(source, sink, 1, exchange="gpus", **arguments)


def test_too_many_axes_and_networks() -> None:
    with pytest.raises(UnsuitableMethodError, match="up to 3 axes"):
        preflow.distributed.grid_cut(np.ones((2, 2, 2, 2)), 1, 1, exchange="gpus")
    with pytest.raises(InvalidInputError, match="exchange must be 'memory', 'files' or 'ray'"):
        preflow.distributed.min_cut([[0, 1, 1]], 0, 1, partition=[0, 0], exchange="gpus")
    with pytest.raises(InvalidInputError, match="devices must be numbers"):
        GpuExchange(devices=["first"])  # type: ignore[list-item]
    with pytest.raises(InvalidInputError, match="memory must be at least 1"):
        GpuExchange(memory=0)


def test_no_pixels() -> None:
    result = preflow.distributed.grid_cut(np.zeros((0, 3)), np.zeros((0, 3)), 1, exchange="gpus")
    assert (result.value, result.labels.shape) == (0, (0, 3))


# On real GPUs.


def noisy_volume(shape: tuple[int, ...], seed: int = 0) -> Arrays:
    rng = np.random.default_rng(seed)
    data = np.rint(100 * rng.standard_normal(shape)).astype(np.int16)
    ramp = np.linspace(-40, 40, shape[0]).astype(np.int16)
    data += ramp.reshape(-1, *[1] * (len(shape) - 1))
    return np.maximum(data, 0), np.maximum(-data, 0), np.int16(60)


@pytest.mark.gpu
@pytest.mark.parametrize("regions", [1, 2, 5])
def test_volumes_on_gpus(regions: int) -> None:
    arrays = noisy_volume((100, 90, 80))
    result = check(arrays, regions=regions)
    needed = max(part.tiling.bytes_on_device for part in parts_of(result))
    if regions <= len(REAL_DEVICES()):
        result = check(arrays, regions=regions, memory=needed * 4 // 5)
        assert all(part._window is not None for part in parts_of(result))


@pytest.mark.gpu
def test_random_grids_on_gpus() -> None:
    """Few, since most of them need a build of their own, which takes seconds."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        shape = tuple(rng.integers(1, 200 if seed % 2 else 60, 2 + seed % 2).tolist())
        check(random_grid(shape, seed, most=(3, 100, 2**20, 2**40)[seed % 4]), regions=1 + seed % 7)


@pytest.mark.gpu
def test_long_paths_on_gpus() -> None:
    """A sweep carries flow over few borders, and searches along the whole path."""
    assert check(serpentine(400, 40), regions=4).value == 5
