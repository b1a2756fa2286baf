// The breadth-first search of one tile: exact distances to the sink given the labels around it, level by level, in bits.
#include "cuda_tiled_state.cuh"

constexpr u32 log_of(u32 value) { return value < 2 ? 0 : 1 + log_of(value / 2); }
constexpr u32 PLANES = log_of(ROWS * WIDTH);  // a level for every pixel at most
constexpr u32 SEED_PLANES = 8, SEED_RANGE = 255;
// A bound on the steps of one search, far above what the widest range of labels around a tile needs.
constexpr u32 MOST_STEPS = 1u << 20;

// Labels that other warps may change are read by relaxed loads.
template <bool LIVE>
__device__ __forceinline__ u32 label_at(const u32* at) { return LIVE ? relaxed_load(at) : *at; }

__device__ __forceinline__ u32 after(u32 label) { return label == NONE ? NONE : label + 1; }

// What the search of a tile reached.
struct Levels {
    u32 plane[PLANES][ROWS_A_LANE];  // the bits of the pixels' levels, counted from 0 without the empty ones
    Rows reached;
    Rows over_border;  // pixels that a shortest path leaves by arcs to other tiles
    u32 size;

    __device__ __forceinline__ u32 at(u32 level, u32 k) const {
        u32 bits = reached[k];
#pragma unroll
        for (u32 b = 0; b < PLANES; ++b) bits &= level >> b & 1 ? plane[b][k] : ~plane[b][k];
        return bits;
    }
};

// The pixels that the search reaches from other tiles, and when: as soon as it comes to one level beyond the label of
// a neighbour. Those at the left and right sides are kept as labels, those of outer rows in bit planes, counted from
// `base`; what does not fit in these is gathered again later.
struct Seeds {
    u32 low[SIDES_X][ROWS_A_LANE], high[SIDES_X][ROWS_A_LANE];
    u32 plane[SEED_PLANES][ROWS_A_LANE];
    Rows waiting;
    u32 base;
    bool has_more;

    __device__ __forceinline__ void clear() {
        has_more = false;
        base = 0;
#pragma unroll
        for (u32 k = 0; k < ROWS_A_LANE; ++k) {
            waiting[k] = 0;
#pragma unroll
            for (u32 i = 0; i < SIDES_X; ++i) low[i][k] = high[i][k] = NONE;
        }
    }

    // Takes what comes after `level`. Where labels are live, says whether anything comes earlier than the label that
    // a pixel has.
    template <bool LIVE>
    __device__ __forceinline__ bool gather(const u32* label, const Shape& shape, const Tile& tile,
                                           const u32 (&mask)[DIRECTIONS][ROWS_A_LANE], u32 level) {
        bool improves = false;
        gather_sides<LIVE>(label, shape, tile, mask);
        u32 arrival[ROWS];
        u32 least = NONE;
#pragma unroll
        for (u32 r = 0; r < ROWS; ++r) {
            if (!is_outer_row(r)) continue;
            arrival[r] = NONE;
#pragma unroll
            for (u32 d = 0; d < DIRECTIONS; ++d) {
                if (row_is_inside(d, r)) continue;
                const u32 bits = __shfl_sync(ALL_LANES, mask[d][r / WARP], r % WARP);
                const u32 there = bits >> lane_id() & 1
                                      ? label_at<LIVE>(label + tile.pixel(r) + lane_id() + shape.step(d))
                                      : NONE;
                arrival[r] = min(arrival[r], after(there));
            }
        }
        if (LIVE) {
#pragma unroll
            for (u32 r = 0; r < ROWS; ++r)
                if (is_outer_row(r) && arrival[r] != NONE)
                    improves |= arrival[r] < label_at<LIVE>(label + tile.pixel(r) + lane_id());
#pragma unroll
            for (u32 k = 0; k < ROWS_A_LANE; ++k) {
#pragma unroll
                for (u32 i = 0; i < REACH_X; ++i) {
                    const u64 p = tile.pixel(row_of(k));
                    if (low[i][k] != NONE) improves |= low[i][k] < label_at<LIVE>(label + p + i);
                    if (high[i][k] != NONE) improves |= high[i][k] < label_at<LIVE>(label + p + WIDTH - 1 - i);
                }
            }
            improves = __any_sync(ALL_LANES, improves);
        }
#pragma unroll
        for (u32 r = 0; r < ROWS; ++r) {
            if (!is_outer_row(r)) continue;
            if (arrival[r] <= level) arrival[r] = NONE;
            least = min(least, arrival[r]);
        }
        base = least_of_warp(least);
        bool more = false;
#pragma unroll
        for (u32 k = 0; k < ROWS_A_LANE; ++k) waiting[k] = 0;
#pragma unroll
        for (u32 r = 0; r < ROWS; ++r) {
            if (!is_outer_row(r)) continue;
            const u32 distance = arrival[r] - base;
            const bool fits = arrival[r] != NONE && distance < SEED_RANGE;
            more |= arrival[r] != NONE && !fits;
            const u32 these = __ballot_sync(ALL_LANES, fits);
            if (these == 0) continue;
            const bool mine = lane_id() == r % WARP;
            if (mine) waiting[r / WARP] = these;
#pragma unroll
            for (u32 b = 0; b < SEED_PLANES; ++b) {
                const u32 bits = __ballot_sync(ALL_LANES, distance >> b & 1);
                if (mine) plane[b][r / WARP] = bits;
            }
        }
        has_more = __any_sync(ALL_LANES, more);
        return improves;
    }

