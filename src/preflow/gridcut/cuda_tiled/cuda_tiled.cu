// The persistent kernel of cuda_tiled: global relabels and rounds of discharges alternate until no excess can reach the
// sink. __init__.py has the definitions and the pseudo-code.
#ifndef MOST_WARPS
#define MOST_WARPS 16  // of a block
#endif
#define KERNEL_BOUNDS MOST_WARPS * 32, 1

#include "tile_push.cuh"

#include "launches.py: Word"
constexpr u32 STATE_WORDS = FARTHEST + 1;  // the counts follow
static_assert(PUSHES == STATE_WORDS);

// The threads that run the kernel, of one device or of several.
#ifdef ACROSS_DEVICES
using Team = DevicesTeam;
__device__ __forceinline__ Team team_of(const Arguments& args) { return Team(args.joined.devices); }
#else
using Team = GridTeam;
__device__ __forceinline__ Team team_of(const Arguments& args) { return Team(args.arrays.arrivals); }
#endif

struct Counted {
    u64 pushes = 0, searches = 0, visits = 0;
};

// After this many turns a block that works alone meets the others, so that all know how much was done. A turn counts as
// this much work: about as many tiles as all blocks discharge in that time.
constexpr u32 MOST_TURNS_ALONE = 256;
constexpr u64 WORK_OF_TURN = 512;
// A block works alone on lists of at most this many tiles: with more, they delay each other longer than a barrier of
// all blocks takes.
constexpr u32 MOST_TILES_ALONE = 8;
// On several devices, rounds between two global relabels: the largest label of a tile with excess, divided by this.
constexpr u32 LABELS_A_ROUND = 30;

// The blocks that work on a list: all, or if it is short the first block alone, which then waits for no other block.
struct Workers {
    Team team;
    u64* broadcast;
    bool alone = false;
    u32 turns = 0;  // of the first block alone

    __device__ explicit Workers(const Arguments& args)
        : team(team_of(args)), broadcast(&args.arrays.state[BROADCAST]) {}

    __device__ bool is_first() const { return alone ? threadIdx.x == 0 : team.is_first(); }
    __device__ void wait() {
        if (alone) __syncthreads();
        else team.wait();
    }
    // Returns whether the blocks that work now should work on a list of `size` tiles. Otherwise all blocks must agree()
    // on how far the first block has come, which works alone until then.
    __device__ bool have(u32 size) {
        const bool is_short = size > 0 && size <= MOST_TILES_ALONE;
        if (alone) return is_short && ++turns < MOST_TURNS_ALONE;
        // All blocks have read the size before the first one changes any list.
        if (is_short) team.wait();
        if (is_short && blockIdx.x == 0) {
            alone = true;
            turns = 0;
        }
        return !is_short || alone;
    }
    // Ends the time in which the first block worked alone, and returns its turn to all blocks.
    __device__ u64 agree(u64 where) {
        if (alone && threadIdx.x == 0) relaxed_store(broadcast, where);
        alone = false;
        team.wait();
        where = relaxed_load(broadcast);
        team.wait();  // before the next broadcast
        return where;
    }
};

// The neighbouring tiles next to which a lane has changed labels, as bits of their numbers.
struct Changes {
    u32 near = 0;

    __device__ __forceinline__ void add(u32 row, u32 x) {
        constexpr u32 PLANE = 0x1ff, LINE = 7 * 0x40201, COLUMN = 0x1249249;  // numbers whose z, y or x is -1
        near |= towards(PLANE, 9, row / TILE_Y, TILE_Z, REACH_Z) & towards(LINE, 3, row % TILE_Y, TILE_Y, REACH_Y) &
                towards(COLUMN, 1, x, WIDTH, REACH_X);
    }

private:
    __device__ static __forceinline__ u32 towards(u32 low, u32 step, u32 at, u32 length, u32 reach) {
        return (at < reach ? low : 0) | low << step | (at >= length - reach ? low << 2 * step : 0);
    }
};

