"""Labels for the pixels of a grid with the interface of ``maxflow.fastmin``, by preflow.vision."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ...arrays import Array
from ...errors import InvalidTypeError
from ...graph.placement import host_array

if TYPE_CHECKING:
    from ...vision.expansion import Labelling

#: Cycles if their number is not given: the search ends long before.
MOST_CYCLES = 2**31


def aexpansion_grid(
    unary: ArrayLike, binary: ArrayLike, max_cycles: int | None = None, labels: Array | None = None
) -> Array:
    """Find labels of low energy by moves to one label, as :func:`preflow.vision.alpha_expansion` does.

    Parameters
    ----------
    unary : array_like, shape (..., labels)
        Cost of each label at each pixel; the labels are the last axis.
    binary : array_like, shape (labels, labels)
        Cost of two neighbours along an axis with these labels: a metric.
    max_cycles : int, optional
        Most passes over all labels.
    labels : ndarray of integers, optional
        The labels to start from, which are overwritten. Default: the cheapest of each pixel.

    Returns
    -------
    ndarray
        `labels` if given, else an array of int64.

    Raises
    ------
    InvalidInputError
        `binary` is not a metric, or shapes do not fit: see :func:`preflow.vision.alpha_expansion`.

    Examples
    --------
    >>> from preflow.integrations import pymaxflow as maxflow
    >>> maxflow.aexpansion_grid([[[0, 8], [5, 4], [0, 8]]], [[0, 3], [3, 0]])
    array([[0, 0, 0]])
    """
    from ...vision.expansion import alpha_expansion

    return _search(alpha_expansion, unary, binary, max_cycles, labels)


def abswap_grid(
    unary: ArrayLike, binary: ArrayLike, max_cycles: int | None = None, labels: Array | None = None
) -> Array:
    """Find labels of low energy by moves between two labels: :func:`preflow.vision.alpha_beta_swap`.

    Parameters, result and errors are those of :func:`aexpansion_grid`, but `binary` need not be a metric.

    Examples
    --------
    >>> from preflow.integrations import pymaxflow as maxflow
    >>> maxflow.abswap_grid([[[0, 9, 9], [9, 9, 0]]], [[0, 1, 4], [1, 0, 1], [4, 1, 0]])
    array([[0, 2]])
    """
    from ...vision.expansion import alpha_beta_swap

    return _search(alpha_beta_swap, unary, binary, max_cycles, labels)


def energy_of_grid_labeling(unary: ArrayLike, binary: ArrayLike, labels: ArrayLike) -> int | float:
    """Return the energy of labels: the costs of all pixels, and of all neighbours along the axes.

    Parameters
    ----------
    unary, binary
        As for :func:`aexpansion_grid`.
    labels : array_like of integers

    Examples
    --------
    >>> energy_of_grid_labeling([[[0, 8], [5, 4], [0, 8]]], [[0, 3], [3, 0]], [[0, 1, 0]])
    10
    """
    from ...vision.label_energy import LabelEnergy

    return LabelEnergy.from_arrays(_labels_first(unary), binary).energy(labels)


def _search(
    moves: Callable[..., Labelling],
    unary: ArrayLike,
    binary: ArrayLike,
    max_cycles: int | None,
    labels: Array | None,
) -> Array:
    if labels is not None and (not isinstance(labels, np.ndarray) or labels.dtype.kind not in "iu"):
        raise InvalidTypeError("labels is overwritten, so it must be a NumPy array of integers")
    cycles = MOST_CYCLES if max_cycles is None else max_cycles
    found = moves(_labels_first(unary), binary, initial=labels, max_sweeps=cycles).labels
    if labels is not None:
        labels[...] = found
    return found if labels is None else labels


def _labels_first(unary: ArrayLike) -> Array:
    costs = np.atleast_1d(host_array(unary, "unary"))
    return np.ascontiguousarray(np.moveaxis(costs, -1, 0))
