from .api import grid_cut
from .batches.api import map
from .network_cut import min_cut
from .result import RegionCutResult, RegionMinCutResult

__all__ = [
    "RegionCutResult",
    "RegionMinCutResult",
    "grid_cut",
    "map",
    "min_cut",
]
