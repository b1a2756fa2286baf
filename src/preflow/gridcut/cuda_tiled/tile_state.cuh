// Tiles of a grid, and what is kept of them: see cuda_tiled.py.
//
// A tile is 32 pixels wide and has ROWS rows, each of which is the bits of one word: which pixels have excess, which
// can still send some to the sink, which have residual capacity in a direction. A warp works on a tile; its lanes own
// the rows, ROWS_A_LANE each. Neighbours of all pixels of a tile are then a shuffle and a shift.
#include "grid.cuh"
#include "lanes.cuh"
#include "shared.cuh"

#ifndef DIRECTIONS
#define DIRECTIONS 4      // of arcs; opposite ones differ in the last bit
#define OFFSETS_Z 0       // of the even directions, four bits each
#define OFFSETS_Y 0x10
#define OFFSETS_X 0x01
#define TILE_Z 1
#define TILE_Y 32
#define RESIDUAL_BYTES 2
#define EXCESS_BYTES 4
#endif

template <u32 BYTES> struct SignedOf { using Type = i64; };
template <> struct SignedOf<4> { using Type = int; };
template <> struct SignedOf<2> { using Type = short; };
using Residual = SignedOf<RESIDUAL_BYTES>::Type;
using Excess = SignedOf<EXCESS_BYTES>::Type;

#define CONSTANT __host__ __device__ constexpr

constexpr u32 WIDTH = 32, ROWS = TILE_Z * TILE_Y, ROWS_A_LANE = ROWS / WARP;
constexpr u32 NONE = 0xffffffffu;  // the label of a pixel that cannot reach the sink

template <bool SHORT> struct PackedOf { using Type = u64; };
template <> struct PackedOf<true> { using Type = u32; };
using Packed = PackedOf<DIRECTIONS <= 16>::Type;

CONSTANT int offset_of(Packed packed, u32 direction) {
    const int word = static_cast<int>(packed >> direction / 2 * 4 & 15);
    const int offset = word < 8 ? word : word - 16;
    return direction % 2 ? -offset : offset;
}
CONSTANT int dz(u32 direction) { return offset_of(OFFSETS_Z, direction); }
CONSTANT int dy(u32 direction) { return offset_of(OFFSETS_Y, direction); }
CONSTANT int dx(u32 direction) { return offset_of(OFFSETS_X, direction); }
CONSTANT int size_of(int offset) { return offset < 0 ? -offset : offset; }
CONSTANT int sign_of(int offset) { return offset < 0 ? -1 : offset > 0; }

// Returns how far arcs lead along an axis.
CONSTANT int reach_of(Packed packed) {
    int reach = 0;
    for (u32 d = 0; d < DIRECTIONS; ++d) reach = reach < offset_of(packed, d) ? offset_of(packed, d) : reach;
    return reach;
}
constexpr int REACH_Z = reach_of(OFFSETS_Z), REACH_Y = reach_of(OFFSETS_Y), REACH_X = reach_of(OFFSETS_X);
constexpr int SIDES_X = REACH_X > 0 ? REACH_X : 1;  // arrays of no entries are not C++

// Whether an arc may lead to the tile at (z, y, x) from this one, each -1, 0 or 1.
CONSTANT bool leads_to(int z, int y, int x) {
    for (u32 d = 0; d < DIRECTIONS; ++d)
        if ((z == 0 || sign_of(dz(d)) == z) && (y == 0 || sign_of(dy(d)) == y) && (x == 0 || sign_of(dx(d)) == x))
            return z != 0 || y != 0 || x != 0;
    return false;
}
// The tiles around a tile have numbers from 0 to 26; the bits of those where arcs lead.
constexpr u32 ITSELF = 13;
CONSTANT u32 where_arcs_lead() {
    u32 bits = 0;
    for (int number = 0; number < 27; ++number)
        bits |= u32{leads_to(number / 9 - 1, number / 3 % 3 - 1, number % 3 - 1)} << number;
    return bits;
}
constexpr u32 LEADS_TO = where_arcs_lead();
CONSTANT bool leads_along_axes_only() {
    for (u32 d = 0; d < DIRECTIONS; ++d)
        if ((dz(d) != 0) + (dy(d) != 0) + (dx(d) != 0) > 1) return false;
    return true;
}
// Tiles of one color have no arcs between them.
constexpr bool ALONG_AXES = leads_along_axes_only();
constexpr u32 COLORS = ALONG_AXES ? 2 : REACH_Z > 0 ? 8 : 4;
constexpr u32 MOST_COLORS = 8;

