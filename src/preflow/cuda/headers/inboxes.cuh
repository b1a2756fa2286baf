// An inbox for every warp: a list to which all warps append and from which only its owner takes.
//
// Every vertex has an owner and is in the owner's inbox at most once, so a ring with room for all vertices of an
// owner never overflows. A slot is zero before an entry is stored in it and after the entry is taken.
#include "atomics.cuh"

// The number of neighbouring vertices that have one owner, and the least room of an inbox, so that each group of
// lanes of the owner can read a place of its own. Both are powers of two.
#include "maxflow/cuda_push_relabel/__init__.py: OWNED_TOGETHER, LEAST_CAPACITY"

struct Inboxes {
    u32* slots;
    u32* ends;        // entries appended to each inbox so far
    u32 num_owners;
    u32 owners_inverse;  // 2**32 over the number of owners
    u32 capacity;     // of an inbox, a power of two

    __device__ u32 owner_of(u32 v) const {
        const u32 x = v / OWNED_TOGETHER;
        const u32 owner = x - __umulhi(x, owners_inverse) * num_owners;  // at most num_owners too large
        return owner < num_owners ? owner : owner - num_owners;
    }

    // The slot of a place. There are fewer than 2**32 slots, since there are fewer than two for each vertex.
    __device__ u32* slot(u32 owner, u32 place) const { return &slots[owner * capacity + (place & (capacity - 1))]; }

    // Reserves a place for `v` in its owner's inbox; the caller fills it.
    __device__ u32 new_place(u32 v) const { return relaxed_fetch_add(&ends[owner_of(v)], 1u); }
    __device__ void fill(u32 v, u32 place) const { relaxed_store(slot(owner_of(v), place), v + 1); }

    __device__ void append(u32 v) const { fill(v, new_place(v)); }

    // Returns the vertex at a place plus one; 0 if there is none yet.
    __device__ u32 look(u32 owner, u32 place) const { return relaxed_load(slot(owner, place)); }

    // Empties a place and returns its entry. A thread that has the entry knows that the place is empty.
    __device__ u32 take(u32 owner, u32 place) const { return relaxed_fetch_and(slot(owner, place), 0u); }

    __device__ void clear(u32 owner, u32 place) const { relaxed_store(slot(owner, place), 0u); }
};

// The memory of the inboxes. The number of owners may change while all inboxes are empty.
struct InboxRoom {
#include "maxflow/cuda_push_relabel/__init__.py: InboxRoom._fields"

    // Returns the inboxes of `num_owners` owners for `num_vertices` vertices.
    __device__ Inboxes split(u32 num_owners, u64 num_vertices) const {
        const u32 blocks = static_cast<u32>((num_vertices + OWNED_TOGETHER - 1) / OWNED_TOGETHER);
        const u32 most_owned = (blocks + num_owners - 1) / num_owners * OWNED_TOGETHER;
        u32 capacity = LEAST_CAPACITY;
        while (capacity < most_owned) capacity *= 2;
        const u32 inverse = num_owners == 1 ? 0xffffffffu : static_cast<u32>((1ull << 32) / num_owners);
        return {slots, ends, num_owners, inverse, capacity};
    }
};
