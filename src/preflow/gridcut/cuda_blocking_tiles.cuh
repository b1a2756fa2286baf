// Blocks of threads over blocks of pixels, tiles, with the heights of a tile and around it in shared memory.
#include "direction_major.cuh"

// How a grid falls into tiles, which are flat: rows of one slice.
struct Tiling {
    u64 width, height, depth;
    u64 tile_width, tile_height;
    u64 reach_x, reach_y, reach_z;  // how far neighbours are away
    const u32* shift;               // modulo 2**32: leads to the height of a neighbour in shared memory

    __device__ u32 tiles_x() const { return static_cast<u32>((width + tile_width - 1) / tile_width); }
    __device__ u32 tiles_y() const { return static_cast<u32>((height + tile_height - 1) / tile_height); }
};

class Tiles {
    const Tiling& tiling;
    const u32* height;  // of all pixels
    u32* wanted;        // whether a tile has work, of three tiles that follow each other
    u32* around;        // heights in shared memory
    u32 turn = 0;
    u32 x = 0, y = 0, z = 0;  // where the tile begins

    // Calls `what` with each of the tile's pixels that is this thread's, and where its height is in shared memory.
    template <class What>
    __device__ void for_pixels(What what) const {
        const u32 tile_width = static_cast<u32>(tiling.tile_width);
        const u32 row = static_cast<u32>(tile_width + 2 * tiling.reach_x);
        const u32 slice = static_cast<u32>(row * (tiling.tile_height + 2 * tiling.reach_y));
        const u32 first = static_cast<u32>(tiling.reach_z * slice + tiling.reach_y * row + tiling.reach_x);
        for (u32 i = threadIdx.x; i < tile_width * tiling.tile_height; i += blockDim.x) {
            const u32 dx = i % tile_width, dy = i / tile_width;
            if (x + dx >= tiling.width || y + dy >= tiling.height) continue;
            const u64 p = (z * tiling.height + y + dy) * tiling.width + x + dx;
            what(static_cast<u32>(p), &around[first + dy * row + dx]);
        }
    }

    // Brings heights to shared memory, UNREACHED where the grid ends.
    __device__ void load() const {
        const u32 row = static_cast<u32>(tiling.tile_width + 2 * tiling.reach_x);
        const u32 rows = static_cast<u32>(tiling.tile_height + 2 * tiling.reach_y);
        for (u32 i = threadIdx.x; i < row * rows * (2 * tiling.reach_z + 1); i += blockDim.x) {
            const u64 at_x = x + i % row - tiling.reach_x, at_y = y + i / row % rows - tiling.reach_y;
            const u64 at_z = z + i / (row * rows) - tiling.reach_z;
            const bool is_inside = at_x < tiling.width && at_y < tiling.height && at_z < tiling.depth;
            around[i] = is_inside ? relaxed_load(&height[(at_z * tiling.height + at_y) * tiling.width + at_x])
                                  : UNREACHED;
        }
    }

public:
    __device__ Tiles(const Tiling& tiling, const u32* height) : tiling(tiling), height(height) {
        SharedArena arena;
        wanted = arena.take<u32>(3);
        around = arena.take<u32>(0);  // the rest
        if (threadIdx.x < 3) wanted[threadIdx.x] = 0;
        __syncthreads();
    }

    // Calls `has_work` with every pixel; then, in tiles where it said so of one, `work` with those of which it did, and
    // where their heights are in shared memory, as they were when the block came to the tile. All threads of the block
    // call it together; each pixel is one thread's.
    template <class HasWork, class Work>
    __device__ void visit(HasWork has_work, Work work) {
        const u32 tiles_x = tiling.tiles_x(), tiles_y = tiling.tiles_y();
        const u64 tiles = tiling.depth * tiles_y * tiles_x;
        for (u64 tile = blockIdx.x; tile < tiles; tile += gridDim.x, ++turn) {
            x = static_cast<u32>(tile % tiles_x * tiling.tile_width);
            y = static_cast<u32>(tile / tiles_x % tiles_y * tiling.tile_height);
            z = static_cast<u32>(tile / tiles_x / tiles_y);
            for_pixels([&](u32 p, const u32*) {
                if (has_work(p)) relaxed_store(&wanted[turn % 3], 1u);
            });
            if (threadIdx.x == 0) relaxed_store(&wanted[(turn + 1) % 3], 0u);
            __syncthreads();
            if (relaxed_load(&wanted[turn % 3]) == 0) continue;
            load();
            __syncthreads();
            for_pixels([&](u32 p, const u32* height) {
                if (has_work(p)) work(p, height);
            });
        }
    }
};