// The steps of a launch. All threads have equal copies of `state`.
struct Solver {
    const Arguments& args;
    const Shape shape;
    const TileLists lists;
    const SearchQueue queue;
    const u64 deadline;  // of searches in this launch
    Counted counted;
    bool failed = false;

    __device__ explicit Solver(const Arguments& args)
        : args(args), shape(args), lists{args, shape.num_tiles()}, queue{args},
          deadline(nanoseconds() + args.nanoseconds_of_launch) {}

    // Searches a tile given the labels around it, or none if it is `alone`, and writes its labels. Notifies
    // neighbouring tiles next to changed labels; `hops` is the number of tiles that the change has crossed.
    __device__ __forceinline__ void search(u32 index, bool alone, u32 hops) {
        const Tile tile(shape, index);
        Masks mask;
        Rows root;
#pragma unroll
        for (u32 k = 0; k < ROWS_A_LANE; ++k) {
            root[k] = tile.words(args, ROOT)[row_of(k)];
#pragma unroll
            for (u32 d = 0; d < DIRECTIONS; ++d) mask[d][k] = tile.words(args, d)[row_of(k)];
        }
        Levels levels;
        Changes changed;
        const Rows nothing{};
        const Faces faces(args, shape, tile);
        const Ending ending =
            search_tile<true>(faces, mask, root, alone, nothing, levels, LevelLabels::at_rest());
        if (ending == Ending::UNCHANGED) return;
        failed |= ending == Ending::FAILED;
        ++counted.searches;
#pragma unroll
        for (u32 k = 0; k < ROWS_A_LANE; ++k) tile.words(args, REACHED)[row_of(k)] = levels.reached[k];
        if (alone) {
            levels.write_labels<true>(faces, LevelLabels::at_rest(), [](u32, u32) {});
        } else {
            levels.write_labels<false>(faces, LevelLabels::at_rest(), [&](u32 row, u32 x) { changed.add(row, x); });
            __syncwarp();
            notify_around(tile, changed, hops);
        }
        __syncwarp();
    }

    // Notifies the tiles next to changed labels, each lane one of them.
    __device__ __forceinline__ void notify_around(const Tile& tile, const Changes& changed, u32 hops) {
        const u32 near = union_of_warp(changed.near), number = lane_id(), there = tile.neighbor(shape, number);
        const bool is_near = ((near & LEADS_TO) >> number & 1) != 0 && tile.has_neighbor(shape, number);
        queue.notify(is_near && args.is_searched(there), there, hops);
        if (!ACROSS) return;
        for (const Beyond* part : {&args.joined.before, &args.joined.after}) {
            const bool is_there = is_near && !args.is_searched(there) && &args.beyond(there) == part;
            SearchQueue(args, *part).notify(is_there, there + static_cast<u32>(part->tiles), hops);
        }
    }

