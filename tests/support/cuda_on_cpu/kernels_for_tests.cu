// What tests/cuda/test_cuda_on_cpu.py runs: each kernel asks one thing of the platform.
#include "atomics.cuh"

#ifndef ORDERED
#define ORDERED 1
#endif
#ifndef ACROSS
#define ACROSS 0
#endif

struct Indices { u32 *thread, *lane, *in_block, *block, *in_grid, *threads; };

extern "C" __global__ void indices(const Indices* arguments) {
    u32 self = grid_thread();
    arguments->thread[self] = self;
    arguments->lane[self] = lane_id();
    arguments->in_block[self] = threadIdx.x;
    arguments->block[self] = blockIdx.x;
    arguments->in_grid[self] = gridDim.x;
    arguments->threads[self] = grid_threads();
}

struct Rounds { u32* errors; i64 rounds; };

// A thread writes a plain variable, its neighbour reads it in the next phase.
extern "C" __global__ void phases(const Rounds* arguments) {
    SharedArena arena;
    u32* written = arena.take<u32>(blockDim.x);
    for (u32 round = 0; round < arguments->rounds; ++round) {
        written[threadIdx.x] = round;
        __syncthreads();
        if (written[(threadIdx.x + 1) % blockDim.x] != round) relaxed_fetch_add(arguments->errors, 1u);
        __syncthreads();
    }
}

// Only the first half stays: the GPU does not wait for threads that have returned.
extern "C" __global__ void half_returns(const Rounds* arguments) {
    if (threadIdx.x >= blockDim.x / 2) return;
    for (u32 round = 0; round < arguments->rounds; ++round) {
        __syncthreads();
        if (!__all_sync(ALL_LANES, true)) relaxed_fetch_add(arguments->errors, 1u);
    }
}

struct PingPong { u32* turn; i64* payload; i64 rounds; };

// Two threads, of one block or of two, wait for each other and hand on a plain variable.
extern "C" __global__ void ping_pong(const PingPong* arguments) {
    for (u32 round = 0; round < arguments->rounds; ++round) {
        u32 turn = 2 * round + grid_thread();
        while (acquire_load(arguments->turn) != turn) __nanosleep(20);
        *arguments->payload += turn;
        release_store(arguments->turn, turn + 1);
    }
}

struct Shuffles { u32 *one, *up, *down, *across; u64* wide; i64 group; };

// Groups of lanes are in different rounds at the same time.
extern "C" __global__ void shuffles(const Shuffles* arguments) {
    u32 self = grid_thread(), width = arguments->group, group = lane_id() / width;
    u32 mask = (width < WARP ? (1u << width) - 1 : ALL_LANES) << group * width;
    u64 big = 1ull << 40;
    for (u32 round = 0; round <= 5 * group; ++round) {
        u32 value = 1000 * round + self;
        arguments->one[self] = __shfl_sync(mask, value, 1, width) - 1000 * round;
        arguments->up[self] = __shfl_up_sync(mask, value, 2, width) - 1000 * round;
        arguments->down[self] = __shfl_down_sync(mask, value, 3, width) - 1000 * round;
        arguments->across[self] = __shfl_xor_sync(mask, value, 1, width) - 1000 * round;
        arguments->wide[self] = __shfl_sync(mask, big * value, 2, width) - 1000 * round * big;
    }
}

struct Votes { u32 *ballot, *any, *all; i64 group, threads_for; };

extern "C" __global__ void votes(const Votes* arguments) {
    u32 self = grid_thread(), width = arguments->group, group = lane_id() / width;
    u32 mask = (width < WARP ? (1u << width) - 1 : ALL_LANES) << group * width;
    bool vote = arguments->threads_for >> self & 1;
    for (u32 round = 0; round <= 5 * group; ++round) {
        arguments->ballot[self] = __ballot_sync(mask, vote);
        arguments->any[self] = __any_sync(mask, vote);
        arguments->all[self] = __all_sync(mask, vote);
    }
}

struct Overlapping { u32* sums; };

// Lanes 0-3 still meet alone while the others wait for them; masks that a vote made come and go.
extern "C" __global__ void overlapping_masks(const Overlapping* arguments) {
    u32 sum = 0;
    for (u32 round = 0; round < 200; ++round) {
        if (lane_id() < 4) sum += __shfl_sync(0xfu, round, 3);
        bool chosen = (round * 2654435761u >> lane_id() / 2 & 1) != 0;
        u32 mask = __ballot_sync(ALL_LANES, chosen);
        if (chosen) sum += __popc(__ballot_sync(mask, true)) - __popc(mask);
    }
    arguments->sums[grid_thread()] = sum;
}

struct Garbage { u32 *first, *kept, *arrived; };

extern "C" __global__ void shared_is_per_block(const Garbage* arguments) {
    SharedArena arena;
    u32* shared = arena.take<u32>(1);
    u32 garbage = *shared;
    __syncthreads();
    if (threadIdx.x == 0) {
        *shared = blockIdx.x;
        fetch_add(arguments->arrived, 1u);
        while (acquire_load(arguments->arrived) < gridDim.x) __nanosleep(20);
    }
    __syncthreads();
    arguments->first[grid_thread()] = garbage;
    arguments->kept[grid_thread()] = *shared;
}

