"""Mixtures, warm starts, GrabCut and volumes; a real brain against its white-matter map."""

import math
import sys

import numpy as np
import pytest

from preflow.errors import InvalidInputError
from preflow.vision import (
    Painting,
    Volume,
    grabcut,
    labels_picture,
    parse_seeds,
    read_image,
    read_volume,
    seeds_from_labels,
    segment,
    segment_labels,
    segmentation_network,
    stroke,
    volume_overlay,
)
from preflow.vision.colour_models import Palette
from tests.support.cuda_on_cpu.arrays import OnGpu
from tests.support.paths import example
from tests.support.tensors import Tensor

SERIAL = {"method": "serial-incremental-bfs"}


def masks_at(shape, *places):
    masks = np.zeros((len(places), *shape), dtype=bool)
    for mask, place in zip(masks, places, strict=True):
        mask[place] = True
    return masks


def two_colours(shape=(36, 44), noise=0.05, seed=0):
    """Return an image whose object has two colours, and the object's mask."""
    truth = np.zeros(shape, dtype=bool)
    truth[8:28, 10:34] = True
    image = np.full((*shape, 3), [0.2, 0.5, 0.2])
    image[truth] = [0.8, 0.4, 0.2]
    image[8:28, 10:20] = [0.3, 0.2, 0.6]
    return image + np.random.default_rng(seed).normal(scale=noise, size=image.shape), truth


def test_an_empty_object_is_warned_of(caplog):
    result = grabcut(np.zeros((12, 12)), (2, 2, 9, 9), **SERIAL)
    assert result.mask.any() != any("the object is empty" in message for message in caplog.messages)
    image = np.random.default_rng(0).normal(size=(30, 30))
    result = grabcut(image, (10, 10, 20, 20), smoothness=500.0, **SERIAL)
    assert not result.mask.any()
    assert "the object is empty" in caplog.text


# Gaussian mixtures


def test_mixture_finds_the_gaussians_of_its_samples():
    rng = np.random.default_rng(0)
    parts = [rng.normal([0, 0], [1, 0.2], size=(3000, 2)), rng.normal([6, 3], [0.5, 2], size=(1000, 2))]
    samples = np.concatenate(parts)
    palette = Palette.of(samples[np.newaxis])
    counts = palette.counts(np.ones((1, 4000), dtype=bool))
    mixture = palette.mixture(counts, 2)
    low, span = samples.min(), np.ptp(samples)
    order = np.argsort(mixture.mean[:, 0])
    assert low + span * mixture.mean[order] == pytest.approx(np.array([[0, 0], [6, 3]]), abs=0.2)
    spread = span * np.sqrt(mixture.covariance[order][:, [0, 1], [0, 1]])
    assert spread == pytest.approx(np.array([[1, 0.2], [0.5, 2]]), rel=0.1)
    component = mixture.assign(palette.monomials)
    assert np.bincount(component, counts)[order] == pytest.approx([3000, 1000], rel=0.03)
    weight = 0.999 * np.bincount(component, counts) / 4000
    k = component[0]
    own, covariance = palette.colours[:, 0] - mixture.mean[k], mixture.covariance[k]
    exponent = -0.5 * own @ np.linalg.inv(covariance) @ own
    density = np.exp(exponent) / (2 * np.pi * np.sqrt(np.linalg.det(covariance)))
    assert mixture.likelihood(palette.monomials)[0] == pytest.approx(np.log(weight[k] * density), rel=1e-9)


@pytest.mark.parametrize("channels", [1, 2, 3])
def test_colours_are_the_means_of_small_cells(channels):
    image = np.random.default_rng(0).integers(0, 256, size=(20, 30, channels)).astype(float)
    palette = Palette.of(7 + 3 * image)
    assert np.abs(palette.colours[:, palette.index] - np.moveaxis(image, -1, 0) / 255).max() < 1 / 128
    assert palette.counts(np.ones((20, 30), dtype=bool)).sum() == 600
    same = Palette.of(1e-200 * np.round(image / 50))
    assert same.colours[:, same.index] * 5 == pytest.approx(np.moveaxis(np.round(image / 50), -1, 0))


