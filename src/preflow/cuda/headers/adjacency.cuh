// Visits the edges of a sparse matrix with their lines (rows or columns), evenly shared however long the lines are.
#include "platform.cuh"

// Returns the line of an edge: the last line that begins at the edge or before. `from` is that line or an earlier one.
__device__ inline u64 line_of(const u32* first, u64 num_lines, u64 edge, u64 from) {
    u64 low = from, step = 1;
    while (low + step < num_lines && first[low + step] <= edge) {
        low += step;
        step *= 2;
    }
    u64 high = min(low + step, num_lines);
    while (high - low > 1) {
        const u64 middle = low + (high - low) / 2;
        (first[middle] <= edge ? low : high) = middle;
    }
    return low;
}

// Calls `visit` with the line and the number of every edge. Each warp has a contiguous piece of the edges. So the
// line of an edge is near that of the lane's last edge, and several warps share a long line.
template <class Visit>
__device__ void visit_edges(const u32* first, u64 num_lines, u64 num_edges, Visit visit) {
    const u64 threads = grid_threads();
    const u64 piece = (num_edges + threads - 1) / threads * WARP;
    const u64 begin = grid_thread() / WARP * piece, end = min(begin + piece, num_edges);
    u64 line = 0;
    for (u64 e = begin + lane_id(); e < end; e += WARP) {
        line = line_of(first, num_lines, e, line);
        visit(line, e);
    }
}
