// The persistent kernel of cuda_multi_source_bfs.py, which has definitions, invariants and pseudo-code. Every parallel
// loop ends at a barrier of the grid. LANES_A_ROW threads read the edges of a row together.
#ifndef LANES_A_ROW
#define LANES_A_ROW 8
#endif

#include "lanes.cuh"
#include "loop_state.cuh"
#include "stop.cuh"
#include "worklist.cuh"

// No partner, no predecessor, no path.
constexpr u32 NONE = 0xffffffffu;
// The edges of a row are listed in pieces of at most EDGES_A_PIECE; different warps may read the pieces of a row.
#include "cuda_multi_source_bfs.py: EDGES_A_PIECE, WORDS_A_PIECE"
// A phase ends when all trees but one in LAST_TREES have found a free column: the last trees wind around all others
// (packed_search.py has measurements).
constexpr u64 LAST_TREES = 10;

// The cheap matching reads at most CHEAP_EDGES edges of a row, and follows at most MOST_DISPLACED displacements that
// begin with one row; the searches match the rest.
constexpr u32 CHEAP_EDGES = 64, MOST_DISPLACED = 1024;

// A piece: edges of a row that the search has reached, in the tree of a free row.
struct alignas(16) Piece {
    u32 first, last;
    u32 row;
    u32 root;
};
static_assert(sizeof(Piece) == WORDS_A_PIECE * sizeof(u32), "the host reserves as much for a piece");

#include "cuda_multi_source_bfs.py: Phase, MultiSourceState"

__device__ bool enough_ended(const MultiSourceState& state) {
    return state.ended > 0 && state.ended * LAST_TREES >= state.trees * (LAST_TREES - 1);
}

struct Arguments {
#include "cuda_multi_source_bfs.py: Arguments._fields"

    __device__ RotatingSizes sizes() const { return RotatingSizes{loop.counters}; }
    __device__ RotatingSizes ended() const { return RotatingSizes{loop.counters + 3 * 32}; }
    __device__ Piece* list(u64 round) const { return pieces + round % 2 * capacity; }
};

// Lists the edges of a row in the tree of `root`, for every lane with `has`. All lanes of the warp call it together.
__device__ void append_row(const Arguments& args, u64 round, bool has, u32 row, u32 root) {
    u32 first = 0, last = 0;
    if (has) {
        first = args.first[row];
        last = args.first[row + 1];
    }
    Piece* const list = args.list(round);
    u32* const size = args.sizes().of(round);
    has = has && first < last;
    const u32 place = new_place(size, has);
    if (!has) return;
    list[place] = {first, min(last, first + EDGES_A_PIECE), row, root};
    if (last - first <= EDGES_A_PIECE) return;
    u32 next = relaxed_fetch_add(size, (last - first - 1) / EDGES_A_PIECE);
    for (u32 at = first + EDGES_A_PIECE; at < last; at += EDGES_A_PIECE)
        list[next++] = {at, min(last, at + EDGES_A_PIECE), row, root};
}

// Finds the cheap matching: the one in which the rows, one after the other, take their first free column. As in
// initial/cheap.py a row may take a column from a later row, which then looks on; at the end each column has the first
// of the rows that want it, in whatever order the threads run.
__device__ void match_cheaply(const Arguments& args, GridTeam& team, MultiSourceState& state) {
    for (u32 start = team.thread(); start < args.num_rows; start += team.num_threads()) {
        u32 row = start, displaced = 0;
        while (row != NONE && displaced < MOST_DISPLACED) {
            const u32 first = args.first[row], last = min(args.first[row + 1], first + CHEAP_EDGES);
            u32 next = NONE;
            for (u32 e = first; e < last; ++e) {
                const u32 column = args.neighbour[e];
                if (relaxed_load(&args.column_mate[column]) <= row) continue;
                const u32 before = relaxed_fetch_min(&args.column_mate[column], row);
                if (before <= row) continue;
                next = before;
                break;
            }
            row = next;
            ++displaced;
        }
    }
    team.wait([] {});
    for (u32 v = team.thread(); v < args.num_columns; v += team.num_threads()) {
        const u32 row = relaxed_load(&args.column_mate[v]);
        if (row != NONE) relaxed_store(&args.row_mate[row], v);
    }
    team.wait([&] {
        end_round(team, state);
        state.phase = BEGIN;
    });
}

__device__ void begin_search(const Arguments& args, GridTeam& team, MultiSourceState& state) {
    for (u32 v = team.thread(); v < args.num_columns; v += team.num_threads())
        relaxed_store(&args.predecessor[v], NONE);
    for (u32 begin = team.warp() * WARP; begin < args.num_rows; begin += team.num_warps() * WARP) {
        const u32 u = begin + lane_id();
        const bool is_free = u < args.num_rows && relaxed_load(&args.row_mate[u]) == NONE;
        if (is_free) relaxed_store(&args.path_end[u], NONE);
        append_row(args, state.round + 1, is_free, u, u);
    }
    team.wait([&] {
        state.size = state.trees = args.sizes().read(state.round + 1);
        state.ended = 0;
        end_round(team, state);
        ++state.phases;
        state.phase = state.size > 0 ? SEARCH : DONE;
    });
}

