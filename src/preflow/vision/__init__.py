"""Computer vision as minimum cuts: segment an image from a few seeds.

:func:`segment` works on arrays and needs nothing but NumPy and SciPy; reading and writing image files needs
the extra ``preflow[vision]``.
"""

from .denoising import Denoised, denoise
from .energy import BinaryEnergy, EnergyMinimum, minimize_energy
from .grabcut import GrabCut, grabcut
from .pictures import overlay, read_image, read_scribbles, write_image
from .seeds import box, parse_seeds, stroke
from .segmentation import Segmentation, segment, segmentation_network

__all__ = [
    "BinaryEnergy",
    "Denoised",
    "EnergyMinimum",
    "GrabCut",
    "Segmentation",
    "box",
    "denoise",
    "grabcut",
    "minimize_energy",
    "overlay",
    "parse_seeds",
    "read_image",
    "read_scribbles",
    "segment",
    "segmentation_network",
    "stroke",
    "write_image",
]
