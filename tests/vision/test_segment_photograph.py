"""Segmentation: the demo against an outline drawn by hand, seeds and pictures, and what must be refused."""

import re
import subprocess
import sys
import tracemalloc

import numpy as np
import PIL.Image
import PIL.ImageOps
import pytest

import preflow
from preflow.distributed.volume_energy import VolumeEnergy
from preflow.errors import CapacityOverflowError, InvalidInputError, MissingDependencyError, ParseError
from preflow.vision import (
    Painting,
    box,
    cutout,
    grabcut,
    match_stereo,
    overlay,
    parse_seeds,
    read_image,
    read_scribbles,
    segment,
    segment_labels,
    segmentation_network,
    stroke,
    write_image,
)
from preflow.vision.pictures import read_numbers
from tests.support.paths import example


@pytest.fixture(scope="module")
def demo():
    return example("segment_photograph", "skimage")


@pytest.fixture(scope="module")
def astronaut(demo):
    return demo.segment_astronaut()[1]


def seeds_at(shape, foreground, background):
    masks = np.zeros((2, *shape), dtype=bool)
    masks[0][foreground] = masks[1][background] = True
    return masks


def disc(shape, radius):
    """Return the mask of a disc or a ball in the middle."""
    distance = [
        coordinate - (size - 1) / 2 for coordinate, size in zip(np.indices(shape), shape, strict=True)
    ]
    return np.linalg.norm(distance, axis=0) <= radius


def noisy(mask, seed=0):
    return mask + np.random.default_rng(seed).normal(scale=0.3, size=mask.shape)


def test_demo_finds_the_outline_drawn_by_hand(demo, astronaut):
    assert demo.intersection_over_union(astronaut.mask, demo.mask_by_hand()) >= 0.98


def test_demo_is_given_few_and_right_seeds(demo, astronaut):
    assert astronaut.num_seeds < 0.02 * astronaut.mask.size
    by_hand = demo.mask_by_hand()
    assert by_hand[astronaut.foreground].all()
    assert not by_hand[astronaut.background].any()


def test_demo_is_proved(astronaut):
    astronaut.cut.verify()
    assert astronaut.energy == astronaut.cut.value / 1000


def test_demo_reports_and_draws(demo, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["segment_photograph.py", "--out", str(tmp_path / "new" / "folder")])
    demo.main()
    printed = capsys.readouterr().out
    for word in ("GridNetwork(512 x 512, 8", "minimum cut", "verified  yes", "intersection over union"):
        assert word in printed
    assert read_image(tmp_path / "new" / "folder" / "astronaut.png").shape == (512, 512, 3)


@pytest.mark.parametrize("connectivity", [4, 8])
def test_noisy_disc(connectivity):
    truth = disc((40, 50), 14)
    result = segment(
        noisy(truth), *seeds_at(truth.shape, np.s_[18:22, 20:30], np.s_[:2]), connectivity=connectivity
    )
    result.cut.verify()
    assert (result.mask != truth).mean() < 0.01


@pytest.mark.parametrize("connectivity", [6, 26])
def test_noisy_ball(connectivity):
    truth = disc((16, 20, 24), 6)
    seeds = seeds_at(truth.shape, np.s_[7:9, 9:11, 9:15], np.s_[:1])
    # A ball has much surface for its volume: at the default the cheapest cut hugs the seeds.
    result = segment(noisy(truth), *seeds, connectivity=connectivity, smoothness=5)
    result.cut.verify()
    assert result.mask.shape == truth.shape
    assert (result.mask != truth).mean() < 0.01


def test_seeds_tell_a_volume_from_a_colour_image():
    truth = disc((8, 9, 3), 2)
    seeds = seeds_at(truth.shape, np.s_[4, 4, 1], np.s_[0])
    colour = np.stack([truth, ~truth, truth], axis=-1)
    assert segment(truth, *seeds).mask.shape == segment(colour, *seeds).mask.shape == (8, 9, 3)


