"""Checks of the invariants that the docstrings of solvers list."""
