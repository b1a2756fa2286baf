"""Draw the diagrams of the solver pages, and the two of the architecture."""

from __future__ import annotations

import ast
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from preflow import registry
from preflow.graph.neighbourhood import half_neighbourhood

BLUE, ORANGE, RED, GREEN, GREY = "#4c78a8", "#f58518", "#d62728", "#54a24b", "0.75"


def _axes(width: float, height: float, columns: int = 1) -> tuple[Any, Any]:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, columns, figsize=(width, height), layout="constrained")
    for axis in np.atleast_1d(axes):
        axis.axis("off")
    return figure, axes


def _vertex(axis: Any, x: float, y: float, text: str = "", color: str = BLUE, size: float = 420) -> None:
    axis.scatter([x], [y], s=size, color=color, zorder=3)
    axis.text(x, y, text, ha="center", va="center", color="white", fontsize=8, zorder=4)


def _arrow(
    axis: Any, start: tuple[float, float], end: tuple[float, float], color: str = "0.4", text: str = ""
) -> None:
    arrow = {"arrowstyle": "-|>", "color": color, "shrinkA": 11, "shrinkB": 11, "lw": 1.5}
    axis.annotate("", end, start, arrowprops=arrow, zorder=2)
    if text:
        middle = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
        axis.annotate(text, middle, (4, 4), textcoords="offset points", fontsize=8, color=color)


def push_relabel() -> Any:
    """Draw vertices at their heights, a push and a relabel."""
    figure, axes = _axes(8, 2.8, 2)
    for axis, title in zip(axes, ("push: one level down", "relabel: nothing is lower"), strict=True):
        axis.set_title(title, fontsize=9)
        for h in range(4):
            axis.axhline(h, color="0.9", zorder=0)
            axis.text(-0.6, h, "sink" if h == 0 else f"height {h}", fontsize=8, va="center")
        axis.set(xlim=(-0.8, 4.3), ylim=(-0.6, 3.6))
        for x, h, text in ((1, 2, "u"), (2, 1, "w"), (3, 3, "x"), (2.6, 0, "t")):
            _vertex(axis, x, h, text, ORANGE if text == "u" else GREEN if text == "t" else BLUE)
    _arrow(axes[0], (1, 2), (2, 1), RED, "excess")
    _arrow(axes[0], (2, 1), (2.6, 0))
    _arrow(axes[0], (1, 2), (3, 3), GREY)
    _vertex(axes[1], 1.0, 3.0, "u", "#f9c784")
    _arrow(axes[1], (1, 2), (1, 3), RED, "up to 1 + lowest")
    _vertex(axes[1], 2, 2, "y")
    _arrow(axes[1], (1, 2), (2, 2), GREY)
    _arrow(axes[1], (1, 2), (3, 3), GREY)
    return figure


def multicore_paths() -> Any:
    """Draw threads, their vertices by height, and the minimum working level."""
    figure, axis = _axes(8, 2.8)
    random = np.random.default_rng(2)
    for thread, color in enumerate((BLUE, ORANGE, GREEN)):
        count = (9, 5, 2)[thread]
        heights = random.integers((4, 3, 0)[thread], (9, 8, 3)[thread], count)
        for k, h in enumerate(sorted(heights, reverse=True)):
            _vertex(axis, 3.2 * thread + 0.28 * k, h, "", color, 90)
        axis.text(3.2 * thread, 9.7, f"thread {thread + 1}", fontsize=9, color=color)
    axis.axhline(3.4, color=RED, linestyle="--")
    axis.text(9.3, 3.6, "minimum working level", fontsize=8, color=RED)
    _arrow(axis, (2.4, 8), (6.4, 5.2), RED, "donated vertices, from the highest buckets")
    axis.text(6.9, 0.6, "below the level: asks first", fontsize=8)
    axis.set(xlim=(-0.5, 12), ylim=(-0.8, 10.6))
    return figure


def lock_free() -> Any:
    """Draw a push, a relabel at the same time, and the steep arc that is left."""
    figure, axes = _axes(9, 2.5, 3)
    titles = (
        "thread 1 reads: w is lower than u",
        "thread 2 relabels w meanwhile",
        "thread 1 pushes: (w, u) is steep",
    )
    for axis, title, height in zip(axes, titles, (1, 4, 4), strict=True):
        axis.set_title(title, fontsize=9)
        axis.set(xlim=(-0.5, 2.5), ylim=(-0.5, 4.9))
        for h in range(5):
            axis.axhline(h, color="0.92", zorder=0)
        _vertex(axis, 0.5, 2, "u", ORANGE)
        _vertex(axis, 1.7, height, "w")
    _arrow(axes[0], (0.5, 2), (1.7, 1))
    _vertex(axes[1], 1.7, 1, "", "#c9d7e8")
    _arrow(axes[1], (1.7, 1), (1.7, 4), RED)
    _arrow(axes[2], (1.7, 4), (0.5, 2), RED, "steep")
    return figure


