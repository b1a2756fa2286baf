"""Costs of assignments in the memory of a GPU: taken, checked there, solved and given back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import preflow
from preflow.cuda import runtime
from preflow.errors import DeviceMemoryError, InvalidInputError
from preflow.graph.cost_input import as_costs
from preflow.graph.device.costs import DeviceCosts, copied_to_device
from tests.support.cuda_on_cpu.arrays import OnGpu
from tests.support.cuda_on_cpu.device import CpuDevice

pytestmark = pytest.mark.usefixtures("cpu_device")

DTYPES = {
    "i1": "i4", "u1": "i4", "?": "i4", "i2": "i4", "u2": "i4", "i4": "i4", "u4": "i8", "i8": "i8", "u8": "i8",
    "f2": "f4", "f4": "f4", "f8": "f8",
}  # fmt: skip


def taken(values: Any, maximize: bool = False, sizes: Any = None) -> DeviceCosts:
    costs = as_costs(OnGpu(values), maximize, sizes)
    assert isinstance(costs, DeviceCosts)
    return costs


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(dtype: str) -> None:
    values = np.random.default_rng(0).integers(0, 2 if dtype == "?" else 100, (2, 3, 4)).astype(dtype)
    costs = taken(values)
    assert costs.values.dtype == np.dtype(DTYPES[dtype])
    assert costs.leading == (2,)
    assert np.array_equal(costs.values, values)
    assert costs.extent == (values.min(), values.max(), False, (False, False))
    assert np.array_equal(costs.on_host().values, values)


@given(
    numbers=st.lists(st.floats(allow_nan=True, allow_infinity=True, width=32), max_size=80),
    dtype=st.sampled_from(["f4", "f8"]),
)
@settings(max_examples=30)
def test_extent_of_floats(numbers: list[float], dtype: str) -> None:
    values = np.array(numbers, dtype=dtype).reshape(1, 1, -1)
    costs = DeviceCosts(values, device=runtime.find_device(), restore=None)
    finite = values[np.isfinite(values)]
    least, most = (finite.min(), finite.max()) if finite.size else (0, 0)
    has_nan, infinite = np.isnan(values).any(), ((values == -np.inf).any(), (values == np.inf).any())
    assert costs.extent == (least, most, has_nan, infinite)


@pytest.mark.parametrize("dtype", ["i4", "i8", "f4", "f8"])
def test_extent_within_sizes(dtype: str) -> None:
    values = np.random.default_rng(0).integers(-99, 100, (7, 3, 4)).astype(dtype)
    sizes = np.random.default_rng(1).integers(0, [4, 5], (7, 2))
    for item, (n, m) in enumerate(sizes):
        values[item, n:] = values[item, :, m:] = 2**31 - 1 if dtype[0] == "i" else np.nan
    costs = taken(values, sizes=sizes)
    inside = np.concatenate([costs.one_on_host(item).values.reshape(-1) for item in range(7)])
    assert costs.extent == (inside.min(), inside.max(), False, (False, False))
    assert taken(values, sizes=OnGpu(sizes)).sizes.tolist() == sizes.tolist()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[np.nan, 1.0]], "NaN"),
        ([[-np.inf, 1.0]], "a cost is -inf"),
        ([[2**60]], r"2\*\*59"),
        (np.array([[2**63]], dtype=np.uint64), r"2\*\*59"),
        ([[1e308, 1e308], [1e308, 1e308]], "add up to more than float64 can hold"),
        ([1.0], "two dimensions"),
        ([[1j]], "integers or floats"),
    ],
)
def test_bad_costs(values: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        preflow.linear_assignment(OnGpu(values))


def test_floats_too_large_to_be_added_up_go_to_the_host() -> None:
    result = preflow.linear_assignment(OnGpu([[1e300, 1.0], [1.0, 1.0]]))
    result.verify()
    assert (result.cost, result.stats.method) == (2.0, "serial-shortest-path")
    assert "costs too large to be added up" in result.stats.reason


def test_infinity_is_checked_by_the_direction() -> None:
    assert taken([[np.inf, 1.0]]).extent.infinite == (False, True)
    assert taken([[-np.inf, 1.0]], maximize=True).extent.infinite == (True, False)
    with pytest.raises(InvalidInputError, match="a cost is inf"):
        taken([[np.inf, 1.0]], maximize=True)


@pytest.mark.fast
def test_on_the_wrong_gpu_or_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInputError, match="cost is on GPU 1, and GPU 0 is the current one"):
        preflow.linear_assignment(OnGpu([[1]], 1))
    host = as_costs(np.eye(5), False)
    with pytest.raises(DeviceMemoryError, match="take 200 bytes on the GPU"):
        copied_to_device(host, CpuDevice(free_bytes=199))  # type: ignore[arg-type]


@pytest.mark.parametrize("maximize", [False, True])
def test_costs_to_minimize(maximize: bool) -> None:
    values = np.random.default_rng(0).random((3, 5, 4))
    sizes = np.array([[5, 4], [2, 1], [0, 3]])
    costs = taken(values, maximize, sizes).to_minimize()
    assert not costs.maximize
    assert np.array_equal(costs.values, (-values if maximize else values).swapaxes(1, 2))
    assert np.array_equal(costs.sizes, sizes[:, ::-1])


@pytest.mark.parametrize("shape", [(5, 5), (3, 4, 6), (0, 3, 3)])
def test_methods_on_the_cpu_take_a_copy(shape: tuple[int, ...]) -> None:
    values = np.random.default_rng(0).random(shape).astype(np.float32)
    result = preflow.linear_assignment(OnGpu(values), device="cpu")
    expected = preflow.linear_assignment(values)
    result.verify()
    assert "download" in result.stats.seconds
    for name in ("row", "column", "u", "v"):
        assert isinstance(getattr(result, name), OnGpu)
        assert np.array_equal(getattr(result, name).values, getattr(expected, name))


@pytest.mark.parametrize("sanitizer", ["address", "thread"])
def test_sanitizers_have_nothing_to_report(sanitizer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    device = CpuDevice(sanitizer=sanitizer)
    monkeypatch.setattr(runtime, "find_device", lambda: device)
    values = np.random.default_rng(0).random((3, 8, 9))
    for sizes in (None, [[8, 9], [3, 4], [0, 1]]):
        assert taken(values, sizes=sizes).extent.most < 1


@pytest.mark.gpu
@pytest.mark.parametrize("library", ["cupy", "torch"])
def test_arrays_of_libraries_on_a_gpu(gpu: runtime.Device, library: str) -> None:
    module = pytest.importorskip(library)
    values = np.random.default_rng(0).random((3, 8, 9)).astype(np.float32)
    there = gpu.xp.asarray(values) if library == "cupy" else module.from_numpy(values).cuda()
    result = preflow.linear_assignment(there, device="cpu")
    result.verify()
    assert type(result.row) is type(result.v) is type(there)
    assert np.allclose(gpu.to_host(gpu.from_dlpack(result.cost)), preflow.linear_assignment(values).cost)