    template <bool LIVE>
    __device__ __forceinline__ void gather_sides(const u32* label, const Shape& shape, const Tile& tile,
                                                 const u32 (&mask)[DIRECTIONS][ROWS_A_LANE]) {
#pragma unroll
        for (u32 k = 0; k < ROWS_A_LANE; ++k) {
            const u32 row = row_of(k);
            const u32* const at = label + tile.pixel(row);
#pragma unroll
            for (u32 i = 0; i < SIDES_X; ++i) low[i][k] = high[i][k] = NONE;
#pragma unroll
            for (u32 d = 0; d < DIRECTIONS; ++d) {
#pragma unroll
                for (int i = 0; i < size_of(dx(d)); ++i) {
                    const int x = dx(d) > 0 ? static_cast<int>(WIDTH) - 1 - i : i;
                    const bool leads = (mask[d][k] >> x & 1) != 0 && row_is_inside(d, row);
                    const u32 arrival = after(leads ? label_at<LIVE>(at + x + shape.step(d)) : NONE);
                    if (dx(d) > 0) high[i][k] = min(high[i][k], arrival);
                    else low[i][k] = min(low[i][k], arrival);
                }
            }
        }
    }

    // Returns which pixels of a row are reached at a level, each once.
    __device__ __forceinline__ u32 take(u32 level, u32 k) {
        u32 bits = 0;
        const u32 distance = level - base;
        if (distance < SEED_RANGE) {
            bits = waiting[k];
#pragma unroll
            for (u32 b = 0; b < SEED_PLANES; ++b) bits &= distance >> b & 1 ? plane[b][k] : ~plane[b][k];
            waiting[k] &= ~bits;
        }
#pragma unroll
        for (u32 i = 0; i < REACH_X; ++i) {
            if (low[i][k] == level) bits |= 1u << i;
            if (high[i][k] == level) bits |= 1u << (WIDTH - 1 - i);
        }
        return bits;
    }

    // Returns the least label above `level` of those at the sides.
    __device__ __forceinline__ u32 next_of_sides(u32 level) const {
        u32 next = NONE;
#pragma unroll
        for (u32 k = 0; k < ROWS_A_LANE; ++k) {
#pragma unroll
            for (u32 i = 0; i < REACH_X; ++i) {
                if (low[i][k] > level) next = min(next, low[i][k]);
                if (high[i][k] > level) next = min(next, high[i][k]);
            }
        }
        return least_of_warp(next);
    }
};

// How a search ended: it should always come to the end, or find at once that no label around changes one of the tile.
enum class Ending { COMPLETE, UNCHANGED, FAILED };

// Labels the pixels of a tile with their distances to the sink, 1 where `root` is set, given the labels around it
// unless it is `alone`. `store(k, bits, level)` is told each lane's new pixels.
template <bool LIVE, class Store>
__device__ __forceinline__ Ending search_tile(const u32* label, const Shape& shape, const Tile& tile,
                                              const u32 (&mask)[DIRECTIONS][ROWS_A_LANE], const Rows& root, bool alone,
                                              Levels& levels, Store store) {
    Seeds seeds;
    seeds.clear();
    Rows front;
#pragma unroll
    for (u32 k = 0; k < ROWS_A_LANE; ++k) {
        front[k] = levels.reached[k] = levels.over_border[k] = 0;
#pragma unroll
        for (u32 b = 0; b < PLANES; ++b) levels.plane[b][k] = 0;
    }
    levels.size = 0;
    u32 level = 0;
    bool gathers = !alone;
    for (u32 step = 0; step < MOST_STEPS; ++step) {
        ++level;
        if (seeds.has_more && level > seeds.base && level - seeds.base >= SEED_RANGE) gathers = true;
        if (gathers) {
            const bool improves = seeds.gather<LIVE>(label, shape, tile, mask, level - 1);
            if (LIVE && step == 0 && !improves) return Ending::UNCHANGED;
            gathers = false;
        }
        Rows fresh;
#pragma unroll
        for (u32 k = 0; k < ROWS_A_LANE; ++k) {
            u32 around = 0;
#pragma unroll
            for (u32 d = 0; d < DIRECTIONS; ++d) {
                const u32 bits = neighbor_bits(front, d, k);
                if (row_is_inside(d, row_of(k))) around |= bits & mask[d][k];
            }
            const u32 seed = seeds.take(level, k);
            fresh[k] = (around | seed | (level == 1 ? root[k] : 0)) & ~levels.reached[k];
            levels.over_border[k] |= seed & fresh[k];
        }
        const bool found = any_of_warp(fresh);
#pragma unroll
        for (u32 k = 0; k < ROWS_A_LANE; ++k) front[k] = fresh[k];
        if (found) {
#pragma unroll
            for (u32 k = 0; k < ROWS_A_LANE; ++k) {
                levels.reached[k] |= fresh[k];
#pragma unroll
                for (u32 b = 0; b < PLANES; ++b)
                    if (levels.size >> b & 1) levels.plane[b][k] |= fresh[k];
                store(k, fresh[k], level);
            }
            ++levels.size;
            continue;
        }
        const bool waits = any_of_warp(seeds.waiting);
        if (!waits && seeds.has_more) {
            gathers = true;
            continue;
        }
        const u32 next = min(seeds.next_of_sides(level), waits ? max(level + 1, seeds.base) : NONE);
        if (next == NONE) return Ending::COMPLETE;
        level = next - 1;
    }
    return Ending::FAILED;
}