def waves() -> Any:
    """Draw waves that follow each other through the levels, beside discharges."""
    figure, axis = _axes(8, 2.8)
    for wave in range(4):
        rounds = np.arange(0, 40)
        levels = rounds - 9 * wave
        shown = (levels >= 0) & (levels <= 28)
        axis.plot(rounds[shown], levels[shown], color=BLUE, lw=2)
        axis.text(9 * wave + 0.3, -2.8, f"wave {wave + 1}", fontsize=8, color=BLUE)
    random = np.random.default_rng(0)
    axis.scatter(random.uniform(0, 39, 160), random.uniform(0, 28, 160), s=6, color=ORANGE)
    axis.text(
        40, 24, "blue: half of the blocks search,\nall waves go one level a round", fontsize=8, color=BLUE
    )
    axis.text(40, 14, "orange: discharges by the\nother blocks", fontsize=8, color=ORANGE)
    axis.annotate("rounds", (39, -1), (30, -5.2), fontsize=8)
    axis.text(-3.2, 10, "distance from the sink", rotation=90, fontsize=8)
    axis.set(xlim=(-4, 62), ylim=(-6, 30))
    return figure


def grid_trees() -> Any:
    """Draw two forests on a grid and the path where they meet."""
    figure, axis = _axes(5.6, 3.2)
    shape = (7, 14)
    y, x = np.indices(shape)
    source, sink = np.hypot(y - 3, x - 2), np.hypot(y - 3, x - 11)
    picture = np.ones((*shape, 3))
    picture[source < 4.3] = (0.75, 0.84, 0.93)
    picture[sink < 4.3] = (0.99, 0.87, 0.73)
    axis.imshow(picture)
    for i in range(shape[0]):
        for j in range(shape[1]):
            for root, limit, color in (((3, 2), 4.3, BLUE), ((3, 11), 4.3, ORANGE)):
                if 0 < np.hypot(i - root[0], j - root[1]) < limit:
                    down = np.sign(root[0] - i) if abs(root[0] - i) > abs(root[1] - j) else 0
                    right = np.sign(root[1] - j) if down == 0 else 0
                    axis.plot([j, j + right], [i, i + down], color=color, lw=1)
    axis.plot(range(2, 12), [3] * 10, color=RED, lw=3)
    axis.text(2, 2.6, "excess", ha="center", fontsize=8, color=BLUE)
    axis.text(11, 2.6, "deficit", ha="center", fontsize=8, color="#b35c00")
    axis.set_title("flow is pushed where the forests meet", fontsize=9)
    return figure


def directions() -> Any:
    """Draw the forward neighbours of a pixel and of a voxel, with their places in arrays of capacities."""
    import matplotlib.pyplot as plt

    named = [(2, 4), (2, 8), (3, 6), (3, 18), (3, 26)]
    figure = plt.figure(figsize=(9, 3.1), layout="constrained")
    axes = figure.subplots(2, len(named))
    for column, (ndim, neighbours) in enumerate(named):
        half = half_neighbourhood(ndim, neighbours)
        for row, axis in enumerate(axes[:, column]):
            axis.axis("off")
            if row == 1 and ndim == 2:
                continue
            axis.set(xlim=(-1.7, 1.6), ylim=(1.6, -1.7), aspect="equal")
            for y, x in np.ndindex(3, 3):
                axis.add_patch(plt.Rectangle((x - 1.5, y - 1.5), 1, 1, fc="white", ec="0.8"))
            if row == 0:
                axis.set_title(f"{neighbours} neighbours", fontsize=9)
                axis.add_patch(plt.Rectangle((-0.5, -0.5), 1, 1, fc=BLUE, ec="0.8"))
            for k, offset in enumerate(half):
                if ndim == 2 or offset[0] == row:
                    axis.add_patch(
                        plt.Rectangle((offset[-1] - 0.5, offset[-2] - 0.5), 1, 1, fc="#f9c784", ec="0.8")
                    )
                    axis.text(offset[-1], offset[-2], k, ha="center", va="center", fontsize=9)
            if ndim == 3 and neighbours == 6:
                words = ("this slice", "next slice,\nz + 1")[row]
                axis.text(-1.7, 0, words, fontsize=8, ha="right", va="center")
    arrow = {"arrowstyle": "-|>", "color": "0.4"}
    for end, word in (((1, 0.5), "x"), ((0.3, 0), "y")):
        axes[1, 0].annotate("", end, (0.3, 0.5), xycoords="axes fraction", arrowprops=arrow)
        axes[1, 0].text(*end, word, transform=axes[1, 0].transAxes, fontsize=9, ha="center", va="top")
    return figure


