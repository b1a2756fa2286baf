// The residual grid of the published GPU methods, direction after direction; see direction_major.py.
//
// No arc is stored. The arc from pixel p in direction d leads to p + step[d], its residual capacity is
// residual[d * num_pixels + p], and the opposite direction is d ^ 1. An arc that leaves the grid has residual capacity
// 0, even where p + step[d] is the number of another pixel, and so has the arc back from there. So no kernel computes
// coordinates. terminal[p] is the excess of p where positive; where negative, its absolute value is the capacity left
// from p to the sink, and incoming flow goes there at once.
#include "atomics.cuh"

// The host defines these for the neighbourhood and the sizes of the capacities.
#ifndef DIRECTIONS
#define DIRECTIONS 4
#define CAPACITY_BITS 32
#define TERMINAL_BITS 64
#endif

// Number and the unsigned word by which atomic operations change it, modulo 2**32 or 2**64.
template <u32 BITS>
struct Cell;
template <>
struct Cell<32> {
    using Number = int;
    using Word = u32;
};
template <>
struct Cell<64> {
    using Number = i64;
    using Word = i64;
};
using CapacityWord = Cell<CAPACITY_BITS>::Word;
using TerminalWord = Cell<TERMINAL_BITS>::Word;

__device__ __forceinline__ i64 capacity_of(CapacityWord word) { return static_cast<Cell<CAPACITY_BITS>::Number>(word); }
__device__ __forceinline__ i64 terminal_of(TerminalWord word) { return static_cast<Cell<TERMINAL_BITS>::Number>(word); }

struct DeviceGrid {
#include "gridcut/direction_major.py: DeviceGrid._fields"

    __device__ u32 size() const { return static_cast<u32>(num_pixels); }
    __device__ u32 neighbor(u32 p, u32 d) const { return p + step[d]; }
    __device__ CapacityWord* arc(u32 p, u32 d) const { return &residual[d * num_pixels + p]; }
    __device__ i64 residual_of(u32 p, u32 d) const { return capacity_of(relaxed_load(arc(p, d))); }
    __device__ i64 terminal_at(u32 p) const { return terminal_of(relaxed_load(&terminal[p])); }
};

// Height of pixels that a running search has not reached. Those that it never reaches get num_pixels + 1 in the end.
constexpr u32 UNREACHED = 0xffffffffu;
