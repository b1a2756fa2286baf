"""The generators against the files of the original DIMACS programs, and against their own promises."""

import gzip
import json
import math
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.csgraph
from hypothesis import given
from hypothesis import strategies as st

import preflow
from preflow import generators
from preflow.errors import CapacityOverflowError, InvalidInputError
from preflow.generators import FAMILIES
from preflow.generators.dimacs import HALVED_CAPACITY
from preflow.generators.parameters import distinct_rows
from preflow.graph.network import MaxFlowProblem
from preflow.reductions import ultimate_pit
from tests.support.paths import DATA

DIMACS = DATA / "dimacs"
OPTIMA = json.loads((DIMACS / "optima.json").read_text())

#: Reference file -> family, size and parameters that make its like.
REFERENCE = {
    "rmf-wide-16x8": ("rmf-wide", "16x8", {}),
    "rmf-long-8x64": ("rmf-long", "8x64", {}),
    "mesh-64x64": ("mesh", "64x64", {"max_capacity": 1000}),
    "rlg-wide-256x16": ("rlg-wide", "256x16", {}),
    "rlg-long-16x256": ("rlg-long", "16x256", {}),
    "two-level-64x32": ("rlg", "64x32", {"max_capacity": 1000}),
    "match-500x4": ("matching", "500x4", {}),
    "square-mesh-40x4": ("square-mesh", "40x4", {"max_capacity": 1000}),
    "line-moderate-256x4x16": ("line-moderate", "256x4x16", {}),
    "exp-line-256x4x10": ("exp-line", "256x4x10", {}),
    "dexp-line-256x4x10": ("dexp-line", "256x4x10", {}),
    "dinic-bad-200": ("dinic-bad", "200", {}),
    "goldberg-bad-200": ("goldberg-bad", "200", {}),
    "cheriyan-10x10x10": ("cheriyan", "10x10x10", {}),
    "ac-dense-200": ("ac-dense", "200", {}),
}
#: Families without random numbers.
FIXED = {"dinic-bad", "goldberg-bad", "cheriyan"}
#: Reference files whose arc count depends on the random numbers.
RANDOM_SIZE = {"line-moderate-256x4x16", "exp-line-256x4x10", "dexp-line-256x4x10"}


@dataclass
class Arcs:
    """Arcs of one instance, vertices numbered from 0."""

    num_vertices: int
    source: int
    sink: int
    tail: np.ndarray
    head: np.ndarray
    capacity: np.ndarray

    @property
    def inner(self):
        """Which arcs touch neither terminal."""
        terminals = (self.source, self.sink)
        return ~(np.isin(self.tail, terminals) | np.isin(self.head, terminals))

    def out_degrees(self):
        """Count the vertices of each out-degree."""
        return Counter(np.bincount(self.tail, minlength=self.num_vertices).tolist())


def read_dimacs(name) -> Arcs:
    terminals = {}
    arcs = []
    with gzip.open(DIMACS / f"{name}.max.gz", "rt") as file:
        for line in file:
            match line.split():
                case ["p", "max", vertices, num_arcs]:
                    size = int(vertices), int(num_arcs)
                case ["n", vertex, role]:
                    terminals[role] = int(vertex) - 1
                case ["a", *numbers]:
                    arcs.append([int(number) for number in numbers])
    tail, head, capacity = np.array(arcs).T
    assert len(tail) == size[1]
    return Arcs(size[0], terminals["s"], terminals["t"], tail - 1, head - 1, capacity)


def arcs_of(problem: MaxFlowProblem) -> Arcs:
    network = problem.network
    assert isinstance(problem.source, int)
    assert isinstance(problem.sink, int)
    return Arcs(
        network.num_vertices,
        problem.source,
        problem.sink,
        network.tail.astype(np.int64),
        network.head.astype(np.int64),
        network.capacity,
    )


def our_like(name) -> Arcs:
    family, size, parameters = REFERENCE[name]
    return arcs_of(FAMILIES[family].generate(size, **parameters))


def optimum(arcs: Arcs) -> int:
    n = arcs.num_vertices
    matrix = scipy.sparse.csr_matrix((arcs.capacity.astype(np.int32), (arcs.tail, arcs.head)), shape=(n, n))
    return scipy.sparse.csgraph.maximum_flow(matrix, arcs.source, arcs.sink).flow_value


def same_instance(first: MaxFlowProblem, second: MaxFlowProblem) -> bool:
    a, b = first.network, second.network
    reverse = (a.reverse_capacity is None) == (b.reverse_capacity is None)
    if reverse and a.reverse_capacity is not None:
        reverse = np.array_equal(a.reverse_capacity, b.reverse_capacity)
    return (
        reverse
        and (a.num_vertices, first.source, first.sink) == (b.num_vertices, second.source, second.sink)
        and np.array_equal(a.tail, b.tail)
        and np.array_equal(a.head, b.head)
        and np.array_equal(a.capacity, b.capacity)
    )


def small(name, seed=0) -> MaxFlowProblem:
    family = FAMILIES[name]
    return family.generate(next(iter(family.presets)), seed=seed)


