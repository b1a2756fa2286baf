// State of the warp or block (the team) that solves one item: its costs, shared arrays, and the columns of each thread.
#include "batch_numbers.cuh"
#include "stop.cuh"

using Ending = u32;
#include "assignment/solution.py: SOLVED, STOPPED, INFEASIBLE"
#include "assignment/api/float_proof.py: LARGE"
#include "__init__.py: GAVE_UP, Count, COUNTS, COUNT_ROWS, Arguments"

// The team's part of shared memory, and the item that it solves. The item's rows are the smaller side.
struct Item {
    Stored* near;
    Number* mate_price;       // of a column's row
    TwoCandidates* slots;     // two for each warp, used in turn
    u64* next_look;           // clock time at which the first thread reads the stop flag next
    u32* is_over;             // whether the solve is to stop; threads read it after a barrier
    u32* row_mate;
    u16* mate;                // the row of each column, or NONE
    u16* before;              // the row before a column on a shortest path
    u16* free_rows;
    const Source* far;
    u32 num_rows, num_columns;
    u32 row_stride, column_stride;
    u32 turn = 0;             // which of a warp's two slots is used next
    u32 searches = 0, scans = 0;

    __device__ Item(const Arguments& args) {
        SharedArena arena;
        if (WARPS == 1) arena.next += threadIdx.x / WARP * args.bytes_a_team;
        const u32 most = static_cast<u32>(max(args.num_rows, args.num_columns));
        const u32 least = static_cast<u32>(min(args.num_rows, args.num_columns));
        near = arena.take<Stored>(STORED ? most * least : 0);
        mate_price = arena.take<Number>(most);
        slots = arena.take<TwoCandidates>(WARPS > 1 ? 2 * WARPS : 0);
        next_look = arena.take<u64>(1);
        is_over = arena.take<u32>(1);
        row_mate = arena.take<u32>(most);
        mate = arena.take<u16>(most);
        before = arena.take<u16>(most);
        free_rows = arena.take<u16>(most);
        if (thread() == 0) {
            *next_look = nanoseconds() + NANOSECONDS_A_LOOK;
            *is_over = 0;
        }
    }

    __device__ static u32 thread() { return WARPS == 1 ? lane_id() : threadIdx.x; }
    __device__ static u32 column(u32 k) { return (thread() + k / VECTOR * TEAM_THREADS) * VECTOR + k % VECTOR; }
};

// Returns a float with its sign changed if `minus` is 1.
__device__ __forceinline__ float with_sign(float value, u32 minus) { return same_bits<float>(same_bits<u32>(value) ^ minus << 31); }
__device__ __forceinline__ double with_sign(double value, u32 minus) {
    return same_bits<double>(same_bits<u64>(value) ^ static_cast<u64>(minus) << 63);
}
template <class T>
__device__ __forceinline__ T with_sign(T value, u32) { return value; }

__device__ __forceinline__ Number as_number(const Arguments& args, Source cost) {
    if (FLOATS) return static_cast<Number>(with_sign(cost, static_cast<u32>(args.maximize)));
    const Sum base = same_bits<Sum>(args.base), wide = static_cast<Sum>(cost);
    return static_cast<Number>(args.maximize ? base - wide : wide - base);
}

__device__ __forceinline__ Number cost_of(const Arguments& args, const Item& item, u32 row, u32 column) {
    if (STORED) return static_cast<Number>(item.near[row * item.num_columns + column]);
    return as_number(args, item.far[row * item.row_stride + column * item.column_stride]);
}

// Copies the item's costs to shared memory.
__device__ void store_costs(const Arguments& args, const Item& item) {
    const bool whole = item.column_stride == 1 && item.row_stride == item.num_columns;
    const u32 lines = whole ? 1 : item.num_rows, length = whole ? item.num_rows * item.num_columns : item.num_columns;
    for (u32 line = 0; line < lines; ++line) {
        const Source* const from = item.far + line * item.row_stride;
        Stored* const to = item.near + line * length;
        for (u32 begin = Item::thread(); begin < length; begin += AT_ONCE * TEAM_THREADS) {
            Source loaded[AT_ONCE];
#pragma unroll
            for (u32 k = 0; k < AT_ONCE; ++k)
                if (begin + k * TEAM_THREADS < length)
                    loaded[k] = from[(begin + k * TEAM_THREADS) * item.column_stride];
#pragma unroll
            for (u32 k = 0; k < AT_ONCE; ++k)
                if (begin + k * TEAM_THREADS < length)
                    to[begin + k * TEAM_THREADS] = static_cast<Stored>(as_number(args, loaded[k]));
        }
    }
}

// The columns of a thread: their prices, their rows, the prices of these rows, and one bit each for columns that exist.
// For a column that does not exist, `loaded` names the last column, so that loops over columns need no branch.
struct Columns {
    Number price[COLUMNS];
    u32 place[COLUMNS];
    Number mate_price[COLUMNS];
    u32 loaded[COLUMNS];
    u32 there = 0;

    __device__ bool exists(u32 k) const { return there >> k & 1; }
    __device__ bool is_taken(u32 k) const { return row_at(place[k]) != NONE; }

    // Matches a column of the thread with a row.
    __device__ void match(Item& item, u32 k, u32 row, Number row_price) {
        place[k] = place_of(Item::column(k), row);
        mate_price[k] = row_price;
        item.mate[Item::column(k)] = static_cast<u16>(row);
        item.mate_price[Item::column(k)] = row_price;
        item.row_mate[row] = Item::column(k);
    }
    // Reads the rows of columns and their prices again, which `augment` may have changed.
    __device__ void refresh(const Item& item) {
#pragma unroll
        for (u32 k = 0; k < COLUMNS; ++k) {
            const u32 column = min(Item::column(k), item.num_columns - 1);
            place[k] = place_of(Item::column(k), item.mate[column]);
            mate_price[k] = item.mate_price[column];
        }
    }
};

// Loads the costs of a row at the thread's columns.
__device__ __forceinline__ void load_row(
    const Arguments& args, const Item& item, const Columns& mine, u32 row, Number (&cost)[COLUMNS]) {
    if (STORED) {
        const Stored* const from = item.near + row * item.num_columns;
#pragma unroll
        for (u32 k = 0; k < COLUMNS; ++k) cost[k] = static_cast<Number>(from[mine.loaded[k]]);
    } else {
        const Source* const from = item.far + row * item.row_stride;
        Vector loaded[COLUMNS / VECTOR];
        if (VECTOR > 1 && item.column_stride == 1) {
#pragma unroll
            for (u32 k = 0; k < COLUMNS; k += VECTOR)
                loaded[k / VECTOR] = *reinterpret_cast<const Vector*>(&from[mine.loaded[k]]);
        } else {
#pragma unroll
            for (u32 k = 0; k < COLUMNS; ++k)
                loaded[k / VECTOR].of[k % VECTOR] = from[mine.loaded[k] * item.column_stride];
        }
#pragma unroll
        for (u32 k = 0; k < COLUMNS; ++k) cost[k] = as_number(args, loaded[k / VECTOR].of[k % VECTOR]);
    }
}
