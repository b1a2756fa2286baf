// The persistent kernel of cuda_blocking.py: phases of pushes, of pulls and of relabels, a barrier after each.
#include "direction_major.cuh"
#include "lanes.cuh"
#include "stop.cuh"
#include "worklist.cuh"


struct Tiling {
#include "cuda_blocking.py: Tiling._fields"

    __device__ u32 tiles_x() const { return static_cast<u32>((width + tile_width - 1) / tile_width); }
    __device__ u32 tiles_y() const { return static_cast<u32>((height + tile_height - 1) / tile_height); }
};

// A block of threads goes over tiles, with the heights of a tile and of the pixels around it in shared memory.
class Tiles {
    const Tiling& tiling;
    const u32* height;  // of all pixels
    u32* wanted;        // whether a tile has work; three entries in turn, for consecutive tiles
    u32* around;        // heights in shared memory
    u32 turn = 0;
    u32 x = 0, y = 0, z = 0;  // where the tile begins

    // Calls `what` with each pixel of the tile that belongs to this thread, and the place of its height in shared
    // memory.
    template <class What>
    __device__ void for_pixels(What what) const {
        const u32 tile_width = static_cast<u32>(tiling.tile_width);
        const u32 row = static_cast<u32>(tile_width + 2 * tiling.reach_x);
        const u32 slice = static_cast<u32>(row * (tiling.tile_height + 2 * tiling.reach_y));
        const u32 first = static_cast<u32>(tiling.reach_z * slice + tiling.reach_y * row + tiling.reach_x);
        for (u32 i = threadIdx.x; i < tile_width * tiling.tile_height; i += blockDim.x) {
            const u32 dx = i % tile_width, dy = i / tile_width;
            if (x + dx >= tiling.width || y + dy >= tiling.height) continue;
            const u64 p = (z * tiling.height + y + dy) * tiling.width + x + dx;
            what(static_cast<u32>(p), &around[first + dy * row + dx]);
        }
    }

    // Copies heights to shared memory, UNREACHED outside of the grid.
    __device__ void load() const {
        const u32 row = static_cast<u32>(tiling.tile_width + 2 * tiling.reach_x);
        const u32 rows = static_cast<u32>(tiling.tile_height + 2 * tiling.reach_y);
        for (u32 i = threadIdx.x; i < row * rows * (2 * tiling.reach_z + 1); i += blockDim.x) {
            const u64 at_x = x + i % row - tiling.reach_x, at_y = y + i / row % rows - tiling.reach_y;
            const u64 at_z = z + i / (row * rows) - tiling.reach_z;
            const bool is_inside = at_x < tiling.width && at_y < tiling.height && at_z < tiling.depth;
            around[i] = is_inside ? relaxed_load(&height[(at_z * tiling.height + at_y) * tiling.width + at_x])
                                  : UNREACHED;
        }
    }

public:
    __device__ Tiles(const Tiling& tiling, const u32* height) : tiling(tiling), height(height) {
        SharedArena arena;
        wanted = arena.take<u32>(3);
        around = arena.take<u32>(0);  // the rest
        if (threadIdx.x < 3) wanted[threadIdx.x] = 0;
        __syncthreads();
    }

    // Calls `has_work` with every pixel. In tiles where it returned true, copies heights and calls `work` with each
    // such pixel and the place of its height in shared memory. All threads of the block call this together; each pixel
    // belongs to one thread.
    template <class HasWork, class Work>
    __device__ void visit(HasWork has_work, Work work) {
        const u32 tiles_x = tiling.tiles_x(), tiles_y = tiling.tiles_y();
        const u64 tiles = tiling.depth * tiles_y * tiles_x;
        for (u64 tile = blockIdx.x; tile < tiles; tile += gridDim.x, ++turn) {
            x = static_cast<u32>(tile % tiles_x * tiling.tile_width);
            y = static_cast<u32>(tile / tiles_x % tiles_y * tiling.tile_height);
            z = static_cast<u32>(tile / tiles_x / tiles_y);
            for_pixels([&](u32 p, const u32*) {
                if (has_work(p)) relaxed_store(&wanted[turn % 3], 1u);
            });
            if (threadIdx.x == 0) relaxed_store(&wanted[(turn + 1) % 3], 0u);
            __syncthreads();
            if (relaxed_load(&wanted[turn % 3]) == 0) continue;
            load();
            __syncthreads();
            for_pixels([&](u32 p, const u32* height) {
                if (has_work(p)) work(p, height);
            });
        }
    }
};

