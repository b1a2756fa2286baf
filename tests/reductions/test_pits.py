"""Ultimate pits, against all pits and against stored precedences."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from preflow import reductions
from preflow.errors import CapacityOverflowError, InvalidInputError, NotOptimalError, VerificationError
from preflow.generators import block_values
from preflow.graph.block_model import BlockLayout, precedence_pattern
from preflow.progress import ProgressReport
from preflow.reductions import UltimatePit, pits, select_projects, ultimate_pit
from preflow.solving.run import Control

pytestmark = pytest.mark.fast


def in_cone(
    offset: tuple[int, ...], slope: float | dict[float, float], size: tuple[float, float, float]
) -> bool:
    """Return whether a block with this offset must be taken before another one, by its definition."""
    east, north, up = (count * side for count, side in zip(offset, size, strict=True))
    angle = slope
    if isinstance(slope, dict):
        bearing = math.degrees(math.atan2(east, north)) % 360
        known = sorted(slope.items())
        around = [(known[-1][0] - 360, known[-1][1]), *known, (known[0][0] + 360, known[0][1])]
        for (low, one), (high, other) in pairwise(around):
            if low <= bearing <= high:
                angle = one + (other - one) * (bearing - low) / (high - low)
                break
    assert not isinstance(angle, dict)
    return up > 0 and math.hypot(east, north) * math.tan(math.radians(angle)) <= up + 1e-7


def requirements(
    shape: tuple[int, ...], slope: float | dict[float, float], size: tuple[float, float, float]
) -> list[tuple[int, int]]:
    """Return the pairs of blocks of which one requires the other, each with all of its cone."""
    blocks = list(product(*map(range, shape)))
    return [
        (i, j)
        for i, one in enumerate(blocks)
        for j, other in enumerate(blocks)
        if in_cone(tuple(b - a for a, b in zip(one, other, strict=True)), slope, size)
    ]


def arcs_of(shape: Any, pattern: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the pairs of blocks that a pattern joins, shape (k, 2)."""
    layout = BlockLayout(shape, pattern)
    number = layout.spread(np.arange(math.prod(shape)).reshape(shape), outside=-1)
    arcs = np.concatenate([np.zeros((2, 0), int), *map(np.array, layout.pairs(number))], axis=1)
    return arcs[:, (arcs >= 0).all(axis=0)].T


SHAPES = st.sampled_from([(1, 1, 1), (1, 1, 4), (3, 1, 3), (2, 3, 2), (5, 1, 2), (4, 3, 3), (6, 5, 4)])
SIZES = st.sampled_from([(1.0, 1.0, 1.0), (10.0, 10.0, 5.0), (4.0, 7.0, 5.0), (1.0, 3.0, 2.0)])


@st.composite
def models(draw: st.DrawFn) -> tuple[NDArray[Any], float, tuple[float, float, float]]:
    """Draw values of blocks, a slope, and the size of a block."""
    shape = draw(SHAPES)
    count = math.prod(shape)
    numbers = draw(
        st.lists(st.integers(-9, 12), min_size=count, max_size=count)
        | st.lists(st.sampled_from([-2, -1, 0, 0, 1, 3]), min_size=count, max_size=count)
        | st.lists(st.sampled_from([-1.5, -0.1, 0.0, 0.3, 2.7]), min_size=count, max_size=count)
    )
    return (
        np.array(numbers).reshape(shape),
        draw(st.sampled_from([25.0, 45.0, 60.0, 88.0, 90.0])),
        draw(SIZES),
    )


@settings(max_examples=100, deadline=None)
@given(models(), st.sampled_from(["smallest", "largest"]))
def test_against_stored_precedences(
    model: tuple[NDArray[Any], float, tuple[float, float, float]], closure: Any
) -> None:
    values, slope, size = model
    pit = ultimate_pit(values, slope=slope, block_size=size, closure=closure)
    pit.verify()
    pairs = np.array(requirements(values.shape, slope, size), dtype=np.int64).reshape(-1, 2)
    stored = select_projects(values.ravel(), pairs, closure=closure)
    assert pit.value == pytest.approx(stored.profit)
    if values.dtype.kind == "i":
        assert (pit.value, pit.gap) == (stored.profit, 0)
        np.testing.assert_array_equal(pit.mask.ravel(), stored.selected)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(-3, 4), min_size=9, max_size=9), st.lists(st.booleans(), min_size=9, max_size=9))
