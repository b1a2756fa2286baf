// The persistent kernel of cuda_push_relabel: Algorithms 3 to 9 of Deveci, Kaya, Uçar and Çatalyürek (2013);
// __init__.py has definitions, invariants and pseudo-code.
#include "concurrent.cuh"

KERNEL(push_relabel_matching_slice, Arguments) {
    SharedArena arena;
    MatchingState& state = *arena.take<MatchingState>(1);
    GridTeam team(args.loop.arrivals);
    const u32 num_pushers = gridDim.x - static_cast<u32>(args.search_blocks);
    GridTeam pushers(args.loop.arrivals + 32, num_pushers);
    GridTeam searchers(args.loop.arrivals + 64, gridDim.x - num_pushers, num_pushers);
    const RotatingSizes sizes{args.loop.counters};
    const Messages messages{args.loop.counters + 3 * 32};
    u64 counts[COUNTS] = {};
    team.wait([&] {
        load_state(args.loop.state, state);
        if (*args.stops) state.phase = REPAIR;
    });
    // Blocks that push write the state while others search: all have read it before.
    if (state.is_concurrent) team.wait([] {});
    while (state.phase != DONE && state.rounds_left > 0) {
        const u64 phase = state.phase;
        if (state.is_concurrent && (phase == LIST || phase == PUSH)) {
            split(args, team, pushers, searchers, sizes, messages, state, counts);
            continue;
        }
        if (team.is_first()) {
            sizes.clear(state.round + 2);
            watch(team, args.loop.stop, state.round, state.next_look);
            messages.to_pushers().clear(state.round + 2);
        }
        if (phase == BEGIN_RELABEL)
            begin_relabel(args, team, state);
        else if (phase == RELABEL)
            relabel_level(args, team, sizes, state);
        else if (phase == RESUME)
            resume(args, team, sizes, state);
        else if (phase == LIST)
            list_active(args, team, sizes, state);
        else if (phase == PUSH)
            push_all(args, team, sizes, state, counts);
        else if (phase == BEGIN_CONCURRENT)
            begin_concurrent(args, team, state);
        else if (phase == TAKE_OVER)
            take_over(args, team, state);
        else
            repair(args, team, sizes, state);
    }
    team.wait([&] {
        if (blockIdx.x == 0) save_state(args.loop.state, state);
    });
    add_up(args.loop.counts, counts);
}
