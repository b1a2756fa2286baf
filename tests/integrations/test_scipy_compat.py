"""The drop-ins for SciPy's functions: the same results, kinds of errors and warnings."""

from __future__ import annotations

import decimal
import fractions
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csgraph, csr_array

from preflow import linear_assignment
from preflow.errors import InfeasibleError, NotOptimalError, PreflowError
from preflow.integrations import lap, scipy_compat
from preflow.integrations.scipy_compat import linear_sum_assignment

pytestmark = pytest.mark.fast

SQUARE = [[4, 1], [2, 0]]


class ArrayLike:
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.eye(2)


def read_only() -> Any:
    values = np.array(SQUARE, dtype=float)
    values.flags.writeable = False
    return values


MATRICES: dict[str, Any] = {
    "list": [[4, 1, 3], [2, 0, 5], [3, 2, 2]],
    "tuples": ((4, 1, 3), (2, 0, 5), (3, 2, 2)),
    "ranges": [range(2), range(2)],
    "list of arrays": [np.array([1, 2]), np.array([3, 1])],
    "array-like": ArrayLike(),
    **{dtype: np.array(SQUARE, dtype) for dtype in ("f8", "f4", "f2", "g", "i1", "u1", "i4", "i8", "u8")},
    **{dtype: np.array(SQUARE, dtype) for dtype in (">f8", ">i4", "M8[s]", "m8[s]", "O", "c16", "S1", "U1")},
    "void": np.zeros((2, 2), "V4"),
    "structured": np.zeros((2, 2), [("a", "i4")]),
    "bools": np.eye(2, dtype=bool),
    "list of bools": [[True, False], [False, True]],
    "complex list": [[1j, 2], [3, 1]],
    "imaginary part 0": np.eye(2) + 0j,
    "words": [["a", "b"], ["c", "d"]],
    "numbers as text": [["1", "2"], ["3", "4"]],
    "a word among numbers": [["1", "x"], ["3", "4"]],
    "objects": np.array([["a", 1], [2, 0]], dtype=object),
    "None in a list": [[None, 1], [2, 0]],
    "fractions": [[fractions.Fraction(1, 2), 1], [2, 0]],
    "decimals": [[decimal.Decimal("1.5"), 1], [2, 0]],
    "large integers": [[2**70, 1], [2, 0]],
    "larger integers": [[10**400, 1], [2, 0]],
    "integers near 2**62": [[2**62, 1], [2, 2**62]],
    "largest uint64": np.array([[2**64 - 1, 1], [2, 0]], dtype="u8"),
    "ragged": [[1, 2], [3]],
    "number": 5,
    "None": None,
    "word": "abc",
    "dict": {},
    "set": {1, 2},
    "function": len,
    "one dimension": [1, 2, 3],
    "three dimensions": np.zeros((2, 2, 2)),
    "empty": [],
    "empty row": [[]],
    "0 x 3": np.zeros((0, 3)),
    "3 x 0": np.zeros((3, 0)),
    "0 x 0": np.zeros((0, 0)),
    "NaN": [[np.nan, 1], [2, 0]],
    "NaN of 32 bits": np.array([[np.nan, 1], [2, 0]], dtype="f4"),
    "inf": [[np.inf, 1], [2, 0]],
    "-inf": [[-np.inf, 1], [2, 0]],
    "all inf": np.full((2, 2), np.inf),
    "all -inf": np.full((2, 2), -np.inf),
    "infeasible": [[np.inf, 1], [np.inf, 2]],
    "wide": np.arange(6).reshape(2, 3),
    "tall": np.arange(6).reshape(3, 2),
    "Fortran order": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "strided": np.arange(24.0).reshape(4, 6)[::2, ::3],
    "read-only": read_only(),
    "np.matrix": np.asmatrix(SQUARE),
    "masked": np.ma.masked_array([[4.0, 1], [2, 0]], mask=[[0, 1], [0, 0]]),
    "huge": [[1e300, 1], [2, 1e300]],
    "largest float32": np.array([[3e38, 1], [2, 3e38]], dtype="f4"),
    "sums past float64": [[1e308, 1e308], [1e308, 1e308]],
    "denormal": [[5e-324, 0], [0, 5e-324]],
}


