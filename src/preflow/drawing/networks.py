"""Networks with flow, and graphs with a matching; their vertices lie in layers, or where springs put them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from .axes import (
    BLUE,
    GREEN,
    GREY,
    MOST_ARCS,
    MOST_NAMES,
    MOST_VERTICES,
    PALE_BLUE,
    PALE_GREY,
    PALE_ORANGE,
    RED,
    YELLOW,
    axes_for,
    check_size,
    number,
    short,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Width in points of an arc without flow, and of the arc with the largest flow.
THINNEST, THICKEST = 0.8, 5.0
#: Amounts and costs are written beside arcs if there are at most this many. Where there are more, only arcs
#: with flow have them, up to twice as many.
MOST_TEXTS = 40
#: Where on an arc its text is; half-way the texts of crossing arcs would lie upon each other.
TEXT_AT = 0.36
#: Half the distance of the two ends of a self loop.
LOOP = np.array([-0.12, 0.0])
#: Height of its text above the vertex.
LOOP_TEXT = 0.42
#: Distance of neighbouring layers; vertices of one layer have distance 1.
LAYER_WIDTH = 1.7
#: Passes that sort layers by the mean place of their neighbours.
SORTINGS = 8
#: Steps of the spring layout.
SPRING_STEPS = 300


class Arcs(NamedTuple):
    """The arcs of a network in a picture."""

    #: int, shape (m,)
    tail: Array
    head: Array
    flow: Array  #: shape (m,): decides the widths; negative from head to tail
    text: list[str]  #: length m
    cut: NDArray[np.bool_]  #: shape (m,): drawn dashed and red


def draw_flow(
    ax: Axes | None,
    arcs: Arcs,
    labels: Sequence[Hashable] | None,
    colours: list[str],
    first: Array,
    last: Array,
) -> Axes:
    """Draw a network with vertices in layers, from `first` on the left to `last` on the right."""
    n = len(colours)
    _check(n, len(arcs.tail))
    tail, head = arcs.tail.astype(np.int64), arcs.head.astype(np.int64)
    place = in_layers(n, tail, head, first, last)
    width = np.ptp(place[:, 0]) if n else 1.0
    height = np.ptp(place[:, 1]) if n else 1.0
    named = n <= MOST_NAMES
    size = _size_of(labels, n)
    room = max(1.0, size**0.5 / 36)  # long names need larger circles, which are further apart
    axes = axes_for(
        ax, size=(min(16.0, max(5.0, room * 1.2 * width + 1)), min(14.0, max(3.0, room * height + 1)))
    )
    used = arcs.flow != 0
    written = (
        np.ones(len(tail), np.bool_) if len(tail) <= MOST_TEXTS else used & (used.sum() <= 2 * MOST_TEXTS)
    )
    largest = float(np.abs(arcs.flow).max(initial=0)) or 1.0
    turned = arcs.flow < 0
    ends = np.where(turned, head, tail), np.where(turned, tail, head)
    for k, (u, v, bend) in enumerate(zip(*(end.tolist() for end in ends), _bends(*ends, place), strict=True)):
        share = abs(float(arcs.flow[k])) / largest
        colour = RED if arcs.cut[k] else BLUE if share else PALE_GREY
        _draw_arc(axes, place[u], place[v], bend, colour, share, bool(arcs.cut[k]), size)
        if written[k] and arcs.text[k]:
            _write(axes, place[u], place[v], bend, arcs.text[k], RED if arcs.cut[k] else "0.2")
    _draw_vertices(axes, place, colours, labels, size if n else 0, named)
    return axes


def draw_graph(
    ax: Axes | None,
    tail: Array,
    head: Array,
    chosen: NDArray[np.bool_],
    text: list[str],
    labels: Sequence[Hashable] | None,
    colours: list[str],
) -> Axes:
    """Draw an undirected graph by springs, the chosen edges thick."""
    n = len(colours)
    _check(n, len(tail))
    from matplotlib.collections import LineCollection

    side = min(10.0, max(4.5, 1.6 * n**0.5))
    axes = axes_for(ax, size=(side, side))
    tail, head = tail.astype(np.int64), head.astype(np.int64)
    place = by_springs(n, tail, head)
    lines = np.stack([place[tail], place[head]], axis=1)
    for among, colour, width in ((~chosen, PALE_GREY, 1.2), (chosen, RED, 3.5)):
        axes.add_collection(LineCollection(list(lines[among]), colors=colour, linewidths=width, zorder=1))
    if len(tail) <= MOST_TEXTS:
        for k, (u, v) in enumerate(zip(tail.tolist(), head.tolist(), strict=True)):
            if text[k]:
                _write(axes, place[u], place[v], 0.0, text[k], RED if chosen[k] else "0.2")
    named = n <= MOST_NAMES
    _draw_vertices(axes, place, colours, labels, _size_of(labels, n), named)
    return axes


def _size_of(labels: Sequence[Hashable] | None, num_vertices: int) -> float:
    """Return the area of circles, in square points, that are as wide as the longest name in them."""
    if num_vertices > MOST_NAMES:
        return 40.0
    names = range(num_vertices) if labels is None else labels
    longest = max((len(short(name)) for name in names), default=0)
    return float(max(20.5, 4.6 * longest + 5) ** 2)


def side_colours(in_sink_side: NDArray[np.bool_]) -> list[str]:
    """Return the colours of vertices on the source side, and on the sink side."""
    return [PALE_ORANGE if far else PALE_BLUE for far in in_sink_side.tolist()]


def removed_colours(in_sink_side: NDArray[np.bool_], removed: Array) -> list[str]:
    """Return the colours of the vertices on both sides, and of those that are removed."""
    colours = side_colours(in_sink_side)
    for vertex in removed.tolist():
        colours[vertex] = RED
    return colours


def component_colours(component: Array, last: int) -> list[str]:
    """Return the colours of component 0, of component `last`, and of those between them."""
    return [
        PALE_BLUE if each == 0 else PALE_ORANGE if each == last else "white" for each in component.tolist()
    ]


def label_colours(labels: Array) -> list[str]:
    """Return a colour for each label; they repeat where there are many."""
    kinds = (PALE_BLUE, PALE_ORANGE, GREEN, YELLOW, RED, "white", GREY)
    _, places = np.unique(labels, return_inverse=True)
    return [kinds[place % len(kinds)] for place in places.tolist()]


def supply_colours(supply: Array) -> list[str]:
    """Return the colours of vertices that send, that receive, and of others."""
    return [PALE_BLUE if each > 0 else PALE_ORANGE if each < 0 else "white" for each in supply.tolist()]


def matched_colours(matched: NDArray[np.bool_]) -> list[str]:
    """Return the colours of vertices with a partner, and of free ones."""
    return [PALE_BLUE if each else "white" for each in matched.tolist()]


def flow_texts(flow: Array, capacity: Array) -> list[str]:
    """Return "flow/capacity" for each arc."""
    pairs = zip(flow.tolist(), capacity.tolist(), strict=True)
    return [f"{number(abs(f))}/{number(c) if np.isfinite(float(c)) else '∞'}" for f, c in pairs]


def _check(num_vertices: int, num_arcs: int) -> None:
    check_size("the network", num_vertices, MOST_VERTICES, "vertices")
    check_size("the network", num_arcs, MOST_ARCS, "arcs")


def _bends(tail: Array, head: Array, place: NDArray[np.float64]) -> list[float]:
    """Return the curvature of each arc.

    Parallel and opposite arcs bend apart. So does an arc that would run through another vertex.
    """
    seen: dict[tuple[int, int], int] = {}
    pairs = list(zip(tail.tolist(), head.tolist(), strict=True))
    together: dict[tuple[int, int], int] = {}
    for u, v in pairs:
        key = min(u, v), max(u, v)
        together[key] = together.get(key, 0) + 1
    found = []
    for u, v in pairs:
        key = min(u, v), max(u, v)
        number_before = seen.get(key, 0)
        seen[key] = number_before + 1
        bend = 0.0
        if together[key] > 1:
            # The sign is that of the direction: opposite arcs with the same bend lie on different sides.
            step = number_before - (together[key] - 1) / 2
            bend = 0.3 * step if u < v else -0.3 * step
        if _hits_a_vertex(place, u, v, bend):
            bend = next((b for b in (0.25, -0.25, 0.4, -0.4) if not _hits_a_vertex(place, u, v, b)), 0.25)
        found.append(bend)
    return found


def _on_arc(start: Array, end: Array, bend: float, at: Array | float) -> NDArray[np.float64]:
    """Return points of an arc: a parabola, as Matplotlib's "arc3" draws it if both axes have one scale."""
    t = np.atleast_1d(np.asarray(at, np.float64))[:, np.newaxis]
    dx, dy = end - start
    control = (start + end) / 2 + bend * np.array([dy, -dx])
    points: NDArray[np.float64] = (1 - t) ** 2 * start + 2 * t * (1 - t) * control + t**2 * end
    return points


