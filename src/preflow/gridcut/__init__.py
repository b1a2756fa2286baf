"""Minimum cuts of grids: images and volumes."""
