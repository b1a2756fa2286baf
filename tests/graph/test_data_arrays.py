"""Arrays of xarray: results keep their dimensions and coordinates."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import preflow
from preflow.errors import InvalidInputError
from preflow.vision import denoise, grabcut, segment, segment_labels

xarray = pytest.importorskip("xarray")


def bands() -> Any:
    """Return an image with coordinates, one of them of two dimensions, and a channel axis."""
    image = np.zeros((6, 8, 3))
    image[1:5, 2:6] = 1
    return xarray.DataArray(
        image,
        dims=("lat", "lon", "band"),
        coords={
            "lat": np.arange(6.0),
            "lon": np.arange(8) * 10,
            "band": ["r", "g", "b"],
            "height": (("lat", "lon"), np.arange(48).reshape(6, 8)),
            "time": 2026,
        },
    )


def like(result: Any, image: Any) -> None:
    """Check that an array of pixels has the dimensions and coordinates of an image."""
    assert isinstance(result, xarray.DataArray)
    assert result.dims == ("lat", "lon")
    assert set(result.coords) == {"lat", "lon", "height", "time"}
    for name in result.coords:
        assert result.coords[name].equals(image.coords[name])


def test_grid_cut() -> None:
    image = bands()
    object_first = image.sel(band="r")
    source, sink = 9 * object_first, 9 * (1 - object_first)
    result = preflow.grid_cut(source.drop_vars("band"), sink.to_numpy(), 2)
    like(result.labels, image)
    result.verify()
    assert (result.labels.to_numpy() == preflow.grid_cut(source.to_numpy(), sink.to_numpy(), 2).labels).all()
    assert result.energy == result.value
    assert not result.labels.to_numpy().flags.writeable
    loaded = pickle.loads(pickle.dumps(result))
    like(loaded.labels, image)
    loaded.verify()
    again = preflow.grid_cut(result.network, warm_start=result)
    like(again.labels, image)
    assert "pixels on the source side" in repr(result)


def test_contrast_has_a_dimension_of_directions() -> None:
    image = bands()
    capacity = preflow.contrast_capacity(image, channel_axis=-1, connectivity=8)
    assert capacity.dims == ("direction", "lat", "lon")
    assert capacity.coords["lon"].equals(image.lon)
    assert (
        capacity.to_numpy() == preflow.contrast_capacity(image.to_numpy(), channel_axis=2, connectivity=8)
    ).all()
    source = image.isel(band=0, drop=True)
    like(preflow.grid_cut(source, 0.5, capacity / 100, connectivity=8).labels, image)
    like(preflow.grid_cut(source.to_numpy(), 0.5, capacity / 100, connectivity=8).labels, image)


def test_segmentation() -> None:
    image = bands()
    foreground, background = (xarray.zeros_like(image.isel(band=0, drop=True), dtype=bool) for _ in range(2))
    foreground[2, 3] = background[0, 0] = True
    result = segment(image, foreground, background)
    like(result.mask, image)
    assert (result.mask.to_numpy() == (image.to_numpy()[..., 0] == 1)).all()
    assert "16 of 6 x 8 pixels" in repr(result)
    again = segment(image, foreground.to_numpy(), background.to_numpy(), warm_start=result)
    like(again.mask, image)
    like(segment(image.to_numpy(), foreground, background).mask, image)
    boxed = grabcut(image, (0, 1, 6, 7))
    like(boxed.mask, image)
    like(grabcut(image, (0, 1, 6, 7), warm_start=boxed).mask, image)
    labels = segment_labels(image, foreground + 2 * background)
    like(labels.labels, image)
    assert int(labels.mask(1).sum()) == 16
    smooth = denoise(image, 0.1, channel_axis=-1)
    assert smooth.image.dims == image.dims
    assert smooth.image.coords["band"].equals(image.band)
    for each in (result, boxed, labels, smooth):
        each.verify()
        copy.deepcopy(each).verify()
    pytest.importorskip("imageio")
    assert all(each._repr_png_() for each in (result, labels, smooth))


def test_arguments_that_are_not_aligned() -> None:
    image = bands()
    source = image.isel(band=0, drop=True)
    with pytest.raises(InvalidInputError, match=r"\('lat', 'lon'\), sink_capacity has \('lon', 'lat'\)"):
        preflow.grid_cut(source[:6, :6], source[:6, :6].T, 1)
    moved = source.assign_coords(lon=source.lon + 5)
    with pytest.raises(InvalidInputError, match="different coordinates along 'lon': align them first"):
        preflow.grid_cut(source, moved, 1)
    preflow.grid_cut(source, moved.drop_vars("lon"), 1).verify()
    seeds = moved > 0
    with pytest.raises(InvalidInputError, match="image and foreground have different coordinates"):
        segment(image, seeds, ~seeds)
    other = source.rename(lat="direction")
    assert preflow.contrast_capacity(other).dims[:2] == ("neighbour", "direction")


def test_xarray_is_not_imported() -> None:
    code = (
        "import sys, preflow; preflow.grid_cut([[3, 0]], [[0, 3]], 2); preflow.contrast_capacity([[1, 2]]); "
        "print('xarray' in sys.modules)"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert output.stdout.strip() == "False"
