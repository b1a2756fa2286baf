// The kernels of on_gpu.py: what is left of every input arc's capacity, and so its flow.
#include "input_arcs.cuh"

// Where input arcs find out what is left of their capacity. The places of all: residual arcs, vertices with arcs
// from the source, vertices with arcs to the sink.
struct Left {
    const Arc* arcs;
    u64 num_arcs;
    const i64* returned;       // of what the source could send to a vertex
    const i64* sink_residual;
    const u32* arc;            // the residual arc of each input arc

    __device__ i64 at(u64 place, u64 num_inner) const {
        if (place < num_arcs) return arcs[place].residual;
        place -= num_arcs;
        return place < num_inner ? returned[place] : sink_residual[place - num_inner];
    }
};

constexpr u64 NOWHERE = ~0ull;        // the capacity carries nothing
constexpr u64 STRAIGHT = NOWHERE - 1; // from a source to a sink: all of the capacity is used

__device__ u64 place_of(const InputArcs& input, const Left& left, u64 i, bool backward) {
    const Ends ends = input.ends(i, backward);
    const u64 source = input.num_inner, sink = source + 1;
    if (input.is_inside(ends)) return backward ? left.arcs[left.arc[i]].reverse : left.arc[i];
    if (ends.tail == source && ends.head < source) return left.num_arcs + ends.head;
    if (ends.tail < source && ends.head == sink) return left.num_arcs + source + ends.tail;
    return ends.tail == source && ends.head == sink ? STRAIGHT : NOWHERE;
}

struct SeenArguments {
    InputArcs input;
    Left left;
    const i64* amount;
    u64 backward;
    u32* seen;      // a bit for every place: an input arc has capacity there
    u32* shared;    // two have
};

KERNEL(find_shared, SeenArguments) {
    for (u64 i = grid_thread(); i < args.input.num_arcs; i += grid_threads()) {
        const u64 place = args.amount[i] > 0 ? place_of(args.input, args.left, i, args.backward) : NOWHERE;
        if (place >= STRAIGHT) continue;
        const u32 bit = 1u << place % 32;
        if (relaxed_fetch_or(&args.seen[place / 32], bit) & bit) relaxed_fetch_or(&args.shared[place / 32], bit);
    }
}

struct FlowArguments {
    InputArcs input;
    Left left;
    const i64* amount;
    u64 backward;
    const u32* shared;
    u64 num_words;     // of `shared`; 0 if nothing is
    u8* waits;         // for an arc whose place is shared: its flow is yet to be added
    i64* flow;
};

KERNEL(add_flow, FlowArguments) {
    for (u64 i = grid_thread(); i < args.input.num_arcs; i += grid_threads()) {
        const i64 amount = args.amount[i];
        const u64 place = amount > 0 ? place_of(args.input, args.left, i, args.backward) : NOWHERE;
        const bool waits = args.num_words > 0 && place < STRAIGHT && args.shared[place / 32] >> place % 32 & 1;
        if (args.num_words > 0) args.waits[i] = waits;
        if (waits || place == NOWHERE) continue;
        const i64 left = place == STRAIGHT ? 0 : min(amount, args.left.at(place, args.input.num_inner));
        args.flow[i] += args.backward ? left - amount : amount - left;
    }
}

struct PlacesArguments {
    InputArcs input;
    Left left;
    u64 backward;
    const i64* entry;   // input arcs
    u64 num_entries;
    u64* place;
    i64* left_there;
};

KERNEL(find_places, PlacesArguments) {
    for (u64 k = grid_thread(); k < args.num_entries; k += grid_threads()) {
        const u64 place = place_of(args.input, args.left, static_cast<u64>(args.entry[k]), args.backward);
        args.place[k] = place;
        args.left_there[k] = args.left.at(place, args.input.num_inner);
    }
}
