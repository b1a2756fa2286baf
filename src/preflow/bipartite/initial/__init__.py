"""Initial matchings, each a heuristic that fills an empty matching; ``methods.py`` lists them."""
