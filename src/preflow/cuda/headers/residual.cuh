// The residual network, see graph/residual.py: terminals are not vertices; an arc is one load of 16 bytes.
//
// Capacities may be PAIRED if those of an arc and of its reverse arc fit 31 bits together. The arc then has its own
// capacity in the lower half of a word and that of its reverse arc in the upper half, so that a thread that needs
// both loads one word. The lower half is always correct. The upper half may lack a push that is under way; it may
// then be negative and look huge. While flow moves it is a hint.
#include "atomics.cuh"

#ifndef PAIRED
#define PAIRED 0
#endif

// The type in which residual capacities are added up, and the greatest sum.
#if PAIRED
using Amount = u32;
constexpr i64 MOST_AMOUNT = 0x7fffffff;
#else
using Amount = u64;
constexpr i64 MOST_AMOUNT = 0x7fffffffffffffff;
#endif

struct alignas(16) Arc {
    u32 head;
    u32 reverse;
    i64 residual;
};

#include "graph/device/residual.py: DeviceNetwork"

// A range of residual arcs of one vertex.
struct ArcRange {
    u32 first;
    u32 last;
};

// The range of arcs of a vertex may be PACKED in one word: the number of the first arc, and above it twice the number
// of arcs, plus one if the vertex had capacity to the sink in the beginning. These never change, and one load gets
// them all.
#ifndef PACKED
#define PACKED 0
#endif
__device__ __forceinline__ u64 pack_range(u32 first, u32 count, bool is_near_sink) {
    return first | static_cast<u64>(count << 1 | static_cast<u32>(is_near_sink)) << 32;
}

__device__ __forceinline__ const void* range_at(const DeviceNetwork& net, u32 v) {
    return PACKED ? static_cast<const void*>(&reinterpret_cast<const u64*>(net.first_out)[v]) : &net.first_out[v];
}

// Returns the arcs of vertex `v`, and whether it `may_reach_sink` over an arc of its own.
__device__ __forceinline__ ArcRange arcs_of(const DeviceNetwork& net, u32 v, bool& may_reach_sink) {
    may_reach_sink = true;
    if (!PACKED) return {net.first_out[v], net.first_out[v + 1]};
    const u64 word = *static_cast<const u64*>(range_at(net, v));
    const u32 first = static_cast<u32>(word), count = static_cast<u32>(word >> 32);
    may_reach_sink = count & 1;
    return {first, first + (count >> 1)};
}
__device__ __forceinline__ ArcRange arcs_of(const DeviceNetwork& net, u32 v) {
    bool may_reach_sink;
    return arcs_of(net, v, may_reach_sink);
}

struct alignas(8) ArcEnds {
    u32 head;
    u32 reverse;
};

// The part of an arc that never changes.
__device__ __forceinline__ ArcEnds load_ends(const Arc* arcs, u32 a) {
    return *reinterpret_cast<const ArcEnds*>(&arcs[a]);
}

__device__ __forceinline__ i64 own_capacity(i64 word) {
    return PAIRED ? static_cast<i64>(static_cast<u32>(word)) : word;
}
__device__ __forceinline__ i64 other_capacity(i64 word) { return static_cast<i64>(static_cast<u64>(word) >> 32); }
__device__ __forceinline__ i64 pair_of(i64 own, i64 other) { return other << 32 | own; }

// Loads an arc with both halves of its capacity word. At REST no thread changes it; otherwise the load is atomic.
template <bool REST>
__device__ __forceinline__ Arc load_whole_arc(const Arc* arcs, u32 a) {
#ifdef PREFLOW_ON_CPU
    if (REST) return arcs[a];
    return {arcs[a].head, arcs[a].reverse, relaxed_load(&arcs[a].residual)};
#else
    const Arc* const at = arcs + a;
    u64 ends;
    i64 word;
    if (REST)
        asm volatile("ld.v2.u64 {%0, %1}, [%2];" : "=l"(ends), "=l"(word) : "l"(at) : "memory");
    else
        asm volatile("ld.relaxed.gpu.v2.u64 {%0, %1}, [%2];" : "=l"(ends), "=l"(word) : "l"(at) : "memory");
    return {static_cast<u32>(ends), static_cast<u32>(ends >> 32), word};
#endif
}

// Loads an arc with its own residual capacity.
__device__ __forceinline__ Arc load_arc(const Arc* arcs, u32 a) {
    Arc arc = load_whole_arc<false>(arcs, a);
    arc.residual = own_capacity(arc.residual);
    return arc;
}

// Moves flow over an arc and returns the arc's own capacity before. A thread that has this value knows that the
// capacity has changed.
__device__ __forceinline__ i64 push_over(Arc* arcs, u32 a, u32 reverse, i64 amount) {
    const i64 change = PAIRED ? amount - (amount << 32) : amount;
    const i64 before = relaxed_fetch_add(&arcs[a].residual, -change);
    relaxed_fetch_add(&arcs[reverse].residual, change);
    return own_capacity(before);
}
