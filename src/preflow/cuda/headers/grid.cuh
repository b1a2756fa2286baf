// Who waits for whom: all threads of a cooperative launch, or those of one block.
//
// A team is what a level of a search is expanded by, whose loop is written once: with few items one block does it
// alone, which costs a barrier of the block a level, with many the whole grid.
#include "atomics.cuh"

// All threads of the grid, or of some of its blocks; `arrivals` is two words in device memory, zero before the launch:
// a count, and what the first thread tells all.
struct GridTeam {
    // All listen in one of so many rounds: it takes a load.
    static constexpr u64 ROUNDS_A_LISTENING = 8;

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

    __device__ static bool listens(u64 round) { return round % ROUNDS_A_LISTENING == 0; }
    // Says that the launch ends with a round in which all listen: for the first thread, before that round's barrier.
    __device__ void tell_last(u64 round) const { relaxed_store(&arrivals[1], static_cast<u32>(round) + 1); }
    // Whether it does, after the barrier and before the next one; so all threads hear the same.
    __device__ bool is_last(u64 round) const {
        return listens(round) && relaxed_load(&arrivals[1]) == static_cast<u32>(round) + 1;
    }

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

// Some blocks, the first ones, up to 511, whose barrier adds up a number of each: everybody has the sum without another
// look. Between its arrival and its wait a block may do something else. A copy in the shared
// memory of each block, of which one thread calls all methods. `words` is two words in device memory, on cache lines of
// their own, and zero before the launch.
struct AddingTeam {
    // The bits of a word: the sum, and how many blocks have arrived.
    static constexpr u32 ARRIVALS_AT = 55;
    static constexpr u32 WORDS_APART = 16;

    u64* words;
    u64 before[2];
    u32 num_blocks;
    u32 round;

    __device__ void begin(u64* two_words, u32 blocks) {
        words = two_words;
        before[0] = before[1] = 0;
        num_blocks = blocks;
        round = 0;
    }

    // With `tells`, what the threads of this block wrote before they last met is seen by the other blocks after.
    __device__ void arrive(u64 number, bool tells) {
        u64* const word = &words[round % 2 * WORDS_APART];
        const u64 mine = number | 1ull << ARRIVALS_AT;
        if (tells)
            fetch_add(word, mine);
        else
            relaxed_fetch_add(word, mine);
    }

    // Returns the sum of the numbers of all blocks when they have arrived. If it has one of the bits `telling`, what
    // they told is seen after. Rounds take turns with the words, so that who is slow still finds this round's sum.
    __device__ u64 wait(u64 telling) {
        const u32 turn = round++ % 2;
        const u64* const word = &words[turn * WORDS_APART];
        u64 sum;
        do {
#ifdef PREFLOW_ON_CPU
            __nanosleep(20);
#endif
            sum = relaxed_load(word) - before[turn];
        } while (sum >> ARRIVALS_AT < num_blocks);
        before[turn] += sum;
        if ((sum & telling) != 0) acquire_load(word);
        return sum & ((1ull << ARRIVALS_AT) - 1);
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
