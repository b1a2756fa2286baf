"""Energies of labellings: costs of labels at pixels, of differing neighbours, and of labels in use.

Boykov, Veksler and Zabih, "Fast approximate energy minimization via graph cuts", PAMI 2001; label costs are
those of Delong, Osokin, Isack and Boykov, "Fast approximate energy minimization with label costs", IJCV 2012
(first CVPR 2010). Energies of integers are exact. If any term is a fractional float, each term is a float64,
and an energy is the sum of the terms of its labelling, rounded once. Terms of labels that are not chosen,
however large, do not count.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Array, DType
from ..certify.exact import accurate_sum
from ..checks import check_finite, check_integer
from ..errors import CapacityOverflowError, InvalidInputError
from ..graph.grid_input import stacked_by_axis, warn_of_order
from ..graph.neighbourhood import Box, half_neighbourhood, pair_boxes
from ..graph.placement import host_array

#: Distances between all pairs of labels are stored, and the triangle inequality takes the cube of the number.
MOST_LABELS = 1024
#: The sum of all terms of an energy stays below this, so that moves, which double it, fit int64.
LARGEST_ENERGY = 2**61
#: Moves add up floats below two to this power, far from where sums of them overflow.
LARGEST_EXPONENT = 1000
#: A labelling of float terms is lower than another if it is so by more than this part of the changes of all
#: terms that change: more than rounding makes of them.
ROUNDING = 2.0**-40


@dataclass(frozen=True, eq=False, repr=False)
class LabelEnergy:
    """An energy over labellings of an image or a volume.

    A labelling f has the energy: the sum over pixels p of ``data[f[p], p]``, plus the sum over neighbours
    p, q of ``weight[p, q] * distance[f[p], f[q]]``, plus the sum of ``label_costs`` of the labels in use.

    Attributes
    ----------
    data : ndarray of int16, int32, int64 or float64, shape (labels, h, w) or (labels, d, h, w)
    distance : ndarray of int64 or float64, shape (labels, labels)
        Symmetric, zero on the diagonal, nowhere negative.
    weights : ndarray of the same dtypes, shape (directions, h, w) or (directions, d, h, w)
        Weight of each pixel and its neighbour in each direction of `offsets`, one of every two opposite ones.
    offsets : tuple of tuples of int
        The place of the neighbour in each direction, less that of the pixel.
    label_costs : ndarray of int64 or float64, shape (labels,)
    """

    data: Array
    distance: Array
    weights: Array
    offsets: tuple[tuple[int, ...], ...]
    label_costs: Array

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

        Floats that are all integers up to 2**61 count as integers. Arrays of 16, 32 or 64 bits are not
        copied: leave them unchanged as long as the energy is used.

        Parameters
        ----------
        data : array_like, shape (labels, h, w) or (labels, d, h, w)
            Cost of each label at each pixel; integers or finite floats, also negative. Signals, shape
            (labels, n), and series of volumes, shape (labels, t, d, h, w), are taken, too.
        distance : array_like, shape (labels, labels)
            Cost of two neighbours with these labels; see :func:`potts` and :func:`truncated_linear`.
        weights : array_like
            Factors of the distances: one for all neighbours, or an array of shape
            ``(connectivity // 2, h, w)`` whose entry [k, p] is that of pixel p and its neighbour at the k-th
            offset; entries of neighbours outside are ignored. For 4 neighbours the offsets are (0, 1),
            (1, 0), so first right, then down; for 8 neighbours (0, 1), (1, -1), (1, 0), (1, 1). All ascend
            like this: :doc:`/problems/grid_cut` has the table. A list of an array for each axis, one shorter
            there, such as (h, w - 1) and (h - 1, w), is taken, too.
        connectivity : int or list of offsets, optional
            4 or 8 neighbours in an image, 6, 18 or 26 in a volume, or a list of forward offsets; default:
            that of `weights`, else 4 and 6.
        label_costs : array_like, shape (labels,), optional
            Cost of using each label at all, however many pixels have it.

        Raises
        ------
        InvalidInputError
            No label or too many, shapes that do not fit, values that are not finite, distances that are
            negative, not symmetric or not zero between equal labels, negative weights or label costs.
        CapacityOverflowError
            The terms sum to more than 2**61; of floats, the largest weight times the largest distance is past
            float64.

        Examples
        --------
        >>> energy = LabelEnergy.from_arrays([[[0, 5]], [[5, 1]]], potts(2), 3)
        >>> energy.energy([[0, 1]]), energy.energy([[0, 0]])
        (4, 5)
        """
        costs = _numbers("data", data)
        if not 2 <= costs.ndim <= 5 or 0 in costs.shape[1:]:
            raise InvalidInputError(
                "data must have shape (labels, height, width), or 1 to 4 other axes after that of labels; "
                f"got {costs.shape}"
            )
        labels, *shape = costs.shape
        if labels == 0:
            raise InvalidInputError("there are no labels: data has shape " + str(costs.shape))
        _check_count(labels)
        distance = host_array(distance, "distance")
        if distance.shape == (shape[-1],) * 2 != (labels,) * 2:
            raise InvalidInputError(
                f"data has {labels} labels and distance {shape[-1]}: labels are the first axis, and "
                "numpy.moveaxis(data, -1, 0) brings the last one there"
            )
        factors = _numbers("weights", stacked_by_axis(weights, costs.shape[1:], "weights"))
        if connectivity is None:
            connectivity = 2 * (len(factors) if factors.ndim == costs.ndim else len(shape))
        offsets = half_neighbourhood(len(shape), connectivity)
        expected = (len(offsets), *shape)
        if factors.ndim and factors.shape != expected:
            raise InvalidInputError(f"weights must be a number or have shape {expected}, got {factors.shape}")
        warn_of_order(factors, offsets, "weights")
        if factors.size and factors.min() < 0:
            raise InvalidInputError(f"weights must not be negative, got {factors.min()}")
        once: Array = np.zeros(labels, dtype=np.int64)
        if label_costs is not None:
            once = _wide(_numbers("label_costs", label_costs))
            if once.shape != (labels,):
                raise InvalidInputError(f"label_costs must have shape ({labels},), got {once.shape}")
            if once.min() < 0:
                raise InvalidInputError(f"label_costs must not be negative, got {once.min()}")
        far = _checked_distance(distance, labels)
        energy = cls(costs, far, np.broadcast_to(factors, expected), tuple(offsets), once)
        if energy.is_float:
            energy = replace(energy, distance=far.astype(np.float64), label_costs=once.astype(np.float64))
            if not np.isfinite(energy.largest_pair()):
                raise CapacityOverflowError("the largest weight times the largest distance is past float64")
        elif energy.bound() > LARGEST_ENERGY:
            raise CapacityOverflowError("the terms of the energy sum to more than 2**61")
        return energy

    @property
    def is_float(self) -> bool:
        """Whether any term is a float that is no integer up to 2**61; energies are floats then."""
        terms = (self.data, self.distance, self.weights, self.label_costs)
        return any(values.dtype.kind == "f" for values in terms)

    @property
    def dtype(self) -> DType:
        """Dtype in which sums of terms are computed: int64 or float64."""
        return np.dtype(np.float64 if self.is_float else np.int64)

    @property
    def shift(self) -> int:
        """Moves compute with terms divided by two to this power: 0, but for the largest floats."""
        terms = (self.largest_data(), self.largest_pair(), max(self.label_costs.tolist()))
        largest = (*map(float, terms), float(self.distance.max()))  # a weight of 0 hides a distance
        number = int(np.prod(self.shape)) * (1 + len(self.offsets))
        exponent = max(math.frexp(value)[1] for value in largest) + number.bit_length() + 4
        return max(0, exponent - LARGEST_EXPONENT) if self.is_float else 0

    @property
    def num_labels(self) -> int:
        """Number of labels."""
        return len(self.data)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the image or volume."""
        return self.data.shape[1:]

    def energy(self, labels: ArrayLike) -> int | float:
        """Return the energy of a labelling: exact for integers, rounded once for floats.

        It is infinite where floats sum past float64.

        Parameters
        ----------
        labels : array_like of integers, shape (h, w) or (d, h, w)

        Raises
        ------
        InvalidInputError
            Another shape, or a label out of range.
        """
        chosen = self.checked_labels(labels)
        parts = list(self.terms_of(chosen))
        if self.is_float:
            return accurate_sum(*parts)
        total: int = sum(part.sum(dtype=np.int64).item() for part in parts)
        return total

    def terms_of(self, chosen: NDArray[np.int64]) -> Iterator[Array]:
        """Yield arrays of all terms of a labelling: of pixels, of pairs in each direction, of labels."""
        yield np.take_along_axis(self.data, chosen[np.newaxis], axis=0)
        for weight, here, there in self.directions():
            yield weight * self.distance[chosen[here], chosen[there]]
        yield self.label_costs[np.unique(chosen)]

    def directions(self) -> Iterator[tuple[Array, Box, Box]]:
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
        return read_labels(labels, self.shape, self.num_labels)

    def bound(self) -> int | float:
        """Return a bound on the absolute value of any sum of terms."""
        pixels = int(np.prod(self.shape))
        pairs = len(self.offsets) * pixels * self.largest_pair()
        costs: int | float = sum(self.label_costs.tolist())
        total: int | float = pixels * self.largest_data() + pairs + costs
        return total

    def largest_data(self) -> int | float:
        """Return the largest absolute value of the data term of a pixel."""
        largest: int | float = max(abs(self.data.min().item()), abs(self.data.max().item()))
        return largest

    def largest_pair(self) -> int | float:
        """Return the largest weight times the largest distance."""
        largest: int | float = self.weights.max(initial=0).item() * self.distance.max().item()
        return largest

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
    limit = check_integer("limit", limit)
    number = np.arange(labels, dtype=np.int64)
    distance: NDArray[np.int64] = np.minimum(np.abs(number[:, np.newaxis] - number), limit)
    return distance


def _check_count(labels: int) -> None:
    """Raise InvalidInputError unless the number of labels is supported."""
    labels = check_integer("labels", labels)
    if labels > MOST_LABELS:
        raise InvalidInputError(f"there are {labels:,} labels, at most {MOST_LABELS:,} are supported")


def _broken_triangle(distance: Array) -> tuple[int, int, int] | None:
    """Return labels a, middle, b whose distances break the triangle inequality, if there are any.

    Floats break it where they exceed a sum by more than rounding.
    """
    for middle, row in enumerate(distance):
        with np.errstate(over="ignore"):
            around = row[:, np.newaxis] + row
            longer = distance > (around * (1 + ROUNDING) if around.dtype.kind == "f" else around)
        if longer.any():
            a, b = np.argwhere(longer)[0].tolist()
            return a, middle, b
    return None


def _checked_distance(distance: ArrayLike, labels: int) -> Array:
    far = _wide(_numbers("distance", distance))
    if far.shape != (labels, labels):
        raise InvalidInputError(f"distance must have shape ({labels}, {labels}), got {far.shape}")
    if far.min() < 0:
        message = f"distances must not be negative, got {far.min()}"
        if np.diagonal(far).min() < 0:
            message += ": where equal labels gain k, k * potts(labels) is the same but for a constant"
        raise InvalidInputError(message)
    if np.diagonal(far).any():
        raise InvalidInputError("the distance of a label to itself is zero")
    if (far != far.T).any():
        a, b = np.argwhere(far != far.T)[0].tolist()
        raise InvalidInputError(
            f"distances are symmetric, but [{a}, {b}] is {far[a, b]} and [{b}, {a}] is {far[b, a]}"
        )
    return far


def read_labels(labels: ArrayLike, shape: tuple[int, ...], num_labels: int) -> NDArray[np.int64]:
    """Check a labelling of this shape and return it as int64."""
    chosen = host_array(labels, "labels")
    if chosen.shape != shape or chosen.dtype.kind not in "iu":
        raise InvalidInputError(
            f"labels must be integers of shape {shape}, got {chosen.dtype} of shape {chosen.shape}"
        )
    if chosen.size and (int(chosen.min()) < 0 or int(chosen.max()) >= num_labels):
        raise InvalidInputError(f"labels go from 0 to {num_labels - 1}")
    return chosen.astype(np.int64)


def _wide(values: Array) -> Array:
    return values.astype(np.float64 if values.dtype.kind == "f" else np.int64)


def _numbers(name: str, values: ArrayLike) -> Array:
    """Return numbers as int16, int32 or int64 where all are integers, else as float64."""
    array = host_array(values, name)
    if array.dtype.kind == "f":
        if array.dtype.itemsize != 4:
            with np.errstate(over="ignore"):  # of numbers beyond float64, which are refused
                array = array.astype(np.float64, copy=False)
        check_finite(name, array)
        if (array != np.rint(array)).any() or (np.abs(array) > LARGEST_ENERGY).any():
            return array.astype(np.float64)
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise InvalidInputError(f"{name} must hold integers or floats, got dtype {array.dtype}")
    if array.size and not -LARGEST_ENERGY <= int(array.min()) <= int(array.max()) <= LARGEST_ENERGY:
        raise CapacityOverflowError(f"{name} has values above 2**61")
    smallest = np.promote_types(array.dtype, np.int16)
    return array.astype(smallest if smallest.kind == "i" else np.int64, copy=False)
