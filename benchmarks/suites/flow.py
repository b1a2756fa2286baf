"""Suites of instances of maximum flow and minimum cut."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.instances.traps import dead_end, leaking_path, long_path
from preflow.errors import MissingDependencyError
from preflow.generators import (
    family,
    grid_2d,
    grid_3d,
    grid_from_image,
    shuffled,
    with_terminals_apart,
)
from preflow.generators.energies import (
    LARGEST_DIFFERENCE,
    LARGEST_DISTANCE,
    NEIGHBOURS,
    Views,
    move_of_views,
)
from preflow.graph.neighbourhood import pair_boxes
from preflow.graph.network import MaxFlowProblem
from preflow.io.dimacs import read_max_flow
from preflow.maxflow.problem import METHODS
from preflow.vision import alpha_expansion, truncated_linear

from ..files import find_files, instance_name, or_files
from ..instances.flow import FlowInstance
from ..problem import TRAP_THREADS, Case, Suite, methods_on_cpu

#: Photographs that are part of scikit-image.
PHOTOGRAPHS = ("coffee", "astronaut", "camera")
#: Capacity of a terminal arc per unit of log-likelihood. Arcs between pixels have capacities up to 100.
LIKELIHOOD_WEIGHT = 30.0
#: Depths of the motorcycle at half of its size, and what neighbours pay that differ by one.
MOTORCYCLE_LABELS, STRENGTH = 32, 10
#: Histogram bins of a channel by the number of channels: 8 for each of three colours, 32 for one grey.
BINS = {1: 32, 3: 8}


def flow_case(name: str, generate: Callable[[], MaxFlowProblem]) -> Case:
    """Return the case of a generated or read problem."""
    return Case(name, lambda: FlowInstance.from_problem(generate()))


def family_case(
    name: str,
    size: str,
    shown: str | None = None,
    seed: int = 0,
    change: Callable[[MaxFlowProblem], MaxFlowProblem] = lambda problem: problem,
) -> Case:
    """Return the case of a family of generated networks, with seed 0 unless another one is given."""
    return flow_case(shown or f"{name} {size}", lambda: change(family(name).generate(size, seed=seed)))


def max_flow_files(files: Sequence[str]) -> list[Case]:
    """Return a case for each of the user's DIMACS files."""
    return [
        flow_case(instance_name(path, ".max"), partial(read_max_flow, path))
        for path in find_files(files, ".max")
    ]


@or_files(max_flow_files)
def papers() -> list[Case]:
    """Return six instances of families that papers measure, and two grids."""
    return [
        family_case("rmf-wide", "64x16"),
        family_case("rmf-long", "16x1024"),
        family_case("rlg-wide", "4096x64"),
        family_case("rlg-long", "64x16384"),
        family_case("line-moderate", "16384x4x128", "line-moderate 16384x4 degree 128"),
        family_case("ac-dense", "2000", "acyclic dense 2000"),
        flow_case("grid 1000x1000", partial(grid_2d, 1000, 1000, seed=0)),
        flow_case("grid 100^3", partial(grid_3d, 100, 100, 100, seed=0)),
    ]


@or_files(max_flow_files)
def irregular() -> list[Case]:
    """Return roads, a graph of power laws, superpixels, a surface, and large grids."""
    return [
        family_case("roads", "200000"),
        family_case("rmat-flow", "17"),
        family_case("superpixels", "200000"),
        family_case("surface", "200000"),
        flow_case("grid 2000x2000", partial(grid_2d, 2000, 2000, seed=0)),
        flow_case("grid 160^3", partial(grid_3d, 160, 160, 160, seed=0)),
    ]


@or_files(max_flow_files)
def applications() -> list[Case]:
    """Return energies that are no grids, scale-free graphs, and networks as other programs write them."""
    return [
        family_case("column-surface", "128x128x48"),
        family_case("ishikawa", "160x160x24"),
        family_case("ishikawa", "100x100x24x3", "ishikawa 100x100x24 convex"),
        family_case("deconvolution", "100x100x5"),
        family_case("deconvolution", "33x33x11"),
        family_case("expansion-move", "288x384x16"),
        flow_case("motorcycle, first sweep", partial(motorcycle_move, 0)),
        flow_case("motorcycle, second sweep", partial(motorcycle_move, 1)),
        family_case("open-pit", "100x100x30"),
        family_case("tetrahedra", "40000"),
        family_case("barabasi-albert", "50000x5"),
        family_case("power-law-flow", "50000x10"),
        family_case("rmf-wide", "64x16", "rmf-wide 64x16 apart", change=with_terminals_apart),
        family_case("rmf-long", "16x1024", "rmf-long 16x1024 apart", change=with_terminals_apart),
        family_case("superpixels", "200000", "superpixels 200000 shuffled", change=shuffled),
    ]


