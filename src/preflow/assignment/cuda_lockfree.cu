// The kernels of cuda_lockfree.py: pushes and relabels without locks, one thread per vertex, and arc fixing.
#include "lanes.cuh"
#include "stop.cuh"

// As vertices, rows are numbered before columns.
#include "cuda_lockfree.py: DeviceArcs, DeviceFlow, Arguments, Count, COUNTS"

// Added to `filled` when the solve is to stop: a bit above all numbers of columns.
constexpr u32 STOPPED = 1u << 31;
// The unit is at its row.
constexpr u64 NOWHERE = ~0ull;
constexpr i64 NONE_LESS = 0x7fffffffffffffffll;
// Loads of prices or of unit positions that are started together, since each takes hundreds of cycles.
constexpr u32 TOGETHER = 8;

// If row `x` has its unit: pushes it along the arc of the least partially reduced cost, after a relabel if that arc is
// not admissible. The new price is stored before the unit, and the unit before the excess counts it.
__device__ void step_row(const Arguments& args, u32 x, u64 (&counts)[COUNTS]) {
    const DeviceFlow& flow = args.flow;
    if (acquire_load(&flow.at[x]) != NOWHERE) return;
    const u32 first = args.arcs.first[x], last = first + args.arcs.size[x];
    i64 least = NONE_LESS;
    u32 best = last;
    for (u32 begin = first; begin < last; begin += TOGETHER) {
        i64 partial[TOGETHER];
#pragma unroll
        for (u32 k = 0; k < TOGETHER; ++k) {
            const u32 a = min(begin + k, last - 1);
            partial[k] = args.arcs.cost[a] - relaxed_load(&flow.column_price[args.arcs.column[a]]);
        }
#pragma unroll
        for (u32 k = 0; k < TOGETHER; ++k) {
            if (partial[k] >= least) continue;
            least = partial[k];
            best = min(begin + k, last - 1);
        }
    }
    counts[ARC_SCANS] += last - first;
    if (least >= -relaxed_load(&flow.row_price[x])) {
        relaxed_store(&flow.row_price[x], -(least + args.epsilon));
        ++counts[RELABELS];
    }
    const u32 y = args.arcs.column[best];
    release_store(&flow.at[x], static_cast<u64>(best) << 32 | y);
    if (fetch_add(&flow.excess[y], static_cast<i64>(1)) < 0) relaxed_fetch_add(args.filled, 1u);
    ++counts[PUSHES];
}

// If column `y` has several units: sends the unit of the least partially reduced cost back, after a relabel if that arc
// is not admissible. The excess is read before the search for units, so the search finds every unit that it counts.
__device__ void step_column(const Arguments& args, u32 y, u64 (&counts)[COUNTS]) {
    const DeviceFlow& flow = args.flow;
    const u32 size = static_cast<u32>(args.size);
    if (acquire_load(&flow.excess[y]) <= 0) return;
    i64 least = NONE_LESS;
    u32 back = size;
    for (u32 begin = 0; begin < size; begin += TOGETHER) {
        u64 word[TOGETHER];
#pragma unroll
        for (u32 k = 0; k < TOGETHER; ++k) word[k] = acquire_load(&flow.at[min(begin + k, size - 1)]);
#pragma unroll
        for (u32 k = 0; k < TOGETHER; ++k) {
            if (static_cast<u32>(word[k]) != y || word[k] == NOWHERE) continue;
            const u32 x = min(begin + k, size - 1);
            const i64 partial = -args.arcs.cost[word[k] >> 32] - relaxed_load(&flow.row_price[x]);
            if (partial >= least) continue;
            least = partial;
            back = x;
        }
    }
    counts[ARC_SCANS] += size;
    if (least >= -relaxed_load(&flow.column_price[y])) {
        relaxed_store(&flow.column_price[y], -(least + args.epsilon));
        ++counts[RELABELS];
    }
    release_store(&flow.at[back], NOWHERE);
    fetch_add(&flow.excess[y], static_cast<i64>(-1));
    ++counts[PUSHES];
}

// Steps of all vertices, until each column has exactly one unit, or `cycles` steps are done, or the first thread sees
// the stop flag. It tells the others through `filled`, which all read.
KERNEL(push_and_relabel, Arguments) {
    const u32 size = static_cast<u32>(args.size);
    u64 counts[COUNTS] = {};
    u64 next_look = 0;
    for (u64 cycle = 0; cycle < args.cycles; ++cycle) {
        if (relaxed_load(args.filled) >= size) break;
        if (grid_thread() == 0 && sees_stop(args.stop, next_look)) relaxed_fetch_or(args.filled, STOPPED);
        for (u32 v = grid_thread(); v < 2 * size; v += grid_threads()) {
            if (v < size)
                step_row(args, v, counts);
            else
                step_column(args, v - size, counts);
        }
#ifdef PREFLOW_ON_CPU
        __nanosleep(20);
#endif
    }
    add_up(args.counts, counts);
}

// Removes all flow, and sets the prices of rows so that their best arcs are just admissible.
KERNEL(start_refine, Arguments) {
    const u32 size = static_cast<u32>(args.size);
    for (u32 x = grid_thread(); x < size; x += grid_threads()) {
        args.flow.at[x] = NOWHERE;
        args.flow.excess[x] = -1;
        i64 least = NONE_LESS;
        for (u32 a = args.arcs.first[x], last = a + args.arcs.size[x]; a < last; ++a)
            least = min(least, args.arcs.cost[a] - args.flow.column_price[args.arcs.column[a]]);
        args.flow.row_price[x] = -(least + args.epsilon);
    }
    if (grid_thread() == 0) *args.filled = 0;
}

// Arc fixing: drops arcs without flow whose reduced cost exceeds the threshold. No optimal flow uses them.
KERNEL(fix_arcs, Arguments) {
    const DeviceArcs& arcs = args.arcs;
    const DeviceFlow& flow = args.flow;
    const u32 size = static_cast<u32>(args.size);
    for (u32 x = grid_thread(); x < size; x += grid_threads()) {
        const u32 own = static_cast<u32>(flow.at[x] >> 32);
        const u32 first = arcs.first[x], last = first + arcs.size[x];
        u32 kept = first;
        for (u32 a = first; a < last; ++a) {
            const u32 y = arcs.column[a];
            const i64 cost = arcs.cost[a];
            if (a != own && cost + flow.row_price[x] - flow.column_price[y] > args.threshold) continue;
            arcs.column[kept] = y;
            arcs.cost[kept] = cost;
            if (a == own) flow.at[x] = static_cast<u64>(kept) << 32 | y;
            ++kept;
        }
        arcs.size[x] = kept - first;
    }
}
