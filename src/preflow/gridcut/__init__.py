"""Minimum cuts on grids: one file or folder per method, and the pieces that several methods share."""
