"""Side-by-side benchmarks: preflow and the other packages that solve the same problems."""

from .report import BenchReport
from .report_files import join_reports
from .run import BenchmarkFailedError, run_bench

__all__ = ["BenchReport", "BenchmarkFailedError", "join_reports", "run_bench"]
