"""Results of each kind, and all ways in which a test damages their fields."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

import preflow
from preflow import reductions, vision

NETWORK = preflow.FlowNetwork.from_arrays([0, 0, 1, 2, 1], [1, 2, 3, 3, 4], [3, 2, 2, 4, 1])
SMALLER = preflow.FlowNetwork.from_arrays([0, 0, 1, 2, 1], [1, 2, 3, 3, 4], [2, 2, 1, 4, 2])
FLOATS = preflow.FlowNetwork.from_arrays([0, 0, 1, 2, 1], [1, 2, 3, 3, 4], [3.5, 2.25, 2.1, 4, 1])
COSTS = preflow.CostNetwork.from_arrays([0, 0, 1], [1, 2, 2], capacity=[2, 4, 2], cost=[1, 5, 2])
OTHER_COSTS = preflow.CostNetwork.from_arrays([0, 0, 1], [1, 2, 2], capacity=[3, 4, 3], cost=[2, 7, 3])
FLOAT_COSTS = preflow.CostNetwork.from_arrays([0, 0, 1], [1, 2, 2], capacity=[2, 4, 2], cost=[1.5, 5, 2.25])
GRID = [[5, 0, 0], [2, 0, 1]], [[0, 0, 5], [0, 3, 0]]
PAIRS = preflow.BipartiteGraph.from_arrays([0, 0, 1, 2], [0, 1, 1, 1])
OTHER_PAIRS = preflow.BipartiteGraph.from_arrays([0, 0, 1, 2], [0, 1, 2, 1])
EDGES = [0, 1, 0, 2], [1, 2, 2, 3]
IMAGE = np.array([[0.0, 1, 1], [0, 0, 1]])
ENERGY = vision.BinaryEnergy([[0, 1], [2, 0]], [[0, 1]], [[0, 1], [1, 0]])
OTHER_ENERGY = vision.BinaryEnergy([[0, 3], [2, 1]], [[0, 1]], [[0, 1], [1, 0]])
#: Three variables of which no two should be the same, and two more.
TRIANGLE = [[0, 1], [1, 2], [2, 0], [2, 3], [3, 4]]
FRUSTRATED = vision.BinaryEnergy([[0, 0], [0, 0], [0, 0], [5, 0], [0, 0]], TRIANGLE, [[2, 0], [0, 2]])
OTHER_FRUSTRATED = vision.BinaryEnergy([[0, 0], [0, 0], [0, 0], [0, 7], [0, 2]], TRIANGLE, [[2, 0], [0, 1]])
GRAPH_ENERGY = vision.GraphLabelEnergy([[0, 3], [2, 0]], [0], [1], vision.potts(2))
OTHER_GRAPH_ENERGY = vision.GraphLabelEnergy([[4, 3], [2, 1]], [0], [1], vision.potts(2))


class Sample(NamedTuple):
    """A result, and one of the same kind of another instance."""

    one: Callable[[], Any]
    other: Callable[[], Any]


def _both(
    function: Callable[..., Any], one: tuple[Any, ...], other: tuple[Any, ...], **keywords: Any
) -> Sample:
    return Sample(lambda: function(*one, **keywords), lambda: function(*other, **keywords))


def _weighted(*weights: float) -> preflow.UndirectedGraph:
    return preflow.UndirectedGraph.from_arrays(*EDGES, list(weights))


def samples() -> dict[str, Sample]:
    """Return samples by the name of the class, and what is special about the sample."""
    graphs, float_graphs = (_weighted(3, 4, 2, 5),), (_weighted(0.3, 0.4, 0.25, 0.5),)
    other_graphs = (_weighted(3, 1, 7, 2),)
    other_floats = (_weighted(0.1, 0.9, 1, 2),)
    masses = [[4, 1], [2, 3]], [3, 5], [4, 4]
    seeds = np.diag([1, 0, 2, 3])
    return {
        "MaxFlowResult": _both(preflow.max_flow, (NETWORK, 0, 3), (NETWORK, 0, 4)),
        "MaxFlowResult of floats": _both(preflow.max_flow, (FLOATS, 0, 3), (FLOATS, 0, 4)),
        "MinCutResult": _both(preflow.min_cut, (NETWORK, 0, 3), (NETWORK, 0, 4)),
        "MinCutResult of floats": _both(preflow.min_cut, (FLOATS, 0, 3), (FLOATS, 0, 4)),
        "MaxFlowBatchResult": _both(
            preflow.max_flow_batch, ([NETWORK, NETWORK], 0, [3, 4]), ([NETWORK, SMALLER], 0, [4, 3])
        ),
        "MinimumCuts": _both(preflow.minimum_cuts, (NETWORK, 0, 3), (NETWORK, 0, 4)),
        "ParametricMaxFlow": _both(
            preflow.parametric_max_flow, (NETWORK, [1, 0, 0, 0, 0], 0, 3), (NETWORK, [2, 1, 0, 0, 0], 0, 4)
        ),
        "GridCutResult": _both(preflow.grid_cut, (*GRID, 2), (*GRID, 1)),
        "GridCutBatchResult": _both(
            preflow.grid_cut_batch,
            (IMAGE[None] * 2, 1 - IMAGE[None], 1),
            (IMAGE[None] * 4, IMAGE[None] + 1, 1),
        ),
        "AssignmentResult": _both(preflow.linear_assignment, ([[1, 2], [4, 4]],), ([[3, 9], [1, 2]],)),
        "AssignmentResult of floats": _both(
            preflow.linear_assignment, ([[0.1, 0.2], [0.4, 0.4]],), ([[0.3, 0.9], [0.1, 0.2]],)
        ),
        "AssignmentWithSinglesResult": _both(
            preflow.linear_assignment, ([[1, 2], [4, 4]],), ([[3, 9], [1, 2]],), unmatched_cost=2
        ),
        "AssignmentWithSinglesResult of floats": _both(
            preflow.linear_assignment, ([[1.5, 2], [4, 4]],), ([[3.5, 9], [1, 2]],), unmatched_cost=2.0
        ),
        "MatchingResult": _both(preflow.bipartite_matching, (PAIRS,), (OTHER_PAIRS,)),
        "GeneralMatchingResult": _both(preflow.matching, graphs, other_graphs),
        "GeneralMatchingResult of floats": _both(preflow.matching, float_graphs, other_floats),
        "MatchingBatchResult": _both(preflow.matching_batch, ([*graphs] * 2,), ([*other_graphs, *graphs],)),
        "MatchingBatchResult of floats": _both(
            preflow.matching_batch, ([*float_graphs] * 2,), ([*other_floats, *float_graphs],)
        ),
        "MinCostFlowResult": _both(preflow.min_cost_flow, (COSTS, [3, 0, -3]), (OTHER_COSTS, [4, 0, -4])),
        "MinCostFlowResult of floats": _both(
            preflow.min_cost_flow, (FLOAT_COSTS, [3, 0, -3]), (FLOAT_COSTS, [4, 0, -4])
        ),
        "PartialCostFlowResult": _both(
            preflow.min_cost_flow, (COSTS, [5, 0, -3]), (OTHER_COSTS, [4, 0, -6]), partial=True
        ),
        "PartialCostFlowResult of floats": _both(
            preflow.min_cost_flow, (FLOAT_COSTS, [8.5, 0, -8]), (FLOAT_COSTS, [4, 0, -4.2]), partial=True
        ),
        "MaxFlowMinCostResult": _both(preflow.max_flow_min_cost, (COSTS, 0, 2), (OTHER_COSTS, 0, 2)),
        "TransportResult": _both(preflow.transport, masses, ([[1, 9], [7, 3]], [3, 5], [2, 6])),
        "TransportResult of floats": _both(
            preflow.transport, ([[0.4, 0.1], [0.2, 0.3]], *masses[1:]), ([[0.1, 9], [0.7, 3]], [3, 5], [2, 6])
        ),
        "PartialTransportResult": _both(
            preflow.transport, (masses[0], [3, 7], [4, 4]), ([[1, 9], [7, 3]], [3, 5], [2, 7]), partial=True
        ),
        "PartialTransportResult of floats": _both(
            preflow.transport,
            ([[0.4, 0.1], [0.2, 0.3]], [0.3, 0.7], [0.4, 0.4]),
            ([[0.1, 0.9], [0.7, 0.3]], [0.3, 0.5], [0.2, 0.7]),
            amount=0.6,
        ),
        "GlobalMinCut": _both(preflow.global_min_cut, graphs, other_graphs),
        "GlobalMinCut of floats": _both(preflow.global_min_cut, float_graphs, other_floats),
        "GomoryHuTree": _both(preflow.gomory_hu_tree, graphs, other_graphs),
        "RankedAssignments": _both(
            lambda cost: preflow.linear_assignment(cost).k_best(2),
            ([[4, 1, 3], [2, 0, 5], [3, 2, 7]],),
            ([[1, 8, 3], [2, 0, 9], [3, 2, 2]],),
        ),
        "RankedAssignments of floats": _both(
            lambda cost: preflow.linear_assignment(cost, unmatched_cost=(0.5, 0)).k_best(3),
            ([[0.4, 0.1, 0.3]],),
            ([[0.1, 0.8, 0.3]],),
        ),
        "DirectedMinCut": _both(
            preflow.directed_min_cut,
            (preflow.FlowNetwork.from_arrays([0, 1, 2, 1], [1, 2, 0, 0], [4, 2, 3, 5]),),
            (preflow.FlowNetwork.from_arrays([0, 1, 2, 1], [1, 2, 0, 0], [1, 7, 3, 5]),),
        ),
        "PairFlows": _both(preflow.pair_flows, (*graphs, [(0, 3), (1, 0)]), (*other_graphs, [(2, 1)])),
        "EdgeConnectivity": _both(preflow.edge_connectivity, (EDGES,), (([0, 1, 2], [1, 2, 0]),)),
        "VertexConnectivity": _both(preflow.vertex_connectivity, (EDGES,), (([0, 1, 2], [1, 2, 0]),)),
        "BMatching": _both(reductions.b_matching, (PAIRS,), (OTHER_PAIRS,), row_limit=2),
        "GeneralBMatching": _both(reductions.general_b_matching, (EDGES, 2), (([0, 0], [1, 2]), 2)),
        "EdgeCover": _both(reductions.minimum_weight_edge_cover, graphs, other_graphs),
        "TJoin": _both(reductions.t_join, (*graphs, [0, 3]), (*other_graphs, [0, 1])),
        "PostmanTour": _both(
            reductions.chinese_postman, (([0, 1, 2, 0], [1, 2, 0, 3]),), (([0, 1, 2], [1, 2, 0]),)
        ),
        "CheapPaths": _both(reductions.shortest_path, (COSTS, 0, 2), (OTHER_COSTS, 0, 2)),
        "CheapPaths, several": _both(
            reductions.disjoint_paths, (COSTS, 0, 2), (OTHER_COSTS, 0, 2), count=2, disjoint="arcs"
        ),
        "BottleneckAssignment": _both(
            reductions.bottleneck_assignment, ([[1, 2, 9], [2, 9, 9], [9, 6, 5]],), ([[3, 2, 8], [7, 9, 1]],)
        ),
        "GraphFit": _both(
            reductions.total_variation,
            (([0, 1, 2], [1, 2, 3], [1, 1, 1]), [0, 1, 8, 9]),
            (([0, 1, 2], [1, 2, 3], [1, 2, 1]), [3, 1, 5, 9]),
        ),
        "JobAssignment": _both(reductions.assign_jobs, ([[1, 2], [4, 4]],), ([[3, 2], [1, 4]],), limit=2),
        "FeasibleFlow": _both(reductions.feasible_flow, (COSTS, [3, 0, -3]), (COSTS, [2, 0, -2])),
        "FlowAndCut": Sample(
            lambda: reductions.MaxFlowAsCirculation.of(NETWORK, 0, 3).solve(),
            lambda: reductions.MaxFlowAsCirculation.of(NETWORK, 0, 4).solve(),
        ),
        "VertexFlow": Sample(
            lambda: reductions.VertexCapacities.of(NETWORK, {1: 1}, 0, 3).solve(),
            lambda: reductions.VertexCapacities.of(NETWORK, {1: 2}, 0, 3).solve(),
        ),
        "PricedAssignment": Sample(
            lambda: reductions.AssignmentAsTransport.of([[1, 2], [4, 4]]).solve(),
            lambda: reductions.AssignmentAsTransport.of([[3, 2], [1, 4]]).solve(),
        ),
        "ProjectSelection": _both(reductions.select_projects, ([3, -1], [(0, 1)]), ([3, -2, 4], [(0, 1)])),
        "UltimatePit": _both(reductions.ultimate_pit, ([[[3, -1]], [[-1, -1]]],), ([[[4, -1]], [[2, -3]]],)),
        "DiagonalScaling": _both(
            preflow.scale_to_diagonal, ([[0.5, 3.0], [2.0, 1.0]],), ([[0.5, 3.0], [0.0, 1.0]],)
        ),
        "DiagonalScaling, symmetric": _both(
            preflow.scale_to_diagonal,
            ([[1, 3], [3, 1]],),
            ([[0, 2, 0], [2, 5, 1], [0, 1, 0]],),
            symmetric=True,
        ),
        "DiagonalScaling of a sum": _both(
            preflow.scale_to_diagonal, ([[1, 3], [2, 1]],), ([[4, 3], [2, 4]],), goal="sum"
        ),
        "DiagonalScaling, smallest": _both(
            preflow.scale_to_diagonal, ([[1.5, 3], [2, 1]],), ([[4, 3], [2, 4.5]],), goal="smallest"
        ),
        "RoundedMatrix": _both(
            reductions.round_matrix, ([[0.5, 1.25], [0.75, 0.5]],), ([[0.5, 2.25], [0.25, 0.5]],)
        ),
        "Denoised": _both(vision.denoise, (IMAGE, 0.1), (1 - IMAGE, 0.3), levels=4),
        "Labelling": _both(
            vision.alpha_expansion,
            (np.arange(12).reshape(3, 2, 2), vision.potts(3), 1),
            (np.arange(12)[::-1].reshape(3, 2, 2), vision.potts(3), 1),
        ),
        "GraphLabelling": _both(vision.label_graph, (GRAPH_ENERGY,), (OTHER_GRAPH_ENERGY,)),
        "EnergyMinimum": _both(vision.minimize_energy, (ENERGY,), (OTHER_ENERGY,)),
        "PartialLabelling": _both(vision.minimize_energy, (FRUSTRATED,), (OTHER_FRUSTRATED,), partial=True),
        "LabelSegmentation": _both(vision.segment_labels, (np.eye(4), seeds), (np.eye(4), seeds[::-1])),
        "Segmentation": _both(
            vision.segment, (IMAGE, IMAGE == 1, IMAGE == 0), (1 - IMAGE, IMAGE == 1, IMAGE == 0)
        ),
        "GrabCut": _both(
            vision.grabcut,
            (np.eye(8), vision.box((8, 8), (2, 2), (6, 6))),
            (np.eye(8), vision.box((8, 8), (1, 2), (6, 6))),
        ),
        "Stereo": _both(vision.match_stereo, (IMAGE, IMAGE, 1), (IMAGE, 1 - IMAGE, 1)),
        "OpticalFlow": _both(
            vision.find_optical_flow, (IMAGE, IMAGE), (IMAGE, 1 - IMAGE), max_displacement=1
        ),
        "LayeredSurfaces": _both(vision.layered_surfaces, ([IMAGE, IMAGE],), ([IMAGE, 1 - IMAGE],)),
        "UnwrappedPhase": _both(vision.unwrap_phase, (5 * IMAGE,), (7 * IMAGE,)),
        "RegionCutResult": _both(
            preflow.distributed.grid_cut, (*map(np.array, GRID), 2), (*map(np.array, GRID), 1), regions=2
        ),
        "RegionMinCutResult": Sample(
            lambda: preflow.distributed.min_cut(NETWORK, 0, 3, partition=[0, 0, 1, 1, 1]),
            lambda: preflow.distributed.min_cut(NETWORK, 0, 4, partition=[0, 0, 1, 1, 1]),
        ),
    }


def more_samples() -> dict[str, Sample]:
    """Return samples of other kinds of numbers, costs, graphs and images, as :func:`samples` does."""
    return {**_flows(), **_assignments(), **_graphs(), **_transports(), **_images()}


def _flows() -> dict[str, Sample]:
    two, grid = ([0, 0, 1, 2], [1, 2, 3, 3], [0.3, 0.6, 0.9, 0.1]), [np.array(part) * 0.3 for part in GRID]
    slopes = ([0, 0, 1, 2, 1], [1, 2, 3, 3, 2], [0, 0, 1.2, 0.9, 0.3])
    images = (np.stack([IMAGE, IMAGE[::-1]]) * 0.3, np.stack([1 - IMAGE, IMAGE]) * 0.7)
    return {
        "MaxFlowBatchResult of floats": _both(preflow.max_flow_batch, ([two, two], 0, 3), ([two] * 3, 0, 2)),
        "GridCutResult of floats": _both(preflow.grid_cut, (*grid, 0.7), (*grid, 0.2)),
        "GridCutBatchResult of floats": _both(preflow.grid_cut_batch, (*images, 0.3), (*images[::-1], 0.2)),
        "ParametricMaxFlow of floats": _both(
            preflow.parametric_max_flow, (slopes, [1, 2, 0, 0, 0], 0, 3), (slopes, [0.1, 2, 0, 0, 0], 0, 3)
        ),
        "ParametricMaxFlow with constants": _both(
            partial(preflow.parametric_max_flow, constant=[-3, 0, 0, 0, 0], low=2),
            (slopes, [4, 2, 0, 0, 0], 0, 3),
            (slopes, [3, 2, 0, 0, 0], 0, 3),
        ),
        "ProjectSelection of floats": _both(
            reductions.select_projects,
            ([4.5, 6.25, -5.0, -3.1], [(0, 2), (0, 3), (1, 3)]),
            ([3, 7, -5, -3, 1], [(0, 2)]),
        ),
    }


def _assignments() -> dict[str, Sample]:
    whole, floats, inf = np.arange(12).reshape(3, 4) * 5 % 7, np.sin(np.arange(12)).reshape(3, 4) + 1, np.inf
    # Rows whose reward another row takes: float64 cannot hold prices that prove it.
    contested = np.array([[inf, inf, -1e15, 0, -0.69], [inf, inf, 0, inf, inf]])
    some = [[1.0, 2, 3], [4, inf, inf], [5, inf, inf]]
    stacks = np.stack([whole, whole + 1]), np.stack([floats, floats + 1])
    solved, singles = partial(_both, preflow.linear_assignment), "AssignmentWithSinglesResult"
    priced = reductions.AssignmentAsTransport.of
    return {
        "AssignmentResult of large integers": solved((whole.astype(object) + 2**70,), (whole,)),
        "AssignmentResult of rewards": solved((floats,), (floats * 2,), maximize=True),
        "AssignmentResult of sparse costs": solved((csr_array(whole + 1),), (csr_array(whole + 2),)),
        "AssignmentResult of a batch": solved((stacks[0],), (stacks[0][::-1],)),
        "AssignmentResult of a batch of floats": solved((stacks[1],), (stacks[1][::-1],)),
        "AssignmentResult of sizes": solved((stacks[1],), (stacks[1][::-1],), sizes=[[2, 3], [3, 4]]),
        "AssignmentResult of some rows": solved((some,), (np.transpose(some),), partial=True),
        "AssignmentResult of exact prices": solved(
            (contested,), (contested[:, 2:],), method="serial-shortest-path"
        ),
        "AssignmentResult of huge costs": solved((np.where(np.eye(3, 4, 1) > 0, 1e308, floats),), (floats,)),
        "AssignmentResult of points": solved(
            (preflow.PointCosts(floats, floats[:2]),), (preflow.PointCosts(floats, floats[1:]),)
        ),
        f"{singles} of huge costs": solved((floats[:, :3],), (floats,), unmatched_cost=(1e308, 1e16)),
        f"{singles} of a batch": solved((stacks[1],), (stacks[1][::-1],), unmatched_cost=0.3),
        f"{singles} of sparse costs": solved((csr_array(floats),), (csr_array(whole),), unmatched_cost=0.4),
        "PricedAssignment of floats": Sample(priced(floats).solve, priced(floats[::-1]).solve),
        "PricedAssignment of a square": Sample(priced(floats[:, :3]).solve, priced(floats[:, 1:]).solve),
    }


def _graphs() -> dict[str, Sample]:
    ends = [0, 0, 1, 2, 3, 3], [1, 2, 2, 3, 4, 5]
    floats, others = (*ends, [0.3, 0.1, 0.4, 0.2, 0.5, 0.6]), (*ends, [3, 1, 4, 2, 5, 6])
    directed = preflow.FlowNetwork.from_arrays([0, 1, 2, 2, 3, 0], [1, 2, 0, 3, 0, 2], 1)
    complete = [0, 0, 0, 1, 1, 2], [1, 2, 3, 2, 3, 3]
    edges, vertices = preflow.edge_connectivity, preflow.vertex_connectivity
    loops = [0, 1, 2, 3, 0, 1], [1, 2, 3, 0, 2, 1], [3.5, 1.5, 4, 1, 2, 1]
    return {
        "GomoryHuTree of floats": _both(preflow.gomory_hu_tree, (floats,), (others,)),
        "GlobalMinCut of a path": _both(preflow.global_min_cut, (others,), (floats,)),
        "EdgeConnectivity of a directed graph": _both(edges, (directed,), (ends,)),
        "EdgeConnectivity of all pairs": _both(edges, (complete,), (directed,)),
        "EdgeConnectivity of two vertices": _both(edges, (ends, 0, 4), (ends, 0, 1)),
        "VertexConnectivity of a directed graph": _both(vertices, (directed,), (ends,)),
        "VertexConnectivity of all pairs": _both(vertices, (complete,), (directed,)),
        "VertexConnectivity of two vertices": _both(vertices, (directed, 1, 3), (directed, 3, 2)),
        "EdgeCover of floats": _both(reductions.minimum_weight_edge_cover, (loops,), (floats,)),
        "GeneralBMatching of floats": _both(reductions.general_b_matching, (loops, 2), (floats, 1)),
        "UltimatePit of floats": _both(
            reductions.ultimate_pit, ([[[0.3, -0.1]], [[-0.1, -1]]],), ([[[4, -1]], [[2.5, -3]]],)
        ),
        "TJoin of floats": _both(reductions.t_join, (loops, [0, 1]), (loops, [0, 2])),
        "PostmanTour of floats": _both(reductions.chinese_postman, (loops,), (floats,)),
    }


def _transports() -> dict[str, Sample]:
    costs, a, b = np.sin(np.arange(24)).reshape(4, 6), np.array([0.1, 0.4, 0.2, 0.3]), np.full(6, 1 / 6)
    whole = [3, 4, 5, 6], [3] * 6
    moved = partial(_both, preflow.transport)
    return {
        "TransportResult of real masses": moved((costs, a, b), (costs, a[::-1], b)),
        "TransportResult of whole masses": moved((costs, *whole), (costs[::-1], *whole)),
        "TransportResult of whole costs": moved((np.rint(9 * costs).astype(int), a, b), (costs, a[::-1], b)),
        "TransportResult of sparse costs": moved((csr_array(costs), a, b), (costs[::-1], a, b)),
        "PartialTransportResult of prices": _both(
            preflow.transport, (csr_array(costs), a, b), (costs[::-1], a, b), unmatched_cost=(0.2, 0.1)
        ),
        "PartialTransportResult of few pairs": _both(
            preflow.transport,
            ([[4, np.inf], [2, np.inf]], [6, 5], [4, 4]),
            ([[4, 1], [np.inf, np.inf]], [3, 5], [4, 4]),
            partial=True,
        ),
        "TransportResult of points": moved(
            (preflow.PointCosts(costs, costs[:3]), a, [1 / 3] * 3), (costs, a, b)
        ),
    }


def _images() -> dict[str, Sample]:
    rng = np.random.default_rng(3)
    image = np.clip(np.add.outer(np.arange(6), np.arange(7)) * 18 + rng.integers(0, 20, (6, 7)), 0, 255)
    bright = 100 * (np.add.outer(abs(np.arange(8) - 3.5), abs(np.arange(9) - 4)) < 3)
    bright = bright + rng.integers(0, 20, (8, 9))
    seeds = np.zeros((2, 6, 7), bool)
    seeds[0, 1, 1:3] = seeds[1, 4, 5] = True
    markers = seeds[0] + 2 * seeds[1]
    markers[0, 6], markers[5, 0] = 5, -1
    texture, data = rng.random((16, 24)), rng.random((3, 4, 5))
    phase = np.angle(np.exp(1j * np.add.outer(np.arange(6) ** 1.7, np.arange(5) * 1.3)))
    shifted = texture[:12, 2:16]
    patches = {"max_displacement": 2, "method": "assignment", "patch": 6, "radius": 2}

    def energy(scale: float) -> Any:
        unary = np.random.default_rng(1).random((5, 2)) * scale
        return vision.BinaryEnergy(unary, [(0, 1), (1, 2), (3, 4)], np.array([[0, 0.3], [0.4, 0]]))

    def graph(seed: int) -> Any:
        unary = np.random.default_rng(seed).random((3, 5))
        return vision.GraphLabelEnergy(unary, [0, 1, 2, 3], [1, 2, 3, 4], vision.potts(3), 0.2)

    return {
        "EnergyMinimum of floats": _both(vision.minimize_energy, (energy(1),), (energy(2),)),
        "PartialLabelling of floats": _both(vision.minimize_energy, (energy(1),), (energy(2),), partial=True),
        "Labelling of floats": _both(
            vision.alpha_expansion, (data, vision.potts(3), 0.2), (data + data[::-1], vision.potts(3), 0.2)
        ),
        "Labelling by swaps": _both(
            vision.alpha_beta_swap,
            ((900 * data).astype(int), vision.potts(3), 170),
            ((900 * data).astype(int)[:, :, ::-1], vision.potts(3), 170),
        ),
        "GraphLabelling of floats": _both(vision.label_graph, (graph(0),), (graph(1),)),
        "Denoised image": _both(vision.denoise, (image, 12.0), (image[:, ::-1], 12.0), levels=8),
        "Denoised channels": _both(
            vision.denoise, (data[:2], 0.2), (data[1:], 0.2), levels=4, channel_axis=0
        ),
        "Segmentation of an image": _both(vision.segment, (image, *seeds), (image + 40 * seeds[0], *seeds)),
        "GrabCut of an image": _both(
            vision.grabcut, (bright, (1, 1, 6, 7)), (bright, (1, 2, 6, 7)), smoothness=2.0, components=1
        ),
        "LabelSegmentation of an image": _both(
            vision.segment_labels, (image, markers), (image + 40 * seeds[0], markers), smoothness=1.0
        ),
        "Stereo of textures": _both(
            vision.match_stereo,
            (texture[:6, :10], texture[:6, 2:12], 4),
            (texture[:6, 1:11], texture[:6, 2:12], 4),
        ),
        "OpticalFlow of textures": _both(
            vision.find_optical_flow,
            (texture[1:13, :14], shifted),
            (texture[1:13, 1:15], shifted),
            max_displacement=3,
        ),
        "OpticalFlow by assignment": _both(
            vision.find_optical_flow, (texture[1:13, :14], shifted), (texture[1:13, 1:15], shifted), **patches
        ),
        "LayeredSurfaces of a volume": _both(
            vision.layered_surfaces,
            (np.stack([texture, texture[::-1]]).reshape(2, 4, -1, 8),),
            (np.stack([texture[::-1], texture]).reshape(2, 4, -1, 8),),
            max_step=[1, 2],
            max_gap=3,
        ),
        "UnwrappedPhase of waves": _both(vision.unwrap_phase, (phase,), (1 - phase,)),
        "UnwrappedPhase with holes": _both(
            vision.unwrap_phase, (phase,), (1 - phase,), mask=phase != phase.flat[2]
        ),
    }


def fields_of(result: Any) -> list[str]:
    """Return the names of all fields, also of private ones; what a property has cached is none."""
    if dataclasses.is_dataclass(result):
        return [field.name for field in dataclasses.fields(result)]
    return sorted(vars(result))


class Damage(NamedTuple):
    """A value that takes the place of a field's, and what it is."""

    what: str
    value: Any


