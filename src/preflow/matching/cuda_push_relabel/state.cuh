// What the kernel of cuda_push_relabel.cu works on and where it stands. mu is row_mate and column_mate here, psi the
// labels.
#include "lanes.cuh"
#include "stop.cuh"
#include "worklist.cuh"

// No partner (-1 in the paper), and a column that no augmenting path begins at (-2).
constexpr u32 NONE = 0xffffffffu, DEAD = 0xfffffffeu;

enum Phase : u64 { BEGIN_RELABEL, RELABEL, RESUME, LIST, PUSH, REPAIR, BEGIN_BESIDE, TAKE_OVER, DONE };

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
    u64 relabels, shortened;
    u64 free;          // columns without a row, as of the last repair
    u64 goes_beside;   // whether relabels run beside pushes: not after pushes that matched no more columns
    u64 is_beside;     // whether one does
    u64 partings;      // how often the grid has parted in two
    u64 taken_over;    // relabels that ran beside pushes
    u64 next_look;     // whether to stop
    // What the blocks change that search, while the grid is parted: the level of the relabel beside, barriers so far,
    // and whether it is over; and the levels of all relabels.
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
    Sides searched_rows;   // what a relabel beside pushes sees: a copy of the matching, labels of its own
    Sides searched_columns;
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
    u64 search_blocks;     // that relabel beside pushes, zero if none do
    const u32* stops;      // not zero: only make what there is a matching
    const i64* stop;       // what the host asks for
};

enum Count : u32 { PUSHES, EDGE_SCANS, COUNTS };

__device__ u32 dead_label(const Arguments& args) { return static_cast<u32>(args.rows.size + args.columns.size); }

// Whether a column has a row that has it: other threads may have overwritten what the column believes.
__device__ bool is_matched(const Sides& rows, const Sides& columns, u32 v) {
    const u32 u = relaxed_load(&columns.mate[v]);
    return u < rows.size && relaxed_load(&rows.mate[u]) == v;
}

__device__ bool is_matched(const Arguments& args, u32 v) { return is_matched(args.rows, args.columns, v); }

__device__ bool is_active(const Arguments& args, u32 v) {
    return relaxed_load(&args.columns.mate[v]) != DEAD && !is_matched(args, v);
}