@pytest.mark.parametrize("shape", [(1, 9), (9, 1), (1, 1, 9), (1, 2)])
def test_thin_images(shape):
    image = np.linspace(0, 1, max(shape)).reshape(shape) > 0.6
    seeds = seeds_at(shape, (0,) * len(shape), (-1,) * len(shape))
    result = segment(image, *seeds)
    result.cut.verify()
    assert (result.mask == ~image).all()


def test_image_of_one_value_keeps_its_seeds():
    result = segment(np.full((5, 5), 7), *seeds_at((5, 5), (0, 0), (4, 4)))
    assert result.mask[0, 0]
    assert not result.mask[4, 4]


@pytest.mark.parametrize("smoothness", [0, 1, 1000])
def test_seeds_hold_against_colour_and_smoothness(smoothness):
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 12, size=(20, 20))
    foreground, background = labels == 0, labels == 1
    mask = segment(rng.random((20, 20, 3)), foreground, background, smoothness=smoothness).mask
    assert mask[foreground].all()
    assert not mask[background].any()


def test_more_smoothness_gives_a_shorter_outline():
    truth = disc((40, 40), 12)
    seeds = seeds_at(truth.shape, np.s_[19:21, 15:25], np.s_[:2])
    masks = [segment(noisy(truth, 1), *seeds, smoothness=weight, sigma=np.inf).mask for weight in (0, 1, 5)]
    lengths = [
        np.count_nonzero(np.diff(mask, axis=0)) + np.count_nonzero(np.diff(mask, axis=1)) for mask in masks
    ]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[0] > 2 * lengths[-1]


def test_n_links_fall_with_contrast_and_distance():
    image = np.array([[0.0, 0.0], [3.0, 3.0]])
    network = segmentation_network(
        image, *seeds_at((2, 2), (0, 0), (1, 1)), smoothness=10, sigma=3, connectivity=8
    )
    fall = np.exp(-0.5)
    links = {}
    for pair, (_, _, forward, backward) in enumerate(network.pairs()):
        offset = tuple(network.offsets[2 * pair].tolist())
        assert (forward == backward).all()
        links[offset] = forward.tolist()
    expected = {(0, 1): [[10_000], [10_000]], (1, 0): [[round(10_000 * fall)] * 2]}
    expected |= {offset: [[round(10_000 * fall / np.sqrt(2))]] for offset in ((1, 1), (1, -1))}
    assert links == expected


def test_mask_does_not_depend_on_scale_dtype_or_direction():
    truth = disc((30, 30), 9)
    image = np.clip(100 + 60 * noisy(truth, 2), 0, 255).astype(np.uint8)
    foreground, background = seeds_at(truth.shape, np.s_[14:16, 10:20], np.s_[:2])
    mask = segment(image, foreground, background).mask
    assert (segment(image / 256, foreground, background).mask == mask).all()
    assert (segment(image[..., np.newaxis], foreground, background).mask == mask).all()
    turned = segment(image.T, foreground.T, background.T).mask
    assert (turned == mask.T).all()
    mirrored = segment(image[::-1], foreground[::-1], background[::-1]).mask
    assert (mirrored[::-1] == mask).all()


def test_mask_is_that_of_the_general_solver():
    truth = disc((20, 24), 6)
    seeds = seeds_at(truth.shape, np.s_[9:11, 9:15], np.s_[:1])
    result = segment(noisy(truth), *seeds, smoothness=20)
    cut = preflow.min_cut(segmentation_network(noisy(truth), *seeds, smoothness=20).to_flow_problem())
    assert cut.value == result.cut.value
    assert (result.mask.ravel() == ~cut.sink_side[: truth.size]).all()


