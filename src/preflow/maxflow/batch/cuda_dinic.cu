// The kernel of the method cuda-dinic for batches: one warp solves one network by Dinic's algorithm, in memory of its
// own. See cuda_dinic.py.
#ifndef IS_FLOAT
#define IS_FLOAT 0  // whether capacities are double, to be scaled, or i64
#define SHARED 1    // whether this memory is shared memory; then the networks have at most 2**15 arcs
#define NARROW 1    // whether all residual capacities fit 32 bits
#define TEAMS 1     // warps of a block
#endif
#define KERNEL_BOUNDS (TEAMS * 32)

#include "atomics.cuh"
#include "lanes.cuh"
#include "stop.cuh"

#if IS_FLOAT
using Number = double;
#else
using Number = i64;
#endif

#if SHARED
using Slot = unsigned short;
#else
using Slot = u32;
#endif
#if NARROW
using Amount = int;
constexpr Amount MOST_AMOUNT = 0x7fffffff;
#else
using Amount = i64;
constexpr Amount MOST_AMOUNT = 0x7fffffffffffffff;
#endif

constexpr double MOST_FINITE = 1.7976931348623157e308;

#include "arrays.py: SOLVED, STOPPED, LIMIT, UP, UP_TOO, NUM_SCALES"
#include "cuda_dinic.py: Arguments"

// Returns whether the solve is to stop; the first lane looks for all.
__device__ __forceinline__ bool warp_sees_stop(const Arguments& args, u64& next_look) {
    return __ballot_sync(ALL_LANES, lane_id() == 0 && sees_stop(args.stop, next_look)) != 0;
}

// The network that a warp works on. All lanes have the same values.
struct Item {
    u32 n, m, source, sink;
    i64 begin, first_vertex, number;
    u32 *count, *first, *label, *current, *queue;
    Slot *path, *head, *partner, *place;
    Amount* residual;
    u64 scans, pushes, searches;

    __device__ Item(const Arguments& args, u32 warp) {
        const u32 most_n = static_cast<u32>(args.most_vertices), most_m = static_cast<u32>(args.most_arcs);
        SharedArena arena;
        arena.next = SHARED ? arena.next + warp % TEAMS * args.bytes : args.memory + warp * args.bytes;
        count = arena.take<u32>(1);
        first = arena.take<u32>(most_n + 1);
        label = arena.take<u32>(most_n);
        current = arena.take<u32>(most_n);
        queue = arena.take<u32>(most_n);
        path = arena.take<Slot>(most_n);
        head = arena.take<Slot>(2 * most_m);
        partner = arena.take<Slot>(2 * most_m);
        place = arena.take<Slot>(most_m);
        residual = arena.take<Amount>(2 * most_m);
        scans = pushes = searches = 0;
    }

    __device__ void take(const Arguments& args, i64 item) {
        number = item;
        begin = args.first_arc[item];
        m = static_cast<u32>(args.first_arc[item + 1] - begin);
        first_vertex = args.first_vertex[item];
        n = static_cast<u32>(args.first_vertex[item + 1] - first_vertex);
        source = static_cast<u32>(args.source[item]);
        sink = static_cast<u32>(args.sink[item]);
    }
};

__device__ __forceinline__ i64 scaled(const Arguments& args, i64 item, Number capacity) {
#if IS_FLOAT
    const double* row = args.scale + NUM_SCALES * item;
    const double cut_off = capacity < row[LIMIT] ? capacity : row[LIMIT];
    return static_cast<i64>(cut_off * row[UP] * row[UP_TOO]);  // rounds down
#else
    return capacity;
#endif
}

// The capacities of an arc in both directions, as they are solved.
struct Pair {
    Amount forward, backward;

    __device__ Pair(const Arguments& args, const Item& item, u32 a) : forward(0), backward(0) {
        const u32 u = args.tail[item.begin + a], v = args.head[item.begin + a];
        if (u == v) return;
        // Nothing useful flows into the source or out of the sink.
        if (v != item.source && u != item.sink)
            forward = static_cast<Amount>(scaled(args, item.number, args.capacity[item.begin + a]));
        if (args.reverse != nullptr && u != item.source && v != item.sink)
            backward = static_cast<Amount>(scaled(args, item.number, args.reverse[item.begin + a]));
    }

    __device__ bool any() const { return forward > 0 || backward > 0; }
};

