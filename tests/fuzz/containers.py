"""Every container fed with odd arrays: the answer is that of the numbers in them, or the error is ours.

A case is a matrix, the form in which it is given, what was done to its arrays, and the problem it is for.
"""

from __future__ import annotations

import warnings
from random import Random
from typing import Any

import networkx
import numpy as np
import scipy.sparse as sp

import preflow
from preflow.errors import PreflowError
from preflow.graph.network import MOST_VERTICES

from .harness import Case, Driver, Tally, require
from .oracles import cheapest_assignment, largest_matching, minimum_cut

DTYPES = [
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
    ">i4", ">i8", ">f4", ">f8", "bool", "longdouble", "complex128", "object", "str", "datetime64[s]",
]  # fmt: skip
SPARSE = ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"]
LAYOUTS = ["plain", "fortran", "reversed", "strided", "readonly", "unaligned", "masked", "subclass", "list"]
ODD = [
    float("nan"),
    float("inf"),
    -float("inf"),
    -1,
    -(2**63),
    2**63 - 1,
    2**62,
    2**53 + 1,
    1e300,
    1e-320,
    -0.0,
]
DAMAGE = [
    "index",
    "negative index",
    "pointer",
    "first pointer",
    "last pointer",
    "fewer indices",
    "fewer data",
    "huge",
]
PROBLEMS = ["assignment", "flow", "matching", "grid", "points", "flow arrays", "matching arrays"]


def make(random: Random, quick: bool = False) -> Case:
    problem = random.choice(PROBLEMS)
    n = random.randrange(1, 5)
    m = n if problem == "flow" or random.random() < 0.6 else random.randrange(1, 5)
    matrix: list[list[Any]] = [
        [int(random.random() * 6) if random.random() < 0.8 else 0 for _ in range(m)] for _ in range(n)
    ]
    odd = random.random() < 0.25
    if odd:
        matrix[random.randrange(n)][random.randrange(m)] = random.choice(ODD)
    sparse = problem in ("assignment", "flow", "matching") and random.random() < 0.75
    graph = problem in ("assignment", "flow", "matching") and random.random() < 0.5
    return {
        "problem": problem,
        "matrix": matrix,
        "dtype": random.choice(DTYPES) if random.random() < 0.7 else "float64" if odd else "int64",
        "form": random.choice(SPARSE) if sparse else "networkx" if graph else "dense",
        "layout": random.choice(LAYOUTS),
        "index": random.choice(["int32", "int64"]),
        "damage": random.choice(DAMAGE) if sparse and random.random() < 0.4 else None,
        "at": random.randrange(16),
        "amount": random.choice([1, 2, 5, 2**31 - 1, 2**40, 2**62]),
        "array_class": random.random() < 0.5,
    }


def check(case: Case, tally: Tally) -> None:
    tally["containers"] += 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            given, numbers = _built(case)
        except (ValueError, TypeError, OverflowError, NotImplementedError, IndexError):
            tally["not built"] += 1  # NumPy or SciPy has no such array
            return
        if case["problem"] == "matching arrays" and _has_many_vertices(given):
            tally["too many vertices"] += 1  # nothing is wrong with them but the time that they take
            return
        sound = case["damage"] is None or _is_sound(given)
        try:
            result = _solve(case, given)
        except PreflowError as error:
            tally["refused"] += 1
            tally[f"error {type(error).__name__}"] += 1
            if numbers is not None and sound and case["damage"] is None:
                require(
                    not _is_plain(case, numbers),
                    "plain numbers are refused",
                    f"{type(error).__name__}: {error}",
                )
            return
    tally["solves"] += 1
    require(sound, "damaged arrays are accepted")
    if numbers is not None and case["damage"] is None:
        _compare(case, numbers, result)


def _has_many_vertices(ends: Any) -> bool:
    """Whether a graph with these numbers of rows takes gigabytes, and is not refused for that."""
    flat = np.asarray(_flat(ends))
    return flat.dtype.kind in "iu" and bool(((flat > 2**22) & (flat < MOST_VERTICES)).any())


def _built(case: Case) -> tuple[Any, list[list[Any]] | None]:
    """Return what is given to preflow, and the numbers that are in it; None where these are not clear."""
    dtype = np.dtype(case["dtype"])
    with np.errstate(all="ignore"):
        values = np.array(case["matrix"]).astype(dtype)
    numbers = values.tolist() if dtype.kind in "biuf" and dtype.itemsize <= 8 else None
    if case["form"] == "networkx":
        return _networkx(case, values), numbers
    if case["form"] == "dense":
        if case["problem"] in ("flow", "matching"):
            return sp.csr_array(values), numbers
        if case["layout"] == "masked":
            numbers = None
        return _laid_out(values, case["layout"], case["at"]), numbers
    make_sparse = getattr(sp, f"{case['form']}_{'array' if case['array_class'] else 'matrix'}")
    matrix = make_sparse(sp.coo_array(values))
    if case["form"] in ("csr", "csc", "bsr"):
        matrix.indptr, matrix.indices = (
            part.astype(case["index"]) for part in (matrix.indptr, matrix.indices)
        )
    if case["damage"] is not None:
        _damage(matrix, case)
    return matrix, numbers


