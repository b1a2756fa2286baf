"""NVIDIA GPUs: finding one, compiling kernels, launching them; and what kernels of several problems share."""
