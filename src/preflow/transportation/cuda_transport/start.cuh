// The first plan: rows send their mass to the cheapest columns, those with most to lose first. Its pairs are a tree.
#include "smoothing.cuh"

// What `partner` says of a row that is to look for a column, or has sent all of its mass.
constexpr u32 LOOKS = 0xfffffffeu, SENT = NONE;
constexpr u32 UNKNOWN = NONE;

__device__ __forceinline__ u64 bid_of(i64 regret, u32 row) {
    return static_cast<u64>(same_bits<u32>(static_cast<float>(regret)) + 1) << 32 | row;
}

// Finds the best column of each row that looks, and what its second best column costs more.
__device__ void choose_columns(const Arguments& args, const Team& team) {
    const u32 m = static_cast<u32>(args.num_columns);
    for (u64 row = team.grid.warp(); row < args.num_rows; row += team.grid.num_warps()) {
        if (args.partner[row] != LOOKS) continue;
        i64 best = FAR, second = FAR;
        u32 column = NONE;
        for (u32 begin = lane_id(); begin < m; begin += AT_ONCE * WARP) {
            i64 value[AT_ONCE];
#pragma unroll
            for (u32 k = 0; k < AT_ONCE; ++k) {
                const u32 j = min(begin + k * WARP, m - 1);
                value[k] = args.costs.at(row, j) - args.level[j];
            }
#pragma unroll
            for (u32 k = 0; k < AT_ONCE; ++k) {
                if (begin + k * WARP >= m) continue;
                const bool less = value[k] < best;
                second = less ? best : value[k] < second ? value[k] : second;
                column = less ? begin + k * WARP : column;
                best = less ? value[k] : best;
            }
        }
#pragma unroll
        for (u32 distance = WARP / 2; distance > 0; distance /= 2) {
            const i64 other = __shfl_xor_sync(ALL_LANES, best, distance);
            const i64 other_second = __shfl_xor_sync(ALL_LANES, second, distance);
            const u32 other_column = __shfl_xor_sync(ALL_LANES, column, distance);
            const bool less = other < best || (other == best && other_column < column);
            const i64 rest = less ? best : other, least = less ? other_second : second;
            second = rest < least ? rest : least;
            best = less ? other : best;
            column = less ? other_column : column;
        }
        __syncwarp();
        if (lane_id() == 0) {
            args.partner[row] = best >= FAR / 2 ? SENT : column;
            args.value[row] = second - best;
        }
    }
}

// Of the rows that want a column, the one with the largest regret sends mass to it; this is repeated until each row has
// sent all, or its column is full. Of a row and a column that have the same mass left, the column is full and the row
// goes on, with nothing to send: so every pair without flow leads from a row to its parent.
__device__ void send(const Arguments& args, Team& team) {
    const u32 n = static_cast<u32>(args.num_rows);
    for (u32 round = 0; round <= n; ++round) {
        bool any = false;
        for (u32 i = threadIdx.x; i < n; i += blockDim.x) {
            const u32 j = args.partner[i];
            if (j >= LOOKS) continue;
            any = true;
            relaxed_fetch_max(&args.bid[j], bid_of(args.value[i], i));
        }
        if (!team.any_of_block(any)) return;
        for (u32 i = threadIdx.x; i < n; i += blockDim.x) {
            const u32 j = args.partner[i];
            if (j >= LOOKS || relaxed_load(&args.bid[j]) != bid_of(args.value[i], i)) continue;
            relaxed_store(&args.bid[j], u64{0});
            const i64 excess = args.excess[i], left = args.left[j];
            if (left > excess) {
                args.parent[i] = n + j;
                args.flow[i] = excess;
                args.left[j] = left - excess;
                args.partner[i] = SENT;
            } else {
                args.parent[n + j] = i;
                args.flow[n + j] = left;
                args.left[j] = 0;
                args.level[j] = -FAR;
                args.excess[i] = excess - left;
                args.partner[i] = LOOKS;
            }
        }
        __syncthreads();
        for (u32 i = threadIdx.x; i < n; i += blockDim.x) {
            const u32 j = args.partner[i];
            if (j < LOOKS && args.level[j] == -FAR) args.partner[i] = LOOKS;
        }
    }
}

