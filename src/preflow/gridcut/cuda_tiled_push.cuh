// The discharge of one tile: its capacities and excess come to shared memory, excess moves one level down after the
// other, what crossed the border is handed over.
#include "cuda_tiled_search.cuh"

// Entries of a row in shared memory: lanes that are at the same place of their rows are at different banks.
constexpr u32 RESIDUAL_LINE = RESIDUAL_BYTES == 2 ? 34 : 33, EXCESS_LINE = 33;

constexpr u32 rounded(u32 bytes) { return (bytes + 15) / 16 * 16; }
constexpr u32 MASK_BYTES = rounded(DIRECTIONS * ROWS * 4), BITS_BYTES = rounded(ROWS * 4);
constexpr u32 LIST_SIZE = 256, LIST_BYTES = 2 * LIST_SIZE;
constexpr u32 EXCESS_BYTES_OF_TILE = rounded(ROWS * EXCESS_LINE * EXCESS_BYTES);
constexpr u32 RESIDUAL_BYTES_OF_TILE = rounded(DIRECTIONS * ROWS * RESIDUAL_LINE * RESIDUAL_BYTES);
constexpr u32 SLOT_BYTES =
    EXCESS_BYTES_OF_TILE + RESIDUAL_BYTES_OF_TILE + 3 * MASK_BYTES + 4 * BITS_BYTES + LIST_BYTES;

constexpr u32 LABEL_LINE = 33, LABEL_BYTES = rounded(ROWS * LABEL_LINE * 4);

// The shared memory of a warp, found anew at each use: so the compiler knows that it is shared memory. Searches at rest
// keep labels there, and more warps have room.
struct Slot {
    static constexpr u32 RESIDUAL = EXCESS_BYTES_OF_TILE, MASK = RESIDUAL + RESIDUAL_BYTES_OF_TILE,
                         CROSSED = MASK + MASK_BYTES, ADMISSIBLE = CROSSED + MASK_BYTES,
                         ACTIVE_ROWS = ADMISSIBLE + MASK_BYTES, ROOT_ROWS = ACTIVE_ROWS + BITS_BYTES,
                         ROOTS_BEFORE = ROOT_ROWS + BITS_BYTES, OVER_BORDER = ROOTS_BEFORE + BITS_BYTES,
                         LIST = OVER_BORDER + BITS_BYTES;

    template <class T>
    __device__ static __forceinline__ T* at(u32 begin) {
        return reinterpret_cast<T*>(shared_memory() + threadIdx.x / WARP * SLOT_BYTES + begin);
    }
    __device__ static __forceinline__ Excess* excess() { return at<Excess>(0); }
    __device__ static __forceinline__ Residual* residual() { return at<Residual>(RESIDUAL); }
    __device__ static __forceinline__ Excess& excess(u32 row, u32 x) { return excess()[row * EXCESS_LINE + x]; }
    __device__ static __forceinline__ Residual& residual(u32 d, u32 row, u32 x) {
        return residual()[(d * ROWS + row) * RESIDUAL_LINE + x];
    }
    __device__ static __forceinline__ u32& mask(u32 d, u32 row) { return at<u32>(MASK)[d * ROWS + row]; }
    __device__ static __forceinline__ u32& crossed(u32 d, u32 row) { return at<u32>(CROSSED)[d * ROWS + row]; }
    __device__ static __forceinline__ u32& active(u32 row) { return at<u32>(ACTIVE_ROWS)[row]; }
    __device__ static __forceinline__ u32& root(u32 row) { return at<u32>(ROOT_ROWS)[row]; }
    // What a wave goes by: admissible arcs of a level, pixels that could send to the sink when the tile was searched,
    // and those that a shortest path leaves the tile from; and a list of pixels.
    __device__ static __forceinline__ u32& admissible(u32 d, u32 row) { return at<u32>(ADMISSIBLE)[d * ROWS + row]; }
    __device__ static __forceinline__ u32& root_before(u32 row) { return at<u32>(ROOTS_BEFORE)[row]; }
    __device__ static __forceinline__ u32& over_border(u32 row) { return at<u32>(OVER_BORDER)[row]; }
    __device__ static __forceinline__ unsigned short& listed(u32 i) { return at<unsigned short>(LIST)[i]; }

    __device__ static __forceinline__ u32& label(u32 row, u32 x) {
        return reinterpret_cast<u32*>(shared_memory() + threadIdx.x / WARP * LABEL_BYTES)[row * LABEL_LINE + x];
    }
};

