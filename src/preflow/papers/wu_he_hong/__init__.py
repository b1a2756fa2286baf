"""Wu, He and Hong, "Efficient CUDA Algorithms for the Maximum Network Flow Problem" (2011), and its roots.

The paper is chapter 5 of GPU Computing Gems, Jade Edition. It rests on Hong, "A lock-free multi-threaded
algorithm for the maximum flow problem" (IPDPS 2008), and on Hong and He, "An asynchronous multithreaded
algorithm for the maximum network flow problem with nonblocking global relabeling heuristic" (IEEE TPDS 2011).

- ``multicore_lockfree.py``: Hong's algorithm on CPU threads, and with ``concurrent_relabel`` that of Hong and
  He, ARG. We read the latter as the cpu-async of section 5.4.
- ``cuda_hybrid.py``: gpu-async (Algorithms 1, 2 and 4), which is He and Hong's CPU-GPU-Hybrid. The GPU pushes
  and relabels, the CPU relabels globally. With gap relabeling it is also Łupińska's system for networks.
- ``cuda_lockfree.py``: the same kernel, but global relabels on the GPU; with ``relabel="concurrent"`` they
  run beside the pushes, as in ARG.
- ``cuda_locks.py``: the same with locks of vertices, for which section 5.1 asks a study.
- ``cuda_coloring/``: gpu-color (Algorithm 3). Arcs of one colour push at the same time, without atomic
  operations; ``weighted`` is the proposal of section 5.5, ``barrier`` the choice of section 5.3.

The kernels of Hong's algorithm on CPU threads are in ``parallel/lockfree.py``, because the main method
`multicore-lockfree` of grid cuts has them, too.

What departs in all of them: terminals are not vertices, the dead label is n + 1, and labels start exact
unless ``initial_labels="zero"``. The names `Hong`, `gpu-async`, `CPU-GPU-Hybrid`, `Lupinska` and `gpu-color`
stand for the options as printed; none of the texts prints `cpu-async` or `ARG`. A solve ends when an exact
search finds no excess that can reach the sink; the paper's test e(s) + e(t) =
ExcessTotal misses excess that still moves. Where the print is wrong, the file says so: the height test of
Algorithm 2, the neighbours and the inactive vertices of Algorithm 3, the marks of Algorithm 4.
"""
