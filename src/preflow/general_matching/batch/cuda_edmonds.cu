// The kernels of cuda-edmonds: one warp surveys or matches one graph, with its state in shared memory. cuda_edmonds.py
// has the pseudo-code; weighted_blossom has definitions and invariants. All lanes have the same values, unless a
// comment says otherwise; the first lane changes blossoms and trees.
#ifndef SOURCE
#define SOURCE 1  // the type of given weights: int, i64, float, double
#define SHARED 1  // whether the matrix of solved weights is in shared memory, too
#define NARROW 1  // whether solved weights are below 2**28
#endif
#define KERNEL_BOUNDS 32

#include "atomics.cuh"
#include "lanes.cuh"
#include "stop.cuh"

#if SOURCE == 0
using Source = int;
#elif SOURCE == 1
using Source = i64;
#elif SOURCE == 2
using Source = float;
#else
using Source = double;
#endif
constexpr bool IS_FLOAT = SOURCE >= 2;
#if SOURCE >= 2
using Gain = double;
#else
using Gain = i64;
#endif
// Sums of duals and weights: at most five times the largest weight in size.
#if NARROW
using Number = int;
using Weight = u32;
constexpr Number FAR = 0x7fffffff;
#else
using Number = i64;
using Weight = u64;
constexpr Number FAR = 0x7fffffffffffffff;
#endif
using Slot = unsigned short;
constexpr u32 NONE = 0xffff;
constexpr double EXACT = 9007199254740992.0, SYMMETRIC = 1.0 / (1ll << 48);

enum Label : u8 { UNREACHED, EVEN, ODD };
// What happens next, by preference: the dual of an even vertex is 0; an edge leads to a free node, to another node, to
// an even node; the edge of an even vertex lies in a blossom by now; the dual of an odd blossom is 0.
enum Kind : u32 { ZERO_DUAL, REACH_FREE, GROW, SHRINK, LOOK_AGAIN, EXPAND };

#include "arrays.py: SOLVED, STOPPED, ASYMMETRIC, INFINITE, OUTSIDE, BROKEN"
#include "cuda_edmonds.py: Arguments"

__device__ __forceinline__ double absolute(double value) { return value < 0 ? -value : value; }

// Whether a weight is finite; all integers are.
__device__ __forceinline__ bool is_finite(Source weight) { return !IS_FLOAT || weight - weight == 0; }
__device__ __forceinline__ bool is_edge(const Arguments& args, Source weight) {
    return is_finite(weight) && !(args.has_no_edge && weight == args.no_edge[0]);
}

// What the lanes of a warp see of the weights of an item.
struct Extremes {
    Gain least, most;
    u32 any, flaws;

    __device__ void note(const Arguments& args, Source weight) {
        // In unsigned integers the least one may change its sign.
        Gain gain = IS_FLOAT ? static_cast<Gain>(args.sign * static_cast<Gain>(weight))
                             : static_cast<Gain>(static_cast<u64>(args.sign) * static_cast<u64>(static_cast<Gain>(weight)));
        if (gain < 0 && !args.most_edges) gain = 0;
        least = any && least < gain ? least : gain;
        most = any && most > gain ? most : gain;
        any = 1;
        if (IS_FLOAT) {
            const double size = absolute(static_cast<double>(gain));
            if (size > EXACT || size != static_cast<double>(static_cast<i64>(size))) flaws |= BROKEN;
        }
    }
};

__device__ __forceinline__ bool differ(const Arguments& args, Source a, Source b) {
    const bool known = is_edge(args, a);
    if (known != is_edge(args, b)) return true;
    if (!known || a == b) return false;
    if (!IS_FLOAT) return true;
    const double size = absolute(a) < absolute(b) ? absolute(b) : absolute(a);
    return absolute(static_cast<double>(a) - static_cast<double>(b)) > SYMMETRIC * size;
}

