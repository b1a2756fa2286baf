// The persistent kernel of cuda_pushrelabel.py: searches, level by level, and discharges without barriers in turn.
#include "discharge.cuh"
#include "search.cuh"

// What a launch takes depends on the mean degree and the greatest.
#ifndef LANES_A_VERTEX
#define LANES_A_VERTEX 8
#define HAS_HUBS 1
#endif

enum Phase : u64 { START, SEARCH, DISCHARGE, DONE };

// Where the loop stands. Each block holds a copy, which its first thread changes between the two halves of a
// barrier; between two launches it is in device memory.
struct State {
    u64 phase;
    u64 rounds_left;     // of this launch
    u64 round;           // barriers so far: which of the rotating counters is meant
    u64 begin, end;      // the level that is expanded next, in the order of the search
    u64 level;           // their height
    u64 last_level;      // where the search stops; 0: not known yet
    u64 last_active;     // the last level with an active vertex
    u64 wanted;          // active vertices that the search has yet to reach
    u64 active;          // those that it has
    u64 searches, levels, levels_of_few, phases;
    u64 began, nanoseconds;  // of the running search, of all searches

    __device__ void end_round() {
        ++round;
        if (rounds_left > 0) --rounds_left;
    }
};
constexpr u32 STATE_WORDS = sizeof(State) / sizeof(u64);

struct Arguments {
    Network net;
    u32* height;
    ArcRange* order;
    Inboxes inboxes;
    u32* arrivals;
    u32* counters;
    u64* state;             // of the next launch, and two copies to pass on what one block did alone
    u64* counts;
    u64 steps;              // of a vertex before others get their turn
    u64 work_limit;         // a search is due after so much work
    u64 step_limit;         // or when a warp has taken so many vertices and
    u64 step_percent;       // so many for each hundred levels of the last search
    u64 few;                // levels of so few vertices are for one block
    u64 overshoot_percent;  // how much farther a search goes than the last active vertex; 0: to the end
    u64 enough_percent;     // if it has so many of the active vertices by then
    u64 keeps;              // whether a warp that has room keeps one of the vertices that it activates
    u64 only_search;        // a last search, to the end
};

// Counters of a round of the search: vertices reached, and active ones among them or, when it starts, in all.
struct Counters {
    u32* base;

    __device__ RotatingSizes reached() const { return {base}; }
    __device__ RotatingSizes active() const { return {base + 3 * 32}; }
    __device__ RotatingSizes wanted() const { return {base + 6 * 32}; }

    __device__ void clear_later(const GridTeam& team, u64 round) const {
        if (team.is_first()) {
            reached().clear(round + 2);
            active().clear(round + 2);
            wanted().clear(round + 2);
        }
    }
};
constexpr u32 COUNTER_WORDS = 9 * 32;
// What all warps share while they discharge, each on a cache line of its own behind the counters.
enum Shared : u32 { OVER = COUNTER_WORDS, WORK = OVER + 32, ACTIVE = WORK + 32, RESTS = ACTIVE + 32, WAKES = RESTS + 32 };

__device__ void count(u32* counter, u64 amount) {
    amount = sum_of_warp(amount);
    if (amount > 0 && lane_id() == 0) relaxed_fetch_add(counter, static_cast<u32>(amount));
}

__device__ void end_level(State& state, u32 reached, u32 active) {
    state.end_round();
    state.begin = state.end;
    state.end += reached;
    state.active += active;
    state.wanted -= active;
    ++state.level;
}

// Forgets the heights, but of what no search will reach, and starts from the vertices next to the sink.
__device__ void start_search(const Arguments& args, GridTeam& team, const Counters& counters, State& state) {
    const u32 n = static_cast<u32>(args.net.num_vertices);
    const u64 round = state.round;
    u64 wanted = 0, active = 0;
    const u64 began = nanoseconds();
    counters.clear_later(team, round);
    for (u32 base = team.thread() - lane_id(); base < n; base += team.num_threads()) {
        const u32 v = base + lane_id();
        bool is_next = false;
        if (v < n && relaxed_load(&args.height[v]) != n + 1) {
            is_next = args.net.sink_residual[v] > 0;
            const bool has_excess = relaxed_load(&args.net.excess[v]) > 0;
            wanted += has_excess;
            active += is_next && has_excess;
            relaxed_store(&args.height[v], is_next ? 1u : UNREACHED);
        }
        const ArcRange range = is_next ? ArcRange{args.net.first_out[v], args.net.first_out[v + 1]} : ArcRange{0, 0};
        append_arcs(counters.reached().of(round + 1), is_next, range,
                    [&](u32 place, ArcRange piece) { store_range(&args.order[place], piece); });
    }
    count(counters.wanted().of(round + 1), wanted);
    count(counters.active().of(round + 1), active);
    team.wait([&] {
        state.begin = state.end = state.level = state.last_level = state.last_active = state.active = 0;
        state.wanted = counters.wanted().read(round + 1);
        end_level(state, counters.reached().read(round + 1), counters.active().read(round + 1));
        ++state.searches;
        state.began = began;
        state.phase = SEARCH;
    });
}