@pytest.mark.parametrize("name", REFERENCE)
class TestAgainstOriginalFiles:
    def test_vertices_and_terminals(self, name):
        ours, reference = our_like(name), read_dimacs(name)
        assert ours.num_vertices == reference.num_vertices == OPTIMA[f"{name}.max.gz"]["nodes"]
        assert (ours.source, ours.sink) == (reference.source, reference.sink)

    def test_number_of_arcs(self, name):
        ours, reference = our_like(name), read_dimacs(name)
        if name in RANDOM_SIZE:
            assert len(ours.tail) == pytest.approx(len(reference.tail), rel=0.005)
        else:
            assert len(ours.tail) == len(reference.tail)

    def test_terminal_arcs(self, name):
        ours, reference = our_like(name), read_dimacs(name)
        if name in {"ac-dense-200", "rmf-wide-16x8", "rmf-long-8x64"}:
            # Their terminals are vertices like any other, with arcs of random capacity.
            assert np.bincount(ours.tail)[ours.source] == np.bincount(reference.tail)[reference.source]
            assert np.bincount(ours.head)[ours.sink] == np.bincount(reference.head)[reference.sink]
        else:
            assert arcs_at_terminals(ours) == arcs_at_terminals(reference)

    def test_out_degrees(self, name):
        ours, reference = our_like(name).out_degrees(), read_dimacs(name).out_degrees()
        if name in RANDOM_SIZE:
            assert max(ours) == max(reference)
            for degree, count in reference.most_common(3):
                assert ours[degree] == pytest.approx(count, abs=5 * math.sqrt(count) + 1)
        else:
            assert ours == reference

    def test_capacity_range(self, name):
        ours, reference = our_like(name), read_dimacs(name)
        of_ours, of_reference = ours.capacity[ours.inner], reference.capacity[reference.inner]
        assert of_ours.min() == pytest.approx(of_reference.min(), abs=1e-3 * of_reference.max())
        assert of_ours.max() == pytest.approx(of_reference.max(), rel=0.01)
        assert of_ours.mean() == pytest.approx(of_reference.mean(), rel=0.1)

    def test_offsets(self, name):
        """Arcs lead as far, in vertex numbers, as in the original."""
        ours, reference = our_like(name), read_dimacs(name)
        of_ours = (ours.head - ours.tail)[ours.inner]
        of_reference = (reference.head - reference.tail)[reference.inner]
        spread = of_reference.max() - of_reference.min()
        assert of_ours.min() == pytest.approx(of_reference.min(), abs=0.05 * spread)
        assert of_ours.max() == pytest.approx(of_reference.max(), abs=0.05 * spread)
        assert of_ours.mean() == pytest.approx(of_reference.mean(), abs=0.05 * spread)

    def test_optimum(self, name):
        """The original's optimum could be that of one of our seeds."""
        family, size, parameters = REFERENCE[name]
        seeds = range(1 if family in FIXED else 12)
        ours = [optimum(arcs_of(FAMILIES[family].generate(size, seed=seed, **parameters))) for seed in seeds]
        distance = abs(OPTIMA[f"{name}.max.gz"]["optimum"] - np.mean(ours))
        assert distance <= 3 * np.std(ours)


def arcs_at_terminals(arcs: Arcs):
    outer = ~arcs.inner
    return sorted(
        zip(arcs.tail[outer].tolist(), arcs.head[outer].tolist(), arcs.capacity[outer].tolist(), strict=True)
    )


@pytest.mark.parametrize("name", [name for name, like in REFERENCE.items() if like[0] in FIXED])
def test_fixed_families_equal_the_original_arc_by_arc(name):
    ours, reference = our_like(name), read_dimacs(name)
    np.testing.assert_array_equal(ours.tail, reference.tail)
    np.testing.assert_array_equal(ours.head, reference.head)
    np.testing.assert_array_equal(ours.capacity, reference.capacity)


@pytest.mark.parametrize("name", ["mesh-64x64", "square-mesh-40x4", "ac-dense-200"])
def test_fixed_arcs_with_random_capacities_come_in_the_original_order(name):
    ours, reference = our_like(name), read_dimacs(name)
    np.testing.assert_array_equal(ours.tail, reference.tail)
    np.testing.assert_array_equal(ours.head, reference.head)


