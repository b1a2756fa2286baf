// What all parts of the kernel of push_relabel.cu share: where it stands, its arguments and its counters.
#include "inboxes.cuh"
#include "lanes.cuh"
#include "residual.cuh"
#include "stop.cuh"
#include "worklist.cuh"

enum Phase : u64 { START, SEARCH, DISCHARGE, DONE };

// Where the loop stands. Each block holds a copy, which its first thread changes between the two halves of a
// barrier; between two launches it is in device memory.
struct State {
    u64 phase;
    u64 rounds_left;     // of this launch
    u64 round;           // barriers so far: which of the rotating counters is meant
    u64 begin, end;      // the level that is expanded next, in the order of the search
    u64 level;           // their height
    u64 last_level;      // where the search stops, as far as is known; 0: nowhere yet
    u64 wanted;          // active vertices that the search has yet to reach
    u64 active;          // those that it has
    u64 searches, levels, levels_of_few, phases;
    u64 began, nanoseconds;  // of the running search, of all searches
    u64 last_nanoseconds;    // of the last one
    u64 waves, wave_rounds;
    u64 search_blocks;       // those that send waves in this phase
    u64 ended_idle;          // whether the last phase had waves and ended because most warps had nothing to do
    u64 in_vain;             // so many such phases in a row, after which a search reached most of the active vertices
    u64 next_look;           // of the first thread, whether to stop

    // Ends the launch if the first thread has said so, before the round ends.
    __device__ void listen(const GridTeam& team) {
        if (team.is_last(round)) rounds_left = 0;
    }
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
    InboxRoom inboxes;
    u32* arrivals;          // at barriers: of all blocks, then the words of those that send waves
    u32* counters;
    u64* state;             // of the next launch, and two copies to pass on what one block did alone
    u64* counts;
    u64 work_limit;         // a search is due after so much work
    u64 step_limit;         // or when a warp has discharged so many times and
    u64 step_percent;       // so many for each hundred levels of the last search
    u64 time_percent;       // or when the first warp has nothing to do after so many hundredths of the last one's time
    u64 few;                // levels of so few vertices are for one block
    u64 overshoot_percent;  // how much farther a search goes than the last active vertex; 0: to the end
    u64 enough_percent;     // if it has so many of the active vertices by then
    u64 keeps;              // whether a warp that has room keeps one of the vertices that it activates
    u64 only_search;        // a last search, to the end
    u64 search_blocks;      // the blocks that send waves of searches while others discharge,
    u64 wave_width;         // if the levels of the last search at rest have so few pieces in the mean
    u64 wave_rounds;        // levels between two waves at least, and
    u64 wave_percent;       // so many for each hundred levels of the last search at rest
    u64 reach_percent;      // of those levels, how far a wave goes
    u64 rest_percent;       // waves end when so many of the warps that discharge have had nothing to do
    u64 idle_percent;       // for so many hundredths of the time of that search
    const i64* stop;
};

// Behind the counters of a round, each on a cache line of its own: what all share while some discharge, and the ends of
// the waves' two lists. Nobody looks at ACTIVE while there are waves.
enum Shared : u32 {
    OVER = 9 * 32,
    FINISHED = OVER + 1,  // a wave: what no later search has reached is too far, or cut off
    ROUND = OVER + 2,     // of the waves
    WORK = OVER + 32,
    ACTIVE = WORK + 32,
    RESTS = ACTIVE + 32,
    WAKES = RESTS + 32,
    WAVE_LIST_SIZES = WAKES + 32,
    STARTS = WAVE_LIST_SIZES + 2 * 32,  // of the waves, 64 bits each
};

// Counters of a round of the search: vertices reached, and active ones among them or, when it starts, in all.
struct Counters {
    u32* base;

    __device__ RotatingSizes reached() const { return {base}; }
    __device__ RotatingSizes active() const { return {base + 3 * 32}; }
    __device__ RotatingSizes wanted() const { return {base + 6 * 32}; }
    __device__ u64* starts() const { return reinterpret_cast<u64*>(base + STARTS); }

    __device__ void clear_later(const GridTeam& team, u64 round) const {
        if (team.is_first()) {
            reached().clear(round + 2);
            active().clear(round + 2);
            wanted().clear(round + 2);
        }
    }
};

// What the blocks that discharge are told: whether to stop, and where the waves stand. None of it falls in a phase.
struct Signals {
    u32 over;
    u32 finished;
    u32 round;
};

// The signals as some warps of a block saw them last, in shared memory. All lanes of a warp look together, each at one
// word, by atomic operations, since racecheck takes whatever else happens at the same time for a race.
struct SharedSignals {
    static constexpr u32 SIZE = sizeof(Signals) / sizeof(u32);

    u32 words[SIZE];

    // For one thread, before the others look.
    __device__ void clear() {
        for (u32 k = 0; k < SIZE; ++k) words[k] = 0;
    }

    __device__ void update(const Counters& counters) {
        if (lane_id() < SIZE) relaxed_fetch_max(&words[lane_id()], relaxed_load(&counters.base[OVER + lane_id()]));
    }
    __device__ Signals read() {
        const u32 word = lane_id() < SIZE ? relaxed_fetch_max(&words[lane_id()], 0u) : 0;
        return {__shfl_sync(ALL_LANES, word, 0), __shfl_sync(ALL_LANES, word, 1), __shfl_sync(ALL_LANES, word, 2)};
    }
};

// Adds up what the lanes of a warp counted.
__device__ void count(u32* counter, u64 amount) {
    amount = sum_of_warp(amount);
    if (amount > 0 && lane_id() == 0) relaxed_fetch_add(counter, static_cast<u32>(amount));
}

__device__ void load_state(const u64* words, State& state) {
    u64* const copy = reinterpret_cast<u64*>(&state);
    for (u32 k = 0; k < STATE_WORDS; ++k) copy[k] = relaxed_load(&words[k]);
}

__device__ void save_state(u64* words, const State& state) {
    const u64* const copy = reinterpret_cast<const u64*>(&state);
    for (u32 k = 0; k < STATE_WORDS; ++k) relaxed_store(&words[k], copy[k]);
}

// The blocks that discharge: all but the first ones, which search meanwhile.
struct Dischargers {
    u32 num_blocks;
    u32 block;

    __device__ explicit Dischargers(u64 search_blocks)
        : num_blocks(gridDim.x - static_cast<u32>(search_blocks)),
          block(blockIdx.x - static_cast<u32>(search_blocks)) {}

    __device__ u32 num_warps() const { return num_blocks * ((blockDim.x + WARP - 1) / WARP); }
    __device__ u32 warp() const { return threadIdx.x / WARP * num_blocks + block; }
};

// How many warps have nothing to do, about.
__device__ u32 num_at_rest(const Counters& counters) {
    const u32 wakes = relaxed_load(&counters.base[WAKES]), rests = relaxed_load(&counters.base[RESTS]);
    return rests - wakes;
}

// Whether all warps rest and no vertex is active. If none wakes between the first look and the last, all that they
// did is in the count of active vertices.
__device__ bool all_at_rest(const Counters& counters, u32 num_warps) {
    const u32 wakes = acquire_load(&counters.base[WAKES]);
    return acquire_load(&counters.base[RESTS]) - wakes == num_warps && acquire_load(&counters.base[ACTIVE]) == 0 &&
           acquire_load(&counters.base[WAKES]) == wakes;
}
