"""Many labels from seeds: against all labellings, what seeds and masks promise, and what is refused."""

import itertools
import warnings

import numpy as np
import pytest
import scipy.ndimage
from hypothesis import given, settings
from hypothesis import strategies as st

from preflow.errors import CapacityOverflowError, InvalidInputError, VerificationError
from preflow.vision import Volume, labels_picture, segment, segment_labels

SERIAL = {"method": "serial-incremental-bfs"}


@st.composite
def cases(draw):
    """A tiny image and its markers."""
    shape = draw(st.sampled_from([(1, 5), (2, 3), (3, 3), (1, 2, 3)]))
    labels = draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    markers = np.zeros(int(np.prod(shape)), int)
    markers[rng.permutation(len(markers))[:labels]] = np.arange(labels) + 1
    if draw(st.booleans()):
        markers[markers == 0] = rng.choice([0, 0, -1], (markers == 0).sum())
    model = draw(st.sampled_from(["histogram", "mixture", "none"]))
    return rng.random(shape), markers.reshape(shape), model


@settings(max_examples=40)
@given(cases())
def test_against_all_labellings(case):
    image, markers, model = case
    result = segment_labels(image, markers, model=model, smoothness=2.0, **SERIAL)
    result.verify()
    terms, names = result.labelling.energy_terms, result.names.tolist()
    free = markers == 0
    least = np.inf
    for choice in itertools.product(range(len(names)), repeat=int(free.sum())):
        labels = np.searchsorted(names, np.maximum(markers, names[0]))
        labels[free] = choice
        least = min(least, terms.energy(labels))
    assert terms.energy(result.labelling.labels) == result.labelling.energy
    assert (result.labels[~free] == markers[~free]).all()
    assert least <= result.labelling.energy <= (least if len(names) <= 2 else 2 * least)


def test_two_labels_are_the_cut_of_segment():
    rng = np.random.default_rng(0)
    image = rng.normal(scale=0.2, size=(20, 24, 3))
    image[5:15, 6:18] += 1
    markers = np.zeros((20, 24), np.uint8)
    markers[8:12, 9:13], markers[:2] = 1, 2
    result = segment_labels(image, markers, **SERIAL)
    both = segment(image, markers == 1, markers == 2, **SERIAL)
    assert (result.mask(1) == both.mask).mean() > 0.99
    assert result.energy == pytest.approx(both.energy, abs=0.5)
    assert result.labels.dtype == np.uint8


def test_masks_and_negative_markers_take_no_part():
    image = np.repeat([[0.0, 0.0, 9.0, 0.0, 0.0]], 4, axis=0)
    markers = np.zeros((4, 5))
    markers[0, 0], markers[0, 4], markers[3, 2] = 3, 8, -2
    mask = np.ones((4, 5), bool)
    mask[:3, 2] = False
    result = segment_labels(image, markers, mask=mask, **SERIAL)
    assert result.labels.tolist() == [[3, 3, 0, 8, 8]] * 3 + [[3, 3, -2, 8, 8]]
    assert result.num_seeds == 2
    assert "2 labels on 4 x 5 pixels, from 2 seeds" in repr(result)
    with pytest.raises(ValueError, match="read-only"):
        result.labels[0, 0] = 1


def test_a_wrong_energy_is_found():
    markers = np.array([[1, 0, 0, 2]])
    result = segment_labels([[0.0, 0.1, 0.8, 1.0]], markers, **SERIAL)
    object.__setattr__(result.labelling, "energy", result.labelling.energy + 1)
    with pytest.raises(VerificationError, match="has not the energy"):
        result.verify()


@pytest.mark.parametrize(
    ("markers", "options", "message"),
    [
        (np.zeros((3, 4), int), {}, "name no label"),
        (np.full((3, 4), 0.5), {}, "markers are integers"),
        (np.ones((3, 4), bool), {}, "markers are integers"),
        (np.ones((1, 1, 1, 1, 3), int), {}, "shape of an image"),
        (np.ones((3, 5), int), {}, "the seeds have shape"),
        (np.ones((3, 4), int), {"mask": np.ones((3, 3), bool)}, "mask has shape"),
        (np.ones((3, 4), int), {"mask": np.zeros((3, 4), bool)}, "name no label"),
        (np.ones((3, 4), int), {"model": "colour"}, "model must be"),
        (np.ones((3, 4), int), {"smoothness": -1}, "smoothness"),
        (np.ones((3, 4), int), {"components": 0}, "components"),
        (np.arange(1, 2001).reshape(40, 50), {}, "at most 1,024"),
    ],
)
def test_refuses(markers, options, message):
    image = np.zeros((40, 50) if markers.size > 100 else (3, 4))
    with pytest.raises(InvalidInputError, match=message):
        segment_labels(image, markers, **options)


