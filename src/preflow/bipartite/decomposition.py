"""Structural rank, zero-free diagonal and block triangular form of a sparse matrix, from a maximum matching.

Dulmage and Mendelsohn (1958); Pothen and Fan, "Computing the block triangular form of a sparse matrix", ACM
TOMS 16 (1990).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyArray
from ..drawing.pairs import draw_blocks
from ..errors import InvalidInputError
from ..graph.bipartite import BipartiteGraph
from ..graph.edge_tables import labels_of
from ..kernels.strong_components import find_components, new_components
from ..method_names import BipartiteMethodName, DeviceName
from ..solving.read_only import ReadOnlyArrays
from .api import bipartite_matching
from .cover import reachable_from_rows
from .match_arrays import Matching
from .result import MatchingResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class DulmageMendelsohn(ReadOnlyArrays):
    """The Dulmage-Mendelsohn decomposition: permutations to a block triangular form.

    Attributes
    ----------
    row_order, column_order : ndarray of int64
        ``matrix[row_order][:, column_order]`` is block upper triangular. It has three coarse parts: first the
        horizontal one (more columns than rows), then the square one, last the vertical one (more rows than
        columns).
    row_blocks, column_blocks : ndarray of int64, shape (blocks + 1,)
        The beginning of each diagonal block in the permuted matrix, and the end of the last one. Blocks of
        the horizontal and the vertical part are connected components. Blocks of the square part are strongly
        connected components with a zero-free diagonal. With ``fine=False`` the blocks are the coarse parts.
    coarse_rows, coarse_columns : ndarray of int64, shape (4,)
        The beginnings of the horizontal, the square and the vertical part, and the end of the last one.
    matching : MatchingResult
        The maximum matching behind the decomposition, in the host's memory.
    lower : bool
        Whether the form is lower block triangular. Then all blocks come in the opposite order, and the parts,
        too: the vertical one first and the horizontal one last.
    """

    row_order: NDArray[np.int64]
    column_order: NDArray[np.int64]
    row_blocks: NDArray[np.int64]
    column_blocks: NDArray[np.int64]
    coarse_rows: NDArray[np.int64]
    coarse_columns: NDArray[np.int64]
    matching: MatchingResult
    lower: bool = False

    @property
    def num_blocks(self) -> int:
        """Number of diagonal blocks."""
        return len(self.row_blocks) - 1

    @property
    def is_structurally_nonsingular(self) -> bool:
        """Whether every row and every column is matched, so that the square part is everything."""
        rows, columns = self.matching.graph.shape
        return rows == columns == self.matching.cardinality

    def blocks(self) -> list[tuple[list[Hashable], list[Hashable]]]:
        """Return the rows and the columns of each diagonal block, with the caller's labels.

        Examples
        --------
        >>> import preflow
        >>> preflow.dulmage_mendelsohn([("p", "x"), ("q", "x"), ("q", "y"), ("r", "y"), ("q", "z")]).blocks()
        [(['q'], ['z']), (['r'], ['y']), (['p'], ['x'])]
        """
        graph = self.matching.graph
        rows = np.split(labels_of(graph.row_labels, self.row_order), self.row_blocks[1:-1])
        columns = np.split(labels_of(graph.column_labels, self.column_order), self.column_blocks[1:-1])
        return [(row.tolist(), column.tolist()) for row, column in zip(rows, columns, strict=True)]

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the entries of the matrix in block triangular form, with its blocks outlined.

        The three coarse parts are shaded. Of more than 500 blocks only the coarse parts are outlined.
        """
        graph = self.matching.graph
        row = np.repeat(np.arange(graph.num_rows), np.diff(graph.rows.first).astype(np.int64))
        return draw_blocks(
            ax,
            (row, graph.rows.neighbour),
            (self.row_order, self.column_order),
            (self.row_blocks, self.column_blocks),
            (self.coarse_rows, self.coarse_columns),
        )

    def _repr_html_(self) -> str:
        """Return the decomposition as a small table, which notebooks show."""
        from ..notebook import html_table

        rows, columns = np.diff(self.coarse_rows).tolist(), np.diff(self.coarse_columns).tolist()
        parts = ("vertical", "square", "horizontal") if self.lower else ("horizontal", "square", "vertical")
        shown = [(part, f"{n:,} x {m:,}") for part, n, m in zip(parts, rows, columns, strict=True)]
        shown += [("blocks", f"{self.num_blocks:,}"), ("matched", f"{self.matching.cardinality:,}")]
        return html_table(type(self).__name__, shown)

    def __repr__(self) -> str:
        parts = " + ".join(
            f"{rows}x{columns}"
            for rows, columns in zip(
                np.diff(self.coarse_rows).tolist(), np.diff(self.coarse_columns).tolist(), strict=True
            )
        )
        names = "vertical + square + horizontal" if self.lower else "horizontal + square + vertical"
        return f"<DulmageMendelsohn: {parts} ({names}), {self.num_blocks:,} blocks>"


