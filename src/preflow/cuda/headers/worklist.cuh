// Lists that many threads append to at once: one atomic operation for all lanes of a warp.
#include "atomics.cuh"

// Returns a place in a list of `size` entries for every lane with `has`; the order of entries is that in which the
// warps come. All lanes of the warp call it together.
__device__ __forceinline__ u32 new_place(u32* size, bool has) {
    const u32 voters = __ballot_sync(ALL_LANES, has);
    if (voters == 0) return 0;
    const u32 lane = lane_id();
    u32 place = 0;
    if (lane == 0) place = relaxed_fetch_add(size, static_cast<u32>(__popc(voters)));
    return __shfl_sync(ALL_LANES, place, 0) + __popc(voters & ((1u << lane) - 1));
}

// The sizes of the lists of three rounds that follow each other. In round r threads append to the list of
// round r + 1, and one of them empties the counter of round r + 2: by then all have read it, which the barrier
// after each round ensures. With one or two counters a fast thread would change what a slow one has yet to read.
struct RotatingSizes {
    u32* counters;

    __device__ u32* of(u32 round) const { return &counters[round % 3 * 32]; }
    __device__ u32 read(u32 round) const { return relaxed_load(of(round)); }
    __device__ void clear(u32 round) const { relaxed_store(of(round), 0u); }
};
