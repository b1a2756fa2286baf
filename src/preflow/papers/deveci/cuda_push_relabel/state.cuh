// Arguments and state of the kernel. In the paper row_mate and column_mate are mu, the labels psi.
#include "lanes.cuh"
#include "loop_state.cuh"
#include "stop.cuh"
#include "worklist.cuh"

// No partner (-1 in the paper), and a column at which no augmenting path begins (-2).
constexpr u32 NONE = 0xffffffffu, DEAD = 0xfffffffeu;

#include "__init__.py: Phase, MatchingState, Count"
// Whether the blocks that search change a word of the state while the grid is split, and the others do not.
__device__ bool is_of_search(const MatchingState& state, const u64* word) {
    return word == &state.search_level || word == &state.search_round || word == &state.search_is_over ||
           word == &state.levels;
}

#include "__init__.py: Side, Arguments"

constexpr u32 COUNTS = EDGE_SCANS + 1;

__device__ u32 dead_label(const Arguments& args) { return static_cast<u32>(args.rows.size + args.columns.size); }

// Whether a column has its row: other threads may have overwritten what the column stores.
__device__ bool is_matched(const Side& rows, const Side& columns, u32 v) {
    const u32 u = relaxed_load(&columns.mate[v]);
    return u < rows.size && relaxed_load(&rows.mate[u]) == v;
}

__device__ bool is_matched(const Arguments& args, u32 v) { return is_matched(args.rows, args.columns, v); }

__device__ bool is_active(const Arguments& args, u32 v) {
    return relaxed_load(&args.columns.mate[v]) != DEAD && !is_matched(args, v);
}
