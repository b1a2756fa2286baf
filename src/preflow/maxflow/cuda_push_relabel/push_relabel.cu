// The persistent kernel of __init__.py: searches at rest, and phases in which blocks discharge without
// barriers, either all of them or while others search.

// What a launch takes depends on how many vertices there are, the mean degree and the greatest: threads that discharge
// a vertex, threads that search from one and how many arcs each looks at together, whether some vertices are for all
// lanes, whether some have more arcs than a piece.
#define PACKED 1
#ifndef LANES_A_VERTEX
#define LANES_A_VERTEX 8
#define SEARCH_LANES 8
#define SEARCH_ARCS 2
#define HAS_HUBS 1
#define HAS_LONG_LISTS 1
#endif

#include "search_at_rest.cuh"
#include "waves.cuh"
#include "discharge.cuh"

// Tells what this warp did since it last told; it has nothing to do now.
__device__ void rest(const Counters& counters, Operations& operations) {
    const u32 activated = sum_of_warp(static_cast<u32>(operations.activated));
    operations.activated = 0;
    if (lane_id() == 0) {
        if (activated != 0) fetch_add(&counters.base[ACTIVE], activated);
        fetch_add(&counters.base[RESTS], 1u);
    }
}

// A warp may take so many times its share of the vertices that were active when the search ended.
constexpr u64 SWEEPS = 4;
// The last resort: a warp with nothing to do ends the phase after so many looks, a second or more. The search that
// follows finds whatever is still active.
constexpr u32 MOST_POLLS = 1u << 22;

// One of so many warps of a block looks at the signals for all: where thousands of warps look at one line of memory,
// they wait for each other.
constexpr u32 LOOKS_EVERY = 8;

// What all warps of a block that discharge go by, in shared memory, as registers are scarce.
struct Pace {
    Inboxes inboxes;
    u32 report_at;    // work that a warp does before it tells
    u32 most_visits;  // of a warp, before a search is due
    u64 deadline;     // on the clock, when one is due if the first warp has nothing to do
    u64 next_look;    // of the first warp, whether to stop
    SharedSignals signals;
};

// Looks at the next places of a warp's inbox, one for each group of lanes, while it discharges.
struct LookAhead {
    const Network& net;
    const Inboxes& inboxes;
    u32 warp;
    u32 place;      // the next one that it has not taken
    u32 entry = 0;  // at the lane's place

    __device__ void look() { entry = lane_id() < WARP / LANES_A_VERTEX ? inboxes.look(warp, place + lane_id()) : 0; }

    // Where the arcs are of the vertices there, and of `kept`.
    __device__ void prefetch_arcs(u32 kept) const {
        if (entry != 0) prefetch<true>(range_at(net, entry - 1));
        if (kept != NO_VERTEX) prefetch<true>(range_at(net, kept));
    }
};

