// What the kernel of cuda_shortest_path.py works on.
#include "cuda_shortest_path_costs.cuh"
#include "grid.cuh"

// Threads that look at a row's list together, and the most blocks that share the rows out.
#ifndef LANES_A_ROW
#define LANES_A_ROW 8
#endif

// No partner, no claim, no column before.
constexpr u32 NONE = 0xffffffffu;

enum Phase : u64 { REDUCE_COLUMNS, START, LIST, BID, SETTLE, BEGIN, RELAX, CHECK, AUGMENT, DONE };
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

    __device__ void end_round(u64 next, u64 cost = 1) {
        phase = next;
        ++round;
        rounds_left -= min(rounds_left, cost);
    }
};
constexpr u32 STATE_WORDS = sizeof(State) / sizeof(u64);

// What the blocks tell each other in a round: sums and maxima. In round r threads add to those of round r + 1, and one
// of them clears those of round r + 2, which all have read by then.
enum Signal : u32 { LEAST_TURNED, LIMIT, COUNT, SIGNALS = 16 };

struct Arguments {
    Costs costs;
    u64 num_rows, num_columns;
    u64 room;              // entries that a row's list has room for
    u64 wanted;            // of the groups of columns, so many have their least entries listed
    u64 most_bids;         // that follow from one free row
    // Of rows, each written by the block that owns it.
    u32* row_match;
    Number* u;
    Number* distance;      // to the nearest free column, in reduced costs
    Number* nearest;       // the least reduced cost in the list but for the row's own column
    Number* bound;         // no column that is not listed costs less, less its price; prices only fall
    u32* parent;           // the next column on the way
    u32* size;             // of the list
    u32* won;              // the search in which the row's walk came to a free column
    u32* listed;
    Number* listed_cost;
    Number* reduced;
    // Of columns.
    u32* column_match;
    Number* v;
    Number* start;         // the prices before rows bid
    u64* fallen;           // by how much it fell since then, and the number of the row that has the column plus 1
    u64* column_distance;  // word of its row's distance; 0 where it is free
    u32* claims;           // two arrays, of alternating searches: the free row whose walk came by
    u32* arrivals;
    u64* signals;          // three times SIGNALS words
    u64* state;
    u64* counted;          // list entries and costs looked at

    __device__ u64* signal(u64 round, Signal which) const { return &signals[round % 3 * SIGNALS + which]; }
    __device__ u64 read(u64 round, Signal which) const { return relaxed_load(signal(round, which)); }
    __device__ u32* claims_of(u64 search) const { return claims + search % 2 * num_columns; }
    __device__ u64 list_of(u32 row) const { return row * room; }
    // Block b owns the rows b, b + gridDim.x and so on.
    __device__ u32 owned_rows() const {
        return blockIdx.x < num_rows ? (num_rows - blockIdx.x - 1) / gridDim.x + 1 : 0;
    }
    __device__ u32 owned_row(u32 k) const { return k * gridDim.x + blockIdx.x; }
};

// A block's shared memory.
constexpr u32 MOST_THREADS = 1024, COLUMNS_A_GROUP = 4, MOST_GROUPS = MOST_THREADS / COLUMNS_A_GROUP;
struct Scratch {
    State state;
    Number least[MOST_THREADS / WARP];  // of each warp
    u64 most[MOST_THREADS / WARP];
    u64 sums[MOST_THREADS / WARP];
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

// What the threads of a block have to tell at the end of a round.
struct Report {
    Number least = beyond();  // distance that changed
    u64 limit = 0;            // word of the largest distance of a free row
    u64 count = 0;

    // All threads of the block call it together, before the barrier.
    __device__ void give(const Arguments& args, Scratch& scratch, u64 round) const {
        const u32 warp = threadIdx.x / WARP;
        Number low = least_number_of_lanes<WARP>(least);
        u64 high = limit, sum = count;
#pragma unroll
        for (u32 distance = WARP / 2; distance > 0; distance /= 2) {
            high = max(high, __shfl_xor_sync(ALL_LANES, high, distance));
            sum += __shfl_xor_sync(ALL_LANES, sum, distance);
        }
        if (lane_id() == 0) {
            scratch.least[warp] = low;
            scratch.most[warp] = high;
            scratch.sums[warp] = sum;
        }
        __syncthreads();
        if (threadIdx.x > 0) return;
        for (u32 w = 1; w < blockDim.x / WARP; ++w) {
            low = smaller(low, scratch.least[w]);
            high = max(high, scratch.most[w]);
            sum += scratch.sums[w];
        }
        if (low < beyond()) relaxed_fetch_max(args.signal(round + 1, LEAST_TURNED), ~word_of(low));
        if (high > 0) relaxed_fetch_max(args.signal(round + 1, LIMIT), high);
        if (sum > 0) relaxed_fetch_add(args.signal(round + 1, COUNT), sum);
    }
};
