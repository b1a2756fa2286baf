"""Exact weighted matchings of many small graphs in one call."""
