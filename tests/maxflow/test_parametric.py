"""Parametric maximum flow: all cuts, against solves at single values of the parameter."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any

import networkx as nx
import numpy as np
import pytest

import preflow
from preflow.errors import CapacityOverflowError, InvalidInputError, UnboundedFlowError, VerificationError
from preflow.maxflow.parametric import _ExactSearch, join


def random_case(rng: np.random.Generator, *, factor: float = 1) -> tuple[preflow.FlowNetwork, Any, int, int]:
    n, m = int(rng.integers(3, 11)), int(rng.integers(2, 40))
    most = int(rng.choice([4, 100]))
    tail, head = rng.integers(0, n, (2, m))
    inner = np.arange(1, n - 1)
    tail, head = np.append(tail, [np.zeros_like(inner), inner]), np.append(head, [inner, inner * 0 + n - 1])
    m = len(tail)
    capacity, reverse = rng.integers(0, most, m), rng.integers(0, most, m) if rng.random() < 0.3 else None
    source, sink = 0, n - 1
    slope = np.where((tail == source) & (head != sink) & (head != source), rng.integers(0, 6, m), 0)
    if rng.random() < 0.5:
        into = (head == sink) & (tail != source) & (tail != sink)
        slope = np.where(into, -rng.integers(0, 4, m), slope)
    if factor != 1:
        capacity, slope = capacity * factor, slope * factor
        reverse = None if reverse is None else reverse * factor
    network = preflow.FlowNetwork.from_arrays(tail, head, capacity, reverse_capacity=reverse, num_vertices=n)
    return network, slope, source, sink


def at(network: preflow.FlowNetwork, slope: Any, value: Fraction) -> preflow.FlowNetwork:
    """Return the network at a value of the parameter, in units of one divided by its denominator."""
    p, q = value.numerator, value.denominator
    reverse = network.reverse_capacity
    return preflow.FlowNetwork.from_arrays(
        network.tail,
        network.head,
        network.capacity * q + slope * p,
        reverse_capacity=None if reverse is None else reverse * q,
        num_vertices=network.num_vertices,
    )


def values_of(found: preflow.ParametricMaxFlow) -> list[Fraction]:
    """Return the ends of the range, the breakpoints, and a value between each two of these."""
    exact = [found.low, *(found.breakpoint(i) for i in range(len(found.breakpoints))), found.high]
    between = [(a + b) / 2 for a, b in pairwise(exact)]
    return sorted({*exact, *between})


def test_all_cuts() -> None:
    rng = np.random.default_rng(2)
    count = 0
    for _ in range(60):
        network, slope, source, sink = random_case(rng)
        high = 7 if rng.random() < 0.3 and (slope >= 0).all() else None
        found = preflow.parametric_max_flow(network, slope, source, sink, high=high, threads=1)
        found.verify()
        count += len(found.breakpoints)
        assert (np.diff(found.breakpoints) > 0).all()
        assert (np.diff(found.slope) < 0).all()
        for value in values_of(found):
            alone = preflow.max_flow(at(network, slope, value), source, sink, threads=1)
            assert found.value(value) == Fraction(alone.value, value.denominator)
            np.testing.assert_array_equal(found.sink_side(value), alone.sink_side)
    assert count > 50


@pytest.mark.parametrize("method", [m.name for m in preflow.methods("max_flow") if m.device == "cpu"])
def test_every_method(method: str) -> None:
    rng = np.random.default_rng(5)
    network, slope, source, sink = random_case(rng)
    one = preflow.parametric_max_flow(network, slope, source, sink, threads=1)
    other = preflow.parametric_max_flow(network, slope, source, sink, method=method)
    other.verify()
    np.testing.assert_array_equal(one.level, other.level)
    np.testing.assert_array_equal(one.breakpoints, other.breakpoints)


def test_floats() -> None:
    rng = np.random.default_rng(7)
    for _ in range(20):
        network, slope, source, sink = random_case(rng, factor=0.37)
        found = preflow.parametric_max_flow(network, slope, source, sink)
        found.verify()
        for value in (0.25 * float(found.high), 0.8 * float(found.high)):
            capacity = np.maximum(network.capacity + value * slope, 0)
            alone = preflow.max_flow(
                preflow.FlowNetwork.from_arrays(
                    network.tail,
                    network.head,
                    capacity,
                    reverse_capacity=network.reverse_capacity,
                    num_vertices=network.num_vertices,
                ),
                source,
                sink,
            )
            assert abs(found.value(value) - alone.value) <= found.gap + alone.gap + 1e-12 * alone.value


@pytest.mark.parametrize("factor", [0.375, 1.5 * 2.0**-60, 3.0 * 2.0**70])
def test_floats_have_the_cuts_of_integers(factor: float) -> None:
    """Also where many cuts are minimum: the smallest sink side does not depend on the unit."""
    rng = np.random.default_rng(8)
    count = 0
    for _ in range(60):
        network, slope, source, sink = random_case(rng)
        reverse = network.reverse_capacity
        scaled = preflow.FlowNetwork.from_arrays(
            network.tail,
            network.head,
            network.capacity * factor,
            reverse_capacity=None if reverse is None else reverse * factor,
            num_vertices=network.num_vertices,
        )
        one = preflow.parametric_max_flow(network, slope, source, sink)
        other = preflow.parametric_max_flow(scaled, slope * factor, source, sink, high=one.high)
        other.verify()
        np.testing.assert_array_equal(one.level, other.level)
        np.testing.assert_array_equal(one.breakpoints, other.breakpoints)
        count += len(one.breakpoints)
    assert count > 40


def image(side: int) -> tuple[preflow.FlowNetwork, Any, int, int]:
    """Return a smooth image of floats with slopes of 1 at its pixels."""
    rng = np.random.default_rng(9)
    pixels = np.arange(side * side).reshape(side, side)
    beside = [(pixels[:, :-1], pixels[:, 1:]), (pixels[:-1], pixels[1:])]
    tail, head = (np.concatenate([pair[k].ravel() for pair in beside]) for k in range(2))
    n = side * side
    value = np.cumsum(rng.normal(size=(side, side)), axis=1).ravel()
    value -= value.min()
    smooth = rng.random(len(tail))
    network = preflow.FlowNetwork.from_arrays(
        np.concatenate([np.full(n, n), np.arange(n), tail]),
        np.concatenate([np.arange(n), np.full(n, n + 1), head]),
        np.concatenate([np.zeros(n), value, smooth]),
        reverse_capacity=np.concatenate([np.zeros(2 * n), smooth]),
    )
    return network, np.concatenate([np.ones(n), np.zeros(n + len(tail))]), n, n + 1


def test_images_of_floats() -> None:
    """Many cuts, most of them found for rounded numbers first."""
    network, slope, source, sink = image(12)
    found = preflow.parametric_max_flow(network, slope, source, sink)
    found.verify()
    assert found.num_cuts > 40
    for value_at in np.linspace(0, 1.2 * network.capacity.max(), 9):
        alone = preflow.min_cut(replace(network, capacity=network.capacity + value_at * slope), source, sink)
        assert abs(found.value(value_at) - alone.value) <= 1e-11 * alone.value


@pytest.mark.parametrize("kind", ["slopes of 1", "random slopes", "huge", "infinite"])
def test_few_pieces_of_floats_are_solved_twice(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The leading bits of the numbers of each piece tell nearly all pieces, whatever else is in the input."""
    network, slope, source, sink = image(40)
    random = np.random.default_rng(4)
    if kind == "random slopes":
        slope = slope * (random.random(len(slope)) + 0.5)
    elif kind != "slopes of 1":
        capacity = network.capacity.copy()
        capacity[-200::20] = 1e100 if kind == "huge" else np.inf
        network = replace(network, capacity=capacity)
    solved = []
    solve = _ExactSearch._solve

    def counted(search: _ExactSearch, sums: Any) -> Any:
        solved.append(int(np.count_nonzero(search.values.active[search.pieces.piece])))
        return solve(search, sums)

    monkeypatch.setattr(_ExactSearch, "_solve", counted)
    found = preflow.parametric_max_flow(network, slope, source, sink)
    found.verify()
    assert found.num_cuts > 400
    assert sum(solved) < 1.1 * network.num_vertices