def test_refuses_weights_that_floats_cannot_hold():
    with pytest.raises(CapacityOverflowError):
        segment_labels(np.zeros((2, 2)), [[1, 0], [0, 2]], smoothness=1e13)


def test_picture():
    picture = labels_picture([[1, 1, 1, 2, 2, 0]], np.full((1, 6), 100, np.uint8), opacity=1)
    assert picture[0, [0, 1, 4, 5]].tolist() == [[230, 159, 0], [230, 159, 0], [255, 255, 255], [100] * 3]
    assert picture[0, 2].tolist() == [255, 255, 255]
    colours = labels_picture(np.repeat(np.arange(1, 22), 3)[np.newaxis])[0, ::3]
    assert len({tuple(colour) for colour in colours.tolist()}) == 21
    for labels, message in (([1, 2], "labels are integers"), ([[0.5]], "labels are integers")):
        with pytest.raises(InvalidInputError, match=message):
            labels_picture(labels)
    with pytest.raises(InvalidInputError, match="opacity"):
        labels_picture([[1]], opacity=2)


def test_pixels_that_no_seed_reaches_stay_unlabelled_as_those_of_random_walker():
    """Pixels that take no part surround a pixel without a seed, in any number of dimensions."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        shape = (9, 8) if seed % 3 else (4, 4, 5)
        markers = np.where(rng.random(shape) < 0.55, -1, 0)
        markers.flat[rng.choice(markers.size, 4, replace=False)] = [1, 2, 2, 5]
        image = rng.random(shape)
        faces = 2 * len(shape)
        result = segment_labels(image, markers, connectivity=faces, smoothness=0.1)
        result.verify()
        part, _ = scipy.ndimage.label(markers >= 0)
        reached = np.isin(part, np.unique(part[markers > 0])) & (markers >= 0)
        assert (result.labels[reached] > 0).all()
        assert (result.labels[~reached] == np.minimum(markers, 0)[~reached]).all()
        assert (result.labels[markers > 0] == markers[markers > 0]).all()
        walker = pytest.importorskip("skimage.segmentation").random_walker
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = walker(image, markers)
        assert ((theirs == 0) <= (result.labels == 0)).all()
    everywhere = np.where(np.eye(5, dtype=int) == 1, 3, -1)
    everywhere[4, 0] = 0
    alone = segment_labels(np.zeros((5, 5)), everywhere)
    alone.verify()
    assert alone.labels[4, 0] == 0


@pytest.mark.parametrize(
    ("markers", "message"),
    [([[0, 3, 0]], "get label 3"), ([[-1, 1, 2]], "no pixel has marker 0"), ([[-1, 1, -1]], "get label 1")],
)
def test_markers_that_leave_nothing_to_find_are_warned_of(markers, message):
    with pytest.warns(UserWarning, match=message):
        segment_labels([[1, 5, 9]], markers)


def test_the_picture_has_the_image_below_and_its_directions():
    imageio = pytest.importorskip("imageio.v3")
    stored = np.zeros((4, 6, 8), np.uint8)
    stored[:, 0, :], stored[:, 5, :] = 255, 40
    markers = np.zeros(stored.shape, int)
    markers[:, 0], markers[:, 5] = 1, 2
    for volume in (Volume(stored, np.diag([1, 1, 2, 1.0]), of_body=False), stored, Volume(stored, np.eye(4))):
        result = segment_labels(volume, markers)
        drawn = imageio.imread(result._repr_png_())
        times = drawn.shape[1] // (8 + 8 + 6)
        expected = labels_picture(result.labels, volume)
        assert (drawn == expected.repeat(times, axis=0).repeat(times, axis=1)).all()
    flat = segment_labels(stored[0], markers[0])
    assert imageio.imread(flat._repr_png_())[0, 0].tolist() == [242, 207, 128]  # orange over white
