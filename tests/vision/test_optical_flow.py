"""Optical flow: known motions, crops of real frames, .flo files, pictures, the command, bad input."""

import gzip
import sys

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.ndimage import gaussian_filter, shift

from preflow.cli import app
from preflow.errors import InvalidInputError, ParseError
from preflow.io.flo import read_flo, write_flo
from preflow.vision import endpoint_error, find_optical_flow, flow_picture, read_image, write_image
from preflow.vision.matching_costs import Frame, checked_frame
from preflow.vision.optical_flow import candidate_displacements
from tests.support.paths import example

METHODS = ("assignment", "expansion")
WALL, FRONT = (-1, 2), (3, -4)


@pytest.fixture(scope="module")
def demo():
    return example("optical_flow", "skimage")


def smooth_texture(rng, shape, width=1.0):
    """Return noise without the finest detail, which no frame at half size would show."""
    texture = gaussian_filter(rng.random(shape), width)
    return (texture - texture.min()) / np.ptp(texture)


@pytest.fixture(scope="module")
def frames():
    """A textured square that moves in front of a wall that moves: two frames and the flow."""
    rng = np.random.default_rng(0)
    wall, front = (smooth_texture(rng, shape) for shape in ((70, 80), (24, 24)))
    first = wall[10:60, 10:70].copy()
    second = wall[10 - WALL[0] : 60 - WALL[0], 10 - WALL[1] : 70 - WALL[1]].copy()
    first[12:36, 20:44] = front
    second[12 + FRONT[0] : 36 + FRONT[0], 20 + FRONT[1] : 44 + FRONT[1]] = front
    truth = np.empty((2, 50, 60))
    truth[:] = np.reshape(WALL, (2, 1, 1))
    truth[:, 12:36, 20:44] = np.reshape(FRONT, (2, 1, 1))
    return first, second, truth


@pytest.mark.parametrize("method", METHODS)
def test_two_motions(frames, method):
    first, second, truth = frames
    result = find_optical_flow(first, second, method=method, max_displacement=5)
    assert result.method == method
    assert result.flow.shape == truth.shape
    assert result.flow.dtype == np.float32
    assert np.abs(result.flow - result.displacement).max() < 8
    # What the square hides next, and what leaves the frame, has no partner.
    assert (np.abs(result.displacement - truth).max(axis=0) > 0).mean() < 0.12
    inside = np.s_[:, 16:32, 24:40]
    assert endpoint_error(result.flow[inside], truth[inside]) < 0.1


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("largest", [2, 5])
def test_no_motion_is_larger_than_the_largest(frames, method, largest):
    result = find_optical_flow(*frames[:2], method=method, max_displacement=largest)
    assert np.abs(result.displacement).max() <= largest
    assert np.abs(result.flow).max() <= largest + 0.5


@pytest.mark.parametrize("method", METHODS)
def test_flow_is_what_scikit_image_means_by_it(frames, method):
    first, second, _ = frames
    flow = find_optical_flow(first, second, method=method, max_displacement=5).displacement
    y, x = np.indices(first.shape)
    back = second[np.clip(y + flow[0], 0, 49), np.clip(x + flow[1], 0, 59)]
    assert (back == first).mean() > 0.8


def test_flow_agrees_with_scikit_image():
    registration = pytest.importorskip("skimage.registration")
    texture = smooth_texture(np.random.default_rng(5), (50, 50), 2.0)
    first, second = texture[5:45, 5:45], texture[4:44, 7:47]
    ours = find_optical_flow(first, second, max_displacement=4).flow
    theirs = registration.optical_flow_tvl1(first, second)
    middle = np.s_[:, 8:-8, 8:-8]
    assert endpoint_error(ours[middle], theirs[middle]) < 0.3


@pytest.mark.parametrize("method", METHODS)
def test_parts_of_pixels(method):
    texture = smooth_texture(np.random.default_rng(2), (60, 60), 1.5)
    moved = shift(texture, (0.4, -1.3), order=3, mode="nearest")
    result = find_optical_flow(texture, moved, method=method, max_displacement=3)
    middle = np.s_[:, 8:-8, 8:-8]
    truth = np.broadcast_to(np.reshape([0.4, -1.3], (2, 1, 1)), (2, 60, 60))
    assert endpoint_error(result.flow[middle], truth[middle]) < 0.25
    assert endpoint_error(result.displacement[middle], truth[middle]) > 0.4


