// The part of CUDA that the kernels use, on CPU threads: the tests run .cu files without a GPU.
//
// g++ reads this before a .cu file. Every CUDA thread is a thread of its own and all of them are alive from
// the launch on, so blocks and threads may wait for each other. There are more of them than cores: what waits
// gives its core away, and a kernel that waits in a loop must call __nanosleep in it, or each turn costs the
// others a time slice.
//
// As strict as CUDA, so that ThreadSanitizer sees what a GPU may do wrong: __syncthreads and __syncwarp order
// the memory of those that meet, shuffles and votes order nothing. Order comes from atomics: ThreadSanitizer
// does not know fences. Values of lanes that did not take part are garbage, as is shared memory at launch.
#pragma once

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>
#include <vector>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))

// Aligned as CUDA wants them: the sanitizers then see an access that a GPU would refuse.
#define CUDA_ON_CPU_2(T, name)                           \
    struct __align__(2 * sizeof(T)) name##2 { T x, y; }; \
    inline name##2 make_##name##2(T x, T y) { return {x, y}; }
#define CUDA_ON_CPU_4(T, name)                                 \
    struct __align__(4 * sizeof(T)) name##4 { T x, y, z, w; }; \
    inline name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
CUDA_ON_CPU_2(int, int)
CUDA_ON_CPU_2(unsigned, uint)
CUDA_ON_CPU_2(float, float)
CUDA_ON_CPU_2(long long, longlong)
CUDA_ON_CPU_2(unsigned long long, ulonglong)
CUDA_ON_CPU_2(double, double)
CUDA_ON_CPU_4(int, int)
CUDA_ON_CPU_4(unsigned, uint)
CUDA_ON_CPU_4(float, float)

struct uint3 { unsigned x, y, z; };
static thread_local uint3 threadIdx, blockIdx, blockDim, gridDim;

#define CUDA_ON_CPU_MIN_MAX(T)                       \
    inline T min(T a, T b) { return b < a ? b : a; } \
    inline T max(T a, T b) { return a < b ? b : a; }
CUDA_ON_CPU_MIN_MAX(int)
CUDA_ON_CPU_MIN_MAX(unsigned)
CUDA_ON_CPU_MIN_MAX(long)
CUDA_ON_CPU_MIN_MAX(unsigned long)
CUDA_ON_CPU_MIN_MAX(long long)
CUDA_ON_CPU_MIN_MAX(unsigned long long)
CUDA_ON_CPU_MIN_MAX(float)
CUDA_ON_CPU_MIN_MAX(double)

inline int __popc(unsigned bits) { return __builtin_popcount(bits); }
inline int __popcll(unsigned long long bits) { return __builtin_popcountll(bits); }
inline int __ffs(int bits) { return __builtin_ffs(bits); }
inline int __ffsll(long long bits) { return __builtin_ffsll(bits); }
inline int __clz(int bits) { return bits ? __builtin_clz(bits) : 32; }
inline int __clzll(long long bits) { return bits ? __builtin_clzll(bits) : 64; }
inline unsigned __umulhi(unsigned a, unsigned b) { return static_cast<unsigned long long>(a) * b >> 32; }

// Tests set it: the block whose threads sleep on whenever they wait, while the others do what comes next.
extern "C" {
__attribute__((visibility("default"))) unsigned cuda_on_cpu_late_block = ~0u;
}

inline void __nanosleep(unsigned) {
    if (blockIdx.x == cuda_on_cpu_late_block) usleep(2000);
    else sched_yield();
}

#ifdef __SANITIZE_THREAD__
extern "C" void AnnotateIgnoreSyncBegin(const char* file, int line);
extern "C" void AnnotateIgnoreSyncEnd(const char* file, int line);
#else
inline void AnnotateIgnoreSyncBegin(const char*, int) {}
inline void AnnotateIgnoreSyncEnd(const char*, int) {}
#endif

namespace cuda_on_cpu {

constexpr unsigned LANES = 32;
constexpr int GARBAGE = 0xA5;

[[noreturn]] inline void fail(const char* message, unsigned number) {
    std::fprintf(stderr, "thread %u of block %u: %s (0x%x)\n", threadIdx.x, blockIdx.x, message, number);
    std::abort();
}

// __syncthreads. Threads that have returned are no longer waited for, as on the GPU.
class Barrier {
    std::atomic<unsigned> expected, missing, phase{0};

