"""Matching in general graphs, of maximum cardinality or of maximum weight."""
