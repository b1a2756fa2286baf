"""Arguments that many functions share, of any type: each wrong one is an error of the package."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import preflow
from preflow import reductions, vision
from preflow.errors import InvalidInputError, PreflowError
from tests.support.problems import small_calls

NETWORK = [0, 0, 1, 2], [1, 2, 3, 3], [3, 2, 2, 4]
COSTS = preflow.CostNetwork.from_arrays([0, 0, 1], [1, 2, 2], capacity=[2, 4, 2], cost=[1, 5, 2])
GRID = np.array([[5, 0], [0, 1]]), np.array([[0, 5], [1, 0]]), 1
EDGES = [0, 1, 0], [1, 2, 2]
IMAGE = np.eye(4)
GRAPH_ENERGY = vision.GraphLabelEnergy([[0, 3], [2, 0]], [0], [1], vision.potts(2))
ENERGY = vision.BinaryEnergy([[0, 1], [2, 0]], [[0, 1]], [[0, 1], [1, 0]])
JUNK: list[Any] = [["auto"], {"a": 1}, ("auto",), 5, -1.5, b"auto", object(), np.array(["auto", "b"])]
NO_NUMBERS: list[Any] = ["2", [1], float("nan"), np.array([1, 2]), {}]
WRONG: dict[str, list[Any]] = {
    "method": JUNK,
    "device": JUNK,
    "options": [5, "gap", [("a", 1)], np.array([1, 2]), {5: 1}, {"no such option": []}],
    "threads": [*NO_NUMBERS, 2.5, -1, 0, -(10**400), True],
    "time_limit": [*NO_NUMBERS, -1, 0, -(10**400), 10**400],
    "initial": JUNK,
    "warm_start": JUNK,
    "flow_limit": NO_NUMBERS,
}
CALLS: dict[str, Callable[..., Any]] = {
    **small_calls(),
    "max_flow_batch": partial(preflow.max_flow_batch, [NETWORK, NETWORK], 0, 3),
    "matching_batch": partial(preflow.matching_batch, np.ones((2, 3, 3))),
    "grid_cut_batch": partial(preflow.grid_cut_batch, GRID[0][None], GRID[1][None], 1),
    "singles": partial(preflow.linear_assignment, [[1, 2], [3, 1]], unmatched_cost=1),
    "max_flow_min_cost": partial(preflow.max_flow_min_cost, COSTS, 0, 2),
    "parametric_max_flow": partial(preflow.parametric_max_flow, NETWORK, [1, 0, 0, 0], 0, 3),
    "MaxFlow": partial(preflow.MaxFlow, NETWORK, 0, 3),
    "MaxFlow.solve": lambda **wrong: preflow.MaxFlow(NETWORK, 0, 3).solve(**wrong),
    "MinCostFlow.solve": lambda **wrong: preflow.MinCostFlow(COSTS).solve(**wrong),
    "regions.grid_cut": partial(preflow.distributed.grid_cut, *GRID),
    "regions.min_cut": partial(preflow.distributed.min_cut, NETWORK, 0, 3, partition=[0, 0, 1, 1]),
    "scale_to_diagonal": partial(preflow.scale_to_diagonal, [[1, 2], [3, 1]]),
    "shortest_path": partial(reductions.shortest_path, COSTS, 0, 2),
    "bottleneck_assignment": partial(reductions.bottleneck_assignment, [[1, 2], [4, 4]]),
    "assign_jobs": partial(reductions.assign_jobs, [[1, 2], [4, 4]]),
    "feasible_flow": partial(reductions.feasible_flow, COSTS, [3, 0, -3]),
    "select_projects": partial(reductions.select_projects, [3, -1], [(0, 1)]),
    "b_matching": partial(reductions.b_matching, ([0, 1], [0, 1])),
    "round_matrix": partial(reductions.round_matrix, [[0.5, 1.25]]),
    "segment": partial(vision.segment, IMAGE, IMAGE == 1, IMAGE[::-1] == 1),
    "denoise": partial(vision.denoise, IMAGE, 0.1),
    "alpha_expansion": partial(vision.alpha_expansion, np.arange(12).reshape(3, 2, 2), vision.potts(3), 1),
    "label_graph": partial(vision.label_graph, GRAPH_ENERGY),
    "minimize_energy": partial(vision.minimize_energy, ENERGY),
    "minimize_energy, partial": partial(vision.minimize_energy, ENERGY, partial=True),
    "unwrap_phase": partial(vision.unwrap_phase, 5 * IMAGE),
    "layered_surfaces": partial(vision.layered_surfaces, [IMAGE]),
    "match_stereo": partial(vision.match_stereo, IMAGE, IMAGE, 1),
}


def refused(call: Callable[..., Any], argument: str, value: Any) -> bool:
    """Return whether a value is refused, or the function has no such argument."""
    try:
        call(**{argument: value})
    except PreflowError:
        return True
    except TypeError as error:
        assert "unexpected keyword argument" in str(error), f"{argument}={value!r}"  # noqa: PT017
        return True
    return False


@pytest.mark.filterwarnings("ignore:initial is now called warm_start:DeprecationWarning")
@pytest.mark.parametrize("name", CALLS)
def test_wrong_arguments(name: str) -> None:
    for argument, values in WRONG.items():
        for value in values:
            assert refused(CALLS[name], argument, value), f"{argument}={value!r}"


class TorchDevice:
    """A device of Torch, as far as its text goes."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text


@pytest.mark.parametrize("name", CALLS)
def test_devices_of_torch(name: str) -> None:
    try:
        CALLS[name](device=TorchDevice("cpu"))
    except TypeError as error:
        pytest.skip(str(error))
    for number in (TorchDevice("cuda:0"), "cuda:1"):
        with pytest.raises(InvalidInputError, match="'cuda' is the GPU that has the arrays, otherwise the"):
            CALLS[name](device=number)
