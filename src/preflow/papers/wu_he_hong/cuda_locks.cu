// The kernel of cuda_locks.py: pushes and relabels under locks of vertices, one thread a vertex.
#include "residual.cuh"
#include "lanes.cuh"
#include "stop.cuh"

#include "cuda_locks.py: Count, COUNTS, LockArguments"

// Takes the lock of `v` in a bounded number of tries. The second load sees what the thread wrote that gave it back:
// the compare-and-swap between them continues what that thread released.
__device__ bool take(const LockArguments& args, u32 v, u64 (&counts)[COUNTS]) {
    for (u64 k = 0; k < args.tries; ++k) {
        if (relaxed_load(&args.locks[v]) == 0 && relaxed_compare_exchange(&args.locks[v], 0u, 1u) == 0) {
            acquire_load(&args.locks[v]);
            return true;
        }
        ++counts[WAITS];
    }
    return false;
}

__device__ void give_back(const LockArguments& args, u32 v) { release_store(&args.locks[v], 0u); }

// An arc to a lower vertex, or the last one; `low` is the least height of a neighbour that was seen.
__device__ u32 lower_arc(const LockArguments& args, u32 v, u32 h, u32& low, u64 (&counts)[COUNTS]) {
    const u32 first = args.net.first_out[v], last = args.net.first_out[v + 1];
    low = static_cast<u32>(args.net.num_vertices);
    u32 a = first;
    for (; a < last; ++a) {
        const Arc arc = load_arc(args.net.arcs, a);
        if (arc.residual > 0) low = min(low, relaxed_load(&args.height[arc.head]));
        if (low < h) break;
    }
    counts[ARC_SCANS] += min(a + 1, last) - first;
    return a;
}

// Pushes or relabels with the locks of `v` and of the head of arc `a`, or with that of `v` alone if there is no lower
// neighbour. No other thread changes these excesses, these heights and the capacities of the arcs of `v` now.
__device__ void act(const LockArguments& args, u32 v, u32 a, u64 (&counts)[COUNTS]) {
    const DeviceNetwork& net = args.net;
    i64 excess = relaxed_load(&net.excess[v]);
    const u32 h = relaxed_load(&args.height[v]);
    const i64 capacity = relaxed_load(&net.sink_residual[v]);
    i64 amount = min(excess, capacity);
    if (amount > 0) {
        relaxed_store(&net.sink_residual[v], capacity - amount);
        relaxed_store(&net.excess[v], excess -= amount);
        ++counts[PUSHES];
    }
    if (excess == 0) return;
    if (a == net.first_out[v + 1]) {
        u32 low;
        if (lower_arc(args, v, h, low, counts) != a) return;  // an arc got capacity meanwhile: next time
        relaxed_store(&args.height[v], low + 1);
        ++counts[RELABELS];
        return;
    }
    const Arc arc = load_arc(net.arcs, a);
    amount = min(excess, arc.residual);
    if (amount <= 0 || relaxed_load(&args.height[arc.head]) >= h) return;
    i64* const back = &net.arcs[arc.reverse].residual;
    relaxed_store(&net.arcs[a].residual, arc.residual - amount);
    relaxed_store(back, relaxed_load(back) + amount);
    relaxed_store(&net.excess[v], excess - amount);
    relaxed_store(&net.excess[arc.head], relaxed_load(&net.excess[arc.head]) + amount);
    ++counts[PUSHES];
}

// Chooses what to do without a lock, then does it with one or two, taken in the order of their vertices: so no two
// threads wait for each other. A vertex that does not get its locks waits for the next cycle.
__device__ void step(const LockArguments& args, u32 v, u64 (&counts)[COUNTS]) {
    if (relaxed_load(&args.net.excess[v]) == 0) return;
    const u32 h = relaxed_load(&args.height[v]);
    if (h > args.net.num_vertices) return;
    ++counts[ACTIVE];
    u32 low;
    const u32 a = lower_arc(args, v, h, low, counts);
    const u32 w = a == args.net.first_out[v + 1] ? v : args.net.arcs[a].head;
    const u32 first = min(v, w), second = max(v, w);
    if (!take(args, first, counts)) return;
    if (first == second || take(args, second, counts)) {
        act(args, v, a, counts);
        if (first != second) give_back(args, second);
    }
    give_back(args, first);
}

KERNEL(take_locked_steps, LockArguments) {
    const u32 n = static_cast<u32>(args.net.num_vertices);
    u64 counts[COUNTS] = {};
    for (u64 cycle = 0; cycle < args.cycles && !args.watch->sees(args.stop, cycle); ++cycle) {
        counts[ACTIVE] = 0;
        for (u32 v = grid_thread(); v < n; v += grid_threads()) step(args, v, counts);
    }
    add_up(args.counts, counts);
}