KERNEL(survey_items, Arguments) {
    for (u64 item = blockIdx.x; item < args.num_items; item += gridDim.x) {
        const u64 n = args.first_vertex[item + 1] - args.first_vertex[item];
        const Source* const weight = args.weight + args.first_edge[item];
        const u64 count = args.first_edge[item + 1] - args.first_edge[item];
        Extremes seen{0, 0, 0, 0};
        for (u64 at = lane_id(); at < count; at += WARP) {
            if (args.is_stack) {
                const u64 row = at / n, column = at % n;
                if (row >= column) continue;
                if (differ(args, weight[at], weight[column * n + row])) seen.flaws |= ASYMMETRIC;
                if (is_edge(args, weight[at])) seen.note(args, weight[at]);
            } else {
                const u64 edge = args.first_edge[item] + at;
                const u32 u = args.ends[2 * edge], v = args.ends[2 * edge + 1];
                if (!is_finite(weight[at])) seen.flaws |= INFINITE;
                if (u >= n || v >= n) seen.flaws |= OUTSIDE;
                if (u != v) seen.note(args, weight[at]);
            }
        }
#pragma unroll
        for (u32 distance = WARP / 2; distance > 0; distance /= 2) {
            const Extremes other{__shfl_xor_sync(ALL_LANES, seen.least, distance),
                                 __shfl_xor_sync(ALL_LANES, seen.most, distance),
                                 __shfl_xor_sync(ALL_LANES, seen.any, distance),
                                 __shfl_xor_sync(ALL_LANES, seen.flaws, distance)};
            if (other.any && !(seen.any && seen.least < other.least)) seen.least = other.least;
            if (other.any && !(seen.any && seen.most > other.most)) seen.most = other.most;
            seen.any |= other.any;
            seen.flaws |= other.flaws;
        }
        if (lane_id() == 0) {
            args.least[item] = seen.least;
            args.most[item] = seen.most;
            args.flaws[item] = seen.flaws;
        }
    }
}

// Lists a number for each lane that has one, at the end of a list that all lanes know the length of.
__device__ __forceinline__ void append(Slot* list, u32& length, bool has, u32 number) {
    const u32 lanes = __ballot_sync(ALL_LANES, has);
    if (has) list[length + __popc(lanes & ((1u << lane_id()) - 1))] = static_cast<Slot>(number);
    length += __popc(lanes);
}

// The graph that a warp works on.
struct Graph {
    u32 n, nodes, num_queued, num_spare;
    Weight* weight;  // n rows of n; 0 for no edge
    // By vertices: as weighted_blossom writes them, `dual` is twice the dual, plus the time for an even vertex,
    // minus the time for an odd one. `near` is the least of the dual of u minus twice the weight of uv, over all even
    // vertices u that were in another node than v when they were scanned; `from` is this u.
    Number *dual, *near;
    Slot *from, *top, *queue;
    // By nodes.
    Number *since, *blossom_dual;
    Slot *inner, *outer, *from_even, *to_odd, *parent, *child, *sibling, *link_from, *link_to;
    u32 *stamp, *number;
    u8* label;
    Slot* spare;
    u64 scans, searches, augmentations;

    __device__ explicit Graph(const Arguments& args) : scans(0), searches(0), augmentations(0) {
        const u32 most = static_cast<u32>(args.most_vertices), most_nodes = most + most / 2;
        SharedArena arena;
        number = arena.take<u32>(1);
        dual = arena.take<Number>(most);
        near = arena.take<Number>(most);
        from = arena.take<Slot>(most);
        top = arena.take<Slot>(most);
        queue = arena.take<Slot>(most);
        since = arena.take<Number>(most_nodes);
        blossom_dual = arena.take<Number>(most_nodes);
        Slot** const slots[] = {&inner, &outer, &from_even, &to_odd, &parent, &child, &sibling, &link_from, &link_to, &spare};
        for (Slot** each : slots) *each = arena.take<Slot>(most_nodes);
        stamp = arena.take<u32>(most_nodes);
        label = arena.take<u8>(most_nodes);
        weight = SHARED ? arena.take<Weight>(most * most)
                        : reinterpret_cast<Weight*>(args.memory) + static_cast<u64>(blockIdx.x) * most * most;
    }

