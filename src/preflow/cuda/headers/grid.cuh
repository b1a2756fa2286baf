// Teams of threads that wait for each other: all threads of a cooperative launch, or those of one block.
//
// The loop that expands a level of a search is written once, for any team. One block expands a level of few items,
// which costs a barrier of the block; the whole grid expands a level of many.
#include "atomics.cuh"

// All threads of the grid, or of some of its blocks. `arrivals` is two words in device memory, zero before the
// launch: a count of arrivals, and a signal from the first thread to all.
struct GridTeam {
    // All threads check for that signal in one of this many rounds, since a check takes a load.
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
    // Signals that the launch ends with a round in which all threads check; called by the first thread before its
    // barrier.
    __device__ void tell_last(u64 round) const { relaxed_store(&arrivals[1], static_cast<u32>(round) + 1); }
    // Returns whether the launch ends with this round; called between its barrier and the next, so that all threads
    // agree.
    __device__ bool is_last(u64 round) const {
        return listens(round) && relaxed_load(&arrivals[1]) == static_cast<u32>(round) + 1;
    }

    // All threads see afterwards what any thread wrote before. When all have arrived, one thread of each block calls
    // `then`. Arrivals are never reset: their difference to the target is taken modulo 2**32.
    __device__ void wait() {
        wait([] {});
    }
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

// The first blocks of a grid, up to 511, with a barrier that adds up a number of each block; all blocks get the sum
// without another load. Between its arrival and its wait a block may do other work. Each block has a copy in shared
// memory, and one of its threads calls all methods. `words` is two words in device memory, on their own cache lines,
// zero before the launch.
struct AddingTeam {
    // A word has the sum in its lower bits and the number of arrivals in its upper bits.
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

    // With `tells`, the other blocks see afterwards what the threads of this block wrote before their last barrier.
    __device__ void arrive(u64 number, bool tells) {
        u64* const word = &words[round % 2 * WORDS_APART];
        const u64 mine = number | 1ull << ARRIVALS_AT;
        if (tells)
            fetch_add(word, mine);
        else
            relaxed_fetch_add(word, mine);
    }

    // Waits for all blocks and returns the sum of their numbers. If the sum has one of the bits `telling`, this block
    // sees what the others wrote. Two words take turns, so that a slow block still finds the sum of its round.
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