@pytest.mark.parametrize("values", [np.zeros((4, 4)), np.eye(4), np.arange(16.0).reshape(4, 4)])
def test_mixture_of_few_colours(values):
    palette = Palette.of(values[..., np.newaxis])
    mixture = palette.mixture(palette.counts(np.ones((4, 4), dtype=bool)), 8)
    assert np.isfinite(mixture.likelihood(palette.monomials)).all()
    assert len(mixture.mean) <= len(np.unique(values)) == palette.colours.shape[1]


def test_mixtures_learn_from_fewer_seeds_than_histograms():
    image, truth = two_colours(noise=0.08)
    seeds = masks_at(truth.shape, np.s_[17:19, 14:30], np.s_[:3])
    by = {
        model: segment(image, *seeds, model=model, components=2, smoothness=2, **SERIAL)
        for model in ("histogram", "mixture")
    }
    by["mixture"].cut.verify()
    wrong = {model: (result.mask != truth).mean() for model, result in by.items()}
    assert wrong["mixture"] < 0.005
    assert wrong["mixture"] <= wrong["histogram"]


def test_prior_moves_doubtful_pixels():
    image = np.tile([0.0, 0.5, 1.0], (4, 1))
    seeds = masks_at(image.shape, np.s_[0, 2], np.s_[0, 0])
    sizes = [
        segment(image, *seeds, prior=prior, smoothness=0, **SERIAL).mask[:, 1].sum() for prior in (0.1, 0.9)
    ]
    assert sizes == [0, 4]


# Warm starts


def test_changed_seeds_solved_warm_are_those_solved_cold():
    image, truth = two_colours(noise=0.2)
    foreground, background = masks_at(truth.shape, np.s_[17:19, 14:30], np.s_[:2])
    earlier = segment(image, foreground, background, **SERIAL)
    foreground[10, 12:30] = True
    background[30:] = True
    warm = segment(image, foreground, background, warm_start=earlier, **SERIAL)
    cold = segment(image, foreground, background, **SERIAL)
    warm.cut.verify()
    assert (warm.mask == cold.mask).all()
    assert warm.energy == cold.energy
    again = segment(image, foreground, background, warm_start=warm, **SERIAL)
    assert (again.mask == cold.mask).all()


@pytest.mark.parametrize(
    ("start", "options", "message"),
    [
        ("a mask", {}, "warm_start must be a Segmentation"),
        (np.s_[:, :-1], {}, "warm_start has shape"),
        (np.s_[:, :], {"connectivity": 4}, "neighbourhood"),
    ],
)
def test_warm_starts_of_something_else_are_refused(start, options, message):
    image, truth = two_colours()
    seeds = masks_at(truth.shape, np.s_[17:19, 14:30], np.s_[:2])
    if not isinstance(start, str):
        start = segment(image[start], *(mask[start] for mask in seeds), **SERIAL)
    with pytest.raises(InvalidInputError, match=message):
        segment(image, *seeds, warm_start=start, **options)


def test_seeds_may_be_tensors_but_not_masked():
    image, foreground, background = np.eye(4), *masks_at((4, 4), (0, 0), (3, 0))
    result = segment(Tensor(image), Tensor(foreground), Tensor(background), **SERIAL)
    assert (result.mask == segment(image, foreground, background, **SERIAL).mask).all()
    assert (result.foreground == foreground).all()
    masked = np.ma.masked_array(foreground, mask=foreground)
    for seeds in ((masked, background), (foreground, np.ma.masked_array(background, mask=background))):
        with pytest.raises(InvalidInputError, match="ground is a masked array"):
            segment(image, *seeds)
    for options in ({"foreground": masked}, {"background": masked}):
        with pytest.raises(InvalidInputError, match="ground is a masked array"):
            grabcut(image, (0, 0, 3, 3), **options)
    with pytest.raises(InvalidInputError, match="box is a masked array"):
        grabcut(image, masked)
    with pytest.raises(InvalidInputError, match="labels is a masked array"):
        seeds_from_labels(np.ma.masked_equal([1, 2], 2))
    with pytest.raises(InvalidInputError, match="image is on a GPU"):
        segment(OnGpu(image), foreground, background)


