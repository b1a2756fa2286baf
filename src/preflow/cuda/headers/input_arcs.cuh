// The input arcs of a network, and their ends in the residual network.
#include "residual.cuh"

struct Ends {
    u32 tail;
    u32 head;
};

struct InputArcs {
    const u32* tail;
    const u32* head;
    const u32* inner;   // residual vertex of each vertex; num_inner for a source, num_inner + 1 for a sink
    u64 num_arcs;
    u64 num_inner;

    // Returns the ends in the residual network, in the direction of the capacity or of the reverse capacity.
    __device__ Ends ends(u64 i, bool backward = false) const {
        const u32 from = inner[tail[i]], to = inner[head[i]];
        return backward ? Ends{to, from} : Ends{from, to};
    }

    // Returns whether the arc has a pair of residual arcs.
    __device__ bool is_inside(Ends ends) const {
        return ends.tail < num_inner && ends.head < num_inner && ends.tail != ends.head;
    }
};
