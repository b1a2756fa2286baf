// The kernels of cuda_cost_scaling: one refine of cost scaling, and the exact potentials of an optimal flow.
#include "grid.cuh"
#include "lanes.cuh"
#include "stop.cuh"

#include "on_gpu.py: Network, Vertices, Tuning, Arguments, Word, Ending, SUMS"

// What threads add up between two barriers.
enum Sum : u32 { WORK, FARTHEST, UNREACHED, HALT };
static_assert(HALT < SUMS);

constexpr i64 NEVER = 1ll << 61;

__device__ __forceinline__ i64 floor_divided(i64 number, i64 divisor) {
    const i64 quotient = number / divisor;
    return quotient - (number % divisor < 0 ? 1 : 0);
}

__device__ __forceinline__ void lower(i64* at, i64 value, bool& fell) {
    i64 old = relaxed_load(at);
    while (value < old) {
        const i64 seen = static_cast<i64>(relaxed_compare_exchange(
            reinterpret_cast<u64*>(at), static_cast<u64>(old), static_cast<u64>(value)));
        if (seen == old) {
            fell = true;
            return;
        }
        old = seen;
    }
}

// The barrier of all blocks, with sums over all threads. Between barriers r - 1 and r threads add to group r % 3, which
// they read after barrier r. After it the first thread clears the group of barrier r - 1, which all have read before they
// came to barrier r; it is used next after barrier r + 1.
struct Meeting {
    GridTeam team;
    u64* sums;
    u64* shared;
    u64 round = 0;
    u64 next_look = 0;
    const i64* stop;

    __device__ Meeting(const Arguments& args)
        : team(args.arrivals), sums(args.sums), shared(reinterpret_cast<u64*>(shared_memory())), stop(args.stop) {}

    __device__ u64* sum(Sum which) const { return &sums[round % 3 * SUMS + which]; }
    __device__ void add(Sum which, u64 number) const { relaxed_fetch_add(sum(which), number); }
    __device__ void wait() {
        if (team.is_first() && sees_stop(stop, next_look)) add(HALT, 1);
        const u64* const group = &sums[round % 3 * SUMS];
        u64* const copy = shared;
        team.wait([&] {
            for (u32 k = 0; k <= HALT; ++k) copy[k] = relaxed_load(&group[k]);
        });
        if (team.is_first()) {
            for (u32 k = 0; k <= HALT; ++k) relaxed_store(&sums[(round + 2) % 3 * SUMS + k], u64{0});
        }
        ++round;
    }
    // A sum of the last round.
    __device__ u64 last(Sum which) const { return shared[which]; }
};

struct Counts {
    u64 pushes = 0, relabels = 0, scans = 0;
};

// A vertex has the LANES lanes of a group.
#include "on_gpu.py: LANES"
constexpr u32 GROUPS = WARP / LANES;
constexpr u32 GROUP_MASK = LANES == 32 ? ALL_LANES : (1u << LANES % 32) - 1;

// Calls `visit(v, has)` by all lanes of a warp until each group has visited its vertices that `chosen` picks. `has` is
// false for groups with none left.
template <class Chosen, class Visit>
__device__ __forceinline__ void for_own_vertices(const Meeting& meeting, u64 num_vertices, Chosen chosen, Visit visit) {
    const u64 groups = static_cast<u64>(meeting.team.num_warps()) * GROUPS;
    const u32 place = lane_id() / LANES;
    for (u64 base = static_cast<u64>(meeting.team.warp()) * GROUPS; base < num_vertices; base += groups * LANES) {
        const u64 begin = base + place, own = begin + lane_id() % LANES * groups;
        const u32 votes = __ballot_sync(ALL_LANES, own < num_vertices && chosen(static_cast<u32>(own)));
        u32 picked = votes >> place * LANES & GROUP_MASK;
        while (__any_sync(ALL_LANES, picked != 0)) {
            const bool has = picked != 0;
            const u32 lane = has ? __ffs(picked) - 1 : 0;
            picked &= picked - 1;
            visit(has ? static_cast<u32>(begin + lane * groups) : 0u, has);
        }
    }
}

// A step of a vertex with excess: pushes along all admissible arcs, and a relabel if excess is left.
__device__ void step(const Arguments& args, u32 v, bool has, Counts& counts) {
    const Network& net = args.net;
    const Vertices& all = args.vertices;
    const u32 last = net.first[v + 1], lane = lane_id() % LANES;
    const i64 price = relaxed_load(&all.price[v]);
    const i64 before = from_first_lane<LANES>(has ? relaxed_load(&all.excess[v]) : i64{0});
    i64 left = before, best = -NEVER;
    for (u32 begin = net.first[v]; __any_sync(ALL_LANES, begin < last && left > 0); begin += LANES) {
        const u32 a = begin + lane;
        const i64 residual = left > 0 && a < last ? relaxed_load(&net.residual[a]) : 0;
        u32 head = 0;
        bool admissible = false;
        if (residual > 0) {
            head = net.head[a];
            const i64 highest = relaxed_load(&all.price[head]) - net.cost[a];
            admissible = price < highest;
            if (!admissible && highest > best) best = highest;
            ++counts.scans;
        }
        if (!__any_sync(ALL_LANES, admissible)) continue;
        i64 total;
        const i64 room = admissible ? min(residual, left) : 0;
        const i64 earlier = sum_of_lanes_before<LANES>(room, left, total);
        const i64 amount = min(room, left - earlier);
        if (amount > 0) {
            relaxed_fetch_add(&net.residual[a], -amount);
            relaxed_fetch_add(&net.residual[net.mate[a]], amount);
            relaxed_fetch_add(&all.excess[head], amount);
            ++counts.pushes;
        }
        left -= total;
    }
    if (left < before && lane == 0) relaxed_fetch_add(&all.excess[v], left - before);
    best = greatest_of_lanes<LANES>(best);
    if (left == 0 || best == -NEVER || lane != 0) return;
    relaxed_store(&all.price[v], best - args.epsilon);
    ++counts.relabels;
}

