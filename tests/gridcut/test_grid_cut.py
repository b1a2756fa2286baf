"""Grid cuts: every solver on the CPU against the general one, its proof, warm starts, limits, bad input."""

from __future__ import annotations

import pickle
import signal
import subprocess
import sys
import warnings
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import preflow
from preflow import GridCutResult, GridNetwork
from preflow.errors import DeviceUnavailableError, InvalidInputError, NotOptimalError, VerificationError
from preflow.generators import grid_2d
from preflow.gridcut import policy
from preflow.gridcut.api import GridCall
from preflow.gridcut.problem import METHODS
from preflow.solving.call import Request
from preflow.solving.plan import Attempt, Plan
from tests.support.cuda_on_cpu.device import CpuDevice
from tests.support.oracles import check_grid_against_oracle
from tests.support.strategies import NEIGHBOURHOODS, SmallGrid, small_grids

ON_CPU = [method.name for method in preflow.methods("grid_cut") if method.device == "cpu"]
PARALLEL = {method.name for method in preflow.methods("grid_cut") if method.parallel}
SOURCE, SINK = np.array([[9, 4, 0], [9, 1, 0]]), np.array([[0, 3, 9], [0, 6, 9]])


#: Kernels are compiled for every number of directions: two of them here.
FEW_KERNELS = {
    1: NEIGHBOURHOODS[1],
    2: [4, [(0, 2), (1, -3)], [(2, -1), (0, 1), (3, 3)]],
    3: NEIGHBOURHOODS[3],
}


def arguments_for(method: str) -> dict[str, Any]:
    return {"method": method, "threads": 2} if method in PARALLEL else {"method": method}


