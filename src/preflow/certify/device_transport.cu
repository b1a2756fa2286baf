// The kernels of device_transport.py: what the plans of a batch move and cost, and what their prices prove.
#include "atomics.cuh"
#include "cost_types.cuh"
#include "lanes.cuh"
#include "numbers.cuh"

#include "device_transport.py: Found, WORDS, Arguments"

// More than the relative rounding error of a sum or difference of two floats.
constexpr double UNIT = 0x1p-52;

__device__ __forceinline__ Number price_of(const Arguments& args, u64 item, u64 column) {
    return args.price[item * (args.num_rows + args.num_columns) + args.num_rows + column];
}

// Finds for each row the least cost less the price of its column. A warp looks at a row.
KERNEL(least_of_rows, Arguments) {
    const u64 n = args.num_rows, m = args.num_columns;
    for (u64 k = grid_thread() / WARP; k < args.num_items * n; k += grid_threads() / WARP) {
        const u64 item = k / n;
        u64 least = ~u64{0};
#pragma unroll 4
        for (u64 j = lane_id(); j < m; j += WARP)
            least = min(least, key_of(static_cast<Number>(args.values[k * m + j]) - price_of(args, item, j)));
        least = ~greatest_of_warp(~least);
        const u64 bits = least & SIGN ? least ^ SIGN : ~least;
        if (lane_id() == 0) args.least[k] = COST_KIND <= 1 ? same_bits<Number>(least ^ SIGN) : same_bits<Number>(bits);
    }
}

__device__ __forceinline__ double size_of(double value) { return value < 0 ? -value : value; }

// Checks what the plan of an item moves, and adds up what it costs, and what it costs above its prices. A block has an
// item.
KERNEL(check_plans, Arguments) {
    double* const of_warps = reinterpret_cast<double*>(shared_memory());
    const u64 n = args.num_rows, m = args.num_columns, vertices = n + m;
    const auto sum = [](double a, double b) { return a + b; };
    const auto larger = [](double a, double b) { return a < b ? b : a; };
    for (u64 item = blockIdx.x; item < args.num_items; item += gridDim.x) {
        const i64* const given = args.given + item * vertices;
        i64* const left = args.left + item * vertices;
        const int exponent = static_cast<int>(args.scale[item]);
        const auto amount = [&](i64 mass) { return ldexp(static_cast<double>(mass), -exponent); };
        for (u64 v = threadIdx.x; v < vertices; v += blockDim.x) left[v] = given[v];
        __syncthreads();
        bool wrong = false;
        u64 whole = 0;
        double cost = 0, above = 0, size = 0, largest_price = 0, largest_least = 0;
        for (u64 k = item * vertices + threadIdx.x; k < item * vertices + args.count[item]; k += blockDim.x) {
            const u64 i = static_cast<u64>(args.row[k]), j = static_cast<u64>(args.column[k]);
            const i64 mass = args.mass[k];
            if (i >= n || j >= m || mass <= 0) {
                wrong = true;
                continue;
            }
            relaxed_fetch_add(&left[i], -mass);
            relaxed_fetch_add(&left[n + j], -mass);
            const Stored value = args.values[(item * n + i) * m + j];
            if (args.weighed != 0) {
                const double term = static_cast<double>(value) * amount(mass);
                cost += term, size += size_of(term);
                const Number net = static_cast<Number>(value) - price_of(args, item, j);
                const Number least = args.least[item * n + i];
                double more = larger(static_cast<double>(net - least), 0.0);
                if (COST_KIND > 1)
                    more += UNIT * (size_of(static_cast<double>(net)) + size_of(static_cast<double>(least)));
                above += more * amount(mass);
            } else
                whole += static_cast<u64>(static_cast<i64>(value)) * static_cast<u64>(mass);
        }
        __syncthreads();
        for (u64 v = threadIdx.x; v < vertices; v += blockDim.x) {
            wrong |= relaxed_load(&left[v]) != 0;
            if (args.weighed == 0 || given[v] == 0) continue;
            const double own = v < n ? static_cast<double>(args.least[item * n + v])
                                     : static_cast<double>(price_of(args, item, v - n));
            double& largest = v < n ? largest_least : largest_price;
            largest = larger(largest, size_of(own));
        }
        wrong = of_block(wrong ? 1.0 : 0.0, of_warps, larger) > 0;
        whole = of_block(whole, reinterpret_cast<u64*>(of_warps), [](u64 a, u64 b) { return a + b; });
        cost = of_block(cost, of_warps, sum);
        above = of_block(above, of_warps, sum);
        size = of_block(size, of_warps, sum);
        largest_price = of_block(largest_price, of_warps, larger);
        largest_least = of_block(largest_least, of_warps, larger);
        if (threadIdx.x != 0) continue;
        u64* const words = args.words + item * WORDS;
        words[WRONG] = wrong;
        words[COUNT] = args.count[item];
        words[COST] = args.weighed != 0 ? same_bits<u64>(cost) : whole;
        words[ABOVE] = same_bits<u64>(above);
        words[LARGEST_PRICE] = same_bits<u64>(largest_price);
        words[LARGEST_LEAST] = same_bits<u64>(largest_least);
        words[SIZE] = same_bits<u64>(size);
    }
}
