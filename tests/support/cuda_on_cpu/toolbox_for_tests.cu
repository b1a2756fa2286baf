// What tests/cuda/test_toolbox.py runs: pieces that kernels are made of.
#include "grid.cuh"
#include "inboxes.cuh"
#include "lanes.cuh"
#include "residual.cuh"
#include "worklist.cuh"

#include "toolbox.py: Adding, Owners, Places, Pushes"

// In round r block b gives r + b, and every third block tells. All blocks check what they are told.
KERNEL(adding_rounds, Adding) {
    SharedArena arena;
    u64& told = *arena.take<u64>(1);
    AddingTeam& team = *arena.take<AddingTeam>(1);
    if (threadIdx.x == 0) team.begin(args.words, gridDim.x);
    for (u32 round = 0; round < args.rounds; ++round) {
        const bool tells = (round + blockIdx.x) % 3 == 0;
        if (tells && threadIdx.x == blockDim.x - 1) args.written[round * gridDim.x + blockIdx.x] = 1;
        __syncthreads();
        // The upper half of the sum says how many blocks tell.
        if (threadIdx.x == 0) {
            team.arrive(round + blockIdx.x + (static_cast<u64>(tells) << 32), tells);
            if ((round + blockIdx.x) % 5 == 0) __nanosleep(100000);  // the others are at the next barrier by then
            told = team.wait(0xffull << 32);
        }
        __syncthreads();
        u64 sum = 0;
        for (u32 b = 0; b < gridDim.x; ++b) {
            const bool has_told = (round + b) % 3 == 0;
            sum += round + b + (static_cast<u64>(has_told) << 32);
            if (has_told && args.written[round * gridDim.x + b] != 1) relaxed_fetch_add(args.errors, 1u);
        }
        if (told != sum) relaxed_fetch_add(args.errors, 1u);
        __syncthreads();
    }
}

KERNEL(find_owners, Owners) {
    const InboxRoom room{nullptr, nullptr};
    const Inboxes inboxes = room.split(static_cast<u32>(args.num_owners), 1000);
    for (u32 i = grid_thread(); i < args.num_vertices; i += grid_threads())
        args.owners[i] = inboxes.owner_of(args.vertices[i]);
}

KERNEL(take_places, Places) {
    const bool has[2] = {args.first[grid_thread()] != 0, args.second[grid_thread()] != 0};
    u32 place[2];
    if (!new_places(args.size, has, place)) return;
    for (u32 k = 0; k < 2; ++k)
        if (has[k]) args.listed[place[k]] = 2 * grid_thread() + k;
}

// Two threads, which own an arc each, one the reverse of the other, push over it what it holds at times.
KERNEL(push_back_and_forth, Pushes) {
    const u32 self = threadIdx.x;
    __syncthreads();  // both are there
    for (u32 k = 0; k < args.pushes; ++k) {
        const Arc arc = load_arc(args.arcs, self);
        if (arc.residual == 0) continue;
        const i64 amount = k % 4 == 3 ? arc.residual : 1 + (arc.residual - 1) / 3 * (k % 4);
        if (push_over(args.arcs, self, arc.reverse, amount) < amount) relaxed_fetch_add(args.errors, 1u);
    }
}
