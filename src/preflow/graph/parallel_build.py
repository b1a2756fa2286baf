"""The pairs of a residual network, built by several threads: the same arrays as by one thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..kernels.csr_build import InputArcs, Pairs
from ..parallel import csr_build
from ..parallel.barrier import break_barrier
from ..parallel.pieces import run_pieces
from ..parallel.sort import make_sorting
from ..parallel.thread_pool import map_threads


def build_pairs(
    arcs: InputArcs, num_inner: int, threads: int, check_wanted: Callable[[], None]
) -> tuple[Pairs, bool]:
    """Return the residual arcs without capacities, and whether no two input arcs add to one of them.

    Each step frees what later steps do not need before the next one allocates. `check_wanted` is called
    between steps.
    """
    builders = csr_build.make_builders(threads)

    def run(kernel: Callable[..., Any], *arguments: Any) -> list[Any]:
        check_wanted()
        return map_threads(
            lambda thread: kernel(builders, np.uint64(thread), *arguments),
            threads,
            lambda: break_barrier(builders.barrier),
        )

    dtype = arcs.inner.dtype
    first = np.empty(num_inner + 1, dtype=dtype)
    keys, order = np.empty(len(arcs.tail), dtype=dtype), np.empty(len(arcs.tail), dtype=dtype)
    sorting = make_sorting(threads, len(keys), num_inner, dtype)
    largest_groups = run(csr_build.sort_arcs_together, sorting, arcs, keys, first, order)
    del sorting

    count = int(first[-1])
    larger_end = keys
    tables = csr_build.make_tables(largest_groups, num_inner, dtype)
    directions = np.empty(count, dtype=np.uint8)
    place = np.empty(len(arcs.tail), dtype=np.min_scalar_type(max(largest_groups)))
    pair_first = np.empty_like(first)
    merging = csr_build.Merging(larger_end, directions, place, pair_first)
    distinct = run(csr_build.merge_groups_together, tables, arcs, first, order, merging)
    del tables, directions, merging

    num_pairs = int(pair_first[-1])
    if num_pairs < count:
        larger_end = np.empty(num_pairs, dtype=dtype)
        run(csr_build.gather_pairs, first, keys, pair_first, larger_end)
    else:
        larger_end = keys[:count]
    del keys
    back_first, position = first, order[:num_pairs]
    sorting = make_sorting(threads, num_pairs, num_inner, dtype)
    run(csr_build.sort_pairs_together, sorting, larger_end, back_first, position)
    del sorting

    first_out = np.empty_like(first)
    head = np.empty(2 * num_pairs, dtype=dtype)
    reverse = np.empty_like(head)
    sorted_pairs = csr_build.SortedPairs(larger_end, pair_first, position, back_first)
    most_arcs = run(csr_build.place_pairs, sorted_pairs, first_out, head, reverse)
    del larger_end, position, order, pair_first, sorted_pairs
    check_wanted()

    rank = place.astype(np.min_scalar_type(max(most_arcs)), copy=False)
    del place
    pairs = Pairs(first_out, head, reverse, rank)
    run_pieces(
        lambda begin, end: csr_build.rank_arcs(arcs, begin, end, back_first, pairs),
        len(rank),
        threads,
    )
    return pairs, all(distinct)
