// Level-synchronous breadth-first search backwards from the sink over residual arcs.
#include "grid.cuh"
#include "lanes.cuh"
#include "residual.cuh"
#include "worklist.cuh"

// The height of a vertex that a running search has not reached; in the end a vertex that cannot reach the sink has n
// + 1.
constexpr u32 UNREACHED = 0xffffffffu;

// The arcs of a vertex that a search has reached are listed in pieces of up to ARCS_A_PIECE arcs, which different
// warps may expand. The number of the vertex is no longer needed.
constexpr u32 ARCS_A_PIECE = 256;
constexpr u32 COUNT_BITS = 9;

// A piece in a list, with the number of the search that reached it.
__device__ __forceinline__ u64 pack_piece(ArcRange piece, u32 search) {
    return piece.first | static_cast<u64>(piece.last - piece.first | search << COUNT_BITS) << 32;
}
__device__ __forceinline__ ArcRange range_of(u64 piece) {
    const u32 first = static_cast<u32>(piece);
    return {first, first + (static_cast<u32>(piece >> 32) & ((1u << COUNT_BITS) - 1))};
}
__device__ __forceinline__ u32 search_of_piece(u64 piece) { return static_cast<u32>(piece >> (32 + COUNT_BITS)); }

// Whether some vertex may have more arcs than a piece.
#ifndef HAS_LONG_LISTS
#define HAS_LONG_LISTS 1
#endif

// Lists the arcs of up to COUNT vertices of every lane, in pieces: `store` is called with each place in the list and
// the piece. All lanes of the warp call it together.
template <u32 COUNT, class Store>
__device__ void append_arcs(u32* size, const bool (&has)[COUNT], const ArcRange (&ranges)[COUNT], u32 search,
                            Store store) {
    u32 place[COUNT];
    if (!new_places(size, has, place)) return;
#pragma unroll
    for (u32 j = 0; j < COUNT; ++j) {
        const ArcRange range = ranges[j];
        if (has[j]) store(place[j], pack_piece({range.first, min(range.last, range.first + ARCS_A_PIECE)}, search));
        if (!HAS_LONG_LISTS) continue;
        const u32 more =
            has[j] && range.last - range.first > ARCS_A_PIECE ? (range.last - range.first - 1) / ARCS_A_PIECE : 0;
        for (u32 lanes = __ballot_sync(ALL_LANES, more > 0); lanes != 0; lanes &= lanes - 1) {
            const u32 lane = __ffs(lanes) - 1;
            const u32 first = __shfl_sync(ALL_LANES, range.first, lane);
            const u32 last = __shfl_sync(ALL_LANES, range.last, lane);
            const u32 pieces = __shfl_sync(ALL_LANES, more, lane), number = __shfl_sync(ALL_LANES, search, lane);
            u32 begin = 0;
            if (lane_id() == 0) begin = relaxed_fetch_add(size, pieces);
            begin = __shfl_sync(ALL_LANES, begin, 0);
            for (u32 k = lane_id(); k < pieces; k += WARP) {
                const u32 at = first + (k + 1) * ARCS_A_PIECE;
                store(begin + k, pack_piece({at, min(last, at + ARCS_A_PIECE)}, number));
            }
        }
    }
}

// The pieces of the next level that one block has reached: the first CAPACITY of them in shared memory; the others go
// to device memory at once.
#ifndef LIST_CAPACITY
#define LIST_CAPACITY 2048
#endif
struct BlockList {
    static constexpr u32 CAPACITY = LIST_CAPACITY;

    u64* pieces;
    u32* size;  // number of pieces reached, including those in device memory
    u32* base;  // where the pieces go in device memory

    __device__ u32 num_kept() const { return min(*size, CAPACITY); }

    // Adds the vertices that the lanes of a warp have found; `overflow(place)` returns where a piece past CAPACITY
    // goes.
    template <u32 COUNT, class Overflow>
    __device__ void add(const bool (&found)[COUNT], const ArcRange (&ranges)[COUNT], u32 search,
                        Overflow overflow) const {
        append_arcs(size, found, ranges, search, [&](u32 place, u64 piece) {
            if (place < CAPACITY)
                pieces[place] = piece;
            else
                relaxed_store(overflow(place), piece);
        });
    }

    // Moves the pieces in shared memory, except the first `most`, to a list in device memory whose size is `end`. The
    // block's threads must have met since they last added a piece.
    template <class At>
    __device__ void move_to(u32* end, u32 most, At at) const {
        const u32 count = num_kept();
        if (count <= most) return;
        if (threadIdx.x == 0) *base = relaxed_fetch_add(end, count - most);
        __syncthreads();
        for (u32 i = most + threadIdx.x; i < count; i += blockDim.x) relaxed_store(at(*base + i - most), pieces[i]);
    }
};

// One of two such lists, with the number of vertices with excess among those that were reached.
struct ActiveBlockList : BlockList {
    u32* active;

