// Groups of neighbouring lanes of a warp, each of which works on one vertex. LANES is a power of two up to 32. All
// lanes of the warp take part in every call, each group on its own.
#include "atomics.cuh"

// Joins the values of the lanes of a group, two by two; all get the outcome.
template <u32 LANES, class T, class Join>
__device__ __forceinline__ T joined(T value, Join join) {
#pragma unroll
    for (u32 distance = LANES / 2; distance > 0; distance /= 2)
        value = join(value, __shfl_xor_sync(ALL_LANES, value, distance, LANES));
    return value;
}

// Joins a value of each thread of the block, always in the same order. `of_warps` has a value for each warp.
template <class T, class Join>
__device__ T of_block(T value, T* of_warps, Join join) {
    value = joined<WARP>(value, join);
    __syncthreads();
    if (lane_id() == 0) of_warps[threadIdx.x / WARP] = value;
    __syncthreads();
    value = of_warps[0];
    for (u32 warp = 1; warp < blockDim.x / WARP; ++warp) value = join(value, of_warps[warp]);
    return value;
}

template <u32 LANES, class T>
__device__ __forceinline__ T least_of_lanes(T value) {
    return joined<LANES>(value, [](T a, T b) { return b < a ? b : a; });
}
template <u32 LANES, class T>
__device__ __forceinline__ T greatest_of_lanes(T value) {
    return joined<LANES>(value, [](T a, T b) { return a < b ? b : a; });
}
template <u32 LANES, class T>
__device__ __forceinline__ T sum_of_lanes(T value) {
    return joined<LANES>(value, [](T a, T b) { return a + b; });
}

// Returns the least value of all lanes of the warp: one instruction from Ampere on.
__device__ __forceinline__ u32 least_of_warp(u32 value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    return __reduce_min_sync(ALL_LANES, value);
#else
    return least_of_lanes<WARP>(value);
#endif
}

// Returns the greatest value of all lanes of the warp.
__device__ __forceinline__ u32 greatest_of_warp(u32 value) { return ~least_of_warp(~value); }

// Returns the sum of `value` over the lanes before this one and, in `total`, over all lanes of the group. Values lie
// between 0 and `most`, which is at most half of the greatest T; sums are cut off at `most`, so that none overflows.
template <u32 LANES, class T>
__device__ __forceinline__ T sum_of_lanes_before(T value, T most, T& total) {
    T sum = value;
    const u32 lane = lane_id() % LANES;
#pragma unroll
    for (u32 distance = 1; distance < LANES; distance *= 2) {
        const T other = __shfl_up_sync(ALL_LANES, sum, distance, LANES);
        if (lane >= distance) sum = sum + other < most ? sum + other : most;
    }
    total = __shfl_sync(ALL_LANES, sum, LANES - 1, LANES);
    const T before = __shfl_up_sync(ALL_LANES, sum, 1, LANES);
    return lane == 0 ? 0 : before;
}

template <u32 LANES, class T>
__device__ __forceinline__ T from_first_lane(T value) {
    return LANES == 1 ? value : __shfl_sync(ALL_LANES, value, 0, LANES);
}

__device__ __forceinline__ u64 sum_of_warp(u64 value) { return sum_of_lanes<WARP>(value); }

// Adds what all lanes of the warp have counted to a total in device memory.
template <class T>
__device__ __forceinline__ void add_up(T* total, u64 count) {
    count = sum_of_warp(count);
    if (count > 0 && lane_id() == 0) relaxed_fetch_add(total, static_cast<T>(count));
}
template <u32 COUNTS>
__device__ __forceinline__ void add_up(u64* totals, const u64 (&counts)[COUNTS]) {
    for (u32 k = 0; k < COUNTS; ++k) add_up(&totals[k], counts[k]);
}

// The sum of small numbers: one instruction from Ampere on.
__device__ __forceinline__ u32 sum_of_warp(u32 value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    return __reduce_add_sync(ALL_LANES, value);
#else
    return static_cast<u32>(sum_of_warp(static_cast<u64>(value)));
#endif
}

__device__ __forceinline__ u64 greatest_of_warp(u64 value) { return greatest_of_lanes<WARP>(value); }

// Returns a lane with the least key.
__device__ __forceinline__ u32 lane_of_least(u32 key) {
    return 31 - __clz(static_cast<int>(__ballot_sync(ALL_LANES, key == least_of_warp(key))));
}
__device__ __forceinline__ u32 lane_of_least(u64 key) {
    const u32 high = static_cast<u32>(key >> 32), low = static_cast<u32>(key);
    const bool least = high == least_of_warp(high);
    u32 lanes = __ballot_sync(ALL_LANES, least);
    if (lanes & (lanes - 1)) {
        const u32 least_low = least_of_warp(least ? low : ~0u);
        lanes = __ballot_sync(ALL_LANES, least && low == least_low);
    }
    return 31 - __clz(static_cast<int>(lanes));
}

// The same for keys of two words, of which the first is compared first.
__device__ __forceinline__ u32 lane_of_least(u64 first, u32 second) {
    const u32 high = static_cast<u32>(first >> 32), low = static_cast<u32>(first);
    const bool least = high == least_of_warp(high);
    const u32 least_low = least_of_warp(least ? low : ~0u);
    const bool still = least && low == least_low;
    const u32 of_these = least_of_warp(still ? second : ~0u);
    return 31 - __clz(static_cast<int>(__ballot_sync(ALL_LANES, still && second == of_these)));
}