#: Values of which no field has all; where it has one, it is left out.
JUNK = (
    None, "garbage", b"optimal", object(), Exception, float("nan"), float("inf"), -float("inf"), -1, 7,
    2**63 - 1, -(2**63), 10**400, -(10**400), 0.5, 1j, np.float64("nan"), [], [[1], 2], {}, (), (0, 99),
    np.zeros(0), np.zeros((2, 2)), np.zeros((1, 1, 1)), np.zeros((), dtype=np.int64), np.array(["a"]),
    np.array(["a", None], dtype=object), np.array([object()] * 4),
)  # fmt: skip
#: What single entries of arrays become.
INTEGERS = (-1, 2**31, 2**63 - 1, -(2**63), 2**62, -(2**62))
REALS = (float("nan"), float("inf"), -float("inf"), 1e18, 1e308, -1e308)
#: Entries of an array that are changed, one at a time; those of its end, where there are more.
MOST_ENTRIES = 6


def damages(value: Any, other: Any) -> Iterator[Damage]:
    """Yield what may take the place of a field's value; `other` is that of another instance."""
    for junk in JUNK:
        if not _same(junk, value):
            yield Damage(f"{type(junk).__name__} {str(junk)[:20]}", junk)
    if not _same(other, value):
        yield Damage("that of another instance", other)
    if isinstance(value, np.ndarray):
        yield from _damaged_arrays(value)
        yield Damage("a list", value.tolist())
    elif isinstance(value, int | float | Fraction | np.number) and not isinstance(value, bool):
        for changed in (value + 1, value - 1, -value, value * 2, value + 0.25, str(value), [value]):
            if not _same(changed, value):
                yield Damage(f"{changed} for {value}", changed)
    elif isinstance(value, bool | np.bool_):
        yield Damage(f"{not value}", not value)
    elif isinstance(value, str):
        yield Damage("a word of an array", np.array([value]))
    elif isinstance(value, list | tuple) and type(value) in (list, tuple) and len(value):
        for what, changed in (("shorter", value[:-1]), ("twice", value + value), ("reversed", value[::-1])):
            if not _same(changed, value):
                yield Damage(what, changed)
        for part in damages(value[0], value[0]):
            yield Damage(f"first part: {part.what}", type(value)([part.value, *value[1:]]))