// Every warp discharges the vertices in its inbox, without waiting for others, until no vertex is active or a search
// is due; returns how many entries of its inbox it has taken.
__device__ u32 discharge_inbox(const Arguments& args, const Dischargers& team, Pace& pace, const Counters& counters,
                               const State& state, Operations& operations) {
    constexpr u32 VERTICES = WARP / LANES_A_VERTEX;
    const u32 group = lane_id() / LANES_A_VERTEX;
    const u32 warp = team.warp();
    if (threadIdx.x == 0) {
        const u32 num_warps = team.num_warps();
        pace.inboxes = args.inboxes.split(num_warps, args.net.num_vertices);
        pace.report_at = static_cast<u32>(args.work_limit / (8 * num_warps)) + 1;
        const u64 most = args.step_limit + args.step_percent * state.level / 100 +
                         SWEEPS * state.active / (num_warps * VERTICES);
        pace.most_visits = static_cast<u32>(min(most, 0xffffffffull));
        const u64 now = nanoseconds();
        pace.deadline = now + args.time_percent * state.last_nanoseconds / 100;
        pace.next_look = now + NANOSECONDS_A_LOOK;
        pace.signals.clear();
    }
    __syncthreads();
    const Inboxes& inboxes = pace.inboxes;
    LookAhead ahead{args.net, inboxes, warp, 0};
    u32 v = NO_VERTEX;
    u32 visits = 0;
    u32 polls = 0;
    bool resting = false;
    Signals seen{0, 0, 0};
    ahead.look();
    // Every warp goes on with something before it ends, so that no phase is for nothing.
    do {
        // Groups without a vertex take those at the next places of the inbox, in order.
        const u32 leaders = __ballot_sync(ALL_LANES, v == NO_VERTEX && lane_id() % LANES_A_VERTEX == 0);
        const u32 rank = __popc(leaders & ((1u << (group * LANES_A_VERTEX)) - 1));
        const u32 entries = __ballot_sync(ALL_LANES, ahead.entry != 0);
        const u32 num_entries = entries == ALL_LANES ? WARP : __ffs(~entries) - 1;  // what follows a gap is for later
        const u32 next = __shfl_sync(ALL_LANES, ahead.entry, rank) - 1;
        u32 held = 0;
        if (v == NO_VERTEX && rank < num_entries) {
            v = next;
            if (lane_id() % LANES_A_VERTEX == 0) held = inboxes.take(warp, ahead.place + rank);
        }
        __syncwarp();  // before other lanes look at these places, a round of the ring later
        const u32 num_leaders = __popc(leaders);
        const bool is_short = num_entries < num_leaders;
        ahead.place += min(num_entries, num_leaders);
        if (threadIdx.x / WARP % LOOKS_EVERY == 0) pace.signals.update(counters);
        if (warp == 0 && lane_id() == 0 && sees_stop(args.stop, pace.next_look))
            relaxed_store(&counters.base[OVER], 1u);
        if (!__any_sync(ALL_LANES, v != NO_VERTEX)) {
            if (!resting) rest(counters, operations);
            resting = true;
            if (lane_id() == 0) {
                const bool may_tell = warp == 0 && state.search_blocks == 0;
                if (++polls == MOST_POLLS ||
                    (may_tell && (all_at_rest(counters, inboxes.num_owners) || nanoseconds() >= pace.deadline)))
                    relaxed_store(&counters.base[OVER], 1u);
                __nanosleep(100);
            }
            __syncwarp();
            ahead.look();
            continue;
        }
        const Timetable times{counters.starts(), seen.round, seen.finished};
        if (resting && lane_id() == 0) fetch_add(&counters.base[WAKES], 1u);
        resting = false;
        const bool keeps = args.keeps != 0 && is_short;
        bool is_hub = false;
        u32 kept = discharge<LANES_A_VERTEX>(args.net, args.label, inboxes, v, held, keeps, times, operations, is_hub,
                                               ahead);
        if constexpr (HAS_HUBS) {
            u32 hubs = __ballot_sync(ALL_LANES, is_hub && lane_id() % LANES_A_VERTEX == 0);
            for (; hubs != 0; hubs &= hubs - 1) {
                const u32 leader = __ffs(hubs) - 1;
                const u32 hub = __shfl_sync(ALL_LANES, v, leader);
                const u32 held_hub = __shfl_sync(ALL_LANES, held, leader);
                const HubDischarge outcome = discharge_hub(args.net, args.label, inboxes, hub,
                                                           lane_id() == 0 ? held_hub : 0, keeps, times);
                if (group == leader / LANES_A_VERTEX) kept = outcome.kept;
                operations.add(outcome.operations);
            }
        }
        v = kept;
        if (state.search_blocks != 0) continue;
        const u32 work = sum_of_warp(operations.relabel_work);
        ++visits;
        if (work >= pace.report_at || visits >= pace.most_visits) {
            operations.relabel_work = 0;
            if (lane_id() == 0 && (relaxed_fetch_add(&counters.base[WORK], work) + work >= args.work_limit ||
                                   visits >= pace.most_visits))
                relaxed_store(&counters.base[OVER], 1u);
        }
    } while ((seen = pace.signals.read()).over == 0);
    operations.relabel_work = 0;
    operations.activated = 0;
    return ahead.place;
}