struct Contention {
    u32 *relaxed_u32, *u32_both, *exchanged, *least, *greatest;
    i64 *relaxed_i64, *i64_both;
    u64 *relaxed_u64, *seen, *greatest_relaxed, *greatest_released;
    i64 rounds;
};

// What the additions return, added up, tells whether each value was handed out once.
extern "C" __global__ void contention(const Contention* arguments) {
    u64 seen = 0;
    for (u32 round = 0; round < arguments->rounds; ++round) {
        seen += relaxed_fetch_add(arguments->relaxed_u32, 1u);
        seen += relaxed_fetch_add(arguments->relaxed_i64, -1ll);
        seen += relaxed_fetch_add(arguments->relaxed_u64, 1ull);
        seen += fetch_add(arguments->u32_both, 1u);
        seen += fetch_add(arguments->i64_both, -1ll);
        u32 old = relaxed_load(arguments->exchanged);
        while (true) {
            u32 found = relaxed_compare_exchange(arguments->exchanged, old, old + 1);
            if (found == old) break;
            old = found;
        }
        seen += old;
        relaxed_fetch_min(arguments->least, 1000000 - round * grid_threads() - grid_thread());
        const u32 number = round * grid_threads() + grid_thread();
        relaxed_fetch_max(arguments->greatest, number);
        relaxed_fetch_max(arguments->greatest_relaxed, (7ull << 32) + number);
        release_fetch_max(arguments->greatest_released, (7ull << 32) + number);
    }
    relaxed_fetch_add(arguments->seen, seen);
}

struct LoadsAndStores {
    const u32* u32_in; const i64* i64_in; const u64* u64_in;
    u32* u32_out; i64* i64_out; u64* u64_out;
};

extern "C" __global__ void loads_and_stores(const LoadsAndStores* arguments) {
    relaxed_store(arguments->u32_out, relaxed_load(arguments->u32_in));
    release_store(arguments->u32_out + 1, acquire_load(arguments->u32_in));
    relaxed_store(arguments->i64_out, relaxed_load(arguments->i64_in));
    relaxed_store(arguments->i64_out + 1, acquire_load(arguments->i64_in));
    relaxed_store(arguments->u64_out, relaxed_load(arguments->u64_in));
}

struct Bits { const u64* values; i64* results; };

extern "C" __global__ void bits(const Bits* arguments) {
    u64 value = arguments->values[grid_thread()];
    i64* results = arguments->results + 7 * grid_thread();
    results[0] = __popc(static_cast<u32>(value));
    results[1] = __popcll(value);
    results[2] = __ffs(static_cast<int>(value));
    results[3] = __clz(static_cast<int>(value));
    results[4] = __clzll(static_cast<i64>(value));
    results[5] = min(value, 7ull) + max(static_cast<i64>(value), -7ll);
    results[6] = __umulhi(static_cast<u32>(value), static_cast<u32>(value >> 1));
}

struct Inner { i64* array; i64 integer; };
struct Outer { i64 before; Inner inner; i64* array; i64 after; };

extern "C" __global__ void flat_arguments(const Outer* arguments) {
    arguments->inner.array[0] = arguments->before;
    arguments->inner.array[1] = arguments->inner.integer;
    arguments->array[0] += arguments->after;
}

struct Counter { i64* total; i64 elements; };

extern "C" __global__ void write_behind_the_end(const Counter* arguments) {
    arguments->total[arguments->elements] = 1;
}

extern "C" __global__ void misaligned(const Counter* arguments) {
    *reinterpret_cast<int4*>(arguments->total + arguments->elements) = make_int4(1, 2, 3, 4);
}

extern "C" __global__ void behind_shared_memory(const Counter* arguments) {
    SharedArena arena;
    arena.take<i64>(arguments->elements)[arguments->elements] = 1;
}

extern "C" __global__ void plain_count(const Counter* arguments) { *arguments->total += 1; }

extern "C" __global__ void relaxed_count(const Counter* arguments) {
    relaxed_fetch_add(arguments->total, 1ll);
}

// Orders by nothing but the warp operation; the other warps and groups must not add any order.
extern "C" __global__ void hand_on_in_a_group(const Counter* arguments) {
    SharedArena arena;
    i64* written = arena.take<i64>(blockDim.x);
    u32 group_mask = 0xfu << (lane_id() & ~3u);
    written[threadIdx.x] = threadIdx.x;
    if (ORDERED) __syncwarp(group_mask);
    else __ballot_sync(group_mask, true);
    u32 other = ACROSS ? threadIdx.x ^ 4 : threadIdx.x ^ 1;
    relaxed_fetch_add(arguments->total, written[other]);
}

extern "C" __global__ void hang(const Counter* arguments) {
    while (acquire_load(arguments->total) == 0) __nanosleep(20);
}
