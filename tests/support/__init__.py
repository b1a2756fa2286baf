"""What several tests share: oracles, strategies, the explorer, CUDA kernels on CPU threads."""
