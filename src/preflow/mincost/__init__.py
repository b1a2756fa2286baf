"""Minimum-cost flow: solvers, one file or folder each, and the function that calls them."""
