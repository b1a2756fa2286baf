// The discharge of one tile: its capacities and excess come to shared memory, excess moves one level down after the
// other, what crossed the border is handed over.
#include "copies.cuh"
#include "cuda_tiled_search.cuh"

// Entries of a row in shared memory: rows begin where 8 bytes can be copied at once, and lanes that are at the same
// place of their rows are at different banks, or two at one.
constexpr u32 line_of(u32 bytes) { return bytes == 2 ? 36 : bytes == 4 ? 34 : 33; }
constexpr u32 RESIDUAL_LINE = line_of(RESIDUAL_BYTES), EXCESS_LINE = line_of(EXCESS_BYTES);
// A plane of rows with those around it, which stay empty.
constexpr u32 FRAME_Y = TILE_Y + 2 * REACH_Y, FRAME = (TILE_Z + 2 * REACH_Z) * FRAME_Y;

CONSTANT u32 rounded(u32 bytes) { return (bytes + 15) / 16 * 16; }
constexpr u32 MASK_BYTES = rounded(DIRECTIONS * ROWS * 4), BITS_BYTES = rounded(ROWS * 4);
constexpr u32 LIST_SIZE = 256, LIST_BYTES = 2 * LIST_SIZE;
constexpr u32 EXCESS_BYTES_OF_TILE = rounded(ROWS * EXCESS_LINE * EXCESS_BYTES);
constexpr u32 RESIDUAL_BYTES_OF_TILE = rounded(DIRECTIONS * ROWS * RESIDUAL_LINE * RESIDUAL_BYTES);
constexpr u32 SLOT_BYTES = EXCESS_BYTES_OF_TILE + RESIDUAL_BYTES_OF_TILE + 2 * MASK_BYTES + 4 * BITS_BYTES +
                           rounded(FRAME * 4) + LIST_BYTES;

// The shared memory of a warp, found anew at each use: so the compiler knows that it is shared memory.
struct Slot {
    static constexpr u32 RESIDUAL = EXCESS_BYTES_OF_TILE, MASK = RESIDUAL + RESIDUAL_BYTES_OF_TILE,
                         CROSSED = MASK + MASK_BYTES, ACTIVE_ROWS = CROSSED + MASK_BYTES,
                         ROOT_ROWS = ACTIVE_ROWS + BITS_BYTES, ROOTS_BEFORE = ROOT_ROWS + BITS_BYTES,
                         OVER_BORDER = ROOTS_BEFORE + BITS_BYTES, BELOW = OVER_BORDER + BITS_BYTES,
                         LIST = BELOW + rounded(FRAME * 4);

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
    // What a wave goes by: pixels that could send to the sink when the tile was searched, those that a shortest path
    // leaves the tile from, those of the next level below in a frame, and a list of pixels.
    __device__ static __forceinline__ u32& root_before(u32 row) { return at<u32>(ROOTS_BEFORE)[row]; }
    __device__ static __forceinline__ u32& over_border(u32 row) { return at<u32>(OVER_BORDER)[row]; }
    __device__ static __forceinline__ u32* below() { return at<u32>(BELOW); }
    __device__ static __forceinline__ unsigned short& listed(u32 i) { return at<unsigned short>(LIST)[i]; }
};

// Where a row is in its frame, and how far a direction leads there.
CONSTANT u32 place_in_frame(u32 row) { return (row / TILE_Y + REACH_Z) * FRAME_Y + row % TILE_Y + REACH_Y; }
CONSTANT int step_in_frame(u32 direction) { return dz(direction) * static_cast<int>(FRAME_Y) + dy(direction); }

__device__ __forceinline__ int fetch_add_excess(int* at, int value) {
    return static_cast<int>(relaxed_fetch_add(reinterpret_cast<u32*>(at), static_cast<u32>(value)));
}
__device__ __forceinline__ i64 fetch_add_excess(i64* at, i64 value) { return relaxed_fetch_add(at, value); }
template <class T>
__device__ __forceinline__ void add_excess(T* at, T value) { static_cast<void>(fetch_add_excess(at, value)); }