    __device__ Number doubled(u32 u, u32 v) const { return 2 * static_cast<Number>(weight[u * n + v]); }
};

// The weights that are solved. Lanes have different ones.
struct Scale {
    double up, rest;
    i64 bonus;

    // Returns the weight of an edge, not positive if it is of no use.
    __device__ i64 solved(const Arguments& args, Source weight) {
        i64 value = static_cast<i64>(weight);
        if (IS_FLOAT) {
            const double scaled = up * static_cast<double>(weight), whole = rint(scaled);
            value = static_cast<i64>(whole);
            const double left = absolute(scaled - whole);
            if ((args.most_edges || static_cast<double>(args.sign) * scaled > 0) && left > rest) rest = left;
        }
        return args.sign * value + bonus;
    }
};

// Writes the matrix of solved weights.
__device__ void load(const Arguments& args, Graph& graph, i64 item) {
    const u32 n = graph.n;
    const i64 begin = args.first_edge[item];
    const u32 count = static_cast<u32>(args.first_edge[item + 1] - begin);
    Scale scale{args.up[item], 0, args.bonus[item]};
    if (!args.is_stack) {
        for (u32 at = lane_id(); at < n * n; at += WARP) graph.weight[at] = 0;
        __syncwarp();
    }
    for (u32 at = lane_id(); at < count; at += WARP) {
        const Source given = args.weight[begin + at];
        u32 u, v;
        bool known = true;
        if (args.is_stack) {
            u = at / n, v = at % n;
            if (u == v) graph.weight[at] = 0;
            known = is_edge(args, given);
        } else {
            u = args.ends[2 * (begin + at)], v = args.ends[2 * (begin + at) + 1];
        }
        if (args.is_stack ? u >= v : u == v) continue;
        const i64 value = known ? scale.solved(args, given) : 0;
        const Weight own = static_cast<Weight>(value < 0 ? 0 : value);
        if (args.is_stack) {
            graph.weight[at] = own;
            graph.weight[v * n + u] = own;
        } else if (own > 0) {
            relaxed_fetch_max(&graph.weight[u * n + v], own);
            relaxed_fetch_max(&graph.weight[v * n + u], own);
        }
    }
    scale.rest = greatest_of_lanes<WARP>(scale.rest);
    if (lane_id() == 0) args.rest[item] = scale.rest;
    __syncwarp();
}

// Sets the first duals, without blossoms; free vertices lower their duals and are matched where an edge is tight.
__device__ void start(Graph& graph) {
    const u32 n = graph.n;
    for (u32 v = lane_id(); v < n; v += WARP) {
        Weight most = 0;
        for (u32 u = 0; u < n; ++u) {
            const Weight own = graph.weight[u * n + v];
            most = own > most ? own : most;
        }
        graph.dual[v] = static_cast<Number>(most);
        graph.top[v] = static_cast<Slot>(v);
    }
    for (u32 node = lane_id(); node < graph.nodes; node += WARP) {
        graph.inner[node] = static_cast<Slot>(node);
        graph.outer[node] = graph.parent[node] = graph.child[node] = NONE;
        graph.blossom_dual[node] = 0;
        graph.stamp[node] = 0;
        if (node < graph.nodes - n) graph.spare[node] = static_cast<Slot>(graph.nodes - 1 - node);
    }
    graph.num_spare = graph.nodes - n;
    if (lane_id() == 0) *graph.number = 0;
    __syncwarp();
    for (u32 v = 0; v < n; ++v) {
        if (graph.outer[v] != NONE || graph.dual[v] == 0) continue;
        Number least = 0;
        for (u32 u = lane_id(); u < n; u += WARP) {
            if (graph.weight[v * n + u] == 0) continue;
            const Number needed = graph.doubled(v, u) - graph.dual[u];
            least = needed > least ? needed : least;
        }
        least = greatest_of_lanes<WARP>(least);
        u32 partner = NONE;
        for (u32 u = lane_id(); u < n; u += WARP) {
            if (partner == NONE && u != v && graph.outer[u] == NONE && graph.weight[v * n + u] > 0 &&
                least + graph.dual[u] == graph.doubled(v, u))
                partner = u;
        }
        partner = least_of_warp(partner);
        __syncwarp();
        if (lane_id() == 0) {
            graph.dual[v] = least;
            if (partner != NONE) {
                graph.outer[v] = static_cast<Slot>(partner);
                graph.outer[partner] = static_cast<Slot>(v);
            }
        }
        __syncwarp();
    }
    graph.scans += static_cast<u64>(n) * ((n + WARP - 1 - lane_id()) / WARP);
}

