"""Batches and their results are sequences: of items by number, and of batches by slice or array."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import preflow
from preflow.errors import InvalidTypeError
from tests.support.tensors import Tensor

ITEMS = 8
PAIRS = [(0, 3), (0, 2), (3, 0), (1, 3), (2, 3), (0, 1), (1, 2), (2, 1)]
SOME: list[Any] = [
    slice(0, 1),
    slice(None, None, -2),
    slice(3, 3),
    [2, -1, 2],
    [],
    np.array([True, False] * 4),
    np.array([5], dtype=np.uint8),
]


def results(random: np.random.Generator) -> dict[str, Any]:
    """Return a result with eight items of each kind."""
    weights = random.integers(1, 9, (ITEMS, 5, 5))
    weights += weights.transpose(0, 2, 1)
    weights[2] += 2**58  # an item that is solved alone
    networks = [([0, 0, 1, 2], [1, 2, 3, 3], random.integers(0, 9, 4)) for _ in range(ITEMS)]
    labelled = [[("a", "b", 3), ("b", "c", k), *[("c", "d", 2)] * (k % 3)] for k in range(ITEMS)]
    pixels = random.integers(0, 9, (2, ITEMS, 3, 4))
    return {
        "flows": preflow.max_flow_batch(networks, 0, 3),
        "matrices": preflow.matching_batch(weights),
        "tensors": preflow.matching_batch(Tensor(weights * 0.7)),
        "graphs": preflow.matching_batch(labelled),
        "grids": preflow.grid_cut_batch(*pixels, 3),
        "grids of floats": preflow.grid_cut_batch(*(pixels * 0.3), 3),
        "pairs": preflow.pair_flows(networks[0], PAIRS),
        "assignments": preflow.linear_assignment(weights[:, :4]),
    }


@pytest.mark.parametrize("seed", range(3))
def test_parts_of_results_are_results(seed: int) -> None:
    for name, result in results(np.random.default_rng(seed)).items():
        for index in SOME:
            part, chosen = result[index], np.arange(ITEMS)[index].tolist()
            part.verify()
            assert type(part) is type(result), name
            assert len(part) == len(chosen) == len(list(part))
            for one, item in zip(part, chosen, strict=True):
                one.verify()
                assert one.value == result[item].value


def test_networks_and_graphs_of_parts_have_their_labels() -> None:
    result = results(np.random.default_rng(0))["graphs"]
    assert result[2:4].graphs[1].labels == result.graphs[3].labels
    networks = preflow.FlowNetworkBatch.from_networks(
        [preflow.FlowNetwork.from_edges([(name, "t", k)]) for k, name in enumerate("xyz")]
    )
    assert [each.labels for each in networks[[2, 0]]] == [("z", "t"), ("x", "t")]
    assert networks[::2].capacity.tolist() == [0, 2]


def test_parts_that_are_optimal_say_so() -> None:
    result = preflow.max_flow_batch([([0], [1], [1.0])] * 3, 0, 1)
    damaged = result.optimal.copy()
    damaged[1] = False
    object.__setattr__(result, "optimal", damaged)
    object.__setattr__(result, "status", "time-limit")
    assert [result[part].status for part in (slice(1), [1, 2], slice(2, 3))] == [
        "optimal",
        "time-limit",
        "optimal",
    ]


@pytest.mark.parametrize("index", [0, -8, True, np.int64(7), np.uint8(3), np.array(2)])
def test_numbers_give_one_item(index: Any) -> None:
    for result in results(np.random.default_rng(0)).values():
        assert not hasattr(result[index].value, "shape")


@pytest.mark.parametrize(
    ("index", "error"),
    [
        (8, IndexError),
        (-9, IndexError),
        (2**70, IndexError),
        ([8], IndexError),
        (np.ones(3, dtype=bool), IndexError),
        *[(wrong, InvalidTypeError) for wrong in (1.0, "a", None, [0.5], [[1]], np.zeros((1, 1), dtype=int))],
    ],
)
def test_other_indices_are_refused(index: Any, error: type[Exception]) -> None:
    for name, result in results(np.random.default_rng(0)).items():
        with pytest.raises(error, match=r"item|ind(ex|ices)"):
            result[index]
        if name != "assignments":  # of which there may be batches of several dimensions
            with pytest.raises(InvalidTypeError, match="not by tuple"):
                result[0, 1]
