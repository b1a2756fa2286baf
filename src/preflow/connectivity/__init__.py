"""How well a graph is connected: cuts between all pairs, the smallest cut of all, and connectivity."""