def test_join() -> None:
    """Neighbours in the wrong order become one piece; the ends of the range take what is beyond them."""
    rng = np.random.default_rng(10)
    for _ in range(200):
        count = int(rng.integers(2, 9))
        p, q = rng.integers(-3, 9, count).astype(object), rng.integers(0, 4, count).astype(object)
        number = join(p, q, Fraction(0), Fraction(3))
        assert number[0] == 0
        assert set(np.diff(number)) <= {0, 1}
        sums = [(p[number == k].sum(), q[number == k].sum()) for k in range(1, number[-1])]
        values = [Fraction(a, b) for a, b in sums]
        assert all(0 < value <= 3 for value in values)
        assert values == sorted(values)


def test_range_and_labels() -> None:
    graph = nx.DiGraph()
    graph.add_edge("s", "a", capacity=1)
    graph.add_edge("a", "t", capacity=6)
    slope = [2, -1]
    whole = preflow.parametric_max_flow(graph, slope, "s", "t")
    whole.verify()
    assert (whole.low, whole.high) == (0, 6)
    assert whole.breakpoint(0) == Fraction(5, 3)
    assert whole.value(Fraction(5, 3)) == Fraction(13, 3)
    part = preflow.parametric_max_flow(graph, slope, "s", "t", low=-0.5, high=1.5)
    part.verify()
    assert part.num_cuts == 1
    assert part.value(-0.5) == 0
    assert preflow.parametric_max_flow(graph, slope, "s", "t", low=2, high=2).value(2) == 4
    for value in (-1, 7):
        with pytest.raises(InvalidInputError, match="between"):
            whole.value(value)


