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
// Bytes of a block's shared memory besides arrays of vertices.
#ifndef SCRATCH_BYTES
#define SCRATCH_BYTES 16384
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
// Words of an item: its state after the launch and within it, signals of its first block, and counts. HALT is the number
// of the barrier after which the solve ends, or 0.
#include "__init__.py: State, ItemWord, WORDS"
// A cycle of up to this many vertices is in shared memory.
constexpr u32 SHORT_CYCLE = 1024;

struct Float2 {
    float most, sum;
};

// Arrays have one part for each item. A vertex is a row, or num_rows plus a column.
struct Arguments {
#include "__init__.py: Arguments._fields"

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
static_assert(sizeof(Scratch) <= SCRATCH_BYTES, "the host reserves as much");

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
