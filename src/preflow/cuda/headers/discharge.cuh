// Push and relabel of listed vertices: Hong's lock-free operations, by a group of lanes for each vertex.
//
// An active vertex is in one inbox at most, and only the group that took it from there relabels it or lowers its
// residual capacities: it was put there by whoever raised its excess from zero, and its own debit comes last. A
// push goes to any neighbour as low as the lowest. All operations are relaxed: a neighbour that rises while
// flow is on its way to it leaves an arc that is too steep, which costs work but no answer, since only a search
// while nothing moves declares vertices dead (see PAPERS on steep arcs).
#include "inboxes.cuh"
#include "lanes.cuh"
#include "residual.cuh"

struct Operations {
    u64 pushes = 0;
    u64 relabels = 0;
    u64 arc_scans = 0;
    u32 relabel_work = 0;   // since it was last reported
    int activated = 0;      // vertices put into inboxes less vertices taken and not put back, since then
};

// Discharges vertex `v` of each group with `active`, in at most `steps` steps, a relabel or the pushes to the
// lowest neighbours each. Vertices that become active, and `v` where it stays so, go to their inboxes. Above `n` a
// height means that the vertex waits for the next search.
template <u32 LANES>
__device__ void discharge(const Network& net, u32* height, const Inboxes& inboxes, bool active, u32 v, u32 steps,
                          Operations& operations) {
    const u32 n = static_cast<u32>(net.num_vertices);
    const u32 lane = lane_id() % LANES;
    u32 first = 0, last = 0, h = 0;
    if (active) {
        operations.activated -= lane == 0;
        first = net.first_out[v];
        last = net.first_out[v + 1];
        h = relaxed_load(&height[v]);
        active = h <= n;
    }
    while (__any_sync(ALL_LANES, active)) {
        i64 excess = 0, left = 0;
        if (active && lane == 0) {
            excess = left = relaxed_load(&net.excess[v]);
            const i64 capacity = net.sink_residual[v];
            if (capacity > 0) {
                const i64 amount = min(left, capacity);
                net.sink_residual[v] = capacity - amount;
                left -= amount;
                ++operations.pushes;
            }
        }
        excess = from_first_lane<LANES>(excess);
        left = from_first_lane<LANES>(left);
        const bool has_more = active && left > 0;
        u32 low = n;
        Arc arc{0, 0, 0};
        u32 h_head = n;
        for (u32 a = has_more ? first + lane : last; __any_sync(ALL_LANES, a < last); a += LANES) {
            if (a < last) {
                arc = load_arc(net.arcs, a);
                h_head = arc.residual > 0 ? relaxed_load(&height[arc.head]) : n;
                if (h_head < low) low = h_head;
            }
        }
        low = least_of_lanes<LANES>(low);
        if (has_more) {
            if (lane == 0) operations.arc_scans += last - first;
            if (low >= h) {
                h = low < n ? low + 1 : n + 2;
                if (lane == 0) {
                    relaxed_store(&height[v], h);
                    ++operations.relabels;
                    operations.relabel_work += 12 + last - first;
                }
            }
        }
        const bool one_look = last - first <= LANES;
        for (u32 a = has_more && low < h && low < n ? first + lane : last; __any_sync(ALL_LANES, a < last); a += LANES) {
            u64 offer = 0;
            if (a < last && left > 0) {
                if (!one_look) {
                    arc = load_arc(net.arcs, a);
                    h_head = arc.residual > 0 ? relaxed_load(&height[arc.head]) : n;
                }
                if (h_head <= low && arc.residual > 0) offer = min(static_cast<u64>(arc.residual), static_cast<u64>(left));
            }
            u64 total;
            const u64 before = sum_of_lanes_before<LANES>(offer, left, total);
            if (offer > 0 && before < static_cast<u64>(left)) {
                const i64 amount = static_cast<i64>(min(offer, static_cast<u64>(left) - before));
                relaxed_fetch_add(&net.arcs[a].residual, -amount);
                relaxed_fetch_add(&net.arcs[arc.reverse].residual, amount);
                ++operations.pushes;
                if (relaxed_fetch_add(&net.excess[arc.head], amount) == 0) {
                    inboxes.append(arc.head);
                    ++operations.activated;
                }
            }
            left -= static_cast<i64>(total);
        }
        if (active && lane == 0 && left < excess) {
            const i64 change = left - excess;
            excess = relaxed_fetch_add(&net.excess[v], change) + change;
        }
        excess = from_first_lane<LANES>(excess);
        active = active && excess > 0 && h <= n;
        if (--steps == 0) break;
    }
    if (active && lane == 0) {
        inboxes.append(v);
        ++operations.activated;
    }
}
