"""Methods that others are compared with: older, simpler, or of other groups.

Maximum flow:

- ``serial_generic.py``: the textbook method of Goldberg and Tarjan (1988), without heuristics.
- ``serial_ford_fulkerson.py``: Ford and Fulkerson's labelling (1962).
- ``serial_karzanov.py``: Karzanov's blocking flows by preflows (1974), in Tarjan's form (1984).
- ``serial_augmenting_paths.py``: Edmonds and Karp (1972), shortest paths and capacity scaling.
- ``multicore_anderson_setubal/``: Anderson and Setubal (1992), with locks and a global relabel while threads
  push. Cihan describes it in chapter 3 and measures it. Departures: a vertex that only waits for a locked
  neighbour goes back to the queue.
- ``multicore_synchronous.py``: Goldberg and Tarjan's pulses (1988), and the rounds of Baumstark, Blelloch and
  Shun (2015). Departure: few active vertices go to one thread.

Grid cuts:

- ``cuda_blocking.py``: CudaCuts of Vineet and Narayanan (2008), after Łupińska, section 4.3. Departure: it
  ends on an exact search, not when excess seems to stand still; ``stopping="published"`` is the print.
- ``serial_boykov_kolmogorov.py``: Boykov and Kolmogorov (2004) on grids. On networks it is a main method.

Bipartite matching (Deveci et al. run these codes on CPUs):

- ``serial_hkdw.py``: HKDW of Duff and Wiberg (1988).
- ``serial_pothen_fan.py``, ``multicore_pothen_fan.py``: PFP of Pothen and Fan (1990), with the fairness of
  Duff, Kaya and Uçar (2011); on many cores after Azad et al. (2012).
- ``multicore_disjoint_bfs.py``: P-DBFS of Azad et al. (2012). ``disjoint_searches.py`` is common to both
  methods on many cores.

  Departure of all: what a search saw that failed without meeting another one is closed for good.

What departs in all methods of maximum flow: terminals are not vertices, and the second stage, which returns
excess to the source, is that of the package.
"""