# GrabCut


@pytest.mark.parametrize("seed", range(3))
def test_grabcut_finds_the_object_in_its_box(seed):
    image, truth = two_colours(noise=0.08, seed=seed)
    result = grabcut(image, (4, 5, 32, 40), components=2, **SERIAL)
    assert result.converged
    assert (result.mask != truth).mean() < 0.002
    assert not result.mask[result.background].any()
    result.cut.verify()
    # No step raises the energy, but for the rounding of costs to thousandths of a nat.
    assert (np.diff(result.energies) <= 1e-3 * truth.size).all()


def test_grabcut_ends_in_time():
    image, _ = two_colours((200, 200), noise=0.3)
    result = grabcut(image, (4, 5, 190, 180), time_limit=1e-6, **SERIAL)
    assert result.cut.status == "time-limit"
    assert not result.converged
    assert "<GrabCut: " in repr(result)


def test_grabcut_of_a_mask_and_of_a_volume():
    truth = np.zeros((9, 16, 15), dtype=bool)
    truth[3:6, 4:12, 5:11] = True
    volume = truth + np.random.default_rng(0).normal(scale=0.15, size=truth.shape)
    options = {"components": 1, "smoothness": 5, **SERIAL}
    result = grabcut(volume, (1, 2, 2, 8, 14, 13), **options)
    assert (result.mask != truth).mean() < 0.002
    around = np.zeros_like(truth)
    around[1:8, 2:14, 2:13] = True
    assert (grabcut(volume, around, **options).mask == result.mask).all()


def test_strokes_mend_what_the_box_got_wrong():
    image, truth = two_colours()
    image[12:16, 20:34] = image[:4, :14]  # part of the object looks like the background
    options = {"components": 2, "smoothness": 2, **SERIAL}
    box = (4, 5, 32, 40)
    first = grabcut(image, box, **options)
    assert not first.mask[14, 27]
    foreground = np.zeros_like(truth)
    foreground[12:16, 20:34] = True
    mended = grabcut(image, box, foreground=foreground, warm_start=first, **options)
    assert mended.mask[foreground].all()
    assert (mended.foreground == foreground).all()
    background = np.zeros_like(truth)
    background[8:28, 10:20] = True
    less = grabcut(image, box, background=background, warm_start=mended, **options)
    assert not less.mask[background].any()
    assert (less.background == (background | first.background)).all()


def test_grabcut_ends_where_nothing_is_left():
    result = grabcut(np.random.default_rng(0).random((12, 12)), (2, 2, 10, 10), smoothness=1000, **SERIAL)
    assert not result.mask.any()
    assert len(result.energies) == 1
    assert len(grabcut(two_colours()[0], (4, 5, 32, 40), iterations=1, **SERIAL).energies) == 1


@pytest.mark.parametrize(
    ("box", "options", "message"),
    [
        ((2, 3, 2, 9), {}, "is empty"),
        ((5, 5, 3, 9), {}, "is empty"),
        ((2, 3, 99, 9), {}, "leaves the image"),
        ((-1, 3, 9, 9), {}, "leaves the image"),
        ((0, 0, 36, 44), {}, "covers the whole image"),
        ((1, 2, 3), {}, "box is"),
        ((1.5, 2, 3, 4), {}, "box is"),
        ([(1, 2), (3,)], {}, "box is not an array"),
        ((0, 0, 0, 5, 5, 5), {}, "leaves the image"),
        (np.zeros((36, 44), dtype=bool), {}, "box is empty"),
        (np.ones((36, 43), dtype=bool), {}, "image has shape"),
        (
            (2, 3, 9, 9),
            {"foreground": np.ones((36, 44), dtype=bool)},
            r"pixel \(0, 0\) is a foreground seed, but outside",
        ),
        ((2, 3, 9, 9), {"foreground": np.zeros((36, 43), dtype=bool)}, "foreground has shape"),
        ((2, 3, 9, 9), {"background": np.ones((36, 44), dtype=bool)}, "no pixel in the box"),
        ((2, 3, 9, 9), {"background": np.ones((36, 44))}, "array of bool"),
        ((2, 3, 9, 9), {"components": 0}, "components"),
        ((2, 3, 9, 9), {"iterations": 0}, "iterations"),
        ((2, 3, 9, 9), {"time_limit": -1}, "time_limit"),
        ((2, 3, 9, 9), {"warm_start": 3}, "warm_start"),
    ],
)
def test_wrong_arguments_of_grabcut_are_named(box, options, message):
    with pytest.raises(InvalidInputError, match=message):
        grabcut(two_colours()[0], box, **options)