def _hits_a_vertex(place: NDArray[np.float64], u: int, v: int, bend: float) -> bool:
    points = _on_arc(place[u], place[v], bend, np.linspace(0.05, 0.95, 25))
    others = np.delete(place, [u, v], axis=0)
    return bool((np.hypot(*(points[:, np.newaxis] - others).T) < 0.22).any())


def _draw_arc(
    axes: Axes, start: Array, end: Array, bend: float, colour: str, share: float, cut: bool, size: float
) -> None:
    from matplotlib.patches import FancyArrowPatch

    radius = size**0.5 / 2 + 1
    width = THINNEST + (THICKEST - THINNEST) * share if share else THINNEST
    if (start == end).all():
        start, end, bend, radius = start + LOOP, end - LOOP, -3.0, 0.0
    axes.add_patch(
        FancyArrowPatch(
            tuple(start),
            tuple(end),
            arrowstyle="-|>",
            mutation_scale=9 + 1.6 * width,
            connectionstyle=f"arc3,rad={bend}",
            shrinkA=radius,
            shrinkB=radius,
            linewidth=width,
            linestyle=(0, (3, 1.5)) if cut else "solid",
            color=colour,
            joinstyle="miter",
            capstyle="butt",
            zorder=1 + (share > 0) * 0.5,
        )
    )