// Saturates the arcs of a vertex whose reduced cost is below -epsilon, and computes the lengths of their mates. The
// warp of the mate may see a residual capacity before or after that; it finds the same lengths.
__device__ void measure(const Arguments& args, u32 v, bool has) {
    const Network& net = args.net;
    const Vertices& all = args.vertices;
    const u32 last = has ? net.first[v + 1] : 0;
    const i64 price = all.price[v], epsilon = args.epsilon;
    const bool exact = args.exact != 0;
    i64 sent = 0;
    for (u32 a = net.first[v] + lane_id() % LANES; a < last; a += LANES) {
        const u32 head = net.head[a], mate = net.mate[a];
        const i64 reduced = net.cost[a] + price - all.price[head];
        i64 back = relaxed_load(&net.residual[mate]);
        if (exact) {
            net.length[a] = back > 0 ? -reduced : NEVER;
            continue;
        }
        if (-reduced < -epsilon) back = 0; // its warp saturates the mate
        if (reduced < -epsilon) {
            const i64 amount = relaxed_load(&net.residual[a]);
            if (amount > 0) {
                relaxed_store(&net.residual[a], i64{0});
                relaxed_fetch_add(&net.residual[mate], amount);
                relaxed_fetch_add(&all.excess[head], amount);
                sent += amount;
                back = amount;
            }
        }
        net.length[a] = back > 0 ? floor_divided(-reduced, epsilon) + 1 : NEVER;
    }
    if (sent > 0) relaxed_fetch_add(&all.excess[v], -sent);
}

// Relaxes the residual arcs into a vertex. Returns whether this lane made a distance fall to `limit` or below.
__device__ bool relax(const Arguments& args, u32 v, bool has, i64 limit) {
    const Network& net = args.net;
    const Vertices& all = args.vertices;
    const u32 last = has ? net.first[v + 1] : 0;
    const i64 distance = relaxed_load(&all.distance[v]);
    bool fell_any = false;
    for (u32 a = net.first[v] + lane_id() % LANES; a < last; a += LANES) {
        const i64 length = net.length[a];
        if (length == NEVER) continue;
        const u32 head = net.head[a];
        bool fell = false;
        lower(&all.distance[head], distance + length, fell);
        if (!fell) continue;
        release_store(&all.changed[head], 1u);
        fell_any |= distance + length <= limit;
    }
    return fell_any;
}

// Distances to vertices with a deficit, up to those of all vertices with excess. Label correcting: vertices within
// the limit relax until no distance within it falls; then the limit grows, until it passes the distances of all
// vertices with excess. Larger distances are upper bounds. Returns OPTIMAL when all distances are found.
// `first` is the first limit.
__device__ Ending search(const Arguments& args, Meeting& meeting, i64 first) {
    const Vertices& all = args.vertices;
    const u64 n = args.num_vertices;
    const bool exact = args.exact != 0;
    i64 limit = exact ? NEVER : first, reach = limit;
    u64 slice = args.tuning.searching / 8;
    for (u64 round = 0; round < args.rounds; ++round) {
        bool fell = false;
        const u64 until = nanoseconds() + slice;
        do {
            for_own_vertices(
                meeting, n,
                [&](u32 v) {
                    if (acquire_load(&all.changed[v]) == 0 || relaxed_load(&all.distance[v]) > limit) return false;
                    // A distance that falls after this marks the vertex again.
                    relaxed_store(&all.changed[v], 0u);
                    __threadfence();
                    return true;
                },
                [&](u32 v, bool has) { fell |= relax(args, v, has, limit); });
#ifdef PREFLOW_ON_CPU
            __nanosleep(20);
#endif
        } while (__any_sync(ALL_LANES, nanoseconds() < until));
        slice = min(2 * slice, args.tuning.searching);
        if (__any_sync(ALL_LANES, fell) && lane_id() == 0) meeting.add(WORK, 1);
        meeting.wait();
        if (meeting.last(HALT) > 0) return STOPPED;
        if (meeting.last(WORK) > 0) continue;
        if (exact) return OPTIMAL;
        // the next limit
        u64 nearest = 0, beyond = 0;
        for (u64 v = meeting.team.thread(); v < n; v += meeting.team.num_threads()) {
            const i64 distance = all.distance[v];
            beyond += all.excess[v] > 0 && distance > limit;
            if (all.changed[v] != 0 && distance < NEVER) nearest = max(nearest, static_cast<u64>(NEVER - distance));
        }
        add_up(meeting.sum(WORK), beyond);
        nearest = greatest_of_warp(nearest);
        if (lane_id() == 0 && nearest > 0) relaxed_fetch_max(meeting.sum(FARTHEST), nearest);
        meeting.wait();
        if (meeting.last(WORK) == 0 || meeting.last(FARTHEST) == 0) return OPTIMAL;
        reach *= 2;
        limit = NEVER - static_cast<i64>(meeting.last(FARTHEST)) + reach;
    }
    return UNPROVED;
}