// Calls `copy(place in shared memory, place on the device)` for each 8 bytes of a tile's rows of numbers of type T.
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

// Appends what some lanes have to the list; returns its new size.
__device__ __forceinline__ u32 append_to_list(u32 size, bool has, u32 entry) {
    const u32 voters = __ballot_sync(ALL_LANES, has);
    if (has) Slot::listed(size + __popc(voters & ((1u << lane_id()) - 1))) = static_cast<unsigned short>(entry);
    return size + __popc(voters);
}

// Where a pixel is pushed to in its tile.
struct Inside {
    u32 row, x, bit;

    __device__ Inside(u32 d, u32 from_row, u32 from_x)
        : row(from_row + dz(d) * TILE_Y + dy(d)), x(from_x + dx(d)), bit(1u << (x & 31)) {}
};

// Reads a word whose other bits other lanes may change.
#ifdef PREFLOW_ON_CPU
inline u32 load_own_bits(const u32* at) { return relaxed_load(at); }
#else
__device__ __forceinline__ u32 load_own_bits(const u32* at) { return *at; }
#endif

// Moves the excess of a tile down.
struct Pusher {
    const Arguments& args;
    const Shape& shape;
    const Tile& tile;
    u32 pushes = 0;

    // Returns over which arcs of its tile a pixel may push: those to the level below.
    __device__ __forceinline__ u32 admissible(u32 row, u32 x) const {
        const u32* const below = Slot::below() + place_in_frame(row);
        u32 directions = 0;
#pragma unroll
        for (u32 d = 0; d < DIRECTIONS; ++d) {
            const u32 there = below[step_in_frame(d)];
            const u32 bits = load_own_bits(&Slot::mask(d, row)) & (dx(d) >= 0 ? there >> dx(d) : there << -dx(d));
            directions |= (bits >> x & 1) << d;
        }
        return directions;
    }

