// The part of CUDA that the kernels use, on CPU threads: the tests run .cu files without a GPU.
//
// g++ reads this before a .cu file. All CUDA threads are alive from the launch on, so blocks and threads may
// wait for each other. There are more of them than cores: what waits gives its core away, and a kernel that
// waits in a loop must call __nanosleep in it, or each turn costs the others a time slice.
//
// Each warp is a thread of the CPU, and its lanes take turns in it: the next lane goes on where a lane waits,
// and before some of the atomic operations, which a random number chooses. So lanes come between one another as
// warps do, and a switch takes nanoseconds, whereas sched_yield among 64 threads takes microseconds. Under a
// sanitizer, which wants to know of each stack, and without the GNU C library every CUDA thread is a thread of
// its own.
//
// As strict as CUDA, so that ThreadSanitizer sees what a GPU may do wrong: __syncthreads and __syncwarp order
// the memory of those that meet, shuffles and votes order nothing. Order comes from atomics: ThreadSanitizer
// does not know fences. Values of lanes that did not take part are garbage, as is shared memory at launch.
#pragma once

// The checked longjmp takes a change of stacks for a mistake.
#undef _FORTIFY_SOURCE

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <time.h>
#include <ucontext.h>
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

#ifndef CUDA_ON_CPU_LANES_TAKE_TURNS
#if defined(__GLIBC__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define CUDA_ON_CPU_LANES_TAKE_TURNS 1
#else
#define CUDA_ON_CPU_LANES_TAKE_TURNS 0
#endif
#endif

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

// See below. Lets others go on, in a loop that waits.
void give_way();
// Says that the thread does not only wait.
void note_work();

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
        note_work();
        arrive();
        // Yielding beat futexes and condition variables by far: 64 threads on 2 cores meet in 0.1 ms.
        while (phase.load(std::memory_order_acquire) == before) give_way();
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
        note_work();
        {
            HiddenLock lock(locked);
            meeting = &find(mask);
            meeting->values[lane] = value;
            meeting->arrived = meeting->arrived | self;
            if (orders_memory) meeting->order.fetch_add(1, std::memory_order_release);
            complete_if_all_are_here(*meeting);
        }
        while (!meeting->complete) give_way();
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

    // Lets the variables of CUDA be those of this thread.
    void become_current() const {
        gridDim = {launch->blocks, 1, 1};
        blockDim = {launch->threads, 1, 1};
        blockIdx = {index / launch->threads, 0, 0};
        threadIdx = {index % launch->threads, 0, 0};
        block = own_block;
    }

    void run() const {
        become_current();
        launch->kernel(launch->arguments);
        warp().leave();
        block->barrier.leave();
    }
};

// The C library keeps small stacks for the next launch; with its usual 8 MB a launch of 64 takes 6 ms, not 2.
constexpr size_t STACK_BYTES = 256 * 1024;

#if CUDA_ON_CPU_LANES_TAKE_TURNS

// Stacks of the lanes of warps, kept for later launches: the first use of a page costs a microsecond.
class Stacks {
    static pthread_mutex_t& lock() {
        static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
        return mutex;
    }
    static std::vector<std::unique_ptr<char[]>>& kept() {
        static std::vector<std::unique_ptr<char[]>> stacks;
        return stacks;
    }

    std::unique_ptr<char[]> memory;

public:
    Stacks() {
        pthread_mutex_lock(&lock());
        if (!kept().empty()) {
            memory = std::move(kept().back());
            kept().pop_back();
        }
        pthread_mutex_unlock(&lock());
        if (!memory) memory.reset(new char[LANES * STACK_BYTES]);
    }
    ~Stacks() {
        pthread_mutex_lock(&lock());
        kept().push_back(std::move(memory));
        pthread_mutex_unlock(&lock());
    }
    char* of(unsigned lane) const { return memory.get() + lane * STACK_BYTES; }
};

// The lanes of a warp on one thread of the CPU.
class Lanes {
    // A lane goes on before one of this many atomic operations, on average.
    static constexpr unsigned OPERATIONS_A_TURN = 8;
    // A lane does nothing but wait if it reads at most as many times between two waits, and writes nothing.
    static constexpr unsigned READS_OF_A_WAIT = 3;
    // After this many turns of all lanes in which none did anything else, their thread sleeps between turns.
    static constexpr unsigned PATIENCE = 50;
    static constexpr unsigned SLEEP_MICROSECONDS = 20;

    struct Lane {
        const Thread* thread;
        bool has_begun = false, has_ended = false;
        unsigned reads = 0;  // since it waited last
        ucontext_t begin;
        jmp_buf place;
    };

    std::vector<Lane> lanes;
    Stacks stacks;
    jmp_buf all_have_ended;
    unsigned current = 0, left, idle_turns = 0;
    unsigned long long random;
    bool idle = true;

    static void run_current();

    __attribute__((noinline)) void go_on() {
        Lane& to = lanes[current];
        if (to.has_begun) _longjmp(to.place, 1);
        to.has_begun = true;
        setcontext(&to.begin);
    }

    // Saves the current lane and goes on with the lane `current`.
    __attribute__((noinline)) void switch_from(Lane& from) {
        if (!_setjmp(from.place)) go_on();
    }

