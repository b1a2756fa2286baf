// The labels of the pixels at the faces of tiles; see __init__.py.
//
// A search needs the labels of other tiles only where arcs lead. So there is an array of labels for each axis. It has
// the labels of the first REACH pixels of a tile along that axis, then those of its last REACH pixels, and all pixels
// along the other axes. In that array a tile is 2 * REACH long along the axis, and an arc over a face leads as far as
// in the grid.
#include "tile_lists.cuh"

// The labels along an axis: 0 is z, 1 is y, 2 is x.
template <u32 AXIS>
struct Face {
    static constexpr int DEPTH = AXIS == 0 ? REACH_Z : AXIS == 1 ? REACH_Y : REACH_X;
    static constexpr int LENGTH = AXIS == 0 ? TILE_Z : AXIS == 1 ? TILE_Y : WIDTH;  // of a tile
    static constexpr int Z = AXIS == 0 ? 2 * DEPTH : TILE_Z, Y = AXIS == 1 ? 2 * DEPTH : TILE_Y,
                         X = AXIS == 2 ? 2 * DEPTH : WIDTH;  // of its labels

    int line, plane;
    u32* first;  // label of the tile

    __device__ Face(const Arguments& args, const Shape& shape, const Tile& tile)
        : line(static_cast<int>(shape.tiles_x) * X), plane(line * static_cast<int>(shape.tiles_y) * Y),
          first((AXIS == 0 ? args.arrays.faces_z : AXIS == 1 ? args.arrays.faces_y : args.arrays.faces_x) +
                static_cast<i64>(tile.z * Z) * plane + static_cast<int>(tile.y * Y) * line +
                static_cast<int>(tile.x * X)) {}

    CONSTANT static int along(u32 d) { return AXIS == 0 ? dz(d) : AXIS == 1 ? dy(d) : dx(d); }
    CONSTANT static int position(u32 row, u32 x) {
        return static_cast<int>(AXIS == 0 ? row / TILE_Y : AXIS == 1 ? row % TILE_Y : x);
    }
    // Returns whether a pixel is at the first face along the axis, or at the last one.
    CONSTANT static bool is_first(u32 row, u32 x) { return position(row, x) < DEPTH; }
    CONSTANT static bool is_last(u32 row, u32 x) { return position(row, x) >= LENGTH - DEPTH; }
    // Returns whether an arc from the pixel leads over a face of this axis.
    CONSTANT static bool leaves(u32 d, u32 row, u32 x) {
        const int to = position(row, x) + along(d);
        return along(d) != 0 && (to < 0 || to >= LENGTH);
    }

    // Returns the index, relative to `first`, of the label of a pixel at the first or the last face, or of the pixel at
    // an offset from it.
    __device__ __forceinline__ int place(u32 row, u32 x, bool last, int dz = 0, int dy = 0, int dx = 0) const {
        const int back = last ? LENGTH - 2 * DEPTH : 0;
        return (static_cast<int>(row / TILE_Y) + dz - (AXIS == 0 ? back : 0)) * plane +
               (static_cast<int>(row % TILE_Y) + dy - (AXIS == 1 ? back : 0)) * line +
               (static_cast<int>(x) + dx - (AXIS == 2 ? back : 0));
    }
    // The same for the head of an arc that leaves the tile over one of these faces.
    __device__ __forceinline__ int over(u32 d, u32 row, u32 x) const {
        return place(row, x, along(d) > 0, dz(d), dy(d), dx(d));
    }
    // Returns a label of a pixel at one of these faces.
    __device__ __forceinline__ u32* own(u32 row, u32 x) const { return first + place(row, x, !is_first(row, x)); }

    // Calls `visit` with each stored label of a pixel.
    template <class Visit>
    __device__ __forceinline__ void for_each(u32 row, u32 x, Visit visit) const {
        if (is_first(row, x)) visit(first + place(row, x, false));
        if (is_last(row, x)) visit(first + place(row, x, true));
    }
};

// Returns whether a direction leads along one axis only; `along` is its offset along that axis.
CONSTANT bool is_along(u32 d, int along) { return along != 0 && dz(d) + dy(d) + dx(d) == along && ALONG_AXES; }

// The labels around a tile, and its own.
struct Faces {
    const Arguments& args;
    Face<0> z;
    Face<1> y;
    Face<2> x;

    __device__ Faces(const Arguments& args, const Shape& shape, const Tile& tile)
        : args(args), z(args, shape, tile), y(args, shape, tile), x(args, shape, tile) {}

    // Returns the label of the head of an arc that leaves the tile, or NONE unless it `leads`. In a global relabel
    // (AT_REST) other warps may change labels, so loads are relaxed.
    template <bool AT_REST>
    __device__ __forceinline__ u32 over(u32 d, u32 row, u32 column, bool leads) const {
        const bool over_z = is_along(d, dz(d)) || z.leaves(d, row, column);
        // Without arcs along x there are no labels at those faces that could be read.
        const bool over_y = REACH_X == 0 || is_along(d, dy(d)) || y.leaves(d, row, column);
        const u32* const first = over_z ? z.first : over_y ? y.first : x.first;
        const int place = over_z   ? z.over(d, row, column)
                          : over_y ? y.over(d, row, column)
                                   : x.over(d, row, column);
        const u32* const at = first + (leads ? place : 0);
        const u32 label = AT_REST ? relaxed_load(at) : *at;
        return leads ? label : NONE;
    }
    // Writes a label along z or y, also to its copy on another device.
    __device__ __forceinline__ void store(u32* at, u32 label) const {
        relaxed_store(at, label);
        if (!ACROSS) return;
        store_copy(args.joined.before, at, label);
        store_copy(args.joined.after, at, label);
    }
    // Returns a label of a pixel of an outer row.
    __device__ __forceinline__ u32* own(u32 row, u32 column) const {
        return z.is_first(row, column) || z.is_last(row, column) ? z.own(row, column) : y.own(row, column);
    }
    // Calls `visit` with each label along z and y of a pixel of an outer row.
    template <class Visit>
    __device__ __forceinline__ void for_each_of_row(u32 row, u32 column, Visit visit) const {
        z.for_each(row, column, visit);
        y.for_each(row, column, visit);
    }

private:
    __device__ static __forceinline__ void store_copy(const Beyond& beyond, const u32* at, u32 label) {
        const u64 place = (reinterpret_cast<u64>(at) - reinterpret_cast<u64>(beyond.labels)) / sizeof(u32);
        if (place < beyond.num_labels) relaxed_store(&beyond.copies[place], label);
    }
};
