"""Many small graphs with weights as one container: a batch of matrices, or lists of edges."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...arrays import AnyArray, Array, DType, Restorer
from ...cuda import runtime
from ...cuda.runtime import Device, is_on_gpu
from ...errors import CapacityOverflowError, InvalidInputError
from ...graph.edge_tables import ColumnNames
from ...graph.network import EXACT_FLOAT, RENUMBER, as_array, check_vertex_ids
from ...graph.network_batch import counts_of, largest_in_items, naming
from ...graph.placement import HostArrays, as_device_array, host_array, is_tensor, restorer, restorer_of
from ...graph.undirected import MOST_VERTICES, UndirectedGraph, as_undirected_graph
from ...solving.items import Items, gathered
from ...solving.read_only import ReadOnlyArrays, read_only_view

#: The labels of the vertices of each item, if it has some.
Labels = tuple[tuple[Hashable, ...] | None, ...]


@dataclass(frozen=True, eq=False)
class GraphBatch(Items[UndirectedGraph], HostArrays, ReadOnlyArrays):
    """Many undirected graphs with weights, each with its own vertices. ``batch[i]`` is graph ``i``.

    Attributes
    ----------
    weight : array, shape (items, n, n) or (num_edges,)
        The caller's array where it is one: it is not copied. It may be on a GPU.
    ends : ndarray of uint32, shape (num_edges, 2)
        The ends of listed edges, numbered from 0 in each graph; empty for matrices.
    first_edge, first_vertex : ndarray of int64, shape (items + 1,)
        Where each graph begins among entries or edges, and among vertices.
    no_edge : int, float or None
        Entries of matrices that are no edges.
    device : Device or None
        The GPU that stores `weight`.
    """

    weight: AnyArray
    ends: Array
    first_edge: NDArray[np.int64]
    first_vertex: NDArray[np.int64]
    no_edge: int | float | None = None
    device: Device | None = None
    restore: Restorer = field(default=None, repr=False)
    _labels: Labels | None = field(default=None, repr=False)

    @property
    def is_stack(self) -> bool:
        """Whether the graphs are matrices."""
        return bool(self.weight.ndim == 3)

    @property
    def is_float(self) -> bool:
        """Whether weights are floats."""
        return bool(self.weight.dtype.kind == "f")

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The number of vertices of each graph, shape (items,)."""
        return np.diff(self.first_vertex)

    @cached_property
    def numbers(self) -> Array:
        """The weights on the host as int64 or float64, read-only."""
        host = self.weight if self.device is None else self.device.to_host(self.weight)
        kind = np.float64 if self.is_float else np.int64
        return read_only_view(np.ascontiguousarray(host, dtype=kind))

    def to_caller(self, values: AnyArray) -> AnyArray:
        """Return an array of NumPy as the kind of array that the input was."""
        if self.device is None:
            return super().to_caller(values)
        on_device = self.device.xp.asarray(values)
        return on_device if self.restore is None else self.restore(on_device)

    def to_host(self, values: AnyArray) -> Array:
        """Return an array of NumPy, or from :meth:`to_caller`, as one of NumPy."""
        if self.device is None or isinstance(values, np.ndarray):
            return super().to_host(values)
        with self.device.current():
            return self.device.to_host(self.device.from_dlpack(values))

    def vertices_of(self, item: int) -> slice:
        """Return which entries of arrays with one entry for each vertex of the batch are a graph's."""
        return slice(int(self.first_vertex[item]), int(self.first_vertex[item + 1]))

    def __len__(self) -> int:
        return len(self.first_edge) - 1

    def _item(self, number: int) -> UndirectedGraph:
        n, restore = int(self.sizes[number]), self.restore if self.device is None else None
        if self.is_stack:
            tail, head = np.triu_indices(n, 1)
            weight = self.numbers[number][tail, head]
            kept = np.isfinite(weight)
            if self.no_edge is not None:
                kept &= weight != self.no_edge
            return UndirectedGraph(n, tail[kept], head[kept], weight[kept], restore=restore)
        part = slice(int(self.first_edge[number]), int(self.first_edge[number + 1]))
        labels = None if self._labels is None else self._labels[number]
        tail, head = self.ends[part].T
        return UndirectedGraph(n, tail, head, self.numbers[part], labels=labels, restore=restore)

    def _some(self, items: NDArray[np.int64]) -> GraphBatch:
        edges, first_edge = gathered(self.first_edge, items)
        entries = items if self.is_stack else edges
        if self.device is not None:
            with self.device.current():
                weight = self.weight[self.device.xp.asarray(entries)]
        else:
            weight = read_only_view(self.weight[entries])
        return replace(
            self,
            weight=weight,
            ends=self.ends if self.is_stack else self.ends[edges],
            first_edge=first_edge,
            first_vertex=gathered(self.first_vertex, items)[1],
            _labels=None if self._labels is None else tuple(self._labels[item] for item in items.tolist()),
        )

    def __repr__(self) -> str:
        return (
            f"GraphBatch({len(self):,} graphs, {int(self.first_vertex[-1]):,} vertices, {self.weight.dtype})"
        )


