// The persistent kernel of cuda_push_relabel.py: Algorithms 3 to 9 of Deveci, Kaya, Uçar and Çatalyürek (2013), each
// parallel loop between two barriers of the grid. mu is row_mate and column_mate here, psi the labels; a thread works
// on one column, or on one row, at a time.
#include "grid.cuh"
#include "lanes.cuh"
#include "worklist.cuh"

// No partner (-1 in the paper), and a column that no augmenting path begins at (-2).
constexpr u32 NONE = 0xffffffffu, DEAD = 0xfffffffeu;

enum Phase : u64 { BEGIN_RELABEL, RELABEL, RESUME, LIST, PUSH, REPAIR, DONE };

// Where the loop stands. Each block holds a copy, which its first thread changes between the two halves of a
// barrier; between two launches it is in device memory.
struct State {
    u64 phase;
    u64 rounds_left;   // of this launch
    u64 round;         // barriers so far: which of the rotating counters is meant
    u64 loop;          // rounds of pushes so far
    u64 next_relabel;  // the loop in which the next global relabel is due
    u64 level;
    u64 shrinks;       // whether the list of active columns is to be shortened
    u64 proves;        // whether nothing was active: a global relabel shows if that is so
    u64 listed;        // length of both lists
    u64 which;         // the one of them that is A_c
    u64 relabels, levels, shortened;

    __device__ void end_round() {
        ++round;
        if (rounds_left > 0) --rounds_left;
    }
};
constexpr u32 STATE_WORDS = sizeof(State) / sizeof(u64);

struct Sides {
    const u32* first;
    const u32* neighbour;
    u32* mate;
    u32* label;
    u64 size;
};

struct Arguments {
    Sides rows;
    Sides columns;
    u32* lists[2];         // A_c and A_p, in turn
    u32* shortened;
    u32* stamp;            // i_A: the loop in which a column was active at last
    u32* arrivals;
    u32* counters;
    u64* state;
    u64* counts;
    u64 has_lists;         // G-PR-NoShr and G-PR-Shr, else G-PR-First
    u64 shrinks;           // G-PR-Shr
    u64 least_to_shrink;
    u64 is_adaptive;       // a global relabel is due after so many thousandths of the last one's levels,
    u64 thousandths;
    u64 interval;          // or after so many rounds of pushes
    const u32* stops;      // not zero: only make what there is a matching
};

enum Count : u32 { PUSHES, EDGE_SCANS, COUNTS };

__device__ u32 dead_label(const Arguments& args) { return static_cast<u32>(args.rows.size + args.columns.size); }

// Whether a column has a row that has it: other threads may have overwritten what the column believes.
__device__ bool is_matched(const Arguments& args, u32 v) {
    const u32 u = relaxed_load(&args.columns.mate[v]);
    return u < args.rows.size && relaxed_load(&args.rows.mate[u]) == v;
}

__device__ bool is_active(const Arguments& args, u32 v) {
    return relaxed_load(&args.columns.mate[v]) != DEAD && !is_matched(args, v);
}

// INITRELABEL
__device__ void begin_relabel(const Arguments& args, GridTeam& team, State& state) {
    const u32 dead = dead_label(args);
    for (u32 u = team.thread(); u < args.rows.size; u += team.num_threads())
        relaxed_store(&args.rows.label[u], relaxed_load(&args.rows.mate[u]) == NONE ? 0u : dead);
    for (u32 v = team.thread(); v < args.columns.size; v += team.num_threads())
        relaxed_store(&args.columns.label[v], dead);
    team.wait([&] {
        state.end_round();
        state.level = 0;
        ++state.relabels;
        state.phase = RELABEL;
    });
}

// GETITERGR; at least one loop later, so that it comes.
__device__ u64 next_relabel(const Arguments& args, const State& state) {
    const u64 after = args.is_adaptive ? (args.thousandths * state.level + 999) / 1000 : args.interval;
    return state.loop + max(after, 1ull);
}