__device__ __forceinline__ int fetch_add_excess(int* at, int value) {
    return static_cast<int>(relaxed_fetch_add(reinterpret_cast<u32*>(at), static_cast<u32>(value)));
}
__device__ __forceinline__ i64 fetch_add_excess(i64* at, i64 value) { return relaxed_fetch_add(at, value); }
template <class T>
__device__ __forceinline__ void add_excess(T* at, T value) { static_cast<void>(fetch_add_excess(at, value)); }

// Calls `copy(place in shared memory, place on the device)` for all words of a tile's rows of numbers of type T.
template <class T, u32 LINE, class Copy>
__device__ __forceinline__ void for_all_words(const Tile& tile, T* there, T* here, Copy copy) {
    constexpr u32 WORDS = WIDTH * sizeof(T) / 4, LINE_WORDS = LINE * sizeof(T) / 4;
    u32* const tile_there = reinterpret_cast<u32*>(there + tile.first);
    u32* const tile_here = reinterpret_cast<u32*>(here);
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

// Where a pixel is pushed to in its tile.
struct Inside {
    u32 row, x, bit;

    __device__ Inside(u32 d, u32 from_row, u32 from_x)
        : row(from_row + dz(d) * TILE_Y + dy(d)), x(from_x + dx(d)), bit(1u << (x & 31)) {}
};

// Moves the excess of a tile down.
struct Pusher {
    const Arguments& args;
    const Shape& shape;
    const Tile& tile;
    u32 pushes = 0;

    // Pushes from a pixel over the arcs of its tile in `directions`. What depends on each other are four accesses to
    // shared memory, whatever the number of directions. Who gets something counts as active until its turn comes,
    // which is later: it is below. Returns what is left.
    __device__ __forceinline__ Excess push_inside(u32 directions, u32 row, u32 x) {
        Residual capacity[DIRECTIONS];
        Excess amount[DIRECTIONS];
        Excess excess = Slot::excess(row, x);
#pragma unroll
        for (u32 d = 0; d < DIRECTIONS; ++d) capacity[d] = directions >> d & 1 ? Slot::residual(d, row, x) : 0;
#pragma unroll
        for (u32 d = 0; d < DIRECTIONS; ++d) {
            const Excess most = excess > 0 ? excess : 0;
            amount[d] = most < static_cast<Excess>(capacity[d]) ? most : static_cast<Excess>(capacity[d]);
            excess -= amount[d];
        }
        Residual back[DIRECTIONS];
#pragma unroll
        for (u32 d = 0; d < DIRECTIONS; ++d) {
            const Inside to(d, row, x);
            back[d] = amount[d] > 0 ? Slot::residual(d ^ 1, to.row, to.x) : 0;
        }
#pragma unroll
        for (u32 d = 0; d < DIRECTIONS; ++d) {
            if (amount[d] <= 0) continue;
            const Inside to(d, row, x);
            ++pushes;
            Slot::residual(d, row, x) = static_cast<Residual>(capacity[d] - amount[d]);
            Slot::residual(d ^ 1, to.row, to.x) = static_cast<Residual>(back[d] + amount[d]);
            if (amount[d] == static_cast<Excess>(capacity[d])) relaxed_fetch_and(&Slot::mask(d, row), ~(1u << x));
            if (back[d] == 0) relaxed_fetch_or(&Slot::mask(d ^ 1, to.row), to.bit);
            add_excess(&Slot::excess(to.row, to.x), amount[d]);
            relaxed_fetch_or(&Slot::active(to.row), to.bit);
        }
        return excess;
    }

    __device__ static bool leaves(u32 d, u32 row, u32 x) {
        return !row_is_inside(d, row) || x + static_cast<u32>(dx(d)) >= WIDTH;
    }

    // Pushes to the lowest neighbours in other tiles; returns what is left.
    __device__ __forceinline__ Excess push_over_border(u32 row, u32 x, Excess excess) {
        const u32* const label = args.label + tile.pixel(row) + x;
        u32 there[DIRECTIONS], least = NONE;
#pragma unroll
        for (u32 d = 0; d < DIRECTIONS; ++d) {
            const bool is_possible = leaves(d, row, x) && Slot::residual(d, row, x) > 0;
            there[d] = is_possible ? label[shape.step(d)] : NONE;
        }
#pragma unroll
        for (u32 d = 0; d < DIRECTIONS; ++d) least = min(least, there[d]);
#pragma unroll
        for (u32 d = 0; d < DIRECTIONS; ++d) {
            if (there[d] != least || least == NONE || excess <= 0) continue;
            Residual& residual = Slot::residual(d, row, x);
            const Excess capacity = residual, amount = excess < capacity ? excess : capacity;
            residual = static_cast<Residual>(capacity - amount);
            if (amount == capacity) relaxed_fetch_and(&Slot::mask(d, row), ~(1u << x));
            relaxed_fetch_or(&Slot::crossed(d, row), 1u << x);
            excess -= amount;
            ++pushes;
        }
        return excess;
    }

    // Pushes from a pixel wherever it may.
    __device__ __forceinline__ void discharge(u32 row, u32 x) {
        const u32 bit = 1u << x;
        u32 directions = 0;
#pragma unroll
        for (u32 d = 0; d < DIRECTIONS; ++d) directions |= (Slot::admissible(d, row) >> x & 1) << d;
        Excess excess = push_inside(directions, row, x);
        if (excess > 0 && (Slot::over_border(row) & bit) != 0) excess = push_over_border(row, x, excess);
        Slot::excess(row, x) = excess;
        if (excess <= 0) relaxed_fetch_and(&Slot::active(row), ~bit);
        if (excess >= 0 && (Slot::root_before(row) & bit) != 0) relaxed_fetch_and(&Slot::root(row), ~bit);
    }

    // Lists pixels of all rows, as many as there is room for, and takes them out; returns how many.
    __device__ __forceinline__ u32 list_pixels(Rows& work) const {
        u32 size = 0;
#pragma unroll
        for (u32 k = 0; k < ROWS_A_LANE; ++k) {
            while (size + WARP <= LIST_SIZE) {
                const u32 voters = __ballot_sync(ALL_LANES, work[k] != 0);
                if (voters == 0) break;
                if (work[k] != 0) {
                    const u32 place = size + __popc(voters & ((1u << lane_id()) - 1));
                    Slot::listed(place) = static_cast<unsigned short>(row_of(k) * WIDTH + __ffs(work[k]) - 1);
                    work[k] &= work[k] - 1;
                }
                size += __popc(voters);
            }
        }
        return size;
    }

    // Moves excess from the highest level down to the first. The pixels of a level are shared evenly among the lanes.
    __device__ __forceinline__ void move_down(const u32 (&mask)[DIRECTIONS][ROWS_A_LANE], const Rows& root,
                                              const Levels& levels) {
#pragma unroll
        for (u32 k = 0; k < ROWS_A_LANE; ++k) {
            Slot::root_before(row_of(k)) = root[k];
            Slot::over_border(row_of(k)) = levels.over_border[k];
        }
        Rows below;
#pragma unroll
        for (u32 k = 0; k < ROWS_A_LANE; ++k) below[k] = levels.at(levels.size - 1, k);
        for (u32 level = levels.size; level-- > 0;) {
            Rows work;
#pragma unroll
            for (u32 k = 0; k < ROWS_A_LANE; ++k) {
                work[k] = below[k] & Slot::active(row_of(k));
                below[k] = level > 0 ? levels.at(level - 1, k) : 0;
            }
            if (!any_of_warp(work)) continue;
#pragma unroll
            for (u32 d = 0; d < DIRECTIONS; ++d) {
#pragma unroll
                for (u32 k = 0; k < ROWS_A_LANE; ++k) {
                    const u32 bits = neighbor_bits(below, d, k);
                    Slot::admissible(d, row_of(k)) = row_is_inside(d, row_of(k)) ? bits & mask[d][k] : 0;
                }
            }
            while (true) {
                const u32 size = list_pixels(work);
                if (size == 0) break;
                __syncwarp();
                for (u32 i = lane_id(); i < size; i += WARP) {
                    const u32 pixel = Slot::listed(i);
                    discharge(pixel / WIDTH, pixel % WIDTH);
                }
                __syncwarp();
            }
        }
    }
};

// Hands what crossed the border to the tiles there, which rest; returns their numbers as bits. The capacities on the
// device are still those from before.
struct HandOver {
    const Arguments& args;
    const Shape& shape;
    const Tile& tile;
    u32 touched = 0;

    // An arc over which something crossed.
    struct Crossing {
        Residual amount, back;
        Excess before;
    };

    __device__ __forceinline__ u64 here(u32 row, u32 x) const { return tile.pixel(row) + x - args.first_pixel; }

    __device__ __forceinline__ Crossing look(u32 d, u32 row, u32 x) const {
        const u64 p = here(row, x);
        const Residual amount = static_cast<Residual>(args.residual[d * args.direction_stride + p] -
                                                      Slot::residual(d, row, x));
        return {amount, args.residual[(d ^ 1) * args.direction_stride + p + shape.step(d)], 0};
    }
    __device__ __forceinline__ void add(u32 d, u32 row, u32 x, Crossing& crossing) const {
        const u64 q = here(row, x) + shape.step(d);
        args.residual[(d ^ 1) * args.direction_stride + q] = static_cast<Residual>(crossing.back + crossing.amount);
        crossing.before = fetch_add_excess(&args.terminal[q], static_cast<Excess>(crossing.amount));
    }
    __device__ __forceinline__ void mark(u32 d, u32 row, u32 x, const Crossing& crossing) {
        const int z = static_cast<int>(row / TILE_Y) + dz(d), y = static_cast<int>(row % TILE_Y) + dy(d),
                  to_x = static_cast<int>(x) + dx(d);
        const int tz = z < 0 ? -1 : z >= TILE_Z, ty = y < 0 ? -1 : y >= TILE_Y,
                  tx = to_x < 0 ? -1 : to_x >= static_cast<int>(WIDTH);
        const u32 number = static_cast<u32>((tz + 1) * 9 + (ty + 1) * 3 + tx + 1);
        const u32 to = static_cast<u32>((z - tz * TILE_Z) * TILE_Y + y - ty * TILE_Y), bit = 1u << (to_x & 31);
        u32* const words = args.words + static_cast<u64>(tile.neighbor(shape, number)) * KINDS * ROWS + to;
        const Excess now = crossing.before + crossing.amount;
        if (crossing.back == 0) relaxed_fetch_or(&words[(d ^ 1) * ROWS], bit);
        if (crossing.before <= 0 && now > 0) relaxed_fetch_or(&words[ACTIVE * ROWS], bit);
        if (crossing.before < 0 && now >= 0) relaxed_fetch_and(&words[ROOT * ROWS], ~bit);
        touched |= 1u << number;
    }

    __device__ __forceinline__ void over_sides(u32 d) {
#pragma unroll
        for (u32 k = 0; k < ROWS_A_LANE; ++k) {
            const u32 row = row_of(k);
            u32 bits = row_is_inside(d, row) ? Slot::crossed(d, row) : 0;
            for (; bits != 0; bits &= bits - 1) {
                const u32 x = __ffs(bits) - 1;
                Crossing crossing = look(d, row, x);
                add(d, row, x, crossing);
                mark(d, row, x, crossing);
            }
        }
    }
    // Rows that end at other tiles, a lane for each pixel; several rows together hide how long memory takes.
    __device__ __forceinline__ void over_outer_rows(u32 d) {
        constexpr u32 MOST = TILE_Z > TILE_Y ? TILE_Z : TILE_Y, TOGETHER = TILE_Z > 1 ? 8 : 1;
        static_assert(TILE_Z == 1 || MOST <= 8, "rows of a face are looked at together");
        const bool along_z = dz(d) == 0;
        const u32 faces = along_z ? TILE_Y : TILE_Z, rows = along_z ? TILE_Z : TILE_Y;
        for (u32 face = 0; face < faces; ++face) {
            for (u32 begin = 0; begin < rows; begin += TOGETHER) {
                Crossing crossing[TOGETHER];
                u32 crosses = 0;
#pragma unroll
                for (u32 i = 0; i < TOGETHER; ++i) {
                    const u32 row = along_z ? (begin + i) * TILE_Y + face : face * TILE_Y + begin + i;
                    if (begin + i >= rows || row_is_inside(d, row)) continue;
                    if ((Slot::crossed(d, row) >> lane_id() & 1) == 0) continue;
                    crosses |= 1u << i;
                    crossing[i] = look(d, row, lane_id());
                }
                if (!__any_sync(ALL_LANES, crosses != 0)) continue;
#pragma unroll
                for (u32 i = 0; i < TOGETHER; ++i) {
                    const u32 row = along_z ? (begin + i) * TILE_Y + face : face * TILE_Y + begin + i;
                    if (crosses >> i & 1) add(d, row, lane_id(), crossing[i]);
                }
#pragma unroll
                for (u32 i = 0; i < TOGETHER; ++i) {
                    const u32 row = along_z ? (begin + i) * TILE_Y + face : face * TILE_Y + begin + i;
                    if (crosses >> i & 1) mark(d, row, lane_id(), crossing[i]);
                }
            }
        }
    }
    __device__ __forceinline__ void all() {
#pragma unroll 1  // seldom run, and long
        for (u32 d = 0; d < DIRECTIONS; ++d) {
            if (dx(d) != 0) over_sides(d);
            if (dy(d) != 0 || dz(d) != 0) over_outer_rows(d);
        }
        touched = union_of_warp(touched);
    }
};
