// The moves of a discharge: copy capacities and excess of a tile to shared memory, move excess down along the arcs that
// the search used, hand over what crossed the border.
#ifndef STEPS_OF_VISIT
// A discharge ends after this many steps: the tile is listed again, and the other tiles of its color wait for it
// meanwhile. Without the limit the longest discharges took three to four times as long as the average.
#define STEPS_OF_VISIT 96
#endif

#include "tile_search.cuh"

__device__ __forceinline__ int fetch_add_excess(int* at, int value) {
    return static_cast<int>(relaxed_fetch_add(reinterpret_cast<u32*>(at), static_cast<u32>(value)));
}
__device__ __forceinline__ i64 fetch_add_excess(i64* at, i64 value) { return relaxed_fetch_add(at, value); }

// Calls `copy(shared, global)` with the places of each 8 bytes of a tile's numbers of type T.
template <class T, u32 LINE, class Copy>
__device__ __forceinline__ void for_all_words(const Tile& tile, T* there, T* here, Copy copy) {
    constexpr u32 WORDS = WIDTH * sizeof(T) / 8, LINE_WORDS = LINE * sizeof(T) / 8;
    u64* const tile_there = reinterpret_cast<u64*>(there + tile.first);
    u64* const tile_here = reinterpret_cast<u64*>(here);
#pragma unroll 8
    for (u32 i = lane_id(); i < ROWS * WORDS; i += WARP) {
        const u32 row = i / WORDS, column = i % WORDS;
        copy(tile_here + row * LINE_WORDS + column, tile_there + (tile.offset(row) / WIDTH * WORDS + column));
    }
}

template <class Copy>
__device__ __forceinline__ void copy_tile(const Arguments& args, const Tile& tile, Copy copy) {
    for_all_words<Excess, EXCESS_LINE>(tile, args.terminal - args.first_pixel, Slot::excess(), copy);
#pragma unroll
    for (u32 d = 0; d < DIRECTIONS; ++d)
        for_all_words<Residual, RESIDUAL_LINE>(tile, args.residual + d * args.direction_stride - args.first_pixel,
                                               Slot::residual() + d * ROWS * RESIDUAL_LINE, copy);
}

// Bits of a lane's rows while their tile is discharged.
struct TileBits {
    Masks mask;     // residual capacity in each direction
    Masks crossed;  // arcs to other tiles over which flow may have been pushed
    Rows root, active;
};

// Returns the word of a lane's row `own`; sets or clears bits of it.
__device__ __forceinline__ u32 of_row(const Rows& bits, u32 own) {
    u32 word = bits[0];
#pragma unroll
    for (u32 k = 1; k < ROWS_A_LANE; ++k) word = own == k ? bits[k] : word;
    return word;
}
__device__ __forceinline__ void set(Rows& bits, u32 own, u32 these) {
#pragma unroll
    for (u32 k = 0; k < ROWS_A_LANE; ++k) bits[k] |= ROWS_A_LANE == 1 || own == k ? these : 0;
}
__device__ __forceinline__ void clear(Rows& bits, u32 own, u32 these) {
#pragma unroll
    for (u32 k = 0; k < ROWS_A_LANE; ++k) bits[k] &= ~(ROWS_A_LANE == 1 || own == k ? these : 0);
}

// Returns the first direction with the same difference of rows.
CONSTANT u32 first_with_rows(u32 direction) {
    u32 d = 0;
    while (rows_of(d) != rows_of(direction)) ++d;
    return d;
}

// Excess moves through a band of 2**BAND_BITS levels at a time.
constexpr u32 BAND_BITS = 5;

// Moves the excess of a tile down. Only the lane that owns a row changes it: a lane that pushes to the row of another
// lane sends it the amount by a shuffle. All lanes execute the same instructions without branches, which is faster than
// diverging.
struct Pusher {
    const Faces& faces;
    u32 pushes = 0, steps = 0;

    // The pixel that a lane pushes from, if it has one.
    struct Picked {
        bool has;
        u32 own, row, x;  // its row among those of the lane, and among those of the tile
    };

