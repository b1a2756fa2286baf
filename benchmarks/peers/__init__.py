"""The packages that preflow is compared with, for each problem."""
