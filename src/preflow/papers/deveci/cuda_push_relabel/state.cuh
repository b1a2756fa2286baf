// Arguments and state of the kernel. In the paper row_mate and column_mate are mu, the labels psi.
#include "lanes.cuh"
#include "stop.cuh"
#include "worklist.cuh"

// No partner (-1 in the paper), and a column at which no augmenting path begins (-2).
constexpr u32 NONE = 0xffffffffu, DEAD = 0xfffffffeu;

enum Phase : u64 { BEGIN_RELABEL, RELABEL, RESUME, LIST, PUSH, REPAIR, BEGIN_CONCURRENT, TAKE_OVER, DONE };

// The state of the loop. Each block has a copy, which its first thread changes between the two halves of a barrier;
// between two launches the state is in device memory.
struct State {
    u64 phase;
    u64 rounds_left;   // barriers left of this launch
    u64 round;         // barriers so far; selects one of the rotating counters
    u64 loop;          // rounds of pushes so far
    u64 next_relabel;  // value of `loop` at which the next global relabel is due
    u64 level;
    u64 shrinks;       // whether to shorten the list of active columns
    u64 proves;        // whether no column was active and a global relabel is to confirm it
    u64 listed;        // length of both lists
    u64 which;         // index of the list that is A_c
    u64 relabels, shortened;
    u64 free;          // columns without a row at the last repair
    u64 goes_concurrent;  // whether relabels run concurrently: not after pushes that matched no more columns
    u64 is_concurrent;    // whether one does now
    u64 splits;        // how often the grid was split in two
    u64 taken_over;    // concurrent relabels whose labels were used
    u64 next_look;     // when to read the stop word again
    // The blocks that search change these while the grid is split: the level of the concurrent relabel, its barriers so
    // far, whether it is over; and the number of levels of all relabels.
    u64 search_level, search_round, search_is_over, levels;

    template <class Team>
    __device__ void end_round(const Team& team) {
        rounds_left = team.is_last(round) ? 0 : rounds_left - min(rounds_left, 1ull);
        ++round;
    }
};
constexpr u32 STATE_WORDS = sizeof(State) / sizeof(u64), SEARCH_WORDS = 4;

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
    Sides searched_rows;   // for a concurrent relabel: a copy of the matching, separate labels
    Sides searched_columns;
    u32* lists[2];         // A_c and A_p, alternating
    u32* shortened;
    u32* stamp;            // i_A: the last value of `loop` at which a column was active
    u32* arrivals;
    u32* counters;
    u64* state;
    u64* counts;
    u64 has_lists;         // G-PR-NoShr and G-PR-Shr; otherwise G-PR-First
    u64 shrinks;           // G-PR-Shr
    u64 least_to_shrink;
    u64 is_adaptive;       // whether a relabel is due after `thousandths` / 1000 rounds per level of the last one,
    u64 thousandths;
    u64 interval;          // or after `interval` rounds of pushes
    u64 search_blocks;     // number of blocks for concurrent relabels
    const u32* stops;      // not zero: repair the matching and end
    const i64* stop;       // the stop word of the host
};

enum Count : u32 { PUSHES, EDGE_SCANS, COUNTS };

__device__ u32 dead_label(const Arguments& args) { return static_cast<u32>(args.rows.size + args.columns.size); }

// Whether a column has its row: other threads may have overwritten what the column stores.
__device__ bool is_matched(const Sides& rows, const Sides& columns, u32 v) {
    const u32 u = relaxed_load(&columns.mate[v]);
    return u < rows.size && relaxed_load(&rows.mate[u]) == v;
}

__device__ bool is_matched(const Arguments& args, u32 v) { return is_matched(args.rows, args.columns, v); }

__device__ bool is_active(const Arguments& args, u32 v) {
    return relaxed_load(&args.columns.mate[v]) != DEAD && !is_matched(args, v);
}
