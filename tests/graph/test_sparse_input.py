"""Sparse matrices in every format: valid ones give their entries, damaged ones an error, never a crash."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import preflow
from preflow.errors import InvalidInputError, ParseError
from preflow.graph.sparse_input import read_sparse
from preflow.io.costs import read_costs
from tests.support.cuda_on_cpu.arrays import OnGpu

FORMATS = ("coo", "csr", "csc", "bsr", "dia", "lil", "dok")
VALUES = np.array([[5, 0, 3, 0], [0, 1, 0, 9], [7, 0, 0, 2], [0, 4, 8, 0]])

#: What every problem does with a matrix.
READERS: dict[str, Callable[[Any], Any]] = {
    "linear_assignment": preflow.linear_assignment,
    "bipartite_matching": preflow.bipartite_matching,
    "max_flow": lambda matrix: preflow.max_flow(matrix, 0, 1),
    "structural_rank": preflow.structural_rank,
}


def sparse(form: str, kind: str = "array") -> Any:
    matrix = getattr(sp, f"csr_{kind}")(VALUES).asformat(form)
    return matrix.tobsr((2, 2)) if form == "bsr" else matrix


def integers(*numbers: int) -> Any:
    return np.array(numbers, dtype=np.int64)


def lists(*rows: Any) -> Any:
    found = np.empty(len(rows), dtype=object)
    found[:] = rows
    return found


LINES = {
    "negative index": {"indices": integers(0, 2, 1, 3, 0, -1, 1, 2)},
    "index too large": {"indices": integers(0, 2, 1, 3, 0, 5, 1, 2)},
    "index far too large": {"indices": integers(0, 2, 1, 3, 0, 2**62, 1, 2)},
    "unsigned index too large": {"indices": np.array([0, 2, 1, 3, 0, 2**64 - 1, 1, 2], dtype=np.uint64)},
    "float indices": {"indices": np.array([0.0, 2, 1, 3, 0, 3, 1, 2])},
    "fewer indices": {"indices": integers(0, 2, 1)},
    "more indices": {"indices": integers(*range(4), *range(4), *range(4))},
    "indices in two dimensions": {"indices": integers(0, 2, 1, 3, 0, 3, 1, 2)[:, None]},
    "indices of no array": {"indices": [0, 2, 1, 3, 0, 3, 1, 2]},
    "indices of objects": {"indices": np.array([0, 2, 1, 3, 0, "x", 1, 2], dtype=object)},
    "masked indices": {"indices": np.ma.masked_array(integers(0, 2, 1, 3, 0, 3, 1, 2), mask=True)},
    "no indices": {"indices": None},
    "indptr does not start at 0": {"indptr": integers(1, 2, 4, 6, 8)},
    "indptr is negative": {"indptr": integers(0, -2, 4, 6, 8)},
    "indptr falls": {"indptr": integers(0, 9, 4, 6, 8)},
    "indptr ends too late": {"indptr": integers(0, 2, 4, 6, 9)},
    "indptr ends far too late": {"indptr": integers(0, 2, 4, 6, 2**62)},
    "short indptr": {"indptr": integers(0, 2, 8)},
    "long indptr": {"indptr": integers(0, 2, 4, 6, 8, 8)},
    "empty indptr": {"indptr": integers()},
    "float indptr": {"indptr": np.array([0.0, 2, 4, 6, 8])},
    "indptr in two dimensions": {"indptr": integers(0, 2, 4, 6, 8)[:, None]},
    "fewer data": {"data": integers(5, 3, 1)},
    "more data": {"data": np.arange(12)},
    "data in two dimensions": {"data": np.ones((8, 2))},
    "data of no array": {"data": None},
    "larger shape": {"_shape": (9, 9)},
    "smaller shape": {"_shape": (2, 2)},
    "shape of one dimension": {"_shape": (4,)},
    "negative shape": {"_shape": (-4, 4)},
    "shape of floats": {"_shape": (4.0, 4.0)},
}
COORDINATES = {
    "negative row": {"row": integers(0, 0, 1, 1, -2, 2, 3, 3)},
    "row too large": {"row": integers(0, 0, 1, 1, 4, 2, 3, 3)},
    "fewer rows": {"row": integers(0, 0)},
    "row in two dimensions": {"row": integers(0, 0, 1, 1, 2, 2, 3, 3)[:, None]},
    "float rows": {"row": np.zeros(8)},
    "negative column": {"col": integers(0, 2, 1, -3, 0, 3, 1, 2)},
    "column too large": {"col": integers(0, 2, 1, 2**40, 0, 3, 1, 2)},
    "more columns": {"col": np.zeros(20, dtype=np.int64)},
    "fewer data": {"data": integers(5)},
    "smaller shape": {"_shape": (2, 2)},
}
BLOCKS = {
    "index too large": {"indices": integers(0, 1, 0, 2)},
    "negative index": {"indices": integers(0, 1, 0, -1)},
    "indptr falls": {"indptr": integers(0, 9, 4)},
    "indptr ends too late": {"indptr": integers(0, 2, 5)},
    "short indptr": {"indptr": integers(0, 4)},
    "fewer data": {"data": np.ones((3, 2, 2))},
    "data without blocks": {"data": np.ones(4)},
    "blocks that do not divide": {"data": np.ones((4, 3, 3))},
    "empty blocks": {"data": np.ones((4, 0, 2))},
    "larger shape": {"_shape": (400, 400)},
}
DIAGONALS = {
    "fewer offsets": {"offsets": integers(0)},
    "more offsets": {"offsets": np.arange(30)},
    "offsets twice": {"offsets": integers(0, 0, 0, 0, 0)},
    "float offsets": {"offsets": np.arange(5.0)},
    "data in one dimension": {"data": np.ones(5)},
    "data of no array": {"data": None},
}
LISTS = {
    "column too large": {"rows": lists([0, 2], [1, 7], [0, 3], [1, 2])},
    "negative column": {"rows": lists([0, 2], [1, -7], [0, 3], [1, 2])},
    "huge column": {"rows": lists([0, 2], [1, 2**70], [0, 3], [1, 2])},
    "column of no integer": {"rows": lists([0, 2], [1, "x"], [0, 3], [1, 2])},
    "shorter list": {"rows": lists([0, 2], [1], [0, 3], [1, 2])},
    "fewer lists": {"rows": lists([0, 2], [1, 3])},
    "no lists": {"rows": lists(1, 2, 3, 4)},
    "longer data": {"data": lists([5, 3], [1, 9], [7, 2, 3, 4], [4, 8])},
    "data of no numbers": {"data": lists([5, "x"], [1, 9], [7, 2], [4, 8])},
}
DAMAGES = [
    *((form, name, change) for form in ("csr", "csc") for name, change in LINES.items()),
    *(("coo", name, change) for name, change in COORDINATES.items()),
    *(("bsr", name, change) for name, change in BLOCKS.items()),
    *(("dia", name, change) for name, change in DIAGONALS.items()),
    *(("lil", name, change) for name, change in LISTS.items()),
]


def damage(matrix: Any, change: dict[str, Any]) -> Any:
    for name, value in change.items():
        if name in ("row", "col") and hasattr(matrix, "coords"):
            coords = list(matrix.coords)
            coords[name == "col"] = value
            matrix.coords = tuple(coords)
        else:
            setattr(matrix, name, value)
    return matrix


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize(
    ("form", "change"), [(f, c) for f, _, c in DAMAGES], ids=[f"{f}-{n}" for f, n, _ in DAMAGES]
)
def test_a_damaged_matrix_is_refused(form: str, kind: str, change: dict[str, Any]) -> None:
    for read in READERS.values():
        with pytest.raises(InvalidInputError):
            read(damage(sparse(form, kind), change))


@pytest.mark.parametrize("key", [(0, 4), (-1, 0), (4, 0), (0, 2**70), (0, "x"), (0,), 7])
@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_damaged_keys_are_refused(key: Any, read: Callable[[Any], Any]) -> None:
    matrix = sparse("dok")
    matrix._dict[key] = 1
    with pytest.raises(InvalidInputError):
        read(matrix)


@pytest.mark.usefixtures("cpu_device")
@pytest.mark.parametrize(
    ("form", "change"),
    [
        (f, c)
        for f, n, c in DAMAGES
        if f in ("csr", "csc", "coo", "dia") and "no array" not in n and "mask" not in n
    ],
    ids=[
        f"{f}-{n}"
        for f, n, _ in DAMAGES
        if f in ("csr", "csc", "coo", "dia") and "no array" not in n and "mask" not in n
    ],
)
def test_a_damaged_matrix_on_a_gpu_is_refused(form: str, change: dict[str, Any]) -> None:
    class Matrix:
        format = form

    plain, there = damage(sparse(form), change), Matrix()
    there.shape = plain._shape  # type: ignore[attr-defined]
    for name in ("row", "col", "indptr", "indices", "offsets", "data"):
        if hasattr(plain, name):
            values = getattr(plain, name)
            setattr(there, name, None if values is None or values.dtype == object else OnGpu(values))
    with pytest.raises(InvalidInputError):
        preflow.bipartite_matching(there, device="cuda")


@pytest.mark.parametrize("shape", [(3,), (2, 2, 2)])
@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_other_dimensions_are_refused(shape: tuple[int, ...], read: Callable[[Any], Any]) -> None:
    matrix = sp.coo_array((np.ones(1), tuple(integers(0) for _ in shape)), shape=shape)
    with pytest.raises(InvalidInputError, match="two dimensions"):
        read(matrix)


def dense(matrix: Any) -> Any:
    entries = read_sparse(matrix)
    found = np.zeros(entries.shape, dtype=entries.data.dtype)
    np.add.at(found, entries.ends(), entries.data)
    return found


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("form", FORMATS)
def test_valid_matrices(form: str, kind: str) -> None:
    matrix = sparse(form, kind)
    np.testing.assert_array_equal(dense(matrix), VALUES)
    if form == "bsr":  # whose blocks store zeros, which are pairs and edges
        matrix = matrix.tocsr().tobsr((1, 1))
        matrix.eliminate_zeros()
    assert preflow.linear_assignment(matrix).cost == 16
    assert preflow.max_flow(matrix, 0, 1).value == 2
    assert preflow.bipartite_matching(matrix).cardinality == 4
    empty = getattr(sp, f"{form}_{kind}")((3, 5) if form != "bsr" else (4, 6))
    assert preflow.bipartite_matching(empty).cardinality == 0


@pytest.mark.parametrize("dtype", ["i4", "u4", "i8", "u8", ">i4", ">i8", "i2", "u1"])
@pytest.mark.parametrize("layout", ["plain", "strided", "unaligned", "read-only"])
@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_layouts_of_index_arrays(form: str, layout: str, dtype: str) -> None:
    matrix = sparse(form)
    for name in ("row", "col", "indptr", "indices"):
        if hasattr(matrix, name):
            values = getattr(matrix, name).astype(dtype)
            if layout == "strided":
                values = np.repeat(values, 2)[::2]
            elif layout == "unaligned":
                values = np.frombuffer(b"x" + values.tobytes(), dtype=values.dtype, offset=1)
            elif layout == "read-only":
                values.flags.writeable = False
            damage(matrix, {name: values})
    entries = read_sparse(matrix)
    for values in (entries.major, entries.minor, entries.data):
        assert values.dtype.isnative
        assert values.flags.c_contiguous
        assert values.flags.aligned
    np.testing.assert_array_equal(dense(matrix), VALUES)


def test_a_surplus_of_entries_is_left_out() -> None:
    """SciPy allows arrays that are longer than ``indptr`` says, if both have one length."""
    matrix = damage(sparse("csr"), {"indptr": integers(0, 2, 4, 6, 6)})
    np.testing.assert_array_equal(dense(matrix)[:3], VALUES[:3])
    assert preflow.bipartite_matching(matrix).cardinality == 3


def test_diagonals_outside_the_matrix_are_left_out() -> None:
    matrix = sp.dia_array((np.arange(1, 7).reshape(2, 3), [0, -9]), shape=(3, 3))
    np.testing.assert_array_equal(dense(matrix), np.diag([1, 2, 3]))


class TestPairsThatAreStoredTwice:
    ROW, COLUMN = integers(0, 0, 0, 1), integers(0, 0, 1, 1)

    def solve(self, values: Any) -> Any:
        matrix = sp.coo_array((values, (self.ROW, self.COLUMN)), shape=(2, 2))
        return preflow.linear_assignment(matrix)

    def test_their_costs_are_added_up(self) -> None:
        assert self.solve(integers(1, 2, 3, 4)).cost == 7
        assert self.solve(np.array([1, 2, 3, 4.5])).cost == 7.5

    def test_in_64_bits(self) -> None:
        assert self.solve(np.array([100, 100, 3, 4], dtype=np.int8)).cost == 204

    def test_what_passes_the_largest_cost_is_refused(self) -> None:
        assert self.solve(integers(2**59, 2**59, 3, 4)).cost == 2**60 + 4
        with pytest.raises(InvalidInputError, match=r"2\*\*62"):
            self.solve(integers(2**62, 2**62, 3, 4))

    def test_whatever_the_flags_of_the_matrix_say(self) -> None:
        matrix = sp.csr_array((integers(4, 1, 2), integers(1, 0, 0), integers(0, 2, 3)), shape=(2, 2))
        matrix.has_canonical_format = matrix.has_sorted_indices = True
        result = preflow.linear_assignment(matrix)
        assert result.cost == 6
        result.verify()


@pytest.mark.parametrize("form", ["csr", "csc"])
@pytest.mark.parametrize(
    "change", [{"indices": integers(0, 5)}, {"indptr": integers(0, 9, 2)}, {"indptr": integers(0, 9, 0)}]
)
def test_a_damaged_file(tmp_path: Path, form: str, change: dict[str, Any]) -> None:
    path = tmp_path / "evil.npz"
    matrix = sp.csr_array((integers(1, 1), integers(0, 1), integers(0, 1, 2)), shape=(2, 2)).asformat(form)
    sp.save_npz(path, damage(copy.copy(matrix), change))
    with pytest.raises(ParseError, match=r"evil\.npz"):
        read_costs(path)