// Lets blocks discharge, and others search beside, until no vertex is active or all are to stop for a search.
__device__ void discharge_all(const Arguments& args, GridTeam& team, AddingTeam& searchers, const Counters& counters,
                              State& state, Waves& waves, Pace& pace, u64* pieces, u32* sizes,
                              Operations& operations) {
    const Dischargers dischargers(state.search_blocks);
    const u64 round = state.round;
    u64* const words = args.state + (1 + round % 2) * STATE_WORDS;  // a slow block may still read the last ones
    const bool searches = blockIdx.x < state.search_blocks;
    u32 taken = 0;
    if (searches)
        send_waves(args, searchers, counters, state, waves, pieces, &sizes[4]);
    else
        taken = discharge_inbox(args, dischargers, pace, counters, state, operations);
    if (team.is_first()) {
        if (searches) {
            state.searches = waves.newest;
            state.waves += waves.num_started;
            state.wave_rounds += waves.rounds;
            state.rounds_left = state.rounds_left > waves.rounds ? state.rounds_left - waves.rounds : 0;
        }
        state.ended_idle = searches && waves.is_idle;
        save_state(words, state);
    }
    team.wait([&] {
        load_state(words, state);
        state.end_round();
        ++state.phases;
        state.phase = START;
    });
    if (!searches) {  // the next search fills the inboxes anew
        const Inboxes& inboxes = pace.inboxes;
        const u32 warp = dischargers.warp();
        const u32 end = relaxed_load(&inboxes.ends[warp]);
        for (u32 k = lane_id(); k < end - taken; k += WARP) inboxes.clear(warp, taken + k);
        __syncwarp();
        if (lane_id() == 0) relaxed_store(&inboxes.ends[warp], 0u);
    }
    team.wait([&] { state.end_round(); });
}

// What __init__.py knows, too.
static_assert(sizeof(State) == 8 * 22 && sizeof(Waves) == 4 * (539 + 2 * MOST_REVIVED) && sizeof(Pace) <= 80 &&
              sizeof(AddingTeam) == 32 && sizeof(Operations) == 24);
static_assert(STARTS + 2 * Timetable::SIZE == 48 * 32);

KERNEL(push_relabel_slice, Arguments) {
    SharedArena arena;
    State& state = *arena.take<State>(1);
    u32* const sizes = arena.take<u32>(5);
    u64* const pieces = arena.take<u64>(2 * BlockList::CAPACITY);
    Waves& waves = *arena.take<Waves>(1);
    Pace& pace = *arena.take<Pace>(1);
    GridTeam team(args.arrivals);
    AddingTeam& searchers = *arena.take<AddingTeam>(1);
    const Counters counters{args.counters};
    Operations& operations = arena.take<Operations>(blockDim.x)[threadIdx.x];  // registers are scarce
    operations = Operations();
    team.wait([&] {
        load_state(args.state, state);
        searchers.begin(reinterpret_cast<u64*>(args.arrivals + 32), static_cast<u32>(args.search_blocks));
        sizes[0] = sizes[1] = sizes[2] = sizes[3] = 0;
    });
    while (state.phase != DONE && state.rounds_left > 0) {
        const u64 phase = state.phase;
        if (phase == START)
            start_search(args, team, counters, state);
        else if (phase == DISCHARGE)
            discharge_all(args, team, searchers, counters, state, waves, pace, pieces, sizes, operations);
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
    const u64 totals[4] = {operations.pushes, operations.relabels, operations.arc_scans, operations.faults};
    for (u32 k = 0; k < 4; ++k) {
        const u64 total = sum_of_warp(totals[k]);
        if (total > 0 && lane_id() == 0) relaxed_fetch_add(&args.counts[k], total);
    }
}