    void choose_next() {
        do {
            if (++current < lanes.size()) continue;
            current = 0;
            if (!idle) idle_turns = 0;
            else if (++idle_turns > PATIENCE) usleep(SLEEP_MICROSECONDS);
            else sched_yield();
            idle = true;
        } while (lanes[current].has_ended);
    }

public:
    Lanes(const Thread* first, unsigned count, unsigned long long seed)
        : lanes(count), left(count), random(seed) {
        for (unsigned lane = 0; lane < count; ++lane) {
            lanes[lane].thread = first + lane;
            ucontext_t& begin = lanes[lane].begin;
            getcontext(&begin);
            begin.uc_stack.ss_sp = stacks.of(lane);
            begin.uc_stack.ss_size = STACK_BYTES;
            begin.uc_link = nullptr;
            makecontext(&begin, run_current, 0);
        }
    }

    void run();

    void let_next_go_on() {
        Lane& self = lanes[current];
        choose_next();
        if (&lanes[current] == &self) return;
        switch_from(self);
        self.thread->become_current();
    }

    void note_work() { idle = false; }

    void wait() {
        lanes[current].reads = 0;
        let_next_go_on();
    }

    // Called before each atomic operation.
    void step(bool writes) {
        if (writes || ++lanes[current].reads > READS_OF_A_WAIT) idle = false;
        random = random * 6364136223846793005ull + 1442695040888963407ull;
        if (!(random >> 33 & (OPERATIONS_A_TURN - 1))) let_next_go_on();
    }
};

static thread_local Lanes* running = nullptr;

inline void Lanes::run_current() {
    Lanes& self = *running;
    self.lanes[self.current].thread->run();
    self.lanes[self.current].has_ended = true;
    self.idle = false;
    if (--self.left == 0) _longjmp(self.all_have_ended, 1);
    self.choose_next();
    self.go_on();
}

inline void Lanes::run() {
    running = this;
    if (!_setjmp(all_have_ended)) go_on();
    running = nullptr;
}

inline void give_way() { running->wait(); }
inline void note_work() { running->note_work(); }
inline void step(bool writes) {
    if (running) running->step(writes);
}

// What a thread of the CPU runs.
struct Crew {
    const Thread* first;
    unsigned count;
    unsigned long long seed;
    pthread_t handle;

    void run() const { Lanes(first, count, seed).run(); }
};

#else

inline void give_way() { sched_yield(); }
inline void note_work() {}

struct Crew {
    const Thread* thread;
    pthread_t handle;

    void run() const { thread->run(); }
};

#endif

}  // namespace cuda_on_cpu

// Tests set it: the block whose threads sleep on whenever they wait, while the others do what comes next.
extern "C" {
__attribute__((visibility("default"))) unsigned cuda_on_cpu_late_block = ~0u;
}

inline void __nanosleep(unsigned) {
    if (blockIdx.x == cuda_on_cpu_late_block) {
        constexpr long long LATE = 500000;
        timespec time;
        auto nanoseconds = [&time] {
            clock_gettime(CLOCK_MONOTONIC, &time);
            return time.tv_sec * 1000000000ll + time.tv_nsec;
        };
        const long long until = nanoseconds() + LATE;
        do cuda_on_cpu::give_way();
        while (nanoseconds() < until);
    } else {
        cuda_on_cpu::give_way();
    }
}

#if CUDA_ON_CPU_LANES_TAKE_TURNS
// A name that is being replaced is not replaced again.
#define __atomic_load_n(...) (cuda_on_cpu::step(false), __atomic_load_n(__VA_ARGS__))
#define __atomic_load(...) (cuda_on_cpu::step(false), __atomic_load(__VA_ARGS__))
#define __atomic_store_n(...) (cuda_on_cpu::step(true), __atomic_store_n(__VA_ARGS__))
#define __atomic_fetch_add(...) (cuda_on_cpu::step(true), __atomic_fetch_add(__VA_ARGS__))
#define __atomic_fetch_or(...) (cuda_on_cpu::step(true), __atomic_fetch_or(__VA_ARGS__))
#define __atomic_fetch_and(...) (cuda_on_cpu::step(true), __atomic_fetch_and(__VA_ARGS__))
#define __atomic_compare_exchange(...) (cuda_on_cpu::step(true), __atomic_compare_exchange(__VA_ARGS__))
#define __atomic_compare_exchange_n(...) (cuda_on_cpu::step(true), __atomic_compare_exchange_n(__VA_ARGS__))
#endif

inline char* shared_memory() { return cuda_on_cpu::block->shared.get(); }
inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
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
            running.push_back({&launch, grid.back().get(), block * threads + thread});
        }
    }
    std::vector<cuda_on_cpu::Crew> crews;
#if CUDA_ON_CPU_LANES_TAKE_TURNS
    static std::atomic<unsigned long long> launches{0};
    unsigned long long seed = launches.fetch_add(1, std::memory_order_relaxed) << 32;
    for (unsigned first = 0; first < blocks * threads;) {
        unsigned lanes = std::min(cuda_on_cpu::LANES, threads - first % threads);
        crews.push_back({&running[first], lanes, seed + first, {}});
        first += lanes;
    }
#else
    for (cuda_on_cpu::Thread& thread : running) crews.push_back({&thread, {}});
#endif
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, cuda_on_cpu::STACK_BYTES);
    for (cuda_on_cpu::Crew& crew : crews) {
        auto run = [](void* self) -> void* {
            static_cast<cuda_on_cpu::Crew*>(self)->run();
            return nullptr;
        };
        if (pthread_create(&crew.handle, &small, run, &crew)) cuda_on_cpu::fail("no thread", crews.size());
    }
    for (cuda_on_cpu::Crew& crew : crews) pthread_join(crew.handle, nullptr);
    pthread_attr_destroy(&small);
}
