"""Measurements that are no suite: `python -m benchmarks.scripts.NAME` runs one."""
