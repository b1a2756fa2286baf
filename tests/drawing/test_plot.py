"""The pictures that results draw of themselves."""

from __future__ import annotations

import copy
import dataclasses
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import preflow
from preflow import reductions, vision
from preflow.drawing.axes import MOST_ARCS, MOST_VERTICES
from preflow.drawing.networks import by_springs, in_layers
from preflow.errors import InvalidInputError, MissingDependencyError
from preflow.solving.result import HEADLINES, NOT_OPTIMAL, BoundedResult

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")
plt = pytest.importorskip("matplotlib.pyplot")

RNG = np.random.default_rng(0)
ARCS = [("s", "a", 3), ("s", "b", 2), ("a", "t", 2), ("b", "t", 4), ("a", "b", 5)]
TEXTURE = RNG.random((12, 24))


def segmentation() -> vision.Segmentation:
    image = np.zeros((12, 14), np.uint8)
    image[3:8, 3:9] = 200
    return vision.segment(image, image > 100, np.eye(12, 14, dtype=bool) & (image < 100))


RESULTS: dict[str, Callable[[], Any]] = {
    "flow": lambda: preflow.max_flow(ARCS, "s", "t"),
    "cut": lambda: preflow.min_cut(ARCS, "s", "t"),
    "flow without arcs": lambda: preflow.max_flow(
        preflow.FlowNetwork.from_arrays([], [], [], num_vertices=2), 0, 1
    ),
    "costs": lambda: preflow.min_cost_flow([("a", "b", 4, 7), ("b", "c", 9, -1)], {"a": 3, "c": -3}),
    "pairs": lambda: preflow.bipartite_matching([("Ada", "write"), ("Ada", "test"), ("Bo", "test")]),
    "general": lambda: preflow.matching([("a", "b", 2), ("b", "c", 5), ("c", "a", 1)]),
    "without weights": lambda: preflow.matching(([0, 1, 2], [1, 2, 3])),
    "assignment": lambda: preflow.linear_assignment([[4.0, np.inf], [2.0, 3.0]]),
    "large assignment": lambda: preflow.linear_assignment(RNG.random((60, 50))),
    "sparse assignment": lambda: preflow.linear_assignment(([0, 1, 1], [0, 0, 1], [4, 2, 7])),
    "points": lambda: preflow.linear_assignment(preflow.PointCosts(RNG.random((4, 2)), RNG.random((5, 2)))),
    "transport": lambda: preflow.transport([[4, 1, 2], [2, 3, 9]], [3, 5], [4, 2, 2]),
    "blocks": lambda: preflow.dulmage_mendelsohn(np.tri(5, 6)),
    "many blocks": lambda: preflow.dulmage_mendelsohn(np.eye(700)),
    "grid": lambda: preflow.grid_cut(np.array([[9, 0], [5, 1]]), np.array([[0, 9], [1, 5]]), 1),
    "segmentation": segmentation,
    "volume": lambda: preflow.grid_cut(np.eye(3)[None] * 5, 1 - np.eye(3)[None], 1),
    "series of volumes": lambda: preflow.grid_cut(np.ones((2, 2, 2, 2)), np.zeros((2, 2, 2, 2)), 1),
    "signal": lambda: preflow.grid_cut(np.array([1, 0, 2]), np.array([0, 3, 1]), 1),
    "labels": lambda: vision.segment_labels(TEXTURE, np.eye(12, 24, dtype=int) + 2 * np.eye(12, 24, 5, int)),
    "labelling": lambda: vision.alpha_expansion(RNG.integers(0, 9, (3, 5, 6)), 1 - np.eye(3, dtype=int), 2),
    "many labels": lambda: vision.alpha_expansion(
        np.abs(np.arange(12)[:, None, None] - np.arange(12)[None, None]), 1 - np.eye(12, dtype=int), 1
    ),
    "denoised": lambda: vision.denoise(RNG.integers(0, 9, (5, 6)), weight=1),
    "stereo": lambda: vision.match_stereo(TEXTURE[:, :20], TEXTURE[:, 2:22], 4),
    "motion": lambda: vision.find_optical_flow(
        TEXTURE[:, :20], TEXTURE[:, 1:21], max_displacement=2, max_sweeps=1
    ),
}


