"""Energies of vision, of volume segmentation and of mines whose networks are not grids of pixels.

As in :mod:`preflow.generators.irregular`, the vertices of the graph are ``0 .. n - 1``, the source is ``n``
and the sink ``n + 1``. Arcs from the source come first, then those to the sink, then the others. An arc that
no minimum cut may contain has one more than the capacity of all arcs from the source.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from ..checks import check_integer, check_number
from ..errors import InvalidInputError
from ..graph.block_model import BlockLayout, precedence_pattern
from ..graph.neighbourhood import pair_boxes
from ..graph.network import MaxFlowProblem
from .irregular import UNIT, waves, with_data_terms
from .parameters import check_capacity, instance_name, seeded

#: Neighbours of a pixel, or of a column: to the right and below.
NEIGHBOURS = ((0, 1), (1, 0))
#: Depth in labels at which the response of the edge filter has fallen by a factor of exp(-1/2).
EDGE_WIDTH = 1.5
#: Standard deviation of the grey values of a picture, and the largest difference of two that counts.
CONTRAST, LARGEST_DIFFERENCE = 40.0, 30
#: The height of steps of depth, as a share of the number of labels.
STEP = 0.3
#: Neighbours whose labels differ by this or more pay alike.
LARGEST_DISTANCE = 3
#: What it costs to dig a block of a mine, to haul it from a bench to the next one, and to process it as ore.
DIGGING, HAULING, PROCESSING = 1.0, 0.02, 1.0
#: The least and the most that the ore of a block is worth in the middle of a body.
POOR, RICH = 5.0, 40.0


def column_surface(
    height: int, width: int, depth: int, *, slope: int = 1, noise: float = 1.0, seed: int = 0
) -> MaxFlowProblem:
    """Return the search for the best surface through a volume, one height for every column of voxels.

    A surface is the top of a closed set of voxels (Li, Wu, Chen and Sonka, "Optimal surface segmentation in
    volumetric images", PAMI 2006, section 3). The weight of a voxel is its cost less that of the voxel below.
    Arcs that no cut may contain lead from every voxel to the one below it, and to the voxel `slope` lower in
    each of the four neighbouring columns, or to its lowest one. The volume shows a smooth surface through an
    edge filter, and noise.

    Parameters
    ----------
    height, width : int
        Number of columns in either direction.
    depth : int
        Voxels in a column, at least 2; vertices are numbered column by column, upwards.
    slope : int
        The most that the heights of neighbouring columns differ by.
    noise : float
        Standard deviation of the noise, in units of a quarter of the filter's answer on the surface.

    Returns
    -------
    MaxFlowProblem
        About 5 arcs for each voxel that no cut may contain, and one at a terminal.

    Examples
    --------
    >>> column_surface(8, 8, 6).network.num_vertices
    386
    """
    height, width = check_integer("height", height), check_integer("width", width)
    depth = check_integer("depth", depth, minimum=2)
    slope = check_integer("slope", slope, minimum=0)
    noise = check_number("noise", noise)
    rng = seeded(seed)
    shape = height, width, depth
    truth = (depth - 1) * (0.5 + 0.15 * _smooth_field((height, width), rng))
    answer = np.exp(-(((np.arange(depth) - truth[..., np.newaxis]) / EDGE_WIDTH) ** 2) / 2)
    cost = np.rint(UNIT * (noise * rng.standard_normal(shape) - 4.0 * answer)).astype(np.int64)
    weight = np.diff(cost, axis=2, prepend=0)
    # The lowest voxels of all columns are in the set together; a negative sum brings them in.
    weight[0, 0, 0] -= max(0, int(weight[..., 0].sum()) + 1)
    voxel = np.arange(weight.size).reshape(shape)
    lower = np.maximum(np.arange(depth) - slope, 0)
    tails, heads = [voxel[..., 1:]], [voxel[..., :-1]]
    for offset in NEIGHBOURS:
        for here, there in (pair_boxes((height, width), step) for step in (offset, np.negative(offset))):
            tails.append(voxel[here])
            heads.append(voxel[there][..., lower])
    tail, head = _joined(tails), _joined(heads)
    capacity = np.full(len(tail), _unbounded(-weight))
    name = instance_name(
        "column-surface", f"{height}x{width}x{depth}", seed, slope=(slope, 1), noise=(noise, 1.0)
    )
    return with_data_terms(-weight.ravel(), tail, head, capacity, None, name)


def ishikawa(
    height: int,
    width: int,
    labels: int,
    *,
    reach: int = 1,
    smoothness: int = 10,
    noise: float = 3.0,
    seed: int = 0,
) -> MaxFlowProblem:
    """Return the depth of every pixel of two views, as one minimum cut through columns of labels.

    Ishikawa, "Exact optimization for Markov random fields with convex priors", PAMI 2003. A pixel has a
    column of ``labels - 1`` vertices. Where the cut passes it is the pixel's label, and no cut passes twice,
    because the arcs downwards are in no cut. The arcs of a column have the data terms as capacities: absolute
    differences of the views, up to a limit. Neighbouring pixels pay a convex function of the difference of
    their labels.

    Parameters
    ----------
    height, width : int
        Shape of the views.
    labels : int
        Number of depths, at least 2.
    reach : int
        1: the function is linear, and each vertex has an arc to the vertex of the same label of each
        neighbour. Otherwise it is quadratic up to differences of `reach`, then linear, and a vertex has
        ``2 * reach - 1`` arcs to each neighbour. All have the same capacity both ways.
    smoothness : int
        The slope of the linear part, but for rounding.
    noise : float
        Standard deviation of the noise in the views, whose grey values have one of 40.

    Returns
    -------
    MaxFlowProblem

    Examples
    --------
    >>> ishikawa(8, 8, 5)
    MaxFlowProblem('ishikawa 8x8x5 seed 0': 258 vertices, 768 arcs, source 256, sink 257)
    """
    height, width = check_integer("height", height), check_integer("width", width)
    labels = check_integer("labels", labels, minimum=2)
    reach = check_integer("reach", reach)
    check_capacity("smoothness", smoothness, 4 * labels)
    views = _two_views(height, width, labels, noise, seeded(seed))
    # A data term of 0 would be no arc: all are larger by 1.
    cost = np.moveaxis(views.cost, 0, 2) + 1
    column = np.arange(height * width * (labels - 1)).reshape(height, width, labels - 1)
    data = np.zeros(column.shape, dtype=np.int64)
    data[..., 0] += cost[..., 0]
    data[..., -1] -= cost[..., -1]
    tails, heads = [], []
    second_difference = max(1, round(smoothness / (2 * reach - 1)))
    for here, there in (pair_boxes((height, width), offset) for offset in NEIGHBOURS):
        for rise in range(1 - reach, reach):
            above, below = pair_boxes((labels - 1,), (rise,))
            tails.append(column[(*here, *above)])
            heads.append(column[(*there, *below)])
            # Labels below a column are on the source's side, those above it on the sink's.
            outside = np.arange(labels - 1) + rise >= labels - 1
            data[here] += second_difference * (outside[::-1].astype(np.int64) - outside)
            data[there] += second_difference * (outside[::-1].astype(np.int64) - outside)
    smooth = sum(each.size for each in tails)
    tails.append(column[..., :-1])
    heads.append(column[..., 1:])
    amounts = [np.full(smooth, second_difference), cost[..., 1:-1].ravel()]
    back = [amounts[0], np.full(tails[-1].size, _unbounded(data))]
    unusual = {"reach": (reach, 1), "smoothness": (smoothness, 10), "noise": (noise, 3.0)}
    name = instance_name("ishikawa", f"{height}x{width}x{labels}", seed, **unusual)
    return with_data_terms(
        data.ravel(), _joined(tails), _joined(heads), _joined(amounts), _joined(back), name
    )


def deconvolution(
    height: int, width: int, kernel: int, *, noise: float = 0.05, seed: int = 0
) -> MaxFlowProblem:
    """Return the restoration of a blurred image of two values, by roof duality.

    The energy of an image is the sum of the squares of what its blurred form differs by from a noisy one
    (Rother, Kolmogorov, Lempitsky and Szummer, "Optimizing binary MRFs via extended roof duality", CVPR
    2007, section 5). No pair of pixels under one kernel is submodular. So each pixel has a second vertex for
    its complement, and each pair has two arcs, from either pixel to the complement of the other. A pixel
    whose two vertices are on different sides of the minimum cut is restored.

    Parameters
    ----------
    height, width : int
        Shape of the image.
    kernel : int
        Side of the square that blurs, odd and at least 3.
    noise : float
        Standard deviation of the noise; the two values are 0 and 1.

    Returns
    -------
    MaxFlowProblem
        ``2 * height * width + 2`` vertices. In a large image a vertex has ``(2 * kernel - 1)**2 - 1`` arcs.

    Examples
    --------
    >>> deconvolution(10, 12, 5).network.num_vertices
    242
    """
    from scipy.ndimage import convolve

    height, width = check_integer("height", height), check_integer("width", width)
    kernel = check_integer("kernel", kernel, minimum=3)
    if kernel % 2 == 0:
        raise InvalidInputError(f"kernel must be odd, got {kernel}")
    noise = check_number("noise", noise)
    rng = seeded(seed)
    shape, area, reach = (height, width), kernel**2, kernel // 2
    window = np.ones((kernel, kernel))
    truth = _smooth_field(shape, rng) > 0
    # Energies are multiplied by the square of the kernel's area: weights are 1.
    blurred = convolve(truth.astype(np.float64), window, mode="constant")
    seen = blurred + noise * area * rng.standard_normal(shape)
    linear = convolve(1.0 - 2.0 * seen, window, mode="constant")
    pixel = np.arange(height * width).reshape(shape)
    place = np.arange(height), np.arange(width)
    tails, heads, amounts = [], [], []
    side = range(1 - kernel, kernel)
    for offset in ((down, right) for down in side for right in side if (down, right) > (0, 0)):
        here, there = pair_boxes(shape, offset)
        # How many places of the kernel see both pixels: the product of those along each axis.
        rows, columns = (
            np.minimum(np.minimum(at[low], at[high]) + reach, length - 1)
            - np.maximum(np.maximum(at[low], at[high]) - reach, 0)
            + 1
            for at, low, high, length in zip(place, here, there, shape, strict=True)
        )
        both = 2 * UNIT * np.multiply.outer(rows, columns).ravel()
        first, second = pixel[here].ravel(), pixel[there].ravel()
        tails += [first, second]
        heads += [second + pixel.size, first + pixel.size]
        amounts += [both, both]
    data = -UNIT * linear.ravel()
    name = instance_name("deconvolution", f"{height}x{width}x{kernel}", seed, noise=(noise, 0.05))
    return with_data_terms(
        np.concatenate([data, -data]), _joined(tails), _joined(heads), _joined(amounts), None, name
    )


def expansion_move(
    height: int,
    width: int,
    labels: int,
    *,
    strength: int = 10,
    noise: float = 3.0,
    seed: int = 0,
) -> MaxFlowProblem:
    """Return one expansion move of a labelling of two views by their depth.

    Boykov, Veksler and Zabih, "Fast approximate energy minimization via graph cuts", PAMI 2001, with the
    network of Kolmogorov and Zabih, "What energy functions can be minimized via graph cuts?", PAMI 2004.
    Pixels may take the most frequent label. Data terms are absolute differences of the views, up to a limit.
    Neighbours pay a truncated linear distance of their labels, and twice that where the view has no contrast.
    Many pixels have that label or terms that cancel, so that they have no arc at a terminal.

    Parameters
    ----------
    height, width : int
        Shape of the views.
    labels : int
        Number of depths, at least 2.
    strength : int
        Cost of neighbours whose labels differ by 1.
    noise : float
        Standard deviation of the noise in the views, whose grey values have one of 40.

    Returns
    -------
    MaxFlowProblem
        A vertex for each pixel, and at most 2 arcs for each, most of them with another reverse capacity.

    Examples
    --------
    >>> expansion_move(20, 30, 8).network.num_vertices
    602
    """
    from scipy.ndimage import median_filter

    height, width = check_integer("height", height), check_integer("width", width)
    labels = check_integer("labels", labels, minimum=2)
    check_capacity("strength", strength, 8 * LARGEST_DISTANCE)
    views = _two_views(height, width, labels, noise, seeded(seed))
    now = median_filter(views.cost.argmin(axis=0), 5)
    unusual = {"strength": (strength, 10), "noise": (noise, 3.0)}
    name = instance_name("expansion-move", f"{height}x{width}x{labels}", seed, **unusual)
    return move_of_views(views, now, int(np.bincount(now.ravel()).argmax()), strength, name)


def block_values(
    nx: int, ny: int, nz: int, *, bodies: int = 8, noise: float = 0.5, seed: int = 0
) -> NDArray[np.int64]:
    """Return what each block of a mine brings: ore bodies in waste, for an ultimate pit.

    The ore of a block falls from the middle of the nearest body as a normal distribution does: bodies are
    ellipsoids of random places, sides, directions and grades. A block whose ore is worth less than its
    processing is waste: it costs what it takes to dig and to haul it, which is more on lower benches.

    Parameters
    ----------
    nx, ny, nz : int
        Number of blocks to the east, to the north and upwards.
    bodies : int
        Number of ore bodies.
    noise : float
        Standard deviation of the logarithm of a block's ore.

    Returns
    -------
    ndarray of int64, shape (nx, ny, nz)
        In hundredths of what it costs to dig a block of the top bench.

    Examples
    --------
    >>> from preflow.reductions import ultimate_pit
    >>> ultimate_pit(block_values(20, 20, 8, seed=1)).value > 0
    True
    """
    nx, ny, nz = check_integer("nx", nx), check_integer("ny", ny), check_integer("nz", nz)
    bodies = check_integer("bodies", bodies)
    noise = check_number("noise", noise)
    rng = seeded(seed)
    shape = np.array([nx, ny, nz])
    place = np.moveaxis(np.indices((nx, ny, nz)), 0, -1)
    ore = np.zeros((nx, ny, nz))
    for _ in range(bodies):
        centre = rng.uniform(0.1, 0.9, 3) * (shape - 1)
        sides = rng.uniform(0.05, 0.25, 3) * max(nz, 2) * (1.5, 1.5, 0.75)
        direction, _ = np.linalg.qr(rng.standard_normal((3, 3)))
        away = (((place - centre) @ direction / sides) ** 2).sum(axis=-1)
        ore = np.maximum(ore, rng.uniform(POOR, RICH) * np.exp(-away / 2))
    ore *= np.exp(noise * rng.standard_normal(ore.shape))
    cost = DIGGING + HAULING * np.arange(nz)[::-1]
    values: NDArray[np.int64] = np.rint(UNIT * (np.maximum(ore - PROCESSING, 0.0) - cost)).astype(np.int64)
    return values


def open_pit(
    nx: int,
    ny: int,
    nz: int,
    *,
    benches: int = 5,
    slope: float = 45.0,
    bodies: int = 8,
    noise: float = 0.5,
    seed: int = 0,
) -> MaxFlowProblem:
    """Return the ultimate pit of an open mine as a minimum cut: a closure of blocks.

    Picard, "Maximal closure of a graph and applications to combinatorial problems", Management Science 1976;
    Espinoza, Goycoolea, Moreno and Newman, "MineLib: a library of open pit mining problems", Annals of
    Operations Research 2013. Arcs that no cut may contain lead from a block to those that must be taken
    before it: the least pattern of which chains lead to all blocks within the slope, as far as `benches`
    above. With ``nz - 1`` of them it is the pattern of :func:`preflow.reductions.ultimate_pit`, which solves
    the same without storing arcs.

    Parameters
    ----------
    nx, ny, nz : int
        Number of blocks to the east, to the north and upwards. The blocks have the values and the order of
        ``block_values(...).ravel()``, see :func:`block_values`.
    benches : int
        How many benches the pattern spans at most. At 45 degrees 1 gives 5 arcs a block, 3 gives 9, 5 gives
        17.
    slope : float
        The steepest wall, in degrees from the horizontal.
    bodies, noise
        As in :func:`block_values`.

    Returns
    -------
    MaxFlowProblem
        A block is on the source side of the minimum cut if it is in the pit.

    Examples
    --------
    >>> open_pit(10, 10, 5)
    MaxFlowProblem('open-pit 10x10x5 seed 0': 502 vertices, 2,851 arcs, source 500, sink 501)
    """
    benches = check_integer("benches", benches)
    values = block_values(nx, ny, nz, bodies=bodies, noise=noise, seed=seed)
    pattern = precedence_pattern(slope, (1.0, 1.0, 1.0), (nx, ny, min(nz, benches + 1)))
    layout = BlockLayout((nx, ny, nz), pattern)
    number = layout.spread(np.arange(values.size).reshape(values.shape), outside=-1)
    inside = [np.stack([tail, head])[:, (tail >= 0) & (head >= 0)] for tail, head in layout.pairs(number)]
    tail, head = np.concatenate([np.zeros((2, 0), np.int64), *inside], axis=1)
    unusual = {"benches": (benches, 5), "slope": (slope, 45.0), "bodies": (bodies, 8), "noise": (noise, 0.5)}
    name = instance_name("open-pit", f"{nx}x{ny}x{nz}", seed, **unusual)
    return with_data_terms(values.ravel(), tail, head, np.full(len(tail), _unbounded(values)), None, name)


class Views(NamedTuple):
    """The grey values of one of two views, and the cost of each depth at its pixels, shape (labels, h, w)."""

    left: NDArray[np.float64]
    cost: NDArray[np.int64]

    def weights(self, strength: int) -> list[NDArray[np.int64]]:
        """Return for each direction what neighbours pay for each label of difference."""
        found = []
        for here, there in (pair_boxes(self.left.shape, offset) for offset in NEIGHBOURS):
            flat = np.abs(self.left[here] - self.left[there]) < CONTRAST / 4
            found.append(np.where(flat, 2 * strength, strength))
        return found


def move_of_views(views: Views, now: NDArray[np.int64], new: int, strength: int, name: str) -> MaxFlowProblem:
    """Return the move in which pixels with the labels `now` may take the label `new`."""
    # The cost of taking the new label less that of the present one: it favours the source.
    data = views.cost[new] - np.take_along_axis(views.cost, now[np.newaxis], axis=0)[0]
    pixel = np.arange(now.size).reshape(now.shape)
    parts: list[list[NDArray[np.int64]]] = [[], [], [], []]
    for offset, weight in zip(NEIGHBOURS, views.weights(strength), strict=True):
        here, there = pair_boxes(now.shape, offset)
        # Of x for the pixel and y for its neighbour, 1 if they switch, the cost is both_stay * (1 - x)
        # + forward * (1 - x) * y + back * x * (1 - y), where (1 - x) * y = x * (1 - y) + y - x.
        both_stay, back, forward = (
            weight * np.minimum(np.abs(first - second), LARGEST_DISTANCE)
            for first, second in ((now[here], now[there]), (new, now[there]), (now[here], new))
        )
        forward -= both_stay
        below = np.minimum(forward, 0)
        data[here] -= both_stay + below
        data[there] += below
        found = pixel[here], pixel[there], forward - below, back + below
        for part, values in zip(parts, found, strict=True):
            part.append(values)
    tail, head, capacity, reverse = (_joined(part) for part in parts)
    turned = capacity == 0
    tail, head = np.where(turned, head, tail), np.where(turned, tail, head)
    capacity, reverse = np.where(turned, reverse, capacity), np.where(turned, 0, reverse)
    joined = capacity > 0
    return with_data_terms(data.ravel(), tail[joined], head[joined], capacity[joined], reverse[joined], name)


def _two_views(height: int, width: int, labels: int, noise: float, rng: Generator) -> Views:
    """Return two views of a scene with smooth surfaces and steps between them; depths are whole pixels.

    As in photographs, some places have much texture and others have little.
    """
    from scipy.ndimage import gaussian_filter

    noise = check_number("noise", noise)
    shape = height, width + labels - 1
    right = gaussian_filter(rng.standard_normal(shape), 1.0) * np.exp(_smooth_field(shape, rng))
    right *= CONTRAST / max(float(right.std()), 1e-12)
    smooth, steps = (_smooth_field((height, width), rng) for _ in range(2))
    depth = (labels - 1) * (0.4 + 0.15 * smooth + STEP * (steps > 0.5))
    depth = np.clip(np.rint(depth), 0, labels - 1).astype(np.int64)
    row, column = np.indices((height, width))
    left = right[row, column + labels - 1 - depth] + noise * rng.standard_normal((height, width))
    cost = np.empty((labels, height, width), dtype=np.int64)
    for label in range(labels):
        seen = right[:, labels - 1 - label : labels - 1 - label + width]
        cost[label] = np.rint(np.minimum(np.abs(left - seen), LARGEST_DIFFERENCE))
    return Views(left, cost)


def _smooth_field(shape: tuple[int, int], rng: Generator) -> NDArray[np.float64]:
    """Return a smooth field of standard deviation 1 on a picture."""
    places = np.indices(shape).reshape(2, -1).T / max(shape)
    return waves(places, rng).reshape(shape)


def _unbounded(data: NDArray[np.int64]) -> int:
    """Return a capacity that no minimum cut contains: more than all arcs from the source together."""
    return 1 + int(np.maximum(data, 0).sum())


def _joined(parts: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.concatenate([part.ravel() for part in parts])