def test_result_is_frozen_and_apart_from_its_input():
    foreground, background = seeds_at((4, 4), (0, 0), (3, 3))
    result = segment(np.eye(4), foreground, background)
    foreground[:] = True
    assert result.num_seeds == 2
    for array in (result.mask, result.foreground, result.background):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = False


GOOD = seeds_at((4, 5), (0, 0), (3, 4))


@pytest.mark.parametrize(
    ("image", "foreground", "background", "options", "message"),
    [
        (np.zeros((4, 6)), *GOOD, {}, "image has shape"),
        (np.zeros((4, 5, 5)), *GOOD, {}, "up to 3 channels and alpha"),
        (np.zeros((4, 5, 0)), *GOOD, {}, "up to 3 channels"),
        (np.full((4, 5), np.nan), *GOOD, {}, r"image has .* not finite: nan at \(0, 0\)"),
        ([["a"]], *GOOD, {}, "not an array of numbers"),
        (np.full((4, 5), 1j), *GOOD, {}, "not an array of numbers"),
        (np.ma.masked_equal(np.zeros((4, 5)), 0), *GOOD, {}, "masked"),
        (np.zeros((4, 5)), GOOD[0], GOOD[0], {}, r"pixel \(0, 0\) is a foreground and a background seed"),
        (np.zeros((4, 5)), GOOD[0], ~GOOD[0] & GOOD[0], {}, "no background seeds"),
        (np.zeros((4, 5)), ~GOOD[1] & GOOD[1], GOOD[1], {}, "no foreground seeds"),
        (np.zeros((4, 5)), GOOD[0], GOOD[1][:3], {}, "background has shape"),
        (np.zeros((4, 5)), GOOD[0].astype(int), GOOD[1], {}, "array of bool"),
        (np.zeros(5), np.ones((1,) * 5, bool), np.ones((1,) * 5, bool), {}, "an image or a volume"),
        (np.zeros((0, 5)), *np.zeros((2, 0, 5), dtype=bool), {}, "no foreground seeds"),
        (np.zeros((4, 5)), *GOOD, {"smoothness": -1}, "smoothness"),
        (np.zeros((4, 5)), *GOOD, {"smoothness": np.nan}, "smoothness"),
        (np.zeros((4, 5)), *GOOD, {"smoothness": 1e14}, "2\\*\\*53"),
        (np.zeros((4, 5)), *GOOD, {"sigma": 0}, "sigma"),
        (np.zeros((4, 5)), *GOOD, {"connectivity": 6}, "connectivity"),
        (np.zeros((4, 5)), *GOOD, {"method": "guess"}, "guess"),
    ],
)
def test_wrong_arguments_are_named(image, foreground, background, options, message):
    with pytest.raises(InvalidInputError, match=message):
        segment(image, foreground, background, **options)


@pytest.mark.parametrize("format", ["TIFF", "GIF"])
def test_a_file_with_several_pictures_is_refused(tmp_path, format):
    """A microscope's stack is no picture: its first page would be taken without a word."""
    pages = [PIL.Image.fromarray(np.full((4, 6), 40 * page, np.uint8)) for page in range(6)]
    path = tmp_path / f"stack.{format.lower()}"
    pages[0].save(path, format=format, save_all=True, append_images=pages[1:])
    with pytest.raises(ParseError, match="has 6 pages or frames"):
        read_image(path)
    pages[0].save(path, format=format)
    assert read_image(path).shape[:2] == (4, 6)


@pytest.mark.parametrize("turn", range(1, 9))
def test_photographs_are_turned_as_viewers_show_them(tmp_path, turn):
    picture = np.repeat(np.repeat(np.array([[0, 80, 255], [160, 40, 200]], np.uint8), 8, 0), 8, 1)
    shown = PIL.Image.fromarray(picture)
    exif = PIL.Image.Exif()
    exif[0x112] = turn
    shown.save(tmp_path / "photograph.png", exif=exif)
    expected = np.asarray(PIL.ImageOps.exif_transpose(PIL.Image.open(tmp_path / "photograph.png")))
    assert (read_image(tmp_path / "photograph.png") == expected).all()
    assert expected.shape == ((16, 24) if turn < 5 else (24, 16))


