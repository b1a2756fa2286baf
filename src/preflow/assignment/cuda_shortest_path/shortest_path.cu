// The persistent kernel of cuda-shortest-path. After the phases of start.cuh it searches from all free columns at once
// and moves rows along the paths found. Each phase ends at a barrier of the problem's blocks. The pseudo-code is in
// __init__.py; its steps bear the names of the phases here.
#include "start.cuh"

// Reading this many costs takes about as long as a barrier.
constexpr u64 COSTS_A_ROUND = 1 << 24;

// A step of a path: a column (upper half) and its row, or NONE (lower half).
__device__ __forceinline__ u64 step_to(u32 column, u32 row) { return static_cast<u64>(column) << 32 | row; }
__device__ __forceinline__ u32 column_of(u64 step) { return static_cast<u32>(step >> 32); }
__device__ __forceinline__ u32 row_of(u64 step) { return static_cast<u32>(step); }

// Matches a row on a path that was taken with the next column on it. Returns whether the row's own path
// stays valid as a whole.
__device__ bool move_row(const Arguments& args, u32 row, const State& state) {
    if (args.moved[row] == static_cast<u32>(state.searches)) {
        const u32 column = args.parent[row];
        args.row_match[row] = column;
        relaxed_store(&args.column_match[column], row);
        return false;
    }
    const u32 root = column_of(args.jumps_of(state.jumps)[row]);
    return root != NONE && relaxed_load(&args.claims_of(state.searches)[root]) == NONE;
}

__device__ void begin_search(const Arguments& args, Team& team, Scratch& scratch, u64& scans) {
    State& state = scratch.state;
    constexpr u32 ROWS = WARP / LANES_A_ROW;
    const u32 rows = args.owned_rows(), stride = blockDim.x / LANES_A_ROW, lane = lane_id() % LANES_A_ROW;
    u32* const next_claims = args.claims_of(state.searches + 1);
    for (u32 j = team.thread(); j < args.num_columns; j += team.num_threads()) relaxed_store(&next_claims[j], NONE);
    Report report;
    for (u32 first = threadIdx.x / WARP * ROWS; first < rows; first += stride) {
        const u32 k = first + lane_id() / LANES_A_ROW;
        const bool is_there = k < rows, leads = is_there && lane == 0;
        const u32 row = args.owned_row(k);
        const bool stays = state.searches > 0 && leads && move_row(args, row, state);
        __syncwarp();
        const u32 match = is_there ? args.row_match[row] : 0;
        Number own = is_there ? args.u[row] : Number{0};
        if (state.searches == 0) {
            Number least = is_there ? args.bound[row] : beyond();
            for (u32 e = lane; is_there && e < args.size[row]; e += LANES_A_ROW) {
                const u64 at = args.list_of(row) + e;
                least = smaller(least, args.listed_cost[at] - args.v[args.listed[at]]);
            }
            own = least_of_lanes<LANES_A_ROW>(least);
            if (!(own < beyond())) own = 0;
        }
        Number nearest = beyond();
        if (is_there) nearest = reduce_list(args, row, own, lane, LANES_A_ROW);
        nearest = least_of_lanes<LANES_A_ROW>(nearest);
        __syncwarp();
        if (leads) {
            args.u[row] = own;
            args.nearest[row] = nearest;
            const Number distance = stays ? Number{0} : beyond();
            args.distance[row] = distance;
            if (match != NONE) relaxed_store(&args.column_distance[match], word_of(distance));
            scans += args.size[row];
            report.count += match == NONE;
        }
    }
    report.give(args, scratch, state.round);
    team.wait([&] {
        const u64 free_rows = args.read(state.round + 1, COUNT);
        const bool stuck = state.searches > 0 && free_rows >= state.free_rows;
        state.ending = stuck ? STUCK : free_rows > 0 ? STOPPED : SOLVED;
        state.free_rows = free_rows;
        if (state.searches == 0) state.searched = free_rows;
        state.end_round(team, stuck ? DONE : free_rows == 0 ? FINISH : RELAX);
        state.least = 0;
        state.limit = word_of(beyond());
        ++state.searches;
    });
}