    void arrive() {
        if (missing.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
        missing.store(expected.load(std::memory_order_relaxed), std::memory_order_relaxed);
        phase.fetch_add(1, std::memory_order_release);
    }

public:
    explicit Barrier(unsigned threads) : expected(threads), missing(threads) {}

    void wait() {
        unsigned before = phase.load(std::memory_order_relaxed);
        arrive();
        // Yielding beat futexes and condition variables by far: 64 threads on 2 cores meet in 0.1 ms.
        while (phase.load(std::memory_order_acquire) == before) sched_yield();
    }

    void leave() {
        expected.fetch_sub(1, std::memory_order_relaxed);
        arrive();
    }
};

// A lock that ThreadSanitizer does not see: a warp's books must not order the kernel's own memory.
class HiddenLock {
    std::atomic<bool>& taken;

public:
    explicit HiddenLock(std::atomic<bool>& flag) : taken(flag) {
        AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
        while (taken.exchange(true, std::memory_order_acquire)) sched_yield();
        AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
    }
    ~HiddenLock() {
        AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
        taken.store(false, std::memory_order_release);
        AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
    }
};

// A variable under a HiddenLock, atomic only because ThreadSanitizer does not see the lock.
template <class T>
class Guarded {
    std::atomic<T> value{};

public:
    operator T() const { return value.load(std::memory_order_relaxed); }
    void operator=(T other) { value.store(other, std::memory_order_relaxed); }
};

// One warp operation under way. Bit i of a mask stands for lane i.
struct Meeting {
    Guarded<unsigned> mask;  // 0: unused
    Guarded<unsigned> arrived, left;
    Guarded<bool> complete;
    Guarded<unsigned long long> values[LANES];
    std::atomic<unsigned> order{0};
};

struct Values {
    unsigned lanes;
    unsigned long long of[LANES];
};

// Lanes of one warp may be at different operations, and two masks may overlap: lanes 0-3 can be at an operation
// of four lanes while the rest already waits for them at one of 32. So a meeting is found by its whole mask.
// Each one in use holds a lane that has not left it, and a lane is at one at a time: LANES of them are enough.
class Warp {
    std::atomic<bool> locked{false};
    Guarded<unsigned> alive;
    Meeting meetings[LANES];

    Meeting& find(unsigned mask) {
        for (Meeting& meeting : meetings) {
            if (meeting.mask == mask && !meeting.complete) return meeting;
        }
        for (Meeting& meeting : meetings) {
            if (meeting.mask) continue;
            meeting.mask = mask;
            meeting.arrived = 0;
            meeting.left = 0;
            meeting.complete = false;
            meeting.order.store(0, std::memory_order_release);  // forgets those who met here before
            return meeting;
        }
        fail("no meeting is free", mask);
    }

    void complete_if_all_are_here(Meeting& meeting) {
        if (meeting.arrived == (meeting.mask & alive)) meeting.complete = true;
    }

public:
    explicit Warp(unsigned lanes) { alive = lanes < LANES ? (1u << lanes) - 1 : ~0u; }

    Values meet(unsigned mask, unsigned long long value, bool orders_memory) {
        unsigned lane = threadIdx.x % LANES, self = 1u << lane;
        if (!(mask & self)) fail("a lane is not in its own mask", mask);
        Meeting* meeting;
        {
            HiddenLock lock(locked);
            meeting = &find(mask);
            meeting->values[lane] = value;
            meeting->arrived = meeting->arrived | self;
            if (orders_memory) meeting->order.fetch_add(1, std::memory_order_release);
            complete_if_all_are_here(*meeting);
        }
        while (!meeting->complete) sched_yield();
        if (orders_memory) meeting->order.load(std::memory_order_acquire);
        HiddenLock lock(locked);
        Values values;
        values.lanes = meeting->arrived;
        for (unsigned other = 0; other < LANES; ++other) values.of[other] = meeting->values[other];
        meeting->left = meeting->left | self;
        if (meeting->left == meeting->arrived) meeting->mask = 0;
        return values;
    }

    void leave() {
        HiddenLock lock(locked);
        alive = alive & ~(1u << threadIdx.x % LANES);
        for (Meeting& meeting : meetings) {
            if (meeting.mask && !meeting.complete) complete_if_all_are_here(meeting);
        }
    }
};

struct Block {
    Barrier barrier;
    std::vector<std::unique_ptr<Warp>> warps;
    std::unique_ptr<char, decltype(&std::free)> shared;  // exactly as large as asked for: overruns are seen