EDGES = [("a", "b", 2), ("b", "c", 5), ("c", "a", 1), ("c", "d", 4)]
PATHS = [("s", "a", 1, 3), ("s", "b", 1, 2), ("a", "t", 1, 2), ("b", "t", 1, 4)]
GRIDS = np.arange(10 * 12).reshape(10, 3, 4)

#: Results that say in one line what was found.
ANSWERS: dict[str, Callable[[], Any]] = {
    "cut tree": lambda: preflow.gomory_hu_tree(EDGES),
    "smallest cut": lambda: preflow.global_min_cut(EDGES),
    "edge connectivity": lambda: preflow.edge_connectivity(EDGES),
    "arc connectivity": lambda: preflow.edge_connectivity(preflow.FlowNetwork.from_edges(ARCS)),
    "vertex connectivity": lambda: preflow.vertex_connectivity(EDGES),
    "all minimum cuts": lambda: preflow.minimum_cuts([("a", "b", 2), ("b", "c", 2), ("c", "d", 3)], "a", "d"),
    "parametric": lambda: preflow.parametric_max_flow(
        ([0, 1, 0], [1, 2, 2], [0, 4, 1]), [1, 0, 0], 0, 2, high=9
    ),
    "graph labels": lambda: vision.label_graph(
        vision.GraphLabelEnergy([[0, 5, 9], [7, 2, 0]], [0, 1], [1, 2], 1 - np.eye(2))
    ),
    "jobs": lambda: reductions.assign_jobs([[1, 2, np.inf], [4, 4, 1]], limit=2),
    "priced": lambda: reductions.AssignmentAsTransport.of([[1, 2], [3, 9]]).solve(),
    "projects": lambda: reductions.select_projects([4, 6, -5, -3], [(0, 2), (0, 3), (1, 3)]),
    "rounding": lambda: reductions.round_matrix([[0.25, 0.75, 1.5], [1.5, 0.5, 0.25]]),
    "path": lambda: reductions.shortest_path(PATHS, "s", "t"),
    "paths": lambda: reductions.disjoint_paths(PATHS, "s", "t"),
    "feasible": lambda: reductions.feasible_flow(PATHS, {"s": 2, "t": -2}),
    "reduced flow": lambda: reductions.UndirectedAsDirected.of(ARCS, "s", "t").solve(),
    "vertex flow": lambda: reductions.VertexCapacities.of(ARCS, {"a": 1}, "s", "t").solve(),
    "b-matching": lambda: reductions.b_matching(([0, 0, 1], [0, 1, 1])),
    "general b-matching": lambda: reductions.general_b_matching(EDGES, 2),
    "edge cover": lambda: reductions.minimum_weight_edge_cover(EDGES),
    "join": lambda: reductions.t_join(EDGES, ["a", "d"]),
    "phase": lambda: vision.unwrap_phase(RNG.random((5, 6)) * 6),
    "surfaces": lambda: vision.layered_surfaces(RNG.random((2, 5, 6))),
    "surfaces of a volume": lambda: vision.layered_surfaces(RNG.random((2, 4, 5, 6))),
    "postman": lambda: reductions.chinese_postman(EDGES),
}
OTHERS: dict[str, Callable[[], Any]] = {
    "batch of one network": lambda: preflow.max_flow_batch([([0, 1], [1, 2], [4, 3])], 0, 2),
    "batch of grids": lambda: preflow.grid_cut_batch(GRIDS, GRIDS[::-1], 1),
    "batch of volumes": lambda: preflow.grid_cut_batch(GRIDS[:, None], GRIDS[::-1, None], 1),
    "energy": lambda: vision.minimize_energy(
        vision.BinaryEnergy([[4, 1], [0, 3]], [[0, 1]], [[[0, 2], [2, 0]]])
    ),
    "partial labelling": lambda: vision.minimize_energy(
        vision.BinaryEnergy([[4, 1], [0, 3]], [[0, 1]], [[[2, 0], [0, 2]]]), partial=True
    ),
}
RESULTS |= ANSWERS | OTHERS


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_are_a_line_and_a_table(name: str) -> None:
    result = ANSWERS[name]()
    (result.flow if name == "phase" else result).verify()
    line = repr(result)
    assert line.startswith(f"<{type(result).__name__}: ")
    assert len(line) < 120
    table = result._repr_html_()
    assert table.startswith(f"<table><caption>{type(result).__name__}</caption><tbody><tr><th>")
    assert table.count("<tr>") == table.count("</tr>") >= 1


