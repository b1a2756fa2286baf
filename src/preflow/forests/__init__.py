"""Searches by two forests that grow from the source and from the sink, on any residual network."""