@pytest.mark.parametrize("patch", [2, 7, 30])
def test_patches_of_all_sizes(frames, patch):
    first, second, truth = frames
    result = find_optical_flow(
        first, second, method="assignment", max_displacement=5, patch=patch, radius=2 if patch == 30 else 5
    )
    assert result.assignments > 0
    if patch < 30:
        assert (np.abs(result.displacement - truth).max(axis=0) > 0).mean() < 0.25


@pytest.mark.parametrize(("method", "most"), [("assignment", 0.5), ("expansion", 0.5)])
@pytest.mark.parametrize("name", ["rubberwhale", "venus"])
def test_crops_of_real_frames(shared_instances, name, method, most):
    folder = shared_instances / "optical_flow" / name
    rows, columns = np.s_[200:330], np.s_[60:220]
    first, second = (read_image(folder / f"frame1{number}.png")[rows, columns] for number in (0, 1))
    truth = read_flo(folder / "flow10.flo")[:, rows, columns]
    result = find_optical_flow(first, second, method=method, max_displacement=10, max_sweeps=1)
    assert endpoint_error(result.flow, truth) < most
    assert endpoint_error(np.zeros_like(truth), truth) > 1


@pytest.mark.parametrize("method", METHODS)
def test_what_has_no_texture_does_not_move(method):
    blank = np.full((40, 45, 3), 90, np.uint8)
    assert not find_optical_flow(blank, blank, method=method).flow.any()


def test_candidates_are_few_and_hold_the_motions(frames):
    first, second = (Frame.of(checked_frame("frame", frame)) for frame in frames[:2])
    found = candidate_displacements(first, second, 8, 2, 50)
    assert len(found) < 40
    assert {WALL, FRONT} <= set(map(tuple, found.tolist()))
    assert len(candidate_displacements(first, second, 8, 2, 1)) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"moving_image": np.zeros((50, 61))}, r"moving_image has shape \(50, 61\)"),
        ({"reference_image": np.full((50, 60), np.inf)}, "reference_image has values that are not finite"),
        ({"reference_image": np.zeros((0, 60))}, "reference_image must have shape"),
        ({"method": "guess"}, "method must be 'assignment' or 'expansion', got 'guess'"),
        ({"max_displacement": 0}, "max_displacement must be at least 1"),
        ({"max_displacement": 50}, "max_displacement 50 is not less than the images' shorter side, 50"),
        ({"max_labels": 0}, "max_labels must be at least 1"),
        ({"max_labels": 1025}, "max_labels must be at most 1,024"),
        ({"smoothness": -1.0}, "smoothness must be finite and at least 0"),
        ({"sigma": -1.0}, "sigma must be positive"),
        ({"patch": 1}, "patch must be at least 2"),
        ({"patch": 31}, "patch must be at most 30"),
        ({"radius": 0}, "radius must be at least 1"),
        ({"solver": "none"}, "none"),
        ({"solver": "none", "method": "assignment"}, "none"),
        ({"time_limit": 0}, "time_limit"),
    ],
)
def test_bad_input_is_named(frames, change, message):
    arguments = {"reference_image": frames[0], "moving_image": frames[1]} | change
    with pytest.raises(InvalidInputError, match=message):
        find_optical_flow(**arguments)


def test_endpoint_error_needs_a_truth():
    with pytest.raises(InvalidInputError, match="not known anywhere"):
        endpoint_error(np.zeros((2, 1, 1)), np.full((2, 1, 1), np.nan))
    with pytest.raises(InvalidInputError, match="both have shape"):
        endpoint_error(np.zeros((2, 1, 1)), np.zeros((2, 1, 2)))


def test_flo_files_come_back(tmp_path):
    flow = np.random.default_rng(0).normal(size=(2, 5, 7)).astype(np.float32)
    flow[0, 2, 3] = np.nan
    write_flo(tmp_path / "a.flo", flow)
    content = (tmp_path / "a.flo").read_bytes()
    assert content[:4] == b"PIEH"
    assert np.frombuffer(content, "<i4", 2, 4).tolist() == [7, 5]
    assert np.frombuffer(content, "<f4", 2, 12).tolist() == [flow[1, 0, 0], flow[0, 0, 0]]
    flow[1, 2, 3] = np.nan
    assert np.array_equal(read_flo(tmp_path / "a.flo"), flow, equal_nan=True)
    (tmp_path / "a.flo.gz").write_bytes(gzip.compress(content))
    assert np.array_equal(read_flo(tmp_path / "a.flo.gz"), flow, equal_nan=True)


