// Lists to which many threads append at the same time, by one atomic operation for all lanes of a warp.
#include "atomics.cuh"

// Reserves places in a list of `size` entries for up to COUNT items of every lane. Items are in the order in which
// warps arrive. All lanes of the warp call it together. Returns whether any lane has an item.
template <u32 COUNT>
__device__ __forceinline__ bool new_places(u32* size, const bool (&has)[COUNT], u32 (&place)[COUNT]) {
    u32 voters[COUNT], total = 0;
#pragma unroll
    for (u32 k = 0; k < COUNT; ++k) {
        voters[k] = __ballot_sync(ALL_LANES, has[k]);
        total += __popc(voters[k]);
    }
    if (total == 0) return false;
    const u32 lane = lane_id();
    u32 begin = 0;
    if (lane == 0) begin = relaxed_fetch_add(size, total);
    begin = __shfl_sync(ALL_LANES, begin, 0);
#pragma unroll
    for (u32 k = 0; k < COUNT; ++k) {
        place[k] = begin + __popc(voters[k] & ((1u << lane) - 1));
        begin += __popc(voters[k]);
    }
    return true;
}

// The same for one item.
__device__ __forceinline__ u32 new_place(u32* size, bool has) {
    const bool have[1] = {has};
    u32 place[1] = {0};
    new_places(size, have, place);
    return place[0];
}

// The sizes of the lists of three consecutive rounds. In round r threads append to the list of round r + 1, and one
// of them resets the counter of round r + 2. All threads have read that counter by then, thanks to the barrier after
// each round. With one or two counters a fast thread could change a counter before a slow one has read it.
struct RotatingSizes {
    u32* counters;

    __device__ u32* of(u32 round) const { return &counters[round % 3 * 32]; }
    __device__ u32 read(u32 round) const { return relaxed_load(of(round)); }
    __device__ void clear(u32 round) const { relaxed_store(of(round), 0u); }
};
