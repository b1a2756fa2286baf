// The persistent kernel of cuda_pushrelabel.py: searches, level by level, and discharges without barriers in turn.
#include "discharge.cuh"
#include "search.cuh"

// What a launch takes depends on the mean degree and the greatest.
#ifndef LANES_A_VERTEX
#define LANES_A_VERTEX 8
#define SEARCH_LANES 4
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
    u64 waves, wave_rounds;
    u64 search_blocks;       // of this phase

    __device__ void end_round() {
        ++round;
        if (rounds_left > 0) --rounds_left;
    }
};
constexpr u32 STATE_WORDS = sizeof(State) / sizeof(u64);

struct Arguments {
    Network net;
    u64* label;
    const u32* near_sink;   // the vertices with an arc to the sink
    u64 num_near_sink;
    u64* order;             // pieces of arcs of what a search reaches, level after level; or two levels of all waves
    u64 room;               // of each of the two
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
    u64 search_blocks;      // the blocks that search while others discharge,
    u64 wave_width;         // if levels have so few pieces in the mean; else first all search, then all discharge
    u64 most_waves;         // searches until all stop for one
    u64 wave_rounds;        // levels between two waves: a minimum and
    u64 wave_percent;       // so many for each hundred levels of the last search at rest
    u64 wave_load;
    u64 most_kept;
    u64 reach_percent;      // how far a wave goes, of the levels of that
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
enum Shared : u32 {
    OVER = COUNTER_WORDS,
    FINISHED = OVER + 1,  // a search: what no later one has reached is too far, or cut off
    WORK = OVER + 32,
    ACTIVE = WORK + 32,
    RESTS = ACTIVE + 32,
    WAKES = RESTS + 32,
    WAVE_SIZES = WAKES + 32,
    WAVE_ORDERS = WAVE_SIZES + 3 * 32,
    WAVE_TOTALS = WAVE_ORDERS + 3 * 32,
    ROUND = WAVE_TOTALS + 3 * 32,
    STARTS = ROUND + 32,  // of waves, 64 bits each
};

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

__device__ u64 mark_of(const State& state) {
    return label_of(static_cast<u32>(state.searches), static_cast<u32>(state.level) + 1);
}

// Starts from the vertices next to the sink, and counts those that are active.
__device__ void start_search(const Arguments& args, GridTeam& team, const Counters& counters, State& state) {
    const u32 n = static_cast<u32>(args.net.num_vertices);
    const u64 round = state.round;
    const u32 search = static_cast<u32>(state.searches) + 1;
    u64 wanted = 0, active = 0;
    const u64 began = nanoseconds();
    counters.clear_later(team, round);
    for (u32 v = team.thread(); v < n; v += team.num_threads())
        wanted += relaxed_load(&args.net.excess[v]) > 0 && height_of(relaxed_load(&args.label[v])) != n + DEAD;
    const u32 num_near = static_cast<u32>(args.num_near_sink);
    for (u32 base = team.thread() - lane_id(); base < num_near; base += team.num_threads()) {
        const u32 i = base + lane_id();
        const u32 v = i < num_near ? args.near_sink[i] : 0;
        const bool is_next = i < num_near && args.net.sink_residual[v] > 0;
        if (is_next) {
            active += relaxed_load(&args.net.excess[v]) > 0;
            relaxed_store(&args.label[v], label_of(search, 1));
        }
        const ArcRange range = is_next ? ArcRange{args.net.first_out[v], args.net.first_out[v + 1]} : ArcRange{0, 0};
        append_arcs(counters.reached().of(round + 1), is_next, range, search,
                    [&](u32 place, u64 piece) { relaxed_store(&args.order[place], piece); });
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
                                   u64* pieces, u32* sizes) {
    const BlockList list(pieces, sizes, 0);
    while (is_searching(args, state) && state.end - state.begin > args.few && state.rounds_left > 0) {
        const u64* const level = args.order + state.begin;
        u64* const next = args.order + state.end;
        u32* const reached = counters.reached().of(state.round + 1);
        const u64 mark = mark_of(state);
        counters.clear_later(team, state.round);
        expand_level<SEARCH_LANES, false>(
            team, args.net, LabelMarks{args.label}, static_cast<u32>(state.end - state.begin),
            [&](u32 i) { return Reached<u64>{range_of(relaxed_load(&level[i])), mark}; },
            [&](bool found, u32, ArcRange range, i64 excess, u64, u64) {
                list.add(found, range, excess, 0, [&](u32) { return &next[relaxed_fetch_add(reached, 1u)]; });
            });
        list.move_to(reached, 0, [&](u32 place) { return &next[place]; });
        if (threadIdx.x == 0 && *list.active > 0)
            relaxed_fetch_add(counters.active().of(state.round + 1), *list.active);
        team.wait([&] {
            list.clear();
            end_expansion(args, state, counters.reached().read(state.round + 1),
                          counters.active().read(state.round + 1));
        });
    }
}

// Expands levels of up to `few` vertices in one block, which keeps them in shared memory, the next level on the
// other one of two lists.
__device__ void expand_narrow_levels(const Arguments& args, State& state, u64* pieces, u32* sizes) {
    BlockTeam team;
    u32 num_kept = 0;
    u32 which = 0;
    while (is_searching(args, state) && state.end - state.begin <= args.few && state.rounds_left > 0) {
        const u64* const level = args.order + state.begin;
        u64* const next = args.order + state.end;
        const BlockList kept(pieces, sizes, which), list(pieces, sizes, 1 - which);
        const u64 mark = mark_of(state);
        expand_level<SEARCH_LANES, true>(
            team, args.net, LabelMarks{args.label}, static_cast<u32>(state.end - state.begin),
            [&](u32 i) {
                return Reached<u64>{range_of(i < num_kept ? kept.pieces[i] : relaxed_load(&level[i])), mark};
            },
            [&](bool found, u32, ArcRange range, i64 excess, u64, u64) {
                list.add(found, range, excess, 0, [&](u32 place) { return &next[place]; });
            });
        team.wait([&] {
            end_expansion(args, state, *list.size, *list.active);
            ++state.levels_of_few;
            kept.clear();
        });
        num_kept = list.num_kept();
        which = 1 - which;
    }
    const BlockList kept(pieces, sizes, which);
    for (u32 i = threadIdx.x; i < num_kept; i += blockDim.x)
        relaxed_store(&args.order[state.begin + i], kept.pieces[i]);
    __syncthreads();
    if (threadIdx.x == 0) kept.clear();
}

// The warps of the blocks that discharge: of all but the first ones, which search.
struct Dischargers {
    u32 num_blocks;
    u32 block;

    __device__ explicit Dischargers(u64 search_blocks)
        : num_blocks(gridDim.x - static_cast<u32>(search_blocks)), block(blockIdx.x - static_cast<u32>(search_blocks)) {}

    __device__ u32 num_warps() const { return num_blocks * ((blockDim.x + WARP - 1) / WARP); }
    __device__ u32 warp() const { return threadIdx.x / WARP * num_blocks + block; }
};

// Labels what the search did not reach, dead if it went to the end, else with a bound on the distance, and puts the
// active vertices that it did reach into their inboxes.
__device__ void finish_search(const Arguments& args, GridTeam& team, const Counters& counters, State& state) {
    const u32 n = static_cast<u32>(args.net.num_vertices);
    const bool is_complete = state.begin == state.end;
    const u32 search = static_cast<u32>(state.searches);
    const u64 search_blocks = state.end <= args.wave_width * state.level ? args.search_blocks : 0;
    const Inboxes inboxes = args.inboxes.of(Dischargers(search_blocks).num_warps());
    counters.clear_later(team, state.round);
    for (u32 v = team.thread(); v < n; v += team.num_threads()) {
        const u64 label = relaxed_load(&args.label[v]);
        const bool has_excess = relaxed_load(&args.net.excess[v]) > 0;
        if (search_of(label) < search) {
            const u32 height = is_complete || height_of(label) == n + DEAD ? n + DEAD
                               : has_excess                                ? n + PUT_OFF
                                                                           : static_cast<u32>(state.level) + 1;
            relaxed_store(&args.label[v], label_of(search, height));
        } else if (has_excess) {
            inboxes.append(v);
        }
    }
    if (team.is_first()) {
        relaxed_store(&counters.base[OVER], 0u);
        relaxed_store(&counters.base[FINISHED], 0u);
        relaxed_store(&counters.base[ROUND], 0u);
        relaxed_store(&counters.base[WORK], 0u);
        relaxed_store(&counters.base[ACTIVE], static_cast<u32>(state.active));
        relaxed_store(&counters.base[RESTS], 0u);
        relaxed_store(&counters.base[WAKES], 0u);
        for (u32 k = WAVE_SIZES; k < ROUND; k += 32) relaxed_store(&counters.base[k], 0u);
    }
    team.wait([&] {
        state.end_round();
        state.nanoseconds += nanoseconds() - state.began;
        state.search_blocks = search_blocks;
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
// is due; returns how many entries of its inbox it has taken.
__device__ u32 discharge_inbox(const Arguments& args, const Dischargers& team, const Counters& counters,
                               const State& state, Operations& operations) {
    const Inboxes inboxes = args.inboxes.of(team.num_warps());
    const bool searches_due = state.search_blocks == 0;
    constexpr u32 VERTICES = WARP / LANES_A_VERTEX;
    const u32 group = lane_id() / LANES_A_VERTEX;
    const u32 num_warps = team.num_warps(), warp = team.warp();
    const u64 most_steps = !searches_due
                               ? ~0ull
                               : args.step_limit + args.step_percent * state.level / 100 +
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
        if (leaders >> lane_id() & 1) entry = inboxes.look(warp, taken + rank);
        const u64 signals = relaxed_load(reinterpret_cast<const u64*>(&counters.base[OVER]));
        const u32 missing = leaders & ~__ballot_sync(ALL_LANES, entry != 0);
        const u32 until = missing == 0 ? WARP : __ffs(missing) - 1;  // an entry after a missing one is left for later
        const bool takes = entry != 0 && lane_id() < until;
        if (takes) inboxes.clear(warp, taken + rank);
        __syncwarp();  // before another lane looks at the same place, a round of the ring later
        taken += __popc(__ballot_sync(ALL_LANES, takes));
        const u32 got = __shfl_sync(ALL_LANES, takes ? entry - 1 : NO_VERTEX, 0, LANES_A_VERTEX);
        if (v == NO_VERTEX) v = got;
        const Timetable times{reinterpret_cast<const u64*>(&counters.base[STARTS]), relaxed_load(&counters.base[ROUND]),
                              static_cast<u32>(signals >> 32)};
        if (__shfl_sync(ALL_LANES, static_cast<u32>(signals), 0) != 0) break;
        if (!__any_sync(ALL_LANES, v != NO_VERTEX)) {
            if (!resting) rest(counters, operations);
            resting = true;
            if (lane_id() == 0) {
                if (++polls == MOST_POLLS || (warp == 0 && searches_due && all_at_rest(counters, num_warps)))
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
        u32 kept = discharge<LANES_A_VERTEX>(args.net, args.label, inboxes, v, static_cast<u32>(args.steps), keeps,
                                             times, operations, is_hub);
        if constexpr (HAS_HUBS) {
            u32 hubs = __ballot_sync(ALL_LANES, is_hub && lane_id() % LANES_A_VERTEX == 0);
            for (; hubs != 0; hubs &= hubs - 1) {
                const u32 leader = __ffs(hubs) - 1;
                const HubDischarge outcome =
                    discharge_hub(args.net, args.label, inboxes, __shfl_sync(ALL_LANES, v, leader),
                                  static_cast<u32>(args.steps), keeps, times);
                if (group == leader / LANES_A_VERTEX) kept = outcome.kept;
                operations.add(outcome.operations);
            }
        }
        v = kept;
        const u32 work = static_cast<u32>(sum_of_warp(operations.relabel_work));
        ++steps;
        if (work >= report_at || steps >= most_steps) {
            operations.relabel_work = 0;
            if (lane_id() == 0 && searches_due &&
                (relaxed_fetch_add(&counters.base[WORK], work) + work >= args.work_limit || steps >= most_steps))
                relaxed_store(&counters.base[OVER], 1u);
        }
    }
    operations.relabel_work = 0;
    operations.activated = 0;
    return taken;
}

// Searches that follow each other like waves, each one level farther in a round, while other blocks discharge.
struct Waves {
    static constexpr u32 MOST = Timetable::SIZE;  // at a time

    u32 round;
    u32 size;             // pieces that this round expands, in all
    u32 listed;           // those in device memory
    u32 kept;             // those in this block's shared memory
    u32 newest;           // the number of the last that has started
    u32 finished;         // of the last that has gone as far as it may
    u32 next_start;       // the round in which the next one starts
    u32 num_started;
    u32 is_over;
    u32 starts[MOST];     // the round in which each one started

    __device__ u32& start_of(u32 search) { return starts[search % MOST]; }
};

__device__ void send_waves(const Arguments& args, GridTeam& team, const Counters& counters, const State& state,
                           Waves& waves, u64* pieces, u32* sizes) {
    const u32 n = static_cast<u32>(args.net.num_vertices);
    const BlockTeam block;
    const Dischargers dischargers(state.search_blocks);
    const Inboxes inboxes = args.inboxes.of(dischargers.num_warps());
    const LabelMarks marks{args.label};
    const u32 most_kept = min(BlockList::CAPACITY, static_cast<u32>(args.most_kept));
    const RotatingSizes list_sizes{counters.base + WAVE_SIZES}, totals{counters.base + WAVE_TOTALS}, orders{counters.base + WAVE_ORDERS};
    const u32 most_levels = static_cast<u32>(args.reach_percent * state.level / 100) + 1;
    const u32 distance = static_cast<u32>(args.wave_rounds + args.wave_percent * state.level / 100);
    const u32 last_place = static_cast<u32>(args.room) - 1;
    if (threadIdx.x == 0) {
        waves.round = waves.size = waves.listed = waves.kept = waves.num_started = waves.is_over = 0;
        waves.newest = waves.finished = static_cast<u32>(state.searches);
        waves.next_start = distance;
    }
    __syncthreads();
    while (!waves.is_over) {
        const u32 round = waves.round;
        const BlockList kept(pieces, sizes, round % 2), list(pieces, sizes, 1 - round % 2);
        const u64* const level = args.order + round % 2 * args.room;
        u64* const next = args.order + (round + 1) % 2 * args.room;
        u32* const reached = list_sizes.of(round + 1);
        const auto place_of = [&](u32 place) { return &next[min(place, last_place)]; };
        const auto take = [&](bool found, u32 v, ArcRange range, u64 mark, u64 before) {
            list.add(found, range, 0, search_of(mark), [&](u32) { return place_of(relaxed_fetch_add(reached, 1u)); });
            if (found && height_of(before) == n + PUT_OFF) {
                relaxed_fetch_add(&counters.base[ACTIVE], 1u);
                inboxes.append(v);
            }
        };
        const bool starts = waves.start_of(waves.newest) == round && waves.num_started > 0;
        if (blockIdx.x == 0 && threadIdx.x == blockDim.x - 1) {
            list_sizes.clear(round + 2);
            totals.clear(round + 2);
            relaxed_store(&counters.base[ROUND], round);
            relaxed_store(&counters.base[FINISHED], waves.finished);
            if (starts)
                relaxed_store(reinterpret_cast<u64*>(&counters.base[STARTS]) + waves.newest % Timetable::SIZE,
                              label_of(waves.newest, round));
            const u32 is_over = relaxed_load(&counters.base[OVER]);
            const u32 is_quiet = all_at_rest(counters, dischargers.num_warps());
            relaxed_store(orders.of(round + 1), 2 * is_over + is_quiet);
        }
        if (starts) {
            const u64 mark = label_of(waves.newest, 1);
            const u32 num_near = static_cast<u32>(args.num_near_sink);
            for (u32 base = team.thread() - lane_id(); base < num_near; base += team.num_threads()) {
                const u32 i = base + lane_id();
                const u32 v = i < num_near ? args.near_sink[i] : 0;
                const bool is_next = i < num_near && relaxed_load(&args.net.sink_residual[v]) > 0;
                u64 before = 0;
                if (is_next) before = marks.put(v, mark);
                const ArcRange range = is_next ? ArcRange{args.net.first_out[v], args.net.first_out[v + 1]} : ArcRange{0, 0};
                take(is_next, v, range, mark, before);
            }
        }
        const u32 listed = waves.listed, num_kept = waves.kept;
        const u32 share = blockIdx.x < listed ? (listed - blockIdx.x - 1) / team.num_blocks + 1 : 0;
        expand_level<SEARCH_LANES, true, false>(
            block, args.net, marks, num_kept + share,
            [&](u32 i) {
                const u64 piece = i < num_kept ? kept.pieces[i]
                                               : relaxed_load(&level[(i - num_kept) * team.num_blocks + blockIdx.x]);
                const u32 search = search_of_piece(piece), height = round - waves.start_of(search);
                const ArcRange range = height < most_levels ? range_of(piece) : ArcRange{0, 0};
                return Reached<u64>{range, label_of(search, height + 1)};
            },
            [&](bool found, u32 v, ArcRange range, i64, u64 mark, u64 before) { take(found, v, range, mark, before); });
        list.move_to(reached, most_kept, place_of);
        if (threadIdx.x == 0 && *list.size > 0) relaxed_fetch_add(totals.of(round + 1), *list.size);
        team.wait([&] {
            kept.clear();
            waves.kept = min(*list.size, most_kept);
            const u32 now = ++waves.round;
            const bool was_still = waves.size == 0 && !starts;
            waves.size = totals.read(now);
            waves.listed = min(list_sizes.read(now), last_place + 1);
            while (waves.finished < waves.newest && now - waves.start_of(waves.finished + 1) > most_levels) ++waves.finished;
            const u32 order = relaxed_load(orders.of(now));
            waves.is_over = order >= 2 || (order == 1 && was_still) || now >= state.rounds_left ||
                            (waves.num_started == args.most_waves && waves.finished == waves.newest);
            if (!waves.is_over && order == 0 && now >= waves.next_start && waves.size <= args.wave_load && waves.num_started < args.most_waves &&
                waves.newest - waves.finished < Waves::MOST - 1) {
                ++waves.newest;
                ++waves.num_started;
                waves.start_of(waves.newest) = now;
                waves.next_start = now + distance;
            }
        });
    }
    if (threadIdx.x == 0) sizes[0] = sizes[1] = sizes[2] = sizes[3] = 0;
    if (team.is_first()) relaxed_store(&counters.base[OVER], 1u);
}

__device__ void load_state(const u64* words, State& state) {
    u64* const copy = reinterpret_cast<u64*>(&state);
    for (u32 k = 0; k < STATE_WORDS; ++k) copy[k] = relaxed_load(&words[k]);
}

__device__ void save_state(u64* words, const State& state) {
    const u64* const copy = reinterpret_cast<const u64*>(&state);
    for (u32 k = 0; k < STATE_WORDS; ++k) relaxed_store(&words[k], copy[k]);
}

// Lets blocks discharge, and others search beside, until no vertex is active or all are to stop for a search.
__device__ void discharge_all(const Arguments& args, GridTeam& team, GridTeam& searchers, const Counters& counters,
                              State& state, Waves& waves, u64* pieces, u32* sizes, Operations& operations) {
    const Dischargers dischargers(state.search_blocks);
    const u64 round = state.round;
    u64* const words = args.state + (1 + round % 2) * STATE_WORDS;  // a slow block may still read the last ones
    const bool searches = blockIdx.x < state.search_blocks;
    u32 taken = 0;
    if (searches)
        send_waves(args, searchers, counters, state, waves, pieces, sizes);
    else
        taken = discharge_inbox(args, dischargers, counters, state, operations);
    if (team.is_first()) {
        if (searches) {
            state.searches = waves.newest;
            state.waves += waves.num_started;
            state.wave_rounds += waves.round;
            state.rounds_left = state.rounds_left > waves.round ? state.rounds_left - waves.round : 0;
        }
        save_state(words, state);
    }
    team.wait([&] {
        load_state(words, state);
        state.end_round();
        ++state.phases;
        state.phase = START;
    });
    if (!searches) {  // the next search fills the inboxes anew
        const u32 warp = dischargers.warp();
        const u32 end = relaxed_load(&args.inboxes.ends[warp]);
        for (u32 k = lane_id(); k < end - taken; k += WARP) args.inboxes.clear(warp, taken + k);
        __syncwarp();
        if (lane_id() == 0) relaxed_store(&args.inboxes.ends[warp], 0u);
    }
    team.wait([&] { state.end_round(); });
}

// Lets the first block search alone, and tells all blocks where the search stands then.
__device__ void search_in_one_block(const Arguments& args, GridTeam& team, const Counters& counters, State& state,
                                    u64* pieces, u32* sizes) {
    const u64 round = state.round;
    u64* const words = args.state + (1 + round % 2) * STATE_WORDS;  // a slow block may still read the last ones
    counters.clear_later(team, round);
    if (blockIdx.x == 0) {
        expand_narrow_levels(args, state, pieces, sizes);
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
    u64* const pieces = arena.take<u64>(2 * BlockList::CAPACITY);
    Waves& waves = *arena.take<Waves>(1);
    GridTeam team(args.arrivals), searchers(args.arrivals + 32, static_cast<u32>(args.search_blocks));
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
            discharge_all(args, team, searchers, counters, state, waves, pieces, sizes, operations);
        else if (!is_searching(args, state))
            finish_search(args, team, counters, state);
        else if (state.end - state.begin > args.few)
            expand_wide_levels(args, team, counters, state, pieces, sizes);
        else
            search_in_one_block(args, team, counters, state, pieces, sizes);
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
