// Lists pairs of small reduced cost for each row and for each column, by smoothed prices.
#define KERNEL_BOUNDS 256
#include "dense_costs.cuh"

#include "refined.py: NO_PAIR, Arguments, Pairs"

// Each block lists pairs of a row. Each thread finds the best of the columns whose number is congruent to its own, and
// the `room` best of these are listed. The row gets the price for which its least reduced cost is 0.
KERNEL(list_rows, Arguments) {
    i64* const best_of = reinterpret_cast<i64*>(shared_memory());
    const u64 m = args.costs.num_columns;
    for (u64 row = blockIdx.x; row < args.num_rows; row += gridDim.x) {
        const i64* const price = args.price + args.num_rows + row / args.rows_an_item * m;
        i64 best = NO_PAIR;
        u32 column = 0;
        for (u64 j = threadIdx.x; j < m; j += blockDim.x) {
            const i64 value = args.costs.at(row, j) - price[j];
            if (value >= best) continue;
            best = value;
            column = static_cast<u32>(j);
        }
        best_of[threadIdx.x] = best;
        __syncthreads();
        u32 rank = 0;
        for (u32 other = 0; other < blockDim.x; ++other) {
            const i64 value = best_of[other];
            rank += value < best || (value == best && other < threadIdx.x);
        }
        if (rank < args.room) {
            args.listed[row * args.room + rank] = column;
            args.cost[row * args.room + rank] = best == NO_PAIR ? NO_PAIR : best + price[column];
        }
        if (rank == 0) args.price[row] = -best;
        __syncthreads();
    }
}

// Each thread lists one pair of a column, the best of a group of rows.
KERNEL(list_columns, Arguments) {
    const u64 m = args.costs.num_columns, n = args.rows_an_item, columns = args.num_rows / n * m;
    for (u64 k = grid_thread(); k < columns * args.groups; k += grid_threads()) {
        const u64 column = k % columns, group = k / columns, item = column / m, j = column % m;
        i64 best = NO_PAIR, cost = NO_PAIR;
        u64 row = item * n;
        for (u64 i = item * n + group; i < item * n + n; i += args.groups) {
            const i64 own = args.costs.at(i, j), value = own + args.price[i];
            if (value >= best) continue;
            best = value;
            cost = own;
            row = i;
        }
        args.other[k] = static_cast<u32>(row);
        args.other_cost[k] = cost;
    }
}

KERNEL(costs_of_pairs, Pairs) {
    for (u64 k = grid_thread(); k < args.num_pairs; k += grid_threads())
        args.cost[k] = args.costs.at(args.row[k], args.column[k]);
}
