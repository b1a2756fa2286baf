"""The colouring of the arcs before gpu-color starts: colours, their sizes, and seconds of one CPU thread.

Wu, He and Hong colour a Genrmf graph of 2,515,456 vertices with 11 colours in 2 seconds, which are no part of
the 60 seconds of gpu-color on it. No GPU is needed to repeat this.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import thread_time
from types import MappingProxyType

import numpy as np

from preflow.errors import UnsuitableMethodError
from preflow.generators import family
from preflow.graph.residual import build_residual
from preflow.papers.wu_he_hong.cuda_coloring import color_periods
from preflow.papers.wu_he_hong.cuda_coloring.edge_coloring import color_edges

from ..problem import Table
from .means import Mean
from .programs import Record, Row, read_settings

#: What the paper says: both genrmf networks of its largest size have this number of vertices.
PUBLISHED: Mapping[int, str] = MappingProxyType({2_515_456: "11 colours, 2 s"})


def color_instance(name: str, size: str, seed: int, repeats: int) -> Row:
    """Return the row of an instance; `why` says why the arcs of a network are not coloured."""
    problem = family(name).generate(size, seed=seed)
    net = build_residual(problem.network, np.array([problem.source]), np.array([problem.sink])).arrays
    row: Row = {
        "family": name,
        "size": size,
        "seed": seed,
        "vertices": len(net.excess),
        "arcs": len(net.head) // 2,
    }
    seconds = []
    try:
        # The first colouring may compile the kernel.
        sizes = color_edges(net).sizes
        for _ in range(repeats):
            began = thread_time()
            color_edges(net)
            seconds.append(thread_time() - began)
    except UnsuitableMethodError as error:
        return {**row, "why": str(error)}
    spread = Mean.of(seconds)
    return {
        **row,
        "colours": len(sizes),
        "largest": int(sizes.max()) // 2,
        "smallest": int(sizes.min()) // 2,
        # Colours that take part in every cycle where colours have weights (section 5.5).
        "frequent": int((color_periods(sizes, weighted=True) == 1).sum()),
        "seconds": spread.mean,
        "deviation": spread.deviation,
    }


def show(
    sizes: Mapping[str, Sequence[str]], small: Mapping[str, Sequence[str]], words: Sequence[str]
) -> None:
    """Colour each network and show the table: a part of the paper.

    Parameters
    ----------
    sizes, small : mapping
        The sizes of each family, as in the paper and for `--small`.
    words : sequence of str
        The arguments of the command.
    """
    settings = read_settings("colours", words, seeds=1, repeats=3)
    record = Record(settings, ("family", "size", "seed"))
    for name, each in (small if settings.small else sizes).items():
        for size in each:
            for seed in range(settings.seeds):
                if record.lacks(name, size, seed):
                    record.add(color_instance(name, size, seed, settings.repeats))
    header = ["network", "vertices", "pairs of arcs", "colours", "pairs of the largest", "of the smallest"]
    rows = [
        [
            f"{row['family']} {row['size']}" + (f" seed {row['seed']}" if row["seed"] else ""),
            f"{row['vertices']:,}",
            f"{row['arcs']:,}",
            *(
                f"{row[key]:,}" if key in row else ""
                for key in ("colours", "largest", "smallest", "frequent")
            ),
            Mean(float(row["seconds"]), float(row["deviation"])).text(".2g") if "seconds" in row else "",
            # The paper counts the terminals as vertices.
            PUBLISHED.get(int(row["vertices"]) + 2, ""),
        ]
        for row in record.rows
    ]
    left_out = [
        f"{row['family']} {row['size']} is left out: {row['why']}" for row in record.rows if "why" in row
    ]
    title = "Colours of the arcs, and CPU seconds of the colouring on one thread"
    record.show(Table(title, [*header, "in every weighted cycle", "seconds", "the paper"], rows), left_out)
