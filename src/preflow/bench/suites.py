"""The instances that are benchmarked, suite by suite."""

from __future__ import annotations

import glob
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInputError, MissingDependencyError
from ..generators import family, grid_2d, grid_3d, grid_from_image
from ..graph.network import MaxFlowProblem
from ..io.dimacs import read_dimacs
from .flow_instance import FlowInstance
from .problem import Case

#: Photographs that scikit-image brings along.
PHOTOGRAPHS = ("coffee", "astronaut", "camera")
#: Capacity of a t-link per unit of log-likelihood, beside n-links of at most 100.
LIKELIHOOD_WEIGHT = 30.0
#: Histogram bins of a channel: 8 for each of three colours, 32 for one grey.
BINS = {1: 32, 3: 8}


def _case(name: str, generate: Callable[[], MaxFlowProblem]) -> Case:
    return Case(name, lambda: FlowInstance.from_problem(generate()))


def _family(name: str, size: str, shown: str | None = None) -> Case:
    return _case(shown or f"{name} {size}", partial(family(name).generate, size, seed=0))


def papers(files: Sequence[str]) -> list[Case]:
    """Return the eight instances of the project's target: six families of the papers and two grids."""
    return [
        _family("rmf-wide", "64x16"),
        _family("rmf-long", "16x1024"),
        _family("rlg-wide", "4096x64"),
        _family("rlg-long", "64x16384"),
        _family("line-moderate", "16384x4x128", "line-moderate 16384x4 degree 128"),
        _family("ac-dense", "2000", "acyclic dense 2000"),
        _case("grid 1000x1000", partial(grid_2d, 1000, 1000, seed=0)),
        _case("grid 100^3", partial(grid_3d, 100, 100, 100, seed=0)),
    ]


def tiny(files: Sequence[str]) -> list[Case]:
    """Return instances on which the slowest peers end within seconds."""
    return [
        _family("rmf-wide", "8x4"),
        _family("rmf-long", "4x32"),
        _family("rlg-wide", "128x8"),
        _family("rlg-long", "8x128"),
        _family("line-moderate", "64x4x8", "line-moderate 64x4 degree 8"),
        _family("ac-dense", "80", "acyclic dense 80"),
        _case("grid 32x32", partial(grid_2d, 32, 32, seed=0)),
        _case("grid 8^3", partial(grid_3d, 8, 8, 8, smoothing=1.0, seed=0)),
    ]


def vision(files: Sequence[str]) -> list[Case]:
    """Return the segmentation of photographs, and larger synthetic images and volumes."""
    synthetic = [
        _case("grid 1000x1000 contrast", partial(grid_2d, 1000, 1000, contrast=True, seed=0)),
        _case(
            "grid 1000x1000 contrast 8n",
            partial(grid_2d, 1000, 1000, connectivity=8, contrast=True, seed=0),
        ),
        _case("grid 2000x2000", partial(grid_2d, 2000, 2000, seed=0)),
        _case("grid 64^3 26n", partial(grid_3d, 64, 64, 64, connectivity=26, seed=0)),
        _case("grid 128^3 contrast", partial(grid_3d, 128, 128, 128, contrast=True, seed=0)),
    ]
    return photographs() + synthetic


def real(files: Sequence[str]) -> list[Case]:
    """Return the user's DIMACS files, and the photographs."""
    return [_case(_stem(path), partial(read_dimacs, path)) for path in dimacs_files(files)] + photographs()


def photographs() -> list[Case]:
    """Return the cuts of all photographs with 4 and with 8 neighbours."""
    return [
        _case(f"{name} {neighbours}n", partial(photograph_cut, name, neighbours))
        for name in PHOTOGRAPHS
        for neighbours in (4, 8)
    ]


#: Suites of maximum flow and minimum cut.
FLOW_SUITES: Mapping[str, Callable[[Sequence[str]], list[Case]]] = MappingProxyType(
    {"papers": papers, "vision": vision, "real": real, "tiny": tiny}
)


def dimacs_files(patterns: Sequence[str]) -> list[Path]:
    """Return the files that folders, glob patterns and file names stand for, sorted within each.

    Raises
    ------
    InvalidInputError
        One of them stands for nothing.
    """
    found: dict[Path, None] = {}
    for pattern in patterns:
        folder = Path(pattern)
        if folder.is_dir():
            paths = sorted([*folder.glob("*.max"), *folder.glob("*.max.gz")])
        else:
            paths = sorted(Path(name) for name in glob.glob(str(pattern), recursive=True))
        if not paths:
            raise InvalidInputError(
                f"{pattern} is no folder with .max files, no file and no pattern of files"
            )
        found.update(dict.fromkeys(paths))
    return list(found)


def _stem(path: Path) -> str:
    return path.name.removesuffix(".gz").removesuffix(".max")


def photograph_cut(name: str, connectivity: int) -> MaxFlowProblem:
    """Return the segmentation of a photograph whose subject is taken to be in the middle.

    Boykov and Jolly's energy: the data term of a pixel is the log-likelihood ratio of its colour in the
    middle of the picture and around it, n-links fall with contrast.
    """
    try:
        from skimage import data
    except ImportError:
        raise MissingDependencyError("photographs", "scikit-image", "bench") from None
    image = np.asarray(getattr(data, name)(), dtype=np.float64)
    weight = LIKELIHOOD_WEIGHT * subject_log_likelihood(image)
    return grid_from_image(image, weight, connectivity=connectivity, name=f"{name} {connectivity}n")


def subject_log_likelihood(image: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for every pixel how much likelier its colour is in the middle half of the image."""
    height, width = image.shape[:2]
    channels = image.reshape(height, width, -1)
    bins = BINS[channels.shape[2]]
    colour = np.zeros((height, width), dtype=np.int64)
    for channel in np.moveaxis(channels, 2, 0):
        colour = colour * bins + (channel * bins / 256.0).astype(np.int64)
    middle = np.zeros((height, width), dtype=np.bool_)
    middle[height // 4 : height - height // 4, width // 4 : width - width // 4] = True
    counts = [
        np.bincount(colour[part], minlength=bins ** channels.shape[2]) + 1.0 for part in (middle, ~middle)
    ]
    inside, outside = (count / count.sum() for count in counts)
    ratio: NDArray[np.float64] = np.log(inside / outside)[colour]
    return ratio
