"""Numba kernels that several solvers share: arrays in, arrays out, nothing else."""
