// Which tiles have something to do: lists for discharges, a queue for searches.
#include "tile_state.cuh"

constexpr u32 NUM_LISTS = 3 * MOST_COLORS;
// Counters, each with a line of memory: a list's size, and what the queue counts.
constexpr u32 COUNTERS = NUM_LISTS + 4, COUNTER_WORDS = 32;

__device__ __forceinline__ u32* counter(const Arguments& args, u32 number) {
    return &args.counters[number * COUNTER_WORDS];
}

// Lists of tiles to discharge. In each round tiles are appended to the list of their color for the next, and the list
// after it is emptied: see RotatingSizes in worklist.cuh.
struct TileLists {
    const Arguments& args;
    u32 num_tiles;

    __device__ u32* size(u32 color, u32 round) const {
        return counter(args, color * 3 + round % 3);
    }
    __device__ u32* list(u32 color, u32 round) const {
        return args.lists + static_cast<u64>(color * 3 + round % 3) * num_tiles;
    }
    // Appends a tile unless it is there; `stamp` grows from list to list that it may be in.
    __device__ void append(u32 color, u32 round, u32 stamp, u32 tile) const {
        if (relaxed_fetch_max(&args.stamps[tile], stamp) < stamp)
            list(color, round)[relaxed_fetch_add(size(color, round), 1u)] = tile;
    }
};

// Tiles to search because labels around them have changed, first come, first served: no warp waits for a slower one. A
// tile is in the queue or with a warp as long as it was told of something that no search has begun to look at. A warp
// draws a number and waits for the tile with that number. All lanes of a warp call what is not for one.
struct SearchQueue {
    static constexpr u64 EMPTY = ~u64{0};
    static constexpr u32 POLLS = 8;  // of a slot for each look at whether all are done
    static constexpr u32 MOST_POLLS = 1u << 20;  // of a slot that should be empty in a moment

    struct Claimed {
        u32 tile, hops, told;  // what it was told of, and over how many tiles that came
    };

    const Arguments& args;

    __device__ u32* drawn() const { return counter(args, NUM_LISTS); }
    __device__ u32* appended() const { return counter(args, NUM_LISTS + 1); }
    __device__ u32* finished() const { return counter(args, NUM_LISTS + 2); }
    __device__ u32* most_hops() const { return counter(args, NUM_LISTS + 3); }

    // Whether no tile is in the queue or with a warp. No more are finished than appended, and both only grow.
    __device__ bool is_done() const {
        const u32 before = acquire_load(finished());
        return relaxed_load(appended()) == before;
    }
    // Each lane may tell a tile that labels next to it have changed.
    __device__ void tell(bool tells, u32 tile, u32 hops) const {
        add(tells && fetch_add(&args.told[tile], 1u) == 0, tile, hops);
    }
    // Each lane may add a tile that was told of something and is not there.
    __device__ void add(bool adds, u32 tile, u32 hops) const {
        const u32 adders = __ballot_sync(ALL_LANES, adds);
        if (adders == 0) return;
        u32 number = 0;
        if (lane_id() == 0) number = relaxed_fetch_add(appended(), static_cast<u32>(__popc(adders)));
        number = __shfl_sync(ALL_LANES, number, 0) + __popc(adders & ((1u << lane_id()) - 1));
        if (adds) put(number, tile, hops);
    }
    // Waits for a tile and takes it. Returns whether there is one: there is none once all are done, none that has to be
    // waited for after `deadline`, and none at all then for a warp that has searched. For one lane.
    __device__ bool claim(Claimed& claimed, bool has_searched, u64 deadline) const {
        if (has_searched && nanoseconds() >= deadline) return false;
        u64* const slot = slot_of(relaxed_fetch_add(drawn(), 1u));
        for (u32 polls = 1;; ++polls) {
            const u64 entry = acquire_load(slot);
            if (entry != EMPTY) {
                release_store(slot, EMPTY);
                claimed = {static_cast<u32>(entry), static_cast<u32>(entry >> 32), 0};
                claimed.told = acquire_load(&args.told[claimed.tile]);
                return true;
            }
            if (polls % POLLS == 0 && (is_done() || nanoseconds() >= deadline)) return false;
            __nanosleep(100);
        }
    }
    // Gives a tile back after a search; it is queued again if it was told of something since. What the first lane
    // claimed counts.
    __device__ void finish(const Claimed& claimed) const {
        if (lane_id() != 0) return;
        if (fetch_add(&args.told[claimed.tile], 0u - claimed.told) != claimed.told)
            put(relaxed_fetch_add(appended(), 1u), claimed.tile, claimed.hops + 1);
        release_fetch_add(finished(), 1u);
    }

private:
    // There are slots for all tiles and all warps: those that wait do so at different ones. A tile that finds no slot is
    // left to the next launch, as those are that come where nobody waits any more.
    __device__ u64* slot_of(u32 number) const { return &args.slots[number % static_cast<u32>(args.num_slots)]; }
    __device__ void put(u32 number, u32 tile, u32 hops) const {
        u64* const slot = slot_of(number);
        for (u32 polls = 0; acquire_load(slot) != EMPTY; ++polls) {  // who took what was there is about to empty it
            if (polls == MOST_POLLS) return;
            __nanosleep(20);
        }
        release_store(slot, static_cast<u64>(hops) << 32 | tile);
    }
};
