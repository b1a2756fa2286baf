from .batches.api import map

__all__ = [
    "map",
]