// Looks at the edges of all vertices that became even.
__device__ void scan(Graph& graph) {
    const u32 n = graph.n;
    while (graph.num_queued > 0) {
        const u32 u = graph.queue[--graph.num_queued];
        const u32 own = graph.top[u];
        const Number dual = graph.dual[u];
        for (u32 v = lane_id(); v < n; v += WARP) {
            if (graph.weight[u * n + v] == 0 || graph.top[v] == own) continue;
            const Number key = dual - graph.doubled(u, v);
            if (key < graph.near[v]) {
                graph.near[v] = key;
                graph.from[v] = static_cast<Slot>(u);
            }
        }
        graph.scans += (n + WARP - 1 - lane_id()) / WARP;
    }
    __syncwarp();
}

// Finds the best edge of an even vertex to an even vertex of another node.
__device__ void look_again(Graph& graph, u32 v) {
    Number best = FAR;
    u32 from = NONE;
    const u32 own = graph.top[v];
    for (u32 u = lane_id(); u < graph.n; u += WARP) {
        if (graph.weight[v * graph.n + u] == 0 || graph.top[u] == own || graph.label[graph.top[u]] != EVEN) continue;
        const Number key = graph.dual[u] - graph.doubled(v, u);
        if (key < best) best = key, from = u;
    }
    const Number least = least_of_lanes<WARP>(best);
    from = least_of_warp(best == least ? from : NONE);
    __syncwarp();
    if (lane_id() == 0) {
        graph.near[v] = least;
        graph.from[v] = static_cast<Slot>(from);
    }
    graph.scans += (graph.n + WARP - 1 - lane_id()) / WARP;
    __syncwarp();
}

struct Event {
    Number time;
    u32 code;  // kind and place

    __device__ void consider(Number when, u32 kind, u32 place) {
        const u32 other = kind << 16 | place;
        if (when < time || (when == time && other < code)) time = when, code = other;
    }
};

// Returns what happens next, and when. There is a root, whose dual falls.
__device__ Event next_event(const Graph& graph) {
    Event event{FAR, ~0u};
    for (u32 v = lane_id(); v < graph.n; v += WARP) {
        const u32 node = graph.top[v], label = graph.label[node];
        const Number near = graph.near[v], dual = graph.dual[v];
        if (label == EVEN) {
            event.consider(dual, ZERO_DUAL, v);
            if (near != FAR) event.consider((near + dual) / 2, graph.top[graph.from[v]] == node ? LOOK_AGAIN : SHRINK, v);
        } else if (label == UNREACHED && near != FAR) {
            event.consider(near + dual, graph.outer[node] == NONE ? REACH_FREE : GROW, v);
        }
    }
    for (u32 node = graph.n + lane_id(); node < graph.nodes; node += WARP) {
        if (graph.child[node] != NONE && graph.parent[node] == NONE && graph.label[node] == ODD)
            event.consider(graph.since[node] + graph.blossom_dual[node] / 2, EXPAND, node);
    }
#pragma unroll
    for (u32 distance = WARP / 2; distance > 0; distance /= 2) {
        const Number time = __shfl_xor_sync(ALL_LANES, event.time, distance);
        const u32 code = __shfl_xor_sync(ALL_LANES, event.code, distance);
        event.consider(time, code >> 16, code & NONE);
    }
    __syncwarp();
    return event;
}

