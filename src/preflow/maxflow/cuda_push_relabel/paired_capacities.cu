// The kernels of paired_capacities.py.
#define PAIRED 1
#include "residual.cuh"

#include "paired_capacities.py: CapacitiesArguments"

// Stores with every arc's capacity that of its reverse arc.
KERNEL(pair_capacities, CapacitiesArguments) {
    for (u64 a = grid_thread(); a < args.num_arcs; a += grid_threads()) {
        const u32 reverse = load_ends(args.net.arcs, static_cast<u32>(a)).reverse;
        if (reverse < a) continue;  // the thread of the reverse arc writes both
        const i64 own = args.net.arcs[a].residual, other = args.net.arcs[reverse].residual;
        args.net.arcs[a].residual = pair_of(own, other);
        args.net.arcs[reverse].residual = pair_of(other, own);
    }
}

// Removes the reverse arc's capacity again.
KERNEL(part_capacities, CapacitiesArguments) {
    for (u64 a = grid_thread(); a < args.num_arcs; a += grid_threads())
        args.net.arcs[a].residual = own_capacity(args.net.arcs[a].residual);
}