def test_no_slopes_and_several_terminals() -> None:
    network = preflow.FlowNetwork.from_arrays([0, 1, 2, 0], [2, 2, 3, 4], [1, 2, 9, 1])
    found = preflow.parametric_max_flow(network, [0, 0, 0, 0], [0, 1], [3, 4])
    found.verify()
    assert found.num_cuts == 1
    assert found.value(14) == 4
    found = preflow.parametric_max_flow(network, [1, 1, 0, 2], [0, 1], [3, 4])
    found.verify()
    assert found.breakpoints.tolist() == [3]
    assert found.value(3) == 16


def test_numbers_that_just_fit() -> None:
    """An arc back from a later piece takes no part in the proof, however large its scaled capacity is."""
    arcs = [(1, 4, 108401), (0, 1, 95453), (4, 0, 27547621600), (2, 3, 2**56), (1, 3, 18186040451747)]
    tail, head, capacity = zip(*arcs, strict=True)
    network = preflow.FlowNetwork.from_arrays(tail, head, capacity)
    found = preflow.parametric_max_flow(network, [-4010640090, 0, 0, 0, 0], 0, 4)
    found.verify()


def test_a_breakpoint_that_is_no_float() -> None:
    found = preflow.parametric_max_flow(([0, 1], [1, 2], [0, 1]), [0, -(2**53) - 1], 0, 2)
    found.verify()
    assert found.breakpoint(0) == found.high == Fraction(1, 2**53 + 1)
    assert found.sink_side(found.high).tolist() == [False, False, True]


def test_bad_input() -> None:
    network = ([0, 1], [1, 2], [3, 4])
    for slope, message in [
        ([1], "slope has shape"),
        ([1, 1], "out of a source"),
        ([-1, 0], "into a sink"),
        ([np.nan, 0.0], "slope is NaN"),
        ([np.inf, 0.0], "not finite"),
        (["a", "b"], "slope must hold integers or floats"),
        (np.array([2**64 - 1, 0], dtype=np.uint64), "does not fit int64"),
    ]:
        with pytest.raises(InvalidInputError, match=message):
            preflow.parametric_max_flow(network, slope, 0, 2)
    for given, message in [
        ({"low": -4}, "negative at -4"),
        ({"high": 5}, "negative at 5"),
        ({"low": 2, "high": 1}, "below low"),
        ({"low": "x"}, "must be a number"),
        ({"high": float("inf")}, "finite"),
        ({"method": "cuda-push-relabel"}, "cuda"),
    ]:
        with pytest.raises(InvalidInputError, match=message):
            preflow.parametric_max_flow(network, [1, -1], 0, 2, **given)  # type: ignore[arg-type]
    with pytest.raises(UnboundedFlowError, match="infinite"):
        preflow.parametric_max_flow(([0], [1], [np.inf]), [0], 0, 1)
    with pytest.raises(InvalidInputError, match="below 2"):
        preflow.parametric_max_flow(([0], [1], [2**63]), [0], 0, 1)
    with pytest.raises(InvalidInputError, match="both source and sink"):
        preflow.parametric_max_flow(network, [0, 0], 0, 0)