// Entries of a row's list in the registers of a lane.
struct Entries {
    Number reduced[AT_ONCE];
    u32 listed[AT_ONCE];

    __device__ __forceinline__ Entries(const Arguments& args, u64 list, u32 size, u32 first) {
#pragma unroll
        for (u32 e = 0; e < AT_ONCE; ++e) {
            const u32 k = first + e * LANES_A_ROW + lane_id() % LANES_A_ROW;
            reduced[e] = k < size ? args.reduced[list + k] : beyond();
            listed[e] = k < size ? args.listed[list + k] : 0;
        }
    }

    // Shortens a distance by paths that begin with one of the columns, given the words of the columns' distances.
    __device__ __forceinline__ void look(const u64* column_distance, Number& shortest, u32& column) const {
        u64 there[AT_ONCE];
#pragma unroll
        for (u32 e = 0; e < AT_ONCE; ++e) {
            there[e] = word_of(beyond());
            if (reduced[e] < shortest) there[e] = relaxed_load(&column_distance[listed[e]]);
        }
#pragma unroll
        for (u32 e = 0; e < AT_ONCE; ++e) {
            const Number through = number_of(there[e]) + reduced[e];
            if (through < shortest) {
                shortest = through;
                column = listed[e];
            }
        }
    }
};

// RELAX: shortens the distances of all rows by changes of the last round. Each group of lanes reads its row `sweeps`
// times; it may or may not see changes of this round.
__device__ void relax_rows(const Arguments& args, Team& team, Scratch& scratch, u64& scans) {
    State& state = scratch.state;
    constexpr u32 ROWS = WARP / LANES_A_ROW;
    const u32 rows = args.owned_rows(), stride = blockDim.x / LANES_A_ROW, sweeps = static_cast<u32>(args.sweeps);
    const Number changed = number_of(state.least), limit = number_of(state.limit);
    u64* const column_distance = args.column_distance;
    Report report;
    for (u32 first = threadIdx.x / WARP * ROWS; first < rows; first += stride) {
        const u32 k = first + lane_id() / LANES_A_ROW;
        const bool is_there = k < rows, leads = lane_id() % LANES_A_ROW == 0;
        const u32 row = args.owned_row(k), match = is_there ? args.row_match[row] : 0;
        const Number before = is_there ? args.distance[row] : Number{0};
        Number least = smaller(before, limit);
        const Number nearest = is_there ? args.nearest[row] : beyond();
        if (__any_sync(ALL_LANES, changed + nearest < least)) {
            const u64 list = args.list_of(row);
            const u32 size = changed + nearest < least ? args.size[row] : 0;
            const Entries entries(args, list, size, 0);
            u32 parent = NONE;
            for (u32 sweep = 0; sweep < sweeps; ++sweep) {
                Number shortest = least;
                u32 column = NONE;
                entries.look(column_distance, shortest, column);
                for (u32 more = AT_ONCE * LANES_A_ROW; more < size; more += AT_ONCE * LANES_A_ROW)
                    Entries(args, list, size, more).look(column_distance, shortest, column);
                const Number of_all = least_of_lanes<LANES_A_ROW>(shortest);
                const u32 found = from_lane_that<LANES_A_ROW>(shortest == of_all && column != NONE, column);
                if (!(of_all < least)) continue;
                least = of_all;
                parent = found;
                if (leads && match != NONE) relaxed_store(&column_distance[match], word_of(least));
            }
            __syncwarp();
            if (parent != NONE) {
                report.least = smaller(report.least, least);
                if (leads) {
                    args.distance[row] = least;
                    args.parent[row] = parent;
                }
            }
            if (leads) scans += sweeps * size;
        }
        if (match == NONE) report.limit = max(report.limit, word_of(smaller(before, least)));
    }
    report.give(args, scratch, state.round);
    team.wait([&] {
        state.least = ~args.read(state.round + 1, LEAST_TURNED);
        state.limit = min(state.limit, args.read(state.round + 1, LIMIT));
        state.end_round(team, state.least < state.limit ? RELAX : CHECK);
    });
}