@pytest.mark.parametrize("name", ["rmf-wide-16x8", "rmf-long-8x64"])
def test_rmf_frames_and_permutations(name):
    ours, reference = our_like(name), read_dimacs(name)
    np.testing.assert_array_equal(ours.tail, reference.tail)
    side, frames = map(int, name.rsplit("-", 1)[1].split("x"))
    area = side * side
    within = ours.head // area == ours.tail // area
    np.testing.assert_array_equal(within, reference.head // area == reference.tail // area)
    np.testing.assert_array_equal(ours.head[within], reference.head[within])
    assert set(ours.capacity[within]) == {10_000 * area}
    next_frame = ours.head[~within].reshape(frames - 1, area)
    np.testing.assert_array_equal(
        np.sort(next_frame, axis=1), np.arange(area, area * frames).reshape(frames - 1, area)
    )
    assert len({tuple(row % area) for row in next_frame}) == frames - 1


def classes_of_capacity(arcs: Arcs, m: int):
    """Check that no capacity is above its class's, and return how full the classes are on the mean."""
    offset = (arcs.head - arcs.tail)[arcs.inner]
    limit = HALVED_CAPACITY[np.where(offset > 0, offset - 1, 1 - offset) // m]
    capacity = arcs.capacity[arcs.inner]
    assert (capacity <= limit).all()
    return (capacity / limit).mean()


@pytest.mark.parametrize("name", ["exp-line-256x4x10", "dexp-line-256x4x10"])
def test_exponential_capacities(name):
    """Holds for the original's files too: backwards, classes are not what |x| alone would give."""
    assert classes_of_capacity(our_like(name), 4) == pytest.approx(0.5, abs=0.02)
    assert classes_of_capacity(read_dimacs(name), 4) == pytest.approx(0.5, abs=0.02)


def test_long_lines_have_a_smallest_class():
    arcs = arcs_of(generators.exponential_line(100, 2, 40))
    offset = (arcs.head - arcs.tail)[arcs.inner]
    assert arcs.capacity[arcs.inner][offset > 2 * 20].max() == 2


def test_terminal_arcs_of_a_line_never_bind():
    arcs = arcs_of(generators.line(2, 1, 300))
    assert arcs.capacity[arcs.tail == arcs.source].min() == 300 * 10**6


def test_two_level_reaches_the_next_two_levels():
    width, levels = 64, 32
    arcs = arcs_of(generators.two_level(width, levels))
    tail, head = arcs.tail[arcs.inner] - 1, arcs.head[arcs.inner] - 1
    reach = head // width - tail // width
    early = tail // width < levels - 2
    assert set(reach[early]) == {1, 2}
    assert (reach[early] == 1).mean() == pytest.approx(0.5, abs=0.03)
    assert set(reach[~early]) == {1}
    assert len(set(zip(tail, head, strict=True))) == len(tail)


@pytest.mark.parametrize(
    ("family", "size", "num_vertices", "num_arcs"),
    [
        ("rlg-wide", "4096x64", 262_146, 782_336),
        ("rmf-wide", "64x16", 65_536, 319_488),
        ("genrmf", "84x84", 592_704, 2_928_240),
        ("mesh", "512x512", 262_146, 785_920),
    ],
)
def test_published_sizes(family, size, num_vertices, num_arcs):
    network = FAMILIES[family].generate(size).network
    assert (network.num_vertices, network.num_arcs) == (num_vertices, num_arcs)


@pytest.mark.parametrize("name", FAMILIES)
class TestEveryFamily:
    def test_same_seed_same_instance(self, name):
        assert same_instance(small(name, seed=7), small(name, seed=7))

    def test_seeds_differ(self, name):
        assert same_instance(small(name, seed=1), small(name, seed=2)) == (name in FIXED)

    def test_name_tells_size_and_seed(self, name):
        family = FAMILIES[name]
        size = next(iter(family.presets))
        title = small(name, seed=5).name
        assert all(number in title for number in size.split("x"))
        assert title.endswith("seed 5") or name in FIXED
        # Families of one function are told apart by the shape of the instance.
        assert title.split()[0] in {other.name for other in FAMILIES.values()}

    def test_no_parallel_arcs_no_loops(self, name):
        arcs = arcs_of(small(name))
        assert not (arcs.tail == arcs.head).any()
        assert len(np.unique(arcs.tail * arcs.num_vertices + arcs.head)) == len(arcs.tail)

    def test_capacities_are_integers(self, name):
        network = small(name).network
        assert network.capacity.dtype == np.int64
        assert network.capacity.min() >= (0 if name.startswith("grid") else 1)

    def test_registry_matches_signature(self, name):
        family = FAMILIES[name]
        parameters = {p.name: p for p in family.parameters}
        assert family.name == name
        assert set(family.size_parameters) <= set(parameters)
        assert parameters["seed"].default == 0
        assert all(p.type in (int, float, bool) for p in family.parameters)
        required = [p.name for p in family.parameters if p.required]
        assert list(family.size_parameters[: len(required)]) == required
        assert "\n" not in family.summary
        for preset in family.presets.values():
            assert set(preset) <= set(parameters)
            assert set(required) <= set(preset)

    def test_sizes_below_the_smallest_are_refused(self, name):
        family = FAMILIES[name]
        ones = "x".join("0" for p in family.parameters if p.required)
        with pytest.raises(InvalidInputError):
            family.generate(ones)

    def test_wrong_types_are_refused(self, name):
        family = FAMILIES[name]
        preset = dict(next(iter(family.presets.values())))
        first = family.size_parameters[0]
        for value in (2.5, True, "8"):
            with pytest.raises(InvalidInputError, match=first):
                family.function(**(preset | {first: value}))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: generators.rmf(1, 1), "single vertex"),
        (lambda: generators.rmf(4, 4, min_capacity=9, max_capacity=3), "min_capacity 9 is above"),
        (lambda: generators.mesh(2, 4), "width 2"),
        (lambda: generators.random_level(2, 4), "width 2"),
        (lambda: generators.random_level(4, 1), "levels must be at least 2"),
        (lambda: generators.two_level(2, 4), "width 2"),
        (lambda: generators.matching(3, 4), "degree 4 is above n 3"),
        (lambda: generators.square_mesh(3, 4), "degree 4 is above side 3"),
        (lambda: generators.line(4, 4, 0), "degree must be at least 1"),
        (lambda: generators.dinic_bad(1), "n must be at least 2"),
        (lambda: generators.ac_dense(1), "n must be at least 2"),
        (lambda: generators.ac_dense(5, max_capacity=0), "max_capacity must be at least 1"),
        (lambda: generators.ac_dense(5, seed=-1), "seed must be at least 0"),
        (lambda: generators.grid_2d(4, 4, connectivity=6), "connectivity is 4 or 8"),
        (lambda: generators.grid_3d(4, 4, 4, connectivity=8), "connectivity is 6, 18 or 26"),
        (lambda: generators.grid_2d(4, 4, noise=-1.0), "noise must be finite and at least 0"),
        (lambda: generators.grid_2d(4, 4, smoothing=math.nan), "smoothing must be finite"),
        (lambda: generators.deconvolution(4, 4, 4), "kernel must be odd"),
        (lambda: generators.open_pit(4, 4, 4, benches=0), "benches must be at least 1"),
        (lambda: generators.open_pit(4, 4, 4, slope=100.0), "slope must be an angle"),
        (lambda: generators.block_values(4, 4, 4, bodies=0), "bodies must be at least 1"),
        (lambda: generators.column_surface(4, 4, 1), "depth must be at least 2"),
        (lambda: generators.ishikawa(4, 4, 1), "labels must be at least 2"),
        (lambda: generators.barabasi_albert(2, 1), "n must be at least 3"),
        (lambda: generators.family("nonsense"), "unknown family"),
        (lambda: FAMILIES["mesh"].generate("64"), "widthxlevels"),
        (lambda: FAMILIES["mesh"].generate("64x-4"), "written"),
        (lambda: FAMILIES["mesh"].generate("64x4x4"), "written"),
        (lambda: FAMILIES["mesh"].generate("64x4", depth=3), "no parameter 'depth'"),
        (lambda: FAMILIES["mesh"].generate(width=64), "needs 'levels'"),
    ],
)
def test_impossible_parameters(make, message):
    with pytest.raises(InvalidInputError, match=message):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: generators.ac_dense(5, max_capacity=2**63),
        lambda: generators.mesh(3, 3, max_capacity=2**62),
        lambda: generators.rmf(4, 4, max_capacity=2**60),
        lambda: generators.grid_from_image([[0.0]], [[1e300]], connectivity=4),
    ],
)
def test_capacities_that_do_not_fit(make):
    with pytest.raises(CapacityOverflowError):
        make()


