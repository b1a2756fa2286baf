"""Side-by-side benchmarks: preflow and the other packages that solve the same problems."""

from .report import BenchReport
from .run import BenchmarkFailedError, run_bench

__all__ = ["BenchReport", "BenchmarkFailedError", "run_bench"]