def read_graphs(
    graphs: object, no_edge: int | float | None = None, num_vertices: ArrayLike | None = None
) -> GraphBatch:
    """Return the graphs of a call of :func:`preflow.matching_batch`.

    InvalidInputError: they are malformed. Matrices and ends of edges are checked by a solver's survey.
    """
    is_stack = isinstance(graphs, np.ndarray) or is_tensor(graphs)
    for name, value, wanted, form in (
        ("no_edge", no_edge, is_stack, "a batch of matrices"),
        ("num_vertices", num_vertices, isinstance(graphs, tuple), "a tuple (pairs, weights, offsets)"),
    ):
        if value is not None and not wanted:
            raise InvalidInputError(f"{name} is for {form}, got {type(graphs).__name__}: leave it out")
    if is_stack:
        return _read_stack(graphs, no_edge)
    if isinstance(graphs, tuple):
        given = _Given()
        return given.placed(_read_edges(tuple(map(given.on_host, graphs)), num_vertices))
    if isinstance(graphs, UndirectedGraph) or not isinstance(graphs, Iterable):
        raise InvalidInputError(
            "graphs must be an array of shape (items, n, n), a tuple (pairs, weights, offsets) or a list of "
            f"graphs, got {type(graphs).__name__}"
        )
    given = _Given()
    listed = (tuple(map(given.on_host, each)) if isinstance(each, tuple) else each for each in graphs)
    return given.placed(_read_list(listed))


@dataclass
class _Given:
    """Arrays of edges, which may be on a GPU: they are packed on the host, and the batch is on the GPU."""

    device: Device | None = None
    first: AnyArray = None  #: of those on the GPU

    def on_host(self, values: AnyArray) -> AnyArray:
        """Return an array in host memory, and others as they are."""
        if not is_on_gpu(values):
            return values
        if self.device is None:
            self.device, self.first = runtime.find_device(), values
        with self.device.current():
            return self.device.to_host(as_device_array(self.device, values, "an array", "batch"))

    def placed(self, batch: GraphBatch) -> GraphBatch:
        """Return a batch on the GPU if an array of it was there."""
        if self.device is None:
            return batch
        with self.device.current():
            weight = self.device.xp.asarray(batch.weight)
        return replace(batch, weight=weight, device=self.device, restore=restorer(self.device, self.first))


def _read_stack(graphs: AnyArray, no_edge: int | float | None) -> GraphBatch:
    device = runtime.find_device() if is_on_gpu(graphs) else None
    if device is None:
        weight, restore = read_only_view(host_array(graphs, "graphs")), restorer_of(graphs)
    else:
        weight, restore = as_device_array(device, graphs, "graphs", "batch"), restorer(device, graphs)
    if weight.ndim != 3 or weight.shape[1] != weight.shape[2]:
        raise InvalidInputError(f"graphs must have the shape (items, n, n), got {tuple(weight.shape)}")
    _check_numbers(weight, "graphs")
    if no_edge is not None:
        no_edge = _marker(no_edge, weight.dtype)
    items, n, _ = weight.shape
    first_edge, first_vertex = np.arange(items + 1) * n * n, np.arange(items + 1) * n
    return GraphBatch(weight, _no_ends(), first_edge, first_vertex, no_edge, device, restore)


def _marker(no_edge: int | float, dtype: DType) -> int | float:
    """Return the number that entries of a type have where there is no edge, rounded as they are."""
    known = isinstance(no_edge, int | float | np.integer | np.floating)
    if not known or isinstance(no_edge, bool):
        raise InvalidInputError(f"no_edge must be a number, got {no_edge!r}")
    with suppress(OverflowError, ValueError), np.errstate(over="ignore"):
        if dtype.kind == "f":
            return float(dtype.type(no_edge))
        if int(no_edge) == no_edge and -(2**63) <= no_edge < 2**63:
            return int(no_edge)
    fitting = "a number that fits float64" if dtype.kind == "f" else "an integer that fits int64"
    raise InvalidInputError(f"no_edge must be {fitting}, as the weights do, got {no_edge!r}")