def _same(one: Any, other: Any) -> bool:
    if one is other:
        return True
    if isinstance(one, np.ndarray) and one.ndim == 0 and isinstance(other, int | float):
        return bool(one == other)
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and _equal(one, other)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, int | float | str):
        return one == other
    try:
        return pickle.dumps(one) == pickle.dumps(other)
    except (TypeError, AttributeError, pickle.PicklingError):
        return False


def _equal(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two arrays have the same entries, of which both may be NaN."""
    unknown = one.dtype.kind == other.dtype.kind == "f"
    return np.array_equal(one, other, equal_nan=unknown)


def _damaged_arrays(values: np.ndarray) -> Iterator[Damage]:
    for kind in (np.float64, np.float32, np.int64, np.int8, np.bool_, np.uint64, object, np.complex128):
        with np.errstate(all="ignore"), warnings.catch_warnings(), suppress(OverflowError):
            warnings.simplefilter("ignore")
            changed = values.astype(kind)
            if not _equal(changed, values):
                yield Damage(f"dtype {np.dtype(kind)}", changed)
    shapes = [values[None], np.broadcast_to(values, (2, *values.shape))]
    if values.ndim:
        shapes += [values[:-1], values[:0], np.concatenate([values, values]), values[..., None]]
        if len(values) > 1:
            shapes.append(values[:1])
        shapes += [values.reshape(-1)[0]] if values.size else []
    for each in shapes:
        if np.shape(each) != values.shape:
            yield Damage(f"shape {np.shape(each)}", np.asarray(each))
    flat = values.reshape(-1)
    for at in sorted({*range(len(flat))[: MOST_ENTRIES // 2], *range(len(flat))[-MOST_ENTRIES // 2 :]}):
        for entry in _entries(flat[at]):
            changed = flat.copy()
            try:
                with np.errstate(all="ignore"):
                    changed[at] = entry
            except OverflowError:
                continue
            if not _equal(changed, flat):
                yield Damage(f"entry {at} is {entry}", changed.reshape(values.shape))
    for at in range(1, min(len(flat), MOST_ENTRIES)):
        if flat[at] != flat[0]:
            changed = flat.copy()
            changed[[0, at]] = changed[[at, 0]]
            yield Damage(f"entries 0 and {at} swapped", changed.reshape(values.shape))


def _entries(value: Any) -> list[Any]:
    if isinstance(value, np.bool_):
        return [not value]
    if isinstance(value, np.floating | float):
        return [*REALS, value + 1, value - 1, -value, value * (1 + 2.0**-20)]
    if isinstance(value, np.integer | int):
        return [*INTEGERS, int(value) + 1, int(value) - 1, -int(value)]
    return [None, "x"]


def damaged(result: Any, name: str, value: Any) -> Any:
    """Return a copy of a result with another value in one field, whatever its constructor says."""
    changed = copy.copy(result)
    object.__setattr__(changed, name, value)
    return changed