def test_labels_have_one_palette_in_all_pictures() -> None:
    labels = RESULTS["labels"]()
    axes = labels.plot()
    drawn = np.asarray(axes.images[0].get_array())
    expected = vision.labels_picture(labels.labels)
    inside = (expected != 255).any(axis=-1)
    assert (drawn[inside] == expected[inside]).all()
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["1", "2"]


def test_fifty_roads_have_their_amounts_where_there_is_flow_and_names_fit() -> None:
    towns = ["Hamburg", "Dortmund", "Frankfurt", "Nürnberg", "Stuttgart", "München", "Aachen", "Köln"]
    roads = [(a, b, 3 + i + j, 2) for i, a in enumerate(towns) for j, b in enumerate(towns) if a != b]
    result = preflow.min_cost_flow(roads, {"Hamburg": 20, "München": -20})
    axes = result.plot()
    texts = [text.get_text() for text in axes.texts]
    amounts = [text for text in texts if " at " in text]
    assert len(amounts) == np.count_nonzero(result.flow) > 0
    assert all(text.endswith(" at 2") for text in amounts)
    figure = axes.figure
    figure.canvas.draw()
    wide = max(text.get_window_extent().width for text in axes.texts if text.get_text() in towns)
    points = axes.collections[0].get_sizes()[0] ** 0.5
    assert wide < points * figure.dpi / 72


def test_a_comparison_is_bars() -> None:
    network = preflow.FlowNetwork.from_arrays([0, 0, 1, 2], [1, 2, 3, 3], [3, 2, 2, 4])
    table = preflow.compare(network, 0, 3, methods=["serial-fifo", "serial-hi-pr"])
    wrong = dataclasses.replace(table, rows=(*table.rows, table.rows[0]._replace(method="x", status="wrong")))
    axes = wrong.plot()
    assert len(axes.patches) == 2
    assert [name.get_text() for name in axes.get_yticklabels()] == ["serial-fifo", "serial-hi-pr", "x"]
    assert axes.texts[-1].get_text() == "wrong"
    assert all(text.get_text().endswith(" ms") for text in axes.texts[:-1])
    assert dataclasses.replace(table, rows=()).plot().get_xlabel() == "seconds"


def test_a_batch_of_networks_says_to_draw_one() -> None:
    batch = preflow.max_flow_batch([([0], [1], [4]), ([0], [1], [3])], 0, 1)
    with pytest.raises(InvalidInputError, match=r"2 networks: draw one, as result\[0\].plot\(\) does"):
        batch.plot()
    many = np.zeros((65, 2, 2))
    with pytest.raises(InvalidInputError, match=r"65 items, and plot\(\) draws at most 64"):
        preflow.grid_cut_batch(many, many, 1).plot()


def test_the_lightest_edges_of_a_cut_tree_are_red() -> None:
    axes = preflow.gomory_hu_tree(EDGES).plot()
    pale, red = axes.collections[:2]
    assert len(pale.get_segments()) == 2
    assert len(red.get_segments()) == 1
    assert {text.get_text() for text in axes.texts} >= {"a", "b", "c", "d", "3"}


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    plt.close("all")


@pytest.mark.parametrize("name", RESULTS)
def test_results_draw_themselves(name: str) -> None:
    result = RESULTS[name]()
    axes = result.plot()
    axes.figure.canvas.draw()
    _, own = plt.subplots()
    assert result.plot(ax=own) is own
    own.figure.canvas.draw()


def test_flow_has_widths_and_a_dashed_cut() -> None:
    result = preflow.max_flow(ARCS, "s", "t")
    axes = result.plot()
    arrows = axes.patches
    assert len(arrows) == len(ARCS)
    dashed = [
        k
        for k, arrow in enumerate(arrows)
        if arrow.get_linestyle() != "solid" and arrow.get_linestyle() != "-"
    ]
    assert dashed == result.cut_arcs.tolist()
    widths = np.array([arrow.get_linewidth() for arrow in arrows])
    assert (np.argsort(widths, kind="stable") == np.argsort(result.flow, kind="stable")).all()
    texts = {text.get_text() for text in axes.texts}
    assert {"s", "a", "b", "t"} <= texts
    for flow, (_, _, capacity) in zip(result.flow.tolist(), ARCS, strict=True):
        assert f"{flow}/{capacity}" in texts


