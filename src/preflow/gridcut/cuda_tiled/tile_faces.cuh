// Labels of the pixels at the faces of tiles: see cuda_tiled.py.
//
// A search needs labels of other tiles only where arcs lead there. So labels are kept axis by axis: those of the first
// REACH pixels of a tile along the axis, and then those of its last ones, with all there is along the other axes. Tiles
// are then 2 * REACH long along that axis, and an arc over a face leads as far as it does in the grid.
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
          first((AXIS == 0 ? args.faces_z : AXIS == 1 ? args.faces_y : args.faces_x) +
                static_cast<i64>(tile.z * Z) * plane + static_cast<int>(tile.y * Y) * line +
                static_cast<int>(tile.x * X)) {}

    CONSTANT static int along(u32 d) { return AXIS == 0 ? dz(d) : AXIS == 1 ? dy(d) : dx(d); }
    CONSTANT static int position(u32 row, u32 x) {
        return static_cast<int>(AXIS == 0 ? row / TILE_Y : AXIS == 1 ? row % TILE_Y : x);
    }
    // Whether pixels are among those at the face that comes first along the axis, or last.
    CONSTANT static bool is_first(u32 row, u32 x) { return position(row, x) < DEPTH; }
    CONSTANT static bool is_last(u32 row, u32 x) { return position(row, x) >= LENGTH - DEPTH; }
    // Whether a direction leads over a face from there.
    CONSTANT static bool leaves(u32 d, u32 row, u32 x) {
        const int to = position(row, x) + along(d);
        return along(d) != 0 && (to < 0 || to >= LENGTH);
    }

    // How far the label of a pixel at the first face or the last is from the tile's first, and where steps lead.
    __device__ __forceinline__ int place(u32 row, u32 x, bool last, int dz = 0, int dy = 0, int dx = 0) const {
        const int back = last ? LENGTH - 2 * DEPTH : 0;
        return (static_cast<int>(row / TILE_Y) + dz - (AXIS == 0 ? back : 0)) * plane +
               (static_cast<int>(row % TILE_Y) + dy - (AXIS == 1 ? back : 0)) * line +
               (static_cast<int>(x) + dx - (AXIS == 2 ? back : 0));
    }
    // The same for where an arc leads that leaves the tile over one of these faces.
    __device__ __forceinline__ int over(u32 d, u32 row, u32 x) const {
        return place(row, x, along(d) > 0, dz(d), dy(d), dx(d));
    }
    // A label of the pixel, which is at one of these faces.
    __device__ __forceinline__ u32* own(u32 row, u32 x) const { return first + place(row, x, !is_first(row, x)); }

    // Calls `visit` with each label of a pixel.
    template <class Visit>
    __device__ __forceinline__ void for_each(u32 row, u32 x, Visit visit) const {
        if (is_first(row, x)) visit(first + place(row, x, false));
        if (is_last(row, x)) visit(first + place(row, x, true));
    }
};

// Whether a direction leads along one axis only, given by how much it leads along that one.
CONSTANT bool is_along(u32 d, int along) { return along != 0 && dz(d) + dy(d) + dx(d) == along && ALONG_AXES; }

// The labels around a tile, and its own.
struct Faces {
    Face<0> z;
    Face<1> y;
    Face<2> x;

    __device__ Faces(const Arguments& args, const Shape& shape, const Tile& tile)
        : z(args, shape, tile), y(args, shape, tile), x(args, shape, tile) {}

    // Returns the label where an arc leads that leaves the tile, NONE for others. Labels that other warps may change
    // are read by relaxed loads.
    template <bool AT_REST>
    __device__ __forceinline__ u32 over(u32 d, u32 row, u32 column, bool leads) const {
        const bool over_z = is_along(d, dz(d)) || z.leaves(d, row, column);
        // Without arcs along x there are no labels to read there, not even in vain.
        const bool over_y = REACH_X == 0 || is_along(d, dy(d)) || y.leaves(d, row, column);
        const u32* const first = over_z ? z.first : over_y ? y.first : x.first;
        const int place = over_z   ? z.over(d, row, column)
                          : over_y ? y.over(d, row, column)
                                   : x.over(d, row, column);
        const u32* const at = first + (leads ? place : 0);
        const u32 label = AT_REST ? relaxed_load(at) : *at;
        return leads ? label : NONE;
    }
    // A label of a pixel of an outer row.
    __device__ __forceinline__ u32* own(u32 row, u32 column) const {
        return z.is_first(row, column) || z.is_last(row, column) ? z.own(row, column) : y.own(row, column);
    }
    // Calls `visit` with each label of a pixel of an outer row along z and y.
    template <class Visit>
    __device__ __forceinline__ void for_each_of_row(u32 row, u32 column, Visit visit) const {
        z.for_each(row, column, visit);
        y.for_each(row, column, visit);
    }
};
