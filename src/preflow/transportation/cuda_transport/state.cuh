// Arguments, the arrays of one item, and the blocks that solve it together.
#include "dense_costs.cuh"
#include "lanes.cuh"
#include "stop.cuh"

// WIDE 0: an item has fewer than 2**16 vertices. WIDE 1: numbers of vertices have 32 bits.
#ifndef WIDE
#define WIDE 0
#endif
// What the block that pivots keeps in shared memory. 0: nothing; 1: nodes and places; 2: and prices; 3: and flows.
#ifndef KEPT
#define KEPT 3
#endif

// Threads of a block, and pairs that each of them lists.
#ifndef THREADS
#define THREADS 512
#endif
#ifndef LISTED
#define LISTED 4
#endif

#if WIDE
using Half = u32;
#else
using Half = unsigned short;
#endif
constexpr u32 NO_PLACE = static_cast<Half>(~Half{0});

// A vertex of the tree, stored at its place in a preorder. Its subtree has the places from its own up to `end`.
struct alignas(4 * sizeof(Half)) Node {
    Half vertex, end, depth;
    Half moved;  // its next place, while a subtree moves
};
// Places of a subtree.
struct alignas(2 * sizeof(Half)) Range {
    Half begin, end;
    __device__ __forceinline__ bool holds(u32 place) const { return begin <= place && place < end; }
    __device__ __forceinline__ u32 size() const { return static_cast<u32>(end) - begin; }
};

constexpr u32 NONE = 0xffffffffu;
// The level of a column that takes no more mass. Costs and prices are below 2**60 in size.
constexpr i64 FAR = i64{1} << 61;
constexpr float NO_COST = 1e37f;

// How the last launch of an item ended: it has not begun; there are smoothed prices, or the host's tree; in the middle of
// the pivots; with a proof. In a launch: GOING with prices in single precision, until no pair seems better than the tree;
// then PROVING.
enum State : u64 { NEW, OVER, OPTIMAL, STOPPED, GOING, PROVING, SMOOTHED, STARTED };
// Words of an item: its state after the launch and within it, signals of its first block, and counts. HALT is the number
// of the barrier after which the solve ends, or 0.
enum ItemWord : u32 { ENDING, STATE, HALT, OPEN_ROWS, PIVOTS, PRICINGS, WORDS = 8 };
// A cycle of up to this many vertices is in shared memory.
constexpr u32 SHORT_CYCLE = 1024;
constexpr u32 SCRATCH_BYTES = 4096 + 3 * SHORT_CYCLE * sizeof(Half);

struct Float2 {
    float most, sum;
};

// Arrays have one part for each item. A vertex is a row, or num_rows plus a column.
struct Arguments {
    Costs costs;
    u64 num_items, num_rows, num_columns;
    u64 blocks_an_item;
    u64 parts;         // pieces of a row that are priced apart
    u64 chunks;        // groups of rows that are smoothed apart
    u64 temperatures;
    u64 steps;         // at each temperature
    u64 hottest;       // word of the first temperature, a float64
    u64 cooling;       // word of the factor from one temperature to the next
    u64 percent;       // pivots follow one pricing while the best pair is at least as good as this part of the first one
    u64 pivots;        // most pivots of a launch
    u64 pauses;        // 1: the launch ends with smoothed prices
    u64 room;          // nodes that move and fit shared memory; the others are in `stage`
    const i64* mass;
    const i64* root;   // a row with mass, or -1
    Node* nodes;       // by place
    Half* place;       // of a vertex; NO_PLACE: not in the tree
    i64* price;
    i64* flow;         // on the arc between a vertex and its parent
    Half* name;        // of the vertices on a cycle
    Range* range;      // their subtrees
    Node* stage;       // nodes that move
    i64* excess;       // of rows
    i64* left;         // masses that columns still take
    i64* level;        // prices of columns, or -FAR
    i64* value;        // of the best pair of each part of a row
    u32* partner;      // its column
    u64* bid;          // the best bid for a column
    u32* parent;       // of a vertex, or NONE
    u32* depth;
    u32* size;         // of its subtree
    float* smooth;     // potentials of vertices
    Float2* partial;
    u64* words;
    u32* arrivals;     // of the team, 32 words for each
    const i64* stop;

