"""Linear assignment: the front door, its solvers, and what they share."""
