// The persistent kernel of cuda_locally_dominant.py, which has the pseudo-code; initial/locally_dominant.py has definitions and
// invariants. Every parallel loop ends at a barrier of the grid. LANES_A_VERTEX threads read the edges of a vertex
// together.
#ifndef LANES_A_VERTEX
#define LANES_A_VERTEX 8
#endif

#include "lanes.cuh"
#include "loop_state.cuh"
#include "stop.cuh"
#include "worklist.cuh"

// No partner, no choice.
constexpr u32 NONE = 0xffffffffu;
constexpr u32 LANES = LANES_A_VERTEX, GROUPS = WARP / LANES;

#include "cuda_locally_dominant.py: Phase, LocallyDominantState"

struct Arguments {
#include "cuda_locally_dominant.py: Arguments._fields"

    __device__ RotatingSizes sizes() const { return RotatingSizes{loop.counters}; }
    __device__ u32* list(u64 turn) const { return dirty + turn % 2 * num_vertices; }
};

// The number by which edges of equal weight are ordered: that of initial/preference.py.
__device__ __forceinline__ u64 edge_number(u32 u, u32 v) {
    u64 bits = static_cast<u64>(min(u, v)) << 32 | max(u, v);
    bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9ull;
    bits = (bits ^ bits >> 27) * 0x94d049bb133111ebull;
    return bits ^ bits >> 31;
}

// A neighbour, and the place of its edge in the order.
struct Choice {
    u64 weight;
    u64 number;
    u32 vertex;

    __device__ bool comes_before(const Choice& other) const {
        return weight > other.weight || (weight == other.weight && number < other.number);
    }
};

// Lets each dirty vertex point to its free neighbour by the first edge in the order.
__device__ void point(const Arguments& args, GridTeam& team, LocallyDominantState& state, u64& edge_scans) {
    const u32* const list = args.list(state.turns);
    const u32 lane = lane_id() % LANES;
    for (u32 base = team.warp() * GROUPS; base < state.size; base += team.num_warps() * GROUPS) {
        const u32 i = base + lane_id() / LANES;
        const u32 v = i < state.size ? list[i] : NONE;
        Choice best{0, ~0ull, NONE};
        if (v != NONE) {
            const u64 end = args.first[v + 1];
            for (u64 at = args.first[v] + lane; at < end; at += LANES) {
                ++edge_scans;
                const u64 weight = args.weighted ? args.weight[at] : 1;
                if (weight < best.weight) continue;
                const u32 u = args.neighbour[at];
                if (relaxed_load(&args.mate[u]) != NONE) continue;
                const Choice own{weight, edge_number(u, v), u};
                if (own.comes_before(best)) best = own;
            }
        }
#pragma unroll
        for (u32 distance = LANES / 2; distance > 0; distance /= 2) {
            const Choice other{__shfl_xor_sync(ALL_LANES, best.weight, distance),
                               __shfl_xor_sync(ALL_LANES, best.number, distance),
                               __shfl_xor_sync(ALL_LANES, best.vertex, distance)};
            if (other.comes_before(best)) best = other;
        }
        if (v != NONE && lane == 0) relaxed_store(&args.pointer[v], best.vertex);
    }
    team.wait([&] {
        end_round(team, state);
        state.phase = MATCH;
    });
}

// Matches each two vertices that point to each other. Both may be dirty; the thread that is first to exchange the mate
// of the lower one lists them.
__device__ void match(const Arguments& args, GridTeam& team, LocallyDominantState& state) {
    const u32* const list = args.list(state.turns);
    for (u32 base = team.warp() * WARP; base < state.size; base += team.num_warps() * WARP) {
        const u32 i = base + lane_id();
        const u32 v = i < state.size ? list[i] : NONE;
        const u32 u = v == NONE ? NONE : relaxed_load(&args.pointer[v]);
        bool matches = u != NONE && relaxed_load(&args.pointer[u]) == v;
        if (matches) {
            const u32 low = min(u, v), high = max(u, v);
            matches = relaxed_compare_exchange(&args.mate[low], NONE, high) == NONE;
            if (matches) relaxed_store(&args.mate[high], low);
        }
        const bool has[2] = {matches, matches};
        u32 place[2] = {0, 0};
        new_places(args.sizes().of(state.round + 1), has, place);
        if (matches) {
            args.matched[place[0]] = v;
            args.matched[place[1]] = u;
        }
    }
    team.wait([&] {
        state.matched = args.sizes().read(state.round + 1);
        end_round(team, state);
        state.phase = LIST;
    });
}

// Lists the vertices that point to one that was matched with another: they are dirty in the next round.
__device__ void list_dirty(const Arguments& args, GridTeam& team, LocallyDominantState& state, u64& edge_scans) {
    u32* const next = args.list(state.turns + 1);
    u32* const size = args.sizes().of(state.round + 1);
    for (u32 base = team.warp() * GROUPS; base < state.matched; base += team.num_warps() * GROUPS) {
        const u32 i = base + lane_id() / LANES;
        u32 v = NONE, partner = NONE;
        u64 at = 0, end = 0;
        if (i < state.matched) {
            v = args.matched[i];
            partner = relaxed_load(&args.mate[v]);
            at = args.first[v] + lane_id() % LANES;
            end = args.first[v + 1];
        }
        while (__any_sync(ALL_LANES, at < end)) {
            u32 u = NONE;
            if (at < end) {
                ++edge_scans;
                u = args.neighbour[at];
            }
            const bool dirty = u != NONE && u != partner && relaxed_load(&args.pointer[u]) == v;
            const u32 place = new_place(size, dirty);
            if (dirty) next[place] = u;
            at += LANES;
        }
    }
    team.wait([&] {
        state.size = args.sizes().read(state.round + 1);
        end_round(team, state);
        ++state.turns;
        state.phase = state.size > 0 ? POINT : DONE;
    });
}

KERNEL(locally_dominant_slice, Arguments) {
    u64 edge_scans = 0;
    run_loop<LocallyDominantState>(args.loop, DONE, [&](GridTeam& team, LocallyDominantState& state) {
        if (team.is_first()) {
            args.sizes().clear(state.round + 2);
            watch(team, args.loop.stop, state.round, state.next_look);
        }
        if (state.phase == POINT)
            point(args, team, state, edge_scans);
        else if (state.phase == MATCH)
            match(args, team, state);
        else
            list_dirty(args, team, state, edge_scans);
    });
    add_up(args.loop.counts, edge_scans);
}
