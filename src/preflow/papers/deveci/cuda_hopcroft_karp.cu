// The persistent kernel of cuda_hopcroft_karp.py, which has definitions, invariants and pseudo-code. Every parallel
// loop ends at a barrier of the grid. A thread works on one column, or on one row, at a time.
#include "lanes.cuh"
#include "loop_state.cuh"
#include "stop.cuh"
#include "worklist.cuh"

// No partner, no predecessor; and a column that the search has not reached.
constexpr u32 NONE = 0xffffffffu;

#include "cuda_hopcroft_karp.py: Phase, HopcroftKarpState"

#include "cuda_hopcroft_karp.py: Arguments"

__device__ void begin_search(const Arguments& args, GridTeam& team, HopcroftKarpState& state) {
    for (u32 u = team.thread(); u < args.num_rows; u += team.num_threads()) relaxed_store(&args.predecessor[u], NONE);
    for (u32 v = team.thread(); v < args.num_columns; v += team.num_threads()) {
        const bool is_free = relaxed_load(&args.column_mate[v]) == NONE;
        relaxed_store(&args.level[v], is_free ? 0u : NONE);
        relaxed_store(&args.root[v], v);
        relaxed_store(&args.has_path[v], 0u);
    }
    team.wait([&] {
        end_round(team, state);
        state.level = state.has_found = 0;
        ++state.phases;
        state.phase = SEARCH;
    });
}

// Searches from the columns of a level. If threads reach a row at the same time, the predecessor that one of them wrote
// stays. Trees that have reached a free row grow no further.
__device__ void search_level(const Arguments& args, GridTeam& team, const RotatingSizes& found,
                             HopcroftKarpState& state, u64& edge_scans) {
    constexpr u32 GROWS = 1, FINDS = 2;
    const u32 level = static_cast<u32>(state.level);
    u32 outcome = 0;
    for (u32 v = team.thread(); v < args.num_columns; v += team.num_threads()) {
        if (relaxed_load(&args.level[v]) != level) continue;
        const u32 root = relaxed_load(&args.root[v]);
        for (u32 e = args.first[v]; e < args.first[v + 1] && relaxed_load(&args.has_path[root]) == 0; ++e) {
            const u32 u = args.neighbour[e];
            ++edge_scans;
            if (relaxed_load(&args.predecessor[u]) != NONE) continue;
            const u32 mate = relaxed_load(&args.row_mate[u]);
            if (mate == NONE) {
                relaxed_store(&args.predecessor[u], v);
                relaxed_store(&args.has_path[root], 1u);
                outcome |= FINDS;
            } else if (relaxed_load(&args.level[mate]) == NONE) {
                relaxed_store(&args.predecessor[u], v);
                relaxed_store(&args.root[mate], root);
                relaxed_store(&args.level[mate], level + 1);
                outcome |= GROWS;
            }
        }
    }
    if (outcome != 0) relaxed_fetch_or(found.of(state.round + 1), outcome);
    team.wait([&] {
        const u32 all = found.read(state.round + 1);
        end_round(team, state);
        state.has_found |= (all & FINDS) != 0;
        ++state.level;
        const bool goes_on = (all & GROWS) != 0 && !(args.is_shortest && state.has_found);
        state.phase = goes_on ? SEARCH : state.has_found ? AUGMENT : DONE;
    });
}

// Walks back from every free row that was reached, and gives each row on the way to its predecessor. Two walks may
// meet: a column whose row was reached from it was taken by another walk in this phase, and the rest of the way belongs
// to that one. If two walks take a column at the same time, one of them is overwritten. No column loses its row, so the
// matching grows by at least one, though rows may be left over.
__device__ void augment(const Arguments& args, GridTeam& team, HopcroftKarpState& state) {
    for (u32 start = team.thread(); start < args.num_rows; start += team.num_threads()) {
        if (relaxed_load(&args.row_mate[start]) != NONE) continue;
        u32 u = start;
        while (u != NONE) {
            const u32 v = relaxed_load(&args.predecessor[u]);
            if (v == NONE) break;
            const u32 before = relaxed_load(&args.column_mate[v]);
            if (before != NONE && relaxed_load(&args.predecessor[before]) == v) break;
            relaxed_store(&args.column_mate[v], u);
            u = before;
        }
    }
    team.wait([&] {
        end_round(team, state);
        state.phase = REPAIR;
    });
}

// Sets the column of every row: the column that has it now, if there is one.
__device__ void repair(const Arguments& args, GridTeam& team, HopcroftKarpState& state) {
    for (u32 u = team.thread(); u < args.num_rows; u += team.num_threads()) {
        const u32 v = relaxed_load(&args.predecessor[u]), mate = relaxed_load(&args.row_mate[u]);
        u32 now = NONE;
        if (v != NONE && relaxed_load(&args.column_mate[v]) == u)
            now = v;
        else if (mate != NONE && relaxed_load(&args.column_mate[mate]) == u)
            now = mate;
        relaxed_store(&args.row_mate[u], now);
    }
    team.wait([&] {
        end_round(team, state);
        state.phase = BEGIN;
    });
}

KERNEL(hopcroft_karp_slice, Arguments) {
    const RotatingSizes found{args.loop.counters};
    u64 edge_scans = 0;
    const auto round = [&](GridTeam& team, HopcroftKarpState& state) {
        if (team.is_first()) {
            found.clear(state.round + 2);
            watch(team, args.loop.stop, state.round, state.next_look);
        }
        if (state.phase == BEGIN)
            begin_search(args, team, state);
        else if (state.phase == SEARCH)
            search_level(args, team, found, state, edge_scans);
        else if (state.phase == AUGMENT)
            augment(args, team, state);
        else
            repair(args, team, state);
    };
    // A launch does not end between walks and repair, so that the arrays always hold a matching.
    run_loop<HopcroftKarpState>(args.loop, DONE, round, REPAIR);
    add_up(args.loop.counts, edge_scans);
}
