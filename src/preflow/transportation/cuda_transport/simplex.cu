// The kernel of cuda-transport: network simplex, whose first tree comes from smoothed prices.
#include "start.cuh"

// The tree during pivots. Pairs of a vertex and its parent have reduced cost 0.
struct Tree {
    Node* nodes;
    Half* place;
    i64* price;
    i64* flow;
    Half* name;    // vertices of the cycle: those below the row of the new pair from the front, upwards,
    Range* range;  // those below its column from `last` on; and their subtrees
    Node* near_stage;
    u32 num_rows, num_vertices, last;

    __device__ Tree(const Arguments& args, SharedArena arena)
        : num_rows(static_cast<u32>(args.num_rows)), num_vertices(static_cast<u32>(args.num_vertices())) {
        nodes = KEPT > 0 ? arena.take<Node>(num_vertices) : args.nodes;
        place = KEPT > 0 ? arena.take<Half>(num_vertices) : args.place;
        price = KEPT > 1 ? arena.take<i64>(num_vertices) : args.price;
        flow = KEPT > 2 ? arena.take<i64>(num_vertices) : args.flow;
        near_stage = arena.take<Node>(static_cast<u32>(args.room));
    }
    // Chooses the memory for a cycle by a bound on its length.
    __device__ void make_room(const Arguments& args, Scratch& scratch, u32 length) {
        const bool is_short = length <= SHORT_CYCLE;
        name = is_short ? scratch.name : args.name;
        range = is_short ? scratch.range : args.range;
        last = (is_short ? SHORT_CYCLE : num_vertices) - 1;
    }
    __device__ void load(const Arguments& args) const {
        for (u32 v = threadIdx.x; v < num_vertices; v += blockDim.x) {
            if (KEPT > 0) nodes[v] = args.nodes[v], place[v] = args.place[v];
            if (KEPT > 1) price[v] = args.price[v];
            if (KEPT > 2) flow[v] = args.flow[v];
        }
        __syncthreads();
    }
    __device__ void store(const Arguments& args) const {
        __syncthreads();
        for (u32 v = threadIdx.x; v < num_vertices; v += blockDim.x) {
            if (KEPT > 0) args.nodes[v] = nodes[v], args.place[v] = place[v];
            if (KEPT > 1) args.price[v] = price[v];
            if (KEPT > 2) args.flow[v] = flow[v];
        }
    }
    // Stores the prices for the blocks that price.
    __device__ void show_prices(const Arguments& args) const {
        for (u32 v = threadIdx.x; v < num_vertices; v += blockDim.x) {
            if (KEPT > 1) args.price[v] = price[v];
            if (v < num_rows) continue;
            const bool is_there = place[v] != NO_PLACE;
            args.level[v - num_rows] = is_there ? price[v] : -FAR;
            args.smooth[v] = is_there ? static_cast<float>(price[v]) : -NO_COST;
        }
    }
};

// A pair that enters the tree: its vertices, and their places and depths before the pivot.
struct Entering {
    i64 reduced;
    u32 row, column;
    u32 row_place, row_depth, column_place, column_depth;
};

// A cost minus the level of its column: exact, or in single precision.
__device__ __forceinline__ i64 below_level(const Arguments& args, u64 row, u32 column, i64 level) {
    return args.costs.at(row, column) - level;
}
__device__ __forceinline__ float below_level(const Arguments& args, u64 row, u32 column, float level) {
    return args.costs.about(row, column) - level;
}

