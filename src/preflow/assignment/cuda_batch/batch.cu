// The kernel of cuda-batch. One warp or one block, the team, solves one problem of the batch by column reduction,
// augmenting row reduction and shortest augmenting paths.
//
// Each thread keeps the prices and distances of its columns in registers. Costs are copied to shared memory in the
// narrowest type that holds them, or are read from device memory (STORED 0).
//
// Numbers are int, i64 or double. No cost is below the prices that columns start with, and prices of columns only
// fall. So distances are not negative, and their bits compare as they do.
#ifndef WARPS
#define WARPS 1     // of the warp or block that solves one problem, the team
#define TEAMS 2     // problems that one block solves at a time: 1 if WARPS > 1
#define COLUMNS 1   // of a thread
#define SOURCE 0    // type of the caller's costs: int, i64, float, double
#define NUMBER 0    // type of prices and distances: int, i64, double
#define STORED 1    // bytes of a cost in shared memory; 0: costs stay in device memory
#define VECTOR 1    // costs of neighbouring columns that one load reads
#endif
#define KERNEL_BOUNDS WARPS * TEAMS * 32, (WARPS > 1 ? 1 : COLUMNS > 1 ? 4 : 8)

#include "state.cuh"

// Column reduction: sets the price of each column to its least cost, and matches it with the row of that cost. A row
// that has the least cost of several columns gets the first.
__device__ void reduce_columns(const Arguments& args, Item& item, Columns& mine) {
    u32 row[COLUMNS];
#pragma unroll
    for (u32 k = 0; k < COLUMNS; ++k) mine.price[k] = infinity(), row[k] = NONE;
#pragma unroll 8
    for (u32 i = 0; i < item.num_rows; ++i) {
        Number cost[COLUMNS];
        load_row(args, item, mine, i, cost);
#pragma unroll
        for (u32 k = 0; k < COLUMNS; ++k) {
            const bool less = cost[k] < mine.price[k];
            mine.price[k] = less ? cost[k] : mine.price[k];
            row[k] = less ? i : row[k];
        }
    }
#pragma unroll
    for (u32 k = 0; k < COLUMNS; ++k) {
        if (row[k] == NONE) mine.price[k] = 0;
        else if (mine.exists(k)) relaxed_fetch_min(&item.row_mate[row[k]], Item::column(k));
    }
    team_sync();
    bool wins[COLUMNS];
#pragma unroll
    for (u32 k = 0; k < COLUMNS; ++k)
        wins[k] = mine.exists(k) && row[k] != NONE && item.row_mate[row[k]] == Item::column(k);
    team_sync();
#pragma unroll
    for (u32 k = 0; k < COLUMNS; ++k)
        if (wins[k]) mine.match(item, k, row[k], 0);
    item.scans += item.num_rows;
}

// Lists the free rows and returns their number.
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

// Returns the nearest column of all threads of the team.
__device__ __forceinline__ Nearest nearest_of_team(Item& item, Nearest mine) {
    u32 lane = lane_of_least(mine.key);
    if (WARPS > 1) {
        Nearest* const slots = reinterpret_cast<Nearest*>(item.slots) + item.turn * WARPS;
        item.turn ^= 1;
        if (lane_id() == lane) slots[Item::thread() / WARP] = mine;
        __syncthreads();
        mine = slots[lane_id() < WARPS ? lane_id() : 0];
        lane = lane_of_least(lane_id() < WARPS ? mine.key : ~Key{0});
    }
    mine.key = __shfl_sync(ALL_LANES, mine.key, lane);
    mine.place = __shfl_sync(ALL_LANES, mine.place, lane);
    mine.height = __shfl_sync(ALL_LANES, mine.height, lane);
    return mine;
}

