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

// Vertices of a level that one block keeps in shared memory; the rest it reads back.
constexpr u32 SHARED_LEVEL = 2048;

// Where a search lists the vertices that it reaches.
struct NextLevel {
    ArcRange* ranges;
    ArcRange* kept;  // and, unless null, the first SHARED_LEVEL of them in shared memory
    u32* size;
    u32* active;     // how many of them have excess
};

// Gives `next_height` to whatever was not reached before and has a residual arc into one of `size` vertices, whose
// arcs `range_at(i)` returns.
//
// A warp takes neighbouring vertices and shares out their arcs among its lanes, whatever the degrees. A level takes
// as long as its longest chain of loads: so what a vertex may need is loaded before it is known to be. ALONE is one
// block, which will read the arcs of what it reaches itself.
template <bool ALONE, class Team, class RangeAt>
__device__ void expand_level(const Team& team, const Network& net, u32* height, u32 size, u32 next_height,
                             RangeAt range_at, const NextLevel& next) {
    const u32 lane = lane_id();
    const u32 num_warps = team.num_warps();
    const u32 share = size <= num_warps ? 1 : min(WARP, (size + num_warps - 1) / num_warps);
    for (u32 base = team.warp() * share; base < size; base += num_warps * share) {
        ArcRange range{0, 0};
        if (lane < share && base + lane < size) range = range_at(base + lane);
        u32 until = range.last - range.first;  // arcs of this lane's vertex and those before it
#pragma unroll
        for (u32 distance = 1; distance < WARP; distance *= 2) {
            const u32 other = __shfl_up_sync(ALL_LANES, until, distance);
            if (lane >= distance) until += other;
        }
        const u32 total = __shfl_sync(ALL_LANES, until, WARP - 1);
        for (u32 k = lane; k - lane < total; k += WARP) {
            u32 owner = 0;  // the lane whose vertex has the k-th arc
#pragma unroll
            for (u32 distance = WARP / 2; distance > 0; distance /= 2)
                if (__shfl_sync(ALL_LANES, until, owner + distance - 1) <= k) owner += distance;
            const u32 last = __shfl_sync(ALL_LANES, range.last, owner);
            const u32 after = __shfl_sync(ALL_LANES, until, owner) - k;
            bool found = false;
            ArcRange found_range{0, 0};
            i64 excess = 0;
            if (k < total) {
                const ArcEnds ends = load_ends(net.arcs, last - after);
                const u32 w = ends.head;
                const i64 capacity = relaxed_load(&net.arcs[ends.reverse].residual);
                if (relaxed_load(&height[w]) == UNREACHED && capacity > 0) {
                    found_range = {net.first_out[w], net.first_out[w + 1]};
                    excess = relaxed_load(&net.excess[w]);
                    found = relaxed_compare_exchange(&height[w], UNREACHED, next_height) == UNREACHED;
                }
            }
            if (found) {
                prefetch<ALONE>(&net.arcs[found_range.first]);
                if (excess > 0) relaxed_fetch_add(next.active, 1u);
            }
            const u32 place = new_place(next.size, found);
            if (found) {
                if (ALONE && place < SHARED_LEVEL) next.kept[place] = found_range;
                store_range(&next.ranges[place], found_range);
            }
        }
    }
}