def test_against_all_pits(numbers: list[int], airy: list[bool]) -> None:
    values, air = np.array(numbers).reshape(3, 1, 3), np.array(airy).reshape(3, 1, 3)
    pairs = requirements(values.shape, 45, (1, 1, 1))
    free = np.where(air, 0, values).ravel()
    pits = [
        np.array(chosen)
        for chosen in product([False, True], repeat=9)
        if all(chosen[j] or not chosen[i] for i, j in pairs)
    ]
    best = max(free[pit].sum() for pit in pits)
    optimal = [pit for pit in pits if free[pit].sum() == best]
    for closure, extreme in (("smallest", np.logical_and), ("largest", np.logical_or)):
        masked = np.ma.masked_array(values, mask=air)
        pit = ultimate_pit(masked, closure=closure)  # type: ignore[arg-type]
        pit.verify()
        assert pit.value == best
        np.testing.assert_array_equal(pit.mask.ravel(), extreme.reduce(optimal) & ~air.ravel())
    floats = np.where(air, np.nan, values.astype(float))
    np.testing.assert_array_equal(ultimate_pit(floats, closure="largest").mask, pit.mask)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 7),
    SIZES,
    st.floats(15, 85)
    | st.dictionaries(st.sampled_from([0.0, 45.0, 90.0, 200.0, 300.0]), st.floats(30, 80), min_size=1),
)
def test_chains_of_the_pattern_are_the_cone(
    height: int, size: tuple[float, float, float], slope: float | dict[float, float]
) -> None:
    """In a box with a block in each corner, chains that stay in the box lead to all of its cone."""
    shape = (5, 4, height)
    pattern = precedence_pattern(slope, size, shape)
    pairs = set(requirements(shape, slope, size))
    arcs = [(int(tail), int(head)) for tail, head in arcs_of(shape, pattern)]
    assert set(arcs) <= pairs
    leads = np.eye(math.prod(shape), dtype=bool)
    for tail, head in sorted(arcs, key=lambda arc: -(arc[0] % height)):
        leads[tail] |= leads[head]
    found = {(int(i), int(j)) for i, j in np.argwhere(leads) if i != j}
    assert pairs <= found
    if not isinstance(slope, dict):
        assert found == pairs


def test_slopes_by_bearing() -> None:
    values = np.full((9, 9, 3), -1)
    values[4, 4, 0] = 1000
    for slope in ({0: 45, 90: 70, 180: 45, 270: 70}, {90: 30, 270: 80}):
        pit = ultimate_pit(values, slope=slope)
        pit.verify()
        cone = np.zeros(values.shape, dtype=bool)
        for offset in product(range(-4, 5), range(-4, 5), range(3)):
            cone[4 + offset[0], 4 + offset[1], offset[2]] = in_cone(offset, slope, (1, 1, 1))
        cone[4, 4, 0] = True
        assert (pit.mask | ~cone).all()
        columns = pit.mask.any(axis=2)
        assert columns[:, 4].sum() != columns[4].sum()
    east, west = ultimate_pit(values, slope={90: 30, 270: 80}).mask.any(axis=(1, 2))[[8, 0]]
    assert (east, west) == (False, False) or east  # the flat wall is the eastern one
    assert ultimate_pit(values, slope={90: 30, 270: 80}).mask[5:].sum() > pit.mask[:4].sum()