__device__ bool is_searching(const Arguments& args, const State& state) {
    return state.begin < state.end && (args.only_search || state.last_level == 0 || state.level < state.last_level);
}

// Takes what the search's round that ends here has counted, and sees whether the search goes on.
__device__ void end_expansion(const Arguments& args, State& state, u32 reached, u32 active) {
    end_level(state, reached, active);
    if (active > 0) state.last_active = state.level;
    if (args.overshoot_percent > 0 && state.active > 0 &&
        100 * state.level >= (100 + args.overshoot_percent) * state.last_active &&
        100 * state.active >= args.enough_percent * (state.active + state.wanted))
        state.last_level = state.level;
    ++state.levels;
}

// Expands levels of more than `few` vertices on the whole grid.
__device__ void expand_wide_levels(const Arguments& args, GridTeam& team, const Counters& counters, State& state,
                                   ArcRange* ranges, u32* sizes) {
    const BlockList list(ranges, sizes, 0);
    while (is_searching(args, state) && state.end - state.begin > args.few && state.rounds_left > 0) {
        const ArcRange* const level = args.order + state.begin;
        ArcRange* const next = args.order + state.end;
        u32* const reached = counters.reached().of(state.round + 1);
        u32* const active = counters.active().of(state.round + 1);
        counters.clear_later(team, state.round);
        expand_level<LANES_A_VERTEX, false>(
            team, args.net, args.height, static_cast<u32>(state.end - state.begin), static_cast<u32>(state.level) + 1,
            [&](u32 i) { return load_range(&level[i]); },
            [&](bool found, u32, ArcRange range, i64 excess) {
                list.add(found, range, excess, [&](u32) { return &next[relaxed_fetch_add(reached, 1u)]; });
            });
        __syncthreads();
        const u32 num_kept = list.num_kept();
        if (threadIdx.x == 0 && num_kept > 0) {
            *list.base = relaxed_fetch_add(reached, num_kept);
            if (*list.active > 0) relaxed_fetch_add(active, *list.active);
        }
        __syncthreads();
        for (u32 i = threadIdx.x; i < num_kept; i += blockDim.x) store_range(&next[*list.base + i], list.ranges[i]);
        team.wait([&] {
            list.clear();
            end_expansion(args, state, counters.reached().read(state.round + 1),
                          counters.active().read(state.round + 1));
        });
    }
}

// Expands levels of up to `few` vertices in one block, which keeps them in shared memory, the next level on the
// other one of two lists.
__device__ void expand_narrow_levels(const Arguments& args, State& state, ArcRange* ranges, u32* sizes) {
    BlockTeam team;
    u32 num_kept = 0;
    u32 which = 0;
    while (is_searching(args, state) && state.end - state.begin <= args.few && state.rounds_left > 0) {
        const ArcRange* const level = args.order + state.begin;
        ArcRange* const next = args.order + state.end;
        const BlockList kept(ranges, sizes, which), list(ranges, sizes, 1 - which);
        expand_level<LANES_A_VERTEX, true>(
            team, args.net, args.height, static_cast<u32>(state.end - state.begin), static_cast<u32>(state.level) + 1,
            [&](u32 i) { return i < num_kept ? kept.ranges[i] : load_range(&level[i]); },
            [&](bool found, u32, ArcRange range, i64 excess) {
                list.add(found, range, excess, [&](u32 place) { return &next[place]; });
            });
        team.wait([&] {
            end_expansion(args, state, *list.size, *list.active);
            ++state.levels_of_few;
            kept.clear();
        });
        num_kept = list.num_kept();
        which = 1 - which;
    }
    const BlockList kept(ranges, sizes, which);
    for (u32 i = threadIdx.x; i < num_kept; i += blockDim.x) store_range(&args.order[state.begin + i], kept.ranges[i]);
    __syncthreads();
    if (threadIdx.x == 0) kept.clear();
}

