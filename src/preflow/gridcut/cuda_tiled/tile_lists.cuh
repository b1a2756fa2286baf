// The tiles that have work: lists for discharges, a queue for searches.
#include "tile_state.cuh"

#include "tiling.py: LISTS"
#include "launches.py: COUNTERS, COUNTER_WORDS, EMPTY"
static_assert(LISTS == 3 * MOST_COLORS, "each color has three lists");
// Counters, each in its own line of memory: the sizes of the lists; how many of its tiles warps have taken; and four of
// the queue.
constexpr u32 FIRST_TAKEN = LISTS, FIRST_OF_QUEUE = 2 * LISTS;
static_assert(COUNTERS == FIRST_OF_QUEUE + 4, "there are as many counters as are used");

__device__ __forceinline__ u32* counter(u32* counters, u32 number) { return &counters[number * COUNTER_WORDS]; }

// Lists of tiles to discharge, three in turn for each color. In each round tiles are appended to the list of their
// color for the next round, and the list for the round after that is cleared: see RotatingSizes in worklist.cuh.
struct TileLists {
    u32* counters;
    u32* lists;
    u32* stamps;
    u64 num_tiles;

    __device__ TileLists(const Arguments& args, u32 num_tiles)
        : counters(args.arrays.counters), lists(args.arrays.lists), stamps(args.arrays.stamps), num_tiles(num_tiles) {}
    // Those of another part, with its numbers of tiles.
    __device__ explicit TileLists(const Beyond& part)
        : counters(part.counters), lists(part.lists), stamps(part.stamps), num_tiles(part.num_tiles) {}

    __device__ u32* size(u32 color, u32 round) const {
        return counter(counters, color * 3 + round % 3);
    }
    __device__ u32* taken(u32 color, u32 round) const {
        return counter(counters, FIRST_TAKEN + color * 3 + round % 3);
    }
    __device__ u32* list(u32 color, u32 round) const {
        return lists + (color * 3 + round % 3) * num_tiles;
    }
    __device__ void clear(u32 color, u32 round) const {
        relaxed_store(size(color, round), 0u);
        relaxed_store(taken(color, round), 0u);
    }
    // Takes the next tile of a list for a warp. Visits take unequal times, so no warp has a fixed share. Returns false
    // after the last of `num_listed` tiles.
    __device__ __forceinline__ bool take(u32 color, u32 round, u32 num_listed, u32& tile) const {
        u32 i = 0;
        if (lane_id() == 0) i = relaxed_fetch_add(taken(color, round), 1u);
        i = __shfl_sync(ALL_LANES, i, 0);
        if (i >= num_listed) return false;
        tile = list(color, round)[i];
        return true;
    }
    // Appends a tile unless it is on the list. `stamp` is larger for later lists.
    __device__ void append(u32 color, u32 round, u32 stamp, u32 tile) const {
        if (relaxed_fetch_max(&stamps[tile], stamp) < stamp)
            list(color, round)[relaxed_fetch_add(size(color, round), 1u)] = tile;
    }
};

// Tiles to search because labels around them have changed, first in, first out; no warp waits for a slower one. A
// notice to a tile is a change that no search of it has started to read. Invariant: a tile with notices is in the queue
// or with a warp, once. A warp draws a number and waits for the tile with that number. All lanes of a warp call the
// functions together, except those for one lane.
struct SearchQueue {
    static constexpr u32 POLLS = 8;  // polls of a slot between two checks whether all tiles are done
    static constexpr u32 MOST_POLLS = 1u << 20;  // polls of a slot that is about to become empty

    struct Claimed {
        u32 tile, hops, notices;  // tiles that the change has crossed; notices when the search began
    };

    const Arguments& args;
    u32* counters;
    u32* notices;
    u64* slots;
    u32 num_slots;

    __device__ explicit SearchQueue(const Arguments& args)
        : args(args), counters(args.arrays.counters), notices(args.arrays.notices), slots(args.arrays.slots),
          num_slots(static_cast<u32>(args.num_slots)) {}
    // That of another part, with its numbers of tiles.
    __device__ SearchQueue(const Arguments& args, const Beyond& part)
        : args(args), counters(part.counters), notices(part.notices), slots(part.slots),
          num_slots(static_cast<u32>(part.num_slots)) {}

