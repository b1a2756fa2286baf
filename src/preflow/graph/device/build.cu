// Kernels of build.py, in the order in which they run.
#include "input_arcs.cuh"

#include "build.py: NO_PAIR, Finding, KeysArguments, PairsArguments, SortedPairsArguments"
#include "build.py: FindArguments, FillArguments, CheckArguments, SwapArguments"

constexpr u64 MOST = ~0ull >> 1;

// Write the smaller and the larger end of every input arc between two different inner vertices as one number.
KERNEL(pair_keys, KeysArguments) {
    for (u64 i = grid_thread(); i < args.input.num_arcs; i += grid_threads()) {
        const Ends ends = args.input.ends(i);
        const u64 low = min(ends.tail, ends.head), high = max(ends.tail, ends.head);
        args.key[i] = args.input.is_inside(ends) ? low << 32 | high : NO_PAIR;
    }
}

KERNEL(count_degrees, PairsArguments) {
    for (u64 p = grid_thread(); p < args.num_pairs; p += grid_threads()) {
        relaxed_fetch_add(&args.degree[args.key[p] >> 32], 1u);
        relaxed_fetch_add(&args.degree[static_cast<u32>(args.key[p])], 1u);
    }
}

// Gives each pair its two residual arcs, without capacity; counts the degrees down.
KERNEL(place_pairs, PairsArguments) {
    for (u64 p = grid_thread(); p < args.num_pairs; p += grid_threads()) {
        const u32 low = static_cast<u32>(args.key[p] >> 32), high = static_cast<u32>(args.key[p]);
        const u32 forward = args.first_out[low] + relaxed_fetch_add(&args.degree[low], ~0u) - 1;
        const u32 backward = args.first_out[high] + relaxed_fetch_add(&args.degree[high], ~0u) - 1;
        args.arcs[forward] = {high, backward, 0};
        args.arcs[backward] = {low, forward, 0};
        args.arc_of_pair[p] = forward;
    }
}

// The same with the arcs of a vertex sorted by head: first those to smaller vertices, then those to larger ones.
KERNEL(place_pairs_in_order, SortedPairsArguments) {
    for (u64 i = grid_thread(); i < args.num_pairs; i += grid_threads()) {
        const u32 p = args.order[i];
        const u32 low = static_cast<u32>(args.key[p] >> 32), high = static_cast<u32>(args.key[p]);
        // The number of pairs before this one with a smaller first end is the number of arcs before low's.
        const u32 forward = args.lower_start[low + 1] + p;
        const u32 backward = args.first_out[high] + static_cast<u32>(i) - args.lower_start[high];
        args.arcs[forward] = {high, backward, 0};
        args.arcs[backward] = {low, forward, 0};
        args.arc_of_pair[p] = forward;
    }
}

KERNEL(find_arcs, FindArguments) {
    for (u64 i = grid_thread(); i < args.input.num_arcs; i += grid_threads()) {
        const Ends ends = args.input.ends(i);
        if (!args.input.is_inside(ends)) continue;
        const u32 upward = args.arc_of_pair[args.arc[i]];
        args.arc[i] = ends.tail < ends.head ? upward : args.arcs[upward].reverse;
    }
}

// Adds to a sum and returns whether it was not negative before. Amounts are not negative, so the first addition past
// int64 sees a sum that is not negative, and overflow is never missed.
__device__ bool add_capacity(i64* sum, i64 amount, u64* overflow) {
    const u64 before = static_cast<u64>(relaxed_fetch_add(sum, amount));
    if (before + static_cast<u64>(amount) > MOST) relaxed_store(overflow, 1ull);
    return before > 0;
}

KERNEL(fill_residual, FillArguments) {
    const u32 source = static_cast<u32>(args.input.num_inner), sink = source + 1;
    bool shared = false;
    u64 direct_low = 0, direct_high = 0;
    for (u64 i = grid_thread(); i < args.input.num_arcs; i += grid_threads()) {
        const i64 amount = args.amount[i];
        if (amount == 0) continue;
        const Ends ends = args.input.ends(i, args.backward);
        if (args.input.is_inside(ends)) {
            const u32 a = args.backward ? args.arcs[args.arc[i]].reverse : args.arc[i];
            shared |= add_capacity(&args.arcs[a].residual, amount, &args.findings[PAIR_OVERFLOW]);
        } else if (ends.tail == source && ends.head < source) {
            shared |= add_capacity(&args.source_capacity[ends.head], amount, &args.findings[TERMINAL_OVERFLOW]);
        } else if (ends.tail < source && ends.head == sink) {
            shared |= add_capacity(&args.sink_capacity[ends.tail], amount, &args.findings[TERMINAL_OVERFLOW]);
        } else if (ends.tail == source && ends.head == sink) {
            direct_low += static_cast<u32>(amount);
            direct_high += static_cast<u64>(amount) >> 32;
        }
    }
    if (shared) relaxed_store(&args.findings[SHARED], 1ull);
    if (direct_low > 0) relaxed_fetch_add(&args.findings[DIRECT_LOW], direct_low);
    if (direct_high > 0) relaxed_fetch_add(&args.findings[DIRECT_HIGH], direct_high);
}

KERNEL(check_pairs, CheckArguments) {
    for (u64 a = grid_thread(); a < args.num_arcs; a += grid_threads()) {
        const Arc arc = args.arcs[a];
        const u64 both = static_cast<u64>(arc.residual) + static_cast<u64>(args.arcs[arc.reverse].residual);
        if (both > MOST) relaxed_store(&args.findings[PAIR_OVERFLOW], 1ull);
    }
}

// Reverses the residual network: arcs out of a vertex become arcs into it.
KERNEL(swap_directions, SwapArguments) {
    for (u64 a = grid_thread(); a < args.num_arcs; a += grid_threads()) {
        const u32 reverse = args.arcs[a].reverse;
        if (a > reverse) continue;
        const i64 residual = args.arcs[a].residual;
        args.arcs[a].residual = args.arcs[reverse].residual;
        args.arcs[reverse].residual = residual;
    }
}
