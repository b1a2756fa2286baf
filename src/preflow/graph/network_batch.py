"""Many small flow networks as one container: the arrays of all networks, one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Array
from ..checks import listed
from ..errors import CapacityOverflowError, InvalidInputError, UnboundedFlowError
from ..solving.items import Items, gathered
from ..solving.read_only import ReadOnlyArrays, read_only_view
from .network import (
    EXACT_FLOAT,
    FlowNetwork,
    as_array,
    check_ends,
    common_dtype,
    frozen,
    read_capacities,
    vertex_ids,
)
from .placement import HostArrays

#: An item has fewer arcs and vertices than this: their numbers have 32 bits, and there are two for each arc.
MOST_IN_ITEM = 2**31


@contextmanager
def naming(item: int) -> Iterator[None]:
    """Let the message of an error begin with the number of the item that it is about."""
    try:
        yield
    except (InvalidInputError, UnboundedFlowError) as error:
        raise type(error)(f"item {item}: {error}") from error


@dataclass(frozen=True, eq=False)
class FlowNetworkBatch(Items[FlowNetwork], HostArrays, ReadOnlyArrays):
    """Many flow networks, each with its own arcs and its own vertices. Immutable.

    Build one with :meth:`from_arrays` or :meth:`from_networks`. The constructor makes the same checks, and
    keeps copies of the arrays. ``batch[i]`` is network ``i``, a :class:`preflow.FlowNetwork`; a slice, or an
    array of numbers or bools, gives a batch. The arcs of network ``i`` are the arcs ``first_arc[i] ..
    first_arc[i + 1] - 1`` of the batch; vertices are numbered from 0 in each network.

    Attributes
    ----------
    first_arc : ndarray of int64, shape (items + 1,)
    num_vertices : ndarray of int64, shape (items,)
    tail, head : ndarray of uint32, shape (num_arcs,)
    capacity : ndarray of int64 or float64, shape (num_arcs,)
    reverse_capacity : ndarray of the same dtype and shape, or None
        As in :class:`preflow.FlowNetwork`.
    saturated : ndarray of bool, shape (items,)
        Whether an input capacity of the network was an integer above 2**63 - 1.
    first_vertex : ndarray of int64, shape (items + 1,)
        Where the vertices of each network begin in arrays with one entry for each vertex of the batch.
    """

    first_arc: NDArray[np.int64]
    num_vertices: NDArray[np.int64]
    tail: Array
    head: Array
    capacity: Array
    reverse_capacity: Array | None = field(default=None, kw_only=True)
    saturated: NDArray[np.bool_] | None = field(default=None, kw_only=True)
    first_vertex: NDArray[np.int64] = field(init=False, repr=False)
    _networks: tuple[FlowNetwork, ...] | None = field(default=None, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        """Check the arrays, and keep read-only copies with the dtypes that kernels take."""
        tail, head = vertex_ids(self.tail, "tail"), vertex_ids(self.head, "head")
        check_ends(tail, head, None)
        first = counts_of(self.first_arc, "first_arc")
        if not len(first) or first[0] != 0 or (np.diff(first) < 0).any() or first[-1] != len(tail):
            raise InvalidInputError(f"first_arc must rise from 0 to the number of arcs, {len(tail)}")
        sizes = counts_of(self.num_vertices, "num_vertices")
        if len(sizes) != len(first) - 1:
            raise InvalidInputError(f"num_vertices has {len(sizes)} entries for {len(first) - 1} networks")
        needed = np.maximum(largest_in_items(tail, first), largest_in_items(head, first)) + 1
        if (needed > sizes).any():
            item = int((needed > sizes).argmax())
            raise InvalidInputError(
                f"item {item}: vertex {needed[item] - 1} is out of range: there are {sizes[item]} vertices"
            )
        if max(int(np.diff(first).max(initial=0)), int(sizes.max(initial=0))) >= MOST_IN_ITEM:
            raise InvalidInputError("a network of a batch has fewer than 2**31 arcs and vertices")
        capacity, saturated = _read_capacities(self.capacity, first, "capacity")
        reverse = None
        if self.reverse_capacity is not None:
            reverse, larger = _read_capacities(self.reverse_capacity, first, "reverse_capacity")
            saturated |= larger
            capacity, reverse = common_dtype(capacity, reverse)
        if self.saturated is not None:
            saturated = saturated | np.asarray(self.saturated, dtype=bool)
        for name, value in {
            "first_arc": frozen(first, np.int64),
            "num_vertices": frozen(sizes, np.int64),
            "tail": frozen(tail, np.uint32),
            "head": frozen(head, np.uint32),
            "capacity": frozen(capacity, capacity.dtype),
            "reverse_capacity": None if reverse is None else frozen(reverse, reverse.dtype),
            "saturated": frozen(saturated, bool),
            "first_vertex": frozen(np.append(0, np.cumsum(sizes)), np.int64),
        }.items():
            object.__setattr__(self, name, value)

    @property
    def num_arcs(self) -> int:
        """Number of arcs of all networks together."""
        return len(self.tail)

    @property
    def has_labels(self) -> bool:
        """Whether a network has labels for its vertices."""
        return any(network.labels is not None for network in self._networks or ())

    def __len__(self) -> int:
        return len(self.num_vertices)

    def _item(self, number: int) -> FlowNetwork:
        given = None if self._networks is None else self._networks[number]
        if given is not None and given.capacity.dtype == self.capacity.dtype:
            return given
        arcs = self.arcs_of(number)
        reverse = self.reverse_capacity
        if given is not None and given.reverse_capacity is None:
            reverse = None
        saturated = bool(cast(Array, self.saturated)[number])
        return FlowNetwork(
            int(self.num_vertices[number]),
            self.tail[arcs],
            self.head[arcs],
            self.capacity[arcs],
            reverse_capacity=None if reverse is None else reverse[arcs],
            labels=None if given is None else given.labels,
            saturated=saturated,
        )

    def _some(self, items: NDArray[np.int64]) -> FlowNetworkBatch:
        arcs, first = gathered(self.first_arc, items)
        reverse, networks = self.reverse_capacity, self._networks
        return replace(
            self,
            first_arc=first,
            num_vertices=self.num_vertices[items],
            tail=self.tail[arcs],
            head=self.head[arcs],
            capacity=self.capacity[arcs],
            reverse_capacity=None if reverse is None else reverse[arcs],
            saturated=cast(Array, self.saturated)[items],
            _networks=None if networks is None else tuple(networks[item] for item in items.tolist()),
        )

    def views(self) -> tuple[Array, ...]:
        """Return what kernels read as read-only views: the beginnings of items, arcs and capacities."""
        reverse = self.capacity[:0] if self.reverse_capacity is None else self.reverse_capacity
        parts = self.first_arc, self.first_vertex, self.tail, self.head, self.capacity, reverse
        return tuple(map(read_only_view, parts))

    def arcs_of(self, item: int) -> slice:
        """Return which arcs of the batch are those of a network."""
        return slice(int(self.first_arc[item]), int(self.first_arc[item + 1]))

    def vertices_of(self, item: int) -> slice:
        """Return which entries of arrays with one entry for each vertex of the batch are a network's."""
        return slice(int(self.first_vertex[item]), int(self.first_vertex[item + 1]))

    def __repr__(self) -> str:
        return (
            f"FlowNetworkBatch({len(self):,} networks, {int(self.first_vertex[-1]):,} vertices, "
            f"{self.num_arcs:,} arcs, {self.capacity.dtype})"
        )

    @classmethod
    def from_arrays(
        cls,
        tail: ArrayLike,
        head: ArrayLike,
        capacity: ArrayLike,
        *,
        num_arcs: ArrayLike | None = None,
        reverse_capacity: ArrayLike | None = None,
        num_vertices: ArrayLike | None = None,
    ) -> FlowNetworkBatch:
        """Build a batch from arrays.

        Parameters
        ----------
        tail, head, capacity : array_like
            With `num_arcs`: one entry for each arc of all networks, one network after the other. Otherwise
            all networks have the same number of arcs: a row of an array with two dimensions has the arcs of
            one network, and an array with one dimension has those of every network. So tails and heads of
            shape (m,) with capacities of shape (items, m) are networks that differ in their capacities only.
        num_arcs : array_like of integers, shape (items,), optional
            Number of arcs of each network.
        reverse_capacity : array_like, optional
            Capacity of the opposite direction; a shape like `capacity`, or a number.
        num_vertices : int or array_like of integers, shape (items,), optional
            Default: for each network one more than the largest vertex mentioned.

        Returns
        -------
        FlowNetworkBatch

        Raises
        ------
        InvalidInputError
            Wrong shapes or dtypes, negative or NaN capacities, vertices out of range. The message names the
            item.

        Examples
        --------
        >>> import preflow
        >>> preflow.FlowNetworkBatch.from_arrays([0, 1], [1, 2], [[3, 4], [5, 2], [1, 1]])
        FlowNetworkBatch(3 networks, 9 vertices, 6 arcs, int64)
        """
        tails, heads = as_array(tail, "tail"), as_array(head, "head")
        capacities = as_array(capacity, "capacity")
        reverse = None if reverse_capacity is None else as_array(reverse_capacity, "reverse_capacity")
        if num_arcs is None:
            parts = [part for part in (tails, heads, capacities, reverse) if part is not None]
            try:
                shape = np.broadcast_shapes(*(part.shape for part in parts))
            except ValueError:
                shapes = ", ".join(str(part.shape) for part in parts)
                raise InvalidInputError(f"the arrays of a batch have shapes that differ: {shapes}") from None
            if len(shape) != 2:
                raise InvalidInputError(
                    "without num_arcs, a batch needs an array with two dimensions, one row for each network"
                )
            first = np.arange(shape[0] + 1) * shape[1]
            tails, heads, capacities = (
                np.broadcast_to(part, shape).ravel() for part in (tails, heads, capacities)
            )
            reverse = None if reverse is None else np.broadcast_to(reverse, shape).ravel()
        else:
            first = np.append(0, np.cumsum(counts_of(num_arcs, "num_arcs")))
            if first[-1] != len(np.atleast_1d(tails)):
                raise InvalidInputError(f"num_arcs add up to {first[-1]}, tail has shape {tails.shape}")
        if num_vertices is None:
            tails, heads = vertex_ids(tails, "tail"), vertex_ids(heads, "head")
            check_ends(tails, heads, None)
            sizes = np.maximum(largest_in_items(tails, first), largest_in_items(heads, first)) + 1
        else:
            given = as_array(num_vertices, "num_vertices")
            sizes = np.broadcast_to(given, (len(first) - 1,)) if given.ndim == 0 else given
        return cls(first, sizes, tails, heads, capacities, reverse_capacity=reverse)

    @classmethod
    def from_networks(cls, networks: Iterable[FlowNetwork]) -> FlowNetworkBatch:
        """Build a batch from networks, which it keeps with their labels.

        Raises
        ------
        InvalidInputError
            An item is not a FlowNetwork.
        CapacityOverflowError
            Some networks have float capacities, and an integer of another does not fit float64.

        Examples
        --------
        >>> import preflow
        >>> network = preflow.FlowNetwork.from_arrays([0, 1], [1, 2], [3, 4])
        >>> len(preflow.FlowNetworkBatch.from_networks([network, network]))
        2
        """
        items = tuple(listed(networks, "networks"))
        for number, network in enumerate(items):
            if not isinstance(network, FlowNetwork):
                raise InvalidInputError(f"item {number} is not a FlowNetwork but {type(network).__name__}")
        items = tuple(network.on_host() for network in items)
        two_way = any(network.reverse_capacity is not None for network in items)
        capacities = _joined([network.capacity for network in items])
        reverse = None
        if two_way:
            reverse = _joined(
                [
                    np.zeros_like(network.capacity)
                    if network.reverse_capacity is None
                    else network.reverse_capacity
                    for network in items
                ]
            )
        return cls(
            np.append(0, np.cumsum([network.num_arcs for network in items], dtype=np.int64)),
            np.array([network.num_vertices for network in items], dtype=np.int64),
            _joined([network.tail for network in items]),
            _joined([network.head for network in items]),
            capacities,
            reverse_capacity=reverse,
            saturated=np.array([network.saturated for network in items], dtype=bool),
            _networks=items,
        )


