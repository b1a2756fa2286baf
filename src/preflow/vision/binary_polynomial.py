"""Polynomials of binary variables, of degree three at most, as networks whose cuts are their values.

Kolmogorov and Zabih, "What energy functions can be minimized via graph cuts?", PAMI 26(2), 2004: the network
of a sum of terms is that of all their arcs. A product of three variables, or of their complements, is the
least over one more variable of products of two.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..graph.network import FlowNetwork, MaxFlowProblem, exact_sum


class Arcs(NamedTuple):
    """Arcs, one an entry."""

    tail: NDArray[np.int64]
    head: NDArray[np.int64]
    capacity: NDArray[Any]


class BinaryPolynomial:
    """Terms that are added up as capacities; a variable is 1 on the source side.

    Attributes
    ----------
    constant : int or float
        What is paid whatever the variables are, on top of a cut.
    """

    def __init__(self, num_variables: int, dtype: np.dtype[Any]) -> None:
        self.constant: int | float = 0
        self.linear = np.zeros(num_variables, dtype=dtype)
        self.arcs: list[Arcs] = []
        #: For each vertex that is no variable its arc from the source (positive) or to the sink (negative).
        self.added: list[NDArray[Any]] = []
        self.num_vertices = num_variables

    def add_linear(self, variable: NDArray[np.int64], coefficient: NDArray[Any]) -> None:
        """Add the coefficient times x."""
        np.add.at(self.linear, variable, coefficient)

    def add_product(self, first: NDArray[np.int64], second: NDArray[np.int64], gain: NDArray[Any]) -> None:
        """Subtract ``gain * x * y``, which is ``gain * (1 - x) * y - gain * y``."""
        self.add_linear(second, -gain)
        self.arcs.append(Arcs(second, first, gain))

    def add_all_ones(self, members: NDArray[np.int64], gain: NDArray[Any]) -> None:
        """Subtract ``gain * x * y * z``: a vertex is at the source side where all three are, or pays."""
        members, gain = members[gain > 0], gain[gain > 0]
        self.constant -= exact_sum(gain)
        vertex = self._add_vertices(gain)
        self.arcs += [Arcs(vertex, variable, gain) for variable in members.T]

    def add_complement(self, members: NDArray[np.int64], gain: NDArray[Any]) -> None:
        """Add ``gain * (x * y * z - x * y - y * z - z * x)``.

        The product of all complements is 1 - x - y - z + xy + yz + zx - xyz, so this is ``-gain`` times that
        product, and ``gain * (1 - x - y - z)``. The product's vertex is at the sink where all three are.
        """
        vertex = self._add_vertices(-gain)
        self.arcs += [Arcs(variable, vertex, gain) for variable in members.T]
        for variable in members.T:
            self.add_linear(variable, -gain)

    def _add_vertices(self, terminal: NDArray[Any]) -> NDArray[np.int64]:
        self.added.append(terminal)
        first = self.num_vertices
        self.num_vertices += len(terminal)
        return np.arange(first, self.num_vertices)

    def problem(self) -> MaxFlowProblem:
        """Return the network; what its cuts lack goes to the constant."""
        # A variable whose 1 is cheaper has an arc from the source, and pays it as 0.
        self.constant += exact_sum(np.minimum(self.linear, 0))
        terminal = np.concatenate([-self.linear, *self.added])
        source, sink = self.num_vertices, self.num_vertices + 1
        of_source, of_sink = np.flatnonzero(terminal > 0), np.flatnonzero(terminal < 0)
        arcs = [
            Arcs(np.full(len(of_source), source), of_source, terminal[of_source]),
            Arcs(of_sink, np.full(len(of_sink), sink), -terminal[of_sink]),
            *(Arcs(*(part[arc.capacity > 0] for part in arc)) for arc in self.arcs),
        ]
        tail, head, capacity = (np.concatenate(parts) for parts in zip(*arcs, strict=True))
        network = FlowNetwork.from_arrays(tail, head, capacity, num_vertices=sink + 1)
        return MaxFlowProblem(network, source, sink, name="binary energy")
