// Waves: searches that follow each other while other blocks discharge. In a round each wave advances by one level.
//
// A level takes a few microseconds however few vertices it has. With long distances a search would take most of the
// time if all blocks waited for it. Waves are the concurrent global relabels of Anderson and Setubal, many of them on
// their way at the same time: a round of all waves takes little more than a round of one. What a wave finds is a hint
// only, for two reasons. Flow moves behind it. And a block may be a round ahead of the others and so reach a vertex
// first over a path that is one level longer. The search at rest after the phase makes labels exact. labels.cuh says
// who may change a label when.
#include "state.cuh"
#include "labels.cuh"
#include "search.cuh"

#include "__init__.py: MOST_SEARCH_BLOCKS"

// A wave may start when the blocks have fewer than this many pieces each to expand.
constexpr u32 PIECES_A_BLOCK = 128;
// In one of this many rounds the blocks wait for each other and share what they have reached, except MOST_KEPT pieces
// of each block. In the other rounds each block keeps what it has reached and goes on, at most one round ahead of the
// slowest.
#ifndef SHARING_ROUNDS
#define SHARING_ROUNDS 8
#endif
// Put-off vertices that a block may reach in a round; they go to their inboxes in the next round.
#ifndef MOST_REVIVED
#define MOST_REVIVED 128
#endif
#ifndef MOST_KEPT
#define MOST_KEPT 32
#endif
// Greatest number of waves in a phase.
constexpr u32 MOST_WAVES = 1000;

// Time in which all warps have nothing to do counts this many times as much as time in which most of them have.
constexpr u32 ALL_AT_REST = 4;
// The idle time after which waves end doubles after each phase that ended in vain, at most MOST_IN_VAIN times and up to
// MOST_PATIENCE nanoseconds.
constexpr u64 MOST_IN_VAIN = 4, MOST_PATIENCE = 1000000000;

// At the end of a round up to MOST_SEARCH_BLOCKS blocks add up three numbers in one word: the pieces that they have put
// into a list in device memory, the pieces that they have reached (each block up to MOST_REACHED), and the number of
// blocks that want to stop. The bits at which these numbers begin:
constexpr u32 REACHED_AT = 28, STOPS_AT = 46;
constexpr u64 MOST_LISTED = (1ull << REACHED_AT) - 1, MOST_REACHED = 511;
static_assert(PIECES_A_BLOCK < MOST_REACHED && MOST_SEARCH_BLOCKS * MOST_REACHED < 1u << (STOPS_AT - REACHED_AT) &&
              MOST_SEARCH_BLOCKS < 1u << (AddingTeam::ARRIVALS_AT - STOPS_AT));

// The first warps of a block.
struct SomeWarps {
    u32 count;

    __device__ u32 num_warps() const { return count; }
    __device__ u32 warp() const { return threadIdx.x / WARP; }
};

// The plan of a round of waves, the same in all blocks.
struct Plan {
    u32 is_over;  // the waves end before this round
    u32 starts;   // the number of the wave that starts; 0 for none
    u32 listed;   // pieces in device memory
    u32 shares;   // whether blocks share what they have reached at the end; set when a block has finished the round
};

// The state of the waves, a copy in each block that sends them. The last thread of a block, its leader, updates it
// while the other threads expand pieces; they read what it writes one round later.
struct Waves {
    Plan plans[2];        // of two rounds, which take turns
    u32 list_sizes[3];    // pieces that the block expands in a round, reaches in it, and expanded in the last one
    u32 rounds;           // number of rounds, set at the end
    u32 size;             // pieces that all blocks reached in the last round whose sum is known; see MOST_REACHED
    u32 listed;           // pieces put into device memory since blocks last shared, as far as is known
    u32 newest;           // number of the newest wave
    u32 finished;         // number of the last wave that has gone as far as it may
    u32 num_started;
    u32 next_start;       // the round from which the next wave may start
    u32 may_start;        // whether a wave may start in the next round, if the load allows it
    u32 is_ending;        // some block wants to stop
    u32 stops;            // whether the phase is to end; used in the first block's copy only, like the next two
    u32 idle_began;       // clock time since which most warps have had nothing to do
    u32 is_idle;          // that is too long ago
    u32 lists_began[2];   // where the two lists in device memory began, by their counters
    u32 starts[Timetable::SIZE];
    // Put-off vertices that a wave has reached: those of this round, and those of the last one, which go to their
    // inboxes meanwhile. Rounds take turns.
    u32 num_revived[2];
    u32 revived[2][MOST_REVIVED];

