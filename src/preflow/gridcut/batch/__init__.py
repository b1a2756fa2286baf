"""Minimum cuts of many small grids in one call."""
