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

// The host defines how blocks wait for each other, and whether they then see what others wrote.
#ifndef LOCK_FREE
#define LOCK_FREE 0
#define FENCE 1
#endif

// All threads of the grid. Xiao and Feng have these barriers: in one, all blocks add to a counter; in the other, each
// block has words of its own, in which it arrives and is let go by the first block.
struct ColoringTeam : GridTeam {
    u32* arrived;
    u32* let_go;
    u32 barriers = 0;

    __device__ explicit ColoringTeam(const Arguments& args)
        : GridTeam(args.arrivals), arrived(args.arrivals + 2), let_go(arrived + gridDim.x) {}

    __device__ static void tell(u32* word, u32 value) { FENCE ? release_store(word, value) : relaxed_store(word, value); }
    __device__ static void wait_for(const u32* word, u32 value) {
        while ((FENCE ? acquire_load(word) : relaxed_load(word)) < value) {
#ifdef PREFLOW_ON_CPU
            __nanosleep(20);
#endif
        }
    }

    __device__ void wait() {
        ++barriers;
        __syncthreads();
        if (!LOCK_FREE) {
            if (threadIdx.x == 0) {
                FENCE ? fetch_add(arrivals, 1u) : relaxed_fetch_add(arrivals, 1u);
                wait_for(arrivals, barriers * num_blocks);
            }
        } else {
            if (threadIdx.x == 0) tell(&arrived[block()], barriers);
            if (block() == 0) {
                for (u32 i = threadIdx.x; i < num_blocks; i += blockDim.x) wait_for(&arrived[i], barriers);
                __syncthreads();
                for (u32 i = threadIdx.x; i < num_blocks; i += blockDim.x) tell(&let_go[i], barriers);
            }
            if (threadIdx.x == 0) wait_for(&let_go[block()], barriers);
        }
        __syncthreads();
    }
};

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

// Lets the active vertices of a thread push to the sink and choose.
__device__ void choose_all(const Arguments& args, u64 cycle, Choices& choices, Operations& operations) {
    const u32 n = static_cast<u32>(args.net.num_vertices), num_colors = static_cast<u32>(args.num_colors);
    for (u32 v = grid_thread(); v < n; v += grid_threads()) {
        i64 excess = relaxed_load(&args.net.excess[v]);
        if (excess == 0) continue;
        const u32 h = relaxed_load(&args.height[v]);
        if (h > n) continue;
        excess = push_to_sink(args.net, v, excess, operations);
        if (excess == 0) continue;
        mark(&args.wanted[num_colors], static_cast<u32>(cycle) + 1);
        choose(args, v, h, cycle, choices, operations);
    }
}

// One cycle; returns whether any vertex was active, the same for all threads.
__device__ bool run_cycle(const Arguments& args, ColoringTeam& team, u64 cycle, Operations& operations) {
    const u32 num_colors = static_cast<u32>(args.num_colors);
    const u32 stamp = static_cast<u32>(cycle) + 1;
    Choices choices(args.choices + grid_thread(), grid_threads());
    choose_all(args, cycle, choices, operations);
    team.wait();
    // No thread writes these stamps again before the last barrier of the cycle: all threads read the same value.
    if (relaxed_load(&args.wanted[num_colors]) != stamp) return false;
    for (u32 base = 0; base < num_colors; base += WARP) {
        const u32 color = base + lane_id();
        u32 turns = __ballot_sync(ALL_LANES, color < num_colors && relaxed_load(&args.wanted[color]) == stamp);
        for (; turns != 0; turns &= turns - 1) {
            const u32 turn = base + __ffs(turns) - 1;
            choices.for_turn(turn, [&](u32 a) { push(args.net, a, operations); });
            team.wait();
        }
    }
    choices.for_turn(RELABEL, [&](u32 v) { relabel(args, v, operations); });
    team.wait();
    return true;
}

__device__ void report(const Arguments& args, const Operations& operations) {
    const u64 totals[3] = {operations.pushes, operations.relabels, operations.arc_scans};
    add_up(args.counts, totals);
}

// The cycles of a launch, with barriers inside.
KERNEL(coloring_slice, Arguments) {
    ColoringTeam team(args);
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
        relaxed_fetch_add(&state->barriers, static_cast<u64>(team.barriers));
    }
    report(args, operations);
}

// A part of a cycle that a launch makes, where launches are the barriers: `turn` is a colour, or the number of colours
// for the choices, and that number plus one for the relabels.
KERNEL(coloring_turn, Arguments) {
    ColoringState* const state = reinterpret_cast<ColoringState*>(args.state);
    Operations operations;
    Choices choices(args.choices + grid_thread(), grid_threads());
    if (args.turn == args.num_colors) {
        choose_all(args, relaxed_load(&state->cycle), choices, operations);
        args.num_choices[grid_thread()] = choices.size;
    } else {
        choices.size = args.num_choices[grid_thread()];
        if (args.turn < args.num_colors) {
            choices.for_turn(static_cast<u32>(args.turn), [&](u32 a) { push(args.net, a, operations); });
        } else {
            choices.for_turn(RELABEL, [&](u32 v) { relabel(args, v, operations); });
            if (grid_thread() == 0) {
                const u64 cycle = relaxed_load(&state->cycle);
                relaxed_store(&state->has_active, u64{relaxed_load(&args.wanted[args.num_colors]) == cycle + 1});
                relaxed_store(&state->cycle, cycle + 1);
                relaxed_fetch_add(&state->barriers, args.num_colors + 2);
            }
        }
    }
    report(args, operations);
}