def test_numbers_of_any_size() -> None:
    """Integers whose products pass int64 are as exact as small ones."""
    found = preflow.parametric_max_flow(([0, 1], [1, 2], [2**49, 2**50]), [2**40, 0], 0, 2, high=2**30)
    found.verify()
    assert found.value(2**9) == 2**50
    assert found.value(2**9 - 1) == 2**50 - 2**40
    assert found.breakpoint(0) == 2**9
    most = 2**63 - 1
    found = preflow.parametric_max_flow(([0, 0, 1, 2], [1, 2, 3, 3], [most] * 4), [3, 0, 0, -most], 0, 3)
    found.verify()
    assert found.value(Fraction(1, 3)) == most + most - Fraction(most, 3)
    assert found.intercept.tolist() == [2 * most]


def test_parameters_of_every_kind() -> None:
    found = preflow.parametric_max_flow(([0, 1], [1, 2], [0, 900]), [3, 0], 0, 2)
    for kind in (np.uint8, np.int16, np.int64, np.float32, int, float, Fraction):
        assert found.value(kind(200)) == 600  # type: ignore[arg-type, call-overload]
        assert found.sink_side(kind(200)).tolist() == [False, True, True]  # type: ignore[arg-type, call-overload]
    other = preflow.parametric_max_flow(
        ([0, 1], [1, 2], [0, 900]),
        [3, 0],
        0,
        2,
        low=np.uint8(100),
        high=Fraction(2000, 3),  # type: ignore[arg-type]
    )
    assert (other.low, other.high) == (100, Fraction(2000, 3))
    for wrong in (10**400, -(10**400), "1", None, True, np.nan, 10**6):
        with pytest.raises(InvalidInputError, match="parameter"):
            found.value(wrong)  # type: ignore[arg-type]
    for given in ({"low": -(10**400)}, {"high": 10**400}):
        with pytest.raises(InvalidInputError, match="in size"):
            preflow.parametric_max_flow(([0, 1], [1, 2], [0, 900]), [0, 0], 0, 2, **given)


def test_values_beside_breakpoints_that_float64_rounds() -> None:
    for most in (2**53 + 1, 2**56 + 1, 3**36):
        found = preflow.parametric_max_flow(([0, 1], [1, 2], [0, most]), [1, 0], 0, 2)
        for below in range(1, 9):
            assert found.value(most - below) == most - below
            assert found.sink_side(most - below).tolist() == [False, True, True]
    found = preflow.parametric_max_flow(([0, 0], [0, 1], [2**60, 2**60]), [0, 0], 0, 1)
    found.verify()
    assert (found.value(5), found.high) == (2**60, 2**61 + 1)
    found = preflow.parametric_max_flow(([0, 1], [1, 2], [0, 1]), [3, 0], 0, 2)
    near = Fraction(1, 3) - Fraction(1, 10**30)
    assert found.value(near) == 3 * near
    # The default of high is exact, too.
    arcs = ([0, 0, 1, 2], [1, 2, 3, 3], [1, 1, 2**55 + 1, 2**55])
    found = preflow.parametric_max_flow(arcs, [0, 0, -1, -1], 0, 3)
    found.verify()
    assert found.high == 2**55


def lines_of(
    network: preflow.FlowNetwork, slope: Any, constant: Any = None
) -> list[tuple[Fraction, Fraction]]:
    """Return intercept and slope of all finite cuts between the first and the last vertex."""
    n, found = network.num_vertices, []
    capacity = network.capacity.tolist()
    if constant is not None:
        added = zip(capacity, constant.tolist(), strict=True)
        capacity = [Fraction(a) + Fraction(b) if a < np.inf else a for a, b in added]
    arcs = list(zip(network.tail, network.head, capacity, slope.tolist(), strict=True))
    for bits in range(2 ** (n - 2)):
        side = [False, *(bool(bits >> v & 1) for v in range(n - 2)), True]
        across = [(c, s) for u, v, c, s in arcs if side[v] and not side[u]]
        if all(abs(c) < np.inf for c, _ in across):
            found.append(
                (sum((Fraction(c) for c, _ in across), Fraction(0)), sum(Fraction(s) for _, s in across))
            )
    return found


