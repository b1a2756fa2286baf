// The label of a vertex where searches run while flow moves: in one word the number of the last search that reached
// the vertex, above its height. The greatest label stands: so a relabel of a vertex that a later search has reached
// in the meantime changes nothing, and the one search that reaches a vertex first puts its distance there, or one level
// more from a block that is a round ahead.
#include "atomics.cuh"

// Added to the number of vertices, a height: of what cannot reach the sink, and of what is active but waits for a
// search to reach it, in nobody's inbox.
constexpr u32 DEAD = 1, PUT_OFF = 2;

__device__ __forceinline__ u64 label_of(u32 search, u32 height) { return static_cast<u64>(search) << 32 | height; }
__device__ __forceinline__ u32 height_of(u64 label) { return static_cast<u32>(label); }
__device__ __forceinline__ u32 search_of(u64 label) { return static_cast<u32>(label >> 32); }

// When the last searches started and what round it is; a search goes one level a round.
struct Timetable {
    static constexpr u32 SIZE = 512;
    static constexpr u32 SLACK = 3;

    const u64* starts;  // of search s, above which stands s, at s % SIZE
    u32 round;
    u32 finished;       // the last search that has gone as far as it may

    // The entry of a search, if no later one has taken its place.
    __device__ u64 entry_of(u32 search) const { return relaxed_load(&starts[search % SIZE]); }

    // Returns how far a search has come by its entry; 0 if that is not known.
    __device__ u32 level_of(u32 search, u64 entry) const {
        const u32 start = height_of(entry);
        return search_of(entry) == search && start < round ? round - start : 0;
    }

    // Whether the search after the one that put a label, whose entry `next` is, has passed by the height of its vertex
    // without reaching it.
    __device__ bool is_late(u32 search, u64 next, u32 h) const {
        return search < finished || level_of(search + 1, next) > h + SLACK;
    }
};

// The height of a neighbour to a vertex that search `search` has reached, which is now beyond `level`: if it has not
// come to the neighbour, that will be as high at least.
__device__ __forceinline__ u32 height_seen(u64 label, u32 search, u32 level) {
    const u32 height = height_of(label);
    return search_of(label) < search && height < level ? level : height;
}

// The marks of searches: a mark is the label of what is reached next.
struct LabelMarks {
    u64* label;

    __device__ u64 look(u32 v) const { return relaxed_load(&label[v]); }
    __device__ static bool is_new(u64 seen, u64 mark) { return search_of(seen) < search_of(mark); }
    __device__ u64 put(u32 v, u64 mark) const { return relaxed_fetch_max(&label[v], mark); }
};