CONSTANT bool row_is_inside(u32 direction, u32 row) {
    const int z = static_cast<int>(row / TILE_Y) + dz(direction), y = static_cast<int>(row % TILE_Y) + dy(direction);
    return 0 <= z && z < TILE_Z && 0 <= y && y < TILE_Y;
}
// Whether arcs lead from the row to rows of other tiles.
CONSTANT bool is_outer_row(u32 row) {
    const int z = static_cast<int>(row / TILE_Y), y = static_cast<int>(row % TILE_Y);
    return z < REACH_Z || z >= TILE_Z - REACH_Z || y < REACH_Y || y >= TILE_Y - REACH_Y;
}

// Words of a tile, ROWS of each kind: pixels with residual capacity in each direction, and these.
constexpr u32 ROOT = DIRECTIONS, ACTIVE = DIRECTIONS + 1, REACHED = DIRECTIONS + 2, KINDS = DIRECTIONS + 3;

struct Arguments {
    u64 tiles_z, tiles_y, tiles_x;
    u64 first_tile, end_tile;           // whose capacities and excess are here, and may be discharged
    u64 first_pixel, direction_stride;  // of what is here
    Residual* residual;
    Excess* terminal;  // excess, less what can go to the sink
    u32* faces_z;  // labels: see tile_faces.cuh
    u32* faces_y;
    u32* faces_x;
    u32* words;
    u32* stamps;  // when a tile was last listed for a discharge
    u32* lists;
    u32* told;  // for searches: see tile_lists.cuh
    u64* slots;
    u32* counters;
    u32* arrivals;
    u64* state;  // and what is counted
    u64 waves, rounds, rounds_percent;
    u64 work_of_launch, nanoseconds_of_launch;
    u64 num_slots;
    u64 dischargers;  // warps of a block with room for a tile's capacities
};

// The grid's measures.
struct Shape {
    u32 tiles_z, tiles_y, tiles_x;
    u32 line, plane;  // steps inside of a tile fit 31 bits

    __device__ explicit Shape(const Arguments& args)
        : tiles_z(static_cast<u32>(args.tiles_z)), tiles_y(static_cast<u32>(args.tiles_y)),
          tiles_x(static_cast<u32>(args.tiles_x)), line(tiles_x * WIDTH), plane(line * tiles_y * TILE_Y) {}

    __device__ u32 num_tiles() const { return tiles_z * tiles_y * tiles_x; }
    __device__ int step(u32 d) const { return dz(d) * static_cast<int>(plane) + dy(d) * static_cast<int>(line) + dx(d); }
};

struct Tile {
    u32 index, z, y, x;
    u32 line, plane;
    u64 first;  // its first pixel

    __device__ Tile(const Shape& shape, u32 index)
        : index(index), z(index / shape.tiles_x / shape.tiles_y), y(index / shape.tiles_x % shape.tiles_y),
          x(index % shape.tiles_x), line(shape.line), plane(shape.plane),
          first(static_cast<u64>(z * TILE_Z) * plane + static_cast<u64>(y * TILE_Y) * line + x * WIDTH) {}

    __device__ u32 offset(u32 row) const { return row / TILE_Y * plane + row % TILE_Y * line; }
    __device__ u64 pixel(u32 row) const { return first + offset(row); }
    __device__ u32 color() const { return ALONG_AXES ? (z + y + x) & 1 : (z & 1) * 4 + (y & 1) * 2 + (x & 1); }
    __device__ u32* words(const Arguments& args, u32 kind) const {
        return args.words + (static_cast<u64>(index) * KINDS + kind) * ROWS;
    }
    // One of the tiles around it, by its number.
    __device__ u32 neighbor(const Shape& shape, u32 number) const {
        return index + static_cast<u32>(((static_cast<int>(number / 9) - 1) * static_cast<int>(shape.tiles_y) +
                                         static_cast<int>(number / 3 % 3) - 1) *
                                            static_cast<int>(shape.tiles_x) +
                                        static_cast<int>(number % 3) - 1);
    }
    __device__ bool has_neighbor(const Shape& shape, u32 number) const {
        return z + number / 9 - 1 < shape.tiles_z && y + number / 3 % 3 - 1 < shape.tiles_y &&
               x + number % 3 - 1 < shape.tiles_x;
    }
};

// Bits of a lane's rows; also for each direction.
using Rows = u32[ROWS_A_LANE];
using Masks = u32[DIRECTIONS][ROWS_A_LANE];

__device__ __forceinline__ u32 row_of(u32 k) { return k * WARP + lane_id(); }

// How many rows further a direction leads.
CONSTANT int rows_of(u32 direction) { return dz(direction) * TILE_Y + dy(direction); }

