// The kernels of cuda_lockfree.py and cuda_hybrid.py: pushes and relabels without locks, one thread a vertex, and
// searches, while nothing moves or beside the pushes.
#include "search.cuh"
#include "stop.cuh"

#include "cuda_lockfree.py: Count, COUNTS, StepArguments, Outcome, SearchArguments"

// Pushes once, to the lowest neighbour, or relabels, if `v` is active. Its excess is read before its arcs, and a
// receiver gets the way back before the excess: so who reads the excess knows all arcs that it may take, also those
// that a push opened after he was lifted. The receiver is credited before the sender is debited: excess is never
// out of sight.
__device__ void step(const StepArguments& args, u32 v, u64 (&counts)[COUNTS]) {
    const DeviceNetwork& net = args.net;
    const u32 n = static_cast<u32>(net.num_vertices);
    const i64 excess = acquire_load(&net.excess[v]);
    if (excess <= 0) return;
    const u32 h = relaxed_load(&args.height[v]);
    if (h > n) return;
    ++counts[ACTIVE];
    const i64 capacity_to_sink = relaxed_load(&net.sink_residual[v]);
    i64 amount = min(excess, capacity_to_sink);
    if (amount > 0) {
        relaxed_store(&net.sink_residual[v], capacity_to_sink - amount);
    } else {
        const u32 first = net.first_out[v], last = net.first_out[v + 1];
        u32 low = n, lowest = last;
        Arc arc{0, 0, 0};
        for (u32 a = first; a < last; ++a) {
            const Arc other = load_arc(net.arcs, a);
            if (other.residual <= 0) continue;
            const u32 h_head = relaxed_load(&args.height[other.head]);
            if (h_head >= low) continue;
            low = h_head;
            lowest = a;
            arc = other;
        }
        counts[ARC_SCANS] += last - first;
        if (low >= h) {
            relaxed_fetch_max(&args.height[v], low + 1);
            ++counts[RELABELS];
            return;
        }
        amount = min(excess, arc.residual);
        relaxed_fetch_add(&net.arcs[arc.reverse].residual, amount);
        relaxed_fetch_add(&net.arcs[lowest].residual, -amount);
        fetch_add(&net.excess[arc.head], amount);
    }
    relaxed_fetch_add(&net.excess[v], -amount);
    ++counts[PUSHES];
    counts[PUSHES_BESIDE_SEARCH] += relaxed_load(args.searching);
}

KERNEL(take_steps, StepArguments) {
    const u32 n = static_cast<u32>(args.net.num_vertices);
    u64 counts[COUNTS] = {};
    for (u64 cycle = 0; cycle < args.cycles && !args.watch->sees(args.stop, cycle); ++cycle) {
        counts[ACTIVE] = 0;
        for (u32 v = grid_thread(); v < n; v += grid_threads()) step(args, v, counts);
    }
    add_up(args.counts, counts);
}

// Threads that look at the arcs of one vertex together, and how many each looks at.
constexpr u32 SEARCH_LANES = 8, SEARCH_ARCS = 2;

// Searches backwards from the sink, level by level, at most one for each vertex. `reached` is called with each vertex
// behind the first level and its distance.
template <class Reached>
__device__ void search(const SearchArguments& args, GridTeam& team, Reached reached) {
    const u32 n = static_cast<u32>(args.net.num_vertices);
    const u32* const first_out = args.net.first_out;
    const RotatingSizes sizes{args.counters + 32};
    for (u32 base = team.thread() - lane_id(); base < n; base += team.num_threads()) {
        const u32 v = base + lane_id();
        const bool is_next = v < n && relaxed_load(&args.net.sink_residual[v]) > 0;
        if (v < n) relaxed_store(&args.distance[v], is_next ? 1u : UNREACHED);
        const bool are_next[] = {is_next};
        const ArcRange ranges[] = {is_next ? ArcRange{first_out[v], first_out[v + 1]} : ArcRange{0, 0}};
        append_arcs(sizes.of(1), are_next, ranges, 0,
                    [&](u32 place, u64 piece) { relaxed_store(&args.order[place], piece); });
    }
    team.wait([] {});
    u64* level = args.order;
    u32 size = sizes.read(1);
    for (u32 next_distance = 2; size > 0; ++next_distance) {
        u32* const next_size = sizes.of(next_distance);
        u64* const next = level + size;
        if (team.is_first()) sizes.clear(next_distance + 1);
        expand_level<SEARCH_LANES, SEARCH_ARCS, false, false, false>(
            team, args.net, HeightMarks{args.distance}, size,
            [&](u32 i) { return ReachedArcs<u32>{range_of(relaxed_load(&level[i])), next_distance}; },
            [&](const auto& found, const auto& ends, const auto& ranges, const auto&, const auto&, u32) {
                append_arcs(next_size, found, ranges, 0,
                            [&](u32 place, u64 piece) { relaxed_store(&next[place], piece); });
                for (u32 k = 0; k < SEARCH_ARCS; ++k)
                    if (found[k]) reached(ends[k].head, next_distance);
            });
        team.wait([] {});
        level = next;
        size = sizes.read(next_distance);
    }
}

// Makes the heights exact, and dead where the sink cannot be reached, while nothing moves.
KERNEL(search_at_rest, SearchArguments) {
    const u32 n = static_cast<u32>(args.net.num_vertices);
    GridTeam team(args.counters);
    search(args, team, [](u32, u32) {});
    u64 active_excess = 0;
    for (u32 v = team.thread(); v < n; v += team.num_threads()) {
        if (relaxed_load(&args.height[v]) == UNREACHED)
            relaxed_store(&args.height[v], n + 1);
        else
            active_excess += static_cast<u64>(relaxed_load(&args.net.excess[v]));
    }
    add_up(&args.outcome[ACTIVE_EXCESS], active_excess);
}

// Raises heights to distances in a network that never was, since flow moves behind the search's back: hints.
KERNEL(search_beside, SearchArguments) {
    const u32 n = static_cast<u32>(args.net.num_vertices);
    GridTeam team(args.counters);
    if (team.is_first()) relaxed_store(args.searching, 1u);
    u64 revived = 0;
    search(args, team, [&](u32 w, u32 distance) { revived += relaxed_fetch_max(&args.height[w], distance) > n; });
    for (u32 v = team.thread(); v < n; v += team.num_threads())
        if (relaxed_load(&args.distance[v]) == UNREACHED) relaxed_fetch_max(&args.height[v], n + 1);
    if (team.is_first()) relaxed_store(args.searching, 0u);
    add_up(&args.outcome[REVIVED], revived);
}
