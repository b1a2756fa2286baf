"""NVIDIA GPUs: find one, compile kernels, launch them; headers that kernels of several problems share."""