def test_neighbours_may_be_a_list_of_offsets():
    image, *seeds = np.eye(4), *masks_at((4, 4), (0, 0), (3, 0))
    listed = segment(image, *seeds, connectivity=[(0, 1), (1, 0)])
    listed.cut.verify()
    assert listed.energy == segment(image, *seeds, connectivity=4).energy
    assert grabcut(image, (0, 0, 3, 3), connectivity=[(0, 1)]).cut.status == "optimal"


def test_image_that_is_no_image_is_refused_by_grabcut():
    for image, message in ((np.full((9, 9), np.nan), "not finite"), (np.zeros((9, 9, 5)), "image has shape")):
        with pytest.raises(InvalidInputError, match=message):
            grabcut(image, (2, 2, 5, 5))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "guess"}, "model must be 'histogram' or 'mixture'"),
        ({"model": "mixture", "components": 0}, "components"),
        ({"prior": 0}, "prior must be between 0 and 1"),
        ({"prior": 1.0}, "prior must be between 0 and 1"),
        ({"prior": np.nan}, "prior"),
    ],
)
def test_wrong_models_are_named(options, message):
    with pytest.raises(InvalidInputError, match=message):
        segment(np.eye(4), *masks_at((4, 4), (0, 0), (3, 0)), **options)


# Seeds in volumes, by value and by label


def test_seeds_of_a_volume_have_a_z():
    mask = parse_seeds((5, 6, 7), ["1,2,3,2,2,4", "6,5,0"], brush=1)
    expected = np.zeros((5, 6, 7), dtype=bool)
    expected[3:5, 2, 1:3] = expected[0, 5, 6] = True
    assert (mask == expected).all()
    line = parse_seeds((9, 9, 9), ["1,1,1 7,7,7"], brush=1)
    assert (np.argwhere(line) == np.repeat(np.arange(1, 8), 3).reshape(-1, 3)).all()
    for text in ("1,2", "1,2,3,4", "1,2,5", "1,6,1,2,2,2"):
        with pytest.raises(
            InvalidInputError, match=r"a seed is a box \"x0,y0,z0,x1,y1,z1\"|outside the image"
        ):
            parse_seeds((5, 6, 7), [text])


def test_seeds_by_value_and_by_label():
    values = np.arange(12).reshape(3, 4)
    assert (parse_seeds((3, 4), [">8", " <2"], values=values) == ((values > 8) | (values < 2))).all()
    between = (values >= 2) & (values <= 8)
    assert (parse_seeds((3, 4), [" 2:8 "], values=values) == between).all()
    assert parse_seeds((3, 4), ["-1e3 : 1e3"], values=-values).all()
    for wrong in ("8:2", "2:", ":", "1:2:3", "a:b", ">1:2", "nan:3"):
        with pytest.raises(InvalidInputError, match="is no range of values"):
            parse_seeds((3, 4), [wrong], values=values)
    with pytest.raises(InvalidInputError, match="needs a grey image"):
        parse_seeds((3, 4), [">8"])
    with pytest.raises(InvalidInputError, match="no range of values"):
        parse_seeds((3, 4), [">x"], values=values)
    with pytest.raises(InvalidInputError, match=r"labels of seeds are 1 .*, 2 .* and 0"):
        seeds_from_labels([[0, 3]])


