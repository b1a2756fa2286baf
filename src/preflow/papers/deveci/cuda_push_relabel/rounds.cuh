// The parallel loops of Algorithms 3 to 9, each between two barriers of a team of blocks. A thread works on one column,
// or on one row, at a time.
#include "state.cuh"

// INITRELABEL
__device__ void clear_labels(const Side& rows, const Side& columns, u32 dead, const GridTeam& team) {
    for (u32 u = team.thread(); u < rows.size; u += team.num_threads())
        relaxed_store(&rows.label[u], relaxed_load(&rows.mate[u]) == NONE ? 0u : dead);
    for (u32 v = team.thread(); v < columns.size; v += team.num_threads()) relaxed_store(&columns.label[v], dead);
}

__device__ void begin_relabel(const Arguments& args, GridTeam& team, MatchingState& state) {
    clear_labels(args.rows, args.columns, dead_label(args), team);
    team.wait([&] {
        end_round(team, state);
        state.level = 0;
        ++state.relabels;
        state.phase = RELABEL;
    });
}

// GETITERGR; at least one round later, so that a relabel always comes.
__device__ u64 next_relabel(const Arguments& args, const MatchingState& state) {
    const u64 after = args.is_adaptive ? (args.thousandths * state.level + 999) / 1000 : args.interval;
    return state.loop + max(after, 1ull);
}

// G-GR-KRNL: a level of the breadth-first search from the free rows.
__device__ void label_level(const Side& rows, const Side& columns, u32 dead, u32 level, const GridTeam& team,
                            u32* is_added) {
    for (u32 u = team.thread(); u < rows.size; u += team.num_threads()) {
        if (relaxed_load(&rows.label[u]) != level) continue;
        for (u32 e = rows.first[u]; e < rows.first[u + 1]; ++e) {
            const u32 v = rows.neighbour[e];
            if (relaxed_load(&columns.label[v]) != dead) continue;
            relaxed_store(&columns.label[v], level + 1);
            if (!is_matched(rows, columns, v)) continue;
            relaxed_store(&rows.label[relaxed_load(&columns.mate[v])], level + 2);
            relaxed_store(is_added, 1u);
        }
    }
}

__device__ void relabel_level(const Arguments& args, GridTeam& team, const RotatingSizes& added, MatchingState& state) {
    label_level(args.rows, args.columns, dead_label(args), static_cast<u32>(state.level), team,
                added.of(state.round + 1));
    team.wait([&] {
        const bool goes_on = added.read(state.round + 1) != 0;
        end_round(team, state);
        state.level += 2;
        ++state.levels;
        if (goes_on) return;
        state.next_relabel = next_relabel(args, state);
        state.shrinks = args.shrinks;
        state.phase = state.proves || !args.has_lists ? RESUME : LIST;
    });
}

// Lists the active columns for which the last global relabel found a path. Without any, the matching is maximum.
__device__ void resume(const Arguments& args, GridTeam& team, const RotatingSizes& sizes, MatchingState& state) {
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
        end_round(team, state);
        state.phase = state.listed > 0 ? (args.has_lists ? LIST : PUSH) : state.proves ? DONE : REPAIR;
        state.proves = 0;
        state.which = 0;
    });
}

// G-PR-INITKRN, and G-PR-SHRKRN where the list is shortened: columns whose push was overwritten become active again,
// and active columns get a stamp.
__device__ void list_active(const Arguments& args, GridTeam& team, const RotatingSizes& sizes, MatchingState& state) {
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
        end_round(team, state);
        if (shortens) {
            state.listed = active;
            ++state.shortened;
        }
        state.shrinks = 0;
        state.phase = active > 0 ? PUSH : REPAIR;
    });
}

// Pushes column `v` to its lowest row: Algorithms 6 and 9. Returns the column that lost this row, NONE if there is
// none. With `refuses`, a row of a column that is active itself is left alone, and `v` stays.
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
__device__ void push_all(const Arguments& args, GridTeam& team, const RotatingSizes& sizes, MatchingState& state,
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
        end_round(team, state);
        state.which = 1 - state.which;
        ++state.loop;
        const bool is_due = state.loop == state.next_relabel && !state.is_concurrent;
        state.phase = !goes_on            ? REPAIR
                      : !is_due           ? (args.has_lists ? LIST : PUSH)
                      : state.goes_concurrent ? BEGIN_CONCURRENT
                                          : BEGIN_RELABEL;
    });
}

// FIXMATCHING: columns whose row has another column become free.
__device__ void repair(const Arguments& args, GridTeam& team, const RotatingSizes& sizes, MatchingState& state) {
    u64 found = 0;
    for (u32 v = team.thread(); v < args.columns.size; v += team.num_threads()) {
        if (is_matched(args, v)) continue;
        relaxed_store(&args.columns.mate[v], NONE);
        ++found;
    }
    add_up(sizes.of(state.round + 1), found);
    team.wait([&] {
        const u64 free = sizes.read(state.round + 1);
        end_round(team, state);
        state.goes_concurrent = args.search_blocks > 0 && free < state.free;
        state.free = free;
        state.is_concurrent = 0;
        state.proves = 1;
        state.phase = *args.stops ? DONE : BEGIN_RELABEL;
    });
}
