// The residual network, see graph/residual.py: terminals are not vertices; an arc is one load of 16 bytes.
//
// Capacities may be PAIRED where those of an arc and of its reverse arc fit 31 bits together: the arc then holds its own
// in the lower half of a word and the other one in the upper half, and who wants to know the other one need not look
// at the reverse arc, which may be anywhere. The lower half is always as it should be. The upper half may lack a push
// that is on its way, and then even seem huge, as less than nothing: while flow moves it is a hint.
#include "atomics.cuh"

#ifndef PAIRED
#define PAIRED 0
#endif

// What residual capacities are added up in, and the most that one sum may be.
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

struct Network {
    const u32* first_out;  // or packed ranges, 64 bits a vertex
    Arc* arcs;
    i64* excess;
    i64* sink_residual;
    u64 num_vertices;
};

// The residual arcs of a vertex, some of them or all.
struct ArcRange {
    u32 first;
    u32 last;
};

// Where the arcs of a vertex are may be PACKED: the first one's number, and above it twice how many there are, plus one
// if the vertex had capacity to the sink in the beginning. One load tells all that never changes.
#ifndef PACKED
#define PACKED 0
#endif
__device__ __forceinline__ u64 pack_range(u32 first, u32 count, bool is_near_sink) {
    return first | static_cast<u64>(count << 1 | static_cast<u32>(is_near_sink)) << 32;
}

__device__ __forceinline__ const void* range_at(const Network& net, u32 v) {
    return PACKED ? static_cast<const void*>(&reinterpret_cast<const u64*>(net.first_out)[v]) : &net.first_out[v];
}

// The arcs of vertex `v`; whether it `may_reach_sink` over an arc of its own.
__device__ __forceinline__ ArcRange arcs_of(const Network& net, u32 v, bool& may_reach_sink) {
    may_reach_sink = true;
    if (!PACKED) return {net.first_out[v], net.first_out[v + 1]};
    const u64 word = *static_cast<const u64*>(range_at(net, v));
    const u32 first = static_cast<u32>(word), count = static_cast<u32>(word >> 32);
    may_reach_sink = count & 1;
    return {first, first + (count >> 1)};
}
__device__ __forceinline__ ArcRange arcs_of(const Network& net, u32 v) {
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

// An arc with all of its word. Nobody changes it at REST; otherwise this is what it is now.
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

// An arc with its own residual capacity as it is now.
__device__ __forceinline__ Arc load_arc(const Arc* arcs, u32 a) {
    Arc arc = load_whole_arc<false>(arcs, a);
    arc.residual = own_capacity(arc.residual);
    return arc;
}

// Moves flow over an arc, whose own capacity it returns as it was before: who has that knows that it has changed.
__device__ __forceinline__ i64 push_over(Arc* arcs, u32 a, u32 reverse, i64 amount) {
    const i64 change = PAIRED ? amount - (amount << 32) : amount;
    const i64 before = relaxed_fetch_add(&arcs[a].residual, -change);
    relaxed_fetch_add(&arcs[reverse].residual, change);
    return own_capacity(before);
}
