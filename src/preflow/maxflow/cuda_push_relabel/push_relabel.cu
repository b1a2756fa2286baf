// The persistent kernel of cuda-push-relabel: searches at rest, and phases in which blocks discharge without barriers,
// either all of them or some while the others send waves. __init__.py has definitions, invariants and pseudo-code.

// Constants of a launch, which depend on the number of vertices and the degrees: threads that discharge a vertex,
// threads that search from a vertex and arcs that each of them loads together, whether some vertices need all lanes
// of a warp, and whether some have more arcs than a piece.
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
#include "cuda/launches.py: SharedMemory"

// Reports what this warp has activated since its last report, and that it has nothing to do now.
__device__ void report_idle(const Counters& counters, Operations& operations) {
    const u32 activated = sum_of_warp(static_cast<u32>(operations.activated));
    operations.activated = 0;
    if (lane_id() == 0) {
        if (activated != 0) fetch_add(&counters.base[ACTIVE], activated);
        fetch_add(&counters.base[RESTS], 1u);
    }
}

// A warp may discharge this many times its share of the vertices that were active when the search ended.
constexpr u64 SWEEPS = 4;
// The last resort: a warp with nothing to do ends the phase after this many polls, a second or more. The next search
// finds the vertices that are still active.
constexpr u32 MOST_POLLS = 1u << 22;

// One of this many warps of a block reads the signals for all: thousands of warps that read one line of memory would
// wait for each other.
constexpr u32 LOOKS_EVERY = 8;

// When the warps of a discharging block report, look for signals and stop; in shared memory, as registers are scarce.
struct Limits {
    Inboxes inboxes;
    u32 report_at;    // work that a warp does before it reports
    u32 most_visits;  // rounds of discharges of a warp before a search is due
    u64 deadline;     // clock time when a search is due if the first warp has nothing to do
    u64 next_look;    // clock time when the first warp checks whether to stop
    SharedSignals signals;
};

// Reads the next places of a warp's inbox, one for each group of lanes, while the warp discharges.
struct LookAhead {
    const DeviceNetwork& net;
    const Inboxes& inboxes;
    u32 warp;
    u32 place;      // the next place that the warp has not taken
    u32 entry = 0;  // the entry at the lane's place

    __device__ void look() { entry = lane_id() < WARP / LANES_A_VERTEX ? inboxes.look(warp, place + lane_id()) : 0; }

    // Prefetches the ranges of arcs of these vertices and of `kept`.
    __device__ void prefetch_arcs(u32 kept) const {
        if (entry != 0) prefetch<true>(range_at(net, entry - 1));
        if (kept != NO_VERTEX) prefetch<true>(range_at(net, kept));
    }
};

