// The types of numbers that batch.cu is compiled for, keys of unsigned bits that compare as the numbers do, and minima
// over a warp.
#include "atomics.cuh"
#include "lanes.cuh"
#include "numbers.cuh"

template <u32 which> struct SourceType;
template <> struct SourceType<0> { using Type = int; };
template <> struct SourceType<1> { using Type = i64; };
template <> struct SourceType<2> { using Type = float; };
template <> struct SourceType<3> { using Type = double; };
using Source = SourceType<SOURCE>::Type;

template <u32 which> struct NumberType;
template <> struct NumberType<0> { using Type = int; using Key = u32; using Sum = i64; };
template <> struct NumberType<1> { using Type = i64; using Key = u64; using Sum = i64; };
template <> struct NumberType<2> { using Type = double; using Key = u64; using Sum = double; };
using Number = NumberType<NUMBER>::Type;
using Key = NumberType<NUMBER>::Key;
using Sum = NumberType<NUMBER>::Sum;
constexpr bool FLOATS = NUMBER == 2;

template <u32 bytes, bool floats> struct StoredType { using Type = Source; };
template <> struct StoredType<1, false> { using Type = u8; };
template <> struct StoredType<2, false> { using Type = unsigned short; };
template <> struct StoredType<4, false> { using Type = u32; };
template <> struct StoredType<8, false> { using Type = i64; };
using Stored = StoredType<STORED, FLOATS>::Type;

using u16 = unsigned short;

struct alignas(VECTOR * sizeof(Source)) Vector {
    Source of[VECTOR];
};
constexpr u32 TEAM_THREADS = WARPS * WARP;
// No row or column.
constexpr u32 NONE = 0xffffu;
// Loads of costs that a thread starts before it uses the first.
constexpr u32 AT_ONCE = 8;

// A number above all costs and distances.
__device__ __forceinline__ Number infinity() {
    if (FLOATS) return static_cast<Number>(same_bits<double>(0x7ffull << 52));
    return static_cast<Number>(3ll << (8 * sizeof(Number) - 3));
}

// A search marks a column whose distance is final as closed by making the distance negative; `reopened` undoes this.
__device__ __forceinline__ Number closed(Number distance) {
    return FLOATS ? static_cast<Number>(same_bits<double>(same_bits<u64>(static_cast<double>(distance)) | 1ull << 63))
                  : static_cast<Number>(-1 - distance);
}
__device__ __forceinline__ bool is_closed(Number distance) { return same_bits<Key>(distance) >> (8 * sizeof(Key) - 1); }
__device__ __forceinline__ Number reopened(Number distance) { return FLOATS ? -distance : -1 - distance; }

// The key by which minima are taken: unsigned bits in the order of the numbers. Keys of closed columns come last. Of
// equal integers, a free column's key comes first.
__device__ __forceinline__ Key key_of(Number value, bool taken) {
    if (FLOATS) return same_bits<Key>(value);
    return static_cast<Key>(value) << 1 | taken;
}
__device__ __forceinline__ Number number_of(Key key) {
    if (FLOATS) return same_bits<Number>(key);
    return static_cast<Number>(key >> 1);
}

__device__ __forceinline__ void team_sync() {
    if (WARPS == 1)
        __syncwarp();
    else
        __syncthreads();
}

// A column and its row, or NONE, in one word.
__device__ __forceinline__ u32 place_of(u32 column, u32 row) { return row << 16 | column; }
__device__ __forceinline__ u32 column_at(u32 place) { return place & 0xffffu; }
__device__ __forceinline__ u32 row_at(u32 place) { return place >> 16; }

// The key of a number, and the column (with its row) that it belongs to.
struct Candidate {
    Key key;
    u32 place;

    __device__ Number value() const { return number_of(key); }
    __device__ Candidate of_lane(u32 lane) const {
        return {__shfl_sync(ALL_LANES, key, lane), __shfl_sync(ALL_LANES, place, lane)};
    }
};

__device__ __forceinline__ Candidate lesser(Candidate a, Candidate b) {
    const bool less = b.key < a.key;
    return {less ? b.key : a.key, less ? b.place : a.place};
}

struct TwoCandidates {
    Candidate best, second;

    // Returns the least two candidates of all lanes.
    __device__ TwoCandidates of_warp() const {
        const u32 lane = lane_of_least(best.key);
        const Candidate rest = lane_id() == lane ? second : best;
        return {best.of_lane(lane), rest.of_lane(lane_of_least(rest.key))};
    }
};

// A column from which a search may continue. Adding `height` turns the reduced costs of its row into distances.
struct Nearest {
    Key key;
    u32 place;
    Number height;
};
