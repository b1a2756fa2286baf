// Labels for searches that run while flow moves. A label is one word: the number of the last search that reached the
// vertex, above its height. Labels are raised by an atomic maximum. So a relabel of a vertex that a later search has
// reached in the meantime changes nothing. The first thread of a search to reach a vertex sets its distance; from a
// block that is a round ahead the distance may be one level too large.
#include "atomics.cuh"

// Added to the number of vertices these give the heights of a vertex that cannot reach the sink, and of a vertex that
// is put off: it is active but in nobody's inbox, and waits for a search to reach it.
constexpr u32 DEAD = 1, PUT_OFF = 2;

__device__ __forceinline__ u64 label_of(u32 search, u32 height) { return static_cast<u64>(search) << 32 | height; }
__device__ __forceinline__ u32 height_of(u64 label) { return static_cast<u32>(label); }
__device__ __forceinline__ u32 search_of(u64 label) { return static_cast<u32>(label >> 32); }

// The rounds in which the last searches started, and the current round; a search advances one level a round.
struct Timetable {
    static constexpr u32 SIZE = 512;
    static constexpr u32 SLACK = 3;

    const u64* starts;  // at s % SIZE the start round of search s, with s in the upper half
    u32 round;
    u32 finished;       // the last search that has gone as far as it may

    // Returns the entry of a search, or of a later one that has replaced it.
    __device__ u64 entry_of(u32 search) const { return relaxed_load(&starts[search % SIZE]); }

    // Returns the level that a search has reached, by its entry; 0 if that is not known.
    __device__ u32 level_of(u32 search, u64 entry) const {
        const u32 start = height_of(entry);
        return search_of(entry) == search && start < round ? round - start : 0;
    }

    // Returns whether the next search, whose entry is `next`, has passed height `h` without reaching a vertex of that
    // height.
    __device__ bool is_late(u32 search, u64 next, u32 h) const {
        return search < finished || level_of(search + 1, next) > h + SLACK;
    }
};

// Returns the height of a neighbour as a vertex sees it that search `search` has reached. That search is now beyond
// `level`. If it has not reached the neighbour, the neighbour's distance is at least `level`.
__device__ __forceinline__ u32 height_seen(u64 label, u32 search, u32 level) {
    const u32 height = height_of(label);
    return search_of(label) < search && height < level ? level : height;
}

// Marks of searches whose mark is the label of the vertices that are reached next.
struct LabelMarks {
    u64* label;

    __device__ u64 look(u32 v) const { return relaxed_load(&label[v]); }
    __device__ static bool is_new(u64 seen, u64 mark) { return search_of(seen) < search_of(mark); }
    __device__ u64 put(u32 v, u64 mark) const { return relaxed_fetch_max(&label[v], mark); }
};
