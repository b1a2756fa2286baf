"""Maximum-cardinality bipartite matching."""