@pytest.mark.parametrize("smoothness", [1e12, 1e13, 1e17, 1e300])
def test_huge_smoothness(smoothness):
    """Every door takes it, or says how much it takes, and takes that."""
    random = np.random.default_rng(0)
    image = random.random((8, 9))
    seeds = np.zeros((2, 8, 9), dtype=bool)
    seeds[0, 1, 1] = seeds[1, 6, 7] = True
    volume = random.random((3, 4, 5))
    doors = [
        lambda value: segment(image, *seeds, smoothness=value).verify(),
        lambda value: grabcut(image, box((8, 9), (2, 2), (6, 5)), smoothness=value, iterations=1).verify(),
        lambda value: segment_labels(image, seeds[0] + 2 * seeds[1], smoothness=value).verify(),
        lambda value: Painting(image, smoothness=value),
        lambda value: VolumeEnergy(volume, [">0.9"], ["<0.1"], smoothness=value),
        lambda value: match_stereo(image, image, 2, smoothness=value).verify(),
    ]
    for door in doors:
        try:
            door(smoothness)
        except CapacityOverflowError as error:
            most = re.search("smoothness must be at most ([0-9,]+)", str(error))
            door(float(most[1].replace(",", "")))


def test_box_includes_its_corners_in_any_order():
    expected = np.zeros((6, 8), dtype=bool)
    expected[1:4, 2:7] = True
    assert (box((6, 8), (2, 1), (6, 3)) == expected).all()
    assert (box((6, 8), (6, 1), (2, 3)) == expected).all()


@pytest.mark.parametrize("points", [[(5, 5)], [(0, 0), (39, 29)], [(39, 0), (20, 20), (0, 29), (7.5, 3.2)]])
@pytest.mark.parametrize("brush", [1, 3, 8.5])
def test_stroke_is_all_pixels_within_the_brush(points, brush):
    shape = (30, 40)
    y, x = np.indices(shape)
    dots = np.concatenate(
        [np.linspace(start, end, 400) for start, end in zip(points, points[1:] or points, strict=False)]
    )
    distance = np.min([np.hypot(x - px, y - py) for px, py in dots], axis=0)
    mask = stroke(shape, points, brush=brush)
    assert mask[distance <= brush / 2].all()
    assert not mask[distance > brush / 2 + 0.01].any()


def test_a_long_stroke_takes_no_more_memory_than_its_mask() -> None:
    tracemalloc.start()
    mask = stroke((1000, 1000), [(0, 0), (999, 999)], brush=5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * mask.nbytes
    assert np.diagonal(mask).all()
    assert not mask[0, 4:].any()


def test_parse_seeds_joins_boxes_and_strokes():
    shape = (20, 30)
    expected = (
        box(shape, (1, 2), (4, 6))
        | stroke(shape, [(10, 10), (25, 10)], brush=5)
        | stroke(shape, [(9, 3)], brush=5)
    )
    assert (parse_seeds(shape, ["1,2,4,6", " 10,10  25,10 ", "9,3"], brush=5) == expected).all()
    assert not parse_seeds(shape, []).any()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "5",
        "1,2,3",
        "1,2,3,4,5",
        "1,2,3,4 5,6",
        "a,b",
        "1,,2",
        "1,2 3",
        "0,0,30,5",
        "-1,0",
        "nan,0",
        "5,inf",
    ],
)
def test_wrong_seeds_are_refused(text):
    with pytest.raises(InvalidInputError, match=r"a seed is a box|outside the image"):
        parse_seeds((20, 30), [text])


