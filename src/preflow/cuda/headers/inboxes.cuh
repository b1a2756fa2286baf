// A list for every warp, to which all warps append and from which only its owner takes.
//
// Every vertex has an owner, and stands in its inbox at most once: so a ring with room for all vertices of an
// owner never overflows. A slot is zero until its entry has been stored, and again when that has been taken.
#include "atomics.cuh"

// So many neighbouring vertices have one owner, a power of two; and the room of an inbox, another, is this at least, so
// that each group of lanes of the owner may look at a place of its own.
constexpr u32 OWNED_TOGETHER = 8, LEAST_CAPACITY = 32;

struct Inboxes {
    u32* slots;
    u32* ends;        // entries appended to each inbox so far
    u32 num_owners;
    u32 capacity;     // of an inbox, a power of two

    __device__ u32* slot(u32 owner, u32 place) const {
        return &slots[static_cast<u64>(owner) * capacity + (place & (capacity - 1))];
    }

    // Makes room for `v` in its inbox; the entry is to be stored there.
    __device__ u32* new_slot(u32 v) const {
        const u32 owner = v / OWNED_TOGETHER % num_owners;
        return slot(owner, relaxed_fetch_add(&ends[owner], 1u));
    }

    __device__ void append(u32 v) const { relaxed_store(new_slot(v), v + 1); }

    // The vertex at a place plus one; 0 if there is none yet.
    __device__ u32 look(u32 owner, u32 place) const { return relaxed_load(slot(owner, place)); }

    __device__ void clear(u32 owner, u32 place) const { relaxed_store(slot(owner, place), 0u); }
};

// The memory of inboxes, for as many owners as there are at a time; all are empty when that changes.
struct InboxRoom {
    u32* slots;
    u32* ends;

    // Inboxes of `num_owners` for so many vertices.
    __device__ Inboxes split(u32 num_owners, u64 num_vertices) const {
        const u32 blocks = static_cast<u32>((num_vertices + OWNED_TOGETHER - 1) / OWNED_TOGETHER);
        const u32 most_owned = (blocks + num_owners - 1) / num_owners * OWNED_TOGETHER;
        u32 capacity = LEAST_CAPACITY;
        while (capacity < most_owned) capacity *= 2;
        return {slots, ends, num_owners, capacity};
    }
};