// Sorts the arcs by their ends, and sets the residual capacities without flow.
__device__ void build(const Arguments& args, Item& item) {
    for (u32 v = lane_id(); v <= item.n; v += WARP) item.first[v] = 0;
    __syncwarp();
    for (u32 a = lane_id(); a < item.m; a += WARP) {
        if (Pair(args, item, a).any()) {
            relaxed_fetch_add(&item.first[args.tail[item.begin + a] + 1], 1u);
            relaxed_fetch_add(&item.first[args.head[item.begin + a] + 1], 1u);
        }
    }
    __syncwarp();
    // Prefix sums.
    u32 before = 0;
    for (u32 i = 0; i < item.n; i += WARP) {
        const u32 v = i + lane_id();
        const u32 degree = v < item.n ? item.first[v + 1] : 0;
        u32 total;
        const u32 sum = before + sum_of_lanes_before<WARP>(degree, 1u << 31, total);
        if (v < item.n) {
            item.first[v + 1] = sum + degree;
            item.current[v] = sum;
        }
        before += total;
    }
    __syncwarp();
    for (u32 a = lane_id(); a < item.m; a += WARP) {
        const Pair pair(args, item, a);
        if (pair.any()) {
            const u32 u = args.tail[item.begin + a], v = args.head[item.begin + a];
            const u32 p = relaxed_fetch_add(&item.current[u], 1u), q = relaxed_fetch_add(&item.current[v], 1u);
            item.head[p] = static_cast<Slot>(v), item.head[q] = static_cast<Slot>(u);
            item.partner[p] = static_cast<Slot>(q), item.partner[q] = static_cast<Slot>(p);
            item.residual[p] = pair.forward, item.residual[q] = pair.backward;
            item.place[a] = static_cast<Slot>(p);
        }
    }
    __syncwarp();
}

// Searches over residual arcs, level by level, and gives each vertex that it reaches its distance in `found`; others
// have n. BACKWARDS from the sink, until a level has the source; otherwise from the source. Each lane looks at the
// slots of one vertex of the queue.
template <bool BACKWARDS>
__device__ void search(Item& item, u32* found) {
    const u32 n = item.n, root = BACKWARDS ? item.sink : item.source;
    for (u32 v = lane_id(); v < n; v += WARP) found[v] = n;
    __syncwarp();
    if (lane_id() == 0) {
        found[root] = 0;
        item.queue[0] = root;
        *item.count = 1;
    }
    __syncwarp();
    u32 begin = 0, end = 1, level = 1;
    while (begin < end) {
        for (u32 i = begin + lane_id(); i < end; i += WARP) {
            const u32 v = item.queue[i];
            const u32 last = item.first[v + 1];
            item.scans += last - item.first[v];
            for (u32 p = item.first[v]; p < last; ++p) {
                const u32 w = item.head[p];
                if (relaxed_load(&found[w]) != n) continue;
                if (item.residual[BACKWARDS ? item.partner[p] : p] <= 0) continue;
                if (relaxed_compare_exchange(&found[w], n, level) == n) {
                    if (BACKWARDS) item.current[w] = item.first[w];
                    item.queue[relaxed_fetch_add(item.count, 1u)] = w;
                }
            }
        }
        __syncwarp();
        begin = end;
        end = relaxed_load(item.count);
        ++level;
        if (BACKWARDS && relaxed_load(&found[item.source]) != n) break;
        __syncwarp();
    }
    __syncwarp();
}

// Sends what the first `depth` slots of the path take. Returns the amount and, in `full`, the place of the first slot
// that it fills.
__device__ Amount send_along(Item& item, u32 depth, u32& full) {
    Amount amount = MOST_AMOUNT;
    for (u32 i = lane_id(); i < depth; i += WARP) {
        const Amount residual = item.residual[item.path[i]];
        amount = residual < amount ? residual : amount;
    }
    amount = least_of_lanes<WARP>(amount);
    full = depth;
    for (u32 i = lane_id(); i < depth; i += WARP) {
        const u32 p = item.path[i];
        const Amount left = item.residual[p] - amount;
        item.residual[p] = left;
        item.residual[item.partner[p]] += amount;
        if (left == 0 && i < full) full = i;
    }
    full = least_of_warp(full);
    __syncwarp();
    return amount;
}

