// Push and relabel of listed vertices: Hong's lock-free operations, by a group of lanes for each vertex.
//
// Invariants:
// - An active vertex belongs to one group of lanes at a time: to the group that raised its excess from zero, until it
//   puts the vertex into an inbox, then to the group that takes it from there. Only this group relabels it or lowers
//   its residual capacities.
// - The group debits the vertex last, when it has the old values of its arcs, of its capacity to the sink and of its
//   place in the inbox. So these have changed, and the group that raises the excess from zero again finds them
//   changed. (A fence before the debit would ensure the same, but would wait for all accesses, a sixth of the time of
//   a discharge.) The group need not wait for the vertex's label, which only rises.
// - Pushes go to any neighbour as low as the lowest. Heights are read without any order: a neighbour that rises while
//   flow is on its way to it leaves a steep arc. That costs work but not correctness, since only a search while
//   nothing moves declares vertices dead.
#include "inboxes.cuh"
#include "labels.cuh"
#include "lanes.cuh"
#include "residual.cuh"

struct Operations {
    u32 pushes = 0;
    u32 relabels = 0;
    u32 arc_scans = 0;
    u32 relabel_work = 0;   // since the last report
    int activated = 0;      // vertices put into inboxes less vertices taken and not put back, since the last report
    u32 faults = 0;         // lanes that saw a smaller number than possible: only if a vertex had two owners

    __device__ void add(const Operations& other) {
        pushes += other.pushes;
        relabels += other.relabels;
        arc_scans += other.arc_scans;
        relabel_work += other.relabel_work;
        activated += other.activated;
        faults += other.faults;
    }
};

// A vertex with more residual arcs is a hub, which all lanes of a warp discharge together.
#include "maxflow/cuda_push_relabel/__init__.py: HUB_DEGREE"

// No vertex: there are fewer vertices than residual arcs, whose numbers have 32 bits.
constexpr u32 NO_VERTEX = 0xffffffffu;

