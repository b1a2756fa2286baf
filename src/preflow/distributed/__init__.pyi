from .api import grid_cut as grid_cut
from .batches.api import map as map
from .network_cut import min_cut as min_cut
from .on_gpus import GpuExchange as GpuExchange
from .on_ray import RayExchange as RayExchange
from .result import RegionCutResult as RegionCutResult
from .result import RegionMinCutResult as RegionMinCutResult