def test_size_may_leave_out_what_has_a_default():
    assert FAMILIES["line-moderate"].parse_size("64x4") == {"n": 64, "m": 4}
    assert FAMILIES["line-moderate"].generate("64x4").name == "line-moderate 64x4 degree 128 seed 0"


def test_name_mentions_unusual_parameters():
    assert generators.ac_dense(5, max_capacity=9).name == "ac-dense 5 max-capacity 9 seed 0"
    assert generators.grid_2d(5, 5, contrast=True).name == "grid-2d 5x5 contrast seed 0"


def test_importing_generators_is_light():
    heavy = {"numba", "scipy", "skimage", "cupy"}
    code = f"import sys, preflow.generators; print({heavy} & set(sys.modules))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "set()"


@given(st.integers(0, 40), st.integers(1, 12), st.integers(0, 30), st.integers(0, 2**32))
def test_distinct_rows(num_rows, row_length, spare, seed):
    population = row_length + spare
    rows = distinct_rows(np.random.default_rng(seed), num_rows, row_length, population)
    assert rows.shape == (num_rows, row_length)
    assert all(len(set(row)) == row_length for row in rows.tolist())
    assert not rows.size or (rows.min() >= 0 and rows.max() < population)


@pytest.mark.parametrize("population", [5, 8])
def test_distinct_rows_are_uniform_and_in_random_order(population):
    """Both ways of drawing give every ordered triple alike."""
    rows = distinct_rows(np.random.default_rng(1), 60_000, 3, population)
    counts = Counter(map(tuple, rows.tolist()))
    triples = math.perm(population, 3)
    assert len(counts) == triples
    expected = len(rows) / triples
    chi_square = sum((count - expected) ** 2 / expected for count in counts.values())
    assert abs(chi_square - (triples - 1)) < 5 * math.sqrt(2 * (triples - 1))


def test_distinct_rows_of_a_large_population():
    rows = distinct_rows(np.random.default_rng(1), 1000, 3, 2**40)
    assert rows.max() > 2**39


@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 99))
def test_rmf_counts(side, frames, seed):
    if side * side * frames < 2:
        return
    network = generators.rmf(side, frames, seed=seed).network
    a, b = side, frames
    assert (network.num_vertices, network.num_arcs) == (a * a * b, 5 * a * a * b - 4 * a * b - a * a)


