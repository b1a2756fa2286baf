// Global relabels that run concurrently with pushes. Meanwhile the grid is split in two: the first blocks push, the
// others search, each part with its own barriers. The searching blocks see nothing that changes: they read a copy of
// the matching and write separate labels. When one part is done, the parts join, and the grid uses these labels or
// drops them.
#include "rounds.cuh"

// Copies the matching for a concurrent relabel.
__device__ void begin_concurrent(const Arguments& args, GridTeam& team, MatchingState& state) {
    for (u32 u = team.thread(); u < args.rows.size; u += team.num_threads())
        relaxed_store(&args.searched_rows.mate[u], relaxed_load(&args.rows.mate[u]));
    for (u32 v = team.thread(); v < args.columns.size; v += team.num_threads())
        relaxed_store(&args.searched_columns.mate[v], relaxed_load(&args.columns.mate[v]));
    clear_labels(args.searched_rows, args.searched_columns, dead_label(args), team);
    team.wait([&] {
        end_round(team, state);
        state.is_concurrent = 1;
        state.search_level = state.search_is_over = 0;
        state.phase = args.has_lists ? LIST : PUSH;
    });
}

// Raises labels to those of the concurrent relabel, except for rows that were pushed to since it began.
__device__ void take_over(const Arguments& args, GridTeam& team, MatchingState& state) {
    for (u32 u = team.thread(); u < args.rows.size; u += team.num_threads()) {
        if (relaxed_load(&args.rows.mate[u]) != relaxed_load(&args.searched_rows.mate[u])) continue;
        const u32 label = relaxed_load(&args.searched_rows.label[u]);
        if (label > relaxed_load(&args.rows.label[u])) relaxed_store(&args.rows.label[u], label);
    }
    for (u32 v = team.thread(); v < args.columns.size; v += team.num_threads()) {
        const u32 label = relaxed_load(&args.searched_columns.label[v]);
        if (label > relaxed_load(&args.columns.label[v])) relaxed_store(&args.columns.label[v], label);
    }
    team.wait([&] {
        end_round(team, state);
        state.is_concurrent = 0;
        ++state.relabels;
        ++state.taken_over;
        state.level = state.search_level;
        state.next_relabel = next_relabel(args, state);
        state.shrinks = args.shrinks;
        state.phase = args.has_lists ? LIST : PUSH;
    });
}

// Messages between the two parts of a split grid: each part stores the number of the split once it is done. The first
// thread of a part reads the message of the other part and publishes it for the round that ends, so that all blocks see
// the same.
struct Messages {
    u32* words;

    __device__ u32* from_searchers() const { return &words[0]; }
    __device__ u32* from_pushers() const { return &words[32]; }
    __device__ RotatingSizes to_pushers() const { return {&words[64]}; }
    __device__ RotatingSizes to_searchers() const { return {&words[64 + 3 * 32]}; }
    __device__ RotatingSizes added() const { return {&words[64 + 6 * 32]}; }
};

// Rounds of pushes by some blocks, until no column is active, the concurrent relabel is done or the launch is over.
__device__ void push_while_searching(const Arguments& args, GridTeam& team, const RotatingSizes& sizes,
                                     const Messages& messages, MatchingState& state, u64 (&counts)[COUNTS]) {
    const RotatingSizes ends = messages.to_pushers();
    u32 end;
    do {
        end = static_cast<u32>(state.round + 1);
        if (team.is_first()) {
            sizes.clear(end + 1);
            ends.clear(end + 1);
            watch(team, args.loop.stop, state.round, state.next_look);
            if (relaxed_load(messages.from_searchers()) > state.splits) relaxed_store(ends.of(end), 1u);
        }
        if (state.phase == LIST)
            list_active(args, team, sizes, state);
        else
            push_all(args, team, sizes, state, counts);
    } while (state.phase != REPAIR && state.rounds_left > 0 && ends.read(end) == 0);
    if (team.is_first()) relaxed_store(messages.from_pushers(), static_cast<u32>(state.splits + 1));
}

// Levels of a concurrent relabel by the other blocks, until no level is left or the pushes are done.
__device__ void search_while_pushing(const Arguments& args, GridTeam& team, const Messages& messages,
                                     MatchingState& state) {
    const RotatingSizes ends = messages.to_searchers(), added = messages.added();
    u32 end;
    do {
        end = static_cast<u32>(state.search_round + 1);
        if (team.is_first()) {
            added.clear(end + 1);
            ends.clear(end + 1);
            if (relaxed_load(messages.from_pushers()) > state.splits) relaxed_store(ends.of(end), 1u);
        }
        label_level(args.searched_rows, args.searched_columns, dead_label(args), static_cast<u32>(state.search_level),
                    team, added.of(end));
        team.wait([&] {
            ++state.search_round;
            state.search_level += 2;
            ++state.levels;
            state.search_is_over = added.read(end) == 0;
        });
    } while (!state.search_is_over && ends.read(end) == 0);
    if (team.is_first() && state.search_is_over)
        relaxed_store(messages.from_searchers(), static_cast<u32>(state.splits + 1));
}

// Splits the grid in two, and joins the parts when one of them is done.
__device__ void split(const Arguments& args, GridTeam& team, GridTeam& pushers, GridTeam& searchers,
                      const RotatingSizes& sizes, const Messages& messages, MatchingState& state,
                      u64 (&counts)[COUNTS]) {
    const auto save_words = [&](bool of_search) {
        const u64* const copy = reinterpret_cast<const u64*>(&state);
        for (u64 k = 0; k < sizeof state / sizeof(u64); ++k)
            if (is_of_search(state, &copy[k]) == of_search) relaxed_store(&args.loop.state[k], copy[k]);
    };
    if (blockIdx.x < searchers.first_block) {
        push_while_searching(args, pushers, sizes, messages, state, counts);
        if (pushers.is_first()) save_words(false);
    } else {
        search_while_pushing(args, searchers, messages, state);
        if (searchers.is_first()) save_words(true);
    }
    team.wait([&] {
        load_state(args.loop.state, state);
        ++state.splits;
        if (state.phase != REPAIR && state.search_is_over) state.phase = TAKE_OVER;
    });
}
