// Potentials by Sinkhorn's iteration at falling temperatures: they approximate optimal prices.
#include "state.cuh"

// A sum of powers of two, whose greatest exponent is taken out.
struct PowerSum {
    float most = -1e30f, sum = 0;

    template <u32 COUNT>
    __device__ __forceinline__ void add(const float (&exponent)[COUNT]) {
        float greatest = most;
#pragma unroll
        for (u32 k = 0; k < COUNT; ++k) greatest = greatest < exponent[k] ? exponent[k] : greatest;
        sum *= exp2f(most - greatest);
#pragma unroll
        for (u32 k = 0; k < COUNT; ++k) sum += exp2f(exponent[k] - greatest);
        most = greatest;
    }
    __device__ __forceinline__ void add(const PowerSum& other) {
        const float greatest = most < other.most ? other.most : most;
        sum = sum * exp2f(most - greatest) + other.sum * exp2f(other.most - greatest);
        most = greatest;
    }
    __device__ __forceinline__ float logarithm() const { return most + log2f(sum); }
};

// The logarithm of a mass; vertices without mass get a very small one.
__device__ __forceinline__ float log_mass(i64 mass) { return mass > 0 ? log2f(static_cast<float>(mass)) : -64.0f; }

// Makes the sums of all rows their masses.
__device__ void smooth_rows(const Arguments& args, const Team& team, float temperature) {
    const float scale = 1 / temperature;
    const float* const column = args.smooth + args.num_rows;
    const u32 m = static_cast<u32>(args.num_columns);
    for (u64 row = team.grid.warp(); row < args.num_rows; row += team.grid.num_warps()) {
        PowerSum sum;
        u32 j = lane_id();
        for (; j + (AT_ONCE - 1) * WARP < m; j += AT_ONCE * WARP) {
            float exponent[AT_ONCE];
#pragma unroll
            for (u32 k = 0; k < AT_ONCE; ++k)
                exponent[k] = (column[j + k * WARP] - args.costs.about(row, j + k * WARP)) * scale;
            sum.add(exponent);
        }
        for (; j < m; j += WARP) {
            const float exponent[1] = {(column[j] - args.costs.about(row, j)) * scale};
            sum.add(exponent);
        }
#pragma unroll
        for (u32 distance = WARP / 2; distance > 0; distance /= 2)
            sum.add(PowerSum{__shfl_xor_sync(ALL_LANES, sum.most, distance),
                             __shfl_xor_sync(ALL_LANES, sum.sum, distance)});
        if (lane_id() == 0) args.smooth[row] = temperature * (log_mass(args.mass[row]) - sum.logarithm());
    }
}

// Sums groups of rows in each column.
__device__ void smooth_columns(const Arguments& args, const Team& team, float temperature) {
    const float scale = 1 / temperature;
    const u64 n = args.num_rows, m = args.num_columns;
    for (u64 k = team.grid.thread(); k < m * args.chunks; k += team.grid.num_threads()) {
        const u64 column = k % m, chunk = k / m, end = (chunk + 1) * n / args.chunks;
        PowerSum sum;
        u64 i = chunk * n / args.chunks;
        for (; i + AT_ONCE <= end; i += AT_ONCE) {
            float exponent[AT_ONCE];
#pragma unroll
            for (u32 r = 0; r < AT_ONCE; ++r)
                exponent[r] = (args.smooth[i + r] - args.costs.about(i + r, column)) * scale;
            sum.add(exponent);
        }
        for (; i < end; ++i) {
            const float exponent[1] = {(args.smooth[i] - args.costs.about(i, column)) * scale};
            sum.add(exponent);
        }
        args.partial[k] = {sum.most, sum.sum};
    }
}

// Returns whether the solve goes on.
__device__ bool smooth(const Arguments& args, Team& team) {
    const u64 n = args.num_rows, m = args.num_columns;
    for (u64 j = team.grid.thread(); j < m; j += team.grid.num_threads()) args.smooth[n + j] = 0;
    if (!team.meet(args)) return false;
    double temperature = same_bits<double>(args.hottest);
    for (u64 round = 0; round < args.temperatures; ++round, temperature *= same_bits<double>(args.cooling)) {
        const float now = static_cast<float>(temperature);
        for (u64 step = 0; step < args.steps; ++step) {
            smooth_rows(args, team, now);
            if (!team.meet(args)) return false;
            smooth_columns(args, team, now);
            if (!team.meet(args)) return false;
            for (u64 j = team.grid.thread(); j < m; j += team.grid.num_threads()) {
                PowerSum sum;
                for (u64 chunk = 0; chunk < args.chunks; ++chunk) {
                    const Float2 part = args.partial[chunk * m + j];
                    sum.add(PowerSum{part.most, part.sum});
                }
                args.smooth[n + j] = now * (log_mass(args.mass[n + j]) - sum.logarithm());
            }
            if (!team.meet(args)) return false;
        }
    }
    return true;
}