@given(st.integers(3, 9), st.integers(2, 6), st.integers(0, 99))
def test_level_counts(width, levels, seed):
    for make in (generators.mesh, generators.random_level, generators.two_level):
        arcs = arcs_of(make(width, levels, seed=seed))
        assert len(arcs.tail) == 3 * width * (levels - 1) + 2 * width
        assert len(set(zip(arcs.tail.tolist(), arcs.head.tolist(), strict=True))) == len(arcs.tail)


@given(st.integers(2, 30))
def test_optima_of_fixed_families(n):
    assert optimum(arcs_of(generators.dinic_bad(n))) == (n + 1 if n > 2 else 2)
    assert optimum(arcs_of(generators.goldberg_bad(n))) == n
    assert optimum(arcs_of(generators.cheriyan(n, 3, 2))) == 2 * n * 3


@pytest.mark.parametrize(
    ("shape", "connectivity"), [((4, 5), 4), ((4, 5), 8), ((3, 4, 5), 6), ((3, 4, 5), 26), ((1, 1), 8)]
)
def test_grid_links(shape, connectivity):
    """Every pair of neighbours has one arc, and no other pair has."""
    problem = generators.grid_from_image(np.zeros(shape), np.ones(shape), connectivity=connectivity)
    arcs = arcs_of(problem)
    place = np.stack(np.unravel_index(np.arange(math.prod(shape)), shape), axis=1)
    distance = np.abs(place[:, None] - place[None])
    reach = {4: 1, 6: 1, 8: 2, 26: 3}[connectivity]
    near = (distance.max(axis=2) == 1) & (distance.sum(axis=2) <= reach)
    length = np.sqrt((distance**2).sum(axis=2))
    expected = {(int(u), int(v)): round(100 / length[u, v]) for u, v in np.argwhere(near) if u < v}
    network = problem.network
    np.testing.assert_array_equal(network.capacity[arcs.inner], network.reverse_capacity[arcs.inner])
    pairs = np.sort(np.stack([arcs.tail, arcs.head], axis=1)[arcs.inner], axis=1).tolist()
    assert len(pairs) == len(expected)
    assert dict(zip(map(tuple, pairs), arcs.capacity[arcs.inner].tolist(), strict=True)) == expected


def test_terminal_links_of_a_grid():
    data = np.array([[3, -2, 0], [0.4, -7.6, 1]])
    problem = generators.grid_from_image(np.zeros((2, 3)), data, connectivity=4)
    arcs = arcs_of(problem)
    assert arcs_at_terminals(arcs) == [(1, 7, 2), (4, 7, 8), (6, 0, 3), (6, 5, 1)]
    assert not problem.network.reverse_capacity[~arcs.inner].any()


def test_links_fall_with_contrast():
    grey = np.array([[10, 10, 14]], dtype=np.uint8)
    flat = np.ones((1, 3))
    problem = generators.grid_from_image(grey, flat, connectivity=4, strength=1000, sigma=4)
    assert problem.network.capacity[-2:].tolist() == [1000, round(1000 * math.exp(-0.5))]
    # The default sigma is the root mean square of the differences 0 and 4.
    problem = generators.grid_from_image(grey, flat, connectivity=4, strength=1000)
    assert problem.network.capacity[-2:].tolist() == [1000, round(1000 * math.exp(-1))]
    colour = np.zeros((1, 3, 3))
    colour[0, 2] = [0, 3, 4]
    problem = generators.grid_from_image(colour, flat, connectivity=4, strength=1000, sigma=5)
    assert problem.network.capacity[-2:].tolist() == [1000, round(1000 * math.exp(-0.5))]


@pytest.mark.parametrize(
    ("image", "data", "message"),
    [
        ([[1, 2]], [[1, 2, 3]], "image has shape"),
        ([1, 2], [1, 2], "data_term must be an image or a volume"),
        (np.zeros((0, 3)), np.zeros((0, 3)), "data_term must be an image or a volume"),
        ([[1, math.nan]], [[1, 2]], "image has values"),
        ([[1, 2]], [[1, math.inf]], "data_term has values"),
        ([["a", "b"]], [[1, 2]], "image is not an array"),
    ],
)
def test_bad_images(image, data, message):
    with pytest.raises(InvalidInputError, match=message):
        generators.grid_from_image(image, data, connectivity=4)


@pytest.mark.parametrize("sigma", [0, -1.0, math.nan])
def test_bad_sigma(sigma):
    with pytest.raises(InvalidInputError, match="sigma must be positive"):
        generators.grid_from_image([[1, 2]], [[1, 2]], connectivity=4, sigma=sigma)


@pytest.mark.parametrize("contrast", [False, True])
@pytest.mark.parametrize(
    ("name", "size"), [("grid-2d", "60x50"), ("grid-2d", "60x50x8"), ("grid-3d", "14x15x16")]
)
def test_synthetic_grids_are_not_trivial(name, size, contrast):
    """The optimum is well below what either side's t-links give, and above what they give apart."""
    problem = FAMILIES[name].generate(size, contrast=contrast)
    arcs = arcs_of(problem)
    links = arcs.inner
    both_ways = Arcs(
        arcs.num_vertices,
        arcs.source,
        arcs.sink,
        np.concatenate([arcs.tail, arcs.head[links]]),
        np.concatenate([arcs.head, arcs.tail[links]]),
        np.concatenate([arcs.capacity, problem.network.reverse_capacity[links]]),
    )
    from_source = arcs.capacity[arcs.tail == arcs.source].sum()
    into_sink = arcs.capacity[arcs.head == arcs.sink].sum()
    assert 0.1 * min(from_source, into_sink) < optimum(both_ways) < 0.9 * min(from_source, into_sink)