// Labels a node; the first lane does.
__device__ __forceinline__ void set_label(Graph& graph, u32 node, Label label, Number now) {
    graph.label[node] = label;
    graph.since[node] = now;
}

// Lets the vertices of a node that was unreached, or NONE, be odd, and those of another one be even.
__device__ void reach(Graph& graph, u32 odd, u32 even, Number now) {
    for (u32 base = 0; base < graph.n; base += WARP) {
        const u32 v = base + lane_id();
        const u32 node = v < graph.n ? graph.top[v] : NONE;
        if (v < graph.n && node == odd) graph.dual[v] -= now;
        if (v < graph.n && node == even) graph.dual[v] += now;
        append(graph.queue, graph.num_queued, v < graph.n && node == even, v);
    }
    __syncwarp();
}

__device__ u32 even_parent(const Graph& graph, u32 node) {
    const u32 outer = graph.outer[node];
    return outer == NONE ? NONE : graph.top[graph.from_even[graph.top[outer]]];
}

__device__ void join(Graph& graph, u32 node, u32 sibling, u32 u, u32 v) {
    graph.sibling[node] = static_cast<Slot>(sibling);
    graph.link_from[node] = static_cast<Slot>(u);
    graph.link_to[node] = static_cast<Slot>(v);
}

// Makes a blossom of the cycle that the edge between two even nodes closes, and returns it; the first lane does.
__device__ u32 make_blossom(Graph& graph, u32 u, u32 v, Number now) {
    const u32 a = graph.top[u], b = graph.top[v], stamp = ++*graph.number;
    u32 x = a, y = b, top = NONE;
    for (u32 steps = 0; steps < 2 * graph.nodes && top == NONE; ++steps) {
        if (x != NONE) {
            if (graph.stamp[x] == stamp) top = x;
            graph.stamp[x] = stamp;
            x = even_parent(graph, x);
        }
        const u32 other = x;
        x = y, y = other;
    }
    join(graph, a, b, u, v);
    x = a;
    for (u32 steps = 0; steps < graph.nodes && x != top; ++steps) {
        const u32 inner = graph.inner[x], outer = graph.outer[x], odd = graph.top[outer];
        join(graph, odd, x, outer, inner);
        const u32 above = graph.top[graph.from_even[odd]];
        join(graph, above, odd, graph.from_even[odd], graph.to_odd[odd]);
        x = above;
    }
    x = b;
    for (u32 steps = 0; steps < graph.nodes && x != top; ++steps) {
        const u32 inner = graph.inner[x], outer = graph.outer[x], odd = graph.top[outer];
        join(graph, x, odd, inner, outer);
        const u32 above = graph.top[graph.from_even[odd]];
        join(graph, odd, above, graph.to_odd[odd], graph.from_even[odd]);
        x = above;
    }
    const u32 blossom = graph.spare[graph.num_spare - 1];
    graph.child[blossom] = static_cast<Slot>(top);
    graph.inner[blossom] = graph.inner[top];
    graph.outer[blossom] = graph.outer[top];
    graph.blossom_dual[blossom] = 0;
    graph.parent[blossom] = NONE;
    graph.stamp[blossom] = 0;
    set_label(graph, blossom, EVEN, now);
    x = top;
    for (u32 steps = 0; steps < graph.nodes; ++steps) {
        const Number passed = 2 * (now - graph.since[x]);
        graph.blossom_dual[x] += graph.label[x] == EVEN ? passed : -passed;
        graph.parent[x] = static_cast<Slot>(blossom);
        x = graph.sibling[x];
        if (x == top) break;
    }
    return blossom;
}