def test_wrong_strokes_are_refused():
    with pytest.raises(InvalidInputError, match="at least one point"):
        stroke((5, 5), [])
    with pytest.raises(InvalidInputError, match="brush"):
        stroke((5, 5), [(1, 1)], brush=0)
    for points in ("ab", [(1, 2, 3)], [(0, 0, 0), (1, 1, 1)], [(1, 1), (2,)]):
        with pytest.raises(InvalidInputError, match="a point must be 2 numbers"):
            stroke((5, 5), points)


@pytest.mark.parametrize(
    "image", [np.zeros((20, 30), np.uint8), np.zeros((20, 30, 3), np.uint16), np.ones((20, 30))]
)
def test_overlay_shape_and_dtype(image):
    picture = overlay(image, disc((20, 30), 6))
    assert picture.shape == (20, 30, 3)
    assert picture.dtype == np.uint8


def test_overlay_keeps_the_object_and_marks_the_rest():
    image = np.random.default_rng(0).integers(0, 255, size=(20, 30, 3), dtype=np.uint8)
    before = image.copy()
    mask = disc((20, 30), 6)
    foreground, background = seeds_at((20, 30), (10, 15), (0, 0))
    picture = overlay(image, mask, seeds=(foreground, background))
    assert (image == before).all()
    assert (picture[mask & ~foreground] == image[mask & ~foreground]).all()
    assert (picture[1, 1] == (0.35 * image[1, 1]).astype(np.uint8)).all()
    assert picture[10, 15].tolist() == [255, 0, 0]
    assert picture[0, 0].tolist() == [0, 0, 255]
    beside = np.flatnonzero(mask[10])[0] - 1
    assert picture[10, beside].tolist() == [0, 255, 80]


def test_seeds_in_an_overlay_leave_the_photograph_visible():
    image = np.full((20, 30), 200, np.uint8)
    foreground, background = np.zeros((2, 20, 30), bool)
    foreground[5:8, 5:9], background[:, 20:] = True, True
    picture = overlay(image, foreground, seeds=(foreground, background))
    assert picture[5, 7].tolist() == [255, 0, 0]
    assert picture[6, 7].tolist() == [219, 130, 130]  # small: translucent
    assert picture[9, 20].tolist() == [0, 0, 255]
    assert picture[9, 29].tolist() == [70, 70, 70]  # large: an outline
    scattered = np.indices(image.shape).sum(0) % 3 > 0  # as thresholds of a noisy scan are
    picture = overlay(image, foreground, seeds=(foreground, scattered & ~foreground))
    assert (picture[:, 20:] == 70).all()


def test_cutout_is_transparent_around_the_object():
    image = np.random.default_rng(0).integers(0, 255, size=(20, 30, 3), dtype=np.uint8)
    mask = disc((20, 30), 6)
    found = cutout(image, mask)
    assert (found[..., 3] == np.where(mask, 255, 0)).all()
    assert (found[mask, :3] == image[mask]).all()
    assert not found[~mask].any()
    assert cutout(np.eye(3), np.ones((3, 3)))[..., 0].tolist() == (255 * np.eye(3)).tolist()
    with pytest.raises(InvalidInputError, match="image has shape"):
        cutout(image, mask.T)
    with pytest.raises(InvalidInputError, match="a cut-out is of an image"):
        cutout(np.zeros((2, 3, 4)), np.ones((2, 3, 4), bool))


def test_overlay_refuses_what_does_not_fit():
    mask = np.zeros((4, 5), dtype=bool)
    with pytest.raises(InvalidInputError, match="image has shape"):
        overlay(np.zeros((5, 4)), mask)
    with pytest.raises(InvalidInputError, match="not finite"):
        overlay(np.full((4, 5), np.nan), mask)
    with pytest.raises(InvalidInputError, match="seeds have shape"):
        overlay(np.zeros((4, 5)), mask, seeds=(mask.T, mask.T))
    with pytest.raises(InvalidInputError, match="an overlay shows an image"):
        overlay(np.zeros((4, 5, 6)), np.zeros((4, 5, 6), dtype=bool))