    // Discharges a tile: pushes its excess as far as it goes in up to `waves` waves, then lists the tiles that received
    // some, and the tile itself if it has excess left that can go on.
    __device__ __forceinline__ void discharge(u32 index, u32 round) {
        // Start to copy capacities and excess; read the words.
        const Tile tile(shape, index);
        TileBits bits;
        copy_tile(args, tile, begin_copy);
#pragma unroll
        for (u32 k = 0; k < ROWS_A_LANE; ++k) {
            bits.root[k] = tile.words(args, ROOT)[row_of(k)];
            bits.active[k] = tile.words(args, ACTIVE)[row_of(k)];
#pragma unroll
            for (u32 d = 0; d < DIRECTIONS; ++d) {
                bits.mask[d][k] = tile.words(args, d)[row_of(k)];
                bits.crossed[d][k] = 0;
            }
        }
        const Faces faces(args, shape, tile);
        Pusher pusher{faces};
        ++counted.visits;
        Levels levels;
        LevelLabels labels = LevelLabels::in_list();
        bool goes_on, has_moved = false;  // whether excess is left that can go on; whether some was moved
        bool has_left = false;            // whether the capacities were copied back
        u32 touched = 0;
        for (u64 wave = 0;; ++wave) {
            // Search the tile. Its stored labels are those of the last search, which are no larger than the distances
            // after the moves that follow. So the last search labels all pixels; others stop early.
            const bool is_last = wave + 1 >= args.turns.waves || pusher.is_spent();
            Rows wanted;
#pragma unroll
            for (u32 k = 0; k < ROWS_A_LANE; ++k) wanted[k] = is_last || has_left ? 0 : bits.active[k];
            ++counted.searches;
            const Ending ending =
                search_tile<false>(faces, bits.mask, bits.root, false, wanted, levels, labels);
            failed |= ending == Ending::FAILED;
            goes_on = has_work(bits, levels);
            if (!has_left) {
                if (goes_on) {
                    // Move excess down from the highest level to the first.
                    wait_for_copies();
                    __syncwarp();
                    has_moved = true;
                    pusher.move_down(bits, levels);
                    goes_on = has_work(bits, levels);
                    const bool may_go_on = goes_on && !pusher.is_spent();
                    if (!is_last && (may_go_on || ending == Ending::STOPPED)) continue;
                }
                wait_for_copies();
                __syncwarp();
            }
            // Write words and labels first, since hand_over() uses the place of the labels for its list of arcs.
            const bool fits = levels.size <= labels.room;
            if (fits) leave(tile, faces, bits, levels, labels);
            if (has_moved && !has_left) touched = hand_over(tile, bits);
            if (fits) break;
            // There were more levels than labels have room for: search again where the capacities were.
            has_left = true;
            labels = LevelLabels::in_slot();
        }
        counted.pushes += pusher.pushes;
        touched |= u32{goes_on} << ITSELF;
        if ((touched >> lane_id() & 1) != 0) list(tile, round, tile.neighbor(shape, lane_id()));
        __syncwarp();
    }

    // Hands over what crossed the border, and copies capacities and excess back. Returns the tiles that received
    // excess.
    __device__ __forceinline__ u32 hand_over(const Tile& tile, const TileBits& bits) const {
        HandOver over{args, shape, tile};
        __syncwarp();
        over.all(bits);
        __syncwarp();
        copy_tile(args, tile, [](const u64* shared, u64* global) { *global = *shared; });
        __syncwarp();
        return over.touched;
    }

    // Returns whether a tile has excess that could reach the sink in its last search.
    __device__ __forceinline__ static bool has_work(const TileBits& bits, const Levels& levels) {
        Rows work;
#pragma unroll
        for (u32 k = 0; k < ROWS_A_LANE; ++k) work[k] = bits.active[k] & levels.reached[k];
        return any_of_warp(work);
    }

    // Writes the words of a tile, and the labels at its faces.
    __device__ __forceinline__ void leave(const Tile& tile, const Faces& faces, const TileBits& bits,
                                          const Levels& levels, const LevelLabels& labels) {
#pragma unroll
        for (u32 k = 0; k < ROWS_A_LANE; ++k) {
            const u32 row = row_of(k);
            tile.words(args, ROOT)[row] = bits.root[k];
            tile.words(args, ACTIVE)[row] = bits.active[k];
            tile.words(args, REACHED)[row] = levels.reached[k];
#pragma unroll
            for (u32 d = 0; d < DIRECTIONS; ++d) tile.words(args, d)[row] = bits.mask[d][k];
        }
        levels.write_labels<true>(faces, labels, [](u32, u32) {});
    }

    // Lists a tile for the next turn of its color after the turn of `from`.
    __device__ __forceinline__ void list(const Tile& from, u32 round, u32 index) {
        const u32 color = Tile(shape, index).color(args);
        const u32 when = round + (color <= from.color(args));
        if (args.first_tile <= index && index < args.end_tile) lists.append(color, when, when + 1, index);
        if (!ACROSS || args.is_searched(index)) return;
        const Beyond& part = args.beyond(index);
        TileLists(part).append(color, when, when + 1, index + static_cast<u32>(part.tiles));
    }