@or_files(max_flow_files)
def tiny() -> list[Case]:
    """Return instances that the slowest peers solve within seconds."""
    return [
        family_case("rmf-wide", "8x4"),
        family_case("rmf-long", "4x32"),
        family_case("rlg-wide", "128x8"),
        family_case("rlg-long", "8x128"),
        family_case("line-moderate", "64x4x8", "line-moderate 64x4 degree 8"),
        family_case("ac-dense", "80", "acyclic dense 80"),
        flow_case("grid 32x32", partial(grid_2d, 32, 32, seed=0)),
        flow_case("grid 8^3", partial(grid_3d, 8, 8, 8, smoothing=1.0, seed=0)),
    ]


@or_files(max_flow_files)
def vision() -> list[Case]:
    """Return segmentations of photographs, and larger synthetic images and volumes."""
    synthetic = [
        flow_case("grid 1000x1000 contrast", partial(grid_2d, 1000, 1000, contrast=True, seed=0)),
        flow_case(
            "grid 1000x1000 contrast 8n",
            partial(grid_2d, 1000, 1000, connectivity=8, contrast=True, seed=0),
        ),
        flow_case("grid 2000x2000", partial(grid_2d, 2000, 2000, seed=0)),
        flow_case("grid 64^3 26n", partial(grid_3d, 64, 64, 64, connectivity=26, seed=0)),
        flow_case("grid 128^3 contrast", partial(grid_3d, 128, 128, 128, contrast=True, seed=0)),
    ]
    return photographs() + synthetic


@or_files(max_flow_files)
def real() -> list[Case]:
    """Return the photographs."""
    return photographs()


def photographs() -> list[Case]:
    """Return the segmentation of each photograph with 4 and with 8 neighbours."""
    return [
        flow_case(f"{name} {neighbours}n", partial(photograph_cut, name, neighbours))
        for name in PHOTOGRAPHS
        for neighbours in (4, 8)
    ]


@or_files(max_flow_files)
def traps() -> list[Case]:
    """Return networks on which one method takes far longer than another."""
    return [
        flow_case("long path 200000", partial(long_path, 200_000)),
        flow_case("leaking path 20000", partial(leaking_path, 20_000)),
        flow_case("dead end 20000", partial(dead_end, 20_000)),
        family_case("cheriyan", "40x40x40"),
        family_case("goldberg-bad", "20000"),
        family_case("dinic-bad", "2000"),
    ]


#: The suites of maximum flow and minimum cut by name.
FLOW_SUITES: Mapping[str, Suite] = MappingProxyType(
    {
        "papers": Suite(papers),
        "irregular": Suite(irregular),
        "applications": Suite(applications),
        "vision": Suite(vision),
        "real": Suite(real),
        "tiny": Suite(tiny),
        "traps": Suite(traps, methods_on_cpu(METHODS), TRAP_THREADS),
    }
)


def motorcycle_move(sweeps: int) -> MaxFlowProblem:
    """Return an expansion move of the depth of a motorcycle, from two photographs, after some sweeps.

    It is the move to the most frequent of the labels. Energies are those of the family "expansion-move".
    """
    photographs = _photographs().stereo_motorcycle()[:2]
    left, right = (image[::2, ::2].astype(np.float64).mean(axis=2) for image in photographs)
    cost = np.full((MOTORCYCLE_LABELS, *left.shape), LARGEST_DIFFERENCE, dtype=np.int64)
    for label in range(MOTORCYCLE_LABELS):
        width = left.shape[1] - label
        unlike = np.abs(left[:, label:] - right[:, :width])
        cost[label, :, label:] = np.rint(np.minimum(unlike, LARGEST_DIFFERENCE))
    views = Views(left, cost)
    weights = np.zeros((len(NEIGHBOURS), *left.shape), dtype=np.int64)
    for part, offset, found in zip(weights, NEIGHBOURS, views.weights(STRENGTH), strict=True):
        part[pair_boxes(left.shape, offset)[0]] = found
    distance = truncated_linear(MOTORCYCLE_LABELS, LARGEST_DISTANCE)
    labels = alpha_expansion(cost, distance, weights, max_sweeps=sweeps).labels
    new = int(np.bincount(labels.ravel()).argmax())
    return move_of_views(views, labels, new, STRENGTH, f"motorcycle after {sweeps} sweeps")


def photograph_cut(name: str, connectivity: int) -> MaxFlowProblem:
    """Return the segmentation problem of a photograph, on the assumption that its subject is in the middle.

    The energy is that of Boykov and Jolly (2001). The data term of a pixel is the log-likelihood ratio of its
    colour in the middle half of the picture and outside it. Arcs between pixels are weaker where the contrast
    is higher.
    """
    image = np.asarray(getattr(_photographs(), name)(), dtype=np.float64)
    weight = LIKELIHOOD_WEIGHT * subject_log_likelihood(image)
    return grid_from_image(image, weight, connectivity=connectivity, name=f"{name} {connectivity}n")


def _photographs() -> Any:
    """Return the module of scikit-image that loads photographs."""
    try:
        from skimage import data
    except ImportError:
        raise MissingDependencyError("photographs", "scikit-image", "bench") from None
    return data


def subject_log_likelihood(image: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return each pixel's log-likelihood ratio: its colour inside over outside the middle of the image."""
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
