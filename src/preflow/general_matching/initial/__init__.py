"""Matchings to start from."""
