// Types, and functions that differ between a GPU and the CPU threads of the tests.

using u8 = unsigned char;
using u32 = unsigned int;
using u64 = unsigned long long;
using i64 = long long;

constexpr u32 WARP = 32;
constexpr u32 ALL_LANES = 0xffffffffu;

#ifndef PREFLOW_ON_CPU
extern __shared__ __align__(16) char preflow_shared_memory[];

__device__ __forceinline__ char* shared_memory() { return preflow_shared_memory; }

// A clock that all multiprocessors share.
__device__ __forceinline__ u64 nanoseconds() {
    u64 now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    return now;
}

// Prefetches the cache line of an address, to this multiprocessor (NEAR) or to the level-2 cache.
template <bool NEAR>
__device__ __forceinline__ void prefetch(const void* at) {
    if (NEAR)
        asm volatile("prefetch.global.L1 [%0];" ::"l"(at));
    else
        asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
}

// Begins the definition of a kernel with one parameter, `args`. A file may define KERNEL_BOUNDS: the greatest number
// of threads of a block and, optionally, the number of blocks of a multiprocessor for which registers must suffice.
#ifndef KERNEL_BOUNDS
#define KERNEL_BOUNDS 1024
#endif
#define KERNEL(name, Arguments) \
    extern "C" __global__ void __launch_bounds__(KERNEL_BOUNDS) name(const __grid_constant__ Arguments args)
#else
inline u64 nanoseconds() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<u64>(now.tv_sec) * 1000000000 + now.tv_nsec;
}

template <bool NEAR>
void prefetch(const void*) {}

#define KERNEL(name, Arguments)                                                                        \
    static void name##_body(const Arguments& args);                                                    \
    extern "C" void name(const void* args) { name##_body(*static_cast<const Arguments*>(args)); }      \
    static void name##_body(const Arguments& args)
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
