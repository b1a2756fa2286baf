"""Cihan, "Parallel Maximum Flow Solver for Multi-Core Machines" (thesis, 2010).

- ``multicore_fifo.py``: the thesis's solver (chapter 4). Each thread has a queue of active vertices and
  donates some to threads that have none; after n relabels all threads search exact heights.
- ``multicore_highest_label_gap.py``: the solver of Bader and Sachdeva (2005), which chapter 3 describes, on
  the same foundation. Chapter 6 names its gap relabeling as what the thesis's solver lacks.
- ``multicore_discharge.py``: the kernels of both, with definitions, invariants and pseudo-code.
- ``jump_queues.py``: the queues of the parallel global relabel of section 4.6.3.
- ``buckets.py``: vertices by height, for highest label first.

The serial codes of the thesis are main methods: F_PRF and Q_PRF are ``maxflow/serial_fifo.py``, M_PRF, H_PRF
and the HI_PR codes are ``maxflow/serial_highest_label.py``. The system of chapter 3 that it compares itself
with, Anderson and Setubal's, is in ``baselines``, as is the generic method of figure 2.3.

What departs in all of them: terminals are not vertices, and the dead label is n + 1. A solve begins with a
global relabel, since figure 4.9 would never queue vertices with label 0, and ends on one that finds no excess
that can reach the sink. Printed are two faults, which the files describe: figure 4.9 deadlocks when all
threads are idle before n relabels were counted, and figure 4.10 may queue a vertex twice. The default search
and the default donation are ours. The options ``search="jump-queues"`` and ``donation="oldest"`` are the
thesis's, and the name `Cihan` stands for them.
"""
