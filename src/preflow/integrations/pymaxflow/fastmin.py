"""Labels for the pixels of a grid with the interface of ``maxflow.fastmin``, by preflow.vision."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ...arrays import Array
from ...errors import InvalidTypeError
from ...graph.placement import host_array
from .graph import Graph, GraphInt

if TYPE_CHECKING:
    from ...vision.expansion import Labelling
    from ...vision.label_energy import LabelEnergy

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


def aexpansion_grid_step(
    alpha: int, D: ArrayLike, V: ArrayLike, labels: Array
) -> tuple[int | float, GraphInt]:
    """Make the best move to one label: each pixel keeps its label or takes this one.

    Parameters
    ----------
    alpha : int
    D, V
        `unary` and `binary` of :func:`aexpansion_grid`.
    labels : ndarray of integers
        They are overwritten.

    Returns
    -------
    energy : int or float
        The value of the cut, which is the energy of the new labels.
    graph : GraphInt or GraphFloat
        Its nodes are the pixels; those that take `alpha` are on the sink's side. PyMaxflow, too, returns it
        after the energy.

    Raises
    ------
    InvalidInputError
        As for :func:`aexpansion_grid`; `alpha` or one of `labels` is no label.

    Examples
    --------
    >>> import numpy as np
    >>> labels = np.array([[0, 1, 0]])
    >>> aexpansion_grid_step(0, [[[0, 8], [5, 4], [0, 8]]], [[0, 3], [3, 0]], labels)[0], labels.tolist()
    (5, [[0, 0, 0]])
    """
    _energy(D, V).check_metric()
    return _step(D, V, labels, labels, np.full(np.shape(labels), alpha))


def abswap_grid_step(
    alpha: int, beta: int, D: ArrayLike, V: ArrayLike, labels: Array
) -> tuple[int | float, GraphInt]:
    """Make the best move between two labels: each pixel that has one of them takes `alpha` or `beta`.

    Parameters, result and errors are those of :func:`aexpansion_grid_step`, but `V` need not be a metric.
    Pixels that take `beta` are on the sink's side. All pixels are nodes of the graph, and the value of its
    cut is the energy of the new labels, too: PyMaxflow leaves out those with other labels.

    Examples
    --------
    >>> import numpy as np
    >>> labels = np.array([[0, 2, 1]])
    >>> abswap_grid_step(0, 1, [[[0, 9, 9], [9, 9, 0], [0, 5, 9]]], 1 - np.eye(3, dtype=int), labels)[0]
    2
    >>> labels.tolist()
    [[0, 2, 0]]
    """
    either = np.isin(labels, (alpha, beta))
    stay, switch = (np.where(either, label, labels) for label in (alpha, beta))
    return _step(D, V, labels, stay, switch)


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
    return _energy(unary, binary).energy(labels)


def _step(
    unary: ArrayLike, binary: ArrayLike, labels: Array, stay: Array, switch: Array
) -> tuple[int | float, GraphInt]:
    """Give each pixel its label of `stay` or of `switch`, whichever is best of all choices together."""
    energy = _energy(unary, binary)
    _check_overwritten(labels, len(energy.data))
    energy.checked_labels(labels)
    stay, switch = energy.checked_labels(stay), energy.checked_labels(switch)
    graph = Graph[float if "f" in (np.asarray(unary).dtype.kind, np.asarray(binary).dtype.kind) else int]()
    nodes = graph.add_grid_nodes(energy.shape)
    far = energy.distance.astype(energy.dtype)
    # A node on the sink's side costs the first, another the second.
    source, sink = (
        np.take_along_axis(energy.data, chosen[np.newaxis], axis=0)[0].astype(energy.dtype)
        for chosen in (switch, stay)
    )
    for (_, here, there), offset in zip(energy.directions(), energy.offsets, strict=True):
        neither, both = far[stay[here], stay[there]], far[switch[here], switch[there]]
        only_here, only_there = far[switch[here], stay[there]], far[stay[here], switch[there]]
        source[here] += only_here
        sink[here] += neither
        source[there] += both - only_here
        # Only rounding makes this negative.
        weights = np.zeros_like(source)
        weights[here] = np.maximum((only_there - both) + (only_here - neither), 0)
        structure = np.zeros((3,) * len(offset), np.int64)
        structure[tuple(1 + step for step in offset)] = 1
        graph.add_grid_edges(nodes, weights, structure)
    graph.add_grid_tedges(nodes, source, sink)
    value = graph.maxflow()
    labels[...] = np.where(graph.get_grid_segments(nodes), switch, stay)
    return value, graph


def _search(
    moves: Callable[..., Labelling],
    unary: ArrayLike,
    binary: ArrayLike,
    max_cycles: int | None,
    labels: Array | None,
) -> Array:
    costs = _labels_first(unary)
    if labels is not None:
        _check_overwritten(labels, len(costs))
    cycles = MOST_CYCLES if max_cycles is None else max_cycles
    found = moves(costs, binary, initial=labels, max_sweeps=cycles).labels
    if labels is not None:
        labels[...] = found
    return found if labels is None else labels


def _check_overwritten(labels: Array, number: int) -> None:
    if not isinstance(labels, np.ndarray) or labels.dtype.kind not in "iu":
        raise InvalidTypeError("labels is overwritten, so it must be a NumPy array of integers")
    if not labels.flags.writeable or np.iinfo(labels.dtype).max < number - 1:
        raise InvalidTypeError(
            f"labels is overwritten, so it must be writeable, and {labels.dtype} must have {number} labels"
        )


def _energy(unary: ArrayLike, binary: ArrayLike) -> LabelEnergy:
    from ...vision.label_energy import LabelEnergy

    return LabelEnergy.from_arrays(_labels_first(unary), binary)


def _labels_first(unary: ArrayLike) -> Array:
    costs = np.atleast_1d(host_array(unary, "unary"))
    return np.ascontiguousarray(np.moveaxis(costs, -1, 0))