// Labels what the search did not reach, dead if it went to the end, else with a bound on the distance, and puts the
// active vertices that it did reach into their inboxes.
__device__ void finish_search(const Arguments& args, GridTeam& team, const Counters& counters, State& state) {
    const u32 n = static_cast<u32>(args.net.num_vertices);
    const bool is_complete = state.begin == state.end;
    const u32 unreached = is_complete ? n + 1 : static_cast<u32>(state.level) + 1;
    counters.clear_later(team, state.round);
    for (u32 v = team.thread(); v < n; v += team.num_threads()) {
        if (relaxed_load(&args.height[v]) == UNREACHED)
            relaxed_store(&args.height[v], unreached);
        else if (relaxed_load(&args.height[v]) <= n && relaxed_load(&args.net.excess[v]) > 0)
            args.inboxes.append(v);
    }
    if (team.is_first()) {
        relaxed_store(&counters.base[OVER], 0u);
        relaxed_store(&counters.base[WORK], 0u);
        relaxed_store(&counters.base[ACTIVE], static_cast<u32>(state.active));
        relaxed_store(&counters.base[RESTS], 0u);
        relaxed_store(&counters.base[WAKES], 0u);
    }
    team.wait([&] {
        state.end_round();
        state.nanoseconds += nanoseconds() - state.began;
        state.phase = args.only_search || (is_complete && state.active == 0) ? DONE : DISCHARGE;
    });
}

// Tells what this warp did since it last told; it has nothing to do now.
__device__ void rest(const Counters& counters, Operations& operations) {
    const u32 activated = static_cast<u32>(sum_of_warp(static_cast<u64>(static_cast<i64>(operations.activated))));
    operations.activated = 0;
    if (lane_id() == 0) {
        if (activated != 0) fetch_add(&counters.base[ACTIVE], activated);
        fetch_add(&counters.base[RESTS], 1u);
    }
}

// Whether all warps rest and no vertex is active. If none wakes between the first look and the last, all that they
// did is in the count of active vertices.
__device__ bool all_at_rest(const Counters& counters, u32 num_warps) {
    const u32 wakes = acquire_load(&counters.base[WAKES]);
    return acquire_load(&counters.base[RESTS]) - wakes == num_warps && acquire_load(&counters.base[ACTIVE]) == 0 &&
           acquire_load(&counters.base[WAKES]) == wakes;
}

// A warp may take so many times its share of the vertices that were active when the search ended.
constexpr u64 SWEEPS = 4;
// A bound: a warp with nothing to do ends it after so many looks, a second or more. The search that follows finds
// whatever is still active.
constexpr u32 MOST_POLLS = 1u << 22;

// Every warp discharges the vertices in its inbox, without waiting for others, until no vertex is active or a search
// is due.
__device__ void discharge_all(const Arguments& args, GridTeam& team, const Counters& counters, State& state,
                              Operations& operations) {
    constexpr u32 VERTICES = WARP / LANES_A_VERTEX;
    const u32 group = lane_id() / LANES_A_VERTEX;
    const u32 num_warps = team.num_warps(), warp = team.warp();
    const u64 most_steps = args.step_limit + args.step_percent * state.level / 100 +
                           SWEEPS * state.active / (num_warps * VERTICES);
    const u32 report_at = static_cast<u32>(args.work_limit / (8 * num_warps)) + 1;
    u32 taken = 0;
    u32 v = NO_VERTEX;
    u64 steps = 0;
    u32 polls = 0;
    bool resting = false;
    while (true) {
        // Groups without a vertex look at the next places of the inbox, in order.
        const u32 leaders = __ballot_sync(ALL_LANES, v == NO_VERTEX && lane_id() % LANES_A_VERTEX == 0);
        const u32 rank = __popc(leaders & ((1u << (group * LANES_A_VERTEX)) - 1));
        u32 entry = 0;
        if (leaders >> lane_id() & 1) entry = args.inboxes.look(warp, taken + rank);
        const u32 over = relaxed_load(&counters.base[OVER]);
        const u32 missing = leaders & ~__ballot_sync(ALL_LANES, entry != 0);
        const u32 until = missing == 0 ? WARP : __ffs(missing) - 1;  // an entry after a missing one is left for later
        const bool takes = entry != 0 && lane_id() < until;
        if (takes) args.inboxes.clear(warp, taken + rank);
        __syncwarp();  // before another lane looks at the same place, a round of the ring later
        taken += __popc(__ballot_sync(ALL_LANES, takes));
        const u32 got = __shfl_sync(ALL_LANES, takes ? entry - 1 : NO_VERTEX, 0, LANES_A_VERTEX);
        if (v == NO_VERTEX) v = got;
        if (__shfl_sync(ALL_LANES, over, 0) != 0) break;
        if (!__any_sync(ALL_LANES, v != NO_VERTEX)) {
            if (!resting) rest(counters, operations);
            resting = true;
            if (lane_id() == 0) {
                if (++polls == MOST_POLLS || (warp == 0 && all_at_rest(counters, num_warps)))
                    relaxed_store(&counters.base[OVER], 1u);
                __nanosleep(100);
            }
            __syncwarp();
            continue;
        }
        if (resting && lane_id() == 0) fetch_add(&counters.base[WAKES], 1u);
        resting = false;
        const bool keeps = args.keeps != 0 && missing != 0;
        bool is_hub = false;
        u32 kept = discharge<LANES_A_VERTEX>(args.net, args.height, args.inboxes, v, static_cast<u32>(args.steps), keeps,
                                             operations, is_hub);
        if constexpr (HAS_HUBS) {
            u32 hubs = __ballot_sync(ALL_LANES, is_hub && lane_id() % LANES_A_VERTEX == 0);
            for (; hubs != 0; hubs &= hubs - 1) {
                const u32 leader = __ffs(hubs) - 1;
                const HubDischarge outcome =
                    discharge_hub(args.net, args.height, args.inboxes, __shfl_sync(ALL_LANES, v, leader),
                                  static_cast<u32>(args.steps), keeps);
                if (group == leader / LANES_A_VERTEX) kept = outcome.kept;
                operations.add(outcome.operations);
            }
        }
        v = kept;
        const u32 work = static_cast<u32>(sum_of_warp(operations.relabel_work));
        ++steps;
        if (work >= report_at || steps >= most_steps) {
            operations.relabel_work = 0;
            if (lane_id() == 0 &&
                (relaxed_fetch_add(&counters.base[WORK], work) + work >= args.work_limit || steps >= most_steps))
                relaxed_store(&counters.base[OVER], 1u);
        }
    }
    operations.relabel_work = 0;
    operations.activated = 0;
    team.wait([&] {
        state.end_round();
        ++state.phases;
        state.phase = START;
    });
    // the next search fills the inboxes anew
    const u32 end = relaxed_load(&args.inboxes.ends[warp]);
    for (u32 k = lane_id(); k < end - taken; k += WARP) args.inboxes.clear(warp, taken + k);
    __syncwarp();
    if (lane_id() == 0) relaxed_store(&args.inboxes.ends[warp], 0u);
    team.wait([&] { state.end_round(); });
}

