// Kernels of costs.py: the least and the largest finite cost, and whether there are costs that are not finite.
#include "atomics.cuh"
#include "lanes.cuh"
#include "numbers.cuh"

#include "costs.py: Arguments, Place"

struct Found {
    u64 most = 0, least_turned = 0;
    bool finite = false, nan = false, minus = false, plus = false;

    __device__ void look(i64 value) { take(key_of(value)); }
    __device__ void look(double value) {
        if (value - value == 0) return take(key_of(value));
        nan |= value != value;
        minus |= value < 0;
        plus |= value > 0;
    }
    __device__ void take(u64 key) {
        finite = true;
        most = max(most, key);
        least_turned = max(least_turned, ~key);
    }
    // Gives what the threads of the block have found together: an atomic operation of each warp would take longer than
    // to read the costs.
    __device__ void give(u64* words) const {
        u64* const of_warps = reinterpret_cast<u64*>(shared_memory());
        const auto greater = [](u64 a, u64 b) { return a < b ? b : a; };
        const u64 greatest = of_block(most, of_warps, greater), least = of_block(least_turned, of_warps, greater);
        const u64 flags = u64{finite} | u64{nan} << 1 | u64{minus} << 2 | u64{plus} << 3;
        const u64 all = of_block(flags, of_warps, [](u64 a, u64 b) { return a | b; });
        if (threadIdx.x > 0) return;
        const Place places[] = {HAS_FINITE, HAS_NAN, HAS_MINUS, HAS_PLUS};
        for (u32 k = 0; k < 4; ++k)
            if (all >> k & 1) relaxed_store(&words[places[k]], u64{1});
        relaxed_fetch_max(&words[MOST], greatest);
        relaxed_fetch_max(&words[LEAST_TURNED], least);
    }
};

template <class Stored, class Number, bool WITHIN>
__device__ void examine(const Arguments& args) {
    const Stored* const values = static_cast<const Stored*>(args.values);
    const u64 each = args.num_rows * args.num_columns;
    constexpr u32 AT_ONCE = 8;
    Found found;
    u64 k = grid_thread();
    if (!WITHIN)
        for (; k + (AT_ONCE - 1) * grid_threads() < args.num_values; k += AT_ONCE * grid_threads()) {
            Stored loaded[AT_ONCE];
#pragma unroll
            for (u32 i = 0; i < AT_ONCE; ++i) loaded[i] = values[k + i * grid_threads()];
#pragma unroll
            for (u32 i = 0; i < AT_ONCE; ++i) found.look(static_cast<Number>(loaded[i]));
        }
    for (; k < args.num_values; k += grid_threads()) {
        if (WITHIN) {
            const u64 item = k / each, row = k % each / args.num_columns, column = k % args.num_columns;
            if (row >= args.sizes[2 * item] || column >= args.sizes[2 * item + 1]) continue;
        }
        found.look(static_cast<Number>(values[k]));
    }
    found.give(args.found);
}

KERNEL(examine_int32, Arguments) { examine<int, i64, false>(args); }
KERNEL(examine_int64, Arguments) { examine<i64, i64, false>(args); }
KERNEL(examine_float32, Arguments) { examine<float, double, false>(args); }
KERNEL(examine_float64, Arguments) { examine<double, double, false>(args); }
KERNEL(examine_int32_within, Arguments) { examine<int, i64, true>(args); }
KERNEL(examine_int64_within, Arguments) { examine<i64, i64, true>(args); }
KERNEL(examine_float32_within, Arguments) { examine<float, double, true>(args); }
KERNEL(examine_float64_within, Arguments) { examine<double, double, true>(args); }
