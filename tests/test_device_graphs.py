"""Bipartite graphs in the memory of a GPU: built, matched, given back and verified."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import example, given, settings
from hypothesis import strategies as st

import preflow
from cuda_on_cpu.arrays import OnGpu
from preflow import BipartiteGraph
from preflow.graph.bipartite import Adjacency
from preflow.graph.device_bipartite import DeviceBipartiteGraph
from strategies import SmallGraph, small_graphs

pytestmark = pytest.mark.usefixtures("cpu_device")


class GpuMatrix:
    """A sparse matrix with arrays on a GPU, as CuPy has them."""

    def __init__(self, matrix: Any) -> None:
        self.matrix = matrix
        self.format, self.shape = matrix.format, matrix.shape
        for name in ("row", "col", "indptr", "indices", "data"):
            if hasattr(matrix, name):
                setattr(self, name, OnGpu(getattr(matrix, name)))

    def tocsr(self) -> GpuMatrix:
        return GpuMatrix(self.matrix.tocsr())


def neighbours(adjacency: Adjacency) -> list[list[int]]:
    first, neighbour = adjacency
    return [sorted(line.tolist()) for line in np.split(neighbour, first[1:-1].astype(np.int64))]


def check_same_as_host(device: BipartiteGraph, host: BipartiteGraph) -> None:
    assert isinstance(device, DeviceBipartiteGraph)
    assert device.shape == host.shape
    assert device.num_edges == host.num_edges
    for one in (device, device.on_host(), device.transposed.transposed, host.on_device()):
        assert neighbours(one.rows) == neighbours(host.rows)
        assert neighbours(one.columns) == neighbours(host.columns)
        assert one.rows.first.dtype == one.columns.neighbour.dtype == np.uint32


@given(problem=small_graphs(max_vertices=12), order=st.sampled_from(["as given", "by row", "by column"]))
@example(problem=SmallGraph(3, 2, []), order="as given")
@settings(max_examples=40)
def test_same_graph_as_on_the_host(problem: SmallGraph, order: str) -> None:
    edges = problem.edges
    if order != "as given":
        edges = sorted(edges, key=lambda edge: edge if order == "by row" else edge[::-1])
    row, column = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    shape = (problem.num_rows, problem.num_columns)
    host = BipartiteGraph.from_edges(row, column, shape)
    device = BipartiteGraph.from_edges(OnGpu(row), OnGpu(column), shape)  # type: ignore[arg-type]
    check_same_as_host(device, host)
    values = np.arange(len(row)) % 3
    for matrix_format in ("coo", "csr", "csc", "dia"):
        matrix = scipy.sparse.coo_array((values, (row, column)), shape=shape).asformat(matrix_format)
        for explicit_zeros in (True, False):
            expected = BipartiteGraph.from_scipy(matrix, explicit_zeros=explicit_zeros)
            got = BipartiteGraph.from_scipy(GpuMatrix(matrix), explicit_zeros=explicit_zeros)  # type: ignore[arg-type]
            check_same_as_host(got, expected)
            assert got.by_columns == expected.by_columns or matrix_format == "coo"
