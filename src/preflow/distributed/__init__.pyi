from .api import grid_cut
from .batches.api import map
from .network_cut import min_cut
from .on_gpus import GpuExchange
from .on_ray import RayExchange
from .result import RegionCutResult, RegionMinCutResult

__all__ = [
    "GpuExchange",
    "RayExchange",
    "RegionCutResult",
    "RegionMinCutResult",
    "grid_cut",
    "map",
    "min_cut",
]