// G-GR-KRNL: a level of the search from the free rows.
__device__ void relabel_level(const Arguments& args, GridTeam& team, const RotatingSizes& added, State& state) {
    const u32 dead = dead_label(args), level = static_cast<u32>(state.level);
    u32* const is_added = added.of(state.round + 1);
    for (u32 u = team.thread(); u < args.rows.size; u += team.num_threads()) {
        if (relaxed_load(&args.rows.label[u]) != level) continue;
        for (u32 e = args.rows.first[u]; e < args.rows.first[u + 1]; ++e) {
            const u32 v = args.rows.neighbour[e];
            if (relaxed_load(&args.columns.label[v]) != dead) continue;
            relaxed_store(&args.columns.label[v], level + 1);
            if (!is_matched(args, v)) continue;
            relaxed_store(&args.rows.label[relaxed_load(&args.columns.mate[v])], level + 2);
            relaxed_store(is_added, 1u);
        }
    }
    team.wait([&] {
        const bool goes_on = added.read(state.round + 1) != 0;
        state.end_round();
        state.level += 2;
        ++state.levels;
        if (goes_on) return;
        state.next_relabel = next_relabel(args, state);
        state.shrinks = args.shrinks;
        state.phase = state.proves || !args.has_lists ? RESUME : LIST;
    });
}

// Lists the columns that the last global relabel found a path for; without any, the matching is maximum.
__device__ void resume(const Arguments& args, GridTeam& team, const RotatingSizes& sizes, State& state) {
    const u32 dead = dead_label(args);
    u32* const size = sizes.of(state.round + 1);
    for (u32 base = team.thread() - lane_id(); base < args.columns.size; base += team.num_threads()) {
        const u32 v = base + lane_id();
        const bool is_listed =
            v < args.columns.size && relaxed_load(&args.columns.label[v]) < dead && is_active(args, v);
        const u32 place = new_place(size, is_listed);
        if (is_listed) {
            relaxed_store(&args.lists[0][place], v);
            relaxed_store(&args.lists[1][place], v);
        }
    }
    team.wait([&] {
        state.listed = sizes.read(state.round + 1);
        state.end_round();
        state.phase = state.listed > 0 ? (args.has_lists ? LIST : PUSH) : state.proves ? DONE : REPAIR;
        state.proves = 0;
        state.which = 0;
    });
}

// G-PR-INITKRN, and G-PR-SHRKRN where the list is to be shortened: rolls back the columns whose push another one
// has overwritten, and stamps what is active.
__device__ void list_active(const Arguments& args, GridTeam& team, const RotatingSizes& sizes, State& state) {
    u32* const current = args.lists[state.which];
    u32* const previous = args.lists[1 - state.which];
    const bool shortens = state.shrinks != 0 && state.listed >= args.least_to_shrink;
    u32* const size = sizes.of(state.round + 1);
    for (u32 base = team.thread() - lane_id(); base < state.listed; base += team.num_threads()) {
        const u32 i = base + lane_id();
        u32 v = NONE;
        if (i < state.listed) {
            v = relaxed_load(&previous[i]);
            if (v == NONE || !is_active(args, v)) v = relaxed_load(&current[i]);
            if (v != NONE) relaxed_store(&args.stamp[v], static_cast<u32>(state.loop));
            if (!shortens) relaxed_store(&current[i], v);
        }
        const u32 place = new_place(size, v != NONE);
        if (shortens && v != NONE) relaxed_store(&args.shortened[place], v);
    }
    team.wait([] {});
    const u32 active = sizes.read(state.round + 1);
    for (u32 i = team.thread(); shortens && i < active; i += team.num_threads())
        relaxed_store(&current[i], relaxed_load(&args.shortened[i]));
    team.wait([&] {
        state.end_round();
        if (shortens) {
            state.listed = active;
            ++state.shortened;
        }
        state.shrinks = 0;
        state.phase = active > 0 ? PUSH : REPAIR;
    });
}

// Pushes column `v` to its lowest row: Algorithms 6 and 9. Returns the column that lost this row, NONE if there is
// none; with `refuses`, a row of a column that is active itself is left alone, and `v` stays.
__device__ u32 push(const Arguments& args, u32 v, bool refuses, u32 loop, bool& stays, u64 (&counts)[COUNTS]) {
    const u32 dead = dead_label(args), h = relaxed_load(&args.columns.label[v]);
    u32 least = dead, u = NONE;
    for (u32 e = args.columns.first[v]; e < args.columns.first[v + 1]; ++e) {
        const u32 row = args.columns.neighbour[e], label = relaxed_load(&args.rows.label[row]);
        ++counts[EDGE_SCANS];
        if (label >= least) continue;
        least = label;
        u = row;
        if (least + 1 == h) break;
    }
    if (least >= dead) {
        relaxed_store(&args.columns.mate[v], DEAD);
        return NONE;
    }
    const u32 loser = relaxed_load(&args.rows.mate[u]);
    if (refuses && loser != NONE && relaxed_load(&args.stamp[loser]) == loop) {
        stays = true;
        return NONE;
    }
    relaxed_store(&args.rows.mate[u], v);
    relaxed_store(&args.columns.mate[v], u);
    relaxed_store(&args.columns.label[v], least + 1);
    relaxed_store(&args.rows.label[u], least + 2);
    ++counts[PUSHES];
    return loser;
}

