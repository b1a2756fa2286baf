// The kernel of cuda_lockfree.py: pushes and relabels without locks, one thread per pixel.
#include "direction_major.cuh"
#include "lanes.cuh"
#include "stop.cuh"

#include "cuda_lockfree.py: Count, COUNTS, StepArguments"

// Pushes once, to the lowest neighbour, or relabels, if `p` is active.
//
// Memory order. A sender adds to the residual capacity of the arc back before it adds to the receiver's excess, and a
// thread reads excess (acquire) before residual capacities. So a thread that sees the excess sees every arc that the
// excess may take, including one that a push opened after the receiver was lifted. The first test of the excess is the
// last one for most pixels and needs no order. The receiver's excess is increased before the sender's is decreased, so
// the sum of all excess is never too small.
__device__ void step(const StepArguments& args, u32 p, u64 (&counts)[COUNTS]) {
    const DeviceGrid& grid = args.grid;
    const u32 n = grid.size();
    if (grid.terminal_at(p) <= 0) return;
    const i64 excess = terminal_of(acquire_load(&grid.terminal[p]));
    const u32 h = relaxed_load(&args.height[p]);
    if (h > n) return;
    u32 low = n, lowest = DIRECTIONS;
    i64 capacity = 0;
#pragma unroll
    for (u32 d = 0; d < DIRECTIONS; ++d) {
        const i64 residual = grid.residual_of(p, d);
        if (residual <= 0) continue;
        const u32 height = relaxed_load(&args.height[grid.neighbor(p, d)]);
        if (height >= low) continue;
        low = height;
        lowest = d;
        capacity = residual;
    }
    counts[ARC_SCANS] += DIRECTIONS;
    if (low >= h) {
        relaxed_store(&args.height[p], low + 1);
        ++counts[RELABELS];
        return;
    }
    const i64 amount = min(excess, capacity);
    const u32 q = grid.neighbor(p, lowest);
    relaxed_fetch_add(grid.arc(q, lowest ^ 1), static_cast<CapacityWord>(amount));
    relaxed_fetch_add(grid.arc(p, lowest), static_cast<CapacityWord>(-amount));
    fetch_add(&grid.terminal[q], static_cast<TerminalWord>(amount));
    relaxed_fetch_add(&grid.terminal[p], static_cast<TerminalWord>(-amount));
    ++counts[PUSHES];
}

KERNEL(take_steps, StepArguments) {
    const u32 n = args.grid.size();
    u64 counts[COUNTS] = {};
    for (u64 cycle = 0; cycle < args.cycles && !args.watch->sees(args.stop, cycle); ++cycle)
        for (u32 p = grid_thread(); p < n; p += grid_threads()) step(args, p, counts);
    add_up(args.counts, counts);
}