// Returns, for each pixel, the bit of its neighbour in a direction; garbage in rows whose neighbours are not inside.
__device__ __forceinline__ u32 neighbor_bits(const Rows& bits, u32 d, u32 k) {
    const int rows = rows_of(d), last = static_cast<int>(ROWS_A_LANE) - 1, lane = static_cast<int>(lane_id());
    u32 word = bits[k];
    if (rows != 0) {
        // The rows that far on begin in the row of this number of each lane, and after the last lane in the next.
        const int begin = static_cast<int>(k) + (rows + 32 * static_cast<int>(ROWS)) / 32 - static_cast<int>(ROWS);
        const int row = begin < 0 ? 0 : begin > last ? last : begin;
        const int next = begin + 1 < 0 ? 0 : begin + 1 > last ? last : begin + 1;
        word = __shfl_sync(ALL_LANES, lane < (rows & 31) ? bits[next] : bits[row], (lane + rows) & 31);
    }
    return dx(d) >= 0 ? word >> dx(d) : word << -dx(d);
}

__device__ __forceinline__ bool any_of_warp(const Rows& bits) {
    u32 all = 0;
#pragma unroll
    for (u32 k = 0; k < ROWS_A_LANE; ++k) all |= bits[k];
    return __any_sync(ALL_LANES, all != 0);
}

__device__ __forceinline__ u32 union_of_warp(u32 bits) {
#pragma unroll
    for (u32 distance = WARP / 2; distance > 0; distance /= 2) bits |= __shfl_xor_sync(ALL_LANES, bits, distance);
    return bits;
}

// Entries of a row in shared memory: rows begin where 8 bytes can be copied at once, and lanes that are at the same
// place of their rows are at different banks, or two at one.
constexpr u32 line_of(u32 bytes) { return bytes == 2 ? 36 : bytes == 4 ? 34 : 33; }
constexpr u32 RESIDUAL_LINE = line_of(RESIDUAL_BYTES), EXCESS_LINE = line_of(EXCESS_BYTES);

CONSTANT u32 rounded(u32 bytes) { return (bytes + 15) / 16 * 16; }
constexpr u32 LIST_SIZE = 256, LIST_BYTES = 2 * LIST_SIZE;
constexpr u32 EXCESS_BYTES_OF_TILE = rounded(ROWS * EXCESS_LINE * EXCESS_BYTES);
constexpr u32 RESIDUAL_BYTES_OF_TILE = rounded(DIRECTIONS * ROWS * RESIDUAL_LINE * RESIDUAL_BYTES);
constexpr u32 SLOT_BYTES = EXCESS_BYTES_OF_TILE + RESIDUAL_BYTES_OF_TILE + LIST_BYTES;

#ifdef SLOT_BYTES_GIVEN
static_assert(SLOT_BYTES == SLOT_BYTES_GIVEN, "tiling.py gives the warps as much shared memory as they use");
#endif

// The shared memory of a warp, found anew at each use: so the compiler knows that it is shared memory.
struct Slot {
    template <class T>
    __device__ static __forceinline__ T* at(u32 begin) {
        return reinterpret_cast<T*>(shared_memory() + threadIdx.x / WARP * SLOT_BYTES + begin);
    }
    __device__ static __forceinline__ Excess* excess() { return at<Excess>(0); }
    __device__ static __forceinline__ Residual* residual() { return at<Residual>(EXCESS_BYTES_OF_TILE); }
    __device__ static __forceinline__ Excess& excess(u32 row, u32 x) { return excess()[row * EXCESS_LINE + x]; }
    __device__ static __forceinline__ Residual& residual(u32 d, u32 row, u32 x) {
        return residual()[(d * ROWS + row) * RESIDUAL_LINE + x];
    }
    __device__ static __forceinline__ unsigned short& listed(u32 i) {
        return at<unsigned short>(EXCESS_BYTES_OF_TILE + RESIDUAL_BYTES_OF_TILE)[i];
    }
};

// The labels of the levels of a search, as far as there is room, in the shared memory of a warp.
struct LevelLabels {
    u32 begin, room;

    // While no tile is discharged; while one is; and after it was, when its capacities are not there any more.
    __device__ static __forceinline__ LevelLabels at_rest() {
        return {threadIdx.x / WARP * ROWS * WIDTH * 4, ROWS * WIDTH};
    }
    __device__ static __forceinline__ LevelLabels in_list() {
        return {threadIdx.x / WARP * SLOT_BYTES + EXCESS_BYTES_OF_TILE + RESIDUAL_BYTES_OF_TILE, LIST_BYTES / 4};
    }
    __device__ static __forceinline__ LevelLabels in_slot() {
        static_assert(SLOT_BYTES >= ROWS * WIDTH * 4, "there are labels for as many levels as pixels");
        return {threadIdx.x / WARP * SLOT_BYTES, ROWS * WIDTH};
    }

    __device__ __forceinline__ u32& operator[](u32 level) const {
        return reinterpret_cast<u32*>(shared_memory() + begin)[level];
    }
    __device__ __forceinline__ void keep(u32 level, u32 label) const {
        if (lane_id() == 0 && level < room) (*this)[level] = label;
    }
};