    __device__ u64 num_vertices() const { return num_rows + num_columns; }
    __device__ Arguments part(u64 item) const {
        Arguments part = *this;
        const u64 vertices = item * num_vertices(), rows = item * num_rows, columns = item * num_columns;
        part.costs = costs.part(item, num_rows);
        part.mass += vertices, part.root += item;
        part.nodes += vertices, part.place += vertices, part.stage += vertices;
        part.price += vertices, part.flow += vertices, part.name += vertices, part.range += vertices;
        part.excess += rows, part.left += columns, part.level += columns, part.bid += columns;
        part.value += rows * parts, part.partner += rows * parts;
        part.parent += vertices, part.depth += vertices, part.size += vertices;
        part.smooth += vertices, part.partial += columns * chunks;
        part.words += item * WORDS;
        return part;
    }
};

// A number of each warp, from which all warps of the block find the best.
struct Slot {
    u64 key;
    u32 second;
    union {
        struct {
            u32 row, column;
        };
        struct {
            u32 place, end, depth;  // of the vertex whose pair leaves
            u32 top;                // the least depth on the cycle
        };
    };
};
struct Scratch {
    Arguments args;
    Slot slots[2][WARP];
    u64 numbers[2][WARP];
    u32 is_halted, open_rows;
    u64 state;
    Half name[SHORT_CYCLE];
    Range range[SHORT_CYCLE];
};
static_assert(sizeof(Scratch) <= SCRATCH_BYTES, "SCRATCH_BYTES of the Python file too");

// The blocks that solve one item together. The first of them builds the tree and pivots.
struct Team {
    GridTeam grid;
    Scratch& scratch;
    u64 next_look = 0;
    u64 meetings = 0;
    u32 turn = 0;

    __device__ bool leads() const { return grid.block() == 0; }
    // A barrier; returns whether the solve goes on. All blocks end at the same barrier: a block that is late at the one
    // before may see the signal already, and goes on to it.
    __device__ bool meet(const Arguments& args) {
        ++meetings;
        if (grid.is_first() && sees_stop(args.stop, next_look)) relaxed_store(&args.words[HALT], meetings);
        grid.wait([&] {
            const u64 halt = relaxed_load(&args.words[HALT]);
            scratch.is_halted = halt != 0 && halt <= meetings;
            scratch.open_rows = static_cast<u32>(relaxed_load(&args.words[OPEN_ROWS]));
            scratch.state = relaxed_load(&args.words[STATE]);
        });
        return !scratch.is_halted;
    }
    // The least number of all threads of the block, which all of them call.
    __device__ u64 least_of_block(u64 number) {
        u64* const numbers = scratch.numbers[turn];
        turn ^= 1;
        number = ~greatest_of_warp(~number);
        if (lane_id() == 0) numbers[threadIdx.x / WARP] = number;
        __syncthreads();
        return ~greatest_of_warp(~(lane_id() < blockDim.x / WARP ? numbers[lane_id()] : ~u64{0}));
    }
    __device__ bool any_of_block(bool vote) { return least_of_block(vote ? 0 : 1) == 0; }
    __device__ u64 sum_of_block(u64 number) {
        u64* const numbers = scratch.numbers[turn];
        turn ^= 1;
        number = sum_of_warp(number);
        if (lane_id() == 0) numbers[threadIdx.x / WARP] = number;
        __syncthreads();
        return sum_of_warp(lane_id() < blockDim.x / WARP ? numbers[lane_id()] : u64{0});
    }
};

// Rows and columns of which a thread loads the costs together.
constexpr u32 ROWS_AT_ONCE = 4, AT_ONCE = 8;