__device__ void load_state(const u64* words, State& state) {
    u64* const copy = reinterpret_cast<u64*>(&state);
    for (u32 k = 0; k < STATE_WORDS; ++k) copy[k] = relaxed_load(&words[k]);
}

__device__ void save_state(u64* words, const State& state) {
    const u64* const copy = reinterpret_cast<const u64*>(&state);
    for (u32 k = 0; k < STATE_WORDS; ++k) relaxed_store(&words[k], copy[k]);
}

// Lets the first block search alone, and tells all blocks where the search stands then.
__device__ void search_in_one_block(const Arguments& args, GridTeam& team, const Counters& counters, State& state,
                                    ArcRange* ranges, u32* sizes) {
    const u64 round = state.round;
    u64* const words = args.state + (1 + round % 2) * STATE_WORDS;  // a slow block may still read the last ones
    counters.clear_later(team, round);
    if (blockIdx.x == 0) {
        expand_narrow_levels(args, state, ranges, sizes);
        if (threadIdx.x == 0) save_state(words, state);
    }
    team.wait([&] {
        load_state(words, state);
        state.round = round;
        state.end_round();
    });
}

KERNEL(push_relabel_slice, Arguments) {
    SharedArena arena;
    State& state = *arena.take<State>(1);
    u32* const sizes = arena.take<u32>(5);
    ArcRange* const ranges = arena.take<ArcRange>(2 * BlockList::CAPACITY);
    GridTeam team(args.arrivals);
    const Counters counters{args.counters};
    Operations operations;
    team.wait([&] {
        load_state(args.state, state);
        sizes[0] = sizes[1] = sizes[2] = sizes[3] = 0;
    });
    while (state.phase != DONE && state.rounds_left > 0) {
        const u64 phase = state.phase;
        if (phase == START)
            start_search(args, team, counters, state);
        else if (phase == DISCHARGE)
            discharge_all(args, team, counters, state, operations);
        else if (!is_searching(args, state))
            finish_search(args, team, counters, state);
        else if (state.end - state.begin > args.few)
            expand_wide_levels(args, team, counters, state, ranges, sizes);
        else
            search_in_one_block(args, team, counters, state, ranges, sizes);
    }
    team.wait([&] {
        if (blockIdx.x == 0) save_state(args.state, state);
    });
    const u64 totals[3] = {operations.pushes, operations.relabels, operations.arc_scans};
    for (u32 k = 0; k < 3; ++k) {
        const u64 total = sum_of_warp(totals[k]);
        if (total > 0 && lane_id() == 0) relaxed_fetch_add(&args.counts[k], total);
    }
}
