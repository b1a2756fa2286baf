"""Networks and problems as NumPy archives: exact, fast, without pickle.

An archive holds the arrays ``tail``, ``head``, ``capacity`` and, where there is one, ``reverse_capacity``;
``header`` is JSON text as bytes with all that is no array.
"""

from __future__ import annotations

import dataclasses
import json
import operator
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InvalidInputError, ParseError
from ..graph.network import FlowNetwork, MaxFlowProblem
from .files import replacing

FORMAT = "preflow network"
VERSION = 1


def save_npz(path: str | Path, network: FlowNetwork | MaxFlowProblem) -> None:
    """Save a network, or a problem with its terminals and name, as an uncompressed NumPy archive.

    Parameters
    ----------
    path : str or Path
        Used as it is. The file appears, or replaces an older one, only once it is complete.
    network : FlowNetwork or MaxFlowProblem

    Raises
    ------
    InvalidInputError
        The vertex labels are neither all int nor all str, or the file cannot be written.

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
    header["num_vertices"] = network.num_vertices
    if network.labels is not None:
        if {type(label) for label in network.labels} not in (set(), {int}, {str}):
            raise InvalidInputError("vertex labels are saved only where all are int or all are str")
        header["labels"] = network.labels
    network = network.on_host()
    arrays: dict[str, Any] = {"tail": network.tail, "head": network.head, "capacity": network.capacity}
    if network.reverse_capacity is not None:
        arrays["reverse_capacity"] = network.reverse_capacity
    with replacing(path) as file:
        np.savez(file, header=np.frombuffer(json.dumps(header).encode(), dtype=np.uint8), **arrays)


def load_npz(path: str | Path) -> FlowNetwork | MaxFlowProblem:
    """Load what :func:`save_npz` saved.

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
    try:
        with open(path, "rb") as file:
            if not zipfile.is_zipfile(file):
                raise ParseError(path, None, "not a NumPy archive, or a truncated one")
            file.seek(0)
            with np.load(file, allow_pickle=False) as archive:
                return _from_entries({name: archive[name] for name in archive.files})
    except ParseError:
        raise
    except InvalidInputError as error:
        raise ParseError(path, None, f"not a valid network archive: {error}") from error
    except OSError as error:
        raise ParseError(path, None, f"cannot be read: {error.strerror or error}") from error
    # zipfile, zlib, NumPy's header parser and json raise errors of a dozen kinds, without a common base.
    except Exception as error:
        message = f"damaged, or not a network archive of preflow ({type(error).__name__})"
        raise ParseError(path, None, message) from error


def _from_entries(entries: dict[str, Any]) -> FlowNetwork | MaxFlowProblem:
    header = json.loads(entries["header"].tobytes())
    if header["format"] != FORMAT or header["version"] != VERSION:
        raise InvalidInputError(f"expected {FORMAT!r} version {VERSION}, got {header['version']!r}")
    network = FlowNetwork.from_arrays(
        entries["tail"],
        entries["head"],
        entries["capacity"],
        entries.get("reverse_capacity"),
        num_vertices=header["num_vertices"],
    )
    if "labels" in header:
        labels = tuple(header["labels"])
        index = {label: i for i, label in enumerate(labels)}
        if len(index) != network.num_vertices or len(labels) != network.num_vertices:
            raise InvalidInputError(f"{len(index)} labels for {network.num_vertices} vertices")
        network = dataclasses.replace(network, labels=labels, _label_index=index)
    if "source" not in header:
        return network
    source, sink = _terminals(network, header["source"]), _terminals(network, header["sink"])
    return MaxFlowProblem(network, source, sink, str(header["name"]))


def _plain(vertices: int | tuple[int, ...]) -> int | list[int]:
    if isinstance(vertices, tuple):
        return [operator.index(vertex) for vertex in vertices]
    return operator.index(vertices)


def _terminals(network: FlowNetwork, given: Any) -> int | tuple[int, ...]:
    several = isinstance(given, list)
    vertices = tuple(operator.index(vertex) for vertex in (given if several else [given]))
    for vertex in vertices:
        if not 0 <= vertex < network.num_vertices:
            raise InvalidInputError(f"terminal {vertex} is out of range")
    return vertices if several else vertices[0]