def _write(axes: Axes, start: Array, end: Array, bend: float, text: str, colour: str) -> None:
    ((x, y),) = _on_arc(start, end, bend, TEXT_AT)
    if (start == end).all():
        y += LOOP_TEXT
    axes.text(
        x,
        y,
        text,
        fontsize=8,
        color=colour,
        ha="center",
        va="center",
        zorder=4,
        parse_math=False,
        bbox={"boxstyle": "round,pad=0.12", "facecolor": "white", "edgecolor": "none", "alpha": 0.85},
    )


def _draw_vertices(
    axes: Axes,
    place: NDArray[np.float64],
    colours: list[str],
    labels: Sequence[Hashable] | None,
    size: float,
    named: bool,
) -> None:
    axes.scatter(place[:, 0], place[:, 1], s=size, c=colours, edgecolors="0.35", linewidths=1, zorder=3)
    if named:
        for v, (x, y) in enumerate(place.tolist()):
            name = short(v if labels is None else labels[v])
            small = 9 if len(name) <= 4 else 8
            axes.text(x, y, name, ha="center", va="center", fontsize=small, zorder=5, parse_math=False)
    low, high = (place.min(axis=0), place.max(axis=0)) if len(place) else (np.zeros(2), np.ones(2))
    axes.margins(0)
    axes.update_datalim([low - 0.6, high + 0.6])
    axes.autoscale_view()
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_axis_off()


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
    members = [np.flatnonzero(layer == rank) for rank in range(int(layer.max(initial=-1)) + 1)]
    for inside in members:
        place[inside] = _centred(len(inside))
    neighbours = _neighbours(num_vertices, tail, head)
    for sorting in range(SORTINGS):
        forward = sorting % 2 == 0
        for rank in range(len(members)) if forward else reversed(range(len(members))):
            inside = members[rank]
            wish = place.copy()
            for v in inside.tolist():
                before = neighbours[v][(layer[neighbours[v]] < rank) == forward]
                before = before[layer[before] != rank]
                if len(before):
                    wish[v] = place[before].mean()
            members[rank] = inside[np.argsort(wish[inside], kind="stable")]
            place[members[rank]] = _centred(len(inside))
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
