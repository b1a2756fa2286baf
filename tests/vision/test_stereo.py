"""Stereo: planes that are known, a crop of the motorcycle, pictures, the command, and what is refused."""

import sys

import numpy as np
import pytest
from click.testing import CliRunner

from preflow.cli import app
from preflow.errors import InvalidInputError
from preflow.vision import bad_pixels, disparity_picture, match_stereo, read_image, write_image
from preflow.vision.matching_costs import LARGEST_COST, OUTSIDE_COST, Frame, checked_frame, parabola_vertex
from tests.support.paths import example

NEAR, FAR = 7, 2


@pytest.fixture(scope="module")
def demo():
    return example("stereo_motorcycle", "skimage")


@pytest.fixture(scope="module")
def box():
    """A textured box in front of a textured wall: left and right view and the disparity of the left one."""
    rng = np.random.default_rng(0)
    wall, front = rng.random((40, 70, 3)), rng.random((20, 20, 3))
    left, right = wall[:, 5:65].copy(), wall[:, 5 + FAR : 65 + FAR].copy()
    truth = np.full((40, 60), FAR)
    left[10:30, 25:45], right[10:30, 25 - NEAR : 45 - NEAR] = front, front
    truth[10:30, 25:45] = NEAR
    return left, right, truth


def test_box_and_what_it_hides(box):
    left, right, truth = box
    result = match_stereo(left, right, 9)
    assert bad_pixels(result.disparity[:, FAR:], truth[:, FAR:], threshold=0.5) < 0.02
    hidden = result.occluded[12:28, 25 - (NEAR - FAR) : 25]
    assert hidden.mean() > 0.9
    assert result.occluded[:, 46:].mean() < 0.02
    assert result.disparity.shape == result.occluded.shape == truth.shape
    assert not result.disparity.flags.writeable


def test_disparities_may_be_negative(box):
    left, right, truth = box
    result = match_stereo(left[:, ::-1], right[:, ::-1], -1, min_disparity=-9, occlusions=False)
    assert bad_pixels(-result.disparity[:, ::-1][:, FAR:], truth[:, FAR:], threshold=0.5) < 0.06
    assert result.right is None
    assert not result.occluded.any()


def test_grey_values_and_neighbours_do_not_matter_much(box):
    left, right = ((255 * view.mean(axis=-1)).astype(np.uint8) for view in box[:2])
    result = match_stereo(left, right, 9, connectivity=8, max_sweeps=1)
    assert bad_pixels(result.disparity[:, FAR:], box[2][:, FAR:], threshold=0.5) < 0.05


def test_motorcycle_crop(demo):
    left, right, truth = demo.motorcycle()
    # The front wheel, at half size; columns further left so that its partners are in view.
    rows, columns = np.s_[120:230], np.s_[200:345]
    result = match_stereo(left[rows, columns], right[rows, columns], 32, max_sweeps=2)
    truth = truth[rows, columns][: len(result.disparity), 32:]
    assert bad_pixels(result.disparity[:, 32:], truth, threshold=2.0) < 0.15
    assert bad_pixels(result.disparity[:, 32:], truth, threshold=1.0) < 0.25


def test_costs_of_matching():
    rng = np.random.default_rng(1)
    pixels = checked_frame("image", rng.random((12, 14, 3)))
    frame, moved = Frame.of(pixels), Frame.of(np.roll(pixels, (1, 2), axis=(0, 1)))
    costs = frame.costs(moved, 1, 2)
    assert (costs[:-1, :-2][4:-4, 5:-5] == 0).all()
    assert (costs[-1] == OUTSIDE_COST).all()
    assert (costs[:, -2:] == OUTSIDE_COST).all()
    away = frame.costs(moved, -1, 0)
    assert 0 <= away.min() <= away.max() <= LARGEST_COST
    assert (frame.costs(moved, 50, 0) == OUTSIDE_COST).all()
    box = np.s_[2:9, 3:14]
    assert (frame.costs(moved, 1, 2, box) == costs[box]).all()
    assert (frame.costs_along(moved, np.full((12, 14), 1), np.full((12, 14), 2)) == costs).all()


