// The cycles of cuda_coloring: every active vertex makes its choice, then one colour after the other pushes, then the
// vertices without a lower neighbour are relabelled.
//
// Between two barriers only one thread touches a residual capacity or an excess, or no thread writes it. So plain
// stores suffice; in the tests on CPU threads ThreadSanitizer would report a race.
#include "lanes.cuh"
#include "residual.cuh"
#include "stop.cuh"

using u16 = unsigned short;


#include "__init__.py: ColoringState, Arguments"

struct Operations {
    u64 pushes = 0;
    u64 relabels = 0;
    u64 arc_scans = 0;
};

// The action of a vertex in a cycle: a push over an arc when its colour has its turn, or a relabel after all colours.
// An idle vertex makes no choice, so that its last choice is not repeated.
constexpr u32 RELABEL = 0xffffffffu;

struct Choice {
    u32 turn;     // a colour, or RELABEL
    u32 subject;  // the arc, or the vertex
};

// A thread's own list: nobody else reads or writes it.
struct Choices {
    u64* first;
    u32 stride;
    u32 size = 0;

    __device__ Choices(u64* first, u32 stride) : first(first), stride(stride) {}

    __device__ void append(Choice choice) {
        first[static_cast<u64>(size++) * stride] = static_cast<u64>(choice.turn) << 32 | choice.subject;
    }

    template <class Act>
    __device__ void for_turn(u32 turn, Act act) const {
        for (u32 k = 0; k < size; ++k) {
            const u64 choice = first[static_cast<u64>(k) * stride];
            if (choice >> 32 == turn) act(static_cast<u32>(choice));
        }
    }
};

__device__ __forceinline__ void mark(u32* word, u32 stamp) {
    if (relaxed_load(word) != stamp) relaxed_store(word, stamp);
}

__device__ __forceinline__ bool takes_part(const Arguments& args, u32 color, u64 cycle) {
    const u32 period = args.period[color];
    return period == 1 || cycle % period == color % period;
}

// Pushes as much as possible to the sink, over an arc that only this thread touches; returns the excess left.
__device__ i64 push_to_sink(const DeviceNetwork& net, u32 v, i64 excess, Operations& operations) {
    const i64 capacity = relaxed_load(&net.sink_residual[v]);
    if (capacity == 0) return excess;
    const i64 amount = min(excess, capacity);
    net.sink_residual[v] = capacity - amount;
    net.excess[v] = excess - amount;
    ++operations.pushes;
    return excess - amount;
}

// Lets an active vertex choose the first arc to a lower neighbour whose colour takes part in this cycle. If it has
// lower neighbours, but over arcs of other colours only, it is idle: only a vertex without a lower neighbour is
// relabelled.
__device__ void choose(const Arguments& args, u32 v, u32 h, u64 cycle, Choices& choices, Operations& operations) {
    const u32 last = args.net.first_out[v + 1];
    bool has_lower = false;
    for (u32 a = args.net.first_out[v]; a < last; ++a) {
        const Arc arc = load_arc(args.net.arcs, a);
        ++operations.arc_scans;
        if (arc.residual == 0 || relaxed_load(&args.height[arc.head]) >= h) continue;
        has_lower = true;
        const u32 color = args.color[a];
        if (takes_part(args, color, cycle)) {
            choices.append({color, a});
            mark(&args.wanted[color], static_cast<u32>(cycle) + 1);
            return;
        }
    }
    if (!has_lower) choices.append({RELABEL, v});
}

// Pushes over an arc. No other arc of this colour shares an end with it, and its reverse is not chosen, since it leads
// upwards. So no other thread touches these five words now.
__device__ void push(const DeviceNetwork& net, u32 a, Operations& operations) {
    const Arc arc = load_arc(net.arcs, a);
    const Arc back = load_arc(net.arcs, arc.reverse);
    i64* const from = &net.excess[back.head];
    i64* const to = &net.excess[arc.head];
    const i64 excess = relaxed_load(from);
    const i64 amount = min(excess, arc.residual);
    net.arcs[a].residual = arc.residual - amount;
    net.arcs[arc.reverse].residual = back.residual + amount;
    *from = excess - amount;
    *to = relaxed_load(to) + amount;
    ++operations.pushes;
}

// Lifts a vertex above its lowest neighbour. The source counts as a neighbour of height n; a vertex above it is dead
// until the next search. A neighbour that is lifted at the same time only rises, so either of its heights is a lower
// bound.
__device__ void relabel(const Arguments& args, u32 v, Operations& operations) {
    const u32 last = args.net.first_out[v + 1];
    u32 low = static_cast<u32>(args.net.num_vertices);
    for (u32 a = args.net.first_out[v]; a < last; ++a) {
        const Arc arc = load_arc(args.net.arcs, a);
        ++operations.arc_scans;
        if (arc.residual > 0) low = min(low, relaxed_load(&args.height[arc.head]));
    }
    relaxed_store(&args.height[v], low + 1);
    ++operations.relabels;
}

// One cycle; returns whether any vertex was active, the same for all threads.
__device__ bool run_cycle(const Arguments& args, GridTeam& team, u64 cycle, Operations& operations) {
    const u32 n = static_cast<u32>(args.net.num_vertices), num_colors = static_cast<u32>(args.num_colors);
    const u32 stamp = static_cast<u32>(cycle) + 1;
    const auto nothing = [] {};
    Choices choices(args.choices + team.thread(), team.num_threads());
    for (u32 v = team.thread(); v < n; v += team.num_threads()) {
        i64 excess = relaxed_load(&args.net.excess[v]);
        if (excess == 0) continue;
        const u32 h = relaxed_load(&args.height[v]);
        if (h > n) continue;
        excess = push_to_sink(args.net, v, excess, operations);
        if (excess == 0) continue;
        mark(&args.wanted[num_colors], stamp);
        choose(args, v, h, cycle, choices, operations);
    }
    team.wait(nothing);
    // No thread writes these stamps again before the last barrier of the cycle: all threads read the same value.
    if (relaxed_load(&args.wanted[num_colors]) != stamp) return false;
    for (u32 base = 0; base < num_colors; base += WARP) {
        const u32 color = base + lane_id();
        u32 turns = __ballot_sync(ALL_LANES, color < num_colors && relaxed_load(&args.wanted[color]) == stamp);
        for (; turns != 0; turns &= turns - 1) {
            const u32 turn = base + __ffs(turns) - 1;
            choices.for_turn(turn, [&](u32 a) { push(args.net, a, operations); });
            team.wait(nothing);
        }
    }
    choices.for_turn(RELABEL, [&](u32 v) { relabel(args, v, operations); });
    team.wait(nothing);
    return true;
}

KERNEL(coloring_slice, Arguments) {
    GridTeam team(args.arrivals);
    ColoringState* const state = reinterpret_cast<ColoringState*>(args.state);
    Operations operations;
    const u64 begin = relaxed_load(&state->cycle);
    u64 cycle = begin;
    bool has_active = true, is_last = false;
    for (; has_active && !is_last && cycle < begin + args.cycles; ++cycle) {
        const u64 round = cycle * GridTeam::ROUNDS_A_LISTENING;  // all listen in every cycle
        if (team.is_first()) watch(team, args.stop, round, state->next_look);
        has_active = run_cycle(args, team, cycle, operations);
        is_last = team.is_last(round);
    }
    if (team.is_first()) {
        relaxed_store(&state->cycle, cycle);
        relaxed_store(&state->has_active, static_cast<u64>(has_active));
    }
    const u64 totals[3] = {operations.pushes, operations.relabels, operations.arc_scans};
    add_up(args.counts, totals);
}
