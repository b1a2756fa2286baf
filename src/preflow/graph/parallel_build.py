"""The pairs of a residual network, built by several threads: the same arrays as by one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels.csr_build import InputArcs
from ..parallel import csr_build
from ..parallel.barrier import break_barrier, make_barrier
from ..parallel.scan import make_sums
from ..parallel.sort import make_sorting
from ..parallel.team import run_shares, run_together


def build_pairs(arcs: InputArcs, num_inner: int, threads: int) -> tuple[Any, ...]:
    """Return first_out, head, reverse, rank, and whether no two input arcs add to one residual arc."""
    dtype = arcs.inner.dtype
    team = np.uint64(threads)
    numbers = [np.uint64(thread) for thread in range(threads)]
    barrier, sums = make_barrier(threads), make_sums(threads)

    def give_up() -> None:
        break_barrier(barrier)

    first = np.empty(num_inner + 1, dtype=dtype)
    keys, order = np.empty(len(arcs.tail), dtype=dtype), np.empty(len(arcs.tail), dtype=dtype)
    sorting = make_sorting(threads, len(keys), num_inner, dtype)
    largest_groups = run_together(
        lambda t: csr_build.sort_by_smaller_end_together(
            barrier, sorting, numbers[t], arcs, keys, first, order
        ),
        threads,
        give_up,
    )
    del sorting
    count = int(first[-1])
    tables = [_make_table(int(size), num_inner, dtype) for size in largest_groups]
    larger_end = keys
    directions = np.empty(count, dtype=np.uint8)
    place = np.empty(len(arcs.tail), dtype=np.min_scalar_type(max(largest_groups)))
    pair_first = np.empty_like(first)
    distinct = run_together(
        lambda t: csr_build.merge_groups_together(
            barrier,
            sums,
            team,
            numbers[t],
            arcs,
            first,
            order,
            larger_end,
            directions,
            tables[t],
            place,
            pair_first,
        ),
        threads,
        give_up,
    )
    del tables, directions
    num_pairs = int(pair_first[-1])
    pair_high = larger_end[:num_pairs]
    if num_pairs < count:
        pair_high = np.empty(num_pairs, dtype=dtype)
        run_together(
            lambda t: csr_build.gather_pairs(team, numbers[t], first, larger_end, pair_first, pair_high),
            threads,
            give_up,
        )
    del keys, larger_end
    position = order[:num_pairs]
    back_first = first
    sorting = make_sorting(threads, num_pairs, num_inner, dtype)
    run_together(
        lambda t: csr_build.sort_by_key_together(
            barrier, sorting, numbers[t], pair_high, back_first, position, True
        ),
        threads,
        give_up,
    )
    del sorting
    first_out = np.empty_like(first)
    head = np.empty(2 * num_pairs, dtype=dtype)
    reverse = np.empty_like(head)
    most_arcs = run_together(
        lambda t: csr_build.place_pairs_of_share(
            team, numbers[t], pair_high, position, pair_first, back_first, first_out, head, reverse
        ),
        threads,
        give_up,
    )
    del pair_high, position, order, pair_first
    rank = np.empty(len(arcs.tail), dtype=np.min_scalar_type(max(most_arcs)))
    run_shares(
        lambda begin, end: csr_build.rank_share(
            begin, end, arcs, place, back_first, first_out, reverse, rank
        ),
        len(rank),
        threads,
    )
    return first_out, head, reverse, rank, all(distinct)


def _make_table(largest_group: int, num_inner: int, dtype: Any) -> NDArray[Any]:
    """Return the hash table for groups of at most so many arcs."""
    if largest_group <= csr_build.SMALL_GROUP:
        return np.zeros(1, dtype=dtype)
    return np.zeros(1 << (2 * min(largest_group, num_inner) - 1).bit_length(), dtype=dtype)