    // The global relabel: makes all labels exact while no excess moves. Searches each tile alone, then each given the
    // labels around it, then tiles that are notified of changes. Returns whether it is complete; it may need more than
    // one launch.
    __device__ __forceinline__ bool search_all(Team& team, u64* state) {
        const u64 began = nanoseconds();
        constexpr u32 ALONE = 0, ALL = 1, NOTIFIED = 2;
        u32 most_hops = 0;
        bool has_searched = false;
        const u32 last = args.searches == ALONE_ONLY ? ALONE : NOTIFIED;
        for (u32 stage = state[IS_SEARCHING] || args.searches == ALL_BUT_ALONE ? ALL : ALONE; stage <= last; ++stage) {
            if (stage == ALONE && team.is_first()) {
                for (u32 number = 0; number < COUNTERS; ++number)
                    relaxed_store(counter(args.arrays.counters, number), 0u);
            }
            for (u32 i = team.warp() + static_cast<u32>(args.first_searched);
                 stage == NOTIFIED || i < args.end_searched; i += team.num_warps()) {
                SearchQueue::Claimed claimed{i, 0, 0};
                if (stage == NOTIFIED) {
                    u32 has = 0;
                    if (lane_id() == 0) has = queue.claim(claimed, has_searched, deadline);
                    __syncwarp();
                    if (__shfl_sync(ALL_LANES, has, 0) == 0) break;
                    claimed.tile = __shfl_sync(ALL_LANES, claimed.tile, 0);
                    claimed.hops = __shfl_sync(ALL_LANES, claimed.hops, 0);
                } else if (state[IS_SEARCHING]) {  // after an unfinished search: queue the tiles that have notices
                    queue.add(lane_id() == 0 && relaxed_load(&args.arrays.notices[i]) > 0, i, 1);
                    continue;
                }
                search(claimed.tile, stage == ALONE, claimed.hops + 1);
                if (stage < NOTIFIED) continue;
                queue.finish(claimed);
                has_searched = true;
                most_hops = max(most_hops, claimed.hops);
            }
            if (most_hops > 0 && lane_id() == 0)
                relaxed_fetch_max(SearchQueue::most_hops(args.arrays.counters), most_hops);
            team.wait();
        }
        most_hops = relaxed_load(SearchQueue::most_hops(args.arrays.counters));
        state[NANOSECONDS] += nanoseconds() - began;
        state[IS_SEARCHING] = !queue.is_done();
        if (state[IS_SEARCHING]) return false;
        state[LAST_SEARCH] = NOTIFIED + most_hops;
        ++state[RELABELS];
        return true;
    }

    // Lists the tiles with excess that can reach the sink. On several devices, also finds the largest label at their
    // faces.
    __device__ __forceinline__ void list_active(const Team& team, u32 round) {
        for (u32 t = team.warp(); t < shape.num_tiles(); t += team.num_warps()) {
            const Tile tile(shape, t);
            if (!has_listed_work(tile)) continue;
            const u32 label = ACROSS ? farthest_of(tile) : 0;
            if (lane_id() != 0) continue;
            if (ACROSS) relaxed_fetch_max(&args.arrays.state[FARTHEST], static_cast<u64>(label));
            relaxed_fetch_add(&args.arrays.state[ACTIVE_TILES], 1ull);
            if (t < args.first_tile || t >= args.end_tile) continue;
            relaxed_fetch_add(&args.arrays.state[ACTIVE_HERE], 1ull);
            lists.append(tile.color(args), round, round + 1, t);
        }
    }

    // Returns whether a tile has excess that could reach the sink in its last search.
    __device__ __forceinline__ bool has_listed_work(const Tile& tile) const {
        Rows work;
#pragma unroll
        for (u32 k = 0; k < ROWS_A_LANE; ++k)
            work[k] = tile.words(args, ACTIVE)[row_of(k)] & tile.words(args, REACHED)[row_of(k)];
        return any_of_warp(work);
    }

