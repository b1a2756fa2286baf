"""Places of the vertices of a graph in a picture."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array

#: Distance of neighbouring layers; vertices of one layer have distance 1.
LAYER_WIDTH = 1.7
#: Passes that sort layers by the mean place of their neighbours.
SORTINGS = 8
#: Steps of the spring layout.
SPRING_STEPS = 300


def in_layers(num_vertices: int, tail: Array, head: Array, first: Array, last: Array) -> NDArray[np.float64]:
    """Return places of vertices by their distance from `first`, shape (n, 2).

    Each vertex is in the layer of its distance along arcs, in any direction where no path of arcs leads to
    it. The vertices `last` are in a layer of their own. In each layer, vertices are sorted by the mean
    place of their neighbours, which avoids many crossings (Sugiyama, Tagawa and Toda, 1981).
    """
    layer = _distances(num_vertices, tail, head, first)
    last = np.setdiff1d(last, first)
    if len(last) and num_vertices > len(last):
        layer[last] = np.delete(layer, last).max() + 1
    _, layer = np.unique(layer, return_inverse=True)
    place = np.zeros(num_vertices)
    members = [np.flatnonzero(layer == number) for number in range(int(layer.max(initial=-1)) + 1)]
    for inside in members:
        place[inside] = _centred(len(inside))
    neighbours = _neighbours(num_vertices, tail, head)
    for sorting in range(SORTINGS):
        forward = sorting % 2 == 0
        for number in range(len(members)) if forward else reversed(range(len(members))):
            inside = members[number]
            wish = place.copy()
            for v in inside.tolist():
                before = neighbours[v][(layer[neighbours[v]] < number) == forward]
                before = before[layer[before] != number]
                if len(before):
                    wish[v] = place[before].mean()
            members[number] = inside[np.argsort(wish[inside], kind="stable")]
            place[members[number]] = _centred(len(inside))
    # Few layers of many vertices are further apart, so that arcs are not all steep.
    apart = max(LAYER_WIDTH, 1.4 * np.ptp(place) / max(len(members) - 1, 1)) if num_vertices else 1.0
    return np.stack([apart * layer, -place], axis=1).astype(np.float64)


def by_springs(num_vertices: int, tail: Array, head: Array) -> NDArray[np.float64]:
    """Return places where neighbours attract and all vertices repel each other, shape (n, 2).

    Fruchterman and Reingold (1991), from places on a circle. A step takes O(n**2).
    """
    angle = 2 * np.pi * np.arange(num_vertices) / max(num_vertices, 1)
    place = np.column_stack([np.cos(angle), np.sin(angle)]) * max(num_vertices, 1) ** 0.5
    adjacent = np.zeros((num_vertices, num_vertices))
    adjacent[tail, head] = adjacent[head, tail] = 1
    np.fill_diagonal(adjacent, 0)
    for step in range(SPRING_STEPS):
        apart = place[:, np.newaxis] - place
        distance = np.maximum(np.hypot(apart[..., 0], apart[..., 1]), 0.01)
        # The last term pulls all vertices to the centre, so that separate parts stay together.
        push = ((1 / distance - adjacent * distance) / distance)[..., np.newaxis] * apart
        move = push.sum(axis=1) - 0.7 * place
        length = np.maximum(np.hypot(*move.T), 1e-9)
        place += move / length[:, np.newaxis] * np.minimum(length, 1 - step / SPRING_STEPS)[:, np.newaxis]
    spread: NDArray[np.float64] = 1.3 * place.astype(np.float64)
    return spread


def _distances(num_vertices: int, tail: Array, head: Array, first: Array) -> NDArray[np.int64]:
    layer = np.full(num_vertices, -1, dtype=np.int64)
    layer[first] = 0
    while (layer < 0).any():
        reached = layer[tail] >= 0
        onward = reached & (layer[head] < 0)
        if onward.any():
            layer[head[onward]] = layer[tail[onward]].max() + 1
            continue
        back = ~reached & (layer[head] >= 0)
        if back.any():
            ends = tail[back]
            layer[ends] = layer[head[back]]
        else:
            layer[np.flatnonzero(layer < 0)[0]] = 0
    return layer


def _neighbours(num_vertices: int, tail: Array, head: Array) -> list[NDArray[np.int64]]:
    found: list[list[int]] = [[] for _ in range(num_vertices)]
    for u, v in zip(tail.tolist(), head.tolist(), strict=True):
        found[u].append(v)
        found[v].append(u)
    return [np.array(each, dtype=np.int64) for each in found]


def _centred(count: int) -> NDArray[np.float64]:
    places: NDArray[np.float64] = np.arange(count, dtype=np.float64) - (count - 1) / 2
    return places
