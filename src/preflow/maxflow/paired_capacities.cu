// The kernels of paired_capacities.py.
#define PAIRED 1
#include "residual.cuh"

struct CapacitiesArguments {
    Network net;
    u64 num_arcs;
};

// Gives every arc its reverse arc's capacity beside its own.
KERNEL(pair_capacities, CapacitiesArguments) {
    for (u64 a = grid_thread(); a < args.num_arcs; a += grid_threads()) {
        Arc* const arcs = args.net.arcs;
        const Arc arc = arcs[a];
        if (arc.reverse < a) continue;
        const i64 other = arcs[arc.reverse].residual;
        arcs[arc.reverse].residual = pair_of(other, arc.residual);
        arcs[a].residual = pair_of(arc.residual, other);
    }
}

// Leaves every arc its own capacity.
KERNEL(part_capacities, CapacitiesArguments) {
    for (u64 a = grid_thread(); a < args.num_arcs; a += grid_threads())
        args.net.arcs[a].residual = own_capacity(args.net.arcs[a].residual);
}
