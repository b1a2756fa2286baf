// The kernels of tiling.py: capacities as they are given, or capacities and excess that are on the device, become what
// is kept of tiles, and what was found there becomes an image.
#ifndef NEIGHBOR_BYTES
#define NEIGHBOR_BYTES 2  // of a capacity that is given
#define IS_SYMMETRIC 1    // one capacity for both arcs of a pair
#define HAS_FLOW 0        // a flow to start from
#endif

#include "cuda_tiled_state.cuh"

using Neighbor = SignedOf<NEIGHBOR_BYTES>::Type;

struct InputArguments {
    u64 tiles_z, tiles_y, tiles_x;
    u64 first_tile, end_tile;
    u64 first_pixel, direction_stride;
    u64 depth, height, width;  // of the image, without what fills its last tiles
    const Neighbor* neighbor;
    u64 direction_step, z_step, y_step, x_step;  // from entry to entry of it
    const Excess* flow;                          // of the even directions, each as large as the image
    Residual* residual;
    Excess* terminal;
    u32* words;
};

// A pixel of the image.
struct Pixel {
    i64 z, y, x;

    __device__ Pixel to(u32 d) const { return {z + dz(d), y + dy(d), x + dx(d)}; }
    __device__ bool is_in(const InputArguments& args) const {
        return 0 <= z && z < static_cast<i64>(args.depth) && 0 <= y && y < static_cast<i64>(args.height) && 0 <= x &&
               x < static_cast<i64>(args.width);
    }
};

// Returns the capacity of an arc between two pixels of the image.
__device__ __forceinline__ Excess given_capacity(const InputArguments& args, Pixel from, u32 d) {
    const Pixel at = IS_SYMMETRIC && d % 2 ? from.to(d) : from;
    const u64 row = IS_SYMMETRIC ? d / 2 : d;
    return args.neighbor[row * args.direction_step + at.z * args.z_step + at.y * args.y_step + at.x * args.x_step];
}

// Returns what flows over an arc at the start: what is given, as far as the capacities go.
__device__ __forceinline__ Excess given_flow(const InputArguments& args, Pixel from, u32 d) {
    if (!HAS_FLOW) return 0;
    const u32 even = d & ~1u;
    const Pixel at = d % 2 ? from.to(d) : from;
    const Excess flow = args.flow[((d / 2 * args.depth + at.z) * args.height + at.y) * args.width + at.x];
    const Excess most = given_capacity(args, at, even), least = -given_capacity(args, at.to(even), even + 1);
    const Excess within = flow > most ? most : flow < least ? least : flow;
    return d % 2 ? -within : within;
}

// Writes the bits of a tile from a warp's rows of capacities and excess, row after row.
struct BitWriter {
    u32* words;

    __device__ __forceinline__ void write(u32 kind, u32 row, bool bit) const {
        const u32 bits = __ballot_sync(ALL_LANES, bit);
        if (lane_id() == 0) words[kind * ROWS + row] = bits;
    }
    __device__ __forceinline__ void write_excess(u32 row, Excess excess) const {
        write(ROOT, row, excess < 0);
        write(ACTIVE, row, excess > 0);
        write(REACHED, row, false);
    }
};

// Fills tiles from an image. `terminal` comes with what the source gives less what the sink takes.
KERNEL(fill_tiles, InputArguments) {
    const u64 line = args.tiles_x * WIDTH, plane = line * args.tiles_y * TILE_Y;
    const u64 rows = (args.end_tile - args.first_tile) * ROWS;
    for (u64 i = grid_thread() / WARP; i < rows; i += grid_threads() / WARP) {
        const u64 tile = args.first_tile + i / ROWS;
        const u32 row = static_cast<u32>(i % ROWS);
        const Pixel pixel{static_cast<i64>(tile / args.tiles_x / args.tiles_y * TILE_Z + row / TILE_Y),
                          static_cast<i64>(tile / args.tiles_x % args.tiles_y * TILE_Y + row % TILE_Y),
                          static_cast<i64>(tile % args.tiles_x * WIDTH + lane_id())};
        const u64 p = pixel.z * plane + pixel.y * line + pixel.x - args.first_pixel;
        const BitWriter bits{args.words + tile * KINDS * ROWS};
        const bool is_in = pixel.is_in(args);
        Excess excess = args.terminal[p];
#pragma unroll
        for (u32 d = 0; d < DIRECTIONS; ++d) {
            Excess residual = 0;
            if (is_in && pixel.to(d).is_in(args)) {
                const Excess flow = given_flow(args, pixel, d);
                residual = given_capacity(args, pixel, d) - flow;
                excess -= flow;
            }
            args.residual[d * args.direction_stride + p] = static_cast<Residual>(residual);
            bits.write(d, row, residual > 0);
        }
        if (HAS_FLOW) args.terminal[p] = excess;
        bits.write_excess(row, excess);
    }
}

// Writes the bits of tiles whose capacities and excess are there.
KERNEL(mark_tiles, InputArguments) {
    const u64 line = args.tiles_x * WIDTH, plane = line * args.tiles_y * TILE_Y;
    const u64 rows = (args.end_tile - args.first_tile) * ROWS;
    for (u64 i = grid_thread() / WARP; i < rows; i += grid_threads() / WARP) {
        const u64 tile = args.first_tile + i / ROWS;
        const u32 row = static_cast<u32>(i % ROWS);
        const u64 z = tile / args.tiles_x / args.tiles_y * TILE_Z + row / TILE_Y,
                  y = tile / args.tiles_x % args.tiles_y * TILE_Y + row % TILE_Y, x = tile % args.tiles_x * WIDTH;
        const u64 p = z * plane + y * line + x + lane_id() - args.first_pixel;
        const BitWriter bits{args.words + tile * KINDS * ROWS};
#pragma unroll
        for (u32 d = 0; d < DIRECTIONS; ++d) bits.write(d, row, args.residual[d * args.direction_stride + p] > 0);
        bits.write_excess(row, args.terminal[p]);
    }
}

struct SidesArguments {
    u64 tiles_z, tiles_y, tiles_x;
    u64 depth, height, width;
    const u32* words;
    u8* sink_side;
};

// Writes which pixels of an image the sink can be reached from.
KERNEL(write_sides, SidesArguments) {
    const u64 size = args.depth * args.height * args.width;
    for (u64 p = grid_thread(); p < size; p += grid_threads()) {
        const u64 x = p % args.width, y = p / args.width % args.height, z = p / args.width / args.height;
        const u64 tile = (z / TILE_Z * args.tiles_y + y / TILE_Y) * args.tiles_x + x / WIDTH;
        const u64 row = z % TILE_Z * TILE_Y + y % TILE_Y;
        args.sink_side[p] = args.words[(tile * KINDS + REACHED) * ROWS + row] >> x % WIDTH & 1;
    }
}
