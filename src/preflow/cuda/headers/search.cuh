// Level-synchronous breadth-first search backwards from the sink over residual arcs.
#include "grid.cuh"
#include "lanes.cuh"
#include "residual.cuh"
#include "worklist.cuh"

// The height of what a running search has not reached; what cannot reach the sink has n + 1 in the end.
constexpr u32 UNREACHED = 0xffffffffu;

// Gives `next_height` to whatever was not reached before and has a residual arc into one of `size` vertices;
// `vertex_at(i)` returns them. `reached` is called with all lanes of a warp at once, for each vertex found or
// with false. An EAGER search loads residual capacity and height of a neighbour at once, which shortens the chain
// of loads where few vertices leave the memory idle; otherwise it loads less.
template <u32 LANES, bool EAGER, class Team, class VertexAt, class Reached>
__device__ void expand_level(const Team& team, const Network& net, u32* height, u32 size, u32 next_height,
                             VertexAt vertex_at, Reached reached) {
    constexpr u32 VERTICES = WARP / LANES;
    const u32 lane = lane_id();
    for (u32 base = team.warp() * VERTICES; base < size; base += team.num_warps() * VERTICES) {
        const u32 i = base + lane / LANES;
        u32 a = 0, last = 0;
        if (i < size) {
            const u32 v = vertex_at(i);
            a = net.first_out[v] + lane % LANES;
            last = net.first_out[v + 1];
        }
        while (__any_sync(ALL_LANES, a < last)) {
            bool found = false;
            u32 w = 0;
            if (a < last) {
                const Arc arc = load_arc(net.arcs, a);
                w = arc.head;
                const i64* const back = &net.arcs[arc.reverse].residual;
                i64 capacity = EAGER ? relaxed_load(back) : 0;
                if (relaxed_load(&height[w]) == UNREACHED) {
                    if (!EAGER) capacity = relaxed_load(back);
                    found = capacity > 0 && relaxed_compare_exchange(&height[w], UNREACHED, next_height) == UNREACHED;
                }
            }
            reached(found, w);
            a += LANES;
        }
    }
}
