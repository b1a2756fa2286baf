// A grid on the GPU, direction after direction: what the published grid solvers work on, see direction_major.py.
//
// No arc is stored. The arc of pixel p in direction d leads to p + step[d], and its residual capacity stands at
// d * num_pixels + p; the opposite direction is d ^ 1. Arcs that leave the grid have residual capacity 0, also where
// p + step[d] is the number of another pixel: the arc back from there leaves the grid as well. So nobody looks at
// coordinates. What a pixel has in `terminal` is excess where it is positive; where it is negative, so much can still
// go from there to the sink, and flow that comes in does so at once.
#include "atomics.cuh"

// What a launch takes depends on the neighbourhood and on the capacities.
#ifndef DIRECTIONS
#define DIRECTIONS 4
#define CAPACITY_BITS 32
#define TERMINAL_BITS 64
#endif

// A number in memory as atomic operations take it: modulo 2**32 or 2**64.
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

struct Grid {
    CapacityWord* residual;
    TerminalWord* terminal;
    const u32* step;  // modulo 2**32: what leads past either end of the grid is not below num_pixels
    u64 num_pixels;   // below 2**31

    __device__ u32 size() const { return static_cast<u32>(num_pixels); }
    __device__ u32 neighbor(u32 p, u32 d) const { return p + step[d]; }
    __device__ CapacityWord* arc(u32 p, u32 d) const { return &residual[d * num_pixels + p]; }
    __device__ i64 residual_of(u32 p, u32 d) const { return capacity_of(relaxed_load(arc(p, d))); }
    __device__ i64 terminal_at(u32 p) const { return terminal_of(relaxed_load(&terminal[p])); }
};

// The height of what a running search has not reached; what cannot reach the sink has num_pixels + 1 in the end.
constexpr u32 UNREACHED = 0xffffffffu;
