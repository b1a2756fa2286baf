"""The result of matching_batch."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array
from ...certify.fields import check_array, check_bounds_of_items, check_kind
from ...errors import VerificationError
from ...solving.items import BatchResult, gathered
from ..result import GeneralMatchingResult
from ..solution import BlossomDuals
from .graphs import GraphBatch


class DualsOfBatch(NamedTuple):
    """The duals of all graphs of a batch, one graph after the other."""

    vertex: NDArray[np.int64]  #: by vertices: twice the dual
    #: the parents of the vertices and the blossoms of each graph, as in
    #: :class:`preflow.general_matching.solution.BlossomDuals`, with room for n // 2 blossoms
    parent: NDArray[np.int64]
    blossom: NDArray[np.int64]  #: twice the dual of each blossom, with the same room
    num_blossoms: NDArray[np.int64]  #: shape (items,)

    def of(self, graphs: GraphBatch, item: int) -> BlossomDuals:
        """Return the duals of one graph."""
        vertices = graphs.vertices_of(item)
        first = int((graphs.sizes[:item] // 2).sum())
        n, count = vertices.stop - vertices.start, int(self.num_blossoms[item])
        begin = vertices.start + first
        return BlossomDuals(
            self.vertex[vertices], self.parent[begin : begin + n + count], self.blossom[first : first + count]
        )

    def of_items(self, graphs: GraphBatch, items: NDArray[np.int64]) -> DualsOfBatch:
        """Return the duals of some graphs."""
        first = np.append(0, np.cumsum(graphs.sizes // 2))
        begins = graphs.first_vertex, graphs.first_vertex + first, first
        vertex, parent, blossom = (gathered(begin, items)[0] for begin in begins)
        return DualsOfBatch(
            self.vertex[vertex], self.parent[parent], self.blossom[blossom], self.num_blossoms[items]
        )


@dataclass(frozen=True, eq=False, repr=False)
class MatchingBatchResult(BatchResult[GeneralMatchingResult]):
    """Matchings of many graphs.

    ``result[i]`` is the :class:`preflow.GeneralMatchingResult` of graph ``i``. A slice, or an array of
    numbers or bools, gives the result of some graphs.

    Attributes
    ----------
    status : {"optimal", "time-limit", "approximate"}
        "optimal" if all items are; "approximate" if all are solved, and the gap of some is too wide.
    lower_bound, upper_bound, value : ndarray of int64 or float64, shape (items,)
        Weights, of the dtype of the graphs' weights. Bounds of items that are not optimal differ; `value`
        then raises NotOptimalError.
    mate : array of int64, shape (items, n) of a batch of matrices, else (num_vertices,)
        The partner of each vertex, -1 for none, numbered from 0 in each graph; of the kind of the input:
        NumPy's, CuPy's, Torch's, JAX's. Of listed edges, the vertices of graph ``i`` are
        ``mate[graphs.vertices_of(i)]``.
    optimal : ndarray of bool, shape (items,)
        Which items are optimal.
    gap : ndarray, shape (items,)
        See :attr:`preflow.GeneralMatchingResult.gap`.
    graphs : GraphBatch
        ``graphs[i]`` is graph ``i``, an UndirectedGraph.
    maximize, perfect, maximum_cardinality : bool
        What was asked for.
    stats : GeneralMatchingStats
        Of the whole batch.
    """

    mate: Array
    graphs: GraphBatch
    maximize: bool
    perfect: bool
    maximum_cardinality: bool
    _duals: DualsOfBatch
    #: the items that were solved one by one
    _alone: Mapping[int, GeneralMatchingResult]

    def _item(self, number: int) -> GeneralMatchingResult:
        graph = self.graphs[number]
        if number in self._alone:
            return self._alone[number]
        mate = self.graphs.to_host(self.mate).reshape(-1)[self.graphs.vertices_of(number)]
        return GeneralMatchingResult(
            status="optimal",
            lower_bound=self.lower_bound[number].item(),
            upper_bound=self.upper_bound[number].item(),
            stats=self.stats,
            mate=graph.to_caller(mate),
            graph=graph,
            maximize=self.maximize,
            perfect=self.perfect,
            maximum_cardinality=self.maximum_cardinality,
            barrier=None,
            duals=self._duals.of(self.graphs, number),
            steps=(),
            _gap=self._gap[number].item(),
        )

    def _some(self, items: NDArray[np.int64]) -> MatchingBatchResult:
        graphs = self.graphs[items]
        mate = self._mate[gathered(self.graphs.first_vertex, items)[0]]
        with nullcontext() if self.graphs.device is None else self.graphs.device.current():
            kept = graphs.to_caller(mate.reshape(graphs.weight.shape[:2]) if graphs.is_stack else mate)
        names = ("lower_bound", "upper_bound", "optimal", "_gap")
        return replace(
            self,
            status="optimal" if self.optimal[items].all() else self.status,
            mate=kept,
            graphs=graphs,
            _duals=self._duals.of_items(self.graphs, items),
            _alone={k: self._alone[item] for k, item in enumerate(items.tolist()) if item in self._alone},
            **{name: getattr(self, name)[items] for name in names},
        )

    def verify(self) -> None:
        """Prove all matchings best, independently of the solver, in nearly linear time.

        The proof is that of :meth:`GeneralMatchingResult.verify`, one graph after the other.
        """
        self._check_fields()
        for item, result in enumerate(self):
            try:
                if item in self._alone:
                    self._check_alone(item)
                if (result.status == "optimal") != self.optimal[item]:
                    raise VerificationError("optimal is not what the status says")
                bounds = result.lower_bound, result.upper_bound, result.gap
                if bounds != (self.lower_bound[item], self.upper_bound[item], self._gap[item]):
                    raise VerificationError("the bounds are not those of the batch")
                if (result._mate != self._mate[self.graphs.vertices_of(item)]).any():
                    raise VerificationError("mate is not that of the batch")
                result.verify()
            except VerificationError as error:
                raise VerificationError(f"item {item}: {error}") from error

    @property
    def _mate(self) -> NDArray[np.int64]:
        """The partners of all vertices as a NumPy array with one dimension."""
        return self.graphs.to_host(self.mate).reshape(-1)

    def _check_alone(self, item: int) -> None:
        """Check that the result of an item is one of its graph, for what was asked for."""
        result, graph = self._alone[item], self.graphs[item]
        check_kind(result, "the result", GeneralMatchingResult)
        same = result.graph.num_vertices == graph.num_vertices and all(
            np.array_equal(getattr(result.graph, name), getattr(graph, name))
            for name in ("tail", "head", "weight")
        )
        asked = all(
            getattr(result, name) == getattr(self, name)
            for name in ("maximize", "perfect", "maximum_cardinality")
        )
        if not same or not asked:
            raise VerificationError("the result is that of another graph, or of other arguments")

    def _check_fields(self) -> None:
        """Check the shapes and dtypes of all fields, and the order of the bounds."""
        check_kind(self.graphs, "graphs", GraphBatch)
        items, n = len(self.graphs), int(self.graphs.first_vertex[-1])
        blossoms, number = int((self.graphs.sizes // 2).sum()), self.graphs.numbers.dtype
        shape = self.graphs.weight.shape[:2] if self.graphs.is_stack else (n,)
        check_array(np, self.graphs.to_host(self.mate), "mate", tuple(shape), np.int64)
        check_kind(self._alone, "the items that were solved alone", dict)
        check_array(np, self.optimal, "optimal", (items,), np.bool_)
        check_array(np, self._gap, "gap", (items,), *({number, np.dtype(np.float64)}))
        for name, count in zip(DualsOfBatch._fields, (n, n + blossoms, blossoms, items), strict=True):
            check_array(np, getattr(self._duals, name), name, (count,), np.int64)
        check_bounds_of_items(self.graphs, self.status, self.lower_bound, self.upper_bound, (items,), number)
        self._check_status()

    def __repr__(self) -> str:
        return self._text("graphs")