__device__ void shrink(Graph& graph, u32 u, u32 v, Number now) {
    u32 blossom = 0;
    if (lane_id() == 0) blossom = make_blossom(graph, u, v, now);
    blossom = __shfl_sync(ALL_LANES, blossom, 0);
    --graph.num_spare;
    __syncwarp();
    for (u32 base = 0; base < graph.n; base += WARP) {
        const u32 x = base + lane_id();
        const u32 node = x < graph.n ? graph.top[x] : 0;
        const bool inside = x < graph.n && graph.parent[node] == blossom;
        const bool was_odd = inside && graph.label[node] == ODD;
        if (was_odd) graph.dual[x] += 2 * now;
        if (inside) graph.top[x] = static_cast<Slot>(blossom);
        append(graph.queue, graph.num_queued, was_odd, x);
    }
    __syncwarp();
}

// Matches the children of a blossom in pairs around its cycle, but for the one that has the base; the first lane does.
__device__ void pair_siblings(Graph& graph, u32 base) {
    u32 x = graph.sibling[base];
    for (u32 steps = 0; steps < graph.nodes && x != base; ++steps) {
        const u32 partner = graph.sibling[x];
        const Slot u = graph.link_from[x], v = graph.link_to[x];
        graph.inner[x] = u, graph.outer[x] = v;
        graph.inner[partner] = v, graph.outer[partner] = u;
        x = graph.sibling[partner];
    }
}

// Labels the children of an odd blossom as it is expanded; the first lane does.
__device__ void open_blossom(Graph& graph, u32 blossom, Number now) {
    const u32 first = graph.child[blossom];
    u32 x = first;
    for (u32 steps = 0; steps < graph.nodes; ++steps) {
        graph.label[x] = UNREACHED;
        x = graph.sibling[x];
        if (x == first) break;
    }
    const u32 base = graph.top[graph.inner[blossom]];
    graph.inner[base] = graph.inner[blossom];
    graph.outer[base] = graph.outer[blossom];
    pair_siblings(graph, base);
    // The even way around the cycle from the child that the tree reaches to the base stays in the tree.
    const u32 reached = graph.top[graph.to_odd[blossom]];
    graph.from_even[reached] = graph.from_even[blossom];
    graph.to_odd[reached] = graph.to_odd[blossom];
    const bool forward = reached != base && graph.top[graph.outer[reached]] == graph.sibling[reached];
    u32 odd = forward ? reached : base;
    const u32 last = forward ? base : reached;
    for (u32 steps = 0; steps < graph.nodes && odd != last; ++steps) {
        if (!forward) {
            graph.from_even[odd] = graph.link_to[odd];
            graph.to_odd[odd] = graph.link_from[odd];
        }
        set_label(graph, odd, ODD, now);
        const u32 even = graph.sibling[odd];
        set_label(graph, even, EVEN, now);
        odd = graph.sibling[even];
        if (forward) {
            graph.from_even[odd] = graph.link_from[even];
            graph.to_odd[odd] = graph.link_to[even];
        }
    }
    set_label(graph, odd, ODD, now);
}

// Replaces an odd blossom, whose dual is 0, by its children.
__device__ void expand(Graph& graph, u32 blossom, Number now) {
    for (u32 v = lane_id(); v < graph.n; v += WARP) {
        if (graph.top[v] != blossom) continue;
        u32 x = v;
        for (u32 steps = 0; steps < graph.nodes && graph.parent[x] != blossom; ++steps) x = graph.parent[x];
        graph.top[v] = static_cast<Slot>(x);
    }
    __syncwarp();
    if (lane_id() == 0) open_blossom(graph, blossom, now);
    __syncwarp();
    for (u32 base = 0; base < graph.n; base += WARP) {
        const u32 v = base + lane_id();
        const u32 node = v < graph.n ? graph.top[v] : 0;
        const bool inside = v < graph.n && graph.parent[node] == blossom;
        const bool is_even = inside && graph.label[node] == EVEN;
        if (inside && graph.label[node] != ODD) graph.dual[v] += is_even ? 2 * now : now;
        append(graph.queue, graph.num_queued, is_even, v);
    }
    __syncwarp();
    for (u32 node = lane_id(); node < graph.nodes; node += WARP) {
        if (graph.parent[node] == blossom) graph.parent[node] = NONE;
    }
    if (lane_id() == 0) {
        graph.child[blossom] = NONE;
        graph.spare[graph.num_spare] = static_cast<Slot>(blossom);
    }
    ++graph.num_spare;
    __syncwarp();
}