class _Matched(TypedDict, total=False):
    """The arguments of :func:`preflow.bipartite_matching` that the functions here pass on."""

    method: BipartiteMethodName | str
    device: DeviceName
    threads: int | None
    initial: str
    warm_start: AnyArray
    options: Mapping[str, AnyArray] | None
    time_limit: float | None


def _maximum_matching(matrix: AnyArray, arguments: _Matched) -> MatchingResult:
    """Return a maximum matching; raise NotOptimalError if there was no time for one."""
    result = bipartite_matching(matrix, **arguments)
    _ = result.value
    return result


def structural_rank(matrix: AnyArray, **arguments: Unpack[_Matched]) -> int:
    """Return the largest rank of a matrix with this pattern: the size of a maximum matching.

    Parameters
    ----------
    matrix, method, device, threads, initial, warm_start, options, time_limit
        See :func:`preflow.bipartite_matching`.

    Raises
    ------
    NotOptimalError
        The time limit ended the search for a maximum matching.

    Examples
    --------
    >>> import preflow, scipy.sparse
    >>> preflow.structural_rank(scipy.sparse.csr_array([[1, 1, 0], [1, 0, 0], [1, 0, 0]]))
    2
    """
    return _maximum_matching(matrix, arguments).cardinality


def zero_free_diagonal(matrix: AnyArray, **arguments: Unpack[_Matched]) -> NDArray[np.int64]:
    """Return an order of the columns that puts as many entries as possible on the diagonal.

    Parameters
    ----------
    matrix, method, device, threads, initial, warm_start, options, time_limit
        See :func:`preflow.bipartite_matching`; square.

    Returns
    -------
    ndarray of int64, shape (n,), on the host
        ``matrix[:, order]`` has an entry at each place of its diagonal, as far as the structural rank allows;
        rows without one get the remaining columns in ascending order.

    Raises
    ------
    InvalidInputError
        The matrix is not square.
    NotOptimalError
        The time limit ended the search for a maximum matching.

    Examples
    --------
    >>> import preflow, scipy.sparse
    >>> preflow.zero_free_diagonal(scipy.sparse.csr_array([[0, 2, 0], [0, 0, 3], [1, 0, 0]])).tolist()
    [1, 2, 0]
    """
    result = _maximum_matching(matrix, arguments)
    rows, columns = result.graph.shape
    if rows != columns:
        raise InvalidInputError(f"a matrix with a diagonal is square; this one has shape ({rows}, {columns})")
    return with_all_columns(result.on_host().row_match.astype(np.int64), columns)


def with_all_columns(row_match: NDArray[np.int64], num_columns: int) -> NDArray[np.int64]:
    """Return the column of each row; rows without one, -1, get those that are left, in ascending order."""
    is_left = np.ones(num_columns, dtype=bool)
    is_left[row_match[row_match >= 0]] = False
    order = row_match.copy()
    order[order < 0] = np.flatnonzero(is_left)
    return order


def dulmage_mendelsohn(
    matrix: AnyArray, *, fine: bool = True, lower: bool = False, **arguments: Unpack[_Matched]
) -> DulmageMendelsohn:
    """Return the Dulmage-Mendelsohn decomposition of a sparse matrix: its block triangular form.

    Parameters
    ----------
    matrix, method, device, threads, initial, warm_start, options, time_limit
        See :func:`preflow.bipartite_matching`.
    fine : bool
        Decompose the three coarse parts further.
    lower : bool
        Return the lower block triangular form: the same blocks in the opposite order.

    Returns
    -------
    DulmageMendelsohn

    Raises
    ------
    NotOptimalError
        The time limit ended the search for a maximum matching.

    Notes
    -----
    O(n + m) besides the matching.

    Examples
    --------
    >>> import preflow, scipy.sparse
    >>> matrix = scipy.sparse.csr_array([[1, 0, 0], [1, 1, 1], [0, 1, 1]])
    >>> parts = preflow.dulmage_mendelsohn(matrix)
    >>> parts.num_blocks, parts.row_blocks.tolist()
    (2, [0, 2, 3])
    >>> parts = preflow.dulmage_mendelsohn(matrix, lower=True)
    >>> matrix.toarray()[parts.row_order][:, parts.column_order].tolist()
    [[1, 0, 0], [0, 1, 1], [1, 1, 1]]
    """
    return decompose(_maximum_matching(matrix, arguments), fine=fine, lower=lower)


