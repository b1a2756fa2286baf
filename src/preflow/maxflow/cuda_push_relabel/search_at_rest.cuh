// The search at rest: a breadth-first search backwards from the sink while no flow moves, level by level, with small
// levels in one block.
#include "state.cuh"
#include "labels.cuh"
#include "search.cuh"

// In dense networks most arcs lead to vertices that the search has reached already: their capacities are not loaded.
constexpr bool LABEL_FIRST = SEARCH_LANES == WARP;

// Ends a level with the counts of its round. If the search has reached enough of the active vertices, it goes on
// beyond the last one only as far as overshoot_percent says.
__device__ void end_level(const Arguments& args, State& state, u32 reached, u32 active) {
    state.end_round();
    state.begin = state.end;
    state.end += reached;
    ++state.level;
    if (active == 0) return;
    state.active += active;
    state.wanted -= active;
    if (args.overshoot_percent > 0 && 100 * state.active >= args.enough_percent * (state.active + state.wanted))
        state.last_level = ((100 + args.overshoot_percent) * state.level + 99) / 100;
}

__device__ u64 mark_of(const State& state) {
    return label_of(static_cast<u32>(state.searches), static_cast<u32>(state.level) + 1);
}

// Starts the search from the vertices next to the sink, and counts the active vertices.
__device__ void start_search(const Arguments& args, GridTeam& team, const Counters& counters, State& state) {
    const u32 n = static_cast<u32>(args.net.num_vertices);
    const u64 round = state.round;
    const u32 search = static_cast<u32>(state.searches) + 1;
    u64 wanted = 0, active = 0;
    const u64 began = nanoseconds();
    counters.clear_later(team, round);
    if (team.is_first()) watch(team, args.stop, round, state.next_look);
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
        const bool are_next[] = {is_next};
        const ArcRange ranges[] = {is_next ? arcs_of(args.net, v) : ArcRange{0, 0}};
        append_arcs(counters.reached().of(round + 1), are_next, ranges, search,
                    [&](u32 place, u64 piece) { relaxed_store(&args.order[place], piece); });
    }
    add_up(counters.wanted().of(round + 1), wanted);
    add_up(counters.active().of(round + 1), active);
    team.wait([&] {
        state.listen(team);
        state.begin = state.end = state.level = state.last_level = state.active = 0;
        state.wanted = counters.wanted().read(round + 1);
        end_level(args, state, counters.reached().read(round + 1), counters.active().read(round + 1));
        ++state.searches;
        state.began = began;
        state.phase = SEARCH;
    });
}

__device__ bool is_searching(const Arguments& args, const State& state) {
    return state.begin < state.end && (args.only_search || state.last_level == 0 || state.level < state.last_level);
}

// Expands levels of more than `few` vertices on the whole grid.
__device__ void expand_wide_levels(const Arguments& args, GridTeam& team, const Counters& counters, State& state,
                                   u64* pieces, u32* sizes) {
    const ActiveBlockList list(pieces, sizes, 0);
    while (is_searching(args, state) && state.end - state.begin > args.few && state.rounds_left > 0) {
        const u64* const level = args.order + state.begin;
        u64* const next = args.order + state.end;
        u32* const reached = counters.reached().of(state.round + 1);
        const u64 mark = mark_of(state);
        counters.clear_later(team, state.round);
        if (team.is_first()) watch(team, args.stop, state.round, state.next_look);
        expand_level<SEARCH_LANES, SEARCH_ARCS, false, true, LABEL_FIRST>(
            team, args.net, LabelMarks{args.label}, static_cast<u32>(state.end - state.begin),
            [&](u32 i) { return ReachedArcs<u64>{range_of(relaxed_load(&level[i])), mark}; },
            [&](const auto& found, const auto&, const auto& ranges, const auto& excess, const auto&, u64) {
                list.add(found, ranges, 0, [&](u32) { return &next[relaxed_fetch_add(reached, 1u)]; });
                list.count_active(found, excess);
            });
        __syncthreads();
        list.move_to(reached, 0, [&](u32 place) { return &next[place]; });
        if (threadIdx.x == 0 && *list.active > 0)
            relaxed_fetch_add(counters.active().of(state.round + 1), *list.active);
        team.wait([&] {
            list.clear();
            state.listen(team);
            end_level(args, state, counters.reached().read(state.round + 1),
                      counters.active().read(state.round + 1));
        });
    }
}