def test_a_larger_model() -> None:
    random = np.random.default_rng(5)
    for seed in range(6):
        values = random.integers(-10, 6, (14, 13, 7)) + 12 * (random.random((14, 13, 7)) < 0.2)
        for closure in ("smallest", "largest"):
            pit = ultimate_pit(values, slope=[45, 55][seed % 2], closure=closure)  # type: ignore[arg-type]
            pit.verify()
            stored = select_projects(values.ravel(), arcs_of(values.shape, pit.pattern), closure=closure)  # type: ignore[arg-type]
            np.testing.assert_array_equal(pit.mask.ravel(), stored.selected)
            assert 0 < pit.value == stored.profit
    assert pit.stats.pushes > 0
    assert pit.stats.relabels > 0
    np.testing.assert_array_equal(
        ultimate_pit(values[:, :, ::-1].copy()[:, :, ::-1]).mask, ultimate_pit(values).mask
    )


def test_numbers_of_any_size() -> None:
    values = np.array([[[2**60, -(2**59)]]])
    assert ultimate_pit(values).value == 2**59
    with pytest.raises(CapacityOverflowError, match="give floats"):
        ultimate_pit(values * 2)
    for factor in (1e-300, 1e290):
        pit = ultimate_pit(values * factor)
        pit.verify()
        assert pit.value == pytest.approx(2**59 * factor)
    with pytest.raises(CapacityOverflowError, match="divide"):
        ultimate_pit([[[1.7e308, -1.7e308]]])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(values=[[1, 2]]), "shape .nx, ny, nz., with no 0"),
        (dict(values=[[[np.inf]]]), "not finite"),
        (dict(slope=0), "above 0 and at most 90"),
        (dict(slope=95), "above 0 and at most 90"),
        (dict(slope={}), "different bearings"),
        (dict(slope={0: 45, 360: 50}), "different bearings"),
        (dict(slope="steep"), "slope must be a number"),
        (dict(block_size=10), "three numbers"),
        (dict(block_size=(1, 1, 0)), "positive"),
        (dict(closure="least"), "'largest' or 'smallest'"),
    ],
)
def test_refusals(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        ultimate_pit(**({"values": np.zeros((2, 2, 2))} | arguments))


def test_wrong_pits_are_refused() -> None:
    values = np.full((5, 5, 3), -1)
    values[2, 2, 0] = 30
    pit = ultimate_pit(values)
    mask = pit.mask.copy()
    mask[2, 2, 2] = False
    tail, arc, amount = pit._flow
    wrong: list[tuple[dict[str, Any], str]] = [
        (dict(mask=mask), "smallest one"),
        (dict(mask=np.zeros_like(mask), lower_bound=0), "smallest one"),
        (dict(lower_bound=pit.value + 1), "has the value"),
        (dict(upper_bound=pit.value + 1), "an upper bound"),
        (dict(status="best"), "status must be"),
        (dict(closure="largest", mask=np.ones_like(mask)), "largest one"),
        (dict(_flow=(tail + 10**6, arc, amount)), "no block"),
        (dict(_flow=(tail, arc + 100, amount)), "pattern does not have"),
        (dict(_flow=(tail, arc, -amount)), "negative"),
        (dict(_flow=(tail, arc, amount + 2**62)), "too large"),
        (dict(_flow=(tail, arc, amount * 0)), "proved within"),
        (dict(_gap=1), "proved within"),
        (dict(pattern=pit.pattern * 9), "out of the model"),
        (dict(pattern=-pit.pattern), "not up"),
        (dict(air=pit.mask), "air"),
    ]
    pit.verify()
    for fields, message in wrong:
        with pytest.raises(VerificationError, match=message):
            replace(pit, **fields).verify()
    even = np.array([[[3, -3]]])
    with pytest.raises(VerificationError, match="smallest"):
        replace(ultimate_pit(even, closure="largest"), closure="smallest").verify()


@pytest.mark.parametrize("floats", [False, True])
def test_a_stopped_solve_proves_its_bounds(monkeypatch: pytest.MonkeyPatch, floats: bool) -> None:
    """The solve stops after ever more merge steps; the bounds close in on the optimum."""
    values: NDArray[Any] = block_values(16, 14, 8, noise=1.0, seed=3)
    values = values / 3 if floats else values
    best = ultimate_pit(values)
    merge_trees, bounds = pits.merge_trees, []
    for operations in (1, 8000, 15_000, 30_000, 10**9):

        def stop_early(*arguments: Any, operations: int = operations) -> None:
            control: Control = arguments[-1]
            control.limit_work(operations)
            merge_trees(*arguments)
            control.stop[0] = control.gave_up

        monkeypatch.setattr(pits, "merge_trees", stop_early)
        for closure in ("smallest", "largest"):
            pit = ultimate_pit(values, closure=closure)  # type: ignore[arg-type]
            pit.verify()
            assert 0 <= pit.lower_bound <= best.value * (1 + 1e-12)
            assert pit.upper_bound >= best.value * (1 - 1e-12)
            assert pit.lower_bound == pytest.approx(values[pit.mask].sum())
            bounds.append((pit.status, pit.lower_bound, pit.upper_bound))
            if pit.status == "optimal":
                continue
            assert pit.status == "time-limit"
            assert pit.gap == pytest.approx(pit.upper_bound - pit.lower_bound) != 0
            with pytest.raises(NotOptimalError, match="time limit"):
                _ = pit.value
            open_pit = pit.mask.copy()
            open_pit[:, :, -1] = False
            for fields, message in (
                (dict(lower_bound=pit.lower_bound + 1), "has the value"),
                (dict(upper_bound=pit.upper_bound - 1), "proves an upper bound"),
                (dict(_gap=pit.gap / 2), "proved within"),
                (
                    dict(status="optimal", upper_bound=pit.lower_bound),
                    "one of the flow|proved within|not prove",
                ),
                *([(dict(mask=open_pit), "not closed")] if pit.mask.any() else []),
            ):
                with pytest.raises(VerificationError, match=message):
                    replace(pit, **fields).verify()  # type: ignore[arg-type]
    assert bounds[0][0] == "time-limit"
    assert bounds[-1] == ("optimal", best.lower_bound, best.upper_bound)
    assert len({lower for _, lower, _ in bounds}) > 2
    assert len({upper for _, _, upper in bounds}) > 3


def test_time_limit_and_progress() -> None:
    values = block_values(60, 60, 24, seed=1)
    pit = ultimate_pit(values, time_limit=1e-9, slope=40)
    pit.verify()
    assert pit.status == "time-limit"
    assert "stopped at the time limit, between" in repr(pit)
    assert ultimate_pit(values, time_limit=60.0).status == "optimal"
    reports: list[ProgressReport] = []
    best = ultimate_pit(values, slope=40, progress=reports.append)
    assert pit.lower_bound < best.value < pit.upper_bound
    assert reports
    assert all(0 <= report.settled <= 1 for report in reports)
    with pytest.raises(InvalidInputError, match="time_limit"):
        ultimate_pit(values, time_limit=0)


def test_small_values_beside_huge_ones_are_not_called_optimal() -> None:
    """The unit of the flow is more than the value of the upper block."""
    pit = ultimate_pit([[[-1e30, 1.0]]])
    pit.verify()
    assert pit.status == "approximate"
    assert (pit.lower_bound, pit.upper_bound) == (0, 1)
    with pytest.raises(VerificationError, match="not prove"):
        replace(pit, status="optimal", upper_bound=pit.lower_bound).verify()


def test_picture_and_summary() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    values = np.full((5, 4, 3), -1)
    values[2, 2, 0] = 30
    pit = ultimate_pit(values)
    assert isinstance(pit, UltimatePit)
    assert repr(pit).startswith(f"<UltimatePit: value {pit.value}, {pit.mask.sum()} of 60 blocks, serial")
    drawn = pit.plot().images[0].get_array()
    assert drawn is not None
    assert drawn.shape == (4, 5)
    assert drawn[1, 2] == 3  # north is up
    assert "UltimatePit" in reductions.__all__
