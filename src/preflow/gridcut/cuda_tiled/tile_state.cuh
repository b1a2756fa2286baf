// The state of tiles, on the device and in shared memory; see __init__.py.
//
// A tile is 32 pixels wide and has ROWS rows. For each row and each kind of bit there is a word: which pixels have
// excess, which have a deficit, which have residual capacity in a direction. A warp works on a tile; each lane owns
// ROWS_A_LANE rows. A shuffle and a shift give the bits of the neighbours of all pixels of a row.
#include "devices.cuh"
#include "lanes.cuh"
#include "shared.cuh"

#ifndef DIRECTIONS
#define DIRECTIONS 4      // opposite ones differ in the last bit
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

// Returns the largest offset of a neighbour along an axis.
CONSTANT int reach_of(Packed packed) {
    int reach = 0;
    for (u32 d = 0; d < DIRECTIONS; ++d) reach = reach < offset_of(packed, d) ? offset_of(packed, d) : reach;
    return reach;
}
constexpr int REACH_Z = reach_of(OFFSETS_Z), REACH_Y = reach_of(OFFSETS_Y), REACH_X = reach_of(OFFSETS_X);
constexpr int SIDES_X = REACH_X > 0 ? REACH_X : 1;  // C++ has no arrays without entries

// Returns whether arcs may lead to the neighbouring tile at offset (z, y, x), each -1, 0 or 1.
CONSTANT bool leads_to(int z, int y, int x) {
    for (u32 d = 0; d < DIRECTIONS; ++d)
        if ((z == 0 || sign_of(dz(d)) == z) && (y == 0 || sign_of(dy(d)) == y) && (x == 0 || sign_of(dx(d)) == x))
            return z != 0 || y != 0 || x != 0;
    return false;
}
// The 3 x 3 x 3 tiles around a tile have numbers from 0 to 26; ITSELF is the tile. LEADS_TO has the bits of those to
// which arcs may lead.
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
// Returns whether arcs lead from a row to rows of other tiles.
CONSTANT bool is_outer_row(u32 row) {
    const int z = static_cast<int>(row / TILE_Y), y = static_cast<int>(row % TILE_Y);
    return z < REACH_Z || z >= TILE_Z - REACH_Z || y < REACH_Y || y >= TILE_Y - REACH_Y;
}

// Kinds of words of a tile, ROWS words each: residual capacity in each direction; a deficit; excess; reached by the
// last search.
constexpr u32 ROOT = DIRECTIONS, ACTIVE = DIRECTIONS + 1, REACHED = DIRECTIONS + 2, KINDS = DIRECTIONS + 3;

// Whether several devices run the kernel at the same time, each on its part of the grid: see parts.py.
#ifdef ACROSS_DEVICES
constexpr bool ACROSS = true;
#else
constexpr bool ACROSS = false;
#endif

#include "launches.py: Stage, TileArrays, Turns, Beyond, Joined"

struct Arguments {
#include "launches.py: Arguments._fields"
    __device__ bool is_searched(u32 tile) const { return first_searched <= tile && tile < end_searched; }
    // Returns the part that searches a tile to which arcs lead, if this one does not.
    __device__ const Beyond& beyond(u32 tile) const { return tile < first_searched ? joined.before : joined.after; }
};

// Sizes of the padded grid.
struct Shape {
    u32 tiles_z, tiles_y, tiles_x;
    u32 line, plane;  // steps within a tile fit 31 bits

    __device__ explicit Shape(const Arguments& args)
        : tiles_z(static_cast<u32>(args.tiles[0])), tiles_y(static_cast<u32>(args.tiles[1])),
          tiles_x(static_cast<u32>(args.tiles[2])), line(tiles_x * WIDTH), plane(line * tiles_y * TILE_Y) {}

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
    __device__ u32 color(const Arguments& args) const {
        const u32 parity = ACROSS ? static_cast<u32>(args.joined.parity) : 0;
        const u32 in_z = TILE_Z > 1 ? z + parity : z, in_y = TILE_Z > 1 ? y : y + parity;
        return ALONG_AXES ? (in_z + in_y + x) & 1 : (REACH_Z > 0 ? (in_z & 1) * 4 : 0) + (in_y & 1) * 2 + (x & 1);
    }
    __device__ u32* words(const Arguments& args, u32 kind) const {
        return args.arrays.words + (static_cast<u64>(index) * KINDS + kind) * ROWS;
    }
    // Returns the index of a neighbouring tile, given its number.
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

// The words of a lane's rows, of one kind and of each direction.
using Rows = u32[ROWS_A_LANE];
using Masks = u32[DIRECTIONS][ROWS_A_LANE];

__device__ __forceinline__ u32 row_of(u32 k) { return k * WARP + lane_id(); }

// Returns the difference of rows in a direction.
CONSTANT int rows_of(u32 direction) { return dz(direction) * TILE_Y + dy(direction); }

// Returns, for each pixel of a row, the bit of its neighbour in a direction; undefined for rows whose neighbours are
// outside.
__device__ __forceinline__ u32 neighbor_bits(const Rows& bits, u32 d, u32 k) {
    const int rows = rows_of(d), last = static_cast<int>(ROWS_A_LANE) - 1, lane = static_cast<int>(lane_id());
    u32 word = bits[k];
    if (rows != 0) {
        // Row r + rows belongs to lane (lane + rows) % 32, as its word `begin`, or `begin + 1` past the last lane.
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
    return joined<WARP>(bits, [](u32 a, u32 b) { return a | b; });
}

// Entries per row in shared memory, with padding: rows begin at multiples of 8 bytes, which are copied at once, and the
// entries at the same x of 32 rows are in different banks, or two per bank.
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

// The shared memory of a warp in a discharge. Addresses are computed at each use, so that the compiler knows that they
// are in shared memory.
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

// The labels of the first `room` levels of a search, in the shared memory of a warp.
struct LevelLabels {
    u32 begin, room;

    // In a global relabel; in a discharge; and at its end, when the capacities have been copied back.
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