    // Pushes from a pixel over the arcs of its tile in `directions`. Who gets something counts as active until its
    // turn comes, which is later: it is below. Returns what is left.
    __device__ __forceinline__ Excess push_inside(u32 directions, u32 row, u32 x, Excess excess) {
        while (directions != 0 && excess > 0) {
            const u32 d = __ffs(directions) - 1;
            directions &= directions - 1;
            const Inside to(d, row, x);
            Residual& forth = Slot::residual(d, row, x);
            Residual& back = Slot::residual(d ^ 1, to.row, to.x);
            const Residual forth_before = forth, back_before = back;
            const Excess capacity = forth_before, amount = excess < capacity ? excess : capacity;
            excess -= amount;
            ++pushes;
            forth = static_cast<Residual>(capacity - amount);
            back = static_cast<Residual>(back_before + amount);
            if (amount == capacity) relaxed_fetch_and(&Slot::mask(d, row), ~(1u << x));
            if (back_before == 0) relaxed_fetch_or(&Slot::mask(d ^ 1, to.row), to.bit);
            add_excess(&Slot::excess(to.row, to.x), amount);
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
        const Excess before = Slot::excess(row, x);
        Excess excess = push_inside(admissible(row, x), row, x, before);
        if (excess > 0 && (Slot::over_border(row) & bit) != 0) excess = push_over_border(row, x, excess);
        if (excess != before) Slot::excess(row, x) = excess;
        if (excess <= 0) relaxed_fetch_and(&Slot::active(row), ~bit);
        if (excess >= 0 && (Slot::root_before(row) & bit) != 0) relaxed_fetch_and(&Slot::root(row), ~bit);
    }

    // Lists pixels of all rows, as many as there is room for, and takes them out; returns how many.
    __device__ __forceinline__ u32 list_pixels(Rows& work) const {
        u32 size = 0;
#pragma unroll
        for (u32 k = 0; k < ROWS_A_LANE; ++k) {
            while (size + WARP <= LIST_SIZE) {
                const u32 more = append_to_list(size, work[k] != 0, row_of(k) * WIDTH + __ffs(work[k]) - 1);
                if (more == size) break;
                size = more;
                work[k] &= work[k] - 1;
            }
        }
        return size;
    }

    // Moves excess from the highest level down to the first. The pixels of a level are shared evenly among the lanes.
    __device__ __forceinline__ void move_down(const Rows& root, const Levels& levels) {
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
            for (u32 k = 0; k < ROWS_A_LANE; ++k) Slot::below()[place_in_frame(row_of(k))] = below[k];
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

    __device__ __forceinline__ u64 here(u32 row, u32 x) const { return tile.pixel(row) + x - args.first_pixel; }

    // Hands over what crossed an arc.
    __device__ __forceinline__ void cross(u32 d, u32 row, u32 x) {
        const u64 p = here(row, x), q = p + shape.step(d);
        const Residual before = args.residual[d * args.direction_stride + p];
        Residual* const back = &args.residual[(d ^ 1) * args.direction_stride + q];
        const Residual back_before = *back;
        const Excess amount = before - Slot::residual(d, row, x);
        *back = static_cast<Residual>(back_before + amount);
        mark(d, row, x, back_before == 0, fetch_add_excess(&args.terminal[q], amount), amount);
    }
    __device__ __forceinline__ void mark(u32 d, u32 row, u32 x, bool opens, Excess before, Excess amount) {
        const int z = static_cast<int>(row / TILE_Y) + dz(d), y = static_cast<int>(row % TILE_Y) + dy(d),
                  to_x = static_cast<int>(x) + dx(d);
        const int tz = z < 0 ? -1 : z >= TILE_Z, ty = y < 0 ? -1 : y >= TILE_Y,
                  tx = to_x < 0 ? -1 : to_x >= static_cast<int>(WIDTH);
        const u32 number = static_cast<u32>((tz + 1) * 9 + (ty + 1) * 3 + tx + 1);
        const u32 to = static_cast<u32>((z - tz * TILE_Z) * TILE_Y + y - ty * TILE_Y), bit = 1u << (to_x & 31);
        u32* const words = args.words + static_cast<u64>(tile.neighbor(shape, number)) * KINDS * ROWS + to;
        const Excess now = before + amount;
        if (opens) relaxed_fetch_or(&words[(d ^ 1) * ROWS], bit);
        if (before <= 0 && now > 0) relaxed_fetch_or(&words[ACTIVE * ROWS], bit);
        if (before < 0 && now >= 0) relaxed_fetch_and(&words[ROOT * ROWS], ~bit);
        touched |= 1u << number;
    }

    __device__ __forceinline__ void cross_listed(u32 size) {
        __syncwarp();
        for (u32 i = lane_id(); i < size; i += WARP) {
            const u32 arc = Slot::listed(i), pixel = arc % (ROWS * WIDTH);
            cross(arc / (ROWS * WIDTH), pixel / WIDTH, pixel % WIDTH);
        }
        __syncwarp();
    }
    // Lists the arcs over which something crossed, so that the lanes share them evenly.
    __device__ __forceinline__ void all() {
        static_assert(DIRECTIONS * ROWS * WIDTH <= 1u << 16, "an arc is a number of 16 bits");
        u32 size = 0;
#pragma unroll 1  // seldom run, and long
        for (u32 d = 0; d < DIRECTIONS; ++d) {
#pragma unroll
            for (u32 k = 0; k < ROWS_A_LANE; ++k) {
                const u32 first = (d * ROWS + row_of(k)) * WIDTH;
                for (u32 bits = Slot::crossed(d, row_of(k)); __any_sync(ALL_LANES, bits != 0); bits &= bits - 1) {
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
