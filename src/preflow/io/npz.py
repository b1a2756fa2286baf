"""Networks and problems as NumPy archives: exact, fast, without pickle.

An archive has the arrays ``tail``, ``head``, ``capacity`` and possibly ``reverse_capacity``. That of a
network with costs has ``cost``, and possibly ``lower``, ``supply`` and ``undirected``. ``header`` is JSON
text as bytes with everything that is not an array.
"""

from __future__ import annotations

import dataclasses
import json
import operator
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import InvalidInputError, ParseError
from ..graph.cost_network import CostNetwork
from ..graph.network import FlowNetwork, MaxFlowProblem
from .files import opened, parsing, replacing
from .numpy_arrays import read_arrays

FORMAT = "preflow network"
VERSION = 1
#: Arrays of an archive, and those that it need not have.
ARRAYS = ("tail", "head", "capacity")
OF_FLOWS, OF_COSTS = ("reverse_capacity",), ("cost", "lower", "supply", "undirected")
OPTIONAL = (*OF_FLOWS, *OF_COSTS)


def save_npz(path: str | Path, network: FlowNetwork | MaxFlowProblem | CostNetwork) -> None:
    """Save a network, or a problem with its terminals and name, as an uncompressed NumPy archive.

    Parameters
    ----------
    path : str or Path
        Used unchanged. The file appears, or replaces an older one, only once it is complete.
    network : FlowNetwork, MaxFlowProblem or CostNetwork

    Raises
    ------
    InvalidInputError
        It is something else, the vertex labels are neither all int nor all str, or the file cannot be
        written.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "edge.npz"
    >>> network = FlowNetwork.from_arrays([0], [1], [2.5])
    >>> save_npz(path, MaxFlowProblem(network, 0, 1, name="edge"))
    >>> load_npz(path)
    MaxFlowProblem('edge': 2 vertices, 1 arcs, source 0, sink 1)
    """
    header: dict[str, Any] = {"format": FORMAT, "version": VERSION}
    if isinstance(network, MaxFlowProblem):
        header |= {"source": _plain(network.source), "sink": _plain(network.sink), "name": network.name}
        network = network.network
    if not isinstance(network, FlowNetwork | CostNetwork):
        raise InvalidInputError(
            f"a FlowNetwork, a MaxFlowProblem or a CostNetwork is saved, not a {type(network).__name__}"
        )
    header["num_vertices"] = network.num_vertices
    if network.labels is not None:
        if {type(label) for label in network.labels} not in (set(), {int}, {str}):
            raise InvalidInputError("vertex labels are saved only where all are int or all are str")
        header["labels"] = network.labels
    if isinstance(network, FlowNetwork):
        network = network.on_host()
        header |= {"saturated": True} if network.saturated else {}
    names = (*ARRAYS, *OPTIONAL)
    arrays = {name: array for name in names if (array := getattr(network, name, None)) is not None}
    with replacing(path) as file:
        np.savez(file, header=np.frombuffer(json.dumps(header).encode(), dtype=np.uint8), **arrays)


def load_npz(path: str | Path) -> FlowNetwork | MaxFlowProblem | CostNetwork:
    """Load a file of :func:`save_npz`.

    Raises
    ------
    ParseError
        The file cannot be read, or is not such an archive.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "edge.npz"
    >>> save_npz(path, FlowNetwork.from_arrays([0], [1], [2.5]))
    >>> load_npz(path)
    FlowNetwork(2 vertices, 1 arcs, float64)
    """
    with parsing(path, "network archive of preflow", KeyError), opened(path) as file:
        return _network(path, read_arrays(path, file, ("header", *ARRAYS, *OPTIONAL)))


def _network(path: str | Path, arrays: dict[str, Array]) -> FlowNetwork | MaxFlowProblem | CostNetwork:
    for name in ("header", *ARRAYS):
        if name not in arrays:
            raise ParseError(path, None, f"no network archive of preflow: it has no array {name}")
    header = json.loads(arrays["header"].tobytes())
    if not isinstance(header, dict) or header.get("format") != FORMAT or header.get("version") != VERSION:
        version = header.get("version") if isinstance(header, dict) else header
        raise ParseError(path, None, f"expected {FORMAT!r} version {VERSION}, got {version!r:.40}")
    kind, optional = (CostNetwork, OF_COSTS) if "cost" in arrays else (FlowNetwork, OF_FLOWS)
    given: dict[str, Any] = {name: arrays.get(name) for name in (*ARRAYS, *optional)}
    network: Any = kind.from_arrays(**given, num_vertices=header["num_vertices"])
    if header.get("saturated") and kind is FlowNetwork:
        network = dataclasses.replace(network, saturated=True)
    if "labels" in header:
        labels = header["labels"]
        if not isinstance(labels, list) or {type(label) for label in labels} not in (set(), {int}, {str}):
            raise InvalidInputError("labels are a list of int or of str")
        network = dataclasses.replace(network, labels=tuple(labels))
    if "source" not in header or kind is CostNetwork:
        found: FlowNetwork | CostNetwork = network
        return found
    source, sink = (_terminals(network, role, header.get(role)) for role in ("source", "sink"))
    return MaxFlowProblem(network, source, sink, name=str(header.get("name", "")))


def _plain(vertices: Any) -> int | str | list[int | str]:
    """Return the names of vertices as JSON has them: numbers, or labels of type str."""
    if isinstance(vertices, tuple):
        return [vertex if isinstance(vertex, str) else operator.index(vertex) for vertex in vertices]
    return vertices if isinstance(vertices, str) else operator.index(vertices)


def _terminals(network: FlowNetwork, role: str, given: Any) -> Any:
    vertices = given if isinstance(given, list) else [given]
    for vertex in vertices:
        known = range(network.num_vertices) if network.labels is None else network.labels
        if type(vertex) not in (int, str) or vertex not in known:
            raise InvalidInputError(f"{role} {vertex!r:.40} is no vertex of the network")
    return tuple(vertices) if isinstance(given, list) else vertices[0]
