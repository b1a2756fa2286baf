"""Transport: move masses from rows to columns at the least cost."""