// Adds a column to a tree unless it is in one. Returns whether the search goes on from its row, `mate`. A free column
// ends the tree; if another column has ended it first, this one is free for other trees again.
__device__ bool reach(const Arguments& args, const Piece& piece, u32 column, u32& mate, u64& ended) {
    mate = relaxed_load(&args.column_mate[column]);
    if (relaxed_load(&args.predecessor[column]) != NONE) return false;
    if (relaxed_compare_exchange(&args.predecessor[column], NONE, piece.row) != NONE) return false;
    if (mate != NONE) return true;
    if (relaxed_compare_exchange(&args.path_end[piece.root], NONE, column) == NONE)
        ++ended;
    else
        relaxed_store(&args.predecessor[column], NONE);
    return false;
}

// Searches from a level. Trees that have reached a free column grow no further.
template <class Team>
__device__ void search_level(const Arguments& args, Team& team, MultiSourceState& state, u64& edge_scans) {
    constexpr u32 ROWS = WARP / LANES_A_ROW;
    const u32 size = static_cast<u32>(state.size);
    const Piece* const list = args.list(state.round);
    u64 ended = 0;
    for (u32 begin = team.warp() * ROWS; begin < size; begin += team.num_warps() * ROWS) {
        const u32 i = begin + lane_id() / LANES_A_ROW;
        const Piece piece = i < size ? list[i] : Piece{0, 0, 0, 0};
        for (u32 e = piece.first + lane_id() % LANES_A_ROW;; e += LANES_A_ROW) {
            const bool looks = e < piece.last && relaxed_load(&args.path_end[piece.root]) == NONE;
            if (__ballot_sync(ALL_LANES, looks) == 0) break;
            u32 mate = NONE;
            const bool grows = looks && reach(args, piece, args.neighbour[e], mate, ended);
            edge_scans += looks;
            append_row(args, state.round + 1, grows, mate, piece.root);
        }
    }
    add_up(args.ended().of(state.round + 1), ended);
    team.wait([&] {
        state.size = args.sizes().read(state.round + 1);
        state.ended += args.ended().read(state.round + 1);
        end_round(team, state);
        if (state.size == 0 || enough_ended(state)) state.phase = state.ended > 0 ? AUGMENT : DONE;
    });
}

__device__ void clear_next(const Arguments& args, const MultiSourceState& state) {
    if (grid_thread() != 0) return;
    args.sizes().clear(state.round + 2);
    args.ended().clear(state.round + 2);
}

// A block that searches alone reads the stop word itself.
struct Alone : BlockTeam {
    const i64* stop;
    u64& next_look;

    __device__ bool is_last(u64 round) const { return GridTeam::listens(round) && sees_stop(stop, next_look); }
};

// Lets the first block search alone as long as levels are small: its own barrier costs less than one of the grid.
__device__ void search_alone(const Arguments& args, GridTeam& team, MultiSourceState& state, u64& edge_scans) {
    team.wait([] {});  // all blocks have read the counters that this block is about to clear
    if (blockIdx.x == 0) {
        Alone alone{{}, args.loop.stop, state.next_look};
        while (state.phase == SEARCH && state.size <= args.few && state.rounds_left > 0) {
            clear_next(args, state);
            search_level(args, alone, state, edge_scans);
        }
        if (threadIdx.x == 0) save_state(args.loop.state, state);
    }
    team.wait([&] { load_state(args.loop.state, state); });
}

// Each root walks back from its free column and matches along the way. No two trees share a column or a row.
__device__ void augment(const Arguments& args, GridTeam& team, MultiSourceState& state) {
    for (u32 root = team.thread(); root < args.num_rows; root += team.num_threads()) {
        if (relaxed_load(&args.row_mate[root]) != NONE) continue;
        u32 column = relaxed_load(&args.path_end[root]);
        while (column != NONE) {
            const u32 row = relaxed_load(&args.predecessor[column]);
            const u32 before = relaxed_load(&args.row_mate[row]);
            relaxed_store(&args.row_mate[row], column);
            relaxed_store(&args.column_mate[column], row);
            column = before;
        }
    }
    team.wait([&] {
        end_round(team, state);
        state.phase = BEGIN;
    });
}

KERNEL(multi_source_bfs_slice, Arguments) {
    u64 edge_scans = 0;
    run_loop<MultiSourceState>(args.loop, DONE, [&](GridTeam& team, MultiSourceState& state) {
        if (state.phase == SEARCH && state.size <= args.few) return search_alone(args, team, state, edge_scans);
        clear_next(args, state);
        if (team.is_first()) watch(team, args.loop.stop, state.round, state.next_look);
        if (state.phase == CHEAP)
            match_cheaply(args, team, state);
        else if (state.phase == BEGIN)
            begin_search(args, team, state);
        else if (state.phase == SEARCH)
            search_level(args, team, state, edge_scans);
        else
            augment(args, team, state);
    });
    add_up(args.loop.counts, edge_scans);
}