    // Returns the largest label at the faces of a tile, of pixels that can reach the sink.
    __device__ __forceinline__ u32 farthest_of(const Tile& tile) const {
        const Faces faces(args, shape, tile);
        u32 farthest = 0;
        const auto see = [&](u32 label) { farthest = label == NONE ? farthest : max(farthest, label); };
        for (u32 row = 0; row < ROWS; ++row)
            if (is_outer_row(row)) see(*faces.own(row, lane_id()));
#pragma unroll
        for (u32 k = 0; k < ROWS_A_LANE; ++k) {
#pragma unroll
            for (u32 i = 0; i < REACH_X; ++i) {
                see(*faces.x.own(row_of(k), i));
                see(*faces.x.own(row_of(k), WIDTH - 1 - i));
            }
        }
        return greatest_of_warp(farthest);
    }

    // The color and round of a list; colors follow each other within a round.
    struct Turn {
        u32 color, round;

        __device__ void next() { color = color + 1 < COLORS ? color + 1 : (++round, 0); }
        __device__ u64 number() const { return static_cast<u64>(round) * COLORS + color; }
        __device__ static Turn numbered(u64 number) {
            return {static_cast<u32>(number % COLORS), static_cast<u32>(number / COLORS)};
        }
    };
    // Moves `turn` to the next list that is not empty, before turn `end`; returns its size, 0 if there is none.
    __device__ u32 find_work(Turn& turn, u64 end, bool clears) const {
        u32 idle = 0;
        while (turn.number() < end && idle <= COLORS) {
            if (clears) lists.clear(turn.color, turn.round + 2);
            const u32 size = relaxed_load(lists.size(turn.color, turn.round));
            if (size > 0) return size;
            turn.next();
            ++idle;
        }
        return 0;
    }

    // Returns the turn at which discharges end that begin with `turn`.
    __device__ u64 last_turn(const Turn& turn, const u64* state) const {
        // Labels that crossed many tiles in the search mean that excess must cross as many to reach the sink. Labels from
        // another device may come late and cross the same tiles again, so several devices count by distances.
        const u64 by_distance =
            ACROSS ? state[FARTHEST] / LABELS_A_ROUND : args.turns.rounds_percent * state[LAST_SEARCH] / 100;
        return (turn.round + max(by_distance, args.turns.rounds)) * COLORS;
    }

    // Discharges listed tiles, color by color, for some rounds or until none has work. Returns the work done, in tiles.
    __device__ __forceinline__ u64 discharge_all(Workers& workers, u64* state) {
        Turn turn{0, static_cast<u32>(state[ROUND])};
        const u64 end = last_turn(turn, state);
        u64 work = 0;
        Turn together = turn;
        while (true) {
            if (!workers.alone) {
                together = turn;
                if (work > args.work_of_launch) break;
            }
            const u32 size = find_work(turn, end, workers.is_first());
            // Let the other group of blocks work: the first block alone, or all.
            if (!workers.have(size)) {
                turn = Turn::numbered(workers.agree(turn.number()));
                work += WORK_OF_TURN * (turn.number() - together.number());
                continue;
            }
            if (size == 0) break;
            discharge_list(turn, size);
            turn.next();
            if (!workers.alone) work += size;
            workers.wait();
        }
        state[ROUND] = turn.round;
        return work;
    }

