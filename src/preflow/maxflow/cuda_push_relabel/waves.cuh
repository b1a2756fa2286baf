// Waves: searches that follow each other, each one level farther in a round, while other blocks discharge.
//
// A level takes a few microseconds however few vertices it has, so with long distances a search takes most of the time
// if all else waits for it. Waves are the concurrent global relabels of Anderson and Setubal, many of them on their way
// at once: a round of all together takes little more than that of one. What they find is a hint only, since flow moves
// behind them, and since a block may be a round ahead of the others, and then be the first to reach a vertex, over a
// way that is a level longer. The search at rest after the phase says what is true. See labels.cuh for who may change a
// label when.
#include "state.cuh"
#include "labels.cuh"
#include "search.cuh"

// A wave starts when a block has less than so many pieces to look at.
constexpr u32 PIECES_A_BLOCK = 128;
// In one of so many rounds blocks share what they have reached, but for MOST_KEPT pieces of each, and wait for each
// other. In the others each keeps what it has reached and goes on, up to a round ahead of the last one.
#ifndef SHARING_ROUNDS
#define SHARING_ROUNDS 8
#endif
// So many vertices that a block reaches in a round may wait for the next one before they go to their inboxes.
#ifndef MOST_REVIVED
#define MOST_REVIVED 128
#endif
#ifndef MOST_KEPT
#define MOST_KEPT 32
#endif
// So many waves there are until the next search at rest.
constexpr u32 MOST_WAVES = 1000;

// Time in which all warps rest counts so many times as much as time in which most of them do.
constexpr u32 ALL_AT_REST = 4;
// Waves go on without work for twice as long after each phase that ended in vain, but no more often than this in a row
// and for no more nanoseconds.
constexpr u64 MOST_IN_VAIN = 4, MOST_PATIENCE = 1000000000;

// Blocks, up to 511, add up when a round ends how many pieces they have put into a list in device memory, how many they
// have reached, each up to MOST_REACHED, and how many of them want to stop. The bits of these numbers in a word:
constexpr u32 REACHED_AT = 28, STOPS_AT = 46;
constexpr u64 MOST_LISTED = (1ull << REACHED_AT) - 1, MOST_REACHED = 511;
static_assert(PIECES_A_BLOCK < MOST_REACHED && 511 * MOST_REACHED < 1u << (STOPS_AT - REACHED_AT) &&
              511 < 1u << (AddingTeam::ARRIVALS_AT - STOPS_AT));

// The first warps of a block.
struct SomeWarps {
    u32 count;

    __device__ u32 num_warps() const { return count; }
    __device__ u32 warp() const { return threadIdx.x / WARP; }
};

// What a round of waves goes by, the same in all blocks.
struct Plan {
    u32 is_over;  // there is no such round
    u32 starts;   // the wave that starts; 0: none
    u32 listed;   // pieces in device memory
    u32 shares;   // whether blocks share what they have reached when it ends; known when a block is done with it
};

// Where the waves stand, a copy in each block that sends them. The last thread of a block, its leader, keeps it while
// the others look at pieces: they read what it writes a round later.
struct Waves {
    Plan plans[2];        // rounds take turns with them
    u32 list_sizes[3];    // pieces that the block looks at in a round, reaches in it, and looked at in the last one
    u32 rounds;           // when they are over
    u32 size;             // pieces that all blocks reached in the last round of which that is known; see MOST_REACHED
    u32 listed;           // pieces put into device memory since blocks last shared, as far as is known
    u32 newest;           // the number of the last wave
    u32 finished;         // of the last that has gone as far as it may
    u32 num_started;
    u32 next_start;       // the round in which the next one may start
    u32 may_start;        // in the next one, if that has room
    u32 is_ending;        // some block wants to stop
    u32 stops;            // whether the phase is to end; in the first block's copy, as the following
    u32 idle_began;       // on the clock, where most warps rest
    u32 is_idle;          // most have rested for too long
    u32 lists_began[2];   // where the two lists in device memory began, by their counters
    u32 starts[Timetable::SIZE];
    // Vertices that had been put off and that a wave has reached: those of this round, and those of the last one, which
    // go to their inboxes meanwhile. Rounds take turns.
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

    // A warp of the waves would wait for a place in an inbox, and all blocks for the warp.
    __device__ void revive(const Inboxes& inboxes, u32 round, u32 v) {
        const u32 turn = round % 2, place = relaxed_fetch_add(&num_revived[turn], 1u);
        if (place < u32{MOST_REVIVED})
            revived[turn][place] = v;
        else
            inboxes.append(v);
    }

    // Those of the last round. One warp calls it with all its lanes.
    __device__ void put_last_into_inboxes(const Inboxes& inboxes, u32 round) {
        const u32 turn = (round + 1) % 2, count = min(num_revived[turn], u32{MOST_REVIVED});
        for (u32 k = lane_id(); k < count; k += WARP) inboxes.append(revived[turn][k]);
        __syncwarp();
        if (lane_id() == 0) num_revived[turn] = 0;
    }

    // What of the next round does not depend on what blocks reach.
    __device__ void look_ahead(u32 next, u32 most_levels) {
        while (finished < newest && next - start_of(finished + 1) > most_levels) ++finished;
        may_start = next >= next_start && num_started < MOST_WAVES && newest - finished < Timetable::SIZE - 1;
    }

    // Sees whether `most` warps or more have been at rest for too long; time starts anew when fewer are. Then a search
    // at rest is due: vertices that wait for a wave wait longer for it than such a search takes, and those that cannot
    // reach the sink may rise as fast as the next wave comes.
    __device__ void watch(u32 round, u32 at_rest, u32 most, u32 all, u64 patience) {
        const u32 now = static_cast<u32>(nanoseconds());
        if (round == 0 || at_rest < most) idle_began = now;
        const u64 idle = now - idle_began;
        is_idle = (at_rest == all ? ALL_AT_REST : 1) * idle > patience;
    }

