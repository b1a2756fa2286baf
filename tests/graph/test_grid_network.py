"""Grids as users give them: shapes, neighbourhoods, dtypes, scaling to whole numbers, bad input."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import preflow
from preflow import GridNetwork
from preflow.errors import CapacityOverflowError, InvalidInputError, UnboundedFlowError
from preflow.graph.grid import DeviceGridNetwork
from preflow.graph.integer_grid import integer_grid
from preflow.graph.neighbourhood import half_neighbourhood, pair_boxes
from preflow.gridcut.solution import initial_state
from tests.support.cuda_on_cpu.arrays import OnGpu
from tests.support.strategies import SmallGrid, small_grids
from tests.support.tensors import Tensor

ZEROS = np.zeros((4, 5), dtype=np.int32)
INT64_MAX = 2**63 - 1


@pytest.mark.parametrize(
    ("ndim", "connectivity", "count"),
    [(1, 2, 1), (2, 4, 2), (2, 8, 4), (3, 6, 3), (3, 18, 9), (3, 26, 13), (2, [(1, 2)], 1)],
)
def test_neighbourhoods_have_a_forward_half(ndim: int, connectivity: Any, count: int) -> None:
    half = half_neighbourhood(ndim, connectivity)
    assert len(half) == count
    assert all(offset > (0,) * ndim for offset in half)


def test_opposites_may_be_named() -> None:
    assert half_neighbourhood(2, [(0, 1), (0, -1), (2, 1), (-2, -1)]) == [(0, 1), (2, 1)]


@given(small_grids(most=(6, 5, 4)))
@settings(max_examples=60)
def test_every_arc_leads_to_its_neighbour(grid: SmallGrid) -> None:
    network = grid.network
    general = network.to_flow_problem().network
    arcs: dict[tuple[int, int], int] = {}
    for tail, head, there, back in zip(
        general.tail.tolist(),
        general.head.tolist(),
        general.capacity.tolist(),
        general.reverse_capacity.tolist(),  # type: ignore[union-attr]
        strict=True,
    ):
        arcs[tail, head] = arcs.get((tail, head), 0) + there
        arcs[head, tail] = arcs.get((head, tail), 0) + back
    expected: dict[tuple[int, int], int] = {}
    for pixel in np.ndindex(network.shape):
        number = int(np.ravel_multi_index(pixel, network.shape))
        for ends, value in (
            ((network.size, number), grid.source[pixel]),
            ((number, network.size + 1), grid.sink[pixel]),
        ):
            expected[ends] = expected.get(ends, 0) + value
            expected[ends[::-1]] = expected.get(ends[::-1], 0)
        for direction, offset in enumerate(network.offsets):
            neighbour = tuple(np.add(pixel, offset).tolist())
            if all(0 <= i < n for i, n in zip(neighbour, network.shape, strict=True)):
                ends = (number, int(np.ravel_multi_index(neighbour, network.shape)))
                if not network.symmetric:
                    value = network.neighbor_capacity[(direction, *pixel)]
                elif direction % 2 == 0:
                    value = network.neighbor_capacity[(direction // 2, *pixel)]
                else:
                    value = network.neighbor_capacity[(direction // 2, *neighbour)]
                expected[ends] = expected.get(ends, 0) + value
    assert arcs == expected


def test_boxes_of_offsets_beyond_the_grid_are_empty() -> None:
    for offset in ((0, 9), (9, 0), (2, -9), (4, 5)):
        here, there = pair_boxes((4, 5), offset)
        assert ZEROS[here].size == ZEROS[there].size == 0
        assert ZEROS[here].shape == ZEROS[there].shape


@pytest.mark.parametrize(
    ("neighbor", "connectivity", "neighbours", "symmetric"),
    [
        (3, None, 4, True),
        (3, 8, 8, True),
        ([1, 2], None, 4, True),
        ([1, 2, 3, 4], 4, 4, False),
        ([1, 2, 3, 4], 8, 8, True),
        (np.ones((2, 4, 5), int), None, 4, True),
        (np.ones((4, 1, 5), int), 8, 8, True),
        (np.ones((8, 4, 5), int), None, 8, False),
        (np.ones((3, 4, 5), int), [(0, 1), (1, 0), (5, 5)], 6, True),
    ],
)
def test_shapes_of_neighbour_capacities(
    neighbor: Any, connectivity: Any, neighbours: int, symmetric: bool
) -> None:
    network = GridNetwork.from_arrays(ZEROS, 0, neighbor, connectivity=connectivity)
    assert len(network.offsets) == neighbours
    assert network.symmetric == symmetric
    assert network.neighbor_capacity.shape == (neighbours // (1 + symmetric), 4, 5)
    assert f"4 x 5, {neighbours} neighbours" in repr(network)


@pytest.mark.parametrize(
    ("arguments", "connectivity", "message"),
    [
        ((0, 0, 1), None, "scalars"),
        ((ZEROS, ZEROS[:3], 1), None, r"\(4, 5\), sink_capacity has shape \(3, 5\)"),
        ((ZEROS, 0, np.ones((2, 4, 6))), None, r"\(2, 4, 6\), the grid has shape \(4, 5\)"),
        ((ZEROS, 0, np.ones((4, 5))), None, "expected a scalar"),
        ((ZEROS, 0, np.ones((3, 4, 5))), None, "first axis of length 3, which fits no"),
        ((ZEROS, 0, np.ones((4, 4, 5))), None, "say connectivity"),
        ((ZEROS, 0, np.ones((2, 4, 5))), 8, "expected 4, one for every two opposite directions, or 8"),
        ((ZEROS, 0, 1), 6, "connectivity is 4 or 8 in 2 dimensions"),
        ((ZEROS, 0, 1), "4", "number of neighbours or a list"),
        ((ZEROS, 0, 1), True, "number of neighbours or a list"),
        ((ZEROS, 0, 1), np.array(4), "number of neighbours or a list"),
        ((ZEROS, 0, 1), [], "at least one"),
        ((ZEROS, 0, 1), [(0, 1, 0)], "2 integers"),
        ((ZEROS, 0, 1), [(0, 1.5)], "2 integers"),
        ((ZEROS, 0, 1), [3], "2 integers"),
        ((ZEROS, 0, 1), [(0, 0)], "its own neighbour"),
        ((ZEROS, 0, 1), [(0, 2**40)], "beyond"),
        ((ZEROS, 0, 1), [(0, 1), (0, 1)], "twice"),
        ((ZEROS, 0, 1), [(0, 1), (-1, 0)], r"\(-1, 0\) points backward"),
        ((ZEROS, 0, -1), None, r"neighbor_capacity\[0\] is negative: -1 at \(0, 0\)"),
        ((ZEROS - np.inf, 0, 1), None, r"source_capacity is negative: -inf at \(0, 0\)"),
        ((ZEROS, np.nan, 1), None, "sink_capacity is NaN"),
        (
            (ZEROS, 0, [[[1.0, np.nan, 1.0, 1.0, 1.0]]] * 2),
            None,
            r"neighbor_capacity\[0\] is NaN at \(0, 1\)",
        ),
        ((ZEROS, 0, np.inf), None, "infinite"),
        ((ZEROS, 0, [[1], [1, 2]]), None, "not an array"),
        ((ZEROS.astype(complex), 0, 1), None, "complex128"),
        ((np.ma.masked_equal(ZEROS, 0), 0, 1), None, "masked"),
    ],
)
def test_bad_input(arguments: Any, connectivity: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        GridNetwork.from_arrays(*arguments, connectivity=connectivity)


def test_masks_are_capacities_of_one() -> None:
    mask = np.array([[True, True, False, False]])
    result = preflow.grid_cut(mask, ~mask, [mask, mask])
    result.verify()
    assert result.value == result.energy == 1
    assert result.labels.tolist() == [[True, True, True, False]]


@pytest.mark.parametrize("method", ["serial-incremental-bfs", "multicore-merging"])
def test_offsets_beyond_the_grid_take_no_memory(method: str) -> None:
    source, sink = np.random.default_rng(0).integers(0, 9, (2, 6, 7))
    far = [(2**30, 1), (0, 1), (0, 2**31 - 1), (1, 0), (6, 0), (0, 7)]
    result = preflow.grid_cut(source, sink, 3, connectivity=far, method=method)
    result.verify()
    assert result.value == preflow.grid_cut(source, sink, 3).value


def test_what_leaves_the_grid_may_be_anything() -> None:
    neighbor = np.full((2, 2, 3), np.nan)
    neighbor[0, :, :2] = 1
    neighbor[1, :1] = 2
    grid = integer_grid(GridNetwork.from_arrays(np.zeros((2, 3)), 0, neighbor))
    assert grid.largest_neighbor == 2
    assert grid.neighbor.tolist() == [[[1, 1, 0], [1, 1, 0]], [[2, 2, 2], [0, 0, 0]]]


@pytest.mark.parametrize(
    ("dtype", "kept"),
    [
        ("?", "i2"),
        ("u1", "i2"),
        ("i1", "i2"),
        ("u2", "i4"),
        ("u4", "i8"),
        ("u8", "i8"),
        ("f2", "f4"),
        (">i4", "i4"),
    ],
)
def test_dtypes_are_kept_or_widened(dtype: str, kept: str) -> None:
    network = GridNetwork.from_arrays(ZEROS.astype(dtype), 0, 1)
    assert network.source_capacity.dtype == np.dtype(kept)
    with pytest.raises(ValueError, match="read-only"):
        network.source_capacity[0, 0] = 1


def test_arrays_are_not_copied() -> None:
    for dtype in (np.int16, np.int32, np.int64):
        source = ZEROS.astype(dtype)
        grid = integer_grid(GridNetwork.from_arrays(source, source, np.ones((2, 4, 5), dtype)))
        assert np.shares_memory(grid.source, source)
    assert not any(integer_grid(GridNetwork.from_arrays(ZEROS, 0, 1.0)).neighbor.strides[1:])


def test_limits_come_from_a_gpu_together() -> None:
    network = GridNetwork.from_arrays(np.arange(6).reshape(2, 3), 2.5, [1, 2**62])
    assert network.limits == ((0, 5), (2.5, 2.5), (1, 1), (2**62, 2**62))
    pairs = [np.array([0, 5], np.int16), np.array([2.5, np.nan]), np.array([1, 2**62])]
    assert [pair.tolist() for pair in network._fetched(pairs)[::2]] == [[0, 5], [1, 2**62]]


def test_dtypes_are_as_small_as_the_numbers() -> None:
    def dtypes(source: Any, neighbor: Any) -> tuple[str, str]:
        grid = integer_grid(GridNetwork.from_arrays(np.full((3, 3), source), 0, neighbor))
        return grid.residual_dtype.name, grid.excess_dtype.name

    assert dtypes(10**6, 16383) == ("int16", "int32")
    assert dtypes(10**6, 16384) == ("int32", "int32")
    assert dtypes(10**6, 2**30) == ("int64", "int64")
    assert dtypes(2**62, 5) == ("int16", "int32")
    assert dtypes(np.inf, 0.5) == ("int16", "int32")
    assert dtypes(0.1, 0.1) == ("int64", "int64")
    assert dtypes(np.float32(0.1), np.float32(0.1)) == ("int32", "int32")
    one_way = np.array([20000, 12767, 1, 1]).reshape(4, 1, 1)
    grid = integer_grid(GridNetwork.from_arrays(ZEROS, 0, one_way, connectivity=4))
    assert grid.residual_dtype == np.int16


def test_fractions_of_two_are_scaled_exactly() -> None:
    grid = integer_grid(GridNetwork.from_arrays([[0.75, 0.0]], [[0.0, 0.5]], 0.625))
    assert grid.scale_exponent == 3
    assert (grid.source.tolist(), grid.sink.tolist()) == ([[6, 0]], [[0, 4]])
    assert grid.neighbor[0, 0, 0] == 5


def test_terminals_beyond_all_arcs_are_cut_off() -> None:
    grid = integer_grid(GridNetwork.from_arrays([[2**61, 7]], [[2**60, 9]], 3))
    assert grid.reduced
    assert grid.constant_flow == 2**60 + 7
    assert (grid.source.tolist(), grid.sink.tolist()) == ([[4, 0]], [[0, 2]])


H = 2**62


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([[np.inf, 1]], [[np.inf, 1]], 1), UnboundedFlowError, r"pixel \(0, 0\)"),
        (([[H, H, 0, 0]], [[0, 0, H, H]], H - 1), CapacityOverflowError, "sum past int64"),
        (([[H, -H]], 0, 1), CapacityOverflowError, "some are negative"),
        (([[1, 1]], 0, np.array([2**63, 1], np.uint64)), CapacityOverflowError, "does not fit int64"),
        (([[0.5, 1.0]], 0, 2**60), CapacityOverflowError, "mix floats with integers"),
        (([[1e308] * 3], [[1e308] * 3], 1), CapacityOverflowError, "of all pixels sum past float64"),
    ],
)
def test_what_fits_no_integers(arguments: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        preflow.grid_cut(*arguments)


@pytest.mark.filterwarnings("error")
def test_flow_of_huge_floats_starts_a_solve_of_tiny_ones() -> None:
    source, sink = np.random.default_rng(0).integers(0, 20, (2, 5, 6))
    plain = preflow.grid_cut(source, sink, 3)
    result = plain
    for factor in (1e200, 1e-200, 1e200):
        result = preflow.grid_cut(source * factor, sink * factor, 3 * factor, warm_start=result)
        result.verify()
        assert result.value == pytest.approx(plain.value * factor)


def test_small_beside_huge_floats_keep_their_digits() -> None:
    result = preflow.grid_cut([[1e300, 0.0, 1e-3]], [[0.0, 1e-3, 1e300]], [1e-3, 1.0])
    result.verify()
    assert result.labels.tolist() == [[True, False, False]]
    assert result.value == pytest.approx(2e-3)


@given(small_grids(most=(9, 6, 3)))
@settings(max_examples=30)
def test_initial_state_of_a_flow_is_cut_off_at_the_capacities(grid: SmallGrid) -> None:
    solved = integer_grid(grid.network)
    residual, terminal = initial_state(solved, None)
    assert residual.dtype == solved.residual_dtype
    assert terminal.dtype == solved.excess_dtype
    assert (terminal == solved.source.astype(np.int64) - solved.sink).all()
    for number, pair in enumerate(solved.pairs()):
        assert (residual[2 * number][pair.here] == pair.forward).all()
        assert (residual[2 * number + 1][pair.there] == pair.backward).all()


@pytest.mark.usefixtures("cpu_device")
class TestOnDevice:
    """Arrays that say they are on a GPU; CPU threads stand for it."""

    def test_a_grid_stays_there(self) -> None:
        network = GridNetwork.from_arrays(OnGpu(ZEROS), 0, OnGpu(np.ones((2, 4, 5), np.int16)))
        assert isinstance(network, DeviceGridNetwork)
        assert network.on_host().shape == (4, 5)
        assert type(network.on_host()) is GridNetwork

    def test_results_are_of_the_same_kind(self) -> None:
        source, sink = np.array([[9, 4, 0]]), np.array([[0, 3, 9]])
        ones = preflow.grid_cut(OnGpu(source > 3), OnGpu(sink > 3), True, device="cpu")
        assert ones.value == 1
        result = preflow.grid_cut(OnGpu(source), OnGpu(sink), 2, device="cpu")
        assert isinstance(result.labels, OnGpu)
        assert result.labels.values.tolist() == [[True, True, False]]
        result.verify()
        assert result.value == result.energy == 5

    def test_flow_goes_from_host_to_device_and_back(self) -> None:
        source, sink = np.random.default_rng(0).integers(0, 20, (2, 5, 6))
        network = GridNetwork.from_arrays(source, sink, 7)
        there = GridNetwork.from_arrays(OnGpu(source), OnGpu(sink), 7)
        first = preflow.grid_cut(network)
        second = preflow.grid_cut(network, method="cuda-lockfree", warm_start=first)
        third = preflow.grid_cut(there, method="cuda-lockfree", warm_start=second)
        fourth = preflow.grid_cut(there, device="cpu", warm_start=third)
        assert isinstance(second.labels, np.ndarray)
        assert set(second.stats.seconds) == {"build", "upload", "solve", "download", "recover"}
        for result in (first, second, third, fourth):
            result.verify()
            assert result.value == first.value
            assert (network.to_host(getattr(result.labels, "values", result.labels)) == first.labels).all()
        assert not second.stats.pushes
        assert isinstance(third.labels, OnGpu)

    def test_arrays_elsewhere_are_an_error(self) -> None:
        with pytest.raises(InvalidInputError, match="sink_capacity is not on the GPU"):
            GridNetwork.from_arrays(OnGpu(ZEROS), ZEROS, 1)
        with pytest.raises(InvalidInputError, match="is on GPU 1"):
            GridNetwork.from_arrays(OnGpu(ZEROS), OnGpu(ZEROS, 1), 1)

    def test_contrast_of_an_image_there(self) -> None:
        image = np.arange(12.0).reshape(3, 4) ** 2
        there = preflow.contrast_capacity(OnGpu(image), connectivity=8)
        assert isinstance(there, OnGpu)
        assert (there.values == preflow.contrast_capacity(image, connectivity=8)).all()


class TestTensors:
    """Arrays of another library, on the host."""

    def test_results_are_of_the_same_kind(self) -> None:
        source, sink = np.array([[9, 4, 0]]), np.array([[0, 3, 9]], np.int16)
        for first in (Tensor(source), source):
            result = preflow.grid_cut(first, Tensor(sink), Tensor(np.array(2)))
            assert isinstance(result.labels, Tensor)
            assert result.labels.values.tolist() == [[True, True, False]]
            result.verify()
            assert result.value == result.energy == 5
            assert "2 of 3 pixels" in repr(result)
        again = preflow.min_cut(result.network, warm_start=preflow.grid_cut(source, sink, 1))
        assert isinstance(again.labels, Tensor)
        again.verify()

    def test_contrast_of_an_image(self) -> None:
        image = np.arange(12.0).reshape(3, 4) ** 2
        capacity = preflow.contrast_capacity(Tensor(image))
        assert isinstance(capacity, Tensor)
        assert (capacity.values == preflow.contrast_capacity(image)).all()

    def test_what_cannot_be_read_is_an_error(self) -> None:
        with pytest.raises(InvalidInputError, match="source_capacity is not an array"):
            GridNetwork.from_arrays(Tensor(np.array([["a"]])), 1, 1)
        with pytest.raises(InvalidInputError, match="neighbor_capacity must hold integers or floats"):
            GridNetwork.from_arrays(Tensor(ZEROS), 1, Tensor(np.ones(2, np.complex64)))


@pytest.mark.parametrize("spacing", [(3, 1, 1), (0.5, 0.25, 2.0), np.float32([2, 2, 2])])
def test_contrast_falls_with_the_distance_in_space(spacing: Any) -> None:
    image = np.random.default_rng(0).normal(size=(2, 3, 3))
    capacity = preflow.contrast_capacity(image, strength=1e6, sigma=1.5, connectivity=26, spacing=spacing)
    shortest = min(map(float, spacing))
    for row, offset in zip(capacity, half_neighbourhood(3, 26), strict=True):
        for here in np.ndindex(image.shape):
            there = tuple(i + step for i, step in zip(here, offset, strict=True))
            if any(not 0 <= i < n for i, n in zip(there, image.shape, strict=True)):
                assert row[here] == 0
                continue
            length = math.sqrt(sum((step * side) ** 2 for step, side in zip(offset, spacing, strict=True)))
            height = 1e6 * math.exp(-((image[here] - image[there]) ** 2) / (2 * 1.5**2))
            assert abs(row[here] - height / (length / shortest)) <= 1


def test_only_the_ratios_of_spacing_matter() -> None:
    image = np.random.default_rng(0).normal(size=(4, 5))
    plain = preflow.contrast_capacity(image, connectivity=8)
    assert (preflow.contrast_capacity(image, connectivity=8, spacing=(0.3, 0.3)) == plain).all()
    metres, feet = (preflow.contrast_capacity(image, spacing=sides) for sides in ((1, 2), (3.28, 6.56)))
    assert (metres == feet).all()
    assert (metres != preflow.contrast_capacity(image)).any()


@pytest.mark.parametrize(
    "spacing", [2, (1,), (1, 2, 3), (1, 0), (1, -1), (1, np.inf), (1, np.nan), "ab", (1, "b")]
)
def test_bad_spacing(spacing: Any) -> None:
    with pytest.raises(InvalidInputError, match="spacing"):
        preflow.contrast_capacity(np.zeros((3, 3)), spacing=spacing)


def test_spacing_too_different() -> None:
    with pytest.raises(InvalidInputError, match="too different"):
        preflow.contrast_capacity(np.zeros((3, 3)), spacing=(1e-300, 1e300))


def test_contrast_capacity() -> None:
    rng = np.random.default_rng(0)
    image = rng.random((5, 6, 3))
    capacity = preflow.contrast_capacity(image, strength=1e5, sigma=0.5, connectivity=8, channel_axis=-1)
    assert capacity.shape == (4, 5, 6)
    assert capacity.dtype == np.int32
    difference = image[1, 2] - image[2, 1]
    expected = 1e5 * np.exp(-difference @ difference / 0.5) / np.sqrt(2)
    assert capacity[1, 1, 2] == round(expected)
    assert not capacity[1, :, 0].any()
    steps = preflow.contrast_capacity([[0, 0, 1]], sigma=1e-300)
    assert steps[0].tolist() == [[100, 0, 0]]
    flat = preflow.contrast_capacity(np.ones((3, 4, 5)), connectivity=26)
    assert flat.shape == (13, 3, 4, 5)
    assert flat.dtype == np.int16


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"image": [[np.nan]]}, "not finite"),
        ({"image": []}, "no pixels"),
        ({"image": "picture"}, "not an array of numbers"),
        ({"image": [[1, 2]], "sigma": 0}, "sigma"),
        ({"image": [[1, 2]], "strength": -1}, "strength"),
        ({"image": [[1, 2]], "connectivity": 6}, "connectivity is 4 or 8"),
        ({"image": [[1, 2]], "channel_axis": 2}, "no axis 2"),
        ({"image": [[1, 2]], "channel_axis": "last"}, "channel_axis must be an integer"),
        ({"image": [[1, 2]], "sigma": "wide"}, "sigma must be a positive number"),
        ({"image": [[1j, 2]]}, "not an array of numbers"),
        ({"image": np.ma.masked_equal([[1, 2]], 1)}, "masked"),
        ({"image": [[1e200, 2]]}, "whose squares overflow"),
    ],
)
def test_bad_contrast(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        preflow.contrast_capacity(**arguments)
