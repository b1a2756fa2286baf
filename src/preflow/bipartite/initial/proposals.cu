// The persistent kernel of proposals.py: in a round every listed row proposes to a free column, then every column takes
// the first of the rows that proposed to it. A warp reads the edges of a row.
#include "lanes.cuh"
#include "loop_state.cuh"
#include "stop.cuh"
#include "worklist.cuh"

// No partner, no proposal.
constexpr u32 NONE = 0xffffffffu;

#include "proposals.py: Phase, ProposalState"

struct Arguments {
#include "proposals.py: Arguments._fields"

    __device__ RotatingSizes sizes() const { return RotatingSizes{loop.counters}; }
    __device__ u32* list(u64 turn) const { return rows + turn % 2 * num_rows; }
};

__device__ void begin(const Arguments& args, GridTeam& team, ProposalState& state) {
    for (u32 v = team.thread(); v < args.num_columns; v += team.num_threads()) relaxed_store(&args.proposer[v], NONE);
    for (u32 base = team.warp() * WARP; base < args.num_rows; base += team.num_warps() * WARP) {
        const u32 u = base + lane_id();
        const bool proposes = u < args.num_rows && relaxed_load(&args.row_mate[u]) == NONE;
        const u32 place = new_place(args.sizes().of(state.round + 1), proposes);
        if (proposes) args.list(0)[place] = u;
    }
    team.wait([&] {
        state.size = args.sizes().read(state.round + 1);
        end_round(team, state);
        state.phase = state.size > 0 ? PROPOSE : DONE;
    });
}

// A pseudo-random number, at which a row begins to read its edges: where many rows have the same columns in the same
// order, they would all propose to the first one.
__device__ u32 mix(u32 row, u32 turn) {
    u32 x = row * 0x9e3779b1u + turn * 0x85ebca6bu;
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}

__device__ void propose(const Arguments& args, GridTeam& team, ProposalState& state) {
    const u32* const list = args.list(state.turns);
    for (u32 i = team.warp(); i < state.size; i += team.num_warps()) {
        const u32 row = list[i], first = args.first[row], degree = args.first[row + 1] - first;
        const u32 start = degree > 0 ? mix(row, static_cast<u32>(state.turns)) % degree : 0;
        u32 choice = NONE;
        for (u32 k = 0; k < degree && choice == NONE; k += WARP) {
            const u32 at = k + lane_id();
            u32 column = NONE;
            if (at < degree) {
                const u32 turned = at < degree - start ? start + at : at - (degree - start);
                column = args.neighbour[first + turned];
                if (relaxed_load(&args.column_mate[column]) != NONE) column = NONE;
            }
            const u32 finders = __ballot_sync(ALL_LANES, column != NONE);
            if (finders != 0) choice = __shfl_sync(ALL_LANES, column, __ffs(finders) - 1);
        }
        if (lane_id() == 0) {
            args.choice[row] = choice;
            if (choice != NONE) relaxed_fetch_min(&args.proposer[choice], row);
        }
    }
    team.wait([&] {
        end_round(team, state);
        state.phase = TAKE;
    });
}

// Matches every column with its proposer. Rows that were not taken propose again; rows without a free column do not.
__device__ void take(const Arguments& args, GridTeam& team, ProposalState& state) {
    const u32* const list = args.list(state.turns);
    u32* const next = args.list(state.turns + 1);
    for (u32 base = team.warp() * WARP; base < state.size; base += team.num_warps() * WARP) {
        const u32 i = base + lane_id();
        const u32 row = i < state.size ? list[i] : NONE;
        const u32 column = row == NONE ? NONE : args.choice[row];
        const bool is_taken = column != NONE && relaxed_load(&args.proposer[column]) == row;
        if (is_taken) {
            relaxed_store(&args.row_mate[row], column);
            relaxed_store(&args.column_mate[column], row);
        }
        const bool proposes = column != NONE && !is_taken;
        const u32 place = new_place(args.sizes().of(state.round + 1), proposes);
        if (proposes) next[place] = row;
    }
    team.wait([&] {
        state.size = args.sizes().read(state.round + 1);
        end_round(team, state);
        ++state.turns;
        state.phase = state.size > 0 ? PROPOSE : DONE;
    });
}

KERNEL(proposals_slice, Arguments) {
    run_loop<ProposalState>(args.loop, DONE, [&](GridTeam& team, ProposalState& state) {
        if (team.is_first()) {
            args.sizes().clear(state.round + 2);
            watch(team, args.loop.stop, state.round, state.next_look);
        }
        if (state.phase == BEGIN)
            begin(args, team, state);
        else if (state.phase == PROPOSE)
            propose(args, team, state);
        else
            take(args, team, state);
    });
}
