// The kernels of survey.py.
#include "lanes.cuh"
#include "residual.cuh"
#include "worklist.cuh"

#include "survey.py: SurveyArguments, AliveArguments, Found"

KERNEL(survey, SurveyArguments) {
    const DeviceNetwork& net = args.net;
    u64 excess = 0, degree = 0, capacity = 0;
    for (u64 begin = grid_thread() - lane_id(); begin < net.num_vertices; begin += grid_threads()) {
        const u64 v = begin + lane_id();
        const bool is_vertex = v < net.num_vertices;
        const bool is_near = is_vertex && net.sink_residual[v] > 0;
        const u32 place = new_place(reinterpret_cast<u32*>(&args.found[NEAR_SINK]), is_near);
        if (is_near) args.near_sink[place] = static_cast<u32>(v);
        if (!is_vertex) continue;
        excess += static_cast<u64>(net.excess[v]);
        const u32 first = net.first_out[v], count = net.first_out[v + 1] - first;
        degree = max(degree, static_cast<u64>(count));
        args.ranges[v] = pack_range(first, count, is_near);
    }
    for (u64 a = grid_thread(); a < args.num_arcs; a += grid_threads())
        capacity = max(capacity, static_cast<u64>(net.arcs[a].residual));
    add_up(&args.found[EXCESS], excess);
    degree = greatest_of_warp(degree);
    capacity = greatest_of_warp(capacity);
    if (lane_id() == 0) {
        relaxed_fetch_max(&args.found[DEGREE], degree);
        relaxed_fetch_max(&args.found[CAPACITY], capacity);
    }
}

KERNEL(excess_alive, AliveArguments) {
    u64 excess = 0;
    for (u64 v = grid_thread(); v < args.num_vertices; v += grid_threads())
        if (static_cast<u32>(args.label[v]) != args.num_vertices + 1) excess += static_cast<u64>(args.excess[v]);
    add_up(&args.found[0], excess);
}
