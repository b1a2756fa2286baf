// The discharge of one tile: its capacities and excess come to shared memory, excess moves one level down after the
// other, what crossed the border is handed over.
#include "cuda_tiled_search.cuh"

// Entries of a row in shared memory: lanes that are at the same place of their rows are at different banks.
constexpr u32 RESIDUAL_LINE = RESIDUAL_BYTES == 2 ? 34 : 33, EXCESS_LINE = 33;

constexpr u32 rounded(u32 bytes) { return (bytes + 15) / 16 * 16; }
constexpr u32 MASK_BYTES = rounded(DIRECTIONS * ROWS * 4), BITS_BYTES = rounded(ROWS * 4);
constexpr u32 EXCESS_BYTES_OF_TILE = rounded(ROWS * EXCESS_LINE * EXCESS_BYTES);
constexpr u32 RESIDUAL_BYTES_OF_TILE = rounded(DIRECTIONS * ROWS * RESIDUAL_LINE * RESIDUAL_BYTES);
constexpr u32 SLOT_BYTES = EXCESS_BYTES_OF_TILE + RESIDUAL_BYTES_OF_TILE + 2 * MASK_BYTES + 2 * BITS_BYTES;

constexpr u32 LABEL_LINE = 33, LABEL_BYTES = rounded(ROWS * LABEL_LINE * 4);

// The shared memory of a warp. Searches at rest keep labels there, and more warps have room.
struct Slot {
    char* begin;
    u32* labels;

    __device__ explicit Slot()
        : begin(shared_memory() + threadIdx.x / WARP * SLOT_BYTES),
          labels(reinterpret_cast<u32*>(shared_memory() + threadIdx.x / WARP * LABEL_BYTES)) {}

    __device__ Excess* excess() const { return reinterpret_cast<Excess*>(begin); }
    __device__ Residual* residual() const { return reinterpret_cast<Residual*>(begin + EXCESS_BYTES_OF_TILE); }
    __device__ u32* mask() const {
        return reinterpret_cast<u32*>(begin + EXCESS_BYTES_OF_TILE + RESIDUAL_BYTES_OF_TILE);
    }
    __device__ u32* crossed() const { return mask() + MASK_BYTES / 4; }
    __device__ u32* active() const { return crossed() + MASK_BYTES / 4; }
    __device__ u32* root() const { return active() + BITS_BYTES / 4; }

    __device__ Excess& excess(u32 row, u32 x) const { return excess()[row * EXCESS_LINE + x]; }
    __device__ Residual& residual(u32 d, u32 row, u32 x) const {
        return residual()[(d * ROWS + row) * RESIDUAL_LINE + x];
    }
    __device__ u32& mask(u32 d, u32 row) const { return mask()[d * ROWS + row]; }
    __device__ u32& crossed(u32 d, u32 row) const { return crossed()[d * ROWS + row]; }
    __device__ u32& label(u32 row, u32 x) const { return labels[row * LABEL_LINE + x]; }
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
#pragma unroll 8
    for (u32 i = lane_id(); i < ROWS * WORDS; i += WARP) {
        const u32 row = i / WORDS, column = i % WORDS;
        copy(reinterpret_cast<u32*>(here) + row * LINE_WORDS + column,
             reinterpret_cast<u32*>(there + tile.pixel(row)) + column);
    }
}

template <class Copy>
__device__ __forceinline__ void copy_tile(const Arguments& args, const Tile& tile, const Slot& slot, Copy copy) {
    for_all_words<Excess, EXCESS_LINE>(tile, args.terminal - args.first_pixel, slot.excess(), copy);
#pragma unroll
    for (u32 d = 0; d < DIRECTIONS; ++d)
        for_all_words<Residual, RESIDUAL_LINE>(tile, args.residual + d * args.direction_stride - args.first_pixel,
                                               slot.residual() + d * ROWS * RESIDUAL_LINE, copy);
}

// Where a pixel is pushed to in its tile.
struct Inside {
    u32 row, x, bit;

    __device__ Inside(u32 d, u32 from_row, u32 from_x)
        : row(from_row + dz(d) * TILE_Y + dy(d)), x(from_x + dx(d)), bit(1u << (x & 31)) {}
};

// Returns a lane's word of one of its rows.
__device__ __forceinline__ u32 word_of(const Rows& bits, u32 k) {
    u32 word = bits[0];
#pragma unroll
    for (u32 i = 1; i < ROWS_A_LANE; ++i) word = i == k ? bits[i] : word;
    return word;
}

// Moves the excess of a tile down.
struct Pusher {
    const Arguments& args;
    const Shape& shape;
    const Tile& tile;
    const Slot& slot;
    u32 pushes = 0;

