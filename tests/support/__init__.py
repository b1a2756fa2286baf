"""Pieces that tests share: oracles, strategies, the explorer, CUDA kernels on CPU threads."""
