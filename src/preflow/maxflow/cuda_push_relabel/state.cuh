// The state, the arguments and the counters of the kernel in push_relabel.cu.
#include "inboxes.cuh"
#include "labels.cuh"
#include "lanes.cuh"
#include "loop_state.cuh"
#include "residual.cuh"
#include "stop.cuh"
#include "worklist.cuh"

#include "__init__.py: Phase, COUNTER_WORDS"

// The state of the loop. Each block has a copy, which its first thread changes while the others wait in a barrier;
// between two launches the state is in device memory.
struct State {
#include "__init__.py: PushRelabelState._fields"

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

#include "__init__.py: Arguments"

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
static_assert(STARTS + 2 * Timetable::SIZE == COUNTER_WORDS, "the host reserves as many");

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