def counts_of(values: ArrayLike, name: str) -> NDArray[np.int64]:
    """Return an array of numbers that are not negative."""
    array = as_array(values, name)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise InvalidInputError(f"{name} must be integers in one dimension, got {array.dtype} {array.shape}")
    if array.size and int(array.min()) < 0:
        raise InvalidInputError(f"{name} must not be negative, got {int(array.min())}")
    return array.astype(np.int64)


def largest_in_items(values: Array, first: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the largest value of each item; -1 for items without any."""
    largest = np.full(len(first) - 1, -1, dtype=np.int64)
    filled = np.diff(first) > 0
    if filled.any():
        largest[filled] = np.maximum.reduceat(values, first[:-1][filled])
    return largest


def _read_capacities(
    values: ArrayLike, first: NDArray[np.int64], name: str
) -> tuple[Array, NDArray[np.bool_]]:
    """Check the capacities of all arcs; also return in which items an integer was larger than int64."""
    try:
        array, larger = read_capacities(values, int(first[-1]), name)
    except InvalidInputError:
        given = np.asarray(values)
        if given.shape == (first[-1],):  # find the item, for the message
            for item in range(len(first) - 1):
                with naming(item):
                    read_capacities(
                        given[first[item] : first[item + 1]], int(first[item + 1] - first[item]), name
                    )
        raise
    saturated = np.zeros(len(first) - 1, dtype=bool)
    if larger:
        top = np.append(0, np.cumsum(array == np.iinfo(np.int64).max))
        saturated = top[first[1:]] > top[first[:-1]]
    return array, saturated


def _joined(parts: list[Array]) -> Array:
    """Return arrays as one, in a dtype that has all of their numbers exactly."""
    if not parts:
        return np.zeros(0, dtype=np.int64)
    dtypes = {part.dtype for part in parts if len(part)}
    if np.dtype(np.float64) in dtypes and len(dtypes) > 1:
        for item, part in enumerate(parts):
            if part.dtype.kind == "i" and int(part.max(initial=0)) > EXACT_FLOAT:
                raise CapacityOverflowError(
                    f"item {item} has an integer past 2**53, which float64 cannot hold, and other items have "
                    "float capacities"
                )
    joined: Array = np.concatenate([part for part in parts if len(part)] or parts[:1])
    return joined