def test_assignment_marks_its_pairs() -> None:
    result = preflow.linear_assignment([[4.0, 1.0], [2.0, 3.0]])
    axes = result.plot()
    corners = [tuple(np.rint(mark.get_xy()).astype(int).tolist()) for mark in axes.patches]
    assert corners == [(1, 0), (0, 1)]
    assert axes.images[0].get_array().tolist() == [[4, 1], [2, 3]]


def test_stereo_has_a_colour_bar() -> None:
    figure = RESULTS["stereo"]().plot().figure
    assert [axes.get_ylabel() for axes in figure.axes] == ["", "disparity in pixels"]


def test_layers_are_distances() -> None:
    place = in_layers(4, np.array([0, 0, 1, 2]), np.array([1, 2, 3, 3]), np.array([0]), np.array([3]))
    assert np.unique(place[:, 0], return_inverse=True)[1].tolist() == [0, 1, 1, 2]
    assert len(np.unique(place, axis=0)) == 4


def test_springs_keep_vertices_apart() -> None:
    tail = np.arange(9)
    place = by_springs(10, tail, tail + 1)
    apart = np.hypot(*(place[:, None] - place).transpose(2, 0, 1)) + np.eye(10) * 9
    assert apart.min() > 0.3
    assert by_springs(0, tail[:0], tail[:0]).shape == (0, 2)


def test_what_is_too_large_is_refused() -> None:
    chain = np.arange(MOST_VERTICES)
    with pytest.raises(InvalidInputError, match=r"has 201 vertices, and plot\(\) draws at most 200"):
        preflow.max_flow((chain, chain + 1, 1), 0, 1).plot()
    ends = np.zeros(MOST_ARCS + 1, dtype=int)
    with pytest.raises(InvalidInputError, match="2,001 arcs"):
        preflow.max_flow((ends, ends + 1, 1), 0, 1).plot()
    with pytest.raises(InvalidInputError, match="batch"):
        preflow.linear_assignment(np.zeros((2, 3, 3))).plot()


def test_matplotlib_is_loaded_by_the_first_plot_only() -> None:
    code = "import sys, preflow; preflow.max_flow([(0, 1, 2)], 0, 1); print('matplotlib' in sys.modules)"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert output.stdout.strip() == "False"


def test_missing_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingDependencyError, match=r"plot\(\) needs Matplotlib.*preflow\[plot\]"):
        preflow.linear_assignment([[1]]).plot()


#: Matplotlib takes what is between two dollars for a formula, and raises an error where it is none.
DOLLARS = ["cost $5 to $6", "$\\foo{$", "$x$", "a\\$b$", "$", "$$", "$_{$"]


def _named(names: list[str]) -> dict[str, Any]:
    """Return a result of each kind that writes labels, with these labels."""
    arcs = [(names[0], name, 3, 2) for name in names[1:-1]] + [
        (name, names[-1], 2, 1) for name in names[1:-1]
    ]
    plain = [(tail, head, capacity) for tail, head, capacity, _ in arcs]
    table = [[1.5 + (i * j) % 4 for j in range(len(names))] for i in range(len(names))]
    frame = pytest.importorskip("pandas").DataFrame(table, index=names, columns=names[::-1])
    ends = names[0], names[-1]
    needs = {ends[0]: 2, ends[1]: -2}
    return {
        "flow": preflow.max_flow(plain, *ends),
        "cut": preflow.min_cut(plain, *ends),
        "costs": preflow.min_cost_flow(arcs, needs),
        "most": preflow.max_flow_min_cost(arcs, *ends),
        "pairs": preflow.bipartite_matching([(name, other) for name in names for other in names[::2]]),
        "general": preflow.matching(plain),
        "assignment": preflow.linear_assignment(frame),
        "transport": preflow.transport(frame, dict.fromkeys(names, 1), dict.fromkeys(names, 1)),
        "tree": preflow.gomory_hu_tree(plain),
        "smallest": preflow.global_min_cut(plain),
        "edges": preflow.edge_connectivity(plain),
        "vertices": preflow.vertex_connectivity(plain),
        "all cuts": preflow.minimum_cuts(plain, *ends),
        "jobs": reductions.assign_jobs(frame),
        "path": reductions.shortest_path(arcs, *ends),
        "paths": reductions.disjoint_paths(arcs, *ends),
        "feasible": reductions.feasible_flow(arcs, needs),
        "undirected": reductions.UndirectedAsDirected.of(plain, *ends).solve(),
        "capacities": reductions.VertexCapacities.of(plain, {names[1]: 1}, *ends).solve(),
        "b-matching": reductions.general_b_matching(plain, 2),
        "cover": reductions.minimum_weight_edge_cover(plain),
        "join": reductions.t_join(plain, list(ends)),
        "postman": reductions.chinese_postman(plain),
    }


