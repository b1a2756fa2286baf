// The kernels of device.py.
#include "adjacency.cuh"
#include "atomics.cuh"

template <class T>
struct Arguments {
#include "device.py: Arguments._fields"
};

template <class T>
__device__ void add_net_inflow(const Arguments<T>& args) {
    for (u64 i = grid_thread(); i < args.num_arcs; i += grid_threads()) {
        if (args.flow[i] == 0) continue;
        relaxed_fetch_add(&args.balance[args.head[i]], args.flow[i]);
        relaxed_fetch_add(&args.balance[args.tail[i]], -args.flow[i]);
    }
}

KERNEL(net_inflow, Arguments<i64>) { add_net_inflow(args); }

KERNEL(net_inflow_of_floats, Arguments<double>) { add_net_inflow(args); }

#include "device.py: EdgeArguments"

KERNEL(find_matched_edges, EdgeArguments) {
    visit_edges(args.first, args.num_rows, args.num_edges, [&](u64 row, u64 e) {
        if (args.neighbour[e] == args.match[row]) relaxed_store(&args.has_edge[row], 1u);
    });
}
