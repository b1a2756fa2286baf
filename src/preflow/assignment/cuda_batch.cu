// The kernel of cuda_batch.py: each problem of a stack is solved by a team, one warp or one block, by column reduction,
// augmenting row reduction and shortest augmenting paths. Each thread keeps the prices and distances of its columns in
// registers; costs are copied to shared memory, as narrow as they fit, or read where they are (STORED 0).
//
// Numbers are int, i64 or double. All costs that are worked with are at least the prices that columns have at first,
// and prices of columns only fall: so distances are not negative and their bits are in their order.
#ifndef WARPS
#define WARPS 1     // of a team
#define TEAMS 2     // of a block; one if a team has several warps
#define COLUMNS 1   // of a thread
#define SOURCE 0    // costs as they are given: int, i64, float, double
#define NUMBER 0    // numbers: int, i64, double
#define STORED 1    // bytes of a cost in shared memory
#endif
#define KERNEL_THREADS (WARPS * TEAMS * 32)

#include "atomics.cuh"
#include "lanes.cuh"

template <u32 which> struct SourceType;
template <> struct SourceType<0> { using Type = int; };
template <> struct SourceType<1> { using Type = i64; };
template <> struct SourceType<2> { using Type = float; };
template <> struct SourceType<3> { using Type = double; };
using Source = SourceType<SOURCE>::Type;

template <u32 which> struct NumberType;
template <> struct NumberType<0> { using Type = int; using Key = u32; using Sum = i64; };
template <> struct NumberType<1> { using Type = i64; using Key = u64; using Sum = i64; };
template <> struct NumberType<2> { using Type = double; using Key = u64; using Sum = double; };
using Number = NumberType<NUMBER>::Type;
using Key = NumberType<NUMBER>::Key;
using Sum = NumberType<NUMBER>::Sum;
constexpr bool FLOATS = NUMBER == 2;

template <u32 bytes, bool floats> struct StoredType { using Type = Source; };
template <> struct StoredType<1, false> { using Type = u8; };
template <> struct StoredType<2, false> { using Type = unsigned short; };
template <> struct StoredType<4, false> { using Type = u32; };
template <> struct StoredType<8, false> { using Type = i64; };
using Stored = StoredType<STORED, FLOATS>::Type;

using u16 = unsigned short;
constexpr u32 TEAM_THREADS = WARPS * WARP;
// No row or column; and added to a column in the argument of a minimum if it has a row.
constexpr u32 NONE = 0xffffu, TAKEN = 0x80000000u;
// Costs that a thread asks for before it uses the first.
constexpr u32 AT_ONCE = 8;

enum Ending : u32 { SOLVED = 0, INFEASIBLE = 2, GAVE_UP = 4 };
enum Count { NUM_INFEASIBLE, NUM_GAVE_UP, NUM_SEARCHES, NUM_SCANS, NUM_COUNTS };
constexpr u32 COUNT_ROWS = 32;

struct Arguments {
    const Source* costs;      // of all items, rows of `num_columns`
    const u32* sizes;         // of each item, its rows and columns; not read unless has_sizes
    u64 has_sizes;
    u64 num_items, num_rows, num_columns;
    u64 maximize;
    u64 base;                 // bits of a number: of integers what becomes 0; of floats, as worked with, the least
    u64 column_reduction;
    u64 reductions_a_row;     // steps of one pass of row reduction, for each row
    u64 bytes_a_team;
    i64* row;                 // the pairs of every item, num_pairs of them, -1 where there are fewer
    i64* column;
    u64 num_pairs;
    Sum* row_price;
    Sum* column_price;
    Sum* total;
    u32* ending;
    u64* counts;
};

template <class To, class From>
__device__ __forceinline__ To bits_as(From value) {
    static_assert(sizeof(To) == sizeof(From), "the same bits");
    union {
        From from;
        To to;
    } word = {value};
    return word.to;
}