    Block(unsigned threads, unsigned long long shared_bytes)
        : barrier(threads), shared(static_cast<char*>(std::malloc(shared_bytes)), std::free) {
        for (unsigned first = 0; first < threads; first += LANES) {
            warps.push_back(std::make_unique<Warp>(threads - first));
        }
        if (shared_bytes) std::memset(shared.get(), GARBAGE, shared_bytes);
    }
};

static thread_local Block* block;

inline Warp& warp() { return *block->warps[threadIdx.x / LANES]; }

template <class T>
T shuffle(unsigned mask, T value, unsigned from) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "CUDA shuffles 4 or 8 bytes");
    unsigned long long word = 0;
    std::memcpy(&word, &value, sizeof(T));
    Values values = warp().meet(mask, word, false);
    if (values.lanes >> from & 1) std::memcpy(&value, &values.of[from], sizeof(T));
    else std::memset(&value, GARBAGE, sizeof(T));
    return value;
}

using Kernel = void (*)(const void*);

struct Launch {
    Kernel kernel;
    const void* arguments;
    unsigned blocks, threads;
};

struct Thread {
    const Launch* launch;
    Block* own_block;
    unsigned index;
    pthread_t handle;

    void run() const {
        gridDim = {launch->blocks, 1, 1};
        blockDim = {launch->threads, 1, 1};
        blockIdx = {index / launch->threads, 0, 0};
        threadIdx = {index % launch->threads, 0, 0};
        block = own_block;
        launch->kernel(launch->arguments);
        warp().leave();
        block->barrier.leave();
    }
};

// The C library keeps small stacks for the next launch; with its usual 8 MB a launch of 64 takes 6 ms, not 2.
constexpr size_t STACK_BYTES = 256 * 1024;

}  // namespace cuda_on_cpu

inline char* shared_memory() { return cuda_on_cpu::block->shared.get(); }
inline void __syncthreads() { cuda_on_cpu::block->barrier.wait(); }
inline void __syncwarp(unsigned mask = ~0u) { cuda_on_cpu::warp().meet(mask, 0, true); }

inline unsigned __ballot_sync(unsigned mask, int predicate) {
    cuda_on_cpu::Values votes = cuda_on_cpu::warp().meet(mask, predicate != 0, false);
    unsigned ballot = 0;
    for (unsigned lane = 0; lane < cuda_on_cpu::LANES; ++lane) {
        if (votes.lanes >> lane & 1 && votes.of[lane]) ballot |= 1u << lane;
    }
    return ballot;
}
inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
inline int __all_sync(unsigned mask, int predicate) { return __ballot_sync(mask, !predicate) == 0; }

// Which lane a shuffle reads, also at the ends of a segment of `width` lanes: what the PTX manual says of shfl.
template <class T>
T __shfl_sync(unsigned mask, T value, int lane, int width = 32) {
    unsigned first = threadIdx.x % 32 & ~(width - 1);
    return cuda_on_cpu::shuffle(mask, value, first | (lane & (width - 1)));
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
    unsigned lane = threadIdx.x % 32, first = lane & ~(width - 1);
    return cuda_on_cpu::shuffle(mask, value, lane - first >= delta ? lane - delta : lane);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
    unsigned lane = threadIdx.x % 32, last = lane | (width - 1);
    return cuda_on_cpu::shuffle(mask, value, last - lane >= delta ? lane + delta : lane);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32) {
    unsigned lane = threadIdx.x % 32, last = lane | (width - 1), other = lane ^ lane_mask;
    return cuda_on_cpu::shuffle(mask, value, other <= last ? other : lane);
}

extern "C" void cuda_on_cpu_launch(cuda_on_cpu::Kernel kernel, const void* arguments, unsigned blocks,
                                   unsigned threads, unsigned long long shared_bytes) {
    cuda_on_cpu::Launch launch{kernel, arguments, blocks, threads};
    std::vector<std::unique_ptr<cuda_on_cpu::Block>> grid;
    std::vector<cuda_on_cpu::Thread> running;
    for (unsigned block = 0; block < blocks; ++block) {
        grid.push_back(std::make_unique<cuda_on_cpu::Block>(threads, shared_bytes));
        for (unsigned thread = 0; thread < threads; ++thread) {
            running.push_back({&launch, grid.back().get(), block * threads + thread, {}});
        }
    }
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, cuda_on_cpu::STACK_BYTES);
    for (cuda_on_cpu::Thread& thread : running) {
        auto run = [](void* self) -> void* {
            static_cast<cuda_on_cpu::Thread*>(self)->run();
            return nullptr;
        };
        if (pthread_create(&thread.handle, &small, run, &thread)) cuda_on_cpu::fail("no thread", thread.index);
    }
    for (cuda_on_cpu::Thread& thread : running) pthread_join(thread.handle, nullptr);
    pthread_attr_destroy(&small);
}