@pytest.mark.parametrize("huge", [1e8, 1e17, 1e300, np.finfo(np.float64).max, 5e-324, np.inf])
def test_floats_are_exact_beside_a_huge_one(huge: float) -> None:
    """All cuts are exact minimum cuts, whatever one capacity is that none of them uses."""
    rng = np.random.default_rng(11)
    for _ in range(25):
        n, m = int(rng.integers(3, 6)), int(rng.integers(3, 14))
        tail, head = rng.integers(0, n - 1, m), rng.integers(1, n, m)
        capacity = np.where(rng.random(m) < 0.15, huge, rng.random(m))
        slope = np.where((tail == 0) & (head != n - 1), rng.random(m) * rng.integers(0, 2, m), 0.0)
        network = preflow.FlowNetwork.from_arrays(tail, head, capacity, num_vertices=n)
        lines = lines_of(network, slope)
        if not lines:
            with pytest.raises(UnboundedFlowError):
                preflow.parametric_max_flow(network, slope, 0, n - 1)
            continue
        found = preflow.parametric_max_flow(network, slope, 0, n - 1, high=3)
        found.verify()
        for value in values_of(found):
            exact = min(intercept + value * rise for intercept, rise in lines)
            try:
                rounded = float(exact)
            except OverflowError:
                with pytest.raises(CapacityOverflowError, match="float64"):
                    found.value(value)
            else:
                assert found.value(value) == rounded


def breaks_of(lines: list[tuple[Fraction, Fraction]], low: Fraction, high: Fraction) -> list[Fraction]:
    """Return where the least of some lines changes between two values, by crossing all pairs."""
    crossings = {
        (a - b) / (t - s)
        for (a, s), (b, t) in combinations(lines, 2)
        if s != t and low < (a - b) / (t - s) < high
    }
    found = []
    for value in sorted(crossings):
        least = min(a + value * s for a, s in lines)
        if len({s for a, s in lines if a + value * s == least}) > 1:
            found.append(value)
    return found


@pytest.mark.parametrize("kind", ["integers", "floats", "huge and tiny", "infinite"])
def test_constants_below_zero(kind: str) -> None:
    """Capacities that are not negative in the range of the parameter, whatever they are at 0."""
    rng = np.random.default_rng(12)
    count = 0
    for _ in range(80):
        n, m = int(rng.integers(3, 7)), int(rng.integers(6, 24))
        tail, head = rng.integers(0, n - 1, m), rng.integers(1, n, m)
        out, into = (tail == 0) & (head != n - 1), (tail > 0) & (head == n - 1)
        size, rise, constant = (rng.integers(0, 9, m) for _ in range(3))
        if kind != "integers":
            size, rise, constant = (part * rng.random(m) for part in (size, rise, constant))
        if kind == "huge and tiny":
            size, rise, constant = (
                part * 10.0 ** rng.choice([-300, -20, 0, 200], m) for part in (size, rise, constant)
            )
        if kind == "infinite":
            size = np.where(~out & (rng.random(m) < 0.2), np.inf, size)
        size = np.where(into, 8 * size, np.where(out, 0, size))
        slope = np.where(out, rise, np.where(into & (rng.random() < 0.3), -rise, 0))
        network = preflow.FlowNetwork.from_arrays(tail, head, size, num_vertices=n)
        low, high = Fraction(int(rng.integers(-4, 40)), 8), Fraction(int(rng.integers(40, 80)), 8)
        if kind == "integers":
            constant = -(rise * out * max(low, 0)).astype(np.float64).astype(np.int64)
        else:
            share = rng.choice([0, 0.5, 0.99, 2], m, p=[0.2, 0.4, 0.3, 0.1])
            constant = np.where(out & (low > 0), -share * float(low) * rise, 0.0)
        exact = [
            [Fraction(x) for x in part.tolist()]
            for part in (np.where(np.isinf(size), 0, size), constant, slope)
        ]
        fits = [
            np.isinf(size[i]) or all(c + d + value * s >= 0 for value in (low, high))
            for i, (c, d, s) in enumerate(zip(*exact, strict=True))
        ]
        if not lines_of(network, slope, constant):
            continue
        if not all(fits):
            with pytest.raises(InvalidInputError, match="is negative at") as caught:
                preflow.parametric_max_flow(network, slope, 0, n - 1, constant=constant, low=low, high=high)
            assert not fits[int(str(caught.value).split("arc ")[1].split()[0])]
            keep = np.array(fits)
            network = preflow.FlowNetwork.from_arrays(tail[keep], head[keep], size[keep], num_vertices=n)
            slope, constant = slope[keep], constant[keep]
        lines = lines_of(network, slope, constant)
        found = preflow.parametric_max_flow(network, slope, 0, n - 1, constant=constant, low=low, high=high)
        found.verify()
        assert (found.low, found.high) == (low, high)
        inner = [found.breakpoint(i) for i in range(found.num_cuts - 1)]
        assert [value for value in inner if low < value < high] == breaks_of(lines, low, high)
        for value in values_of(found):
            exact_value = min(intercept + value * rise for intercept, rise in lines)
            assert found.value(value) == (exact_value if kind == "integers" else float(exact_value))
        count += bool((constant < 0).any() and len(inner))
    assert count > 5


