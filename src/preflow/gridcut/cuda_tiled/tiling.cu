// The kernels of tiling.py: they fill the tiles from an image, write the words of tiles, and write the sink side.
#ifndef NEIGHBOR_BYTES
#define NEIGHBOR_BYTES 2  // of a capacity of the input
#define SOURCE_BYTES 2
#define SINK_BYTES 2
#define IS_SYMMETRIC 1  // one capacity for both arcs of a pair
#define HAS_FLOW 0      // whether there is a flow to start from
#endif

#include "tile_state.cuh"

#include "tiling.py: MarkArguments, FillArguments, ReceiveArguments, MeasureArguments, SidesArguments"

// A pixel of the image.
struct Pixel {
    i64 z, y, x;

    __device__ Pixel to(u32 d) const { return {z + dz(d), y + dy(d), x + dx(d)}; }
    __device__ bool is_in(const FillArguments& args) const {
        return 0 <= z && z < args.shape[0] && 0 <= y && y < args.shape[1] && 0 <= x && x < args.shape[2];
    }
    __device__ i64 entry(const i64 (&steps)[3]) const { return z * steps[0] + y * steps[1] + x * steps[2]; }
};

// Returns the capacity of an arc between two pixels of the image, as given.
__device__ __forceinline__ Excess given_capacity(const FillArguments& args, Pixel from, u32 d) {
    const Pixel at = IS_SYMMETRIC && d % 2 ? from.to(d) : from;
    const i64 row = IS_SYMMETRIC ? d / 2 : d;
    return args.neighbor[row * args.direction_step + at.entry(args.neighbor_steps)];
}

// Returns the flow over an arc at the start, cut off at the capacities.
__device__ __forceinline__ Excess given_flow(const FillArguments& args, Pixel from, u32 d) {
    if (!HAS_FLOW) return 0;
    const u32 even = d & ~1u;
    const Pixel at = d % 2 ? from.to(d) : from;
    const Excess flow = args.flow[((d / 2 * args.shape[0] + at.z) * args.shape[1] + at.y) * args.shape[2] + at.x];
    const Excess most = given_capacity(args, at, even), least = -given_capacity(args, at.to(even), even + 1);
    const Excess within = flow > most ? most : flow < least ? least : flow;
    return d % 2 ? -within : within;
}

// Writes the words of a tile row by row; each lane has a pixel of the row.
struct BitWriter {
    u32* words;

    __device__ __forceinline__ void write(u32 kind, u32 row, bool bit) const {
        const u32 bits = __ballot_sync(ALL_LANES, bit);
        if (lane_id() == 0) words[kind * ROWS + row] = bits;
    }
    __device__ __forceinline__ void write_excess(u32 row, Excess excess) const {
        write(ROOT, row, excess < 0);
        write(ACTIVE, row, excess > 0);
    }
};

// A row of a tile, and the lane's pixel in it; `here` is its index among the pixels on the device.
struct TileRow {
    u64 tile;
    u32 row;
    Pixel pixel;
    u64 here;

    __device__ TileRow(const MarkArguments& args, u64 number)
        : tile(args.first_tile + number / ROWS), row(static_cast<u32>(number % ROWS)),
          pixel{static_cast<i64>(tile / args.tiles[2] / args.tiles[1] * TILE_Z + row / TILE_Y),
                static_cast<i64>(tile / args.tiles[2] % args.tiles[1] * TILE_Y + row % TILE_Y),
                static_cast<i64>(tile % args.tiles[2] * WIDTH + lane_id())},
          here((pixel.z * args.tiles[1] * TILE_Y + pixel.y) * args.tiles[2] * WIDTH + pixel.x - args.first_pixel) {}
};

// Calls `visit` with each row of the tiles; the warps share the rows.
template <class Visit>
__device__ __forceinline__ void for_each_row(const MarkArguments& args, Visit visit) {
    const u64 rows = (args.end_tile - args.first_tile) * ROWS;
    for (u64 i = grid_thread() / WARP; i < rows; i += grid_threads() / WARP) visit(TileRow(args, i));
}

