// The breadth-first search of one tile: exact distances to the sink given the labels around it, level by level, in
// bits.
//
//   level 1: pixels with a deficit
//   for each level: the pixels not reached yet that have an arc to a pixel of the last level, or over the border to a
//       pixel whose label is one less (a seed)
//   skip levels without pixels; stop when no seed is left
#include "tile_faces.cuh"

constexpr u32 log_of(u32 value) { return value < 2 ? 0 : 1 + log_of(value / 2); }
constexpr u32 PLANES = log_of(ROWS * WIDTH);  // there are at most as many levels as pixels
constexpr u32 SEED_PLANES = 8, SEED_RANGE = 255;
// A bound on the steps of one search, far above what the widest range of labels around a tile needs.
constexpr u32 MOST_STEPS = 1u << 20;

__device__ __forceinline__ u32 after(u32 label) { return label == NONE ? NONE : label + 1; }

// Returns the last bit of a number, repeated in all 32 bits.
__device__ __forceinline__ u32 all_bits(u32 number) { return static_cast<u32>(static_cast<int>(number << 31) >> 31); }

// The levels that the search of a tile reached. Values that are equal in all lanes are computed without branches,
// because the compiler cannot know that all lanes take the same branch.
struct Levels {
    u32 plane[PLANES][ROWS_A_LANE];  // bits of the pixels' level numbers, which count levels with pixels from 0
    Rows reached;
    Rows over_border;  // pixels whose shortest path leaves the tile by their next arc
    Masks lower;  // pixels with a shortest path over their arc in a direction, within the tile
    u32 size;

    __device__ __forceinline__ void clear() {
        size = 0;
#pragma unroll
        for (u32 k = 0; k < ROWS_A_LANE; ++k) {
            reached[k] = over_border[k] = 0;
#pragma unroll
            for (u32 d = 0; d < DIRECTIONS; ++d) lower[d][k] = 0;
#pragma unroll
            for (u32 b = 0; b < PLANES; ++b) plane[b][k] = 0;
        }
    }

    __device__ __forceinline__ void append(const Rows& fresh) {
#pragma unroll
        for (u32 k = 0; k < ROWS_A_LANE; ++k) reached[k] |= fresh[k];
#pragma unroll
        for (u32 b = 0; b < PLANES; ++b) {
#pragma unroll
            for (u32 k = 0; k < ROWS_A_LANE; ++k) plane[b][k] |= fresh[k] & all_bits(size >> b);
        }
        ++size;
    }

    // Returns the pixels of the levels whose number without the last SKIPPED bits is `band`.
    template <u32 SKIPPED>
    __device__ __forceinline__ u32 at(u32 band, u32 k) const {
        u32 bits = reached[k];
#pragma unroll
        for (u32 b = SKIPPED; b < PLANES; ++b) bits &= ~(plane[b][k] ^ all_bits(band >> (b - SKIPPED)));
        return bits;
    }

    // Writes the labels at the faces, each lane one pixel at a time. With ALL writes all labels; else writes those that
    // change and calls `changed(row, x)` for each.
    template <bool ALL, class Changed>
    __device__ __forceinline__ void write_labels(const Faces& faces, const LevelLabels& labels, Changed changed) const {
        constexpr u32 TOGETHER = 4, UNROLLED = TILE_Z == 1 ? WARP / TOGETHER : 1;
        __syncwarp();
#pragma unroll
        for (u32 k = 0; k < ROWS_A_LANE; ++k) {
#pragma unroll UNROLLED
            for (u32 begin = 0; begin < WARP; begin += TOGETHER) {
                u32 before[TOGETHER];
#pragma unroll
                for (u32 i = 0; i < TOGETHER; ++i)
                    if (!ALL && is_outer_row(k * WARP + begin + i))
                        before[i] = *faces.own(k * WARP + begin + i, lane_id());  // no other warp writes it
#pragma unroll
                for (u32 i = 0; i < TOGETHER; ++i) {
                    const u32 row = k * WARP + begin + i;
                    if (!is_outer_row(row)) continue;
                    u32 level = 0;
#pragma unroll
                    for (u32 b = 0; b < PLANES; ++b)
                        level |= (__shfl_sync(ALL_LANES, plane[b][k], row % WARP) >> lane_id() & 1) << b;
                    const bool is_reached = (__shfl_sync(ALL_LANES, reached[k], row % WARP) >> lane_id() & 1) != 0;
                    const u32 now = is_reached ? labels[level] : NONE;
                    if (!ALL && now == before[i]) continue;
                    faces.for_each_of_row(row, lane_id(), [&](u32* label) { faces.store(label, now); });
                    changed(row, lane_id());
                }
            }
#pragma unroll
            for (u32 i = 0; i < 2 * REACH_X; ++i) {
                const u32 x = i < REACH_X ? i : WIDTH - 1 - (i - REACH_X);
                u32* const label = faces.x.own(row_of(k), x);
                const u32 before = ALL ? 0 : *label;
                u32 level = 0;
#pragma unroll
                for (u32 b = 0; b < PLANES; ++b) level |= (plane[b][k] >> x & 1) << b;
                const u32 now = (reached[k] >> x & 1) != 0 ? labels[level] : NONE;
                if (!ALL && now == before) continue;
                relaxed_store(label, now);
                changed(row_of(k), x);
            }
        }
    }
};