// Finds depths, prices for which the reduced costs of pairs of the tree are zero, and a preorder.
__device__ void measure_tree(const Arguments& args, Team& team) {
    const u32 n = static_cast<u32>(args.num_rows), vertices = static_cast<u32>(args.num_vertices());
    const u32* const parent = args.parent;
    u32* const depth = args.depth;
    u32* const size = args.size;
    const i64 root = *args.root;
    for (u32 v = threadIdx.x; v < vertices; v += blockDim.x) {
        relaxed_store(&depth[v], static_cast<i64>(v) == root ? 0u : UNKNOWN);
        relaxed_store(&size[v], 1u);
        args.price[v] = 0;
        args.place[v] = static_cast<Half>(NO_PLACE);
    }
    __syncthreads();
    u32 height = 0;
    for (u32 level = 1; level < vertices; ++level) {
        bool any = false;
        for (u32 v = threadIdx.x; v < vertices; v += blockDim.x) {
            const u32 above = parent[v];
            if (above == NONE || relaxed_load(&depth[v]) != UNKNOWN || relaxed_load(&depth[above]) != level - 1) continue;
            relaxed_store(&depth[v], level);
            const i64 cost = v < n ? args.costs.at(v, above - n) : args.costs.at(above, v - n);
            args.price[v] = v < n ? args.price[above] - cost : args.price[above] + cost;
            any = true;
        }
        if (!team.any_of_block(any)) break;
        height = level;
    }
    // the place of a vertex, counted from its parent's
    for (u32 level = height; level > 0; --level) {
        for (u32 v = threadIdx.x; v < vertices; v += blockDim.x)
            if (relaxed_load(&depth[v]) == level)
                args.name[v] = static_cast<Half>(relaxed_fetch_add(&size[parent[v]], relaxed_load(&size[v])));
        __syncthreads();
    }
    for (u32 level = 0; level <= height; ++level) {
        for (u32 v = threadIdx.x; v < vertices; v += blockDim.x) {
            if (relaxed_load(&depth[v]) != level) continue;
            const u32 place = level > 0 ? args.place[parent[v]] + args.name[v] : 0, end = place + relaxed_load(&size[v]);
            args.place[v] = static_cast<Half>(place);
            args.nodes[place] = {static_cast<Half>(v), static_cast<Half>(end), static_cast<Half>(level), 0};
        }
        __syncthreads();
    }
}

// Returns whether the solve goes on.
__device__ bool start(const Arguments& args, Team& team) {
    const u64 n = args.num_rows, m = args.num_columns, vertices = n + m;
    const i64 root = *args.root;
    for (u64 v = team.grid.thread(); v < vertices; v += team.grid.num_threads()) {
        args.parent[v] = NONE;
        args.flow[v] = 0;
        if (v < n) {
            args.excess[v] = args.mass[v];
            args.partner[v] = static_cast<i64>(v) == root || root < 0 ? SENT : LOOKS;
        } else {
            args.left[v - n] = args.mass[v];
            args.level[v - n] = args.mass[v] > 0 ? rounded(static_cast<double>(args.smooth[v])) : -FAR;
            relaxed_store(&args.bid[v - n], u64{0});
        }
    }
    if (!team.meet(args)) return false;
    for (u64 round = 0; round <= vertices; ++round) {
        choose_columns(args, team);
        if (!team.meet(args)) return false;
        if (team.leads()) {
            send(args, team);
            __syncthreads();
            u64 looking = 0;
            for (u64 i = threadIdx.x; i < n; i += blockDim.x) looking += args.partner[i] != SENT;
            looking = team.sum_of_block(looking);
            if (threadIdx.x == 0) relaxed_store(&args.words[OPEN_ROWS], looking);
        }
        if (!team.meet(args)) return false;
        if (team.scratch.open_rows == 0) break;
    }
    if (team.leads()) {
        for (u64 j = threadIdx.x; j < m; j += blockDim.x) {
            if (args.left[j] <= 0) continue;
            args.parent[n + j] = static_cast<u32>(root);
            args.flow[n + j] = args.left[j];
        }
        __syncthreads();
        measure_tree(args, team);
    }
    return true;
}
