// How a kernel learns that the solve is to stop: from a word in the host's memory, which is not zero then.
//
// A look at that word takes a microsecond or two. So one thread looks for all, every few milliseconds, and tells the
// others: those that meet at barriers by GridTeam::tell_last, in the rounds in which they listen.
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

// Whether a solve is to stop, as one thread sees it that has not looked for some time; `next_look` is a time on the
// clock, 0 at first.
__device__ __forceinline__ bool sees_stop(const i64* stop, u64& next_look) {
    const u64 now = nanoseconds();
    if (now < next_look) return false;
    next_look = now + NANOSECONDS_A_LOOK;
    return is_raised(stop);
}

// How threads that meet at no barrier learn of it: the first of the grid looks, and sets a word that all look at in one
// of so many cycles. What it needs is in device memory, and zero before the launch: registers are scarce.
struct CycleWatch {
    static constexpr u64 CYCLES_A_LOOK = 32;

    u64 is_over;
    u64 next_look;

    // Whether to end before a cycle.
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

// Ends a launch with a round, before whose barrier the first thread of the grid calls this, if the solve is to stop.
__device__ __forceinline__ void watch(const GridTeam& team, const i64* stop, u64 round, u64& next_look) {
    if (GridTeam::listens(round) && sees_stop(stop, next_look)) team.tell_last(round);
}
