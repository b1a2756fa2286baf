// The state of the loop of a persistent kernel: numbers of 64 bits, of which `phase`, `rounds_left` (barriers left of
// this launch) and `round` (barriers so far) are in each. Each block has a copy in shared memory, which its first
// thread changes between the two halves of a barrier. Between two launches the state is in device memory.
#include "grid.cuh"
#include "cuda/launches.py: Loop"

template <class State>
__device__ void load_state(const u64* words, State& state) {
    u64* const copy = reinterpret_cast<u64*>(&state);
    for (u32 k = 0; k < sizeof(State) / sizeof(u64); ++k) copy[k] = relaxed_load(&words[k]);
}

template <class State>
__device__ void save_state(u64* words, const State& state) {
    const u64* const copy = reinterpret_cast<const u64*>(&state);
    for (u32 k = 0; k < sizeof(State) / sizeof(u64); ++k) relaxed_store(&words[k], copy[k]);
}

// Counts a barrier; the launch ends after it if the first thread has asked for that.
template <class Team, class State>
__device__ void end_round(const Team& team, State& state) {
    state.rounds_left = team.is_last(state.round) ? 0 : state.rounds_left - min(state.rounds_left, 1ull);
    ++state.round;
}

// The loop of a kernel: all threads call `round` with their team and the state until the phase is `done` or the launch
// is over. It is never over in the phase `unbroken`.
template <class State, class Round>
__device__ void run_loop(const Loop& loop, u64 done, Round round, u64 unbroken = ~0ull) {
    SharedArena arena;
    State& state = *arena.take<State>(1);
    GridTeam team(loop.arrivals);
    team.wait([&] { load_state(loop.state, state); });
    while (state.phase != done && (state.rounds_left > 0 || state.phase == unbroken)) round(team, state);
    team.wait([&] {
        if (blockIdx.x == 0) save_state(loop.state, state);
    });
}
