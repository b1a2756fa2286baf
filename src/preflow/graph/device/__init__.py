"""Networks, costs and residual networks on a GPU: what has no form on the host in the same module."""