def test_parabola():
    at = np.array([-0.4, 0.0, 0.25, 0.5])
    before, middle, after = ((at - place) ** 2 for place in (-1, 0, 1))
    assert parabola_vertex(before, middle, after) == pytest.approx(at)
    flat_or_slope = parabola_vertex(np.array([1, 0]), np.array([1, 1]), np.array([1, 2]))
    assert flat_or_slope.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"right": np.zeros((40, 59, 3))}, r"left has shape \(40, 60, 3\), right has shape \(40, 59, 3\)"),
        ({"right": np.zeros((40, 60))}, r"right has shape \(40, 60\)"),
        ({"left": np.full((40, 60, 3), np.nan)}, r"left has values that are not finite: nan at \(0, 0, 0\)"),
        ({"left": np.zeros(7)}, "left must have shape"),
        ({"left": np.zeros((40, 60, 5))}, "left must have shape"),
        ({"left": np.full((40, 60), "x")}, "left must hold numbers"),
        ({"max_disparity": -1}, "no disparities: max_disparity -1 is less"),
        ({"max_disparity": 60}, "not less than the width of the views, 60"),
        ({"max_disparity": 3.5}, "max_disparity must be an integer"),
        ({"smoothness": -1}, "smoothness must be finite and at least 0"),
        ({"smoothness": 1e20}, "smoothness must be at most 2,147,483,647, .* got 1e.20"),
        ({"sigma": 0}, "sigma must be positive"),
        ({"sigma": None}, "sigma must be a positive number"),
        ({"left": np.full((40, 60, 3), 1e39)}, "left has floats up to"),
        ({"time_limit": -1}, "time_limit"),
    ],
)
def test_bad_input_is_named(box, change, message):
    arguments = {"left": box[0], "right": box[1], "max_disparity": 9} | change
    with pytest.raises(InvalidInputError, match=message):
        match_stereo(**arguments)


def test_too_many_disparities():
    wide = np.zeros((2, 1100))
    with pytest.raises(InvalidInputError, match="1,025 disparities, at most 1,024"):
        match_stereo(wide, wide, 1024)


def test_bad_pixels_needs_a_truth():
    with pytest.raises(InvalidInputError, match="not known anywhere"):
        bad_pixels([[1.0]], [[np.inf]])
    with pytest.raises(InvalidInputError, match="truth has shape"):
        bad_pixels([[1.0]], [[1.0, 2.0]])


def test_picture():
    picture = disparity_picture([[0.0, 5.0], [10.0, np.inf]])
    assert picture[0, 0].tolist() == [68, 1, 84]
    assert picture[1, 0].tolist() == [253, 231, 37]
    assert picture[1, 1].tolist() == [0, 0, 0]
    assert not disparity_picture([[np.nan]]).any()
    with pytest.raises(InvalidInputError, match="disparity must have shape"):
        disparity_picture([1.0])


def test_command(box, tmp_path):
    views = [tmp_path / name for name in ("left.png", "right.png")]
    for path, view in zip(views, box, strict=False):
        write_image(path, (255 * view).astype(np.uint8))
    out, array = tmp_path / "out.png", tmp_path / "out.npy"
    arguments = ["stereo", *map(str, views), "--max-disparity", "9", "--out", str(out)]
    done = CliRunner().invoke(app, [*arguments, "--array", str(array), "--show"])
    assert done.exit_code == 0, done.output
    for word in ("occluded", "10 labels", "energy", "time", "60 x 40 pixels"):
        assert word in done.output
    assert read_image(out).shape[0] == 40
    assert read_image(out).shape[1] > 60  # the colour bar
    assert CliRunner().invoke(app, [*arguments, "--no-scale"]).exit_code == 0
    assert read_image(out).shape == (40, 60, 3)
    assert bad_pixels(np.load(array)[:, FAR:], box[2][:, FAR:], threshold=0.5) < 0.02
    stopped = CliRunner().invoke(app, [*arguments, "--time-limit", "1e-6"])
    assert stopped.exit_code == 3
    assert "stopped at the time limit" in stopped.output
    wrong = CliRunner().invoke(app, [*arguments, "--array", "out.txt"])
    assert wrong.exit_code == 2


def test_demo(demo, tmp_path, monkeypatch, capsys, box):
    views = [tmp_path / name for name in ("left.png", "right.png")]
    for path, view in zip(views, box, strict=False):
        write_image(path, (255 * view).astype(np.uint8))
    command = ["example", *map(str, views), "--max-disparity", "9", "--out", str(tmp_path / "out")]
    monkeypatch.setattr(sys, "argv", command)
    demo.main()
    assert "minimum cuts" in capsys.readouterr().out
    assert read_image(tmp_path / "out" / "disparity.png").shape == (40, 60, 3)