def _networkx(case: Case, values: Any) -> Any:
    if case["problem"] != "flow":
        graph = networkx.Graph()
        graph.add_nodes_from((("row", r) for r in range(values.shape[0])), bipartite=0)
        graph.add_nodes_from((("column", c) for c in range(values.shape[1])), bipartite=1)
        for r, row in enumerate(values.tolist()):
            graph.add_edges_from((("row", r), ("column", c), {"weight": v}) for c, v in enumerate(row) if v)
        return graph
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(max(values.shape)))
    for r, row in enumerate(values.tolist()):
        graph.add_edges_from((r, c, {"capacity": v}) for c, v in enumerate(row) if v)
    return graph


def _laid_out(values: Any, layout: str, at: int) -> Any:
    if layout == "fortran":
        return np.asfortranarray(values)
    if layout == "reversed":
        return values[::-1, ::-1].copy()[::-1, ::-1]
    if layout == "strided":
        wide = np.zeros((2 * values.shape[0], 3 * values.shape[1]), values.dtype)
        wide[::2, ::3] = values
        return wide[::2, ::3]
    if layout == "readonly":
        values.flags.writeable = False
    if layout == "unaligned" and values.dtype != object:
        memory = np.zeros(values.nbytes + 1, np.uint8)[1:]
        view = memory.view(values.dtype).reshape(values.shape)
        view[...] = values
        return view
    if layout == "masked":
        mask = np.zeros(values.shape, bool)
        mask.reshape(-1)[at % values.size] = at % 2
        return np.ma.array(values, mask=mask)
    if layout == "subclass":
        return values.view(np.recarray) if values.dtype.kind in "iuf" else values
    return values.tolist() if layout == "list" else values


def _damage(matrix: Any, case: Case) -> None:
    """Make the arrays of a sparse matrix disagree."""
    how, at, amount = case["damage"], case["at"], case["amount"]
    if case["form"] in ("csr", "csc", "bsr"):
        if how in ("index", "negative index", "huge") and len(matrix.indices):
            wide = matrix.indices.astype(np.int64) if amount >= 2**31 else matrix.indices.copy()
            wide[at % len(wide)] += -amount if how == "negative index" else amount
            matrix.indices = wide
        elif how.endswith("pointer"):
            place = {"first pointer": 0, "last pointer": -1}.get(how, at % len(matrix.indptr))
            wide = matrix.indptr.astype(np.int64) if amount >= 2**31 else matrix.indptr.copy()
            wide[place] += amount if at % 2 else -amount
            matrix.indptr = wide
        elif how == "fewer indices":
            matrix.indices = matrix.indices[:-1]
        else:
            matrix.data = matrix.data[:-1]
    elif case["form"] == "coo" and len(matrix.data):
        name = "row" if at % 2 else "col"
        ends = getattr(matrix, name).astype(np.int64)
        if how.startswith("fewer"):
            matrix.data = matrix.data[:-1]
        else:
            ends[at % len(ends)] += -amount if how == "negative index" else amount
            matrix.coords = (ends, matrix.col) if name == "row" else (matrix.row, ends)
    elif case["form"] == "dia":
        if how == "fewer data":
            matrix.data = matrix.data[:, :-1]
        else:
            matrix.offsets = matrix.offsets + amount
    else:
        raise ValueError("nothing to damage")


def _is_sound(matrix: Any) -> bool:
    """Whether the arrays of a sparse matrix agree with each other and with its shape."""
    rows, columns = matrix.shape
    if matrix.format == "coo":
        ends = (matrix.row, matrix.col)
        same = len(ends[0]) == len(ends[1]) == len(matrix.data)
        return bool(
            same and all(((e >= 0) & (e < size)).all() for e, size in zip(ends, matrix.shape, strict=True))
        )
    if matrix.format == "dia":
        return True  # diagonals outside the matrix, and short ones, are allowed
    lines, others = (columns, rows) if matrix.format == "csc" else (rows, columns)
    if matrix.format == "bsr":
        lines, others = lines // matrix.blocksize[0], others // matrix.blocksize[1]
    first, index = matrix.indptr, matrix.indices
    if len(first) != lines + 1 or first[0] != 0 or (np.diff(first) < 0).any():
        return False
    if first[-1] > min(len(index), len(matrix.data)):
        return False
    used = index[: first[-1]]
    return bool(((used >= 0) & (used < others)).all())


