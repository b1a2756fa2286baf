// How a kernel learns that the solve is to stop: a word in the host's memory is then not zero.
//
// Reading that word takes a microsecond or two. So one thread reads it for all, every few milliseconds, and signals
// the others: by GridTeam::tell_last if they meet at barriers, by CycleWatch if they do not.
#include "grid.cuh"

#ifndef NANOSECONDS_A_LOOK
#define NANOSECONDS_A_LOOK 2000000
#endif

__device__ __forceinline__ bool is_raised(const i64* stop) {
#ifdef PREFLOW_ON_CPU
    return relaxed_load(stop) != 0;
#else
    i64 value;
    asm volatile("ld.relaxed.sys.s64 %0, [%1];" : "=l"(value) : "l"(stop) : "memory");
    return value != 0;
#endif
}

// Returns whether the solve is to stop; reads the word only after clock time `next_look`, which is 0 at first.
__device__ __forceinline__ bool sees_stop(const i64* stop, u64& next_look) {
    const u64 now = nanoseconds();
    if (now < next_look) return false;
    next_look = now + NANOSECONDS_A_LOOK;
    return is_raised(stop);
}

// The signal for threads that meet at no barrier: the first thread of the grid reads the host's word and sets a word
// that all threads read every CYCLES_A_LOOK cycles. It is in device memory, since registers are scarce, and zero
// before the launch.
struct CycleWatch {
    static constexpr u64 CYCLES_A_LOOK = 32;

    u64 is_over;
    u64 next_look;

    // Returns whether to end before a cycle.
    __device__ bool sees(const i64* stop, u64 cycle) {
        if (cycle % CYCLES_A_LOOK != CYCLES_A_LOOK - 1) return false;
        if (grid_thread() == 0) {
            if (next_look == 0)
                next_look = nanoseconds() + NANOSECONDS_A_LOOK;
            else if (sees_stop(stop, next_look))
                relaxed_store(&is_over, u64{1});
        }
        return relaxed_load(&is_over) != 0;
    }
};

// Ends the launch with this round if the solve is to stop; the first thread of the grid calls it before the round's
// barrier.
__device__ __forceinline__ void watch(const GridTeam& team, const i64* stop, u64 round, u64& next_look) {
    if (GridTeam::listens(round) && sees_stop(stop, next_look)) team.tell_last(round);
}
