// The types of costs of pairs by COST_KIND, which the `macros` of graph/device/costs.py and points.py define.
//
// COST_KIND 0 to 3: a matrix of int32, int64, float32, float64. COST_KIND 4 to 7: float64 distances of points,
// EUCLIDEAN, SQEUCLIDEAN, CITYBLOCK and CHEBYSHEV of graph/point_costs.py.
#include "platform.cuh"

#ifndef COST_KIND
#define COST_KIND 0
#endif

#if COST_KIND == 0
using Stored = int;
#elif COST_KIND == 1
using Stored = i64;
#elif COST_KIND == 2
using Stored = float;
#else
using Stored = double;
#endif

// Of sums of costs.
#if COST_KIND <= 1
using Number = i64;
#else
using Number = double;
#endif
