// Level-synchronous breadth-first search backwards from the sink over residual arcs.
#include "grid.cuh"
#include "lanes.cuh"
#include "residual.cuh"
#include "worklist.cuh"

// The height of what a running search has not reached; what cannot reach the sink has n + 1 in the end.
constexpr u32 UNREACHED = 0xffffffffu;

// Residual arcs of a vertex that a search has reached; its number is not needed any more.
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

// The arcs of a vertex are listed in pieces of so many, which different warps may look at.
constexpr u32 ARCS_A_PIECE = 256;

// Lists the arcs of a vertex for every lane with `has`: `store` is called with each place in the list and what to put
// there. All lanes of the warp call it together.
template <class Store>
__device__ void append_arcs(u32* size, bool has, ArcRange range, Store store) {
    const u32 place = new_place(size, has);
    const u32 more = has && range.last - range.first > ARCS_A_PIECE ? (range.last - range.first - 1) / ARCS_A_PIECE : 0;
    if (has) store(place, ArcRange{range.first, min(range.last, range.first + ARCS_A_PIECE)});
    for (u32 lanes = __ballot_sync(ALL_LANES, more > 0); lanes != 0; lanes &= lanes - 1) {
        const u32 lane = __ffs(lanes) - 1;
        const u32 first = __shfl_sync(ALL_LANES, range.first, lane), last = __shfl_sync(ALL_LANES, range.last, lane);
        const u32 pieces = __shfl_sync(ALL_LANES, more, lane);
        u32 begin = 0;
        if (lane_id() == 0) begin = relaxed_fetch_add(size, pieces);
        begin = __shfl_sync(ALL_LANES, begin, 0);
        for (u32 k = lane_id(); k < pieces; k += WARP) {
            const u32 at = first + (k + 1) * ARCS_A_PIECE;
            store(begin + k, ArcRange{at, min(last, at + ARCS_A_PIECE)});
        }
    }
}

// What one block has reached of the next level, in shared memory: the first CAPACITY entries. What comes after goes to
// device memory at once.
struct BlockList {
    static constexpr u32 CAPACITY = 2048;

    ArcRange* ranges;
    u32* size;    // of all that it has reached
    u32* active;  // how many of them have excess
    u32* base;    // where they go in device memory

    // One of two lists in shared memory.
    __device__ BlockList(ArcRange* ranges, u32* counters, u32 which)
        : ranges(ranges + which * CAPACITY), size(&counters[2 * which]), active(&counters[2 * which + 1]), base(&counters[4]) {}

    __device__ void clear() const { *size = *active = 0; }

    __device__ u32 num_kept() const { return min(*size, CAPACITY); }

    // Takes what the lanes of a warp have found; `overflow(place)` says where the vertices past CAPACITY go.
    template <class Overflow>
    __device__ void add(bool found, ArcRange range, i64 excess, Overflow overflow) const {
        if (found && excess > 0) relaxed_fetch_add(active, 1u);
        append_arcs(size, found, range, [&](u32 place, ArcRange piece) {
            if (place < CAPACITY)
                ranges[place] = piece;
            else
                store_range(overflow(place), piece);
        });
    }
};

// Gives `next_height` to whatever was not reached before and has a residual arc into a vertex of a level; `range_at(i)`
// returns the `size` pieces of its vertices' arcs. `reached` is called with all lanes of a warp at once: whether the
// lane found a vertex, which, its arcs and its excess.
//
// A level takes as long as its longest chain of loads: so what a vertex may need is loaded before it is known to be,
// and a lane looks at two arcs at a time. ALONE is one block, which will read the arcs of what it reaches itself.
template <u32 LANES, bool ALONE, class Team, class RangeAt, class Reached>
__device__ void expand_level(const Team& team, const Network& net, u32* height, u32 size, u32 next_height,
                             RangeAt range_at, Reached reached) {
    constexpr u32 VERTICES = WARP / LANES;
    constexpr u32 AT_A_TIME = 2;
    const u32 lane = lane_id();
    for (u32 begin = team.warp() * VERTICES; begin < size; begin += team.num_warps() * VERTICES) {
        const u32 i = begin + lane / LANES;
        ArcRange range{0, 0};
        if (i < size) range = range_at(i);
        for (u32 a = range.first + lane % LANES; __any_sync(ALL_LANES, a < range.last); a += AT_A_TIME * LANES) {
            ArcEnds ends[AT_A_TIME];
            i64 capacity[AT_A_TIME], excess[AT_A_TIME];
            u32 h[AT_A_TIME];
            ArcRange next[AT_A_TIME];
            bool found[AT_A_TIME];
#pragma unroll
            for (u32 k = 0; k < AT_A_TIME; ++k) {
                found[k] = a + k * LANES < range.last;
                if (found[k]) ends[k] = load_ends(net.arcs, a + k * LANES);
            }
#pragma unroll
            for (u32 k = 0; k < AT_A_TIME; ++k)
                if (found[k]) {
                    capacity[k] = relaxed_load(&net.arcs[ends[k].reverse].residual);
                    h[k] = relaxed_load(&height[ends[k].head]);
                }
#pragma unroll
            for (u32 k = 0; k < AT_A_TIME; ++k) {
                found[k] = found[k] && h[k] == UNREACHED && capacity[k] > 0;
                if (found[k]) {
                    const u32 w = ends[k].head;
                    next[k] = {net.first_out[w], net.first_out[w + 1]};
                    excess[k] = relaxed_load(&net.excess[w]);
                    h[k] = relaxed_compare_exchange(&height[w], UNREACHED, next_height);
                }
            }
#pragma unroll
            for (u32 k = 0; k < AT_A_TIME; ++k) {
                found[k] = found[k] && h[k] == UNREACHED;
                if (found[k]) prefetch<ALONE>(&net.arcs[next[k].first]);
                reached(found[k], ends[k].head, next[k], excess[k]);
            }
        }
    }
}