// Seeds: the pixels that the search reaches over the border. A seed is reached at the level after the label of its
// neighbour outside. For the pixels at the left and right sides the levels are stored as numbers, for those of outer
// rows as bit planes, relative to `base`; levels beyond the range of the planes are gathered again later.
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
            for (u32 b = 0; b < SEED_PLANES; ++b) plane[b][k] = 0;
#pragma unroll
            for (u32 i = 0; i < SIDES_X; ++i) low[i][k] = high[i][k] = NONE;
        }
    }

    // Reads the labels around the tile, and stores the seeds of levels after `level`. In a global relabel (AT_REST)
    // returns whether a seed comes earlier than the stored label of its pixel.
    template <bool AT_REST>
    __device__ __forceinline__ bool gather(const Faces& faces, const Masks& mask, u32 level) {
        bool improves = false;
        gather_sides<AT_REST>(faces, mask);
        u32 arrival[ROWS];
        u32 least = NONE;
#pragma unroll
        for (u32 r = 0; r < ROWS; ++r) arrival[r] = NONE;
#pragma unroll
        for (u32 d = 0; d < DIRECTIONS; ++d) {
            u32 there[ROWS];  // all loads are issued before the first is used
#pragma unroll
            for (u32 r = 0; r < ROWS; ++r) {
                if (row_is_inside(d, r)) continue;
                const u32 bits = __shfl_sync(ALL_LANES, mask[d][r / WARP], r % WARP);
                there[r] = faces.over<AT_REST>(d, r, lane_id(), (bits >> lane_id() & 1) != 0);
            }
#pragma unroll
            for (u32 r = 0; r < ROWS; ++r)
                if (!row_is_inside(d, r)) arrival[r] = min(arrival[r], after(there[r]));
        }
        if (AT_REST) {
            u32 own[ROWS];
#pragma unroll
            for (u32 r = 0; r < ROWS; ++r) {
                if (is_outer_row(r)) own[r] = *faces.own(r, lane_id());  // no other warp writes it
            }
#pragma unroll
            for (u32 r = 0; r < ROWS; ++r)
                if (is_outer_row(r)) improves |= arrival[r] < own[r];
#pragma unroll
            for (u32 k = 0; k < ROWS_A_LANE; ++k) {
#pragma unroll
                for (u32 i = 0; i < REACH_X; ++i) {
                    improves |= low[i][k] < *faces.x.own(row_of(k), i) ||
                                high[i][k] < *faces.x.own(row_of(k), WIDTH - 1 - i);
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
            const bool mine = lane_id() == r % WARP;
            const u32 these = __ballot_sync(ALL_LANES, fits);
            waiting[r / WARP] = mine ? these : waiting[r / WARP];
#pragma unroll
            for (u32 b = 0; b < SEED_PLANES; ++b) {
                const u32 bits = __ballot_sync(ALL_LANES, distance >> b & 1);
                plane[b][r / WARP] = mine ? bits : plane[b][r / WARP];
            }
        }
        has_more = __any_sync(ALL_LANES, more);
        return improves;
    }

    template <bool AT_REST>
    __device__ __forceinline__ void gather_sides(const Faces& faces, const Masks& mask) {
#pragma unroll
        for (u32 k = 0; k < ROWS_A_LANE; ++k) {
            const u32 row = row_of(k);
#pragma unroll
            for (u32 i = 0; i < SIDES_X; ++i) low[i][k] = high[i][k] = NONE;
#pragma unroll
            for (u32 d = 0; d < DIRECTIONS; ++d) {
#pragma unroll
                for (int i = 0; i < size_of(dx(d)); ++i) {
                    const u32 x = dx(d) > 0 ? WIDTH - 1 - i : i;
                    const bool leads = (mask[d][k] >> x & 1) != 0 && row_is_inside(d, row);
                    const u32 arrival = after(faces.over<AT_REST>(d, row, x, leads));
                    if (dx(d) > 0) high[i][k] = min(high[i][k], arrival);
                    else low[i][k] = min(low[i][k], arrival);
                }
            }
        }
    }

    // Removes and returns the seeds of a row at a level.
    __device__ __forceinline__ u32 take(u32 level, u32 k) {
        const u32 distance = level - base;
        u32 bits = distance < SEED_RANGE ? waiting[k] : 0;
#pragma unroll
        for (u32 b = 0; b < SEED_PLANES; ++b) bits &= ~(plane[b][k] ^ all_bits(distance >> b));
        waiting[k] &= ~bits;
#pragma unroll
        for (u32 i = 0; i < REACH_X; ++i) {
            if (low[i][k] == level) bits |= 1u << i;
            if (high[i][k] == level) bits |= 1u << (WIDTH - 1 - i);
        }
        return bits;
    }

    // Returns the least level above `level` of the seeds at the sides.
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

// End of a search: all pixels that can be reached are labelled; all wanted pixels are reached; no label around improves
// a label of the tile; or there were too many steps, which is an error.
enum class Ending { COMPLETE, STOPPED, UNCHANGED, FAILED };

// Levels between two checks whether all wanted pixels are reached.
constexpr u32 STEPS_BETWEEN = 4;

// Searches a tile: finds the distances of its pixels to the sink, 1 where `root` is set, given the labels around it, or
// none if it is `alone`. Stops when all pixels of `wanted` are reached, if it has any. In a global relabel (AT_REST)
// labels around may change at any time. Writes the labels of levels to `labels` as far as there is room.
template <bool AT_REST>
__device__ __forceinline__ Ending search_tile(const Faces& faces, const Masks& mask, const Rows& root, bool alone,
                                              const Rows& wanted, Levels& levels, const LevelLabels& labels) {
    Seeds seeds;
    seeds.clear();
    levels.clear();
    Rows front;
    Masks inner;  // arcs within the tile
#pragma unroll
    for (u32 k = 0; k < ROWS_A_LANE; ++k) {
        front[k] = 0;
#pragma unroll
        for (u32 d = 0; d < DIRECTIONS; ++d) inner[d][k] = row_is_inside(d, row_of(k)) ? mask[d][k] : 0;
    }
    const bool stops = any_of_warp(wanted);
    u32 level = 0;
    bool gathers = !alone;
    for (u32 step = 0; step < MOST_STEPS; ++step) {
        ++level;
        if (seeds.has_more && level > seeds.base && level - seeds.base >= SEED_RANGE) gathers = true;
        // Read the labels around the tile, at the start and when the seeds gathered last are used up.
        if (gathers) {
            const bool improves = seeds.gather<AT_REST>(faces, mask, level - 1);
            if (AT_REST && step == 0 && !improves) return Ending::UNCHANGED;
            gathers = false;
        }
        // The pixels of this level.
        Rows fresh;
#pragma unroll
        for (u32 k = 0; k < ROWS_A_LANE; ++k) {
            u32 around = 0, over[DIRECTIONS];
#pragma unroll
            for (u32 d = 0; d < DIRECTIONS; ++d) {
                over[d] = neighbor_bits(front, d, k) & inner[d][k];
                around |= over[d];
            }
            const u32 seed = seeds.take(level, k);
            fresh[k] = (around | seed | (level == 1 ? root[k] : 0)) & ~levels.reached[k];
            levels.over_border[k] |= seed & fresh[k];
            if (AT_REST) continue;
#pragma unroll
            for (u32 d = 0; d < DIRECTIONS; ++d) levels.lower[d][k] |= over[d] & fresh[k];
        }
        const bool found = any_of_warp(fresh);
#pragma unroll
        for (u32 k = 0; k < ROWS_A_LANE; ++k) front[k] = fresh[k];
        if (found) {
            labels.keep(levels.size, level);
            levels.append(fresh);
            if (!stops || levels.size % STEPS_BETWEEN != 0) continue;
            Rows missing;
#pragma unroll
            for (u32 k = 0; k < ROWS_A_LANE; ++k) missing[k] = wanted[k] & ~levels.reached[k];
            if (!any_of_warp(missing)) return Ending::STOPPED;
            continue;
        }
        // The level is empty: go to that of the next seed.
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