def test_overlay_of_a_volume_shows_three_slices_the_right_way_up():
    mask = np.zeros((4, 6, 8), dtype=bool)
    mask[1, 2, 3] = True
    page = volume_overlay(np.where(mask, 100.0, 0.0), mask)
    assert page.shape == (6, 8 + 8 + 6, 3)
    assert (page[6 - 1 - 2, 3] == 255).all()  # slice of z: y upwards
    assert (page[4 - 1 - 1, 8 + 3] == 255).all()  # slice of y: z upwards
    assert (page[4 - 1 - 1, 16 + 2] == 255).all()
    with pytest.raises(InvalidInputError, match="volume has shape"):
        volume_overlay(np.zeros((4, 6)), mask)


def test_overlay_of_a_scan_is_turned_as_its_affine_says():
    mask = np.random.default_rng(0).random((4, 6, 8)) < 0.5
    values = np.where(mask, 100.0, 0.0)
    usual = volume_overlay(Volume(values, np.eye(4)), mask)
    assert (usual == volume_overlay(values, mask)).all()
    turned = Volume(values[::-1, :, ::-1], np.diag([-1.0, 1, -1, 1]))  # feet first, from left to right
    mask[...] = False
    mask[2, 3, 4] = True
    expected = volume_overlay(values, mask)
    assert (volume_overlay(turned, mask[::-1, :, ::-1]) == expected).all()
    labels = mask.astype(int)
    assert (labels_picture(labels[::-1, :, ::-1], turned) == labels_picture(labels, values)).all()
    stack = Volume(values, np.eye(4), of_body=False)
    assert (volume_overlay(stack, mask)[:6, :8] == volume_overlay(values, mask)[5::-1, :8]).all()


# A real brain


@pytest.fixture(scope="module")
def brain():
    return example("segment_brain", "skimage", "nibabel", "imageio")


@pytest.fixture
def scans(shared_instances):
    folder = shared_instances / "volumes"
    return [folder / f"mni152-{name}.nii.gz" for name in ("t1", "white-matter")]


@pytest.mark.parametrize(("noise", "least"), [(0, 0.95), (30, 0.8)])
def test_defaults_fit_a_brain(brain, scans, noise, least):
    """The first calls of new users: two thresholds, or a few strokes; then four tissues."""
    scan, fractions = (read_volume(path).values[::3, ::3, ::3] for path in scans)
    noisy, truth = brain.with_noise(scan, noise), brain.white_matter(fractions)
    seeds = brain.smoothed(noisy) if noise else scan
    result = segment(noisy, seeds > 195, seeds < 185)
    assert brain.dice(result.mask, truth) >= least
    random = np.random.default_rng(0)
    strokes = [
        np.isin(np.arange(scan.size), random.choice(np.flatnonzero(where), number)).reshape(scan.shape)
        for where, number in ((seeds > 200, 300), ((seeds < 170) & (scan > 0), 900))
    ]
    assert brain.dice(segment(noisy, *strokes).mask, truth) >= least - 0.05
    assert not brain.dice(segment(noisy, *strokes, smoothness=50).mask, truth) > 0.7
    smooth = brain.smoothed(noisy)
    grey, fluid = (smooth > 130) & (smooth < 160), (smooth > 60) & (smooth < 90)
    markers = np.select([smooth < 20, fluid, grey, smooth > 200], [1, 2, 3, 4])
    tissues = segment_labels(noisy, markers)
    assert brain.dice(tissues.mask(4), truth) >= least - 0.05


