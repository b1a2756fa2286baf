"""Minimum cuts on grids."""