def decompose(result: MatchingResult, *, fine: bool = True, lower: bool = False) -> DulmageMendelsohn:
    """Return the decomposition that follows from a maximum matching, computed on the host."""
    result = result.on_host()
    graph, matching = result.graph, result._matching
    vertical_rows, vertical_columns = reachable_from_rows(graph, matching)
    horizontal_columns, horizontal_rows = reachable_from_rows(graph.transposed, matching.transposed)
    row_part = 1 + vertical_rows.astype(np.int64) - horizontal_rows
    column_part = 1 + vertical_columns.astype(np.int64) - horizontal_columns
    row_block, column_block = row_part, column_part
    if fine:
        row_block, column_block = _fine_blocks(graph, result, row_part, column_part)
    orders = _order_along_matching(result, row_block, column_block)
    num_blocks = 1 + max((int(block.max()) for block in (row_block, column_block) if len(block)), default=2)
    limits = (
        *_block_limits(row_block, column_block, num_blocks),
        _limits(row_part, 3),
        _limits(column_part, 3),
    )
    if lower:
        orders = orders[0][::-1].copy(), orders[1][::-1].copy()
        limits = tuple(each[-1] - each[::-1] for each in limits)
    return DulmageMendelsohn(*orders, *limits, result, lower)


def _fine_blocks(
    graph: BipartiteGraph, result: MatchingResult, row_part: NDArray[np.int64], column_part: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the number of the diagonal block of every row and column."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    edge_row = np.repeat(np.arange(graph.num_rows), np.diff(graph.rows.first).astype(np.int64))
    edge_column = graph.rows.neighbour.astype(np.int64)
    inside = (row_part[edge_row] == column_part[edge_column]) & (row_part[edge_row] != 1)
    ends = (edge_row[inside], graph.num_rows + edge_column[inside])
    size = graph.num_rows + graph.num_columns
    joined = coo_array((np.ones(len(ends[0]), dtype=np.int8), ends), shape=(size, size))
    _, component = connected_components(joined, directed=False)
    part = np.concatenate([row_part, column_part])
    square = part == 1
    block = component.astype(np.int64)
    strong = strong_components(graph, result._matching, row_part == 1)
    block[: graph.num_rows][square[: graph.num_rows]] = strong[row_part == 1]
    columns = np.flatnonzero(column_part == 1)
    block[graph.num_rows + columns] = strong[result.column_match[columns]]
    keys = part * (size + 1) + block
    _, numbers = np.unique(keys, return_inverse=True)
    return numbers[: graph.num_rows], numbers[graph.num_rows :]


def strong_components(
    graph: BipartiteGraph, matching: Matching, chosen: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Return the strongly connected component of every chosen row, numbered so that no edge leads down."""
    rows = graph.rows
    state = new_components(graph.num_rows, rows.first.dtype)
    count = int(find_components(rows.first, rows.neighbour, matching.column_match, chosen, state))
    return count - state.component.astype(np.int64)


def _order_along_matching(
    result: MatchingResult, row_block: NDArray[np.int64], column_block: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sort rows and columns by block; matched ones of a block have the same order on both sides.

    Unmatched columns come first in their block and unmatched rows last. So matched entries are on the
    diagonal that ends at the lower right corner of a block, or starts at its upper left corner.
    """
    rank = np.where(result.row_match >= 0, np.arange(len(row_block)), len(row_block))
    row_order = np.lexsort((rank, row_block))
    rank = np.where(result.column_match >= 0, result.column_match.astype(np.int64), -1)
    column_order = np.lexsort((rank, column_block))
    return row_order.astype(np.int64), column_order.astype(np.int64)


def _limits(block: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    return np.append(0, np.cumsum(np.bincount(block, minlength=count)))


def _block_limits(
    row_block: NDArray[np.int64], column_block: NDArray[np.int64], count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the beginnings of the blocks that are not empty, and the end of the last one."""
    rows, columns = _limits(row_block, count), _limits(column_block, count)
    kept = np.append(True, (np.diff(rows) > 0) | (np.diff(columns) > 0))
    return rows[kept], columns[kept]