// Changes in a round, as bits.
enum Change : u32 { PUSHED = 1, LIFTED = 2 };

// Masks: the pixel may push; it has excess but must rise first; it has no excess.
enum Mask : u8 { ACTIVE = 1, PASSIVE = 0, INACTIVE = 2 };

#include "cuda_blocking.py: Count, COUNTS, Arguments"

// Pushes to all lower neighbours. Heights do not change, so no other thread pushes over the same arcs or their
// opposites. Only excess, which several neighbours may increase at once, needs atomic operations.
__device__ void push(const Arguments& args, u32 p, const u32* height, u64 (&counts)[COUNTS]) {
    const DeviceGrid& grid = args.grid;
    const i64 excess = grid.terminal_at(p);
    const u32 h = *height;
    i64 left = excess;
    for (u32 d = 0; d < DIRECTIONS && left > 0; ++d) {
        if (height[static_cast<int>(args.tiling.shift[d])] + 1 != h) continue;
        const i64 residual = grid.residual_of(p, d);
        if (residual <= 0) continue;
        const u32 q = grid.neighbor(p, d);
        const i64 amount = min(left, residual);
        CapacityWord* const back = grid.arc(q, d ^ 1);
        relaxed_store(grid.arc(p, d), static_cast<CapacityWord>(residual - amount));
        relaxed_store(back, relaxed_load(back) + static_cast<CapacityWord>(amount));
        if (args.atomic)
            relaxed_fetch_add(&grid.terminal[q], static_cast<TerminalWord>(amount));
        else
            relaxed_store(&args.pushed[d * grid.num_pixels + p], static_cast<CapacityWord>(amount));
        left -= amount;
        ++counts[PUSHES];
    }
    if (left == excess) return;
    if (args.atomic)
        relaxed_fetch_add(&grid.terminal[p], static_cast<TerminalWord>(left - excess));
    else
        relaxed_store(&grid.terminal[p], static_cast<TerminalWord>(left));
}

// The pull phase: adds the amounts that the neighbours of each pixel have pushed to its excess.
__device__ void pull(const Arguments& args, const GridTeam& team) {
    const DeviceGrid& grid = args.grid;
    const u32 n = grid.size();
    for (u32 p = team.thread(); p < n; p += team.num_threads()) {
        i64 sum = 0;
        for (u32 d = 0; d < DIRECTIONS; ++d) {
            const u32 q = grid.neighbor(p, d ^ 1);
            if (q >= n) continue;
            CapacityWord* const pushed = &args.pushed[d * grid.num_pixels + q];
            const i64 amount = capacity_of(relaxed_load(pushed));
            if (amount == 0) continue;
            relaxed_store(pushed, static_cast<CapacityWord>(0));
            sum += amount;
        }
        if (sum > 0) relaxed_store(&grid.terminal[p], static_cast<TerminalWord>(grid.terminal_at(p) + sum));
    }
}

// Sets the mask of a pixel with excess; lifts it to just above its lowest neighbour if it is passive. Neighbours in
// other blocks may have risen already; labels stay valid because they only rise.
__device__ void relabel(const Arguments& args, u32 p, const u32* height, u64 (&counts)[COUNTS]) {
    u32 low = args.grid.size();
    for (u32 d = 0; d < DIRECTIONS; ++d)
        if (args.grid.residual_of(p, d) > 0) low = min(low, height[static_cast<int>(args.tiling.shift[d])]);
    counts[ARC_SCANS] += DIRECTIONS;
    const bool is_passive = low >= *height;
    args.mask[p] = is_passive ? PASSIVE : ACTIVE;
    if (!is_passive) return;
    relaxed_store(&args.height[p], low + 1);
    ++counts[RELABELS];
}

