// The kernels of on_gpu.py: the capacity left on every input arc, and hence its flow.
#include "input_arcs.cuh"

// The capacities that are left. A place is the number of a residual arc, or behind those a vertex for its arc from the
// source, or behind those a vertex for its arc to the sink.
struct Left {
    const Arc* arcs;
    u64 num_arcs;
    const i64* returned;       // capacity left from the source to each vertex
    const i64* sink_residual;
    const u32* arc;            // the residual arc of each input arc

    __device__ i64 at(u64 place, u64 num_inner) const {
        if (place < num_arcs) return arcs[place].residual;
        place -= num_arcs;
        return place < num_inner ? returned[place] : sink_residual[place - num_inner];
    }
};

constexpr u64 NOWHERE = ~0ull;        // an arc that carries no flow
constexpr u64 STRAIGHT = NOWHERE - 1; // an arc from a source to a sink: its capacity is used up

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
    u32* seen;      // a bit for every place: at least one input arc has capacity there
    u32* shared;    // a bit for every place: at least two have
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
    u64 num_words;     // of `shared`; 0 if no place is shared
    u8* waits;         // whether an arc's place is shared, so that its flow is added later
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