// CHECK: scans the rows that may have a shorter path through columns that they do not list.
__device__ void check_rows(const Arguments& args, Team& team, Scratch& scratch, u64& scans) {
    State& state = scratch.state;
    const u32 rows = args.owned_rows();
    const Number limit = number_of(state.limit);
    Report report;
    for (u32 begin = 0; begin < rows; begin += blockDim.x) {
        if (threadIdx.x == 0) scratch.num_rows = 0;
        __syncthreads();
        const u32 k = begin + threadIdx.x;
        if (k < rows) {
            const u32 row = args.owned_row(k);
            const Number bound = args.bound[row];
            if (bound < beyond() && bound < args.u[row] + smaller(args.distance[row], limit))
                scratch.rows[relaxed_fetch_add(&scratch.num_rows, 1u)] = row;
        }
        __syncthreads();
        const u32 num_rows = relaxed_load(&scratch.num_rows);
        for (u32 r = 0; r < num_rows; ++r) {
            if (r + 1 < num_rows) args.costs.row(scratch.rows[r + 1]).fetch(args.num_columns);
            const bool shorter = search_row(args, scratch, scratch.rows[r]);
            const Number distance = args.distance[scratch.rows[r]];
            if (shorter && distance < limit) report.least = smaller(report.least, distance);
        }
        if (threadIdx.x == 0) {
            report.count += num_rows;
            scans += num_rows * args.num_columns;
        }
        __syncthreads();
    }
    for (u32 k = threadIdx.x; k < rows; k += blockDim.x)
        if (args.row_match[args.owned_row(k)] == NONE)
            report.limit = max(report.limit, word_of(args.distance[args.owned_row(k)]));
    report.give(args, scratch, state.round);
    team.wait([&] {
        const u64 searched = args.read(state.round + 1, COUNT);
        state.least = ~args.read(state.round + 1, LEAST_TURNED);
        state.limit = min(state.limit, args.read(state.round + 1, LIMIT));
        const bool all_found = number_of(state.limit) < too_far();
        if (!all_found) state.ending = number_of(state.limit) < beyond() ? OVERFLOW : INFEASIBLE;
        state.end_round(team, state.least < state.limit ? RELAX : all_found ? TRACE : DONE,
                        1 + searched * args.num_columns / COSTS_A_ROUND);
    });
}

// TRACE: stores the first step of the shortest path of each row within the limit.
__device__ void trace_ways(const Arguments& args, Team& team, State& state) {
    const Number limit = number_of(state.limit);
    for (u32 k = threadIdx.x; k < args.owned_rows(); k += blockDim.x) {
        const u32 row = args.owned_row(k);
        u64 step = step_to(NONE, NONE);
        if (!(limit < args.distance[row])) {
            const u32 column = args.parent[row];
            step = step_to(column, relaxed_load(&args.column_match[column]));
        }
        args.ways[row] = args.jumps_of(0)[row] = step;
    }
    team.wait([&] {
        state.jumps = 0;
        state.end_round(team, JUMP);
    });
}

// JUMP: pointer doubling, until each row knows the free column at the end of its path.
__device__ void jump_ahead(const Arguments& args, Team& team, Scratch& scratch) {
    State& state = scratch.state;
    const u64* const before = args.jumps_of(state.jumps);
    u64* const after = args.jumps_of(state.jumps + 1);
    Report report;
    for (u32 k = threadIdx.x; k < args.owned_rows(); k += blockDim.x) {
        const u32 row = args.owned_row(k);
        const u64 step = before[row], ahead = row_of(step) == NONE ? step : before[row_of(step)];
        after[row] = ahead;
        report.count += row_of(ahead) != NONE;
    }
    report.give(args, scratch, state.round);
    team.wait([&] {
        ++state.jumps;
        const bool arrived = args.read(state.round + 1, COUNT) == 0, turns = !arrived && state.jumps > WARP;
        if (turns) state.ending = STUCK;
        state.end_round(team, turns ? DONE : arrived ? AUGMENT : JUMP);
    });
}