    __device__ u32& start_of(u32 search) { return starts[search % Timetable::SIZE]; }

    __device__ void begin(u32 search, u32 distance) {
        plans[0] = plans[1] = {0, 0, 0, 0};
        list_sizes[0] = list_sizes[1] = list_sizes[2] = 0;
        rounds = size = listed = num_started = may_start = is_ending = stops = is_idle = 0;
        lists_began[0] = lists_began[1] = num_revived[0] = num_revived[1] = 0;
        newest = finished = search;
        next_start = distance;
    }

    // Stores a put-off vertex until the next round: a warp of the waves would wait for a place in an inbox, and all
    // blocks would wait for that warp.
    __device__ void revive(const Inboxes& inboxes, u32 round, u32 v) {
        const u32 turn = round % 2, place = relaxed_fetch_add(&num_revived[turn], 1u);
        if (place < u32{MOST_REVIVED})
            revived[turn][place] = v;
        else
            inboxes.append(v);
    }

    // Puts the vertices of the last round into their inboxes. One warp calls it with all its lanes.
    __device__ void put_last_into_inboxes(const Inboxes& inboxes, u32 round) {
        const u32 turn = (round + 1) % 2, count = min(num_revived[turn], u32{MOST_REVIVED});
        for (u32 k = lane_id(); k < count; k += WARP) inboxes.append(revived[turn][k]);
        __syncwarp();
        if (lane_id() == 0) num_revived[turn] = 0;
    }

    // Prepares the part of the next round's plan that does not depend on what blocks reach.
    __device__ void look_ahead(u32 next, u32 most_levels) {
        while (finished < newest && next - start_of(finished + 1) > most_levels) ++finished;
        may_start = next >= next_start && num_started < MOST_WAVES && newest - finished < Timetable::SIZE - 1;
    }

    // Sees whether at least `most` warps have had nothing to do for too long; the time restarts when fewer have. Then
    // a search at rest is due: put-off vertices wait longer for a wave than such a search takes, and vertices that
    // cannot reach the sink may rise as fast as the next wave comes.
    __device__ void watch(u32 round, u32 idle_warps, u32 most, u32 all, u64 patience) {
        const u32 now = static_cast<u32>(nanoseconds());
        if (round == 0 || idle_warps < most) idle_began = now;
        const u64 idle = now - idle_began;
        is_idle = (idle_warps == all ? ALL_AT_REST : 1) * idle > patience;
    }

    // Takes the sum of all blocks at the end of a round.
    __device__ void take_sum(u64 sum) {
        listed += static_cast<u32>(sum & MOST_LISTED);
        size = static_cast<u32>(sum >> REACHED_AT) & ((1u << (STOPS_AT - REACHED_AT)) - 1);
        is_ending |= sum >> STOPS_AT != 0;
    }

    // Starts a wave in the next round if it may.
    __device__ void plan(u32 next, u32 num_listed, u32 distance, u32 load, u64 rounds_left) {
        Plan& plan = plans[next % 2];
        plan.listed = num_listed;
        plan.is_over = is_ending || next >= rounds_left || (num_started == MOST_WAVES && finished == newest);
        plan.starts = 0;
        if (plan.is_over || !may_start || size > load) return;
        plan.starts = ++newest;
        ++num_started;
        start_of(newest) = next;
        next_start = next + distance;
    }
};

