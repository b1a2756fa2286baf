"""The methods of four papers, and the baselines that they and others are compared with.

Each is a method like any other: the ``problem.py`` of its problem has its name and the module that solves.
But ``method="auto"`` never takes one, and no module outside of this folder imports one. Tests check both. A
piece that a method here shares with one that ``auto`` takes lies with the latter.

- ``cihan``: maximum flow on many cores, 2010
- ``wu_he_hong``: maximum flow without locks, on many cores and on GPUs, 2008 to 2011
- ``deveci``: bipartite matching on GPUs, 2013
- ``lupinska``: grid cuts on a GPU, and assignment without locks, 2011
- ``baselines``: older or simpler methods of several problems

The docstring of each folder says which system of the paper a file is, and what departs. ``docs/reproducing``
has the experiments.
"""