def tiles() -> Any:
    """Draw tiles of two colors, and the rows of bits in one of them."""
    figure, axes = _axes(8, 3, 2)
    board = np.indices((4, 6)).sum(axis=0) % 2
    axes[0].imshow(board, cmap="Blues", vmin=-1, vmax=3)
    axes[0].set_title("tiles of one color discharge at once", fontsize=9)
    for i, j in ((1, 1), (2, 4)):
        for di, dj in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            axes[0].annotate("", (j + dj, i + di), (j, i), arrowprops={"arrowstyle": "-|>", "color": RED})
    y, x = np.indices((10, 16))
    level = np.abs(y - 9) + np.abs(x - 5)
    axes[1].imshow(level, cmap="viridis_r")
    axes[1].set_title("inside: levels of a search, one word a row", fontsize=9)
    return figure


def matching() -> Any:
    """Draw alternating trees and an augmenting path."""
    figure, axis = _axes(7, 3)
    rows, columns = range(5), range(5)
    matched = {1: 0, 2: 1, 3: 3}
    edges = [(0, 0), (0, 1), (1, 0), (1, 2), (2, 1), (2, 2), (2, 4), (3, 3), (3, 4), (4, 3), (4, 1)]
    path = [(0, 1), (2, 1), (2, 4)]
    for i, j in edges:
        on_path = (i, j) in path
        style = "-" if matched.get(i) == j else "--"
        axis.plot(
            [0, 3], [-i, -j], style, color=RED if on_path else "0.6", lw=3 if on_path else 1.2, zorder=1
        )
    for i in rows:
        _vertex(axis, 0, -i, f"r{i}", ORANGE if i not in matched else BLUE)
    for j in columns:
        _vertex(axis, 3, -j, f"c{j}", GREEN if j not in matched.values() else BLUE)
    axis.text(3.6, -0.2, "orange: free rows, the roots\ngreen: free columns", fontsize=8, va="top")
    axis.text(
        3.6, -1.6, "full lines: the matching\nred: an augmenting path r0 c1 r2 c4", fontsize=8, va="top"
    )
    axis.set(xlim=(-0.6, 7), ylim=(-4.6, 0.6))
    return figure


def assignment() -> Any:
    """Draw reduced costs with candidate lists and an augmenting path."""
    figure, axes = _axes(8, 3, 2)
    random = np.random.default_rng(5)
    costs = random.uniform(0, 1, (8, 12))
    axes[0].imshow(costs, cmap="Greys", vmin=0, vmax=1.6)
    for i in range(8):
        axes[0].scatter(np.argsort(costs[i])[:3], [i] * 3, s=30, color=BLUE)
    axes[0].set_title("candidate lists: the cheapest columns of each row", fontsize=9)
    values = np.sort(random.uniform(0, 1, 12))
    axes[1].bar(range(12), values, color=[BLUE] * 4 + ["0.85"] * 8)
    axes[1].axhline(values[4], color=RED, linestyle="--")
    axes[1].text(4.2, values[4] + 0.03, "bound on all columns that are not listed", fontsize=8, color=RED)
    axes[1].set_title("reduced costs of one row, in order", fontsize=9)
    return figure


ROOT = Path(__file__).resolve().parents[2]
#: The groups of layers: the last folder or module of each, its title and its color.
GROUPS = (
    ("progress", "foundations", "0.45"),
    ("cuda", "what solvers share", BLUE),
    ("certify", "data and proofs", GREEN),
    ("papers", "problems", ORANGE),
    ("distributed", "what is built on them", RED),
    ("__main__", "commands", "0.45"),
)


def read_layers() -> list[list[str]]:
    """Return the layers that tests/test_layout.py checks."""
    tree = ast.parse(ROOT.joinpath("tests", "test_layout.py").read_text("utf-8"))
    assigned = [node for node in tree.body if isinstance(node, ast.Assign)]
    value = next(node.value for node in assigned if ast.unparse(node.targets[0]) == "LAYERS")
    found: list[list[str]] = eval(ast.unparse(value), {"registry": registry})
    return found


def first_line(name: str) -> str:
    """Return what a folder or a module of the package says it is, up to its first colon or full stop."""
    path = ROOT / "src" / "preflow" / name
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    docstring = ast.get_docstring(ast.parse(file.read_text("utf-8"))) or ""
    return docstring.partition("\n")[0].replace("``", "")


