"""The instances that are benchmarked, suite by suite."""

from __future__ import annotations

import glob
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInputError, MissingDependencyError
from ..generators import family, grid_2d, grid_3d, grid_from_image
from ..generators.traps import dead_end, leaking_path, long_path
from ..graph.network import MaxFlowProblem
from ..io.dimacs import read_dimacs
from ..maxflow.methods import METHODS
from .flow_instance import FlowInstance
from .machine import check_memory
from .problem import TRAP_THREADS, Case, Suite, methods_on_cpu

#: Photographs that scikit-image brings along.
PHOTOGRAPHS = ("coffee", "astronaut", "camera")
#: Capacity of a t-link per unit of log-likelihood, beside n-links of at most 100.
LIKELIHOOD_WEIGHT = 30.0
#: Histogram bins of a channel: 8 for each of three colours, 32 for one grey.
BINS = {1: 32, 3: 8}
#: Methods after the codes in Cihan's tables (aliases Cihan, F_PRF, H_PRF, HI_PR, HI_PRO, HI_PRW), and auto.
CIHAN_METHODS = (
    "multicore-fifo",
    "serial-fifo",
    "serial-highest-label-gap",
    "serial-hi-pr",
    "serial-hi-pro",
    "serial-hi-prw",
    "auto",
)
CIHAN_THREADS = (1, 2, 4, 8, 16)
#: The thesis has 20.
CIHAN_SEEDS = 3
#: Shapes with as many voxels as its vision instances have, Table B.1; and the largest capacity of an n-link.
CIHAN_VOLUMES = MappingProxyType(
    {
        "BL06-gargoyle-lrg": ((240, 256, 280), 100),
        "BL06-gargoyle-med": ((192, 192, 240), 100),
        "LB07-bunny-med": ((202, 199, 157), 100),
        "babyface.n6c100": ((250, 250, 81), 100),
        "babyface.n6c10": ((250, 250, 81), 10),
        "BL06-camel-lrg": ((300, 210, 300), 100),
        "BL06-camel-med": ((240, 168, 240), 100),
    }
)
#: The algorithms that Wu, He and Hong compare (cpu-async, gpu-async, gpu-color), the second of them with its
#: searches on the GPU, preflow's own, and a serial one.
WU_HE_HONG_METHODS = (
    "multicore-lockfree",
    "cuda-hybrid",
    "cuda-coloring",
    "cuda-lockfree",
    "cuda-push-relabel",
    "serial-hi-pr",
)
#: Their five families and sizes, section 5.4.
WU_HE_HONG_SIZES = MappingProxyType(
    {
        "ac-dense": ("2000", "4000", "6000"),
        "rlg-long": ("512x1024", "768x1280", "1024x1536"),
        "rlg-wide": ("512x512", "768x768", "1024x1024"),
        "rmf-long": ("24x192", "32x256", "44x352", "56x448", "68x544"),
        "rmf-wide": ("48x48", "64x64", "84x84", "108x108", "136x136"),
    }
)
#: By how much `cihan-small` divides the sides of these volumes.
SMALLER = 8
#: Memory that a volume takes while it is generated and solved.
BYTES_A_VOXEL = 600


def _case(name: str, generate: Callable[[], MaxFlowProblem]) -> Case:
    return Case(name, lambda: FlowInstance.from_problem(generate()))


def _family(name: str, size: str, shown: str | None = None) -> Case:
    return _case(shown or f"{name} {size}", partial(family(name).generate, size, seed=0))


def _seeds(name: str, size: str, shown: str | None = None, **parameters: int) -> list[Case]:
    """Return the instances of several seeds, which are a group."""
    group = shown or f"{name} {size}"
    return [
        replace(
            _case(f"{group} seed {seed}", partial(family(name).generate, size, seed=seed, **parameters)),
            group=group,
        )
        for seed in range(CIHAN_SEEDS)
    ]


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


def cihan(files: Sequence[str]) -> list[Case]:
    """Return the thesis's families at its sizes, tables A.1 to A.3, and its vision instances, table B.1.

    A vision instance is read from the one of the `files` that has its name; where there is none, a
    synthetic volume of the same size stands for it.
    """
    synthetic = [
        *_seeds("rmf-wide", "400x16"),
        *_seeds("rlg-wide", "32768x64"),
        *_seeds("ac-dense", "8192", "acyclic dense 8192", max_capacity=10_000),
        *_seeds("rmf-long", "32x1024"),
        *_seeds("rlg-long", "64x65536"),
        *_seeds("line-moderate", "65536x4x128", "line-moderate 65536x4 degree 128"),
    ]
    given = {_stem(path): path for path in dimacs_files(files)}
    volumes = [
        replace(_case(name, partial(read_dimacs, given[name])), group=name)
        if name in given
        else _volume(f"{name}-like", shape, strength)
        for name, (shape, strength) in CIHAN_VOLUMES.items()
    ]
    return synthetic + volumes


def cihan_small(files: Sequence[str]) -> list[Case]:
    """Return the families and synthetic volumes of `cihan`, smaller."""
    synthetic = [
        *_seeds("rmf-wide", "32x8"),
        *_seeds("rlg-wide", "1024x32"),
        *_seeds("ac-dense", "500", "acyclic dense 500", max_capacity=10_000),
        *_seeds("rmf-long", "8x128"),
        *_seeds("rlg-long", "32x1024"),
        *_seeds("line-moderate", "4096x4x32", "line-moderate 4096x4 degree 32"),
    ]
    volumes = [
        _volume(f"{name}-like small", tuple(side // SMALLER for side in shape), strength)
        for name, (shape, strength) in CIHAN_VOLUMES.items()
    ]
    return synthetic + volumes


def wu_he_hong(files: Sequence[str]) -> list[Case]:
    """Return the five families of Wu, He and Hong at their sizes."""
    return [_family(name, size) for name, sizes in WU_HE_HONG_SIZES.items() for size in sizes]


def traps(files: Sequence[str]) -> list[Case]:
    """Return networks on which one method takes far longer than another."""
    return [
        _case("long path 200000", partial(long_path, 200_000)),
        _case("leaking path 20000", partial(leaking_path, 20_000)),
        _case("dead end 20000", partial(dead_end, 20_000)),
        _family("cheriyan", "40x40x40"),
        _family("goldberg-bad", "20000"),
        _family("dinic-bad", "2000"),
    ]


def _volume(name: str, shape: tuple[int, ...], strength: int) -> Case:
    """Return a synthetic volume like a vision instance."""

    def generate() -> MaxFlowProblem:
        check_memory(BYTES_A_VOXEL * math.prod(shape))
        return grid_3d(*shape, contrast=True, strength=strength, data_weight=strength, seed=0)

    return replace(_case(name, generate), group=name)


#: Suites of maximum flow and minimum cut.
FLOW_SUITES: Mapping[str, Suite] = MappingProxyType(
    {
        "papers": Suite(papers),
        "vision": Suite(vision),
        "real": Suite(real),
        "cihan": Suite(cihan, CIHAN_METHODS, CIHAN_THREADS),
        "cihan-small": Suite(cihan_small, CIHAN_METHODS, CIHAN_THREADS),
        "wu-he-hong": Suite(wu_he_hong, WU_HE_HONG_METHODS),
        "tiny": Suite(tiny),
        "traps": Suite(traps, methods_on_cpu(METHODS), TRAP_THREADS),
    }
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