@pytest.mark.parametrize("deviation", [0.0, 20.0])
@pytest.mark.parametrize("spacing", [None, (3, 1, 1)])
@pytest.mark.parametrize("connectivity", [None, 26])
def test_a_lone_voxel_needs_odds_of_a_hundred(deviation, spacing, connectivity):
    """The smoothness of volumes follows from noise, spacing and neighbours; that of images stays."""
    noise = np.random.default_rng(0).normal(scale=deviation, size=(20, 20, 20))
    volume = np.where(np.indices(noise.shape)[0] > 9, 200, 100) + noise
    seeds = masks_at(noise.shape, (15, 5, 5), (5, 5, 5))
    network = segmentation_network(volume, *seeds, spacing=spacing, connectivity=connectivity)
    around = 2 * sum(int(pair.forward.sum()) for pair in network.pairs()) / 1000 / volume.size
    assert around == pytest.approx(np.log(100), rel=0.01)
    assert Painting(volume[0]).smoothness == 50
    assert 0.5 < Painting(np.zeros((9, 9, 9))).smoothness < 1


@pytest.mark.parametrize(("noise", "least"), [(0, 0.94), (30, 0.85)])
def test_white_matter_at_half_size(brain, scans, noise, least):
    scan, fractions = (read_volume(path).values[::2, ::2, ::2] for path in scans)
    result = brain.segment_white_matter(brain.with_noise(scan, noise))
    result.cut.verify()
    assert brain.dice(result.mask, brain.white_matter(fractions)) >= least


def test_brain_example_reports_and_draws(brain, scans, tmp_path, monkeypatch, capsys):
    command = ["segment_brain.py", *map(str, scans), "--step", "4", "--out", str(tmp_path / "new")]
    monkeypatch.setattr(sys, "argv", command)
    brain.main()
    printed = capsys.readouterr().out
    for word in ("48 x 59 x 50 voxels", "GridNetwork", "verified  yes", "Dice", "threshold"):
        assert word in printed
    assert read_image(tmp_path / "new" / "brain-noise-0.png").shape == (2 * 59, 50 + 50 + 59, 3)


def test_brain_example_wants_both_files(brain, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["segment_brain.py", "one.nii"])
    with pytest.raises(SystemExit):
        brain.main()
    assert "give two files" in capsys.readouterr().err


# Voxels that are no cubes


def test_thick_slices():
    """Of two places for the boundary, the one between slices is cheaper where these are far apart."""
    rng = np.random.default_rng(0)
    volume = rng.normal(scale=0.1, size=(4, 4, 4))
    foreground, background = np.zeros((2, 4, 4, 4), dtype=bool)
    foreground[0, 0, 0] = background[3, 3, 3] = True
    options = {"smoothness": 3.0, "sigma": np.inf, "model": "mixture", "components": 1}
    cubes, thick = (
        segment(volume, foreground, background, spacing=spacing, **options) for spacing in (None, (9, 1, 1))
    )
    for result, length in ((cubes, 1.0), (thick, 9.0)):
        result.cut.verify()
        network = result.cut.network
        for pair, offset in zip(network.pairs(), network.offsets[::2], strict=True):
            distance = math.hypot(offset[0] * length, *offset[1:])
            assert (pair.forward == round(3000 / distance)).all()
    again = segment(volume, foreground, background, spacing=(2.5, 2.5, 2.5), **options)
    assert (again.mask == cubes.mask).all()
    box = (0, 0, 0, 4, 4, 3)
    flat = grabcut(volume, box, smoothness=50, spacing=(9, 1, 1), sigma=np.inf)
    assert flat.cut.network.neighbor_capacity.max() == 50_000
    markers = foreground + 2 * background
    labels = segment_labels(volume, markers, smoothness=50, spacing=(9, 1, 1))
    labels.verify()
    assert labels.energy < segment_labels(volume, markers, smoothness=50).energy
    painting = Painting(volume, spacing=(9, 1, 1), **options)
    painting.paint(foreground, 1)
    painting.paint(background, 2)
    assert (painting.solve().mask == thick.mask).all()


def test_a_brush_larger_than_the_image_paints_all() -> None:
    for brush in (1e4, 1e18, 1e300):
        assert stroke((4, 6), [(1, 1)], brush=brush).all()
        assert stroke((4, 6, 3), [(1, 1, 1), (2, 2, 2)], brush=brush).all()
