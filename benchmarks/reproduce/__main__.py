"""Repeat the experiments of publications.

In the root of the repository:

    python -m benchmarks.reproduce SUITE ... [OPTION ...]

Suites:

    cihan           Cihan's thesis (2010): six families and seven volumes at its sizes, six methods on 1 to
                    16 threads. Takes hours. --file names DIMACS files of its volumes; otherwise synthetic
                    volumes of the same size are measured.
    cihan-small     The same families and volumes, smaller. Takes minutes.
    wu-he-hong      Wu, He and Hong (2011): five families on a GPU and on the CPU.
    deveci28        Deveci et al. (2013): 28 matrices on a GPU and on the CPU. --file names Matrix Market
                    files of them; otherwise graphs of the same kind are generated. A matrix that is read
                    must have a maximum matching of the published cardinality.
    deveci28-small  Generated graphs with a 64th of the rows.

The options are those of `preflow bench`; `preflow bench --help` lists them. The suites choose the methods and
numbers of threads of the publication unless --method and --threads are given. For example:

    python -m benchmarks.reproduce cihan-small --no-peers --out bench-output
    python -m benchmarks.reproduce cihan --instance '* seed 0' --threads 1,8 --out bench-output
    python -m benchmarks.reproduce deveci28 --file matrices --no-peers --out bench-output
"""

from __future__ import annotations

import sys

from preflow.cli import main

from . import register

if __name__ == "__main__":
    if len(sys.argv) == 1 or "--help" in sys.argv:
        print((__doc__ or "").strip())
    else:
        register()
        sys.argv.insert(1, "bench")
        main()
