// Level-synchronous breadth-first search backwards from the sink over residual arcs.
#include "grid.cuh"
#include "lanes.cuh"
#include "residual.cuh"
#include "worklist.cuh"

// The height of what a running search has not reached; what cannot reach the sink has n + 1 in the end.
constexpr u32 UNREACHED = 0xffffffffu;

// The residual arcs of a vertex that a search has reached; its number is not needed any more.
struct alignas(8) ArcRange {
    u32 first;
    u32 last;
};

__device__ __forceinline__ ArcRange load_range(const ArcRange* at) {
    const u64 both = relaxed_load(reinterpret_cast<const u64*>(at));
    return {static_cast<u32>(both), static_cast<u32>(both >> 32)};
}

__device__ __forceinline__ void store_range(ArcRange* at, ArcRange range) {
    relaxed_store(reinterpret_cast<u64*>(at), range.first | static_cast<u64>(range.last) << 32);
}

// Gives `next_height` to whatever was not reached before and has a residual arc into one of `size` vertices, whose
// arcs `range_at(i)` returns. `reached` is called with all lanes of a warp at once, for each vertex found with its
// arcs, or with false. What a vertex may need is loaded before it is known to be, since a level takes as long as
// its longest chain of loads.
template <u32 LANES, class Team, class RangeAt, class Reached>
__device__ void expand_level(const Team& team, const Network& net, u32* height, u32 size, u32 next_height,
                             RangeAt range_at, Reached reached) {
    constexpr u32 VERTICES = WARP / LANES;
    const u32 lane = lane_id();
    for (u32 base = team.warp() * VERTICES; base < size; base += team.num_warps() * VERTICES) {
        const u32 i = base + lane / LANES;
        ArcRange range{0, 0};
        if (i < size) range = range_at(i);
        for (u32 a = range.first + lane % LANES; __any_sync(ALL_LANES, a < range.last); a += LANES) {
            bool found = false;
            u32 w = 0;
            ArcRange next{0, 0};
            if (a < range.last) {
                const Arc arc = load_arc(net.arcs, a);
                w = arc.head;
                const i64 capacity = relaxed_load(&net.arcs[arc.reverse].residual);
                if (relaxed_load(&height[w]) == UNREACHED && capacity > 0) {
                    next = {net.first_out[w], net.first_out[w + 1]};
                    found = relaxed_compare_exchange(&height[w], UNREACHED, next_height) == UNREACHED;
                }
            }
            reached(found, w, next);
        }
    }
}
