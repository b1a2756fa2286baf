"""Computer vision as minimum cuts: segment an image, label its pixels, find depth and motion.

All of it works on arrays and needs nothing but NumPy and SciPy; reading and writing image files needs
the extra ``preflow[vision]``.
"""

from .colours import disparity_picture, flow_picture
from .expansion import Labelling, alpha_beta_swap, alpha_expansion
from .label_energy import LabelEnergy, potts, truncated_linear
from .optical_flow import OpticalFlow, endpoint_error, find_optical_flow
from .pictures import overlay, read_image, read_scribbles, write_image
from .seeds import box, parse_seeds, stroke
from .segmentation import Segmentation, segment, segmentation_problem
from .stereo import Stereo, bad_pixels, match_stereo

__all__ = [
    "LabelEnergy",
    "Labelling",
    "OpticalFlow",
    "Segmentation",
    "Stereo",
    "alpha_beta_swap",
    "alpha_expansion",
    "bad_pixels",
    "box",
    "disparity_picture",
    "endpoint_error",
    "find_optical_flow",
    "flow_picture",
    "match_stereo",
    "overlay",
    "parse_seeds",
    "potts",
    "read_image",
    "read_scribbles",
    "segment",
    "segmentation_problem",
    "stroke",
    "truncated_linear",
    "write_image",
]
