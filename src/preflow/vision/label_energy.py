"""Energies of labellings: what pixels pay for their labels, neighbours for differing, labels for being used.

Boykov, Veksler and Zabih, "Fast approximate energy minimization via graph cuts", PAMI 2001; label costs are
those of Delong, Osokin, Isack and Boykov, "Fast approximate energy minimization with label costs", IJCV 2012
(first CVPR 2010). All numbers are integers, so that energies are exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import CapacityOverflowError, InvalidInputError
from ..generators.parameters import check_integer
from ..graph.grid_input import as_array
from ..graph.neighbourhood import Box, half_neighbourhood, pair_boxes

#: Distances between all pairs of labels are stored, and the triangle inequality takes the cube of the number.
MOST_LABELS = 1024
#: The sum of all terms of an energy stays below this, so that moves, which double it, fit int64.
LARGEST_ENERGY = 2**61


@dataclass(frozen=True, eq=False, repr=False)
class LabelEnergy:
    """An energy over labellings of an image or a volume.

    A labelling f has the energy: the sum over pixels p of ``data[f[p], p]``, plus the sum over neighbours
    p, q of ``weight[p, q] * distance[f[p], f[q]]``, plus the sum of ``label_costs`` of the labels in use.

    Attributes
    ----------
    data : ndarray of int16, int32 or int64, shape (labels, h, w) or (labels, d, h, w)
    distance : ndarray of int64, shape (labels, labels)
        Symmetric, zero on the diagonal, nowhere negative.
    weights : ndarray of int16, int32 or int64, shape (directions, h, w) or (directions, d, h, w)
        Of a pixel and its neighbour in each of the directions `offsets`, one of every two opposite ones.
    offsets : tuple of tuples of int
    label_costs : ndarray of int64, shape (labels,)
    """

    data: NDArray[Any]
    distance: NDArray[np.int64]
    weights: NDArray[Any]
    offsets: tuple[tuple[int, ...], ...]
    label_costs: NDArray[np.int64]

    @classmethod
    def from_arrays(
        cls,
        data: ArrayLike,
        distance: ArrayLike,
        weights: ArrayLike = 1,
        *,
        connectivity: int | None = None,
        label_costs: ArrayLike | None = None,
    ) -> LabelEnergy:
        """Check the terms of an energy and return it.

        Arrays of 16, 32 or 64 bits are not copied: leave them unchanged as long as the energy is used.

        Parameters
        ----------
        data : array_like of integers, shape (labels, h, w) or (labels, d, h, w)
            What each label costs at each pixel; may be negative.
        distance : array_like of integers, shape (labels, labels)
            What neighbours of these labels cost, such as :func:`potts` or :func:`truncated_linear` return.
        weights : array_like of integers
            Factors of the distances: one for all neighbours, or an array of shape
            ``(connectivity // 2, h, w)`` whose entry [k, p] is that of pixel p and its neighbour in the k-th
            of `offsets`; entries of neighbours outside are ignored.
        connectivity : int or list of offsets, optional
            4 or 8 neighbours in an image, 6, 18 or 26 in a volume, or a list of forward offsets; default:
            what `weights` has, else 4 and 6.
        label_costs : array_like of integers, shape (labels,), optional
            What using each label costs, however many pixels have it.

        Raises
        ------
        InvalidInputError
            No label or too many, shapes that do not fit, values that are no integers, distances that are
            negative, not symmetric or not zero between equal labels, negative weights or label costs.
        CapacityOverflowError
            The terms sum to more than 2**61.

        Examples
        --------
        >>> energy = LabelEnergy.from_arrays([[[0, 5]], [[5, 1]]], potts(2), 3)
        >>> energy.energy([[0, 1]]), energy.energy([[0, 0]])
        (4, 5)
        """
        costs = _integers("data", data)
        if costs.ndim not in (3, 4) or 0 in costs.shape[1:]:
            raise InvalidInputError(
                f"data has shape (labels, height, width) or a volume's, got {costs.shape}"
            )
        labels, *shape = costs.shape
        if labels == 0:
            raise InvalidInputError("there are no labels: data has shape " + str(costs.shape))
        _check_count(labels)
        factors = _integers("weights", weights)
        if connectivity is None:
            connectivity = 2 * (len(factors) if factors.ndim == costs.ndim else len(shape))
        offsets = half_neighbourhood(len(shape), connectivity)
        expected = (len(offsets), *shape)
        if factors.ndim and factors.shape != expected:
            raise InvalidInputError(f"weights is a number or has shape {expected}, got {factors.shape}")
        if factors.size and int(factors.min()) < 0:
            raise InvalidInputError(f"weights are not negative, got {int(factors.min())}")
        once = np.zeros(labels, dtype=np.int64)
        if label_costs is not None:
            once = _integers("label_costs", label_costs).astype(np.int64)
            if once.shape != (labels,):
                raise InvalidInputError(f"label_costs has shape ({labels},), got {once.shape}")
            if int(once.min()) < 0:
                raise InvalidInputError(f"label_costs are not negative, got {int(once.min())}")
        far = _checked_distance(distance, labels)
        energy = cls(costs, far, np.broadcast_to(factors, expected), tuple(offsets), once)
        if energy.bound() > LARGEST_ENERGY:
            raise CapacityOverflowError("the terms of the energy sum to more than 2**61")
        return energy

    @property
    def num_labels(self) -> int:
        """Number of labels."""
        return len(self.data)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the image or volume."""
        return self.data.shape[1:]

    def energy(self, labels: ArrayLike) -> int:
        """Return the energy of a labelling.

        Parameters
        ----------
        labels : array_like of integers, shape (h, w) or (d, h, w)

        Raises
        ------
        InvalidInputError
            Another shape, or a label that is not there.
        """
        chosen = self.checked_labels(labels)
        total = int(np.take_along_axis(self.data, chosen[np.newaxis], axis=0).sum(dtype=np.int64))
        for weight, here, there in self.directions():
            total += int((weight * self.distance[chosen[here], chosen[there]]).sum())
        return total + int(self.label_costs[np.unique(chosen)].sum())

    def directions(self) -> Iterator[tuple[NDArray[Any], Box, Box]]:
        """Yield for each direction the weights, and the boxes of all pixels and of their neighbours."""
        for weight, offset in zip(self.weights, self.offsets, strict=True):
            here, there = pair_boxes(self.shape, offset)
            yield weight[here], here, there

    def is_metric(self) -> bool:
        """Whether the distances satisfy the triangle inequality, which expansion needs."""
        return _broken_triangle(self.distance) is None

    def check_metric(self) -> None:
        """Raise InvalidInputError, which names three labels, unless the triangle inequality holds."""
        broken = _broken_triangle(self.distance)
        if broken is not None:
            a, middle, b = broken
            far, first, second = self.distance[a, b], self.distance[a, middle], self.distance[middle, b]
            raise InvalidInputError(
                f"expansion needs a metric, but the distance of labels {a} and {b} is {far}, more than the "
                f"{first} + {second} by way of label {middle}; alpha_beta_swap does without"
            )

    def checked_labels(self, labels: ArrayLike) -> NDArray[np.int64]:
        """Check a labelling and return it as int64."""
        chosen = np.asarray(labels)
        if chosen.shape != self.shape or chosen.dtype.kind not in "iu":
            raise InvalidInputError(
                f"labels are integers of shape {self.shape}, got {chosen.dtype} of shape {chosen.shape}"
            )
        if int(chosen.min()) < 0 or int(chosen.max()) >= self.num_labels:
            raise InvalidInputError(f"labels go from 0 to {self.num_labels - 1}")
        return chosen.astype(np.int64)

    def bound(self) -> int:
        """Return a bound on the absolute value of any sum of terms."""
        pixels = int(np.prod(self.shape))
        largest = max(abs(int(self.data.min())), abs(int(self.data.max())))
        pairs = len(self.offsets) * pixels * int(self.weights.max(initial=0)) * int(self.distance.max())
        return pixels * largest + pairs + int(sum(self.label_costs.tolist()))

    def __repr__(self) -> str:
        shape = " x ".join(map(str, self.shape))
        costs = ", label costs" if self.label_costs.any() else ""
        size = f"{self.num_labels} labels, {shape} pixels, {2 * len(self.offsets)} neighbours"
        return f"<LabelEnergy: {size}{costs}>"


def potts(labels: int) -> NDArray[np.int64]:
    """Return the distances of Potts' model: 1 between any two different labels.

    Examples
    --------
    >>> potts(3).tolist()
    [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    """
    _check_count(labels)
    return 1 - np.eye(labels, dtype=np.int64)


def truncated_linear(labels: int, limit: int) -> NDArray[np.int64]:
    """Return the distances of labels that are numbers: their difference, but at most `limit`.

    Examples
    --------
    >>> truncated_linear(4, 2).tolist()
    [[0, 1, 2, 2], [1, 0, 1, 2], [2, 1, 0, 1], [2, 2, 1, 0]]
    """
    _check_count(labels)
    check_integer("limit", limit)
    number = np.arange(labels, dtype=np.int64)
    distance: NDArray[np.int64] = np.minimum(np.abs(number[:, np.newaxis] - number), limit)
    return distance


def _check_count(labels: int) -> None:
    """Raise InvalidInputError unless there can be so many labels."""
    check_integer("labels", labels)
    if labels > MOST_LABELS:
        raise InvalidInputError(f"there are {labels:,} labels, at most {MOST_LABELS:,} are supported")


def _broken_triangle(distance: NDArray[np.int64]) -> tuple[int, int, int] | None:
    """Return labels a, middle, b whose distances break the triangle inequality, if there are any."""
    for middle, row in enumerate(distance):
        longer = distance > row[:, np.newaxis] + row
        if longer.any():
            a, b = np.argwhere(longer)[0].tolist()
            return a, middle, b
    return None


def _checked_distance(distance: ArrayLike, labels: int) -> NDArray[np.int64]:
    far = _integers("distance", distance).astype(np.int64)
    if far.shape != (labels, labels):
        raise InvalidInputError(f"distance has shape ({labels}, {labels}), got {far.shape}")
    if int(far.min()) < 0:
        raise InvalidInputError(f"distances are not negative, got {int(far.min())}")
    if np.diagonal(far).any():
        raise InvalidInputError("the distance of a label to itself is zero")
    if (far != far.T).any():
        a, b = np.argwhere(far != far.T)[0].tolist()
        raise InvalidInputError(
            f"distances are symmetric, but [{a}, {b}] is {far[a, b]} and [{b}, {a}] is {far[b, a]}"
        )
    return far


def _integers(name: str, values: ArrayLike) -> NDArray[Any]:
    """Return integers as int16, int32 or int64; floats are taken where they are exact integers."""
    array = as_array(values, name)
    if array.dtype.kind == "f":
        if not np.isfinite(array).all():
            raise InvalidInputError(f"{name} has values that are not finite")
        if (np.abs(array) > LARGEST_ENERGY).any():
            raise CapacityOverflowError(f"{name} has values above 2**61")
        whole = array.astype(np.int64)
        if (whole != array).any():
            raise InvalidInputError(f"{name} holds integers: scale the values and round them")
        array = whole
    if array.dtype.kind not in "iu":
        raise InvalidInputError(f"{name} holds integers, got dtype {array.dtype}")
    if array.size and not -LARGEST_ENERGY <= int(array.min()) <= int(array.max()) <= LARGEST_ENERGY:
        raise CapacityOverflowError(f"{name} has values above 2**61")
    smallest = np.promote_types(array.dtype, np.int16)
    return array.astype(smallest if smallest.kind == "i" else np.int64, copy=False)