// G-PR-PUSHKRN on the listed columns, or G-PR-KRNL on all.
__device__ void push_all(const Arguments& args, GridTeam& team, const RotatingSizes& sizes, State& state,
                         u64 (&counts)[COUNTS]) {
    const u32 loop = static_cast<u32>(state.loop);
    u32* const is_any_active = sizes.of(state.round + 1);
    if (args.has_lists) {
        u32* const current = args.lists[state.which];
        u32* const next = args.lists[1 - state.which];
        for (u32 i = team.thread(); i < state.listed; i += team.num_threads()) {
            const u32 v = relaxed_load(&current[i]);
            u32 loser = NONE;
            bool stays = false;
            if (v != NONE) {
                loser = push(args, v, true, loop, stays, counts);
                if (!stays && relaxed_load(&args.columns.mate[v]) == DEAD) relaxed_store(&current[i], NONE);
            }
            relaxed_store(&next[i], loser);
        }
    } else {
        for (u32 v = team.thread(); v < args.columns.size; v += team.num_threads()) {
            if (!is_active(args, v)) continue;
            relaxed_store(is_any_active, 1u);
            bool stays = false;
            push(args, v, false, loop, stays, counts);
        }
    }
    team.wait([&] {
        const bool goes_on = args.has_lists || sizes.read(state.round + 1) != 0;
        state.end_round();
        state.which = 1 - state.which;
        ++state.loop;
        state.phase = !goes_on                            ? REPAIR
                      : state.loop == state.next_relabel  ? BEGIN_RELABEL
                      : args.has_lists                    ? LIST
                                                          : PUSH;
    });
}

// FIXMATCHING: forgets what columns wrongly believe.
__device__ void repair(const Arguments& args, GridTeam& team, State& state) {
    for (u32 v = team.thread(); v < args.columns.size; v += team.num_threads())
        if (!is_matched(args, v)) relaxed_store(&args.columns.mate[v], NONE);
    team.wait([&] {
        state.end_round();
        state.proves = 1;
        state.phase = *args.stops ? DONE : BEGIN_RELABEL;
    });
}

KERNEL(push_relabel_matching_slice, Arguments) {
    SharedArena arena;
    State& state = *arena.take<State>(1);
    u64* const copy = reinterpret_cast<u64*>(&state);
    GridTeam team(args.arrivals);
    const RotatingSizes sizes{args.counters};
    u64 counts[COUNTS] = {};
    team.wait([&] {
        for (u32 k = 0; k < STATE_WORDS; ++k) copy[k] = relaxed_load(&args.state[k]);
        if (*args.stops) state.phase = REPAIR;
    });
    while (state.phase != DONE && state.rounds_left > 0) {
        const u64 phase = state.phase;
        if (team.is_first()) sizes.clear(state.round + 2);
        if (phase == BEGIN_RELABEL)
            begin_relabel(args, team, state);
        else if (phase == RELABEL)
            relabel_level(args, team, sizes, state);
        else if (phase == RESUME)
            resume(args, team, sizes, state);
        else if (phase == LIST)
            list_active(args, team, sizes, state);
        else if (phase == PUSH)
            push_all(args, team, sizes, state, counts);
        else
            repair(args, team, state);
    }
    team.wait([&] {
        if (blockIdx.x == 0)
            for (u32 k = 0; k < STATE_WORDS; ++k) relaxed_store(&args.state[k], copy[k]);
    });
    for (u32 k = 0; k < COUNTS; ++k) {
        const u64 total = sum_of_warp(counts[k]);
        if (total > 0 && lane_id() == 0) relaxed_fetch_add(&args.counts[k], total);
    }
}