class TestIrregular:
    """Roads, RMAT graphs, superpixels and surfaces."""

    @pytest.mark.parametrize("name", ["roads", "rmat-flow", "superpixels", "surface"])
    def test_cut_is_not_trivial(self, name: str) -> None:
        problem = small(name)
        network = problem.network
        assert (network.reverse_capacity == network.capacity)[network.reverse_capacity > 0].all()
        pairs = np.sort(np.stack([network.tail, network.head]), axis=0)
        assert len(np.unique(pairs, axis=1).T) == network.num_arcs
        assert (network.tail != network.head).all()
        result = preflow.max_flow(problem)
        result.verify()
        inner = result.sink_side[: network.num_vertices - 2]
        if name in ("superpixels", "surface"):
            assert 0.3 < inner.mean() < 0.7
        ends = network.tail[network.head == problem.sink]
        terminal = network.capacity[network.head == problem.sink].sum()
        assert 0 < result.value < terminal
        assert len(ends) > 9

    def test_superpixels_have_the_degree_of_triangulations(self) -> None:
        network = small("superpixels").network
        edges = (network.head < network.num_vertices - 2) & (network.tail < network.num_vertices - 2)
        assert 2.8 < edges.sum() / (network.num_vertices - 2) < 3

    def test_triangles_have_three_neighbours(self) -> None:
        network = small("surface").network
        n = network.num_vertices - 2
        edges = (network.head < n) & (network.tail < n)
        ends = np.concatenate([network.tail[edges], network.head[edges]])
        assert (np.bincount(ends) == 3).all()

    def test_tetrahedra_have_four_neighbours_and_few_arcs_at_terminals(self) -> None:
        problem = FAMILIES["tetrahedra"].generate("2000")
        network = problem.network
        n = network.num_vertices - 2
        edges = (network.head < n) & (network.tail < n)
        counts = np.bincount(np.concatenate([network.tail[edges], network.head[edges]]), minlength=n)
        hull = network.head[network.tail == problem.source]
        assert (np.delete(counts, hull) == 4).all()
        assert counts[hull].max() <= 3
        assert 0.05 < (network.head == problem.sink).sum() / n < 0.2
        assert (network.capacity[edges] != network.reverse_capacity[edges]).mean() > 0.1
        result = preflow.min_cut(problem)
        result.verify()
        assert not result.sink_side[hull].any()
        assert 0.3 < result.sink_side[:-2].mean() < 0.8

    def test_too_many_ends(self) -> None:
        with pytest.raises(InvalidInputError, match="half of the vertices with edges"):
            generators.roads(100, ends=60)


def least_cut(problem: MaxFlowProblem) -> int:
    result = preflow.min_cut(problem)
    result.verify()
    return result.value