// Makes all heights exact, in lockstep and without lists: at each level every pixel not reached yet looks for a
// neighbour that was reached at the last one. Stops early if the solve is to stop. Returns the number of levels; `turn`
// counts the levels of all searches of a launch.
__device__ u32 search_in_lockstep(const Arguments& args, GridTeam& team, const RotatingSizes& found, u32& turn,
                                  u64& next_look) {
    const DeviceGrid& grid = args.grid;
    const u32 n = grid.size();
    for (u32 p = team.thread(); p < n; p += team.num_threads())
        relaxed_store(&args.height[p], grid.terminal_at(p) < 0 ? 1u : UNREACHED);
    team.wait([] {});
    u32 level = 0;
    do {
        ++level, ++turn;
        bool any = false;
        for (u32 p = team.thread(); p < n; p += team.num_threads()) {
            if (relaxed_load(&args.height[p]) != UNREACHED) continue;
            bool is_next = false;
            for (u32 d = 0; d < DIRECTIONS && !is_next; ++d) {
                const u32 q = grid.neighbor(p, d);
                is_next = q < n && relaxed_load(&args.height[q]) == level && grid.residual_of(p, d) > 0;
            }
            if (is_next) relaxed_store(&args.height[p], level + 1);
            any |= is_next;
        }
        if (__any_sync(ALL_LANES, any) && lane_id() == 0) relaxed_store(found.of(turn), 1u);
        if (team.is_first()) {
            found.clear(turn + 1);
            watch(team, args.stop, turn, next_look);
        }
        team.wait([] {});
    } while (found.read(turn) != 0 && !team.is_last(turn));
    for (u32 p = team.thread(); p < n; p += team.num_threads()) {
        const bool is_reached = relaxed_load(&args.height[p]) != UNREACHED;
        if (!is_reached) relaxed_store(&args.height[p], n + 1);
        args.mask[p] = is_reached ? ACTIVE : grid.terminal_at(p) > 0 ? PASSIVE : INACTIVE;
    }
    return level;
}

// Notes that a phase changed something: one thread for its warp, whose threads call this together.
__device__ void note(const RotatingSizes& changes, u32 round, Change change, bool happened) {
    const bool any = __any_sync(ALL_LANES, happened);
    if (any && lane_id() == 0) relaxed_fetch_or(changes.of(round), static_cast<u32>(change));
}

// Alternates relabel and push phases until `patience` rounds in a row had no push, `most_rounds` rounds are over, or a
// round changed nothing, so that no later one can.
KERNEL(push_relabel_rounds, Arguments) {
    const DeviceGrid& grid = args.grid;
    GridTeam team(args.counters);
    const RotatingSizes changes{args.counters + 32}, found{args.counters + 4 * 32};
    Tiles tiles(args.tiling, args.height);
    u64 counts[COUNTS] = {};
    u32 round = 0, quiet = 0, levels = 0, turn = 0;
    u64 next_look = 0;
    bool is_over = false, is_last = false;
    for (; !is_over && !is_last && round < args.most_rounds && quiet < args.patience && levels < args.most_levels; ++round) {
        // The relabel phase.
        if (args.lockstep) {
            levels += search_in_lockstep(args, team, found, turn, next_look);
            if (team.is_last(turn)) break;
            if (team.is_first()) ++counts[SEARCHES];
        } else {
            const u64 before = counts[RELABELS];
            tiles.visit(
                [&](u32 p) {
                    const bool has_excess = grid.terminal_at(p) > 0 && relaxed_load(&args.height[p]) <= grid.size();
                    if (!has_excess) args.mask[p] = INACTIVE;
                    return has_excess;
                },
                [&](u32 p, const u32* height) { relabel(args, p, height, counts); });
            note(changes, round, LIFTED, counts[RELABELS] > before);
        }
        const u64 listening = round * GridTeam::ROUNDS_A_LISTENING;  // all blocks read the stop flag in every round
        if (team.is_first()) {
            changes.clear(round + 1);
            if (!args.lockstep) watch(team, args.stop, listening, next_look);
        }
        team.wait([] {});
        is_last = !args.lockstep && team.is_last(listening);
        // The push phases, each with its pull phase.
        for (u64 k = 0; k < args.pushes; ++k) {
            const u64 before = counts[PUSHES];
            tiles.visit([&](u32 p) { return args.mask[p] == ACTIVE && grid.terminal_at(p) > 0; },
                        [&](u32 p, const u32* height) { push(args, p, height, counts); });
            note(changes, round, PUSHED, counts[PUSHES] > before);
            team.wait([] {});
            if (args.atomic) continue;
            pull(args, team);
            team.wait([] {});
        }
        const u32 change = changes.read(round);
        quiet = change & PUSHED ? 0 : quiet + 1;
        is_over = change == 0;
    }
    if (team.is_first()) {
        counts[ROUNDS] = round;
        counts[QUIET_ROUNDS] = quiet;
        counts[IS_OVER] = is_over;
    }
    add_up(args.counts, counts);
}
