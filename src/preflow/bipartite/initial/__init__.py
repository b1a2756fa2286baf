"""Initial matchings, each a heuristic that fills an empty matching; ``problem.py`` lists them."""