// Discharges vertex `v` of each group once, unless it is NO_VERTEX: relabels it if no neighbour is lower, and pushes
// to its lowest neighbours. `held` is the entry of the inbox from which the lane has just taken the vertex, or 0.
// Vertices that become active, and `v` if it stays active, go to their inboxes, except one of each group that `keeps`
// one: it is returned. A vertex that a search has missed, or without residual arcs to lower vertices, is put off
// until another search reaches it. A group of fewer lanes than a warp leaves a hub alone and sets `is_hub`. `ahead`
// is called twice to load what comes next.
//
// A discharge is a chain of waits for memory. So data are loaded together before it is known that they are needed:
// the vertex's own numbers with its first arcs, then the labels of their heads with the start rounds of searches.
//
//     load; put the vertex off if a search is late
//     push to the sink
//     find the lowest neighbour; relabel if none is lower
//     push to all lowest neighbours, lane after lane; list those that become active
//     debit; list the vertex itself, or put it off
template <u32 LANES, class Ahead>
__device__ u32 discharge(const DeviceNetwork& net, u64* label, const Inboxes& inboxes, u32 v, u32 held, bool keeps,
                         const Timetable& times, Operations& operations, bool& is_hub, Ahead& ahead) {
    const u32 n = static_cast<u32>(net.num_vertices);
    constexpr u32 AT_A_TIME = LANES == WARP ? 4 : 1;  // loads that wait together; only long lists gain from more
    constexpr bool KEEPS_ARC = AT_A_TIME == 1;        // for more there are no registers: it is loaded again
    constexpr u32 LANE_MASK = LANES == WARP ? ALL_LANES : (1u << LANES) - 1;
    const u32 lane = lane_id() % LANES;
    // Load the vertex, then the labels of the heads of its first arcs.
    bool active = v != NO_VERTEX;
    bool puts_off = false;
    u32 first = 0, last = 0, stale = 0;
    u64 own = 0;
    i64 excess = 0, capacity_to_sink = 0;
    if (active) {
        bool may_reach_sink;
        const ArcRange range = arcs_of(net, v, may_reach_sink);
        own = relaxed_load(&label[v]);
        excess = relaxed_load(&net.excess[v]);
        first = range.first;
        last = range.last;
        if (may_reach_sink) capacity_to_sink = relaxed_load(&net.sink_residual[v]);
        is_hub = LANES < WARP && last - first > HUB_DEGREE;
        operations.activated -= !is_hub && lane == 0;
        active = !is_hub;
    }
    Arc arc{0, 0, 0};  // the lane's first one
    if (active && first + lane < last) arc = load_arc(net.arcs, first + lane);
    // Searches and neighbours may change these: all lanes use the values of the first one.
    excess = from_first_lane<LANES>(excess);
    own = from_first_lane<LANES>(own);
    u32 h = height_of(own);
    const u32 search = search_of(own);
    u64 entry = 0, next_entry = 0, head_label = 0;
    if (active) {
        entry = times.entry_of(search);
        next_entry = times.entry_of(search + 1);
    }
    if (arc.residual > 0) head_label = relaxed_load(&label[arc.head]);
    if (active) {
        stale = times.level_of(search, entry);
        puts_off = times.is_late(search, next_entry, h);
    }
    stale = max(h, from_first_lane<LANES>(stale));  // least height of vertices that the same search has yet to reach
    puts_off = from_first_lane<LANES>(static_cast<u32>(puts_off)) != 0;
    active = active && !puts_off;
    // Push to the sink.
    bool is_sound = true;
    i64 left = excess;
    if (active && capacity_to_sink > 0) {
        const i64 amount = min(left, capacity_to_sink);
        left -= amount;
        if (lane == 0) {
            is_sound = relaxed_fetch_add(&net.sink_residual[v], -amount) >= amount;
            ++operations.pushes;
        }
    }
    // Look for a lower neighbour, or for one of height 1, which is the least; if there is none, all neighbours are
    // looked at. A lane keeps the first of the lowest arcs that it has seen, to push over it.
    const bool has_more = active && left > 0;
    bool searches = has_more;
    u32 at = first + lane;
    u32 a = last + lane;
    u32 h_head = n;
    for (; __any_sync(ALL_LANES, at - lane < last && searches); at += AT_A_TIME * LANES) {
        Arc seen[AT_A_TIME];
        u32 height[AT_A_TIME];
#pragma unroll
        for (u32 k = 0; k < AT_A_TIME; ++k) {
            const u32 b = at + k * LANES;
            height[k] = n;
            if (b < last && searches) {
                const bool is_first = k == 0 && b == first + lane;
                seen[k] = is_first ? arc : load_arc(net.arcs, b);
                if (seen[k].residual > 0)
                    height[k] =
                        height_seen(is_first ? head_label : relaxed_load(&label[seen[k].head]), search, stale);
            }
        }
        if (at - lane < last && searches && lane == 0) operations.arc_scans += min(AT_A_TIME * LANES, last - at);
#pragma unroll
        for (u32 k = 0; k < AT_A_TIME; ++k)
            if (height[k] < h_head) {
                h_head = height[k];
                if (KEEPS_ARC) arc = seen[k];
                a = at + k * LANES;
            }
        const u32 lower = __ballot_sync(ALL_LANES, h_head < max(h, 2u)) >> (lane_id() - lane) & LANE_MASK;
        searches = searches && lower == 0;
    }
    const u32 low = least_of_lanes<LANES>(h_head);
    is_sound = is_sound && (held == 0 || held == v + 1);
    ahead.look();
    // Relabel, or put the vertex off.
    if (has_more && low >= h) {
        puts_off = low >= n;
        if (!puts_off) {
            h = low + 1;
            if (lane == 0) relaxed_fetch_max(&label[v], label_of(search, h));
        }
        if (lane == 0) {
            ++operations.relabels;
            operations.relabel_work += 12 + last - first;
        }
    }
    // Push to the lowest neighbours, from the first of them on, in order: arcs of other lanes next to it are higher.
    const u32 begin = least_of_lanes<LANES>(h_head == low ? a - lane : last);
    bool loaded = KEEPS_ARC || a != begin + lane;
    if (a != begin + lane) h_head = n;
    a = begin + lane;
    u32 kept = NO_VERTEX;
    u32 place = 0, listed = NO_VERTEX;  // the vertex activated last, and its place in an inbox, to be filled
    for (; __any_sync(ALL_LANES, a - lane < last && left > 0); a += LANES) {
        const Amount budget = static_cast<Amount>(min(left, MOST_AMOUNT));
        Amount offer = 0;
        if (a < last && left > 0) {
            if (!loaded) {
                arc = load_arc(net.arcs, a);
                h_head = arc.residual > 0 ? height_seen(relaxed_load(&label[arc.head]), search, stale) : n;
            }
            if (h_head <= low && arc.residual > 0) offer = min(static_cast<Amount>(arc.residual), budget);
        }
        loaded = false;
        Amount total;
        const Amount before = sum_of_lanes_before<LANES>(offer, budget, total);
        bool activated = false;
        if (offer > 0 && before < budget) {
            const i64 amount = static_cast<i64>(min(offer, budget - before));
            const i64 capacity = push_over(net.arcs, a, arc.reverse, amount);
            activated = relaxed_fetch_add(&net.excess[arc.head], amount) == 0;
            is_sound = is_sound && capacity >= amount;
            ++operations.pushes;
            operations.activated += activated;
        }
        left -= static_cast<i64>(total);
        if (keeps) {
            const u32 mine = __ballot_sync(ALL_LANES, activated) >> (lane_id() - lane) & LANE_MASK;
            const u32 first_lane = mine == 0 ? 0 : __ffs(mine) - 1;
            const u32 chosen = __shfl_sync(ALL_LANES, arc.head, first_lane, LANES);
            if (kept == NO_VERTEX && mine != 0) {
                kept = chosen;
                activated = activated && lane != first_lane;
            }
        }
        if (activated) {
            if (listed != NO_VERTEX) inboxes.fill(listed, place);
            listed = arc.head;
            place = inboxes.new_place(listed);
        }
    }
    // Debit the vertex, then list it or put it off.
    const bool all_sound = __all_sync(ALL_LANES, is_sound);
    operations.faults += !all_sound;
    const bool debits = active && lane == 0 && left < excess && all_sound;
    const bool is_listed = debits && left > 0 && !puts_off;
    const i64 change = left - excess;
    u32 own_place = 0;
    if (debits) excess = relaxed_fetch_add(&net.excess[v], change);
    if (is_listed) own_place = inboxes.new_place(v);
    ahead.prefetch_arcs(lane == 0 ? kept : NO_VERTEX);
    if (listed != NO_VERTEX) inboxes.fill(listed, place);
    if (debits) excess += change;
    operations.faults += debits && excess < left;
    active = active && !puts_off && (is_listed || excess > 0);
    // A group does nothing more to a vertex that it has put off: a search may already have given it to another group.
    if (puts_off && lane == 0)
        active = search_of(release_fetch_max(&label[v], label_of(search, n + PUT_OFF))) > search;
    if (active && lane == 0) {
        if (!is_listed) own_place = inboxes.new_place(v);
        inboxes.fill(v, own_place);
        ++operations.activated;
    }
    return kept;
}

struct HubDischarge {
    u32 kept;
    Operations operations;
};

// Loads nothing ahead.
struct NothingAhead {
    __device__ void look() {}
    __device__ void prefetch_arcs(u32) {}
};

// Discharges a hub by all lanes of a warp; the first lane has the entry of the inbox. It is not inlined, so that its
// registers do not add to those of other discharges.
__device__ __noinline__ HubDischarge discharge_hub(const DeviceNetwork& net, u64* label, const Inboxes& inboxes, u32 v,
                                                   u32 held, bool keeps, const Timetable& times) {
    HubDischarge outcome;
    bool is_hub = false;
    NothingAhead nothing;
    outcome.kept =
        discharge<WARP>(net, label, inboxes, v, held, keeps, times, outcome.operations, is_hub, nothing);
    return outcome;
}
