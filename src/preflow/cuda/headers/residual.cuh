// The residual network, see graph/residual.py: terminals are not vertices; an arc is one load of 16 bytes.
#include "atomics.cuh"

struct alignas(16) Arc {
    u32 head;
    u32 reverse;
    i64 residual;
};

struct Network {
    const u32* first_out;
    Arc* arcs;
    i64* excess;
    i64* sink_residual;
    u64 num_vertices;
};

struct alignas(8) ArcEnds {
    u32 head;
    u32 reverse;
};

// The part of an arc that never changes.
__device__ __forceinline__ ArcEnds load_ends(const Arc* arcs, u32 a) {
    return *reinterpret_cast<const ArcEnds*>(&arcs[a]);
}

// An arc as it is now; others may change its residual capacity.
__device__ __forceinline__ Arc load_arc(const Arc* arcs, u32 a) {
#ifdef PREFLOW_ON_CPU
    return {arcs[a].head, arcs[a].reverse, relaxed_load(&arcs[a].residual)};
#else
    u64 ends;
    Arc arc;
    asm volatile("ld.relaxed.gpu.v2.u64 {%0, %1}, [%2];" : "=l"(ends), "=l"(arc.residual) : "l"(arcs + a) : "memory");
    arc.head = static_cast<u32>(ends);
    arc.reverse = static_cast<u32>(ends >> 32);
    return arc;
#endif
}
