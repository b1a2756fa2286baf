"""Every parameter that is a number takes any of Python's and NumPy's numbers, or refuses it by an error."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import preflow
from preflow import distributed, generators, reductions, vision
from preflow.errors import InvalidInputError, PreflowError
from tests.support.problems import small_calls

pytestmark = pytest.mark.filterwarnings("error")

NETWORK = ([0, 0, 1, 2], [1, 2, 3, 3], [3, 2, 2, 4])
FLOW = {"network": NETWORK, "source": 0, "sink": 3}
COSTS = (*NETWORK, [1, 1, 2, 1])
GRID = {"source_capacity": [[5, 0], [2, 0]], "sink_capacity": [[0, 1], [0, 5]], "neighbor_capacity": 2}
EDGES = [(0, 1, 2), (1, 2, 3), (0, 2, 1)]
IMAGE = np.add.outer(np.arange(8), np.arange(9)) / 16.0
SEEDS = {"foreground": IMAGE > 0.9, "background": IMAGE < 0.1}
MARKERS = (IMAGE > 0.9) + 2 * (IMAGE < 0.1)
LABELS = {"data": np.arange(12).reshape(3, 2, 2), "distance": vision.potts(3)}

#: A call of each public function with the arguments that it needs; numbers among them are tried, too.
CALLS: dict[Callable[..., Any], dict[str, Any]] = {
    **{call.func: inspect.signature(call.func).bind(*call.args).arguments for call in small_calls().values()},
    preflow.max_flow_min_cost: {"network": COSTS, "source": 0, "sink": 3},
    preflow.parametric_max_flow: {**FLOW, "slope": [1, 0, 0, 0]},
    preflow.contrast_capacity: {"image": IMAGE},
    preflow.global_min_cut: {"graph": EDGES},
    preflow.gomory_hu_tree: {"graph": EDGES},
    preflow.directed_min_cut: {"network": NETWORK},
    preflow.pair_flows: {"graph": NETWORK, "pairs": [(0, 3)]},
    preflow.matching_batch: {"graphs": np.ones((2, 4, 4), dtype=np.int64)},
    preflow.edge_connectivity: {"graph": EDGES},
    preflow.vertex_connectivity: {"graph": EDGES},
    preflow.scale_to_diagonal: {"matrix": [[1.0, 2.0], [3.0, 4.0]]},
    reductions.b_matching: {"graph": ([0, 0, 1], [0, 1, 1]), "row_limit": 2, "column_limit": 2},
    reductions.bottleneck_assignment: {"cost": [[1, 2], [2, 1]]},
    reductions.assign_jobs: {"cost": [[1, 2], [2, 1]]},
    reductions.disjoint_paths: {"network": NETWORK, "source": 0, "sink": 3},
    reductions.total_variation: {"graph": ([0, 1], [1, 2], [1, 1]), "y": [1, 2, 3]},
    reductions.isotonic_regression: {"order": ([0, 1], [1, 2]), "y": [1, 2, 3]},
    reductions.round_matrix: {"matrix": [[0.5, 1.5], [1.5, 0.5]]},
    vision.alpha_expansion: LABELS,
    vision.alpha_beta_swap: LABELS,
    vision.denoise: {"image": IMAGE, "weight": 0.25},
    vision.segment: {"image": IMAGE, **SEEDS},
    vision.segmentation_network: {"image": IMAGE, **SEEDS},
    vision.segment_labels: {"image": IMAGE, "markers": MARKERS},
    vision.grabcut: {"image": IMAGE, "box": (2, 2, 7, 8)},
    vision.match_stereo: {"left": IMAGE, "right": IMAGE, "max_disparity": 2},
    vision.find_optical_flow: {"reference_image": IMAGE, "moving_image": IMAGE, "max_displacement": 2},
    vision.minimize_energy: {"energy": vision.BinaryEnergy([[4, 0], [0, 1]], [[0, 1]], [[0, 5], [5, 0]])},
    vision.label_graph: {"energy": vision.GraphLabelEnergy([[0, 3], [2, 0]], [0], [1], vision.potts(2))},
    vision.unwrap_phase: {"phase": IMAGE},
    vision.layered_surfaces: {"cost": [IMAGE], "max_step": 2, "min_gap": 0, "max_gap": 3},
    vision.potts: {"labels": 3},
    vision.truncated_linear: {"labels": 3, "limit": 2},
    vision.bad_pixels: {"disparity": IMAGE, "truth": IMAGE},
    vision.box: {"shape": (8, 9), "corner": (1, 1), "opposite": (3, 3)},
    vision.stroke: {"shape": (8, 9), "points": [(1, 1), (4, 4)], "brush": 2.0},
    vision.flow_picture: {"flow": np.zeros((2, 8, 9))},
    vision.disparity_picture: {"disparity": IMAGE},
    vision.labels_picture: {"labels": MARKERS, "image": IMAGE},
    vision.Painting: {"image": IMAGE},
    reductions.ultimate_pit: {"values": np.array([[[3, -1], [-1, 2]]])},
    distributed.grid_cut: GRID,
    distributed.min_cut: {**FLOW, "partition": [0, 0, 1, 1]},
    generators.grid_2d: {"height": 4, "width": 5},
    generators.erdos_renyi: {"n": 10, "degree": 2},
    generators.noisy_grid: {"shape": (4, 5)},
}
#: Functions with numbers that are not tried here.
ELSEWHERE = {
    "compare": "it runs other packages",
    "grid_cut_batch": "the same parameters as grid_cut",
    "max_flow_batch": "the same parameters as max_flow",
    "map": "it starts processes; time_limit below",
    "paint": "it starts a server",
    "MinCostFlow": "the same parameters as min_cost_flow",
    "read_scribbles": "it reads a file",
    "parse_seeds": "it reads words",
    "write_image": "it writes a file",
    "select_projects": "profits are arrays",
}
NUMBERS: list[Any] = [
    10**400,
    -(10**400),
    Fraction(1, 3),
    Fraction(10**400, 3),
    Decimal("0.25"),
    Decimal("1e400"),
    np.uint8(2),
    np.int8(-1),
    np.float16(0.5),
    np.float32(2.0),
    np.longdouble(2.0),
    np.True_,
    True,
    "2",
    b"2",
    float("nan"),
    float("inf"),
    -float("inf"),
    5e-324,
    -1.5,
    0,
    3 + 4j,
    [2],
    np.array(2),
    np.array([2, 3]),
    object(),
]
IS_NUMBER = ("int", "float", "Fraction", "Spacing", "Connectivity")


def numbers_of(function: Callable[..., Any]) -> list[str]:
    """Return the parameters of a function that may be a number."""
    return [
        name
        for name, parameter in inspect.signature(function).parameters.items()
        if any(word in str(parameter.annotation) for word in IS_NUMBER)
        and not any(word in str(parameter.annotation) for word in ("NDArray", "tuple[int, ...]"))
    ]


CASES = [(function, name) for function in CALLS for name in numbers_of(function)]


@pytest.mark.parametrize(("function", "name"), CASES, ids=lambda part: getattr(part, "__name__", part))
def test_any_number_is_taken_or_refused(function: Callable[..., Any], name: str) -> None:
    failed = []
    for value in NUMBERS:
        if name == "n" and isinstance(value, int) and value > 10**6:
            continue
        try:
            with contextlib.suppress(PreflowError):
                function(**{**CALLS[function], name: value})
        except Exception as error:
            failed.append(f"{value!r:.40}: {type(error).__name__}: {error!s:.90}")
    assert not failed, "\n".join(failed)


def test_numbers_that_do_not_fit_a_float_are_named() -> None:
    for call in (
        lambda: vision.denoise(IMAGE, 10**400),
        lambda: vision.segment(IMAGE, **SEEDS, smoothness=10**400),
        lambda: vision.segment(IMAGE, **SEEDS, sigma=-(10**400)),
        lambda: preflow.max_flow(**FLOW, time_limit=-(10**400)),
        lambda: preflow.parametric_max_flow(**FLOW, slope=[1, 0, 0, 0], low=10**400),
        lambda: distributed.map(len, [[1]], time_limit=-(10**400)),
    ):
        with pytest.raises(InvalidInputError):
            call()


def test_tables_are_complete() -> None:
    for module in (preflow, vision, reductions, distributed):
        for name in module.__all__:
            function = getattr(module, name)
            if inspect.isfunction(function) and numbers_of(function):
                assert function in CALLS or name in ELSEWHERE, name
