"""grid_cut of small images and volumes: every method and neighbourhood, warm starts, mixed dtypes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from random import Random
from typing import Any

import numpy as np

import preflow
from preflow.errors import CapacityOverflowError, UnboundedFlowError

from .flows import CLOSE, LEAST, PERIOD, call, check_float_value
from .harness import Case, Driver, Tally, WrongError, require
from .oracles import INFINITE, Cut, cut_capacity, minimum_cut, scaled
from .values import FRACTION_STYLES, INTEGER_STYLES, MODEST_STYLES, fraction, integer

OPTIONS: dict[str, dict[str, list[Any]]] = {
    "serial-incremental-bfs": {"sweep": [True, False], "box_levels": [1, 7]},
    "serial-boykov-kolmogorov": {},
    "multicore-merging": {"blocks": [1, 2, 4], "repartition": [True, False]},
    "multicore-lockfree": {"relabel_period": [*PERIOD, None], "initial_labels": ["exact", "zero"]},
}
#: A flow between pixels of at most this, divided by the number of neighbours, is never an overflow.
MOST_FLOW = 2**61
#: A gap of capacities in float32 is at most this beside the value.
SINGLE = 2.0**-19
#: Neighbourhoods by the name of their driver.
NEIGHBOURHOODS: dict[str, list[Any]] = {
    "grid-4": [4],
    "grid-8": [8],
    "grid-6": [6],
    "grid-18": [18],
    "grid-26": [26],
    "grid-listed": [[[1], [3]], [[0, 2], [1, -3]], [[2, -1], [0, 1], [1, 1]], [[0, 0, 1], [1, -1, 1]]],
}


def make(random: Random, quick: bool = False, *, connectivities: list[Any], floats: bool = False) -> Case:
    connectivity = random.choice(connectivities)
    pairs = len(connectivity) if isinstance(connectivity, list) else connectivity // 2
    ndim = len(connectivity[0]) if isinstance(connectivity, list) else 2 if connectivity in (4, 8) else 3
    longest = {1: 9, 2: 4, 3: 2 if pairs > 3 else 3}[ndim]
    shape = [random.choice([1, 2, 2, 3, longest, longest]) for _ in range(ndim)]
    shape = [min(length, longest) for length in shape]
    size = int(np.prod(shape))
    rows = pairs * random.choice([1, 2])
    styles = FRACTION_STYLES if floats else ["tiny", "small", "any"] if quick else INTEGER_STYLES
    style = random.choice(styles)
    terminal_style = style if random.random() < 0.6 else random.choice(styles)
    infinite = random.choice([0.0, 0.0, 0.1, 0.4]) if floats else 0.0
    empty = random.choice([0.0, 0.3, 0.8])

    def number(style: str, infinite: float = 0.0) -> Any:
        return fraction(random, style, infinite) if floats else integer(random, style)

    def terminals() -> list[Any]:
        return [0 if random.random() < empty else number(terminal_style, infinite) for _ in range(size)]

    dtype = ("float32" if random.random() < 0.3 else "float64") if floats else "int64"
    if not (floats or quick) and style in MODEST_STYLES[:4] and terminal_style in MODEST_STYLES[:4]:
        dtype = random.choice(["int64", "int32", "int16", "uint8"])
    case = {
        "shape": shape,
        "connectivity": connectivity,
        "source": terminals(),
        "sink": terminals(),
        "neighbor": [[number(style) for _ in range(size)] for _ in range(rows)],
        "dtype": dtype,
        "next": None,
        "verify": random.random() < 0.1,
        "calls": [call(random, OPTIONS) for _ in range(random.choice([1, 1, 2]))],
    }
    if random.random() < 0.1:
        case["next"] = {"source": terminals(), "sink": terminals()}
    return _as_float32(case) if dtype == "float32" else case


def _as_float32(case: Case) -> Case:
    """Return the case with numbers that float32 has, finite ones up to the largest of them."""

    def rounded(values: list[Any]) -> list[Any]:
        most = float(np.finfo(np.float32).max)
        return [value if value == np.inf else float(np.float32(min(value, most))) for value in values]

    parts = {name: rounded(case[name]) for name in ("source", "sink")}
    parts["neighbor"] = [rounded(row) for row in case["neighbor"]]
    if case["next"]:
        parts["next"] = {name: rounded(values) for name, values in case["next"].items()}
    return {**case, **parts}


def reductions(case: Case) -> Iterator[Case]:
    """Yield grids without their first or last slice along one axis."""
    shape = case["shape"]
    for axis, length in enumerate(shape):
        for begin, end in ((0, length - 1), (1, length)):
            if length < 2:
                continue
            box = (..., *(slice(begin, end) if i == axis else slice(None) for i in range(len(shape))))

            def cut(values: list[Any], rows: int = 0, box: Any = box) -> list[Any]:
                array = np.array(values, dtype=object).reshape((rows, *shape) if rows else shape)
                return array[box].reshape(rows, -1).tolist() if rows else array[box].ravel().tolist()

            smaller = {**case, "shape": [end - begin if i == axis else n for i, n in enumerate(shape)]}
            smaller |= {"source": cut(case["source"]), "sink": cut(case["sink"])}
            smaller["neighbor"] = cut(case["neighbor"], len(case["neighbor"]))
            if case["next"]:
                smaller["next"] = {name: cut(values) for name, values in case["next"].items()}
            yield smaller
    if case["next"]:
        yield {**case, "next": None}


def network_of(case: Case, terminals: Case) -> preflow.GridNetwork:
    """Return the network of a case, with these capacities from the source and to the sink."""
    shape, dtype = tuple(case["shape"]), case["dtype"]
    connectivity = case["connectivity"]
    if isinstance(connectivity, list):
        connectivity = [tuple(offset) for offset in connectivity]
    return preflow.GridNetwork.from_arrays(
        np.array(terminals["source"], dtype).reshape(shape),
        np.array(terminals["sink"], dtype).reshape(shape),
        np.array(case["neighbor"], dtype).reshape(-1, *shape),
        connectivity=connectivity,
    )


def exact_arcs(case: Case, terminals: Case, offsets: Any) -> tuple[int, list[tuple[int, int, int]]]:
    """Return the exponent of all capacities and the arcs with capacities as exact integers.

    Pixels are numbered in C order, then come source and sink. What is negative at a pixel is removed from
    both of its terminal capacities.
    """
    shape, rows = case["shape"], case["neighbor"]
    shift, (source, sink, *neighbor) = scaled(terminals["source"], terminals["sink"], *rows)
    size = len(source)
    lesser = [min(0, *ends) for ends in zip(source, sink, strict=True)]
    source, sink = ([a - b for a, b in zip(amounts, lesser, strict=True)] for amounts in (source, sink))
    pixels = list(itertools.product(*map(range, shape)))
    number = {pixel: i for i, pixel in enumerate(pixels)}
    arcs = [(size, p, capacity) for p, capacity in enumerate(source) if capacity]
    arcs += [(p, size + 1, capacity) for p, capacity in enumerate(sink) if capacity]
    both = 2 * len(rows) == len(offsets)  # one row for every two opposite directions
    for direction, offset in enumerate(offsets):
        if both and direction % 2:
            continue
        capacities = neighbor[direction // 2 if both else direction]
        for p, pixel in enumerate(pixels):
            q = number.get(tuple(a + b for a, b in zip(pixel, offset, strict=True)))
            if q is not None and capacities[p]:
                arcs.append((p, q, capacities[p]))
                if both:
                    arcs.append((q, p, capacities[p]))
    return shift, arcs


def flow_between_pixels(terminals: Case, cut: Cut) -> int:
    """Return the value of a grid of integers without what passes from source to sink through one pixel."""
    return cut.value - sum(map(min, terminals["source"], terminals["sink"]))


def check(case: Case, tally: Tally) -> None:
    earlier = None
    for terminals in (case, case["next"]):
        if terminals is None:
            break
        network = network_of(case, terminals)
        shift, arcs = exact_arcs(case, terminals, network.offsets.tolist())
        size = len(terminals["source"])
        most = MOST_FLOW // len(network.offsets)
        cut = minimum_cut(size + 2, arcs, [size], [size + 1])
        for each in case["calls"]:
            tally["solves"] += 1
            tally[f"method {each['method']}"] += 1
            if earlier is not None:
                tally["warm starts"] += 1
            try:
                result = preflow.grid_cut(
                    network,
                    method=each["method"],
                    threads=each["threads"],
                    options=each["options"] or None,
                    warm_start=earlier,
                )
            except UnboundedFlowError:
                require(cut.value >= INFINITE, "called unbounded, and is not", f"{cut.value}")
                tally["unbounded"] += 1
                continue
            except CapacityOverflowError as error:
                if "float" not in case["dtype"] and flow_between_pixels(terminals, cut) <= most:
                    raise WrongError("a flow within the limit is an overflow", str(error)) from error
                tally["overflow"] += 1
                continue
            require(cut.value < INFINITE, "unbounded, but solved")
            sink_side = (~result.labels).ravel().tolist()
            require(result.status == "optimal", "not optimal without a time limit", result.status)
            capacity = cut_capacity(arcs, [*sink_side, False, True])
            if "float" in case["dtype"]:
                check_floats(case, result, cut.value, capacity, shift)
            else:
                require(result.value == cut.value, "wrong value", f"{result.value}, not {cut.value}")
                found = {p for p, inside in enumerate(sink_side) if inside}
                expected = cut.sink_side - {size + 1}
                require(found == expected, "not the smallest sink side", f"{found}, not {expected}")
            if case["verify"]:
                result.verify()
                require(result.energy == result.value, "energy is not value")
                tally["verified"] += 1
            earlier = result


def check_floats(case: Case, result: Any, exact: int, capacity: int, shift: int) -> None:
    """Check the value and the labels of a cut of floats."""
    close = SINGLE if case["dtype"] == "float32" else CLOSE
    check_float_value(result.value, exact, shift, result.gap, close=close)
    what = "the labels have another energy"
    check_float_value(result.value, capacity, shift, result.gap, what, close=close)


def make_signed(random: Random, quick: bool = False) -> Case:
    """Return a grid of floats with negative terminal capacities."""
    case = make(random, quick, connectivities=[4, 6], floats=True)
    for name in ("source", "sink"):
        case[name] = [value if value == np.inf or random.random() < 0.6 else -value for value in case[name]]
    return {**case, "next": None, "calls": [call(random, OPTIONS)]}


def check_signed(case: Case, tally: Tally) -> None:
    """Check a cut, alone, in a batch and by regions, relative to the terms that it adds up."""
    network = network_of(case, case)
    shift, arcs = exact_arcs(case, case, network.offsets.tolist())
    _, (source, sink, *_) = scaled(case["source"], case["sink"], *case["neighbor"])
    size = len(source)
    cut = minimum_cut(size + 2, arcs, [size], [size + 1])
    arrays = [network.source_capacity, network.sink_capacity, network.neighbor_capacity]
    stacks = [np.stack([values] * 2) for values in arrays[:2]]
    tally["solves"] += 3
    try:
        result = preflow.grid_cut(network, method=case["calls"][0]["method"], threads=1)
        regions = tuple(min(length, 2) for length in case["shape"])
        by_regions = preflow.distributed.grid_cut(network, regions=regions, threads=1)
        batch = preflow.grid_cut_batch(*stacks, arrays[2], connectivity=case["connectivity"], threads=1)
    except UnboundedFlowError:
        require(cut.value >= INFINITE, "called unbounded, and is not")
        tally["unbounded"] += 1
        return
    except CapacityOverflowError:
        tally["overflow"] += 1
        return
    for each in (result, batch, by_regions):
        each.verify()
    tally["verified"] += 3
    terminals = [source[p] if p in cut.sink_side else sink[p] for p in range(size)]
    between = [c for u, v, c in arcs if u not in cut.sink_side and v in cut.sink_side and max(u, v) < size]
    lesser = [min(ends) for ends in zip(source, sink, strict=True)]
    terms = max(sum(map(abs, terminals)) + sum(between), sum(map(abs, lesser)))
    close = SINGLE if case["dtype"] == "float32" else CLOSE
    for one in (result, *batch, by_regions):
        require(one.status == "optimal", "not optimal without a time limit", one.status)
        check_float_value(one.value, sum(terminals) + sum(between), shift, one.gap, small_gap=False)
        most = Fraction(close) * Fraction(terms, 1 << shift) + Fraction(LEAST)
        require(one.gap <= most, "a gap that is not small beside the terms", f"{one.value} within {one.gap}")


def make_batch(random: Random, quick: bool = False, *, floats: bool = False) -> Case:
    case = make(random, quick, connectivities=[4, [[1], [3]]], floats=floats)
    rest = {name: random.sample(case[name], len(case[name])) for name in ("source", "sink")}
    return {**case, "next": rest, "calls": []}


def check_batch(case: Case, tally: Tally) -> None:
    """Check two grids as a batch."""
    networks = [network_of(case, terminals) for terminals in (case, case["next"])]
    offsets = networks[0].offsets.tolist()
    size = len(case["source"])
    arcs = [exact_arcs(case, terminals, offsets) for terminals in (case, case["next"])]
    cuts = [minimum_cut(size + 2, each, [size], [size + 1]) for _, each in arcs]
    source, sink = (
        np.stack([getattr(network, name) for network in networks])
        for name in ("source_capacity", "sink_capacity")
    )
    neighbor = networks[0].neighbor_capacity
    tally["solves"] += 1
    try:
        result = preflow.grid_cut_batch(source, sink, neighbor, connectivity=offsets, threads=1)
    except UnboundedFlowError:
        require(any(cut.value >= INFINITE for cut in cuts), "called unbounded, and is not")
        tally["unbounded"] += 1
        return
    except CapacityOverflowError as error:
        parts = zip((case, case["next"]), cuts, strict=True)
        most = MOST_FLOW // len(offsets)
        if "float" not in case["dtype"] and max(itertools.starmap(flow_between_pixels, parts)) <= most:
            raise WrongError("a flow within the limit is an overflow", str(error)) from error
        tally["overflow"] += 1
        return
    for one, cut, (shift, each) in zip(result, cuts, arcs, strict=True):
        require(cut.value < INFINITE, "unbounded, but solved")
        sink_side = (~one.labels).ravel().tolist()
        capacity = cut_capacity(each, [*sink_side, False, True])
        if "float" in case["dtype"]:
            check_floats(case, one, cut.value, capacity, shift)
        else:
            require(one.value == cut.value, "wrong value", f"{one.value}, not {cut.value}")
            found = {p for p, inside in enumerate(sink_side) if inside}
            require(found == cut.sink_side - {size + 1}, "not the smallest sink side", f"{found}")
        if case["verify"]:
            one.verify()
    result.verify()
    tally["verified"] += 1


DRIVERS = [
    *(
        Driver(name, partial(make, connectivities=listed), check, share, reductions)
        for (name, listed), share in zip(NEIGHBOURHOODS.items(), (2.0, 1.0, 1.0, 0.6, 0.6, 0.8), strict=True)
    ),
    Driver("grid-floats", partial(make, connectivities=[4], floats=True), check, 2.0, reductions),
    Driver("grid-signed", make_signed, check_signed),
    Driver("grid-batch", make_batch, check_batch),
    Driver("grid-batch-floats", partial(make_batch, floats=True), check_batch),
    Driver("grid-floats-3d", partial(make, connectivities=[6], floats=True), check, 1.0, reductions),
]
