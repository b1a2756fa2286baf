// Lists the pairs of all trees that have flow, and their prices.
#define KERNEL_BOUNDS 512
#include "lanes.cuh"
#include "numbers.cuh"

// IS_FLOAT 1: prices are divided by a power of two.
#ifndef IS_FLOAT
#define IS_FLOAT 0
#endif

#include "__init__.py: State, ItemWord, WORDS, Listing"

// Each block lists the pairs of an item, in the order of their lower vertices.
KERNEL(list_plans, Listing) {
    u32* const of_warps = reinterpret_cast<u32*>(shared_memory());
    const u64 n = args.num_rows, vertices = args.num_vertices;
    const u32 warps = blockDim.x / WARP, warp = threadIdx.x / WARP;
    for (u64 item = blockIdx.x; item < args.num_items; item += gridDim.x) {
        const u64 begin = item * vertices;
        const bool is_solved = args.words[item * WORDS + ENDING] == OPTIMAL;
        u64 next = begin;
        for (u64 base = 0; base < vertices; base += blockDim.x) {
            const u64 v = base + threadIdx.x;
            const i64 flow = is_solved && v < vertices ? args.flow[begin + v] : 0;
            const u32 votes = __ballot_sync(ALL_LANES, flow > 0);
            __syncthreads();
            if (lane_id() == 0) of_warps[warp] = __popc(votes);
            __syncthreads();
            u64 place = next + __popc(votes & ((1u << lane_id()) - 1));
            for (u32 other = 0; other < warps; ++other) {
                if (other < warp) place += of_warps[other];
                next += of_warps[other];
            }
            if (flow <= 0) continue;
            const u64 parent = args.parent[begin + v];
            args.row[place] = static_cast<i64>(min(v, parent));
            args.column[place] = static_cast<i64>(max(v, parent) - n);
            args.mass[place] = flow;
        }
        if (threadIdx.x == 0) args.count[item] = next - begin;
        for (u64 v = begin + threadIdx.x; v < begin + vertices; v += blockDim.x) {
#if IS_FLOAT
            const double price = ldexp(static_cast<double>(args.price[v]), -static_cast<int>(args.exponent));
            static_cast<double*>(args.found_price)[v] = price;
#else
            static_cast<i64*>(args.found_price)[v] = args.price[v];
#endif
        }
    }
}
