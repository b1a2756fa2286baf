"""Computer vision as minimum cuts: segment an image from a few seeds.

:func:`segment` works on arrays and needs nothing but NumPy and SciPy; reading and writing image files needs
the extra ``preflow[vision]``.
"""

from .energy import BinaryEnergy, EnergyMinimum, minimize_energy
from .pictures import overlay, read_image, read_scribbles, write_image
from .seeds import box, parse_seeds, stroke
from .segmentation import Segmentation, segment, segmentation_problem

__all__ = [
    "BinaryEnergy",
    "EnergyMinimum",
    "Segmentation",
    "box",
    "minimize_energy",
    "overlay",
    "parse_seeds",
    "read_image",
    "read_scribbles",
    "segment",
    "segmentation_problem",
    "stroke",
    "write_image",
]