    // Pushes from a pixel over the arcs of its tile in `directions`. What depends on each other are four accesses to
    // shared memory, whatever the number of directions. Who gets something counts as active until its turn comes,
    // which is later: it is below. Returns what is left.
    __device__ __forceinline__ Excess push_inside(u32 directions, u32 row, u32 x) {
        Residual capacity[DIRECTIONS];
        Excess amount[DIRECTIONS];
        Excess excess = slot.excess(row, x);
#pragma unroll
        for (u32 d = 0; d < DIRECTIONS; ++d) capacity[d] = directions >> d & 1 ? slot.residual(d, row, x) : 0;
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
            back[d] = amount[d] > 0 ? slot.residual(d ^ 1, to.row, to.x) : 0;
        }
#pragma unroll
        for (u32 d = 0; d < DIRECTIONS; ++d) {
            if (amount[d] <= 0) continue;
            const Inside to(d, row, x);
            ++pushes;
            slot.residual(d, row, x) = static_cast<Residual>(capacity[d] - amount[d]);
            slot.residual(d ^ 1, to.row, to.x) = static_cast<Residual>(back[d] + amount[d]);
            if (amount[d] == static_cast<Excess>(capacity[d])) relaxed_fetch_and(&slot.mask(d, row), ~(1u << x));
            if (back[d] == 0) relaxed_fetch_or(&slot.mask(d ^ 1, to.row), to.bit);
            add_excess(&slot.excess(to.row, to.x), amount[d]);
            relaxed_fetch_or(&slot.active()[to.row], to.bit);
        }
        return excess;
    }

    __device__ static bool leaves(u32 d, u32 row, u32 x) {
        return !row_is_inside(d, row) || x + static_cast<u32>(dx(d)) >= WIDTH;
    }

    // Pushes to the lowest neighbours in other tiles; returns what is left.
    __device__ __noinline__ Excess push_over_border(u32 residual_directions, u32 row, u32 x, Excess excess) {
        const u32* const label = args.label + tile.pixel(row) + x;
        u32 there[DIRECTIONS], least = NONE;
#pragma unroll
        for (u32 d = 0; d < DIRECTIONS; ++d) {
            const bool is_possible = (residual_directions >> d & 1) != 0 && leaves(d, row, x);
            there[d] = is_possible ? label[shape.step(d)] : NONE;
        }
#pragma unroll
        for (u32 d = 0; d < DIRECTIONS; ++d) least = min(least, there[d]);
#pragma unroll
        for (u32 d = 0; d < DIRECTIONS; ++d) {
            if (there[d] != least || least == NONE || excess <= 0) continue;
            Residual& residual = slot.residual(d, row, x);
            const Excess capacity = residual, amount = excess < capacity ? excess : capacity;
            residual = static_cast<Residual>(capacity - amount);
            if (amount == capacity) relaxed_fetch_and(&slot.mask(d, row), ~(1u << x));
            slot.crossed(d, row) |= 1u << x;
            excess -= amount;
            ++pushes;
        }
        return excess;
    }

    // Moves excess from the highest level down to the first.
    __device__ __forceinline__ void move_down(const u32 (&mask)[DIRECTIONS][ROWS_A_LANE], const Rows& root,
                                              const Levels& levels) {
        for (u32 level = levels.size; level-- > 0;) {
            Rows work;
#pragma unroll
            for (u32 k = 0; k < ROWS_A_LANE; ++k) work[k] = levels.at(level, k) & slot.active()[row_of(k)];
            if (!any_of_warp(work)) continue;
            __syncwarp();  // all have read which are active before any of them changes it
            Rows below;
            u32 admissible[DIRECTIONS][ROWS_A_LANE];
#pragma unroll
            for (u32 k = 0; k < ROWS_A_LANE; ++k) below[k] = level > 0 ? levels.at(level - 1, k) : 0;
#pragma unroll
            for (u32 d = 0; d < DIRECTIONS; ++d) {
#pragma unroll
                for (u32 k = 0; k < ROWS_A_LANE; ++k) {
                    const u32 bits = neighbor_bits(below, d, k);
                    admissible[d][k] = row_is_inside(d, row_of(k)) ? bits & mask[d][k] : 0;
                }
            }
            while (true) {
                u32 k = 0;
#pragma unroll
                for (u32 i = 0; i < ROWS_A_LANE; ++i) k = work[i] != 0 ? i : k;
                const u32 word = word_of(work, k);
                if (word == 0) break;
                const u32 x = __ffs(word) - 1, bit = 1u << x, row = row_of(k);
#pragma unroll
                for (u32 i = 0; i < ROWS_A_LANE; ++i) work[i] &= i == k ? ~bit : ~0u;
                u32 directions = 0, residual = 0;
#pragma unroll
                for (u32 d = 0; d < DIRECTIONS; ++d) {
                    directions |= (word_of(admissible[d], k) >> x & 1) << d;
                    residual |= (word_of(mask[d], k) >> x & 1) << d;
                }
                Excess excess = push_inside(directions, row, x);
                if (excess > 0 && (word_of(levels.over_border, k) & bit) != 0)
                    excess = push_over_border(residual, row, x, excess);
                slot.excess(row, x) = excess;
                if (excess <= 0) relaxed_fetch_and(&slot.active()[row], ~bit);
                if (excess >= 0 && (word_of(root, k) & bit) != 0) relaxed_fetch_and(&slot.root()[row], ~bit);
            }
            __syncwarp();
        }
    }
};

// Hands what crossed the border to the tiles there, which rest; returns their numbers as bits. The capacities on the
// device are still those from before.
struct HandOver {
    const Arguments& args;
    const Shape& shape;
    const Tile& tile;
    const Slot& slot;
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
                                                      slot.residual(d, row, x));
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
            u32 bits = row_is_inside(d, row) ? slot.crossed(d, row) : 0;
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
                    if ((slot.crossed(d, row) >> lane_id() & 1) == 0) continue;
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
#pragma unroll
        for (u32 d = 0; d < DIRECTIONS; ++d) {
            if (dx(d) != 0) over_sides(d);
            if (dy(d) != 0 || dz(d) != 0) over_outer_rows(d);
        }
        touched = union_of_warp(touched);
    }
};