// Ends a launch; only the first thread writes.
__device__ void end(const Arguments& args, const Meeting& meeting, Ending ending) {
    if (meeting.team.is_first()) args.words[ENDING] = ending;
}

__device__ void refine(const Arguments& args, Meeting& meeting, Counts& counts) {
    const Vertices& all = args.vertices;
    const u64 n = args.num_vertices;
    const auto any = [](u32) { return true; };
    i64 first = static_cast<i64>(args.reach);
    for (u64 update = 0; update < args.updates; ++update) {
        const u64 began = nanoseconds();
        // measure: an epsilon-optimal flow, and lengths
        for_own_vertices(meeting, n, any, [&](u32 v, bool has) { measure(args, v, has); });
        meeting.wait();
        if (meeting.last(HALT) > 0) return end(args, meeting, STOPPED);
        u64 own = 0;
        for (u64 v = meeting.team.thread(); v < n; v += meeting.team.num_threads()) {
            const i64 excess = all.excess[v];
            const bool is_end = args.exact != 0 || excess < 0;
            own += excess > 0;
            all.distance[v] = is_end ? 0 : NEVER;
            all.changed[v] = is_end;
        }
        add_up(meeting.sum(WORK), own);
        meeting.wait();
        if (args.exact == 0 && meeting.last(WORK) == 0) return end(args, meeting, OPTIMAL);

        // search
        const Ending ending = search(args, meeting, first);
        if (args.exact != 0 && (ending == OPTIMAL || ending == UNPROVED)) {
            for (u64 v = meeting.team.thread(); v < n; v += meeting.team.num_threads()) all.price[v] -= all.distance[v];
            return end(args, meeting, ending);
        }
        if (ending != OPTIMAL) return end(args, meeting, ending);
        if (meeting.team.is_first()) ++args.words[UPDATES];
        u64 farthest = 0, unreached = 0;
        for (u64 v = meeting.team.thread(); v < n; v += meeting.team.num_threads()) {
            if (all.excess[v] <= 0) continue;
            const i64 distance = relaxed_load(&all.distance[v]);
            if (distance >= NEVER)
                ++unreached;
            else
                farthest = max(farthest, static_cast<u64>(distance));
        }
        add_up(meeting.sum(UNREACHED), unreached);
        farthest = greatest_of_warp(farthest);
        if (lane_id() == 0 && farthest > 0) relaxed_fetch_max(meeting.sum(FARTHEST), farthest);
        meeting.wait();
        if (meeting.last(UNREACHED) > 0) return end(args, meeting, INFEASIBLE);
        const i64 most = static_cast<i64>(meeting.last(FARTHEST));
        first = max(static_cast<i64>(args.reach), most / static_cast<i64>(args.carry));
        for (u64 v = meeting.team.thread(); v < n; v += meeting.team.num_threads())
            all.price[v] -= args.epsilon * min(relaxed_load(&all.distance[v]), most);
        meeting.wait();

        // pushes and relabels without locks, for about as long as the update took
        const u64 now = nanoseconds(), enough = now + (now - began) * args.tuning.percent / 100;
        do {
            const u64 until = nanoseconds() + args.tuning.pushing;
            do {
                own = 0;
                for_own_vertices(
                    meeting, n,
                    [&](u32 v) {
                        const bool is_active = relaxed_load(&all.excess[v]) > 0;
                        own += is_active;
                        return is_active;
                    },
                    [&](u32 v, bool has) { step(args, v, has, counts); });
#ifdef PREFLOW_ON_CPU
                __nanosleep(20);
#endif
            } while (__any_sync(ALL_LANES, nanoseconds() < until));
            if (__any_sync(ALL_LANES, own > 0) && lane_id() == 0) meeting.add(WORK, 1);
            if (meeting.team.is_first() && nanoseconds() > enough) meeting.add(FARTHEST, 1);
            meeting.wait();
        } while (meeting.last(WORK) > 0 && meeting.last(FARTHEST) == 0 && meeting.last(HALT) == 0);
    }
    end(args, meeting, OVER);
}

KERNEL(refine_slice, Arguments) {
    Meeting meeting(args);
    Counts counts;
    refine(args, meeting, counts);
    add_up(&args.words[PUSHES], counts.pushes);
    add_up(&args.words[RELABELS], counts.relabels);
    add_up(&args.words[ARC_SCANS], counts.scans);
}
