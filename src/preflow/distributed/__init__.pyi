from .api import grid_cut
from .batches.api import map
from .result import RegionCutResult

__all__ = [
    "RegionCutResult",
    "grid_cut",
    "map",
]
