// The bits of numbers, and unsigned words that sort like the numbers.
#include "platform.cuh"

template <class To, class From>
__device__ __forceinline__ To same_bits(From value) {
    static_assert(sizeof(To) == sizeof(From), "words of one size");
    union {
        From from;
        To to;
    } word = {value};
    return word.to;
}

constexpr u64 SIGN = 1ull << 63;

__device__ __forceinline__ u64 key_of(i64 value) { return static_cast<u64>(value) ^ SIGN; }
__device__ __forceinline__ u64 key_of(double value) {
    const u64 word = same_bits<u64>(value);
    return word & SIGN ? ~word : word | SIGN;
}
__device__ __forceinline__ u32 key_of(float value) {
    const u32 word = same_bits<u32>(value);
    return word >> 31 ? ~word : word | 1u << 31;
}
