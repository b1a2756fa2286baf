// State of the kernel of cuda-shortest-path: arguments, phases, and the counters that blocks exchange.
//
// The blocks that solve one problem are its team (GridTeam): they meet at barriers.
#include "costs.cuh"
#include "cuda/launches.py: SharedMemory"
#include "lanes.cuh"
#include "loop_state.cuh"
#include "stop.cuh"

// Threads (lanes of one warp) that read a row's list together.
#ifndef LANES_A_ROW
#define LANES_A_ROW 8
#endif

// No partner, no claim, no parent.
constexpr u32 NONE = 0xffffffffu;

#include "assignment/solution.py: SOLVED, STOPPED, INFEASIBLE, OVERFLOW"
#include "__init__.py: Phase, STUCK"

// The state of a problem's main loop. Each block has a copy, which its first thread changes between the two halves of a
// barrier. Between two launches the state is in device memory.
struct State {
#include "__init__.py: ShortestPathState._fields"

    __device__ void end_round(const GridTeam& team, u64 next, u64 cost = 1) {
        phase = next;
        rounds_left = team.is_last(round) ? 0 : rounds_left - min(rounds_left, cost);
        ++round;
    }
};

// Values that all blocks combine in a round: two maxima and a sum. In round r, threads add to the signals of round
// r + 1 and clear those of round r + 2, which all threads have read by then.
enum Signal : u32 { LEAST_TURNED, LIMIT, COUNT, SIGNALS };

// Words of a problem in device memory: its state, three sets of signals, the number of list entries and costs read, and
// the number of arrivals at barriers. The host clears only the arrivals between launches.
#include "__init__.py: SIGNALS_AT, COUNTED_AT, ARRIVALS_AT, PROBLEM_WORDS"
static_assert(sizeof(State) <= 8 * SIGNALS_AT && SIGNALS_AT + 3 * SIGNALS <= COUNTED_AT && COUNTED_AT < ARRIVALS_AT);

// Every array has one part per problem.
struct Arguments {
#include "__init__.py: Arguments._fields"

    // Returns the arguments of one problem.
    __device__ Arguments part(u64 problem) const {
        Arguments part = *this;
        const u64 rows = problem * num_rows, columns = problem * num_columns;
        part.costs = costs.part(problem, num_rows);
        part.row_match += rows, part.u += rows, part.distance += rows, part.nearest += rows, part.bound += rows;
        part.parent += rows, part.size += rows, part.moved += rows, part.ways += 3 * rows;
        part.listed += rows * room, part.listed_cost += rows * room, part.reduced += rows * room;
        part.column_match += columns, part.v += columns, part.start += columns, part.fallen += columns;
        part.column_distance += columns, part.claims += 2 * columns;
        part.words += problem * PROBLEM_WORDS;
        return part;
    }
    __device__ u64* signal(u64 round, u32 which) const { return &words[SIGNALS_AT + round % 3 * SIGNALS + which]; }
    __device__ u64 read(u64 round, Signal which) const { return relaxed_load(signal(round, which)); }
    __device__ u32* claims_of(u64 search) const { return claims + search % 2 * num_columns; }
    __device__ u64* jumps_of(u64 jump) const { return ways + (1 + jump % 2) * num_rows; }
    __device__ u64 list_of(u32 row) const { return row * room; }
    // Block b of a problem owns the rows b, b + blocks_a_problem, b + 2 * blocks_a_problem and so on.
    __device__ u32 block() const { return blockIdx.x % static_cast<u32>(blocks_a_problem); }
    __device__ u32 owned_rows() const {
        return block() < num_rows ? static_cast<u32>((num_rows - block() - 1) / blocks_a_problem + 1) : 0;
    }
    __device__ u32 owned_row(u32 k) const { return k * static_cast<u32>(blocks_a_problem) + block(); }
};

// A block's shared memory.
constexpr u32 MOST_THREADS = 1024, COLUMNS_A_GROUP = 8, MOST_GROUPS = MOST_THREADS / COLUMNS_A_GROUP;
struct Scratch {
    Arguments args;
    State state;
    u64 report[SIGNALS];
    Number least[MOST_THREADS / WARP];  // of each warp
    u32 column[MOST_THREADS / WARP];
    Number minima[MOST_GROUPS];
    Number threshold;
    u32 below, level;
    u32 num_rows;
    u32 rows[MOST_THREADS];
};

// Returns the value of the first lane with `has` in this lane's group of LANES lanes.
template <u32 LANES, class T>
__device__ __forceinline__ T from_lane_that(bool has, T value) {
    const u32 first = lane_id() / LANES * LANES;
    const u32 group = LANES == WARP ? ALL_LANES : ((1u << LANES % WARP) - 1) << first;
    const u32 voters = __ballot_sync(ALL_LANES, has) & group;
    const u32 from = voters == 0 ? first : __ffs(static_cast<int>(voters)) - 1;
    return __shfl_sync(ALL_LANES, value, static_cast<int>(from));
}

// Values of a thread that the blocks combine at the end of a round.
struct Report {
    Number least = beyond();  // least distance that changed
    u64 limit = 0;            // word of the largest distance of a free row
    u64 count = 0;

    // Adds the values to the signals of the next round. All threads of the block call it, before the barrier.
    __device__ void give(const Arguments& args, Scratch& scratch, u64 round) const {
        u64* const own = scratch.report;
        u64 changed = least < beyond() ? ~word_of(least) : 0, high = limit;
        if (__any_sync(ALL_LANES, changed != 0 || high != 0)) {
            changed = greatest_of_warp(changed);
            high = greatest_of_warp(high);
            if (lane_id() == 0) {
                relaxed_fetch_max(&own[LEAST_TURNED], changed);
                relaxed_fetch_max(&own[LIMIT], high);
            }
        }
        if (count > 0) relaxed_fetch_add(&own[COUNT], count);
        __syncthreads();
        if (threadIdx.x >= SIGNALS) return;
        const u64 of_block = relaxed_load(&own[threadIdx.x]);
        relaxed_store(&own[threadIdx.x], u64{0});
        if (of_block == 0) return;
        if (threadIdx.x == COUNT)
            relaxed_fetch_add(args.signal(round + 1, COUNT), of_block);
        else
            relaxed_fetch_max(args.signal(round + 1, threadIdx.x), of_block);
    }
};