// Finds the pair of least reduced cost for each part of each row. A warp looks at several rows together, so that it
// loads the levels of columns once for them. With levels in single precision it may find a pair that is not quite the
// best one; its reduced cost is exact.
template <class Number>
__device__ void price_rows(const Arguments& args, const Team& team, const Number* level, Number none) {
    const u64 parts = args.parts, m = args.num_columns, n = args.num_rows;
    const u64 groups = (n + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE;
    for (u64 k = team.grid.warp(); k < groups * parts; k += team.grid.num_warps()) {
        const u64 part = k % parts, first = k / parts * ROWS_AT_ONCE;
        const u32 end = static_cast<u32>((part + 1) * m / parts);
        Number best[ROWS_AT_ONCE];
        u32 column[ROWS_AT_ONCE];
        u64 row[ROWS_AT_ONCE];
#pragma unroll
        for (u32 r = 0; r < ROWS_AT_ONCE; ++r) best[r] = none, column[r] = 0, row[r] = min(first + r, n - 1);
#pragma unroll 4
        for (u32 j = static_cast<u32>(part * m / parts) + lane_id(); j < end; j += WARP) {
            const Number own = level[j];
#pragma unroll
            for (u32 r = 0; r < ROWS_AT_ONCE; ++r) {
                const Number value = below_level(args, row[r], j, own);
                column[r] = value < best[r] ? j : column[r];
                best[r] = value < best[r] ? value : best[r];
            }
        }
#pragma unroll
        for (u32 r = 0; r < ROWS_AT_ONCE; ++r) {
            if (lane_of_least(key_of(best[r])) != lane_id() || first + r >= n) continue;
            const i64 reduced = args.costs.at(row[r], column[r]) - args.level[column[r]] + args.price[row[r]];
            args.value[row[r] * parts + part] = reduced;
            args.partner[row[r] * parts + part] = column[r];
        }
    }
}

// The best pair of a row.
struct Best {
    i64 reduced;
    u32 column;

    __device__ __forceinline__ Best(const Arguments& args, u32 row) : reduced(FAR), column(0) {
        const u64 parts = args.parts;
        for (u64 k = row * parts; k < (row + 1) * parts; ++k) {
            const i64 value = args.value[k];
            column = value < reduced ? args.partner[k] : column;
            reduced = value < reduced ? value : reduced;
        }
    }
};

// Returns the largest reduced cost of a pair that is to enter the tree: a part of the least one; 0 if none is negative.
__device__ i64 find_bar(const Arguments& args, Team& team) {
    i64 least = 0;
    for (u32 row = threadIdx.x; row < args.num_rows; row += blockDim.x) least = min(least, Best(args, row).reduced);
    least = static_cast<i64>(team.least_of_block(key_of(least)) ^ SIGN);
    return least < 0 ? min(i64{-1}, least / 100 * static_cast<i64>(args.percent)) : 0;
}

// The warp whose slot a lane reads.
__device__ __forceinline__ u32 warp_of_lane(u32 lane) { return lane < THREADS / WARP ? lane : 0; }

// Pairs that a thread lists: those of some rows, with reduced costs of at most `most`.
struct Listed {
    u32 row[LISTED], column[LISTED];
    i64 cost[LISTED];

    // Begins with other rows after each pricing, as there may be more than a thread can list.
    __device__ Listed(const Arguments& args, i64 most, u32 turn) {
        const u32 n = static_cast<u32>(args.num_rows), rounds = (n + THREADS - 1) / THREADS;
        u32 size = 0;
#pragma unroll
        for (u32 k = 0; k < LISTED; ++k) row[k] = NONE, column[k] = 0, cost[k] = 0;
        for (u32 round = 0; round < rounds && size < LISTED; ++round) {
            const u32 i = (round + turn) % rounds * THREADS + threadIdx.x;
            if (i >= n) continue;
            const Best best(args, i);
            if (best.reduced > most) continue;
            const i64 own = args.costs.at(i, best.column);
#pragma unroll
            for (u32 k = 0; k < LISTED; ++k)
                if (k == size) row[k] = i, column[k] = n + best.column, cost[k] = own;
            ++size;
        }
    }
};

// Finds the listed pair of least reduced cost. Returns whether that is at most `most`.
__device__ bool choose_pair(const Tree& tree, Scratch& scratch, const Listed& listed, i64 most, Entering& in) {
    i64 reduced = FAR;
    u32 row = NONE, column = 0;
#pragma unroll
    for (u32 k = 0; k < LISTED; ++k) {
        if (listed.row[k] == NONE) continue;
        const i64 own = listed.cost[k] + tree.price[listed.row[k]] - tree.price[listed.column[k]];
        row = own < reduced ? listed.row[k] : row;
        column = own < reduced ? listed.column[k] : column;
        reduced = own < reduced ? own : reduced;
    }
    Slot* const slots = scratch.slots[0];
    // Single precision is enough to compare.
    const u32 key = key_of(static_cast<float>(reduced));
    if (lane_of_least(key) == lane_id()) {
        Slot& slot = slots[threadIdx.x / WARP];
        slot.key = static_cast<u64>(reduced), slot.second = key, slot.row = row, slot.column = column;
    }
    __syncthreads();
    const u32 lane = lane_of_least(slots[warp_of_lane(lane_id())].second);
    const Slot& best = slots[warp_of_lane(lane)];
    in.reduced = static_cast<i64>(best.key);
    in.row = best.row, in.column = best.column;
    return in.reduced <= most;
}

// Writes the vertices of the cycle that a new pair closes to `tree.name`, and their subtrees to `tree.range`. Returns
// the vertex whose pair leaves: the last one along the cycle, from its top in the direction of the new pair, of those
// that lose all flow (Cunningham 1976). So all pairs without flow keep leading from a row to its parent, and pivots do
// not cycle.
__device__ Slot find_cycle(const Arguments& args, Tree& tree, Scratch& scratch, Entering& in) {
    const u32 n = tree.num_rows;
    in.row_place = tree.place[in.row], in.row_depth = tree.nodes[in.row_place].depth;
    in.column_place = tree.place[in.column], in.column_depth = tree.nodes[in.column_place].depth;
    tree.make_room(args, scratch, in.row_depth + in.column_depth);
    const u32 last = tree.last;
    Slot own;
    own.key = ~u64{0}, own.second = NONE, own.top = NONE;
    own.place = own.end = own.depth = 0;
    for (u32 p = threadIdx.x; p <= max(in.row_place, in.column_place); p += THREADS) {
        const Node node = tree.nodes[p];
        const bool above_row = p <= in.row_place && in.row_place < node.end;
        const bool above_column = p <= in.column_place && in.column_place < node.end;
        if (above_row == above_column) continue;
        const u32 v = node.vertex, depth = node.depth;
        const u32 at = above_row ? in.row_depth - depth : last - (in.column_depth - depth);
        tree.name[at] = static_cast<Half>(v);
        tree.range[at] = {static_cast<Half>(p), node.end};
        own.top = min(own.top, depth);
        // On the side of the row, pairs of a row and its parent lose flow; on that of the column, the other ones.
        if (above_row != (v < n)) continue;
        const u64 flow = static_cast<u64>(tree.flow[v]);
        const u32 rank = above_row ? (1u << 31) - depth : depth;
        if (flow > own.key || (flow == own.key && rank > own.second)) continue;
        own.key = flow, own.second = rank, own.place = p, own.end = node.end, own.depth = depth;
    }
    Slot* const slots = scratch.slots[1];
    own.top = least_of_warp(own.top);
    if (lane_of_least(own.key, own.second) == lane_id()) slots[threadIdx.x / WARP] = own;
    __syncthreads();
    const Slot& seen = slots[warp_of_lane(lane_id())];
    Slot out = slots[warp_of_lane(lane_of_least(seen.key, seen.second))];
    out.top = least_of_warp(seen.top);
    return out;
}

// Returns how many vertices of the path do not have place `p` in their subtrees: those before the first one that has.
// The subtrees of the path are nested. All lanes of the warp call it with places from `base` to `most`. Each lane looks at
// one vertex of the path: the warp's places lie all inside its subtree, all outside, or the vertex is `mixed`.
__device__ __forceinline__ u32 path_vertices_aside(
    const Range* range, bool below_column, u32 last, u32 length, u32 base, u32 most, u32 p) {
    u32 aside = 0;
    for (u32 begin = 0; begin < length; begin += WARP) {
        const u32 step = begin + lane_id();
        const bool is_there = step < length;
        const Range own = is_there ? range[below_column ? last - step : step] : Range{0, 0};
        const bool has_base = own.holds(base), has_most = own.holds(most);
        // A subtree that has the first and the last place has all. One that has neither may lie between them.
        const bool is_mixed = is_there && (has_base != has_most || (!has_base && base < own.begin && own.begin <= most));
        aside += __popc(__ballot_sync(ALL_LANES, is_there && !is_mixed && !has_base));
        for (u32 mixed = __ballot_sync(ALL_LANES, is_mixed); mixed != 0; mixed &= mixed - 1) {
            const int lane = __ffs(static_cast<int>(mixed)) - 1;
            const u32 from = __shfl_sync(ALL_LANES, u32{own.begin}, lane), to = __shfl_sync(ALL_LANES, u32{own.end}, lane);
            aside += p < from || p >= to;
        }
    }
    return aside;
}

// Nodes that a thread loads together before it moves them.
constexpr u32 MOVES_AT_ONCE = 4;

// Makes a pair enter the tree. The subtree below the leaving pair is hung up at its vertex of the new pair; the path
// from there to its old root turns around.
__device__ void pivot(const Arguments& args, Tree& tree, Scratch& scratch, Entering& in) {
    const Slot out = find_cycle(args, tree, scratch, in);
    const u32 n = tree.num_rows, last = tree.last;
    const i64 amount = static_cast<i64>(out.key);
    const bool below_column = out.place <= in.column_place && in.column_place < out.end;
    const u32 begin = out.place, end = out.end, size = end - begin;
    const u32 lower_depth = below_column ? in.column_depth : in.row_depth, length = lower_depth - out.depth + 1;
    const u32 upper = below_column ? in.row : in.column, upper_depth = below_column ? in.row_depth : in.column_depth;
    const u32 upper_place = below_column ? in.row_place : in.column_place;
    const bool moves_up = upper_place < begin;
    const u32 target = moves_up ? upper_place + 1 : upper_place + 1 - size;
    const i64 rise = below_column ? in.reduced : -in.reduced;
    const auto on_path = [&](u32 step) { return below_column ? last - step : step; };
    const u32 row_side = in.row_depth - out.top + 1, cycle = row_side + in.column_depth - out.top + 1;

    // vertices of the cycle: new flows, which are written when all threads have read the old ones
    u32 v = NONE;
    i64 flow = 0;
    for (u32 chunk = (cycle + THREADS - 1) / THREADS; chunk-- > 0;) {
        const u32 k = chunk * THREADS + threadIdx.x;
        v = NONE;
        if (k < cycle) {
            const bool in_column_side = k >= row_side, in_moved_side = in_column_side == below_column;
            const u32 step = in_column_side ? k - row_side : k, at = in_column_side ? last - step : step;
            const bool turns = in_moved_side && step < length;
            v = tree.name[at];
            const u32 from = !turns ? v : step > 0 ? tree.name[on_path(step - 1)] : NONE;
            flow = from == NONE ? amount : tree.flow[from] + (in_column_side == (from >= n) ? -amount : amount);
            if (turns)
                args.parent[v] = from == NONE ? upper : from;
            else if (moves_up && !in_moved_side)
                tree.nodes[tree.range[at].begin].end += static_cast<Half>(size);
            else if (!moves_up && in_moved_side)
                tree.nodes[tree.range[at].begin].end -= static_cast<Half>(size);
        }
        if (chunk == 0) break;
        __syncthreads();
        if (v != NONE) tree.flow[v] = flow;
    }

    // places that change; all lanes of a warp go through the loop together
    const u32 first = min(begin, target), behind = max(end, upper_place + 1);
    const u64 room = args.room;
    Node* const far_stage = args.stage;
    const auto staged = [&](u32 p) { return p - first < room ? &tree.near_stage[p - first] : &far_stage[p]; };
    for (u32 base = first + threadIdx.x - lane_id(); base < behind; base += THREADS) {
        const u32 p = base + lane_id(), most = min(base + WARP, behind) - 1;
        const bool is_there = p < behind, is_inside = begin <= p && p < end;
        u32 low = 0;
        if (base < end && most >= begin) low = path_vertices_aside(tree.range, below_column, last, length, base, most, p);
        if (!is_there) continue;
        Node node = tree.nodes[p];
        if (!is_inside) {
            // The end stays where the subtree loses or gains the one that moves.
            if (moves_up)
                node.moved = static_cast<Half>(p + size), node.end += static_cast<Half>(node.end <= begin ? size : 0);
            else
                node.moved = static_cast<Half>(p - size), node.end -= static_cast<Half>(node.end <= upper_place ? size : 0);
        } else {
            // `low` is the number of the first vertex of the path above this one
            const Range own = tree.range[on_path(low)];
            const Range before = low > 0 ? tree.range[on_path(low - 1)] : Range{own.begin, own.begin};
            const u32 moved = target + p - own.begin + (low > 0 && p <= before.begin ? before.size() : 0);
            const u32 new_size = p == own.begin ? size - before.size() : node.end - p;
            node.moved = static_cast<Half>(moved);
            node.end = static_cast<Half>(moved + new_size);
            node.depth = static_cast<Half>(upper_depth + 1 + low + node.depth - (lower_depth - low));
            tree.price[node.vertex] += rise;
        }
        *staged(p) = node;
    }
    __syncthreads();
    if (v != NONE) tree.flow[v] = flow;
    for (u32 begin_of_these = first + threadIdx.x; begin_of_these < behind; begin_of_these += MOVES_AT_ONCE * THREADS) {
        Node node[MOVES_AT_ONCE];
#pragma unroll
        for (u32 k = 0; k < MOVES_AT_ONCE; ++k) node[k] = *staged(min(begin_of_these + k * THREADS, behind - 1));
#pragma unroll
        for (u32 k = 0; k < MOVES_AT_ONCE; ++k) {
            if (begin_of_these + k * THREADS >= behind) break;
            tree.nodes[node[k].moved] = node[k];
            tree.place[node[k].vertex] = node[k].moved;
        }
    }
}

// Pivots with the listed pairs while their reduced costs are at most `most`; returns the number of pivots.
__device__ u64 pivot_listed(const Arguments& args, Scratch& scratch, Tree& tree, i64 most, u32 turn, u64 limit) {
    const Listed listed(args, most, turn);
    Entering in;
    u64 pivots = 0;
    for (; pivots < limit && choose_pair(tree, scratch, listed, most, in); ++pivots) pivot(args, tree, scratch, in);
    __syncthreads();
    return pivots;
}

// Most pivots between two looks at the stop flag.
constexpr u64 PIVOTS_A_LOOK = 1000;

// Prices all pairs and pivots, until no reduced cost is negative.
__device__ State improve(const Arguments& args, Team& team, Tree& tree) {
    u64 left = args.pivots;
    State state = GOING;
    u32 turn = 0;
    if (team.leads()) tree.load(args);
    for (;;) {
        if (team.leads()) {
            tree.show_prices(args);
            if (threadIdx.x == 0) relaxed_store(&args.words[STATE], static_cast<u64>(state));
        }
        if (!team.meet(args)) state = STOPPED;
        if (state != STOPPED) state = static_cast<State>(team.scratch.state);
        if (state != GOING && state != PROVING) break;
        if (state == GOING)
            price_rows(args, team, args.smooth + args.num_rows, NO_COST);
        else
            price_rows(args, team, args.level, FAR);
        if (!team.meet(args)) {
            state = STOPPED;
            break;
        }
        if (!team.leads()) continue;
        const i64 most = find_bar(args, team);
        const u64 pivots = most < 0 ? pivot_listed(args, team.scratch, tree, most, ++turn, min(left, PIVOTS_A_LOOK)) : 0;
        left -= pivots;
        if (most >= 0)
            state = state == PROVING ? OPTIMAL : PROVING;
        else if (left == 0)
            state = OVER;
        if (threadIdx.x != 0) continue;
        args.words[PIVOTS] += pivots;
        ++args.words[PRICINGS];
    }
    if (team.leads()) tree.store(args);
    return state;
}

// Sets the prices of columns without mass, which are not in the tree: the highest for which no reduced cost is negative.
__device__ void price_left_columns(const Arguments& args, const Team& team) {
    const u64 n = args.num_rows;
    for (u64 j = team.grid.warp(); j < args.num_columns; j += team.grid.num_warps()) {
        if (args.mass[n + j] > 0) continue;
        i64 least = FAR;
        for (u64 i = lane_id(); i < n; i += WARP) least = min(least, args.costs.at(i, j) + args.price[i]);
        least = static_cast<i64>(~greatest_of_warp(~key_of(least)) ^ SIGN);
        if (lane_id() == 0) args.price[n + j] = least;
    }
}

__device__ State solve(const Arguments& args, Team& team, Tree tree) {
    const u64 before = relaxed_load(&args.words[ENDING]);
    if (before == NEW) {
        if (!smooth(args, team)) return STOPPED;
        if (args.pauses) return SMOOTHED;
        if (!start(args, team)) return STOPPED;
    }
    if (before == STARTED && team.leads()) measure_tree(args, team);
    if (!team.meet(args)) return STOPPED;
    const State state = improve(args, team, tree);
    if (state == OPTIMAL) {
        team.meet(args);
        price_left_columns(args, team);
    }
    return state;
}

// Each team solves one item after the other. The grid may have fewer blocks than were asked for: blocks that are left
// over make no team.
KERNEL(transport_slice, Arguments) {
    SharedArena arena;
    Scratch& scratch = *arena.take<Scratch>(1);
    const u32 blocks = min(static_cast<u32>(args.blocks_an_item), gridDim.x), teams = gridDim.x / blocks;
    const u32 number = blockIdx.x / blocks;
    if (number >= teams) return;
    Team team{GridTeam(args.arrivals + 32 * number, blocks, number * blocks), scratch};
    for (u64 item = number; item < args.num_items; item += teams) {
        if (threadIdx.x == 0) scratch.args = args.part(item);
        __syncthreads();
        const u64 before = relaxed_load(&scratch.args.words[ENDING]);
        if (before == NEW || before == OVER || before == STARTED) {
            const State state = solve(scratch.args, team, Tree(scratch.args, arena));
            // No thread reads the last ending any more: all have met since.
            if (team.grid.is_first()) relaxed_store(&scratch.args.words[ENDING], static_cast<u64>(state));
        }
        __syncthreads();
    }
}