def outcome(solve: Any, matrix: Any, maximize: Any) -> Any:
    """Return the pairs, or the error; a warning is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return solve(matrix, maximize)
        except Exception as error:
            return error


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("matrix", MATRICES.values(), ids=MATRICES)
def test_same_as_scipy(matrix: Any, maximize: bool) -> None:
    expected = outcome(scipy.optimize.linear_sum_assignment, matrix, maximize)
    got = outcome(linear_sum_assignment, matrix, maximize)
    if isinstance(expected, Exception):
        assert isinstance(got, type(expected))
        assert isinstance(got, PreflowError)
        return
    assert isinstance(got, tuple)
    costs = np.array(matrix, dtype=np.float64)
    for one, other in zip(got, expected, strict=True):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        assert one.flags.writeable == other.flags.writeable
    np.testing.assert_array_equal(got[0], np.sort(got[0]))
    with np.errstate(over="ignore"):
        assert costs[got].sum() == costs[expected].sum()


@pytest.mark.parametrize("maximize", [1, 0, 2, "yes", None, np.True_, [], [1], 1.0, np.array([1, 2])])
def test_maximize_is_what_python_finds_true(maximize: Any) -> None:
    expected = outcome(scipy.optimize.linear_sum_assignment, SQUARE, maximize)
    got = outcome(linear_sum_assignment, SQUARE, maximize)
    if isinstance(expected, Exception):
        assert isinstance(got, type(expected))
    else:
        np.testing.assert_array_equal(got, expected)


def test_sparse_matrices_are_accepted() -> None:
    """SciPy refuses them, and has another function for them."""
    _, column = linear_sum_assignment(scipy.sparse.csr_array([[0, 3], [1, 9]]))
    assert column.tolist() == [1, 0]


ARCS = [[0, 5, 2], [0, 0, 3], [0, 0, 0]]
PATTERN = [[1, 1, 0], [1, 0, 0]]
WEIGHTS = np.array([[3, 1, 2], [5, 4, 6]])
REAL = ("bool", "i1", "u1", "i4", "u4", "i8", "u8", "f4", "f8")


def wide_indices() -> Any:
    matrix = csr_array(ARCS)
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    return matrix


def flow_call(graph: Any, source: Any = 0, sink: Any = 2, **more: Any) -> Callable[[Any], Any]:
    return lambda module: module.maximum_flow(graph, source, sink, **more)


FLOWS: dict[str, Callable[[Any], Any]] = {
    **{f"dtype {d}": flow_call(csr_array(ARCS, dtype=d)) for d in (*REAL, "i2", "u2", "c16")},
    **{f"{f} format": flow_call(csr_array(ARCS).asformat(f)) for f in ("coo", "csc", "lil", "dok")},
    "dense": flow_call(np.array(ARCS)),
    "list": flow_call(ARCS),
    "None": flow_call(None),
    "csr_matrix": flow_call(scipy.sparse.csr_matrix(ARCS)),
    "64-bit indices": flow_call(wide_indices()),
    "not square": flow_call(csr_array(PATTERN), 0, 1),
    "same vertex": flow_call(csr_array(ARCS), 1, 1),
    **{f"source {s}": flow_call(csr_array(ARCS), s) for s in (-1, 3, 2**40, "a", None, True, np.int32(1))},
    **{
        f"sink {t}": flow_call(csr_array(ARCS), 0, t)
        for t in (-1, 3, 2**40, "a", None, np.int32(1), np.uint8(2))
    },
    **{
        f"method {m}": flow_call(csr_array(ARCS), method=m)
        for m in ("dinic", "edmonds_karp", "x", None, ["a"])
    },
    "method by position": lambda module: module.maximum_flow(csr_array(ARCS), 0, 2, "dinic"),
    "by keywords": lambda module: module.maximum_flow(csgraph=csr_array(ARCS), source=0, sink=2),
    "loops": flow_call(csr_array([[4, 5], [0, 7]]), 0, 1),
    "stored zero": flow_call(csr_array(([0, 3], [1, 2], [0, 2, 2, 2]), shape=(3, 3))),
    "parallel": flow_call(csr_array(([2, 3], [1, 1], [0, 2, 2]), shape=(2, 2)), 0, 1),
    "not sorted": flow_call(csr_array(([2, 3, 9], [2, 1, 2], [0, 2, 3, 3]), shape=(3, 3))),
    "antiparallel": flow_call(csr_array([[0, 5], [4, 0]]), 1, 0),
    "value past int32": flow_call(
        csr_array([[0, *[2**31 - 1] * 2, 0], *[[0, 0, 0, 2**31 - 1]] * 2, [0] * 4]), 0, 3
    ),
    "no vertices": flow_call(csr_array((0, 0), dtype=int), 0, 1),
    "no arcs": flow_call(csr_array((3, 3), dtype=int)),
    "no arcs of floats": flow_call(csr_array((3, 3))),
    "one vertex": flow_call(csr_array([[3]]), 0, 0),
}


def same_kind_of_error(got: Any, expected: Any) -> bool:
    """Check the errors, if there are any; a message may say more than SciPy's does."""
    if not isinstance(expected, Exception):
        if isinstance(got, Exception):
            raise got
        return False
    assert isinstance(got, type(expected))
    assert isinstance(got, PreflowError) or "positional" in str(got)
    return True


