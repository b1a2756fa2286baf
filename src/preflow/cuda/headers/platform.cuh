// Types, and what a GPU and the tests' CPU threads name differently.
#pragma once

using u8 = unsigned char;
using u32 = unsigned int;
using u64 = unsigned long long;
using i64 = long long;

constexpr u32 WARP = 32;
constexpr u32 ALL_LANES = 0xffffffffu;

#ifndef PREFLOW_ON_CPU
extern __shared__ __align__(16) char preflow_shared_memory[];

__device__ __forceinline__ char* shared_memory() { return preflow_shared_memory; }
#endif

// Hands out a block's shared memory piece by piece: all threads take the same pieces in the same order.
struct SharedArena {
    char* next;

    __device__ SharedArena() : next(shared_memory()) {}

    template <class T>
    __device__ T* take(u32 count) {
        T* piece = reinterpret_cast<T*>(next);
        next += (count * sizeof(T) + 15) / 16 * 16;
        return piece;
    }
};

__device__ __forceinline__ u32 lane_id() { return threadIdx.x % WARP; }
__device__ __forceinline__ u32 grid_thread() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ __forceinline__ u32 grid_threads() { return gridDim.x * blockDim.x; }
