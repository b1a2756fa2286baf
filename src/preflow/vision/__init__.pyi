from .colours import disparity_picture, flow_picture
from .denoising import Denoised, denoise
from .energy import BinaryEnergy, EnergyMinimum, minimize_energy
from .expansion import Labelling, alpha_beta_swap, alpha_expansion
from .grab_cut import GrabCut, grabcut
from .graph_labels import GraphLabelEnergy, GraphLabelling, label_graph
from .label_energy import LabelEnergy, potts, truncated_linear
from .label_segmentation import LabelSegmentation, segment_labels
from .optical_flow import OpticalFlow, endpoint_error, find_optical_flow
from .painter.server import paint
from .painter.widget import Paint
from .painting import Painting, Preview
from .phase import UnwrappedPhase, unwrap_phase
from .pictures import cutout, labels_picture, overlay, read_image, read_scribbles, write_image
from .seeds import box, parse_seeds, seeds_from_labels, stroke
from .segmentation import Segmentation, segment, segmentation_network
from .stereo import Stereo, bad_pixels, match_stereo
from .volumes import Volume, read_volume, volume_overlay, write_labels

__all__ = [
    "BinaryEnergy",
    "Denoised",
    "EnergyMinimum",
    "GrabCut",
    "GraphLabelEnergy",
    "GraphLabelling",
    "LabelEnergy",
    "LabelSegmentation",
    "Labelling",
    "OpticalFlow",
    "Paint",
    "Painting",
    "Preview",
    "Segmentation",
    "Stereo",
    "UnwrappedPhase",
    "Volume",
    "alpha_beta_swap",
    "alpha_expansion",
    "bad_pixels",
    "box",
    "cutout",
    "denoise",
    "disparity_picture",
    "endpoint_error",
    "find_optical_flow",
    "flow_picture",
    "grabcut",
    "label_graph",
    "labels_picture",
    "match_stereo",
    "minimize_energy",
    "overlay",
    "paint",
    "parse_seeds",
    "potts",
    "read_image",
    "read_scribbles",
    "read_volume",
    "seeds_from_labels",
    "segment",
    "segment_labels",
    "segmentation_network",
    "stroke",
    "truncated_linear",
    "unwrap_phase",
    "volume_overlay",
    "write_image",
    "write_labels",
]