class TestEnergies:
    """Energies whose networks are not grids of pixels, against all labellings of small ones."""

    @pytest.mark.parametrize("slope", [0, 1, 2])
    def test_a_closed_set_is_a_surface(self, slope: int) -> None:
        depth = 4
        problem = generators.column_surface(2, 2, depth, slope=slope, seed=slope)
        network, weight = problem.network, np.zeros(4 * depth + 2, dtype=np.int64)
        from_source, to_sink = network.tail == problem.source, network.head == problem.sink
        weight[network.head[from_source]] = -network.capacity[from_source]
        weight[network.tail[to_sink]] = network.capacity[to_sink]
        total = np.cumsum(weight[:-2].reshape(4, depth), axis=1)
        surfaces = [
            heights
            for heights in np.ndindex(*[depth] * 4)
            if all(abs(heights[i] - heights[j]) <= slope for i, j in ((0, 1), (2, 3), (0, 2), (1, 3)))
        ]
        least = min(sum(total[i, height] for i, height in enumerate(heights)) for heights in surfaces)
        assert least_cut(problem) == network.capacity[from_source].sum() + least

    def test_a_surface_follows_the_volume(self) -> None:
        height, width, depth = 30, 40, 12
        problem = generators.column_surface(height, width, depth, noise=0.5, seed=1)
        result = preflow.min_cut(problem)
        result.verify()
        top = depth - result.sink_side[:-2].reshape(height, width, depth).sum(axis=2)
        assert top.min() >= 1
        assert max(np.abs(np.diff(top, axis=axis)).max() for axis in (0, 1)) == 1
        assert np.ptp(top) > 2
        # Five arcs of a voxel are in no cut, but at the border of the volume.
        network = problem.network
        unbounded = np.bincount(network.tail[network.capacity == network.capacity.max()])
        assert np.bincount(unbounded).argmax() == 5

    @pytest.mark.parametrize(("labels", "reach"), [(2, 1), (4, 1), (4, 2), (5, 3), (3, 5)])
    def test_columns_of_labels_have_the_least_energy(self, labels: int, reach: int) -> None:
        problem = generators.ishikawa(1, 3, labels, reach=reach, smoothness=7, noise=30.0, seed=labels)
        network = problem.network
        n, between = 3, labels - 1
        pixel = np.append(np.repeat(np.arange(n), between), [n, n])
        result = preflow.min_cut(problem)
        result.verify()
        assert (np.diff(result.sink_side[:-2].reshape(n, between).astype(int), axis=1) >= 0).all()

        def cut(chosen: tuple[int, ...]) -> int:
            level = np.append(np.tile(np.arange(between), n), [0, 0])
            on_sink = level >= np.append(chosen, [0, 0])[pixel]
            on_sink[problem.source], on_sink[problem.sink] = False, True
            forward = ~on_sink[network.tail] & on_sink[network.head]
            back = on_sink[network.tail] & ~on_sink[network.head]
            return int(network.capacity[forward].sum() + network.reverse_capacity[back].sum())

        cuts = {chosen: cut(chosen) for chosen in np.ndindex(labels, labels, labels)}
        assert result.value == min(cuts.values())
        step = max(1, round(7 / (2 * reach - 1)))

        def convex(difference: int) -> int:
            return step * sum(
                max(0, difference - rise) + max(0, -difference - rise) for rise in range(1 - reach, reach)
            )

        # What two neighbours pay together, beyond what each pays with the other at 0.
        for first, second, third in cuts:
            paid = cuts[first, second, third] - cuts[first, 0, 0] - cuts[0, second, third] + cuts[0, 0, 0]
            assert paid == convex(first - second) - convex(first) - convex(second) + convex(0)

    @pytest.mark.parametrize("kernel", [3, 5])
    def test_roof_duality_bounds_the_energy(self, kernel: int) -> None:
        """The network has the pairs of all squares, and restored pixels are in some best image."""
        height, width = 3, 4
        problem = generators.deconvolution(height, width, kernel, noise=0.2, seed=kernel)
        network, size = problem.network, height * width
        inner = (network.tail != problem.source) & (network.head != problem.sink)
        reach = kernel // 2
        pixel = np.stack(np.unravel_index(np.arange(size), (height, width)))
        seen = (np.abs(pixel[:, :, None] - pixel[:, None]).max(axis=0) <= reach).astype(np.int64)
        pairs = np.zeros((size, 2 * size), dtype=np.int64)
        pairs[network.tail[inner], network.head[inner]] = network.capacity[inner]
        expected = 200 * (seen @ seen)
        np.fill_diagonal(expected, 0)
        np.testing.assert_array_equal(pairs[:, size:], expected)
        assert not pairs[:, :size].any()
        linear = np.zeros(2 * size + 2, dtype=np.int64)
        from_source, to_sink = network.tail == problem.source, network.head == problem.sink
        linear[network.head[from_source]] -= network.capacity[from_source]
        linear[network.tail[to_sink]] += network.capacity[to_sink]
        np.testing.assert_array_equal(linear[:size], -linear[size : 2 * size])
        images = np.array(list(np.ndindex(*[2] * size)))
        energy = images @ linear[:size] + np.einsum("ki,ij,kj->k", images, expected, images) // 2
        best = images[energy == energy.min()]
        result = preflow.min_cut(problem)
        result.verify()
        side = ~result.sink_side[:-2].reshape(2, size)
        restored = side[0] != side[1]
        assert (best[:, restored] == side[0][restored]).all(axis=1).any()
        # The cut bounds twice the energy from below.
        lowest = result.value + 2 * np.minimum(linear[:size], 0).sum()
        assert lowest <= 2 * energy.min()
        assert not restored.all() or lowest == 2 * energy.min()

    def test_large_kernels_have_hundreds_of_arcs(self) -> None:
        network = FAMILIES["deconvolution"].generate("33x33x11").network
        assert 155 < network.num_arcs / network.num_vertices < 160

    @pytest.mark.parametrize(("size", "slope"), [((7, 5, 4), 45.0), ((6, 9, 5), 60.0), ((3, 4, 1), 45.0)])
    def test_a_pit_is_the_ultimate_one(self, size: tuple[int, int, int], slope: float) -> None:
        for seed in range(4):
            values = generators.block_values(*size, noise=1.0, seed=seed)
            pit = ultimate_pit(values, slope=slope)
            problem = generators.open_pit(*size, slope=slope, noise=1.0, seed=seed)
            result = preflow.min_cut(problem)
            result.verify()
            assert result.value == values[values > 0].sum() - pit.value
            np.testing.assert_array_equal(result.source_side()[:-2].reshape(size), pit.mask)

    def test_a_short_pattern_allows_steeper_walls(self) -> None:
        size = 30, 30, 12
        values = generators.block_values(*size, seed=2)
        ore, profits, arcs = values[values > 0].sum(), [], []
        for benches in (1, 3, 5, 11):
            problem = generators.open_pit(*size, benches=benches, seed=2)
            profits.append(ore - least_cut(problem))
            unbounded = problem.network.capacity == problem.network.capacity.max()
            arcs.append(np.bincount(problem.network.tail[unbounded]).max())
        assert arcs == [5, 9, 17, 25]
        assert profits == sorted(profits, reverse=True)
        pit = ultimate_pit(values)
        assert profits[-1] == pit.value
        assert 0.1 < pit.mask.mean() < 0.6

    def test_an_expansion_is_the_best_of_all_choices(self) -> None:
        problem = generators.expansion_move(3, 4, 3, noise=20.0, seed=4)
        network, size = problem.network, 12
        assert (network.reverse_capacity != network.capacity).any()
        sides = np.array(list(np.ndindex(*[2] * size))).astype(bool)
        sides = np.concatenate([sides, np.tile([False, True], (len(sides), 1))], axis=1)
        forward = ~sides[:, network.tail] & sides[:, network.head]
        back = sides[:, network.tail] & ~sides[:, network.head]
        cuts = forward @ network.capacity + back @ network.reverse_capacity
        assert least_cut(problem) == cuts.min()

    def test_an_expansion_has_few_arcs_at_terminals(self) -> None:
        problem = small("expansion-move")
        network = problem.network
        ends = network.head[network.tail == problem.source], network.tail[network.head == problem.sink]
        without = 1 - len(np.concatenate(ends)) / (network.num_vertices - 2)
        assert 0.1 < without < 0.6
        switch = preflow.min_cut(problem).sink_side[:-2].mean()
        assert 0.05 < switch < 0.95