// Augments along shortest paths until there is none, or the solve is to stop; returns the amount. All lanes look for
// the next slot of the path.
__device__ i64 block(const Arguments& args, Item& item, u64& next_look, bool& stopped) {
    i64 total = 0;
    u32 v = item.source, depth = 0;
    while (true) {
        if (v == item.sink) {
            u32 full;
            total += send_along(item, depth, full);
            item.pushes += lane_id() == 0 ? depth : 0;
            depth = full;
            v = item.head[item.partner[item.path[depth]]];
            stopped = warp_sees_stop(args, next_look);
            if (stopped) break;
            continue;
        }
        const u32 last = item.first[v + 1], lower = item.label[v] - 1;
        u32 p = item.current[v];
        u32 lanes = 0;
        for (; p < last; p += WARP) {
            const u32 q = p + lane_id();
            const bool good = q < last && item.label[item.head[q]] == lower && item.residual[q] > 0;
            item.scans += q < last;
            lanes = __ballot_sync(ALL_LANES, good);
            if (lanes) break;
        }
        if (lanes) {
            p += __ffs(static_cast<int>(lanes)) - 1;
            const u32 w = item.head[p];
            __syncwarp();
            if (lane_id() == 0) {
                item.current[v] = p;
                item.path[depth] = static_cast<Slot>(p);
            }
            v = w;
            ++depth;
        } else {
            if (depth == 0) break;
            // No path goes on from v: go back, past the slot that leads to it.
            --depth;
            const u32 u = item.head[item.partner[item.path[depth]]];
            __syncwarp();
            if (lane_id() == 0) {
                item.current[v] = last;
                item.current[u] += 1;
            }
            v = u;
        }
        __syncwarp();
    }
    __syncwarp();
    return total;
}

#if IS_FLOAT
// Returns the given capacity of the arcs from the source side to the sink side; each lane sums as by Kahan.
__device__ double capacity_of_cut(const Arguments& args, const Item& item, const u8* side, bool is_sink_side) {
    double total = 0, error = 0;
    for (u32 a = lane_id(); a < item.m; a += WARP) {
        const bool from = (side[args.tail[item.begin + a]] != 0) == is_sink_side;
        const bool to = (side[args.head[item.begin + a]] != 0) == is_sink_side;
        if (from == to) continue;
        double amount = 0;
        if (to) amount = args.capacity[item.begin + a];
        else if (args.reverse != nullptr) amount = args.reverse[item.begin + a];
        if (amount > MOST_FINITE || total > MOST_FINITE) {
            total += amount;
            continue;
        }
        amount -= error;
        const double larger = total + amount;
        error = (larger - total) - amount;
        total = larger;
    }
    return sum_of_lanes<WARP>(total);
}
#endif

// Writes flow, value and ending of an item and, if it is solved, its cuts.
__device__ void write(const Arguments& args, Item& item, i64 value, bool solved) {
    for (u32 a = lane_id(); a < item.m; a += WARP) {
        const Pair pair(args, item, a);
        const i64 amount = pair.any() ? pair.forward - item.residual[item.place[a]] : 0;
#if IS_FLOAT
        const double* row = args.scale + NUM_SCALES * item.number;
        args.flow[item.begin + a] = static_cast<double>(amount) * row[3] * row[4];
#else
        args.flow[item.begin + a] = amount;
#endif
    }
    if (lane_id() == 0) {
        args.value[item.number] = value;
        args.ending[item.number] = solved ? SOLVED : STOPPED;
    }
    if (!solved) return;
    u8* side = args.sink_side + item.first_vertex;
    u8* other = args.source_side + item.first_vertex;
    for (u32 v = lane_id(); v < item.n; v += WARP) side[v] = item.label[v] < item.n;
    search<false>(item, item.current);
    for (u32 v = lane_id(); v < item.n; v += WARP) other[v] = item.current[v] < item.n;
    __syncwarp();
#if IS_FLOAT
    const double upper = capacity_of_cut(args, item, side, true);
    const double second = capacity_of_cut(args, item, other, false);
    if (lane_id() == 0) args.upper[item.number] = upper < second ? second : upper;
#endif
}

KERNEL(solve_items, Arguments) {
    Item item(args, grid_thread() / WARP);
    u64 next_look = 0;
    bool stopped = false;
    while (!stopped) {
        u64 turn = 0;
        if (lane_id() == 0) turn = relaxed_fetch_add(args.turns, u64{1});
        turn = __shfl_sync(ALL_LANES, turn, 0);
        if (turn >= static_cast<u64>(args.num_chosen)) break;
        item.take(args, args.chosen[turn]);
        build(args, item);
        i64 value = 0;
        bool solved = false;
        stopped = warp_sees_stop(args, next_look);
        while (!stopped) {
            search<true>(item, item.label);
            ++item.searches;
            solved = item.label[item.source] == item.n;
            if (solved) break;
            value += block(args, item, next_look, stopped);
        }
        write(args, item, value, solved);
        __syncwarp();
    }
    const u64 counts[3] = {item.scans, item.pushes, lane_id() == 0 ? item.searches : 0};
    add_up(args.counts, counts);
}
