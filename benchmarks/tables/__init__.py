"""The tables of README and docs, written from the records in ``benchmarks/results/``.

    python -m benchmarks.tables

A page has a table between two comments, ``<!-- table: NAME -->`` and ``<!-- end -->``. A test fails if a page
has other rows than its records.
"""
