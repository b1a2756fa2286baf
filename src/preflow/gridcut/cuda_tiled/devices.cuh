// Cooperative launches on several devices, one on each, whose threads wait for each other. The file that includes this
// is compiled with ACROSS_DEVICES. Each device can read and write the memory of the others.
#include "grid.cuh"

#include "launches.py: MOST_DEVICES, Devices, TEAM_WORDS"

// The threads of one device, which wait for those of all devices. Each device has words, zero before the first launch
// and kept from launch to launch. Each word is on a cache line of its own. A device writes to the words of the others,
// and reads its own. All count the same rounds; a word for others has the round in its upper half.
struct DevicesTeam {
    static constexpr u32 WORDS_APART = 16;
    // Places of the words: what each other device has written last on its arrival, and with its number; the signal of
    // the first thread to the other blocks; the arrivals of blocks; the rounds of earlier launches.
    static constexpr u32 ARRIVED = 0, NUMBER = MOST_DEVICES, SIGNAL = 2 * MOST_DEVICES, BLOCKS = SIGNAL + 1,
                         ROUNDS = SIGNAL + 2;
    static_assert(TEAM_WORDS == (ROUNDS + 1) * WORDS_APART, "one word for each place");
    // After this time the launch on another device has failed, or has not begun: this one ends with an error.
    static constexpr u64 PATIENCE = 20'000'000'000;

    const Devices& devices;
    u32 round;

    __device__ explicit DevicesTeam(const Devices& devices)
        : devices(devices), round(static_cast<u32>(relaxed_load(own(ROUNDS)))) {}

    __device__ u32 num_warps() const { return gridDim.x * ((blockDim.x + WARP - 1) / WARP); }
    __device__ u32 warp() const { return threadIdx.x / WARP * gridDim.x + blockIdx.x; }
    // Returns whether this is the first thread of its device.
    __device__ bool is_first() const { return blockIdx.x == 0 && threadIdx.x == 0; }

    // All threads of all devices see afterwards what any of them wrote before.
    __device__ void wait() {
        meet([] { return 0u; }, [](u32, u32) { return 0u; }, false);
    }
    // Does the same. When all have arrived, one thread of each device calls `number`; `combine` makes one number of
    // those of all devices, which all threads get. It is commutative and associative.
    template <class Number, class Combine>
    __device__ u32 wait(Number number, Combine combine) {
        return meet(number, combine, true);
    }
    // Ends the launch; called once, by all threads, after their last barrier.
    __device__ void leave() const {
        if (is_first()) relaxed_store(own(ROUNDS), static_cast<u64>(round));
    }

private:
    __device__ u64* word(u32 device, u32 place) const { return devices.words[device] + place * WORDS_APART; }
    __device__ u64* own(u32 place) const { return word(static_cast<u32>(devices.number), place); }

    __device__ void send(u32 place, u32 number) const {
        const u32 self = static_cast<u32>(devices.number);
        for (u32 other = 0; other < devices.num_devices; ++other)
            if (other != self) release_store(word(other, place + self), u64{round} << 32 | number);
    }
    // Waits until a word has the round; returns its lower half.
    __device__ u32 receive(u32 place, u64 deadline) const {
        while (true) {
            const u64 found = acquire_load(own(place));
            if (static_cast<int>(static_cast<u32>(found >> 32) - round) >= 0) return static_cast<u32>(found);
            give_up_after(deadline);
        }
    }
    __device__ static void give_up_after(u64 deadline) {
#ifdef PREFLOW_ON_CPU
        __nanosleep(20);
#else
        if (nanoseconds() > deadline) __trap();
#endif
    }

    template <class Number, class Combine>
    __device__ u32 meet(Number number, Combine combine, bool has_number) {
        __syncthreads();
        ++round;
        if (threadIdx.x == 0) {
            const u64 deadline = nanoseconds() + PATIENCE;
            fetch_add(own(BLOCKS), u64{1});
            if (blockIdx.x == 0) {
                const u32 self = static_cast<u32>(devices.number);
                while (static_cast<int>(static_cast<u32>(acquire_load(own(BLOCKS))) - round * gridDim.x) < 0)
                    give_up_after(deadline);
                send(ARRIVED, 0);
                for (u32 other = 0; other < devices.num_devices; ++other)
                    if (other != self) receive(ARRIVED + other, deadline);
                u32 all = 0;
                if (has_number) {
                    all = number();
                    send(NUMBER, all);
                    for (u32 other = 0; other < devices.num_devices; ++other)
                        if (other != self) all = combine(all, receive(NUMBER + other, deadline));
                }
                release_store(own(SIGNAL), u64{round} << 32 | all);
            }
            receive(SIGNAL, deadline);
        }
        __syncthreads();
        return static_cast<u32>(relaxed_load(own(SIGNAL)));
    }
};
