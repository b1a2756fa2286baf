"""Networks of irregular shape: roads, scale-free graphs, superpixels, the surface of a body, and tetrahedra.

Every edge is an arc with a reverse capacity, the same one but between tetrahedra. The vertices of the graph
are ``0 .. n - 1``. If the terminals are no vertices of it, the source is ``n`` and the sink ``n + 1``, and
arcs from the source come first, then those to the sink, then the edges.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..checks import check_integer, check_number
from ..errors import InvalidInputError
from ..graph.bipartite import BipartiteGraph
from ..graph.network import FlowNetwork, MaxFlowProblem
from .bipartite import power_law, rmat, road_like
from .parameters import check_capacity, instance_name, seeded

#: Capacity of a border or of a data term of unit size, as that of :func:`preflow.generators.grid_2d`.
UNIT = 100
#: Waves that shape the body, and the field on superpixels.
WAVES = 24


def roads(n: int, ends: int = 20, *, max_capacity: int = 100, seed: int = 0) -> MaxFlowProblem:
    """Return a network of roads, with places to leave and places to reach.

    Parameters
    ----------
    n : int
        About the number of vertices: see :func:`preflow.generators.road_like`.
    ends : int
        Number of places to leave, and of places to reach, at random.
    max_capacity : int
        Capacities of roads are uniform in 1 to this.

    Returns
    -------
    MaxFlowProblem
        About 1.2 `n` edges.

    Examples
    --------
    >>> 800 < roads(1000).network.num_vertices < 1200
    True
    """
    name = instance_name("roads", f"{n}x{ends}", seed, max_capacity=(max_capacity, 100))
    return _between_random_ends(road_like(n, seed=seed), ends, max_capacity, seed, name)


def rmat_flow(
    scale: int, edge_factor: int = 8, ends: int = 20, *, max_capacity: int = 100, seed: int = 0
) -> MaxFlowProblem:
    """Return an RMAT graph, whose degrees follow a power law, with random terminals.

    Chakrabarti, Zhan and Faloutsos, "R-MAT: a recursive model for graph mining", SDM 2004.

    Parameters
    ----------
    scale : int
        ``2**scale`` vertices.
    edge_factor : int
        About this many edges a vertex.
    ends : int
        Number of vertices at the source, and at the sink, at random among those with edges.
    max_capacity : int
        Capacities are uniform in 1 to this.

    Returns
    -------
    MaxFlowProblem

    Examples
    --------
    >>> rmat_flow(8).network.num_vertices
    258
    """
    name = instance_name("rmat-flow", f"{scale}x{edge_factor}x{ends}", seed, max_capacity=(max_capacity, 100))
    return _between_random_ends(rmat(scale, edge_factor, seed=seed), ends, max_capacity, seed, name)


def superpixels(n: int, *, noise: float = 1.0, seed: int = 0) -> MaxFlowProblem:
    """Return the segmentation of an image that was divided into superpixels.

    Superpixels are the Voronoi cells of random points. The capacity between two cells is the length of their
    border, the data term of a cell its area times a smooth field seen through noise.

    Parameters
    ----------
    n : int
        Number of superpixels, at least 4.
    noise : float
        Standard deviation of the noise, that of the field being 1.

    Returns
    -------
    MaxFlowProblem
        About 3 `n` edges, and `n` arcs at the terminals.

    Examples
    --------
    >>> superpixels(100).network.num_vertices
    102
    """
    from scipy.spatial import Delaunay

    n = check_integer("n", n, minimum=4)
    noise = check_number("noise", noise)
    rng = seeded(seed)
    points = rng.random((n, 2))
    triangulation = Delaunay(points)
    # The border of two cells joins the centres of the circles through the corners of the two triangles.
    pairs, left, right = _shared_sides(triangulation.simplices, triangulation.neighbors)
    centres = _circumcentres(points[triangulation.simplices])
    border = np.linalg.norm(centres[left] - centres[right], axis=1) * n**0.5
    capacity = np.maximum(np.rint(UNIT * np.minimum(border, 4.0)), 1).astype(np.int64)
    data = waves(points, rng) + noise * rng.standard_normal(n)
    name = instance_name("superpixels", str(n), seed, noise=(noise, 1.0))
    return with_data_terms(UNIT * data, pairs[:, 0], pairs[:, 1], capacity, capacity, name)


def surface(n: int, *, noise: float = 1.0, seed: int = 0) -> MaxFlowProblem:
    """Return the segmentation of a surface: the triangles of a closed mesh, joined at their sides.

    The mesh is that of random points on a sphere with waves. The capacity of a side falls with the angle
    between its triangles, so that cuts follow edges (Katz and Tal 2003). The data term of a triangle is the
    distance of its centre from the sphere, seen through noise.

    Parameters
    ----------
    n : int
        About the number of triangles, at least 8.
    noise : float
        Standard deviation of the noise, that of the distances being 1.

    Returns
    -------
    MaxFlowProblem
        3 sides for every 2 triangles, and an arc at a terminal for every triangle.

    Examples
    --------
    >>> surface(1000).network.num_vertices
    1002
    """
    from scipy.spatial import ConvexHull

    n = check_integer("n", n, minimum=8)
    noise = check_number("noise", noise)
    rng = seeded(seed)
    points = rng.standard_normal((n // 2 + 2, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    hull = ConvexHull(points)
    height = waves(points, rng)
    corners = (points * (1 + 0.1 * height[:, np.newaxis]))[hull.simplices]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normal *= np.sign((normal * hull.equations[:, :3]).sum(axis=1, keepdims=True))
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), np.finfo(np.float64).tiny)
    _, left, right = _shared_sides(hull.simplices, hull.neighbors)
    bend = 1.0 - (normal[left] * normal[right]).sum(axis=1)
    fall = np.exp(-bend / max(float(bend.mean()), 1e-12))
    capacity = np.maximum(np.rint(UNIT * fall), 1).astype(np.int64)
    faces = len(hull.simplices)
    data = height[hull.simplices].mean(axis=1)
    data = data / max(float(data.std()), 1e-12) + noise * rng.standard_normal(faces)
    name = instance_name("surface", str(n), seed, noise=(noise, 1.0))
    return with_data_terms(UNIT * data, left, right, capacity, capacity, name)


def tetrahedra(n: int, *, noise: float = 1.0, seed: int = 0) -> MaxFlowProblem:
    """Return the surface of a body through a cloud of points, as the tetrahedra between them that are inside.

    Labatut, Pons and Keriven, "Efficient multi-view reconstruction of large-scale scenes using interest
    points, Delaunay triangulation and graph cuts", ICCV 2007. Four of five points lie about a sphere with
    waves, the others anywhere. Each of the four was seen from outside: facets that its ray crosses on the
    way have capacity inwards, and the tetrahedron behind it has an arc to the sink. All facets have their
    area as capacity both ways. Tetrahedra without a neighbour at a facet are outside.

    Parameters
    ----------
    n : int
        Number of points, at least 8.
    noise : float
        Standard deviation of the distance of points from the surface, in mean distances of neighbours.

    Returns
    -------
    MaxFlowProblem
        About 6 tetrahedra for each point, and 2 facets for each of them. One of ten has an arc to the sink.

    Examples
    --------
    >>> tetrahedra(200).network.num_vertices > 1000
    True
    """
    from scipy.spatial import Delaunay

    n = check_integer("n", n, minimum=8)
    noise = check_number("noise", noise)
    rng = seeded(seed)
    direction = rng.standard_normal((n - n // 5, 3))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    step = 3.0 / n**0.5
    radius = 1.0 + 0.1 * waves(direction, rng) + step * noise * rng.standard_normal(len(direction))
    seen = direction * radius[:, np.newaxis]
    cloud = Delaunay(np.concatenate([seen, rng.uniform(-1.6, 1.6, (n // 5, 3))]))
    corners, left, right = _shared_sides(cloud.simplices, cloud.neighbors)
    size = len(cloud.simplices)
    edges = cloud.points[corners[:, 1:]] - cloud.points[corners[:, :1]]
    area = np.linalg.norm(np.cross(edges[:, 0], edges[:, 1]), axis=1)
    capacity = np.maximum(np.rint(UNIT * area / area.mean()), 1).astype(np.int64)
    # What each ray meets, from outside inwards; it crosses a facet where two neighbours follow each other.
    places = step * np.append(np.arange(6.0, 0.0, -0.25), -0.5)
    met = np.stack([cloud.find_simplex(seen + place * direction) for place in places])
    outer, inner = met[:-1].ravel().astype(np.int64), met[1:].ravel().astype(np.int64)
    facet, order = left * size + right, np.argsort(left * size + right)
    crossed = np.minimum(outer, inner) * size + np.maximum(outer, inner)
    place = order[np.minimum(np.searchsorted(facet[order], crossed), len(order) - 1)]
    ours = facet[place] == crossed
    votes = [np.bincount(place[ours & way], minlength=len(facet)) for way in (outer < inner, outer > inner)]
    behind = np.bincount(met[-1][met[-1] >= 0], minlength=size)
    outside = (cloud.neighbors < 0).any(axis=1)
    data = np.where(outside, 4 * UNIT * (1 + behind.sum()), -4 * UNIT * behind)
    forward, back = (capacity + 4 * UNIT * vote for vote in votes)
    name = instance_name("tetrahedra", str(n), seed, noise=(noise, 1.0))
    return with_data_terms(data, left, right, forward, back, name)


def barabasi_albert(n: int, degree: int, *, max_capacity: int = 1, seed: int = 0) -> MaxFlowProblem:
    """Return a graph that grew by preferential attachment, between two random vertices of it.

    Barabási and Albert, "Emergence of scaling in random networks", Science 1999, by the algorithm of Batagelj
    and Brandes, "Efficient generation of large random networks", Physical Review E 2005: a new vertex has
    `degree` edges to earlier ones, which it chooses by their degrees. Vertices are numbered by age.

    Parameters
    ----------
    n : int
        Number of vertices.
    degree : int
        Edges of a new vertex; some may be equal, and count once.
    max_capacity : int
        Capacities are uniform in 1 to this.

    Returns
    -------
    MaxFlowProblem
        About ``n * degree`` edges. The network alone is the graph of a cut tree or of many pairs.

    Examples
    --------
    >>> barabasi_albert(100, 3).network.num_vertices
    100
    """
    n, degree = check_integer("n", n, minimum=3), check_integer("degree", degree)
    rng = seeded(seed)
    # The ends of all edges are a list: edge i has its new vertex at 2 * i, and at 2 * i + 1 a copy of a
    # random place among those of the vertices before. Those of vertex 0 are its own, and no edges.
    tail = np.repeat(np.arange(n), degree)
    origin = rng.integers(0, np.maximum(2 * degree * tail, 1))
    while (origin % 2).any():
        origin = np.where(origin % 2, origin[origin // 2], origin)
    head = origin // 2 // degree
    pairs = np.unique(tail[degree:] * n + head[degree:])
    name = instance_name("barabasi-albert", f"{n}x{degree}", seed, max_capacity=(max_capacity, 1))
    return _between_two(n, pairs, max_capacity, rng, name)


def power_law_flow(
    n: int, degree: int, *, exponent: float = 2.5, max_capacity: int = 1, seed: int = 0
) -> MaxFlowProblem:
    """Return a random graph whose degrees follow a power law, between two random vertices of it.

    Parameters
    ----------
    n : int
        Number of vertices.
    degree : int
        Mean degree, but for equal edges, which count once.
    exponent : float
        That of the power law, see :func:`preflow.generators.power_law`.
    max_capacity : int
        Capacities are uniform in 1 to this.

    Returns
    -------
    MaxFlowProblem
        The network alone is the graph of a cut tree or of many pairs. It need not be connected.

    Examples
    --------
    >>> power_law_flow(100, 6).network.num_vertices
    100
    """
    degree = check_integer("degree", degree)
    rows = power_law(n, degree / 2, exponent=exponent, symmetric=True, seed=seed).rows
    tail = np.repeat(np.arange(n), np.diff(rows.first).astype(np.int64))
    pairs = tail * n + rows.neighbour
    unusual = {"exponent": (exponent, 2.5), "max_capacity": (max_capacity, 1)}
    name = instance_name("power-law-flow", f"{n}x{degree}", seed, **unusual)
    return _between_two(n, pairs[tail > rows.neighbour], max_capacity, seeded(seed), name)


def _between_two(
    n: int, pairs: NDArray[np.int64], max_capacity: int, rng: np.random.Generator, name: str
) -> MaxFlowProblem:
    """Return the flow between two random vertices with edges; `pairs` are its edges, u * n + v."""
    check_capacity("max_capacity", max_capacity, n)
    tail, head = np.divmod(pairs, n)
    source, sink = rng.permutation(np.unique([tail, head]))[:2].tolist()
    capacity = rng.integers(1, max_capacity, len(pairs), endpoint=True)
    network = FlowNetwork.from_arrays(tail, head, capacity, reverse_capacity=capacity, num_vertices=n)
    return MaxFlowProblem(network, source, sink, name=name)


def _between_random_ends(
    graph: BipartiteGraph, ends: int, max_capacity: int, seed: int, name: str
) -> MaxFlowProblem:
    """Return a graph, given as a symmetric matrix, with random capacities between random vertices."""
    ends = check_integer("ends", ends)
    check_capacity("max_capacity", max_capacity)
    rows = graph.rows
    n = len(rows.first) - 1
    tail = np.repeat(np.arange(n), np.diff(rows.first))
    once = tail < rows.neighbour
    tail, head = tail[once], rows.neighbour[once].astype(np.int64)
    rng = seeded(seed)
    capacity = rng.integers(1, max_capacity, len(tail), endpoint=True)
    degree: NDArray[np.int64] = np.bincount(np.concatenate([tail, head]), minlength=n)
    check_capacity("max_capacity", max_capacity, int(degree.max()))
    joined = np.flatnonzero(degree)
    if 2 * ends > len(joined):
        raise InvalidInputError(
            f"ends must be at most {len(joined) // 2}, half of the vertices with edges, got {ends}"
        )
    chosen = rng.permutation(joined)[: 2 * ends]
    room = np.zeros(n, dtype=np.int64)
    np.add.at(room, tail, capacity)
    np.add.at(room, head, capacity)
    return _problem(n, chosen[:ends], chosen[ends:], room, tail, head, capacity, capacity, name)


def with_data_terms(
    data: NDArray[np.float64] | NDArray[np.int64],
    tail: NDArray[np.int64],
    head: NDArray[np.int64],
    capacity: NDArray[np.int64],
    reverse: NDArray[np.int64] | None,
    name: str,
) -> MaxFlowProblem:
    """Return the network whose minimum cut labels vertices; positive data terms favour the source.

    Arcs have the reverse capacities `reverse`; if that is None, they have none.
    """
    amount = np.rint(data).astype(np.int64)
    of_source, of_sink = np.flatnonzero(amount > 0), np.flatnonzero(amount < 0)
    return _problem(len(amount), of_source, of_sink, np.abs(amount), tail, head, capacity, reverse, name)


def _problem(
    n: int,
    from_source: NDArray[np.int64],
    to_sink: NDArray[np.int64],
    amount: NDArray[np.int64],
    tail: NDArray[np.int64],
    head: NDArray[np.int64],
    capacity: NDArray[np.int64],
    reverse: NDArray[np.int64] | None,
    name: str,
) -> MaxFlowProblem:
    source, sink = n, n + 1
    ends = len(from_source) + len(to_sink)
    network = FlowNetwork.from_arrays(
        np.concatenate([np.full(len(from_source), source), to_sink, tail]),
        np.concatenate([from_source, np.full(len(to_sink), sink), head]),
        np.concatenate([amount[from_source], amount[to_sink], capacity]),
        reverse_capacity=None if reverse is None else np.concatenate([np.zeros(ends, np.int64), reverse]),
        num_vertices=n + 2,
    )
    return MaxFlowProblem(network, source, sink, name=name)


def _shared_sides(
    corners: NDArray[np.int32], neighbours: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the corners of every side that two triangles or tetrahedra share, and the two.

    ``neighbours[t, k]`` is the neighbour at the side opposite to corner k of t; -1 if there is none.
    """
    sides = corners.shape[1]
    left = np.repeat(np.arange(len(corners)), sides)
    right = neighbours.reshape(-1).astype(np.int64)
    once = left < right
    ends = np.stack([np.roll(corners, -k, axis=1) for k in range(1, sides)], axis=2).reshape(-1, sides - 1)
    return ends[once].astype(np.int64), left[once], right[once]


def _circumcentres(corners: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the centre of the circle through the corners of each triangle, shape (triangles, 3, 2)."""
    b, c = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    twice = 2 * (b[:, 0] * c[:, 1] - b[:, 1] * c[:, 0])
    # Flat triangles have their centres far away; no border is longer than 4 mean distances.
    twice = np.where(np.abs(twice) < 1e-12, 1e-12, twice)
    b2, c2 = (b**2).sum(axis=1), (c**2).sum(axis=1)
    centre = np.stack([c[:, 1] * b2 - b[:, 1] * c2, b[:, 0] * c2 - c[:, 0] * b2], axis=1)
    found: NDArray[np.float64] = corners[:, 0] + centre / twice[:, np.newaxis]
    return found


def waves(points: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Return a smooth field of standard deviation 1 at points: waves of random directions."""
    direction = rng.standard_normal((points.shape[1], WAVES)) * 8.0
    field: NDArray[np.float64] = np.cos(points @ direction + rng.uniform(0, 2 * np.pi, WAVES)).sum(axis=1)
    scaled: NDArray[np.float64] = (field - field.mean()) / max(float(field.std()), 1e-12)
    return scaled