// Exchanges the matched and the other edges from an edge uv, or from a vertex u if v is NONE, to the root.
__device__ void augment(Graph& graph, u32 u, u32 v) {
    if (lane_id() == 0) {
        if (v != NONE) {
            const u32 free = graph.top[v];
            graph.inner[free] = static_cast<Slot>(v);
            graph.outer[free] = static_cast<Slot>(u);
        }
        u32 even = graph.top[u];
        for (u32 steps = 0; steps < graph.nodes; ++steps) {
            const u32 outer = graph.outer[even];
            graph.inner[even] = static_cast<Slot>(u);
            graph.outer[even] = static_cast<Slot>(v);
            if (outer == NONE) break;
            const u32 odd = graph.top[outer];
            u = graph.from_even[odd], v = graph.to_odd[odd];
            graph.inner[odd] = static_cast<Slot>(v);
            graph.outer[odd] = static_cast<Slot>(u);
            even = graph.top[u];
        }
    }
    __syncwarp();
}

// Ends a search: writes the duals as of now.
__device__ void settle(Graph& graph, Number now) {
    for (u32 v = lane_id(); v < graph.n; v += WARP) {
        const u32 label = graph.label[graph.top[v]];
        if (label != UNREACHED) graph.dual[v] += label == EVEN ? -now : now;
    }
    for (u32 node = graph.n + lane_id(); node < graph.nodes; node += WARP) {
        if (graph.child[node] == NONE || graph.parent[node] != NONE || graph.label[node] == UNREACHED) continue;
        const Number passed = 2 * (now - graph.since[node]);
        graph.blossom_dual[node] += graph.label[node] == EVEN ? passed : -passed;
    }
    __syncwarp();
}

// Lets the tree of a free node grow until it ends; returns whether it did within the most steps that a tree can have.
__device__ bool search(Graph& graph, u32 root) {
    for (u32 v = lane_id(); v < graph.n; v += WARP) graph.near[v] = FAR;
    for (u32 node = lane_id(); node < graph.nodes; node += WARP) graph.label[node] = UNREACHED;
    __syncwarp();
    if (lane_id() == 0) set_label(graph, root, EVEN, 0);
    graph.num_queued = 0;
    reach(graph, NONE, root, 0);
    ++graph.searches;
    for (u32 left = graph.n * graph.n + 4 * graph.n; left > 0; --left) {
        scan(graph);
        const Event event = next_event(graph);
        const u32 kind = event.code >> 16, at = event.code & NONE;
        const Number now = event.time;
        if (kind == ZERO_DUAL || kind == REACH_FREE) {
            if (kind == ZERO_DUAL)
                augment(graph, at, NONE);
            else
                augment(graph, graph.from[at], at);
            settle(graph, now);
            ++graph.augmentations;
            return true;
        }
        if (kind == GROW) {
            const u32 odd = graph.top[at], even = graph.top[graph.outer[odd]];
            if (lane_id() == 0) {
                graph.from_even[odd] = graph.from[at];
                graph.to_odd[odd] = static_cast<Slot>(at);
                set_label(graph, odd, ODD, now);
                set_label(graph, even, EVEN, now);
            }
            reach(graph, odd, even, now);
        } else if (kind == SHRINK) {
            shrink(graph, graph.from[at], at, now);
        } else if (kind == LOOK_AGAIN) {
            look_again(graph, at);
        } else {
            expand(graph, at, now);
        }
    }
    return false;
}