    __device__ __forceinline__ bool is_spent() const { return steps >= STEPS_OF_VISIT; }

    // Returns the arcs to other tiles over which a pixel may push, as bits: those to the lowest neighbours outside.
    __device__ __forceinline__ u32 lowest_outside(const TileBits& bits, const Picked& pixel) const {
        u32 there[DIRECTIONS], least = NONE, directions = 0;
#pragma unroll
        for (u32 d = 0; d < DIRECTIONS; ++d) {
            const bool leaves = !row_is_inside(d, pixel.row) || pixel.x + static_cast<u32>(dx(d)) >= WIDTH;
            const bool leads = leaves && (of_row(bits.mask[d], pixel.own) >> pixel.x & 1) != 0;
            there[d] = faces.over<false>(d, pixel.row, pixel.x, leads);
        }
#pragma unroll
        for (u32 d = 0; d < DIRECTIONS; ++d) least = min(least, there[d]);
#pragma unroll
        for (u32 d = 0; d < DIRECTIONS; ++d) directions |= u32{there[d] == least && least != NONE} << d;
        return directions;
    }

    // Pushes from the pixel of each lane: to pixels of the tile one level below, and to other tiles if its shortest
    // path leaves the tile. Returns in `inside` the amounts sent within the tile in each direction.
    __device__ __forceinline__ void send(TileBits& bits, const Levels& levels, const Picked& pixel,
                                         Excess (&inside)[DIRECTIONS]) {
        const u32 x = pixel.x, row = pixel.row, bit = pixel.has ? 1u << x : 0;
        const Excess before = Slot::excess(row, x);
        Residual capacity[DIRECTIONS];
#pragma unroll
        for (u32 d = 0; d < DIRECTIONS; ++d) capacity[d] = Slot::residual(d, row, x);
        const bool leaves = (of_row(levels.over_border, pixel.own) & bit) != 0;
        u32 outside = 0;
        if (__any_sync(ALL_LANES, leaves)) {
            outside = leaves ? lowest_outside(bits, pixel) : 0;
#pragma unroll
            for (u32 d = 0; d < DIRECTIONS; ++d) set(bits.crossed[d], pixel.own, (outside >> d & 1) != 0 ? bit : 0);
        }
        Excess excess = before;
#pragma unroll
        for (u32 d = 0; d < DIRECTIONS; ++d) {
            const bool goes_inside = (of_row(levels.lower[d], pixel.own) & bit) != 0;
            const bool goes = goes_inside || (outside >> d & 1) != 0;
            const Excess most = goes && excess > 0 ? excess : 0;
            const Excess amount = most < capacity[d] ? most : static_cast<Excess>(capacity[d]);
            const bool moves = amount > 0;
            excess -= amount;
            pushes += moves;
            store_if(moves, &Slot::residual(d, row, x), static_cast<Residual>(capacity[d] - amount));
            clear(bits.mask[d], pixel.own, amount == capacity[d] ? bit : 0);
            inside[d] = goes_inside ? amount : 0;
        }
        store_if(excess != before, &Slot::excess(row, x), excess);
        clear(bits.active, pixel.own, excess <= 0 ? bit : 0);
        clear(bits.root, pixel.own, excess >= 0 ? bit : 0);
    }