def solved_by(call: Callable[[Any], Any], module: Any) -> Any:
    """Return the result, or the error; a warning is an error."""
    return outcome(lambda _matrix, _maximize: call(module), None, None)


@pytest.mark.parametrize("call", FLOWS.values(), ids=FLOWS)
def test_maximum_flow_is_the_same_as_scipy(call: Callable[[Any], Any]) -> None:
    expected, got = solved_by(call, csgraph), solved_by(call, scipy_compat)
    if same_kind_of_error(got, expected):
        words = str(expected).replace("exactly ", "").split("(")[0][:20]
        assert words in str(got) or isinstance(expected, TypeError)
        return
    assert repr(got) == repr(expected)
    assert type(got.flow_value) is type(expected.flow_value)
    assert type(got.flow) is type(expected.flow)
    for part in ("data", "indices", "indptr"):
        ours, theirs = getattr(got.flow, part), getattr(expected.flow, part)
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("capacity", [2**31 - 1, 2**31, 2**32 + 5, 2**62])
def test_capacities_past_int32_are_exact(capacity: int) -> None:
    """SciPy keeps their lowest 32 bits."""
    result = scipy_compat.maximum_flow(csr_array(np.array([[0, capacity], [0, 0]])), 0, 1)
    assert result.flow_value == capacity == result.flow[0, 1] == -result.flow[1, 0]
    assert result.flow.dtype == (np.int32 if capacity < 2**31 else np.int64)


def test_flow_differs_on_purpose() -> None:
    """SciPy answers in part, raises another error, or crashes."""
    with pytest.raises(ValueError, match="square matrix"):
        scipy_compat.maximum_flow(scipy.sparse.coo_array([1, 2, 3]).tocsr(), 0, 1)
    with pytest.raises(ValueError, match="capacity is negative: -5"):
        scipy_compat.maximum_flow(csr_array([[0, -5], [0, 0]]), 0, 1)
    for vertex in (1.0, True):
        with pytest.raises(TypeError, match="sink must be an integer"):
            scipy_compat.maximum_flow(csr_array(ARCS), 0, vertex)  # type: ignore[arg-type]


@given(capacity=arrays(np.int64, (7, 7), elements=st.sampled_from([0, 0, 0, 1, 2, 9])))
def test_random_flows(capacity: Any) -> None:
    graph = csr_array(capacity)
    result = scipy_compat.maximum_flow(graph, 0, 6)
    flow = result.flow.toarray()
    assert result.flow_value == csgraph.maximum_flow(graph, 0, 6).flow_value == flow[0].sum()
    assert (flow <= capacity).all()
    assert (flow == -flow.T).all()
    assert not flow[1:6].sum(axis=1).any()


FORMATS = ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")
PATTERNS: dict[str, Any] = {
    **{form: csr_array(PATTERN).asformat(form) for form in FORMATS},
    **{dtype: csr_array(PATTERN, dtype=dtype) for dtype in ("bool", "i1", "f4", "f8", "c16")},
    "csr_matrix": scipy.sparse.csr_matrix(PATTERN),
    "64-bit indices": wide_indices(),
    "dense": np.array(PATTERN),
    "list": PATTERN,
    "None": None,
    "stored zeros": csr_array(([0, 0], [1, 0], [0, 1, 2]), shape=(2, 2)),
    "parallel": csr_array(([1, 1], [1, 1], [0, 2, 2]), shape=(2, 2)),
    **{f"empty {n} x {m}": csr_array((n, m)) for n, m in ((0, 0), (0, 3), (3, 0), (2, 2), (1, 1))},
}


