"""Grids as arrays of capacities, which are the input of every contestant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from preflow.arrays import Array
from preflow.graph.grid import GridNetwork


@dataclass(frozen=True)
class GridInstance:
    """A grid by its capacities.

    Attributes
    ----------
    source, sink : ndarray of integers, shape of the grid
    neighbor : ndarray of integers, shape (rows,) or (rows, *shape)
        A row for each pair of opposite directions, or for each direction. A row is one number if the capacity
        is the same everywhere.
    half : tuple of tuples of int
        The forward offsets.
    """

    source: Array
    sink: Array
    neighbor: Array
    half: tuple[tuple[int, ...], ...]

    @classmethod
    def from_network(cls, network: GridNetwork) -> GridInstance:
        """Return the arrays of a grid."""
        neighbor = network.neighbor_capacity
        if not any(neighbor.strides[1:]):
            neighbor = neighbor[(slice(None), *(0,) * len(network.shape))]
        half = tuple(tuple(offset) for offset in network.offsets[0::2].tolist())
        return cls(network.source_capacity, network.sink_capacity, neighbor, half)

    @property
    def sizes(self) -> Mapping[str, int]:
        """The numbers of pixels and of arcs between pixels."""
        arcs = sum(2 * pair.forward.size for pair in self.network().pairs())
        return {"pixels": self.source.size, "arcs": arcs}

    @property
    def symmetric(self) -> bool:
        """Whether opposite arcs have the same capacity."""
        return len(self.neighbor) == len(self.half)

    def network(self) -> GridNetwork:
        """Return the grid as a container of preflow."""
        return GridNetwork.from_arrays(self.source, self.sink, self.neighbor, connectivity=self.half)

    def miniature(self) -> GridInstance:
        """Return a corner of the grid, with capacities that need the same dtype."""
        corner = (slice(0, 3),) * self.source.ndim
        source, sink, neighbor = self.source[corner].copy(), self.sink[corner].copy(), self.neighbor
        # The largest capacities determine the dtypes, and the dtypes determine the kernels.
        source.flat[0], sink.flat[-1] = self.source.max(), self.sink.max()
        if self.neighbor.ndim > 1:
            neighbor = np.stack([row[corner] for row in neighbor])
            neighbor.reshape(len(neighbor), -1)[:, 0] = self.neighbor.max()
        return GridInstance(source, sink, neighbor, self.half)
