"""Measure preflow beside the other packages that solve the same problems.

``python -m benchmarks SUITE`` in the root of the repository runs a suite; ``python -m benchmarks --help``
lists them. ``benchmarks.reproduce`` has the experiments of publications, ``benchmarks.scripts`` measurements
that are no suite, ``benchmarks.scale`` those of regions on several machines. ``benchmarks.tables`` writes the
tables of the docs.
"""