// Signals the round and the waves to the discharging blocks when a round begins.
__device__ void signal_dischargers(const Counters& counters, u32 round, u32 finished, u32 starts) {
    relaxed_store(&counters.base[ROUND], round);
    relaxed_store(&counters.base[FINISHED], finished);
    if (starts != 0) relaxed_store(&counters.starts()[starts % Timetable::SIZE], label_of(starts, round));
}

// Sends waves until the phase is over.
__device__ void send_waves(const Arguments& args, AddingTeam& team, const Counters& counters, const State& state,
                           Waves& waves, u64* pieces, u32* base) {
    const u32 n = static_cast<u32>(args.net.num_vertices), num_near = static_cast<u32>(args.num_near_sink);
    const u32 num_blocks = static_cast<u32>(state.search_blocks);
    // The last warp of a block does not expand pieces but does everything else: all blocks would wait for what it
    // waits for.
    const u32 num_block_warps = BlockTeam().num_warps();
    const SomeWarps workers{max(num_block_warps - 1, 1u)};
    const bool is_last = BlockTeam().warp() == num_block_warps - 1;
    const bool is_leader = threadIdx.x == blockDim.x - 1;
    const bool expands = !is_last || num_block_warps == 1;
    const u32 num_dischargers = Dischargers(state.search_blocks).num_warps();
    const Inboxes inboxes = args.inboxes.split(num_dischargers, n);
    const LabelMarks marks{args.label};
    // A wave ends after most_levels rounds. No vertex may get a height above n, which has another meaning; a delayed
    // wave could need more rounds.
    const u32 most_levels = static_cast<u32>(min(args.reach_percent * state.level / 100 + 1, args.net.num_vertices));
    const u32 distance = static_cast<u32>(args.wave_rounds + args.wave_percent * state.level / 100);
    const u32 last_place = static_cast<u32>(args.room) - 1;
    const u32 load = PIECES_A_BLOCK * num_blocks;
    const u32 most_listed = static_cast<u32>(MOST_LISTED / num_blocks);  // by a block
    const u32 most_idle = static_cast<u32>((args.rest_percent * num_dischargers + 99) / 100);
    const u64 patience =
        min(args.idle_percent * state.last_nanoseconds / 100 << min(state.in_vain, MOST_IN_VAIN), MOST_PATIENCE);
    // The list of pieces that is expanded in a round.
    const auto list_of = [&](u32 round) {
        return BlockList{pieces + round % 2 * BlockList::CAPACITY, &waves.list_sizes[round % 3], base};
    };
    // Arrives at the barrier with the number of pieces that this block has reached in a round; it keeps up to `most`.
    const auto arrive = [&](u32 reached, u32 most) {
        const u32 num_listed = reached - min(reached, most);
        const u64 stops = waves.stops || num_listed > most_listed;
        team.arrive(min(num_listed, most_listed) | min(u64{reached}, MOST_REACHED) << REACHED_AT | stops << STOPS_AT,
                  num_listed > 0);
    };
    if (threadIdx.x == 0) waves.begin(static_cast<u32>(state.searches), distance);
    __syncthreads();
    u32 round = 0;
    u32 turn = 0;          // which of the two lists in device memory is filled
    bool have_met = true;  // all blocks, since the last round
    for (; !waves.plans[round % 2].is_over; ++round) {
        Plan& plan = waves.plans[round % 2];
        const BlockList kept = list_of(round), list = list_of(round + 1);
        const u32 reached = *kept.size;
        const u32 num_kept = min(reached, have_met ? u32{MOST_KEPT} : BlockList::CAPACITY);
        const u64* const level = args.order + (1 - turn) * args.room;
        u64* const next = args.order + turn * args.room;
        u32* const list_size = counters.base + WAVE_LIST_SIZES + turn * 32;
        // Pieces without room in the list are dropped: waves are hints.
        const auto at = [&](u32 place) { return &next[min(place - waves.lists_began[turn], last_place)]; };
        const auto add_found = [&](const auto& found, const auto& ends, const auto& ranges, const auto& before,
                                   u64 mark) {
            list.add(found, ranges, search_of(mark), [&](u32) { return at(relaxed_fetch_add(list_size, 1u)); });
            for (u32 k = 0; k < sizeof(found) / sizeof(found[0]); ++k)
                if (found[k] && height_of(before[k]) == n + PUT_OFF) waves.revive(inboxes, round, ends[k].head);
        };
        // 1. The leader signals the round; the last warp delivers put-off vertices.
        const u32 starts = plan.starts;
        if (is_leader) {
            if (!have_met) arrive(reached, BlockList::CAPACITY);
            *list_of(round + 2).size = 0;
            if (blockIdx.x == 0) {
                signal_dischargers(counters, round, waves.finished, starts);
                waves.watch(round, num_idle_warps(counters), most_idle, num_dischargers, patience);
                waves.stops = waves.is_idle || relaxed_load(&counters.base[OVER]) != 0;
            }
            waves.look_ahead(round + 1, most_levels);
        }
        if (is_last) waves.put_last_into_inboxes(inboxes, round);
        // 2. Start a wave from the vertices next to the sink.
        for (u32 first = blockIdx.x * blockDim.x + threadIdx.x - lane_id(); starts != 0 && first < num_near;
             first += num_blocks * blockDim.x) {
            const u32 i = first + lane_id();
            const u64 mark = label_of(starts, 1);
            ArcEnds ends[1] = {{0, 0}};
            u64 before[1] = {mark};
            ArcRange ranges[1] = {{0, 0}};
            if (i < num_near) {
                const u32 v = args.near_sink[i];
                ends[0].head = v;
                ranges[0] = arcs_of(args.net, v);
                if (relaxed_load(&args.net.sink_residual[v]) > 0) before[0] = marks.put(v, mark);
            }
            const bool found[1] = {LabelMarks::is_new(before[0], mark)};
            add_found(found, ends, ranges, before, mark);
        }
        // 3. The leader takes the sums of the last round and plans the next one.
        if (is_leader) {
            if (!have_met) waves.take_sum(team.wait(MOST_LISTED));
            plan.shares = round % SHARING_ROUNDS == 0 || waves.listed > 0;
            if (!plan.shares) waves.plan(round + 1, 0, distance, load, state.rounds_left);
        }
        // 4. Expand the pieces of this block and its share of those in device memory.
        const u32 listed = plan.listed;
        const u32 share = blockIdx.x < listed ? (listed - blockIdx.x - 1) / num_blocks + 1 : 0;
        expand_level<SEARCH_LANES, SEARCH_ARCS, false, false, true>(
            workers, args.net, marks, expands ? num_kept + share : 0,
            [&](u32 i) {
                const u64 piece = i < num_kept ? kept.pieces[i]
                                               : relaxed_load(&level[(i - num_kept) * num_blocks + blockIdx.x]);
                const u32 search = search_of_piece(piece), height = round - waves.start_of(search);
                const ArcRange range = height < most_levels ? range_of(piece) : ArcRange{0, 0};
                return ReachedArcs<u64>{range, label_of(search, height + 1)};
            },
            [&](const auto& found, const auto& ends, const auto& ranges, const auto&, const auto& before, u64 mark) {
                add_found(found, ends, ranges, before, mark);
            });
        __syncthreads();
        // 5. Share what the blocks have reached, if this round does.
        have_met = plan.shares;
        if (!have_met) continue;
        list.move_to(list_size, MOST_KEPT, at);
        __syncthreads();
        if (is_leader) {
            arrive(*list.size, MOST_KEPT);
            waves.take_sum(team.wait(MOST_LISTED));
            waves.lists_began[turn] += waves.listed;
            waves.plan(round + 1, min(waves.listed, last_place + 1), distance, load, state.rounds_left);
            waves.listed = 0;
        }
        turn = 1 - turn;
        __syncthreads();
    }
    if (threadIdx.x == 0) waves.rounds = round;
    if (blockIdx.x == 0 && threadIdx.x == 0) relaxed_store(&counters.base[OVER], 1u);
}
