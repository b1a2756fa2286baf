// Costs for the kernel of cuda-shortest-path: the type of numbers, words that compare as numbers do, and rows of costs
// that are read from a matrix or computed from points.
#include "atomics.cuh"
#include "cost_types.cuh"
#include "numbers.cuh"

// Words compare as their numbers do, if the numbers are not negative.
__device__ __forceinline__ u64 word_of(Number value) { return same_bits<u64>(value); }
__device__ __forceinline__ Number number_of(u64 word) { return same_bits<Number>(word); }

#if COST_KIND <= 1
__device__ __forceinline__ Number number_of_key(u64 key) { return number_of(key ^ SIGN); }
#else
__device__ __forceinline__ Number number_of_key(u64 key) { return number_of(key & SIGN ? key ^ SIGN : ~key); }
#endif

// `beyond` is the distance of rows out of reach. Distances of `too_far` or more do not fit integer prices.
#if COST_KIND <= 1
__device__ __forceinline__ Number beyond() { return i64{1} << 61; }
__device__ __forceinline__ Number too_far() { return i64{1} << 59; }
#else
__device__ __forceinline__ Number beyond() { return number_of(0x7ffull << 52); }
__device__ __forceinline__ Number too_far() { return beyond(); }
#endif

__device__ __forceinline__ Number not_negative(Number value) { return value > 0 ? value : Number{0}; }
__device__ __forceinline__ Number smaller(Number a, Number b) { return b < a ? b : a; }

// The fall of a price since the start in 32 bits that compare as the falls do. It is rounded down: a price may fall by
// less than a bid allows.
#if COST_KIND <= 1
__device__ __forceinline__ u32 fall_below(Number value) {
    return value < Number{0xffffffff} ? static_cast<u32>(value) : 0xffffffffu;
}
__device__ __forceinline__ Number number_of_fall(u32 fall) { return fall; }
#else
__device__ __forceinline__ u32 fall_below(Number value) {
    if (value > 3e38) value = 3e38;
    const float rounded = static_cast<float>(value);
    const u32 bits = same_bits<u32>(rounded);
    return rounded > value ? bits - 1 : bits;
}
__device__ __forceinline__ Number number_of_fall(u32 fall) { return same_bits<float>(fall); }
#endif

// Dense matrices, one after the other, each stored by rows.
struct MatrixCosts {
#include "__init__.py: MatrixCosts._fields"

    struct Row {
        const Stored* values;
        __device__ __forceinline__ Number at(u32 column) const { return static_cast<Number>(values[column]); }
        // Prefetches the row; all threads of a block call it.
        __device__ __forceinline__ void fetch(u64 num_columns) const {
            constexpr u32 COLUMNS_A_LINE = 128 / sizeof(Stored);
            for (u64 j = threadIdx.x * COLUMNS_A_LINE; j < num_columns; j += blockDim.x * COLUMNS_A_LINE)
                prefetch<false>(values + j);
        }
    };
    __device__ __forceinline__ Row row(u32 i) const { return {values + i * num_columns}; }
    __device__ MatrixCosts part(u64 problem, u64 num_rows) const {
        MatrixCosts part = *this;
        part.values += problem * num_rows * num_columns;
        return part;
    }
};

#if COST_KIND > 3
// The points of rows and of columns, with DIMENSION coordinates each; `factor` is the word of the number that their
// distances are multiplied by.
struct PointCosts {
#include "__init__.py: PointCosts._fields"

    struct Row {
        double own[DIMENSION];
        const double* columns;
        double factor;

        __device__ __forceinline__ Number at(u32 column) const {
            const double* const other = columns + static_cast<u64>(column) * DIMENSION;
            double total = 0;
#pragma unroll
            for (u32 axis = 0; axis < DIMENSION; ++axis) {
                const double difference = own[axis] - other[axis];
                const double gap = difference < 0 ? -difference : difference;
                if (COST_KIND == 7)
                    total = gap > total ? gap : total;
                else
                    total += COST_KIND == 6 ? gap : gap * gap;
            }
            return factor * (COST_KIND == 4 ? sqrt(total) : total);
        }
        __device__ __forceinline__ void fetch(u64) const {}
    };
    __device__ __forceinline__ Row row(u32 i) const {
        Row row;
#pragma unroll
        for (u32 axis = 0; axis < DIMENSION; ++axis) row.own[axis] = rows[static_cast<u64>(i) * DIMENSION + axis];
        row.columns = columns;
        row.factor = number_of(factor);
        return row;
    }
    __device__ PointCosts part(u64, u64) const { return *this; }
};
using Costs = PointCosts;
#else
using Costs = MatrixCosts;
#endif
