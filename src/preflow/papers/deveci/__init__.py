"""Deveci, Kaya, Uçar and Çatalyürek: bipartite matching on GPUs (two papers of 2013).

- ``cuda_push_relabel/``: G-PR of "A push-relabel-based maximum cardinality bipartite matching algorithm on
  GPUs", Algorithms 3 to 9, under the names `G-PR-First`, `G-PR-NoShr` and `G-PR-Shr` or `G-PR`;
  ``relabel="concurrent"`` is the future work of its section V.
- ``cuda_hopcroft_karp.py``: G-HK and G-HKDW of "GPU accelerated maximum cardinality matching algorithms for
  bipartite graphs" (Euro-Par 2013), with which the first paper compares G-PR.

The serial push-relabel code PR (Algorithms 1 and 2) is a main method, ``bipartite/serial_push_relabel.py``,
as is Hopcroft and Karp's. The other codes that the paper runs on CPUs, HKDW, PFP and P-DBFS, are in
``baselines``.

What departs in both: everything is one cooperative kernel with barriers, where the papers launch a kernel a
step. Corrected in G-PR are three tests. A column is active unless it has its row or has been given up (the
test of Algorithm 6 and of FIXMATCHING reads out of bounds for columns that were given up). A refused push
leaves its column on the list (Algorithm 9). An adaptive interval between global relabels is at least one
round; otherwise the next relabel may never come.
"""