    // Discharges the tiles of a list, a warp each.
    __device__ __forceinline__ void discharge_list(const Turn& turn, u32 size) {
        u32 tile;
        if (threadIdx.x / WARP < args.dischargers)
            while (lists.take(turn.color, turn.round, size, tile)) discharge(tile, turn.round);
    }

#ifdef ACROSS_DEVICES
    // Does the same as discharge_all on several devices. No device begins a turn before all have ended the last one.
    // Returns false if it ended because of the deadline, after a turn at least.
    __device__ __forceinline__ bool discharge_together(Team& team, u64* state) {
        constexpr u32 IS_LATE = 1u << 31;
        Turn turn{0, static_cast<u32>(state[ROUND])};
        const u64 end = last_turn(turn, state);
        bool is_late = false;
        for (bool is_first = true;; is_first = false) {
            // Bit i: some device has tiles for the i-th turn from now. All have ended the turns before.
            const auto find = [&] {
                return listed_from(turn) | (!is_first && nanoseconds() > deadline ? IS_LATE : 0);
            };
            u32 found = team.wait(find, [](u32 one, u32 other) { return one | other; });
            is_late = (found & IS_LATE) != 0;
            found &= ~IS_LATE;
            if (found == 0 || is_late) break;
            for (; (found & 1) == 0; found >>= 1, turn.next())
                if (team.is_first()) lists.clear(turn.color, turn.round + 2);
            if (turn.number() >= end) break;
            if (team.is_first()) lists.clear(turn.color, turn.round + 2);
            discharge_list(turn, relaxed_load(lists.size(turn.color, turn.round)));
            turn.next();
        }
        state[ROUND] = turn.round;
        return !is_late;
    }
    __device__ u32 listed_from(Turn turn) const {
        u32 found = 0;
        for (u32 i = 0; i <= COLORS; ++i, turn.next())
            found |= u32{relaxed_load(lists.size(turn.color, turn.round)) > 0} << i;
        return found;
    }
#endif
};

KERNEL(push_relabel_tiles, Arguments) {
    Solver solver(args);
    Workers workers(args);
    Team& team = workers.team;
    u64 state[STATE_WORDS];
    for (u32 i = 0; i < STATE_WORDS; ++i) state[i] = args.arrays.state[i];
    team.wait();
    u64 work = 0;
    while (true) {
        if (team.is_first()) {
            relaxed_store(&args.arrays.state[ACTIVE_TILES], u64{0});
            relaxed_store(&args.arrays.state[ACTIVE_HERE], u64{0});
            relaxed_store(&args.arrays.state[FARTHEST], u64{0});
        }
        if (args.searches == 0) team.wait();
        state[IS_DONE] = 0;
        if (args.searches > 0 && !solver.search_all(team, state)) break;
        state[ROUND] += 3;  // so that old lists, also of the last launch, are never read
        solver.list_active(team, static_cast<u32>(state[ROUND]));
#ifdef ACROSS_DEVICES
        state[ACTIVE_TILES] = team.wait([&] { return static_cast<u32>(relaxed_load(&args.arrays.state[ACTIVE_TILES])); },
                                        [](u32 one, u32 other) { return one + other; });
        state[FARTHEST] = team.wait([&] { return static_cast<u32>(relaxed_load(&args.arrays.state[FARTHEST])); },
                                    [](u32 one, u32 other) { return max(one, other); });
        state[IS_DONE] = state[ACTIVE_TILES] == 0;
        if (state[IS_DONE] || args.turns.rounds == 0 || !solver.discharge_together(team, state)) break;
#else
        team.wait();
        state[ACTIVE_TILES] = relaxed_load(&args.arrays.state[ACTIVE_TILES]);
        state[IS_DONE] = state[ACTIVE_TILES] == 0;
        state[ACTIVE_HERE] = relaxed_load(&args.arrays.state[ACTIVE_HERE]);
        if (state[ACTIVE_HERE] == 0 || args.turns.rounds == 0 || work > args.work_of_launch) break;
        work += 1 + solver.discharge_all(workers, state);
        if (!args.repeats) break;
#endif
    }
#ifdef ACROSS_DEVICES
    team.wait();
    team.leave();
#endif
    if (solver.failed) relaxed_store(&args.arrays.state[FAILED], u64{1});
    add_up(&args.arrays.state[PUSHES], solver.counted.pushes);
    if (lane_id() == 0) {
        relaxed_fetch_add(&args.arrays.state[SEARCHES], solver.counted.searches);
        relaxed_fetch_add(&args.arrays.state[VISITS], solver.counted.visits);
    }
    if (team.is_first())
        for (u32 i = 0; i < STATE_WORDS; ++i)
            if (i != FAILED && i != ACTIVE_TILES && i != ACTIVE_HERE && i != FARTHEST) args.arrays.state[i] = state[i];
}