// Expands levels of up to `few` vertices in one block, which keeps them in shared memory. Two lists take turns for
// this level and the next.
__device__ void expand_narrow_levels(const Arguments& args, State& state, u64* pieces, u32* sizes) {
    BlockTeam team;
    u32 num_kept = 0;
    u32 which = 0;
    while (is_searching(args, state) && state.end - state.begin <= args.few && state.rounds_left > 0) {
        const u64* const level = args.order + state.begin;
        u64* const next = args.order + state.end;
        const ActiveBlockList kept(pieces, sizes, which), list(pieces, sizes, 1 - which);
        const u64 mark = mark_of(state);
        expand_level<SEARCH_LANES, SEARCH_ARCS, true, true, LABEL_FIRST>(
            team, args.net, LabelMarks{args.label}, static_cast<u32>(state.end - state.begin),
            [&](u32 i) {
                return ReachedArcs<u64>{range_of(i < num_kept ? kept.pieces[i] : relaxed_load(&level[i])), mark};
            },
            [&](const auto& found, const auto&, const auto& ranges, const auto& excess, const auto&, u64) {
                list.add(found, ranges, 0, [&](u32 place) { return &next[place]; });
                list.count_active(found, excess);
            });
        team.wait([&] {
            end_level(args, state, *list.size, *list.active);
            kept.clear();
            if (GridTeam::listens(state.round) && sees_stop(args.stop, state.next_look)) state.rounds_left = 0;
        });
        num_kept = list.num_kept();
        which = 1 - which;
    }
    const ActiveBlockList kept(pieces, sizes, which);
    for (u32 i = threadIdx.x; i < num_kept; i += blockDim.x)
        relaxed_store(&args.order[state.begin + i], kept.pieces[i]);
    __syncthreads();
    if (threadIdx.x == 0) kept.clear();
}

// Ends the search. A vertex that it did not reach becomes dead if the search went to its end; otherwise it gets a
// lower bound of its distance as its height, or is put off if it is active. Active vertices that were reached go to
// their inboxes.
__device__ void finish_search(const Arguments& args, GridTeam& team, const Counters& counters, State& state) {
    const u32 n = static_cast<u32>(args.net.num_vertices);
    const bool is_complete = state.begin == state.end;
    const u32 search = static_cast<u32>(state.searches);
    const u64 search_blocks = state.end <= args.wave_width * state.level ? args.search_blocks : 0;
    const Inboxes inboxes = args.inboxes.split(Dischargers(search_blocks).num_warps(), n);
    counters.clear_later(team, state.round);
    if (team.is_first()) watch(team, args.stop, state.round, state.next_look);
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
        for (u32 k = WAVE_LIST_SIZES; k < STARTS; k += 32) relaxed_store(&counters.base[k], 0u);
    }
    team.wait([&] {
        state.listen(team);
        state.end_round();
        state.last_nanoseconds = nanoseconds() - state.began;
        state.nanoseconds += state.last_nanoseconds;
        state.in_vain = state.ended_idle && state.active > state.wanted ? state.in_vain + 1 : 0;
        state.search_blocks = search_blocks;
        state.phase = args.only_search || (is_complete && state.active == 0) ? DONE : DISCHARGE;
    });
}

// Lets the first block search alone, then copies its state to all blocks.
__device__ void search_in_one_block(const Arguments& args, GridTeam& team, const Counters& counters, State& state,
                                    u64* pieces, u32* sizes) {
    const u64 round = state.round;
    // Two copies take turns: a slow block may still read the last one.
    u64* const words = args.state + (1 + round % 2) * STATE_WORDS;
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
