"""Kernels read the arcs of a network by the functions for its class."""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple

import numpy as np
import pytest

from preflow.arrays import Array
from preflow.network import arcs

pytestmark = pytest.mark.fast


class Unknown(NamedTuple):
    excess: Array


@pytest.mark.parametrize("path", arcs.STORED)
def test_every_class_has_all_functions(path: str) -> None:
    module, _, name = path.rpartition(".")
    kind = getattr(import_module(module), name)
    assert all(callable(arcs.implementation(function, kind)) for function in arcs.LISTED)


def test_a_class_that_is_not_known_is_an_error() -> None:
    with pytest.raises(TypeError, match="does not say how Unknown stores"):
        arcs.num_vertices(Unknown(np.zeros(3)))
