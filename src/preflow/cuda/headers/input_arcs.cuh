// The input arcs of a network, and their ends in the residual network.
#include "residual.cuh"

struct Ends {
    u32 tail;
    u32 head;
};

struct InputArcs {
#include "graph/device/build.py: InputArcs._fields"

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
