"""Computer vision as minimum cuts: segment images and volumes, take their noise away, minimise energies.

All that works on arrays needs nothing but NumPy and SciPy; reading and writing files of images and volumes
needs the extra ``preflow[vision]``.
"""

from .denoising import Denoised, denoise
from .energy import BinaryEnergy, EnergyMinimum, minimize_energy
from .grabcut import GrabCut, grabcut
from .pictures import overlay, read_image, read_scribbles, write_image
from .seeds import box, parse_seeds, seeds_from_labels, stroke
from .segmentation import Segmentation, segment, segmentation_network
from .volumes import Volume, read_volume, volume_overlay, write_labels

__all__ = [
    "BinaryEnergy",
    "Denoised",
    "EnergyMinimum",
    "GrabCut",
    "Segmentation",
    "Volume",
    "box",
    "denoise",
    "grabcut",
    "minimize_energy",
    "overlay",
    "parse_seeds",
    "read_image",
    "read_scribbles",
    "read_volume",
    "seeds_from_labels",
    "segment",
    "segmentation_network",
    "stroke",
    "volume_overlay",
    "write_image",
    "write_labels",
]
