"""Batches and their results as sequences of items: indexing by numbers, slices and masks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Array
from ..checks import shown
from ..errors import InvalidTypeError, VerificationError
from .read_only import read_only_view
from .result import HEADLINES, BoundedResult

Item = TypeVar("Item")


class Items(Generic[Item]):
    """A sequence that is indexed like an array with one dimension.

    A number gives an item; negative numbers count from the end. A slice, or an array of numbers or bools,
    gives the batch of these items.
    """

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def _item(self, number: int) -> Item:
        """Return an item by its number from 0."""

    @abstractmethod
    def _some(self, items: NDArray[np.int64]) -> Self:
        """Return the batch of some items."""

    def __iter__(self) -> Iterator[Item]:
        return (self[number] for number in range(len(self)))

    @overload
    def __getitem__(self, index: int | np.integer[Any]) -> Item: ...

    @overload
    def __getitem__(self, index: slice | ArrayLike) -> Self: ...

    def __getitem__(self, index: slice | ArrayLike) -> Item | Self:
        """Return the item with a number, or the batch of the items of a slice or an array.

        Raises
        ------
        IndexError
            There is no such item.
        InvalidTypeError
            The index is none of these.
        """
        chosen = numbers_of(index, len(self))
        return self._item(chosen) if isinstance(chosen, int) else self._some(chosen)


@dataclass(frozen=True, eq=False, repr=False)
class BatchResult(Items[Item], BoundedResult):
    """The outcome of the solves of many items: numbers become arrays, one entry an item."""

    lower_bound: Array  # type: ignore[assignment]
    upper_bound: Array  # type: ignore[assignment]
    optimal: NDArray[np.bool_]
    _gap: Array

    @property
    def gap(self) -> Array:  # type: ignore[override]
        """A proved bound of the difference between each value and the optimum."""
        return read_only_view(self._gap)

    def __len__(self) -> int:
        return len(self.optimal)

    def _check_status(self) -> None:
        """Check that the status is what the items say."""
        if bool(self.optimal.all()) != (self.status == "optimal"):
            raise VerificationError(f"the status is {self.status}: that is not what the items say")

    def _text(self, items: str) -> str:
        """Return the repr of a batch of these items."""
        outcome = "optimal" if self.status == "optimal" else HEADLINES[self.status]
        if self.status != "optimal":
            outcome += f", {int(self.optimal.sum()):,} solved"
        return f"<{type(self).__name__}: {len(self):,} {items}, {outcome}, {self._how()}>"


def numbers_of(index: slice | ArrayLike, length: int) -> int | NDArray[np.int64]:
    """Return the number, or the numbers, from 0, of the items that an index means; errors as above."""
    if isinstance(index, int | np.integer):
        if not -length <= index < length:
            raise IndexError(f"item {index} is out of range: there are {length}")
        return int(index) % length
    numbers = np.arange(length)
    if isinstance(index, slice):
        return numbers[index]
    items = np.asarray(index)
    if items.ndim == 0 and items.dtype.kind in "iu":
        return numbers_of(int(items), length)
    if isinstance(index, tuple) or items.ndim != 1 or (items.size and items.dtype.kind not in "iub"):
        raise InvalidTypeError(
            "items are chosen by an integer, a slice, or a list of integers or bools, "
            f"not by {type(index).__name__}: {shown(index)}"
        )
    return numbers[items if items.size else slice(0)]


def gathered(
    first: NDArray[np.int64], items: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the entries of some items, of arrays in which item `i` begins at ``first[i]``.

    The second array says where these items begin among them.
    """
    counts = np.diff(first)[items]
    begins = np.append(0, np.cumsum(counts))
    return np.repeat(first[:-1][items] - begins[:-1], counts) + np.arange(begins[-1]), begins
