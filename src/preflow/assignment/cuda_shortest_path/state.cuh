// What the kernel of cuda_shortest_path.py works on.
#include "costs.cuh"
#include "lanes.cuh"
#include "stop.cuh"

// Threads that look at a row's list together, and the most blocks that share the rows out.
#ifndef LANES_A_ROW
#define LANES_A_ROW 8
#endif

// No partner, no claim, no column before.
constexpr u32 NONE = 0xffffffffu;

enum Phase : u64 { REDUCE_COLUMNS, START, LIST, BID, SETTLE, BEGIN, RELAX, CHECK, TRACE, JUMP, AUGMENT, FINISH, DONE };
// As in state.py, and one that no solve comes to: a search that gave no row a column.
enum Ending : u64 { SOLVED, STOPPED, INFEASIBLE, OVERFLOWED, STUCK };

// Where the loop stands. Each block holds a copy, which its first thread changes between the two halves of a
// barrier; between two launches it is in device memory.
struct State {
    u64 phase;
    u64 rounds_left;   // of this launch
    u64 round;         // barriers so far: which of the rotating signals are meant
    u64 ending;
    u64 searches;      // from all free columns, so far
    u64 free_rows;
    u64 least;         // word of the least distance that changed in the last round
    u64 limit;         // word of the largest distance of a free row: others above count as that
    u64 relaxations, scans;
    u64 searched;      // free rows at first
    u64 jumps;         // of this search: doublings of the steps towards the roots
    u64 next_look;     // whether to stop

    __device__ void end_round(const GridTeam& team, u64 next, u64 cost = 1) {
        phase = next;
        rounds_left = team.is_last(round) ? 0 : rounds_left - min(rounds_left, cost);
        ++round;
    }
};
constexpr u32 STATE_WORDS = sizeof(State) / sizeof(u64);

// What the blocks tell each other in a round: maxima and a sum. In round r threads add to those of round r + 1, and one
// of them clears those of round r + 2, which all have read by then.
enum Signal : u32 { LEAST_TURNED, LIMIT, COUNT, SIGNALS };

// Words of a problem in device memory: its state, the rotating signals, list entries and costs looked at, and the
// count of arrivals at barriers, which is all that the host clears between launches.
constexpr u32 SIGNALS_AT = 32, COUNTED_AT = SIGNALS_AT + 3 * SIGNALS, ARRIVALS_AT = 48, PROBLEM_WORDS = 64;

// Arrays have one part a problem.
struct Arguments {
    Costs costs;
    u64 num_rows, num_columns;
    u64 blocks_a_problem;
    u64 rounds;            // barriers of this launch
    u64 room;              // entries that a row's list has room for
    u64 wanted;            // of the groups of columns, so many have their least entries listed
    u64 most_bids;         // that follow from one free row
    u64 sweeps;            // over all lists between two barriers
    // Of rows, each written by the block that owns it.
    u32* row_match;
    Number* u;
    Number* distance;      // to the nearest free column, in reduced costs; in the end the cost of the pair
    Number* nearest;       // the least reduced cost in the list but for the row's own column
    Number* bound;         // no column that is not listed costs less, less its price; prices only fall
    u32* parent;           // the next column on the way
    u32* size;             // of the list
    u32* moved;            // the last search with the row on the way that a free row took
    u64* ways;             // three arrays: the next column and, in the lower half, its row; then, in alternation, the
                           // column and the row some more steps ahead, the root of the tree in the end
    u32* listed;
    Number* listed_cost;
    Number* reduced;
    // Of columns.
    u32* column_match;
    Number* v;
    Number* start;         // the prices before rows bid
    u64* fallen;           // by how much it fell since then, and the number of the row that has the column plus 1
    u64* column_distance;  // word of its row's distance; 0 where it is free
    u32* claims;           // two arrays, of alternating searches: the free row that takes the free column
    u64* words;
    const i64* stop;

    // Returns the part of one problem, for the block that is the so manyth of it.
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
    // A problem's block b owns the rows b, b + blocks_a_problem and so on.
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

template <u32 LANES>
__device__ __forceinline__ Number least_number_of_lanes(Number value) {
#pragma unroll
    for (u32 distance = LANES / 2; distance > 0; distance /= 2)
        value = smaller(value, __shfl_xor_sync(ALL_LANES, value, distance, LANES));
    return value;
}

// Returns, of the group of LANES lanes that this one is in, the value of the first lane with `has`.
template <u32 LANES, class T>
__device__ __forceinline__ T from_lane_that(bool has, T value) {
    const u32 first = lane_id() / LANES * LANES;
    const u32 group = LANES == WARP ? ALL_LANES : ((1u << LANES % WARP) - 1) << first;
    const u32 voters = __ballot_sync(ALL_LANES, has) & group;
    const u32 from = voters == 0 ? first : __ffs(static_cast<int>(voters)) - 1;
    return __shfl_sync(ALL_LANES, value, static_cast<int>(from));
}

// What a thread has to tell at the end of a round.
struct Report {
    Number least = beyond();  // distance that changed
    u64 limit = 0;            // word of the largest distance of a free row
    u64 count = 0;

    // All threads of the block call it together, before the barrier.
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
