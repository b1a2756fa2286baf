"""The GPU's kernels on CPU threads, for tests where there is no GPU."""
