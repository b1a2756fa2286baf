// Who waits for whom: all threads of a cooperative launch, or those of one block.
//
// A team is what a level of a search is expanded by, whose loop is written once: with few items one block does it
// alone, which costs a barrier of the block a level, with many the whole grid.
#include "atomics.cuh"

// All threads of the grid, or of some of its blocks; `arrivals` counts in device memory and is zero before the launch.
struct GridTeam {
    u32* arrivals;
    u32 num_blocks;
    u32 first_block;
    u32 target = 0;

    __device__ explicit GridTeam(u32* arrivals) : GridTeam(arrivals, gridDim.x) {}
    __device__ GridTeam(u32* arrivals, u32 num_blocks, u32 first_block = 0)
        : arrivals(arrivals), num_blocks(num_blocks), first_block(first_block) {}

    __device__ u32 num_warps() const { return num_blocks * ((blockDim.x + WARP - 1) / WARP); }
    __device__ u32 block() const { return blockIdx.x - first_block; }
    __device__ u32 warp() const { return threadIdx.x / WARP * num_blocks + block(); }
    __device__ u32 thread() const { return block() * blockDim.x + threadIdx.x; }
    __device__ u32 num_threads() const { return num_blocks * blockDim.x; }
    __device__ bool is_first() const { return block() == 0 && threadIdx.x == 0; }

    // What any thread wrote before is seen by all threads after. In between, when all have come, one thread of
    // each block calls `then`. Arrivals count up for ever: the difference to the target is modulo 2**32.
    template <class Then>
    __device__ void wait(Then then) {
        target += num_blocks;
        __syncthreads();
        if (threadIdx.x == 0) {
            fetch_add(arrivals, 1u);
            do {
#ifdef PREFLOW_ON_CPU
                __nanosleep(20);
#endif
            } while (static_cast<int>(acquire_load(arrivals) - target) < 0);
            then();
        }
        __syncthreads();
    }
};

// All threads of some blocks, the first ones, whose barrier adds up a number of each block: everybody has the sum
// without another look. `words` is two words in device memory, on cache lines of their own, and zero before the launch.
struct AddingTeam {
    // The bits of a word: the sum, and how many blocks have come.
    static constexpr u32 COME_AT = 55;
    static constexpr u32 WORDS_APART = 16;

    u64* words;
    u32 num_blocks;
    u32 round = 0;
    u64 before[2] = {0, 0};

    __device__ AddingTeam(u64* words, u32 num_blocks) : words(words), num_blocks(num_blocks) {}

    __device__ u32 block() const { return blockIdx.x; }
    __device__ u32 thread() const { return block() * blockDim.x + threadIdx.x; }
    __device__ u32 num_threads() const { return num_blocks * blockDim.x; }

    // A barrier; what threads wrote before is only seen by other blocks after if their block's number has one of the
    // bits `telling`. One thread of each block calls `then` with the sum of the numbers of all blocks, which the same
    // thread gives. The threads of a block have met before, when they knew the number. Rounds take turns with the words,
    // so that who is slow still finds this round's sum.
    template <class Then>
    __device__ void wait(u64 number, u64 telling, Then then) {
        const bool tells = (number & telling) != 0;
        if (tells) __syncthreads();
        if (threadIdx.x == 0) {
            const u32 turn = round % 2;
            u64* const word = &words[turn * WORDS_APART];
            const u64 mine = number | 1ull << COME_AT;
            if (tells)
                fetch_add(word, mine);
            else
                relaxed_fetch_add(word, mine);
            u64 sum;
            do {
#ifdef PREFLOW_ON_CPU
                __nanosleep(20);
#endif
                sum = relaxed_load(word) - before[turn];
            } while (sum >> COME_AT < num_blocks);
            before[turn] += sum;
            ++round;
            if ((sum & telling) != 0) acquire_load(word);
            then(sum & ((1ull << COME_AT) - 1));
        }
        __syncthreads();
    }
};

// The threads of one block.
struct BlockTeam {
    __device__ u32 num_warps() const { return (blockDim.x + WARP - 1) / WARP; }
    __device__ u32 warp() const { return threadIdx.x / WARP; }

    template <class Then>
    __device__ void wait(Then then) {
        __syncthreads();
        if (threadIdx.x == 0) then();
        __syncthreads();
    }
};
