// Shared memory: asynchronous copies to it, and conditional changes of it without a branch. A branch would cost more
// than the change, since the lanes of a warp would diverge and meet again.
#include "atomics.cuh"

#ifdef PREFLOW_ON_CPU

// Begins to copy 8 bytes. The calling thread can read them after wait_for_copies(), other threads after a barrier.
inline void begin_copy(u64* at, const u64* from) { *at = *from; }
inline void wait_for_copies() {}

template <class T> void store_if(bool condition, T* at, T value) { if (condition) *at = value; }
// Adds without waiting for the old value; no other thread may use the number at the same time.
template <class T> void add(T* at, T value) { *at += value; }

#else

__device__ __forceinline__ u32 shared_address(const void* at) { return static_cast<u32>(__cvta_generic_to_shared(at)); }

#if __CUDA_ARCH__ >= 800
__device__ __forceinline__ void begin_copy(u64* at, const u64* from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(shared_address(at)), "l"(from) : "memory");
}
__device__ __forceinline__ void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }
#else
__device__ __forceinline__ void begin_copy(u64* at, const u64* from) { *at = *from; }
__device__ __forceinline__ void wait_for_copies() {}
#endif

#define PREFLOW_IF(instruction) "{ .reg .pred p; setp.ne.u32 p, %0, 0; @p " instruction " [%1], %2; }"
__device__ __forceinline__ void store_if(bool condition, short* at, short value) {
    asm volatile(PREFLOW_IF("st.shared.u16")::"r"(u32{condition}), "r"(shared_address(at)), "h"(value) : "memory");
}
__device__ __forceinline__ void store_if(bool condition, int* at, int value) {
    asm volatile(PREFLOW_IF("st.shared.u32")::"r"(u32{condition}), "r"(shared_address(at)), "r"(value) : "memory");
}
__device__ __forceinline__ void store_if(bool condition, i64* at, i64 value) {
    asm volatile(PREFLOW_IF("st.shared.u64")::"r"(u32{condition}), "r"(shared_address(at)), "l"(value) : "memory");
}
#undef PREFLOW_IF

// Adds without waiting for the old value; no other thread may use the number at the same time.
__device__ __forceinline__ void add(int* at, int value) {
    asm volatile("red.shared.add.u32 [%0], %1;" ::"r"(shared_address(at)), "r"(value) : "memory");
}
__device__ __forceinline__ void add(i64* at, i64 value) {
    asm volatile("red.shared.add.u64 [%0], %1;" ::"r"(shared_address(at)), "l"(value) : "memory");
}

#endif
