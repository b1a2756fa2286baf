"""Performance profiles, speed-up profiles and speed-ups by threads, as curves and as pictures.

Performance profiles are those of Dolan and Moré (2002). Speed-up profiles are those of Deveci, Kaya, Uçar and
Çatalyürek, "A push-relabel-based maximum cardinality bipartite matching algorithm on GPUs", ICPP 2013, figure
2. The axes of times and speed-ups are logarithmic here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from preflow.errors import MissingDependencyError

from .scaling import SpeedUps, thread_counts

#: The seconds of each contestant on each instance, None without a time.
Times = Mapping[str, Sequence[float | None]]
#: Curves in panels: a value by number, of each contestant, of each group of instances.
Panels = Mapping[str, Mapping[str, Mapping[int, float]]]

#: The colours of Okabe and Ito, which colour-blind readers can distinguish. Line styles serve for print.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31")
LINE_STYLES = ("-", "--", "-.", ":")
#: The time axis extends beyond the data by this factor.
MARGIN = 1.15
#: A picture becomes wider if a label has more characters.
LABEL_LENGTH = 30
#: The most panels side by side.
PANELS_A_ROW = 4


class Curve(NamedTuple):
    """The corners of a step function: `y` is the share of instances with at most, or at least, `x`."""

    x: list[float]
    y: list[float]


def performance_profile(times: Times) -> dict[str, Curve]:
    """Return, for each contestant, the share of instances on which it takes at most x times the best time.

    Examples
    --------
    >>> performance_profile({"a": [1.0, 4.0], "b": [2.0, 2.0]})["a"]
    Curve(x=[1.0, 2.0], y=[0.5, 1.0])
    """
    best = [min((t for t in column if t is not None), default=math.inf) for column in _columns(times)]
    curves = {}
    for name, row in times.items():
        ratios = sorted(t / least for t, least in zip(row, best, strict=True) if t is not None)
        curves[name] = Curve(ratios, [(i + 1) / len(row) for i in range(len(ratios))])
    return curves


def speed_up_profile(times: Times, baseline: str) -> dict[str, Curve]:
    """Return, for each other contestant, the share of instances with a speed-up over `baseline` of x or more.

    An instance counts only if the baseline has a time.

    Examples
    --------
    >>> speed_up_profile({"a": [1.0, 4.0], "b": [2.0, 2.0]}, "b")["a"]
    Curve(x=[0.5, 2.0], y=[1.0, 0.5])
    """
    curves = {}
    for name, row in times.items():
        if name == baseline:
            continue
        pairs = [(base, t) for base, t in zip(times[baseline], row, strict=True) if base is not None]
        ups = sorted(base / t for base, t in pairs if t is not None)
        curves[name] = Curve(ups, [(len(ups) - i) / len(pairs) for i in range(len(ups))])
    return curves


def _columns(times: Times) -> list[tuple[float | None, ...]]:
    return list(zip(*times.values(), strict=True))


def require_matplotlib() -> None:
    """Raise MissingDependencyError if Matplotlib is not installed."""
    if find_spec("matplotlib") is None:
        raise MissingDependencyError("plots", "matplotlib", "bench")


def draw_performance_profile(times: Times, title: str, path: Path) -> None:
    """Write the performance profile as PNG.

    Parameters
    ----------
    times : mapping
    title : str
        The phase and the instances that were measured.
    path : Path
    """
    order = list(times)
    curves = performance_profile(times)
    with _picture(f"Performance profile: {title}", path) as axes:
        axes.set_xlim(1.0 / MARGIN, right := _end(curves))
        for name, curve in curves.items():
            corners = [curve.x[0], *curve.x, right], [0.0, *curve.y, curve.y[-1]]
            axes.step(*corners, where="post", label=_label(name, times), **_style(order.index(name)))
        axes.set_xlabel("time, as a multiple of the best time on the instance")
        axes.set_ylabel("share of instances within that multiple")


def draw_speed_up_profile(times: Times, baseline: str, title: str, path: Path) -> None:
    """Write the speed-up profile as PNG.

    Parameters
    ----------
    times : mapping
    baseline : str
        The contestant that the others are compared with.
    title : str
        The phase and the instances that were measured.
    path : Path
    """
    order = list(times)
    curves = {name: curve for name, curve in speed_up_profile(times, baseline).items() if curve.x}
    with _picture(f"Speed-up profile: {title}", path) as axes:
        left = min([1.0, *(x for curve in curves.values() for x in curve.x)]) / MARGIN
        axes.set_xlim(left, _end(curves))
        axes.axvline(1.0, color="0.6", linewidth=1.0)
        for name, curve in curves.items():
            corners = [left, *curve.x, curve.x[-1]], [curve.y[0], *curve.y, 0.0]
            axes.step(*corners, where="pre", label=_label(name, times), **_style(order.index(name)))
        axes.set_xlabel(f"speed-up over {baseline} (1 = as fast)")
        axes.set_ylabel("share of instances with at least that speed-up")


def draw_speed_ups(table: SpeedUps, title: str, path: Path) -> None:
    """Write speed-ups over one thread as PNG, with a panel for each group and a curve for each method.

    Parameters
    ----------
    table : SpeedUps
    title : str
        The phase and the instances that were measured.
    path : Path
    """
    with panels(table, f"Speed-up over one thread: {title}", path, "threads", "speed-up") as drawn:
        for axes, curves in drawn:
            axes.axhline(1.0, color="0.6", linewidth=1.0)
            axes.set_xticks(thread_counts(table))
            axes.set_ylim(0.0, 1.1 * max(1.0, *(y for curve in curves.values() for y in curve.values())))


@contextmanager
def panels(
    table: Panels, title: str, path: Path, x: str, y: str
) -> Iterator[list[tuple[Any, Mapping[str, Mapping[int, float]]]]]:
    """Draw a panel for each group with a curve for each contestant, yield the axes, then write the PNG."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    columns = min(PANELS_A_ROW, len(table))
    rows = math.ceil(len(table) / columns)
    figure = Figure(figsize=(1.6 + 3.2 * columns, 0.8 + 2.6 * rows), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    places = figure.subplots(rows, columns, squeeze=False).ravel()
    names = list(dict.fromkeys(name for curves in table.values() for name in curves))
    lines = {}
    drawn = list(zip(places, table.values(), strict=False))
    for (axes, curves), group in zip(drawn, table, strict=True):
        for name, curve in curves.items():
            at = sorted(curve)
            style = _style(names.index(name))
            (lines[name],) = axes.plot(at, [curve[key] for key in at], marker="o", **style)
        axes.set_title(group, loc="left", fontsize="medium")
        axes.grid(color="0.9")
        axes.spines[["top", "right"]].set_visible(False)
    for axes in places[len(table) :]:
        axes.set_visible(False)
    yield drawn
    figure.suptitle(title)
    figure.supxlabel(x)
    figure.supylabel(y)
    figure.legend(lines.values(), lines.keys(), loc="outside right upper", frameon=False)
    figure.savefig(path)


def _end(curves: Mapping[str, Curve]) -> float:
    return max([1.0, *(x for curve in curves.values() for x in curve.x)]) * MARGIN


def _label(name: str, times: Times) -> str:
    """Return a name, with the number of instances with a time unless all have one."""
    count = sum(t is not None for t in times[name])
    return name if count == len(times[name]) else f"{name} ({count} of {len(times[name])})"


def _style(i: int) -> dict[str, object]:
    """Return the style of the i-th curve. The first ones, preflow's, lie above the others."""
    # Shifted by one after each round of colours: each pair of both is used before one comes again.
    dashes = LINE_STYLES[(i + i // len(COLOURS)) % len(LINE_STYLES)]
    colour = COLOURS[i % len(COLOURS)]
    return {"color": colour, "linestyle": dashes, "linewidth": 2.2, "zorder": 20 - i}


def _ticks(span: float) -> tuple[float, ...]:
    """Return the labelled multiples in each decade of a logarithmic axis with end / begin = `span`."""
    if span < 10.0:
        return (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0)
    return (1.0, 2.0, 5.0) if span < 300.0 else (1.0,)


@contextmanager
def _picture(title: str, path: Path) -> Iterator[Any]:
    """Yield axes with a legend beside them, then write the PNG."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, PercentFormatter

    figure = Figure(figsize=(9.0, 4.8), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot(xscale="log")
    yield axes
    axes.set_title(title, loc="left")
    low, high = axes.get_xlim()
    axes.xaxis.set_major_locator(LogLocator(subs=_ticks(high / low)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_ylim(-0.02, 1.02)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.grid(color="0.9")
    axes.spines[["top", "right"]].set_visible(False)
    labels = axes.get_legend_handles_labels()[1]
    beyond = max(map(len, labels), default=0) - LABEL_LENGTH
    figure.set_size_inches(9.0 + 0.08 * max(0, beyond), max(4.8, 0.5 + 0.22 * len(labels)))
    figure.legend(loc="outside right upper", frameon=False)
    figure.savefig(path)
