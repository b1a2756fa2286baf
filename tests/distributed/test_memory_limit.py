"""Regions on files keep their limit on memory, or an error names the least that would do."""

from __future__ import annotations

import math
import re
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import preflow
from preflow.distributed import api
from preflow.distributed.grid_source import GridSource
from preflow.distributed.partition import border_of, divide
from preflow.errors import InvalidInputError

#: A process of its own prints the bytes at its peak beyond those of the interpreter and the package.
MEASURE = """
import sys
import numpy as np
import preflow
from benchmarks.scale.hosts import noisy_ball, peak

connectivity, side, memory, threads = map(int, sys.argv[1:])
def solve(instance, **options):
    return preflow.distributed.grid_cut(
        *instance[1:], connectivity=connectivity, exchange="files", threads=threads, **options
    )
solve(noisy_ball(8, 40, 15, 5, "small"), regions=8)
ball = noisy_ball(side, 40, 15, 20 if connectivity == 6 else 6, "ball")
out = np.ones((side,) * 3, dtype=bool)
before = peak()
result = solve(ball, memory=memory, out=out)
print(peak() - before, result.regions)
"""
#: The estimate is not exact: so much of the limit may be exceeded.
MARGIN = 1.1


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
@pytest.mark.parametrize(
    ("connectivity", "memory"), [(6, 30_000_000), (6, 12_000_000), (26, 100_000_000), (26, 48_000_000)]
)
@pytest.mark.parametrize("threads", [2, 64])
def test_the_limit_is_kept(connectivity: int, memory: int, threads: int) -> None:
    command = [sys.executable, "-c", MEASURE, *map(str, (connectivity, 96, memory, threads))]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    peak, regions = map(int, out.split())
    assert peak <= MARGIN * memory
    assert regions > 1


def source_of(shape: tuple[int, ...], connectivity: int, periodic: tuple[bool, ...]) -> GridSource:
    zeros = np.broadcast_to(np.int16(1), shape)
    return GridSource.of(zeros, zeros, 5, connectivity, periodic)


cases = st.tuples(
    st.tuples(*[st.integers(20, 400)] * 3),
    st.sampled_from([6, 18, 26]),
    st.tuples(*[st.booleans()] * 3),
    st.integers(1, 2),
)


@given(cases, st.integers(1, 40))
@settings(deadline=None, max_examples=30)
def test_regions_grow_with_the_inverse_of_the_limit(
    case: tuple[tuple[int, ...], int, tuple[bool, ...], int], part: int
) -> None:
    """The estimate is below the limit, and regions are as many as the pixels alone ask for, or more."""
    shape, connectivity, periodic, threads = case
    source = source_of(shape, connectivity, periodic)
    memory = api.BYTES_OF_HOST + (4 * connectivity + 100) * source.size // part
    sizes = api.EntrySizes.of(source)
    try:
        counts = api._regions_wanted(source, "files", memory, threads)
    except InvalidInputError as error:
        found = re.search(r"need ([\d,]+) for", str(error))
        assert found is not None
        memory, small = int(found[1].replace(",", "")), memory
        assert memory > small
        counts = api._regions_wanted(source, "files", memory, threads)
        with pytest.raises(InvalidInputError, match="need"):
            api._regions_wanted(source, "files", memory - 1, threads)
    assert isinstance(counts, tuple)
    assert api.bytes_on_files(source, divide(shape, counts), threads, sizes) <= memory
    per_pixel = threads * (api.BYTES_DISCHARGED + sizes.residual * connectivity)
    assert math.prod(counts) * (memory - api.BYTES_OF_HOST) >= per_pixel * source.size


@given(
    st.tuples(*[st.integers(1, 9)] * 3),
    st.tuples(*[st.integers(1, 4)] * 3),
    st.sampled_from([6, 18, 26]),
    st.tuples(*[st.booleans()] * 3),
)
@settings(deadline=None, max_examples=60)
def test_arcs_between_boxes_are_counted(
    shape: tuple[int, ...], counts: tuple[int, ...], connectivity: int, periodic: tuple[bool, ...]
) -> None:
    """The count is that of all borders; around short rings it may be more: arcs are parallel there."""
    source, boxes = source_of(shape, connectivity, periodic), divide(shape, counts)
    borders = [border_of(boxes, number, source.all_offsets) for number in range(len(boxes.boxes()))]
    listed, counted = (
        sum(len(border.direction) for border in borders),
        boxes.arcs_between(source.offsets, source.periodic),
    )
    assert listed <= counted
    if not any(periodic):
        assert listed == counted


def test_too_small_a_limit_is_an_error_before_anything_is_solved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api._Solve, "run", lambda self: pytest.fail("it solved"))
    ones = np.ones((60, 60, 60), dtype=np.int16)
    with pytest.raises(InvalidInputError, match=r"memory is 1,000,000 bytes, and regions on files need \d+,"):
        preflow.distributed.grid_cut(ones, ones, 3, connectivity=26, exchange="files", memory=1_000_000)


def test_the_default_takes_the_least_where_a_quarter_does_not_do() -> None:
    source = source_of((100, 100, 100), 26, (False,) * 3)
    counts = api._regions_wanted(source, "files", None, 2)
    with pytest.raises(InvalidInputError) as raised:
        api._regions_wanted(source, "files", 1, 2)
    assert isinstance(counts, tuple)
    assert f"{math.prod(counts):,} regions take least" in str(raised.value)