    // Adds the amounts that lanes sent to pixels of this lane's rows. These pixels become active; those in the same
    // band are added to `work`.
    __device__ __forceinline__ void receive(TileBits& bits, const Picked& pixel, const Excess (&inside)[DIRECTIONS],
                                            const Rows& band, Rows& work) {
        const u32 place = pixel.row * WIDTH + pixel.x;
        u32 from[DIRECTIONS], to_row[DIRECTIONS], to_x[DIRECTIONS];
        Excess amount[DIRECTIONS];
        Residual before[DIRECTIONS];
#pragma unroll
        for (u32 d = 0; d < DIRECTIONS; ++d) {
            const int rows = rows_of(d), sender = (static_cast<int>(lane_id()) - rows) & 31;
            amount[d] = rows == 0 ? inside[d] : __shfl_sync(ALL_LANES, inside[d], sender);
            from[d] = rows == 0 ? place : NONE;
#pragma unroll
            for (u32 same = 0; same < d; ++same) from[d] = rows_of(same) == rows ? from[same] : from[d];
            if (first_with_rows(d) == d && rows != 0) from[d] = __shfl_sync(ALL_LANES, place, sender);
            to_row[d] = amount[d] > 0 ? from[d] / WIDTH + static_cast<u32>(rows) : lane_id();
            to_x[d] = (from[d] + static_cast<u32>(dx(d))) % WIDTH;
            before[d] = Slot::residual(d ^ 1, to_row[d], to_x[d]);
        }
#pragma unroll
        for (u32 d = 0; d < DIRECTIONS; ++d) {
            const bool gets = amount[d] > 0;
            const u32 own = to_row[d] / WARP, bit = gets ? 1u << to_x[d] : 0;
            store_if(gets, &Slot::residual(d ^ 1, to_row[d], to_x[d]), static_cast<Residual>(before[d] + amount[d]));
            add(&Slot::excess(to_row[d], to_x[d]), amount[d]);
            set(bits.mask[d ^ 1], own, bit);
            set(bits.active, own, bit);
            set(work, own, bit & of_row(band, own));
        }
    }

    // Removes and returns the highest pixel of `work` in each lane's rows, by the last BAND_BITS bits of the levels.
    __device__ __forceinline__ static Picked pick(const Levels& levels, Rows& work) {
        Rows left;
        u32 any = 0;
#pragma unroll
        for (u32 k = 0; k < ROWS_A_LANE; ++k) any |= left[k] = work[k];
        const bool has = any != 0;
#pragma unroll
        for (u32 b = BAND_BITS; b-- > 0;) {
            Rows upper;
            u32 any_upper = 0;
#pragma unroll
            for (u32 k = 0; k < ROWS_A_LANE; ++k) any_upper |= upper[k] = left[k] & levels.plane[b][k];
#pragma unroll
            for (u32 k = 0; k < ROWS_A_LANE; ++k) left[k] = any_upper != 0 ? upper[k] : left[k];
        }
        u32 own = 0;
#pragma unroll
        for (u32 k = ROWS_A_LANE; k-- > 0;) own = left[k] != 0 ? k : own;
        const u32 x = has ? __ffs(of_row(left, own)) - 1 : 0;
        clear(work, own, has ? 1u << x : 0);
        return {has, own, row_of(own), x};
    }

    // Moves excess from the highest level down to the first, band after band. Within a band every lane pushes from its
    // own highest pixel, at whatever level, so that most lanes have one.
    __device__ __forceinline__ void move_down(TileBits& bits, const Levels& levels) {
        for (u32 number = ((levels.size - 1) >> BAND_BITS) + 1; number-- > 0;) {
            Rows band, work;
#pragma unroll
            for (u32 k = 0; k < ROWS_A_LANE; ++k) {
                band[k] = levels.at<BAND_BITS>(number, k);
                work[k] = band[k] & bits.active[k];
            }
            while (!is_spent() && any_of_warp(work)) {
                ++steps;
                const Picked pixel = pick(levels, work);
                Excess inside[DIRECTIONS];
                send(bits, levels, pixel, inside);
                receive(bits, pixel, inside, band, work);
            }
        }
    }
};

// Appends the entries of the lanes that have one to the list; returns its new size.
__device__ __forceinline__ u32 append_to_list(u32 size, bool has, u32 entry) {
    const u32 voters = __ballot_sync(ALL_LANES, has);
    if (has) Slot::listed(size + __popc(voters & ((1u << lane_id()) - 1))) = static_cast<unsigned short>(entry);
    return size + __popc(voters);
}

// Hands the flow that crossed the border to the neighbouring tiles, which are not being discharged. Their numbers are
// returned as bits. The tile's capacities on the device are still those from before the discharge.
struct HandOver {
    const Arguments& args;
    const Shape& shape;
    const Tile& tile;
    u32 touched = 0;

