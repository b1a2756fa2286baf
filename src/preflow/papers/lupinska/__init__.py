"""Łupińska (2011): graph cuts on a GPU, and assignment by cost scaling without locks.

- ``cuda_hybrid.py``: the system of sections 4.5 and 4.6 on grids (Algorithms 4.6 to 4.8). The GPU pushes and
  relabels; the CPU cancels steep arcs, relabels globally, and closes gaps. ``gap=False`` is He and Hong's
  CPU-GPU-Hybrid.
- ``multicore_lockfree.py``: assignment by the pushes and relabels of Algorithm 5.4, on CPU threads.

Other systems of the work lie elsewhere. The same hybrid on networks is ``wu_he_hong/cuda_hybrid.py``, Hong's
algorithm (section 4.4) is ``wu_he_hong/multicore_lockfree.py``, and CudaCuts (section 4.3) is
``baselines/cuda_blocking.py``. Four relatives are main methods, which ``auto`` takes: Hong's algorithm on
grids, on CPU threads and on a GPU (``multicore_lockfree.py`` and ``cuda_lockfree.py`` in ``gridcut``),
assignment on a GPU (``assignment/cuda_lockfree.py``, section 5.5), and cost scaling by Algorithms 5.0 to 5.3
(``assignment/serial_cost_scaling``).

What departs. On grids, as printed, some solves never end: only heights go back to the GPU, although the CPU
has moved excess, and ExcessTotal misses excess that comes to a stranded pixel later. ``upload=False`` and
``stopping="published"`` are the print, bounded by a number of rounds; the names `Lupinska` and
`CPU-GPU-Hybrid` of `grid_cut` stand for them. On networks these names have both faults mended. In Algorithm
5.4 a thread whose vertex is idle would leave for ever, and the neighbour of least price is not recorded; here
each thread has a list of active vertices, and one step relabels and pushes. An infeasible refine never ends,
so a matching of all rows is found first where some pairs are not allowed.
"""
