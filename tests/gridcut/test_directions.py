"""The order of directions: that of the page of grid cuts, arrays whose shapes say their axis, a remark."""

from __future__ import annotations

import ast
import re
import warnings
from typing import Any

import numpy as np
import pytest

import preflow
from preflow.errors import InvalidInputError
from preflow.graph.neighbourhood import half_neighbourhood
from preflow.vision import LabelEnergy, alpha_expansion, potts
from tests.support.paths import ROOT

pytestmark = pytest.mark.fast

#: Weights along both axes of an image of 3 x 4 pixels.
BELOW = np.array([[1, 2, 3, 4], [5, 6, 7, 8]])
RIGHT = np.array([[10, 20, 30], [40, 50, 60], [70, 80, 90]])
PADDED = np.stack([np.pad(RIGHT, [(0, 0), (0, 1)]), np.pad(BELOW, [(0, 1), (0, 0)])])
#: Costs of two labels, and what the labelling costs that takes the second one in the upper left pixel only:
#: 50 for the pixels, 10 and 1 for its neighbours to the right and below.
DATA = np.full((2, 3, 4), 50)
DATA[0] = 4
DATA[1, 0, 0], DATA[0, 0, 0] = 6, 50
ENERGY = 4 * 11 + 6 + 10 + 1


def energy_of(weights: Any) -> int | float:
    labels = np.zeros((3, 4), dtype=np.int64)
    labels[0, 0] = 1
    return LabelEnergy.from_arrays(DATA, potts(2), weights).energy(labels)


def test_the_table_of_the_page_is_the_order() -> None:
    page = ROOT.joinpath("docs", "problems", "grid_cut.md").read_text("utf-8")
    rows = re.findall(r"^\| (\d+)(?: in a signal)? \| (\(.*\)) \|$", page, re.M)
    assert [int(neighbours) for neighbours, _ in rows] == [2, 4, 8, 6, 18, 26]
    for neighbours, listed in rows:
        offsets = [np.atleast_1d(offset).tolist() for offset in ast.literal_eval(f"[{listed}]")]
        assert offsets == [list(each) for each in half_neighbourhood(len(offsets[0]), int(neighbours))]


def test_the_docstrings_have_the_order() -> None:
    for function in (preflow.grid_cut, LabelEnergy.from_arrays):
        text = " ".join(str(function.__doc__).split())
        for neighbours in (4, 8):
            offsets = ", ".join(map(str, half_neighbourhood(2, neighbours)))
            assert f"{neighbours} neighbours" in text
            assert offsets in text


@pytest.mark.parametrize(
    "weights", [PADDED, [RIGHT, BELOW], (BELOW, RIGHT), [BELOW.tolist(), RIGHT.tolist()]]
)
def test_arrays_of_each_axis(weights: Any) -> None:
    assert energy_of(weights) == ENERGY
    assert alpha_expansion(DATA, potts(2), weights).energy == ENERGY
    cut = preflow.grid_cut(DATA[1], DATA[0], weights)
    assert cut.value == ENERGY
    assert (cut.network.neighbor_capacity == PADDED).all()


@pytest.mark.parametrize("weights", [[[1, 2], [3]], [[[1, 2], [3]], RIGHT], [BELOW, [RIGHT[0], [1]]]])
def test_lists_of_unequal_lengths_are_refused(weights: Any) -> None:
    for call in (lambda: preflow.grid_cut(*DATA, weights), lambda: energy_of(weights)):
        with pytest.raises(InvalidInputError, match="not an array: parts of it have different lengths"):
            call()


def test_arrays_of_each_axis_of_a_volume_with_equal_sides() -> None:
    rng = np.random.default_rng(3)
    source, sink, volume = rng.integers(0, 30, (3, 3, 3, 3))
    along = [np.abs(np.diff(volume, axis=axis)) for axis in range(3)]
    padded = [np.pad(each, [(0, axis == at) for at in range(3)]) for axis, each in enumerate(along)]
    wanted = preflow.grid_cut(source, sink, np.stack(padded[::-1]))
    for order in (along, along[::-1], [along[1], along[0], along[2]]):
        assert preflow.grid_cut(source, sink, order).value == wanted.value


@pytest.mark.parametrize(
    "weights",
    [
        [BELOW, RIGHT[:2]],
        [BELOW, RIGHT, BELOW[:, :3]],
        [PADDED[0], BELOW],
        [BELOW, BELOW[:1]],
        [BELOW],
        [RIGHT, RIGHT],
    ],
)
def test_other_shapes_are_refused(weights: Any) -> None:
    words = r"expected shape \(K, 3, 4\), or an array of each of the shapes \(3, 3\), \(2, 4\)"
    for call in (lambda: preflow.grid_cut(*DATA, weights), lambda: energy_of(weights)):
        with pytest.raises(InvalidInputError, match=words):
            call()


def test_a_remark_on_the_order_of_the_axes() -> None:
    words = r"order of directions is \(0, 1\), \(1, 0\)"
    for call in (lambda: preflow.grid_cut(*DATA, PADDED[::-1]), lambda: energy_of(PADDED[::-1])):
        with pytest.warns(UserWarning, match=words) as caught:
            call()
        assert caught[0].filename == __file__
    along = [np.ones(shape, dtype=int) for shape in ((2, 3, 3), (3, 2, 3), (3, 3, 2))]
    padded = np.stack([np.pad(each, [(0, axis == at) for at in range(3)]) for axis, each in enumerate(along)])
    with pytest.warns(UserWarning, match=r"\(0, 0, 1\), \(0, 1, 0\), \(1, 0, 0\)"):
        preflow.grid_cut(np.ones((3, 3, 3)), 1, padded)


def test_no_remark_on_the_right_order() -> None:
    image = np.arange(12).reshape(3, 4) ** 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for neighbor in (PADDED, preflow.contrast_capacity(image), np.zeros((2, 3, 4)), np.ones((2, 3, 4))):
            preflow.grid_cut(*DATA, neighbor)
        preflow.grid_cut(*DATA, np.concatenate([PADDED, PADDED]), connectivity=4)
        preflow.grid_cut(*DATA, PADDED[::-1], connectivity=[(1, 0), (0, 1)])
        preflow.grid_cut(DATA[1, :1], DATA[0, :1], np.stack([np.zeros((1, 4)), np.ones((1, 4))]))