    // What all blocks together have said at the end of a round.
    __device__ void hear(u64 sum) {
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

// Tells the blocks that discharge where the waves stand when a round begins.
__device__ void tell_dischargers(const Counters& counters, u32 round, u32 finished, u32 starts) {
    relaxed_store(&counters.base[ROUND], round);
    relaxed_store(&counters.base[FINISHED], finished);
    if (starts != 0) relaxed_store(&counters.starts()[starts % Timetable::SIZE], label_of(starts, round));
}

// Sends waves until the phase is over.
__device__ void send_waves(const Arguments& args, AddingTeam& team, const Counters& counters, const State& state,
                           Waves& waves, u64* pieces, u32* base) {
    const u32 n = static_cast<u32>(args.net.num_vertices), num_near = static_cast<u32>(args.num_near_sink);
    const u32 num_blocks = static_cast<u32>(state.search_blocks);
    // The last warp of a block does what else there is to do: all blocks would wait for what it waits for.
    const u32 num_block_warps = BlockTeam().num_warps();
    const SomeWarps workers{max(num_block_warps - 1, 1u)};
    const bool is_last = BlockTeam().warp() == num_block_warps - 1;
    const bool is_leader = threadIdx.x == blockDim.x - 1;
    const bool expands = !is_last || num_block_warps == 1;
    const u32 num_dischargers = Dischargers(state.search_blocks).num_warps();
    const Inboxes inboxes = args.inboxes.split(num_dischargers, n);
    const LabelMarks marks{args.label};
    // No vertex gets a height above n, which would say something else: delayed, a wave may take more rounds.
    const u32 most_levels = static_cast<u32>(min(args.reach_percent * state.level / 100 + 1, args.net.num_vertices));
    const u32 distance = static_cast<u32>(args.wave_rounds + args.wave_percent * state.level / 100);
    const u32 last_place = static_cast<u32>(args.room) - 1;
    const u32 load = PIECES_A_BLOCK * num_blocks;
    const u32 most_listed = static_cast<u32>(MOST_LISTED / num_blocks);  // by a block
    const u32 most_at_rest = static_cast<u32>((args.rest_percent * num_dischargers + 99) / 100);
    const u64 patience =
        min(args.idle_percent * state.last_nanoseconds / 100 << min(state.in_vain, MOST_IN_VAIN), MOST_PATIENCE);
    // What is looked at in a round.
    const auto list_of = [&](u32 round) {
        return BlockList{pieces + round % 2 * BlockList::CAPACITY, &waves.list_sizes[round % 3], base};
    };
    // Tells the other blocks what this one has reached in a round, of which it keeps so much.
    const auto arrive = [&](u32 reached, u32 most) {
        const u32 num_listed = reached - min(reached, most);
        const u64 stops = waves.stops || num_listed > most_listed;
        team.arrive(min(num_listed, most_listed) | min(u64{reached}, MOST_REACHED) << REACHED_AT | stops << STOPS_AT,
                  num_listed > 0);
    };
    if (threadIdx.x == 0) waves.begin(static_cast<u32>(state.searches), distance);
    __syncthreads();
    u32 round = 0;
    u32 turn = 0;          // whose list is filled, of the two in device memory
    bool have_met = true;  // all blocks, since the last round
    for (; !waves.plans[round % 2].is_over; ++round) {
        Plan& plan = waves.plans[round % 2];
        const BlockList kept = list_of(round), list = list_of(round + 1);
        const u32 reached = *kept.size;
        const u32 num_kept = min(reached, have_met ? u32{MOST_KEPT} : BlockList::CAPACITY);
        const u64* const level = args.order + (1 - turn) * args.room;
        u64* const next = args.order + turn * args.room;
        u32* const list_size = counters.base + WAVE_LIST_SIZES + turn * 32;
        // What finds no room is forgotten.
        const auto at = [&](u32 place) { return &next[min(place - waves.lists_began[turn], last_place)]; };
        const auto add_found = [&](const auto& found, const auto& ends, const auto& ranges, const auto& before,
                                   u64 mark) {
            list.add(found, ranges, search_of(mark), [&](u32) { return at(relaxed_fetch_add(list_size, 1u)); });
            for (u32 k = 0; k < sizeof(found) / sizeof(found[0]); ++k)
                if (found[k] && height_of(before[k]) == n + PUT_OFF) waves.revive(inboxes, round, ends[k].head);
        };
        const u32 starts = plan.starts;
        if (is_leader) {
            if (!have_met) arrive(reached, BlockList::CAPACITY);
            *list_of(round + 2).size = 0;
            if (blockIdx.x == 0) {
                tell_dischargers(counters, round, waves.finished, starts);
                waves.watch(round, num_at_rest(counters), most_at_rest, num_dischargers, patience);
                waves.stops = waves.is_idle || relaxed_load(&counters.base[OVER]) != 0;
            }
            waves.look_ahead(round + 1, most_levels);
        }
        if (is_last) waves.put_last_into_inboxes(inboxes, round);
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
        if (is_leader) {
            if (!have_met) waves.hear(team.wait(MOST_LISTED));
            plan.shares = round % SHARING_ROUNDS == 0 || waves.listed > 0;
            if (!plan.shares) waves.plan(round + 1, 0, distance, load, state.rounds_left);
        }
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
        have_met = plan.shares;
        if (!have_met) continue;
        list.move_to(list_size, MOST_KEPT, at);
        __syncthreads();
        if (is_leader) {
            arrive(*list.size, MOST_KEPT);
            waves.hear(team.wait(MOST_LISTED));
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
