"""The arcs of a residual network, for each way to store one."""