def test_constants_are_checked() -> None:
    network = ([0, 1], [1, 2], [0, 4])
    found = preflow.parametric_max_flow(network, [3, 0], 0, 2, constant=[-5, 0], low=2)
    found.verify()
    assert (found.breakpoint(0), found.value(2)) == (3, 1)
    whole = preflow.parametric_max_flow(network, [3, 0], 0, 2, low=2)
    for wrong in (
        replace(found, arc_constant=None),
        replace(found, arc_constant=np.array([-6, 0])),
        replace(found, arc_constant=np.array([-5.0, 0.0])),
        replace(found, arc_constant=np.array([-5.0, np.nan])),
        replace(whole, arc_constant=np.array([-7, 0])),
    ):
        with pytest.raises(VerificationError):
            wrong.verify()
    for given, message in [
        ({"constant": [-5, 0]}, "arc 0 is negative at 0: low must be at least 5/3"),
        ({"constant": [-5, 0], "low": 5, "high": 1}, "below low"),
        ({"constant": [0, -5], "low": 2}, "arc 1 is negative at 2, and its slope is 0"),
        (
            {"constant": [0, -1], "slope": [3, -1], "high": 4},
            "arc 1 is negative at 4: high must be at most 3",
        ),
        ({"constant": [-0.1, 0]}, "low must be at least about 0.033333333333333"),
        ({"constant": [np.nan, 0]}, "constant is NaN"),
        ({"constant": [np.inf, 0]}, "not finite"),
        ({"constant": [1]}, "constant has shape"),
        ({"constant": ["a", "b"]}, "constant must hold"),
    ]:
        with pytest.raises(InvalidInputError, match=message):
            preflow.parametric_max_flow(network, **{"slope": [3, 0], "source": 0, "sink": 2, **given})  # type: ignore[arg-type]


def test_the_sum_of_all_arcs_does_not_matter() -> None:
    """Loops, arcs out of the sink and others that no cut has do not change the rounding."""
    arcs = ([0, 1, 1, 2, 1], [1, 2, 1, 0, 0], [0.3, 0.4, 6e8, 7e8, 5e8])
    for high in (1, None):
        found = preflow.parametric_max_flow(arcs, [0, 0, 0, 0, 0], 0, 2, high=high)
        found.verify()
        assert found.value(0) == 0.3
        assert found.gap < 1e-15


def test_wrong_results_are_refused() -> None:
    network = ([0, 0, 1, 2, 1], [1, 2, 3, 3, 2], [0, 0, 4, 3, 1])
    found = preflow.parametric_max_flow(network, [1, 2, 0, 0, 0], 0, 3)
    flows = found._flows
    arcs = ([0, 0, 1, 2, 1, 2], [1, 2, 3, 3, 2, 1], [0, 3, 4, 3, 5, 5])
    other = preflow.parametric_max_flow(arcs, [3, 1, 0, 0, 0, 0], 0, 3)
    other.verify()
    for wrong in (
        replace(found, breakpoints=found.breakpoints + 1),
        replace(found, level=np.array([0, 1, 2, 3])),
        replace(found, level=np.array([1, 2, 1, 3])),
        replace(found, intercept=found.intercept + 1),
        replace(found, slope=found.slope * 2),
        replace(found, low=Fraction(1)),
        replace(found, _flows=flows._replace(piece=flows.piece[::-1].copy())),
        replace(other, _flows=other._flows._replace(amount=other._flows.amount + 1)),
        replace(other, _flows=other._flows._replace(tail=np.array([0]), head=np.array([1]))),
        replace(found, _flows=flows._replace(numerator=flows.numerator[::-1].copy())),
        replace(found, _flows=flows._replace(denominator=2 * flows.denominator)),
        replace(found, _flows=flows._replace(denominator=-flows.denominator)),
    ):
        with pytest.raises(VerificationError):
            wrong.verify()