// AUGMENT: changes prices by the distances, so that all arcs of shortest paths have reduced cost 0. Of the free rows
// whose paths end at the same free column, one takes its path.
__device__ void augment(const Arguments& args, Team& team, Scratch& scratch) {
    State& state = scratch.state;
    const u32 search = static_cast<u32>(state.searches);
    const Number limit = number_of(state.limit);
    Report report;
    for (u32 k = threadIdx.x; k < args.owned_rows(); k += blockDim.x) {
        const u32 row = args.owned_row(k), match = args.row_match[row];
        const Number change = smaller(args.distance[row], limit);
        args.u[row] += change;
        if (match != NONE) {
            args.v[match] -= change;
            report.count += args.v[match] < -2 * too_far();
            continue;
        }
        const u32 root = column_of(args.jumps_of(state.jumps)[row]);
        if (relaxed_compare_exchange(&args.claims_of(search)[root], NONE, row) != NONE) continue;
        for (u32 at = row; at != NONE; at = row_of(args.ways[at])) relaxed_store(&args.moved[at], search);
    }
    report.give(args, scratch, state.round);
    team.wait([&] {
        const bool fits = args.read(state.round + 1, COUNT) == 0;
        if (!fits) state.ending = OVERFLOW;
        state.end_round(team, fits ? BEGIN : DONE);
    });
}

// FINISH: writes the costs of the pairs, and prices of rows for which their reduced costs are exactly 0.
__device__ void finish(const Arguments& args, Team& team, State& state) {
    for (u32 k = threadIdx.x; k < args.owned_rows(); k += blockDim.x) {
        const u32 row = args.owned_row(k), match = args.row_match[row];
        const Number cost = args.costs.row(row).at(match);
        args.distance[row] = cost;
        args.u[row] = cost - args.v[match];
    }
    team.wait([&] { state.end_round(team, DONE); });
}

KERNEL(shared_memory, SharedMemory) {
    args.sizes[0] = sizeof(Scratch);
    args.sizes[1] = 0;
}

KERNEL(shortest_path_slice, Arguments) {
    SharedArena arena;
    Scratch& scratch = *arena.take<Scratch>(1);
    const u32 blocks = static_cast<u32>(args.blocks_a_problem), problem = blockIdx.x / blocks;
    if (threadIdx.x == 0) scratch.args = args.part(problem);
    if (threadIdx.x < SIGNALS) relaxed_store(&scratch.report[threadIdx.x], u64{0});
    __syncthreads();
    const Arguments& own = scratch.args;
    State& state = scratch.state;
    Team team(reinterpret_cast<u32*>(own.words + ARRIVALS_AT), blocks, problem * blocks);
    u64 scans = 0;
    team.wait([&] {
        load_state(own.words, state);
        state.rounds_left = own.rounds;
    });
    while (state.phase != DONE && state.rounds_left > 0) {
        if (team.thread() < SIGNALS) relaxed_store(own.signal(state.round + 2, team.thread()), u64{0});
        if (team.is_first()) watch(team, own.stop, state.round, state.next_look);
        switch (state.phase) {
            case REDUCE_COLUMNS: reduce_columns(own, team, state); break;
            case START: start(own, team, state); break;
            case LIST: list_rows(own, team, scratch, scans); break;
            case BID: bid_for_columns(own, team, state, scans); break;
            case SETTLE: settle(own, team, state); break;
            case BEGIN: begin_search(own, team, scratch, scans); break;
            case RELAX: relax_rows(own, team, scratch, scans); break;
            case CHECK: check_rows(own, team, scratch, scans); break;
            case TRACE: trace_ways(own, team, state); break;
            case JUMP: jump_ahead(own, team, scratch); break;
            case AUGMENT: augment(own, team, scratch); break;
            default: finish(own, team, state);
        }
    }
    team.wait([&] {
        if (team.block() == 0)
            save_state(own.words, state);
    });
    add_up(&own.words[COUNTED_AT], scans);
}