def _read_edges(graphs: tuple[AnyArray, ...], num_vertices: ArrayLike | None) -> GraphBatch:
    if len(graphs) != 3:
        raise InvalidInputError(f"a tuple of graphs is (pairs, weights, offsets), got {len(graphs)} arrays")
    pairs, offsets = as_array(graphs[0], "pairs"), as_array(graphs[2], "offsets")
    weight = read_only_view(as_array(graphs[1], "weights"))
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise InvalidInputError(f"pairs must have the shape (edges, 2), got {pairs.shape}")
    if weight.shape != pairs.shape[:1]:
        raise InvalidInputError(f"weights must have the shape {pairs.shape[:1]}, got {weight.shape}")
    _check_numbers(weight, "weights")
    first = counts_of(offsets, "offsets")
    if not len(first) or first[0] != 0 or (np.diff(first) < 0).any() or first[-1] != len(pairs):
        raise InvalidInputError(f"offsets must rise from 0 to the number of edges, {len(pairs)}")
    check_vertex_ids(pairs.reshape(-1), "pairs")
    largest = int(pairs.max(initial=0))
    if largest >= MOST_VERTICES:
        raise InvalidInputError(
            f"vertex {largest} is too large: a graph has at most 2**30 vertices; {RENUMBER}"
        )
    ends = np.array(pairs, dtype=np.uint32)
    if num_vertices is None:
        sizes = largest_in_items(ends.reshape(-1), 2 * first) + 1
    else:
        given = counts_of(np.atleast_1d(as_array(num_vertices, "num_vertices")), "num_vertices")
        if len(given) not in (1, len(first) - 1):
            raise InvalidInputError(f"num_vertices has {len(given)} entries for {len(first) - 1} graphs")
        sizes = np.broadcast_to(given, (len(first) - 1,))
    if int(sizes.max(initial=0)) > MOST_VERTICES:
        raise InvalidInputError(f"{int(sizes.max()):,} vertices are too many: at most 2**30")
    first_vertex = np.append(0, np.cumsum(sizes))
    return GraphBatch(weight, ends, first, first_vertex, restore=restorer_of(*graphs))


def _read_list(graphs: Iterable[object]) -> GraphBatch:
    read = []
    for item, each in enumerate(graphs):
        with naming(item):
            graph = as_undirected_graph(each, None, called="matching_batch", names=ColumnNames(None))
            if graph.weight is None:
                raise InvalidInputError("the graph has no weights: those of a batch have some, perhaps all 1")
            read.append(graph)
    weights = [np.asarray(each.weight) for each in read]
    dtype = np.int64 if all(weight.dtype.kind == "i" for weight in weights) else np.float64
    for item, weight in enumerate(weights):
        if dtype == np.float64 and weight.dtype.kind == "i" and (np.abs(weight) > EXACT_FLOAT).any():
            raise CapacityOverflowError(
                f"item {item}: weights past 2**53 do not fit the float64 of other graphs: solve them apart"
            )
    return GraphBatch(
        np.concatenate([np.zeros(0, dtype=dtype), *weights]),
        np.concatenate([_no_ends(), *(np.stack([each.tail, each.head], axis=1) for each in read)]),
        np.append(0, np.cumsum([each.num_edges for each in read], dtype=np.int64)),
        np.append(0, np.cumsum([each.num_vertices for each in read], dtype=np.int64)),
        restore=next((each.restore for each in read if each.restore is not None), None),
        _labels=tuple(each.labels for each in read),
    )


def _no_ends() -> Array:
    return np.zeros((0, 2), dtype=np.uint32)


def _check_numbers(weight: AnyArray, name: str) -> None:
    """Raise an error unless weights fit int64 or float64."""
    kind, size = weight.dtype.kind, weight.dtype.itemsize
    if kind not in "biuf" or size > 8:
        raise InvalidInputError(f"{name} must hold integers or floats of up to 64 bits, got {weight.dtype}")
    if kind == "u" and size == 8 and weight.size and int(weight.max()) >= 2**63:
        raise CapacityOverflowError(f"{name} has an integer that does not fit int64")
