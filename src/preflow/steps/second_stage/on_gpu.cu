// The kernels of on_gpu.py: the capacity left on every input arc, and hence its flow.
#include "input_arcs.cuh"

struct Left {
#include "on_gpu.py: Left._fields"

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

#include "on_gpu.py: SeenArguments, FlowArguments, PlacesArguments"

KERNEL(find_shared, SeenArguments) {
    for (u64 i = grid_thread(); i < args.input.num_arcs; i += grid_threads()) {
        const u64 place = args.amount[i] > 0 ? place_of(args.input, args.left, i, args.backward) : NOWHERE;
        if (place >= STRAIGHT) continue;
        const u32 bit = 1u << place % 32;
        if (relaxed_fetch_or(&args.seen[place / 32], bit) & bit) relaxed_fetch_or(&args.shared[place / 32], bit);
    }
}

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

KERNEL(find_places, PlacesArguments) {
    for (u64 k = grid_thread(); k < args.num_entries; k += grid_threads()) {
        const u64 place = place_of(args.input, args.left, static_cast<u64>(args.entry[k]), args.backward);
        args.place[k] = place;
        args.left_there[k] = args.left.at(place, args.input.num_inner);
    }
}