class TestFiles:
    @pytest.fixture(autouse=True)
    def needs_imageio(self):
        pytest.importorskip("imageio")

    @pytest.mark.parametrize("shape", [(4, 6), (4, 6, 3)])
    def test_image_comes_back(self, tmp_path, shape):
        pixels = np.random.default_rng(0).integers(0, 255, size=shape, dtype=np.uint8)
        write_image(tmp_path / "picture.PNG", pixels)
        assert (read_image(tmp_path / "picture.PNG") == pixels).all()

    def test_transparency_is_dropped(self, tmp_path):
        write_image(tmp_path / "picture.png", np.full((4, 6, 4), 9, np.uint8))
        assert read_image(tmp_path / "picture.png").shape == (4, 6, 3)

    def test_pixels_that_no_file_holds_are_named(self, tmp_path):
        for pixels, what in (
            (np.ones((4, 6)), r"dtype float64: .* uint8, such as \(255 \* pixels\)"),
            (np.ones((4, 6, 3), np.uint16), "dtype uint16"),
            (np.zeros((4, 6, 5), np.uint8), r"shape \(4, 6, 5\), expected"),
        ):
            with pytest.raises(InvalidInputError, match=what):
                write_image(tmp_path / "picture.png", pixels)
        with pytest.raises(InvalidInputError, match=r"of type '.jpg' \(cannot write mode RGBA as JPEG"):
            write_image(tmp_path / "picture.jpg", np.zeros((4, 6, 4), np.uint8))

    @pytest.mark.parametrize("name", ["picture.xyz", "picture"])
    def test_unknown_format_is_named_and_nothing_written(self, tmp_path, name):
        with pytest.raises(InvalidInputError, match="cannot be written as an image"):
            write_image(tmp_path / name, np.zeros((4, 6), np.uint8))
        assert not list(tmp_path.iterdir())

    def test_missing_and_damaged_images(self, tmp_path):
        with pytest.raises(ParseError, match="cannot be read"):
            read_image(tmp_path / "missing.png")
        whole = tmp_path / "whole.png"
        write_image(whole, np.random.default_rng(0).integers(0, 255, size=(50, 50), dtype=np.uint8))
        damaged = tmp_path / "damaged.png"
        for content in (b"", b"no image", whole.read_bytes()[:900]):
            damaged.write_bytes(content)
            with pytest.raises(ParseError, match="is not an image, or a damaged one"):
                read_image(damaged)

    def test_overlay_of_a_tiny_range(self):
        pixels = overlay(np.array([[0, 1e-310], [5e-324, 1e-310]]), np.ones((2, 2), bool))
        assert pixels[..., 0].tolist() == [[0, 255], [0, 255]]

    @pytest.mark.parametrize("channels", [3, 4])
    def test_scribbles(self, tmp_path, channels):
        layer = np.full((10, 12, channels), 255, np.uint8)
        foreground, background = box((10, 12), (1, 1), (3, 3)), box((10, 12), (8, 8), (11, 9))
        layer[foreground, :3] = [230, 12, 12]
        layer[background, :3] = [0, 0, 255]
        layer[5, 5, :3] = [160, 60, 40]
        if channels == 4:
            layer[0, :3, :3] = [255, 0, 0]
            layer[0, :, 3] = 0
        write_image(tmp_path / "scribbles.png", layer)
        read = read_scribbles(tmp_path / "scribbles.png", (10, 12))
        assert (read[0] == foreground).all()
        assert (read[1] == background).all()

    @pytest.mark.parametrize(
        ("layer", "message"),
        [
            (np.zeros((10, 12), np.uint8), "colour image"),
            (np.zeros((5, 12, 3), np.uint8), "shape"),
            (np.zeros((10, 12, 3), np.uint8), "no red"),
            (np.full((10, 12, 3), [255, 0, 0], np.uint8), "no blue"),
        ],
    )
    def test_wrong_scribbles_are_named(self, tmp_path, layer, message):
        write_image(tmp_path / "scribbles.png", layer)
        with pytest.raises(ParseError, match=message):
            read_scribbles(tmp_path / "scribbles.png", (10, 12))


