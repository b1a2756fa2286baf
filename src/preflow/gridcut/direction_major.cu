// The exact search of direction_major.py: backwards from all pixels with a deficit, level by level.
//
//   give pixels with a deficit height 1 and list them; all others are UNREACHED
//   for each level: for each of its pixels p, for each residual arc from an UNREACHED pixel q to p:
//       give q the next height and list it for the next level
//   give pixels still UNREACHED height n + 1; add up the excess of all others
#include "direction_major.cuh"
#include "grid.cuh"
#include "lanes.cuh"
#include "worklist.cuh"

#include "direction_major.py: SearchArguments"

// Threads that share the neighbours of one pixel.
constexpr u32 LANES = DIRECTIONS <= 2 ? 2 : DIRECTIONS <= 4 ? 4 : DIRECTIONS <= 8 ? 8 : DIRECTIONS <= 16 ? 16 : 32;

// Gives every pixel its distance to the nearest pixel with a deficit, plus 1, as height.
KERNEL(search_at_rest, SearchArguments) {
    const DeviceGrid& grid = args.grid;
    const u32 n = grid.size();
    GridTeam team(args.counters);
    const RotatingSizes sizes{args.counters + 32};
    // The first level: pixels with a deficit.
    for (u32 base = team.thread() - lane_id(); base < n; base += team.num_threads()) {
        const u32 p = base + lane_id();
        const bool has_deficit = p < n && grid.terminal_at(p) < 0;
        if (p < n) relaxed_store(&args.height[p], has_deficit ? 1u : UNREACHED);
        const u32 place = new_place(sizes.of(1), has_deficit);
        if (has_deficit) relaxed_store(&args.order[place], p);
    }
    team.wait([] {});
    // Level after level; LANES threads share the neighbours of a pixel.
    constexpr u32 PIXELS = WARP / LANES;
    const u32 lane = lane_id() % LANES;
    u32* level = args.order;
    u32 size = sizes.read(1);
    for (u32 next_height = 2; size > 0; ++next_height) {
        u32* const next_size = sizes.of(next_height);
        u32* const next = level + size;
        if (team.is_first()) sizes.clear(next_height + 1);
        for (u32 begin = team.warp() * PIXELS; begin < size; begin += team.num_warps() * PIXELS) {
            const u32 i = begin + lane_id() / LANES;
            const u32 p = i < size ? relaxed_load(&level[i]) : 0;
            for (u32 first = 0; first < DIRECTIONS; first += LANES) {
                const u32 d = first + lane;
                bool found = i < size && d < DIRECTIONS;
                const u32 q = found ? grid.neighbor(p, d) : n;
                found = q < n && relaxed_load(&args.height[q]) == UNREACHED && grid.residual_of(q, d ^ 1) > 0 &&
                        relaxed_compare_exchange(&args.height[q], UNREACHED, next_height) == UNREACHED;
                const u32 place = new_place(next_size, found);
                if (found) relaxed_store(&next[place], q);
            }
        }
        team.wait([] {});
        level = next;
        size = sizes.read(next_height);
    }
    // Unreached pixels cannot reach the sink; the excess of the others is active.
    u64 active = 0;
    for (u32 p = team.thread(); p < n; p += team.num_threads()) {
        if (relaxed_load(&args.height[p]) == UNREACHED)
            relaxed_store(&args.height[p], n + 1);
        else
            active += static_cast<u64>(max(grid.terminal_at(p), 0ll));
    }
    add_up(args.active, active);
}