// Writes the partner of every vertex to `from`, NONE for none; the first lane does.
__device__ void match_vertices(Graph& graph) {
    for (u32 vertex = 0; vertex < graph.n; ++vertex) {
        // Each outermost node once, by the vertex that has its base.
        if (graph.inner[graph.top[vertex]] != vertex) continue;
        u32 size = 1;
        graph.queue[0] = graph.top[vertex];
        while (size > 0) {
            const u32 node = graph.queue[--size], base = graph.inner[node];
            graph.from[base] = graph.outer[node];
            u32 x = base;
            for (u32 depth = 0; depth < graph.nodes && x != node; ++depth) {
                pair_siblings(graph, x);
                u32 y = graph.sibling[x];
                for (u32 steps = 0; steps < graph.nodes && y != x && size < graph.n; ++steps) {
                    graph.queue[size++] = static_cast<Slot>(y);
                    y = graph.sibling[y];
                }
                x = graph.parent[x];
            }
        }
    }
}

// Writes the matching, the duals and the blossoms of an item.
__device__ void write(const Arguments& args, Graph& graph, i64 item) {
    const u32 n = graph.n;
    const i64 begin = args.first_vertex[item], first = args.first_blossom[item];
    u32 count = 0;
    for (u32 base = n; base < graph.nodes; base += WARP) {
        const u32 node = base + lane_id();
        const bool used = node < graph.nodes && graph.child[node] != NONE;
        const u32 lanes = __ballot_sync(ALL_LANES, used);
        if (used) {
            const u32 own = count + __popc(lanes & ((1u << lane_id()) - 1));
            graph.stamp[node] = n + own;
            args.blossom[first + own] = graph.blossom_dual[node];
        }
        count += __popc(lanes);
    }
    __syncwarp();
    for (u32 node = lane_id(); node < graph.nodes; node += WARP) {
        if (node >= n && graph.child[node] == NONE) continue;
        const u32 place = node < n ? node : graph.stamp[node], parent = graph.parent[node];
        args.parent[begin + first + place] = parent == NONE ? -1 : static_cast<i64>(graph.stamp[parent]);
    }
    i64 total = 0;
    for (u32 v = lane_id(); v < n; v += WARP) {
        const u32 mate = graph.from[v];
        args.mate[begin + v] = static_cast<short>(mate);  // -1 is NONE
        args.vertex[begin + v] = graph.dual[v];
        // Unsigned sums may wrap.
        if (mate != NONE && mate > v)
            total = static_cast<i64>(static_cast<u64>(total) + static_cast<u64>(graph.weight[v * n + mate]));
    }
    total = static_cast<i64>(sum_of_lanes<WARP>(static_cast<u64>(total)));
    if (lane_id() == 0) {
        args.num_blossoms[item] = count;
        args.total[item] = total;
        args.ending[item] = SOLVED;
    }
    __syncwarp();
}

KERNEL(solve_items, Arguments) {
    Graph graph(args);
    u64 next_look = 0;
    bool stopped = false;
    while (!stopped) {
        u64 turn = 0;
        if (lane_id() == 0) turn = relaxed_fetch_add(args.turns, u64{1});
        turn = __shfl_sync(ALL_LANES, turn, 0);
        if (turn >= static_cast<u64>(args.num_chosen)) break;
        const i64 item = args.chosen[turn];
        graph.n = static_cast<u32>(args.first_vertex[item + 1] - args.first_vertex[item]);
        graph.nodes = graph.n + graph.n / 2;
        load(args, graph, item);
        start(graph);
        bool ended = true;
        for (u32 root = 0; root < graph.n && ended; ++root) {
            stopped = __ballot_sync(ALL_LANES, lane_id() == 0 && sees_stop(args.stop, next_look)) != 0;
            if (stopped) break;
            const u32 node = graph.top[root];
            if (graph.outer[node] == NONE && graph.dual[graph.inner[node]] > 0) ended = search(graph, node);
        }
        if (stopped || !ended) {
            if (lane_id() == 0) args.ending[item] = STOPPED;
            __syncwarp();
            continue;
        }
        if (lane_id() == 0) match_vertices(graph);
        __syncwarp();
        write(args, graph, item);
    }
    const u64 counts[3] = {graph.scans, lane_id() == 0 ? graph.searches : 0, lane_id() == 0 ? graph.augmentations : 0};
    add_up(args.counts, counts);
}