    __device__ static u32* appended(u32* counters) { return counter(counters, FIRST_OF_QUEUE + 1); }
    __device__ static u32* finished(u32* counters) { return counter(counters, FIRST_OF_QUEUE + 2); }
    __device__ static u32* most_hops(u32* counters) { return counter(counters, FIRST_OF_QUEUE + 3); }
    __device__ u32* drawn() const { return counter(counters, FIRST_OF_QUEUE); }

    // Returns whether no tile is in the queue or with a warp, in no part. All counters only grow, and in each part
    // finished <= appended. So if the sums are equal, no tile was left between the reads of the two counters.
    __device__ bool is_done() const {
        const u32 before = acquire_load(finished(counters));
        if (relaxed_load(appended(counters)) != before) return false;
        if (!ACROSS) return true;
        u32 left = 0;
        const Joined& joined = args.joined;
        for (u32 part = 0; part < joined.devices.num_devices; ++part)
            left -= acquire_load(finished(joined.counters_of[part]));
        for (u32 part = 0; part < joined.devices.num_devices; ++part)
            left += relaxed_load(appended(joined.counters_of[part]));
        return left == 0;
    }
    // Each lane may notify a tile that labels next to it have changed.
    __device__ void notify(bool notifies, u32 tile, u32 hops) const {
        add(notifies && fetch_add(&notices[tile], 1u) == 0, tile, hops);
    }
    // Each lane may add a tile that has notices and is not in the queue.
    __device__ void add(bool adds, u32 tile, u32 hops) const {
        const u32 adders = __ballot_sync(ALL_LANES, adds);
        if (adders == 0) return;
        u32 number = 0;
        if (lane_id() == 0) number = relaxed_fetch_add(appended(counters), static_cast<u32>(__popc(adders)));
        number = __shfl_sync(ALL_LANES, number, 0) + __popc(adders & ((1u << lane_id()) - 1));
        if (adds) put(number, tile, hops);
    }
    // Waits for a tile and takes it; for one lane. Returns false once all tiles are done. After `deadline` it does not
    // wait for a tile, and returns false at once for a warp that has searched.
    __device__ bool claim(Claimed& claimed, bool has_searched, u64 deadline) const {
        if (has_searched && nanoseconds() >= deadline) return false;
        u64* const slot = slot_of(relaxed_fetch_add(drawn(), 1u));
        for (u32 polls = 1;; ++polls) {
            const u64 entry = acquire_load(slot);
            if (entry != EMPTY) {
                release_store(slot, EMPTY);
                claimed = {static_cast<u32>(entry), static_cast<u32>(entry >> 32), 0};
                claimed.notices = acquire_load(&notices[claimed.tile]);
                return true;
            }
            if (polls % POLLS == 0 && (is_done() || nanoseconds() >= deadline)) return false;
            __nanosleep(100);
        }
    }
    // Ends the search of a tile that the first lane claimed; queues the tile again if it was notified meanwhile.
    __device__ void finish(const Claimed& claimed) const {
        if (lane_id() != 0) return;
        if (fetch_add(&notices[claimed.tile], 0u - claimed.notices) != claimed.notices)
            put(relaxed_fetch_add(appended(counters), 1u), claimed.tile, claimed.hops + 1);
        release_fetch_add(finished(counters), 1u);
    }

private:
    // There are slots for all tiles and all warps, so waiting warps have different slots. A tile that finds its slot
    // full for too long is left to the next launch, as are tiles for whose slots no warp waits any more.
    __device__ u64* slot_of(u32 number) const { return &slots[number % num_slots]; }
    __device__ void put(u32 number, u32 tile, u32 hops) const {
        u64* const slot = slot_of(number);
        // A slot that is full is about to be emptied by the warp that took its tile.
        for (u32 polls = 0; acquire_load(slot) != EMPTY; ++polls) {
            if (polls == MOST_POLLS) return;
            __nanosleep(20);
        }
        release_store(slot, static_cast<u64>(hops) << 32 | tile);
    }
};