def test_labels_are_never_formulas(tmp_path: Any) -> None:
    for kind, result in _named(DOLLARS).items():
        axes = result.plot()
        axes.figure.savefig(tmp_path / "picture.svg")
        axes.figure.canvas.draw()
        written = [*axes.texts, *axes.get_xticklabels(), *axes.get_yticklabels()]
        found = [text for text in written if "$" in text.get_text()]
        assert found, kind
        assert not any(text.get_parse_math() for text in found), kind
        plt.close(axes.figure)


#: Results of limits: a search that ends before it has begun to settle.
LIMITED: dict[str, Callable[[], Any]] = {
    "labelling": lambda: vision.alpha_expansion(RNG.random((3, 5, 6)), 1 - np.eye(3), max_sweeps=0),
    "labels": lambda: vision.segment_labels(
        TEXTURE, np.eye(12, 24, dtype=int) + 2 * np.eye(12, 24, 5, int), max_sweeps=0
    ),
    "graph labels": lambda: vision.label_graph(
        vision.GraphLabelEnergy(RNG.random((2, 3)), [0, 1], [1, 2], 1 - np.eye(2)), max_sweeps=0
    ),
    "stereo": lambda: vision.match_stereo(TEXTURE[:, :20], TEXTURE[:, 2:22], 4, max_sweeps=0),
    "motion": lambda: vision.find_optical_flow(
        TEXTURE[:, :20], TEXTURE[:, 1:21], max_displacement=2, max_sweeps=1, time_limit=1e-9
    ),
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_picture_says_that_a_result_is_not_optimal(name: str) -> None:
    result = RESULTS[name]()
    if not isinstance(result, BoundedResult) or name == "batch of one network":  # it draws its item
        return
    assert result.status == "optimal"
    assert not result.plot().get_title()
    for status in NOT_OPTIMAL:
        changed = copy.copy(result)
        object.__setattr__(changed, "status", status)
        assert changed.plot().get_title() == HEADLINES[status]
        for text in (repr(changed), changed._repr_html_()):
            assert HEADLINES[status] in text or status in text
        plt.close("all")


@pytest.mark.parametrize("name", LIMITED)
def test_a_picture_says_that_a_search_has_not_converged(name: str) -> None:
    result = LIMITED[name]()
    assert result.plot().get_title() == "not converged"
    assert "not converged" in repr(result)


def test_pictures_of_cuts_that_were_stopped() -> None:
    segmented = segmentation()
    cut = copy.copy(segmented.cut)
    object.__setattr__(cut, "status", "time-limit")
    stopped = dataclasses.replace(segmented, cut=cut)
    denoised = RESULTS["denoised"]()
    late = dataclasses.replace(denoised, cuts=(*denoised.cuts[:-1], cut))
    for result in (stopped, late):
        assert result.plot().get_title() == "stopped at the time limit"
        assert "stopped at the time limit" in repr(result)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("never", [1e15, 1e300, sys.float_info.max])
def test_numbers_that_mean_never_have_pictures(never: float, tmp_path: Any) -> None:
    table = [[0.3, never, 0.2], [never, 0.4, never], [0.1, 0.6, 0.5]]
    for result in (
        preflow.linear_assignment(table),
        preflow.transport(table, [1, 1, 1], [1, 1, 1]),
        preflow.max_flow([(0, 1, never), (1, 2, 0.5), (0, 2, 0.25)], 0, 2),
        preflow.matching([(0, 1, 0.5), (1, 2, never), (2, 3, 0.25)]),
        preflow.grid_cut([[never, 0.5]], [[0.25, never]], 0.5),
        vision.minimize_energy(vision.BinaryEnergy([[0, never], [0.5, 0]], [[0, 1]], [[0, 1.0], [1.0, 0]])),
        vision.alpha_expansion(np.array([[[0.5, never]], [[never, 0.5]]]), vision.potts(2)),
    ):
        axes = result.plot()
        axes.figure.savefig(tmp_path / "picture.png")
        assert max((len(text.get_text()) for text in axes.texts), default=0) < 40
