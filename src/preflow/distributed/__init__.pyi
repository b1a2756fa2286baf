from .api import grid_cut
from .batches.api import map
from .network_cut import min_cut
from .on_ray import RayExchange
from .result import RegionCutResult, RegionMinCutResult

__all__ = [
    "RayExchange",
    "RegionCutResult",
    "RegionMinCutResult",
    "grid_cut",
    "map",
    "min_cut",
]