def test_without_imageio_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "imageio.v3", None)
    with pytest.raises(MissingDependencyError, match=r"preflow\[vision\]"):
        read_image(tmp_path / "picture.png")
    with pytest.raises(MissingDependencyError, match=r"preflow\[vision\]"):
        write_image(tmp_path / "picture.png", np.zeros((4, 6), np.uint8))


def test_import_loads_no_optional_package():
    command = (
        "import sys, preflow.vision; print({'imageio', 'PIL', 'skimage', 'matplotlib'} & set(sys.modules))"
    )
    assert subprocess.check_output([sys.executable, "-c", command], text=True).strip() == "set()"


class TestModes:
    """Kinds of pixels that decoders drop silently."""

    @pytest.fixture(autouse=True)
    def needs_imageio(self):
        pytest.importorskip("imageio")

    @pytest.mark.parametrize(("mode", "format"), [("CMYK", "JPEG"), ("CMYK", "TIFF"), ("LAB", "TIFF")])
    def test_other_colours_become_rgb(self, tmp_path, mode, format):
        photo = PIL.Image.fromarray(np.full((8, 8, 3), [200, 120, 40], np.uint8))
        path = tmp_path / "photo"
        if mode == "LAB":
            pytest.importorskip("PIL.ImageCms")
        photo.convert(mode).save(path, format=format)
        found = read_image(path)
        assert found.shape == (8, 8, 3)
        assert np.abs(found[4, 4].astype(int) - [200, 120, 40]).max() < 12

    def test_palettes_become_rgb_and_markers_stay_numbers(self, tmp_path):
        numbers = np.arange(12, dtype=np.uint8).reshape(3, 4)
        picture = PIL.Image.fromarray(numbers)
        picture.putpalette([part for k in range(256) for part in (255 - k, k, 7)])
        picture.save(tmp_path / "indexed.png")
        assert read_image(tmp_path / "indexed.png")[1, 0].tolist() == [251, 4, 7]
        assert (read_numbers(tmp_path / "indexed.png") == numbers).all()

    def test_numbers_of_32_bits_stay_unsigned(self, tmp_path):
        tifffile = pytest.importorskip("tifffile")
        for dtype in (np.uint16, np.uint32, np.int32, np.float32):
            values = np.array([[0, 7], [1, 2**15]]).astype(dtype) + (2**31 if dtype == np.uint32 else 0)
            tifffile.imwrite(tmp_path / "values.tif", values.astype(dtype))
            found = read_image(tmp_path / "values.tif")
            assert (found == values).all()
            assert found.dtype == dtype

    def test_lost_bits_and_unknown_kinds_are_told(self, tmp_path, caplog):
        tifffile = pytest.importorskip("tifffile")
        path = tmp_path / "deep.tif"
        tifffile.imwrite(path, np.full((4, 5, 3), 40_000, np.uint16), photometric="rgb")
        assert read_image(path).max() == 40_000 // 256
        assert "deep.tif: has 16 bits for each colour" in caplog.text
        tifffile.imwrite(path, np.zeros((4, 5)))
        with pytest.raises(ParseError, match=r"tifffile\.imread\(path\) reads more"):
            read_image(path)

    def test_a_huge_picture_names_the_limit(self, tmp_path, monkeypatch):
        write_image(tmp_path / "picture.png", np.zeros((40, 60), np.uint8))
        monkeypatch.setattr(PIL.Image, "MAX_IMAGE_PIXELS", 100)
        with pytest.raises(ParseError, match="more pixels than Pillow reads: set PIL"):
            read_image(tmp_path / "picture.png")
