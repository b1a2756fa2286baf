// Costs of transport as integers: read from a matrix, or computed from points and rounded.
#include "atomics.cuh"
#include "cost_types.cuh"
#include "numbers.cuh"

// Every kernel must compute the same distance, so the compiler must not fuse products and sums.
#ifdef PREFLOW_ON_CPU
inline double product(double a, double b) { return a * b; }
inline double sum_of(double a, double b) { return a + b; }
inline i64 rounded(double a) { return std::llrint(a); }
#else
__device__ __forceinline__ double product(double a, double b) { return __dmul_rn(a, b); }
__device__ __forceinline__ double sum_of(double a, double b) { return __dadd_rn(a, b); }
__device__ __forceinline__ i64 rounded(double a) { return __double2ll_rn(a); }
#endif

// HAS_COPY 1: there are the costs in single precision as well, times the factor.
#ifndef HAS_COPY
#define HAS_COPY 0
#endif

// Matrices of all items, one after the other, each stored by rows; or the points of rows and of columns, with
// DIMENSION coordinates each. Floats are multiplied by `factor`, the word of a float64, and rounded.
struct Costs {
#include "refined.py: Costs._fields"

#if COST_KIND > 3
    __device__ __forceinline__ double distance(u64 row, u64 column) const {
        double total = 0;
#pragma unroll
        for (u32 axis = 0; axis < DIMENSION; ++axis) {
            const double difference =
                sum_of(static_cast<const double*>(rows)[row * DIMENSION + axis], -static_cast<const double*>(columns)[column * DIMENSION + axis]);
            const double gap = difference < 0 ? -difference : difference;
            if (COST_KIND == 7)
                total = gap > total ? gap : total;
            else
                total = sum_of(total, COST_KIND == 6 ? gap : product(gap, gap));
        }
        return COST_KIND == 4 ? sqrt(total) : total;
    }
#else
    __device__ __forceinline__ Stored stored(u64 row, u64 column) const {
        return static_cast<const Stored*>(rows)[row * num_columns + column];
    }
#endif
    __device__ __forceinline__ i64 at(u64 row, u64 column) const {
#if COST_KIND <= 1
        return static_cast<i64>(stored(row, column));
#elif COST_KIND <= 3
        return rounded(product(static_cast<double>(stored(row, column)), same_bits<double>(factor)));
#else
        return rounded(product(same_bits<double>(factor), distance(row, column)));
#endif
    }
    // The cost in single precision. A cost or the factor may lie outside of its range, unless costs are float32.
    __device__ __forceinline__ float about(u64 row, u64 column) const {
#if COST_KIND <= 1
        return static_cast<float>(stored(row, column));
#elif COST_KIND == 2
        return stored(row, column) * static_cast<float>(same_bits<double>(factor));
#elif COST_KIND == 3 && HAS_COPY
        return static_cast<const float*>(columns)[row * num_columns + column];
#elif COST_KIND == 3
        return static_cast<float>(product(stored(row, column), same_bits<double>(factor)));
#else
        return static_cast<float>(same_bits<double>(factor) * distance(row, column));
#endif
    }
    // The costs of one item.
    __device__ Costs part(u64 item, u64 num_rows) const {
        Costs part = *this;
#if COST_KIND <= 3
        part.rows = static_cast<const Stored*>(rows) + item * num_rows * num_columns;
#endif
#if HAS_COPY
        part.columns = static_cast<const float*>(columns) + item * num_rows * num_columns;
#endif
        return part;
    }
};