// Discharges the vertices in the warp's inbox, without waiting for other warps, until no vertex is active or a search
// is due; returns how many entries of the inbox it has taken.
__device__ u32 discharge_inbox(const Arguments& args, const Dischargers& team, Limits& limits, const Counters& counters,
                               const State& state, Operations& operations) {
    constexpr u32 VERTICES = WARP / LANES_A_VERTEX;
    const u32 group = lane_id() / LANES_A_VERTEX;
    const u32 warp = team.warp();
    if (threadIdx.x == 0) {
        const u32 num_warps = team.num_warps();
        limits.inboxes = args.inboxes.split(num_warps, args.net.num_vertices);
        limits.report_at = static_cast<u32>(args.work_limit / (8 * num_warps)) + 1;
        const u64 most = args.step_limit + args.step_percent * state.level / 100 +
                         SWEEPS * state.active / (num_warps * VERTICES);
        limits.most_visits = static_cast<u32>(min(most, 0xffffffffull));
        const u64 now = nanoseconds();
        limits.deadline = now + args.time_percent * state.last_nanoseconds / 100;
        limits.next_look = now + NANOSECONDS_A_LOOK;
        limits.signals.clear();
    }
    __syncthreads();
    const Inboxes& inboxes = limits.inboxes;
    LookAhead ahead{args.net, inboxes, warp, 0};
    u32 v = NO_VERTEX;
    u32 visits = 0;
    u32 polls = 0;
    bool is_idle = false;
    Signals seen{0, 0, 0};
    ahead.look();
    // Every warp discharges once before it ends, so that each phase makes progress.
    do {
        // 1. Groups without a vertex take those at the next places of the inbox, in order.
        const u32 leaders = __ballot_sync(ALL_LANES, v == NO_VERTEX && lane_id() % LANES_A_VERTEX == 0);
        const u32 rank = __popc(leaders & ((1u << (group * LANES_A_VERTEX)) - 1));
        const u32 entries = __ballot_sync(ALL_LANES, ahead.entry != 0);
        const u32 num_entries = entries == ALL_LANES ? WARP : __ffs(~entries) - 1;  // those behind a gap wait
        const u32 next = __shfl_sync(ALL_LANES, ahead.entry, rank) - 1;
        u32 slot = 0;
        if (v == NO_VERTEX && rank < num_entries) {
            v = next;
            if (lane_id() % LANES_A_VERTEX == 0) slot = inboxes.take(warp, ahead.place + rank);
        }
        __syncwarp();  // before other lanes read these places, a round of the ring later
        const u32 num_leaders = __popc(leaders);
        const bool is_short = num_entries < num_leaders;
        ahead.place += min(num_entries, num_leaders);
        // 2. Read the signals.
        if (threadIdx.x / WARP % LOOKS_EVERY == 0) limits.signals.update(counters);
        if (warp == 0 && lane_id() == 0 && sees_stop(args.stop, limits.next_look))
            relaxed_store(&counters.base[OVER], 1u);
        // 3. Without a vertex, report that and poll the inbox; the first warp may end the phase.
        if (!__any_sync(ALL_LANES, v != NO_VERTEX)) {
            if (!is_idle) report_idle(counters, operations);
            is_idle = true;
            if (lane_id() == 0) {
                const bool may_tell = warp == 0 && state.search_blocks == 0;
                if (++polls == MOST_POLLS ||
                    (may_tell && (all_idle(counters, inboxes.num_owners) || nanoseconds() >= limits.deadline)))
                    relaxed_store(&counters.base[OVER], 1u);
                __nanosleep(100);
            }
            __syncwarp();
            ahead.look();
            continue;
        }
        // 4. Discharge; then discharge hubs by all lanes, one after the other.
        const Timetable times{counters.starts(), seen.round, seen.finished};
        if (is_idle && lane_id() == 0) fetch_add(&counters.base[WAKES], 1u);
        is_idle = false;
        const bool keeps = args.keeps != 0 && is_short;
        bool is_hub = false;
        u32 kept = discharge<LANES_A_VERTEX>(args.net, args.label, inboxes, v, slot, keeps, times, operations, is_hub,
                                               ahead);
        if constexpr (HAS_HUBS) {
            u32 hubs = __ballot_sync(ALL_LANES, is_hub && lane_id() % LANES_A_VERTEX == 0);
            for (; hubs != 0; hubs &= hubs - 1) {
                const u32 leader = __ffs(hubs) - 1;
                const u32 hub = __shfl_sync(ALL_LANES, v, leader);
                const u32 slot_of_hub = __shfl_sync(ALL_LANES, slot, leader);
                const HubDischarge outcome = discharge_hub(args.net, args.label, inboxes, hub,
                                                           lane_id() == 0 ? slot_of_hub : 0, keeps, times);
                if (group == leader / LANES_A_VERTEX) kept = outcome.kept;
                operations.add(outcome.operations);
            }
        }
        v = kept;
        if (state.search_blocks != 0) continue;
        // 5. Report work; the warp that reaches a limit ends the phase.
        const u32 work = sum_of_warp(operations.relabel_work);
        ++visits;
        if (work >= limits.report_at || visits >= limits.most_visits) {
            operations.relabel_work = 0;
            if (lane_id() == 0 && (relaxed_fetch_add(&counters.base[WORK], work) + work >= args.work_limit ||
                                   visits >= limits.most_visits))
                relaxed_store(&counters.base[OVER], 1u);
        }
    } while ((seen = limits.signals.read()).over == 0);
    operations.relabel_work = 0;
    operations.activated = 0;
    return ahead.place;
}

