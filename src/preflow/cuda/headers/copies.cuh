// Copies from the device's memory to shared memory that run beside what the thread does next.
#include "platform.cuh"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800

// Begins to copy 8 bytes. The thread that called finds them there after wait_for_copies(), others after a barrier.
__device__ __forceinline__ void begin_copy(u64* shared, const u64* from) {
    const u32 at = static_cast<u32>(__cvta_generic_to_shared(shared));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(at), "l"(from) : "memory");
}
__device__ __forceinline__ void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

#else

__device__ __forceinline__ void begin_copy(u64* shared, const u64* from) { *shared = *from; }
__device__ __forceinline__ void wait_for_copies() {}

#endif
