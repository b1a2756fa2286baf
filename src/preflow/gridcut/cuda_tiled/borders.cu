// The kernels of parts.py: what a part of a grid does between two launches of the solver, so that the host need not wait.
#include "tile_lists.cuh"

#include "launches.py: PrepareArguments"
#include "parts.py: TakeArguments, SendArguments"

// Prepares the next launch: empties the queue, the lists and the arrays whose length is not 0.
KERNEL(prepare_launch, PrepareArguments) {
    const u64 first = grid_thread(), step = grid_threads();
    for (u64 i = first; i < args.num_slots; i += step) args.slots[i] = EMPTY;
    for (u64 i = first; i < args.num_notices; i += step) args.notices[i] = 0;
    for (u64 i = first; i < args.num_counters; i += step) args.counters[i] = 0;
    for (u64 i = first; i < 2; i += step) args.arrivals[i] = 0;
    if (first != 0) return;
    // A search that ended early goes on now, and may change labels at the borders that the neighbours have taken.
    *args.news = args.searches_further != 0 ? *args.is_searching : 0;
    *args.is_searching = args.searches_further;
}

// Takes over the labels that the neighbour has found. Tiles that get notices are searched in the next launch.
KERNEL(take_labels, TakeArguments) {
    constexpr bool IS_VOLUME = TILE_Z > 1;
    const u64 width = args.tiles[2] * WIDTH, height = IS_VOLUME ? args.tiles[1] * TILE_Y : 1;
    for (u64 i = grid_thread(); i < args.size; i += grid_threads()) {
        const u32 label = args.came[i];
        if (label == args.beyond[i]) continue;
        args.beyond[i] = label;
        if (args.notifies == 0) continue;
        relaxed_store(args.news, u64{1});
        const i64 x = static_cast<i64>(i % width / WIDTH);
        const i64 y = IS_VOLUME ? static_cast<i64>(i / width % height / TILE_Y) : 0;
        // Arcs of other tiles lead to the pixel only where some have offsets along two axes.
        constexpr i64 BESIDE = ALONG_AXES ? 0 : 1;
        for (i64 to_y = y - BESIDE; to_y <= y + BESIDE; ++to_y) {
            if (to_y < 0 || to_y * TILE_Y >= static_cast<i64>(IS_VOLUME ? height : TILE_Y)) continue;
            for (i64 to_x = x - BESIDE; to_x <= x + BESIDE; ++to_x)
                if (0 <= to_x && to_x < static_cast<i64>(args.tiles[2]))
                    relaxed_store(&args.notices[args.first_tile + to_y * args.tiles[2] + to_x], 1u);
        }
    }
}

// Takes the flow that has left over a border, for the pixels at which it arrives.
KERNEL(send_flow, SendArguments) {
    for (u64 i = grid_thread(); i < args.size; i += grid_threads()) {
        u64 to = i;
#pragma unroll
        for (u32 d = 0; d < DIRECTIONS; ++d) {
            if ((args.directions >> d & 1) == 0) continue;
            Residual& residual = args.residual[d * args.direction_stride + args.first + i];
            args.sent_residual[to] = residual;
            residual = 0;
            to += args.size;
        }
        args.sent_excess[i] = args.terminal[args.first + i];
        args.terminal[args.first + i] = 0;
    }
}
