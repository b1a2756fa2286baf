// The state, the arguments and the counters of the kernel in push_relabel.cu.
#include "inboxes.cuh"
#include "lanes.cuh"
#include "residual.cuh"
#include "stop.cuh"
#include "worklist.cuh"

enum Phase : u64 { START, SEARCH, DISCHARGE, DONE };

// The state of the loop. Each block has a copy, which its first thread changes while the others wait in a barrier;
// between two launches the state is in device memory.
struct State {
    u64 phase;
    u64 rounds_left;     // of this launch
    u64 round;           // barriers so far; it selects one of the rotating counters
    u64 begin, end;      // the level that is expanded next, in the order of the search
    u64 level;           // their height
    u64 last_level;      // the level after which the search stops; 0 while that is not known
    u64 wanted;          // active vertices that the search has not reached yet
    u64 active;          // active vertices that it has reached
    u64 searches, levels, levels_of_few, phases;
    u64 began, nanoseconds;  // clock time when the running search began; time of all searches
    u64 last_nanoseconds;    // time of the last search
    u64 waves, wave_rounds;
    u64 search_blocks;       // blocks that send waves in this phase
    u64 ended_idle;          // whether the last phase had waves and ended because most warps had nothing to do
    u64 in_vain;             // number of such phases in a row after which the search reached most active vertices
    u64 next_look;           // clock time when the first thread checks whether to stop

    // Ends the launch if the first thread has asked for it; to be called before the round ends.
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
    u64* order;             // pieces of arcs of the vertices reached, by level; or two levels of all waves
    u64 room;               // of each of these two levels
    InboxRoom inboxes;
    u32* arrivals;          // at barriers: of all blocks, then of the blocks that send waves
    u32* counters;
    u64* state;             // of the next launch, and two copies to pass on the state of one block to all
    u64* counts;
    u64 work_limit;         // the options of PushRelabelOptions in __init__.py, work_limit in units of work
    u64 step_limit;
    u64 step_percent;
    u64 time_percent;
    u64 few;
    u64 overshoot_percent;
    u64 enough_percent;
    u64 keeps;
    u64 only_search;        // make a last search, to the end
    u64 search_blocks;      // blocks that send waves while others discharge
    u64 wave_width;
    u64 wave_rounds;
    u64 wave_percent;
    u64 reach_percent;
    u64 rest_percent;
    u64 idle_percent;
    const i64* stop;
};

// Counters of a phase, behind those of a round, each on its own cache line; and the ends of the waves' two lists.
// ACTIVE is not used while there are waves.
enum Shared : u32 {
    OVER = 9 * 32,
    FINISHED = OVER + 1,  // the last wave that has gone as far as it may
    ROUND = OVER + 2,     // the round of the waves
    WORK = OVER + 32,
    ACTIVE = WORK + 32,
    RESTS = ACTIVE + 32,
    WAKES = RESTS + 32,
    WAVE_LIST_SIZES = WAKES + 32,
    STARTS = WAVE_LIST_SIZES + 2 * 32,  // the start rounds of the waves, 64 bits each
};

// Counters of a round of the search: vertices reached, active vertices among them, and all active vertices at the
// start.
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

// Signals to the discharging blocks: whether to stop, and how far the waves have come. No signal decreases in a phase.
struct Signals {
    u32 over;
    u32 finished;
    u32 round;
};

// The signals as some warps of a block have read them last, in shared memory. All lanes of a warp read together, each
// one word, by atomic operations: racecheck reports plain accesses at the same time as races.
struct SharedSignals {
    static constexpr u32 SIZE = sizeof(Signals) / sizeof(u32);

    u32 words[SIZE];

    // Called by one thread before the others read.
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

// The discharging blocks: all but the first ones, which search meanwhile.
struct Dischargers {
    u32 num_blocks;
    u32 block;

    __device__ explicit Dischargers(u64 search_blocks)
        : num_blocks(gridDim.x - static_cast<u32>(search_blocks)),
          block(blockIdx.x - static_cast<u32>(search_blocks)) {}

    __device__ u32 num_warps() const { return num_blocks * ((blockDim.x + WARP - 1) / WARP); }
    __device__ u32 warp() const { return threadIdx.x / WARP * num_blocks + block; }
};

// Returns approximately how many warps have nothing to do.
__device__ u32 num_idle_warps(const Counters& counters) {
    const u32 wakes = relaxed_load(&counters.base[WAKES]), rests = relaxed_load(&counters.base[RESTS]);
    return rests - wakes;
}

// Returns whether all warps have nothing to do and no vertex is active. If no warp wakes between the first load and
// the last, the count of active vertices includes everything that the warps have done.
__device__ bool all_idle(const Counters& counters, u32 num_warps) {
    const u32 wakes = acquire_load(&counters.base[WAKES]);
    return acquire_load(&counters.base[RESTS]) - wakes == num_warps && acquire_load(&counters.base[ACTIVE]) == 0 &&
           acquire_load(&counters.base[WAKES]) == wakes;
}
