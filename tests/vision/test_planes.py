"""Slices of a volume are shown upright, however its axes lie in the body."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest

from preflow.vision.planes import OPPOSITES, Plane, Volume, directions_of, planes

pytestmark = pytest.mark.fast

#: The body in the directions S, A, R.
BODY = np.arange(3 * 4 * 5).reshape(3, 4, 5)
#: What each kind of slice shows: rows go to the feet or to the back, columns to the right or to the face.
UPRIGHT = {
    "S": (lambda index: BODY[index, ::-1], "ARPL"),
    "A": (lambda index: BODY[::-1, index], "SRIL"),
    "R": (lambda index: BODY[::-1, :, index], "SAIP"),
}
EVERY = ["".join(each) for axes in permutations(OPPOSITES) for each in product(*axes)]


def stored(directions: str) -> np.ndarray:
    """Return the body with axes in these directions."""
    axes = [next(n for n, pair in enumerate(OPPOSITES) if each in pair) for each in directions]
    flips = tuple(slice(None, None, 1 if each in "SAR" else -1) for each in directions)
    return BODY.transpose(axes)[flips]


@pytest.mark.parametrize("directions", EVERY)
def test_a_body_is_upright(directions: str) -> None:
    values = stored(directions)
    for axis, plane in enumerate(planes(directions)):
        kind = "SAR"[next(n for n, pair in enumerate(OPPOSITES) if directions[axis] in pair)]
        upright, letters = UPRIGHT[kind]
        assert plane.letters == letters
        for index in range(values.shape[axis]):
            backwards = directions[axis] != kind
            expected = upright(values.shape[axis] - 1 - index if backwards else index)
            slice_ = values.take(index, axis)
            shown = plane.show(slice_)
            assert (shown == expected).all()
            assert shown.shape == plane.of(values.shape)
            for y, x in np.ndindex(*shown.shape):
                ((column, row),) = plane.stored_at([(x, y)], values.shape)
                assert slice_[int(row), int(column)] == shown[y, x]
                assert plane.shown_at([(column, row)], values.shape) == [[x, y]]


@pytest.mark.parametrize("directions", EVERY)
def test_the_affine_says_the_directions(directions: str) -> None:
    affine = np.eye(4)
    affine[:3, :3] = 0
    for column, letter in enumerate(directions[::-1]):  # axes (x, y, z)
        row = next(n for n, pair in enumerate(reversed(OPPOSITES)) if letter in pair)
        affine[row, column] = 2.5 if letter in "SAR" else -2.5
    oblique = np.eye(4)
    oblique[:3, :3] = [[0.9, -0.3, 0.2], [0.35, 0.9, 0.1], [-0.2, 0.0, 1.0]]
    for each in (affine, oblique @ affine, affine @ np.diag([1.0, 8.0, 0.1, 1.0])):
        assert directions_of(each) == directions
        assert Volume(BODY, each).directions == directions


def test_arrays_are_shown_as_they_are_stored() -> None:
    for plane in (*planes(None), Plane()):
        assert (plane.show(BODY[0]) == BODY[0]).all()
        assert plane.letters == ""
    colours = np.zeros((4, 5, 3))
    assert planes("LIP")[0].show(colours).shape == (4, 5, 3)