// Fills tiles from an image.
KERNEL(fill_tiles, FillArguments) {
    for_each_row(args.tiles, [&](const TileRow& at) {
        const BitWriter bits{args.tiles.words + at.tile * KINDS * ROWS};
        const Pixel pixel = at.pixel;
        const bool is_in = pixel.is_in(args);
        Excess excess = 0;
        if (is_in)
            excess = static_cast<Excess>(i64{args.source[pixel.entry(args.source_steps)]} -
                                         i64{args.sink[pixel.entry(args.sink_steps)]});
#pragma unroll
        for (u32 d = 0; d < DIRECTIONS; ++d) {
            Excess residual = 0;
            if (is_in && pixel.to(d).is_in(args)) {
                const Excess flow = given_flow(args, pixel, d);
                residual = given_capacity(args, pixel, d) - flow;
                excess -= flow;
            }
            args.tiles.residual[d * args.tiles.direction_stride + at.here] = static_cast<Residual>(residual);
            bits.write(d, at.row, residual > 0);
        }
        args.tiles.terminal[at.here] = excess;
        bits.write_excess(at.row, excess);
        bits.write(REACHED, at.row, false);
    });
}

// Writes the words of tiles whose capacities and excess are on the device.
KERNEL(mark_tiles, MarkArguments) {
    for_each_row(args, [&](const TileRow& at) {
        const BitWriter bits{args.words + at.tile * KINDS * ROWS};
#pragma unroll
        for (u32 d = 0; d < DIRECTIONS; ++d)
            bits.write(d, at.row, args.residual[d * args.direction_stride + at.here] > 0);
        bits.write_excess(at.row, args.terminal[at.here]);
        bits.write(REACHED, at.row, false);
    });
}

// Adds flow that has arrived from a grid on another device. What the last search reached stays as it is.
KERNEL(receive_flow, ReceiveArguments) {
    for_each_row(args.tiles, [&](const TileRow& at) {
        const u64 place = at.here + args.tiles.first_pixel - args.first;
        if (place >= args.size) return;
        const BitWriter bits{args.tiles.words + at.tile * KINDS * ROWS};
        u64 given = place;
#pragma unroll
        for (u32 d = 0; d < DIRECTIONS; ++d) {
            if ((args.directions >> d & 1) == 0) continue;
            Residual& residual = args.tiles.residual[d * args.tiles.direction_stride + at.here];
            residual = static_cast<Residual>(residual + args.residual[given]);
            bits.write(d, at.row, residual > 0);
            given += args.size;
        }
        const Excess excess = args.tiles.terminal[at.here] + args.excess[place];
        args.tiles.terminal[at.here] = excess;
        bits.write_excess(at.row, excess);
    });
}

// Adds up the deficits and the excess of each layer of tiles.
KERNEL(measure_layers, MeasureArguments) {
    const u64 warps = grid_threads() / WARP, num_tiles = args.tiles.end_tile - args.tiles.first_tile;
    for (u64 t = grid_thread() / WARP; t < num_tiles; t += warps) {
        i64 sums[4] = {0, 0, 0, 0};
        const TileRow first(args.tiles, t * ROWS);
        const Excess* const terminal = args.tiles.terminal + first.here;
        const u32* const words = args.tiles.words + (first.tile * KINDS + REACHED) * ROWS;
        const u64 line = args.tiles.tiles[2] * WIDTH, plane = line * args.tiles.tiles[1] * TILE_Y;
#pragma unroll 8
        for (u32 row = 0; row < ROWS; ++row) {
            const i64 here = terminal[row / TILE_Y * plane + row % TILE_Y * line];
            const u32 reached = words[row] >> lane_id() & 1;
            const u32 kind = here < 0 ? 0 : 1;
            const i64 counted = here < 0 || reached != 0 || args.reached_only == 0 ? here : 0;
            sums[kind] += counted >> 32;
            sums[kind + 2] += counted & 0xffffffff;
        }
        const u64 layer = (args.tiles.first_tile + t) / args.tiles_of_layer;
        for (u32 i = 0; i < 4; ++i) add_up(&args.sums[i * args.layers + layer], static_cast<u64>(sums[i]));
    }
}

// Writes the pixels of an image from which the sink can be reached.
KERNEL(write_sides, SidesArguments) {
    const u64 size = args.shape[0] * args.shape[1] * args.shape[2];
    for (u64 p = grid_thread(); p < size; p += grid_threads()) {
        const u64 x = p % args.shape[2], y = p / args.shape[2] % args.shape[1], z = p / args.shape[2] / args.shape[1];
        const u64 tile = (z / TILE_Z * args.tiles[1] + y / TILE_Y) * args.tiles[2] + x / WIDTH;
        const u64 row = z % TILE_Z * TILE_Y + y % TILE_Y;
        args.sink_side[p] = args.words[(tile * KINDS + REACHED) * ROWS + row] >> x % WIDTH & 1;
    }
}