__device__ __forceinline__ Number infinity() {
    if (FLOATS) return bits_as<Number>(static_cast<Key>(0x7ff0ull << 48));
    return bits_as<Number>(static_cast<Key>(~Key{0} >> 1));
}

__device__ __forceinline__ void team_sync() {
    if (WARPS == 1)
        __syncwarp();
    else
        __syncthreads();
}

// A number and the column that it belongs to.
struct Candidate {
    Number value;
    u32 place;

    __device__ u32 column() const { return place & ~TAKEN; }
};

// Returns the lanes that have the least key. All lanes take part, those with `out` have none.
__device__ __forceinline__ u32 lanes_of_least(u32 key) {
    return __ballot_sync(ALL_LANES, key == least_of_warp(key));
}
__device__ __forceinline__ u32 lanes_of_least(u64 key) {
    const u32 high = static_cast<u32>(key >> 32), low = static_cast<u32>(key);
    const bool least = high == least_of_warp(high);
    const u32 lanes = __ballot_sync(ALL_LANES, least);
    if ((lanes & (lanes - 1)) == 0) return lanes;
    const u32 least_low = least_of_warp(least ? low : ~0u);
    return __ballot_sync(ALL_LANES, least && low == least_low);
}

// Returns the least candidate of the warp's lanes, of equal ones one that is not TAKEN, and in `lane` whose it is.
__device__ __forceinline__ Candidate least_of_warp(Candidate mine, u32& lane) {
    u32 lanes = lanes_of_least(bits_as<Key>(mine.value));
    if (!FLOATS) {
        const u32 untaken = __ballot_sync(ALL_LANES, (lanes >> lane_id() & 1) && !(mine.place & TAKEN));
        if (untaken) lanes = untaken;
    }
    lane = __ffs(static_cast<int>(lanes)) - 1;
    return {__shfl_sync(ALL_LANES, mine.value, lane), __shfl_sync(ALL_LANES, mine.place, lane)};
}

struct TwoCandidates {
    Candidate best, second;

    __device__ void take(Number value, u32 place) {
        if (!(value < second.value)) return;
        const bool better = value < best.value;
        second = better ? best : Candidate{value, place};
        if (better) best = {value, place};
    }
    // Returns the least two of all lanes'.
    __device__ TwoCandidates of_warp() const {
        u32 lane, ignored;
        const Candidate first = least_of_warp(best, lane);
        return {first, least_of_warp(lane_id() == lane ? second : best, ignored)};
    }
};

// The team's part of shared memory, and the item that it works on: rows are the smaller side.
struct Item {
    Stored* near;
    Number* mate_price;       // of a column's row
    TwoCandidates* slots;     // of each warp, twice
    u32* row_mate;
    u16* mate;                // of a column, NONE if it has none
    u16* before;              // the row before a column on a shortest path
    u16* free_rows;
    const Source* far;
    u32 num_rows, num_columns;
    u32 row_stride, column_stride;
    u32 turn = 0;             // which of a warp's slots comes next
    u32 searches = 0, scans = 0;

    __device__ Item(const Arguments& args) {
        SharedArena arena;
        if (WARPS == 1) arena.next += threadIdx.x / WARP * args.bytes_a_team;
        const u32 most = static_cast<u32>(max(args.num_rows, args.num_columns));
        const u32 least = static_cast<u32>(min(args.num_rows, args.num_columns));
        near = arena.take<Stored>(STORED ? most * least : 0);
        mate_price = arena.take<Number>(most);
        slots = arena.take<TwoCandidates>(WARPS > 1 ? 2 * WARPS : 0);
        row_mate = arena.take<u32>(most);
        mate = arena.take<u16>(most);
        before = arena.take<u16>(most);
        free_rows = arena.take<u16>(most);
    }

    __device__ static u32 thread() { return threadIdx.x % TEAM_THREADS; }
    __device__ static u32 column(u32 k) { return thread() + k * TEAM_THREADS; }
};

