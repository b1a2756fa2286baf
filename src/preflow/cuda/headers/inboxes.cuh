// A list for every warp, to which all warps append and from which only its owner takes.
//
// Every vertex has an owner, and stands in its inbox at most once: so a ring with room for all vertices of an
// owner never overflows. A slot is zero until its entry has been stored, and again when that has been taken.
#include "atomics.cuh"

struct Inboxes {
    u32* slots;
    u32* ends;        // entries appended to each inbox so far
    u64 num_owners;
    u64 block_bits;   // 2**block_bits neighbouring vertices have one owner
    u64 capacity;     // of an inbox, a power of two

    // The same for fewer owners, or for as many as there are rooms.
    __device__ Inboxes of(u32 owners) const { return {slots, ends, owners, block_bits, capacity}; }

    __device__ u32* slot(u32 owner, u32 place) const {
        return &slots[owner * capacity + (place & (static_cast<u32>(capacity) - 1))];
    }

    // Makes room for `v` in its inbox; the entry is to be stored there.
    __device__ u32* new_slot(u32 v) const {
        const u32 owner = (v >> block_bits) % static_cast<u32>(num_owners);
        return slot(owner, relaxed_fetch_add(&ends[owner], 1u));
    }

    __device__ void append(u32 v) const { relaxed_store(new_slot(v), v + 1); }

    // The vertex at a place plus one; 0 if there is none yet.
    __device__ u32 look(u32 owner, u32 place) const { return relaxed_load(slot(owner, place)); }

    __device__ void clear(u32 owner, u32 place) const { relaxed_store(slot(owner, place), 0u); }
};