def layers() -> Any:
    """Draw the layers of imports, with what each folder says of itself."""
    rows = read_layers()
    figure, axis = _axes(10, 0.21 * sum(map(len, rows)) + 0.5)
    y, groups, is_first = 0.0, iter(GROUPS), True
    for row in rows:
        begin = y
        for name in row:
            if is_first:
                last, title, color = next(groups)
                axis.plot([0, 100], [y - 0.5] * 2, color="0.85", lw=0.8)
                axis.text(0, y + 0.1, title, fontsize=8, color=color, va="center")
            is_first = name == last
            axis.text(19, y, name, fontsize=8, va="center", family="monospace")
            axis.text(34, y, first_line(name), fontsize=8, va="center")
            y += 1
        axis.plot([17.5, 17.5], [begin - 0.35, y - 0.65], color=color, lw=5, solid_capstyle="butt")
    axis.annotate("", (16, 0), (16, y - 1), arrowprops={"arrowstyle": "-|>", "color": "0.4"})
    axis.text(15.3, y / 2, "imports", rotation=90, fontsize=8, ha="right", va="center", color="0.4")
    axis.set(xlim=(0, 100), ylim=(y - 0.3, -0.8))
    return figure


#: The steps of a call: for each column its title, and file and work of each step.
STEPS = {
    "the calling thread": (
        ("api.py, solving/call.py", "check method, device, threads,\ntime_limit, options"),
        ("graph/", "check and convert the input,\nonce and only here"),
        ("steps/", "for maximum flow: solve a smaller\nproblem, and carry the answer back"),
        ("policy.py", 'plan: a method, or several in turn,\nif the method is "auto"'),
        ("solving/run.py", "start a thread unless the solve is\nquick; watch Ctrl-C, time limit"),
    ),
    "the thread that solves": (
        ("solving/call.py", "run the attempts of the plan; each\ngoes on from what the last one left"),
        ("a solver", "own the state arrays, call kernels;\nno vertex is looked at in Python"),
        ("kernels", "machine code: arrays in, arrays out;\nthey count, and read the stop flag"),
        ("result.py", "wrap the answer: status, bounds,\nstats; it cannot be changed"),
    ),
    "when you ask for it": (
        ("certify/", "result.verify(): prove the answer\nagainst the input, without a solver"),
    ),
}


def one_call() -> Any:
    """Draw one call of a public function, from the arguments to the proof."""
    import matplotlib.pyplot as plt

    figure, axis = _axes(10, 4.4)
    places: dict[str, tuple[float, float]] = {}
    for column, (title, steps) in enumerate(STEPS.items()):
        color = (BLUE, ORANGE, GREEN)[column]
        axis.text(35 * column, 0.75, title, fontsize=9, color=color)
        for row, (file, work) in enumerate(steps):
            x, y = 35 * column, -1.45 * (row + (column == 2) * 3)
            places[file] = x, y
            axis.add_patch(plt.Rectangle((x, y - 0.55), 27, 1.1, fill=False, ec=color, lw=1.5))
            axis.text(x + 1, y + 0.32, file, fontsize=8, family="monospace", va="center")
            axis.text(x + 1, y + 0.12, work, fontsize=7.5, va="top")
    for steps in STEPS.values():
        for (above, _), (below, _) in pairwise(steps):
            (x, y), (_, lower) = places[above], places[below]
            _arrow(axis, (x + 5, y - 0.35), (x + 5, lower + 0.35))
    (x, y), (right, top) = places["solving/run.py"], places["solving/call.py"]
    _arrow(axis, (x + 26, y + 0.2), (right + 1, top), color="0.4")
    _arrow(axis, (x + 26, y - 0.3), (right + 1, places["kernels"][1] - 0.3), RED)
    axis.text(x + 28, y - 0.4, "the stop flag", fontsize=8, color=RED, va="center")
    (x, y), (right, _) = places["result.py"], places["certify/"]
    _arrow(axis, (x + 26, y), (right + 1, y))
    axis.set(xlim=(-0.5, 98), ylim=(-6.5, 1.1))
    return figure


DIAGRAMS = {
    "layers": layers,
    "one_call": one_call,
    "push_relabel": push_relabel,
    "multicore_paths": multicore_paths,
    "lock_free": lock_free,
    "waves": waves,
    "grid_trees": grid_trees,
    "directions": directions,
    "tiles": tiles,
    "matching": matching,
    "assignment": assignment,
}


def write_all(folder: Path) -> None:
    """Write all diagrams into a folder."""
    import matplotlib.pyplot as plt

    for name, make in DIAGRAMS.items():
        figure = make()
        figure.savefig(folder / f"diagram_{name}.svg", metadata={"Date": None})
        plt.close(figure)