def test_damaged_flo_files_are_named(tmp_path):
    whole = b"PIEH" + np.array([2, 1], "<i4").tobytes() + bytes(16)
    (tmp_path / "whole.flo").write_bytes(whole)
    assert read_flo(tmp_path / "whole.flo").shape == (2, 1, 2)
    for content, message in (
        (b"", "is not a .flo file"),
        (b"HEIP" + whole[4:], "is not a .flo file"),
        (whole[:-1], "take 28 bytes, it has 27"),
        (whole + b"x", "take 28 bytes, it has 29"),
        (b"PIEH" + np.array([-2, 1], "<i4").tobytes(), "-2 x 1 pixels"),
    ):
        (tmp_path / "bad.flo").write_bytes(content)
        with pytest.raises(ParseError, match=message):
            read_flo(tmp_path / "bad.flo")
    with pytest.raises(ParseError, match="cannot be read"):
        read_flo(tmp_path / "missing.flo")
    with pytest.raises(InvalidInputError, match="flow must have shape"):
        write_flo(tmp_path / "new.flo", np.zeros((5, 7, 2)))
    assert not (tmp_path / "new.flo").exists()


def test_picture():
    right, down, left, up = (0, 1), (1, 0), (0, -1), (-1, 0)
    flow = np.array([right, down, left, up, (0, 0), (0, 3), (np.nan, 0)], float).T.reshape(2, 1, -1)
    colours = flow_picture(flow, largest=1)[0].tolist()
    assert colours[0] == [255, 0, 0]
    assert colours[4] == [255, 255, 255]
    assert colours[5] == [191, 0, 0]
    assert colours[6] == [0, 0, 0]
    assert len({tuple(colour) for colour in colours}) == 7
    assert flow_picture(np.zeros((2, 20, 30)), wheel=10)[-5, -2].tolist() != [255, 255, 255]
    with pytest.raises(InvalidInputError, match="flow must have shape"):
        flow_picture(np.zeros((3, 4, 4)))


def test_command(frames, tmp_path):
    paths = [tmp_path / name for name in ("first.png", "second.png")]
    for path, frame in zip(paths, frames, strict=False):
        write_image(path, (255 * frame).astype(np.uint8))
    truth, out, flo = tmp_path / "truth.flo", tmp_path / "out.png", tmp_path / "out.flo"
    write_flo(truth, frames[2])
    arguments = ["optical-flow", *map(str, paths), "--max-displacement", "5", "--out", str(out)]
    for method in METHODS:
        options = ["--method", method, "--flo", str(flo), "--truth", str(truth), "--show"]
        done = CliRunner().invoke(app, [*arguments, *options])
        assert done.exit_code == 0, done.output
        solved = {"assignment": "assignments", "expansion": "minimum cuts"}[method]
        for word in ("endpoint error", "60 x 50 pixels", "time", solved):
            assert word in done.output
        assert read_image(out).shape == (50, 60, 3)
        assert endpoint_error(read_flo(flo), frames[2]) < 1
    assert CliRunner().invoke(app, [*arguments, "--flo", "out.txt"]).exit_code == 2
    write_flo(truth, frames[2][:, 1:])
    wrong = CliRunner().invoke(app, [*arguments, "--truth", str(truth)])
    assert wrong.exit_code == 2
    assert "60 x 49 pixels" in wrong.output


def test_demo(demo, frames, tmp_path, monkeypatch, capsys):
    paths = [tmp_path / name for name in ("first.png", "second.png")]
    for path, frame in zip(paths, frames, strict=False):
        write_image(path, (255 * frame).astype(np.uint8))
    write_flo(tmp_path / "truth.flo", frames[2])
    command = ["example", *map(str, paths), "--truth", str(tmp_path / "truth.flo"), "--max-displacement", "5"]
    monkeypatch.setattr(sys, "argv", [*command, "--out", str(tmp_path / "out")])
    demo.main()
    assert capsys.readouterr().out.count("mean endpoint error") == 2
    assert read_image(tmp_path / "out" / "flow-expansion.png").shape == (50, 60, 3)