    __device__ __forceinline__ u64 here(u32 row, u32 x) const { return tile.pixel(row) + x - args.first_pixel; }

    // Hands over the flow that crossed an arc, if any, and updates the words of the tile at its head.
    __device__ __forceinline__ void cross(u32 d, u32 row, u32 x) {
        const int z = static_cast<int>(row / TILE_Y) + dz(d), y = static_cast<int>(row % TILE_Y) + dy(d),
                  to_x = static_cast<int>(x) + dx(d);
        const int tz = z < 0 ? -1 : z >= TILE_Z, ty = y < 0 ? -1 : y >= TILE_Y,
                  tx = to_x < 0 ? -1 : to_x >= static_cast<int>(WIDTH);
        const u32 number = static_cast<u32>((tz + 1) * 9 + (ty + 1) * 3 + tx + 1);
        const u32 to = static_cast<u32>((z - tz * TILE_Z) * TILE_Y + y - ty * TILE_Y), bit = 1u << (to_x & 31);
        const u64 p = here(row, x);
        const Head head = head_of(p + shape.step(d), tile.neighbor(shape, number), d ^ 1);
        const Residual before = args.residual[d * args.direction_stride + p];
        const Residual back_before = *head.capacity;
        const Excess amount = before - Slot::residual(d, row, x);
        if (amount == 0) return;
        *head.capacity = static_cast<Residual>(back_before + amount);
        const Excess excess = fetch_add_excess(head.excess, amount), now = excess + amount;
        u32* const words = head.words + to;
        if (back_before == 0) relaxed_fetch_or(&words[(d ^ 1) * ROWS], bit);
        if (excess <= 0 && now > 0) relaxed_fetch_or(&words[ACTIVE * ROWS], bit);
        if (excess < 0 && now >= 0) relaxed_fetch_and(&words[ROOT * ROWS], ~bit);
        touched |= 1u << number;
    }

    // The head of an arc: the capacity of the opposite arc, the excess, and the words of its tile.
    struct Head {
        Residual* capacity;
        Excess* excess;
        u32* words;
    };
    __device__ __forceinline__ Head head_of(u64 pixel, u32 in_tile, u32 back) const {
        if (!ACROSS || args.is_searched(in_tile))
            return {&args.residual[back * args.direction_stride + pixel], &args.terminal[pixel],
                    args.arrays.words + static_cast<u64>(in_tile) * KINDS * ROWS};
        const Beyond& part = args.beyond(in_tile);
        pixel += part.pixels;
        return {&part.residual[back * part.direction_stride + pixel], &part.terminal[pixel],
                part.words + (in_tile + part.tiles) * KINDS * ROWS};
    }

    __device__ __forceinline__ void cross_listed(u32 size) {
        __syncwarp();
        for (u32 i = lane_id(); i < size; i += WARP) {
            const u32 arc = Slot::listed(i), pixel = arc % (ROWS * WIDTH);
            cross(arc / (ROWS * WIDTH), pixel / WIDTH, pixel % WIDTH);
        }
        __syncwarp();
    }
    // Lists the arcs over which flow may have crossed, so that the lanes share them evenly.
    __device__ __forceinline__ void all(const TileBits& tile_bits) {
        static_assert(DIRECTIONS * ROWS * WIDTH <= 1u << 16, "an arc is a number of 16 bits");
        u32 size = 0;
#pragma unroll
        for (u32 d = 0; d < DIRECTIONS; ++d) {
#pragma unroll
            for (u32 k = 0; k < ROWS_A_LANE; ++k) {
                const u32 first = (d * ROWS + row_of(k)) * WIDTH;
                for (u32 bits = tile_bits.crossed[d][k]; __any_sync(ALL_LANES, bits != 0); bits &= bits - 1) {
                    if (size + WARP > LIST_SIZE) {
                        cross_listed(size);
                        size = 0;
                    }
                    size = append_to_list(size, bits != 0, first + __ffs(bits) - 1);
                }
            }
        }
        cross_listed(size);
        touched = union_of_warp(touched);
    }
};