class TestScaleFree:
    """Graphs whose degrees follow power laws, between two of their vertices."""

    @pytest.mark.parametrize("name", ["barabasi-albert", "power-law-flow"])
    def test_degrees(self, name: str) -> None:
        problem = FAMILIES[name].generate("10000x4", seed=1)
        network = problem.network
        np.testing.assert_array_equal(network.capacity, network.reverse_capacity)
        degree = np.bincount(np.concatenate([network.tail, network.head]), minlength=10_000)
        mean = 8 if name == "barabasi-albert" else 4
        assert 0.85 * mean < degree.mean() <= mean
        assert degree.max() > 20 * mean
        assert degree[[problem.source, problem.sink]].min() > 0
        # A power law of exponent 3, or 2.5: four times the degree is 1/16 or 1/8 as frequent.
        tail = [(degree >= least).mean() for least in (4 * mean, 16 * mean)]
        assert 1 / 32 < tail[1] / tail[0] < 1 / 6

    def test_new_vertices_have_edges_to_older_ones(self) -> None:
        network = generators.barabasi_albert(2000, 3).network
        assert (network.head < network.tail).all()
        counts = np.bincount(network.tail, minlength=2000)
        assert counts.max() == 3
        assert counts.mean() > 2.9
        tree = preflow.gomory_hu_tree(generators.barabasi_albert(40, 3).network)
        tree.verify()


class TestVariants:
    """Other forms of a problem have its flow value."""

    @pytest.mark.parametrize("name", ["rmf-wide", "column-surface", "ishikawa", "grid-2d", "barabasi-albert"])
    def test_same_value(self, name: str) -> None:
        problem = small(name)
        apart = generators.with_terminals_apart(problem)
        variants = [
            generators.shuffled(problem, seed=3),
            apart,
            generators.with_terminals_apart(problem, two_way=True),
            generators.with_infinite_capacities(problem),
            generators.with_infinite_capacities(generators.shuffled(apart)),
        ]
        expected = least_cut(problem)
        assert [least_cut(variant) for variant in variants] == [expected] * 5
        assert len({variant.name for variant in variants}) == 5

    def test_shuffled_vertices(self) -> None:
        problem = small("ishikawa")
        one, other = (generators.shuffled(problem, seed=seed) for seed in (1, 2))
        assert same_instance(one, generators.shuffled(problem, seed=1))
        assert not same_instance(one, other)
        assert sorted(one.network.capacity) == sorted(problem.network.capacity)
        assert (np.diff(one.network.tail.astype(np.int64)) >= 0).all()

    def test_several_terminals(self) -> None:
        network = preflow.FlowNetwork.from_arrays([0, 1, 2, 2], [2, 2, 3, 4], [2, 3, 4, 9])
        problem = MaxFlowProblem(network, (0, 1), (3, 4))
        apart = generators.with_terminals_apart(problem)
        assert least_cut(apart) == least_cut(generators.shuffled(problem)) == 5
        assert apart.network.num_arcs == 8

    def test_infinite_capacities(self) -> None:
        problem = small("column-surface")
        infinite = generators.with_infinite_capacities(problem).network.capacity
        np.testing.assert_array_equal(
            np.isinf(infinite), problem.network.capacity == problem.network.capacity.max()
        )
        large = MaxFlowProblem(preflow.FlowNetwork.from_arrays([0], [1], [2**60 + 1]), 0, 1)
        with pytest.raises(CapacityOverflowError):
            generators.with_infinite_capacities(large)
        with pytest.raises(CapacityOverflowError):
            generators.with_terminals_apart(
                MaxFlowProblem(preflow.FlowNetwork.from_arrays([0, 0], [1, 1], [2**62, 2**62]), 0, 1)
            )