def noisy_image(side: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return the capacities from the source and to the sink that segment a disc seen through noise."""
    y, x = np.mgrid[:side, :side] - side / 2
    inside = np.where(x * x + y * y < (side / 3) ** 2, 1.0, -1.0)
    data = np.rint(20 * (inside + np.random.default_rng(seed).normal(0, 1.5, inside.shape))).astype(np.int32)
    return np.maximum(data, 0), np.maximum(-data, 0)


@pytest.mark.parametrize("method", ON_CPU)
class TestEverySolver:
    """What holds for all of them."""

    @given(data=st.data())
    @settings(max_examples=60)
    def test_value_and_labels_are_those_of_the_general_solver(self, method: str, data: st.DataObject) -> None:
        grid = data.draw(small_grids(neighbourhoods=FEW_KERNELS if method in PARALLEL else NEIGHBOURHOODS))
        check_grid_against_oracle(grid, **arguments_for(method))

    @given(
        grid=small_grids(neighbourhoods=FEW_KERNELS),
        seed=st.integers(0, 2**32),
        share=st.sampled_from([0.02, 0.5]),
    )
    @settings(max_examples=25)
    def test_a_warm_start_changes_nothing_but_the_time(
        self, method: str, grid: SmallGrid, seed: int, share: float
    ) -> None:
        first = preflow.grid_cut(grid.network, **arguments_for(method))
        rng = np.random.default_rng(seed)

        def changed(values: np.ndarray) -> np.ndarray:
            here = rng.random(values.shape) < share
            return np.where(here, rng.integers(0, 60, values.shape), values)

        later = replace(
            grid, source=changed(grid.source), sink=changed(grid.sink), neighbor=changed(grid.neighbor)
        )
        sides = np.isinf(later.source) & np.isinf(later.sink)
        later.sink[sides] = 0
        check_grid_against_oracle(later, warm_start=first, **arguments_for(method))

    def test_a_warm_start_in_other_units(self, method: str) -> None:
        source, sink = noisy_image(12)
        coarse = preflow.grid_cut(source, sink, 9, **arguments_for(method))
        fine = preflow.grid_cut(source + 0.25, sink, 9.125, warm_start=coarse, **arguments_for(method))
        fine.verify()
        cold = preflow.grid_cut(source + 0.25, sink, 9.125, **arguments_for(method))
        assert fine.value == cold.value
        assert (fine.labels == cold.labels).all()
        back = preflow.grid_cut(source, sink, 9, warm_start=fine, **arguments_for(method))
        assert (back.labels == coarse.labels).all()

    def test_an_image_of_some_size(self, method: str) -> None:
        source, sink = noisy_image(150)
        image = np.random.default_rng(1).random(source.shape)
        neighbor = preflow.contrast_capacity(image, strength=40)
        result = check_grid_against_oracle(SmallGrid(source, sink, neighbor, 4), **arguments_for(method))
        assert result.stats.attempts[0].method == method

    def test_time_limit(self, method: str) -> None:
        source, sink = noisy_image(40)
        network = GridNetwork.from_arrays(source, sink, 30)
        optimum = preflow.min_cut(network.to_flow_problem()).value
        arguments = {"device": "auto", "threads": None, **arguments_for(method)}
        call = GridCall.prepare(network, Request(METHODS, **arguments))
        call.control.stop[0] = 1
        result = call.grid_cut()
        result.verify()
        assert result.lower_bound <= optimum <= result.upper_bound == result.energy
        assert result.upper_bound <= min(source.sum(), sink.sum())
        if result.status == "time-limit":
            with pytest.raises(NotOptimalError):
                _ = result.value
            assert "time limit" in repr(result)
        warm = preflow.grid_cut(network, warm_start=result, **arguments_for(method))
        assert warm.value == optimum

    def test_options_are_checked(self, method: str) -> None:
        with pytest.raises(InvalidInputError, match="no option 'speed'"):
            preflow.grid_cut(SOURCE, SINK, 2, method=method, options={"speed": 3})

    def test_counts(self, method: str) -> None:
        source, sink = noisy_image(40)
        stats = preflow.grid_cut(source, sink, 30, **arguments_for(method)).stats
        assert stats.arc_scans > 0
        assert set(stats.seconds) >= {"build", "solve"}


@pytest.mark.parametrize("method", [method for method in ON_CPU if method not in PARALLEL])
class TestWideCapacities:
    """What needs kernels for 32 and 64 bits: here those of serial solvers only, they take long to compile."""

    @pytest.mark.parametrize("factor", [1000, 10**13])
    def test_capacities_of_every_width(self, method: str, factor: int) -> None:
        rng = np.random.default_rng(0)
        source, sink = rng.integers(0, 40, (2, 9, 8)) * factor
        neighbor = rng.integers(0, 20, (2, 9, 8)) * factor
        check_grid_against_oracle(SmallGrid(source, sink, neighbor, 4), method=method)

    @given(grid=small_grids(("fractional",), most=(12, 9, 4), neighbourhoods={2: [4]}))
    @settings(max_examples=15)
    def test_fractional_capacities(self, method: str, grid: SmallGrid) -> None:
        result = preflow.grid_cut(grid.network, method=method)
        result.verify()
        general = preflow.min_cut(grid.network.to_flow_problem(), method="serial-hi-pr")
        assert result.value == pytest.approx(general.value, rel=1e-12)


SCRIPT = """
import sys
import numpy as np
import preflow
method = sys.argv[1]
rng = np.random.default_rng(0)
def solve(side):
    source, sink = np.zeros((2, side, side), np.int32)
    source[:, 0], sink[:, -1] = 10**6, 10**6
    return preflow.grid_cut(source, sink, rng.integers(1, 2000, (2, side, side)), method=method)
solve(8)
try:
    print("solving", flush=True)
    while True:
        solve(1000)
except KeyboardInterrupt:
    print("interrupted", solve(8).status, flush=True)
"""


@pytest.mark.parametrize("method", ON_CPU)
def test_ctrl_c(method: str) -> None:
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, method], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process:
        assert process.stdout.readline() == "solving\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted optimal\n"
    assert process.returncode == 0


def test_a_remark_on_colours() -> None:
    costs = np.ones((16, 16, 3), dtype=np.int64)
    with pytest.warns(UserWarning, match=r"shape \(16, 16, 3\), so the grid is a volume"):
        preflow.grid_cut(costs, costs, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        preflow.grid_cut(costs[:15], costs[:15], 1)
        preflow.grid_cut(costs[..., 0], costs[..., 0], 1)


def test_results_can_be_pickled() -> None:
    result = pickle.loads(pickle.dumps(preflow.grid_cut(SOURCE, SINK, 2)))
    result.verify()
    assert preflow.grid_cut(SOURCE, SINK, 3, warm_start=result).value == 11


@pytest.mark.parametrize("connectivity", [18, 26])
def test_volumes_with_many_neighbours(connectivity: int) -> None:
    rng = np.random.default_rng(connectivity)
    for shape, rows in (((1, 1, 1), 1), ((5, 4, 3), 1), ((5, 4, 3), 2), ((2, 5, 5), 1)):
        source, sink = rng.integers(0, 40, (2, *shape))
        neighbor = rng.integers(0, 6, (connectivity // 2 * rows, *shape))
        grid = SmallGrid(source, sink, neighbor, connectivity)
        check_grid_against_oracle(grid, method="serial-incremental-bfs")


def test_min_cut_takes_grids() -> None:
    result = preflow.min_cut(GridNetwork.from_arrays(SOURCE, SINK, 2))
    assert isinstance(result, GridCutResult)
    assert result.value == 9
    assert "2 of 6 pixels on the source side" in repr(result)
    later = preflow.min_cut(GridNetwork.from_arrays(SOURCE, SINK, 3), warm_start=result)
    later.verify()
    assert later.value == 11
    with pytest.raises(InvalidInputError, match="warm_start is for a GridNetwork"):
        preflow.min_cut(([0], [1], [1]), 0, 1, warm_start=result)
    with pytest.raises(InvalidInputError, match="give none"):
        preflow.max_flow(GridNetwork.from_arrays(SOURCE, SINK, 2), 0, 1)
    flow = preflow.max_flow(GridNetwork.from_arrays(SOURCE, SINK, 2))
    assert flow.value == 9
    flow.verify()
    with pytest.raises(InvalidInputError, match="give none"):
        preflow.min_cut(GridNetwork.from_arrays(SOURCE, SINK, 2), 0, 1)


def test_a_generated_grid_has_the_same_cut() -> None:
    problem = grid_2d(30, 20, contrast=True, seed=3)
    general = preflow.min_cut(problem)
    flat = problem.network
    source, sink = np.zeros((2, 600), np.int64)
    from_source, to_sink = flat.tail == 600, flat.head == 601
    source[flat.head[from_source]] = flat.capacity[from_source]
    sink[flat.tail[to_sink]] = flat.capacity[to_sink]
    inner = ~(from_source | to_sink)
    neighbor = np.zeros((2, 600), np.int64)
    steps = flat.head[inner].astype(np.int64) - flat.tail[inner]
    neighbor[(steps == 20).astype(int), flat.tail[inner]] = flat.capacity[inner]
    result = preflow.grid_cut(source.reshape(30, 20), sink.reshape(30, 20), neighbor.reshape(2, 30, 20))
    assert result.value == general.value
    assert (result.labels.ravel() == ~general.sink_side[:600]).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sink_capacity": None}, "sink_capacity is missing"),
        ({"neighbor_capacity": None}, "neighbor_capacity is missing"),
        ({"source_capacity": GridNetwork.from_arrays(SOURCE, SINK, 2)}, "give nothing else"),
        ({"method": "fastest"}, "unknown method 'fastest'"),
        ({"device": "tpu"}, "device must be one of"),
        ({"threads": 0}, "threads"),
        ({"time_limit": 0}, "time_limit"),
        ({"options": {"alpha": 1}}, "takes none"),
        ({"method": "serial-incremental-bfs", "threads": 2}, "one thread"),
        ({"method": "serial-incremental-bfs", "device": "cuda"}, "runs on cpu"),
        ({"warm_start": 3}, "earlier GridCutResult"),
        ({"warm_start": preflow.grid_cut(SOURCE.T, SINK.T, 2)}, r"warm_start has shape \(3, 2\)"),
        ({"warm_start": preflow.grid_cut(SOURCE, SINK, 2, connectivity=8)}, "another neighbourhood"),
        ({"progress": "yes"}, "progress"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], message: str) -> None:
    given = {"source_capacity": SOURCE, "sink_capacity": SINK, "neighbor_capacity": 2, **arguments}
    with pytest.raises(InvalidInputError, match=message):
        preflow.grid_cut(**given)


def broken(result: GridCutResult, **parts: Any) -> GridCutResult:
    return replace(result, _solution=result._solution._replace(**parts))


def test_a_wrong_result_does_not_verify() -> None:
    source, sink = noisy_image(20)
    result = preflow.grid_cut(source, sink, 30)
    result.verify()
    residual, terminal = (np.array(values) for values in result._solution[2:4])
    labels = result.labels.copy()
    labels[0, 0] = True
    forged = {
        "residual capacity": broken(result, residual=np.where(residual == residual.max(), 99, residual)),
        "negative residual": broken(result, residual=residual - 31),
        "terminal": broken(result, terminal=terminal + 1),
        "shape": broken(result, terminal=terminal[1:]),
        "labels": replace(result, labels=labels),
        "no labels": replace(result, labels=labels[1:]),
        "all one side": replace(result, labels=np.zeros_like(labels)),
        "value": replace(result, upper_bound=result.upper_bound + 1),
        "lower bound": replace(result, lower_bound=result.lower_bound - 1),
        "other capacities": replace(result, network=GridNetwork.from_arrays(source, sink, 29)),
        "other terminals": replace(result, network=GridNetwork.from_arrays(source, sink + 1, 30)),
        "fewer terminals": replace(result, network=GridNetwork.from_arrays(source, sink // 2, 30)),
    }
    for wrong in forged.values():
        with pytest.raises(VerificationError):
            wrong.verify()


def flood(
    shape: tuple[int, ...], seeds: int, *, arc: int = 10**6, demand: int = 1, inward: bool = False
) -> GridNetwork:
    """Return a grid: `seeds` pixels have a large capacity at one terminal, all others a small one."""
    few = np.zeros(shape, dtype=np.int64)
    few.reshape(-1)[np.linspace(0, few.size - 1, seeds + 2).astype(np.int64)[1:-1]] = 10**12
    many = np.where(few > 0, 0, demand)
    terminals = (many, few) if inward else (few, many)
    both_ways = np.full((2 * len(shape), *shape), arc)
    return GridNetwork.from_arrays(*terminals, both_ways, connectivity=2 * len(shape))


@pytest.mark.parametrize("inward", [False, True])
def test_few_pixels_that_supply_most_others_are_found(inward: bool) -> None:
    for shape in ((1, 20_000), (2, 60_000), (128, 128), (300, 250), (45, 45, 45)):
        assert policy.is_flood(flood(shape, 1, inward=inward))
    image = 300, 250
    assert policy.is_flood(flood(image, 30, inward=inward))
    assert not policy.is_flood(flood(image, 200, inward=inward))  # paths are short
    assert not policy.is_flood(flood(image, 1, arc=100, inward=inward))  # arcs around the seed are few
    assert not policy.is_flood(flood(image, 1, demand=0, inward=inward))
    assert not policy.is_flood(flood((100, 100), 1, inward=inward))


def test_capacities_against_the_direction_of_a_flood_do_not_count() -> None:
    grid = flood((150, 150), 1)
    seed = np.unravel_index(int(np.argmax(grid.source_capacity)), grid.shape)
    out = grid.neighbor_capacity.copy()
    out[(slice(None), *seed)] = 0
    terminals = grid.source_capacity, grid.sink_capacity
    assert not policy.is_flood(GridNetwork.from_arrays(*terminals, out, connectivity=4))
    assert policy.is_flood(GridNetwork.from_arrays(*terminals[::-1], out, connectivity=4))


@pytest.mark.parametrize("threads", [1, 2])
def test_a_flood_is_solved_by_pushes(threads: int) -> None:
    grid = flood((130, 130), 2)
    result = preflow.grid_cut(grid, threads=threads)
    result.verify()
    assert result.stats.method == "multicore-lockfree"
    assert result.value == preflow.grid_cut(grid, method="serial-incremental-bfs").value
    infinite = GridNetwork.from_arrays(
        np.where(grid.source_capacity > 0, np.inf, 0.0), np.where(grid.source_capacity > 0, np.inf, 1.0), 2.0
    )
    assert not policy.is_flood(infinite)
    assert preflow.min_cut(grid.to_flow_problem(), threads=threads).value == result.value


@pytest.mark.filterwarnings("error")
def test_choosing_where_capacities_sum_past_float64() -> None:
    image, volume = flood((130, 130), 4, arc=1), flood((40, 40, 40), 1, arc=1)
    for grid in (image, volume):
        parts = (each * 1e308 for each in (grid.source_capacity > 0, grid.sink_capacity > 0))
        huge = GridNetwork.from_arrays(*parts, grid.neighbor_capacity * 1e308, connectivity=len(grid.offsets))
        policy.choose(huge, "cpu", 1)
    both = GridNetwork.from_arrays((volume.sink_capacity > 0) * 1e308, 0, 1e308)
    assert policy.is_energy(both)


def test_searches_of_energies_go_on_for_longer() -> None:
    """Smoothed noise takes more orphans than the usual limit; push-relabel continues with seeds sooner.

    With 26 neighbours it does so soonest.
    """
    rng = np.random.default_rng(0)
    source, sink = rng.integers(0, 100, (2, 30, 40, 30))
    noise = GridNetwork.from_arrays(source, sink, 20)

    def budget(network: GridNetwork, threads: int = 1) -> float | None:
        return policy.choose(network, "cpu", threads).attempts[0].budget

    assert budget(noise) == budget(noise, 2) == policy.BUDGET_OF_ENERGIES
    inf = np.where(source > 10, source, np.inf)
    assert budget(GridNetwork.from_arrays(inf, sink, 20)) == policy.BUDGET_OF_ENERGIES
    strong = GridNetwork.from_arrays(source, sink, 3000)
    seeds = GridNetwork.from_arrays(np.where(source > 90, 9, 0), np.where(sink > 90, 9, 0), 2)
    alone = GridNetwork.from_arrays(source, sink, 0)
    small = GridNetwork.from_arrays(source[0], sink[0], 20)
    for other in (strong, seeds, alone, small):
        assert budget(other) == policy.ORPHANS_PER_ARC
    far = GridNetwork.from_arrays(source, sink, 20, connectivity=26)
    assert budget(far) == budget(far, 8) == policy.BUDGET_WITH_MANY_NEIGHBOURS


def test_auto_says_why() -> None:
    network = GridNetwork.from_arrays(SOURCE, SINK, 2)
    large = GridNetwork.from_arrays(np.broadcast_to(np.int16(1), (3000, 3000)), 1, 1)
    device = CpuDevice()
    assert policy.choose(network, "cpu", 1).method == "serial-incremental-bfs"
    assert policy.choose(network, "auto", 8, None) == Plan(
        (Attempt("serial-incremental-bfs", budget=policy.ORPHANS_PER_ARC), *policy.PUSH_RELABEL),
        "24 arcs are too few for 8 threads: incremental breadth-first search is fastest",
        threads=1,
    )
    assert policy.choose(large, "cpu", 8).method == "multicore-merging"
    assert policy.choose(large, "auto", 8, device).method == "cuda-tiled"
    assert policy.choose(network, "cuda", 8).method == "cuda-tiled"
    far = GridNetwork.from_arrays(np.broadcast_to(np.int16(1), (60, 60, 60)), 1, 1, connectivity=26)
    assert policy.choose(far, "cpu", 4).method == "multicore-merging"
    assert policy.choose(far, "cpu", 16).method == "multicore-merging"
    assert policy.choose(far, "cuda").method == "cuda-lockfree"
    assert policy.worth_a_gpu(large, 1, in_use=True)
    assert policy.worth_a_gpu(large, 1, in_use=False)
    assert not policy.worth_a_gpu(large, 64, in_use=False)
    assert not policy.worth_a_gpu(network, 1, in_use=True)


def test_without_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(DeviceUnavailableError, match="CuPy"):
        preflow.grid_cut(SOURCE, SINK, 2, device="cuda")


def energies(network: GridNetwork) -> dict[tuple[bool, ...], Fraction | float]:
    """Return the exact energy of every labelling that no infinite capacity forbids."""
    source, sink = network.source_capacity.ravel().tolist(), network.sink_capacity.ravel().tolist()
    number = np.arange(network.size).reshape(network.shape)
    arcs = []
    for pair in network.pairs():
        ends = number[pair.here].ravel().tolist(), number[pair.there].ravel().tolist()
        arcs += [(u, v, c) for u, v, c in zip(*ends, pair.forward.ravel().tolist(), strict=True)]
        arcs += [(v, u, c) for u, v, c in zip(*ends, pair.backward.ravel().tolist(), strict=True)]
    found = {}
    for labels in product([False, True], repeat=network.size):
        terms = [sink[p] if label else source[p] for p, label in enumerate(labels)]
        terms += [c for u, v, c in arcs if labels[u] and not labels[v]]
        if max(terms) < np.inf:
            found[labels] = sum(map(Fraction, terms))
    return found


WILD = [0.0, 0.1, 0.25, 1 / 3, 1.5, 7.0, 3e8, 1e18, 1e-20, 1e300, 1e-300, 5e-324]
wild = st.sampled_from(WILD) | st.floats(0, 2)


class TestExtremeCapacities:
    """Floats of very different size, integers past int64, negative capacities, and no pixels at all."""

    MOST = 2**63 - 1

    @given(data=st.data(), single=st.booleans(), negative=st.booleans())
    @settings(max_examples=60, deadline=None)
    def test_floats_are_solved_within_the_gap(
        self, data: st.DataObject, single: bool, negative: bool
    ) -> None:
        shape, dtype = (2, 3), np.float32 if single else np.float64
        terminal = wild | st.just(np.inf)
        if negative:
            terminal |= wild.map(lambda value: -value)

        def drawn(values: st.SearchStrategy[float], rows: int) -> Any:
            entries = data.draw(st.lists(values, min_size=6 * rows, max_size=6 * rows))
            most = float(np.finfo(dtype).max)
            return np.array([v if np.isinf(v) else min(max(v, -most), most) for v in entries], dtype)

        source, sink = drawn(terminal, 1).reshape(shape), drawn(terminal, 1).reshape(shape)
        sink[np.isinf(source)] = 0
        network = GridNetwork.from_arrays(source, sink, drawn(wild, 2).reshape(2, *shape))
        exact = energies(network)
        best = min(exact.values())
        result = preflow.grid_cut(network, threads=1)
        result.verify()
        gap = Fraction(result.gap)
        assert abs(Fraction(result.value) - best) <= gap
        assert 0 <= exact[tuple(result.labels.ravel().tolist())] - best <= gap
        size = best
        if network.source_capacity.min() < 0 or network.sink_capacity.min() < 0:
            size = 4 * sum(Fraction(float(abs(v))) for v in [*source.flat, *sink.flat] if v < np.inf) + best
        assert gap <= size * Fraction(2.0**-20 if single else 1e-12)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_one_huge_neighbour_capacity(self, dtype: Any) -> None:
        source, sink = np.array([[0.9, 0, 0, 0]], dtype), np.array([[0, 0, 0, 0.8]], dtype)
        for huge in (3e8, 1e18):
            neighbor = np.array([[[0.7, huge, 0.3, 0]], [[0.0] * 4]], dtype)
            result = preflow.grid_cut(source, sink, neighbor)
            result.verify()
            assert result.value == dtype(0.3)
            assert result.labels.tolist() == [[True, True, True, False]]
            assert 0 < result.gap <= 1e-12 * result.value

    @pytest.mark.parametrize("neighbor", [0.0, 1.0])
    @pytest.mark.parametrize("smallest", [1e-25, 1e-300, 5e-324])
    def test_tiny_terminals(self, neighbor: float, smallest: float) -> None:
        result = preflow.grid_cut([[0.0, 0.0]], [[1e-20, smallest]], neighbor)
        result.verify()
        assert (result.value, result.gap, result.labels.any()) == (0, 0, False)

    def test_hard_seeds_as_huge_numbers(self) -> None:
        """They say the same as infinity."""
        source, sink = np.zeros((4, 5)), np.zeros((4, 5))
        source[0, :2], sink[2, 3:] = 1, 1
        neighbor = np.random.default_rng(4).random((2, 4, 5))
        with np.errstate(invalid="ignore"):
            infinite = preflow.grid_cut(*(np.where(a > 0, np.inf, 0) for a in (source, sink)), neighbor)
        huge = preflow.grid_cut(1e18 * source, 1e18 * sink, neighbor)
        huge.verify()
        assert huge.value == infinite.value
        assert (huge.labels == infinite.labels).all()

    @pytest.mark.parametrize(
        ("source", "sink", "neighbor", "value"),
        [
            ([[MOST, 0, 0]], [[0, 0, 3]], MOST, 3),
            ([[MOST, 0, 0]], [[0, 0, MOST]], [[[MOST, 5, MOST]], [[MOST] * 3]], 5),
            ([[1, 1]], [[0, 0]], [2**62, 1], 0),
            ([[2.0**53, 0]], [[0, 2.0**53]], 2.0**53, 2**53),
        ],
    )
    def test_huge_whole_numbers_are_exact(self, source: Any, sink: Any, neighbor: Any, value: int) -> None:
        result = preflow.grid_cut(source, sink, neighbor)
        result.verify()
        assert (result.value, result.gap, type(result.value)) == (value, 0, int)

    @given(grid=small_grids(), seed=st.integers(0, 99))
    @settings(max_examples=30)
    def test_negative_terminal_capacities_are_costs(self, grid: SmallGrid, seed: int) -> None:
        """The same number added to both sides of a pixel changes the energy of every labelling by it."""
        shift = np.random.default_rng(seed).integers(-50, 3, grid.source.shape)
        given_ = preflow.grid_cut(grid.network, threads=1)
        moved = preflow.grid_cut(
            grid.source + shift,
            grid.sink + shift,
            grid.neighbor,
            connectivity=grid.connectivity,
            threads=1,
        )
        moved.verify()
        assert moved.value == moved.energy == given_.value + shift.sum()
        assert moved.gap == 0
        assert (moved.labels == given_.labels).all()

    def test_a_network_has_no_negative_capacities(self) -> None:
        network = GridNetwork.from_arrays([[1, -1]], 0, 1)
        with pytest.raises(InvalidInputError, match="use grid_cut"):
            preflow.max_flow(network)

    @pytest.mark.parametrize("dtype", [np.int64, np.float32])
    @pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (0, 0, 2)])
    def test_no_pixels(self, shape: tuple[int, ...], dtype: Any) -> None:
        empty = np.zeros(shape, dtype)
        connectivity = [(1,)] if len(shape) == 1 else None
        result = preflow.grid_cut(empty, empty, 1, connectivity=connectivity)
        result.verify()
        assert (result.value, result.gap, result.labels.shape) == (0, 0, shape)
        assert preflow.grid_cut(empty, empty, 1, connectivity=connectivity, warm_start=result).value == 0

    @pytest.mark.parametrize("neighbor", [0.5, 0.75, 0.3, 1e-30])
    def test_integer_terminals_beside_fractions(self, neighbor: float) -> None:
        result = preflow.grid_cut(np.array([[3, 0]]), np.array([[0, 3]]), neighbor)
        result.verify()
        assert result.value == pytest.approx(neighbor, rel=1e-12)
        assert result.gap <= 1e-12 * neighbor
        assert result.labels.tolist() == [[True, False]]

    def test_a_labelling_beyond_the_gap_is_refused(self) -> None:
        """A pixel whose small terminal capacity was rounded to zero may be on any side, within the gap."""
        result = preflow.grid_cut([[0.0, 0.9]], [[1e-18, 0.0]], 0.0)
        assert not result.labels[0, 0] or result.gap >= 1e-18
        worse = replace(result, labels=~result.labels)
        with pytest.raises(VerificationError):
            worse.verify()
        with pytest.raises(VerificationError, match="negative"):
            replace(preflow.grid_cut([[0.3]], [[0.1]], 0.0), _gap=-1.0).verify()

    @pytest.mark.parametrize("method", ["auto", *(m.name for m in METHODS if m.device == "cpu")])
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_the_largest_float_as_never(self, dtype: type[np.floating[Any]], method: str) -> None:
        """Seeds, and pixels that must stay together, by the largest float."""
        most = np.finfo(dtype).max
        source, sink = np.zeros((2, 3), dtype), np.zeros((2, 3), dtype)
        source[:, 0] = sink[:, 2] = most
        neighbor = np.full((2, 2, 3), 0.25, dtype)
        neighbor[0, 0, :] = neighbor[1, 0, 0] = most
        forward = GridNetwork.from_arrays(source, sink, neighbor).offsets[0]
        neighbor = neighbor if forward.tolist() == [1, 0] else neighbor[::-1]
        result = preflow.grid_cut(source, sink, neighbor, method=method)
        result.verify()
        assert (result.status, result.value) == ("optimal", 0.5)
        batch = preflow.grid_cut_batch(np.stack([source] * 2), np.stack([sink] * 2), neighbor)
        batch.verify()
        assert batch.value.tolist() == [0.5, 0.5]

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("huge", [1e7, 1e17, 1e30, -1e30])
    def test_a_huge_cost_beside_negative_ones(self, huge: float, dtype: type[np.floating[Any]]) -> None:
        """A capacity that no minimum cut has, beside a negative one, does not count for the gap."""
        rng = np.random.default_rng(6)
        for _ in range(20):
            source, sink = rng.normal(size=(2, 2, 3)).astype(dtype)
            neighbor = rng.random((2, 2, 3)).astype(dtype)
            source[0, 0], sink[1, 2] = abs(huge), huge
            network = GridNetwork.from_arrays(source, sink, neighbor)
            least = min(energies(network).values())
            terms = abs(least) + 30 if huge > 0 else abs(least)
            result = preflow.grid_cut(network)
            batch = preflow.grid_cut_batch(np.stack([source] * 2), np.stack([sink] * 2), neighbor)
            for one in (result, *batch):
                one.verify()
                assert one.status == "optimal"
                assert (
                    abs(one.value - least)
                    <= one.gap
                    <= (2.0**-18 if dtype == np.float32 else 2.0**-38) * terms
                )
            batch.verify()


@pytest.mark.parametrize("door", ["grid_cut", "grid_cut_batch", "regions"])
def test_differences_past_float64_give_no_warning(door: str) -> None:
    """A terminal capacity of -1e308 beside one of 1e308: their difference is no float."""
    source = np.array([[1e-310, 0.0, 0.5], [0.5, -1e308, 0.05]])
    sink = np.array([[0.25, 0.75, 2.0**53], [0.0, 1e308, 1e15]])
    neighbor = np.array([[[0.25, 0.5, 1e32], [0.75, 0.5, 1e308]], [[1.25, 0.0, 0.125], [0.25, 1e7, 0.25]]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if door == "grid_cut_batch":
            result: Any = preflow.grid_cut_batch(source[None], sink[None], neighbor[None])
        elif door == "regions":
            result = preflow.distributed.grid_cut(source, sink, neighbor, regions=2)
        else:
            result = preflow.grid_cut(source, sink, neighbor)
        result.verify()
    labels = np.asarray(result.labels).reshape(2, 3)
    assert result.status == "optimal"
    assert not labels[1, 1]
    assert np.ravel(result.value)[0] == -1e308
