"""The caller's names for the vertices of a network."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyArray, Array, Untyped
from ..errors import InvalidInputError
from .edge_tables import did_you_mean, labels_twice, numbers_by_label


class VertexNames:
    """Base class of networks whose vertices may have labels.

    Attributes
    ----------
    num_vertices : int
        Vertices are numbered ``0 .. num_vertices - 1``.
    labels : tuple or None
        The caller's labels, if there are any.
    """

    num_vertices: int
    labels: tuple[Hashable, ...] | None
    _label_index: Mapping[Hashable, int] | None

    def vertex(self, name: Hashable) -> int:
        """Return the number of a vertex from the caller's name for it.

        InvalidInputError: there is no such vertex.
        """
        if self._label_index is not None:
            try:
                return self._label_index[name]
            except (KeyError, TypeError):
                raise unknown_vertex(self.labels, name) from None
        if isinstance(name, bool | np.bool_) or not isinstance(name, int | np.integer):
            raise InvalidInputError(f"a vertex must be an integer, got {name!r}")
        if not 0 <= name < self.num_vertices:
            raise InvalidInputError(
                f"vertex {name} is out of range: there are {self.num_vertices} vertices, numbered from 0"
            )
        return int(name)

    def is_vertex(self, name: object) -> bool:
        """Whether this may be a caller's name for a vertex: a label of the network, or an integer."""
        if self._label_index is None:
            return isinstance(name, int | np.integer)
        return _hashable(name) and name in self._label_index

    def name(self, vertex: Any) -> str:
        """Return the caller's name for a vertex given by its number, for messages."""
        return repr(self.labels[int(vertex)]) if self.labels is not None else str(int(vertex))

    def by_vertex(self, values: AnyArray, name: str, rest: float | None, *, finite: bool = False) -> AnyArray:
        """Return numbers of vertices as a list in the order of the vertices, if they are given by name.

        A mapping gives them so, and a table of vertices and numbers; a Series of pandas, too, if the vertices
        have labels. Vertices that are left out get `rest`. Other values are returned unchanged; `name` says
        for messages what they are.
        InvalidInputError: there is no such vertex, or its number is NaN, or infinite although it must be
        `finite`.
        """
        given = numbers_by_label(values, name, labelled=self.labels is not None)
        if given is None:
            return values
        found: list[Untyped] = [rest] * self.num_vertices
        for vertex, value in given.items():
            if isinstance(value, float | np.floating) and (np.isnan(value) or (finite and np.isinf(value))):
                must = ": it must be finite" if finite else ""
                raise InvalidInputError(f"the {name} of {vertex!r} is {value}{must}")
            found[self.vertex(vertex)] = value
        return found

    def vertices(self, names: Any, role: str) -> NDArray[np.int64]:
        """Return the numbers of one vertex or several, sorted and distinct.

        `names` is a vertex, or a list, set, range or array of vertices. A tuple is one label where the graph
        has labels and contains it, else a collection. `role` ("source", "sink") is for messages.
        """
        if names is None:
            raise InvalidInputError(f"{role} is missing")
        if isinstance(names, np.ndarray):
            names = names.tolist()
        is_label = self._label_index is not None and self.is_vertex(names)
        if is_label or isinstance(names, str | bytes) or not isinstance(names, Iterable):
            return np.array([self.vertex(names)], dtype=np.int64)
        numbers = {self.vertex(name) for name in names}
        if not numbers:
            raise InvalidInputError(f"{role} is empty: at least one vertex is needed")
        return np.array(sorted(numbers), dtype=np.int64)

    def terminals(self, source: Any, sink: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the numbers of the sources and of the sinks of a flow: see :meth:`vertices`.

        InvalidInputError: a vertex is both.
        """
        if type(source) is type(sink) is int and self._label_index is None and source != sink:
            ends, size = np.empty(2, np.int64), self.num_vertices
            if 0 <= source < size and 0 <= sink < size:
                ends[0], ends[1] = source, sink
                return ends[:1], ends[1:]
        sources, sinks = self.vertices(source, "source"), self.vertices(sink, "sink")
        both = set(sources.tolist()).intersection(sinks.tolist())
        if both:
            raise InvalidInputError(f"vertex {self.name(min(both))} is both source and sink")
        return sources, sinks


class ArcNames(VertexNames):
    """Base class of networks, whose arcs may be called by the vertices at their ends."""

    tail: Array
    head: Array

    def _goes_both_ways(self) -> Array | bool:
        """Return which arcs may carry flow from their heads to their tails, in terms of what was given."""
        raise NotImplementedError

    def arcs_between(self, tail: Hashable, head: Hashable) -> NDArray[np.int64]:
        """Return the numbers of the arcs from one vertex to another, in the order of the input.

        They are indices of `flow` and of other arrays with an entry for each arc. An arc that may carry flow
        either way is found from both of its ends.

        Parameters
        ----------
        tail, head : vertex
            Labels where the network has labels, else numbers.

        Raises
        ------
        InvalidInputError
            There is no such vertex, or no such arc.

        Examples
        --------
        >>> import preflow
        >>> network = preflow.FlowNetwork.from_edges([("a", "b", 3), ("b", "c", 2), ("a", "b", 1)])
        >>> network.arcs_between("a", "b").tolist()
        [0, 2]
        """
        return np.sort(self.arcs_of_pairs([(tail, head)])[1])

    def arcs_of_pairs(
        self, pairs: Sequence[tuple[Hashable, Hashable]]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
        """Return the arcs between the vertices of each pair: the numbers of pairs, in order, and of arcs.

        The third array says which arcs were given from the second vertex to the first.
        """
        given = np.array([[self.vertex(name) for name in pair] for pair in pairs], dtype=np.int64)
        first, second = given.reshape(-1, 2).T
        tail, head = self.tail, self.head
        wanted = np.zeros(self.num_vertices, dtype=bool)
        wanted[first] = True
        forward = np.flatnonzero(wanted[tail])
        backward = np.flatnonzero(self._goes_both_ways() & wanted[head] & (tail != head))
        arcs = np.concatenate([forward, backward])
        known, rank = np.unique(first, return_inverse=True)
        begins = np.searchsorted(known, np.concatenate([tail[forward], head[backward]]))
        ends = np.concatenate([head[forward], tail[backward]]).astype(np.int64)
        keys = begins * self.num_vertices + ends
        order = np.argsort(keys, kind="stable")
        sought = rank * self.num_vertices + second
        begin, end = (np.searchsorted(keys[order], sought, side) for side in ("left", "right"))
        count = end - begin
        if not count.all():
            u, v = given[int(count.argmin())]
            name, other = self.name(u), self.name(v)
            back = f"; there is one from {other} to {name}" if ((tail == v) & (head == u)).any() else ""
            raise InvalidInputError(f"there is no arc from {name} to {other}{back}")
        which = np.repeat(np.arange(len(pairs)), count)
        place = order[np.arange(len(which)) + np.repeat(begin - count.cumsum() + count, count)]
        return which, arcs[place], place >= len(forward)


def unknown_vertex(
    labels: tuple[Hashable, ...] | None, name: Hashable, where: str = "graph"
) -> InvalidInputError:
    """Return the error about a name that no vertex has; it suggests a label that is like it."""
    labels = labels or ()
    alike = next((label for label in labels if str(label) == str(name)), None)
    hint = did_you_mean(name, labels) if alike is None else f": its label is {alike!r}"
    return InvalidInputError(f"vertex {name!r} is not in the {where}{hint}")


def _hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


@contextmanager
def naming_entries(labels: Sequence[Hashable] | None, *ends: Array) -> Iterator[None]:
    """Let errors about entries of arrays name the vertices of an entry, if these have labels.

    `ends` are the tails and heads of arcs, or the vertices alone.
    """
    try:
        yield
    except InvalidInputError as error:
        if labels is not None and isinstance(error.entry, int):
            names = [repr(labels[int(vertex[error.entry])]) for vertex in ends]
            of = "from" if len(names) == 2 else "of"
            error.args = (f"{error.args[0]}, {of} {' to '.join(names)}",)
        raise


def numbers_of_labels(
    labels: tuple[Hashable, ...] | None, num_vertices: int
) -> Mapping[Hashable, int] | None:
    """Return the number of the vertex with each label; check that all labels differ."""
    if labels is None:
        return None
    numbers = dict(zip(labels, range(len(labels)), strict=True))
    if len(numbers) < len(labels) == num_vertices:
        raise InvalidInputError(labels_twice(labels, "vertices"))
    if len(labels) != num_vertices:
        raise InvalidInputError(f"{len(numbers)} different labels for {num_vertices} vertices")
    return numbers
