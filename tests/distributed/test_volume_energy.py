"""Capacities of a volume that are computed a box at a time: those of preflow.vision.segment."""

from __future__ import annotations

import numpy as np
import pytest

import preflow
from preflow.distributed.volume_energy import VolumeEnergy
from preflow.errors import InvalidInputError
from preflow.vision import segment


@pytest.mark.parametrize("sigma", [None, 20.0, np.inf])
@pytest.mark.parametrize(("connectivity", "smoothness"), [(6, 2.0), (26, 2.0), (None, None)])
def test_the_mask_is_that_of_segment(
    sigma: float | None, connectivity: int | None, smoothness: float | None
) -> None:
    rng = np.random.default_rng(0)
    inside = np.indices((12, 14, 16)).sum(0) > 20
    volume = np.clip(rng.normal(np.where(inside, 150, 90), 30), 0, 255).astype(np.uint8)
    options = {"smoothness": smoothness, "sigma": sigma, "connectivity": connectivity, "prior": 0.4}
    expected = segment(volume, volume > 200, volume < 40, model="histogram", **options)
    energy = VolumeEnergy(volume, [">200"], ["<40"], memory=40_000, **options)
    result = preflow.distributed.grid_cut(
        energy.source, energy.sink, energy.neighbor, connectivity=energy.connectivity, regions=6
    )
    result.verify()
    assert result.value == expected.cut.value
    assert np.array_equal(result.labels, expected.mask)


@pytest.mark.parametrize(
    ("foreground", "background", "message"),
    [
        ([">9"], ["1,2,3"], "no range of values"),
        ([">9"], ["<1"], "no foreground seeds"),
        ([">3"], ["<5"], "at once"),
    ],
)
def test_wrong_seeds(foreground: list[str], background: list[str], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        VolumeEnergy(np.arange(8.0).reshape(2, 2, 2), foreground, background)
