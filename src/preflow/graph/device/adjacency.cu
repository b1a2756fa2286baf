// Kernels of adjacency.py: count edges by key, and write each edge to the range of its key.
#include "adjacency.cuh"
#include "atomics.cuh"

struct CountArguments {
    const u32* key;
    u64 num_edges;
    u32* count;    // of each key, after one that stays zero
};

KERNEL(count_keys, CountArguments) {
    for (u64 e = grid_thread(); e < args.num_edges; e += grid_threads())
        relaxed_fetch_add(&args.count[args.key[e] + 1ull], 1u);
}

struct GroupArguments {
    const u32* key;
    const u32* value;
    u64 num_edges;
    u32* next;     // on entry the beginning of each key's range
    u32* grouped;
};

KERNEL(group_edges, GroupArguments) {
    for (u64 e = grid_thread(); e < args.num_edges; e += grid_threads())
        args.grouped[relaxed_fetch_add(&args.next[args.key[e]], 1u)] = args.value[e];
}

struct TransposeArguments {
    const u32* first;
    const u32* neighbour;
    u64 num_lines;
    u64 num_edges;
    u32* next;     // on entry the beginnings of the lines of the transpose
    u32* grouped;
};

KERNEL(group_transposed, TransposeArguments) {
    visit_edges(args.first, args.num_lines, args.num_edges, [&](u64 line, u64 e) {
        args.grouped[relaxed_fetch_add(&args.next[args.neighbour[e]], 1u)] = static_cast<u32>(line);
    });
}