def _solve(case: Case, given: Any) -> Any:
    problem = case["problem"]
    if problem == "assignment":
        return preflow.linear_assignment(given, threads=1, partial=True)
    if problem == "matching":
        return preflow.bipartite_matching(given, threads=1)
    if problem == "flow":
        last = (given.number_of_nodes() if hasattr(given, "nodes") else given.shape[0]) - 1
        return preflow.max_flow(given, 0, last, threads=1)
    if problem == "grid":
        return preflow.grid_cut(given, _as_given(given, turned=True), 1, threads=1)
    if problem == "points":
        return preflow.linear_assignment(preflow.PointCosts(given, given), threads=1)
    flat = _flat(given)
    if problem == "flow arrays":
        ends = np.arange(len(flat)) % 3
        return preflow.max_flow((ends, ends + 1, flat), 0, min(3, len(flat)), threads=1)
    return preflow.bipartite_matching((flat, flat), threads=1)


def _as_given(given: Any, turned: bool) -> Any:
    """Return the same numbers from the other end, in the same form."""
    return [row[::-1] for row in given[::-1]] if isinstance(given, list) else given[::-1, ::-1]


def _flat(given: Any) -> Any:
    return [value for row in given for value in row] if isinstance(given, list) else given.reshape(-1)


def _is_plain(case: Case, numbers: list[list[Any]]) -> bool:
    """Whether nobody could mind these numbers in this form."""
    flat = [value for row in numbers for value in row]
    tame = all(value == value and 0 <= value <= 1000 for value in flat)
    if case["problem"] == "matching arrays":
        tame = tame and np.dtype(case["dtype"]).kind in "iu"
    if case["problem"] == "flow":
        tame = tame and len(numbers) > 1
    known = case["form"] != "networkx" or case["problem"] in ("flow", "matching")
    usual = np.dtype(case["dtype"]).kind in "iuf" or case["problem"] in ("grid", "matching", "assignment")
    return tame and known and usual and case["layout"] != "masked"


def _compare(case: Case, numbers: list[list[Any]], result: Any) -> None:
    """Check the answer against that of the numbers, where these are small integers."""
    flat = [value for row in numbers for value in row]
    if not all(value == value and 0 <= value <= 1000 and value == int(value) for value in flat):
        return
    whole = [[int(value) for value in row] for row in numbers]
    rows, columns = len(whole), len(whole[0])
    problem, dense = case["problem"], case["form"] == "dense"
    if case["form"] in ("bsr", "dia") and 0 in flat:
        return  # these store zeros, some or all of them
    stored = [(r, c, v) for r, row in enumerate(whole) for c, v in enumerate(row) if v]
    if problem == "assignment":
        kept = whole if dense else [[v or None for v in row] for row in whole]
        size, least = cheapest_assignment(kept, columns)
        require(
            len(result.row) == size and result.value == least,
            "wrong assignment",
            f"{result.value}, not {least}",
        )
    elif problem == "matching":
        best = largest_matching(rows, [(r, c) for r, c, _ in stored])
        require(result.cardinality == best, "wrong matching", f"{result.cardinality}, not {best}")
    elif problem == "flow":
        cut = minimum_cut(rows, stored, [0], [rows - 1])
        require(result.value == cut.value, "wrong flow", f"{result.value}, not {cut.value}")
    elif problem == "flow arrays":
        arcs = [(i % 3, i % 3 + 1, v) for i, v in enumerate(v for row in whole for v in row)]
        best = minimum_cut(4, arcs, [0], [min(3, len(arcs))]).value
        require(result.value == best, "wrong flow", f"{result.value}, not {best}")
    elif problem == "grid":
        size = rows * columns
        arcs = [(size, i, v) for i, v in enumerate(map(int, flat))]
        arcs += [(i, size + 1, v) for i, v in enumerate(map(int, flat[::-1]))]
        for r in range(rows):
            for c in range(columns):
                for nr, nc in ((r + 1, c), (r, c + 1)):
                    if nr < rows and nc < columns:
                        ends = (r * columns + c, nr * columns + nc)
                        arcs += [(*ends, 1), (*ends[::-1], 1)]
        best = minimum_cut(size + 2, arcs, [size], [size + 1]).value
        require(result.value == best, "wrong grid cut", f"{result.value}, not {best}")


DRIVERS = [Driver("containers", make, check, share=2.0)]