// One phase: some blocks send waves, the others discharge, until no vertex is active or a search at rest is due.
__device__ void discharge_all(const Arguments& args, GridTeam& team, AddingTeam& searchers, const Counters& counters,
                              State& state, Waves& waves, Limits& limits, u64* pieces, u32* sizes,
                              Operations& operations) {
    const Dischargers dischargers(state.search_blocks);
    const u64 round = state.round;
    // Two copies take turns: a slow block may still read the last one.
    u64* const words = args.state + (1 + round % 2) * STATE_WORDS;
    const bool searches = blockIdx.x < state.search_blocks;
    u32 taken = 0;
    if (searches)
        send_waves(args, searchers, counters, state, waves, pieces, &sizes[4]);
    else
        taken = discharge_inbox(args, dischargers, limits, counters, state, operations);
    if (team.is_first()) {
        if (searches) {
            state.searches = waves.newest;
            state.wave_rounds += waves.rounds;
            state.rounds_left = state.rounds_left > waves.rounds ? state.rounds_left - waves.rounds : 0;
        }
        state.ended_idle = searches && waves.is_idle;
        save_state(words, state);
    }
    team.wait([&] {
        load_state(words, state);
        state.end_round();
        state.phase = START;
    });
    if (!searches) {  // empty the inbox: the next search fills it again
        const Inboxes& inboxes = limits.inboxes;
        const u32 warp = dischargers.warp();
        const u32 end = relaxed_load(&inboxes.ends[warp]);
        for (u32 k = lane_id(); k < end - taken; k += WARP) inboxes.clear(warp, taken + k);
        __syncwarp();
        if (lane_id() == 0) relaxed_store(&inboxes.ends[warp], 0u);
    }
    team.wait([&] { state.end_round(); });
}

// The shared memory of a block; behind it the operations of each thread, since registers are scarce.
struct BlockMemory {
    State state;
    alignas(16) u32 sizes[5];
    alignas(16) u64 pieces[2 * BlockList::CAPACITY];
    alignas(16) Waves waves;
    alignas(16) Limits limits;
    alignas(16) AddingTeam searchers;
};

KERNEL(shared_memory, SharedMemory) {
    args.sizes[0] = sizeof(BlockMemory);
    args.sizes[1] = sizeof(Operations);
}

KERNEL(push_relabel_slice, Arguments) {
    SharedArena arena;
    BlockMemory& shared = *arena.take<BlockMemory>(1);
    Operations& operations = arena.take<Operations>(blockDim.x)[threadIdx.x];
    State& state = shared.state;
    u32* const sizes = shared.sizes;
    GridTeam team(args.arrivals);
    const Counters counters{args.counters};
    operations = Operations();
    team.wait([&] {
        load_state(args.state, state);
        shared.searchers.begin(reinterpret_cast<u64*>(args.arrivals + 32), static_cast<u32>(args.search_blocks));
        sizes[0] = sizes[1] = sizes[2] = sizes[3] = 0;
    });
    while (state.phase != DONE && state.rounds_left > 0) {
        const u64 phase = state.phase;
        if (phase == START)
            start_search(args, team, counters, state);
        else if (phase == DISCHARGE)
            discharge_all(args, team, shared.searchers, counters, state, shared.waves, shared.limits, shared.pieces,
                          sizes, operations);
        else if (!is_searching(args, state))
            finish_search(args, team, counters, state);
        else if (state.end - state.begin > args.few)
            expand_wide_levels(args, team, counters, state, shared.pieces, sizes);
        else
            search_in_one_block(args, team, counters, state, shared.pieces, sizes);
    }
    team.wait([&] {
        if (blockIdx.x == 0) save_state(args.state, state);
    });
    const u64 totals[4] = {operations.pushes, operations.relabels, operations.arc_scans, operations.faults};
    add_up(args.counts, totals);
}