__device__ __forceinline__ Number as_number(const Arguments& args, Source cost) {
    if (FLOATS) return args.maximize ? -static_cast<Number>(cost) : static_cast<Number>(cost);
    const Sum base = bits_as<Sum>(args.base), wide = static_cast<Sum>(cost);
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

// The columns of a thread: their prices, and which of them exist and are taken, a bit each.
struct Columns {
    Number price[COLUMNS];
    u32 there = 0, taken = 0;
};

// Sets prices to the minima of columns and gives these to the rows that have them, a row the first of its columns.
__device__ void reduce_columns(const Arguments& args, Item& item, Columns& mine) {
    u32 row[COLUMNS];
    for (u32 k = 0; k < COLUMNS; ++k) mine.price[k] = infinity(), row[k] = NONE;
#pragma unroll 4
    for (u32 i = 0; i < item.num_rows; ++i)
#pragma unroll
        for (u32 k = 0; k < COLUMNS; ++k) {
            if (!(mine.there >> k & 1)) continue;
            const Number cost = cost_of(args, item, i, Item::column(k));
            if (cost < mine.price[k]) mine.price[k] = cost, row[k] = i;
        }
#pragma unroll
    for (u32 k = 0; k < COLUMNS; ++k) {
        if (row[k] == NONE) mine.price[k] = 0;
        else relaxed_fetch_min(&item.row_mate[row[k]], Item::column(k));
    }
    team_sync();
#pragma unroll
    for (u32 k = 0; k < COLUMNS; ++k) {
        if (row[k] == NONE || item.row_mate[row[k]] != Item::column(k)) continue;
        item.mate[Item::column(k)] = static_cast<u16>(row[k]);
        item.mate_price[Item::column(k)] = 0;
        mine.taken |= 1u << k;
    }
    item.scans += item.num_rows;
}

// Lists the rows without a column and returns how many there are.
__device__ u32 list_free_rows(Item& item) {
    u32 size = 0;
    for (u32 begin = 0; begin < item.num_rows; begin += WARP) {
        const u32 i = begin + lane_id();
        const bool is_free = i < item.num_rows && item.row_mate[i] == NONE;
        const u32 lanes = __ballot_sync(ALL_LANES, is_free);
        if (is_free && Item::thread() < WARP) item.free_rows[size + __popc(lanes & ((1u << lane_id()) - 1))] = i;
        size += __popc(lanes);
    }
    team_sync();
    return size;
}

// Returns the least candidate of the team.
__device__ Candidate least_of_team(Item& item, Candidate mine) {
    u32 lane;
    mine = least_of_warp(mine, lane);
    if (WARPS == 1) return mine;
    TwoCandidates* const slots = item.slots + item.turn * WARPS;
    item.turn ^= 1;
    if (lane_id() == 0) slots[Item::thread() / WARP].best = mine;
    __syncthreads();
    mine = {infinity(), TAKEN};
    if (lane_id() < WARPS) mine = slots[lane_id()].best;
    return least_of_warp(mine, lane);
}

// Returns the two columns of the team with the least reduced costs of a row.
__device__ TwoCandidates least_two_of_row(const Arguments& args, Item& item, const Columns& mine, u32 row) {
    TwoCandidates two = {{infinity(), TAKEN}, {infinity(), TAKEN}};
    Number cost[COLUMNS];
#pragma unroll
    for (u32 k = 0; k < COLUMNS; ++k)
        if (mine.there >> k & 1) cost[k] = cost_of(args, item, row, Item::column(k));
#pragma unroll
    for (u32 k = 0; k < COLUMNS; ++k)
        if (mine.there >> k & 1)
            two.take(cost[k] - mine.price[k], Item::column(k) | (mine.taken >> k & 1 ? TAKEN : 0));
    ++item.scans;
    two = two.of_warp();
    if (WARPS == 1) return two;
    TwoCandidates* const slots = item.slots + item.turn * WARPS;
    item.turn ^= 1;
    if (lane_id() == 0) slots[Item::thread() / WARP] = two;
    __syncthreads();
    two = {{infinity(), TAKEN}, {infinity(), TAKEN}};
    if (lane_id() < WARPS) two = slots[lane_id()];
    return two.of_warp();
}

// One pass of row reduction: free rows take their best columns, also those of other rows, and lower the price to the
// second best. Returns how many rows are still free.
__device__ u32 reduce_rows(const Arguments& args, Item& item, Columns& mine, u32 size) {
    const bool is_first = Item::thread() == 0;
    u32 budget = static_cast<u32>(args.reductions_a_row) * item.num_rows;
    u32 left = 0, next = 0, row = NONE;
    while (budget > 0 && (row != NONE || next < size)) {
        --budget;
        if (row == NONE) row = item.free_rows[next++];
        const TwoCandidates two = least_two_of_row(args, item, mine, row);
        const bool lowers = two.best.value < two.second.value && two.second.value < infinity();
        Candidate to = two.best;
        if (to.place & TAKEN && two.best.value == two.second.value) to = two.second;
        if (to.place & TAKEN && !lowers) {
            team_sync();
            if (is_first) item.free_rows[left] = static_cast<u16>(row);
            ++left;
            row = NONE;
            continue;
        }
        const u32 column = to.column(), other = to.place & TAKEN ? item.mate[column] : NONE;
        team_sync();
#pragma unroll
        for (u32 k = 0; k < COLUMNS; ++k)
            if (Item::column(k) == column) {
                if (lowers) mine.price[k] -= two.second.value - two.best.value;
                mine.taken |= 1u << k;
                item.mate_price[column] = lowers ? two.second.value : two.best.value;
                item.mate[column] = static_cast<u16>(row);
                item.row_mate[row] = column;
                if (other != NONE) item.row_mate[other] = NONE;
            }
        team_sync();
        row = other;
    }
    team_sync();
    if (row != NONE) {
        if (is_first) item.free_rows[left] = static_cast<u16>(row);
        ++left;
    }
    for (; next < size; ++next, ++left)
        if (is_first) item.free_rows[left] = item.free_rows[next];
    team_sync();
    return left;
}

// Matches along the path that ends in a column.
__device__ void augment(Item& item, u32 root, Number root_price, u32 column) {
    for (u32 step = 0; step < item.num_rows; ++step) {
        const u32 row = item.before[column], from = item.row_mate[row];
        item.mate[column] = static_cast<u16>(row);
        item.mate_price[column] = row == root ? root_price : item.mate_price[from];
        item.row_mate[row] = column;
        if (row == root) return;
        column = from;
    }
}

// Gives a column to a row by a shortest path from there.
__device__ Ending search(const Arguments& args, Item& item, Columns& mine, u32 root) {
    Number distance[COLUMNS];
    u32 before[COLUMNS];
    u32 open = mine.there;
#pragma unroll
    for (u32 k = 0; k < COLUMNS; ++k) {
        distance[k] = infinity();
        if (open >> k & 1) distance[k] = cost_of(args, item, root, Item::column(k)) - mine.price[k];
        before[k] = root;
    }
    ++item.searches;
    for (u32 step = 0; step <= item.num_columns; ++step) {
        Candidate nearest = {infinity(), TAKEN};
#pragma unroll
        for (u32 k = 0; k < COLUMNS; ++k) {
            const bool taken = mine.taken >> k & 1;
            const bool better = distance[k] < nearest.value ||
                                (!FLOATS && distance[k] == nearest.value && !taken);
            if ((open >> k & 1) && better) nearest = {distance[k], Item::column(k) | (taken ? TAKEN : 0)};
        }
        nearest = least_of_team(item, nearest);
        ++item.scans;
        if (!(nearest.value < infinity())) return INFEASIBLE;
        const u32 column = nearest.column();
        if (!(nearest.place & TAKEN)) {
            team_sync();
#pragma unroll
            for (u32 k = 0; k < COLUMNS; ++k) {
                if (mine.there >> k & 1) item.before[Item::column(k)] = static_cast<u16>(before[k]);
                if (Item::column(k) == column) mine.taken |= 1u << k;
                if (!((mine.there & ~open) >> k & 1)) continue;
                mine.price[k] -= nearest.value - distance[k];
                item.mate_price[Item::column(k)] += nearest.value - distance[k];
            }
            team_sync();
            if (Item::thread() == 0) augment(item, root, nearest.value, column);
            team_sync();
            return SOLVED;
        }
        const u32 row = item.mate[column];
        const Number height = nearest.value - item.mate_price[column];
        Number cost[COLUMNS];
#pragma unroll
        for (u32 k = 0; k < COLUMNS; ++k)
            if (open >> k & 1) cost[k] = cost_of(args, item, row, Item::column(k));
#pragma unroll
        for (u32 k = 0; k < COLUMNS; ++k) {
            if (Item::column(k) == column) open &= ~(1u << k);
            if (!(open >> k & 1)) continue;
            Number through = cost[k] - mine.price[k] + height;
            if (FLOATS && through < nearest.value) through = nearest.value;  // by rounding
            if (through < distance[k]) distance[k] = through, before[k] = row;
        }
    }
    return GAVE_UP;
}

__device__ Ending solve(const Arguments& args, Item& item, Columns& mine) {
    const bool square = item.num_rows == item.num_columns;
#pragma unroll
    for (u32 k = 0; k < COLUMNS; ++k) {
        const u32 j = Item::column(k);
        mine.price[k] = FLOATS ? static_cast<Number>(bits_as<Sum>(args.base)) : 0;
        if (j < item.num_columns) mine.there |= 1u << k, item.mate[j] = NONE;
        if (j < item.num_rows) item.row_mate[j] = NONE;
    }
    if (STORED) store_costs(args, item);
    team_sync();
    if (square && args.column_reduction) reduce_columns(args, item, mine);
    team_sync();
    u32 size = list_free_rows(item);
    for (u32 pass = 0; pass < 2 && size > 0; ++pass) size = reduce_rows(args, item, mine, size);
    for (u32 k = 0; k < size; ++k) {
        const Ending ending = search(args, item, mine, item.free_rows[k]);
        if (ending != SOLVED) return ending;
    }
    return SOLVED;
}

__device__ __forceinline__ Sum sum_of_lanes(Sum value) {
#pragma unroll
    for (u32 distance = WARP / 2; distance > 0; distance /= 2) value += __shfl_xor_sync(ALL_LANES, value, distance);
    return value;
}

// Writes the pairs of an item by ascending rows, as they are given: the smaller side if not `transposed`.
__device__ void write_pairs(const Arguments& args, const Item& item, u64 which, bool transposed) {
    i64* const rows = args.row + which * args.num_pairs;
    i64* const columns = args.column + which * args.num_pairs;
    u32 size = 0;
    const u32 lines = transposed ? item.num_columns : item.num_rows;
    for (u32 begin = 0; begin < lines; begin += WARP) {
        const u32 line = begin + lane_id();
        const u32 other = line >= lines ? NONE : transposed ? item.mate[line] : item.row_mate[line];
        const u32 lanes = __ballot_sync(ALL_LANES, other != NONE);
        if (other != NONE) {
            const u32 place = size + __popc(lanes & ((1u << lane_id()) - 1));
            rows[place] = line;
            columns[place] = other;
        }
        size += __popc(lanes);
    }
    for (u32 place = size + lane_id(); place < args.num_pairs; place += WARP) rows[place] = columns[place] = -1;
}

// Writes what was found for an item.
__device__ void write(const Arguments& args, Item& item, const Columns& mine, u64 which, bool transposed) {
    if (Item::thread() < WARP) write_pairs(args, item, which, transposed);
    Sum* const row_price = args.row_price + which * args.num_rows;
    Sum* const column_price = args.column_price + which * args.num_columns;
    Sum* const of_row = transposed ? column_price : row_price;
    Sum* const of_column = transposed ? row_price : column_price;
    const Sum base = bits_as<Sum>(args.base), added = FLOATS ? Sum{0} : base;
    // Of floats, so that columns that are left over have the price 0.
    const Sum shift = FLOATS && item.num_rows < item.num_columns ? base : Sum{0};
    Sum total = 0;
#pragma unroll
    for (u32 k = 0; k < COLUMNS; ++k) {
        if (!(mine.there >> k & 1)) continue;
        const u32 j = Item::column(k), i = item.mate[j];
        const Sum price = static_cast<Sum>(mine.price[k]) - shift;
        of_column[j] = args.maximize ? -price : price;
        if (i == NONE) continue;
        const Sum cost = static_cast<Sum>(cost_of(args, item, i, j));
        of_row[i] = args.maximize ? added - (cost - price) : added + (cost - price);
        total += args.maximize ? added - cost : added + cost;
    }
    const u32 rows = transposed ? item.num_columns : item.num_rows;
    const u32 columns = transposed ? item.num_rows : item.num_columns;
    for (u32 r = rows + Item::thread(); r < args.num_rows; r += TEAM_THREADS) row_price[r] = 0;
    for (u32 c = columns + Item::thread(); c < args.num_columns; c += TEAM_THREADS) column_price[c] = 0;
    total = sum_of_lanes(total);
    if (WARPS > 1) {
        Sum* const sums = reinterpret_cast<Sum*>(item.slots);
        if (lane_id() == 0) sums[Item::thread() / WARP] = total;
        __syncthreads();
        total = 0;
        for (u32 warp = 0; warp < WARPS; ++warp) total += sums[warp];
    }
    if (Item::thread() == 0) args.total[which] = total;
}

KERNEL(solve_stack, Arguments) {
    Item item(args);
    const u64 num_teams = gridDim.x * TEAMS;
    for (u64 which = blockIdx.x * TEAMS + threadIdx.x / TEAM_THREADS; which < args.num_items; which += num_teams) {
        u32 rows = static_cast<u32>(args.num_rows), columns = static_cast<u32>(args.num_columns);
        if (args.has_sizes) rows = args.sizes[2 * which], columns = args.sizes[2 * which + 1];
        const bool transposed = rows > columns;
        item.far = args.costs + which * args.num_rows * args.num_columns;
        item.num_rows = transposed ? columns : rows;
        item.num_columns = transposed ? rows : columns;
        item.row_stride = transposed ? 1 : static_cast<u32>(args.num_columns);
        item.column_stride = transposed ? static_cast<u32>(args.num_columns) : 1;
        item.searches = item.scans = 0;
        Columns mine;
        const Ending ending = solve(args, item, mine);
        team_sync();
        if (ending == SOLVED) write(args, item, mine, which, transposed);
        if (Item::thread() == 0) {
            args.ending[which] = ending;
            u64* const counts = args.counts + which % COUNT_ROWS * NUM_COUNTS;
            if (ending == INFEASIBLE) relaxed_fetch_add(&counts[NUM_INFEASIBLE], u64{1});
            if (ending == GAVE_UP) relaxed_fetch_add(&counts[NUM_GAVE_UP], u64{1});
            relaxed_fetch_add(&counts[NUM_SEARCHES], static_cast<u64>(item.searches));
            relaxed_fetch_add(&counts[NUM_SCANS], static_cast<u64>(item.scans) * item.num_columns);
        }
        team_sync();
    }
}
