// Kernels of adjacency.py: count edges by key, and write each edge to the range of its key.
#include "adjacency.cuh"
#include "atomics.cuh"

#include "adjacency.py: CountArguments, GroupArguments, TransposeArguments"

KERNEL(count_keys, CountArguments) {
    for (u64 e = grid_thread(); e < args.num_edges; e += grid_threads())
        relaxed_fetch_add(&args.count[args.key[e] + 1ull], 1u);
}

KERNEL(group_edges, GroupArguments) {
    for (u64 e = grid_thread(); e < args.num_edges; e += grid_threads())
        args.grouped[relaxed_fetch_add(&args.next[args.key[e]], 1u)] = args.value[e];
}

KERNEL(group_transposed, TransposeArguments) {
    visit_edges(args.first, args.num_lines, args.num_edges, [&](u64 line, u64 e) {
        args.grouped[relaxed_fetch_add(&args.next[args.neighbour[e]], 1u)] = static_cast<u32>(line);
    });
}
