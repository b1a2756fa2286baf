// Scans of whole rows, one row per block: they list the row's cheapest columns and shorten its distance.
#include "state.cuh"

// Loads that a thread starts together: of list entries, and of columns of a whole row.
constexpr u32 AT_ONCE = LANES_A_ROW < 8 ? 8 : 4, COLUMNS_AT_ONCE = 8;

// Calls `look` with each column of a row, its cost, and the cost minus the column's price.
template <class Look>
__device__ __forceinline__ void look_through(const Arguments& args, u32 row, Look look) {
    const auto costs = args.costs.row(row);
    const u32 num_columns = args.num_columns, step = blockDim.x;
    u32 j = threadIdx.x;
    for (; j + (COLUMNS_AT_ONCE - 1) * step < num_columns; j += COLUMNS_AT_ONCE * step) {
        Number cost[COLUMNS_AT_ONCE], price[COLUMNS_AT_ONCE];
#pragma unroll
        for (u32 k = 0; k < COLUMNS_AT_ONCE; ++k) {
            cost[k] = costs.at(j + k * step);
            price[k] = args.v[j + k * step];
        }
#pragma unroll
        for (u32 k = 0; k < COLUMNS_AT_ONCE; ++k) look(j + k * step, cost[k], cost[k] - price[k]);
    }
    for (; j < num_columns; j += step) {
        const Number cost = costs.at(j);
        look(j, cost, cost - args.v[j]);
    }
}

// Writes the least value of each group of neighbouring threads into `scratch.minima`.
__device__ __forceinline__ void share_minima(Scratch& scratch, Number least) {
    least = least_of_lanes<COLUMNS_A_GROUP>(least);
    if (threadIdx.x % COLUMNS_A_GROUP == 0) scratch.minima[threadIdx.x / COLUMNS_A_GROUP] = least;
    __syncthreads();
}

// Writes the minimum of rank `rank`, counted from 1, into `scratch.threshold`.
__device__ void find_threshold(Scratch& scratch, u32 rank) {
    const u32 group = threadIdx.x / COLUMNS_A_GROUP, groups = blockDim.x / COLUMNS_A_GROUP;
    const Number own = scratch.minima[group];
    u32 before = 0;
    for (u32 g = threadIdx.x % COLUMNS_A_GROUP; g < groups; g += COLUMNS_A_GROUP) {
        const Number other = scratch.minima[g];
        before += other < own || (!(own < other) && g < group);
    }
    before = sum_of_lanes<COLUMNS_A_GROUP>(before);
    if (threadIdx.x % COLUMNS_A_GROUP == 0 && before + 1 == min(rank, groups)) scratch.threshold = own;
    __syncthreads();
}

// Lists the columns of a row with the least costs minus prices, and stores a bound on the other columns.
__device__ void write_list(const Arguments& args, Scratch& scratch, u32 row) {
    const u64 list = args.list_of(row);
    const u32 room = args.room;
    const bool all = args.num_columns <= room;
    u32 rank = args.wanted;
    for (;; rank /= 2) {
        if (threadIdx.x == 0) {
            scratch.below = scratch.level = 0;
            scratch.threshold = beyond();
        }
        __syncthreads();
        if (!all) find_threshold(scratch, rank);
        const Number threshold = scratch.threshold;
        look_through(args, row, [&](u32 j, Number cost, Number value) {
            if (!(value < threshold) || !(value < beyond())) return;
            const u32 place = relaxed_fetch_add(&scratch.below, 1u);
            if (place >= room) return;
            args.listed[list + place] = j;
            args.listed_cost[list + place] = cost;
        });
        __syncthreads();
        if (relaxed_load(&scratch.below) <= room || rank <= 1) break;
        __syncthreads();
    }
    const Number threshold = scratch.threshold;
    const u32 below = relaxed_load(&scratch.below);
    // If the costs take few values, most columns may equal the threshold.
    if (threshold < beyond() && below < room / 2)
        look_through(args, row, [&](u32 j, Number cost, Number value) {
            if (value < threshold || threshold < value) return;
            if (relaxed_load(&scratch.level) + below >= room) return;
            const u32 place = below + relaxed_fetch_add(&scratch.level, 1u);
            if (place >= room) return;
            args.listed[list + place] = j;
            args.listed_cost[list + place] = cost;
        });
    __syncthreads();
    if (threadIdx.x == 0) {
        args.size[row] = min(room, below + relaxed_load(&scratch.level));
        args.bound[row] = threshold;
    }
}

// Writes the reduced costs of every `step`-th column of a row's list, from `first` on. Returns the least of them, the
// row's own column left out.
__device__ __forceinline__ Number reduce_list(const Arguments& args, u32 row, Number own, u32 first, u32 step) {
    const u64 list = args.list_of(row);
    const u32 size = args.size[row], match = args.row_match[row];
    Number nearest = beyond();
    for (u32 k = first; k < size; k += step) {
        const u32 j = args.listed[list + k];
        const Number reduced = not_negative(args.listed_cost[list + k] - args.v[j] - own);
        args.reduced[list + k] = smaller(reduced, beyond());
        if (j != match) nearest = smaller(nearest, reduced);
    }
    return nearest;
}

// Lists a row for the first time.
__device__ void list_row(const Arguments& args, Scratch& scratch, u32 row) {
    Number least = beyond();
    look_through(args, row, [&](u32, Number, Number value) { least = smaller(least, value); });
    share_minima(scratch, least);
    write_list(args, scratch, row);
}

// Shortens the distance of a row by paths through any of its columns, and lists the row again. Returns whether the
// distance has become shorter.
__device__ bool search_row(const Arguments& args, Scratch& scratch, u32 row) {
    const Number own = args.u[row], before = args.distance[row];
    Number least = beyond(), shortest = before;
    u32 column = NONE;
    look_through(args, row, [&](u32 j, Number, Number value) {
        least = smaller(least, value);
        const Number reduced = not_negative(value - own);
        if (!(reduced < shortest)) return;
        const Number there = number_of(relaxed_load(&args.column_distance[j])) + reduced;
        if (there < shortest) {
            shortest = there;
            column = j;
        }
    });
    const u32 warp = threadIdx.x / WARP;
    const Number of_warp = least_of_lanes<WARP>(shortest);
    column = from_lane_that<WARP>(shortest == of_warp && column != NONE, column);
    if (lane_id() == 0) {
        scratch.least[warp] = of_warp;
        scratch.column[warp] = column;
    }
    share_minima(scratch, least);
    shortest = before;
    for (u32 w = 0; w < blockDim.x / WARP; ++w)
        if (scratch.column[w] != NONE && scratch.least[w] < shortest) {
            shortest = scratch.least[w];
            column = scratch.column[w];
        }
    write_list(args, scratch, row);
    if (threadIdx.x == 0 && shortest < before) {
        args.distance[row] = shortest;
        args.parent[row] = column;
        if (args.row_match[row] != NONE) relaxed_store(&args.column_distance[args.row_match[row]], word_of(shortest));
    }
    __syncthreads();
    reduce_list(args, row, own, threadIdx.x, blockDim.x);
    if (threadIdx.x == 0) args.nearest[row] = 0;
    __syncthreads();
    return shortest < before;
}