    __device__ ActiveBlockList(u64* pieces, u32* counters, u32 which)
        : BlockList{pieces + which * CAPACITY, &counters[2 * which], &counters[4]}, active(&counters[2 * which + 1]) {}

    __device__ void clear() const { *size = *active = 0; }

    template <u32 COUNT>
    __device__ void count_active(const bool (&found)[COUNT], const i64 (&excess)[COUNT]) const {
        for (u32 k = 0; k < COUNT; ++k)
            if (found[k] && excess[k] > 0) relaxed_fetch_add(active, 1u);
    }
};

// Marks of searches that keep them in the heights: a mark is the height of the vertices that are reached next.
struct HeightMarks {
    u32* height;

    __device__ u32 look(u32 v) const { return relaxed_load(&height[v]); }
    __device__ static bool is_new(u32 seen, u32) { return seen == UNREACHED; }
    // Returns the height before.
    __device__ u32 put(u32 v, u32 mark) const { return relaxed_compare_exchange(&height[v], UNREACHED, mark); }
};

// A range of arcs of a vertex that was reached, and the mark for vertices with a residual arc to it.
template <class Mark>
struct ReachedArcs {
    ArcRange range;
    Mark mark;
};

// Expands a level: marks all vertices that were not reached before and have a residual arc to a vertex of the level.
// `item_at(i)` returns the i-th of `size` pieces of arcs of the level's vertices. `reached` is called by all lanes of
// a warp together; for each of the lane's ARCS arcs it gets whether a vertex was found, the arc's ends, the vertex's
// range of arcs, its excess, and its mark before; and the new mark.
//
// A level takes as long as its longest chain of loads. So data are loaded before it is known that they are needed,
// and a lane handles ARCS arcs together. ALONE means one block at rest, which will itself read the arcs of the
// vertices it reaches. LABEL_FIRST loads capacities only for vertices with new marks: one more wait, but fewer loads,
// for networks where loads take the time. PAIRED capacities come with the arcs.
template <u32 LANES, u32 ARCS, bool ALONE, bool NEEDS_EXCESS, bool LABEL_FIRST, class Team, class Marks, class ItemAt,
          class Found>
__device__ void expand_level(const Team& team, const DeviceNetwork& net, const Marks& marks, u32 size, ItemAt item_at,
                             Found reached) {
    constexpr u32 VERTICES = WARP / LANES;
    const u32 lane = lane_id();
    using Mark = decltype(marks.look(0));
    for (u32 begin = team.warp() * VERTICES; begin < size; begin += team.num_warps() * VERTICES) {
        const u32 i = begin + lane / LANES;
        ReachedArcs<Mark> item{{0, 0}, 0};
        if (i < size) item = item_at(i);
        const ArcRange range = item.range;
        for (u32 a = range.first + lane % LANES; __any_sync(ALL_LANES, a < range.last); a += ARCS * LANES) {
            // 1. Load the arcs.
            ArcEnds ends[ARCS];
            i64 capacity[ARCS], excess[ARCS];
            Mark seen[ARCS];
            ArcRange next[ARCS];
            bool found[ARCS];
#pragma unroll
            for (u32 k = 0; k < ARCS; ++k) {
                found[k] = a + k * LANES < range.last;
                if (!found[k]) continue;
                if (PAIRED) {
                    const Arc arc = load_whole_arc<ALONE>(net.arcs, a + k * LANES);
                    ends[k].head = arc.head;
                    capacity[k] = other_capacity(arc.residual);
                } else {
                    ends[k] = load_ends(net.arcs, a + k * LANES);
                }
            }
#pragma unroll
            for (u32 k = 0; k < ARCS; ++k) {
                if (PAIRED) found[k] = found[k] && capacity[k] > 0;
                if (!found[k]) continue;
                seen[k] = marks.look(ends[k].head);
                if (!PAIRED && !LABEL_FIRST) capacity[k] = relaxed_load(&net.arcs[ends[k].reverse].residual);
            }
#pragma unroll
            for (u32 k = 0; !PAIRED && LABEL_FIRST && k < ARCS; ++k) {
                found[k] = found[k] && marks.is_new(seen[k], item.mark);
                if (found[k]) capacity[k] = relaxed_load(&net.arcs[ends[k].reverse].residual);
            }
#pragma unroll
            for (u32 k = 0; k < ARCS; ++k) {
                found[k] = found[k] && capacity[k] > 0 && marks.is_new(seen[k], item.mark);
                if (found[k]) {
                    const u32 w = ends[k].head;
                    next[k] = arcs_of(net, w);
                    excess[k] = NEEDS_EXCESS ? relaxed_load(&net.excess[w]) : 0;
                    seen[k] = marks.put(w, item.mark);
                }
            }
#pragma unroll
            for (u32 k = 0; k < ARCS; ++k) {
                found[k] = found[k] && marks.is_new(seen[k], item.mark);
                if (found[k]) prefetch<ALONE>(&net.arcs[next[k].first]);
            }
            reached(found, ends, next, excess, seen, item.mark);
        }
    }
}