// Returns the two columns with the least reduced costs of a row, of all threads of the team.
__device__ TwoCandidates least_two_of_row(const Arguments& args, Item& item, const Columns& mine, u32 row) {
    const Candidate none = {key_of(infinity(), true), place_of(0, NONE)};
    TwoCandidates two = {none, none};
    Number cost[COLUMNS];
    load_row(args, item, mine, row, cost);
#pragma unroll
    for (u32 k = 0; k < COLUMNS; ++k) {
        const Number value = mine.exists(k) ? cost[k] - mine.price[k] : infinity();
        const Candidate one = {key_of(value, mine.is_taken(k)), mine.place[k]};
        const bool best = one.key < two.best.key;
        two.second = best ? two.best : lesser(two.second, one);
        two.best = best ? one : two.best;
    }
    ++item.scans;
    two = two.of_warp();
    if (WARPS == 1) return two;
    TwoCandidates* const slots = item.slots + item.turn * WARPS;
    item.turn ^= 1;
    if (lane_id() == 0) slots[Item::thread() / WARP] = two;
    __syncthreads();
    return (lane_id() < WARPS ? slots[lane_id()] : TwoCandidates{none, none}).of_warp();
}

// One pass of augmenting row reduction: a free row takes its best column, even from another row, and lowers the
// column's price until the second best column is as good. Returns the number of rows that are still free.
__device__ u32 reduce_rows(const Arguments& args, Item& item, Columns& mine, u32 size) {
    const bool is_first = Item::thread() == 0;
    u32 budget = static_cast<u32>(args.reductions_a_row) * item.num_rows;
    u32 left = 0, next = 0, row = NONE;
    while (budget > 0 && (row != NONE || next < size)) {
        --budget;
        if (WARPS == 1) __syncwarp();  // several warps meet at a barrier when they compare their columns
        if (row == NONE) row = item.free_rows[next++];
        const TwoCandidates two = least_two_of_row(args, item, mine, row);
        const Number best = two.best.value(), second = two.second.value();
        const bool lowers = best < second && second < infinity();
        const bool second_instead = row_at(two.best.place) != NONE && best == second;
        const u32 place = second_instead ? two.second.place : two.best.place, other = row_at(place);
        if (!(best < infinity()) || (other != NONE && !lowers)) {
            team_sync();
            if (is_first) item.free_rows[left] = static_cast<u16>(row);
            ++left;
            row = NONE;
            continue;
        }
#pragma unroll
        for (u32 k = 0; k < COLUMNS; ++k) {
            if (mine.place[k] != place) continue;
            if (lowers) mine.price[k] -= second - best;
            mine.match(item, k, row, lowers ? second : best);
            if (other != NONE) item.row_mate[other] = NONE;
        }
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

// Lowers the prices of the columns that a search closed before it ended at distance `here`, and stores the row before
// each column for `augment`.
__device__ void finish(Item& item, Columns& mine, const Number (&distance)[COLUMNS], const u32 (&before)[COLUMNS],
                       Number here) {
    team_sync();
#pragma unroll
    for (u32 k = 0; k < COLUMNS; ++k) {
        if (!mine.exists(k)) continue;
        item.before[Item::column(k)] = static_cast<u16>(before[k]);
        if (!is_closed(distance[k])) continue;
        const Number fall = here - reopened(distance[k]);
        mine.price[k] -= fall;
        item.mate_price[Item::column(k)] = mine.mate_price[k] + fall;
    }
    team_sync();
}

// Exchanges matched and unmatched pairs along the path that ends at `column`.
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

// Returns the distance, or 0 where rounding has made it negative.
__device__ __forceinline__ Number not_negative(Number distance) {
    if (!FLOATS) return distance;
    const u64 bits = same_bits<u64>(static_cast<double>(distance));
    const u64 high = static_cast<u64>(max(static_cast<int>(bits >> 32), 0)) << 32;
    return static_cast<Number>(same_bits<double>(high | (bits & 0xffffffffull)));
}

// Matches the free row `root` by a shortest augmenting path (Dijkstra on reduced costs).
__device__ Ending search(const Arguments& args, Item& item, Columns& mine, u32 root) {
    Number distance[COLUMNS], cost[COLUMNS];
    u32 before[COLUMNS];
    mine.refresh(item);
    load_row(args, item, mine, root, cost);
#pragma unroll
    for (u32 k = 0; k < COLUMNS; ++k) {
        distance[k] = mine.exists(k) ? cost[k] - mine.price[k] : closed(0);
        before[k] = root;
    }
    ++item.searches;
    for (u32 step = 0; step <= item.num_columns; ++step) {
        Nearest nearest[COLUMNS];
#pragma unroll
        for (u32 k = 0; k < COLUMNS; ++k)
            nearest[k] = {key_of(distance[k], mine.is_taken(k)), mine.place[k], distance[k] - mine.mate_price[k]};
#pragma unroll
        for (u32 apart = 1; apart < COLUMNS; apart *= 2)
#pragma unroll
            for (u32 k = 0; k + apart < COLUMNS; k += 2 * apart) {
                const Nearest& other = nearest[k + apart];
                const bool less = other.key < nearest[k].key;
                nearest[k] = {less ? other.key : nearest[k].key, less ? other.place : nearest[k].place,
                              less ? other.height : nearest[k].height};
            }
        const Nearest least = nearest_of_team(item, nearest[0]);
        ++item.scans;
        if (least.key >= key_of(infinity(), false)) return INFEASIBLE;
        const u32 row = row_at(least.place);
        if (row == NONE) {
            const Number here = number_of(least.key);
            finish(item, mine, distance, before, here);
            if (Item::thread() == 0) augment(item, root, here, column_at(least.place));
            team_sync();
            return SOLVED;
        }
        load_row(args, item, mine, row, cost);
#pragma unroll
        for (u32 k = 0; k < COLUMNS; ++k)
            distance[k] = mine.place[k] == least.place ? closed(distance[k]) : distance[k];
#pragma unroll
        for (u32 k = 0; k < COLUMNS; ++k) {
            const Number through = not_negative(cost[k] - mine.price[k] + least.height);
            const bool less = through < distance[k];
            distance[k] = less ? through : distance[k];
            before[k] = less ? row : before[k];
        }
    }
    return GAVE_UP;
}

// The team reads the stop flag once in this many searches.
constexpr u32 SEARCHES_A_LOOK = 8;

// Whether the solve is to stop; all threads of the team get the same answer.
__device__ bool is_to_stop(const Arguments& args, const Item& item) {
    if (Item::thread() == 0 && sees_stop(args.stop, *item.next_look)) *item.is_over = 1;
    team_sync();
    return *item.is_over != 0;
}

__device__ Ending solve(const Arguments& args, Item& item, Columns& mine) {
    const bool square = item.num_rows == item.num_columns;
#pragma unroll
    for (u32 k = 0; k < COLUMNS; ++k) {
        const u32 j = Item::column(k);
        mine.loaded[k] = min(j, item.num_columns - 1);
        if (VECTOR > 1 && item.column_stride == 1)
            mine.loaded[k] = min(j - k % VECTOR, item.row_stride - VECTOR) + k % VECTOR;
        mine.place[k] = place_of(j, NONE);
        mine.mate_price[k] = 0;
        mine.price[k] = FLOATS ? static_cast<Number>(same_bits<Sum>(args.base)) : 0;
        if (j < item.num_columns) mine.there |= 1u << k, item.mate[j] = NONE, item.mate_price[j] = 0;
        if (j < item.num_rows) item.row_mate[j] = NONE;
    }
    if (STORED) store_costs(args, item);
    team_sync();
    if (square && args.column_reduction) reduce_columns(args, item, mine);
    team_sync();
    u32 size = list_free_rows(item);
    for (u32 pass = 0; pass < 2 && size > 0; ++pass) size = reduce_rows(args, item, mine, size);
    for (u32 k = 0; k < size; ++k) {
        if (k % SEARCHES_A_LOOK == SEARCHES_A_LOOK - 1 && is_to_stop(args, item)) return STOPPED;
        const Ending ending = search(args, item, mine, item.free_rows[k]);
        if (ending != SOLVED) return ending;
    }
    return SOLVED;
}

// Writes the pairs of an item by ascending rows of the caller. Those are the smaller side unless `transposed`.
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

// Joins a value of each thread of the team.
template <class T, class Join>
__device__ T of_team(const Item& item, T value, Join join) {
    return WARPS == 1 ? joined<WARP>(value, join) : of_block(value, reinterpret_cast<T*>(item.slots), join);
}

__device__ __forceinline__ Sum absolute(Sum value) { return value < 0 ? -value : value; }

// Writes the solution of an item, and counts it if a price of floats is large beside the costs of the pairs.
__device__ void write(const Arguments& args, Item& item, const Columns& mine, u64 which, bool transposed) {
    if (Item::thread() < WARP) write_pairs(args, item, which, transposed);
    Sum* const row_price = args.row_price + which * args.num_rows;
    Sum* const column_price = args.column_price + which * args.num_columns;
    Sum* const of_row = transposed ? column_price : row_price;
    Sum* const of_column = transposed ? row_price : column_price;
    const Sum base = same_bits<Sum>(args.base), added = FLOATS ? Sum{0} : base;
    // Prices of floats are shifted so that columns left over have the price 0.
    const Sum shift = FLOATS && item.num_rows < item.num_columns ? base : Sum{0};
    Sum total = 0, size = 0, largest = 0;  // of costs, of their absolute values; of absolute prices
#pragma unroll
    for (u32 k = 0; k < COLUMNS; ++k) {
        if (!(mine.there >> k & 1)) continue;
        const u32 j = Item::column(k), i = item.mate[j];
        const Sum price = static_cast<Sum>(mine.price[k]) - shift;
        of_column[j] = args.maximize ? -price : price;
        if (FLOATS) largest = max(largest, absolute(price));
        if (i == NONE) continue;
        const Sum cost = static_cast<Sum>(cost_of(args, item, i, j));
        of_row[i] = args.maximize ? added - (cost - price) : added + (cost - price);
        total += args.maximize ? added - cost : added + cost;
        if (FLOATS) size += absolute(cost), largest = max(largest, absolute(cost - price));
    }
    const u32 rows = transposed ? item.num_columns : item.num_rows;
    const u32 columns = transposed ? item.num_rows : item.num_columns;
    for (u32 r = rows + Item::thread(); r < args.num_rows; r += TEAM_THREADS) row_price[r] = 0;
    for (u32 c = columns + Item::thread(); c < args.num_columns; c += TEAM_THREADS) column_price[c] = 0;
    const auto sum = [](Sum a, Sum b) { return a + b; };
    total = of_team(item, total, sum);
    if (Item::thread() == 0) args.total[which] = total;
    if (!FLOATS) return;
    size = of_team(item, size, sum);
    largest = of_team(item, largest, [](Sum a, Sum b) { return a < b ? b : a; });
    if (Item::thread() == 0 && largest > static_cast<Sum>(LARGE) * size)
        relaxed_fetch_add(&args.counts[which % COUNT_ROWS * COUNTS + NUM_LARGE], u64{1});
}

KERNEL(solve_stack, Arguments) {
    Item item(args);
    team_sync();
    const u64 num_teams = gridDim.x * TEAMS;
    for (u64 which = blockIdx.x * TEAMS + threadIdx.x / TEAM_THREADS; which < args.num_items; which += num_teams) {
        u32 rows = static_cast<u32>(args.num_rows), columns = static_cast<u32>(args.num_columns);
        if (args.has_sizes) rows = args.sizes[2 * which], columns = args.sizes[2 * which + 1];
        const bool transposed = rows > columns;
        item.far = args.costs + which * args.num_rows * args.num_columns;
        item.num_rows = transposed ? columns : rows;
        item.num_columns = transposed ? rows : columns;
        const bool along = transposed == (args.swapped != 0);
        const u32 line = static_cast<u32>(args.swapped ? args.num_rows : args.num_columns);
        item.row_stride = along ? line : 1;
        item.column_stride = along ? 1 : line;
        item.searches = item.scans = 0;
        Columns mine;
        const Ending ending = *item.is_over ? STOPPED : solve(args, item, mine);
        team_sync();
        if (ending == SOLVED) write(args, item, mine, which, transposed);
        if (Item::thread() == 0) {
            args.ending[which] = ending;
            u64* const counts = args.counts + which % COUNT_ROWS * COUNTS;
            if (ending == INFEASIBLE) relaxed_fetch_add(&counts[NUM_INFEASIBLE], u64{1});
            if (ending == GAVE_UP) relaxed_fetch_add(&counts[NUM_GAVE_UP], u64{1});
            relaxed_fetch_add(&counts[NUM_SEARCHES], static_cast<u64>(item.searches));
            relaxed_fetch_add(&counts[NUM_SCANS], static_cast<u64>(item.scans) * item.num_columns);
        }
        team_sync();
    }
}
