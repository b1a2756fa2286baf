"""The tables of README and docs, made from the records in ``benchmarks/results/``.

    python -m benchmarks.tables                 write the table of the README
    python -m benchmarks.tables NAME ...        print tables, with their sources; "records" lists all records

The README has its table between two comments, ``<!-- table: NAME -->`` and ``<!-- end -->``; a test fails if
it has other rows than the records. Pages of the site have a directive ``{record-table} NAME`` in place of a
table, which Sphinx replaces when the site is built.
"""