@pytest.mark.parametrize("perm_type", ["row", "column", "ROW", None, 3])
@pytest.mark.parametrize("matrix", PATTERNS.values(), ids=PATTERNS)
def test_bipartite_matching_is_the_same_as_scipy(matrix: Any, perm_type: Any) -> None:
    def call(module: Any) -> Any:
        return module.maximum_bipartite_matching(matrix, perm_type)

    expected, got = solved_by(call, csgraph), solved_by(call, scipy_compat)
    if same_kind_of_error(got, expected):
        assert str(got) == str(expected)
        return
    assert got.dtype == expected.dtype
    assert got.flags.writeable
    assert got.shape == expected.shape
    assert np.count_nonzero(got >= 0) == np.count_nonzero(expected >= 0)


@pytest.mark.parametrize("matrix", PATTERNS.values(), ids=PATTERNS)
@pytest.mark.parametrize("action", ["error", "ignore"])
def test_structural_rank_is_the_same_as_scipy(matrix: Any, action: Any) -> None:
    def call(module: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter(action)
            return module.structural_rank(matrix)

    expected, got = solved_by(call, csgraph), solved_by(call, scipy_compat)
    if isinstance(expected, Warning):
        assert type(got) is type(expected)
        assert str(got) == str(expected)
    elif not same_kind_of_error(got, expected):
        assert got == expected
        assert type(got) is type(expected)


def stored(data: Any, row: Any, column: Any, form: str = "coo") -> Any:
    return scipy.sparse.coo_array((np.array(data), (row, column)), shape=(2, 2)).asformat(form)


WEIGHTED: dict[str, Any] = {
    **{
        f"weights {d}": csr_array(WEIGHTS, dtype=d)
        for d in ["bool", "i1", "u1", "i4", "u4", "i8", "u8", "f4", "f8", "g", "c16"]
    },
    **{f"tall {d}": csr_array(WEIGHTS.T, dtype=d) for d in ("bool", "i8", "f8")},
    **{f"{form} format": csr_array(WEIGHTS).asformat(form) for form in FORMATS},
    **{f"empty {n} x {m}": csr_array((n, m)) for n, m in ((0, 0), (0, 3), (3, 0), (2, 2), (1, 1))},
    "dense": WEIGHTS,
    "None": None,
    "zero": stored([0.0, 1, 1, 5], [0, 1, 0, 1], [0, 1, 1, 0]),
    "zeros only": stored([0, 0], [0, 1], [0, 1], "csr"),
    "stored twice": stored([2.0, 3, 1, 4, 4], [0, 0, 1, 0, 1], [0, 0, 1, 1, 0]),
    "infeasible": csr_array([[1, 0], [1, 0]]),
    "near 2**62": csr_array([[2**62, 1], [1, 2**62]]),
    "huge": csr_array([[1e300, 1], [1, 1e300]]),
    "sums past float64": csr_array([[1e308, 1e308], [1, 1e308]]),
}


@pytest.mark.parametrize("maximize", [False, "yes", []])
@pytest.mark.parametrize("action", ["error", "ignore"])
@pytest.mark.parametrize("matrix", WEIGHTED.values(), ids=WEIGHTED)
def test_full_matching_is_the_same_as_scipy(matrix: Any, action: Any, maximize: Any) -> None:
    def call(module: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter(action)
            return module.min_weight_full_bipartite_matching(matrix, maximize)

    expected, got = solved_by(call, csgraph), solved_by(call, scipy_compat)
    if isinstance(expected, Warning):
        assert type(got) is type(expected)
        assert str(got) == str(expected)
        return
    if same_kind_of_error(got, expected):
        assert str(got).startswith(str(expected))
        return
    weights = matrix.toarray().real.astype(np.float64)
    for ours, theirs in zip(got, expected, strict=True):
        assert ours.dtype == theirs.dtype
        assert ours.flags.writeable
    np.testing.assert_array_equal(got[0], np.sort(got[0]))
    with np.errstate(over="ignore"):
        assert weights[got].sum() == weights[expected].sum()


def test_numbers_that_are_refused() -> None:
    """SciPy returns some matching."""
    for matrix, maximize in (([[np.nan, 1], [2, 3]], False), ([[np.inf, 1], [4, 3]], True)):
        with pytest.raises(ValueError, match="invalid numeric entries"):
            scipy_compat.min_weight_full_bipartite_matching(csr_array(matrix), maximize)


@pytest.mark.parametrize("module", [csgraph, scipy_compat])
def test_infinite_weights_are_no_edges(module: Any) -> None:
    column = module.min_weight_full_bipartite_matching(csr_array([[np.inf, 1], [2, np.inf]]))[1]
    assert column.tolist() == [1, 0]
    with pytest.raises(ValueError, match="no full matching exists"):
        module.min_weight_full_bipartite_matching(csr_array([[np.inf, 1], [np.inf, 3]]))


@given(
    weights=arrays(np.int64, st.tuples(st.integers(1, 6), st.integers(1, 6)), elements=st.integers(-2, 9)),
    maximize=st.booleans(),
)
def test_random_matchings(weights: Any, maximize: bool) -> None:
    matrix = csr_array(weights)
    column = scipy_compat.maximum_bipartite_matching(matrix, "column")
    assert len(set(column[column >= 0])) == np.count_nonzero(column >= 0) == csgraph.structural_rank(matrix)
    assert all(weights[i, j] for i, j in enumerate(column) if j >= 0)
    assert scipy_compat.structural_rank(matrix) == csgraph.structural_rank(matrix)

    def call(module: Any) -> Any:
        return module.min_weight_full_bipartite_matching(matrix, maximize)

    expected, got = solved_by(call, csgraph), solved_by(call, scipy_compat)
    if not same_kind_of_error(got, expected):
        assert weights[got].all()
        assert weights[got].sum() == weights[expected].sum()


class PydataLike:
    """A matrix with the conversions that SciPy knows of the package sparse."""

    def __init__(self, matrix: Any) -> None:
        self.matrix = matrix

    def to_scipy_sparse(self) -> Any:
        return scipy.sparse.coo_array(self.matrix)

    @classmethod
    def from_scipy_sparse(cls, matrix: Any) -> PydataLike:
        return cls(matrix)


def test_matrices_of_the_package_sparse_are_taken() -> None:
    flow = scipy_compat.maximum_flow(PydataLike(ARCS), 0, 2).flow  # type: ignore[arg-type]
    assert isinstance(flow, PydataLike)
    assert flow.matrix.toarray().tolist() == [[0, 3, 2], [-3, 0, 3], [-2, -3, 0]]
    given_pattern: Any = PydataLike(PATTERN)
    assert scipy_compat.maximum_bipartite_matching(given_pattern).tolist() == [1, 0, -1]
    assert scipy_compat.structural_rank(given_pattern) == 2
    weighted: Any = PydataLike(WEIGHTS)
    assert scipy_compat.min_weight_full_bipartite_matching(weighted)[1].tolist() == [1, 0]


def test_infeasible_matrices_advise_nothing() -> None:
    """SciPy's functions have no argument `partial`."""
    with pytest.raises(InfeasibleError) as caught:
        scipy_compat.linear_sum_assignment([[1, np.inf], [2, np.inf]])
    text = str(caught.value)
    assert text.startswith("cost matrix is infeasible: no assignment: rows 0, 1 are allowed 1 column")
    assert "partial" not in text
    assert caught.value.advice == ()


def test_answers_that_are_not_proved_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    found = linear_assignment([[0.5]])
    rough = replace(found, status="approximate", lower_bound=0.25)
    for module in (scipy_compat, lap):
        monkeypatch.setattr(module, "linear_assignment", lambda *cost, **arguments: rough)
    for call in (
        lambda: scipy_compat.linear_sum_assignment([[0.5]]),
        lambda: lap.lapjv([[0.5]]),
        lambda: lap.lapmod(1, [0.5], [0, 1], [0]),
    ):
        with pytest.raises(NotOptimalError, match=r"between 0\.25"):
            call()


@given(
    sizes=st.tuples(st.integers(1, 6), st.integers(1, 6)),
    dimension=st.integers(0, 4),
    weighted=st.tuples(st.booleans(), st.booleans()),
    seed=st.integers(0, 2**32 - 1),
)
def test_wasserstein_distances(
    sizes: tuple[int, int], dimension: int, weighted: tuple[bool, bool], seed: int
) -> None:
    """A dimension of 0 stands for arrays of one dimension."""
    rng = np.random.default_rng(seed)
    ends = [rng.integers(-5, 6, (size, dimension) if dimension else size) / 4 for size in sizes]
    masses = [
        np.append(rng.integers(0, 4, size - 1), 1) if heavy else None
        for size, heavy in zip(sizes, weighted, strict=True)
    ]
    got = scipy_compat.wasserstein_distance_nd(*ends, *masses)
    assert isinstance(got, float)
    assert got == pytest.approx(scipy.stats.wasserstein_distance_nd(*ends, *masses), abs=1e-9)


DISTANCES: dict[str, tuple[Any, ...]] = {
    "three dimensions": (np.zeros((2, 2, 2)), np.zeros((2, 2, 2))),
    "other dimensions": ([[0, 1]], [[1]]),
    "one side flat": ([[0, 1]], [1, 2]),
    "words": ([["a", "b"]], [["c", "d"]]),
    "too few weights": ([[0, 1], [2, 1]], [[1, 2]], [1], [1]),
    "weights of two dimensions": ([[0, 1], [2, 1]], [[1, 2]], [[1, 3]]),
    "a weight below zero": ([[0, 1], [2, 1]], [[1, 2]], [2, -1]),
    "no mass": ([[0, 1], [2, 1]], [[1, 2]], [0, 0]),
    "infinite mass": ([[0, 1], [2, 1]], [[1, 2]], [1, np.inf]),
    "NaN as mass": ([[0, 1], [2, 1]], [[1, 2]], [1, np.nan]),
    "no points": (np.zeros((0, 2)), [[1, 2]]),
    "no numbers": ([0, 1], [3, 4], [0.5, None]),
    "far away": ([[0, 1], [np.inf, 1]], [[1, 2]]),
    "both far away": ([[0, 1], [np.inf, 1]], [[1, -np.inf]]),
    "bools": ([[True, False]], [[False, False]]),
    "large and small weights": ([[0, 1], [2, 1]], [[1, 2]], [1e-300, 1e300]),
}


@pytest.mark.parametrize("arguments", DISTANCES.values(), ids=DISTANCES)
@pytest.mark.filterwarnings("ignore:.*encountered.*:RuntimeWarning")
def test_hostile_wasserstein_distances(arguments: Any) -> None:
    call = lambda module: module.wasserstein_distance_nd(*arguments)  # noqa: E731
    expected, got = solved_by(call, scipy.stats), solved_by(call, scipy_compat)
    if not same_kind_of_error(got, expected):
        assert got == pytest.approx(expected, nan_ok=True)


def test_a_wasserstein_distance_of_rounding_is_as_good_as_none() -> None:
    """Equal masses, added up in another order: what float64 does not prove is far below any distance."""
    rng = np.random.default_rng(0)
    points, repeats = rng.random((15, 3)), rng.integers(1, 5, 15)
    others, place = np.repeat(points, repeats, axis=0), np.repeat(np.arange(15), repeats)
    for _ in range(5):
        mass, order = rng.random(len(others)), rng.permutation(len(others))
        both = np.bincount(place, mass), mass[order]
        assert 0 <= scipy_compat.wasserstein_distance_nd(points, others[order], *both) < 1e-15


def test_wasserstein_distances_of_missing_numbers_are_refused() -> None:
    """SciPy ends in an accidental error."""
    with pytest.raises(ValueError, match=r"rows.*not finite: nan"):
        scipy_compat.wasserstein_distance_nd([[0, 1], [np.nan, 1]], [[1, 2]])
    with pytest.raises(ValueError, match="positive and finite, got inf"):
        scipy_compat.wasserstein_distance_nd([[0, 1], [2, 1]], [[1, 2]], [1e308, 1e308])
    with pytest.raises(ValueError, match="too large"):
        scipy_compat.wasserstein_distance_nd([[0, 1e305], [2, 1]], [[1, 2]])
