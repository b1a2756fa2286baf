"""What solvers keep between two of their steps: checks of the lists in their docstrings."""
